"""Slips beside effects of items, judges, context and ties."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from pairscore import RankRegression
from pairscore.core.links import Link

E = 0.06
OWN = Link(lambda x: E + (1 - 2 * E) * expit(x), lambda x: (1 - 2 * E) * expit(x) * expit(-x))


def study(seed, n=80, m=3000, d=2, item_sd=0.0, tied=False, slips=E):
    """Items and votes by eight judges, with an advantage of left, and a truth of 1.3 each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = 1.3 * X.sum(axis=1) + item_sd * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    eta = score[left] - score[right] + 0.3
    win, tie, lose = np.exp(eta / 2), 0.6 * tied, np.exp(-eta / 2)
    drawn = rng.random(m) * (win + tie + lose)
    outcome = np.where(drawn < win, 1, np.where(drawn < win + tie, 0, -1))
    outcome = np.where(rng.random(m) < slips, -outcome, outcome)
    items = {"id": np.arange(n)} | {f"x{column}": values for column, values in enumerate(X.T)}
    winner = np.array(["right", "tie", "left"])[outcome + 1]
    votes = {"left": left, "right": right, "winner": winner, "judge": rng.integers(0, 8, m)}
    return items, votes


@pytest.mark.parametrize(
    "settings",
    [
        {"item_effects": True},
        {"judge_slopes": True},
        {"side_effect": "judges"},
        {"item_effects": True, "judge_slopes": True, "l2": 2.0},
        {"inference": "items+judges"},
    ],
)
def test_a_given_rate_is_the_link_with_these_slips(settings):
    items, votes = study(1, item_sd=0.7)
    found = RankRegression(lapse=E, **settings).fit(items, votes)
    expected = RankRegression(link=OWN, **settings).fit(items, votes)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-3)
    np.testing.assert_allclose(found.std_errors_, expected.std_errors_, rtol=5e-3)
    plain = RankRegression(**settings).fit(items, votes)
    assert np.all(found.coef_ > 1.1 * plain.coef_)


@pytest.mark.parametrize(
    "settings",
    [
        {"ties": "davidson", "side_effect": True},
        {"ties": "davidson", "side_effect": True, "item_effects": True},
        {"ties": "davidson", "side_effect": True, "judge_slopes": True},
    ],
)
def test_rate_and_coefficients_are_found_beside_effects(settings):
    """Means of five studies, within four of their standard errors and a little bias."""
    item_sd = 1.0 if "item_effects" in settings else 0.0
    found, errors = [], []
    for seed in range(5):
        items, votes = study(seed, item_sd=item_sd, tied=True)
        model = RankRegression(lapse="auto", **settings).fit(items, votes)
        found.append([model.lapse_.rate, *model.coef_, model.side_effect_])
        errors.append([model.lapse_.std_error, *model.std_errors_, model.side_effect_std_error_])
        assert model.lapse_.low < model.lapse_.rate < model.lapse_.high
    error = np.sqrt(np.mean(np.square(errors), axis=0) / 5)
    gap = np.abs(np.mean(found, axis=0) - [E, 1.3, 1.3, 0.3])
    assert np.all(gap < 4 * error + [0.005, 0.05, 0.05, 0.02])
    plain = RankRegression(**settings).fit(items, votes)
    assert np.all(plain.coef_ < 1.25)


def test_abilities_may_have_slips():
    _, votes = study(3, n=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = RankRegression(lapse=E).fit(None, votes)
        own = RankRegression(link=OWN).fit(None, votes)
        plain = RankRegression().fit(None, votes)
        auto = RankRegression(lapse="auto").fit(None, votes)
    scores = [model.item_effects_.effect for model in (given, own, plain)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-5)
    assert np.std(scores[0]) > 1.1 * np.std(scores[2])
    assert 0.01 < auto.lapse_.rate < 0.12


def test_item_effects_are_chosen_beside_slips():
    items, votes = study(5, item_sd=1.0)
    model = RankRegression(lapse="auto", item_effects="auto").fit(items, votes)
    assert model.item_effects_test_.used
    always = RankRegression(lapse="auto", item_effects=True).fit(items, votes)
    assert model.lapse_.rate == pytest.approx(always.lapse_.rate, abs=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"item_effects": True},
        {"item_effects": True, "side_effect": True},
        {"item_effects": "auto"},
        {"context": ["length"]},
    ],
)
def test_a_ridge_holds_a_scale_without_end_beside_effects_too(settings):
    """All comparisons agree with the score but one, which a slip explains."""
    rng = np.random.default_rng(0)
    X = np.arange(12.0)[:, None]
    left, right = np.array([(a, b) for a in range(12) for b in range(a)]).T
    swap = rng.random(len(left)) < 0.5
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    winner = np.where((left > right) ^ (np.abs(left - right) == 11), "left", "right")
    votes = {"left": left, "right": right, "winner": winner, "length": rng.normal(size=len(left))}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(lapse=0.05, **settings).fit(X, votes)
    assert 0 < model.coef_[0] < 10
    assert any("slips explain every comparison" in str(one.message) for one in caught)
    assert not [one for one in caught if issubclass(one.category, RuntimeWarning)]


@pytest.mark.parametrize("lapse", [0.05, "auto"])
def test_abilities_that_slips_leave_without_an_end_are_held(lapse):
    """A few items of sixty lost nothing that a slip does not explain."""
    rng = np.random.default_rng(1)
    left = rng.integers(60, size=900)
    right = (left + 1 + rng.integers(59, size=900)) % 60
    score = 3 * rng.normal(size=60)
    won = rng.random(900) < 0.1 + 0.8 * expit(score[left] - score[right])
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(lapse=lapse).fit(None, votes)
        scores = np.asarray(model.rank()["score"], dtype=float)
    assert np.ptp(scores) < 30
    assert any("slips explain every comparison" in str(one.message) for one in caught)
    assert not [one for one in caught if issubclass(one.category, RuntimeWarning)]
