"""The grid of the experiments: one cell is one study, and its seed is its own identity.

Figures 2 to 4 are the paper's (section 8), 7 is ours. Figures 5 and 6 are solved, not read off a grid
(needed.py); figures 1, 9 and 10 have rows of their own kind.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pairscore.methods import METHODS
from pairscore.planner import paper_comparisons

DIMENSIONS = (10, 90, 250)
NOISES = {"a": 0.0, "b": 0.2, "c": 0.4}
EIGENVALUES = (1 / 200, 0.1, 1.0)
N_GRID = tuple(round(float(n)) for n in np.geomspace(300, 30_000, 9))
M_GRID = tuple(round(float(m)) for m in np.geomspace(300, 50_000, 9))
FIXED_ITEMS = 2500
METHOD_GRID = (300, 534, 949, 1687, 3000)  # N of figure 7: every method is fitted there


@dataclass(frozen=True)
class Cell:
    """One study of one figure. ``engine`` is "fast" (the estimate drawn from its exact law) or "direct" (items, votes, fit)."""

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
        """What tells this cell from every other, panels apart: the same study has the same seed wherever it is shown."""
        parts = (self.n_items, self.n_comparisons, self.n_features, repr(float(self.min_eigenvalue)), repr(float(self.noise)), self.generation, self.method)
        return "/".join(map(str, (*parts, self.engine)))

    @property
    def seed(self) -> int:
        return seed_of(self.key)

    @property
    def population_seed(self) -> int:
        """The population of a generation: one for all sizes and methods, so that curves compare like with like."""
        return seed_of(f"population/{self.n_features}/{float(self.min_eigenvalue)!r}/{self.generation}")


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
