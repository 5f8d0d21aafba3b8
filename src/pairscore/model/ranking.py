"""Scores with intervals, ranks with intervals, and the difference of two items."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import expit, logit

from pairscore.choices import UNKNOWN_RULES
from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.quantiles import scheffe_width
from pairscore.data.comparisons import Comparisons
from pairscore.data.features import LEAVE_OUT
from pairscore.data.folds import feature_keys
from pairscore.data.items import Items, table_like, with_same_ids
from pairscore.data.tables import (
    ID_COLUMN,
    Column,
    Columns,
    as_frame,
    backend_of,
    column_of,
    ids_of,
)
from pairscore.errors import BadEntriesError, PairscoreError, first_few, plural, warn_caller
from pairscore.estimators.recession import MOST_CONTRASTS
from pairscore.estimators.results import OPEN_SHARE, Fit, KnownItems
from pairscore.files.write import all_faults
from pairscore.model.fit_input import Difference, pairs_of_ids
from pairscore.model.groups import OpenPart, number_groups, without_open_part
from pairscore.model.predict import (
    PAIR_BLOCK,
    ability_intervals,
    average_score,
    known_items,
    linear_scores,
    open_ends_of_pairs,
    outcome_probabilities,
    place_among_fitted,
    refuse_unknown_abilities,
    scale_of,
    score_differences,
    score_errors,
    score_intervals,
    shared_ranks,
)

REFERENCE_ITEMS = 5000  # each rank interval compares an item with at most this many others
# items at a time, so that their differences from all of those stay in the processor's cache
BLOCK = 64
FAR = 500.0  # a score difference that is as good as infinite
MULTIPLICITY = (
    "Each interval holds for its own item 19 times out of 20; among many items some will miss. Rank"
    " intervals count the items that differ from this one at the same level. With simultaneous=True"
    " all intervals hold together 19 times out of 20."
)
Pieces = Callable[[], Iterable[np.ndarray]]


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
        is_better, is_worse = gap > half, gap < -half
        if held is not None:
            is_better, is_worse = held.decide(rows, reference, block, others, is_better, is_worse)
        better[rows] = np.count_nonzero(is_better, axis=1)
        worse[rows] = np.count_nonzero(is_worse, axis=1)
    share = n / len(reference)
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
        first, second = first[held], second[held]
        low, high = fit.ends_by_comparisons(contrasts[held], width)
        sure = np.zeros((n, n), dtype=bool)
        sure[first, second], sure[second, first] = low > 0, high < 0
        return cls(fit, sure)

    def decide(
        self,
        rows: slice,
        reference: np.ndarray,
        block: np.ndarray,
        others: np.ndarray,
        is_better: np.ndarray,
        is_worse: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which of the reference items are surely better, or worse, than those of a block."""
        assert self.fit.recession is not None
        place, other = (self.fit.recession.places(values) for values in (block, others))
        largest = np.abs(other).max(initial=1.0)
        apart = np.abs(place[:, None] - other).max(axis=2) > OPEN_SHARE * largest
        if self.sure is None:
            return is_better & ~apart, is_worse & ~apart
        better, worse = self.sure[reference][:, rows].T, self.sure[rows][:, reference]
        return np.where(apart, better, is_better), np.where(apart, worse, is_worse)


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
        if effects is None or effects.component is None or fit.covariance is None:
            return None
        low, high = ability_intervals(fit, width)
        return cls(low[known.row], high[known.row], effects.component[known.row])

    def decide(
        self,
        rows: slice,
        reference: np.ndarray,
        block: np.ndarray,
        others: np.ndarray,
        is_better: np.ndarray,
        is_worse: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which of the reference items are surely better, or worse, than those of a block."""
        apart = self.component[rows, None] != self.component[reference]
        better = self.low[reference] > self.high[rows, None]
        worse = self.high[reference] < self.low[rows, None]
        return np.where(apart, better, is_better), np.where(apart, worse, is_worse)


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
    ``open_low`` and ``open_high`` are the ends of scores that only a prior holds, NaN of others.
    """

    score: np.ndarray
    error: np.ndarray
    unknown: np.ndarray
    outside: np.ndarray
    key: np.ndarray
    place: np.ndarray
    size: np.ndarray
    open_low: np.ndarray
    open_high: np.ndarray

    @classmethod
    def of_features(cls, fit: Fit, values: np.ndarray, width: float) -> "_ItemTable":
        n, centred = len(values), values - fit.feature_mean
        unknown, part = fit.undetermined_contrasts(centred), OpenPart.none()
        if fit.n_groups > 1:  # relative to an average item of the same group
            centred = without_open_part(fit, centred)
            unknown, part = np.zeros(n, dtype=bool), OpenPart.of_values(fit, values)
        errors, (low, high) = np.full(n, np.nan), np.full((2, n), np.nan)
        if fit.covariance is not None:
            held = fit.held_by_prior(centred) & ~unknown
            errors = np.where(unknown | held, np.nan, score_errors(centred, fit.covariance))
            low[held], high[held] = -np.inf, np.inf
            if fit.item_effects is None:
                low[held], high[held] = fit.ends_by_comparisons(centred[held], width)
        beyond = ((values < fit.feature_min) | (values > fit.feature_max)).any(axis=1)
        keys = np.zeros(n, np.uint64) if fit.item_effects is None else feature_keys(values)
        scores = linear_scores(values, fit.coef)
        outside = unknown | beyond
        return cls(scores, errors, unknown, outside, keys, part.place, part.size, low, high)

    @classmethod
    def of_pieces(cls, fit: Fit, pieces: Iterable[np.ndarray], width: float) -> "_ItemTable":
        empty = np.empty((0, fit.n_features))
        tables = [cls.of_features(fit, piece, width) for piece in chain([empty], pieces)]
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
    of_scores = _width(fit, level, simultaneous and fit.item_effects is None, None)
    table = _ItemTable.of_pieces(fit, pieces(), of_scores)
    n, scores, errors = len(table.score), table.score, table.error
    if n == 0:
        raise PairscoreError("there are no items to rank; give one row for each item.")
    named = None if fit.item_effects is None else ids()
    known = None if fit.item_effects is None else fit.item_effects.known(named, table.key)
    variance = np.where(table.unknown, np.inf, 0.0)  # nothing is surely better than the unknown
    if known is not None:
        scores = scores + known.effect
        refuse_unknown_abilities(fit, scores, named)
        errors = np.sqrt((known.share * errors) ** 2 + known.variance)
        variance += known.of_differences
    width = _width(fit, level, simultaneous, n)
    sure = None if known is None else OpenAbilities.of_items(fit, known, width)
    centred = partial(_centred, fit, pieces, known)
    groups = {}
    if fit.n_groups == 1:
        order, *ranks = _rank_rows(fit, scores, variance, centred, width, sure)
    else:
        group, names = number_groups(fit, OpenPart(table.place, table.size))
        order, *ranks = _rank_groups(fit, scores, variance, centred, width, group)
        groups = {"group": names[group[order]]}
    scores, half = scores[order] - average_score(fit), width * errors[order]
    low, high = table.open_low[order], table.open_high[order]
    if sure is not None:
        low, high = sure.low[order], sure.high[order]
    return {
        "row": order,
        "score": show(scores),
        "low": show(np.where(np.isnan(low), scores - half, np.minimum(low, scores))),
        "high": show(np.where(np.isnan(high), scores + half, np.maximum(high, scores))),
        **dict(zip(("rank", "rank_low", "rank_high"), ranks, strict=True)),
        "outside": table.outside[order],
        **groups,
        **place_among_fitted(fit, scores, errors[order], width),
    }


Ranks = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _rank_rows(
    fit: Fit,
    scores: np.ndarray,
    variance: np.ndarray,
    centred: Pieces,
    width: float,
    sure: "OpenAbilities | None" = None,
) -> Ranks:
    """Rows best first, with their rank, best rank and worst rank."""
    order, n = np.argsort(-scores, kind="stable"), len(scores)
    low, high = np.ones(n, dtype=int), np.full(n, n)
    if fit.covariance is not None:
        held = sure or HeldPairs.of_pieces(fit, n, centred, width)
        low, high = rank_intervals_by_pieces(
            scores, order, centred, fit.covariance, width, variance, held
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


def _width(fit: Fit, level: float, simultaneous: bool, n: int | None) -> float:
    """Half of an interval in standard errors; ``n`` items, None where nobody knows yet."""
    width = fit.width(level)  # refuses a level outside of (0, 1)
    if not simultaneous:
        return width
    scheffe = scheffe_width(level, fit.n_features, fit.df_error)
    if n is None or (fit.item_effects is None and fit.df_error is None):
        return scheffe
    # where every item has an error of its own: n scores and n (n - 1) / 2 differences (Bonferroni)
    bonferroni = fit.width(1 - 2 * (1 - level) / (n * (n + 1)))
    return bonferroni if fit.item_effects is not None else min(scheffe, bonferroni)


def _centred(fit: Fit, pieces: Pieces, known: KnownItems | None) -> Iterator[np.ndarray]:
    """Features as far as their coefficients' error is left in the scores."""
    first = 0
    for values in pieces():
        rows = slice(first, first := first + len(values))
        centred = values - fit.feature_mean
        yield centred if known is None else known.share[rows, None] * centred


def rank_items(fit: Fit, items: Items, **asked: Any) -> Any:
    """Rank the items of a table, as a table of the caller's kind; see :func:`rank_pieces`."""
    columns = rank_pieces(fit, lambda: [items.values], ids=lambda: items.ids, **asked)
    rows = columns.pop("row")
    return table_like(items, {"id": rows if items.ids is None else items.ids[rows], **columns})


def scored_items(items: Any, read: Callable[[Any], Items]) -> Items:
    """The items of a table that ``read`` can read; a warning lists the others."""
    try:
        return read(items)
    except BadEntriesError:
        frame = as_frame(items)
        if frame is None:
            raise
    columns: dict[str, Any] = {str(name): column_of(frame, name) for name in frame.columns}
    if (ids := ids_of(frame)) is not None:
        columns.setdefault(ID_COLUMN, Column(ids))
    table = Columns(columns)
    names = table[ID_COLUMN].tolist() if ID_COLUMN in table.columns else []
    faults = [with_same_ids(fault, names) for fault in all_faults(read, table)]
    bad = sorted({row for fault in faults for row, _, _ in fault.entries})
    if len(bad) == len(table):
        return read(items)  # which says what is wrong with all of them
    why = first_few(
        f"row {row}, {column!r}: {fault.reason}"
        for fault in faults
        for row, column, _ in fault.entries
    )
    warn_caller(
        f"{len(bad)} of {plural(len(table), 'item')} could not be scored, and"
        f" {'is' if len(bad) == 1 else 'are'} not in the ranking: {why}."
    )
    kept = np.setdiff1d(np.arange(len(table)), bad)
    found = read(table.take(kept))
    return replace(found, backend=backend_of(frame), ids=kept if found.ids is None else found.ids)


def item_difference(fit: Fit, a: Items, b: Items, level: float) -> Difference:
    """Score of the one item in ``a`` minus that of the one in ``b``."""
    one = np.zeros(1, dtype=int)
    columns = vars(pair_differences(fit, (a, b), (one, one), level))
    return Difference(**{name: float(column[0]) for name, column in columns.items()})


# -- pairs -----------------------------------------------------------------------------------------


def pair_differences(
    fit: Fit, tables: tuple[Items, Items], rows: tuple[np.ndarray, np.ndarray], level: float
) -> Difference:
    """Score differences of n pairs: rows (n,) of a first table less rows (n,) of a second.

    Without sides, context and judges. Features are formed for a block of pairs at a time.
    """
    (a, b), (left, right) = tables, rows
    values, errors = np.empty(len(left)), np.full(len(left), np.nan)
    open_low, open_high = np.full((2, len(left)), np.nan)  # of what only a prior holds
    width = fit.width(level)
    first = known_items(fit, a)
    second = first if a is b else known_items(fit, b)
    for start in range(0, len(left), PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        x, y = a.values[left[block]], b.values[right[block]]
        values[block] = linear_scores(x - y, fit.coef)
        if fit.covariance is not None:
            along, unknown = x - y, fit.undetermined_contrasts(x - y)
            if first is not None and second is not None:
                along = first.share[left[block], None] * (x - fit.feature_mean)
                along -= second.share[right[block], None] * (y - fit.feature_mean)
            errors[block] = np.where(unknown, np.nan, score_errors(along, fit.covariance))
            held = fit.held_by_prior(along) & ~unknown
            if held.any():
                open_low[block][held], open_high[block][held] = -np.inf, np.inf
                if first is None:
                    ends = fit.open_ends(along[held], values[block][held], width)
                    open_low[block][held], open_high[block][held] = ends
                errors[block][held] = np.nan
    variance = np.zeros(len(left))
    if first is not None and second is not None:
        values += first.effect[left] - second.effect[right]
        for items, row, known in ((a, left, first), (b, right, second)):
            refuse_unknown_abilities(fit, known.effect, items.ids, row)
        variance = _variance_of_effects(fit, (first, second), rows)
        of_items = open_ends_of_pairs(fit, first.row[left], second.row[right], width)
        for end, known_end in zip((open_low, open_high), of_items[1:], strict=True):
            end[of_items[0]] = known_end[of_items[0]]
    errors = np.hypot(errors, np.sqrt(variance))
    half, law = width * errors, fit.outcome_law
    averaged = fit.item_effects is not None and not fit.item_effects.free
    spread = np.sqrt(variance) if averaged else np.zeros(len(left))
    loss, _, win = averaged_probabilities(law, values, spread)
    ends = (
        np.where(np.isnan(open_low), values - half, open_low),
        np.where(np.isnan(open_high), values + half, open_high),
    )
    low, high = (law.win_chance(np.clip(end, -FAR, FAR)) for end in ends)
    return Difference(values, *ends, win / (win + loss), low, high, std_error=errors)


def _variance_of_effects(
    fit: Fit, known: tuple[KnownItems, KnownItems], rows: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Variance of what is not known of the effects of two items, less each other, (n,)."""
    from pairscore.effects.item_covariance import difference_variance, shared_variance

    assert fit.item_effects is not None
    (left, right), places = rows, (known[0].row[rows[0]], known[1].row[rows[1]])
    if fit.item_effects.component is not None:
        return difference_variance(fit.item_effects, *places)
    variance = known[0].variance[left] + known[1].variance[right]
    variance = variance - 2 * shared_variance(fit.item_effects, *places)
    is_same = (places[0] == places[1]) & (places[0] >= 0)
    return np.where(is_same, 0.0, np.maximum(variance, 0.0))


def pair_chances(fit: Fit, data: Comparisons, level: float) -> dict[str, np.ndarray]:
    """Chance that left wins each comparison, if it does not end in a tie, with its interval.

    Columns chance, low, high; and tie, tie_low, tie_high where ties have a probability; each (M,).
    With context, judge and side. The chance is averaged over what is not known of the items'
    effects; the interval is for the chance between these two items, whatever their effects.
    """
    eta, law = score_differences(fit, data), fit.outcome_law
    ends = score_intervals(fit, data, fit.width(level))
    loss, tie, win = outcome_probabilities(fit, data)
    (loss_low, tie_a, win_low), (loss_high, tie_b, win_high) = (
        law.probabilities(np.clip(end, -FAR, FAR)) for end in ends
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
    most = np.where((ends[0] < 0) & (ends[1] > 0), at_zero, np.maximum(tie_a, tie_b))
    by_score = np.minimum(tie_a, tie_b), most
    return columns | {"tie": tie} | _tie_interval(fit, eta, tie, by_score, fit.width(level))


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


class PairPredictions:
    """What :class:`~pairscore.RankRegression` says of items, of single pairs and of many."""

    def rank(
        self: Any,
        items: Any = None,
        *,
        level: float = 0.95,
        simultaneous: bool = False,
        scale: str = "link",
        unknown: str = "stop",
    ) -> Any:
        """Rank items, old or new, highest first, as a table of the caller's kind.

        Columns: id; score, low, high (less the average compared item); rank, rank_low, rank_high;
        outside (a feature lies beyond all compared items); place_low, place_high (where a new item
        would be among them); group, such as ``year=2001``, where only items alike in some feature
        met: ranks are within groups. Equal scores keep their order and share a rank: 1, 2, 2, 4.

        Parameters
        ----------
        items : table, a dict of one item, or (without features) ids
            All that were compared unless given.
        level : float
            Of the intervals; without inference these are NaN, and ranks span all.
        simultaneous : bool
            Intervals that hold for all items together (Scheffe), which are wider.
        scale : {"link", "0-100", "elo", "wins"}
            Of scores: see ``pairscore.model.predict.scale_of``.
        unknown : {"stop", "skip"}
            Items that cannot be scored (a level that the fit did not know, a missing value) are an
            error, or are left out of the ranking with a warning that lists them.
        """
        asked = {"level": level, "simultaneous": simultaneous, "scale": scale}
        if unknown not in UNKNOWN_RULES:
            raise PairscoreError(f"unknown is {unknown!r}; use 'stop' or 'skip'.")
        fit = self._fitted()
        if unknown == "skip" and items is not None and not isinstance(items, Items):
            return rank_items(fit, scored_items(items, self.items), **asked)
        try:
            table = self.items(items)
        except BadEntriesError as error:
            remedy = (
                f"{error.remedy.partition(LEAVE_OUT)[0]}, or rank the others with unknown='skip'"
            )
            raise BadEntriesError(
                error.what, remedy, error.table, error.entries, error.reason
            ) from None
        return rank_items(fit, table, **asked)

    def difference(self: Any, a: Any, b: Any = None, *, level: float = 0.95) -> Difference:
        """Score of ``a`` minus score of ``b``, with its interval and the chance that ``a`` wins.

        Each is one item: its id, a table of one row, or its features in a row. Two arrays of ids,
        or ``Comparisons`` alone, are many pairs: the result has arrays. Whole numbers are ids
        unless they are as many as the features.
        """
        fit, pairs = self._fitted(), None
        if isinstance(a, Comparisons):
            data = self._comparisons(a)
            pairs = data.items, data.left, data.right
        elif (pairs := pairs_of_ids(fit, a, b)) is None:
            return item_difference(fit, self._item(a), self._item(b), level)
        table, *rows = pairs
        return pair_differences(fit, (table, table), (rows[0], rows[1]), level)

    def chances(self: Any, X: Comparisons, *, level: float = 0.95) -> dict[str, np.ndarray]:
        """Chance that left wins each comparison, with its interval: columns chance, low, high.

        As in :meth:`predict_proba`; with tie, tie_low and tie_high where ties have a probability.
        ``Comparisons.from_pairs`` makes comparisons that have no winner yet.
        """
        return pair_chances(self.result_, self._comparisons(X), level)
