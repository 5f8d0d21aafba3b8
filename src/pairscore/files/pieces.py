"""The items of a file of any size, piece by piece."""

from collections.abc import Iterator

import numpy as np

from pairscore.data.features import Recipe
from pairscore.data.items import refuse_bad_ids, refuse_non_finite
from pairscore.data.tables import Columns
from pairscore.errors import BadEntriesError
from pairscore.files.faults import all_faults
from pairscore.files.tables import StoredTable


class ItemPieces:
    """The features of the items of a stored table, piece by piece.

    Call it for an iterator of matrices.

    The first pass collects the ``ids`` and counts the items ``dropped`` for missing values.
    """

    def __init__(self, table: StoredTable, recipe: Recipe):
        recipe.refuse_absent(table.cells)
        self.table, self.recipe = table, recipe
        self.n_rows = len(table)
        self.ids: np.ndarray | None = None
        self.dropped = 0

    def __call__(self) -> Iterator[np.ndarray]:
        names, dropped, first = [], 0, 0
        for piece in self._pieces():
            values, kept, ids = self._features(piece, first)
            first += len(piece)
            dropped += int(np.count_nonzero(~kept))
            if self.ids is None:
                names.append(ids[kept])
            yield values
        if self.ids is None and names:
            self.ids, self.dropped = np.concatenate(names), dropped
            refuse_bad_ids(self.ids)

    def _features(
        self, piece: Columns, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Feature values of the items kept, a mask of those, and what all items are called."""
        found = self.recipe.ids(piece)
        ids = np.arange(first, first + len(piece)) if found is None else found
        values = self.recipe.matrix(piece)
        kept = self.recipe.complete_rows(values, ids)
        refuse_non_finite(
            values if kept.all() else np.where(kept[:, None], values, 0.0), self.recipe.names
        )
        return values if kept.all() else values[kept], kept, ids

    def faults(self) -> list[BadEntriesError]:
        """All that is wrong with the items, wherever it is."""
        faults, first = [], 0
        for piece in self._pieces():
            faults += all_faults(self._features, piece, first)
            first += len(piece)
        if self.recipe.id:
            ids = Columns(
                {"id": np.concatenate([piece[self.recipe.id] for piece in self._pieces()])}
            )
            faults += all_faults(lambda table: refuse_bad_ids(table["id"]), ids)
        return faults

    def _pieces(self) -> Iterator[Columns]:
        return self.table.pieces(
            {*self.recipe.sources, *([self.recipe.id] if self.recipe.id else [])}
        )
