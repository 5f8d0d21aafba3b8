"""Tables from and to files: CSV, Parquet and JSONL, read and written with DuckDB.

The same data give the same columns, bit for bit, whatever the kind of file: identifiers are whole
numbers if all of them are, else exact text; other numbers are doubles, truth values 0 and 1; missing
numbers are NaN, missing text is None.
"""

import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pairscore.columns import Column, Columns
from pairscore.csv_file import as_utf8, csv_row_lines, load_csv, quoted, refuse_bad_names
from pairscore.errors import PairscoreError, first_few
from pairscore.items import as_frame
from pairscore.typed_file import load_jsonl, load_parquet, refuse_twins
from pairscore.whole_file import atomic_write

KINDS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
IDENTIFIERS = ("id", "left", "right", "model_a", "model_b", "winner", "loser", "judge")
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # written as Python writes it, and within 64 bits
PIECE_ROWS = 50_000
HASH = "hash({})"  # of a text, 64 bits
CODED_ROWS = 50_000  # from here on, text is fetched as codes: a Python string per row would take longer than the reading


def read_table(path: Any, *, delimiter: str | None = None, encoding: str | None = None, identifiers: Collection[str] = IDENTIFIERS) -> Columns:
    """Read all columns of a CSV, Parquet or JSONL file (``-``: CSV from standard input).

    Delimiter and encoding of a CSV file are detected unless named. Columns called as in
    ``identifiers`` are never made into other numbers than whole ones. Faulty rows are reported all at
    once by a ``BadRowsError``.
    """
    with stored_table(path, delimiter=delimiter, encoding=encoding, identifiers=identifiers) as table:
        return table.read()


@dataclass(frozen=True)
class StoredTable:
    """A table that DuckDB has read and keeps, on disk where memory does not suffice."""

    connection: Any
    names: list[str]
    identifier: list[bool]

    def __len__(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM cells").fetchone()[0])

    def read(self) -> Columns:
        """All of it."""
        return Columns(dict(zip(self.names, _fetched(self.connection, self.identifier), strict=True)), as_written=True)

    def pieces(self, names: Collection[str], rows: int = PIECE_ROWS) -> Iterator[Columns]:
        """Some columns, ``rows`` rows at a time; an identifier is whole numbers in all pieces or in none."""
        places = [place for place, name in enumerate(self.names) if name in names]
        whole = [self.identifier[place] and self._all_whole(place) for place in places]
        chosen = ", ".join(f"c{place}" for place in places)
        for first in range(0, len(self), rows):
            found = self.connection.execute(f"SELECT {chosen} FROM cells WHERE rowid >= {first} AND rowid < {first + rows} ORDER BY rowid").fetchnumpy()
            yield Columns({self.names[place]: Column(_cells(found[f"c{place}"], number)) for place, number in zip(places, whole, strict=True)}, as_written=True)

    def _all_whole(self, place: int) -> bool:
        count = f"SELECT count(*) FROM cells WHERE c{place} IS NULL OR NOT regexp_full_match(c{place}, ?)"
        return self.connection.execute(count, [WHOLE.pattern]).fetchone()[0] == 0


@contextmanager
def stored_table(
    path: Any, *, delimiter: str | None = None, encoding: str | None = None, identifiers: Collection[str] = IDENTIFIERS, memory: str | None = None
) -> Iterator[StoredTable]:
    """As ``read_table``, but the table stays in DuckDB, with at most ``memory`` (such as ``"1GB"``) outside the disk."""
    import duckdb

    shown = "standard input" if str(path) == "-" else str(path)
    kind = _kind(path)
    with TemporaryDirectory() as spill:
        config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "temp_directory": spill}
        connection = duckdb.connect(config=config | ({} if memory is None else {"memory_limit": memory}))
        try:
            with _plain_file(path) as file:
                if kind == "csv":
                    with as_utf8(file, encoding, shown) as text:
                        names = load_csv(connection, text, delimiter, identifiers, shown)
                else:
                    names = (load_parquet if kind == "parquet" else load_jsonl)(connection, file, identifiers, shown)
            yield StoredTable(connection, names, [name in identifiers for name in names])
        except duckdb.Error as error:
            raise PairscoreError(_in_short(error, kind, shown)) from error
        finally:
            connection.close()


def row_lines(path: Any, rows: Iterable[int], *, delimiter: str | None = None, encoding: str | None = None) -> list[int]:
    """Physical lines (from 1) where some rows (from 0) of a table begin; in Parquet, rows from 1.

    Standard input is gone by then: there every row is taken to be one line.
    """
    rows, kind = list(rows), _kind(path)
    if kind == "parquet" or str(path) == "-":
        return [row + (1 if kind == "parquet" else 2) for row in rows]
    if kind == "jsonl":
        with Path(path).open("rb") as lines:
            begins = [number for number, text in enumerate(lines, 1) if text.strip()]
    else:
        with _plain_file(path) as file, as_utf8(file, encoding, str(path)) as utf8:
            begins = csv_row_lines(utf8, delimiter, str(path))
    return [begins[row] for row in rows]


def _kind(path: Any) -> str:
    if str(path) == "-":
        return "csv"
    kind = KINDS.get(Path(path).suffix.lower())
    if kind is None:
        raise PairscoreError(f"{str(path)!r} does not say what kind of table it is; give it a name that ends in {first_few(KINDS, 9)}.")
    return kind


@contextmanager
def _plain_file(path: Any) -> Iterator[Path]:
    """A path that DuckDB takes literally: it would expand * and the like, and cannot read standard input."""
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
            raise PairscoreError(f"{str(path)!r} cannot be read ({error.strerror}); check the path.") from error
        except ValueError as error:
            raise PairscoreError(f"{str(path)!r} cannot be read ({error}); check the path.") from error
        yield plain


def _in_short(error: Exception, kind: str, shown: str) -> str:
    """What DuckDB has to say, in one sentence."""
    if kind == "csv" and "state machine" in str(error):
        return f"{shown!r} mixes line endings or has a stray quotation mark; save it with one kind of line ending and quote whole cells."
    said = str(error).splitlines()[0].rstrip(". ")
    return f"{shown!r} cannot be read as {kind} ({said[:200]}); it is cut short, damaged or of another kind: write it again."


# -- from DuckDB to arrays -------------------------------------------------------------------------


def _fetched(connection: Any, identifier: list[bool]) -> Iterator[Column]:
    """The columns of the table ``cells``, in order."""
    rows = connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    types = [row[1] for row in connection.execute("DESCRIBE cells").fetchall()]
    together = [place for place, kind in enumerate(types) if kind == "DOUBLE" or rows < CODED_ROWS]
    arrays = connection.execute(f"SELECT {', '.join(f'c{place}' for place in together)} FROM cells").fetchnumpy() if together else {}
    for place, kind in enumerate(types):
        if kind == "DOUBLE":
            yield Column(np.ma.filled(arrays[f"c{place}"], np.nan))
            continue
        column = Column(_text(arrays[f"c{place}"])) if f"c{place}" in arrays else _coded(connection, place)
        whole = identifier[place] and all(value is not None and WHOLE.fullmatch(value) for value in column.values)
        yield Column(column.values.astype(np.int64), column.codes) if whole and len(column) else column


def _cells(array: np.ndarray, whole: bool) -> np.ndarray:
    """Doubles with NaN for what is missing, whole numbers, or text with None."""
    if array.dtype.kind == "f":
        return np.ma.filled(array, np.nan)
    return _text(array).astype(np.int64) if whole else _text(array)


def _text(array: np.ndarray) -> np.ndarray:
    """Strings, with None where there are none."""
    text = np.array(np.ma.getdata(array), dtype=object)
    text[np.ma.getmaskarray(array)] = None
    return text


def _coded(connection: Any, place: int) -> Column:
    """Distinct values and codes of a text column, by DuckDB's hashes: to compare texts row by row takes longer than to read them."""
    found = connection.execute(f"SELECT name, {HASH.format('name')} AS hash FROM (SELECT DISTINCT c{place} AS name FROM cells)").fetchnumpy()
    order = np.argsort(found["hash"])
    hashes, names = found["hash"][order], _text(found["name"])[order]
    if np.any(hashes[1:] == hashes[:-1]):  # two names with one hash: rare enough to be slow
        return Column(_text(connection.execute(f"SELECT c{place} FROM cells").fetchnumpy()[f"c{place}"]))
    hash_of_rows = connection.execute(f"SELECT {HASH.format(f'c{place}')} AS hash FROM cells").fetchnumpy()["hash"]
    return Column(names, _sorted_places(hashes, hash_of_rows))


def _sorted_places(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted hash stands among the sorted ones, which are spread evenly: a bisection would take ten times as long."""
    bits = len(hashes).bit_length() + 2
    top = np.uint64(64 - bits)
    begins = np.searchsorted(hashes >> top, np.arange(1 << bits, dtype=np.uint64)).astype(np.int32)
    place = begins[wanted >> top]
    later = np.flatnonzero(hashes[place] != wanted)
    while len(later):
        place[later] += 1
        later = later[hashes[place[later]] != wanted[later]]
    return place


# -- writing ---------------------------------------------------------------------------------------


def write_table(columns: Any, path: Any) -> None:
    """Write a dict of columns, ``Columns`` or a dataframe as CSV, Parquet or JSONL (``-``: CSV to standard output)."""
    if str(path) == "-":
        with TemporaryDirectory() as directory:
            write_table(columns, Path(directory) / "table.csv")
            with (Path(directory) / "table.csv").open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    kind = _kind(path)
    data, names = _writable(columns)
    with atomic_write(path, "the table") as temporary:
        _copy(data, names, kind, temporary, "\t" if Path(path).suffix.lower() == ".tsv" else ",", path)


def _writable(columns: Any) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays that DuckDB takes as they are: numbers, and text with None."""
    frame = as_frame(columns)
    if frame is None:
        raise PairscoreError(f"a table to write is a dict of columns or a dataframe, not a {type(columns).__name__}.")
    names = list(map(str, frame.columns))
    if not names:
        raise PairscoreError("the table has no columns; give at least one.")
    refuse_bad_names(names, "the table")
    refuse_twins([name for place, name in enumerate(names) if name.casefold() in map(str.casefold, names[:place])], "the table")
    arrays = {f"c{place}": frame[name] if isinstance(frame, Columns) else frame[name].to_numpy() for place, name in enumerate(names)}
    return {key: array if array.dtype.kind in "biuf" else _as_text(array) for key, array in arrays.items()}, names


def _as_text(array: np.ndarray) -> np.ndarray:
    text = np.empty(len(array), dtype=object)
    text[:] = [None if value is None or value != value else str(value) for value in array.tolist()]
    return text


def _copy(data: dict[str, np.ndarray], names: list[str], kind: str, target: Path, delimiter: str, path: Any) -> None:
    import duckdb

    options = {"csv": f"FORMAT csv, HEADER true, DELIMITER {quoted(delimiter)}, QUOTE '\"', ESCAPE '\"'", "parquet": "FORMAT parquet", "jsonl": "FORMAT json"}[
        kind
    ]
    cells = []
    for (key, array), name in zip(data.items(), names, strict=True):
        type_of_cell = "VARCHAR" if array.dtype == object else "INTEGER" if array.dtype == bool and kind == "csv" else None
        cells.append(f'{key if type_of_cell is None else f"CAST({key} AS {type_of_cell})"} AS "{name.replace(chr(34), chr(34) * 2)}"')
    connection = duckdb.connect(config={"pandas_analyze_sample": "0"})
    try:
        connection.register("data", data)
        connection.execute(f"COPY (SELECT {', '.join(cells)} FROM data) TO {quoted(target.absolute())} ({options}, USE_TMP_FILE false)")
    except (duckdb.Error, UnicodeError) as error:
        raise PairscoreError(f"the table could not be saved as {str(path)!r} ({str(error).splitlines()[0]}); check its cells and the place.") from error
    finally:
        connection.close()
