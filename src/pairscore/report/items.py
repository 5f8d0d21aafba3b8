"""The items of a report: ranks, scores, comparisons of each."""

from dataclasses import dataclass

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.model.predict import Scale, expected_outcomes
from pairscore.model.ranking import rank_pieces
from pairscore.model.regression import RankRegression
from pairscore.report.checks import comparisons_per_item, item_residuals

MOST_BARS = 24


@dataclass(frozen=True)
class RankedItem:
    """An item with its rank, score and comparisons.

    ``wins_of_100`` is against the average compared item; ``residual`` is standardised, and NaN for
    an item that was never compared; ``outside`` says that a feature lies beyond all compared items;
    ranks are among the items of the same ``group``, or among all where that is empty. Places are
    those among the compared items of the fit, zero where they are not known.
    """

    name: str
    rank: int
    rank_low: int
    rank_high: int
    score: float
    low: float
    high: float
    wins_of_100: float
    comparisons: float
    net_wins: float
    expected: float
    residual: float
    outside: bool
    group: str = ""
    place_low: int = 0
    place_high: int = 0


@dataclass(frozen=True)
class Bar:
    """How many items were compared from ``low`` to ``high`` times."""

    low: int
    high: int
    items: int


def ranked_items(
    model: RankRegression, data: Comparisons, scale: Scale
) -> tuple[list[RankedItem], np.ndarray]:
    """The items, highest first, and a mask of those outside in the order of the table."""
    ranking = rank_pieces(model.result_, lambda: [data.items.values], ids=lambda: data.items.ids)
    row, names = ranking["row"], data.items.names
    chance = model.outcome_law.win_chance(ranking["score"])
    by_item = (
        comparisons_per_item(data),
        *item_residuals(data, *expected_outcomes(model.result_, data)),
    )
    columns = [ranking[name] for name in ("rank", "rank_low", "rank_high")]
    columns += [scale.show(ranking[name]) for name in ("score", "low", "high")]
    columns += [100 * chance, *(values[row] for values in by_item), ranking["outside"]]
    columns.append(ranking.get("group", np.full(len(row), "")))
    nowhere = np.zeros(len(row), dtype=int)
    columns += [ranking.get(name, nowhere) for name in ("place_low", "place_high")]
    outside = np.zeros(len(names), dtype=bool)
    outside[row] = ranking["outside"]
    cells = zip(row.tolist(), *(column.tolist() for column in columns), strict=True)
    return [RankedItem(str(names[item]), *values) for item, *values in cells], outside


def exposure_bars(number: np.ndarray) -> list[Bar]:
    """Histogram of comparisons per item: at most 24 bars of one width, the first from zero."""
    width = int(max(np.ceil((number.max() + 1) / MOST_BARS), 1))
    counts = np.bincount((number // width).astype(int)).tolist()
    return [Bar(k * width, k * width + width - 1, count) for k, count in enumerate(counts)]
