"""Commands about pairs: ``pairs`` writes those to compare, ``predict`` says who will win."""

from pathlib import Path
from typing import Any

import click

from pairscore.cli.options import (
    FILE_OPTIONS,
    PERCENTAGE,
    SEED,
    examples,
    file_settings,
    files,
    json_flag,
    list_bad_rows,
    option,
    options,
    output_option,
    refuse_output,
    show_json,
)
from pairscore.errors import PairscoreError

# -- pairs -----------------------------------------------------------------------------------------


@click.command()
@files("items")
@option(
    "--comparisons",
    "n_comparisons",
    type=int,
    required=True,
    help="Number of comparisons of all judges together, repeats included.",
)
@option("--judges", default="1", metavar="N|A,B,C", help="How many judges, or their names.")
@option(
    "--repeats",
    type=PERCENTAGE,
    default="0",
    help="Share of each judge's comparisons that are a pair again, such as 5%.",
)
@option("--show", multiple=True, metavar="X,Y", help="Columns of ITEMS to show next to the ids.")
@option("--id", metavar="NAME", help="Column with the items' ids.  [default: id]")
@option("--seed", type=SEED, default=0, help="Seed of pairs, sides and order.")
@options(FILE_OPTIONS)
@output_option("Workbook (.xlsx) with a sheet for each judge, or .csv.", required=True)
@json_flag("Print what was written as JSON.")
@examples(
    "pairs images.csv --comparisons 900 --judges 3 --repeats 5% -o sheet.xlsx",
    "pairs wines.csv --id wine --show name,year --comparisons 400 --judges Anna,Ben -o sheet.csv",
)
def pairs(items: Path, judges: str, seed: int, output: Path, as_json: bool, **given: Any) -> None:
    """Write the pairs to compare, one sheet for each judge, with an empty column winner.

    Pairs, sides and order are random; every item is in as many comparisons as any other, within
    one; no pair occurs twice before all have occurred. The judge writes left, right or tie into
    winner, and fit reads the filled sheets. As .csv, several judges have a file each.
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
