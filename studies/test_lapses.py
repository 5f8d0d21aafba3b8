"""Slips: bias and coverage of the rate and of coefficients, size of the test, what is lost without.

``PAIRSCORE_STUDIES=500`` runs five hundred studies a cell; unless given they are sixty.
"""

import os
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from pairscore import RankRegression

N_STUDIES = int(os.environ.get("PAIRSCORE_STUDIES", "60"))
N_NEW = 2000  # pairs of new items on which a log-loss is expected
SURE = 1e-3  # chance that a share is outside of its limits without reason


class Cell(NamedTuple):
    """Items, comparisons, features, length of the coefficients (each is that over the root of d),
    and the share of slips.
    """

    n: int
    m: int
    d: int
    length: float
    slips: float


CELLS = [
    Cell(200, 3000, 4, 2.0, 0.0),
    Cell(200, 3000, 4, 2.0, 0.02),
    Cell(200, 3000, 4, 2.0, 0.05),
    Cell(200, 3000, 4, 2.0, 0.1),
    Cell(200, 3000, 4, 1.0, 0.0),
    Cell(60, 800, 3, 2.0, 0.05),
    Cell(100, 1500, 3, 3.0, 0.0),
    Cell(100, 1500, 3, 3.0, 0.05),
]


class Study(NamedTuple):
    """What one study found."""

    rate: float
    covers: bool
    p: float
    coef: np.ndarray  # over the truth
    covered: np.ndarray
    lost: float  # expected log-loss of new pairs, less that of the fit without slips


@cache
def studies(cell: Cell) -> list[Study]:
    return [one_study(cell, seed) for seed in range(N_STUDIES)]


def one_study(cell: Cell, seed: int) -> Study:
    n, m, d, length, slips = cell
    rng = np.random.default_rng([seed, n, m, d, int(10 * length)])
    X, beta = rng.normal(size=(n, d)), np.full(d, length / np.sqrt(d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit((X[left] - X[right]) @ beta)
    won ^= rng.random(m) < slips
    votes = np.where(won[:, None], np.c_[left, right], np.c_[right, left])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression(lapse="auto").fit(X, votes)
        plain = RankRegression(inference=None).fit(X, votes)
    rate = model.lapse_
    x = rng.normal(size=(N_NEW, d)) - rng.normal(size=(N_NEW, d))
    truth = slips + (1 - 2 * slips) * expit(x @ beta)

    def loss(coef: np.ndarray, e: float) -> float:
        p = e + (1 - 2 * e) * expit(x @ coef)
        return float(-np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p)))

    return Study(
        rate=rate.rate,
        covers=rate.low <= slips <= rate.high,
        p=rate.p_value,
        coef=model.coef_ / beta,
        covered=np.abs(model.coef_ - beta) < 1.96 * model.std_errors_,
        lost=loss(model.coef_, rate.rate) - loss(plain.coef_, 0.0),
    )


def limits(share: float, number: int) -> tuple[float, float]:
    """Between which a share of so many studies is, but for a chance of SURE."""
    low, high = binom.interval(1 - SURE, number, share)
    return low / number, high / number


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_intervals_cover_the_rate_and_the_coefficients(cell, figures):
    found = studies(cell)
    covers = np.mean([one.covers for one in found])
    coefs = np.mean([one.covered for one in found])
    rates = np.array([one.rate for one in found])
    stretch = np.mean([one.coef for one in found])
    figures(
        f"slips {cell}: mean rate, coverage of rate and coefficients, coefficients over the truth",
        f"{cell.slips}, .95, .95, 1",
        f"{rates.mean():.4f} (sd {rates.std():.4f}), {covers:.3f}, {coefs:.3f}, {stretch:.3f}",
    )
    # at zero an interval has one end, and covers 97.5 %
    assert covers >= limits(0.94, N_STUDIES)[0]
    assert coefs >= limits(0.93, N_STUDIES)[0]
    # the prior takes off a tenth of an error or so where slips are hard to see
    error = rates.std() / np.sqrt(N_STUDIES)
    assert abs(rates.mean() - cell.slips) < 3.3 * error + 0.01
    assert stretch == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("cell", [one for one in CELLS if one.slips == 0], ids=str)
def test_the_test_of_no_slips_has_its_size(cell, figures):
    p = np.array([one.p for one in studies(cell)])
    shares = [np.mean(p <= level) for level in (0.05, 0.1)]
    figures(
        f"slips {cell}: size at 5 and 10 %", ".035 to .065", f"{shares[0]:.3f}, {shares[1]:.3f}"
    )
    assert shares[0] <= limits(0.065, N_STUDIES)[1]
    assert shares[1] >= limits(0.04, N_STUDIES)[0]


@pytest.mark.parametrize("cell", [one for one in CELLS if one.slips == 0], ids=str)
def test_nothing_is_lost_where_nobody_slips(cell, figures):
    lost = np.array([one.lost for one in studies(cell)])
    figures(
        f"slips {cell}: log-loss of new items less that without", "<= .0005", f"{lost.mean():.5f}"
    )
    assert lost.mean() - 3.3 * lost.std() / np.sqrt(N_STUDIES) <= 0.0005


@pytest.mark.parametrize("cell", [one for one in CELLS if one.slips >= 0.05], ids=str)
def test_slips_are_found_and_new_items_predicted_better(cell, figures):
    found = studies(cell)
    power = np.mean([one.p <= 0.05 for one in found])
    gain = -np.mean([one.lost for one in found])
    figures(f"slips {cell}: found at 5 %, gain in log-loss", "", f"{power:.2f}, {gain:.4f}")
    assert gain > 0
    assert power > 0.3
