"""CSV files: dialect found by us, cells read by DuckDB, every bad row reported at once.

The header line gives the delimiter and the names; DuckDB is told the dialect and the type of each
column, so that it guesses nothing and keeps a table of the rows it had to reject.
"""

import csv
import mmap
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from pairscore.errors import PairscoreError, first_few
from pairscore.files.csv_faults import (
    DECIMAL_COMMA,
    MISSING,
    Reject,
    bad_rows,
    cast_faults,
    is_missing,
)
from pairscore.files.source import MAX_LINE, Source, quoted, refuse_bad_names

DELIMITERS = ",;\t|"
NUMBER = r"\s*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\s*|\s*[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*"
NUMERIC_SHARE = 0.9  # with so many numbers among its cells a column is meant to be numeric
MAX_HEADER = 1 << 22
SAMPLE_CELLS = 200_000
TEXT, NUMBERS, GAPPY = "text", "numbers", "numbers and texts that say there is none"
Dialect = tuple[str, str]  # delimiter and line ending


# -- header ----------------------------------------------------------------------------------------


def read_header(
    path: Path, delimiter: str | None, shown: str
) -> tuple[list[str], Dialect, list[list[str]]]:
    """Names, dialect, and the first rows as text."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline(MAX_HEADER)
        if not line.strip():
            raise PairscoreError(
                f"{shown!r} {'is empty' if not line else 'begins with an empty line'}; its first"
                " line must name the columns."
            )
        delimiter = _delimiter(line, delimiter)
        file.seek(0)
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            names = [name.strip() for name in next(rows)]
        except csv.Error as error:
            raise PairscoreError(
                f"the first line of {shown!r} does not name columns ({error}); write one name per"
                " column."
            ) from None
        refuse_bad_names(names, shown)
        sample = []
        try:
            for row in islice(rows, max(20, min(1000, SAMPLE_CELLS // len(names)))):
                sample.append(row)
        except csv.Error:
            pass  # DuckDB will say which row it is
    return names, (delimiter, line[len(line.rstrip("\r\n")) :]), sample


def csv_places(
    path: Path, delimiter: str | None, cells: Iterable[tuple[int, str]]
) -> list[tuple[int, str | None]]:
    """For cells by row (from 0) and column.

    The line (from 1) where the row begins, and the text of the cell; empty lines are no rows.
    """
    names, (sign, _), _ = read_header(path, delimiter, str(path))
    cells = list(cells)
    wanted, found = {row for row, _ in cells}, {}
    limit = csv.field_size_limit(MAX_LINE)  # one for the whole process, so it is put back
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader, number, ends = csv.reader(file, delimiter=sign), -1, 0
            for row in reader:
                if row and number in wanted:
                    found[number] = ends + 1, dict(zip(names, row, strict=False))
                number, ends = number + bool(row), reader.line_num
    finally:
        csv.field_size_limit(limit)
    return [(found[row][0], found[row][1].get(column)) for row, column in cells]


def _delimiter(line: str, named: str | None) -> str:
    """The named one, else that of the usual ones which the header has most."""
    return max(DELIMITERS, key=_unquoted(line).count) if named is None else _sign(named)


def shared_delimiter(path: Path, named: str | None) -> str | None:
    """The named delimiter if the header of this file has it.

    One name serves all files of a command.
    """
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
    """Read the wanted columns of a UTF-8 file into the table ``cells``.

    Say what they are called there.

    A column of numbers is DOUBLE, every other and every identifier is VARCHAR. The first rows give
    a guess; where all rows together say otherwise, the file is read again.
    """
    import duckdb

    names, dialect, sample = read_header(source.path, delimiter, source.shown)
    wanted = {names.index(name): name for name in source.wanted(names)}
    settled = {
        place
        for place, name in enumerate(names)
        if place not in wanted or name in source.identifiers
    }
    kinds = [
        TEXT if place in settled else _guess([row[place] for row in sample if place < len(row)])
        for place in range(len(names))
    ]
    while True:
        try:
            rejects = _load(source, dialect, kinds, list(wanted))
        except (
            duckdb.ConversionException
        ):  # a column with gaps has other text too: read as numbers, it is rejected with its place
            kinds = [NUMBERS if kind == GAPPY else kind for kind in kinds]
            continue
        other = (
            _not_numeric(source, rejects, settled)
            or _with_gaps(rejects)
            or _numeric_after_all(source, kinds, settled)
        )
        if not other:
            break
        kinds = [other.get(place, kind) for place, kind in enumerate(kinds)]
    if rejects and (error := bad_rows(rejects, source.path, names, source.shown)):
        raise error
    _refuse_odd_numbers(source, dialect, names, kinds)
    return {name: f"c{place}" for place, name in wanted.items()}


def _guess(cells: list[str]) -> str:
    filled = [cell for cell in cells if cell and not is_missing(cell)]
    gaps = any(cell and is_missing(cell) for cell in cells)
    if sum(re.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}", cell) is not None for cell in filled) < len(
        filled
    ) / 2 or (gaps and not filled):
        return TEXT
    return GAPPY if gaps else NUMBERS


def _source(path: Path, dialect: Dialect, types: list[str]) -> str:
    delimiter, line_end = dialect
    # DuckDB would take a line ending from inside quotes; told of CRLF, it finds no rows, but it
    # sees CRLF by itself
    ends = (
        ""
        if len(line_end) != 1
        else f"new_line={quoted(line_end.encode('unicode_escape').decode())}, "
    )
    columns = ", ".join(f"'c{place}': '{kind}'" for place, kind in enumerate(types))
    return (
        f"read_csv({quoted(path)}, auto_detect=false, header=true, delim={quoted(delimiter)},"
        f" quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, {ends}strict_mode=true,"
        f" hive_partitioning=false, compression='none', max_line_size={MAX_LINE},"
        f" store_rejects=true, columns={{{columns}}})"
    )


def _load(source: Source, dialect: Dialect, kinds: list[str], places: list[int]) -> list[Reject]:
    """Fill the table ``cells``; return the faults in the order of the file."""
    for table in ("cells", "reject_errors", "reject_scans"):
        source.connection.execute(f"DROP TABLE IF EXISTS {table}")
    filled = (
        f"CAST(CASE WHEN regexp_full_match({{0}}, {quoted(MISSING)}) THEN NULL ELSE {{0}} END AS"
        " DOUBLE) AS {0}"
    )
    cells = ", ".join(
        filled.format(f"c{place}") if kinds[place] == GAPPY else f"c{place}" for place in places
    )
    file = _source(
        source.path, dialect, ["DOUBLE" if kind == NUMBERS else "VARCHAR" for kind in kinds]
    )
    source.connection.execute(f"CREATE TEMP TABLE cells AS SELECT {cells} FROM {file}")
    faults = (
        "SELECT line_byte_position, column_idx - 1, error_type, left(csv_line, 200), error_message"
        " FROM reject_errors ORDER BY 1, 2"
    )
    return source.connection.execute(faults).fetchall()


def _not_numeric(source: Source, rejects: list[Reject], settled: set[int]) -> dict[int, str]:
    """Columns read as numbers that have too much other text.

    A rejected row's other cells count as numbers.
    """
    rows = len({reject[0] for reject in rejects})
    wrong = {}
    for place, cells in cast_faults(rejects).items():
        text = [cell for cell in cells.values() if not is_missing(cell)]
        filled = (
            source.connection.execute(f"SELECT count(c{place}) FROM cells").fetchone()[0]
            + rows
            - (len(cells) - len(text))
        )
        if (
            sum(re.fullmatch(DECIMAL_COMMA, cell) is None for cell in text)
            > (1 - NUMERIC_SHARE) * filled
            and place not in settled
        ):
            wrong[place] = TEXT
    settled |= set(wrong)
    return wrong


def _with_gaps(rejects: list[Reject]) -> dict[int, str]:
    """Columns read as numbers whose other cells all say that there is none, where nothing else is
    wrong with the file.
    """
    faults = cast_faults(rejects)
    if any(reject[2] != "CAST" for reject in rejects) or not all(
        is_missing(cell) for cells in faults.values() for cell in cells.values()
    ):
        return {}
    return dict.fromkeys(faults, GAPPY)


def _numeric_after_all(source: Source, kinds: list[str], settled: set[int]) -> dict[int, str]:
    """Columns read as text that are numbers but for the first rows."""
    wrong = {}
    for place in (
        place for place, kind in enumerate(kinds) if kind == TEXT and place not in settled
    ):
        matches = (
            f"count(*) FILTER (c{place} <> ''), count(*) FILTER (regexp_full_match(c{place}, ?)),"
            f" count(*) FILTER (regexp_full_match(c{place}, ?))"
        )
        filled, gaps, numbers = source.connection.execute(
            f"SELECT {matches} FROM cells", [MISSING, f"{NUMBER}|{DECIMAL_COMMA}"]
        ).fetchone()
        settled.add(place)
        if numbers >= NUMERIC_SHARE * (filled - gaps) and (numbers or not gaps):
            wrong[place] = GAPPY if gaps else NUMBERS
    return wrong


def _refuse_odd_numbers(
    source: Source, dialect: Dialect, names: list[str], kinds: list[str]
) -> None:
    """DuckDB takes 1_000 and +-1 for numbers; we do not."""
    places = [place for place, kind in enumerate(kinds) if kind != TEXT]
    if not places or not _contains(source.path, (b"_", b"++", b"+-")):
        return
    cells = ", ".join(f"c{place}" for place in places)
    file = _source(source.path, dialect, ["VARCHAR"] * len(names))
    odd = source.connection.execute(
        f"SELECT {cells} FROM {file} WHERE regexp_matches(concat_ws(' ', {cells}), '_|[+][+-]')"
        " LIMIT 5"
    ).fetchall()
    shown_cells = [
        f"{cell!r} in column {names[place]!r}"
        for row in odd
        for place, cell in zip(places, row, strict=True)
        if cell and re.search("_|[+][+-]", cell)
    ]
    if shown_cells:
        raise PairscoreError(
            f"{source.shown!r} has cells that are no plain numbers, such as"
            f" {first_few(shown_cells)}; write digits only, or make the column text."
        )


def _contains(path: Path, needles: tuple[bytes, ...]) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(needle) >= 0 for needle in needles)
