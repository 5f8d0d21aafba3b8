"""Normal integrals of a link.

Against closed forms, thirty-digit quadrature, and rules that must fail.
"""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import erfcx, expit

from pairscore.core.links import Link, Logit, Probit, get_link
from pairscore.errors import PairscoreError
from pairscore.theory.integrals import (
    agreement_excess,
    best_share,
    closed_form_length,
    correct_share,
    eta,
    fisher_information,
    flip_probability,
    kappa,
    length_bias,
    length_information,
    mean_derivative,
    spread_for_noise,
    win_excess,
)

LOGIT, PROBIT = Logit(), Probit()
CAUCHY = get_link(
    (
        lambda x: (
            np.where(
                x < 0,
                -np.arctan(1 / np.minimum(x, -1e-300)),
                np.pi - np.arctan(1 / np.maximum(x, 1e-300)),
            )
            / np.pi
        ),
        lambda x: 1 / (np.pi * (1 + x * x)),
    )
)
SPREADS = 10.0 ** np.arange(-6, 7)
FEW_SPREADS = [1e-6, 1e-3, 0.3, 1.64, 20.0, 1e3, 1e6]


def exactly(integrand, q):
    """Integral of ``integrand(s) * density of |s|`` to thirty digits, in panels that see both
    widths.
    """
    with mp.workdps(30):
        sigma = mp.sqrt(2) * mp.mpf(q)
        edges = sorted(
            {
                mp.mpf(0),
                *(sigma * x for x in (0.1, 1, 3, 8, 16)),
                *(mp.mpf(x) for x in (0.1, 1, 3, 10, 30, 90) if x < 16 * sigma),
            }
        )
        return float(
            mp.quad(
                lambda s: (
                    integrand(s) * mp.exp(-((s / sigma) ** 2) / 2) * mp.sqrt(2 / mp.pi) / sigma
                ),
                edges,
            )
        )


@pytest.mark.parametrize("q", SPREADS)
def test_probit_has_closed_forms(q):
    wide = np.sqrt(2) * q
    assert flip_probability(PROBIT, q) == pytest.approx(np.arctan(1 / wide) / np.pi, rel=1e-12)
    assert agreement_excess(PROBIT, q) == pytest.approx(np.arctan(wide) / np.pi, rel=1e-12)
    assert closed_form_length(PROBIT, q) == pytest.approx(
        4 * q / np.sqrt(2 * np.pi * (1 + 2 * q * q)), rel=1e-12
    )


@pytest.mark.parametrize("q", FEW_SPREADS)
def test_logit_agrees_with_thirty_digit_quadrature(q):
    assert flip_probability(LOGIT, q) == pytest.approx(
        exactly(lambda s: 1 / (1 + mp.exp(s)), q), rel=1e-12
    )
    assert agreement_excess(LOGIT, q) == pytest.approx(
        exactly(lambda s: mp.tanh(s / 2) / 2, q), rel=1e-12
    )
    assert closed_form_length(LOGIT, q) == pytest.approx(
        exactly(lambda s: q / mp.cosh(s / 2) ** 2, q), rel=1e-12
    )
    assert fisher_information(LOGIT, q) == pytest.approx(
        exactly(lambda s: mp.mpf(q) ** 2 / (2 * mp.cosh(s / 2) ** 2), q), rel=1e-12
    )


@pytest.mark.parametrize("q", SPREADS)
def test_a_users_link_with_heavy_tails(q):
    """The Cauchy link: E f'(s) is a Voigt profile at its centre."""
    sigma = np.sqrt(2) * q
    assert mean_derivative(CAUCHY, q) == pytest.approx(
        erfcx(1 / (np.sqrt(2) * sigma)) / (np.sqrt(2 * np.pi) * sigma), rel=1e-10
    )
    noise = flip_probability(CAUCHY, q)
    assert noise + agreement_excess(CAUCHY, q) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("width", [1e-4, 0.05, 20.0, 1e4])
def test_a_users_link_of_another_width_is_the_same_link_at_another_spread(width):
    link = Link(lambda x: expit(x / width), lambda x: expit(x / width) * expit(-x / width) / width)
    for q in (0.01, 1.0, 100.0):
        assert flip_probability(link, q * width) == pytest.approx(
            flip_probability(LOGIT, q), rel=1e-12
        )
        assert closed_form_length(link, q * width) == pytest.approx(
            closed_form_length(LOGIT, q), rel=1e-12
        )
        assert spread_for_noise(link, 0.2) == pytest.approx(
            width * spread_for_noise(LOGIT, 0.2), rel=1e-12
        )


def test_rules_that_fail_where_ours_does_not():
    """The trapezoid rule on four standard deviations loses the tails, Gauss-Hermite the narrow
    link.
    """
    q = 0.3
    s = np.linspace(-4, 4, 100_001) * np.sqrt(2) * q
    density = np.exp(-0.25 * (s / q) ** 2) / np.sqrt(4 * np.pi) / q
    truncated = 4 * q * np.trapezoid(expit(s) * expit(-s) * density, s)
    exact = exactly(lambda s: q / mp.cosh(s / 2) ** 2, q)
    assert abs(truncated / exact - 1) > 1e-5
    assert abs(closed_form_length(LOGIT, q) / exact - 1) < 1e-12
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    s = np.sqrt(2) * 1e3 * nodes
    hermite = 4e3 * weights @ (expit(s) * expit(-s)) / weights.sum()
    assert abs(hermite / exactly(lambda s: 1e3 / mp.cosh(s / 2) ** 2, 1e3) - 1) > 0.1


def test_the_ends():
    for link in (LOGIT, PROBIT, CAUCHY):
        assert flip_probability(link, np.inf) == 0
        assert flip_probability(link, 0) == pytest.approx(0.5, rel=1e-14)
        assert agreement_excess(link, np.inf) == 0.5
        assert agreement_excess(link, 0) == 0
        assert spread_for_noise(link, 0) == np.inf
        assert spread_for_noise(link, 0.5) == 0
        assert closed_form_length(link, np.inf) == 2 / np.sqrt(np.pi)
        assert closed_form_length(link, 0) == 0
        assert mean_derivative(link, 0) == link.pdf(0.0)
        assert mean_derivative(link, np.inf) == 0
        assert fisher_information(link, np.inf) == np.inf
        assert fisher_information(link, 0) == 0
        assert closed_form_length(link, 1e12) == pytest.approx(2 / np.sqrt(np.pi), rel=1e-9)


@pytest.mark.parametrize(
    "noise",
    [
        1e-40,
        1e-12,
        1e-6,
        0.01,
        0.1,
        0.2,
        0.249999,
        0.25,
        0.3,
        0.45,
        0.5 - 2**-10,
        0.5 - 2**-20,
        0.5 - 2**-40,
    ],
)
def test_the_spread_for_a_noise_is_exact_to_relative_error(noise):
    """Probit: q = cot(pi noise) / sqrt 2; near 1/2 in terms of the exact difference from 1/2."""
    exact = (
        1 / np.tan(np.pi * noise) / np.sqrt(2)
        if noise < 0.25
        else np.tan(np.pi * (0.5 - noise)) / np.sqrt(2)
    )
    assert spread_for_noise(PROBIT, noise) == pytest.approx(exact, rel=1e-12)
    q = spread_for_noise(LOGIT, noise)
    assert flip_probability(LOGIT, q) == pytest.approx(noise, rel=1e-12)
    assert agreement_excess(LOGIT, q) == pytest.approx(0.5 - noise, rel=1e-12)


@pytest.mark.parametrize("noise", [1e-6, 0.2, 0.4999])
def test_the_spread_of_a_heavy_tailed_link(noise):
    assert flip_probability(CAUCHY, spread_for_noise(CAUCHY, noise)) == pytest.approx(
        noise, rel=1e-12
    )


@pytest.mark.parametrize("noise", [-0.1, 0.51, np.nan, 1e-50])
def test_an_impossible_noise_is_refused(noise):
    with pytest.raises(PairscoreError, match="noise is"):
        spread_for_noise(LOGIT, noise)


@pytest.mark.parametrize("q", [-1.0, np.nan, 1e60])
def test_an_impossible_spread_is_refused(q):
    for function in (
        flip_probability,
        agreement_excess,
        mean_derivative,
        closed_form_length,
        kappa,
        eta,
        fisher_information,
    ):
        with pytest.raises(PairscoreError, match="the spread q is"):
            function(LOGIT, q)


def test_a_link_that_never_gets_there_is_named():
    """Tails so heavy that a tenth of the labels is flipped at any slope: f rises to 0.9 only."""
    stunted = Link(lambda x: 0.1 + 0.8 * expit(x), lambda x: 0.8 * expit(x) * expit(-x))
    with pytest.raises(PairscoreError, match="no slope of this link"):
        spread_for_noise(stunted, 0.05)


@pytest.mark.parametrize("q", [1e-4, 0.01, 1.0, 10.0, 1e6])
def test_the_win_excess_of_probit_is_a_probit(q):
    z = np.array([[0.0, -0.3, 1.0], [3.0, -8.0, 20.0]])
    found = win_excess(PROBIT, q, z)
    assert found.shape == z.shape
    np.testing.assert_allclose(
        found, 2 * PROBIT.cdf(q * z / np.sqrt(1 + q * q)) - 1, rtol=1e-10, atol=1e-15
    )


@pytest.mark.parametrize("q", [0.1, 1.64, 30.0])
def test_the_win_excess_of_logit_is_its_average_over_opponents(q):
    for z in (-1.7, 0.4, 5.0):
        with mp.workdps(25):
            edges = [
                -12,
                *sorted({-3.0, 0.0, 3.0, z - 10 / q, z - 1 / q, z, z + 1 / q, z + 10 / q}),
                12 + 10 / q,
            ]
            exact = mp.quad(lambda other: mp.tanh(q * (z - other) / 2) * mp.npdf(other), edges)
        assert float(win_excess(LOGIT, q, z)) == pytest.approx(float(exact), rel=1e-10)


def test_the_win_excess_without_noise_is_the_share_below():
    z = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(win_excess(LOGIT, np.inf, z), 2 * PROBIT.cdf(z) - 1, atol=1e-15)
    np.testing.assert_allclose(win_excess(LOGIT, 1e9, z), 2 * PROBIT.cdf(z) - 1, atol=1e-9)
    assert np.all(win_excess(LOGIT, 0.0, z) == 0)


@pytest.mark.parametrize("link", [LOGIT, PROBIT, CAUCHY])
@pytest.mark.parametrize("q", [0.01, 0.8, 1.64, 50.0, np.inf])
def test_kappa_is_the_covariance_of_place_and_win_excess(link, q):
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    weights = weights / weights.sum()
    h = win_excess(link, q, nodes)
    assert kappa(link, q) == pytest.approx(weights @ (nodes * h), rel=1e-9)
    assert eta(link, q) == pytest.approx(weights @ h**2, rel=1e-9)
    assert kappa(link, q) ** 2 <= eta(link, q) * (1 + 1e-12)


def test_eta_of_probit_and_without_noise():
    """E[(2 Phi(a z) - 1)^2] = (2/pi) arcsin(a^2 / (1 + a^2)), a = q / sqrt(1 + q^2)."""
    for q in (1e-3, 0.7, 9.0, 1e5):
        share = q * q / (1 + 2 * q * q)
        assert eta(PROBIT, q) == pytest.approx(2 / np.pi * np.arcsin(share), rel=1e-10)
    assert eta(LOGIT, np.inf) == pytest.approx(1 / 3, rel=1e-12)


def test_fisher_information_of_probit():
    """Against quadrature of phi^2 / (Phi (1 - Phi))."""
    for q in (0.01, 1.0, 40.0):
        exact = exactly(
            lambda s: 2 * mp.mpf(q) ** 2 * mp.npdf(s) ** 2 / (mp.ncdf(s) * mp.ncdf(-s)), q
        )
        assert fisher_information(PROBIT, q) == pytest.approx(exact, rel=1e-10)


def test_the_constants_of_the_error_at_the_papers_noises():
    """Figures that the error formulas were first checked with, by simulation."""
    expected = {
        0.0: (0.5642, 0.3333, 0.0150, np.inf),
        0.1: (0.5346, 0.2965, 0.0107, 2.003),
        0.2: (0.4523, 0.2086, 0.0040, 0.7419),
        0.3: (0.3286, 0.1086, 0.0006, 0.2774),
        0.4: (0.1737, 0.0302, 0.0000, 0.0642),
    }
    for noise, (k, e, rest, information) in expected.items():
        q = spread_for_noise(LOGIT, noise)
        found = kappa(LOGIT, q), eta(LOGIT, q), eta(LOGIT, q) - kappa(LOGIT, q) ** 2
        np.testing.assert_allclose(found, (k, e, rest), atol=5.1e-5)
        assert fisher_information(LOGIT, q) == pytest.approx(information, rel=8e-4)


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


def test_the_bias_of_the_length_under_logit_has_its_own_integral():
    link, q = LOGIT, 1.7
    s = np.linspace(-60, 60, 400_001)
    weight = np.exp(-(s**2) / (4 * q * q))
    f = link.cdf(s)
    w = f * (1 - f)
    assert length_bias(link, q) == pytest.approx(
        q * q * np.sum(weight * s * w * (f - 0.5)) / np.sum(weight * s * s * w), rel=1e-3
    )


@pytest.mark.parametrize("link", [LOGIT, PROBIT])
@pytest.mark.parametrize("angle", [0.0, 0.1, 0.7, 1.3])
def test_the_share_that_a_turned_score_predicts_is_that_of_drawn_pairs(link, angle):
    """Of a million drawn pairs, up to five standard errors."""
    rng, q, n = np.random.default_rng(0), 1.3, 1_000_000
    best, other = rng.normal(0, np.sqrt(2), (2, n))
    won = rng.random(n) < link.cdf(q * best)
    share = np.mean((np.cos(angle) * best + np.sin(angle) * other > 0) == won)
    assert correct_share(link, q, angle) == pytest.approx(share, abs=5 * 0.5 / np.sqrt(n))


def test_the_share_of_the_best_score_and_of_labels_without_noise_have_closed_forms():
    for q in (0.0, 0.3, 2.0, np.inf):
        assert correct_share(LOGIT, q, 0.0) == pytest.approx(1 - flip_probability(LOGIT, q))
    for angle in (0.2, 1.0, np.pi / 2):
        assert correct_share(LOGIT, np.inf, angle) == pytest.approx(1 - angle / np.pi)


@pytest.mark.parametrize("q", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("angle", [0.0, 0.4, 1.2])
def test_the_best_share_undoes_the_turn(q, angle):
    correct = correct_share(LOGIT, q, angle)
    assert best_share(LOGIT, correct, angle) == pytest.approx(1 - flip_probability(LOGIT, q))


def test_nothing_follows_from_a_share_of_coins_or_from_a_right_angle():
    assert np.isnan(best_share(LOGIT, 0.49, 0.1))
    assert np.isnan(best_share(LOGIT, 0.7, np.pi / 2))
    assert np.isnan(best_share(LOGIT, np.nan, 0.1))
    assert best_share(LOGIT, 0.95, 1.0) == 1.0  # more than such a score ever predicts
