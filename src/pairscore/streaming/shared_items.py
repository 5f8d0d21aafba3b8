"""The item table of a stream, whose rows workers may read: here, or from files that all can reach.

On this machine the table is an array, perhaps a file that is mapped into memory
(:class:`pairscore.estimators.item_table.ItemTable`). Elsewhere it is in files
(:class:`pairscore.streaming.item_files.FeatureFiles`): workers read some rows each, and this
process receives vectors with a number for each item, sums of size d x d, and the rows that it asks
for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairscore.data.items import Items
from pairscore.estimators.item_table import ItemTable, PerItem
from pairscore.estimators.results import Fit
from pairscore.model.open_directions import ComparedItems, ComparedRows, OpenPart
from pairscore.model.predict import fitted_scores, linear_scores
from pairscore.streaming.engines import Engine
from pairscore.streaming.item_files import FeatureFiles

BLOCK_BYTES = 1 << 25  # of the table in one task


@dataclass(frozen=True)
class RowTask:
    """Calls a task with some rows of the table, and with the entries of vectors for these."""

    X: FeatureFiles
    task: Callable[..., Any]
    vectors: tuple[np.ndarray, ...]

    def __call__(self, rows: slice) -> Any:
        return self.task(self.X[rows], *(vector[rows] for vector in self.vectors))


@dataclass(frozen=True)
class SharedItems(ItemTable):
    """Features X (N x d) in an array or in files, and the engine that goes through them."""

    X: Any  # an array, or FeatureFiles
    engine: Engine

    def over(self, task: Callable[..., Any], *vectors: np.ndarray) -> Any:
        """task(X, vectors...), or the total of that over blocks of rows."""
        if isinstance(self.X, np.ndarray):
            return task(self.X, *vectors)
        n, d = self.X.shape
        size = max(BLOCK_BYTES // (8 * max(d, 1)), 1)
        blocks = [slice(first, min(first + size, n)) for first in range(0, n, size)]
        return self.engine.total(RowTask(self.X, task, vectors), blocks)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some rows (n x d), by their numbers."""
        if isinstance(self.X, np.ndarray):
            return self.X[rows]
        wanted = np.zeros(len(self.X), dtype=bool)
        wanted[rows] = True
        chosen: PerItem = self.over(_chosen, wanted)
        return chosen.values[np.searchsorted(np.flatnonzero(wanted), rows)]

    def compared(self, mask: np.ndarray) -> ComparedItems:
        """The items of a mask, for what a model keeps of them."""
        if isinstance(self.X, np.ndarray):
            return ComparedRows(self.X, mask)
        return ComparedInParts(self, mask)

    def fitted_scores(self, fit: Fit, names: tuple[str, ...], mask: np.ndarray) -> np.ndarray:
        """See :func:`pairscore.model.predict.fitted_scores`."""
        scores: PerItem = self.over(partial(_scores, coef=fit.coef))
        return fitted_scores(fit, scores.values, mask, lambda rows: Items(self.take(rows), names))


@dataclass(frozen=True)
class ComparedInParts:
    """Of the items of a table in files, those of a ``mask`` (N)."""

    table: SharedItems
    mask: np.ndarray

    def feature_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        ranges = self.table.ranges(self.mask)
        return ranges.low, ranges.high

    def open_part(self, fit: Fit) -> OpenPart:
        places: PerItem = self.table.over(partial(_open_part, fit=fit), self.mask)
        return OpenPart(places.values[:, :-1], places.values[:, -1])


# -- tasks: called with some rows of the table -------------------------------------------------


def _chosen(X: np.ndarray, mask: np.ndarray) -> PerItem:
    return PerItem(X[mask])


def _scores(X: np.ndarray, coef: np.ndarray) -> PerItem:
    return PerItem(linear_scores(X, coef))  # equal items have equal scores, to the last bit


def _open_part(X: np.ndarray, mask: np.ndarray, fit: Fit) -> PerItem:
    part = OpenPart.of_values(fit, X[mask])
    return PerItem(np.column_stack([part.place, part.size]))
