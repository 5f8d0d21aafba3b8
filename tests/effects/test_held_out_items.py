"""Fits without some items and with another ridge, against fits from their start and by hand."""

from dataclasses import replace

import numpy as np
import pytest

from pairscore import Comparisons, RankRegression
from pairscore.effects.expectation_propagation import propagate, start_posterior
from pairscore.effects.held_out_items import coefficients_by_ridge, known, without_items
from tests.effects.rows import draw_rows
from tests.effects.test_expectation_propagation import posterior, predictions_without_each

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
COLUMNS = ("left", "right", "outcome", "amount", "context", "sides", "judge")


@pytest.mark.parametrize("sd", [0.5, 4.0])
def test_a_fit_without_items_is_that_of_the_other_comparisons(sd):
    """From where the whole fit stands, and from zero."""
    rows, _ = draw_rows(np.random.default_rng(0), 40, 400, sd=sd)
    post = posterior(rows, sd**2)
    held_out = np.arange(40) < 8
    ours = without_items(post, held_out)
    kept = ~(held_out[rows.left] | held_out[rows.right])
    others = replace(rows, **{name: getattr(rows, name)[kept] for name in COLUMNS})
    naive = propagate(start_posterior(others, np.zeros(2), sd**2), sd**2, 1e-6)
    error = np.sqrt(np.diag(naive.basis.inverse))
    assert np.max(np.abs(ours.theta - naive.theta) / error) < 0.05
    assert np.max(np.abs(ours.theta - post.theta) / error) > 0.2  # the rival: the whole fit
    assert not ours.effect[held_out].any()


def test_nothing_is_left_without_all_items():
    rows, _ = draw_rows(np.random.default_rng(0), 40, 400)
    assert without_items(posterior(rows, 1.0), np.ones(40, dtype=bool)) is None


def test_another_ridge_moves_coefficients_as_a_fit_with_it():
    rows, _ = draw_rows(np.random.default_rng(1), 80, 800, n_features=5)
    unit = rows.X.std(axis=0)
    post = posterior(replace(rows, ridge=np.diag(2.0 * unit**2)), 1.0)
    l2 = np.array([0.5, 2.0, 8.0])
    ours = coefficients_by_ridge(post, 5, unit, l2)
    np.testing.assert_allclose(ours[:, 1], post.theta, atol=1e-3)
    for column, ridge in enumerate(l2):
        there = posterior(replace(rows, ridge=np.diag(ridge * unit**2)), 1.0).theta
        moved = np.linalg.norm(there - post.theta)
        assert np.linalg.norm(ours[:, column] - there) < 0.1 * moved + 1e-3


def test_a_known_pair_is_predicted_by_all_other_comparisons():
    rows, _ = draw_rows(np.random.default_rng(2), 12, 60, 3)
    post = posterior(rows, 1.0)
    ours = known(post, np.arange(12)).eta
    naive, _ = predictions_without_each(rows, 1.0)
    assert np.std(ours - naive) < 0.15 * np.std(post.eta - naive)  # the rival: its own answer


def test_the_ridge_beside_effects_does_not_depend_on_the_order_of_items_and_comparisons():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 6))
    score = X @ np.array([1.0, 0.5, 0, 0, 0, 0]) + rng.normal(size=50)
    left = rng.integers(0, 50, 400)
    right = (left + rng.integers(1, 50, 400)) % 50
    y = np.where(rng.random(400) < 1 / (1 + np.exp(score[right] - score[left])), 1, -1)
    order, rows = rng.permutation(50), rng.permutation(400)
    place = np.argsort(order)
    one, other = (
        RankRegression(item_effects=True, l2="auto", inference=None).fit(data)
        for data in (
            Comparisons(X, left, right, y),
            Comparisons(X[order], place[left][rows], place[right][rows], y[rows]),
        )
    )
    assert one.l2_ == pytest.approx(other.l2_)
    ours, theirs = (model.item_effects_.calibration.factor for model in (one, other))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_groups_are_held_out_together():
    """What a topic has in common helps its own items, and no new ones: a larger ridge."""
    rng = np.random.default_rng(4)
    topic = np.repeat(np.arange(30), 5)
    X = 0.3 * rng.normal(size=(150, 40)) + rng.normal(size=(30, 40))[topic]
    own = rng.normal(size=30)[topic]  # of a topic, which the features tell apart
    score = X[:, 0] + 1.5 * own
    left = rng.integers(0, 150, 1500)
    right = (left + rng.integers(1, 150, 1500)) % 150
    y = np.where(rng.random(1500) < 1 / (1 + np.exp(score[right] - score[left])), 1, -1)
    data = Comparisons(X, left, right, y)
    alone, together = (
        RankRegression(item_effects=True, l2="auto", inference=None).fit(one)
        for one in (data, data.with_item_groups(topic))
    )
    assert together.l2_ > 3 * alone.l2_
    ours, theirs = (model.item_effects_.calibration.factor[2] for model in (together, alone))
    assert ours != theirs
