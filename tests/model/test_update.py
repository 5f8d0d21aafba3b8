"""New votes: a model goes on from where it stands, to where a fit of everything ends."""

import numpy as np
import pandas as pd
import pytest

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.errors import SeparationWarning
from tests.effects.simulators import judged_votes

FEATURES = ["a", "b", "c"]


def tables(seed=0, n=80, m=1500, **given):
    X, votes = judged_votes(np.random.default_rng(seed), n=n, m=m, **given)
    items = pd.DataFrame(X, columns=FEATURES).assign(id=[f"item {row}" for row in range(n)])
    votes = pd.DataFrame(votes)
    for side in ("left", "right"):
        votes[side] = items["id"].to_numpy()[votes[side]]
    return items, votes


def same(one, other, atol=1e-7):
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
    same(
        model,
        RankRegression(**settings).fit(items, votes),
        atol=2e-5 if "judge_slopes" in settings else 1e-7,
    )
    assert not np.array_equal(model.coef_, old)


def test_a_warm_start_takes_fewer_steps():
    items, votes = tables(m=4000)
    model = RankRegression(inference=None).fit(items, votes[:3990])
    cold = RankRegression(inference=None).fit(items, votes)
    assert model.update(votes[3990:]).n_iter_ < cold.n_iter_


def test_new_items_come_with_their_votes():
    items, votes = tables()
    early = set(items["id"][:60])
    known = votes["left"].isin(early) & votes["right"].isin(early)
    ordered = pd.concat([votes[known], votes[~known]])
    model = RankRegression().fit(items[:60], votes[known]).update(votes[~known], items[60:])
    same(model, RankRegression().fit(items, ordered))
    assert model.n_items_ == 80
    with pytest.raises(PairscoreError, match="repeats an id"):
        model.update(votes[:3], items[:1])
    with pytest.raises(PairscoreError, match="unknown item"):
        RankRegression().fit(items[:60], votes[known]).update(votes[~known])


def test_the_data_travel_in_the_file_if_asked(tmp_path):
    items, votes = tables(tie=0.3)
    settings = {"context": ["rest"], "ties": "davidson"}
    model = RankRegression(**settings).fit(items, votes[:1000])
    model.save(tmp_path / "with.npz", data=True)
    model.save(tmp_path / "without.npz")
    again = load(tmp_path / "with.npz")
    again.update(votes[1000:])
    same(again, RankRegression(**settings).fit(items, votes))
    with pytest.raises(PairscoreError, match="save it with data=True"):
        load(tmp_path / "without.npz").update(votes[1000:])
    assert (tmp_path / "without.npz").stat().st_size < (tmp_path / "with.npz").stat().st_size / 3


def test_weights_counts_and_judges_of_both_parts():
    items, votes = tables()
    plain, counted = (
        votes[:700].drop(columns="judge"),
        votes[700:].drop(columns="judge").assign(count=2),
    )
    model = RankRegression().fit(items, plain).update(counted)
    same(model, RankRegression().fit(items, pd.concat([plain.assign(count=1), counted])))
    with pytest.raises(PairscoreError, match="only some of the votes say who judged"):
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


def test_odd_ids_are_not_kept_in_a_file(tmp_path):
    items, votes = tables(n=30, m=200)
    mixed = items.assign(
        id=[("a", number) if number == 0 else name for number, name in enumerate(items["id"])]
    )
    data = Comparisons.from_frames(mixed, votes[~votes.isin(["item 0"]).any(axis=1)])[0]
    model = RankRegression(inference="model").fit(data)
    with pytest.raises(PairscoreError, match="neither all text nor all numbers"):
        model.save(tmp_path / "m.npz", data=True)
    assert not (tmp_path / "m.npz").exists()


def test_groups_are_remembered(tmp_path):
    items, votes = tables(m=1500)
    groups = [row // 8 for row in range(80)]
    whole = RankRegression(l2="auto").fit(items, votes, item_groups=groups)
    model = RankRegression(l2="auto").fit(items, votes[:900], item_groups=groups)
    model.save(tmp_path / "m.npz", data=True)
    for one in (model, load(tmp_path / "m.npz")):
        assert one.update(votes[900:]).l2_ == pytest.approx(whole.l2_, rel=1e-9)
    assert RankRegression(l2="auto").fit(items, votes).l2_ != pytest.approx(whole.l2_, rel=1e-9)
    more = items[:1].assign(id="another")
    with pytest.raises(PairscoreError, match="give item_groups for all items"):
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
    same(model, whole, atol=1e-2)  # the ridge that stands in for the maximum is flat there


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
