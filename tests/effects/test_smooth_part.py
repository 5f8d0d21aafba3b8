"""A smooth part beside effects of items, whose ridge has a separate weight for it."""

import numpy as np
import pytest

from pairscore import RankRegression

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")


@pytest.mark.parametrize("settings", [{}, {"context": ["length"]}, {"lapse": "auto"}])
def test_beside_item_effects_a_smooth_part_held_at_zero_changes_nothing(settings):
    """With less than a hundred items it is held at zero, whatever else is chosen and estimated."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2))
    score = X.sum(axis=1) + 0.6 * rng.normal(size=60)
    left = rng.integers(0, 60, 500)
    right = (left + rng.integers(1, 60, 500)) % 60
    left_wins = rng.random(500) < 1 / (1 + np.exp(score[right] - score[left]))
    votes = {
        "left": left,
        "right": right,
        "winner": np.where(left_wins, "left", "right"),
        "length": score[left] - score[right] + rng.normal(size=500),
    }
    items = {"id": np.arange(60), "a": X[:, 0], "b": X[:, 1]}
    without, beside = (
        RankRegression(l2="auto", item_effects=True, **settings).fit(items, votes, **columns)
        for columns in ({}, {"smooth": 60})
    )
    assert beside.l2_ == pytest.approx(without.l2_, rel=1e-3)
    assert beside.item_effects_.sigma2 == pytest.approx(without.item_effects_.sigma2, rel=1e-2)
    np.testing.assert_allclose(beside.coef_[:2], without.coef_, rtol=1e-3)
    np.testing.assert_allclose(beside.std_errors_[:2], without.std_errors_, rtol=1e-2)
    ours, theirs = (model.item_effects_.calibration.factor for model in (beside, without))
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)
