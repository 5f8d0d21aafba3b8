"""A comparison in parts means what it means in memory."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from pairscore import PairscoreError
from pairscore.data.items import read_items
from pairscore.data.votes import read_votes
from pairscore.files.partitions import TablePartition, partitions
from pairscore.streaming.batches import BatchLayout, BatchReader
from pairscore.streaming.stream_items import read_item_table
from pairscore.streaming.stream_job import ids_only

IDS = ["a", "b", "c", "d"]


def read(votes, ids=IDS, columns=None, **settings):
    items = read_items(pa.table({"id": ids, "x": np.arange(float(len(ids)))}))
    part = TablePartition(pa.table(votes), "votes.parquet")
    layout = BatchLayout.of_names(part.column_names(), columns or {})
    reader = BatchReader(ids_only(items), layout, **settings)
    return list(reader.batches(part)), items


@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(1, 3), st.sampled_from(["first", "second", "tie"])
        ),
        min_size=1,
        max_size=20,
    ),
    kind=st.sampled_from(["text", "number", "rows"]),
    words=st.booleans(),
    amounts=st.booleans(),
    other=st.booleans(),
)
def test_any_layout_is_read_as_in_memory(pairs, kind, words, amounts, other):
    ids = IDS if kind == "text" else [5, 3, 900, -7] if kind == "number" else None
    names = ids or [0, 1, 2, 3]
    left = [names[a] for a, _, _ in pairs]
    right = [names[(a + step) % 4] for a, step, _ in pairs]
    sides = ("model_a", "model_b") if other else ("left", "right")
    said = {"first": sides[0], "second": sides[1], "tie": "tie"}
    if words or kind != "text":
        winner = [said[w] for _, _, w in pairs]
    else:
        winner = [
            {"first": a, "second": b, "tie": "tie"}[w]
            for (_, _, w), a, b in zip(pairs, left, right, strict=True)
        ]
    votes = {sides[0]: left, sides[1]: right, "winner": winner}
    if amounts:
        votes |= {"weight": np.linspace(0.5, 2, len(pairs)), "count": np.arange(len(pairs)) + 1}
    frame = {"x": np.arange(4.0)} | ({} if ids is None else {"id": ids})
    items = read_items(pa.table(frame))
    part = TablePartition(pa.table(votes))
    reader = BatchReader(ids_only(items), BatchLayout.of_names(part.column_names(), {}))
    (batch,) = reader.batches(part)
    whole = read_votes(pa.table(votes), items, are_all=False)
    assert batch.is_plain == (not amounts)
    for name in ("left", "right", "outcome", "weight"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(whole, name))
    np.testing.assert_array_equal(batch.amount, whole.given_amount)


def test_winners_may_be_ids_that_are_numbers():
    (batch,), _ = read({"left": [1, 2], "right": [3, 1], "winner": [3, 2]}, [1, 2, 3])
    assert batch.outcome.tolist() == [-1, 1]


def test_columns_of_other_names_are_read():
    votes = {"home": ["a"], "away": ["b"], "result": ["right"]}
    (batch,), _ = read(votes, columns={"left": "home", "right": "away", "winner": "result"})
    assert (batch.left.tolist(), batch.outcome.tolist()) == ([0], [-1])


@pytest.mark.parametrize("loser", [["a", "b"], ["left", "left"]])
@pytest.mark.parametrize("name", ["loser", "beaten"])
def test_a_column_of_losers_says_that_the_other_side_won(loser, name):
    votes = {"left": ["a", "b", "c"], "right": ["b", "c", "a"], name: [*loser, "tie"]}
    (batch,), _ = read(votes, columns={} if name == "loser" else {"loser": name})
    assert batch.outcome.tolist() == [-1, -1, 0]
    votes["tie"] = [0, 0, 1]  # not usual: read as in memory
    (batch,), _ = read(votes, columns={} if name == "loser" else {"loser": name})
    assert batch.outcome.tolist() == [-1, -1, 0]


def test_ties_are_left_out_where_that_is_asked_and_self_pairs_kept():
    votes = {"left": ["a", "b"], "right": ["a", "c"], "winner": ["left", "tie"]}
    (batch,), _ = read(votes, self_pairs="keep", drop_ties=True)
    assert (batch.left.tolist(), batch.right.tolist()) == ([0], [0])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"left": ["a", "zz"]}, r"'votes.parquet', row 2: 'left' is 'zz' \(unknown item\)"),
        ({"left": ["a", None]}, r"'votes.parquet', row 2: 'left'"),
        ({"right": ["b", "b"]}, r"row 2: 'right' is 'b' \(an item with itself\)"),
        ({"winner": ["left", "d"]}, r"row 2: 'winner' is 'd' \(neither side"),
        ({"weight": [1.0, -1.0]}, r"from row 1 on|row 2"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_row(change, sentence):
    votes = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"]} | change
    with pytest.raises(PairscoreError, match=sentence):
        read(votes)


def test_an_item_table_larger_than_memory_is_mapped_from_disk(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 3))
    table = pa.table({"name": np.arange(500)} | {f"x{k}": X[:, k] for k in range(3)})
    parquet.write_table(table, tmp_path / "items.parquet", row_group_size=100)
    small = read_item_table(str(tmp_path / "items.parquet"), {"id": "name"}, 1e6, str(tmp_path))
    large = read_item_table(str(tmp_path / "items.parquet"), {"id": "name"}, 1e3, str(tmp_path))
    assert isinstance(large.values, np.memmap)
    assert not isinstance(small.values, np.memmap)
    for items in (small, large):
        np.testing.assert_array_equal(items.values, X)
        np.testing.assert_array_equal(items.ids, np.arange(500))
        assert items.feature_names == ("x0", "x1", "x2")


def test_items_may_leave_columns_out_and_faults_have_a_row(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,x,y\na,1,2\nb,3,nan\n")
    items = read_item_table(str(path), {"exclude": ["y"]}, 1e6, str(tmp_path))
    assert items.feature_names == ("x",)
    assert items.ids.tolist() == ["a", "b"]
    with pytest.raises(PairscoreError, match=r"items.csv', row 2: 'y' is nan"):
        read_item_table(str(path), {}, 1e6, str(tmp_path))
    with pytest.raises(PairscoreError, match="has no column 'z'"):
        read_item_table(str(path), {"features": ["z"]}, 1e6, str(tmp_path))
    path.write_text("id,x\na,1\na,2\n")
    with pytest.raises(PairscoreError, match="already seen"):
        read_item_table(str(path), {}, 1e6, str(tmp_path))


def test_an_item_that_is_called_like_a_side_is_refused():
    with pytest.raises(PairscoreError, match="called 'left'"):
        read({"left": ["a"], "right": ["b"], "winner": ["left"]}, ["a", "b", "left"])


def test_partitions_of_files_can_be_given_one_by_one(tmp_path):
    parquet.write_table(pa.table({"left": [1]}), tmp_path / "v.parquet")
    parts = partitions(tmp_path / "v.parquet")
    assert partitions(parts) == parts


@pytest.mark.parametrize("ids", [None, [0, 1, 2, 3]])
@pytest.mark.parametrize("name", ["zz", "4", "-1"])
def test_an_unknown_name_among_row_numbers_as_text_is_refused(ids, name):
    """It is no row: were it taken for one, compiled passes would write outside of their arrays."""
    table = {"x": np.arange(4.0)} | ({} if ids is None else {"id": ids})
    items = read_items(pa.table(table))
    votes = {"left": ["0", name, "2"], "right": ["1", "2", "3"], "winner": ["left"] * 3}
    part = TablePartition(pa.table(votes), "votes.parquet")
    reader = BatchReader(ids_only(items), BatchLayout.of_names(part.column_names(), {}))
    with pytest.raises(PairscoreError, match=rf"row 2: 'left' is '{name}' \(unknown item\)"):
        list(reader.batches(part))
