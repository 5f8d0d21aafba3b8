"""Differences of scores with who won: comparison by comparison, or as a distribution.

Along a fixed score, a comparison is a number: the difference x of its two items. Whatever is asked
of a score (its scale on the link, how often it is right, its log-likelihood) is a sum over
comparisons of a smooth function of x, for each of the three outcomes. Many comparisons are
therefore kept as their distribution: bins of x, each with the amount in it and the sums of x, x^2
and x^3. Two points in a bin, those of Gauss's quadrature, have the same four sums.

Bins are 2^-7 of x wide, so that a sum over the points is off by the fourth power of that: ten
digits of a sum over the comparisons themselves, however few differences there are; of a sum over
comparisons that are all certain, fewer (tests/core/test_differences.py).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairscore.core.amounts import amounts_of_rows, some_amounts, times_amount
from pairscore.core.links import Link
from pairscore.core.sums import Sums
from pairscore.core.threads import on_each, row_chunks

BINS_OF_OCTAVE = 128  # bins from x to 2 x, of which the fourth power is the error
OCTAVES = 48  # below the largest difference; what is smaller is zero beside it
DROPPED_BITS = 52 - 7  # of a double's 52 digits, all but those that tell 128 bins apart
MANY = 1 << 18  # comparisons, from which on their distribution is quicker than they are
N_BINS = OCTAVES * BINS_OF_OCTAVE + 1  # of either sign, from zero
KINDS = 6  # of an outcome, -1, 0 or 1, and a sign: 2 outcome + 2, and 1 more where x is negative
AT_ONCE = 1 << 16  # comparisons at a time, beside which the bins are few


@dataclass(frozen=True)
class OutcomeSums:
    """How decided comparisons go by a score: amounts, and their log-likelihood.

    ``right`` are those that the score predicts, ``wrong`` is how many the link expects to go
    against it.
    """

    decided: float
    right: float
    wrong: float
    loglik: float


@dataclass(frozen=True)
class Differences:
    """Score of left minus score of right: ``x``, ``outcome`` (1, 0, -1) and ``amount``, all (n).

    A row is a comparison, or one point of a distribution.
    """

    x: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray

    @classmethod
    def of_comparisons(
        cls, x: np.ndarray, outcome: np.ndarray, amount: np.ndarray | None
    ) -> "Differences":
        """The comparisons themselves, or their distribution where they are many.

        Six sums over five million comparisons take a tenth of the time, over MANY half of it.
        """
        if len(x) < MANY:
            return cls(x, outcome, amounts_of_rows(amount, len(x)))
        largest = float(np.abs(x).max())
        return DifferenceSums.of_comparisons(x, outcome, amount, largest).points()

    def times(self, factor: float, shift: float = 0.0) -> "Differences":
        """factor * x + shift."""
        return Differences(factor * self.x + shift, self.outcome, self.amount)

    def take(self, rows: np.ndarray) -> "Differences":
        """Some of the rows, by a mask or numbers."""
        return Differences(self.x[rows], self.outcome[rows], self.amount[rows])

    @property
    def total(self) -> float:
        """The amount of all rows."""
        return float(self.amount.sum())

    @cached_property
    def wins(self) -> np.ndarray:
        """How much each row counts as a win; a tie counts as half of one. The rest are losses."""
        return self.amount * (0.5 + 0.5 * self.outcome)

    @property
    def tied(self) -> float:
        """The amount of ties."""
        is_tie = self.outcome == 0
        return float(self.amount[is_tie].sum())

    @property
    def squares(self) -> float:
        """The sum of amount x^2."""
        return float((self.amount * self.x) @ self.x)

    def outcomes(self, link: Link) -> OutcomeSums:
        """How decided comparisons go at these differences."""
        ahead = self.x * self.outcome
        decided = self.amount * (self.outcome != 0)
        return OutcomeSums(
            decided=float(decided.sum()),
            right=float(decided @ (ahead > 0)),
            wrong=float(decided @ link.cdf(-np.abs(ahead))),
            loglik=float(decided @ link.log_cdf(ahead)),
        )


@dataclass(frozen=True)
class DifferenceSums(Sums):
    """The distribution of differences: of each of the KINDS (rows), in bins of size (columns).

    ``amount`` in each bin, and the sums of amount x, amount x^2 and amount x^3.
    """

    amount: np.ndarray
    first: np.ndarray
    second: np.ndarray
    third: np.ndarray

    @classmethod
    def zero(cls) -> "DifferenceSums":
        """Of no comparisons."""
        return cls(*(np.zeros((KINDS, N_BINS)) for _ in range(4)))

    @classmethod
    def of_comparisons(
        cls, x: np.ndarray, outcome: np.ndarray, amount: np.ndarray | None, largest: float
    ) -> "DifferenceSums":
        """Of comparisons (M), none of which differs by more than ``largest``; in threads."""

        def one(chunk: slice) -> DifferenceSums:
            sums = cls.zero()
            for first in range(chunk.start, chunk.stop, AT_ONCE):
                rows = slice(first, min(first + AT_ONCE, chunk.stop))
                sums.add(x[rows], outcome[rows], some_amounts(amount, rows), largest)
            return sums

        return sum(on_each(one, row_chunks(len(x), 1)), start=cls.zero())

    def add(
        self, x: np.ndarray, outcome: np.ndarray, amount: np.ndarray | None, largest: float
    ) -> None:
        """Add comparisons (M), in place; ``largest`` is that of all that are ever added."""
        place = _bins(x, largest)
        place += N_BINS * (2 * outcome + 2 + (x < 0)).astype(np.int64)
        values = amount
        for total in (self.amount, self.first, self.second, self.third):
            total += np.bincount(place, values, total.size).reshape(total.shape)
            values = times_amount(x, values)

    def points(self) -> Differences:
        """Two points of each bin, which stand for its comparisons."""
        kind, place = np.nonzero(self.amount)
        amount = self.amount[kind, place]
        mean, square, cube = (
            total[kind, place] / amount for total in (self.first, self.second, self.third)
        )
        width = np.abs(mean) / BINS_OF_OCTAVE
        # no more than a bin allows: rounding errors must not move a point across zero
        variance = np.clip(square - mean**2, 0.0, width**2)
        skew = cube - 3 * mean * square + 2 * mean**3
        turn = np.divide(skew, variance, out=np.zeros_like(skew), where=variance > 0)
        turn = np.clip(turn, -width, width) / 2
        reach = np.sqrt(turn**2 + variance)
        share = np.divide(turn, reach, out=np.zeros_like(turn), where=reach > 0) / 2
        x = np.concatenate([mean + turn - reach, mean + turn + reach])
        amount = np.concatenate([(0.5 + share) * amount, (0.5 - share) * amount])
        return Differences(x, np.tile(kind // 2 - 1, 2), amount)


def _bins(x: np.ndarray, largest: float) -> np.ndarray:
    """The bin of the size of each difference (M): its leading bits.

    A positive floating-point number has its power of two and then its digits in its bits, so that
    the first bits, as a whole number, count bins of equal relative width.
    """
    size = np.abs(x).view(np.int64)
    size >>= DROPPED_BITS
    size += N_BINS - 1 - int(np.float64(largest).view(np.int64) >> DROPPED_BITS)
    return np.maximum(size, 0, out=size)
