"""The command line: each command is one library call and a print."""

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EPIPE
from pathlib import Path
from typing import Any

import click

from pairscore.choices import FILE_KINDS, LINKS
from pairscore.cli.fit import fit, rank
from pairscore.cli.plan import plan
from pairscore.cli.report import report
from pairscore.cli.update import compare, update
from pairscore.cli.words import in_options
from pairscore.errors import NoAnswerError, PairscoreError


class Commands(click.Group):
    """A group whose commands end with one sentence and an exit code where the library raises an
    error.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with ended_in_order():
                return super().invoke(ctx)
        except PairscoreError as error:
            click.echo(f"Error: {in_options(str(error))}", err=True)
            ctx.exit(1 if isinstance(error, NoAnswerError) else 2)
        except OSError as error:
            if error.errno == EPIPE:  # the reader had enough, as head does; click ends quietly then
                raise
            click.echo(
                f"Error: something could not be read or written ({error.strerror or error}); check"
                " the disk and the paths.",
                err=True,
            )
            ctx.exit(2)
        except MemoryError:
            click.echo(
                "Error: this needs more memory than there is; use fewer items, comparisons or"
                " features.",
                err=True,
            )
            ctx.exit(2)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """PreparedFit to terminate, end as after an error, so that nothing half-written stays."""

    def end(number: int, frame: Any) -> None:
        sys.exit(128 + number)  # as a shell tells it

    # only there may a program listen to signals
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


main.add_command(fit)
main.add_command(rank)
main.add_command(update)
main.add_command(compare)
main.add_command(report)
main.add_command(plan)


@main.command()
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the simulated grader.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("pairscore-demo"),
    show_default=True,
    help="Folder for the report.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help=(
        "Print coefficients, the test on new patients and where the report is as JSON, without the"
        " story."
    ),
)
def demo(seed: int, output: Path, as_json: bool) -> None:
    """Learn a severity score for 442 real patients from comparisons alone, and write a report to
    open.

    Example: pairscore demo --seed 2
    """
    from pairscore.cli.demo import run_demo

    done = run_demo(
        (lambda text: None) if as_json else (lambda text: click.echo(in_options(text))),
        seed,
        output,
    )
    if as_json:
        click.echo(json.dumps(done.to_record(), indent=2, allow_nan=False))


@main.command()
@click.option("--items", "n_items", type=int, required=True, help="Number of items to compare.")
@click.option("--features", "n_features", type=int, required=True, help="Number of features.")
@click.option(
    "--comparisons", "n_comparisons", type=int, required=True, help="Number of comparisons."
)
@click.option(
    "--noise", type=float, help="Share of labels that go against the scores.  [default: 0.2]"
)
@click.option(
    "--judge-noise", help="Several judges instead: the noise of each, such as 0.1,0.2,0.4."
)
@click.option(
    "--min-eigenvalue",
    type=float,
    default=1.0,
    show_default=True,
    help="Smallest eigenvalue of the features' covariance, largest 1.",
)
@click.option(
    "--item-effect",
    type=float,
    default=0.0,
    show_default=True,
    help="Standard deviation of what features do not explain, on the link's scale.",
)
@click.option(
    "--link",
    type=click.Choice(LINKS),
    default="logit",
    show_default=True,
    help="How a score difference becomes a probability.",
)
@click.option(
    "--repeats", type=int, default=1, show_default=True, help="How often each pair is judged."
)
@click.option("--self-pairs", is_flag=True, help="Let items meet themselves, as the paper does.")
@click.option(
    "--second-half/--no-second-half",
    default=True,
    show_default=True,
    help="As many items again, never compared, for the covariance of split.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the population and of the draw.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FILE_KINDS),
    default="csv",
    show_default=True,
    help="Of the tables.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write to."
)
def simulate(
    n_items: int,
    n_comparisons: int,
    judge_noise: str | None,
    repeats: int,
    self_pairs: bool,
    second_half: bool,
    seed: int,
    kind: str,
    output: Path,
    **law: Any,
) -> None:
    """Write a simulated study with a known truth: items, comparisons and truth.json.

    Example: pairscore simulate --items 2500 --features 90 --comparisons 20000 --noise 0.2 --seed 1
    -o study
    """
    from pairscore.planning.simulate import simulate_study
    from pairscore.theory.population import Population

    population = Population(**law, judge_noise=_shares(judge_noise), rng=seed)
    options = {"repeats": repeats, "self_pairs": self_pairs, "second_half": second_half}
    for path in simulate_study(
        population, n_items, n_comparisons, output, seed=seed, kind=kind, **options
    ):
        click.echo(str(path))


def _shares(text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(share) for share in text.split(",")]
    except ValueError:
        raise PairscoreError(
            f"--judge-noise is {text!r}; write one share for each judge, such as 0.1,0.2,0.4."
        ) from None


@main.command()
@click.argument("figures", nargs=-1)
@click.option(
    "--seeds", type=int, default=10, show_default=True, help="Random generations behind every mean."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder for tables, figures and page.",
)
@click.option(
    "--direct",
    is_flag=True,
    help=(
        "Draw items and votes and fit every cell, instead of drawing the estimate from its exact"
        " law."
    ),
)
@click.option(
    "--processes",
    "n_workers",
    type=click.IntRange(min=1),
    help="How many processes  [default: one for each core]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print where the page is and how long it took as JSON."
)
def reproduce(
    figures: tuple[str, ...],
    seeds: int,
    output: Path,
    direct: bool,
    n_workers: int | None,
    as_json: bool,
) -> None:
    """Rebuild the paper's figures 1 to 6 and ours, 7 to 10, and check its claims.

    Stopped at any moment, the same command goes on where it was. Rows go to rows.csv and
    needed.csv, all pictures to one page.

    \b
    Examples: pairscore reproduce
              pairscore reproduce 2a 3 --seeds 2 -o quick
    """
    from pairscore.paper.run import reproduce as make

    try:
        done = make(figures, seeds, output, direct=direct, n_workers=n_workers, progress=Progress())
    except KeyboardInterrupt:
        raise NoAnswerError(
            f"stopped; what is finished is kept in {str(output)!r}, and the same command goes on"
            " from there."
        ) from None
    if as_json:
        click.echo(json.dumps(done, indent=2))
    else:
        cells = (
            f"{done['cells']:,} cells ({done['cells_run']:,} run now) in"
            f" {done['cell_seconds']:.0f} s"
        )
        click.echo(
            f"{cells}; predictions, figures and page in {done['page_seconds']:.0f} s; calibration"
            f" loop {done['calibration_seconds']:.2f} s"
        )
        click.echo(done["page"])


class Progress:
    """Done, total and the time left, on a terminal only."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if not sys.stderr.isatty() or total == 0:
            return
        left = (time.monotonic() - self.start) * (total - done) / done if done else float("nan")
        shown = f", {left:.0f} s left" if done else ""
        click.echo(
            f"\r{done:,} of {total:,} cells{shown}        " + ("\n" if done == total else ""),
            nl=False,
            err=True,
        )
