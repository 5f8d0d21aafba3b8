"""Products with tables of any size are those of NumPy."""

import numpy as np

from pairscore.core import threads
from pairscore.core.row_blocks import rows_times, times_rows


def test_products_with_a_table_of_any_size_are_numpys(monkeypatch):
    monkeypatch.setattr(threads, "LARGE", 500)
    rng = np.random.default_rng(2)
    X, coef, wins = (rng.normal(size=shape) for shape in ((300, 5), 5, 300))
    wins[100:] = 0  # whole chunks are left out
    size = np.abs(X)
    one, other = rows_times(X, coef), times_rows(wins, X)
    assert np.all(np.abs(one - X @ coef) <= 1e-12 * size @ np.abs(coef))
    assert np.all(np.abs(other - wins @ X) <= 1e-12 * np.abs(wins) @ size)
    some = rows_times(X, coef, wins)
    np.testing.assert_array_equal(some[:100], one[:100])
    assert not some[150:].any()
