"""Parquet and JSONL: what is read, and the sentence where nothing can be."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairscore import PairscoreError
from pairscore.files.tables import read_table
from tests.files.test_tables import INF, as_lists, read_bytes

JSON_LINES = {
    "numbers and text": (
        b'{"id":"007","x":1}\n{"x":2.5,"id":"b"}\n',
        {"id": ["007", "b"], "x": [1.0, 2.5]},
    ),
    "blank lines": (b'{"x":1}\n\n{"x":2}\n', {"x": [1.0, 2.0]}),
    "left out": (
        b'{"id":1,"x":1}\n{"id":2,"y":"a"}\n',
        {"id": [1, 2], "x": [1.0, None], "y": [None, "a"]},
    ),
    "dates are text": (b'{"d":"2020-01-01"}\n', {"d": ["2020-01-01"]}),
    "numbers as text": (b'{"d":"1.5"}\n{"d":"2"}\n', {"d": ["1.5", "2"]}),
    "truth": (b'{"t":true}\n{"t":false}\n', {"t": [1.0, 0.0]}),
    "text ids and number ids": (b'{"id":"a"}\n{"id":7}\n', {"id": ["a", "7"]}),
    "infinite": (b'{"x":Infinity}\n{"x":-1e999}\n', {"x": [INF, -INF]}),
    "like a renamed column": (b'{"x":1,"x_1":2}\n', {"x": [1.0], "x_1": [2.0]}),
    "no value at all": (b'{"x":null,"y":1}\n{"y":2}\n', {"x": [None, None], "y": [1.0, 2.0]}),
    "empty": (b"", "is empty; write one JSON object per row"),
    "cut short": (
        b'{"x":1}\n{"x":\n{"x":3}\n{"y"\n',
        "2 bad rows; correct or remove them:\n  line 2: Expecting value",
    ),
    "no object": (b'{"x":1}\n[1]\n', "line 2: not a JSON object: '[1]'"),
    "nested too deep": (
        b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}\n",
        "line 1: lists or objects within each other, too deep to read",
    ),
    "a name twice": (b'{"x":1,"x":2}\n', "line 1: a name twice in one object"),
    "nested": (b'{"x":{"y":1}}\n', "neither numbers nor text: 'x'"),
    "lists": (b'{"x":[1]}\n{"x":[1,2]}\n', "neither numbers nor text: 'x'"),
    "lists of words": (b'{"x":["a"]}\n', "neither numbers nor text: 'x'"),
    "embeddings": (
        b'{"id":"a","x":[1,null]}\n{"id":"b","x":[2.5,3]}\n',
        {"id": ["a", "b"], "x[0]": [1.0, 2.5], "x[1]": [None, 3.0]},
    ),
    "mostly numbers": (
        b'{"x":1}\n' * 20 + b'{"x":"p"}\n',
        "line 21, column 'x': not a number: 'p'",
    ),
    "names in two cases": (b'{"x":1,"X":2}\n', "differ in upper and lower case only"),
    "not UTF-8": (b'{"x":"\xff"}\n', "bad row"),
}


@pytest.mark.parametrize("case", JSON_LINES)
def test_json_lines(case, tmp_path):
    content, meant = JSON_LINES[case]
    if isinstance(meant, dict):
        assert as_lists(read_bytes(tmp_path, content, "table.jsonl")) == meant
    else:
        with pytest.raises(PairscoreError) as caught:
            read_bytes(tmp_path, content, "table.jsonl")
        assert meant in str(caught.value)


def test_parquet_of_others(tmp_path):
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.uint8()),
            "x": pa.array([1.5, None], pa.float32()),
            "n": pa.array([2**60, 1]),
            "t": [True, None],
            "d": ["1", None],
        }
    )
    pq.write_table(table, tmp_path / "table.parquet")
    read = as_lists(read_table(tmp_path / "table.parquet"))
    assert read == {
        "id": [1, 2],
        "x": [1.5, None],
        "n": [2.0**60, 1.0],
        "t": [1.0, None],
        "d": ["1", None],
    }
    for columns, sentence in (
        ({"x": [1], "X": [2]}, "upper and lower case"),
        ({"x": [[1], [1, 2]]}, "neither numbers nor text"),
        ({"x": [b"\x00"]}, "neither numbers nor text"),
    ):
        pq.write_table(pa.table(columns), tmp_path / "table.parquet")
        with pytest.raises(PairscoreError, match=sentence):
            read_table(tmp_path / "table.parquet")


# -- workbooks -------------------------------------------------------------------------------------


def test_a_line_of_json_has_a_longest_length(tmp_path):
    """An id of ten megabytes took a gigabyte."""
    lines = b'{"id":"a"}\n' * 200_000 + b'{"id":"%b"}\n' % (b"b" * 4_200_000)
    with pytest.raises(PairscoreError, match=r"line 200001 of .* is longer than 4 MB; write one"):
        read_bytes(tmp_path, lines, "table.jsonl")


def test_a_parquet_file_of_few_bytes_has_no_billion_rows(tmp_path):
    """One value may stand for any number of rows."""
    rows = pa.table({"x": pa.array(np.zeros(1 << 20, dtype=np.int8))})
    with pq.ParquetWriter(tmp_path / "table.parquet", rows.schema) as writer:
        for _ in range(60):
            writer.write_table(rows)
    assert (tmp_path / "table.parquet").stat().st_size < 300_000
    with pytest.raises(PairscoreError, match=r"has 62,914,560 rows of 1 columns in .* fit_stream"):
        read_table(tmp_path / "table.parquet")
