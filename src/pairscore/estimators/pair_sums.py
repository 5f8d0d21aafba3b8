"""Sums over pairs for the covariance of an estimate: its equations, and their item-robust meat.

An estimate says what the pairs of a tile add to its equations (:class:`Equations`); a
:class:`PairTask` sums that over the tiles of a block, in one pass through the features of each.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pairscore.core.pair_graph import pair_scatters
from pairscore.core.sandwich import (
    DyadicContributions,
    PairContributions,
    centred_meat,
    times_too_often,
)
from pairscore.core.sums import Sums
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.tile import Block, Tile


class TileTerms(Protocol):
    """What the pairs of one tile add to the equations of an estimate."""

    @property
    def contributions(self) -> PairContributions:
        """u_p of each pair."""
        ...

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Weights of each pair (P each), by name, whose scatters of differences the sums take."""
        ...

    def sums(self, scatters: dict[str, np.ndarray]) -> Sums:
        """The sums of the tile, given these scatters (d x d each)."""
        ...


class Equations(Protocol):
    """The equations of an estimate."""

    def at(self, tile: Tile) -> TileTerms:
        """Their terms of one tile."""
        ...


@dataclass(frozen=True)
class NoSums(Sums):
    """The sums of no pairs: zero."""

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        return other

    def __radd__(self, other: Sums) -> Sums:
        return other


@dataclass(frozen=True)
class Meat(Sums):
    """The two parts of the meat of contributions u, and their sum.

    ``items`` is sum_i c_i^2 t_i t_i', ``pairs`` sum_p u_p u_p', with the number of comparisons as
    last equation; ``total`` sums u over all pairs.
    """

    items: np.ndarray
    pairs: np.ndarray
    total: np.ndarray

    def item_robust(self, number: float) -> np.ndarray:
        """The meat of contributions less their mean, of so many comparisons."""
        return centred_meat(self.items - self.pairs, self.total, number)


@dataclass(frozen=True)
class PairSums(Sums):
    """Sums of equations, and the meat of their contributions; :class:`NoSums` if not asked for."""

    equations: Any
    meat: Any


@dataclass(frozen=True)
class PairTask:
    """Sums of ``size`` equations over pairs, with their meat if ``inflation`` (N) is given."""

    equations: Equations
    size: int
    inflation: np.ndarray | None

    def __call__(self, block: Block) -> PairSums:
        sums: Sums = NoSums()
        if self.inflation is None:
            for _, tile in block.tiles(owned=True):
                terms = self.equations.at(tile)
                sums = sums + terms.sums(tile.scatters(terms.weights))
            return PairSums(sums, NoSums())
        size = self.size + 1  # with the number of comparisons
        rows = block.rows
        of_items = np.zeros((size, size))
        of_pairs = np.zeros((size, size))
        total = np.zeros(self.size)
        t = np.zeros((0 if block.is_whole else rows.stop - rows.start, size))
        for is_low, tile in block.tiles(owned=False):
            terms = self.equations.at(tile)
            u = DyadicContributions(tile.pairs, tile.Z, terms.contributions)
            inflation = tile.take(self.inflation)
            if is_low:
                times = times_too_often(tile.pairs.low, tile.pairs.high, inflation)
                scatters, of_features = _scatters(tile, terms.weights, u, times)
                sums = sums + terms.sums(scatters)
                of_pairs += u.pairs_meat(times, of_features)
                total += u.total
            if block.is_whole:
                of_items += u.items_meat(inflation)
            else:
                u.add_to_items(t, tile.own)
        if not block.is_whole:
            t *= self.inflation[rows, None]
            of_items = t.T @ t
        return PairSums(sums, Meat(of_items, of_pairs, total))


def _scatters(
    tile: Tile, weights: dict[str, np.ndarray], u: DyadicContributions, times: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Scatters of differences with some weights, and the features' part of sum_p u_p u_p'.

    All in one pass over the features.
    """
    pairs, Z = tile.pairs, tile.Z
    of_items, of_pairs = u.product_weights(times)
    diagonal = [*(pairs.item_sums(weight, weight) for weight in weights.values()), of_items]
    off_diagonal = [*(-weight for weight in weights.values()), of_pairs]
    none = np.zeros(Z.shape[1])
    *found, of_features = pair_scatters(Z, none, pairs, np.array(diagonal), np.array(off_diagonal))
    return dict(zip(weights, found, strict=True)), of_features


def sum_equations(
    data: FitData, equations: Equations, size: int, inflation: np.ndarray | None
) -> tuple[Any, np.ndarray | None]:
    """The sums of ``size`` equations, and their item-robust meat if ``inflation`` (N) is given."""
    total: PairSums = data.sum_pairs(PairTask(equations, size, inflation), "Intervals")
    if inflation is None:
        return total.equations, None
    number = 0.5 * float(data.tally.exposures.sum())
    return total.equations, total.meat.item_robust(number)
