"""Size of the joint test of a category without influence, with 2000 fits in each cell."""

import numpy as np
import pytest
from scipy.stats import chi2
from tests.model.test_contrasts import draw_items, draw_votes, fit_table

N_FITS = 2000
# items, comparisons, levels, standard deviation of what features leave out
CELLS = ((60, 600, 6, 0.7), (100, 1000, 6, 0.0), (100, 1000, 6, 0.7), (100, 1000, 12, 0.7))


def null_tests(n_items, n_votes, n_levels, spread, n_fits=N_FITS, **settings):
    """Joint tests of a category that has no influence."""
    rng, tests = np.random.default_rng(n_items + n_levels), []
    for _ in range(n_fits):
        _, table = draw_items(rng, n_items, n_levels)
        score = table["mass"] + spread * rng.normal(size=n_items)
        model = fit_table(table, draw_votes(rng, score, n_votes), **settings)
        tests.append(model.joint_test("grade"))
    return tests


@pytest.mark.parametrize("cell", CELLS)
def test_a_category_without_influence_is_seldom_found(cell, figures):
    """A share that is three standard errors above 7 % fails; below 5 % is on the safe side."""
    tests = null_tests(*cell)
    share = np.mean([test.p < 0.05 for test in tests])
    # the same statistics without the law of Hotelling
    n = tests[0].df_error + tests[0].df - 1
    plain = [test.statistic * n * test.df / test.df_error for test in tests]
    rival = np.mean(chi2.sf(plain, tests[0].df) < 0.05)
    n_items, n_votes, n_levels, spread = cell
    figures(
        f"joint test of {n_levels} levels, {n_items} items, {n_votes} comparisons, sd {spread}",
        "at most 7 % of 5 %",
        f"{share:.1%}; by chi-square {rival:.1%}",
    )
    assert share < 0.07 + 3 * np.sqrt(0.07 * 0.93 / N_FITS)
    assert share <= rival


def test_the_classical_joint_test_fails_with_item_effects(figures):
    share = np.mean([test.p < 0.05 for test in null_tests(*CELLS[2], 400, inference="model")])
    figures("classical joint test of 6 levels, sd 0.7", "above 20 %", f"{share:.1%}")
    assert share > 0.2
