"""The commands that make a model: ``fit``, from memory or from a stream, and ``update``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import INFERENCES, METHODS, NO_INFERENCE, REPEATED, TIE_RULES, USES
from pairscore.cli.databases import DB_OPTIONS, parts_of, tables_of
from pairscore.cli.help import OUTPUT, SectionedCommand, command, examples, section
from pairscore.cli.inputs import (
    input_path,
    is_alone,
    list_bad_rows,
    read_alone,
    read_files,
    refuse_twice,
    second_table,
)
from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    ID_OF_FIT_OPTION,
    ITEM_OPTIONS,
    LINK_OPTION,
    SELF_PAIRS_OPTION,
    VOTE_OPTIONS,
    WORDING_OPTIONS,
    columns_given,
    file_settings,
    files,
    flag,
    json_flag,
    number_or_word,
    option,
    options,
    output_option,
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

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.data.items import Items
    from pairscore.data.votes import Votes
    from pairscore.estimators.results import Fit
    from pairscore.files.study import StudyInput
    from pairscore.model.regression import RankRegression


# -- options ---------------------------------------------------------------------------------------


AUTO_OPTIONS = section(
    "The model, chosen for you",
    flag(
        "--auto",
        help="Choose side, ties, ridge, item effects and judges by held-out comparisons. Text"
        " columns of few levels become categories, and missing values are filled in.",
    ),
    option(
        "--for",
        "use",
        type=click.Choice(USES),
        help="What --auto chooses for: known items, or new ones.  [default: known, unless some of"
        " ITEMS are in no comparison]",
    ),
)
MODEL_OPTIONS = section(
    "Model",
    word("--method", METHODS, "Maximum likelihood, or one of three closed forms.", "mle"),
    LINK_OPTION,
    option(
        "--l2",
        default="0",
        help="Ridge on standardised coefficients, against the sum of log-losses; auto: best for new"
        " items; auto-known: best for new comparisons of known items.",
    ),
    option(
        "--group",
        metavar="NAME",
        help="Column of ITEMS: items of one group (topic, patient) are held out together by --l2"
        " auto.",
    ),
    option(
        "--shrinkage",
        help="Shrinkage of the covariance in a closed form: 0 to 1, ledoit-wolf or oas.",
    ),
    flag("--side-effect", help="Estimate the advantage of the left side (home, shown first)."),
    flag("--side-by-judge", help="Estimate the advantage of the left side for each judge."),
    option(
        "--item-effects",
        type=click.Choice(["yes", "auto"]),
        metavar="[auto]",
        help="Give every item an effect beyond its features; new items have none and wider"
        " intervals. auto: only if a test shows that items differ beyond their features.",
    ),
    flag(
        "--judge-slopes",
        help="Estimate how sharply each judge distinguishes items; finds careless judges and those"
        " who answer the wrong way round.",
    ),
    option(
        "--context",
        multiple=True,
        metavar="A,B",
        help="Numeric columns of COMPARISONS that describe a comparison, as the value for left"
        " minus that for right.",
    ),
    word(
        "--ties",
        TIE_RULES,
        "A tie is half a win for each side, is left out (drop), or has a probability (davidson,"
        " rao-kupper).",
        "half",
    ),
    word(
        "--inference",
        (*INFERENCES, NO_INFERENCE),
        "Intervals that allow for other items (items), or for other items and other judges;"
        " classical ones (model); or none. auto: for other judges too where ten or more are named.",
        "auto",
    ),
    SELF_PAIRS_OPTION,
    option(
        "--reference",
        multiple=True,
        metavar="X=LEVEL",
        help="Level of a category that the others are shown against, as COLUMN=LEVEL; makes"
        " the column a category.  [default: the average of all levels]",
    ),
)
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
SUMMARY_JSON = json_flag("Print coefficients, standard errors and more as JSON.")


# -- fit -------------------------------------------------------------------------------------------


class FitCommand(SectionedCommand):
    """A command whose ``--item-effects`` may stand alone, before a file too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_value("--item-effects", "auto", args))


def with_value(name: str, word: str, args: list[str]) -> list[str]:
    """Arguments in which the option has a value: the word, if that is next, else ``yes``."""
    end = args.index("--") if "--" in args else len(args)
    joined: list[str] = []
    for number, arg in enumerate(args[:end]):
        follows = number > 0 and args[number - 1] == name
        if arg == name:
            given = args[number + 1 : number + 2] == [word]
            joined.append(f"{name}={word if given else 'yes'}")
        elif not (follows and arg == word):
            joined.append(arg)
    return joined + args[end:]


@click.command(cls=FitCommand)
@files("[items]", "[comparisons...]")
@options(AUTO_OPTIONS, MODEL_OPTIONS, ITEM_OPTIONS, VOTE_OPTIONS, FILE_OPTIONS, WORDING_OPTIONS)
@options(STREAM_OPTIONS, DB_OPTIONS)
@output_option("Model file to write (-: standard output).", default=Path("model.npz"))
@options(
    section(
        OUTPUT,
        option("--report", "page", type=FILE, help="Also write a report to this HTML file."),
        flag("--keep-data", help="Keep the comparisons in the model file, for pairscore update."),
    ),
    (
        processes_option(
            "Number of fits side by side: of --l2 auto, --auto, --report.  [default: 1]"
        ),
    ),
)
@SUMMARY_JSON
@examples(
    "fit items.csv votes.csv",
    "fit votes.csv --ties davidson",
    "fit patients.csv votes.csv --auto --report page.html --title Severity --top 'most severe'",
    "fit wines.csv tastings.csv --id wine --categorical grape --square alcohol -o wines.npz",
    "fit teams.csv games.csv --left home --right away --side-effect --context rest_days"
    " -o teams.npz",
    "fit teams.csv 'games*.csv' --stream --left home --right away --method pooled -o teams.npz",
    "fit answers.csv votes.csv --l2 auto --group topic --judge-slopes --ties davidson"
    " -o answers.npz",
    "fit --db sqlite:///study.db --items 'SELECT id, mass FROM things'"
    " --comparisons 'SELECT a AS winner, b AS loser FROM games'",
    "fit --db sqlite:///study.db --comparisons 'SELECT a AS winner, b AS loser FROM games'",
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

    One file alone has comparisons, and every item in it gets a score (Bradley and Terry's model).
    Both are CSV, Parquet or JSONL files or workbooks (.xlsx), by their suffix; - is CSV from
    standard input; one workbook may have both as sheets. Numeric columns of ITEMS are features.
    COMPARISONS has columns left, right, winner (left, right, tie or an id), or model_a, model_b,
    winner, or winner, loser; and optionally tie (0 or 1), judge, weight, count. Columns with other
    names are recognised by their entries where that is clear. Comparisons may be in several files
    with the same columns, such as one for each judge. Either may come from a database instead, as
    the rows of a query.
    """
    for path in (output, page):
        refuse_output(path, *([] if items is None else [items]), *comparisons)
    refuse_other_kind(output)
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
    if given["stream"]:
        return write_stream(items, comparisons, output, page, as_json, keep_data, given)
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
    from pairscore.model.fit import fit_comparisons, number_item_groups
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
    from pairscore.cli.options import split_names

    names, effects = ("method", "link", "judge_slopes", "ties"), given["item_effects"]
    return {name: given[name] for name in names} | {
        "item_effects": effects if effects == "auto" else effects == "yes",
        "l2": number_or_word(given["l2"]),
        "shrinkage": number_or_word(given["shrinkage"]),
        "side_effect": "judges" if given["side_by_judge"] else given["side_effect"],
        "context": split_names(given["context"]) or None,
        "inference": None if given["inference"] == NO_INFERENCE else given["inference"],
    }


def settings_given(params: dict[str, Any]) -> dict[str, Any]:
    """The settings that are not their defaults: those that --auto takes as they are."""
    from pairscore.estimators.settings import DEFAULTS

    return {name: value for name, value in params.items() if value != DEFAULTS[name]}


def reading_record(given: dict[str, Any], study: Any) -> dict[str, Any]:
    """What a model keeps of how its files were read, so that nobody has to say it again."""
    settings = vote_settings(given) | {"vote_columns": study.vote_columns}
    settings |= {"sheet": study.sheets, "vote_sheets": study.vote_sheets}
    names = ("decimal", "na", "sheet", "vote_sheets", "delimiter", "winner_codes", "vote_columns")
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


ONLY_IN_PARTS = ("memory", "threads", "engine", "scratch", "checkpoint")


# options of fit that need all comparisons at once, or files as a table in memory
NOT_IN_PARTS = (
    *("auto", "use", "group", "side_by_judge", "item_effects", "judge_slopes", "context"),
    *("reference", "categorical", "squares", "interactions", "missing", "winner_codes", "judge"),
    *("delimiter", "encoding", "decimal", "na", "sheet", "n_jobs"),
)


def write_stream(
    items: Path,
    comparisons: tuple[Path, ...],
    output: Path,
    page: Path | None,
    as_json: bool,
    keep_data: bool,
    given: dict[str, Any],
) -> None:
    """Fit a model to comparisons in parts, and write it."""
    refuse_output(output, items, *comparisons)
    if not comparisons:
        raise PairscoreError(
            "--stream needs ITEMS as well as COMPARISONS; comparisons alone have to be in memory."
        )
    if page is not None or keep_data:
        raise PairscoreError(
            "--stream writes a model without its comparisons; leave --report and --keep-data out."
        )
    from pairscore.estimators.settings import Wording
    from pairscore.model.file import ModelFile

    model = fit_in_parts(items, comparisons, given)
    wording = Wording().with_words(**wording_settings(given))
    result = replace(model.result_, wording=wording)
    write_model(ModelFile(result, model.get_params(), model.classes_), output, as_json, False)
    table = quote(str(items)) if isinstance(items, Path) else "NEW_ITEMS.csv"
    show_written(output, as_json, table)


def fit_in_parts(items: Path, comparisons: tuple[Path, ...], given: dict[str, Any]) -> Any:
    """The model of ``fit --stream``."""
    from pairscore.streaming.fit_stream import fit_stream

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


# -- update ----------------------------------------------------------------------------------------


@command()
@files("model", "comparisons...")
@option(
    "--items",
    type=FILE,
    help="File with new items: the columns of the fit, and ids that are not in the fit.",
)
@ID_OF_FIT_OPTION
@SELF_PAIRS_OPTION
@word(
    "--repeated",
    REPEATED,
    "What to do with a file or sheet whose comparisons are in MODEL already, in the same order.",
    "refuse",
)
@options(VOTE_OPTIONS, FILE_OPTIONS)
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
    items: Path | None,
    output: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Add COMPARISONS to those that MODEL was fitted to, and fit to all of them.

    MODEL must have been written with --keep-data. COMPARISONS may be several files, and workbooks
    of which all sheets with the same columns are read. The result is the same as that of one fit to
    all comparisons. A file that MODEL has already is refused, unless --repeated add says that the
    same answers were given again. A model of comparisons alone learns new items from COMPARISONS.
    """
    refuse_output(output, *comparisons, *([items] if items else []))
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
        reading = file_settings(given, kept) | {"id": given["id"]}
        more = None if items is None else read_new_items(items, file.fit, **reading)
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
