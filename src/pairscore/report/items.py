"""The items of a report: read, ranked, with the comparisons of each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pairscore.core.passes import net_pass
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, read_items, with_features
from pairscore.data.recipe import apply_recipe, recipe_of, with_terms
from pairscore.errors import PairscoreError
from pairscore.messages import Value
from pairscore.model.predict import expected_outcomes, neutral_chances
from pairscore.model.ranks import rank_pieces
from pairscore.model.score_scales import ScoreScale

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

MOST_BARS = 24
LEADING = 8  # items whose chances against each other are shown


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


def read_comparisons(model: "RankRegression", items: Any, votes: Any) -> Comparisons:
    """Read the comparisons, and refuse what the model cannot say anything about.

    ``items`` may be Comparisons, which are taken as they are; ``votes`` is None then. Of a table of
    items, the columns that the model was fitted with are taken.
    """
    check_is_fitted(model)
    if model.n_items_ is None:
        raise PairscoreError(
            "the model was fitted to differences and knows no items, so there is nothing to rank in"
            " a report",
            "fit it to items and comparisons",
        )
    data = items if isinstance(items, Comparisons) else _read_tables(model, items, votes)
    names = model.result_.names
    if names:
        items = with_terms(recipe_of(model), data.items)
        data = data.with_items(with_features(items, names))
    if names and not np.ptp(data.items.values[data.compared], axis=0).any():
        raise PairscoreError(
            "no feature varies among the compared items, so that all have the same score and a"
            " report has nothing to show; give features that differ."
        )
    return data.with_relative_weights()


def _read_tables(model: "RankRegression", items: Any, votes: Any) -> Comparisons:
    """Comparisons of tables of any kind; more columns than those of the fit do no harm."""
    names, seed, context = model.result_.names, model.record_.get("seed") or 0, model.context or ()
    if not names:
        if items is not None:
            raise PairscoreError(
                "the model was fitted to comparisons alone and knows no features",
                ["leave the items out", "give " + Value(None) + " in their place"],
            )
        return Comparisons.from_frames(None, votes, seed=seed, context=context)[0]
    by_recipe = model.recipe_ is not None and not isinstance(items, Items)
    table = apply_recipe(recipe_of(model), items) if by_recipe else read_items(items, names)
    return Comparisons.from_frames(table, votes, seed=seed, context=context)[0]


def ranked_items(
    model: "RankRegression", data: Comparisons, scale: ScoreScale
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


def leading_chances(
    model: "RankRegression", data: Comparisons, ranked: list[RankedItem]
) -> list[list[float]]:
    """Wins of 100 of each of the first items against each of them, a list for each."""
    names = np.array([item.name for item in ranked[:LEADING]])
    items, k = data.items.take(data.items.find_rows_by_text(names)), len(names)
    one, other = np.divmod(np.arange(k * k), k)
    return (100 * neutral_chances(model.result_, items, one, other)).reshape(k, k).tolist()


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
    net_wins = net_pass(data.left, data.right, amount * data.outcome, n)
    expected = net_pass(data.left, data.right, amount * (2 * mean - 1), n)
    sd = np.sqrt(np.bincount(data.left, variance, n) + np.bincount(data.right, variance, n))
    residual = np.divide(net_wins - expected, sd, out=np.full(n, np.nan), where=sd > 0)
    return net_wins, expected, residual
