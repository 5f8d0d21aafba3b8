"""Item effects given their variance: mode, errors and what they share."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pairscore.core.links import Logit, Probit
from pairscore.core.sums import aggregate_pairs
from pairscore.effects.item_posterior import (
    item_effects,
    posterior_covariance,
    posterior_mode,
    precision_matrix,
    tree_variances,
)
from pairscore.effects.shared_items import Seen
from tests.effects.simulators import small_pairs


@pytest.mark.parametrize("link", [Logit(), Probit()])
def test_effects_are_those_of_a_general_optimiser(link):
    rng, sigma2 = np.random.default_rng(3), 1.7
    pairs = small_pairs(rng, keep_sides=True)
    difference = pairs.differences(rng.normal(size=12)) + 0.4 * pairs.side[:, None]

    def loss(effect):
        x = difference + pairs.differences(effect)
        return -np.sum(
            pairs.win * link.log_cdf(x) + pairs.lose * link.log_cdf(-x)
        ) + effect @ effect / (2 * sigma2)

    naive = minimize(loss, np.zeros(12), method="BFGS", options={"gtol": 1e-7}).x
    effect, _ = posterior_mode(Seen.of_pairs(pairs, link, difference), sigma2)
    np.testing.assert_allclose(effect, naive, atol=1e-5)
    assert effect.sum() == pytest.approx(0, abs=1e-8)


def test_variances_are_exact_on_a_tree_and_close_on_random_comparisons():
    rng = np.random.default_rng(4)
    parent = np.array([rng.integers(0, item) for item in range(1, 40)])
    tree = aggregate_pairs(parent, np.arange(1, 40), np.ones(39), np.ones(39), 40)
    for pairs, tolerance in (
        (tree, 1e-5),
        (small_pairs(rng, 600, 1800), 0.03),
        (small_pairs(rng, 600, 12_000), 0.03),
    ):
        weight = 0.2 * pairs.number
        inverse = np.linalg.inv(precision_matrix(pairs, weight, 1.5).toarray())
        exact = np.diag(inverse)
        np.testing.assert_allclose(tree_variances(pairs, weight, 1.5)[0], exact, rtol=tolerance)
        of_difference = exact[pairs.low] + exact[pairs.high] - 2 * inverse[pairs.low, pairs.high]
        own, shared = tree_variances(pairs, weight, 1.5)
        np.testing.assert_allclose(
            own[pairs.low] + own[pairs.high] - 2 * shared, of_difference, rtol=tolerance
        )
        alone = 1 / (1 / 1.5 + pairs.sum_at_low(weight) + pairs.sum_at_high(weight))
        # as if the opponents' scores were known
        assert np.max(np.abs(alone / exact - 1)) > tolerance


def test_the_posterior_covariance_is_the_inverse():
    pairs = small_pairs(np.random.default_rng(14), 60, 300)
    precision = precision_matrix(pairs, 0.2 * pairs.number, 1.5)
    np.testing.assert_allclose(
        posterior_covariance(precision), np.linalg.inv(precision.toarray()), atol=1e-12
    )


def test_the_error_of_a_score_is_that_of_the_moved_mode_and_of_the_posterior():
    rng, sigma2, link = np.random.default_rng(5), 0.9, Logit()
    pairs, X = small_pairs(rng), rng.normal(size=(12, 2))
    coef, root = np.array([0.7, -0.4]), np.array([[0.3, 0.0], [0.1, 0.2]])
    found = item_effects(
        Seen.of_pairs(pairs, link, pairs.differences(X @ coef)[None]), sigma2, X, root
    )
    _, information = posterior_mode(
        Seen.of_pairs(pairs, link, pairs.differences(X @ coef)[None]), sigma2
    )
    moved = np.zeros((12, 2))
    for feature, small in enumerate(1e-4 * np.eye(2)):
        up, down = (
            X @ beta
            + posterior_mode(Seen.of_pairs(pairs, link, pairs.differences(X @ beta)[None]), sigma2)[
                0
            ]
            for beta in (coef + small, coef - small)
        )
        moved[:, feature] = (up - down) / 2e-4
    C = root @ root.T
    naive = np.einsum("ij,jk,ik->i", moved, C, moved) + np.diag(
        np.linalg.inv(precision_matrix(pairs, information, sigma2).toarray())
    )
    np.testing.assert_allclose(
        found.share**2 * np.einsum("ij,jk,ik->i", X, C, X) + found.variance, naive, rtol=1e-4
    )


def test_many_items_go_by_sparse_solves_with_the_same_answer(monkeypatch):
    rng = np.random.default_rng(6)
    pairs, X, root = small_pairs(rng, 300, 2400), rng.normal(size=(300, 2)), 0.1 * np.eye(2)
    exact = item_effects(
        Seen.of_pairs(pairs, Logit(), np.zeros((1, len(pairs.high)))), 1.0, X, root
    )
    monkeypatch.setattr("pairscore.effects.item_posterior.EXACT_ITEMS", 10)
    sparse = item_effects(
        Seen.of_pairs(pairs, Logit(), np.zeros((1, len(pairs.high)))), 1.0, X, root
    )
    np.testing.assert_allclose(sparse.variance, exact.variance, rtol=0.03)
    np.testing.assert_allclose(sparse.share, exact.share, atol=0.01)
    np.testing.assert_allclose(sparse.effect, exact.effect, atol=1e-6)
