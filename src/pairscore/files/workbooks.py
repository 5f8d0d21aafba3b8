"""Workbooks: a sheet as a plain CSV file, and new workbooks."""

import datetime
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairscore.display import did_you_mean, first_few
from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.files.delimiter import HEAD_ROWS
from pairscore.files.numbers import find_signs
from pairscore.files.source import Kept, refuse_device, unreadable
from pairscore.files.titles_and_totals import Row, Sheet, header_place, tidy
from pairscore.files.workbook_sizes import refuse_oversized
from pairscore.messages import Piece


@contextmanager
def sheet_as_csv(
    book: "Workbook",
    sheet: str | None,
    identifiers: Collection[str],
    na: Collection[str],
    decimal: str | None,
    say: Callable[[Piece], None],
) -> Iterator[Sheet]:
    """A sheet of a workbook as a plain CSV file; the first one that has a table if none is named.

    Numbers get the ``decimal`` sign, or that of the numbers in cells of text, so that all have one.
    """
    names, shown = sheets_of(book), book.shown
    if sheet is None or (isinstance(sheet, Kept) and sheet not in names):
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
        rows = _sheet_rows(book, sheet, decimal)
        yield tidy(iter(rows), Sheet(folder / "plain", "\t", sheet), identifiers, na)


@dataclass(frozen=True)
class Workbook:
    """A workbook whose sheets are read when they are asked for; ``shown`` is its name."""

    book: Any
    shown: str

    @property
    def sheet_names(self) -> list[str]:
        return list(self.book.sheet_names)

    @property
    def sheets_metadata(self) -> list[Any]:
        return list(self.book.sheets_metadata)

    def get_sheet_by_name(self, name: str) -> Any:
        """A sheet, or one sentence where it is damaged."""
        with as_workbook(self.shown), without_panic_text():
            return self.book.get_sheet_by_name(name)


@contextmanager
def without_panic_text() -> Iterator[None]:
    """Keep calamine from writing to standard error where it fails: the sentence says all."""
    try:
        kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    except OSError:  # there is no standard error
        yield
        return
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


@contextmanager
def as_workbook(shown: str) -> Iterator[None]:
    """Say in one sentence that a workbook cannot be read."""
    from python_calamine import CalamineError, PasswordError

    try:
        yield
    except PasswordError:
        reason = "it has a password"
    except PairscoreError:
        raise
    except (CalamineError, OSError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is damaged"
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # which calamine's language has for faults
            raise
        reason = "it is damaged"
    else:
        return
    raise PairscoreError(
        f"{shown!r} cannot be read as a workbook ({reason}); save it again as .xlsx or .csv."
    )


def open_workbook(path: Path, shown: str) -> Workbook:
    """The workbook, or one sentence where it cannot be read or would take too much memory."""
    from python_calamine import CalamineWorkbook

    refuse_device(path)
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    with as_workbook(shown):
        refuse_oversized(path, shown)
        with without_panic_text():
            return Workbook(CalamineWorkbook.from_path(path), shown)


def sheets_of(book: Any) -> list[str]:
    """The sheets that have a table, hidden ones last; at least one row below the names."""
    hidden = {
        sheet.name for sheet in book.sheets_metadata if not str(sheet.visible).endswith(".Visible")
    }
    names = sorted(book.sheet_names, key=hidden.__contains__)
    if not names:
        raise PairscoreError(f"{book.shown!r} has no sheets; save it again as .xlsx or .csv.")
    tables = [name for name in names if book.get_sheet_by_name(name).height > 1]
    return tables or names


def first_sheet(named: Sequence[str]) -> str | None:
    """The sheet of the items among those that were named."""
    return named[0] if named else None


def column_names(book: Any, sheet: str) -> list[str]:
    """The names of the columns of a sheet."""
    head = _sheet_rows(book, sheet, ".")[:HEAD_ROWS]
    return head[header_place([cells for _, cells in head])][1] if head else []


def _sheet_rows(book: Any, sheet: str, decimal: str | None) -> list[Row]:
    with as_workbook(book.shown):
        cells = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    sign = decimal or _sign_in_text(cells)
    return [(place, [_cell_text(cell, sign) for cell in row]) for place, row in enumerate(cells, 1)]


def _sign_in_text(cells: list[list[Any]]) -> str:
    """The decimal sign of numbers that are text; those that are numbers have none."""
    columns = {
        str(place): [cell if isinstance(cell, str) else "1" for cell in column]
        for place, column in enumerate(zip(*cells, strict=True))
    }
    with suppress(PairscoreError):  # unclear
        return find_signs(columns, "").decimal
    return "."


def _cell_text(cell: Any, decimal: str) -> str:
    """A cell as a CSV file has it: truth is 0 or 1, a whole number has no decimal sign."""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < 1e15
        return str(int(cell)) if whole else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return str(cell.date())
    return str(cell)


# -- new workbooks ---------------------------------------------------------------------------------
