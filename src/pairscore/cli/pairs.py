"""Commands about items and pairs: ``pairs`` writes those to compare, ``rank`` ranks items,
``predict`` says who will win, and ``compare`` which model says it best.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.cli.model_options import (
    SCALE_OPTION,
    collect_warnings,
    parse_models,
    read_alone,
    read_files,
)
from pairscore.cli.options import (
    EXCEL_SAFE_OPTION,
    FILE_OPTIONS,
    ID_OF_FIT_OPTION,
    ITEM_OPTIONS,
    PERCENTAGE,
    SEED,
    SHARE,
    VOTE_COLUMNS,
    VOTE_OPTIONS,
    column_options,
    file_settings,
    files,
    flag,
    input_path,
    is_alone,
    json_flag,
    list_bad_rows,
    option,
    options,
    output_option,
    processes_option,
    refuse_output,
    second_table,
)
from pairscore.cli.words import (
    command,
    echo,
    examples,
    ranking_text,
    section,
    show_json,
    show_note,
    show_text,
    show_unused_columns,
    show_warnings,
    show_written,
    with_id_name,
)
from pairscore.errors import BadEntriesError, PairscoreError, plural
from pairscore.parts.progress import stage, with_progress

if TYPE_CHECKING:
    from pairscore.estimators.results import Fit

MEMORY = "1GB"  # of a table to rank; what is beyond goes to disk
SHOWN_PAIRS = 20  # of predictions, on the screen
PAIR_COLUMNS = {name: VOTE_COLUMNS[name] for name in ("left", "right", "judge")}

# -- pairs -----------------------------------------------------------------------------------------


@command()
@files("items")
@option(
    "--comparisons",
    "n_comparisons",
    type=int,
    required=True,
    help="Number of comparisons of all judges together, with repeats.",
)
@option("--judges", default="1", metavar="N|A,B,C", help="How many judges, or their names.")
@option(
    "--repeats",
    type=PERCENTAGE,
    default="0",
    help="Share of each judge's comparisons that repeat a pair of that judge, such as 5%.",
)
@option(
    "--shared",
    type=PERCENTAGE,
    default="0",
    help="Share of each judge's comparisons whose pair another judge gets too, such as 10%.",
)
@option("--show", multiple=True, metavar="X,Y", help="Columns of ITEMS to show next to the ids.")
@option("--id", metavar="NAME", help="Column with the items' ids.  [default: id]")
@option("--seed", type=SEED, default=0, help="Seed of pairs, sides and order.")
@options(FILE_OPTIONS)
@output_option("Workbook (.xlsx) with a sheet for each judge, or .csv.", required=True)
@json_flag("Print what was written as JSON.")
@examples(
    "pairs images.csv --comparisons 900 --judges 3 --repeats 5% --shared 10% -o sheet.xlsx",
    "pairs wines.csv --id wine --show name,year --comparisons 400 --judges Anna,Ben -o sheet.csv",
)
def pairs(items: Path, judges: str, seed: int, output: Path, as_json: bool, **given: Any) -> None:
    """Write the pairs to compare, one sheet for each judge, with an empty column winner.

    Pairs, sides and order are random. All items are compared equally often, and no pair occurs
    twice before all pairs have occurred, other than by --repeats and --shared. Each judge writes
    left, right or tie into the column winner, and fit reads the filled sheets. As .csv, each judge
    gets a file.
    """
    refuse_output(output, items, is_table=output.suffix.lower() != ".xlsx")
    import numpy as np

    from pairscore.data.feature_options import split_names
    from pairscore.planning.pairs import (
        design_pairs,
        pairs_record,
        pairs_text,
        read_shown,
        write_sheets,
    )

    names = judge_names(judges)
    show = split_names(given["show"])
    with list_bad_rows(output):
        table = read_shown(items, given["id"], show, **file_settings(given))
    design = design_pairs(
        len(table["id"]),
        given["n_comparisons"],
        np.random.default_rng(seed),
        n_judges=len(names),
        repeats=given["repeats"],
        shared=given["shared"],
    )
    paths = write_sheets(design, table, names, output)
    record = pairs_record(design, len(table["id"]), names) | {"seed": seed}
    if as_json:
        show_json(record | {"paths": [str(path) for path in paths]})
    else:
        echo("\n".join([pairs_text(record), *map(str, paths)]))


def judge_names(judges: str) -> list[str]:
    """The names of judges: judge1, judge2, ... if their number is given."""
    if judges.strip().isdecimal() and int(judges) > 0:
        return [f"judge{number + 1}" for number in range(int(judges))]
    names = [name.strip() for name in judges.split(",")]
    if judges.strip().lstrip("-").isdecimal() or not all(names) or len({*names}) < len(names):
        raise PairscoreError(
            f"--judges is {judges!r}; give the number of judges, or different names with commas."
        )
    return names


# -- rank ------------------------------------------------------------------------------------------


@command()
@files("model", "[items]")
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@flag("--simultaneous", help="Wider intervals that hold for all items together.")
@SCALE_OPTION
@options(FILE_OPTIONS)
@output_option(
    "Write the ranking to this .csv, .parquet or .jsonl file (-: CSV to standard output)."
)
@EXCEL_SAFE_OPTION
@json_flag("Print the ranking as JSON.")
@examples("rank model.npz new_items.csv", "rank model.npz new_items.parquet -o ranking.csv")
def rank(model: Path, items: Path | None, output: Path | None, as_json: bool, **given: Any) -> None:
    """Rank ITEMS, old or new, highest first, by the score in MODEL.

    A model of comparisons alone ranks the items that were compared, without ITEMS.
    ITEMS needs the columns that the fit used, under the same names; other columns are ignored.
    Features are made as in the fit. Columns of the ranking: id, score, low, high (an interval),
    rank, rank_low, rank_high, and outside: 1 if some feature lies outside the range of the fit;
    with new items, place_low and place_high: where each would rank among the items of the fit.
    Where a feature never differs between two compared items (such as the year), ranks are within
    groups of items that are equal in it, and a column group names them. Without -o, the first 20
    are shown.
    """
    refuse_output(output, model, *([items] if items else []), is_table=True)
    from pairscore.data.features import recipe_of
    from pairscore.files.write import row_records, write_table
    from pairscore.model.file import load_model

    if str(model) == str(items) == "-":
        raise PairscoreError(
            "standard input can be the model or the items, not both; name a file for one of them."
        )
    with input_path(model) as path:
        fit = load_model(path).fit
    reading = file_settings(given, fit.record.get("reading"))
    with list_bad_rows(output, reading["decimal"]):
        asked = {name: given[name] for name in ("level", "simultaneous", "scale")}
        if fit.n_features == 0:
            ranking, dropped = rank_compared(fit, items, **asked), 0
        elif items is None:
            raise click.UsageError("Missing argument 'ITEMS'.")
        else:
            ranking, dropped = rank_file(fit, items, given["id"], **asked, **reading)
    if dropped:
        show_note(f"{plural(dropped, 'item')} with missing values left out, as in the fit.")
    named = with_id_name(ranking, given["id"] or recipe_of(fit).id)
    if output is not None:
        write_table(named, output, reading["decimal"], excel_safe=given["excel_safe"])
        show_written(output, as_json)
    if as_json and str(output) != "-":
        about = {"n_items": len(ranking["id"]), "dropped": dropped, "scale": given["scale"]}
        show_json(about | {"ranking": row_records(ranking)})
    elif output is None:
        show_text(ranking_text(ranking, fit, given["scale"], next(iter(named))))


def rank_compared(fit: "Fit", items: Path | None, **asked: Any) -> dict[str, Any]:
    """The ranking of the items of a fit without features, as columns."""
    from pairscore.data.tables import Columns
    from pairscore.model.fit_input import compared_items
    from pairscore.model.ranking import rank_items

    if items is not None:
        raise PairscoreError(
            "the model was fitted to comparisons alone, and ranks the items that were compared;"
            " leave ITEMS out."
        )
    return dict(rank_items(fit, replace(compared_items(fit), backend=Columns), **asked))


def rank_file(
    fit: "Fit",
    items: Path,
    id: str | None,
    level: float,
    simultaneous: bool,
    scale: str = "link",
    **reading: Any,
) -> tuple[dict[str, Any], int]:
    """Rank the items of a file of any size, piece by piece.

    Returns the ranking as columns, best item first, and how many items were left out for missing
    values.
    """
    from pairscore.data.features import recipe_of
    from pairscore.files.study_columns import ItemColumns, ItemPieces
    from pairscore.files.tables import stored_table
    from pairscore.files.typed import first_sheet
    from pairscore.files.write import locate_faults
    from pairscore.model.ranking import rank_pieces

    recipe = recipe_of(fit) if id is None else replace(recipe_of(fit), id=id)
    # a model that was fitted in Python may know its items by row number
    needed = ItemColumns(recipe=recipe, id_is_optional=id is None and fit.recipe is None)
    reading |= {"columns": needed.choose, "identifiers": needed.identifiers}
    reading["sheet"] = first_sheet(reading["sheet"])
    with stage("Reading") as show, stored_table(items, memory=MEMORY, **reading) as table:
        recipe = needed.recipe_for(table.cells)
        pieces = ItemPieces(table, recipe)
        try:
            columns = rank_pieces(
                fit,
                with_progress(pieces, show, n_passes=1 if fit.covariance is None else 3),
                ids=lambda: pieces.ids if recipe.id else None,
                level=level,
                simultaneous=simultaneous,
                scale=scale,
            )
        except BadEntriesError as error:
            raise locate_faults(pieces.faults(), table, {"id": recipe.id or "id"}) from error
    rows = columns.pop("row")
    return {"id": rows if pieces.ids is None else pieces.ids[rows], **columns}, pieces.dropped


# -- predict ---------------------------------------------------------------------------------------


@command()
@files("model", "items", "[pairs]")
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@options(section("Columns of the pairs", *column_options(PAIR_COLUMNS)), FILE_OPTIONS)
@output_option(
    "Write the chances to this .csv, .parquet or .jsonl file (-: CSV to standard output)."
)
@EXCEL_SAFE_OPTION
@json_flag("Print the chances as JSON.")
@examples(
    "predict model.npz items.csv pairs.csv",
    "predict teams.npz teams.csv sunday.csv --left home --right away -o chances.csv",
)
def predict(
    model: Path, items: Path, pairs: Path | None, output: Path | None, as_json: bool, **given: Any
) -> None:
    """Predict for each of PAIRS how likely the left item is to win, with an interval.

    PAIRS has columns left and right with ids of ITEMS, old or new, and, if the fit had them, judge
    and context; a winner is not needed. Columns of the result: left, right, chance (that left wins,
    if it is not a tie), low and high (an interval for the chance); and tie, tie_low, tie_high if
    the model gives ties a probability. Without -o, the first 20 are shown. A model of comparisons
    alone takes PAIRS without ITEMS.
    """
    given_files = [model, items, *([pairs] if pairs else [])]
    refuse_output(output, *given_files, is_table=True)
    if [str(path) for path in given_files].count("-") > 1:
        raise PairscoreError(
            "standard input can be only one of the model, the items and the pairs; name files for"
            " the others."
        )
    import numpy as np

    from pairscore.data.tables import Columns
    from pairscore.files.read_study import find_id_for_pairs, read_new_items, read_pairs
    from pairscore.files.write import row_records, write_table
    from pairscore.model.file import load_model
    from pairscore.model.fit_input import compared_items
    from pairscore.model.ranking import pair_chances

    with list_bad_rows(output), stage("Reading"):
        with input_path(model) as path:
            fit = load_model(path).fit
        kept, context = fit.record.get("reading", {}), fit.settings.context or ()
        reading = file_settings(given, kept)
        if (pairs is None) == bool(fit.n_features):
            with_items = "ITEMS and PAIRS" if fit.n_features else "PAIRS alone"
            raise click.UsageError(f"This model takes {with_items}.")
        of_pairs = reading | {"kept_columns": kept.get("vote_columns", {})}
        named, id = {name: given[name] for name in PAIR_COLUMNS}, given["id"]
        if pairs is None:
            table, pairs = replace(compared_items(fit), backend=Columns), items
        else:
            if id is None and fit.recipe is None and "-" not in (str(items), str(pairs)):
                id = find_id_for_pairs(items, pairs, fit, context, named, **of_pairs)
            table = read_new_items(items, fit, id, **reading)
        data = read_pairs(pairs, table, context, named, **of_pairs)
    sides = {
        side: np.array([table.names[row] for row in rows])
        for side, rows in {"left": data.left, "right": data.right}.items()
    }
    sides |= {} if data.judge is None else {"judge": data.judge}
    result = {**sides, **pair_chances(fit, data, given["level"])}
    if output is not None:
        write_table(result, output, excel_safe=given["excel_safe"])
        show_written(output, as_json)
    if as_json and str(output) != "-":
        show_json({"n_pairs": len(data), "chances": row_records(result)})
    elif output is None:
        echo(chances_text(result))


def chances_text(chances: dict[str, Any]) -> str:
    """The first chances as a table for the screen."""
    from pairscore.files.write import row_records, text_table

    def percent(row: dict[str, Any], value: str, low: str, high: str) -> tuple[str, str]:
        ends = row[low], row[high]
        interval = "unknown" if None in ends else " to ".join(f"{100 * end:.1f}" for end in ends)
        return f"{100 * row[value]:.1f} %", interval if interval == "unknown" else f"{interval} %"

    first = row_records({name: values[:SHOWN_PAIRS] for name, values in chances.items()})
    header = ["left", "right", "left wins", "interval"]
    header += ["tie", "interval"] if "tie" in chances else []
    rows = [
        (row["left"], row["right"], *percent(row, "chance", "low", "high"))
        + (percent(row, "tie", "tie_low", "tie_high") if "tie" in chances else ())
        for row in first
    ]
    text = text_table(header, rows, "{:<}  {:<}" + "  {:>}" * (len(header) - 2))
    n_more = len(chances["left"]) - len(first)
    return text + (f"\nand {n_more:,} more; -o chances.csv writes them all." if n_more else "")


# -- compare ---------------------------------------------------------------------------------------


@command()
@files("items", "[comparisons...]")
@option(
    "--model",
    "models",
    multiple=True,
    metavar="'NAME: SETTINGS'",
    help="A model by a name and settings such as 'ridge: l2=auto'; give several.",
)
@option("--folds", type=click.IntRange(min=2), default=5, help="Number of folds of items.")
@option(
    "--group",
    metavar="NAME",
    help="Column of ITEMS: items of one group (topic, patient) are held out together.",
)
@processes_option("Fits side by side, of every model in every fold.  [default: 1]")
@options(ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@json_flag("Print everything as JSON.")
@examples(
    "compare items.csv votes.csv",
    "compare items.csv votes.csv --model 'features:' --model 'abilities: features=no'",
    "compare items.csv votes.csv --model 'plain:' --model 'judges: l2=auto judge-slopes=yes'"
    " --group topic",
)
def compare(
    items: Path,
    comparisons: tuple[Path, ...],
    models: tuple[str, ...],
    folds: int,
    n_jobs: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare models on comparisons that they have not seen: of known items, of known with new,
    and of new items.

    Settings are those of fit, as name=value: method, link, l2, side-effect, judge-slopes, context
    (a+b), ties, item-effects; and features=no, which ignores the features and gives every item its
    own ability. Without --model, plain maximum likelihood is compared with a ridge chosen from the
    data. One file alone has comparisons: abilities as they are and shrunk are compared. Abilities
    are tested on known items only.
    """
    from pairscore.data.splitters import ItemKFold
    from pairscore.estimators.fit_data import FitData
    from pairscore.evaluation.compare import compare as compare_models

    alone = is_alone(items, comparisons)
    other = "shrunk: item-effects=yes" if alone else "ridge: l2=auto"
    settings = parse_models(models or ("plain:", other))
    context = sorted({name for one in settings.values() for name in one.get("context") or ()})
    with stage("Reading"):
        if alone:
            study = read_alone(items, context, given)
        else:
            study = read_files(items, second_table(items, comparisons), context, given)
    show_unused_columns(study)
    candidates = {name: candidate(**one) for name, one in settings.items()}
    data = study.comparisons
    if alone and not models and (n_groups := FitData(data, False).n_groups) > 1:
        del candidates["plain"]
        show_note(
            f"the items fall into {n_groups} groups that were never compared with each other, so"
            " that plain abilities have no common scale; only shrunk ones are tested."
        )
    data = data if study.groups is None else data.with_item_groups(study.groups)
    with stage("Fitting every model in every fold") as show, collect_warnings() as texts:
        cv = ItemKFold(folds)
        result = compare_models(candidates, data, cv=cv, n_jobs=n_jobs, progress=show)
    show_warnings(texts)
    if as_json:
        show_json(result.to_record())
    else:
        echo(str(result))


def candidate(features: bool = True, **settings: Any) -> Any:
    """A model to compare, which may ignore the features."""
    from pairscore.evaluation.compare import WithoutFeatures
    from pairscore.model.regression import RankRegression

    model = RankRegression(**settings, inference=None)
    return model if features else WithoutFeatures(model)
