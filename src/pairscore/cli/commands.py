"""The group of all commands, its exit codes and signals.

0 is success; 1 where the question is a good one but has no answer; 2 where the input or the
options cannot be used, or the disk or the memory is full; 130 after Ctrl-C and 143 after SIGTERM,
as a shell shows them.
"""

from errno import EPIPE
from importlib.util import find_spec
from typing import Any

import click

from pairscore.cli.models import fit, report, update
from pairscore.cli.pairs import compare, pairs, predict, rank
from pairscore.cli.studies import demo, plan, reproduce, simulate
from pairscore.cli.terminal import STOP_CODES, STOPPED, end_on_signals, end_process
from pairscore.cli.words import translate
from pairscore.errors import NoAnswerError, PairscoreError

IS_COMPILED = find_spec("pairscore.core._kernels") is not None
PASSES = "compiled" if IS_COMPILED else "built without a compiler, slower on large data"


class Commands(click.Group):
    """A group whose commands end with one sentence and an exit code where an error is raised."""

    def main(self, args: Any = None, *more: Any, **settings: Any) -> Any:
        try:
            return super().main(args, *more, **settings)
        except SystemExit as ended:
            # a program that was asked to end does not take the time to unload its modules
            for code in STOP_CODES.values():
                if args is None and ended.code == code:
                    end_process(code)
            raise

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
                    click.echo(f"Error: {said or STOPPED}", err=True)
                    ctx.exit(STOP_CODES[received[0]])
                return self.end(ctx, error)

    def end(self, ctx: click.Context, error: BaseException) -> None:
        """Say what went wrong and end with its code; other errors than ours are raised again."""
        # the reader had enough, as head does; click ends quietly then
        pipe_closed = isinstance(error, OSError) and error.errno == EPIPE
        if pipe_closed or not isinstance(error, PairscoreError | OSError | MemoryError):
            raise error
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
    demo,
    simulate,
    reproduce,
):
    main.add_command(command)
