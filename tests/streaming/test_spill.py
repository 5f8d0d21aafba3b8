"""Tiles in a folder: whole files, and no comparison left out because a folder is another one."""

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.streaming.item_files import FeatureFiles, item_file, write_features
from pairscore.streaming.item_rows import ItemBlock
from pairscore.streaming.passes import NumberedPart
from pairscore.streaming.rows import Batch
from pairscore.streaming.scratch import shared_folder
from pairscore.streaming.spill import Grid, Spill

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
