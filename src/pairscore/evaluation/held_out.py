"""Held-out comparisons: which are set aside, which models may be tested on them, and their rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from pairscore.core.incidence import pair_numbers
from pairscore.data.comparisons import Comparisons


@dataclass(frozen=True, eq=False)
class HeldOutComparisons:
    """The comparisons on which models are tested, of all folds together.

    Attributes
    ----------
    left, right : (M,) int
        Numbers of the two items.
    outcome : (M,)
        1 where left won, -1 where right won, 0 for a tie.
    amount : (M,) float
        How much a comparison counts: its weight times its count.
    count : (M,) float
        How many equal and independent comparisons a row stands for.
    fold : (M,) int
        The fold whose models predict it. A comparison may be tested in two folds.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    count: np.ndarray
    fold: np.ndarray

    @classmethod
    def of(cls, data: Comparisons, fold: np.ndarray) -> "HeldOutComparisons":
        """All of these comparisons, each with the fold (M) that tests it."""
        count = np.ones(len(data)) if data.count is None else data.count
        return cls(data.left, data.right, data.outcome, data.amount, count, fold)

    @cached_property
    def left_share(self) -> np.ndarray:
        """s: the share of the win that left had."""
        return (1 + self.outcome) / 2

    @cached_property
    def decided(self) -> np.ndarray:
        """How much each comparison counts among those that are no ties."""
        return np.where(self.outcome != 0, self.amount, 0.0)

    @cached_property
    def pair(self) -> np.ndarray:
        """A number for each unordered pair of items."""
        return pair_numbers(self.left, self.right)

    @cached_property
    def pairs_in_folds(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs, once for each fold that tests them: first row of each, and number of each row."""
        key = self.fold * (self.pair.max(initial=0) + 1) + self.pair
        return np.unique(key, return_index=True, return_inverse=True)[1:]


def assign_pairs(data: Comparisons, n_parts: int, rng: np.random.Generator) -> np.ndarray:
    """A part for every comparison, the same for all of a pair: one answer tells the others."""
    pairs, pair = np.unique(data.pair, return_inverse=True)
    return (rng.permutation(len(pairs)) % n_parts)[pair]


def linking(data: Comparisons, aside: np.ndarray) -> np.ndarray:
    """Comparisons of the mask ``aside`` (M) without which items would lose their link to others.

    Abilities have a common scale only where comparisons link the items. Of a spanning tree that has
    as few of the pairs that are set aside as possible, it is those; decided ones come first, since
    ties may be left out.
    """
    pairs, first, pair = np.unique(data.pair, return_index=True, return_inverse=True)
    n = len(data.items)
    low, high = (end.astype(np.int32) for end in np.divmod(pairs, n))  # SciPy 1.16 takes no others
    decided = np.bincount(pair, data.outcome != 0, len(pairs)) > 0
    cost = np.where(low != high, 1.0 + 2 * aside[first] + ~decided, 0.0)
    tree = minimum_spanning_tree(sparse.csr_array((cost, (low, high)), shape=(n, n))).tocoo()
    return aside & np.isin(data.pair, tree.row.astype(np.int64) * n + tree.col)


def split_comparisons(
    data: Comparisons, held_out: np.ndarray, aside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, test rows, and how many items of each test row are new.

    ``held_out`` marks items, ``aside`` comparisons. An item against itself tests nothing.
    """
    left, right = held_out[data.left], held_out[data.right]
    train = ~left & ~right & ~aside
    known = data[train].compared
    testable = (left | known[data.left]) & (right | known[data.right]) & (data.left != data.right)
    test = ~train & testable
    return np.flatnonzero(train), np.flatnonzero(test), (left.astype(int) + right)[test]
