"""Coverage of intervals in studies that turn out to be separated."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from tests.model.test_separated import draw

from pairscore import RankRegression
from pairscore.errors import PairscoreWarning

# coefficients, items, comparisons, studies
CELLS = (
    ((10.0, 5.0, -10.0), 60, 100, 1000),
    ((10.0, 5.0, -10.0), 60, 60, 500),
    ((3.0, 1.0, 0.0), 60, 30, 1500),
    ((1.0, 0.0, 0.0), 30, 12, 1500),
    ((20.0, 0.0, 0.0), 60, 100, 500),
    ((2.0, 0.0, 0.0, 0.0, 0.0, 0.0), 60, 30, 800),
    ((2.0,), 60, 8, 1500),
)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_open_intervals_cover(cell, figures):
    """Of coefficients and of 50 differences of items; three standard errors below 95 % fail."""
    beta, n_items, n_comparisons, n_studies = np.array(cell[0]), *cell[1:]
    of_coefficients, of_differences = [], []
    for seed in range(n_studies):
        X, pairs = draw([11, seed], beta, n_items, n_comparisons)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PairscoreWarning)
            fit = RankRegression().fit(X, pairs).result_
        if fit.recession is None:
            continue
        some = np.random.default_rng(seed).integers(0, n_items, (2, 50))
        for rows, found in (
            (np.eye(len(beta)), of_coefficients),
            (X[some[0]] - X[some[1]], of_differences),
        ):
            errors = np.sqrt(np.einsum("ij,ij->i", rows @ fit.covariance, rows))
            low, high = fit.interval_ends(rows, rows @ fit.coef, errors, norm.ppf(0.975))
            truth = rows @ beta
            found.append(np.mean((low <= truth) & (truth <= high)))
    n = len(of_coefficients)
    coefficients, differences = np.mean(of_coefficients), np.mean(of_differences)
    figures(
        f"separated: {cell[0]}, {n_items} items, {n_comparisons} comparisons",
        "at least 95 %",
        f"{coefficients:.1%} of coefficients, {differences:.1%} of differences,"
        f" {n} of {n_studies} studies",
    )
    slack = 3 * np.sqrt(0.95 * 0.05 / n)
    assert coefficients > 0.95 - slack
    assert differences > 0.95 - slack
