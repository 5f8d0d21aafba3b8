"""The item table of a fit in parts: sums over its rows, here or on workers.

On this machine the table is an array, perhaps a file that is mapped into memory, and a sum over it
is one call. Elsewhere it is in files (:class:`pairscore.parts.spill.FeatureFiles`): workers read
some rows each, and this process receives vectors with a number for each item, sums of size d x d,
and the rows that it asks for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairscore.core.sandwich import other_rows, own_column_mask, usual_values
from pairscore.core.sums import Moments, feature_range, moments
from pairscore.data.items import Items
from pairscore.estimators.diagnostics import fourth_power
from pairscore.estimators.inference import covariance_error_sums
from pairscore.estimators.results import Fit
from pairscore.model.groups import ComparedItems, OpenPart
from pairscore.model.predict import kept_rows, linear_scores, score_errors_of
from pairscore.parts.engines import Engine, Sums
from pairscore.parts.spill import FeatureFiles

BLOCK_BYTES = 1 << 25  # of the table in one task
ROWS_AT_ONCE = 1 << 14  # whose lengths are found


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

    def own_columns(self, exposures: np.ndarray) -> np.ndarray:
        """See :func:`pairscore.core.sandwich.has_own_column`."""
        usual = usual_values(self.take(np.flatnonzero(exposures > 0)[:3]))
        n = len(exposures)
        others = self.over(partial(other_rows, usual=usual), exposures, np.arange(n))
        return own_column_mask(others, n)

    def fourth(self, mean: np.ndarray, whitener: np.ndarray, weight: np.ndarray) -> float:
        """The sum of weight |W'(x - mean)|^4."""
        return float(self.over(partial(fourth_power, mean=mean, whitener=whitener), weight))

    def error_sums(
        self, mask: np.ndarray, center: Moments, coef: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See :func:`pairscore.estimators.inference.covariance_error_sums`."""
        found: ErrorSums = self.over(partial(_error_sums, center=center, coef=coef), mask)
        return found.meat, found.total

    def compared(self, mask: np.ndarray) -> Any:
        """The items of a mask, for what a model keeps of them."""
        if isinstance(self.X, np.ndarray):
            return ComparedItems(self.X, mask)
        return ComparedElsewhere(self, mask)

    def fitted_scores(self, fit: Fit, names: tuple[str, ...], mask: np.ndarray) -> np.ndarray:
        """See :func:`pairscore.model.predict.fitted_scores`."""
        found: Rows = self.over(partial(_scores, coef=fit.coef))
        rows = kept_rows(found.values, mask)
        errors = score_errors_of(fit, Items(self.take(rows), names))
        return np.stack([found.values[rows], errors])


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
    """What :func:`pairscore.estimators.inference.covariance_error_sums` returns."""

    meat: np.ndarray
    total: np.ndarray


def _error_sums(X: np.ndarray, mask: np.ndarray, center: Moments, coef: np.ndarray) -> ErrorSums:
    return ErrorSums(*covariance_error_sums(X[mask], center, coef))


# -- compared items that are elsewhere ---------------------------------------------------------


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


@dataclass(frozen=True)
class ComparedElsewhere:
    """:class:`pairscore.model.groups.ComparedItems` of a table that this process does not have."""

    table: ItemTable
    mask: np.ndarray

    def feature_range(self) -> tuple[np.ndarray, np.ndarray]:
        found: FeatureRange = self.table.over(_range, self.mask)
        return found.low, found.high

    def open_part(self, fit: Fit) -> OpenPart:
        found: Rows = self.table.over(partial(_open_part, fit=fit), self.mask)
        return OpenPart(found.values[:, :-1], found.values[:, -1])


def some_rows(n_items: int) -> np.ndarray:
    """Up to 256 rows of the item table, by which it is known again."""
    return np.arange(0, n_items, 1 + n_items // 256)
