"""Intervals of shares where comparisons share items, against loops and known cases."""

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from pairscore.core.comparison_means import share_interval, weighted_mean, wilson_interval
from pairscore.core.incidence import ItemPairs


def interval_of(right, left, other, weight=None):
    weight = np.ones(len(right)) if weight is None else weight
    mean = weighted_mean(np.asarray(right, float), weight, np.ones(len(right)))
    return share_interval(mean, ItemPairs(np.asarray(left), np.asarray(other)))


def few_items(n_items):
    return (norm.ppf(0.975) / student.ppf(0.975, n_items - 1)) ** 2


def test_comparisons_without_a_common_item_are_worth_their_number():
    right = np.repeat([1.0, 0.0], [60, 40])
    found = interval_of(right, np.arange(100), 100 + np.arange(100))
    # each item has a hundredth of all, and leaving it out moves the share by so much more
    assert found.effective == pytest.approx(100 * few_items(200) / (2 / 0.99**2 - 1))
    assert (found.low, found.high) == pytest.approx(wilson_interval(0.6, found.effective))


def test_comparisons_that_go_by_one_item_are_worth_the_items():
    """Every item is right in all its comparisons, or wrong in all of them."""
    rng = np.random.default_rng(0)
    good = rng.random(40) < 0.5
    left = np.repeat(np.arange(40), 25)
    found = interval_of(good[left], left, 40 + rng.integers(0, 400, 1000))
    assert found.effective < 60


def test_where_all_are_right_comparisons_are_worth_half_of_the_items():
    rng = np.random.default_rng(0)
    left = rng.integers(0, 30, 500)
    found = interval_of(np.ones(500), left, (left + rng.integers(1, 30, 500)) % 30)
    assert found.effective == pytest.approx(15 * few_items(30))
    assert not found.is_enough
    assert found.high == pytest.approx(1)
    assert 0.7 < found.low < 0.85


@pytest.mark.parametrize("right", [[1.0], [0.0], [1.0, 0.0]])
def test_one_or_two_comparisons_leave_almost_everything_possible(right):
    found = interval_of(right, np.arange(len(right)), 10 + np.arange(len(right)))
    assert found.effective <= len(right)
    assert found.high - found.low > 0.75


def test_an_unequal_weight_counts_less():
    right, weight = np.repeat([1.0, 0.0], [60, 40]), np.repeat([10.0, 1.0], [10, 90])
    found = interval_of(right, np.arange(100), 100 + np.arange(100), weight)
    assert found.effective < weight.sum() ** 2 / (weight @ weight)
