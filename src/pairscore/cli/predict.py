"""The command ``predict``: how likely the left item of a pair is to win."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pairscore.cli.help import command, examples, section
from pairscore.cli.inputs import input_path, list_bad_rows, with_study_file
from pairscore.cli.options import (
    EXCEL_SAFE_OPTION,
    ID_OF_FIT_OPTION,
    SHARE,
    VOTE_COLUMNS,
    column_options,
    file_argument,
    file_settings,
    json_flag,
    option,
    options,
    output_option,
)
from pairscore.cli.outputs import refuse_output, show_written
from pairscore.cli.printing import echo, show_json
from pairscore.cli.progress import stage
from pairscore.errors import PairscoreError

SHOWN_PAIRS = 20  # of predictions, on the screen
PAIR_COLUMNS = ("left", "right", "judge")
# which a model that was fitted to winners and losers does not know
SIDE_OPTIONS = section(
    "Columns of the pairs, if they have other names than in the fit",
    *column_options({side: VOTE_COLUMNS[side] for side in ("left", "right")}),
)


@command()
@file_argument("model")
@file_argument("items")
@file_argument("pairs", required=False)
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@options(SIDE_OPTIONS)
@output_option(
    "Write the chances to this .csv, .xlsx, .parquet or .jsonl file (-: CSV to standard output)."
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
    alone takes PAIRS without ITEMS. Files are read as those of the fit; a study file (.toml) in
    place of ITEMS may say otherwise.
    """
    table_file, others, given = with_study_file(items, () if pairs is None else (pairs,), given)
    named_files = [path for path in (table_file, *others) if path is not None]
    items, pairs = named_files[0], named_files[1] if len(named_files) > 1 else None
    given_files = [model, items, *([pairs] if pairs else [])]
    refuse_output(output, *given_files, is_table=True)
    if [str(path) for path in given_files].count("-") > 1:
        raise PairscoreError(
            "standard input can be only one of the model, the items and the pairs; name files for"
            " the others."
        )
    import numpy as np

    from pairscore.data.tables import Columns
    from pairscore.files.new_comparisons import read_pairs
    from pairscore.files.new_items import find_id_for_pairs, read_new_items
    from pairscore.files.tables import OpenFiles
    from pairscore.files.write import write_table
    from pairscore.model.file import load_model
    from pairscore.model.item_lookup import items_of_fit
    from pairscore.model.predict import pair_chances
    from pairscore.records import row_records

    with list_bad_rows(output), stage("Reading"), OpenFiles() as files:
        with input_path(model) as path:
            fit = load_model(path).fit
        kept, context = fit.record.get("reading", {}), fit.settings.context or ()
        reading = file_settings(given, kept) | {"files": files}
        if (pairs is None) == bool(fit.n_features):
            with_items = "ITEMS and PAIRS" if fit.n_features else "PAIRS alone"
            raise click.UsageError(f"This model takes {with_items}.")
        of_pairs = reading | {"kept_columns": kept.get("vote_columns", {})}
        named, id = {name: given.get(name) for name in PAIR_COLUMNS}, given["id"]
        if pairs is None:
            table, pairs = replace(items_of_fit(fit), backend=Columns), items
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
    from pairscore.display import text_table
    from pairscore.records import row_records

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
