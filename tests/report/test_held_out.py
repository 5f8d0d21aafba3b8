"""Held-out trials, calibration and prospects against naive twins."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, norm
from scipy.stats import t as student
from sklearn.model_selection import cross_val_score
from statsmodels.stats.proportion import proportion_confint

from pairscore import (
    Comparisons,
    ItemKFold,
    PairscoreError,
    RankRegression,
)
from pairscore.core.links import get_link
from pairscore.evaluation.measures import calibration_bins
from pairscore.messages import Setting
from pairscore.report.checks import side_z
from pairscore.report.facts import report_facts
from pairscore.report.held_out import item_folds, pair_folds, try_methods, wrong_share
from pairscore.report.page import report_html
from tests.limits import CHANCE
from tests.report.conftest import (
    assert_whole,
    draw_counted_study,
    draw_study,
    facts_of,
    read_comparisons,
)
from tests.report.test_more_comparisons import compared, draw_abilities

LOGIT = get_link("logit")


@pytest.mark.parametrize("weights", [False, True])
def test_a_count_is_so_many_comparisons_and_a_weight_is_not(weights):
    items, rows, single = draw_counted_study(weights=weights)
    found = []
    for votes in (rows, single):
        data = read_comparisons(items, votes)
        p = RankRegression(inference=None).fit(items, votes).predict_proba(data)[:, 1]
        found.append(
            [
                side_z(data, p, p * (1 - p)),
                *(
                    end
                    for one in calibration_bins(p, data)
                    for end in (one.observed_low, one.observed_high)
                ),
            ]
        )
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    as_weights = {
        ("weight" if name == "count" else name): values
        for name, values in rows.items()
        if name != "weight"
    }
    data = read_comparisons(items, as_weights)
    p = p[np.cumsum(rows["count"]) - 1]
    # a hundred comparisons, some of them important
    assert abs(side_z(data, p, p * (1 - p))) < 0.5 * abs(found[0][0])


def test_held_out_accuracy_is_that_of_a_loop_over_folds_and_of_scikit_learn():
    items, votes = draw_study(80, 1500, ties=True, weights=True)
    data = read_comparisons(items, votes)
    model = RankRegression().fit(items, votes)
    trials, held_out, own = try_methods(model, data)
    right = total = tested = 0.0
    for train, test in ItemKFold(5).split(data):
        fitted = RankRegression(inference=None).fit(data[train])
        for m in test:
            tested += data.amount[m]
            if data.outcome[m] != 0:
                gap = (
                    data.items.values[data.left[m]] - data.items.values[data.right[m]]
                ) @ fitted.coef_
                right += data.amount[m] * ((gap > 0) == (data.outcome[m] > 0))
                total += data.amount[m]
    mine = next(trial for trial in trials if trial.method == "mle")
    assert mine.held_out == pytest.approx(right / total)
    assert held_out.n_tested == pytest.approx(tested)
    np.testing.assert_allclose(
        mine.folds,
        cross_val_score(RankRegression(inference=None), data, data.outcome, cv=ItemKFold(5)),
    )
    assert mine.in_sample == pytest.approx(model.agreement_)
    assert np.isfinite(own).sum() == sum(len(test) for _, test in ItemKFold(5).split(data))


@pytest.mark.parametrize("seed", range(3))
def test_answers_by_coin_are_called_like_coins_when_held_out_though_not_in_sample(seed):
    items, votes = draw_study(100, 1500, d=40, seed=seed)
    votes["winner"] = np.random.default_rng(seed).choice(["left", "right"], 1500)
    trials, held_out, _ = try_methods(
        RankRegression().fit(items, votes), read_comparisons(items, votes)
    )
    for trial in trials[1:]:
        assert abs(trial.held_out - 0.5) * 2 * np.sqrt(held_out.n_tested) < norm.isf(1e-6)
        assert trial.in_sample > 0.525  # the rival flatters: 0.57, give or take 0.008


def test_the_methods_are_those_of_separate_fits_and_split_needs_a_second_half():
    items, votes = draw_study(80, 2000, spare=60)
    data = read_comparisons(items, votes)
    trials = try_methods(RankRegression("pooled").fit(items, votes), data)[0]
    assert [trial.method for trial in trials] == ["split", "pooled", "paired", "mle"]
    X = data.items.values[data.compared]
    scores = [X @ RankRegression(trial.method).fit(items, votes).coef_ for trial in trials]
    degrees = np.degrees(np.arccos(np.clip(np.corrcoef(scores), -1, 1)))
    np.testing.assert_allclose([trial.degrees for trial in trials], degrees, atol=1e-4)
    without = try_methods(
        RankRegression("mle").fit(*draw_study(80, 2000)), read_comparisons(*draw_study(80, 2000))
    )[0]
    assert "items" in without[0].reason
    assert not any(trial.reason for trial in without[1:])
    assert all(len(trial.degrees) == 3 for trial in without[1:])


def test_few_comparisons_get_fewer_folds_and_none_get_a_reason():
    few = read_comparisons(*draw_study(6, 40))
    folds, reason = item_folds(few)
    assert (2 <= len(folds) <= 5, reason) == (True, "")
    one = Comparisons(
        np.arange(4.0)[:, None], np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([1, 1, -1])
    )
    folds, reason = item_folds(one)
    assert folds == []
    assert "no" in reason


@pytest.mark.parametrize("failing", ["paired", "mle"])
def test_a_fold_that_cannot_be_fitted_costs_its_method_the_held_out_figure_only(
    failing, monkeypatch
):
    items, votes = draw_study(60, 900)
    model = RankRegression().fit(items, votes)
    whole, *_ = try_methods(model, read_comparisons(items, votes))
    fit = RankRegression.fit

    def refuse(self, data):
        if self.method == failing and len(data) < 900:
            raise PairscoreError("the fold is too small", "set " + Setting("l2", 2.0))
        return fit(self, data)

    monkeypatch.setattr(RankRegression, "fit", refuse)
    trials, held_out, own = try_methods(model, read_comparisons(items, votes))
    for trial, before in zip(trials, whole, strict=True):
        assert (trial.method, trial.degrees, trial.reason) == (
            before.method,
            before.degrees,
            before.reason,
        )
        assert trial.in_sample == pytest.approx(before.in_sample, nan_ok=True)
        assert np.isnan(trial.held_out) == (trial.method in ("split", failing))
    assert held_out.reason == (
        "without them, the fold is too small; set ridge 2." if failing == "mle" else ""
    )
    assert np.isfinite(own).any() == (failing != "mle")
    text = report_html(report_facts(model, items, votes))
    assert_whole(text)
    assert "<th>held out</th>" in text


def test_a_feature_that_only_one_item_has_may_be_constant_in_a_fold():
    items, votes = draw_study(60, 900)
    items = {"id": items["id"], "x": (np.arange(60) == 7).astype(float)}
    facts = facts_of(items, votes)
    assert_whole(report_html(facts))
    assert [trial.method for trial in facts.trials if not trial.reason] == [
        "pooled",
        "paired",
        "mle",
    ]


# -- how often it is wrong -------------------------------------------------------------------------


def test_how_often_it_is_wrong_on_new_items_is_counted_with_its_interval():
    """Against loops: the share, and the error with every two comparisons that share an item."""
    rng = np.random.default_rng(0)
    items, votes = draw_study(15, 120, ties=True, weights=True)
    data = read_comparisons(items, votes)
    p = np.where(rng.random(len(data)) < 0.2, np.nan, rng.random(len(data)))
    rows = [m for m in range(len(data)) if np.isfinite(p[m]) and data.outcome[m] != 0]
    total = sum(data.amount[m] for m in rows)
    wrong = {m: float((p[m] > 0.5) != (data.outcome[m] > 0)) for m in rows}
    share = sum(data.amount[m] * wrong[m] for m in rows) / total
    psi = {m: data.amount[m] * (wrong[m] - share) / total for m in rows}
    ends = {m: (int(data.left[m]), int(data.right[m])) for m in rows}
    weight = np.zeros(15)
    for m in rows:
        weight[list(ends[m])] += data.amount[m] / total
    sums = np.zeros(15)
    pairs = {}
    for m in rows:
        sums[list(ends[m])] += psi[m]
        key = tuple(sorted(ends[m]))
        pairs[key] = pairs.get(key, 0.0) + psi[m]
    robust = np.sum((sums / (1 - weight)) ** 2) - sum(value**2 for value in pairs.values())
    alone = sum(psi[m] ** 2 / data.count[m] for m in rows)
    found = wrong_share(p, data)
    assert (found.share, found.number) == pytest.approx((share, total))
    n_items = len({item for m in rows for item in ends[m]})
    worth = share * (1 - share) / max(robust, alone)
    worth *= (norm.ppf(0.975) / student.ppf(0.975, n_items - 1)) ** 2
    interval = proportion_confint(share * worth, worth, method="wilson")
    assert (found.low, found.high) == pytest.approx(interval)
    assert found.is_enough == (worth >= 20)
    assert np.isnan(wrong_share(np.full(len(data), np.nan), data).share)


def test_the_interval_of_wrong_predictions_holds_the_true_share():
    """Of new items: what the fit of each study gets wrong on 20 000 fresh comparisons.

    Folds learn from fewer comparisons, so that the share is a little larger than the truth.
    """
    held, n_studies = 0, 40
    for seed in range(n_studies):
        rng = np.random.default_rng(seed)
        X, data = rng.normal(size=(2000, 3)) + 2, read_comparisons(*draw_study(60, 1500, seed=seed))
        make = partial(RankRegression, inference=None)
        probability = np.full(len(data), np.nan)
        for train, test in item_folds(data)[0]:
            probability[test] = make().fit(data[train]).predict_proba(data[test])[:, 1]
        found = wrong_share(probability, data)
        left, right = rng.integers(0, 2000, (2, 20_000))
        won = rng.random(20_000) < expit(X[left, 0] - X[right, 0])
        truth = np.mean(((X[left] - X[right]) @ make().fit(data).coef_ > 0) != won)
        held += found.low <= truth <= found.high
    assert held >= binom.ppf(CHANCE, n_studies, 0.93)


@pytest.mark.parametrize(("n_items", "n_comparisons"), [(15, 40), (30, 100)])
def test_the_interval_of_few_and_clear_tests_holds_the_true_share(n_items, n_comparisons):
    """Where almost every test is predicted correctly, what the fits of the folds get wrong."""
    held, n_studies = 0, 60
    for seed in range(n_studies):
        rng = np.random.default_rng([seed, n_items])
        X = rng.normal(size=(n_items, 3))
        left = rng.integers(0, n_items, n_comparisons)
        right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
        won = rng.random(n_comparisons) < expit((X[left] - X[right]) @ [4.5, 2.2, -3.1])
        votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
        data = read_comparisons(X, votes)
        new, other = rng.normal(size=(2, 4000, 3))
        left_wins = expit((new - other) @ [4.5, 2.2, -3.1])
        probability, wrong = np.full(len(data), np.nan), []
        for train, test in item_folds(data)[0]:
            fit = RankRegression(inference=None).fit(data[train])
            probability[test] = fit.predict_proba(data[test])[:, 1]
            favourite = (new - other) @ fit.coef_ > 0
            wrong += [np.mean(np.where(favourite, 1 - left_wins, left_wins))] * len(test)
        found = wrong_share(probability, data)
        held += found.low <= np.mean(wrong) <= found.high
    assert held >= binom.ppf(CHANCE, n_studies, 0.93)


# -- items without features ------------------------------------------------------------------------


def test_abilities_are_tested_on_pairs_that_the_fit_has_not_seen():
    """By a loop over the folds; the log-loss is that of the decided comparisons."""
    rng, ability, left, right = draw_abilities(1)
    votes = {"left": left, "right": right, "winner": compared(rng, ability, left, right)}
    model = RankRegression().fit(None, votes)
    data, tested, loss = model.comparisons_, 0, 0.0
    for train, test in pair_folds(data)[0]:
        assert not {*data.pair[train]} & {*data.pair[test]}
        p = RankRegression().fit(data[train]).predict_proba(data[test])[:, 1]
        loss -= np.sum(np.log(np.where(data.outcome[test] > 0, p, 1 - p)))
        tested += len(test)
    facts = report_facts(model, None, votes)
    assert facts.wrong.number == tested
    assert facts.wrong.log_loss == pytest.approx(loss / tested, rel=1e-9)
    assert f"log-loss {loss / tested:.3f}, of a coin toss 0.693" in facts.of_new_items[0]
