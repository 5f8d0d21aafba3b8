"""The item table of a stream in files: on this machine, or where all workers can reach it."""

import os
from bisect import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from pairscore.data.items import Items, refuse_non_finite
from pairscore.files.partitions import Partition
from pairscore.streaming.engines import Engine
from pairscore.streaming.item_rows import (
    ItemBlock,
    item_blocks,
    item_columns,
    item_head,
    item_parts,
    read_items_in_memory,
    remembering_id,
    with_ids,
)
from pairscore.streaming.scratch import reachable

ITEM_FILE = "items.f8"  # features, row by row


def read_item_table(
    source: Any, settings: Mapping[str, Any], most_bytes: float, folder: str
) -> Items:
    """Read and check items.

    Parameters
    ----------
    source
        Files or parts of files, as :func:`pairscore.files.partitions.partitions` takes them; or any
        table in memory that :func:`pairscore.data.items.read_items` takes.
    settings : dict
        ``id`` names the column of ids, ``features`` those to use, ``exclude`` those to leave out.
    most_bytes : float
        Features that take more are kept in a file, and mapped into memory.
    folder : str
        Where that file goes.
    """
    parts = item_parts(source)
    if parts is None:
        return remembering_id(read_items_in_memory(source, settings), settings)
    columns = item_columns(parts[0].column_names(), settings, parts[0].name)
    head = item_head(parts, columns)
    blocks = (block for part in parts for block in item_blocks(part, columns, head.feature_names))
    n_rows, d = sum(part.n_rows for part in parts), len(head.feature_names)
    if n_rows * d * 8 <= most_bytes:
        values, ids = _in_memory(blocks, n_rows, d)
    else:
        values, ids = _on_disk(blocks, d, Path(folder) / ITEM_FILE)
    return remembering_id(with_ids(values, head, ids), settings)


def _in_memory(
    blocks: Iterable[ItemBlock], n_rows: int, n_features: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Features in an array, which grows where the number of rows was a guess; and the ids."""
    values, ids, n = np.empty((n_rows, n_features)), [], 0
    for block in blocks:
        if n + len(block) > len(values):
            values = np.concatenate([values[:n], np.empty((n + 2 * len(block), n_features))])
        block.write(values[n : n + len(block)])
        n += len(block)
        ids.append(block.ids)
    return values[:n], ids


def _on_disk(
    blocks: Iterable[ItemBlock], n_features: int, path: Path
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Features in a file that is mapped into memory, and the ids."""
    n, ids = write_features(blocks, path)
    values = np.memmap(path, dtype=np.float64, mode="r", shape=(n, n_features))
    for first in range(0, n, 1 << 16):
        refuse_non_finite(values[first : first + (1 << 16)], tuple("x" * n_features))
    return values, ids


def write_features(blocks: Iterable[ItemBlock], path: Path) -> tuple[int, list[np.ndarray]]:
    """Write features to a file, row by row; returns the number of rows, and the ids."""
    n, ids = 0, []
    with path.open("wb") as file:
        for block in blocks:
            values = np.empty((len(block), len(block.columns)))
            block.write(values)
            values.tofile(file)
            n += len(block)
            ids.append(block.ids)
    return n, ids


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
        items = remembering_id(read_items_in_memory(source, settings), settings)
        with reachable(folder):
            write_features([ItemBlock(np.empty(0), list(items.values.T))], item_file(folder, 0))
        shared = FeatureFiles(folder, (0, len(items)), len(items.feature_names))
        return replace(items, values=shared)  # type: ignore[arg-type]
    columns = item_columns(parts[0].column_names(), settings, parts[0].name)
    head = item_head(parts, columns)
    task = SaveTask(folder, columns, head.feature_names)
    saved: SavedItems = engine.total(task, list(enumerate(parts)))
    starts = tuple(np.cumsum([0, *saved.n_rows]).tolist())
    shared = FeatureFiles(folder, starts, len(head.feature_names))
    return remembering_id(with_ids(shared, head, [saved.ids]), settings)
