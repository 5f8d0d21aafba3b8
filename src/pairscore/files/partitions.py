"""Where comparisons and items come from: files in parts that one worker reads, batch by batch.

A :class:`Partition` is a part of a table that a task reads by itself. Anything that can be pickled
and has these attributes will do: a few row groups of a Parquet file, one CSV file, or what a
database gives for one query. Arrow reads files, also on object stores (``s3://bucket/votes/``).
"""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from glob import glob, has_magic
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from pairscore.display import did_you_mean, first_few, shown
from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.files.csv_batches import csv_batches, csv_names
from pairscore.files.delimiter import sign_of
from pairscore.files.source import KINDS as FILE_KINDS
from pairscore.files.source import (
    MAX_LINE,
    OpenFile,
    open_file,
    refuse_address,
    refuse_bad_names,
    refuse_device,
    refuse_no_table,
)
from pairscore.files.tables import TextReading
from pairscore.files.titles_and_totals import HEAD
from pairscore.passwords import without_password

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 20  # of a Parquet file that are decoded at a time
WIDE = 8  # columns, beyond which batches have fewer rows
PARTITION_ROWS = 1 << 22  # of a Parquet file in one partition
BLOCK_BYTES = 1 << 24  # of a text file that are parsed at a time
KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
UNPACKED = 1 << 30  # bytes that any compressed text file may unpack to, and how many times its size
TIMES = 200
BYTES_PER_ROW = 16  # of a text file, of which nobody has counted the rows
REASON_LENGTH = 200  # characters of what Arrow says
DEEPEST = 100  # brackets of JSON within each other; a table has two
# where the keys of a store belong
KEY_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "gcs": "GOOGLE_APPLICATION_CREDENTIALS",
}
AS_IT_IS = TextReading()  # as a file says itself
JSON_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')


@runtime_checkable
class Partition(Protocol):
    """A part of a table that one task reads by itself; it can be pickled.

    Attributes
    ----------
    name : str
        What messages call it: the file.
    n_rows : int
        How many rows it has, about.
    n_bytes : int
        How much there is to read, for progress.
    """

    @property
    def name(self) -> str: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...

    def column_names(self) -> list[str]:
        """Names of all columns."""
        ...

    def read(
        self, columns: Collection[str], text: Collection[str] = ()
    ) -> Iterator[tuple[int, "pa.RecordBatch"]]:
        """Batches of these columns, each with the number of its first row in ``name``, from 0.

        Columns of ``text`` are identifiers: where a file has no types, they are read as text.
        """
        ...


@dataclass(frozen=True)
class FilePartition:
    """Row groups of a Parquet file, or a whole text file; at ``path`` if ``name`` is not that.

    ``names`` and ``texts`` are the columns of a Parquet file, and those of them that are text, so
    that its end is read once; ``reading`` is what the user says of how CSV is written.
    """

    name: str
    kind: str
    n_rows: int
    n_bytes: int
    first_row: int = 0
    groups: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    path: str = ""
    reading: TextReading = AS_IT_IS

    @cached_property
    def _names(self) -> list[str]:
        names = list(self.names)
        if self.kind != "parquet":
            with readable(self.name, 0):
                names = _column_names(self.path or self.name, self.kind, self.reading)
        refuse_bad_names(names, self.name)
        return names

    def column_names(self) -> list[str]:
        return self._names

    def has(self, name: str) -> bool:
        """Whether the file has such a thing as what was said of it."""
        if self.kind != "csv" or name != "delimiter" or self.reading.delimiter is None:
            return self.kind == "csv"
        with readable(self.name, 0):
            head = _csv_head(self.path or self.name)
        return sign_of(self.reading.delimiter).encode() in head.splitlines()[0]

    def read(
        self, columns: Collection[str], text: Collection[str] = ()
    ) -> Iterator[tuple[int, "pa.RecordBatch"]]:
        names = self.column_names()
        known = set(names)
        if missing := [name for name in columns if name not in known]:
            raise PairscoreError(
                f"{self.name!r} has no column {missing[0]!r}; it has"
                f" {first_few(map(repr, names), 8)}.{did_you_mean(missing[0], names)}"
            )
        row, batches = self.first_row, _batches(self, list(columns), set(text))
        while True:
            with readable(self.name, row):
                batch = next(batches, None)
            if batch is None:
                return
            yield row, batch
            row += len(batch)


@dataclass(frozen=True)
class TablePartition:
    """An Arrow table in memory, or whatever makes one of itself."""

    table: Any = field(repr=False)
    name: str = "the comparisons"

    @property
    def n_rows(self) -> int:
        return len(self.table)

    @property
    def n_bytes(self) -> int:
        return len(self.table) * BYTES_PER_ROW

    def column_names(self) -> list[str]:
        return list(self.table.column_names)

    def read(
        self, columns: Collection[str], text: Collection[str] = ()
    ) -> Iterator[tuple[int, "pa.RecordBatch"]]:
        row = 0
        for batch in self.table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS):
            yield row, batch
            row += len(batch)


def partitions(
    source: Any,
    partition_rows: int = PARTITION_ROWS,
    anywhere: bool = False,
    reading: TextReading = AS_IT_IS,
) -> list[Partition]:
    """The partitions of a source, in an order that does not depend on where they are read.

    Parameters
    ----------
    source
        A file, a folder with files of one kind at any depth, a pattern (``votes/*.parquet``), the
        address of one of these on an object store, a list of such, an Arrow table or any
        dataframe, or a list of tables or partitions.
    partition_rows : int
        Rows of a Parquet file in one partition, about.
    anywhere : bool
        Whether processes in other folders read them: names of files are then whole.
    reading
        Delimiter, encoding, decimal sign and words for missing values of CSV files.
    """
    if isinstance(source, str | Path):
        source = [source]
    if not isinstance(source, list | tuple):
        return [TablePartition(_arrow_table(source))]
    if source and not isinstance(source[0], str | Path):
        return [_partition(one, number) for number, one in enumerate(source, 1)]
    files = [file for name in source for file in find_files(_whole_name(str(name), anywhere))]
    if twice := [file for file in dict.fromkeys(files) if files.count(file) > 1]:
        raise PairscoreError(
            f"{first_few(map(repr, twice))} would be counted twice; name every file once."
        )
    parts = (part for file in files for part in _partitions_of_file(file, partition_rows))
    return [replace(part, reading=reading) for part in parts]


def _partition(one: Any, number: int) -> Partition:
    """A partition as it is, or a table as one; messages say which of the list it is."""
    if isinstance(one, Partition):
        return one
    if isinstance(one, str | Path):
        raise PairscoreError(
            f"entry {number} of the list of comparisons is the name of a file, and those before are"
            " tables; give either files or tables."
        )
    return TablePartition(_arrow_table(one), f"table {number} of the comparisons")


def _whole_name(name: str, anywhere: bool) -> str:
    return os.path.abspath(name) if anywhere and "://" not in name else name


def _arrow_table(frame: Any) -> Any:
    import narwhals.stable.v2 as nw

    pa = import_arrow()
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, dict):
        return pa.table(frame)
    try:
        return pa.table(nw.from_native(frame).lazy().collect("pyarrow").to_native())
    except TypeError:
        raise PairscoreError(
            f"the comparisons are {shown(frame)}; give files, a folder, a pattern or a table."
        ) from None


def find_files(name: str) -> list[str]:
    """The files that a name, a folder, a pattern or an address stands for, in order."""
    if "://" in name:
        return _find_on_store(name)
    if has_magic(name) and not Path(name).exists():
        files = sorted(file for file in glob(name, recursive=True) if Path(file).is_file())
        if not files:
            raise PairscoreError(f"no file matches {name!r}; check the pattern and the folder.")
        return files
    path = Path(name)
    if path.is_dir():
        files = [str(file) for file in path.rglob("*") if file.is_file() and _is_table(file)]
        if not files:
            raise PairscoreError(
                f"the folder {name!r} has no tables; they end in {first_few(KINDS, 6)}."
            )
        return sorted(files)
    if not path.exists():
        raise PairscoreError(f"there is no file {without_password(name)!r}; check its name.")
    return [name]


def _is_table(path: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.parts[-2:])
    return not hidden and path.suffix.lower() in KINDS


def _find_on_store(address: str) -> list[str]:
    """Files on an object store; its own settings go behind a question mark, as Arrow has them."""
    pa = import_arrow()
    from pyarrow.fs import FileSelector, FileType

    place, mark, options = address.partition("?")
    scheme, _, rest = place.partition("://")
    scheme = scheme.lower()
    refuse_address(address)
    # Azure writes container@account
    before = r"[^/]*@" if scheme in KEY_VARIABLES else r"[^/]*:[^/]*@"
    if re.match(rf"{before}|[^/:]*:(?![0-9]*(/|$))", rest):
        instead = f", and set {KEY_VARIABLES[scheme]}" if scheme in KEY_VARIABLES else ""
        raise PairscoreError(
            f"{without_password(address)!r} has a key in it; leave it out{instead}."
        )
    place = re.sub(r"(?<=[^:/])/+$", "", place)
    fixed = re.split(r"[*\[]", place)[0].rpartition("/")[0] if has_magic(place) else place
    with readable(address, 0):
        try:
            system, path = file_system(fixed + mark + options)
        except (pa.ArrowInvalid, TypeError):
            raise PairscoreError(
                f"{address!r} is not the address of a table; write it like s3://bucket/games."
            ) from None
        if fixed == place and system.get_file_info(path).type == FileType.File:
            return [address]
        bucket = path.split("/")[0]
        if bucket and system.get_file_info(bucket).type == FileType.NotFound:
            raise PairscoreError(f"there is no bucket {bucket!r} for {address!r}; check its name.")
        entries = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    found = [
        fixed.removesuffix(path) + entry.path for entry in entries if entry.type == FileType.File
    ]
    pattern = place.split("/") if has_magic(place) else [*place.split("/"), "**"]
    names = [n for n in found if _matches(n.split("/"), pattern) and _is_table(Path(n))]
    if not names:
        raise PairscoreError(f"there are no tables at {address!r}; check the address.")
    return [name + mark + options for name in sorted(names)]


def _matches(names: list[str], pattern: list[str]) -> bool:
    """Whether a path is of a pattern; only ** goes through folders, as on a disk."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(_matches(names[first:], pattern[1:]) for first in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])


def file_system(name: str) -> tuple[Any, str]:
    """Arrow's file system for a name, and the path on it."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    return FileSystem.from_uri(name) if "://" in name else (LocalFileSystem(), name)


def kind_of(name: str) -> str:
    """The kind of a table by its name."""
    path = Path(name.partition("?")[0] if "://" in name else name)
    kind = KINDS.get((path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower())
    if kind is None:
        if FILE_KINDS.get(path.suffix.lower()) == "workbook":
            raise PairscoreError(
                f"{name!r} is a workbook, which cannot be read in parts",
                ["save its sheet as .csv or .parquet", "fit it whole, without streaming"],
            )
        refuse_no_table(name)
        raise PairscoreError(
            f"{without_password(name)!r} does not show what kind of table it is; give it a name"
            f" that ends in {first_few(KINDS, 6)}."
        )
    return kind


def _partitions_of_file(name: str, partition_rows: int) -> list[FilePartition]:
    kind = kind_of(name)
    import_arrow()
    if "://" not in name:
        refuse_device(name)
    with readable(name, 0):
        system, path = file_system(name)
        if kind == "parquet":
            return _row_groups(name, partition_rows)
        size = system.get_file_info(path).size or 0
    return [FilePartition(name, kind, size // BYTES_PER_ROW, size)]


def _row_groups(name: str, partition_rows: int) -> list[FilePartition]:
    """Runs of row groups with about as many rows each."""
    from pyarrow.parquet import ParquetFile

    system, path = file_system(name)
    with ParquetFile(path, filesystem=system) as file:
        meta = file.metadata
        columns = list(file.schema_arrow)
        groups = [(g, meta.row_group(g).num_rows) for g in range(meta.num_row_groups)]
        size = sum(meta.row_group(g).total_byte_size for g, _ in groups)
    names = tuple(column.name for column in columns)
    texts = tuple(column.name for column in columns if is_text(column.type))
    parts: list[FilePartition] = []
    first, rows = 0, 0
    run: list[int] = []
    for group, n in groups:
        run, rows = [*run, group], rows + n
        if rows >= partition_rows or group == groups[-1][0]:
            share = rows * size // max(meta.num_rows, 1)
            of_file = (first, tuple(run), names, texts)
            parts.append(FilePartition(name, "parquet", rows, share, *of_file))
            first, run, rows = first + rows, [], 0
    return parts


def _column_names(name: str, kind: str, reading: TextReading) -> list[str]:
    """Names of the columns of a text file."""
    if kind == "csv":
        return csv_names(_csv_head(name), name, reading)
    with _json(name, None) as reader:
        return list(reader.schema.names)


def _batches(part: FilePartition, columns: list[str], text: set[str]) -> Iterator["pa.RecordBatch"]:
    name = part.path or part.name
    if part.kind == "parquet":
        yield from _parquet_batches(part, columns)
    elif part.kind == "csv":
        with _text_file(name) as opened:
            rows = _batch_rows(len(columns))
            yield from csv_batches(opened, part.name, columns, text, rows, part.reading)
    else:
        with _json(name, columns) as reader:
            for batch in reader:
                yield batch.select(columns)


def _batch_rows(n_columns: int) -> int:
    return max(BATCH_ROWS // n_columns, 1 << 14) if n_columns > WIDE else BATCH_ROWS


def _parquet_batches(part: FilePartition, columns: list[str]) -> Iterator["pa.RecordBatch"]:
    """Text is kept as the file has it: distinct values and a code for each row.

    Arrow holds what it has read of all row groups that it is asked for; of a wide table these are
    therefore one at a time.
    """
    from pyarrow.parquet import ParquetFile

    wide = len(columns) > WIDE
    rows = _batch_rows(len(columns))
    runs = [[group] for group in part.groups] if wide else [list(part.groups)]
    system, path = file_system(part.path or part.name)
    texts = [name for name in columns if name in part.texts]
    with ParquetFile(path, filesystem=system, read_dictionary=texts) as file:
        for run in runs:
            yield from file.iter_batches(rows, row_groups=run, columns=columns, use_threads=False)


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is text."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)


def _csv_head(name: str) -> bytes:
    """The first bytes of a text file, with at least one whole line of a table."""
    system, path = file_system(name)
    head = b""
    with system.open_input_stream(path, compression="detect") as file:
        while (len(head) < HEAD or b"\n" not in head) and len(head) < MAX_LINE:
            more = file.read(HEAD)
            if not more:
                break
            head += more
    return head


@contextmanager
def _text_file(name: str) -> Iterator[OpenFile]:
    """A text file on this machine; of one that is elsewhere or compressed, a copy on its disk."""
    if "://" not in name and not name.lower().endswith(".gz"):
        with open_file(name) as opened:
            yield opened
        return
    system, path = file_system(name)
    most = max(UNPACKED, TIMES * (system.get_file_info(path).size or 0))
    with scratch_folder() as folder:
        copy = folder / "copy"
        with system.open_input_stream(path, compression="detect") as file, copy.open("xb") as out:
            while piece := file.read(BLOCK_BYTES):
                out.write(piece)
                if out.tell() > most:
                    raise PairscoreError(
                        f"{name!r} unpacks to more than {TIMES} times its size; it is damaged or"
                        " not a table."
                    )
        with copy.open("rb") as text:
            yield OpenFile(copy, text)


@contextmanager
def _json(name: str, columns: list[str] | None) -> Iterator[Any]:
    from pyarrow import json

    pa = import_arrow()
    system, path = file_system(name)
    options = json.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
    with (
        system.open_input_stream(path, compression="detect") as file,
        json.open_json(pa.PythonFile(_FlatLines(file, name), "r"), options) as reader,
    ):
        yield reader


class _FlatLines(RawIOBase):
    """A file of JSON objects, one a line, that is refused where a line is not one, is longer than a
    table has it, or is nested too deeply.

    Arrow's reader calls itself for every bracket, and ends the process with the stack.
    """

    def __init__(self, file: Any, name: str):
        self.file, self.name = file, name
        self.rest, self.line = b"", 1  # the line that the last piece ended in

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = bytes(self.file.read(size if size >= 0 else None))
        text = self.rest + piece
        end = text.rfind(b"\n") + 1 if piece else len(text)
        self._check(text[:end])
        self.line += text.count(b"\n", 0, end)
        self.rest = text[end:]
        if len(self.rest) > MAX_LINE:
            self._refuse(0, f"is longer than {MAX_LINE >> 20} MB")
        return piece

    def _check(self, text: bytes) -> None:
        """Refuse lines that are no flat objects; the usual ones are not looked at one by one."""
        signs = np.frombuffer(text, dtype=np.uint8)
        ends = np.append(np.flatnonzero(signs == ord("\n")), len(text))
        opens = np.flatnonzero((signs == ord("[")) | (signs == ord("{")))
        counts = np.diff(np.searchsorted(opens, ends), prepend=0)
        lengths = np.diff(ends, prepend=-1)
        odd = np.flatnonzero((counts > DEEPEST) | (lengths > MAX_LINE))
        n_usual = max(text.count(b"}\n{"), text.count(b"}\r\n{"))
        is_usual = text.startswith(b"{") and text.endswith(b"}\n") and n_usual == len(ends) - 2
        for number in odd.tolist() if is_usual else range(len(ends)):
            line = text[ends[number - 1] + 1 if number else 0 : ends[number]]
            bare = line.strip().removeprefix(b"\xef\xbb\xbf")
            if bare and not (bare.startswith(b"{") and bare.endswith(b"}")):
                self._refuse(number, "is not one JSON object")
            if len(line) > MAX_LINE:
                self._refuse(number, f"is longer than {MAX_LINE >> 20} MB")
            if counts[number] > DEEPEST and _depth(line) > DEEPEST:
                self._refuse(number, f"has brackets within brackets, more than {DEEPEST} deep")

    def _refuse(self, number: int, reason: str) -> None:
        raise PairscoreError(
            f"line {self.line + number} of {self.name!r} {reason}; write one object of numbers and"
            " texts per line."
        )


def _depth(line: bytes) -> int:
    """How many brackets are within each other; those in texts are text."""
    bare = np.frombuffer(JSON_TEXT.sub(b"", line), dtype=np.uint8)
    up = (bare == ord("[")) | (bare == ord("{"))
    down = (bare == ord("]")) | (bare == ord("}"))
    return int(np.cumsum(up.astype(np.int64) - down).max(initial=0))


@contextmanager
def readable(name: str, row: int) -> Iterator[None]:
    """Say in a sentence which file cannot be read, and near which row."""
    pa = import_arrow()
    try:
        yield
    except FileNotFoundError:
        raise PairscoreError(f"there is no file {name!r}; check its name.") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # without what Arrow was doing when a store answered
        reason = re.sub(r"^.*?(?=AWS Error)", "", str(error).splitlines()[0].strip())
        reason = reason[:REASON_LENGTH].rstrip(". ")
        if "AWS Error" in reason:
            raise PairscoreError(
                f"{name!r} cannot be fetched ({reason}); check the address, the network and the"
                " keys (AWS_ACCESS_KEY_ID and the like)."
            ) from None
        raise PairscoreError(
            f"{name!r} cannot be read from row {row + 1} on ({reason}); repair the file, or leave"
            " it out."
        ) from None


def import_arrow() -> Any:
    """Arrow, or a sentence that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise PairscoreError(
            "reading files in parts needs Arrow; install it with: pip install pyarrow."
        ) from None
    return pyarrow
