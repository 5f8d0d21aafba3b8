"""Folds of items of nearly equal size; items of a group stay together.

Fitting uses this for its ridge, so nothing here imports scikit-learn.
"""

from heapq import heapreplace
from typing import Any

import numpy as np

from pairscore.data.items import Items
from pairscore.data.tables import is_hashable, is_missing
from pairscore.display import first_few, plural
from pairscore.errors import CallError, PairscoreError
from pairscore.messages import Setting

MOST_TRIES = 20  # to find comparisons without a common item, one for each fold


def assign_folds(sizes: np.ndarray, order: np.ndarray, n_folds: int) -> np.ndarray:
    """A fold for every group of items.

    The largest group comes first, those of one size in ``order``; each goes to the fold that has
    the fewest items so far.

    Parameters
    ----------
    sizes : ndarray of int of shape (number of groups,)
        Items in each group.
    order : ndarray of int of shape (number of groups,)
        Group numbers, such as a random permutation.
    n_folds
        Number of folds.

    Returns
    -------
    ndarray of int of shape (number of groups,)
        From 0 to ``n_folds - 1``.

    Examples
    --------
    >>> assign_folds(np.array([1, 4, 1, 2]), np.arange(4), 2).tolist()
    [1, 0, 1, 1]
    """
    fold_of_group = np.empty(len(sizes), dtype=int)
    # groups of one size go round and round, which the rule below would also do, but slowly
    if sizes.min() == sizes.max():
        fold_of_group[order] = np.arange(len(order)) % n_folds
        return fold_of_group
    folds = [(0, fold) for fold in range(n_folds)]  # a heap: the fold with the fewest items first
    for group in order[np.argsort(-sizes[order], kind="stable")].tolist():
        n_items, fold = folds[0]
        fold_of_group[group] = fold
        heapreplace(folds, (n_items + int(sizes[group]), fold))
    return fold_of_group


def number_groups(item_groups: Any, items: Items, rows: np.ndarray) -> list[int]:
    """The groups of some items as numbers from 0, in the order of first appearance.

    Parameters
    ----------
    item_groups : sequence with one label per item of the table, or dict from id to label
        Labels are text, numbers or anything else that can be a key, not all of one type. A column
        of a dataframe is taken by position, whatever its index.
    items : Items
        The whole table.
    rows : ndarray of int
        Rows of ``items`` to number; each needs a label.
    """
    labels = _labels(item_groups, items, rows)
    pairs = zip(rows, labels, strict=True)
    bad = [row for row, label in pairs if not is_hashable(label) or is_missing(label)]
    if bad:
        names = items.names
        raise PairscoreError(
            Setting("item_groups") + f" has no label for {plural(len(bad), 'compared item')}:"
            f" {first_few(repr(names[row]) for row in bad)}",
            "give each a text or a number as its group",
        )
    number: dict[Any, int] = {}
    return [number.setdefault(label, len(number)) for label in labels]


def _labels(item_groups: Any, items: Items, rows: np.ndarray) -> list[Any]:
    """Labels of some rows of the item table."""
    if isinstance(item_groups, dict):
        names = items.names
        return [item_groups.get(names[row]) for row in rows]
    if isinstance(item_groups, str) or not hasattr(item_groups, "__len__"):
        raise CallError(
            Setting("item_groups") + f" is {item_groups!r}",
            ["give one label for each item of the table", "give a dict from id to label"],
        )
    if len(item_groups) != len(items):
        count = plural(len(item_groups), "label")
        raise CallError(
            Setting("item_groups") + f" has {count} for {plural(len(items), 'item')}",
            ["give one for each item of the table", "give a dict from id to label"],
        )
    labels = list(item_groups)  # by position, whatever index a column of a dataframe has
    return [labels[row] for row in rows]


def assign_around_pairs(
    pairs: np.ndarray,
    sizes: np.ndarray,
    order: np.ndarray,
    n_folds: int,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """A fold for every group of items, so that each fold has a comparison of its own.

    Comparisons without a common group are taken one by one, at random; each gives its two groups
    to a fold. The other groups are assigned as always.

    Parameters
    ----------
    pairs : ndarray of int of shape (number of comparisons, 2)
        Groups of the items of every comparison.
    sizes, order, n_folds
        As in :func:`assign_folds`.

    Returns
    -------
    ndarray of int of shape (number of groups,), or None where no such comparisons are found
    """
    for _ in range(MOST_TRIES):
        taken: set[int] = set()
        apart: list[list[int]] = []
        for pair in rng.permutation(pairs).tolist():
            if len(apart) < n_folds and taken.isdisjoint(pair):
                apart.append(pair)
                taken.update(pair)
        if len(apart) == n_folds:
            fold = np.full(len(sizes), -1)
            fold[np.array(apart)] = np.arange(n_folds)[:, None]
            rest = order[fold[order] < 0]
            if len(rest):
                fold[rest] = assign_folds(sizes[rest], np.arange(len(rest)), n_folds)
            return fold
    return None
