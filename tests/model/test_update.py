"""More votes and items for a fitted model: the same as a fit of everything."""

import numpy as np
import pandas as pd
import pytest

from pairscore import PairscoreError, RankRegression, load
from pairscore.errors import SeparationWarning
from tests.model.test_fit import FEATURES, tables


def assert_same(one, other, atol=1e-7):
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.std_errors_, other.std_errors_, atol=atol)
    assert one.n_comparisons_ == other.n_comparisons_
    assert one.record_["fingerprint"] == other.record_["fingerprint"]
    assert one.l2_ == pytest.approx(other.l2_, rel=1e-9)
    assert one.side_effect_ == pytest.approx(other.side_effect_, abs=atol)
    if other.effects_ is not None:
        np.testing.assert_allclose(one.effects_.values, other.effects_.values, atol=atol)
        np.testing.assert_allclose(one.effects_.std_errors, other.effects_.std_errors, atol=atol)
    if other.judges_ is not None:
        # the spread is settled to one in a hundred
        np.testing.assert_allclose(one.judges_.slope, other.judges_.slope, atol=50 * atol)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"method": "paired"},
        {"method": "pooled", "side_effect": True},
        {"l2": "auto"},
        {"link": "probit", "l2": 2.0},
        {"context": ["rest"], "judge_slopes": True, "ties": "rao-kupper"},
    ],
)
def test_an_update_is_a_fit_of_everything(settings):
    items, votes = tables(tie=0.3)
    model = RankRegression(**settings).fit(items, votes[:1000])
    old = model.coef_
    model.update(votes[1000:1200]).update(votes[1200:])
    assert_same(
        model,
        RankRegression(**settings).fit(items, votes),
        atol=2e-5 if "judge_slopes" in settings else 1e-7,
    )
    assert not np.array_equal(model.coef_, old)


def test_a_warm_start_takes_fewer_steps():
    items, votes = tables(m=800)
    model = RankRegression(inference=None).fit(items, votes[:780])
    cold = RankRegression(inference=None).fit(items, votes)
    assert model.update(votes[780:]).n_iter_ < cold.n_iter_


@pytest.mark.parametrize(
    "settings",
    [
        {"side_effect": True},
        {"ties": "davidson", "context": ["rest"]},
        {"judge_slopes": True},
        {"item_effects": True},
        {"item_effects": True, "side_effect": True, "ties": "rao-kupper"},
        {"item_effects": True, "judge_slopes": True},
    ],
)
def test_a_few_new_votes_take_a_few_steps_and_give_the_fit_of_all(settings):
    items, votes = tables(m=6000, tie=0.3, slopes=np.linspace(0.4, 1.6, 12))
    items = items.drop(columns="c")  # which the items' effects have
    model = RankRegression(**settings).fit(items, votes[:5990]).update(votes[5990:])
    assert_like_a_fit_of_all(model, RankRegression(**settings).fit(items, votes))


def test_a_few_new_votes_on_items_without_features_take_a_few_steps():
    _, votes = tables(m=6000, tie=0.3)
    model = RankRegression().fit(None, votes[:5990]).update(votes[5990:])
    assert_like_a_fit_of_all(model, RankRegression().fit(None, votes))


def assert_like_a_fit_of_all(model, whole):
    """In fewer steps, and within what the steps leave: a thousandth of each standard error."""
    assert model.n_iter_ < whole.n_iter_
    assert model.record_["fingerprint"] == whole.record_["fingerprint"]
    assert np.all(np.abs(model.coef_ - whole.coef_) < 1e-3 * whole.std_errors_)
    np.testing.assert_allclose(model.std_errors_, whole.std_errors_, rtol=1e-3)
    if whole.effects_ is not None:
        off = model.effects_.values - whole.effects_.values
        assert np.all(np.abs(off) < 1e-3 * whole.effects_.std_errors)
    if whole.item_effects_ is not None:
        one, other = model.item_effects_, whole.item_effects_
        assert np.all(np.abs(one.effect - other.effect) < 1e-3 * other.std_error)
        assert one.sigma2 == pytest.approx(other.sigma2, rel=1e-3)
        np.testing.assert_allclose(one.interval, other.interval, rtol=1e-3)
    if whole.judges_ is not None:
        off = np.abs(model.judges_.slope - whole.judges_.slope)
        assert np.all(off < 0.01 * whole.judges_.std_error)


def test_new_items_come_with_their_votes():
    items, votes = tables()
    early = set(items["id"][:60])
    known = votes["left"].isin(early) & votes["right"].isin(early)
    ordered = pd.concat([votes[known], votes[~known]])
    model = RankRegression().fit(items[:60], votes[known]).update(votes[~known], items[60:])
    assert_same(model, RankRegression().fit(items, ordered))
    assert model.n_items_ == 80
    with pytest.raises(PairscoreError, match="repeats an id"):
        model.update(votes[:3], items[:1])
    with pytest.raises(PairscoreError, match="unknown item"):
        RankRegression().fit(items[:60], votes[known]).update(votes[~known])


def test_weights_counts_and_judges_of_both_parts():
    items, votes = tables()
    plain, counted = (
        votes[:700].drop(columns="judge"),
        votes[700:].drop(columns="judge").assign(count=2),
    )
    model = RankRegression().fit(items, plain).update(counted)
    assert_same(model, RankRegression().fit(items, pd.concat([plain.assign(count=1), counted])))
    with pytest.raises(PairscoreError, match="only some of the comparisons say who judged"):
        RankRegression().fit(items, plain).update(votes[700:])


def test_what_cannot_be_updated():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(X @ [1.0, -1.0] + np.random.default_rng(1).normal(size=40) > 0, 1, -1)
    with pytest.raises(PairscoreError, match="no comparisons to add to"):
        RankRegression().fit(X, y).update(np.array([[0, 1]]))
    with pytest.raises(PairscoreError, match="no comparisons to save"):
        RankRegression().fit(X, y).save("never.npz", data=True)
    items, _ = tables()
    model = RankRegression().fit(
        items[FEATURES].to_numpy(),
        np.array([[0, 1], [1, 2], [2, 0], [3, 1], [0, 3], [1, 0], [4, 2]]),
    )
    with pytest.raises(PairscoreError, match="where all have ids"):
        model.update(np.array([[0, 80]]), items[FEATURES].to_numpy()[:1])


def test_groups_are_remembered(tmp_path):
    items, votes = tables(m=1500)
    groups = [row // 8 for row in range(80)]
    whole = RankRegression(l2="auto").fit(items, votes, item_groups=groups)
    model = RankRegression(l2="auto").fit(items, votes[:900], item_groups=groups)
    model.save(tmp_path / "m.npz", data=True)
    for one in (model, load(tmp_path / "m.npz")):
        updated = one.update(votes[900:])
        np.testing.assert_allclose(updated.ridge_curve_.loss, whole.ridge_curve_.loss, rtol=1e-9)
        assert updated.l2_ == pytest.approx(whole.l2_, rel=1e-9)
    alone = RankRegression(l2="auto").fit(items, votes)
    assert not np.allclose(alone.ridge_curve_.loss, whole.ridge_curve_.loss, rtol=1e-6)
    more = items[:1].assign(id="another")
    with pytest.raises(PairscoreError, match="pass the groups of all items to update"):
        model.update(votes[:1].assign(left="another", right="item 1"), more)


@pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
def test_separation_is_seen_in_an_update_too():
    items, votes = tables(m=1500)
    beaten = items.assign(worst=(items["id"] == "item 3").astype(float))
    loses = (votes["left"] == "item 3") | (votes["right"] == "item 3")
    votes.loc[loses, "winner"] = np.where(votes.loc[loses, "left"] == "item 3", "right", "left")
    with pytest.warns(SeparationWarning):
        whole = RankRegression().fit(beaten, votes)
    with pytest.warns(SeparationWarning):
        model = RankRegression().fit(beaten, votes[:700])
    with pytest.warns(SeparationWarning):
        model.update(votes[700:])
    assert_same(model, whole, atol=1e-2)  # the ridge that stands in for the maximum is flat there


def test_an_update_refuses_what_a_fit_refuses():
    items, votes = tables(n=60, m=300)
    model = RankRegression(side_effect=True).fit(items, votes.drop(columns="judge"))
    with pytest.raises(PairscoreError, match="these only say winner and loser"):
        model.update(pd.DataFrame({"winner": ["item 1"], "loser": ["item 2"]}))
    assert model.n_comparisons_ == 300


def test_item_effects_are_updated_too():
    items, votes = tables(m=1500)
    whole = RankRegression(item_effects=True).fit(items, votes)
    model = RankRegression(item_effects=True).fit(items, votes[:900]).update(votes[900:])
    assert model.item_effects_.sigma2 == pytest.approx(whole.item_effects_.sigma2, abs=1e-5)
    np.testing.assert_allclose(model.item_effects_.effect, whole.item_effects_.effect, atol=1e-4)
    weighed = RankRegression(item_effects=True).fit(items, votes.assign(weight=1e-3))
    np.testing.assert_allclose(weighed.std_errors_, whole.std_errors_, rtol=0.05)
    assert weighed.item_effects_.sigma2 == pytest.approx(whole.item_effects_.sigma2, abs=1e-3)


def test_dropped_ties_come_back_in_an_update():
    items, votes = tables(tie=0.6, rule="davidson")
    whole = RankRegression(ties="drop").fit(items, votes)
    updated = RankRegression(ties="drop").fit(items, votes[:900]).update(votes[900:])
    assert_same(updated, whole)
    assert updated.tie_share_ == pytest.approx(np.mean(votes["winner"] == "tie"))
