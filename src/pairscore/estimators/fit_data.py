"""The data of a fit: what every estimator asks of its comparisons and items, as sums.

Estimators are written once, on :class:`FitData`. It knows its items (a table that sums over its
rows) and what sums say of both (:class:`FitSums`, all that several sites together know), and it
sums over its comparisons, in three ways:

    along       differences along a score: for scales, agreement and separation
    score       the derivative of the log-likelihood in the items' scores
    sum_pairs   a task over blocks of pairs, for whatever takes all comparisons of a pair together

A table in memory (:class:`pairscore.estimators.table_data.TableData`) is one block, which is kept.
A stream (:class:`pairscore.streaming.stream_data.StreamData`) is many blocks, read when they are
needed, and a sample of the comparisons to start from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pairscore.core.amounts import amount_where, meetings, times_amount
from pairscore.core.differences import Differences
from pairscore.core.links import Link
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import (
    Tally,
)
from pairscore.core.passes import difference_pass, net_pass
from pairscore.core.sums import Range, Sums
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.tile import Block, PairCounts

if TYPE_CHECKING:
    from pairscore.estimators.table_data import TableData
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


def parameter_units(data: FitSums) -> np.ndarray:
    """Standard deviations of the features, and 1 for the side effect: (d) or (d + 1)."""
    return np.append(data.item_moments.sd, [1.0] * data.keep_sides)
