"""auto_fit: what a study has is found, what it has not is left out, and the table says so."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from pairscore import Comparisons, PairscoreError, Population, RankRegression, auto_fit
from pairscore.effects.item_effects import ItemEffectsTest
from pairscore.estimators.ridge_choice import choose_ridge
from pairscore.evaluation.compare import drop_features, left_probability
from pairscore.evaluation.held_out import HeldOutTests, hold_out
from pairscore.evaluation.measures import Score
from tests.effects.simulators import judged_votes


def draw(seed, n=80, m=1500, d=3, slopes=None, side=0.0, tie=None, item_sd=0.0, judge=False):
    """Comparisons of items of which something is known beyond three features, or nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ np.linspace(1, -1, d) / np.sqrt(d / 3) + item_sd * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    who = rng.integers(0, 6, m)
    sharp = np.ones(6) if slopes is None else slopes
    p = 1 / (1 + np.exp(-sharp[who] * (score[left] - score[right]) - side))
    outcome = np.where(rng.random(m) < p, 1, -1)
    if tie is not None:
        outcome = np.where(rng.random(m) < tie, 0, outcome)
    return Comparisons(X, left, right, outcome, judge=who if judge else None)


def quietly(*args, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return auto_fit(*args, **given)


def test_a_plain_study_gets_the_plain_model():
    """A setting that is of no use stays by chance in one of six cases at most: a few of many do."""
    added = [len(quietly(draw(seed)).settings) for seed in range(12)]
    assert np.mean(added) < 1


@pytest.mark.parametrize(
    ("has", "setting"),
    [
        ({"slopes": np.array([3.0, 2.0, 1.0, 0.0, 0.0, 0.0]), "judge": True}, "judge_slopes"),
        ({"side": 1.0}, "side_effect"),
        ({"item_sd": 2.0}, "item_effects"),
        ({"d": 60, "m": 400}, "l2"),
    ],
)
def test_what_a_study_has_is_found(has, setting):
    choice = quietly(draw(1, **has))
    assert setting in choice.settings
    found = next(trial for trial in choice.trials if trial.added == (setting,))
    assert found.kept
    assert found.gain.value > 0
    assert all(name in str(choice) for name in ("plain", "kept", "Chosen: the model with"))


def test_what_is_chosen_is_the_same_to_the_last_bit_for_any_n_jobs():
    data, told = draw(1, d=20, m=400, judge=True), []
    one = quietly(data, progress=lambda done, total: told.append(done / total))
    two = quietly(data, n_jobs=2)
    assert str(one) == str(two)
    assert np.array_equal(one.model.coef_, two.model.coef_)
    for a, b in zip(one.trials, two.trials, strict=True):
        assert repr(a) == repr(b)
    assert told == sorted(told)
    assert len(told) == len(one.trials)
    assert told[-1] < 1


def test_the_ridge_of_a_fold_is_chosen_once_and_is_the_same_with_more_settings(monkeypatch):
    data, calls = draw(1, d=60, m=400, judge=True), []

    def counted(*args):
        calls.append(args)
        return choose_ridge(*args)

    monkeypatch.setattr("pairscore.estimators.ridge_choice.choose_ridge", counted)
    choice = quietly(data)
    tried = [trial for trial in choice.trials if "l2" in trial.settings]
    tested = [trial for trial in tried if np.isfinite(trial.loss.value)]
    assert {name for trial in tried for name in trial.added} == {
        "l2",
        "item_effects",
        "judge_slopes",
    }
    assert len(tested) >= 2
    assert len(calls) == 3 + 1  # folds, and the model itself
    tests = HeldOutTests.of(data, choice.use, hold_out(data, choice.use, 0))
    for trial in tested:
        anew = [
            left_probability(
                RankRegression(**trial.settings | {"inference": None}), data[train], data[test]
            )
            for train, test in tests.folds
        ]
        assert trial.loss.value == pytest.approx(tests.loss(anew).score.value, rel=1e-12)


def test_more_features_than_items_start_with_a_ridge():
    choice = quietly(draw(2, n=30, d=40, m=300))
    assert choice.trials[0].reason
    assert choice.trials[1].added == ("l2",)
    assert choice.trials[1].kept


def test_slips_are_found_where_there_are_some():
    data = draw(4, n=200, m=4000, d=2)
    rng = np.random.default_rng(0)
    X = 3 * data.items.values
    eta = X @ np.ones(2) / 2
    p = 1 / (1 + np.exp(-(eta[data.left] - eta[data.right])))
    outcome = np.where(rng.random(4000) < 0.07 + 0.86 * p, 1, -1)
    choice = quietly(Comparisons(X, data.left, data.right, outcome))
    assert choice.settings["lapse"] == "auto"
    assert choice.model.lapse_.rate == pytest.approx(0.07, abs=0.03)
    few = quietly(draw(4, m=300))
    assert ("lapse",) not in {trial.added for trial in few.trials}


def test_settings_that_are_given_are_not_tried():
    data = draw(3, side=1.0, tie=0.2)
    choice = quietly(data, side_effect=False, ties="drop", item_effects=False, lapse=0.0)
    assert {trial.added for trial in choice.trials} <= {(), ("l2",)}
    assert choice.model.ties == "drop"
    assert "ties" not in choice.settings


def test_the_model_is_that_of_a_fit_with_the_chosen_settings():
    data = draw(4, side=1.0)
    choice = quietly(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_hand = RankRegression(**choice.settings).fit(data)
    np.testing.assert_array_equal(choice.model.coef_, by_hand.coef_)
    assert choice.model.std_errors_ is not None


def test_the_gain_is_that_of_the_same_folds_by_hand():
    """The naive twin: log-losses of two models on each held-out comparison."""
    data = draw(5, side=1.0)
    choice = quietly(data, use="known", item_effects=False, l2=0.0)
    losses = []
    for settings in ({}, {"side_effect": True}):
        parts = []
        for train, test in hold_out(data, "known", 0):
            model = RankRegression(**settings, inference=None).fit(data[train])
            p, won = model.predict_proba(data[test])[:, 1], data.outcome[test] > 0
            parts.append(-np.log(np.where(won, p, 1 - p)))
        losses.append(np.concatenate(parts).mean())
    side = choice.trials[1]
    assert side.gain.value == pytest.approx(losses[0] - losses[1], rel=1e-9)
    assert choice.n_tested == len(np.concatenate(parts))


def test_items_without_comparisons_are_what_a_model_is_for():
    data = draw(6)
    more = Comparisons(
        np.vstack([data.items.values, np.ones((1, 3))]), data.left, data.right, data.outcome
    )
    assert quietly(data).use == "known"
    assert quietly(more).use == "new"


@pytest.mark.parametrize("use", ["known", "new"])
def test_no_held_out_comparison_was_trained_on(use):
    data = draw(7)
    for train, test in hold_out(data, use, 0):
        pairs = set(data.pair[train].tolist())
        assert pairs.isdisjoint(data.pair[test].tolist())
        known = data[train].compared
        touched = known[data.left[test]] & known[data.right[test]]
        assert touched.all() if use == "known" else not touched.any()


def test_votes_without_sides_have_no_side_to_try():
    X, votes = judged_votes(np.random.default_rng(8), m=400)
    won = votes["winner"] == "left"
    winners = {
        "winner": np.where(won, votes["left"], votes["right"]),
        "loser": np.where(won, votes["right"], votes["left"]),
    }
    assert ("side_effect",) not in {trial.added for trial in quietly(X, winners).trials}


def test_what_cannot_be_done_is_said():
    with pytest.raises(PairscoreError, match="use is 'old'; use 'known', 'new' or None"):
        auto_fit(draw(9), use="old")
    with pytest.raises(PairscoreError, match="too few to hold some out"):
        quietly(Comparisons(np.eye(2), [0], [1], [1]), use="known")


def test_the_record_has_every_trial():
    choice = quietly(draw(10, tie=0.2))
    record = choice.to_record()
    assert [trial["model"] for trial in record["trials"]] == [t.name for t in choice.trials]
    assert record["in_words"] == choice.in_words
    assert record["for"] == "known"


def test_ties_that_disturb_are_left_out():
    """Where distant items tie as often as near ones, half wins say less of items than none."""
    rng = np.random.default_rng(12)
    X, n, m = rng.normal(size=(60, 2)), 60, 2400
    score = X @ [1.0, -1.0] + 2 * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    gap = score[left] - score[right]
    outcome = np.where(rng.random(m) < 1 / (1 + np.exp(-gap)), 1, -1)
    outcome = np.where(rng.random(m) < 0.6 * (np.abs(gap) > 2), 0, outcome)
    choice = quietly(Comparisons(X, left, right, outcome))
    assert choice.settings["ties"] == "drop"
    assert "ties left out" in choice.in_words


def test_what_auto_fit_does_not_know_is_said():
    with pytest.raises(PairscoreError, match="there is no setting 'tie'; the settings of a model"):
        auto_fit(draw(9), tie="drop")
    with pytest.raises(PairscoreError, match="every comparison is a tie"):
        auto_fit(Comparisons(np.eye(3), [0, 1, 2], [1, 2, 0], [0, 0, 0]))
    with pytest.raises(PairscoreError, match="too few to hold some out"):
        quietly(Comparisons(np.eye(2), [0, 1], [1, 0], [1, -1]), use="new")


@pytest.mark.parametrize(("side", "sign"), [("left", 1), ("right", -1)])
def test_a_side_that_won_every_comparison_is_said(side, sign):
    data = draw(0, m=400)
    ends = np.where(data.outcome == sign, (data.left, data.right), (data.right, data.left))
    one_sided = Comparisons(data.items, *ends, np.full(len(data), sign))
    (trial,) = [one for one in quietly(one_sided).trials if one.added == ("side_effect",)]
    assert not trial.kept
    assert f"the {side} item won every decided comparison" in str(trial.reason)


def test_judges_missing_in_some_rows_are_counted_in_all_of_them():
    """A fold has fewer, and other row numbers."""
    data = draw(0, m=300, judge=True)
    judge = data.judge.astype(object)
    judge[::10] = None
    gappy = Comparisons(data.items, data.left, data.right, data.outcome, judge=judge)
    (trial,) = [one for one in quietly(gappy).trials if one.added == ("judge_slopes",)]
    assert "the judge is missing in 30 rows (row 0, row 10, row 20" in str(trial.reason)


def test_no_more_comparisons_are_tested_than_there_are():
    """With new items a comparison is tested in the fold of either item: 853 of 800, it said."""
    data = draw(3, n=30, m=120)
    choice = quietly(data, use="new", item_effects=False, l2=0.0)
    assert choice.n_tested <= 120


def test_item_effects_that_only_all_comparisons_show_are_told():
    choice = quietly(draw(1, item_sd=2.0), use="known")
    trial = next(one for one in choice.trials if one.added == ("item_effects",))
    unseen = replace(trial, gain=Score(0.0, 0.0), kept=True)
    others = [one for one in choice.trials if one is not trial]
    words = replace(choice, trials=(*others, unseen)).in_words
    assert "seen in all comparisons together, but not in the trials" in words
    assert "not in the trials" not in choice.in_words


def test_a_setting_that_is_kept_without_a_gain_says_why():
    """A table had "-0.0008 ± 0.0052 kept", and the summary no reason for item effects."""
    choice = quietly(draw(1, item_sd=2.0), use="known")
    trial = next(one for one in choice.trials if one.added == ("item_effects",))
    assert trial.verdict == "kept"
    lossy = replace(trial, gain=Score(-0.001, 0.005))
    assert lossy.verdict == "kept: items differ beyond their features (p < 0.0001)"
    slopes = replace(lossy, added=("judge_slopes",), effects_test=None)
    assert slopes.verdict == "kept: in all comparisons together, judges clearly differ"
    assert replace(trial, gain=Score(np.nan, np.nan)).verdict == "kept"


def test_item_effects_are_said_to_be_used_also_where_slopes_were_added_later():
    data = draw_with_a_coin(1, n=50, m=900, item_sd=1.5)[0]
    choice = quietly(data, side_effect=False, l2=0.0)
    assert choice.settings.keys() == BOTH
    assert any(trial.kept and trial.added == ("item_effects",) for trial in choice.trials)
    said = dict(choice.model.summary().facts())["item effects"]
    assert said.startswith("used, because items differ beyond their features (p ")


# -- settings that help only together --------------------------------------------------------------

BOTH = {"item_effects", "judge_slopes"}


def draw_with_a_coin(seed, n=100, m=700, item_sd=0.5, sharp=(1.5, 1.5, 0.0)):
    """Three judges, of whom one tosses a coin, and items of which features say a part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X @ [0.3, 0.1, -0.1, -0.3] + item_sd * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    who = rng.integers(0, 3, m)
    p = 1 / (1 + np.exp(-np.array(sharp)[who] * (score[left] - score[right])))
    outcome = np.where(rng.random(m) < p, 1, -1)
    return Comparisons(X, left, right, outcome, judge=who), score


def agreement_with(score, model, data):
    """Spearman's correlation of the model's scores of all items with the true ones."""
    return spearmanr(model.decision_function(data.items), score).statistic


def both_are_used(model):
    effects = model.item_effects_
    return model.judges_ is not None and effects is not None and bool(effects.sigma2 > 0)


@pytest.mark.parametrize("seed", [0, 5])
def test_settings_that_were_not_kept_one_after_the_other_are_kept_together(seed):
    """Data in which one at a time leaves the coin-tosser, or the effects, in the model."""
    data, _ = draw_with_a_coin(seed)
    choice = quietly(data, side_effect=False, l2=0.0)
    assert both_are_used(choice.model)
    assert choice.settings.keys() == BOTH


def test_a_careless_judge_and_item_effects_are_found_together_as_well_as_the_best_of_either():
    """Eight studies. The pair is missed in fewer than 1 of 10 (0 of 12 seeds were), so that more
    than 3 of 8 are missed once in 200 times. Ranks agree with the truth as well as those of the
    better single setting, which is chosen knowing the truth: the mean difference is above minus
    three of its standard errors.
    """
    found, more = [], []
    for seed in range(8):
        data, score = draw_with_a_coin(100 + seed)
        choice = quietly(data, side_effect=False, l2=0.0)
        found.append(both_are_used(choice.model))
        singles = [RankRegression(**{name: True}, inference=None) for name in BOTH]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            single = max(agreement_with(score, one.fit(data), data) for one in singles)
        more.append(agreement_with(score, choice.model, data) - single)
    assert sum(found) >= 5
    assert np.mean(more) > -3 * np.std(more, ddof=1) / np.sqrt(len(more))


def test_a_side_that_stronger_items_hide_is_found_next_to_item_effects():
    """The hidden better item stands on the right more often, so that left wins as often as right
    although it has an advantage: features alone show no side. Next to effects it is two to three
    standard errors of held-out comparisons, of which one is needed: missed in 1 of 10, and three
    times of six in 1 of 60.
    """
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, m = 80, 1200
        X, hidden = rng.normal(size=(n, 3)), 1.2 * rng.normal(size=n)
        score = X @ [1.0, -1.0, 0.5] + hidden
        a = rng.integers(0, n, m)
        b = (a + rng.integers(1, n, m)) % n
        swap = (hidden[a] > hidden[b]) & (rng.random(m) < 0.55)
        left, right = np.where(swap, (b, a), (a, b))
        p = 1 / (1 + np.exp(-(score[left] - score[right]) - 0.5))
        outcome = np.where(rng.random(m) < p, 1, -1)
        found.append("side_effect" in quietly(Comparisons(X, left, right, outcome)).settings)
    assert sum(found) >= 4


# -- the words, the table and the model agree ------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_words_table_and_model_agree(seed):
    """Effects so weak that folds and all comparisons together may see different things."""
    data, _ = draw_with_a_coin(seed, n=60, m=400, item_sd=0.4)
    choice = quietly(data)
    effects, judges = choice.model.item_effects_, choice.model.judges_
    assert (effects is not None) == ("item_effects" in choice.settings)
    assert (judges is not None) == ("judge_slopes" in choice.settings)
    assert ("item effects" in choice.in_words) == (effects is not None)
    assert effects is None or effects.sigma2 > 0
    words = choice.model.result_.item_effects_in_words
    assert words.startswith("not used") == (bool(words) and effects is None)
    assert "none seen" not in words
    kept = [trial for trial in choice.trials if trial.kept]
    assert {name for trial in kept for name in trial.added} == set(choice.settings)
    assert choice.rejected.keys().isdisjoint(choice.settings)
    assert choice.model.record_["rejected"] == choice.rejected


# -- abilities -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_comparisons_alone_get_what_they_have(seed):
    """A strong side, and fewer comparisons than abilities can be told from: both are found."""
    choice = quietly(drop_features(draw(seed, n=150, m=900, side=1.5)))
    assert choice.use == "known"
    assert choice.settings["side_effect"] is True
    assert choice.settings["item_effects"] is True
    assert "abilities shrunk by an estimated variance" in choice.in_words
    assert choice.model.n_features_in_ == 0


def test_groups_that_never_met_leave_shrunk_abilities_to_choose():
    data = drop_features(draw(0, n=20, m=600))
    choice = quietly(data[data.left % 2 == data.right % 2])
    assert "never compared with each other" in str(choice.trials[0].reason)
    assert choice.settings["item_effects"] is True


def test_a_choice_is_not_measured_against_a_plain_model_that_is_not_possible():
    data = drop_features(draw(1, n=20, m=900, side=1.5))
    choice = quietly(data[data.left % 2 == data.right % 2])
    assert choice.settings["side_effect"] is True
    assert "below that of the first possible model" in choice.in_words
    assert "plain model" not in choice.in_words
    first = next(line for line in str(choice).splitlines() if "abilities shrunk" in line)
    assert f"{choice.trials[1].loss.value:.3f}" in first


def test_nothing_is_chosen_for_new_items_drop_features():
    with pytest.raises(PairscoreError, match="nothing is known of new items"):
        auto_fit(drop_features(draw(0)), use="new")


def test_votes_alone_are_taken_with_none_for_items():
    names = np.array(list("abcdefgh"))
    rng = np.random.default_rng(0)
    left = rng.integers(0, 8, 200)
    right = (left + rng.integers(1, 8, 200)) % 8
    winner = np.where(rng.random(200) < 1 / (1 + np.exp(left - right)), "right", "left")
    choice = quietly(None, {"left": names[left], "right": names[right], "winner": winner})
    assert set(choice.model.rank()["id"]) == set(names)


def test_a_choice_is_a_table_in_a_notebook():
    items, votes = Population(n_features=2, rng=0).draw(80, 500, rng=1, second_half=False)
    choice = auto_fit(items, votes)
    page = choice._repr_html_()
    assert page.count("<tr>") == 1 + len(choice.trials)
    assert "<th>log-loss</th>" in page
    assert choice.in_words in page


# -- what is judged for new items ------------------------------------------------------------------


def test_pairs_of_two_held_out_items_are_tested_where_there_are_enough():
    data = draw(0, n=60, m=3000)
    for train, test in hold_out(data, "new", 0):
        known = data[train].compared
        assert not known[data.left[test]].any()
        assert not known[data.right[test]].any()


def test_groups_are_held_out_however_few_their_pairs_are():
    data = draw(0, n=60, m=400).with_item_groups(np.arange(60) // 5)
    for train, test in hold_out(data, "new", 0):
        known = data.item_groups[data[train].compared]
        assert not np.isin(data.item_groups[data.left[test]], known).any()
        assert not np.isin(data.item_groups[data.right[test]], known).any()


def test_of_few_pairs_one_item_may_be_known_but_is_predicted_as_a_new_one():
    data = draw(1, n=40, m=160, item_sd=2.0)
    train, test = hold_out(data, "new", 0)[0]
    assert data[train].compared[np.r_[data.left[test], data.right[test]]].any()
    tests = HeldOutTests.of(data, "new", [(train, test)])
    loss, _ = tests.measure({"item_effects": True})
    model = RankRegression(item_effects=True, inference=None).fit(data[train])
    # the same features under other names: nobody knows these items
    effects = model.item_effects_.forgotten()
    model.result_ = replace(model.result_, item_effects=effects)
    np.testing.assert_allclose(loss.chances[0], model.predict_proba(data[test])[:, 1])
    known = RankRegression(item_effects=True, inference=None).fit(data[train])
    assert np.abs(loss.chances[0] - known.predict_proba(data[test])[:, 1]).max() > 0.1  # the rival


def test_a_ridge_that_helps_a_little_stays_and_says_why():
    choice = quietly(draw(0, n=60, m=400), use="known")
    trial = next(one for one in choice.trials if one.added == ("l2",))
    little = replace(trial, gain=Score(0.001, 0.005), kept=True, effects_test=None)
    assert little.verdict == "kept: no clear gain, and a ridge that is chosen does little harm"


def test_effects_that_a_test_is_too_blind_to_see_are_tried():
    blind = ItemEffectsTest(p_value=0.3, smallest_seen=2.0, wins_of_100=88.0)
    assert blind.is_blind
    assert not blind.used
    assert not ItemEffectsTest(p_value=0.3, smallest_seen=0.3, wins_of_100=57.0).is_blind
    assert not replace(blind, estimate_is_zero=True).is_blind
