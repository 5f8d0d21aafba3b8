"""From a closed form's direction to the link's scale, so that its probabilities mean what they say.

A closed form estimates c1 beta, and its length is inflated by its own noise. Its scale on the link
is therefore fitted: a likelihood with one parameter along the direction (two with a side effect).
"""

from dataclasses import dataclass

import numpy as np

from pairscore.core.links import Link

LARGEST_START = 3.0
SAMPLE = 40_000  # comparisons that the first steps look at
CHUNK = 16_384
# a normal prior with standard deviation 2.5 on standardised coefficients
SEPARATION_L2 = 1 / 2.5**2
# per unit of weight; a prior this wide (standard deviation 100) holds no coefficient back when data
# are separated
WEAK_L2 = 1e-4


@dataclass(frozen=True)
class Scale:
    """coef = factor * closed form.

    ``factor`` includes ``guard``, the share that is not overfitting.
    """

    factor: float
    side_effect: float
    guard: float = 1.0
    n_iterations: int = 0
    ridge: tuple[float, float] = (0.0, 0.0)


def starting_factor(length: float, slope_at_zero: float) -> float:
    """Invert c1(q) q, the length of a noiseless closed form, as if the link were a normal one.

    With f(x) = Phi(x / sigma): c1(q) q = 4 q phi(0) / sqrt(sigma^2 + 2 q^2), which tends to
    2/sqrt(pi).
    """
    if length <= 0:
        return 1 / (4 * slope_at_zero)
    sigma = 1 / (np.sqrt(2 * np.pi) * slope_at_zero)
    rest = 8 / np.pi - 2 * length**2
    q = sigma * length / np.sqrt(rest) if rest > 0 else LARGEST_START
    return min(q, LARGEST_START) / length


def fit_scale(
    difference: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray,
    link: Link,
    start: float,
    side: bool,
    ridge: tuple[float, float] = (0.0, 0.0),
    max_iter: int = 50,
) -> Scale:
    """Maximise the log-likelihood of factor * difference + side effect by Newton's method.

    ``ridge`` are the penalties on factor^2 / 2 and side effect^2 / 2. The first steps look at a
    sample of the comparisons only.
    """
    params, n_iterations = np.array([start, 0.0]), 0
    for stride in (1 + len(difference) // SAMPLE, 1):
        sample = (
            np.ascontiguousarray(difference[::stride]),
            np.ascontiguousarray(outcome[::stride]),
            amount[::stride],
        )
        size = len(sample[0])
        penalty = np.array(ridge) * size / len(difference)
        total = float(sample[2].sum())
        for _ in range(max_iter):
            n_iterations += 1
            gradient, hessian = _scale_derivatives(*sample, link, params)
            gradient -= penalty * params
            hessian += np.diag(penalty)
            if not side:
                gradient[1], hessian[0, 1], hessian[1, 0] = 0.0, 0.0, 0.0
            step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
            params += np.clip(step, [-0.9 * params[0], -1.0], [1 + params[0], 1.0])
            # Newton's method: after this step the gap is of the order of its square
            if gradient @ step <= 1e-9 * total:
                break
    return Scale(float(params[0]), float(params[1]), n_iterations=n_iterations)


def _scale_derivatives(
    difference: np.ndarray, outcome: np.ndarray, amount: np.ndarray, link: Link, params: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and information of (factor, side effect), a cache-sized chunk of comparisons at a
    time.
    """
    gradient, hessian = np.zeros(2), np.zeros((2, 2))
    for first in range(0, len(difference), CHUNK):
        rows = slice(first, first + CHUNK)
        x, win = difference[rows], amount[rows] * (0.5 + 0.5 * outcome[rows])
        score, information = link.score(params[0] * x + params[1], win, amount[rows] - win)
        weighted = information * x
        mixed = weighted.sum()
        gradient += (score @ x, score.sum())
        hessian += ((weighted @ x, mixed), (mixed, information.sum()))
    return gradient, hessian


def is_separated(
    difference: np.ndarray, outcome: np.ndarray, counted: np.ndarray, side: bool
) -> bool:
    """Whether some scale, with a side effect if there is one, explains every comparison.

    Then no finite one is best.
    """
    first = slice(0, 1000)  # nearly always enough to see that it is not so
    if not side and np.any(counted[first] & (difference[first] * outcome[first] < 0)):
        return False
    if np.any(counted & (outcome == 0)):
        return False
    wins, losses = difference[counted & (outcome > 0)], difference[counted & (outcome < 0)]
    if side:
        return (
            len(wins) == 0
            or len(losses) == 0
            or bool(wins.min() >= losses.max() and wins.max() > losses.min())
        )
    return bool(np.all(wins >= 0) and np.all(losses <= 0) and (wins.any() or losses.any()))


def overfit_guard(
    net_residual: np.ndarray, exposures: np.ndarray, freedom: float, explained: float
) -> float:
    """The share of the closed form's fit that would survive on new items.

    The closed form b = 2 G^-1 X'w fits its own noise: of the agreement (X'w)'b about
    2 tr(G^-1 Cov(X'w)) is chance. With Cov(X'w) = sum_i e_i^2 x~_i x~_i', e_i the net residual of
    item i, that is 2 * freedom * sum_i e_i^2 / sum_i k_i. On new items only the rest remains.
    """
    chance = 2 * freedom * float(net_residual @ net_residual) / float(exposures.sum())
    return float(np.clip(1 - chance / explained, 0.05, 1.0)) if explained > 0 else 1.0
