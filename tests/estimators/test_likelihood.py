"""Maximum likelihood: its maximum, and fits that stay finite where there is none."""

import warnings

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import linprog, minimize_scalar
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.core.links import get_link
from pairscore.core.whitening import whitening_basis
from pairscore.errors import NotConvergedWarning, SeparationWarning
from pairscore.estimators.likelihood import clip_start, maximise
from pairscore.estimators.likelihood_solvers import (
    ConjugateGradients,
    FormedHessian,
    LikelihoodLoss,
    QuasiNewton,
    hessian_at,
)
from pairscore.estimators.table_data import TableData
from tests.hard_designs import NAMES, draw
from tests.laws import GaussianStudy
from tests.limits import fair_squares
from tests.tie_cells import draw_outcomes, draw_pairs

METHODS = ["split", "pooled", "paired", "mle"]


def whitened(study):
    """Coordinates of coefficients, and of the side effect if there is one."""
    center = study.item_moments
    T = whitening_basis(center.scatter, center.sd).transform
    return block_diag(T, 1 / np.sqrt(len(study.comparisons))) if study.keep_sides else T


@pytest.mark.parametrize("solver", ["conjugate gradients", "formed"])
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("side", [False, True])
def test_derivatives_are_those_of_the_log_likelihood(link, side, solver):
    """From explicit differences, in whitened coordinates."""
    X, votes = GaussianStudy(30, 200, 3, second_half=False).draw(np.random.default_rng(0))
    data, y = Comparisons.from_frames(X, votes)
    study, link = TableData(data, side), get_link(link)
    ridge, origin = np.array([1.0, 2.0, 0.0, 3.0]), np.array([0.1, -0.3, 0.2, 0.5])
    D, T = np.column_stack([X[data.left] - X[data.right], np.ones(len(y))]), whitened(study)
    ridge, origin, D = ridge[: len(T)], origin[: len(T)], D[:, : len(T)]
    of = ConjugateGradients(study) if solver == "conjugate gradients" else FormedHessian()
    likelihood = LikelihoodLoss(study, link, T, ridge, of, origin)

    def loss(params):
        theta = origin + T @ params
        return -link.log_cdf(y * (D @ theta)).sum() + 0.5 * ridge @ theta**2

    theta = np.array([0.3, -0.2, 0.1, 0.2])[: len(T)]
    params = likelihood.start(theta)
    np.testing.assert_allclose(likelihood.theta(params), theta, atol=1e-12)
    here = likelihood.derivatives(params)
    step = 1e-6 * np.eye(len(params))
    numerical = [(loss(params + one) - loss(params - one)) / 2e-6 for one in step]
    np.testing.assert_allclose(here.gradient, numerical, rtol=1e-5, atol=1e-5)
    hessian = np.array(
        [
            (
                likelihood.derivatives(params + 100 * one).gradient
                - likelihood.derivatives(params - 100 * one).gradient
            )
            / 2e-4
            for one in step
        ]
    )
    direction = likelihood.newton_step(params, here, iteration=2).direction
    np.testing.assert_allclose(hessian @ direction, here.gradient, rtol=1e-3, atol=1e-2)
    formed, exact = hessian_at(study, theta, link)
    assert exact
    np.testing.assert_allclose(T.T @ (formed + np.diag(ridge)) @ T, hessian, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_both_ways_to_a_newton_step_agree_on_hard_data(name, side):
    """Products with the Hessian, and the Hessian itself, to the precision that is asked for."""
    drawn = draw(name, np.random.default_rng(1), 20, 60, 3)
    votes = Comparisons(drawn.X, drawn.left, drawn.right, drawn.outcome, weight=drawn.weight)
    study = TableData(votes, side)
    T, ridge = whitened(study), np.full(3 + side, 1e-3)
    losses = [
        LikelihoodLoss(study, get_link("logit"), T, ridge, solver)
        for solver in (ConjugateGradients(study), FormedHessian())
    ]
    params = np.linspace(-0.5, 0.5, T.shape[1])
    gradient = losses[0].derivatives(params).gradient
    products, formed = (loss.solver.direction(loss, params, gradient, 1e-10) for loss in losses)
    assert products[1] == formed[1]
    # in the metric of the Hessian, in which an error of a step is one of the likelihood
    hessian = T.T @ (hessian_at(study, losses[0].theta(params), get_link("logit"))[0]) @ T
    hessian += T.T @ np.diag(ridge) @ T
    off, size = products[0] - formed[0], formed[0] @ hessian @ formed[0]
    assert off @ hessian @ off <= 1e-12 * size


def test_a_quasi_newton_step_learns_the_hessian_from_gradients():
    """Of a wrong inverse, as many gradients as parameters make the right one."""
    X, votes = GaussianStudy(60, 500, 3, second_half=False).draw(np.random.default_rng(1))
    study = TableData(Comparisons.from_frames(X, votes)[0], False)
    solver = QuasiNewton(np.eye(3) / 20)
    loss = LikelihoodLoss(study, get_link("logit"), whitened(study), np.zeros(3), solver, tol=1e-20)
    exact = LikelihoodLoss(
        study, get_link("logit"), whitened(study), np.zeros(3), ConjugateGradients(study)
    )
    found, best = maximise(loss, np.zeros(3), 50), maximise(exact, np.zeros(3))
    assert found.converged
    np.testing.assert_allclose(found.theta, best.theta, rtol=1e-7)
    before = solver.inverse
    solver._improve(np.array([1.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))  # no Hessian does that
    np.testing.assert_array_equal(solver.inverse, before)


@pytest.mark.parametrize("solver", ["conjugate gradients", "formed"])
def test_the_maximum_is_reached_from_anywhere(solver):
    X, votes = GaussianStudy(60, 500, 3, second_half=False).draw(np.random.default_rng(1))
    study = TableData(Comparisons.from_frames(X, votes)[0], False)
    of = ConjugateGradients(study) if solver == "conjugate gradients" else FormedHessian()
    likelihood = LikelihoodLoss(study, get_link("logit"), whitened(study), np.zeros(3), of)
    near, far = (maximise(likelihood, start) for start in (np.zeros(3), np.full(3, 30.0)))
    assert near.converged
    assert far.converged
    np.testing.assert_allclose(far.theta, near.theta, rtol=1e-5)


def test_a_start_is_clipped_in_units_of_the_features():
    start, sd = np.array([1.0, 1.0, -1.0, 5.0]), np.array([1.0, 100.0, 10.0, 0.0])
    np.testing.assert_allclose(clip_start(start, sd), [1.0, 0.03, -0.3, 3.0])


def test_too_few_iterations_are_told():
    X, votes = GaussianStudy(60, 500, 3, q=3.0, second_half=False).draw(np.random.default_rng(2))
    with pytest.warns(NotConvergedWarning, match="within 1 iteration; raise max_iter"):
        RankRegression(max_iter=1, inference=None).fit(X, votes)


def separable(n_items=40, seed=0):
    """Every comparison goes the way of the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    pairs = np.array([(i, j) for i in range(n_items) for j in range(i) if rng.random() < 0.3])
    better = X[pairs[:, 0], 0] > X[pairs[:, 1], 0]
    return X, np.where(better[:, None], pairs, pairs[:, ::-1])


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_perfect_separation_stays_finite_and_is_named(method, link):
    X, votes = separable()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(method, link=link).fit(X, votes)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.std_errors_)) == (model.result_.recession is None)
    assert np.abs(model.coef_).max() < 100
    separated = [warning for warning in caught if issubclass(warning.category, SeparationWarning)]
    along = X[votes[:, 0]] @ model.coef_ > X[votes[:, 1]] @ model.coef_
    if method == "mle" or along.all():  # a closed form need not find the separating direction
        assert len(separated) == 1
        assert "a ridge of 0.16" in str(separated[0].message)


def test_the_stated_rule_is_the_ridge_it_names():
    X, votes = separable()
    with pytest.warns(SeparationWarning):
        stated = RankRegression(inference=None).fit(X, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ridge = RankRegression(l2=0.16, inference=None).fit(X, votes)
    np.testing.assert_allclose(stated.coef_, ridge.coef_, rtol=1e-6)


def test_one_undefeated_category_is_separation_too():
    """Quasi-separation: only the coefficient of the item that never loses would run away."""
    rng = np.random.default_rng(0)
    X = np.eye(6)[:, 1:]
    votes = [(5, j) for j in range(5) for _ in range(4)] + [
        (i, j) for i in range(5) for j in range(5) if i != j for _ in range(rng.integers(1, 6))
    ]
    with pytest.warns(SeparationWarning):
        model = RankRegression(inference="model").fit(X, np.array(votes))
    assert 1 < model.coef_[-1] < 20
    assert np.argmax(model.coef_) == 4


def is_separable(D):
    """Outside witness, by linear programming: is there v with D v >= 0 and not all zero?"""
    answer = linprog(-D.sum(axis=0), A_ub=-D, b_ub=np.zeros(len(D)), bounds=[(-1, 1)] * D.shape[1])
    return -answer.fun > 1e-9


@pytest.mark.parametrize("flips", [1, 2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_separation_is_named_exactly_when_linear_programming_finds_it(seed, flips):
    X, votes = separable(n_items=14, seed=seed)
    votes[:flips] = votes[:flips, ::-1]
    D = X[votes[:, 0]] - X[votes[:, 1]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(inference=None).fit(X, votes)
    named = any(issubclass(warning.category, SeparationWarning) for warning in caught)
    assert named == is_separable(D)
    if not named:
        assert np.abs(D.T @ expit(-D @ model.coef_)).max() < 1e-4  # the likelihood's own maximum


def test_undefeated_items_and_disconnected_groups_need_no_care():
    """Features link what comparisons do not."""
    study = GaussianStudy(200, 3000, 3, second_half=False)
    X, votes = study.draw(np.random.default_rng(0))
    apart = votes[(votes[:, 0] < 100) == (votes[:, 1] < 100)]
    never_lost = apart[apart[:, 1] != 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankRegression().fit(X, never_lost)
    z = (model.coef_ - study.beta) / model.std_errors_
    assert np.all(np.abs(z) < 5), z
    assert len(model.rank(X)) == 200


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("n_comparisons", [300, 3000, 30_000])
def test_a_rare_undefeated_category_is_separation_however_many_others_there_are(
    n_comparisons, link
):
    """Its coefficient is that of the stated ridge, wherever the climb stops; others have none."""
    study = GaussianStudy(300, n_comparisons, 2, second_half=False)
    X, votes = study.draw(np.random.default_rng(0))
    votes = votes[(votes != 0).all(axis=1)]
    X = np.column_stack([X, np.arange(300) == 0])
    votes = np.vstack([votes, [(0, 5), (0, 6), (0, 7)]])
    with pytest.warns(SeparationWarning):
        model = RankRegression(link=link, inference=None).fit(X, votes)
    without = RankRegression(link=link, inference=None).fit(X[:, :2], votes[:-3])
    np.testing.assert_allclose(model.coef_[:2], without.coef_, rtol=1e-6)
    share = 3 / (2 * len(votes))  # of the category in what is compared
    ahead = (X[0, :2] - X[5:8, :2]) @ without.coef_
    own = minimize_scalar(
        lambda c: -get_link(link).log_cdf(ahead + c).sum() + 0.08 * share * (1 - share) * c**2,
        bounds=(0, 100),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert model.coef_[2] == pytest.approx(own.x, rel=1e-4)


def separated_votes(n_items=60):
    X = np.random.default_rng(0).normal(size=(n_items, 2))
    pairs = np.random.default_rng(1).integers(0, n_items, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ahead = X[pairs[:, 0], 0] > X[pairs[:, 1], 0]  # the first feature alone decides
    return X, np.where(ahead[:, None], pairs, pairs[:, ::-1])


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("l2", [1e-300, 1e-12, 1e-6, 1e-4])
def test_a_ridge_near_zero_does_not_hide_separation(l2, link):
    X, votes = separated_votes()
    with pytest.warns(
        SeparationWarning,
        match=r"a ridge of 0\.16 .* to choose your own ridge, set l2 above 0\.0001",
    ):
        model = RankRegression(link=link, l2=l2).fit(X, votes)
    stated = RankRegression(link=link, l2=0.16).fit(X, votes)
    np.testing.assert_allclose(model.coef_, stated.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.covariance_, stated.covariance_, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["pooled", "paired"])
def test_a_ridge_near_zero_does_not_hide_separation_along_a_closed_form(method):
    X, votes = np.arange(60.0)[:, None], separated_votes()[1]
    votes = np.sort(votes, axis=1)[:, ::-1]
    coefs = []
    for l2 in (0.0, 1e-300, 1e-4):
        with pytest.warns(SeparationWarning):
            coefs.append(RankRegression(method, l2=l2, inference=None).fit(X, votes).coef_)
    np.testing.assert_allclose(coefs[1:], [coefs[0], coefs[0]], rtol=1e-3)


def test_a_stronger_ridge_is_taken_as_it_is_and_weights_have_no_unit():
    import pandas as pd

    X, votes = separated_votes()
    light = pd.DataFrame({"winner": votes[:, 0], "loser": votes[:, 1], "weight": 1e-6})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heavy = RankRegression(l2=2e-4, inference=None).fit(X, votes)
        same = RankRegression(l2=2e-4, inference=None).fit(X, light)
    np.testing.assert_allclose(same.coef_, heavy.coef_, rtol=1e-9)
    assert heavy.coef_[0] > 3 * RankRegression(l2=0.16, inference=None).fit(X, votes).coef_[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_ridge_near_zero_changes_nothing_where_a_maximum_exists(method):
    X, votes = GaussianStudy(60, 400, 2).draw(np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        none, weak = (RankRegression(method, l2=l2).fit(X, votes) for l2 in (0.0, 1e-6))
    np.testing.assert_allclose(weak.coef_, none.coef_, rtol=1e-4)
    np.testing.assert_allclose(weak.std_errors_, none.std_errors_, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_an_unbounded_side_effect_stays_finite_and_is_named(method):
    import pandas as pd

    X, votes = GaussianStudy(60, 400, 2).draw(np.random.default_rng(0))
    frame = pd.DataFrame({"left": votes[:, 0], "right": votes[:, 1], "winner": "left"})
    data, _ = Comparisons.from_frames(X, frame, covariance_items=np.arange(60, 120))
    for l2 in (0.0, 1.0):
        with pytest.warns(SeparationWarning):
            model = RankRegression(method, side_effect=True, l2=l2).fit(data)
        assert 0 < model.side_effect_ < 15
        assert np.isnan(model.side_effect_std_error_)


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_rows_that_count_for_nothing_do_not_hide_separation(method):
    X = np.arange(30.0)[:, None]
    pairs = np.array([(i, j) for i in range(30) for j in range(i)])
    import pandas as pd

    votes = pd.DataFrame(
        {
            "winner": np.append(pairs[:, 0], [0, 3]),
            "loser": np.append(pairs[:, 1], [29, 3]),
            "weight": np.append(np.ones(len(pairs)), [0, 1]),
        }
    )
    with pytest.warns(SeparationWarning):
        model = RankRegression(method).fit(X, votes, self_pairs="keep")
    clean = RankRegression(method, l2=0.16, inference=None).fit(X, pairs)
    assert model.coef_[0] == pytest.approx(clean.coef_[0], rel=0.02)


# -- classical intervals with ties as half wins ----------------------------------------------------


COEF = np.array([0.0, 0.5, 1.0])


def draw_two_coins(rng, n=100, m=900):
    """Items, and half wins whose mean is the link's: each the mean of two answers."""
    X = rng.normal(size=(n, len(COEF)))
    left, right = draw_pairs(rng, 0, n, m)
    outcome = draw_outcomes(rng, (X[left] - X[right]) @ COEF, "two coins")
    return Comparisons(X, left, right, outcome, context={"rest": rng.normal(size=m)})


def classical_scores(n_fits, **settings):
    """Independent z-scores, three of each fit, and those with ties taken for coins.

    The error of the coefficients in coordinates in which their covariance is the identity. Under
    another link than logit it is from the mean of all fits.
    """
    fits = []
    for seed in range(n_fits):
        data = draw_two_coins(np.random.default_rng(seed))
        model = RankRegression(inference="model", **settings).fit(data)
        D = data.items.values[data.left] - data.items.values[data.right]
        delta, link = D @ model.coef_, model.link_
        weight = link.ratio(delta) * link.ratio(-delta)
        fits.append((model.coef_, model.covariance_, np.linalg.inv(D.T @ (weight[:, None] * D))))
    coef, *covariances = (np.array(part) for part in zip(*fits, strict=True))
    is_logit = settings.get("link", "logit") == "logit"
    error = coef - (COEF if is_logit else coef.mean(axis=0))
    return [np.linalg.solve(np.linalg.cholesky(c), error[..., None])[..., 0] for c in covariances]


@pytest.mark.parametrize("settings", [{}, {"context": ["rest"]}], ids=["plain", "with context"])
def test_classical_intervals_with_ties_are_as_wide_as_needed(settings):
    """Ties as coins make them 1.4 times too wide here: a mean square of one half."""
    z, too_wide = classical_scores(200, **settings)
    low, high = fair_squares(z.size)
    assert low < np.sum(z**2) < high
    assert np.sum(too_wide**2) < low


@pytest.mark.parametrize("settings", [{}, {"side_effect": True}, {"context": ["rest"]}])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_variance_of_half_wins_is_that_of_a_loop(link, settings):
    """(D'WD)^-1 (sum of g^2 (p (1 - p) - [tie]/4) d d') (D'WD)^-1, g = f'/(f (1 - f))."""
    data = draw_two_coins(np.random.default_rng(7))
    model = RankRegression(link=link, inference="model", **settings).fit(data)
    D = data.items.values[data.left] - data.items.values[data.right]
    theta = model.coef_
    if "side_effect" in settings:
        D, theta = np.column_stack([D, np.ones(len(D))]), np.append(theta, model.side_effect_)
    if "context" in settings:
        D = np.column_stack([D, data.context["rest"]])
        theta = np.append(theta, model.effects_.values)
    information, meat = np.zeros((2, len(theta), len(theta)))
    for d, outcome in zip(D, data.outcome, strict=True):
        delta, f = d @ theta, model.link_
        p = float(f.cdf(delta))
        g = float(f.pdf(delta)) / (p * (1 - p))
        weight = g**2 * p * (1 - p)
        if "context" in settings:  # single comparisons have the observed information
            s = 0.5 + 0.5 * outcome
            weight = s * float(f.curvature(delta)) + (1 - s) * float(f.curvature(-delta))
        information += weight * np.outer(d, d)
        meat += (weight - 0.25 * g**2 * (outcome == 0)) * np.outer(d, d)
    inverse = np.linalg.inv(information)
    expected = (inverse @ meat @ inverse)[: len(model.coef_), : len(model.coef_)]
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-6, atol=1e-10)
    without = RankRegression(link=link, inference="items", **settings).fit(data)
    assert not np.allclose(without.covariance_, model.covariance_, rtol=0.01)


def test_hardly_any_decided_comparison_leaves_some_width():
    data = draw_two_coins(np.random.default_rng(3), m=60)
    tied = data.with_outcome(np.where(np.arange(60) % 10 == 0, data.outcome, 0))
    model = RankRegression(inference="model").fit(tied)
    assert np.all(model.std_errors_ > 0)
