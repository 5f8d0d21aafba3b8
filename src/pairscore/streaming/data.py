"""What a fit in parts works on: the item table, the first sums, and passes by an engine."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pairscore.core.links import Link
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import Tally
from pairscore.data.comparisons import Comparisons
from pairscore.data.find_ids import found_words
from pairscore.data.items import Items
from pairscore.data.tables import ID_COLUMN
from pairscore.data.vote_columns import NAMED_ROLES
from pairscore.data.votes import Votes
from pairscore.errors import ColumnFoundWarning, PairscoreError, warn_caller
from pairscore.estimators.fit_data import (
    Along,
    Block,
    CountTask,
    Gains,
    ItemSums,
    PairCounts,
    ScoreSums,
    Selection,
    TableData,
)
from pairscore.estimators.settings import Settings
from pairscore.files.partitions import PARTITION_ROWS, FilePartition, Partition, partitions
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.engines import Engine, LocalEngine
from pairscore.streaming.item_files import read_item_table, share_items
from pairscore.streaming.item_rows import find_item_ids, item_parts
from pairscore.streaming.passes import (
    AlongSums,
    AlongTask,
    FirstSums,
    GainTask,
    NumberedPart,
    Reader,
    Rows,
    ScoreTask,
    SourceRows,
    TallyTask,
)
from pairscore.streaming.progress import Progress, Watch
from pairscore.streaming.rows import Batch, Layout, RowReader, ids_only, mask_of
from pairscore.streaming.scratch import shared_folder, stored
from pairscore.streaming.shared_items import SharedItems
from pairscore.streaming.spill import TILE_FORMAT, Grid, Spill, spill_of_rows
from pairscore.streaming.tiles import BlockTask, Tiles

SAMPLE = 1_000_000  # comparisons, about, from which passes start
LEAST_SAMPLE = 20_000  # of them, however small the memory
BYTES_OF_PAIR = 160  # of a comparison while its tile is in memory
OF_ITEMS = ("id", "features", "exclude")
TILES_AT_ONCE = 4  # in memory, whatever the number of workers
PARTS_AT_ONCE, ON_A_CLUSTER = 8, 256  # between two looks at the checkpoint


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
    reader : RowReader
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
        rows, items, tally = self.first.sample, self.items, self.tally
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
        blocks, engine = range(self.tiles.n_blocks), self.engine
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
        first, stride = self.first, 0
        while (more := 1 + max(int(first.n_rows) - 1, 0) // size) != stride:  # they may be few
            first = self.run("Separation", TallyTask(reader, len(self.items), more))
            stride = more
        selections = (*self.selections, choice)
        return replace(
            self, first=first, rows=SourceRows(reader), reader=reader, selections=selections
        )


@dataclass(frozen=True)
class ChosenRows:
    """The chosen comparisons of a source (:class:`pairscore.streaming.rows.RowReader`)."""

    reader: Reader
    choice: Selection
    drop_ties: ClassVar[bool] = False  # they are left out already, if so asked
    self_pairs: ClassVar[str] = "error"

    @property
    def layout(self) -> Layout:
        return self.reader.layout

    def batches(self, part: Partition) -> Iterator[Batch]:
        for batch in self.reader.batches(part):
            yield batch.take(self.choice.mask(batch.left, batch.right, batch.amount))

    all_batches = batches


def some_rows(n_items: int) -> np.ndarray:
    """Up to 256 rows of the item table, by which it is known again."""
    return np.arange(0, n_items, 1 + n_items // 256)


def fingerprint(data: StreamData) -> str:
    """A hash of the sums of every item, and of up to 256 rows of the item table."""
    digest = hashlib.sha256(repr((data.X.shape, data.items.feature_names)).encode())
    digest.update(np.ascontiguousarray(data.table.take(some_rows(len(data.X)))).tobytes())
    for column in (data.tally.net_wins, data.tally.exposures):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:32]


# -- the first pass ----------------------------------------------------------------------------


@dataclass(frozen=True)
class StreamSource:
    """The data that a fit was given; see :func:`pairscore.streaming.fit.fit_stream`."""

    items: Any
    comparisons: Any
    self_pairs: str
    covariance_items: Any
    columns: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What was asked for, until the first pass is done."""

    source: StreamSource
    settings: Settings
    memory: float
    engine: Engine
    progress: Callable[[Progress], None] | None
    checkpoint: Any
    scratch: str | None = None

    def prepare(self, stack: ExitStack) -> StreamData:
        """Read the items, and go through the comparisons once."""
        folder = stack.enter_context(shared_folder(self.scratch))
        columns = self.source.columns
        of_items = {name: columns[name] for name in OF_ITEMS if name in columns}
        of_votes = {name: of for name, of in columns.items() if name not in OF_ITEMS}
        if unknown := [name for name in of_votes if name not in NAMED_ROLES]:
            raise PairscoreError(
                f"there is no setting {unknown[0]!r}; columns can be named by"
                f" {', '.join((*OF_ITEMS, *NAMED_ROLES))}."
            )
        votes = stored(self.source.comparisons, folder, "comparisons")
        sources = partitions(votes, PARTITION_ROWS, anywhere=not self.engine.is_local)
        if not sources:
            raise PairscoreError("there are no comparisons; give at least one row of votes.")
        parts = [NumberedPart(number, source) for number, source in enumerate(sources)]
        layout = Layout.of_names(sources[0].column_names(), of_votes)
        if self.settings.side_effect and not layout.has_sides:
            raise PairscoreError(
                "side_effect=True needs votes that say who was left and right; these only say"
                " winner and loser."
            )
        items = self._read_items(of_items, folder, sources, layout)
        drop = self.settings.ties == "drop"
        reader = RowReader(ids_only(items), layout, self.source.self_pairs, drop)
        tiles = Tiling(self, items, parts, reader, folder)
        first = tiles.first_pass()
        return StreamData(
            items=items,
            first=first,
            parts=parts,
            rows=tiles.rows,
            spill=tiles.written,
            engine=self.engine,
            keep_sides=self.settings.side_effect,
            progress=self.progress,
            covariance_items=mask_of(self.source.covariance_items, len(items)),
            reader=reader,
        )

    def _read_items(
        self, settings: dict[str, Any], folder: str, votes: Sequence[Partition], layout: Layout
    ) -> Items:
        source = stored(self.source.items, folder, "items")
        if (id := find_item_ids(source, votes, layout, settings)) is not None:
            warn_caller(f"{found_words(id)}; id={id!r} says so.", ColumnFoundWarning)
            settings = {**settings, "id": id}
        elif self._known_by_row(source, settings):
            text = "the items have no column 'id': they are known by row number, from 0 on."
            warn_caller(text, ColumnFoundWarning)
        if not self.engine.is_local:
            return share_items(source, settings, folder, self.engine)
        return read_item_table(source, settings, 0.6 * self.memory, folder)

    def _known_by_row(self, source: Any, settings: dict[str, Any]) -> bool:
        """Whether a file of items has no ids."""
        parts = item_parts(source)
        if settings.get("id") or not parts:
            return False
        return ID_COLUMN not in parts[0].column_names()


@dataclass(frozen=True)
class Tiling:
    """The first pass, and where comparisons are written in tiles, at once or when first needed."""

    job: Job
    items: Items
    parts: list[NumberedPart]
    reader: RowReader
    folder: str

    @property
    def at_once(self) -> bool:
        """Whether the first pass writes tiles."""
        settings = self.job.settings
        return settings.inference is not None or settings.side_effect or settings.method == "paired"

    @cached_property
    def written_rows(self) -> Spill | None:
        """What the first pass writes: tiles, or rows that a likelihood reads faster than files."""
        if self.at_once:
            return self.spill
        is_file = all(isinstance(part.source, FilePartition) for part in self.parts)
        if self.job.settings.method != "mle" or not (self.job.engine.is_local and is_file):
            return None
        size, n_done = (len(self.items), self.n_rows), self.resumed[1]
        return spill_of_rows(self.spill_folder, *size, n_done, self.checkpoint is not None)

    @property
    def rows(self) -> Rows:
        """Where later passes read, after the first one."""
        rows = self.written_rows
        return rows if rows is not None and rows.has(len(self.parts)) else SourceRows(self.reader)

    @cached_property
    def spill_folder(self) -> str:
        """With a checkpoint one that stays, so that a fit can go on."""
        if self.checkpoint is None:
            return self.folder
        _ = self.resumed  # read before, so that a checkpoint that is refused makes no folder
        return self.checkpoint.make_folder()

    @cached_property
    def n_rows(self) -> int:
        return sum(part.source.n_rows for part in self.parts)

    @property
    def stride(self) -> int:
        """Every so many comparisons one is in the sample, whose items fit into memory."""
        size: float = SAMPLE
        if not self.job.engine.is_local:
            size = min(size, max(LEAST_SAMPLE, self.job.memory / (32 * self.items.values.shape[1])))
        return 1 + self.n_rows // int(size)

    @cached_property
    def spill(self) -> Spill:
        """Blocks of items so small that tiles fit into memory, with the features of two blocks."""
        n, d = self.items.values.shape
        most = self.job.memory / TILES_AT_ONCE
        by_rows = np.sqrt(2 * self.n_rows * BYTES_OF_PAIR / most)
        by_features = n * d * 8 * 4 / most
        n_blocks = int(np.clip(np.ceil(max(by_rows, by_features)), 1, n))
        is_kept = self.checkpoint is not None
        return Spill(self.spill_folder, Grid(n, -(-n // n_blocks)), is_kept=is_kept)

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        path = self.job.checkpoint
        return None if path is None else Checkpoint(Path(path).absolute(), self.digest)

    @cached_property
    def digest(self) -> str:
        """What a checkpoint must agree in: the parts, the items and how ties are read."""
        asked = [(p.source.name, p.source.n_rows, p.source.n_bytes) for p in self.parts]
        first = self.at_once, self.job.settings.method == "mle", self.stride, TILE_FORMAT
        settings = (self.job.settings.ties, self.job.source.self_pairs, *first)
        names = (self.items.values.shape, self.items.feature_names, self.reader.layout)
        digest = hashlib.sha256(repr((asked, settings, names, self.job.memory)).encode())
        table = SharedItems(self.items.values, self.job.engine)
        for column in (self.items.ids, table.take(some_rows(len(self.items)))):
            digest.update(b"-" if column is None else repr(column.tolist()).encode())
        return digest.hexdigest()

    @cached_property
    def resumed(self) -> tuple[FirstSums | None, int]:
        """What a checkpoint has."""
        if self.checkpoint is None:
            return None, 0
        return self.checkpoint.read(len(self.items), len(self.parts))

    def first_pass(self) -> FirstSums:
        """The first sums, from where a checkpoint stands; it is written after every few parts."""
        task = TallyTask(self.reader, len(self.items), self.stride, self.written_rows)
        watch, (total, n_done) = Watch("Comparisons", self.parts, self.job.progress), self.resumed
        if task.spill is not None:
            task.spill.verify(n_done)
        for part in self.parts[:n_done]:
            watch(part)
        at_once = PARTS_AT_ONCE if self.job.engine.is_local else ON_A_CLUSTER
        for first in range(n_done, len(self.parts), at_once):
            parts = self.parts[first : first + at_once]
            sums = self.job.engine.total(task, parts, watch)
            total = sums if total is None else total + sums
            if self.checkpoint is not None:
                self.checkpoint.write(total, first + len(parts))
        assert total is not None
        return total

    def written(self) -> Spill:
        """The tiles, written now if the first pass did not."""
        if not self.at_once:
            task = TallyTask(self.reader, len(self.items), self.n_rows + 1, self.spill)
            watch = Watch("Pairs", self.parts, self.job.progress)
            self.job.engine.total(task, self.parts, watch)
        return self.spill
