"""Scores with intervals, ranks with intervals, and the difference of two items."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.special import expit, gammaincinv, logit, softmax

from pairscore.core.links import normal_width
from pairscore.core.outcomes import averaged_probabilities
from pairscore.data.comparisons import Comparisons
from pairscore.data.folds import feature_keys
from pairscore.data.items import Items
from pairscore.data.tables import Columns, as_frame, to_array
from pairscore.errors import PairscoreError
from pairscore.estimators.results import Fit, KnownItems
from pairscore.files.write import html_text
from pairscore.model.groups import OpenPart, number_groups, without_open_part
from pairscore.model.predict import (
    average_score,
    contrast_errors,
    difference_spread,
    item_scores,
    known_items,
    linear_scores,
    outcome_probabilities,
    place_among_fitted,
    refuse_unknown_abilities,
    scale_of,
    score_differences,
    score_errors,
    shared_ranks,
)

REFERENCE_ITEMS = 5000  # each rank interval compares an item with at most this many others
# items at a time, so that their differences from all of those stay in the processor's cache
BLOCK = 64
MULTIPLICITY = (
    "Each interval holds for its own item 19 times out of 20; among many items some will miss. Rank"
    " intervals count the items that differ from this one at the same level. With simultaneous=True"
    " all intervals hold together 19 times out of 20."
)
Pieces = Callable[[], Iterable[np.ndarray]]


@dataclass(frozen=True)
class Difference:
    """Score difference of two items, with its interval, and the probability that the first wins."""

    difference: float
    low: float
    high: float
    probability: float
    probability_low: float
    probability_high: float

    def _repr_html_(self) -> str:
        value, low, high, *chance = vars(self).values()
        rows = ("score difference", value, low, high), ("chance that the first wins", *chance)
        columns = dict(zip(("", "estimate", "low", "high"), zip(*rows, strict=True), strict=True))
        return html_text("Difference of two items", (), columns)


def scheffe_width(level: float, n_features: int) -> float:
    """How many standard errors intervals reach that hold for all scores at once (Scheffe 1953).

    The root of the chi-square quantile with one degree of freedom per feature.
    """
    normal_width(level)  # refuses a level outside of (0, 1)
    return float(np.sqrt(2 * gammaincinv(n_features / 2, level)))


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
    centred_pieces: Pieces,
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
    others = _rows_of_pieces(centred_pieces(), reference)
    twice_projected = -2 * covariance @ others.T
    variance = np.zeros(n) if extra_variance is None else extra_variance
    other_variance = np.einsum("ij,ij->i", others @ covariance, others) + variance[reference]
    better, worse = np.zeros(n), np.zeros(n)
    for rows, block in _blocks(centred_pieces()):
        # the variance of each difference, then how far its interval reaches
        half = block @ twice_projected
        half += other_variance
        half += (np.einsum("ij,ij->i", block @ covariance, block) + variance[rows])[:, None]
        np.sqrt(np.maximum(half, 0.0, out=half), out=half)
        half *= width
        half += 1e-12 * np.abs(scores[rows, None])
        gap = scores[reference] - scores[rows, None]
        better[rows] = np.count_nonzero(gap > half, axis=1)
        worse[rows] = np.count_nonzero(gap < -half, axis=1)
    share = n / len(reference)
    rank = shared_ranks(scores[order])
    low = np.minimum(1 + np.floor(better[order] * share), rank)
    high = np.maximum(n - np.floor(worse[order] * share), rank)
    return low.astype(int), high.astype(int)


def _blocks(pieces: Iterable[np.ndarray]) -> Iterator[tuple[slice, np.ndarray]]:
    """A few rows at a time, with where they stand among all."""
    first = 0
    for piece in pieces:
        for start in range(0, len(piece), BLOCK):
            block = piece[start : start + BLOCK]
            yield slice(first, first + len(block)), block
            first += len(block)


def _rows_of_pieces(pieces: Iterable[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Some rows of a matrix that comes in pieces."""
    picked, first = [], 0
    by_row = np.sort(rows)
    for piece in pieces:
        here = by_row[np.searchsorted(by_row, first) : np.searchsorted(by_row, first + len(piece))]
        picked.append(piece[here - first])
        first += len(piece)
    return np.concatenate(picked)[np.searchsorted(by_row, rows)]


@dataclass(frozen=True)
class _ItemTable:
    """Of items in the order of their table: score, its error, what is unknown or outside.

    ``place`` and ``size`` say which group an item is of; they have no rows where there are none.
    """

    score: np.ndarray
    error: np.ndarray
    unknown: np.ndarray
    outside: np.ndarray
    key: np.ndarray
    place: np.ndarray
    size: np.ndarray

    @classmethod
    def of_features(cls, fit: Fit, values: np.ndarray) -> "_ItemTable":
        n, centred = len(values), values - fit.feature_mean
        unknown, part = fit.undetermined_contrasts(centred), OpenPart.none()
        if fit.n_groups > 1:  # relative to an average item of the same group
            centred = without_open_part(fit, centred)
            unknown, part = np.zeros(n, dtype=bool), OpenPart.of_values(fit, values)
        errors = np.full(n, np.nan)
        if fit.covariance is not None:
            errors = np.where(unknown, np.nan, score_errors(centred, fit.covariance))
        beyond = ((values < fit.feature_min) | (values > fit.feature_max)).any(axis=1)
        keys = np.zeros(n, np.uint64) if fit.item_effects is None else feature_keys(values)
        scores = linear_scores(values, fit.coef)
        return cls(scores, errors, unknown, unknown | beyond, keys, part.place, part.size)

    @classmethod
    def of_pieces(cls, fit: Fit, pieces: Iterable[np.ndarray]) -> "_ItemTable":
        empty = np.empty((0, fit.n_features))
        tables = [cls.of_features(fit, empty), *(cls.of_features(fit, piece) for piece in pieces)]
        columns = zip(*(vars(table).values() for table in tables), strict=True)
        return cls(*map(np.concatenate, columns))


def rank_pieces(
    fit: Fit,
    pieces: Pieces,
    *,
    ids: Callable[[], np.ndarray | None] = lambda: None,
    level: float = 0.95,
    simultaneous: bool = False,
    scale: str = "link",
) -> dict[str, np.ndarray]:
    """Rank items whose features come in pieces, so that only one piece is in memory at a time.

    Where the compared items fall into groups (``fit.n_groups``), ranks and their intervals count
    the items of the same group, groups stand one after the other, and a column ``group`` names
    them; all items are in memory then.

    Parameters
    ----------
    fit : Fit
    pieces : function
        Gives feature matrices with d columns, the same ones each time it is called (three times
        with intervals, once without).
    ids : function
        Asked after the first pass, names the items for a model that knows some of them.
    level : float
        Of the intervals.
    simultaneous : bool
        Whether all intervals hold together.
    scale : str
        What scores and their intervals are shown on (see ``pairscore.model.predict.scale_of``).

    Returns
    -------
    Columns as in ``RankRegression.rank``, best item first, with the row number for the id.
    """
    show = scale_of(fit, scale).show
    table = _ItemTable.of_pieces(fit, pieces())
    n, scores, errors = len(table.score), table.score, table.error
    if n == 0:
        raise PairscoreError("there are no items to rank; give one row for each item.")
    known = None if fit.item_effects is None else fit.item_effects.known(ids(), table.key)
    variance = np.where(table.unknown, np.inf, 0.0)  # nothing is surely better than the unknown
    if known is not None:
        scores = scores + known.effect
        refuse_unknown_abilities(fit, scores)
        errors = np.sqrt((known.share * errors) ** 2 + known.variance)
        variance += known.of_differences
    width = _width(fit, level, simultaneous, n)
    centred = partial(_centred, fit, pieces, known)
    groups = {}
    if fit.n_groups == 1:
        order, *ranks = _rank_rows(fit, scores, variance, centred, width)
    else:
        group, names = number_groups(fit, OpenPart(table.place, table.size))
        order, *ranks = _rank_groups(fit, scores, variance, centred, width, group)
        groups = {"group": names[group[order]]}
    scores, half = scores[order] - average_score(fit), width * errors[order]
    return {
        "row": order,
        "score": show(scores),
        "low": show(scores - half),
        "high": show(scores + half),
        **dict(zip(("rank", "rank_low", "rank_high"), ranks, strict=True)),
        "outside": table.outside[order],
        **groups,
        **place_among_fitted(fit, scores, errors[order], width),
    }


Ranks = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _rank_rows(
    fit: Fit, scores: np.ndarray, variance: np.ndarray, centred: Pieces, width: float
) -> Ranks:
    """Rows best first, with their rank, best rank and worst rank."""
    order, n = np.argsort(-scores, kind="stable"), len(scores)
    low, high = np.ones(n, dtype=int), np.full(n, n)
    if fit.covariance is not None:
        low, high = rank_intervals_by_pieces(
            scores, order, centred, fit.covariance, width, variance
        )
    return order, shared_ranks(scores[order]), low, high


def _rank_groups(
    fit: Fit,
    scores: np.ndarray,
    variance: np.ndarray,
    centred: Pieces,
    width: float,
    group: np.ndarray,
) -> Ranks:
    """As ``_rank_rows``, each group of items on its own and one after the other."""
    values = np.empty((len(scores), 0)) if fit.covariance is None else np.vstack(list(centred()))
    by_group = np.argsort(group, kind="stable")

    def ranked(rows: np.ndarray) -> Ranks:
        ranks = _rank_rows(fit, scores[rows], variance[rows], lambda: [values[rows]], width)
        return rows[ranks[0]], *ranks[1:]

    parts = map(ranked, np.split(by_group, np.cumsum(np.bincount(group))[:-1]))
    order, rank, low, high = map(np.concatenate, zip(*parts, strict=True))
    return order, rank, low, high


def _width(fit: Fit, level: float, simultaneous: bool, n: int) -> float:
    width = normal_width(level)  # refuses a level outside of (0, 1)
    if not simultaneous:
        return width
    if fit.item_effects is None:
        return scheffe_width(level, fit.n_features)
    # every item has an error of its own: n scores and n (n - 1) / 2 differences (Bonferroni)
    return normal_width(1 - 2 * (1 - level) / (n * (n + 1)))


def _centred(fit: Fit, pieces: Pieces, known: KnownItems | None) -> Iterator[np.ndarray]:
    """Features as far as their coefficients' error is left in the scores."""
    first = 0
    for values in pieces():
        rows = slice(first, first := first + len(values))
        centred = values - fit.feature_mean
        yield centred if known is None else known.share[rows, None] * centred


def table_like(items: Items, columns: dict[str, Any]) -> Any:
    """A table of the caller's kind; a NumPy structured array for those who came with arrays."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if items.backend in (dict, Columns):
        return arrays
    if items.backend is not None:
        return nw.from_dict(columns, backend=items.backend).to_native()
    kinds = [(name, values.dtype) for name, values in arrays.items()]
    table = np.empty(len(next(iter(arrays.values()))), dtype=kinds)
    for name, values in arrays.items():
        table[name] = values
    return table


def rank_items(fit: Fit, items: Items, **asked: Any) -> Any:
    """Rank the items of a table, as a table of the caller's kind; see :func:`rank_pieces`."""
    columns = rank_pieces(fit, lambda: [items.values], ids=lambda: items.ids, **asked)
    rows = columns.pop("row")
    return table_like(items, {"id": rows if items.ids is None else items.ids[rows], **columns})


def worth_table(fit: Fit, items: Items) -> Any:
    """Strengths proportional to exp(scale * score) that sum to one: a table with id and worth.

    Of two items, the first wins worth / (worth + worth of the second) of decided comparisons (with
    ties="rao-kupper", about); the scale is ``decided_scale``, 1 without ties.
    """
    if fit.link.name != "logit":
        raise PairscoreError(
            f"worth belongs to link='logit', and the link is {fit.link.name!r}; use rank."
        )
    if fit.n_groups > 1:
        raise PairscoreError(
            f"the items fall into {fit.n_groups} groups that were never compared with each other,"
            " so that strengths have no common unit; use rank, which ranks within groups."
        )
    scores = item_scores(fit, items)
    refuse_unknown_abilities(fit, scores)
    ids = np.arange(len(items)) if items.ids is None else items.ids
    return table_like(items, {"id": ids, "worth": softmax(fit.decided_scale * scores)})


def single_item(item: Any, read: Callable[[Any], Items]) -> Items:
    """One item, from a table of one row or its features in a row, as ``read`` reads tables."""
    # a pandas Series is one row with names
    if hasattr(item, "to_frame") and hasattr(item, "index"):
        item = item.to_frame().T.infer_objects()
    is_table = isinstance(item, Items | dict) or as_frame(item) is not None
    table = read(item if is_table else np.atleast_2d(to_array(item, "an item is")))
    if len(table) != 1:
        raise PairscoreError(
            "difference compares two single items, but one of them has"
            f" {len(table)} rows; give one row each."
        )
    return table


def item_difference(fit: Fit, a: Items, b: Items, level: float) -> Difference:
    """Score of the one item in ``a`` minus that of the one in ``b``."""
    gap = a.values[0] - b.values[0]
    value, left_over, variance = float(gap @ fit.coef), gap, 0.0
    first, second = known_items(fit, a), known_items(fit, b)
    if first is not None and second is not None:
        value += float(first.effect[0] - second.effect[0])
        refuse_unknown_abilities(fit, np.array([value]))
        left_over = first.share[0] * (a.values[0] - fit.feature_mean) - second.share[0] * (
            b.values[0] - fit.feature_mean
        )
        is_same = first.row[0] == second.row[0] >= 0
        variance = 0.0 if is_same else float(first.variance[0] + second.variance[0])
        if fit.item_effects is not None and not is_same:
            from pairscore.effects.item_posterior import shared_variance

            shared = shared_variance(fit.item_effects, first.row, second.row)
            variance = max(variance - 2 * float(shared[0]), 0.0)
    error = np.nan
    if fit.covariance is not None and not fit.undetermined_contrasts(gap[None])[0]:
        error = np.hypot(score_errors(left_over[None], fit.covariance)[0], np.sqrt(variance))
    half = normal_width(level) * float(error)
    ends = np.array([value, value - half, value + half])
    averaged = fit.item_effects is not None and not fit.item_effects.free
    sd = np.array([np.sqrt(variance) if averaged else 0.0, 0.0, 0.0])
    loss, _, win = averaged_probabilities(fit.outcome_law, ends, sd)
    return Difference(*ends.tolist(), *(win / (win + loss)).tolist())


# -- pairs -----------------------------------------------------------------------------------------


def pair_chances(fit: Fit, data: Comparisons, level: float) -> dict[str, np.ndarray]:
    """Chance that left wins each comparison, if it does not end in a tie, with its interval.

    Columns chance, low, high; and tie, tie_low, tie_high where ties have a probability; each (M,).
    With context, judge and side. The chance is averaged over what is not known of the items'
    effects; the interval is for the chance between these two items, whatever their effects.
    """
    eta, law = score_differences(fit, data), fit.outcome_law
    unknown = np.zeros(len(data)) if fit.item_effects is None else difference_spread(fit, data)
    half = normal_width(level) * np.hypot(unknown, contrast_errors(fit, data))
    loss, tie, win = outcome_probabilities(fit, data)
    (loss_low, tie_a, win_low), (loss_high, tie_b, win_high) = (
        law.probabilities(eta + reach) for reach in (-half, half)
    )
    columns = {
        "chance": win / (win + loss),
        "low": win_low / (win_low + loss_low),
        "high": win_high / (win_high + loss_high),
    }
    if not law.rule.has_parameter:
        return columns
    # a tie is likeliest where the two are equal
    at_zero = law.probabilities(np.zeros(1))[1]
    most = np.where(np.abs(eta) < half, at_zero, np.maximum(tie_a, tie_b))
    by_score = np.minimum(tie_a, tie_b), most
    return columns | {"tie": tie} | _tie_interval(fit, eta, tie, by_score, normal_width(level))


def _tie_interval(
    fit: Fit,
    eta: np.ndarray,
    tie: np.ndarray,
    by_score: tuple[np.ndarray, np.ndarray],
    width: float,
) -> dict[str, np.ndarray]:
    """Interval of the probability of a tie, from where the error of the score alone takes it.

    How far it reaches with the error of the tie parameter alone is added in squares, in log odds.
    """
    assert fit.effects is not None
    error = width * fit.effects.std_errors[fit.effects.kinds.index("tie")]
    law, ends = fit.outcome_law, {}
    here, middle = law.probabilities(eta)[1], logit(tie)
    for name, sign, end in (("tie_low", -1, by_score[0]), ("tie_high", 1, by_score[1])):
        moved = replace(law, t=law.t + sign * error).probabilities(eta)[1]
        reach = np.hypot(logit(end) - middle, logit(moved) - logit(here))
        ends[name] = expit(middle + sign * reach)
    return ends
