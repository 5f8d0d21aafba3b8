"""The data of a fit: what every estimator asks of its comparisons and items, as sums.

Estimators are written once, on :class:`FitData`. It knows its items (a table that sums over its
rows) and what sums say of both (:class:`FitSums`, all that several sites together know), and it
sums over its comparisons, in three ways:

    along       differences along a score: for scales, agreement and separation
    score       the derivative of the log-likelihood in the items' scores
    sum_pairs   a task over blocks of pairs, for whatever takes all comparisons of a pair together

Here are the data of a table in memory (:class:`TableData`): one block, which is kept. Those of a
stream are :class:`pairscore.streaming.stream_data.StreamData`: many blocks, read when they are
needed, and a sample of the comparisons to start from.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from pairscore.core.amounts import amount_where, meetings, some_amounts, times_amount
from pairscore.core.differences import Differences
from pairscore.core.links import Link
from pairscore.core.moments import Moments, moments
from pairscore.core.pair_graph import (
    Pairs,
    Tally,
    aggregate_pairs,
    difference_scatter,
    pair_scatters,
    sum_sides,
    tally,
)
from pairscore.core.passes import difference_pass, net_pass, score_pass
from pairscore.core.row_blocks import centred_blocks
from pairscore.core.sums import Range, Sums
from pairscore.core.whitening import whitening_basis
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.ridge import ridge_penalty
from pairscore.estimators.settings import Settings

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.model.fit import Fit


@dataclass(frozen=True)
class Along:
    """Comparisons along a score: left minus right, x.

    Attributes
    ----------
    differences : Differences
        Every comparison, or their distribution.
    net : array (N)
        Per item, the sum of amount times x where it is left, less that where it is right.
    wins, losses : Range
        Of x where left won, and where it lost, in comparisons of two items that count.
    tied : float
        The amount of ties between two items.
    """

    differences: Differences
    net: np.ndarray
    wins: Range
    losses: Range
    tied: float

    def is_separated(self, side: bool) -> bool:
        """Whether some scale, with a side effect if there is one, explains every comparison.

        Then no finite one is best.
        """
        wins, losses = self.wins, self.losses
        if self.tied > 0:
            return False
        if not side:
            return wins.low >= 0 and losses.high <= 0 and max(wins.high, -losses.low) > 0
        if wins.is_empty or losses.is_empty:
            return True
        return wins.low >= losses.high and wins.high > losses.low

    @property
    def threshold(self) -> float:
        """A difference that all comparisons that left lost are below, and the others above."""
        highest_lost, lowest_won = self.losses.high, self.wins.low
        if self.losses.is_empty:
            return lowest_won - 1.0
        return highest_lost + 1.0 if self.wins.is_empty else (highest_lost + lowest_won) / 2


@dataclass(frozen=True)
class ScoreSums(Sums):
    """Of the log-likelihood at some scores: its derivative in each (N), and in the left side's."""

    net: np.ndarray
    side: float


@dataclass(frozen=True)
class Gains(Sums):
    """What a step adds to the winners of decided comparisons, and its size in ties."""

    decided: Range
    tied: Range

    @property
    def largest(self) -> float:
        """The largest size of all."""
        return max(-self.decided.low, self.decided.high, self.tied.high, 0.0)

    @classmethod
    def of_comparisons(cls, step: np.ndarray, outcome: np.ndarray, counted: np.ndarray) -> "Gains":
        """Of a ``step`` in the difference of each comparison (M); a mask says which count."""
        decided = (outcome * step)[counted & (outcome != 0)]
        return cls(Range.of(decided), Range.of(np.abs(step[counted & (outcome == 0)])))


@dataclass(frozen=True)
class Cut:
    """The comparisons whose difference a step moves by more than so much.

    ``scores`` (N) and ``shift`` are what the step adds to the score of each item, and to left.
    """

    scores: np.ndarray
    shift: float
    smallest: float

    def touches(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Mask (M) of comparisons."""
        return np.abs(difference_pass(left, right, self.scores) + self.shift) > self.smallest


@dataclass(frozen=True)
class Selection:
    """Of the comparisons of two items, those that some cut touches, or those that none does."""

    cuts: tuple[Cut, ...]
    touched: bool

    def mask(self, left: np.ndarray, right: np.ndarray, amount: np.ndarray | None) -> np.ndarray:
        """Of comparisons (M)."""
        mask = meetings(left, right, amount)
        if not self.cuts:
            return mask
        touched = np.any([cut.touches(left, right) for cut in self.cuts], axis=0)
        return mask & (touched == self.touched)


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
        return self.X - self.mean

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
    """All items, and all comparisons in one tile."""

    tile: Tile
    is_whole: bool = True

    @property
    def rows(self) -> slice:
        return self.tile.own

    def tiles(self, owned: bool) -> Iterator[tuple[bool, Tile]]:
        yield True, self.tile


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


class FitSums(Protocol):
    """What is known of the data of a fit from sums: M comparisons of N items with d features."""

    @property
    def table(self) -> ItemTable:
        """Features of the items; of no items where there are only sums."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]: ...

    @property
    def keep_sides(self) -> bool:
        """Whether pairs keep apart who was on the left, for a side effect."""
        ...

    @property
    def has_items(self) -> bool:
        """False for a matrix of differences, whose rows are items compared with the origin."""
        ...

    @property
    def tally(self) -> Tally:
        """Net wins w and exposures k of every item, and the amount of all comparisons."""
        ...

    @property
    def n_items(self) -> int:
        """How many items were compared with another."""
        ...

    @property
    def n_tied(self) -> float:
        """The amount of ties."""
        ...

    @property
    def weight_unit(self) -> float:
        """See :attr:`pairscore.data.comparisons.Comparisons.weight_unit`."""
        ...

    @property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        ...

    @property
    def label_sum(self) -> np.ndarray:
        """X'w = sum_m Y_m (x_left - x_right), the data's part of eq. 3 (d)."""
        ...

    @property
    def second_mask(self) -> np.ndarray:
        """Mask (N) of the items behind the covariance of `split`."""
        ...

    @property
    def n_second(self) -> int:
        """How many these are."""
        ...

    @property
    def second_moments(self) -> Moments:
        """Moments of these items."""
        ...

    @property
    def counts(self) -> PairCounts:
        """The scatter of the observed differences, by the numbers of comparisons."""
        ...


class FitData(FitSums, Protocol):
    """What an estimator asks of its data: sums, and passes over the comparisons."""

    @property
    def start(self) -> "Fit | None":
        """A fit to most of these comparisons: what is estimated in steps begins where it stands."""
        ...

    @property
    def sample(self) -> "TableData | None":
        """Some of the comparisons in memory, with the moments of all; None if all are there."""
        ...

    @property
    def has_weights(self) -> bool:
        """Whether comparisons have weights that differ, beside counts."""
        ...

    def along(self, scores: np.ndarray, shift: float = 0.0, distinct: bool = False) -> Along:
        """Comparisons along scores (N), with what left has more; ``distinct`` leaves an item
        against itself out.
        """
        ...

    def score(self, scores: np.ndarray, shift: float, link: Link) -> ScoreSums:
        """Derivatives of the log-likelihood at scores (N); an item with itself is left out."""
        ...

    def gains(self, scores: np.ndarray, shift: float) -> Gains:
        """What a step that adds scores (N) to items, and a shift to left, adds to winners."""
        ...

    def sum_pairs(self, task: Callable[[Block], Any], stage: str) -> Any:
        """The total of a task over the blocks of items; ``stage`` is what progress calls it."""
        ...

    def part(self, choice: Selection) -> "FitData":
        """Some of the comparisons, with sums of their own."""
        ...


@dataclass(frozen=True)
class ItemSums:
    """Sums per item, and over items, of all comparisons, of which some are a sample."""

    tally: Tally
    item_moments: Moments
    label_sum: np.ndarray


@dataclass(frozen=True)
class TableData:
    """The comparisons of one fit in memory, with the sums that several steps share.

    Parameters
    ----------
    comparisons : Comparisons
        M comparisons of N items with d features.
    keep_sides : bool
        Whether pairs keep apart who was on the left, for a side effect.
    has_items : bool
        False for a matrix of differences, whose rows are items compared with one at the origin.
    start : Fit, optional
        A fit to most of these comparisons, and to the first of these items: whatever is estimated
        in steps begins where it stands.
    of_all : ItemSums, optional
        Of all comparisons, where these are a sample.
    """

    comparisons: "Comparisons"
    keep_sides: bool
    has_items: bool = True
    start: "Fit | None" = None
    of_all: ItemSums | None = None

    @property
    def sample(self) -> None:
        """All comparisons are in memory."""
        return None

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        """Features of the items, N x d."""
        return self.comparisons.items.values

    @cached_property
    def table(self) -> ItemTable:
        return ItemTable(self.X)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.comparisons.items.feature_names

    @cached_property
    def amount(self) -> np.ndarray | None:
        """Weight times count of every comparison (M); None where each counts once."""
        return self.comparisons.given_amount

    @cached_property
    def weight_unit(self) -> float:
        """See :attr:`pairscore.data.comparisons.Comparisons.weight_unit`; 1 for all of a fit."""
        return self.comparisons.weight_unit

    @cached_property
    def counted(self) -> np.ndarray:
        """Mask (M) of the comparisons of two items with a positive amount."""
        return meetings(self.comparisons.left, self.comparisons.right, self.amount)

    @cached_property
    def tally(self) -> Tally:
        """Net wins w and exposures k of every item."""
        if self.of_all is not None:
            return self.of_all.tally
        data = self.comparisons
        return tally(data.left, data.right, data.outcome, self.amount, len(self.X))

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w (d)."""
        if self.of_all is not None:
            return self.of_all.label_sum
        return self.table.total(self.tally.net_wins)

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        if self.of_all is not None:
            return self.of_all.item_moments
        return self.table.moments(self.tally.exposures)

    @cached_property
    def pairs(self) -> Pairs:
        """The comparisons summed per unordered pair."""
        data = self.comparisons
        return aggregate_pairs(
            data.left, data.right, data.outcome, self.amount, len(self.X), self.keep_sides
        )

    @cached_property
    def tied(self) -> np.ndarray | None:
        """How much of each pair on each side ended in a tie (sides x P); None without ties."""
        data = self.comparisons
        is_tie = data.outcome == 0
        if not is_tie.any():
            return None
        left, right, outcome = data.left[is_tie], data.right[is_tie], data.outcome[is_tie]
        amount = some_amounts(self.amount, is_tie)
        ties = aggregate_pairs(left, right, outcome, amount, len(self.X), self.keep_sides)
        tied = np.zeros(self.pairs.win.shape)
        tied[:, np.searchsorted(self.pairs.keys, ties.keys)] = ties.win + ties.lose
        return tied

    @cached_property
    def n_tied(self) -> float:
        """The amount of ties."""
        return amount_where(self.comparisons.outcome == 0, self.amount)

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def compared(self) -> np.ndarray:
        """Mask of the items that occur in some comparison, be it with themselves (N)."""
        return self.comparisons.compared

    @cached_property
    def n_independent(self) -> int:
        """How many differences of items the comparisons have: items less groups that are connected.

        No comparison adds a difference that is not a sum of these.
        """
        n, used = len(self.X), np.flatnonzero(self.pairs.number > 0)
        ends = self.pairs.low[used], self.pairs.high[used]
        graph = sparse.coo_array((np.ones(len(used)), ends), shape=(n, n))
        return n - int(sparse.csgraph.connected_components(graph, directed=False)[0])

    @property
    def n_groups(self) -> int:
        """Into how many groups the compared items fall that never met."""
        return self.n_items - self.n_independent

    @cached_property
    def second_mask(self) -> np.ndarray:
        """Mask (N) of the items behind the covariance of `split`: those named, else of no vote."""
        rows = self.comparisons.covariance_items
        if rows is None:
            return ~self.compared
        mask = np.zeros(len(self.X), dtype=bool)
        mask[np.asarray(rows)] = True
        return mask

    @property
    def n_second(self) -> int:
        """How many items are behind the covariance of `split`."""
        return int(np.count_nonzero(self.second_mask))

    @cached_property
    def second_half(self) -> np.ndarray:
        """The items behind the covariance of `split` (n x d)."""
        rows = np.flatnonzero(self.second_mask)
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self.X[rows[0] : rows[-1] + 1]  # a view, not a copy
        return self.X[rows]

    @cached_property
    def second_moments(self) -> Moments:
        """Moments of the items behind the covariance of `split`."""
        return moments(self.second_half)

    @cached_property
    def tile(self) -> Tile:
        """All comparisons, and the items less the mean of those that were compared."""
        everything = slice(0, len(self.X))
        return Tile(
            self.pairs, self.X, self.item_moments.mean, (everything,), everything, self.tied
        )

    @cached_property
    def counts(self) -> PairCounts:
        """The scatter of the observed differences, by the numbers of comparisons."""
        return CountTask(self.X.shape[1] + self.keep_sides)(WholeBlock(self.tile))

    def differences(self, scores: np.ndarray, shift: float = 0.0) -> np.ndarray:
        """Score of left minus that of right, plus a shift, of every comparison (M)."""
        x = difference_pass(self.comparisons.left, self.comparisons.right, scores)
        return x + shift if shift else x

    @property
    def has_weights(self) -> bool:
        """Whether comparisons have weights, which are relative: 1 is no weight."""
        weight = self.comparisons.weight
        return weight is not None and bool(np.any((weight > 0) & (weight != 1)))

    def along(self, scores: np.ndarray, shift: float = 0.0, distinct: bool = False) -> Along:
        """Comparisons along scores (N), with what left has more."""
        if distinct:
            return self.part(Selection((), touched=False)).along(scores, shift)
        votes, x = self.comparisons, self.differences(scores, shift)
        return along_comparisons(
            x, votes.left, votes.right, votes.outcome, self.amount, len(scores)
        )

    def score(self, scores: np.ndarray, shift: float, link: Link) -> ScoreSums:
        """Derivatives of the log-likelihood at scores (N): of pairs, as seen from each side."""
        pairs = self.pairs
        ends = (pairs.low, pairs.high), (pairs.high, pairs.low)
        total = ScoreSums(np.zeros(len(scores)), 0.0)
        sides = zip(ends, (pairs.win, pairs.lose), (pairs.lose, pairs.win), strict=True)
        for side, (on_sides, win, lose) in enumerate(list(sides)[: len(pairs.side)]):
            total = total + ScoreSums(
                *score_pass(*on_sides, win[side], lose[side], scores, shift, link)
            )
        return total

    def gains(self, scores: np.ndarray, shift: float) -> Gains:
        """What a step that adds scores (N) to items, and a shift to left, adds to winners."""
        step = self.differences(scores, shift)
        return Gains.of_comparisons(step, self.comparisons.outcome, self.counted)

    def sum_pairs(self, task: Callable[[Block], Any], stage: str) -> Any:
        """The task, called with all pairs."""
        return task(WholeBlock(self.tile))

    def part(self, choice: Selection) -> "TableData":
        """Some of the comparisons."""
        votes = self.comparisons
        rows = choice.mask(votes.left, votes.right, self.amount)
        return replace(self, comparisons=votes[rows], of_all=None)


def along_comparisons(
    x: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    n_items: int,
) -> Along:
    """Comparisons (M) with differences x of scores of N items."""
    counted = meetings(left, right, amount)
    return Along(
        differences=Differences.of_comparisons(x, outcome, amount),
        net=net_pass(left, right, times_amount(x, amount), n_items),
        wins=Range.of(x[counted & (outcome > 0)]),
        losses=Range.of(x[counted & (outcome < 0)]),
        tied=amount_where((outcome == 0) & counted, amount),
    )


def size_of_information(n_comparisons: float, link: Link) -> float:
    """Of the two sums whose difference is the information of comparisons, at most.

    In units of the features' standard deviations: each comparison has two items, and tells at most
    as much as a coin toss, 4 f'(0)^2.
    """
    return 8 * n_comparisons * float(link.pdf(0.0)) ** 2


def leverage_whitener(data: FitSums, settings: Settings) -> np.ndarray:
    """W (d x r) with W' (X~'KX~ + ridge) W = I, X~ the centred items and K their exposures.

    It tells how far an item can pull the fit towards itself, which a ridge holds back.
    """
    center = data.item_moments
    ridge = ridge_penalty(settings.ridge, center.sd, float(settings.link.pdf(0.0)))
    return whitening_basis(center.scatter + np.diag(ridge), center.sd).transform


def jackknife_of_items(
    data: FitData, settings: Settings, total: FitSums | None = None
) -> np.ndarray:
    """1 / (1 - leverage) of every item (N), by :meth:`ItemTable.jackknife`.

    ``total`` has the sums of all items, where these are some of them only.
    """
    every = data if total is None else total
    whitener = leverage_whitener(every, settings)
    return data.table.jackknife(
        whitener, data.tally.exposures, every.item_moments, of_all=total is None
    )


def parameter_units(data: FitSums) -> np.ndarray:
    """Standard deviations of the features, and 1 for the side effect: (d) or (d + 1)."""
    return np.append(data.item_moments.sd, [1.0] * data.keep_sides)


def memory_of(data: FitData) -> TableData:
    """The comparisons that are in memory: a sample, or all of them."""
    if data.sample is not None:
        return data.sample
    assert isinstance(data, TableData)
    return data
