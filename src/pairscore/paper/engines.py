"""From a cell to its row: draw the population, make the estimate, measure it."""

import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from pairscore import __version__
from pairscore.metrics import angle
from pairscore.paper.cells import Cell
from pairscore.population import Population
from pairscore.regression import RankRegression

COLUMNS = (
    "figure", "panel", "n_items", "n_comparisons", "n_features", "min_eigenvalue", "noise", "generation", "seed", "method", "engine",
    "angle", "norm_error", "c1", "seconds", "version",
)  # fmt: skip


@lru_cache(maxsize=64)
def population_of(n_features: int, min_eigenvalue: float, noise: float, seed: int) -> Population:
    """The population of a generation; noise changes its slope and nothing else."""
    return Population(n_features, min_eigenvalue=min_eigenvalue, noise=noise, rng=seed)


def run_cell(cell: Cell, seed: int | None = None) -> dict[str, Any]:
    """The row of one cell: its parameters, what was measured, and the time it took; ``seed`` instead of the cell's own."""
    population = population_of(cell.n_features, cell.min_eigenvalue, cell.noise, cell.population_seed)
    start = time.perf_counter()
    estimate = estimate_of(cell, population, cell.seed if seed is None else seed)
    seconds = time.perf_counter() - start
    limit = population.slope * population.beta if cell.method == "mle" else population.c1 * population.beta
    return {
        **{name: getattr(cell, name) for name in COLUMNS if hasattr(cell, name)},
        "angle": angle(estimate, population.beta),
        "norm_error": float(np.linalg.norm(estimate - limit)),
        "c1": population.c1,
        "seconds": round(seconds, 6),
        "version": __version__,
    }


def estimate_of(cell: Cell, population: Population, seed: int) -> np.ndarray:
    """The estimate of a cell: drawn from its exact law, or fitted to items and votes."""
    rng = np.random.default_rng(seed)
    if cell.engine == "fast":
        return population.draw_split(cell.n_items, cell.n_comparisons, rng)
    items, votes = population.draw(cell.n_items, cell.n_comparisons, rng, second_half=cell.method == "split")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separation and few items are part of the experiment
        model = RankRegression(cell.method, inference=None).fit(items, votes)
    return np.asarray(model.coef_ if cell.method == "mle" else model.closed_form_coef_)
