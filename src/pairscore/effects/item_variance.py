"""How much do items differ beyond their features? sigma^2 with its interval, from the equation of
``shared_items``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from pairscore.effects.shared_items import Equation, Seen, equation
from pairscore.estimators.results import FEWEST_ITEMS

Curve = Callable[[float], float]
LARGEST_SD = 2.5  # of item effects, times the link's slope at zero: 10 under logit


@dataclass(frozen=True)
class ItemVariance:
    """sigma^2, its standard error and 95 % interval, and at how many items it was seen.

    The coefficients are ``kappa`` times those of the fit that was given, and the error of kappa
    adds ``length_variance`` to the variance of the logarithm of their length. ``with_length`` is
    the covariance of sigma^2 with that logarithm.
    """

    sigma2: float
    std_error: float
    low: float
    high: float
    n_shared: int
    kappa: float
    length_variance: float
    with_length: float


NO_VARIANCE = ItemVariance(0.0, np.nan, 0.0, np.inf, FEWEST_ITEMS, 1.0, 0.0, 0.0)


def item_variance(seen: Seen, whitened: np.ndarray, rng: np.random.Generator) -> ItemVariance:
    """Estimate sigma^2 beside a fit with the identity as covariance in ``whitened`` features.

    Zero where too few items meet two opponents.
    """
    to_solve = equation(seen, whitened)
    n_shared = int(np.count_nonzero(to_solve.weights(0.0)))
    if n_shared < FEWEST_ITEMS:
        return replace(NO_VARIANCE, n_shared=n_shared)
    sigma2, weight = solution(to_solve)
    return _with_interval(to_solve, sigma2, weight, n_shared, rng)


def solution(to_solve: Equation) -> tuple[float, np.ndarray]:
    """sigma^2, with weights that are right near it."""
    weight, largest = to_solve.weights(0.0), _largest(to_solve.seen)
    if np.count_nonzero(weight) < FEWEST_ITEMS:
        return 0.0, weight
    first = to_solve.seen.sigma2  # that of the fit, if it had one, is near
    first = (
        first
        if first > 0
        else crossing(
            lambda s: float(weight @ to_solve.excess(s)), (0.0, 0.02 * largest), largest, 0.05
        )
    )
    better = to_solve.weights(first)
    return (
        crossing(
            lambda s: float(better @ to_solve.excess(s)),
            (0.9 * first, 1.1 * first + 1e-4 * largest),
            largest,
            1e-4,
        ),
        better,
    )


def _largest(seen: Seen) -> float:
    return (LARGEST_SD / float(seen.law.rule.link.pdf(0.0))) ** 2


def _with_interval(
    to_solve: Equation, sigma2: float, weight: np.ndarray, n_shared: int, rng: np.random.Generator
) -> ItemVariance:
    """The solution without its bias, and its interval."""

    def balance(sigma2: float) -> float:
        return float(weight @ to_solve.excess(sigma2))

    largest = _largest(to_solve.seen)
    step = 0.05 * sigma2 + 1e-4 * largest
    here, further, furthest = (balance(sigma2 + steps * step) for steps in range(3))
    quiet, bend = to_solve.spread(0.0, weight, rng)[0], (here - 2 * further + furthest) / step**2
    # where it does not grow, nothing is known
    growth = max((here - further) / step, quiet / (10 * largest), np.finfo(float).tiny)
    far = sigma2 if sigma2 > 0 else min(2 * quiet / growth, largest)
    loud, with_length = to_solve.spread(far, weight, rng)
    low, high = _interval(balance, sigma2, (quiet, loud), far, growth, largest)
    error = min((loud if sigma2 > 0 else quiet) / growth, largest)
    # the equation is unbiased and bends, so to second order its solution is too large by half the
    # bend times its variance
    best = min(max(sigma2 - 0.5 * bend / growth * error**2, low, 0.5 * sigma2), 2 * sigma2)
    kappa = to_solve.seen.kappa(2 * best)
    relative = (to_solve.seen.kappa(2 * (best + step)) / kappa - 1) / step
    together = with_length / growth if best > 0 else 0.0
    length_variance = (relative * error) ** 2 + 2 * relative * together if best > 0 else 0.0
    return ItemVariance(
        best, error, low, high, n_shared, kappa, max(length_variance, 0.0), together
    )


def _interval(
    balance: Curve,
    sigma2: float,
    spreads: tuple[float, float],
    far: float,
    growth: float,
    largest: float,
) -> tuple[float, float]:
    """All sigma^2 at which the equation is within 1.96 of its standard deviations there of zero.

    Inf where no largest one can be told.

    The deviation is known without effects and at ``far``, and taken for a straight line in the mean
    of sum_i w_i T_i, which levels off for large sigma^2 as the deviation does. An estimate of zero
    is no surer for being pushed there: the equation is then taken for balanced at zero.
    """
    reach, none = float(norm.ppf(0.975)), balance(0.0)
    shift = none if sigma2 == 0 else 0.0
    slope = (spreads[1] - spreads[0]) / max(none - balance(far), np.finfo(float).tiny)
    at_zero = spreads[0] + slope * (none - shift)
    guess = reach * at_zero / growth
    low, bound = at_zero * reach / (1 + reach * slope), 1 - reach * slope
    lowest = (
        crossing(lambda s: balance(s) - low, (sigma2 - guess, sigma2), largest, 1e-3)
        if sigma2 > 0
        else 0.0
    )
    high = (
        crossing(
            lambda s: balance(s) - shift + reach * at_zero / bound,
            (sigma2 + 0.9 * guess, sigma2 + 1.4 * guess),
            largest,
            1e-3,
        )
        if bound > 0
        else largest
    )
    return lowest, high if high < largest else np.inf


def crossing(function: Curve, near: tuple[float, float], largest: float, precision: float) -> float:
    """Where a falling function meets zero between zero and the largest, or the end nearest to it.

    Sought ``near`` first.
    """
    low, high = min(max(near[0], 0.0), 0.9 * largest), min(near[1], largest)
    while function(low) <= 0:
        if low == 0:
            return 0.0
        low, high = max(low - 2 * (high - low), 0.0), low
    while function(high) > 0:
        if high == largest:
            return largest
        low, high = high, min(high + 3 * (high - low), largest)
    return float(brentq(function, low, high, rtol=precision, xtol=1e-3 * precision * largest))
