"""The grid of the experiments: one cell is one study, and its seed is its own identity.

Figures 2 to 4 are the paper's (section 8), 7 is ours. Figures 5 and 6 are solved, not read off a
grid (needed.py); figures 1, 9 and 10 have rows of their own kind.

From a cell to its row: draw the population, make the estimate, measure it.

The smallest N with mean angle at most 0.3 (figures 5, 6 and 8): solved, not read off a coarse grid.

The prediction brackets it, simulation refines it. At a few sizes around the root the mean angle of
the generations is simulated, with the same populations and the same stream of random numbers at
each. A line through the logarithms of these means, with the slope that the prediction has there,
meets the target at N; if that is outside the sizes, they move there and it is done again. Leaving
out one generation at a time gives the interval.
"""

import hashlib
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import t

from pairscore import __version__
from pairscore.choices import METHODS
from pairscore.core.links import get_link
from pairscore.metrics import angle
from pairscore.model.regression import RankRegression
from pairscore.planning.planner import paper_comparisons, plan
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.population import Population
from pairscore.theory.predict import ErrorLaw

DIMENSIONS = (10, 90, 250)
NOISES = {"a": 0.0, "b": 0.2, "c": 0.4}
EIGENVALUES = (1 / 200, 0.1, 1.0)
N_GRID = tuple(round(float(n)) for n in np.geomspace(300, 30_000, 9))
M_GRID = tuple(round(float(m)) for m in np.geomspace(300, 50_000, 9))
FIXED_ITEMS = 2500
METHOD_GRID = (300, 534, 949, 1687, 3000)  # N of figure 7: every method is fitted there


@dataclass(frozen=True)
class Cell:
    """One study of one figure.

    ``engine`` is "fast" (the estimate drawn from its exact law) or "direct" (items, votes, fit).
    """

    figure: str
    panel: str
    n_items: int
    n_comparisons: int
    n_features: int
    min_eigenvalue: float
    noise: float
    generation: int
    method: str = "split"
    engine: str = "fast"

    @property
    def key(self) -> str:
        """What tells this cell from every other, panels apart.

        The same study has the same seed wherever it is shown.
        """
        parts = (
            self.n_items,
            self.n_comparisons,
            self.n_features,
            repr(float(self.min_eigenvalue)),
            repr(float(self.noise)),
            self.generation,
            self.method,
        )
        return "/".join(map(str, (*parts, self.engine)))

    @property
    def seed(self) -> int:
        return seed_of(self.key)

    @property
    def population_seed(self) -> int:
        """The population of a generation.

        One for all sizes and methods, so that curves compare like with like.
        """
        return seed_of(
            f"population/{self.n_features}/{float(self.min_eigenvalue)!r}/{self.generation}"
        )


def seed_of(identity: str) -> int:
    """A seed from words: the same on every machine and in any order."""
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big") >> 1


def figure_cells(figure: str, n_generations: int, engine: str = "fast") -> Iterator[Cell]:
    """The cells of figure 2, 3, 4 or 7, generation by generation."""
    for generation in range(n_generations):
        for panel, n, m, d, eigenvalue, noise, method in _GRIDS[figure]():
            chosen = engine if method == "split" else "direct"
            yield Cell(figure, panel, n, m, d, eigenvalue, noise, generation, method, chosen)


Point = tuple[str, int, int, int, float, float, str]


def _figure_2() -> Iterator[Point]:
    for d in DIMENSIONS:
        for n in N_GRID:
            yield "a", n, paper_comparisons(n), d, 1.0, 0.2, "split"
        for m in M_GRID:
            yield "b", FIXED_ITEMS, m, d, 1.0, 0.2, "split"


def _figure_3() -> Iterator[Point]:
    for panel, noise in NOISES.items():
        for d in DIMENSIONS:
            for n in N_GRID:
                yield panel, n, paper_comparisons(n), d, 1 / 200, noise, "split"


def _figure_4() -> Iterator[Point]:
    for panel, noise in NOISES.items():
        for d in DIMENSIONS:
            for m in M_GRID:
                yield panel, FIXED_ITEMS, m, d, 1 / 200, noise, "split"


def _figure_7() -> Iterator[Point]:
    for method in METHODS:
        for n in METHOD_GRID:
            yield "a", n, paper_comparisons(n), 90, 1 / 200, 0.2, method


_GRIDS = {"2": _figure_2, "3": _figure_3, "4": _figure_4, "7": _figure_7}


CELL_COLUMNS = (
    "figure", "panel", "n_items", "n_comparisons", "n_features", "min_eigenvalue", "noise", "generation", "seed", "method", "engine",
    "angle", "norm_error", "c1", "seconds", "version",
)  # fmt: skip


@lru_cache(maxsize=64)
def population_of(n_features: int, min_eigenvalue: float, noise: float, seed: int) -> Population:
    """The population of a generation; noise changes its slope and nothing else."""
    return Population(n_features, min_eigenvalue=min_eigenvalue, noise=noise, rng=seed)


def run_cell(cell: Cell, seed: int | None = None) -> dict[str, Any]:
    """The row of one cell: its parameters, what was measured, and the time it took.

    ``seed`` instead of the cell's own.
    """
    population = population_of(
        cell.n_features, cell.min_eigenvalue, cell.noise, cell.population_seed
    )
    start = time.perf_counter()
    estimate = estimate_of(cell, population, cell.seed if seed is None else seed)
    seconds = time.perf_counter() - start
    limit = (
        population.slope * population.beta
        if cell.method == "mle"
        else population.c1 * population.beta
    )
    return {
        **{name: getattr(cell, name) for name in CELL_COLUMNS if hasattr(cell, name)},
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
    items, votes = population.draw(
        cell.n_items, cell.n_comparisons, rng, second_half=cell.method == "split"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separation and few items are part of the experiment
        model = RankRegression(cell.method, inference=None).fit(items, votes)
    return np.asarray(model.coef_ if cell.method == "mle" else model.closed_form_coef_)


TARGET = 0.3
D_GRID = (10, 30, 50, 90, 130, 170, 210, 250)
EIGENVALUE_GRID = tuple(float(value) for value in np.geomspace(1 / 200, 1, 8))
METHOD_D_GRID = (10, 50, 90, 170, 250)
FACTORS = (0.8, 1.0, 1.25)  # sizes around the predicted N
LEVEL = 0.95
MOST_MOVES = 4
NEED_COLUMNS = (
    "figure",
    "panel",
    "n_features",
    "min_eigenvalue",
    "noise",
    "method",
    "n_needed",
    "low",
    "high",
    "predicted",
    "n_generations",
    "seconds",
    "version",
)


@dataclass(frozen=True)
class Need:
    """One point of figure 5, 6 or 8."""

    figure: str
    panel: str
    n_features: int
    min_eigenvalue: float
    noise: float
    method: str = "split"

    @property
    def key(self) -> str:
        return f"{self.figure}/{self.panel}/{self.n_features}/{float(self.min_eigenvalue)!r}/{float(self.noise)!r}/{self.method}"


def needs(figure: str) -> list[Need]:
    """The points of a figure."""
    if figure == "5":
        return [
            Need("5", panel, d, eigenvalue, noise)
            for panel, noise in NOISES.items()
            for eigenvalue in EIGENVALUES
            for d in D_GRID
        ]
    if figure == "6":
        return [
            Need("6", panel, d, eigenvalue, noise)
            for panel, noise in NOISES.items()
            for d in DIMENSIONS
            for eigenvalue in EIGENVALUE_GRID
        ]
    return [Need("8", "a", d, 1 / 200, 0.2, method) for method in METHODS for d in METHOD_D_GRID]


def solve_need(need: Need, n_generations: int, engine: str = "fast") -> dict[str, Any]:
    """The row of one point."""
    predicted = plan(
        need.n_features,
        noise=need.noise,
        min_eigenvalue=need.min_eigenvalue,
        angle=TARGET,
        method=need.method,
    ).n_items
    link = get_link("logit")
    law = ErrorLaw(
        np.linspace(1.0, need.min_eigenvalue, need.n_features),
        link,
        spread_for_noise(link, need.noise),
    )
    center, seconds = float(predicted), 0.0
    for _ in range(MOST_MOVES):
        sizes = sorted({max(round(factor * center), need.n_features + 5) for factor in FACTORS})
        runs = [_angles(need, n, n_generations, engine) for n in sizes]
        seconds += sum(run["seconds"] for run in runs)
        angles = np.array([run["angles"] for run in runs])
        n_needed = _size_for(law, need, sizes, angles.mean(axis=1))
        if sizes[0] <= n_needed <= sizes[-1]:
            break
        center = n_needed
    low, high = _jackknifed(law, need, sizes, angles, n_needed)
    return {
        **{name: getattr(need, name) for name in ("figure", "panel", "n_features", "min_eigenvalue", "noise", "method")},
        "n_needed": n_needed, "low": low, "high": high, "predicted": predicted, "n_generations": n_generations,
        "seconds": round(seconds, 6), "version": __version__,
    }  # fmt: skip


def _jackknifed(
    law: ErrorLaw, need: Need, sizes: list[int], angles: np.ndarray, n_needed: float
) -> tuple[float, float]:
    """A 95 % interval for N from leaving out one generation at a time, on the logarithm of N."""
    g = angles.shape[1]
    if g < 2:
        return np.nan, np.nan
    without = np.log(
        [
            _size_for(law, need, sizes, np.delete(angles, left_out, axis=1).mean(axis=1))
            for left_out in range(g)
        ]
    )
    reach = float(np.sqrt((g - 1) * without.var())) * float(t.ppf(0.5 + LEVEL / 2, g - 1))
    return round(n_needed * float(np.exp(-reach)), 1), round(n_needed * float(np.exp(reach)), 1)


def _angles(need: Need, n: int, n_generations: int, engine: str) -> dict[str, Any]:
    """Angles of all generations at one size."""
    chosen = engine if need.method == "split" else "direct"
    cell = Cell(
        need.figure,
        need.panel,
        n,
        paper_comparisons(n),
        need.n_features,
        need.min_eigenvalue,
        need.noise,
        0,
        need.method,
        chosen,
    )
    rows = [
        run_cell(replace(cell, generation=generation), seed=seed_of(f"{need.key}/{generation}"))
        for generation in range(n_generations)
    ]
    return {
        "angles": [row["angle"] for row in rows],
        "seconds": sum(row["seconds"] for row in rows),
    }


def _size_for(law: ErrorLaw, need: Need, sizes: list[int], means: np.ndarray) -> float:
    """Where the mean angle is the target.

    The prediction, shifted to fit the means, read backwards near these sizes.
    """
    expected = np.array(
        [law.errors(n, paper_comparisons(n), need.method)["angle"].mean() for n in sizes]
    )
    shift = float(np.mean(np.log(means / expected)))
    slope = float(np.polyfit(np.log(sizes), np.log(expected), 1)[0])
    middle = float(np.mean(np.log(sizes)))
    return round(
        float(np.exp(middle + (np.log(TARGET) - shift - np.mean(np.log(expected))) / slope)), 1
    )
