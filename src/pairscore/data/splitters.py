"""Cross-validation that holds out items, because a score is for items not yet compared."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from pairscore.data.comparisons import Comparisons
from pairscore.data.folds import assign_folds, numbered_groups
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
    item_groups : list or array with one label per item of the table, or dict from id to label
        Items that belong together (the answers on a topic, the images of a patient) and so are held
        out together. The largest groups are assign_folds first, each to the fold with the fewest items.
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: int = 0,
        test: str = "both",
        item_groups: Any = None,
    ):
        self.n_splits, self.shuffle, self.random_state, self.test = (
            n_splits,
            shuffle,
            random_state,
            test,
        )
        self.item_groups = item_groups

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def group_of_item(self, X: Comparisons) -> np.ndarray:
        """Number of the group of every item of the table, -1 for an item in no comparison.

        Without groups each item is its own.
        """
        rows = np.flatnonzero(X.compared)
        group = np.full(len(X.items), -1)
        group[rows] = (
            np.arange(len(rows))
            if self.item_groups is None
            else numbered_groups(self.item_groups, X.items, rows)
        )
        return group

    def fold_of_item(self, X: Any) -> np.ndarray:
        """Number of the fold that holds out each item of the table, -1 for an item in no
        comparison.
        """
        if not isinstance(X, Comparisons):
            raise PairscoreError(
                f"ItemKFold splits Comparisons, not {type(X).__name__}; use X, y ="
                " Comparisons.from_frames(items, votes)."
            )
        if self.test not in ("both", "touch"):
            raise PairscoreError(f"test is {self.test!r}; use 'both' or 'touch'.")
        group = self.group_of_item(X)
        sizes = np.bincount(group[group >= 0])
        if not isinstance(self.n_splits, int | np.integer) or not 2 <= self.n_splits <= len(sizes):
            many, noun = plural(int(sizes.sum()), "item"), "items"
            if self.item_groups is not None:
                many, noun = f"{many} in {plural(len(sizes), 'group')}", "groups"
            raise PairscoreError(
                f"n_splits is {self.n_splits!r}, and the comparisons are of {many}; use a whole"
                f" number from 2 to the number of {noun}."
            )
        order = (
            np.random.default_rng(self.random_state).permutation(len(sizes))
            if self.shuffle
            else np.arange(len(sizes))
        )
        # the last one is for group -1
        fold_of_group = np.append(assign_folds(sizes, order, self.n_splits), -1)
        return fold_of_group[group]

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers of the training and the test comparisons, fold by fold."""
        fold = self.fold_of_item(X)
        for number in range(self.n_splits):
            left, right = fold[X.left] == number, fold[X.right] == number
            train, test = (
                np.flatnonzero(~left & ~right),
                np.flatnonzero(left & right if self.test == "both" else left | right),
            )
            if len(train) == 0 or len(test) == 0:
                empty, remedy = (
                    ("training", "more folds")
                    if len(train) == 0
                    else ("test", "fewer folds, test='touch'")
                )
                raise PairscoreError(
                    f"fold {number} of {self.n_splits} has no {empty} comparison, because"
                    f" {int((left ^ right).sum())} of {plural(len(X), 'comparison')} mix held-out"
                    f" and other items; use {remedy} or more comparisons."
                )
            yield train, test

    def mixed_counts(self, X: Comparisons) -> list[int]:
        """For each fold, how many comparisons have one item held out and the other not."""
        fold = self.fold_of_item(X)
        return [
            int(np.sum((fold[X.left] == number) ^ (fold[X.right] == number)))
            for number in range(self.n_splits)
        ]


def with_second_half(data: Comparisons) -> Comparisons:
    """The items of no comparison are named as those behind the covariance of `split`, so that
    held-out items never join them.
    """
    return data if data.covariance_items is not None else data.with_covariance_items(~data.compared)
