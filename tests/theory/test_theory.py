"""Errors before any data.

Constants against simulated labels, variances against real graphs and matrices, predictions against
exact draws.
"""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, norm, poisson

from pairscore import PairscoreError, Population, RankRegression, predict_error
from pairscore.core.links import Logit, Probit
from pairscore.metrics import angle
from pairscore.theory import direction_error
from pairscore.theory import predict as theory
from pairscore.theory.direction_error import (
    WIDEST,
    LabelConstants,
    LabelLaw,
    closed_form_length_variance,
    exposures,
    label_constants,
    likelihood_variance,
    paired_variance,
    pooled_variance,
    root_of_share,
    wrong_sign,
)
from pairscore.theory.draws import Judging, judged_pairs, net_wins
from pairscore.theory.error_nodes import make_nodes
from pairscore.theory.integrals import (
    fisher_information,
    length_bias,
    length_information,
    spread_for_noise,
)
from pairscore.theory.predict import (
    METHODS,
    ErrorLaw,
    direction_variance,
    first_order_variance,
    length_variance,
)

LEVEL = 1e-6  # chance that a right program fails a test, over all of its comparisons
LOGIT, PROBIT = Logit(), Probit()
NOISES = [0.0, 0.1, 0.2, 0.4]


def assert_means(samples, expected, allowed=0.0):
    """Each column's mean is the expected one, up to chance and a relative error that is allowed
    for.
    """
    samples = np.asarray(samples).reshape(len(samples), -1)
    expected = np.broadcast_to(np.asarray(expected, dtype=float), samples.shape[1])
    gap = np.maximum(np.abs(samples.mean(axis=0) - expected) - allowed * np.abs(expected), 0.0)
    z = gap / samples.std(axis=0, ddof=1) * np.sqrt(len(samples))
    assert z.max() < norm.isf(LEVEL / 2 / samples.shape[1]), (samples.mean(axis=0), expected, z)


def law_of(noise, d=1, smallest=1.0, link=LOGIT):
    return ErrorLaw(np.linspace(1, smallest, d), link, spread_for_noise(link, noise))


# -- what labels tell about an item ------------------------------------------------------------------


def labels_of_one_item(link, spread, effect, n, rng):
    """Places of an item and two others, and the item's outcomes against the two."""
    z = rng.normal(size=(3, n))
    score = (z if np.isinf(spread) else spread * z) + effect * rng.normal(size=(3, n))
    chance = [
        score[0] > other if np.isinf(spread) else link.cdf(score[0] - other) for other in score[1:]
    ]
    return z, [np.where(rng.random(n) < one, 1.0, -1.0) for one in chance]


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


# -- the variance of a direction: against matrices that are really drawn -------------------------------


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
    predicted = (d - 1) * direction_variance(law, n + 2, m, method)
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
    assert_means(found, paired_variance(c, n, m, d), allowed=0.01)
    assert np.mean(found) > 1.02 * pooled_or_none(c, n, m, d)


def pooled_or_none(c, n, m, d):
    """Rival: `paired` with the items' exposures in place of the graph's eigenvalues."""
    k, chance = exposures(2 * m / n)
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
    assert_means(found, likelihood_variance(law.labels, n, m, d), allowed=0.02)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_with_many_comparisons_per_item_the_first_order_is_enough(method, noise):
    """Up to the 1/N of comparisons that are of an item with itself, which the first order forgets.

    Under `mle` items far out carry less information at any number of comparisons, which counts
    where d/N does not vanish.
    """
    law = law_of(noise, 50)
    for n in (10_000,) if method == "mle" else (200, 10_000):
        allowed = 1 / n + (2e-3 if method == "mle" else 3e-4)
        assert direction_variance(law, n, 10_000 * n, method) == pytest.approx(
            first_order_variance(law, n, 10_000 * n, method), rel=allowed
        )
    assert direction_variance(law, 200, 200, method) > 1.05 * first_order_variance(
        law, 200, 200, method
    )


def test_the_first_order_written_out():
    law, n, m, d = law_of(0.2, 30), 500, 4000, 30
    c = law.constants
    room = n / (n - d - 1) / (2 * c.kappa) ** 2
    assert first_order_variance(law, n, m, "pooled") == pytest.approx(
        (2 * (1 - c.kappa**2) / m + 4 * (c.eta - c.kappa**2) / n) * room
    )
    assert first_order_variance(law, n, m, "paired") == pytest.approx(
        (2 * (1 - 2 * c.kappa**2) / m + 4 * (c.eta - c.kappa**2) / n) * room
    )
    assert first_order_variance(law, n, m, "mle") == pytest.approx(
        n / (n - d - 1) / m / 0.7419, rel=1e-3
    )
    split = 1 / (n - d - 4) + (2 / m + 4 * c.eta / n) * (n - 2) / (n - d - 4) / (2 * c.kappa) ** 2
    assert first_order_variance(law, n, m, "split") == pytest.approx(split)


def test_equal_exposures_have_a_formula_of_their_own():
    """m = D / (k (N - D)) from the count of degrees of freedom, with k the same for all (here
    nearly so: 10^6 comparisons each).
    """
    c, n, d, k = law_of(0.2).constants, 300, 40, 1e6
    expected = (1 - c.eta + c.unexplained * k) / (k * (n - 2 - (d - 1)) * c.kappa**2)
    assert pooled_variance(c, n, k * n / 2 / (1 - 1 / n), d) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("mean", [0.001, 1.7, 300.0, 2.9e4, 3.1e4, 1e9])
def test_exposures_have_the_mean_and_variance_of_a_poisson_number(mean):
    k, chance = exposures(mean)
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


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_too_few_comparisons_leave_any_direction(method):
    law = law_of(0.2, 60)
    assert direction_variance(law, 200, 15, method) == np.inf
    error = law.predict(200, 15, method)
    assert (error.angle, error.sigma_angle, error.misordered, error.norm_error) == (
        np.pi / 2,
        np.pi / 2,
        0.5,
        np.inf,
    )
    assert np.isfinite(direction_variance(law, 200, 150, method))


# -- little noise under the likelihood --------------------------------------------------------------------


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


def test_the_angle_of_the_likelihood_with_hardly_any_noise():
    """About two labels of 430 are wrong.

    Most studies are separable, and the quadratic approximation is far off.
    """
    rng, found = np.random.default_rng(8), []
    for _ in range(30):
        population = Population(10, noise=0.005, rng=rng)
        found.append(angle(fitted("mle", population, 500, 430, rng), population.beta))
    assert_means(found, law_of(0.005, 10).predict(500, 430, "mle").angle, allowed=0.1)
    assert law_of(0.005).labels.spread > WIDEST  # predicted as at the widest spread


def fitted(method, population, n, m, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression(method, inference=None).fit(
            *population.draw(n, m, rng, second_half=method == "split")
        )
    return model.coef_ if method == "mle" else model.closed_form_coef_


# -- along the truth --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_variance_of_the_label_sum_along_the_truth(noise):
    """a = w'z / M has the variance 4 drift/N + (2 - length^2)/M that `split` takes.

    Without the second part's whole it would be seen.
    """
    law, rng, n, m = law_of(noise), np.random.default_rng(4), 300, 250
    c, judging, sums = law.constants, Judging(LOGIT, np.array([law.labels.spread])), []
    for _ in range(6000):
        z = rng.normal(size=n)
        sums.append(z @ net_wins(judged_pairs(z, m, judging, rng), n) / m)
    expected = 4 * c.drift / n + (2 - c.length**2) / m
    squares = (np.array(sums) - (1 - 1 / n) * c.length) ** 2
    assert_means(squares, expected, allowed=0.01)
    assert np.mean(squares) > 1.1 * (expected - 2 * c.drift / m)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_the_length_of_an_estimate_of_one_feature(method, noise):
    """With d = 1 there is no direction to err in, and the norm error is that of the length alone."""
    rng, n, m = np.random.default_rng(9), 100, 600
    population, found = Population(beta=[1.0], covariance=[[1.0]], noise=noise), []
    truth = population.slope if method == "mle" else population.c1
    for _ in range(150):
        found.append(abs(fitted(method, population, n, m, rng)[0] - truth))
    error = predict_error(population, n, m, method)
    assert_means(found, error.norm_error, allowed=0.08)
    assert error.angle == np.pi * error.misordered < 1e-6


# -- the wrong way round ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("method", METHODS)
def test_a_study_of_one_feature_is_wholly_right_or_wholly_wrong(method):
    law = law_of(0.3)
    for n, m in ((8, 17), (5, 5), (60, 20), (1000, 10_000)):
        error, wrong = law.predict(n, m, method), wrong_sign(law.labels, n, m)
        assert (error.misordered, error.angle) == (
            pytest.approx(wrong, rel=1e-12),
            pytest.approx(np.pi * wrong, rel=1e-12),
        )
        assert error.ranges["misordered"] == (0.0, 1.0 if wrong > 0.05 else 0.0)
        assert np.isfinite(error.norm_error)
    assert (
        0
        < law.predict(60, 1000, method).misordered
        < law.predict(60, 200, method).misordered
        < law.predict(60, 20, method).misordered
    )


@pytest.mark.parametrize("d", [2, 3])
def test_few_comparisons_turn_an_estimate_beyond_a_right_angle_as_often_as_predicted(d):
    """`paired` of ten comparisons.

    The rival has the length's own error along the truth, and hardly ever a wrong half.
    """
    law, rng, n, m, repeats = law_of(0.2, d), np.random.default_rng([4, d]), 30, 10, 20_000
    X, pairs = rng.normal(size=(repeats, n, d)), rng.integers(0, n, (2, repeats, m, 1))
    D = np.take_along_axis(X, pairs[0], 1) - np.take_along_axis(X, pairs[1], 1)
    Y = np.where(rng.random((repeats, m)) < LOGIT.cdf(law.labels.spread * D[:, :, 0]), 1.0, -1.0)
    estimate = (np.linalg.pinv(D) @ Y[:, :, None])[:, :, 0]
    angles = np.arccos(estimate[:, 0] / np.linalg.norm(estimate, axis=1))
    found = law.errors(n, m, "paired")["sigma_angle"]
    assert_means(angles, found.mean(), allowed=0.06)
    assert_means(angles > np.pi / 2, np.mean(found > np.pi / 2), allowed=0.5)
    rival = np.mean(1 + np.sqrt(length_variance(law, n, m, "paired")) * law.nodes.normal < 0)
    with pytest.raises(AssertionError):
        assert_means(angles > np.pi / 2, rival, allowed=0.5)


def test_two_features_err_in_direction_and_length():
    population, rng = Population(2, noise=0.2, rng=3), np.random.default_rng(1)
    found = np.array([fitted("paired", population, 100, 400, rng) for _ in range(200)])
    error = predict_error(population, 100, 400, "paired")
    samples = np.column_stack(
        [
            [angle(one, population.beta) for one in found],
            np.linalg.norm(found - population.c1 * population.beta, axis=1),
        ]
    )
    assert_means(samples, [error.angle, error.norm_error], allowed=0.08)


def test_information_on_the_length_is_never_more_than_on_a_direction():
    """Labels inform most where they are even, and there a change of length moves nothing.

    Q -> 0 makes both the same.
    """
    for q in (0.1, 1.0, 4.0, 30.0):
        nodes, weights = np.polynomial.hermite_e.hermegauss(200)
        s = np.sqrt(2) * q * nodes
        direct = weights @ (s**2 * LOGIT.pdf(s)) / weights.sum()
        assert length_information(LOGIT, q) == pytest.approx(direct, rel=1e-3 if q < 10 else 0.2)
        assert length_information(LOGIT, q) < fisher_information(LOGIT, q)
    assert length_information(LOGIT, 1e-4) == pytest.approx(
        fisher_information(LOGIT, 1e-4), rel=1e-6
    )
    assert length_information(LOGIT, np.inf) == 0


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
        method: closed_form_length_variance(c, huge, m, 1, method) * m * c.length**2
        for method in ("paired", "pooled")
    }
    item = closed_form_length_variance(c, n, huge, 1, "paired") * n / 4 * scale
    assert_means(
        np.column_stack([one, one**2, pooled**2, one * two]),
        [0, comparison["paired"], comparison["pooled"], item],
    )


# -- averages over nodes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [10, 60, 5000])
def test_chi_square_nodes_are_chi_squared(freedom):
    nodes = make_nodes(np.ones(3), None)
    expected = chi2.ppf(norm.cdf(nodes.normal2), freedom)
    bulk = np.abs(nodes.normal2) < 2
    assert np.max(np.abs(nodes.chi_square(freedom)[bulk] / expected[bulk] - 1)) < 0.01
    assert nodes.chi_square(freedom).mean() == pytest.approx(
        freedom, rel=5 * np.sqrt(2 / freedom / 4096) + 1e-3
    )
    assert np.all(make_nodes(np.ones(3), None).chi_square(0.5) > 0)


@pytest.mark.parametrize(
    ("d", "smallest", "own_beta"),
    [(2, 1.0, True), (10, 1 / 200, True), (10, 1 / 200, False), (60, 0.1, True)],
)
def test_the_average_over_nodes_is_that_over_drawn_errors(d, smallest, own_beta):
    """Estimates (1 + a) e + p drawn in whitened coordinates and carried back by matrices.

    QuasiRandomErrors are allowed 3 % of their own.
    """
    rng, sd, n = np.random.default_rng(7), 0.1, 4000
    eigenvalues = np.linspace(1, smallest, d)
    betas = np.broadcast_to(rng.normal(size=d), (n, d)) if own_beta else rng.normal(size=(n, d))
    found = []
    for beta in betas:
        beta = beta / np.linalg.norm(beta)
        e = np.sqrt(eigenvalues) * beta
        e /= np.linalg.norm(e)
        whitened = e + sd * rng.normal(size=d)
        estimate, truth = whitened / np.sqrt(eigenvalues), e / np.sqrt(eigenvalues)
        found.append(
            (angle(estimate, truth), angle(whitened, e), np.linalg.norm(estimate - truth) * 0.9)
        )
    nodes = make_nodes(eigenvalues, betas[0] if own_beta else None)
    errors = nodes.errors(1 + sd * nodes.normal, sd * nodes.length, 0.9)
    assert_means(
        found,
        [errors[name].mean() for name in ("angle", "sigma_angle", "norm_error")],
        allowed=0.03,
    )
    if d == 10:  # the rival: the angle of the mean square, tan^2 = R q^2 tau / beta'beta
        mean_square = np.sqrt(np.mean(np.tan(errors["angle"]) ** 2))
        assert np.arctan(mean_square) > 1.15 * np.mean(found, axis=0)[0]


def test_the_nodes_of_one_feature():
    nodes = make_nodes(np.array([4.0]), np.array([-2.0]))
    assert np.all(nodes.truth == 0.5)
    assert not nodes.perpendicular.any()
    assert not nodes.length.any()
    assert not nodes.other_length.any()


# -- whole predictions ---------------------------------------------------------------------------------------


def sigma_angle(a, b, covariance):
    root = np.linalg.cholesky(covariance)
    return angle(root.T @ a, root.T @ b)


@pytest.mark.parametrize(
    ("law", "n", "m"),
    [
        ({"n_features": 20, "min_eigenvalue": 0.05, "noise": 0.2}, 300, 2400),
        ({"n_features": 20, "min_eigenvalue": 0.05, "noise": 0.2}, 300, 200),
        ({"n_features": 10, "min_eigenvalue": 1 / 200, "noise": 0.0}, 100, 1000),
        ({"n_features": 40, "noise": 0.4, "link": "probit"}, 200, 20_000),
        ({"n_features": 6, "noise": 0.1, "item_effect": 1.5}, 60, 500),
        ({"n_features": 2, "noise": 0.2}, 30, 100),
    ],
)
def test_split_is_predicted_as_its_exact_draws_are(law, n, m):
    population, rng = Population(**law, rng=0), np.random.default_rng(2)
    draws = np.array([population.draw_split(n, m, rng) for _ in range(2000)])
    in_sigma = np.array([sigma_angle(one, population.beta, population.covariance) for one in draws])
    angles = np.array([angle(one, population.beta) for one in draws])
    norms = np.linalg.norm(draws - population.c1 * population.beta, axis=1)
    error = predict_error(population, n, m, "split")
    assert_means(
        np.column_stack([angles, in_sigma, norms, in_sigma / np.pi]),
        [error.angle, error.sigma_angle, error.norm_error, error.misordered],
        allowed=0.05,
    )
    low, high = error.ranges["angle"]
    inside = np.mean((angles > low) & (angles < high))
    assert abs(inside - 0.9) < 0.03 + norm.isf(LEVEL) * np.sqrt(0.09 / 2000)


def test_a_prediction_is_a_number_and_not_a_draw():
    population = Population(5, noise=0.2, rng=1)
    assert predict_error(population, 100, 500, "paired") == predict_error(
        population, 100, 500, "paired"
    )
    assert (
        predict_error(population, 100, 500).angle
        == predict_error(population, 100, 500, method="mle").angle
    )


def test_more_of_anything_helps_and_noise_hurts():
    for method in METHODS:
        angles = {
            size: law_of(0.2, 20, 0.1).predict(*size, method).angle
            for size in [(100, 400), (100, 800), (200, 400), (200, 800)]
        }
        assert angles[200, 800] < min(angles[100, 800], angles[200, 400])
        assert max(angles[100, 800], angles[200, 400]) < angles[100, 400]
        assert law_of(0.3, 20, 0.1).predict(100, 400, method).angle > angles[100, 400]


def test_the_covariance_of_split_may_come_from_other_numbers_of_items():
    law = law_of(0.2, 20)
    same, more, most = (law.predict(100, 5000, "split", n).angle for n in (None, 1000, 10**8))
    assert law.predict(100, 5000, "split", 100).angle == same
    assert most < more < same


def test_with_noise_keeps_the_items():
    law = ErrorLaw(
        np.linspace(1, 0.1, 8), LOGIT, spread_for_noise(LOGIT, 0.3), beta=np.arange(1.0, 9.0)
    )
    other = law.with_noise(0.1)
    assert other.noise == pytest.approx(0.1)
    assert law.noise == pytest.approx(0.3)
    fresh = ErrorLaw(law.eigenvalues, LOGIT, spread_for_noise(LOGIT, 0.1), beta=law.beta)
    assert other.predict(100, 800, "paired") == fresh.predict(100, 800, "paired")


@pytest.mark.parametrize("theta", [0.02, 0.4, 1.3])
def test_the_share_of_misordered_pairs_is_the_angle_over_pi(theta):
    """Score differences of two directions are normal with correlation cos(theta).

    Their signs differ with probability theta/pi.
    """
    rng, d = np.random.default_rng(1), 6
    population = Population(d, min_eigenvalue=0.05, rng=4)
    root = np.linalg.cholesky(population.covariance)
    e, other = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    beta, estimate = np.linalg.solve(
        root.T, np.column_stack([e, np.cos(theta) * e + np.sin(theta) * other])
    ).T
    assert sigma_angle(estimate, beta, population.covariance) == pytest.approx(theta)
    pairs = (rng.normal(size=(300_000, d)) - rng.normal(size=(300_000, d))) @ root.T
    wrong = np.sign(pairs @ beta) != np.sign(pairs @ estimate)
    assert abs(wrong.mean() - theta / np.pi) < norm.isf(LEVEL / 2) * np.sqrt(
        theta / np.pi * (1 - theta / np.pi) / len(wrong)
    )
    # the angle in the units of the features is another
    assert abs(wrong.mean() - angle(beta, estimate) / np.pi) > 0.03 * theta / np.pi


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "arguments", "sentence"),
    [
        (
            {},
            (100, 500, "best"),
            "method is 'best'; use one of 'split', 'pooled', 'paired', 'mle'.",
        ),
        (
            {},
            (6, 500, "paired"),
            "n_items is 6, and 'paired' with 5 features needs at least 7; use more items.",
        ),
        (
            {},
            (8, 500, "split"),
            "n_items is 8, and 'split' with 5 features needs at least 9; use more items.",
        ),
        (
            {},
            (float("nan"), 500, "mle"),
            "n_items is nan, and 'mle' with 5 features needs at least 7; use more items.",
        ),
        ({}, (100, 0, "mle"), "n_comparisons is 0; use a number from 1."),
        ({"noise": 0.5}, (100, 500, "pooled"), "noise is 0.5, so labels are coins"),
        ({"noise": 0}, (100, 500, "mle"), "without noise the likelihood has no maximum"),
        (
            {"item_effect": 1.0},
            (100, 500, "mle"),
            "the error of 'mle' is predicted for items that their features explain",
        ),
        (
            {"judge_noise": [0.1, 0.3]},
            (100, 500, "paired"),
            "the population has 2 judges, each with their own noise, .* noise=0.2.",
        ),
    ],
)
def test_what_cannot_be_predicted_is_said_in_a_sentence(law, arguments, sentence):
    with pytest.raises(PairscoreError, match=sentence):
        predict_error(Population(5, **law, rng=0), *arguments)


@pytest.mark.parametrize("method", METHODS)
def test_the_smallest_studies_have_a_prediction(method):
    for d in (1, 2, 5):
        error = law_of(0.2, d).predict(d + (4 if method == "split" else 2), 1000, method)
        assert 0 <= error.angle <= np.pi
        assert np.isfinite(error.norm_error)
        assert length_variance(law_of(0.2, d), d + 4, 1000, "paired") > 0


def test_three_points_stand_for_many_exposures(monkeypatch):
    law = law_of(0.1, 40)
    few = [direction_variance(law, 200, 40_000, method) for method in ("pooled", "paired", "mle")]
    monkeypatch.setattr(direction_error, "MANY", 1e6)
    np.testing.assert_allclose(
        few,
        [direction_variance(law, 200, 40_000, method) for method in ("pooled", "paired", "mle")],
        rtol=1e-4,
    )


# -- lengths and ranges -----------------------------------------------------------------------------------


def studies(method, d, n, m, noise, repeats):
    """Norm error and angle of simulated studies, items with the identity as covariance."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng([21, seed])
        population = Population(d, noise=noise, rng=rng)
        estimate = fitted(method, population, n, m, rng)
        limit = (population.slope if method == "mle" else population.c1) * population.beta
        found.append((np.linalg.norm(estimate - limit), angle(estimate, population.beta)))
    return np.array(found).T


def test_maximum_likelihood_is_too_long_by_as_much_as_predicted(monkeypatch):
    """The rival is the same prediction without the bias of the length, and fails by ten standard
    errors.
    """
    law = law_of(0.2, 40)
    norm_errors, _ = studies("mle", 40, 500, 800, 0.2, 200)
    assert_means(norm_errors, law.predict(500, 800, "mle").norm_error, allowed=0.06)
    monkeypatch.setattr(theory, "length_bias", lambda link, q: 0.0)
    with pytest.raises(AssertionError):
        assert_means(norm_errors, law.predict(500, 800, "mle").norm_error)


def test_the_bias_of_the_length_under_logit_has_its_own_integral():
    link, q = LOGIT, 1.7
    s = np.linspace(-60, 60, 400_001)
    weight = np.exp(-(s**2) / (4 * q * q))
    f = link.cdf(s)
    w = f * (1 - f)
    assert length_bias(link, q) == pytest.approx(
        q * q * np.sum(weight * s * w * (f - 0.5)) / np.sum(weight * s * s * w), rel=1e-3
    )


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_nine_of_ten_studies_are_within_the_range(method):
    repeats = 250
    _, angles = studies(method, 20, 100, 300, 0.2, repeats)
    low, high = law_of(0.2, 20).predict(100, 300, method).ranges["angle"]
    inside = np.mean((low <= angles) & (angles <= high))
    error = np.sqrt(0.9 * 0.1 / repeats)
    assert 0.87 - 3 * error < inside < 0.95 + 3 * error
