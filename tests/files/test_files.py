"""Tables from and to files.

One answer whatever the kind of file, and one clear sentence for whatever is wrong.
"""

import contextlib
import csv
import io
import json
import os
import pickle
import re
import subprocess
import sys
from errno import EACCES
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.data.tables import Column, Columns
from pairscore.errors import BadRowsError
from pairscore.files import tables as fetched_module
from pairscore.files import tables as files_module
from pairscore.files.source import MAX_COLUMNS
from pairscore.files.tables import read_table
from pairscore.files.write import atomic_write, write_table

KINDS = ("csv", "tsv", "parquet", "jsonl")
NAN, INF = np.nan, np.inf


def bits(columns):
    """What a table holds, to the last bit."""
    return {
        name: (values.tobytes() if values.dtype != object else values.tolist(), values.dtype.str)
        for name, values in dict(columns).items()
    }


def read_bytes(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content)
    return read_table(path, **options)


def as_lists(columns):
    """Plain lists, with NaN as None, to compare with what was meant."""
    return {
        name: [None if value != value else value for value in values.tolist()]
        for name, values in dict(columns).items()
    }


def study(seed, ids):
    """An item table and votes on it."""
    rng = np.random.default_rng(seed)
    items = {
        "id": np.array(ids, dtype=object),
        **{f"f {k}": rng.normal(size=len(ids)) * 10.0**k for k in range(3)},
    }
    left = rng.integers(0, len(ids), 400)
    right = (left + rng.integers(1, len(ids), 400)) % len(ids)
    wins = rng.random(400) < 1 / (1 + np.exp(items["f 0"][right] - items["f 0"][left]))
    votes = {
        "left": items["id"][left],
        "right": items["id"][right],
        "winner": np.where(wins, "left", "right").astype(object),
        "count": rng.integers(1, 4, 400),
    }
    return items, votes


ODD_IDS = [f"{word}{k}" for k in range(12) for word in ("a,b", 'q"', "line\n", "😀", "ä;")]


# -- one answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [ODD_IDS, list(range(60)), [f"{k:03d}" for k in range(60)]],
    ids=["odd text", "whole numbers", "leading zeros"],
)
def test_every_kind_of_file_and_standard_input_give_the_same_columns_and_the_same_model(
    ids, tmp_path, monkeypatch
):
    items, votes = study(0, ids)
    tables, models = [], []
    for kind in (*KINDS, "-"):
        for table, name in ((items, "items"), (votes, "votes")):
            write_table(table, tmp_path / f"{name}.{'csv' if kind == '-' else kind}")
        if kind == "-":
            monkeypatch.setattr(
                sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "votes.csv").read_bytes()))
            )
            read_items, read_votes = read_table(tmp_path / "items.csv"), read_table("-")
        else:
            read_items, read_votes = (
                read_table(tmp_path / f"{name}.{kind}") for name in ("items", "votes")
            )
        tables.append((bits(read_items), bits(read_votes)))
        model = RankRegression().fit(read_items, read_votes)
        models.append(
            (model.coef_.tobytes(), model.covariance_.tobytes(), model.record_["fingerprint"])
        )
    assert all(table == tables[0] for table in tables)
    assert all(model == models[0] for model in models)
    assert tables[0][0]["f 1"][0] == items["f 1"].tobytes()
    direct = RankRegression().fit(items, votes)
    assert direct.coef_.tobytes() == models[0][0]


def test_files_and_dataframes_give_the_same_model(tmp_path):
    pd = pytest.importorskip("pandas")
    items, votes = study(1, ODD_IDS)
    write_table(pd.DataFrame(items), tmp_path / "items.csv")
    write_table(pd.DataFrame(votes), tmp_path / "votes.csv")
    from_files = RankRegression().fit(
        read_table(tmp_path / "items.csv"), read_table(tmp_path / "votes.csv")
    )
    from_frames = RankRegression().fit(pd.DataFrame(items), pd.DataFrame(votes))
    assert from_files.coef_.tobytes() == from_frames.coef_.tobytes()
    assert np.array_equal(pd.read_csv(tmp_path / "items.csv")["id"], items["id"])


@pytest.mark.parametrize("kind", KINDS)
def test_long_tables_are_coded_and_say_the_same(kind, tmp_path, monkeypatch):
    items, votes = study(2, ODD_IDS)
    votes["judge"] = np.array([None, "x", "", "NaN"] * 100, dtype=object)
    write_table(votes, tmp_path / f"votes.{kind}")
    write_table(items, tmp_path / f"items.{kind}")
    plain, plain_items = (
        read_table(tmp_path / f"votes.{kind}"),
        read_table(tmp_path / f"items.{kind}"),
    )
    monkeypatch.setattr(fetched_module, "CODED_ROWS", 1)
    coded, coded_items = (
        read_table(tmp_path / f"votes.{kind}"),
        read_table(tmp_path / f"items.{kind}"),
    )
    assert coded.get_column("left").codes is not None
    assert plain.get_column("left").codes is None
    assert bits(coded) == bits(plain)
    assert coded["judge"].tolist() == votes["judge"].tolist()
    one, other = (
        Comparisons.from_frames(plain_items, plain)[0],
        Comparisons.from_frames(coded_items, coded)[0],
    )
    for name in ("left", "right", "outcome", "count"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    coded_votes = Columns(
        {
            "left": coded.get_column("left"),
            "right": Column(np.array(["no such"], dtype=object), np.zeros(400, dtype=int)),
            "winner": ["tie"] * 400,
        }
    )
    with pytest.raises(
        PairscoreError,
        match=r"400 comparisons in column 'right' name an unknown item: row 0 \('no such'\)",
    ):
        Comparisons.from_frames(coded_items, coded_votes)


def test_texts_of_one_hash_are_kept_apart(tmp_path, monkeypatch):
    write_table(
        {"left": ["ab", "cd", "ab", "efg"], "right": ["x", "yz", "uvw", "x"]},
        tmp_path / "votes.csv",
    )
    monkeypatch.setattr(fetched_module, "CODED_ROWS", 1)
    monkeypatch.setattr(fetched_module, "HASH", "CAST(length({}) AS UBIGINT)")
    table = read_table(tmp_path / "votes.csv")
    assert table["left"].tolist() == ["ab", "cd", "ab", "efg"]
    assert table.get_column("left").codes is None
    assert table["right"].tolist() == ["x", "yz", "uvw", "x"]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, unique=True), st.data())
def test_hashes_are_found_wherever_they_lie(hashes, data):
    hashes = np.array(sorted(hashes), dtype=np.uint64)
    wanted = np.array(data.draw(st.lists(st.integers(0, len(hashes) - 1))), dtype=int)
    assert np.array_equal(fetched_module._sorted_places(hashes, hashes[wanted]), wanted)


def test_no_dataframe_library_is_needed(tmp_path):
    code = (
        f"import sys\nstem = {str(tmp_path / 'table.')!r}\nfor name in ('pandas', 'polars',"
        " 'pyarrow'): sys.modules[name] = None\nfrom pairscore.files import read_table,"
        " write_table\nfor kind in ('csv', 'parquet', 'jsonl'):\n    write_table({'id': ['a',"
        " None], 'x': [1.5, None]}, stem + kind)\n    print({name: values.tolist() for name,"
        " values in dict(read_table(stem + kind)).items()})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["{'id': ['a', None], 'x': [1.5, nan]}"] * 3


def test_whole_number_ids_meet_their_text_in_files_only(tmp_path):
    items = read_bytes(tmp_path, b"id,x\n1,0\n2,1\nc,2\n")  # the c makes 1 and 2 text
    votes = read_bytes(tmp_path, b"winner,loser\n1,2\n2,1\n")
    assert votes["winner"].dtype == np.int64
    assert items["id"].tolist() == ["1", "2", "c"]
    X, _ = Comparisons.from_frames(items, votes)
    assert sorted(zip(X.left.tolist(), X.right.tolist(), strict=True)) in (
        [(0, 1), (0, 1)],
        [(0, 1), (1, 0)],
        [(1, 0), (1, 0)],
    )
    with pytest.raises(PairscoreError, match="name an unknown item"):
        Comparisons.from_frames(dict(items), dict(votes))
    mixed = read_bytes(tmp_path, b"left,right,winner\n1,2,1\n2,x,2\n")
    with pytest.raises(
        PairscoreError, match=r"1 comparison in column 'right' names an unknown item: row 1 \('x'\)"
    ):
        Comparisons.from_frames(read_bytes(tmp_path, b"id,x\n1,0\n2,1\n"), mixed)
    zeros = read_bytes(tmp_path, b"winner,loser\n01,2\n")
    with pytest.raises(PairscoreError, match=r"row 0 \('01'\)"):
        Comparisons.from_frames(read_bytes(tmp_path, b"id,x\n1,0\n2,1\n"), zeros)


def test_a_dict_of_columns_is_a_table():
    items, votes = study(3, ODD_IDS)
    model = RankRegression().fit({name: values.tolist() for name, values in items.items()}, votes)
    ranking = model.rank(items)
    assert isinstance(ranking, dict)
    assert list(ranking) == [
        "id",
        "score",
        "low",
        "high",
        "rank",
        "rank_low",
        "rank_high",
        "outside",
    ]
    assert sorted(ranking["id"].tolist()) == sorted(ODD_IDS)
    assert isinstance(model.rank(Columns(items)), dict)


def test_columns_are_checked():
    table = Columns(
        {
            "n": [1, 2],
            "x": [1, None],
            "t": [True, False],
            "s": ["1", 2],
            "m": np.ma.masked_array([1.0, 2.0], [True, False]),
        }
    )
    assert [str(kind) for kind in table.schema.values()] == [
        "Int64",
        "Float64",
        "Boolean",
        "Object",
        "Float64",
    ]
    assert table["s"].tolist() == ["1", 2]
    assert np.isnan(table["m"][0])
    assert "n" in table
    assert list(table) == table.columns
    assert repr(table) == "Columns(2 rows: 'n', 'x', 't', 's', 'm')"


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"a": [1], "b": [1, 2]}, "unequal lengths: 'a' (1), 'b' (2)"),
        ({"a": np.eye(2)}, "2 dimensions"),
        ({"a": 3}, "0 dimensions"),
        ({1: [1], "1": [2]}, "same name"),
    ],
)
def test_columns_that_are_no_table_are_refused(columns, sentence):
    with pytest.raises(PairscoreError) as caught:
        Columns(columns)
    assert sentence in str(caught.value)


# -- a corpus of files -----------------------------------------------------------------------------

ANSWERS = {
    "plain": (b"id,x\na,1\nb,2.5\n", {"id": ["a", "b"], "x": [1.0, 2.5]}),
    "no last newline": (b"id,x\na,1\nb,2", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "byte order mark": (b"\xef\xbb\xbfid,x\na,1\n", {"id": ["a"], "x": [1.0]}),
    "CRLF": (b"id,x\r\na,1\r\nb,2\r\n", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "CR only": (b"id,x\ra,1\rb,2\r", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "semicolons": (b"id;x\na;1\n", {"id": ["a"], "x": [1.0]}),
    "tabs": (b"id\tx\na\t1\n", {"id": ["a"], "x": [1.0]}),
    "bars": (b"id|x\na|1\n", {"id": ["a"], "x": [1.0]}),
    "commas in a quoted name": (b'"id";"x, y, z"\na;1\n', {"id": ["a"], "x, y, z": [1.0]}),
    "id with a comma": (b'id,x\n"a,b",1\n', {"id": ["a,b"], "x": [1.0]}),
    "id with a newline": (b'id,x\n"a\nb",1\n', {"id": ["a\nb"], "x": [1.0]}),
    "id with quotes": (b'id,x\n"say ""hi""",1\n', {"id": ['say "hi"'], "x": [1.0]}),
    "quote inside a cell": (b'id,x\n5" disk,1\n', {"id": ['5" disk'], "x": [1.0]}),
    "a carriage return in the first id": (b'id,x\n"a\rb",1\nb,2\n', {"id": ["a\rb", "b"], "x": [1.0, 2.0]}),
    "line feeds among carriage returns": (b'id,x\r"a\nb",1\rb,2\r', {"id": ["a\nb", "b"], "x": [1.0, 2.0]}),
    "emoji": ("id,x\n😀,1\n".encode(), {"id": ["😀"], "x": [1.0]}),
    "latin-1": ("id,x\nMüller,1\n".encode("latin-1"), {"id": ["Müller"], "x": [1.0]}),
    "old Windows": ("id,x\n5 €,1\n".encode("cp1252"), {"id": ["5 €"], "x": [1.0]}),
    "utf-16": ("id,x\nMüller,1\n".encode("utf-16"), {"id": ["Müller"], "x": [1.0]}),
    "utf-16 without mark": ("id,x\nMüller,1\n".encode("utf-16-be"), {"id": ["Müller"], "x": [1.0]}),
    "utf-32": ("id,x\nMüller,1\n".encode("utf-32"), {"id": ["Müller"], "x": [1.0]}),
    "header only": (b"id,x\n", {"id": [], "x": []}),
    "one column": (b"x\n1\n2\n", {"x": [1.0, 2.0]}),
    "blank lines": (b"id,x\n\na,1\n\n\nb,2\n\n", {"id": ["a", "b"], "x": [1.0, 2.0]}),
    "missing cells": (b"id,x,s\n,1,q\nb,,\n", {"id": [None, "b"], "x": [1.0, None], "s": ["q", None]}),
    "an empty column": (b"id,x\na,\nb,\n", {"id": ["a", "b"], "x": [None, None]}),
    "NaN and infinities": (b"id,x\na,NaN\nb,inf\nc,-Infinity\nd,1\n", {"id": ["a", "b", "c", "d"], "x": [None, INF, -INF, 1.0]}),
    "too large for a double": (b"id,x\na,1e999\n", {"id": ["a"], "x": [INF]}),
    "ways to write numbers": (b"x\n+1\n1.\n.5\n1e3\n1E-3\n 7 \n-0\n007\n", {"x": [1.0, 1.0, 0.5, 1000.0, 0.001, 7.0, -0.0, 7.0]}),
    "leading zeros in ids": (b"id,x\n007,1\n08,2\n", {"id": ["007", "08"], "x": [1.0, 2.0]}),
    "whole-number ids": (b"id,x\n-7,1\n80,2\n", {"id": [-7, 80], "x": [1.0, 2.0]}),
    "ids beyond 64 bits": (b"id,x\n99999999999999999999,1\n", {"id": ["99999999999999999999"], "x": [1.0]}),
    "ids like versions": (b"id,x\n1.10,1\n1.1,2\n", {"id": ["1.10", "1.1"], "x": [1.0, 2.0]}),
    "an id called NaN": (b"id,x\nNaN,1\ninf,2\n", {"id": ["NaN", "inf"], "x": [1.0, 2.0]}),
    "dates are text": (b"id,d\na,2020-01-01\n", {"id": ["a"], "d": ["2020-01-01"]}),
    "truth words are text": (b"id,t\na,true\nb,false\n", {"id": ["a", "b"], "t": ["true", "false"]}),
    "hexadecimal is text": (b"id,h\na,0x10\n", {"id": ["a"], "h": ["0x10"]}),
    "underscored text": (b"id,h\na_1,p_q\n", {"id": ["a_1"], "h": ["p_q"]}),
    "names in two cases": (b"id,X,x\na,1,2\n", {"id": ["a"], "X": [1.0], "x": [2.0]}),
    "blanks around names": (b"id , x\na,1\n", {"id": ["a"], "x": [1.0]}),
    "a name with a quote": (b'id,"x\'"" y"\na,1\n', {"id": ["a"], "x'\" y": [1.0]}),
    "half numbers": (b"x\n1\n2\na\nb\n", {"x": ["1", "2", "a", "b"]}),
    "text only later": (b"x\n" + b"1\n" * 1500 + b"a\n" * 1500, {"x": ["1"] * 1500 + ["a"] * 1500}),
    "words for missing numbers": (
        b"x\n1\nNA\nN/A\nn/a\nna\n#N/A\nNaN\nNULL\nnull\nNone\n-\n.\n?\n NA \n\"NA\"\n2\n",
        {"x": [1.0, *[None] * 14, 2.0]},
    ),
    "more words than numbers": (b"id,x\na,NA\nb,7\nc,NA\n", {"id": ["a", "b", "c"], "x": [None, 7.0, None]}),
    "words only late": (b"x\n" + b"1\n" * 1500 + b"NA\n" * 1500, {"x": [1.0] * 1500 + [None] * 1500}),
    "numbers only late": (b"x\n" + b"-\n" * 1500 + b"1\n" * 15, {"x": [None] * 1500 + [1.0] * 15}),
    "words for missing in text": (b"id,k\nNA,oil\n-,NA\nnull,?\n", {"id": ["NA", "-", "null"], "k": ["oil", "NA", "?"]}),
    "nothing but such words": (b"id,k\na,-\nb,NA\n", {"id": ["a", "b"], "k": ["-", "NA"]}),
    "a blank in place of a number": (b"id,x\na, \nb,1\n", {"id": ["a", "b"], "x": [None, 1.0]}),
    "a big cell": (b"id,x\n" + b"y" * 1_000_000 + b",1\n", {"id": ["y" * 1_000_000], "x": [1.0]}),
    "many columns": (",".join(f"f{k}" for k in range(2000)).encode() + b"\n" + b",".join([b"1.5"] * 2000) + b"\n", {f"f{k}": [1.5] for k in range(2000)}),
}  # fmt: skip

SENTENCES = {
    "empty": (b"", "is empty; its first line must name the columns"),
    "blank first line": (b"\nid,x\n", "begins with an empty line"),
    "a mark and nothing": (b"\xef\xbb\xbf", "is empty"),
    "the same name twice": (b"id,x,x\na,1,2\n", "columns of the same name: 'x'; give every column its own name"),
    "a column without a name": (b",x\na,1\n", "1 column of "),
    "too few cells": (b"id,x\na,1\nb\n", "has 1 bad row; correct or remove them:\n  line 3: 1 cell instead of 2: 'b'"),
    "too many cells": (b"id,x\na,1\nb,2,3\n", "line 3: 3 cells instead of 2: 'b,2,3'"),
    "physical lines": (b'id,x\n"a\n\nb",1\nc,2,3\n', "line 5: 3 cells instead of 2"),
    "physical lines, CRLF": (b'id,x\r\n"a\r\nb",1\r\nc,2,3\r\n', "line 4: 3 cells instead of 2"),
    "physical lines, CR": (b"id,x\ra,1\rc,2,3\r", "line 3: 3 cells instead of 2"),
    "a few bad numbers": (b"x\n" + b"1\n" * 20 + b"5o\n" + b"1\n" * 20 + b"two\n", "2 bad rows; correct or remove them:\n  line 22, column 'x': no number"),
    "bad numbers among missing ones": (b"x,y\n" + b"1,NA\nNA,2\n" * 20 + b"5o,1\n", "remove them:\n  line 42, column 'x': no number: '5o'"),
    "a short row among missing ones": (b"x,y\n" + b"1,NA\nNA,2\n" * 20 + b"5\n", "1 bad row; correct or remove them:\n  line 42: 1 cell instead of 2: '5'"),
    "a row much too short": (b",".join(b"f%d" % k for k in range(41)) + b"\n1,x,3,4\n", "1 bad row; correct or remove them:\n  line 2: 4 cells instead of 41"),
    "a row much too long": (b"x,y\n1,2\np,2,3,4,5\n", "has 1 bad row; correct or remove them:\n  line 3: 5 cells instead of 2: 'p,2,3,4,5'"),
    "a line of blanks": (b"x,y,z\n1,2,3\n   \n1,2,3\n", "has 1 bad row; correct or remove them:\n  line 3: 1 cell instead of 3: '   '"),
    "two in one row": (b"x,y\n" + b"1,2\n" * 20 + b"p,q\n", "1 bad row; correct or remove them:\n  line 22, column 'x': no number: 'p'\n  line 22, column 'y'"),
    "line breaks in names": (b'id,"x\ny"\na,1\n', "has column names with line breaks: 'x\\ny'"),
    "numbers only later": (b"x,y\n" + b"a,1\n" * 1200 + b"1,1\n" * 20000, "has 1200 bad rows"),
    "rare text in a sparse column": (b"x,y\n" + b",1\n" * 3000 + b"7,1\n" * 20 + b"p,1\n", "line 3022, column 'x': no number: 'p'"),
    "decimal commas": (b"id;x\na;1,5\nb;2,5\n", "2 bad rows; write numbers with a decimal point, not a decimal comma:\n  line 2, column 'x': no number: '1,5'"),
    "quoted decimal commas": (b'id,x\na,"1,5"\nb,2\n', "decimal point, not a decimal comma"),
    "underscored numbers": (b"id,x\na,1_000\nb,2\n", "'1_000' in column 'x'"),
    "two signs": (b"id,x\na,+-1\nb,2\n", "'+-1' in column 'x'"),
    "open quote": (b'id,x\n"a,1\nb,2\n', "line 2: a quotation mark is not closed, or text follows it"),
    "open quote in the header": (b'id,"x\na,1\n', "the first line of "),
    "text after a quote": (b'id,x\n"a"b,1\nc,2\n', "line 2: a quotation mark is not closed, or text follows it: '\"a\"b,1'"),
    "NUL": (b"id,x\na,1\nb\0,2\n", "has NUL bytes (the first in line 3)"),
    "mixed line endings": (b"id,x\na,1\r\nb,2\n", "mixes line endings"),
    "damaged UTF-8": ("id,x\nMüller,1\nM".encode() + b"\xfc\xffller,2\n", "is UTF-8 but for some bytes (the first in line 3)"),
    "a huge header": (b"y" * 1_000_000, "does not name columns"),
    "a huge line": (b"id,x\na,1\n" + b"y" * 100_000_000 + b",1\nb,2\n", "line 3 of "),
    "too many columns": (b",".join(b"f%d" % k for k in range(100_000)) + b"\n", f"has 100000 columns, more than the {MAX_COLUMNS} that can be read"),
    "random bytes": (np.random.default_rng(0).bytes(3000), "table.csv' "),
    "a Parquet file": (b"PAR1\x15\x00\x15\x8a\x01\x15@", "table.csv' "),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_files_that_can_be_read(case, tmp_path):
    content, meant = ANSWERS[case]
    read = as_lists(read_bytes(tmp_path, content))
    assert read == meant
    assert {name: [type(value) for value in values] for name, values in read.items()} == {
        name: [type(value) for value in values] for name, values in meant.items()
    }


@pytest.mark.parametrize("case", SENTENCES)
def test_files_that_cannot_be_read(case, tmp_path):
    content, sentence = SENTENCES[case]
    with pytest.raises(PairscoreError) as caught:
        read_bytes(tmp_path, content)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 6000
    if isinstance(caught.value, BadRowsError):
        faults = [(row.line, row.column) for row in caught.value.rows]
        assert len(set(faults)) == len(faults)


@pytest.mark.parametrize("size", [1 << 20, 5 << 20, 45 << 20])
def test_no_row_is_lost_whatever_its_length(size, tmp_path):
    """DuckDB alone loses a row of twice its buffer without a word."""
    for cell in (b"y" * size, b'"' + b"y\n" * 5 + b"z" * size + b'"'):
        try:
            read = read_bytes(tmp_path, b"id,x\na,1\n" + cell + b",1\nb,2\n")
            said = ""
        except PairscoreError as error:
            said = str(error)
        assert "longer than" in said if said else len(read) == 3
        assert not said or size > 1 << 20


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_no_row_is_lost_whatever_the_line_endings(end, tmp_path):
    """DuckDB alone takes its line ending from inside quotes, and then finds fewer rows."""
    for inside in (b"\n", b"\r", b"\r\n"):
        for first, second in ((b'"' + inside + b'"', b"b"), (b"a", b'"' + inside + b'x"')):
            read = read_bytes(tmp_path, end.join([b"id,x", first + b",1", second + b",2"]))
            assert read["id"].tolist() == [name.strip(b'"').decode() for name in (first, second)]
        try:
            rows = len(
                read_bytes(tmp_path, b"id,x" + end + b"a,1" + inside + b"b,2" + end + b"c,3")
            )
        except PairscoreError as error:
            rows = str(error)
        assert rows == 3 or "mixes line endings" in rows


def test_all_bad_rows_are_kept_and_twenty_shown(tmp_path):
    with pytest.raises(BadRowsError) as caught:
        read_bytes(tmp_path, b"id,x\n" + b"a,1\nb,bad\n" * 30 + b"a,1\n" * 600)
    assert [(row.line, row.column, row.text) for row in caught.value.rows] == [
        (3 + 2 * k, "x", "bad") for k in range(30)
    ]
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("table.csv' has 30 bad rows; correct or remove them:")
    assert (len(lines), lines[-1]) == (22, "  and 10 more")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_lines_are_right_far_into_a_large_file(tmp_path):
    rows = [b'"a\nb",1'] * 400_000
    for place in (350_000, 399_999):
        rows[place] = b"c,x"
    with pytest.raises(BadRowsError) as caught:
        read_bytes(tmp_path, b"id,x\n" + b"\n".join(rows))
    assert [row.line for row in caught.value.rows] == [2 + 2 * 350_000, 2 + 2 * 399_999 - 1]


@pytest.mark.parametrize(
    ("content", "options", "meant"),
    [
        (b"id:x\na:1\n", {"delimiter": ":"}, {"id": ["a"], "x": [1.0]}),
        (b"id\tx\na\t1\n", {"delimiter": "tab"}, {"id": ["a"], "x": [1.0]}),
        (b'"i~d",x\na,1\n', {"delimiter": "~"}, "does not name columns"),
        (b"a;b,c\n1;2,3\n", {"delimiter": ";"}, "decimal comma"),
        (b"id,x\na,1\n", {"delimiter": ",,"}, "the delimiter is ',,'; use one sign"),
        ("id,x\nя,1\n".encode("cp1251"), {"encoding": "cp1251"}, {"id": ["я"], "x": [1.0]}),
        ("id,x\nя,1\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, {"id": ["я"], "x": [1.0]}),
        ("id,x\nя,1\n".encode("cp1251"), {"encoding": "utf-8"}, "is not text in 'utf-8'"),
        (b"id,x\n\xe9,1\n", {"encoding": "ascii"}, "is not text in 'ascii'"),
        (b"id,x\na,1\n", {"encoding": "martian"}, "'martian' is no text encoding"),
        (b"id,x\na,1\n", {"encoding": "base64"}, "'base64' is no text encoding"),
        (b"name,x\n007,1\n", {"identifiers": ["name"]}, {"name": ["007"], "x": [1.0]}),
    ],
)  # fmt: skip
def test_what_is_named_is_taken(content, options, meant, tmp_path):
    if isinstance(meant, dict):
        assert as_lists(read_bytes(tmp_path, content, **options)) == meant
    else:
        with pytest.raises(PairscoreError, match=meant.replace("(", r"\(")):
            read_bytes(tmp_path, content, **options)


JSON_LINES = {
    "numbers and text": (b'{"id":"007","x":1}\n{"x":2.5,"id":"b"}\n', {"id": ["007", "b"], "x": [1.0, 2.5]}),
    "blank lines": (b'{"x":1}\n\n{"x":2}\n', {"x": [1.0, 2.0]}),
    "left out": (b'{"id":1,"x":1}\n{"id":2,"y":"a"}\n', {"id": [1, 2], "x": [1.0, None], "y": [None, "a"]}),
    "dates are text": (b'{"d":"2020-01-01"}\n', {"d": ["2020-01-01"]}),
    "numbers as text": (b'{"d":"1.5"}\n{"d":"2"}\n', {"d": ["1.5", "2"]}),
    "truth": (b'{"t":true}\n{"t":false}\n', {"t": [1.0, 0.0]}),
    "text ids and number ids": (b'{"id":"a"}\n{"id":7}\n', {"id": ["a", "7"]}),
    "infinite": (b'{"x":Infinity}\n{"x":-1e999}\n', {"x": [INF, -INF]}),
    "like a renamed column": (b'{"x":1,"x_1":2}\n', {"x": [1.0], "x_1": [2.0]}),
    "no value at all": (b'{"x":null,"y":1}\n{"y":2}\n', {"x": [None, None], "y": [1.0, 2.0]}),
    "empty": (b"", "is empty; write one JSON object per row"),
    "cut short": (b'{"x":1}\n{"x":\n{"x":3}\n{"y"\n', "2 bad rows; correct or remove them:\n  line 2: Expecting value"),
    "no object": (b'{"x":1}\n[1]\n', "line 2: no JSON object: '[1]'"),
    "a name twice": (b'{"x":1,"x":2}\n', "line 1: a name twice in one object"),
    "nested": (b'{"x":{"y":1}}\n', "neither numbers nor text: 'x'"),
    "lists": (b'{"x":[1]}\n', "neither numbers nor text: 'x'"),
    "mostly numbers": (b'{"x":1}\n' * 20 + b'{"x":"p"}\n', "line 21, column 'x': no number: 'p'"),
    "names in two cases": (b'{"x":1,"X":2}\n', "differ in upper and lower case only"),
    "no UTF-8": (b'{"x":"\xff"}\n', "bad row"),
}  # fmt: skip


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
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
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
        ({"x": [[1]]}, "neither numbers nor text"),
        ({"x": [b"\x00"]}, "neither numbers nor text"),
    ):
        pq.write_table(pa.table(columns), tmp_path / "table.parquet")
        with pytest.raises(PairscoreError, match=sentence):
            read_table(tmp_path / "table.parquet")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("none.csv", "cannot be read (No such file or directory); check the path."),
        ("folder.csv", "cannot be read (Is a directory); check the path."),
        (
            "table.xlsx",
            (
                "does not say what kind of table it is; give it a name that ends in .csv, .tsv,"
                " .txt, .parquet"
            ),
        ),
        ("cut.parquet", "cannot be read as parquet ("),
        ("nul\0.csv", "cannot be read ("),
    ],
)
def test_no_such_table(name, sentence, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "table.xlsx").touch()
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and not much else")
    with pytest.raises(PairscoreError) as caught:
        read_table(tmp_path / name)
    assert sentence in str(caught.value)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    """Root may read everything, so the refusal is made."""
    path, plain_open = tmp_path / "table.csv", Path.open
    path.touch()

    def refusing_open(self, *arguments, **options):
        if self == path:
            raise PermissionError(EACCES, os.strerror(EACCES), str(self))
        return plain_open(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refusing_open)
    with pytest.raises(PairscoreError, match=r"cannot be read \(Permission denied\)"):
        read_table(path)


def test_names_of_files_are_taken_literally(tmp_path):
    (tmp_path / "year=2020").mkdir()
    (tmp_path / "b.csv").write_text("x\n2\n")
    for name in (
        "[b].csv",
        "*.csv",
        "it's.csv",
        "year=2020/table.csv",
        "year=2020/table.parquet",
        "TABLE.CSV",
    ):
        write_table({"x": [1.0]}, tmp_path / name)
        assert as_lists(read_table(tmp_path / name)) == {"x": [1.0]}


# -- fuzz ------------------------------------------------------------------------------------------

QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
TEXT = st.one_of(st.none(), WORDS.map(lambda word: "w" + word), st.just(""))
SHAPES = st.tuples(st.integers(1, 4), st.integers(0, 6))


@st.composite
def tables(draw):
    n_columns, n_rows = draw(SHAPES)
    names = draw(
        st.lists(
            WORDS.map(lambda word: re.sub(r"[\r\n]", "", word).strip()).filter(bool),
            min_size=n_columns,
            max_size=n_columns,
            unique_by=str.casefold,
        )
    )
    cells = st.one_of(
        st.just(TEXT), st.just(st.floats(allow_nan=True)), st.just(st.integers(-(2**53), 2**53))
    )
    return {name: draw(st.lists(draw(cells), min_size=n_rows, max_size=n_rows)) for name in names}


@QUIET
@given(table=tables(), kind=st.sampled_from(KINDS))
def test_what_is_written_is_read(table, kind, tmp_path):
    path = tmp_path / f"table.{kind}"
    write_table(table, path)
    if not next(iter(table.values())) and kind == "jsonl":
        return  # no rows, so no line says what the columns are
    read = read_table(path, delimiter="tab" if kind == "tsv" else ",")
    assert read.columns == list(table)
    for name, values in table.items():
        if any(isinstance(value, str) and value for value in values):
            if len(table) > 1 or None not in values or kind not in ("csv", "tsv"):
                assert read[name].tolist() == values
        elif (
            all(isinstance(value, int | float) for value in values)
            and name not in files_module.IDENTIFIERS
            and values
        ):
            assert (
                np.array(values, dtype=float).tobytes() == read[name].tobytes()
                or np.isnan(read[name]).any()
            )
            assert np.array_equal(np.array(values, dtype=float), read[name], equal_nan=True)


def test_a_named_delimiter_holds_for_a_single_column_with_another_sign_in_its_name(tmp_path):
    for table in ({"0,1": [0.0, 2.5]}, {",": []}, {"0;0": ["w,1", "w"]}):
        write_table(table, tmp_path / "table.tsv")
        read = read_table(tmp_path / "table.tsv", delimiter="tab")
        assert {name: read[name].tolist() for name in read.columns} == table


VALID = {
    "csv": 'id,x,s\n"a,1",1.5,p\nb,-2e3,"q\nr"\nc,,é\n'.encode(),
    "jsonl": '{"id":"a","x":1.5,"s":"p"}\n{"id":"b","x":-2e3,"s":"é\\n"}\n'.encode(),
    "parquet": None,
}


@settings(parent=QUIET, max_examples=150)
@given(
    kind=st.sampled_from(sorted(VALID)),
    edits=st.lists(
        st.tuples(
            st.integers(0, 1 << 16),
            st.integers(0, 2),
            st.binary(max_size=3)
            | st.sampled_from([b'"', b",", b"\n", b"\r", b"\0", b"\xff", b"{"]),
        ),
        max_size=5,
    ),
)
def test_damaged_files_give_a_table_or_a_sentence(kind, edits, tmp_path):
    path = tmp_path / f"table.{kind}"
    if VALID[kind] is None:
        write_table({"id": ["a", "b"], "x": [1.5, 2.0]}, path)
        VALID[kind] = path.read_bytes()
    content = VALID[kind]
    for place, cut, put in edits:
        place %= len(content) + 1
        content = content[:place] + put + content[place + cut :]
    path.write_bytes(content)
    try:
        table = read_table(path)
    except PairscoreError:
        return
    assert {len(table[name]) for name in table} == {len(table)}
    if kind == "csv":
        assert_as_python_reads(table, content)


def assert_as_python_reads(table, content):
    """The csv module is the outside witness that no row or cell is lost, where it can tell."""
    with contextlib.suppress(UnicodeDecodeError, csv.Error):
        text = content.decode("utf-8-sig")
        line = io.StringIO(text, newline="").readline()
        rows = list(
            csv.reader(
                io.StringIO(text, newline=""),
                delimiter=max(",;\t|", key=re.sub('"[^"]*"', "", line).count),
                strict=True,
            )
        )
        filled = [row for row in rows if row or len(rows[0]) == 1]
        if len(rows[0]) > 1:
            assert len(filled) - 1 == len(table)
            for place, name in enumerate(table):
                for row, value in zip(filled[1:], table[name].tolist(), strict=True):
                    assert (
                        row[place] == (value or "")
                        if isinstance(value, str | None)
                        else value != value or float(row[place]) == value
                    )


# -- writing ---------------------------------------------------------------------------------------


def test_the_text_of_a_csv_file(tmp_path):
    write_table(
        {"id": ["a,b", None], "x": [0.1, NAN], "n": [1, 2], "t": np.array([True, False])},
        tmp_path / "table.csv",
    )
    assert (tmp_path / "table.csv").read_text() == 'id,x,n,t\n"a,b",0.1,1,1\n,,2,0\n'
    write_table({"id": ["a"], "t": [True]}, tmp_path / "table.jsonl")
    assert json.loads((tmp_path / "table.jsonl").read_text()) == {"id": "a", "t": True}


def test_standard_output(capfdbinary):
    write_table({"x": [1.5]}, "-")
    assert capfdbinary.readouterr().out == b"x\n1.5\n"


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({}, "has no columns"),
        ({"x": [1], "X": [2]}, "upper and lower case"),
        ({"": [1]}, "without a name"),
        ({"x": ["\ud800"]}, "could not be saved as"),
        (3, "a dict of columns or a dataframe, not a int"),
    ],
)
def test_a_table_that_cannot_be_written_leaves_the_old_file_and_nothing_else(
    table, sentence, tmp_path
):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(PairscoreError, match=sentence):
        write_table(table, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), KeyboardInterrupt(), PairscoreError("no")]
)
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(fault, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")

    def half():
        with atomic_write(path, "the report") as temporary:
            temporary.write_text("half")
            assert temporary.parent == path.parent
            raise fault

    with pytest.raises(
        PairscoreError if isinstance(fault, OSError) else type(fault),
        match=(
            "the report could not be saved as .*No space left"
            if isinstance(fault, OSError)
            else None
        ),
    ):
        half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.npz"
    path.write_text("old")
    code = (
        "import os\nfrom pairscore.files import atomic_write\nwith"
        f" atomic_write({str(path)!r}) as t:\n    t.write_text('half'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 9
    assert path.read_text() == "old"


def test_a_link_is_followed_and_the_file_behind_it_keeps_its_permissions(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "table.csv", tmp_path / "table.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("there/table.csv")
    for values in ([1.0], [2.0]):
        write_table({"x": values}, link)
        assert link.is_symlink()
        assert as_lists(read_table(target)) == {"x": values}
        assert target.stat().st_mode & 0o777 == 0o640
    (tmp_path / "dangling.csv").symlink_to("there/new.csv")
    write_table({"x": [3.0]}, tmp_path / "dangling.csv")
    assert as_lists(read_table(tmp_path / "there" / "new.csv")) == {"x": [3.0]}
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "dangling.csv",
        "new.csv",
        "table.csv",
        "table.csv",
        "there",
    ]


def test_a_pipe_gets_the_whole_file_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with subprocess.Popen(["cat", str(tmp_path / "pipe.csv")], stdout=subprocess.PIPE) as reader:
        write_table({"x": [1.5]}, tmp_path / "pipe.csv")
        assert reader.stdout.read() == b"x\n1.5\n"
    assert (tmp_path / "pipe.csv").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe.csv"]


def test_places_that_cannot_be_written_to(tmp_path):
    for place in ("no/such/table.csv", "folder.csv"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(
            PairscoreError,
            match=r"the table could not be saved as .*; choose a place that can be written to",
        ):
            write_table({"x": [1.0]}, tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_a_model_from_files_is_saved_and_its_ranking_written(tmp_path):
    items, votes = study(4, ODD_IDS)
    write_table(items, tmp_path / "items.csv")
    write_table(votes, tmp_path / "votes.csv")
    table = read_table(tmp_path / "items.csv")
    RankRegression().fit(table, read_table(tmp_path / "votes.csv")).save(tmp_path / "model.npz")
    ranking = load(tmp_path / "model.npz").rank(table)
    for kind in KINDS:
        write_table(ranking, tmp_path / f"ranking.{kind}")
        back = read_table(tmp_path / f"ranking.{kind}")
        assert back["id"].tolist() == ranking["id"].tolist()
        assert back["low"].tobytes() == ranking["low"].tobytes()
        assert np.array_equal(back["outside"], ranking["outside"])
