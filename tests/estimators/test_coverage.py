"""Coverage of the 95 % intervals in simulated studies, against each method's own large-sample
limit.

2000 fits a cell; a share that is significantly (three standard errors) outside 93 to 97 % fails.
"""

import numpy as np
import pytest

from tests.laws import GaussianStudy, coverage

N_FITS = 2000
CELLS = {
    "no item effects": GaussianStudy(400, 4000, 8),
    "item effects of sd 0.5": GaussianStudy(400, 4000, 8, item_sd=0.5),
    "item effects of sd 1.5": GaussianStudy(400, 4000, 8, item_sd=1.5),
    "each pair five times": GaussianStudy(400, 4000, 8, item_sd=0.5, repeats=5),
    "very uneven exposure": GaussianStudy(100, 1000, 3, item_sd=1.0, uneven=True),
    "50 items": GaussianStudy(50, 500, 3),
    "50 items with effects of sd 0.5": GaussianStudy(50, 500, 3, item_sd=0.5),
}


def distance_outside(share, low, high):
    """How many standard errors a share of N_FITS lies outside [low, high]."""
    nearest = np.clip(share, low, high)
    return np.abs(share - nearest) / np.sqrt(nearest * (1 - nearest) / N_FITS)


@pytest.mark.parametrize("method", ["split", "pooled", "paired", "mle"])
@pytest.mark.parametrize("cell", CELLS)
def test_intervals_cover_a_null_and_a_real_coefficient(cell, method):
    z = coverage(CELLS[cell], method, N_FITS, seed=abs(hash_of(cell, method)))
    share = np.mean(np.abs(z) < 1.959964, axis=0)
    assert np.all(distance_outside(share, 0.93, 0.97) < 3), (
        f"null {share[0]:.3f}, real {share[1]:.3f}"
    )


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_the_classical_interval_fails_with_item_effects(method):
    z = coverage(CELLS["item effects of sd 1.5"], method, 400, seed=1, inference="model")
    share = np.mean(np.abs(z) < 1.959964, axis=0)
    assert np.all(share < 0.8), share


def hash_of(*words):
    """A seed from the cell's identity."""
    import zlib

    return zlib.crc32(repr(words).encode())
