"""The group of all commands, its exit codes and signals.

0 is success; 1 where the question is a good one but has no answer; 2 where the input or the
options cannot be used, or the disk or the memory is full.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EPIPE
from typing import Any

import click

from pairscore.cli.models import compare, fit, rank, report, update
from pairscore.cli.studies import demo, plan, reproduce, simulate
from pairscore.cli.words import translate
from pairscore.errors import NoAnswerError, PairscoreError


class Commands(click.Group):
    """A group whose commands end with one sentence and an exit code where an error is raised."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with exit_on_termination():
                return super().invoke(ctx)
        except (PairscoreError, OSError, MemoryError) as error:
            # the reader had enough, as head does; click ends quietly then
            if isinstance(error, OSError) and error.errno == EPIPE:
                raise
            click.echo(f"Error: {error_sentence(error)}", err=True)
            ctx.exit(1 if isinstance(error, NoAnswerError) else 2)


def error_sentence(error: Exception) -> str:
    """What went wrong and what to do, in the words of the command line."""
    if isinstance(error, MemoryError):
        return "this needs more memory than there is; use fewer items, comparisons or features."
    if isinstance(error, OSError):
        reason = error.strerror or error
        return f"something could not be read or written ({reason}); check the disk and the paths."
    return translate(str(error))


@contextmanager
def exit_on_termination() -> Iterator[None]:
    """End as after an error where SIGTERM asks to, so that nothing half-written stays."""

    def end(number: int, frame: Any) -> None:
        sys.exit(128 + number)  # the exit code that a shell shows for a signal

    # only the main thread may listen to signals
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pairscore")
def main() -> None:
    """Turn pairwise comparisons and item features into a score that ranks."""


for command in (fit, rank, update, compare, report, plan, demo, simulate, reproduce):
    main.add_command(command)
