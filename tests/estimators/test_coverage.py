"""The 95 % intervals cover 95 %: all methods, with and without item effects, in a few fits each.

``make studies`` looks at each cell by itself, with many more fits.
"""

import numpy as np
import pytest

from tests.coverage_cells import CELLS, METHODS, cell_scores
from tests.limits import fair_misses, fair_squares

N_FITS = 40


def test_intervals_cover_over_all_cells_and_in_each():
    z = np.array([cell_scores(cell, N_FITS) for cell in CELLS])
    squares, misses = z**2, np.abs(z) > 1.959964
    # the two coefficients of a fit may go together
    low, high = fair_squares(z.size, n_sums=2, alike=2)
    assert low < squares.sum() < high
    low, high = fair_misses(z.size, n_sums=2)
    assert low < misses.sum() < high
    low, high = fair_squares(N_FITS, n_sums=2 * len(CELLS))
    outside = {
        cell: total.round(1)
        for cell, total in zip(CELLS, squares.sum(axis=1), strict=True)
        if not np.all((low < total) & (total < high))
    }
    assert not outside, (low, high)


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_usual_interval_fails_with_item_effects(method):
    """One cell is enough to see it, by its squares and by its misses."""
    z = cell_scores(("item effects of sd 1.5", method), N_FITS, inference="model")
    assert np.all(np.sum(z**2, axis=0) > fair_squares(N_FITS, n_sums=2 * len(CELLS))[1])
    assert np.sum(np.abs(z) > 1.959964) > fair_misses(z.size, n_sums=2)[1]
