"""Errors of abilities: variances of centred ones, and quasi-variances, for their differences."""

import numpy as np

from pairscore.core.linear_systems import conjugate_gradients
from pairscore.core.pair_graph import Pairs
from pairscore.effects.item_covariance import EXACT_ITEMS, Covariance

# Steps of quasi-variances shrink by a constant factor, to a relative one that shows in no digit.
QUASI_STEPS, QUASI_CLOSE = 50, 1e-9


def centred_variances(covariance: Covariance, pairs: Pairs, sigma2: float) -> np.ndarray:
    """Variances (N) of effects less the mean of all that were compared.

    Of n compared items it is V - sigma^2 / n, because V 1 = sigma^2 1: V 1 of a group of items is
    what a ridge knows of their mean, and no comparison does. Each group of s items is centred
    first, and sigma^2 (1 / s - 1 / n) is added, so that a ridge may be small.
    """
    variance = covariance.centred_diagonal()
    if np.isinf(sigma2):
        return variance
    size = np.bincount(pairs.component)[pairs.component].astype(float)
    n = max(int(np.count_nonzero(size > 1)), 1)
    return variance + sigma2 * (1 / size - 1 / n)


def quasi_variances(
    covariance: Covariance, along: np.ndarray, variance: np.ndarray, is_free: bool
) -> np.ndarray | None:
    """q (N) with q_i + q_j about the variance of the difference of any two abilities.

    Least squares of log(q_i + q_j) - log v_ij over all pairs (Firth and de Menezes 2004), by the
    method of Gauss and Newton; ``along`` (N x k) is what effects of comparisons add to V. In groups
    of more than EXACT_ITEMS items they are the ``variance`` of abilities (N), which does as well
    there. Without a law (``is_free``) they hold within a group, and one item alone has none; with
    one there are none unless all items are in one group.
    """
    q, blocks = variance.copy(), list(covariance.blocks())
    if not is_free and blocks and len(blocks[0][0]) < len(q):
        return None
    for items, block in blocks:
        own = block + along[items] @ along[items].T
        if len(items) == 1:
            q[items] = np.nan
        elif len(items) == 2:
            q[items] = (own[0, 0] + own[1, 1] - 2 * own[0, 1]) / 2
        elif len(items) <= EXACT_ITEMS:
            q[items] = _quasi_variances(own)
    return q


def _quasi_variances(V: np.ndarray) -> np.ndarray:
    """Those of one block."""
    own = np.diag(V)
    wanted = own[:, None] + own - 2 * V
    np.fill_diagonal(wanted, 1.0)
    logs, q = np.log(wanted), own.copy()
    for _ in range(QUASI_STEPS):
        slope = 1 / (q[:, None] + q)
        off = -np.log(slope) - logs
        np.fill_diagonal(slope, 0.0)
        np.fill_diagonal(off, 0.0)
        squares = slope**2
        information = squares + np.diag(squares.sum(axis=1))
        wrong = np.sum(slope * off, axis=1)[:, None]
        step = conjugate_gradients(information, wrong, close=QUASI_CLOSE)[0][:, 0]
        step /= max(1.0, float(np.max(2 * step / q)))  # q stays positive
        q = q - step
        if np.max(np.abs(step) / q) < QUASI_CLOSE:
            break
    return q
