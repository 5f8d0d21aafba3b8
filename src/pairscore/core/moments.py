"""Moments of items: total weight, mean and centred scatter, sums that add.

Second moments are always centred: raw ones lose all digits once the mean is far from zero.
"""

from dataclasses import dataclass

import numpy as np

from pairscore.core.row_blocks import centred_blocks, row_blocks
from pairscore.core.threads import on_each, row_chunks

SMALLEST_REACH = 1e-100  # of a feature, whose square, times a weight of this size, is not zero
LARGEST_OFFSET = 1e8  # values over their differences, that leaves half of the digits to these
CONSTANT = 16 * float(np.finfo(float).eps)  # share of a value that is rounding


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of every feature, both (d)."""

    mean: np.ndarray
    sd: np.ndarray


def lost_digits(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masks (d) of features that hardly differ: less than squares hold, or than digits do.

    ``low`` and ``high`` (d) are their smallest and largest values. A feature that is equal up to
    rounding is a constant.
    """
    size, reach = np.maximum(np.abs(low), np.abs(high)), high - low
    tiny = (reach > 0) & (reach < SMALLEST_REACH)
    is_constant = reach <= CONSTANT * size
    return tiny, (reach < size / LARGEST_OFFSET) & ~is_constant & ~tiny


def feature_range(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of every feature (d) among the rows of a mask, block by block."""

    def one(chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
        for rows in row_blocks(chunk.stop, chunk.start):
            block = X[rows] if mask[rows].all() else X[rows][mask[rows]]
            low = np.minimum(low, block.min(axis=0, initial=np.inf))
            high = np.maximum(high, block.max(axis=0, initial=-np.inf))
        return low, high

    low, high = zip(*on_each(one, row_chunks(*X.shape)), strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)


@dataclass(frozen=True)
class Moments:
    """Total weight, mean (d), and scatter sum_i k_i (x_i - mean)(x_i - mean)' (d x d) of items.

    Moments of disjoint sets of items add (Chan, Golub and LeVeque 1983).
    """

    total: float
    mean: np.ndarray
    scatter: np.ndarray

    def __add__(self, other: "Moments") -> "Moments":
        total = self.total + other.total
        if total == 0:
            return self
        gap, share = other.mean - self.mean, other.total / total
        scatter = self.scatter + other.scatter + self.total * share * np.outer(gap, gap)
        return Moments(total, self.mean + share * gap, scatter)

    @classmethod
    def zero(cls, n_features: int) -> "Moments":
        return cls(0.0, np.zeros(n_features), np.zeros((n_features, n_features)))

    @property
    def covariance(self) -> np.ndarray:
        return self.scatter / self.total

    @property
    def sd(self) -> np.ndarray:
        """Standard deviation of each feature; exactly zero where it is constant up to rounding."""
        return _sd(np.diag(self.covariance), self.mean)

    @property
    def spread(self) -> Spread:
        return Spread(self.mean, self.sd)


def moments(X: np.ndarray, weight: np.ndarray | None = None) -> Moments:
    """Weighted moments of the rows of ``X`` (N x d) in one pass; every weight is 1 unless given.

    Rows are centred at a provisional mean, that of a few rows; the exact mean comes out of the same
    pass, and the scatter is then moved to it.
    """
    weight = np.ones(len(X)) if weight is None else weight
    center = _provisional_mean(X, weight)
    root, total = np.sqrt(weight), float(weight.sum())

    def one(chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        first, scatter = np.zeros(X.shape[1]), np.zeros((X.shape[1],) * 2)
        for rows, centred in centred_blocks(X, center, chunk):
            if not root[rows].any() or not centred.size:  # items that were never compared
                continue
            centred *= root[rows, None]
            scatter += centred.T @ centred
            first += root[rows] @ centred
        return first, scatter

    parts = zip(*on_each(one, row_chunks(*X.shape)), strict=True)
    first, scatter = (sum(part[1:], start=part[0]) for part in parts)
    gap = first / total
    return Moments(total, center + gap, scatter - total * np.outer(gap, gap))


def spread(X: np.ndarray, weight: np.ndarray) -> Spread:
    """Mean and standard deviation of weighted items, where no more of their moments is needed."""
    center, total = _provisional_mean(X, weight), float(weight.sum())
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows, centred in centred_blocks(X, center):
        first += weight[rows] @ centred
        centred *= centred
        second += weight[rows] @ centred
    gap = first / total
    return Spread(center + gap, _sd(second / total - gap**2, center + gap))


def _sd(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    sd = np.sqrt(np.maximum(variance, 0.0))
    return np.where(sd > 1e-13 * np.abs(mean), sd, 0.0)


def _provisional_mean(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    used = np.flatnonzero(weight)
    return X[used[:: max(len(used) // 256, 1)]].mean(axis=0)
