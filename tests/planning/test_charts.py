"""The chart of a plan: its curves, the target and the chosen study."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.planning.charts import empty_figure, plan_chart, quiet_frame

CHOSEN = {
    "n_items": 1500,
    "n_comparisons": 20_000,
    "error": 0.05,
    "measure": "misordered",
    "method": "mle",
}


def rows_of(sizes):
    return [
        {"n_items": n, "n_comparisons": m, "error": 1 / (n * m) ** 0.25}
        for n in sizes
        for m in (1000, 10_000, 100_000)
    ]


@pytest.fixture
def figures(monkeypatch):
    """What is saved, instead of files."""
    saved = []
    monkeypatch.setattr(
        "pairscore.planning.charts.save_figure", lambda figure, path: saved.append(figure)
    )
    return saved


def test_the_chart_has_a_curve_for_each_number_of_items_the_target_and_the_choice(figures):
    plan_chart(rows_of([750, 1500, 3000]), CHOSEN, "plan.svg", target=0.06)
    (axis,) = figures[0].axes
    curves, target, choice = axis.lines[:3], axis.lines[3], axis.lines[4]
    assert [line.get_label() for line in curves] == ["750 items", "1,500 items", "3,000 items"]
    assert len({line.get_linestyle() for line in curves}) == 3
    assert set(target.get_ydata()) == {6.0}  # percent
    assert (choice.get_xdata()[0], choice.get_ydata()[0]) == (20_000, 5.0)
    texts = [text.get_text() for text in axis.texts]
    assert texts == ["target 6 %", "1,500 items,\n20,000 comparisons"]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert axis.get_ylabel() == "Pairs of new items in the wrong order (log scale)"
    assert axis.get_title() == "Method mle: expected error before any data"


def test_the_curve_of_the_choice_has_a_band_in_percent(figures):
    rows = [
        row | {"low": row["error"] / 2, "high": 2 * row["error"]} for row in rows_of([750, 1500])
    ]
    plan_chart(rows, CHOSEN, "plan.svg")
    (axis,) = figures[0].axes
    (band,) = axis.collections
    assert band.get_label() == "9 of 10 studies"
    heights = band.get_paths()[0].vertices[:, 1]
    errors = np.array([100 * row["error"] for row in rows if row["n_items"] == 1500])
    assert (heights.min(), heights.max()) == pytest.approx((errors.min() / 2, 2 * errors.max()))
    axis.figure.canvas.draw()
    labels = [tick.get_text() for tick in axis.get_yticklabels()]
    assert labels
    assert all(label.endswith(" %") for label in labels if label)


def test_several_noises_have_a_curve_each_and_the_middle_one_a_band(figures):
    rows = [
        row | {"noise": noise, "low": row["error"] / 2, "high": 2 * row["error"]}
        for noise in (0.1, 0.2, 0.3)
        for row in rows_of([1500])
    ]
    chosen = [CHOSEN | {"noise": noise} for noise in (0.1, 0.2, 0.3)]
    plan_chart(rows, chosen, "plan.svg")
    (axis,) = figures[0].axes
    assert [line.get_label() for line in axis.lines[:3]] == [
        f"noise {noise} %: 1,500 items" for noise in (10, 20, 30)
    ]
    assert [band.get_label() for band in axis.collections] == ["9 of 10 studies, noise 20 %"]
    assert not axis.texts


def test_without_a_target_there_is_no_line(figures):
    plan_chart(rows_of([1500]), CHOSEN | {"measure": "angle"}, "plan.pdf")
    (axis,) = figures[0].axes
    assert len(axis.lines) == 2
    assert axis.get_ylabel() == "Mean angle (radians) (log scale)"


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(PairscoreError, match=r"'.*plan\.txt'; name a \.png, \.svg or \.pdf file\."):
        plan_chart(rows_of([10]), CHOSEN, tmp_path / "plan.txt")
    assert not list(tmp_path.iterdir())


def test_an_empty_figure_has_its_size_and_panels():
    figure = empty_figure(3, (9.0, 2.0))
    assert len(figure.axes) == 3
    assert tuple(figure.get_size_inches()) == (9.0, 2.0)
    assert tuple(empty_figure(2).get_size_inches()) == (12.8, 4.8)
    quiet_frame(figure.axes[0])
    assert not figure.axes[0].spines["top"].get_visible()
    assert figure.axes[0].spines["left"].get_visible()
