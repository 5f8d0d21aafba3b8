"""Facts of a report beside the items: context, sides, judges, ties and the chosen ridge."""

from dataclasses import dataclass

import numpy as np

from pairscore.comparisons import Comparisons
from pairscore.judges import REACH, Judges
from pairscore.regression import RankRegression
from pairscore.ridge import RidgeCurve
from pairscore.study import Effects

TIE_BINS = 5


@dataclass(frozen=True)
class TieRate:
    """Comparisons whose items differ by ``low`` to ``high`` in score: how many tied, and how many the model expects to."""

    low: float
    high: float
    expected: float
    observed: float
    number: float


@dataclass(frozen=True)
class ItemEffect:
    """What an item has beyond its features, with an interval."""

    name: str
    effect: float
    low: float
    high: float


@dataclass(frozen=True)
class Beside:
    """What a model was fitted with beside features; None or empty where it was not."""

    effects: Effects | None
    judges: Judges | None
    ridge: RidgeCurve | None
    ties: list[TieRate]
    item_effects: list[ItemEffect]
    item_effects_in_words: str

    @property
    def is_empty(self) -> bool:
        return self.effects is None and self.judges is None and self.ridge is None and not self.item_effects_in_words


def beside_facts(model: RankRegression, data: Comparisons) -> Beside:
    """Collect them; ties are counted in five groups of equal size by the score difference."""
    ties = [] if model.ties_ == "half" else tie_rates(model, data)
    words = "" if model.item_effects_ is None else model.item_effects_.in_words
    return Beside(model.effects_, model.judges_, model.ridge_curve_, ties, effects_of_items(model, data), words)


def effects_of_items(model: RankRegression, data: Comparisons) -> list[ItemEffect]:
    """Those of the compared items, the largest first."""
    known = model.known_items(data.items)
    if known is None or not known.effect.any():
        return []
    rows = np.flatnonzero((known.row >= 0) & data.compared)
    reach, names = REACH * np.sqrt(known.variance), data.items.names
    found = [ItemEffect(str(names[row]), *(float(known.effect[row] + sign * reach[row]) for sign in (0, -1, 1))) for row in rows]
    return sorted(found, key=lambda one: -one.effect)


def tie_rates(model: RankRegression, data: Comparisons) -> list[TieRate]:
    """Expected and observed share of ties, from the closest comparisons to the clearest."""
    gap, expected = np.abs(model.decision_function(data)), model.predict_ties(data)
    rates = []
    for rows in np.array_split(np.argsort(gap, kind="stable"), min(TIE_BINS, len(gap))):
        amount = data.amount[rows]
        tied = float(np.average(data.outcome[rows] == 0, weights=amount))
        foreseen = float(np.average(expected[rows], weights=amount))
        rates.append(TieRate(float(gap[rows].min()), float(gap[rows].max()), foreseen, tied, float(amount.sum())))
    return rates
