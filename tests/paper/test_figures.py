"""The figures, looked into."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.paper.experiments import N_GRID
from pairscore.paper.figures import FIGURES, save_figure
from tests.paper.conftest import error_rows, figure_rows, law, need_rows, scenario_rows

PANELS = {"1": 4, "2": 2, "3": 3, "4": 3, "5": 3, "6": 3, "7": 1, "8": 2, "9": 2, "10": 1}
WORDS = {
    "2": ["items N", "comparisons M", "error ‖"],
    "3": ["items N", "angle"],
    "5": ["features d", "N needed"],
    "6": ["eigenvalue"],
}
SOLID = {"2": 3, "3": 3, "4": 3, "5": 3, "6": 3, "7": 4}


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_has_its_panels_curves_and_words(name):
    figure = FIGURES[name](*figure_rows(name))
    assert len(figure.axes) == PANELS[name]
    assert figure.get_size_inches()[0] == 6.4
    texts = [
        text
        for axis in figure.axes
        for text in (axis.title, axis.xaxis.label, axis.yaxis.label, *axis.get_xticklabels())
    ]
    assert min(text.get_fontsize() for text in texts) >= 9
    for axis in figure.axes:
        if name in SOLID:
            solid = [line for line in axis.lines if line.get_marker() not in ("None", None, "")]
            assert len(solid) == SOLID[name]
            assert (
                len({line.get_color() for line in solid})
                == len({line.get_marker() for line in solid})
                == SOLID[name]
            )
            assert len(axis.collections) == SOLID[name]  # the shades
            assert sum(line.get_label() == "predicted" for line in axis.lines) == SOLID[name]
    said = " ".join(
        [
            *(axis.get_xlabel() + axis.get_ylabel() + axis.get_title() for axis in figure.axes),
            figure.get_supxlabel(),
        ]
    )
    for words in WORDS.get(name, []):
        assert words in said


def test_axes_are_logarithmic_where_powers_are_claimed_and_straight_where_lines_are():
    scales = {
        name: {(axis.get_xscale(), axis.get_yscale()) for axis in figure.axes}
        for name, figure in ((name, FIGURES[name](*figure_rows(name))) for name in "256")
    }
    assert scales == {"2": {("log", "log")}, "5": {("linear", "linear")}, "6": {("log", "log")}}


def test_the_ratio_is_that_of_split_to_each_method():
    rows = need_rows(
        "8",
        lambda need: (
            need.n_features * {"split": 60, "pooled": 10, "paired": 6, "mle": 5}[need.method]
        ),
    )
    ratios = {
        line.get_label(): np.unique(np.round(line.get_ydata(), 6)).tolist()
        for line in FIGURES["8"](rows).axes[1].lines
    }
    assert ratios == {"pooled": [6.0], "paired": [10.0], "mle": [12.0]}


def test_a_panel_without_rows_is_left_out_and_one_generation_has_no_shade():
    rows = [row for row in error_rows("3", law, generations=1) if row["panel"] == "b"]
    (axis,) = FIGURES["3"](rows).axes
    assert axis.get_title().startswith("(b)")
    for shade in axis.collections:
        assert np.ptp(
            [y for x, y in shade.get_paths()[0].vertices if np.isclose(x, N_GRID[0])]
        ) == pytest.approx(0, abs=1e-12)


def test_three_formats_are_written_the_same_each_time_and_no_text_is_cut(tmp_path):
    contents = []
    for folder in ("first", "second"):
        figure = FIGURES["5"](*figure_rows("5"))
        paths = save_figure(figure, tmp_path / folder, "figure5")
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    svg, pdf, png = contents[0]
    assert b"</svg>" in svg
    assert pdf.startswith(b"%PDF")
    assert png.startswith(b"\x89PNG")
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == [
        "figure5.pdf",
        "figure5.png",
        "figure5.svg",
    ]
    everything, page = figure.get_tightbbox(), figure.bbox_inches
    assert everything.x0 >= 0
    assert everything.y0 >= 0
    assert everything.x1 <= page.x1
    assert everything.y1 <= page.y1


def test_a_folder_that_is_a_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(PairscoreError, match=r"the folder .* cannot be created .* choose a place"):
        save_figure(FIGURES["10"](scenario_rows()), tmp_path / "taken", "figure10")
    assert (tmp_path / "taken").read_text() == "mine"
