"""What random pairs of normal items do on average.

Integrals of a link against a normal distribution.

Every function takes a link f and the spread q, the standard deviation of one item's score on the
link's scale, so that the score difference of a random pair is s ~ N(0, 2 q^2). q = inf means that
labels have no noise: f is then a step.

All integrals run over the positive half line and are sums over one grid that is even in log x. In
log x a normal density and a link f keep their shape whatever their width, so the trapezoid rule
converges as fast for q = 1e-6 as for q = 1e6, and there is nothing to tune to a user's own link.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, erfc

from pairscore.core.links import Link
from pairscore.errors import PairscoreError

STEP = 1 / 32
# from 3e-70, for links far narrower than the normal, to 40 standard deviations
NODES = np.exp(np.arange(-160, 3.7, STEP))
LOG_WEIGHTS = STEP * NODES  # dx = x d(log x)
HALF_NORMAL = LOG_WEIGHTS * np.sqrt(2 / np.pi) * np.exp(-0.5 * NODES**2)
LARGEST_SPREAD = 1e50  # beyond it the grid would miss the link; inf is the law without noise
SMALLEST_NOISE = 1e-40
# h has no detail finer than a standard normal: a plain grid of z > 0 integrates it to the last
# digit
HALF_LINE = np.arange(1, 80) / 8
EVEN_NORMAL = np.exp(-0.5 * HALF_LINE**2) * np.sqrt(2 / np.pi) / 8


def flip_probability(link: Link, q: float) -> float:
    """How often a label goes against the scores: E f(-|s|), s ~ N(0, 2 q^2)."""
    if np.isinf(_checked(q)):
        return 0.0
    return float(HALF_NORMAL @ link.cdf(-np.sqrt(2) * q * NODES))


def agreement_excess(link: Link, q: float) -> float:
    """1/2 - flip_probability without cancellation: the integral of f'(s) Pr(|S| > s) over s > 0."""
    if np.isinf(_checked(q)):
        return 0.5
    sigma = np.sqrt(2) * q
    return float(sigma * (LOG_WEIGHTS * erfc(NODES / np.sqrt(2))) @ link.pdf(sigma * NODES))


def spread_for_noise(link: Link, noise: float) -> float:
    """The spread q at which a share ``noise`` of the labels is flipped.

    0 gives inf, 1/2 gives 0.
    """
    if not 0 <= noise <= 0.5:
        raise PairscoreError(
            f"noise is {noise!r}, the share of flipped labels; use a number from 0 (none) to 0.5"
            " (coins)."
        )
    if noise in (0, 0.5):
        return np.inf if noise == 0 else 0.0
    if noise < SMALLEST_NOISE:
        raise PairscoreError(
            f"noise is {noise!r}, which is as good as none; use 0, or at least {SMALLEST_NOISE:g}."
        )
    # each end in the quantity that vanishes there, so that q is exact to a relative error
    if noise < 0.25:
        return _root(lambda q: flip_probability(link, q), noise)
    return _root(lambda q: agreement_excess(link, q), 0.5 - noise)


def _root(function: Callable[[float], float], target: float) -> float:
    """q with function(q) = target, both and q in logarithms; the function is monotone."""

    def gap(log_q: float) -> float:
        return float(np.log(max(function(np.exp(log_q)), 1e-300)) - np.log(target))

    reach, furthest = 1.0, 115.0  # just inside the logarithm of the largest spread
    while gap(-reach) * gap(reach) > 0:
        if reach == furthest:
            raise PairscoreError(
                "no slope of this link gives the noise asked for; use a noise further from 0 and"
                " from 0.5, or another link."
            )
        reach = min(2 * reach, furthest)
    return float(np.exp(brentq(gap, -reach, reach, xtol=1e-15, rtol=1e-15)))


def mean_derivative(link: Link, q: float) -> float:
    """E f'(s), the average slope of the link."""
    if np.isinf(_checked(q)):
        return 0.0
    return float(HALF_NORMAL @ link.pdf(np.sqrt(2) * q * NODES)) if q > 0 else float(link.pdf(0.0))


def closed_form_length(link: Link, q: float) -> float:
    """Length 4 E[f'(s)] q, in the metric of the items' covariance, of the c1 beta that every closed
    form estimates.

    It rises with q to 2/sqrt(pi), whatever the link.
    """
    return 2 / np.sqrt(np.pi) if np.isinf(_checked(q)) else 4 * mean_derivative(link, q) * q


def win_excess(link: Link, q: float, z: Any) -> np.ndarray:
    """Wins minus losses per comparison of an item at z standard deviations.

    h(z) = E[2 f(q (z - z')) - 1], z' ~ N(0, 1).

    By parts, the integral of f'(q x) q (erf((z + x)/sqrt 2) + erf((z - x)/sqrt 2)) over x > 0. Good
    to ten digits for |z| up to 20.
    """
    z = np.asarray(z, dtype=float)
    if np.isinf(_checked(q)):
        return erf(z / np.sqrt(2))
    weights = q * LOG_WEIGHTS * link.pdf(q * NODES)
    used = weights > 1e-20 * weights.max()
    x, weights = NODES[used] / np.sqrt(2), weights[used]
    values = [weights @ (erf(one + x) + erf(one - x)) for one in z.ravel() / np.sqrt(2)]
    return np.array(values).reshape(z.shape)


def kappa(link: Link, q: float) -> float:
    """Covariance of an item's place z with its win excess.

    E[z h(z)] = closed_form_length / 2 (Stein).
    """
    return closed_form_length(link, q) / 2


def eta(link: Link, q: float) -> float:
    """Mean square of the win excess: E[h(z)^2]; 1/3 without noise."""
    return float(EVEN_NORMAL @ win_excess(link, q, HALF_LINE) ** 2)


def fisher_information(link: Link, q: float) -> float:
    """Information of one comparison on the relative length of a direction.

    2 q^2 E[f'^2 / (f (1 - f))]; inf without noise.
    """
    if np.isinf(_checked(q)):
        return np.inf
    s = np.sqrt(2) * q * NODES
    return float(2 * q * q * (HALF_NORMAL @ (link.ratio(s) * link.ratio(-s))))


def length_information(link: Link, q: float) -> float:
    """Information of one comparison on the relative length of the truth itself.

    E[s^2 f'^2 / (f (1 - f))]; without noise there is no length to know.
    """
    if np.isinf(_checked(q)):
        return 0.0
    s = np.sqrt(2) * q * NODES
    return float(HALF_NORMAL @ (s**2 * link.ratio(s) * link.ratio(-s)))


def length_bias(link: Link, q: float) -> float:
    """How much longer than the truth maximum likelihood is, relative, for each unit of variance of
    a comparison's predictor.

    Cox and Snell's first-order bias along the truth, E[s w g] / E[s^2 w] with w the information and
    g = -(log w)'/2, which is f - 1/2 under logit: the information falls away from zero, so errors
    outward are punished less than errors inward.
    """
    if np.isinf(_checked(q)) or q == 0:
        return 0.0
    s = np.sqrt(2) * q * NODES
    information = link.ratio(s) * link.ratio(-s)
    seen = information > 1e-200
    fall = np.zeros_like(s)
    fall[seen] = -0.5 * np.gradient(np.log(information[seen]), s[seen])
    return float(HALF_NORMAL @ (s * information * fall)) / length_information(link, q) * q**2


def _checked(q: float) -> float:
    if not (0 <= q <= LARGEST_SPREAD or q == np.inf):
        raise PairscoreError(
            f"the spread q is {q!r}; use a number from 0 to {LARGEST_SPREAD:g}, or inf for labels"
            " without noise."
        )
    return q
