"""The sums of one fit, against explicit differences."""

import numpy as np
import pandas as pd
import pytest

from pairscore import Comparisons, PairscoreWarning, RankRegression
from pairscore.core.links import get_link
from pairscore.estimators.fit_data import FitData, bordered_scatter, leverage_whitener
from pairscore.estimators.null_space import never_differing
from pairscore.estimators.penalty import WEAK_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.settings import Settings
from tests.laws import GaussianStudy

POOLED = Settings("pooled", get_link("logit"))


def make_data(keep_sides=False, **options):
    X, votes = GaussianStudy(40, 300, 3).draw(np.random.default_rng(0))
    swap = np.random.default_rng(1).random(len(votes)) < 0.5
    left, right = np.where(swap[:, None], votes[:, ::-1], votes).T
    frame = pd.DataFrame({"left": left, "right": right, "winner": np.where(swap, "right", "left")})
    frame["weight"] = np.random.default_rng(2).uniform(0.5, 2, len(frame))
    return FitData(Comparisons.from_frames(X, frame, **options)[0], keep_sides)


def test_the_sum_of_labels_is_that_of_eq_3():
    data = make_data()
    votes = data.comparisons
    D = data.X[votes.left] - data.X[votes.right]
    np.testing.assert_allclose(data.label_sum, (data.amount * votes.outcome) @ D)
    assert data.n_items == len(np.unique([votes.left, votes.right]))
    assert data.weight_unit == pytest.approx(np.sum(votes.weight**2) / votes.weight.sum())


@pytest.mark.parametrize("keep_sides", [False, True])
def test_the_bordered_scatter_is_that_of_explicit_differences(keep_sides):
    data = make_data(keep_sides)
    votes = data.comparisons
    D = data.X[votes.left] - data.X[votes.right]
    D = np.column_stack([D, np.ones(len(D))]) if keep_sides else D
    found = bordered_scatter(data, data.pairs.win + data.pairs.lose)
    np.testing.assert_allclose(found, (D * data.amount[:, None]).T @ D, rtol=1e-9, atol=1e-9)


def test_the_second_half_is_named_or_never_compared():
    never = make_data()
    assert np.shares_memory(never.second_half, never.X)
    np.testing.assert_array_equal(never.second_half, never.X[~never.comparisons.compared])
    rows = np.array([1, 5, 7, 60])
    np.testing.assert_array_equal(make_data(covariance_items=rows).second_half, never.X[rows])


def test_a_ridge_means_the_same_to_a_closed_form_as_to_a_newton_step_of_the_likelihood():
    data, link, l2 = make_data(), get_link("probit"), 7.0
    sd, slope = data.item_moments.sd, float(link.pdf(0.0))
    votes = data.comparisons
    D = data.X[votes.left] - data.X[votes.right]
    G = (D * data.amount[:, None]).T @ D
    newton = np.linalg.solve(4 * slope**2 * G + np.diag(l2 * sd**2), 2 * slope * data.label_sum)
    closed = np.linalg.solve(G + np.diag(ridge_penalty(l2, sd, slope)), 2 * data.label_sum)
    np.testing.assert_allclose(newton, closed / (4 * slope), rtol=1e-9)


def test_the_leverage_of_items_sums_to_the_number_of_features():
    data = make_data()
    Z = data.X - data.item_moments.mean
    for l2, total in ((0.0, 3.0), (1e9, 0.0)):
        W = leverage_whitener(data, Settings("mle", get_link("logit"), l2=l2))
        leverage = data.tally.exposures * np.sum((Z @ W) ** 2, axis=1)
        assert leverage.sum() == pytest.approx(total, abs=1e-3)


def test_the_unit_of_weights_decides_what_is_a_weak_ridge():
    data = make_data()
    for factor, weak in ((0.99, True), (1.01, False)):
        l2 = factor * WEAK_L2 * data.weight_unit
        assert ridge_is_weak(l2, data.weight_unit) == weak


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
    data = FitData(Comparisons(X, left[met], right[met], rng.choice([-1, 1], met.sum())), False)
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
    data = FitData(Comparisons(X, left, right, outcome), False)
    assert never_differing(data, POOLED).shape == (3, 1)
    right[4321] = (left[4321] + 50) % 100  # the only one across
    data = FitData(Comparisons(X, left, right, outcome), False)
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
