"""Cross-validation of scikit-learn that holds out items, because a score is for items not yet
compared.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from pairscore.choices import TEST_PAIRS
from pairscore.data.comparisons import Comparisons
from pairscore.data.folds import assign_around_pairs, assign_folds, number_groups
from pairscore.display import plural
from pairscore.errors import CallError, PairscoreError
from pairscore.messages import Action, Piece, Setting


class ItemKFold(BaseCrossValidator):
    """K folds of items: test comparisons have both items held out, training ones neither.

    A splitter for scikit-learn, whose ``X`` are :class:`~pairscore.Comparisons`. Folds by
    comparisons would test on items that were also trained on, and so look too good for new items.
    Comparisons of a held-out item with another are in neither part; ``mixed_counts(X)`` says how
    many in each fold. With ``test="touch"`` they are tested too (new against known items).

    Where comparisons are few, a fold may have none to test or to train on. Then items are assigned
    at random once more, around one comparison for each fold.

    Parameters
    ----------
    n_splits : int
        Number of folds, from 2 to the number of compared items (or groups).
    shuffle : bool
        Assign items to folds at random (default) instead of in the order of the table.
    random_state : int
        Seed of that assignment.
    test : {"both", "touch"}
        Whether both items of a test comparison are held out, or at least one.
    item_groups : list or array with one label per item of the table, or dict from id to label
        Items that belong together (the answers on a topic, the images of a patient) and so are
        held out together. The largest groups are assigned first, each to the fold with the fewest
        items. Only compared items need a label. Unless given, they are those that the comparisons
        have themselves (:meth:`~pairscore.Comparisons.with_item_groups`).

    Examples
    --------
    >>> X, y = Comparisons.from_frames(np.eye(4), np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    >>> folds = ItemKFold(2, shuffle=False, item_groups=["a", "a", "b", "b"])
    >>> [(train.tolist(), test.tolist()) for train, test in folds.split(X)]
    [([2], [0]), ([0], [2])]
    >>> folds.mixed_counts(X)
    [2, 2]
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
        self.n_splits, self.shuffle, self.random_state = n_splits, shuffle, random_state
        self.test, self.item_groups = test, item_groups

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def group_of_item(self, X: Comparisons) -> np.ndarray:
        """Number of the group of every item of the table, -1 for an item in no comparison.

        Without groups each item is a group by itself. Shape (N,).
        """
        rows = np.flatnonzero(X.compared)
        group = np.full(len(X.items), -1)
        labels = X.item_groups if self.item_groups is None else self.item_groups
        alone = np.arange(len(rows))
        group[rows] = alone if labels is None else number_groups(labels, X.items, rows)
        return group

    def fold_of_item(self, X: Any) -> np.ndarray:
        """Number of the fold that holds out each item of the table, of shape (N,).

        It is -1 for an item in no comparison.
        """
        self._refuse_other(X)
        group = self.group_of_item(X)
        sizes = np.bincount(group[group >= 0])
        self._refuse_other_splits(sizes)
        rng, order = np.random.default_rng(self.random_state), np.arange(len(sizes))
        if self.shuffle:
            order = rng.permutation(len(sizes))
        fold, pairs = assign_folds(sizes, order, self.n_splits), group[[X.left, X.right]].T
        if self.shuffle and self._has_empty_part(*fold[pairs].T):
            pairs = np.unique(pairs[X.left != X.right], axis=0)
            again = assign_around_pairs(pairs, sizes, order, self.n_splits, rng)
            fold = fold if again is None else again
        return np.append(fold, -1)[group]  # the last entry is for group -1

    def _has_empty_part(self, left: np.ndarray, right: np.ndarray) -> bool:
        """Whether some fold has no test or no training comparison.

        ``left`` and ``right`` are the folds of the two items of every comparison.
        """
        both = np.bincount(left[left == right], minlength=self.n_splits)
        touched = sum(np.bincount(side, minlength=self.n_splits) for side in (left, right)) - both
        tested = both if self.test == "both" else touched
        return bool(np.any(tested == 0) or np.any(touched == len(left)))

    def _refuse_other(self, X: Any) -> None:
        if not isinstance(X, Comparisons):
            raise CallError(
                f"ItemKFold splits Comparisons, not {type(X).__name__}",
                "use what " + Action("Comparisons.from_frames") + " returns",
            )
        if self.test not in TEST_PAIRS:
            raise CallError(Setting("test") + f" is {self.test!r}", "use 'both' or 'touch'")

    def _refuse_other_splits(self, sizes: np.ndarray) -> None:
        """``sizes`` has the number of items of each group."""
        if isinstance(self.n_splits, int | np.integer) and 2 <= self.n_splits <= len(sizes):
            return
        many, noun = plural(int(sizes.sum()), "item"), "items"
        if len(sizes) < sizes.sum():
            many, noun = f"{many} in {plural(len(sizes), 'group')}", "groups"
        raise PairscoreError(
            Setting("n_splits") + f" is {self.n_splits!r}, and the comparisons are of {many}",
            f"use a whole number from 2 to the number of {noun}",
        )

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Row numbers of the training and of the test comparisons, fold by fold."""
        fold = self.fold_of_item(X)
        for number in range(self.n_splits):
            left, right = fold[X.left] == number, fold[X.right] == number
            train = np.flatnonzero(~left & ~right)
            test = np.flatnonzero(left & right if self.test == "both" else left | right)
            if len(train) == 0 or len(test) == 0:
                remedies: list[Piece] = ["use more folds"]
                if len(train) > 0:
                    remedies = ["use fewer folds", "use " + Setting("test", "touch")]
                if not self.shuffle:
                    remedies.insert(0, "use " + Setting("shuffle", True))
                empty = "training" if len(train) == 0 else "test"
                raise PairscoreError(
                    f"fold {number + 1} of {self.n_splits} has no {empty} comparison, because"
                    f" {int((left ^ right).sum())} of {plural(len(X), 'comparison')} mix held-out"
                    " and other items",
                    [*remedies, "use more comparisons"],
                )
            yield train, test

    def mixed_counts(self, X: Comparisons) -> list[int]:
        """For each fold, how many comparisons have one item held out and the other not."""
        fold = self.fold_of_item(X)
        left, right = fold[X.left], fold[X.right]
        return [int(np.sum((left == k) ^ (right == k))) for k in range(self.n_splits)]


def set_covariance_items(data: Comparisons) -> Comparisons:
    """The same comparisons, with the items behind the covariance of ``split`` named.

    Unless they are named already, these are the items in no comparison. Said before folds are
    made, it keeps held-out items, which are in no training comparison, from joining them.
    """
    return data if data.covariance_items is not None else data.with_covariance_items(~data.compared)
