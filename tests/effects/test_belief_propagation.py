"""Variances of items' effects by messages: exact on trees, close elsewhere, and never trusted where
they are not.
"""

import numpy as np
import pytest

from pairscore.core.pair_graph import aggregate_pairs, laplacian
from pairscore.effects import belief_propagation, item_covariance
from pairscore.effects.belief_propagation import tree_variances
from pairscore.effects.item_covariance import posterior_covariance
from tests.effects.simulators import inverse, of_differences, small_pairs


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
        exact = inverse(pairs, weight, 1.5)
        own, of_pairs, _ = tree_variances(pairs, weight, 1 / 1.5)
        np.testing.assert_allclose(own, np.diag(exact), rtol=tolerance)
        np.testing.assert_allclose(of_pairs, of_differences(exact, pairs), rtol=tolerance)
        alone = 1 / (1 / 1.5 + pairs.item_sums(weight, weight))
        # as if the opponents' scores were known
        assert np.max(np.abs(alone / np.diag(exact) - 1)) > tolerance


def test_many_items_go_by_messages_and_gradients_with_the_same_answer(monkeypatch):
    rng = np.random.default_rng(6)
    pairs, columns = small_pairs(rng, 300, 2400), rng.normal(size=(300, 3))
    formed = posterior_covariance(pairs, 0.2 * pairs.number, 2.0)
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 10)
    sparse = posterior_covariance(pairs, 0.2 * pairs.number, 2.0)
    np.testing.assert_allclose(sparse.times(columns), formed.times(columns), atol=1e-3)
    np.testing.assert_allclose(sparse.times(columns[:, 0]), formed.times(columns[:, 0]), atol=1e-3)
    np.testing.assert_allclose(sparse.diagonal, formed.diagonal, rtol=0.03)


def test_the_trace_is_right_where_all_items_of_a_group_meet(monkeypatch):
    """Messages go round in such groups and are too small; random signs are not."""
    group = np.repeat(np.arange(30), 28)
    low, high = (np.tile(ends, 30) + 8 * group for ends in np.triu_indices(8, 1))
    pairs = aggregate_pairs(low, high, np.ones(len(low)), np.ones(len(low)), 240)
    weight = np.full(len(pairs.high), 2.0)
    exact = np.trace(inverse(pairs, weight, 25.0))
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 5)
    found = posterior_covariance(pairs, weight, 25.0)
    # of sum z'Vz over some draws of signs: twice the sum of squares off the diagonal
    matrix = inverse(pairs, weight, 25.0)
    error = np.sqrt(
        2 * np.sum((matrix - np.diag(np.diag(matrix))) ** 2) / belief_propagation.MOST_PROBES
    )
    assert abs(found.trace() - exact) < 4.5 * error
    own, *_ = tree_variances(pairs, weight, 1 / 25.0)
    assert own.sum() < 0.7 * exact
    # variances are scaled so that they add up, of items and of their differences
    np.testing.assert_allclose(found.diagonal, np.diag(matrix), rtol=4.5 * error / exact)
    np.testing.assert_allclose(found.pair_variance, of_differences(matrix, pairs), rtol=0.05)


def test_another_variance_needs_no_new_signs_for_the_trace(monkeypatch):
    """What circles take off variances is about the same there; the trace is made when asked for."""
    rng = np.random.default_rng(8)
    groups = np.arange(600).reshape(30, 20)
    low, high = np.concatenate([one[np.array(np.triu_indices(20, 1))] for one in groups], axis=1)
    pairs = aggregate_pairs(low, high, np.ones(len(low)), np.ones(len(low)), 600)
    weight = rng.gamma(2.0, 0.1, size=len(pairs.high))
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 5)
    near = posterior_covariance(pairs, weight, 2.0).at(2.2)
    exact = inverse(pairs, weight, 2.2)
    anew = posterior_covariance(pairs, weight, 2.2)
    np.testing.assert_allclose(near.diagonal, anew.diagonal, rtol=0.02)
    np.testing.assert_allclose(near.pair_variance, anew.pair_variance, rtol=0.02)
    np.testing.assert_allclose(near.pair_variance, of_differences(exact, pairs), rtol=0.05)
    assert near.trace() == pytest.approx(np.trace(exact), rel=0.02)
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 1000)
    formed = posterior_covariance(pairs, weight, 2.0).at(2.2)
    np.testing.assert_allclose(formed.diagonal, np.diag(exact))


def test_starting_from_nearly_right_variances_ends_at_the_same_ones(monkeypatch):
    """As a sweep does from the one before: far fewer rounds and steps, but no other answer."""
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 0)
    rng = np.random.default_rng(8)
    pairs = small_pairs(rng, 400, 2000)
    weight = 0.2 * pairs.number * rng.uniform(0.8, 1.2, len(pairs.high))
    before = posterior_covariance(pairs, 0.2 * pairs.number, 1.8)
    found, cold = (posterior_covariance(pairs, weight, 2.0, near) for near in (before, None))
    np.testing.assert_allclose(found.diagonal, cold.diagonal, rtol=2e-3)
    np.testing.assert_allclose(found.pair_variance, cold.pair_variance, rtol=2e-3)
    assert found.trace() == pytest.approx(cold.trace(), rel=3e-4)
    assert abs(before.trace() / found.trace() - 1) > 0.01


def test_the_trace_has_only_the_noise_that_messages_do_not_know(monkeypatch):
    """Of z'Vz over some signs: twice the squares of V off the diagonal, less what messages say."""
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 0)
    pairs = small_pairs(np.random.default_rng(8), 400, 2000)
    weight = 0.2 * pairs.number
    matrix = inverse(pairs, weight, 2.0)
    own, of_pairs, _ = tree_variances(pairs, weight, 1 / 2.0)
    rest = matrix - 2.0 / 400  # signs are centred, and V 1 = sigma^2 1
    np.fill_diagonal(rest, 0.0)
    plain = np.sqrt(2 * np.sum(rest**2) / belief_propagation.MOST_PROBES)
    across = (own[pairs.low] + own[pairs.high] - of_pairs) / 2
    rest[pairs.low, pairs.high] -= across
    rest[pairs.high, pairs.low] -= across
    noise = np.sqrt(2 * np.sum(rest**2) / belief_propagation.MOST_PROBES)
    assert noise < 0.6 * plain
    found = posterior_covariance(pairs, weight, 2.0)
    assert abs(found.trace() - np.trace(matrix)) < 4.5 * noise


def test_the_trace_of_effects_that_hardly_matter_has_no_noise(monkeypatch):
    """There V is about sigma^2 I, so that its trace is sigma^2 N; squares of signs that were
    centred add up to N less something random, and with it signs alone are off by much more.
    """
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 0)
    pairs = small_pairs(np.random.default_rng(8), 250, 1250)
    found = posterior_covariance(pairs, 0.2 * pairs.number, 1e-3)
    exact = float(np.trace(inverse(pairs, 0.2 * pairs.number, 1e-3)))
    assert found.trace() == pytest.approx(exact, rel=1e-5)
    signs = found._signs
    assert abs(np.sum(signs**2) / signs.shape[1] + 1 - 250) > 0.1


def test_on_a_tree_the_trace_has_no_noise(monkeypatch):
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 0)
    monkeypatch.setattr(belief_propagation, "ROUNDS", 400)  # a message goes from end to end
    low = np.arange(299)
    chain = aggregate_pairs(low, low + 1, np.ones(299), np.ones(299), 300)
    found = posterior_covariance(chain, np.full(299, 0.4), 2.0)
    exact = np.trace(inverse(chain, np.full(299, 0.4), 2.0))
    assert found.trace() == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("sigma2", [4.0, np.inf])
def test_the_error_of_an_item_in_half_of_all_comparisons_is_solved_for(sigma2):
    rng = np.random.default_rng(5)
    left, right = rng.integers(1, 600, (2, 4800))
    left[rng.random(4800) < 0.5] = 0
    apart = left != right
    one = np.ones(np.count_nonzero(apart))
    pairs = aggregate_pairs(left[apart], right[apart], one, one, 600)
    weight = 0.2 * pairs.number
    found = posterior_covariance(pairs, weight, sigma2, exact_items=0)
    centre = np.eye(600) - 1 / 600
    precision = laplacian(pairs, weight, 0.0 if np.isinf(sigma2) else 1 / sigma2).toarray()
    exact = np.diag(centre @ np.linalg.pinv(precision, hermitian=True) @ centre)
    np.testing.assert_allclose(found.centred_diagonal(), exact, rtol=0.02)
    own = found.diagonal[0] - (0.0 if np.isinf(sigma2) else sigma2 / 600)
    assert abs(own / exact[0] - 1) > 0.1
