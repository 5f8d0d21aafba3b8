"""Intervals: naive twins of every formula, and rivals that must fail."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError

from pairscore import Comparisons, PairscoreError, RankRegression
from pairscore.core.links import get_link
from pairscore.core.moments import moments
from pairscore.core.sandwich import sandwich
from pairscore.core.scale import NO_RIDGE
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewItemsWarning,
    PairsNotRandomWarning,
    SeparationWarning,
)
from pairscore.estimators.closed_form import fit_closed_form
from pairscore.estimators.closed_form_errors import ClosedFormEquations, ScaledClosedForm
from pairscore.estimators.pair_sums import sum_equations
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study
from tests.laws import GaussianStudy
from tests.limits import CHANCE
from tests.tie_cells import draw_outcomes, draw_pairs

METHODS = ("split", "pooled", "paired", "mle")


def test_the_robust_covariance_of_the_likelihood_is_the_dyadic_sandwich():
    """From explicit differences, with nothing of ours but the coefficients."""
    study = GaussianStudy(80, 600, 3, item_sd=1.0, second_half=False)
    X, votes = study.draw(np.random.default_rng(0))
    model = RankRegression().fit(X, votes)
    D = X[votes[:, 0]] - X[votes[:, 1]]
    p = 1 / (1 + np.exp(-D @ model.coef_))
    H = (D * (p * (1 - p))[:, None]).T @ D
    u = pd.DataFrame((1 - p)[:, None] * D)
    pair = np.sort(votes, axis=1)
    by_pair = u.groupby([pair[:, 0], pair[:, 1]]).sum()
    items = [(a, b) for a, b in by_pair.index]
    k = np.bincount(votes.ravel(), minlength=80).astype(float)
    mean = k @ X / k.sum()
    inverse_scatter = np.linalg.inv(((X - mean) * k[:, None]).T @ (X - mean))
    meat = -by_pair.to_numpy().T @ by_pair.to_numpy()
    for i in range(80):
        t = by_pair.to_numpy()[[i in pair for pair in items]].sum(axis=0)
        h = k[i] * (1 / k.sum() + (X[i] - mean) @ inverse_scatter @ (X[i] - mean))
        meat += np.outer(t, t) / (1 - h) ** 2
    expected = np.linalg.inv(H) @ meat @ np.linalg.inv(H)
    # the floor is not at work here
    assert eigh(expected, np.linalg.inv(H), eigvals_only=True).min() > 0.5
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["pooled", "paired", "split"])
@pytest.mark.parametrize("side", [False, True])
def test_the_closed_forms_influence_is_its_numerical_derivative(method, side, monkeypatch):
    """Jacobian times contribution = what changes when one comparison gets a little more weight
    (random pairs, many items).
    """
    study = GaussianStudy(4000, 60_000, 3)
    X, votes = study.draw(np.random.default_rng(3))
    frame = pd.DataFrame({"left": votes[:, 0], "right": votes[:, 1], "winner": "left"})
    swap = np.random.default_rng(4).random(len(frame)) < 0.5
    frame.loc[swap, ["left", "right"]] = frame.loc[swap, ["right", "left"]].to_numpy()
    frame.loc[swap, "winner"] = "right"
    rows = np.arange(0, len(frame), 400)
    step = 200.0

    def coefficients(weight):
        data, _ = Comparisons.from_frames(
            X, frame.assign(weight=weight), covariance_items=np.arange(4000, 8000)
        )
        model = RankRegression(method, inference=None, side_effect=side).fit(data)
        return np.append(model.coef_, model.side_effect_) if side else model.coef_

    captured = {}

    def spy(jacobian, *rest):
        captured["jacobian"] = jacobian
        return sandwich(jacobian, *rest)

    monkeypatch.setattr("pairscore.estimators.closed_form_errors.sandwich", spy)
    data, _ = Comparisons.from_frames(X, frame, covariance_items=np.arange(4000, 8000))
    fitted = fit_closed_form(
        TableData(data, side), Settings(method, get_link("logit"), side_effect=side)
    )
    base = np.ones(len(frame))
    more = base.copy()
    more[rows] += step / len(rows)
    actual = (coefficients(more) - coefficients(base)) / (step / len(rows))
    b, mean = (
        fitted.unscaled.coef,
        moments(X, np.bincount(votes.ravel(), minlength=len(X)).astype(float)).mean,
    )
    left, right = frame["left"].to_numpy()[rows], frame["right"].to_numpy()[rows]
    y = np.where(frame["winner"].to_numpy()[rows] == "left", 1, -1)
    D = X[left] - X[right]
    if method == "paired":
        u = (y - D @ b / 2)[:, None] * D
    elif method == "pooled":
        u = (y - (X[left] - mean) @ b / 2)[:, None] * (X[left] - mean) + (
            -y - (X[right] - mean) @ b / 2
        )[:, None] * (X[right] - mean)
    else:
        u = y[:, None] * D - (
            np.where(frame["winner"] == "left", 1, -1)[:, None]
            * (X[frame["left"]] - X[frame["right"]])
        ).mean(axis=0)
    factor = np.linalg.norm(fitted.coef) / np.linalg.norm(b) / fitted.unscaled.guard
    delta = factor * (D @ b) + (fitted.side_effect or 0.0)
    e = y / (1 + np.exp(y * delta))
    extra = np.column_stack([e * (D @ b), e] if side else [e * (D @ b)])
    predicted = captured["jacobian"] @ np.concatenate([u.sum(axis=0), extra.sum(axis=0)])
    assert np.linalg.norm(predicted - actual) < 0.05 * np.linalg.norm(actual), (predicted, actual)


def test_the_raw_dyadic_meat_can_be_indefinite_but_the_covariance_never_is():
    """The rival, the meat alone, fails for few items."""
    failures = 0
    for seed in range(30):
        X, votes = GaussianStudy(8, 40, 2, second_half=False).draw(np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RankRegression().fit(X, votes)
        assert np.linalg.eigvalsh(model.covariance_).min() > 0
        D = X[votes[:, 0]] - X[votes[:, 1]]
        u = (1 / (1 + np.exp(D @ model.coef_)))[:, None] * D
        t = np.array([u[(votes == i).any(axis=1)].sum(axis=0) for i in range(8)])
        failures += np.linalg.eigvalsh(t.T @ t - u.T @ u).min() <= 0
    assert failures > 0


def test_few_items_are_said():
    X, votes = GaussianStudy(20, 200, 2, second_half=False).draw(np.random.default_rng(0))
    with pytest.warns(FewItemsWarning, match="20 items"):
        assert RankRegression().fit(X, votes).inference_ == "items"
    X, votes = GaussianStudy(4, 300, 3, q=0.5, second_half=False).draw(np.random.default_rng(1))
    with pytest.warns(FewItemsWarning, match="4 items with 3 parameters"):
        model = RankRegression().fit(X, votes)
    assert model.inference_ == "model"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classical = RankRegression(inference="model").fit(X, votes)
    np.testing.assert_allclose(model.covariance_, classical.covariance_)


def test_intervals_z_and_p_follow_from_the_errors():
    X, votes = GaussianStudy(60, 600, 3, second_half=False).draw(np.random.default_rng(0))
    model = RankRegression().fit(X, votes)
    np.testing.assert_allclose(model.std_errors_, np.sqrt(np.diag(model.covariance_)))
    low, high = model.confidence_intervals().T
    np.testing.assert_allclose((high - low) / 2, 1.959964 * model.std_errors_, rtol=1e-6)
    np.testing.assert_allclose((low + high) / 2, model.coef_)
    assert (model.p_values_ < 0.05).tolist() == ((low > 0) | (high < 0)).tolist()


def test_without_inference_there_are_no_intervals_and_the_same_coefficients():
    X, votes = GaussianStudy(60, 600, 3).draw(np.random.default_rng(0))
    for method in ("split", "pooled", "paired", "mle"):
        with_, without = (
            RankRegression(method, inference=kind).fit(X, votes) for kind in ("items", None)
        )
        if method == "paired":  # without intervals it takes a shorter way to the same sums
            np.testing.assert_allclose(with_.coef_, without.coef_, rtol=1e-12)
        else:
            np.testing.assert_array_equal(with_.coef_, without.coef_)
        assert without.covariance_ is None
        with pytest.raises(ValueError, match="inference=None"):
            without.confidence_intervals()


def test_errors_follow_the_units_of_features():
    X, votes = GaussianStudy(200, 2000, 3, item_sd=1.0, second_half=False).draw(
        np.random.default_rng(0)
    )
    usual = RankRegression().fit(X, votes)
    for unit in (1e30, 1e-30):
        model = RankRegression().fit(X * unit, votes)
        np.testing.assert_allclose(model.std_errors_ * unit, usual.std_errors_, rtol=1e-9)
        np.testing.assert_allclose(model.coef_ * unit, usual.coef_, rtol=1e-9)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
@pytest.mark.parametrize("weight", [1e-45, 1e30, 1e60])
def test_item_robust_errors_do_not_depend_on_the_unit_of_weights(method, weight):
    X, votes = GaussianStudy(200, 2000, 3, second_half=False).draw(np.random.default_rng(0))
    usual = RankRegression(method).fit(X, votes).std_errors_
    votes = {"winner": votes[:, 0], "loser": votes[:, 1], "weight": np.full(2000, weight)}
    np.testing.assert_allclose(RankRegression(method).fit(X, votes).std_errors_, usual, rtol=1e-9)


# -- a side effect that the comparisons do not determine ---------------------------------------


def one_sided(twins=False, swapped=0):
    """Items of two groups, left always of the first (but for some ``swapped`` rows).

    With ``twins``, a feature twice, too.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)), np.arange(200) % 100 < 50])
    X = np.column_stack([X, X[:, 1]]) if twins else X
    left, right = rng.integers(0, 50, 600), rng.integers(50, 100, 600)
    left[:swapped], right[:swapped] = right[:swapped], left[:swapped].copy()
    won = (X[left] - X[right])[:, :2].sum(axis=1) + 0.5 + rng.logistic(size=600) > 0
    return X, pd.DataFrame({"left": left, "right": right, "winner": np.where(won, "left", "right")})


@pytest.mark.parametrize("method", METHODS)
def test_a_side_effect_that_no_comparison_tells_from_a_feature_has_no_error_and_is_named(method):
    X, votes = one_sided()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(method, side_effect=True).fit(X, votes)
    (text,) = [str(one.message) for one in caught if one.category is CollinearFeaturesWarning]
    assert text.startswith(
        "the side effect is not determined, because in every comparison left is ahead of right by"
        " the same amount of 'x2'; "
    )
    assert np.isnan(model.side_effect_std_error_)
    assert np.isnan(model.std_errors_).tolist() == [False, False, True]
    assert f"{model.side_effect_:+.4g} for left (interval unknown)" in str(model.summary())
    # one of the equal fits, coefficients and side alike: left wins as often as it did (a guard may
    # shorten closed forms)
    predicted = model.predict_proba(Comparisons.from_frames(X, votes)[0])[:, 1].mean()
    assert predicted == pytest.approx(
        np.mean(votes["winner"] == "left"), abs=1e-6 if method == "mle" else 0.01
    )
    same_group, other_group = (model.difference(X[0], X[row]) for row in (1, 60))
    assert np.isfinite(same_group.low)
    assert np.isnan(other_group.low)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{"swapped": 10}, {"l2": 1.0}])
def test_a_few_swapped_rows_or_a_ridge_determines_the_side_effect(method, options):
    """Rivals of the case above.

    A rule that looks at the most common side, or not at the ridge, would see no difference.
    """
    X, votes = one_sided(swapped=options.get("swapped", 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairsNotRandomWarning)
        warnings.simplefilter("error", CollinearFeaturesWarning)
        model = RankRegression(method, side_effect=True, l2=options.get("l2", 0.0)).fit(X, votes)
    assert np.isfinite(model.side_effect_std_error_)
    assert not model.undetermined_.any()


def test_a_feature_that_only_a_ridge_tells_from_the_side_leaves_the_others_their_errors():
    """It is zero, without an error, by the ridge; rounding errors of that were taken for variances,
    and the others' errors were 1e5 times too large. From explicit differences.
    """
    X, votes = one_sided()
    left, right = votes["left"].to_numpy(), votes["right"].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankRegression(side_effect=True, l2=1.0).fit(X, votes)
    D = np.column_stack([X[left] - X[right], np.ones(600)])
    k = np.bincount(np.append(left, right), minlength=200).astype(float)
    Z = X - k @ X / k.sum()
    sd = np.sqrt(k @ Z**2 / k.sum())
    ahead = D @ np.append(model.coef_, model.side_effect_)
    p = 1 / (1 + np.exp(-ahead))
    u = (np.where(votes["winner"] == "left", 1.0, 0.0) - p)[:, None] * D
    u -= u.mean(axis=0)
    ridge = np.diag(4 * sd**2)  # on a scatter of items, that of l2=1 under logit
    inverse = np.linalg.inv((Z * k[:, None]).T @ Z + ridge)
    leverage = k * (1 / k.sum() + np.einsum("ij,jk,ik->i", Z, inverse, Z))
    meat = np.zeros((4, 4))
    for item in range(100):
        t = u[(left == item) | (right == item)].sum(axis=0) / (1 - leverage[item])
        meat += np.outer(t, t)
    for pair in {(a, b) for a, b in zip(left, right, strict=True)}:
        t = u[(left == pair[0]) & (right == pair[1])].sum(axis=0)
        meat -= np.outer(t, t)
    information = (D * (p * (1 - p))[:, None]).T @ D
    bread = np.linalg.inv(information + np.diag(np.append(sd**2, 0.0)))
    errors = np.sqrt(np.diag(bread @ meat @ bread))
    np.testing.assert_allclose(model.std_errors_[:2], errors[:2], rtol=1e-6)
    assert model.side_effect_std_error_ == pytest.approx(errors[3], rel=1e-6)
    assert model.coef_[2] == pytest.approx(0.0, abs=1e-9)
    assert model.std_errors_[2] == 0.0


@pytest.mark.parametrize("method", ["paired", "mle"])
def test_twin_features_and_the_side_are_named_apart(method):
    X, votes = one_sided(twins=True)
    with pytest.warns(CollinearFeaturesWarning) as caught:
        model = RankRegression(method, side_effect=True, inference="model").fit(X, votes)
    features, side = [
        str(one.message) for one in caught if one.category is CollinearFeaturesWarning
    ]
    assert "'x1', 'x3'" in features
    assert "'x2'" not in features
    assert "the same amount of 'x2';" in side
    assert np.isnan(model.std_errors_).tolist() == [False, True, True, True]


def test_a_column_of_ones_among_differences_is_the_side_effect():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), np.ones(300)])
    y = np.where(X.sum(axis=1) + rng.logistic(size=300) > 0, 1, -1)
    with pytest.warns(CollinearFeaturesWarning, match="the side effect is not determined"):
        model = RankRegression(side_effect=True).fit(X, y)
    alone = RankRegression().fit(X, y)
    assert np.isnan(model.side_effect_std_error_)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-5)


def test_errors_of_items_with_an_effect_of_their_own_are_not_erratic():
    """If every vote is a coin toss, the robust variance estimates the classical one.

    The effect of an item with about 80 comparisons is seen in the squares of their residuals, so
    the ratio varies at most as a chi-square variable of 80 degrees of freedom over 80.
    """
    ratios = []
    for seed in range(30):
        rng, n, m = np.random.default_rng([13, seed]), 100, 4000
        X, ids = rng.normal(size=(n, 2)), np.array([f"item-{k}" for k in range(n)])
        X[:4, 0] = np.nan
        left = rng.integers(0, n, m)
        right = (left + rng.integers(1, n, m)) % n
        winner = np.where(rng.random(m) < 0.5, "left", "right")
        items = {"id": ids, "a": X[:, 0], "b": X[:, 1]}
        votes = {"left": ids[left], "right": ids[right], "winner": winner}
        robust, classical = (
            RankRegression(missing="item-effect", inference=kind).fit(items, votes).std_errors_
            for kind in ("items", "model")
        )
        ratios.append((robust[2:] / classical[2:]) ** 2)
    chance = CHANCE / np.size(ratios)
    assert chi2.ppf(chance, 80) / 80 < np.min(ratios)
    assert np.max(ratios) < chi2.isf(chance, 80) / 80


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_half_wins_vary_less_than_coins_in_the_meat_of_a_closed_form(link, side):
    """Of Y (x_I - x_J) and of the score of (factor, side): 4 (f (1 - f) - [tie]/4), and so on."""
    rng = np.random.default_rng(5)
    X, b, factor, effect = rng.normal(size=(12, 2)), np.array([0.8, -0.4]), 0.9, 0.3 * side
    left, right = draw_pairs(rng, 0, 12, 200)
    outcome = draw_outcomes(rng, (X[left] - X[right]) @ b, "at random")
    count = rng.integers(1, 4, 200).astype(float)
    data = TableData(Comparisons(X, left, right, outcome, count=count), side)
    f = get_link(link)
    form = ScaledClosedForm(f, "paired", b, np.eye(2), factor, effect, NO_RIDGE, b)
    sums, _ = sum_equations(data, ClosedFormEquations(form, X @ b, 0.0), 3 + side, None)
    expected = np.zeros((3 + side, 3 + side))
    for i, j, y, number in zip(left, right, outcome, count, strict=True):
        x = X[i] - X[j]
        at = factor * (x @ b) + effect
        p, g = float(f.cdf(at)), float(f.pdf(at) / (f.cdf(at) * f.cdf(-at)))
        variance = p * (1 - p) - 0.25 * (y == 0)
        column = np.concatenate([2 * x, g * np.array([x @ b, 1.0])[: 1 + side]])
        expected += number * variance * np.outer(column, column)
    np.testing.assert_allclose(sums.model_meat - sums.tied, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_ties_make_classical_intervals_narrower_than_coins(method):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 3))
    left, right = draw_pairs(rng, 0, 200, 3000)
    outcome = draw_outcomes(rng, (X[left] - X[right]) @ [1.0, 0.5, 0.0], "two coins")
    tied = Comparisons(X, left, right, outcome)
    won = np.where(outcome == 0, np.where(np.arange(3000) % 2, 1, -1), outcome)
    coins = Comparisons(X, left, right, won)  # every other tie a win, every other one a loss
    wide, narrow = (RankRegression(method, inference="model").fit(data) for data in (coins, tied))
    np.testing.assert_allclose(narrow.coef_, wide.coef_, atol=0.1)
    ratio = np.mean(wide.std_errors_ / narrow.std_errors_)
    assert 1.1 < ratio < 1.6  # the square root of two, but for the error of split's covariance


# -- likelihood ------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", ["baseball", "citations"])
@pytest.mark.parametrize("with_side", [False, True])
def test_a_statistician_finds_log_likelihood_aic_and_bic_as_in_r(study, with_side):
    """With 0/1 features of the items, and with abilities and no features."""
    items, votes = read_study(study)
    known = r_numbers(study, "sided" if with_side else "plain")
    for table in (items, None):
        model = RankRegression(inference="model", side_effect=with_side).fit(table, votes)
        assert model.loglik_ == pytest.approx(known["loglik"], rel=1e-9)
        assert model.deviance_ == pytest.approx(known["deviance"], rel=1e-9)
        assert model.df_model_ == known["df"]
        assert (model.aic_, model.bic_) == pytest.approx((known["aic"], known["bic"]), rel=1e-9)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "drop"])
def test_the_log_likelihood_with_ties_is_the_sum_of_logarithms_of_probabilities(ties):
    items, votes = draw_study(1, side=0.2)
    votes.loc[::4, "winner"] = "tie"
    model = RankRegression(ties=ties, context=["rest"]).fit(items, votes)
    X, y = model.comparisons_, model.comparisons_.outcome
    rule = model.outcome_law.rule
    loss, tie, win = rule.probabilities(model.decision_function(X), model.tie_parameter_ or 0.0)
    seen = np.where(y == 0, 1.0 if ties == "drop" else tie, np.where(y > 0, win, loss))
    assert model.loglik_ == pytest.approx(np.log(seen).sum(), rel=1e-12)
    n, k = (np.sum(y != 0), 5) if ties == "drop" else (len(y), 6)
    assert model.df_model_ == k
    assert model.bic_ == pytest.approx(-2 * model.loglik_ + k * np.log(n), rel=1e-12)


def test_counts_are_comparisons_and_parameters_that_are_not_determined_do_not_count():
    items, votes = draw_study(2)
    model = RankRegression().fit(items, votes)
    twice = RankRegression().fit(items, votes.assign(count=2))
    assert twice.loglik_ == pytest.approx(2 * model.loglik_, rel=1e-9)
    with pytest.warns(CollinearFeaturesWarning):
        repeated = RankRegression().fit(items.assign(e=items["a"] + items["b"]), votes)
    assert (repeated.df_model_, model.df_model_) == (4, 4)
    assert repeated.aic_ == pytest.approx(model.aic_, rel=1e-9)
    outcome = np.where(votes["winner"] == "left", 1, -1)
    X = items[list("abcd")].to_numpy()
    plain = RankRegression().fit(X[votes["left"]] - X[votes["right"]], outcome)
    assert plain.loglik_ == pytest.approx(model.loglik_, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"ties": "half"}, "quasi-likelihood only; fit with ties='davidson'"),
        ({"l2": 1.0}, "fit with l2=0"),
        ({"l2": "auto"}, "fit with l2=0"),
        ({"item_effects": True}, "fit without item_effects"),
        ({"method": "paired"}, "a closed form maximises no likelihood; fit with method='mle'"),
        ({"judge_slopes": True}, "fit without judge_slopes"),
        ({"side_effect": "judges"}, "fit with side_effect=True"),
        ({"weight": True}, "column 'count'"),
    ],
)
def test_where_there_is_no_plain_likelihood_a_sentence_says_why(settings, sentence):
    items, votes = draw_study(3)
    votes["judge"] = np.arange(len(votes)) % 5
    if settings.get("ties") == "half":
        votes.loc[:9, "winner"] = "tie"
    if "weight" in settings:
        votes["weight"], settings = np.linspace(0.5, 2, len(votes)), {}
    model = RankRegression(**settings).fit(items, votes)
    for name in ("loglik_", "deviance_", "aic_", "bic_", "df_model_"):
        with pytest.raises(PairscoreError, match=sentence) as refused:
            getattr(model, name)
        assert str(refused.value).startswith("there is no log-likelihood, because ")
        assert not hasattr(model, name)
    with pytest.raises(PairscoreError, match=sentence):
        model.confidence_intervals(method="profile")


def test_separated_comparisons_have_no_likelihood():
    items, votes = draw_study(4)
    perfect = np.where(
        items["a"][votes["left"]].to_numpy() > items["a"][votes["right"]].to_numpy(),
        "left",
        "right",
    )
    with pytest.warns(SeparationWarning):
        model = RankRegression().fit(items, votes.assign(winner=perfect))
    with pytest.raises(PairscoreError, match="no maximum"):
        model.loglik_  # noqa: B018
    for context in ([], ["rest"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sided = RankRegression(side_effect=True, context=context)
            sided.fit(items, votes.assign(winner="left"))
        with pytest.raises(PairscoreError, match="no maximum"):
            sided.aic_  # noqa: B018


def test_a_model_that_is_not_fitted_has_no_likelihood():
    with pytest.raises(NotFittedError):
        RankRegression().loglik_  # noqa: B018
