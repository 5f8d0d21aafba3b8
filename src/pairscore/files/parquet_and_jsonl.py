"""Parquet and JSONL, which say which of their cells are numbers."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairscore.errors import BadRow, BadRowsError, PairscoreError
from pairscore.files.numbers import NUMERIC_SHARE
from pairscore.files.source import MAX_LINE, Source, refuse_bad_names, refuse_twins
from pairscore.files.sql import sql_name, sql_text
from pairscore.messages import Action

# types of columns; one without any value is one of numbers, as in CSV
NUMBERS = r'(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|"?NULL"?)'
PACKED_CELLS = 50_000_000  # that any Parquet file may have
CELLS_PER_BYTE = 100  # and a larger one
FRACTIONS = "FLOAT|DOUBLE|DECIMAL.*"
LIST_OF_NUMBERS = rf"(?!.*NULL){NUMBERS}\[\d*\]"
NESTED = r".*(\[\d*\]|STRUCT|MAP|UNION|VARIANT|BLOB|BIT|GEOMETRY).*"


@dataclass(frozen=True)
class TypedCells:
    """A file in DuckDB's table ``cells``, with what each column is in SQL, as text and as a number.

    ``nested`` ones were not read; ``mixed`` ones have numbers and texts; ``fractions`` were written
    as numbers in some way that is not known any more.
    """

    names: list[str]
    nested: list[str]
    texts: dict[str, str]
    numbers: dict[str, str]
    mixed: set[str] = field(default_factory=set)
    fractions: set[str] = field(default_factory=set)

    def serves(self, identifiers: Collection[str]) -> bool:
        """Whether these columns can be read as text, as the file has it."""
        return not {*identifiers} & self.fractions

    def has_fractions(self, name: str) -> bool:
        """Whether a column has numbers that are no ids."""
        return name in self.fractions

    def text(self, name: str) -> str:
        """A column as text in SQL."""
        return self.texts[name]

    def columns(self, source: Source) -> tuple[dict[str, str], set[str]]:
        """The wanted columns in SQL, and which of them are numbers: not those of identifiers."""
        wanted = source.wanted(self.names, self.nested)
        mixed = [n for n in wanted if n in self.mixed and n not in source.identifiers]
        if mixed and (bad := _bad_lines(source, mixed)):
            raise bad
        numeric = {n for n in wanted if n in self.numbers and n not in source.identifiers}
        return {n: (self.numbers if n in numeric else self.texts)[n] for n in wanted}, numeric


def load_parquet(source: Source) -> TypedCells:
    """Read the columns of a Parquet file that can be read into DuckDB's table ``cells``."""
    file = f"read_parquet({sql_text(source.path)}, hive_partitioning=false)"
    names, kinds, n_rows = _footer_of_parquet(source)
    refuse_bad_names(names, source.shown)
    folded = [name.casefold() for name in names]
    twins = [name for place, name in enumerate(names) if folded[place] in folded[:place]]
    refuse_twins(twins, source.shown)
    types, columns = _spread_lists(source, file, dict(zip(names, kinds, strict=True)))
    refuse_bad_names(list(types), source.shown)
    nested = _nested(types)
    read = {name: columns[name] for name in types if name not in nested}
    if not read:
        source.wanted(list(types), nested)  # which says that these cannot be read
    _refuse_many_rows(source, n_rows, len(read))
    cells = _fill_cells(source, read, file)
    texts = {name: f"CAST({cell} AS TEXT)" for name, cell in cells.items()}
    numbers = {n: f"CAST({cells[n]} AS DOUBLE)" for n in cells if re.fullmatch(NUMBERS, types[n])}
    return TypedCells(list(types), nested, texts, numbers)


def _footer_of_parquet(source: Source) -> tuple[list[str], list[str], int]:
    """The columns of a Parquet file, their types in DuckDB, and the number of rows."""
    query = (
        "SELECT [node.name FOR node IN parquet_schema],"
        " [coalesce(node.duckdb_type, '') FOR node IN parquet_schema],"
        " [coalesce(node.num_children, 0) FOR node IN parquet_schema], coalesce(list_sum("
        "[part.row_group_num_rows FOR part IN parquet_metadata IF part.column_id = 0]), 0)"
        f" FROM parquet_full_metadata({sql_text(source.path)})"
    )
    names, kinds, children, n_rows = source.connection.execute(query).fetchone()
    tops, place = [], 1  # the root of the tree of columns is first
    while place < len(names):
        tops.append(place)
        open_nodes = 1
        while open_nodes > 0 and place < len(names):
            open_nodes += int(children[place]) - 1
            place += 1
    return [names[top] for top in tops], [kinds[top] for top in tops], int(n_rows)


def _refuse_many_rows(source: Source, n_rows: int, n_columns: int) -> None:
    """Refuse a Parquet file that has far more cells than bytes: one value may stand for millions of
    rows.
    """
    size = source.path.stat().st_size
    if n_rows * n_columns > max(PACKED_CELLS, CELLS_PER_BYTE * size):
        raise PairscoreError(
            f"{source.shown!r} has {n_rows:,} rows of {n_columns} columns in {size:,} bytes, more"
            f" than {PACKED_CELLS:,} cells and {CELLS_PER_BYTE} for each byte",
            [
                "read it in parts with " + Action("fit_stream"),
                "keep the columns and rows that matter",
            ],
        )


def load_jsonl(source: Source) -> TypedCells:
    """Read the columns of a file of JSON objects, one a line, into DuckDB's table ``cells``.

    Their types take one pass over the file, as any line may have another column.
    """
    import duckdb

    if not source.opened.head(1):
        raise PairscoreError(f"{source.shown!r} is empty; write one JSON object per row.")
    _refuse_long_lines(source)
    file = (
        f"read_json({sql_text(source.path)}, format='newline_delimited', records=true,"
        " hive_partitioning=false, compression='none', "
    )
    try:
        whole = f"{file} sample_size=-1, map_inference_threshold=-1)"
        written = _column_types(source, whole)
        types, columns = _spread_lists(source, whole, written)
        nested = _nested(types)
        if {*nested} >= {*types}:
            source.wanted(list(types), nested)  # which says that these cannot be read
        refuse_bad_names(list(types), source.shown)
        refuse_twins([name for name in written if _is_renamed(source, name, written)], source.shown)
        kinds = {name: "JSON" for name in written if name in types and name not in nested}
        free = [name for name in kinds if name not in source.identifiers]
        kinds |= {name: "DOUBLE" for name in free if re.fullmatch(FRACTIONS, types[name])}
        kinds |= {name: "DOUBLE[]" for name in written if name not in types}
        as_kinds = ", ".join(f"{sql_text(name)}: '{kind}'" for name, kind in kinds.items())
        read = {name: columns[name] for name in types if name not in nested}
        cells = _fill_cells(source, read, f"{file} columns={{{as_kinds}}})")
    except duckdb.Error as error:
        raise _bad_lines(source, []) or error from error
    texts = {
        name: f"CAST({cell} AS TEXT)" if kinds.get(name) != "JSON" else f"{cell} ->> '$'"
        for name, cell in cells.items()
    }
    numbers = {name: cell for name, cell in cells.items() if re.fullmatch(NUMBERS, types[name])}
    numbers = {
        name: f"CAST({f'CAST({cell} AS BOOLEAN)' if types[name] == 'BOOLEAN' else cell} AS DOUBLE)"
        for name, cell in numbers.items()
    }
    mixed = {name for name in cells if types[name] == "JSON"}
    fractions = {name for name, kind in kinds.items() if kind == "DOUBLE"}
    return TypedCells(list(types), nested, texts, numbers, mixed, fractions)


def _column_types(source: Source, file: str) -> dict[str, str]:
    """DuckDB's types of the columns of a file, by name."""
    rows = source.connection.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()
    return {row[0]: row[1] for row in rows}


def _spread_lists(
    source: Source, file: str, types: dict[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Types of the columns, and what they are in SQL: lists of equally many numbers (embeddings)
    are a column for each, ``embedding[0]``, ``embedding[1]``, ...
    """
    lists = [name for name, kind in types.items() if re.fullmatch(LIST_OF_NUMBERS, kind)]
    lengths = [f"{end}(coalesce(len({sql_name(n)}), 0))" for n in lists for end in ("min", "max")]
    query = f"SELECT {', '.join(lengths)} FROM {file}"
    ends = iter(source.connection.execute(query).fetchone() if lists else ())
    equal = {name: low for name, low, high in zip(lists, ends, ends, strict=True) if low == high}
    spread: dict[str, str] = {}
    columns = {name: sql_name(name) for name in types}
    for name, kind in types.items():
        numbers = range(equal.get(name) or 0)
        spread |= {f"{name}[{place}]": "DOUBLE" for place in numbers} or {name: kind}
        columns |= {f"{name}[{place}]": f"{sql_name(name)}[{place + 1}]" for place in numbers}
    return spread, columns


def _nested(types: dict[str, str]) -> list[str]:
    """Columns of lists, records and the like."""
    return [name for name, kind in types.items() if re.fullmatch(NESTED, kind, re.DOTALL)]


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


# -- lines of JSON ---------------------------------------------------------------------------------


def _refuse_long_lines(source: Source) -> None:
    """Refuse a line that is longer than a row of a table, which would take much memory."""
    number, length = 1, 0  # of the line that the last piece ended in
    for piece in source.opened.pieces():
        ends = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == ord("\n"))
        lengths = np.diff(ends, prepend=-1 - length)
        length = len(piece) - 1 - int(ends[-1]) if len(ends) else length + len(piece)
        long = np.flatnonzero(lengths > MAX_LINE)
        if len(long) or length > MAX_LINE:
            raise PairscoreError(
                f"line {number + int(long[0] if len(long) else len(ends))} of"
                f" {source.shown!r} is longer than {MAX_LINE >> 20} MB; write one object of"
                " numbers and texts per line."
            )
        number += len(ends)


def _bad_lines(source: Source, mixed: list[str]) -> PairscoreError | None:
    """What is wrong with a JSONL file, line by line; ``mixed`` columns have numbers and text."""
    rows: list[BadRow] = []
    texts: dict[str, list[BadRow]] = {name: [] for name in mixed}
    numbers: Counter[str] = Counter()
    for number, line in enumerate(source.opened.from_begin(), 1):
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
                texts[name].append(BadRow(number, name, str(value)[:200], "not a number"))
    for name, bad in texts.items():
        if numbers[name] >= NUMERIC_SHARE * (numbers[name] + len(bad)):
            rows += bad
    return BadRowsError(source.shown, sorted(rows, key=lambda row: row.line)) if rows else None


def _json_object(line: bytes) -> dict[str, Any]:
    record = json.loads(line, object_pairs_hook=_unique_names) if line.strip() else {}
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return record


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name twice in one object")
    return dict(pairs)


def _json_reason(error: Exception, line: bytes) -> str:
    if isinstance(error, RecursionError):
        return "lists or objects within each other, too deep to read"
    is_text = not isinstance(error, UnicodeError) or line.isascii()
    return str(error).partition(":")[0] if is_text else "not UTF-8"
