"""sigma^2: likeliest value and interval."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from pairscore import Comparisons, RankRegression
from pairscore.effects import item_covariance
from pairscore.effects.expectation_propagation import start_posterior
from pairscore.effects.item_variance import (
    LARGEST,
    REACH2,
    VarianceSearch,
    fit_item_variance,
    variance_interval,
)
from pairscore.effects.maximum import maximise_rows
from tests.effects.joint_study import draw_study
from tests.effects.rows import draw_rows
from tests.effects.simulators import draw
from tests.effects.test_expectation_propagation import log_marginal, posterior
from tests.limits import CHANCE, largest_mean


def found_in(rows):
    top = maximise_rows(rows, rows.start(np.zeros(rows.X.shape[1])), 100, 1e-12)
    search = VarianceSearch(start_posterior(rows, top.theta, 0.0))
    return fit_item_variance(search), search


def test_the_variance_is_the_likeliest_one_and_the_interval_that_of_its_likelihood():
    """The slope that is integrated is exact to a few hundredths (test_propagation): here against
    slopes at many sigma^2, summed finely.
    """
    rows, _ = draw_rows(np.random.default_rng(2), 40, 400)
    post, search = found_in(rows)
    interval = variance_interval(post, search)
    x = np.linspace(np.log(interval.low) - 0.5, np.log(interval.high) + 0.5, 61)
    slope = np.array([0.5 * 40 * (posterior(rows, np.exp(one)).rho - 1) for one in x])
    value = np.append(0.0, np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(x)))
    assert np.log(post.sigma2) == pytest.approx(x[value.argmax()], abs=0.06)
    drop = value.max() - np.interp(np.log([interval.low, interval.high]), x, value)
    np.testing.assert_allclose(drop, REACH2 / 2, atol=0.06)


@pytest.mark.parametrize("seed", range(6))
def test_effects_were_not_seen_beside_an_item_in_half_of_all_comparisons(seed, monkeypatch):
    """By messages: noise of the trace at a tiny sigma^2, where the search began, said zero."""
    rng = np.random.default_rng([17, seed])
    X = rng.normal(size=(400, 3))
    score = X @ [1, -0.5, 0.5] + rng.normal(size=400)
    left, other = rng.integers(0, 400, (2, 1200))
    left[rng.random(1200) < 0.5] = 0
    right = np.where(other == left, (other + 1) % 400, other)
    won = rng.random(1200) < expit(score[left] - score[right])
    data = Comparisons(X, left, right, np.where(won, 1, -1))
    found = []
    for most in (0, 400):
        monkeypatch.setattr(item_covariance, "EXACT_ITEMS", most)
        found.append(RankRegression(item_effects=True).fit(data).item_effects_)
    by_messages, exact = found
    assert exact.interval[0] > 0.05
    assert by_messages.sigma2 == pytest.approx(exact.sigma2, rel=0.05)
    np.testing.assert_allclose(by_messages.interval, exact.interval, rtol=0.1)


def test_a_fit_with_item_effects_took_more_than_sixty_sweeps():
    """Steps of sigma^2, its interval and all: now about 25."""
    X, votes, _ = draw_study(np.random.default_rng(1), 10, 1.0, related=False, judges=False)
    model = RankRegression(item_effects=True, context=["length"], side_effect=True).fit(X, votes)
    assert model.n_iter_ < 30


def test_the_upper_end_of_no_effects_was_a_tenth_off():
    """Where none are found, the end is where slopes, summed finely, have fallen by 1.92."""
    for seed in range(20):
        rows, _ = draw_rows(np.random.default_rng([6, seed]), 100, 3000, sd=0.0)
        post, search = found_in(rows)
        if post.sigma2 == 0:
            break
    end = np.log(variance_interval(post, search).high)
    x = np.linspace(search.limits()[0], end, 41)
    slope = np.array([0.5 * 100 * (posterior(rows, np.exp(one)).rho - 1) for one in x])
    drop = -np.sum(0.5 * (slope[1:] + slope[:-1]) * np.diff(x))
    assert drop == pytest.approx(REACH2 / 2, abs=0.06)


def test_variances_have_no_bias_at_three_comparisons_per_item():
    errors = []
    for seed in range(12):
        rows, _ = draw_rows(np.random.default_rng([3, seed]), 300, 450, sd=1.0)
        errors.append(found_in(rows)[0].sigma2 - 1)
    assert abs(np.mean(errors)) < largest_mean(np.array(errors)) + 0.05


def test_where_items_do_not_differ_the_variance_is_zero_or_small():
    zero = 0
    for seed in range(12):
        rows, _ = draw_rows(np.random.default_rng([4, seed]), 100, 1000, sd=0.0)
        post, search = found_in(rows)
        interval = variance_interval(post, search)
        zero += post.sigma2 == 0
        assert post.sigma2 < 0.2
        assert interval.low <= 0.05
        assert post.sigma2 < interval.high < 0.5
    assert 0 < zero < 12  # about half of the studies fall on either side


def test_labels_without_noise_leave_the_variance_open_above():
    rows, _ = draw_rows(np.random.default_rng(5), 100, 150, sd=1000.0)
    post, search = found_in(rows)
    assert 30 < post.sigma2 <= LARGEST
    assert variance_interval(post, search).high == np.inf


def test_the_exact_likelihood_of_three_items_has_its_maximum_where_the_search_ends():
    """Three items that met often, so that the weak prior does not matter."""
    rows, _ = draw_rows(np.random.default_rng(8), 3, 40, 1, sd=1.5)
    post, _ = found_in(rows)
    grid = post.sigma2 * np.exp(np.linspace(-1, 1, 9))
    values = [log_marginal(rows, posterior(rows, one).theta, one) for one in grid]
    slope_of_prior = np.log(grid) * 0
    assert abs(int(np.argmax(np.array(values) + slope_of_prior)) - 4) <= 1


def test_many_features_do_not_hide_how_much_items_differ():
    """As seen: 20 features of 60 items left 0.6 of sigma^2 = 1."""
    rng, found = np.random.default_rng(31), []
    for _ in range(12):
        _, _, _, data = draw(rng, n_items=60, n_comparisons=1800, n_features=20)
        model = RankRegression(item_effects=True, inference=None).fit(data)
        found.append([model.item_effects_.sigma2, model.item_effects_.interval[1]])
    found = np.array(found)
    assert abs(found[:, 0].mean() - 1) < largest_mean(found[:, 0]) + 0.05
    assert np.mean(found[:, 1] > 1) >= binom.ppf(CHANCE, 12, 0.95) / 12
    likeliest = (found[:, 0] - 0.5 * 0.1) / 1.5  # the rival: f = 3/2, and an error of about 0.1
    assert abs(likeliest.mean() - 1) > 0.2
