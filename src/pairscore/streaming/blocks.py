"""Comparisons in tiles, in a folder that all workers can reach.

Items are cut into blocks of neighbouring rows. Tile (a, b) has the comparisons between an item of
block a and one of block b, a <= b, and so all comparisons of a pair. Sums over pairs that are no
sums over comparisons (a pair that met twice is one pair) are exact within a tile, and a tile needs
the features of two blocks only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.core.amounts import times_amount
from pairscore.core.pair_graph import aggregate_pairs
from pairscore.estimators.fit_data import Selection
from pairscore.estimators.tile import Block, Tile
from pairscore.streaming.batches import Batch
from pairscore.streaming.shared_items import FeatureFiles
from pairscore.streaming.spill import Spill

TILES_AT_ONCE = 4  # in memory, whatever the number of workers


@dataclass(frozen=True)
class Tiles:
    """All tiles: where comparisons are, the item table, and the mean by which it is centred.

    ``X`` (N x d) may be in files: two blocks are read at a time. ``selections`` say which of the
    comparisons these are.
    """

    spill: Spill
    n_parts: int
    X: np.ndarray | FeatureFiles
    mean: np.ndarray
    keep_sides: bool
    has_ties: bool
    selections: tuple[Selection, ...] = ()

    @property
    def n_blocks(self) -> int:
        return self.spill.grid.n_blocks

    def batch(self, low: int, high: int) -> Batch:
        """The comparisons of two different items, of blocks low and high."""
        batch = self.spill.tile(self.n_parts, low, high)
        same = batch.left == batch.right
        if same.any():
            batch = batch.take(~same)
        for choice in self.selections:
            batch = batch.take(choice.mask(batch.left, batch.right, batch.amount))
        return batch

    def tile(self, block: int, other: int) -> Tile | None:
        """The tile of two blocks, as the first of these sees it; None if they never met."""
        grid = self.spill.grid
        low, high = min(block, other), max(block, other)
        batch = self.batch(low, high)
        if not len(batch.left):
            return None
        rows = (grid.rows(low), grid.rows(high))[: 1 + (low != high)]
        size = rows[0].stop - rows[0].start

        def renumbered(items: np.ndarray) -> np.ndarray:
            first = items - rows[0].start
            if low == high:
                return first
            return np.where(items < rows[0].stop, first, items - rows[1].start + size)

        X = np.concatenate([self.X[of] for of in rows])
        columns = renumbered(batch.left), renumbered(batch.right), batch.outcome
        pairs = aggregate_pairs(*columns, batch.amount, len(X), self.keep_sides)
        tied = None
        if self.has_ties:
            amount = times_amount((batch.outcome == 0).astype(float), batch.amount)
            ties = aggregate_pairs(*columns, amount, len(X), self.keep_sides)
            tied = ties.win + ties.lose
        own = slice(0, size) if block == low else slice(size, len(X))
        return Tile(pairs, X, self.mean, rows, own, tied)


@dataclass(frozen=True)
class StreamBlock:
    """One block of items, and the tiles in which it has a part."""

    of: Tiles
    number: int

    @property
    def rows(self) -> slice:
        return self.of.spill.grid.rows(self.number)

    @property
    def is_whole(self) -> bool:
        return self.of.n_blocks == 1

    def tiles(self, owned: bool) -> Iterator[tuple[bool, Tile]]:
        """The tiles, each with whether the block has their low items; or only such."""
        for other in range(self.number if owned else 0, self.of.n_blocks):
            tile = self.of.tile(self.number, other)
            if tile is not None:
                yield other >= self.number, tile


@dataclass(frozen=True)
class BlockTask:
    """Calls a task with the block of a number, on whichever worker reads it."""

    tiles: Tiles
    task: Callable[[Block], Any]

    def __call__(self, number: int) -> Any:
        return self.task(StreamBlock(self.tiles, number))
