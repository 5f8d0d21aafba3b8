"""Fits with thirty ridges side by side, against fits one by one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from pairscore.core.links import get_link
from pairscore.core.moments import moments
from pairscore.core.pair_graph import aggregate_pairs
from pairscore.estimators.ridge import COINS, LARGEST_LOSS, LikelihoodPath, PairRows, ridges


def make_path(seed=0, n=30, d=4, m=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3, d) + 2
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([1, -1], m)
    pairs = aggregate_pairs(left, right, outcome, np.ones(m), n)
    center = moments(X, np.bincount(left, minlength=n) + np.bincount(right, minlength=n))
    path = LikelihoodPath.of_pairs(X, pairs, center.spread, get_link("logit"))
    return path, PairRows.of_pairs(pairs, n), (X / center.sd, left, right, outcome)


def test_ridges_span_six_decades_up_to_ten_times_the_largest_curvature():
    l2 = ridges(8.0, get_link("logit"))
    assert len(l2) == 30
    assert l2[-1] == pytest.approx(10 * 8.0 / 4)
    assert l2[0] == pytest.approx(l2[-1] * 1e-6)


@pytest.mark.parametrize("small", [0, 10**9], ids=["conjugate gradients", "formed"])
def test_every_column_is_the_fit_with_its_ridge(monkeypatch, small):
    monkeypatch.setattr("pairscore.estimators.ridge.SMALL", small)
    path, rows, (X, left, right, outcome) = make_path()
    found = path.predictor(rows, path.fit(rows, np.zeros((4, 30))))
    low, high = rows.incidence.indices.reshape(-1, 2).T
    D = outcome[:, None] * (X[left] - X[right])
    for place in (0, 12, 20, 29):
        l2 = path.l2[place]

        def loss(beta, l2=l2):
            return np.logaddexp(0, -D @ beta).sum() + 0.5 * l2 * beta @ beta

        beta = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x
        expected = (X @ beta)[low] - (X @ beta)[high]
        np.testing.assert_allclose(found[:, place], expected, atol=0.01)


def test_a_side_of_which_nothing_is_known_does_not_stop_the_fit():
    path, rows, _ = make_path()
    idle = replace(rows, extra=np.zeros((len(rows.win), 1)))
    found = path.fit(idle, np.zeros((5, 30)))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:4], path.fit(rows, np.zeros((4, 30))), atol=1e-8)


def test_no_comparison_loses_more_than_the_largest_loss():
    path, rows, _ = make_path()
    far = np.full((4, 1), 1e6)
    number = rows.win + rows.lose
    assert path.held_out_loss(rows, far)[0] <= LARGEST_LOSS * number.sum() + 1e-9
    nothing = np.zeros((4, 1))
    assert path.held_out_loss(rows, nothing)[0] == pytest.approx(np.log(2) * number.sum())
    assert not path.surplus(rows, nothing).any()
    assert path.surplus(rows, far).max() > 100
    assert pytest.approx(-np.log(COINS / 2)) == LARGEST_LOSS


def test_newtons_equations_are_solved_where_conjugate_gradients_do_not_end(monkeypatch):
    path, rows, _ = make_path()
    here = path.derivatives(rows, path.l2, np.ones((4, 30)))
    exact = path._solve(rows, here, path.l2)
    monkeypatch.setattr("pairscore.estimators.ridge.MAX_PRODUCTS", 1)
    monkeypatch.setattr("pairscore.estimators.ridge.PRECISION", 1e-6)
    np.testing.assert_allclose(path._solve_roughly(rows, here, path.l2), exact, rtol=1e-9)
    monkeypatch.setattr("pairscore.estimators.ridge.SMALL", 4 * 30 * 7)  # a few rows at a time
    np.testing.assert_allclose(path._solve(rows, here, path.l2), exact, rtol=1e-9)
