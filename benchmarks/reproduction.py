"""The cells of figure 3b with 250 features.

The default engine against the direct one and against the way the paper writes it.
"""

from dataclasses import replace

import numpy as np

from benchmarks.fast_draw import eqs_3_and_4
from pairscore.paper.experiments import figure_cells, population_of, run_cell


def written(cell):
    """Draw features, form every difference, average, solve."""
    population = population_of(
        cell.n_features, cell.min_eigenvalue, cell.noise, cell.population_seed
    )
    items, votes = population.draw(
        cell.n_items, cell.n_comparisons, np.random.default_rng(cell.seed)
    )
    return eqs_3_and_4(items, votes)


def reproduction(medians, report):
    cells = [
        cell
        for cell in figure_cells("3", 1)
        if cell.panel == "b" and cell.n_features == 250 and cell.n_items <= 10_000
    ]
    for cell in cells:
        run_cell(cell)  # the populations are made once, for all engines
    seconds = medians(
        5,
        fast=lambda: [run_cell(cell) for cell in cells for _ in range(10)],
        direct=lambda: [run_cell(replace(cell, engine="direct")) for cell in cells],
        written=lambda: [written(cell) for cell in cells],
    )
    fast = seconds["fast"] / 10
    print(
        f"  (N = {', '.join(f'{cell.n_items:,}' for cell in cells)}: {fast * 1e3:.1f} ms in all"
        " with the default engine)"
    )
    report(
        "drawing features, forming differences, averaging; over the default engine",
        seconds["written"] / fast,
        100.0,
        "at least",
    )
    report(
        "the direct engine (RankRegression('split')) over the default one",
        seconds["direct"] / fast,
        1.0,
        "at least",
    )
