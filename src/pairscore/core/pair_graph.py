"""Comparisons summed per item and per pair, and never anything of size M x d.

    tally               comparisons  ->  net wins w and exposures k, two numbers per item
    aggregate_pairs     comparisons  ->  wins and losses of every unordered pair: a graph
    difference_scatter  pairs        ->  X'LX, the scatter of the observed differences

Tallies of one item table add over files of comparisons.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pairscore.core.amounts import total_of
from pairscore.core.kernels_numpy import refuse_outside
from pairscore.core.passes import (
    ByHigh,
    add_net,
    difference_pass,
    neighbour_sums,
    pair_pass,
    sum_at_ends,
    tally_pass,
    turn_pairs,
)
from pairscore.core.row_blocks import centred_blocks
from pairscore.core.threads import chunks_of, on_each
from pairscore.errors import outside_table


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
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    n_items: int,
) -> Tally:
    """Sum the comparisons per item; those of an item with itself count in their number only.

    Parameters
    ----------
    left, right : integer arrays (M)
        Rows of the two items in the item table.
    outcome : array (M)
        1 if left won, -1 if right did, 0 for a tie: Y_m of the paper.
    amount : array (M) or None
        Weight times count of each comparison; None where every one counts once.
    n_items : int
        Rows of the item table, N.
    """
    sums = tally_pass(left, right, outcome, amount, n_items)
    return Tally(*sums, total_of(amount, len(left)))


class LinkedGroups(NamedTuple):
    """k groups of s linked items each: where entries of their matrices are.

    ``items`` (k x s), the numbers of the ``pairs`` among them, and the places of these ``above``
    and ``below`` the diagonals of k matrices (s x s), as numbers in one row.
    """

    items: np.ndarray
    pairs: np.ndarray
    above: np.ndarray
    below: np.ndarray


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
        refuse_outside(self.n_items, self.high)
        links = sparse.csr_array(
            (np.ones(len(self.high), dtype=np.int8), self.high, self.start),
            shape=(self.n_items, self.n_items),
        )
        from scipy.sparse.csgraph import connected_components

        return connected_components(links, directed=False)[1]

    @cached_property
    def blocks(self) -> list[LinkedGroups]:
        """Groups of linked items, by their size."""
        size = np.bincount(self.component)[self.component]
        found = []
        place = np.empty(self.n_items, dtype=np.int64)  # of an item's row in the matrices, over s
        row = np.empty(self.n_items, dtype=np.int64)
        for s in np.unique(size):
            members = np.flatnonzero(size == s)
            items = members[np.argsort(self.component[members], kind="stable")].reshape(-1, s)
            place[items], row[items] = np.arange(items.size).reshape(items.shape), np.arange(s)
            edges = np.flatnonzero(size[self.low] == s)
            low, high = self.low[edges], self.high[edges]
            above, below = s * place[low] + row[high], s * place[high] + row[low]
            found.append(LinkedGroups(items, edges, above, below))
        return found

    @cached_property
    def low(self) -> np.ndarray:
        """The low item of each pair (P)."""
        ends = self.start[0] == 0 and self.start[-1] == len(self.high)
        if not ends or np.any(np.diff(self.start) < 0):
            raise outside_table()
        return np.repeat(np.arange(self.n_items, dtype=self.high.dtype), np.diff(self.start))

    @property
    def keys(self) -> np.ndarray:
        """A number for each pair (P), in their order."""
        return self.low.astype(np.int64) * self.n_items + self.high

    def numbers_of(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The number of the pair of each row (R) with two different items that met."""
        low = np.minimum(left, right).astype(np.int64)
        return np.searchsorted(self.keys, low * self.n_items + np.maximum(left, right))

    @cached_property
    def number(self) -> np.ndarray:
        """How many comparisons each pair has had (P)."""
        return sum_sides(self.win + self.lose)

    def differences(self, scores: np.ndarray) -> np.ndarray:
        """Score of low minus score of high, for every pair: B scores, B the incidence matrix."""
        return difference_pass(self.low, self.high, scores)

    def item_sums(self, at_low: np.ndarray, at_high: np.ndarray) -> np.ndarray:
        """For every item, the values of its pairs: ``at_low`` where it is the low one, or high."""
        return sum_at_ends(self.low, self.high, at_low, at_high, self.n_items)

    @cached_property
    def exposures(self) -> np.ndarray:
        """How many comparisons each item has had (N)."""
        return np.sum([self.item_sums(row, row) for row in (*self.win, *self.lose)], axis=0)

    def part(self, rows: slice) -> "Pairs":
        """The pairs of some low items, among all items; the arrays of pairs are views."""
        first, last = self.start[rows.start], self.start[rows.stop]
        wins = self.win[:, first:last], self.lose[:, first:last]
        start = np.clip(self.start, first, last) - first
        return Pairs(start, self.high[first:last], *wins, self.side)

    def among(self, items: np.ndarray) -> tuple["Pairs", np.ndarray]:
        """The pairs of some items (mask N) that are linked to no others, and their numbers here."""
        numbers = np.flatnonzero(items[self.low])
        start = np.append(0, np.cumsum(np.diff(self.start)[items])).astype(self.start.dtype)
        place = (np.cumsum(items) - 1).astype(self.high.dtype)
        of_sides = self.win[:, numbers], self.lose[:, numbers]
        return Pairs(start, place[self.high[numbers]], *of_sides, self.side), numbers

    def net_per_item(self, values: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`differences`: each value counts for low and against high."""
        return add_net(self.low, self.high, values, np.zeros(self.n_items))

    @cached_property
    def by_high(self) -> ByHigh:
        """The same pairs sorted by high."""
        return turn_pairs(self.start, self.high)

    def matrix(self, diagonal: np.ndarray, off_diagonal: np.ndarray) -> sparse.csr_array:
        """The symmetric matrix (N x N) with these values at the items (N) and at the pairs (P)."""
        values = np.concatenate([off_diagonal, diagonal])
        return _with_entries(self._graph, values[self._graph.data])

    @cached_property
    def _graph(self) -> sparse.csr_array:
        """The symmetric matrix whose entries are numbers of pairs, and P + i on the diagonal."""
        n, pair, item = self.n_items, np.arange(len(self.high)), np.arange(self.n_items)
        below, low, order = self.by_high
        # of each item: its low ones, itself, its high ones
        rows = self.start + below + np.arange(n + 1)
        places = (
            pair + np.repeat(self.start[:-1] + item, np.diff(below)),
            self.start[:-1] + below[1:] + item,
            pair + np.repeat(below[1:] + item + 1, np.diff(self.start)),
        )
        columns, number = np.empty((2, 2 * len(pair) + n), dtype=np.int64)
        for place, column, entry in zip(
            places, (low, item, self.high), (order, len(pair) + item, pair), strict=True
        ):
            columns[place], number[place] = column, entry
        index = self.start.dtype
        entries = number, columns.astype(index), rows.astype(index)
        return sparse.csr_array(entries, shape=(n, n))


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
    amount: np.ndarray | None,
    n_items: int,
    keep_sides: bool = False,
) -> Pairs:
    """Sum comparisons per unordered pair; parameters are those of :func:`tally`.

    An item against itself tells nothing about scores and is left out. ``keep_sides`` keeps apart
    who was on the left.
    """
    columns = pair_pass(left, right, outcome, amount, n_items, 1 + keep_sides)
    return Pairs(*columns, side=np.array([1.0, -1.0]) if keep_sides else np.zeros(1))


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
    degree = pairs.item_sums(weight, weight)
    return pair_scatters(X, mean, pairs, degree[None], -weight[None])[0]


def pair_scatters(
    X: np.ndarray, mean: np.ndarray, pairs: Pairs, diagonal: np.ndarray, off_diagonal: np.ndarray
) -> np.ndarray:
    """Z'AZ = sum_i a_ii z_i z_i' + sum_p a_p (z_low z_high' + z_high z_low'), with z = x - mean.

    For K symmetric matrices A in one pass, with ``diagonal`` a_ii (K x N) and ``off_diagonal`` a_p
    (K x P) at the pairs; returns K x d x d. One multiplication per block of items: half of a_ii z_i
    and all a_p x_high are collected for each item first, and the result is the sum of their product
    with z and its transpose.
    """
    X, factors = np.ascontiguousarray(X), np.ascontiguousarray(off_diagonal.T)
    n_matrices, d = len(off_diagonal), X.shape[1]

    def one(chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        half, uncentred = np.zeros((d, n_matrices * d)), np.zeros((n_matrices, d))
        for rows, centred in centred_blocks(X, mean, chunk):
            collected = neighbour_sums(X, pairs.start, pairs.high, factors, rows)
            collected += 0.5 * diagonal.T[rows, :, None] * centred[:, None]
            half += centred.T @ collected.reshape(len(centred), -1)
            uncentred += neighbour_weight[:, rows] @ centred
        return half, uncentred

    none = np.zeros(off_diagonal.shape[1])
    neighbour_weight = np.array([pairs.item_sums(row, none) for row in off_diagonal])
    halves, uncentred = zip(*on_each(one, chunks_of(pairs.start)), strict=True)
    scatters = np.sum(halves, axis=0).reshape(d, n_matrices, d).transpose(1, 0, 2)
    # the neighbours had not been centred
    scatters = scatters - np.sum(uncentred, axis=0)[:, :, None] * mean
    return scatters + scatters.transpose(0, 2, 1)


def laplacian(pairs: Pairs, weight: np.ndarray, ridge: float = 0.0) -> sparse.csr_array:
    """L + ridge I, L of the graph of items whose edges have these weights (P), N x N."""
    degree = pairs.item_sums(weight, weight)
    return pairs.matrix(degree + ridge, -weight)
