"""How much do items differ beyond their features? sigma^2 by maximum likelihood, with its interval.

The derivative of the log-likelihood in x = log sigma^2 is (N/2)(rho - 1)
(:mod:`pairscore.effects.expectation_propagation`). Where labels have hardly any noise, sigma^2 has
no largest likely value; a weak prior on sigma, a Cauchy law of scale :data:`PRIOR_SD`, keeps the
estimate finite, and the interval, which is of the likelihood alone, says that it is open above.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri

from pairscore.core.linalg import Basis
from pairscore.core.links import Link
from pairscore.core.optimise import solve_falling
from pairscore.core.pair_graph import Pairs
from pairscore.effects.expectation_propagation import Posterior, at_variance, propagate
from pairscore.effects.rows import RowDerivatives, SingleComparisons, laplacian
from pairscore.estimators.fit_data import FitData

PRIOR_SD = 6.25  # of item effects, times the link's slope at zero: 25 under logit
SMALLEST, LARGEST = 1e-4, 500.0  # sigma^2 that are looked at, on the scale of logit
STEPS, LONGEST = 12, 1.5  # of Newton's method in log sigma^2, and how far one may go
APPROACH = 7  # sweeps at first, each with a sigma^2 of its own
MOST_LAG = 0.5  # of a step in the next, in the approach
LOOSE, ROUGH = 5e-3, 1e-3  # as `close` of the sweeps while sigma^2 is sought, and its interval
TINY = float(np.finfo(float).tiny)
PRECISION = 0.01  # of log sigma^2
REACH2 = float(ndtri(0.975)) ** 2
STEP = 0.1  # of log sigma^2 from the likeliest, for differences
CLOSEST, FURTHEST = 0.02, 0.8  # looks at log sigma^2 that may be compared
UNSETTLED = 10.0  # times what the last sweep moved: CLOSEST of looks after few sweeps
MOST_OFF = 8.0  # the information of log sigma^2, from what its slope shows
SURE = 0.1  # standard error of log sigma^2 below which its interval needs no further looks
FLATTER = (16 * np.sqrt(3) / (15 * np.pi)) ** 2  # a logit averaged over a normal effect
LEAST_GROWTH = 0.2  # of the score of sigma^2, times that at zero, in a first guess
SYMMETRIC = 1e-3  # skewness below which a law is normal
LEAST_LEFT = 0.01  # of the variance of the score of sigma^2, when parameters are as many as items
SEEN = 0.1  # share of an item's effect that is seen, at least, when its error is worked out
LOOKS = 20  # for an end of an interval
OFF = 0.15  # from it to a look, relative
NOTICED = 0.03  # a slope of the log-likelihood that has a part in where it ends
BEYOND = 1.1  # times 1.92, where the second look for the end of an interval is
STEEPER = 3.0  # of the slope in sigma^2 at zero, times that where so little of it is left
WIDEST = 2.0  # standard error of log sigma^2 that is allowed for in other errors


class Look(NamedTuple):
    """The slope of the log-likelihood in log sigma^2 and theta there, after sweeps so ``close``."""

    slope: float
    theta: np.ndarray
    close: float


@dataclass
class Search:
    """The slope of the log-likelihood in x = log sigma^2, wherever it was looked at."""

    post: Posterior
    looks: dict[float, Look] = field(default_factory=dict)

    @property
    def unit(self) -> float:
        """The variance that 1 is under logit."""
        return float((0.25 / self.post.rows.rule.link.pdf(np.zeros(1))[0]) ** 2)

    @property
    def n_items(self) -> int:
        return int(np.count_nonzero(self.post.rows.compared))

    def slope(self, x: float, close: float = ROUGH) -> float:
        if x not in self.looks or close < self.looks[x].close:
            self.post = post = propagate(self.post, float(np.exp(x)), close)
            slope = 0.5 * self.n_items * (post.rho - 1)
            self.looks[x] = Look(slope, post.theta, min(close, max(post.moved, post.drift)))
        return self.looks[x].slope

    def growth(self, x: float, near: float | None) -> float:
        """How fast the slope falls at x: by two looks, or by the information at the first."""
        known = max(self.information(), TINY)
        if near is None:
            return known
        between = (self.looks[near].slope - self.looks[x].slope) / (x - near)
        return float(np.clip(between, known / MOST_OFF, known * MOST_OFF))

    def nearest(self, x: float) -> float | None:
        """Another place that was looked at, far enough for differences to mean something."""
        here = self.looks[x].close
        off = {other: abs(other - x) for other in self.looks}
        for other in sorted(off, key=off.__getitem__):
            if max(CLOSEST, UNSETTLED * max(here, self.looks[other].close)) < off[other] < FURTHEST:
                return other
        return None

    def step_from(self, x: float, close: float) -> tuple[float, float]:
        """A step of Newton's method towards the likeliest x, and where it leads."""
        step = (self.slope(x, close) - self.pull_of_prior(x)) / self.growth(x, self.nearest(x))
        return step, float(np.clip(x + np.clip(step, -LONGEST, LONGEST), *self.limits()))

    def curve(self, start: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where it was looked at closely, in order, with slopes and their derivatives.

        None that is so near to ``start`` that differences are noise.
        """
        near = {x for x in self.looks if 0 < abs(x - start) < STEP / 2}
        xs = np.array(sorted(x for x in self.looks.keys() - near if self.looks[x].close <= ROUGH))
        slopes = np.array([self.looks[x].slope for x in xs])
        return xs, slopes, np.gradient(slopes, xs, edge_order=2 if len(xs) > 2 else 1)

    def fall(self, start: float, sign: float) -> tuple[np.ndarray, np.ndarray]:
        """From ``start`` to the furthest look on one side of it: a fine grid, and how far the
        log-likelihood has fallen.
        """
        xs, slopes, bends = self.curve(start)
        side = np.flatnonzero((xs - start) * sign >= 0)[:: 1 if sign > 0 else -1]
        return integral_by_cubics(xs[side], -slopes[side], -bends[side])

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


def approach_variance(post: Posterior) -> Search:
    """To near the likeliest sigma^2, which moves with every sweep."""
    search = Search(post)
    (lowest, highest), first = search.limits(), post.sigma2
    if first == 0:
        first = first_guess(post.rows, post.derivatives)
    x, before = float(np.clip(np.log(max(first, TINY)), lowest + 1, highest - 1)), np.inf
    for _ in range(APPROACH):
        step, there = search.step_from(x, close=np.inf)
        # terms follow sigma^2 with a lag, so steps shrink by about the same factor each
        lag = min(max(step / before, 0.0), MOST_LAG)
        x, before = float(np.clip(x + (there - x) / (1 - lag), lowest, highest)), step
        if abs(step) < PRECISION and search.post.moved < ROUGH:
            break
    search.post = at_variance(search.post, float(np.exp(x)))
    return search


def fit_item_variance(search: Search) -> Posterior:
    """The posterior at the likeliest sigma^2, up to PRECISION, from one near it."""
    limits, close = search.limits(), LOOSE
    x = float(np.clip(np.log(max(search.post.sigma2, TINY)), limits[0], limits[1] - 1))
    for _ in range(STEPS):
        step, there = search.step_from(x, close)
        if abs(step) < PRECISION and close == ROUGH:
            break
        x, close = (x, ROUGH) if abs(step) < PRECISION else (there, close)
        if x in limits and x in search.looks:
            break
    else:
        ends = min(x, limits[1] - 0.5), min(x, limits[1] - 0.5) + 0.3
        x = solve_falling(search.penalised, *ends, limits=limits, xtol=PRECISION, rtol=1e-12)
    if x <= limits[0]:
        return propagate(search.post, 0.0)
    search.slope(x)
    return search.post


def variance_interval(post: Posterior, search: Search) -> ItemVariance:
    """All sigma^2 whose log-likelihood is within 1.92 of the largest (likelihood ratio, 95 %)."""
    lowest, highest = search.limits()
    if post.sigma2 == 0:
        search.slope(lowest)
        return ItemVariance(0.0, 0.0, _end(search, lowest, highest, 0.7), np.zeros_like(post.theta))
    x = min(search.looks, key=lambda one: abs(one - np.log(post.sigma2)))
    search.slope(x - STEP)
    sure = 1 / np.sqrt(search.growth(x, x - STEP)) < SURE
    ends = [0.0, float("inf")]
    if not sure:
        ends[0] = _end(search, x, lowest, -STEP)
        search.post = post
        ends[1] = _end(search, x, highest, STEP)
    xs, _, bends = search.curve(x)
    here = int(np.searchsorted(xs, x))
    error = min(1 / np.sqrt(max(-bends[here], 1e-12)), WIDEST)
    # the last step of Newton's method is too small for another sweep
    last = np.clip(search.penalised(x) * error**2, -PRECISION, PRECISION)
    sigma2, reach = post.sigma2 * float(np.exp(last)), float(np.exp(np.sqrt(REACH2) * error))
    if sure:  # many items: the log-likelihood is a parabola
        ends = [sigma2 / reach, sigma2 * reach]
    lean = np.gradient(np.array([search.looks[one].theta for one in xs]), xs, axis=0)[here]
    return ItemVariance(sigma2, ends[0], ends[1], error * lean)


def _end(search: Search, start: float, limit: float, step: float) -> float:
    """Where the log-likelihood is 1.92 lower than at ``start``, on the way to a limit: by looks
    further and further, and one near it. Zero or infinity where it does not fall as far.
    """
    search.slope(start + step)
    for _ in range(LOOKS):
        grid, fallen = search.fall(start, step)
        if fallen[-1] >= REACH2 / 2:
            beyond = int(np.argmax(fallen >= REACH2 / 2))
            ends = slice(beyond - 1, beyond + 1)
            end = float(np.interp(REACH2 / 2, fallen[ends], grid[ends]))
            off = np.min(np.abs(search.curve(start)[0] - end))
            if off < max(OFF * min(abs(end - start), 1.0), CLOSEST):
                return float(np.exp(end))
            search.slope(end)
            continue
        last, left = float(grid[-1]), REACH2 / 2 - float(fallen[-1])
        # where slopes fall with x, those in sigma^2 grow little, and the rest is about the slope
        low = step < 0 and search.curve(start)[2][0] > 0 and STEEPER * search.slope(last) < left
        if low or (limit - last) * step <= 0:
            break
        search.slope(last + _further(search, last, step, left))
    return 0.0 if step < 0 else float("inf")


def _further(search: Search, last: float, step: float, left: float) -> float:
    """A step to a little beyond where the log-likelihood seems to fall by what is ``left``."""
    xs, slopes, bends = search.curve(last)
    fall, growth = -float(np.interp(last, xs, slopes)), -float(np.interp(last, xs, bends))
    fall, growth = max(fall * np.sign(step), 0.0), max(growth, TINY)
    far = 2 * BEYOND * left / (fall + np.sqrt(fall**2 + 2 * BEYOND * growth * left))
    most = FURTHEST if fall > NOTICED else WIDEST
    return float(np.sign(step) * np.clip(far, STEP, most))


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
    pairs, score, information = rows.pairs[0], _pair_scores(rows, s), rows.pair_information(s)
    d, W = len(rows.mean), basis.transform
    Y, Z = rows.item_borders(s) @ W, (rows.X - rows.mean) @ W[:d]  # B'VDW, and DW = BZ
    squared = laplacian(pairs, information**2) @ Z
    G = Y.T @ Y - 2 * Z.T @ squared
    growth, of_three = _sums_over_neighbours(pairs, information)
    taken = np.sum(Y * (laplacian(pairs, information) @ Y)) - 4 * np.sum(Y * squared)
    taken += 4 * np.sum(Z * (laplacian(pairs, information**3) @ Z))
    left = 1.0
    if growth > 0:
        left = float(np.clip(1 - (2 * taken - np.sum(G**2)) / growth, LEAST_LEFT, 1.0))
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
    pairs, _ = rows.pairs
    one = np.ones(len(pairs.high))
    return int(np.count_nonzero(pairs.item_sums(one, one) > 1))


def first_guess(rows: SingleComparisons, s: RowDerivatives) -> float:
    """sigma^2 from a fit without effects of items that has few parameters.

    The score grows as x / (1 + a x) with x = sigma^2 (:meth:`VarianceScore.smallest_seen`).
    """
    pairs = rows.pairs[0]
    growth, _ = _sums_over_neighbours(pairs, rows.pair_information(s))
    first_order = max(_beyond_pairs(pairs, _pair_scores(rows, s)), 0.0) / max(growth, TINY)
    return first_order / max(1 - flattening(rows.rule.link) * first_order, LEAST_GROWTH)


def flattening(link: Link) -> float:
    """a of :func:`first_guess`: how an effect of variance x flattens the slope of a link."""
    return 2 * FLATTER * float(4 * link.pdf(np.zeros(1))[0]) ** 2


def _pair_scores(rows: SingleComparisons, s: RowDerivatives) -> np.ndarray:
    """The net score of every pair (P), as its low item sees it."""
    pairs, place = rows.pairs
    low_is_left = np.where(rows.left < rows.right, 1.0, -1.0)
    return np.bincount(place, low_is_left * s.delta, len(pairs.high))


def _beyond_pairs(pairs: Pairs, score: np.ndarray) -> float:
    """T of :func:`variance_score`."""
    return float(np.sum(pairs.net_per_item(score) ** 2) - 2 * np.sum(score**2))


def _sums_over_neighbours(pairs: Pairs, values: np.ndarray) -> tuple[float, float]:
    """Products of the values of two, and of three, different pairs of an item, over all items."""
    one, two, three = (pairs.item_sums(power, power) for power in (values, values**2, values**3))
    return float(np.sum(one**2 - two)), float(np.sum(one**3 - 3 * one * two + 2 * three))


def explained_share(data: FitData, coef: np.ndarray, errors: np.ndarray, sigma2: float) -> float:
    """Share of the variance of compared items' scores that features explain, less what the error of
    the coefficients adds.
    """
    compared = data.X[data.tally.exposures > 0]
    covariance = np.cov(compared.T, ddof=0).reshape(len(coef), len(coef))
    of_features = max(float(coef @ covariance @ coef - np.sum(errors * (covariance @ errors))), 0.0)
    total = of_features + sigma2
    return of_features / total if total > 0 else 0.0


def score_length(data: FitData, coef: np.ndarray) -> float:
    """Standard deviation of the scores that features give."""
    square = float(coef @ data.item_moments.covariance @ coef)
    return float(np.sqrt(max(square, np.finfo(float).tiny)))


def integral_by_cubics(
    x: np.ndarray, values: np.ndarray, slopes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The integral from ``x[0]`` of a function that is known at places in order (n), with slopes.

    The function is a cubic from place to place (Hermite). Returns a fine grid from ``x[0]`` to
    ``x[-1]``, and the integral up to each of its points.
    """
    t, h = np.linspace(0, 1, 33)[1:], np.diff(x)[:, None]
    first, last = values[:-1, None], values[1:, None]
    from_first = (1 - t) ** 2 * ((1 + 2 * t) * first + t * h * slopes[:-1, None])
    from_last = t**2 * ((3 - 2 * t) * last + (t - 1) * h * slopes[1:, None])
    grid = np.append(x[0], x[:-1, None] + h * t)
    curve = np.append(values[0], from_first + from_last)
    return grid, np.append(0.0, np.cumsum(0.5 * np.diff(grid) * (curve[1:] + curve[:-1])))
