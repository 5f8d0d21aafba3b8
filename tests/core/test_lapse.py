"""Slips: links and rules for ties with them, against mixtures, differences and quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from pairscore.core.links import Lapse, Link, Logit, Probit, get_link, link_name, with_lapse
from pairscore.core.normal_average import average_expansion, averaged_derivatives
from pairscore.core.ties import OutcomeLaw, TieRule

SLIPS = 0.07
ETA = np.array([-9.0, -1.3, 0.0, 0.4, 6.0])
RULES = [("davidson", Logit()), ("rao-kupper", Logit()), ("rao-kupper", Probit())]


@pytest.mark.parametrize("plain", [Logit(), Probit()])
def test_a_link_with_slips_is_a_mixture_of_an_answer_and_its_opposite(plain):
    link = Lapse(plain, SLIPS)
    x = np.linspace(-40, 40, 81)
    mixture = (1 - SLIPS) * plain.cdf(x) + SLIPS * plain.cdf(-x)
    np.testing.assert_allclose(link.cdf(x), mixture, rtol=1e-13)
    np.testing.assert_allclose(link.cdf(x) + link.cdf(-x), 1, rtol=1e-14)
    assert np.abs(plain.cdf(x) - mixture).max() > 0.06  # a link without slips is another
    for part in (link.log_cdf(x), link.ratio(x), link.curvature(x), *link.expansion(x)):
        assert np.isfinite(part).all()


def test_an_answer_against_a_large_difference_counts_next_to_nothing():
    x = -np.array([5.0, 10.0, 30.0])
    assert np.all(np.abs(x * Logit().ratio(x)) > 4.9)  # without slips, the larger the more
    pulls = np.abs(x * Lapse(Logit(), 0.05).ratio(x))
    assert np.all(np.diff(pulls) < 0)
    assert pulls[-1] < 1e-10
    grid = np.linspace(-60, 0, 60_001)
    for slips, most in ((0.01, 2.54), (0.02, 2.01), (0.05, 1.34), (0.1, 0.88)):
        # what docs/explanation/methods.md says of the pull along a score
        assert np.abs(grid * Lapse(Logit(), slips).ratio(grid)).max() == pytest.approx(
            most, abs=0.005
        )


def test_slips_are_taken_on_and_off():
    link = with_lapse(Logit(), 0.1)
    assert link.plain == Logit()
    assert with_lapse(link, 0.0) == Logit()
    assert with_lapse(link, 0.2) == Lapse(Logit(), 0.2)
    assert link != Lapse(Logit(), 0.2)
    assert link != Lapse(Probit(), 0.1)
    assert link_name(link) == "logit"
    assert link.name == "logit"


@pytest.mark.parametrize("plain", [Logit(), Probit(), Link(expit, lambda x: expit(x) * expit(-x))])
def test_the_inverse_leads_back_to_the_difference(plain):
    x = np.linspace(-7, 7, 29)
    np.testing.assert_allclose(plain.inverse(plain.log_cdf(x) - plain.log_cdf(-x)), x, atol=1e-7)


@pytest.mark.parametrize(("name", "link"), RULES)
def test_a_slip_swaps_win_and_loss_and_leaves_ties(name, link):
    loss, tie, win = TieRule(name, link).probabilities(ETA, 0.7)
    found = TieRule(name, Lapse(link, SLIPS)).probabilities(ETA, 0.7)
    expected = (
        (1 - SLIPS) * loss + SLIPS * win,
        tie,
        (1 - SLIPS) * win + SLIPS * loss,
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    chance = TieRule(name, Lapse(link, SLIPS)).decided(ETA, 0.7)[0]
    np.testing.assert_allclose(chance, expected[2] / (1 - tie), rtol=1e-10)


@pytest.mark.parametrize(("name", "link"), RULES)
def test_derivatives_with_slips_are_those_of_the_value(name, link):
    rule, t, step = TieRule(name, Lapse(link, SLIPS)), 0.7, 1e-5
    eta, outcome = np.repeat(ETA, 3), np.tile([-1.0, 0.0, 1.0], len(ETA))
    found = rule.observed(eta, outcome, t)

    def central(part, in_eta, in_t):
        up, down = (
            getattr(rule.observed(eta + s * step * in_eta, outcome, t + s * step * in_t), part)
            for s in (1, -1)
        )
        return (up - down) / (2 * step)

    chances = np.array(rule.probabilities(eta, t))
    at = np.arange(len(eta))
    np.testing.assert_allclose(
        np.exp(found.value), chances[outcome.astype(int) + 1, at], rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(found.eta, central("value", 1, 0), atol=1e-7)
    np.testing.assert_allclose(found.t, central("value", 0, 1), atol=1e-7)
    np.testing.assert_allclose(found.eta_eta, -central("eta", 1, 0), atol=1e-6)
    np.testing.assert_allclose(found.eta_t, -central("eta", 0, 1), atol=1e-6)
    np.testing.assert_allclose(found.t_t, -central("t", 0, 1), atol=1e-6)


@pytest.mark.parametrize(("name", "link"), RULES)
def test_newton_takes_the_expected_information_which_is_positive_definite(name, link):
    rule = TieRule(name, Lapse(link, SLIPS))
    expected = np.zeros((2, 2, len(ETA)))
    for outcome, chance in zip((-1.0, 0.0, 1.0), rule.probabilities(ETA, 0.7), strict=True):
        s = rule.observed(ETA, np.full(len(ETA), outcome), 0.7)
        expected += chance * np.array([[s.eta * s.eta, s.eta * s.t], [s.eta * s.t, s.t * s.t]])
    found = rule.derivatives(ETA, np.ones(len(ETA)), 0.7)
    np.testing.assert_allclose(found.eta_eta, expected[0, 0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.eta_t, expected[0, 1], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.t_t, expected[1, 1], rtol=1e-6, atol=1e-12)
    observed = rule.observed(np.linspace(-9, -1, 17), np.ones(17), 0.7)
    assert observed.eta_eta.min() < 0  # which the observed one is not


@pytest.mark.parametrize("rule", [TieRule("half", Logit()), *(TieRule(*one) for one in RULES)])
def test_means_and_slopes_of_outcomes_are_those_of_their_chances(rule):
    law = OutcomeLaw(TieRule(rule.name, Lapse(rule.link, SLIPS)), 0.6)
    loss, tie, win = law.rule.probabilities(ETA, law.t)
    np.testing.assert_allclose(law.mean(ETA), win + 0.5 * tie, atol=1e-14)
    np.testing.assert_allclose(law.from_half(ETA), (win + loss) / 4, atol=1e-14)
    np.testing.assert_allclose(
        law.rise(ETA), (law.mean(ETA + 1e-5) - law.mean(ETA - 1e-5)) / 2e-5, atol=1e-9
    )


@pytest.mark.parametrize("plain", [Logit(), Probit()])
def test_averages_over_unknown_effects_are_those_of_quadrature(plain):
    link, sd = Lapse(plain, SLIPS), np.array([0.0, 0.2, 0.7, 3.0, 12.0])
    found = average_expansion(link, ETA, sd)[0]
    for value, eta, one in zip(found, ETA, sd, strict=True):
        exact = link.cdf(eta)
        if one > 0:
            exact = quad(lambda z, a=eta, b=one: norm.pdf(z) * link.cdf(a + b * z), -9, 9)[0]
        assert value == pytest.approx(float(exact), abs=2e-6)


@pytest.mark.parametrize(("name", "link"), RULES)
def test_averaged_derivatives_are_those_of_their_logarithm(name, link):
    law, sd = OutcomeLaw(TieRule(name, Lapse(link, SLIPS)), 0.5), np.full(len(ETA), 0.8)
    for outcome in (-1.0, 0.0, 1.0):
        given = sd, np.full(len(ETA), outcome)
        up, down = (averaged_derivatives(law, ETA + step, *given) for step in (1e-5, -1e-5))
        here = averaged_derivatives(law, ETA, *given)
        np.testing.assert_allclose(here.eta, (up.value - down.value) / 2e-5, atol=1e-7)
        np.testing.assert_allclose(here.eta_eta, -(up.eta - down.eta) / 2e-5, atol=1e-6)


def test_a_link_with_slips_is_taken_as_a_link():
    link = Lapse(Logit(), SLIPS)
    assert get_link(link) is link
    assert "0.07" in repr(link)
