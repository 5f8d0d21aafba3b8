"""Tiles: the comparisons between the items of a block, or of two, summed per pair."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from pairscore.core.pair_graph import (
    Pairs,
    difference_scatter,
    pair_scatters,
    sum_sides,
)
from pairscore.core.row_blocks import centred_blocks
from pairscore.core.sums import Sums

# Pairs of a tile in memory, at least: what is worked out of each stays in the cache. With fewer
# than 8 an item, or than features, sums over the items of each tile would cost as much.
MANY_PAIRS = 1 << 18


@dataclass(frozen=True)
class Tile:
    """All comparisons between the items of one block, or of two, summed per pair.

    Items are numbered anew. ``X`` (n x d) has their features, ``mean`` (d) is taken off these to
    keep the digits; ``rows`` is where they are in the item table, and ``own`` are those of the
    block that is gone through. ``tied`` is how much of each pair on each side ended in a tie
    (sides x P), None without ties.
    """

    pairs: Pairs
    X: np.ndarray
    mean: np.ndarray
    rows: tuple[slice, ...]
    own: slice
    tied: np.ndarray | None = None

    @cached_property
    def Z(self) -> np.ndarray:  # noqa: N802
        """Features less the mean (n x d): a copy, where their contributions are summed."""
        return self.X - self.mean if self.mean.any() else self.X

    def part(self, rows: slice) -> "Tile":
        """The pairs of some low items, among all items."""
        start = self.pairs.start
        tied = None if self.tied is None else self.tied[:, start[rows.start] : start[rows.stop]]
        return replace(self, pairs=self.pairs.part(rows), tied=tied)

    def take(self, vector: np.ndarray) -> np.ndarray:
        """The entries of a vector with one for each item of the table."""
        if len(self.rows) == 1:
            return vector[self.rows[0]]
        return np.concatenate([vector[rows] for rows in self.rows])

    def scatters(self, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Scatters of differences (d x d each) with some weights of each pair (P each), by name."""
        of_pairs = np.array([*weights.values()])
        degrees = np.array([self.pairs.item_sums(weight, weight) for weight in of_pairs])
        found = pair_scatters(self.X, self.mean, self.pairs, degrees, -of_pairs)
        return dict(zip(weights, found, strict=True))

    def scatter(self, weight: np.ndarray) -> np.ndarray:
        """X'LX with a weight of each pair on each side, bordered by the side effect's row."""
        scatter = difference_scatter(self.X, self.mean, self.pairs, sum_sides(weight))
        return self.with_side(scatter, weight)

    def on_features(self, values: np.ndarray) -> np.ndarray:
        """Sums over pairs of values (k x P) times differences of features: k x d."""
        nets = np.array([self.pairs.net_per_item(row) for row in values])
        total = np.zeros((len(values), self.X.shape[1]))
        for rows, centred in centred_blocks(self.X, self.mean):
            total += nets[:, rows] @ centred
        return total

    def with_side(self, scatter: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """X'LX (d x d), bordered by the side effect's row where pairs have sides.

        ``weight`` is that of each pair on each side (sides x P), of which the scatter has the sum.
        """
        if len(self.pairs.side) == 1:
            return scatter
        border = self.on_features((self.pairs.side @ weight)[None])
        return np.block([[scatter, border.T], [border, weight.sum()]])


class Block(Protocol):
    """Neighbouring items, and the tiles in which they have a part.

    What belongs to a pair is summed where the block has its low item, what belongs to an item where
    the block has the item: so every pair and every item counts once, and sums of blocks add.
    """

    @property
    def rows(self) -> slice:
        """The items of the block, in the table."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether one tile has all comparisons of these items."""
        ...

    def tiles(self, owned: bool) -> Iterator[tuple[bool, Tile]]:
        """The tiles, each with whether the block has their low items; or only such (``owned``)."""
        ...


@dataclass(frozen=True)
class WholeBlock:
    """All items, and all comparisons: in one tile, or in some where there are many pairs.

    What is worked out of each pair then stays in the cache: a fit with intervals to 4.5 million
    pairs takes a tenth less time, and a quarter less memory.
    """

    tile: Tile
    many_pairs: int | None = None  # of a tile; None for as many as pay

    @property
    def rows(self) -> slice:
        return self.tile.own

    @cached_property
    def parts(self) -> list[slice]:
        """The low items of each tile."""
        start, n = self.tile.pairs.start, self.tile.pairs.n_items
        many = self.many_pairs or max(MANY_PAIRS, n * max(8, self.tile.X.shape[1]))
        ends = np.searchsorted(start, np.arange(many, int(start[-1]), many)).tolist()
        return [slice(a, b) for a, b in pairwise([0, *ends, n]) if b > a]

    @property
    def is_whole(self) -> bool:
        return len(self.parts) == 1

    def tiles(self, owned: bool) -> Iterator[tuple[bool, Tile]]:
        if self.is_whole:
            yield True, self.tile
            return
        centred = replace(self.tile, X=self.tile.Z, mean=np.zeros_like(self.tile.mean))
        for rows in self.parts:
            yield True, centred.part(rows)


@dataclass(frozen=True)
class PairCounts(Sums):
    """X'LX of the observed differences, with the side's row if there is one, and sum_p n_p^2."""

    scatter: np.ndarray
    squares: float


@dataclass(frozen=True)
class CountTask:
    """The scatter of the observed differences; ``size`` is the number of parameters."""

    size: int

    def __call__(self, block: Block) -> PairCounts:
        total = PairCounts(np.zeros((self.size, self.size)), 0.0)
        for _, tile in block.tiles(owned=True):
            number = tile.pairs.win + tile.pairs.lose
            squares = float(np.sum(sum_sides(number) ** 2))
            total = total + PairCounts(tile.scatter(number), squares)
        return total
