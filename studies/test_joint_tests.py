"""Size of the joint test of a category without influence, with 2000 fits in each cell."""

import numpy as np
import pytest
from tests.model.test_contrasts import draw_items, draw_votes, fit_table

from pairscore.core.significance import wald
from pairscore.model.categories import shown_coefficients

N_FITS = 2000
# items, comparisons, levels, standard deviation of what features leave out
CELLS = ((60, 600, 6, 0.7), (100, 1000, 6, 0.0), (100, 1000, 6, 0.7), (100, 1000, 12, 0.7))


def null_tests(n_items, n_votes, n_levels, spread, n_fits=N_FITS, **settings):
    """p-values of a category that has no influence, beside those of chi-square (n_fits x 2)."""
    rng, found = np.random.default_rng(n_items + n_levels), []
    for _ in range(n_fits):
        _, table = draw_items(rng, n_items, n_levels)
        score = table["mass"] + spread * rng.normal(size=n_items)
        model = fit_table(table, draw_votes(rng, score, n_votes), **settings)
        term = shown_coefficients(model.result_).terms[0].contrasts
        plain = wald(term @ model.coef_, term @ model.covariance_ @ term.T)
        found.append((model.joint_test("grade").p, plain[2]))
    return np.array(found)


@pytest.mark.parametrize("cell", CELLS)
def test_a_category_without_influence_is_seldom_found(cell, figures):
    """A share that is three standard errors above 7 % fails; below 5 % is on the safe side."""
    share, rival = np.mean(null_tests(*cell) < 0.05, axis=0)
    n_items, n_votes, n_levels, spread = cell
    figures(
        f"joint test of {n_levels} levels, {n_items} items, {n_votes} comparisons, sd {spread}",
        "5 %, at most 7 %",
        f"{share:.1%}; by chi-square {rival:.1%}",
    )
    assert share < 0.07 + 3 * np.sqrt(0.07 * 0.93 / N_FITS)
    assert share <= rival


def test_the_classical_joint_test_fails_with_item_effects(figures):
    share = np.mean(null_tests(*CELLS[2], 400, inference="model")[:, 0] < 0.05)
    figures("classical joint test of 6 levels, sd 0.7", "above 20 %", f"{share:.1%}")
    assert share > 0.2


def test_a_ridge_makes_a_category_without_influence_matter(figures):
    """Why there is no joint test with one: the category is correlated with a feature."""
    rng, p = np.random.default_rng(0), []
    for _ in range(400):
        level, table = draw_items(rng, 100, 6)
        table["mass"] = table["mass"] + 0.8 * (level - 2.5)
        score = 0.7 * table["mass"] + 0.5 * rng.normal(size=100)
        fit = fit_table(table, draw_votes(rng, score, 1000), l2=50.0).result_
        rows = shown_coefficients(fit).terms[0].contrasts
        p.append(wald(rows @ fit.coef, rows @ fit.covariance @ rows.T)[2])
    share = np.mean(np.array(p) < 0.05)
    figures("joint test of 6 levels with l2=50, by chi-square", "above 20 %", f"{share:.1%}")
    assert share > 0.2
