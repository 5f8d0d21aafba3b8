"""How much do items differ beyond their features? sigma^2 by maximum likelihood, with its interval.

The derivative of the log-likelihood in x = log sigma^2 is (N/2)(rho - 1)
(:mod:`pairscore.effects.propagation`). Where labels have hardly any noise, sigma^2 has no largest
likely value; a weak prior on sigma, a Cauchy law of scale :data:`PRIOR_SD`, keeps the estimate
finite, and the interval, which is of the likelihood alone, says that it is open above.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from pairscore.core.roots import solve_falling
from pairscore.core.sums import difference_scatter
from pairscore.core.whitening import Basis
from pairscore.effects.propagation import CLOSE, FAR, Posterior, propagate, sweep
from pairscore.effects.single_comparisons import RowDerivatives, SingleComparisons

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


def approach_variance(post: Posterior) -> Posterior:
    """A posterior near that of the likeliest sigma^2: sigma^2 moves with every sweep."""
    search = Search(post)
    (lowest, highest), first = search.limits(), post.sigma2
    if first == 0:
        first = variance_score(post.rows, post.derivatives, post.basis).first_guess
    x = float(np.clip(np.log(max(first, TINY)), lowest + 1, highest - 1))
    for _ in range(APPROACH):
        post = sweep(replace(post, sigma2=float(np.exp(x))), fresh=post.moved > FAR)
        search.post, trace = post, float(post.covariance.diagonal.sum())
        slope = 0.5 * search.n_items * (post.rho_with(trace) - 1) - search.pull_of_prior(x)
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
    """Of sigma^2 at zero: the score with mean zero if that is true, how it grows, its variance."""

    score: float
    growth: float
    variance: float

    @property
    def p_value(self) -> float:
        """Of no effects, one-sided."""
        return float(ndtr(-self.score / np.sqrt(max(self.variance, np.finfo(float).tiny))))

    @property
    def first_guess(self) -> float:
        """sigma^2 to first order."""
        return max(self.score, 0.0) / max(self.growth, np.finfo(float).tiny)


def variance_score(rows: SingleComparisons, s: RowDerivatives, basis: Basis) -> VarianceScore:
    """The score of sigma^2 at a fit without effects of items, less what a pair says of itself,

        T = sum_i [(sum_p r_p)^2 - sum_p r_p^2],    r_p the net score of pair p as item i sees it.

    It is a sum over two pairs that share an item. With independent comparisons, information V_p of
    each pair and no parameters it has mean zero and variance 2 sum_i [(sum_p V_p)^2 - sum_p V_p^2];
    a fit takes C J C' off the covariance of the items' scores, which moves the mean.
    """
    pairs, place = rows.pairs
    low_is_left = np.where(rows.left < rows.right, 1.0, -1.0)
    score = np.bincount(place, low_is_left * s.delta, len(pairs.high))
    information = rows.pair_information(s)

    def at_items(values: np.ndarray) -> np.ndarray:
        return pairs.sum_at_low(values) + pairs.sum_at_high(values)

    statistic = np.sum(pairs.net_per_item(score) ** 2) - 2 * np.sum(score**2)
    d, W = len(rows.mean), basis.transform
    of_pairs = difference_scatter(rows.X, rows.mean, pairs, information**2)
    moved = 2 * np.sum((of_pairs @ W[:d]) * W[:d]) - np.sum((rows.item_borders(s) @ W) ** 2)
    growth = np.sum(at_items(information) ** 2 - at_items(information**2))
    return VarianceScore(float(statistic - moved), float(growth), 2 * float(growth))
