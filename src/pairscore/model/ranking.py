"""Scores with intervals, ranks with intervals, and the difference of two items."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.stats import chi2, norm

from pairscore.core.outcomes import averaged_probabilities
from pairscore.data.items import Items
from pairscore.data.tables import Columns
from pairscore.errors import PairscoreError
from pairscore.estimators.results import Known, feature_keys

if TYPE_CHECKING:
    from pairscore.model.regression import RankRegression

REFERENCE_ITEMS = 5000  # each rank interval compares an item with at most this many others
# items at a time, so that their differences from all of those stay in the processor's cache
BLOCK = 64
MULTIPLICITY = (
    "Each interval holds for its own item 19 times of 20; among many items some will miss. Rank"
    " intervals count the items that differ from this one at the same level. With simultaneous=True"
    " all intervals hold together 19 times of 20."
)


@dataclass(frozen=True)
class Difference:
    """Score difference of two items, with its interval, and the probability that the first wins."""

    difference: float
    low: float
    high: float
    probability: float
    probability_low: float
    probability_high: float


def interval_width(level: float, n_features: int, simultaneous: bool) -> float:
    """How many standard errors an interval reaches.

    Normal for one score, Scheffe's for all at once.
    """
    if not 0 < level < 1:
        raise PairscoreError(f"level is {level!r}; use a number between 0 and 1, such as 0.95.")
    return (
        float(np.sqrt(chi2.ppf(level, n_features)))
        if simultaneous
        else float(norm.ppf(0.5 + level / 2))
    )


def item_scores(values: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """x'coef of every row, the same to the last bit for equal rows (the sums of BLAS depend on
    where a row stands).
    """
    return np.einsum("ij,j->i", values, coef)


def shared_ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each score, sorted best first.

    One more than the number of better ones, so that equal scores share the best rank.

    >>> shared_ranks(np.array([9.0, 7.0, 7.0, 4.0])).tolist()
    [1, 2, 2, 4]
    """
    return 1 + np.searchsorted(-scores, -scores, side="left")


def score_errors(centred: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard error of each score, relative to the average training item."""
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", centred @ covariance, centred), 0.0))


def rank_intervals(
    scores: np.ndarray, centred: np.ndarray, covariance: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Best and worst rank of each item: how many others are surely better, and surely worse.

    Items are sorted best first. Beyond REFERENCE_ITEMS, an item is compared with that many others
    evenly spaced in rank, and counts are scaled up.
    """
    return rank_intervals_by_pieces(
        scores, np.arange(len(scores)), lambda: [centred], covariance, width
    )


def rank_intervals_by_pieces(
    scores: np.ndarray,
    order: np.ndarray,
    centred_pieces: Callable[[], Iterable[np.ndarray]],
    covariance: np.ndarray,
    width: float,
    extra_variance: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """As ``rank_intervals``, in the order of ``order``, of items whose features come in pieces and
    in any order.

    ``extra_variance`` of each score is its own; an item differs from itself by nothing, so how wide
    that interval is does not matter.
    """
    n = len(scores)
    reference = order[np.unique(np.linspace(0, n - 1, min(n, REFERENCE_ITEMS)).round().astype(int))]
    others = _picked(centred_pieces(), reference)
    twice_projected = -2 * covariance @ others.T
    own_others = np.einsum("ij,ij->i", others @ covariance, others)
    own_others = own_others if extra_variance is None else own_others + extra_variance[reference]
    better, worse = np.zeros(n), np.zeros(n)
    first = 0
    for piece in centred_pieces():
        for block in (piece[start : start + BLOCK] for start in range(0, len(piece), BLOCK)):
            rows = slice(first, first := first + len(block))
            # the variance of each difference, then how far its interval reaches
            reach = block @ twice_projected
            reach += own_others
            reach += np.einsum("ij,ij->i", block @ covariance, block)[:, None]
            if extra_variance is not None:
                reach += extra_variance[rows, None]
            np.sqrt(np.maximum(reach, 0.0, out=reach), out=reach)
            reach *= width
            reach += 1e-12 * np.abs(scores[rows, None])
            gap = scores[reference] - scores[rows, None]
            better[rows], worse[rows] = (
                np.count_nonzero(gap > reach, axis=1),
                np.count_nonzero(gap < -reach, axis=1),
            )
    share = n / len(reference)
    rank = shared_ranks(scores[order])
    low = np.minimum(1 + np.floor(better[order] * share), rank)
    high = np.maximum(n - np.floor(worse[order] * share), rank)
    return low.astype(int), high.astype(int)


def _picked(pieces: Iterable[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Some rows of a matrix that comes in pieces."""
    picked, first = [], 0
    by_row = np.sort(rows)
    for piece in pieces:
        here = by_row[np.searchsorted(by_row, first) : np.searchsorted(by_row, first + len(piece))]
        picked.append(piece[here - first])
        first += len(piece)
    return np.concatenate(picked)[np.searchsorted(by_row, rows)]


def rank_pieces(
    model: "RankRegression",
    pieces: Callable[[], Iterable[np.ndarray]],
    *,
    ids: Callable[[], np.ndarray | None] = lambda: None,
    level: float = 0.95,
    simultaneous: bool = False,
) -> dict[str, np.ndarray]:
    """Rank items whose features come in pieces, so that never more than one piece is in memory.

    ``pieces()`` gives feature matrices, the same ones each time it is called (three times with
    intervals, once without). Columns as in ``RankRegression.rank``, with the number of the row for
    the id.
    ``ids()``, asked after the first pass, names the items for a model that knows some of them.
    """
    kept: list[tuple[np.ndarray, ...]] = [
        (np.empty(0), np.empty(0), np.empty(0, bool), np.empty(0, bool), np.empty(0, np.uint64))
    ]
    covariance = model.covariance_
    for values in pieces():
        centred = values - model.feature_mean_
        errors = (
            np.full(len(values), np.nan)
            if covariance is None
            else score_errors(centred, covariance)
        )
        unknown = model.undetermined_contrasts(centred)
        outside = unknown | ((values < model.feature_min_) | (values > model.feature_max_)).any(
            axis=1
        )
        keys = (
            np.zeros(len(values), np.uint64)
            if model.item_effects_ is None
            else feature_keys(values)
        )
        kept.append(
            (
                item_scores(values, model.coef_),
                np.where(unknown, np.nan, errors),
                unknown,
                outside,
                keys,
            )
        )
    scores, errors, unknown, outside, keys = (
        np.concatenate(column) for column in zip(*kept, strict=True)
    )
    if len(scores) == 0:
        raise PairscoreError("there are no items to rank; give one row for each item.")
    known = None if model.item_effects_ is None else model.item_effects_.known(ids(), keys)
    if known is not None:
        scores, errors = (
            scores + known.effect,
            np.sqrt((known.share * errors) ** 2 + known.variance),
        )
    n, order = len(scores), np.argsort(-scores, kind="stable")
    low_rank, high_rank = np.ones(n, dtype=int), np.full(n, n)
    width = interval_width(level, model.n_features_in_, simultaneous)
    if simultaneous and known is not None:
        # every item has an error of its own: n scores and n (n - 1) / 2 differences
        width = interval_width(1 - 2 * (1 - level) / (n * (n + 1)), 1, False)
    if covariance is not None:
        extra = None if known is None else known.variance
        low_rank, high_rank = rank_intervals_by_pieces(
            scores, order, lambda: _centred(model, pieces(), known), covariance, width, extra
        )
    scores, reach, unknown = scores[order], width * errors[order], unknown[order]
    return {
        "row": order, "score": scores, "low": scores - reach, "high": scores + reach, "rank": shared_ranks(scores),
        "rank_low": np.where(unknown, 1, low_rank), "rank_high": np.where(unknown, n, high_rank), "outside": outside[order],
    }  # fmt: skip


def _centred(
    model: "RankRegression", pieces: Iterable[np.ndarray], known: Known | None
) -> Iterator[np.ndarray]:
    """Features as far as their coefficients' error is left in the scores."""
    first = 0
    for values in pieces:
        rows = slice(first, first := first + len(values))
        yield (
            values - model.feature_mean_
            if known is None
            else known.share[rows, None] * (values - model.feature_mean_)
        )


def as_callers_kind(columns: dict[str, Any], items: Items) -> Any:
    """A table of the caller's kind; a NumPy structured array for those who came with arrays."""
    if items.backend in (dict, Columns):
        return {name: np.asarray(values) for name, values in columns.items()}
    if items.backend is None:
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        table = np.empty(
            len(next(iter(arrays.values()))),
            dtype=[(name, values.dtype) for name, values in arrays.items()],
        )
        for name, values in arrays.items():
            table[name] = values
        return table
    return nw.from_dict(columns, backend=items.backend).to_native()


def item_difference(model: "RankRegression", a: Items, b: Items, level: float) -> Difference:
    """Score of the one item in ``a`` minus that of the one in ``b``."""
    gap = a.values[0] - b.values[0]
    value, left_over, variance = float(gap @ model.coef_), gap, 0.0
    one, other = model.known_items(a), model.known_items(b)
    if one is not None and other is not None:
        value += float(one.effect[0] - other.effect[0])
        left_over = one.share[0] * (a.values[0] - model.feature_mean_) - other.share[0] * (
            b.values[0] - model.feature_mean_
        )
        variance = (
            0.0 if one.row[0] == other.row[0] >= 0 else float(one.variance[0] + other.variance[0])
        )
    error = (
        np.nan
        if model.covariance_ is None
        else float(np.hypot(score_errors(left_over[None], model.covariance_)[0], np.sqrt(variance)))
    )
    error = np.nan if model.undetermined_contrasts(gap[None])[0] else error
    reach = interval_width(level, 1, False) * error
    ends = np.array([value, value - reach, value + reach])
    loss, _, win = averaged_probabilities(
        model.outcome_law, ends, np.array([np.sqrt(variance), 0.0, 0.0])
    )
    return Difference(*ends.tolist(), *(win / (win + loss)).tolist())
