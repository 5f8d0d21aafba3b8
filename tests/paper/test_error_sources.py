"""The chart of a decomposition: panels, lines and their names."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from pairscore import PairscoreError
from pairscore.paper.error_sources import error_sources_chart
from pairscore.theory.decomposition import (
    Decomposition,
)


def made_up_rows(sizes):
    terms = [*Decomposition.__dataclass_fields__, "total"]
    return [
        {
            "n_items": n,
            "n_comparisons": m,
            "term": term,
            "mean_square": (1 + place) / n + 1 / m,
            "std_error": 0.1 / n,
            "repeats": 9,
        }
        for n, m in sizes
        for place, term in enumerate(terms)
    ]


@pytest.mark.parametrize(
    ("sizes", "n_panels"),
    [
        ([(10, 20), (20, 50), (40, 90)], 1),
        ([(10, 20), (20, 50), (30, 10), (30, 99)], 2),
        ([(30, 10), (30, 99)], 1),
    ],
)
def test_the_chart_has_a_panel_for_each_thing_that_varies(tmp_path, monkeypatch, sizes, n_panels):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure,
        "savefig",
        lambda self, *a, **k: (figures.append(self), save(self, *a, **k)),
    )
    error_sources_chart(made_up_rows(sizes), tmp_path / "sources.png")
    assert (tmp_path / "sources.png").read_bytes().startswith(b"\x89PNG")
    (figure,) = figures
    assert len(figure.axes) == n_panels
    for axis in figure.axes:
        assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
        assert len(axis.lines) == 7
        assert {text.get_text() for text in axis.texts} == {
            *Decomposition.__dataclass_fields__,
            "total",
        }
        heights = sorted(text.get_position()[1] for text in axis.texts)
        assert np.all(np.diff(heights) > 0.05)  # no name on top of another
        assert (
            len({line.get_color() for line in axis.lines})
            == len({line.get_marker() for line in axis.lines})
            == 7
        )


def test_no_rows_no_chart(tmp_path):
    with pytest.raises(PairscoreError, match="no rows to draw"):
        error_sources_chart([], tmp_path / "none.png")
