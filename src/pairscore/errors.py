"""What pairscore raises and warns with, and checks of single numbers.

Every message says what is wrong, how much of it there is, and what to do; settings stand in it as
data (:mod:`pairscore.messages`). ``str`` words it for Python, and other front ends word it
themselves. Nothing here imports NumPy, so that commands which only print help stay fast.
"""

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any

from pairscore.display import first_few, plural, shown
from pairscore.messages import Message, Piece, Setting, Text, Value, Words, either, in_python
from pairscore.passwords import without_password

NO_NUMBER = "not a number"  # the reason why a cell is bad
MOST_WORDS = 8  # entries that may stand for missing values
SHOWN_ROWS = 20  # bad rows of a file that the message lists
SMALLEST_PERCENTAGE = 2  # from here on a share is taken for a percentage


class Worded:
    """What is raised or warned with: a message, which each front end words for its users.

    No wording has a password or a key of an address, wherever the address comes from.

    Parameters
    ----------
    problem
        What is wrong, and how much of it there is; or a whole :class:`~pairscore.messages.Message`.
    remedy
        What to do: one text, or several that would each do. A front end leaves out those that name
        a setting which it does not have.
    """

    def __init__(self, problem: Piece, remedy: Piece | Sequence[Piece] = ()):
        self.message = Message.of(problem, remedy)
        self.args: tuple[Any, ...] = (self.worded(),)  # what ``repr`` shows

    def worded(self, words: Words = in_python) -> str:
        """The message for one front end."""
        return without_password(self.message.worded(words))

    def __str__(self) -> str:
        return self.worded()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), vars(self)


class PairscoreError(Worded, ValueError):
    """The input cannot be used as it is; the message says why and what to do."""


class CallError(PairscoreError):
    """A call is wrong in a way that only Python has: an argument without an option, an object.

    No command makes such a call.
    """


class NoAnswerError(PairscoreError):
    """The question is valid, but nothing meets it, such as a target beyond any study."""


class NotAModelError(PairscoreError):
    """A table was given where a model belongs, so the arguments may be in another order."""


class NoLikelihoodError(PairscoreError, AttributeError):
    """A fit has no plain likelihood, and so no attribute of it."""


class EmptyColumnsError(PairscoreError):
    """Columns of items, in ``names``, have no value at all."""

    def __init__(self, names: Sequence[str]):
        self.names = list(names)
        super().__init__(
            f"{plural(len(names), 'column')} without any value: {first_few(map(repr, names))}",
            f"leave {'it' if len(names) == 1 else 'them'} out: " + Setting("exclude", self.names),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names,)


@dataclass(frozen=True)
class BadRow:
    """One fault in a file.

    Parameters
    ----------
    line
        Physical line, counted from 1.
    column
        Name of the column, or None where the whole line is at fault.
    text
        What the file has there.
    reason
        What is wrong with it, in a few words.
    """

    line: int
    column: str | None
    text: str
    reason: str

    def __str__(self) -> str:
        column = "" if self.column is None else f", column {self.column!r}"
        return f"line {self.line}{column}: {self.reason}: {self.text!r}"


class OtherCaseError(PairscoreError):
    """Comparisons name items whose ids differ from those of the table only in case."""


class BadRowsError(PairscoreError):
    """A file has rows that cannot be read.

    ``rows`` has all of them as :class:`BadRow`; the message shows the first twenty. ``remedy``
    says what to do about them.
    """

    def __init__(self, file: str, rows: Sequence[BadRow], remedy: Piece | Sequence[Piece] = ()):
        self.file, self.rows = file, tuple(rows)
        n_lines = len({row.line for row in self.rows})
        them = "it" if n_lines == 1 else "them"
        super().__init__(
            f"{file!r} has {plural(n_lines, 'bad row')}",
            remedy or [f"correct or remove {them}", *self._if_missing()],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.rows, self.message.remedies)

    @property
    def words(self) -> list[str]:
        """Entries that stand in place of numbers, each once, if that is all that is wrong."""
        words = [row.text.strip() for row in self.rows if row.reason == NO_NUMBER]
        return [*dict.fromkeys(words)] if len(words) == len(self.rows) else []

    def _if_missing(self) -> list[Text]:
        """How to say that entries mean a missing number, where they are a few words."""
        words = [word for word in self.words if word and "\n" not in word]
        if not 0 < len(words) <= MOST_WORDS:
            return []
        is_one = len(self.rows) == 1
        stand = "it stands for a missing value" if is_one else "they stand for missing values"
        return ["pass " + Setting("na", words) + f" if {stand}"]

    def worded(self, words: Words = in_python) -> str:
        """The message for one front end, with the first rows below it."""
        lines = [str(row) for row in self.rows[:SHOWN_ROWS]]
        more = [f"and {len(self.rows) - SHOWN_ROWS} more"] if len(self.rows) > SHOWN_ROWS else []
        head = without_password(self.message.clause(words))
        return "\n  ".join([f"{head}:", *lines, *more])


class BadEntriesError(PairscoreError):
    """Entries of a table in memory cannot be used.

    Parameters
    ----------
    problem, remedy
        The message, which shows the first few entries.
    table
        ``"items"`` or ``"votes"``.
    entries
        All bad entries as (row from 0, column, value), so that a reader of files can look up the
        lines where they stand.
    reason
        What is wrong with each, in a few words.
    """

    def __init__(
        self,
        problem: Piece,
        remedy: Piece | Sequence[Piece],
        table: str,
        entries: Sequence[tuple[int, str, object]],
        reason: str,
    ):
        self.table, self.entries, self.reason = table, tuple(entries), reason
        super().__init__(problem, remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        message = self.message
        given = message.problem, message.remedies, self.table, self.entries, self.reason
        return type(self), given

    def with_entries(
        self, entries: Sequence[tuple[int, str, object]], reason: str | None = None
    ) -> "BadEntriesError":
        """The same error of other entries, and perhaps for another reason."""
        message, reason = self.message, reason or self.reason
        return BadEntriesError(message.problem, message.remedies, self.table, entries, reason)

    def with_remedies(self, remedies: Sequence[Piece]) -> "BadEntriesError":
        """The same error with other advice."""
        problem = self.message.problem
        return BadEntriesError(problem, remedies, self.table, self.entries, self.reason)


class PairscoreWarning(Worded, UserWarning):
    """The fit went on, but the reader of its numbers should know something.

    Two warnings of one class and one message are equal.
    """

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairscoreWarning)
            and type(self) is type(other)
            and self.message == other.message
        )

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


class CollinearFeaturesWarning(PairscoreWarning):
    """Features are constant or repeat others (or the side); their coefficients are undetermined."""


class SeparationWarning(PairscoreWarning):
    """Some direction explains every comparison, so the likelihood has no finite maximum."""


class SeparatedFeaturesWarning(SeparationWarning):
    """A direction in the features, or the side, explains every comparison that it touches."""


class UnbeatenItemsWarning(SeparationWarning):
    """Items without features won, or lost, every comparison with the others."""


class FewItemsWarning(PairscoreWarning):
    """There are too few items for item-robust intervals to be trusted."""


class ManyFeaturesWarning(PairscoreWarning):
    """Features are so many for the items that the score does far worse on new items."""


class FewJudgesWarning(PairscoreWarning):
    """There are too few judges, or too few votes of each, for what was asked of them."""


class OutlyingItemsWarning(PairscoreWarning):
    """Comparisons of some items contradict what their features predict."""


class OneSidedWarning(PairscoreWarning):
    """One side won every comparison, as in a table of winners and losers."""


class AlikeNamesWarning(PairscoreWarning):
    """Names of features, or ids of items, differ only in case."""


class PairsNotRandomWarning(PairscoreWarning):
    """The pairs were not drawn at random, and the method assumes that they were."""


class ColumnFoundWarning(PairscoreWarning):
    """A column that nobody named was found by its entries; the command line says it in a note."""


class NotConvergedWarning(PairscoreWarning):
    """The likelihood was not maximised to the requested precision."""


class RoundNeededWarning(NotConvergedWarning):
    """Every site has to make sums at the merged model, and these are merged again."""


def warn_caller(
    warning: PairscoreWarning | str, category: type[PairscoreWarning] = PairscoreWarning
) -> None:
    """Warn of something where a user's own code called pairscore."""
    warning = category(warning) if isinstance(warning, str) else warning
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pairscore."):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


# -- single numbers --------------------------------------------------------------------------------


def is_real(value: Any) -> bool:
    """Whether this is one number, of Python or NumPy; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def one_of(value: Any, name: str, words: Iterable[Any]) -> None:
    """Refuse a value of a setting that is not one of its words."""
    words = list(words)
    if value not in words:
        raise PairscoreError(
            Setting(name) + f" is {shown(value)}", "use " + either([Value(word) for word in words])
        )


def number_between(value: Any, name: str, low: float, high: float, remedy: Piece) -> float:
    """A real number from ``low`` to ``high``, as a float.

    Otherwise a PairscoreError names the setting (``name``) and says what to use (``remedy``, such
    as "a share from 0 to 1"). NaN is between no limits.
    """
    if not is_real(value) or not low <= value <= high:
        raise PairscoreError(Setting(name) + f" is {shown(value)}", "use " + remedy)
    return float(value)


def share_up_to(value: Any, name: str, limit: float, what: str) -> float:
    """A share from 0 to ``limit``, as a float; a percentage gets a hint. ``what`` is shared."""
    if not is_real(value) or not 0 <= value <= limit:
        raise PairscoreError(
            Setting(name) + f" is {value!r}",
            f"use the share of {what}, from 0 to {limit:g}.{share_meant(value, limit)}",
        )
    return float(value)


def share_meant(value: Any, limit: float = 1.0) -> str:
    """A question with the share that a percentage means, to end a message with; or nothing.

    A number just above 1, such as 1.2, is a slip rather than a percentage.

    >>> share_meant(20.0, 0.5), share_meant("10%"), share_meant("0,2"), share_meant(1.2)
    (' Did you mean 0.2?', ' Did you mean 0.1?', ' Did you mean 0.2?', '')
    """
    text = str(value).strip().replace(",", ".")
    try:
        share = float(text.removesuffix("%"))
    except ValueError:
        return ""
    share /= 100 if text.endswith("%") or share >= SMALLEST_PERCENTAGE else 1
    return f" Did you mean {share:g}?" if 0 < share <= limit and share != value else ""


def positive_number(value: Any, name: str) -> float:
    """A finite number above zero, as a float; otherwise a PairscoreError names the setting."""
    if not is_real(value) or not 0 < value < inf:
        raise PairscoreError(Setting(name) + f" is {shown(value)}", "use a number above 0")
    return float(value)


def whole_number(value: Any, name: str) -> int:
    """A whole number from 1, as an int; otherwise a PairscoreError names the setting.

    ``2.0`` is refused, because it has the type of a measurement and not of a count.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise PairscoreError(Setting(name) + f" is {shown(value)}", "use a whole number from 1")
    return int(value)


def no_comparisons() -> PairscoreError:
    """The error for tables of comparisons without rows."""
    return PairscoreError("there are no comparisons", "give at least one row")


def outside_table() -> PairscoreError:
    """The error for numbers of items or pairs that are not in the table that they belong to."""
    return PairscoreError(
        "comparisons name items that are not in the table of items, so the data or the file that"
        " they come from are damaged; read them again, or fit again."
    )
