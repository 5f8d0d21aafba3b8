"""Cells of the studies of coverage: which items, comparisons and item effects, which method."""

import zlib
from itertools import product

from tests.laws import GaussianStudy, coverage

STUDIES = {
    "no item effects": GaussianStudy(400, 4000, 8),
    "item effects of sd 0.5": GaussianStudy(400, 4000, 8, item_sd=0.5),
    "item effects of sd 1.5": GaussianStudy(400, 4000, 8, item_sd=1.5),
    "each pair five times": GaussianStudy(400, 4000, 8, item_sd=0.5, repeats=5),
    "very uneven exposure": GaussianStudy(100, 1000, 3, item_sd=1.0, uneven=True),
    "50 items": GaussianStudy(50, 500, 3),
    "50 items with effects of sd 0.5": GaussianStudy(50, 500, 3, item_sd=0.5),
}
METHODS = ("split", "pooled", "paired", "mle")
CELLS = list(product(STUDIES, METHODS))


def cell_scores(cell, n_fits, **options):
    """z-scores of a null and of a real coefficient, one row for each fit.

    They are against the method's own large-sample limit. The seed comes from the cell's identity.
    """
    study, method = cell
    seed = zlib.crc32(repr(cell).encode())
    return coverage(STUDIES[study], method, n_fits, seed, **options)
