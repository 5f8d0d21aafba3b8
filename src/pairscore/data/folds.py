"""Dealing items into folds of nearly equal size, groups of items together."""

from heapq import heapreplace
from typing import Any

import numpy as np

from pairscore.data.items import Items, is_hashable, is_missing
from pairscore.errors import PairscoreError, first_few, plural


def assign_folds(sizes: np.ndarray, order: np.ndarray, n_folds: int) -> np.ndarray:
    """A fold for every group.

    The largest first, those of one size in ``order``, each to the fold with the fewest items so
    far.

    >>> assign_folds(np.array([1, 4, 1, 2]), np.arange(4), 2).tolist()
    [1, 0, 1, 1]
    """
    fold_of_group = np.empty(len(sizes), dtype=int)
    # round and round, which the rule below would also do, one group at a time
    if sizes.min() == sizes.max():
        fold_of_group[order] = np.arange(len(order)) % n_folds
        return fold_of_group
    # a heap: the fold with the fewest items stands first
    folds = [(0, fold) for fold in range(n_folds)]
    for group in order[np.argsort(-sizes[order], kind="stable")].tolist():
        filled, fold = folds[0]
        fold_of_group[group] = fold
        heapreplace(folds, (filled + int(sizes[group]), fold))
    return fold_of_group


def numbered_groups(item_groups: Any, items: Items, rows: np.ndarray) -> list[int]:
    """The group of some rows of the item table as a number, in the order of first appearance.

    Labels need not be of one kind, so they are not sorted.
    """
    number: dict[Any, int] = {}
    return [number.setdefault(label, len(number)) for label in _labels(item_groups, items, rows)]


def _labels(item_groups: Any, items: Items, rows: np.ndarray) -> list[Any]:
    """Labels of some rows of the item table, none of them missing."""
    names = items.names
    if isinstance(item_groups, dict):
        labels = [item_groups.get(names[row]) for row in rows]
    elif isinstance(item_groups, str) or not hasattr(item_groups, "__len__"):
        raise PairscoreError(
            f"item_groups is {item_groups!r}; give one label for each item of the table, or a dict"
            " from id to label."
        )
    elif len(item_groups) != len(items):
        count = plural(len(item_groups), "label")
        raise PairscoreError(
            f"item_groups has {count} for {plural(len(items), 'item')}; give one for each item of"
            " the table, or a dict from id to label."
        )
    else:
        given = list(item_groups)  # by position, whatever index a column of a dataframe has
        labels = [given[row] for row in rows]
    odd = [
        names[row]
        for row, label in zip(rows, labels, strict=True)
        if not is_hashable(label) or is_missing(label)
    ]
    if odd:
        raise PairscoreError(
            f"item_groups has no label for {plural(len(odd), 'compared item')}:"
            f" {first_few(map(repr, odd))}; give each a text or a number as its group."
        )
    return labels
