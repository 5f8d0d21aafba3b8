"""Averages over fixed errors against averages over drawn ones."""

import numpy as np
import pytest
from scipy.stats import beta, chi2, norm, qmc

from pairscore.metrics import angle
from pairscore.theory.quadrature import QuasiRandomErrors
from tests.theory.conftest import assert_means


@pytest.mark.parametrize("freedom", [10, 60, 5000])
def test_chi_square_nodes_are_chi_squared(freedom):
    nodes = QuasiRandomErrors.of_covariance(np.ones(3), None)
    expected = chi2.ppf(norm.cdf(nodes.normal2), freedom)
    bulk = np.abs(nodes.normal2) < 2
    assert np.max(np.abs(nodes.chi_square(freedom)[bulk] / expected[bulk] - 1)) < 0.01
    assert nodes.chi_square(freedom).mean() == pytest.approx(
        freedom, rel=5 * np.sqrt(2 / freedom / 4096) + 1e-3
    )
    assert np.all(QuasiRandomErrors.of_covariance(np.ones(3), None).chi_square(0.5) > 0)


@pytest.mark.parametrize(
    ("d", "smallest", "own_beta"),
    [(2, 1.0, True), (10, 1 / 200, True), (10, 1 / 200, False), (60, 0.1, True)],
)
def test_the_average_over_nodes_is_that_over_drawn_errors(d, smallest, own_beta):
    """Estimates (1 + a) e + p drawn in whitened coordinates and carried back by matrices.

    QuasiRandomErrors are allowed 3 % of their own.
    """
    rng, sd, n = np.random.default_rng(7), 0.1, 4000
    eigenvalues = np.linspace(1, smallest, d)
    betas = np.broadcast_to(rng.normal(size=d), (n, d)) if own_beta else rng.normal(size=(n, d))
    found = []
    for one in betas:
        e = np.sqrt(eigenvalues) * one / np.linalg.norm(one)
        e /= np.linalg.norm(e)
        whitened = e + sd * rng.normal(size=d)
        estimate, truth = whitened / np.sqrt(eigenvalues), e / np.sqrt(eigenvalues)
        found.append(
            (angle(estimate, truth), angle(whitened, e), np.linalg.norm(estimate - truth) * 0.9)
        )
    nodes = QuasiRandomErrors.of_covariance(eigenvalues, betas[0] if own_beta else None)
    errors = nodes.errors(1 + sd * nodes.normal, sd * nodes.length, 0.9)
    assert_means(
        found,
        [errors[name].mean() for name in ("angle", "sigma_angle", "norm_error")],
        allowed=0.03,
    )
    if d == 10:  # the rival: the angle of the mean square, tan^2 = R q^2 tau / beta'beta
        mean_square = np.sqrt(np.mean(np.tan(errors["angle"]) ** 2))
        assert np.arctan(mean_square) > 1.15 * np.mean(found, axis=0)[0]


def test_the_nodes_of_one_feature():
    nodes = QuasiRandomErrors.of_covariance(np.array([4.0]), np.array([-2.0]))
    assert np.all(nodes.truth == 0.5)
    assert not nodes.perpendicular.any()
    assert not nodes.length.any()
    assert not nodes.other_length.any()


def test_the_mean_over_even_directions_is_better_than_over_drawn_ones():
    """The mean length of covariance^(-1/2) u where one eigenvalue dominates, against its law.

    The square of one coordinate of a random direction in D dimensions is Beta(1/2, (D - 1)/2). Even
    nodes are within a quarter of a percent; the rival, as many drawn directions, has a standard
    error of one percent.
    """
    d, smallest = 10, 1 / 200
    nodes = QuasiRandomErrors.of_covariance(np.append(np.ones(d - 1), smallest), np.eye(d)[0])
    share = beta(1 / 2, (d - 2) / 2)  # of u, orthogonal to the truth

    def length(square):
        return np.sqrt(1 + (1 / smallest - 1) * square)

    mean = share.expect(length)
    variance = share.expect(lambda square: length(square) ** 2) - mean**2
    assert np.hypot(nodes.parallel, nodes.perpendicular).mean() == pytest.approx(mean, rel=0.0025)
    assert np.sqrt(variance / len(nodes.truth)) > 0.009 * mean


def test_more_features_than_a_sobol_sequence_has_dimensions():
    d = qmc.Sobol.MAXDIM // 2 + 1
    nodes = QuasiRandomErrors.of_covariance(np.ones(d), None, n_nodes=8)
    # chi of d - 1 degrees of freedom: its standard deviation is 1 / sqrt(2)
    np.testing.assert_allclose(nodes.length, np.sqrt(d - 1.5), atol=5 / np.sqrt(2))
    np.testing.assert_allclose(np.hypot(nodes.parallel, nodes.perpendicular), 1.0, rtol=1e-12)
