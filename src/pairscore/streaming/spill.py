"""Comparisons in tiles, and features of items, in a folder that all workers can reach.

Items are cut into blocks of neighbouring rows. Tile (a, b) has the comparisons between an item of
block a and one of block b, a <= b, and so all comparisons of a pair.
"""

import os
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EIO
from pathlib import Path
from shutil import disk_usage, rmtree
from socket import gethostname
from tempfile import gettempdir
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np

from pairscore.data.items import Items, refuse_non_finite
from pairscore.errors import PairscoreError
from pairscore.files.archive import INTEGER, DamagedFileError, Field, map_array
from pairscore.files.partitions import REASON_LENGTH, Partition
from pairscore.files.source import scratch_folder
from pairscore.streaming.engines import Engine
from pairscore.streaming.rows import (
    Batch,
    ItemBlock,
    item_blocks,
    item_columns,
    item_head,
    item_parts,
    ones,
    read_items_in_memory,
    remembering_id,
    with_ids,
)

ITEM_FILE = "items.f8"  # features, row by row
BYTES_OF_ROW, ROOM = 17, 2  # of a comparison on disk, and how many times that must be free
COLUMNS = ("left", "right", "outcome", "amount")
SCHEMA = {  # what the columns of a batch are; one amount may stand for all
    **dict.fromkeys(("left", "right"), Field("rows", INTEGER, below="items")),
    "outcome": Field("rows", "if", low=-1, high=1),
    "amount": Field("rows", low=0),
}
TILE_FORMAT = 2  # of the files; a checkpoint goes on with its own


class ScratchError(PairscoreError):
    """Temporary files cannot be read or written."""


@dataclass(frozen=True)
class Grid:
    """N items in blocks of ``size`` neighbouring rows."""

    n_items: int
    size: int

    @property
    def n_blocks(self) -> int:
        return -(-self.n_items // self.size)

    def rows(self, block: int) -> slice:
        """The rows of a block."""
        return slice(block * self.size, min((block + 1) * self.size, self.n_items))

    def tile(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The number of the tile of each comparison."""
        low, high = np.minimum(left, right) // self.size, np.maximum(left, right) // self.size
        return (low * self.n_blocks + high).astype(np.int32)


@dataclass(frozen=True)
class Spill:
    """A folder with the comparisons of every part, each batch sorted by tile.

    A part may be written again, also by two workers at once: every file appears whole, and has the
    same comparisons whoever wrote it. A part can be read once it is closed; one that is not there
    is an error, so that no comparison is left out because a worker has another folder of this name.
    An ``optional`` one is given up where it cannot be written: then it does not have all parts.
    One that ``is_kept``, by a checkpoint, is on the disk and not only in the system's memory when a
    part is closed. Of every part a table says where the tiles of each batch begin, with a checksum
    of each of its columns and of the row itself (:meth:`verify`).
    """

    folder: str
    grid: Grid
    optional: bool = False
    is_kept: bool = False

    @property
    def n_tiles(self) -> int:
        return self.grid.n_blocks**2

    def write(self, part: int, chunk: int, batch: Batch) -> np.ndarray | None:
        """Write one batch of a part; returns its row of the table, or None if it was given up."""
        with self._given_up():
            return self._write(part, chunk, batch)
        return None

    @contextmanager
    def _given_up(self) -> Iterator[None]:
        """An optional folder that cannot be written is removed."""
        try:
            yield
        except ScratchError:
            if not self.optional:
                raise
            rmtree(self.folder, ignore_errors=True)

    def _write(self, part: int, chunk: int, batch: Batch) -> np.ndarray:
        starts = np.array([0, len(batch.left)])
        if self.grid.n_blocks > 1:
            tile = self.grid.tile(batch.left, batch.right)
            order = np.argsort(tile, kind="stable")
            batch, tile = batch.take(order), tile[order]
            starts = np.searchsorted(tile, np.arange(self.n_tiles + 1))
        kind = np.int32 if self.grid.n_items < 2**31 else np.int64
        amount = batch.amount
        if len(amount) and np.all(amount == amount[0]):
            amount = amount[:1]
        columns = batch.left.astype(kind), batch.right.astype(kind), batch.outcome, amount
        for name, column in zip(COLUMNS, columns, strict=True):
            self._save(f"{part:07d}-{chunk:05d}-{name}", column)
        row = np.array([*starts.tolist(), *map(_checksum, columns)], dtype=np.int64)
        return np.append(row, _checksum(row))

    def close(self, part: int, starts: Sequence[np.ndarray | None]) -> None:
        """Write the table of all batches of a part, after the batches themselves."""
        if any(of is None for of in starts):
            return
        table = np.array(starts, dtype=np.int64).reshape(len(starts), self._width)
        with self._given_up():
            self._save(f"{part:07d}-starts", table)
            if self.is_kept:
                _sync_folder(self.folder)

    @property
    def _width(self) -> int:
        """Of the table of a part."""
        return self.n_tiles + 1 + len(COLUMNS) + 1

    def has(self, n_parts: int) -> bool:
        """Whether the first parts are there."""
        names = (f"{part:07d}-starts.npy" for part in range(n_parts))
        return all((Path(self.folder) / name).exists() for name in names)

    def verify(self, n_parts: int) -> None:
        """Refuse tiles of the first parts that are not what was written, as after a crash."""
        for part in range(n_parts):
            with reachable(self.folder):
                faults = [*self._faults(part)]
            if faults:
                raise PairscoreError(
                    f"the tiles of the checkpoint in {self.folder!r} are not those that were"
                    f" written ({faults[0]}); remove the checkpoint and this folder to begin again."
                )

    def _faults(self, part: int) -> Iterator[str]:
        """What is wrong with a part: entries that are cut off, changed, or of no item."""
        try:
            for chunk, row in enumerate(self._open(f"{part:07d}-starts")):
                starts, sums = row[: self.n_tiles + 1], row[self.n_tiles + 1 : -1]
                if row[-1] != _checksum(row[:-1]) or starts[0] != 0 or np.any(np.diff(starts) < 0):
                    yield f"part {part} is damaged"
                lengths = {"rows": int(starts[-1]), "items": self.grid.n_items}
                for name, saved in zip(COLUMNS, sums.tolist(), strict=True):
                    column = self._open(f"{part:07d}-{chunk:05d}-{name}")
                    field = SCHEMA[name]
                    if name == "amount" and len(column) == 1:
                        field = replace(field, shape="1")
                    if saved != _checksum(column) or field.fault(column, lengths):
                        yield f"{name!r} of part {part} is damaged"
        except ScratchError:
            yield f"a file of part {part} is missing or cut short"

    def _save(self, name: str, column: np.ndarray) -> None:
        path = Path(self.folder) / f"{name}.npy"
        with reachable(self.folder):
            unfinished = path.with_suffix(f".{uuid4().hex}")
            with unfinished.open("wb") as file:
                np.save(file, column)
                if self.is_kept:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(unfinished, path)

    def _open(self, name: str) -> Any:
        with reachable(self.folder):
            try:
                column = map_array(Path(self.folder) / f"{name}.npy")
                is_table = name.endswith("-starts")
                if column.ndim == 1 + is_table and (not is_table or self._is_table(column)):
                    return column
            except DamagedFileError:
                pass
            raise OSError(EIO, f"{name}.npy is damaged")

    def _is_table(self, table: np.ndarray) -> bool:
        return table.dtype == np.int64 and table.shape[1] == self._width

    def _load(self, part: int, chunk: int, rows: slice) -> Batch:
        columns = [self._open(f"{part:07d}-{chunk:05d}-{name}") for name in COLUMNS]
        left, right, outcome = (np.asarray(column[rows]) for column in columns[:3])
        amount = columns[3]
        if len(amount) == 1:
            n, each = len(left), float(amount[0])
            return Batch(left, right, outcome, ones(n) if each == 1 else np.full(n, each))
        return Batch(left, right, outcome, np.asarray(amount[rows]))

    def batches(self, part: Any) -> Iterator[Batch]:
        """The comparisons of a part, in another order than in its source."""
        for chunk, starts in enumerate(self._open(f"{part.number:07d}-starts")):
            yield self._load(part.number, chunk, slice(0, int(starts[self.n_tiles])))

    def tile(self, n_parts: int, a: int, b: int) -> Batch:
        """The comparisons of tile (a, b) of all parts, in the order of parts."""
        number, found = a * self.grid.n_blocks + b, []
        for part in range(n_parts):
            starts = self._open(f"{part:07d}-starts")[:, number : number + 2]
            for chunk, (begin, end) in enumerate(starts.tolist()):
                if end > begin:
                    found.append(self._load(part, chunk, slice(begin, end)))
        if not found:
            none = np.empty(0, dtype=np.int32)
            return Batch(none, none, np.empty(0, dtype=np.int8), np.empty(0))
        return Batch(*(np.concatenate([batch[place] for batch in found]) for place in range(4)))


def _checksum(column: np.ndarray) -> int:
    return crc32(np.ascontiguousarray(column).view(np.uint8).data)


def _sync_folder(folder: str) -> None:
    """Have the names of its files on the disk, where a system can do that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def spill_of_rows(
    folder: str, n_items: int, n_rows: int, n_done: int, is_kept: bool = False
) -> Spill | None:
    """Where comparisons can be written as they come, to be read again; None if it lacks the room.

    A fit goes on as it began: with the rows of the first ``n_done`` parts, or without.
    """
    grid = Grid(n_items, n_items)
    rows = Spill(str(Path(folder) / "rows"), grid, optional=True, is_kept=is_kept)
    if n_done:
        return rows if rows.has(n_done) else None
    rmtree(rows.folder, ignore_errors=True)  # of a fit to other data, perhaps
    if disk_usage(folder).free < ROOM * BYTES_OF_ROW * n_rows:
        return None
    with reachable(rows.folder):
        Path(rows.folder).mkdir()
    return rows


# -- the item table ----------------------------------------------------------------------------


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


# -- features in files that all workers can reach ------------------------------------------------


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


# -- folders -----------------------------------------------------------------------------------


@contextmanager
def shared_folder(inside: str | None) -> Iterator[str]:
    """A folder that is gone after the block; ``inside`` another, it has the same rights.

    It is renamed before it is removed: a worker that still writes, for a fit that was given up,
    then finds no folder of this name, and the folder stays as empty as it was left.
    """
    with ExitStack() as stack:
        with reachable(inside or gettempdir()):
            outer = stack.enter_context(scratch_folder(inside))
            folder = outer / "files"
            folder.mkdir()
            for made in (outer, folder) if inside else ():
                made.chmod(Path(inside or "").stat().st_mode & 0o777)
        try:
            yield str(folder)
        finally:
            with suppress(PermissionError):  # of Windows, where files are still mapped
                folder.rename(outer / "removed")


@contextmanager
def reachable(folder: str) -> Iterator[None]:
    """Say in a sentence where the folder cannot be read or written, and what folder is needed."""
    try:
        yield
    except OSError as error:
        raise ScratchError(
            f"temporary files in {folder!r} cannot be read or written on {gethostname()!r}"
            f" ({error.strerror or error}); give a folder with enough room that every worker can"
            " reach (scratch=)."
        ) from None


def stored(source: Any, folder: str, what: str) -> Any:
    """A lazy dataframe (Spark, Dask, DuckDB, polars, Ibis) as Parquet files in a folder.

    Its own engine writes them, so that the table is never in one place; any other source is
    returned as it is. ``what`` is what messages and the files call it.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(source, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        return source
    path = str(Path(folder) / f"{what}.parquet")
    try:
        frame.sink_parquet(path)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:REASON_LENGTH]
        raise PairscoreError(
            f"the {what} cannot be written to {folder!r} ({reason}); give a folder that every"
            " worker can reach (scratch=)."
        ) from None
    return path
