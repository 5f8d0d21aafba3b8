"""What DuckDB rejected of a CSV file, as bad rows by physical line."""

import re
from itertools import groupby
from pathlib import Path

import numpy as np

from pairscore.errors import BadRow, BadRowsError, plural
from pairscore.files.source import MAX_LINE

DECIMAL_COMMA = r"\s*[+-]?[0-9]+,[0-9]+([eE][+-]?[0-9]+)?\s*"
# NaN is a number that is missing by itself
MISSING = r"\s*(NA|na|N/A|n/a|#N/A|NULL|null|None|-|[.]|[?])?\s*"
Reject = tuple[int, int, str, str, str]  # where the row begins, column, kind, text, message


def is_missing(cell: str) -> bool:
    """Whether a cell of a column of numbers says that there is none."""
    return re.fullmatch(MISSING, cell, re.ASCII) is not None


def cast_faults(rejects: list[Reject]) -> dict[int, dict[int, str]]:
    """By column: the cells that are no numbers, by where their rows begin."""
    faults: dict[int, dict[int, str]] = {}
    for position, place, kind, _, message in rejects:
        if kind == "CAST":
            faults.setdefault(place, {})[position] = message.partition(' convert string "')[
                2
            ].rpartition('" to ')[0]
    return faults


def bad_rows(
    rejects: list[Reject], path: Path, names: list[str], shown: str
) -> BadRowsError | None:
    """A row with too many or too few cells is one fault.

    Otherwise each cell that is neither a number nor missing is.
    """
    content = np.fromfile(path, dtype=np.uint8)
    # a row may be said to begin at the line end before
    ends, text_begins = _line_ends(content), np.flatnonzero((content != 10) & (content != 13))
    cells = {
        place: {row: cell for row, cell in found.items() if not is_missing(cell)}
        for place, found in cast_faults(rejects).items()
    }
    rows = []
    for position, group in groupby(rejects, key=lambda reject: reject[0]):
        line = int(ends.searchsorted(text_begins[text_begins.searchsorted(position - 1)])) + 1
        of_row = list(group)
        of_shape = [reject for reject in of_row if reject[2] != "CAST"]
        if of_shape:
            rows.append(BadRow(line, None, of_shape[0][3].strip("\r\n"), _reason(of_shape)))
        else:
            rows += [
                BadRow(line, names[place], cells[place][position][:200], "no number")
                for _, place, *_ in of_row
                if position in cells[place]
            ]
    commas = any(
        re.fullmatch(DECIMAL_COMMA, cell) for column in cells.values() for cell in column.values()
    )
    return (
        BadRowsError(
            shown,
            rows,
            (
                "write numbers with a decimal point, not a decimal comma"
                if commas
                else "correct or remove them"
            ),
        )
        if rows
        else None
    )


def _line_ends(content: np.ndarray) -> np.ndarray:
    """Where lines end: at line feeds, or at carriage returns where there are none."""
    ends = np.flatnonzero(content == 10)
    return ends if len(ends) else np.flatnonzero(content == 13)


def _reason(rejects: list[Reject]) -> str:
    """What is wrong with the shape of a row.

    DuckDB tells every cell that is missing or too many, and how many there are up to it.
    """
    kind = rejects[0][2]
    counts = [
        (int(expected), int(found))
        for *_, message in rejects
        for expected, found in re.findall(r"Columns: (\d+) Found: (\d+)", message)
    ]
    if counts:
        expected = counts[0][0]
        found = (
            min(found for _, found in counts)
            if counts[0][1] < expected
            else max(found for _, found in counts)
        )
        return f"{plural(found, 'cell')} instead of {expected}"
    if kind == "LINE SIZE OVER MAXIMUM":
        return f"longer than {MAX_LINE} bytes (a quotation mark left open?)"
    return (
        "a quotation mark is not closed, or text follows it"
        if kind == "UNQUOTED VALUE"
        else kind.lower()
    )
