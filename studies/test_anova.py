"""Size of both tests of features without influence, where comparisons share items: 5000 studies."""

import numpy as np
import pytest
from tests.evaluation.test_anova import null_p_values

N_FITS = 5000
SIZE = (0.035, 0.065)  # what may be found at 5 %
# items, comparisons, standard deviation of what features leave out, features without influence
CELLS = ((100, 1000, 0.7, 1), (100, 1000, 0.7, 3), (200, 2000, 1.0, 3), (400, 2000, 0.7, 2))


@pytest.mark.parametrize("cell", CELLS)
def test_features_without_influence_are_seldom_found_by_walds_test(cell, figures):
    """A share that is three standard errors outside of 3.5 to 6.5 % fails."""
    n_items, n_votes, spread, n_null = cell
    rng = np.random.default_rng([n_items, n_votes, n_null])
    found = null_p_values(rng, N_FITS, n_items, n_votes, spread, n_null)
    ratio, wald = np.mean(found < 0.05, axis=0)
    figures(
        f"anova of {n_null} features, {n_items} items, {n_votes} comparisons, sd {spread}",
        "3.5 to 6.5 %",
        f"{wald:.1%}; by likelihood ratio {ratio:.1%}",
    )
    slack = 3 * np.sqrt(0.05 * 0.95 / N_FITS)
    assert SIZE[0] - slack < wald < SIZE[1] + slack
    assert ratio > SIZE[1] + slack
