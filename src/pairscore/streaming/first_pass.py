"""The first pass over comparisons: it counts them, and writes them in tiles if asked.

Differences of features are never formed; of the items, only vectors with one number each are
needed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.core.amounts import (
    amount_where,
    amounts_of_rows,
    meetings,
    times_amount,
    times_met,
    total_of,
)
from pairscore.core.pair_graph import Tally
from pairscore.core.passes import add_tally
from pairscore.core.sums import Range, Sums
from pairscore.data.items import LARGEST_NUMBER, Items
from pairscore.estimators.settings import Settings
from pairscore.files.archive import INTEGER, Field, faults_of
from pairscore.files.partitions import FilePartition
from pairscore.streaming.batches import (
    Batch,
    BatchReader,
    NumberedPart,
    Reader,
    Rows,
    SourceRows,
)
from pairscore.streaming.blocks import TILES_AT_ONCE
from pairscore.streaming.checkpoint import Checkpoint
from pairscore.streaming.engines import Engine
from pairscore.streaming.progress import Progress, Watch
from pairscore.streaming.shared_items import SharedItems
from pairscore.streaming.spill import TILE_FORMAT, Grid, Spill, spill_of_rows
from pairscore.streaming.stream_items import some_rows

SAMPLE = 1_000_000  # comparisons, about, from which passes start
LEAST_SAMPLE = 20_000  # of them, however small the memory
BYTES_OF_PAIR = 160  # of a comparison while its tile is in memory
PARTS_AT_ONCE, ON_A_CLUSTER = 8, 256  # between two looks at the checkpoint


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

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Arrays by name, for a checkpoint."""
        return {
            "numbers": np.array([getattr(self, name) for name in NUMBERS]),
            "weights": np.array([self.weights.low, self.weights.high]),
            "n_comparisons": np.array(self.tally.n_comparisons),
            "net_wins": self.tally.net_wins,
            "exposures": self.tally.exposures,
            "counted": self.counted,
            "masks": np.packbits(np.stack([self.seen, self.dropped]), axis=1),
            **vars(self.sample),
        }

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], n_items: int) -> "FirstSums":
        """The sums again, of arrays without faults."""
        seen, dropped = np.unpackbits(arrays["masks"], axis=1, count=n_items).astype(bool)
        return cls(
            tally=Tally(arrays["net_wins"], arrays["exposures"], float(arrays["n_comparisons"])),
            **dict(zip(NUMBERS, arrays["numbers"].tolist(), strict=True)),
            counted=arrays["counted"],
            weights=Range(*arrays["weights"].tolist()),
            seen=seen,
            dropped=dropped,
            sample=Sample(*(arrays[name] for name in ("left", "right", "outcome", "amount"))),
        )


# what the arrays of first sums are, and which of these are numbers
NUMBERS = ("number", "weighted", "tied", "given", "n_given", "left_won", "right_won", "n_rows")
SCHEMA = {
    "numbers": Field(str(len(NUMBERS)), low=0, high=LARGEST_NUMBER),
    "weights": Field("2", nan=True),
    "n_comparisons": Field("", low=0, high=LARGEST_NUMBER),
    "net_wins": Field("N", low=-LARGEST_NUMBER, high=LARGEST_NUMBER),
    "exposures": Field("N", low=0, high=LARGEST_NUMBER),
    "counted": Field("2,counted", low=-LARGEST_NUMBER, high=LARGEST_NUMBER),
    "masks": Field("2,bytes", "u"),
    **dict.fromkeys(("left", "right"), Field("sample", INTEGER, below="N")),
    "outcome": Field("sample", INTEGER, low=-1, high=1),
    "amount": Field("sample", low=0, high=LARGEST_NUMBER),
}


def faults_of_sums(arrays: dict[str, np.ndarray], n_items: int) -> Iterator[str]:
    """What is wrong with arrays of first sums, and which are missing."""
    yield from faults_of(arrays, SCHEMA, {"N": n_items, "bytes": -(-n_items // 8)})
    yield from (f"{name!r} is missing" for name in SCHEMA if name not in arrays)
    if np.any(np.abs(arrays["net_wins"]) > (1 + 1e-9) * arrays["exposures"]):
        yield "items have won more comparisons than they were in"
    if arrays["counted"].shape[1] not in (0, len(arrays["exposures"])):
        yield "comparisons are counted of other items"


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
        sums: np.ndarray = np.zeros((self.n_items, 2), dtype=self._kind_of_sums(part))
        tied = given = n_given = total = weighted = number = 0.0
        weights = Range()
        samples = list[Batch]()
        n_rows = 0
        won = np.zeros(2)
        is_apart = self.reader.drop_ties or "weight" in self.reader.layout.columns
        counted = np.zeros((self.n_items if is_apart else 0, 2))
        odd, dropped = np.zeros((2, self.n_items), dtype=bool)
        starts = []
        for chunk, batch in enumerate(self.reader.all_batches(part.source)):
            is_tie = batch.outcome == 0
            has_ties = is_tie.any()
            tied += amount_where(is_tie, batch.amount)
            given += total_of(batch.amount, len(is_tie))
            n_given += _number(batch)
            if is_apart:
                times = times_met(batch.left, batch.right, batch.amount, batch.times)
                add_tally(batch.left, batch.right, batch.outcome, times, counted)
            if self.reader.drop_ties and has_ties:
                dropped[batch.left[is_tie]] = dropped[batch.right[is_tie]] = True
                batch = batch.take(~is_tie)
            add_tally(batch.left, batch.right, batch.outcome, batch.amount, sums)
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
        net, exposures = np.ascontiguousarray(sums.T, dtype=float)
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
            counted=np.ascontiguousarray(counted.T),
            weights=weights,
            seen=(exposures > 0) | odd,
            dropped=dropped,
            sample=_sample(samples),
        )

    def _kind_of_sums(self, part: NumberedPart) -> type:
        """Whole numbers where each comparison counts once, and how many there are is known."""
        is_plain = not {"weight", "count"} & set(self.reader.layout.columns)
        is_counted = getattr(part.source, "kind", "parquet") == "parquet"  # rows of text are not
        return np.int32 if is_plain and is_counted and part.source.n_rows < 2**31 else float


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
    number = times_met(batch.left, batch.right, batch.amount, batch.times)
    return float(number[batch.outcome > 0].sum()), float(number[batch.outcome < 0].sum())


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
class FirstPass:
    """Goes through all parts once; writes comparisons in tiles, at once or when first needed.

    Parameters
    ----------
    items : Items
    parts : list of NumberedPart
    reader : BatchReader
        Of the parts, with the ids of the items.
    settings : Settings
        Of the fit; they say what is read again.
    engine : Engine
    memory : float
        Bytes that comparisons in memory may take.
    folder : str
        Of temporary files.
    checkpoint_file : path or None
        From which the pass goes on, and to which it writes.
    progress : callable or None
    """

    items: Items
    parts: list[NumberedPart]
    reader: BatchReader
    settings: Settings
    engine: Engine
    memory: float
    folder: str
    checkpoint_file: Any
    progress: Callable[[Progress], None] | None

    @property
    def at_once(self) -> bool:
        """Whether the first pass writes tiles."""
        asks_for_intervals = self.settings.inference is not None
        return asks_for_intervals or self.settings.side_effect or self.settings.method == "paired"

    @cached_property
    def written_rows(self) -> Spill | None:
        """What the first pass writes: tiles, or rows that a likelihood reads faster than files."""
        if self.at_once:
            return self.spill
        is_file = all(isinstance(part.source, FilePartition) for part in self.parts)
        if self.settings.method != "mle" or not (self.engine.is_local and is_file):
            return None
        is_kept = self.checkpoint is not None
        n_done = self.resumed[1]
        return spill_of_rows(self.spill_folder, len(self.items), self.n_rows, n_done, is_kept)

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
        if not self.engine.is_local:
            size = min(size, max(LEAST_SAMPLE, self.memory / (32 * self.items.values.shape[1])))
        return 1 + self.n_rows // int(size)

    @cached_property
    def spill(self) -> Spill:
        """Blocks of items so small that tiles fit into memory, with the features of two blocks."""
        n, d = self.items.values.shape
        most = self.memory / TILES_AT_ONCE
        by_rows = np.sqrt(2 * self.n_rows * BYTES_OF_PAIR / most)
        by_features = n * d * 8 * 4 / most
        n_blocks = int(np.clip(np.ceil(max(by_rows, by_features)), 1, n))
        is_kept = self.checkpoint is not None
        return Spill(self.spill_folder, Grid(n, -(-n // n_blocks)), is_kept=is_kept)

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        if self.checkpoint_file is None:
            return None
        return Checkpoint(Path(self.checkpoint_file).absolute(), self.digest)

    @cached_property
    def digest(self) -> str:
        """What a checkpoint must agree in: the parts, the items and how ties are read."""
        asked = [(p.source.name, p.source.n_rows, p.source.n_bytes) for p in self.parts]
        first = self.at_once, self.settings.method == "mle", self.stride, TILE_FORMAT
        settings = (self.settings.ties, self.reader.self_pairs, *first)
        names = (self.items.values.shape, self.items.feature_names, self.reader.layout)
        digest = hashlib.sha256(repr((asked, settings, names, self.memory)).encode())
        table = SharedItems(self.items.values, self.engine)
        for column in (self.items.ids, table.take(some_rows(len(self.items)))):
            digest.update(b"-" if column is None else repr(column.tolist()).encode())
        return digest.hexdigest()

    @cached_property
    def resumed(self) -> tuple[FirstSums | None, int]:
        """What a checkpoint has."""
        if self.checkpoint is None:
            return None, 0
        faults = partial(faults_of_sums, n_items=len(self.items))
        arrays, n_done = self.checkpoint.read(len(self.parts), faults)
        return None if arrays is None else FirstSums.of_arrays(arrays, len(self.items)), n_done

    def sums(self) -> FirstSums:
        """The first sums, from where a checkpoint stands; it is written after every few parts."""
        task = TallyTask(self.reader, len(self.items), self.stride, self.written_rows)
        watch = Watch("Comparisons", self.parts, self.progress)
        total, n_done = self.resumed
        if task.spill is not None:
            task.spill.verify(n_done)
        for part in self.parts[:n_done]:
            watch(part)
        at_once = PARTS_AT_ONCE if self.engine.is_local else ON_A_CLUSTER
        for first in range(n_done, len(self.parts), at_once):
            parts = self.parts[first : first + at_once]
            sums = self.engine.total(task, parts, watch)
            total = sums if total is None else total + sums
            if self.checkpoint is not None:
                self.checkpoint.write(total.to_arrays(), first + len(parts))
        assert total is not None
        return total

    def written(self) -> Spill:
        """The tiles, written now if the first pass did not."""
        if not self.at_once:
            task = TallyTask(self.reader, len(self.items), self.n_rows + 1, self.spill)
            watch = Watch("Pairs", self.parts, self.progress)
            self.engine.total(task, self.parts, watch)
        return self.spill
