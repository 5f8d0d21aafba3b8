"""Workbooks that are written: a sheet of columns each, with numbers as numbers."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder

MOST_ROWS = 2**20 - 1  # of a sheet, below the header
MOST_LETTERS = 31  # of a sheet's name
MOST_SIGNS = 32_767  # of a cell
COLUMN_WIDTH = 16
CREATED = datetime.datetime(2000, 1, 1)  # so that the same sheets give the same bytes
NO_XML = {code: None for code in range(32) if code not in (9, 10, 13)}  # signs that XML has not


@dataclass(frozen=True)
class NewSheet:
    """A sheet of a workbook: its name, its columns, and the words that cells of some may hold."""

    name: str
    columns: Mapping[str, np.ndarray]
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)


def fill_workbook(temporary: Path, sheets: Sequence[NewSheet]) -> None:
    """Write sheets to the file ``temporary`` as a workbook (.xlsx) that any spreadsheet opens.

    Numbers are numbers and everything else is text, so that ids such as 007 stay. The header stays
    in view. The same sheets give the same bytes.
    """
    from xlsxwriter import Workbook as NewWorkbook

    names = [_sheet_name(sheet.name) for sheet in sheets]
    if len({name.casefold() for name in names}) < len(names):
        raise PairscoreError("two sheets of a workbook have the same name; call them differently.")
    with scratch_folder() as folder:
        options = {"constant_memory": True, "tmpdir": str(folder)}
        book = NewWorkbook(str(temporary), options)
        book.set_properties({"created": CREATED})
        for name, sheet in zip(names, sheets, strict=True):
            _fill_sheet(book.add_worksheet(name), sheet)
        book.close()


def _sheet_name(name: str) -> str:
    if not 0 < len(name) <= MOST_LETTERS or set(name) & set("[]:*?/\\") or name != name.strip(" '"):
        raise PairscoreError(
            f"a sheet cannot be called {name!r}; use at most {MOST_LETTERS} letters, none of"
            " []:*?/\\."
        )
    return name


def _fill_sheet(page: Any, sheet: NewSheet) -> None:
    names = [*sheet.columns]
    columns = [np.asarray(column).tolist() for column in sheet.columns.values()]
    n_rows = len(columns[0])
    if n_rows > MOST_ROWS:
        raise PairscoreError(
            f"a sheet holds {MOST_ROWS:,} rows, and {sheet.name!r} has {n_rows:,}; write a .csv"
            " file."
        )
    page.freeze_panes(1, 0)
    page.set_column(0, len(names) - 1, COLUMN_WIDTH)
    for row, cells in enumerate([names, *zip(*columns, strict=True)]):
        for column, value in enumerate(cells):
            _write_cell(page, row, column, value)
    for name, words in sheet.choices.items():
        column = names.index(name)
        page.data_validation(1, column, n_rows, column, {"validate": "list", "source": [*words]})


def _write_cell(page: Any, row: int, column: int, value: Any) -> None:
    if value is None or value == "" or value != value:
        return
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        page.write_number(row, column, value)
        return
    text = str(value).translate(NO_XML)
    if len(text) > MOST_SIGNS:
        raise PairscoreError(
            f"a cell of a workbook holds {MOST_SIGNS:,} letters, and one has {len(text):,}; write a"
            " .csv file."
        )
    page.write_string(row, column, text)
