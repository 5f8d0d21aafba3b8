"""Score differences of two items, or of many pairs, with intervals and chances."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.core.normal_average import averaged_probabilities
from pairscore.data.items import Items
from pairscore.errors import plural
from pairscore.estimators.results import Fit, KnownItems
from pairscore.files.write import html_text
from pairscore.model.items import known_items, refuse_unknown_abilities
from pairscore.model.predict import FAR, PAIR_BLOCK, linear_scores, open_ends_of_pairs, score_errors

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
        lines += [f"... and {plural(more, 'pair')} more; to_frame() has all"] * (more > 0)
        return "\n".join(lines).replace("nan%", "nan").replace("nan", "unknown")

    def _repr_html_(self) -> str:
        if np.ndim(self.difference):
            few = {name: column[:MOST_SHOWN].tolist() for name, column in vars(self).items()}
            n = plural(len(self.difference), "pair")
            first = f" (the first {MOST_SHOWN})" * (len(self.difference) > MOST_SHOWN)
            return html_text(f"Differences of {n}{first}", (), few)
        value, low, high, *chance, _ = vars(self).values()
        rows = ("score difference", value, low, high), ("chance that the first wins", *chance)
        columns = dict(zip(("", "estimate", "low", "high"), zip(*rows, strict=True), strict=True))
        return html_text("Difference of two items", (), columns)


def item_difference(fit: Fit, a: Items, b: Items, level: float) -> Difference:
    """Score of the one item in ``a`` minus that of the one in ``b``."""
    one = np.zeros(1, dtype=int)
    columns = vars(pair_differences(fit, (a, b), (one, one), level))
    return Difference(**{name: float(column[0]) for name, column in columns.items()})


def pair_differences(
    fit: Fit, tables: tuple[Items, Items], rows: tuple[np.ndarray, np.ndarray], level: float
) -> Difference:
    """Score differences of n pairs: rows (n,) of a first table less rows (n,) of a second.

    Without sides, context and judges. Features are formed for a block of pairs at a time.
    """
    (a, b), (left, right) = tables, rows
    values, errors = np.empty(len(left)), np.full(len(left), np.nan)
    open_low, open_high = np.full((2, len(left)), np.nan)  # of what only a prior holds
    width = fit.width(level)
    first = known_items(fit, a)
    second = first if a is b else known_items(fit, b)
    for start in range(0, len(left), PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        x, y = a.values[left[block]], b.values[right[block]]
        values[block] = linear_scores(x - y, fit.coef)
        if fit.covariance is not None:
            along, unknown = x - y, fit.undetermined_contrasts(x - y)
            if first is not None and second is not None:
                along = first.share[left[block], None] * (x - fit.feature_mean)
                along -= second.share[right[block], None] * (y - fit.feature_mean)
            errors[block] = np.where(unknown, np.nan, score_errors(along, fit.covariance))
            held = fit.held_by_prior(along) & ~unknown
            if held.any():
                open_low[block][held], open_high[block][held] = -np.inf, np.inf
                if first is None:
                    ends = fit.open_ends(along[held], values[block][held], width)
                    open_low[block][held], open_high[block][held] = ends
                errors[block][held] = np.nan
    variance = np.zeros(len(left))
    if first is not None and second is not None:
        values += first.effect[left] - second.effect[right]
        for items, row, known in ((a, left, first), (b, right, second)):
            refuse_unknown_abilities(fit, known.effect, items.ids, row)
        variance = _variance_of_effects(fit, (first, second), rows)
        of_items = open_ends_of_pairs(fit, first.row[left], second.row[right], width)
        for end, known_end in zip((open_low, open_high), of_items[1:], strict=True):
            end[of_items[0]] = known_end[of_items[0]]
    errors = np.hypot(errors, np.sqrt(variance))
    half, law = width * errors, fit.outcome_law
    averaged = fit.item_effects is not None and not fit.item_effects.free
    spread = np.sqrt(variance) if averaged else np.zeros(len(left))
    loss, _, win = averaged_probabilities(law, values, spread)
    ends = (
        np.where(np.isnan(open_low), values - half, open_low),
        np.where(np.isnan(open_high), values + half, open_high),
    )
    low, high = (law.win_chance(np.clip(end, -FAR, FAR)) for end in ends)
    return Difference(values, *ends, win / (win + loss), low, high, std_error=errors)


def _variance_of_effects(
    fit: Fit, known: tuple[KnownItems, KnownItems], rows: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Variance of what is not known of the effects of two items, less each other, (n,)."""
    from pairscore.effects.item_posterior import difference_variance, shared_variance

    assert fit.item_effects is not None
    (left, right), places = rows, (known[0].row[rows[0]], known[1].row[rows[1]])
    if fit.item_effects.component is not None:
        return difference_variance(fit.item_effects, *places)
    variance = known[0].variance[left] + known[1].variance[right]
    variance = variance - 2 * shared_variance(fit.item_effects, *places)
    is_same = (places[0] == places[1]) & (places[0] >= 0)
    return np.where(is_same, 0.0, np.maximum(variance, 0.0))
