"""Which items are in which rows: sums of rows per item, and per unordered pair of items."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

LARGEST_NUMBER = 2**63  # and more, that 64 bits do not hold


def item_incidence(left: np.ndarray, right: np.ndarray, n_items: int) -> sparse.csr_array:
    """The matrix (N x R) with 1 where an item is in a row, once also where it meets itself."""
    other = np.flatnonzero(left != right)
    rows = np.concatenate([np.arange(len(left)), other])
    items = np.concatenate([left, right[other]])
    return sparse.csr_array((np.ones(len(rows)), (items, rows)), shape=(n_items, len(left)))


def pair_incidence(left: np.ndarray, right: np.ndarray) -> sparse.csr_array:
    """The matrix (P x R) with 1 where an unordered pair of different items is in a row.

    Pairs are in the order of (low, high).
    """
    rows = np.flatnonzero(left != right)
    pair = pair_numbers(left[rows], right[rows])
    if np.any(np.diff(pair) < 0):
        order = np.argsort(pair, kind="stable")
        rows, pair = rows[order], pair[order]
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    entries = np.ones(len(rows)), rows, np.append(starts, len(rows))
    return sparse.csr_array(entries, shape=(len(starts), len(left)))


def pair_numbers(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A number for each unordered pair, in the order of (low, high)."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    n_items = int(high.max(initial=0)) + 1
    return joint_numbers((low, n_items), (high, n_items))


def joint_numbers(*columns: tuple[np.ndarray, int]) -> np.ndarray:
    """A number for each row (M), in the order of several columns of numbers from 0 to a size.

    ``columns`` are pairs of such an array (M) and its size. Where the product of sizes is too large
    for 64 bits, what was joined so far is numbered anew: by the rows that occur.
    """
    (first, size), *others = columns
    joint = first.astype(np.int64)
    for column, n in others:
        if size * n >= LARGEST_NUMBER:
            numbers, joint = np.unique(joint, return_inverse=True)
            size = len(numbers)
        joint = joint * n + column
        size *= n
    return joint


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """The two items of every row (R), or the groups that they belong to.

    ``one`` and ``other`` are (R,) numbers from 0; they may be equal where groups stand for items.
    """

    one: np.ndarray
    other: np.ndarray

    def sum_per_item(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum of values (R or R x e) over its rows.

        A row of an item with itself counts once. Items end with the last that is in a row.
        """
        return self._items @ values

    def sum_per_pair(self, values: np.ndarray) -> np.ndarray:
        """For every pair of different items, the sum of values (R or R x e) over its rows."""
        return self._pairs @ values

    @cached_property
    def _items(self) -> sparse.csr_array:
        size = max(self.one.max(initial=-1), self.other.max(initial=-1)) + 1
        return item_incidence(self.one, self.other, size)

    @cached_property
    def _pairs(self) -> sparse.csr_array:
        return pair_incidence(self.one, self.other)
