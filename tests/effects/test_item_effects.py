"""Item effects: every formula against a naive twin, the estimates against a known truth, the model
against its parents.
"""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

from pairscore import Comparisons, ItemKFold, PairscoreError, RankRegression, load
from pairscore.cli.commands import main
from pairscore.core.links import Logit, Probit, get_link
from pairscore.core.outcomes import OutcomeLaw, TieRule, averaged_probabilities
from pairscore.core.sums import aggregate_pairs
from pairscore.effects.item_posterior import (
    item_effects,
    posterior_covariance,
    posterior_mode,
    precision_matrix,
    tree_variances,
)
from pairscore.effects.shared_items import Equation, Seen, equation, hermite_coefficients
from pairscore.errors import FewItemsWarning
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.likelihood import predictor
from pairscore.estimators.settings import Settings
from pairscore.model.fit import estimate
from tests.laws import limit_factor

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
EFFECTS = RankRegression(item_effects=True)


def averaged(link, difference, variance):
    """E f(d + sqrt(variance) z) of every difference."""
    sd = np.sqrt(np.broadcast_to(variance, np.shape(difference)))
    return averaged_probabilities(OutcomeLaw(TieRule("half", link)), difference, sd)[2]


def draw(rng, n_items=200, n_comparisons=1000, n_features=3, sd=1.0, link=expit, n_new=0):
    """Features, coefficients, true scores, and comparisons of random pairs of all but the last
    ``n_new`` items.
    """
    X, beta = (
        rng.normal(size=(n_items + n_new, n_features)),
        np.full(n_features, 1 / np.sqrt(n_features)),
    )
    score = X @ beta + sd * rng.normal(size=len(X))
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < link(score[left] - score[right])
    return X, beta, score, Comparisons(X, left, right, np.where(won, 1, -1))


def small_pairs(rng, n_items=12, n_comparisons=60, keep_sides=False):
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    return aggregate_pairs(
        left, right, rng.integers(-1, 2, n_comparisons), np.ones(n_comparisons), n_items, keep_sides
    )


def covariance_by_quadrature(link, d, e, sigma2):
    """Cov(f(d + u_i - u_j), f(e + u_i - u_k)).

    An average over u_i of two averages over the opponents.
    """
    sd = np.sqrt(sigma2)
    one, other = (link.cdf(x + sd * (NODES[:, None] - NODES)) @ WEIGHTS for x in (d, e))
    return WEIGHTS @ (one * other) - (WEIGHTS @ one) * (WEIGHTS @ other)


# -- the equation for sigma^2 --------------------------------------------------------------------------


@pytest.mark.parametrize("link", [Logit(), Probit()])
def test_mehlers_series_is_the_covariance_of_two_comparisons_of_one_item(link):
    for sigma2 in (0.1, 1.0, 4.0):
        d = np.array([-2.5, -0.3, 0.0, 1.7])
        c = hermite_coefficients(
            OutcomeLaw(TieRule("half", link)), d, np.full(4, np.sqrt(2 * sigma2))
        )
        series = np.einsum("n,ni,nj->ij", 0.5 ** np.arange(len(c)), c, c) - np.outer(c[0], c[0])
        exact = [[covariance_by_quadrature(link, one, other, sigma2) for other in d] for one in d]
        np.testing.assert_allclose(series, exact, atol=1e-6)
        first_term_only = 0.5 * np.outer(c[1], c[1])
        assert np.abs(first_term_only - exact).max() > (1e-3 if sigma2 >= 1 else 1e-5)


@pytest.mark.parametrize("keep_sides", [False, True])
def test_the_equation_is_a_sum_over_two_different_pairs_of_an_item(keep_sides):
    rng, sigma2, link = np.random.default_rng(0), 0.8, Logit()
    pairs = small_pairs(rng, keep_sides=keep_sides)
    difference = pairs.differences(rng.normal(size=12)) + 0.3 * pairs.side[:, None]
    seen = Seen.of_pairs(pairs, link, difference)
    kappa = seen.kappa(2 * sigma2)
    mean = averaged(link, kappa * difference, np.array(2 * sigma2))
    number = pairs.win + pairs.lose
    residual = (pairs.win - number * mean).sum(axis=0)
    naive = np.zeros(12)
    for item in range(12):
        mine = [
            (p, 1 if pairs.low[p] == item else -1)
            for p in range(len(pairs.high))
            if item in (pairs.low[p], pairs.high[p])
        ]
        for (p, sign), (q, other) in permutations(mine, 2):
            naive[item] += sign * residual[p] * other * residual[q]
            for side, place in np.ndindex(len(difference), len(difference)):
                both = number[side, p] * number[place, q]
                naive[item] -= both * covariance_by_quadrature(
                    link,
                    sign * kappa * difference[side, p],
                    other * kappa * difference[place, q],
                    sigma2,
                )
    np.testing.assert_allclose(Equation(seen, np.ones(12), 1.0).excess(sigma2), naive, atol=2e-3)


def test_kappa_is_that_of_probit_and_of_normal_items():
    rng = np.random.default_rng(1)
    pairs = small_pairs(rng, 2000, 40_000)
    for v in (0.2, 2.0, 8.0):
        assert Seen.of_pairs(pairs, Probit(), pairs.differences(rng.normal(size=2000))[None]).kappa(
            v
        ) == pytest.approx(np.sqrt(1 + v), rel=1e-4)
    for sd in (0.5, 1.5):
        shrunk = limit_factor(1.0, sd)  # of a fit of features alone, by Stein's lemma
        kappa = Seen.of_pairs(
            pairs, Logit(), pairs.differences(shrunk * rng.normal(size=2000))[None]
        ).kappa(2 * sd**2)
        assert kappa == pytest.approx(1 / shrunk, rel=5e-3)
    # the usual approximation is 4 % too small here
    assert kappa / np.sqrt(1 + 0.346 * 2 * sd**2) > 1.03


def equation_of(data, link="logit"):
    settings = Settings("mle", get_link(link))
    study, plain = FitData(data, False), estimate(data, settings, np.random.default_rng(0))
    seen = Seen.of_pairs(
        study.pairs, settings.link, predictor(study.X, study.pairs, plain.coef, 0.0)
    )
    return equation(seen, (study.X - plain.center.mean) @ plain.basis.transform)


@pytest.mark.parametrize("sd", [0.0, 0.8])
@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_the_equation_has_mean_zero_beside_fitted_coefficients(sd):
    rng, ours, rival = np.random.default_rng(2), [], []
    for _ in range(120):
        fitted = equation_of(draw(rng, 80, 500, 10, sd)[3])
        ours.append(fitted.excess(sd**2).sum())
        rival.append(Equation(fitted.seen, np.ones(80), 1.0).excess(sd**2).sum())
    error = np.std(ours) / np.sqrt(len(ours))
    assert abs(np.mean(ours)) < 4 * error
    assert np.mean(rival) < -4 * error  # residuals taken for errors


# -- effects given sigma^2 -----------------------------------------------------------------------------


@pytest.mark.parametrize("link", [Logit(), Probit()])
def test_effects_are_those_of_a_general_optimiser(link):
    rng, sigma2 = np.random.default_rng(3), 1.7
    pairs = small_pairs(rng, keep_sides=True)
    difference = pairs.differences(rng.normal(size=12)) + 0.4 * pairs.side[:, None]

    def loss(effect):
        x = difference + pairs.differences(effect)
        return -np.sum(
            pairs.win * link.log_cdf(x) + pairs.lose * link.log_cdf(-x)
        ) + effect @ effect / (2 * sigma2)

    naive = minimize(loss, np.zeros(12), method="BFGS", options={"gtol": 1e-7}).x
    effect, _ = posterior_mode(Seen.of_pairs(pairs, link, difference), sigma2)
    np.testing.assert_allclose(effect, naive, atol=1e-5)
    assert effect.sum() == pytest.approx(0, abs=1e-8)


def test_variances_are_exact_on_a_tree_and_close_on_random_comparisons():
    rng = np.random.default_rng(4)
    parent = np.array([rng.integers(0, item) for item in range(1, 40)])
    tree = aggregate_pairs(parent, np.arange(1, 40), np.ones(39), np.ones(39), 40)
    for pairs, tolerance in (
        (tree, 1e-5),
        (small_pairs(rng, 600, 1800), 0.03),
        (small_pairs(rng, 600, 12_000), 0.03),
    ):
        weight = 0.2 * pairs.number
        inverse = np.linalg.inv(precision_matrix(pairs, weight, 1.5).toarray())
        exact = np.diag(inverse)
        np.testing.assert_allclose(tree_variances(pairs, weight, 1.5)[0], exact, rtol=tolerance)
        of_difference = exact[pairs.low] + exact[pairs.high] - 2 * inverse[pairs.low, pairs.high]
        own, shared = tree_variances(pairs, weight, 1.5)
        np.testing.assert_allclose(
            own[pairs.low] + own[pairs.high] - 2 * shared, of_difference, rtol=tolerance
        )
        alone = 1 / (1 / 1.5 + pairs.sum_at_low(weight) + pairs.sum_at_high(weight))
        # as if the opponents' scores were known
        assert np.max(np.abs(alone / exact - 1)) > tolerance


def test_the_posterior_covariance_is_the_inverse():
    pairs = small_pairs(np.random.default_rng(14), 60, 300)
    precision = precision_matrix(pairs, 0.2 * pairs.number, 1.5)
    np.testing.assert_allclose(
        posterior_covariance(precision), np.linalg.inv(precision.toarray()), atol=1e-12
    )


def test_the_error_of_a_score_is_that_of_the_moved_mode_and_of_the_posterior():
    rng, sigma2, link = np.random.default_rng(5), 0.9, Logit()
    pairs, X = small_pairs(rng), rng.normal(size=(12, 2))
    coef, root = np.array([0.7, -0.4]), np.array([[0.3, 0.0], [0.1, 0.2]])
    found = item_effects(
        Seen.of_pairs(pairs, link, pairs.differences(X @ coef)[None]), sigma2, X, root
    )
    _, information = posterior_mode(
        Seen.of_pairs(pairs, link, pairs.differences(X @ coef)[None]), sigma2
    )
    moved = np.zeros((12, 2))
    for feature, small in enumerate(1e-4 * np.eye(2)):
        up, down = (
            X @ beta
            + posterior_mode(Seen.of_pairs(pairs, link, pairs.differences(X @ beta)[None]), sigma2)[
                0
            ]
            for beta in (coef + small, coef - small)
        )
        moved[:, feature] = (up - down) / 2e-4
    C = root @ root.T
    naive = np.einsum("ij,jk,ik->i", moved, C, moved) + np.diag(
        np.linalg.inv(precision_matrix(pairs, information, sigma2).toarray())
    )
    np.testing.assert_allclose(
        found.share**2 * np.einsum("ij,jk,ik->i", X, C, X) + found.variance, naive, rtol=1e-4
    )


def test_many_items_go_by_sparse_solves_with_the_same_answer(monkeypatch):
    rng = np.random.default_rng(6)
    pairs, X, root = small_pairs(rng, 300, 2400), rng.normal(size=(300, 2)), 0.1 * np.eye(2)
    exact = item_effects(
        Seen.of_pairs(pairs, Logit(), np.zeros((1, len(pairs.high)))), 1.0, X, root
    )
    monkeypatch.setattr("pairscore.effects.item_posterior.EXACT_ITEMS", 10)
    sparse = item_effects(
        Seen.of_pairs(pairs, Logit(), np.zeros((1, len(pairs.high)))), 1.0, X, root
    )
    np.testing.assert_allclose(sparse.variance, exact.variance, rtol=0.03)
    np.testing.assert_allclose(sparse.share, exact.share, atol=0.01)
    np.testing.assert_allclose(sparse.effect, exact.effect, atol=1e-6)


# -- a known truth -------------------------------------------------------------------------------------


def laplace_variance(data, beta):
    """The rival: sigma^2 as the mean square of the effects at the mode plus their posterior
    variance, again and again.
    """
    pairs, sigma2 = (
        aggregate_pairs(data.left, data.right, data.outcome, data.amount, len(data.items)),
        1.0,
    )
    difference = pairs.differences(data.items.values @ beta)[None]
    for _ in range(20):
        effect, information = posterior_mode(Seen.of_pairs(pairs, Logit(), difference), sigma2)
        sigma2 = float(
            np.mean(
                effect**2
                + np.diag(np.linalg.inv(precision_matrix(pairs, information, sigma2).toarray()))
            )
        )
    return sigma2


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_variance_coefficients_and_scores_are_recovered():
    """Means by z-tests at 4 errors; coverages at the 1e-4 quantile of 95 % of so many."""
    rng, n_fits, rows = np.random.default_rng(7), 40, []
    for _ in range(n_fits):
        X, beta, score, data = draw(rng, n_items=200, n_comparisons=1200, n_new=200)
        model, plain = clone(EFFECTS).fit(data), RankRegression(inference=None).fit(data)
        low, high = model.item_effects_.interval
        ranking = np.sort(model.rank(X), order="id")
        inside = (ranking["low"] <= score) & (score <= ranking["high"])
        error = model.coef_ - beta
        covered = [
            low <= 1 <= high,
            abs(error[0]) < 1.96 * model.std_errors_[0],
            inside[:200].mean(),
            inside[200:].mean(),
        ]
        rows.append(
            [model.item_effects_.sigma2, error.mean(), plain.coef_.mean() - beta[0], *covered]
        )
    mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0) / np.sqrt(n_fits)
    assert abs(mean[0] - 1) < 4 * spread[0]
    assert abs(mean[1]) < 4 * spread[1]
    assert mean[2] < -8 * spread[2]  # features alone are a flatter score
    assert np.all(mean[3:5] >= binom.ppf(1e-4, n_fits, 0.95) / n_fits)
    assert np.all(np.abs(mean[5:] - 0.95) < 0.02 + 4 * spread[5:])


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_laplace_is_too_small_where_comparisons_are_few_and_the_equation_is_not():
    rng, ours, rival = np.random.default_rng(8), [], []
    for _ in range(10):
        _, beta, _, data = draw(rng, n_items=250, n_comparisons=500, sd=1.5)
        ours.append(clone(EFFECTS).fit(data).item_effects_.sigma2)
        rival.append(laplace_variance(data, beta))
    assert abs(np.mean(ours) - 2.25) < 4 * np.std(ours) / np.sqrt(9)
    assert np.mean(rival) < 2.25 - 5 * np.std(rival) / np.sqrt(9)


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("per_item", [1, 3, 30])
def test_never_worse_than_features_or_identities_alone(per_item):
    """Differences of expected log-loss over six studies, each parent beaten or met within four
    paired errors; the ridge of identities is the best one.
    """
    rng, gaps = np.random.default_rng(per_item), []
    for _ in range(6):
        _, _, score, data = draw(rng, 200, 100 * per_item)
        left, right = rng.integers(0, 200, (2, 3000))
        truth, asked = (
            expit(score[left] - score[right]),
            Comparisons(data.items, left, right, np.ones(3000, dtype=np.int8)),
        )
        pairs = aggregate_pairs(data.left, data.right, data.outcome, data.amount, 200)
        alone = [
            posterior_mode(Seen.of_pairs(pairs, Logit(), np.zeros_like(pairs.win)), ridge)[0]
            for ridge in np.geomspace(0.1, 10, 5)
        ]
        guesses = [
            clone(EFFECTS).fit(data).predict_proba(asked)[:, 1],
            RankRegression(inference=None).fit(data).predict_proba(asked)[:, 1],
        ]
        guesses += [expit(effect[left] - effect[right]) for effect in alone]
        loss = [
            -np.mean(truth * np.log(guess) + (1 - truth) * np.log(1 - guess)) for guess in guesses
        ]
        gaps.append([loss[0] - loss[1], loss[0] - min(loss[2:])])
    mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0) / np.sqrt(5)
    assert np.all(mean < 4 * error)
    if per_item == 30:
        assert mean[0] < -0.05


# -- the model -----------------------------------------------------------------------------------------


ITEMS, _, SCORE, DATA = draw(np.random.default_rng(9), 80, 800)
FRAME = pd.DataFrame(ITEMS, columns=["a", "b", "c"]).assign(id=[f"item {row}" for row in range(80)])
VOTES = pd.DataFrame(
    {
        "left": FRAME["id"].to_numpy()[DATA.left],
        "right": FRAME["id"].to_numpy()[DATA.right],
        "winner": np.where(DATA.outcome > 0, "left", "right"),
    }
)
MODEL = clone(EFFECTS).fit(FRAME, VOTES)


def test_without_item_effects_there_are_none():
    model = RankRegression().fit(FRAME, VOTES)
    assert model.item_effects_ is None
    assert "item effects" not in str(model.summary())


def test_old_items_are_known_by_id_and_new_ones_have_none():
    effects = MODEL.item_effects_
    features = FRAME[["a", "b", "c"]].to_numpy() @ MODEL.coef_
    np.testing.assert_allclose(MODEL.decision_function(FRAME), features + effects.effect)
    np.testing.assert_allclose(
        MODEL.decision_function(FRAME[::-1]), (features + effects.effect)[::-1]
    )
    np.testing.assert_allclose(
        MODEL.decision_function(FRAME.assign(id=[f"new {row}" for row in range(80)])), features
    )
    assert effects.ids.tolist() == FRAME["id"].tolist()
    assert np.corrcoef(features + effects.effect, SCORE)[0, 1] > np.corrcoef(features, SCORE)[0, 1]
    old, new = MODEL.rank(FRAME), MODEL.rank(FRAME.assign(id=[f"new {row}" for row in range(80)]))
    assert (old["high"] - old["low"]).mean() < 0.8 * (new["high"] - new["low"]).mean()
    away = FRAME[["a", "b", "c"]].to_numpy() - MODEL.feature_mean_
    errors = np.sqrt(np.einsum("ij,jk,ik->i", away, MODEL.covariance_, away) + effects.sigma2)
    naive = dict(zip([f"new {row}" for row in range(80)], 1.959964 * errors, strict=True))
    np.testing.assert_allclose(
        (new["high"] - new["score"]).to_numpy(), [naive[name] for name in new["id"]], rtol=1e-6
    )


def test_tables_without_ids_are_known_by_their_features():
    model = clone(EFFECTS).fit(DATA)
    np.testing.assert_allclose(
        model.decision_function(ITEMS), MODEL.decision_function(FRAME), atol=1e-6
    )
    np.testing.assert_allclose(
        model.decision_function(ITEMS[[5, 5, 3]]), model.decision_function(ITEMS)[[5, 5, 3]]
    )
    np.testing.assert_allclose(MODEL.decision_function(ITEMS), MODEL.decision_function(FRAME))
    np.testing.assert_allclose(
        model.decision_function(ITEMS.astype(np.float32)), model.decision_function(ITEMS), rtol=1e-5
    )
    np.testing.assert_allclose(
        model.decision_function(ITEMS + 0.001), (ITEMS + 0.001) @ model.coef_
    )
    np.testing.assert_allclose(
        model.decision_function(DATA[:7]),
        (model.decision_function(ITEMS)[DATA.left] - model.decision_function(ITEMS)[DATA.right])[
            :7
        ],
    )


def test_rank_intervals_equal_a_double_loop():
    for simultaneous in (False, True):
        ranking = MODEL.rank(FRAME, simultaneous=simultaneous)
        known = MODEL.item_effects_
        rows = [int(name.split()[1]) for name in ranking["id"]]
        left_over = known.share[:, None] * (ITEMS - MODEL.feature_mean_)
        width = norm.ppf(1 - 0.05 / (80 * 81)) if simultaneous else norm.ppf(0.975)
        score = MODEL.decision_function(FRAME)
        for place, i in enumerate(rows):
            gaps = np.array([left_over[i] - left_over[j] for j in rows])
            error = np.sqrt(
                np.einsum("ij,jk,ik->i", gaps, MODEL.covariance_, gaps)
                + known.std_error[i] ** 2
                + known.std_error[rows] ** 2
            )
            assert ranking["rank_low"][place] == min(
                1 + np.sum(score[rows] - score[i] > width * error), place + 1
            )
            assert ranking["rank_high"][place] == max(
                80 - np.sum(score[i] - score[rows] > width * error), place + 1
            )


def test_the_difference_of_two_items_has_the_error_of_both():
    one, two = FRAME.iloc[[3]], FRAME.iloc[[8]].assign(id="new")
    found, effects = MODEL.difference(one, two), MODEL.item_effects_
    assert found.difference == pytest.approx(
        float(MODEL.decision_function(one)[0] - MODEL.decision_function(two)[0])
    )
    gap = effects.share[3] * (ITEMS[3] - MODEL.feature_mean_) - (ITEMS[8] - MODEL.feature_mean_)
    variance = effects.std_error[3] ** 2 + effects.sigma2
    assert found.high - found.difference == pytest.approx(
        1.959964 * np.sqrt(gap @ MODEL.covariance_ @ gap + variance), rel=1e-6
    )
    assert found.probability == pytest.approx(
        averaged(Logit(), np.array([found.difference]), np.array([variance]))[0]
    )
    assert MODEL.difference(one, one).high == 0


def test_predictions_are_averaged_over_the_effects_that_are_not_known():
    X, _ = Comparisons.from_frames(FRAME, VOTES)
    variance = MODEL.item_effects_.std_error**2
    expected = averaged(Logit(), MODEL.decision_function(X), variance[X.left] + variance[X.right])
    np.testing.assert_allclose(MODEL.predict_proba(X)[:, 1], expected)
    assert np.array_equal(MODEL.predict(X) == 1, expected > 0.5)


@pytest.mark.parametrize(
    "items", [FRAME, FRAME.assign(id=np.arange(80) * 3), FRAME.drop(columns="id")]
)
def test_a_saved_model_knows_its_items(items, tmp_path):
    names = items["id"].to_numpy() if "id" in items else np.arange(80)
    model = clone(EFFECTS).fit(items, VOTES.assign(left=names[DATA.left], right=names[DATA.right]))
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(again.rank(items), model.rank(items))
    assert str(again.summary()) == str(model.summary())
    assert again.item_effects_.interval == model.item_effects_.interval
    assert again.get_params() == model.get_params()


def test_the_command_ranks_with_the_effects(tmp_path):
    MODEL.save(tmp_path / "model.npz")
    FRAME.to_csv(tmp_path / "items.csv", index=False)
    done = CliRunner().invoke(
        main,
        [
            "rank",
            str(tmp_path / "model.npz"),
            str(tmp_path / "items.csv"),
            "-o",
            str(tmp_path / "ranking.csv"),
        ],
    )
    assert done.exit_code == 0, done.output
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "ranking.csv"), MODEL.rank(FRAME), check_dtype=False
    )


def test_ids_that_no_array_holds_are_refused_by_save(tmp_path):
    mixed = FRAME.assign(id=[row if row % 2 else f"item {row}" for row in range(80)])
    names = mixed["id"].to_numpy()
    model = clone(EFFECTS).fit(mixed, VOTES.assign(left=names[DATA.left], right=names[DATA.right]))
    with pytest.raises(PairscoreError, match="neither all text nor all numbers"):
        model.save(tmp_path / "model.npz")


def test_cross_validation_goes_by_items_that_were_seen_and_by_new_ones():
    X, y = Comparisons.from_frames(FRAME, VOTES)
    folds = KFold(4, shuffle=True, random_state=0)
    seen, plain = (
        cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss").mean()
        for model in (EFFECTS, RankRegression())
    )
    assert seen > plain
    new, plain = (
        cross_val_score(model, X, y, cv=ItemKFold(3), scoring="neg_log_loss").mean()
        for model in (EFFECTS, RankRegression())
    )
    assert new == pytest.approx(plain, abs=0.02)


def test_the_summary_says_how_much_the_features_explain():
    text = str(MODEL.summary())
    assert "item effects     standard deviation" in text
    assert "the features explain" in text
    record = MODEL.summary().to_record()["item_effects"]
    assert record["sigma2"] == MODEL.item_effects_.sigma2
    assert 0.2 < MODEL.item_effects_.explained < 0.8  # one half in truth, and 80 items


@pytest.mark.parametrize("method", ["split", "pooled", "paired"])
def test_closed_forms_have_no_item_effects(method):
    with pytest.raises(PairscoreError, match=f"method='{method}' has none; use method='mle'"):
        RankRegression(method, item_effects=True).fit(FRAME, VOTES)
    with pytest.raises(PairscoreError, match="item_effects is 'yes'; use True or False"):
        RankRegression(item_effects="yes").fit(FRAME, VOTES)


def test_differences_without_items_have_no_item_effects():
    with pytest.raises(PairscoreError, match="a matrix of differences does not say"):
        clone(EFFECTS).fit(np.random.default_rng(0).normal(size=(20, 2)), np.tile([1, -1], 10))


def test_where_no_two_comparisons_share_an_item_that_is_said():
    rng = np.random.default_rng(0)
    X, won = rng.normal(size=(200, 2)), rng.random(100) < 0.5
    data = Comparisons(X, np.arange(100), np.arange(100, 200), np.where(won, 1, -1))
    with pytest.warns(FewItemsWarning, match="only 0 of the items met two opponents"):
        model = clone(EFFECTS).fit(data)
    assert model.item_effects_.sigma2 == 0
    np.testing.assert_allclose(model.coef_, RankRegression().fit(data).coef_)


def test_the_side_effect_is_on_the_same_scale_and_sides_do_not_matter():
    swapped = VOTES.assign(
        left=VOTES["right"],
        right=VOTES["left"],
        winner=VOTES["winner"].map({"left": "right", "right": "left"}),
    )
    one, two = (
        RankRegression(item_effects=True, side_effect=True).fit(FRAME, votes)
        for votes in (VOTES, swapped)
    )
    assert one.side_effect_ == pytest.approx(-two.side_effect_, rel=1e-6)
    assert one.item_effects_.sigma2 == pytest.approx(two.item_effects_.sigma2, rel=1e-3)
    plain = RankRegression(side_effect=True).fit(FRAME, VOTES)
    assert one.side_effect_ == pytest.approx(one.item_effects_.factor * plain.side_effect_)


def test_counts_are_so_many_comparisons():
    counted = VOTES[:300].assign(count=2)
    expanded = pd.concat([VOTES[:300], VOTES[:300]])
    one, two = (clone(EFFECTS).fit(FRAME, votes) for votes in (counted, expanded))
    np.testing.assert_allclose(
        one.decision_function(FRAME), two.decision_function(FRAME), rtol=1e-6
    )


# -- with context ------------------------------------------------------------------------------------


def contest(seed, n=150, m=1800, sigma=0.8):
    rng = np.random.default_rng([41, seed])
    X = rng.normal(size=(n, 3))
    left, rest = rng.integers(0, n, m), 1.5 * rng.normal(size=m)
    right = (left + rng.integers(1, n, m)) % n
    score = X @ [1.0, -0.5, 0.7] + sigma * rng.normal(size=n)
    won = rng.random(m) < 1 / (1 + np.exp(-(score[left] - score[right] + 0.4 * rest + 0.3)))
    return X, {"left": left, "right": right, "winner": np.where(won, "left", "right"), "rest": rest}


def test_a_constant_context_is_the_side_effect():
    X, votes = contest(0)
    votes["one"] = np.ones(len(votes["left"]))
    side = RankRegression(item_effects=True, side_effect=True).fit(X, votes)
    context = RankRegression(item_effects=True, context=["one"]).fit(X, votes)
    # the draws behind the spread of sigma^2 differ
    assert context.effects_.values[0] == pytest.approx(side.side_effect_, rel=0.02)
    assert context.item_effects_.sigma2 == pytest.approx(side.item_effects_.sigma2, rel=0.05)
    np.testing.assert_allclose(context.coef_, side.coef_, rtol=0.02)
    np.testing.assert_allclose(context.item_effects_.effect, side.item_effects_.effect, atol=0.05)


def test_context_and_effects_of_items_are_recovered_together():
    found, errors, variance = [], [], []
    for seed in range(20):
        X, votes = contest(seed)
        model = RankRegression(item_effects=True, context=["rest"], side_effect=True).fit(X, votes)
        found.append([*model.effects_.values, *model.coef_])
        errors.append([*model.effects_.std_errors, *model.std_errors_])
        variance.append(model.item_effects_.sigma2)
    gap = np.array(found) - [0.4, 0.3, 1.0, -0.5, 0.7]
    assert np.all(np.abs(gap.mean(axis=0)) < 4.3 * gap.std(axis=0, ddof=1) / np.sqrt(20) + 0.01)
    assert abs(np.mean(variance) - 0.64) < 4.3 * np.std(variance, ddof=1) / np.sqrt(20) + 0.02
    assert np.mean(np.abs(gap) < 1.96 * np.array(errors)) > 0.85
    plain = [
        RankRegression(context=["rest"], side_effect=True).fit(*contest(seed)).effects_.values[0]
        for seed in range(20)
    ]
    # without effects of items all is flatter
    assert np.mean(plain) < 0.4 - 4.3 * np.std(plain, ddof=1) / np.sqrt(20)


def test_repeated_comparisons_of_a_pair_keep_their_context(tmp_path):
    X, votes = contest(1, n=30, m=1500)
    model = RankRegression(item_effects=True, context=["rest"]).fit(X, votes)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    assert model.item_effects_.sigma2 > 0
    model.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(
        load(tmp_path / "m.npz").predict_proba(data), model.predict_proba(data)
    )
