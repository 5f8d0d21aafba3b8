"""Where a table comes from: its kind by its name, the file itself, and the columns wanted of it."""

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, BinaryIO, TextIO

from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.messages import Action
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
# the columns to read, given all names and those of lists or records
Choice = Callable[[list[str], list[str]], Collection[str]]


@dataclass(frozen=True)
class OpenFile:
    """A file that is open, for whoever looks at its beginning, its end or its lines.

    ``path`` is what DuckDB reads, literally.
    """

    path: Path
    file: BinaryIO

    def from_begin(self) -> BinaryIO:
        """The file at its first byte."""
        self.file.seek(0)
        return self.file

    def head(self, size: int) -> bytes:
        """Its first bytes."""
        return self.from_begin().read(size)

    def tail(self, size: int) -> bytes:
        """Its last bytes."""
        end = self.file.seek(0, 2)
        self.file.seek(max(0, end - size))
        return self.file.read()

    def pieces(self) -> Iterator[bytes]:
        """All its bytes, some at a time."""
        file = self.from_begin()
        while piece := file.read(CHUNK):
            yield piece

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Its text, which is UTF-8."""
        text = TextIOWrapper(self.from_begin(), encoding="utf-8-sig", newline="")
        try:
            yield text
        finally:
            text.detach()


@dataclass(frozen=True)
class Source:
    """A file that is read into the table ``cells``, and what is wanted of it.

    Parameters
    ----------
    connection
        DuckDB's connection, which has the table ``cells``.
    opened
        The file, as DuckDB can read it.
    shown
        What the file is called in messages.
    identifiers
        Names of columns that are read as exact text.
    choose
        Given all names and those of nested columns, the columns to read; None reads all.
    lines
        Where the file is a copy: for each of its lines that of the original, from 1.
    """

    connection: Any
    opened: OpenFile
    shown: str
    identifiers: Collection[str]
    choose: Choice | None = None
    lines: Sequence[int] | None = None

    @property
    def path(self) -> Path:
        """The file in SQL."""
        return self.opened.path

    def line(self, line: int) -> int:
        """The line of the file that the user has, of a line of ``opened``."""
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
            f"{address!r} is a database and not a file",
            "read its tables with " + Action("read_sql"),
        )
    if scheme in DOWNLOADS or scheme in stores:
        in_parts = ["read it with " + Action("fit_stream")] if scheme in stores else []
        raise PairscoreError(
            f"{address!r} is an address and not a file",
            [*in_parts, "download it, and give the file's name"],
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


# -- files on the way ------------------------------------------------------------------------------


@contextmanager
def open_file(path: Any) -> Iterator[OpenFile]:
    """A file, opened once, with a path that DuckDB takes literally.

    It would expand * and the like, and cannot read standard input.
    """
    with scratch_folder() as folder, ExitStack() as stack:
        plain = folder / "table"
        try:
            if str(path) == "-":
                with plain.open("xb") as copy:
                    _copy_input(copy)
                file = stack.enter_context(plain.open("rb"))
            else:
                refuse_device(path)
                file = stack.enter_context(Path(path).open("rb"))
                if re.search(r"[*?\[]", str(path)):
                    bring = shutil.copyfile if sys.platform == "win32" else os.symlink
                    bring(Path(path).absolute(), plain)
                else:
                    plain = Path(path).absolute()
        except PairscoreError:
            raise
        except (OSError, ValueError) as error:
            raise unreadable(path, error) from error
        yield OpenFile(plain, file)


def unreadable(path: Any, error: Exception) -> PairscoreError:
    """The sentence about a file that cannot be opened."""
    reason = error.strerror if isinstance(error, OSError) else error
    return PairscoreError(f"{str(path)!r} cannot be read ({reason}); check the path.")


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


class Kept(str):
    """What earlier files had; a file that contradicts it is read as it says itself."""


class Unsaid(str):
    """A word for missing values that is told elsewhere, and not where such cells are counted."""
