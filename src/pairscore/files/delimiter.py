"""The sign between the cells of a CSV file."""

import re

from pairscore.errors import PairscoreError
from pairscore.files.source import MAX_LINE, OpenFile

DELIMITERS = ",;\t|"
HEAD_ROWS = 50  # at the beginning of a file


def find_delimiter(text: str) -> str:
    """The sign of the first line; where that has none, the one that most lines have equally often.

    A title above the names has none, and decimal commas are not in the line of the names.
    """
    lines = [_unquoted(line) for line in re.split("[\r\n]+", text) if line.strip()]
    best = max(DELIMITERS, key=lines[0].count) if lines else ","
    if not lines or best in lines[0]:
        return best

    def agreement(sign: str) -> tuple[int, int]:
        counts = [line.count(sign) for line in lines[:HEAD_ROWS]]
        often = max(set(counts), key=lambda count: (count > 0, counts.count(count)))
        return (counts.count(often) if often else 0), often

    return max(DELIMITERS, key=agreement)


def sign_of(named: str) -> str:
    """A delimiter that was named: the sign itself, or a tab by name."""
    sign = {"tab": "\t", "\\t": "\t"}.get(named, named)
    if len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\r\n\0':
        raise PairscoreError(
            f"the delimiter is {sign!r}; use one sign such as ',', ';', '|' or a tab."
        )
    return sign


def shared_delimiter(opened: OpenFile, named: str | None) -> str | None:
    """The named delimiter if the first line has it: one name serves all files of a command."""
    if named is None:
        return None
    with opened.text() as file:
        return named if sign_of(named) in _unquoted(file.readline(MAX_LINE)) else None


def _unquoted(line: str) -> str:
    return re.sub('"[^"]*"', "", line)
