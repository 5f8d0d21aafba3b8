"""Mean angles predicted before any data, against simulated ones.

Small cells of the kind `make predictions` has.
"""

import numpy as np
import pytest
from benchmarks.predictions import (
    BARS,
    CELLS,
    Cell,
    first_order_angle,
    log_power,
    mean_of,
    simulate,
    write,
)
from scipy.stats import norm

from pairscore import Population, angle, predict_error
from pairscore.theory.predict import ErrorLaw

LEVEL = 1e-4  # chance that a right program fails a test, over all of its comparisons
SMALL = {
    Cell("smallest", 10, 0.2, 1.0, 40, 40): ["split", "paired"],
    Cell("one direction", 10, 0.1, 1 / 200, 40, log_power(40, 1)): ["split", "mle"],
    Cell("no noise", 10, 0.0, 0.1, 100, 200): ["paired"],
    Cell("few comparisons", 30, 0.2, 0.1, 120, 300): ["pooled", "mle"],
    Cell("many comparisons", 30, 0.4, 1 / 200, 120, log_power(120, 2)): ["pooled", "mle"],
}
CASES = [(cell, method) for cell, methods in SMALL.items() for method in methods]


def within(bar, predicted, simulated, n_tests=1):
    """The bar, and beyond it what simulation may be off by.

    Its standard error times a Bonferroni quantile.
    """
    return (
        abs(simulated.value - predicted)
        <= bar * predicted + norm.isf(LEVEL / 2 / n_tests) * simulated.error
    )


@pytest.mark.parametrize(("cell", "method"), CASES, ids=lambda value: getattr(value, "name", value))
def test_predicted_mean_angle_is_the_simulated_one(cell, method):
    simulated, _ = simulate(cell, method, BARS[method] / 4)
    predicted = cell.law.predict(cell.n_items, cell.n_comparisons, method).angle
    assert simulated.error <= BARS[method] / 4 * simulated.value  # else nothing would be told
    assert within(BARS[method], predicted, simulated, len(CASES)), (simulated, predicted)


def test_first_order_fails_at_as_many_comparisons_as_items():
    cell = Cell("rival", 60, 0.1, 1.0, 240, 240)
    simulated, _ = simulate(cell, "paired", 0.005)
    assert within(BARS["paired"], cell.law.predict(240, 240, "paired").angle, simulated)
    assert not within(BARS["paired"], first_order_angle(cell, "paired"), simulated)


@pytest.mark.parametrize("method", ["split", "mle"])
def test_share_of_misordered_pairs_of_fresh_items(method):
    cell = Cell("fresh", 10, 0.2, 0.1, 60, 200)
    _, counted = simulate(cell, method, BARS[method] / 4, count=True)
    assert within(BARS[method], cell.law.predict(60, 200, method).misordered, counted, 2), counted


def test_one_estimate_put_into_many_populations_has_the_mean_angle_of_many_studies():
    """The symmetry behind the simulation's variance reduction, against a new population for every
    estimate.
    """
    cell = Cell("twin", 10, 0.2, 1 / 200, 100, 300)
    reduced, _ = simulate(cell, "split", 0.01)
    rng, plain = np.random.default_rng(5), []
    for _ in range(2000):
        population = Population(10, min_eigenvalue=1 / 200, noise=0.2, rng=rng)
        plain.append(angle(population.draw_split(100, 300, rng), population.beta))
    plain = mean_of(plain)
    assert abs(plain.value - reduced.value) < norm.isf(LEVEL / 2) * np.hypot(
        plain.error, reduced.error
    ), (plain, reduced)


def test_one_population_is_predicted_too():
    """`predict_error` knows where beta points; the mean over all directions would be far off."""
    eigenvalues, rng = np.array([1.0, 1.0, 1.0, 0.01]), np.random.default_rng(6)
    population = Population(
        beta=[0, 0, 0, 1.0], mean=np.zeros(4), covariance=np.diag(eigenvalues), noise=0.2
    )
    simulated = mean_of(
        [angle(population.draw_split(100, 300, rng), population.beta) for _ in range(1500)]
    )
    assert within(BARS["split"], predict_error(population, 100, 300, "split").angle, simulated), (
        simulated
    )
    anywhere = (
        ErrorLaw(eigenvalues, population.link, population.spread).predict(100, 300, "split").angle
    )
    assert not within(BARS["split"], anywhere, simulated)


def test_cells_span_what_the_bars_are_promised_for():
    assert {cell.n_features for cell in CELLS} == {10, 90, 250}
    for d in (10, 90, 250):
        of_size = [cell for cell in CELLS if cell.n_features == d]
        assert {cell.noise for cell in of_size} == {0, 0.1, 0.2, 0.4}
        assert {cell.min_eigenvalue for cell in of_size} == {1 / 200, 0.1, 1}
        assert {min(cell.n_items for cell in of_size), max(cell.n_items for cell in of_size)} == {
            4 * d,
            30_000,
        }
        assert any(cell.n_comparisons == cell.n_items for cell in of_size)
        assert any(cell.n_comparisons == log_power(cell.n_items, 2) for cell in of_size)
    assert len({cell.name for cell in CELLS}) == len(CELLS) >= 30


def test_tables_go_between_their_markers(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- cells -->\nold\n<!-- end of cells -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr("benchmarks.predictions.PAGE", page)
    write({"cells": ["| new |"]})
    assert (
        page.read_text(encoding="utf-8")
        == "before\n<!-- cells -->\n| new |\n<!-- end of cells -->\nafter\n"
    )
