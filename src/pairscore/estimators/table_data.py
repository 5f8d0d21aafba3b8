"""Comparisons of items in memory, with the sums that steps of a fit share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pairscore.core.amounts import amount_where, meetings, some_amounts
from pairscore.core.links import Link
from pairscore.core.moments import Moments, moments
from pairscore.core.pair_graph import (
    Pairs,
    Tally,
    aggregate_pairs,
    tally,
)
from pairscore.core.passes import difference_pass, score_pass
from pairscore.estimators.fit_data import (
    Along,
    FitData,
    Gains,
    ScoreSums,
    Selection,
    along_comparisons,
)
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.tile import Block, CountTask, PairCounts, Tile, WholeBlock

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.model.fit import Fit


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
        from scipy.sparse.csgraph import connected_components

        n, used = len(self.X), np.flatnonzero(self.pairs.number > 0)
        ends = self.pairs.low[used], self.pairs.high[used]
        graph = sparse.coo_array((np.ones(len(used)), ends), shape=(n, n))
        return n - int(connected_components(graph, directed=False)[0])

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


def memory_of(data: FitData) -> TableData:
    """The comparisons that are in memory: a sample, or all of them."""
    if data.sample is not None:
        return data.sample
    assert isinstance(data, TableData)
    return data
