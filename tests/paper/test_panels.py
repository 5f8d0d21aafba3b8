"""Parts of panels: lines, shades, words."""

import numpy as np
import pytest

from pairscore.paper.experiments import N_GRID
from pairscore.paper.figures import FIGURES
from pairscore.paper.panels import fixed_settings, line_style
from tests.paper.conftest import error_rows, figure_rows, law


def test_the_dashed_line_is_where_it_should_be_and_only_there():
    def dashed(figure):
        return [
            [line.get_xdata()[0] for line in axis.lines if line.get_label() == "M = N log N"]
            for axis in figure.axes
        ]

    reference = pytest.approx(2500 * np.log(2500))
    assert dashed(FIGURES["2"](*figure_rows("2"))) == [[], [reference]]
    assert dashed(FIGURES["4"](*figure_rows("4"))) == [[reference]] * 3
    assert dashed(FIGURES["3"](*figure_rows("3"))) == [[], [], []]


def test_a_curve_is_the_mean_of_the_rows_and_its_shade_the_deviation():
    rows = error_rows("2", law, spread=0.3)
    axis = FIGURES["2"](rows).axes[0]
    mine = [
        row["norm_error"]
        for row in rows
        if row["panel"] == "a" and row["n_features"] == 10 and row["n_items"] == N_GRID[0]
    ]
    line = axis.lines[0]
    assert (line.get_label(), line.get_ydata()[0]) == ("d = 10", pytest.approx(np.mean(mine)))
    corners = axis.collections[0].get_paths()[0].vertices
    top = max(y for x, y in corners if np.isclose(x, N_GRID[0]))
    assert top == pytest.approx(np.mean(mine) + np.std(mine, ddof=1))


def test_settings_are_in_signs_and_small_ones_are_fractions():
    rows = [{"noise": 0.2, "min_eigenvalue": 1 / 200, "n_features": 90}]
    words = fixed_settings(rows, "n_features", "min_eigenvalue", "noise")
    assert words == "d = 90, $λ_d$ = 1/200, $p_e$ = 0.2"


def test_a_method_has_the_same_look_on_every_figure():
    assert line_style("method", "mle", 0) == line_style("method", "mle", 3)
    assert line_style("n_features", 10, 0)["color"] != line_style("n_features", 90, 1)["color"]
