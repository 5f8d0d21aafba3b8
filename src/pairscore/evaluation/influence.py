"""Influence: on which items a fit hangs, and by how much its coefficients would move without each.

One Newton step from the fit without an item's comparisons: with g_i and H_i what these add to the
score and to the information H,

    beta - beta_without = (H - H_i)^-1 g_i.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.core.incidence import item_incidence
from pairscore.data.comparisons import Comparisons
from pairscore.display import html_text, text_table
from pairscore.errors import PairscoreError
from pairscore.estimators.information_criteria import NO_MAXIMUM, kept_likelihood
from pairscore.evaluation.residuals import MOST_SHOWN, blocks, named_columns, result_of
from pairscore.messages import Action, Setting
from pairscore.model.fit import Fit
from pairscore.model.predict import score_differences
from pairscore.model.regression import RankRegression
from pairscore.records import plain

# of the numbers of opponents, cubed and summed: about a minute of solving systems of that size
MOST_WORK = 1e11
# share of the information in some direction that is left without an item; less is rounding, and
# some coefficient is not determined
NEEDED = 1e-9
LAYOUT = "  {:<}  {:<} {:>} {:>}"


@dataclass(frozen=True, eq=False)
class Influence:
    """By how much each item moves the coefficients; ``print`` shows the most influential items.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        The compared items.
    names : tuple of d names
        Of features; without features, of the compared items and of effects.
    dfbeta : ndarray of shape (n, d)
        Coefficients less those without the item's comparisons, by one Newton step; NaN where some
        coefficient is not determined without the item, as its own ability is not.
    std_errors : ndarray of shape (d,)
        Of the coefficients.
    what : str
        What moves: "coefficient", or "ability or effect" where items have no features.
    """

    ids: np.ndarray
    names: tuple[str, ...]
    dfbeta: np.ndarray
    std_errors: np.ndarray
    what: str = "coefficient"

    @property
    def dfbetas(self) -> np.ndarray:
        """``dfbeta`` in standard errors."""
        return self.dfbeta / self.std_errors

    def to_frame(self, backend: Any = "pandas") -> Any:
        """id and one column of ``dfbeta`` for each feature, as a dataframe of some kind."""
        import narwhals.stable.v2 as nw

        columns = dict(zip(self.names, self.dfbeta.T, strict=True))
        return nw.from_dict({"id": self.ids} | columns, backend=backend).to_native()

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return plain({name: getattr(self, name) for name in ("ids", "names", "dfbeta")})

    def _rows(self) -> list[tuple[str, ...]]:
        """The items that move a coefficient most, as text."""
        size = np.abs(np.nan_to_num(self.dfbetas))
        order = np.argsort(-size.max(axis=1), kind="stable")[:MOST_SHOWN]
        most_moved = np.argmax(size[order], axis=1)
        return [
            (str(self.ids[n]), self.names[f], f"{self.dfbeta[n, f]:+.3g}", f"{size[n, f]:.2f}")
            for n, f in zip(order.tolist(), most_moved.tolist(), strict=True)
        ]

    @property
    def _names(self) -> tuple[str, ...]:
        return ("item", self.what, "moved by", "in standard errors")

    @property
    def _title(self) -> str:
        article = "an" if self.what.startswith("a") else "a"
        return f"Items that move {article} {self.what} most"

    def __str__(self) -> str:
        return f"{self._title}:\n{text_table(self._names, self._rows(), LAYOUT)}"

    def _repr_html_(self) -> str:
        return html_text(self._title, (), named_columns(self._names, self._rows()))


def influence(model: RankRegression) -> Influence:
    """By how much the coefficients of a model would differ without each item's comparisons.

    One Newton step from the fit without them. For ``mle`` with a ridge or without, side, context
    and ties included; not for item effects and slopes. Without features the coefficients are the
    abilities of the other items, relative to their average.
    """
    fit = result_of(model, "influence")
    settings = fit.settings
    has_law = settings.item_effects and not settings.free_abilities
    if settings.method != "mle" or has_law or settings.judge_slopes:
        raise PairscoreError(
            "influence is for "
            + Setting("method", "mle")
            + ", without "
            + Setting("item_effects")
            + " and "
            + Setting("judge_slopes"),
            "fit such a model to the same comparisons",
        )
    likelihood = kept_likelihood(fit.likelihood)
    if likelihood.reason == NO_MAXIMUM:
        likelihood.refuse_none("the influence of items is not known")
    data = fit.comparisons_for("influences")
    if not fit.n_features:
        return _influence_on_abilities(fit, data)
    from pairscore.effects.separated_maximum import rows_at_maximum
    from pairscore.effects.single_comparisons import information_of_rows

    rows, top = rows_at_maximum(fit, data)
    s = rows.derivatives(top.theta)
    W = top.basis.transform
    of_items = item_incidence(rows.left, rows.right, len(rows.X))
    compared = np.flatnonzero(rows.compared)
    dfbeta = np.empty((len(compared), fit.n_features))
    for number, item in enumerate(compared):
        of_item = of_items.indices[of_items.indptr[item] : of_items.indptr[item + 1]]
        g = np.zeros(len(W))
        H = np.zeros((len(W), len(W)))
        for part in blocks(len(of_item), len(W)):
            more = information_of_rows(rows, s, of_item[part])
            g += more.score
            H += more.information
        dfbeta[number] = _step_without(g, H, W)[: fit.n_features]
    dfbeta[:, fit.open.undetermined] = np.nan
    ids = compared if data.items.ids is None else data.items.ids[compared]
    return Influence(np.asarray(ids), fit.names, dfbeta, fit.errors())


def _step_without(g: np.ndarray, H: np.ndarray, W: np.ndarray) -> np.ndarray:
    """(W'^-1 W^-1 - H)^-1 g, the columns of W whitening the whole information.

    NaN where some direction has no information left.
    """
    remaining, axes = np.linalg.eigh(np.eye(W.shape[1]) - W.T @ H @ W)
    remaining = np.where(remaining > NEEDED, remaining, np.nan)
    return W @ (axes @ ((axes.T @ (W.T @ g)) / remaining))


def _influence_on_abilities(fit: Fit, data: Comparisons) -> Influence:
    """(H - H_i)^-1 g_i for the other items and the effects, of each compared item i.

    With A the information of these, x = A^-1 (g + B x), B what the comparisons of i add to it:
    where B is not zero, at the opponents of i and the effects, that is a small system.
    """
    from pairscore.effects.ability_information import AbilityRows

    rows = AbilityRows(fit, data, score_differences(fit, data))
    V = rows.inverse
    n = rows.n
    of_items = item_incidence(rows.left, rows.right, n)
    met = (abs(rows.D[:, :n]).T @ abs(rows.D[:, :n])).indptr
    if float(np.sum(np.diff(met).astype(float) ** 3)) > MOST_WORK:
        raise PairscoreError(
            f"the influence of {n} items on each other would take too long, because each met many"
            " others",
            ["look at " + Action("residuals") + " by item", "fit to fewer items"],
        )
    dfbeta = np.full((n, len(V)), np.nan)
    for i in range(n):
        of_item = of_items.indices[of_items.indptr[i] : of_items.indptr[i + 1]]
        g, H = rows.of(of_item)
        at = np.setdiff1d(H.indices, [i])
        inverse = V[:, at] - np.outer(V[:, i], V[i, at] / V[i, i])  # of A, at these columns
        B = H[at][:, at].toarray()
        system = np.eye(len(at)) - inverse[at] @ B
        if np.linalg.cond(system, 1) < 1 / NEEDED:
            there = np.linalg.solve(system, inverse[at] @ g[at])
            dfbeta[i] = inverse @ (g[at] + B @ there)
            dfbeta[i, i] = np.nan
    assert fit.item_effects is not None  # without features every fit has them
    ids = np.asarray(data.items.names)[rows.items]
    names = tuple(map(str, ids.tolist()))
    errors = fit.item_effects.std_error[rows.items]
    if fit.effects is not None:
        names += fit.effects.names
        errors = np.append(errors, fit.effects.std_errors)
    dfbeta[:, np.isnan(errors)] = np.nan
    return Influence(ids, names, dfbeta, errors, "ability or effect")
