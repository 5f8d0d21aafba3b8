"""Win, tie or loss: four rules for ties, and averages over item effects, against quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm

from pairscore.core.links import Logit, Probit, get_link
from pairscore.core.normal_average import (
    averaged_derivatives,
    averaged_probabilities,
    normal_grid,
)
from pairscore.core.ties import OutcomeLaw, TieRule

LAWS = [
    OutcomeLaw(TieRule("half", Logit())),
    OutcomeLaw(TieRule("half", Probit())),
    OutcomeLaw(TieRule("davidson", Logit()), 0.4),
    OutcomeLaw(TieRule("rao-kupper", Logit()), 0.6),
    OutcomeLaw(TieRule("rao-kupper", Probit()), 0.3),
]
ETA = np.array([-6.0, -1.3, 0.0, 0.4, 2.5])


@pytest.mark.parametrize("law", LAWS)
def test_mean_variance_and_rise_are_those_of_the_three_outcomes(law):
    loss, tie, win = law.rule.probabilities(ETA, law.t)
    mean = win + 0.5 * tie
    np.testing.assert_allclose(law.mean(ETA), mean, atol=1e-14)
    np.testing.assert_allclose(
        law.variance(ETA),
        win * (1 - mean) ** 2 + tie * (0.5 - mean) ** 2 + loss * mean**2,
        atol=1e-14,
    )
    np.testing.assert_allclose(law.from_half(ETA), (win + loss) / 4, atol=1e-14)
    np.testing.assert_allclose(
        law.rise(ETA), (law.mean(ETA + 1e-5) - law.mean(ETA - 1e-5)) / 2e-5, atol=1e-9
    )
    np.testing.assert_allclose(law.mean(-ETA), 1 - law.mean(ETA), atol=1e-14)


@pytest.mark.parametrize("law", LAWS)
def test_newton_is_the_derivative_of_the_log_likelihood(law):
    outcome, number = np.array([1.0, -1.0, 1.0, 0.0, -1.0]), np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    score, information = law.newton(ETA, number * (1 + outcome) / 2, number * (1 - outcome) / 2)
    up, down = (
        number * law.rule.derivatives(ETA + step, outcome, law.t).value for step in (1e-5, -1e-5)
    )
    np.testing.assert_allclose(score, (up - down) / 2e-5, atol=1e-8)
    up, down = (
        law.newton(ETA + step, number * (1 + outcome) / 2, number * (1 - outcome) / 2)[0]
        for step in (1e-5, -1e-5)
    )
    np.testing.assert_allclose(information, -(up - down) / 2e-5, rtol=1e-4, atol=1e-8)


def averages_by_quadrature(law, eta, sd):
    """Of loss, tie and win."""
    return [
        quad(
            lambda z, which=which: (
                float(law.rule.probabilities(np.array([eta + sd * z]), law.t)[which][0])
                * norm.pdf(z)
            ),
            -12,
            12,
            epsabs=1e-12,
            limit=200,
        )[0]
        for which in range(3)
    ]


@pytest.mark.parametrize("law", LAWS)
def test_averages_are_those_of_quadrature(law):
    sd = np.array([0.0, 0.5, 1.4, 3.0, 8.0])
    found = np.column_stack(averaged_probabilities(law, ETA, sd))
    np.testing.assert_allclose(
        found, [averages_by_quadrature(law, *one) for one in zip(ETA, sd, strict=True)], atol=1e-7
    )
    # the mean alone is not enough
    assert np.abs(found - np.column_stack(law.rule.probabilities(ETA, law.t))).max() > 0.1


@pytest.mark.parametrize("law", LAWS)
def test_slopes_of_averages_are_derivatives_of_their_logarithm(law):
    outcome, sd, small = (
        np.array([-1.0, 1.0, 0.0, 0.0, -1.0]),
        np.array([0.3, 1.0, 1.0, 2.0, 1.5]),
        1e-4,
    )

    def value(eta, t):
        loss, tie, win = averaged_probabilities(OutcomeLaw(law.rule, t), eta, sd)
        tied = np.log(tie) if law.rule.has_parameter else 0.5 * np.log(win) + 0.5 * np.log(loss)
        return np.where(outcome > 0, np.log(win), np.where(outcome < 0, np.log(loss), tied))

    with np.errstate(divide="ignore"):
        values = {
            (a, b): value(ETA + a * small, law.t + b * small)
            for a in (-1, 0, 1)
            for b in (-1, 0, 1)
        }
    found = averaged_derivatives(law, ETA, sd, outcome)
    np.testing.assert_allclose(found.value, values[0, 0], atol=1e-9)
    np.testing.assert_allclose(found.eta, (values[1, 0] - values[-1, 0]) / (2 * small), atol=1e-6)
    np.testing.assert_allclose(
        found.eta_eta, -(values[1, 0] - 2 * values[0, 0] + values[-1, 0]) / small**2, atol=1e-5
    )
    if law.rule.has_parameter:
        np.testing.assert_allclose(found.t, (values[0, 1] - values[0, -1]) / (2 * small), atol=1e-6)
        np.testing.assert_allclose(
            found.t_t, -(values[0, 1] - 2 * values[0, 0] + values[0, -1]) / small**2, atol=1e-5
        )
        across = (values[1, 1] - values[1, -1] - values[-1, 1] + values[-1, -1]) / (4 * small**2)
        np.testing.assert_allclose(found.eta_t, -across, atol=1e-5)


def test_the_grid_is_fine_enough_for_wide_effects():
    for sd in (0.1, 1.0, 10.0):
        z, weight = normal_grid(sd)
        assert weight.sum() == pytest.approx(1)
        exact = quad(
            lambda x, sd=sd: expit(1 + sd * x) * norm.pdf(x), -12, 12, epsabs=1e-12, limit=500
        )[0]
        assert weight @ expit(1 + sd * z) == pytest.approx(exact, abs=1e-7)
    coarse = np.linspace(-6, 6, 9)
    crude = np.exp(-0.5 * coarse**2)
    assert abs(crude @ expit(1 + 10 * coarse) / crude.sum() - exact) > 1e-3


RULES = [
    ("half", "logit"),
    ("half", "probit"),
    ("davidson", "logit"),
    ("rao-kupper", "logit"),
    ("rao-kupper", "probit"),
]
EACH_OUTCOME = np.tile([-1, 0, 1], 5)
EACH_ETA = np.repeat([-6.0, -1.3, 0.0, 0.4, 7.0], 3)


@pytest.mark.parametrize(("name", "link"), RULES)
def test_derivatives_are_those_of_the_value(name, link):
    rule, t, step = TieRule(name, get_link(link)), 0.7, 1e-5
    found = rule.derivatives(EACH_ETA, EACH_OUTCOME, t)

    def central(part, in_eta, in_t):
        up, down = (
            getattr(
                rule.derivatives(
                    EACH_ETA + sign * step * in_eta, EACH_OUTCOME, t + sign * step * in_t
                ),
                part,
            )
            for sign in (1, -1)
        )
        return (up - down) / (2 * step)

    np.testing.assert_allclose(found.eta, central("value", 1, 0), atol=1e-7)
    np.testing.assert_allclose(found.t, central("value", 0, 1), atol=1e-7)
    np.testing.assert_allclose(found.eta_eta, -central("eta", 1, 0), atol=1e-6)
    np.testing.assert_allclose(found.eta_t, -central("eta", 0, 1), atol=1e-6)
    np.testing.assert_allclose(found.t_t, -central("t", 0, 1), atol=1e-6)


@pytest.mark.parametrize(("name", "link"), RULES[2:])
def test_probabilities_are_those_of_the_likelihood(name, link):
    rule = TieRule(name, get_link(link))
    for outcome, probability in zip((-1, 0, 1), rule.probabilities(EACH_ETA, 0.7), strict=True):
        np.testing.assert_allclose(
            probability,
            np.exp(rule.derivatives(EACH_ETA, np.full(len(EACH_ETA), outcome), 0.7).value),
            rtol=1e-6,
        )
    np.testing.assert_allclose(sum(rule.probabilities(EACH_ETA, 0.7)), 1, rtol=1e-12)


def test_rules_as_they_are_written():
    loss, tie, win = TieRule("davidson", get_link("logit")).probabilities(
        np.array([0.8]), np.log(0.5)
    )
    np.testing.assert_allclose(tie, 0.5 * np.sqrt(win * loss))  # Davidson (1970)
    np.testing.assert_allclose(win / loss, np.exp(0.8))
    loss, tie, win = TieRule("rao-kupper", get_link("logit")).probabilities(
        np.array([0.8]), np.log(1.7)
    )
    one, other = np.exp(0.8), 1.0
    # Rao and Kupper (1967), with theta = exp(t)
    np.testing.assert_allclose(win, one / (one + 1.7 * other))
    np.testing.assert_allclose(
        tie, (1.7**2 - 1) * one * other / ((one + 1.7 * other) * (1.7 * one + other))
    )


@settings(deadline=None)
@given(st.floats(-300, 300), st.floats(1e-3, 5), st.sampled_from(RULES))
def test_nothing_overflows(eta, t, rule):
    found = TieRule(rule[0], get_link(rule[1])).derivatives(
        np.full(3, eta), np.array([-1, 0, 1]), t
    )
    for name, part in vars(found).items():
        # a tie there has probability zero
        if not (rule == ("rao-kupper", "probit") and abs(eta) > 30):
            assert np.isfinite(part).all(), name


@pytest.mark.parametrize(("name", "link"), RULES[2:])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.8])
def test_the_start_ties_equal_items_as_often_as_all(name, link, share):
    rule = TieRule(name, get_link(link))
    assert rule.probabilities(np.zeros(1), rule.start(share))[1][0] == pytest.approx(
        share, rel=1e-6
    )


def test_a_probability_is_averaged_over_what_is_unknown():
    d, variance = np.array([-3.0, 0.0, 0.4, 2.0]), np.array([0.0, 1.0, 3.0, 20.0])
    np.testing.assert_allclose(
        averaged_probabilities(LAWS[1], d, np.sqrt(variance))[2],
        ndtr(d / np.sqrt(1 + variance)),
        atol=1e-9,
    )
    direct = [
        expit(one + np.sqrt(v) * np.linspace(-9, 9, 20001))
        @ norm.pdf(np.linspace(-9, 9, 20001))
        * 9e-4
        for one, v in zip(d, variance, strict=True)
    ]
    np.testing.assert_allclose(
        averaged_probabilities(LAWS[0], d, np.sqrt(variance))[2], direct, atol=1e-6
    )
    assert abs(expit(2.0 / np.sqrt(1 + 0.346 * 20)) - direct[3]) > 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_a_scale_changes_decided_comparisons_and_no_ties(law):
    plain, scaled = law.probabilities(ETA), OutcomeLaw(law.rule, law.t, 1.7).probabilities(ETA)
    np.testing.assert_allclose(sum(scaled), 1, atol=1e-14)
    np.testing.assert_allclose(scaled[1], plain[1], atol=1e-14)
    chance, rise = law.rule.decided(ETA, law.t)
    loss, _, win = law.rule.probabilities(ETA, law.t)
    np.testing.assert_allclose(chance, win / (win + loss), rtol=1e-12)
    up, down = (law.rule.decided(ETA + step, law.t)[0] for step in (1e-5, -1e-5))
    np.testing.assert_allclose(rise, (up - down) / 2e-5, atol=1e-9)
    np.testing.assert_allclose(
        scaled[2] / (scaled[0] + scaled[2]), law.rule.decided(1.7 * ETA, law.t)[0], rtol=1e-12
    )


def test_ties_that_are_left_out_leave_the_link():
    dropped, half = TieRule("drop", Probit()), TieRule("half", Probit())
    assert not dropped.has_parameter
    for one, other in zip(dropped.probabilities(ETA, 0), half.probabilities(ETA, 0), strict=True):
        np.testing.assert_array_equal(one, other)
