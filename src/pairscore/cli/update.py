"""`pairscore update`: a model with more comparisons."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairscore.choices import REPEATED
from pairscore.cli.help import command, examples
from pairscore.cli.inputs import (
    input_path,
    list_bad_rows,
    refuse_twice,
    with_study_file,
)
from pairscore.cli.options import (
    CODES_OPTION,
    FILE,
    ID_OF_FIT_OPTION,
    SHEET_OPTION,
    SUMMARY_JSON,
    file_argument,
    file_arguments,
    file_settings,
    option,
    output_option,
    vote_settings,
    word,
)
from pairscore.cli.outputs import refuse_other_kind, refuse_output, show_written, write_model
from pairscore.cli.printing import (
    collect_warnings,
    show_note,
    show_warnings,
)
from pairscore.cli.progress import stage
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError
from pairscore.files.study_file import is_study_file

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.data.items import Items
    from pairscore.data.votes import Votes


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
    from pairscore.files.new_comparisons import read_new_parts
    from pairscore.files.new_items import read_new_items
    from pairscore.files.tables import OpenFiles
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
    decimal = file_settings(given, kept)["decimal"]
    with list_bad_rows(output, decimal), stage("Reading"), OpenFiles() as files:
        reading = file_settings(given, kept) | {"id": given.get("id"), "files": files}
        more = None if new_items is None else read_new_items(new_items, file.fit, **reading)
        known = before.items if more is None else before.items.with_new_items(more)
        by_name = not file.fit.n_features and more is None
        table, of_votes = None if by_name else known, vote_settings(given, kept)
        of_votes["files"] = files
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
