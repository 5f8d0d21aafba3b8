"""Folds of nearly equal size: the greedy rule against a loop, and labels of groups as numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore import PairscoreError
from pairscore.data.folds import assign_folds, number_groups
from pairscore.data.items import read_items

ITEMS = read_items({"id": ["a", "b", "c", "d"], "mass": [1.0, 2.0, 3.0, 4.0]})


def greedy(sizes, order, n_folds):
    """The largest group first, those of one size in order, each where the fewest items are."""
    fold_of_group, filled = {}, [0] * n_folds
    for group in sorted(order, key=lambda group: -sizes[group]):
        fold_of_group[group] = filled.index(min(filled))
        filled[fold_of_group[group]] += sizes[group]
    return [fold_of_group[group] for group in range(len(sizes))]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30), st.integers(1, 6), st.randoms())
def test_folds_are_those_of_the_greedy_rule(sizes, n_folds, random):
    order = list(range(len(sizes)))
    random.shuffle(order)
    folds = assign_folds(np.array(sizes), np.array(order), n_folds)
    assert folds.tolist() == greedy(sizes, order, n_folds)


def test_groups_are_numbered_in_the_order_of_first_appearance():
    rows = np.array([3, 0, 2, 1])
    assert number_groups(["x", 5, "x", ("y",)], ITEMS, rows) == [0, 1, 1, 2]
    by_id = {"a": "x", "b": 5, "c": "x", "d": ("y",), "e": "unknown"}
    assert number_groups(by_id, ITEMS, rows) == [0, 1, 1, 2]
    assert number_groups({"d": 1, "a": 2}, ITEMS, rows[:2]) == [0, 1]


@pytest.mark.parametrize(
    ("item_groups", "sentence"),
    [
        ("x", "item_groups is 'x'; give one label for each item of the table, or give a dict"),
        (["x"], "item_groups has 1 label for 4 items; give one for each item"),
        ({"a": 1, "b": 2}, "item_groups has no label for 2 compared items: 'c', 'd'; give each"),
        ([1, np.nan, None, []], "item_groups has no label for 3 compared items: 'b', 'c', 'd'"),
    ],
)
def test_labels_that_do_not_fit_are_refused(item_groups, sentence):
    with pytest.raises(PairscoreError, match=sentence):
        number_groups(item_groups, ITEMS, np.arange(4))


def test_folds_load_no_scikit_learn():
    from tests.test_package import heavy_modules_after

    assert "sklearn" not in heavy_modules_after("import pairscore.data.folds")
