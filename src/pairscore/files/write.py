"""Tables written as CSV, Parquet, JSONL or a workbook, whole or not at all."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.data.tables import Columns, as_frame
from pairscore.errors import CallError, PairscoreError
from pairscore.files.atomic import atomic_write, scratch_folder
from pairscore.files.source import refuse_bad_names, refuse_twins, table_kind
from pairscore.files.sql import SEALED, sql_name, sql_text

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # of texts that spreadsheets run
CSV_KINDS = ("csv", "tsv", "comma")
COPY_OPTIONS = {
    "csv": "FORMAT csv, HEADER true, DELIMITER ',', QUOTE '\"', ESCAPE '\"'",
    "tsv": "FORMAT csv, HEADER true, DELIMITER '\t', QUOTE '\"', ESCAPE '\"'",
    "comma": "FORMAT csv, HEADER true, DELIMITER ';', QUOTE '\"', ESCAPE '\"'",
    "parquet": "FORMAT parquet",
    "jsonl": "FORMAT json",
}


def write_table(
    columns: Any,
    path: Any,
    decimal: str | None = None,
    sheets: Mapping[str, Any] | None = None,
    *,
    excel_safe: bool = False,
) -> None:
    """Write a table as CSV, Parquet, JSONL or a workbook, whole or not at all.

    In CSV, NaN is an empty cell and truth is 0 or 1; doubles are read back exactly.

    Parameters
    ----------
    columns
        A dict of columns of one length, ``Columns``, or a dataframe.
    path
        The file; the end of its name says the kind (``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``,
        ``.xlsx``, ...), and ``-`` is CSV to standard output.
    decimal : {",", "."} or None
        The decimal sign in CSV; with a comma, semicolons stand between the cells.
    sheets : dict
        Further tables that a workbook has on sheets of these names; other files do not have them.
    excel_safe : bool
        In CSV, put an apostrophe before names and texts that begin with ``=``, ``+``, ``-``, ``@``
        or a tab. Spreadsheets run such texts as formulas when they open a CSV file. They are no
        longer equal to the ids of the items.
    """
    if str(path) == "-":
        with scratch_folder() as folder:
            write_table(columns, folder / "table.csv", decimal, excel_safe=excel_safe)
            with (folder / "table.csv").open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with atomic_write(path, "the table") as temporary:
        fill_table(temporary, columns, path, decimal, sheets, excel_safe=excel_safe)


def refuse_workbook(path: Any) -> None:
    """Of workbooks, .xlsx is written, and others are read alone."""
    if table_kind(path, to_write=True) == "workbook" and not is_xlsx(path):
        raise PairscoreError(
            f"{str(path)!r} is a kind of workbook that can be read but not written; give it a name"
            " that ends in .xlsx or .csv."
        )


def is_xlsx(path: Any) -> bool:
    """Whether a file is a workbook that can be written, by its name."""
    return Path(path).suffix.lower() == ".xlsx"


def fill_table(
    temporary: Path,
    columns: Any,
    path: Any,
    decimal: str | None = None,
    sheets: Mapping[str, Any] | None = None,
    *,
    excel_safe: bool = False,
) -> None:
    """Write a table to the file ``temporary``, which will be moved to ``path``.

    The name of ``path`` says the kind of table; this is for those who write several files at once.
    """
    import duckdb

    refuse_workbook(path)
    if is_xlsx(path):
        from pairscore.files.write_workbook import MOST_LETTERS, NewSheet, fill_workbook

        tables = {Path(path).stem[:MOST_LETTERS].strip(" '") or "table": columns, **(sheets or {})}
        names = {re.sub(r"[][:*?/\\]", "-", name): of for name, of in tables.items()}
        fill_workbook(temporary, [NewSheet(n, _without_truth(of)) for n, of in names.items()])
        return
    kind = "tsv" if Path(path).suffix.lower() == ".tsv" else table_kind(path, to_write=True)
    kind = "comma" if kind == "csv" and decimal == "," else kind
    arrays = _writable(columns)
    if excel_safe and kind in CSV_KINDS:
        arrays = {_no_formula(name): _no_formulas(array) for name, array in arrays.items()}
    data = {f"c{place}": array for place, array in enumerate(arrays.values())}
    cells = [
        f"{_cast(cell, array, kind)} AS {sql_name(name)}"
        for (cell, array), name in zip(data.items(), arrays, strict=True)
    ]
    connection = duckdb.connect(config=SEALED | {"pandas_analyze_sample": "0"})
    try:
        connection.register("data", data)
        connection.execute(
            f"COPY (SELECT {', '.join(cells)} FROM data) TO {sql_text(temporary.absolute())}"
            f" ({COPY_OPTIONS[kind]}, USE_TMP_FILE false)"
        )
    except (duckdb.Error, UnicodeError) as error:
        if number := re.search(r'"errno":"(\d+)"', str(error)):  # DuckDB says it in JSON
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
        reason = str(error).splitlines()[0].replace(str(temporary.absolute()), str(path))
        raise PairscoreError(
            f"the table could not be saved as {str(path)!r} ({reason}); check its cells and the"
            " place."
        ) from error
    finally:
        connection.close()


def _no_formulas(array: np.ndarray) -> np.ndarray:
    """A column without text that spreadsheets would run."""
    if array.dtype != object:
        return array
    return _text_array(np.array([t and _no_formula(t) for t in array.tolist()], dtype=object))


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def _without_truth(columns: Any) -> dict[str, np.ndarray]:
    """The columns of a sheet, with 0 and 1 for truth, as in CSV."""
    arrays = _writable(columns)
    return {n: of.astype(int) if of.dtype == bool else of for n, of in arrays.items()}


def _cast(cell: str, array: np.ndarray, kind: str) -> str:
    """A column in SQL, of the type that it has in the file."""
    if array.dtype == object:
        return f"CAST({cell} AS VARCHAR)"
    if kind == "comma" and array.dtype.kind == "f":
        return f"replace(CAST({cell} AS VARCHAR), '.', ',')"
    return f"CAST({cell} AS INTEGER)" if array.dtype == bool and kind in CSV_KINDS else cell


def _writable(columns: Any) -> dict[str, np.ndarray]:
    """Arrays that DuckDB can take: numbers, and text with None."""
    frame = as_frame(columns)
    if frame is None:
        raise CallError(
            f"a table to write is a dict of columns or a dataframe, not a {type(columns).__name__}."
        )
    names = list(map(str, frame.columns))
    if not names:
        raise PairscoreError("the table has no columns; give at least one.")
    refuse_bad_names(names, "the table")
    first: dict[str, str] = {}
    twins = [name for name in names if first.setdefault(name.casefold(), name) != name]
    refuse_twins(twins, "the table")
    arrays = [
        frame[name] if isinstance(frame, Columns) else frame[name].to_numpy()
        for name in frame.columns
    ]
    return {
        name: array if array.dtype.kind in "biuf" else _text_array(array)
        for name, array in zip(names, arrays, strict=True)
    }


def _text_array(array: np.ndarray) -> np.ndarray:
    text = np.empty(len(array), dtype=object)
    text[:] = [None if value is None or value != value else str(value) for value in array.tolist()]
    return text
