"""Commands about pairs: ``pairs`` writes those to compare, ``predict`` says who will win, and
``compare`` which model says it best.
"""

from pathlib import Path
from typing import Any

import click

from pairscore.cli.model_options import collect_warnings, parse_models, read_files
from pairscore.cli.options import (
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
    input_path,
    json_flag,
    list_bad_rows,
    option,
    options,
    output_option,
    refuse_output,
    second_table,
)
from pairscore.cli.words import (
    command,
    examples,
    section,
    show_json,
    show_unused_columns,
    show_warnings,
    stage,
)
from pairscore.errors import PairscoreError

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
        click.echo("\n".join([pairs_text(record), *map(str, paths)]))


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


# -- predict ---------------------------------------------------------------------------------------


@command()
@files("model", "items", "pairs")
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@options(section("Columns of the pairs", *column_options(PAIR_COLUMNS)), FILE_OPTIONS)
@output_option(
    "Write the chances to this .csv, .parquet or .jsonl file (-: CSV to standard output)."
)
@json_flag("Print the chances as JSON.")
@examples(
    "predict model.npz items.csv pairs.csv",
    "predict teams.npz teams.csv sunday.csv --left home --right away -o chances.csv",
)
def predict(
    model: Path, items: Path, pairs: Path, output: Path | None, as_json: bool, **given: Any
) -> None:
    """Predict for each of PAIRS how likely the left item is to win, with an interval.

    PAIRS has columns left and right with ids of ITEMS, old or new, and, if the fit had them, judge
    and context; a winner is not needed. Columns of the result: left, right, chance (that left wins,
    if it is not a tie), low and high (an interval for the chance); and tie, tie_low, tie_high if
    the model gives ties a probability. Without -o, the first 20 are shown.
    """
    refuse_output(output, model, items, pairs, is_table=True)
    if [str(path) for path in (model, items, pairs)].count("-") > 1:
        raise PairscoreError(
            "standard input can be only one of the model, the items and the pairs; name files for"
            " the others."
        )
    import numpy as np

    from pairscore.files.read_study import read_new_items, read_pairs
    from pairscore.files.write import row_records, write_table
    from pairscore.model.file import load_model
    from pairscore.model.ranking import pair_chances

    with list_bad_rows(output):
        with input_path(model) as path:
            fit = load_model(path).fit
        kept, context = fit.record.get("reading", {}), fit.settings.context or ()
        reading = file_settings(given, kept)
        table = read_new_items(items, fit, given["id"], **reading)
        named = {name: given[name] for name in PAIR_COLUMNS}
        columns = {"kept_columns": kept.get("vote_columns", {})}
        data = read_pairs(pairs, table, context, named, **columns, **reading)
    sides = {
        side: np.array([table.names[row] for row in rows])
        for side, rows in {"left": data.left, "right": data.right}.items()
    }
    sides |= {} if data.judge is None else {"judge": data.judge}
    result = {**sides, **pair_chances(fit, data, given["level"])}
    if output is not None:
        write_table(result, output)
    if as_json and str(output) != "-":
        show_json({"n_pairs": len(data), "chances": row_records(result)})
    elif output is None:
        click.echo(chances_text(result))


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
@options(ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS)
@json_flag("Print everything as JSON.")
@examples(
    "compare items.csv votes.csv",
    "compare items.csv votes.csv --model 'plain:' --model 'judges: l2=auto judge_slopes=yes'"
    " --group topic",
)
def compare(
    items: Path,
    comparisons: tuple[Path, ...],
    models: tuple[str, ...],
    folds: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Compare models on comparisons that they have not seen: of known items, of known with new,
    and of new items.

    Settings are those of fit, as name=value: method, link, l2, side_effect, judge_slopes, context
    (a+b), ties, item_effects. Without --model, plain maximum likelihood is compared with a ridge
    chosen from the data.
    """
    from pairscore.data.splitters import ItemKFold
    from pairscore.evaluation.compare import compare as compare_models
    from pairscore.model.regression import RankRegression

    settings = parse_models(models or ("plain:", "ridge: l2=auto"))
    context = sorted({name for one in settings.values() for name in one.get("context") or ()})
    with stage("Reading"):
        study = read_files(items, second_table(items, comparisons), context, given)
    show_unused_columns(study)
    candidates = {name: RankRegression(**one, inference=None) for name, one in settings.items()}
    data = study.comparisons
    data = data if study.groups is None else data.with_item_groups(study.groups)
    with stage("Fitting every model in every fold"), collect_warnings() as texts:
        result = compare_models(candidates, data, cv=ItemKFold(folds))
    show_warnings(texts)
    if as_json:
        show_json(result.to_record())
    else:
        click.echo(str(result))
