"""Passes over comparisons: the first, which counts, and those at given scores.

    TallyTask   wins and exposures of each item, a sample, and the comparisons in tiles if asked
    AlongTask   differences along scores, with who won
    ScoreTask   derivatives of the log-likelihood at scores
    GainTask    what a step in the scores adds to winners

Each is a task for an engine: called with a :class:`NumberedPart`, it returns sums. Differences of
features are never formed; of the items, only vectors with one number each are needed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pairscore.core.amounts import (
    amount_where,
    amounts_of_rows,
    meetings,
    some_amounts,
    times_amount,
    total_of,
)
from pairscore.core.differences import DifferenceSums
from pairscore.core.links import Link
from pairscore.core.pair_graph import Tally
from pairscore.core.passes import BLOCK, add_net, add_scores, difference_pass, tally_pass
from pairscore.core.sums import Range, Sums
from pairscore.errors import PairscoreError
from pairscore.estimators.fit_data import Along, Gains, ScoreSums
from pairscore.estimators.settings import Settings
from pairscore.files.partitions import Partition
from pairscore.streaming.rows import Batch, Layout
from pairscore.streaming.spill import Spill

AT_ONCE = 1 << 17  # rows of a batch, beside which the bins of a distribution are few
FEW = 1 << 14  # rows that nearly always show that wins and losses overlap


class NumberedPart(NamedTuple):
    """A partition and its place among all."""

    number: int
    source: Partition

    @property
    def n_bytes(self) -> int:
        return self.source.n_bytes


class Rows(Protocol):
    """Whatever gives the comparisons of a part: a source's reader, or the tiles on disk."""

    def batches(self, part: Any) -> Iterator[Batch]: ...


class Reader(Protocol):
    """Reads the comparisons of a partition, or some of them."""

    @property
    def layout(self) -> Layout: ...

    @property
    def drop_ties(self) -> bool: ...

    @property
    def self_pairs(self) -> str: ...

    def batches(self, part: Partition) -> Iterator[Batch]:
        """The comparisons of the fit."""
        ...

    def all_batches(self, part: Partition) -> Iterator[Batch]:
        """With ties that the fit leaves out."""
        ...


@dataclass(frozen=True)
class SourceRows:
    """The comparisons as they stand in the source."""

    reader: Reader

    def batches(self, part: NumberedPart) -> Iterator[Batch]:
        return self.reader.batches(part.source)


def refuse_settings(settings: Settings) -> None:
    """What takes more than sums over comparisons."""
    if settings.by_comparison or settings.side_by_judge:
        raise PairscoreError(
            "judges, context and ties as a parameter need all comparisons at once; fit without"
            " streaming, perhaps to a sample of the comparisons."
        )
    if settings.item_effects or settings.choose_item_effects:
        raise PairscoreError(
            "item_effects need all comparisons at once; fit without streaming, or without them."
        )
    if settings.choose_l2:
        raise PairscoreError(
            "a ridge that is chosen from the data needs many fits; choose it with a sample of the"
            " comparisons, and give it as a number."
        )


@dataclass(frozen=True)
class Sample:
    """Every so many rows of the comparisons, in order: left, right, outcome, amount."""

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray

    def __add__(self, other: "Sample") -> "Sample":
        return Sample(
            *(
                np.concatenate(both)
                for both in zip(vars(self).values(), vars(other).values(), strict=True)
            )
        )

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: np.ndarray) -> "Sample":
        return Sample(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class FirstSums(Sums):
    """What one pass over the comparisons counts.

    Attributes
    ----------
    tally : Tally
        Net wins and exposures of each item.
    number : float
        How many comparisons have a positive amount: their counts.
    weighted : float
        Sum of amount times weight.
    tied, given : float
        Amount of ties, and of all comparisons, those that are left out too.
    n_given : float
        How many of all comparisons have a positive amount: their counts.
    left_won, right_won : float
        How many of the comparisons of two items with a positive amount each side won.
    n_rows : float
        How many rows there are, whatever they count.
    counted : array (2 x N)
        How often each item won, less how often it lost, and how often it was compared, with what is
        left out, whatever the weights; 2 x 0 where the tally says so already.
    weights : Range
        Of the positive weights.
    seen, dropped : masks (N)
        Items in some comparison that counts, and in one that is left out.
    sample : Sample
    """

    tally: Tally
    number: float
    weighted: float
    tied: float
    given: float
    n_given: float
    left_won: float
    right_won: float
    n_rows: float
    counted: np.ndarray
    weights: Range
    seen: np.ndarray
    dropped: np.ndarray
    sample: Sample

    @property
    def won_and_lost(self) -> np.ndarray:
        """How often each item won, and lost, a tie being half of both: 2 x N."""
        counted = self.counted
        if not counted.size:
            counted = np.stack([self.tally.net_wins, self.tally.exposures])
        return 0.5 * (counted[1] + np.array([[1.0], [-1.0]]) * counted[0])

    @property
    def weight_unit(self) -> float:
        """See :attr:`pairscore.data.comparisons.Comparisons.weight_unit`."""
        return self.weighted / self.tally.n_comparisons if self.tally.n_comparisons else 1.0


@dataclass(frozen=True)
class TallyTask:
    """Counts the comparisons of a part.

    Parameters
    ----------
    reader : Reader
    n_items : int
    stride : int
        Every so many rows one is in the sample.
    spill : Spill or None
        Where to write the comparisons in tiles.
    """

    reader: Reader
    n_items: int
    stride: int
    spill: Spill | None = None

    def __call__(self, part: NumberedPart) -> FirstSums:
        # those of an item side by side, and small, because items come in any order
        net, exposures = np.zeros((self.n_items, 2), dtype=self._kind(part)).T
        tied = given = n_given = total = weighted = number = 0.0
        weights, samples, n_rows = Range(), list[Batch](), 0
        won = np.zeros(2)
        is_apart = self.reader.drop_ties or "weight" in self.reader.layout.columns
        counted = np.zeros((2, self.n_items if is_apart else 0))
        odd, dropped = np.zeros((2, self.n_items), dtype=bool)
        starts = []
        for chunk, batch in enumerate(self.reader.all_batches(part.source)):
            is_tie = batch.outcome == 0
            has_ties = is_tie.any()
            tied += amount_where(is_tie, batch.amount)
            given += total_of(batch.amount, len(is_tie))
            n_given += _number(batch)
            if is_apart:
                tally_pass(*batch[:3], _times(batch), self.n_items, (counted[0], counted[1]))
            if self.reader.drop_ties and has_ties:
                dropped[batch.left[is_tie]] = dropped[batch.right[is_tie]] = True
                batch = batch.take(~is_tie)
            tally_pass(*batch[:4], self.n_items, (net, exposures))
            won += _wins_of_sides(batch)
            total += total_of(batch.amount, len(batch.left))
            weighted += _weighted(batch)
            number += _number(batch)
            if batch.weight is not None:
                weights += Range.of(batch.weight[batch.weight > 0])
            if not batch.is_plain or self.reader.self_pairs == "keep":
                strange = ~meetings(batch.left, batch.right, batch.amount)
                odd[batch.left[strange]] = odd[batch.right[strange]] = True
            samples.append(batch.take(slice(-n_rows % self.stride, None, self.stride)))
            n_rows += len(batch.left)
            if self.spill is not None:
                starts.append(self.spill.write(part.number, chunk, batch))
        if self.spill is not None:
            self.spill.close(part.number, starts)
        net, exposures = net.astype(float), exposures.astype(float)  # each in one piece
        return FirstSums(
            Tally(net, exposures, total),
            number=number,
            weighted=weighted,
            tied=tied,
            given=given,
            n_given=n_given,
            left_won=float(won[0]),
            right_won=float(won[1]),
            n_rows=float(n_rows),
            counted=counted,
            weights=weights,
            seen=(exposures > 0) | odd,
            dropped=dropped,
            sample=_sample(samples),
        )

    def _kind(self, part: NumberedPart) -> Any:
        """Of the sums: whole numbers where every comparison counts once."""
        is_plain = not {"weight", "count"} & set(self.reader.layout.columns)
        is_counted = getattr(part.source, "kind", "parquet") == "parquet"  # rows of text are not
        return np.int32 if is_plain and is_counted and part.source.n_rows < 2**30 else np.float64


def _weighted(batch: Batch) -> float:
    with np.errstate(over="ignore"):  # is refused later
        values = batch.amount if batch.weight is None else times_amount(batch.weight, batch.amount)
        return total_of(values, len(batch.left))


def _wins_of_sides(batch: Batch) -> tuple[float, float]:
    """How many comparisons of two items, of a positive amount, left won, and right."""
    if batch.is_plain and not np.any(batch.left == batch.right):
        return float(np.count_nonzero(batch.outcome > 0)), float(
            np.count_nonzero(batch.outcome < 0)
        )
    number = _times(batch)
    return float(number[batch.outcome > 0].sum()), float(number[batch.outcome < 0].sum())


def _times(batch: Batch) -> np.ndarray:
    """How often two items met in each row (M), if it counts at all."""
    times = amounts_of_rows(batch.times, len(batch.left))
    return np.where(meetings(batch.left, batch.right, batch.amount), times, 0.0)


def _number(batch: Batch) -> float:
    """How many comparisons the rows of a positive amount stand for."""
    if batch.amount is None:
        return float(len(batch.left))
    return amount_where(batch.amount > 0, batch.times)


def _sample(batches: list[Batch]) -> Sample:
    """The rows of several batches, in as little memory as they take."""

    def joined(columns: Iterable[np.ndarray], kind: type) -> np.ndarray:
        return np.concatenate([np.empty(0, kind), *columns]).astype(kind)

    return Sample(
        left=joined((batch.left for batch in batches), np.int64),
        right=joined((batch.right for batch in batches), np.int64),
        outcome=joined((batch.outcome for batch in batches), np.int8),
        amount=joined((amounts_of_rows(b.amount, len(b.left)) for b in batches), np.float64),
    )


@dataclass(frozen=True)
class AlongSums(Sums):
    """Comparisons along a score: see :class:`pairscore.estimators.fit_data.Along`."""

    distribution: DifferenceSums
    net: np.ndarray
    wins: Range
    losses: Range
    tied: float

    def along(self) -> Along:
        """The same, with points of the distribution in the place of comparisons."""
        return Along(self.distribution.points(), self.net, self.wins, self.losses, self.tied)


@dataclass(frozen=True)
class AlongTask:
    """Comparisons along ``scores`` (N), plus a ``shift`` for left; none differs by more than
    ``largest``. ``distinct`` leaves an item against itself out.
    """

    rows: Rows
    scores: np.ndarray
    shift: float
    largest: float
    distinct: bool = False

    def __call__(self, part: NumberedPart) -> AlongSums:
        distribution = DifferenceSums.zero()
        net, tied = np.zeros(len(self.scores)), 0.0
        wins, losses = Range(), Range()
        for batch in small_batches(self.rows, part, AT_ONCE):
            left, right, outcome, amount = batch[:4]
            x = difference_pass(left, right, self.scores)
            x += self.shift
            add_net(left, right, times_amount(x, amount), net)
            if self.distinct:
                amount = times_amount((left != right).astype(float), amount)
            distribution.add(x, outcome, amount, self.largest)
            tied += amount_where((outcome == 0) & (left != right), amount)
            for rows in (slice(FEW), slice(FEW, None)):
                if not wins.low < 0 < losses.high:  # else more of them change nothing
                    counted = meetings(left[rows], right[rows], some_amounts(amount, rows))
                    wins += Range.of(x[rows][counted & (outcome[rows] > 0)])
                    losses += Range.of(x[rows][counted & (outcome[rows] < 0)])
        return AlongSums(distribution, net, wins, losses, tied)


@dataclass(frozen=True)
class ScoreTask:
    """Derivatives of the log-likelihood at ``scores`` (N) and a ``shift`` for left."""

    rows: Rows
    link: Link
    scores: np.ndarray
    shift: float

    def __call__(self, part: NumberedPart) -> ScoreSums:
        net, side = np.zeros(len(self.scores)), 0.0
        for batch in small_batches(self.rows, part, BLOCK):
            left, right, outcome, amount = batch[:4]
            same = left == right
            if same.any():
                amount = times_amount((~same).astype(float), amount)
            win = times_amount(0.5 + 0.5 * outcome, amount)
            lose = times_amount(0.5 - 0.5 * outcome, amount)
            side += add_scores(left, right, win, lose, self.scores, self.shift, self.link, net)
        return ScoreSums(net, side)


@dataclass(frozen=True)
class GainTask:
    """Gains of a step that adds ``scores`` (N) to items and a ``shift`` to left."""

    rows: Rows
    scores: np.ndarray
    shift: float

    def __call__(self, part: NumberedPart) -> Gains:
        gains = Gains(Range(), Range())
        for batch in self.rows.batches(part):
            counted = meetings(batch.left, batch.right, batch.amount)
            step = difference_pass(batch.left, batch.right, self.scores) + self.shift
            gains += Gains.of_comparisons(step, batch.outcome, counted)
        return gains


def small_batches(rows: Rows, part: NumberedPart, size: int) -> Iterator[Batch]:
    """The comparisons of a part, a few at a time."""
    for whole in rows.batches(part):
        for first in range(0, len(whole.left), size):
            yield whole.take(slice(first, first + size))
