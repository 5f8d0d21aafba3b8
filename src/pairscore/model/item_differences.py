"""Score differences of two items, or of many pairs, with intervals and chances."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.core.normal_average import averaged_probabilities
from pairscore.data.items import Items
from pairscore.display import html_text, plural
from pairscore.effects.item_effects import KnownItems
from pairscore.model.fit import Fit
from pairscore.model.item_lookup import ItemRows, known_items, refuse_unknown_abilities
from pairscore.model.predict import (
    FAR,
    PAIR_BLOCK,
    calibrated_chance,
    contrast_errors,
    effect_difference_variance,
    linear_scores,
    number_of_new,
    open_ends_of_pairs,
)

MOST_SHOWN = 20  # pairs that are printed


def _ends(low: float, high: float) -> str:
    """An interval in brackets; in words where it is open."""
    if np.isinf(low) and np.isinf(high):
        return "(no interval)"
    if np.isinf(low) or np.isinf(high):
        return f"({high:.4g} or less)" if np.isinf(low) else f"({low:.4g} or more)"
    return f"[{low:.4g}, {high:.4g}]"


@dataclass(frozen=True)
class Difference:
    """Score difference of two items, with its interval, and the probability that the first wins.

    Of many pairs, each is an array with an entry for every pair.
    """

    difference: Any
    low: Any
    high: Any
    probability: Any
    probability_low: Any
    probability_high: Any
    std_error: Any = np.nan

    def to_frame(self, backend: Any = "pandas") -> Any:
        """A row for each pair, as a dataframe of some kind: pandas, polars or pyarrow."""
        columns = {name: np.atleast_1d(column) for name, column in vars(self).items()}
        return nw.from_dict(columns, backend=backend).to_native()

    def __str__(self) -> str:
        first = [np.atleast_1d(column)[:MOST_SHOWN].tolist() for column in vars(self).values()]
        lines = [
            f"score difference {value:.4g} {_ends(low, high)}; chance that the first wins"
            f" {chance:.1%} [{least:.1%}, {most:.1%}]"
            for value, low, high, chance, least, most, _ in zip(*first, strict=True)
        ]
        more = np.size(self.difference) - len(lines)
        if more > 0:
            lines.append(f"... and {plural(more, 'pair')} more; the data frame of this has all")
        return "\n".join(lines).replace("nan%", "nan").replace("nan", "unknown")

    def _repr_html_(self) -> str:
        if np.ndim(self.difference):
            few = {name: column[:MOST_SHOWN].tolist() for name, column in vars(self).items()}
            n = plural(len(self.difference), "pair")
            first = f" (the first {MOST_SHOWN})" if len(self.difference) > MOST_SHOWN else ""
            return html_text(f"Differences of {n}{first}", (), few)
        columns = {
            "": ["score difference", "chance that the first wins"],
            "estimate": [self.difference, self.probability],
            "low": [self.low, self.probability_low],
            "high": [self.high, self.probability_high],
        }
        return html_text("Difference of two items", (), columns)


def item_difference(fit: Fit, a: Items, b: Items, level: float) -> Difference:
    """Score of the one item in ``a`` minus that of the one in ``b``."""
    one = np.zeros(1, dtype=int)
    columns = vars(pair_differences(fit, ItemRows(a, one), ItemRows(b, one), level))
    return Difference(**{name: float(column[0]) for name, column in columns.items()})


def pair_differences(fit: Fit, left: ItemRows, right: ItemRows, level: float) -> Difference:
    """Score differences of n pairs: the items of ``left`` less those of ``right``.

    Without sides, context and judges. Features are formed for a block of pairs at a time.
    """
    width = fit.width(level)
    known_left = known_items(fit, left.items)
    known_right = known_left if right.items is left.items else known_items(fit, right.items)
    by_features = _by_features(fit, left, right, known_left, known_right, width)
    values = by_features.values
    errors = by_features.errors
    held = by_features.held
    open_low = by_features.low
    open_high = by_features.high
    spread = np.zeros(len(values))
    if fit.item_effects is not None and known_left is not None and known_right is not None:
        refuse_unknown_abilities(fit, known_left.effect, left.items.ids, left.rows)
        refuse_unknown_abilities(fit, known_right.effect, right.items.ids, right.rows)
        first = known_left.take(left.rows)
        second = known_right.take(right.rows)
        values = values + (first.effect - second.effect)
        unknown = np.sqrt(effect_difference_variance(fit.item_effects, first, second))
        errors = np.hypot(errors, unknown)
        apart, low, high = open_ends_of_pairs(fit, first.row, second.row, width)
        held = held | apart
        open_low = np.where(apart, low, open_low)
        open_high = np.where(apart, high, open_high)
        if not fit.item_effects.free:
            spread = unknown
    low = np.where(held, open_low, values - width * errors)
    high = np.where(held, open_high, values + width * errors)
    law = fit.outcome_law
    loss, _, win = averaged_probabilities(law, values, spread)
    chance = win / (win + loss)
    chance_low = law.win_chance(np.clip(low, -FAR, FAR))
    chance_high = law.win_chance(np.clip(high, -FAR, FAR))
    if known_left is not None and known_right is not None:
        n_new = number_of_new(fit, known_left.row[left.rows], known_right.row[right.rows])
        chance = calibrated_chance(fit, chance, n_new)
        chance_low = calibrated_chance(fit, chance_low, n_new)
        chance_high = calibrated_chance(fit, chance_high, n_new)
    return Difference(
        difference=values,
        low=low,
        high=high,
        probability=chance,
        probability_low=chance_low,
        probability_high=chance_high,
        std_error=errors,
    )


@dataclass(frozen=True)
class _ByFeatures:
    """What features say of n differences: values and errors, NaN where they are not known.

    Of those that only a prior holds, ``held``, the ends are ``low`` and ``high``.
    """

    values: np.ndarray
    errors: np.ndarray
    held: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _by_features(
    fit: Fit,
    left: ItemRows,
    right: ItemRows,
    known_left: KnownItems | None,
    known_right: KnownItems | None,
    width: float,
) -> _ByFeatures:
    n = len(left.rows)
    values = np.empty(n)
    errors = np.full(n, np.nan)
    held = np.zeros(n, dtype=bool)
    low = np.full(n, -np.inf)
    high = np.full(n, np.inf)
    for start in range(0, n, PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        left_rows = left.rows[block]
        right_rows = right.rows[block]
        x = left.items.values[left_rows]
        y = right.items.values[right_rows]
        along = x - y
        values[block] = linear_scores(along, fit.coef)
        if fit.covariance is None:
            continue
        unknown = fit.undetermined_contrasts(along)
        if known_left is not None and known_right is not None:
            along = known_left.share[left_rows, None] * (x - fit.features.mean)
            along -= known_right.share[right_rows, None] * (y - fit.features.mean)
        held[block] = fit.held_by_prior(along) & ~unknown
        no_error = unknown | held[block]
        errors[block] = np.where(no_error, np.nan, contrast_errors(along, fit.covariance))
        if known_left is None and held[block].any():
            here = start + np.flatnonzero(held[block])
            low[here], high[here] = fit.open_ends(along[held[block]], values[here], width)
    return _ByFeatures(values, errors, held, low, high)
