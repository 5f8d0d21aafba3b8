"""From DuckDB's table ``cells`` to arrays.

Identifiers as whole numbers if all of them are, long text as codes.

Tables from and to files: CSV, Parquet and JSONL, read and written with DuckDB.

The same data give the same columns, bit for bit, whatever the kind of file: identifiers are whole
numbers if all of them are, else exact text; other numbers are doubles, truth values 0 and 1;
missing numbers are NaN, missing text is None.
"""

import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pairscore.data.tables import Column, Columns, as_frame
from pairscore.errors import PairscoreError, first_few
from pairscore.files.read_csv import csv_places, load_csv, shared_delimiter
from pairscore.files.source import Choice, Source, as_utf8, quoted, refuse_bad_names
from pairscore.files.typed import load_jsonl, load_parquet, refuse_twins
from pairscore.files.write import atomic_write

WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # written as Python writes it, and within 64 bits
HASH = "hash({})"  # of a text, 64 bits
# from here on, text is fetched as codes: a Python string per row would take longer than the reading
CODED_ROWS = 50_000


def fetched(connection: Any, identifiers: Collection[str]) -> Iterator[Column]:
    """The columns of the table ``cells``, in order.

    ``identifiers`` are those that may be whole numbers.
    """
    rows = connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    types = {row[0]: row[1] for row in connection.execute("DESCRIBE cells").fetchall()}
    together = [cell for cell, kind in types.items() if kind == "DOUBLE" or rows < CODED_ROWS]
    arrays = (
        connection.execute(f"SELECT {', '.join(together)} FROM cells").fetchnumpy()
        if together
        else {}
    )
    for cell, kind in types.items():
        if kind == "DOUBLE":
            yield Column(np.ma.filled(arrays[cell], np.nan))
            continue
        column = Column(_text(arrays[cell])) if cell in arrays else _coded(connection, cell)
        whole = cell in identifiers and all(
            value is not None and WHOLE.fullmatch(value) for value in column.values
        )
        yield (
            Column(column.values.astype(np.int64), column.codes)
            if whole and len(column)
            else column
        )


def cell_array(array: np.ndarray, whole: bool) -> np.ndarray:
    """Doubles with NaN for what is missing, whole numbers, or text with None."""
    if array.dtype.kind == "f":
        return np.ma.filled(array, np.nan)
    return _text(array).astype(np.int64) if whole else _text(array)


def _text(array: np.ndarray) -> np.ndarray:
    """Strings, with None where there are none."""
    text = np.array(np.ma.getdata(array), dtype=object)
    text[np.ma.getmaskarray(array)] = None
    return text


def _coded(connection: Any, cell: str) -> Column:
    """Distinct values and codes of a text column, by DuckDB's hashes.

    To compare texts row by row takes longer than to read them.
    """
    found = connection.execute(
        f"SELECT name, {HASH.format('name')} AS hash FROM (SELECT DISTINCT {cell} AS name FROM"
        " cells)"
    ).fetchnumpy()
    order = np.argsort(found["hash"])
    hashes, names = found["hash"][order], _text(found["name"])[order]
    if np.any(hashes[1:] == hashes[:-1]):  # two names with one hash: rare enough to be slow
        return Column(_text(connection.execute(f"SELECT {cell} FROM cells").fetchnumpy()[cell]))
    hash_of_rows = connection.execute(
        f"SELECT {HASH.format(cell)} AS hash FROM cells"
    ).fetchnumpy()["hash"]
    return Column(names, _sorted_places(hashes, hash_of_rows))


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


KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
IDENTIFIERS = ("id", "left", "right", "model_a", "model_b", "winner", "loser", "judge")
PIECE_ROWS = 50_000


def read_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    identifiers: Collection[str] = IDENTIFIERS,
) -> Columns:
    """Read all columns of a CSV, Parquet or JSONL file (``-``: CSV from standard input).

    Delimiter and encoding of a CSV file are detected unless named. Columns called as in
    ``identifiers`` are never made into other numbers than whole ones. Faulty rows are reported all
    at once by a ``BadRowsError``.
    """
    with stored_table(
        path, delimiter=delimiter, encoding=encoding, identifiers=identifiers, for_all_files=False
    ) as table:
        return table.read()


@dataclass(frozen=True)
class StoredTable:
    """A table that DuckDB has read and keeps, on disk where memory does not suffice, and the file
    it came from.

    ``cells`` says under which name DuckDB has each column that was read.
    """

    source: Source
    kind: str
    delimiter: str | None
    cells: dict[str, str]

    def __len__(self) -> int:
        return int(self._fetched("count(*) AS n")["n"][0])

    def read(self) -> Columns:
        """All columns that were asked for; the arrays take the place of what was stored."""
        identifiers = {cell for name, cell in self.cells.items() if name in self.source.identifiers}
        columns = dict(zip(self.cells, fetched(self.source.connection, identifiers), strict=True))
        self.source.connection.execute("DROP TABLE cells")
        return Columns(columns, from_file=True)

    def pieces(self, names: Collection[str], rows: int = PIECE_ROWS) -> Iterator[Columns]:
        """Some columns, ``rows`` rows at a time.

        An identifier is whole numbers in all pieces or in none.
        """
        cells = {name: cell for name, cell in self.cells.items() if name in names}
        whole = {
            name: name in self.source.identifiers and self._all_whole(cell)
            for name, cell in cells.items()
        }
        for first in range(0, len(self), rows):
            found = self._fetched(
                ", ".join(cells.values()),
                f"WHERE rowid >= {first} AND rowid < {first + rows} ORDER BY rowid",
            )
            yield Columns(
                {
                    name: Column(cell_array(found[cell], whole[name]))
                    for name, cell in cells.items()
                },
                from_file=True,
            )

    def places(self, entries: Iterable[tuple[int, str]]) -> list[tuple[int, str | None]]:
        """Of entries by row (from 0) and column: the physical line (from 1.

        In Parquet, the row) and, of a CSV file, the text of the cell.
        """
        if self.kind == "csv":
            return csv_places(self.source.path, self.delimiter, entries)
        if self.kind == "parquet":
            return [(row + 1, None) for row, _ in entries]
        with self.source.path.open("rb") as lines:
            begins = [number for number, text in enumerate(lines, 1) if text.strip()]
        return [(begins[row], None) for row, _ in entries]

    def _all_whole(self, cell: str) -> bool:
        return (
            self._fetched(
                "count(*) AS n",
                f"WHERE {cell} IS NULL OR NOT regexp_full_match({cell}, {quoted(WHOLE.pattern)})",
            )["n"][0]
            == 0
        )

    def _fetched(self, what: str, which: str = "") -> dict[str, np.ndarray]:
        return self.source.connection.execute(f"SELECT {what} FROM cells {which}").fetchnumpy()


@contextmanager
def stored_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    identifiers: Collection[str] = IDENTIFIERS,
    columns: Choice | None = None,
    memory: str | None = None,
    for_all_files: bool = True,
) -> Iterator[StoredTable]:
    """As ``read_table``, but the table stays in DuckDB, with at most ``memory`` (such as ``"1GB"``)
    outside the disk.

    ``columns`` says which to read when told all names, and those of lists and records; faults in
    others do no harm. The delimiter is
    ``for_all_files`` of a command: one whose header has none of it keeps its own.
    """
    import duckdb

    shown, kind = shown_name(path), table_kind(path)
    with ExitStack() as stack:
        spill = stack.enter_context(TemporaryDirectory())
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "temp_directory": spill,
        }
        connection = stack.enter_context(
            duckdb.connect(config=config | ({} if memory is None else {"memory_limit": memory}))
        )
        file = stack.enter_context(_plain_file(path))
        if kind == "csv":
            file = stack.enter_context(as_utf8(file, encoding, shown))
            delimiter = shared_delimiter(file, delimiter) if for_all_files else delimiter
        source = Source(connection, file, shown, identifiers, columns)
        try:
            cells = (
                load_csv(source, delimiter)
                if kind == "csv"
                else (load_parquet if kind == "parquet" else load_jsonl)(source)
            )
            yield StoredTable(source, kind, delimiter, cells)
        except duckdb.Error as error:
            raise PairscoreError(_in_short(error, kind, shown)) from error


def shown_name(path: Any) -> str:
    """What a table is called in messages."""
    return "standard input" if str(path) == "-" else str(path)


def table_kind(path: Any) -> str:
    """csv, parquet or jsonl, by the end of the name."""
    if str(path) == "-":
        return "csv"
    kind = KINDS.get(Path(path).suffix.lower())
    if kind is None:
        raise PairscoreError(
            f"{str(path)!r} does not say what kind of table it is; give it a name that ends in"
            f" {first_few(KINDS, 9)}."
        )
    return kind


@contextmanager
def _plain_file(path: Any) -> Iterator[Path]:
    """A path that DuckDB takes literally.

    It would expand * and the like, and cannot read standard input.
    """
    with TemporaryDirectory() as directory:
        plain = Path(directory) / "table"
        try:
            if str(path) == "-":
                with plain.open("xb") as copy:
                    shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                with Path(path).open("rb"):
                    pass
                if re.search(r"[*?\[]", str(path)):
                    plain.symlink_to(Path(path).absolute())
                else:
                    plain = Path(path).absolute()
        except OSError as error:
            raise PairscoreError(
                f"{str(path)!r} cannot be read ({error.strerror}); check the path."
            ) from error
        except ValueError as error:
            raise PairscoreError(
                f"{str(path)!r} cannot be read ({error}); check the path."
            ) from error
        yield plain


def _in_short(error: Exception, kind: str, shown: str) -> str:
    """What DuckDB has to say, in one sentence."""
    if kind == "csv" and "state machine" in str(error):
        return (
            f"{shown!r} mixes line endings or has a stray quotation mark; save it with one kind of"
            " line ending and quote whole cells."
        )
    said = str(error).splitlines()[0].rstrip(". ")
    return (
        f"{shown!r} cannot be read as {kind} ({said[:200]}); it is cut short, damaged or of another"
        " kind: write it again."
    )


# -- writing ---------------------------------------------------------------------------------------


def write_table(columns: Any, path: Any) -> None:
    """Write a dict of columns, ``Columns`` or a dataframe as CSV, Parquet or JSONL (``-``.

    CSV to standard output).
    """
    if str(path) == "-":
        with TemporaryDirectory() as directory:
            write_table(columns, Path(directory) / "table.csv")
            with (Path(directory) / "table.csv").open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with atomic_write(path, "the table") as temporary:
        fill_table(temporary, columns, path)


def fill_table(temporary: Path, columns: Any, path: Any) -> None:
    """Write a table to what will be ``path``, whose name says the kind."""
    kind = table_kind(path)
    data, names = _writable(columns)
    _copy(data, names, kind, temporary, "\t" if Path(path).suffix.lower() == ".tsv" else ",", path)


def _writable(columns: Any) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays that DuckDB takes as they are: numbers, and text with None."""
    frame = as_frame(columns)
    if frame is None:
        raise PairscoreError(
            f"a table to write is a dict of columns or a dataframe, not a {type(columns).__name__}."
        )
    names = list(map(str, frame.columns))
    if not names:
        raise PairscoreError("the table has no columns; give at least one.")
    refuse_bad_names(names, "the table")
    refuse_twins(
        [
            name
            for place, name in enumerate(names)
            if name.casefold() in map(str.casefold, names[:place])
        ],
        "the table",
    )
    arrays = {
        f"c{place}": frame[name] if isinstance(frame, Columns) else frame[name].to_numpy()
        for place, name in enumerate(names)
    }
    return {
        key: array if array.dtype.kind in "biuf" else _as_text(array)
        for key, array in arrays.items()
    }, names


def _as_text(array: np.ndarray) -> np.ndarray:
    text = np.empty(len(array), dtype=object)
    text[:] = [None if value is None or value != value else str(value) for value in array.tolist()]
    return text


def _copy(
    data: dict[str, np.ndarray],
    names: list[str],
    kind: str,
    target: Path,
    delimiter: str,
    path: Any,
) -> None:
    import duckdb

    options = {
        "csv": f"FORMAT csv, HEADER true, DELIMITER {quoted(delimiter)}, QUOTE '\"', ESCAPE '\"'",
        "parquet": "FORMAT parquet",
        "jsonl": "FORMAT json",
    }[kind]
    cells = []
    for (key, array), name in zip(data.items(), names, strict=True):
        type_of_cell = (
            "VARCHAR"
            if array.dtype == object
            else "INTEGER"
            if array.dtype == bool and kind == "csv"
            else None
        )
        cells.append(
            f"{key if type_of_cell is None else f'CAST({key} AS {type_of_cell})'} AS"
            f' "{name.replace(chr(34), chr(34) * 2)}"'
        )
    connection = duckdb.connect(config={"pandas_analyze_sample": "0"})
    try:
        connection.register("data", data)
        connection.execute(
            f"COPY (SELECT {', '.join(cells)} FROM data) TO {quoted(target.absolute())} ({options},"
            " USE_TMP_FILE false)"
        )
    except (duckdb.Error, UnicodeError) as error:
        raise PairscoreError(
            f"the table could not be saved as {str(path)!r} ({str(error).splitlines()[0]}); check"
            " its cells and the place."
        ) from error
    finally:
        connection.close()
