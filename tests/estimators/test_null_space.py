"""Directions in which no two items that met differ, against explicit differences."""

import numpy as np
import pytest

from pairscore import Comparisons, PairscoreWarning, RankRegression
from pairscore.core.links import get_link
from pairscore.estimators.null_space import never_differing, null_directions, open_in_few
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from tests.hard_designs import NAMES, draw

POOLED = Settings("pooled", get_link("logit"))


def open_in_differences(X, left, right):
    """The naive twin: of all directions in which items differ, those without a difference."""
    Z = X - X.mean(axis=0)
    Z, sd = Z / Z.std(axis=0), Z.std(axis=0)
    size, axes = np.linalg.svd(Z, full_matrices=False)[1:]
    W = axes[size > 1e-8].T / size[size > 1e-8]
    D = (Z[left] - Z[right]) @ W
    size, axes = np.linalg.svd(D)[1:]
    return W @ axes[size < 1e-8].T / sd[:, None]


@pytest.mark.parametrize("seed", range(20))
def test_what_never_differs_is_found_among_features_that_are_mixed_and_far_from_zero(seed):
    """Groups of items that meet, told apart by two features; then all features are mixed."""
    rng = np.random.default_rng(seed)
    n, d = 60, rng.integers(4, 9)
    group = np.repeat(np.arange(12), 5)
    X = rng.normal(size=(n, d))
    X[:, :2] = rng.normal(size=(12, 2))[group]
    X[:, -1] = X[:, 2] - X[:, 3]  # repeats others in all items, and makes no groups
    X = X @ rng.normal(size=(d, d)) * 10.0 ** rng.integers(-3, 4, d) + 1000
    left = rng.integers(0, n, 2000)
    right = 5 * group[left] + rng.integers(0, 5, 2000)
    met = left != right
    data = TableData(Comparisons(X, left[met], right[met], rng.choice([-1, 1], met.sum())), False)
    found, twin = never_differing(data, POOLED), open_in_differences(X, left, right)
    assert found.shape == twin.shape == (d, 2)
    places = [(X - X.mean(axis=0)) @ directions for directions in (found, twin)]
    both = np.hstack([place / np.linalg.norm(place, axis=0) for place in places])
    assert np.linalg.svd(both)[1][2] < 1e-6  # the two have the same places of items


def test_a_difference_in_one_comparison_of_thousands_is_a_difference():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 50)
    X = np.column_stack([rng.normal(size=100), rng.normal(size=100), 1e3 * group])
    X[:, 2] += X[:, 0]
    left = rng.integers(0, 100, 5000)
    right = 50 * group[left] + (left % 50 + rng.integers(1, 50, 5000)) % 50
    outcome = rng.choice([-1, 1], 5000)
    data = TableData(Comparisons(X, left, right, outcome), False)
    assert never_differing(data, POOLED).shape == (3, 1)
    right[4321] = (left[4321] + 50) % 100  # the only one across
    data = TableData(Comparisons(X, left, right, outcome), False)
    assert never_differing(data, POOLED).size == 0


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-5])
def test_a_combination_that_never_differs_is_seen_in_any_unit(scale):
    """One item alone has a feature that a few comparisons do not show."""
    rng, n, m = np.random.default_rng(0), 2000, 20_000
    group, alone, x = np.arange(n) % 2, np.arange(n) == 7, rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + 2 * rng.integers(1, n // 2, m)) % n  # never across groups
    won = rng.random(m) < 1 / (1 + np.exp(x[right] - x[left]))
    votes = np.where(won, (left, right), (right, left)).T
    X = np.column_stack([x, scale * alone, scale * (group - alone)])
    with pytest.warns(PairscoreWarning, match="no two items that met differ in some combination"):
        model = RankRegression("pooled").fit(X, votes)
    assert np.isnan(model.std_errors_).tolist() == [False, True, True]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_hard_designs_have_the_null_space_of_explicit_differences(name, seed):
    drawn = draw(name, np.random.default_rng(seed), 20, 60, 3)
    data = TableData(Comparisons(drawn.X, drawn.left, drawn.right, drawn.outcome), False)
    D = drawn.X[drawn.left] - drawn.X[drawn.right]
    is_open = np.linalg.svd(D / drawn.X.std(axis=0).clip(1e-9))[1] < 1e-9
    found = never_differing(data, POOLED)
    assert found.shape[1] == np.count_nonzero(is_open)
    assert np.abs(D @ found).max(initial=0.0) < 1e-9


@pytest.mark.parametrize("spread", [1.0, 1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_a_combination_in_which_items_vary_little_is_seen(spread, offset):
    """Two features that nearly repeat each other, but for that of a group that never meets another.

    The rival, by the scatter of features, has lost its digits.
    """
    rng, n = np.random.default_rng(0), 200
    group, x = np.repeat(rng.normal(size=20), 10), rng.normal(size=n)
    X = np.column_stack([x, x + spread * group, rng.normal(size=n)]) + offset
    left = rng.integers(0, n, 2000)
    right = left // 10 * 10 + (left % 10 + rng.integers(1, 10, 2000)) % 10
    votes = Comparisons(X, left, right, rng.choice([-1, 1], 2000))
    data = TableData(votes, False)
    found = never_differing(data, POOLED)
    assert found.shape == (3, 1)
    places = X @ found[:, 0]
    size = np.std(places)
    assert np.abs(places[left] - places[right]).max() < 1e-6 * size
    if spread <= 1e-2 and offset:
        covariance = data.item_moments.covariance
        scatter = data.counts.scatter / data.tally.n_comparisons
        few = open_in_few(data, np.arange(3))
        assert not null_directions(few, covariance, lambda W: W.T @ scatter @ W).size


def test_of_two_features_that_few_comparisons_show_a_combination_may_never_differ():
    """As where a sample does not show either: single features first, then what is left of them."""
    rng, n = np.random.default_rng(0), 100
    group, alone = (np.arange(n) % 2).astype(float), (np.arange(n) == 8).astype(float)
    constant = np.repeat([1.0, 5.0], n // 2)
    X = np.column_stack([rng.normal(size=n), 1e-3 * alone, 1e3 * (group - alone), constant])
    left = rng.integers(0, n, 3000)
    right = (left + 2 * rng.integers(1, n // 4, 3000)) % n  # of the same group
    met = (left != right) & (constant[left] == constant[right])
    left, right = left[met], right[met]
    assert np.any((left == 8) | (right == 8))
    data = TableData(Comparisons(X, left, right, np.ones(len(left), dtype=int)), False)
    D = X[left] - X[right]

    def squares(along):
        return (D @ along).T @ (D @ along) / len(D)

    found = null_directions(np.eye(4)[:, 1:], data.item_moments.covariance, squares)
    assert found.shape == (4, 2)
    np.testing.assert_array_equal(found[:, 0], np.eye(4)[3])
    np.testing.assert_allclose(D @ found, 0.0, atol=1e-9)
    np.testing.assert_allclose(found[1, 1] * 1e-3, found[2, 1] * 1e3, rtol=1e-9)
    assert found[3, 1] == 0.0


@pytest.mark.parametrize("method", ["mle", "paired"])
def test_what_leaves_a_direction_open_looks_for_none(method):
    drawn = draw("matched", np.random.default_rng(0), 20, 60, 3)
    data = TableData(Comparisons(drawn.X, drawn.left, drawn.right, drawn.outcome), False)
    assert never_differing(data, Settings(method, get_link("logit"))).shape == (3, 0)
    assert never_differing(data, Settings(method, get_link("logit"), l2=1.0)).shape == (3, 1)
