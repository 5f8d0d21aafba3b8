"""Sums per item and per pair are those of loops over rows."""

import numpy as np
import pytest

from pairscore.core.incidence import ItemPairs, joint_numbers, pair_numbers


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("shape", [(60,), (60, 3)])
def test_sums_per_item_and_pair_are_those_of_loops(shape, is_sorted):
    """Item 0 is in half of the rows, some rows have one item twice, and item 4 is in none."""
    rng = np.random.default_rng(3)
    one, other = rng.choice([0, 1, 2, 3, 5, 6], (2, 60))
    one[:30] = 0
    if is_sorted:
        order = np.lexsort((np.maximum(one, other), np.minimum(one, other)))
        one, other = one[order], other[order]
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, 60).reshape(
        -1, *[1] * len(shape[1:])
    )
    ends = [tuple(sorted(pair)) for pair in zip(one.tolist(), other.tolist(), strict=True)]
    pairs = ItemPairs(one, other)
    items = [sum(v for v, pair in zip(values, ends, strict=True) if i in pair) for i in range(7)]
    for found, expected in zip(pairs.sum_per_item(values), items, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    met = sorted({pair for pair in ends if pair[0] != pair[1]})
    sums = [sum(v for v, pair in zip(values, ends, strict=True) if pair == p) for p in met]
    np.testing.assert_allclose(pairs.sum_per_pair(values), sums, atol=1e-9)


def test_without_two_different_items_there_is_no_pair():
    pairs = ItemPairs(np.array([2, 1]), np.array([2, 1]))
    assert pairs.sum_per_pair(np.ones(2)).shape == (0,)
    assert pairs.sum_per_item(np.ones(2)).tolist() == [0, 1, 1]
    assert ItemPairs(np.zeros(0, int), np.zeros(0, int)).sum_per_pair(np.ones((0, 2))).shape == (
        0,
        2,
    )


def test_pairs_have_one_number_whichever_item_comes_first():
    one, other = np.array([3, 1, 0, 1], np.int32), np.array([1, 3, 2, 1], np.int32)
    number = pair_numbers(one, other)
    assert number[0] == number[1]
    assert np.argsort(number, kind="stable").tolist() == [2, 3, 0, 1]


def test_numbers_of_pairs_do_not_overflow_32_bits():
    one, other = np.array([3_000_000, 2_999_999]), np.array([2_999_998, 3_000_000])
    assert (
        pair_numbers(one.astype(np.int32), other.astype(np.int32))[0]
        == 2_999_998 * 3_000_001 + 3_000_000
    )


@pytest.mark.parametrize("size", [10, 2**21, 2**40])
def test_joint_numbers_keep_the_order_of_columns_of_any_size(size):
    rng = np.random.default_rng(3)
    columns = [size - 1 - rng.integers(0, 4, 200) for _ in range(4)]
    joint = joint_numbers(*((column, size) for column in columns))
    expected = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(np.unique(joint, return_inverse=True)[1], expected)
