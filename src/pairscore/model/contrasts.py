"""Contrasts of coefficients and joint tests, with the covariance of the fit.

A contrast c'beta, such as the difference of two levels of a category, has the error sqrt(c'Vc).
Wald's test of several contrasts C is W = (C beta)' (CVC')^-1 (C beta), with as many degrees of
freedom as there are independent ones; of one, it is the square of z = c'beta / error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.special import fdtrc

from pairscore.core.quantiles import normal_width, p_in_words, wald, z_and_p
from pairscore.data.items import read_names
from pairscore.errors import PairscoreError, did_you_mean, first_few, is_real, shown
from pairscore.estimators.penalty import WEAK_L2
from pairscore.estimators.results import OPEN_SHARE, Effects, Fit
from pairscore.files.write import html_text, plain
from pairscore.model.groups import ShownCoefficients, Term, is_open, shown_coefficients
from pairscore.model.predict import ability_intervals

INTERVALS = ("wald", "profile")
SMALLEST_NAMED, MOST_NAMED = 1e-3, 6  # coefficients of a direction that are named
ROUNDED = 1e-9  # of weights, a sum that counts as zero
KINDS = {
    "items": "item-robust",
    "items+judges": "robust to items and judges",
    "model": "classical",
}
ITEM_ROBUST = (KINDS["items"], KINDS["items+judges"])
SHRUNK = "shrunk by a ridge, and the interval is that of the shrunken sum"
PARTLY = "of the differences that the comparisons determine"
SEPARATED = "a prior holds the estimate, because the comparisons are separated along it"
# why there is no test, and what to do about it
NO_COVARIANCE = "no standard errors were computed"
WITH_RIDGE = "a ridge shrinks coefficients by more than their standard errors tell"
ALL_OPEN = "the comparisons do not determine how they differ"
OF_COMPONENTS = "wins do not link them both ways, so that a prior holds their difference"
ALL_HELD = "the comparisons are separated, so that only a prior holds these coefficients"
HELD = "abilities are held back by more than their standard errors tell"
FEW_ITEMS = "the compared items are too few to test all of these coefficients at once"
FEW_JUDGES = "the judges are too few to test all of these coefficients at once"
REMEDIES = {
    NO_COVARIANCE: "fit with inference='items'",
    WITH_RIDGE: "fit with l2=0",
    ALL_OPEN: "compare items in which they differ",
    OF_COMPONENTS: "compare them with more items that are close to each other",
    ALL_HELD: "compare more items that are close to each other",
    HELD: "fit with l2=0 and item_effects=False to items that have won and lost",
    FEW_ITEMS: "compare more items, or test fewer coefficients",
    FEW_JUDGES: "test fewer coefficients, or fit with inference='items'",
}
SINGLE_ITEM = 1.5  # compared items in a cell, as often as an average one: fewer are one


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of coefficients: its estimate, standard error, interval, z and p.

    ``p`` is two-sided, of the hypothesis that the sum is zero; ``covariance`` says how the error
    was computed, ``note`` what else there is to know. ``df_error`` has the degrees of freedom of
    Student's law; None of the normal one.
    """

    weights: dict[str, float]
    estimate: float
    std_error: float
    low: float
    high: float
    level: float
    statistic: float
    p: float
    covariance: str
    note: str = ""
    df_error: float | None = None

    def __str__(self) -> str:
        text = f"{sum_in_words(self.weights)} = {self.estimate:.4g}"
        if np.isinf(self.low) or np.isinf(self.high):
            upper = "no interval" if np.isinf(self.high) else f"{self.high:.4g} or less"
            ends = upper if np.isinf(self.low) else f"{self.low:.4g} or more"
            return f"{text} ({ends}, {100 * self.level:g} %); {self.note}"
        text += (
            f" (standard error {self.std_error:.3g}, {100 * self.level:g} % interval"
            f" [{self.low:.4g}, {self.high:.4g}],"
            f" {statistic_name(self.df_error)} = {self.statistic:.2f}, {p_in_words(self.p)};"
            f" {self.covariance})"
        )
        return f"{text}; {self.note}" if self.note else text

    def _repr_html_(self) -> str:
        numbers = {name: [one] for name, one in vars(self).items() if isinstance(one, float)}
        return html_text(sum_in_words(self.weights), (), numbers, [self.covariance, self.note])

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return plain(vars(self))


@dataclass(frozen=True)
class JointTest:
    """Wald's test that some coefficients are all zero, or that all levels of a category are equal.

    Under that hypothesis ``statistic`` has about the distribution F with ``df`` and ``df_error``
    degrees of freedom; where ``df_error`` is None, chi-squared with ``df``. ``p`` is NaN where
    there is no test, and ``note`` says why.
    """

    names: tuple[str, ...]
    statistic: float
    df: int
    df_error: float | None
    p: float
    covariance: str
    note: str = ""

    @property
    def in_words(self) -> str:
        """The numbers, or why there are none."""
        if np.isnan(self.p):
            return f"none, because {self.note}"
        law = f"F({self.df}, {self.df_error:.4g})" if self.df_error else f"chi-square({self.df})"
        return f"{law} = {self.statistic:.4g}, {p_in_words(self.p)}"

    def __str__(self) -> str:
        text = f"Joint test of {first_few(self.names)}: {self.in_words}"
        if np.isnan(self.p):
            return text
        return f"{text} ({self.covariance})" + (f"; {self.note}" if self.note else "")

    def _repr_html_(self) -> str:
        facts = [("test", self.in_words), ("covariance", self.covariance)]
        return html_text(f"Joint test of {first_few(self.names)}", facts, None, [self.note])

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return plain(vars(self))


def statistic_name(df: float | None) -> str:
    """What an estimate over its standard error is called: z, or t with its degrees of freedom."""
    return "z" if df is None else f"t({df:.3g})"


def sum_in_words(weights: Mapping[str, float]) -> str:
    """A weighted sum, such as ``style=oil - 0.5 style=ink``."""
    parts = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):.4g} '}{name}"
        for name, weight in weights.items()
    ]
    return " ".join(parts).removeprefix("+ ").replace("- ", "-", 1 if parts[0][0] == "-" else 0)


def wald_test(
    fit: Fit,
    names: tuple[str, ...],
    rows: np.ndarray,
    cells: np.ndarray | None = None,
    effects: Iterable[str] = (),
) -> JointTest:
    """Wald's test that all contrasts of ``rows`` (k x d) are zero, as far as that is determined.

    And with them the named ``effects`` of comparisons.
    A single contrast is z squared, and compared as coefficients are; several with an item-robust
    covariance by Hotelling's law (see :func:`covariance_noise`, which has ``cells``), W factor
    (n - q + 1) / (nq) ~ F(q, n - q + 1); others by chi-squared. A covariance that allows for other
    judges has no more than their degrees of freedom.
    """
    kind, (determined, rank) = covariance_in_words(fit), determined_part(fit, rows)

    def no_test(reason: str) -> JointTest:
        return JointTest(names, np.nan, 0, None, np.nan, kind, reason)

    if fit.covariance is None:
        return no_test(NO_COVARIANCE)
    if fit.l2 > WEAK_L2:
        return no_test(WITH_RIDGE)
    of_effects, effects = effects_of_fit(fit), tuple(effects)
    places = map(of_effects.names.index, effects)
    chosen = [place for place in places if np.isfinite(of_effects.std_errors[place])]
    if not len(determined) and not chosen:
        held = fit.held_by_prior(rows).any() or (len(effects) > 0 and fit.recession is not None)
        return no_test(ALL_HELD if held else ALL_OPEN)
    note = PARTLY if len(determined) + len(chosen) < rank + len(effects) else ""
    C = block_diag(determined, np.eye(len(of_effects.names))[chosen])
    V = fit.full_covariance[: C.shape[1], : C.shape[1]]
    W, q, p = wald(C @ np.concatenate([fit.coef, of_effects.values]), C @ V @ C.T)
    df = fit.df_error
    if q == 1 and df is not None:
        return JointTest(names, W, q, df, float(fdtrc(1, df, W)), kind, note)
    if (q == 1 or kind not in ITEM_ROBUST or fit.n_items is None) and df is None:
        return JointTest(names, W, q, None, p, kind, note)
    n, factor = covariance_noise(fit, q, cells) if kind in ITEM_ROBUST else (np.inf, 1.0)
    if n < q:
        return no_test(FEW_ITEMS)
    n = n if df is None else min(n, df)
    if n < q:
        return no_test(FEW_JUDGES)
    statistic, df_error = W * factor * (n - q + 1) / (n * q), n - q + 1
    p = float(fdtrc(q, df_error, np.maximum(statistic, 0.0)))
    return JointTest(names, statistic, q, df_error, p, kind, note)


def effects_of_fit(fit: Fit) -> Effects:
    """Effects of comparisons, in the order of the covariance; a side effect may be the only one."""
    if fit.effects is not None:
        return fit.effects
    left = [] if fit.side_effect is None else [fit.side_effect]
    error = [np.nan if fit.side_effect_std_error is None else fit.side_effect_std_error]
    names, kinds = ("left",) * len(left), ("side",) * len(left)
    return Effects(names, kinds, np.array(left), np.array(error[: len(left)]))


def effect_intervals(fit: Fit, level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Low and high end of every effect of comparisons, by name."""
    effects, d = effects_of_fit(fit), fit.n_features
    rows = np.eye(d + len(effects.names))[d:]
    low, high = fit.interval_ends(rows, effects.values, effects.std_errors, fit.width(level))
    return dict(zip(effects.names, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def category_tests(shown: ShownCoefficients) -> list[tuple[Term, JointTest]]:
    """Joint test of each category, and of each product with one."""
    return [
        (term, wald_test(shown.fit, (term.name,), term.contrasts, term.cells))
        for term in shown.terms
    ]


def covariance_in_words(fit: Fit) -> str:
    """Effects of items say what comparisons of an item have in common, so none are robust."""
    if fit.inference is None:
        return "not computed"
    effects = fit.item_effects
    if effects is not None and effects.free:
        return KINDS["model"]
    if effects is None or effects.sigma2 == 0:
        return KINDS[fit.inference]
    judges = ", robust to judges" if fit.inference == "items+judges" else ""
    return f"by the model with its item effects{judges}"


def intervals_in_words(fit: Fit) -> str:
    """The kind of the intervals, and for which items and judges they hold."""
    if fit.inference is None:
        return covariance_in_words(fit)
    student = "" if fit.df_error is None else f" (t with {fit.df_error:.3g} degrees of freedom)"
    scope = f"; they {fit.interval_scope}" if fit.interval_scope else ""
    return f"95 %, {covariance_in_words(fit)}{student}{scope}"


def _shown_errors(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and standard errors (d) as the summary shows them."""
    errors, seen = fit.errors(), shown_coefficients(fit)
    return seen.coef, errors if seen.std_errors is None else seen.std_errors


class CoefficientTests:
    """What :class:`~pairscore.model.regression.RankRegression` says of its coefficients."""

    result_: Fit

    def _fitted(self) -> Fit:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self.result_

    @property
    def z_values_(self) -> np.ndarray:
        """Coefficients over their standard errors; of levels, as the summary shows them."""
        return z_and_p(*_shown_errors(self._fitted()))[0]

    @property
    def p_values_(self) -> np.ndarray:
        """Two-sided, of the hypothesis that the coefficient is zero."""
        fit = self._fitted()
        return z_and_p(*_shown_errors(fit), fit.df_error)[1]

    def confidence_intervals(self, level: float = 0.95, method: str = "wald") -> np.ndarray:
        """One row per coefficient: low end, high end; without features, one per item's ability.

        ``method`` is "wald", the coefficient and so many standard errors of the fit (item-robust by
        default), or "profile": where twice the log-likelihood, maximised over all other parameters,
        is a chi-square quantile below its maximum. That takes comparisons for independent. Levels
        of a category are as in :meth:`summary`, against their average or the reference level.
        Where comparisons are separated, Wald intervals end where the comparisons do: they are open,
        to infinity, at one end or both.
        """
        fit = self._fitted()
        width = fit.width(level)
        if method not in INTERVALS:
            raise PairscoreError(f"method is {shown(method)}; use 'wald' or 'profile'.")
        if method == "profile":
            from pairscore.effects.profile import profile_intervals

            return profile_intervals(fit, normal_width(level))
        coef, errors = _shown_errors(fit)
        if not fit.n_features and fit.item_effects is not None:
            return np.column_stack(ability_intervals(fit, width))
        seen = shown_coefficients(fit)
        rows = np.eye(fit.n_features) if seen.rows is None else seen.rows
        return np.column_stack(fit.interval_ends(rows, coef, errors, width))

    def contrast(self, weights: Mapping[str, float], *, level: float = 0.95) -> Contrast:
        """A weighted sum of coefficients with its interval and test.

        ``weights`` by the name of a feature, such as ``{"style=oil": 1, "style=ink": -1}``, or of
        an effect of side, context or ties; without features also by the ids of items, whose weights
        sum to zero.
        Coefficients of levels are as in :meth:`summary`: against the average of all levels, or
        against the reference level. A sum that the comparisons do not determine is refused.
        """
        fit = self._fitted()
        fit.errors()  # refuses a fit without them
        estimate, variance, row = _weighted_sum(fit, weights)
        error = float(np.sqrt(max(variance, 0.0)))
        note = SHRUNK if fit.l2 > WEAK_L2 else ""
        if row is not None and fit.held_by_prior(row[None])[0]:
            error, note = np.nan, SEPARATED
        z, p = map(float, z_and_p(estimate, error if error > 0 else np.nan, fit.df_error))
        width = fit.width(level)
        ends = estimate - width * error, estimate + width * error
        if row is not None:
            values, errors = np.array([estimate]), np.array([error])
            low, high = fit.interval_ends(row[None], values, errors, width)
            ends = float(low[0]), float(high[0])
        elif (open_ends := _open_abilities(fit, weights, width)) is not None:
            (error, z, p), ends, note = (np.nan,) * 3, open_ends, SEPARATED
        known = {name: float(weight) for name, weight in weights.items()}
        kind = covariance_in_words(fit)
        return Contrast(known, estimate, error, *ends, level, z, p, kind, note, fit.df_error)

    def joint_test(self, names: str | Iterable[str]) -> JointTest:
        """Wald's test that the named coefficients are all zero.

        A name is that of a feature, of a level (``style=oil``), of a category (``style``: all its
        levels are equal), of a product with a category (``mass:style``) or of an effect of side,
        context or ties. Ids of items: all have the same ability. The covariance is that
        of the fit, item-robust by default. A coefficient that the comparisons do not determine is
        refused; of a category, the differences that they do determine are tested.
        """
        fit = self._fitted()
        names = (names,) if isinstance(names, str) else tuple(names)
        shown = shown_coefficients(fit)
        terms = {term.name: term for term in shown.terms}
        if not fit.n_features and (found := _abilities(fit, names)) is not None:
            return _equal_abilities(fit, names, *found)
        rows, all_rows, beside = [np.empty((0, fit.n_features))], shown.contrast_rows(), []
        for name in names:
            if name not in (*terms, *fit.names) and _effect(fit, name) is not None:
                beside.append(name)
                continue
            if name in terms:
                rows.append(terms[name].contrasts)
                continue
            row = all_rows[_column(fit, name, terms)]
            if is_open(fit, row[None])[0]:
                raise PairscoreError(_open_in_words(fit, name, row))
            rows.append(row[None])
        if not names:
            raise PairscoreError("joint_test needs the name of a feature or category; give one.")
        one_term = len(names) == 1 and names[0] in terms
        cells = terms[names[0]].cells if one_term else None
        result = wald_test(fit, names, np.vstack(rows), cells, beside)
        return result if np.isfinite(result.p) else _no_joint_test(names, result.note)


def _no_joint_test(names: Iterable[Any], reason: str) -> JointTest:
    raise PairscoreError(
        f"there is no joint test of {first_few(names)}, because {reason}; {REMEDIES[reason]}."
    )


def _abilities(fit: Fit, names: Iterable[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    from pairscore.effects.abilities import named_abilities

    return named_abilities(fit, list(names))


def _components(fit: Fit, names: Iterable[Any]) -> np.ndarray:
    """The component of wins that each of some items is of; one where none is open."""
    effects, names = fit.item_effects, list(names)
    if effects is None or effects.component is None:
        return np.zeros(len(names), dtype=int)
    return effects.component[effects.known(read_names(names).ids, np.empty(0)).row]


def _open_abilities(
    fit: Fit, weights: Mapping[str, float], width: float
) -> tuple[float, float] | None:
    """Ends of a contrast of abilities that only a prior holds: sums of those of the items."""
    each, component = np.array([*weights.values()], dtype=float), _components(fit, weights)
    size = np.bincount(np.unique(component, return_inverse=True)[1], each)
    if np.all(np.abs(size) <= ROUNDED * np.abs(each).sum()):
        return None
    assert fit.item_effects is not None
    row = fit.item_effects.known(read_names(list(weights)).ids, np.empty(0)).row[each != 0]
    low, high = (end[row] for end in ability_intervals(fit, width))
    ends = np.sort(each[each != 0] * np.stack([low, high]), axis=0)
    return float(ends[0].sum()), float(ends[1].sum())


def _equal_abilities(
    fit: Fit, names: tuple[Any, ...], values: np.ndarray, covariance: np.ndarray
) -> JointTest:
    """Wald's test that items have the same ability."""
    if len(names) < 2:
        raise PairscoreError(
            f"only differences of abilities are determined, and {names[0]!r} is one item; name two"
            " or more, whose abilities are then tested for being equal."
        )
    if fit.covariance is None:
        return _no_joint_test(names, NO_COVARIANCE)
    if fit.l2 > WEAK_L2 or not (fit.item_effects and fit.item_effects.free):
        return _no_joint_test(names, HELD)
    if len(np.unique(_components(fit, names))) > 1:
        return _no_joint_test(names, OF_COMPONENTS)
    C = np.eye(len(names))[1:] - np.eye(len(names))[0]
    W, q, p = wald(C @ values, C @ covariance @ C.T)
    return JointTest(names, W, q, None, p, covariance_in_words(fit), "of equal abilities")


def _weighted_sum(fit: Fit, weights: Mapping[str, float]) -> tuple[float, float, np.ndarray | None]:
    """The estimate of a contrast, its variance, and its row of coefficients and effects.

    Abilities have no such row.
    """
    if not isinstance(weights, Mapping) or not weights:
        known = [*fit.names, *effects_of_fit(fit).names, "name"]
        raise PairscoreError(
            f"a contrast has weights by the names of features, and {weights!r} has none; give for"
            f" example {{{known[0]!r}: 1}}."
        )
    for name, weight in weights.items():
        if not is_real(weight) or not np.isfinite(weight):
            raise PairscoreError(f"the weight of {name!r} is {weight!r}; give a number.")
    each, what = np.array([float(one) for one in weights.values()]), sum_in_words(weights)
    zero = f"the contrast {what} is zero whatever the coefficients are; give other weights."
    if not each.any():
        raise PairscoreError(zero)
    if not fit.n_features and (found := _abilities(fit, weights)) is not None:
        if abs(each.sum()) > ROUNDED * np.abs(each).sum():
            raise PairscoreError(
                f"only differences of abilities are determined, and the weights sum to"
                f" {each.sum():.4g}; give weights that sum to zero."
            )
        return float(each @ found[0]), float(each @ found[1] @ each), None
    d, effects = fit.n_features, effects_of_fit(fit)
    rows, contrast = shown_coefficients(fit).contrast_rows(), np.zeros(d + len(effects.names))
    for name, weight in zip(weights, each, strict=True):
        place = None if name in fit.names else _effect(fit, name)
        if place is None:
            contrast[:d] += weight * rows[_column(fit, name)]
        else:
            contrast[d + place] += weight
    if not contrast.any():
        raise PairscoreError(zero)
    if is_open(fit, contrast[None, :d])[0]:
        raise PairscoreError(_open_in_words(fit, what, contrast[:d]))
    V = fit.full_covariance
    contrast, values = contrast[: len(V)], np.append(fit.coef, effects.values)[: len(V)]
    return float(contrast @ values), float(contrast @ V @ contrast), contrast


def _effect(fit: Fit, name: Any) -> int | None:
    """The place of an effect of comparisons, None if there is none; refused without an error."""
    effects = effects_of_fit(fit)
    if name not in effects.names:
        return None
    place = effects.names.index(name)
    d = fit.n_features
    is_held = fit.held_by_prior(np.eye(d + len(effects.names))[[d + place]])[0]
    is_known = np.isfinite(effects.std_errors[place]) or is_held
    if fit.effects_covariance is None or not is_known:
        raise PairscoreError(
            f"the effect {name!r} has no standard error in this model; fit again, to comparisons"
            " that differ in it."
        )
    return place


def _column(fit: Fit, name: str, terms: Iterable[str] = ()) -> int:
    if name in fit.names:
        return fit.names.index(name)
    known = [*fit.names, *terms, *effects_of_fit(fit).names]
    if not fit.n_features and fit.item_effects is not None and fit.item_effects.ids is not None:
        known = [*fit.item_effects.ids.tolist(), *known]
    raise PairscoreError(
        f"the model has no coefficient {name!r}; it has {first_few(map(repr, known), 8)}."
        f"{did_you_mean(str(name), map(str, known))}"
    )


def _open_in_words(fit: Fit, what: str, row: np.ndarray) -> str:
    """Why a contrast (d) is refused: the direction that the comparisons leave open."""
    direction = _open_direction(fit, row)
    size = np.abs(direction * fit.feature_unit)
    largest = np.flatnonzero(size > SMALLEST_NAMED * size.max())
    scale = np.abs(direction[largest]).max()
    weights = {fit.names[n]: round(direction[n] / scale, 4) for n in largest[:MOST_NAMED]}
    more = " + ..." if len(largest) > MOST_NAMED else ""
    return (
        f"the comparisons do not determine {what}: any amount of {sum_in_words(weights)}{more}"
        " added to the coefficients fits them equally well; ask for something that it does not"
        " change, such as the difference of two levels that were compared."
    )


def _open_direction(fit: Fit, row: np.ndarray) -> np.ndarray:
    """An open direction (d) along which a contrast (d) changes.

    All levels of a set by the same amount, if that is one; else what the contrast has of all.
    """
    along = fit.feature_unit[:, None] * fit.open_directions
    for term in shown_coefficients(fit).terms:
        for one in np.unique(term.set_of):
            together = np.zeros(fit.n_features)
            together[term.columns[term.set_of == one]] = 1.0
            standard = fit.feature_unit * together
            is_open = np.allclose(along @ np.linalg.lstsq(along, standard)[0], standard, atol=1e-6)
            if is_open and abs(together @ row) > OPEN_SHARE:
                return together
    return fit.open_directions @ (fit.open_directions.T @ row)


def covariance_noise(fit: "Fit", q: int, cells: np.ndarray | None = None) -> tuple[float, float]:
    """From how many residuals n an item-robust covariance of q contrasts is, and a factor of W.

    At most from N - r - 1, N compared items and r independent features. Levels of a category have
    fewer: with n_c items in cell c, whose share in the contrasts is u_c ~ 1 - n_c/N (of sum q), the
    covariance has n_c - 1 residuals behind the variance in each cell, and is as noisy as a Wishart
    matrix of n = q(q + 1) / sum_c 2 u_c^2 / (n_c - 1) (Pustejovsky and Tipton 2018). The jackknife
    makes these variances larger by 1 / (1 - 1/n_c) on average, which the factor takes off.
    ``cells`` are the 0/1 columns of the cells. An item that is alone in its cell counts each of its
    comparisons by itself.
    """
    items = float(fit.n_items or 0)
    n = items - (fit.n_features - fit.open_directions.shape[1]) - 1
    if cells is None:
        return n, 1.0
    in_cell = items * fit.feature_mean[cells]
    share = 1 - in_cell / items
    share, alone = share * q / share.sum(), in_cell < SINGLE_ITEM
    in_cell = np.where(alone, np.inf, in_cell)
    noise = float(np.sum(2 * share**2 / (in_cell - 1)))
    factor = float(np.sum(share / (1 - 1 / in_cell))) / q
    return min(n, q * (q + 1) / noise if noise else np.inf), factor


def determined_part(fit: "Fit", rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Independent combinations (r x d) of contrasts (k x d) that the comparisons determine.

    Beside them the number of independent combinations with those that are left open.
    """
    standard = rows / fit.feature_unit
    _, size, right = np.linalg.svd(standard, full_matrices=False)
    basis = right[size > OPEN_SHARE * size.max(initial=0.0)]
    directions = fit.open_directions
    if fit.recession is not None:  # what only a prior holds is not determined either
        directions = np.hstack([directions, fit.recession.directions[: fit.n_features]])
    if not directions.size or not len(basis):
        return basis * fit.feature_unit, len(basis)
    along = basis @ (fit.feature_unit[:, None] * directions)
    left, size, _ = np.linalg.svd(along)
    rank = int(np.sum(size > OPEN_SHARE))
    return (left[:, rank:].T @ basis) * fit.feature_unit, len(basis)
