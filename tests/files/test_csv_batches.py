"""A CSV file in batches is the table that it is in memory."""

import csv
import gzip
import io
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pairscore import PairscoreError
from pairscore.errors import BadRowsError, PairscoreWarning
from pairscore.files.partitions import partitions
from pairscore.files.tables import TextReading, read_table, refuse_unused, stored_table
from tests.files.test_read_csv import ANSWERS, DECIMAL_COMMAS, SENTENCES
from tests.files.test_titles_and_totals import MESSY, NUMBERS

TEXTS = ("id", "winner", "left")  # columns that both read as they are written
SIGNS = {
    "point": str,
    "comma": lambda number: str(number).replace(".", ","),
    "thousands": lambda number: f"{number:,}",
    "thousands and comma": lambda number: f"{number:,}".translate(str.maketrans(",.", ".,")),
    "Swiss": lambda number: f"{number:,}".replace(",", "'"),
}
IDS = ("a{}", "{}", "00{}", "é {}", 'say "{}"', "a,{};b|c", " x{} ", "line\n{}", "e\u0301{}")


def in_memory(path, **said):
    with stored_table(path, identifiers=TEXTS, **said) as stored:
        table = stored.read()
    return {name: as_text(table[name].tolist(), name) for name in table}


def in_batches(path, **said):
    (part,) = partitions(path, reading=TextReading(**said))
    refuse_unused([part.reading], part.has)
    names = part.column_names()
    text = [name for name in names if name in TEXTS]
    columns = {name: [] for name in names}
    row = 0
    for first, batch in pickle.loads(pickle.dumps(part)).read(names, text):
        assert first == row
        row += len(batch)
        for name in names:
            columns[name] += batch.column(name).to_pylist()
    return {name: as_text(entries, name) for name, entries in columns.items()}


def as_text(entries, name):
    """Identifiers as text, whether they are whole numbers or not; NaN and blanks as None."""
    if name in TEXTS:
        return [None if entry in (None, "") else str(entry) for entry in entries]
    return [None if entry is None or entry != entry else entry for entry in entries]


def answer(read, path, **said):
    """What a reader makes of a file: a table, or that it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        try:
            return read(path, **said)
        except PairscoreError:
            return "refused"


@st.composite
def files(draw):
    """The bytes of a CSV file as some program writes it."""
    delimiter = draw(st.sampled_from(",;\t|"))
    number = SIGNS[draw(st.sampled_from(sorted(SIGNS)))]
    id = draw(st.sampled_from(IDS))
    n_rows = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = np.round(rng.normal(size=(n_rows, 2)) * 10.0 ** rng.integers(0, 5), 2).tolist()
    missing = draw(st.sampled_from(["", "NA", "-", "k.A."]))
    rows = [
        [id.format(row), number(x), number(y) if row % 5 != 4 else missing, "left", str(row)]
        for row, (x, y) in enumerate(values)
    ]
    names = [draw(st.sampled_from(["id", "Größe"])), "x", "y", "winner", "n"]
    text = io.StringIO(newline="")
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    if draw(st.booleans()):
        text.write(draw(st.sampled_from(["A study" + end, f"sep={delimiter}{end}"])))
    writer.writerows([names, *rows])
    text.write(draw(st.sampled_from(["", delimiter * 4 + end, end, f"Total{delimiter * 4}{end}"])))
    if draw(st.booleans()) and draw(st.booleans()):
        writer.writerow(["b", "oops", "2", "left", "1"][: draw(st.integers(3, 5))])
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    return text.getvalue().encode(encoding, "replace")


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=files())
def test_any_file_is_the_same_table_in_memory_and_in_batches(content, tmp_path):
    """Delimiters, quotes, line ends, encodings, decimal signs, thousands, titles and totals."""
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert answer(in_batches, path) == answer(in_memory, path)


SAID = {
    "delimiter": [";", ",", "tab", "|", "xx"],
    "encoding": ["utf-8", "utf-16", "cp1252", "latin-1", "no encoding"],
    "decimal": [",", "."],
    "na": [("NA", "oops"), ("1",)],
}


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    content=files(),
    said=st.fixed_dictionaries({}, optional={n: st.sampled_from(of) for n, of in SAID.items()}),
)
def test_what_is_said_of_a_file_is_the_same_in_memory_and_in_batches(content, said, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert answer(in_batches, path, **said) == answer(in_memory, path, **said)


CASES = {
    **{name: content for name, (content, _) in ANSWERS.items()},
    **{name: content for name, (content, _) in SENTENCES.items()},
    **{f"decimal commas, {name}": content for name, (content, _) in DECIMAL_COMMAS.items()},
    **{name: content for name, (content, _) in MESSY.items()},
    **{name: content.encode() for name, (content, _) in NUMBERS.items()},
}
BY_LATER_ROWS = (  # of these the first rows, which are all that a stream goes by, say less
    "text only later",
    "numbers only late",
    "numbers only later",
    "decimal commas, far below",
    "decimal commas, gaps far below",
)


@pytest.mark.parametrize("case", [name for name in CASES if name not in BY_LATER_ROWS])
def test_every_known_file_is_the_same_table_in_memory_and_in_batches(case, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(CASES[case])
    assert answer(in_batches, path) == answer(in_memory, path)


def test_bad_rows_of_a_stream_are_told_with_their_lines_all_at_once(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b'id,x\n"a\nb",1\nc,2,3\n' + b"d,4\n" * 40 + b"e,oops\nf\n")
    (part,) = partitions(path)
    with pytest.raises(BadRowsError) as caught:
        list(part.read(["id", "x"], ["id"]))
    rows = [(row.line, row.column) for row in caught.value.rows]
    assert rows == [(4, None), (45, "x"), (46, None)]
    with pytest.raises(BadRowsError) as whole:
        read_table(path)
    assert [(row.line, row.column) for row in whole.value.rows] == rows


def test_a_word_for_a_missing_number_far_below_is_one(tmp_path):
    """The first rows have numbers, which DuckDB reads as such until the word comes."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"id,x\n" + b"a,1.5\n" * 300_000 + b"b,NA\n" + b"c,2.5\n" * 1000)
    assert in_batches(path) == in_memory(path)


def test_a_compressed_file_that_unpacks_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pairscore.files.partitions.UNPACKED", 1 << 20)
    monkeypatch.setattr("pairscore.files.partitions.BLOCK_BYTES", 1 << 16)
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"id,x\n" + b"a,1\n" * 4_000_000))
    (part,) = partitions(path)
    with pytest.raises(PairscoreError, match="unpacks to more than 200 times its size"):
        list(part.read(["id"], ["id"]))
