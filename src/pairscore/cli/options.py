"""Options that several commands share, and what they have in common.

Stages on a terminal, bad rows beside the output.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import click

from pairscore.choices import MISSING_RULES
from pairscore.errors import PairscoreError

SHOWN_ROWS = 20
Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]

FILE = click.Path(path_type=Path, allow_dash=True)
FILE_OPTIONS = (
    click.option(
        "--delimiter",
        help=(
            "Of CSV files, such as ';' or tab; a file whose first line has none of it keeps its"
            " own.  [default: detected]"
        ),
    ),
    click.option(
        "--encoding",
        help=(
            "Of all CSV files of the command, such as latin-1.  [default: detected, for each file]"
        ),
    ),
)
RECIPE_OPTIONS = (
    click.option(
        "--id",
        "id",
        metavar="NAME",
        help=(
            "Column with the items' ids.  [default: id; without one, items are known by row number"
            " from 0]"
        ),
    ),
    click.option("--exclude", multiple=True, metavar="X,Y", help="Columns to leave out."),
    click.option(
        "--categorical",
        multiple=True,
        metavar="X,Y",
        help="Columns to make into 0/1 columns, one for each level.",
    ),
    click.option(
        "--square", "squares", multiple=True, metavar="A,B", help="Features whose squares to add."
    ),
    click.option(
        "--interact",
        "interactions",
        multiple=True,
        metavar="A:B",
        help="Features whose product to add.",
    ),
    click.option(
        "--missing",
        type=click.Choice(MISSING_RULES),
        default="refuse",
        show_default=True,
        help=(
            "If feature values are missing: stop; leave those items and their comparisons out; fill"
            " in the mean and add a 0/1 flag; or give each such item an effect of its own."
        ),
    ),
)
ITEM_OPTIONS = (
    click.option(
        "--features",
        multiple=True,
        metavar="A,B,C",
        help="Columns to use as features.  [default: every numeric column]",
    ),
    *RECIPE_OPTIONS,
)
VOTE_OPTIONS = (
    click.option(
        "--winner",
        metavar="NAME",
        help="Column with the winner: left, right, tie, or its id.  [default: winner]",
    ),
    click.option(
        "--loser",
        metavar="NAME",
        help="Column with the loser's id; then there are no sides.  [default: loser]",
    ),
    click.option(
        "--left", metavar="NAME", help="Column with the left item's id.  [default: left or model_a]"
    ),
    click.option(
        "--right",
        metavar="NAME",
        help="Column with the right item's id.  [default: right or model_b]",
    ),
    click.option("--judge", metavar="NAME", help="Column that says who judged.  [default: judge]"),
    click.option(
        "--weight",
        metavar="NAME",
        help="Column with the importance of each row.  [default: weight]",
    ),
    click.option(
        "--count",
        metavar="NAME",
        help="Column with how many equal comparisons a row stands for.  [default: count]",
    ),
)
ITEM_NAMES = ("id", "features", "exclude", "categorical", "squares", "interactions", "missing")
VOTE_NAMES = ("winner", "loser", "left", "right", "judge", "weight", "count")


def options(*groups: tuple[Option, ...]) -> Callable[[Command], Command]:
    """All options of some groups, in their order."""

    def decorate(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def item_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of ``make_recipe`` from those of ITEM_OPTIONS."""
    from pairscore.data.feature_options import split_names

    lists = ("features", "exclude", "categorical", "squares", "interactions")
    return {name: split_names(given[name]) if name in lists else given[name] for name in ITEM_NAMES}


def vote_settings(given: dict[str, Any]) -> dict[str, str | None]:
    """The columns of the comparisons that have other names."""
    return {name: given[name] for name in VOTE_NAMES}


def checked_output(output: Path | None, *inputs: Path, is_table: bool = False) -> None:
    """Say before a long computation, not after, that the result has no place to go, or that it
    would be a table of an unknown kind.
    """
    if output is None or str(output) == "-":
        return
    if is_table:
        from pairscore.files.source import table_kind

        table_kind(output)
    if not output.parent.is_dir():
        raise PairscoreError(
            f"there is no folder {str(output.parent)!r} to write {output.name!r} to; make it first."
        )
    if output.is_dir():
        raise PairscoreError(f"{str(output)!r} is a folder; name a file.")
    if any(output.resolve() == path.resolve() for path in inputs if str(path) != "-"):
        raise PairscoreError(
            f"{str(output)!r} is an input of this command and would be overwritten; choose another"
            " name with -o."
        )


def say_what_is_left_out(text: list[str], nested: list[str]) -> None:
    """Notes on columns that are no features, and how they could be."""
    for name in text:
        click.echo(
            f"Note: the column {name!r} is text and was left out; --categorical {quote(name)} makes"
            " it 0/1 columns.",
            err=True,
        )
    for name in nested:
        click.echo(
            f"Note: the column {name!r} holds lists or records and was left out; a column for each"
            " value makes it features.",
            err=True,
        )


@contextmanager
def input_path(path: Path) -> Iterator[Path]:
    """The file itself; a copy of standard input for -."""
    if str(path) != "-":
        yield path
        return
    with TemporaryDirectory() as directory:
        copy = Path(directory) / "standard input"
        copy.write_bytes(sys.stdin.buffer.read())
        yield copy


@contextmanager
def output_path(path: Path, name: str) -> Iterator[Path]:
    """The file itself; for -, one that goes to standard output when it is written."""
    if str(path) != "-":
        yield path
        return
    with TemporaryDirectory() as directory:
        yield Path(directory) / name
        with (Path(directory) / name).open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@contextmanager
def bad_rows_beside(output: Path | None) -> Iterator[None]:
    """Where a file has bad rows.

    All of them in a file beside the output, the first ones on the screen; else no such file of an
    earlier run stays.
    """
    from pairscore.errors import BadRowsError
    from pairscore.files.faults import BadFilesError, write_bad_rows
    from pairscore.files.write import is_device

    # nobody looks for a list in /dev
    has_place = output is not None and str(output) != "-" and not is_device(output)
    beside = Path(f"{output}.bad-rows.csv")
    try:
        yield
    except (BadRowsError, BadFilesError) as error:
        errors = error.errors if isinstance(error, BadFilesError) else [error]
        if has_place and write_bad_rows(errors, beside):
            raise PairscoreError(
                f"{error}\nAll of them are in {str(beside)!r}; nothing else was written."
            ) from error
        raise
    if has_place:
        with suppress(OSError):
            beside.unlink()


@contextmanager
def stage(text: str) -> Iterator[Callable[[float], None]]:
    """Say on a terminal what is going on, and how far it is (a share); say nothing elsewhere."""
    shown = sys.stderr.isatty()

    def show(share: float) -> None:
        if shown:
            click.echo(f"\r{text} … {share:.0%}" if share else f"\r{text} …", nl=False, err=True)

    show(0.0)
    try:
        yield show
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)
