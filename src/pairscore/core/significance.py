"""Widths of intervals, p-values and tests: what a level of confidence comes to."""

from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtri, gammaincinv, ndtr, ndtri, stdtr, stdtrit

from pairscore.errors import PairscoreError, share_meant

SMALLEST_P = 1e-4  # p-values below are all shown as this one
RANK = 1e-9  # eigenvalues of a correlation matrix that count as zero


def z_and_p(value: Any, error: Any, df: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Values over their standard errors, and the two-sided p-values of these; NaN without one.

    By the normal law, or Student's with ``df`` degrees of freedom.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.asarray(value, dtype=float) / np.asarray(error, dtype=float)
    return z, 2 * (ndtr(-np.abs(z)) if df is None else stdtr(df, -np.abs(z)))


def chi_square_p(statistic: float, freedom: float) -> float:
    """The chance that chi-squared with these degrees of freedom exceeds a statistic.

    That of a statistic below zero, which rounding can make, is 1; NaN without a freedom.
    """
    return float(chdtrc(freedom, np.maximum(statistic, 0.0))) if freedom > 0 else np.nan


def normal_width(level: float) -> float:
    """How many standard errors a normal interval of this level reaches: 1.96 for 0.95."""
    if not 0 < level < 1:
        raise PairscoreError(
            f"level is {level!r}; use a number between 0 and 1, such as 0.95.{share_meant(level)}"
        )
    return float(ndtri(0.5 + level / 2))


def interval_width(level: float, df: float | None = None) -> float:
    """How many standard errors an interval reaches: of the normal law, or of Student's with df."""
    normal = normal_width(level)  # refuses a level outside of (0, 1)
    return normal if df is None else float(stdtrit(df, 0.5 + level / 2))


def scheffe_width(level: float, n_features: int, df: float | None = None) -> float:
    """How many standard errors intervals reach that hold for all scores at once (Scheffe 1953).

    The root of the chi-square quantile with one degree of freedom for each of d features; with
    ``df`` degrees of freedom of the covariance, that of Hotelling's quantile,
    d df / (df - d + 1) F(d, df - d + 1), which is infinite where the features are more.
    """
    normal_width(level)  # refuses a level outside of (0, 1)
    if df is None:
        return float(np.sqrt(2 * gammaincinv(n_features / 2, level)))
    rest = df - n_features + 1
    if rest <= 0:
        return float("inf")
    return float(np.sqrt(n_features * df / rest * fdtri(n_features, rest, level)))


def p_in_words(p: float) -> str:
    """A p-value as it stands in a sentence."""
    return f"p < {SMALLEST_P:.4f}" if p < SMALLEST_P else f"p = {p:.2g}"


def wald(estimate: np.ndarray, covariance: np.ndarray) -> tuple[float, int, float]:
    """Wald's statistic e'V^+ e of an estimate (k), its degrees of freedom (rank of V), and p.

    By the correlations, so that units do not matter.
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    z, correlation = estimate / scale, covariance / np.outer(scale, scale)
    statistic = float(z @ np.linalg.pinv(correlation, RANK, hermitian=True) @ z)
    df = int(np.linalg.matrix_rank(correlation, RANK, hermitian=True))
    return statistic, df, chi_square_p(statistic, df)
