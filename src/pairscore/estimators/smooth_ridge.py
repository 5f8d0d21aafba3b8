"""The ridge of a smooth part: how much stronger than that of the other features, chosen from data.

A smooth part has many features, of which each matters little. For every weight, the ridge is chosen
on the same held-out comparisons; a weight stays if these are predicted better than without a smooth
part, by more than a parameter is worth.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pairscore.data.items import Items
from pairscore.data.recipe import n_smooth
from pairscore.errors import PairscoreError
from pairscore.estimators.ridge import NO_SMOOTH_PART
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting
from pairscore.parallel import Workers

if TYPE_CHECKING:
    from pairscore.estimators.ridge_choice import RidgeCurve

WEIGHTS = (1.0, 10.0, 100.0)
FEWEST_ITEMS = 100  # compared, below which a smooth part does more harm than good
WORTH = 2.0  # log-loss of all comparisons that a smooth part has to gain


def weights_of(items: Items, smooth_weight: float) -> tuple[float, ...]:
    """The weight of each feature, 1 but in the smooth part; none without such a part."""
    p = n_smooth(items.recipe)
    if not p:
        return ()
    d = len(items.feature_names)
    return (1.0,) * (d - p) + (smooth_weight,) * p


def refuse_no_ridge(items: Items, settings: Settings) -> None:
    """A smooth part without a ridge would fit noise."""
    if not n_smooth(items.recipe):
        return
    if settings.method != "mle":
        raise PairscoreError(
            "a smooth part is fitted by maximum likelihood",
            "use " + Setting("method", "mle"),
        )
    if not settings.choose_l2 and not settings.ridge:
        raise PairscoreError(
            "a smooth part needs a ridge, without which it would fit noise",
            "use " + Setting("l2", "auto"),
        )


def choose_smooth_ridge(
    data: TableData, settings: Settings, item_groups: np.ndarray | None, workers: Workers
) -> "RidgeCurve":
    """The ridge, and with a smooth part the weight of its features."""

    from pairscore.estimators.ridge_choice import choose_ridge

    def choice(weights: tuple[float, ...]) -> "RidgeCurve":
        rng = np.random.default_rng(0)  # assigns items or comparisons to folds
        return choose_ridge(
            data, replace(settings, ridge_weights=weights), rng, item_groups, workers
        )

    items = data.comparisons.items
    if not n_smooth(items.recipe):
        return choice(())
    best = replace(choice(weights_of(items, NO_SMOOTH_PART)), smooth_weight=NO_SMOOTH_PART)
    if data.n_items < FEWEST_ITEMS or not best.n_held_out:
        return best
    lowest = best.held_out_loss - WORTH / data.tally.n_comparisons
    for weight in WEIGHTS:
        one = choice(weights_of(items, weight))
        if one.n_held_out and one.held_out_loss < lowest:
            best = replace(one, smooth_weight=weight)
            lowest = one.held_out_loss
    return best
