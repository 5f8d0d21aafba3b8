"""A file on its way into DuckDB: its kind, its text as UTF-8, wanted columns, forms of numbers."""

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from tempfile import TemporaryDirectory
from typing import Any

from pairscore.display import first_few, plural
from pairscore.errors import NO_NUMBER, PairscoreError
from pairscore.passwords import without_password

KINDS = (
    dict.fromkeys((".csv", ".tsv", ".txt"), "csv")
    | dict.fromkeys((".parquet", ".pq"), "parquet")
    | dict.fromkeys((".jsonl", ".ndjson"), "jsonl")
    | dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), "workbook")
)
WRITTEN = [end for end, kind in KINDS.items() if kind != "workbook" or end == ".xlsx"]
# what people have tables in that no program reads as one
NO_TABLES = {".pdf", ".doc", ".docx", ".odt", ".rtf", ".ppt", ".pptx", ".png", ".jpg", ".jpeg"}
NO_TABLES |= {".html", ".htm", ".numbers", ".sav", ".rds", ".rdata", ".pkl", ".pickle"}
# of addresses: what is downloaded, what is read in parts, and what answers queries
DOWNLOADS = {"http", "https", "ftp", "ftps", "sftp", "scp", "ssh", "dbfs"}
STORES = {"s3", "gs", "gcs", "abfs", "abfss", "hdfs"}
DATABASES = {"postgresql", "postgres", "sqlite", "duckdb", "mysql", "mariadb", "mssql", "oracle"}
# DuckDB's time grows with their square, and a covariance of more would not fit in memory
MAX_COLUMNS = 20_000
MAX_LINE = 1 << 22
CHUNK = 1 << 20
MOST_PIPED = 1 << 31  # bytes of standard input, which may have no end
NUMERIC_SHARE = 0.9  # with so many numbers among its cells a column is meant to be numeric
# NaN is a number that is missing by itself
MISSING = (
    r"\s*(NA|na|N/A|n/a|#N/A|NULL|null|None|-|--|---|[–—]|[.]|[.]{3}|…|[?]"
    r"|[kK][.] ?A[.]|[kK]A|keine Angaben?|n[.] ?[abdrv][.]|N[.] ?[ADR][.]|ND|N/D|n/d"
    r"|non renseigné|s[.]o[.]|不明|欠損|欠測|無回答"
    r"|#NV|#N/D|#VALUE!|#WERT!|#VALEUR!|#DIV/0!|#REF!|#BEZUG!)?\s*"
)
# without blanks at both ends, of which Python, unlike DuckDB, would look at every pair
IS_MISSING = re.compile(MISSING.removeprefix(r"\s*").removesuffix(r"\s*"))
SPACES = " \t\n\r\f\v"  # around a cell
NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?")
DECIMAL = re.compile(r"[+-]?[0-9]*\.[0-9]*([eE][+-]?[0-9]+)?")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")  # or a decimal number
# DuckDB that installs and loads nothing by itself
SEALED: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
UNFINISHED: set[Path] = set()  # what this process writes and will remove or rename
# the columns to read, given all names and those of lists or records
Choice = Callable[[list[str], list[str]], Collection[str]]


@dataclass(frozen=True)
class Source:
    """A file that is read into the table ``cells``, and what is wanted of it.

    Parameters
    ----------
    connection
        DuckDB's connection, which has the table ``cells``.
    path
        The file, as DuckDB can read it.
    shown
        What the file is called in messages.
    identifiers
        Names of columns that are read as exact text.
    choose
        Given all names and those of nested columns, the columns to read; None reads all.
    lines
        Where ``path`` is a copy: for each of its lines that of the original, from 1.
    """

    connection: Any
    path: Path
    shown: str
    identifiers: Collection[str]
    choose: Choice | None = None
    lines: Sequence[int] | None = None

    def line(self, line: int) -> int:
        """The line of the file that the user has, of a line of ``path``."""
        return line if self.lines is None else self.lines[min(line, len(self.lines)) - 1]

    def wanted(self, names: list[str], nested: Collection[str] = ()) -> list[str]:
        """The columns to read, in their order; whatever is in others does no harm.

        ``nested`` columns hold lists or records, which cannot be read.
        """
        refuse_bad_names(names, self.shown)
        wanted = set(names if self.choose is None else self.choose(names, list(nested)))
        unreadable = [name for name in nested if name in wanted]
        if unreadable:
            raise PairscoreError(
                f"{self.shown!r} has columns that are neither numbers nor text:"
                f" {first_few(map(repr, unreadable))}; give each value a separate column."
            )
        return [name for name in names if name in wanted]


# -- names -----------------------------------------------------------------------------------------


def table_kind(path: Any, *, to_write: bool = False) -> str:
    """The kind of a table by its name: ``csv``, ``parquet``, ``jsonl`` or ``workbook``."""
    refuse_address(str(path), STORES)
    kind = "csv" if str(path) == "-" else KINDS.get(Path(path).suffix.lower())
    if kind is None:
        if not to_write:
            refuse_no_table(str(path))
        raise PairscoreError(
            f"{without_password(str(path))!r} does not show what kind of table it is; give it a"
            f" name that ends in {first_few(WRITTEN if to_write else KINDS, 12)}."
        )
    return kind


def refuse_address(name: str, stores: Collection[str] = ()) -> None:
    """Refuse an address that is neither a file nor, unless among ``stores``, a store of files."""
    if not (found := re.match(r"(\w[\w+.-]+):/+", name)):
        return
    scheme = found[1].lower()
    address = without_password(f"{found[1]}://{name[found.end() :]}")  # a Path has one slash
    if scheme.partition("+")[0] in DATABASES:
        raise PairscoreError(
            f"{address!r} is a database and not a file; read its tables with read_sql."
        )
    if scheme in DOWNLOADS or scheme in stores:
        remedy = "fit_stream reads it; or download" if scheme in stores else "download"
        raise PairscoreError(
            f"{address!r} is an address and not a file; {remedy} it, and give the file's name."
        )


def refuse_no_table(name: str) -> None:
    """Refuse a file whose name says that it is something else than a table."""
    suffix = Path(name).suffix.lower()
    if suffix == ".npz":
        raise PairscoreError(
            f"{name!r} is a model or sums of pairscore and not a table; give a table, such as a"
            " .csv file or a workbook (.xlsx)."
        )
    if suffix in NO_TABLES:
        raise PairscoreError(
            f"{name!r} is not a table; export or save the table that it shows as .csv or .xlsx, and"
            " give that."
        )


def refuse_bad_names(names: Collection[str], shown: str) -> None:
    """Refuse a table in which some column has no name of its own in one line."""
    if len(names) > MAX_COLUMNS:
        raise PairscoreError(
            f"{shown!r} has {len(names)} columns, more than the {MAX_COLUMNS} that can be read;"
            " keep those that matter."
        )
    unnamed = [place for place, name in enumerate(names, 1) if not name]
    if unnamed:
        raise PairscoreError(
            f"{plural(len(unnamed), 'column')} of {shown!r} without a name (column"
            f" {first_few(unnamed)}); name every column in the first line."
        )
    broken = [name for name in names if "\n" in name or "\r" in name]
    if broken:
        raise PairscoreError(
            f"{shown!r} has column names with line breaks: {first_few(map(repr, broken))}; write"
            f" every name on one line."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise PairscoreError(
            f"{shown!r} has columns of the same name: {first_few(map(repr, repeated))}; give every"
            " column its own name."
        )


def refuse_twins(names: list[str], shown: str) -> None:
    """Refuse ``names`` that differ from another in case only: DuckDB ignores case."""
    if names:
        raise PairscoreError(
            f"{shown!r} has columns whose names differ in upper and lower case only"
            f" ({first_few(map(repr, names))}); rename one of each."
        )


def sql_text(text: Any) -> str:
    """Quote a text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


# -- signs of numbers ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signs:
    """How the numbers of a file are written: the ``decimal`` sign, and the one of ``thousands``."""

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """Of a number with these signs; groups of thousands are complete."""
        mark = f"[{self.decimal}]"
        plain = f"([0-9]+({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
        groups = f"|[1-9][0-9]{{0,2}}([{self.thousands}][0-9]{{3}})+({mark}[0-9]*)?"
        return rf"\s*[+-]?({plain}{groups if self.thousands else ''})\s*"

    @property
    def in_words(self) -> str:
        """What is unusual about them."""
        if self.decimal == ".":
            return "commas between thousands (1,234 is 1234)"
        return "decimal commas (3,14 is 3.14)" + (
            " and points between thousands (1.234 is 1234)" if self.thousands else ""
        )

    def with_point(self, cell: str) -> str:
        """A cell as Python writes numbers; what is no number with these signs is none there."""
        if self == POINT or not re.search("[.,]", cell):
            return cell
        if not re.fullmatch(self.pattern, cell, re.ASCII):
            return NO_NUMBER
        return cell.replace(self.thousands, "").replace(self.decimal, ".")

    def sql(self, cell: str) -> str:
        """:meth:`with_point` in SQL, with NULL for what is no number."""
        if self == POINT:
            return cell
        pattern, thousands, decimal = map(sql_text, (self.pattern, self.thousands, self.decimal))
        number = f"replace(replace({cell}, {thousands}, ''), {decimal}, '.')"
        return (
            f"CASE WHEN regexp_full_match({cell}, {pattern}) THEN {number}"
            f" WHEN NOT regexp_matches({cell}, '[.,]') THEN {cell} END"
        )


POINT = Signs()
NAMED_SIGNS = {".": Signs(".", ","), ",": Signs(",", ".")}
ANY_NUMBER = "|".join(signs.pattern for signs in NAMED_SIGNS.values())


def named_signs(decimal: str) -> Signs:
    """The signs where the decimal one is named: the other one may stand between thousands."""
    if decimal not in NAMED_SIGNS:
        raise PairscoreError(f"decimal is {decimal!r}; use ',' or '.', or leave it out.")
    return NAMED_SIGNS[decimal]


def kept_signs(columns: Mapping[str, list[str]], kept: str) -> Signs:
    """The signs of a file after others that had the decimal sign ``kept``.

    It has the other one if some number can only be read with that, and none only with ``kept``.
    """
    kinds = {_readings(cell) for cells in columns.values() for cell in _numbers(cells)}
    other = "." if kept == "," else ","
    return named_signs(other if other in kinds and kept not in kinds else kept)


def find_signs(columns: Mapping[str, list[str]], shown: str) -> Signs:
    """How numbers are written, from cells of the columns by name; only those of numbers count.

    A file has one decimal sign. It is the comma if some number can only be read so (``3,14`` or
    ``1.234,5``) and none can only be read with a decimal point; otherwise it is the point. The
    other sign stands between thousands, where some number can only be read so; a comma does so
    also beside decimal points. ``1,234`` is 1.234 or 1234, and is refused where nothing else in the
    file says which.
    """
    suspects = (name for name, cells in columns.items() if any("," in cell for cell in cells))
    if not any(_numbers(columns[name]) for name in suspects):
        return POINT  # commas in text
    numbers = {name: _numbers(cells) for name, cells in columns.items()}
    kinds = {(_readings(cell), "." in cell) for cells in numbers.values() for cell in cells}
    comma, point = (any(readings == sign for readings, _ in kinds) for sign in ",.")
    if comma:
        return POINT if point else Signs(",", "." if (",", True) in kinds else "")
    if not point:
        name, cell = next(
            (name, cell.strip()) for name in numbers for cell in numbers[name] if "," in cell
        )
        raise PairscoreError(
            f"{shown!r} has numbers such as {cell!r} in the column {name!r}, which may be"
            f" {cell.replace(',', '.')} or {cell.replace(',', '')}; name the decimal sign with"
            " decimal=, or leave the column out."
        )
    return Signs(".", ",")


def refuse_unclear_points(columns: Mapping[str, list[str]], shown: str) -> None:
    """Refuse 1.291 next to 950 where no other number of a file says that points are decimal ones.

    Where semicolons stand between cells, points often stand between thousands.
    """
    cells = [cell.strip() for column in columns.values() for cell in column if "." in cell]
    if any(DECIMAL.fullmatch(cell) and not THOUSANDS.fullmatch(cell) for cell in cells):
        return
    for name, column in columns.items():
        numbers = [cell.strip() for cell in column if NUMBER.fullmatch(cell.strip())]
        points = [number for number in numbers if THOUSANDS.fullmatch(number)]
        whole = [number for number in numbers if number.lstrip("+-").isdigit()]
        if len(points) < 2 or len(points) + len(whole) < len(numbers):
            continue
        if any(abs(int(number)) >= 100 for number in whole):
            raise PairscoreError(
                f"{shown!r} has numbers such as {points[0]!r} in the column {name!r}, which may be"
                f" {points[0]} or {points[0].replace('.', '')}; name the decimal sign with"
                " decimal=, or leave the column out."
            )


def _numbers(cells: list[str]) -> list[str]:
    """The cells that are numbers with some signs; none where a column is not meant to be numeric.

    Cells without points and commas are left out.
    """
    filled = [cell for cell in cells if not is_missing(cell)]
    numbers = [cell for cell in filled if re.fullmatch(ANY_NUMBER, cell, re.ASCII)]
    if len(numbers) < NUMERIC_SHARE * len(filled):
        return []
    return [cell for cell in numbers if "," in cell or "." in cell]


def _readings(cell: str) -> str:
    """The decimal signs with which a cell is a number."""
    return "".join(sign for sign in ",." if re.fullmatch(NAMED_SIGNS[sign].pattern, cell, re.ASCII))


def is_missing(cell: str) -> bool:
    """Whether a cell of a column of numbers says that there is none."""
    return IS_MISSING.fullmatch(cell.strip(SPACES)) is not None


# -- files on the way ------------------------------------------------------------------------------


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Keep ``path`` in mind while it is there for the time being, for :func:`remove_unfinished`."""
    UNFINISHED.add(path)
    try:
        yield path
    finally:
        UNFINISHED.discard(path)


@contextmanager
def scratch_folder(inside: str | None = None) -> Iterator[Path]:
    """A folder that is gone after the block, perhaps ``inside`` another."""
    scratch = TemporaryDirectory(dir=inside, ignore_cleanup_errors=sys.platform == "win32")
    with scratch as name, unfinished(Path(name)) as folder:
        yield folder


@contextmanager
def open_database(memory: str | None = None) -> Iterator[Any]:
    """DuckDB, which holds up to ``memory`` outside a folder of its own, and installs nothing.

    It runs only statements that pairscore writes, in which names of files and columns are quoted.
    """
    import duckdb

    config = {} if memory is None else {"memory_limit": memory}
    with (
        scratch_folder() as folder,
        duckdb.connect(config=SEALED | config | {"temp_directory": str(folder)}) as database,
    ):
        database.execute("SET enable_progress_bar = false")  # which is shown in notebooks
        yield database


def remove_unfinished() -> None:
    """Remove what is there for the time being; for a process that ends at once."""
    for path in list(UNFINISHED):
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink()


@contextmanager
def plain_file(path: Any) -> Iterator[Path]:
    """A path that DuckDB takes literally.

    It would expand * and the like, and cannot read standard input.
    """
    with scratch_folder() as folder:
        plain = folder / "table"
        try:
            if str(path) == "-":
                with plain.open("xb") as copy:
                    _copy_input(copy)
            else:
                refuse_device(path)
                Path(path).open("rb").close()
                if re.search(r"[*?\[]", str(path)):
                    bring = shutil.copyfile if sys.platform == "win32" else os.symlink
                    bring(Path(path).absolute(), plain)
                else:
                    plain = Path(path).absolute()
        except PairscoreError:
            raise
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise PairscoreError(
                f"{str(path)!r} cannot be read ({reason}); check the path."
            ) from error
        yield plain


def refuse_device(path: Any) -> None:
    """Refuse a pipe or a device, which may never end or never begin, and can be read only once."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # others say that nothing is there
    if not S_ISREG(mode) and not S_ISDIR(mode):
        raise PairscoreError(
            f"{str(path)!r} is a pipe or a device, not a file; write its rows to a file, or give"
            " them as standard input (-)."
        )


def _copy_input(copy: Any) -> None:
    """Copy standard input as long as it may be a table: in lines, and not without an end."""
    size, unbroken = 0, 0
    while chunk := sys.stdin.buffer.read(CHUNK):
        size += len(chunk)
        unbroken = 0 if b"\n" in chunk or b"\r" in chunk else unbroken + len(chunk)
        if unbroken > 4 * MAX_LINE:  # a character may have four bytes
            raise PairscoreError(
                f"standard input has a line of more than {unbroken >> 20} MB; it is damaged or not"
                " a table."
            )
        if size > MOST_PIPED:
            raise PairscoreError(
                f"standard input has more than {MOST_PIPED >> 20:,} MB; write it to a file, and"
                " give the file's name."
            )
        copy.write(chunk)


# -- encoding --------------------------------------------------------------------------------------


class Kept(str):
    """What earlier files had; a file that contradicts it is read as it says itself."""


class Unsaid(str):
    """A word for missing values that is told elsewhere, and not where such cells are counted."""
