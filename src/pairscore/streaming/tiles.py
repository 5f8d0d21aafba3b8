"""Sums over pairs, tile by tile: scatters of differences, meat of intervals.

Comparisons are on disk in tiles (:mod:`pairscore.streaming.spill`). Sums over pairs that are no
sums over comparisons (a pair that met twice is one pair) are exact within a tile, and a tile needs
the features of two blocks only.

A task over pairs is called with the number of a block of items. It goes through the tiles in which
the block has a part. What belongs to a pair is summed where the block has the low item, what
belongs to an item (t_i, the sum of its pairs' contributions) where the item is in the block. So
every pair and every item is counted once, and sums of blocks add.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pairscore.core.linalg import Basis
from pairscore.core.links import Link, Logit, scores_of_pairs
from pairscore.core.moments import row_blocks
from pairscore.core.pair_graph import (
    Pairs,
    aggregate_pairs,
    pair_scatter,
    scatter_with_sides,
    sum_sides,
)
from pairscore.core.passes import neighbour_sums
from pairscore.core.sandwich import PairContributions, less_ties, sandwich, times_too_often
from pairscore.estimators.closed_form import ScaledClosedForm, contributions, meat_net_of
from pairscore.estimators.fit_data import size_of_information
from pairscore.estimators.likelihood import likelihood_contributions, observed_basis
from pairscore.estimators.null_space import NO_DIFFERENCE
from pairscore.estimators.separation import basis_within
from pairscore.streaming.engines import Sums
from pairscore.streaming.rows import Batch
from pairscore.streaming.spill import FeatureFiles, Spill

# -- tiles in memory ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Tile:
    """The comparisons between items of two blocks (or one), and the centred features of these.

    Items are numbered anew: those of block a, then those of b. ``rows`` are their rows in the item
    table, as slices; ``own`` is the part of the items that the task's block has.
    """

    batch: Batch
    Z: np.ndarray
    rows: tuple[slice, ...]
    own: slice
    keep_sides: bool

    def take(self, vector: np.ndarray) -> np.ndarray:
        """The entries of a vector with one for each item of the table."""
        return np.concatenate([vector[rows] for rows in self.rows])

    @cached_property
    def pairs(self) -> Pairs:
        return aggregate_pairs(*self.batch[:4], len(self.Z), self.keep_sides)

    @cached_property
    def tied(self) -> np.ndarray:
        """How much of each pair on each side ended in a tie."""
        left, right, outcome, amount, *_ = self.batch
        of = aggregate_pairs(
            left, right, outcome, amount * (outcome == 0), len(self.Z), self.keep_sides
        )
        return of.win + of.lose

    def scatter(self, weight: np.ndarray) -> np.ndarray:
        """X'LX, bordered by the side effect's row, with a weight of each pair on each side."""
        return scatter_with_sides(self.Z, np.zeros(self.Z.shape[1]), self.pairs, weight)


@dataclass(frozen=True)
class Tiles:
    """All tiles: where comparisons are, the item table, and the mean by which it is centred.

    ``X`` (N x d) may be in files: two blocks are read at a time.
    """

    spill: Spill | Any  # or some of its comparisons
    n_parts: int
    X: np.ndarray | FeatureFiles
    mean: np.ndarray
    keep_sides: bool

    @property
    def n_blocks(self) -> int:
        return self.spill.grid.n_blocks

    def of_block(self, block: int, owned: bool) -> Iterator[tuple[bool, Tile]]:
        """The tiles of a block, and whether it has their low items; or only such (``owned``)."""
        for other in range(block if owned else 0, self.n_blocks):
            tile = self._tile(block, other)
            if len(tile.batch.left):
                yield other >= block, tile

    def _tile(self, block: int, other: int) -> Tile:
        grid = self.spill.grid
        low, high = min(block, other), max(block, other)
        rows = (grid.rows(low), grid.rows(high))[: 1 + (low != high)]
        batch = self.spill.tile(self.n_parts, low, high)
        first, size = rows[0].start, rows[0].stop - rows[0].start
        if low == high:
            left, right = batch.left - first, batch.right - first
        else:
            left, right = (
                np.where(of < rows[0].stop, of - first, of - rows[1].start + size)
                for of in (batch.left, batch.right)
            )
        Z = np.concatenate([self.X[of] for of in rows]) - self.mean
        own = slice(0, size) if block == low else slice(size, len(Z))
        batch = replace_rows(batch, left, right)
        return Tile(batch, Z, rows, own, self.keep_sides)


def replace_rows(batch: Batch, left: np.ndarray, right: np.ndarray) -> Batch:
    """The batch with other row numbers, and without an item against itself."""
    batch = batch._replace(left=left, right=right)
    same = left == right
    return batch.take(~same) if same.any() else batch


# -- scatters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairCounts(Sums):
    """X'LX of the observed differences, with the side's row if there is one, and sum_p n_p^2."""

    scatter: np.ndarray
    squares: float


@dataclass(frozen=True)
class CountTask:
    """The scatter of the observed differences."""

    tiles: Tiles

    def __call__(self, block: int) -> PairCounts:
        size = self.tiles.X.shape[1] + self.tiles.keep_sides
        total = PairCounts(np.zeros((size, size)), 0.0)
        for _, tile in self.tiles.of_block(block, owned=True):
            number = tile.pairs.win + tile.pairs.lose
            squares = float(np.sum(sum_sides(number) ** 2))
            total = total + PairCounts(tile.scatter(number), squares)
        return total


def without_difference(few: np.ndarray, scatter: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Those of some directions (d x k) in which differences have no ``scatter`` (d x d).

    Single features are looked at one by one, and combinations of the others together, against the
    ``covariance`` of the items.
    """
    variance = np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0)
    alone = np.diag(scatter) <= NO_DIFFERENCE * variance
    single = (np.abs(few) > 0).sum(axis=0) == 1
    kept = few[:, single][:, alone[np.argmax(np.abs(few[:, single]), axis=0)]]
    combined = few[:, ~single]
    if not combined.size:
        return kept
    values, axes = np.linalg.eigh(combined.T @ covariance @ combined)
    W = combined @ (axes / np.sqrt(np.maximum(values, np.finfo(float).tiny)))
    squares, turns = np.linalg.eigh(W.T @ scatter @ W)
    return np.hstack([kept, W @ turns[:, squares <= NO_DIFFERENCE]])


# -- equations of an estimate ------------------------------------------------------------------


class Equations(Protocol):
    """What the pairs of a tile contribute to an estimate, and sums that its covariance takes."""

    def contributions(self, tile: Tile) -> PairContributions: ...

    def sums(self, tile: Tile) -> Sums: ...


@dataclass(frozen=True)
class LikelihoodSums(Sums):
    """Of maximum likelihood, all bordered by the side effect's row.

    Expected and observed information, and what ties take off the former.
    """

    expected: np.ndarray
    observed: np.ndarray
    taken: np.ndarray


@dataclass(frozen=True)
class LikelihoodEquations:
    """Those of maximum likelihood at ``scores`` (N) and a side effect."""

    link: Link
    scores: np.ndarray
    side_effect: float
    has_ties: bool

    def _difference(self, tile: Tile) -> np.ndarray:
        pairs = tile.pairs
        shift = self.side_effect * pairs.side[:, None]
        return pairs.differences(tile.take(self.scores)) + shift

    def contributions(self, tile: Tile) -> PairContributions:
        pairs = tile.pairs
        score, _ = scores_of_pairs(self._difference(tile), pairs.win, pairs.lose, self.link)
        return likelihood_contributions(score, pairs)

    def sums(self, tile: Tile) -> LikelihoodSums:
        pairs, delta = tile.pairs, self._difference(tile)
        expected = tile.scatter(scores_of_pairs(delta, pairs.win, pairs.lose, self.link)[1])
        observed, taken = expected, np.zeros_like(expected)
        if not isinstance(self.link, Logit):
            observed = tile.scatter(self.link.observed_information(delta, pairs.win, pairs.lose))
        if self.has_ties:
            taken = tile.scatter(self.link.taken_by_ties(delta, tile.tied))
        return LikelihoodSums(expected, observed, taken)


@dataclass(frozen=True)
class ClosedFormSums(Sums):
    """Of a closed form on the link's scale.

    ``curvature`` (e x e) and ``response`` (e x d) of the equations of its scale, the meat if
    comparisons were independent and what ties take off it ((d + e) x (d + e)).
    """

    curvature: np.ndarray
    response: np.ndarray
    model_meat: np.ndarray
    taken: np.ndarray


@dataclass(frozen=True)
class ClosedFormEquations:
    """Those of a closed form b, and of its scale.

    ``form`` has everything but the pairs; ``scores`` (N) are X b, ``centred_score`` those less that
    of the mean.
    """

    form: ScaledClosedForm
    method: str
    scores: np.ndarray
    centred_score: np.ndarray
    has_ties: bool

    def _form(self, tile: Tile) -> ScaledClosedForm:
        difference = tile.pairs.differences(tile.take(self.scores))
        return replace(self.form, pairs=tile.pairs, difference=difference)

    def contributions(self, tile: Tile) -> PairContributions:
        return contributions(self._form(tile), self.method, tile.take(self.centred_score))

    def sums(self, tile: Tile) -> ClosedFormSums:
        form, none = self._form(tile), np.zeros(tile.Z.shape[1])
        meat = form.model_meat(tile.Z, none)
        taken = np.zeros_like(meat)
        if self.has_ties:
            taken = form.taken_by_ties(tile.Z, none, tile.tied)
        return ClosedFormSums(*form.scale_sums(tile.Z), meat, taken)


def no_pairs(n_sides: int) -> Pairs:
    """No pairs of no items."""
    none = np.zeros((n_sides, 0))
    side = np.array([1.0, -1.0]) if n_sides > 1 else np.zeros(1)
    return Pairs(np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32), none, none, side)


# -- the meat ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairSums(Sums):
    """Sums of equations, and the two parts of the meat of their contributions u.

    ``items`` is sum_i c_i^2 t_i t_i', ``pairs`` sum_p u_p u_p', with the number of comparisons as
    last equation; ``total`` sums u over all pairs. Without item-robust intervals these are empty.
    """

    equations: Sums
    items: np.ndarray
    pairs: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class PairTask:
    """Sums of equations over pairs, with the item-robust meat if ``inflation`` (N) is given."""

    tiles: Tiles
    equations: Equations
    size: int
    inflation: np.ndarray | None

    def __call__(self, block: int) -> PairSums:
        sums: Sums = Nothing()
        inflation, robust = self.inflation, self.inflation is not None
        size = self.size + 1 if robust else 0
        rows = self.tiles.spill.grid.rows(block)
        t, pairs = np.zeros((rows.stop - rows.start, size)), np.zeros((size, size))
        total = np.zeros(max(size - 1, 0))
        for is_low, tile in self.tiles.of_block(block, owned=not robust):
            if is_low:
                sums = sums + self.equations.sums(tile)
            if inflation is not None:
                u = self.equations.contributions(tile)
                add_item_sums(t, tile, u)
                if is_low:
                    pairs += pair_products(tile, u, tile.take(inflation))
                    total += contribution_total(tile, u)
        if inflation is not None:
            t *= inflation[rows, None]
        return PairSums(sums, t.T @ t, pairs, total)


@dataclass(frozen=True)
class Nothing(Sums):
    """The sums of no pairs: zero."""

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        return other

    def __radd__(self, other: Sums) -> Sums:
        return other


def add_item_sums(t: np.ndarray, tile: Tile, u: PairContributions) -> None:
    """Add to ``t`` what the pairs of a tile contribute to each item that the block has."""
    pairs, Z, d = tile.pairs, tile.Z, tile.Z.shape[1]
    own = pairs.item_sums(u.low, u.high)
    start_of_high, low_items, order = pairs.by_high
    to_high, to_low = u.high[:, None], u.low[order][:, None]
    for rows in row_blocks(tile.own.stop, tile.own.start):
        into = t[rows.start - tile.own.start : rows.stop - tile.own.start]
        into[:, :d] += own[rows, None] * Z[rows]
        into[:, :d] += neighbour_sums(Z, pairs.start, pairs.high, to_high, rows)[:, 0]
        into[:, :d] += neighbour_sums(Z, start_of_high, low_items, to_low, rows)[:, 0]
    for place, column in enumerate((*u.extra.T, pairs.number)):
        t[:, d + place] += pairs.item_sums(column, column)[tile.own]


def pair_products(tile: Tile, u: PairContributions, inflation: np.ndarray) -> np.ndarray:
    """sum_p u_p u_p' of the pairs of a tile, each as often as its items count it too often."""
    pairs, Z = tile.pairs, tile.Z
    times = times_too_often(pairs.low, pairs.high, inflation)
    extra = np.column_stack([u.extra, pairs.number])
    squares = pairs.item_sums(times * u.low**2, times * u.high**2)
    none = np.zeros(Z.shape[1])
    features = pair_scatter(Z, none, pairs, squares, times * u.low * u.high)
    weighted = times[:, None] * extra
    mixed = np.array(
        [pairs.item_sums(u.low * column, u.high * column) @ Z for column in weighted.T]
    )
    return np.block([[features, mixed.T], [mixed, weighted.T @ extra]])


def contribution_total(tile: Tile, u: PairContributions) -> np.ndarray:
    """The sum of u over the pairs of a tile."""
    features = tile.pairs.item_sums(u.low, u.high) @ tile.Z
    return np.concatenate([features, u.extra.sum(axis=0)])


# -- covariances from these sums ---------------------------------------------------------------


def closed_covariance(
    data: Any,
    form: ScaledClosedForm,
    sums: Any,
    robust: np.ndarray | None,
    error: np.ndarray | None,
) -> np.ndarray:
    """Covariance of coefficients and side effect, from the sums of its equations.

    ``robust`` is the item-robust meat, ``error`` that of the covariance of `split`.
    """
    settings, d = data.settings, len(form.coef)
    random_pairs = None if settings.method == "paired" else data.item_moments.scatter
    jacobian = form.jacobian_of(sums.curvature, sums.response, random_pairs)
    if robust is not None and settings.method == "pooled":
        robust = meat_net_of(robust, data.never_differing(), form.inverse)
    covariance = sandwich(jacobian, sums.model_meat, robust, data.weight_unit)
    if robust is None and data.n_tied > 0:
        taken = data.weight_unit * (jacobian @ sums.taken @ jacobian.T)
        covariance = less_ties(covariance, taken)
    if error is None:
        return covariance
    by_covariance, n = data.n_comparisons * jacobian[:, :d], data.n_second
    return n / (n - d - 2) * (covariance + by_covariance @ error @ by_covariance.T)


def likelihood_covariance(
    data: Any,
    sums: Any,
    robust: np.ndarray | None,
    ridge: np.ndarray,
    directions: np.ndarray | None = None,
) -> tuple[Basis, np.ndarray | None]:
    """The basis of the expected information, and the covariance, from the sums of equations."""
    settings, held = data.settings, np.diag(ridge)
    unit = np.append(data.item_moments.sd, [1.0] * settings.side_effect)
    size = size_of_information(data.n_comparisons, settings.link)
    basis = basis_within(sums.expected + held, unit, directions, size)
    if settings.inference is None:
        return basis, None
    if settings.inference == "model":
        covariance = sandwich(basis.inverse, sums.expected, None, data.weight_unit)
        if data.n_tied > 0:
            taken = data.weight_unit * (basis.inverse @ sums.taken @ basis.inverse.T)
            covariance = less_ties(covariance, taken)
        return basis, covariance
    bread = basis
    if not isinstance(settings.link, Logit):
        bread = observed_basis(sums.observed + held, basis, directions)
    return basis, sandwich(bread.inverse, sums.expected, robust, data.weight_unit)
