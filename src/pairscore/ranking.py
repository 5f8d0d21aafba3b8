"""Scores with intervals, ranks with intervals, and the difference of two items."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.stats import chi2, norm

from pairscore.columns import Columns
from pairscore.errors import PairscoreError
from pairscore.items import Items

REFERENCE_ITEMS = 5000  # each rank interval compares an item with at most this many others
MULTIPLICITY = (
    "Each interval holds for its own item 19 times of 20; among many items some will miss. Rank intervals count the items that differ "
    "from this one at the same level. With simultaneous=True all intervals hold together 19 times of 20."
)


@dataclass(frozen=True)
class Difference:
    """Score difference of two items, with its interval, and the probability that the first wins."""

    difference: float
    low: float
    high: float
    probability: float
    probability_low: float
    probability_high: float


def interval_width(level: float, n_features: int, simultaneous: bool) -> float:
    """How many standard errors an interval reaches: normal for one score, Scheffe's for all at once."""
    if not 0 < level < 1:
        raise PairscoreError(f"level is {level!r}; use a number between 0 and 1, such as 0.95.")
    return float(np.sqrt(chi2.ppf(level, n_features))) if simultaneous else float(norm.ppf(0.5 + level / 2))


def item_scores(values: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """x'coef of every row, the same to the last bit for equal rows (the sums of BLAS depend on where a row stands)."""
    return np.einsum("ij,j->i", values, coef)


def shared_ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each score, sorted best first: one more than the number of better ones, so that equal scores share the best rank.

    >>> shared_ranks(np.array([9.0, 7.0, 7.0, 4.0])).tolist()
    [1, 2, 2, 4]
    """
    return 1 + np.searchsorted(-scores, -scores, side="left")


def score_errors(centred: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard error of each score, relative to the average training item."""
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", centred @ covariance, centred), 0.0))


def rank_intervals(scores: np.ndarray, centred: np.ndarray, covariance: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Best and worst rank of each item: how many others are surely better, and surely worse.

    Items are sorted best first. Beyond REFERENCE_ITEMS, an item is compared with that many others
    evenly spaced in rank, and counts are scaled up.
    """
    n = len(scores)
    reference = np.unique(np.linspace(0, n - 1, min(n, REFERENCE_ITEMS)).round().astype(int))
    projected = centred @ covariance
    own = np.einsum("ij,ij->i", projected, centred)
    better, worse = np.zeros(n), np.zeros(n)
    for first in range(0, n, 512):
        rows = slice(first, first + 512)
        variance = own[rows, None] + own[reference] - 2 * projected[rows] @ centred[reference].T
        gap = scores[reference] - scores[rows, None]
        sure = np.abs(gap) > width * np.sqrt(np.maximum(variance, 0.0)) + 1e-12 * np.abs(scores[rows, None])
        better[rows], worse[rows] = np.sum(sure & (gap > 0), axis=1), np.sum(sure & (gap < 0), axis=1)
    share = n / len(reference)
    rank = shared_ranks(scores)
    low = np.minimum(1 + np.floor(better * share), rank)
    high = np.maximum(n - np.floor(worse * share), rank)
    return low.astype(int), high.astype(int)


def as_callers_kind(columns: dict[str, Any], items: Items) -> Any:
    """A table of the caller's kind; a NumPy structured array for those who came with arrays."""
    if items.backend in (dict, Columns):
        return {name: np.asarray(values) for name, values in columns.items()}
    if items.backend is None:
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        table = np.empty(len(next(iter(arrays.values()))), dtype=[(name, values.dtype) for name, values in arrays.items()])
        for name, values in arrays.items():
            table[name] = values
        return table
    return nw.from_dict(columns, backend=items.backend).to_native()
