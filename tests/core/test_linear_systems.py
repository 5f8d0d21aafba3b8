"""Equations with several right sides are solved, also where steps are many."""

import numpy as np
import pytest
from scipy import sparse

from pairscore.core.linear_systems import conjugate_gradients


@pytest.mark.parametrize("guess", [False, True])
def test_conjugate_gradients_solve_several_columns_at_once(guess):
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(40, 40))
    matrix, right = factor @ factor.T + np.diag(np.linspace(1, 1e3, 40)), rng.normal(size=(40, 3))
    right[:, 1] = 0.0
    exact = np.linalg.solve(matrix, right)
    start = exact + 1e-3 * rng.normal(size=exact.shape) if guess else None
    found, left = conjugate_gradients(matrix, right, start, close=1e-10)
    np.testing.assert_allclose(found, exact, atol=1e-9)
    np.testing.assert_allclose(left, right - matrix @ found, atol=1e-8)
    _, left = conjugate_gradients(matrix, right[:, :1], close=0.1)
    assert 1e-6 < np.linalg.norm(left) <= 0.1 * np.linalg.norm(right[:, 0])


@pytest.mark.parametrize("n_items", [1500, 4000])
def test_equations_of_a_long_chain_are_solved_where_conjugate_gradients_do_not_end(n_items):
    """They need about as many steps as there are items."""
    rng = np.random.default_rng(n_items)
    low = np.arange(n_items - 1)
    weight = 10 ** rng.uniform(-1, 1, n_items - 1)
    links = sparse.coo_array((weight, (low, low + 1)), shape=(n_items, n_items)).tocsr()
    links = links + links.T
    chain = sparse.diags_array(links.sum(axis=1) + 1e-6) - links
    right = rng.normal(size=(n_items, 2))
    found, left = conjugate_gradients(chain, right)
    np.testing.assert_allclose(left, right - chain @ found, atol=1e-8)
    assert np.all(np.linalg.norm(left, axis=0) <= 1e-4 * np.linalg.norm(right, axis=0))
    np.testing.assert_allclose(found, np.linalg.solve(chain.toarray(), right), rtol=1e-4)
