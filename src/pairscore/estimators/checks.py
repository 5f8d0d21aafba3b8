"""What cannot be fitted, said in a sentence."""

from collections.abc import Sequence

import numpy as np

from pairscore.core.moments import SMALLEST_REACH, lost_digits
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import LARGEST_NUMBER
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError
from pairscore.estimators.fit_data import FitSums
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.settings import Settings

SURELY_CLEAR = 1e4  # values over differences in a few items, that all digits are left with


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


def refuse_unknown_items_and_sides(settings: Settings, data: Comparisons, has_items: bool) -> None:
    """What a matrix of differences, or votes without sides, cannot tell."""
    if settings.by_comparison and not has_items:
        raise PairscoreError(
            "judges, context and ties as a parameter need items and votes; a matrix of differences"
            " has neither judges nor context."
        )
    if settings.item_effects and not has_items:
        raise PairscoreError(
            "item_effects=True needs to know who was compared, and a matrix of differences does not"
            " say; fit items and votes instead."
        )
    if settings.side_effect and has_items and not data.sides_known:
        raise PairscoreError(
            "side_effect=True needs votes that say who was left and right; these only say winner"
            " and loser."
        )


def refuse_extremes(data: Comparisons) -> None:
    """Weights and context whose squares overflow; features are checked where they are read."""
    if data.weight is not None:
        low = float(np.min(data.weight, where=data.weight > 0, initial=np.inf))
        refuse_weights(low, float(np.max(data.weight)))
    limits = {
        name: np.all(np.abs(column) < LARGEST_NUMBER) for name, column in data.context.items()
    }
    large = [name for name, is_small in limits.items() if not is_small]
    if large:
        raise PairscoreError(
            f"values beyond {LARGEST_NUMBER:g} are too large to compute with:"
            f" {first_few(map(repr, large))}; divide the column by a constant."
        )


def refuse_weights(low: float, high: float) -> None:
    """Positive weights between these two whose squares overflow."""
    if not (high < LARGEST_NUMBER and low > 1 / LARGEST_NUMBER):
        raise PairscoreError(
            f"weights go from {low:.3g} to {high:.3g}, too far apart to compute with; divide them"
            " by their mean."
        )


def refuse_few_items(n: int, d: int) -> None:
    """`split` needs more items than features for its covariance."""
    if n < d + 3:
        raise PairscoreError(
            f"method='split' needs at least {d + 3} items for the covariance of"
            f" {plural(d, 'feature')} but has {n}; add items that occur in no comparison, name"
            " some with covariance_items=, or use method='pooled'."
        )
