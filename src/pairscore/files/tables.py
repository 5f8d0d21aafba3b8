"""Tables from files: CSV, Parquet and JSONL, read with DuckDB.

The same data give the same columns, bit for bit, whatever the kind of file: identifiers are whole
numbers if all of them are, else exact text; other numbers are doubles, truth values 0 and 1;
missing numbers are NaN, missing text is None.
"""

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.data.tables import Column, Columns
from pairscore.errors import BadRow, BadRowsError, PairscoreError, PairscoreWarning
from pairscore.files.read_csv import load_csv, locate_cells, shared_delimiter
from pairscore.files.source import (
    NUMERIC_SHARE,
    POINT,
    Choice,
    Source,
    as_utf8,
    display_name,
    plain_file,
    refuse_twins,
    scratch_folder,
    sql_name,
    sql_text,
    table_kind,
)

IDENTIFIERS = ("id", "left", "right", "model_a", "model_b", "winner", "loser", "judge")
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # written as Python writes it, and within 64 bits
PIECE_ROWS = 50_000
# from here on, text is fetched as codes: a Python string per row would take longer than the reading
CODED_ROWS = 50_000
HASH = "hash({})"  # of a text, 64 bits
# types of Parquet and JSONL; a column without any value is one of numbers, as in CSV
NUMBERS = r'(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|"?NULL"?)'
NESTED = r".*(\[\d*\]|STRUCT|MAP|UNION|VARIANT|BLOB|BIT|GEOMETRY).*"


def read_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    identifiers: Collection[str] = IDENTIFIERS,
) -> Columns:
    """Read all columns of a CSV, Parquet or JSONL file.

    Parameters
    ----------
    path
        The file; the end of its name says the kind, and ``-`` is CSV from standard input.
    delimiter, encoding
        Of a CSV file; detected unless named.
    decimal : {",", "."}
        The decimal sign of a CSV file; the other one may then stand between thousands. Detected
        unless named (:func:`pairscore.files.source.find_signs` has the rule), with a warning where
        it is a comma or where commas stand between thousands.
    identifiers
        Names of columns that hold names, not quantities: whole numbers if every cell is one, else
        exact text.

    Raises
    ------
    BadRowsError
        With all faulty rows at once.
    """
    with stored_table(
        path,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        identifiers=identifiers,
        for_all_files=False,
    ) as table:
        return table.read()


def warn_of(text: str) -> None:
    """Warn a user of Python of how a file was read."""
    warnings.warn(text, PairscoreWarning, stacklevel=2)


# -- tables in DuckDB ------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredTable:
    """A table that DuckDB has read and keeps, on disk where memory does not suffice.

    ``source`` is the file it came from, of some ``kind`` and, in CSV, with a ``delimiter``;
    ``cells`` says under which name DuckDB has each column that was read.
    """

    source: Source
    kind: str
    delimiter: str | None
    cells: dict[str, str]

    def __len__(self) -> int:
        return int(self._select("count(*) AS n")["n"][0])

    def read(self) -> Columns:
        """All columns that were wanted; the arrays take the place of what was stored."""
        identifiers = {cell for name, cell in self.cells.items() if name in self.source.identifiers}
        arrays = arrays_from_duckdb(self.source.connection, identifiers)
        columns = dict(zip(self.cells, arrays, strict=True))
        self.source.connection.execute("DROP TABLE cells")
        return Columns(columns, from_file=True)

    def pieces(self, names: Collection[str], rows: int = PIECE_ROWS) -> Iterator[Columns]:
        """Some columns, ``rows`` rows at a time.

        An identifier is whole numbers in all pieces or in none.
        """
        cells = {name: cell for name, cell in self.cells.items() if name in names}
        whole = {name for name in cells if name in self.source.identifiers and self._whole(name)}
        for first in range(0, len(self), rows):
            arrays = self._select(
                ", ".join(cells.values()),
                f"WHERE rowid >= {first} AND rowid < {first + rows} ORDER BY rowid",
            )
            columns = {name: _without_mask(arrays[cell]) for name, cell in cells.items()}
            columns |= {name: columns[name].astype(np.int64) for name in whole}
            yield Columns({name: Column(array) for name, array in columns.items()}, from_file=True)

    def locate(self, entries: Iterable[tuple[int, str]]) -> list[tuple[int, str | None]]:
        """Find entries, given by row (from 0) and column, in the file.

        Returns the physical line (from 1; in Parquet, the row) of each and, in CSV, its text.
        """
        if self.kind == "csv":
            return locate_cells(self.source.path, self.delimiter, entries)
        if self.kind == "parquet":
            return [(row + 1, None) for row, _ in entries]
        with self.source.path.open("rb") as lines:
            begins = [number for number, text in enumerate(lines, 1) if text.strip()]
        return [(begins[row], None) for row, _ in entries]

    def _whole(self, name: str) -> bool:
        cell = self.cells[name]
        pattern = sql_text(WHOLE.pattern)
        other = f"WHERE {cell} IS NULL OR NOT regexp_full_match({cell}, {pattern})"
        return self._select("count(*) AS n", other)["n"][0] == 0

    def _select(self, what: str, which: str = "") -> dict[str, np.ndarray]:
        return self.source.connection.execute(f"SELECT {what} FROM cells {which}").fetchnumpy()


@contextmanager
def stored_table(
    path: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    identifiers: Collection[str] = IDENTIFIERS,
    columns: Choice | None = None,
    memory: str | None = None,
    for_all_files: bool = True,
    say: Callable[[str], None] = warn_of,
) -> Iterator[StoredTable]:
    """Read a file as ``read_table`` does, but leave the table in DuckDB.

    Parameters
    ----------
    path, delimiter, encoding, decimal, identifiers
        As in ``read_table``.
    columns
        Given all names and those of lists and records, the columns to read; None reads all. Faults
        in others do no harm.
    memory
        How much DuckDB may hold outside the disk, such as ``"1GB"``.
    for_all_files
        Whether the delimiter was named for all files of a command: then a file whose first line
        has none of it keeps its own.
    say
        Called with a sentence where numbers have commas and none was named.
    """
    import duckdb

    shown, kind = display_name(path), table_kind(path)
    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    } | ({} if memory is None else {"memory_limit": memory})
    with ExitStack() as stack:
        config["temp_directory"] = str(stack.enter_context(scratch_folder()))
        connection = stack.enter_context(duckdb.connect(config=config))
        file = stack.enter_context(plain_file(path))
        if kind == "csv":
            file = stack.enter_context(as_utf8(file, encoding, shown))
            delimiter = shared_delimiter(file, delimiter) if for_all_files else delimiter
        source = Source(connection, file, shown, identifiers, columns)
        try:
            if kind == "csv":
                cells, signs = load_csv(source, delimiter, decimal)
                if decimal is None and signs != POINT:
                    say(f"{shown!r} has {signs.in_words}, and was read so.")
            else:
                cells = (load_parquet if kind == "parquet" else load_jsonl)(source)
            yield StoredTable(source, kind, delimiter, cells)
        except duckdb.Error as error:
            raise PairscoreError(_one_sentence(error, kind, shown)) from error


def _one_sentence(error: Exception, kind: str, shown: str) -> str:
    """What DuckDB says in several lines."""
    if kind == "csv" and "state machine" in str(error):
        return (
            f"{shown!r} mixes line endings or has a stray quotation mark; save it with one kind of"
            " line ending and quote whole cells."
        )
    message = str(error).splitlines()[0].rstrip(". ")
    return (
        f"{shown!r} cannot be read as {kind} ({message[:200]}); it is cut short, damaged or of"
        " another kind: write it again."
    )


# -- from DuckDB to arrays -------------------------------------------------------------------------


def arrays_from_duckdb(connection: Any, identifiers: Collection[str]) -> Iterator[Column]:
    """The columns of the table ``cells``, in order; long text as distinct values and codes.

    Those in ``identifiers`` are whole numbers if all of their cells are.
    """
    rows = connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    types = {row[0]: row[1] for row in connection.execute("DESCRIBE cells").fetchall()}
    direct = [cell for cell, kind in types.items() if kind == "DOUBLE" or rows < CODED_ROWS]
    select = f"SELECT {', '.join(direct)} FROM cells"
    arrays = connection.execute(select).fetchnumpy() if direct else {}
    for cell in types:
        if cell in arrays:
            column = Column(_without_mask(arrays[cell]))
        else:
            column = _coded_text(connection, cell)
        if cell in identifiers and len(column) and all(map(_is_whole, column.values)):
            column = Column(column.values.astype(np.int64), column.codes)
        yield column


def _is_whole(value: str | None) -> bool:
    return value is not None and WHOLE.fullmatch(value) is not None


def _without_mask(array: np.ndarray) -> np.ndarray:
    """Doubles with NaN, or strings with None, for what is missing."""
    if array.dtype.kind == "f":
        return np.ma.filled(array, np.nan)
    text = np.array(np.ma.getdata(array), dtype=object)
    text[np.ma.getmaskarray(array)] = None
    return text


def _coded_text(connection: Any, cell: str) -> Column:
    """Distinct values and codes of a text column, by DuckDB's hashes.

    To compare texts row by row takes longer than to read them.
    """

    def select(what: str) -> dict[str, np.ndarray]:
        return connection.execute(f"SELECT {what}").fetchnumpy()

    distinct = f"(SELECT DISTINCT {cell} AS name FROM cells)"
    names = select(f"name, {HASH.format('name')} AS hash FROM {distinct}")
    order = np.argsort(names["hash"])
    hashes = names["hash"][order]
    if np.any(hashes[1:] == hashes[:-1]):  # two names with one hash: rare enough to be slow
        return Column(_without_mask(select(f"{cell} FROM cells")[cell]))
    hash_of_rows = select(f"{HASH.format(cell)} AS hash FROM cells")["hash"]
    return Column(_without_mask(names["name"])[order], _sorted_places(hashes, hash_of_rows))


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


# -- Parquet and JSONL, which say which of their cells are numbers ---------------------------------


def load_parquet(source: Source) -> dict[str, str]:
    """Read the wanted columns of a Parquet file into DuckDB's table ``cells``.

    Returns, by the name of each column, what it is called there.
    """
    file = f"read_parquet({sql_text(source.path)}, hive_partitioning=false)"
    schema = f"SELECT name FROM parquet_schema({sql_text(source.path)})"
    types = _column_types(source, file)
    written = {row[0] for row in source.connection.execute(schema).fetchall()}
    refuse_twins([name for name in types if name not in written], source.shown)
    cells = {
        name: f"CAST({sql_name(name)} AS {'DOUBLE' if _is_number(name, types, source) else 'TEXT'})"
        for name in source.wanted(list(types), _nested(types))
    }
    return _fill_cells(source, cells, file)


def load_jsonl(source: Source) -> dict[str, str]:
    """Read the wanted columns of a file of JSON objects, one a line, into the table ``cells``.

    Returns, by the name of each column, what it is called there.
    """
    import duckdb

    if not source.path.stat().st_size:
        raise PairscoreError(f"{source.shown!r} is empty; write one JSON object per row.")
    file = (
        f"read_json({sql_text(source.path)}, format='newline_delimited', records=true,"
        " hive_partitioning=false, compression='none', "
    )
    try:
        types = _column_types(source, f"{file} sample_size=-1, map_inference_threshold=-1)")
        wanted = source.wanted(list(types), _nested(types))
        refuse_twins([name for name in types if _is_renamed(source, name, types)], source.shown)
        numeric = [name for name in wanted if _is_number(name, types, source)]
        read_as = dict.fromkeys(wanted, "JSON") | {
            name: "BOOLEAN" if types[name] == "BOOLEAN" else "DOUBLE" for name in numeric
        }
        columns = ", ".join(f"{sql_text(name)}: '{kind}'" for name, kind in read_as.items())
        cells = {name: f"{sql_name(name)} ->> '$'" for name in wanted}
        cells |= {name: f"CAST({sql_name(name)} AS DOUBLE)" for name in numeric}
        cell_names = _fill_cells(source, cells, f"{file} columns={{{columns}}})")
    except duckdb.Error as error:
        raise _bad_lines(source, []) or error from error
    mixed = [name for name in wanted if types[name] == "JSON" and name not in source.identifiers]
    if mixed and (bad := _bad_lines(source, mixed)):
        raise bad
    return cell_names


def _column_types(source: Source, file: str) -> dict[str, str]:
    """DuckDB's types of the columns of a file, by name."""
    rows = source.connection.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()
    return {row[0]: row[1] for row in rows}


def _nested(types: dict[str, str]) -> list[str]:
    """Columns of lists, records and the like."""
    return [name for name, kind in types.items() if re.fullmatch(NESTED, kind, re.DOTALL)]


def _is_number(name: str, types: dict[str, str], source: Source) -> bool:
    return name not in source.identifiers and re.fullmatch(NUMBERS, types[name]) is not None


def _fill_cells(source: Source, columns: dict[str, str], file: str) -> dict[str, str]:
    """Make the table ``cells`` of columns in SQL; say what each is called there."""
    cells = {name: f"c{place}" for place, name in enumerate(columns)}
    chosen = ", ".join(f"{column} AS {cells[name]}" for name, column in columns.items())
    source.connection.execute(f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {chosen} FROM {file}")
    return cells


def _is_renamed(source: Source, name: str, names: Iterable[str]) -> bool:
    """DuckDB ignores case in names of JSON objects: next to ``a``, it calls ``A`` ``A_1``."""
    stem = re.sub(r"_\d+$", "", name)
    if stem == name or stem.casefold() not in map(str.casefold, names):
        return False
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    return not source.connection.execute(
        f"SELECT bool_or(json_exists(json, {sql_text(pointer)}))"
        f" FROM read_ndjson_objects({sql_text(source.path)})"
    ).fetchone()[0]


def _bad_lines(source: Source, mixed: list[str]) -> PairscoreError | None:
    """What is wrong with a JSONL file, line by line; ``mixed`` columns have numbers and text."""
    rows: list[BadRow] = []
    texts: dict[str, list[BadRow]] = {name: [] for name in mixed}
    numbers: Counter[str] = Counter()
    with source.path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = _json_object(line)
            except (ValueError, RecursionError) as error:
                text = line[:200].decode("utf-8", "replace").rstrip()
                rows.append(BadRow(number, None, text, _json_reason(error, line)))
                continue
            for name in mixed:
                value = record.get(name)
                if isinstance(value, int | float):
                    numbers[name] += 1
                elif value is not None:
                    texts[name].append(BadRow(number, name, str(value)[:200], "no number"))
    for name, bad in texts.items():
        if numbers[name] >= NUMERIC_SHARE * (numbers[name] + len(bad)):
            rows += bad
    return BadRowsError(source.shown, sorted(rows, key=lambda row: row.line)) if rows else None


def _json_object(line: bytes) -> dict[str, Any]:
    record = json.loads(line, object_pairs_hook=_unique_names) if line.strip() else {}
    if not isinstance(record, dict):
        raise ValueError("no JSON object")
    return record


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name twice in one object")
    return dict(pairs)


def _json_reason(error: Exception, line: bytes) -> str:
    reason = str(error).partition(":")[0]
    return "no UTF-8" if "codec" in reason and not line.isascii() else reason
