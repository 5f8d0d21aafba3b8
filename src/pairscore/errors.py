"""What pairscore raises and warns with.

Every message is one sentence that says what is wrong, how much of it there is, and what to do.
"""

from collections.abc import Iterable


class PairscoreError(ValueError):
    """The input cannot be used as it is; the message says why and what to do."""


class NoAnswerError(PairscoreError):
    """The question is a good one, but nothing meets it: a target that no number of comparisons reaches."""


class PairscoreWarning(UserWarning):
    """The fit went on, but the reader of its numbers should know something."""


class CollinearFeaturesWarning(PairscoreWarning):
    """Some features are constant or repeat others (or the side): their coefficients are not determined."""


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
    return first_few([f"row {row} ({value!r})" for row, value in zip(rows, values, strict=True)], limit)


def plural(number: int, noun: str) -> str:
    """``1 item``, ``2 items``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
