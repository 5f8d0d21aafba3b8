"""sigma^2: likeliest value, interval, and the test that there is none."""

import numpy as np
import pytest
from scipy.stats import binom

from pairscore.effects.item_variance import (
    LARGEST,
    REACH2,
    fit_item_variance,
    variance_interval,
    variance_score,
)
from pairscore.effects.propagation import start_posterior
from pairscore.effects.single_comparisons import climb
from tests.effects.rows import draw_rows
from tests.effects.test_propagation import log_marginal, posterior
from tests.limits import CHANCE, largest_mean


def found_in(rows):
    top = climb(rows, rows.start(np.zeros(rows.X.shape[1])), 100, 1e-12)
    return fit_item_variance(start_posterior(rows, top.theta, 0.0))


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


@pytest.mark.parametrize(("n_items", "per_item"), [(60, 3), (100, 10)])
def test_the_test_of_no_effects_keeps_its_size_and_finds_effects(n_items, per_item):
    def p_values(sd, n_studies):
        found = []
        for seed in range(n_studies):
            rng = np.random.default_rng([6, seed])
            rows, _ = draw_rows(rng, n_items, n_items * per_item // 2, sd=sd)
            top = climb(rows, rows.start(np.zeros(2)), 100, 1e-10)
            found.append(variance_score(rows, rows.derivatives(top.theta), top.basis).p_value)
        return np.array(found)

    none = p_values(0.0, 200)
    # a normal limit of a skewed statistic: between 3 and 8 %
    low, high = binom.ppf(CHANCE, 200, 0.03), binom.isf(CHANCE, 200, 0.08)
    assert low <= np.sum(none < 0.05) <= high
    assert np.mean(p_values(1.5, 20) < 0.05) > 0.7


def test_the_exact_likelihood_of_three_items_has_its_maximum_where_the_search_ends():
    """Three items that met often, so that the weak prior does not matter."""
    rows, _ = draw_rows(np.random.default_rng(8), 3, 40, 1, sd=1.5)
    post, _ = found_in(rows)
    grid = post.sigma2 * np.exp(np.linspace(-1, 1, 9))
    values = [log_marginal(rows, posterior(rows, one).theta, one) for one in grid]
    slope_of_prior = np.log(grid) * 0
    assert abs(int(np.argmax(np.array(values) + slope_of_prior)) - 4) <= 1
