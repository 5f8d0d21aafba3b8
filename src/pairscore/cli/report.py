"""`pairscore report`: a model, its items and comparisons on one page."""

import json
from pathlib import Path
from typing import Any

import click

from pairscore.cli.options import (
    FILE,
    FILE_OPTIONS,
    VOTE_OPTIONS,
    input_path,
    list_bad_rows,
    options,
    output_path,
    refuse_output,
    stage,
    vote_settings,
)
from pairscore.errors import PairscoreError


@click.command()
@click.argument("model", type=FILE)
@click.argument("items", type=FILE)
@click.argument("comparisons", type=FILE)
@click.option(
    "--self-pairs", is_flag=True, help="Keep comparisons of an item with itself, as in such a fit."
)
@options(VOTE_OPTIONS, FILE_OPTIONS)
@click.option(
    "-o",
    "--output",
    type=FILE,
    default=Path("report.html"),
    show_default=True,
    help="HTML file to write (-: standard output).",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print where the page is and what it says first as JSON.",
)
def report(
    model: Path,
    items: Path,
    comparisons: Path,
    output: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Show a model, its items and comparisons on one HTML page that needs nothing else.

    The ranking with intervals, what counts, how well it fits and does on unseen items, checks in
    words, and what more comparisons would buy. Of ITEMS, the columns that the model was fitted with
    are taken, and made into features as in the fit. Columns of COMPARISONS with other names are
    named again, as in the fit.

    Example: pairscore report model.npz items.csv comparisons.csv -o report.html
    """
    refuse_output(output, model, items, comparisons)
    if [str(path) for path in (model, items, comparisons)].count("-") > 1:
        raise PairscoreError(
            "standard input can be the model, the items or the comparisons, one of them; name files"
            " for the others."
        )
    from pairscore.data.features import recipe_of
    from pairscore.files.read_study import read_study
    from pairscore.model.regression import load
    from pairscore.report.page import write_page

    with input_path(model) as path:
        fitted = load(path)
    with list_bad_rows(output), stage("Reading"):
        study = read_study(
            items,
            comparisons,
            recipe=recipe_of(fitted),
            id_is_optional=fitted.recipe_ is None,  # fitted in Python, where ids are
            seed=fitted.record_.get("seed") or 0,
            context=fitted.context or (),
            **vote_settings(given),
        )
    with (
        stage("Ranking the items, and trying every method on items that it has not seen"),
        output_path(output, "report.html") as path,
    ):
        facts = write_page(fitted, study.items, study.votes, path)
    is_standard_output = str(output) == "-"  # which is the page's then
    if as_json:
        record = _record(output, study, facts.answer)
        click.echo(json.dumps(record, indent=2), err=is_standard_output)
    elif not is_standard_output:
        click.echo(str(output))


def _record(output: Path, study: Any, answer: list[str]) -> dict[str, Any]:
    """Where the page is, of how much, and the sentences that it begins with."""
    count = len(study.votes) if study.votes.count is None else float(study.votes.count.sum())
    return {
        "path": None if str(output) == "-" else str(output),
        "n_items": len(study.items),
        "n_comparisons": count,
        "answer": answer,
    }
