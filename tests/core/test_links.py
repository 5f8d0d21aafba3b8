"""Links against numerical derivatives, and what is no link."""

import warnings

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import chi2

from pairscore import PairscoreError, RankRegression
from pairscore.core.links import get_link
from pairscore.core.significance import chi_square_p, z_and_p
from tests.laws import GaussianStudy


@pytest.mark.parametrize(
    "link",
    [
        "logit",
        "probit",
        (lambda x: 0.5 + np.arctan(x) / np.pi, lambda x: 1 / (np.pi * (1 + x * x))),
    ],
)
def test_links_agree_with_numerical_derivatives(link):
    link = get_link(link)
    x, step = np.linspace(-4, 4, 33), 1e-6
    win, lose = np.linspace(0, 2, 33), np.linspace(3, 0, 33)

    def log_likelihood(at):
        return win * link.log_cdf(at) + lose * link.log_cdf(-at)

    score, information = link.score(x, win, lose)
    np.testing.assert_allclose(
        score,
        (log_likelihood(x + step) - log_likelihood(x - step)) / (2 * step),
        rtol=1e-6,
        atol=1e-7,
    )
    np.testing.assert_allclose(
        link.pdf(x), (link.cdf(x + step) - link.cdf(x - step)) / (2 * step), rtol=1e-6
    )
    np.testing.assert_allclose(
        information, (win + lose) * link.pdf(x) ** 2 / (link.cdf(x) * link.cdf(-x)), rtol=1e-9
    )
    second = (link.score(x + 1e-4, win, lose)[0] - link.score(x - 1e-4, win, lose)[0]) / 2e-4
    np.testing.assert_allclose(
        link.observed_information(x, win, lose), -second, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(link.log_cdf(x), np.log(link.cdf(x)), rtol=1e-9)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_links_do_not_overflow(link):
    link = get_link(link)
    x = np.array([-700.0, -40.0, 40.0, 700.0])
    with np.errstate(all="raise", under="ignore"):
        assert np.all(np.isfinite(link.log_cdf(x)))
        assert np.all(np.isfinite(link.ratio(x)))
    assert np.all(np.diff(link.log_cdf(x)) >= 0)


@pytest.mark.parametrize(
    "bad",
    [
        (lambda x: x, lambda x: np.ones_like(x)),
        (expit, expit),
        (lambda x: expit(x + 1), lambda x: expit(x + 1) * expit(-x - 1)),
    ],
)
def test_a_function_that_is_no_link_is_refused(bad):
    with pytest.raises(ValueError, match="link"):
        get_link(bad)


def test_a_users_own_link_gives_what_the_built_in_one_gives():
    X, votes = GaussianStudy(100, 1000, 3, second_half=False).draw(np.random.default_rng(0))
    own = (expit, lambda x: expit(x) * expit(-x))
    for method in ("mle", "paired"):
        one, two = (RankRegression(method, link=link).fit(X, votes) for link in ("logit", own))
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)
        np.testing.assert_allclose(two.std_errors_, one.std_errors_, rtol=1e-5)


def test_z_and_p_are_unknown_without_an_error():
    z, p = z_and_p([1.96, 1.0, 0.0], [1.0, np.nan, 0.0])
    assert z[0] == 1.96
    assert p[0] == pytest.approx(0.05, abs=1e-4)
    assert np.isnan(z[1:]).all()
    assert np.isnan(p[1:]).all()


def test_the_logarithm_of_a_chance_is_exact_in_both_tails():
    x = np.array([-800.0, -40.0, -1.0, 0.0, 1.0, 40.0])
    np.testing.assert_allclose(get_link("logit").log_cdf(x), log_expit(x), rtol=1e-14)


@pytest.mark.parametrize("freedom", [0, 1, 2.5, 40])
def test_p_values_of_chi_squared_are_those_of_scipy_stats(freedom):
    for statistic in (-1e-17, 0.0, 1e-9, 3.0, 80.0, np.inf, np.nan):
        expected = chi2.sf(statistic, freedom)
        assert np.array_equal(chi_square_p(statistic, freedom), expected, equal_nan=True)


def test_a_logit_takes_single_and_whole_numbers():
    link = get_link("logit")
    for x in (0.5, 2, np.array([1, -2]), np.array(0.3)):
        as_floats = np.asarray(x, dtype=float) + np.zeros(1)
        for found, expected in (
            (link.score(x, 1.0, 2.0), link.score(as_floats, 1.0, 2.0)),
            (link.log_cdf(x), link.log_cdf(as_floats)),
        ):
            np.testing.assert_allclose(np.ravel(found), np.ravel(expected))


@pytest.mark.parametrize(
    "link",
    [
        (lambda x: 0.5 + 0.1 * np.tanh(x), lambda x: 0.1 / np.cosh(x) ** 2),
        (lambda x: 0.5 + 0.49 * np.tanh(x), lambda x: 0.49 / np.cosh(x) ** 2),
        (lambda x: 0.5 + 0.7 * np.tanh(x), lambda x: 0.7 / np.cosh(x) ** 2),
    ],
)
def test_a_function_that_does_not_rise_from_0_to_1_is_no_link(link):
    with pytest.raises(PairscoreError, match="must rise from 0 to 1"):
        get_link(link)


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (lambda x: 0.5 + np.arctan(x) / np.pi, lambda x: 1 / np.pi / (1 + x**2)),  # heavy tails
        (lambda x: np.exp(x) / (1 + np.exp(x)), lambda x: np.exp(x) / (1 + np.exp(x)) ** 2),
        (lambda x: expit(x / 50), lambda x: expit(x / 50) * expit(-x / 50) / 50),
    ],
)
def test_links_with_heavy_tails_of_other_units_or_that_overflow_are_taken(function, derivative):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_link((function, derivative)).cdf(0.0) == pytest.approx(0.5)


def test_probit_far_away_and_at_the_ends():
    link, x = get_link("probit"), np.array([-np.inf, -1e200, -2e3, -999.0, 999.0, 1e200, np.inf])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f, rise, bend = link.expansion(x)
        ratio, curvature = link.ratio(x), link.curvature(x)
    assert f.tolist() == [0.0] * 4 + [1.0] * 3
    assert not rise.any()
    assert not bend.any()
    # Mills' ratio by its continued fraction: x + 1 / (x + 2 / (x + ...))
    near = [t + 1 / (t + 2 / (t + 3 / t)) for t in (2e3, 999.0)]
    np.testing.assert_allclose(ratio, [np.inf, 1e200, *near, 0.0, 0.0, 0.0], rtol=1e-9)
    slope = [1 - 1 / t**2 for t in (2e3, 999.0)]
    np.testing.assert_allclose(curvature, [1.0, 1.0, *slope, 0.0, 0.0, 0.0], rtol=1e-3)
