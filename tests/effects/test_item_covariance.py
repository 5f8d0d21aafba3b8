"""The covariance of items' effects: formed in blocks, beside messages in large groups."""

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.core.pair_graph import aggregate_pairs, laplacian
from pairscore.effects import item_covariance
from pairscore.effects.item_covariance import (
    EXACT_ITEMS,
    lasting_covariance,
    posterior_covariance,
)
from tests.effects.simulators import inverse, of_differences, small_pairs


def test_the_formed_covariance_is_the_inverse():
    pairs = small_pairs(np.random.default_rng(14), 60, 300)
    exact = inverse(pairs, 0.2 * pairs.number, 1.5)
    found = posterior_covariance(pairs, 0.2 * pairs.number, 1.5)
    np.testing.assert_allclose(found.diagonal, np.diag(exact))
    np.testing.assert_allclose(found.pair_variance, of_differences(exact, pairs))
    np.testing.assert_allclose(found.times(np.eye(60)), exact, atol=1e-12)
    assert found.trace() == pytest.approx(np.trace(exact))


def test_groups_that_never_meet_have_blocks_of_their_own(monkeypatch):
    """Of three sizes, one of them large enough for Cholesky's factor, and two items alone."""
    rng = np.random.default_rng(3)
    groups = [*np.split(np.arange(40), 10), np.arange(40, 120), *np.split(np.arange(120, 141), 3)]
    ends = [one[np.array(np.triu_indices(len(one), 1))] for one in groups]
    low, high = np.concatenate(ends, axis=1)
    pairs = aggregate_pairs(low, high, np.ones(len(low)), np.ones(len(low)), 143)
    weight, columns = rng.gamma(1.0, size=len(pairs.high)), rng.normal(size=(143, 2))
    exact = inverse(pairs, weight, 3.0)
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 100)
    found = posterior_covariance(pairs, weight, 3.0)
    np.testing.assert_allclose(found.diagonal, np.diag(exact))
    np.testing.assert_allclose(found.pair_variance, of_differences(exact, pairs))
    np.testing.assert_allclose(found.times(columns), exact @ columns)
    rows, others = rng.integers(0, 143, (2, 500))
    np.testing.assert_allclose(found.entries(rows, others), exact[rows, others], atol=1e-14)


@pytest.mark.parametrize("sigma2", [0.5, 4.0, np.inf])
def test_small_groups_have_blocks_beside_messages_in_large_ones(sigma2, monkeypatch):
    """Items alone and in twos and eights among them: without a law their own variances by messages
    are without bound, and their sum made those of all others a millionth of what they are.
    """
    rng = np.random.default_rng(9)
    large = small_pairs(rng, 400, 4000)
    ends = [np.array([large.low, large.high])]
    ends += [410 + 8 * k + np.array(np.triu_indices(8, 1)) for k in range(5)]
    ends += [450 + 2 * k + np.array([[0], [1]]) for k in range(5)]
    low, high = np.concatenate(ends, axis=1)
    order = rng.permutation(460)
    one = np.ones(len(low))
    pairs = aggregate_pairs(order[low], order[high], one, one, 460)
    weight, columns = rng.gamma(4.0, 0.05, size=len(pairs.high)), rng.normal(size=(460, 2))
    monkeypatch.setattr(item_covariance, "EXACT_ITEMS", 100)
    found = posterior_covariance(pairs, weight, sigma2)
    matrix = laplacian(pairs, weight, 0.0 if np.isinf(sigma2) else 1 / sigma2).toarray()
    exact = np.linalg.pinv(matrix, hermitian=True)
    groups = pairs.component == np.arange(pairs.component.max() + 1)[:, None]
    centre = np.eye(460) - sum(np.outer(one, one) / one.sum() for one in groups.astype(float))
    np.testing.assert_allclose(found.diagonal, np.diag(exact), rtol=0.03, atol=1e-12)
    np.testing.assert_allclose(found.pair_variance, of_differences(exact, pairs), rtol=0.03)
    np.testing.assert_allclose(
        found.centred_diagonal(), np.diag(centre @ exact @ centre), rtol=0.03, atol=1e-12
    )
    assert found.trace() == pytest.approx(np.trace(exact), rel=0.02)
    small = np.isin(np.arange(460), order[400:])
    np.testing.assert_allclose(found.diagonal[small], np.diag(exact)[small], atol=1e-12)
    given = centre @ columns if np.isinf(sigma2) else columns
    np.testing.assert_allclose(found.times(given, close=1e-8), exact @ given, atol=1e-5)
    rows, others = rng.integers(0, 460, (2, 4000))
    inside = small[rows] & small[others]
    np.testing.assert_allclose(
        found.entries(rows, others)[inside], exact[rows, others][inside], atol=1e-12
    )
    again = found.at(2.0)
    anew = posterior_covariance(pairs, weight, 2.0, near=found)
    np.testing.assert_allclose(again.diagonal, anew.diagonal, rtol=0.03)
    items = np.sort(np.concatenate([items for items, _ in found.blocks()]))
    np.testing.assert_array_equal(items, np.flatnonzero(small))


def seeded_pairs(n):
    """Everybody meets neighbours on a scale."""
    low = np.repeat(np.arange(n - 3), 3)
    high = low + np.tile([1, 2, 3], n - 3)
    return aggregate_pairs(low, high, np.ones(len(low)), np.ones(len(low)), n)


def test_where_messages_are_not_to_be_trusted_errors_come_from_blocks(monkeypatch):
    """Random pairs forget where a walk began; neighbours on a scale do not, and errors by messages
    would be off by a tenth and more.
    """
    monkeypatch.setattr(item_covariance, "LASTING_ITEMS", 100)
    random = small_pairs(np.random.default_rng(2), 700, 7000)
    for pairs, is_trusted in ((random, True), (seeded_pairs(700), False)):
        weight = 0.2 * pairs.number
        exact = np.diag(np.linalg.pinv(laplacian(pairs, weight).toarray(), hermitian=True))
        by_messages = posterior_covariance(pairs, weight, np.inf, exact_items=0)
        off = np.median(np.abs(np.sqrt(by_messages.diagonal / exact) - 1))
        assert by_messages.is_trusted == is_trusted
        assert (off < 0.01) == is_trusted
        kept = lasting_covariance(pairs, weight, np.inf)
        near = 0.02 if is_trusted else 1e-9
        np.testing.assert_allclose(np.sqrt(kept.diagonal), np.sqrt(exact), rtol=near)
        assert bool(list(kept.blocks())) != is_trusted


def test_a_chain_without_a_law_is_not_taken_for_a_tree_with_one(monkeypatch):
    """Messages along a tree are exact beside a law; without one they have no end."""
    monkeypatch.setattr(item_covariance, "LASTING_ITEMS", 100)
    low = np.arange(599)
    chain = aggregate_pairs(low, low + 1, np.ones(599), np.ones(599), 600)
    found = lasting_covariance(chain, np.full(599, 0.4), np.inf)
    exact = np.linalg.pinv(laplacian(chain, np.full(599, 0.4)).toarray(), hermitian=True)
    np.testing.assert_allclose(found.diagonal, np.diag(exact), rtol=1e-6)


def test_blocks_are_formed_of_the_smallest_groups_first(monkeypatch):
    sizes = [40, 3, 20, 20, 5]
    first = np.cumsum([0, *sizes[:-1]])
    ends = [start + np.array(np.triu_indices(s, 1)) for start, s in zip(first, sizes, strict=True)]
    low, high = np.concatenate(ends, axis=1)
    pairs = aggregate_pairs(low, high, np.ones(len(low)), np.ones(len(low)), sum(sizes) + 2)
    monkeypatch.setattr(item_covariance, "MOST_ENTRIES", 9 + 25 + 400 + 2)
    formed = item_covariance.items_of_blocks(pairs, 30)
    assert [bool(formed[start]) for start in first] == [False, True, True, False, True]
    assert formed[-2:].all()
    assert not item_covariance.items_of_blocks(pairs, 0).any()


@pytest.mark.parametrize(("item_effects", "n", "most"), [(True, 300, 0), (False, 300, 1)])
def test_large_blocks_are_formed_once_if_at_all(item_effects, n, most, monkeypatch):
    """The time of a fit grew with the cube of the items, in every sweep, up to a switch."""
    sizes = []
    inverses = item_covariance.inverses

    def counted(stack):
        sizes.append(stack.shape[1])
        return inverses(stack)

    monkeypatch.setattr(item_covariance, "inverses", counted)
    rng = np.random.default_rng(1)
    X, (left, other) = rng.normal(size=(n, 2)), rng.integers(0, n, (2, 10 * n))
    right = np.where(left == other, (other + 1) % n, other)
    won = rng.random(len(left)) < expit((X[left] - X[right]) @ [1.0, -1.0])
    if item_effects:
        data = Comparisons(X, left, right, np.where(won, 1, -1))
        RankRegression(item_effects=True).fit(data)
    else:
        winner, loser = np.where(won, left, right), np.where(won, right, left)
        RankRegression(l2=0.1).fit(None, {"winner": winner, "loser": loser})
    assert sum(size > EXACT_ITEMS for size in sizes) == most


def test_without_effects_there_is_no_covariance():
    pairs = small_pairs(np.random.default_rng(1))
    nothing = posterior_covariance(pairs, pairs.number, 0.0)
    assert nothing.trace() == 0
    assert not nothing.times(np.ones((12, 2))).any()
    assert not nothing.pair_variance.any()


@pytest.mark.parametrize("exact_items", [5, 1000], ids=["messages", "formed"])
def test_without_a_law_the_covariance_is_the_pseudo_inverse_of_the_laplacian(exact_items):
    rng = np.random.default_rng(11)
    pairs = small_pairs(rng, 200, 3000)
    weight = 0.2 * pairs.number
    found = posterior_covariance(pairs, weight, np.inf, exact_items=exact_items)
    exact = np.linalg.pinv(laplacian(pairs, weight).toarray(), hermitian=True)
    columns = rng.normal(size=(200, 2))
    columns -= columns.mean(axis=0)
    formed = exact_items == 1000
    np.testing.assert_allclose(
        found.times(columns), exact @ columns, atol=1e-12 if formed else 0.01
    )
    near = 1e-9 if formed else 0.03
    np.testing.assert_allclose(found.diagonal, np.diag(exact), rtol=near)
    np.testing.assert_allclose(found.pair_variance, of_differences(exact, pairs), rtol=near)
    assert np.isclose(weight @ found.pair_variance, 199)  # tr L L^+ = N - 1
