"""From a closed form's direction to the link's scale, so that its probabilities mean what they say.

A closed form estimates c1 beta, and its length is inflated by its own noise. Its scale on the link
is therefore fitted: a likelihood with one parameter along the direction (two with a side effect).
"""

from dataclasses import dataclass

import numpy as np

from pairscore.links import Link

LARGEST_START = 3.0
SEPARATION_L2 = 1 / 2.5**2  # a normal prior with standard deviation 2.5 on standardised coefficients


@dataclass(frozen=True)
class Scale:
    """coef = factor * closed form. ``factor`` includes ``guard``, the share that is not overfitting."""

    factor: float
    side_effect: float
    guard: float = 1.0
    n_iterations: int = 0


def starting_factor(length: float, slope_at_zero: float) -> float:
    """Invert c1(q) q, the length of a noiseless closed form, as if the link were a normal one.

    With f(x) = Phi(x / sigma): c1(q) q = 4 q phi(0) / sqrt(sigma^2 + 2 q^2), which tends to 2/sqrt(pi).
    """
    if length <= 0:
        return 1.0
    sigma = 1 / (np.sqrt(2 * np.pi) * slope_at_zero)
    rest = 8 / np.pi - 2 * length**2
    q = sigma * length / np.sqrt(rest) if rest > 0 else LARGEST_START
    return min(q, LARGEST_START) / length


def fit_scale(
    difference: np.ndarray, win: np.ndarray, lose: np.ndarray, link: Link, start: float, side: bool, ridge: float = 0.0, max_iter: int = 50
) -> Scale:
    """Maximise sum log f(factor * difference + side effect) by Newton's method.

    ``ridge`` is the penalty on factor^2 / 2. The first steps look at a sample of the comparisons only.
    """
    factor, effect, done = start, 0.0, 0
    for sample in (slice(None, None, 1 + len(difference) // 10_000), slice(None)):
        x, wins, losses = difference[sample], win[sample], lose[sample]
        share = len(x) / len(difference)
        for done in range(done + 1, max_iter + 1):
            score, information = link.score(factor * x + effect if side else factor * x, wins, losses)
            weighted = information * x
            gradient = np.array([score @ x - share * ridge * factor, score.sum()])
            hessian = np.array([[weighted @ x + share * ridge, weighted.sum()], [weighted.sum(), information.sum()]])
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0] if side else np.array([gradient[0] / max(hessian[0, 0], 1e-300), 0.0])
            factor += float(np.clip(step[0], -0.9 * factor, 1 + factor))
            effect += float(np.clip(step[1], -1.0, 1.0))
            if gradient @ step <= 1e-10 * len(x):  # Newton's method: after this step the gap is about the square
                break
    return Scale(factor, effect, n_iterations=done)


def separated_along(difference: np.ndarray, win: np.ndarray, lose: np.ndarray) -> bool:
    """Whether every comparison goes the way of its difference (so no finite scale is best)."""
    return bool(np.all(difference[win > 0] > 0) and np.all(difference[lose > 0] < 0))


def overfit_guard(net_residual: np.ndarray, exposures: np.ndarray, freedom: float, explained: float) -> float:
    """The share of the closed form's fit that would survive on new items.

    The closed form b = 2 G^-1 X'w fits its own noise: of the agreement (X'w)'b about
    2 tr(G^-1 Cov(X'w)) is chance. With Cov(X'w) = sum_i e_i^2 x~_i x~_i', e_i the net residual of item
    i, that is 2 * freedom * sum_i e_i^2 / sum_i k_i. On new items only the rest remains.
    """
    chance = 2 * freedom * float(net_residual @ net_residual) / float(exposures.sum())
    return float(np.clip(1 - chance / explained, 0.05, 1.0)) if explained > 0 else 1.0
