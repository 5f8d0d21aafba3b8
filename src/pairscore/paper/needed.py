"""The smallest N with mean angle at most 0.3 (figures 5, 6 and 8): solved, not read off a coarse grid.

The prediction brackets it; simulation refines it. The mean angle of the generations falls with N about
like a power that the prediction knows, so a few sizes near the root, a line through their logarithms with
that slope, and the Monte-Carlo error of the mean give N with an interval.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t

from pairscore import __version__
from pairscore.integrals import spread_for_noise
from pairscore.links import get_link
from pairscore.paper.cells import DIMENSIONS, EIGENVALUES, METHODS, NOISES, Cell, paper_comparisons
from pairscore.paper.engines import run_cell
from pairscore.planner import plan
from pairscore.theory import ErrorLaw

TARGET = 0.3
D_GRID = (10, 30, 50, 90, 130, 170, 210, 250)
EIGENVALUE_GRID = tuple(float(value) for value in np.geomspace(1 / 200, 1, 8))
METHOD_D_GRID = (10, 50, 90, 170, 250)
FACTORS = (0.8, 1.0, 1.25)  # sizes around the predicted N
LEVEL = 0.95
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
    sizes = sorted({max(round(factor * predicted), need.n_features + 5) for factor in FACTORS})
    runs = [_mean_angles(need, n, n_generations, engine) for n in sizes]
    expected = np.array([law.predict(n, paper_comparisons(n), need.method).angle for n in sizes])
    # each generation has its own factor over the prediction; where that factor meets the target is its N
    ratio = np.log(np.array([row["angles"] for row in runs]) / expected[:, None]).mean(axis=0)
    typical = float(np.log(np.mean(np.exp(ratio))))
    error = float(ratio.std(ddof=1) / np.sqrt(n_generations)) if n_generations > 1 else np.nan
    reach = error * float(t.ppf(0.5 + LEVEL / 2, max(n_generations - 1, 1)))
    n_needed, low, high = (_size_for(law, need, TARGET / np.exp(shift)) for shift in (typical, typical - reach, typical + reach))
    seconds = sum(row["seconds"] for row in runs)
    return {
        **{name: getattr(need, name) for name in ("figure", "panel", "n_features", "min_eigenvalue", "noise", "method")},
        "n_needed": n_needed, "low": low, "high": high, "predicted": predicted, "n_generations": n_generations,
        "seconds": round(seconds, 6), "version": __version__,
    }  # fmt: skip


def _mean_angles(need: Need, n: int, n_generations: int, engine: str) -> dict[str, Any]:
    cell = Cell(
        need.figure, need.panel, n, paper_comparisons(n), need.n_features, need.min_eigenvalue, need.noise, 0, need.method,
        engine if need.method == "split" else "direct",
    )  # fmt: skip
    rows = [run_cell(replace(cell, generation=generation)) for generation in range(n_generations)]
    return {"angles": [row["angle"] for row in rows], "seconds": sum(row["seconds"] for row in rows)}


def _size_for(law: ErrorLaw, need: Need, angle: float) -> float:
    """The N at which the prediction is ``angle``: where a study this much better or worse than predicted meets the target."""
    if not np.isfinite(angle) or angle >= np.pi / 2:
        return np.nan
    low, high = need.n_features + 5, 10**8
    while high > low + 1:
        middle = int(np.sqrt(low * high)) if high > 2 * low else (low + high) // 2
        enough = law.errors(middle, paper_comparisons(middle), need.method)["angle"].mean() <= angle
        low, high = (low, middle) if enough else (middle, high)
    return float(high)
