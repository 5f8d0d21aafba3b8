"""The command ``plan``: how many items and comparisons a study needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import LINKS, METHODS
from pairscore.cli.help import OUTPUT, command, examples, section
from pairscore.cli.inputs import with_study_file
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
    names,
    option,
    options,
    vote_settings,
    word,
)
from pairscore.cli.printing import echo, show_json, show_note, show_unused_columns
from pairscore.cli.progress import stage
from pairscore.cli.words import in_options, worded
from pairscore.display import first_few, plural
from pairscore.errors import NoAnswerError, PairscoreError
from pairscore.files.study_file import is_study_file

if TYPE_CHECKING:
    from pairscore.parallel import Progress
    from pairscore.planning.planner import Plan

DEFAULT = click.core.ParameterSource.DEFAULT
PLAN_OPTIONS = (
    *section(
        "What you know",
        names(
            "--features",
            metavar="N|A,B,C",
            help="Number of features; with --items-file, their columns.  [default: every numeric"
            " one]",
        ),
        option(
            "--noise",
            type=SHARES,
            metavar="P,P|P-P",
            help="Share of comparisons that contradict the scores, 0 to 0.5; several, or a range,"
            " give a table.",
        ),
        option(
            "--lapse",
            type=SHARE,
            metavar="SHARE",
            help="How much of the noise is slips, however far apart two items are.  [default: 0]",
        ),
        option(
            "--items-file",
            type=FILE,
            metavar="FILE",
            help="Your items with their features, or a study file (.toml).",
        ),
        option(
            "--pilot",
            type=FILE,
            metavar="FILE",
            help="At least 50 comparisons of those items, for the noise; or a study file.",
        ),
        option(
            "--explained",
            type=SHARE,
            metavar="SHARE",
            help="Share of the scores' variance that the features explain.  [default: 1]",
        ),
        option(
            "--min-eigenvalue",
            type=float,
            metavar="X",
            help="Smallest eigenvalue of the features' covariance, if the largest is 1."
            "  [default: 1]",
        ),
    ),
    *section(
        "Two of these give the third",
        option(
            "--misordered",
            type=SHARE,
            metavar="SHARE",
            help="The target: share of pairs of new items in another order than by the best score"
            " that the features allow.",
        ),
        option("--items", "n_items", type=int, metavar="N", help="Number of items to compare."),
        option(
            "--comparisons", "n_comparisons", type=int, metavar="M", help="Number of comparisons."
        ),
    ),
    *section(
        "Time and cost",
        option(
            "--hours",
            type=float,
            metavar="H",
            help="Hours of all experts together, instead of --comparisons.",
        ),
        option(
            "--seconds-per-comparison",
            type=float,
            metavar="S",
            default=23.0,
            help="Time that one comparison takes.",
        ),
        option("--item-cost", type=float, metavar="C", help="Cost of an item, or 0."),
        option(
            "--comparison-cost",
            type=float,
            metavar="C",
            help="Cost of a comparison; with both costs, the cheapest study is found.",
        ),
    ),
    *section(
        OUTPUT,
        option(
            "--chart",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Draw the error against the comparisons to a .png, .svg or .pdf file.",
        ),
    ),
    *section(
        "How it will be fitted",
        word(
            "--method",
            METHODS,
            "mle, split, pooled or paired.  [default: mle; paired without noise]",
            metavar="NAME",
        ),
        word("--link", LINKS, "How a score difference becomes a probability.  [default: logit]"),
    ),
)


@command()
@options(PLAN_OPTIONS, RECIPE_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@json_flag("Print the plan as JSON.")
@examples(
    "plan --features 90 --noise 0.2 --misordered 0.05",
    "plan --items-file items.csv --pilot votes.csv --misordered 0.05",
    "plan --features 12 --noise 0.1-0.3 --explained 0.6 --hours 6",
    "plan --items-file study.toml --noise 0.2 --comparisons 5000",
)
def plan(
    items_file: Path | None, pilot: Path | None, chart: Path | None, as_json: bool, **given: Any
) -> None:
    """Say how many items and comparisons a study needs.

    Give two of --items, --comparisons and the target --misordered to get the third. The target
    alone gives the cheapest study if both costs are given, and otherwise the smallest with M = N
    log N, for N items and M comparisons. --comparisons or --hours alone give the best number of
    items and the error.
    """
    from pairscore.planning.text import plan_record, plan_text, plans_text

    about_files = (*ITEM_NAMES, *VOTE_NAMES, *FILE_NAMES)
    question = {name: value for name, value in given.items() if name not in about_files}
    items_file, pilot, given = with_study_files(items_file, pilot, given)
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
            {"noise": noise, "impossible": worded(one)}
            if isinstance(one, NoAnswerError)
            else plan_record(one)
            for noise, one in plans.items()
        ]
        show_json(records[0] if len(records) == 1 else {"plans": records})
    else:
        several = {noise: one for noise, one in plans.items() if noise is not None}
        echo(plan_text(made[0], in_options) if len(plans) == 1 else plans_text(several, in_options))
        if chart is not None:
            echo(f"\nWrote {chart}.")


def with_study_files(
    items_file: Path | None, pilot: Path | None, given: dict[str, Any]
) -> tuple[Path | None, Path | None, dict[str, Any]]:
    """The items and the pilot that study files name, with their settings."""
    if is_study_file(pilot):
        found, others, given = with_study_file(pilot, (), given)
        if len(others) != 1:
            raise PairscoreError(
                f"{str(pilot)!r} names {plural(len(others), 'file')} of comparisons; give one as"
                " --pilot."
            )
        pilot, is_same = others[0], items_file in (None, pilot)
        items_file = found if is_same else items_file
    items_file, _, given = with_study_file(items_file, (), given)
    return items_file, pilot, given


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
