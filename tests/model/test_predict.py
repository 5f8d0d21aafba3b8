"""Scores, differences and probabilities of a fit, against loops."""

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.model.predict import (
    item_scores,
    known_items,
    linear_scores,
    outcome_probabilities,
    score_differences,
)
from tests.model.test_fit import tables


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
    assert win == pytest.approx(expit(score_differences(fit, X)), rel=1e-12)
    assert loss + tie + win == pytest.approx(np.ones(len(X)))
    assert known_items(fit, X.items) is None


def test_with_item_effects_scores_have_them_and_probabilities_are_less_sure():
    fit, X = fitted(item_effects=True)
    known = known_items(fit, X.items)
    assert item_scores(fit, X.items) == pytest.approx(X.items.values @ fit.coef + known.effect)
    loss, _, win = outcome_probabilities(fit, X)
    plain = expit(np.abs(score_differences(fit, X)))
    sure = np.maximum(win, loss)
    assert np.all(sure <= plain + 1e-12)
    assert (fit.item_effects.sigma2 > 0) == bool(np.any(sure < plain - 1e-6))
