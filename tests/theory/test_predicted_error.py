"""Errors before any data: predictions against exact draws and simulated studies."""

import warnings

import numpy as np
import pytest
from benchmarks.predictions import (
    BARS,
    CELLS,
    Cell,
    first_order_angle,
    log_power,
    mean_of,
    simulate,
    write,
)
from scipy.stats import beta, chi2, norm, qmc

from pairscore import PairscoreError, Population, RankRegression, angle, predict_error
from pairscore.choices import METHODS
from pairscore.metrics import kendall_distance
from pairscore.theory import predicted_error
from pairscore.theory import predicted_error as theory
from pairscore.theory.direction_variance import (
    WIDEST_SPREAD,
    StudySize,
    direction_variance,
    length_variance,
    wrong_sign,
)
from pairscore.theory.integrals import (
    spread_for_noise,
)
from pairscore.theory.predicted_error import (
    PERIOD,
    ErrorLaw,
    QuasiRandomErrors,
    first_order_variance,
)
from tests.theory.conftest import LEVEL, LOGIT, assert_means, fitted, law_of, sigma_angle, studies


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
        assert direction_variance(
            law.labels, law.constants, StudySize(n, 10_000 * n, 50), method
        ) == pytest.approx(first_order_variance(law, n, 10_000 * n, method), rel=allowed)
    assert direction_variance(
        law.labels, law.constants, StudySize(200, 200, 50), method
    ) > 1.05 * first_order_variance(law, 200, 200, method)


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


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_too_few_comparisons_leave_any_direction(method):
    law = law_of(0.2, 60)
    assert direction_variance(law.labels, law.constants, StudySize(200, 15, 60), method) == np.inf
    error = law.predict(200, 15, method)
    assert (error.angle, error.sigma_angle, error.misordered, error.norm_error) == (
        np.pi / 2,
        np.pi / 2,
        0.5,
        np.inf,
    )
    assert np.isfinite(
        direction_variance(law.labels, law.constants, StudySize(200, 150, 60), method)
    )


def test_the_angle_of_the_likelihood_with_hardly_any_noise():
    """About two labels of 430 are wrong.

    Most studies are separable, and the quadratic approximation is far off.
    """
    rng, found = np.random.default_rng(8), []
    for _ in range(30):
        population = Population(10, noise=0.005, rng=rng)
        found.append(angle(fitted("mle", population, 500, 430, rng), population.beta))
    assert_means(found, law_of(0.005, 10).predict(500, 430, "mle").angle, allowed=0.1)
    assert law_of(0.005).labels.spread > WIDEST_SPREAD  # predicted as at the widest spread


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_the_length_of_an_estimate_of_one_feature(method, noise):
    """With d = 1 there is no direction to err in; the norm error is that of the length alone."""
    rng, n, m = np.random.default_rng(9), 100, 600
    population, found = Population(beta=[1.0], covariance=[[1.0]], noise=noise), []
    truth = population.slope if method == "mle" else population.c1
    for _ in range(150):
        found.append(abs(fitted(method, population, n, m, rng)[0] - truth))
    error = predict_error(population, n, m, method)
    assert_means(found, error.norm_error, allowed=0.08)
    assert error.angle == np.pi * error.misordered < 1e-6


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
    sd = np.sqrt(length_variance(law.labels, law.constants, StudySize(n, m, d), "paired"))
    rival = np.mean(1 + sd * law.nodes.normal < 0)
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


@pytest.mark.parametrize(
    ("law", "arguments", "sentence"),
    [
        (
            {},
            (100, 500, "best"),
            "method is 'best'; use 'split', 'pooled', 'paired' or 'mle'.",
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
        ({"noise": 0.5}, (100, 500, "pooled"), "noise is 0.5, so labels are coin tosses"),
        ({"noise": 0}, (100, 500, "mle"), "without noise the likelihood has no maximum"),
        (
            {"judge_noise": [0.1, 0.3]},
            (100, 500, "paired"),
            "the population has 2 judges, with different noise, .* noise of 0.2.",
        ),
    ],
)
def test_what_cannot_be_predicted_is_said_in_a_sentence(law, arguments, sentence):
    with pytest.raises(PairscoreError, match=sentence):
        predict_error(Population(5, **law, rng=0), *arguments)


@pytest.mark.parametrize("method", METHODS)
def test_the_smallest_studies_have_a_prediction(method):
    for d in (1, 2, 5):
        law = law_of(0.2, d)
        error = law.predict(d + (4 if method == "split" else 2), 1000, method)
        assert 0 <= error.angle <= np.pi
        assert np.isfinite(error.norm_error)
        assert length_variance(law.labels, law.constants, StudySize(d + 4, 1000, d), "paired") > 0


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


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_nine_of_ten_studies_are_within_the_range(method):
    repeats = 250
    _, angles = studies(method, 20, 100, 300, 0.2, repeats)
    low, high = law_of(0.2, 20).predict(100, 300, method).ranges["angle"]
    inside = np.mean((low <= angles) & (angles <= high))
    error = np.sqrt(0.9 * 0.1 / repeats)
    assert 0.87 - 3 * error < inside < 0.95 + 3 * error


SMALL = {
    Cell("smallest", 10, 0.2, 1.0, 40, 40): ["split", "paired"],
    Cell("one direction", 10, 0.1, 1 / 200, 40, log_power(40, 1)): ["split", "mle"],
    Cell("no noise", 10, 0.0, 0.1, 100, 200): ["paired"],
    Cell("few comparisons", 30, 0.2, 0.1, 120, 300): ["pooled", "mle"],
    Cell("many comparisons", 30, 0.4, 1 / 200, 120, log_power(120, 2)): ["pooled", "mle"],
}
CASES = [(cell, method) for cell, methods in SMALL.items() for method in methods]


def within(bar, predicted, simulated, n_tests=1):
    """The bar, and beyond it what simulation may be off by.

    Its standard error times a Bonferroni quantile.
    """
    return (
        abs(simulated.value - predicted)
        <= bar * predicted + norm.isf(LEVEL / 2 / n_tests) * simulated.error
    )


@pytest.mark.parametrize(("cell", "method"), CASES, ids=lambda value: getattr(value, "name", value))
def test_predicted_mean_angle_is_the_simulated_one(cell, method):
    simulated, _ = simulate(cell, method, BARS[method] / 4)
    predicted = cell.law.predict(cell.n_items, cell.n_comparisons, method).angle
    assert simulated.error <= BARS[method] / 4 * simulated.value  # else nothing would be told
    assert within(BARS[method], predicted, simulated, len(CASES)), (simulated, predicted)


def test_first_order_fails_at_as_many_comparisons_as_items():
    cell = Cell("rival", 60, 0.1, 1.0, 240, 240)
    simulated, _ = simulate(cell, "paired", 0.005)
    assert within(BARS["paired"], cell.law.predict(240, 240, "paired").angle, simulated)
    assert not within(BARS["paired"], first_order_angle(cell, "paired"), simulated)


@pytest.mark.parametrize("method", ["split", "mle"])
def test_share_of_misordered_pairs_of_fresh_items(method):
    cell = Cell("fresh", 10, 0.2, 0.1, 60, 200)
    _, counted = simulate(cell, method, BARS[method] / 4, count=True)
    assert within(BARS[method], cell.law.predict(60, 200, method).misordered, counted, 2), counted


def test_one_estimate_put_into_many_populations_has_the_mean_angle_of_many_studies():
    """The symmetry behind the simulation's variance reduction, against a new population for every
    estimate.
    """
    cell = Cell("twin", 10, 0.2, 1 / 200, 100, 300)
    reduced, _ = simulate(cell, "split", 0.01)
    rng, plain = np.random.default_rng(5), []
    for _ in range(2000):
        population = Population(10, min_eigenvalue=1 / 200, noise=0.2, rng=rng)
        plain.append(angle(population.draw_split(100, 300, rng), population.beta))
    plain = mean_of(plain)
    assert abs(plain.value - reduced.value) < norm.isf(LEVEL / 2) * np.hypot(
        plain.error, reduced.error
    ), (plain, reduced)


def test_one_population_is_predicted_too():
    """`predict_error` knows where beta points; the mean over all directions would be far off."""
    eigenvalues, rng = np.array([1.0, 1.0, 1.0, 0.01]), np.random.default_rng(6)
    population = Population(
        beta=[0, 0, 0, 1.0], mean=np.zeros(4), covariance=np.diag(eigenvalues), noise=0.2
    )
    simulated = mean_of(
        [angle(population.draw_split(100, 300, rng), population.beta) for _ in range(1500)]
    )
    assert within(BARS["split"], predict_error(population, 100, 300, "split").angle, simulated), (
        simulated
    )
    anywhere = (
        ErrorLaw(eigenvalues, population.link, population.spread).predict(100, 300, "split").angle
    )
    assert not within(BARS["split"], anywhere, simulated)


def test_cells_span_what_the_bars_are_promised_for():
    assert {cell.n_features for cell in CELLS} == {10, 90, 250}
    for d in (10, 90, 250):
        of_size = [cell for cell in CELLS if cell.n_features == d]
        assert {cell.noise for cell in of_size} == {0, 0.1, 0.2, 0.4}
        assert {cell.min_eigenvalue for cell in of_size} == {1 / 200, 0.1, 1}
        assert {min(cell.n_items for cell in of_size), max(cell.n_items for cell in of_size)} == {
            4 * d,
            30_000,
        }
        assert any(cell.n_comparisons == cell.n_items for cell in of_size)
        assert any(cell.n_comparisons == log_power(cell.n_items, 2) for cell in of_size)
    assert len({cell.name for cell in CELLS}) == len(CELLS) >= 30


def test_tables_go_between_their_markers(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- cells -->\nold\n<!-- end of cells -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr("benchmarks.predictions.PAGE", page)
    write({"cells": ["| new |"]})
    assert (
        page.read_text(encoding="utf-8")
        == "before\n<!-- cells -->\n| new |\n<!-- end of cells -->\nafter\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((Population(3, rng=0), "a", 5), r"^n_items is 'a'; use a whole number from 1\.$"),
        ((Population(3, rng=0), 10, None), r"^n_comparisons is None; use a whole number from 1\.$"),
        ((None, 10, 5), r"^population is None; give a pairscore\.Population\.$"),
    ],
)
def test_a_prediction_that_cannot_be_made_gets_a_sentence(arguments, sentence):
    with pytest.raises(PairscoreError, match=sentence):
        predict_error(*arguments)


def test_errors_on_new_and_on_known_items_are_those_of_fits_with_item_effects():
    """Features explain 60 %: estimates against the true scores of simulated studies."""
    n, m, d, explained, rng = 100, 700, 4, 0.6, np.random.default_rng(8)
    q = spread_for_noise(LOGIT, 0.2)
    features, rest = q * explained**0.5, q * (1 - explained) ** 0.5
    found = []
    for _ in range(16):
        X = rng.normal(size=(n, d))
        score = features * X[:, 0] + rest * rng.normal(size=n)
        left = rng.integers(0, n, m)
        right = (left + rng.integers(1, n, m)) % n
        won = rng.random(m) < LOGIT.cdf(score[left] - score[right])
        votes = np.where(won[:, None], np.c_[left, right], np.c_[right, left])
        model = RankRegression(item_effects=True, inference=None).fit(X, votes)
        turned = model.coef_ / np.linalg.norm(model.coef_)
        new = np.arccos(explained**0.5 * turned[0]) / np.pi
        found.append([new, kendall_distance(model.decision_function(X), score)])
    law = ErrorLaw(np.ones(d), LOGIT, features, item_effect=rest)
    error = law.predict(n, m, "mle")
    # known items are predicted within 6 % (docs/explanation/theory.md)
    assert_means(found, [error.misordered_new, error.misordered_known], allowed=0.06)


def test_the_share_of_new_pairs_against_true_scores_is_that_of_drawn_pairs():
    """Naive twin of arccos(rho cos theta) / pi."""
    rng, n, theta, rho = np.random.default_rng(9), 300_000, 0.4, 0.7
    z, across, rest = (rng.normal(size=(n, 2)) @ [1, -1] for _ in range(3))
    estimate = np.cos(theta) * z + np.sin(theta) * across
    truth = rho * z + np.sqrt(1 - rho**2) * rest
    share = np.arccos(rho * np.cos(theta)) / np.pi
    limit = norm.isf(LEVEL / 2) * np.sqrt(share * (1 - share) / n)
    assert abs(np.mean(np.sign(estimate) != np.sign(truth)) - share) < limit


def test_labels_that_tell_next_to_nothing_have_a_prediction_without_overflow():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = ErrorLaw(np.ones(1), LOGIT, 1e-15).predict(20, 307, "mle")
    assert 0.0 <= error.misordered_new <= 0.5


# -- averages over fixed errors against averages over drawn ones -------------------------------


@pytest.mark.parametrize("freedom", [10, 60, 5000])
def test_chi_square_nodes_are_chi_squared(freedom):
    nodes = QuasiRandomErrors.of_covariance(np.ones(3), None)
    expected = chi2.ppf(norm.cdf(nodes.normal2), freedom)
    bulk = np.abs(nodes.normal2) < 2
    assert np.max(np.abs(nodes.chi_square(freedom)[bulk] / expected[bulk] - 1)) < 0.01
    assert nodes.chi_square(freedom).mean() == pytest.approx(
        freedom, rel=5 * np.sqrt(2 / freedom / 4096) + 1e-3
    )
    assert np.all(QuasiRandomErrors.of_covariance(np.ones(3), None).chi_square(0.5) > 0)


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
    for one in betas:
        e = np.sqrt(eigenvalues) * one / np.linalg.norm(one)
        e /= np.linalg.norm(e)
        whitened = e + sd * rng.normal(size=d)
        estimate, truth = whitened / np.sqrt(eigenvalues), e / np.sqrt(eigenvalues)
        found.append(
            (angle(estimate, truth), angle(whitened, e), np.linalg.norm(estimate - truth) * 0.9)
        )
    nodes = QuasiRandomErrors.of_covariance(eigenvalues, betas[0] if own_beta else None)
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
    nodes = QuasiRandomErrors.of_covariance(np.array([4.0]), np.array([-2.0]))
    assert np.all(nodes.truth == 0.5)
    assert not nodes.perpendicular.any()
    assert not nodes.length.any()
    assert not nodes.other_length.any()


def test_the_mean_over_even_directions_is_better_than_over_drawn_ones():
    """The mean length of covariance^(-1/2) u where one eigenvalue dominates, against its law.

    The square of one coordinate of a random direction in D dimensions is Beta(1/2, (D - 1)/2). Even
    nodes are within a quarter of a percent; the rival, as many drawn directions, has a standard
    error of one percent.
    """
    d, smallest = 10, 1 / 200
    nodes = QuasiRandomErrors.of_covariance(np.append(np.ones(d - 1), smallest), np.eye(d)[0])
    share = beta(1 / 2, (d - 2) / 2)  # of u, orthogonal to the truth

    def length(square):
        return np.sqrt(1 + (1 / smallest - 1) * square)

    mean = share.expect(length)
    variance = share.expect(lambda square: length(square) ** 2) - mean**2
    assert np.hypot(nodes.parallel, nodes.perpendicular).mean() == pytest.approx(mean, rel=0.0025)
    assert np.sqrt(variance / len(nodes.truth)) > 0.009 * mean


@pytest.mark.parametrize(
    "eigenvalues",
    [[1.0, 0.2], [2.0, 1.0, 0.5, 0.1], np.linspace(1, 0.05, 3), np.linspace(1, 0.05, 20)],
    ids=["two", "four", "three", "twenty"],
)
def test_the_lattice_has_the_mean_angle_of_many_sobol_sequences(eigenvalues, monkeypatch):
    """The outside witness is SciPy's; as many random directions are the rival."""

    def mean_angle(normals=None, seed=None):
        with monkeypatch.context() as patch:
            if normals:
                patch.setattr(predicted_error, "_even_normals", normals)
                patch.setattr(predicted_error, "SEED", seed)
            nodes = QuasiRandomErrors.of_covariance(np.asarray(eigenvalues), None)
        across = 0.3 * nodes.length / np.sqrt(max(len(eigenvalues) - 1, 1))
        return nodes.errors(np.ones_like(across), across, 1.0)["angle"].mean()

    sobol = [
        mean_angle(lambda n, d, rng: norm.ppf(qmc.Sobol(d, rng=rng).random(n)), seed)
        for seed in range(12)
    ]
    drawn = [mean_angle(lambda n, d, rng: rng.normal(size=(n, d)), seed) for seed in range(12)]
    error = np.std(sobol) / np.sqrt(len(sobol))
    assert mean_angle() == pytest.approx(np.mean(sobol), abs=0.0015 * np.mean(sobol) + 4 * error)
    assert np.std(drawn) > 0.0015 * np.mean(sobol)


def test_more_features_than_the_lattice_has_dimensions():
    d = PERIOD // 2 + 1
    nodes = QuasiRandomErrors.of_covariance(np.ones(d), None, n_nodes=8)
    # chi of d - 1 degrees of freedom: its standard deviation is 1 / sqrt(2)
    np.testing.assert_allclose(nodes.length, np.sqrt(d - 1.5), atol=5 / np.sqrt(2))
    np.testing.assert_allclose(np.hypot(nodes.parallel, nodes.perpendicular), 1.0, rtol=1e-12)
