"""Passes over comparisons: the first, which counts, and those at given scores.

    TallyTask   wins and exposures of each item, a sample, and the comparisons in tiles if asked
    ScoreTask   derivatives of the log-likelihood at scores, and how outcomes and scores agree

Each is a task for an engine: called with a :class:`NumberedPart`, it returns sums. Differences of
features are never formed; of the items, only vectors with one number each are needed.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from pairscore.core.links import Link
from pairscore.core.pair_graph import Tally
from pairscore.core.passes import add_net, difference_pass, tally_pass
from pairscore.core.scale import RIGHT, WRONG, best_scale, expected_wrong, scale_pass
from pairscore.data.items import LARGEST_NUMBER
from pairscore.errors import PairscoreError
from pairscore.estimators.settings import Settings
from pairscore.files.archive import INTEGER, DamagedFileError, Field, faults_of, read_archive
from pairscore.files.partitions import Partition
from pairscore.files.write import atomic_write
from pairscore.streaming.engines import Range, Sums
from pairscore.streaming.rows import Batch, RowReader
from pairscore.streaming.spill import Spill

# of the first sums
NUMBERS = ("number", "weighted", "tied", "given", "n_given", "left_won", "right_won", "n_rows")


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


@dataclass(frozen=True)
class SourceRows:
    """The comparisons as they stand in the source."""

    reader: RowReader

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
    if settings.choose_l2 or isinstance(settings.shrinkage, str):
        raise PairscoreError(
            "a ridge or shrinkage that is chosen from the data needs many fits; choose it with a"
            " sample of the comparisons, and give it as a number."
        )


# -- the first pass ----------------------------------------------------------------------------


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
    reader : RowReader
    n_items : int
    stride : int
        Every so many rows one is in the sample.
    spill : Spill or None
        Where to write the comparisons in tiles.
    """

    reader: RowReader
    n_items: int
    stride: int
    spill: Spill | None = None

    def __call__(self, part: NumberedPart) -> FirstSums:
        # those of an item side by side, and small, because items come in any order
        net, exposures = np.zeros((self.n_items, 2), dtype=self._kind(part)).T
        totals, weights, samples, row = np.zeros(6), Range(), [], 0
        won = np.zeros(2)
        is_apart = self.reader.drop_ties or "weight" in self.reader.layout.columns
        counted = np.zeros((2, self.n_items if is_apart else 0))
        odd, dropped = np.zeros((2, self.n_items), dtype=bool)
        starts = []
        for chunk, batch in enumerate(self.reader.all_batches(part.source)):
            is_tie = batch.outcome == 0
            has_ties, n = is_tie.any(), float(len(is_tie))
            totals[0] += batch.amount[is_tie].sum() if has_ties else 0.0
            totals[1:3] += n if batch.is_plain else (batch.amount.sum(), _number(batch))
            if is_apart:
                tally_pass(*batch[:3], _times(batch), self.n_items, (counted[0], counted[1]))
            if self.reader.drop_ties and has_ties:
                dropped[batch.left[is_tie]] = dropped[batch.right[is_tie]] = True
                batch = batch.take(~is_tie)
            tally_pass(*batch[:4], self.n_items, (net, exposures))
            won += _wins_of_sides(batch)
            if batch.is_plain:
                totals[3:] += len(batch.left)
            else:
                totals[3:] += batch.amount.sum(), _weighted(batch), _number(batch)
            if batch.weight is not None:
                weights += Range.of(batch.weight[batch.weight > 0])
            if not batch.is_plain or self.reader.self_pairs == "keep":
                strange = (batch.amount == 0) | (batch.left == batch.right)
                odd[batch.left[strange]] = odd[batch.right[strange]] = True
            samples.append(batch.take(slice(-row % self.stride, None, self.stride)))
            row += len(batch.left)
            if self.spill is not None:
                starts.append(self.spill.write(part.number, chunk, batch))
        if self.spill is not None:
            self.spill.close(part.number, starts)
        tied, given, n_given, total, weighted, number = totals.tolist()
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
            n_rows=float(row),
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
        return float(batch.amount.sum() if batch.weight is None else batch.amount @ batch.weight)


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
    times = np.ones(len(batch.left)) if batch.times is None else batch.times
    return np.where((batch.amount > 0) & (batch.left != batch.right), times, 0.0)


def _number(batch: Batch) -> float:
    used = batch.amount > 0
    return float(np.count_nonzero(used) if batch.times is None else batch.times[used].sum())


def _sample(batches: list[Batch]) -> Sample:
    """The rows of several batches, in as little memory as they take."""
    kinds = (np.int64, np.int64, np.int8, np.float64)
    columns = [
        np.concatenate([np.empty(0, kind), *(batch[place] for batch in batches)]).astype(kind)
        for place, kind in enumerate(kinds)
    ]
    return Sample(*columns)


# -- a checkpoint ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """A file with the sums of the first parts, and a folder with their comparisons in tiles.

    ``digest`` is that of the data and of what was asked; another one is refused.
    """

    path: Path
    digest: str = ""

    @property
    def folder(self) -> Path:
        return self.path.with_name(self.path.name + ".tiles")

    def make_folder(self) -> str:
        """The folder, made if it is not there; another's of this name is refused."""
        mark = self.folder / MARK
        if self.folder.exists() and not mark.exists():
            raise PairscoreError(
                f"there is already a folder or file {str(self.folder)!r}, which no checkpoint made;"
                " give the checkpoint another name, or move that away."
            )
        try:
            self.folder.mkdir(exist_ok=True)
            mark.touch()
        except OSError as error:
            raise PairscoreError(
                f"the checkpoint could not be saved as {str(self.path)!r} ({error.strerror});"
                " choose a place that can be written to."
            ) from None
        return str(self.folder)

    def write(self, sums: FirstSums, n_done: int) -> None:
        """The sums of the first ``n_done`` parts; the file is replaced whole."""
        arrays = {
            "digest": np.array(self.digest),
            "n_done": np.array(n_done),
            "numbers": np.array([getattr(sums, name) for name in NUMBERS]),
            "weights": np.array([sums.weights.low, sums.weights.high]),
            "n_comparisons": np.array(sums.tally.n_comparisons),
            "net_wins": sums.tally.net_wins,
            "exposures": sums.tally.exposures,
            "counted": sums.counted,
            "masks": np.packbits(np.stack([sums.seen, sums.dropped]), axis=1),
            **vars(sums.sample),
        }
        with atomic_write(self.path, "the checkpoint") as path, path.open("wb") as file:
            np.savez(file, **arrays)

    def read(self, n_items: int, n_parts: int) -> tuple[FirstSums | None, int]:
        """The sums, and of how many parts they are; None and 0 where there is no file."""
        if not self.path.exists():
            return None, 0
        try:
            arrays = read_archive(self.path)
            if "digest" not in arrays:
                raise DamagedFileError("it has other entries than a checkpoint")
        except (OSError, DamagedFileError):
            raise PairscoreError(
                f"{str(self.path)!r} is not a complete checkpoint of a fit; remove it, or name"
                " another file."
            ) from None
        if str(arrays["digest"]) != self.digest:
            raise PairscoreError(
                f"{str(self.path)!r} is the checkpoint of other files or settings; remove it to"
                " begin again, or name another file."
            )
        lengths = {"N": n_items, "bytes": -(-n_items // 8), "parts + 1": n_parts + 1}
        for fault in chain(faults_of(arrays, SCHEMA, lengths), _contradictions(arrays)):
            raise PairscoreError(
                f"{str(self.path)!r} is not the checkpoint that was written: {fault}; remove it to"
                " begin again."
            )
        return _first_sums(arrays, n_items), int(arrays["n_done"])

    def remove(self) -> None:
        """Remove the file and the folder: the fit is done."""
        self.path.unlink(missing_ok=True)
        self.remove_folder()

    def remove_folder(self) -> None:
        """Remove the folder, if it is a checkpoint's."""
        if (self.folder / MARK).exists():
            shutil.rmtree(self.folder, ignore_errors=True)


MARK = ".pairscore-tiles"  # a file that is in folders of checkpoints, and in no others
# what the arrays of a checkpoint are
SCHEMA = {
    "digest": Field("", "U"),
    "n_done": Field("", INTEGER, below="parts + 1"),
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


def _contradictions(arrays: dict[str, np.ndarray]) -> Iterator[str]:
    """What single arrays do not show."""
    yield from (f"{name!r} is missing" for name in SCHEMA if name not in arrays)
    if np.any(np.abs(arrays["net_wins"]) > (1 + 1e-9) * arrays["exposures"]):
        yield "items have won more comparisons than they were in"
    if arrays["counted"].shape[1] not in (0, len(arrays["exposures"])):
        yield "comparisons are counted of other items"


def _first_sums(arrays: dict[str, np.ndarray], n_items: int) -> FirstSums:
    tally = Tally(arrays["net_wins"], arrays["exposures"], float(arrays["n_comparisons"]))
    seen, dropped = np.unpackbits(arrays["masks"], axis=1, count=n_items).astype(bool)
    sample = Sample(*(arrays[name] for name in ("left", "right", "outcome", "amount")))
    numbers = dict(zip(NUMBERS, arrays["numbers"].tolist(), strict=True))
    weights = Range(*arrays["weights"].tolist())
    return FirstSums(
        tally=tally,
        **numbers,
        counted=arrays["counted"],
        weights=weights,
        seen=seen,
        dropped=dropped,
        sample=sample,
    )


# -- passes at scores --------------------------------------------------------------------------

XX, LOGLIK, TIED = range(RIGHT + 1, RIGHT + 4)  # of the totals of a pass, after those of a scale
AT_ONCE = 1 << 15  # rows of a batch, which stay in the processor's cache
FEW = 1 << 14  # rows that nearly always show that wins and losses overlap
NO_TOTALS = np.append(np.zeros(11), [np.inf, -np.inf, np.inf, -np.inf])


@dataclass(frozen=True)
class ScoreSums(Sums):
    """Sums over comparisons with difference x of scores, e and information I at x + shift.

    Attributes
    ----------
    totals : array (11)
        Those of :func:`pairscore.core.scale.scale_pass`: sums of e x, e, I x^2, I x and I; amounts
        of decided comparisons that are expected to contradict the scores, of all that are decided,
        and of those that are predicted correctly. Then the sum of amount x^2, the log-likelihood of
        decided ones, and the amount of ties between two items.
    wins, losses : Range
        Of x where left won, and where it lost, between two items; of so many as show that they
        overlap, and that both have a part on either side of zero.
    net, squared : arrays (N), or empty where they are not asked for
        For each item the sum of e, and of amount times x, in which it is left, less the others.
    pulls : array (2 x nodes)
        Derivative in the logarithm of a scale, at several scales: of all comparisons, and of
        decided ones (:func:`pairscore.core.scale.pull_of_decided`).
    squares : array (2)
        Amount times the squared difference, and amount, where it is not zero; only with nodes.
    series : array (8), or empty
        Further derivatives in a scale of x, also from there.
    """

    totals: np.ndarray
    wins: Range
    losses: Range
    net: np.ndarray
    squared: np.ndarray
    pulls: np.ndarray
    squares: np.ndarray
    series: np.ndarray

    @property
    def _of_scale(self) -> np.ndarray:
        return np.append(self.totals[:XX], self.series)

    def best_scale(self, ridge: float) -> float | None:
        """The likeliest scale of x with a ridge on its square / 2; None if it is not near 1."""
        return best_scale(self._of_scale, 1.0, ridge)

    def at_scale(self, scale: float) -> "ScoreSums":
        """The same with what is expected to contradict the scores at a scale near 1."""
        totals = self.totals.copy()
        totals[WRONG] = expected_wrong(self._of_scale, scale - 1)
        return replace(self, totals=totals)


def overlap(totals: np.ndarray) -> bool:
    """Whether some x where left won is below zero, and below one above zero where it lost."""
    return bool(totals[11] < 0 < totals[14])


@dataclass(frozen=True)
class ScoreTask:
    """Derivatives and agreement at ``scores`` (N), and a ``shift`` for the left side.

    ``wants`` names those of ``net``, ``squared`` and ``loglik`` to collect; ``scales`` are those
    at which ties and decided comparisons are told from each other; ``distinct`` leaves an item
    against itself out. Without ``outcomes`` only derivatives are summed, with ``series`` more of
    them.
    """

    rows: Rows
    link: Link
    scores: np.ndarray
    shift: float = 0.0
    wants: tuple[str, ...] = ()
    scales: tuple[float, ...] = ()
    distinct: bool = False
    outcomes: bool = True
    series: bool = False

    def __call__(self, part: Any) -> ScoreSums:
        totals, n = NO_TOTALS.copy(), len(self.scores)
        net, squared = (np.zeros(n if name in self.wants else 0) for name in ("net", "squared"))
        pulls, squares = np.zeros((2, len(self.scales))), np.zeros(2)
        series = np.zeros(8 if self.series else 0)
        for whole in self.rows.batches(part):
            for first in range(0, len(whole.left), AT_ONCE):
                batch = whole.take(slice(first, first + AT_ONCE))
                if self.distinct and np.any(same := batch.left == batch.right):
                    batch = batch.take(~same)
                self._add_sums(batch, totals, net, squared, series)
                if self.scales:
                    self._add_pulls(batch, pulls, squares)
        wins, losses = Range(*totals[11:13].tolist()), Range(*totals[13:15].tolist())
        return ScoreSums(totals[:11], wins, losses, net, squared, pulls, squares, series)

    def _add_sums(
        self,
        batch: Batch,
        totals: np.ndarray,
        net: np.ndarray,
        squared: np.ndarray,
        series: np.ndarray,
    ) -> None:
        left, right, outcome, amount, *_ = batch
        x, params = difference_pass(left, right, self.scores), np.array([1.0, self.shift])
        into = net if len(net) else squared
        added = (left, right, into, len(net) > 0) if len(into) else None
        sums = scale_pass(x, outcome, amount, params, self.link, self.series, added)
        totals[:XX] += sums[:XX]
        series += sums[XX:]
        totals[XX] += x @ x if batch.has_ones else np.einsum("i,i,i", amount, x, x)
        if len(net) and len(squared):
            add_net(left, right, x if batch.has_ones else amount * x, squared)
        if self.outcomes:
            self._add_outcomes(batch, x, totals)

    def _add_outcomes(self, batch: Batch, x: np.ndarray, totals: np.ndarray) -> None:
        left, right, outcome, amount, *_ = batch
        is_tie = outcome == 0
        if is_tie.any():
            totals[TIED] += amount @ (is_tie & (left != right))
        if "loglik" in self.wants:
            totals[LOGLIK] += amount * ~is_tie @ self.link.log_cdf((x + self.shift) * outcome)
        for rows in (slice(FEW), slice(FEW, None)):
            if not overlap(totals):
                self._add_ranges(batch.take(rows), x[rows], totals)

    def _add_ranges(self, batch: Batch, x: np.ndarray, totals: np.ndarray) -> None:
        counted = (batch.amount > 0) & (batch.left != batch.right)
        for place, sign in ((11, 1), (13, -1)):
            of_sign = x[counted & (batch.outcome == sign)]
            reach = Range(*totals[place : place + 2]) + Range.of(of_sign)
            totals[place : place + 2] = reach.low, reach.high

    def _add_pulls(self, batch: Batch, pulls: np.ndarray, squares: np.ndarray) -> None:
        x = self.scores[batch.left] - self.scores[batch.right] + self.shift
        squares += batch.amount @ x**2, batch.amount @ (x != 0)
        share, decided = 0.5 + 0.5 * batch.outcome, batch.outcome != 0
        for node, scale in enumerate(self.scales):
            pull = batch.amount * scale * x * self.link.score(scale * x, share, 1 - share)[0]
            pulls[:, node] += pull.sum(), pull[decided].sum()
