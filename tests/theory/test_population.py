"""The paper's law: what is drawn has it, and the fast draws of closed forms are exact."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import ks_2samp, norm, wishart

from pairscore import Comparisons, PairscoreError, Population, RankRegression
from pairscore.core.links import Logit
from pairscore.core.moments import moments
from pairscore.core.pair_graph import tally
from pairscore.data.votes import Votes
from pairscore.metrics import angle
from pairscore.theory.draws import inverse_wishart_times, random_covariance, reflect_first_axis
from pairscore.theory.integrals import (
    closed_form_length,
    eta,
    flip_probability,
    kappa,
    spread_for_noise,
)
from pairscore.theory.predicted_error import predict_error

LEVEL = 1e-6  # chance that a right program fails a test, over all of its comparisons
METHODS = ["split", "pooled", "paired", "mle"]
LAWS = {
    "logit": {},
    "no noise": {"noise": 0},
    "probit": {"link": "probit", "noise": 0.3},
    "judges": {"judge_noise": [0.0, 0.1, 0.4]},
    "item effects": {"item_effect": 1.5, "noise": 0.1},
    "own slope": {"slope": 0.7},
}
SMALL = {"n_items": 40, "n_comparisons": 160}


def assert_zero_mean(samples):
    """Each column's mean is zero: z-scores against a Bonferroni quantile."""
    samples = np.asarray(samples).reshape(len(samples), -1)
    z = samples.mean(axis=0) / samples.std(axis=0, ddof=1) * np.sqrt(len(samples))
    assert np.abs(z).max() < norm.isf(LEVEL / 2 / samples.shape[1]), z


def score_gap(population, items, votes):
    scores = items @ population.beta
    return scores[votes.left] - scores[votes.right]


def test_the_papers_parameters():
    population = Population(n_features=30, min_eigenvalue=1 / 200, noise=0.3, rng=0)
    assert population.beta.shape == population.mean.shape == (30,)
    assert np.all(np.abs(population.mean) <= 5)
    np.testing.assert_allclose(population.eigenvalues, np.linspace(1, 1 / 200, 30))
    np.testing.assert_allclose(
        np.linalg.eigvalsh(population.covariance)[::-1], population.eigenvalues, rtol=1e-9
    )
    assert population.min_eigenvalue == 1 / 200
    length = np.sqrt(population.beta @ population.covariance @ population.beta)
    assert population.spread == pytest.approx(population.slope * length, rel=1e-12)
    assert flip_probability(Logit(), population.spread) == pytest.approx(0.3, rel=1e-12)
    assert population.c1 * length == pytest.approx(
        closed_form_length(Logit(), population.spread), rel=1e-12
    )
    assert Population(n_features=1, min_eigenvalue=0.1, rng=0).covariance == pytest.approx(
        np.ones((1, 1))
    )
    assert Population(n_features=4, rng=0).noise == 0.2
    np.testing.assert_allclose(Population(n_features=4, rng=0).covariance, np.eye(4), atol=1e-14)


def test_the_parameters_have_the_papers_law():
    """beta ~ N(0, 10 I), mean ~ U[-5, 5]^d, and a basis without a favourite direction."""
    drawn = [Population(n_features=3, min_eigenvalue=0.1, rng=seed) for seed in range(800)]
    assert_zero_mean([one.beta for one in drawn])
    assert_zero_mean([np.outer(one.beta, one.beta) - 10 * np.eye(3) for one in drawn])
    assert_zero_mean([one.mean for one in drawn])
    assert_zero_mean([one.mean**2 - 25 / 3 for one in drawn])
    assert_zero_mean([one.covariance - 0.55 * np.eye(3) for one in drawn])
    # a uniform axis u has E u_i^4 = 3/15: not so for the identity, or for Euler angles drawn
    # uniformly
    top = np.array([np.linalg.eigh(one.covariance)[1][:, -1] for one in drawn])
    assert_zero_mean(top**4 - 0.2)


def test_your_own_parameters_are_taken_and_the_rest_is_drawn():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    population = Population(beta=[1, -2], mean=[3, 4], covariance=covariance, noise=0.1)
    assert population.n_features == 2
    np.testing.assert_array_equal(population.beta, [1, -2])
    np.testing.assert_array_equal(population.mean, [3, 4])
    np.testing.assert_array_equal(population.covariance, covariance)
    np.testing.assert_allclose(population.eigenvalues, np.linalg.eigvalsh(covariance)[::-1])
    covariance[0, 0] = 99  # the caller's array is the caller's
    assert population.covariance[0, 0] == 2
    with pytest.raises(ValueError, match="read-only"):
        population.beta[0] = 5
    assert np.all(np.abs(Population(beta=[1, 2], rng=0).mean) <= 5)


def test_noise_and_slope_are_two_names_of_one_thing():
    by_noise = Population(n_features=4, noise=0.15, rng=3)
    by_slope = Population(n_features=4, slope=by_noise.slope, rng=3)
    assert by_slope.noise == pytest.approx(0.15, rel=1e-12)
    assert by_slope.c1 == pytest.approx(by_noise.c1, rel=1e-12)
    assert Population(n_features=4, slope=np.inf, rng=3).noise == 0
    assert Population(n_features=4, noise=0, rng=3).slope == np.inf
    coins = Population(n_features=4, noise=0.5, rng=3)
    assert (coins.slope, coins.c1, coins.spread) == (0, 0, 0)


def test_judges_have_their_own_slopes_and_the_average_noise():
    population = Population(n_features=4, judge_noise=[0.1, 0.3], rng=3)
    assert population.noise == pytest.approx(0.2)
    alone = [Population(n_features=4, noise=noise, rng=3) for noise in (0.1, 0.3)]
    np.testing.assert_allclose(population.slopes, [one.slope for one in alone])
    assert population.c1 == pytest.approx(np.mean([one.c1 for one in alone]), rel=1e-12)
    assert population.slope == pytest.approx(
        Population(n_features=4, noise=0.2, rng=3).slope, rel=1e-12
    )


def test_an_item_effect_changes_c1_and_neither_slope_nor_noise():
    plain, mixed = (Population(n_features=4, noise=0.1, item_effect=sd, rng=3) for sd in (0.0, 2.0))
    assert (mixed.slope, mixed.noise) == (plain.slope, plain.noise)
    total = np.hypot(plain.spread, 2.0)
    assert mixed.c1 == pytest.approx(
        mixed.slope * closed_form_length(Logit(), total) / total, rel=1e-12
    )
    assert mixed.c1 < 0.95 * plain.c1


def test_the_repr_says_the_law():
    text = repr(Population(n_features=4, judge_noise=[0.1, 0.3], item_effect=0.5, rng=0))
    assert (
        text
        == "Population(4 features, min_eigenvalue=1, noise=0.2, logit, 2 judges, item_effect=0.5)"
    )


def test_items_have_the_mean_and_covariance():
    population = Population(n_features=4, min_eigenvalue=0.05, rng=1)
    items, _ = population.draw(10_000, 10, rng=2)
    assert items.shape == (20_000, 4)
    centred = items - population.mean
    assert_zero_mean(centred)
    assert_zero_mean(
        [np.outer(row, row)[np.triu_indices(4)] for row in centred]
        - population.covariance[np.triu_indices(4)]
    )


@pytest.mark.parametrize("name", LAWS)
def test_labels_follow_the_link_given_the_items(name):
    population = Population(n_features=4, rng=1, **LAWS[name])
    items, votes = population.draw(3000, 30_000, rng=2)
    gap = score_gap(population, items, votes)
    apart = votes.left != votes.right
    # unseen, so the mean over pairs is all that is known: see the closed forms below
    if population.item_effect:
        return
    for judge, slope in enumerate(population.slopes):
        rows = (
            apart
            if population.judge_noise is None
            else apart & (votes.judge == f"judge{judge + 1}")
        )
        won = votes.outcome[rows] == 1
        if np.isinf(slope):
            assert np.array_equal(won, gap[rows] > 0)
            continue
        chance = population.link.cdf(slope * gap[rows])
        for weight in (np.ones(len(won)), gap[rows], gap[rows] ** 3):
            z = weight @ (won - chance) / np.sqrt(weight**2 @ (chance * (1 - chance)))
            assert abs(z) < norm.isf(LEVEL / 18)
    assert abs(np.sum(votes.outcome[~apart])) <= norm.isf(LEVEL / 2) * np.sqrt(
        max(np.sum(~apart), 1)
    )


@pytest.mark.parametrize("name", ["logit", "no noise", "probit", "judges", "own slope"])
def test_the_share_of_flipped_labels_is_the_noise(name):
    population = Population(n_features=3, rng=1, **LAWS[name])
    excess = []
    for seed in range(600):
        items, votes = population.draw(30, 60, rng=seed, second_half=False)
        gap = score_gap(population, items, votes)
        flipped = (votes.outcome * gap < 0) & (votes.left != votes.right)
        excess.append(np.sum(flipped) - population.noise * np.sum(votes.left != votes.right))
    if population.noise == 0:
        assert not np.any(excess)
    else:
        assert_zero_mean(excess)


def test_pairs_are_uniform_and_may_be_of_an_item_with_itself():
    population = Population(n_features=2, rng=1)
    _, votes = population.draw(5, 25_000, rng=2)
    cells = np.bincount(5 * votes.left + votes.right, minlength=25)
    z = (cells - 1000) / np.sqrt(25_000 * 0.04 * 0.96)
    assert np.abs(z).max() < norm.isf(LEVEL / 50)
    itself = votes.outcome[votes.left == votes.right]
    assert abs(itself.sum()) < norm.isf(LEVEL / 2) * np.sqrt(len(itself))


def test_repeats_judge_the_same_pair_again():
    population = Population(n_features=2, noise=0.3, rng=1)
    _, votes = population.draw(50, 1001, rng=2, repeats=4)
    assert len(votes) == 1001
    left = votes.left[:1000].reshape(-1, 4)
    assert np.all(left == left[:, :1])
    outcome = votes.outcome[:1000].reshape(-1, 4)
    assert 0 < np.mean(np.all(outcome == outcome[:, :1], axis=1)) < 1  # same pair, fresh labels


def test_item_effects_stay_with_the_item():
    """Coins as far as features go: outcomes of an item are alike only by its effect."""

    def excess(sd):
        population = Population(n_features=2, noise=0.5, item_effect=sd, rng=1)
        rows = []
        for seed in range(300):
            _, votes = population.draw(30, 300, rng=seed)
            sums = tally(votes.left, votes.right, votes.outcome, np.ones(300), 30)
            rows.append(sums.net_wins @ sums.net_wins - sums.exposures.sum())
        return rows

    assert_zero_mean(excess(0.0))
    with pytest.raises(AssertionError):
        assert_zero_mean(excess(1.0))


@pytest.mark.parametrize("name", LAWS)
def test_seeds_repeat_a_draw(name):
    one, two = (Population(n_features=3, rng=5, **LAWS[name]) for _ in range(2))
    np.testing.assert_array_equal(one.beta, two.beta)
    np.testing.assert_array_equal(one.covariance, two.covariance)
    (items, votes), (again, votes_again) = (
        one.draw(20, 50, rng=6),
        two.draw(20, 50, rng=np.random.default_rng(6)),
    )
    np.testing.assert_array_equal(items, again)
    np.testing.assert_array_equal(votes.outcome, votes_again.outcome)
    for draw in ("draw_split", "draw_pooled"):
        np.testing.assert_array_equal(
            getattr(one, draw)(20, 50, rng=6), getattr(two, draw)(20, 50, rng=6)
        )
        assert not np.array_equal(
            getattr(one, draw)(20, 50, rng=6), getattr(one, draw)(20, 50, rng=7)
        )
    assert not np.array_equal(Population(3).beta, Population(3).beta)


@pytest.mark.filterwarnings("ignore::pairscore.errors.SeparationWarning")
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_a_draw_as_it_is(method, name):
    population = Population(n_features=3, rng=1, **LAWS[name])
    items, votes = population.draw(300, 5000, rng=2)
    assert np.any(votes.left == votes.right)
    model = RankRegression(method, link=population.link.name).fit(items, votes)
    assert angle(model.coef_, population.beta) < 0.5
    X, y = Comparisons.from_frames(items, votes)
    np.testing.assert_array_equal(
        RankRegression(method, link=population.link.name).fit(X, y).coef_, model.coef_
    )
    if method == "split":
        np.testing.assert_allclose(model.closed_form_coef_, direct_split(items, votes), rtol=1e-8)


def test_mle_estimates_slope_times_beta():
    population = Population(n_features=3, min_eigenvalue=0.5, noise=0.2, rng=1)
    z = []
    for seed in range(40):
        model = RankRegression(inference="model").fit(
            *population.draw(400, 6000, rng=seed, second_half=False)
        )
        z.append((model.coef_ - population.slope * population.beta) / model.std_errors_)
    # a likelihood's own bias is of the order of 1/M
    assert np.abs(np.mean(z, axis=0)).max() * np.sqrt(40) < norm.isf(LEVEL / 6) + 1.5


def test_the_second_half_goes_along_and_can_be_left_out():
    population = Population(n_features=3, rng=1)
    items, votes = population.draw(50, 20, rng=2)
    np.testing.assert_array_equal(votes.covariance_items, np.arange(50, 100))
    assert repr(votes).startswith("Votes(20 comparisons of ")
    assert repr(votes).endswith("covariance from 50 items)")
    half, votes = population.draw(50, 20, rng=2, second_half=False)
    assert half.shape == (50, 3)
    assert votes.covariance_items is None
    assert items.shape == (100, 3)


def test_votes_are_checked_against_the_items_they_are_used_with():
    items, votes = Population(n_features=2, rng=1).draw(30, 100, rng=2)
    with pytest.raises(PairscoreError, match="point outside the 10 items"):
        RankRegression().fit(items[:10], votes)
    with pytest.raises(PairscoreError, match="rows 30 to 59, but there are 40 items"):
        RankRegression().fit(items[:40], votes)
    one = np.zeros(3, dtype=int)
    with pytest.raises(PairscoreError, match="of an item with itself"):
        RankRegression().fit(items, Votes(one, one, np.ones(3)))
    with pytest.raises(PairscoreError, match="different lengths"):
        RankRegression().fit(items, Votes(one, one + 1, np.ones(2)))
    with pytest.raises(PairscoreError, match="none of -1, 0, 1"):
        RankRegression().fit(items, Votes(one, one + 1, 2 * np.ones(3)))
    with pytest.raises(PairscoreError, match="no comparisons"):
        RankRegression().fit(items, Votes(one[:0], one[:0], one[:0]))


def test_a_population_like_your_own_items():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2)) * [1, 1000] + [5, -5]
    frame = pd.DataFrame(values, columns=["age", "dose"]).assign(
        id=[f"p{row}" for row in range(200)]
    )
    population = Population.from_items(frame, noise=0.1, rng=1)
    assert population.feature_names == ("age", "dose")
    np.testing.assert_allclose(population.mean, values.mean(axis=0))
    np.testing.assert_allclose(population.covariance, np.cov(values.T))
    assert flip_probability(Logit(), population.spread) == pytest.approx(0.1, rel=1e-10)
    items, votes = population.draw(100, 1000, rng=2)
    assert isinstance(items, pd.DataFrame)
    assert list(items.columns) == ["age", "dose"]
    model = RankRegression("split").fit(items, votes)
    assert list(model.feature_names_in_) == ["age", "dose"]
    assert isinstance(
        Population.from_items(pl.DataFrame(values, schema=["a", "b"]), rng=1).draw(20, 20)[0],
        pl.DataFrame,
    )
    assert isinstance(Population.from_items(values, beta=[1.0, 2.0]).draw(20, 20)[0], np.ndarray)


def test_a_random_score_of_your_own_items_takes_them_in_units_of_their_spread():
    values = np.random.default_rng(0).normal(size=(50, 2)) * [1, 1000]
    relative = [
        Population.from_items(values, rng=seed).beta * values.std(axis=0) for seed in range(300)
    ]
    assert_zero_mean(np.array(relative) ** 2 - 10)


def test_a_table_without_a_covariance_is_refused():
    values = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(PairscoreError, match="3 items cannot tell the covariance of 3 features"):
        Population.from_items(values[:3])
    with pytest.raises(PairscoreError, match="never vary \\('x1'\\)"):
        Population.from_items(values * [1, 0, 1])
    with pytest.raises(PairscoreError, match="not positive definite"):
        Population.from_items(np.column_stack([values, values.sum(axis=1)]))


def direct_split(items, votes):
    """Eqs. 3 and 4 as they are written."""
    n, d = len(items) // 2, items.shape[1]
    rest = items[n:] - items[n:].mean(axis=0)
    average = votes.outcome @ (items[votes.left] - items[votes.right]) / len(votes)
    return np.linalg.solve(rest.T @ rest / (n - d - 2), average)


def direct_pooled(items, votes, weighted=False):
    """2 (X~'KX~)^-1 X~'w, with every exposure replaced by the average unless weighted."""
    sums = tally(votes.left, votes.right, votes.outcome, np.ones(len(votes)), len(items))
    weight = sums.exposures if weighted else np.full(len(items), sums.exposures.mean())
    return 2 * np.linalg.solve(moments(items, weight).scatter, items.T @ sums.net_wins)


def direct_draws(population, estimate, n_draws, seed, second_half, **size):
    rng = np.random.default_rng(seed)
    return np.array(
        [
            estimate(*population.draw(rng=rng, second_half=second_half, **size))
            for _ in range(n_draws)
        ]
    )


def fast_draws(draw, n_draws, seed, **size):
    rng = np.random.default_rng(seed)
    return np.array([draw(rng=rng, **size) for _ in range(n_draws)])


def features_of(draws, population):
    """Cosine of the angle and norm, also in the covariance's metric, and coordinates.

    What two samples are compared by.
    """
    root = np.linalg.cholesky(population.covariance)
    columns = [draws[:, 0], draws[:, -1]]
    for vectors, truth in ((draws, population.beta), (draws @ root, root.T @ population.beta)):
        along, norms = vectors @ truth / np.linalg.norm(truth), np.linalg.norm(vectors, axis=1)
        columns += [along, norms, along / np.maximum(norms, 1e-300)]
    return np.column_stack(columns)


def same_law(one, two, population):
    """Smallest Kolmogorov-Smirnov p-value of all features, times their number."""
    pairs = zip(features_of(one, population).T, features_of(two, population).T, strict=True)
    values = [ks_2samp(a, b, method="asymp").pvalue for a, b in pairs]
    return min(values) * len(values)


FAST_LAWS = {
    "logit": ({"noise": 0.2}, {}),
    "no noise": ({"noise": 0}, {}),
    "everything": (
        {"judge_noise": [0.05, 0.4], "item_effect": 1.0, "link": "probit"},
        {"repeats": 3},
    ),
}


@pytest.mark.parametrize("name", FAST_LAWS)
def test_the_fast_split_has_the_law_of_the_direct_one(name):
    law, options = FAST_LAWS[name]
    population = Population(n_features=6, min_eigenvalue=0.1, rng=7, **law)
    direct = direct_draws(population, direct_split, 2500, 1, True, **SMALL, **options)
    fast = fast_draws(population.draw_split, 2500, 2, **SMALL, **options)
    assert same_law(direct, fast, population) > LEVEL
    # an item against itself adds nothing to the average, so its expectation is c1 beta less one
    # part in N
    expected = (1 - 1 / SMALL["n_items"]) * population.c1 * population.beta
    assert_zero_mean(direct - expected)
    assert_zero_mean(fast - expected)
    spread = [np.einsum("ij,ik->ijk", one - expected, one - expected) for one in (direct, fast)]
    z = (spread[0].mean(axis=0) - spread[1].mean(axis=0)) / np.sqrt(
        (spread[0].var(axis=0) + spread[1].var(axis=0)) / 2500
    )
    assert np.abs(z).max() < norm.isf(LEVEL / 72)


@pytest.mark.parametrize("name", FAST_LAWS)
def test_the_fast_pooled_has_the_law_of_the_direct_one(name):
    law, options = FAST_LAWS[name]
    population = Population(n_features=6, min_eigenvalue=0.1, rng=7, **law)
    direct = direct_draws(population, direct_pooled, 2500, 1, False, **SMALL, **options)
    fast = fast_draws(population.draw_pooled, 2500, 2, **SMALL, **options)
    assert same_law(direct, fast, population) > LEVEL
    assert_zero_mean(direct - fast)
    assert_zero_mean((direct - direct.mean(axis=0)) ** 2 - (fast - fast.mean(axis=0)) ** 2)


def test_the_comparison_of_laws_sees_a_wrong_one():
    """Rivals: `split` with the true covariance, and the weighted `pooled`."""
    population = Population(n_features=6, min_eigenvalue=0.1, rng=7)

    def known_covariance(items, votes):
        return np.linalg.solve(
            population.covariance,
            votes.outcome @ (items[votes.left] - items[votes.right]) / len(votes),
        )

    fast = fast_draws(population.draw_split, 2500, 2, **SMALL)
    assert (
        same_law(
            direct_draws(population, known_covariance, 2500, 1, True, **SMALL), fast, population
        )
        < LEVEL
    )
    fast = fast_draws(population.draw_pooled, 2500, 2, **SMALL)
    weighted = direct_draws(
        population,
        lambda items, votes: direct_pooled(items, votes, weighted=True),
        2500,
        1,
        False,
        **SMALL,
    )
    assert same_law(weighted, fast, population) < LEVEL


@pytest.mark.parametrize("n_features", [1, 2])
def test_the_fast_draws_with_one_or_two_features_and_the_fewest_items(n_features):
    population = Population(n_features=n_features, rng=7)
    for estimate, draw, more, second_half in (
        (direct_split, population.draw_split, 3, True),
        (direct_pooled, population.draw_pooled, 2, False),
    ):
        size = {"n_items": n_features + more, "n_comparisons": 60}
        assert (
            same_law(
                direct_draws(population, estimate, 2000, 1, second_half, **size),
                fast_draws(draw, 2000, 2, **size),
                population,
            )
            > LEVEL
        )


@pytest.mark.parametrize("per_item", [4, 400])
def test_how_much_the_unweighted_pooled_loses_to_the_weighted_one(per_item):
    """Mean squared errors on the same data.

    (2/M + 4 (eta - kappa^2)/N) against 2 (1 - kappa^2)/M in its first term.
    """
    population, n = Population(n_features=8, min_eigenvalue=0.1, noise=0, rng=7), 200
    k, e = kappa(Logit(), np.inf), eta(Logit(), np.inf)
    labels, items_own = 2 / (n * per_item), 4 * (e - k * k) / n
    predicted = (labels + items_own) / (labels * (1 - k * k) + items_own)
    root = np.linalg.cholesky(population.covariance)
    truth = root.T @ population.beta / np.linalg.norm(root.T @ population.beta)
    rng, squares = np.random.default_rng(per_item), []
    for _ in range(100):
        items, votes = population.draw(n, n * per_item, rng, second_half=False)
        whitened = [root.T @ direct_pooled(items, votes, weighted) for weighted in (False, True)]
        squares.append([(one @ one) / (one @ truth) ** 2 - 1 for one in whitened])
    squares = np.array(squares)
    ratio = np.divide(*squares.mean(axis=0))
    error = (
        np.std(squares[:, 0] - ratio * squares[:, 1]) / squares[:, 1].mean() / np.sqrt(len(squares))
    )
    # a formula to first order
    assert abs(ratio - predicted) < 0.06 + 5 * error, (ratio, predicted, error)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "number of features is missing"),
        ({"n_features": 0}, "n_features is 0; use a whole number from 1"),
        ({"n_features": 2.5}, "n_features is 2.5"),
        ({"n_features": True}, "n_features is True"),
        ({"n_features": 3, "noise": -0.1}, "noise is -0.1; use the share"),
        ({"n_features": 3, "noise": 0.6}, "noise is 0.6; use the share"),
        ({"n_features": 3, "noise": "low"}, "noise is 'low'"),
        ({"n_features": 3, "noise": np.nan}, "noise is nan"),
        (
            {"n_features": 3, "noise": 0.2, "slope": 1.0},
            "both noise and slope are given, and each determines the other; give one",
        ),
        (
            {"n_features": 3, "noise": 0.2, "judge_noise": [0.1]},
            "both noise and judge_noise are given",
        ),
        ({"n_features": 3, "slope": -1.0}, "slope is -1.0"),
        ({"n_features": 3, "min_eigenvalue": 0.0}, "min_eigenvalue is 0.0; use a number above 0 "),
        ({"n_features": 3, "min_eigenvalue": 1.5}, "min_eigenvalue is 1.5"),
        ({"min_eigenvalue": 0.5, "covariance": np.eye(2)}, "both covariance and min_eigenvalue"),
        ({"n_features": 3, "beta": [1, 2]}, "beta has shape \\(2,\\) but there are 3 features"),
        ({"beta": [[1, 2]]}, "beta has shape \\(1, 2\\) but there is 1 feature"),
        ({"beta": [0, 0]}, "beta is zero"),
        ({"beta": [1, np.nan]}, "1 number of beta NaN or infinite"),
        ({"beta": "abc"}, "beta is not an array of numbers"),
        ({"beta": []}, "n_features is 0"),
        ({"n_features": 2, "mean": [1, 2, 3]}, "mean has shape"),
        (
            {"n_features": 2, "covariance": np.eye(3)},
            "covariance has shape \\(3, 3\\) but there are 2 features",
        ),
        ({"covariance": [[1, 0.5], [0, 1]]}, "covariance is not symmetric"),
        ({"covariance": [[1, 2], [2, 1]]}, "covariance is not positive definite"),
        (
            {"covariance": [[1, 0], [0, 0]]},
            "covariance is not positive definite \\(1 variance not positive\\)",
        ),
        ({"n_features": 3, "item_effect": -1}, "item_effect is -1"),
        ({"n_features": 3, "item_effect": 1, "noise": 0}, "item_effect is on the link's scale"),
        (
            {"n_features": 3, "item_effect": 1, "judge_noise": [0, 0.1]},
            "item_effect is on the link's scale",
        ),
        ({"n_features": 3, "judge_noise": []}, "judge_noise is \\[\\]"),
        ({"n_features": 3, "judge_noise": 0.2}, "judge_noise is 0.2"),
        ({"n_features": 3, "judge_noise": [0.1, 0.7]}, "judge_noise is"),
        ({"n_features": 3, "link": "cauchy"}, "link is 'cauchy'"),
        ({"n_features": 3, "rng": "seed"}, "rng is 'seed'"),
        ({"n_features": 3, "rng": -1}, "rng is -1"),
    ],
)
def test_a_law_that_is_none_is_refused_in_one_sentence(options, sentence):
    with pytest.raises(PairscoreError, match=sentence) as error:
        Population(**options)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_a_study_that_cannot_be_drawn_is_refused():
    population = Population(n_features=5, rng=0)
    for name, value in (
        ("n_items", 0),
        ("n_items", 2.0),
        ("n_comparisons", 0),
        ("n_comparisons", None),
        ("repeats", 0),
    ):
        size = {"n_items": 20, "n_comparisons": 50, "repeats": 1, name: value}
        for draw in (population.draw, population.draw_split, population.draw_pooled):
            with pytest.raises(PairscoreError, match=f"{name} is {value}"):
                draw(**size)
    with pytest.raises(
        PairscoreError, match="n_items is 7, and 'split' with 5 features needs at least 8"
    ):
        population.draw_split(7, 50)
    with pytest.raises(
        PairscoreError, match="n_items is 6, and 'pooled' with 5 features needs at least 7"
    ):
        population.draw_pooled(6, 50)
    with pytest.raises(PairscoreError, match="rng is 'x'"):
        population.draw(20, 50, rng="x")
    alone = Population(n_features=1, rng=0)
    # with one feature, the same stream of randomness
    drawn = (alone.draw(3, 1, rng=seed, second_half=False)[1] for seed in range(1000))
    itself = next(seed for seed, votes in enumerate(drawn) if votes.left == votes.right)
    with pytest.raises(
        PairscoreError, match="none of the 1 comparison drawn was between two different items"
    ):
        alone.draw_pooled(3, 1, rng=itself)


def test_the_smallest_eigenvalue_allowed_still_has_an_inverse():
    population = Population(n_features=60, min_eigenvalue=1e-12, rng=0)
    assert np.all(np.isfinite(population.draw_split(100, 500, rng=1)))


def test_an_extreme_noise_still_has_its_slope():
    for noise in (1e-12, 0.5 - 2**-30):
        population = Population(n_features=3, noise=noise, rng=0)
        assert population.spread == pytest.approx(spread_for_noise(Logit(), noise), rel=1e-12)
        assert np.all(np.isfinite(population.draw_split(30, 100, rng=1)))


# -- the random parts of a population: covariances, inverse Wishart matrices, reflections ------


def test_a_random_covariance_keeps_its_eigenvalues():
    found = random_covariance(np.array([3.0, 2.0, 1.0]), np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.eigvalsh(found), [1, 2, 3])
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize(("d", "freedom"), [(1, 1), (2, 2), (4, 9)])
def test_an_inverse_wishart_times_a_vector(d, freedom):
    rng = np.random.default_rng(0)
    v = np.arange(1.0, d + 1)
    fast = np.array([inverse_wishart_times(v, freedom, rng) for _ in range(3000)])
    matrices = wishart(freedom, np.eye(d)).rvs(3000, random_state=1).reshape(-1, d, d)
    direct = np.linalg.solve(matrices, np.broadcast_to(v[:, None], (3000, d, 1)))[:, :, 0]
    for column in range(d):
        assert ks_2samp(fast[:, column], direct[:, column], method="asymp").pvalue > LEVEL / d
    assert np.array_equal(inverse_wishart_times(np.zeros(d), freedom, rng), np.zeros(d))


@pytest.mark.parametrize("first", [1.0, -1.0, 0.6, -0.6, 0.0, 1 - 1e-18])
def test_turning_takes_the_first_axis_to_the_direction(first):
    direction = np.array([first, np.sqrt(1 - min(first * first, 1)), 1e-9])
    direction /= np.linalg.norm(direction)
    np.testing.assert_allclose(
        reflect_first_axis(np.array([1.0, 0, 0]), direction), direction, atol=1e-15
    )
    matrix = np.array([reflect_first_axis(axis, direction) for axis in np.eye(3)])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-14)


def test_slips_are_a_part_of_the_noise_that_far_pairs_have_too():
    law = Population(4, noise=0.2, lapse=0.08, rng=0)
    plain = Population(4, noise=0.2, rng=0)
    assert law.slope > plain.slope
    X, votes = law.draw(400, 40_000, rng=1, second_half=False, self_pairs=False)
    ahead = (X[votes.left] - X[votes.right]) @ law.beta
    wrong = np.sign(ahead) != votes.outcome
    far = np.abs(law.slope * ahead) > 5
    for share, number, seen in (
        (0.2, len(wrong), wrong.mean()),
        (0.08 + 0.84 * expit(-np.abs(law.slope * ahead[far])).mean(), far.sum(), wrong[far].mean()),
    ):
        # items are shared, which makes the first share vary more
        assert seen == pytest.approx(
            share, abs=5 * np.sqrt(share / number) + 0.012 * (share > 0.15)
        )
    assert wrong[far].mean() > 0.05
    assert "lapse=0.08" in repr(law)
    with pytest.raises(PairscoreError, match="slips"):
        Population(4, noise=0.05, lapse=0.08, rng=0)


@pytest.mark.parametrize("method", ["mle", "paired"])
def test_the_error_with_slips_is_that_of_simulated_studies(method):
    law = Population(6, noise=0.25, lapse=0.1, rng=0)
    expected = predict_error(law, 300, 4000, method)
    lapse = 0.1 if method == "mle" else 0.0
    angles = []
    for seed in range(40):
        X, votes = law.draw(300, 4000, rng=seed, second_half=False, self_pairs=False)
        model = RankRegression(method, lapse=lapse, inference=None).fit(X, votes)
        angles.append(angle(model.coef_, law.beta))
    error = np.std(angles) / np.sqrt(40)
    assert np.mean(angles) == pytest.approx(expected.angle, abs=4 * error + 0.05 * expected.angle)
