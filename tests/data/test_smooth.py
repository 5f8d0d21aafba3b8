"""The smooth part: features by the formula, the same everywhere, about a Gaussian process."""

import numpy as np
from scipy.stats import norm

from pairscore.data.smooth import LARGEST, Smooth
from tests.data.conftest import refused

X = np.random.default_rng(4).normal([5, -2, 1e6], [1, 10, 3], size=(50, 3))


def test_features_are_waves():
    smooth = Smooth.of_values(X, 7)
    bits = np.random.PCG64(0).random_raw(28).reshape(4, 7)
    uniform = [[(int(one) // 2**11 + 0.5) / 2**53 for one in row] for row in bits]
    mean, sd = X.mean(axis=0), X.std(axis=0)
    for item, row in zip(X, smooth.features(X), strict=True):
        for number in range(7):
            angle = 2 * np.pi * uniform[3][number]
            for k in range(3):
                frequency = norm.ppf(uniform[k][number]) / np.sqrt(3)
                angle += frequency * (item[k] - mean[k]) / sd[k]
            assert abs(row[number] - np.sqrt(2) * np.cos(angle)) < 1e-9


def test_numbers_are_the_same_on_every_machine():
    found = Smooth(2, (0.0,), (1.0,)).features(np.array([[0.5]]))
    np.testing.assert_allclose(found, [[FIRST, SECOND]], atol=1e-12)


FIRST, SECOND = 1.2839233520915994, 1.3852077078684046


def test_products_of_features_are_about_the_kernel():
    p = LARGEST
    F = Smooth.of_values(X, p).features(X)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2) / (2 * 3))
    # products are at most 2, of standard deviation at most 1.5: five of them cover 1275 pairs
    assert np.abs(F @ F.T / p - kernel).max() < 5 * 1.5 / np.sqrt(p)
    assert np.abs(F[:, :20] @ F[:, :20].T / 20 - kernel).max() > 5 * 1.5 / np.sqrt(p)


def test_constant_columns_and_missing_values_make_no_harm():
    values = np.column_stack([X[:, 0], np.full(50, 1e6), np.where(X[:, 1] > 0, np.nan, X[:, 1])])
    smooth = Smooth.of_values(values, True)
    F = smooth.features(np.nan_to_num(values))
    assert F.shape == (50, 100)
    assert np.isfinite(F).all()
    assert Smooth.of_record(None) is None


def test_other_numbers_are_refused():
    for wrong in (0, -1, 2.5, LARGEST + 1, "many"):
        with refused("smooth is", "use smooth=True, or use a number of features from 1 to 2000"):
            Smooth.of_values(X, wrong)
