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
from scipy.special import fdtrc, ndtr

from pairscore.core.links import chi_square_p, normal_width, z_and_p
from pairscore.errors import PairscoreError, did_you_mean, first_few, is_real, shown
from pairscore.estimators.diagnostics import p_in_words
from pairscore.estimators.fit_data import WEAK_L2
from pairscore.estimators.inference import comparisons_of_fit, kept_likelihood
from pairscore.estimators.results import OPEN_SHARE, Effects, Fit
from pairscore.files.write import html_text, plain
from pairscore.model.groups import ShownCoefficients, Term, is_open, shown_coefficients

INTERVALS = ("wald", "profile")
SMALLEST_NAMED, MOST_NAMED = 1e-3, 6  # coefficients of a direction that are named
SINGLE_ITEM = 1.5  # compared items in a cell, as often as an average one: fewer are one
RANK = 1e-9  # eigenvalues of a correlation matrix that count as zero
KINDS = {
    "items": "item-robust",
    "items+judges": "robust to items and judges",
    "model": "classical",
}
ITEM_ROBUST = (KINDS["items"], KINDS["items+judges"])
SHRUNK = "shrunk by a ridge, and the interval is that of the shrunken sum"
PARTLY = "of the differences that the comparisons determine"
# why there is no test, and what to do about it
NO_COVARIANCE = "no standard errors were computed"
WITH_RIDGE = "a ridge shrinks coefficients by more than their standard errors tell"
ALL_OPEN = "the comparisons do not determine how they differ"
FEW_ITEMS = "the compared items are too few to test all of these coefficients at once"
REMEDIES = {
    NO_COVARIANCE: "fit with inference='items'",
    WITH_RIDGE: "fit with l2=0",
    ALL_OPEN: "compare items in which they differ",
    FEW_ITEMS: "compare more items, or test fewer coefficients",
}


# -- results ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of coefficients: its estimate, standard error, interval, z and p.

    ``p`` is two-sided, of the hypothesis that the sum is zero; ``covariance`` says how the error
    was computed, ``note`` what else there is to know.
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

    def __str__(self) -> str:
        text = (
            f"{sum_in_words(self.weights)} = {self.estimate:.4g} (standard error"
            f" {self.std_error:.3g}, {100 * self.level:g} % interval [{self.low:.4g},"
            f" {self.high:.4g}], z = {self.statistic:.2f}, {p_in_words(self.p)}; {self.covariance})"
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


def sum_in_words(weights: Mapping[str, float]) -> str:
    """A weighted sum, such as ``style=oil - 0.5 style=ink``."""
    parts = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):.4g} '}{name}"
        for name, weight in weights.items()
    ]
    return " ".join(parts).removeprefix("+ ").replace("- ", "-", 1 if parts[0][0] == "-" else 0)


# -- estimates and tests ---------------------------------------------------------------------------


def wald(estimate: np.ndarray, covariance: np.ndarray) -> tuple[float, int, float]:
    """Wald's statistic e'V^+ e of an estimate (k), its degrees of freedom (rank of V), and p.

    By the correlations, so that units do not matter.
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    z, correlation = estimate / scale, covariance / np.outer(scale, scale)
    statistic = float(z @ np.linalg.pinv(correlation, RANK, hermitian=True) @ z)
    df = int(np.linalg.matrix_rank(correlation, RANK, hermitian=True))
    return statistic, df, chi_square_p(statistic, df)


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
    (n - q + 1) / (nq) ~ F(q, n - q + 1); others by chi-squared.
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
        return no_test(ALL_OPEN)
    note = PARTLY if len(determined) + len(chosen) < rank + len(effects) else ""
    C = block_diag(determined, np.eye(len(of_effects.names))[chosen])
    V = full_covariance(fit)[: C.shape[1], : C.shape[1]]
    W, q, p = wald(C @ np.concatenate([fit.coef, of_effects.values]), C @ V @ C.T)
    if q == 1 or kind not in ITEM_ROBUST or fit.n_items is None:
        return JointTest(names, W, q, None, p, kind, note)
    n, factor = covariance_noise(fit, q, cells)
    if n < q:
        return no_test(FEW_ITEMS)
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


def full_covariance(fit: Fit) -> np.ndarray:
    """Of coefficients and effects, d + k; as far as the fit has it."""
    assert fit.covariance is not None
    if fit.effects_covariance is None:
        return fit.covariance
    across = fit.effects_covariance
    return np.hstack([np.vstack([fit.covariance, across[: fit.n_features].T]), across])


def covariance_noise(fit: Fit, q: int, cells: np.ndarray | None = None) -> tuple[float, float]:
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


def determined_part(fit: Fit, rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Independent combinations (r x d) of contrasts (k x d) that the comparisons determine.

    Beside them the number of independent combinations with those that are left open.
    """
    standard = rows / fit.feature_unit
    _, size, right = np.linalg.svd(standard, full_matrices=False)
    basis = right[size > OPEN_SHARE * size.max(initial=0.0)]
    if not fit.open_directions.size or not len(basis):
        return basis * fit.feature_unit, len(basis)
    along = basis @ (fit.feature_unit[:, None] * fit.open_directions)
    left, size, _ = np.linalg.svd(along)
    rank = int(np.sum(size > OPEN_SHARE))
    return (left[:, rank:].T @ basis) * fit.feature_unit, len(basis)


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
    if effects is None or effects.sigma2 == 0 or effects.free:
        return KINDS[fit.inference]
    judges = ", robust to judges" if fit.inference == "items+judges" else ""
    return f"by the model with its item effects{judges}"


def profile_intervals(fit: Fit, width: float) -> np.ndarray:
    """Where the profile likelihood of each coefficient is width^2 / 2 below its maximum (d x 2).

    NaN where the comparisons do not determine the coefficient.
    """
    kept_likelihood(fit.likelihood).refuse_none()
    data, ends = comparisons_of_fit(fit, "profile intervals"), np.full((fit.n_features, 2), np.nan)
    if not fit.n_features:
        return ends
    from pairscore.effects.covariance import profile_ends, rows_at_maximum

    determined = np.flatnonzero(~fit.undetermined)
    ends[determined] = profile_ends(*rows_at_maximum(fit, data), determined, width**2 / 2)
    return ends


class CoefficientTests:
    """What :class:`~pairscore.model.regression.RankRegression` says of its coefficients."""

    result_: Fit

    def _fitted(self) -> Fit:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self.result_

    @property
    def z_values_(self) -> np.ndarray:
        """Coefficients over their standard errors."""
        fit = self._fitted()
        return z_and_p(fit.coef, fit.errors())[0]

    @property
    def p_values_(self) -> np.ndarray:
        """Two-sided, of the hypothesis that the coefficient is zero."""
        return 2 * ndtr(-np.abs(self.z_values_))

    def confidence_intervals(self, level: float = 0.95, method: str = "wald") -> np.ndarray:
        """One row per coefficient: low end, high end.

        ``method`` is "wald", the coefficient and so many standard errors of the fit (item-robust by
        default), or "profile": where twice the log-likelihood, maximised over all other parameters,
        is a chi-square quantile below its maximum. That takes comparisons for independent.
        """
        fit, width = self._fitted(), normal_width(level)
        if method not in INTERVALS:
            raise PairscoreError(f"method is {shown(method)}; use 'wald' or 'profile'.")
        if method == "profile":
            return profile_intervals(fit, width)
        half = width * fit.errors()
        return np.column_stack([fit.coef - half, fit.coef + half])

    def contrast(self, weights: Mapping[str, float], *, level: float = 0.95) -> Contrast:
        """A weighted sum of coefficients with its interval and test.

        ``weights`` by the name of a feature, such as ``{"style=oil": 1, "style=ink": -1}``.
        Coefficients of levels are as in :meth:`summary`: against the average of all levels, or
        against the reference level. A sum that the comparisons do not determine is refused.
        """
        fit = self._fitted()
        fit.errors()  # refuses a fit without them
        assert fit.covariance is not None
        row = _weighted_row(fit, weights)
        if is_open(fit, row[None])[0]:
            raise PairscoreError(_open_in_words(fit, sum_in_words(weights), row))
        estimate = float(row @ fit.coef)
        error = float(np.sqrt(max(row @ fit.covariance @ row, 0.0)))
        z, half = estimate / error if error > 0 else np.nan, normal_width(level) * error
        ends = estimate - half, estimate + half
        note = SHRUNK if fit.l2 > WEAK_L2 else ""
        known = {name: float(weight) for name, weight in weights.items()}
        p, kind = float(2 * ndtr(-abs(z))), covariance_in_words(fit)
        return Contrast(known, estimate, error, *ends, level, z, p, kind, note)

    def joint_test(self, names: str | Iterable[str]) -> JointTest:
        """Wald's test that the named coefficients are all zero.

        A name is that of a feature, of a level (``style=oil``), of a category (``style``: all its
        levels are equal) or of a product with a category (``mass:style``). The covariance is that
        of the fit, item-robust by default. A coefficient that the comparisons do not determine is
        refused; of a category, the differences that they do determine are tested.
        """
        fit = self._fitted()
        names = (names,) if isinstance(names, str) else tuple(names)
        shown = shown_coefficients(fit)
        terms = {term.name: term for term in shown.terms}
        rows, all_rows = [], shown.contrast_rows()
        for name in names:
            if name in terms:
                rows.append(terms[name].contrasts)
                continue
            row = all_rows[_column(fit, name, terms)]
            if is_open(fit, row[None])[0]:
                raise PairscoreError(_open_in_words(fit, name, row))
            rows.append(row[None])
        if not rows:
            raise PairscoreError("joint_test needs the name of a feature or category; give one.")
        one_term = len(names) == 1 and names[0] in terms
        cells = terms[names[0]].cells if one_term else None
        result = wald_test(fit, names, np.vstack(rows), cells)
        if np.isnan(result.p):
            raise PairscoreError(
                f"there is no joint test of {first_few(names)}, because {result.note};"
                f" {REMEDIES[result.note]}."
            )
        return result


def _weighted_row(fit: Fit, weights: Mapping[str, float]) -> np.ndarray:
    """The contrast (d) of weights by name."""
    if not isinstance(weights, Mapping) or not weights:
        raise PairscoreError(
            f"a contrast has weights by the names of features, and {weights!r} has none; give for"
            f" example {{{fit.names[0]!r}: 1}}."
        )
    rows, contrast = shown_coefficients(fit).contrast_rows(), np.zeros(fit.n_features)
    for name, weight in weights.items():
        if not is_real(weight) or not np.isfinite(weight):
            raise PairscoreError(f"the weight of {name!r} is {weight!r}; give a number.")
        contrast += float(weight) * rows[_column(fit, name)]
    if not contrast.any():
        raise PairscoreError(
            f"the contrast {sum_in_words(weights)} is zero whatever the coefficients are; give"
            " other weights."
        )
    return contrast


def _column(fit: Fit, name: str, terms: Iterable[str] = ()) -> int:
    if name in fit.names:
        return fit.names.index(name)
    known = [*fit.names, *terms]
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
