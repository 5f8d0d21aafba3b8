"""One study: the data with the sums that every step shares, and what a fit found."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairscore.core.sums import (
    Moments,
    Pairs,
    Tally,
    difference_scatter,
    moments,
    over_sides,
    pair_up,
    tally,
)
from pairscore.core.whitening import whitening_basis
from pairscore.data.comparisons import Comparisons
from pairscore.errors import SeparationWarning
from pairscore.estimators.closed_form import ridge_penalty
from pairscore.estimators.results import Note
from pairscore.estimators.scale import SEPARATION_L2, WEAK_L2
from pairscore.estimators.settings import Settings


@dataclass(frozen=True)
class FitData:
    """The data of one fit as arrays, with the sums that several steps share, each made once."""

    data: Comparisons
    keep_sides: bool
    has_items: bool = True
    start: np.ndarray | None = None

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        return self.data.items.values

    @cached_property
    def amount(self) -> np.ndarray:
        return self.data.amount

    @cached_property
    def weight_unit(self) -> float:
        """Average weight of a comparison.

        What a weight of one means to the classical covariance.
        """
        if self.data.weight is None:
            return 1.0
        return float(self.amount @ self.data.weight / self.amount.sum())

    @cached_property
    def tally(self) -> Tally:
        return tally(self.data.left, self.data.right, self.data.outcome, self.amount, len(self.X))

    @cached_property
    def label_sum(self) -> np.ndarray:
        """X'w = sum_m Y_m (x_left - x_right)."""
        return self.tally.net_wins @ self.X

    @cached_property
    def item_moments(self) -> Moments:
        """Moments of the compared items, each as often as it was compared."""
        return moments(self.X, self.tally.exposures)

    @cached_property
    def second_moments(self) -> Moments:
        """Moments of the items behind the covariance of `split`."""
        return moments(self.second_half)

    @cached_property
    def pairs(self) -> Pairs:
        data = self.data
        return pair_up(
            data.left, data.right, data.outcome, self.amount, len(self.X), self.keep_sides
        )

    @cached_property
    def n_items(self) -> int:
        """How many items were compared with another."""
        return int(np.count_nonzero(self.tally.exposures))

    @cached_property
    def second_half(self) -> np.ndarray:
        """The items behind the covariance of `split`: those named, else those of no comparison."""
        rows = self.data.covariance_items
        rows = np.flatnonzero(~self.data.compared) if rows is None else np.asarray(rows)
        together = (
            len(rows) > 0
            and rows[-1] - rows[0] == len(rows) - 1
            and bool(np.all(np.diff(rows) == 1))
        )
        return self.X[rows[0] : rows[-1] + 1] if together else self.X[rows]


def leverage_whitener(study: FitData, settings: Settings) -> np.ndarray:
    """W with W' (X~'KX~ + ridge) W = I.

    How far an item can pull the fit towards itself, which a ridge holds back.
    """
    center = study.item_moments
    ridge = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    return whitening_basis(center.scatter + np.diag(ridge), center.sd).transform


def bordered_scatter(study: FitData, weight: np.ndarray) -> np.ndarray:
    """X' L X with the weight of each pair on each side, bordered by the side effect's row if there
    is one.
    """
    scatter = difference_scatter(study.X, study.item_moments.mean, study.pairs, over_sides(weight))
    if not study.keep_sides:
        return scatter
    border = study.pairs.net(study.pairs.side @ weight) @ study.X
    return np.block([[scatter, border[:, None]], [border[None], weight.sum()]])


def ridge_is_weak(study: FitData, settings: Settings) -> bool:
    """Whether the ridge is none, or too weak to hold coefficients back if data are separated."""
    return settings.l2 <= WEAK_L2 * study.weight_unit


def separation_note() -> Note:
    """What is said, and done, when the likelihood has no maximum."""
    text = (
        "some direction in the features (or the side) explains every comparison that it touches,"
        " so the likelihood grows without end; the fit is the one with a ridge of"
        f" l2={SEPARATION_L2:g} (a normal prior with standard deviation 2.5 on standardised"
        f" coefficients). Set l2 above {WEAK_L2:g} to choose your own."
    )
    return SeparationWarning, text
