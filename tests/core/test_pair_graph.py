"""Sums that add: shards equal the whole, and numpy's moments."""

import numpy as np
import pytest

from pairscore.core.moments import Moments, moments, spread
from pairscore.core.pair_graph import (
    Tally,
    aggregate_pairs,
    difference_scatter,
    pair_scatters,
    tally,
)
from tests.laws import GaussianStudy


def random_comparisons(seed, n_items=14, n_comparisons=60, n_features=3):
    """Features, left, right, outcome and amount; some rows compare an item with itself."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, n_items, (2, n_comparisons))
    outcome, amount = rng.integers(-1, 2, n_comparisons), rng.uniform(0.5, 2, n_comparisons)
    return rng.normal(size=(n_items, n_features)) + 5, left, right, outcome, amount


@pytest.mark.parametrize("keep_sides", [False, True])
def test_pairs_are_the_sums_of_a_loop(keep_sides):
    X, left, right, outcome, amount = random_comparisons(0)
    pairs = aggregate_pairs(left, right, outcome, amount, len(X), keep_sides)
    win, lose = {}, {}
    for i, j, y, a in zip(left, right, outcome, amount, strict=True):
        if i != j:
            key = (min(i, j), max(i, j), (1 if i < j else -1) if keep_sides else 0)
            low = y if i < j else -y
            win[key] = win.get(key, 0) + a * (1 + low) / 2
            lose[key] = lose.get(key, 0) + a * (1 - low) / 2
    for row, side in enumerate(pairs.side):
        for p, (i, j) in enumerate(zip(pairs.low, pairs.high, strict=True)):
            assert pairs.win[row, p] == pytest.approx(win.get((i, j, side), 0), abs=1e-12)
            assert pairs.lose[row, p] == pytest.approx(lose.get((i, j, side), 0), abs=1e-12)


def test_pairs_are_a_graph_with_its_incidence_matrix():
    X, left, right, outcome, amount = random_comparisons(1)
    pairs, rng = aggregate_pairs(left, right, outcome, amount, len(X)), np.random.default_rng(2)
    incidence = np.zeros((len(pairs.high), len(X)))
    incidence[np.arange(len(pairs.high)), pairs.low] = 1
    incidence[np.arange(len(pairs.high)), pairs.high] = -1
    scores, values = rng.normal(size=len(X)), rng.normal(size=len(pairs.high))
    np.testing.assert_allclose(pairs.differences(scores), incidence @ scores)
    np.testing.assert_allclose(pairs.net_per_item(values), incidence.T @ values)
    D, mean = incidence @ X, X.mean(axis=0)
    np.testing.assert_allclose(
        difference_scatter(X, mean, pairs, values), (D * values[:, None]).T @ D, atol=1e-10
    )
    Z, own = X - mean, rng.normal(size=(2, len(X)))
    low, high = Z[pairs.low], Z[pairs.high]
    both = np.array([values, rng.normal(size=len(values))])
    found = pair_scatters(X, mean, pairs, own, both)
    for scatter, diagonal, off_diagonal in zip(found, own, both, strict=True):
        crossed = (low * off_diagonal[:, None]).T @ high
        expected = (Z * diagonal[:, None]).T @ Z + crossed + crossed.T
        np.testing.assert_allclose(scatter, expected, atol=1e-10)
    start, neighbour, order = pairs.by_high
    assert np.array_equal(pairs.low[order], neighbour)
    assert np.array_equal(np.repeat(np.arange(len(X)), np.diff(start)), pairs.high[order])


def test_a_tally_is_that_of_a_loop():
    X, left, right, outcome, amount = random_comparisons(3)
    found = tally(left, right, outcome, amount, len(X))
    w, k = np.zeros(len(X)), np.zeros(len(X))
    for i, j, y, a in zip(left, right, outcome, amount, strict=True):
        w[i] += a * y
        w[j] -= a * y
        k[[i, j]] += a * (i != j)
    np.testing.assert_allclose(found.net_wins, w, atol=1e-12)
    np.testing.assert_allclose(found.exposures, k)
    assert found.n_comparisons == pytest.approx(amount.sum())


def test_sums_of_shards_equal_the_whole():
    X, votes = GaussianStudy(60, 700, 4).draw(np.random.default_rng(0))
    left, right, outcome, amount = (
        votes[:, 0],
        votes[:, 1],
        np.ones(700),
        np.random.default_rng(0).uniform(0.5, 2, 700),
    )
    whole = tally(left, right, outcome, amount, len(X))
    parts = Tally.zero(len(X))
    for rows in (slice(0, 10), slice(10, 11), slice(11, 700)):
        parts = parts + tally(left[rows], right[rows], outcome[rows], amount[rows], len(X))
    for name in ("net_wins", "exposures", "n_comparisons"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    all_items = moments(X, whole.exposures + 1)
    items = Moments.zero(4)
    for rows in (slice(0, 1), slice(1, 50), slice(50, 120)):
        items = items + moments(X[rows], whole.exposures[rows] + 1)
    items = items + Moments.zero(4)
    for name in ("total", "mean", "scatter"):
        np.testing.assert_allclose(getattr(items, name), getattr(all_items, name), rtol=1e-12)
    together = aggregate_pairs(left, right, outcome, amount, len(X))
    apart = [
        aggregate_pairs(left[rows], right[rows], outcome[rows], amount[rows], len(X))
        for rows in (slice(0, 300), slice(300, 700))
    ]
    mean = X.mean(axis=0)
    total = sum(difference_scatter(X, mean, pairs, pairs.number) for pairs in apart)
    np.testing.assert_allclose(
        total, difference_scatter(X, mean, together, together.number), rtol=1e-10
    )


@pytest.mark.parametrize("n_rows", [1, 5, 1023, 1024, 1025, 2500])
def test_moments_equal_numpys(n_rows):
    rng = np.random.default_rng(n_rows)
    X, weight = rng.normal(size=(n_rows, 3)) + 100, rng.integers(0, 4, n_rows).astype(float)
    weight[0] = 2.0
    ours = moments(X, weight)
    np.testing.assert_allclose(ours.mean, np.average(X, axis=0, weights=weight), rtol=1e-12)
    np.testing.assert_allclose(
        ours.covariance, np.cov(X.T, bias=True, fweights=weight.astype(int)), rtol=1e-9, atol=1e-12
    )
    for found, expected in zip(vars(spread(X, weight)).values(), (ours.mean, ours.sd), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_pairs_among_items_that_are_linked_to_no_others_are_a_graph_of_their_own():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 3, 60)
    members = [np.flatnonzero(group == one) for one in range(3)]
    left, right = np.concatenate([rng.choice(these, (2, 50)) for these in members], axis=1)
    outcome, one = rng.integers(-1, 2, 150), np.ones(150)
    pairs = aggregate_pairs(left, right, outcome, one, 60, keep_sides=True)
    some = np.isin(group, [0, 2])
    found, numbers = pairs.among(some)
    inside = some[left]
    place = np.cumsum(some) - 1
    alone = aggregate_pairs(
        place[left[inside]], place[right[inside]], outcome[inside], one[inside], some.sum(), True
    )
    for name in ("start", "high", "win", "lose", "side"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
    np.testing.assert_array_equal(pairs.win[:, numbers], found.win)
