"""Sums over an item table in files, block by block, are those over the table itself."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from pairscore.core.moments import moments
from pairscore.core.whitening import whitening_basis
from pairscore.streaming import shared_items
from pairscore.streaming.engines import add, local_engine
from pairscore.streaming.shared_items import FeatureFiles, SharedItems, item_file
from pairscore.streaming.stream_items import ItemBlock, write_features

RNG = np.random.default_rng(0)
N, D = 101, 4
X = RNG.normal(size=(N, D)) + np.arange(D)
X[:, 2] = 1.0
X[17, 2] = 3.0  # the only other one in its column
EXPOSURES = np.where(np.arange(N) < 40, 0.0, RNG.integers(0, 5, N).astype(float))
EXPOSURES[17] = 2.0


@dataclass(frozen=True)
class Elsewhere:
    """An engine whose tasks, parts and results are sent."""

    is_local = False

    def total(self, task, parts, done=None):
        sent = [pickle.loads(pickle.dumps(task))(pickle.loads(pickle.dumps(p))) for p in parts]
        return add([pickle.loads(pickle.dumps(result)) for result in sent])


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The table in memory, and in three files that are read in blocks of seven rows."""
    monkeypatch.setattr(shared_items, "BLOCK_BYTES", 8 * D * 7)
    starts = (0, 30, 31, N)
    for number in range(3):
        block = ItemBlock(np.empty(0), list(X[starts[number] : starts[number + 1]].T))
        write_features([block], item_file(str(tmp_path), number))
    shared = SharedItems(FeatureFiles(str(tmp_path), starts, D), Elsewhere())
    return SharedItems(X, local_engine(1)), shared


CENTER = moments(X, EXPOSURES)
WHITENER = whitening_basis(CENTER.scatter, CENTER.sd).transform
MASK = EXPOSURES == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("times", (np.arange(D) - 1.0,)),
        ("total", (EXPOSURES,)),
        ("take", (np.array([50, 3, 3, 100]),)),
        ("lengths", (CENTER.mean, WHITENER)),
        ("own_columns", (EXPOSURES,)),
        ("own_columns", (EXPOSURES, CENTER)),
        ("ranges", (EXPOSURES > 0,)),
        ("fourth", (CENTER.mean, WHITENER, EXPOSURES)),
        ("second_half", (MASK, moments(X, MASK.astype(float)), np.arange(D) - 1.0)),
    ],
)
def test_a_sum_over_blocks_is_that_over_the_table(tables, name, given):
    here, there = (getattr(of, name)(*given) for of in tables)
    if isinstance(here, np.ndarray | float):
        np.testing.assert_allclose(there, here, rtol=1e-12)
        return
    assert type(there) is type(here)
    for field, value in vars(here).items():
        np.testing.assert_allclose(getattr(there, field), value, rtol=1e-12, atol=1e-12)


def test_moments_add_where_blocks_have_no_weight(tables):
    here, there = (of.moments(EXPOSURES) for of in tables)
    assert there.total == here.total
    np.testing.assert_allclose(there.mean, here.mean, rtol=1e-12)
    np.testing.assert_allclose(there.scatter, here.scatter, rtol=1e-10, atol=1e-10)


def test_the_item_with_a_column_of_its_own_is_found_in_whatever_block(tables):
    for of in tables:
        np.testing.assert_array_equal(np.flatnonzero(of.own_columns(EXPOSURES)), [17])


def test_the_range_of_compared_items_is_that_of_all_blocks(tables):
    here, there = (of.compared(EXPOSURES > 0).feature_ranges() for of in tables)
    np.testing.assert_array_equal(here, there)
