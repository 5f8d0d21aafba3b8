"""Tiles hold every comparison once, and sums over blocks are those over one block."""

import pickle
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore import Comparisons, PairscoreError
from pairscore.core.links import get_link
from pairscore.core.scale import NO_RIDGE
from pairscore.estimators.closed_form_errors import ClosedFormEquations, ScaledClosedForm
from pairscore.estimators.fit_data import Cut, Selection
from pairscore.estimators.likelihood_errors import LikelihoodEquations
from pairscore.estimators.null_space import PlacesTask
from pairscore.estimators.pair_sums import NoSums, PairTask
from pairscore.estimators.table_data import TableData
from pairscore.estimators.tile import CountTask, WholeBlock
from pairscore.streaming.batches import Batch, NumberedPart
from pairscore.streaming.blocks import BlockTask, StreamBlock, Tiles
from pairscore.streaming.engines import LocalEngine
from pairscore.streaming.scratch import shared_folder
from pairscore.streaming.shared_items import FeatureFiles, item_file
from pairscore.streaming.spill import Grid, Spill
from pairscore.streaming.stream_items import ItemBlock, write_features
from tests.hard_designs import NAMES, draw


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


def assert_same_sums(ours, theirs, size):
    """Field by field, relative to the largest entry of a field; ``size`` is that of rounding."""
    if isinstance(theirs, np.ndarray | float):
        largest = max(float(np.abs(theirs).max(initial=0.0)), size)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * largest)
        return
    assert type(ours) is type(theirs)
    for field in fields(theirs):
        assert_same_sums(getattr(ours, field.name), getattr(theirs, field.name), size)


METHODS = ("split", "pooled", "paired", "mle")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=st.integers(1, 22),
    side=st.booleans(),
    robust=st.booleans(),
    name=st.sampled_from(NAMES),
    method=st.sampled_from(METHODS),
    link=st.sampled_from(["logit", "probit"]),
)
def test_sums_over_blocks_are_those_over_all_pairs(
    seed, size, side, robust, name, method, link, tmp_path_factory
):
    """Of easy and hard data, and of some of the comparisons; an item may have its own column."""
    n, d = 20, 3
    rng = np.random.default_rng(seed)
    drawn = draw(name, rng, n, 80, d)
    X = drawn.X + 2
    if seed % 2:
        X[:, 2] = np.where(np.arange(n) == drawn.left[0], 1.0, 0.0)
    weight = np.ones(80) if drawn.weight is None else drawn.weight
    outcome = drawn.outcome.astype(np.int8)
    batch = Batch(drawn.left, drawn.right, outcome, weight)
    votes = Comparisons(X, drawn.left, drawn.right, drawn.outcome, weight=weight)
    data, choices = TableData(votes, side), ()
    mean = data.item_moments.mean
    if seed % 3 == 0:  # comparisons that a step moves
        choices = (Selection((Cut(rng.normal(size=n), 0.1, 0.5),), touched=True),)
        data = data.part(choices[0])
    spill = spill_of(tmp_path_factory.mktemp("t"), batch, n, size)
    has_ties = bool(np.any(outcome == 0))
    tiles = Tiles(spill, 3, X, mean, side, has_ties, choices)
    link, b, effect = get_link(link), rng.normal(size=d), 0.3 if side else 0.0
    if method == "mle":
        equations, n_equations = LikelihoodEquations(link, X @ b, effect), d + side
    else:
        form = ScaledClosedForm(link, method, b, np.eye(d), 0.8, effect, NO_RIDGE, b)
        equations = ClosedFormEquations(form, X @ b, float(mean @ b))
        n_equations = d + 1 + side
    inflation = None
    if robust:
        inflation = np.where(np.arange(n) == drawn.left[0], 0.0, rng.uniform(1, 3, n))
    # a matrix of the whole tile is as much as one of a small one, up to rounding
    whole = WholeBlock(tile_at(data, mean))
    rounding = 1e-4 * float(np.abs(X).max() ** 2 * weight.sum())
    for task in (
        PairTask(equations, n_equations, inflation),
        CountTask(d + side),
        PlacesTask(np.eye(d)[:, :2]),
    ):
        total = LocalEngine(2).total(BlockTask(tiles, task), range(tiles.n_blocks))
        if not np.any(data.amount > 0):
            continue
        assert_same_sums(total, task(whole), rounding)
        assert_same_sums(task(WholeBlock(whole.tile, many_pairs=size)), task(whole), rounding)


def tile_at(data, mean):
    """The tile of all comparisons, centred at a mean."""
    return replace(data.tile, mean=mean)


def test_a_block_has_its_low_items_and_all_tiles_in_which_it_has_a_part(tmp_path):
    batch = rows(1, 23, 300)
    X = np.random.default_rng(1).normal(size=(23, 2))
    tiles = Tiles(spill_of(tmp_path, batch, 23, 6), 3, X, X.mean(axis=0), False, True)
    number, items = 0.0, []
    for block in (StreamBlock(tiles, k) for k in range(tiles.n_blocks)):
        assert not block.is_whole
        items += range(block.rows.start, block.rows.stop)
        owned = [tile for is_low, tile in block.tiles(owned=True) if is_low]
        number += sum(tile.pairs.number.sum() for tile in owned)
        of_block = sum(tile.pairs.exposures[tile.own] for _, tile in block.tiles(owned=False))
        here = slice(block.rows.start, block.rows.stop)
        met = np.bincount(batch.left, batch.amount, 23) + np.bincount(batch.right, batch.amount, 23)
        np.testing.assert_allclose(of_block, met[here])
        for _, tile in block.tiles(owned=False):
            np.testing.assert_array_equal(tile.X[tile.own], X[here])
            np.testing.assert_array_equal(tile.take(np.arange(23.0))[tile.own], np.arange(23)[here])
    assert number == batch.amount.sum()
    assert items == list(range(23))


def test_blocks_that_never_met_have_no_tile(tmp_path):
    batch = Batch(np.array([0, 5]), np.array([1, 4]), np.array([1, 1], dtype=np.int8), np.ones(2))
    tiles = Tiles(spill_of(tmp_path, batch, 6, 3), 3, np.eye(6), np.zeros(6), False, False)
    assert tiles.tile(0, 1) is None
    assert [tile.tied for _, tile in StreamBlock(tiles, 0).tiles(owned=False)] == [None]


def test_blocks_without_comparisons_add_nothing(tmp_path):
    batch = Batch(np.array([0]), np.array([1]), np.array([1], dtype=np.int8), np.ones(1))
    tiles = Tiles(spill_of(tmp_path, batch, 6, 3), 3, np.eye(6), np.zeros(6), False, False)
    equations = LikelihoodEquations(get_link("logit"), np.zeros(6), 0.0)
    for inflation in (None, np.ones(6)):
        task = PairTask(equations, 6, inflation)
        here, nothing = (task(StreamBlock(tiles, block)) for block in (0, 1))
        assert isinstance(nothing.equations, NoSums)
        for total in (here + nothing, nothing + here):
            assert_same_sums(total, here, 1.0)


# -- tiles in a folder: whole files, and no comparison left out because a folder is another one


ROWS = np.array([0, 4, 2]), np.array([1, 2, 3])
BATCH = Batch(*ROWS, np.array([1, -1, 0], dtype=np.int8), np.ones(3))


def test_a_part_that_is_written_again_is_there_once(tmp_path):
    spill = Spill(str(tmp_path), Grid(5, 2))
    for _ in range(2):
        spill.close(0, [spill.write(0, 0, BATCH)])
    names = {path.name for path in tmp_path.iterdir()}
    columns = {f"0000000-00000-{name}.npy" for name in ("left", "right", "outcome", "amount")}
    assert names == columns | {"0000000-starts.npy"}
    (batch,) = spill.batches(NumberedPart(0, None))
    assert sorted(zip(batch.left, batch.right, strict=True)) == [(0, 1), (2, 3), (4, 2)]


def test_a_part_without_comparisons_is_empty_and_not_missing(tmp_path):
    spill = Spill(str(tmp_path), Grid(5, 2))
    spill.close(0, [])
    assert list(spill.batches(NumberedPart(0, None))) == []
    assert len(spill.tile(1, 0, 1).left) == 0


def test_a_part_that_another_machine_wrote_elsewhere_is_an_error_and_not_left_out(tmp_path):
    spill = Spill(str(tmp_path), Grid(5, 2))
    spill.close(0, [spill.write(0, 0, BATCH)])
    with pytest.raises(PairscoreError, match=r"No such file.*every worker can reach \(scratch=\)"):
        spill.tile(2, 0, 1)
    with pytest.raises(PairscoreError, match="every worker can reach"):
        Spill(str(tmp_path / "elsewhere"), Grid(5, 2)).write(0, 0, BATCH)


def test_a_folder_is_gone_for_whoever_still_writes_when_a_fit_is_given_up(tmp_path):
    with shared_folder(str(tmp_path)) as folder:
        spill = Spill(folder, Grid(5, 2))
        spill.write(0, 0, BATCH)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(PairscoreError, match="No such file"):
        spill.write(0, 1, BATCH)


def test_a_folder_has_the_rights_of_the_one_it_is_in(tmp_path):
    tmp_path.chmod(0o770)
    with shared_folder(str(tmp_path)) as folder:
        assert Path(folder).stat().st_mode & 0o777 == 0o770
        assert Path(folder).parent.stat().st_mode & 0o777 == 0o770


def test_features_in_files_are_sent_as_their_names_and_read_across_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    starts = (0, 400, 400, 410, 1000)  # one part has no items
    for number, (first, last) in enumerate(pairwise(starts)):
        block = ItemBlock(np.empty(0), X[first:last].T)
        write_features([block], item_file(str(tmp_path), number))
    table = FeatureFiles(str(tmp_path), starts, 3)
    sent = pickle.dumps(table)
    assert len(sent) < 1000
    assert table.shape == X.shape
    for rows in (slice(10, 20), slice(395, 420), slice(400, 410), slice(None), slice(7, 7)):
        np.testing.assert_array_equal(pickle.loads(sent)[rows], X[rows])
