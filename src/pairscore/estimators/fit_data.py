"""The data of one fit, with the sums that several of its steps share, each computed once."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from pairscore.core.linalg import whitening_basis
from pairscore.core.links import Link
from pairscore.core.moments import (
    Moments,
    moments,
    times_rows,
)
from pairscore.core.pair_graph import (
    Pairs,
    Tally,
    aggregate_pairs,
    scatter_with_sides,
    tally,
)
from pairscore.core.passes import counts_once
from pairscore.estimators.penalty import ridge_penalty
from pairscore.estimators.settings import Settings

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.results import Fit


@dataclass(frozen=True)
class FitData:
    """The comparisons of one fit as arrays, with the sums that several steps share.

    Parameters
    ----------
    comparisons : Comparisons
        M comparisons of N items with d features.
    keep_sides : bool
        Whether pairs keep apart who was on the left, for a side effect.
    has_items : bool
        False for a matrix of differences, whose rows are items compared with one at the origin.
    start : Fit, optional
        A fit to most of these comparisons, and to the first of these items: whatever is estimated
        in steps begins where it stands.
    """

    comparisons: "Comparisons"
    keep_sides: bool
    has_items: bool = True
    start: "Fit | None" = None

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        """Features of the items, N x d."""
        return self.comparisons.items.values

    @cached_property
    def amount(self) -> np.ndarray:
        """Weight times count of every comparison (M)."""
        return self.comparisons.amount

    @cached_property
    def weight_unit(self) -> float:
        """See :attr:`pairscore.data.comparisons.Comparisons.weight_unit`; 1 for all of a fit."""
        return self.comparisons.weight_unit

    @cached_property
    def tally(self) -> Tally:
        """Net wins w and exposures k of every item."""
        data = self.comparisons
        return tally(data.left, data.right, data.outcome, self.amount, len(self.X))

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w = sum_m Y_m (x_left - x_right), the data's part of eq. 3 (d)."""
        return times_rows(self.tally.net_wins, self.X)

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        return moments(self.X, self.tally.exposures)

    @cached_property
    def pairs(self) -> Pairs:
        """The comparisons summed per unordered pair."""
        data = self.comparisons
        return aggregate_pairs(
            data.left, data.right, data.outcome, self.amount, len(self.X), self.keep_sides
        )

    @cached_property
    def tied(self) -> np.ndarray | None:
        """How much of each pair on each side ended in a tie (sides x P); None without ties."""
        data = self.comparisons
        is_tie = data.outcome == 0
        if not is_tie.any():
            return None
        left, right, outcome = data.left[is_tie], data.right[is_tie], data.outcome[is_tie]
        amount = self.amount[is_tie]
        ties = aggregate_pairs(left, right, outcome, amount, len(self.X), self.keep_sides)
        tied = np.zeros(self.pairs.win.shape)
        tied[:, np.searchsorted(self.pairs.keys, ties.keys)] = ties.win + ties.lose
        return tied

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def compared(self) -> np.ndarray:
        """Mask of the items that occur in some comparison, be it with themselves (N)."""
        exposures = self.tally.exposures
        all_count = counts_once(self.amount) and exposures.sum() == 2 * len(self.amount)
        return exposures > 0 if all_count else self.comparisons.compared

    @cached_property
    def n_independent(self) -> int:
        """How many differences of items the comparisons have: items less groups that are connected.

        No comparison adds a difference that is not a sum of these.
        """
        n, used = len(self.X), np.flatnonzero(self.pairs.number > 0)
        ends = self.pairs.low[used], self.pairs.high[used]
        graph = sparse.coo_array((np.ones(len(used)), ends), shape=(n, n))
        return n - int(sparse.csgraph.connected_components(graph, directed=False)[0])

    @property
    def n_groups(self) -> int:
        """Into how many groups the compared items fall that never met."""
        return self.n_items - self.n_independent

    @cached_property
    def second_half(self) -> np.ndarray:
        """The items behind the covariance of `split`: those named, else those of no comparison."""
        rows = self.comparisons.covariance_items
        rows = np.flatnonzero(~self.compared) if rows is None else np.asarray(rows)
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and np.all(np.diff(rows) == 1):
            return self.X[rows[0] : rows[-1] + 1]  # a view, not a copy
        return self.X[rows]

    @cached_property
    def second_moments(self) -> Moments:
        """Moments of the items behind the covariance of `split`."""
        return moments(self.second_half)


def size_of_information(n_comparisons: float, link: Link) -> float:
    """Of the two sums whose difference is the information of comparisons, at most.

    In units of the features' standard deviations: each comparison has two items, and tells at most
    as much as a coin toss, 4 f'(0)^2.
    """
    return 8 * n_comparisons * float(link.pdf(0.0)) ** 2


def leverage_whitener(data: FitData, settings: Settings) -> np.ndarray:
    """W (d x r) with W' (X~'KX~ + ridge) W = I, X~ the centred items and K their exposures.

    It tells how far an item can pull the fit towards itself, which a ridge holds back.
    """
    center = data.item_moments
    ridge = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    return whitening_basis(center.scatter + np.diag(ridge), center.sd).transform


def bordered_scatter(
    data: FitData, weight: np.ndarray, scatter: np.ndarray | None = None
) -> np.ndarray:
    """X'LX of the data's pairs; see :func:`pairscore.core.pair_graph.scatter_with_sides`."""
    return scatter_with_sides(data.X, data.item_moments.mean, data.pairs, weight, scatter)
