"""Fits of the command line to comparisons that are read in parts."""

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pairscore.cli.databases import parts_of
from pairscore.cli.inputs import kept_reading
from pairscore.cli.memory import InParts
from pairscore.cli.options import (
    VOTE_COLUMNS,
    columns_given,
    wording_settings,
)
from pairscore.cli.outputs import refuse_output, show_written, write_model
from pairscore.cli.printing import (
    collect_warnings,
    show_note,
    show_warnings,
)
from pairscore.cli.progress import stage
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

STREAM_MEMORY = "1GB"  # that comparisons take while they are read in parts
ONLY_IN_PARTS = ("engine", "scratch", "checkpoint")
# options of fit that need all comparisons at once, or files as a table in memory
NOT_IN_PARTS = (
    *("auto", "use", "group", "item_effects", "judge_slopes", "context"),
    *("reference", "categorical", "squares", "interactions", "missing", "winner_codes", "judge"),
    "sheet",
)
SAID_OF_CSV = ("delimiter", "encoding", "decimal", "na")
# of these, what a study file may say for other commands and makes no difference to a stream
IDLE_IN_PARTS = ("judge", "group", "sheet")


def write_stream(
    items: Path,
    comparisons: tuple[Path, ...],
    output: Path,
    page: Path | None,
    as_json: bool,
    keep_data: bool,
    given: dict[str, Any],
    why: InParts | None,
) -> None:
    """Fit a model to comparisons in parts, and write it.

    ``why`` they are read so, if nobody said --stream.
    """
    refuse_output(output, items, *comparisons)
    if not comparisons and why is None:
        raise PairscoreError(
            "--stream needs ITEMS as well as COMPARISONS; comparisons alone have to be in memory."
        )
    if not comparisons:
        refuse_in_parts("a fit of comparisons alone", why)
    if page is not None or keep_data:
        refuse_in_parts("--keep-data" if page is None else "--report", why)
    if why:
        show_note(f"{why.reason}.")
    from pairscore.estimators.settings import Wording
    from pairscore.model.file import ModelFile

    model = fit_in_parts(items, comparisons, given, why)
    wording = Wording().with_words(**wording_settings(given))
    columns = {name: given[name] for name in VOTE_COLUMNS if given.get(name)}
    said = {name: given[name] for name in SAID_OF_CSV if given[name]}
    record = model.result_.record | kept_reading({"vote_columns": columns} | said)
    result = replace(model.result_, wording=wording, record=record)
    write_model(ModelFile(result, model.get_params(), model.classes_), output, as_json, False)
    table = quote(str(items)) if isinstance(items, Path) else "NEW_ITEMS.csv"
    show_written(output, as_json, table)


def refuse_in_parts(asked: str, why: InParts | None) -> None:
    """Refuse what needs all data in memory; ``why`` they are not, if nobody said --stream."""
    if why is None:
        raise PairscoreError(
            f"{asked} needs all data in memory, and --stream reads them in parts; leave one of the"
            " two out."
        )
    remedy = "leave it out, or allow more with --memory" if why.is_too_large else "leave it out"
    raise PairscoreError(f"{asked} needs all data in memory, and {why.reason}; {remedy}.")


def fit_in_parts(
    items: Path, comparisons: tuple[Path, ...], given: dict[str, Any], why: InParts | None
) -> Any:
    """The model of comparisons that are read in parts."""
    from pairscore.streaming.fit_stream import fit_stream

    refuse_whole_tables(given, why)
    if given["n_jobs"] and given["engine"]:
        raise PairscoreError(
            "--processes asks for threads of this machine, and --engine for a cluster; leave one of"
            " the two out."
        )
    if given["checkpoint"] and given["comparisons_query"]:
        raise PairscoreError(
            "--checkpoint goes on where a fit was ended, and a query may give its rows in another"
            " order the next time; leave --checkpoint out."
        )
    if given["side_effect"] == "judges":
        refuse_in_parts("--side-effect judges", why)
    settings = {name: given[name] for name in ("method", "link", "ties", "inference")}
    with stage("Reading") as show, collect_warnings() as texts:
        of_items, of_votes = parts_as_said(items, comparisons, given)
        model: RankRegression = fit_stream(
            of_items,
            of_votes,
            **settings,
            side_effect=given["side_effect"] == "yes",
            l2=given["l2"],
            lapse=given["lapse"],
            memory=given["memory"] or STREAM_MEMORY,
            n_jobs=given["n_jobs"],
            engine=given["engine"],
            scratch=given["scratch"],
            checkpoint=given["checkpoint"],
            progress=lambda progress: show(progress.share, 1.0),
            **columns_given(given),
        )
    show_warnings(texts)
    return model


def parts_as_said(
    items: Path, comparisons: tuple[Path, ...], given: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """Both tables in parts, read as the user says that CSV files are written."""
    from pairscore.files.partitions import FilePartition
    from pairscore.files.tables import TextReading, refuse_unused

    said = {name: given[name] for name in SAID_OF_CSV if given[name]}
    reading = TextReading(**said | {"na": tuple(said.get("na", ()))})
    is_elsewhere = bool(given["engine"])
    of_items = parts_of((items,), reading, is_elsewhere)
    of_votes = parts_of(comparisons, reading, is_elsewhere)
    files = [part for part in (*of_items, *of_votes) if isinstance(part, FilePartition)]
    refuse_unused([reading], lambda name: any(part.has(name) for part in files))
    return of_items, of_votes


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


def refuse_whole_tables(given: dict[str, Any], why: InParts | None) -> None:
    """Settings that need all data in memory: options that were typed, keys of a study file."""
    asked = first_typed(NOT_IN_PARTS)
    if asked is None:
        context = click.get_current_context()
        unsaid = {one.name: one.get_default(context) for one in context.command.params}
        named = {name: given[name] for name in NOT_IN_PARTS if name not in IDLE_IN_PARTS}
        of_study = [n for n, value in named.items() if value and value != unsaid[n]]
        asked = f"{of_study[0]!r} of the study file" if of_study else None
    if asked:
        refuse_in_parts(asked, why)
