"""The commands of sites: ``stats`` makes sums at one, ``merge`` puts those of all together."""

from pathlib import Path
from typing import Any

import click

from pairscore.choices import METHODS, NO_INFERENCE
from pairscore.cli.databases import DB_OPTIONS, parts_of, tables_of
from pairscore.cli.help import command, examples, section
from pairscore.cli.inputs import study_tables
from pairscore.cli.options import (
    CURVES_OPTION,
    FILE,
    ITEM_COLUMNS,
    LINK_OPTION,
    VOTE_COLUMNS,
    column_options,
    columns_given,
    file_argument,
    file_arguments,
    flag,
    json_flag,
    names,
    option,
    options,
    output_option,
    word,
)
from pairscore.cli.outputs import refuse_other_kind, refuse_output, show_written, write_model
from pairscore.cli.printing import collect_warnings, echo, show_json, show_note, show_warnings
from pairscore.cli.progress import stage
from pairscore.display import plural
from pairscore.errors import RoundNeededWarning

SITE_COLUMNS = (
    *section(
        ITEM_COLUMNS,
        option("--id", metavar="NAME", help="Column with the items' ids.  [default: id]"),
        names("--features", metavar="A,B", help="Columns to use as features."),
        names("--exclude", metavar="X,Y", help="Columns to leave out."),
        CURVES_OPTION,
    ),
    *section(
        "Columns of the comparisons, if they have other names",
        *column_options({name: of for name, of in VOTE_COLUMNS.items() if name != "judge"}),
    ),
)


@command()
@file_argument("items", required=False)
@file_arguments("comparisons", required=False)
@options(
    section(
        "Model",
        option(
            "--at",
            "model",
            type=FILE,
            help="Model that pairscore merge wrote: make sums at it, for its scale and intervals.",
        ),
        LINK_OPTION,
        word("--ties", ("half", "drop"), "A tie is half a win for each side, or left out.", "half"),
        flag("--side-effect", help="Keep apart who was on the left, for method mle."),
        flag(
            "--allow-small",
            help="Make sums of a site with fewer than 20 items, or than two for each feature.",
        ),
        option("--memory", default="1GB", help="What comparisons may take in memory, about."),
    ),
    SITE_COLUMNS,
    DB_OPTIONS,
)
@output_option("File of sums to write.", default=Path("site.npz"))
@json_flag("Print the number of items and comparisons as JSON.")
@examples(
    "stats items.csv votes.csv -o site.npz",
    "stats items.csv votes.csv --at merged.npz -o round.npz",
    "stats --db sqlite:///study.db --items 'SELECT id, mass FROM things'"
    " --comparisons 'SELECT a AS winner, b AS loser FROM games' -o site.npz",
)
def stats(
    items: Path | None,
    comparisons: tuple[Path, ...],
    model: Path | None,
    output: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Write sums over the ITEMS and COMPARISONS of one site, for pairscore merge.

    Sums say nothing about any one item. Sites may not have items in common. A second file, made at
    the merged model (--at), gives its scale and intervals; method mle takes a few such rounds.
    """
    items, comparisons, given = study_tables(items, comparisons, given)
    refuse_output(output, *(path for path in (items, *comparisons, model) if path))
    with tables_of(items, comparisons, given) as (first, *others):
        if not others:
            raise click.UsageError("Missing argument 'COMPARISONS...'.")
        write_sums(parts_of((first,)), parts_of(tuple(others)), model, output, as_json, given)


def write_sums(
    table: list[Any],
    votes: list[Any],
    model: Path | None,
    output: Path,
    as_json: bool,
    given: dict[str, Any],
) -> None:
    """Make the sums of a site, or those at a merged model, and write them."""
    from pairscore.model.regression import load
    from pairscore.streaming.rounds import save_round, site_round
    from pairscore.streaming.sites import save_site, site_sums

    common = columns_given(given) | {name: given[name] for name in ("allow_small", "memory")}
    with stage("Adding up"), collect_warnings() as texts:
        if model is None:
            kinds = {name: given[name] for name in ("link", "ties", "side_effect")}
            sums = site_sums(table, votes, **kinds, **common)
            save_site(sums, output)
            n_items = int(sums.numbers.n_items)
            m = sums.numbers.n_comparisons
        else:
            at = site_round(load(model), table, votes, **common)
            save_round(at, output)
            n_items = at.point.data.n_items
            m = at.point.total.numbers.n_comparisons
    show_warnings(texts)
    what = "all sites together" if model else "this site"
    if as_json:
        record = {"path": str(output), "n_items": n_items, "n_comparisons": m, "of": what}
        return show_json(record)
    number = plural(n_items, "compared item", digits=",")
    echo(f"{output}: sums, at {what} {number} and {m:,.10g} comparisons.")


@command()
@file_arguments("sums")
@options(
    section(
        "Model",
        word("--method", METHODS, "A closed form, or maximum likelihood in rounds.", "pooled"),
        option("--l2", type=click.FloatRange(min=0), default=0.0, help="Ridge, as in fit."),
        word("--inference", ("items", "model", NO_INFERENCE), "Intervals, as in fit.", "items"),
    )
)
@output_option("Model file to write.", default=Path("merged.npz"))
@json_flag("Print coefficients, standard errors and more as JSON.")
@examples(
    "merge site1.npz site2.npz -o merged.npz",
    "merge site1.npz site2.npz --method mle -o merged.npz",
)
def merge(
    sums: tuple[Path, ...], output: Path, as_json: bool, method: str, l2: float, inference: str
) -> None:
    """Fit a model to SUMS of sites that pairscore stats wrote.

    The result is that of all data together. Sums that sites made at a merged model (stats --at)
    have its method, and need no options.
    """
    refuse_output(output, *sums)
    refuse_other_kind(output)
    from pairscore.model.file import ModelFile
    from pairscore.streaming.merge import merge_files

    with stage("Merging"), collect_warnings() as texts:
        model = merge_files(sums, method=method, l2=l2, inference=inference)
    show_warnings(texts)
    file = ModelFile(model.result_, model.get_params(), model.classes_)
    write_model(file, output, as_json, keep_data=False)
    needs_round = RoundNeededWarning.__name__ in model.note_kinds_
    show_written(output, as_json, None if needs_round else "NEW_ITEMS.csv")
    if not as_json and needs_round:
        show_note(f"for each site: pairscore stats ITEMS COMPARISONS --at {output} -o round.npz")
