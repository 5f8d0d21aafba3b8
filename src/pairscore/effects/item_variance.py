"""How much do items differ beyond their features? sigma^2 by maximum likelihood, with its interval.

The derivative of the log-likelihood in x = log sigma^2, its score, is (N/2)(rho - 1)
(:mod:`pairscore.effects.expectation_propagation`). Where labels have hardly any noise, sigma^2 has
no largest likely value; a weak prior on sigma, a Cauchy law of scale :data:`PRIOR_SD`, keeps the
estimate finite, and the interval, which is of the likelihood alone, says that it is open above.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ndtri

from pairscore.core.linear_systems import TINY
from pairscore.core.roots import solve_falling
from pairscore.effects.expectation_propagation import Posterior, at_variance, propagate
from pairscore.effects.variance_score import first_variance

REACH2 = float(ndtri(0.975)) ** 2  # twice the fall of the log-likelihood at an end of the interval
PRIOR_SD = 6.25  # of item effects, times the link's slope at zero: 25 under logit, hardly any prior
SMALLEST, LARGEST = 1e-4, 500.0  # sigma^2 on the scale of logit: effects nobody sees, certainty

# The search. A step of log sigma^2 is at most LONGEST, as far as one curvature is worth; after
# STEPS, or where PRECISION (small beside sqrt(2 / N), the least error that N items leave up to some
# thousands) is reached, it ends.
# Sweeps at a sigma^2 end at LOOSE while it is sought, and at ROUGH where its score counts.
STEPS, LONGEST = 12, 1.5
PRECISION = 0.01
LOOSE, ROUGH = 5e-3, 1e-3
# It begins with single sweeps, each at a sigma^2 of its own, because sweeps to the end at a sigma^2
# far from the likeliest are wasted. Steps are lengthened by what terms lag behind, by no more than
# twice: a lag of more than half is mostly noise.
APPROACH = 7
MOST_LAG = 0.5
# The curvature is a difference of two scores, if their places are further apart than CLOSEST, or
# than UNSETTLED times what sweeps left unsettled there (below, it is noise), and nearer than
# FURTHEST (beyond, it is another one); MOST_OFF is how far it may be from that of normal errors.
CLOSEST, FURTHEST = 0.02, 0.8
UNSETTLED = 10.0
MOST_OFF = 8.0

# The interval. Scores are taken at STEP from the likeliest, then further and further, STEPS times
# at most. Below the standard error SURE the log-likelihood is taken for a parabola, and no further
# ones are needed. An end is good if a score was taken nearer to it than OFF of its distance from
# the likeliest; while the score is below NOTICED it says nothing of how far, and the step may be
# WIDEST, which is also the largest standard error that other errors allow for.
# studies/test_tuning.py has what half and twice of each constant here and of sweeps changes.
STEP = 0.1
SURE = 0.1
OFF = 0.15
NOTICED = 0.03
WIDEST = 2.0

SEEN = 0.1  # share of an effect that is seen, at least: a guard of a division


class VariancePoint(NamedTuple):
    """The score of log sigma^2 at one value of it, and theta there.

    ``unsettled`` is what the sweeps left: the larger of their last move and what was asked for.
    """

    score: float
    theta: np.ndarray
    unsettled: float


@dataclass
class VarianceSearch:
    """The score of x = log sigma^2, wherever it was evaluated, and the posterior at the last x."""

    post: Posterior
    points: dict[float, VariancePoint] = field(default_factory=dict)

    @property
    def unit(self) -> float:
        """The variance that 1 is under logit."""
        return float((0.25 / self.post.rows.rule.link.pdf(np.zeros(1))[0]) ** 2)

    @property
    def n_items(self) -> int:
        return int(np.count_nonzero(self.post.rows.compared))

    def score(self, x: float, close: float = ROUGH) -> float:
        """Of the log-likelihood at x, after sweeps so ``close``."""
        if x not in self.points or close < self.points[x].unsettled:
            post = propagate(self.post, float(np.exp(x)), close)
            unsettled = min(close, max(post.step_size, post.trace_change))
            score = 0.5 * self.n_items * (post.rho - 1)
            self.points[x] = VariancePoint(score, post.theta, unsettled)
            self.post = post
        return self.points[x].score

    def curvature(self, x: float, near: float | None) -> float:
        """How fast the score falls at x: from another point, or by the information at x."""
        known = max(self.information(), TINY)
        if near is None:
            return known
        between = (self.points[near].score - self.points[x].score) / (x - near)
        return float(np.clip(between, known / MOST_OFF, known * MOST_OFF))

    def nearest(self, x: float) -> float | None:
        """Another point, far enough for differences to mean something."""
        distance = {other: abs(other - x) for other in self.points}
        for other in sorted(distance, key=distance.__getitem__):
            unsettled = max(self.points[x].unsettled, self.points[other].unsettled)
            if max(CLOSEST, UNSETTLED * unsettled) < distance[other] < FURTHEST:
                return other
        return None

    def newton_step(self, x: float, close: float) -> tuple[float, float]:
        """A step of Newton's method towards the likeliest x, and where it leads."""
        score = self.score(x, close) - self.prior_score(x)
        step = score / self.curvature(x, self.nearest(x))
        return step, float(np.clip(x + np.clip(step, -LONGEST, LONGEST), *self.limits()))

    def curve(self, start: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Settled points in order, with scores and their derivatives.

        None that is so near to ``start`` that differences are noise.
        """
        near = {x for x in self.points if 0 < abs(x - start) < STEP / 2}
        settled = {x for x in self.points if self.points[x].unsettled <= ROUGH}
        xs = np.array(sorted(settled - near))
        scores = np.array([self.points[x].score for x in xs])
        return xs, scores, np.gradient(scores, xs, edge_order=2 if len(xs) > 2 else 1)

    def fall(self, start: float, sign: float) -> "LikelihoodFall":
        """Of the log-likelihood on one side of ``start``."""
        xs, scores, bends = self.curve(start)
        away = sign * (xs - start)
        side = np.flatnonzero(away >= 0)
        side = side[np.argsort(away[side])]
        side = side[np.diff(away[side], prepend=-np.inf) > 0]  # two may differ by rounding alone
        slopes = CubicHermiteSpline(away[side], -sign * scores[side], -bends[side])
        return LikelihoodFall(float(away[side[-1]]), slopes.antiderivative())

    def information(self) -> float:
        """Of x where it was evaluated last, as if effects were seen with normal errors."""
        known = 1 - self.post.covariance.diagonal[self.post.rows.compared] / self.post.sigma2
        return 0.5 * float(np.sum(known**2))

    def penalised(self, x: float) -> float:
        return self.score(x) - self.prior_score(x)

    def prior_score(self, x: float) -> float:
        """Minus the derivative of the log-density of the prior."""
        scale = (PRIOR_SD / self.post.rows.rule.link.pdf(np.zeros(1))[0]) ** 2
        return float(np.exp(x) / (np.exp(x) + scale))

    def limits(self) -> tuple[float, float]:
        return float(np.log(SMALLEST * self.unit)), float(np.log(LARGEST * self.unit))


class LikelihoodFall(NamedTuple):
    """How far the log-likelihood has fallen, as a function of the distance from the likeliest, up
    to the ``furthest`` point: the integral of cubics through the scores (Hermite).
    """

    furthest: float
    integral: Any

    def distance(self, fall: float) -> float | None:
        """Where it has fallen so far first; None if not yet."""
        roots = self.integral.solve(fall, extrapolate=False)
        return float(roots.min()) if len(roots) else None


@dataclass(frozen=True)
class ItemVariance:
    """sigma^2 with its 95 % interval, and how theta shifts with it.

    ``theta_shift`` (k) is the shift for one standard error of log sigma^2, which is ``log_error``.
    """

    sigma2: float
    low: float
    high: float
    theta_shift: np.ndarray
    log_error: float


def corrected_for_coefficients(post: Posterior, variance: ItemVariance) -> ItemVariance:
    """sigma^2 with what coefficients have absorbed of it, and its interval.

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


def approach_variance(post: Posterior) -> VarianceSearch:
    """To near the likeliest sigma^2, which moves with every sweep."""
    search = VarianceSearch(post)
    lowest, highest = search.limits()
    first = post.sigma2 if post.sigma2 > 0 else first_variance(post.rows, post.derivatives)
    x = float(np.clip(np.log(max(first, TINY)), lowest + 1, highest - 1))
    last_step = np.inf
    for _ in range(APPROACH):
        step, there = search.newton_step(x, close=np.inf)
        # terms follow sigma^2 with a lag, so steps shrink by about the same factor each
        lag = min(max(step / last_step, 0.0), MOST_LAG)
        x = float(np.clip(x + (there - x) / (1 - lag), lowest, highest))
        last_step = step
        if abs(step) < PRECISION and search.post.step_size < ROUGH:
            break
    search.post = at_variance(search.post, float(np.exp(x)))
    return search


def fit_item_variance(search: VarianceSearch) -> Posterior:
    """The posterior at the likeliest sigma^2, up to PRECISION, from one near it."""
    x = _likeliest(search)
    if x <= search.limits()[0]:
        return propagate(search.post, 0.0)
    search.score(x)
    return search.post


def _likeliest(search: VarianceSearch) -> float:
    """The log sigma^2 at which the penalised score is zero, by Newton's method."""
    lowest, highest = search.limits()
    x = float(np.clip(np.log(max(search.post.sigma2, TINY)), lowest, highest - 1))
    close = LOOSE
    for _ in range(STEPS):
        step, there = search.newton_step(x, close)
        if abs(step) >= PRECISION:
            x = there
        elif close == ROUGH:
            return x
        else:
            close = ROUGH
        if x in (lowest, highest) and x in search.points:
            return x
    x = min(x, highest - 0.5)
    return solve_falling(
        search.penalised, x, x + 0.3, limits=(lowest, highest), xtol=PRECISION, rtol=1e-12
    )


def variance_interval(post: Posterior, search: VarianceSearch) -> ItemVariance:
    """All sigma^2 whose log-likelihood is within 1.92 of the largest (likelihood ratio, 95 %)."""
    lowest, highest = search.limits()
    if post.sigma2 == 0:
        search.score(lowest)
        high = _end(search, lowest, highest, 0.7)
        return ItemVariance(0.0, 0.0, high, np.zeros_like(post.theta), WIDEST)
    x = min(search.points, key=lambda one: abs(one - np.log(post.sigma2)))
    search.score(x - STEP)
    is_sure = 1 / np.sqrt(search.curvature(x, x - STEP)) < SURE
    if not is_sure:
        low = _end(search, x, lowest, -STEP)
        search.post = post
        high = _end(search, x, highest, STEP)
    xs, _, bends = search.curve(x)
    here = int(np.searchsorted(xs, x))
    error = min(1 / np.sqrt(max(-bends[here], 1e-12)), WIDEST)
    # the last step of Newton's method is too small for another sweep
    last_step = np.clip(search.penalised(x) * error**2, -PRECISION, PRECISION)
    sigma2 = post.sigma2 * float(np.exp(last_step))
    if is_sure:  # many items: the log-likelihood is a parabola
        reach = float(np.exp(np.sqrt(REACH2) * error))
        low, high = sigma2 / reach, sigma2 * reach
    thetas = np.array([search.points[one].theta for one in xs])
    shift = error * np.gradient(thetas, xs, axis=0)[here]
    return ItemVariance(sigma2, low, high, shift, error)


def _end(search: VarianceSearch, start: float, limit: float, step: float) -> float:
    """Where the log-likelihood is 1.92 lower than at ``start``, on the way to a limit: by scores
    further and further away, and one near it. Zero or infinity where it does not fall as far.
    """
    sign = float(np.sign(step))
    search.score(start + step)
    for _ in range(STEPS):
        fall = search.fall(start, sign)
        distance = fall.distance(REACH2 / 2)
        if distance is not None:
            end = start + sign * distance
            off = np.min(np.abs(search.curve(start)[0] - end))
            if off < max(OFF * min(distance, 1.0), CLOSEST):
                return float(np.exp(end))
            search.score(end)
            continue
        last = start + sign * fall.furthest
        rest = REACH2 / 2 - float(fall.integral(fall.furthest))
        # where scores fall with x, those in sigma^2 grow little, and the rest is about the score
        rises = search.curve(start)[2][0] > 0
        ends_at_zero = sign < 0 and rises and search.score(last) < rest
        if ends_at_zero or (limit - last) * sign <= 0:
            break
        search.score(last + _further(search, last, sign, rest))
    return 0.0 if sign < 0 else float("inf")


def _further(search: VarianceSearch, last: float, sign: float, rest: float) -> float:
    """A step to where the log-likelihood seems to fall by the ``rest``."""
    xs, scores, bends = search.curve(last)
    slope = max(-sign * float(np.interp(last, xs, scores)), 0.0)
    growth = max(-float(np.interp(last, xs, bends)), TINY)
    far = 2 * rest / (slope + np.sqrt(slope**2 + 2 * growth * rest))
    most = FURTHEST if slope > NOTICED else WIDEST
    return sign * float(np.clip(far, STEP, most))
