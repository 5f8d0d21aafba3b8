"""Do items differ beyond their features at all? A score test of sigma^2, and a first guess."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri

from pairscore.core.linear_systems import TINY
from pairscore.core.links import Link
from pairscore.core.pair_graph import Pairs, laplacian
from pairscore.core.whitening import Basis
from pairscore.effects.single_comparisons import RowDerivatives, SingleComparisons

FLATTER = (16 * np.sqrt(3) / (15 * np.pi)) ** 2  # a logit averaged over a normal effect
# Guards of divisions: of the first guess, of the score's variance where parameters are as many as
# items; and the skewness below which a law is normal.
LEAST_GROWTH = 0.2
LEAST_LEFT = 0.01
SYMMETRIC = 1e-3


class VarianceScore(NamedTuple):
    """Of sigma^2 at zero: the score with mean zero if that is true, how it grows, and its second
    and third cumulant; and the information on the score of an item and of a pair, as they count.
    """

    score: float
    growth: float
    variance: float
    third: float = 0.0
    of_item: float = 0.0
    of_pair: float = 0.0

    @property
    def p_value(self) -> float:
        """Of no effects, one-sided, by the gamma law that has the same three cumulants."""
        if self.variance <= 0:  # nothing to see
            return 1.0
        sd = np.sqrt(self.variance)
        z, skewness = self.score / sd, self.third / sd**3
        if skewness < SYMMETRIC:
            return float(ndtr(-z))
        shape = 4 / skewness**2
        return float(gammaincc(shape, max(shape + z * np.sqrt(shape), 0.0)))

    def smallest_seen(self, level: float, link: Link) -> float:
        """The standard deviation of effects that a test of this level sees about 8 times out of 10.

        With x = sigma^2 the score has about the mean growth x / (1 + a x), because averaging over
        effects flattens the link, and the standard deviation sd (1 + of_item x), of which the test
        sees sd (1 + 2 of_pair x): the x at which the mean is as far beyond the limit of the test as
        it takes, from a quadratic equation.
        """
        if self.growth <= 0 or self.variance <= 0:
            return float("inf")
        sd, power, z = float(np.sqrt(self.variance)), float(ndtri(0.8)), float(-ndtri(level))
        limit = z + self.third / sd**3 * (z**2 - 1) / 6
        a = flattening(link)
        wider = power * self.of_item + 2 * limit * self.of_pair
        square = sd * a * wider
        slope = sd * (wider + a * (limit + power)) - self.growth
        root = slope**2 - 4 * square * sd * (limit + power)
        if slope >= 0 or root < 0:
            return float("inf")
        return float(np.sqrt(2 * sd * (limit + power) / (-slope + np.sqrt(root))))


def variance_score(rows: SingleComparisons, s: RowDerivatives, basis: Basis) -> VarianceScore:
    """The score of sigma^2 at a fit without effects of items, less what a pair says of itself,

        T = sum_i [(sum_p r_p)^2 - sum_p r_p^2] = r'A r,

    r_p the net score of pair p as item i sees it, A_pq = 1 or -1 where p and q share an item. With
    independent pairs of variance V_p and no parameters it has mean zero and the cumulants

        2 tr (AV)^2 = 2 sum_i [(sum_p V_p)^2 - sum_p V_p^2],
        8 tr (AV)^3 = 8 sum_i sum of V_p V_q V_r over three pairs p, q, r of item i,

    triangles left out. V_p is r_p^2, so comparisons of one pair may depend on each other, and
    weights and half ties do no harm. A fit takes V D H D'V off the covariance of the r_p, with D
    the columns of theta and H the inverse information (with the ridge, if coefficients are as
    large as it says): this moves the mean by tr G, G = W'D'VAVDW with WW' = H, and the second
    cumulant by the factor 1 - [2 tr W'D'VAVAVDW - |G|^2] / tr (AV)^2 with V the information.
    """
    pairs, score, information = rows.pairs, _pair_scores(rows, s), rows.pair_information(s)
    d, W = len(rows.mean), basis.transform
    Y, Z = rows.item_borders(s) @ W, (rows.X - rows.mean) @ W[:d]  # B'VDW, and DW = BZ
    squared = laplacian(pairs, information**2) @ Z
    G = Y.T @ Y - 2 * Z.T @ squared
    growth, of_three = _sums_over_neighbours(pairs, information)
    absorbed = np.sum(Y * (laplacian(pairs, information) @ Y)) - 4 * np.sum(Y * squared)
    absorbed += 4 * np.sum(Z * (laplacian(pairs, information**3) @ Z))
    left = 1.0
    if growth > 0:
        left = float(np.clip(1 - (2 * absorbed - np.sum(G**2)) / growth, LEAST_LEFT, 1.0))
    two, three = _sums_over_neighbours(pairs, score**2)
    return VarianceScore(
        _beyond_pairs(pairs, score) + float(np.trace(G)),
        growth,
        variance=2 * left * two,
        third=8 * left**1.5 * three,
        of_item=of_three / growth if growth > 0 else 0.0,
        of_pair=float(np.sum(information**2) / np.sum(information)),
    )


def n_shared(rows: SingleComparisons) -> int:
    """How many items met two opponents."""
    pairs = rows.pairs
    one = np.ones(len(pairs.high))
    return int(np.count_nonzero(pairs.item_sums(one, one) > 1))


def first_variance(rows: SingleComparisons, s: RowDerivatives) -> float:
    """sigma^2 from a fit without effects of items that has few parameters.

    The score grows as x / (1 + a x) with x = sigma^2 (:meth:`VarianceScore.smallest_seen`).
    """
    pairs = rows.pairs
    growth, _ = _sums_over_neighbours(pairs, rows.pair_information(s))
    first_order = max(_beyond_pairs(pairs, _pair_scores(rows, s)), 0.0) / max(growth, TINY)
    return first_order / max(1 - flattening(rows.rule.link) * first_order, LEAST_GROWTH)


def flattening(link: Link) -> float:
    """a of :func:`first_variance`: how an effect of variance x flattens the slope of a link."""
    return 2 * FLATTER * float(4 * link.pdf(np.zeros(1))[0]) ** 2


def _pair_scores(rows: SingleComparisons, s: RowDerivatives) -> np.ndarray:
    """The net score of every pair (P), as its low item sees it."""
    pairs, place = rows.pairs, rows.pair
    low_is_left = np.where(rows.left < rows.right, 1.0, -1.0)
    return np.bincount(place, low_is_left * s.delta, len(pairs.high))


def _beyond_pairs(pairs: Pairs, score: np.ndarray) -> float:
    """T of :func:`variance_score`."""
    return float(np.sum(pairs.net_per_item(score) ** 2) - 2 * np.sum(score**2))


def _sums_over_neighbours(pairs: Pairs, values: np.ndarray) -> tuple[float, float]:
    """Products of the values of two, and of three, different pairs of an item, over all items."""
    one, two, three = (pairs.item_sums(power, power) for power in (values, values**2, values**3))
    return float(np.sum(one**2 - two)), float(np.sum(one**3 - 3 * one * two + 2 * three))
