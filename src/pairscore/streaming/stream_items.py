"""The item table of a stream, which is read a block at a time.

On this machine the table is an array, perhaps a file that is mapped into memory. On a cluster it is
in files that all workers can reach (:mod:`pairscore.streaming.shared_items`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.data.items import (
    Items,
    are_computable,
    read_items,
    refuse_bad_ids,
    refuse_non_finite,
)
from pairscore.data.recipe import Recipe, with_curves
from pairscore.data.tables import ID_COLUMN, Column, Columns, as_frame, column_of, ids_of
from pairscore.display import did_you_mean, first_few
from pairscore.errors import PairscoreError
from pairscore.files.duckdb_columns import as_whole_numbers, composed, without_blanks
from pairscore.files.partitions import FilePartition, Partition, import_arrow, is_text, partitions
from pairscore.streaming.batches import located

if TYPE_CHECKING:
    import pyarrow as pa

ITEM_ROWS = 1 << 17  # of a Parquet file with items in one partition
AT_ONCE = 512  # rows of the items whose columns stay in the cache
HEAD = 1000  # rows of the items by which columns are told to be features
ITEM_FILE = "items.f8"  # features, row by row
CURVED_FILE = "curved-items.f8"  # the same, with bends


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
    names = all_ids(ids) if head.ids is not None else None
    if names is not None and (names.dtype.kind not in "iu" or not np.all(names[1:] > names[:-1])):
        refuse_bad_ids(names)
    return Items(values, head.feature_names, names, head.backend)


def all_ids(pieces: Sequence[np.ndarray]) -> np.ndarray:
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


def stream_items_of_table(source: Any, settings: Mapping[str, Any]) -> Items:
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


def with_columns_as_curves(
    items: Items, settings: Mapping[str, Any], path: Path | None = None
) -> Items:
    """The items with the curves that settings name, in a file at ``path`` if there is one."""
    curves = settings.get("curves") or ()
    smooth = settings.get("smooth") or False
    if not curves and not smooth:
        return items
    if path is None:
        return with_curves(items, curves, smooth)

    def on_disk(shape: tuple[int, int]) -> np.ndarray:
        return np.memmap(path, dtype=np.float64, mode="w+", shape=shape)

    return with_curves(items, curves, smooth, on_disk)


def item_head(parts: Sequence[Partition], columns: Mapping[str, str]) -> Items:
    """The first few items, which tell the columns that are features."""
    for part in parts:
        for first, table in item_tables(part, columns):
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
    for first, table in item_tables(part, columns):
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


def item_tables(part: Partition, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
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
        ``id`` names the column of ids, ``features`` those to use, ``exclude`` those to leave out,
        ``curves`` those that are curves, ``smooth`` a smooth part of all.
    most_bytes : float
        Features that take more are kept in a file, and mapped into memory.
    folder : str
        Where that file goes.
    """
    parts = item_parts(source)
    if parts is None:
        items = remembering_id(stream_items_of_table(source, settings), settings)
        return with_columns_as_curves(items, settings)
    columns = columns_of_items(parts[0].column_names(), settings, parts[0].name)
    head = item_head(parts, columns)
    blocks = (block for part in parts for block in item_blocks(part, columns, head.feature_names))
    n_rows = sum(part.n_rows for part in parts)
    d = len(head.feature_names)
    path = None
    if n_rows * d * 8 <= most_bytes:
        values, ids = _in_memory(blocks, n_rows, d)
    else:
        path = Path(folder) / CURVED_FILE
        values, ids = _on_disk(blocks, d, Path(folder) / ITEM_FILE)
    items = remembering_id(with_ids(values, head, ids), settings)
    return with_columns_as_curves(items, settings, path)


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


# -- sums over the table -----------------------------------------------------------------------


# -- tasks: called with some rows of the table -------------------------------------------------
