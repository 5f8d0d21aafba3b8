"""`pairscore fit` and `pairscore rank`: from files to a model, and from a model to a ranking."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from pairscore.choices import INFERENCES, LINKS, METHODS, TIE_RULES
from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    ITEM_OPTIONS,
    SHOWN_ROWS,
    VOTE_OPTIONS,
    bad_rows_beside,
    checked_output,
    input_path,
    item_settings,
    options,
    output_path,
    say_what_is_left_out,
    stage,
    vote_settings,
)
from pairscore.cli.words import in_options
from pairscore.errors import BadEntriesError, PairscoreError, PairscoreWarning, plural

MEMORY = "1GB"  # of a table to rank; what is beyond goes to disk
MODEL_OPTIONS = (
    click.option(
        "--method",
        type=click.Choice(METHODS),
        default="mle",
        show_default=True,
        help="Maximum likelihood, or one of three closed forms.",
    ),
    click.option(
        "--link",
        type=click.Choice(LINKS),
        default="logit",
        show_default=True,
        help="How a score difference becomes a probability.",
    ),
    click.option(
        "--l2",
        default="0",
        show_default=True,
        help=(
            "Ridge on standardised coefficients, against the sum of log-losses; auto: best on"
            " held-out items."
        ),
    ),
    click.option(
        "--group",
        metavar="NAME",
        help=(
            "Column of ITEMS: items of one group (topic, patient) are held out together by --l2"
            " auto."
        ),
    ),
    click.option("--shrinkage", help="Of a closed form's covariance: 0 to 1, ledoit-wolf or oas."),
    click.option(
        "--side-effect",
        is_flag=True,
        help="Estimate the advantage of the left side (home, shown first, ...).",
    ),
    click.option(
        "--item-effects",
        is_flag=True,
        help=(
            "Give every item an effect beyond its features; new items have none and wider"
            " intervals."
        ),
    ),
    click.option("--side-by-judge", is_flag=True, help="Estimate that advantage for every judge."),
    click.option(
        "--judge-slopes",
        is_flag=True,
        help="Give every judge a sharpness of their own; names spammers and inverted judges.",
    ),
    click.option(
        "--context",
        multiple=True,
        metavar="A,B",
        help="Numeric columns of COMPARISONS that belong to a comparison: of left minus of right.",
    ),
    click.option(
        "--ties",
        type=click.Choice(TIE_RULES),
        default="half",
        show_default=True,
        help="A tie is half a win each way, or has a parameter.",
    ),
    click.option(
        "--inference",
        type=click.Choice((*INFERENCES, "none")),
        default="items",
        show_default=True,
        help=(
            "Intervals that allow for comparisons sharing an item, or an item or a judge; classical"
            " ones; or none."
        ),
    ),
    click.option("--self-pairs", is_flag=True, help="Keep comparisons of an item with itself."),
)


@click.command()
@click.argument("items", type=FILE)
@click.argument("comparisons", type=FILE)
@options(MODEL_OPTIONS, ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@click.option(
    "-o",
    "--output",
    type=FILE,
    required=True,
    help="Model file to write, such as model.npz (-: standard output).",
)
@click.option(
    "--keep-data",
    is_flag=True,
    help="Keep the comparisons in the model file, for pairscore update.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print coefficients, errors and the like as JSON."
)
def fit(
    items: Path,
    comparisons: Path,
    output: Path,
    as_json: bool,
    self_pairs: bool,
    keep_data: bool,
    group: str | None,
    **given: Any,
) -> None:
    """Learn a score from ITEMS and COMPARISONS and write the model.

    Both are CSV, Parquet or JSONL files, by their suffix; - is CSV from standard input. Numeric
    columns of ITEMS are features. COMPARISONS has columns left, right, winner (left, right, tie or
    an id), or model_a, model_b, winner, or winner, loser; and, if you like, judge, weight, count.

    \b
    Examples: pairscore fit items.csv votes.csv -o model.npz
              pairscore fit wines.csv tastings.csv --id wine --categorical grape --square alcohol -o
              wines.npz pairscore fit teams.csv games.csv --left home --right away --side-effect
              --context rest_days -o teams.npz pairscore fit answers.csv votes.csv --l2 auto --group
              topic --judge-slopes --ties davidson -o answers.npz
    """
    checked_output(output, items, comparisons)
    settings = _model_settings(given)
    from pairscore.estimators.settings import DEFAULTS, check_settings
    from pairscore.files.read_study import read_study
    from pairscore.model.fit import fit_comparisons

    checked = check_settings(**settings)

    with bad_rows_beside(output), stage("Reading"):
        study = read_study(
            items,
            comparisons,
            columns=item_settings(given),
            vote_columns=vote_settings(given),
            self_pairs="keep" if self_pairs else "error",
            context=settings["context"] or (),
            group=group,
            delimiter=given["delimiter"],
            encoding=given["encoding"],
        )
    say_what_is_left_out(study.left_out, study.nested)
    groups = item_group_numbers(study, checked)
    with stage("Fitting"):
        result, notes = fit_comparisons(comparisons_of(study), checked, item_groups=groups)
    say_warnings(notes)
    finish(result, DEFAULTS | settings, output, as_json, keep_data)


def comparisons_of(study: Any) -> Any:
    """The items and votes of files as comparisons; items know how their features were made."""
    from dataclasses import replace

    from pairscore.data.comparisons import Comparisons

    return Comparisons.of(replace(study.items, recipe=study.recipe.to_record()), study.votes)


def item_group_numbers(study: Any, settings: Any) -> Any:
    """The group of every item as a number, where a column of groups was named."""
    import numpy as np

    from pairscore.data.folds import number_groups

    if study.groups is None:
        return None
    if not settings.choose_l2:
        raise PairscoreError(
            "item_groups are held out together where l2='auto' chooses the ridge for items and"
            f" votes, and l2 is {settings.l2!r}; leave them out."
        )
    return np.array(number_groups(study.groups, study.items, np.arange(len(study.items))))


def say_warnings(notes: Any) -> None:
    """What a fit warns of, each once, in the words of the command line."""
    for text in dict.fromkeys(text for _, text in notes):
        click.echo(f"Warning: {in_options(text)}", err=True)


@contextmanager
def said_warnings() -> Iterator[None]:
    """What the fit warns of, each once, in the words of the command line."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PairscoreWarning)
        yield
    for text in dict.fromkeys(str(warning.message) for warning in raised):
        click.echo(f"Warning: {in_options(text)}", err=True)


def finish(
    result: Any, params: dict[str, Any], output: Path, as_json: bool, keep_data: bool
) -> None:
    """Write a model and print its summary."""
    import numpy as np

    from pairscore.model.file import ModelFile, save_model
    from pairscore.model.summary import Summary

    summary = Summary(result)
    with output_path(output, "model.npz") as path:
        save_model(ModelFile(result, params, np.array([-1, 1])), path, keep_data)
    to_stderr = str(output) == "-"  # standard output is the model's then
    click.echo(
        (
            json.dumps(summary.to_record(), indent=2, allow_nan=False)
            if as_json
            else summary.text(notes=False)
        ),
        err=to_stderr,
    )


def _model_settings(given: dict[str, Any]) -> dict[str, Any]:
    shrinkage = given["shrinkage"]
    with suppress(TypeError, ValueError):  # None, or a word; the model says which words it knows
        shrinkage = float(shrinkage)
    l2 = given["l2"]
    with suppress(ValueError):
        l2 = float(l2)
    from pairscore.data.feature_options import split_names

    return {
        name: given[name] for name in ("method", "link", "judge_slopes", "ties", "item_effects")
    } | {
        "l2": l2,
        "side_effect": "judges" if given["side_by_judge"] else given["side_effect"],
        "context": split_names(given["context"]) or None,
        "shrinkage": shrinkage,
        "inference": None if given["inference"] == "none" else given["inference"],
    }


@click.command()
@click.argument("model", type=FILE)
@click.argument("items", type=FILE)
@click.option(
    "--id", "id", metavar="NAME", help="Column with the items' ids.  [default: as in the fit]"
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--simultaneous",
    is_flag=True,
    help="Intervals that hold for all items together, which are wider.",
)
@options(FILE_OPTIONS)
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="Write the ranking to this .csv, .parquet or .jsonl file (-: CSV to standard output).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the ranking as JSON.")
def rank(
    model: Path,
    items: Path,
    id: str | None,
    level: float,
    simultaneous: bool,
    output: Path | None,
    as_json: bool,
    **file: Any,
) -> None:
    """Rank ITEMS, old or new, best first, by the score in MODEL.

    ITEMS needs the columns that the fit used, under the same names; others do no harm. Features are
    made as in the fit. Columns of the ranking: id, score, low, high (an interval), rank, rank_low,
    rank_high, and outside: 1 if some feature lies beyond all items of the fit. Without -o, the
    first 20 are shown.

    \b
    Examples: pairscore rank model.npz new_items.csv
              pairscore rank model.npz new_items.parquet -o ranking.csv
    """
    checked_output(output, model, items, is_table=True)
    from pairscore.files.write import write_table

    if str(model) == str(items) == "-":
        raise PairscoreError(
            "standard input can be the model or the items, not both; name a file for one of them."
        )
    with bad_rows_beside(output):
        columns, dropped = _ranked(
            model, items, id, {"level": level, "simultaneous": simultaneous}, file
        )
    if dropped:
        click.echo(
            f"Note: {plural(dropped, 'item')} with missing values left out, as in the fit.",
            err=True,
        )
    if output is not None:
        write_table(columns, output)
    if as_json and str(output) != "-":
        click.echo(
            json.dumps(
                {"n_items": len(columns["id"]), "dropped": dropped, "ranking": _records(columns)},
                indent=2,
                allow_nan=False,
            )
        )
    elif output is None:
        click.echo(_screen(columns))


def _ranked(
    model_file: Path, items: Path, id: str | None, intervals: dict[str, Any], file: dict[str, Any]
) -> tuple[dict[str, Any], int]:
    """The ranking as columns, and how many items were left out for missing values."""
    from dataclasses import replace

    from pairscore.data.features import recipe_of
    from pairscore.files.faults import refused
    from pairscore.files.pieces import ItemPieces
    from pairscore.files.read_study import for_table, item_identifiers, recipe_choice
    from pairscore.files.tables import stored_table
    from pairscore.model.file import load_model
    from pairscore.model.ranking import rank_pieces

    with input_path(model_file) as path:
        model = load_model(path).fit
    recipe = recipe_of(model)
    recipe = recipe if id is None else replace(recipe, id=id)
    id_is_optional = id is None and model.recipe is None  # fitted in Python, where ids are
    reading: dict[str, Any] = {
        "identifiers": item_identifiers(recipe),
        "columns": recipe_choice(recipe, id_is_optional),
        "memory": MEMORY,
    }
    with stage("Reading") as show, stored_table(items, **reading, **file) as table:
        recipe = for_table(recipe, table.cells, id_is_optional)
        pieces = ItemPieces(table, recipe)
        try:
            watched = _watched(pieces, show, passes=1 if model.covariance is None else 3)
            columns = rank_pieces(
                model, watched, ids=lambda: pieces.ids if recipe.id else None, **intervals
            )
        except BadEntriesError as error:
            raise refused(pieces.faults(), table, {"id": recipe.id or "id"}) from error
    rows = columns.pop("row")
    return {"id": rows if pieces.ids is None else pieces.ids[rows], **columns}, pieces.dropped


def _watched(
    pieces: Any, show: Callable[[float], None], passes: int
) -> Callable[[], Iterator[Any]]:
    """The pieces, with a word on how far it is after each."""
    seen = 0

    def pass_through() -> Iterator[Any]:
        nonlocal seen
        for values in pieces():
            seen += len(values)
            yield values
            show(seen / (passes * pieces.n_rows))

    return pass_through


def _records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """One dict per item, with None for numbers that are not known."""
    lists = {
        name: [None if value != value else value for value in values.tolist()]
        for name, values in columns.items()
    }
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _screen(columns: dict[str, Any]) -> str:
    """The first items as a table for people."""
    n = len(columns["id"])
    shown = _records({name: values[:SHOWN_ROWS] for name, values in columns.items()})
    cells = [["rank", "id", "score", "interval", "ranks", ""]]
    for row in shown:
        interval = "unknown" if row["low"] is None else f"[{row['low']:.4g}, {row['high']:.4g}]"
        outside = "outside the fitted items" if row["outside"] else ""
        cells.append(
            [
                str(row["rank"]),
                str(row["id"]),
                f"{row['score']:.4g}",
                interval,
                f"{row['rank_low']}-{row['rank_high']}",
                outside,
            ]
        )
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(size) if place in (1, 5) else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in cells
    ]
    more = (
        [f"and {n - SHOWN_ROWS:,} more; -o ranking.csv writes them all."] if n > SHOWN_ROWS else []
    )
    return "\n".join(lines + more)
