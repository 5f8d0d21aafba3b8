"""The scale on the link against roots of the likelihood; the scale of decided comparisons against a
general optimiser; the variance of half wins.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit
from scipy.stats import norm

from pairscore.core.decided_scale import PRIOR_SD, decided_scale
from pairscore.core.differences import Differences, DifferenceSums
from pairscore.core.links import get_link
from pairscore.core.normal_average import averaged_probabilities, grid_for
from pairscore.core.scale import ScaleLoss, ScaleRidge, fit_scale
from pairscore.core.ties import OutcomeLaw, share_of_coin
from tests.core.test_ties import LAWS
from tests.limits import CHANCE
from tests.tie_cells import draw_outcomes


def comparisons(seed, number=400, law="at random", spread=1.5):
    rng = np.random.default_rng(seed)
    eta = spread * rng.normal(size=number)
    return eta, draw_outcomes(rng, eta, law), rng.integers(1, 4, number).astype(float)


def minus_log_likelihood(rows, link, params, ridge):
    """Of (factor, side effect), with their ridge: comparison by comparison."""
    eta = params[0] * rows.x + params[1]
    win = 0.5 + 0.5 * rows.outcome
    terms = win * link.log_cdf(eta) + (1 - win) * link.log_cdf(-eta)
    return -float(rows.amount @ terms) + 0.5 * float(np.array(ridge) @ np.square(params))


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("name", ["logit", "probit"])
def test_derivatives_of_a_scale_are_those_of_the_likelihood(name, side):
    """The gradient by differences, and the information under the link's own law by a loop."""
    link, rows = get_link(name), Differences(*comparisons(5))
    ridge, at = ScaleRidge(0.7, 2.0), np.array([0.7, -0.2 * side])
    here = ScaleLoss(rows, link, ridge, side).derivatives(at)
    step = 1e-6 * np.eye(2)
    numerical = [
        (
            minus_log_likelihood(rows, link, at + one, ridge)
            - minus_log_likelihood(rows, link, at - one, ridge)
        )
        / 2e-6
        for one in step
    ]
    expected = np.zeros((2, 2))
    for x, a in zip(rows.x, rows.amount, strict=True):
        eta = at[0] * x + at[1]
        f, slope = float(link.cdf(eta)), float(link.pdf(eta))
        expected += a * slope**2 / (f * (1 - f)) * np.outer([x, 1], [x, 1])
    expected += np.diag(ridge)
    if side:
        np.testing.assert_allclose(here.gradient, numerical, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(here.information, expected, rtol=1e-9)
    else:  # the side effect stays at zero
        np.testing.assert_allclose(here.gradient, [numerical[0], 0.0], rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(here.information, np.diag(np.diag(expected)), rtol=1e-9)


@given(st.integers(0, 10**6), st.floats(-3.0, 3.0), st.floats(0.0, 30.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_scale_is_found_from_afar_as_by_a_bracket(seed, log_off, ridge, is_distribution):
    """To nine digits of the root of the slope, from a start that is off by up to a thousandfold.

    Of comparisons of any spread, with ties and heavy tails, or of their distribution.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_t(3, 300) * 10 ** rng.uniform(-3, 3)
    outcome = np.where(rng.random(300) < expit(2 * x / np.std(x)), 1, -1)
    outcome[rng.random(300) < 0.2] = 0
    amount, link = 10 ** rng.uniform(-3, 3, 300), get_link("logit")
    ridge *= float(amount @ x**2) / amount.sum()

    def slope(scale):
        return float(amount * (0.5 + 0.5 * outcome - expit(scale * x)) @ x) - ridge * scale

    if slope(0.0) <= 0:  # no positive scale is best
        return
    high = 1 / np.std(x)
    while slope(high) > 0:
        high *= 2
        if high > 1e6 / np.std(x):  # separated
            return
    best = brentq(slope, 0.0, high, xtol=1e-16 * high, rtol=1e-15)
    rows = Differences(x, outcome, amount)
    if is_distribution:
        largest = float(np.abs(x).max())
        rows = DifferenceSums.of_comparisons(x, outcome, amount, largest).points()
    found = fit_scale(rows, link, best * 10**log_off, False, ScaleRidge(ridge, 0.0), 200)
    assert found.converged
    assert found.factor == pytest.approx(best, rel=1e-9)
    assert found.side_effect == 0.0


@pytest.mark.parametrize("name", ["logit", "probit"])
@pytest.mark.parametrize("seed", range(5))
def test_a_scale_with_a_side_effect_is_that_of_a_general_optimiser(seed, name):
    link, ridge = get_link(name), ScaleRidge(1.5, 3.0)
    rng = np.random.default_rng(seed)
    x = 10.0 ** rng.uniform(-2, 2) * rng.normal(size=300)
    outcome = np.where(rng.random(300) < link.cdf(x / np.std(x) + 0.4), 1, -1)
    outcome[rng.random(300) < 0.2] = 0
    rows = Differences(x, outcome, rng.uniform(0.1, 3, 300))
    unit = np.array([1 / np.std(x), 1.0])
    best = minimize(
        lambda params: minus_log_likelihood(rows, link, unit * params, ridge),
        np.array([1.0, 0.0]),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000},
    )
    found = fit_scale(rows, link, 1 / np.std(x), True, ridge)
    assert np.array([found.factor, found.side_effect]) / unit == pytest.approx(best.x, abs=1e-6)


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
def test_the_scale_is_where_exact_tails_have_it(seed, unknown, monkeypatch):
    """Score differences of any size, with heavy tails; also where all agree with the score."""
    rng = np.random.default_rng(seed)
    eta = 10 ** rng.uniform(-2, 2) * rng.standard_t(2, size=500)
    chance = expit(10 ** rng.uniform(-1, 1) * eta / np.median(np.abs(eta)))
    outcome = np.where(rng.random(500) < chance, 1, -1) if seed % 4 else np.sign(eta).astype(int)
    outcome[rng.random(500) < 0.3] = 0
    sd = unknown * np.median(np.abs(eta)) * rng.uniform(0.1, 2, 500)
    columns = LAWS[0], eta, sd, outcome, rng.uniform(0.1, 3, 500)
    found = decided_scale(*columns)
    monkeypatch.setattr("pairscore.core.decided_scale.AlongScore.likeliest", bracketed)
    assert found == pytest.approx(decided_scale(*columns), rel=1e-6)


def bracketed(along, pull, near):
    """The root of the derivative in log scale; both tails exact."""
    share = 0.5 + 0.5 * along.outcome
    sd = np.zeros_like(along.eta) if along.sd is None else along.sd

    def slope(log_scale):
        scale = np.exp(log_scale)
        z, weight = grid_for(max(scale, 1.0) * np.max(sd))
        x = scale * (along.eta + z[:, None] * sd)
        rise = weight @ (x * expit(x) * expit(-x))
        win, lose = (np.maximum(weight @ expit(side * x), np.finfo(float).tiny) for side in (1, -1))
        slopes = share * rise / win - (1 - share) * rise / lose
        return along.amount @ slopes - along.precision * scale**2

    return brentq(slope, -10.0, 10.0, xtol=1e-12)


def test_a_large_sample_finds_the_scale_of_a_thinned_score():
    """Ties at random make half wins of f(eta) into T/2 + (1 - T) f(eta); decided ones keep f."""
    eta, outcome, _ = comparisons(3, number=60_000)
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
