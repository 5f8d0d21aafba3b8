"""Contrasts of coefficients and joint tests, with the covariance of the fit.

A contrast c'beta, such as the difference of two levels of a category, has the error sqrt(c'Vc).
Wald's test of several contrasts C is W = (C beta)' (CVC')^-1 (C beta), with as many degrees of
freedom as there are independent ones; of one, it is the square of z = c'beta / error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc

from pairscore.core.significance import p_in_words, wald, z_and_p
from pairscore.core.whitening import OPEN_SHARE
from pairscore.data.items import read_names
from pairscore.display import did_you_mean, first_few, html_text
from pairscore.errors import CallError, PairscoreError, is_real
from pairscore.estimators.ridge import WEAK_L2
from pairscore.messages import Piece, Setting
from pairscore.model.categories import CategoryTerm, ShownCoefficients, shown_coefficients
from pairscore.model.curves import bend_columns
from pairscore.model.fit import Fit
from pairscore.model.inference import ITEM_ROBUST, covariance_in_words
from pairscore.model.open_directions import is_open
from pairscore.records import plain

SMALLEST_NAMED = 1e-3  # of the largest coefficient of a direction: smaller ones are not named
MOST_NAMED_COEFFICIENTS = 6  # of a direction, so that the sentence stays one
ROUNDED = 1e-9  # of weights, a sum that counts as zero
SHRUNK = "shrunk by a ridge, and the interval is that of the shrunken sum"
PARTLY = "of the differences that the comparisons determine"
HELD_BY_PRIOR = "a prior holds the estimate, because the comparisons are separated along it"
# why there is no test, and what to do about it
NO_COVARIANCE = "no standard errors were computed"
UNKNOWN_COVARIANCE = "their standard errors are unknown"
WITH_RIDGE = "a ridge biases coefficients by more than their standard errors show"
ALL_OPEN = "the comparisons do not determine how they differ"
NOT_LINKED = "wins do not link them both ways, so that a prior holds their difference"
ALL_HELD = "the comparisons are separated, so that only a prior holds these coefficients"
HELD = "abilities are held back by more than their standard errors show"
TOO_FEW_ITEMS = "the compared items are too few to test all of these coefficients at once"
TOO_FEW_JUDGES = "the judges are too few to test all of these coefficients at once"
TEST_REMEDIES: dict[str, list[Piece]] = {
    NO_COVARIANCE: ["fit with " + Setting("inference", "items")],
    UNKNOWN_COVARIANCE: ["fit to comparisons of which some have a winner"],
    WITH_RIDGE: ["fit with " + Setting("l2", 0)],
    ALL_OPEN: ["compare items in which they differ"],
    NOT_LINKED: ["compare them with more items that are close to each other"],
    ALL_HELD: ["compare more items that are close to each other"],
    HELD: [
        "fit with "
        + Setting("l2", 0)
        + " and "
        + Setting("item_effects", False)
        + " to items that have won and lost"
    ],
    TOO_FEW_ITEMS: ["compare more items", "test fewer coefficients"],
    TOO_FEW_JUDGES: ["test fewer coefficients", "fit with " + Setting("inference", "items")],
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
    kind = covariance_in_words(fit)
    determined, rank = determined_part(fit, rows)

    def no_test(reason: str) -> JointTest:
        return JointTest(names, np.nan, 0, None, np.nan, kind, reason)

    if fit.covariance is None:
        return no_test(NO_COVARIANCE)
    if fit.l2 > WEAK_L2:
        return no_test(WITH_RIDGE)
    effects = tuple(effects)
    of_effects = fit.all_effects
    numbers = map(of_effects.names.index, effects)
    chosen = [number for number in numbers if np.isfinite(of_effects.std_errors[number])]
    if not len(determined) and not chosen:
        held = fit.held_by_prior(rows).any() or (len(effects) > 0 and fit.recession is not None)
        return no_test(ALL_HELD if held else ALL_OPEN)
    note = PARTLY if len(determined) + len(chosen) < rank + len(effects) else ""
    from scipy.linalg import block_diag

    C = block_diag(determined, np.eye(len(of_effects.names))[chosen])
    V = fit.full_covariance[: C.shape[1], : C.shape[1]]
    covariance = C @ V @ C.T
    if not np.isfinite(covariance).all():  # nothing was decided
        return no_test(UNKNOWN_COVARIANCE)
    W, q, p = wald(C @ np.concatenate([fit.coef, of_effects.values]), covariance)
    df = fit.panel.df_error
    if q == 1 and df is not None:
        return JointTest(names, W, q, df, float(fdtrc(1, df, W)), kind, note)
    if (q == 1 or kind not in ITEM_ROBUST or fit.n_items is None) and df is None:
        return JointTest(names, W, q, None, p, kind, note)
    n, factor = covariance_noise(fit, q, cells) if kind in ITEM_ROBUST else (np.inf, 1.0)
    if n < q:
        return no_test(TOO_FEW_ITEMS)
    n = n if df is None else min(n, df)
    if n < q:
        return no_test(TOO_FEW_JUDGES)
    df_error = n - q + 1
    statistic = W * factor * df_error / (n * q)
    p = float(fdtrc(q, df_error, np.maximum(statistic, 0.0)))
    return JointTest(names, statistic, q, df_error, p, kind, note)


def category_tests(shown: ShownCoefficients) -> list[tuple[CategoryTerm, JointTest]]:
    """Joint test of each category, and of each product with one."""
    return [
        (term, wald_test(shown.fit, (term.name,), term.contrasts, term.cells))
        for term in shown.terms
    ]


def straightness_tests(fit: Fit) -> list[JointTest]:
    """Joint test of the bends of each curve: that the truth is a straight line."""
    rows = np.eye(fit.n_features)
    return [wald_test(fit, (name,), rows[bends]) for name, bends in bend_columns(fit).items()]


def contrast_of(fit: Fit, weights: Mapping[str, float], level: float) -> Contrast:
    """A weighted sum of coefficients, effects of comparisons or abilities, by their names."""
    fit.errors()  # refuses a fit without them
    estimate, variance, row = _weighted_sum(fit, weights)
    error = float(np.sqrt(max(variance, 0.0)))
    note = SHRUNK if fit.l2 > WEAK_L2 else ""
    width = fit.width(level)
    if row is None:
        ends = estimate - width * error, estimate + width * error
        open_ends = _open_abilities(fit, weights, width)
        if open_ends is not None:
            ends = open_ends
            error = np.nan
            note = HELD_BY_PRIOR
    else:
        if fit.held_by_prior(row[None])[0]:
            error = np.nan
            note = HELD_BY_PRIOR
        low, high = fit.interval_ends(row[None], np.array([estimate]), np.array([error]), width)
        ends = float(low[0]), float(high[0])
    z, p = z_and_p(estimate, error if error > 0 else np.nan, fit.panel.df_error)
    return Contrast(
        weights={name: float(weight) for name, weight in weights.items()},
        estimate=estimate,
        std_error=error,
        low=ends[0],
        high=ends[1],
        level=level,
        statistic=float(z),
        p=float(p),
        covariance=covariance_in_words(fit),
        note=note,
        df_error=fit.panel.df_error,
    )


def joint_test_of(fit: Fit, names: tuple[str, ...]) -> JointTest:
    """Wald's test that the named coefficients, effects of comparisons or levels are zero."""
    if not fit.n_features:
        found = _abilities(fit, list(names))
        if found is not None:
            return _equal_abilities(fit, names, *found)
    coefficients = shown_coefficients(fit)
    contrast_rows = coefficients.contrast_rows()
    terms = {term.name: term for term in coefficients.terms}
    curves = bend_columns(fit)
    rows = [np.empty((0, fit.n_features))]
    effects = []
    for name in names:
        if name in terms:
            rows.append(terms[name].contrasts)
        elif name in curves:
            rows.append(contrast_rows[curves[name]])
        elif name not in fit.names and _effect(fit, name) is not None:
            effects.append(name)
        else:
            row = contrast_rows[_column(fit, name, [*terms, *curves])]
            if is_open(fit, row[None])[0]:
                raise PairscoreError(_open_in_words(fit, name, row))
            rows.append(row[None])
    if not names:
        raise CallError("a joint test needs the name of a feature or category", "give one")
    one_term = terms.get(names[0]) if len(names) == 1 else None
    cells = None if one_term is None else one_term.cells
    result = wald_test(fit, names, np.vstack(rows), cells, effects)
    return result if np.isfinite(result.p) else _no_joint_test(names, result.note)


def _no_joint_test(names: Iterable[Any], reason: str) -> JointTest:
    raise PairscoreError(
        f"there is no joint test of {first_few(names)}, because {reason}", TEST_REMEDIES[reason]
    )


def _abilities(fit: Fit, names: list[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Abilities (k) of the items of these ids, and their covariance (k x k); None if none is one.

    Of a fit without features, in which an item goes before an effect of the same name.
    """
    if fit.item_effects is None or not names:
        return None
    from pairscore.effects.item_covariance import own_variance, shared_variance

    ids = read_names(names).ids
    known = fit.item_effects.known(ids, np.empty(0))
    if not np.any(known.row >= 0):
        return None
    if np.any(known.row < 0):
        other = names[int(np.argmin(known.row))]
        raise PairscoreError(
            f"the fit has no item {other!r}, and has others that were named; ask for items alone."
        )
    first, second = (one.ravel() for one in np.meshgrid(known.row, known.row))
    shared = shared_variance(fit.item_effects, first, second)
    variance = fit.item_effects.std_error[first] ** 2
    if fit.item_effects.components is not None:
        variance = own_variance(fit.item_effects, first)
    own = np.where(first == second, variance, shared)
    return known.effect, own.reshape(len(names), len(names))


def _components(fit: Fit, names: Iterable[Any]) -> np.ndarray:
    """The component of wins that each of some items is of; one where none is open."""
    names = list(names)
    effects = fit.item_effects
    if effects is None or effects.components is None:
        return np.zeros(len(names), dtype=int)
    return effects.components.of_item[effects.known(read_names(names).ids, np.empty(0)).row]


def _open_abilities(
    fit: Fit, weights: Mapping[str, float], width: float
) -> tuple[float, float] | None:
    """Ends of a contrast of abilities that only a prior holds: sums of those of the items."""
    each = np.array([*weights.values()], dtype=float)
    component = _components(fit, weights)
    size = np.bincount(np.unique(component, return_inverse=True)[1], each)
    if np.all(np.abs(size) <= ROUNDED * np.abs(each).sum()):
        return None
    assert fit.item_effects is not None
    row = fit.item_effects.known(read_names(list(weights)).ids, np.empty(0)).row[each != 0]
    from pairscore.effects.open_abilities import ability_ends  # with effects alone

    low, high = (end[row] for end in ability_ends(fit, width))
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
        return _no_joint_test(names, NOT_LINKED)
    C = np.eye(len(names))[1:] - np.eye(len(names))[0]
    W, q, p = wald(C @ values, C @ covariance @ C.T)
    return JointTest(names, W, q, None, p, covariance_in_words(fit), "of equal abilities")


def _weighted_sum(fit: Fit, weights: Mapping[str, float]) -> tuple[float, float, np.ndarray | None]:
    """The estimate of a contrast, its variance, and its row of coefficients and effects.

    Abilities have no such row.
    """
    if not isinstance(weights, Mapping) or not weights:
        known = [*fit.names, *fit.all_effects.names, "name"]
        raise PairscoreError(
            f"a contrast has weights by the names of features, and {weights!r} has none; give for"
            f" example {{{known[0]!r}: 1}}."
        )
    for name, weight in weights.items():
        if not is_real(weight) or not np.isfinite(weight):
            raise PairscoreError(f"the weight of {name!r} is {weight!r}; give a number.")
    each = np.array([float(one) for one in weights.values()])
    what = sum_in_words(weights)
    zero = f"the contrast {what} is zero whatever the coefficients are; give other weights."
    if not each.any():
        raise PairscoreError(zero)
    abilities = None if fit.n_features else _abilities(fit, list(weights))
    if abilities is not None:
        values, covariance = abilities
        if abs(each.sum()) > ROUNDED * np.abs(each).sum():
            raise PairscoreError(
                f"only differences of abilities are determined, and the weights sum to"
                f" {each.sum():.4g}; give weights that sum to zero."
            )
        return float(each @ values), float(each @ covariance @ each), None
    d = fit.n_features
    effects = fit.all_effects
    rows = shown_coefficients(fit).contrast_rows()
    contrast = np.zeros(d + len(effects.names))
    for name, weight in zip(weights, each, strict=True):
        number = None if name in fit.names else _effect(fit, name)
        if number is None:
            contrast[:d] += weight * rows[_column(fit, name)]
        else:
            contrast[d + number] += weight
    if not contrast.any():
        raise PairscoreError(zero)
    if is_open(fit, contrast[None, :d])[0]:
        raise PairscoreError(_open_in_words(fit, what, contrast[:d]))
    V = fit.full_covariance
    contrast = contrast[: len(V)]
    values = np.append(fit.coef, effects.values)[: len(V)]
    return float(contrast @ values), float(contrast @ V @ contrast), contrast


def _effect(fit: Fit, name: Any) -> int | None:
    """The number of an effect of comparisons, None if there is none; refused without an error."""
    effects = fit.all_effects
    if name not in effects.names:
        return None
    number = effects.names.index(name)
    d = fit.n_features
    is_held = fit.held_by_prior(np.eye(d + len(effects.names))[[d + number]])[0]
    is_known = np.isfinite(effects.std_errors[number]) or is_held
    if fit.effects_covariance is None or not is_known:
        raise PairscoreError(
            f"the effect {name!r} has no standard error in this model; fit again, to comparisons"
            " that differ in it."
        )
    return number


def _column(fit: Fit, name: str, terms: Iterable[str] = ()) -> int:
    if name in fit.names:
        return fit.names.index(name)
    known = [*fit.names, *terms, *fit.all_effects.names]
    if not fit.n_features and fit.item_effects is not None and fit.item_effects.ids is not None:
        known = [*fit.item_effects.ids.tolist(), *known]
    raise PairscoreError(
        f"the model has no coefficient {name!r}; it has {first_few(map(repr, known), 8)}."
        f"{did_you_mean(str(name), map(str, known))}"
    )


def _open_in_words(fit: Fit, what: str, row: np.ndarray) -> str:
    """Why a contrast (d) is refused: the direction that the comparisons leave open."""
    direction = _open_direction(fit, row)
    size = np.abs(direction * fit.features.unit)
    largest = np.flatnonzero(size > SMALLEST_NAMED * size.max())
    scale = np.abs(direction[largest]).max()
    named = largest[:MOST_NAMED_COEFFICIENTS]
    weights = {fit.names[n]: round(direction[n] / scale, 4) for n in named}
    more = " + ..." if len(largest) > len(named) else ""
    return (
        f"the comparisons do not determine {what}: any amount of {sum_in_words(weights)}{more}"
        " added to the coefficients fits them equally well; ask for something that it does not"
        " change, such as the difference of two levels that were compared."
    )


def _open_direction(fit: Fit, row: np.ndarray) -> np.ndarray:
    """An open direction (d) along which a contrast (d) changes.

    All levels of a set by the same amount, if that is one; else what the contrast has of all.
    """
    along = fit.features.unit[:, None] * fit.open.directions
    for term in shown_coefficients(fit).terms:
        for one in np.unique(term.set_of):
            together = np.zeros(fit.n_features)
            together[term.columns[term.set_of == one]] = 1.0
            standard = fit.features.unit * together
            is_open = np.allclose(along @ np.linalg.lstsq(along, standard)[0], standard, atol=1e-6)
            if is_open and abs(together @ row) > OPEN_SHARE:
                return together
    return fit.open.directions @ (fit.open.directions.T @ row)


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
    n = items - (fit.n_features - fit.open.directions.shape[1]) - 1
    if cells is None:
        return n, 1.0
    in_cell = items * fit.features.mean[cells]
    share = 1 - in_cell / items
    share = share * q / share.sum()
    in_cell = np.where(in_cell < SINGLE_ITEM, np.inf, in_cell)
    noise = float(np.sum(2 * share**2 / (in_cell - 1)))
    factor = float(np.sum(share / (1 - 1 / in_cell))) / q
    return min(n, q * (q + 1) / noise if noise else np.inf), factor


def determined_part(fit: "Fit", rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Independent combinations (r x d) of contrasts (k x d) that the comparisons determine.

    Beside them the number of independent combinations with those that are left open.
    """
    standard = rows / fit.features.unit
    _, size, right = np.linalg.svd(standard, full_matrices=False)
    basis = right[size > OPEN_SHARE * size.max(initial=0.0)]
    directions = fit.open.directions
    if fit.recession is not None:  # what only a prior holds is not determined either
        directions = np.hstack([directions, fit.recession.directions[: fit.n_features]])
    if not directions.size or not len(basis):
        return basis * fit.features.unit, len(basis)
    along = basis @ (fit.features.unit[:, None] * directions)
    left, size, _ = np.linalg.svd(along)
    rank = int(np.sum(size > OPEN_SHARE))
    return (left[:, rank:].T @ basis) * fit.features.unit, len(basis)
