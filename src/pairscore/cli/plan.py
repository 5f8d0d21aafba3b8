"""`pairscore plan`: how large a study must be, from numbers or from files."""

import json
from pathlib import Path
from typing import Any

import click

from pairscore.choices import LINKS, METHODS
from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    ITEM_NAMES,
    RECIPE_OPTIONS,
    VOTE_NAMES,
    VOTE_OPTIONS,
    item_settings,
    options,
    say_what_is_left_out,
    vote_settings,
)
from pairscore.errors import PairscoreError, first_few

DEFAULT = click.core.ParameterSource.DEFAULT
QUESTION = (
    "noise", "misordered", "angle", "norm_error", "n_items", "n_comparisons", "method", "link", "min_eigenvalue", "item_cost", "comparison_cost",
    "seconds_per_comparison",
)  # fmt: skip


@click.command()
@click.option(
    "--features",
    multiple=True,
    metavar="N|A,B,C",
    help="Number of features; with --items-file, the columns to use.  [default: every numeric one]",
)
@click.option(
    "--noise",
    type=float,
    help="Share of comparisons that go against the scores, 0 to 0.5; left out with --pilot.",
)
@click.option(
    "--misordered", type=float, help="Target: share of pairs of new items in the wrong order."
)
@click.option("--angle", type=float, help="Target: mean angle to the true direction, in radians.")
@click.option(
    "--norm-error", type=float, help="Target: mean distance of the coefficients from their limit."
)
@click.option("--items", "n_items", type=int, help="Number of items to compare, if fixed.")
@click.option("--comparisons", "n_comparisons", type=int, help="Number of comparisons, if fixed.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Method of the fit  [default: mle; paired without noise]",
)
@click.option(
    "--link",
    type=click.Choice(LINKS),
    help="How a score difference becomes a probability.  [default: logit]",
)
@click.option(
    "--min-eigenvalue",
    type=float,
    help=(
        "Smallest eigenvalue of the features' covariance, largest 1; left out with --items-file. "
        " [default: 1.0]"
    ),
)
@click.option(
    "--items-file",
    type=FILE,
    help="Your items with their features: their correlations and number are used.",
)
@click.option(
    "--pilot", type=FILE, help="At least 50 comparisons of those items: they tell the noise."
)
@click.option(
    "--item-cost",
    type=float,
    help="Cost of an item; with --comparison-cost, the cheapest study is found.",
)
@click.option("--comparison-cost", type=float, help="Cost of a comparison, in the same unit.")
@click.option(
    "--seconds-per-comparison",
    type=float,
    default=23.0,
    show_default=True,
    help="Time of an expert for one comparison.",
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path),
    help="Draw error against comparisons to this .png, .svg or .pdf file.",
)
@options(RECIPE_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    items_file: Path | None, pilot: Path | None, chart: Path | None, as_json: bool, **given: Any
) -> None:
    """Say how many items and comparisons a study needs.

    Give two of --items, --comparisons and a target (--misordered, --angle or --norm-error) and get
    the third. With the target alone, get the cheapest study if both costs are given, else the
    smallest with M = N log N. Columns of --items-file and --pilot are named as in the fit.

    \b
    Examples: pairscore plan --features 90 --noise 0.2 --misordered 0.05
              pairscore plan --items-file items.csv --pilot votes.csv --misordered 0.05
              pairscore plan --items-file wines.csv --id wine --categorical grape --noise 0.2
              --comparisons 5000
    """
    from pairscore.planning.planner import plan as make_plan
    from pairscore.planning.text import plan_curves, plan_record, plan_text

    question = {name: given[name] for name in QUESTION}
    made = make_plan(
        **question,
        **(_tables(items_file, pilot, given) if items_file else _no_tables(pilot, given)),
    )
    if chart is not None:
        from pairscore.planning.charts import plan_chart

        measure = made.target[0] if made.target else "misordered"
        chosen = {
            "n_items": made.n_items,
            "n_comparisons": made.n_comparisons,
            "error": getattr(made, measure),
            "measure": measure,
            "method": made.method,
        }
        plan_chart(plan_curves(made), chosen, chart, target=made.target[1] if made.target else None)
    click.echo(json.dumps(plan_record(made), indent=2) if as_json else plan_text(made))


def _tables(items_file: Path, pilot: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The items and the pilot of a plan, as a fit would take them."""
    from pairscore.files.read_study import Intake, ItemIntake, read_item_file, read_study

    file = {name: given[name] for name in ("delimiter", "encoding")}
    study: ItemIntake
    if pilot is None:
        _refuse_given(VOTE_NAMES, "--pilot")
        study = read_item_file(items_file, columns=item_settings(given), **file)
    else:
        study = read_study(
            items_file,
            pilot,
            columns=item_settings(given),
            vote_columns=vote_settings(given),
            **file,
        )
    say_what_is_left_out(study.left_out, study.nested)
    if study.recipe.note:
        click.echo(f"Note: {study.recipe.note}.", err=True)
    return {"items": study.items, "pilot": study.votes if isinstance(study, Intake) else None}


def _no_tables(pilot: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The number of features, where no file has them."""
    if pilot is not None:
        raise PairscoreError(
            f"the pilot {str(pilot)!r} names items, and there are none; give them with their"
            " features: --items-file."
        )
    _refuse_given(
        tuple(name for name in (*ITEM_NAMES, *VOTE_NAMES) if name != "features"), "--items-file"
    )
    if len(given["features"]) > 1 or not all(
        number.strip().isdecimal() for number in given["features"]
    ):
        raise PairscoreError(
            f"--features is {','.join(given['features'])!r}; give the number of features, or the"
            " items that have these columns: --items-file."
        )
    return {"n_features": int(given["features"][0])} if given["features"] else {}


def _refuse_given(names: tuple[str, ...], needed: str) -> None:
    """Options that say something about a file which is not there are a mistake."""
    context = click.get_current_context()
    idle = [
        option.opts[0]
        for option in context.command.params
        if option.name in names and context.get_parameter_source(option.name) is not DEFAULT
    ]
    if idle:
        raise PairscoreError(
            f"{first_few(idle)} {'is' if len(idle) == 1 else 'are'} about a file that is not given;"
            f" add {needed}."
        )
