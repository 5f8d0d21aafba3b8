"""The command ``pairs``: the pairs to compare, as sheets for the judges."""

from pathlib import Path
from typing import Any

from pairscore.cli.help import command, examples
from pairscore.cli.inputs import list_bad_rows, with_study_file
from pairscore.cli.options import (
    FILE_OPTIONS,
    PERCENTAGE,
    SEED,
    file_argument,
    file_settings,
    json_flag,
    names,
    option,
    options,
    output_option,
)
from pairscore.cli.outputs import refuse_output
from pairscore.cli.printing import echo, show_json
from pairscore.errors import PairscoreError


@command()
@file_argument("items")
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
@names("--show", metavar="X,Y", help="Columns of ITEMS to show next to the ids.")
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
    gets a file. ITEMS may be a study file (.toml) that names them.
    """
    refuse_output(output, items, is_table=output.suffix.lower() != ".xlsx")
    import numpy as np

    from pairscore.planning.judging_sheets import read_shown, write_sheets
    from pairscore.planning.pairs import design_pairs, pairs_record, pairs_text

    table_file, _, given = with_study_file(items, (), given)
    if table_file is None:
        raise PairscoreError(f'{str(items)!r} names no items; add items = "..." below [tables].')
    judged_by, show = judge_names(judges), given["show"]
    with list_bad_rows(output):
        table = read_shown(table_file, given["id"], show, **file_settings(given))
    design = design_pairs(
        len(table["id"]),
        given["n_comparisons"],
        np.random.default_rng(seed),
        n_judges=len(judged_by),
        repeats=given["repeats"],
        shared=given["shared"],
    )
    paths = write_sheets(design, table, judged_by, output)
    record = pairs_record(design, len(table["id"]), judged_by) | {"seed": seed}
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
