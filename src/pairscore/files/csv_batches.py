"""A CSV file of any size in batches, which have what a table in memory has.

Encoding, delimiter, place of the names, decimal sign, words for missing numbers and faults are
those of a table in memory: the same functions find them. What a column holds is said by its first
rows, as nobody knows the rest; a later cell that is not a number in a column of numbers is a bad
row. A file with a title, totals or separated thousands is copied without them, as in memory; blank
rows are left out.
"""

import codecs
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.duckdb_columns import composed, without_blanks
from pairscore.files.encoding import (
    as_utf8,
    marked_encoding,
    older_encoding,
    refuse_no_encoding,
)
from pairscore.files.numbers import POINT
from pairscore.files.read_csv import (
    CsvCells,
    CsvLayout,
    bad_rows,
    count_sample,
    csv_file,
    is_blank_row,
    number_or_error,
    read_layout,
    refuse_odd_lengths,
    with_signs,
)
from pairscore.files.source import MAX_LINE, OpenFile, Source
from pairscore.files.sql import SEALED
from pairscore.files.tables import TextReading, one_sentence, warn_of
from pairscore.files.titles_and_totals import looks_plain, tidied_csv

if TYPE_CHECKING:
    import pyarrow as pa


def csv_names(head: bytes, shown: str, reading: TextReading) -> list[str]:
    """The names of the columns of a file, by its first bytes, of which some lines are whole."""
    if len(head) >= MAX_LINE and b"\n" not in head:
        raise PairscoreError(
            f"the first line of {shown!r} does not name columns (longer than {MAX_LINE >> 20} MB);"
            " write one name per column."
        )
    text = _text_of_head(head, shown, reading.encoding).encode()
    opened = OpenFile(Path(shown), BytesIO(text))
    named = reading.delimiter_of(opened)
    if looks_plain(opened, named):
        return read_layout(opened, named, shown).names
    with tidied_csv(opened, named, (), (), shown) as sheet, sheet.path.open("rb") as file:
        return read_layout(OpenFile(sheet.path, file), sheet.delimiter, shown).names


def _text_of_head(head: bytes, shown: str, named: str | None) -> str:
    """The first bytes of a file as text; the last letter may be cut."""
    refuse_no_encoding(named)
    encoding = named or marked_encoding(head[:4096]) or "utf-8"
    if encoding == "utf-8" and not named:
        try:
            codecs.getincrementaldecoder("utf-8")().decode(head)
        except UnicodeDecodeError:
            encoding = older_encoding(head, shown)
    return head.decode(encoding, "ignore").removeprefix("\ufeff")


def csv_batches(
    opened: OpenFile,
    shown: str,
    columns: Sequence[str],
    text: Collection[str],
    rows: int,
    reading: TextReading,
) -> Iterator["pa.RecordBatch"]:
    """Columns of a file, ``rows`` rows at a time.

    Those of ``text`` are codes of text without spaces around it. Others are doubles where the
    first rows have numbers, else text.
    """
    with _plain(opened, shown, text, reading) as (source, layout):
        places = _places(layout, columns, shown)
        free = [place for place in places if layout.names[place] not in text]
        layout = with_signs(source, layout, free, reading.decimal)
        numeric = {place for place in free if count_sample(layout, place).numeric}
        try:
            CsvCells(source, layout, frozenset(), [], None).refuse_odd_numbers(sorted(numeric), [])
            for batch in _scan(source, layout, places, numeric, rows):
                yield _named(batch, columns, text)
        except _scan_errors() as error:
            raise PairscoreError(one_sentence(error, "csv", shown)) from error


def _places(layout: CsvLayout, columns: Sequence[str], shown: str) -> list[int]:
    """Where columns stand, of which the first bytes of the file had the names."""
    place_of = {name: place for place, name in enumerate(layout.names)}
    if absent := [name for name in columns if name not in place_of]:
        raise PairscoreError(
            f"{shown!r} has another encoding further on, so that the column {absent[0]!r} is not"
            " found again; save it as UTF-8."
        )
    return [place_of[name] for name in columns]


@contextmanager
def _plain(
    opened: OpenFile, shown: str, text: Collection[str], reading: TextReading
) -> Iterator[tuple[Source, CsvLayout]]:
    """The file, or a copy in UTF-8 of its names and rows alone."""
    with ExitStack() as stack:
        lines = None
        plain = stack.enter_context(as_utf8(opened, reading.encoding, shown, warn_of))
        delimiter = reading.delimiter_of(plain)
        if reading.na or not looks_plain(plain, delimiter):
            sheet = stack.enter_context(tidied_csv(plain, delimiter, text, reading.na, shown))
            if sheet.changes:
                warn_of(f"{shown!r}: {'; '.join(sheet.changes)}.")
            lines, delimiter = sheet.lines, sheet.delimiter
            plain = OpenFile(sheet.path, stack.enter_context(sheet.path.open("rb")))
        layout = read_layout(plain, delimiter, shown)
        connection = stack.enter_context(_database().cursor())
        source = Source(connection, plain, shown, text, lines=lines)
        refuse_odd_lengths(source, layout)
        yield source, layout


@cache
def _database() -> Any:
    """DuckDB with one thread, as parts are read side by side; to open it takes a while."""
    import duckdb

    return duckdb.connect(config=SEALED | {"threads": 1})


def _scan_errors() -> tuple[type[Exception], ...]:
    """What DuckDB raises where a file cannot be read, at once or through Arrow's batches."""
    import duckdb
    import pyarrow as pa

    return duckdb.Error, pa.ArrowException, OSError


def _scan(
    source: Source, layout: CsvLayout, places: list[int], numeric: Collection[int], rows: int
) -> Iterator["pa.RecordBatch"]:
    """Batches with columns c0, c1, ... of these places.

    Numbers are read as such by DuckDB, and as text with words for missing ones where the first
    rows have such or, from there on, a later row.
    """
    typed = {p for p in numeric if layout.signs == POINT and not count_sample(layout, p).words}
    done = 0
    while True:
        cells = ", ".join(
            f"{number_or_error(layout.signs, place)} AS c{place}"
            if place in numeric and place not in typed
            else f"c{place}"
            for place in places
        )
        query = (
            f"SELECT {cells} FROM {csv_file(source.path, layout, typed, keep_rejects=False)}"
            f" WHERE NOT ({is_blank_row(layout, typed)}) OFFSET {done}"
        )
        try:
            for batch in source.connection.sql(query).to_arrow_reader(rows):
                done += len(batch)
                yield batch
            return
        except _scan_errors():
            bad = bad_rows(source, layout, numeric)
            if bad.rows:
                raise bad from None
            if not typed:
                raise
            typed = set()


def _named(
    batch: "pa.RecordBatch", columns: Sequence[str], text: Collection[str]
) -> "pa.RecordBatch":
    """The batch under the names of the file, with codes for columns of text."""
    import pyarrow as pa

    arrays = []
    for name, array in zip(columns, batch.columns, strict=True):
        coded = array if pa.types.is_floating(array.type) else _codes(array)
        is_label = coded is not array and name not in text
        arrays.append(coded.cast(pa.string()) if is_label else coded)
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def _codes(array: "pa.Array") -> "pa.Array":
    """Text as distinct entries and codes, as in memory without spaces around it."""
    import pyarrow as pa

    coded = array.dictionary_encode()
    values = np.array(coded.dictionary.to_pylist(), dtype=object)
    stripped = composed(without_blanks(values)[0])[0]
    if stripped is values:
        return coded
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array(stripped.tolist(), pa.string()))
