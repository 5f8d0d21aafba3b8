"""The items of a report: read, ranked, with the comparisons of each, and the shape of them all."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg
from sklearn.utils.validation import check_is_fitted

from pairscore.core.linear_systems import solve_by_factor
from pairscore.core.links import Link
from pairscore.core.passes import net_pass
from pairscore.core.quantiles import chi_square_p
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, read_items, with_features
from pairscore.data.recipe import apply_recipe, recipe_of
from pairscore.errors import PairscoreError
from pairscore.evaluation.residuals import expected_outcomes
from pairscore.model.predict import neutral_chances
from pairscore.model.ranks import rank_pieces
from pairscore.model.score_scales import ScoreScale

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

MOST_BARS = 24
LEADING = 8  # items whose chances against each other are shown
REFERENCE = 500  # scores that stand for all others in an item's expected win rate


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
            " a report; fit it to items and votes."
        )
    data = items if isinstance(items, Comparisons) else _read_tables(model, items, votes)
    names = model.result_.names
    data = data.with_items(with_features(data.items, names)) if names else data
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
                "the model was fitted to comparisons alone and knows no features; give None in"
                " place of the items."
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


def equal_items_p(data: Comparisons) -> float:
    """p-value of the score test that all items are equal, whatever the advantage of a side.

    With equal items a row adds amount * outcome to the net wins of its left item, with the variance
    w = v * amount * importance, v that of an outcome. Net wins s have the covariance L, the
    Laplacian of w; with left's net wins T of all rows, of variance W = sum(w), they have the
    covariance h, the net w of each item. Free of the side, s - h T/W has the covariance L - hh'/W,
    whose pseudo-inverse is L+ + L+hh'L+ / (W - h'L+h).
    """
    n, y, ends = len(data.items), data.outcome.astype(float), (data.left, data.right)
    amount = data.amount * (data.left != data.right)
    w = amount * data.importance
    mean = float(w @ y / w.sum()) * data.sides_known
    w = w * max(float(w @ y**2 / w.sum()) - mean**2, np.finfo(float).tiny)
    s, h = (net_pass(*ends, part, n) for part in (amount * y, w))
    pairs = sparse.csr_array((w, ends), shape=(n, n))
    pairs = pairs + pairs.T
    L = sparse.diags_array(pairs.sum(axis=1)) - pairs
    freedom = n - connected_components(pairs, directed=False)[0]
    if not data.sides_known:
        return chi_square_p(s @ _solve(L, s), freedom)
    s, W = s - h * float(amount @ y / w.sum()), float(w.sum())
    along, rest = _solve(L, s), W - float(h @ _solve(L, h))
    if rest < 1e-6 * W:  # the side cannot be told from the items
        return chi_square_p(s @ along, freedom - 1)
    return chi_square_p(s @ along + float(h @ along) ** 2 / rest, freedom)


def _solve(L: sparse.sparray, right: np.ndarray) -> np.ndarray:
    """L+ times a vector whose sum over every connected part is zero, up to a constant there."""
    solved, unfinished = cg(L, right, rtol=1e-10, maxiter=20 * len(right) + 1000)
    if not unfinished:
        return solved
    lift = 1e-12 * float(L.diagonal().max())  # makes each part, free by a constant, invertible
    return solve_by_factor(L + lift * sparse.eye_array(len(right)), right)


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


# -- the shape of all items -----------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """How far the items are from an elliptical distribution, which closed forms need.

    ``tilt`` is the angle in degrees by which their shape turns a closed form (0 if elliptical),
    ``chance`` the one that as many elliptical items typically show, ``kurtosis`` E|z|^4 over
    d(d + 2) (1 if normal), and ``skewness_p`` the p-value of E z|z|^2 = 0, which holds for every
    elliptical distribution.
    """

    tilt: float
    chance: float
    kurtosis: float
    skewness_p: float


def shape_of(z: np.ndarray, score: np.ndarray, link: Link) -> Shape:
    """Measure what the whitened items ``z`` (n x d) lack of an elliptical distribution.

    With random pairs, and if ``score`` (n) is the true one, a closed form points at E[z h(s)],
    h(s) = E[2f(s - s') - 1] an item's expected win rate. Of that, E[t h] lies along the
    standardised score t and E[u h] across, u = z less what t explains; for an elliptical
    distribution the latter is zero. Its square is reduced by its noise, mean(|u|^2 r^2)/n, r the
    part of h that is not linear in t.

    Mardia's kurtosis is E|z|^4. For an elliptical distribution mean(z|z|^2) has mean 0 and, in
    each direction, variance E[|z|^2 (|z|^2 - d - 2)^2]/(d n).
    """
    n, d = z.shape
    square = np.sum(z**2, axis=1)
    lean = np.mean(z * square[:, None], axis=0)
    variance = float(np.mean(square * (square - d - 2) ** 2)) / (d * n)
    skewness_p = chi_square_p(lean @ lean / variance, d) if variance > 0 else 1.0
    return Shape(*_tilt(z, score, link), float(np.mean(square**2) / (d * (d + 2))), skewness_p)


def _tilt(z: np.ndarray, score: np.ndarray, link: Link) -> tuple[float, float]:
    """The angle in degrees, and that of its noise."""
    centred = score - score.mean()
    if not centred.any() or z.shape[1] == 1:
        return 0.0, 0.0
    others = np.quantile(score, (np.arange(REFERENCE) + 0.5) / REFERENCE)
    blocks = np.array_split(score, 1 + len(score) // 1000)
    h = np.concatenate([np.mean(2 * link.cdf(s[:, None] - others) - 1, axis=1) for s in blocks])
    t = centred / centred.std()
    u = z - np.outer(t, t @ z / len(z))
    along = float(t @ h / len(z))
    r = h - h.mean() - along * t
    noise = np.mean(np.sum(u**2, axis=1) * r**2) / len(z)
    across = np.sum(np.mean(u * r[:, None], axis=0) ** 2) - noise
    tilts = np.degrees(np.arctan2(np.sqrt([max(across, 0.0), noise]), along))
    return float(tilts[0]), float(tilts[1])
