"""The command ``rank``: items by their scores, highest first, with intervals."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairscore.choices import UNKNOWN_RULES
from pairscore.cli.help import command, examples
from pairscore.cli.inputs import (
    input_path,
    list_bad_rows,
    with_study_file,
)
from pairscore.cli.options import (
    DECIMAL_OPTION,
    EXCEL_SAFE_OPTION,
    ID_OF_FIT_OPTION,
    SCALE_OPTION,
    SHARE,
    file_argument,
    file_settings,
    flag,
    json_flag,
    option,
    output_option,
    word,
)
from pairscore.cli.outputs import refuse_output, show_written
from pairscore.cli.printing import show_json, show_note, show_text
from pairscore.cli.progress import stage, with_progress
from pairscore.display import interval_in_words, plural
from pairscore.errors import NO_NUMBER, BadEntriesError, PairscoreError, Worded
from pairscore.files.source import Unsaid
from pairscore.messages import Message, Piece, join

if TYPE_CHECKING:
    from pairscore.errors import BadRow, BadRowsError
    from pairscore.model.fit import Fit

SHOWN_FAULTS = 20  # of items that are not scored, on the screen
SHOWN_ITEMS = 20  # of a ranking


@command()
@file_argument("model")
@file_argument("items", required=False)
@ID_OF_FIT_OPTION
@option("--level", type=SHARE, default=0.95, help="Confidence level of the intervals.")
@flag("--simultaneous", help="Wider intervals that hold for all items together.")
@SCALE_OPTION
@word(
    "--unknown",
    UNKNOWN_RULES,
    "Items that cannot be scored (a level that the fit did not know, a missing value): rank the"
    " others and list these, or stop.",
    "skip",
)
@output_option(
    "Write the ranking to this .csv, .xlsx, .parquet or .jsonl file (-: CSV to standard output)."
)
@DECIMAL_OPTION
@EXCEL_SAFE_OPTION
@json_flag("Print the ranking as JSON.")
@examples(
    "rank model.npz new_items.csv",
    "rank model.npz new_items.csv -o scores.xlsx",
    "rank model.npz new_items.parquet --unknown stop -o ranking.csv",
)
def rank(model: Path, items: Path | None, output: Path | None, as_json: bool, **given: Any) -> None:
    """Rank ITEMS, old or new, highest first, by the score in MODEL.

    A model of comparisons alone ranks the items that were compared, without ITEMS.
    ITEMS needs the columns that the fit used, under the same names; other columns are ignored.
    Features are made as in the fit. Columns of the ranking: id, score, low, high (an interval),
    rank, rank_low, rank_high, and outside: 1 if some feature lies outside the range of the fit;
    with new items, place_low and place_high: where each would rank among the items of the fit.
    Where a feature never differs between two compared items (such as the year), ranks are within
    groups of items that are equal in it, and a column group names them. Items that cannot be scored
    are listed with the reason, in a workbook on a separate sheet. Without -o, the first 20 are
    shown. ITEMS is read as that of the fit; a study file (.toml) in its place may say otherwise.
    """
    items, _, given = with_study_file(items, (), given)
    refuse_output(output, model, *([items] if items else []), is_table=True)
    from pairscore.data.recipe import recipe_of
    from pairscore.files.write import write_table
    from pairscore.model.file import load_model
    from pairscore.records import row_records

    if str(model) == str(items) == "-":
        raise PairscoreError(
            "standard input can be the model or the items, not both; name a file for one of them."
        )
    with input_path(model) as path:
        fit = load_model(path).fit
    reading = file_settings(given, fit.record.get("reading"))
    dropped, unscored = 0, Unscored()
    notes: list[str] = []
    reading["say"] = notes.append  # what is left out is said first
    with list_bad_rows(output, reading["decimal"]):
        asked = {name: given[name] for name in ("level", "simultaneous", "scale")}
        if fit.n_features == 0:
            ranking = rank_compared(fit, items, **asked)
        elif items is None:
            raise click.UsageError("Missing argument 'ITEMS'.")
        else:
            asked |= {"unknown": given["unknown"]}
            try:
                ranking, dropped, unscored = rank_file(fit, items, given["id"], **asked, **reading)
            except PairscoreError:
                show_notes(notes)
                raise
    unscored.show(len(ranking["id"]), output, reading["decimal"])
    show_notes(notes)
    if dropped:
        show_note(f"{plural(dropped, 'item')} with missing values left out, as in the fit.")
    named = with_id_name(ranking, given["id"] or recipe_of(fit).id)
    if output is not None:
        write_table(
            named,
            output,
            reading["decimal"],
            unscored.sheets(),
            excel_safe=given["excel_safe"],
        )
        show_written(output, as_json)
    if as_json and str(output) != "-":
        about = {"n_items": len(ranking["id"]), "dropped": dropped, "scale": given["scale"]}
        about["not_scored"] = row_records(unscored.columns()) if unscored.rows else []
        show_json(about | {"ranking": row_records(ranking)})
    elif output is None:
        show_text(ranking_text(ranking, fit, given["scale"], next(iter(named))))


def show_notes(texts: Iterable[Worded | Piece]) -> None:
    """Print notes that were held back, each once."""
    for text in dict.fromkeys(texts):
        show_note(text)


def rank_compared(fit: "Fit", items: Path | None, **asked: Any) -> dict[str, Any]:
    """The ranking of the items of a fit without features, as columns."""
    from pairscore.data.tables import Columns
    from pairscore.model.item_lookup import items_of_fit
    from pairscore.model.ranks import rank_items

    if items is not None:
        raise PairscoreError(
            "the model was fitted to comparisons alone, and ranks the items that were compared;"
            " leave ITEMS out."
        )
    return dict(rank_items(fit, replace(items_of_fit(fit), backend=Columns), **asked))


def with_id_name(ranking: dict[str, Any], name: str | None) -> dict[str, Any]:
    """The ranking with the user's name for the column of ids, unless another column has it."""
    if name is None or name in ranking:
        return ranking
    return {name if column == "id" else column: values for column, values in ranking.items()}


def ranking_text(ranking: dict[str, Any], fit: Any, scale: str, id_name: str = "id") -> str:
    """The first items of a ranking as a table for the screen; ``id_name`` is the user's word."""
    from pairscore.display import same_digits, text_table
    from pairscore.model.score_scales import scale_of
    from pairscore.records import row_records

    def cells(row: dict[str, Any]) -> tuple[Any, ...]:
        interval = interval_in_words(row["low"], row["high"], style)
        ranks = f"{row['rank_low']}-{row['rank_high']}"
        places = [f"{row['place_low']}-{row['place_high']}"] if has_places else []
        outside = "outside the fitted items" if row["outside"] else ""
        known = row["rank"], row["id"], f"{row['score']:{style}}", interval, ranks
        return *([row["group"]] if in_groups else []), *known, *places, outside

    in_groups, has_places = "group" in ranking, "place_low" in ranking
    style = same_digits(ranking["score"])
    few = {name: values[:SHOWN_ITEMS] for name, values in ranking.items()}
    ends = zip(few["low"], few["high"], strict=True)  # as they are: JSON knows no open ones
    first = [
        row | {"low": float(low), "high": float(high)}
        for row, (low, high) in zip(row_records(few), ends, strict=True)
    ]
    columns = [("rank", ">"), (id_name, "<"), ("score", ">"), ("interval", ">"), ("ranks", ">")]
    if in_groups:
        columns.insert(0, ("group", "<"))
    if has_places:
        columns.append((f"among the {fit.n_items:,} fitted", ">"))
    header, sides = zip(*columns, ("", "<"), strict=True)
    layout = "  ".join(f"{{:{side}}}" for side in sides)
    n_more = len(ranking["id"]) - len(first)
    lines = [
        ": ".join(filter(None, (fit.wording.title, fit.wording.order))),
        f"score: {scale_of(fit, scale).in_words}",
        text_table(header, map(cells, first), layout),
        f"and {n_more:,} more; -o ranking.csv writes them all." if n_more else "",
    ]
    return "\n".join(filter(None, lines))


# -- items of a file, and those that cannot be scored ----------------------------------------------


@dataclass(frozen=True)
class Unscored:
    """Items that were not scored: by the row of each, its id, and what is wrong with it."""

    ids: dict[int, Any] = field(default_factory=dict)
    rows: list[tuple[int, "BadRow"]] = field(default_factory=list)
    errors: list["BadRowsError"] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """A row for each fault: id, line, column, text, reason."""
        import numpy as np

        faults = [
            (self.ids[row], bad.line, bad.column or "", bad.text, bad.reason)
            for row, bad in self.rows
        ]
        names = ("id", "line", "column", "text", "reason")
        columns = zip(names, zip(*faults, strict=True), strict=True)
        return {name: np.array(of, dtype=int if name == "line" else object) for name, of in columns}

    def sheets(self) -> dict[str, Any]:
        return {"not scored": self.columns()} if self.rows else {}

    def show(self, n_scored: int, output: Path | None, decimal: str | None) -> None:
        """Say first how many items were left out, then which, and why."""
        if not self.rows:
            return
        from pairscore.data.recipe import remedies_of_items
        from pairscore.files.bad_rows import write_bad_rows
        from pairscore.files.write import is_xlsx

        n = len(self.ids)
        lines = [
            str(bad) if self.ids[row] is None else f"{self.ids[row]!r}: {bad}"
            for row, bad in self.rows[:SHOWN_FAULTS]
        ]
        n_more = len(self.rows) - len(lines)
        lines += [f"and {n_more:,} more"] if n_more else []
        show_note(
            f"{n:,} of {plural(n + n_scored, 'item', ',')} could not be scored, and"
            f" {'is' if n == 1 else 'are'} not in the ranking:\n  " + "\n  ".join(lines)
        )
        show_notes(
            Message.of(f"{error.rows[0].reason}: " + join(", or ", remedies_of_items(error)))
            for error in self.errors
        )
        if output is not None and str(output) != "-" and not is_xlsx(output):
            path = Path(f"{output}.bad-rows.csv")
            if write_bad_rows(self.errors, path, decimal):
                show_note(f"all of these are in {str(path)!r}.")


def rank_file(
    fit: "Fit",
    items: Path,
    id: str | None,
    level: float,
    simultaneous: bool,
    scale: str = "link",
    unknown: str = "skip",
    **reading: Any,
) -> tuple[dict[str, Any], int, Unscored]:
    """Rank the items of a file of any size, piece by piece.

    Returns the ranking as columns, best item first, how many items were left out for missing
    values as in the fit, and those that could not be scored, if they are to be skipped.
    """
    from pairscore.errors import BadRowsError
    from pairscore.files.items_in_pieces import words_among_numbers

    asked: dict[str, Any] = {"level": level, "simultaneous": simultaneous, "scale": scale}
    asked["unknown"] = unknown
    try:
        return rank_stored(fit, items, id, {}, **asked, **reading)
    except BadRowsError:
        words = words_among_numbers(fit, items, id, reading)
        if not words:
            raise
        return rank_stored(fit, items, id, words, **asked, **reading)


def rank_stored(
    fit: "Fit",
    items: Path,
    id: str | None,
    words: dict[tuple[int, str], str],
    *,
    level: float,
    simultaneous: bool,
    scale: str,
    unknown: str,
    **given: Any,
) -> tuple[dict[str, Any], int, Unscored]:
    """As :func:`rank_file`, of a file with these words in place of numbers, by line and column."""
    from pairscore.errors import BadRow, BadRowsError
    from pairscore.files.bad_rows import BadFilesError, locate_faults
    from pairscore.files.items_in_pieces import (
        ItemPieces,
        new_item_columns,
        without_entries,
        words_as_faults,
    )
    from pairscore.files.tables import stored_table
    from pairscore.model.ranks import rank_pieces

    needed, reading = new_item_columns(fit, id, given)
    reading["na"] = [*reading["na"], *map(Unsaid, sorted({*words.values()}))]
    with stage("Reading") as show, stored_table(items, **reading) as table:
        if not words and (found := table.words_among_numbers(needed.recipe.features)):
            bad = [BadRow(line, name, text, NO_NUMBER) for (line, name), text in found.items()]
            raise BadRowsError(table.source.shown, bad)
        recipe = needed.recipe_for(table.cells)
        pieces, unscored = ItemPieces(table, recipe), Unscored()

        def rank() -> dict[str, Any]:
            return rank_pieces(
                fit,
                with_progress(pieces, show, n_passes=1 if fit.covariance is None else 3),
                ids=lambda: pieces.ids if recipe.id else None,
                level=level,
                simultaneous=simultaneous,
                scale=scale,
            )

        try:
            if texts := words_as_faults(pieces, words):
                raise texts[0]
            columns = rank()
        except BadEntriesError as error:
            others = [*without_entries(pieces.faults(), texts)]
            if unknown == "skip":
                unscored = items_unscored([*texts, *others], pieces)
            if len(unscored.ids) == pieces.n_rows:
                raise BadFilesError(unscored.errors) from error
            if unknown == "stop":
                located = locate_faults(others, table, {"id": recipe.id or "id"}).errors
                words_in = items_unscored(texts, pieces).errors  # cells that were read as missing
                raise BadFilesError([*words_in, *located]) from error
            pieces = ItemPieces(table, recipe, unscored.ids)
            columns = rank()
    rows = columns.pop("row")
    ids = rows if pieces.ids is None else pieces.ids[rows]
    return {"id": ids, **columns}, pieces.dropped, unscored


def items_unscored(faults: list[BadEntriesError], pieces: Any) -> Unscored:
    """The rows of all faults, with their ids and where they are in the file."""
    from pairscore.data.items import with_same_ids
    from pairscore.errors import BadRow, BadRowsError

    id, rows, errors = pieces.recipe.id, [], []
    names = pieces.names_of(range(pieces.n_rows))
    for fault in (with_same_ids(one, [*names.values()]) for one in faults):
        lines = pieces.table.locate([(row, id or column) for row, column, _ in fault.entries])
        bad = [
            (
                row,
                BadRow(
                    line, id if id and column == "id" else column, str(value or ""), fault.reason
                ),
            )
            for (row, column, value), (line, _) in zip(fault.entries, lines, strict=True)
        ]
        rows += bad
        of_file = [of for _, of in bad]
        errors.append(BadRowsError(pieces.table.source.shown, of_file, fault.message.remedies))
    ids = {row: names[row] for row in sorted({row for row, _ in rows})}
    return Unscored(ids, sorted(rows, key=lambda one: one[0]), errors)
