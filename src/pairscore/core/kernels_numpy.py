"""The twins of the compiled loops in NumPy and SciPy, for machines without a compiler.

Same arguments, same results up to rounding (tests/core/test_passes.py). Row numbers that are in no
table are refused here as there: SciPy would not look at them.
"""

import numpy as np

from pairscore.core.amounts import times_amount
from pairscore.errors import outside_table

IS_COMPILED = False


def refuse_outside(n: int, *places: np.ndarray) -> None:
    """Row numbers must be from 0 to n - 1."""
    for of in places:
        if len(of) and (of.min() < 0 or of.max() >= n):
            raise outside_table()


def add_tally(
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray | None,
    sums: np.ndarray,
) -> None:
    """Net wins and exposures, added (N x 2); a comparison of an item with itself is none."""
    n = len(sums)
    refuse_outside(n, left, right)
    exposed = times_amount((left != right).astype(float), amount)
    wins = exposed * outcome
    of_wins = np.bincount(left, wins, n) - np.bincount(right, wins, n)
    of_times = np.bincount(left, exposed, n) + np.bincount(right, exposed, n)
    sums += np.column_stack([of_wins, of_times]).astype(sums.dtype)


def subtract_scores(
    left: np.ndarray, right: np.ndarray, scores: np.ndarray, difference: np.ndarray
) -> None:
    """Score of left minus score of right, written to ``difference``."""
    refuse_outside(len(scores), left, right)
    np.subtract(scores[left], scores[right], out=difference)


def add_at_ends(
    left: np.ndarray,
    right: np.ndarray,
    at_left: np.ndarray,
    at_right: np.ndarray,
    sign: float,
    sums: np.ndarray,
) -> None:
    """sums[left] += at_left and sums[right] += sign * at_right, row by row."""
    n = len(sums)
    refuse_outside(n, left, right)
    sums += np.bincount(left, at_left, n) + sign * np.bincount(right, at_right, n)


def neighbour_pass(
    X: np.ndarray,
    start: np.ndarray,
    neighbour: np.ndarray,
    values: np.ndarray,
    first: int,
    last: int,
    sums: np.ndarray,
) -> None:
    """sums[i - first, k] += values[p, k] X[neighbour[p]], for the entries p of every item i."""
    from scipy import sparse

    refuse_outside(len(X), neighbour)
    begin, end = start[first], start[last]
    for kind in range(values.shape[1]):
        of_rows = neighbour[begin:end], start[first : last + 1] - begin
        block = sparse.csr_array((values[begin:end, kind], *of_rows), shape=(last - first, len(X)))
        sums[:, kind] += block @ X


def pass_messages(
    start: np.ndarray,
    high: np.ndarray,
    weight: np.ndarray,
    total: np.ndarray,
    to_low: np.ndarray,
    to_high: np.ndarray,
    sums: np.ndarray,
) -> None:
    """A round of messages along pairs, in place, and their sums per item, added."""
    refuse_outside(len(total), high)
    low = np.repeat(np.arange(len(start) - 1), np.diff(start))
    at_low, at_high = total[low] - to_low, total[high] - to_high
    to_low[:] = weight * at_high / (weight + at_high)
    to_high[:] = weight * at_low / (weight + at_low)
    add_at_ends(low, high, to_low, to_high, 1.0, sums)
