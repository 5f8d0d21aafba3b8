"""Parquet and JSONL, files that know which of their cells are numbers.

From a path into DuckDB's table ``cells``.
"""

import json
import re
from typing import Any

from pairscore.errors import BadRow, BadRowsError, PairscoreError, first_few
from pairscore.files.read_csv import NUMERIC_SHARE
from pairscore.files.source import Source, quoted

# a column without any value is one of numbers, as in CSV
NUMBERS = r'(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|"?NULL"?)'
NESTED = r".*(\[\d*\]|STRUCT|MAP|UNION|VARIANT|BLOB|BIT|GEOMETRY).*"


def load_parquet(source: Source) -> dict[str, str]:
    """Read the wanted columns of a Parquet file into the table ``cells``.

    Say what they are called there.
    """
    connection = source.connection
    file = f"read_parquet({quoted(source.path)}, hive_partitioning=false)"
    described = connection.execute(f"DESCRIBE SELECT * FROM {file}").fetchall()
    names, types = [row[0] for row in described], {row[0]: row[1] for row in described}
    known = {
        row[0]
        for row in connection.execute(
            f"SELECT name FROM parquet_schema({quoted(source.path)})"
        ).fetchall()
    }
    refuse_twins([name for name in names if name not in known], source.shown)
    wanted = source.wanted(names, _nested(types))
    aliases = ", ".join(f"s{place}" for place in range(len(names)))
    kinds = ["DOUBLE" if _is_number(name, types[name], source) else "VARCHAR" for name in wanted]
    cells = [
        f"CAST(s{names.index(name)} AS {kind})" for name, kind in zip(wanted, kinds, strict=True)
    ]
    return _filled(source, wanted, cells, f"(SELECT * FROM {file}) AS source({aliases})")


def load_jsonl(source: Source) -> dict[str, str]:
    """Read the wanted columns of a file of JSON objects, one a line, into the table ``cells``.

    Say what they are called there.
    """
    import duckdb

    if not source.path.stat().st_size:
        raise PairscoreError(f"{source.shown!r} is empty; write one JSON object per row.")
    file = (
        f"read_json({quoted(source.path)}, format='newline_delimited', records=true,"
        " hive_partitioning=false, compression='none', "
    )
    try:
        described = source.connection.execute(
            f"DESCRIBE SELECT * FROM {file} sample_size=-1, map_inference_threshold=-1)"
        ).fetchall()
        names, types = [row[0] for row in described], {row[0]: row[1] for row in described}
        wanted = source.wanted(names, _nested(types))
        refuse_twins([name for name in names if _renamed(source, name, names)], source.shown)
        numeric = [_is_number(name, types[name], source) for name in wanted]
        read_as = [
            "BOOLEAN" if number and types[name] == "BOOLEAN" else "DOUBLE" if number else "JSON"
            for name, number in zip(wanted, numeric, strict=True)
        ]
        columns = ", ".join(
            f"{quoted(name)}: '{kind}'" for name, kind in zip(wanted, read_as, strict=True)
        )
        aliases = ", ".join(f"s{place}" for place in range(len(wanted)))
        cells = [
            f"CAST(s{place} AS DOUBLE)" if number else f"s{place} ->> '$'"
            for place, number in enumerate(numeric)
        ]
        filled = _filled(
            source,
            wanted,
            cells,
            f"(SELECT * FROM {file} columns={{{columns}}})) AS source({aliases})",
        )
    except duckdb.Error as error:
        raise _bad_lines(source, []) or error from error
    mixed = [name for name in wanted if types[name] == "JSON" and name not in source.identifiers]
    if mixed and (bad := _bad_lines(source, mixed)):
        raise bad
    return filled


def _bad_lines(source: Source, mixed: list[str]) -> PairscoreError | None:
    """What is wrong with a JSONL file, line by line; ``mixed`` columns have numbers and text."""
    rows: list[BadRow] = []
    others: dict[str, list[BadRow]] = {name: [] for name in mixed}
    numbers = dict.fromkeys(mixed, 0)
    with source.path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line, object_pairs_hook=_once) if line.strip() else {}
                if not isinstance(record, dict):
                    raise ValueError("no JSON object")
            except (ValueError, RecursionError) as error:
                text, reason = (
                    line[:200].decode("utf-8", "replace").rstrip(),
                    str(error).partition(":")[0],
                )
                rows.append(
                    BadRow(
                        number,
                        None,
                        text,
                        reason if line.isascii() or "codec" not in reason else "no UTF-8",
                    )
                )
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
    return BadRowsError(source.shown, sorted(rows, key=lambda row: row.line)) if rows else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name twice in one object")
    return dict(pairs)


def _renamed(source: Source, name: str, names: list[str]) -> bool:
    """DuckDB knows no upper and lower case in names: beside ``a``, it calls ``A`` ``A_1``."""
    stem = re.sub(r"_\d+$", "", name)
    if stem == name or sum(other.casefold() == stem.casefold() for other in names) == 0:
        return False
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    lines = f"read_ndjson_objects({quoted(source.path)})"
    return not source.connection.execute(
        f"SELECT bool_or(json_exists(json, {quoted(pointer)})) FROM {lines}"
    ).fetchone()[0]


def refuse_twins(names: list[str], shown: str) -> None:
    """Refuse ``names`` that differ from another in case only: DuckDB knows no case."""
    if names:
        raise PairscoreError(
            f"{shown!r} has columns whose names differ in upper and lower case only"
            f" ({first_few(map(repr, names))}); rename one of each."
        )


def _nested(types: dict[str, str]) -> list[str]:
    """Columns of lists, records and the like."""
    return [name for name, kind in types.items() if re.fullmatch(NESTED, kind, re.DOTALL)]


def _is_number(name: str, kind: str, source: Source) -> bool:
    return name not in source.identifiers and re.fullmatch(NUMBERS, kind) is not None


def _filled(source: Source, names: list[str], cells: list[str], rows: str) -> dict[str, str]:
    chosen = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
    source.connection.execute(f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {chosen} FROM {rows}")
    return {name: f"c{place}" for place, name in enumerate(names)}
