"""Fitting as functions: what is kept, agreement and noise, and what is refused."""

import inspect
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm

from pairscore import Comparisons, PairscoreError, RankRegression
from pairscore.choices import METHODS
from pairscore.core.differences import Differences
from pairscore.core.links import get_link
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.errors import CollinearFeaturesWarning, PairscoreWarning
from pairscore.estimators.agreement import agreement_of
from pairscore.estimators.settings import DEFAULTS, check_settings
from pairscore.model.fit import kept_types
from pairscore.model.fit_comparisons import fit_comparisons
from tests.data.conftest import says
from tests.data.conftest import study as small_study
from tests.effects.simulators import judged_votes
from tests.model.test_summary import fitted, study

FEATURES = ["a", "b", "c"]


def tables(seed=0, n=80, m=1500, **given):
    X, votes = judged_votes(np.random.default_rng(seed), n=n, m=m, **given)
    items = pd.DataFrame(X, columns=FEATURES).assign(id=[f"item {row}" for row in range(n)])
    votes = pd.DataFrame(votes)
    for side in ("left", "right"):
        votes[side] = items["id"].to_numpy()[votes[side]]
    return items, votes


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("side_effect", [False, True])
def test_agreement_noise_and_ties_equal_a_loop_over_comparisons(link, side_effect):
    items, votes = study()
    model = fitted(link=link, side_effect=side_effect)
    score, f = items.to_numpy() @ model.coef_, expit if link == "logit" else ndtr
    right = decided = noise = total = 0.0
    for left, other, winner, count in votes.itertuples(index=False):
        lead = score[left] - score[other] + (model.side_effect_ or 0.0)
        total += count
        if winner != "tie":
            decided += count
            noise += count * f(-model.decided_scale_ * abs(lead))
            right += count * ((lead > 0) == (winner == "left"))
    assert model.agreement_ == pytest.approx(right / decided, rel=1e-12)
    assert model.noise_ == pytest.approx(noise / decided, rel=1e-12)
    assert model.tie_share_ == pytest.approx(1 - decided / total, rel=1e-12)
    assert model.n_comparisons_ == total == votes["count"].sum()


def test_a_score_that_cannot_tell_does_not_agree():
    differences = Differences(np.array([0.0, -1.0, 2.0, 0.0]), np.array([1, -1, -1, 0]), np.ones(4))
    law = OutcomeLaw(TieRule("half", get_link("logit")))
    shares = agreement_of(differences, law, unit=1.0, scale=1.0)
    assert shares.agreement == pytest.approx(1 / 3)
    assert shares.noise == pytest.approx((0.5 + expit(-1) + expit(-2)) / 3)  # not of the tie
    rule = TieRule("rao-kupper", get_link("logit"))
    loss, _, win = rule.probabilities(np.array([0.0, 1.0, 2.0, 0.0]), 0.8)
    noise = agreement_of(differences, OutcomeLaw(rule, 0.8), unit=1.0, scale=1.0).noise
    assert noise == pytest.approx(loss.sum() / (loss + win).sum())  # of decided comparisons


def test_estimated_noise_is_near_the_true_share_of_flips():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    left = rng.integers(0, 400, 8000)
    right = (left + rng.integers(1, 400, 8000)) % 400
    lead = (X[left] - X[right]) @ [1.0, 0.5, 0.0]
    left_won = rng.random(8000) < expit(lead)
    flips = np.mean(left_won != (lead > 0))
    model = RankRegression().fit(
        X, np.column_stack([np.where(left_won, left, right), np.where(left_won, right, left)])
    )
    spread = np.sqrt(np.mean(expit(lead) * expit(-lead)) / 8000)
    assert abs(model.noise_ - flips) < norm.isf(1e-4) * spread


# -- functions under the class ---------------------------------------------------------------------


def test_the_class_is_a_shell_over_the_function():
    items, votes = tables(seed=4)
    X, _ = Comparisons.from_frames(items, votes)
    fit, notes = fit_comparisons(X, check_settings(method="paired", side_effect=True))
    model = RankRegression(method="paired", side_effect=True).fit(X)
    assert notes == []
    assert fit.settings == model.result_.settings
    assert fit.full_record == model.record_
    for name in kept_types():
        if name in ("settings", "feature_names", "record"):
            continue
        one, other = fit.kept(name), getattr(model, f"{name}_")
        if isinstance(one, np.ndarray):
            assert one.tobytes() == other.tobytes(), name
        elif name not in ("pairing", "comparisons"):
            assert one == other, name
    assert fit.pairing.in_words == model.pairing_.in_words


def test_what_a_model_has_not_is_an_attribute_error_before_and_after_the_fit():
    model = RankRegression()
    assert not hasattr(model, "coef_")
    model.fit(*tables(seed=5))
    assert hasattr(model, "coef_")
    assert not hasattr(model, "coeff_")
    assert not hasattr(model, "nothing")


def test_the_defaults_of_the_class_are_those_of_the_table_of_settings():
    signature = inspect.signature(RankRegression.__init__).parameters
    stated = {name: p.default for name, p in signature.items() if name != "self"}
    assert stated == DEFAULTS
    assert check_settings() == check_settings(**stated)


def test_a_plain_fit_loads_neither_scikit_learn_nor_effects():
    code = """
import sys
import numpy as np
from pairscore import Comparisons
from pairscore.estimators.settings import check_settings
from pairscore.model.fit_comparisons import fit_comparisons
rng = np.random.default_rng(0)
votes = rng.permuted(np.tile(np.arange(60), (99, 1)), axis=1)[:, :2]
X, _ = Comparisons.from_frames(rng.normal(size=(60, 2)), votes)
fit_comparisons(X, check_settings(**eval(sys.argv[1])))
print([name for name in sys.modules if name.startswith(("sklearn", "pairscore.effects"))])
"""
    for settings, loaded in (
        ("{}", False),
        ("{'method': 'pooled'}", False),
        ("{'item_effects': True}", True),
    ):
        command = [sys.executable, "-c", code, settings]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ("pairscore.effects.joint_fit" in done.stdout) == loaded
        assert "sklearn" not in done.stdout


# -- features --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_arrays_are_not_modified_and_may_be_read_only(method):
    X, votes = small_study()
    copies = X.copy(), votes.copy()
    X.flags.writeable = votes.flags.writeable = False
    model = RankRegression(method).fit(X, votes)
    model.rank(X)
    model.decision_function(X)
    assert np.array_equal(X, copies[0])
    assert np.array_equal(votes, copies[1])


@pytest.mark.parametrize("method", METHODS)
def test_frames_are_not_modified(method):
    X, votes = small_study()
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
    X, votes = small_study()
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
    X, votes = small_study()
    plain = RankRegression(method).fit(X, votes)
    with pytest.warns(CollinearFeaturesWarning):
        redundant = RankRegression(method).fit(collinear(X), votes)
    centre = X.mean(axis=0)
    assert redundant.decision_function(
        collinear(X) - collinear(centre[None]).to_numpy()
    ) == pytest.approx(plain.decision_function(X - centre), abs=1e-8)
    assert redundant.std_errors_[1] == pytest.approx(plain.std_errors_[1], rel=1e-6)


def test_redundant_features_change_no_order_of_split():
    X, votes = small_study()
    with pytest.warns(CollinearFeaturesWarning):
        redundant = RankRegression("split").fit(collinear(X), votes)
    assert np.corrcoef(
        redundant.decision_function(collinear(X)),
        RankRegression("split").fit(X, votes).decision_function(X),
    )[0, 1] == pytest.approx(1)


def test_a_constant_feature_far_from_zero_is_still_constant():
    X, votes = small_study()
    with pytest.warns(CollinearFeaturesWarning, match=says("1 feature is constant", "'x3'")):
        model = RankRegression().fit(np.column_stack([X, np.full(len(X), 1 / 3e-7)]), votes)
    assert model.coef_[:3] == pytest.approx(RankRegression().fit(X, votes).coef_, rel=1e-8)


def test_the_paired_solution_has_the_smallest_norm_of_standardised_features():
    X, votes = small_study()
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
    X, votes = small_study()
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
        (16, 40, ("9 features", "only 8 compared items", "l2='auto'", "fewer features")),
        (120, 7, ("9 features", "only 7 comparisons", "l2='auto'")),
    ],
)
def test_more_features_than_items_or_comparisons_need_a_ridge(method, n_items, n_votes, facts):
    X, votes = small_study(n_items, 9, n_votes)
    with pytest.raises(PairscoreError, match=says(*facts)):
        RankRegression(method).fit(X, votes)
    ridge = RankRegression(method, l2=1.0, inference=None).fit(X, votes)
    assert np.isfinite(ridge.coef_).all()
    assert ridge.agreement_ > 0.5


def test_split_needs_three_more_covariance_items_than_features():
    X, votes = small_study(n_items=120)
    compared = X[:60]
    with pytest.raises(
        PairscoreError,
        match=says(
            "at least 6 items", "3 features", "has 5", "covariance_items", "method='pooled'"
        ),
    ):
        RankRegression("split").fit(np.vstack([compared, X[60:65]]), votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # six items are enough to start, not to be trusted
        model = RankRegression("split", inference=None).fit(np.vstack([compared, X[60:66]]), votes)
    assert np.isfinite(model.coef_).all()


# -- ties that are left out ------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side_effect", [False, True])
def test_ties_that_are_dropped_are_counted_and_not_fitted(method, side_effect):
    items, votes = tables(tie=0.6, rule="davidson")
    items = pd.concat([items, items.assign(id="spare " + items["id"])])  # for split
    X, y = Comparisons.from_frames(items, votes)
    decided = y != 0
    settings = {"method": method, "side_effect": side_effect}
    model = RankRegression(ties="drop", **settings).fit(X, y)
    alone = X[decided].with_covariance_items(~X.compared)
    witness = RankRegression(**settings).fit(alone)
    np.testing.assert_array_equal(model.coef_, witness.coef_)
    np.testing.assert_array_equal(model.covariance_, witness.covariance_)
    np.testing.assert_array_equal(model.predict_proba(X), witness.predict_proba(X))
    assert model.decided_scale_ == 1.0
    assert (model.noise_, model.agreement_) == (witness.noise_, witness.agreement_)
    assert (model.n_comparisons_, model.tie_share_) == (len(y), pytest.approx(1 - decided.mean()))
    assert model.record_["fingerprint"] == RankRegression(method).fit(X, y).record_["fingerprint"]
    assert f" ({model.tie_share_:.1%} ties, left out)" in str(model.summary())


def test_nothing_but_ties_cannot_be_dropped():
    items, votes = tables(m=40)
    with pytest.raises(
        PairscoreError, match="every comparison is a tie, so ties='drop' leaves nothing to learn"
    ):
        RankRegression(ties="drop").fit(items, votes.assign(winner="tie"))
    X, _ = Comparisons.from_frames(items, votes)
    model = RankRegression(ties="drop", inference=None).fit(X)
    with pytest.raises(PairscoreError, match="was fitted without the ties and gives ties no prob"):
        model.predict_ties(X)


@pytest.mark.parametrize("ties", ["half", "drop"])
@pytest.mark.parametrize("method", METHODS)
def test_without_ties_every_setting_is_the_same_to_the_last_bit(method, ties):
    items, votes = tables(m=600)
    items = pd.concat([items, items.assign(id="spare " + items["id"])])
    X, _ = Comparisons.from_frames(items, votes[votes["winner"] != "tie"])
    model = RankRegression(method, ties=ties, inference="model").fit(X)
    assert model.decided_scale_ == 1.0
    score = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(score), rtol=1e-14)
    assert "decided" not in str(model.summary()).replace("decided comparisons agree", "")


@pytest.mark.parametrize("seed", range(6))
def test_weights_without_ties_have_no_share_of_ties(seed):
    rng = np.random.default_rng(seed)
    X, left = rng.normal(size=(50, 2)), rng.integers(0, 50, 30_000)
    right = (left + rng.integers(1, 50, 30_000)) % 50
    won = np.where(rng.random(30_000) < 0.5 + 0.2 * np.sign(X[left, 0] - X[right, 0]), 1, -1)
    votes = {"left": left, "right": right, "winner": np.where(won > 0, "left", "right")}
    model = RankRegression("pooled").fit(X, votes | {"weight": rng.uniform(0.1, 2, 30_000)})
    assert model.tie_share_ == 0


def test_ties_alone_say_nothing_about_decided_comparisons():
    """The chance was 50 % with an interval of a few points, though nobody had ever won."""
    ties = {"left": ["a", "b", "c"] * 40, "right": ["b", "c", "a"] * 40, "winner": ["tie"] * 120}
    items = {"id": ["a", "b", "c"], "x": [0.0, 1.0, 3.0]}
    with pytest.warns(PairscoreWarning, match="every comparison is a tie: nothing was decided"):
        model = RankRegression(inference="model").fit(items, ties)
    chances = model.chances(Comparisons.from_frames(items, ties)[0])
    assert np.all(np.isnan(model.std_errors_))
    assert np.allclose(chances["chance"], 0.5)
    assert np.isnan([chances["low"], chances["high"]]).all()
