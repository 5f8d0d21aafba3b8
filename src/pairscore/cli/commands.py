"""The group of all commands, its exit codes and signals.

0 is success; 1 where the question is a good one but has no answer; 2 where the input or the
options cannot be used, or the disk or the memory is full; 130 after Ctrl-C and 143 after SIGTERM,
as a shell shows them.

After Ctrl-C and SIGTERM a command ends as after an error: files and folders that it was writing are
removed, processes that it started are ended. Python raises the signal between two steps of the main
thread, and one step may be a call that takes seconds (LAPACK). Where a library loses the signal, a
second one ends the process.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EPIPE
from importlib.util import find_spec
from io import StringIO
from typing import Any

import click

from pairscore.cli.compare import compare
from pairscore.cli.demo import demo
from pairscore.cli.fit import fit
from pairscore.cli.pairs import pairs
from pairscore.cli.plan import plan
from pairscore.cli.predict import predict
from pairscore.cli.printing import echo
from pairscore.cli.rank import rank
from pairscore.cli.report import report
from pairscore.cli.reproduce import reproduce
from pairscore.cli.simulate import simulate
from pairscore.cli.sites import merge, stats
from pairscore.cli.update import update
from pairscore.cli.words import worded
from pairscore.errors import NoAnswerError, NotAModelError, PairscoreError
from pairscore.messages import Message, Text

IS_COMPILED = find_spec("pairscore.core._kernels") is not None
PASSES = "compiled" if IS_COMPILED else "built without a compiler, slower on large data"
# by signal, the exit code that a shell shows for it
STOP_CODES: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143}
MODEL_FIRST = Text.of("give the model first, then the tables")
STOPPED = "stopped before it was done; no file is half-written."


@contextmanager
def end_on_signals() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt at the first signal; a second one ends the process.

    Yields a list that gets the number of the signal. What was ignored before, as in the background
    of a script, stays so.
    """
    received: list[int] = []

    # only the main thread may listen to signals
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    handlers = {number: signal.getsignal(number) for number in STOP_CODES}
    before = {n: old for n, old in handlers.items() if old not in (signal.SIG_IGN, None)}

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        for other in before:
            signal.signal(other, signal.SIG_DFL)
        raise KeyboardInterrupt

    try:
        for number in before:
            signal.signal(number, interrupt)
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- commands ----------------------------------------------------------------------------------


class Commands(click.Group):
    """A group whose commands end with one sentence and an exit code where an error is raised."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands in the order of the work, each with its first sentence, whole."""
        rows = []
        for name, command in self.commands.items():
            paragraph = " ".join((command.help or "").split("\n\n")[0].split())
            rows.append((name, paragraph.split(". ")[0].removesuffix(".") + "."))
        with formatter.section("Commands, in the order of the work"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        with end_on_signals() as received:
            try:
                return super().invoke(ctx)
            except BaseException as error:
                # a library in which the signal came may have made another error of it
                if received:
                    said = str(error) if isinstance(error, KeyboardInterrupt) else ""
                    echo(f"Error: {said or STOPPED}", err=True)
                    ctx.exit(STOP_CODES[received[0]])
                return self.end(ctx, error)

    def end(self, ctx: click.Context, error: BaseException) -> None:
        """Say what went wrong and end with its code; other errors than ours are raised again."""
        if isinstance(error, click.UsageError):  # which repeats words of the command
            said = StringIO()
            error.show(said)
            echo(said.getvalue().removesuffix("\n"), err=True)
            ctx.exit(error.exit_code)
        # the reader had enough, as head does; click ends quietly then
        pipe_closed = isinstance(error, OSError) and error.errno == EPIPE
        if pipe_closed or not isinstance(error, PairscoreError | OSError | MemoryError):
            raise error
        echo(f"Error: {error_sentence(error)}", err=True)
        ctx.exit(1 if isinstance(error, NoAnswerError) else 2)


def error_sentence(error: Exception) -> str:
    """What went wrong and what to do, in the words of the command line."""
    if isinstance(error, MemoryError):
        return "this needs more memory than there is; use fewer items, comparisons or features."
    if isinstance(error, OSError):
        reason = error.strerror or error
        return f"something could not be read or written ({reason}); check the disk and the paths."
    if isinstance(error, NotAModelError):
        return worded(Message(error.message.problem, (MODEL_FIRST,)))
    return worded(error) if isinstance(error, PairscoreError) else str(error)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pairscore", message=f"%(prog)s, version %(version)s ({PASSES})")
def main() -> None:
    """Turn pairwise comparisons and item features into a score that ranks.

    pairscore COMMAND --help shows the options of a command, with examples.
    """


for command in (
    plan,
    pairs,
    fit,
    rank,
    report,
    predict,
    update,
    compare,
    stats,
    merge,
    demo,
    simulate,
    reproduce,
):
    main.add_command(command)
