"""How sure is a mean over comparisons? Those that share an item go wrong together.

To first order a measure is off by a sum of influences psi_m, one for each comparison. Its variance, any two
comparisons that share an item being dependent, is estimated by

    sum_i t_i^2 / (1 - h_i)^2 - sum_p u_p^2,

t_i and u_p the sums of psi over the comparisons of item i and of the unordered pair p. The items count every two
comparisons that share one; those of a pair share two, and are taken off once. Without item i the measure moves by
t_i / (1 - h_i), h_i the item's share of the comparisons: to first order this is the jackknife over items. Groups of
items take the place of items where whole groups are drawn; a pair within a group shares one group with itself, not two.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LARGEST_SHARE = 0.8  # of the comparisons that one item may have: with nearly all, nothing is left without it


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
        return np.unique(np.minimum(one, other) * size + np.maximum(one, other), return_inverse=True)[1]

    def sum_per_item(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over its comparisons; one of an item with itself counts once."""
        size = max(self.one.max(initial=-1), self.other.max(initial=-1)) + 1
        return np.bincount(self.one, values, size) + np.bincount(self.other[self._apart], values[self._apart], size)

    def sum_per_pair(self, values: np.ndarray) -> np.ndarray:
        """For every pair of different items, the sum over its comparisons."""
        return np.bincount(self._pair, values[self._apart])


@dataclass(frozen=True, eq=False)
class Influence:
    """What items (without the others' help), pairs and single comparisons add to an error; of a difference, the differences."""

    of_items: np.ndarray
    of_pairs: np.ndarray
    of_rows: np.ndarray

    def __sub__(self, other: "Influence") -> "Influence":
        return Influence(self.of_items - other.of_items, self.of_pairs - other.of_pairs, self.of_rows - other.of_rows)

    @property
    def std_error(self) -> float:
        """Item-robust, and never below that of independent comparisons: by chance the former can even be negative."""
        robust = self.of_items @ self.of_items - self.of_pairs @ self.of_pairs
        return float(np.sqrt(np.maximum(robust, self.of_rows @ self.of_rows)))


def influence_of(psi: np.ndarray, share: np.ndarray, number: np.ndarray, meetings: Meetings) -> Influence:
    """Influences psi summed per item and pair; unknown (NaN) unless at least two comparisons have a share.

    ``share`` is how much of the whole each comparison is, ``number`` how many equal and independent comparisons a row stands for.
    """
    psi = psi if np.count_nonzero(share) > 1 else np.full(len(psi), np.nan)
    left = 1 - np.minimum(meetings.sum_per_item(share), LARGEST_SHARE)
    return Influence(meetings.sum_per_item(psi) / left, meetings.sum_per_pair(psi), psi / np.sqrt(number))
