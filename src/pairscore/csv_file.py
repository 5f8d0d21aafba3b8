"""CSV files: encoding and dialect found by us, cells read by DuckDB, every bad row reported at once.

The header line gives the delimiter and the names; DuckDB is told the dialect and the type of each
column, so that it guesses nothing and keeps a table of the rows it had to reject.
"""

import codecs
import csv
import mmap
import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pairscore.errors import BadRow, BadRowsError, PairscoreError, first_few, plural

DELIMITERS = ",;\t|"
NUMBER = r"\s*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\s*|\s*[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*"
DECIMAL_COMMA = r"\s*[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?\s*"
NUMERIC_SHARE = 0.9  # with so many numbers among its cells a column is meant to be numeric
MAX_COLUMNS = 20_000  # DuckDB's time grows with their square, and a covariance of more would not fit in memory
MAX_HEADER = MAX_LINE = 1 << 22
SAMPLE_CELLS = 200_000
CHUNK = 1 << 20


# -- text ------------------------------------------------------------------------------------------


@contextmanager
def as_utf8(path: Path, encoding: str | None, shown: str) -> Iterator[Path]:
    """The file itself if it is UTF-8, or a copy of it that is."""
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, ValueError):
        raise PairscoreError(f"{encoding!r} is no text encoding; use one such as 'utf-8', 'latin-1' or 'utf-16'.") from None
    found = encoding or _marked(path) or "utf-8"
    if re.sub("[-_]", "", found.lower()) in ("utf8", "utf8sig"):
        try:
            for _ in _decoded(path, "utf-8", shown):
                pass
            yield path
            return
        except UnicodeError:
            if encoding:
                raise _not_text(encoding, shown) from None
            found = _single_byte(path.read_bytes(), shown)
    with TemporaryDirectory() as directory:
        copy = Path(directory) / "utf8"
        try:
            with copy.open("w", encoding="utf-8", newline="") as file:
                file.writelines(_decoded(path, found, shown))
        except UnicodeError:
            raise _not_text(found, shown) from None
        yield copy


def _not_text(encoding: str, shown: str) -> PairscoreError:
    return PairscoreError(f"{shown!r} is not text in {encoding!r}; name the encoding that it has.")


def _marked(path: Path) -> str | None:
    """The encoding that a byte order mark tells, or UTF-16 where every second byte is zero."""
    with path.open("rb") as file:
        head = file.read(4096)
    for mark, name in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if head.startswith(mark):
            return name
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 3 and head[first::2].count(0) > 0.4 * len(head) / 2 and not head[1 - first :: 2].count(0):
            return name
    return None


def _single_byte(content: bytes, shown: str) -> str:
    """Bytes beyond ASCII that are nowhere UTF-8 are letters of old Windows or Latin-1; a mixture is a damaged file."""
    try:
        content.decode("utf-8", "surrogateescape").encode("ascii", "surrogateescape")
    except UnicodeEncodeError:
        sound = content.decode("utf-8", "replace").partition("\ufffd")[0]
        line = sound.count("\n" if "\n" in sound else "\r") + 1
        raise PairscoreError(f"{shown!r} is UTF-8 but for some bytes (the first in line {line}); repair it, or name its encoding.") from None
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _decoded(path: Path, encoding: str, shown: str) -> Iterator[str]:
    """The text of a file piece by piece, without its byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, unbroken, more = 1, 0, True
    with path.open("rb") as file:
        while more:
            more = bool(chunk := file.read(CHUNK))
            text = decoder.decode(chunk, final=not more)
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise PairscoreError(f"{shown!r} has NUL bytes (the first in line {line}): it is damaged or no text file; export it again.")
            ends = text.count("\n")
            unbroken = 0 if ends or "\r" in text else unbroken + 1
            if unbroken == MAX_LINE // CHUNK - 1:  # DuckDB rejects longer lines, and loses sight of much longer ones
                raise PairscoreError(f"line {line} of {shown!r} is longer than {unbroken} million characters; it is damaged or no table.")
            yield text.removeprefix("\ufeff") if line == 1 else text
            line += ends


def _line_ends(content: np.ndarray) -> np.ndarray:
    """Where lines end: at line feeds, or at carriage returns where there are none."""
    ends = np.flatnonzero(content == 10)
    return ends if len(ends) else np.flatnonzero(content == 13)


# -- header ----------------------------------------------------------------------------------------


def read_header(path: Path, delimiter: str | None, shown: str) -> tuple[list[str], tuple[str, str], list[list[str]]]:
    """Names, dialect (delimiter and line ending), and the first rows as text."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = file.readline(MAX_HEADER)
        if not line.strip():
            raise PairscoreError(f"{shown!r} {'is empty' if not line else 'begins with an empty line'}; its first line must name the columns.")
        delimiter = _delimiter(line, delimiter)
        file.seek(0)
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            names = [name.strip() for name in next(rows)]
        except csv.Error as error:
            raise PairscoreError(f"the first line of {shown!r} does not name columns ({error}); write one name per column.") from None
        refuse_bad_names(names, shown)
        sample = []
        try:
            for row in islice(rows, max(20, min(1000, SAMPLE_CELLS // len(names)))):
                sample.append(row)
        except csv.Error:
            pass  # DuckDB will say which row it is
    return names, (delimiter, line[len(line.rstrip("\r\n")) :]), sample


def csv_row_lines(path: Path, delimiter: str | None, shown: str) -> list[int]:
    """The line (from 1) where each row after the header begins; empty lines are no rows."""
    _, (sign, _), _ = read_header(path, delimiter, shown)
    limit = csv.field_size_limit(MAX_LINE)  # one for the whole process, so it is put back
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader, ends, begins = csv.reader(file, delimiter=sign), 0, []
            for row in reader:
                if row:
                    begins.append(ends + 1)
                ends = reader.line_num
    finally:
        csv.field_size_limit(limit)
    return begins[1:]


def _delimiter(line: str, named: str | None) -> str:
    """The named one, or that of the usual ones which the header has most."""
    if named is None:
        bare = re.sub('"[^"]*"', "", line)
        return max(DELIMITERS, key=bare.count)
    named = {"tab": "\t", "\\t": "\t"}.get(named, named)
    if len(named) != 1 or not named.isascii() or named.isalnum() or named in '"\r\n\0':
        raise PairscoreError(f"the delimiter is {named!r}; use one sign such as ',', ';', '|' or a tab.")
    return named


def refuse_bad_names(names: Collection[str], shown: str) -> None:
    """Every column has a name of its own."""
    if len(names) > MAX_COLUMNS:
        raise PairscoreError(f"{shown!r} has {len(names)} columns, more than the {MAX_COLUMNS} that can be read; keep those that matter.")
    unnamed = [place for place, name in enumerate(names, 1) if not name]
    if unnamed:
        raise PairscoreError(
            f"{plural(len(unnamed), 'column')} of {shown!r} without a name (column {first_few(unnamed)}); name every column in the first line."
        )
    broken = [name for name in names if "\n" in name or "\r" in name]
    if broken:
        raise PairscoreError(f"{shown!r} has column names with line breaks: {first_few(map(repr, broken))}; write every name in one line.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise PairscoreError(f"{shown!r} has columns of the same name: {first_few(map(repr, repeated))}; give every column its own name.")


# -- cells -----------------------------------------------------------------------------------------


def load_csv(connection: Any, path: Path, delimiter: str | None, identifiers: Collection[str], shown: str) -> list[str]:
    """Read a UTF-8 file into the table ``cells`` with columns c0, c1, ...; return their names.

    A column of numbers is DOUBLE, every other and every identifier is VARCHAR. The first rows give a
    guess; where all rows together say otherwise, the file is read again.
    """
    names, dialect, sample = read_header(path, delimiter, shown)
    identifier = [name in identifiers for name in names]
    numeric = [not known and _looks_numeric([row[place] for row in sample if place < len(row)]) for place, known in enumerate(identifier)]
    settled = list(identifier)
    while True:
        rejects = _load(connection, path, dialect, numeric)
        wrong = _not_numeric(connection, numeric, rejects, settled) or _numeric_after_all(connection, numeric, settled)
        if not wrong:
            break
        for place in wrong:
            numeric[place], settled[place] = not numeric[place], True
    if rejects:
        raise _bad_rows(rejects, path, names, shown)
    _refuse_odd_numbers(connection, path, dialect, names, numeric, shown)
    return names


def _looks_numeric(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return sum(re.fullmatch(f"{NUMBER}|{DECIMAL_COMMA}", cell) is not None for cell in filled) >= len(filled) / 2


def _source(path: Path, dialect: tuple[str, str], types: list[str]) -> str:
    delimiter, line_end = dialect
    # DuckDB would take a line ending from inside quotes; told of CRLF, it finds no rows, but it sees CRLF by itself
    ends = "" if len(line_end) != 1 else f"new_line={quoted(line_end.encode('unicode_escape').decode())}, "
    columns = ", ".join(f"'c{place}': '{kind}'" for place, kind in enumerate(types))
    return (
        f"read_csv({quoted(path)}, auto_detect=false, header=true, delim={quoted(delimiter)}, quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, "
        f"{ends}strict_mode=true, hive_partitioning=false, compression='none', max_line_size={MAX_LINE}, store_rejects=true, columns={{{columns}}})"
    )


def quoted(text: Any) -> str:
    """A text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def _load(connection: Any, path: Path, dialect: tuple[str, str], numeric: list[bool]) -> list[tuple]:
    """Fill the table ``cells``; return the faults in the order of the file."""
    for table in ("cells", "reject_errors", "reject_scans"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    source = _source(path, dialect, ["DOUBLE" if number else "VARCHAR" for number in numeric])
    connection.execute(f"CREATE TEMP TABLE cells AS SELECT * FROM {source}")
    faults = "SELECT line_byte_position, column_idx - 1, error_type, left(csv_line, 200), error_message FROM reject_errors ORDER BY 1, 2"
    return connection.execute(faults).fetchall()


def _cast_faults(rejects: list[tuple]) -> dict[int, dict[int, str]]:
    """By column: the cells that are no numbers, by where their rows begin."""
    faults: dict[int, dict[int, str]] = {}
    for position, place, kind, _, message in rejects:
        if kind == "CAST":
            faults.setdefault(place, {})[position] = message.partition(' convert string "')[2].rpartition('" to ')[0]
    return faults


def _not_numeric(connection: Any, numeric: list[bool], rejects: list[tuple], settled: list[bool]) -> list[int]:
    """Columns read as numbers that have too much other text; a rejected row's other cells count as numbers."""
    rows = len({reject[0] for reject in rejects})
    wrong = []
    for place, cells in _cast_faults(rejects).items():
        filled = connection.execute(f"SELECT count(c{place}) FROM cells").fetchone()[0] + rows
        text = sum(re.fullmatch(DECIMAL_COMMA, cell) is None for cell in cells.values())
        if text > (1 - NUMERIC_SHARE) * filled and not settled[place]:
            wrong.append(place)
    return wrong


def _numeric_after_all(connection: Any, numeric: list[bool], settled: list[bool]) -> list[int]:
    """Columns read as text that are numbers but for the first rows."""
    wrong = []
    for place in (place for place, number in enumerate(numeric) if not number and not settled[place]):
        count = f"SELECT count(*) FILTER (c{place} <> ''), count(*) FILTER (regexp_full_match(c{place}, ?)) FROM cells"
        filled, numbers = connection.execute(count, [f"{NUMBER}|{DECIMAL_COMMA}"]).fetchone()
        settled[place] = True
        if numbers >= NUMERIC_SHARE * filled:
            wrong.append(place)
    return wrong


def _bad_rows(rejects: list[tuple], path: Path, names: list[str], shown: str) -> BadRowsError:
    content = np.fromfile(path, dtype=np.uint8)
    ends, text_begins = _line_ends(content), np.flatnonzero((content != 10) & (content != 13))  # a row may be said to begin at the line end before
    cells = _cast_faults(rejects)
    rows = []
    for position, place, kind, text, message in rejects:
        line = int(ends.searchsorted(text_begins[text_begins.searchsorted(position - 1)])) + 1
        if kind == "CAST":
            rows.append(BadRow(line, names[place], cells[place][position][:200], "no number"))
        else:
            rows.append(BadRow(line, None, text.strip("\r\n"), _reason(kind, message)))
    commas = any(re.fullmatch(DECIMAL_COMMA, cell) for column in cells.values() for cell in column.values())
    return BadRowsError(shown, rows, "write numbers with a decimal point, not a decimal comma" if commas else "correct or remove them")


def _reason(kind: str, message: str) -> str:
    expected, found = (re.findall(r"Columns: (\d+) Found: (\d+)", message) or [(None, None)])[0]
    if expected is not None:
        return f"{plural(int(found), 'cell')} instead of {expected}"
    if kind == "LINE SIZE OVER MAXIMUM":
        return f"longer than {MAX_LINE} bytes (a quotation mark left open?)"
    return "a quotation mark is not closed, or text follows it" if kind == "UNQUOTED VALUE" else kind.lower()


def _refuse_odd_numbers(connection: Any, path: Path, dialect: tuple[str, str], names: list[str], numeric: list[bool], shown: str) -> None:
    """DuckDB takes 1_000 and +-1 for numbers; we do not."""
    places = [place for place, number in enumerate(numeric) if number]
    if not places or not _contains(path, (b"_", b"++", b"+-")):
        return
    cells = ", ".join(f"c{place}" for place in places)
    source = _source(path, dialect, ["VARCHAR"] * len(names))
    odd = connection.execute(f"SELECT {cells} FROM {source} WHERE regexp_matches(concat_ws(' ', {cells}), '_|[+][+-]') LIMIT 5").fetchall()
    shown_cells = [
        f"{cell!r} in column {names[place]!r}" for row in odd for place, cell in zip(places, row, strict=True) if cell and re.search("_|[+][+-]", cell)
    ]
    if shown_cells:
        raise PairscoreError(f"{shown!r} has cells that are no plain numbers, such as {first_few(shown_cells)}; write digits only, or make the column text.")


def _contains(path: Path, needles: tuple[bytes, ...]) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(needle) >= 0 for needle in needles)
