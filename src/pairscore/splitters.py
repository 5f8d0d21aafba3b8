"""Cross-validation that holds out items, because a score is for items not yet compared."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from pairscore.comparisons import Comparisons
from pairscore.errors import PairscoreError, plural


class ItemKFold(BaseCrossValidator):
    """K folds of items: test comparisons have both items held out, training ones neither.

    Comparisons of a held-out item with another are in neither part; how many in each fold is in
    ``mixed_counts(X)``. With ``test="touch"`` they are tested too (new against known items).

    Parameters
    ----------
    n_splits : int
        Number of folds.
    shuffle : bool
        Deal the items at random (default) instead of in the order of the table.
    random_state : int
        Seed of the deal.
    test : {"both", "touch"}
        Whether both items of a test comparison are held out, or at least one.
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: int = 0, test: str = "both"):
        self.n_splits, self.shuffle, self.random_state, self.test = n_splits, shuffle, random_state, test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def _fold_of_item(self, X: Any) -> np.ndarray:
        if not isinstance(X, Comparisons):
            raise PairscoreError(f"ItemKFold splits Comparisons, not {type(X).__name__}; use X, y = Comparisons.from_frames(items, votes).")
        if self.test not in ("both", "touch"):
            raise PairscoreError(f"test is {self.test!r}; use 'both' or 'touch'.")
        rows = np.flatnonzero(X.compared)
        if not isinstance(self.n_splits, int | np.integer) or not 2 <= self.n_splits <= len(rows):
            raise PairscoreError(
                f"n_splits is {self.n_splits!r}, and the comparisons are of {plural(len(rows), 'item')}; use a whole number from 2 to the number of items."
            )
        if self.shuffle:
            rows = np.random.default_rng(self.random_state).permutation(rows)
        fold = np.full(len(X.items), -1)
        fold[rows] = np.arange(len(rows)) % self.n_splits
        return fold

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers of the training and the test comparisons, fold by fold."""
        fold = self._fold_of_item(X)
        for number in range(self.n_splits):
            left, right = fold[X.left] == number, fold[X.right] == number
            train, test = np.flatnonzero(~left & ~right), np.flatnonzero(left & right if self.test == "both" else left | right)
            if len(train) == 0 or len(test) == 0:
                empty, remedy = ("training", "more folds") if len(train) == 0 else ("test", "fewer folds, test='touch'")
                raise PairscoreError(
                    f"fold {number} of {self.n_splits} has no {empty} comparison, because {int((left ^ right).sum())} of {plural(len(X), 'comparison')} "
                    f"mix held-out and other items; use {remedy} or more comparisons."
                )
            yield train, test

    def mixed_counts(self, X: Comparisons) -> list[int]:
        """For each fold, how many comparisons have one item held out and the other not."""
        fold = self._fold_of_item(X)
        return [int(np.sum((fold[X.left] == number) ^ (fold[X.right] == number))) for number in range(self.n_splits)]
