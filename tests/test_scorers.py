"""Scorers that know ties, against scikit-learn's own on the decided comparisons."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
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


@pytest.mark.parametrize("name", NAMES)
def test_a_scorer_takes_sample_weight_as_scikit_learns_own(tied, name):
    X, y = tied
    model, decided = QUICK.fit(X, y), y != 0
    weight = np.random.default_rng(0).random(len(y))
    theirs = get_scorer(name)(model, X[decided], y[decided], sample_weight=weight[decided])
    ours = getattr(scorers, name)
    assert ours(model, X, y, sample_weight=weight) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_weights_of_a_search_reach_fit_and_scorer_in_a_pipeline(tied):
    X, y = tied
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    folds = list(ItemKFold(3).split(X, y))
    with sklearn.config_context(enable_metadata_routing=True):
        scoring = scorers.neg_log_loss.set_score_request(sample_weight=True)
        model = clone(QUICK).set_fit_request(sample_weight=True)
        pipe = make_pipeline(OnItems(StandardScaler()), model)
        search = GridSearchCV(pipe, {"rankregression__l2": [0.0, 1.0]}, scoring=scoring, cv=folds)
        search.fit(X, y, sample_weight=weight)
    for number, (train, test) in enumerate(folds):
        fold = make_pipeline(OnItems(StandardScaler()), clone(QUICK))
        fold.fit(X[train], y[train], rankregression__sample_weight=weight[train])
        expected = scorers.neg_log_loss(fold, X[test], y[test], sample_weight=weight[test])
        seen = search.cv_results_[f"split{number}_test_score"][0]
        assert seen == pytest.approx(expected, rel=1e-12)


def test_asking_for_weights_leaves_the_scorer_of_others_alone():
    asking = scorers.roc_auc.set_score_request(sample_weight=True)
    assert asking.sample_weight is True
    assert scorers.roc_auc.sample_weight is None
    assert pickle.loads(pickle.dumps(asking)) == asking
    assert repr(asking) == "pairscore.scorers.roc_auc"


@pytest.mark.parametrize("name", NAMES)
def test_item_effects_and_abilities_are_scored_on_known_items(name):
    items, votes = study(ties=0.2)
    scoring = getattr(scorers, name)
    with_effects = RankRegression(item_effects=True, inference=None)
    for model, table in ((with_effects, items), (QUICK, None)):
        X, y = Comparisons.from_frames(table, votes)
        found = cross_val_score(model, X, y, cv=3, scoring=scoring, error_score="raise")
        assert np.isfinite(found).all()
