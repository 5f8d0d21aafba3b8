"""The command ``report``: one HTML page about a model."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairscore.cli.databases import tables_of
from pairscore.cli.help import command, examples
from pairscore.cli.inputs import (
    input_path,
    list_bad_rows,
    read_alone,
    second_table,
    study_tables,
)
from pairscore.cli.options import (
    ID_OF_FIT_OPTION,
    SCALE_OPTION,
    WORDING_OPTIONS,
    file_argument,
    file_arguments,
    json_flag,
    options,
    output_option,
    processes_option,
    vote_settings,
    wording_settings,
)
from pairscore.cli.outputs import (
    output_path,
    refuse_output,
)
from pairscore.cli.printing import (
    echo,
    show_json,
)
from pairscore.cli.progress import stage
from pairscore.errors import PairscoreError

if TYPE_CHECKING:
    from pairscore.files.study import StudyInput


@command()
@file_argument("model")
@file_argument("items")
@file_arguments("comparisons", required=False)
@ID_OF_FIT_OPTION
@options(WORDING_OPTIONS, (SCALE_OPTION,))
@processes_option("Number of fits to run in parallel.  [default: 1]")
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
    the columns of ITEMS as in the fit, and files are read as those of the fit; a study file (.toml)
    in their place may say otherwise. A model of comparisons alone takes COMPARISONS without ITEMS.
    """
    first, comparisons, given = study_tables(items, comparisons, given)
    with tables_of(first, comparisons, given) as (items, *others):
        report_tables(model, items, tuple(others), output, as_json, given)


def report_tables(
    model: Path,
    items: Path,
    comparisons: tuple[Path, ...],
    output: Path,
    as_json: bool,
    given: dict[str, Any],
) -> None:
    """Write the page of a model with its tables, and print where it is."""
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
    facts = write_page_of(fitted, study, output, paths, given["n_jobs"], **shown)
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


def write_page_of(
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
