"""Comparisons in tiles, and features of items, in a folder that all workers can reach.

Items are cut into blocks of neighbouring rows. Tile (a, b) has the comparisons between an item of
block a and one of block b, a <= b, and so all comparisons of a pair.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from tempfile import gettempdir
from threading import Lock
from typing import Any
from uuid import uuid4

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.source import scratch_folder
from pairscore.parts.rows import ITEM_FILE, Batch
from pairscore.parts.sources import REASON_LENGTH

COLUMNS = ("left", "right", "outcome", "amount")
# NumPy parses the header of a file, which Python 3.11 cannot do in two threads at once
HEADERS = Lock()


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
    """

    folder: str
    grid: Grid

    def write(self, part: int, chunk: int, batch: Batch) -> np.ndarray:
        """Write one batch of a part; returns where its tiles begin."""
        starts = np.array([0, len(batch.left)])
        if self.grid.n_blocks > 1:
            tile = self.grid.tile(batch.left, batch.right)
            order = np.argsort(tile, kind="stable")
            batch, tile = batch.take(order), tile[order]
            starts = np.searchsorted(tile, np.arange(self.grid.n_blocks**2 + 1))
        kind = np.int32 if self.grid.n_items < 2**31 else np.int64
        amount = batch.amount
        if len(amount) and np.all(amount == amount[0]):
            amount = amount[:1]
        columns = batch.left.astype(kind), batch.right.astype(kind), batch.outcome, amount
        for name, column in zip(COLUMNS, columns, strict=True):
            self._save(f"{part:07d}-{chunk:05d}-{name}", column)
        return starts

    def close(self, part: int, starts: Sequence[np.ndarray]) -> None:
        """Write where the tiles of all batches of a part begin, after the batches themselves."""
        table = np.array(starts).reshape(len(starts), self.grid.n_blocks**2 + 1)
        self._save(f"{part:07d}-starts", table)

    def _save(self, name: str, column: np.ndarray) -> None:
        path = Path(self.folder) / f"{name}.npy"
        with reachable(self.folder):
            unfinished = path.with_suffix(f".{uuid4().hex}")
            with unfinished.open("wb") as file:
                np.save(file, column)
            os.replace(unfinished, path)

    def _open(self, name: str) -> Any:
        with reachable(self.folder), HEADERS:
            return np.load(Path(self.folder) / f"{name}.npy", mmap_mode="r")

    def _load(self, part: int, chunk: int, rows: slice) -> Batch:
        columns = [self._open(f"{part:07d}-{chunk:05d}-{name}") for name in COLUMNS]
        left, right, outcome = (np.array(column[rows]) for column in columns[:3])
        amount = columns[3]
        if len(amount) == 1:
            return Batch(left, right, outcome, np.full(len(left), float(amount[0])))
        return Batch(left, right, outcome, np.array(amount[rows]))

    def batches(self, part: Any) -> Iterator[Batch]:
        """The comparisons of a part, in another order than in its source."""
        for chunk, starts in enumerate(self._open(f"{part.number:07d}-starts")):
            yield self._load(part.number, chunk, slice(0, int(starts[-1])))

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


@dataclass(frozen=True)
class FeatureFile:
    """Features (N x d) in a file, which each process opens for itself; slices of rows are read."""

    path: str
    shape: tuple[int, int]

    @classmethod
    def of(cls, values: np.ndarray, folder: str) -> "FeatureFile":
        """The features of items; they are written unless they have been while they were read."""
        path = Path(folder) / ITEM_FILE
        with reachable(folder):
            if not path.exists():
                np.ascontiguousarray(values, dtype=np.float64).tofile(path)
        return cls(str(path), values.shape)

    def __getitem__(self, rows: slice) -> np.ndarray:
        with reachable(str(Path(self.path).parent)):
            return np.memmap(self.path, dtype=np.float64, mode="r", shape=self.shape)[rows]


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
        raise PairscoreError(
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
