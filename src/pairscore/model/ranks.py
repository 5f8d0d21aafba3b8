"""Ranks of items, with intervals of their scores and of their ranks."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from pairscore.core.significance import scheffe_width
from pairscore.data.items import Items, feature_keys, table_like
from pairscore.effects.item_effects import KnownItems
from pairscore.errors import PairscoreError
from pairscore.model.fit import Fit
from pairscore.model.item_lookup import refuse_unknown_abilities
from pairscore.model.open_directions import OpenPart, named_groups, without_open_part
from pairscore.model.predict import contrast_errors, linear_scores
from pairscore.model.rank_intervals import (
    BLOCK,
    SAME_SCORE,
    HeldPairs,
    OpenAbilityRanks,
    Pieces,
    rank_intervals_by_pieces,
    scores_within,
    shared_ranks,
)
from pairscore.model.score_scales import average_score, scale_of

# Compared items among which a new one is placed: time against places to a thousandth.
MOST_PLACES = 1000
WHOLE = 1e-9  # by which a scaled count may fall short of a whole number by rounding
MULTIPLICITY = (
    "Each interval holds for its own item 19 times out of 20; among many items some will miss. Rank"
    " intervals count the items that differ from this one at the same level. With simultaneous=True"
    " all intervals hold together 19 times out of 20."
)


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
        abilities = OpenAbilityRanks.of_items(fit, known, width)
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
    abilities: "OpenAbilityRanks | None" = None,
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
        near = scores_within(others, scores[rows], width * (errors[rows].max() + largest_error))
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
