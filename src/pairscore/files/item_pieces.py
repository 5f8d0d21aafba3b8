"""Items of a file of any size, piece by piece, with all that is wrong with them."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from pairscore.data.items import refuse_bad_ids, refuse_non_finite
from pairscore.data.recipe import Recipe
from pairscore.data.tables import Columns
from pairscore.errors import BadEntriesError
from pairscore.files.faults import all_faults
from pairscore.files.tables import StoredTable


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
