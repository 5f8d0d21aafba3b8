"""How much comparisons count: weight times count of each, or None where every one counts once.

Most studies have neither weights nor counts. None then takes no memory, and sums over comparisons
need no products.
"""

import numpy as np


def total_of(amount: np.ndarray | None, n_rows: int) -> float:
    """The amount of all comparisons."""
    return float(n_rows if amount is None else amount.sum())


def amount_where(mask: np.ndarray, amount: np.ndarray | None) -> float:
    """The amount of the comparisons of a mask (M)."""
    return float(np.count_nonzero(mask) if amount is None else amount[mask].sum())


def some_amounts(amount: np.ndarray | None, rows: np.ndarray | slice) -> np.ndarray | None:
    """Those of some rows."""
    return None if amount is None else amount[rows]


def times_amount(values: np.ndarray, amount: np.ndarray | None) -> np.ndarray:
    """Values (M), each as often as its comparison counts."""
    return values if amount is None else amount * values


def amounts_of_rows(amount: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Amounts (M) where each is needed."""
    return np.ones(n_rows) if amount is None else amount


def meetings(left: np.ndarray, right: np.ndarray, amount: np.ndarray | None) -> np.ndarray:
    """Mask (M) of the comparisons of two different items with a positive amount."""
    apart = left != right
    return apart if amount is None else apart & (amount > 0)


def times_met(
    left: np.ndarray, right: np.ndarray, amount: np.ndarray | None, times: np.ndarray | None
) -> np.ndarray:
    """How often two items met in each row (M), if it counts at all: ``times`` are the counts."""
    return np.where(meetings(left, right, amount), amounts_of_rows(times, len(left)), 0.0)
