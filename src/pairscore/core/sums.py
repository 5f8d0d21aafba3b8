"""Comparisons summed per unordered pair: the graph on which the likelihood and the intervals live.

Sums that add: what comparisons and items leave behind, and never anything of size M x d.

    tally      comparisons  ->  net wins w and exposures k, two numbers per item
    moments    items        ->  total weight, mean, centred scatter
    difference_scatter      ->  X'LX, the scatter of the observed differences

Tallies of one item table add over files of comparisons; moments add over disjoint sets of items.
Second moments are always centred: raw ones lose all digits once the mean is far from zero.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs (low, high), sorted by low: an upper triangular sparse matrix.

    ``win`` and ``lose`` count how often *low* won and lost, a tie being half of each. They have one
    row for each entry of ``side``: [0] when sides do not matter, else [+1, -1] for the comparisons
    with *low* on the left and on the right. Repeated comparisons of a pair are one column, so
    aggregated counts and expanded rows are the same object.
    """

    start: np.ndarray
    high: np.ndarray
    win: np.ndarray
    lose: np.ndarray
    side: np.ndarray

    @property
    def n_items(self) -> int:
        return len(self.start) - 1

    @cached_property
    def low(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_items, dtype=self.high.dtype), np.diff(self.start))

    @cached_property
    def number(self) -> np.ndarray:
        """How many comparisons each pair has had."""
        return over_sides(self.win + self.lose)

    def differences(self, scores: np.ndarray) -> np.ndarray:
        """Score of low minus score of high, for every pair."""
        return np.repeat(scores, np.diff(self.start)) - scores[self.high]

    def sum_at_low(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over the pairs in which it is the low one."""
        return _filled(self._pattern[0], values) @ np.ones(self.n_items)

    def sum_at_high(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over the pairs in which it is the high one."""
        return _filled(self._pattern[1], values) @ np.ones(self.n_items)

    def net(self, values: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`differences`: each value counts for low and against high."""
        return self.sum_at_low(values) - self.sum_at_high(values)

    @cached_property
    def by_high(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same pairs sorted by their high item.

        Where each item's begin, their low items, their numbers.
        """
        flipped = _filled(self._pattern[1], np.arange(len(self.high))).tocsr()
        return flipped.indptr, flipped.indices, flipped.data

    @cached_property
    def _pattern(self) -> tuple[sparse.csr_array, sparse.csc_array]:
        """The items-by-items matrix with an entry at every (low, high), and its transpose."""
        matrix = sparse.csr_array(
            (self.win[0], self.high, self.start), shape=(self.n_items, self.n_items)
        )
        return matrix, matrix.T


def over_sides(values: np.ndarray) -> np.ndarray:
    """Sum over the sides (rows); with one row there is nothing to sum or copy."""
    return values[0] if len(values) == 1 else values.sum(axis=0)


def _filled(pattern: sparse.sparray, values: np.ndarray) -> sparse.sparray:
    """A sparse matrix with new entries.

    A copy of the shell, because building one costs more than a small product.
    """
    filled = copy(pattern)
    filled.data = values
    return filled


def pair_up(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray,
    n_items: int,
    keep_sides: bool = False,
) -> Pairs:
    """Sum comparisons per unordered pair.

    An item against itself tells nothing about scores and is left out.
    """
    apart = left != right
    if not apart.all():
        left, right, outcome, amount = left[apart], right[apart], outcome[apart], amount[apart]
    swapped = left > right
    # wins and losses of low ride as real and imaginary part through one sort-and-sum of the pairs
    tally = np.empty(len(left), dtype=complex)
    tally.real = amount * (0.5 + 0.5 * np.where(swapped, -outcome, outcome))
    tally.imag = amount - tally.real
    parts = [np.where(swapped, 0, tally), np.where(swapped, tally, 0)] if keep_sides else [tally]
    tables = [_sum_per_pair(left, right, part, n_items) for part in parts]
    return Pairs(
        start=tables[0].indptr,
        high=tables[0].indices,
        win=np.array([table.data.real for table in tables]),
        lose=np.array([table.data.imag for table in tables]),
        side=np.array([1.0, -1.0]) if keep_sides else np.zeros(1),
    )


def count_pairs(left: np.ndarray, right: np.ndarray, amount: np.ndarray, n_items: int) -> Pairs:
    """The pairs without who won, every comparison as a win of low.

    All that their scatter needs, in less memory.
    """
    apart = left != right
    if not apart.all():
        left, right, amount = left[apart], right[apart], amount[apart]
    table = _sum_per_pair(left, right, amount, n_items)
    return Pairs(
        table.indptr,
        table.indices,
        table.data[None],
        np.broadcast_to(0.0, (1, table.nnz)),
        np.zeros(1),
    )


def _sum_per_pair(
    left: np.ndarray, right: np.ndarray, values: np.ndarray, n_items: int
) -> sparse.csr_array:
    """Values of comparisons summed at (low, high), a sparse upper triangle."""
    index = np.int32 if n_items < 2**31 else np.int64
    low, high = (
        np.minimum(left, right, dtype=index, casting="same_kind"),
        np.maximum(left, right, dtype=index, casting="same_kind"),
    )
    table = sparse.coo_array((values, (low, high)), shape=(n_items, n_items)).tocsr()
    table.indptr, table.indices = (
        table.indptr.astype(index, copy=False),
        table.indices.astype(index, copy=False),
    )
    return table


BLOCK = 512  # rows at a time: a block of a few hundred features stays in the processor's cache


@dataclass(frozen=True)
class Tally:
    """Net wins (wins minus losses) and exposures (comparisons) of each item, and the number of
    comparisons.
    """

    net_wins: np.ndarray
    exposures: np.ndarray
    n_comparisons: float

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.net_wins + other.net_wins,
            self.exposures + other.exposures,
            self.n_comparisons + other.n_comparisons,
        )

    @classmethod
    def zero(cls, n_items: int) -> "Tally":
        return cls(np.zeros(n_items), np.zeros(n_items), 0.0)


def tally(
    left: np.ndarray, right: np.ndarray, outcome: np.ndarray, amount: np.ndarray, n_items: int
) -> Tally:
    """Sum the comparisons per item; those of an item with itself count in their number only."""
    signed, apart = amount * outcome, left != right
    exposed = amount if apart.all() else amount * apart
    return Tally(
        net(left, right, signed, n_items),
        np.bincount(left, exposed, n_items) + np.bincount(right, exposed, n_items),
        float(amount.sum()),
    )


def net(left: np.ndarray, right: np.ndarray, values: np.ndarray, n_items: int) -> np.ndarray:
    """Per item, the sum of its values when left minus those when right."""
    return np.bincount(left, values, n_items) - np.bincount(right, values, n_items)


@dataclass(frozen=True)
class Moments:
    """Total weight, mean, and scatter sum_i k_i (x_i - mean)(x_i - mean)' of a set of weighted
    items.
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
    def spread(self) -> "Spread":
        return Spread(self.mean, self.sd)


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of every feature."""

    mean: np.ndarray
    sd: np.ndarray


def _sd(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    sd = np.sqrt(np.maximum(variance, 0.0))
    return np.where(sd > 1e-13 * np.abs(mean), sd, 0.0)


def moments(X: np.ndarray, weight: np.ndarray | None = None) -> Moments:
    """Weighted moments of the rows of ``X`` in one pass.

    Rows are centred at a provisional mean, that of a few rows; the exact mean comes out of the same
    pass, and the scatter is then moved to it.
    """
    weight = np.ones(len(X)) if weight is None else weight
    near = _provisional_mean(X, weight)
    root, total = np.sqrt(weight), float(weight.sum())
    first, scatter = np.zeros(X.shape[1]), np.zeros((X.shape[1],) * 2)
    for rows, centred in centred_blocks(X, near):
        centred *= root[rows, None]
        scatter += centred.T @ centred
        first += root[rows] @ centred
    gap = first / total
    return Moments(total, near + gap, scatter - total * np.outer(gap, gap))


def spread(X: np.ndarray, weight: np.ndarray) -> Spread:
    """Mean and standard deviation of weighted items, where nothing else of their moments is needed."""
    near, total = _provisional_mean(X, weight), float(weight.sum())
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows, centred in centred_blocks(X, near):
        first += weight[rows] @ centred
        centred *= centred
        second += weight[rows] @ centred
    gap = first / total
    return Spread(near + gap, _sd(second / total - gap**2, near + gap))


def _provisional_mean(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    used = np.flatnonzero(weight)
    return X[used[:: max(len(used) // 1024, 1)]].mean(axis=0)


def feature_range(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of every feature among the rows of a mask, block by block."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for first in range(0, len(X), BLOCK):
        rows = slice(first, first + BLOCK)
        seen = X[rows] if mask[rows].all() else X[rows][mask[rows]]
        low, high = (
            np.minimum(low, seen.min(axis=0, initial=np.inf)),
            np.maximum(high, seen.max(axis=0, initial=-np.inf)),
        )
    return low, high


def centred_blocks(X: np.ndarray, mean: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows with the mean taken off, in one small buffer that is used again."""
    buffer = np.empty((min(BLOCK, len(X)), X.shape[1]), dtype=X.dtype)
    for first in range(0, len(X), BLOCK):
        rows = slice(first, min(first + BLOCK, len(X)))
        yield rows, np.subtract(X[rows], mean, out=buffer[: rows.stop - rows.start])


def difference_scatter(
    X: np.ndarray, mean: np.ndarray, pairs: Pairs, weight: np.ndarray
) -> np.ndarray:
    """X' L X = sum over pairs of weight (x_low - x_high)(x_low - x_high)', L the graph's Laplacian."""
    degree = pairs.sum_at_low(weight) + pairs.sum_at_high(weight)
    return pair_scatter(X, mean, pairs, degree, -weight)


def pair_scatter(
    X: np.ndarray, mean: np.ndarray, pairs: Pairs, own: np.ndarray, cross: np.ndarray
) -> np.ndarray:
    """sum_i own_i z_i z_i' + sum_p cross_p (z_low z_high' + z_high z_low'), with z = x - mean.

    One multiplication per block of items: half of own_i z_i and all cross_p x_high are collected
    for each item first, and the result is the sum of their product with z and its transpose.
    """
    reach = pairs.sum_at_low(cross)
    half, uncentred = np.zeros((X.shape[1],) * 2), np.zeros(X.shape[1])
    for rows, centred in centred_blocks(X, mean):
        collected = neighbour_sums(X, pairs.start, pairs.high, cross, rows)
        collected += 0.5 * own[rows, None] * centred
        half += centred.T @ collected
        uncentred += reach[rows] @ centred
    half -= np.outer(uncentred, mean)  # the neighbours had not been centred
    return half + half.T


def neighbour_sums(
    X: np.ndarray, start: np.ndarray, neighbour: np.ndarray, values: np.ndarray, rows: slice
) -> np.ndarray:
    """For each item of a block, the sum of its neighbours' features times ``values``."""
    first, last = start[rows.start], start[rows.stop]
    entries = values[first:last].astype(X.dtype, copy=False)
    block = sparse.csr_array(
        (entries, neighbour[first:last], start[rows.start : rows.stop + 1] - first),
        shape=(rows.stop - rows.start, len(X)),
    )
    return block @ X
