"""Commands about a model: ``fit``, ``rank``, ``update`` and ``report``."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import REPEATED
from pairscore.cli.model_options import (
    AUTO_OPTIONS,
    MODEL_OPTIONS,
    SCALE_OPTION,
    WORDING_OPTIONS,
    FitCommand,
    collect_warnings,
    model_settings,
    read_alone,
    read_files,
    reading_record,
    settings_given,
    wording_settings,
    write_model,
)
from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    ID_OF_FIT_OPTION,
    ITEM_OPTIONS,
    SELF_PAIRS_OPTION,
    VOTE_OPTIONS,
    file_settings,
    files,
    flag,
    input_path,
    is_alone,
    json_flag,
    list_bad_rows,
    option,
    options,
    output_option,
    output_path,
    processes_option,
    refuse_other_kind,
    refuse_output,
    refuse_twice,
    second_table,
    vote_settings,
    word,
)
from pairscore.cli.parts import (
    DB_OPTIONS,
    STREAM_OPTIONS,
    fit_in_parts,
    refuse_only_in_parts,
    tables_of,
)
from pairscore.cli.progress import stage
from pairscore.cli.words import (
    OUTPUT,
    command,
    echo,
    examples,
    next_steps,
    section,
    show_json,
    show_note,
    show_unused_answers,
    show_unused_columns,
    show_warnings,
    show_written,
    translate,
)
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.data.items import Items
    from pairscore.data.votes import Votes
    from pairscore.estimators.results import Fit
    from pairscore.files.study import StudyInput

SUMMARY_JSON = json_flag("Print coefficients, standard errors and more as JSON.")


# -- fit and update --------------------------------------------------------------------------------


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

        write_report(load(output), study, page, (items, *comparisons), given["n_jobs"])
    if not is_piped and not as_json:
        echo(next_steps(items, comparisons, output, page))


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
    show_warnings(text for _, text in notes)
    return result, params, {}


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
    show_warnings(text for _, text in notes)
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


# -- report ----------------------------------------------------------------------------------------


@command()
@files("model", "items", "[comparisons...]")
@ID_OF_FIT_OPTION
@flag("--self-pairs", help="Keep comparisons of an item with itself, as in such a fit.")
@options(VOTE_OPTIONS, FILE_OPTIONS, WORDING_OPTIONS, (SCALE_OPTION,))
@processes_option("Fits side by side, of every method in every fold.  [default: 1]")
@output_option("HTML file to write (-: standard output).", default=Path("report.html"))
@json_flag("Print where the page is and its first sentences as JSON.")
@examples(
    "report model.npz items.csv votes.csv",
    "report arena.npz votes.csv --title Arena -o arena.html",
    "report model.npz patients.csv votes.csv --title Severity --top 'most severe' --scale 0-100"
    " -o severity.html",
)
def report(
    model: Path,
    items: Path,
    comparisons: tuple[Path, ...],
    output: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Show a model, its items and comparisons on one HTML page that works without a network.

    The page has the ranking with intervals, the influence of each feature, accuracy in sample and
    on unseen items, checks in words, and what more comparisons would add. Features are made from
    the columns of ITEMS as in the fit. The columns of COMPARISONS are those of the fit, unless
    named again. A model of comparisons alone takes COMPARISONS without ITEMS.
    """
    refuse_output(output, model, items, *comparisons)
    if [str(path) for path in (model, items, *comparisons)].count("-") > 1:
        raise PairscoreError(
            "standard input can be only one of the model, the items and the comparisons; name"
            " files for the others."
        )
    from pairscore.model.regression import load

    with input_path(model) as path:
        fitted = load(path)
    if fitted.n_features_in_:
        comparisons = second_table(items, comparisons)
    elif comparisons:
        raise PairscoreError(
            "the model was fitted to comparisons alone; give one file of comparisons after the"
            " model, without items."
        )
    reading = vote_settings(given, fitted.record_.get("reading"))
    with list_bad_rows(output, reading["decimal"]), stage("Reading"):
        if fitted.n_features_in_:
            study = read_again(fitted, items, comparisons, given["id"], reading)
        else:
            study = read_alone(items, fitted.context or (), given, fitted.record_.get("reading"))
    wording = fitted.wording_.with_words(**wording_settings(given))
    shown = {"wording": wording, "scale": given["scale"]}
    paths = items, *comparisons
    facts = write_report(fitted, study, output, paths, given["n_jobs"], **shown)
    is_piped = str(output) == "-"  # standard output is the page's then
    if as_json:
        show_json(report_record(output, study, facts.answer), err=is_piped)
    elif not is_piped:
        echo(str(output))


def read_again(
    model: Any, items: Path, comparisons: tuple[Path, ...], id: str | None, reading: dict[str, Any]
) -> "StudyInput":
    """Items and comparisons, read as those of a fit."""
    from pairscore.data.recipe import recipe_of
    from pairscore.files.study import read_study

    recipe = recipe_of(model)
    return read_study(
        items,
        comparisons,
        recipe=recipe if id is None else replace(recipe, id=id),
        id_is_optional=id is None and model.recipe_ is None,  # fitted in Python, where ids are
        seed=model.record_.get("seed") or 0,
        context=model.context or (),
        **reading,
    )


def write_report(
    model: Any,
    study: "StudyInput",
    output: Path,
    files: Iterable[Path],
    n_jobs: int | None,
    **shown: Any,
) -> Any:
    """Write the page of a model; returns the facts on it."""
    from pairscore.parallel import Workers
    from pairscore.report.page import write_page

    names = tuple(dict.fromkeys(map(str, files)))
    with stage("Writing the report") as show, output_path(output, "report.html") as path:
        shown |= {"files": names, "workers": Workers(n_jobs, show)}
        return write_page(model, study.comparisons, None, path, **shown)


def report_record(output: Path, study: "StudyInput", answer: list[str]) -> dict[str, Any]:
    """Where the page is, of how much, and the sentences that it begins with."""
    count = len(study.votes) if study.votes.count is None else float(study.votes.count.sum())
    return {
        "path": None if str(output) == "-" else str(output),
        "n_items": len(study.items),
        "n_comparisons": count,
        "answer": answer,
    }
