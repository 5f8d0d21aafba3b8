"""How far apart are two directions, or two orders?"""

from typing import Any

import numpy as np
from scipy.stats import kendalltau

from pairscore.errors import PairscoreError


def angle(beta_hat: Any, beta: Any) -> float:
    """Angle between two vectors in radians, accurate for small angles too.

    >>> round(angle([1.0, 0.0], [1.0, 1.0]), 4)
    0.7854
    """
    a, b = _pair(beta_hat, beta)
    if not (a.any() and b.any()):
        raise PairscoreError("the angle to a vector of zeros is not defined; give two vectors that are not zero.")
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return float(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def kendall_distance(scores: Any, other: Any) -> float:
    """Share of pairs that two scores put in a different order; a tie in one of them counts half.

    >>> kendall_distance([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    a, b = _pair(scores, other)
    pairs = len(a) * (len(a) - 1) / 2
    if pairs == 0:
        raise PairscoreError(f"an order needs at least two items, but there is {len(a)}; give more.")
    untied = [pairs - np.sum(sizes * (sizes - 1)) / 2 for sizes in (np.unique(values, return_counts=True)[1] for values in (a, b))]
    if min(untied) == 0:
        return 0.5
    surplus = kendalltau(a, b, variant="b").statistic * np.sqrt(untied[0] * untied[1])  # concordant minus discordant
    return float(0.5 * (1 - surplus / pairs))


def _pair(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()
    if a.shape != b.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise PairscoreError(f"two finite vectors of one length are needed, but they have {len(a)} and {len(b)} entries or are not finite.")
    return a, b
