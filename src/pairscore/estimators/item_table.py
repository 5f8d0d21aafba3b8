"""The item table of a fit: sums over its rows, and rows on demand.

A sum over the table is a task that is called with its features, and with the entries of vectors
that have a number for each item. Here the table is an array, perhaps a file that is mapped into
memory, and the task is called once; :mod:`pairscore.streaming.shared_items` calls it with some rows
at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairscore.core.moments import Moments, feature_range, moments
from pairscore.core.row_blocks import centred_blocks, rows_times, times_rows
from pairscore.core.sums import Sums
from pairscore.core.threads import on_each, row_chunks
from pairscore.core.whitening import whitening_basis

LARGEST_LEVERAGE = 0.8  # beyond, too little is left of an item's deviation to divide by
ALONE = 1e-9  # share of a sum of squares that other items may have by rounding


@dataclass(frozen=True)
class PerItem:
    """Something for each of some items; those of neighbouring rows add to those of both."""

    values: np.ndarray

    def __add__(self, other: "PerItem") -> "PerItem":
        return PerItem(np.concatenate([self.values, other.values]))


@dataclass(frozen=True)
class FeatureRange:
    """Smallest and largest value of each feature (d); ranges add to that of all."""

    low: np.ndarray
    high: np.ndarray

    def __add__(self, other: "FeatureRange") -> "FeatureRange":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return FeatureRange(low, high)


@dataclass(frozen=True)
class SecondHalfSums(Sums):
    """Sums of squares (d x d) and sums (d) of what items add to the error of S b, S of `split`."""

    squares: np.ndarray
    total: np.ndarray


@dataclass(frozen=True)
class UsualValues:
    """The value (d) of all rows but one, and a mask (d) of the columns where there may be one."""

    value: np.ndarray
    exists: np.ndarray

    @classmethod
    def of_first(cls, first: np.ndarray) -> "UsualValues":
        """By the first three rows (n x d): if all rows but one are equal, two of three are."""
        ordered = np.sort(first, axis=0)
        exists = np.any(ordered[1:] == ordered[:-1], axis=0) & (len(first) > 2)
        value = np.zeros(first.shape[1])
        if exists.any():
            value[exists] = np.median(first[:, exists], axis=0)
        return cls(value, exists)


@dataclass(frozen=True)
class OtherRows(Sums):
    """Of each column (d), how many compared items have another value than the usual one, and the
    sum of their numbers.
    """

    how_many: np.ndarray
    sum_of_numbers: np.ndarray

    @classmethod
    def of_items(
        cls, X: np.ndarray, exposures: np.ndarray, numbers: np.ndarray, usual: UsualValues
    ) -> "OtherRows":
        """Of items (n x d) with these ``exposures`` and ``numbers`` (n)."""
        rows = np.flatnonzero(exposures > 0)
        how_many, sum_of_numbers = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for column in np.flatnonzero(usual.exists):
            other = rows[X[rows, column] != usual.value[column]]
            how_many[column] = len(other)
            sum_of_numbers[column] = numbers[other].sum()
        return cls(how_many, sum_of_numbers)

    @property
    def alone(self) -> np.ndarray:
        """The columns in which one item differs from all others."""
        return np.flatnonzero(self.how_many == 1)

    def items(self, columns: np.ndarray) -> np.ndarray:
        """The items that are alone in these columns."""
        return self.sum_of_numbers[columns].astype(np.intp)


@dataclass(frozen=True)
class ItemTable:
    """Features X (N x d) of the items."""

    X: np.ndarray

    def over(self, task: Callable[..., Any], *vectors: np.ndarray) -> Any:
        """task(X, vectors...), or the total of that over blocks of rows."""
        return task(self.X, *vectors)

    def times(self, coef: np.ndarray) -> np.ndarray:
        """X b (N)."""
        scores: PerItem = self.over(partial(_times, coef=coef))
        return scores.values

    def total(self, vector: np.ndarray) -> np.ndarray:
        """X'v (d) of a vector v (N)."""
        total: np.ndarray = self.over(_total, vector)
        return total

    def moments(self, weight: np.ndarray) -> Moments:
        """Moments of the items, each with its weight (N)."""
        total: Moments = self.over(_moments, weight)
        return total

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some rows (n x d), by their numbers."""
        return self.X[rows]

    def lengths(self, mean: np.ndarray, whitener: np.ndarray) -> np.ndarray:
        """|W'(x - mean)|^2 of every item (N)."""
        lengths: PerItem = self.over(partial(_lengths, mean=mean, whitener=whitener))
        return lengths.values

    def fourth(self, mean: np.ndarray, whitener: np.ndarray, weight: np.ndarray) -> float:
        """The sum of weight |W'(x - mean)|^4."""
        return float(weight @ self.lengths(mean, whitener) ** 2)

    def own_columns(self, exposures: np.ndarray, center: Moments | None = None) -> np.ndarray:
        """Mask (N) of the compared items that differ from all others, which are equal, in a column.

        Such a column is the 0/1 column of one item, or of a category that has one item.
        ``center`` has the moments of all compared items where these are some of them only. An item
        is alone in its column if it makes up all of the squared distances from the usual value.
        """
        n = len(exposures)
        usual = UsualValues.of_first(self.take(np.flatnonzero(exposures > 0)[:3]))
        task = partial(OtherRows.of_items, usual=usual)
        others: OtherRows = self.over(task, exposures, np.arange(n))
        columns = others.alone
        items = others.items(columns)
        if center is not None:
            apart = self.take(items)[np.arange(len(items)), columns] - usual.value[columns]
            squares = np.diag(center.scatter) + center.total * (center.mean - usual.value) ** 2
            items = items[squares[columns] <= exposures[items] * apart**2 * (1 + ALONE)]
        mask = np.zeros(n, dtype=bool)
        mask[items] = True
        return mask

    def jackknife(
        self, whitener: np.ndarray, exposures: np.ndarray, center: Moments, of_all: bool = True
    ) -> np.ndarray:
        """1 / (1 - h_i) of every item (N), h_i its leverage; 0 of an item with a column of its own.

        An item pulls the fit towards itself by h_i = k_i (1/sum k + z_i' (Z'KZ)^-1 z_i), so what is
        left of its deviation is too small by 1 - h_i; dividing by that is, to first order, the
        jackknife that leaves out one item at a time (the HC3 of MacKinnon and White 1985).

        Parameters
        ----------
        whitener : array (d x r)
            W with W'(Z'KZ)W = I.
        exposures : array (N)
            How often each item was compared, k.
        center : Moments
            Of all compared items.
        of_all : bool
            Whether these are the compared items of the table; else some of them are elsewhere.
        """
        leverage = exposures * (1 / center.total + self.lengths(center.mean, whitener))
        inflation = 1 / (1 - np.minimum(leverage, LARGEST_LEVERAGE))
        has_own = self.own_columns(exposures, None if of_all else center)
        return np.where(has_own, 0.0, inflation)

    def ranges(self, mask: np.ndarray) -> FeatureRange:
        """Smallest and largest value of each feature among the items of a mask (N)."""
        ranges: FeatureRange = self.over(_range, mask)
        return ranges

    def second_half(self, mask: np.ndarray, center: Moments, coef: np.ndarray) -> SecondHalfSums:
        """Of the items of a mask, behind the covariance of `split`, with their moments."""
        task = partial(second_half_sums, center=center, coef=coef)
        sums: SecondHalfSums = self.over(task, mask)
        return sums


# -- tasks: called with some rows of the table -------------------------------------------------


def _times(X: np.ndarray, coef: np.ndarray) -> PerItem:
    return PerItem(rows_times(X, coef))


def _total(X: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return times_rows(vector, X)


def _moments(X: np.ndarray, weight: np.ndarray) -> Moments:
    return moments(X, weight) if weight.any() else Moments.zero(X.shape[1])


def _lengths(X: np.ndarray, mean: np.ndarray, whitener: np.ndarray) -> PerItem:
    lengths = np.empty(len(X))

    def one(chunk: slice) -> None:
        for rows, centred in centred_blocks(X, mean, chunk):
            along = centred @ whitener
            lengths[rows] = np.einsum("ij,ij->i", along, along)

    on_each(one, row_chunks(*X.shape))
    return PerItem(lengths)


def _range(X: np.ndarray, mask: np.ndarray) -> FeatureRange:
    return FeatureRange(*feature_range(X, mask))


def second_half_sums(
    X: np.ndarray, mask: np.ndarray, center: Moments, coef: np.ndarray
) -> SecondHalfSums:
    """What the items of a mask add to the error of S b, b the closed form ``coef`` (d).

    By leaving out one item at a time, with the leverage of an item on its own covariance;
    ``center`` has the moments of all such items.
    """
    d, n = X.shape[1], center.total
    whitener = whitening_basis(center.scatter, center.sd).transform
    squares, total = np.zeros((d, d)), np.zeros(d)
    for _, z in centred_blocks(X[mask], center.mean):
        leverage = np.minimum(1 / n + np.sum((z @ whitener) ** 2, axis=1), LARGEST_LEVERAGE)
        z *= ((z @ coef) / (1 - leverage))[:, None]
        squares += z.T @ z
        total += z.sum(axis=0)
    return SecondHalfSums(squares, total)
