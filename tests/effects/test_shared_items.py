"""The equation for the item variance: a sum over two comparisons that share an item."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from pairscore.core.links import Logit, Probit, get_link
from pairscore.core.outcomes import OutcomeLaw, TieRule, averaged_probabilities
from pairscore.effects.shared_items import Equation, Seen, equation, hermite_coefficients
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.likelihood import predictor
from pairscore.estimators.settings import Settings
from pairscore.model.fit import estimate
from tests.effects.simulators import LAWS, averaged, draw, judged_rows, small_pairs
from tests.laws import limit_factor

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def shared_covariance(law, one, other, sigma2):
    """Covariance of the outcomes of (eta, sharpness) and (eta', sharpness') that share an item, by
    quadrature over its effect.
    """
    sd = np.sqrt(sigma2)
    curves = [
        law.mean(eta + sharp * sd * (NODES[:, None] - NODES)) @ WEIGHTS
        for eta, sharp in (one, other)
    ]
    return WEIGHTS @ (curves[0] * curves[1]) - (WEIGHTS @ curves[0]) * (WEIGHTS @ curves[1])


@pytest.mark.parametrize("law", LAWS)
def test_the_equation_with_judges_and_ties_is_a_sum_over_two_different_pairs_of_an_item(law):
    judged, slopes = judged_rows(law, np.random.default_rng(0))
    # fitted at this very variance, so that nothing is stretched
    seen, sigma2 = replace(judged.at(slopes), sigma2=0.8), 0.8
    pairs, place = seen.pairs, seen.place
    assert seen.kappa(2 * sigma2) == pytest.approx(1)
    mean = (
        averaged_probabilities(law, seen.eta, np.abs(seen.sharpness) * np.sqrt(2 * sigma2))
        * np.array([[0], [0.5], [1]])
    ).sum(axis=0)
    residual = seen.sharpness * (seen.win - mean)  # a judge counts by the slope
    naive = np.zeros(7)
    for item in range(7):
        mine = [
            (row, 1 if pairs.low[place[row]] == item else -1)
            for row in range(len(place))
            if item in (pairs.low[place[row]], pairs.high[place[row]])
        ]
        for (p, sign), (q, other) in permutations(mine, 2):
            if place[p] != place[q]:
                rows = [
                    (turn * seen.eta[row], seen.sharpness[row])
                    for row, turn in ((p, sign), (q, other))
                ]
                shared = (
                    seen.sharpness[p] * seen.sharpness[q] * shared_covariance(law, *rows, sigma2)
                )
                naive[item] += sign * residual[p] * other * residual[q] - shared
    np.testing.assert_allclose(Equation(seen, np.ones(7), 1.0).excess(sigma2), naive, atol=2e-3)
    alike = replace(seen, sharpness=None)
    # judges taken for one
    assert np.abs(Equation(alike, np.ones(7), 1.0).excess(sigma2) - naive).max() > 0.05


def test_stretching_there_and_back_is_nothing():
    judged, slopes = judged_rows(LAWS[1], np.random.default_rng(1), m=400, n_items=30)
    narrow = judged.at(slopes)
    factor = narrow.kappa(1.5)
    wide = replace(narrow, eta=factor * narrow.eta, sigma2=0.75)
    assert factor > 1.05
    assert wide.kappa(0.0) == pytest.approx(1 / factor, rel=5e-3)


def test_many_judges_share_tables():
    rng = np.random.default_rng(2)
    judged, slopes = judged_rows(
        LAWS[0], rng, n_items=30, m=3000, n_judges=60, slopes=1 + 0.4 * rng.normal(size=60)
    )
    seen = replace(judged.at(slopes), sigma2=0.8)
    grouped = Equation(seen, np.ones(30), 1.0).excess(0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairscore.effects.shared_items.MOST_KINDS", 100)
        exact = Equation(replace(seen), np.ones(30), 1.0).excess(0.8)
    assert len(seen.kinds[0]) <= 24
    np.testing.assert_allclose(grouped, exact, atol=0.01 * np.abs(exact).max())


def covariance_by_quadrature(link, d, e, sigma2):
    """Cov(f(d + u_i - u_j), f(e + u_i - u_k)).

    An average over u_i of two averages over the opponents.
    """
    sd = np.sqrt(sigma2)
    one, other = (link.cdf(x + sd * (NODES[:, None] - NODES)) @ WEIGHTS for x in (d, e))
    return WEIGHTS @ (one * other) - (WEIGHTS @ one) * (WEIGHTS @ other)


@pytest.mark.parametrize("link", [Logit(), Probit()])
def test_mehlers_series_is_the_covariance_of_two_comparisons_of_one_item(link):
    for sigma2 in (0.1, 1.0, 4.0):
        d = np.array([-2.5, -0.3, 0.0, 1.7])
        c = hermite_coefficients(
            OutcomeLaw(TieRule("half", link)), d, np.full(4, np.sqrt(2 * sigma2))
        )
        series = np.einsum("n,ni,nj->ij", 0.5 ** np.arange(len(c)), c, c) - np.outer(c[0], c[0])
        exact = [[covariance_by_quadrature(link, one, other, sigma2) for other in d] for one in d]
        np.testing.assert_allclose(series, exact, atol=1e-6)
        first_term_only = 0.5 * np.outer(c[1], c[1])
        assert np.abs(first_term_only - exact).max() > (1e-3 if sigma2 >= 1 else 1e-5)


@pytest.mark.parametrize("keep_sides", [False, True])
def test_the_equation_is_a_sum_over_two_different_pairs_of_an_item(keep_sides):
    rng, sigma2, link = np.random.default_rng(0), 0.8, Logit()
    pairs = small_pairs(rng, keep_sides=keep_sides)
    difference = pairs.differences(rng.normal(size=12)) + 0.3 * pairs.side[:, None]
    seen = Seen.of_pairs(pairs, link, difference)
    kappa = seen.kappa(2 * sigma2)
    mean = averaged(link, kappa * difference, np.array(2 * sigma2))
    number = pairs.win + pairs.lose
    residual = (pairs.win - number * mean).sum(axis=0)
    naive = np.zeros(12)
    for item in range(12):
        mine = [
            (p, 1 if pairs.low[p] == item else -1)
            for p in range(len(pairs.high))
            if item in (pairs.low[p], pairs.high[p])
        ]
        for (p, sign), (q, other) in permutations(mine, 2):
            naive[item] += sign * residual[p] * other * residual[q]
            for side, place in np.ndindex(len(difference), len(difference)):
                both = number[side, p] * number[place, q]
                naive[item] -= both * covariance_by_quadrature(
                    link,
                    sign * kappa * difference[side, p],
                    other * kappa * difference[place, q],
                    sigma2,
                )
    np.testing.assert_allclose(Equation(seen, np.ones(12), 1.0).excess(sigma2), naive, atol=2e-3)


def test_kappa_is_that_of_probit_and_of_normal_items():
    rng = np.random.default_rng(1)
    pairs = small_pairs(rng, 2000, 40_000)
    for v in (0.2, 2.0, 8.0):
        assert Seen.of_pairs(pairs, Probit(), pairs.differences(rng.normal(size=2000))[None]).kappa(
            v
        ) == pytest.approx(np.sqrt(1 + v), rel=1e-4)
    for sd in (0.5, 1.5):
        shrunk = limit_factor(1.0, sd)  # of a fit of features alone, by Stein's lemma
        kappa = Seen.of_pairs(
            pairs, Logit(), pairs.differences(shrunk * rng.normal(size=2000))[None]
        ).kappa(2 * sd**2)
        assert kappa == pytest.approx(1 / shrunk, rel=5e-3)
    # the usual approximation is 4 % too small here
    assert kappa / np.sqrt(1 + 0.346 * 2 * sd**2) > 1.03


def equation_of(data, link="logit"):
    settings = Settings("mle", get_link(link))
    study, plain = FitData(data, False), estimate(data, settings, np.random.default_rng(0))
    seen = Seen.of_pairs(
        study.pairs, settings.link, predictor(study.X, study.pairs, plain.coef, 0.0)
    )
    return equation(seen, (study.X - plain.center.mean) @ plain.basis.transform)


@pytest.mark.parametrize("sd", [0.0, 0.8])
@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_the_equation_has_mean_zero_beside_fitted_coefficients(sd):
    rng, ours, rival = np.random.default_rng(2), [], []
    for _ in range(60):
        fitted = equation_of(draw(rng, 80, 500, 10, sd)[3])
        ours.append(fitted.excess(sd**2).sum())
        rival.append(Equation(fitted.seen, np.ones(80), 1.0).excess(sd**2).sum())
    error = np.std(ours) / np.sqrt(len(ours))
    assert abs(np.mean(ours)) < 4 * error
    assert np.mean(rival) < -4 * error  # residuals taken for errors
