"""Scores, score differences and probabilities of a fit, against loops."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.model.item_lookup import known_items
from pairscore.model.predict import (
    expected_outcomes,
    item_scores,
    linear_scores,
    outcome_probabilities,
    score_differences,
)
from tests.effects.simulators import judged_votes
from tests.limits import largest_mean
from tests.model.test_fit import tables
from tests.tie_cells import LAWS, MANY, SETTINGS, calibration_slopes


def fitted(**settings):
    items, votes = tables(seed=2)
    X, _ = Comparisons.from_frames(items, votes)
    return RankRegression(**settings).fit(X).result_, X


def test_scores_are_the_linear_ones_and_equal_rows_have_equal_scores():
    rng = np.random.default_rng(0)
    values, coef = rng.normal(size=(50, 7)), rng.normal(size=7)
    values[40] = values[3]
    scores = linear_scores(values, coef)
    assert scores == pytest.approx(
        [sum(a * b for a, b in zip(row, coef, strict=True)) for row in values]
    )
    assert scores[40] == scores[3]


def test_differences_have_the_side_effect():
    fit, X = fitted(side_effect=True)
    scores = item_scores(fit, X.items)
    expected = [
        scores[a] - scores[b] + fit.side_effect for a, b in zip(X.left, X.right, strict=True)
    ]
    assert score_differences(fit, X) == pytest.approx(expected, rel=1e-12)
    assert fit.side_effect != 0


def test_probabilities_are_those_of_the_link_and_add_up():
    fit, X = fitted()
    loss, tie, win = outcome_probabilities(fit, X)
    assert win == pytest.approx(
        expit(fit.outcomes.decided_scale * score_differences(fit, X)), rel=1e-12
    )
    assert loss + tie + win == pytest.approx(np.ones(len(X)))
    assert known_items(fit, X.items) is None


def test_with_item_effects_scores_have_them_and_probabilities_are_less_sure():
    fit, X = fitted(item_effects=True)
    fit = replace(fit, item_effects=replace(fit.item_effects, calibration=None))
    known = known_items(fit, X.items)
    assert item_scores(fit, X.items) == pytest.approx(X.items.values @ fit.coef + known.effect)
    loss, _, win = outcome_probabilities(fit, X)
    plain = expit(fit.outcomes.decided_scale * np.abs(score_differences(fit, X)))
    sure = np.maximum(win, loss)
    assert np.all(sure <= plain + 1e-12)
    assert (fit.item_effects.sigma2 > 0) == bool(np.any(sure < plain - 1e-6))


# -- ties ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_what_is_called_90_of_100_is_won_90_times_of_100_whatever_is_done_with_ties(law):
    """Mean calibration slopes on known and new items; f(coef'x) of half wins has 1.3 to 2."""
    slopes, _ = calibration_slopes(law, MANY, SETTINGS, n_studies=8)
    flat = slopes.reshape(len(slopes), -1)
    assert np.all(np.abs(flat.mean(axis=0) - 1) < 0.05 + largest_mean(flat, flat.shape[1]))


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
def test_the_expected_outcome_is_that_of_a_loop(ties):
    items, votes = tables(seed=4, tie=0.6, rule="davidson")
    X, outcome = Comparisons.from_frames(items, votes)
    model = RankRegression(ties=ties, inference=None).fit(X)
    mean, variance = expected_outcomes(model.result_, X)
    rule, coins, seen = model.outcome_law.rule, 0.0, 0.0
    for m, eta in enumerate(model.decision_function(X)):
        loss, tie, win = (float(p) for p in rule.probabilities(np.array(eta), model.outcome_law.t))
        expected = win + tie / 2
        spread = (1 - expected) ** 2 * win + (0.5 - expected) ** 2 * tie + expected**2 * loss
        if ties == "drop" and outcome[m] == 0:
            expected, spread = 0.5, 0.0
        coins, seen = coins + spread, seen + (spread - (outcome[m] == 0) / 4)
        assert mean[m] == pytest.approx(expected, rel=1e-12)
        if ties != "half":
            assert variance[m] == pytest.approx(spread, rel=1e-9, abs=1e-12)
    if ties == "half":
        np.testing.assert_allclose(variance, mean * (1 - mean) * seen / coins, rtol=1e-9)


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
@pytest.mark.parametrize("item_effects", [False, True])
def test_a_difference_has_the_probability_of_the_comparison(ties, item_effects):
    items, votes = tables(seed=5, tie=0.6, rule="davidson")
    X, _ = Comparisons.from_frames(items, votes)
    model = RankRegression(ties=ties, item_effects=item_effects).fit(X)
    pair = model.difference(items.iloc[[X.left[0]]], items.iloc[[X.right[0]]])
    assert pair.probability == pytest.approx(model.predict_proba(X[:1])[0, 1], rel=1e-9)
    assert (model.decided_scale_ == 1) == (ties == "drop")


@pytest.mark.parametrize("item_effects", [False, True])
def test_a_careless_judge_is_predicted_as_one(item_effects):
    """Probabilities go by the slope of each comparison's judge, also where nothing else is asked
    for than slopes."""
    slopes = np.array([2.0, 1.0, 1.0, 0.0])
    votes = judged_votes(np.random.default_rng(5), context=0.0, side=0.0, slopes=slopes)
    X = Comparisons.from_frames(*votes)[0]
    model = RankRegression(judge_slopes=True, item_effects=item_effects, inference=None).fit(X)
    found = dict(zip(model.judges_.name, model.judges_.slope, strict=True))
    if not item_effects:
        scores = X.items.values @ model.coef_
        sharp = np.array([found[name] for name in X.judge])
        expected = expit(sharp * (scores[X.left] - scores[X.right]))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    surprise = np.abs(model.predict_proba(X)[:, 1] - 0.5)
    sharpest, careless = (surprise[X.judge == f"judge {number}"].mean() for number in (0, 3))
    assert sharpest > 3 * careless


# -- scales ----------------------------------------------------------------------------------------


def ranked_study(seed=0, n=40, m=600, **settings):
    """Items, a model of them, and the ranking of all of them in the order of the table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 5.0
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(-(X[left] - X[right]) @ [1.0, -0.5, 0.2]))
    votes = np.where(won[:, None], np.column_stack([left, right]), np.column_stack([right, left]))
    return X, RankRegression(**settings).fit(X, votes)


def test_many_compared_items_are_kept_as_5000_scores_with_both_ends(monkeypatch):
    monkeypatch.setattr("pairscore.model.predict.KEPT_SCORES", 11)
    X, model = ranked_study()
    scores = np.sort(model.decision_function(X))
    assert model.fitted_scores_.shape == (2, 11)
    np.testing.assert_array_equal(model.fitted_scores_[0, [0, -1]], scores[[0, -1]])
    assert np.isin(model.fitted_scores_[0], scores).all()


# -- one item at a time ----------------------------------------------------------------------------


def test_items_without_features_score_zero_whatever_memory_had():
    for _ in range(50):
        garbage = [np.full(60, np.nan) for _ in range(20)]
        del garbage
        assert not linear_scores(np.empty((60, 0)), np.empty(0)).any()
