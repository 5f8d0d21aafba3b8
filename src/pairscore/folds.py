"""Dealing items into folds of nearly equal size, groups of items together."""

from heapq import heapify, heapreplace

import numpy as np


def dealt(sizes: np.ndarray, order: np.ndarray, n_folds: int) -> np.ndarray:
    """The fold of every group: the largest groups first, each to the fold with the fewest items; ``order`` settles ties.

    >>> dealt(np.array([1, 4, 1, 2]), np.arange(4), 2).tolist()
    [1, 0, 1, 1]
    """
    fold = np.empty(len(sizes), dtype=int)
    if np.all(sizes == 1):
        fold[order] = np.arange(len(sizes)) % n_folds
        return fold
    filled = [(0, number) for number in range(n_folds)]
    heapify(filled)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        number = filled[0][1]
        fold[group] = number
        heapreplace(filled, (filled[0][0] + int(sizes[group]), number))
    return fold
