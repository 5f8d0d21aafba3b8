"""Cells, the N needed and predictions, equal in law to a simulation written from the paper."""

import numpy as np
import pytest
from scipy.stats import norm

from pairscore import plan
from pairscore.choices import METHODS
from pairscore.paper.experiments import (
    NOISES,
    Cell,
    Need,
    error_law,
    figure_cells,
    predicted_errors,
    predicted_needs,
    run_cell,
    size_for_angle,
    solve_need,
)
from pairscore.planning.study_size import paper_comparisons
from tests.paper.conftest import naive_study

PANELS = [
    ("2a", 300, paper_comparisons(300), 10, 1.0, 0.2),
    ("2b", 400, 900, 90, 1.0, 0.2),
    ("3a", 300, paper_comparisons(300), 90, 1 / 200, 0.0),
    ("3b", 533, paper_comparisons(533), 10, 1 / 200, 0.2),
    ("3c", 300, paper_comparisons(300), 90, 1 / 200, 0.4),
    ("4a", 400, 300, 10, 1 / 200, 0.0),
    ("4b", 400, 2000, 90, 1 / 200, 0.2),
    ("4c", 400, 5000, 10, 1 / 200, 0.4),
]
NEEDS = [
    Need(figure, panel, 10, eigenvalue, noise)
    for figure, eigenvalue in (("5", 0.1), ("6", 0.3))
    for panel, noise in NOISES.items()
]
REPEATS = 120


def assert_a_panel_agrees(panel, n, m, d, smallest, noise, repeats):
    """The z-score of the difference to the naive simulation, for the angle and the norm error."""
    rng = np.random.default_rng(7)
    direct = np.array([naive_study(n, m, d, smallest, noise, rng) for _ in range(repeats)])
    cells = [
        Cell(panel[0], panel[1], n, m, d, smallest, noise, generation)
        for generation in range(1000, 1000 + repeats)
    ]
    fast = np.array([(row["angle"], row["norm_error"]) for row in map(run_cell, cells)])
    z = (fast.mean(axis=0) - direct.mean(axis=0)) / np.sqrt(
        (fast.var(axis=0, ddof=1) + direct.var(axis=0, ddof=1)) / repeats
    )
    assert np.all(np.abs(z) < norm.isf(1e-4 / (2 * len(PANELS)))), z


def assert_the_mean_angle_is_the_target(row, angles, quantile):
    """Allow for the chance in N, which moves the angle by half as much, and in the angles."""
    of_n = 0.3 * 0.5 * np.log(row["high"] / row["low"]) / (2 * 1.96)
    of_angles = np.std(angles, ddof=1) / np.sqrt(len(angles))
    assert abs(np.mean(angles) - 0.3) < quantile * np.hypot(of_n, of_angles)


def assert_n_is_enough(need, repeats):
    """In the naive simulation, the mean angle at the N needed is the target."""
    row, rng = solve_need(need, repeats), np.random.default_rng(11)
    n = round(row["n_needed"])
    setting = (n, paper_comparisons(n), need.n_features, need.min_eigenvalue, need.noise)
    angles = [naive_study(*setting, rng)[0] for _ in range(repeats)]
    assert_the_mean_angle_is_the_target(row, angles, norm.isf(1e-4 / 12))


def assert_fresh_generations_meet_the_target(need, generations):
    row = solve_need(need, generations)
    assert row["low"] < row["n_needed"] < row["high"]
    cells = [need.cell(round(row["n_needed"]), 5000 + g) for g in range(generations)]
    angles = np.array([run_cell(cell)["angle"] for cell in cells])
    assert_the_mean_angle_is_the_target(row, angles, norm.isf(1e-5))
    # a rival: where one eigenvalue is small, a typical angle is far below the mean
    geometric = np.exp(np.log(angles).mean())
    assert need.min_eigenvalue > 0.01 or geometric < 0.28


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel[0])
def test_every_panel_agrees_with_a_direct_simulation_from_the_paper(panel):
    assert_a_panel_agrees(*panel, REPEATS)


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.figure + need.panel)
def test_the_n_needed_of_every_panel_is_enough_in_a_direct_simulation_from_the_paper(need):
    assert_n_is_enough(need, REPEATS)


def test_the_direct_engine_agrees_with_the_fast_one():
    fast, direct = (
        np.array(
            [
                run_cell(Cell("3", "b", 300, 1712, 20, 0.1, 0.2, generation, engine=engine))[
                    "angle"
                ]
                for generation in range(150)
            ]
        )
        for engine in ("fast", "direct")
    )
    # of the same populations, so the difference is taken study by study
    z = (fast - direct).mean() / ((fast - direct).std(ddof=1) / np.sqrt(len(fast)))
    assert abs(z) < norm.isf(1e-5)
    assert not np.array_equal(fast, direct)


@pytest.mark.parametrize(
    ("need", "generations"),
    [
        (Need("5", "b", 10, 1 / 200, 0.2), 200),
        (Need("6", "a", 30, 0.1, 0.0), 100),
        (Need("8", "a", 10, 0.1, 0.2, "pooled"), 50),
    ],
)
def test_the_mean_angle_at_the_n_needed_is_the_target(need, generations):
    assert_fresh_generations_meet_the_target(need, generations)


# -- cells and seeds -------------------------------------------------------------------------------


def test_a_seed_is_the_cells_identity():
    cells = [cell for figure in ("2", "3", "4", "7") for cell in figure_cells(figure, 3)]
    keys = {(cell.figure, cell.panel, cell.key) for cell in cells}
    assert len(keys) == len(cells)
    # never changes: published rows depend on it
    assert Cell("2", "a", 300, 1712, 10, 1.0, 0.2, 0).seed == 6184935417021038176
    assert len({cell.seed for cell in cells}) == len({cell.key for cell in cells})


def test_the_grid_is_the_papers():
    def values(figure, name):
        return [getattr(cell, name) for cell in figure_cells(figure, 1)]

    for figure, panels in (("2", "ab"), ("3", "abc"), ("4", "abc")):
        assert set(values(figure, "panel")) == set(panels)
        assert set(values(figure, "n_features")) == {10, 90, 250}
    assert set(values("3", "noise")) == {0.0, 0.2, 0.4}
    n = values("3", "n_items")
    assert (min(n), max(n)) == (300, 30_000)
    assert values("3", "n_comparisons") == [int(np.ceil(size * np.log(size))) for size in n]
    m = values("4", "n_comparisons")
    assert (min(m), max(m)) == (300, 50_000)
    assert set(values("4", "n_items")) == {2500}


# -- predictions -----------------------------------------------------------------------------------


def test_the_predicted_size_is_that_of_the_planner():
    for method in ("split", "paired"):
        size = size_for_angle(error_law(30, 0.1, 0.2), method)
        planned = plan(30, noise=0.2, min_eigenvalue=0.1, angle=0.3, method=method)
        assert planned.n_items == pytest.approx(size, abs=1 + 1e-3 * size)


def test_predicted_rows_cover_each_curve_of_a_figure_and_end_in_its_floor():
    everything = predicted_errors("4")
    rows = [row for row in everything if row["panel"] == "b" and row["n_features"] == 90]
    m, angle = np.array([(row["n_comparisons"], row["angle"]) for row in rows]).T
    assert (m[0], m[-2], m[-1]) == (300, 50_000, np.inf)
    assert np.all(np.diff(angle) < 0)
    assert len({(row["panel"], row["n_features"]) for row in everything}) == 9
    rows = predicted_needs("8")
    assert {row["method"] for row in rows} == set(METHODS)
    assert all(row["n_needed"] > row["n_features"] for row in rows)
