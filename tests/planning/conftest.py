"""Pilots, items and laws for the tests of this room."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from pairscore.core.links import Logit
from pairscore.planning import pilot
from pairscore.theory.integrals import spread_for_noise

LOGIT = Logit()


@pytest.fixture
def few_simulations(monkeypatch):
    """Where the interval's last digits do not matter."""
    monkeypatch.setattr(pilot, "MOST_SIMULATIONS", 150)


def incidence_of(left, right, n):
    rows, columns = np.concatenate([left, right]), np.tile(np.arange(len(left)), 2)
    return sparse.csr_array(
        (np.repeat([1.0, -1.0], len(left)), (rows, columns)), shape=(n, len(left))
    )


spread = cache(lambda noise: spread_for_noise(LOGIT, noise))


def a_study(n, m, d, noise, rng):
    """Items, pairs of different items and outcomes; the score is the first feature."""
    X = rng.normal(size=(n, d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    gap = X[left, 0] - X[right, 0]
    q = spread(noise)
    chance = gap > 0 if np.isinf(q) else LOGIT.cdf(q * gap)
    return X, left, right, np.where(rng.random(m) < chance, 1.0, -1.0)


def votes(left, right, outcome):
    return np.where(
        (outcome > 0)[:, None], np.column_stack([left, right]), np.column_stack([right, left])
    )


LAW = {"n_features": 12, "noise": 0.2, "min_eigenvalue": 0.2}


def own_items():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(150, 4)) @ rng.normal(size=(4, 4))
    return values * [1e-3, 1.0, 1e4, 1.0] + [0.0, 100.0, 0.0, -5.0]


@pytest.fixture
def only_paired(monkeypatch):
    """Plans without the other methods, whose cheapest studies take seconds to find."""
    monkeypatch.setattr("pairscore.planning.planner.METHODS", ("paired",))
