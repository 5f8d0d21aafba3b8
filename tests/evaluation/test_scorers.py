"""Scorers that know ties, against scikit-learn's own on the decided comparisons."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairscore import Comparisons, ItemKFold, OnItems, PairscoreError, RankRegression, scorers
from tests.evaluation.twins import study

NAMES = ("accuracy", "neg_log_loss", "neg_brier_score", "roc_auc")
QUICK = RankRegression(inference=None)


@pytest.fixture(scope="module")
def tied():
    return Comparisons.from_frames(*study(ties=0.35))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
def test_a_scorer_is_that_of_scikit_learn_on_decided_comparisons(tied, ties, name):
    X, y = tied
    model, decided = RankRegression(ties=ties, inference=None).fit(X, y), y != 0
    ours, theirs = getattr(scorers, name), get_scorer(name)
    assert ours(model, X, y) == pytest.approx(theirs(model, X[decided], y[decided]), rel=1e-12)
    assert ours(model, X) == ours(model, X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cv", [3, ItemKFold(3)])
def test_log_loss_with_ties_is_cross_validated_without_tracebacks(tied, cv):
    X, y = tied
    found = cross_val_score(QUICK, X, y, cv=cv, scoring=scorers.neg_log_loss)
    assert np.all((-np.log(2) < found) & (found < 0))
    many = cross_validate(QUICK, X, y, cv=cv, scoring={n: getattr(scorers, n) for n in NAMES})
    assert all(np.isfinite(many[f"test_{name}"]).all() for name in NAMES)
    np.testing.assert_array_equal(many["test_neg_log_loss"], found)
    np.testing.assert_allclose(many["test_accuracy"], cross_val_score(QUICK, X, y, cv=cv))


def test_a_search_may_choose_how_ties_are_counted(tied):
    search = GridSearchCV(
        make_pipeline(OnItems(StandardScaler()), QUICK),
        {"rankregression__ties": ["half", "drop", "davidson", "rao-kupper"]},
        scoring=scorers.neg_log_loss,
        cv=ItemKFold(3),
    ).fit(*tied)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert np.ptp(scores) < 0.02  # all are of decided comparisons


def test_rows_count_as_often_as_they_say():
    items, votes = study(counts=True, weights=True)
    X, y = Comparisons.from_frames(items, votes)
    model, decided = QUICK.fit(X, y), (y != 0) & (X.amount > 0)
    p = model.predict_proba(X)[:, 1]
    chance = np.where(y > 0, p, 1 - p)[decided]
    assert scorers.neg_log_loss(model, X, y) == pytest.approx(
        np.average(np.log(chance), weights=X.amount[decided])
    )


def test_other_classifiers_and_differences_are_scored_too(tied):
    X, y = tied
    D = X.items.values[X.left] - X.items.values[X.right]
    three, decided = LogisticRegression(fit_intercept=False).fit(D, y), y != 0
    chances = three.predict_proba(D[decided])
    left = chances[:, 2] / (chances[:, 0] + chances[:, 2])
    expected = np.mean(np.log(np.where(y[decided] > 0, left, 1 - left)))
    assert scorers.neg_log_loss(three, D, y) == pytest.approx(expected, rel=1e-9)
    assert scorers.neg_log_loss(three, pd.DataFrame(D), pd.Series(y)) == pytest.approx(expected)


def test_what_cannot_be_scored_is_said_in_a_sentence(tied):
    X, y = tied
    model = QUICK.fit(X, y)
    with pytest.raises(PairscoreError, match="every comparison is a tie, so there is nothing"):
        scorers.roc_auc(model, X[y == 0], y[y == 0])
    D = X.items.values[X.left] - X.items.values[X.right]
    other = LogisticRegression().fit(D, np.where(y > 0, "left", "right"))
    with pytest.raises(PairscoreError, match=r"classes are \['left', 'right'\].*scikit-learn's"):
        scorers.neg_log_loss(other, D, np.where(y > 0, 1, -1))
