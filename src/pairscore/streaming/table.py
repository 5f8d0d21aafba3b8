"""The item table of a fit in parts: sums over its rows, here or on workers; some comparisons.

On this machine the table is an array, perhaps a file that is mapped into memory, and a sum over it
is one call. Elsewhere it is in files (:class:`pairscore.streaming.spill.FeatureFiles`): workers
read some rows each, and this process receives vectors with a number for each item, sums of size d x d,
and the rows that it asks for.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pairscore.core.moments import Moments, feature_range, moments
from pairscore.core.sandwich import other_rows, own_column_mask, usual_values
from pairscore.data.items import Items
from pairscore.estimators.checks import refuse_lost_digits
from pairscore.estimators.closed_form import covariance_error_sums
from pairscore.estimators.pairing import fourth_power
from pairscore.estimators.results import Fit
from pairscore.files.partitions import Partition
from pairscore.model.open_directions import ComparedItems, ComparedRows, OpenPart
from pairscore.model.predict import fitted_scores, linear_scores
from pairscore.streaming.engines import Engine, Range, Sums
from pairscore.streaming.passes import Rows as RowSource
from pairscore.streaming.rows import Batch, Layout, RowReader
from pairscore.streaming.spill import FeatureFiles, Grid, Spill

BLOCK_BYTES = 1 << 25  # of the table in one task
ROWS_AT_ONCE = 1 << 14  # whose lengths are found
ALONE = 1e-9  # share of a sum of squares that other items may have by rounding


@dataclass(frozen=True)
class RowTask:
    """Calls a task with some rows of the table, and with the entries of vectors for these."""

    X: FeatureFiles
    task: Callable[..., Any]
    vectors: tuple[np.ndarray, ...]

    def __call__(self, rows: slice) -> Any:
        return self.task(self.X[rows], *(vector[rows] for vector in self.vectors))


@dataclass(frozen=True)
class ItemTable:
    """Features X (N x d) of the items, and the engine that goes through them."""

    X: np.ndarray | FeatureFiles
    engine: Engine

    def over(self, task: Callable[..., Any], *vectors: np.ndarray) -> Any:
        """task(X, vectors...), or the total of that over blocks of rows."""
        if isinstance(self.X, np.ndarray):
            return task(self.X, *vectors)
        n, d = self.X.shape
        size = max(BLOCK_BYTES // (8 * max(d, 1)), 1)
        blocks = [slice(first, min(first + size, n)) for first in range(0, n, size)]
        return self.engine.total(RowTask(self.X, task, vectors), blocks)

    def times(self, coef: np.ndarray) -> np.ndarray:
        """X b (N)."""
        found: Rows = self.over(partial(_times, coef=coef))
        return found.values

    def total(self, vector: np.ndarray) -> np.ndarray:
        """X'v (d) of a vector v (N)."""
        found: np.ndarray = self.over(_sum, vector)
        return found

    def moments(self, weight: np.ndarray) -> Moments:
        """Moments of the items, each with its weight (N)."""
        found: Moments = self.over(_moments, weight)
        return found

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some rows (n x d), by their numbers."""
        if isinstance(self.X, np.ndarray):
            return self.X[rows]
        wanted = np.zeros(len(self.X), dtype=bool)
        wanted[rows] = True
        found: Rows = self.over(_chosen, wanted)
        return found.values[np.searchsorted(np.flatnonzero(wanted), rows)]

    def lengths(self, mean: np.ndarray, whitener: np.ndarray) -> np.ndarray:
        """|W'(x - mean)|^2 of every item (N)."""
        found: Rows = self.over(partial(_lengths, mean=mean, whitener=whitener))
        return found.values

    def own_columns(self, exposures: np.ndarray, center: Moments | None = None) -> np.ndarray:
        """See :func:`pairscore.core.sandwich.has_own_column`.

        ``center`` has the moments of all compared items where these are some of them only. An item
        is alone in its column if it makes up all of the squared distances from the usual value.
        """
        usual = usual_values(self.take(np.flatnonzero(exposures > 0)[:3]))
        n = len(exposures)
        others = self.over(partial(other_rows, usual=usual), exposures, np.arange(n))
        if center is not None:
            columns = np.flatnonzero(others[0] == 1)
            items = others[1, columns].astype(np.intp)
            apart = self.take(items)[np.arange(len(items)), columns] - usual[columns]
            squares = np.diag(center.scatter) + center.total * (center.mean - usual) ** 2
            some = squares[columns] > exposures[items] * apart**2 * (1 + ALONE)
            others[0, columns[some]] = 2
        return own_column_mask(others, n)

    def fourth(self, mean: np.ndarray, whitener: np.ndarray, weight: np.ndarray) -> float:
        """The sum of weight |W'(x - mean)|^4."""
        return float(self.over(partial(fourth_power, mean=mean, whitener=whitener), weight))

    def error_sums(
        self, mask: np.ndarray, center: Moments, coef: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :func:`pairscore.estimators.closed_form.covariance_error_sums`."""
        found: ErrorSums = self.over(partial(_error_sums, center=center, coef=coef), mask)
        return found.meat, found.total

    def refuse_lost_digits(self, mask: np.ndarray, names: tuple[str, ...]) -> None:
        """See :func:`pairscore.estimators.checks.refuse_lost_digits`; of the items of a mask."""
        rows = np.flatnonzero(mask)
        some = self.take(rows[:: max(len(rows) // 256, 1)])
        refuse_lost_digits(some, self.compared(mask).feature_ranges, names)

    def compared(self, mask: np.ndarray) -> ComparedItems:
        """The items of a mask, for what a model keeps of them."""
        if isinstance(self.X, np.ndarray):
            return ComparedRows(self.X, mask)
        return ComparedInParts(self, mask)

    def fitted_scores(self, fit: Fit, names: tuple[str, ...], mask: np.ndarray) -> np.ndarray:
        """See :func:`pairscore.model.predict.fitted_scores`."""
        found: Rows = self.over(partial(_scores, coef=fit.coef))
        return fitted_scores(fit, found.values, mask, lambda rows: Items(self.take(rows), names))


@dataclass(frozen=True)
class ComparedInParts:
    """Of the items of a table in files, those of a ``mask`` (N)."""

    table: ItemTable
    mask: np.ndarray

    def feature_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        found: FeatureRange = self.table.over(_range, self.mask)
        return found.low, found.high

    def open_part(self, fit: Fit) -> OpenPart:
        found: Rows = self.table.over(partial(_open_part, fit=fit), self.mask)
        return OpenPart(found.values[:, :-1], found.values[:, -1])


# -- tasks: called with some rows of the table -------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Something for each of some items; those of neighbouring rows add to those of both."""

    values: np.ndarray

    def __add__(self, other: "Rows") -> "Rows":
        return Rows(np.concatenate([self.values, other.values]))


def _sum(X: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return vector @ X


def _moments(X: np.ndarray, weight: np.ndarray) -> Moments:
    return moments(X, weight) if weight.any() else Moments.zero(X.shape[1])


def _chosen(X: np.ndarray, mask: np.ndarray) -> Rows:
    return Rows(X[mask])


def _times(X: np.ndarray, coef: np.ndarray) -> Rows:
    return Rows(X @ coef)


def _scores(X: np.ndarray, coef: np.ndarray) -> Rows:
    return Rows(linear_scores(X, coef))  # equal items have equal scores, to the last bit


def _lengths(X: np.ndarray, mean: np.ndarray, whitener: np.ndarray) -> Rows:
    lengths = np.empty(len(X))
    for first in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        places = (X[rows] - mean) @ whitener
        lengths[rows] = np.einsum("ij,ij->i", places, places)
    return Rows(lengths)


@dataclass(frozen=True)
class ErrorSums(Sums):
    """What :func:`pairscore.estimators.closed_form.covariance_error_sums` returns."""

    meat: np.ndarray
    total: np.ndarray


def _error_sums(X: np.ndarray, mask: np.ndarray, center: Moments, coef: np.ndarray) -> ErrorSums:
    return ErrorSums(*covariance_error_sums(X[mask], center, coef))


@dataclass(frozen=True)
class FeatureRange:
    """Smallest and largest value of each feature (d); ranges add to that of all."""

    low: np.ndarray
    high: np.ndarray

    def __add__(self, other: "FeatureRange") -> "FeatureRange":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return FeatureRange(low, high)


def _range(X: np.ndarray, mask: np.ndarray) -> FeatureRange:
    return FeatureRange(*feature_range(X, mask))


def _open_part(X: np.ndarray, mask: np.ndarray, fit: Fit) -> Rows:
    part = OpenPart.of_values(fit, X[mask])
    return Rows(np.column_stack([part.place, part.size]))


def some_rows(n_items: int) -> np.ndarray:
    """Up to 256 rows of the item table, by which it is known again."""
    return np.arange(0, n_items, 1 + n_items // 256)


def fingerprint(data: Any) -> str:
    """A hash of the sums of every item, and of up to 256 rows of the item table."""
    digest = hashlib.sha256(repr((data.X.shape, data.items.feature_names)).encode())
    digest.update(np.ascontiguousarray(data.table.take(some_rows(len(data.X)))).tobytes())
    for column in (data.tally.net_wins, data.tally.exposures):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:32]


# -- some of the comparisons -------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """The comparisons to whose winner a step adds or takes more than so much.

    ``scores`` (N) and ``shift`` are what the step adds to the score of each item, and to left.
    """

    scores: np.ndarray
    shift: float
    smallest: float

    def touches(self, batch: Batch) -> np.ndarray:
        """Mask of the comparisons of a batch."""
        gain = batch.outcome * (self.scores[batch.left] - self.scores[batch.right] + self.shift)
        return np.abs(gain) > self.smallest


@dataclass(frozen=True)
class Choice:
    """Of the comparisons that count, those that some cut touches, or those that none does."""

    cuts: tuple[Cut, ...]
    touched: bool

    def of(self, batch: Batch) -> Batch:
        counts = (batch.amount > 0) & (batch.left != batch.right)
        touched = np.any([cut.touches(batch) for cut in self.cuts], axis=0)
        return batch.take(counts & (touched == self.touched))


@dataclass(frozen=True)
class ChosenRows:
    """The chosen comparisons of a source (:class:`pairscore.streaming.rows.RowReader`)."""

    reader: RowReader
    choice: Choice
    drop_ties: ClassVar[bool] = False
    self_pairs: ClassVar[str] = "error"

    @property
    def layout(self) -> Layout:
        return self.reader.layout

    def batches(self, part: Partition) -> Iterator[Batch]:
        return map(self.choice.of, self.reader.batches(part))

    all_batches = batches  # ties are left out already, if so asked


@dataclass(frozen=True)
class ChosenSpill:
    """The chosen comparisons of tiles (:class:`pairscore.streaming.spill.Spill`)."""

    spill: Spill
    choice: Choice

    @property
    def grid(self) -> Grid:
        return self.spill.grid

    def tile(self, n_parts: int, a: int, b: int) -> Batch:
        return self.choice.of(self.spill.tile(n_parts, a, b))


@dataclass(frozen=True)
class Gains(Sums):
    """What a step adds to the winner of decided comparisons, and its size in ties."""

    decided: Range
    tied: Range

    @property
    def largest(self) -> float:
        """The largest size of all."""
        return max(-self.decided.low, self.decided.high, self.tied.high, 0.0)


@dataclass(frozen=True)
class GainTask:
    """Gains of a step that adds ``scores`` (N) to items and a ``shift`` to left."""

    rows: RowSource
    scores: np.ndarray
    shift: float

    def __call__(self, part: Any) -> Gains:
        gains = Gains(Range(), Range())
        for batch in self.rows.batches(part):
            counts = (batch.amount > 0) & (batch.left != batch.right)
            step = self.scores[batch.left] - self.scores[batch.right] + self.shift
            decided = Range.of((batch.outcome * step)[counts & (batch.outcome != 0)])
            gains += Gains(decided, Range.of(np.abs(step[counts & (batch.outcome == 0)])))
        return gains
