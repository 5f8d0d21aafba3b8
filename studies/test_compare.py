"""Standard errors of compare: do 95 % intervals hold the expected scores of fixed models?"""

import numpy as np
from scipy.stats import norm
from tests.evaluation.coverage import z_scores

N_DRAWS = 1000


def test_errors_cover_the_expected_scores_over_fresh_items(figures):
    """No share significantly outside 92 to 98 %; rows taken for independent cover far less."""
    z, rival = z_scores(N_DRAWS, seed=1)
    reach = norm.isf(1e-6 / len(z)) / np.sqrt(N_DRAWS)
    low, high = 0.92 - reach * np.sqrt(0.92 * 0.08), 0.98 + reach * np.sqrt(0.98 * 0.02)
    shares = {key: np.mean(np.abs(values) < 1.959964) for key, values in z.items()}
    for (kind, measure), share in shares.items():
        figures(f"compare: coverage, {kind}, {measure}", f"{low:.1%} to {high:.1%}", f"{share:.1%}")
    naive = np.mean(np.abs(rival) < 1.959964)
    figures("compare: rows taken for independent", f"below {low - 0.1:.1%}", f"{naive:.1%}")
    assert all(low < share < high for share in shares.values())
    assert naive < low - 0.1
