"""CSV files: layout from the first line, cells by DuckDB, every bad row reported at once.

The first line gives the delimiter and the names. DuckDB is told both and the type of each column,
so that it guesses nothing, and it keeps a table of the rows that it rejects. Columns whose first
cells are all numbers are read as such and others with ``TRY_CAST`` or as text: casts in SQL take a
time that grows with the square of their number, too long for tables of thousands of columns. The
numbers say what their decimal sign is (``find_signs``).
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

import numpy as np

from pairscore.display import first_few, plural
from pairscore.errors import NO_NUMBER, BadRow, BadRowsError, PairscoreError
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
from pairscore.files.sheets import DELIMITERS, sign_of
from pairscore.files.source import CHUNK, MAX_LINE, Kept, Source, refuse_bad_names
from pairscore.files.sql import sql_text
from pairscore.messages import Setting

MAX_HEADER = 1 << 22
SAMPLE_CELLS = 200_000
# DuckDB keeps an error for each cell too many or too few, with up to 10,000 characters of the row
MOST_ODD_CELLS = 100
KEPT_OF_ROW = 10_000
ODD_NUMBER = "_|[+][+-]"  # DuckDB takes 1_000 and +-1 for numbers; we do not

# how a column is read: typed by DuckDB, cast with NaN for words that say so, or as text
NUMBERS, GAPPY, TEXT = 2, 1, 0
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


def read_layout(path: Path, delimiter: str | None, shown: str) -> CsvLayout:
    """Read the layout of a UTF-8 file from its first line; a named ``delimiter`` holds."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline(MAX_HEADER)
        if not line.strip():
            raise PairscoreError(
                f"{shown!r} {'begins with an empty line' if line else 'is empty'}; its first line"
                " must name the columns."
            )
        sign = sign_of(delimiter) if delimiter else max(DELIMITERS, key=_unquoted(line).count)
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


def shared_delimiter(path: Path, named: str | None) -> str | None:
    """The named delimiter if the first line has it: one name serves all files of a command."""
    if named is None:
        return None
    with path.open(encoding="utf-8-sig", newline="") as file:
        return named if sign_of(named) in _unquoted(file.readline(MAX_HEADER)) else None


def _unquoted(line: str) -> str:
    return re.sub('"[^"]*"', "", line)


# -- cells -----------------------------------------------------------------------------------------


def load_csv(
    source: Source, delimiter: str | None, decimal: str | None = None
) -> tuple[dict[str, str], Signs]:
    """Read the wanted columns of a UTF-8 file into DuckDB's table ``cells``.

    A column is DOUBLE if it is meant to be numeric (``CellCounts.numeric``), else VARCHAR, as every
    identifier is. The first rows say how to read each column. The file is read again where later
    rows do not agree with them, and where it is faulty, for the lines of its bad rows.

    Returns
    -------
    cells : dict
        By the name of each wanted column, what it is called in ``cells``.
    signs : Signs
        How numbers are written: the named ``decimal`` sign, or what the file says.

    Raises
    ------
    BadRowsError
        With every row of too many or too few cells and every cell that should be a number.
    """
    layout = read_layout(source.path, delimiter, source.shown)
    _refuse_odd_lengths(source, layout)
    places = {name: place for place, name in enumerate(layout.names)}
    wanted = {name: places[name] for name in source.wanted(layout.names)}
    free = [place for name, place in wanted.items() if name not in source.identifiers]
    layout = _with_signs(source, layout, free, decimal)
    kinds, rejects = _load_as_far_as_cast(source, layout, wanted.values(), free)
    late = _late_numbers(source, layout, free, kinds)
    if layout.signs == POINT and any(count.signs for count in late.values()):
        more = layout.first_rows + _rows_with_commas(source, layout, list(late))
        layout = _with_signs(source, replace(layout, first_rows=more), free, None)
        if layout.signs != POINT:
            kinds, rejects = _load_as_far_as_cast(source, layout, wanted.values(), free)
            late = _late_numbers(source, layout, free, kinds)
    all_kinds = kinds | dict.fromkeys(late, GAPPY)
    if rejects or any(count.faults for count in late.values()):
        typed = {place: NUMBERS if kind else TEXT for place, kind in all_kinds.items()}
        # DuckDB lets pass any thousands; without them it rejects what has to be looked at
        strict = replace(layout, signs=replace(layout.signs, thousands=""))
        raise _bad_rows(source, layout, _load(source, strict, typed))
    if late:
        _load(source, layout, all_kinds)
    _refuse_odd_numbers(source, layout, [place for place in free if all_kinds[place]])
    return {name: f"c{place}" for name, place in wanted.items()}, layout.signs


def _refuse_odd_lengths(source: Source, layout: CsvLayout) -> None:
    """Refuse rows with over a hundred cells too many or too few, before DuckDB reads them."""
    n_cells = len(layout.names)
    if not _may_be_odd(source.path, layout):
        return
    rows, begin = [], 1
    with (
        suppress(csv.Error),  # DuckDB will say what is wrong
        _long_cells(),
        source.path.open(encoding="utf-8-sig", newline="") as file,
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


def _may_be_odd(path: Path, layout: CsvLayout) -> bool:
    """Whether some line has over a hundred delimiters too many or too few; quotes are not read."""
    sign, expected = ord(layout.delimiter), len(layout.names) - 1
    held, count = 0, 0  # of the line that the last piece ended in
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            signs = np.frombuffer(piece, dtype=np.uint8)
            ends = np.flatnonzero((signs == 10) | (signs == 13))
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


def _load_as_far_as_cast(
    source: Source, layout: CsvLayout, wanted: Iterable[int], free: list[int]
) -> tuple[dict[int, int], list[Reject]]:
    """Fill ``cells``, with numbers in the free columns where all cells can be cast."""
    kinds = dict.fromkeys(wanted, TEXT) | {place: _first_guess(layout, place) for place in free}
    rejects = _load(source, layout, kinds)
    while failed := _columns_not_cast(source, kinds, rejects):
        kinds |= {place: kinds[place] - 1 for place in failed}
        rejects = _load(source, layout, kinds)
    return kinds, rejects


def _late_numbers(
    source: Source, layout: CsvLayout, free: list[int], kinds: Mapping[int, int]
) -> dict[int, "CellCounts"]:
    """Columns that were read as text and are meant to be numeric, with their cells counted."""
    texts = (place for place in free if kinds[place] == TEXT)
    counts = {place: _count_cells(source, layout, place) for place in texts}
    return {place: count for place, count in counts.items() if count.numeric}


def _filled(layout: CsvLayout, place: int) -> list[str]:
    """The cells of a column in the first rows that are not empty."""
    return [row[place] for row in layout.first_rows if place < len(row) and row[place]]


def _first_guess(layout: CsvLayout, place: int) -> int:
    """How to read a column of which the first rows are known."""
    cells = _filled(layout, place)
    filled = [cell for cell in cells if not says_missing(cell)]
    numbers = filled if layout.signs == POINT else map(layout.signs.with_point, filled)
    try:
        np.array(list(numbers), dtype=float)
    except ValueError:
        return TEXT
    if any("_" in cell for cell in filled) or (cells and not filled):
        return TEXT  # Python takes 1_000 for a number; words alone do not make a column of numbers
    return NUMBERS if len(filled) == len(cells) else GAPPY


def _with_signs(
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
    found = " OR ".join(
        f"(contains(c{place}, ',') AND regexp_full_match(c{place}, {sql_text(ANY_NUMBER)}))"
        for place in places
    )
    some = f"SELECT * FROM {_csv_file(source.path, layout, set())} WHERE {found} LIMIT 1000"
    rows = source.connection.execute(some).fetchall()
    return [[cell or "" for cell in row] for row in rows]


def _load(source: Source, layout: CsvLayout, kinds: Mapping[int, int]) -> list[Reject]:
    """Fill the table ``cells`` with columns of some ``kinds``.

    Returns the rejected rows, and cells that are no numbers, in the order of the file.
    """
    for table in ("cells", "reject_errors", "reject_scans"):
        source.connection.execute(f"DROP TABLE IF EXISTS {table}")
    number_or_nan = (
        "TRY_CAST(CASE WHEN {0} IS NULL OR regexp_full_match({0}, {1})"
        " THEN 'nan' ELSE {2} END AS DOUBLE) AS {0}"
    )
    cells = ", ".join(
        (number_or_nan if kind == GAPPY else "{0}").format(
            f"c{place}", sql_text(MISSING), layout.signs.sql(f"c{place}")
        )
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


def _csv_file(path: Path, layout: CsvLayout, numbers: set[int]) -> str:
    """The file in SQL, with columns c0, c1, ... of numbers or text."""
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
        f" compression='none', max_line_size={MAX_LINE}, store_rejects=true)"
    )


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


def _count_cells(source: Source, layout: CsvLayout, place: int) -> CellCounts:
    """Count the filled cells of a text column of the table ``cells`` by kind."""
    cell = f"c{place}"
    kind = (
        f"CASE WHEN TRY_CAST({layout.signs.sql(cell)} AS DOUBLE) IS NULL"
        f" THEN CASE WHEN regexp_full_match({cell}, {sql_text(MISSING)}) THEN 'words'"
        f" WHEN regexp_full_match({cell}, {sql_text(ANY_NUMBER)}) THEN 'signs'"
        f" ELSE 'others' END"
        f" WHEN regexp_matches({cell}, {sql_text(ODD_NUMBER)}) THEN 'odd' ELSE 'numbers' END"
    )
    counts = source.connection.execute(
        f"SELECT {kind} AS kind, count(*) FROM cells WHERE {cell} <> '' GROUP BY kind"
    ).fetchall()
    return CellCounts(**dict(counts))


def _refuse_odd_numbers(source: Source, layout: CsvLayout, numeric: list[int]) -> None:
    """Refuse 1_000, +-1 and thousands such as 1.2.3 in numeric columns, which DuckDB lets pass."""
    thousands = layout.signs.thousands.encode()
    if not numeric or not _contains(source.path, {b"_", b"++", b"+-", thousands or b"_"}):
        return
    cells = ", ".join(f"c{place}" for place in numeric)
    odd = [f"regexp_matches(concat_ws(' ', {cells}), {sql_text(ODD_NUMBER)})"]
    if thousands:
        known = sql_text(f"{layout.signs.pattern}|[^.,]*|{MISSING}")
        odd += [f"NOT regexp_full_match(c{place}, {known})" for place in numeric]
    rows = source.connection.execute(
        f"SELECT {cells} FROM {_csv_file(source.path, layout, set())}"
        f" WHERE {' OR '.join(odd)} LIMIT 5"
    ).fetchall()
    found = [
        f"{cell!r} in column {layout.names[place]!r}"
        for row in rows
        for place, cell in zip(numeric, row, strict=True)
        if cell and not says_missing(cell)
        if re.search(ODD_NUMBER, cell) or layout.signs.with_point(cell) == NO_NUMBER
    ]
    if found:
        raise PairscoreError(
            f"{source.shown!r} has cells that are not plain numbers, such as {first_few(found)};"
            " write digits only, or make the column text."
        )


def _contains(path: Path, needles: set[bytes]) -> bool:
    """Whether one of these texts of one or two bytes is in a file; their first bytes are rare."""
    end = b""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found = (n for n in needles if n[:1] in chunk or end == n[:1])
            if any(needle in end + chunk for needle in found):
                return True
            end = chunk[-1:]
    return False


# -- faults ----------------------------------------------------------------------------------------


def _bad_rows(source: Source, layout: CsvLayout, rejects: list[Reject]) -> BadRowsError:
    """All that DuckDB rejected, by physical line.

    A row with too many or too few cells is one fault; otherwise each cell that is neither a number
    nor missing is.
    """
    by_row = [list(faults) for _, faults in groupby(rejects, key=lambda reject: reject[0])]
    content = source.path.read_bytes()
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
    path: Path, delimiter: str | None, cells: Iterable[tuple[int, str]]
) -> list[tuple[int, str | None]]:
    """Find cells, given by row (from 0) and column, in a UTF-8 file that can be read.

    Returns for each the physical line (from 1) of its row, and its text; empty lines are no rows.
    """
    layout, cells = read_layout(path, delimiter, str(path)), list(cells)
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
