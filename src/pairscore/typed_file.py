"""Parquet and JSONL, files that know which of their cells are numbers: from a path into DuckDB's table ``cells``."""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pairscore.csv_file import NUMERIC_SHARE, quoted, refuse_bad_names
from pairscore.errors import BadRow, BadRowsError, PairscoreError, first_few

NUMBERS = r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN)"
NESTED = r".*(\[\d*\]|STRUCT|MAP|UNION|VARIANT|BLOB|BIT|GEOMETRY).*"


def load_parquet(connection: Any, path: Path, identifiers: Collection[str], shown: str) -> list[str]:
    """Read a Parquet file into the table ``cells``; say how its columns are called."""
    source = f"read_parquet({quoted(path)}, hive_partitioning=false)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    names, types = [row[0] for row in described], [row[1] for row in described]
    known = {row[0] for row in connection.execute(f"SELECT name FROM parquet_schema({quoted(path)})").fetchall()}
    refuse_twins([name for name in names if name not in known], shown)
    _refuse_nested(names, types, shown)
    refuse_bad_names(names, shown)
    cells = [
        f"CAST(s{place} AS {'DOUBLE' if _is_number(name, kind, identifiers) else 'VARCHAR'})"
        for place, (name, kind) in enumerate(zip(names, types, strict=True))
    ]
    aliases = ", ".join(f"s{place}" for place in range(len(names)))
    _fill(connection, cells, f"(SELECT * FROM {source}) AS source({aliases})")
    return names


def load_jsonl(connection: Any, path: Path, identifiers: Collection[str], shown: str) -> list[str]:
    """Read a file of JSON objects, one a line, into the table ``cells``; say how its columns are called."""
    import duckdb

    if not path.stat().st_size:
        raise PairscoreError(f"{shown!r} is empty; write one JSON object per row.")
    source = f"read_json({quoted(path)}, format='newline_delimited', records=true, hive_partitioning=false, compression='none', "
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM {source} sample_size=-1, map_inference_threshold=-1)").fetchall()
        names, types = [row[0] for row in described], [row[1] for row in described]
        _refuse_nested(names, types, shown)
        refuse_bad_names(names, shown)
        refuse_twins([name for name in names if _renamed(connection, path, name, names)], shown)
        numeric = [_is_number(name, kind, identifiers) for name, kind in zip(names, types, strict=True)]
        read_as = ["BOOLEAN" if number and kind == "BOOLEAN" else "DOUBLE" if number else "JSON" for number, kind in zip(numeric, types, strict=True)]
        columns = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in zip(names, read_as, strict=True))
        aliases = ", ".join(f"s{place}" for place in range(len(names)))
        cells = [f"CAST(s{place} AS DOUBLE)" if number else f"s{place} ->> '$'" for place, number in enumerate(numeric)]
        _fill(connection, cells, f"(SELECT * FROM {source} columns={{{columns}}})) AS source({aliases})")
    except duckdb.Error as error:
        raise _bad_lines(path, [], shown) or error from error
    mixed = [name for name, kind in zip(names, types, strict=True) if kind == "JSON" and name not in identifiers]
    if mixed and (bad := _bad_lines(path, mixed, shown)):
        raise bad
    return names


def _bad_lines(path: Path, mixed: list[str], shown: str) -> PairscoreError | None:
    """What is wrong with a JSONL file, line by line; ``mixed`` columns have numbers and text."""
    rows: list[BadRow] = []
    others: dict[str, list[BadRow]] = {name: [] for name in mixed}
    numbers = dict.fromkeys(mixed, 0)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line, object_pairs_hook=_once) if line.strip() else {}
                if not isinstance(record, dict):
                    raise ValueError("no JSON object")
            except (ValueError, RecursionError) as error:
                text, reason = line[:200].decode("utf-8", "replace").rstrip(), str(error).partition(":")[0]
                rows.append(BadRow(number, None, text, reason if line.isascii() or "codec" not in reason else "no UTF-8"))
                continue
            for name in mixed:
                value = record.get(name)
                if isinstance(value, int | float):
                    numbers[name] += 1
                elif value is not None:
                    others[name].append(BadRow(number, name, str(value)[:200], "no number"))
    for name in mixed:
        if numbers[name] >= NUMERIC_SHARE * (numbers[name] + len(others[name])):
            rows += others[name]
    return BadRowsError(shown, sorted(rows, key=lambda row: row.line)) if rows else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name twice in one object")
    return dict(pairs)


def _renamed(connection: Any, path: Path, name: str, names: list[str]) -> bool:
    """DuckDB knows no upper and lower case in names: beside ``a``, it calls ``A`` ``A_1``."""
    stem = re.sub(r"_\d+$", "", name)
    if stem == name or sum(other.casefold() == stem.casefold() for other in names) == 0:
        return False
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    lines = f"read_ndjson_objects({quoted(path)})"
    return not connection.execute(f"SELECT bool_or(json_exists(json, {quoted(pointer)})) FROM {lines}").fetchone()[0]


def refuse_twins(names: list[str], shown: str) -> None:
    """Refuse ``names`` that differ from another in case only: DuckDB knows no case."""
    if names:
        raise PairscoreError(f"{shown!r} has columns whose names differ in upper and lower case only ({first_few(map(repr, names))}); rename one of each.")


def _refuse_nested(names: list[str], types: list[str], shown: str) -> None:
    nested = [f"{name!r} ({kind[:40]})" for name, kind in zip(names, types, strict=True) if re.fullmatch(NESTED, kind, re.DOTALL)]
    if nested:
        raise PairscoreError(f"{shown!r} has columns that are neither numbers nor text: {first_few(nested)}; give each value a column of its own.")


def _is_number(name: str, kind: str, identifiers: Collection[str]) -> bool:
    return name not in identifiers and re.fullmatch(NUMBERS, kind) is not None


def _fill(connection: Any, cells: list[str], source: str) -> None:
    chosen = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {chosen} FROM {source}")
