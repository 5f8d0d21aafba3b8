"""The commands that make a model: ``fit``, from memory or from a stream, and ``update``."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import INFERENCES, METHODS, NO_INFERENCE, TIE_RULES, USES
from pairscore.cli.databases import DB_OPTIONS, tables_of
from pairscore.cli.fit_in_parts import first_typed, refuse_only_in_parts, write_stream
from pairscore.cli.help import OUTPUT, command, examples, section
from pairscore.cli.inputs import (
    is_alone,
    kept_reading,
    list_bad_rows,
    read_alone,
    read_files,
    second_table,
    study_tables,
)
from pairscore.cli.memory import why_in_parts
from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    ITEM_OPTIONS,
    LINK_OPTION,
    SUMMARY_JSON,
    VOTE_OPTIONS,
    WORDING_OPTIONS,
    file_argument,
    file_arguments,
    flag,
    flag_or,
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
from pairscore.cli.outputs import refuse_other_kind, refuse_output, write_model
from pairscore.cli.printing import (
    collect_warnings,
    echo,
    show_note,
    show_unused_columns,
    show_warnings,
)
from pairscore.cli.progress import stage
from pairscore.cli.report import write_page_of
from pairscore.cli.words import in_options
from pairscore.display import first_few
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.files.study import StudyInput
    from pairscore.model.fit import Fit

# -- options ---------------------------------------------------------------------------------------


MODEL_OPTIONS = section(
    "Model",
    flag(
        "--auto",
        help="Choose settings by held-out data; prepare features.",
    ),
    option(
        "--for",
        "use",
        type=click.Choice(USES),
        help="Optimise for known or for new items.  [default: known, unless ITEMS has new ones]",
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
    option(
        "--lapse",
        metavar="SHARE",
        default="0",
        callback=lambda ctx, param, text: number_or_word(text),
        help="Share of slips; auto: estimate it.",
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
    import numpy as np

    from pairscore.estimators.settings import DEFAULTS, Wording, check_settings
    from pairscore.model.file import ModelFile

    # before tables are opened: modules of then need not be freed, object by object, at the end
    import_module("pairscore.model.fit_comparisons")
    alone = is_alone(items, comparisons, given)
    comparisons = () if alone else second_table(items, comparisons)
    for path in (output, page):
        refuse_output(path, items, *comparisons)
    if page is not None and ("-" in (str(output), str(page)) or output == page):
        raise PairscoreError("--report writes a second file; give -o and --report a file each.")
    if given["use"] and not given["auto"]:
        raise PairscoreError("--for says what --auto chooses for; add --auto, or leave --for out.")

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
        echo(f"{choice.text(in_options)}\n", err=not is_shown)
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
        "lapse": given["lapse"],
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
    if not study.unused:
        return
    from pairscore.planning.judging_sheets import is_of_sheet

    if unused := [name for name in study.unused if not is_of_sheet(name, study.unused)]:
        are = "was" if len(unused) == 1 else "were"
        show_note(
            f"of the comparisons, {first_few(map(repr, unused))} {are} not used; --context takes"
            " numbers that describe a comparison"
            + ("." if votes.judge is not None else ", and --judge the column that says who judged.")
        )


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


# -- update ----------------------------------------------------------------------------------------
