"""Sums that add: what comparisons and items come down to, and never anything of size M x d.

    tally               comparisons  ->  net wins w and exposures k, two numbers per item
    moments             items        ->  total weight, mean, centred scatter
    aggregate_pairs     comparisons  ->  wins and losses of every unordered pair: a graph
    difference_scatter  pairs        ->  X'LX, the scatter of the observed differences

Tallies of one item table add over files of comparisons; moments add over disjoint sets of items.
Second moments are always centred: raw ones lose all digits once the mean is far from zero.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

BLOCK = 512  # rows at a time: a block of a few hundred features stays in the processor's cache


@dataclass(frozen=True)
class Tally:
    """Net wins w (wins minus losses) and exposures k (comparisons) of each item, both (N).

    ``n_comparisons`` is M, their total weight. Tallies of one item table add.
    """

    net_wins: np.ndarray
    exposures: np.ndarray
    n_comparisons: float

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.net_wins + other.net_wins,
            self.exposures + other.exposures,
            self.n_comparisons + other.n_comparisons,
        )

    @classmethod
    def zero(cls, n_items: int) -> "Tally":
        return cls(np.zeros(n_items), np.zeros(n_items), 0.0)


def tally(
    left: np.ndarray, right: np.ndarray, outcome: np.ndarray, amount: np.ndarray, n_items: int
) -> Tally:
    """Sum the comparisons per item; those of an item with itself count in their number only.

    Parameters
    ----------
    left, right : integer arrays (M)
        Rows of the two items in the item table.
    outcome : array (M)
        1 if left won, -1 if right did, 0 for a tie: Y_m of the paper.
    amount : array (M)
        Weight times count of each comparison.
    n_items : int
        Rows of the item table, N.
    """
    distinct = left != right
    exposed = amount if distinct.all() else amount * distinct
    return Tally(
        net_per_item(left, right, amount * outcome, n_items),
        np.bincount(left, exposed, n_items) + np.bincount(right, exposed, n_items),
        float(amount.sum()),
    )


def net_per_item(
    left: np.ndarray, right: np.ndarray, values: np.ndarray, n_items: int
) -> np.ndarray:
    """Per item (N), the sum of its values when left minus those when right: B' values."""
    return np.bincount(left, values, n_items) - np.bincount(right, values, n_items)


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of every feature, both (d)."""

    mean: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True)
class Moments:
    """Total weight, mean (d), and scatter sum_i k_i (x_i - mean)(x_i - mean)' (d x d) of items.

    Moments of disjoint sets of items add (Chan, Golub and LeVeque 1983).
    """

    total: float
    mean: np.ndarray
    scatter: np.ndarray

    def __add__(self, other: "Moments") -> "Moments":
        total = self.total + other.total
        if total == 0:
            return self
        gap, share = other.mean - self.mean, other.total / total
        scatter = self.scatter + other.scatter + self.total * share * np.outer(gap, gap)
        return Moments(total, self.mean + share * gap, scatter)

    @classmethod
    def zero(cls, n_features: int) -> "Moments":
        return cls(0.0, np.zeros(n_features), np.zeros((n_features, n_features)))

    @property
    def covariance(self) -> np.ndarray:
        return self.scatter / self.total

    @property
    def sd(self) -> np.ndarray:
        """Standard deviation of each feature; exactly zero where it is constant up to rounding."""
        return _sd(np.diag(self.covariance), self.mean)

    @property
    def spread(self) -> Spread:
        return Spread(self.mean, self.sd)


def moments(X: np.ndarray, weight: np.ndarray | None = None) -> Moments:
    """Weighted moments of the rows of ``X`` (N x d) in one pass; every weight is 1 unless given.

    Rows are centred at a provisional mean, that of a few rows; the exact mean comes out of the same
    pass, and the scatter is then moved to it.
    """
    weight = np.ones(len(X)) if weight is None else weight
    center = _provisional_mean(X, weight)
    root, total = np.sqrt(weight), float(weight.sum())
    first, scatter = np.zeros(X.shape[1]), np.zeros((X.shape[1],) * 2)
    for rows, centred in centred_blocks(X, center):
        centred *= root[rows, None]
        scatter += centred.T @ centred
        first += root[rows] @ centred
    gap = first / total
    return Moments(total, center + gap, scatter - total * np.outer(gap, gap))


def spread(X: np.ndarray, weight: np.ndarray) -> Spread:
    """Mean and standard deviation of weighted items, where no more of their moments is needed."""
    center, total = _provisional_mean(X, weight), float(weight.sum())
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows, centred in centred_blocks(X, center):
        first += weight[rows] @ centred
        centred *= centred
        second += weight[rows] @ centred
    gap = first / total
    return Spread(center + gap, _sd(second / total - gap**2, center + gap))


def _sd(variance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    sd = np.sqrt(np.maximum(variance, 0.0))
    return np.where(sd > 1e-13 * np.abs(mean), sd, 0.0)


def _provisional_mean(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    used = np.flatnonzero(weight)
    return X[used[:: max(len(used) // 1024, 1)]].mean(axis=0)


def feature_range(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of every feature (d) among the rows of a mask, block by block."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for rows in row_blocks(len(X)):
        block = X[rows] if mask[rows].all() else X[rows][mask[rows]]
        low = np.minimum(low, block.min(axis=0, initial=np.inf))
        high = np.maximum(high, block.max(axis=0, initial=-np.inf))
    return low, high


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Slices of a few hundred rows each, in order."""
    for first in range(0, n_rows, BLOCK):
        yield slice(first, min(first + BLOCK, n_rows))


def centred_blocks(X: np.ndarray, mean: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows with the mean taken off, in one small buffer that is used again."""
    buffer = np.empty((min(BLOCK, len(X)), X.shape[1]), dtype=X.dtype)
    for rows in row_blocks(len(X)):
        yield rows, np.subtract(X[rows], mean, out=buffer[: rows.stop - rows.start])


@dataclass(frozen=True)
class Pairs:
    """Unordered pairs (low, high), sorted by low: an upper triangular sparse matrix.

    Comparisons summed per pair are the graph on which the likelihood and the intervals live: items
    are its nodes, and pairs its edges. Repeated comparisons of a pair are one column, so aggregated
    counts and expanded rows are the same object.

    Parameters
    ----------
    start : integer array (N + 1)
        Pairs with item i as low are those from ``start[i]`` to ``start[i + 1]``.
    high : integer array (P)
        The other item of each pair.
    win, lose : arrays (S x P)
        How often *low* won and lost, a tie being half of each, for every entry of ``side``.
    side : array (S)
        [0] when sides do not matter, else [+1, -1] for the comparisons with *low* on the left and
        on the right.
    """

    start: np.ndarray
    high: np.ndarray
    win: np.ndarray
    lose: np.ndarray
    side: np.ndarray

    @property
    def n_items(self) -> int:
        return len(self.start) - 1

    @cached_property
    def component(self) -> np.ndarray:
        """The group of each item (N): items of one are linked by comparisons."""
        links = sparse.csr_array(
            (np.ones(len(self.high), dtype=np.int8), self.high, self.start),
            shape=(self.n_items, self.n_items),
        )
        return connected_components(links, directed=False)[1]

    @cached_property
    def low(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_items, dtype=self.high.dtype), np.diff(self.start))

    @cached_property
    def number(self) -> np.ndarray:
        """How many comparisons each pair has had (P)."""
        return sum_sides(self.win + self.lose)

    def differences(self, scores: np.ndarray) -> np.ndarray:
        """Score of low minus score of high, for every pair: B scores, B the incidence matrix."""
        return np.repeat(scores, np.diff(self.start)) - scores[self.high]

    def sum_at_low(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over the pairs in which it is the low one."""
        sums = np.zeros(self.n_items)
        if len(values):
            sums[self._lows] = np.add.reduceat(values, self.start[self._lows])
        return sums

    def sum_at_high(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over the pairs in which it is the high one."""
        return _with_entries(self._pattern[1], values) @ np.ones(self.n_items)

    def net_per_item(self, values: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`differences`: each value counts for low and against high."""
        return self.sum_at_low(values) - self.sum_at_high(values)

    @cached_property
    def _lows(self) -> np.ndarray:
        """The items that are the low one of some pair."""
        return np.flatnonzero(np.diff(self.start))

    @cached_property
    def by_high(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same pairs sorted by high: start of each item's (N + 1), low items (P), order (P)."""
        flipped = _with_entries(self._pattern[1], np.arange(len(self.high))).tocsr()
        return flipped.indptr, flipped.indices, flipped.data

    def matrix(self, diagonal: np.ndarray, off_diagonal: np.ndarray) -> sparse.csr_array:
        """The symmetric matrix (N x N) with these values at the items (N) and at the pairs (P)."""
        values = np.concatenate([off_diagonal, diagonal])
        return _with_entries(self._graph, values[self._graph.data])

    @cached_property
    def _graph(self) -> sparse.csr_array:
        """The symmetric matrix whose entries are numbers of pairs, and P + i on the diagonal."""
        number = np.arange(1, len(self.high) + 1)  # from 1, as zeros would not be stored
        above = _with_entries(self._pattern[0], number)
        own = sparse.diags_array(np.arange(self.n_items) + len(self.high) + 1.0)
        graph = sparse.csr_array(above + above.T + own)
        graph.data = graph.data.astype(np.int64) - 1
        return graph

    @cached_property
    def _pattern(self) -> tuple[sparse.csr_array, sparse.csc_array]:
        """The items-by-items matrix with an entry at every (low, high), and its transpose."""
        shape = (self.n_items, self.n_items)
        matrix = sparse.csr_array((self.win[0], self.high, self.start), shape=shape)
        return matrix, matrix.T


def sum_sides(values: np.ndarray) -> np.ndarray:
    """Sum over the sides (rows); with one row there is nothing to sum or copy."""
    return values[0] if len(values) == 1 else values.sum(axis=0)


def _with_entries(pattern: sparse.sparray, values: np.ndarray) -> sparse.sparray:
    """A sparse matrix with new entries: a copy, because building one costs more than a product."""
    matrix = copy(pattern)
    matrix.data = values
    return matrix


def aggregate_pairs(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray,
    n_items: int,
    keep_sides: bool = False,
) -> Pairs:
    """Sum comparisons per unordered pair; parameters are those of :func:`tally`.

    An item against itself tells nothing about scores and is left out. ``keep_sides`` keeps apart
    who was on the left.
    """
    distinct = left != right
    if not distinct.all():
        left, right, outcome, amount = (
            column[distinct] for column in (left, right, outcome, amount)
        )
    swapped = left > right
    # wins and losses of low ride as real and imaginary part through one sort-and-sum of the pairs
    counts = np.empty(len(left), dtype=complex)
    counts.real = amount * (0.5 + 0.5 * np.where(swapped, -outcome, outcome))
    counts.imag = amount - counts.real
    parts = [np.where(swapped, 0, counts), np.where(swapped, counts, 0)] if keep_sides else [counts]
    tables = [_pair_table(left, right, part, n_items) for part in parts]
    return Pairs(
        start=tables[0].indptr,
        high=tables[0].indices,
        win=np.array([table.data.real for table in tables]),
        lose=np.array([table.data.imag for table in tables]),
        side=np.array([1.0, -1.0]) if keep_sides else np.zeros(1),
    )


def count_pairs(left: np.ndarray, right: np.ndarray, amount: np.ndarray, n_items: int) -> Pairs:
    """The pairs without who won, every comparison as a win of low.

    All that the scatter of differences needs, in less memory than :func:`aggregate_pairs`.
    """
    distinct = left != right
    if not distinct.all():
        left, right, amount = left[distinct], right[distinct], amount[distinct]
    table = _pair_table(left, right, amount, n_items)
    no_losses = np.broadcast_to(0.0, (1, table.nnz))
    return Pairs(table.indptr, table.indices, table.data[None], no_losses, np.zeros(1))


def _pair_table(
    left: np.ndarray, right: np.ndarray, values: np.ndarray, n_items: int
) -> sparse.csr_array:
    """Values of comparisons summed at (low, high), a sparse upper triangle."""
    index = np.int32 if n_items < 2**31 else np.int64
    low = np.minimum(left, right, dtype=index, casting="same_kind")
    high = np.maximum(left, right, dtype=index, casting="same_kind")
    table = sparse.coo_array((values, (low, high)), shape=(n_items, n_items)).tocsr()
    table.indptr = table.indptr.astype(index, copy=False)
    table.indices = table.indices.astype(index, copy=False)
    return table


def difference_scatter(
    X: np.ndarray, mean: np.ndarray, pairs: Pairs, weight: np.ndarray
) -> np.ndarray:
    """X'LX = sum_p weight_p (x_low - x_high)(x_low - x_high)', L the Laplacian of the graph.

    Parameters
    ----------
    X, mean : arrays (N x d) and (d)
        Features; the mean drops out, and only keeps the digits.
    pairs, weight : Pairs and array (P)
        The edges of the graph and their weights, e.g. how often each pair was compared.

    Returns
    -------
    Matrix (d x d).
    """
    degree = pairs.sum_at_low(weight) + pairs.sum_at_high(weight)
    return pair_scatter(X, mean, pairs, degree, -weight)


def pair_scatter(
    X: np.ndarray, mean: np.ndarray, pairs: Pairs, diagonal: np.ndarray, off_diagonal: np.ndarray
) -> np.ndarray:
    """Z'AZ = sum_i a_ii z_i z_i' + sum_p a_p (z_low z_high' + z_high z_low'), with z = x - mean.

    A is symmetric, with ``diagonal`` a_ii (N) and ``off_diagonal`` a_p (P) at the pairs. One
    multiplication per block of items: half of a_ii z_i and all a_p x_high are collected for each
    item first, and the result is the sum of their product with z and its transpose.
    """
    neighbour_weight = pairs.sum_at_low(off_diagonal)
    half, uncentred = np.zeros((X.shape[1],) * 2), np.zeros(X.shape[1])
    for rows, centred in centred_blocks(X, mean):
        collected = neighbour_sums(X, pairs.start, pairs.high, off_diagonal, rows)
        collected += 0.5 * diagonal[rows, None] * centred
        half += centred.T @ collected
        uncentred += neighbour_weight[rows] @ centred
    half -= np.outer(uncentred, mean)  # the neighbours had not been centred
    return half + half.T


def neighbour_sums(
    X: np.ndarray, start: np.ndarray, neighbour: np.ndarray, values: np.ndarray, rows: slice
) -> np.ndarray:
    """For each item of a block, the sum of its neighbours' features times ``values``.

    ``start`` (N + 1) says where the ``neighbour`` rows (P) and ``values`` (P) of each item begin.
    """
    first, last = start[rows.start], start[rows.stop]
    entries = values[first:last].astype(X.dtype, copy=False)
    block = sparse.csr_array(
        (entries, neighbour[first:last], start[rows.start : rows.stop + 1] - first),
        shape=(rows.stop - rows.start, len(X)),
    )
    return block @ X
