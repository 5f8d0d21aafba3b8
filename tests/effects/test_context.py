"""Context that belongs partly to the items."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom

from pairscore import PairscoreError, RankRegression, load
from pairscore.effects.context import (
    LEVEL,
    context_of_items,
    project_on_items,
    relation_to_items,
)
from pairscore.effects.maximum import maximise_rows
from tests.effects.rows import make_rows, random_pairs
from tests.limits import CHANCE
from tests.report.conftest import page_in_words


def incidence(rows):
    B = np.zeros((len(rows.left), len(rows.X)))
    B[np.arange(len(B)), rows.left] = 1
    B[np.arange(len(B)), rows.right] -= 1
    return B


def test_the_projection_is_that_of_least_squares_net_of_the_features():
    rng = np.random.default_rng(0)
    left, right = random_pairs(rng, 15, 80)
    rows = make_rows(
        rng.normal(size=(15, 2)),
        left,
        right,
        np.ones(80),
        context=rng.normal(size=(80, 1)),
        side=True,
    )
    columns, B = np.hstack([rows.context, rows.sides.toarray()]), incidence(rows)
    found = project_on_items(rows, columns)
    p = np.linalg.pinv(B) @ columns
    rest = columns - B @ p
    np.testing.assert_allclose(
        found.rest, np.sum(rest**2, axis=0) / np.sum(columns**2, axis=0), atol=1e-6
    )
    k = np.abs(B).sum(axis=0)
    design = np.column_stack([np.ones(15), rows.X])
    fitted = np.linalg.solve(design.T @ (k[:, None] * design), design.T @ (k[:, None] * p))
    np.testing.assert_allclose(found.values, p - design @ fitted, atol=1e-3)


def test_a_property_of_the_items_leaves_nothing():
    rng = np.random.default_rng(1)
    left, right = random_pairs(rng, 20, 100)
    length = rng.normal(size=20)
    rows = make_rows(
        rng.normal(size=(20, 2)),
        left,
        right,
        np.ones(100),
        context=(length[left] - length[right])[:, None],
    )
    assert project_on_items(rows, rows.context).rest[0] < 1e-6


def test_disjoint_pairs_leave_nothing():
    rng = np.random.default_rng(2)
    left = np.arange(0, 40, 2)
    rows = make_rows(
        rng.normal(size=(40, 1)), left, left + 1, np.ones(20), context=rng.normal(size=(20, 1))
    )
    assert project_on_items(rows, rows.context).rest[0] < 1e-6


# -- what is said of it ----------------------------------------------------------------------------


def answers(seed=0, *, n=120, m=1500, related=1.0, within=1.0, shown=0.0, sd=1.0):
    """Items, and votes in which items that are better beyond their features have longer answers,
    or are shown on the left more often.
    """
    rng = np.random.default_rng([11, seed])
    X, better = rng.normal(size=(n, 2)), sd * rng.normal(size=n)
    left, right = random_pairs(rng, n, m)
    turned = rng.random(m) < expit(shown * (better[right] - better[left]))
    left, right = np.where(turned, right, left), np.where(turned, left, right)
    own = related * better + 0.5 * rng.normal(size=n)
    length = own[left] - own[right] + within * rng.normal(size=m)
    score = X @ [0.8, -0.5] + better
    won = rng.random(m) < expit(score[left] - score[right] + 0.3 * length)
    winner = np.where(won, "left", "right")
    return X, {"left": left, "right": right, "winner": winner, "length": length}


def said(X, votes, **settings):
    model = RankRegression(**settings).fit(X, votes)
    return " ".join(str(model.summary()).split()), model


LENGTH = {"context": ["length"]}


def test_longer_answers_of_better_items_are_said_to_be_related():
    text, plain = said(*answers(), **LENGTH)
    assert "'length' is related to the items (p" in text
    assert "items with more of it win more often than their features say" in text
    assert "its effect mixes both; a fit with item effects separates them" in text
    text, model = said(*answers(), **LENGTH, item_effects=True)
    assert "its effect is the one within items; without item effects it would mix both" in text
    found, other = plain.context_of_items_["length"], model.context_of_items_["length"]
    assert found["p_value"] == pytest.approx(other["p_value"])
    assert found["rest"] == pytest.approx(other["rest"])


def test_the_report_and_the_file_say_it_too(tmp_path):
    X, votes = answers()
    assert "'length' is related to the items" in page_in_words(X, votes, **LENGTH)
    text, model = said(X, votes, **LENGTH)
    model.save(tmp_path / "m.npz")
    assert " ".join(str(load(tmp_path / "m.npz").summary()).split()) == text
    record = model.summary().to_record()["context_of_items"]["length"]
    assert record["in_words"] in text


def test_shorter_answers_of_better_items_win_less():
    text, _ = said(*answers(related=-1.0), **LENGTH)
    assert "items with more of it win less often" in text


def test_better_items_on_the_left_are_said_to_be_related_to_the_side():
    X, votes = answers(shown=2.0, m=2400)
    for settings in ({}, LENGTH):
        text, _ = said(X, votes, side_effect=True, **settings)
        assert "the side is related to the items (p" in text
        assert "items that were left more often win more often" in text
    assert "the side is related to the items" in page_in_words(X, votes, side_effect=True).lower()


def test_a_context_that_belongs_to_the_items_is_to_be_a_feature():
    for effects in (False, True):
        text, _ = said(*answers(within=0.0), **LENGTH, item_effects=effects)
        assert "'length' is a property of the items: give it as a feature" in text


def test_the_price_of_few_comparisons_is_said_with_a_number():
    text, model = said(*answers(m=140, related=0.0), **LENGTH, item_effects=True)
    wider = model.context_of_items_["length"]["wider"]
    assert wider > 1.5
    assert f"so that its error is {wider:.1f} times as wide" in text


def test_disjoint_pairs_have_no_relation_to_tell_and_a_plain_fit_says_nothing():
    X, votes = answers(m=60)
    votes |= {"left": np.arange(0, 120, 2), "right": np.arange(1, 120, 2)}
    text, model = said(X, votes, **LENGTH)
    assert "length and items" not in text
    assert np.isnan(model.context_of_items_["length"]["p_value"])


def test_without_inference_nothing_is_tested():
    _, model = said(*answers(), **LENGTH, side_effect=True, inference=None)
    assert model.context_of_items_ == {}


def test_the_score_test_is_close_to_the_fit_with_the_column():
    """Against the maximum with the column among the features, and its robust error."""
    X, votes = answers(2, related=0.0)
    _, plain = said(X, votes, **LENGTH)
    rows = make_rows(
        X,
        votes["left"],
        votes["right"],
        np.where(votes["winner"] == "left", 1, -1),
        context=votes["length"][:, None],
    )
    top = maximise_rows(rows, rows.start(np.zeros(2)), 100, 1e-12)
    own = project_on_items(rows, rows.context).values
    z = relation_to_items(rows, top.theta, top.basis, own)[0]
    wald = RankRegression(context=["length"]).fit(np.column_stack([X, own]), votes)
    assert z == pytest.approx(wald.coef_[2] / wald.std_errors_[2], abs=0.15)
    assert plain.context_of_items_["length"]["p_value"] == pytest.approx(
        context_of_items(rows, top, ("length",))["length"]["p_value"], rel=1e-3
    )


def test_unrelated_context_of_items_that_differ_raises_no_false_alarm():
    """Two columns and the side; at most what Bonferroni's limit of 5 % allows."""
    n_studies, alarms = 150, 0
    for seed in range(n_studies):
        rng = np.random.default_rng([12, seed])
        X, effect, own = rng.normal(size=(80, 2)), rng.normal(size=80), rng.normal(size=(80, 2))
        left, right = random_pairs(rng, 80, 400)
        context = own[left] - own[right] + rng.normal(size=(400, 2))
        score = X @ [0.8, -0.5] + effect
        won = rng.random(400) < expit(score[left] - score[right] + 0.3 * context[:, 0] + 0.2)
        rows = make_rows(X, left, right, np.where(won, 1, -1), context=context, side=True)
        top = maximise_rows(rows, rows.start(np.zeros(2)), 100, 1e-8)
        found = context_of_items(rows, top, ("a", "b"))
        alarms += min(one["p_value"] for one in found.values()) <= LEVEL
    assert alarms <= binom.isf(CHANCE, n_studies, LEVEL)


def test_the_unit_of_a_feature_does_not_change_what_context_does():
    """As seen: coefficients 8 % off where one feature is 1e10 times as large as another."""
    rng = np.random.default_rng(8)
    X, left = rng.normal(size=(50, 3)), rng.integers(0, 50, 500)
    right = (left + rng.integers(1, 50, 500)) % 50
    won = rng.random(500) < expit(X[left, 0] - X[right, 0])
    votes = {
        "left": left,
        "right": right,
        "winner": np.where(won, "left", "right"),
        "c": X[left, 1] + rng.normal(size=500),
    }
    unit = np.array([1e5, 1e-5, 1.0])
    one, other = (
        RankRegression(item_effects=True, context=["c"]).fit(items, votes)
        for items in (X, X * unit)
    )
    np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-4)
    np.testing.assert_allclose(other.std_errors_ * unit, one.std_errors_, rtol=1e-4)


def test_a_context_of_zeros_is_not_called_a_property_of_the_items():
    rng = np.random.default_rng(9)
    X, left = rng.normal(size=(50, 2)), rng.integers(0, 50, 500)
    right = (left + rng.integers(1, 50, 500)) % 50
    winner = np.where(rng.random(500) < expit(X[left, 0] - X[right, 0]), "left", "right")
    votes = {"left": left, "right": right, "winner": winner, "c": np.zeros(500)}
    with pytest.warns(match="not determined"):
        model = RankRegression(context=["c"]).fit(X, votes)
    assert model.context_of_items_["c"]["in_words"] == ""


@pytest.fixture
def league():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 20, (2, 900))
    left, right = left[left != right], right[left != right]
    winner = np.where(rng.random(len(left)) < 0.6, "left", "right")
    return pd.DataFrame({"left": left, "right": right, "winner": winner})


def test_a_property_of_the_items_is_refused_beside_their_abilities(league):
    """Standard errors of 1e6, and a warning about another cause."""
    price = np.random.default_rng(1).normal(size=20)
    gap = price[league["left"]] - price[league["right"]]
    votes = league.assign(gap=gap)
    with pytest.raises(PairscoreError, match=r"'gap' is a property of the items .* abilities"):
        RankRegression(context=["gap"]).fit(None, votes)
    held = RankRegression(context=["gap"], l2=1.0).fit(None, votes)
    assert held.effects_.std_errors[0] < 5
    other = league.assign(gap=gap + np.random.default_rng(2).normal(size=len(gap)))
    assert RankRegression(context=["gap"]).fit(None, other).effects_.std_errors[0] < 1


def test_a_side_that_the_items_decide_is_refused_beside_their_abilities(league):
    odd = league["left"] % 2 > league["right"] % 2
    with pytest.raises(PairscoreError, match="the items decide who is on the left"):
        RankRegression(side_effect=True).fit(None, league[odd])
    assert RankRegression(side_effect=True).fit(None, league).side_effect_ is not None
