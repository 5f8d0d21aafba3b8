"""Passes at a scale against derivatives by definition; the scale of decided comparisons against a
general optimiser; the variance of half wins.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from scipy.stats import norm

from pairscore.core import links, passes
from pairscore.core.links import get_link
from pairscore.core.normal_average import averaged_probabilities, grid_for
from pairscore.core.scale import (
    NEAR,
    PRIOR_SD,
    SAMPLE,
    best_scale,
    decided_scale,
    expected_wrong,
    scale_pass,
    share_of_coin,
)
from pairscore.core.ties import OutcomeLaw
from tests.core.test_ties import LAWS
from tests.limits import CHANCE
from tests.tie_cells import draw_outcomes


def comparisons(seed, number=400, law="at random", spread=1.5):
    rng = np.random.default_rng(seed)
    eta = spread * rng.normal(size=number)
    return eta, draw_outcomes(rng, eta, law), rng.integers(1, 4, number).astype(float)


@pytest.fixture(params=["compiled", "NumPy"])
def _kernels(request, monkeypatch):
    """Both kinds of passes, a few rows at a time."""
    monkeypatch.setattr(links, "BLOCK", 128)
    if request.param == "NumPy":
        monkeypatch.setattr(passes, "kernels", None)


@pytest.mark.usefixtures("_kernels")
@pytest.mark.parametrize("name", ["logit", "probit"])
def test_a_pass_sums_what_the_likelihood_has(name):
    link, (x, outcome, amount) = get_link(name), comparisons(5)
    x[:3] = -40.0, 0.0, 700.0
    left, right = np.random.default_rng(5).integers(0, 30, (2, len(x)))
    eta = 0.7 * x - 0.2
    win, decided = amount * (0.5 + 0.5 * outcome), amount * (outcome != 0)
    e, info = link.score(eta, win, amount - win)
    expected = [
        e @ x, e.sum(), info @ x**2, info @ x, info.sum(),
        decided @ link.cdf(-np.abs(eta)), decided.sum(), decided @ (eta * outcome > 0),
    ]  # fmt: skip
    for values, of_scores in ((e, True), (amount * x, False)):
        net = np.ones(30)
        added = (left, right, net, of_scores)
        found = scale_pass(x, outcome, amount, np.array([0.7, -0.2]), link, added=added)
        np.testing.assert_allclose(found, expected, rtol=1e-11)
        sums = 1 + np.bincount(left, values, 30) - np.bincount(right, values, 30)
        np.testing.assert_allclose(net, sums, atol=1e-11 * np.abs(values).sum())


@pytest.mark.usefixtures("_kernels")
def test_further_derivatives_of_a_logit_are_those_of_its_slope():
    """Against fits of a polynomial to the slope itself, at Chebyshev's nodes around the scale."""
    (x, outcome, amount), link, scale = comparisons(6), get_link("logit"), 0.8
    sums = scale_pass(x, outcome, amount, np.array([scale, 0.0]), link, series=True)
    nodes = 0.05 * np.cos((np.arange(16) + 0.5) * np.pi / 16)
    share, decided = 0.5 + 0.5 * outcome, amount * (outcome != 0)
    slopes = [amount * (share - expit((scale + at) * x)) @ x for at in nodes]
    wrong = [decided @ expit(-np.abs((scale + at) * x)) for at in nodes]
    signs, factorials = np.array([1, -1, 1, -1, 1, -1]), np.array([1, 1, 2, 6, 24, 120])
    of_slope = np.polynomial.Polynomial.fit(nodes, slopes, 9, domain=[-0.05, 0.05]).convert().coef
    np.testing.assert_allclose(
        signs[:4] * sums[[0, 2, 10, 11]], (factorials * of_slope[:6])[:4], rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(
        signs[4:] * sums[[12, 13]], (factorials * of_slope[:6])[4:], rtol=1e-3
    )
    of_wrong = np.polynomial.Polynomial.fit(nodes, wrong, 9, domain=[-0.05, 0.05]).convert().coef
    np.testing.assert_allclose([sums[5], -sums[8], sums[9] / 2], of_wrong[:3], rtol=1e-8)
    np.testing.assert_allclose([-sums[14] / 6, sums[15] / 24], of_wrong[3:5], rtol=1e-3)


@pytest.mark.usefixtures("_kernels")
@given(st.integers(0, 10**6), st.floats(-0.9, 0.9), st.floats(0.0, 30.0))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_one_pass_finds_a_scale_that_is_near(seed, off, ridge):
    """To ten digits of the root that a bracket finds, and a step of Newton's is far from it."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(3, 300) * 10 ** rng.uniform(-1, 1)
    outcome = np.where(rng.random(300) < expit(2 * x / np.std(x)), 1, -1)
    outcome[rng.random(300) < 0.2] = 0
    amount, link = rng.uniform(0.1, 3, 300), get_link("logit")

    def slope(scale):
        return float(amount * (0.5 + 0.5 * outcome - expit(scale * x)) @ x) - ridge * scale

    best = brentq(slope, 0.0, 1e4, xtol=1e-15, rtol=1e-15)
    start = best / (1 + NEAR * off)
    sums = scale_pass(x, outcome, amount, np.array([start, 0.0]), link, series=True)
    found = best_scale(sums, start, ridge)
    assert found == pytest.approx(best, rel=1e-10)
    wrong = amount * (outcome != 0) @ expit(-np.abs(best * x))
    assert expected_wrong(sums, best - start) == pytest.approx(wrong, rel=1e-8)
    far = best / (1 + 3 * NEAR)
    sums = scale_pass(x, outcome, amount, np.array([far, 0.0]), link, series=True)
    assert best_scale(sums, far, ridge) is None
    newton = far + slope(far) / (float(sums[2]) + ridge)
    assert newton != pytest.approx(best, rel=1e-9)


def naive_scale(law, eta, sd, outcome, amount):
    """Two likelihoods with the prior, each maximised by a general optimiser."""
    square = np.average(eta**2 + sd**2, weights=amount)

    def best(loss):
        def with_prior(log_scale):
            scale = np.exp(log_scale)
            return loss(scale) + 0.5 * square / 2 / PRIOR_SD**2 * scale**2

        found = minimize_scalar(
            with_prior, bounds=(-2, 2), method="bounded", options={"xatol": 1e-9}
        )
        return found.x

    decided = outcome != 0

    def of_decided(scale):
        long = OutcomeLaw(law.rule, law.t, scale)
        loss, _, win = averaged_probabilities(long, eta, sd)
        chance = np.where(outcome > 0, win, loss) / (win + loss)
        return -float((amount * decided) @ np.log(chance))

    def of_all(scale):
        loss, tie, win = averaged_probabilities(
            OutcomeLaw(law.rule, law.t), scale * eta, scale * sd
        )
        if law.rule.has_parameter:
            return -float(
                amount @ np.log(np.where(outcome > 0, win, np.where(outcome < 0, loss, tie)))
            )
        share = 0.5 + 0.5 * outcome
        return -float(amount @ (share * np.log(win) + (1 - share) * np.log(loss)))

    return np.exp(best(of_decided) - best(of_all))


@pytest.mark.parametrize("unknown", [0.0, 1.2])
@pytest.mark.parametrize("law", LAWS)
def test_the_scale_is_that_of_a_general_optimiser(law, unknown):
    eta, outcome, amount = comparisons(1)
    sd = np.full(len(eta), unknown)
    found = decided_scale(law, eta, sd, outcome, amount)
    assert found == pytest.approx(naive_scale(law, eta, sd, outcome, amount), rel=1e-5)
    assert abs(found - 1) > 0.05


@pytest.mark.parametrize("law", LAWS)
def test_without_ties_nothing_is_scaled(law):
    eta, outcome, amount = comparisons(2, law="none")
    assert decided_scale(law, eta, np.zeros(len(eta)), outcome, amount) == 1.0
    tied = np.zeros(len(eta), dtype=int)
    assert decided_scale(law, eta, np.zeros(len(eta)), tied, amount) == 1.0


@pytest.mark.parametrize("unknown", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("seed", range(20))
def test_newton_finds_the_scale_that_a_bracket_finds(seed, unknown, monkeypatch):
    """Score differences of any size, with heavy tails; also where all agree with the score."""
    rng = np.random.default_rng(seed)
    eta = 10 ** rng.uniform(-2, 2) * rng.standard_t(2, size=500)
    chance = expit(10 ** rng.uniform(-1, 1) * eta / np.median(np.abs(eta)))
    outcome = np.where(rng.random(500) < chance, 1, -1) if seed % 4 else np.sign(eta).astype(int)
    outcome[rng.random(500) < 0.3] = 0
    sd = unknown * np.median(np.abs(eta)) * rng.uniform(0.1, 2, 500)
    columns = LAWS[0], eta, sd, outcome, rng.uniform(0.1, 3, 500)
    found = decided_scale(*columns)
    monkeypatch.setattr("pairscore.core.scale.AlongScore.by_newton", bracketed)
    assert found == pytest.approx(decided_scale(*columns), rel=1e-6)


def bracketed(along, scale):
    """The root of the derivative in log scale, without a second derivative; both tails exact."""
    share = 0.5 + 0.5 * along.outcome

    def slope(log_scale):
        scale = np.exp(log_scale)
        z, weight = grid_for(max(scale, 1.0) * np.max(along.sd))
        x = scale * (along.eta + z[:, None] * along.sd)
        rise = weight @ (x * expit(x) * expit(-x))
        win, lose = (np.maximum(weight @ expit(side * x), np.finfo(float).tiny) for side in (1, -1))
        pull = share * rise / win - (1 - share) * rise / lose
        return along.amount @ pull - along.precision * scale**2

    return brentq(slope, -10.0, 10.0, xtol=1e-12)


def test_a_large_sample_finds_the_scale_of_a_thinned_score():
    """Ties at random make half wins of f(eta) into T/2 + (1 - T) f(eta); decided ones keep f."""
    eta, outcome, _ = comparisons(3, number=3 * SAMPLE)
    law, one = LAWS[0], np.ones(len(eta))
    held_back = 0.4 * eta  # as by a ridge: the scale does not undo it
    scale = decided_scale(law, eta, 0 * eta, outcome, one)
    assert decided_scale(law, held_back, 0 * eta, outcome, one) == pytest.approx(scale, rel=1e-4)
    half = minimize_scalar(
        lambda b: (
            -np.mean(
                (0.5 + 0.5 * outcome) * np.log(expit(b * eta))
                + (0.5 - 0.5 * outcome) * np.log(expit(-b * eta))
            )
        ),
        bounds=(0.1, 2),
        method="bounded",
    ).x
    # decided comparisons have the slope 1, so the quotient is 1 / half
    decided = outcome != 0
    error = 1 / np.sqrt(np.sum((expit(eta) * expit(-eta) * eta**2)[decided]))
    assert abs(scale * half - 1) < norm.isf(CHANCE / 2) * error + 1e-3


@given(st.integers(0, 10**6), st.sampled_from(["davidson", "rao-kupper", "at random"]))
@settings(max_examples=30, deadline=None)
def test_half_wins_never_make_decided_comparisons_less_sure(seed, law):
    eta, outcome, amount = comparisons(seed, number=60, law=law)
    assert decided_scale(LAWS[0], eta, 0 * eta, outcome, amount) >= 1 - 1e-6


@pytest.mark.parametrize("law", LAWS)
def test_decided_comparisons_that_all_go_the_way_of_the_score_have_a_finite_scale(law):
    eta = np.linspace(-2, 2, 41)
    outcome = np.where(np.abs(eta) < 0.5, 0, np.sign(eta))
    assert 0.2 < decided_scale(law, eta, 0 * eta, outcome, np.ones(41)) < 50


def test_counts_are_the_same_as_expanded_rows():
    eta, outcome, amount = comparisons(5)
    rows = np.repeat(np.arange(len(eta)), amount.astype(int))
    for law, unknown in product(LAWS, (0.0, 0.7)):
        sd = np.full(len(eta), unknown)
        counted = decided_scale(law, eta, sd, outcome, amount)
        single = decided_scale(law, eta[rows], sd[rows], outcome[rows], np.ones(len(rows)))
        assert counted == pytest.approx(single, rel=1e-6)


def test_half_wins_have_the_share_of_a_coins_variance_that_a_loop_finds():
    eta, outcome, amount = comparisons(6)
    mean = expit(eta)
    coins = sum(a * p * (1 - p) for a, p in zip(amount, mean, strict=True))
    ties = sum(a / 4 for a, y in zip(amount, outcome, strict=True) if y == 0)
    assert share_of_coin(mean, outcome, amount) == pytest.approx((coins - ties) / coins)
    assert share_of_coin(mean, np.ones(len(eta)), amount) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_of_two_coins_has_half_the_variance_of_one(seed):
    eta, outcome, _ = comparisons(seed, number=20_000, law="two coins")
    p, one = expit(eta), np.ones(len(eta))
    # the share of ties is a mean of independent ties, each of variance T (1 - T) with T = 2 p q
    error = np.sqrt(np.sum(2 * p * (1 - p) * (1 - 2 * p * (1 - p)))) / 4 / np.sum(p * (1 - p))
    assert abs(share_of_coin(p, outcome, one) - 0.5) < norm.isf(CHANCE / 2) * error
