"""How much do items differ beyond their features? sigma^2 by maximum likelihood, with its interval.

The derivative of the log-likelihood in x = log sigma^2 is (N/2)(rho - 1)
(:mod:`pairscore.effects.propagation`). Where labels have hardly any noise, sigma^2 has no largest
likely value; a weak prior on sigma, a Cauchy law of scale :data:`PRIOR_SD`, keeps the estimate
finite, and the interval, which is of the likelihood alone, says that it is open above.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri

from pairscore.core.links import Link
from pairscore.core.roots import solve_falling
from pairscore.core.sums import Pairs
from pairscore.core.whitening import Basis
from pairscore.effects.propagation import CLOSE, FAR, Posterior, propagate, sweep
from pairscore.effects.single_comparisons import RowDerivatives, SingleComparisons, laplacian

PRIOR_SD = 6.25  # of item effects, times the link's slope at zero: 25 under logit
SMALLEST, LARGEST = 1e-4, 500.0  # sigma^2 that are looked at, on the scale of logit
STEPS, LONGEST = 12, 1.5  # of Newton's method in log sigma^2, and how far one may go
APPROACH = 5  # sweeps at first, each with a sigma^2 of its own
ROUGH = 1e-3  # as `close` of the sweeps while sigma^2 is sought
TINY = float(np.finfo(float).tiny)
PRECISION = 0.01  # of log sigma^2
REACH2 = float(ndtri(0.975)) ** 2
STEP = 0.1  # of log sigma^2 from the likeliest, for differences
CLOSEST, FURTHEST = 0.05, 0.8  # looks at log sigma^2 that may be compared
MOST_OFF = 8.0  # the information of log sigma^2, from what its slope shows
SURE = 0.1  # standard error of log sigma^2 below which its interval needs no further looks
FLATTER = (16 * np.sqrt(3) / (15 * np.pi)) ** 2  # a logit averaged over a normal effect
SYMMETRIC = 1e-3  # skewness below which a law is normal
LEAST_LEFT = 0.01  # of the variance of the score of sigma^2, when parameters are as many as items
SEEN = 0.1  # share of an item's effect that is seen, at least, when its error is worked out
WIDEST = 2.0  # standard error of log sigma^2 that is allowed for in other errors


@dataclass
class Search:
    """The slope of the log-likelihood in x = log sigma^2, wherever it was looked at."""

    post: Posterior
    slopes: dict[float, float] = field(default_factory=dict)
    thetas: dict[float, np.ndarray] = field(default_factory=dict)

    @property
    def unit(self) -> float:
        """The variance that 1 is under logit."""
        return float((0.25 / self.post.rows.rule.link.pdf(np.zeros(1))[0]) ** 2)

    @property
    def n_items(self) -> int:
        return int(np.count_nonzero(self.post.rows.compared))

    def slope(self, x: float, close: float = ROUGH) -> float:
        if x not in self.slopes or close < ROUGH:
            self.post = propagate(self.post, float(np.exp(x)), close)
            self.slopes[x] = 0.5 * self.n_items * (self.post.rho - 1)
            self.thetas[x] = self.post.theta
        return self.slopes[x]

    def growth(self, x: float) -> float:
        """How fast the slope falls at x: by two looks, or by the information at the first."""
        near = self.nearest(x)
        known = max(self.information(), TINY)
        if near is None:
            return known
        between = (self.slope(near) - self.slope(x)) / (x - near)
        return float(np.clip(between, known / MOST_OFF, known * MOST_OFF))

    def nearest(self, x: float) -> float | None:
        """Another place that was looked at, far enough for differences to mean something."""
        others = [other for other in self.slopes if CLOSEST < abs(other - x) < FURTHEST]
        return min(others, key=lambda other: abs(other - x), default=None)

    def information(self) -> float:
        """Of x where it was looked at last, as if effects were seen with normal errors."""
        known = 1 - self.post.covariance.diagonal[self.post.rows.compared] / self.post.sigma2
        return 0.5 * float(np.sum(known**2))

    def penalised(self, x: float) -> float:
        return self.slope(x) - self.pull_of_prior(x)

    def pull_of_prior(self, x: float) -> float:
        scale = (PRIOR_SD / self.post.rows.rule.link.pdf(np.zeros(1))[0]) ** 2
        return float(np.exp(x) / (np.exp(x) + scale))

    def limits(self) -> tuple[float, float]:
        return float(np.log(SMALLEST * self.unit)), float(np.log(LARGEST * self.unit))


@dataclass(frozen=True)
class ItemVariance:
    """sigma^2 with its 95 % interval, and how theta moves with log sigma^2 within its error.

    ``lean`` (k) is that move for one standard error.
    """

    sigma2: float
    low: float
    high: float
    lean: np.ndarray


def corrected_for_coefficients(post: Posterior, variance: ItemVariance) -> ItemVariance:
    """sigma^2 with what coefficients have taken of it, and its interval.

    N items with effects that are seen up to an error of variance e show (sigma^2 + e) (N - k) / N
    about k coefficients, and e is taken off: f sigma^2 + (f - 1) e with f = N / (N - k) in place of
    the likeliest. A ridge holds coefficients back, and k is less.
    """
    rows, n = post.rows, int(np.count_nonzero(post.rows.compared))
    d, inverse = len(rows.mean), post.basis.inverse
    held = float(np.sum(rows.ridge[:d, :d] * inverse[:d, :d]))
    used = np.count_nonzero(~post.basis.undetermined[:d]) - held
    factor = n / (n - min(max(used, 0.0), n / 2))
    error = 0.0
    if post.sigma2 > 0:
        left = float(np.mean(post.covariance.diagonal[rows.compared]))
        error = left * post.sigma2 / max(post.sigma2 - left, SEEN * post.sigma2)

    def correct(sigma2: float) -> float:
        return factor * sigma2 + (factor - 1) * error if sigma2 > 0 else 0.0

    return replace(
        variance,
        sigma2=correct(variance.sigma2),
        low=correct(variance.low),
        high=correct(variance.high),
    )


def approach_variance(post: Posterior) -> Posterior:
    """A posterior near that of the likeliest sigma^2: sigma^2 moves with every sweep."""
    search = Search(post)
    (lowest, highest), first = search.limits(), post.sigma2
    if first == 0:
        first = variance_score(post.rows, post.derivatives, post.basis).first_guess
    x = float(np.clip(np.log(max(first, TINY)), lowest + 1, highest - 1))
    for _ in range(APPROACH):
        post = sweep(replace(post, sigma2=float(np.exp(x))), fresh=post.moved > FAR)
        search.post = post
        slope = 0.5 * search.n_items * (post.rho - 1) - search.pull_of_prior(x)
        step = slope / max(search.information(), TINY)
        x = float(np.clip(x + np.clip(step, -LONGEST, LONGEST), lowest, highest))
    return replace(post, sigma2=float(np.exp(x)), moved=np.inf)


def fit_item_variance(post: Posterior) -> tuple[Posterior, Search]:
    """The posterior at the likeliest sigma^2, from one near it."""
    search, limits = Search(post), Search(post).limits()
    # a step off, so that two looks have a difference that means something
    x = float(np.clip(np.log(max(post.sigma2, TINY)) - STEP, limits[0], limits[1] - 1))
    for _ in range(STEPS):
        step = search.penalised(x) / search.growth(x)
        x = float(np.clip(x + np.clip(step, -LONGEST, LONGEST), *limits))
        if abs(step) < PRECISION or (x in limits and x in search.slopes):
            break
    else:
        ends = min(x, limits[1] - 0.5), min(x, limits[1] - 0.5) + 0.3
        x = solve_falling(search.penalised, *ends, limits=limits, xtol=PRECISION, rtol=1e-12)
    if x <= limits[0]:
        return propagate(search.post, 0.0), search
    search.slope(x, CLOSE)
    return search.post, search


def variance_interval(post: Posterior, search: Search) -> ItemVariance:
    """All sigma^2 whose log-likelihood is within 1.92 of the largest (likelihood ratio, 95 %)."""
    lowest, highest = search.limits()
    nothing = np.zeros_like(post.theta)
    if post.sigma2 == 0:
        high = _end(search, lowest, highest, 0.7)
        return ItemVariance(0.0, 0.0, high, nothing)
    x = min(search.slopes, key=lambda one: abs(one - np.log(post.sigma2)))
    near = search.nearest(x)
    if near is None or 1 / search.information() > SURE**2:
        growth = (search.slope(x - STEP) - search.slope(x + STEP)) / (2 * STEP)
        lean = (search.thetas[x + STEP] - search.thetas[x - STEP]) / (2 * STEP)
    else:
        growth, lean = search.growth(near), (post.theta - search.thetas[near]) / (x - near)
    error = min(1 / np.sqrt(max(growth, 1e-12)), WIDEST)
    if error < SURE:  # many items: the log-likelihood is a parabola
        reach = np.sqrt(REACH2) * error
        low, high = float(np.exp(x - reach)), float(np.exp(x + reach))
    else:
        low, high = _end(search, x, lowest, -error), _end(search, x, highest, error)
    return ItemVariance(post.sigma2, low, high, lean * error)


def _end(search: Search, start: float, limit: float, step: float) -> float:
    """Where the log-likelihood is 1.92 lower than at ``start``, on the way to a limit.

    By Simpson's rule from step to step; zero or infinity where it does not fall as far.
    """
    x, fallen, here = start, 0.0, search.slope(start)
    while (limit - x) * np.sign(step) > 0:
        middle, there = search.slope(x + step / 2), search.slope(x + step)
        drop = -step / 6 * (here + 4 * middle + there)
        if fallen + drop >= REACH2 / 2:
            left = REACH2 / 2 - fallen
            # slope along the step as a parabola, so the drop is a cubic in the share of the step
            cubic = np.array(
                [
                    step * (2 * here - 4 * middle + 2 * there) / 3,
                    step * (-3 * here + 4 * middle - there) / 2,
                    step * here,
                    left,
                ]
            )
            roots = np.roots(cubic) if abs(cubic[0]) > 0 else np.roots(cubic[1:])
            real = roots[np.abs(roots.imag) < 1e-9].real
            inside = real[(real > -1e-9) & (real < 1 + 1e-9)]
            share = float(inside.min()) if len(inside) else 1.0
            return float(np.exp(x + share * step))
        fallen, x, here = fallen + drop, x + step, there
        if abs(step) < 2:
            step *= 1.5
    return 0.0 if step < 0 else float("inf")


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

    @property
    def first_guess(self) -> float:
        """sigma^2 to first order."""
        return max(self.score, 0.0) / max(self.growth, np.finfo(float).tiny)

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
        a = 2 * FLATTER * float(4 * link.pdf(np.zeros(1))[0]) ** 2
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
    pairs, place = rows.pairs
    low_is_left = np.where(rows.left < rows.right, 1.0, -1.0)
    score = np.bincount(place, low_is_left * s.delta, len(pairs.high))
    information = rows.pair_information(s)
    d, W = len(rows.mean), basis.transform
    Y, Z = rows.item_borders(s) @ W, (rows.X - rows.mean) @ W[:d]  # B'VDW, and DW = BZ
    squared = laplacian(pairs, information**2) @ Z
    G = Y.T @ Y - 2 * Z.T @ squared
    statistic = np.sum(pairs.net_per_item(score) ** 2) - 2 * np.sum(score**2)
    growth, of_three = _sums_over_neighbours(pairs, information)
    taken = np.sum(Y * (laplacian(pairs, information) @ Y)) - 4 * np.sum(Y * squared)
    taken += 4 * np.sum(Z * (laplacian(pairs, information**3) @ Z))
    left = 1.0
    if growth > 0:
        left = float(np.clip(1 - (2 * taken - np.sum(G**2)) / growth, LEAST_LEFT, 1.0))
    two, three = _sums_over_neighbours(pairs, score**2)
    return VarianceScore(
        float(statistic + np.trace(G)),
        growth,
        variance=2 * left * two,
        third=8 * left**1.5 * three,
        of_item=of_three / growth if growth > 0 else 0.0,
        of_pair=float(np.sum(information**2) / np.sum(information)),
    )


def _sums_over_neighbours(pairs: Pairs, values: np.ndarray) -> tuple[float, float]:
    """Products of the values of two, and of three, different pairs of an item, over all items."""
    one, two, three = (
        pairs.sum_at_low(power) + pairs.sum_at_high(power)
        for power in (values, values**2, values**3)
    )
    return float(np.sum(one**2 - two)), float(np.sum(one**3 - 3 * one * two + 2 * three))
