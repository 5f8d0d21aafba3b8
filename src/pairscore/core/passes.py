"""Passes over comparisons and over pairs, in chunks of their rows.

The loops themselves are compiled, or in NumPy (:mod:`pairscore.core.kernels`). Large passes run in
threads; chunks and the order of their sums depend on the data alone, so that no result depends on
the number of threads.

Pairs are those of :class:`pairscore.core.pair_graph.Pairs`: the pairs of the low item i are those
from ``start[i]`` to ``start[i + 1]``, with the other item in ``high``.
"""

from typing import NamedTuple

import numpy as np

from pairscore.core import kernels
from pairscore.core.amounts import amounts_of_rows, some_amounts
from pairscore.core.kernels_numpy import refuse_outside
from pairscore.core.links import Link
from pairscore.core.threads import CHUNKS, on_each, row_chunks

BLOCK = 8192  # comparisons or pairs at a time, which stay in the processor's cache
NEARLY_ALL = 0.9  # share of an array in use that is not worth a copy
TwoArrays = tuple[np.ndarray, np.ndarray]


class SummedPairs(NamedTuple):
    """Pairs: where those of each low item begin (N + 1), the high items (P), and wins and losses of
    low (sides x P).
    """

    start: np.ndarray
    high: np.ndarray
    win: np.ndarray
    lose: np.ndarray


class ByHigh(NamedTuple):
    """The same pairs sorted by high: where those of each begin (N + 1), low items (P), and the
    number of each pair in the other order (P).
    """

    start: np.ndarray
    low: np.ndarray
    order: np.ndarray


def tally_pass(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    n_items: int,
) -> TwoArrays:
    """Net wins and exposures of each item (N)."""

    def one(rows: slice) -> np.ndarray:
        sums = np.zeros((n_items, 2))
        add_tally(left[rows], right[rows], outcome[rows], some_amounts(amount, rows), sums)
        return sums

    net, exposures = np.sum(on_each(one, _chunks_beside(len(left), n_items)), axis=0).T
    return np.ascontiguousarray(net), np.ascontiguousarray(exposures)


def add_tally(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    sums: np.ndarray,
) -> None:
    """The same, added to ``sums`` (N x 2), where those of an item are side by side: items come in
    any order. Whole numbers of four bytes do for fewer than 2^31 comparisons that count once each.
    """
    if amount is not None and sums.dtype != np.float64:
        raise TypeError("amounts are summed in doubles")
    kernels.add_tally(*same_kind(left, right), as_outcomes(outcome), amount, sums)


def difference_pass(left: np.ndarray, right: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Score of left minus that of right (M), of items with ``scores`` (N)."""
    (left, right), scores, difference = same_kind(left, right), doubles(scores), np.empty(len(left))

    def one(rows: slice) -> None:
        kernels.subtract_scores(left[rows], right[rows], scores, difference[rows])

    on_each(one, row_chunks(len(left), 1))
    return difference


def net_pass(left: np.ndarray, right: np.ndarray, values: np.ndarray, n_items: int) -> np.ndarray:
    """Per item (N), the sum of its values (M) when left minus those when right: B' values."""

    def one(rows: slice) -> np.ndarray:
        return add_net(left[rows], right[rows], values[rows], np.zeros(n_items))

    return np.sum(on_each(one, _chunks_beside(len(left), n_items)), axis=0)


def add_net(left: np.ndarray, right: np.ndarray, values: np.ndarray, net: np.ndarray) -> np.ndarray:
    """The same, added to ``net``."""
    values = doubles(values)
    kernels.add_at_ends(*same_kind(left, right), values, values, -1.0, net)
    return net


def sum_at_ends(
    left: np.ndarray, right: np.ndarray, at_left: np.ndarray, at_right: np.ndarray, n_items: int
) -> np.ndarray:
    """Per item (N), values ``at_left`` (R) of rows where it is left, ``at_right`` where right."""
    sums = np.zeros(n_items)
    kernels.add_at_ends(*same_kind(left, right), doubles(at_left), doubles(at_right), 1.0, sums)
    return sums


def score_pass(
    left: np.ndarray,
    right: np.ndarray,
    win: np.ndarray,
    lose: np.ndarray,
    scores: np.ndarray,
    shift: float,
    link: Link,
) -> tuple[np.ndarray, float]:
    """The derivative of the log-likelihood in the items' scores (N), and in what left has more.

    Rows (R) are comparisons, or pairs: ``win`` and ``lose`` say how often left won and lost, at a
    difference of the scores of left and right plus ``shift``.
    """
    n_items = len(scores)
    left, right = same_kind(left, right)
    scores = doubles(scores)

    def one(chunk: slice) -> tuple[np.ndarray, float]:
        net, total = np.zeros(n_items), 0.0
        for first in range(chunk.start, chunk.stop, BLOCK):
            rows = slice(first, min(first + BLOCK, chunk.stop))
            ends = left[rows], right[rows]
            total += add_scores(*ends, win[rows], lose[rows], scores, shift, link, net)
        return net, total

    parts = on_each(one, _chunks_beside(len(left), n_items))
    return np.sum([net for net, _ in parts], axis=0), sum(total for _, total in parts)


def add_scores(
    left: np.ndarray,
    right: np.ndarray,
    win: np.ndarray,
    lose: np.ndarray,
    scores: np.ndarray,
    shift: float,
    link: Link,
    net: np.ndarray,
) -> float:
    """The same of few rows, added to ``net`` (N); returns the derivative in what left has more."""
    eta = difference_pass(left, right, scores)
    if shift:
        eta += shift
    score = link.score(eta, win, lose)[0]
    add_net(left, right, score, net)
    return float(score.sum())


def information_pass(
    left: np.ndarray,
    right: np.ndarray,
    win: np.ndarray,
    lose: np.ndarray,
    scores: np.ndarray,
    shift: float,
    link: Link,
) -> tuple[np.ndarray, bool]:
    """Information of a Newton step of each row (R), and whether all of it is the observed one.

    Rows are those of :func:`score_pass`. Where the observed information of some rows that are
    looked at together is negative, theirs is the expected one (:meth:`Link.newton`).
    """
    information = np.empty(len(left))

    def one(chunk: slice) -> bool:
        is_observed = True
        for first in range(chunk.start, chunk.stop, BLOCK):
            rows = slice(first, min(first + BLOCK, chunk.stop))
            eta = difference_pass(left[rows], right[rows], scores) + shift
            _, information[rows], observed = link.newton(eta, win[rows], lose[rows])
            is_observed = is_observed and observed
        return is_observed

    return information, all(on_each(one, row_chunks(len(left), 1)))


def _chunks_beside(n_rows: int, n_items: int) -> list[slice]:
    """Chunks of comparisons, one unless they are many beside the sums that each takes per item."""
    return row_chunks(n_rows, 1) if n_rows > 2 * CHUNKS * n_items else [slice(0, n_rows)]


def pair_pass(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    n_items: int,
    n_sides: int,
) -> SummedPairs:
    """Comparisons summed per unordered pair.

    Parameters are those of :func:`pairscore.core.pair_graph.aggregate_pairs`; with two sides the
    comparisons with low on the right are in the second row.
    """
    if not kernels.IS_COMPILED or max(len(left), n_items) >= 2**31 - 1:
        return _pair_table(left, right, outcome, amount, n_items, n_sides)
    m, won = len(left), as_outcomes(outcome)
    order, high, place, low = (np.empty(m, dtype=np.int32) for _ in range(4))
    first, end = np.empty(n_items + 1, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    kernels.sort_by_pair(*same_kind(left, right), place, low, end, order, high, first)
    del place, low
    start, win, lose = np.empty(n_items + 1, dtype=np.int32), *np.empty((2, n_sides, m))
    each = None if amount is None else doubles(amount)
    n = kernels.sum_by_pair(won, each, order, first, start, high, win, lose)
    if n == m or (n_sides == 1 and n > NEARLY_ALL * m):
        return SummedPairs(start, high[:n], win[:, :n], lose[:, :n])
    return SummedPairs(start, high[:n].copy(), win[:, :n].copy(), lose[:, :n].copy())


def _pair_table(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    n_items: int,
    n_sides: int,
) -> SummedPairs:
    """The same without compiled loops, or of more rows than these count: a sparse triangle."""
    from scipy import sparse

    refuse_outside(n_items, left, right)
    amount = amounts_of_rows(amount, len(left))
    distinct = left != right
    if not distinct.all():
        left, right, outcome = left[distinct], right[distinct], outcome[distinct]
        amount = amount[distinct]
    swapped = left > right
    # wins and losses of low ride as real and imaginary part through one sort-and-sum of the pairs
    counts = np.empty(len(left), dtype=complex)
    counts.real = amount * (0.5 + 0.5 * np.where(swapped, -outcome, outcome))
    counts.imag = amount - counts.real
    index = np.int32 if n_items < 2**31 else np.int64
    low, high = np.minimum(left, right).astype(index), np.maximum(left, right).astype(index)
    parts = [counts] if n_sides == 1 else [np.where(on, counts, 0) for on in (~swapped, swapped)]
    shape = (n_items, n_items)
    tables = [sparse.coo_array((part, (low, high)), shape=shape).tocsr() for part in parts]
    return SummedPairs(
        start=tables[0].indptr.astype(index, copy=False),
        high=tables[0].indices.astype(index, copy=False),
        win=np.array([table.data.real for table in tables]),
        lose=np.array([table.data.imag for table in tables]),
    )


def turn_pairs(start: np.ndarray, high: np.ndarray) -> ByHigh:
    """Pairs sorted by low, in the order of high."""
    from scipy import sparse

    n = len(start) - 1
    refuse_outside(n, high)
    by_low = sparse.csr_array((np.arange(len(high), dtype=high.dtype), high, start), shape=(n, n))
    by_high = by_low.tocsc()
    return ByHigh(by_high.indptr, by_high.indices, by_high.data)


def neighbour_sums(
    X: np.ndarray, start: np.ndarray, neighbour: np.ndarray, values: np.ndarray, rows: slice
) -> np.ndarray:
    """For each item of a block, sums of its neighbours' features times ``values``.

    Parameters
    ----------
    X : array (N x d)
    start, neighbour : integer arrays (N + 1) and (P)
        The neighbours of item i are those from ``start[i]`` to ``start[i + 1]``.
    values : array (P x K)
        K factors of each neighbour.
    rows : slice
        The items of the block.

    Returns
    -------
    Array (rows x K x d).
    """
    n_rows, n_kinds = rows.stop - rows.start, values.shape[1]
    sums = np.zeros((n_rows, n_kinds, X.shape[1]))
    kernels.neighbour_pass(X, start, neighbour, values, rows.start, rows.stop, sums)
    return sums


def message_pass(
    start: np.ndarray,
    high: np.ndarray,
    weight: np.ndarray,
    total: np.ndarray,
    messages: TwoArrays,
    in_place: bool = False,
) -> tuple[TwoArrays, np.ndarray]:
    """A round of messages along pairs.

    See :func:`pairscore.effects.belief_propagation.tree_variances`.
    ``total`` (N) is the precision of each item with all ``messages``, those to low and to high
    items (P each). Returns the next ones, if ``in_place`` perhaps there, and their sums (N).
    """
    sums = np.zeros(len(total))
    after = messages if in_place else (messages[0].copy(), messages[1].copy())
    kernels.pass_messages(start, high, weight, total, *after, sums)
    return (after[0], after[1]), sums


def variance_pass(
    start: np.ndarray, high: np.ndarray, weight: np.ndarray, total: np.ndarray, messages: TwoArrays
) -> np.ndarray:
    """The variance of the difference of each pair (P), by the last messages, see above."""
    at_low, at_high = _at_ends(start, high, total, messages)
    return 1 / (weight + at_low * at_high / (at_low + at_high))


def _at_ends(
    start: np.ndarray, high: np.ndarray, total: np.ndarray, messages: TwoArrays
) -> TwoArrays:
    """What both items of a pair know without each other (P each)."""
    refuse_outside(len(total), high)
    return np.repeat(total, np.diff(start)) - messages[0], total[high] - messages[1]


def doubles(values: np.ndarray) -> np.ndarray:
    """As the extension takes them."""
    return np.ascontiguousarray(values, dtype=np.float64)


def as_outcomes(outcome: np.ndarray) -> np.ndarray:
    """Of one byte each, or any numbers."""
    return np.ascontiguousarray(outcome, np.int8 if outcome.dtype == np.int8 else np.float64)


def same_kind(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers as the extension takes them: both of 32 bits, or both of 64."""
    kind = np.int32 if left.dtype == right.dtype == np.int32 else np.int64
    return np.ascontiguousarray(left, kind), np.ascontiguousarray(right, kind)
