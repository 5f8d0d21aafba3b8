"""The command line: each command is one library call and a print."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pairscore")
def main() -> None:
    """Turn pairwise comparisons and item features into a score that ranks."""


@main.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the simulated grader.")
def demo(seed: int) -> None:
    """Learn a severity score for 442 real patients from comparisons alone.

    Example: pairscore demo --seed 2
    """
    from pairscore.demo import run_demo

    run_demo(click.echo, seed)
