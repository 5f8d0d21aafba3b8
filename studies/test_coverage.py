"""Coverage of the 95 % intervals, cell by cell, with 2000 fits each."""

import numpy as np
import pytest
from tests.coverage_cells import CELLS, METHODS, cell_scores

N_FITS = 2000


def distance_outside(share, low, high):
    """How many standard errors a share of N_FITS lies outside [low, high]."""
    nearest = np.clip(share, low, high)
    return np.abs(share - nearest) / np.sqrt(nearest * (1 - nearest) / N_FITS)


@pytest.mark.parametrize("cell", CELLS, ids=", ".join)
def test_intervals_cover_a_null_and_a_real_coefficient(cell, figures):
    """A share that is three standard errors outside 93 to 97 % fails."""
    null, real = share = np.mean(np.abs(cell_scores(cell, N_FITS)) < 1.959964, axis=0)
    figures(
        f"coverage: {', '.join(cell)}",
        "93 to 97 %",
        f"null {null:.1%}, real coefficient {real:.1%}",
    )
    assert np.all(distance_outside(share, 0.93, 0.97) < 3)


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_usual_interval_fails_with_item_effects(method, figures):
    """An interval that takes comparisons for independent covers too little."""
    z = cell_scores(("item effects of sd 1.5", method), 400, inference="model")
    null, real = share = np.mean(np.abs(z) < 1.959964, axis=0)
    figures(
        f"coverage of the usual interval, item effects of sd 1.5, {method}",
        "below 80 %",
        f"null {null:.1%}, real coefficient {real:.1%}",
    )
    assert np.all(share < 0.8)
