"""CSV files: layout from the first lines, cells by DuckDB, every bad row reported at once.

The first line gives the delimiter and the names. DuckDB is told both and the type of each column,
so that it guesses nothing, and it keeps a table of the rows that it rejects. The data are read
once, with every column that somebody may ask for (:func:`load_csv`). What a column holds is asked
of the table (:meth:`CsvCells.columns`); numbers say what their decimal sign is (``find_signs``).
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from pairscore.display import first_few, plural
from pairscore.errors import BadRow, BadRowsError, PairscoreError
from pairscore.files.delimiter import find_delimiter, sign_of
from pairscore.files.numbers import (
    ANY_NUMBER,
    MISSING,
    NUMERIC_SHARE,
    POINT,
    Signs,
    find_signs,
    kept_signs,
    named_signs,
    refuse_unclear_points,
    says_missing,
)
from pairscore.files.source import MAX_LINE, Kept, OpenFile, Source, refuse_bad_names
from pairscore.files.sql import sql_text
from pairscore.messages import Setting

SAMPLE_CELLS = 200_000
# DuckDB keeps an error for each cell too many or too few, with up to 10,000 characters of the row
MOST_ODD_CELLS = 100
KEPT_OF_ROW = 10_000
ODD_NUMBER = "_|[+][+-]"  # DuckDB takes 1_000 and +-1 for numbers; we do not
# the same in a file, each with a byte that is looked for first
ODD_BYTES = {b"_": re.compile(rb"_(?<=[0-9.]_)[0-9.]"), b"+": re.compile(rb"[+][+-]")}

FEW_COLUMNS = 20  # of a table of comparisons; a wider one is of items, whose ids do not repeat
MANY_CASTS = 25  # in one statement of SQL, whose time grows with their square
REASONS = {
    "UNQUOTED VALUE": "a quotation mark is not closed, or text follows the closing one",
    "LINE SIZE OVER MAXIMUM": f"longer than {MAX_LINE} bytes (a quotation mark left open?)",
}
WRONG_LENGTH = ("MISSING COLUMNS", "TOO MANY COLUMNS")
Reject = tuple[int, int, str, str]  # where the row begins, column (from 0), DuckDB's kind, the row


# -- layout ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CsvLayout:
    """How a CSV file is written: names of its columns, signs, and the first rows as text."""

    names: list[str]
    delimiter: str
    line_end: str
    first_rows: list[list[str]]
    signs: Signs = POINT


def read_layout(opened: OpenFile, delimiter: str | None, shown: str) -> CsvLayout:
    """Read the layout of a UTF-8 file from its first line; a named ``delimiter`` holds."""
    with opened.text() as file:
        line = file.readline(MAX_LINE)
        if not line.strip():
            raise PairscoreError(
                f"{shown!r} {'begins with an empty line' if line else 'is empty'}; its first line"
                " must name the columns."
            )
        sign = sign_of(delimiter) if delimiter else find_delimiter(line)
        file.seek(0)
        rows = csv.reader(file, delimiter=sign, strict=True)
        try:
            names = [name.strip() for name in next(rows)]
        except csv.Error as error:
            raise PairscoreError(
                f"the first line of {shown!r} does not name columns ({error}); write one name per"
                " column."
            ) from None
        refuse_bad_names(names, shown)
        sample = list(_sound_rows(rows, max(20, min(1000, SAMPLE_CELLS // len(names)))))
    return CsvLayout(names, sign, line[len(line.rstrip("\r\n")) :], sample)


def _sound_rows(rows: Iterator[list[str]], number: int) -> Iterator[list[str]]:
    """The first rows, up to one that cannot be read; DuckDB will say which that is."""
    with suppress(csv.Error):
        yield from islice(rows, number)


# -- cells -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellCounts:
    """How many filled cells of a text column are of each kind.

    Plain ``numbers``; ``odd`` ones, which only DuckDB takes for numbers; ``words`` that say that a
    number is missing; numbers with other ``signs`` than the file's; ``others``.
    """

    numbers: int = 0
    odd: int = 0
    words: int = 0
    signs: int = 0
    others: int = 0

    @property
    def numeric(self) -> bool:
        """Whether the column is meant to be numeric: words aside, 90 % of its cells are numbers."""
        plain = self.numbers + self.signs
        filled = plain + self.odd + self.others
        return (
            plain + self.odd >= NUMERIC_SHARE * filled
            and plain >= filled / 2
            and (plain > 0 or self.words == 0)
        )

    @property
    def faults(self) -> int:
        """How many cells are wrong if the column is numeric."""
        return self.signs + self.others


@dataclass(frozen=True)
class CsvCells:
    """A CSV file in DuckDB's table ``cells``, with columns c0, c1, ... for those of the file.

    ``typed`` ones are doubles, the others are text. ``rejects`` are rows that DuckDB refused.
    ``counts`` has what was found in columns already, by place and signs.
    """

    source: Source
    layout: CsvLayout
    typed: frozenset[int]
    rejects: list[Reject]
    decimal: str | None
    counts: dict[tuple[int, Signs], CellCounts] = field(default_factory=dict)

    nested = ()  # no cell of text holds a list

    @property
    def names(self) -> list[str]:
        """The columns of the file."""
        return self.layout.names

    def serves(self, identifiers: Collection[str]) -> bool:
        """Whether these columns are text as the file has it."""
        return not any(self.names[place] in identifiers for place in self.typed)

    def has_fractions(self, name: str) -> bool:
        """Whether a column has numbers that are no ids."""
        return self.names.index(name) in self.typed

    def text(self, name: str) -> str:
        """A column as text in SQL; a number may be written in another way than in the file."""
        place = self.names.index(name)
        return f"CAST(c{place} AS TEXT)" if place in self.typed else f"c{place}"

    def columns(self, source: Source) -> "CsvColumns | None":
        """The wanted columns in SQL; None where numbers have to be looked at as text first.

        A column is numeric if it is meant to be so (``CellCounts.numeric``), unless it is an
        identifier; the others are text.

        Raises
        ------
        BadRowsError
            With every row of too many or too few cells and every cell that should be a number.
        """
        places = {name: place for place, name in enumerate(self.names)}
        wanted = {name: places[name] for name in source.wanted(self.names)}
        free = [place for name, place in wanted.items() if name not in source.identifiers]
        layout = with_signs(source, self.layout, free, self.decimal)
        texts = [place for place in free if place not in self.typed]
        counts = self._counts(layout.signs, texts)
        if layout.signs == POINT and any(count.signs for count in counts.values()):
            numeric = [place for place, count in counts.items() if count.numeric]
            more = layout.first_rows + _rows_with_commas(source, layout, numeric)
            layout = with_signs(source, replace(layout, first_rows=more), free, None)
            if layout.signs != POINT:
                counts = self._counts(layout.signs, texts)
        is_typed = [place for place in free if place in self.typed]
        if is_typed and layout.signs != POINT:
            return None
        numbers = {place: count for place, count in counts.items() if count.numeric}
        if self.rejects or any(count.faults for count in numbers.values()):
            raise bad_rows(source, layout, {*is_typed, *numbers})
        self.refuse_odd_numbers(is_typed, [p for p, count in numbers.items() if count.odd])
        cells = {name: f"c{place}" for name, place in wanted.items()}
        cells |= {
            layout.names[place]: _number(layout.signs, place, count.words > 0)
            for place, count in numbers.items()
        }
        return CsvColumns(cells, {layout.names[p] for p in (*is_typed, *numbers)}, layout.signs)

    def has_blank_rows(self) -> bool:
        """Whether some row has no cell at all."""
        found = f"SELECT 1 FROM cells WHERE {is_blank_row(self.layout, self.typed)} LIMIT 1"
        return self.source.connection.execute(found).fetchone() is not None

    def _counts(self, signs: Signs, places: list[int]) -> dict[int, CellCounts]:
        """The cells of columns of text, counted by kind; of plain numbers in one look."""
        new = [place for place in places if (place, signs) not in self.counts]
        for first in range(0, len(new), MANY_CASTS):
            some = new[first : first + MANY_CASTS]
            asked = ", ".join(
                f"[count(*) FILTER ({cell} <> ''), count(TRY_CAST({signs.sql(cell)} AS DOUBLE)),"
                f" count(*) FILTER (regexp_matches({cell}, {sql_text(ODD_NUMBER)}))]"
                for cell in (f"c{place}" for place in some)
            )
            found = self.source.connection.execute(f"SELECT {asked} FROM cells").fetchone()
            for place, (filled, numbers, odd) in zip(some, found, strict=True):
                is_plain = filled == numbers and not odd
                count = CellCounts(filled) if is_plain else _count_cells(self.source, signs, place)
                self.counts[place, signs] = count
        return {place: self.counts[place, signs] for place in places}

    def refuse_odd_numbers(self, typed: list[int], texts: list[int]) -> None:
        """Refuse 1_000 and +-1 in numeric columns, which DuckDB lets pass.

        Of ``typed`` columns, which are no text any more, the file is asked where it may have some.
        """
        rows = _odd_rows(self.source, texts, "cells")
        if typed and self._may_have_odd_numbers:
            rows += _odd_rows(self.source, typed, csv_file(self.source.path, self.layout, set()))
        found = [
            f"{cell!r} in column {self.names[place]!r}"
            for row in rows
            for place, cell in row.items()
            if cell and not says_missing(cell) and re.search(ODD_NUMBER, cell)
        ]
        if found:
            raise PairscoreError(
                f"{self.source.shown!r} has cells that are not plain numbers, such as"
                f" {first_few(found)}; write digits only, or make the column text."
            )

    @cached_property
    def _may_have_odd_numbers(self) -> bool:
        """Whether an underscore is between two digits somewhere, or a plus before another sign."""
        end = b""
        for piece in self.source.opened.pieces():
            text = end + piece
            if any(sign in text and finder.search(text) for sign, finder in ODD_BYTES.items()):
                return True
            end = piece[-2:]
        return False


@dataclass(frozen=True)
class CsvColumns:
    """Columns of ``cells`` by name, in SQL; those that are ``numbers``; how these are written."""

    cells: dict[str, str]
    numbers: set[str]
    signs: Signs


def load_csv(
    source: Source, delimiter: str | None, decimal: str | None = None, as_text: bool = False
) -> CsvCells:
    """Read all columns of a UTF-8 file into DuckDB's table ``cells``, in one pass over the data.

    Columns in which the first rows have numbers that cannot be ids, with decimal points, are read
    as doubles, which takes two thirds of the time that text and a cast do. Where a later row has
    something else there, the data are read once more with text in its place; so are they with
    ``as_text`` columns, where numbers have other signs than the first rows.
    """
    layout = read_layout(source.opened, delimiter, source.shown)
    refuse_odd_lengths(source, layout)
    typed: set[int] = set()
    if not as_text and decimal in (None, "."):
        free = (p for p, name in enumerate(layout.names) if name not in source.identifiers)
        typed = {place for place in free if _are_surely_numbers(layout, place)}
    rejects = _load(source, layout, typed)
    while failed := {place for _, place, kind, _ in rejects if kind == "CAST"}:
        typed -= failed
        rejects = _load(source, layout, typed)
    return CsvCells(source, layout, frozenset(typed), rejects, decimal)


def refuse_odd_lengths(source: Source, layout: CsvLayout) -> None:
    """Refuse rows with over a hundred cells too many or too few, before DuckDB reads them."""
    n_cells = len(layout.names)
    if not _may_be_odd(source.opened, layout):
        return
    rows, begin = [], 1
    with (
        suppress(csv.Error),  # DuckDB will say what is wrong
        _long_cells(),
        source.opened.text() as file,
    ):
        reader = csv.reader(file, delimiter=layout.delimiter)
        for row in reader:
            if row and abs(len(row) - n_cells) > MOST_ODD_CELLS:
                reason = f"{plural(len(row), 'cell')} instead of {n_cells}"
                text = layout.delimiter.join(row[:200])[:200]
                rows.append(BadRow(source.line(begin), None, text, reason))
            begin = reader.line_num + 1
    if rows:
        raise BadRowsError(source.shown, rows)


def _may_be_odd(opened: OpenFile, layout: CsvLayout) -> bool:
    """Whether some line has over a hundred delimiters too many or too few; quotes are not read."""
    sign, expected = ord(layout.delimiter), len(layout.names) - 1
    held, count = 0, 0  # of the line that the last piece ended in
    for piece in opened.pieces():
        signs = np.frombuffer(piece, dtype=np.uint8)
        is_end = (signs == 10) | (signs == 13) if b"\r" in piece else signs == 10
        ends = np.flatnonzero(is_end)
        lengths = np.diff(ends, prepend=-1 - held)
        held = len(piece) - 1 - int(ends[-1]) if len(ends) else held + len(piece)
        longest = max(int(lengths.max(initial=0)), held)
        if longest <= expected + MOST_ODD_CELLS and expected < MOST_ODD_CELLS:
            count = 0
            continue
        places = np.flatnonzero(signs == sign)
        counts = np.diff(np.searchsorted(places, ends), prepend=-count)
        count = (
            len(places) - int(np.searchsorted(places, ends[-1]))
            if len(ends)
            else (count + len(places))
        )
        odd = np.abs(counts[lengths > 1] - expected) > MOST_ODD_CELLS
        if odd.any() or count > expected + MOST_ODD_CELLS:
            return True
    return held > 0 and expected - count > MOST_ODD_CELLS


def _filled(layout: CsvLayout, place: int) -> list[str]:
    """The cells of a column in the first rows that are not empty."""
    return [row[place] for row in layout.first_rows if place < len(row) and row[place]]


def _are_surely_numbers(layout: CsvLayout, place: int) -> bool:
    """Whether the first cells of a column are numbers that are no ids and no codes.

    Whole numbers may be either, unless they repeat in a table of many columns.
    """
    cells = _filled(layout, place)
    if not cells or any("_" in cell for cell in cells):  # Python takes 1_000 for a number
        return False
    try:
        numbers = np.array(cells, dtype=float)
    except ValueError:
        return False
    if any(map(str.isdecimal, cells)) and np.all(numbers == np.floor(numbers)):
        return len(layout.names) > FEW_COLUMNS and len(np.unique(numbers)) < len(numbers)
    return True


def with_signs(
    source: Source, layout: CsvLayout, free: list[int], decimal: str | None
) -> CsvLayout:
    """The layout with the named decimal sign, or with the signs that the first rows have."""
    columns = {layout.names[place]: _filled(layout, place) for place in free}
    if decimal is not None:
        kept = kept_signs(columns, decimal) if isinstance(decimal, Kept) else named_signs(decimal)
        return replace(layout, signs=kept)
    signs = find_signs(columns, source.shown)
    if signs == POINT and layout.delimiter == ";":
        refuse_unclear_points(columns, source.shown)
    return replace(layout, signs=signs)


def _rows_with_commas(source: Source, layout: CsvLayout, places: list[int]) -> list[list[str]]:
    """Some rows beyond the first ones that have commas in numbers of these columns."""
    if not places:
        return []
    found = " OR ".join(
        f"(contains(c{place}, ',') AND regexp_full_match(c{place}, {sql_text(ANY_NUMBER)}))"
        for place in places
    )
    some = f"SELECT * FROM cells WHERE {found} LIMIT 1000"
    rows = source.connection.execute(some).fetchall()
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def is_blank_row(layout: CsvLayout, typed: Collection[int]) -> str:
    """In SQL, whether a row has no cell at all; of one column none is blank."""
    places = range(len(layout.names))
    if len(places) < 2:
        return "false"
    empty = [f"c{place} IS NULL" for place in places if place in typed]
    empty += [  # blanks come before '!', and few cells have to be looked at
        f"(c{place} IS NULL OR (c{place} < '!' AND trim(c{place}, ' \t') = ''))"
        for place in places
        if place not in typed
    ]
    return " AND ".join(empty)


def _load(
    source: Source, layout: CsvLayout, typed: Collection[int], table: str = "cells"
) -> list[Reject]:
    """Fill a table with all columns, some of them numbers.

    Returns the rejected rows, and cells that are no numbers, in the order of the file.
    """
    for old in (table, "reject_errors", "reject_scans"):
        source.connection.execute(f"DROP TABLE IF EXISTS {old}")
    file = csv_file(source.path, layout, typed)
    source.connection.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM {file}")
    return source.connection.execute(
        "SELECT line_byte_position, column_idx - 1, error_type, csv_line FROM reject_errors"
        " ORDER BY 1, 2"
    ).fetchall()


def _number(signs: Signs, place: int, has_words: bool) -> str:
    """A cell of text as a number in SQL, NaN for words that say it is missing."""
    cell = f"c{place}"
    if not has_words:
        return f"TRY_CAST({signs.sql(cell)} AS DOUBLE)"
    is_word = f"regexp_full_match({cell}, {sql_text(MISSING)})"
    return f"TRY_CAST(CASE WHEN {is_word} THEN 'nan' ELSE {signs.sql(cell)} END AS DOUBLE)"


def csv_file(
    path: Path, layout: CsvLayout, numbers: Collection[int], keep_rejects: bool = True
) -> str:
    """The file in SQL, with columns c0, c1, ... of numbers or text.

    Rows that are rejected are kept in a table of their own; else the first one is an error.
    """
    # DuckDB would take a line ending from inside quotes; told of CRLF, it finds no rows, but it
    # sees CRLF by itself
    ends = layout.line_end.encode("unicode_escape").decode()
    new_line = f"new_line={sql_text(ends)}, " if len(layout.line_end) == 1 else ""
    columns = ", ".join(
        f"'c{place}': '{'DOUBLE' if place in numbers else 'VARCHAR'}'"
        for place in range(len(layout.names))
    )
    signs = f"decimal_separator={sql_text(layout.signs.decimal)}, "
    signs += f"thousands={sql_text(layout.signs.thousands)}, " if layout.signs.thousands else ""
    return (
        f"read_csv({sql_text(path)}, auto_detect=false, header=true, columns={{{columns}}},"
        f" delim={sql_text(layout.delimiter)}, quote='\"', escape='\"', {new_line}{signs}"
        "nullstr='', allow_quoted_nulls=false, strict_mode=true, hive_partitioning=false,"
        f" compression='none', max_line_size={MAX_LINE}, store_rejects={str(keep_rejects).lower()})"
    )


def number_or_error(signs: Signs, place: int) -> str:
    """A cell of text as a number in SQL, which fails where it is none."""
    cell = f"c{place}"
    number = f"coalesce({signs.sql(cell)}, '?')"
    is_word = f"regexp_full_match({cell}, {sql_text(MISSING)})"
    return (
        f"CAST(CASE WHEN {cell} IS NULL THEN NULL WHEN {is_word} THEN 'nan' ELSE {number} END"
        " AS DOUBLE)"
    )


def count_sample(layout: CsvLayout, place: int) -> CellCounts:
    """The cells of a column in the first rows, counted by kind."""
    counts = Counter(_kind_of(cell, layout.signs) for cell in _filled(layout, place))
    return CellCounts(**counts)


def _kind_of(cell: str, signs: Signs) -> str:
    """What a cell is, as :class:`CellCounts` calls it."""
    if says_missing(cell):
        return "words"
    if re.search(ODD_NUMBER, cell):
        return "odd"
    try:
        float(signs.with_point(cell))
    except ValueError:
        return "signs" if re.fullmatch(ANY_NUMBER, cell, re.ASCII) else "others"
    return "numbers"


def _count_cells(source: Source, signs: Signs, place: int) -> CellCounts:
    """Count the filled cells of a text column of the table ``cells`` by kind."""
    cell = f"c{place}"
    kind = (
        f"CASE WHEN TRY_CAST({signs.sql(cell)} AS DOUBLE) IS NULL"
        f" THEN CASE WHEN regexp_full_match({cell}, {sql_text(MISSING)}) THEN 'words'"
        f" WHEN regexp_full_match({cell}, {sql_text(ANY_NUMBER)}) THEN 'signs'"
        f" ELSE 'others' END"
        f" WHEN regexp_matches({cell}, {sql_text(ODD_NUMBER)}) THEN 'odd' ELSE 'numbers' END"
    )
    counts = source.connection.execute(
        f"SELECT {kind} AS kind, count(*) FROM cells WHERE {cell} <> '' GROUP BY kind"
    ).fetchall()
    return CellCounts(**dict(counts))


def _odd_rows(source: Source, places: list[int], table: str) -> list[dict[int, str]]:
    """Some rows with odd numbers in these columns, by place."""
    if not places:
        return []
    cells = ", ".join(f"c{place}" for place in places)
    is_odd = f"regexp_matches(concat_ws(' ', {cells}), {sql_text(ODD_NUMBER)})"
    select = f"SELECT {cells} FROM {table} WHERE {is_odd} LIMIT 5"
    rows = source.connection.execute(select).fetchall()
    return [dict(zip(places, row, strict=True)) for row in rows]


# -- faults ----------------------------------------------------------------------------------------


def bad_rows(source: Source, layout: CsvLayout, numeric: Collection[int]) -> BadRowsError:
    """All that DuckDB rejects with ``numeric`` columns as numbers, by physical line.

    A row with too many or too few cells is one fault; otherwise each cell that is neither a number
    nor missing is.
    """
    # DuckDB lets pass any thousands; without them it rejects what has to be looked at
    strict = replace(layout, signs=replace(layout.signs, thousands=""))
    rejects = _load(source, strict, numeric, "rejected")
    source.connection.execute("DROP TABLE rejected")
    by_row = [list(faults) for _, faults in groupby(rejects, key=lambda reject: reject[0])]
    content = source.opened.from_begin().read()
    lines = _physical_lines(content, [faults[0][0] for faults in by_row])
    with _long_cells():
        rows = [
            row
            for line, faults in zip(lines, by_row, strict=True)
            for row in _faults_of_row(
                source.line(line), _whole_row(content, faults[0]), faults, layout
            )
        ]
    if any(row.column and re.fullmatch(ANY_NUMBER, row.text) for row in rows):
        name_it = "name it (" + Setting("decimal") + ")"
        return BadRowsError(source.shown, rows, ["write numbers with one decimal sign", name_it])
    return BadRowsError(source.shown, rows)


def _whole_row(content: bytes, reject: Reject) -> str:
    """A row that was rejected, of which DuckDB keeps the beginning; it may begin at the line end
    before.
    """
    begin, *_, text = reject
    if len(text) < KEPT_OF_ROW:
        return text.strip("\r\n")
    return content[begin - 1 : begin - 1 + MAX_LINE].decode("utf-8", "ignore").lstrip("\r\n")


def _faults_of_row(
    line: int, text: str, faults: list[Reject], layout: CsvLayout
) -> Iterator[BadRow]:
    kinds = [kind for _, _, kind, _ in faults if kind != "CAST"]
    if kinds and not set(kinds) & set(WRONG_LENGTH):
        yield BadRow(line, None, text[:200], REASONS.get(kinds[0], kinds[0].lower()))
        return
    cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter), [])
    if kinds or not cells:
        reason = f"{plural(len(cells), 'cell')} instead of {len(layout.names)}"
        yield BadRow(line, None, text[:200], reason)
        return
    for _, place, *_ in faults:
        is_number = re.fullmatch(layout.signs.pattern, cells[place], re.ASCII)
        if not says_missing(cells[place]) and not is_number:
            yield BadRow(line, layout.names[place], cells[place][:200], "not a number")


def _physical_lines(content: bytes, positions: list[int]) -> Iterator[int]:
    """The lines (from 1) of rows that begin at rising byte positions (from 1) or soon after.

    Lines end at line feeds, or at carriage returns where there are none.
    """
    end = b"\n" if b"\n" in content else b"\r"
    line, counted = 1, 0
    for position in positions:
        begin = position - 1
        while content[begin] in b"\r\n":
            begin += 1
        line += content.count(end, counted, begin)
        counted = begin
        yield line


def locate_cells(
    opened: OpenFile, layout: CsvLayout, cells: Iterable[tuple[int, str]]
) -> list[tuple[int, str | None]]:
    """Find cells, given by row (from 0) and column, in a UTF-8 file that can be read.

    Returns for each the physical line (from 1) of its row, and its text; empty lines are no rows.
    """
    cells = list(cells)
    rows, found = {row for row, _ in cells}, {}
    with _long_cells(), opened.text() as file:
        reader, number, ends = csv.reader(file, delimiter=layout.delimiter), -1, 0
        for row in reader:
            if row and number in rows:
                found[number] = ends + 1, dict(zip(layout.names, row, strict=False))
            number, ends = number + bool(row), reader.line_num
    return [(found[row][0], found[row][1].get(column)) for row, column in cells]


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module read long cells; its limit is one for the process, so it is put back."""
    limit = csv.field_size_limit(MAX_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
