"""Variances of centred abilities, and quasi-variances."""

import numpy as np
from scipy.optimize import least_squares

from pairscore.effects import item_covariance
from pairscore.effects.item_covariance import (
    posterior_covariance,
)
from pairscore.effects.quasi_variances import centred_variances, quasi_variances
from tests.effects.simulators import inverse, small_pairs


def test_a_small_ridge_does_not_blow_up_the_errors_of_many_abilities(monkeypatch):
    """Errors of centred abilities, by messages as where V is formed, whatever the ridge."""
    pairs = small_pairs(np.random.default_rng(3), 300, 3000)
    weight = 0.2 * pairs.number
    for sigma2 in (5.0, 1e8):
        formed = posterior_covariance(pairs, weight, sigma2, exact_items=300)
        exact = centred_variances(formed, pairs, sigma2)
        centre = np.eye(300) - 1 / 300
        naive = np.diag(centre @ inverse(pairs, weight, sigma2) @ centre)
        np.testing.assert_allclose(exact, naive, rtol=1e-5)
        with monkeypatch.context() as patch:
            patch.setattr(item_covariance, "EXACT_ITEMS", 0)
            many = centred_variances(posterior_covariance(pairs, weight, sigma2), pairs, sigma2)
        np.testing.assert_allclose(np.sqrt(many), np.sqrt(exact), rtol=0.1)


def drawn_quasi_variances(n, m, spread=0.1):
    """Quasi-variances, variances, and the variances of all differences."""
    rng = np.random.default_rng(12)
    pairs = small_pairs(rng, n, m)
    along = spread * rng.normal(size=(n, 2))
    weight = pairs.number * rng.uniform(0.1, 1, len(pairs.high))
    covariance = posterior_covariance(pairs, weight, np.inf, exact_items=n)
    ((_, block),) = covariance.blocks()
    V = block + along @ along.T
    first, second = np.triu_indices(n, 1)
    of_pairs = np.diag(V)[first] + np.diag(V)[second] - 2 * V[first, second]
    q = quasi_variances(covariance, along, np.diag(V), is_free=True)
    return q, np.diag(V), of_pairs


def off_by(q, of_pairs):
    first, second = np.triu_indices(len(q), 1)
    return np.log(q[first] + q[second]) - np.log(of_pairs)


def test_quasi_variances_minimise_the_errors_of_log_variances():
    q, variance, of_pairs = drawn_quasi_variances(30, 200)
    start = np.log(variance)
    twin = least_squares(lambda x: off_by(np.exp(x), of_pairs), start, xtol=1e-14, ftol=1e-14)
    np.testing.assert_allclose(q, np.exp(twin.x), rtol=1e-5)
    assert np.sum(off_by(variance, of_pairs) ** 2) > np.sum(off_by(q, of_pairs) ** 2)


def test_in_large_groups_variances_do_as_well_as_quasi_variances(monkeypatch):
    """Errors of differences are off by half a hundredth either way, and a few by more."""
    plain, variance, of_pairs = drawn_quasi_variances(300, 1500, spread=0.0)
    np.testing.assert_array_equal(plain, variance)
    monkeypatch.setattr("pairscore.effects.quasi_variances.EXACT_ITEMS", 300)
    q, *_ = drawn_quasi_variances(300, 1500, spread=0.0)
    for share, most in ((0.5, 0.006), (0.95, 0.012)):
        for these in (q, plain):
            assert np.quantile(np.abs(off_by(these, of_pairs)) / 2, share) < most
