"""Shares of comparisons, and other means over them: how sure they are where items are shared.

A measure is off by a sum of influences psi_m, to first order, one for each comparison. Comparisons
that share an item go wrong together, so its variance lets any two of them be dependent. It is
estimated by

    sum_i t_i^2 / (1 - h_i)^2 - sum_p u_p^2,

t_i and u_p the sums of psi over the comparisons of item i and of the unordered pair p. The items
count every two comparisons that share one; those of a pair share two, and are taken off once.
Without item i the measure moves by t_i / (1 - h_i), h_i the item's share of the comparisons: to
first order this is the jackknife over items. Groups of items take the place of items where whole
groups are drawn; a pair within a group shares one group with itself, not two.

A share p whose variance is v is worth p (1 - p) / v independent comparisons, and its interval is
Wilson's for so many. Where the items are few, v itself is unsure, for which Korn and Graubard
(1998) multiply by (z / t)^2, quantiles of the normal law and of Student's.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from pairscore.core.incidence import ItemPairs
from pairscore.core.significance import normal_width

LARGEST_SHARE = 0.8  # of the comparisons that one item may have: without it little is left
ENOUGH_TESTS = 20  # independent ones, from which on a share is put into words


@dataclass(frozen=True, eq=False)
class Statistic:
    """The value of a measure, and what each of M comparisons contributes to it.

    Attributes
    ----------
    value : float
        NaN where no comparison says anything.
    influence : (M,) float
        psi: how far each comparison moves the value from what it would be on average.
    share : (M,) float
        How much of the whole each comparison is; they add up to 1.
    count : (M,) float
        How many equal and independent comparisons a row stands for.
    """

    value: float
    influence: np.ndarray
    share: np.ndarray
    count: np.ndarray


def weighted_mean(loss: np.ndarray, weight: np.ndarray, count: np.ndarray) -> Statistic:
    """A weighted mean m, on which a row has the influence share * (loss - m)."""
    total = float(weight.sum())
    if not total > 0:
        return Statistic(float("nan"), np.full(len(loss), np.nan), weight, count)
    share = weight / total
    counted = loss[weight > 0]
    value = float(np.clip(share @ loss, counted.min(), counted.max()))  # but for rounding
    return Statistic(value, share * (loss - value), share, count)


@dataclass(frozen=True, eq=False)
class InfluenceSums:
    """Influences summed over the comparisons of each item and of each pair, and singly.

    They subtract: the difference of two statistics on the same comparisons has the differences
    of their sums. ``of_items`` is t_i / (1 - h_i), ``of_pairs`` u_p, ``of_rows`` psi_m over the
    square root of the row's count.
    """

    of_items: np.ndarray
    of_pairs: np.ndarray
    of_rows: np.ndarray

    def __sub__(self, other: "InfluenceSums") -> "InfluenceSums":
        return InfluenceSums(
            self.of_items - other.of_items,
            self.of_pairs - other.of_pairs,
            self.of_rows - other.of_rows,
        )

    @property
    def std_error(self) -> float:
        """Item-robust, and never below that of independent comparisons.

        By chance the item-robust variance can even be negative.
        """
        robust = self.of_items @ self.of_items - self.of_pairs @ self.of_pairs
        return float(np.sqrt(np.maximum(robust, self.of_rows @ self.of_rows)))


def influence_sums(statistic: Statistic, pairs: ItemPairs) -> InfluenceSums:
    """Sum what comparisons contribute to a statistic over items and pairs, for its error.

    The sums are unknown (NaN) unless at least two comparisons have a share.
    """
    psi, share = statistic.influence, statistic.share
    psi = psi if np.count_nonzero(share) > 1 else np.full(len(psi), np.nan)
    without_item = 1 - np.minimum(pairs.sum_per_item(share), LARGEST_SHARE)
    return InfluenceSums(
        pairs.sum_per_item(psi) / without_item,
        pairs.sum_per_pair(psi),
        psi / np.sqrt(statistic.count),
    )


@dataclass(frozen=True)
class ShareInterval:
    """The ends of a share's interval, and how many independent comparisons it is worth."""

    low: float
    high: float
    effective: float

    @property
    def is_enough(self) -> bool:
        """Whether so many comparisons say anything that is worth a sentence."""
        return self.effective >= ENOUGH_TESTS


def share_interval(statistic: Statistic, pairs: ItemPairs, level: float = 0.95) -> ShareInterval:
    """Wilson's interval of a share, for as many independent comparisons as it is worth.

    At most as many as there are, (sum of amounts)^2 / sum of squares. Where the share is 0 or 1 (or
    there is one comparison only), nothing is seen of how comparisons that share an item go
    together: then they are worth no more than half of the items, each of which could be in one.
    """
    p, share = float(np.clip(statistic.value, 0.0, 1.0)), statistic.share
    if not np.isfinite(p):
        return ShareInterval(np.nan, np.nan, 0.0)
    n_items = int(np.count_nonzero(pairs.sum_per_item(share)))
    error = influence_sums(statistic, pairs).std_error
    number, seen = 1 / float(np.sum(share**2 / statistic.count)), p * (1 - p)
    worth = seen / error**2 if seen > 0 and error > 0 else n_items / 2
    width = normal_width(level)
    few_items = width / float(stdtrit(max(n_items - 1, 1), 0.5 + level / 2))
    effective = min(number, worth) * few_items**2
    return ShareInterval(*wilson_interval(p, effective, level), effective)


def wilson_interval(share: float, number: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share of so many independent comparisons, within [0, 1]."""
    z2 = normal_width(level) ** 2
    middle = (share + z2 / (2 * number)) / (1 + z2 / number)
    half = np.sqrt(z2 * share * (1 - share) / number + z2**2 / (4 * number**2)) / (1 + z2 / number)
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)
