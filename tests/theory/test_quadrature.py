"""Averages over fixed errors against averages over drawn ones."""

import numpy as np
import pytest
import scipy
from scipy.stats import chi2, norm, qmc

from pairscore.metrics import angle
from pairscore.theory.quadrature import MOST_DIMENSIONS, QuasiRandomErrors, sobol_points
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
    for beta in betas:
        beta = beta / np.linalg.norm(beta)
        e = np.sqrt(eigenvalues) * beta
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


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (4096, 1), (4096, 180), (8, 21201)])
def test_the_points_are_those_of_scipy(n, d):
    """Bit for bit, without scipy.stats; the generator is as SciPy leaves it."""
    assert d <= MOST_DIMENSIONS == qmc.Sobol.MAXDIM
    ours, theirs = np.random.default_rng(d), np.random.default_rng(d)
    points = sobol_points(n, d, ours)
    assert np.array_equal(points, qmc.Sobol(d, rng=theirs).random(n))
    assert ours.random() == theirs.random()


def test_the_points_are_the_same_where_scipy_keeps_its_table_elsewhere(monkeypatch):
    expected = sobol_points(64, 6, np.random.default_rng(1))
    monkeypatch.setattr(scipy, "__path__", [*map("nowhere/{}".format, scipy.__path__)])
    assert np.array_equal(sobol_points(64, 6, np.random.default_rng(1)), expected)
