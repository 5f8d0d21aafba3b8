"""Damaged tables of every format, in memory and in streams: an answer or one sentence, never more.

``studies/test_hostile_tables.py`` tries many more, each in a process of its own with limits.
"""

import sqlite3
import warnings
from contextlib import suppress

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pairscore import PairscoreError, read_sql
from pairscore.cli import main
from pairscore.files.partitions import partitions
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.cli.running import CliRunner
from tests.hostile_tables import ods, ods_row, xls, xlsx, xlsx_rows

rng = np.random.default_rng(5)
N_ITEMS = 12
ITEMS = {
    "id": np.array([f"é{place}" for place in range(N_ITEMS)], dtype=object),
    "x": rng.normal(size=N_ITEMS).round(3),
    "y": rng.integers(0, 9, N_ITEMS).astype(float),
}
ROWS = [list(ITEMS), *zip(*(column.tolist() for column in ITEMS.values()), strict=True)]
EXAMPLES = {"csv": 120, "tsv": 40, "jsonl": 100, "parquet": 80, "xlsx": 80, "ods": 60, "xls": 60}
STREAMED = ("csv", "tsv", "jsonl", "parquet")
DATABASES = {"sqlite": 30, "duckdb": 20}
QUICK = {
    "derandomize": True,
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
# what programs and people do to files: bytes lost, changed, put in, moved, and the rest cut off
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["cut", "lose", "change", "put in", "repeat", "zero"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 40),
        st.sampled_from(
            [
                b"\0",
                b"\xff",
                b'"',
                b",",
                b"\n",
                b"\r",
                b"{",
                b"[" * 40,
                b"1e999",
                b"-",
                b"\x1b",
                b"=",
            ]
        ),
    ),
    min_size=1,
    max_size=3,
)


def edited(content, edits):
    """A file after some edits."""
    for kind, place, length, new in edits:
        at = int(place * len(content))
        if kind == "cut":
            content = content[:at]
        elif kind == "lose":
            content = content[:at] + content[at + length :]
        elif kind == "change":
            content = content[:at] + new + content[at + len(new) :]
        elif kind == "put in":
            content = content[:at] + new * length + content[at:]
        elif kind == "repeat":
            content = content[: at + length] + content[at:]
        else:
            content = content[:at] + bytes(length) + content[at + length :]
    return content


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of the items in every format."""
    folder = tmp_path_factory.mktemp("sound")
    for suffix in STREAMED:
        write_table(ITEMS, folder / f"items.{suffix}")
    (folder / "items.xlsx").write_bytes(xlsx(xlsx_rows(*ROWS)))
    (folder / "items.ods").write_bytes(ods("".join(ods_row(*row) for row in ROWS)))
    cells = {(r, c): _latin(cell) for r, row in enumerate(ROWS) for c, cell in enumerate(row)}
    (folder / "items.xls").write_bytes(xls(cells))
    with sqlite3.connect(folder / "items.sqlite") as database:
        database.execute("CREATE TABLE items (id TEXT, x REAL, y REAL)")
        database.executemany("INSERT INTO items VALUES (?, ?, ?)", ROWS[1:])
    database.close()
    with duckdb.connect(str(folder / "items.duckdb")) as database:
        database.execute(f"CREATE TABLE items AS FROM '{folder}/items.parquet'")
    return {path.suffix[1:]: path.read_bytes() for path in folder.iterdir()}


def _latin(cell):
    return cell.replace("é", "e") if isinstance(cell, str) else cell


def answer_or_sentence(read, *words):
    """Do something with a table; all that may be wrong is said in one message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(*words)
        except PairscoreError as error:
            said = str(error)
            assert said.split("\n")[0].strip()
            assert "Traceback" not in said
            return None


def read_in_parts(path):
    """All batches of all columns."""
    return [list(part.read(part.column_names())) for part in partitions(path)]


@pytest.mark.parametrize("suffix", EXAMPLES)
def test_the_tables_can_be_read_before_they_are_damaged(suffix, sound, tmp_path):
    path = tmp_path / f"items.{suffix}"
    path.write_bytes(sound[suffix])
    table = read_table(path)
    assert np.allclose(table["x"], ITEMS["x"])
    assert [_latin(name) for name in table["id"]] == [_latin(name) for name in ITEMS["id"]]


@pytest.mark.parametrize("suffix", EXAMPLES)
def test_a_damaged_table_is_an_answer_or_a_sentence(suffix, sound, tmp_path):
    path = tmp_path / f"items.{suffix}"

    @settings(max_examples=EXAMPLES[suffix], **QUICK)
    @given(EDITS)
    def read_damaged(edits):
        path.write_bytes(edited(sound[suffix], edits))
        answer_or_sentence(read_table, path)
        if suffix in STREAMED:
            answer_or_sentence(read_in_parts, path)

    read_damaged()


@pytest.mark.parametrize(
    ("suffix", "book", "rows"),
    [
        ("xlsx", xlsx, xlsx_rows(*ROWS)),
        ("ods", ods, "".join(ods_row(*row) for row in ROWS)),
    ],
)
def test_a_workbook_with_damaged_tags_is_an_answer_or_a_sentence(suffix, book, rows, tmp_path):
    """Damage of the archive itself is found by its checksums; here these are right."""
    path = tmp_path / f"items.{suffix}"

    @settings(max_examples=100, **QUICK)
    @given(EDITS)
    def read_damaged(edits):
        path.write_bytes(book(edited(rows.encode(), edits).decode("utf-8", "replace")))
        answer_or_sentence(read_table, path)

    read_damaged()


@pytest.mark.parametrize("kind", DATABASES)
def test_a_damaged_database_is_an_answer_or_a_sentence(kind, sound, tmp_path):
    path = tmp_path / f"items.{kind}"

    @settings(max_examples=DATABASES[kind], **QUICK)
    @given(EDITS)
    def read_damaged(edits):
        path.write_bytes(edited(sound[kind], edits))
        answer_or_sentence(read_sql, f"{kind}:///{path}", "SELECT * FROM items")

    read_damaged()


@pytest.mark.parametrize("suffix", STREAMED)
def test_a_command_with_a_damaged_table_ends_in_one_message(suffix, sound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left, right = rng.permuted(np.tile(np.arange(N_ITEMS), (40, 1)), axis=1)[:, :2].T
    ids = ITEMS["id"]
    write_table({"left": ids[left], "right": ids[right], "winner": ids[left]}, "votes.csv")

    @settings(max_examples=12, **QUICK)
    @given(EDITS, st.booleans())
    def fit_damaged(edits, stream):
        (tmp_path / f"items.{suffix}").write_bytes(edited(sound[suffix], edits))
        words = ["fit", f"items.{suffix}", "votes.csv", "-o", "m.npz", *["--stream"] * stream]
        with suppress(FileNotFoundError):
            (tmp_path / "m.npz").unlink()
        result = CliRunner().invoke(main, words)
        assert isinstance(result.exception, SystemExit | None), result.exception
        assert result.exit_code in (0, 1, 2)
        assert (result.exit_code == 0) == (tmp_path / "m.npz").exists()
        errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(errors) == (result.exit_code != 0)

    fit_damaged()
