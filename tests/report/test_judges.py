"""The check of the judges: a careless one is named, and nobody else."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from pairscore import RankRegression
from pairscore.report.facts import report_facts
from pairscore.report.judges import CARELESS, judge_limit, judge_records
from tests.report.conftest import read_comparisons

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")


def graded(seed, sharpness, n_items=60, n_votes=200):
    """Items and votes of judges who are this sharp; each has judged so many pairs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    judge = np.repeat(np.arange(len(sharpness)), n_votes)
    left = rng.integers(0, n_items, len(judge))
    right = (left + rng.integers(1, n_items, len(judge))) % n_items
    gap = (X[left] - X[right]) @ [1.0, -0.5, 0.2]
    won = rng.random(len(judge)) < expit(np.array(sharpness)[judge] * gap)
    names = np.array([f"grader {letter}" for letter in "ABCDEFGHIJ"])[judge]
    winner = np.where(won, "left", "right")
    return X, {"left": left, "right": right, "winner": winner, "judge": names}


def careless_check(items, votes, **settings):
    model = RankRegression(**settings).fit(items, votes)
    facts = report_facts(model, items, votes)
    return facts, next(check for check in facts.checks if check.question == CARELESS)


def test_what_was_tried_and_not_taken_is_not_proposed_again():
    items, votes = graded(0, [2.0, 2.0, 0.0])
    model = RankRegression().fit(items, votes)
    record = model.record_ | {"rejected": {"judge_slopes": "not kept"}}
    model.result_ = replace(model.result_, record=record)
    facts = report_facts(model, items, votes)
    check = next(check for check in facts.checks if check.question == CARELESS)
    assert "--judge-slopes" not in check.answer
    assert "was tried when the settings were chosen (not kept)." in check.answer


@pytest.mark.parametrize("settings", [{}, {"judge_slopes": True}])
def test_the_careless_colleague_is_in_the_lead_and_in_the_checks(settings):
    facts, check = careless_check(*graded(0, [2.0, 2.0, 0.0]), **settings)
    assert not check.fine
    assert check.answer.startswith("grader C contradicts the score in ")
    assert "grader A contradicts" not in check.answer
    assert ("--judge-slopes" in check.answer) == (not settings)
    (sentence,) = [one for one in facts.answer if one.startswith("Look at the judges: ")]
    assert check.answer in sentence


def test_a_judge_who_answers_the_other_way_round_contradicts_the_score():
    """The page said 14 %, because a slope below zero expects such answers."""
    items, votes = graded(3, [2.0, 2.0, 2.0, -2.0], n_votes=300)
    _, check = careless_check(items, votes, judge_slopes=True)
    told = int(check.answer.split("grader D contradicts the score in ")[1].split(" %")[0])
    assert told > 50
    others = int(check.answer.split("the others in ")[1].split(" %")[0])
    assert others < 40


def test_judges_who_are_all_alike_are_hardly_ever_blamed():
    """Ten judges in each of 30 studies, at three standard errors and more."""
    blamed = 0
    for seed in range(30):
        _, check = careless_check(*graded(seed, [1.0] * 10, n_votes=60), inference=None)
        blamed += not check.fine
    # one judge in 1000 at most, so one study in a hundred
    assert blamed <= 3
    assert judge_limit(10) >= 3


def test_too_few_answers_cannot_tell():
    _, check = careless_check(*graded(1, [1.0, 1.0, 1.0], n_votes=8))
    assert (check.fine, check.verdict) == (True, "cannot tell")
    assert "too few answers to tell" in check.answer


def test_shares_against_the_score_are_those_of_a_loop():
    items, votes = graded(2, [1.5, 1.0, 0.5])
    data = read_comparisons(items, votes)
    model = RankRegression().fit(items, votes)
    probability = model.predict_proba(data)[:, 1]
    for record in judge_records(model, data, probability):
        wrong = {True: [], False: []}
        excess, spread = {True: [], False: []}, {True: [], False: []}
        for p, outcome, judge in zip(probability, data.outcome, data.judge, strict=True):
            mine = judge == record.name
            wrong[mine].append((p >= 0.5) != (outcome > 0))
            excess[mine].append(wrong[mine][-1] - min(p, 1 - p))
            spread[mine].append(p * (1 - p))
        assert (record.wrong, record.others) == pytest.approx(
            (np.mean(wrong[1]), np.mean(wrong[0]))
        )
        error = np.sqrt(sum(np.sum(one) / len(one) ** 2 for one in spread.values()))
        assert record.z == pytest.approx((np.mean(excess[1]) - np.mean(excess[0])) / error)


def test_without_several_judges_nobody_asks():
    items, votes = graded(3, [1.0])
    model = RankRegression().fit(items, votes)
    assert not [one for one in report_facts(model, items, votes).checks if one.question == CARELESS]
