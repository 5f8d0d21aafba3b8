"""Measures: how good are predicted probabilities of comparisons, and how sure is that?

Five measures of decided comparisons. p is the predicted probability that left wins, s is 1 where it
did, else 0. Ties say nothing of p, which is of comparisons that do not end in a tie; they only take
part in the majority of a pair.

How sure each is, the influences of comparisons say (:mod:`pairscore.core.comparison_means`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from pairscore.core.comparison_means import Statistic, weighted_mean, wilson_interval
from pairscore.core.incidence import pair_numbers
from pairscore.core.roots import solve_falling
from pairscore.data.comparisons import Comparisons

N_BINS = 10  # of calibration: enough to see a bend, few enough to have comparisons in each
SMALLEST_PROBABILITY = float(np.finfo(float).eps)  # so that a surprise costs 36, not infinity
SMALLEST_MAJORITY = 1e-9  # of a pair's comparisons; below, rounding of weights decides
DIGITS = 12  # beyond, a number may be rounding and is taken for zero


@dataclass(frozen=True, eq=False)
class MeasuredComparisons:
    """The comparisons on which models are tested, of all folds together.

    Attributes
    ----------
    left, right : (M,) int
        Numbers of the two items.
    outcome : (M,)
        1 where left won, -1 where right won, 0 for a tie.
    amount : (M,) float
        How much a comparison counts: its weight times its count.
    count : (M,) float
        How many equal and independent comparisons a row stands for.
    fold : (M,) int
        The fold whose models predict it. A comparison may be tested in two folds.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    count: np.ndarray
    fold: np.ndarray

    @classmethod
    def of(cls, data: Comparisons, fold: np.ndarray) -> "MeasuredComparisons":
        """All of these comparisons, each with the fold (M) that tests it."""
        count = np.ones(len(data)) if data.count is None else data.count
        return cls(data.left, data.right, data.outcome, data.amount, count, fold)

    @cached_property
    def left_share(self) -> np.ndarray:
        """s: the share of the win that left had."""
        return (1 + self.outcome) / 2

    @cached_property
    def decided(self) -> np.ndarray:
        """How much each comparison counts among those that are no ties."""
        return np.where(self.outcome != 0, self.amount, 0.0)

    @cached_property
    def pair(self) -> np.ndarray:
        """A number for each unordered pair of items."""
        return pair_numbers(self.left, self.right)

    @cached_property
    def pairs_in_folds(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs, once for each fold that tests them: first row of each, and number of each row."""
        key = self.fold * (self.pair.max(initial=0) + 1) + self.pair
        return np.unique(key, return_index=True, return_inverse=True)[1:]


@dataclass(frozen=True)
class Score:
    """A measure, or a difference of two, with its standard error."""

    value: float
    std_error: float

    def __str__(self) -> str:
        digits = 3  # or as many as show two of the error, unless that is mere rounding
        if round(self.std_error, DIGITS) > 0:
            digits = int(np.clip(1 - np.floor(np.log10(self.std_error)), 3, 9))
        return " ± ".join(
            "unknown" if np.isnan(number) else f"{round(number, digits) + 0.0:.{digits}f}"
            for number in (self.value, self.std_error)
        )


def accuracy(data: MeasuredComparisons, p: np.ndarray) -> Statistic:
    """Share of decided comparisons that the favourite won; equal chances count half."""
    return weighted_mean(_favourite_share(data, p), data.decided, data.count)


def log_loss(data: MeasuredComparisons, p: np.ndarray) -> Statistic:
    """Mean of -s log p - (1 - s) log(1 - p)."""
    s = data.left_share
    p = np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return weighted_mean(-s * np.log(p) - (1 - s) * np.log1p(-p), data.decided, data.count)


def calibration_slope(data: MeasuredComparisons, p: np.ndarray) -> Statistic:
    """The b with which s is most likely under the logit b log(p / (1 - p)).

    1 is right, less is overconfident. With x = log(p / (1 - p)) it solves
    sum_m (s - f(b x)) x = 0, whose derivative J = sum_m x^2 f (1 - f) gives the influences
    (s - f) x / J.
    """
    x = logit(np.clip(p, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))

    def pull(slope: float) -> np.ndarray:
        return (data.left_share - expit(slope * x)) * x

    won = _favourite_share(data, p)
    at_start = float(data.decided @ (won * np.abs(x)))
    at_end = float(data.decided @ ((won - 1) * np.abs(x)))
    slope = _falling_root(lambda slope: float(data.decided @ pull(slope)), at_start, at_end)
    information = np.zeros(len(x))
    if np.isfinite(slope):
        information = data.decided * x**2 * expit(slope * x) * expit(-slope * x)
    total = float(information.sum())
    if not total > 0:
        return Statistic(slope, np.full(len(x), np.nan), information, data.count)
    return Statistic(slope, data.decided * pull(slope) / total, information / total, data.count)


def calibration_error(data: MeasuredComparisons, p: np.ndarray) -> Statistic:
    """How far from the favourite's probability is how often it won, on average over ten bins?

    Bins go by the favourite's probability and have equal weight. As a mean over comparisons it is
    each bin's sign times the favourite's share of the win less its probability.
    """
    confidence = np.maximum(p, 1 - p)
    # equal probabilities share a bin, whatever the order of the rows and the last digits
    level = np.unique(np.round(confidence, 12), return_inverse=True)[1]
    weight = np.bincount(level, data.decided)
    middle = (np.cumsum(weight) - weight / 2) / max(weight.sum(), SMALLEST_PROBABILITY)
    bin_ = np.minimum((N_BINS * middle).astype(int), N_BINS - 1)[level]
    surplus = _favourite_share(data, p) - confidence
    sign = np.sign(np.bincount(bin_, data.decided * surplus, N_BINS))
    return weighted_mean(sign[bin_] * surplus, data.decided, data.count)


def misordered(data: MeasuredComparisons, p: np.ndarray) -> Statistic:
    """Share of pairs with a majority that the predictions put against it.

    Each pair counts once for each fold that tests it, even chances half. The predicted order is
    the mean of p over the pair's comparisons in the fold, seen from the same side as the majority.
    """
    first, number = data.pairs_in_folds
    toward_low = data.amount * np.where(data.left < data.right, 1.0, -1.0)
    majority = np.bincount(number, toward_low * data.outcome)
    predicted = np.bincount(number, toward_low * (p - 0.5))
    decided = np.abs(majority) > SMALLEST_MAJORITY * np.bincount(number, data.amount)
    wrong = np.where(predicted == 0, 0.5, predicted * majority < 0)
    of_pairs = weighted_mean(wrong, decided.astype(float), np.ones(len(first)))
    influence, share = np.zeros((2, len(p)))
    influence[first] = of_pairs.influence  # of each pair, at its first row
    share[first] = of_pairs.share
    return Statistic(of_pairs.value, influence, share, np.ones(len(p)))


MEASURES: dict[str, Callable[[MeasuredComparisons, np.ndarray], Statistic]] = {
    "accuracy": accuracy,
    "log_loss": log_loss,
    "calibration_slope": calibration_slope,
    "calibration_error": calibration_error,
    "misordered": misordered,
}


def _favourite_share(data: MeasuredComparisons, p: np.ndarray) -> np.ndarray:
    """Share of the win that the favourite had; one half where no side is the favourite."""
    return np.where(p > 0.5, data.left_share, np.where(p < 0.5, 1 - data.left_share, 0.5))


def _falling_root(score: Callable[[float], float], at_start: float, at_end: float) -> float:
    """Where a falling function crosses zero, given its limits at minus and plus infinity."""
    if at_start == at_end:
        return float("nan")  # no row favours a side
    if at_start == 0 or at_end == 0:  # the favourite never won, or always
        return float("inf") if at_end == 0 else float("-inf")
    return solve_falling(score, -1.0, 1.0, limits=(-np.inf, np.inf), xtol=1e-15)


# -- calibration -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CalibrationBin:
    """Comparisons whose favourite should win with a probability from ``low`` to ``high``.

    ``promised`` is their mean probability, ``observed`` the share that the favourites won.
    """

    low: float
    high: float
    promised: float
    observed: float
    observed_low: float
    observed_high: float
    number: float


def calibration_bins(probability: np.ndarray, data: Comparisons) -> list[CalibrationBin]:
    """Predicted and observed win shares of the favourites, in ten bins from 50 to 100 %.

    Of decided comparisons, which the probabilities are of. Intervals are Wilson's, 95 %, as if
    comparisons were independent; weighted ones are worth (sum of weights)^2 / sum of squares.
    ``probability`` is that of left, one for each comparison; empty bins are left out.
    """
    amount = np.where(data.outcome != 0, data.amount, 0.0)
    squares = amount * data.importance
    promised = np.maximum(probability, 1 - probability)
    won = (probability >= 0.5) == (data.outcome > 0)
    label = np.minimum((2 * N_BINS * (promised - 0.5)).astype(int), N_BINS - 1)
    bins = []
    for number in np.unique(label[amount > 0]):
        inside = (label == number) & (amount > 0)
        weight = amount[inside]
        total = float(weight.sum())
        low = 0.5 + float(number) / (2 * N_BINS)
        observed = float(np.average(won[inside], weights=weight))
        interval = wilson_interval(observed, total**2 / float(squares[inside].sum()))
        bins.append(
            CalibrationBin(
                low=low,
                high=low + 0.5 / N_BINS,
                promised=float(np.average(promised[inside], weights=weight)),
                observed=observed,
                observed_low=interval[0],
                observed_high=interval[1],
                number=total,
            )
        )
    return bins
