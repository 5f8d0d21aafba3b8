"""The command ``demo``."""

from pathlib import Path

from pairscore.cli.help import command, examples
from pairscore.cli.options import FOLDER, SEED, json_flag, option, output_option
from pairscore.cli.printing import show_json, show_text
from pairscore.cli.words import in_options


@command()
@option("--seed", type=SEED, default=1, help="Seed of the simulated grader.")
@output_option("Folder for the report.", FOLDER, default=Path("pairscore-demo"))
@json_flag(
    "Print coefficients, the test on new patients and where the report is as JSON, without the"
    " story."
)
@examples("demo", "demo --seed 2 -o second-demo")
def demo(seed: int, output: Path, as_json: bool) -> None:
    """Learn a severity score for 442 real patients from comparisons, and write a report."""
    from pairscore.cli.demo_story import run_demo

    if as_json:
        show_json(run_demo(lambda text: None, seed, output).to_record())
    else:
        run_demo(show_text, seed, output, in_options)
