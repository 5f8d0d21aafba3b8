"""Which ranks an item may have: how many others are surely better, and how many surely worse."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pairscore.core.whitening import OPEN_SHARE
from pairscore.effects.item_effects import KnownItems
from pairscore.model.fit import Fit

# Each rank interval compares an item with at most this many others: time against ranks to 1/5000.
REFERENCE_ITEMS = 5000

# Items at a time, so that their differences from all of those stay in the processor's cache.
BLOCK = 64

SAME_SCORE = 1e-12  # share of a score: items nearer than that differ by rounding alone


Pieces = Callable[[], Iterable[np.ndarray]]


def rank_intervals_by_pieces(
    scores: np.ndarray,
    order: np.ndarray,
    centred_pieces: Pieces,
    covariance: np.ndarray,
    width: float,
    extra_variance: np.ndarray | None = None,
    held: "HeldPairs | OpenAbilityRanks | None" = None,
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
            near = scores_within(scores[reference], scores[rows], (1 + SAME_SCORE) * reach)
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
        from pairscore.estimators.separation import MOST_CONTRASTS

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
class OpenAbilityRanks:
    """Ends (n) of the intervals of abilities, of which some are open, and the items' components.

    Of two items of different components, one is surely above the other if its interval is.
    """

    low: np.ndarray
    high: np.ndarray
    component: np.ndarray

    @classmethod
    def of_items(cls, fit: Fit, known: KnownItems, width: float) -> "OpenAbilityRanks | None":
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


def scores_within(falling: np.ndarray, scores: np.ndarray, reach: float) -> slice:
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


def shared_ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each score, sorted best first.

    One more than the number of better ones, so that equal scores share the best rank.

    >>> shared_ranks(np.array([9.0, 7.0, 7.0, 4.0])).tolist()
    [1, 2, 2, 4]
    """
    return 1 + np.searchsorted(-scores, -scores, side="left")
