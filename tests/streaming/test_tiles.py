"""Tiles hold every comparison once, and sums over blocks are sums over all pairs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore.core.linalg import whitening_basis
from pairscore.core.links import get_link
from pairscore.core.moments import moments
from pairscore.core.pair_graph import aggregate_pairs, difference_scatter
from pairscore.core.sandwich import centred_meat, item_robust_meat
from pairscore.estimators.likelihood import likelihood_contributions
from pairscore.streaming.passes import NumberedPart
from pairscore.streaming.rows import Batch
from pairscore.streaming.spill import Grid, Spill
from pairscore.streaming.tiles import (
    CountTask,
    LikelihoodEquations,
    PairTask,
    Tiles,
    no_pairs,
)


def rows(seed, n, m):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    amount = rng.choice([1.0, 2.5], m)
    return Batch(left, right, rng.integers(-1, 2, m).astype(np.int8), amount)


def spill_of(folder, batch, n, size, n_parts=3):
    spill = Spill(str(folder), Grid(n, size))
    for part, places in enumerate(np.array_split(np.arange(len(batch.left)), n_parts)):
        chunks = enumerate(np.array_split(places, 2))
        spill.close(part, [spill.write(part, chunk, batch.take(few)) for chunk, few in chunks])
    return spill


def test_each_comparison_stands_in_the_tile_of_its_pair_once(tmp_path):
    batch = rows(0, 23, 300)
    spill = spill_of(tmp_path, batch, 23, 6)
    grid, found = spill.grid, []
    for a in range(grid.n_blocks):
        for b in range(a, grid.n_blocks):
            tile = spill.tile(3, a, b)
            low, high = np.minimum(tile.left, tile.right), np.maximum(tile.left, tile.right)
            assert set(low // 6) <= {a}
            assert set(high // 6) <= {b}
            found += list(zip(*(column.tolist() for column in tile[:4]), strict=True))
    assert sorted(found) == sorted(zip(*(column.tolist() for column in batch[:4]), strict=True))
    again = [one for part in range(3) for one in spill.batches(NumberedPart(part, None))]
    assert sum(len(one.left) for one in again) == 300


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(1, 14), side=st.booleans(), own=st.booleans())
def test_sums_over_blocks_are_those_over_all_pairs(seed, size, side, own, tmp_path_factory):
    n, d = 12, 3
    batch, rng = rows(seed, n, 80), np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2
    if own:  # an item with a column of its own counts each of its comparisons once
        X[:, 2] = 0.0
        X[4, 2] = 1.0
    link, scores, effect = get_link("logit"), rng.normal(size=n), 0.3 if side else 0.0
    pairs = aggregate_pairs(*batch[:4], n, side)
    center = moments(X, pairs.exposures)
    shift = effect * pairs.side[:, None]
    score, information = link.score(pairs.differences(scores) + shift, pairs.win, pairs.lose)
    whitener = whitening_basis(center.scatter, center.sd).transform
    u = likelihood_contributions(score, pairs)
    weight = information.sum(axis=0)
    whole, scatter = item_robust_meat(X, center, pairs, u, whitener, weight)
    spill = spill_of(tmp_path_factory.mktemp("t"), batch, n, size)
    tiles = Tiles(spill, 3, X, center.mean, side)
    blocks = range(tiles.n_blocks)
    from pairscore.core.sandwich import jackknife_inflation

    inflation = jackknife_inflation(X - center.mean, pairs.exposures, whitener)
    equations = LikelihoodEquations(link, scores, effect, has_ties=True)
    first, *others = map(PairTask(tiles, equations, d + side, inflation), blocks)
    for sums in others:
        first = first + sums
    meat = centred_meat(first.items - first.pairs, first.total, float(pairs.number.sum()))
    np.testing.assert_allclose(meat, whole, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(first.equations.expected[:d, :d], scatter, rtol=1e-8, atol=1e-8)
    first, *others = map(CountTask(tiles), blocks)
    for counts in others:
        first = first + counts
    expected = difference_scatter(X, center.mean, pairs, pairs.number)
    np.testing.assert_allclose(first.scatter[:d, :d], expected, rtol=1e-8, atol=1e-8)
    assert first.squares == pytest.approx(float(np.sum(pairs.number**2)))


def test_no_pairs_are_of_no_items():
    assert no_pairs(2).n_items == 0
    assert replace(no_pairs(1)).number.sum() == 0
