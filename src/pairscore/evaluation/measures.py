"""How sure is a mean over comparisons? Those that share an item go wrong together.

To first order a measure is off by a sum of influences psi_m, one for each comparison. Its variance,
any two comparisons that share an item being dependent, is estimated by

    sum_i t_i^2 / (1 - h_i)^2 - sum_p u_p^2,

t_i and u_p the sums of psi over the comparisons of item i and of the unordered pair p. The items
count every two comparisons that share one; those of a pair share two, and are taken off once.
Without item i the measure moves by t_i / (1 - h_i), h_i the item's share of the comparisons: to
first order this is the jackknife over items. Groups of items take the place of items where whole
groups are drawn; a pair within a group shares one group with itself, not two.

How good are predicted probabilities of comparisons? Five measures, each with what every comparison
adds to its error.

p is the predicted probability that left wins, s the share of the win that left had: 1, 0, or 1/2 of
a tie.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

# of the comparisons that one item may have: with nearly all, nothing is left without it
LARGEST_SHARE = 0.8


@dataclass(frozen=True, eq=False)
class Meetings:
    """Who meets whom: for every comparison the numbers of its two items, or of their groups."""

    one: np.ndarray
    other: np.ndarray

    @cached_property
    def _apart(self) -> np.ndarray:
        return self.one != self.other

    @cached_property
    def _pair(self) -> np.ndarray:
        """A number for each pair that stands in the comparisons between different items."""
        one, other = self.one[self._apart], self.other[self._apart]
        size = np.maximum(one, other).max(initial=0) + 1
        return np.unique(
            np.minimum(one, other) * size + np.maximum(one, other), return_inverse=True
        )[1]

    def sum_per_item(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over its comparisons; one of an item with itself counts once."""
        size = max(self.one.max(initial=-1), self.other.max(initial=-1)) + 1
        return np.bincount(self.one, values, size) + np.bincount(
            self.other[self._apart], values[self._apart], size
        )

    def sum_per_pair(self, values: np.ndarray) -> np.ndarray:
        """For every pair of different items, the sum over its comparisons."""
        return np.bincount(self._pair, values[self._apart])


@dataclass(frozen=True, eq=False)
class Influence:
    """What items (without the others' help), pairs and single comparisons add to an error.

    Of a difference, the differences.
    """

    of_items: np.ndarray
    of_pairs: np.ndarray
    of_rows: np.ndarray

    def __sub__(self, other: "Influence") -> "Influence":
        return Influence(
            self.of_items - other.of_items,
            self.of_pairs - other.of_pairs,
            self.of_rows - other.of_rows,
        )

    @property
    def std_error(self) -> float:
        """Item-robust, and never below that of independent comparisons.

        By chance the former can even be negative.
        """
        robust = self.of_items @ self.of_items - self.of_pairs @ self.of_pairs
        return float(np.sqrt(np.maximum(robust, self.of_rows @ self.of_rows)))


def influence_of(
    psi: np.ndarray, share: np.ndarray, number: np.ndarray, meetings: Meetings
) -> Influence:
    """Influences psi summed per item and pair.

    Unknown (NaN) unless at least two comparisons have a share.

    ``share`` is how much of the whole each comparison is, ``number`` how many equal and independent
    comparisons a row stands for.
    """
    psi = psi if np.count_nonzero(share) > 1 else np.full(len(psi), np.nan)
    left = 1 - np.minimum(meetings.sum_per_item(share), LARGEST_SHARE)
    return Influence(
        meetings.sum_per_item(psi) / left, meetings.sum_per_pair(psi), psi / np.sqrt(number)
    )


N_BINS = 10
SMALLEST_PROBABILITY = float(np.finfo(float).eps)  # so that a surprise costs 36, not infinity
SMALLEST_MAJORITY = 1e-9  # of a pair's comparisons; below, rounding of weights decides


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Test comparisons of all folds.

    Who met, who won, how much it counts, for how many it stands, whose fold predicts it.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    count: np.ndarray
    fold: np.ndarray

    @cached_property
    def left_share(self) -> np.ndarray:
        """s: the share of the win that left had."""
        return (1 + self.outcome) / 2

    @cached_property
    def pair(self) -> np.ndarray:
        """A number per unordered pair."""
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        return low * (high.max(initial=0) + 1) + high

    @cached_property
    def verdict(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs, once for each fold that tests them.

        The first row of each, and of each row the number of its own.
        """
        of_fold = self.fold * (self.pair.max(initial=0) + 1) + self.pair
        return np.unique(of_fold, return_index=True, return_inverse=True)[1:]


@dataclass(frozen=True, eq=False)
class Measured:
    """A value; each row's influence on it, its share of the whole, and the number of equal
    comparisons it stands for.
    """

    value: float
    influence: np.ndarray
    share: np.ndarray
    number: np.ndarray


def _mean(loss: np.ndarray, weight: np.ndarray, number: np.ndarray) -> Measured:
    """A weighted mean m, on which a row has the influence share * (loss - m).

    NaN without weight.
    """
    total = float(weight.sum())
    if not total > 0:
        return Measured(float("nan"), np.full(len(loss), np.nan), weight, number)
    share = weight / total
    value = float(share @ loss)
    return Measured(value, share * (loss - value), share, number)


def _favourite(data: Outcomes, p: np.ndarray) -> np.ndarray:
    """Share of the win that the favourite had; one half where no side is the favourite."""
    return np.where(p > 0.5, data.left_share, np.where(p < 0.5, 1 - data.left_share, 0.5))


def accuracy(data: Outcomes, p: np.ndarray) -> Measured:
    """Share of decided comparisons that the favourite won.

    Equal chances count half, ties not at all.
    """
    return _mean(_favourite(data, p), data.amount * (data.outcome != 0), data.count)


def log_loss(data: Outcomes, p: np.ndarray) -> Measured:
    """Mean of -s log p - (1 - s) log(1 - p)."""
    p = np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return _mean(
        -data.left_share * np.log(p) - (1 - data.left_share) * np.log1p(-p), data.amount, data.count
    )


def calibration_slope(data: Outcomes, p: np.ndarray) -> Measured:
    """The b with which s is most likely under the logit b log(p / (1 - p)).

    1 is right, less is overconfident.

    It solves sum_m (s - f(b x)) x = 0, whose derivative J = sum_m x^2 f (1 - f) gives influences (s
    - f) x / J.
    """
    x = logit(np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))

    def score(slope: float) -> float:
        return float(data.amount @ ((data.left_share - expit(slope * x)) * x))

    won = _favourite(data, p)
    slope = _root(
        score, float(data.amount @ (won * np.abs(x))), float(data.amount @ ((won - 1) * np.abs(x)))
    )
    information = (
        data.amount * x**2 * expit(slope * x) * expit(-slope * x)
        if np.isfinite(slope)
        else np.zeros(len(x))
    )
    total = float(information.sum())
    if not total > 0:
        return Measured(slope, np.full(len(x), np.nan), information, data.count)
    return Measured(
        slope,
        data.amount * (data.left_share - expit(slope * x)) * x / total,
        information / total,
        data.count,
    )


def _root(score: Callable[[float], float], far_left: float, far_right: float) -> float:
    """Where a falling function crosses zero, given its limits at minus and plus infinity."""
    if far_left == far_right:
        return float("nan")  # no row favours a side
    if far_left == 0 or far_right == 0:
        # the favourite always won, or never
        return float("inf") if far_right == 0 else float("-inf")
    low, high = -1.0, 1.0
    while score(low) < 0:
        low *= 2
    while score(high) > 0:
        high *= 2
    return float(brentq(score, low, high, xtol=1e-12, rtol=1e-12))


def calibration_error(data: Outcomes, p: np.ndarray) -> Measured:
    """Mean over ten bins of equal weight, by the favourite's probability, of |how often it won -
    its probability|.

    As a mean over comparisons: each bin's sign times the share of the win that the favourite had
    over its probability.
    """
    confidence = np.maximum(p, 1 - p)
    # equal probabilities share a bin, whatever the order of the rows
    level = np.unique(confidence, return_inverse=True)[1]
    weight = np.bincount(level, data.amount)
    middle = (np.cumsum(weight) - weight / 2) / max(weight.sum(), SMALLEST_PROBABILITY)
    bin_ = np.minimum((N_BINS * middle).astype(int), N_BINS - 1)[level]
    surplus = _favourite(data, p) - confidence
    sign = np.sign(np.bincount(bin_, data.amount * surplus, N_BINS))
    return _mean(sign[bin_] * surplus, data.amount, data.count)


def misordered(data: Outcomes, p: np.ndarray) -> Measured:
    """Share of pairs with a majority that the predictions put against it.

    Each pair counts once for each fold, even chances half.

    The predicted order is the mean of p over the pair's test comparisons, from the same sides as
    the majority was seen from.
    """
    first, unit = data.verdict
    toward_low = data.amount * np.where(data.left < data.right, 1.0, -1.0)
    majority, predicted = (
        np.bincount(unit, toward_low * data.outcome),
        np.bincount(unit, toward_low * (p - 0.5)),
    )
    decided = np.abs(majority) > SMALLEST_MAJORITY * np.bincount(unit, data.amount)
    found = _mean(
        np.where(predicted == 0, 0.5, predicted * majority < 0),
        decided.astype(float),
        np.ones(len(first)),
    )
    rows = np.zeros((2, len(p)))
    rows[:, first] = found.influence, found.share  # a pair's influence stands in its first row
    return Measured(found.value, rows[0], rows[1], np.ones(len(p)))


MEASURES: dict[str, Callable[[Outcomes, np.ndarray], Measured]] = {
    "accuracy": accuracy,
    "log_loss": log_loss,
    "calibration_slope": calibration_slope,
    "calibration_error": calibration_error,
    "misordered": misordered,
}
