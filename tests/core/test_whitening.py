"""Whitening: inverses, open directions, and units that do not matter."""

import numpy as np
import pytest

from pairscore.core.moments import feature_range
from pairscore.core.whitening import split_side_directions, whiten, whitening_basis


def scatter_of(X):
    return X.T @ X, X.std(axis=0)


@pytest.mark.parametrize("unit", [1.0, 1e-30, 1e30])
def test_a_regular_scatter_is_whitened_and_inverted(unit):
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 10, 0.1, unit]
    G, sd = scatter_of(X)
    basis = whitening_basis(G, sd)
    np.testing.assert_allclose(
        basis.transform.T @ G @ basis.transform, np.eye(4), rtol=1e-10, atol=1e-10
    )
    scale = np.outer(sd, sd)
    np.testing.assert_allclose(basis.inverse * scale, np.linalg.inv(G / scale), rtol=1e-8)
    np.testing.assert_allclose(G @ basis.solve(G[0]), G[0], rtol=1e-8)
    assert not basis.undetermined.any()


def test_of_a_singular_scatter_the_solution_has_the_smallest_standardised_norm():
    X = np.random.default_rng(1).normal(size=(50, 5))
    X[:, 3], X[:, 4] = 3 * X[:, 0] + 2 * X[:, 2], 4.2
    G, sd = scatter_of(X - X.mean(axis=0))
    sd[4] = 0.0
    basis, right = whitening_basis(G, sd), G @ np.arange(5.0)
    assert basis.undetermined.tolist() == [True, False, True, True, True]
    assert basis.transform.shape == (5, 3)
    np.testing.assert_allclose(G @ basis.open_directions, 0, atol=1e-9)
    unit = np.where(sd > 0, sd, 1.0)
    expected = np.linalg.pinv(G / np.outer(unit, unit), rcond=1e-10) @ (right / unit) / unit
    np.testing.assert_allclose(basis.solve(right), expected, atol=1e-9)


def test_open_directions_are_split_by_whether_the_side_has_a_part_in_them():
    rng = np.random.default_rng(2)
    D = rng.normal(size=(60, 4))
    D[:, 2], D[:, 3] = D[:, 1], 1.0  # twin features; the last column is the side
    side = np.column_stack([D, np.ones(60)])
    features, traded = split_side_directions(whitening_basis(side.T @ side, np.ones(5)))
    assert features.undetermined.tolist() == [False, True, True, False, False]
    assert traded.undetermined.tolist() == [False, False, False, True, True]
    regular = np.column_stack([rng.normal(size=(60, 2)), np.ones(60)])
    features, traded = split_side_directions(whitening_basis(regular.T @ regular, np.ones(3)))
    assert not features.undetermined.any()
    assert not traded.undetermined.any()


def test_whitened_rows_have_the_identity_as_covariance():
    X = np.random.default_rng(3).normal(size=(400, 3)) @ np.random.default_rng(4).normal(
        size=(3, 3)
    )
    z = whiten(np.column_stack([X, X[:, 0] - X[:, 1], np.full(400, 7.0)]) + 1e3)
    assert z.shape == (400, 3)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(z.T @ z / 400, np.eye(3), atol=1e-7)


@pytest.mark.parametrize("large", [100, 10**6])
@pytest.mark.parametrize("n_rows", [1, 5, 1025, 2500])
def test_ranges_are_numpys(n_rows, large, monkeypatch):
    monkeypatch.setattr("pairscore.core.threads.LARGE", large)  # in threads, or in one
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 3)) + 100
    X[:, 2] = 7.0
    used = rng.random(n_rows) < 0.5
    used[0] = True
    seen = X[used]
    np.testing.assert_array_equal(feature_range(X, used), [seen.min(axis=0), seen.max(axis=0)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["random", "wild units", "nearly collinear"])
def test_a_factor_of_cholesky_whitens_as_eigenvalues_do(monkeypatch, kind, seed):
    """The same inverse, also of features in units from 1e-6 to 1e6 and of nearly collinear ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6))
    if kind == "wild units":
        X = X * 10.0 ** np.arange(-6, 6, 2)
    elif kind == "nearly collinear":
        X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    sd = X.std(axis=0)
    by_factor = whitening_basis(X.T @ X, sd)
    monkeypatch.setattr("scipy.linalg.lapack.dpotrf", lambda *_, **__: (None, 1))
    by_eigenvalues = whitening_basis(X.T @ X, sd)
    assert not by_factor.open_directions.size
    assert not by_eigenvalues.open_directions.size
    scale = np.outer(sd, sd)
    one, other = by_factor.inverse * scale, by_eigenvalues.inverse * scale
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())
