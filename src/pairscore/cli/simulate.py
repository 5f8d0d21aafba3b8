"""The command ``simulate``: a simulated study with a known truth."""

from pathlib import Path
from typing import Any

import click

from pairscore.choices import FILE_KINDS
from pairscore.cli.help import command, examples
from pairscore.cli.options import FOLDER, LINK_OPTION, SEED, SHARE, option, output_option
from pairscore.cli.printing import echo
from pairscore.cli.progress import stage
from pairscore.errors import PairscoreError


@command()
@option("--items", "n_items", type=int, required=True, help="Number of items to compare.")
@option("--features", "n_features", type=int, required=True, help="Number of features.")
@option("--comparisons", "n_comparisons", type=int, required=True, help="Number of comparisons.")
@option(
    "--noise", type=SHARE, help="Share of comparisons that contradict the scores.  [default: 0.2]"
)
@option(
    "--lapse",
    type=SHARE,
    default=0.0,
    help="How much of the noise is slips, however far apart two items are.",
)
@option("--judge-noise", help="For several judges: the noise of each, such as 0.1,0.2,0.4.")
@option(
    "--min-eigenvalue",
    type=float,
    default=1.0,
    help="Smallest eigenvalue of the features' covariance, if the largest is 1.",
)
@option(
    "--item-effect",
    type=float,
    default=0.0,
    help="Standard deviation of the item effects that features do not explain, on the link scale.",
)
@LINK_OPTION
@option("--repeats", type=int, default=1, help="How often each pair is judged.")
@option(
    "--second-half/--no-second-half",
    default=True,
    help="Also write as many items that are never compared, for the covariance of split.",
)
@option("--seed", type=SEED, default=0, help="Seed of the simulation.")
@option(
    "--format", "kind", type=click.Choice(FILE_KINDS), default="csv", help="Format of the tables."
)
@output_option("Folder to write to.", FOLDER, required=True)
@examples(
    "simulate --items 2500 --features 90 --comparisons 20000 --noise 0.2 --seed 1 -o study",
    "simulate --items 200 --features 5 --comparisons 900 --judge-noise 0.1,0.2,0.4 -o judged",
)
def simulate(
    n_items: int,
    n_comparisons: int,
    judge_noise: str | None,
    seed: int,
    kind: str,
    output: Path,
    **given: Any,
) -> None:
    """Write a simulated study with a known truth: items, comparisons and truth.json."""
    from pairscore.planning.simulate import simulate_study
    from pairscore.theory.population import Population

    draw = {name: given.pop(name) for name in ("repeats", "second_half")} | {"self_pairs": False}
    population = Population(**given, judge_noise=_shares(judge_noise), rng=seed)
    with stage("Simulating"):
        about = {"seed": seed, "kind": kind, **draw}
        paths = simulate_study(population, n_items, n_comparisons, output, **about)
    for path in paths:
        echo(str(path))


def _shares(text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(share) for share in text.split(",")]
    except ValueError:
        raise PairscoreError(
            f"--judge-noise is {text!r}; write one share for each judge, such as 0.1,0.2,0.4."
        ) from None
