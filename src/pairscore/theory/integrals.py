"""Averages of a link over random pairs of normal items.

Every function takes a link f and the spread q, the standard deviation of one item's score on the
link's scale, so that the score difference of a random pair is s ~ N(0, 2 q^2). In the paper's
notation q = alpha sqrt(beta' Sigma beta). q = inf means that labels have no noise: f is then a
step, and each integral is given its limit. Results are plain floats unless a shape is named.

All integrals run over the positive half line and are sums over one grid that is even in log x. In
log x a normal density and a link f keep their shape whatever their width, so the trapezoid rule
converges as fast for q = 1e-6 as for q = 1e6, and nothing has to be tuned to a user's own link
(docs/explanation/population.md has the argument).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import erf, erfc

from pairscore.core.links import Link
from pairscore.core.roots import solve_falling
from pairscore.errors import PairscoreError
from pairscore.messages import Setting

STEP = 1 / 32  # of log x, at which every integral here has ten digits or more
# from 3e-70, for links far narrower than the normal, to 40 standard deviations
NODES = np.exp(np.arange(-160, 3.7, STEP))
LOG_WEIGHTS = STEP * NODES  # dx = x d(log x)
HALF_NORMAL = LOG_WEIGHTS * np.sqrt(2 / np.pi) * np.exp(-0.5 * NODES**2)
NORMAL_TAIL = LOG_WEIGHTS * erfc(NODES / np.sqrt(2))  # Pr(|Z| > x) dx
LARGEST_SPREAD = 1e50  # beyond it the grid would miss the link; inf is the law without noise
LARGEST_LOG_SPREAD = 115.0  # just inside the logarithm of the largest spread
LARGEST_FOR_SHARES = 1e6  # beyond it labels are as good as without noise
LARGEST_ANGLE = 1.4  # radians from which on a score says nothing of the best one
CONTRADICTIONS = "comparisons that contradict the scores"  # whose share is the noise
SMALLEST_NOISE = 1e-40  # below it no label of any study is flipped
NEGLIGIBLE = 1e-20  # weight of a node that cannot change the last digit of a sum
# h has no detail finer than a standard normal: a plain grid of z > 0 integrates it exactly
HALF_LINE = np.arange(1, 80) / 8
EVEN_NORMAL = np.exp(-0.5 * HALF_LINE**2) * np.sqrt(2 / np.pi) / 8


def flip_probability(link: Link, q: float) -> float:
    """How often a label contradicts the scores: ``E f(-|s|)``, the paper's p_e (section 7).

    Parameters
    ----------
    link : Link
        How a score difference becomes a probability, such as ``population.link``.
    q : float
        Standard deviation of one item's score on the link's scale; inf for labels without noise.

    Examples
    --------
    >>> from pairscore.core.links import get_link
    >>> round(flip_probability(get_link("logit"), 1.0), 4)
    0.2748
    """
    if _noiseless(q):
        return 0.0
    return float(HALF_NORMAL @ link.cdf(-np.sqrt(2) * q * NODES))


def agreement_excess(link: Link, q: float) -> float:
    """1/2 - flip_probability without cancellation.

    It is the integral of ``f'(s) Pr(|S| > s)`` over s > 0; ``link`` and ``q`` are as in
    :func:`flip_probability`.
    """
    if _noiseless(q):
        return 0.5
    sigma = np.sqrt(2) * q
    return float(sigma * NORMAL_TAIL @ link.pdf(sigma * NODES))


def correct_share(link: Link, q: float, angle: float) -> float:
    """How many comparisons of new pairs a score predicts that is turned by ``angle`` (radians, in
    the metric of the items' covariance) from the best one.

    Of a pair |s| apart in units of its standard deviation, a share Phi(-|s| cot(angle)) is put
    in the other order. The best score, of angle 0, predicts 1 - flip_probability; without noise
    1 - angle/pi is left.
    """
    in_order = 0.5 * erf(NODES / np.sqrt(2) / np.tan(angle)) if angle > 0 else 0.5
    lead = 1.0 if _noiseless(q) else 2 * link.cdf(np.sqrt(2) * q * NODES) - 1
    return 0.5 + float(HALF_NORMAL @ (lead * in_order * np.ones_like(NODES)))


def best_share(link: Link, correct: float, angle: float) -> float:
    """What the best score would predict where one turned by ``angle`` predicts a share ``correct``.

    Normal scores are spread such that :func:`correct_share` is met. NaN where nothing follows: a
    share that a coin has too, or an angle near a right one.
    """
    if not (correct > 0.5 and 0 <= angle < LARGEST_ANGLE):
        return np.nan
    if correct >= correct_share(link, LARGEST_FOR_SHARES, angle):
        return 1.0
    log_q = solve_falling(
        lambda log_q: correct - correct_share(link, np.exp(log_q), angle),
        -1.0,
        1.0,
        limits=(-LARGEST_LOG_SPREAD, np.log(LARGEST_FOR_SHARES)),
    )
    return correct_share(link, float(np.exp(log_q)), 0.0)


@lru_cache(maxsize=1024)
def spread_for_noise(link: Link, noise: float) -> float:
    """The spread q at which a share ``noise`` of the labels is flipped.

    The inverse of :func:`flip_probability`, exact to a relative error at both ends: 0 gives inf,
    1/2 gives 0. It is how the paper chooses its slope alpha for a given p_e.

    Parameters
    ----------
    link : Link
        How a score difference becomes a probability.
    noise : float in [0, 0.5]
        Share of labels that contradict the scores.

    Examples
    --------
    >>> from pairscore.core.links import get_link
    >>> round(flip_probability(get_link("probit"), spread_for_noise(get_link("probit"), 0.2)), 6)
    0.2
    """
    if not 0 <= noise <= 0.5:
        raise PairscoreError(
            Setting("noise") + f" is {noise!r}, the share of {CONTRADICTIONS}",
            "use a number from 0 (none) to 0.5 (coin tosses)",
        )
    if noise == 0 and link.lapse == 0:
        return np.inf
    if noise == 0.5:
        return 0.0
    if noise <= link.lapse:
        raise PairscoreError(
            Setting("noise")
            + f" is {noise:g}, the share of {CONTRADICTIONS}, and {link.lapse:g} of them are slips"
            " already",
            ["use a larger noise", "use a smaller " + Setting("lapse")],
        )
    if noise < SMALLEST_NOISE:
        raise PairscoreError(
            Setting("noise") + f" is {noise!r}, which is as good as none",
            f"use 0, or at least {SMALLEST_NOISE:g}",
        )
    # each end in the quantity that vanishes there: one falls with q, the other rises
    if noise < 0.25:
        slips = link.lapse  # what is beside them is that of the link without slips
        rest = (noise - slips) / (1 - 2 * slips)
        return _spread_at_zero(lambda q: _log(flip_probability(link.plain, q)) - np.log(rest))
    return _spread_at_zero(lambda q: np.log(0.5 - noise) - _log(agreement_excess(link, q)))


def _log(probability: float) -> float:
    return float(np.log(max(probability, 1e-300)))


def _spread_at_zero(gap: Callable[[float], float]) -> float:
    """The spread q with gap(q) = 0, solved for log q; the gap falls in q."""
    limits = -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD
    log_q = solve_falling(
        lambda log_q: gap(np.exp(log_q)), -1.0, 1.0, limits=limits, xtol=1e-15, rtol=1e-15
    )
    if log_q in limits:
        raise PairscoreError(
            "no slope of this link gives the noise asked for; use a noise further from 0 and from"
            " 0.5, or another link."
        )
    return float(np.exp(log_q))


def mean_derivative(link: Link, q: float) -> float:
    """The average slope of the link, E f'(s), from which the paper's c1 = 4 alpha E f'(s).

    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    if _noiseless(q):
        return 0.0
    if q == 0:
        return float(link.pdf(0.0))
    return float(HALF_NORMAL @ link.pdf(np.sqrt(2) * q * NODES))


def closed_form_length(link: Link, q: float) -> float:
    """How long c1 beta, which every closed form estimates, is in the metric of Sigma.

    c1 sqrt(beta' Sigma beta) = 4 E[f'(s)] q. It rises with q to 2/sqrt(pi), whatever the link.
    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    return 2 / np.sqrt(np.pi) if _noiseless(q) else 4 * mean_derivative(link, q) * q


def win_excess(link: Link, q: float, z: Any) -> np.ndarray:
    """Expected outcome of an item whose score is z standard deviations above the mean.

    h(z) = E[2 f(q (z - z')) - 1], z' ~ N(0, 1), so wins minus losses per comparison; an array of
    the shape of ``z``. Integrated by parts, h(z) is the integral of f'(q x) q (erf((z + x)/sqrt 2)
    + erf((z - x)/sqrt 2)) over x > 0. Good to ten digits for z from -20 to 20.
    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    z = np.asarray(z, dtype=float)
    if _noiseless(q):
        return erf(z / np.sqrt(2))
    weights = q * LOG_WEIGHTS * link.pdf(q * NODES)
    used = weights > NEGLIGIBLE * weights.max()
    x = NODES[used] / np.sqrt(2)
    weights = weights[used]
    values = [weights @ (erf(one + x) + erf(one - x)) for one in z.ravel() / np.sqrt(2)]
    return np.array(values).reshape(z.shape)


def kappa(link: Link, q: float) -> float:
    """Covariance of an item's standardised score z with its expected outcome: E[z h(z)].

    By Stein's lemma it is half of :func:`closed_form_length`, c1 q / 2 for alpha = 1.
    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    return closed_form_length(link, q) / 2


def eta(link: Link, q: float) -> float:
    """Mean square of an item's expected outcome: E[h(z)^2]; 1/3 without noise.

    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    return float(EVEN_NORMAL @ win_excess(link, q, HALF_LINE) ** 2)


def label_information(link: Link, difference: np.ndarray) -> np.ndarray:
    """Fisher information f'^2 / (f (1 - f)) of one label on its score difference, elementwise."""
    return link.ratio(difference) * link.ratio(-difference)


def fisher_information(link: Link, q: float) -> float:
    """Information of one comparison on the relative length of a direction orthogonal to the truth.

    2 q^2 E[f'^2 / (f (1 - f))]; inf without noise.
    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    if _noiseless(q):
        return np.inf
    return float(2 * q * q * (HALF_NORMAL @ label_information(link, np.sqrt(2) * q * NODES)))


def length_information(link: Link, q: float) -> float:
    """Information of one comparison on the relative length of the truth itself.

    E[s^2 f'^2 / (f (1 - f))]; 0 without noise, where labels do not depend on the length.
    ``link`` and ``q`` are as in :func:`flip_probability`.
    """
    if _noiseless(q):
        return 0.0
    s = np.sqrt(2) * q * NODES
    return float(HALF_NORMAL @ (s**2 * label_information(link, s)))


def length_bias(link: Link, q: float) -> float:
    """How much too long maximum likelihood is, per unit of variance of a comparison's predictor.

    Relative to the truth: the first-order bias of Cox and Snell (1968) along the truth,
    E[s w g] / E[s^2 w] with w the information and g = -(log w)'/2, which is f - 1/2 under logit.
    The information falls away from zero, so errors outward cost less likelihood than errors inward.
    """
    if _noiseless(q) or q == 0:
        return 0.0
    s = np.sqrt(2) * q * NODES
    information = label_information(link, s)
    of_plain = label_information(link.plain, s)  # slips leave f''/f', by which this goes, as it is
    positive = of_plain > 1e-200
    fall = np.zeros_like(s)
    fall[positive] = -0.5 * np.gradient(np.log(of_plain[positive]), s[positive])
    return float(HALF_NORMAL @ (s * information * fall)) / length_information(link, q) * q**2


def _noiseless(q: float) -> bool:
    """Whether the spread is infinite; refuses one that is no spread."""
    if not (0 <= q <= LARGEST_SPREAD or q == np.inf):
        raise PairscoreError(
            f"the spread q is {q!r}; use a number from 0 to {LARGEST_SPREAD:g}, or inf for labels"
            " without noise."
        )
    return bool(np.isinf(q))
