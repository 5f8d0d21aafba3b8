"""Effects of items and all else together, against exact integrals, optima and refits."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from pairscore import Comparisons, RankRegression
from pairscore.core import kernels, threads
from pairscore.core.decided_scale import decided_scale
from pairscore.core.normal_average import averaged_derivatives
from pairscore.core.passes import net_pass
from pairscore.core.ties import OutcomeLaw
from pairscore.effects.belief_propagation import Precision
from pairscore.effects.expectation_propagation import (
    CLOSE,
    at_variance,
    new_terms,
    propagate,
    start_posterior,
    sweep,
)
from pairscore.effects.item_covariance import posterior_covariance
from pairscore.effects.joint_fit import scale_of_decided_rows
from pairscore.effects.maximum import maximise_rows
from tests.effects.rows import draw_rows, make_rows

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def posterior(rows, sigma2):
    top = maximise_rows(rows, rows.start(np.zeros(rows.X.shape[1])), 100, 1e-12)
    return propagate(start_posterior(rows, top.theta, sigma2), sigma2)


def log_marginal(rows, theta, sigma2):
    """log of the likelihood averaged over the effects of three items, on a grid."""
    effect = np.sqrt(sigma2) * np.array(list(product(NODES, repeat=3)))
    weight = np.prod(np.array(list(product(WEIGHTS, repeat=3))), axis=1)
    eta = rows.predictor(theta) + rows.sharpness * (effect[:, rows.left] - effect[:, rows.right])
    outcome = np.broadcast_to(rows.outcome, eta.shape).ravel()
    value = rows.rule.derivatives(eta.ravel(), outcome, rows.tie(theta)).value
    return np.log(weight @ np.exp(value.reshape(eta.shape).sum(axis=1)))


LAWS = [("logit", "half"), ("probit", "half"), ("logit", "davidson"), ("probit", "rao-kupper")]


def slope_at_the_mode(rows, theta, sigma2):
    """(N/2)(rho - 1) with effects at the peak of their law and its bend there."""
    effect, n = np.zeros(len(rows.X)), len(rows.X)
    for _ in range(60):
        eta = rows.predictor(theta) + effect[rows.left] - effect[rows.right]
        s = rows.counted(rows.rule.derivatives(eta, rows.outcome, rows.tie(theta)))
        covariance = posterior_covariance(rows.pairs, rows.pair_information(s), sigma2)
        net = np.bincount(rows.left, s.eta, n) - np.bincount(rows.right, s.eta, n)
        effect = effect + covariance.times(net - effect / sigma2)
    return 0.5 * n * (np.mean(effect**2 + covariance.diagonal) / sigma2 - 1)


@pytest.mark.parametrize(("link", "rule"), LAWS)
def test_slopes_of_the_likelihood_are_those_of_the_exact_integral(link, rule):
    """In log sigma^2, and zero in every parameter; the joint mode is further off."""
    sigma2, off, rival = 1.5, [], []
    for seed in range(4):
        rows, _ = draw_rows(np.random.default_rng([1, seed]), 3, 9, 1, link=link, rule=rule)
        rows = replace(rows, ridge=0.3 * np.eye(len(rows.ridge)))  # so few rows may be separated
        post = posterior(rows, sigma2)
        steps = 0.01 * np.eye(len(post.theta))
        slopes = [
            log_marginal(rows, post.theta + step, sigma2)
            - log_marginal(rows, post.theta - step, sigma2)
            for step in steps
        ]
        np.testing.assert_allclose(np.array(slopes) / 0.02, rows.ridge @ post.theta, atol=0.05)
        up, down = (log_marginal(rows, post.theta, sigma2 * np.exp(x)) for x in (0.01, -0.01))
        exact = (up - down) / 0.02
        off.append(abs(0.5 * 3 * (post.rho - 1) - exact))
        rival.append(abs(slope_at_the_mode(rows, post.theta, sigma2) - exact))
    print(off, rival)
    assert max(off) < 0.03
    assert np.mean(rival) > 3 * np.mean(off)


def test_with_one_comparison_per_item_it_is_the_averaged_likelihood():
    rng = np.random.default_rng(2)
    X, left = rng.normal(size=(300, 2)), np.arange(0, 300, 2)
    outcome = np.where(rng.random(150) < 0.5 + 0.3 * np.sign(X[left, 0] - X[left + 1, 0]), 1, -1)
    rows = make_rows(X, left, left + 1, outcome)
    law, sd = OutcomeLaw(rows.rule), np.full(150, np.sqrt(3.0))

    def loss(theta):
        return -averaged_derivatives(law, rows.predictor(theta), sd, rows.outcome).value.sum()

    best = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(posterior(rows, 1.5).theta, best, rtol=1e-3)


def test_with_many_comparisons_it_is_features_beside_identity_columns():
    """A ridge of 1 / sigma^2 on a 0/1 column for every item: the joint mode."""
    rows, _ = draw_rows(np.random.default_rng(3), 12, 60_000, 2)
    post = posterior(rows, 1.0)
    wide = replace(
        rows,
        X=np.hstack([rows.X, np.eye(12)]),
        mean=np.zeros(14),
        ridge=np.diag(np.repeat([0.0, 1.0], [2, 12])),
    )
    top = maximise_rows(wide, np.zeros(14), 100, 1e-14)
    np.testing.assert_allclose(post.theta, top.theta[:2], atol=2e-3)
    np.testing.assert_allclose(post.effect, top.theta[2:], atol=2e-3)
    errors = np.sqrt(np.diag(top.basis.inverse))
    np.testing.assert_allclose(np.sqrt(np.diag(post.basis.inverse)), errors[:2], rtol=0.01)


def test_equal_rows_are_one_row_that_counts_as_often():
    rows, _ = draw_rows(np.random.default_rng(4), 20, 200)
    twice = make_rows(
        rows.X, np.tile(rows.left, 2), np.tile(rows.right, 2), np.tile(rows.outcome, 2)
    )
    counted, expanded = (
        posterior(replace(rows, amount=np.full(200, 2.0)), 0.8),
        posterior(twice, 0.8),
    )
    np.testing.assert_allclose(counted.theta, expanded.theta, rtol=1e-4)
    np.testing.assert_allclose(counted.effect, expanded.effect, atol=1e-4)


def test_without_effects_sweeps_are_newtons_steps():
    rows, _ = draw_rows(np.random.default_rng(5), 30, 500, rule="davidson", side=True)
    top = maximise_rows(rows, rows.start(np.zeros(2)), 100, 1e-14)
    post = propagate(start_posterior(rows, top.theta + 0.05, 0.0), 0.0)
    np.testing.assert_allclose(post.theta, top.theta, atol=1e-4)
    np.testing.assert_allclose(post.basis.inverse, top.basis.inverse, rtol=1e-3)
    assert post.step_size < CLOSE


def test_strong_effects_settle():
    rows, score = draw_rows(np.random.default_rng(6), 100, 500, sd=20.0)
    post = posterior(rows, 400.0)
    assert post.step_size < CLOSE
    assert np.corrcoef(rows.X @ post.theta + post.effect, score)[0, 1] > 0.85


def test_a_chosen_ridge_holds_back_no_more_beside_strong_effects():
    """As seen: with l2="auto" and labels nearly without noise, coefficients were about nothing."""
    rng = np.random.default_rng(12)
    X, left = rng.normal(size=(150, 5)), rng.integers(0, 150, 3000)
    right = (left + rng.integers(1, 150, 3000)) % 150
    score = X @ np.full(5, 1.0) + 5 * rng.normal(size=150)
    won = rng.random(3000) < 1 / (1 + np.exp(score[right] - score[left]))
    data = Comparisons(X, left, right, np.where(won, 1, -1))
    chosen = RankRegression(item_effects=True, l2="auto", inference=None).fit(data)
    alone = RankRegression(l2="auto", inference=None).fit(data)
    free, as_alone, stated = (
        RankRegression(item_effects=True, l2=l2, inference=None).fit(data)
        for l2 in (0.0, alone.l2_, chosen.l2_)
    )
    kept = np.linalg.norm(chosen.coef_) / np.linalg.norm(free.coef_)
    assert kept > 0.7
    assert np.linalg.norm(as_alone.coef_) < 0.7 * np.linalg.norm(chosen.coef_)
    # the ridge that the model names is the one that it has
    np.testing.assert_allclose(stated.coef_, chosen.coef_, rtol=1e-3)
    assert chosen.ridge_curve_.chosen == chosen.l2_


def without_row(rows, row):
    """All comparisons but one."""
    kept = np.arange(len(rows.left)) != row
    names = ("left", "right", "outcome", "amount", "context", "sides", "judge")
    return replace(rows, **{name: getattr(rows, name)[kept] for name in names})


def predictions_without_each(rows, sigma2):
    """Mean and standard deviation of each comparison's eta, by a fit of all others."""
    mean, sd = np.empty((2, len(rows.left)))
    for row, (left, right) in enumerate(zip(rows.left, rows.right, strict=True)):
        others = posterior(without_row(rows, row), sigma2)
        gap = others.effect[left] - others.effect[right]
        mean[row] = rows.delta(others.theta)[row] + gap
        signs = np.zeros(len(rows.X))
        signs[[left, right]] = 1, -1
        sd[row] = np.sqrt(signs @ others.covariance.times(signs))
    return mean, sd


def test_probabilities_of_known_items_fit_decided_comparisons_that_were_left_out():
    """An item's effect that has learnt from a comparison would find its own answer in it again."""
    off, rival = [], []
    for seed in range(3):
        drawn, _ = draw_rows(np.random.default_rng(seed), 12, 60, 1, rule="rao-kupper")
        rows = make_rows(drawn.X, drawn.left, drawn.right, drawn.outcome)
        post, law = posterior(rows, 2.0), OutcomeLaw(rows.rule, 0.0)
        own = post.eta, np.sqrt(post.covariance.pair_variance[rows.pair])
        naive, by_own = (
            decided_scale(law, *seen, rows.outcome, rows.amount)
            for seen in (predictions_without_each(rows, 2.0), own)
        )
        off.append(abs(np.log(scale_of_decided_rows(post, rows.amount) / naive)))
        rival.append(abs(np.log(by_own / naive)))
    assert max(off) < 0.02
    assert min(rival) > 3 * max(off)


def test_another_variance_with_the_same_terms_is_the_law_of_a_linear_model():
    """Scores balance, B'g = m / sigma^2, but for what moves theta; V is the inverse."""
    rows, _ = draw_rows(np.random.default_rng(3), 30, 300)
    post = posterior(rows, 1.0)
    after = at_variance(post, 1.1)
    net = net_pass(rows.left, rows.right, rows.amount * after.delta_score, 30)
    np.testing.assert_allclose(net, after.effect / 1.1, atol=0.01)
    assert np.abs(net - post.effect / 1.1).max() > 0.03
    weight = rows.pair_information(post.derivatives)
    exact = posterior_covariance(rows.pairs, weight, 1.1)
    np.testing.assert_allclose(after.covariance.diagonal, exact.diagonal)


def rows_of_many_kinds(rng, sd):
    """Judges with slopes that are not quite known, a side, ties, weights."""
    rows, _ = draw_rows(rng, 60, 4000, sd=sd, side=True, judge=rng.integers(0, 5, 4000))
    return replace(
        rows,
        amount=rng.uniform(0.3, 2, 4000),
        outcome=np.where(rng.random(4000) < 0.2, 0.0, rows.outcome),
        slopes=rng.uniform(0.5, 1.5, 5),
        slope_variance=rng.uniform(0, 0.2, 5),
    )


@pytest.mark.skipif(not kernels.IS_COMPILED, reason="built without a compiler")
@pytest.mark.parametrize("sd", [0.3, 1.0, 3.0, 20.0])
def test_terms_by_one_compiled_pass_are_those_of_numpy(monkeypatch, sd):
    rows = rows_of_many_kinds(np.random.default_rng(1), sd)
    post = start_posterior(rows, np.full(len(rows.ridge), 0.5), sd**2)
    for _ in range(2):
        terms, on_delta = new_terms(post)
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "IS_COMPILED", False)
            by_numpy, on_delta_by_numpy = new_terms(post)
        for one, other in (
            (terms.eta, by_numpy.eta),
            (terms.eta_eta, by_numpy.eta_eta),
            (on_delta, on_delta_by_numpy),
        ):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(other).max())
        post = sweep(post)


def test_terms_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(threads, "LARGE", 1)
    rows = rows_of_many_kinds(np.random.default_rng(2), 1.0)
    post, found = start_posterior(rows, np.full(len(rows.ridge), 0.5), 1.0), []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "n_threads", lambda number=number: number)
        terms, on_delta = new_terms(post)
        found.append([terms.eta, terms.eta_eta, on_delta])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_first_effects_take_no_terms_but_those_of_the_fit_without():
    """A sweep from there finds the same terms again, and the same effects by them."""
    rows, _ = draw_rows(np.random.default_rng(6), 40, 500)
    top = maximise_rows(rows, rows.start(np.zeros(2)), 100, 1e-12)
    none = start_posterior(rows, top.theta, 0.0)
    first = at_variance(none, 0.8)
    assert first.n_sweeps == 0
    swept = sweep(replace(none, sigma2=0.8))
    np.testing.assert_allclose(first.effect, swept.effect, atol=1e-12)
    assert np.abs(first.effect).max() > 0.1


def test_a_fit_with_effects_of_many_items_takes_few_products(monkeypatch):
    """Of the graph with columns; they were about 130, and took a third of the time.

    One residual for all equations of a sweep takes 101 where three took 95. Fits without each of
    five folds of items take about as many together.
    """
    products = []
    times = Precision.__matmul__

    def counted(self, columns):
        products.append(columns.shape)
        return times(self, columns)

    monkeypatch.setattr(Precision, "__matmul__", counted)
    rng = np.random.default_rng(7)
    X, (left, right) = rng.normal(size=(2000, 3)), rng.integers(0, 2000, (2, 20_000))
    score = X.sum(axis=1) / 2 + rng.normal(size=2000)
    won = rng.random(20_000) < 1 / (1 + np.exp(score[right] - score[left]))
    data = Comparisons(X, left, right, np.where(won, 1, -1))
    model = RankRegression(item_effects=True).fit(data)
    assert 0.7 < model.item_effects_.sigma2 < 1.4
    assert len(products) < 240
