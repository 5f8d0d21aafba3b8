"""Tables from and to files.

One answer whatever the kind of file, and one clear sentence for whatever is wrong.
"""

import contextlib
import csv
import io
import pickle
import re
import subprocess
import sys
import unicodedata
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pairscore import Comparisons, PairscoreError, RankRegression
from pairscore.data.tables import Column, Columns
from pairscore.errors import BadRowsError, PairscoreWarning
from pairscore.files import duckdb_columns
from pairscore.files import tables as fetched_module
from pairscore.files import tables as files_module
from pairscore.files.source import Kept
from pairscore.files.study import read_study
from pairscore.files.tables import read_table
from pairscore.files.write import write_table

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
    monkeypatch.setattr(duckdb_columns, "HASH", "CAST(length({}) AS UBIGINT)")
    table = read_table(tmp_path / "votes.csv")
    assert table["left"].tolist() == ["ab", "cd", "ab", "efg"]
    assert table.get_column("left").codes is None
    assert table["right"].tolist() == ["x", "yz", "uvw", "x"]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, unique=True), st.data())
def test_hashes_are_found_wherever_they_lie(hashes, data):
    hashes = np.array(sorted(hashes), dtype=np.uint64)
    wanted = np.array(data.draw(st.lists(st.integers(0, len(hashes) - 1))), dtype=int)
    assert np.array_equal(duckdb_columns._sorted_places(hashes, hashes[wanted]), wanted)


def test_no_dataframe_library_is_needed(tmp_path):
    code = (
        f"import sys\nstem = {str(tmp_path / 'table.')!r}\nfor name in ('pandas', 'polars',"
        " 'pyarrow'): sys.modules[name] = None\nfrom pairscore.files import read_table,"
        " write_table\nfor kind in ('csv', 'parquet', 'jsonl'):\n    write_table({'id': ['a',"
        " None], 'x': [1.5, 2]}, stem + kind)\n    print({name: values.tolist() for name,"
        " values in dict(read_table(stem + kind)).items()})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["{'id': ['a', None], 'x': [1.5, 2.0]}"] * 3


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
        ({"a": np.ones((2, 2, 2))}, "3 dimensions"),
        ({"a": 3}, "0 dimensions"),
        ({1: [1], "1": [2]}, "same name"),
    ],
)
def test_columns_that_are_no_table_are_refused(columns, sentence):
    with pytest.raises(PairscoreError) as caught:
        Columns(columns)
    assert sentence in str(caught.value)


# -- a corpus of files -----------------------------------------------------------------------------


def test_all_bad_rows_are_kept_and_twenty_shown(tmp_path):
    with pytest.raises(BadRowsError) as caught:
        read_bytes(tmp_path, b"id,x\n" + b"a,1\nb,bad\n" * 30 + b"a,1\n" * 600)
    assert [(row.line, row.column, row.text) for row in caught.value.rows] == [
        (3 + 2 * k, "x", "bad") for k in range(30)
    ]
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(
        "table.csv' has 30 bad rows; correct or remove them, or pass na=['bad'] if they stand for"
        " missing values:"
    )
    assert (len(lines), lines[-1]) == (22, "  and 10 more")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# -- fuzz ------------------------------------------------------------------------------------------

QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
WORDS = st.text(CHARACTERS, max_size=6)
# no spaces around, and in the form NFC, which reading gives to text
INNER = WORDS.map(lambda word: unicodedata.normalize("NFC", f"w{word}w"))
TEXT = st.one_of(st.none(), INNER, st.just(""))
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
    columns = [draw(st.lists(draw(cells), min_size=n_rows, max_size=n_rows)) for _ in names]
    # a row without any entry is blank, and left out of CSV files
    rows = [
        row
        for row in zip(*columns, strict=True)
        if any(v == v and v not in (None, "") for v in row)
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


@QUIET
@example(table={"a": [unicodedata.normalize("NFC", "w\U0002f800w")], "b": ["x"]}, kind="csv")
@given(table=tables(), kind=st.sampled_from(KINDS))
def test_what_is_written_is_read(table, kind, tmp_path):
    path = tmp_path / f"table.{kind}"
    write_table(table, path)
    if not next(iter(table.values())) and kind == "jsonl":
        return  # no rows, so no line says what the columns are
    delimiter = {"tsv": "tab", "csv": ","}.get(kind)
    read = read_table(path, delimiter=delimiter)
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
@example(kind="csv", edits=[(13483, 0, b"\x01\x01\r"), (93, 2, b'"')])
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
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", PairscoreWarning)
        try:
            table = read_table(path)
        except PairscoreError:
            return
    assert {len(table[name]) for name in table} == {len(table)}
    if kind == "csv" and not said:
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


# -- what is said of how a file is written ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "xlsx"])
@pytest.mark.parametrize(
    ("said", "of_kinds"),
    [
        ({"delimiter": ";"}, ()),
        ({"encoding": "latin-1"}, ("csv",)),
        ({"decimal": "."}, ("csv", "xlsx")),
        ({"na": ["q"]}, ("csv", "xlsx")),
    ],
)
def test_what_is_said_of_text_is_used_or_refused(kind, said, of_kinds, tmp_path):
    """One file that has such a thing is enough; what earlier files had need not be true."""
    ids = [f"i{n}" for n in range(6)]
    items = {"id": ids, "x": [n + 0.5 for n in range(6)]}
    votes = {"left": ids[:5], "right": ids[1:], "winner": ["left", "right"] * 2 + ["left"]}
    for name, table in (("items", items), ("votes", votes)):
        write_table(table, tmp_path / f"{name}.{kind}")
    paths = [tmp_path / f"{name}.{kind}" for name in ("items", "votes")]
    quiet = {"say": lambda text: None}
    if kind in of_kinds:
        assert len(read_study(*paths, **said, **quiet).votes) == 5
    else:
        with pytest.raises(PairscoreError, match=f"{next(iter(said))}.*leave it out"):
            read_study(*paths, **said, **quiet)
    (text,) = said.values()
    if isinstance(text, str):
        kept = {next(iter(said)): Kept(text)}
        assert len(read_study(*paths, **kept, **quiet).votes) == 5
    semicolons = "\n".join(";".join(row) for row in zip(*votes.values(), strict=True))
    (tmp_path / "votes.csv").write_text(f"left;right;winner\n{semicolons}\n")
    assert len(read_study(paths[0], tmp_path / "votes.csv", **said, **quiet).votes) == 5
