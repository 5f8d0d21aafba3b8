"""Parquet, JSONL and workbooks, which say which of their cells are numbers."""

import datetime
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pairscore.choices import ROLE_WORDS
from pairscore.errors import BadRow, BadRowsError, PairscoreError, did_you_mean, first_few
from pairscore.files.sheets import HEAD_ROWS, Row, Sheet, header_place, tidy
from pairscore.files.source import (
    NUMERIC_SHARE,
    Source,
    refuse_twins,
    scratch_folder,
    sql_name,
    sql_text,
    table_kind,
)

# types of columns; one without any value is one of numbers, as in CSV
NUMBERS = r'(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|"?NULL"?)'
NESTED = r".*(\[\d*\]|STRUCT|MAP|UNION|VARIANT|BLOB|BIT|GEOMETRY).*"


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


# -- lines of JSON ---------------------------------------------------------------------------------


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


# -- workbooks -------------------------------------------------------------------------------------


@contextmanager
def sheet_as_csv(
    path: Path,
    sheet: str | None,
    identifiers: Collection[str],
    na: Collection[str],
    decimal: str | None,
    say: Callable[[str], None],
    shown: str,
) -> Iterator[Sheet]:
    """A sheet of a workbook as a plain CSV file; the first one that has a table if none is named.

    Numbers are written with the ``decimal`` sign, so that naming one changes no number.
    """
    book = open_workbook(path, shown)
    names = sheets_of(book)
    if sheet is None:
        sheet = names[0]
        if len(names) > 1:
            say(f"{shown!r} has the sheets {first_few(map(repr, names))}; {sheet!r} was read.")
    elif sheet not in names and len(names) == 1:
        say(f"{shown!r} has no sheet {sheet!r}; {names[0]!r} was read.")
        sheet = names[0]
    elif sheet not in book.sheet_names:
        raise PairscoreError(
            f"{shown!r} has no sheet {sheet!r}; it has"
            f" {first_few(map(repr, book.sheet_names), 8)}.{did_you_mean(sheet, book.sheet_names)}"
        )
    with scratch_folder() as folder:
        rows = _sheet_rows(book, sheet, decimal or ".")
        yield tidy(iter(rows), Sheet(folder / "plain", ";", sheet), identifiers, na)


def open_workbook(path: Path, shown: str) -> Any:
    """The workbook, or one sentence where it cannot be read."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    try:
        return CalamineWorkbook.from_path(path)
    except PasswordError:
        reason = "it has a password"
    except (CalamineError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is damaged"
    raise PairscoreError(
        f"{shown!r} cannot be read as a workbook ({reason}); save it again as .xlsx or .csv."
    )


def sheets_of(book: Any) -> list[str]:
    """The sheets that have a table, hidden ones last; at least one row below the names."""
    hidden = {
        sheet.name for sheet in book.sheets_metadata if not str(sheet.visible).endswith(".Visible")
    }
    names = sorted(book.sheet_names, key=hidden.__contains__)
    tables = [name for name in names if book.get_sheet_by_name(name).height > 1]
    return tables or names


def choose_sheets(
    items_file: Any, votes_file: Any, named: Sequence[str], say: Callable[[str], None]
) -> tuple[str | None, str | None]:
    """The sheets of items and comparisons; None for a file that is no workbook, or not there.

    In one workbook for both, the comparisons are on the sheet whose columns say who won, else on
    the second one.
    """
    books = [bool(f) and table_kind(f) == "workbook" for f in (items_file, votes_file)]
    if not any(books) or str(items_file) != str(votes_file):
        return (
            named[0] if named and books[0] else None,
            named[-1] if named and books[1] else None,
        )
    if len(named) > 1:
        return named[0], named[1]
    book = open_workbook(Path(items_file), str(items_file))
    sheets = sheets_of(book)
    if len(sheets) < 2:
        raise PairscoreError(
            f"{str(items_file)!r} has one sheet with a table, {sheets[0]!r}; items and comparisons"
            " are two tables: give two sheets or two files."
        )
    votes = next((s for s in sheets if s not in named and _says_who_won(book, s)), None)
    items = named[0] if named else next(sheet for sheet in sheets if sheet != votes)
    votes = votes or next(sheet for sheet in sheets if sheet != items)
    say(f"{str(items_file)!r}: items from the sheet {items!r}, comparisons from {votes!r}.")
    return items, votes


def first_sheet(named: Sequence[str]) -> str | None:
    """The sheet of the items among those that were named."""
    return named[0] if named else None


def _says_who_won(book: Any, sheet: str) -> bool:
    """Whether the names of the columns of a sheet are those of comparisons."""
    head = _sheet_rows(book, sheet, ".")[:HEAD_ROWS]
    names = head[header_place([cells for _, cells in head])][1] if head else []
    words = [re.split(r"[\W_0-9]+", name.casefold()) for name in names]
    roles = {role: set(ROLE_WORDS[role]) for role in ("left", "right", "winner", "loser")}
    found = {role for role, of in roles.items() if any(of & {*parts} for parts in words)}
    return len(found) > 1


def _sheet_rows(book: Any, sheet: str, decimal: str) -> list[Row]:
    cells = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    return [
        (number, [_cell_text(cell, decimal) for cell in row]) for number, row in enumerate(cells, 1)
    ]


def _cell_text(cell: Any, decimal: str) -> str:
    """A cell as a CSV file has it: truth is 0 or 1, a whole number has no decimal sign."""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else _decimal(cell, decimal)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return str(cell.date())
    return str(cell)


def _decimal(number: float, sign: str) -> str:
    return repr(number).replace(".", sign)
