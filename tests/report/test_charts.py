"""Charts: axes and labels, and names that stay text."""

import numpy as np
import pytest

from pairscore.report.charts import (
    BOTTOM,
    TOP,
    WIDTH,
    Axis,
    Box,
    Mark,
    both_ends,
    exposure_chart,
    interval_chart,
    place_tags,
)
from pairscore.report.items import Bar


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3.2, 7.9), (1e-9, 2e-9), (995, 1000), (-1e6, 1e7)]
)
def test_ticks_are_round_and_within(low, high):
    ticks = Axis(low, high, 0, 100).ticks()
    assert 2 <= len(ticks) <= 8
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert f"{steps[0]:.6e}"[:8] in ("1.000000", "2.000000", "5.000000")
    assert min(ticks) >= low - 1e-6 * (high - low)
    assert max(ticks) <= high + 1e-6 * (high - low)


@pytest.mark.parametrize("seed", range(20))
def test_names_of_dots_lie_neither_on_each_other_nor_on_a_line_nor_outside(seed):
    """On the dots of the largest residuals, which lie just beyond the dashed lines."""
    rng = np.random.default_rng(seed)
    frame, lines = Box(44, TOP, WIDTH, BOTTOM), (60.0, 250.0)
    dots = [
        (float(across), float(rng.choice([57, 53, 254, 258])))
        for across in rng.uniform(50, WIDTH - 20, 5)
    ]
    names = ["P120", "Schwester Maria", "P111", "gpt-4-turbo", "W" * 10]
    placed = place_tags(names, dots, lines, frame)
    for place, box in enumerate(placed):
        assert box.is_within(frame)
        assert not any(box.lies_over(other) for other in placed[:place])
        assert not any(box.top < line < box.bottom for line in lines)
        assert not any(box.left < x < box.right and box.top < y < box.bottom for x, y in dots)


def test_names_and_tooltips_are_escaped_in_a_chart():
    mark = Mark('<b>a & b "c"</b>', 1.0, 0.5, 1.5, "<script>tip</script>")
    chart = interval_chart([mark, None, mark], 'a "label"', "title", 0.0)
    assert "<b>" not in chart
    assert "<script>" not in chart
    assert 'aria-label="a &quot;label&quot;"' in chart
    assert chart.count("&lt;script&gt;tip&lt;/script&gt;") == 2
    assert chart.count("⋮") == 1


def test_a_mark_without_an_interval_is_a_dot_alone():
    mark = Mark("a", 1.0, float("nan"), float("nan"), "tip")
    chart = interval_chart([mark], "label", "title", 0.0)
    assert chart.count("<circle") == 1
    assert 'class="interval"' not in chart
    assert "nan" not in chart


def test_of_many_rows_both_ends_are_drawn():
    rows = [Mark(str(row), row, row, row, "") for row in range(7)]
    names = [mark and mark.name for mark in both_ends(rows, 3, lambda mark: mark)]
    assert names == ["0", "1", "2", None, "4", "5", "6"]
    assert both_ends(rows, 4, lambda mark: mark) == rows


def test_names_lie_on_no_dot_where_there_is_room():
    """A name lay on dots of items that had no name."""
    frame = Box(0, 0, 440, 300)
    dots = [(100.0, 100.0), (125.0, 100.0), (75.0, 100.0), (100.0, 80.0)]
    (tag,) = place_tags(["item 26"], dots, (), frame)
    assert not [at for at in dots if tag.lies_over(Box(at[0] - 3, at[1] - 3, at[0] + 3, at[1] + 3))]
    crowd = [(100.0, 100.0), *((9.0 * x, 9.0 * y) for x in range(49) for y in range(34))]
    (tag,) = place_tags(["item 26"], crowd, (), frame)  # where there is no room
    assert tag.is_within(frame)


def test_counts_and_ranks_have_whole_ticks():
    assert Axis(0, 3.15, 0, 1).ticks() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert Axis(0, 3.15, 0, 1).ticks(whole=True) == [0.0, 1.0, 2.0, 3.0]
    assert Axis(0, 1000, 0, 1).ticks(whole=True) == Axis(0, 1000, 0, 1).ticks()
    assert ">0.5<" not in exposure_chart([Bar(1, 1, 2), Bar(2, 2, 1)])
