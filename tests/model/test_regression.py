"""scikit-learn's own tools on comparisons, and what the estimator's settings refuse."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)

from pairscore import Comparisons, ItemKFold, OnItems, PairscoreError, RankRegression

pytestmark = pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")

BETA = np.array([1.5, -1.0, 0.0])
FEATURES = ["age", "bmi", "ldl"]


def says(*facts):
    """A pattern for messages that state these facts in this order."""
    return ".*".join(map(re.escape, facts))


def study(n_items=80, n_votes=600, tie_share=0.0, seed=11):
    """Items and votes of five judges, with a known score.

    Each pair is judged twice, from either side.
    """
    rng = np.random.default_rng(seed)
    items = pd.DataFrame(rng.normal(size=(n_items, 3)), columns=FEATURES)
    left = rng.integers(0, n_items, n_votes // 2)
    right = (left + rng.integers(1, n_items, n_votes // 2)) % n_items
    left, right = np.concatenate([left, right]), np.concatenate([right, left])
    score = items.to_numpy() @ BETA
    winner = np.where(rng.random(len(left)) < expit(score[left] - score[right]), "left", "right")
    winner = np.where(rng.random(len(left)) < tie_share, "tie", winner)
    return items, pd.DataFrame(
        {"left": left, "right": right, "winner": winner, "judge": rng.integers(0, 5, len(left))}
    )


ITEMS, VOTES = study()
X, Y = Comparisons.from_frames(ITEMS, VOTES)
TIED_X, TIED_Y = Comparisons.from_frames(*study(tie_share=0.3))
QUICK = RankRegression(inference=None)


# -- the estimator ---------------------------------------------------------------------------------


# Weights have no unit, so that weight two is not the same as two comparisons where a prior holds
# coefficients (the data of this check are separated), or where a closed form is held back as far as
# few comparisons overfit. Two comparisons are count two.
CHECKS = """
import json
from sklearn.utils.estimator_checks import check_estimator
from pairscore import RankRegression
for method in ("mle", "paired", "pooled"):
    known = {"check_sample_weight_equivalence_on_dense_data": "weights have no unit"}
    for check in check_estimator(
        RankRegression(method), on_skip=None, on_fail=None, expected_failed_checks=known
    ):
        print(json.dumps([method, check["status"], check["check_name"], str(check["exception"])]))
"""


def test_check_estimator_passes_and_skips_nothing():
    # without the first, one check is skipped
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHECKS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    checks = [json.loads(line) for line in run.stdout.splitlines()]
    others = [check[:3] for check in checks if check[1] != "passed"]
    methods = ("mle", "paired", "pooled")
    name = "check_sample_weight_equivalence_on_dense_data"
    assert others == [[method, "xfail", name] for method in methods]
    for method in methods:
        assert sum(check[0] == method for check in checks) > 50


def weights_of(y, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 3.0, len(y))


@pytest.mark.parametrize("settings", [{}, {"method": "paired"}, {"ties": "davidson"}, {"l2": 1.0}])
def test_sample_weight_in_fit_is_a_weight_of_the_votes(settings):
    items, votes = study(tie_share=0.2)
    data, y = Comparisons.from_frames(items, votes)
    once, twice = weights_of(y), weights_of(y, seed=1)
    given = RankRegression(**settings).fit(data, y, sample_weight=once)
    expected = RankRegression(**settings).fit(items, votes.assign(weight=once))
    np.testing.assert_array_equal(given.coef_, expected.coef_)
    np.testing.assert_array_equal(given.std_errors_, expected.std_errors_)
    both = RankRegression(**settings).fit(items, votes.assign(weight=once), sample_weight=twice)
    expected = RankRegression(**settings).fit(items, votes.assign(weight=once * twice))
    np.testing.assert_array_equal(both.coef_, expected.coef_)


def test_sample_weight_of_differences_is_that_of_scikit_learn():
    differences, weight = np.asarray(X), weights_of(Y)
    ours = RankRegression(tol=1e-14).fit(differences, Y, sample_weight=weight)
    theirs = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000)
    theirs.fit(differences, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\) but there are .* give one weight for each"),
        (-np.ones(len(Y)), "the sample_weight is negative or not finite in"),
        (np.zeros(len(Y)), "every sample_weight is zero"),
    ],
)
def test_a_bad_sample_weight_is_refused_in_a_sentence(weight, message):
    with pytest.raises(PairscoreError, match=message):
        RankRegression().fit(X, Y, sample_weight=weight)


def test_sample_weight_goes_through_cross_validation_and_search():
    weight = weights_of(Y)
    found = cross_validate(
        QUICK, X, Y, cv=3, params={"sample_weight": weight}, return_estimator=True
    )
    splits = StratifiedKFold(3).split(np.zeros(len(Y)), Y)
    for model, (train, _) in zip(found["estimator"], splits, strict=True):
        again = clone(QUICK).fit(X[train], Y[train], sample_weight=weight[train])
        np.testing.assert_array_equal(model.coef_, again.coef_)
    search = GridSearchCV(QUICK, {"l2": [0.0, 1.0]}, cv=ItemKFold(3))
    best = search.fit(X, Y, sample_weight=weight).best_estimator_
    again = clone(best).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(best.coef_, again.coef_)


@pytest.mark.parametrize("method", ["split", "pooled", "paired", "mle"])
def test_settings_survive_fit_and_clone(method):
    model = RankRegression(method, "probit", l2=0.5, inference=None)
    items = np.vstack([ITEMS, ITEMS + 1.0])  # the second half is never compared
    settings = model.get_params()
    assert clone(model.fit(items, VOTES)).get_params() == settings == model.get_params()


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"method": "MLE"}, ("method is 'MLE'", "'split', 'pooled', 'paired' or 'mle'")),
        ({"method": 1}, ("method is 1", "'split'")),
        ({"link": "cauchit"}, ("link is 'cauchit'", "'logit' or 'probit'", "pair")),
        ({"link": (expit,)}, ("link is", "a pair of functions")),
        (
            {"link": (np.tanh, lambda x: 1 - np.tanh(x) ** 2)},
            ("rise from 0 to 1", "f(-x) = 1 - f(x)"),
        ),
        ({"link": (expit, expit)}, ("not the derivative", "(f, f')")),
        ({"l2": -1.0}, ("l2 is -1.0", "not negative")),
        ({"l2": np.nan}, ("l2 is nan", "number")),
        ({"l2": np.inf}, ("l2 is inf", "number")),
        ({"l2": "much"}, ("l2 is 'much'", "number", "'auto' or 'auto-known'")),
        ({"l2": None}, ("l2 is None", "number")),
        ({"l2": 1j}, ("l2 is 1j", "number")),
        ({"max_iter": 0}, ("max_iter is 0", "from 1")),
        ({"tol": -1.0}, ("tol is -1.0", "from 0 to 1")),
        (
            {"method": "paired", "shrinkage": 1.5},
            ("shrinkage is 1.5", "0 to 1", "'ledoit-wolf' or 'oas'"),
        ),
        ({"method": "paired", "shrinkage": "lw"}, ("shrinkage is 'lw'", "'ledoit-wolf' or 'oas'")),
        (
            {"method": "mle", "shrinkage": 0.5},
            ("shrinkage", "closed form", "method='mle'", "use l2"),
        ),
        (
            {"inference": "robust"},
            ("inference is 'robust'", "'items', 'items+judges', 'model' or None"),
        ),
        ({"inference": True}, ("inference is True", "'items', 'items+judges', 'model' or None")),
    ],
)
def test_settings_that_mean_nothing_are_refused_in_fit(settings, facts):
    model = RankRegression(**settings)
    with pytest.raises(PairscoreError, match=says(*facts)):
        model.fit(X, Y)


# -- model selection -------------------------------------------------------------------------------


def test_cross_val_score_is_the_share_of_held_out_comparisons_won():
    scores = cross_val_score(QUICK, X, Y, cv=5)
    assert scores.shape == (5,)
    assert scores.mean() > 0.65


def test_cross_val_score_is_that_of_a_loop_by_hand():
    cv = GroupKFold(4)
    by_hand = [
        clone(QUICK).fit(X[train], Y[train]).score(X[test], Y[test])
        for train, test in cv.split(X, Y, X.judge)
    ]
    assert cross_val_score(QUICK, X, Y, cv=cv, groups=X.judge).tolist() == by_hand


def test_two_processes_get_the_same_scores_as_one():
    assert (
        cross_val_score(QUICK, X, Y, cv=4, n_jobs=2).tolist()
        == cross_val_score(QUICK, X, Y, cv=4).tolist()
    )


@pytest.mark.parametrize(
    ("scoring", "low", "high"),
    [
        ("roc_auc", 0.7, 1.0),
        ("neg_log_loss", -np.log(2), 0.0),
        ("accuracy", 0.65, 1.0),
        ("neg_brier_score", -0.25, 0.0),
    ],
)
def test_the_usual_scores_beat_a_coin(scoring, low, high):
    assert low < cross_val_score(QUICK, X, Y, scoring=scoring).mean() < high


def test_no_judge_is_on_both_sides_of_a_group_fold():
    folds = list(GroupKFold(5).split(X, Y, groups=X.judge))
    assert [set(X[train].judge) & set(X[test].judge) for train, test in folds] == [set()] * 5


def test_no_pair_is_on_both_sides_of_a_group_fold_whichever_side_it_was_seen_from():
    folds = list(GroupKFold(5).split(X, Y, groups=X.pair))
    assert [set(X[train].pair) & set(X[test].pair) for train, test in folds] == [set()] * 5
    assert len(set(X.pair)) <= len(X) / 2
    assert cross_val_score(QUICK, X, Y, cv=GroupKFold(5), groups=X.pair).mean() > 0.6


def test_whole_items_can_be_held_out():
    assert cross_val_score(QUICK, X, Y, cv=ItemKFold(3)).mean() > 0.6


def test_a_grid_search_finds_a_ridge_and_fits_again():
    search = GridSearchCV(
        QUICK, {"l2": [0.0, 1.0, 1e6], "method": ["mle", "paired"]}, scoring="neg_log_loss"
    ).fit(X, Y)
    assert search.best_params_["l2"] < 1e6
    assert search.best_estimator_.coef_ == pytest.approx(
        RankRegression(**search.best_params_, inference=None).fit(X, Y).coef_
    )
    assert search.predict(X).shape == (len(X),)


def test_train_test_split_slices_comparisons():
    X_train, X_test, y_train, y_test = train_test_split(
        X, Y, test_size=0.25, random_state=0, stratify=Y
    )
    assert (len(X_train), len(X_test)) == (450, 150)
    assert X_train.items is X_test.items is X.items
    assert np.array_equal(X_train.outcome, y_train)
    assert clone(QUICK).fit(X_train, y_train).score(X_test, y_test) > 0.6


def test_a_learning_curve_rises_to_the_held_out_share():
    sizes, train, test = learning_curve(
        QUICK, X, Y, train_sizes=[20, 400], cv=4, shuffle=True, random_state=0
    )
    assert sizes.tolist() == [20, 400]
    assert train.shape == test.shape == (2, 4)
    assert test[1].mean() > test[0].mean()


def test_a_permutation_test_sees_that_the_features_matter():
    score, permuted, p_value = permutation_test_score(
        QUICK, X, Y, n_permutations=19, cv=3, random_state=0
    )
    assert score > permuted.max()
    assert p_value == 1 / 20


def test_every_comparison_is_predicted_once_by_a_model_that_has_not_seen_it():
    probability = cross_val_predict(QUICK, X, Y, method="predict_proba")
    assert probability.shape == (600, 2)
    assert probability.sum(axis=1) == pytest.approx(1)
    assert np.mean((probability[:, 1] > 0.5) == (Y == 1)) > 0.65


# -- ties ------------------------------------------------------------------------------------------


def test_ties_are_learnt_from_but_not_scored():
    decided = TIED_Y != 0
    model = clone(QUICK).fit(TIED_X, TIED_Y)
    assert model.score(TIED_X, TIED_Y) == model.score(TIED_X[decided], TIED_Y[decided])
    assert model.score(TIED_X, TIED_Y) == np.mean(model.predict(TIED_X)[decided] == TIED_Y[decided])
    # scikit-learn's own scorer counts ties as wrong, as the documentation says
    assert get_scorer("accuracy")(model, TIED_X, TIED_Y) == pytest.approx(
        model.score(TIED_X, TIED_Y) * decided.mean(), rel=1e-12
    )
    assert get_scorer("accuracy")(model, TIED_X[decided], TIED_Y[decided]) == pytest.approx(
        model.score(TIED_X, TIED_Y), rel=1e-12
    )
    assert not np.allclose(
        model.coef_, clone(QUICK).fit(TIED_X[decided], TIED_Y[decided]).coef_, rtol=0.02
    )
    assert set(model.classes_) == set(model.predict(TIED_X)) == {-1, 1}


def test_ties_do_not_stop_cross_validation():
    assert cross_val_score(QUICK, TIED_X, TIED_Y, cv=5).mean() > 0.6


def test_ties_alone_cannot_be_scored():
    tied = TIED_X[TIED_Y == 0]
    with pytest.raises(
        PairscoreError, match=says("every comparison is a tie", "give some with a winner")
    ):
        clone(QUICK).fit(TIED_X, TIED_Y).score(tied)


def test_a_row_counts_as_often_as_it_says_in_a_score():
    votes = VOTES.assign(count=np.arange(len(VOTES)) % 3)
    counted, _ = Comparisons.from_frames(ITEMS, votes)
    expanded, _ = Comparisons.from_frames(
        ITEMS, votes.loc[votes.index.repeat(votes["count"])].drop(columns="count")
    )
    model = clone(QUICK).fit(X, Y)
    assert model.score(counted) == pytest.approx(model.score(expanded))
    assert model.score(counted) != pytest.approx(model.score(X))


# -- transformers of items -------------------------------------------------------------------------


def test_a_pipeline_scales_items_by_those_compared_in_training():
    train = X[:50]
    pipeline = make_pipeline(OnItems(StandardScaler()), RankRegression(inference=None)).fit(
        train, Y[:50]
    )
    scaler = StandardScaler().fit(ITEMS.to_numpy()[train.compared])
    assert not train.compared.all()
    new_items = ITEMS.iloc[:5] + 0.5
    expected = scaler.transform(new_items.to_numpy()) @ pipeline[-1].coef_
    assert pipeline.decision_function(new_items) == pytest.approx(expected)


def test_scaling_items_changes_no_score_difference():
    pipeline = make_pipeline(OnItems(MinMaxScaler()), RankRegression(inference=None)).fit(X, Y)
    assert pipeline.decision_function(X) == pytest.approx(
        clone(QUICK).fit(X, Y).decision_function(X), rel=1e-6
    )
    assert pipeline.score(X, Y) == clone(QUICK).fit(X, Y).score(X, Y)


def test_a_grid_search_reaches_the_transformer_and_the_ridge():
    pipeline = make_pipeline(OnItems(StandardScaler()), RankRegression(inference=None))
    grid = {
        "rankregression__l2": [0.1, 10.0],
        "onitems__transformer": [StandardScaler(), PolynomialFeatures(2, include_bias=False)],
    }
    search = GridSearchCV(pipeline, grid, cv=ItemKFold(3)).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.decision_function(ITEMS.iloc[:7]).shape == (7,)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_transformed_items_are_ranked_in_the_callers_kind(table):
    pipeline = make_pipeline(OnItems(PCA(2)), RankRegression()).fit(X, Y)
    new_items = table(
        {"id": ["new", "other"], "age": [3.0, 0.0], "bmi": [-3.0, 0.0], "ldl": [0.0, 0.0]}
    )
    ranking = pipeline[-1].rank(pipeline[:-1].transform(new_items))
    assert isinstance(ranking, table)
    assert ranking["id"].to_list() == ["new", "other"]
    assert pipeline[-1].feature_names_in_.tolist() == ["pca0", "pca1"]


def test_a_pipeline_takes_items_and_votes_too():
    pipeline = make_pipeline(OnItems(StandardScaler()), RankRegression(inference=None))
    assert pipeline.fit(ITEMS, VOTES).decision_function(ITEMS) == pytest.approx(
        pipeline.fit(X, Y).decision_function(ITEMS)
    )


def test_a_pipeline_leaves_the_comparisons_as_they_were():
    before = X.items.values.copy()
    transformed = OnItems(StandardScaler()).fit_transform(X, Y)
    assert np.array_equal(X.items.values, before)
    assert transformed.left is X.left
    assert transformed.items.feature_names == tuple(FEATURES)


@pytest.mark.parametrize("columns", [["age", "bmi", "hdl"], ["age", "bmi"]])
def test_a_transformer_that_renames_features_does_not_hide_wrong_ones(columns):
    pipeline = make_pipeline(OnItems(PCA(2)), RankRegression(inference=None)).fit(X, Y)
    new_items = pd.DataFrame(np.ones((2, len(columns))), columns=columns)
    with pytest.raises(PairscoreError, match=r"lack 1 feature of the 3 .*'ldl'"):
        pipeline.decision_function(new_items)


@pytest.mark.filterwarnings("ignore:invalid value encountered in log:RuntimeWarning")
def test_a_transformer_that_makes_nan_is_refused():
    n_bad = int(np.sum(ITEMS.to_numpy() < 0))
    with pytest.raises(
        PairscoreError,
        match=says(f"{n_bad} feature values are NaN or infinite", "3 columns", "'age'"),
    ):
        OnItems(FunctionTransformer(np.log)).fit_transform(X, Y)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_covariance_items_belong_to_split_but_may_be_carried_to_any_method(method):
    rows = np.arange(0, len(X.items), 2)
    for data, y in ((X, Y), (ITEMS, VOTES)):
        with pytest.raises(
            PairscoreError,
            match=says(
                "covariance of method='split'",
                f"the method is '{method}'",
                "leave it out",
                "Comparisons.from_frames",
            ),
        ):
            RankRegression(method, inference=None).fit(data, y, covariance_items=rows)
    plain, carried = (
        RankRegression(method, inference=None).fit(data, Y)
        for data in (X, X.with_covariance_items(rows))
    )
    assert carried.coef_.tobytes() == plain.coef_.tobytes()


def test_items_are_ranked_and_only_comparisons_predicted():
    model = RankRegression(inference=None).fit(X, Y)
    for use in (model.predict, model.predict_proba):
        with pytest.raises(PairscoreError, match="give Comparisons; for items use rank"):
            use(ITEMS)
    with pytest.raises(PairscoreError, match="give one outcome for each"):
        model.score(X, Y[:-1])


# -- fitted attributes -----------------------------------------------------------------------------


def test_fitted_values_are_seen_set_and_completed():
    model = clone(QUICK).fit(X)
    assert {"coef_", "covariance_", "link_", "n_iter_"} <= set(dir(model))
    assert not {"errors_", "names_", "settings_"} & set(dir(model))
    assert not hasattr(model, "confidence_intervals_")
    model.coef_ = 0 * model.coef_
    assert np.all(model.decision_function(X) == 0)
    assert model.summary().to_columns()["coef"] == [0, 0, 0]
    model.recipe_ = {"note": "kept"}
    assert model.result_.recipe == {"note": "kept"}


@pytest.mark.parametrize("name", ["coef_", "z_values_", "p_values_", "link_"])
def test_before_the_fit_there_is_nothing_and_it_is_said(name):
    model = RankRegression()
    assert not hasattr(model, name)
    assert name not in vars(model)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(model, name)


def test_undetermined_contrasts_are_masked():
    model = clone(QUICK).fit(X)
    assert not model.undetermined_contrasts(np.eye(3)).any()
    with pytest.raises(NotFittedError):
        RankRegression().undetermined_contrasts(np.eye(3))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ties", ["half", "drop", "davidson"])
def test_cross_val_predict_takes_ties(ties):
    model = RankRegression(ties=ties, inference=None)
    probability = cross_val_predict(model, TIED_X, TIED_Y, method="predict_proba")
    assert probability.shape == (len(TIED_Y), 2)
    assert probability.sum(axis=1) == pytest.approx(1)
    score = cross_val_predict(model, TIED_X, TIED_Y, method="decision_function")
    np.testing.assert_array_equal(score > 0, probability[:, 1] > 0.5)
    side = cross_val_predict(model, TIED_X, TIED_Y)
    np.testing.assert_array_equal(side, np.where(score > 0, 1, -1))
    decided = TIED_Y != 0
    assert np.mean(side[decided] == TIED_Y[decided]) > 0.6
    # outcomes that scikit-learn has numbered anew are the same outcomes
    plain, numbered = (clone(model).fit(TIED_X, y) for y in (TIED_Y, TIED_Y + 1))
    np.testing.assert_array_equal(plain.predict_proba(TIED_X), numbered.predict_proba(TIED_X))
    np.testing.assert_array_equal(numbered.predict(TIED_X), plain.predict(TIED_X) + 1)


def test_differences_with_ties_are_told_what_cross_val_predict_needs():
    D = TIED_X.items.values[TIED_X.left] - TIED_X.items.values[TIED_X.right]
    with pytest.raises(PairscoreError, match=says("use -1, 0 and 1, and Comparisons as X where")):
        cross_val_predict(QUICK, D, TIED_Y, method="predict_proba")


# -- what is given to ``fit`` ------------------------------------------------------------------


def test_fit_without_votes_says_what_is_missing():
    with pytest.raises(
        PairscoreError,
        match=says("y is None", "give comparisons with the items, or give Comparisons"),
    ):
        RankRegression().fit(ITEMS)


def test_comparisons_bring_their_own_outcomes():
    model = clone(QUICK).fit(X)
    assert np.array_equal(model.coef_, clone(QUICK).fit(X, Y).coef_)
    assert model.score(X) == model.score(X, Y)


def test_the_three_ways_in_agree():
    from_tables = RankRegression(inference="model").fit(ITEMS, VOTES)
    from_comparisons = RankRegression(inference="model").fit(X, Y)
    values = ITEMS.to_numpy()
    from_differences = RankRegression().fit(values[X.left] - values[X.right], Y)
    assert np.array_equal(from_tables.coef_, from_comparisons.coef_)
    assert from_differences.coef_ == pytest.approx(from_tables.coef_, rel=1e-7)
    assert from_differences.std_errors_ == pytest.approx(from_tables.std_errors_, rel=1e-6)


def test_no_votes_at_all_are_said_in_a_sentence():
    with pytest.raises(PairscoreError, match="there are no comparisons"):
        RankRegression().fit(ITEMS, [])


def test_covariance_items_given_to_fit_count_for_comparisons_too():

    rows = np.flatnonzero(np.arange(len(X.items)) % 2 == 0)
    given, inside = (
        QUICK.set_params(method="split").fit(X, Y, covariance_items=rows),
        X.with_covariance_items(rows),
    )
    coef = given.coef_.copy()
    assert coef.tolist() == QUICK.fit(inside, Y).coef_.tolist()
    QUICK.set_params(method="mle")
    with pytest.raises(PairscoreError, match="a matrix of differences has none"):
        RankRegression().fit(np.eye(3), [1, -1, 1], covariance_items=[0])


def test_self_pairs_of_comparisons_were_decided_when_they_were_made():
    votes = np.array([[0, 1], [2, 1], [1, 0], [2, 2]])
    kept, y = Comparisons.from_frames([[0.0], [1.0], [3.0]], votes, self_pairs="keep")
    one, two = (
        RankRegression(inference=None).fit(kept, y, self_pairs=choice)
        for choice in ("error", "keep")
    )
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.n_comparisons_ == two.n_comparisons_ == 4
    for data in (kept, np.eye(4)):
        with pytest.raises(PairscoreError, match="self_pairs is 'drop'; use 'error' or 'keep'"):
            RankRegression().fit(data, y, self_pairs="drop")


@pytest.mark.parametrize("votes", ["left", b"left", 3])
def test_votes_that_are_no_table_are_said_in_a_sentence(votes):
    with pytest.raises(
        PairscoreError, match=r"the comparisons are a (str|bytes|int); give a dataframe"
    ):
        RankRegression().fit(ITEMS, votes)


def test_a_zero_that_stands_for_a_loss_is_not_taken_for_a_tie():
    decided = Y != 0
    untied, y = X[decided], Y[decided]
    encoded = RankRegression(inference=None).fit(untied, (y > 0).astype(int))
    assert encoded.coef_.tolist() == RankRegression(inference=None).fit(untied, y).coef_.tolist()
    with pytest.raises(PairscoreError, match="write -1 where right won"):
        RankRegression(inference=None).fit(untied, (y < 0).astype(int))


@pytest.mark.parametrize("as_dict", [False, True], ids=["array", "dict"])
def test_groups_of_all_items_of_a_table_hold_also_where_some_items_are_dropped(as_dict):
    rng = np.random.default_rng(4)
    ids, X = np.array([f"i{k}" for k in range(20)]), rng.normal(size=(20, 2))
    left = rng.integers(0, 20, 150)
    right = (left + rng.integers(1, 20, 150)) % 20
    won = rng.random(150) < 1 / (1 + np.exp(-(X[left] - X[right]) @ [1.0, -0.5]))
    votes = {"left": ids[left], "right": ids[right], "winner": np.where(won, "left", "right")}
    labels, kept = np.array(["even", "odd", "third", "last"])[np.arange(20) % 4], np.arange(20) != 7
    gap = np.where(kept, X[:, 0], np.nan)
    groups = dict(zip(ids, labels, strict=True)) if as_dict else labels
    both_kept = kept[left] & kept[right]
    complete = {"id": ids[kept], "x": X[kept, 0], "y": X[kept, 1]}
    whole = {name: column[both_kept] for name, column in votes.items()}
    expected = RankRegression(l2="auto", inference=None).fit(
        complete, whole, item_groups=groups if as_dict else labels[kept]
    )
    model = RankRegression(l2="auto", missing="drop-items", inference=None).fit(
        {"id": ids, "x": gap, "y": X[:, 1]}, votes, item_groups=groups
    )
    assert model.l2_ == expected.l2_
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
