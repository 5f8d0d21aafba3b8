"""The data of a stream: its item table, its first sums, and passes that an engine makes.

    AlongTask   differences along scores, with who won
    ScoreTask   derivatives of the log-likelihood at scores
    GainTask    what a step in the scores adds to winners

Each is a task for an engine: called with a :class:`NumberedPart`, it returns sums.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pairscore.core.amounts import (
    amount_where,
    meetings,
    some_amounts,
    times_amount,
)
from pairscore.core.differences import DifferenceSums
from pairscore.core.links import Link
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import Tally
from pairscore.core.passes import BLOCK, add_net, add_scores, difference_pass
from pairscore.core.sums import Range, Sums
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.data.votes import Votes
from pairscore.estimators.fit_data import Along, Gains, ScoreSums, Selection
from pairscore.estimators.table_data import ItemSums, TableData
from pairscore.estimators.tile import Block, CountTask, PairCounts
from pairscore.files.partitions import (
    Partition,
)
from pairscore.streaming.batches import (
    Batch,
    BatchLayout,
    NumberedPart,
    Reader,
    Rows,
    SourceRows,
    small_batches,
)
from pairscore.streaming.blocks import TILES_AT_ONCE, BlockTask, Tiles
from pairscore.streaming.engines import Engine, LocalEngine
from pairscore.streaming.first_pass import FirstSums, TallyTask
from pairscore.streaming.progress import Progress, Watch
from pairscore.streaming.shared_items import SharedItems
from pairscore.streaming.spill import Spill
from pairscore.streaming.stream_items import some_rows

AT_ONCE = 1 << 16  # rows of a batch, beside which the bins of a distribution are few
FEW = 1 << 14  # rows that nearly always show that wins and losses overlap


@dataclass(frozen=True)
class StreamData:
    """Comparisons in parts, with the sums that several steps of a fit share.

    Parameters
    ----------
    items : Items
        The item table; its features may be a file that is mapped into memory.
    first : FirstSums
        Of all comparisons.
    parts : list of NumberedPart
    rows : Rows
        What gives the comparisons of a part.
    spill : callable
        Writes the comparisons in tiles if that is not done yet, and returns where they are.
    engine, progress
    keep_sides : bool
        Whether pairs keep apart who was on the left, for a side effect.
    covariance_items : mask (N) or None
        Those behind the covariance of `split`, where they are named.
    reader : BatchReader
        The source itself, with the weights of its rows.
    center : Moments or None
        Where items are centred, if not at the mean of those that are compared here.
    selections : tuple of Selection
        Which of the comparisons these are.
    """

    items: Items
    first: FirstSums
    parts: Sequence[NumberedPart]
    rows: Rows
    spill: Callable[[], Spill]
    engine: Engine
    keep_sides: bool
    reader: Reader
    progress: Callable[[Progress], None] | None = None
    covariance_items: np.ndarray | None = None
    has_items: bool = True
    center: Moments | None = None
    selections: tuple[Selection, ...] = ()

    @property
    def start(self) -> None:
        """There is no fit to start from."""
        return None

    @property
    def X(self) -> Any:  # noqa: N802
        """Features of the items, N x d: an array, or files."""
        return self.items.values

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.items.feature_names

    @cached_property
    def table(self) -> SharedItems:
        """The item table, and what goes through it."""
        return SharedItems(self.X, self.engine)

    @property
    def tally(self) -> Tally:
        return self.first.tally

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        return self.table.moments(self.tally.exposures)

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w (d)."""
        return self.table.total(self.tally.net_wins)

    @cached_property
    def second_mask(self) -> np.ndarray:
        """Mask (N) of the items behind the covariance of `split`."""
        if self.covariance_items is not None:
            return self.covariance_items
        return ~(self.first.seen | self.first.dropped)

    @property
    def n_second(self) -> int:
        """How many these are."""
        return int(np.count_nonzero(self.second_mask))

    @cached_property
    def second_moments(self) -> Moments:
        """Moments of these items."""
        return self.table.moments(self.second_mask.astype(float))

    @property
    def weight_unit(self) -> float:
        """See :attr:`pairscore.data.comparisons.Comparisons.weight_unit`."""
        return self.first.weight_unit

    @property
    def n_tied(self) -> float:
        """Amount of ties among the comparisons of the fit."""
        return 0.0 if self.reader.drop_ties else self.first.tied

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def sample(self) -> TableData:
        """The comparisons of the sample, with the sums of all comparisons where these are known."""
        rows = self.first.sample
        items = self.items
        tally = self.tally
        left, right = rows.left, rows.right
        if not self.engine.is_local:  # the items of the sample, by numbers of their own
            seen = np.unique(np.concatenate([left, right]))
            left, right = np.searchsorted(seen, left), np.searchsorted(seen, right)
            items = Items(self.table.take(seen), items.feature_names)
            tally = Tally(tally.net_wins[seen], tally.exposures[seen], tally.n_comparisons)
        votes = Votes(left, right, rows.outcome, weight=rows.amount)
        of_all = ItemSums(tally, self.item_moments, self.label_sum)
        return TableData(Comparisons.of(items, votes), self.keep_sides, of_all=of_all)

    @property
    def has_weights(self) -> bool:
        """Whether comparisons have weights that differ."""
        weights = self.first.weights
        return not weights.is_empty and weights.low != weights.high

    # -- passes --------------------------------------------------------------------------------

    def run(self, stage: str, task: Callable[[Any], Any]) -> Any:
        """The total of a task over the parts, with progress."""
        return self.engine.total(task, self.parts, Watch(stage, self.parts, self.progress))

    def along(self, scores: np.ndarray, shift: float = 0.0, distinct: bool = False) -> Along:
        """Comparisons along scores (N), with what left has more."""
        largest = float(np.ptp(scores)) + abs(shift)
        task = AlongTask(self.rows, np.asarray(scores), shift, largest, distinct)
        sums: AlongSums = self.run("Differences", task)
        return sums.along()

    def score(self, scores: np.ndarray, shift: float, link: Link) -> ScoreSums:
        """Derivatives of the log-likelihood at scores (N); an item with itself is left out."""
        sums: ScoreSums = self.run("Likelihood", ScoreTask(self.rows, link, scores, shift))
        return sums

    def gains(self, scores: np.ndarray, shift: float) -> Gains:
        """What a step that adds scores (N) to items, and a shift to left, adds to winners."""
        gains: Gains = self.run("Separation", GainTask(self.rows, scores, shift))
        return gains

    @cached_property
    def tiles(self) -> Tiles:
        """The comparisons in tiles."""
        mean = (self.center or self.item_moments).mean
        where = self.spill(), len(self.parts), self.X, mean
        return Tiles(*where, self.keep_sides, self.n_tied > 0, self.selections)

    def sum_pairs(self, task: Callable[[Block], Any], stage: str) -> Any:
        """The total of a task over the blocks of items."""
        blocks = range(self.tiles.n_blocks)
        engine = self.engine
        if isinstance(engine, LocalEngine):
            engine = LocalEngine(min(engine.n_jobs, TILES_AT_ONCE))
        watch = Watch(stage, blocks, self.progress)
        return engine.total(BlockTask(self.tiles, task), blocks, watch)

    @cached_property
    def counts(self) -> PairCounts:
        """The scatter of the observed differences, by the numbers of comparisons."""
        task = CountTask(self.X.shape[1] + self.keep_sides)
        total: PairCounts = self.sum_pairs(task, "Pairs")
        return total

    def part(self, choice: Selection) -> "StreamData":
        """Some of the comparisons, with their own sums and a sample of their own."""
        reader = ChosenRows(self.reader, choice)
        size = max(len(self.first.sample), 1)
        first = self.first
        stride = 0
        while (more := 1 + max(int(first.n_rows) - 1, 0) // size) != stride:  # they may be few
            first = self.run("Separation", TallyTask(reader, len(self.items), more))
            stride = more
        selections = (*self.selections, choice)
        return replace(
            self, first=first, rows=SourceRows(reader), reader=reader, selections=selections
        )


@dataclass(frozen=True)
class ChosenRows:
    """The chosen comparisons of a source (:class:`pairscore.streaming.batches.BatchReader`)."""

    reader: Reader
    choice: Selection
    drop_ties: ClassVar[bool] = False  # they are left out already, if so asked
    self_pairs: ClassVar[str] = "error"

    @property
    def layout(self) -> BatchLayout:
        return self.reader.layout

    def batches(self, part: Partition) -> Iterator[Batch]:
        for batch in self.reader.batches(part):
            yield batch.take(self.choice.mask(batch.left, batch.right, batch.amount))

    all_batches = batches


def fingerprint(data: StreamData) -> str:
    """A hash of the sums of every item, and of up to 256 rows of the item table."""
    digest = hashlib.sha256(repr((data.X.shape, data.items.feature_names)).encode())
    digest.update(np.ascontiguousarray(data.table.take(some_rows(len(data.X)))).tobytes())
    for column in (data.tally.net_wins, data.tally.exposures):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:32]


# -- passes at given scores ----------------------------------------------------------------------


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
        net = np.zeros(len(self.scores))
        tied = 0.0
        wins, losses = Range(), Range()
        for batch in small_batches(self.rows, part, AT_ONCE):
            left, right, outcome, amount = batch[:4]
            x = difference_pass(left, right, self.scores)
            x += self.shift
            add_net(left, right, times_amount(x, amount), net)
            if self.distinct:
                amount = times_amount((left != right).astype(float), amount)
            distribution.add(x, outcome, amount, self.largest)
            is_tie = outcome == 0
            if is_tie.any():
                tied += amount_where(is_tie & (left != right), amount)
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
        net = np.zeros(len(self.scores))
        side = 0.0
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


# -- preparation ---------------------------------------------------------------------------------
