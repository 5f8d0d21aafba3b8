"""CSV files: layout from the first line, cells by DuckDB, every bad row reported at once.

The first line gives the delimiter and the names. DuckDB is told both and the type of each column,
so that it guesses nothing, and it keeps a table of the rows that it rejects. Columns whose first
cells are all numbers are read as such and others with ``TRY_CAST`` or as text: casts in SQL take a
time that grows with the square of their number, too long for tables of thousands of columns.
"""

import csv
import io
import mmap
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from pairscore.errors import BadRow, BadRowsError, PairscoreError, first_few, plural
from pairscore.files.source import MAX_LINE, Source, refuse_bad_names, sql_text

DELIMITERS = ",;\t|"
NUMERIC_SHARE = 0.9  # with so many numbers among its cells a column is meant to be numeric
MAX_HEADER = 1 << 22
SAMPLE_CELLS = 200_000

DECIMAL_COMMA = r"\s*[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?\s*"
# NaN is a number that is missing by itself
MISSING = r"\s*(NA|na|N/A|n/a|#N/A|NULL|null|None|-|[.]|[?])?\s*"
ODD_NUMBER = "_|[+][+-]"  # DuckDB takes 1_000 and +-1 for numbers; we do not

# how a column is read: typed by DuckDB, cast with NaN for words that say so, or as text
NUMBERS, GAPPY, TEXT = 2, 1, 0

REASONS = {
    "UNQUOTED VALUE": "a quotation mark is not closed, or text follows it",
    "LINE SIZE OVER MAXIMUM": f"longer than {MAX_LINE} bytes (a quotation mark left open?)",
}
WRONG_LENGTH = ("MISSING COLUMNS", "TOO MANY COLUMNS")
Reject = tuple[int, int, str, str]  # where the row begins, column (from 0), DuckDB's kind, the row


# -- layout ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How a CSV file is written: names of its columns, signs, and the first rows as text."""

    names: list[str]
    delimiter: str
    line_end: str
    first_rows: list[list[str]]


def read_layout(path: Path, delimiter: str | None, shown: str) -> Layout:
    """Read the layout of a UTF-8 file from its first line; a named ``delimiter`` holds."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline(MAX_HEADER)
        if not line.strip():
            raise PairscoreError(
                f"{shown!r} {'begins with an empty line' if line else 'is empty'}; its first line"
                " must name the columns."
            )
        sign = _sign(delimiter) if delimiter else max(DELIMITERS, key=_unquoted(line).count)
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
    return Layout(names, sign, line[len(line.rstrip("\r\n")) :], sample)


def _sound_rows(rows: Iterator[list[str]], number: int) -> Iterator[list[str]]:
    """The first rows, up to one that cannot be read; DuckDB will say which that is."""
    try:
        yield from islice(rows, number)
    except csv.Error:
        return


def shared_delimiter(path: Path, named: str | None) -> str | None:
    """The named delimiter if the first line has it: one name serves all files of a command."""
    if named is None:
        return None
    with path.open(encoding="utf-8-sig", newline="") as file:
        return named if _sign(named) in _unquoted(file.readline(MAX_HEADER)) else None


def _unquoted(line: str) -> str:
    return re.sub('"[^"]*"', "", line)


def _sign(named: str) -> str:
    sign = {"tab": "\t", "\\t": "\t"}.get(named, named)
    if len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n\0':
        raise PairscoreError(
            f"the delimiter is {sign!r}; use one sign such as ',', ';', '|' or a tab."
        )
    return sign


# -- cells -----------------------------------------------------------------------------------------


def load_csv(source: Source, delimiter: str | None) -> dict[str, str]:
    """Read the wanted columns of a UTF-8 file into DuckDB's table ``cells``.

    A column is DOUBLE if it is meant to be numeric (``CellCounts.numeric``), else VARCHAR, as every
    identifier is. The first rows say how to read each column. The file is read again where later
    rows do not agree with them, and where it is faulty, for the lines of its bad rows.

    Returns
    -------
    dict
        By the name of each wanted column, what it is called in ``cells``.

    Raises
    ------
    BadRowsError
        With every row of too many or too few cells and every cell that should be a number.
    """
    layout = read_layout(source.path, delimiter, source.shown)
    places = {name: place for place, name in enumerate(layout.names)}
    wanted = {name: places[name] for name in source.wanted(layout.names)}
    free = [place for name, place in wanted.items() if name not in source.identifiers]
    kinds = dict.fromkeys(wanted.values(), TEXT)
    kinds |= {place: _first_guess(layout.first_rows, place) for place in free}
    rejects = _load(source, layout, kinds)
    while failed := _columns_not_cast(source, kinds, rejects):
        kinds |= {place: kinds[place] - 1 for place in failed}
        rejects = _load(source, layout, kinds)
    counts = {place: _count_cells(source, place) for place in free if kinds[place] == TEXT}
    late = {place: GAPPY for place, count in counts.items() if count.numeric}
    if rejects or any(counts[place].faults for place in late):
        typed = {place: NUMBERS if kind else TEXT for place, kind in (kinds | late).items()}
        raise _bad_rows(source, layout, _load(source, layout, typed))
    if late:
        _load(source, layout, kinds | late)
    _refuse_odd_numbers(source, layout, [place for place in free if (kinds | late)[place]])
    return {name: f"c{place}" for name, place in wanted.items()}


def _first_guess(rows: list[list[str]], place: int) -> int:
    """How to read a column of which the first rows are known."""
    cells = [row[place] for row in rows if place < len(row) and row[place]]
    filled = [cell for cell in cells if not _is_missing(cell)]
    try:
        np.array(filled, dtype=float)
    except ValueError:
        return TEXT
    if any("_" in cell for cell in filled) or (cells and not filled):
        return TEXT  # Python takes 1_000 for a number; words alone do not make a column of numbers
    return NUMBERS if len(filled) == len(cells) else GAPPY


def _is_missing(cell: str) -> bool:
    """Whether a cell of a column of numbers says that there is none."""
    return re.fullmatch(MISSING, cell, re.ASCII) is not None


def _load(source: Source, layout: Layout, kinds: Mapping[int, int]) -> list[Reject]:
    """Fill the table ``cells`` with columns of some ``kinds``.

    Returns the rejected rows, and cells that are no numbers, in the order of the file.
    """
    for table in ("cells", "reject_errors", "reject_scans"):
        source.connection.execute(f"DROP TABLE IF EXISTS {table}")
    number_or_nan = (
        f"TRY_CAST(CASE WHEN {{0}} IS NULL OR regexp_full_match({{0}}, {sql_text(MISSING)})"
        " THEN 'nan' ELSE {0} END AS DOUBLE) AS {0}"
    )
    cells = ", ".join(
        (number_or_nan if kind == GAPPY else "{0}").format(f"c{place}")
        for place, kind in kinds.items()
    )
    file = _csv_file(source.path, layout, {place for place in kinds if kinds[place] == NUMBERS})
    source.connection.execute(f"CREATE TEMP TABLE cells AS SELECT {cells} FROM {file}")
    return source.connection.execute(
        "SELECT line_byte_position, column_idx - 1, error_type, csv_line FROM reject_errors"
        " ORDER BY 1, 2"
    ).fetchall()


def _columns_not_cast(source: Source, kinds: Mapping[int, int], rejects: list[Reject]) -> set[int]:
    """Columns read as numbers in which some cell is none."""
    gappy = [place for place, kind in kinds.items() if kind == GAPPY]
    counts = ", ".join(f"count(*) - count(c{place})" for place in gappy)
    nulls = source.connection.execute(f"SELECT {counts} FROM cells").fetchone() if gappy else ()
    return {place for _, place, kind, _ in rejects if kind == "CAST"} | {
        place for place, count in zip(gappy, nulls, strict=True) if count
    }


def _csv_file(path: Path, layout: Layout, numbers: set[int]) -> str:
    """The file in SQL, with columns c0, c1, ... of numbers or text."""
    # DuckDB would take a line ending from inside quotes; told of CRLF, it finds no rows, but it
    # sees CRLF by itself
    ends = layout.line_end.encode("unicode_escape").decode()
    new_line = f"new_line={sql_text(ends)}, " if len(layout.line_end) == 1 else ""
    columns = ", ".join(
        f"'c{place}': '{'DOUBLE' if place in numbers else 'VARCHAR'}'"
        for place in range(len(layout.names))
    )
    return (
        f"read_csv({sql_text(path)}, auto_detect=false, header=true, columns={{{columns}}},"
        f" delim={sql_text(layout.delimiter)}, quote='\"', escape='\"', {new_line}nullstr='',"
        " allow_quoted_nulls=false, strict_mode=true, hive_partitioning=false, compression='none',"
        f" max_line_size={MAX_LINE}, store_rejects=true)"
    )


@dataclass(frozen=True)
class CellCounts:
    """How many filled cells of a text column are of each kind.

    Plain ``numbers``; ``odd`` ones, which only DuckDB takes for numbers; ``words`` that say that a
    number is missing; numbers with decimal ``commas``; ``others``.
    """

    numbers: int = 0
    odd: int = 0
    words: int = 0
    commas: int = 0
    others: int = 0

    @property
    def numeric(self) -> bool:
        """Whether the column is meant to be numeric: words aside, 90 % of its cells are numbers."""
        plain = self.numbers + self.commas
        filled = plain + self.odd + self.others
        return (
            plain + self.odd >= NUMERIC_SHARE * filled
            and plain >= filled / 2
            and (plain > 0 or self.words == 0)
        )

    @property
    def faults(self) -> int:
        """How many cells are wrong if the column is numeric."""
        return self.commas + self.others


def _count_cells(source: Source, place: int) -> CellCounts:
    """Count the filled cells of a text column of the table ``cells`` by kind."""
    cell = f"c{place}"
    kind = (
        f"CASE WHEN TRY_CAST({cell} AS DOUBLE) IS NULL"
        f" THEN CASE WHEN regexp_full_match({cell}, {sql_text(MISSING)}) THEN 'words'"
        f" WHEN regexp_full_match({cell}, {sql_text(DECIMAL_COMMA)}) THEN 'commas'"
        f" ELSE 'others' END"
        f" WHEN regexp_matches({cell}, {sql_text(ODD_NUMBER)}) THEN 'odd' ELSE 'numbers' END"
    )
    counts = source.connection.execute(
        f"SELECT {kind} AS kind, count(*) FROM cells WHERE {cell} <> '' GROUP BY kind"
    ).fetchall()
    return CellCounts(**dict(counts))


def _refuse_odd_numbers(source: Source, layout: Layout, numeric: list[int]) -> None:
    """Refuse 1_000 and +-1 in numeric columns, which DuckDB takes for numbers."""
    if not numeric or not _contains(source.path, (b"_", b"++", b"+-")):
        return
    cells = ", ".join(f"c{place}" for place in numeric)
    rows = source.connection.execute(
        f"SELECT {cells} FROM {_csv_file(source.path, layout, set())}"
        f" WHERE regexp_matches(concat_ws(' ', {cells}), {sql_text(ODD_NUMBER)}) LIMIT 5"
    ).fetchall()
    odd = [
        f"{cell!r} in column {layout.names[place]!r}"
        for row in rows
        for place, cell in zip(numeric, row, strict=True)
        if cell and re.search(ODD_NUMBER, cell)
    ]
    if odd:
        raise PairscoreError(
            f"{source.shown!r} has cells that are no plain numbers, such as {first_few(odd)};"
            " write digits only, or make the column text."
        )


def _contains(path: Path, needles: tuple[bytes, ...]) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(needle) >= 0 for needle in needles)


# -- faults ----------------------------------------------------------------------------------------


def _bad_rows(source: Source, layout: Layout, rejects: list[Reject]) -> BadRowsError:
    """All that DuckDB rejected, by physical line.

    A row with too many or too few cells is one fault; otherwise each cell that is neither a number
    nor missing is.
    """
    by_row = [list(faults) for _, faults in groupby(rejects, key=lambda reject: reject[0])]
    lines = _physical_lines(source.path.read_bytes(), [faults[0][0] for faults in by_row])
    with _long_cells():
        rows = [
            row
            for line, faults in zip(lines, by_row, strict=True)
            for row in _faults_of_row(line, faults, layout)
        ]
    if any(row.column and re.fullmatch(DECIMAL_COMMA, row.text) for row in rows):
        hint = "write numbers with a decimal point, not a decimal comma"
        return BadRowsError(source.shown, rows, hint)
    return BadRowsError(source.shown, rows)


def _faults_of_row(line: int, faults: list[Reject], layout: Layout) -> Iterator[BadRow]:
    text = faults[0][3].strip("\r\n")  # DuckDB may begin a row at the line end before
    kinds = [kind for _, _, kind, _ in faults if kind != "CAST"]
    if kinds and not set(kinds) & set(WRONG_LENGTH):
        yield BadRow(line, None, text[:200], REASONS.get(kinds[0], kinds[0].lower()))
        return
    cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter))
    if kinds:
        reason = f"{plural(len(cells), 'cell')} instead of {len(layout.names)}"
        yield BadRow(line, None, text[:200], reason)
        return
    for _, place, *_ in faults:
        if not _is_missing(cells[place]):
            yield BadRow(line, layout.names[place], cells[place][:200], "no number")


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
    path: Path, delimiter: str | None, cells: Iterable[tuple[int, str]]
) -> list[tuple[int, str | None]]:
    """Find cells, given by row (from 0) and column, in a UTF-8 file that can be read.

    Returns the physical line (from 1) where the row begins and the text of the cell, for each.
    Empty lines are no rows.
    """
    layout = read_layout(path, delimiter, str(path))
    cells = list(cells)
    rows, found = {row for row, _ in cells}, {}
    with _long_cells(), path.open(encoding="utf-8-sig", newline="") as file:
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
