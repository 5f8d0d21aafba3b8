"""The variance of a direction.

Constants against simulated labels, resolvents against real graphs and
matrices.
"""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm, poisson

import pairscore.theory.direction_variance as module
from pairscore import Population, RankRegression
from pairscore.choices import METHODS
from pairscore.theory.direction_variance import (
    LabelConstants,
    LabelLaw,
    StudySize,
    closed_form_length_variance,
    direction_variance,
    known_misordered,
    label_constants,
    likelihood_variance,
    paired_variance,
    poisson_points,
    pooled_variance,
    root_of_share,
    wrong_sign,
)
from pairscore.theory.draws import Judging, random_comparisons
from pairscore.theory.integrals import (
    spread_for_noise,
)
from pairscore.theory.predicted_error import first_order_variance
from tests.theory.conftest import (
    LOGIT,
    PROBIT,
    assert_means,
    labels_of_one_item,
    law_of,
)


@pytest.mark.parametrize(
    ("link", "spread", "effect"),
    [
        (LOGIT, 1.6, 0.0),
        (LOGIT, np.inf, 0.0),
        (PROBIT, 0.7, 1.0),
        (LOGIT, 3.0, 2.0),
        (LOGIT, 0.0, 0.0),
    ],
)
def test_the_constants_are_moments_of_simulated_labels(link, spread, effect):
    """Two comparisons of one item share nothing but it, so that products of the two have means
    given the item squared.
    """
    z, (first, second) = labels_of_one_item(link, spread, effect, 400_000, np.random.default_rng(3))
    part = first * (z[0] - z[1]), second * (z[0] - z[2])
    c = label_constants(LabelLaw(link, spread, effect))
    samples = np.column_stack(
        [z[0] * first, first * second, part[0] * part[1], z[0] ** 3 * first, part[0]]
    )
    assert_means(samples, [c.kappa, c.eta, c.drift + c.length**2, c.cube, c.length])


def test_item_effects_are_not_just_another_spread():
    """Forgetting that features explain only a part of the score would be seen by the test above."""
    with_effects, rival = (
        label_constants(LabelLaw(LOGIT, 3.0, 2.0)),
        label_constants(LabelLaw(LOGIT, float(np.hypot(3.0, 2.0)))),
    )
    assert with_effects.eta == rival.eta
    assert with_effects.kappa == pytest.approx(rival.kappa * 3 / np.hypot(3, 2), rel=1e-12)
    assert with_effects.drift > 1.1 * rival.drift
    assert with_effects.unexplained > 2 * rival.unexplained


def test_where_labels_are_almost_linear_nothing_is_left_unexplained():
    c = label_constants(LabelLaw(LOGIT, 0.01))
    assert c.unexplained < 1e-4 * c.eta
    assert c.cube == pytest.approx(3 * c.kappa, rel=1e-3)
    assert c.drift == pytest.approx(2 * c.kappa**2, rel=1e-3)
    assert LabelConstants(0.5, 0.2, 0.0, 0.0).unexplained == 0


def random_pairs(n, m, rng):
    left, right = rng.integers(0, n, (2, m))
    return left[left != right], right[left != right]


def laplacian(left, right, weight, n):
    graph = np.zeros((n, n))
    np.add.at(graph, (left, right), weight)
    graph += graph.T
    return np.diag(graph.sum(axis=1)) - graph


def naive_errors(method, c, n, m, d, rng):
    """|(G'LG)^-1 G'v|^2 / kappa^2, everything drawn.

    Normal G, the graph, and a v with the residuals' variance.
    """
    left, right = random_pairs(n, m, rng)
    G = rng.normal(size=(n, d - 1))
    u = np.sqrt(c.unexplained) * rng.normal(size=n)
    if method == "pooled":
        k = np.bincount(left, minlength=n) + np.bincount(right, minlength=n)
        L, v = np.diag(k), k * u + np.sqrt(k * (1 - c.eta)) * rng.normal(size=n)
    else:
        L = laplacian(left, right, 1.0, n)
        noise = np.sqrt(1 - 2 * c.eta) * rng.normal(size=len(left))
        v = L @ u + np.bincount(left, noise, n) - np.bincount(right, noise, n)
    return np.sum(np.linalg.solve(G.T @ L @ G, G.T @ v) ** 2) / c.kappa**2


@pytest.mark.parametrize("method", ["pooled", "paired"])
@pytest.mark.parametrize(("noise", "m", "d"), [(0.0, 300, 31), (0.0, 2000, 41), (0.3, 250, 61)])
def test_the_resolvent_is_the_mean_square_of_drawn_errors(method, noise, m, d):
    """At N = 250 corrections of the next order, 1/N and 1/D, are allowed 4 %.

    The first order is off by more where M = N.
    """
    n, law, rng = 250, law_of(noise, d), np.random.default_rng(11)
    predicted = (d - 1) * direction_variance(
        law.labels, law.constants, StudySize(n + 2, m, d), method
    )
    drawn = [naive_errors(method, law.constants, n, m, d, rng) for _ in range(120)]
    assert_means(drawn, predicted, allowed=0.04)
    # the rival is 14 % (`pooled`) and 33 % (`paired`) too small, the mean uncertain by 2 %
    if m == n:
        assert np.mean(drawn) > 1.04 * (d - 1) * first_order_variance(law, n, m, method)


def share_carried(eigenvalues, x):
    return np.mean(eigenvalues / (eigenvalues + x))


@pytest.mark.parametrize("m", [1000, 1500, 6000])
def test_the_conductance_of_a_tree_is_that_of_a_random_graph(m):
    """1/x solves D/(N-2) = mean of l m/(1 + l m) with the eigenvalues of graphs that are drawn.

    R follows from it and Q.
    """
    n, d, rng = 700, 71, np.random.default_rng(5)
    law = law_of(0.0, d)
    c, found = law.constants, []
    for _ in range(6):
        left, right = random_pairs(n, m, rng)
        eigenvalues = np.linalg.eigvalsh(laplacian(left, right, 1.0, n))
        x = brentq(lambda x: share_carried(eigenvalues, x) - (d - 1) / (n - 2), 1e-6, 1e4)
        q = np.mean((eigenvalues / (eigenvalues + x)) ** 2) / np.mean(
            eigenvalues / (eigenvalues + x) ** 2
        )
        found.append((1 - 2 * c.eta + c.unexplained * q) / (x * (d - 1) * c.kappa**2))
    assert_means(found, paired_variance(c, StudySize(n, m, d)), allowed=0.01)
    assert np.mean(found) > 1.02 * pooled_or_none(c, n, m, d)


def pooled_or_none(c, n, m, d):
    """Rival: `paired` with the items' exposures in place of the graph's eigenvalues."""
    k, chance = poisson_points(2 * m / n)
    x = brentq(lambda x: chance @ (k / (k + x)) - (d - 1) / (n - 2), 1e-6, 1e4)
    q = (chance @ (k / (k + x)) ** 2) / (chance @ (k / (k + x) ** 2))
    return (1 - 2 * c.eta + c.unexplained * q) / (x * (d - 1) * c.kappa**2)


@pytest.mark.parametrize(("noise", "m"), [(0.1, 1000), (0.2, 3000)])
def test_the_conductance_of_mle_is_that_of_a_weighted_random_graph(noise, m):
    n, d, rng = 700, 51, np.random.default_rng(6)
    law, found = law_of(noise, d), []
    for _ in range(6):
        z = rng.normal(size=n)
        left, right = random_pairs(n, m, rng)
        chance = LOGIT.cdf(law.labels.spread * (z[left] - z[right]))
        eigenvalues = np.linalg.eigvalsh(laplacian(left, right, chance * (1 - chance), n))
        x = brentq(lambda x: share_carried(eigenvalues, x) - (d - 1) / (n - 2), 1e-9, 1e4)
        found.append(1 / (x * (d - 1) * law.labels.spread**2))
    assert_means(found, likelihood_variance(law.labels, StudySize(n, m, d)), allowed=0.02)


@pytest.mark.parametrize(("noise", "m", "d"), [(0.2, 1200, 41), (0.3, 4000, 11)])
def test_items_beyond_their_features_are_a_mixed_model_on_a_random_graph(noise, m, d):
    """Naive twin: the covariances of the linear mixed model with the labels' informations, by
    dense algebra on items and pairs that are drawn.
    """
    n, rng = 400, np.random.default_rng(7)
    q = spread_for_noise(LOGIT, noise)
    law = LabelLaw(LOGIT, q * 0.6**0.5, q * 0.4**0.5)
    directions, wrong = [], []
    for _ in range(12):
        G = rng.normal(size=(n, d))
        score = law.spread * G[:, 0] + law.item_effect * rng.normal(size=n)
        left, right = random_pairs(n, m, rng)
        chance = LOGIT.cdf(score[left] - score[right])
        graph = laplacian(left, right, chance * (1 - chance), n)
        between = np.linalg.inv(np.eye(n) + law.item_effect**2 * graph) @ graph
        covariance = np.linalg.inv(G.T @ between @ G)  # of the coefficients
        directions.append(np.trace(covariance[1:, 1:]) / (d - 1) / law.spread**2)
        own = np.linalg.inv(graph + np.eye(n) / law.item_effect**2)  # items, given coefficients
        carried = G - own @ graph @ G
        unknown = own + carried @ covariance @ carried.T
        apart = np.diag(unknown)[:, None] + np.diag(unknown)[None, :] - 2 * unknown
        rest = np.clip(apart / (2 * q**2), 1e-12, 1.0)
        gap = np.abs(score[:, None] - score[None, :]) / (np.sqrt(2) * q)
        shares = norm.cdf(-gap * np.sqrt(1 / rest - 1))
        wrong.append(np.mean(shares[np.triu_indices(n, 1)]))
    size = StudySize(n, m, d)
    assert_means(directions, likelihood_variance(law, size), allowed=0.03)
    assert_means(wrong, known_misordered(law, size), allowed=0.02)
    # rivals: features alone, and items alone
    plain = likelihood_variance(LabelLaw(LOGIT, law.spread), size)
    assert np.mean(directions) > 1.3 * plain
    assert np.mean(wrong) < 0.9 * np.arccos(law.correlation) / np.pi


def test_items_with_ever_more_comparisons_are_put_in_order():
    law = LabelLaw(LOGIT, 1.5, 1.0)
    shares = [known_misordered(law, StudySize(100, m, 5)) for m in (100, 1000, 10_000, 10**6)]
    assert np.all(np.diff(shares) < 0)
    assert shares[-1] < 0.01


def test_equal_exposures_have_a_formula_of_their_own():
    """m = D / (k (N - D)) from the count of degrees of freedom, with k the same for all (here
    nearly so: 10^6 comparisons each).
    """
    c, n, d, k = law_of(0.2).constants, 300, 40, 1e6
    expected = (1 - c.eta + c.unexplained * k) / (k * (n - 2 - (d - 1)) * c.kappa**2)
    size = StudySize(n, k * n / 2 / (1 - 1 / n), d)
    assert pooled_variance(c, size) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("mean", [0.001, 1.7, 300.0, 2.9e4, 3.1e4, 1e9])
def test_exposures_have_the_mean_and_variance_of_a_poisson_number(mean):
    k, chance = poisson_points(mean)
    assert chance.sum() == pytest.approx(1, rel=1e-9)
    assert chance @ k == pytest.approx(mean, rel=1e-9)
    assert chance @ (k - mean) ** 2 == pytest.approx(mean, rel=1e-6)
    if mean < 1e4:
        assert chance[list(k).index(1.0) if mean < 5 else len(k) // 2] == pytest.approx(
            poisson.pmf(1 if mean < 5 else k[len(k) // 2], mean)
        )


def test_the_share_that_cannot_be_had():
    assert root_of_share(lambda x: 0.5 / (1 + x), 0.6, 1.0) == 0
    assert root_of_share(lambda x: 0.5 / (1 + x), 0.25, 1.0) == pytest.approx(1.0, rel=1e-8)


def test_a_root_takes_few_looks_at_the_share():
    """A chart looked at 3400 shares, most of them far from the root."""
    looks, parts = [], np.random.default_rng(0).gamma(2.0, size=500)

    def share(x):
        looks.append(x)
        return float(np.mean(parts / (parts + x)))

    for wanted in (0.9, 0.5, 0.1, 0.001):
        x = root_of_share(share, wanted, float(parts.mean()))
        assert share(x) == pytest.approx(wanted, rel=1e-9)
    assert len(looks) <= 4 * 10


def test_less_noise_never_hurts_the_likelihood():
    """Alone, the quadratic approximation would say 0.099 at a noise of 0.005, and no direction at
    all below it.
    """
    angles = [
        law_of(noise, 10).predict(500, 430, "mle").angle
        for noise in (0.2, 0.1, 0.05, 0.02, 0.005, 1e-4)
    ]
    assert np.all(np.diff(angles) <= 1e-3 * np.array(angles[1:]))
    assert angles[-1] > 0.03


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_variance_of_the_label_sum_along_the_truth(noise):
    """a = w'z / M has the variance 4 drift/N + (2 - length^2)/M that `split` takes.

    Without the second part's whole it would be seen.
    """
    law, rng, n, m = law_of(noise), np.random.default_rng(4), 300, 250
    c, judging, sums = law.constants, Judging(LOGIT, np.array([law.labels.spread])), []
    for _ in range(6000):
        z = rng.normal(size=n)
        sums.append(z @ random_comparisons(z, m, judging, rng).net_wins(n) / m)
    expected = 4 * c.drift / n + (2 - c.length**2) / m
    squares = (np.array(sums) - (1 - 1 / n) * c.length) ** 2
    assert_means(squares, expected, allowed=0.01)
    assert np.mean(squares) > 1.1 * (expected - 2 * c.drift / m)


def label_sums(law, n, m, repeats, rng):
    """Sums of Y (z_I - z_J) of so many studies of one feature."""
    z, pairs = rng.normal(size=(repeats, n)), rng.integers(0, n, (2, repeats, m))
    score = (
        z
        if np.isinf(law.spread)
        else law.spread * z + law.item_effect * rng.normal(size=(repeats, n))
    )
    gap, z_gap = (
        np.take_along_axis(of, pairs[0], 1) - np.take_along_axis(of, pairs[1], 1)
        for of in (score, z)
    )
    chance = gap > 0 if np.isinf(law.spread) else law.link.cdf(gap)
    return np.sum(np.where(rng.random(gap.shape) < chance, z_gap, -z_gap), axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_with_one_feature_every_method_has_the_sign_of_the_label_sum(method):
    rng, signs = np.random.default_rng(12), []
    for _ in range(60):
        items, votes = Population(beta=[1.0], covariance=[[1.0]], noise=0.4).draw(
            12, 9, rng, second_half=method == "split", self_pairs=False
        )
        x = np.asarray(items)[:, 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate = RankRegression(method, inference=None).fit(items, votes).coef_[0]
        signs.append((np.sign(estimate), np.sign(votes.outcome @ (x[votes.left] - x[votes.right]))))
    assert all(found == expected for found, expected in signs)
    assert len({found for found, _ in signs}) == 2


@pytest.mark.parametrize(
    ("noise", "effect", "n", "m"),
    [
        (0.2, 0.0, 3, 4),
        (0.2, 0.0, 3, 20),
        (0.3, 0.0, 5, 40),
        (0.3, 0.0, 10, 10),
        (0.4, 0.0, 30, 15),
        (0.4, 0.0, 60, 80),
        (0.1, 0.0, 5, 5),
        (0.4, 1.0, 10, 60),
    ],
)
def test_the_wrong_sign_is_as_frequent_as_in_simulated_studies(noise, effect, n, m):
    """The normal law of a sum, given the items, is allowed 8 % (12 % with item effects, whose
    variance is that of large N).
    """
    law = LabelLaw(LOGIT, spread_for_noise(LOGIT, noise), effect)
    sums = label_sums(law, n, m, 40_000, np.random.default_rng([3, n, m]))
    assert_means(
        np.where(sums == 0, 0.5, sums < 0), wrong_sign(law, n, m), allowed=0.12 if effect else 0.08
    )


def test_rivals_of_the_wrong_sign_forget_the_items_or_take_their_luck_for_noise():
    """Items that lie close together by chance make labels useless.

    The mean and variance over all studies do not say how often.
    """
    law, n, m = law_of(0.3), 5, 40
    c, wrong = law.constants, label_sums(law.labels, n, m, 40_000, np.random.default_rng(8)) < 0
    for variance in (0.0, 4 * c.drift / n):
        with pytest.raises(AssertionError):
            assert_means(
                wrong, norm.sf(c.length / np.sqrt(variance + (2 - c.length**2) / m)), allowed=0.5
            )


def test_the_variance_of_a_length_from_simulated_parts():
    """V and U of the normal equation along the truth, from labels that are drawn."""
    c = label_constants(LabelLaw(LOGIT, 2.0, 0.7))
    z, (first, second) = labels_of_one_item(LOGIT, 2.0, 0.7, 400_000, np.random.default_rng(2))
    one, two = (
        y * (z[0] - other) - c.kappa * (z[0] - other) ** 2
        for y, other in ((first, z[1]), (second, z[2]))
    )
    pooled = first * (z[0] - z[1]) - c.kappa * (z[0] ** 2 + z[1] ** 2)
    n, m, huge = 100.0, 1e3, 1e30
    scale = c.length**2 * (n - 2) / n
    comparison = {
        method: closed_form_length_variance(c, StudySize(huge, m, 1), method) * m * c.length**2
        for method in ("paired", "pooled")
    }
    item = closed_form_length_variance(c, StudySize(n, huge, 1), "paired") * n / 4 * scale
    assert_means(
        np.column_stack([one, one**2, pooled**2, one * two]),
        [0, comparison["paired"], comparison["pooled"], item],
    )


def test_three_points_stand_for_many_exposures(monkeypatch):
    law = law_of(0.1, 40)

    def variances():
        size = StudySize(200, 40_000, 40)
        return [
            direction_variance(law.labels, law.constants, size, method)
            for method in ("pooled", "paired", "mle")
        ]

    few = variances()
    monkeypatch.setattr(module, "MANY", 1e6)
    np.testing.assert_allclose(few, variances(), rtol=1e-4)
