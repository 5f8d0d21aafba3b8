"""Limits of statistical tests, derived so that every seed passes and a wrong method fails.

A test sums up what it saw over all fits, and compares the sum with a quantile of its distribution
at a chance of 1e-5, shared among the number of sums that it looks at (Bonferroni).
"""

import numpy as np
from scipy.stats import binom, chi2, norm
from scipy.stats import t as student

CHANCE = 1e-5
COVERED = (0.93, 0.97)  # what a 95 % interval may cover: no interval is exact in a finite study


def fair_squares(number, n_sums=1, alike=1, covered=COVERED):
    """Between which limits ``number`` squared z-scores add up if intervals cover what they may.

    A z-score of an interval that covers a share c is normal with the standard deviation
    z(0.975) / z((1 + c) / 2), so the sum of squares is this deviation squared times a chi-square
    variable. It uses each fit better than a count of the few that are not covered. Estimates of
    one fit share their scale: taken for ``alike`` copies of one number, they add up to ``alike``
    times a chi-square variable of so many times fewer degrees of freedom, which is the worst case.
    """
    most, least = (norm.ppf(0.975) / norm.ppf((1 + share) / 2) for share in covered)
    chance = CHANCE / n_sums
    low, high = chi2.ppf(chance, number / alike), chi2.isf(chance, number / alike)
    return alike * least**2 * low, alike * most**2 * high


def fair_misses(number, n_sums=1):
    """Between which numbers of misses ``number`` intervals stay that cover 93 to 97 %."""
    fewest, most = 1 - COVERED[1], 1 - COVERED[0]
    chance = CHANCE / n_sums
    return binom.ppf(chance, number, fewest), binom.isf(chance, number, most)


def largest_mean(values, n_sums=1):
    """How far from zero the means of columns of independent rows may be: t-quantile times error."""
    n_rows = len(values)
    error = np.std(values, axis=0, ddof=1) / np.sqrt(n_rows)
    return student.isf(CHANCE / n_sums / 2, n_rows - 1) * error


def largest_score(number):
    """How large the largest of ``number`` z-scores may be if intervals cover 93 % or more."""
    wide = norm.ppf(0.975) / norm.ppf((1 + COVERED[0]) / 2)
    return wide * norm.isf(CHANCE / number / 2)
