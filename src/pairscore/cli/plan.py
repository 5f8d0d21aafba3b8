"""The command ``plan``: how many items and comparisons a study needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import LINKS, METHODS
from pairscore.cli.help import OUTPUT, command, examples, section
from pairscore.cli.options import (
    FILE,
    FILE_NAMES,
    FILE_OPTIONS,
    ITEM_NAMES,
    RECIPE_OPTIONS,
    SHARE,
    SHARES,
    VOTE_NAMES,
    VOTE_OPTIONS,
    file_settings,
    item_settings,
    json_flag,
    option,
    options,
    vote_settings,
    word,
)
from pairscore.cli.printing import echo, show_json, show_note, show_unused_columns
from pairscore.cli.progress import stage
from pairscore.display import first_few
from pairscore.errors import NoAnswerError, PairscoreError

if TYPE_CHECKING:
    from pairscore.parallel import Progress
    from pairscore.planning.planner import Plan


DEFAULT = click.core.ParameterSource.DEFAULT
PLAN_OPTIONS = (
    *section(
        "What you know",
        option(
            "--features",
            multiple=True,
            metavar="N|A,B,C",
            help="Number of features; with --items-file, the columns to use.  [default: every"
            " numeric one]",
        ),
        option(
            "--noise",
            type=SHARES,
            metavar="P|P,P,P|P-P",
            help="Share of comparisons that contradict the scores, 0 to 0.5; several, or a range,"
            " give a table. Not with --pilot.",
        ),
        option(
            "--items-file",
            type=FILE,
            help="Your items with their features, for their number and correlations.",
        ),
        option(
            "--pilot",
            type=FILE,
            help="At least 50 comparisons of those items, to estimate the noise.",
        ),
        option(
            "--explained",
            type=SHARE,
            help="Share of the scores' variance that the features explain; the error is then given"
            " for new and for compared items.  [default: 1]",
        ),
        option(
            "--min-eigenvalue",
            type=float,
            help="Smallest eigenvalue of the features' covariance, if the largest is 1. Not with"
            " --items-file.  [default: 1.0]",
        ),
    ),
    *section(
        "The target",
        option(
            "--misordered",
            type=SHARE,
            help="Share of pairs of new items in another order than by the best score that the"
            " features allow.",
        ),
        option("--angle", type=float, help="Mean angle to the true direction, in radians."),
        option(
            "--norm-error",
            type=float,
            help="Mean distance of the coefficients from their limit.",
        ),
    ),
    *section(
        "Items, comparisons, time and cost",
        option("--items", "n_items", type=int, help="Number of items to compare, if fixed."),
        option("--comparisons", "n_comparisons", type=int, help="Number of comparisons, if fixed."),
        option("--hours", type=float, help="Hours of each expert, instead of --comparisons."),
        option("--experts", type=int, help="Number of experts.  [default: 1]"),
        option(
            "--seconds-per-comparison",
            type=float,
            default=23.0,
            help="Time that one comparison takes.",
        ),
        option(
            "--item-cost",
            type=float,
            help="Cost of an item, or 0; with --comparison-cost, the cheapest study is found.",
        ),
        option("--comparison-cost", type=float, help="Cost of a comparison, in the same unit."),
    ),
    *section(
        OUTPUT,
        option(
            "--chart",
            type=click.Path(path_type=Path),
            help="Draw the error against the number of comparisons to a .png, .svg or .pdf file.",
        ),
    ),
    *section(
        "How it will be fitted",
        word("--method", METHODS, "Method of the fit.  [default: mle; paired without noise]"),
        word("--link", LINKS, "How a score difference becomes a probability.  [default: logit]"),
    ),
)


@command()
@options(PLAN_OPTIONS, RECIPE_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@json_flag("Print the plan as JSON.")
@examples(
    "plan --features 90 --noise 0.2 --misordered 0.05",
    "plan --items-file items.csv --pilot votes.csv --misordered 0.05",
    "plan --features 12 --noise 0.1-0.3 --explained 0.6 --experts 2 --hours 3",
    "plan --items-file wines.csv --id wine --categorical grape --noise 0.2 --comparisons 5000",
)
def plan(
    items_file: Path | None, pilot: Path | None, chart: Path | None, as_json: bool, **given: Any
) -> None:
    """Say how many items and comparisons a study needs.

    Give two of --items, --comparisons and a target (--misordered, --angle or --norm-error) to get
    the third. A target alone gives the cheapest study if both costs are given, and otherwise the
    smallest with M = N log N, for N items and M comparisons. --comparisons or --hours alone give
    the best number of items and the error.
    """
    from pairscore.planning.text import plan_record, plan_text, plans_text

    about_files = (*ITEM_NAMES, *VOTE_NAMES, *FILE_NAMES)
    question = {name: value for name, value in given.items() if name not in about_files}
    if items_file is None:
        features = _feature_count(pilot, given)
    else:
        features = _items_and_pilot(items_file, pilot, given)
    with stage("Planning") as show:
        plans = plan_each(question.pop("noise") or (None,), question | features, show)
    made = [one for one in plans.values() if not isinstance(one, NoAnswerError)]
    if chart is not None:
        with stage("Drawing the chart"):
            draw_plans(made, chart)
    if as_json:
        records = [
            {"noise": noise, "impossible": str(one)}
            if isinstance(one, NoAnswerError)
            else plan_record(one)
            for noise, one in plans.items()
        ]
        show_json(records[0] if len(records) == 1 else {"plans": records})
    else:
        several = {noise: one for noise, one in plans.items() if noise is not None}
        echo(plan_text(made[0]) if len(plans) == 1 else plans_text(several))
        if chart is not None:
            echo(f"\nWrote {chart}.")


def plan_each(
    noises: Sequence[float | None],
    question: dict[str, Any],
    progress: "Progress" = lambda done, total: None,
) -> dict[float | None, "Plan | NoAnswerError"]:
    """The same question for each noise: its plan, or why there is none; one must have a plan."""
    from pairscore.planning.planner import plan as make_plan

    plans: dict[float | None, Plan | NoAnswerError] = {}
    for number, noise in enumerate(noises):
        progress(number, len(noises))
        try:
            plans[noise] = make_plan(**question, noise=noise)
        except NoAnswerError as error:
            plans[noise] = error
    refusals = [one for one in plans.values() if isinstance(one, NoAnswerError)]
    if len(refusals) == len(plans):
        raise refusals[0]
    return plans


def draw_plans(plans: list["Plan"], path: Path) -> None:
    """Draw the error against the number of comparisons: of a plan for half, once and twice its
    items; of plans for several noises, a curve for each.
    """
    from pairscore.planning.charts import plan_chart
    from pairscore.planning.text import chosen_row, plan_curves

    target = None if plans[0].target is None else plans[0].target[1]
    if len(plans) == 1:
        rows = plan_curves(plans[0])
    else:
        rows = [row for plan in plans for row in plan_curves(plan, factors=(1,))]
    chosen = [chosen_row(plan) for plan in plans]
    plan_chart(rows, chosen[0] if len(plans) == 1 else chosen, path, target=target)


def _items_and_pilot(items_file: Path, pilot: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The items and the pilot of a plan, as a fit would take them."""
    from pairscore.files.study import read_item_file, read_study

    columns = item_settings(given)
    if pilot is None:
        _refuse_options(VOTE_NAMES, "--pilot")
    with stage("Reading"):
        if pilot is None:
            study = read_item_file(items_file, columns=columns, **file_settings(given))
        else:
            study = read_study(items_file, pilot, columns=columns, **vote_settings(given))
    show_unused_columns(study)
    if study.recipe.note:
        show_note(f"{study.recipe.note}.")
    return {"items": study.items, "pilot": getattr(study, "votes", None)}


def _feature_count(pilot: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The number of features, where no file has them."""
    if pilot is not None:
        raise PairscoreError(
            f"the pilot {str(pilot)!r} compares items, and their features are missing; give them"
            " with --items-file, or, if the items have none, fit the comparisons alone with"
            " --report, whose page says what more of them would add."
        )
    about_columns = tuple(name for name in (*ITEM_NAMES, *VOTE_NAMES) if name != "features")
    _refuse_options(about_columns, "--items-file")
    numbers = given["features"]
    if len(numbers) > 1 or not all(number.strip().isdecimal() for number in numbers):
        raise PairscoreError(
            f"--features is {','.join(numbers)!r}; give the number of features, or a file with"
            " these columns: --items-file."
        )
    return {"n_features": int(numbers[0])} if numbers else {}


def _refuse_options(names: tuple[str, ...], needed: str) -> None:
    """Refuse options that say something about a file which is not given."""
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
