"""Separation: what is explained, and that everything else is at its own maximum."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import expit
from scipy.stats import binom, chi2, norm

from pairscore import Comparisons, RankRegression, fit_stream
from pairscore.core.links import get_link
from pairscore.core.whitening import Basis, whitening_basis
from pairscore.errors import PairscoreWarning, SeparationWarning
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.likelihood_errors import Curvature, carry_over
from pairscore.estimators.separation import Recession, explained_by_design
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from tests.laws import GaussianStudy
from tests.model.test_separated import draw, separated, table, votes_of, with_champions


def tables(seed=0, n=60, m=900, separated=(3,)):
    """Items of which some have a gap, and votes with sides; those of ``separated`` never lose."""
    rng = np.random.default_rng(seed)
    X, ids = rng.normal(size=(n, 3)), np.array([f"item-{k}" for k in range(n)])
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    ahead = (X[left] - X[right]) @ [1.0, -0.5, 0.2] + 0.3 + rng.logistic(size=m) > 0
    never_lost = np.isin(left, separated) | np.isin(right, separated)
    ahead = np.where(never_lost, np.isin(left, separated), ahead)
    X[[3, 5, 8], 0] = np.nan
    items = {"id": ids} | {f"x{k}": X[:, k] for k in range(3)}
    votes = {"left": ids[left], "right": ids[right], "winner": np.where(ahead, "left", "right")}
    return items, votes, never_lost


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize(
    "settings", [{"side_effect": True}, {"inference": "model"}, {"l2": 1e-5}], ids=str
)
def test_one_separated_item_leaves_all_other_coefficients_at_the_maximum(settings, link):
    items, votes, never_lost = tables()
    settings = settings | {"link": link, "missing": "item-effect"}
    with pytest.warns(SeparationWarning, match=r"how large 'item item-3' is: .* ridge of 0\.16"):
        model = RankRegression(**settings).fit(items, votes)
    others = {name: column[~never_lost] for name, column in votes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the item's own column is constant there
        without = RankRegression(**settings).fit(items, others)
    kept = model.feature_names_in_ != "item item-3"
    np.testing.assert_allclose(model.coef_[kept], without.coef_[kept], rtol=1e-6)
    np.testing.assert_allclose(model.std_errors_[kept], without.std_errors_[kept], rtol=1e-5)
    if "side_effect" in settings:
        assert model.side_effect_ == pytest.approx(without.side_effect_, rel=1e-6)
        assert model.side_effect_std_error_ == pytest.approx(
            without.side_effect_std_error_, rel=1e-5
        )
    assert 2 < model.coef_[~kept][0] < 40
    assert np.isfinite(model.std_errors_[kept]).all()
    low, high = model.confidence_intervals()[~kept][0]
    assert 0 < low < np.inf
    assert high == np.inf


def differences(data):
    """Differences of the winner and the loser (M x d)."""
    X = data.items.values
    return data.outcome[:, None] * (X[data.left] - X[data.right])


def explained_by_some_direction(D):
    """Outside witness: rows of D that are positive for some v with D v >= 0.

    The sum of t over 0 <= t <= 1, t <= D v is largest where every row that can is positive.
    """
    m, d = D.shape
    objective = np.append(np.zeros(d), -np.ones(m))
    bounds = [(None, None)] * d + [(0, 1)] * m
    answer = linprog(objective, np.hstack([-D, np.eye(m)]), np.zeros(m), bounds=bounds)
    return answer.x[d:] > 1e-6


def some_separated(seed):
    """Items with a few columns of their own, compared so seldom that some are separated."""
    rng = np.random.default_rng(seed)
    n, m = 14, 60
    X = np.column_stack([rng.normal(size=(n, 2)), np.eye(n)[:, :5]])
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    seldom = rng.random(m) < 0.4
    rows = ((left > 4) & (right > 4)) | seldom
    left, right = left[rows], right[rows]
    s = X @ np.append([0.7, -0.4], 2 * rng.normal(size=5))
    outcome = np.where(s[left] - s[right] + rng.logistic(size=len(left)) > 0, 1, -1)
    return Comparisons(X, left, right, outcome)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_not_explained_is_fitted_exactly_and_the_rest_with_the_ridge(seed):
    """Twins: linear programming says what is explained, a general optimiser does the two fits."""
    data = some_separated(seed)
    study = TableData(data, False)
    fit = fit_likelihood(study, Settings("mle", get_link("logit")))
    D = differences(data)
    explained = explained_by_some_direction(D)
    assert (fit.determined.recession is not None) == explained.any()
    rest = minimize(
        lambda b: np.logaddexp(0, -D[~explained] @ b).sum(), np.zeros(7), options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(D[~explained] @ fit.coef, D[~explained] @ rest.x, atol=1e-4)
    if explained.any():
        sd = study.item_moments.sd
        values, vectors = np.linalg.eigh(D[~explained].T @ D[~explained])
        free = vectors[:, values < 1e-9]  # what the rest does not see

        def loss(g):
            b = rest.x + free @ g
            penalty = 0.16 * np.sum((sd * b) ** 2)
            return np.logaddexp(0, -D[explained] @ b).sum() + 0.5 * penalty

        held = minimize(loss, np.zeros(free.shape[1]), options={"gtol": 1e-9})
        np.testing.assert_allclose(D @ fit.coef, D @ (rest.x + free @ held.x), atol=2e-4)


def test_an_item_above_all_and_one_below_all_are_explained_one_after_the_other():
    """The best met only the second best, which beat all others: two steps of explanation."""
    X, votes = GaussianStudy(40, 400, 2, second_half=False).draw(np.random.default_rng(4))
    votes = votes[(votes > 2).all(axis=1)]
    X = np.column_stack([X, np.eye(40)[:, :3]])
    more = [(0, 1)] * 3 + [(1, k) for k in range(5, 12)] + [(k, 2) for k in range(12, 18)]
    with pytest.warns(SeparationWarning, match=r"how large 'x2', 'x3', 'x4' are"):
        model = RankRegression(inference="model").fit(X, np.vstack([votes, more]))
    without = RankRegression(inference="model").fit(X[:, :2], votes)
    np.testing.assert_allclose(model.coef_[:2], without.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.std_errors_[:2], without.std_errors_, rtol=1e-6)
    best, second, worst = model.coef_[2:]
    assert best > second > 1
    assert worst < -1


def test_collinear_columns_stay_open_beside_a_separated_one():
    items, votes, never_lost = tables()
    items["again"] = items["x1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression(missing="item-effect", inference="model").fit(items, votes)
        others = {name: column[~never_lost] for name, column in votes.items()}
        without = RankRegression(missing="item-effect", inference="model").fit(items, others)
    kept = model.feature_names_in_ != "item item-3"
    np.testing.assert_allclose(model.coef_[kept], without.coef_[kept], rtol=1e-6)
    open_names = model.feature_names_in_[np.isnan(model.std_errors_)]
    assert open_names.tolist() == ["x1", "again", "item item-3"]
    ends = model.confidence_intervals()
    assert np.isnan(ends[np.isin(model.feature_names_in_, ["x1", "again"])]).all()
    assert np.isinf(ends[~kept][0, 1])


def test_what_is_held_follows_what_the_rest_determines():
    """Two quadratic losses, one after the other: the answer to a move of the first minimum."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    sees = rng.normal(size=(9, 5))
    sees -= sees @ V @ V.T  # nothing along V
    H1, A2 = sees.T @ sees, rng.normal(size=(7, 5))
    H2, b = A2.T @ A2, rng.normal(size=5)
    C = rng.normal(size=(5, 5))

    def answer(score):
        first = np.linalg.pinv(H1) @ score
        return first + V @ np.linalg.solve(V.T @ H2 @ V, V.T @ H2 @ (b - first))

    moves = np.array([(answer(e) - answer(0 * e)) for e in sees]).T
    inner = whitening_basis(V.T @ H2 @ V, np.ones(2))
    rest = Curvature(whitening_basis(H1, np.ones(5)), H1, C @ C.T)
    basis = Basis(V @ inner.transform, np.empty((5, 0)), np.ones(5))
    held = Curvature(basis, H2, np.zeros((5, 5)))
    joined = carry_over(rest, held)
    np.testing.assert_allclose(joined.basis.inverse @ sees.T, moves, atol=1e-10)
    Q = np.eye(5) - V @ np.linalg.solve(V.T @ H2 @ V, V.T @ H2)
    np.testing.assert_allclose(joined.covariance, Q @ C @ C.T @ Q.T, atol=1e-10)


def few_votes(seed, n=4, m=4):
    """Votes with ties on so few items that nearly all are separated."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"i{k}" for k in range(n)])
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    winner = rng.choice(["left", "right", "tie"], m)
    items = {"id": ids, "x": rng.integers(0, n, n).astype(float)}
    return items, {"left": ids[left], "right": ids[right], "winner": winner}


def test_a_tie_beside_separated_comparisons_has_a_maximum_of_its_own():
    """i1 - i0 + side has no end, and the tie sets 2 (i1 - i0) + side to zero: it is no direction.

    No one has seen the tied pair with sides changed, whose difference grows along with the others.
    """
    items = {"id": ["i0", "i1", "i2", "i3"], "x": [0.0, 1.0, 2.0, 3.0]}
    votes = {"left": ["i1", "i2"], "right": ["i0", "i0"], "winner": ["left", "tie"]}
    with pytest.warns(SeparationWarning, match="how large 'x', 'side effect' are"):
        model = RankRegression(side_effect=True).fit(items, votes)
    assert 2 * model.coef_[0] + model.side_effect_ == pytest.approx(0.0, abs=1e-6)
    assert model.coef_[0] + model.side_effect_ > 0.3


def test_few_votes_with_ties_and_a_side_effect_are_fitted_as_in_a_stream():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        for seed in range(30):
            settings = {"side_effect": True, "inference": "model"}
            whole = RankRegression(**settings).fit(*few_votes(seed))
            parts = fit_stream(*few_votes(seed), **settings)
            for name in ("coef_", "side_effect_"):
                known, found = getattr(whole, name), getattr(parts, name)
                np.testing.assert_allclose(found, known, rtol=1e-4, atol=1e-6)


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
