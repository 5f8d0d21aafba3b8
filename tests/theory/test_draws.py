"""The random parts of a population: covariances, inverse Wishart matrices, reflections."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm, wishart

from pairscore.theory.draws import inverse_wishart_times, random_covariance, reflect_first_axis

LEVEL = 1e-6  # chance that a right program fails a test, over all of its comparisons


def assert_zero_mean(samples):
    """Each column's mean is zero: z-scores against a Bonferroni quantile."""
    samples = np.asarray(samples).reshape(len(samples), -1)
    z = samples.mean(axis=0) / samples.std(axis=0, ddof=1) * np.sqrt(len(samples))
    assert np.abs(z).max() < norm.isf(LEVEL / 2 / samples.shape[1]), z


def test_a_random_covariance_keeps_its_eigenvalues():
    found = random_covariance(np.array([3.0, 2.0, 1.0]), np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.eigvalsh(found), [1, 2, 3])
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize(("d", "freedom"), [(1, 1), (2, 2), (4, 9)])
def test_an_inverse_wishart_times_a_vector(d, freedom):
    rng = np.random.default_rng(0)
    v = np.arange(1.0, d + 1)
    fast = np.array([inverse_wishart_times(v, freedom, rng) for _ in range(3000)])
    matrices = wishart(freedom, np.eye(d)).rvs(3000, random_state=1).reshape(-1, d, d)
    direct = np.linalg.solve(matrices, np.broadcast_to(v[:, None], (3000, d, 1)))[:, :, 0]
    for column in range(d):
        assert ks_2samp(fast[:, column], direct[:, column], method="asymp").pvalue > LEVEL / d
    assert np.array_equal(inverse_wishart_times(np.zeros(d), freedom, rng), np.zeros(d))


@pytest.mark.parametrize("first", [1.0, -1.0, 0.6, -0.6, 0.0, 1 - 1e-18])
def test_turning_takes_the_first_axis_to_the_direction(first):
    direction = np.array([first, np.sqrt(1 - min(first * first, 1)), 1e-9])
    direction /= np.linalg.norm(direction)
    np.testing.assert_allclose(
        reflect_first_axis(np.array([1.0, 0, 0]), direction), direction, atol=1e-15
    )
    matrix = np.array([reflect_first_axis(axis, direction) for axis in np.eye(3)])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-14)
