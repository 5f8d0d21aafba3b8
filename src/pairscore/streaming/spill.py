"""Comparisons on disk, those of a pair of blocks of items together."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EIO
from pathlib import Path
from shutil import disk_usage, rmtree
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np

from pairscore.core.amounts import amounts_of_rows
from pairscore.errors import PairscoreError
from pairscore.files.archive import INTEGER, DamagedFileError, Field, map_array
from pairscore.streaming.batches import Batch
from pairscore.streaming.scratch import ScratchError, reachable

BYTES_OF_ROW, ROOM = 17, 2  # of a comparison on disk, and how many times that must be free


COLUMNS = ("left", "right", "outcome", "amount")


SCHEMA = {  # what the columns of a batch are; one amount may stand for all
    **dict.fromkeys(("left", "right"), Field("rows", INTEGER, below="items")),
    "outcome": Field("rows", "if", low=-1, high=1),
    "amount": Field("rows", low=0),
}


TILE_FORMAT = 2  # of the files; a checkpoint goes on with its own


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
            batch = batch.take(order)
            tile = tile[order]
            starts = np.searchsorted(tile, np.arange(self.n_tiles + 1))
        kind = np.int32 if self.grid.n_items < 2**31 else np.int64
        amount = np.ones(1) if batch.amount is None else batch.amount
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
                starts = row[: self.n_tiles + 1]
                sums = row[self.n_tiles + 1 : -1]
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
            each = float(amount[0])
            return Batch(left, right, outcome, None if each == 1 else np.full(len(left), each))
        return Batch(left, right, outcome, np.asarray(amount[rows]))

    def batches(self, part: Any) -> Iterator[Batch]:
        """The comparisons of a part, in another order than in its source."""
        for chunk, starts in enumerate(self._open(f"{part.number:07d}-starts")):
            yield self._load(part.number, chunk, slice(0, int(starts[self.n_tiles])))

    def tile(self, n_parts: int, a: int, b: int) -> Batch:
        """The comparisons of tile (a, b) of all parts, in the order of parts."""
        number = a * self.grid.n_blocks + b
        found = []
        for part in range(n_parts):
            starts = self._open(f"{part:07d}-starts")[:, number : number + 2]
            for chunk, (begin, end) in enumerate(starts.tolist()):
                if end > begin:
                    found.append(self._load(part, chunk, slice(begin, end)))
        if not found:
            none = np.empty(0, dtype=np.int32)
            return Batch(none, none, np.empty(0, dtype=np.int8))
        left, right, outcome = (
            np.concatenate([batch[place] for batch in found]) for place in range(3)
        )
        amount = None
        if not all(batch.is_plain for batch in found):
            each = [amounts_of_rows(batch.amount, len(batch.left)) for batch in found]
            amount = np.concatenate(each)
        return Batch(left, right, outcome, amount)


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
