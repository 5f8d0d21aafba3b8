"""What cannot be fitted, said in a sentence."""

from collections.abc import Sequence

import numpy as np

from pairscore.core.moments import SMALLEST_REACH, lost_digits
from pairscore.errors import PairscoreError, plural
from pairscore.estimators.fit_data import FitSums, TableData
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.settings import Settings

SURELY_CLEAR = 1e4  # values over differences in a few items, that all digits are left with


def n_counted(data: TableData) -> float:
    """How many comparisons count: those that rows with a positive amount stand for."""
    return data.comparisons.number


def refuse_too_many_features(data: FitSums, m: float, settings: Settings) -> None:
    """Without a ridge, features must not outnumber items or the m comparisons that count.

    Of a matrix of differences they may, as scikit-learn expects: warnings say what the fit is.
    """
    d = len(data.feature_names)
    if not np.isfinite(data.tally.n_comparisons):
        raise PairscoreError(
            "the weights are so large that their sum overflows; divide them by a constant."
        )
    if data.tally.exposures.sum() == 0:
        raise PairscoreError(
            "no comparison is between two different items with a positive weight; these votes"
            " contain nothing to learn from."
        )
    if settings.l2 == 0 and data.has_items and (d > data.n_items or d > m):
        few = plural(int(m), "comparison")
        few = plural(data.n_items, "compared item") if d > data.n_items else few
        raise PairscoreError(
            f"there are {d} features but only {few}, so many scores fit equally well; choose a"
            " ridge from the data (l2='auto'), or use fewer features."
        )


def refuse_lost_digits(table: ItemTable, compared: np.ndarray, names: Sequence[str]) -> None:
    """Features must differ by enough to be squared, and by more than the last digits of values.

    Of the items of a mask (N); a few of them are mostly enough to see it.
    """
    rows = np.flatnonzero(compared)
    some = table.take(rows[:: max(len(rows) // 256, 1)])
    if not some.size:
        return
    low, high = some.min(axis=0), some.max(axis=0)
    least = np.maximum((np.abs(low) + np.abs(high)) / SURELY_CLEAR, SMALLEST_REACH)
    clear = high - low > least
    if clear.all():
        return
    ranges = table.ranges(compared)
    low, high = ranges.low, ranges.high
    tiny, shifted = lost_digits(low, high)
    for mask, what, remedy in (
        (tiny, "too little to compute with", "multiply the column by a constant"),
        (shifted, "which leaves too few digits to compute with", "subtract a constant from it"),
    ):
        if mask.any():
            first = int(np.flatnonzero(mask)[0])
            near = "" if mask is tiny else f" are near {high[first]:.3g} and"
            raise PairscoreError(
                f"the values of {names[first]!r}{near} differ by at most"
                f" {high[first] - low[first]:.3g}, {what}; {remedy}."
            )
