"""Items of a file of any size, piece by piece, with all that is wrong with them."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.data.items import refuse_bad_ids, refuse_non_finite
from pairscore.data.recipe import Recipe
from pairscore.data.tables import Columns
from pairscore.display import plural
from pairscore.errors import NO_NUMBER, BadEntriesError
from pairscore.files.bad_rows import all_faults
from pairscore.files.numbers import decimal_sign_of
from pairscore.files.tables import StoredTable
from pairscore.messages import Piece, Setting

if TYPE_CHECKING:
    from pairscore.model.fit import Fit

MEMORY = "1GB"  # of a table to rank; what is beyond goes to disk


class ItemPieces:
    """The features of the items of a stored table, piece by piece: called, an iterator of matrices.

    The first pass collects the ``ids`` and counts the items ``dropped`` for missing values. Rows in
    ``skipped`` are not among them.
    """

    def __init__(self, table: StoredTable, recipe: Recipe, skipped: Collection[int] = ()):
        recipe.refuse_absent(table.cells)
        self.table, self.recipe = table, recipe
        self.n_rows = len(table)
        self.skipped = np.array(sorted(skipped), dtype=int)
        self.ids: np.ndarray | None = None
        self.dropped = 0

    def __call__(self) -> Iterator[np.ndarray]:
        names, dropped = [], 0
        for first, whole in self._pieces():
            rows = np.setdiff1d(np.arange(first, first + len(whole)), self.skipped)
            piece = whole if len(rows) == len(whole) else whole.take(rows - first)
            values, kept, ids = self._features(piece, rows)
            dropped += int(np.count_nonzero(~kept))
            if self.ids is None:
                names.append(ids[kept])
            yield values
        if self.ids is None and names:
            self.ids, self.dropped = np.concatenate(names), dropped
            refuse_bad_ids(self.ids)

    def _features(
        self, piece: Columns, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Feature values of the items kept, a mask of those, and what all items are called."""
        found = self.recipe.ids(piece)
        ids = (np.arange(len(piece)) if rows is None else rows) if found is None else found
        values = self.recipe.matrix(piece)
        kept = self.recipe.complete_rows(values, ids)
        refuse_non_finite(
            values if kept.all() else np.where(kept[:, None], values, 0.0), self.recipe.names
        )
        return values if kept.all() else values[kept], kept, ids

    def faults(self) -> list[BadEntriesError]:
        """All that is wrong with the items, wherever it is."""
        faults = []
        for first, piece in self._pieces():
            faults += all_faults(self._features, piece, first)
        if self.recipe.id:
            ids = np.concatenate([piece[self.recipe.id] for _, piece in self._pieces()])
            faults += all_faults(lambda table: refuse_bad_ids(table["id"]), Columns({"id": ids}))
        return faults

    def names_of(self, rows: Collection[int]) -> dict[int, Any]:
        """What the items of some rows are called."""
        if not self.recipe.id:
            return {row: row for row in rows}
        ids = np.concatenate([piece[self.recipe.id] for _, piece in self._pieces()]).tolist()
        return {row: ids[row] for row in sorted(rows)}

    def missing(self, name: str) -> np.ndarray:
        """The rows that have no entry in a column."""
        columns = (piece.get_column(name).is_missing() for piece in self.table.pieces({name}))
        return np.flatnonzero(np.concatenate([*columns]))

    def _pieces(self) -> Iterator[tuple[int, Columns]]:
        first = 0
        names = {*self.recipe.sources, *([self.recipe.id] if self.recipe.id else [])}
        for piece in self.table.pieces(names):
            yield first, piece
            first += len(piece)


def new_item_columns(fit: "Fit", id: str | None, reading: dict[str, Any]) -> tuple[Any, Any]:
    """The columns that a table of new items needs, and how it is read."""
    from pairscore.data.recipe import recipe_of
    from pairscore.files.columns_to_read import ItemColumns
    from pairscore.files.workbooks import first_sheet

    recipe = recipe_of(fit) if id is None else replace(recipe_of(fit), id=id)
    # a model that was fitted in Python may know its items by row number
    needed = ItemColumns(recipe=recipe, id_is_optional=id is None and fit.recipe is None)
    columns = {"columns": needed.choose, "identifiers": needed.identifiers, "memory": MEMORY}
    return needed, reading | columns | {"sheet": first_sheet(reading["sheet"])}


def words_among_numbers(
    fit: "Fit", items: Path, id: str | None, given: dict[str, Any]
) -> dict[tuple[int, str], str]:
    """By line and column, entries of features that are no numbers, where a file may be read again.

    Of a column with a few words each is a bad row, and one with many is text.
    """
    from pairscore.errors import BadRowsError
    from pairscore.files.source import table_kind
    from pairscore.files.tables import stored_table

    words: dict[tuple[int, str], str] = {}
    if str(items) == "-" or table_kind(items) not in ("csv", "workbook"):
        return words
    needed, reading = new_item_columns(fit, id, given | {"say": _nothing})
    while True:
        asked = reading | {"na": [*reading["na"], *words.values()]}
        try:
            with stored_table(items, **asked) as table:
                more = table.words_among_numbers(needed.recipe.features)
        except BadRowsError as error:
            more = {(r.line, r.column or ""): r.text for r in error.rows if r.reason == NO_NUMBER}
        if not {*more} - {*words}:
            return words
        words |= more


def _nothing(text: str) -> None:
    """It is said when the file is read for good."""


def words_as_faults(pieces: Any, words: dict[tuple[int, str], str]) -> list[BadEntriesError]:
    """What is wrong with cells that were read as missing because they are no numbers."""
    entries: list[tuple[int, str, object]] = []
    for name in dict.fromkeys(column for _, column in words):
        rows = pieces.missing(name).tolist()
        for row, (line, _) in zip(
            rows, pieces.table.locate([(r, name) for r in rows]), strict=True
        ):
            entries += [(row, name, words[line, name])] if (line, name) in words else []
    by_sign: dict[str | None, list[tuple[int, str, object]]] = {}
    for entry in entries:
        by_sign.setdefault(decimal_sign_of(str(entry[2])), []).append(entry)
    return [_no_numbers(sign, of) for sign, of in by_sign.items()]


def _no_numbers(sign: str | None, entries: list[tuple[int, str, object]]) -> BadEntriesError:
    """Entries that are no numbers, or only with this decimal sign."""
    what = f"{plural(len(entries), 'feature value', verb='is')} not a number"
    texts = [*dict.fromkeys(str(text) for _, _, text in entries)]
    remedies: list[Piece] = ["if they mean that a value is missing, give " + Setting("na", texts)]
    if sign is not None:
        signs = "decimal commas" if sign == "," else "decimal points"
        give_it = "give " + Setting("decimal", sign) + f" if the file has {signs}"
        remedies = ["write numbers with one decimal sign", give_it]
    return BadEntriesError(what, remedies, "items", entries, "not a number")


def without_entries(
    faults: Iterable[BadEntriesError], told: Iterable[BadEntriesError]
) -> Iterator[BadEntriesError]:
    """Faults of other cells than those that were told: a cell that is no number is not missing."""
    known = {(row, column) for fault in told for row, column, _ in fault.entries}
    for fault in faults:
        entries = [entry for entry in fault.entries if entry[:2] not in known]
        if entries:
            yield fault.with_entries(entries)
