"""The smallest N with mean angle at most 0.3 (figures 5, 6 and 8): solved, not read off a coarse grid.

The prediction brackets it, simulation refines it. At a few sizes around the root the mean angle of the
generations is simulated, with the same populations and the same stream of random numbers at each. A line
through the logarithms of these means, with the slope that the prediction has there, meets the target at N; if that is
outside the sizes, they move there and it is done again. Leaving out one generation at a time gives the interval.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t

from pairscore import __version__
from pairscore.integrals import spread_for_noise
from pairscore.links import get_link
from pairscore.paper.cells import DIMENSIONS, EIGENVALUES, METHODS, NOISES, Cell, paper_comparisons, seed_of
from pairscore.paper.engines import run_cell
from pairscore.planner import plan
from pairscore.theory import ErrorLaw

TARGET = 0.3
D_GRID = (10, 30, 50, 90, 130, 170, 210, 250)
EIGENVALUE_GRID = tuple(float(value) for value in np.geomspace(1 / 200, 1, 8))
METHOD_D_GRID = (10, 50, 90, 170, 250)
FACTORS = (0.8, 1.0, 1.25)  # sizes around the predicted N
LEVEL = 0.95
MOST_MOVES = 4
COLUMNS = ("figure", "panel", "n_features", "min_eigenvalue", "noise", "method", "n_needed", "low", "high", "predicted", "n_generations", "seconds", "version")


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
        return [Need("5", panel, d, eigenvalue, noise) for panel, noise in NOISES.items() for eigenvalue in EIGENVALUES for d in D_GRID]
    if figure == "6":
        return [Need("6", panel, d, eigenvalue, noise) for panel, noise in NOISES.items() for d in DIMENSIONS for eigenvalue in EIGENVALUE_GRID]
    return [Need("8", "a", d, 1 / 200, 0.2, method) for method in METHODS for d in METHOD_D_GRID]


def solve_need(need: Need, n_generations: int, engine: str = "fast") -> dict[str, Any]:
    """The row of one point."""
    predicted = plan(need.n_features, noise=need.noise, min_eigenvalue=need.min_eigenvalue, angle=TARGET, method=need.method).n_items
    link = get_link("logit")
    law = ErrorLaw(np.linspace(1.0, need.min_eigenvalue, need.n_features), link, spread_for_noise(link, need.noise))
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


def _jackknifed(law: ErrorLaw, need: Need, sizes: list[int], angles: np.ndarray, n_needed: float) -> tuple[float, float]:
    """A 95 % interval for N from leaving out one generation at a time, on the logarithm of N."""
    g = angles.shape[1]
    if g < 2:
        return np.nan, np.nan
    without = np.log([_size_for(law, need, sizes, np.delete(angles, left_out, axis=1).mean(axis=1)) for left_out in range(g)])
    reach = float(np.sqrt((g - 1) * without.var())) * float(t.ppf(0.5 + LEVEL / 2, g - 1))
    return round(n_needed * float(np.exp(-reach)), 1), round(n_needed * float(np.exp(reach)), 1)


def _angles(need: Need, n: int, n_generations: int, engine: str) -> dict[str, Any]:
    """Angles of all generations at one size."""
    chosen = engine if need.method == "split" else "direct"
    cell = Cell(need.figure, need.panel, n, paper_comparisons(n), need.n_features, need.min_eigenvalue, need.noise, 0, need.method, chosen)
    rows = [run_cell(replace(cell, generation=generation), seed=seed_of(f"{need.key}/{generation}")) for generation in range(n_generations)]
    return {"angles": [row["angle"] for row in rows], "seconds": sum(row["seconds"] for row in rows)}


def _size_for(law: ErrorLaw, need: Need, sizes: list[int], means: np.ndarray) -> float:
    """Where the mean angle is the target: the prediction, shifted to fit the means, read backwards near these sizes."""
    expected = np.array([law.errors(n, paper_comparisons(n), need.method)["angle"].mean() for n in sizes])
    shift = float(np.mean(np.log(means / expected)))
    slope = float(np.polyfit(np.log(sizes), np.log(expected), 1)[0])
    middle = float(np.mean(np.log(sizes)))
    return round(float(np.exp(middle + (np.log(TARGET) - shift - np.mean(np.log(expected))) / slope)), 1)
