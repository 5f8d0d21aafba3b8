"""What is larger than memory, lies at several sites (``stats``, ``merge``) or in a database."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import DB_VARIABLE, METHODS, NO_INFERENCE
from pairscore.cli.model_options import collect_warnings, number_or_word, write_model
from pairscore.cli.options import (
    FILE,
    ITEM_COLUMNS,
    LINK_OPTION,
    SELF_PAIRS_OPTION,
    VOTE_COLUMNS,
    column_options,
    files,
    flag,
    json_flag,
    option,
    options,
    output_option,
    refuse_other_kind,
    refuse_output,
    word,
)
from pairscore.cli.progress import stage
from pairscore.cli.words import (
    command,
    echo,
    examples,
    section,
    show_json,
    show_note,
    show_warnings,
    show_written,
)
from pairscore.display import plural
from pairscore.errors import PairscoreError, RoundNeededWarning
from pairscore.passwords import without_password

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

STREAM_OPTIONS = section(
    "Larger than memory",
    flag(
        "--stream",
        help="Read the comparisons in parts, which need not fit into memory. COMPARISONS may be"
        " folders, patterns in quotes ('games/*.parquet') and addresses (s3://bucket/games).",
    ),
    option(
        "--memory",
        default="1GB",
        help="With --stream: what comparisons may take in memory, about.",
    ),
    option("--threads", type=click.IntRange(min=1), help="With --stream: threads to use."),
    option(
        "--engine",
        metavar="ADDRESS",
        help="With --stream: a cluster to use, as dask://host:8786 or spark://host:7077.",
    ),
    option(
        "--scratch",
        type=FILE,
        metavar="FOLDER",
        help="With --stream: where temporary files go. With --engine every worker must reach it.",
    ),
    option(
        "--checkpoint",
        type=FILE,
        help="With --stream: file from which the fit goes on if it is ended; removed when done.",
    ),
)
DB_OPTIONS = section(
    "From a database",
    option(
        "--db",
        metavar="URL",
        help="Database to read from, such as sqlite:///study.db or postgresql://user@host/name."
        f" A password may be in it, and is kept nowhere.  [default: that in {DB_VARIABLE}]",
    ),
    option("--items", "items_query", metavar="SELECT", help="Query that gives the items."),
    option(
        "--comparisons",
        "comparisons_query",
        metavar="SELECT",
        help="Query that gives the comparisons.",
    ),
)
ONLY_IN_PARTS = ("memory", "threads", "engine", "scratch", "checkpoint")
# options of fit that need all comparisons at once, or files as a table in memory
NOT_IN_PARTS = (
    *("auto", "use", "group", "side_by_judge", "item_effects", "judge_slopes", "context"),
    *("reference", "categorical", "squares", "interactions", "missing", "winner_codes", "judge"),
    *("delimiter", "encoding", "decimal", "na", "sheet", "n_jobs"),
)


# -- fits in parts, and sums of sites --------------------------------------------------------------


def fit_in_parts(items: Path, comparisons: tuple[Path, ...], given: dict[str, Any]) -> Any:
    """The model of ``fit --stream``."""
    from pairscore.streaming.fit import fit_stream

    refuse_whole_tables()
    if given["threads"] and given["engine"]:
        raise PairscoreError(
            "--threads asks for threads of this machine, and --engine for a cluster; leave one of"
            " the two out."
        )
    if given["checkpoint"] and given["comparisons_query"]:
        raise PairscoreError(
            "--checkpoint goes on where a fit was ended, and a query may give its rows in another"
            " order the next time; leave --checkpoint out."
        )
    settings = {name: given[name] for name in ("method", "link", "ties", "side_effect", "memory")}
    with stage("Reading") as show, collect_warnings() as texts:
        model: RankRegression = fit_stream(
            parts_of((items,)),
            parts_of(comparisons),
            **settings,
            l2=number_or_word(given["l2"]) or 0.0,
            shrinkage=number_or_word(given["shrinkage"]),
            inference=given["inference"],
            self_pairs="keep" if given["self_pairs"] else "error",
            n_jobs=given["threads"],
            engine=given["engine"],
            scratch=given["scratch"],
            checkpoint=given["checkpoint"],
            progress=lambda progress: show(progress.share, 1.0),
            **columns_given(given),
        )
    show_warnings(texts)
    return model


def columns_given(given: dict[str, Any]) -> dict[str, Any]:
    """Columns of items and comparisons that options name."""
    from pairscore.cli.options import split_names

    names = (*VOTE_COLUMNS, "id")
    columns: dict[str, Any] = {name: given[name] for name in names if given.get(name)}
    lists = {name: split_names(given[name]) for name in ("features", "exclude")}
    return columns | {name: of for name, of in lists.items() if of}


def first_typed(names: tuple[str, ...]) -> str | None:
    """The first of these options that was typed, as the command line has it."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    asked = [name for name in names if context.get_parameter_source(name) == typed]
    options = {one.name: max(one.opts, key=len) for one in context.command.params}
    return options[asked[0]] if asked else None


def refuse_only_in_parts() -> None:
    """Options that are of use with --stream only."""
    if asked := first_typed(ONLY_IN_PARTS):
        raise PairscoreError(
            f"{asked} is for data that are read in parts; add --stream, or leave it out."
        )


def refuse_whole_tables() -> None:
    """Options that --stream has no use for."""
    if asked := first_typed(NOT_IN_PARTS):
        raise PairscoreError(
            f"{asked} needs all data in memory, and --stream reads them in parts; leave"
            " one of the two out."
        )


def address(path: Path) -> str:
    """A file or an address as it was written: a path has one slash where an address has two."""
    return re.sub(r"^([a-z][a-z0-9+]*):/(?=[^/])", r"\1://", str(path))


# -- databases ---------------------------------------------------------------------------------


@contextmanager
def tables_of(
    items: Path | None,
    comparisons: tuple[Path, ...],
    given: dict[str, Any],
    comparisons_alone: bool = False,
) -> Iterator[list[Any]]:
    """The items, if there are any, then the comparisons: files, or rows of queries.

    A table that is a query takes the place of its file.
    """
    files = [*([] if items is None else [items]), *comparisons]
    asked = {name: given[f"{name}_query"] for name in ("items", "comparisons")}
    queries = {name: query for name, query in asked.items() if query}
    if not queries:
        if given["db"]:
            raise PairscoreError(
                "--db names a database, and no query; add --comparisons 'SELECT ...', and --items"
                " 'SELECT ...' if items have features."
            )
        if not files:
            raise click.UsageError(
                "Missing files: give ITEMS and COMPARISONS, or COMPARISONS alone."
                if comparisons_alone
                else "Missing files: give ITEMS and COMPARISONS."
            )
        yield files
        return
    if "comparisons" in queries and len(files) > ("items" not in queries):
        raise PairscoreError(
            f"--comparisons is a query, and {str(files[-1])!r} would be more comparisons; leave one"
            " of the two out."
        )
    if "comparisons" not in queries and not files:
        raise click.UsageError("Missing option '--comparisons'.")
    from pairscore.files.queries import query_tables

    with query_tables(database_url(given["db"]), queries) as tables:
        first, last = ([tables[name]] if name in tables else [] for name in asked)
        yield [*first, *files, *last]


def database_url(given: str | None) -> str:
    """The address of the database; with the password, which may be in the environment alone."""
    known = os.environ.get(DB_VARIABLE)
    if known and given in (None, without_password(known)):
        return known
    if not given:
        raise PairscoreError(
            f"there is no database for the query; name it with --db, or in {DB_VARIABLE}."
        )
    return given


def parts_of(tables: tuple[Any, ...]) -> list[Any]:
    """Files by name or address; parts of files where some are rows of queries."""
    from pairscore.files.partitions import partitions

    names = [address(table) if isinstance(table, Path) else table for table in tables]
    if all(isinstance(table, str) for table in names):
        return names
    parts = [partitions(one) if isinstance(one, str) else one.partitions() for one in names]
    return [part for some in parts for part in some]


# -- sites -------------------------------------------------------------------------------------


SITE_COLUMNS = (
    *section(
        ITEM_COLUMNS,
        option("--id", metavar="NAME", help="Column with the items' ids.  [default: id]"),
        option("--features", multiple=True, metavar="A,B", help="Columns to use as features."),
        option("--exclude", multiple=True, metavar="X,Y", help="Columns to leave out."),
    ),
    *section(
        "Columns of the comparisons",
        *column_options({name: of for name, of in VOTE_COLUMNS.items() if name != "judge"}),
    ),
)


@command()
@files("[items]", "[comparisons...]")
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
        SELF_PAIRS_OPTION,
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
    common["self_pairs"] = "keep" if given["self_pairs"] else "error"
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
@files("sums...")
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
