"""Tables from files: CSV, sheets of workbooks, Parquet and JSONL, read with DuckDB.

The same data give the same columns, bit for bit, whatever the kind of file: identifiers are whole
numbers if all of them are, else exact text; other numbers are doubles, truth values 0 and 1;
missing numbers are NaN, missing text is None.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.tables import Column, Columns
from pairscore.display import first_few
from pairscore.errors import BadEntriesError, BadRowsError, PairscoreError, PairscoreWarning
from pairscore.files.encoding import as_utf8
from pairscore.files.numbers import NUMBER, POINT
from pairscore.files.read_csv import load_csv, locate_cells, shared_delimiter
from pairscore.files.sheets import (
    BLANKS,
    Sheet,
    blanks_left_out,
    has_blank_rows,
    looks_plain,
    tidied_csv,
)
from pairscore.files.source import Choice, Source, plain_file, table_kind
from pairscore.files.sql import open_database, sql_text
from pairscore.files.typed import load_jsonl, load_parquet
from pairscore.files.workbooks import sheet_as_csv
from pairscore.messages import Piece, Setting

IDENTIFIERS = ("id", "left", "right", "model_a", "model_b", "winner", "loser", "judge")
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # written as Python writes it, and within 64 bits
PIECE_ROWS = 50_000
# from here on, text is fetched as codes: a Python string per row would take longer than the reading
CODED_ROWS = 50_000
HASH = "hash({})"  # of a text, 64 bits


def read_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na: Collection[str] = (),
    sheet: str | None = None,
    identifiers: Collection[str] = IDENTIFIERS,
) -> Columns:
    """Read all columns of a CSV, Parquet or JSONL file, or of a sheet of a workbook.

    Parameters
    ----------
    path
        The file; the end of its name says the kind, and ``-`` is CSV from standard input.
    delimiter, encoding
        Of a CSV file; detected unless named.
    decimal : {",", "."}
        The decimal sign of a CSV file; the other one may then stand between thousands. Detected
        unless named (:func:`pairscore.files.numbers.find_signs` has the rule), with a warning where
        it is a comma or where commas stand between thousands.
    na
        Further words of CSV files and workbooks that stand for a missing entry, such as ``k.A.``.
    sheet
        Of a workbook; the first one with a table unless named.
    identifiers
        Names of columns that hold names, not quantities: whole numbers if every cell is one, else
        exact text.

    Raises
    ------
    BadRowsError
        With all faulty rows at once.
    """
    with stored_table(
        path,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        na=na,
        sheet=sheet,
        identifiers=identifiers,
        for_all_files=False,
    ) as table:
        return table.read()


def display_name(path: Any) -> str:
    """What a table is called in messages: its path, or ``standard input`` for ``-``."""
    return "standard input" if str(path) == "-" else str(path)


def warn_of(text: Piece) -> None:
    """Warn a user of Python of how a file was read."""
    warnings.warn(PairscoreWarning(text), stacklevel=2)


def once(say: Callable[[Piece], None]) -> Callable[[Piece], None]:
    """Say each sentence once: a file may be read twice."""
    said: set[Piece] = set()

    def say_once(text: Piece) -> None:
        if text not in said:
            said.add(text)
            say(text)

    return say_once


# -- tables in DuckDB ------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredTable:
    """A table that DuckDB has read and keeps, on disk where memory does not suffice.

    ``source`` is the file it came from, of some ``kind`` and, in CSV, with a ``delimiter``;
    ``cells`` says under which name DuckDB has each column that was read.
    """

    source: Source
    kind: str
    delimiter: str | None
    cells: dict[str, str]
    decimal: str | None = None
    say: Callable[[Piece], None] = warn_of
    said: set[str] = field(default_factory=set)

    def again(self, identifiers: Collection[str], columns: Choice | None) -> "StoredTable":
        """The same file read for other columns; this table is gone then."""
        source = replace(self.source, identifiers=identifiers, choose=columns)
        return _store(source, self.kind, self.delimiter, self.decimal, self.say)

    def read_texts(self) -> Columns:
        """All columns that hold neither lists nor records, as identifiers."""
        names: set[str] = set()

        def all_names(found: list[str], lists: list[str]) -> Collection[str]:
            names.update(set(found) - set(lists))
            return names

        source = replace(self.source, identifiers=names, choose=all_names)
        return _store(source, self.kind, self.delimiter, self.decimal, lambda _: None).read()

    def __len__(self) -> int:
        return int(self._select("count(*) AS n")["n"][0])

    def read(self) -> Columns:
        """All columns that were wanted; the arrays take the place of what was stored."""
        identifiers = {cell for name, cell in self.cells.items() if name in self.source.identifiers}
        arrays = arrays_from_duckdb(self.source.connection, identifiers)
        read = dict(zip(self.cells, arrays, strict=True))
        columns = {name: self._stripped(name, column) for name, column in read.items()}
        self.source.connection.execute("DROP TABLE cells")
        return Columns(columns, from_file=True)

    def pieces(self, names: Collection[str], rows: int = PIECE_ROWS) -> Iterator[Columns]:
        """Some columns, ``rows`` rows at a time.

        An identifier is whole numbers in all pieces or in none.
        """
        cells = {name: cell for name, cell in self.cells.items() if name in names}
        whole = {name for name in cells if name in self.source.identifiers and self._whole(name)}
        for first in range(0, len(self), rows):
            arrays = self._select(
                ", ".join(cells.values()),
                f"WHERE rowid >= {first} AND rowid < {first + rows} ORDER BY rowid",
            )
            columns = {name: _without_mask(arrays[cell]) for name, cell in cells.items()}
            columns |= {name: columns[name].astype(np.int64) for name in whole}
            yield Columns(
                {name: self._stripped(name, Column(array)) for name, array in columns.items()},
                from_file=True,
            )

    def _stripped(self, name: str, column: Column) -> Column:
        """The column without spaces around its text and with letters as one sign, said once."""
        stripped, example = without_blanks(column.values)
        letters, apart = composed(stripped)
        if example is None and apart is None:
            return column
        if name not in self.said:
            rows = np.array([a is not b for a, b in zip(stripped, column.values, strict=True)])
            count = int(np.count_nonzero(rows if column.codes is None else rows[column.codes]))
            changes = f"; accented letters unified (such as {apart!r})" if apart else ""
            changes = f"; {blanks_left_out(count, example)}{changes}" if example else changes
            self.say(f"{self.source.shown!r}, {name!r}: {changes[2:]}.")
            self.said.add(name)
        return Column(letters, column.codes)

    def locate(self, entries: Iterable[tuple[int, str]]) -> list[tuple[int, str | None]]:
        """Find entries, given by row (from 0) and column, in the file.

        Returns the physical line (from 1; in Parquet, the row) of each and, in CSV, its text.
        """
        if self.kind in ("csv", "workbook"):
            found = locate_cells(self.source.path, self.delimiter, entries)
            return [(self.source.line(line), text) for line, text in found]
        if self.kind == "parquet":
            return [(row + 1, None) for row, _ in entries]
        with self.source.path.open("rb") as lines:
            begins = [number for number, text in enumerate(lines, 1) if text.strip()]
        return [(begins[row], None) for row, _ in entries]

    def words_among_numbers(self, names: Collection[str]) -> dict[tuple[int, str], str]:
        """By line and column, entries of columns that should be numbers and are text."""
        types = self.source.connection.execute("DESCRIBE cells").fetchall()
        texts = {row[0] for row in types if row[1] == "VARCHAR"}
        words: dict[tuple[int, str], str] = {}
        for name in (name for name in names if self.cells.get(name) in texts):
            cell = self.cells[name]
            found = self._select(f"rowid AS row, {cell} AS entry", f"WHERE {cell} IS NOT NULL")
            entries = zip(found["row"].tolist(), found["entry"].tolist(), strict=True)
            bad = {row: text for row, text in entries if not NUMBER.fullmatch(text.strip())}
            lines = self.locate([(row, name) for row in bad])
            words |= {(at[0], name): t for at, t in zip(lines, bad.values(), strict=True)}
        return words

    def has_empty_texts(self) -> bool:
        """Whether a column of text has gaps; where none is text, whether there may be some."""
        types = self.source.connection.execute("DESCRIBE cells").fetchall()
        texts = [row[0] for row in types if row[1] == "VARCHAR"]
        if not texts:
            return True
        gaps = f"WHERE {texts[0]} IS NULL OR {texts[0]} < '!'"  # blanks come before '!'
        return self._select("count(*) AS n", gaps)["n"][0] > 0

    def _whole(self, name: str) -> bool:
        cell = self.cells[name]
        other = f"WHERE {cell} IS NULL OR NOT regexp_full_match({cell}, {sql_text(WHOLE.pattern)})"
        return self._select("count(*) AS n", other)["n"][0] == 0

    def _select(self, what: str, which: str = "") -> dict[str, np.ndarray]:
        return self.source.connection.execute(f"SELECT {what} FROM cells {which}").fetchnumpy()


@contextmanager
def stored_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    na: Collection[str] = (),
    sheet: str | None = None,
    identifiers: Collection[str] = IDENTIFIERS,
    columns: Choice | None = None,
    memory: str | None = None,
    database: Any = None,
    for_all_files: bool = True,
    say: Callable[[Piece], None] = warn_of,
) -> Iterator[StoredTable]:
    """Read a file as ``read_table`` does, but leave the table in DuckDB.

    Parameters
    ----------
    path, delimiter, encoding, decimal, na, sheet, identifiers
        As in ``read_table``.
    columns
        Given all names and those of lists and records, the columns to read; None reads all. Faults
        in others do no harm.
    memory
        How much DuckDB may hold outside the disk, such as ``"1GB"``.
    database
        One that is open already (to open one takes as long as to read a small file).
    for_all_files
        Whether the delimiter was named for all files of a command: then a file whose first line
        has none of it keeps its own.
    say
        Called with a sentence about what is unusual in the file and how it was read.
    """
    import duckdb

    shown, kind, say = display_name(path), table_kind(path), once(say)
    with ExitStack() as stack:
        database = database or stack.enter_context(open_database(memory))
        connection = stack.enter_context(database.cursor())  # which has tables of its own
        file = stack.enter_context(plain_file(path))
        source = Source(connection, file, shown, identifiers, columns)
        try:
            if kind in ("csv", "workbook"):
                reading = _TextReading(stack, delimiter, encoding, decimal, na, sheet, say)
                table = reading.read(source, kind, for_all_files)
            else:
                table = _store(source, kind, None, None, say)
            yield table
        except duckdb.Error as error:
            raise PairscoreError(_one_sentence(error, kind, shown)) from error


@dataclass(frozen=True)
class _TextReading:
    """How a CSV file or a sheet is read; copies of it stay as long as the ``stack`` does."""

    stack: ExitStack
    delimiter: str | None
    encoding: str | None
    decimal: str | None
    na: Collection[str]
    sheet: str | None
    say: Callable[[Piece], None]

    def read(self, source: Source, kind: str, for_all_files: bool) -> StoredTable:
        """A sheet, or a CSV file: a copy without title, totals and blank rows if it has any."""
        if kind == "workbook":
            sheet = self.stack.enter_context(
                sheet_as_csv(
                    source.path,
                    self.sheet,
                    source.identifiers,
                    self.na,
                    self.decimal,
                    self.say,
                    source.shown,
                )
            )
            return self._load_sheet(source, sheet, kind)
        path = self.stack.enter_context(as_utf8(source.path, self.encoding, source.shown, self.say))
        source = replace(source, path=path)
        delimiter = shared_delimiter(path, self.delimiter) if for_all_files else self.delimiter
        if self.na or not looks_plain(path, delimiter):
            return self._load_sheet(source, self._tidied(source, delimiter), kind)
        try:
            table = self._load(source, kind, delimiter)
            if not table.has_empty_texts() or not has_blank_rows(path, delimiter):
                return table
            return self._load_sheet(source, self._tidied(source, delimiter), kind)
        except BadRowsError as error:
            sheet = self._tidied(source, delimiter)
            if not sheet.changes:
                raise
            try:
                return self._load_sheet(source, sheet, kind)
            except BadRowsError as rest:
                raise (rest if len(rest.rows) < len(error.rows) else error) from None

    def _tidied(self, source: Source, delimiter: str | None) -> Sheet:
        tidied = tidied_csv(source.path, delimiter, source.identifiers, self.na, source.shown)
        return self.stack.enter_context(tidied)

    def _load_sheet(self, source: Source, sheet: Sheet, kind: str) -> StoredTable:
        shown = f"{source.shown}, sheet {sheet.name}" if sheet.name else source.shown
        copy = replace(source, path=sheet.path, lines=sheet.lines, shown=shown)
        table = self._load(copy, kind, sheet.delimiter)
        if sheet.changes:
            self.say(f"{shown!r}: {'; '.join(sheet.changes)}.")
        return table

    def _load(self, source: Source, kind: str, delimiter: str | None) -> StoredTable:
        return _store(source, kind, delimiter, self.decimal, self.say)


def _store(
    source: Source,
    kind: str,
    delimiter: str | None,
    decimal: str | None,
    say: Callable[[Piece], None],
) -> StoredTable:
    """Fill DuckDB's table ``cells``."""
    if kind in ("csv", "workbook"):
        cells, signs = load_csv(source, delimiter, decimal)
        if decimal is None and signs != POINT:
            say(f"{source.shown!r} has {signs.in_words}, and was read that way.")
        elif decimal not in (None, signs.decimal):
            say(f"{source.shown!r} has decimal signs {signs.decimal!r}, not {decimal!r} as before.")
    else:
        cells = (load_parquet if kind == "parquet" else load_jsonl)(source)
    return StoredTable(source, kind, delimiter, cells, decimal, say)


def _one_sentence(error: Exception, kind: str, shown: str) -> str:
    """What DuckDB says in several lines."""
    if kind == "csv" and "state machine" in str(error):
        return (
            f"{shown!r} mixes line endings or has a stray quotation mark; save it with one kind of"
            " line ending and quote whole cells."
        )
    message = str(error).splitlines()[0].rstrip(". ")
    return (
        f"{shown!r} cannot be read as {kind} ({message[:200]}); it is cut short, damaged or of"
        " another kind: write it again."
    )


# -- from DuckDB to arrays -------------------------------------------------------------------------


def arrays_from_duckdb(connection: Any, identifiers: Collection[str]) -> Iterator[Column]:
    """The columns of the table ``cells``, in order; long text as distinct values and codes.

    Those in ``identifiers`` are whole numbers if all of their cells are.
    """
    rows = connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    types = {row[0]: row[1] for row in connection.execute("DESCRIBE cells").fetchall()}
    direct = [cell for cell, kind in types.items() if kind == "DOUBLE" or rows < CODED_ROWS]
    select = f"SELECT {', '.join(direct)} FROM cells"
    arrays = connection.execute(select).fetchnumpy() if direct else {}
    for cell in types:
        if cell in arrays:
            column = Column(_without_mask(arrays[cell]))
        else:
            column = _coded_text(connection, cell)
        if cell in identifiers and len(column) and all(map(_is_whole, column.values)):
            column = Column(column.values.astype(np.int64), column.codes)
        yield column


def _is_whole(value: str | None) -> bool:
    return value is not None and WHOLE.fullmatch(value) is not None


def _without_mask(array: np.ndarray) -> np.ndarray:
    """Doubles with NaN, or strings with None, for what is missing."""
    if array.dtype.kind == "f":
        return np.ma.filled(array, np.nan)
    text = np.array(np.ma.getdata(array), dtype=object)
    text[np.ma.getmaskarray(array)] = None
    return text


def _coded_text(connection: Any, cell: str) -> Column:
    """Distinct values and codes of a text column, by DuckDB's hashes.

    To compare texts row by row takes longer than to read them.
    """

    def select(what: str) -> dict[str, np.ndarray]:
        return connection.execute(f"SELECT {what}").fetchnumpy()

    distinct = f"(SELECT DISTINCT {cell} AS name FROM cells)"
    names = select(f"name, {HASH.format('name')} AS hash FROM {distinct}")
    order = np.argsort(names["hash"])
    hashes = names["hash"][order]
    if np.any(hashes[1:] == hashes[:-1]):  # two names with one hash: rare enough to be slow
        return Column(_without_mask(select(f"{cell} FROM cells")[cell]))
    hash_of_rows = select(f"{HASH.format(cell)} AS hash FROM cells")["hash"]
    return Column(_without_mask(names["name"])[order], _sorted_places(hashes, hash_of_rows))


def _sorted_places(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted hash stands among the sorted ones, which are spread evenly.

    A bisection would take ten times as long.
    """
    bits = len(hashes).bit_length() + 2
    top = np.uint64(64 - bits)
    begins = np.searchsorted(hashes >> top, np.arange(1 << bits, dtype=np.uint64)).astype(np.int32)
    place = begins[wanted >> top]
    later = np.flatnonzero(hashes[place] != wanted)
    while len(later):
        place[later] += 1
        later = later[hashes[place[later]] != wanted[later]]
    return place


# -- text without spaces around it, its letters as one sign each -----------------------------------


def composed(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Text with every accented letter as one sign (Unicode's form NFC); and one that had others."""
    if values.dtype != object or unicodedata.is_normalized("NFC", "\0".join(filter(None, values))):
        return values, None
    entries = np.array([v and unicodedata.normalize("NFC", v) for v in values], dtype=object)
    return entries, entries[np.flatnonzero(entries != values)[0]]


def without_blanks(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Text without spaces around it, with None for what is left empty; and one that had some."""
    if values.dtype != object:
        return values, None
    joined = "\0".join(["", *filter(None, values.tolist()), ""])
    some = [blank for blank in BLANKS if blank in joined]
    if not any(f"\0{blank}" in joined or f"{blank}\0" in joined for blank in some):
        return values, None  # to look at each entry would take much longer
    padded = [v for v in values.tolist() if v is not None and v != v.strip(BLANKS)]
    changed = set(padded)
    entries = [(v.strip(BLANKS) or None) if v in changed else v for v in values.tolist()]
    stripped = np.empty(len(values), dtype=object)
    stripped[:] = entries
    return stripped, padded[0]


# -- several files or sheets with the same columns -------------------------------------------------


@dataclass
class JoinedTables:
    """Stored tables with the same columns, such as one for each judge, as one table; or one."""

    parts: list["StoredTable"]
    lengths: list[int] = field(default_factory=list)

    @property
    def source(self) -> Any:
        return self.parts[0].source

    @property
    def shown(self) -> str:
        """What the table is called in messages: of several sheets, by their files."""
        if len(self.parts) == 1:
            return str(self.source.shown)
        files = (part.source.shown.rpartition(", sheet ") for part in self.parts)
        return first_few(dict.fromkeys(file or name for file, _, name in files), 3)

    @property
    def names(self) -> list[str]:
        """What the parts are called: by their sheets or files, with paths where needed."""
        shown = [part.source.shown for part in self.parts]
        short = [one.rpartition(", sheet ") for one in shown]
        names = [sheet if of else Path(sheet).stem for _, of, sheet in short]
        return names if len(set(names)) == len(names) else shown

    def read(self) -> Columns:
        """The rows of all parts, one after the other."""
        return self._joined([part.read() for part in self.parts])

    def read_texts(self) -> Columns:
        """The columns that all parts have."""
        tables = [part.read_texts() for part in self.parts]
        shared = [name for name in tables[0].columns if all(name in table for table in tables)]
        if not shared:
            return self._joined(tables)
        return self._joined([Columns({n: t.get_column(n) for n in shared}, True) for t in tables])

    def again(self, identifiers: Collection[str], columns: Any) -> "JoinedTables":
        """The same files read for other columns."""
        return JoinedTables([part.again(identifiers, columns) for part in self.parts])

    def _joined(self, tables: list[Columns]) -> Columns:
        first, *others = tables
        for table, part in zip(others, self.parts[1:], strict=True):
            odd = sorted({*table.columns} ^ {*first.columns})
            if odd:
                sheets = [of for of in (part, self) if ", sheet " in of.source.shown]
                name_sheets = "name the sheets to read with " + Setting("sheet")
                raise PairscoreError(
                    f"{part.source.shown!r} and {self.source.shown!r} do not have the same columns"
                    f" ({', '.join(map(repr, odd))})",
                    ["give all files of comparisons the same", *([name_sheets] if sheets else [])],
                )
        self.lengths = [len(table) for table in tables]
        if not others:
            return first
        return Columns(
            {name: np.concatenate([table[name] for table in tables]) for name in first.columns},
            from_file=True,
        )

    def by_part(
        self, faults: list[BadEntriesError]
    ) -> Iterator[tuple["StoredTable", list[BadEntriesError]]]:
        """Each part with its faults, by the rows that they have there."""
        for part, length, end in zip(
            self.parts, self.lengths, np.cumsum(self.lengths).tolist(), strict=True
        ):
            mine = []
            for fault in faults:
                rows = [
                    (row - end + length, column, value)
                    for row, column, value in fault.entries
                    if end - length <= row < end
                ]
                if rows:
                    mine.append(fault.with_entries(rows))
            yield part, mine
