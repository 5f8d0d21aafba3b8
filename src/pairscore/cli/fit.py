"""The commands that make a model: ``fit``, from memory or from a stream, and ``update``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import INFERENCES, METHODS, NO_INFERENCE, REPEATED, TIE_RULES, USES
from pairscore.cli.databases import DB_OPTIONS, parts_of, tables_of
from pairscore.cli.help import OUTPUT, command, examples, section
from pairscore.cli.inputs import (
    input_path,
    is_alone,
    list_bad_rows,
    read_alone,
    read_files,
    refuse_twice,
    second_table,
    study_tables,
    with_study_file,
)
from pairscore.cli.memory import InParts, why_in_parts
from pairscore.cli.options import (
    CODES_OPTION,
    FILE,
    FILE_NAMES,
    FILE_OPTIONS,
    ID_OF_FIT_OPTION,
    ITEM_OPTIONS,
    LINK_OPTION,
    SHEET_OPTION,
    VOTE_COLUMNS,
    VOTE_OPTIONS,
    WORDING_OPTIONS,
    columns_given,
    file_argument,
    file_arguments,
    file_settings,
    flag,
    flag_or,
    json_flag,
    names,
    number_or_word,
    option,
    options,
    output_option,
    parse_reference,
    processes_option,
    vote_settings,
    word,
    wording_settings,
)
from pairscore.cli.outputs import refuse_other_kind, refuse_output, show_written, write_model
from pairscore.cli.printing import (
    collect_warnings,
    echo,
    show_note,
    show_unused_columns,
    show_warnings,
)
from pairscore.cli.progress import stage
from pairscore.cli.report import write_page_of
from pairscore.cli.words import translate
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError
from pairscore.files.study_file import is_study_file

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.data.items import Items
    from pairscore.data.votes import Votes
    from pairscore.files.study import StudyInput
    from pairscore.model.fit import Fit
    from pairscore.model.regression import RankRegression

# -- options ---------------------------------------------------------------------------------------


MODEL_OPTIONS = section(
    "Model",
    flag(
        "--auto",
        help="Choose side, ties, ridge, item effects and judges by held-out comparisons; prepare"
        " the features.",
    ),
    option(
        "--for",
        "use",
        type=click.Choice(USES),
        help="What --auto chooses for: known or new items.  [default: known, unless ITEMS has new"
        " ones]",
    ),
    word(
        "--method",
        METHODS,
        "mle (maximum likelihood), or a closed form: split, pooled, paired.",
        "mle",
        metavar="NAME",
    ),
    LINK_OPTION,
    option(
        "--l2",
        metavar="RIDGE",
        default="0",
        callback=lambda ctx, param, text: number_or_word(text),
        help="A number; auto: best for new items; auto-known: for known items.",
    ),
    option("--group", metavar="NAME", help="Column of ITEMS: hold out its groups together."),
    flag_or("--side-effect", "judges", "Advantage of the left side; judges: for each judge."),
    flag_or(
        "--item-effects",
        "auto",
        "Effects of items beyond their features; auto: only if a test finds them.",
    ),
    flag("--judge-slopes", help="How sharply each judge distinguishes items."),
    names("--context", metavar="A,B", help="Numeric columns that describe a comparison."),
    word(
        "--ties",
        TIE_RULES,
        "half (half a win each), drop, or with a probability: davidson, rao-kupper.",
        "half",
        metavar="RULE",
    ),
    word(
        "--inference",
        (*INFERENCES, NO_INFERENCE),
        "Intervals for other items: items; and judges: items+judges; classical: model; or none."
        " auto: judges too, if ten or more.",
        "auto",
        metavar="KIND",
    ),
    option(
        "--reference",
        multiple=True,
        metavar="X=LEVEL",
        callback=lambda ctx, param, texts: parse_reference(texts),
        help="Level of category X that others are shown against.",
    ),
)
STREAM_OPTIONS = section(
    "Larger than memory",
    flag("--stream", help="Read in parts: any size, folders, patterns, addresses."),
    option(
        "--memory",
        metavar="SIZE",
        help="What comparisons may take; more is read in parts.  [default: half of what is free;"
        " 1GB in parts]",
    ),
    option("--engine", metavar="URL", help="A cluster: dask://host:8786, spark://host:7077."),
    option(
        "--scratch", type=FILE, metavar="DIR", help="Folder of temporary files; workers use it."
    ),
    option("--checkpoint", type=FILE, metavar="FILE", help="Go on from this file if it was ended."),
)
SUMMARY_JSON = json_flag("Print coefficients, standard errors and more as JSON.")


# -- fit -------------------------------------------------------------------------------------------


@command()
@file_argument("items", required=False)
@file_arguments("comparisons", required=False)
@options(MODEL_OPTIONS, ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS, STREAM_OPTIONS, DB_OPTIONS)
@output_option("Model file (-: standard output).", metavar="FILE", default=Path("model.npz"))
@options(
    section(
        OUTPUT,
        option("--report", "page", type=FILE, metavar="FILE", help="Also write a report (HTML)."),
        *WORDING_OPTIONS,
        flag("--keep-data", help="Keep the comparisons in the model, for pairscore update."),
        processes_option("Fits, or threads of a stream, side by side."),
    )
)
@SUMMARY_JSON
@examples(
    "fit items.csv votes.csv",
    "fit study.toml --auto --report page.html",
    "fit wines.csv tastings.csv --id wine --categorical grape -o wines.npz",
    "fit teams.csv games.csv --left home --right away --side-effect",
    "fit teams.csv 'games*.csv' --left home --right away --method pooled",
)
def fit(
    items: Path | None,
    comparisons: tuple[Path, ...],
    output: Path,
    page: Path | None,
    as_json: bool,
    keep_data: bool,
    **given: Any,
) -> None:
    """Learn a score from ITEMS and COMPARISONS and write the model.

    Both are CSV, Parquet, JSONL or workbooks (.xlsx); or a study file (.toml) names them and their
    columns. COMPARISONS, one file or several, has columns left, right, winner (left, right, tie or
    an id), or winner, loser; and perhaps judge, weight, count. One file alone has comparisons, and
    every item gets a score.
    """
    for path in (output, page):
        refuse_output(path, *([] if items is None else [items]), *comparisons)
    refuse_other_kind(output)
    if page is None and (typed := first_typed(("title", "top", "bottom"))):
        raise PairscoreError(
            f"{typed} is for the page; add --report, or say it to pairscore report or in a study"
            " file."
        )
    items, comparisons, given = study_tables(items, comparisons, given)
    with tables_of(items, comparisons, given, comparisons_alone=True) as (first, *others):
        fit_tables(first, tuple(others), output, page, as_json, keep_data, given)


def fit_tables(
    items: Path,
    comparisons: tuple[Path, ...],
    output: Path,
    page: Path | None,
    as_json: bool,
    keep_data: bool,
    given: dict[str, Any],
) -> None:
    """Learn a score from tables, and write the model."""
    in_parts = None if given["stream"] else why_in_parts(comparisons or (items,), given["memory"])
    if given["stream"] or in_parts:
        return write_stream(items, comparisons, output, page, as_json, keep_data, given, in_parts)
    refuse_only_in_parts()
    alone = is_alone(items, comparisons)
    comparisons = () if alone else second_table(items, comparisons)
    for path in (output, page):
        refuse_output(path, items, *comparisons)
    if page is not None and ("-" in (str(output), str(page)) or output == page):
        raise PairscoreError("--report writes a second file; give -o and --report a file each.")
    if given["use"] and not given["auto"]:
        raise PairscoreError("--for says what --auto chooses for; add --auto, or leave --for out.")
    import numpy as np

    from pairscore.estimators.settings import DEFAULTS, Wording, check_settings
    from pairscore.model.file import ModelFile

    params = DEFAULTS | model_settings(given)
    wording = Wording().with_words(**wording_settings(given))
    context = check_settings(**params).context
    with list_bad_rows(output, given["decimal"]), stage("Reading"):
        if alone:
            study = read_alone(items, context, given)
        else:
            study = read_files(items, comparisons, context, given)
    show_unused_columns(study)
    show_unused_answers(study, params, given["auto"])
    is_piped = str(output) == "-"
    result, params, chosen = fit_study(study, params, given, is_shown=not (is_piped or as_json))
    record = result.record | reading_record(given, study)
    result = replace(result, record=record, wording=wording)
    file = ModelFile(result, params, np.array([-1, 1]))
    write_model(file, output, as_json, keep_data, chosen)
    if page is not None:
        from pairscore.model.regression import load

        write_page_of(load(output), study, page, (items, *comparisons), given["n_jobs"])
    if not is_piped and not as_json:
        echo(next_steps(items, comparisons, output, page))


def fit_study(
    study: "StudyInput", params: dict[str, Any], given: dict[str, Any], is_shown: bool
) -> tuple["Fit", dict[str, Any], dict[str, Any]]:
    """The fit of a study, the parameters of its model, and a record of how --auto chose them.

    What was tried is printed.
    """
    from pairscore.estimators.settings import DEFAULTS, check_settings
    from pairscore.model.fit_comparisons import fit_comparisons
    from pairscore.model.fit_input import number_item_groups
    from pairscore.parallel import Workers

    data, groups = study.comparisons, study.groups
    if given["auto"]:
        from pairscore.evaluation.auto_fit import auto_fit

        data = data if groups is None else data.with_item_groups(groups)
        running = {"use": given["use"], "n_jobs": given["n_jobs"]}
        with stage("Trying models on held-out comparisons") as show, collect_warnings() as texts:
            choice = auto_fit(data, **running, progress=show, **settings_given(params))
        echo(f"{translate(choice.text(translate))}\n", err=not is_shown)
        show_warnings(texts)
        record = {"auto": choice.to_record()}
        return choice.model.result_, DEFAULTS | choice.model.get_params(), record
    settings = check_settings(**params)
    groups = None if groups is None else number_item_groups(groups, data.items, settings)
    with stage("Fitting") as show, collect_warnings():
        workers = Workers(given["n_jobs"], show)
        result, notes = fit_comparisons(data, settings, item_groups=groups, workers=workers)
    show_warnings(notes)
    return result, params, {}


def model_settings(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters of ``RankRegression``, from MODEL_OPTIONS."""
    names = ("method", "link", "judge_slopes", "ties")
    return {name: given[name] for name in names} | {
        "item_effects": yes_or_word(given["item_effects"]),
        "l2": given["l2"],
        "side_effect": yes_or_word(given["side_effect"]),
        "context": given["context"] or None,
        "inference": None if given["inference"] == NO_INFERENCE else given["inference"],
    }


def yes_or_word(text: str) -> bool | str:
    """What a flag says that a word may follow: True, False, or the word."""
    return {"yes": True, "no": False}.get(text, text)


def settings_given(params: dict[str, Any]) -> dict[str, Any]:
    """The settings that are not their defaults: those that --auto takes as they are."""
    from pairscore.estimators.settings import DEFAULTS

    return {name: value for name, value in params.items() if value != DEFAULTS[name]}


def reading_record(given: dict[str, Any], study: Any) -> dict[str, Any]:
    """What a model keeps of how its files were read, so that nobody has to say it again."""
    settings = vote_settings(given) | {"vote_columns": study.vote_columns}
    settings |= {"sheet": study.sheets, "vote_sheets": study.vote_sheets}
    return kept_reading(settings)


def kept_reading(settings: dict[str, Any]) -> dict[str, Any]:
    """The part of a model's record that says how its files were read."""
    names = (*FILE_NAMES, "vote_sheets", "winner_codes", "vote_columns")
    kept = {name: settings[name] for name in names if settings.get(name)}
    return {"reading": kept} if kept else {}


def show_unused_answers(study: Any, params: dict[str, Any], auto: bool) -> None:
    """Print a note on what the comparisons have and the fit does not use, and what could use it."""
    votes, judge = study.votes, study.vote_columns.get("judge", "judge")
    of_judges = params["side_effect"] == "judges"
    if votes.judge is not None and not (params["judge_slopes"] or of_judges or auto):
        show_note(
            f"{judge!r} changes no score; --judge-slopes estimates how careful each judge is, and"
            " counts careless ones less."
        )
    if params["ties"] == "half" and not auto and (votes.outcome == 0).any():
        show_note("ties count as half wins; --ties davidson estimates how likely a tie is.")
    if unused := [name for name in study.unused if not is_of_sheet(name, study.unused)]:
        are = "was" if len(unused) == 1 else "were"
        show_note(
            f"of the comparisons, {first_few(map(repr, unused))} {are} not used; --context"
            " takes numbers that describe a comparison."
        )


def is_of_sheet(name: str, names: Sequence[str]) -> bool:
    """Whether a judging sheet has such a column for its readers: the number of the row, or what is
    known of the left and of the right item.
    """
    side, _, what = name.partition("_")
    other = {"left": "right", "right": "left"}.get(side)
    return name == "comparison" or (other is not None and f"{other}_{what}" in names)


def next_steps(items: Path, comparisons: tuple[Path, ...], output: Path, page: Path | None) -> str:
    """What was written, and what to do next."""
    tables = " ".join(quote(str(path)) for path in dict.fromkeys((items, *comparisons)))
    if page is not None:
        return f"Wrote {output} and {page}. Next: open {page} in a browser."
    if not all(isinstance(path, Path) for path in (items, *comparisons)):  # rows of a query
        new = " NEW_ITEMS.csv" if comparisons else ""
        return f"Wrote {output}. Next: pairscore rank {quote(str(output))}{new}."
    if not comparisons:
        return (
            f"Wrote {output}. Next: pairscore rank {quote(str(output))}, or"
            f" pairscore report {quote(str(output))} {tables}."
        )
    return (
        f"Wrote {output}. Next: pairscore rank {quote(str(output))} {quote(str(items))}, or"
        f" pairscore report {quote(str(output))} {tables}."
    )


# -- comparisons larger than memory ----------------------------------------------------------------


STREAM_MEMORY = "1GB"  # that comparisons take while they are read in parts
ONLY_IN_PARTS = ("engine", "scratch", "checkpoint")
# options of fit that need all comparisons at once, or files as a table in memory
NOT_IN_PARTS = (
    *("auto", "use", "group", "item_effects", "judge_slopes", "context"),
    *("reference", "categorical", "squares", "interactions", "missing", "winner_codes", "judge"),
    *("delimiter", "encoding", "decimal", "na", "sheet"),
)
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
    record = model.result_.record | kept_reading({"vote_columns": columns})
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
        model: RankRegression = fit_stream(
            parts_of((items,)),
            parts_of(comparisons),
            **settings,
            side_effect=given["side_effect"] == "yes",
            l2=given["l2"],
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


# -- update ----------------------------------------------------------------------------------------


@command()
@file_argument("model")
@file_arguments("comparisons")
@option(
    "--items",
    "new_items",
    type=FILE,
    help="File with new items: the columns of the fit, and ids that are not in the fit.",
)
@ID_OF_FIT_OPTION
@CODES_OPTION
@SHEET_OPTION
@word(
    "--repeated",
    REPEATED,
    "What to do with a file or sheet whose comparisons are in MODEL already, in the same order.",
    "refuse",
)
@output_option("Model file to write; it may be MODEL (-: standard output).", required=True)
@SUMMARY_JSON
@examples(
    "update model.npz monday.csv -o model.npz",
    "update model.npz ann.csv bob.csv filled.xlsx -o model.npz",
    "update model.npz tuesday.csv --items new_items.csv -o tuesday.npz",
)
def update(
    model: Path,
    comparisons: tuple[Path, ...],
    new_items: Path | None,
    output: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Add COMPARISONS to those that MODEL was fitted to, and fit to all of them.

    MODEL must have been written with --keep-data. COMPARISONS may be several files, and workbooks
    of which all sheets with the same columns are read. They are read as those of the fit; a study
    file (.toml) before them may say otherwise. The result is the same as that of one fit to
    all comparisons. A file that MODEL has already is refused, unless --repeated add says that the
    same answers were given again. A model of comparisons alone learns new items from COMPARISONS.
    """
    if is_study_file(comparisons[0]):
        _, comparisons, given = with_study_file(comparisons[0], comparisons[1:], given)
    refuse_output(output, *comparisons, *([new_items] if new_items else []))
    refuse_twice(comparisons)
    refuse_other_kind(output)
    from pairscore.estimators.settings import check_settings
    from pairscore.files.study import read_new_items, read_new_parts
    from pairscore.model.file import load_model
    from pairscore.model.update import update_fit
    from pairscore.parallel import Workers

    with input_path(model) as path:
        file = load_model(path)
    before = file.fit.comparisons
    if before is None:
        raise PairscoreError(
            f"{str(model)!r} was written without its comparisons; fit again with --keep-data."
        )
    settings, kept = check_settings(**file.params), file.fit.record.get("reading", {})
    with list_bad_rows(output, file_settings(given, kept)["decimal"]), stage("Reading"):
        reading = file_settings(given, kept) | {"id": given.get("id")}
        more = None if new_items is None else read_new_items(new_items, file.fit, **reading)
        known = before.items if more is None else before.items.with_new_items(more)
        by_name = not file.fit.n_features and more is None
        table, of_votes = None if by_name else known, vote_settings(given, kept)
        of_votes["judges"] = before.judge is not None
        read, parts = read_new_parts(comparisons, table, settings.context, **of_votes)
    votes = read.votes
    if by_name:
        more, votes = add_named_items(known, read)
    with stage("Fitting") as show, collect_warnings():
        asked: Any = {"repeated": given["repeated"], "parts": parts}
        asked["workers"] = Workers(progress=show)
        result, notes = update_fit(file.fit, settings, votes, more, **asked)
    show_warnings(notes)
    record = result.record | ({"reading": kept} if kept else {})
    result = replace(result, record=record)
    write_model(replace(file, fit=result), output, as_json, keep_data=True)
    show_written(output, as_json, "NEW_ITEMS.csv" if result.n_features else "")


def add_named_items(known: "Items", read: "Comparisons") -> tuple["Items | None", "Votes"]:
    """The items that comparisons name for the first time, and the votes on all items."""
    import numpy as np

    from pairscore.model.update import unknown_items

    more = unknown_items(known, read.items)
    table = known if more is None else known.with_new_items(more)
    if more is not None:
        show_note(f"{plural(len(more), 'new item')}: {first_few(map(repr, more.names))}.")
    rows = table.find_rows_by_text(np.asarray(read.items.names))
    return more, replace(read.votes, left=rows[read.left], right=rows[read.right])
