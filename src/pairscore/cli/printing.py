"""What commands print: results, notes and warnings."""

import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from shlex import quote
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

import click

from pairscore.cli.words import worded
from pairscore.display import first_few, visible
from pairscore.errors import MOST_WORDS, ColumnFoundWarning, PairscoreWarning, Worded
from pairscore.messages import Message, Piece, Setting
from pairscore.passwords import without_password


def echo(text: str, err: bool = False) -> None:
    """Print words, with ids and names in them; all that commands say to people goes through here.

    Signs that would steer the terminal are shown as text, and addresses without their passwords.
    """
    click.echo(visible("\n".join(map(without_password, text.split("\n")))), err=err)


def show_json(record: Any, err: bool = False) -> None:
    """Print a result as JSON."""
    from pairscore.records import json_text

    click.echo(json_text(record), err=err)


def terminal_width() -> int:
    """Columns of the terminal that reads the output; 0 where none does."""
    return get_terminal_size().columns if sys.stdout.isatty() else 0


def folded(text: str, width: int) -> str:
    """Text whose long lines are broken between words; tables and commands stay as they are.

    A line goes on below its text, to the right of a label such as "agreement  ".
    """
    return "\n".join(_folded_line(line, width) for line in text.split("\n"))


def _folded_line(line: str, width: int) -> str:
    is_table = len(re.findall(r"\S {2,}", line)) > 1
    if not 0 < width < len(line) or is_table or line.lstrip().startswith("pairscore "):
        return line
    label = re.match(r"( *\S+(?: \S+)* {2,}| *)", line)
    start = label.end() if label else 0
    pieces = wrap(line[start:], width - start, break_long_words=False, break_on_hyphens=False)
    return line[:start] + f"\n{' ' * start}".join(pieces)


def show_text(text: str) -> None:
    """Print a result in words, folded to the terminal if there is one."""
    echo(folded(text, terminal_width()))


def show_warnings(warned: Iterable[Worded | str]) -> None:
    """Print what a fit warns of, each once, in the words of the command line."""
    for warning in dict.fromkeys(warned):
        echo(f"Warning: {worded(warning)}", err=True)


def show_note(said: Worded | Piece) -> None:
    """Print what is good to know, in the words of the command line."""
    echo(f"Note: {worded(said)}", err=True)


def show_unused_columns(items: Any) -> None:
    """Print a note on each column of the items that is no feature, and how it could be one."""
    for name, words in items.mixed.items():
        is_few = len(words) <= MOST_WORDS
        proposal = [Setting("na", [*words]) + " counts these as missing"] if is_few else []
        show_note(
            Message.of(
                f"the column {name!r} was left out, because {sum(words.values())} of its entries"
                f" are not numbers: {first_few(map(repr, words))}",
                proposal,
            )
        )
    for name in items.left_out:
        show_note(
            f"the column {name!r} is text and was left out; --categorical {quote(name)} makes it"
            " 0/1 columns."
        )
    for name in items.dates:
        show_note(
            f"the column {name!r} has dates and was left out; a number, such as days since the"
            " first one, could be a feature."
        )
    if items.labels:
        show_note(
            f"{first_few(map(repr, items.labels))} left out: text that differs from item to item."
        )
    if items.signed:
        show_note(
            f"{first_few(map(repr, items.signed))} left out: numbers with a sign such as % or $;"
            " write the numbers alone to make them features."
        )
    for name in items.nested:
        show_note(
            f"the column {name!r} holds lists or records and was left out; lists of equally many"
            " numbers, or a column for each value, make it features."
        )


@contextmanager
def collect_warnings() -> Iterator[list[PairscoreWarning]]:
    """Collect what the library warns of, and ignore what others do; columns found are notes."""
    found: list[PairscoreWarning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PairscoreWarning)
        yield found
    for warning in caught:
        if isinstance(warning.message, ColumnFoundWarning):
            show_note(warning.message)
        elif isinstance(warning.message, PairscoreWarning):
            found.append(warning.message)
