"""The variance of item effects: found where there is one, and none where nothing tells it."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from pairscore import Comparisons, RankRegression
from pairscore.errors import FewItemsWarning, SeparationWarning
from tests.effects.recovery import variances_from_few_comparisons
from tests.effects.simulators import EFFECTS, full_votes
from tests.limits import largest_mean


@pytest.mark.parametrize(
    "settings",
    [
        {"ties": "rao-kupper"},
        {"ties": "davidson", "judge_slopes": True},
        {"link": "probit", "judge_slopes": True},
    ],
)
def test_a_context_that_explains_every_comparison_leaves_items_out(settings):
    X, votes, _ = full_votes(7, "davidson", n=60, m=700)
    votes["all"] = np.where(
        votes["winner"] == "left", 1.0, np.where(votes["winner"] == "right", -1.0, 0.0)
    )
    with pytest.warns(SeparationWarning, match="item effects are taken as none"):
        model = RankRegression(item_effects=True, context=["all"], **settings).fit(X, votes)
    assert model.item_effects_.sigma2 == 0
    assert np.all(np.isfinite(model.coef_))


def test_one_outlying_value_of_the_context_does_not_hide_the_items():
    X, votes, _ = full_votes(11, n=60, m=900)
    won = np.flatnonzero(votes["winner"] == "left")[0]
    votes["rest"][won] = 99_999.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        model = RankRegression(item_effects=True, context=["rest"]).fit(X, votes)
    assert model.item_effects_.sigma2 > 0


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_laplace_is_too_small_where_comparisons_are_few_and_the_equation_is_not():
    found = variances_from_few_comparisons(12, n_items=120)
    (ours, rival), (limit, rival_limit) = found.mean(axis=0), largest_mean(found)
    assert abs(ours) < limit
    assert rival < -rival_limit


def test_where_no_two_comparisons_share_an_item_that_is_said():
    rng = np.random.default_rng(0)
    X, won = rng.normal(size=(200, 2)), rng.random(100) < 0.5
    data = Comparisons(X, np.arange(100), np.arange(100, 200), np.where(won, 1, -1))
    with pytest.warns(FewItemsWarning, match="only 0 of the items met two opponents"):
        model = clone(EFFECTS).fit(data)
    assert model.item_effects_.sigma2 == 0
    np.testing.assert_allclose(model.coef_, RankRegression().fit(data).coef_)
