"""A file on its way into DuckDB: which of its columns are asked for, and which of those are names rather than numbers."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairscore.errors import PairscoreError, first_few, plural

MAX_COLUMNS = 20_000  # DuckDB's time grows with their square, and a covariance of more would not fit in memory
Choice = Callable[[list[str], list[str]], Collection[str]]  # the columns to read, told all names and those of lists or records


@dataclass(frozen=True)
class Source:
    """A file, the connection that reads it into the table ``cells``, and what the reader asked for."""

    connection: Any
    path: Path
    shown: str
    identifiers: Collection[str]
    choose: Choice | None = None

    def wanted(self, names: list[str], nested: list[str] | None = None) -> list[str]:
        """The columns to read, all if nobody chose; what is in others does no harm. Lists and records cannot be read."""
        refuse_bad_names(names, self.shown)
        if self.choose is None:
            chosen = names
        else:
            asked = set(self.choose(names, nested or []))
            chosen = [name for name in names if name in asked]
        unreadable = [name for name in nested or [] if name in chosen]
        if unreadable:
            raise PairscoreError(
                f"{self.shown!r} has columns that are neither numbers nor text: {first_few(map(repr, unreadable))}; give each value a column of its own."
            )
        return chosen


def refuse_bad_names(names: Collection[str], shown: str) -> None:
    """Every column has a name of its own."""
    if len(names) > MAX_COLUMNS:
        raise PairscoreError(f"{shown!r} has {len(names)} columns, more than the {MAX_COLUMNS} that can be read; keep those that matter.")
    unnamed = [place for place, name in enumerate(names, 1) if not name]
    if unnamed:
        raise PairscoreError(
            f"{plural(len(unnamed), 'column')} of {shown!r} without a name (column {first_few(unnamed)}); name every column in the first line."
        )
    broken = [name for name in names if "\n" in name or "\r" in name]
    if broken:
        raise PairscoreError(f"{shown!r} has column names with line breaks: {first_few(map(repr, broken))}; write every name in one line.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise PairscoreError(f"{shown!r} has columns of the same name: {first_few(map(repr, repeated))}; give every column its own name.")


def quoted(text: Any) -> str:
    """A text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"
