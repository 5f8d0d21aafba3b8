"""Checks of a report: residuals, shape, sides and chance against naive twins."""

import re
import warnings

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, chi2, norm

from pairscore import Comparisons, RankRegression
from pairscore.core.links import get_link
from pairscore.core.whitening import whiten
from pairscore.errors import (
    ManyFeaturesWarning,
    PairscoreWarning,
    SeparatedFeaturesWarning,
    SeparationWarning,
)
from pairscore.model.predict import expected_outcomes
from pairscore.report.checks import (
    COINS,
    REFERENCE,
    TILT,
    chance_p,
    checks,
    equal_items_p,
    item_information,
    shape_of,
    side_z,
    smallest_effect_seen,
    smallest_side_seen,
)
from pairscore.report.facts import report_facts
from pairscore.report.items import comparisons_per_item, item_residuals
from tests.limits import CHANCE
from tests.report.conftest import (
    draw_coins,
    draw_study,
    facts_of,
    page_in_words,
    read_comparisons,
)

LOGIT = get_link("logit")


def test_residuals_are_those_of_a_loop_over_single_comparisons():
    items, votes = draw_study(12, 150, ties=True, weights=True)
    data = read_comparisons(items, votes)
    p, spread = np.random.default_rng(1).uniform(0.1, 0.9, (2, len(data)))
    net, expected, variance, number = np.zeros((4, 12))
    for m in range(len(data)):
        for _ in range(int(data.count[m])):
            for item, sign in ((data.left[m], 1), (data.right[m], -1)):
                net[item] += sign * data.weight[m] * data.outcome[m]
                expected[item] += sign * data.weight[m] * (2 * p[m] - 1)
                variance[item] += data.weight[m] ** 2 * 4 * spread[m]
                number[item] += 1
    found = item_residuals(data, p, spread)
    for value, twin in zip(
        found, (net, expected, (net - expected) / np.sqrt(variance)), strict=True
    ):
        np.testing.assert_allclose(value, twin, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(comparisons_per_item(data), number)


@pytest.mark.parametrize("seed", range(3))
def test_residuals_are_standard_under_the_truth_and_not_with_an_item_effect(seed):
    rng = np.random.default_rng(seed)
    score, effect = rng.normal(size=100), 1.5 * rng.normal(size=100)
    left = rng.integers(0, 100, 20_000)
    right = (left + rng.integers(1, 100, 20_000)) % 100
    p = expit(score[left] - score[right])
    largest = {}
    for name, truth in (("features", score), ("item effect", score + effect)):
        outcome = np.where(rng.random(20_000) < expit(truth[left] - truth[right]), 1, -1)
        data = Comparisons(np.zeros((100, 1)), left, right, outcome)
        largest[name] = np.abs(item_residuals(data, p, p * (1 - p))[2]).max()
    assert largest["features"] < norm.isf(1e-7 / 200) < largest["item effect"]


def test_an_item_met_only_by_itself_or_never_has_no_residual():
    votes = {"left": [0, 0, 2], "right": [1, 1, 2], "winner": ["left", "right", "left"]}
    data, _ = Comparisons.from_frames(np.arange(8.0).reshape(4, 2), votes, self_pairs="keep")
    assert np.isfinite(item_residuals(data, np.full(3, 0.5), np.ones(3))[2]).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert comparisons_per_item(data).tolist() == [2, 2, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_heavy_tailed_elliptical_features_do_not_turn_a_closed_form(seed):
    rng = np.random.default_rng(seed)
    X = (
        rng.normal(size=(4000, 5))
        / np.sqrt(rng.chisquare(7, (4000, 1)) / 7)
        @ rng.normal(size=(5, 5))
    )
    z = whiten(X)
    np.testing.assert_allclose(z.T @ z / 4000, np.eye(5), atol=1e-8)
    shape = shape_of(z, 2 * z[:, 0], LOGIT)
    assert shape.tilt < TILT / 2
    assert shape.skewness_p > 1e-6
    assert shape.kurtosis > 1.2


def bent_cloud(rng):
    x = rng.exponential(size=3000) - 1
    return whiten(np.column_stack([x, x**2 + 0.3 * rng.normal(size=3000)]))


@pytest.mark.parametrize("seed", range(3))
def test_a_bent_cloud_turns_a_closed_form_by_the_angle_that_least_squares_finds(seed):
    z = bent_cloud(np.random.default_rng(seed))
    direction = np.array([np.cos(0.5), np.sin(0.5)])
    score = 3 * z @ direction
    h = np.array([np.mean(2 * expit(one - score) - 1) for one in score])
    towards = np.linalg.lstsq(np.column_stack([np.ones(3000), z]), h, rcond=None)[0][1:]
    turned = np.degrees(np.arccos(towards @ direction / np.linalg.norm(towards)))
    assert turned > 2 * TILT
    assert shape_of(z, score, LOGIT).tilt == pytest.approx(turned, rel=0.05)
    assert len(score) > REFERENCE


def test_bent_features_are_a_doubt_of_a_closed_form_and_no_question_of_the_likelihood():
    """The page of a likelihood fit asked whether features are elliptical enough for others."""
    rng = np.random.default_rng(4)
    z = bent_cloud(rng)
    score = 3 * z @ np.array([np.cos(0.5), np.sin(0.5)])
    left = rng.integers(0, 3000, 30_000)
    right = (left + rng.integers(1, 3000, 30_000)) % 3000
    votes = np.where(
        (rng.random(30_000) < expit(score[left] - score[right]))[:, None],
        np.column_stack([left, right]),
        np.column_stack([right, left]),
    )
    data = read_comparisons(z, votes)
    for method in ("mle", "pooled"):
        model = RankRegression(method, inference=None).fit(data)
        found = checks(model, data, np.zeros(3000), np.zeros(3000, dtype=bool), True)
        shape = [one for one in found if "elliptical" in one.question + one.answer]
        if method == "mle":
            assert shape == []
            continue
        (check,) = shape
        assert "not elliptical enough" in check.answer
        assert not check.fine


@pytest.mark.parametrize("seed", range(3))
def test_skewed_features_are_seen_to_be_so(seed):
    z = whiten(np.random.default_rng(seed).gamma(4.0, size=(2000, 3)))
    assert shape_of(z, z[:, 0], LOGIT).skewness_p < 1e-6


def test_normal_features_have_the_kurtosis_and_skewness_of_mardia():
    z = whiten(np.random.default_rng(3).normal(size=(20_000, 4)))
    shape = shape_of(z, z[:, 0], LOGIT)
    assert shape.kurtosis == pytest.approx(1, abs=5 * np.sqrt(8 * 4 * 6 / 20_000) / 24)
    assert shape.skewness_p > 1e-6


def test_a_side_effect_is_seen_where_there_is_one():
    for side, seen in ((0.0, False), (0.7, True)):
        items, votes = draw_study(100, 3000, side=side)
        data = read_comparisons(items, votes)
        p = RankRegression().fit(items, votes).predict_proba(data)[:, 1]
        z = side_z(data, p, p * (1 - p))
        assert (z > 5) == seen
        wins = np.where(data.outcome > 0, 1.0, 0.0)
        assert z == pytest.approx(sum(wins - p) / np.sqrt(sum(p * (1 - p))))
        check = next(check for check in facts_of(items, votes).checks if "side" in check.question)
        assert check.fine != seen
        allowed = next(
            check
            for check in report_facts(
                RankRegression(side_effect=True).fit(items, votes), items, votes
            ).checks
            if "side" in check.question
        )
        assert "The model allows for it" in allowed.answer
        assert ("is clear" in allowed.answer) == seen


def test_items_far_away_and_beyond_are_named():
    items, votes = draw_study(60, 900, spare=1)
    items["feature 1"][3] = 60.0
    items["feature 2"][60] = 99.0
    facts = facts_of(items, votes)
    check = next(check for check in facts.checks if "outliers" in check.question)
    assert not check.fine
    assert "(item 3)" in check.answer
    assert "(item 60)" in check.answer


def test_separation_is_said():
    items, votes = draw_study(20, 100)
    first = items["feature 0"]
    rows = (
        [int(name.split()[1]) for name in votes["left"]],
        [int(name.split()[1]) for name in votes["right"]],
    )
    votes["winner"] = np.where(first[rows[0]] > first[rows[1]], "left", "right")
    with pytest.warns(SeparationWarning):
        model = RankRegression().fit(items, votes)
    said = {check.question: check.fine for check in report_facts(model, items, votes).checks}
    assert said["Is there separation?"] is False
    assert said["What did the fit itself warn of?"] is False


@pytest.mark.parametrize("seed", range(5))
def test_coins_could_be_chance_and_answers_could_not(seed):
    items, votes = draw_study(60, 600, seed=seed)
    model = RankRegression().fit(items, votes)
    p = chance_p(model)
    assert p == pytest.approx(
        chi2.sf(np.linalg.solve(model.covariance_, model.coef_) @ model.coef_, 3)
    )
    assert p < COINS
    with pytest.warns(PairscoreWarning):  # a feature twice is still one
        assert chance_p(
            RankRegression().fit(items | {"again": items["feature 0"]}, votes)
        ) == pytest.approx(p, rel=0.01)
    assert chance_p(RankRegression().fit(*draw_coins(seed, d=2))) > 1e-6
    assert np.isnan(chance_p(RankRegression(inference=None).fit(items, votes)))


def test_a_fit_that_chance_explains_is_not_called_well():
    items, votes = draw_coins(0)
    votes["winner"] = np.tile(["left", "right"], 40)  # each pair of rows one way and the other
    for side in ("left", "right"):
        votes[side] = np.repeat(votes[side][:40], 2)
    facts = facts_of(items, votes)
    check = next(check for check in facts.checks if "chance" in check.question)
    assert (check.fine, "in 1e+02 of 100" in check.answer) == (False, False)
    assert "none found a problem" not in facts.answer[-1]


def test_other_data_than_those_of_the_fit_are_said_to_be_so():
    items, votes = draw_study(60, 600)
    model = RankRegression().fit(items, votes)
    fewer = {name: column[:500] for name, column in votes.items()}
    for data, fine, answer in (
        (votes, True, "These are the items and comparisons that the model was fitted to."),
        (fewer, False, "These are not the items and comparisons that the model was fitted to."),
    ):
        check = report_facts(model, items, data).checks[0]
        assert (check.question, check.fine) == ("Is this the data of the fit?", fine)
        assert check.answer.startswith(answer)


# -- what a check could have seen --------------------------------------------------------------


def check_of(facts, word):
    return next(check for check in facts.checks if word in check.question)


def seen_in(check):
    """Wins of 100 from which on the check would have seen something."""
    return float(re.search(r"if .* (\d+) or more of 100", check.answer)[1])


def draw_with_effects(rng, tau=0.0, side=0.0, n=80, m=800):
    """Comparisons of items with an effect of their own, and of sides that matter."""
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + tau * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit(score[left] - score[right] + side)
    winner = np.where(won, "left", "right")
    return Comparisons.from_frames(X, {"left": left, "right": right, "winner": winner})[0]


def looked_at(data):
    """Checks of a fit without intervals, which are quick."""
    model = RankRegression(inference=None).fit(data)
    residual = item_residuals(data, *expected_outcomes(model.result_, data))[2]
    found = checks(model, data, residual, np.zeros(len(data.items), dtype=bool), True)
    return {check.question: check for check in found}


def test_checks_that_find_nothing_claim_nothing_and_say_what_they_would_have_seen():
    """A page said that the features explain the items, on data that could not tell."""
    facts = facts_of(*draw_study(60, 900))
    for word in ("explain", "side matter", "look random"):
        check = check_of(facts, word)
        assert (check.fine, check.verdict[:11]) == (True, "no sign of ")
        assert "no sign" in check.answer.lower()
        assert "would have been detected 8 times out of 10 if" in check.answer
    assert "the features explain the items" not in check_of(facts, "explain").answer
    assert "none found a problem" in facts.answer[-1]


@pytest.mark.parametrize(
    "question", ["Do the features explain the items?", "Does the side matter?"]
)
def test_what_a_check_says_it_would_have_seen_it_sees_eight_times_out_of_ten(question):
    """Effects of the size that the check names; power between 0.65 and 0.95, up to chance."""
    rng, n_studies = np.random.default_rng(1), 80
    size = logit(seen_in(looked_at(draw_with_effects(rng))[question]) / 100)
    effects = {"tau": size} if "features" in question else {"side": size}
    found = sum(not looked_at(draw_with_effects(rng, **effects))[question].fine for _ in range(80))
    low, high = binom.ppf(CHANCE, n_studies, 0.65), binom.isf(CHANCE, n_studies, 0.95)
    assert low <= found <= high


def test_too_little_data_cannot_tell():
    items, votes = draw_study(30, 12, d=1)
    with pytest.warns(PairscoreWarning):
        facts = facts_of(items, votes)
    side = check_of(facts, "side matter")
    assert (side.fine, side.verdict) == (True, "cannot tell")
    assert "could not have been detected" in side.answer
    assert "Could not be tested:" in facts.answer[-1]
    assert not check_of(facts, "explain").verdict.startswith("no sign")


def test_sides_that_nobody_recorded_cannot_be_told():
    items, votes = draw_study(60, 900)
    left_won = votes["winner"] == "left"
    named = {
        "winner": np.where(left_won, votes["left"], votes["right"]),
        "loser": np.where(left_won, votes["right"], votes["left"]),
    }
    facts = facts_of(items, named)
    check = check_of(facts, "side matter")
    assert (check.fine, check.verdict) == (True, "cannot tell")
    assert facts.answer[-1].endswith("Could not be tested: Does the side matter?")


def test_information_of_an_item_is_that_of_a_double_loop_over_its_comparisons():
    items, votes = draw_study(12, 150, weights=True)
    data = read_comparisons(items, votes)
    p = np.random.default_rng(1).uniform(0.1, 0.9, len(data))
    rows = np.repeat(np.arange(len(data)), data.count.astype(int))
    twin = []
    for item in range(12):
        mine = [m for m in rows if item in (data.left[m], data.right[m])]
        moved = [data.weight[m] * p[m] * (1 - p[m]) for m in mine]
        variance = sum(data.weight[m] ** 2 * p[m] * (1 - p[m]) for m in mine)
        twin.append((sum(moved) ** 2 - sum(x**2 for x in moved)) / variance)
    np.testing.assert_allclose(item_information(data, p), twin, rtol=1e-10)
    effect = logit(smallest_side_seen(data, p) / 100)
    sd = np.sqrt(sum(data.weight[m] ** 2 * p[m] * (1 - p[m]) for m in rows))
    assert effect * sum(data.weight[m] * p[m] * (1 - p[m]) for m in rows) / sd == pytest.approx(
        3 + norm.ppf(0.8)
    )


def test_several_warnings_of_the_fit_are_one_check():
    items, votes = draw_study(20, 300)
    items["again"] = items["feature 1"]
    with pytest.warns(PairscoreWarning):
        facts = facts_of(items, votes)
    questions = [check.question for check in facts.checks]
    assert len(set(questions)) == len(questions)
    warned = check_of(facts, "warn of").answer
    assert "rough" in warned
    assert "a combination of others" in warned


# -- items without features ------------------------------------------------------------------------


def draw_alone(seed, n=12, m=80, sd=0.0, side=0.0, **more):
    """Comparisons alone, of items that differ by ``sd``."""
    rng = np.random.default_rng(seed)
    ability, left = sd * rng.normal(size=n), rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(ability[right] - ability[left] - side))
    votes = {"left": left, "right": right, "winner": np.where(won, left, right)}
    return Comparisons.from_frames(None, votes | more)[0]


@pytest.mark.parametrize("weights", [False, True])
def test_the_test_of_equal_items_is_that_of_dense_matrices(weights):
    more = {"weight": np.random.default_rng(1).uniform(0.5, 2, 80)} if weights else {}
    data = draw_alone(3, side=0.3, **more)
    rows, n, y = np.arange(len(data)), len(data.items), data.outcome.astype(float)
    E = np.zeros((len(data), n))
    E[rows, data.left], E[rows, data.right] = 1, -1
    w, amount = data.amount * data.importance, data.amount
    w = w * (np.average(y**2, weights=w) - np.average(y, weights=w) ** 2)
    h = E.T @ w
    s = E.T @ (amount * y) - h * (amount @ y) / w.sum()
    V = (E * w[:, None]).T @ E - np.outer(h, h) / w.sum()
    p = chi2.sf(s @ np.linalg.pinv(V, rcond=1e-9, hermitian=True) @ s, n - 1)
    assert equal_items_p(data) == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_equal_items_look_unequal_only_by_chance(side):
    """Also where a side wins more often; items that differ are seen."""
    small = sum(equal_items_p(draw_alone(seed, 20, 300, 0.0, side)) < 0.05 for seed in range(200))
    assert small <= binom.isf(CHANCE / 2, 200, 0.05)
    assert equal_items_p(draw_alone(0, 20, 1000, 1.0, side)) < 1e-4


def checks_of_abilities(winner, loser, **settings):
    data = Comparisons.from_frames(None, {"winner": winner, "loser": loser})[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        model = RankRegression(**settings).fit(data)
    nothing = np.empty(0)
    return {check.question: check for check in checks(model, data, nothing, nothing, True)}


def test_groups_that_never_met_unbeaten_items_and_few_comparisons_are_said():
    """Those of features are not asked of items without."""
    found = checks_of_abilities([*"ababcdc"], [*"babadcd"], item_effects=True)
    linked = found["Are all items linked by comparisons?"]
    assert not linked.fine
    assert "2 groups that never met (that of a, that of c)" in linked.answer
    found = checks_of_abilities([*"aabc", *"bc" * 12], [*"bccb", *"cb" * 12])
    assert found["Are all items linked by comparisons?"].fine
    unbeaten = found["Did items win or lose everything?"]
    assert not unbeaten.fine
    assert unbeaten.answer.startswith("a won every comparison.")
    few = found["Was every item compared often enough?"]
    assert "1 item was compared fewer than 10 times (a: 2)" in few.answer
    assert "What did the fit itself warn of?" not in found
    assert not any("features" in question for question in found)


def test_an_ordinary_study_of_abilities_has_nothing_to_look_at():
    data = draw_alone(0, 8, 800, 1.0)
    nothing = np.empty(0)
    found = checks(RankRegression().fit(data), data, nothing, nothing, True)
    assert [check.question for check in found if not check.fine] == []


def test_features_are_not_said_to_explain_items_that_have_effects():
    """Residuals of a model with effects are those of both, and say nothing of the features."""
    items, votes = draw_study(60, 900, ties=False)
    rng = np.random.default_rng(5)
    hidden = 1.5 * rng.normal(size=60)
    place = {name: row for row, name in enumerate(items["id"])}
    left, right = ([place[name] for name in votes[side]] for side in ("left", "right"))
    p = expit(hidden[left] - hidden[right])
    votes = {**votes, "winner": np.where(rng.random(len(p)) < p, "left", "right")}
    question = "Do the features explain the items?"
    answers = {}
    for effects in (False, "auto"):
        facts = facts_of(items, votes, item_effects=effects)
        answers[effects] = next(one for one in facts.checks if one.question == question)
    assert not answers[False].fine
    with_effects = answers["auto"]
    assert with_effects.verdict == "allowed for"
    assert with_effects.answer.startswith("Not all of it: items differ beyond their features")
    assert "no sign" not in with_effects.answer + with_effects.verdict
    words = page_in_words(items, votes, item_effects="auto")
    assert "features leave out is in the item effects" in words
    assert "have something that the features leave out" not in words


def test_a_check_goes_by_the_kind_of_a_warning_and_not_by_its_words():
    items, votes = draw_study(60, 600)
    model = RankRegression().fit(items, votes)
    for kind, question in (
        (SeparatedFeaturesWarning, "Is there separation?"),
        (ManyFeaturesWarning, "What did the fit itself warn of?"),
    ):
        model.result_ = model.result_.with_kept(warnings=[kind("in other words")])
        doubts = [one for one in report_facts(model, items, votes).checks if not one.fine]
        assert [one.question for one in doubts if one.answer == "In other words."] == [question]


def test_no_information_but_for_rounding_errors_sees_nothing():
    information = np.array([np.nan, -1.6e-17, 0.0, -2.6e-17])
    assert smallest_effect_seen(information, 2.8, 10) == 100.0


@pytest.mark.parametrize("shrunk", [False, True])
def test_abilities_from_few_comparisons_are_said_to_be_too_sure(shrunk):
    """Items that hardly differ, ten comparisons of each: chance makes most of the differences."""
    rng = np.random.default_rng(0)
    left = rng.integers(0, 100, 1000)
    right = (left + rng.integers(1, 100, 1000)) % 100
    ability = 0.5 * rng.normal(size=100)
    won = rng.random(1000) < 1 / (1 + np.exp(ability[right] - ability[left]))
    votes = {"left": left, "right": right, "winner": np.where(won, left, right)}
    model = RankRegression(item_effects=shrunk).fit(None, votes)
    found = {check.question: check for check in report_facts(model, None, votes).checks}
    check = found["Are predictions too sure?"]
    assert check.fine == shrunk
    assert ("--item-effects" in check.answer) == (not shrunk)
