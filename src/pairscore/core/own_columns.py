"""Items with a column of their own: they differ from all others, which are equal, in some feature.

Such a column is the 0/1 column of one item, or of a category that has one item.
"""

import numpy as np


def has_own_column(Z: np.ndarray, exposures: np.ndarray) -> np.ndarray:
    """Mask (N) of the compared items that differ from all others, which are equal, in some column.

    Such a column is the 0/1 column of one item, or of a category that has one item.
    """
    usual = usual_values(Z[np.flatnonzero(exposures > 0)[:3]])
    others = other_rows(Z, exposures, np.arange(len(Z)), usual)
    return own_column_mask(others, len(Z))


def usual_values(first: np.ndarray) -> np.ndarray:
    """The value (d) of all rows but one, by the first three of these; NaN where there is none.

    If all rows but one are equal, two of three are.
    """
    ordered = np.sort(first, axis=0)
    equal = np.any(ordered[1:] == ordered[:-1], axis=0) & (len(first) > 2)
    usual = np.full(first.shape[1], np.nan)
    usual[equal] = np.median(first[:, equal], axis=0) if equal.any() else np.nan
    return usual


def other_rows(
    Z: np.ndarray, exposures: np.ndarray, numbers: np.ndarray, usual: np.ndarray
) -> np.ndarray:
    """How many compared items have another value than the usual one, and the sum of their numbers.

    An array (2 x d); those of disjoint sets of items add.
    """
    others, rows = np.zeros((2, len(usual))), np.flatnonzero(exposures > 0)
    for column in np.flatnonzero(~np.isnan(usual)):
        other = rows[Z[rows, column] != usual[column]]
        others[:, column] = len(other), numbers[other].sum()
    return others


def own_column_mask(others: np.ndarray, n_items: int) -> np.ndarray:
    """Mask (N) of the items that are the only other one in some column."""
    mask = np.zeros(n_items, dtype=bool)
    mask[others[1, others[0] == 1].astype(np.intp)] = True
    return mask
