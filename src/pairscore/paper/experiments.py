"""The paper's experiments: their cells, what a cell measures, the N needed, and predictions.

One cell is one study, and its seed comes from its settings: it gives the same row alone, in any
order and in any run. Figures 2 to 4 are the paper's (section 7), 7 is ours. Figures 5, 6 and 8
show the smallest N with a mean angle of at most 0.3, which is solved for (:func:`solve_need`).
The predicted curves of all these figures come from the error law alone, without any draw.
Figures 1, 9 and 10 are in ``scenarios``.
"""

import hashlib
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from pairscore import __version__
from pairscore.choices import METHODS
from pairscore.core.links import get_link
from pairscore.metrics import angle
from pairscore.model.regression import RankRegression
from pairscore.paper.rows import interval_factor, jackknife
from pairscore.planning.planner import plan
from pairscore.planning.study_size import paper_comparisons
from pairscore.theory.direction_variance import LabelConstants
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.population import Population
from pairscore.theory.predicted_error import ErrorLaw

# the panels of each figure: 1 to 6 are the paper's, 7 to 10 go beyond it
PANELS = (
    {"1": "abcd", "2": "ab"}
    | dict.fromkeys("3456", "abc")
    | dict.fromkeys(("7", "8", "9", "10"), "a")
)
DIMENSIONS = (10, 90, 250)
NOISES = {"a": 0.0, "b": 0.2, "c": 0.4}
EIGENVALUES = (1 / 200, 0.1, 1.0)
N_GRID = tuple(round(float(n)) for n in np.geomspace(300, 30_000, 9))
M_GRID = tuple(round(float(m)) for m in np.geomspace(300, 50_000, 9))
FIXED_ITEMS = 2500
METHOD_GRID = (300, 534, 949, 1687, 3000)  # N of figure 7: every method is fitted there

# the N needed: figures 5, 6 and 8
TARGET = 0.3
D_GRID = (10, 30, 50, 90, 130, 170, 210, 250)
EIGENVALUE_GRID = tuple(float(value) for value in np.geomspace(1 / 200, 1, 8))
METHOD_D_GRID = (10, 50, 90, 170, 250)
FACTORS = (0.8, 1.0, 1.25)  # sizes around the predicted N
MOST_MOVES = 4
EXTRA_ITEMS = 5  # the fewest items are d + 5
MOST_ITEMS = 1e8

# predicted curves
POINTS = 17  # along x; eight in figures 5, 6 and 8, where each point is solved for
NEEDED_POINTS = 8
CURVE = ("figure", "panel", "n_features", "min_eigenvalue", "noise", "method")

CELL_COLUMNS = (
    "figure",
    "panel",
    "n_items",
    "n_comparisons",
    "n_features",
    "min_eigenvalue",
    "noise",
    "generation",
    "seed",
    "method",
    "engine",
    "angle",
    "norm_error",
    "c1",
    "seconds",
    "version",
)
NEED_COLUMNS = (
    *CURVE,
    "n_needed",
    "low",
    "high",
    "predicted",
    "n_generations",
    "seconds",
    "version",
)


# -- cells -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One study of one figure.

    ``engine`` is "fast" (the estimate drawn from its exact law) or "direct" (items, comparisons
    and a fit).
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
        """The settings that make this study differ from others.

        The panel is not one of them: the same study has the same seed wherever it is shown.
        """
        shape = f"{self.n_items}/{self.n_comparisons}/{self.n_features}"
        law = f"{float(self.min_eigenvalue)!r}/{float(self.noise)!r}"
        return f"{shape}/{law}/{self.generation}/{self.method}/{self.engine}"

    @property
    def seed(self) -> int:
        return seed_of(self.key)

    @property
    def population_seed(self) -> int:
        """The seed of the population of a generation.

        All sizes, noises and methods share it, so that curves compare like with like.
        """
        return seed_of(
            f"population/{self.n_features}/{float(self.min_eigenvalue)!r}/{self.generation}"
        )


def seed_of(identity: str) -> int:
    """A seed from words: the same on every machine and in any order."""
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big") >> 1


def engine_for(method: str, engine: str) -> str:
    """The engine that a method can use: only `split` has an exact law to draw from."""
    return engine if method == "split" else "direct"


def figure_cells(figure: str, n_generations: int, engine: str = "fast") -> Iterator[Cell]:
    """The cells of figure 2, 3, 4 or 7, generation by generation."""
    for generation in range(n_generations):
        for panel, (n, m), d, eigenvalue, noise, method in _figure_grid(figure):
            chosen = engine_for(method, engine)
            yield Cell(figure, panel, n, m, d, eigenvalue, noise, generation, method, chosen)


Point = tuple[str, tuple[int, int], int, float, float, str]


def _figure_grid(figure: str) -> Iterator[Point]:
    """Panel, N and M, d, smallest eigenvalue, noise and method of every point of a figure."""
    both_grow = [(n, paper_comparisons(n)) for n in N_GRID]
    m_grows = [(FIXED_ITEMS, m) for m in M_GRID]
    if figure == "2":
        for d in DIMENSIONS:
            for panel, sizes in (("a", both_grow), ("b", m_grows)):
                yield from ((panel, size, d, 1.0, 0.2, "split") for size in sizes)
    elif figure == "7":
        for method in METHODS:
            for n in METHOD_GRID:
                yield "a", (n, paper_comparisons(n)), 90, 1 / 200, 0.2, method
    else:
        for panel, noise in NOISES.items():
            for d in DIMENSIONS:
                for size in both_grow if figure == "3" else m_grows:
                    yield panel, size, d, 1 / 200, noise, "split"


@lru_cache(maxsize=64)
def population_of(n_features: int, min_eigenvalue: float, noise: float, seed: int) -> Population:
    """The population of a generation; noise changes its slope and nothing else."""
    return Population(n_features, min_eigenvalue=min_eigenvalue, noise=noise, rng=seed)


def run_cell(cell: Cell, seed: int | None = None) -> dict[str, Any]:
    """The row of one cell: its settings, the errors of its estimate, and the time it took.

    Parameters
    ----------
    cell : Cell
        The study to simulate.
    seed : int, optional
        Instead of the cell's own seed.

    Returns
    -------
    dict
        One value for each of ``CELL_COLUMNS``: ``angle`` is ∠(β̂, β) in radians, ``norm_error``
        ‖β̂ − c₁β‖ (for `mle`, whose limit is the true coefficient vector, the distance from that).
    """
    population = population_of(
        cell.n_features, cell.min_eigenvalue, cell.noise, cell.population_seed
    )
    start = time.perf_counter()
    estimate = estimate_of(cell, population, cell.seed if seed is None else seed)
    seconds = time.perf_counter() - start
    factor = population.slope if cell.method == "mle" else population.c1
    return {
        **{name: getattr(cell, name) for name in CELL_COLUMNS if hasattr(cell, name)},
        "angle": angle(estimate, population.beta),
        "norm_error": float(np.linalg.norm(estimate - factor * population.beta)),
        "c1": population.c1,
        "seconds": round(seconds, 6),
        "version": __version__,
    }


def estimate_of(cell: Cell, population: Population, seed: int) -> np.ndarray:
    """The estimate of a cell: drawn from its exact law, or fitted to items and comparisons."""
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


# -- the N needed ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Need:
    """One point of figure 5, 6 or 8: the N needed with these settings."""

    figure: str
    panel: str
    n_features: int
    min_eigenvalue: float
    noise: float
    method: str = "split"

    @property
    def key(self) -> str:
        law = f"{float(self.min_eigenvalue)!r}/{float(self.noise)!r}"
        return f"{self.figure}/{self.panel}/{self.n_features}/{law}/{self.method}"

    def cell(self, n_items: int, generation: int, engine: str = "fast") -> Cell:
        """The study of this point with N items and M = N log N comparisons."""
        return Cell(
            **vars(self),
            n_items=n_items,
            n_comparisons=paper_comparisons(n_items),
            generation=generation,
            engine=engine_for(self.method, engine),
        )


def needs(figure: str) -> list[Need]:
    """The points of figure 5 (along d), 6 (along the smallest eigenvalue) or 8 (by method)."""
    if figure == "8":
        return [
            Need("8", "a", d, 1 / 200, 0.2, method) for method in METHODS for d in METHOD_D_GRID
        ]
    if figure == "5":
        settings = [(d, eigenvalue) for eigenvalue in EIGENVALUES for d in D_GRID]
    else:
        settings = [(d, eigenvalue) for d in DIMENSIONS for eigenvalue in EIGENVALUE_GRID]
    return [
        Need(figure, panel, d, eigenvalue, noise)
        for panel, noise in NOISES.items()
        for d, eigenvalue in settings
    ]


def solve_need(need: Need, n_generations: int, engine: str = "fast") -> dict[str, Any]:
    """The row of one point: the N at which the mean angle is 0.3, with its 95 % interval.

    The prediction brackets N, simulation refines it. At a few sizes around the root the mean
    angle over the generations is simulated, with the same populations and random numbers at each
    size. A line through the logarithms of these means, with the slope that the prediction has
    there, meets the target at N; if that is outside the sizes, they move there and it is done
    again. Leaving out one generation at a time gives the interval.
    """
    law = error_law(need.n_features, need.min_eigenvalue, need.noise)
    settings = {name: getattr(need, name) for name in ("noise", "min_eigenvalue", "method")}
    predicted = plan(need.n_features, angle=TARGET, **settings).n_items
    center, seconds = float(predicted), 0.0
    for _ in range(MOST_MOVES):
        fewest = need.n_features + EXTRA_ITEMS
        sizes = sorted({max(round(factor * center), fewest) for factor in FACTORS})
        rows = [_generations(need, n, n_generations, engine) for n in sizes]
        seconds += sum(row["seconds"] for group in rows for row in group)
        line = _TargetLine(law, need.method, sizes)
        angles = np.array([[row["angle"] for row in group] for group in rows])
        n_needed = line.size(angles)
        if sizes[0] <= n_needed <= sizes[-1]:
            break
        center = n_needed
    low, high = line.interval(angles)
    found = {"n_needed": n_needed, "low": low, "high": high, "predicted": predicted}
    run = {"n_generations": n_generations, "seconds": round(seconds, 6), "version": __version__}
    return {**vars(need), **found, **run}


def _generations(need: Need, n: int, n_generations: int, engine: str) -> list[dict[str, Any]]:
    """The rows of all generations at one size; a generation has the same seed at every size."""
    return [
        run_cell(need.cell(n, generation, engine), seed=seed_of(f"{need.key}/{generation}"))
        for generation in range(n_generations)
    ]


class _TargetLine:
    """The N at which mean angles meet the target: log angle is a line in log N near these sizes.

    Angles have the shape (sizes, generations).
    """

    def __init__(self, law: ErrorLaw, method: str, sizes: list[int]):
        expected = [law.errors(n, paper_comparisons(n), method)["angle"].mean() for n in sizes]
        self.slope = float(np.polyfit(np.log(sizes), np.log(expected), 1)[0])
        self.middle = float(np.mean(np.log(sizes)))

    def size(self, angles: np.ndarray) -> float:
        excess = np.log(TARGET) - np.log(angles.mean(axis=1)).mean()
        return round(float(np.exp(self.middle + excess / self.slope)), 1)

    def interval(self, angles: np.ndarray) -> tuple[float, float]:
        """Limits from the standard error of log N, by leaving out one generation at a time."""
        g = angles.shape[1]
        if g < 2:
            return np.nan, np.nan
        error = jackknife(angles, lambda some: float(np.log(self.size(some)))).error
        half_width = error * interval_factor(g)
        low, high = (self.size(angles) * float(np.exp(side * half_width)) for side in (-1, 1))
        return round(low, 1), round(high, 1)


# -- predictions -----------------------------------------------------------------------------------


def predicted_errors(figures: Iterable[str] = ("2", "3", "4", "7")) -> list[dict[str, Any]]:
    """Rows of the predicted angle and norm error along every curve of these figures.

    The grid is finer than that of the simulation. Where only M grows, one row more has M = inf:
    the floor that no number of comparisons gets below.
    """
    rows = []
    for figure in figures:
        by_curve: dict[tuple[Any, ...], list[Cell]] = {}
        for cell in figure_cells(figure, 1):
            by_curve.setdefault(tuple(getattr(cell, name) for name in CURVE), []).append(cell)
        for curve, cells in by_curve.items():
            _, _, d, eigenvalue, noise, method = curve
            for n, m in _finer_sizes(cells):
                errors = error_law(d, eigenvalue, noise).errors(n, m, method)
                means = {name: float(errors[name].mean()) for name in ("angle", "norm_error")}
                size = {"n_items": n, "n_comparisons": m}
                rows.append(dict(zip(CURVE, curve, strict=True)) | size | means)
    return rows


def predicted_needs(figures: Iterable[str] = ("5", "6", "8")) -> list[dict[str, Any]]:
    """Rows of the predicted N for the target angle, along d or along the smallest eigenvalue."""
    rows = []
    for figure in figures:
        points = needs(figure)
        varied = "min_eigenvalue" if figure == "6" else "n_features"
        values = [getattr(point, varied) for point in points]
        grid = np.linspace(min(values), max(values), NEEDED_POINTS).round().astype(int)
        if figure == "6":
            grid = np.geomspace(min(values), max(values), NEEDED_POINTS)
        for curve in dict.fromkeys(_moved(point, varied, 0) for point in points):
            for point in (_moved(curve, varied, value) for value in grid.tolist()):
                law = error_law(point.n_features, point.min_eigenvalue, point.noise)
                rows.append({**vars(point), "n_needed": size_for_angle(law, point.method)})
    return rows


def _moved(point: Need, name: str, value: Any) -> Need:
    return replace(point, **{name: value})


def size_for_angle(law: ErrorLaw, method: str, angle: float = TARGET) -> float:
    """The N at which the predicted mean angle with M = N log N comparisons is ``angle``.

    It is not rounded.
    """

    def excess(log_n: float) -> float:
        n = float(np.exp(log_n))
        return float(np.log(law.errors(n, n * np.log(n), method)["angle"].mean() / angle))

    fewest = float(law.n_features + EXTRA_ITEMS)
    if excess(np.log(fewest)) <= 0:
        return fewest
    return float(np.exp(brentq(excess, np.log(fewest), np.log(MOST_ITEMS), xtol=1e-4)))


def _finer_sizes(cells: list[Cell]) -> list[tuple[int, float]]:
    """N and M along a curve: both grow together, or M alone, and then up to infinity."""
    n, m = ([getattr(cell, name) for cell in cells] for name in ("n_items", "n_comparisons"))
    varied = m if len(set(n)) == 1 else n
    grid = [round(size) for size in np.geomspace(min(varied), max(varied), POINTS).tolist()]
    if varied is m:
        return [(n[0], size) for size in [*grid, np.inf]]
    return [(size, paper_comparisons(size)) for size in grid]


@lru_cache(maxsize=256)
def error_law(n_features: int, min_eigenvalue: float, noise: float) -> ErrorLaw:
    """The error law of these populations: any direction of beta is as likely as any other.

    The costly parts are shared: nodes depend on the items alone, constants of the labels on the
    noise alone.
    """
    law = _items_law(n_features, min_eigenvalue).with_noise(noise)
    law.__dict__["constants"] = _label_constants(noise)
    return law


@lru_cache(maxsize=256)
def _items_law(n_features: int, min_eigenvalue: float) -> ErrorLaw:
    link = get_link("logit")
    return ErrorLaw(np.linspace(1.0, min_eigenvalue, n_features), link, spread_for_noise(link, 0.2))


@lru_cache(maxsize=16)
def _label_constants(noise: float) -> LabelConstants:
    return _items_law(2, 1.0).with_noise(noise).constants
