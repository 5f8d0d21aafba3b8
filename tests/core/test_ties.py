"""Ties as half a win, by Davidson's rule, and by Rao and Kupper's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore.core.links import get_link
from pairscore.core.outcomes import TieRule

RULES = [
    ("half", "logit"),
    ("half", "probit"),
    ("davidson", "logit"),
    ("rao-kupper", "logit"),
    ("rao-kupper", "probit"),
]
OUTCOMES = np.tile([-1, 0, 1], 5)
ETA = np.repeat([-6.0, -1.3, 0.0, 0.4, 7.0], 3)


@pytest.mark.parametrize(("name", "link"), RULES)
def test_derivatives_are_those_of_the_value(name, link):
    rule, t, step = TieRule(name, get_link(link)), 0.7, 1e-5
    found = rule.derivatives(ETA, OUTCOMES, t)

    def central(part, in_eta, in_t):
        up, down = (
            getattr(
                rule.derivatives(ETA + sign * step * in_eta, OUTCOMES, t + sign * step * in_t), part
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
    for outcome, probability in zip((-1, 0, 1), rule.probabilities(ETA, 0.7), strict=True):
        np.testing.assert_allclose(
            probability,
            np.exp(rule.derivatives(ETA, np.full(len(ETA), outcome), 0.7).value),
            rtol=1e-6,
        )
    np.testing.assert_allclose(sum(rule.probabilities(ETA, 0.7)), 1, rtol=1e-12)


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
