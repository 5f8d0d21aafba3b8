"""Comparisons summed per unordered pair: the graph on which the likelihood and the intervals live."""

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
        """The same pairs sorted by their high item: where each item's begin, their low items, their numbers."""
        flipped = _filled(self._pattern[1], np.arange(len(self.high))).tocsr()
        return flipped.indptr, flipped.indices, flipped.data

    @cached_property
    def _pattern(self) -> tuple[sparse.csr_array, sparse.csc_array]:
        """The items-by-items matrix with an entry at every (low, high), and its transpose."""
        matrix = sparse.csr_array((self.win[0], self.high, self.start), shape=(self.n_items, self.n_items))
        return matrix, matrix.T


def over_sides(values: np.ndarray) -> np.ndarray:
    """Sum over the sides (rows); with one row there is nothing to sum or copy."""
    return values[0] if len(values) == 1 else values.sum(axis=0)


def _filled(pattern: sparse.sparray, values: np.ndarray) -> sparse.sparray:
    """A sparse matrix with new entries; a copy of the shell, because building one costs more than a small product."""
    filled = copy(pattern)
    filled.data = values
    return filled


def pair_up(left: np.ndarray, right: np.ndarray, outcome: np.ndarray, amount: np.ndarray, n_items: int, keep_sides: bool = False) -> Pairs:
    """Sum comparisons per unordered pair. An item against itself tells nothing about scores and is left out."""
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
    """The pairs without who won, every comparison as a win of low: all that their scatter needs, in less memory."""
    apart = left != right
    if not apart.all():
        left, right, amount = left[apart], right[apart], amount[apart]
    table = _sum_per_pair(left, right, amount, n_items)
    return Pairs(table.indptr, table.indices, table.data[None], np.broadcast_to(0.0, (1, table.nnz)), np.zeros(1))


def _sum_per_pair(left: np.ndarray, right: np.ndarray, values: np.ndarray, n_items: int) -> sparse.csr_array:
    """Values of comparisons summed at (low, high), a sparse upper triangle."""
    index = np.int32 if n_items < 2**31 else np.int64
    low, high = np.minimum(left, right, dtype=index, casting="same_kind"), np.maximum(left, right, dtype=index, casting="same_kind")
    table = sparse.coo_array((values, (low, high)), shape=(n_items, n_items)).tocsr()
    table.indptr, table.indices = table.indptr.astype(index, copy=False), table.indices.astype(index, copy=False)
    return table
