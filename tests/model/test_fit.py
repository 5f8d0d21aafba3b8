"""What a fit leaves as it was, and features that say nothing new, or too many of them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from pairscore import PairscoreError, RankRegression
from pairscore.choices import METHODS
from pairscore.errors import CollinearFeaturesWarning
from tests.data.conftest import says, study

pytestmark = pytest.mark.filterwarnings("error::pairscore.errors.PairscoreWarning")


@pytest.mark.parametrize("method", METHODS)
def test_arrays_are_not_modified_and_may_be_read_only(method):
    X, votes = study()
    copies = X.copy(), votes.copy()
    X.flags.writeable = votes.flags.writeable = False
    model = RankRegression(method).fit(X, votes)
    model.rank(X)
    model.decision_function(X)
    assert np.array_equal(X, copies[0])
    assert np.array_equal(votes, copies[1])


@pytest.mark.parametrize("method", METHODS)
def test_frames_are_not_modified(method):
    X, votes = study()
    items = pd.DataFrame(X, columns=["a", "b", "c"])
    votes = pd.DataFrame(votes, columns=["winner", "loser"]).assign(
        weight=2.0, count=3, judge="anna"
    )
    copies = items.copy(), votes.copy()
    RankRegression(method).fit(items, votes).rank(items)
    pd.testing.assert_frame_equal(items, copies[0])
    pd.testing.assert_frame_equal(votes, copies[1])


def collinear(X):
    """Feature ``sum`` repeats two others, ``one`` is constant, and only ``free`` stands alone."""
    return pd.DataFrame(
        {"a": X[:, 0], "free": X[:, 1], "sum": 3 * X[:, 0] + 2 * X[:, 2], "c": X[:, 2], "one": 4.2}
    )


@pytest.mark.parametrize("method", METHODS)
def test_collinear_and_constant_features_are_named_and_their_errors_unknown(method):
    X, votes = study()
    with pytest.warns(
        CollinearFeaturesWarning,
        match=says(
            "4 features are constant or a combination of others",
            "'a', 'sum', 'c', 'one'",
            "unknown",
        ),
    ):
        model = RankRegression(method).fit(collinear(X), votes)
    assert np.isnan(model.std_errors_).tolist() == [True, False, True, True, True]
    assert model.coef_[4] == 0


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_redundant_features_change_no_score(method):
    X, votes = study()
    plain = RankRegression(method).fit(X, votes)
    with pytest.warns(CollinearFeaturesWarning):
        redundant = RankRegression(method).fit(collinear(X), votes)
    centre = X.mean(axis=0)
    assert redundant.decision_function(
        collinear(X) - collinear(centre[None]).to_numpy()
    ) == pytest.approx(plain.decision_function(X - centre), abs=1e-8)
    assert redundant.std_errors_[1] == pytest.approx(plain.std_errors_[1], rel=1e-6)


def test_redundant_features_change_no_order_of_split():
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        redundant = RankRegression("split").fit(collinear(X), votes)
    assert np.corrcoef(
        redundant.decision_function(collinear(X)),
        RankRegression("split").fit(X, votes).decision_function(X),
    )[0, 1] == pytest.approx(1)


def test_a_constant_feature_far_from_zero_is_still_constant():
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning, match=says("1 feature is constant", "'x3'")):
        model = RankRegression().fit(np.column_stack([X, np.full(len(X), 1 / 3e-7)]), votes)
    assert model.coef_[:3] == pytest.approx(RankRegression().fit(X, votes).coef_, rel=1e-8)


def test_the_paired_solution_has_the_smallest_norm_of_standardised_features():
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        model = RankRegression("paired").fit(collinear(X), votes)
    items = collinear(X).to_numpy()
    differences = items[votes[:, 0]] - items[votes[:, 1]]  # the winner is left: every outcome is +1
    exposures = np.bincount(votes.ravel(), minlength=len(items))
    # as the ridge standardises
    unit = np.sqrt(np.cov(items.T, bias=True, fweights=exposures).diagonal())
    unit = np.where(np.arange(len(unit)) == 4, 1.0, unit)
    expected = 2 * np.linalg.pinv(differences / unit, rcond=1e-10) @ np.ones(len(votes)) / unit
    assert model.closed_form_coef_ == pytest.approx(expected, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_the_smallest_norm_is_the_limit_of_a_vanishing_ridge(method):
    X, votes = study()
    with pytest.warns(CollinearFeaturesWarning):
        smallest, ridge = (
            RankRegression(method, l2=l2, inference=None).fit(collinear(X), votes)
            for l2 in (0.0, 1e-6)
        )
    assert ridge.coef_ == pytest.approx(smallest.coef_, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
@pytest.mark.parametrize(
    ("n_items", "n_votes", "facts"),
    [
        (16, 40, ("9 features", "only 8 compared items", "l2=1.0", "fewer features")),
        (120, 7, ("9 features", "only 7 comparisons", "l2=1.0")),
    ],
)
def test_more_features_than_items_or_comparisons_need_a_ridge(method, n_items, n_votes, facts):
    X, votes = study(n_items, 9, n_votes)
    with pytest.raises(PairscoreError, match=says(*facts)):
        RankRegression(method).fit(X, votes)
    ridge = RankRegression(method, l2=1.0, inference=None).fit(X, votes)
    assert np.isfinite(ridge.coef_).all()
    assert ridge.agreement_ > 0.5


def test_split_needs_three_more_covariance_items_than_features():
    X, votes = study(n_items=120)
    compared = X[:60]
    with pytest.raises(
        PairscoreError,
        match=says(
            "at least 6 items", "3 features", "has 5", "covariance_items=", "method='pooled'"
        ),
    ):
        RankRegression("split").fit(np.vstack([compared, X[60:65]]), votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six items are enough to start, not to be trusted
        model = RankRegression("split", inference=None).fit(np.vstack([compared, X[60:66]]), votes)
    assert np.isfinite(model.coef_).all()
