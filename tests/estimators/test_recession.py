"""Intervals of separated comparisons, against linear programs and a general optimiser."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import expit
from scipy.stats import binom, chi2, norm

from pairscore import RankRegression
from pairscore.core.links import get_link
from pairscore.errors import PairscoreWarning
from pairscore.estimators.recession import Recession, explained_by_design
from tests.model.test_separated import draw, separated, table, votes_of, with_champions

WIDTH = float(norm.ppf(0.975))


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        yield


def sign_by_programs(D, c):
    """Whether c'delta is never negative, or never positive, where D delta >= 0."""
    signs = []
    for sign in (1, -1):
        found = linprog(sign * c, A_ub=-D, b_ub=np.zeros(len(D)), bounds=(-1, 1))
        signs.append(found.fun > -1e-8)
    return signs


def lowest_by_optimiser(D, c, cut, link, start):
    """The smallest c'b with a log-likelihood of at least -cut, by a general method."""
    found = minimize(
        lambda b: c @ b,
        start,
        jac=lambda b: c,
        constraints={"type": "ineq", "fun": lambda b: link.log_cdf(D @ b).sum() + cut},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return found.fun  # it may stop at the end for want of a better step


@pytest.mark.parametrize("kind", ["logit", "probit"])
@pytest.mark.parametrize("seed", range(4))
def test_ends_are_those_of_linear_programs_and_a_general_optimiser(seed, kind):
    """Of coefficients and of differences of items; three dimensions, all explained."""
    link, beta = get_link(kind), np.array([10.0, 5.0, -10.0])
    X, pairs = draw(seed, beta, 40, 60, sure=True)
    D = X[pairs[:, 0]] - X[pairs[:, 1]]
    fit = RankRegression(link=kind).fit(X, pairs).result_
    rows = np.vstack([np.eye(3), X[:6] - X[6:12]])
    low, high = fit.interval_ends(rows, rows @ fit.coef, np.full(9, np.nan), WIDTH)
    cut = max(-np.log(0.025), chi2.ppf(0.99, 3) / 2)
    for c, *ends in zip(rows, low, high, strict=True):
        rising, falling = sign_by_programs(D, c)
        assert np.isfinite(ends).tolist() == [rising, falling]
        for sign, end, is_finite in ((1, ends[0], rising), (-1, ends[1], falling)):
            if is_finite:
                expected = sign * lowest_by_optimiser(D, sign * c, cut, link, 3 * beta)
                assert end == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_one_parameter_has_the_end_of_clopper_and_pearson():
    """Of n wins in n: the chance p at which that has a probability of 0.025."""
    for n in (3, 10, 200):
        X = np.array([[1.0], [0.0]])
        fit = RankRegression(inference="model").fit(X, np.array([[0, 1]] * n)).result_
        low, high = fit.interval_ends(np.eye(1), fit.coef, np.array([np.nan]), WIDTH)
        assert binom.pmf(n, n, expit(low[0])) == pytest.approx(0.025, rel=1e-4)
        assert high[0] == np.inf


@pytest.mark.parametrize("seed", range(20))
def test_a_general_design_is_explained_as_linear_programs_say(seed):
    """Each comparison by itself: is there a direction that explains it, and harms no other?"""
    rng = np.random.default_rng(seed)
    D = rng.integers(-1, 2, size=(12, 4)).astype(float)
    is_tie = rng.random(12) < 0.1
    found = explained_by_design(np.vstack([D, -D[is_tie]]))
    rows, ties = D[~is_tie], D[is_tie]
    for place in np.flatnonzero(~is_tie):
        equal = {"A_eq": ties, "b_eq": np.zeros(len(ties))} if len(ties) else {}
        one = linprog(-D[place], A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1), **equal)
        assert found[place] == (one.fun < -1e-9)
    assert not found[:12][is_tie].any()
    assert not found[12:].any()


def test_more_dimensions_than_edges_are_computed_in_say_the_same():
    """Beyond six dimensions linear programs decide; here they are made to decide three."""
    X, pairs = separated()
    fit = RankRegression().fit(X, pairs).result_
    rows = X[:30] - X[30:]
    by_edges = fit.ends_by_comparisons(rows, WIDTH)
    given = fit.recession
    other = Recession(**given.to_arrays())
    vars(other)["_generators"] = None
    ends = other.ends(rows, fit.full_covariance, fit.link, WIDTH)
    np.testing.assert_allclose(ends, by_edges)


def test_fewer_known_rows_only_widen():
    X, pairs = separated()
    fit = RankRegression().fit(X, pairs).result_
    whole, rows = fit.recession, np.vstack([np.eye(3), X[:20] - X[20:40]])
    some = Recession(whole.directions, whole.unit, whole.rows[::3], whole.amount[::3], whole.origin)
    low, high = whole.ends(rows, fit.full_covariance, fit.link, WIDTH)
    lower, higher = some.ends(rows, fit.full_covariance, fit.link, WIDTH)
    assert np.all(lower <= low + 1e-6)
    assert np.all(higher >= high - 1e-6)


def test_an_interval_is_the_wider_for_what_the_others_leave_unknown():
    """The end of a sum with a share of a determined coefficient moves with its error."""
    X, pairs = with_champions()
    fit = RankRegression().fit(table(X), votes_of(pairs)).result_
    rows = np.array([[0.0, 0.0, 1.0], [5.0, 0.0, 1.0], [-5.0, 0.0, 1.0]])
    low, high = fit.interval_ends(rows, rows @ fit.coef, np.full(3, np.nan), WIDTH)
    assert np.isinf(high).all()
    error = 5 * fit.std_errors[0]
    assert low[1] - low[0] < 5 * fit.coef[0] - error / 2
    assert low[2] - low[0] < -5 * fit.coef[0] - error / 2
