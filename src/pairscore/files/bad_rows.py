"""All bad rows of files at once: found, located by their lines, and listed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.data.tables import Columns
from pairscore.errors import BadEntriesError, BadRow, BadRowsError, PairscoreError
from pairscore.files.atomic import is_device
from pairscore.files.write import write_table
from pairscore.messages import Piece, Text, Words, in_python, join

if TYPE_CHECKING:
    from pairscore.files.tables import StoredTable


class SeveralFaultsError(PairscoreError):
    """Several things are wrong, which are told together: ``errors``, and what is ``also`` wrong.

    ``remedy`` answers all of them at once.
    """

    def __init__(
        self,
        errors: Sequence[PairscoreError],
        also: Sequence[PairscoreError] = (),
        remedy: Piece = "",
    ):
        self.errors: Sequence[Any] = list(errors)
        self.also = list(also)
        self.remedy = Text.of(remedy)
        texts: list[Piece] = [error.message for error in (*errors, *also)]
        super().__init__(join("\n", [*texts, self.remedy] if self.remedy else texts))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors, self.also, self.remedy)

    def worded(self, words: Words = in_python) -> str:
        """One after the other, for one front end."""
        return "\n".join(
            [
                *(error.worded(words) for error in self.errors),
                *(f"Also, {error.worded(words)}" for error in self.also),
                *([self.remedy.worded(words)] if self.remedy else []),
            ]
        )


class BadFilesError(SeveralFaultsError):
    """Rows of one or two files cannot be read; ``errors`` has what is wrong with each file."""

    errors: Sequence[BadRowsError]


def all_faults(
    check: Callable[[Columns], Any], table: Columns, first: int = 0
) -> list[BadEntriesError]:
    """Everything that ``check`` has against a table whose rows count from ``first``.

    It is asked again without the rows that it refused.
    """
    faults, rows = [], np.arange(len(table))
    while True:
        try:
            check(table.take(rows))
        except BadEntriesError as error:
            entries = [
                (first + int(rows[row]), column, value) for row, column, value in error.entries
            ]
            faults.append(error.with_entries(entries))
            rows = np.delete(rows, [row for row, _, _ in error.entries])
            continue
        except PairscoreError:
            pass  # nothing is left, or not enough: the faults found say why
        return faults


def locate_faults(
    faults: list[BadEntriesError],
    stored: "StoredTable",
    named: Mapping[str, str],
    also: Sequence[PairscoreError] = (),
) -> BadFilesError:
    """The faults of a stored table, with the names that columns have in the file."""
    return BadFilesError([_locate(fault, stored, named) for fault in faults], also)


def _locate(
    error: BadEntriesError, stored: "StoredTable", named: Mapping[str, str]
) -> BadRowsError:
    entries = [(row, named.get(column, column), value) for row, column, value in error.entries]
    rows = [
        BadRow(
            line,
            column,
            ("" if value is None else str(value))[:200] if text is None else text[:200],
            error.reason,
        )
        for (line, text), (_, column, value) in zip(
            stored.locate([entry[:2] for entry in entries]), entries, strict=True
        )
    ]
    rows.sort(key=lambda row: row.line)
    return BadRowsError(stored.source.shown, rows, error.message.remedies)


BAD_ROWS = ("file", "line", "column", "text", "reason")  # columns of a list of bad rows


def is_bad_rows(path: Path) -> bool:
    """Whether a file is a list that :func:`write_bad_rows` wrote, by its first line."""
    heads = [sign.join(BAD_ROWS).encode() for sign in (",", ";")]
    try:
        with path.open("rb") as file:
            return not is_device(path) and file.readline(100).rstrip() in heads
    except OSError:  # there is none
        return False


def write_bad_rows(errors: Sequence[BadRowsError], path: Any, decimal: str | None = None) -> bool:
    """Write all bad rows to a CSV file.

    False where that is impossible (the rows have been told anyway).
    """
    rows = [
        (error.file, row.line, row.column, row.text, row.reason)
        for error in errors
        for row in error.rows
    ]
    columns = zip(BAD_ROWS, zip(*rows, strict=True), strict=True)
    with suppress(PairscoreError):
        write_table(
            {
                name: np.array(values, dtype=object if name != "line" else int)
                for name, values in columns
            },
            path,
            decimal,
        )
        return True
    return False
