"""Ranks of items, with intervals of their scores and of their ranks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from pairscore.core.quantiles import scheffe_width
from pairscore.core.whitening import OPEN_SHARE
from pairscore.data.items import Items, feature_keys, table_like
from pairscore.effects.item_effects import KnownItems
from pairscore.errors import PairscoreError
from pairscore.estimators.recession import MOST_CONTRASTS
from pairscore.model.fit import Fit
from pairscore.model.item_lookup import refuse_unknown_abilities
from pairscore.model.open_directions import OpenPart, named_groups, without_open_part
from pairscore.model.predict import contrast_errors, linear_scores
from pairscore.model.score_scales import average_score, scale_of

# Each rank interval compares an item with at most this many others: time against ranks to 1/5000.
REFERENCE_ITEMS = 5000
# Compared items among which a new one is placed: time against places to a thousandth.
MOST_PLACES = 1000
# Items at a time, so that their differences from all of those stay in the processor's cache.
BLOCK = 64
SAME_SCORE = 1e-12  # share of a score: items nearer than that differ by rounding alone
WHOLE = 1e-9  # by which a scaled count may fall short of a whole number by rounding
MULTIPLICITY = (
    "Each interval holds for its own item 19 times out of 20; among many items some will miss. Rank"
    " intervals count the items that differ from this one at the same level. With simultaneous=True"
    " all intervals hold together 19 times out of 20."
)
Pieces = Callable[[], Iterable[np.ndarray]]


def rank_items(fit: Fit, items: Items, **asked: Any) -> Any:
    """Rank the items of a table, as a table of the caller's kind; see :func:`rank_pieces`."""
    columns = rank_pieces(fit, lambda: [items.values], ids=lambda: items.ids, **asked)
    rows = columns.pop("row")
    return table_like(items, {"id": rows if items.ids is None else items.ids[rows], **columns})


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

    Where the compared items fall into groups (``fit.open.n_groups``), ranks and their intervals
    count the items of the same group, groups stand one after the other, and a column ``group``
    names them; all items are in memory then.

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
        What scores and their intervals are shown on: see
        :func:`~pairscore.model.score_scales.scale_of`.

    Returns
    -------
    Columns as in ``RankRegression.rank``, best item first, with the row number for the id.
    """
    show = scale_of(fit, scale).show
    # how many items there are is not known before the first pass
    width_of_scores = _width(fit, level, simultaneous and fit.item_effects is None, None)
    table = _ItemTable.of_pieces(fit, pieces(), width_of_scores)
    scores = table.score
    errors = table.error
    if len(scores) == 0:
        raise PairscoreError("there are no items to rank; give one row for each item.")
    width = _width(fit, level, simultaneous, len(scores))
    held = table.held
    low = table.low
    high = table.high
    variance = np.where(table.unknown, np.inf, 0.0)  # nothing is surely better than the unknown
    known = None
    abilities = None
    if fit.item_effects is not None:
        named = ids()
        known = fit.item_effects.known(named, table.key)
        scores = scores + known.effect
        refuse_unknown_abilities(fit, scores, named)
        errors = np.sqrt((known.share * errors) ** 2 + known.variance)
        variance += known.of_differences
        abilities = OpenAbilities.of_items(fit, known, width)
    if abilities is not None:
        held = np.ones(len(scores), dtype=bool)
        low = abilities.low
        high = abilities.high
    centred = partial(_centred, fit, pieces, known)
    groups = {}
    if fit.open.n_groups == 1:
        ranks = _rank_rows(fit, scores, variance, centred, width, abilities)
    else:
        group, names = named_groups(fit, OpenPart(table.place, table.size))
        ranks = _rank_groups(fit, scores, variance, centred, width, group)
        groups = {"group": names[group[ranks.order]]}
    order = ranks.order
    scores = scores[order] - average_score(fit)
    errors = errors[order]
    held = held[order]
    low = np.where(held, np.minimum(low[order], scores), scores - width * errors)
    high = np.where(held, np.maximum(high[order], scores), scores + width * errors)
    return {
        "row": order,
        "score": show(scores),
        "low": show(low),
        "high": show(high),
        "rank": ranks.rank,
        "rank_low": ranks.low,
        "rank_high": ranks.high,
        "outside": table.outside[order],
        **groups,
        **place_among_fitted(fit, scores, errors, width),
    }


def _width(fit: Fit, level: float, simultaneous: bool, n: int | None) -> float:
    """Half of an interval in standard errors; ``n`` items, None where nobody knows yet."""
    width = fit.width(level)  # refuses a level outside of (0, 1)
    if not simultaneous:
        return width
    scheffe = scheffe_width(level, fit.n_features, fit.panel.df_error)
    if n is None or (fit.item_effects is None and fit.panel.df_error is None):
        return scheffe
    # where every item has an error of its own: n scores and n (n - 1) / 2 differences (Bonferroni)
    bonferroni = fit.width(1 - 2 * (1 - level) / (n * (n + 1)))
    return bonferroni if fit.item_effects is not None else min(scheffe, bonferroni)


def _centred(fit: Fit, pieces: Pieces, known: KnownItems | None) -> Iterator[np.ndarray]:
    """Features as far as their coefficients' error is left in the scores."""
    first = 0
    for values in pieces():
        rows = slice(first, first + len(values))
        first = rows.stop
        centred = values - fit.features.mean
        yield centred if known is None else known.share[rows, None] * centred


@dataclass(frozen=True)
class _ItemTable:
    """Of items in the order of their table: score, its error, what is unknown or outside.

    ``place`` and ``size`` say which group an item is of; they have no rows where there are none.
    Of scores that only a prior holds, ``held``, the interval ends at ``low`` and ``high``.
    """

    score: np.ndarray
    error: np.ndarray
    unknown: np.ndarray
    outside: np.ndarray
    key: np.ndarray
    place: np.ndarray
    size: np.ndarray
    held: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of_features(cls, fit: Fit, values: np.ndarray, width: float) -> "_ItemTable":
        n = len(values)
        centred = values - fit.features.mean
        unknown = fit.undetermined_contrasts(centred)
        part = OpenPart.none()
        if fit.open.n_groups > 1:  # relative to an average item of the same group
            centred = without_open_part(fit, centred)
            unknown = np.zeros(n, dtype=bool)
            part = OpenPart.of_values(fit, values)
        errors = np.full(n, np.nan)
        held = np.zeros(n, dtype=bool)
        low = np.full(n, -np.inf)
        high = np.full(n, np.inf)
        if fit.covariance is not None:
            held = fit.held_by_prior(centred) & ~unknown
            errors = np.where(unknown | held, np.nan, contrast_errors(centred, fit.covariance))
            if fit.item_effects is None:
                low[held], high[held] = fit.ends_by_comparisons(centred[held], width)
        beyond = ((values < fit.features.min) | (values > fit.features.max)).any(axis=1)
        keys = np.zeros(n, np.uint64) if fit.item_effects is None else feature_keys(values)
        return cls(
            score=linear_scores(values, fit.coef),
            error=errors,
            unknown=unknown,
            outside=unknown | beyond,
            key=keys,
            place=part.place,
            size=part.size,
            held=held,
            low=low,
            high=high,
        )

    @classmethod
    def of_pieces(cls, fit: Fit, pieces: Iterable[np.ndarray], width: float) -> "_ItemTable":
        empty = np.empty((0, fit.n_features))
        tables = [cls.of_features(fit, piece, width) for piece in chain([empty], pieces)]
        columns = {name: [vars(table)[name] for table in tables] for name in vars(tables[0])}
        return cls(**{name: np.concatenate(column) for name, column in columns.items()})


@dataclass(frozen=True)
class _Ranks:
    """Rows of items, best first, with the rank of each, and its best and worst."""

    order: np.ndarray
    rank: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _rank_rows(
    fit: Fit,
    scores: np.ndarray,
    variance: np.ndarray,
    centred: Pieces,
    width: float,
    abilities: "OpenAbilities | None" = None,
) -> _Ranks:
    """Rank all items together."""
    n = len(scores)
    order = np.argsort(-scores, kind="stable")
    low = np.ones(n, dtype=int)
    high = np.full(n, n)
    if fit.covariance is not None:
        held = abilities or HeldPairs.of_pieces(fit, n, centred, width)
        low, high = rank_intervals_by_pieces(
            scores, order, centred, fit.covariance, width, variance, held
        )
    return _Ranks(order, shared_ranks(scores[order]), low, high)


def _rank_groups(
    fit: Fit,
    scores: np.ndarray,
    variance: np.ndarray,
    centred: Pieces,
    width: float,
    group: np.ndarray,
) -> _Ranks:
    """Rank each group of items by itself, one after the other."""
    values = np.empty((len(scores), 0)) if fit.covariance is None else np.vstack(list(centred()))
    by_group = np.argsort(group, kind="stable")

    def ranked(rows: np.ndarray) -> _Ranks:
        ranks = _rank_rows(fit, scores[rows], variance[rows], lambda: [values[rows]], width)
        return replace(ranks, order=rows[ranks.order])

    parts = list(map(ranked, np.split(by_group, np.cumsum(np.bincount(group))[:-1])))
    return _Ranks(
        order=np.concatenate([part.order for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
    )


def shared_ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each score, sorted best first.

    One more than the number of better ones, so that equal scores share the best rank.

    >>> shared_ranks(np.array([9.0, 7.0, 7.0, 4.0])).tolist()
    [1, 2, 2, 4]
    """
    return 1 + np.searchsorted(-scores, -scores, side="left")


def rank_intervals_by_pieces(
    scores: np.ndarray,
    order: np.ndarray,
    centred_pieces: Pieces,
    covariance: np.ndarray,
    width: float,
    extra_variance: np.ndarray | None = None,
    held: "HeldPairs | OpenAbilities | None" = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Best and worst rank of each item: how many others are surely better, and surely worse.

    In the order of ``order``, best first, of items whose features come in pieces and in any order.
    Beyond REFERENCE_ITEMS, an item is compared with that many others evenly spaced in rank, and
    counts are scaled up. ``extra_variance`` of each score is its own; an item differs from itself
    by nothing, so how wide that interval is does not matter. ``held`` says of pairs of separated
    comparisons who is surely better.
    """
    n = len(scores)
    reference = order[np.unique(np.linspace(0, n - 1, min(n, REFERENCE_ITEMS)).round().astype(int))]
    share = n / len(reference)
    variance = np.zeros(n) if extra_variance is None else extra_variance
    if held is None:
        reference = reference[np.isfinite(variance[reference])]  # nothing is sure of the others
    others = _rows_of_pieces(centred_pieces(), reference)
    twice_projected = -2 * covariance @ others.T
    other_variance = np.einsum("ij,ij->i", others @ covariance, others) + variance[reference]
    largest_error = np.sqrt(other_variance.max(initial=0.0))
    better = np.zeros(n)
    worse = np.zeros(n)
    for rows, block in _blocks(centred_pieces(), scores):
        own_variance = np.einsum("ij,ij->i", block @ covariance, block) + variance[rows]
        # an error of a difference is at most the sum of two errors: the others are surely apart
        reach = width * (np.sqrt(own_variance.max()) + largest_error)
        near = slice(0, len(reference))
        if held is None:
            near = _within(scores[reference], scores[rows], (1 + SAME_SCORE) * reach)
        # the variance of each difference, then how far its interval reaches
        half = block @ twice_projected[:, near]
        half += other_variance[near]
        half += own_variance[:, None]
        np.sqrt(np.maximum(half, 0.0, out=half), out=half)
        half *= width
        half += SAME_SCORE * np.abs(scores[rows, None])
        gap = scores[reference[near]] - scores[rows, None]
        is_better = gap > half
        is_worse = gap < -half
        if held is not None:
            apart, above, below = held.surely(rows, reference, block, others)
            is_better = np.where(apart, above, is_better)
            is_worse = np.where(apart, below, is_worse)
        better[rows] = near.start + np.count_nonzero(is_better, axis=1)
        worse[rows] = len(reference) - near.stop + np.count_nonzero(is_worse, axis=1)
    rank = shared_ranks(scores[order])
    low = np.minimum(1 + np.floor(better[order] * share), rank)
    high = np.maximum(n - np.floor(worse[order] * share), rank)
    return low.astype(int), high.astype(int)


@dataclass(frozen=True)
class HeldPairs:
    """Pairs of items whose difference only a prior holds, because comparisons are separated.

    ``sure`` (n x n) says which item is nevertheless surely above which, by intervals that are open
    at one end; None where items are too many to look at all pairs, and then none is.
    """

    fit: Fit
    sure: np.ndarray | None

    @classmethod
    def of_pieces(cls, fit: Fit, n: int, pieces: Pieces, width: float) -> "HeldPairs | None":
        if fit.recession is None:
            return None
        if n * (n - 1) > 2 * MOST_CONTRASTS or fit.item_effects is not None:
            return cls(fit, None)
        values = np.concatenate([np.empty((0, fit.n_features)), *pieces()])
        first, second = np.triu_indices(n, 1)
        contrasts = values[first] - values[second]
        held = fit.held_by_prior(contrasts) & ~fit.undetermined_contrasts(contrasts)
        first = first[held]
        second = second[held]
        low, high = fit.ends_by_comparisons(contrasts[held], width)
        sure = np.zeros((n, n), dtype=bool)
        sure[first, second] = low > 0
        sure[second, first] = high < 0
        return cls(fit, sure)

    def surely(
        self, rows: np.ndarray, reference: np.ndarray, block: np.ndarray, others: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which pairs of an item of a block and a reference item only a prior holds.

        And of these, whether the reference item is surely better, and surely worse.
        """
        assert self.fit.recession is not None
        place, other = (self.fit.recession.places(values) for values in (block, others))
        largest = np.abs(other).max(initial=1.0)
        apart = np.abs(place[:, None] - other).max(axis=2) > OPEN_SHARE * largest
        if self.sure is None:
            nothing = np.zeros_like(apart)
            return apart, nothing, nothing
        return apart, self.sure[reference][:, rows].T, self.sure[rows][:, reference]


@dataclass(frozen=True)
class OpenAbilities:
    """Ends (n) of the intervals of abilities, of which some are open, and the items' components.

    Of two items of different components, one is surely above the other if its interval is.
    """

    low: np.ndarray
    high: np.ndarray
    component: np.ndarray

    @classmethod
    def of_items(cls, fit: Fit, known: KnownItems, width: float) -> "OpenAbilities | None":
        effects = fit.item_effects
        if effects is None or effects.components is None or fit.covariance is None:
            return None
        from pairscore.effects.open_abilities import ability_ends  # with effects alone

        low, high = ability_ends(fit, width)
        return cls(low[known.row], high[known.row], effects.components.of_item[known.row])

    def surely(
        self, rows: np.ndarray, reference: np.ndarray, block: np.ndarray, others: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which pairs of an item of a block and a reference item only a prior holds.

        And of these, whether the reference item is surely better, and surely worse.
        """
        apart = self.component[rows, None] != self.component[reference]
        better = self.low[reference] > self.high[rows, None]
        worse = self.high[reference] < self.low[rows, None]
        return apart, better, worse


def _blocks(
    pieces: Iterable[np.ndarray], scores: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A few items with similar scores at a time, and their numbers among all."""
    first = 0
    for piece in pieces:
        by_score = np.argsort(scores[first : first + len(piece)], kind="stable")
        for start in range(0, len(piece), BLOCK):
            rows = by_score[start : start + BLOCK]
            yield first + rows, piece[rows]
        first += len(piece)


def _within(falling: np.ndarray, scores: np.ndarray, reach: float) -> slice:
    """Which of some falling scores are within ``reach`` of one of the ``scores``."""
    size = SAME_SCORE * np.abs(scores).max()
    if not np.isfinite(reach):
        return slice(0, len(falling))
    first = np.searchsorted(-falling, -(scores.max() + reach + size), side="left")
    last = np.searchsorted(-falling, -(scores.min() - reach - size), side="right")
    return slice(int(first), int(last))


def _rows_of_pieces(pieces: Iterable[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """Some rows of a matrix that comes in pieces."""
    picked = []
    first = 0
    by_row = np.sort(rows)
    for piece in pieces:
        here = by_row[np.searchsorted(by_row, first) : np.searchsorted(by_row, first + len(piece))]
        picked.append(piece[here - first])
        first += len(piece)
    return np.concatenate(picked)[np.searchsorted(by_row, rows)]


def place_among_fitted(
    fit: Fit, scores: np.ndarray, errors: np.ndarray, width: float
) -> dict[str, np.ndarray]:
    """First and last place of each item among the N compared items of the fit.

    ``scores`` (n) are less that of the average compared item. A compared item is surely above one
    if it is ``width`` standard errors above, the square of which is the sum of the squares of both:
    that of the difference on average over the compared items, as errors are relative to their mean.
    Nothing where every item is a compared one, or where places are not known.
    """
    if fit.fitted_scores is None or fit.n_items is None or fit.open.n_groups > 1:
        return {}
    others = fit.fitted_scores[0] - average_score(fit)
    other_errors = fit.fitted_scores[1]
    gap = nearest_distance(scores, others)
    is_new = gap > SAME_SCORE * (1 + np.abs(scores))
    if not is_new.any() or not np.isfinite(other_errors).all():
        return {}
    step = -(-len(others) // MOST_PLACES)
    others = others[::-step]  # falling, as the scores are
    other_errors = other_errors[::-step]
    largest_error = other_errors.max()
    above = np.zeros(len(scores))
    below = np.zeros(len(scores))
    for first in range(0, len(scores), BLOCK):
        rows = slice(first, first + BLOCK)
        near = _within(others, scores[rows], width * (errors[rows].max() + largest_error))
        half = width * np.hypot(errors[rows, None], other_errors[near])
        ahead = others[near] - scores[rows, None]
        above[rows] = near.start + np.count_nonzero(ahead > half, axis=1)
        below[rows] = len(others) - near.stop + np.count_nonzero(ahead < -half, axis=1)
    each = fit.n_items / len(others)  # compared items that one of the others stands for
    low = 1 + np.floor(above * each + WHOLE).astype(int)
    high = fit.n_items - np.floor(below * each + WHOLE).astype(int)
    high = np.where(is_new, high + 1, high)  # a new item may come after all of them
    return {"place_low": low, "place_high": np.maximum(low, high)}


def nearest_distance(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """How far each value is from the nearest of ``known``, which are sorted."""
    after = np.searchsorted(known, values).clip(1, max(len(known) - 1, 1))
    below = known[after - 1]
    above = known[np.minimum(after, len(known) - 1)]
    return np.minimum(np.abs(values - below), np.abs(values - above))
