"""Items in files that all workers of a cluster can reach, and sums over them.

Workers read some rows each, and this process receives vectors with a number for each item, sums of
size d x d, and the rows that it asks for (:class:`SharedItems`).
"""

import os
from bisect import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from pairscore.data.items import (
    Items,
)
from pairscore.errors import PairscoreError
from pairscore.estimators.item_table import ItemTable, PerItem
from pairscore.files.partitions import Partition
from pairscore.messages import Setting
from pairscore.model.fit import Fit
from pairscore.model.open_directions import ComparedItems, ComparedRows, OpenPart
from pairscore.model.predict import fitted_scores, linear_scores
from pairscore.streaming.engines import Engine
from pairscore.streaming.scratch import reachable
from pairscore.streaming.stream_items import (
    ITEM_FILE,
    ItemBlock,
    columns_of_items,
    item_blocks,
    item_head,
    item_parts,
    remembering_id,
    stream_items_of_table,
    with_columns_as_curves,
    with_ids,
    write_features,
)


@dataclass(frozen=True)
class FeatureFiles:
    """Features (N x d) in files of neighbouring rows, of which each process reads what it needs.

    ``starts`` are the rows at which files begin, and N.
    """

    folder: str
    starts: tuple[int, ...]
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.starts[-1], self.n_features

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, last, _ = rows.indices(len(self))
        found = [np.empty((0, self.n_features))]
        number = bisect(self.starts, first) - 1
        while number < len(self.starts) - 1 and self.starts[number] < last:
            start, stop = self.starts[number : number + 2]
            if stop > start:
                low, high = max(first, start) - start, min(last, stop) - start
                found.append(self._file(number, stop - start)[low:high])
            number += 1
        return np.concatenate(found) if len(found) != 2 else found[1]

    def _file(self, number: int, n_rows: int) -> np.ndarray:
        with reachable(self.folder):
            path = item_file(self.folder, number)
            return np.memmap(path, np.float64, "r", shape=(n_rows, self.n_features))


def item_file(folder: str, number: int) -> Path:
    """Where the features of a part of the item table are."""
    return Path(folder) / f"{number:07d}-{ITEM_FILE}"


@dataclass(frozen=True)
class SavedItems:
    """How many items some parts have, each, and their ids; those of neighbouring parts add."""

    n_rows: tuple[int, ...]
    ids: np.ndarray

    def __add__(self, other: "SavedItems") -> "SavedItems":
        return SavedItems(self.n_rows + other.n_rows, np.concatenate([self.ids, other.ids]))


@dataclass(frozen=True)
class SaveTask:
    """Reads a part of the item table, and writes its features where all workers can reach them."""

    folder: str
    columns: Mapping[str, str]
    features: tuple[str, ...]

    def __call__(self, numbered: tuple[int, Partition]) -> SavedItems:
        number, part = numbered
        path = item_file(self.folder, number)
        unfinished = path.with_suffix(f".{uuid4().hex}")
        with reachable(self.folder):
            n, ids = write_features(item_blocks(part, self.columns, self.features), unfinished)
            os.replace(unfinished, path)
        return SavedItems((n,), np.concatenate(ids or [np.empty(0)]))


def share_items(source: Any, settings: Mapping[str, Any], folder: str, engine: Engine) -> Items:
    """Items whose features are in a folder: workers read files in parts, and write them there.

    This process sees the first few items, and the ids. A table that it has in memory it writes
    itself. Parameters are those of :func:`read_item_table`.
    """
    parts = item_parts(source, anywhere=True)
    if parts is None:
        items = remembering_id(stream_items_of_table(source, settings), settings)
        items = with_columns_as_curves(items, settings)
        with reachable(folder):
            write_features([ItemBlock(np.empty(0), list(items.values.T))], item_file(folder, 0))
        shared = FeatureFiles(folder, (0, len(items)), len(items.feature_names))
        return replace(items, values=shared)  # type: ignore[arg-type]
    if asked := [name for name in ("curves", "smooth") if settings.get(name)]:
        raise PairscoreError(
            Setting(asked[0]) + " needs a table of items that one process reads, and on a cluster"
            " workers read its files",
            ["give the items as a table", "fit without a cluster"],
        )
    columns = columns_of_items(parts[0].column_names(), settings, parts[0].name)
    head = item_head(parts, columns)
    task = SaveTask(folder, columns, head.feature_names)
    saved: SavedItems = engine.total(task, list(enumerate(parts)))
    starts = tuple(np.cumsum([0, *saved.n_rows]).tolist())
    shared = FeatureFiles(folder, starts, len(head.feature_names))
    return remembering_id(with_ids(shared, head, [saved.ids]), settings)


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


def _chosen(X: np.ndarray, mask: np.ndarray) -> PerItem:
    return PerItem(X[mask])


def _scores(X: np.ndarray, coef: np.ndarray) -> PerItem:
    return PerItem(linear_scores(X, coef))  # equal items have equal scores, to the last bit


def _open_part(X: np.ndarray, mask: np.ndarray, fit: Fit) -> PerItem:
    part = OpenPart.of_values(fit, X[mask])
    return PerItem(np.column_stack([part.place, part.size]))


BLOCK_BYTES = 1 << 25  # of the table in one task
