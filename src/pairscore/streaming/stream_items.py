"""The item table of a stream, which is read a block at a time.

On this machine the table is an array, perhaps a file that is mapped into memory. On a cluster it is
in files that all workers can reach (:class:`FeatureFiles`): workers read some rows each, and this
process receives vectors with a number for each item, sums of size d x d, and the rows that it asks
for. Sums over either are those of :class:`SharedItems`.
"""

import os
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from pairscore.data.find_ids import (
    FaultyIdsError,
    as_ids,
    choose_among,
    distinct,
    find_id_column,
    found_words,
    id_settings,
)
from pairscore.data.items import (
    Items,
    are_computable,
    read_items,
    refuse_bad_ids,
    refuse_non_finite,
)
from pairscore.data.recipe import Recipe
from pairscore.data.tables import ID_COLUMN, Column, Columns, as_frame, column_of, ids_of
from pairscore.display import did_you_mean, first_few
from pairscore.errors import ColumnFoundWarning, PairscoreError, warn_caller
from pairscore.estimators.item_table import ItemTable, PerItem
from pairscore.files.partitions import FilePartition, Partition, import_arrow, is_text, partitions
from pairscore.files.tables import as_whole_numbers, composed, without_blanks
from pairscore.model.fit import Fit
from pairscore.model.open_directions import ComparedItems, ComparedRows, OpenPart
from pairscore.model.predict import fitted_scores, linear_scores
from pairscore.streaming.batches import BatchLayout, located
from pairscore.streaming.engines import Engine
from pairscore.streaming.scratch import reachable

if TYPE_CHECKING:
    import pyarrow as pa

ITEM_ROWS = 1 << 17  # of a Parquet file with items in one partition
AT_ONCE = 512  # rows of the items whose columns stay in the cache
HEAD = 1000  # rows of the items by which columns are told to be features
ITEM_FILE = "items.f8"  # features, row by row
BLOCK_BYTES = 1 << 25  # of the table in one task


def item_parts(source: Any, anywhere: bool = False) -> list[Partition] | None:
    """The partitions of files with items, perhaps read elsewhere; None for a table in memory."""
    is_files = isinstance(source, str | Path)
    if isinstance(source, list | tuple) and source:
        is_files = isinstance(source[0], str | FilePartition)
    return partitions(source, ITEM_ROWS, anywhere) if is_files else None


def some_rows(n_items: int) -> np.ndarray:
    """Up to 256 rows of the item table, by which it is known again."""
    return np.arange(0, n_items, 1 + n_items // 256)


def with_ids(values: Any, head: Items, ids: Sequence[np.ndarray]) -> Items:
    """Items with features ``values``, named as those of ``head``, and ids in several pieces."""
    names = _all_ids(ids) if head.ids is not None else None
    if names is not None and (names.dtype.kind not in "iu" or not np.all(names[1:] > names[:-1])):
        refuse_bad_ids(names)
    return Items(values, head.feature_names, names, head.backend)


def _all_ids(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Ids in one array; whole numbers if all are, else text."""
    if len({piece.dtype.kind in "iu" for piece in pieces}) < 2:
        return np.concatenate(pieces)
    return np.array([str(id) for piece in pieces for id in piece.tolist()], dtype=object)


def columns_of_items(
    names: Sequence[str], settings: Mapping[str, Any], shown: str = "the item table"
) -> dict[str, str]:
    """The columns to read, as we call them, by their names in the table."""
    id_name = settings.get("id") or (ID_COLUMN if ID_COLUMN in names else None)
    wanted = list(settings.get("features") or names)
    exclude = settings.get("exclude") or ()
    known = set(names)
    for name in (*([id_name] if id_name else []), *wanted, *exclude):
        if name not in known:
            raise PairscoreError(
                f"{shown!r} has no column {name!r}; it has {first_few(map(repr, names), 8)}."
                f"{did_you_mean(name, names)}"
            )
    columns = {name: name for name in wanted if name not in exclude and name != id_name}
    return columns | ({id_name: ID_COLUMN} if id_name else {})


def read_items_in_memory(source: Any, settings: Mapping[str, Any]) -> Items:
    """Items of a table in memory, of the columns that settings name."""
    frame = as_frame(source)
    if frame is None or not any(settings.values()):
        return read_items(source)
    names = {str(name): name for name in frame.columns}
    columns = columns_of_items(list(names), settings)
    table = {new: column_of(frame, names[name]) for name, new in columns.items()}
    if ID_COLUMN not in table and (ids := ids_of(frame)) is not None:
        table[ID_COLUMN] = Column(ids)
    return read_items(Columns(table))


def remembering_id(items: Items, settings: Mapping[str, Any]) -> Items:
    """The items with a recipe that says which column has the ids, if it is not called so."""
    id = settings.get("id")
    if id in (None, ID_COLUMN):
        return items
    return replace(items, recipe=Recipe(items.feature_names, id=id).to_record())


def with_column_of_ids(
    source: Any, votes: Sequence[Partition], layout: BatchLayout, settings: dict[str, Any]
) -> dict[str, Any]:
    """Settings that name the column of ids, if the items have one; what was found is said.

    Parameters are those of :func:`read_item_table`; ``votes`` are parts with comparisons.
    """
    id = find_item_ids(source, votes, layout, settings)
    if id is not None:
        warn_caller(f"{found_words(id)}; id={id!r} says so.", ColumnFoundWarning)
        return settings | {"id": id}
    parts = item_parts(source)
    if not settings.get("id") and parts and ID_COLUMN not in parts[0].column_names():
        text = "the items have no column 'id': they are known by row number, from 0 on."
        warn_caller(text, ColumnFoundWarning)
    return settings


def find_item_ids(
    source: Any, comparisons: Sequence[Partition], layout: BatchLayout, settings: Mapping[str, Any]
) -> str | None:
    """The column of ids of items that have none called so, by the first comparisons.

    As a fit in memory finds it (:mod:`pairscore.data.find_ids`); comparisons further on that name
    other items are refused when they are read. None where no column has the ids.
    """
    if settings.get("id"):
        return None
    given = id_settings(settings)
    parts = item_parts(source)
    if parts is None:
        frame = as_frame(source)
        if frame is None or ID_COLUMN in frame.columns:
            return None
        return find_id_column(frame, _first_names(comparisons, layout), by_text=True, **given)
    names = parts[0].column_names()
    columns_of_items(names, settings, parts[0].name)  # refuses names that the table does not have
    if ID_COLUMN in names:
        return None
    columns = {name: name for name in names if name not in given["others"]}
    head = next((table for part in parts for _, table in _item_tables(part, columns)), None)
    if head is None:
        return None
    numbers = [field.name for field in head.schema if not _is_label(field.type)]
    ids = {}
    for name in columns:
        is_only_feature = given["features"] is None and numbers == [name]
        if name in (given["features"] or ()) or is_only_feature:
            continue
        if as_ids(_column_of(head, name)) is None:  # of the first items, which are read anyway
            continue
        pieces = [
            _column_of(t, name) for part in parts for _, t in _item_tables(part, {name: name})
        ]
        whole = Column(np.concatenate([piece.to_numpy() for piece in pieces]))
        if (of := as_ids(whole)) is not None:
            ids[name] = of
    if not ids:
        return None
    n_items = len(next(iter(ids.values())).values)
    try:
        return choose_among(ids, None, n_items, _first_names(comparisons, layout), by_text=True)
    except FaultyIdsError:
        if len({part.name for part in parts}) > 1:
            raise
        with located(parts[0].name, 0):
            raise


def _is_label(kind: "pa.DataType") -> bool:
    from pyarrow import types

    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
    return bool(is_text or types.is_temporal(kind))


def _column_of(table: Any, name: str) -> Column:
    column = table.column(name)
    if hasattr(column.type, "index_type"):
        column = column.cast(column.type.value_type)
    return Column(column.to_numpy(zero_copy_only=False))


def _first_names(comparisons: Sequence[Partition], layout: BatchLayout) -> list[np.ndarray]:
    """The items that the first batch of comparisons names, on each side."""
    sides = [layout.columns[side] for side in layout.sides]
    for part in comparisons:
        for _, table in part.read(sides, sides):
            if len(table):
                return [distinct(_column_of(table, side)) for side in sides]
    return []


def item_head(parts: Sequence[Partition], columns: Mapping[str, str]) -> Items:
    """The first few items, which tell the columns that are features."""
    for part in parts:
        for first, table in _item_tables(part, columns):
            with located(part.name, first):
                return read_items(table.slice(0, HEAD))
    raise PairscoreError("the item table has no rows; give one row for each item.")


@dataclass(frozen=True)
class ItemBlock:
    """Some items: ids (none where they have none), and features column by column."""

    ids: np.ndarray
    columns: Sequence[np.ndarray]

    def __len__(self) -> int:
        return len(self.columns[0])

    def write(self, out: np.ndarray) -> None:
        """Write the features into an array (n x d)."""
        for first in range(0, len(self), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            for place, column in enumerate(self.columns):
                out[rows, place] = column[rows]


def item_blocks(
    part: Partition, columns: Mapping[str, str], features: tuple[str, ...]
) -> Iterator[ItemBlock]:
    """The items of every batch of a part, checked."""
    for first, table in _item_tables(part, columns):
        with located(part.name, first):
            block = _plain_block(table, features) or _any_block(read_items(table, features))
        yield block


def _plain_block(table: Any, features: tuple[str, ...]) -> ItemBlock | None:
    """Items with whole numbers as ids and numbers without gaps as features; None for others."""
    names = [*features, ID_COLUMN] if ID_COLUMN in table.column_names else list(features)
    if any(name not in table.column_names for name in names):
        return None
    columns = [table.column(name) for name in names]
    if any(column.null_count or not _is_number(column.type) for column in columns):
        return None
    arrays = [column.to_numpy() for column in columns]
    ids = arrays.pop() if len(arrays) > len(features) else np.empty(0)
    is_plain = (not len(ids) or ids.dtype.kind in "iu") and all(
        are_computable(array[:, None].astype(float, copy=False)) for array in arrays
    )
    return ItemBlock(ids, arrays) if is_plain else None


def _any_block(items: Items) -> ItemBlock:
    return ItemBlock(np.empty(0) if items.ids is None else items.ids, list(items.values.T))


def _is_number(kind: "pa.DataType") -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind))


def _item_tables(part: Partition, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """Batches of a part with the number of their first row, columns called as we call them."""
    pa = import_arrow()
    ids = [name for name, known in columns.items() if known == ID_COLUMN]
    for first, batch in part.read(list(columns), ids):
        table = pa.Table.from_batches([batch]).rename_columns(list(columns.values()))
        yield first, _with_plain_ids(table) if ID_COLUMN in columns.values() else table


def _with_plain_ids(table: Any) -> Any:
    """The table with ids as a file in memory has them: without blanks around them, with every
    accented letter as one sign, and as whole numbers where all are such.
    """
    table = _without_codes(table)
    column = table.column(ID_COLUMN)
    if not is_text(column.type):
        return table
    values = np.array(column.to_pylist(), dtype=object)
    ids = composed(without_blanks(values)[0])[0]
    whole = as_whole_numbers(ids)
    if ids is values and whole is ids:
        return table
    place = table.column_names.index(ID_COLUMN)
    return table.set_column(place, ID_COLUMN, import_arrow().array(whole.tolist()))


def _without_codes(table: Any) -> Any:
    """The table with ids as plain text where they have codes."""
    place = table.column_names.index(ID_COLUMN)
    column = table.column(place)
    if not hasattr(column.type, "value_type") or not hasattr(column.type, "index_type"):
        return table
    return table.set_column(place, ID_COLUMN, column.cast(column.type.value_type))


# -- on this machine ---------------------------------------------------------------------------


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
    columns = columns_of_items(parts[0].column_names(), settings, parts[0].name)
    head = item_head(parts, columns)
    blocks = (block for part in parts for block in item_blocks(part, columns, head.feature_names))
    n_rows = sum(part.n_rows for part in parts)
    d = len(head.feature_names)
    if n_rows * d * 8 <= most_bytes:
        values, ids = _in_memory(blocks, n_rows, d)
    else:
        values, ids = _on_disk(blocks, d, Path(folder) / ITEM_FILE)
    return remembering_id(with_ids(values, head, ids), settings)


def _in_memory(
    blocks: Iterable[ItemBlock], n_rows: int, n_features: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Features in an array, which grows where the number of rows was a guess; and the ids."""
    values = np.empty((n_rows, n_features))
    ids = []
    n = 0
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
    n = 0
    ids = []
    with path.open("wb") as file:
        for block in blocks:
            values = np.empty((len(block), len(block.columns)))
            block.write(values)
            values.tofile(file)
            n += len(block)
            ids.append(block.ids)
    return n, ids


# -- in files that all workers can reach -------------------------------------------------------


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
    columns = columns_of_items(parts[0].column_names(), settings, parts[0].name)
    head = item_head(parts, columns)
    task = SaveTask(folder, columns, head.feature_names)
    saved: SavedItems = engine.total(task, list(enumerate(parts)))
    starts = tuple(np.cumsum([0, *saved.n_rows]).tolist())
    shared = FeatureFiles(folder, starts, len(head.feature_names))
    return remembering_id(with_ids(shared, head, [saved.ids]), settings)


# -- sums over the table -----------------------------------------------------------------------


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
