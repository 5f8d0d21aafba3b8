"""Tables from files: CSV, sheets of workbooks, Parquet and JSONL, read with DuckDB.

The same data give the same columns, bit for bit, whatever the kind of file: identifiers are whole
numbers if all of them are, else exact text; other numbers are doubles, truth values 0 and 1;
missing numbers are NaN, missing text is None.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.tables import Column, Columns
from pairscore.display import first_few
from pairscore.errors import BadEntriesError, BadRowsError, PairscoreError, PairscoreWarning
from pairscore.files.delimiter import shared_delimiter
from pairscore.files.duckdb_columns import (
    WHOLE,
    as_whole_numbers,
    coded_text,
    composed,
    without_blanks,
    without_mask,
)
from pairscore.files.encoding import as_utf8
from pairscore.files.numbers import NUMBER, POINT
from pairscore.files.parquet_and_jsonl import TypedCells, load_jsonl, load_parquet
from pairscore.files.read_csv import CsvCells, load_csv, locate_cells
from pairscore.files.source import Choice, Kept, OpenFile, Source, Unsaid, open_file, table_kind
from pairscore.files.sql import open_database, sql_text
from pairscore.files.titles_and_totals import Sheet, blanks_left_out, looks_plain, tidied_csv
from pairscore.files.workbooks import Workbook, open_workbook, sheet_as_csv
from pairscore.messages import Piece, Setting

IDENTIFIERS = ("id", "left", "right", "model_a", "model_b", "winner", "loser", "judge")
PIECE_ROWS = 50_000
# from here on, text is fetched as codes: a Python string per row would take longer than the reading
CODED_ROWS = 50_000
MANY_CASTS = 25  # in one statement of SQL, whose time grows with their square
# how files are written, and why that may be true of none
SAID_OF_TEXT = {
    "delimiter": "the first line of no CSV file has it",
    "encoding": "there is no CSV file",
    "decimal": "there is neither a CSV file nor a workbook",
    "na": "there is neither a CSV file nor a workbook",
}


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
    """Say each sentence once: a file may be asked for several tables."""
    said: set[Piece] = set()

    def say_once(text: Piece) -> None:
        if text not in said:
            said.add(text)
            say(text)

    return say_once


# -- tables in DuckDB ------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredTable:
    """Columns of a file that DuckDB has read and keeps, on disk where memory does not suffice.

    ``source`` is the file and what is wanted of it; ``cells`` says what each column is in SQL, and
    ``numbers`` which are doubles. ``loaded`` has all columns that other tables of the file need,
    and ``done`` are those that such a table has read.
    """

    loaded: "LoadedFile"
    source: Source
    cells: dict[str, str]
    numbers: Collection[str]
    said: set[str] = field(default_factory=set)
    done: Mapping[str, Column] = field(default_factory=dict)

    def again(self, identifiers: Collection[str], columns: Choice | None) -> "StoredTable":
        """Other columns of the same file; those that were read, and stay, are not read again."""
        table = self.loaded.file.table(identifiers, columns, self.loaded.say)
        if "_columns" not in self.__dict__ or table.loaded.cells is not self.loaded.cells:
            return table
        done = {
            name: self.read().get_column(name) for name in table.cells if self._reads(name, table)
        }
        return replace(table, said=self.said, done=done)

    def _reads(self, name: str, other: "StoredTable") -> bool:
        """Whether a column is the same here as in another table of the file."""
        are_ids = [name in table.source.identifiers for table in (self, other)]
        return self.cells.get(name) == other.cells[name] and are_ids[0] == are_ids[1]

    def read_texts(self, only_ids: bool = False) -> Columns:
        """All columns that hold neither lists nor records, as identifiers; or those that may be
        ids.
        """
        return self.loaded.texts(only_ids).read()

    def __len__(self) -> int:
        return int(self._select("count(*) AS n")["n"][0])

    def read(self) -> Columns:
        """All columns that were wanted."""
        return self._columns

    @cached_property
    def _columns(self) -> Columns:
        new = [name for name in self.cells if name not in self.done]
        columns = {
            name: self._stripped(name, column)
            for name, column in zip(new, self._arrays(new), strict=True)
        }
        columns |= self.done
        return Columns({name: columns[name] for name in self.cells}, from_file=True)

    def _arrays(self, names: list[str]) -> Iterator[Column]:
        """Columns in order; long text as distinct values and codes.

        Identifiers are whole numbers if all of their cells are.
        """
        is_short = len(self) < CODED_ROWS
        direct = [name for name in names if name in self.numbers or is_short]
        arrays: dict[str, np.ndarray] = {}
        for first in range(0, len(direct), MANY_CASTS):
            some = direct[first : first + MANY_CASTS]
            cells = ", ".join(f"{self.cells[name]} AS c{place}" for place, name in enumerate(some))
            arrays |= zip(some, self._select(cells).values(), strict=True)
        for name in names:
            cell = self.cells[name]
            if name in arrays:
                column = Column(without_mask(arrays.pop(name)))
            else:
                column = coded_text(self.source.connection, cell)
            if name in self.source.identifiers and len(column):
                column = Column(as_whole_numbers(column.values), column.codes)
            yield column

    def pieces(self, names: Collection[str], rows: int = PIECE_ROWS) -> Iterator[Columns]:
        """Some columns, ``rows`` rows at a time.

        An identifier is whole numbers in all pieces or in none.
        """
        cells = {name: cell for name, cell in self.cells.items() if name in names}
        whole = {name for name in cells if name in self.source.identifiers and self._whole(name)}
        for first in range(0, len(self), rows):
            arrays = self._select(
                ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells.values())),
                f"WHERE rowid >= {first} AND rowid < {first + rows} ORDER BY rowid",
            )
            of_names = zip(cells, arrays.values(), strict=True)
            columns = {name: without_mask(array) for name, array in of_names}
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
            self.loaded.say(f"{self.source.shown!r}, {name!r}: {changes[2:]}.")
            self.said.add(name)
        return Column(letters, column.codes)

    def locate(self, entries: Iterable[tuple[int, str]]) -> list[tuple[int, str | None]]:
        """Find entries, given by row (from 0) and column, in the file.

        Returns the physical line (from 1; in Parquet, the row) of each and, in CSV, its text.
        """
        if isinstance(self.loaded.cells, CsvCells):
            found = locate_cells(self.source.opened, self.loaded.cells.layout, entries)
            return [(self.source.line(line), text) for line, text in found]
        if self.loaded.file.kind == "parquet":
            return [(row + 1, None) for row, _ in entries]
        lines = self.source.opened.from_begin()
        begins = [number for number, text in enumerate(lines, 1) if text.strip()]
        return [(begins[row], None) for row, _ in entries]

    def words_among_numbers(self, names: Collection[str]) -> dict[tuple[int, str], str]:
        """By line and column, entries of columns that should be numbers and are text."""
        words: dict[tuple[int, str], str] = {}
        for name in (name for name in names if name in self.cells and name not in self.numbers):
            cell = self.cells[name]
            found = self._select(f"rowid AS row, {cell} AS entry", f"WHERE {cell} IS NOT NULL")
            entries = zip(found["row"].tolist(), found["entry"].tolist(), strict=True)
            bad = {row: text for row, text in entries if not NUMBER.fullmatch(text.strip())}
            lines = self.locate([(row, name) for row in bad])
            words |= {(at[0], name): t for at, t in zip(lines, bad.values(), strict=True)}
        return words

    def _whole(self, name: str) -> bool:
        cell = self.cells[name]
        other = f"WHERE {cell} IS NULL OR NOT regexp_full_match({cell}, {sql_text(WHOLE.pattern)})"
        return self._select("count(*) AS n", other)["n"][0] == 0

    def _select(self, what: str, which: str = "") -> dict[str, np.ndarray]:
        return self.source.connection.execute(f"SELECT {what} FROM cells {which}").fetchnumpy()


class OpenFiles:
    """The files of a command: each is opened once, and loaded once for all tables asked of it.

    ``memory`` is how much DuckDB may hold outside the disk, such as ``"1GB"``.
    """

    def __init__(self, memory: str | None = None):
        self.memory = memory
        self.stack = ExitStack()
        self._opened: dict[str, OpenFile] = {}
        self._workbooks: dict[str, Workbook] = {}
        self._tables: dict[Any, TableFile] = {}

    def __enter__(self) -> "OpenFiles":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.stack.close()
        if kind is None:
            self.refuse_unused()

    def refuse_unused(self) -> None:
        """Refuse what was said of how files are written, and is true of none of them."""
        tables = [*self._tables.values()]
        readings = (table.reading for table in tables)
        refuse_unused(readings, lambda name: any(table.has(name) for table in tables))

    @cached_property
    def database(self) -> Any:
        """DuckDB, which takes as long to open as a small file to read."""
        return self.stack.enter_context(open_database(self.memory))

    def opened(self, path: Any) -> OpenFile:
        """A file, or what standard input had."""
        name = str(path)
        if name not in self._opened:
            self._opened[name] = self.stack.enter_context(open_file(path))
        return self._opened[name]

    def workbook(self, path: Any) -> Workbook:
        """A workbook, whose sheets are read when they are asked for."""
        name = str(path)
        if name not in self._workbooks:
            self._workbooks[name] = open_workbook(Path(path), name)
        return self._workbooks[name]

    def table_file(self, path: Any, reading: "TextReading") -> "TableFile":
        """A file that is read in some way."""
        key = str(path), reading
        if key not in self._tables:
            self._tables[key] = TableFile(self, path, reading)
        return self._tables[key]


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
    files: OpenFiles | None = None,
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
    files
        Those that a command has opened already; they stay open.
    for_all_files
        Whether the delimiter was named for all files of a command: then a file whose first line
        has none of it keeps its own.
    say
        Called with a sentence about what is unusual in the file and how it was read.
    """
    import duckdb

    kind, shown = table_kind(path), display_name(path)
    is_alone = files is None
    with ExitStack() as stack:
        files = files or stack.enter_context(OpenFiles(memory))
        reading = TextReading(delimiter, encoding, decimal, tuple(na), sheet, for_all_files)
        try:
            table = files.table_file(path, reading).table(identifiers, columns, once(say))
            if is_alone:
                files.refuse_unused()
            yield table
        except duckdb.Error as error:
            raise PairscoreError(one_sentence(error, kind, shown)) from error


@dataclass(frozen=True)
class TextReading:
    """How a CSV file or a sheet is read, as far as the user has said it."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()
    sheet: str | None = None
    for_all_files: bool = True

    def delimiter_of(self, opened: OpenFile) -> str | None:
        """The named delimiter, unless it was named for all files and is not in this one."""
        return shared_delimiter(opened, self.delimiter) if self.for_all_files else self.delimiter

    def said(self, name: str) -> Collection[str]:
        """What the user says of a file; not what earlier files had."""
        value = getattr(self, name)
        values = value if isinstance(value, tuple) else (value,)
        return [one for one in values if one is not None and not isinstance(one, Kept | Unsaid)]


def refuse_unused(readings: Iterable[TextReading], has: Callable[[str], bool]) -> None:
    """Refuse what was said of how files are written, and none of them ``has``."""
    readings = [*readings]
    for name, where in SAID_OF_TEXT.items():
        said = {str(value): None for reading in readings for value in reading.said(name)}
        if said and not has(name):
            raise PairscoreError(
                Setting(name) + f" is {first_few(map(repr, said))}, and {where}", "leave it out"
            )


@dataclass(frozen=True)
class LoadedFile:
    """What DuckDB has of a file: a CSV file, a sheet or a copy without title, totals, blank rows.

    A column that was ``rewritten`` in the copy is not what the file has. ``notes`` say how the file
    was read, and ``changes`` what the copy is without, once a table of it is in order.
    """

    file: "TableFile"
    source: Source
    cells: CsvCells | TypedCells
    is_copy: bool = False
    rewritten: Collection[str] = ()
    notes: Sequence[Piece] = ()
    changes: str = ""
    say: Callable[[Piece], None] = warn_of

    def serves(self, identifiers: Collection[str]) -> bool:
        """Whether columns are there as they are in the file."""
        return self.cells.serves(identifiers) and not {*identifiers} & {*self.rewritten}

    def with_say(self, say: Callable[[Piece], None]) -> "LoadedFile":
        """The same, with another to be told; what was said of the file is said to them."""
        for note in self.notes:
            say(note)
        return replace(self, say=say)

    def texts(self, only_ids: bool) -> StoredTable:
        """All columns that hold neither lists nor records, or those that may be ids, as text."""
        names = [name for name in self.cells.names if name not in self.cells.nested]
        if only_ids:
            names = [name for name in names if not self.cells.has_fractions(name)] or names[:1]
        return StoredTable(
            replace(self, say=lambda _: None),
            replace(self.source, identifiers=names),
            {name: self.cells.text(name) for name in names},
            (),
        )

    def table(self, wanted: Source) -> StoredTable | None:
        """The wanted columns; None where numbers have to be read as text first."""
        source = replace(self.source, identifiers=wanted.identifiers, choose=wanted.choose)
        if isinstance(self.cells, TypedCells):
            return StoredTable(self, source, *self.cells.columns(source))
        columns = self.cells.columns(source)
        if columns is None:
            return None
        decimal = self.file.reading.decimal
        if decimal is None and columns.signs != POINT:
            self.say(f"{source.shown!r} has {columns.signs.in_words}, and was read that way.")
        elif decimal not in (None, columns.signs.decimal):
            signs = columns.signs.decimal
            self.say(f"{source.shown!r} has decimal signs {signs!r}, not {decimal!r} as before.")
        if self.changes:
            self.say(f"{source.shown!r}: {self.changes}.")
        return StoredTable(self, source, columns.cells, columns.numbers)


class TableFile:
    """A file that is open, and what DuckDB has of it: loaded when a table is first asked of it.

    It is loaded again only where columns are needed as text that were loaded as numbers, and where
    a table has faults that a copy without title, totals and blank rows may not have.
    """

    def __init__(self, files: OpenFiles, path: Any, reading: TextReading):
        self.files, self.path, self.reading = files, path, reading
        self.kind, self.shown = table_kind(path), display_name(path)
        # a connection has tables of its own
        self.connection = files.stack.enter_context(files.database.cursor())
        self.loaded: LoadedFile | None = None
        self.text_notes: list[Piece] = []

    def has(self, name: str) -> bool:
        """Whether the file has such a thing as what was said of it."""
        if name == "delimiter":
            return self.kind == "csv" and self._delimiter is not None
        return self.kind == "csv" or (self.kind == "workbook" and name != "encoding")

    def table(
        self, identifiers: Collection[str], columns: Choice | None, say: Callable[[Piece], None]
    ) -> StoredTable:
        """The wanted columns of the file; ``say`` is told how it was read."""
        loaded = self.loaded
        if loaded is None or not loaded.serves(identifiers):
            loaded = self._load(identifiers)
        wanted = Source(self.connection, loaded.source.opened, "", identifiers, columns)
        try:
            return self._table_of(loaded, wanted, say)
        except BadRowsError as error:
            if self.kind != "csv" or loaded.is_copy:
                raise
            sheet = self._tidied(identifiers)
            if not sheet.changes:
                raise
            try:
                return self._table_of(self._load_sheet(sheet, identifiers), wanted, say)
            except BadRowsError as rest:
                raise (rest if len(rest.rows) < len(error.rows) else error) from None

    def _table_of(
        self, loaded: LoadedFile, wanted: Source, say: Callable[[Piece], None]
    ) -> StoredTable:
        table = loaded.with_say(say).table(wanted)
        if table is None:
            again = self._load(wanted.identifiers, as_text=True).with_say(say)
            table = again.table(wanted)
            assert table is not None
        return table

    def _load(self, identifiers: Collection[str], as_text: bool = False) -> LoadedFile:
        if self.kind == "workbook":
            return self._load_sheet(self._sheet(identifiers), identifiers, as_text)
        if self.kind != "csv":
            opened = self.files.opened(self.path)
            source = Source(self.connection, opened, self.shown, identifiers)
            load = load_parquet if self.kind == "parquet" else load_jsonl
            return self._keep(LoadedFile(self, source, load(source)))
        if self.reading.na or not looks_plain(self._text, self._delimiter):
            return self._load_sheet(self._tidied(identifiers), identifiers, as_text)
        source = Source(self.connection, self._text, self.shown, identifiers)
        cells = load_csv(source, self._delimiter, self.reading.decimal, as_text)
        if cells.has_blank_rows():
            return self._load_sheet(self._tidied(identifiers), identifiers, as_text)
        return self._keep(LoadedFile(self, source, cells, notes=self.text_notes))

    def _keep(self, loaded: LoadedFile) -> LoadedFile:
        self.loaded = loaded
        return loaded

    @cached_property
    def _text(self) -> OpenFile:
        """The file, or a copy of it, in UTF-8."""
        opened = self.files.opened(self.path)
        copy = as_utf8(opened, self.reading.encoding, self.shown, self.text_notes.append)
        return self.files.stack.enter_context(copy)

    @cached_property
    def _delimiter(self) -> str | None:
        return self.reading.delimiter_of(self._text)

    def _sheet(self, identifiers: Collection[str]) -> Sheet:
        book = self.files.workbook(self.path)
        na, decimal = self.reading.na, self.reading.decimal
        self.text_notes.clear()
        sheet = sheet_as_csv(
            book, self.reading.sheet, identifiers, na, decimal, self.text_notes.append
        )
        return self.files.stack.enter_context(sheet)

    def _tidied(self, identifiers: Collection[str]) -> Sheet:
        """A copy of a CSV file without title, totals and blank rows."""
        na = self.reading.na
        copy = tidied_csv(self._text, self._delimiter, identifiers, na, self.shown)
        return self.files.stack.enter_context(copy)

    def _load_sheet(
        self, sheet: Sheet, identifiers: Collection[str], as_text: bool = False
    ) -> LoadedFile:
        shown = f"{self.shown}, sheet {sheet.name}" if sheet.name else self.shown
        opened = OpenFile(sheet.path, self.files.stack.enter_context(sheet.path.open("rb")))
        source = Source(self.connection, opened, shown, identifiers, lines=sheet.lines)
        cells = load_csv(source, sheet.delimiter, self.reading.decimal, as_text)
        notes = [*self.text_notes]
        changes = "; ".join(sheet.changes)
        return self._keep(LoadedFile(self, source, cells, True, sheet.rewritten, notes, changes))


def one_sentence(error: Exception, kind: str, shown: str) -> str:
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


# -- text without spaces around it, its letters as one sign each -----------------------------------


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
