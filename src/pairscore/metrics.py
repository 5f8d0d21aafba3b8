"""How far apart two directions, or two orders, are."""

from typing import Any

import numpy as np

from pairscore.display import plural
from pairscore.errors import PairscoreError


def angle(beta_hat: Any, beta: Any) -> float:
    """Angle between two vectors in radians, from 0 to pi, accurate for small angles too.

    With a and b of length one it is 2 atan2(norm(a - b), norm(a + b)). The arc cosine of a'b would
    lose every angle below about 1e-8.

    Parameters
    ----------
    beta_hat, beta : array_like of shape (d,)
        Finite and not all zero; their lengths do not matter.

    Examples
    --------
    >>> round(angle([1.0, 0.0], [1.0, 1.0]), 4)
    0.7854
    """
    a, b = _pair(beta_hat, beta)
    if not (a.any() and b.any()):
        raise PairscoreError(
            "the angle to a vector of zeros is not defined; give two vectors that are not zero."
        )
    a, b = (v / np.abs(v).max() for v in (a, b))  # so that no square under- or overflows
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return float(2 * np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def kendall_distance(scores: Any, other: Any) -> float:
    """Share of pairs of items that two scores put in a different order, from 0 to 1.

    A pair that only one of the two scores ties counts half, one that both tie counts nothing.

    Parameters
    ----------
    scores, other : array_like of shape (n,)
        Two scores of the same n >= 2 items.

    Examples
    --------
    >>> kendall_distance([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    a, b = _pair(scores, other)
    pairs = len(a) * (len(a) - 1) // 2
    if pairs == 0:
        raise PairscoreError(
            f"an order needs at least two items, but the scores are of {plural(len(a), 'item')};"
            " give more."
        )
    untied_a, untied_b = pairs - _tied_pairs(a), pairs - _tied_pairs(b)
    surplus = 0.0  # concordant minus discordant pairs
    if untied_a and untied_b:
        from scipy.stats import kendalltau  # takes longer to import than all else

        # tau-b divides that by the root of the untied pairs of each
        tau = kendalltau(a, b, variant="b").statistic
        surplus = np.round(tau * np.sqrt(untied_a) * np.sqrt(untied_b))
    return float((pairs - _tied_pairs(np.column_stack([a, b])) - surplus) / (2 * pairs))


def _tied_pairs(values: np.ndarray) -> int:
    sizes = np.unique(values, axis=0, return_counts=True)[1]
    return int(np.sum(sizes * (sizes - 1)) // 2)


def _pair(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of finite numbers, of one length."""
    try:
        a, b = np.asarray(a, dtype=float).ravel(), np.asarray(b, dtype=float).ravel()
    except (TypeError, ValueError):
        raise PairscoreError(
            "the two vectors hold something that is not a number; give one number for each entry."
        ) from None
    if a.shape != b.shape:
        raise PairscoreError(
            f"the two vectors have {len(a)} and {len(b)} entries; give two of one length."
        )
    bad = int(np.count_nonzero(~np.isfinite([a, b])))
    if bad:
        raise PairscoreError(
            f"the two vectors have {plural(bad, 'number')} that {'is' if bad == 1 else 'are'} NaN"
            " or infinite; give finite ones."
        )
    return a, b
