"""Scores do not grow longer because judges' slopes are fitted with them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import t as student

from pairscore import RankRegression
from pairscore.effects.comparison_fit import (
    fit_without_bias,
)
from pairscore.effects.single_comparisons import climb
from pairscore.effects.slope_bias import laplace_gradient, laplace_term, without_slope_bias
from tests.effects.simulators import BETA, fitted_comparisons, judged_votes


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_gradient_of_the_laplace_term(ties):
    X, votes = judged_votes(np.random.default_rng(24), n=30, m=400, tie=0.4)
    votes["judge"][:3] = "passing by"  # without a slope
    _, contest, params, look = fitted_comparisons(
        X, votes, context=["rest"], ties=ties, judge_slopes=True, side_effect=True
    )
    n_rest, n_slopes = len(look.gradient), len(params.slopes)

    def term(number, length):
        step = np.eye(n_rest + n_slopes)[number]
        return laplace_term(contest.look(params.moved(step[:n_rest], step[n_rest:], length)))

    expected = [
        (term(number, 1e-5) - term(number, -1e-5)) / 2e-5 for number in range(n_rest + n_slopes)
    ]
    np.testing.assert_allclose(
        np.concatenate(laplace_gradient(contest, params, look)), expected, rtol=1e-5, atol=1e-6
    )
    _, vectors = np.linalg.eigh(np.full((n_slopes, n_slopes), 1.0))
    kept = vectors[:, :-1]  # slopes that keep their average
    log_det = np.linalg.slogdet(kept.T @ np.diag(look.slope_information) @ kept)[1]
    assert laplace_term(look) == pytest.approx(0.5 * (log_det + np.log(n_slopes)))


def integrated_loss(contest, flat, spread, reach=3.0, size=161):
    """Minus the log of the likelihood summed over the slopes of three judges, whose gaps to 1 add
    to nothing, on a grid.
    """
    gap = np.linspace(-reach, reach, size)
    D, d = contest.X[contest.left] - contest.X[contest.right], contest.X.shape[1]
    delta = D @ flat[:d]
    values = np.empty((3, size))
    for judge in range(3):
        rows = contest.judge == judge
        eta = (1 + gap)[:, None] * delta[rows]
        found = contest.rule.derivatives(
            eta.ravel(), np.tile(contest.outcome[rows], size), flat[d]
        ).value
        values[judge] = found.reshape(size, -1).sum(axis=1) - 0.5 * (gap / spread) ** 2
    # the place on the grid of what is left for it
    third = size // 2 * 3 - np.add.outer(np.arange(size), np.arange(size))
    inside = (third >= 0) & (third < size)
    total = np.add.outer(values[0], values[1]) + np.where(
        inside, values[2][np.clip(third, 0, size - 1)], -np.inf
    )
    return -(total.max() + np.log(np.exp(total - total.max()).sum()))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_the_estimate_is_nearly_that_of_the_integral_over_slopes(ties):
    X, votes = judged_votes(
        np.random.default_rng(25),
        n=30,
        m=240,
        context=0.0,
        side=0.0,
        tie=0.4,
        slopes=np.array([0.6, 1.0, 1.4]),
        rule=ties,
    )
    _, contest, params, _ = fitted_comparisons(X, votes, ties=ties, judge_slopes=True)
    contest = replace(contest, slope_spread=0.5)
    _, params, look, basis, _, _ = climb(contest, params, 100, 1e-12)
    corrected, _ = without_slope_bias(contest, params, look, basis)
    joint = contest.flat(params)
    best = minimize(
        lambda flat: integrated_loss(contest, flat, 0.5),
        joint,
        method="BFGS",
        options={"gtol": 1e-4},
    ).x
    away, rival = (
        np.sqrt((flat - best) @ look.apart @ (flat - best))
        for flat in (contest.flat(corrected), joint)
    )
    assert away < 0.5 * rival  # the joint maximum must lose
    assert rival > 0.02


def with_slopes_known(contest, slopes):
    """Maximum likelihood of the rest."""
    params = replace(contest.start(BETA), slopes=slopes[contest.sloped])
    for _ in range(10):
        look = contest.look(params)
        params = params.moved(
            -np.linalg.solve(look.information, look.gradient), 0 * params.slopes, 1.0
        )
    return params.coef


def test_slopes_that_are_fitted_do_not_lengthen_scores():
    """Against slopes known, in the same studies: many judges, who differ much.

    The joint maximum must fail.
    """
    n_studies, found = 30, []
    for seed in range(n_studies):
        rng = np.random.default_rng([26, seed])
        true = 1 + 0.8 * rng.normal(size=75)
        true /= true.mean()
        X, votes = judged_votes(rng, m=3000, slopes=true)
        settings = RankRegression(context=["rest"], side_effect=True, judge_slopes=True)._settings()
        votes["judge"] = votes["number"]
        _, contest, params, _ = fitted_comparisons(
            X, votes, context=["rest"], side_effect=True, judge_slopes=True
        )
        corrected = fit_without_bias(contest, params, settings)[1]
        known = with_slopes_known(contest, true)
        found.append(
            [(coef - known) @ BETA / (BETA @ BETA) for coef in (corrected.coef, params.coef)]
        )
    z = np.mean(found, axis=0) / (np.std(found, axis=0, ddof=1) / np.sqrt(n_studies))
    limit = student.isf(1e-5, n_studies - 1)
    assert abs(z[0]) < limit
    assert z[1] > limit
