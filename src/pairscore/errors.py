"""What pairscore raises and warns with.

Every message is one sentence that says what is wrong, how much of it there is, and what to do.

Single numbers at the door: whole, real, within limits; each refusal is one sentence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any

SHOWN_ROWS = 20  # of the bad rows of a file, in the message


class PairscoreError(ValueError):
    """The input cannot be used as it is; the message says why and what to do."""


class NoAnswerError(PairscoreError):
    """The question is a good one, but nothing meets it.

    A target that no number of comparisons reaches.
    """


@dataclass(frozen=True)
class BadRow:
    """One fault in a file: physical line (from 1), column if it lies in one, the text there, and
    what is wrong.
    """

    line: int
    column: str | None
    text: str
    reason: str

    def __str__(self) -> str:
        return (
            f"line {self.line}{'' if self.column is None else f', column {self.column!r}'}:"
            f" {self.reason}: {self.text!r}"
        )


class BadRowsError(PairscoreError):
    """A file has rows that cannot be read.

    ``rows`` holds them all, the message the first twenty.
    """

    def __init__(self, file: str, rows: Sequence[BadRow], hint: str = "correct or remove them"):
        self.file, self.rows, self.hint = file, tuple(rows), hint
        super().__init__(file, self.rows, hint)  # what pickle hands to the constructor

    def __str__(self) -> str:
        shown = [str(row) for row in self.rows[:SHOWN_ROWS]]
        more = [f"and {len(self.rows) - SHOWN_ROWS} more"] if len(self.rows) > SHOWN_ROWS else []
        count = plural(len({row.line for row in self.rows}), "bad row")
        return "\n  ".join([f"{self.file!r} has {count}; {self.hint}:", *shown, *more])


class BadEntriesError(PairscoreError):
    """Entries of the ``table`` (items or votes) cannot be used.

    ``entries`` has all of them as (row from 0, column, value), the message the first few.
    """

    def __init__(
        self,
        what: str,
        remedy: str,
        table: str,
        entries: Sequence[tuple[int, str, object]],
        reason: str,
    ):
        self.what, self.remedy, self.table, self.entries, self.reason = (
            what,
            remedy,
            table,
            tuple(entries),
            reason,
        )
        # what pickle hands to the constructor
        super().__init__(what, remedy, table, self.entries, reason)

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}."


class PairscoreWarning(UserWarning):
    """The fit went on, but the reader of its numbers should know something."""


class CollinearFeaturesWarning(PairscoreWarning):
    """Some features are constant or repeat others (or the side).

    Their coefficients are not determined.
    """


class SeparationWarning(PairscoreWarning):
    """Some direction explains every comparison, so the likelihood has no finite maximum."""


class FewItemsWarning(PairscoreWarning):
    """There are too few items for item-robust intervals to be trusted."""


class PairsNotRandomWarning(PairscoreWarning):
    """The pairs were not drawn at random, and the method assumes that they were."""


class NotConvergedWarning(PairscoreWarning):
    """The likelihood was not maximised to the asked precision."""


def first_few(things: Iterable[object], limit: int = 5) -> str:
    """The first things of a list in words: ``'a', 'b', 'c' and 4 more``."""
    things = list(things)
    shown = ", ".join(str(thing) for thing in things[:limit])
    return shown if len(things) <= limit else f"{shown} and {len(things) - limit} more"


def first_rows(rows: Iterable[int], values: Iterable[object], limit: int = 5) -> str:
    """Row numbers with their values in words: ``row 3 ('x'), row 8 ('y') and 2 more``."""
    return first_few(
        [f"row {row} ({value!r})" for row, value in zip(rows, values, strict=True)], limit
    )


def closest(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that is most like ``name``, upper or lower case aside.

    None where none is.
    """
    from difflib import get_close_matches

    by_case = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), list(by_case), 1)
    return by_case[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence with the closest name, if there is one."""
    close = closest(name, names)
    return "" if close is None else f" Did you mean {close!r}?"


def plural(number: int, noun: str, digits: str = "") -> str:
    """``1 item``, ``2 items``; with ``digits=","``, ``2,000 items``."""
    return f"{number:{digits}} {noun}" if number == 1 else f"{number:{digits}} {noun}s"


def is_real(value: Any) -> bool:
    """Whether this is one number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def number_between(value: Any, name: str, low: float, high: float, remedy: str) -> float:
    """A real number from ``low`` to ``high``; ``remedy`` says in words what to use."""
    if not is_real(value) or not low <= value <= high:
        raise PairscoreError(f"{name} is {value!r}; use {remedy}.")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """A finite number above zero."""
    if not is_real(value) or not 0 < value < inf:
        raise PairscoreError(f"{name} is {value!r}; use a number above 0.")
    return float(value)


def whole_number(value: Any, name: str) -> int:
    """A whole number from one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise PairscoreError(f"{name} is {value!r}; use a whole number from 1.")
    return int(value)
