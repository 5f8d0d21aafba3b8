"""Residuals: what a model does not explain, comparison by comparison and item by item.

An outcome y is 1 (left won), 1/2 (a tie) or 0. With mu and V its mean and variance by the model,

    response      y - mu
    pearson       (y - mu) / sqrt(V)
    deviance      sign(y - mu) sqrt(2 (l_best - l)), l the log-likelihood of the outcome
    standardised  pearson / sqrt(1 - h), h = J H^-1 J' / V

where J is the derivative of mu in all parameters and H their information: an outcome pulls the fit
towards itself, and V (1 - h) is the variance of y - mu that is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from pairscore.core.ties import TINY, TieRule
from pairscore.data.comparisons import Comparisons
from pairscore.display import html_text, plural, text_table
from pairscore.errors import CallError, PairscoreError, one_of
from pairscore.estimators.information_criteria import HALF_WINS, kept_likelihood
from pairscore.messages import Action, Setting
from pairscore.model.fit import Fit
from pairscore.model.predict import (
    difference_spread,
    expected_outcomes,
    outcome_probabilities,
    score_differences,
)
from pairscore.model.regression import RankRegression
from pairscore.records import plain, row_records

KINDS = ("response", "pearson", "deviance", "standardised")
BLOCK = 200_000  # numbers, rows times parameters, held at a time: few enough for a cache
MOST_SHOWN = 10  # items of a printed table
NO_Z = 1e-4  # of all items, where the fit itself makes wins and expected wins equal
ROW_COLUMNS = ("row", "left", "right", "outcome", "residual")
ROW_LAYOUT = "  {:>}  {:<}  {:<}  {:<} {:>}"
COLUMNS = ("item", "comparisons", "wins", "expected", "z")
LAYOUT = "  {:<}  {:>} {:>} {:>} {:>}"


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of comparisons, and sums of items; ``print`` shows the items that stand out.

    Where every item has an ability, its wins are those expected, and ``print`` shows comparisons.

    Attributes
    ----------
    kind : str
    values : ndarray of shape (M,)
        One per row of the comparisons, of each of them if a row counts several.
    by_item : dict of columns
        Of each compared item: ``id``, ``n_comparisons``, ``wins`` (ties are half of one),
        ``expected`` wins, and ``z``, their difference over its standard deviation by the model,
        coefficients taken as known.
    data : Comparisons
    """

    kind: str
    values: np.ndarray
    by_item: dict[str, np.ndarray]
    data: Comparisons

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The table of items as a dataframe of some kind: pandas, polars or pyarrow."""
        import narwhals.stable.v2 as nw

        return nw.from_dict(self.by_item, backend=backend).to_native()

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        items = row_records({name: column.tolist() for name, column in self.by_item.items()})
        return plain({"kind": self.kind, "values": self.values.tolist(), "items": items})

    @property
    def _by_item(self) -> bool:
        """Whether items stand out; the fit itself may make wins and expected wins equal."""
        return bool(np.max(np.abs(np.nan_to_num(self.by_item["z"])), initial=0.0) > NO_Z)

    def _items(self) -> list[tuple[str, ...]]:
        """The items that stand out most, as text."""
        z = self.by_item["z"]
        order = np.argsort(-np.abs(np.nan_to_num(z)), kind="stable")[:MOST_SHOWN]
        return [
            (str(name), f"{number:g}", f"{wins:.4g}", f"{expected:.4g}", f"{score:+.2f}")
            for name, number, wins, expected, score in zip(
                *(column[order].tolist() for column in self.by_item.values()), strict=True
            )
        ]

    def _rows(self) -> list[tuple[str, ...]]:
        """The comparisons that stand out most, as text."""
        data = self.data
        names = data.items.names
        order = np.argsort(-np.abs(np.nan_to_num(self.values)), kind="stable")[:MOST_SHOWN]
        ended = {1: "left won", 0: "tie", -1: "right won"}
        return [
            (
                str(row),
                str(names[data.left[row]]),
                str(names[data.right[row]]),
                ended[int(data.outcome[row])],
                f"{self.values[row]:+.2f}",
            )
            for row in order.tolist()
        ]

    @property
    def _title(self) -> str:
        size = f"{self.kind} residuals of {plural(len(self.values), 'row')} of comparisons"
        what = "items" if self._by_item else "comparisons"
        return f"{size.capitalize()}; {what} that stand out most"

    def __str__(self) -> str:
        if self._by_item:
            return f"{self._title}:\n{text_table(COLUMNS, self._items(), LAYOUT)}"
        return f"{self._title}:\n{text_table(ROW_COLUMNS, self._rows(), ROW_LAYOUT)}"

    def _repr_html_(self) -> str:
        if self._by_item:
            columns = named_columns(COLUMNS, self._items())
        else:
            columns = named_columns(ROW_COLUMNS, self._rows())
        return html_text(self._title, (), columns)


def named_columns(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> dict[str, Any]:
    """The columns of some rows, by name."""
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def residuals(
    model: RankRegression, data: Comparisons | None = None, kind: str = "response"
) -> Residuals:
    """What a model leaves unexplained of its own comparisons, or of others.

    Parameters
    ----------
    model : RankRegression
        Fitted to items and votes.
    data : Comparisons, optional
        Other comparisons; those of the fit if not given.
    kind : {"response", "pearson", "deviance", "standardised"}
        The last is for the comparisons of the fit, where it has a likelihood.
    """
    one_of(kind, "kind", KINDS)
    fit = result_of(model, "residuals")
    if kind == "standardised" and data is not None:
        raise PairscoreError(
            "standardised residuals are of the comparisons of the fit",
            ["leave " + Setting("data") + " out", "use " + Setting("kind", "pearson")],
        )
    data = fit.comparisons_for("residuals") if data is None else data
    if not isinstance(data, Comparisons):
        raise CallError(
            "residuals are of Comparisons, and " + Setting("data") + f" is {type(data).__name__}",
            "give the first of what " + Action("Comparisons.from_frames") + " returns",
        )
    data = model._comparisons(data.with_relative_weights())  # features by their names
    mean, variance = expected_outcomes(fit, data)
    response = 0.5 * (1 + data.outcome) - mean
    values = _of_kind(fit, data, kind, response, variance)
    return Residuals(kind, values, _by_item(data, mean, variance), data)


def result_of(model: Any, what: str) -> Fit:
    """What a fitted model found; a sentence if it is none, which names ``what`` was asked for."""
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, RankRegression):
        raise CallError(
            f"{what} takes a fitted RankRegression, and this is {type(model).__name__}",
            "of a pipeline give the last step",
        )
    check_is_fitted(model)
    return model.result_


def _of_kind(
    fit: Fit, data: Comparisons, kind: str, response: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    if kind == "response":
        return response
    if kind == "deviance":
        return np.sign(response) * np.sqrt(2 * np.maximum(_lost_likelihood(fit, data), 0.0))
    pearson = _over_root(response, variance)
    return pearson if kind == "pearson" else _over_root(pearson, 1 - leverages(fit, data))


def _over_root(value: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """value / sqrt(variance); zero where both are, of a tie that the fit left out."""
    sure = (variance <= 0) & (value == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sure, 0.0, value / np.sqrt(np.maximum(variance, 0.0)))


def _lost_likelihood(fit: Fit, data: Comparisons) -> np.ndarray:
    """By how much each outcome's log-likelihood is below the best that it could have (M)."""
    law = replace(fit.outcome_law, scale=1.0)
    loss, tie, win = (np.maximum(p, TINY) for p in outcome_probabilities(fit, data, law))
    y = 0.5 * (1 + data.outcome)
    tied = data.outcome == 0
    if law.rule.has_parameter:
        return -np.log(np.where(tied, tie, np.where(y > 0.5, win, loss)))
    best = xlogy(y, y) + xlogy(1 - y, 1 - y)
    lost = best - xlogy(y, win) - xlogy(1 - y, loss)
    return np.where(tied, 0.0, lost) if fit.ties == "drop" else lost


def _by_item(data: Comparisons, mean: np.ndarray, variance: np.ndarray) -> dict[str, np.ndarray]:
    """Wins and expected wins of each compared item, and how far they are apart."""
    n = len(data.items)
    y = 0.5 * (1 + data.outcome)
    amount = np.where(data.left != data.right, data.amount, 0.0)
    weight = 1.0 if data.weight is None else data.weight
    both = np.concatenate([data.left, data.right])

    def of_items(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.bincount(both, np.concatenate([left, right]), n)

    wins = of_items(amount * y, amount * (1 - y))
    expected = of_items(amount * mean, amount * (1 - mean))
    square = weight * amount * variance
    rows = np.flatnonzero(data.compared)
    columns = {
        "id": np.arange(n) if data.items.ids is None else data.items.ids,
        "n_comparisons": of_items(amount, amount),
        "wins": wins,
        "expected": expected,
        "z": _over_root(wins - expected, of_items(square, square)),
    }
    return {name: column[rows] for name, column in columns.items()}


def leverages(fit: Fit, data: Comparisons) -> np.ndarray:
    """h of each comparison of a fit (M): how far its outcome pulls its mean towards itself.

    h = J H^-1 J' / V. J has two parts, dmu/deta times the derivatives of eta, and dmu/dt; each is
    the covariance of the outcome and its score.
    """
    likelihood = kept_likelihood(fit.likelihood)
    if likelihood.reason != HALF_WINS:
        others = " (" + Setting("kind", "pearson") + " has others)"
        likelihood.refuse_none("there are no standardised residuals" + others)
    rule = TieRule(fit.ties, fit.link)
    t = fit.tie_parameter or 0.0
    eta = score_differences(fit, data)
    in_eta, in_t, variance = _mean_derivatives(rule, eta, t)
    if fit.n_features == 0:
        squares = in_eta**2 * difference_spread(fit, data) ** 2
        if fit.effects is not None:
            from pairscore.effects.ability_information import AbilityRows

            squares = AbilityRows(fit, data, eta).squares(in_eta, in_t)
        return _over(squares, variance)
    from pairscore.effects.comparison_effects import effect_columns
    from pairscore.effects.judges import judges_sharpness
    from pairscore.effects.separated_maximum import rows_at_maximum

    basis = rows_at_maximum(fit, data)[1].basis
    W = basis.transform  # whitens the information: H^-1 = W W'
    d = fit.n_features
    whitened = (data.items.values - fit.features.mean) @ W[:d]
    squares = np.empty(len(data))
    slope = judges_sharpness(data, fit.judges)
    for rows in blocks(len(data), W.shape[1]):
        columns = effect_columns(data[rows], fit.effects, fit.side_effect, slope[rows])
        J = whitened[data.left[rows]] - whitened[data.right[rows]] + columns @ W[d:]
        J *= in_eta[rows, None]
        if rule.has_parameter:
            J += in_t[rows, None] * W[-1]
        squares[rows] = np.sum(J**2, axis=1)
    return _over(squares, variance)


def _over(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole; zero where the whole is."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows of a matrix in blocks of at most ``BLOCK`` numbers."""
    size = max(BLOCK // max(n_columns, 1), 1)
    return (slice(first, first + size) for first in range(0, n_rows, size))


def _mean_derivatives(
    rule: TieRule, eta: np.ndarray, t: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dmu/deta, dmu/dt and V of every comparison (M): sums over the outcomes that it may have."""
    in_eta, in_t, mean, square = np.zeros((4, len(eta)))
    for outcome, p in zip((-1.0, 0.0, 1.0), rule.probabilities(eta, t), strict=True):
        y = 0.5 * (1 + outcome)
        s = rule.derivatives(eta, np.full(len(eta), outcome), t)
        in_eta += p * y * s.eta
        in_t += p * y * s.t
        mean += p * y
        square += p * y**2
    return in_eta, in_t, square - mean**2
