"""The items of a report: ranks, scores, comparisons of each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairscore.core.sums import net_per_item
from pairscore.data.comparisons import Comparisons
from pairscore.model.predict import Scale, expected_outcomes
from pairscore.model.ranking import rank_pieces

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

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
    model: "RankRegression", data: Comparisons, scale: Scale
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


# -- what items did, and what the model expects ----------------------------------------------------


def comparisons_per_item(data: Comparisons) -> np.ndarray:
    """How often each item was compared with another; weights do not matter here."""
    count = (data.left != data.right) * (1 if data.count is None else data.count)
    n = len(data.items)
    return np.bincount(data.left, count, n) + np.bincount(data.right, count, n)


def item_residuals(
    data: Comparisons, mean: np.ndarray, variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Net wins of each item, what the model expects of them, and the standardised difference.

    ``mean`` and ``variance`` are those of each outcome as a share of the win, 1, 1/2 or 0; in net
    wins, 1, 0 or -1, that is 2 mean - 1 and 4 variance. A row that stands for several comparisons
    has several such variances. The difference is NaN for an item that was never compared with
    another, or only in ties that were left out.
    """
    n, amount, two_items = len(data.items), data.amount, data.left != data.right
    variance = two_items * 4 * variance * data.importance * amount
    net_wins = net_per_item(data.left, data.right, amount * data.outcome, n)
    expected = net_per_item(data.left, data.right, amount * (2 * mean - 1), n)
    sd = np.sqrt(np.bincount(data.left, variance, n) + np.bincount(data.right, variance, n))
    residual = np.divide(net_wins - expected, sd, out=np.full(n, np.nan), where=sd > 0)
    return net_wins, expected, residual


def item_information(data: Comparisons, probability: np.ndarray) -> np.ndarray:
    """What the variance of a small effect of the item adds to its squared residual, shape (N,).

    An effect u moves an outcome by 2 u p(1 - p). Net wins have the variance 4 sum p(1 - p), to
    which any two comparisons of the item add 4 p(1 - p) p'(1 - p') times that of u; weighted ones
    count by amount and importance. NaN for an item that was never compared.
    """
    n, p = len(data.items), probability * (1 - probability) * (data.left != data.right)
    amount, square = data.amount, data.amount * data.importance
    moved, alone, variance = (
        np.bincount(data.left, values, n) + np.bincount(data.right, values, n)
        for values in (amount * p, square * p**2, square * p)
    )
    return np.divide(moved**2 - alone, variance, out=np.full(n, np.nan), where=variance > 0)
