"""Sums over the rows of an item table against NumPy."""

import numpy as np
import pytest

from pairscore.core.moments import Moments, moments
from pairscore.core.whitening import whitening_basis
from pairscore.estimators.item_table import (
    LARGEST_LEVERAGE,
    FeatureRange,
    ItemTable,
    PerItem,
    SecondHalfSums,
)

N, D = 200, 4


def table_of(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + np.arange(D)
    if kind == "far":
        X = X * [1e-3, 1.0, 1e3, 1.0] + 1e5
    elif kind == "nearly collinear":
        X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    return X, rng.integers(0, 5, N).astype(float)


KINDS = ["plain", "far", "nearly collinear"]


@pytest.mark.parametrize("kind", KINDS)
def test_products_and_moments_are_numpys(kind):
    X, k = table_of(kind)
    table, coef = ItemTable(X), np.array([1.0, -0.5, 0.25, 2.0])
    np.testing.assert_allclose(table.times(coef), X @ coef, rtol=1e-12)
    np.testing.assert_allclose(table.total(k), X.T @ k, rtol=1e-12)
    found = table.moments(k)
    mean = np.average(X, axis=0, weights=k)
    assert found.total == k.sum()
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    scatter = ((X - mean) * k[:, None]).T @ (X - mean)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-7, atol=1e-9 * np.abs(scatter).max())
    assert table.moments(np.zeros(N)).total == Moments.zero(D).total == 0.0
    rows = np.array([5, 3, 3, 199])
    np.testing.assert_array_equal(table.take(rows), X[rows])
    ranges = table.ranges(k > 0)
    np.testing.assert_array_equal(ranges.low, X[k > 0].min(axis=0))
    np.testing.assert_array_equal(ranges.high, X[k > 0].max(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_are_the_squared_distances_of_mahalanobis(kind):
    X, k = table_of(kind)
    center = moments(X, k)
    W = whitening_basis(center.scatter, center.sd).transform
    Z = X - center.mean
    exact = np.array([z @ np.linalg.solve(Z.T @ (k[:, None] * Z), z) for z in Z])
    found = ItemTable(X).lengths(center.mean, W)
    digits = 1e-6 if kind == "nearly collinear" else 1e-9
    np.testing.assert_allclose(found, exact, rtol=digits)
    assert ItemTable(X).fourth(center.mean, W, k) == pytest.approx(k @ exact**2, rel=2 * digits)


def test_what_items_add_to_the_error_of_a_covariance_is_that_of_a_loop():
    X, _ = table_of("plain")
    mask, coef = np.arange(N) >= 150, np.array([1.0, -0.5, 0.25, 2.0])
    center = moments(X, mask.astype(float))
    found = ItemTable(X).second_half(mask, center, coef)
    inverse = np.linalg.inv(center.scatter)
    squares, total = np.zeros((D, D)), np.zeros(D)
    for x in X[mask]:
        z = x - X[mask].mean(axis=0)
        h = min(1 / 50 + z @ inverse @ z, LARGEST_LEVERAGE)
        u = (z @ coef) / (1 - h) * z
        squares += np.outer(u, u)
        total += u
    np.testing.assert_allclose(found.squares, squares, rtol=1e-9)
    np.testing.assert_allclose(found.total, total, rtol=1e-9)
    parts = [
        ItemTable(X[rows]).second_half(mask[rows], center, coef)
        for rows in (slice(0, 160), slice(160, N))
    ]
    assert type(parts[0] + parts[1]) is SecondHalfSums
    np.testing.assert_allclose((parts[0] + parts[1]).squares, squares, rtol=1e-9)


def with_single_columns():
    """Item 17 alone has another value in column 1, item 30 in column 3 among compared items."""
    X, k = table_of("plain")
    X[:, 1], X[:, 3] = 7.0, 0.0
    X[17, 1] = 2.0
    X[30, 3] = X[31, 3] = 1.0
    k[[17, 30]], k[31] = 2.0, 0.0
    return X, k


def test_items_with_a_column_of_their_own_are_seen():
    X, k = with_single_columns()
    assert np.flatnonzero(ItemTable(X).own_columns(k)).tolist() == [17, 30]
    k[31] = 1.0
    assert np.flatnonzero(ItemTable(X).own_columns(k)).tolist() == [17]


def test_the_column_of_one_item_is_seen_whatever_its_values():
    X = np.zeros((6, 5))
    X[:, 0] = [3, 1, 4, 1, 5, 9]
    X[:, 1] = [7, 7, 2, 7, 7, 7]  # item 2
    X[:, 2] = [0, 1, 1, 1, 1, 0]  # item 0, since item 5 is not compared
    X[:, 3] = [0, 0, 0, 1, 1, 0]
    X[:, 4] = 1
    mask = ItemTable(X).own_columns(np.array([2, 1, 3, 1, 1, 0]))
    assert mask.tolist() == [True, False, True, False, False, False]
    assert not ItemTable(X[:2]).own_columns(np.ones(2)).any()


def test_of_some_items_the_moments_of_all_say_who_is_alone():
    """As at a site: another site may have an item with the same value."""
    X, k = with_single_columns()
    here = np.arange(N) < 100
    for other, expected in ((7.0, [17, 30]), (2.0, [30])):
        X[150, 1], k[150] = other, 3.0
        center = moments(X, k)
        found = ItemTable(X[here]).own_columns(k[here], center)
        assert np.flatnonzero(found).tolist() == expected


def test_what_is_kept_of_items_adds_in_their_order():
    one, two = PerItem(np.array([1.0, 2.0])), PerItem(np.array([3.0]))
    assert (one + two).values.tolist() == [1.0, 2.0, 3.0]
    low, high = np.array([0.0, 1.0]), np.array([1.0, 5.0])
    total = FeatureRange(low, high) + FeatureRange(
        low - np.array([1, -1]), high + np.array([-1, 1])
    )
    assert total.low.tolist() == [-1.0, 1.0]
    assert total.high.tolist() == [1.0, 6.0]
