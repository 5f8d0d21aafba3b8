"""The figures, each a pure function of rows: means over generations and the predictions over them.

Figures 1 to 6 are in the paper's arrangement, 7 to 10 go beyond it. A panel without rows is left
out. All are 6.4 inches wide with letters of 9 points, so that they can be read at the width of a
column.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairscore.files.atomic import write_whole
from pairscore.paper.error_sources import error_sources_figure
from pairscore.paper.panels import (
    METHOD_LOOK,
    NAMES,
    PREDICTED,
    draw_arrows,
    draw_errors,
    draw_needs,
    draw_points,
    draw_scenarios,
    fixed_settings,
    legend_above,
    line_style,
    plain_numbers,
)
from pairscore.paper.rows import Row, levels, select, with_numbers
from pairscore.planning.charts import empty_figure, quiet_frame

WIDTH = 6.4
LETTERS = 9
STYLE: dict[str, Any] = {
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), LETTERS),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), LETTERS),
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
# file formats, and what is left out of each because it changes from run to run
FORMATS: dict[str, dict[str, Any]] = {
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
    "pdf": {"CreationDate": None},
    "png": {},
}
STEPS = {"a": "differences", "b": "whitened", "c": "mirrored by labels", "d": "their average"}
ITEMS_LABEL = "number of compared items N, with M = ⌈N log N⌉ comparisons"
GREY = "#bbbbbb"


def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draw with our letter sizes, whatever the reader's own settings of matplotlib are."""

    @wraps(draw)
    def draw_styled(*rows: Iterable[Row]) -> Any:
        with _style():
            return draw(*map(with_numbers, rows))

    return draw_styled


@contextmanager
def _style(**more: Any) -> Iterator[None]:
    import matplotlib

    defaults: dict[Any, Any] = {
        name: value
        for name, value in matplotlib.rcParamsDefault.items()
        if not name.startswith("backend")
    }
    with matplotlib.rc_context(defaults | STYLE | more):
        yield


class Panel(NamedTuple):
    """One panel of a figure: its axis and letter, its rows and the predicted ones."""

    axis: Any
    letter: str
    rows: list[Row]
    predicted: list[Row]


def _panels(
    name: str, rows: Sequence[Row], predicted: Sequence[Row], height: float, shared_y: bool = True
) -> tuple[Any, list[Panel]]:
    """A figure with an axis for each panel that has rows."""
    letters = levels(select(rows, figure=name), "panel")
    figure = empty_figure(len(letters), (WIDTH, height), shared_y=shared_y)
    chosen = [[select(r, figure=name, panel=a) for r in (rows, predicted)] for a in letters]
    return figure, [Panel(a, b, *c) for a, b, c in zip(figure.axes, letters, chosen, strict=True)]


def _labelled(figure: Any, ylabel: str, xlabel: str) -> Any:
    figure.axes[0].set_ylabel(ylabel)
    figure.supxlabel(xlabel, fontsize=LETTERS)
    legend_above(figure)
    return figure


# -- the paper's figures ---------------------------------------------------------------------------


@styled
def figure_1(rows: Sequence[Row]) -> Any:
    """How the estimator works, in two dimensions.

    Rows have panel, kind ("point" or "arrow"), x, y and label. The label of a point is its outcome
    (-1 or 1), that of an arrow its name. The first arrow of a panel is the truth, with the line it
    separates by; arrows show directions only.
    """
    letters = levels(rows, "panel")
    figure = empty_figure(len(letters), (WIDTH, 2.25), shared_y=False)
    for axis, letter in zip(figure.axes, letters, strict=True):
        points, arrows = (select(rows, panel=letter, kind=kind) for kind in ("point", "arrow"))
        size = 1.08 * max(abs(row[side]) for row in points or arrows for side in "xy")
        draw_points(axis, points)
        draw_arrows(axis, arrows, size)
        axis.set(xlim=(-size, size), ylim=(-size, size), aspect="equal", xticks=[], yticks=[])
        axis.set_title(f"({letter}) {STEPS.get(letter, '')}")
        axis.axhline(0, color=GREY, linewidth=0.6, zorder=0)
        axis.axvline(0, color=GREY, linewidth=0.6, zorder=0)
        axis.spines[:].set_color(GREY)
    legend_above(figure)
    return figure


@styled
def figure_2(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """Convergence: the norm error against N, and against M with N fixed."""
    figure, panels = _panels("2", rows, predicted, 3.3)
    for axis, letter, mine, expected in panels:
        variable = "n_items" if letter == "a" else "n_comparisons"
        draw_errors(axis, mine, expected, variable, "norm_error")
        settings = fixed_settings(mine, "min_eigenvalue", "noise")
        axis.set(title=f"({letter}) {settings}", xlabel=NAMES[variable])
    figure.axes[0].set_ylabel(NAMES["norm_error"])
    legend_above(figure)
    return figure


@styled
def figure_3(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The angle against N, at three noise levels."""
    return _angles("3", rows, predicted, "n_items", ITEMS_LABEL)


@styled
def figure_4(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The angle against M with N fixed, at three noise levels."""
    n = select(rows, figure="4")[0]["n_items"]
    label = f"number of comparisons M, between N = {n:,.0f} items"
    return _angles("4", rows, predicted, "n_comparisons", label)


def _angles(
    name: str, rows: Sequence[Row], predicted: Sequence[Row], variable: str, label: str
) -> Any:
    figure, panels = _panels(name, rows, predicted, 3.1)
    for axis, letter, mine, expected in panels:
        draw_errors(axis, mine, expected, variable, "angle")
        axis.set_title(f"({letter}) {fixed_settings(mine, 'noise', 'min_eigenvalue')}")
    return _labelled(figure, NAMES["angle"], label)


@styled
def figure_5(needed: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The N needed against d, at three noise levels."""
    figure, panels = _panels("5", needed, predicted, 3.1, shared_y=False)
    for axis, letter, mine, expected in panels:
        draw_needs(axis, mine, expected, "n_features", "min_eigenvalue")
        axis.set_title(f"({letter}) {fixed_settings(mine, 'noise')}")
        quiet_frame(axis)
        axis.set_ylim(bottom=0)
        axis.set_xticks([0, 100, 200])
        axis.locator_params(axis="y", nbins=6)
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return _labelled(figure, NAMES["n_needed"], NAMES["n_features"])


@styled
def figure_6(needed: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The N needed against the smallest eigenvalue, at three noise levels."""
    figure, panels = _panels("6", needed, predicted, 3.1)
    for axis, letter, mine, expected in panels:
        draw_needs(axis, mine, expected, "min_eigenvalue", "n_features")
        axis.set_title(f"({letter}) {fixed_settings(mine, 'noise')}")
        quiet_frame(axis)
        axis.set(xscale="log", yscale="log")
        plain_numbers(axis.yaxis)
        axis.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    return _labelled(figure, NAMES["n_needed"], NAMES["min_eigenvalue"])


# -- beyond the paper ------------------------------------------------------------------------------


@styled
def figure_7(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The angle against N, by method."""
    figure, ((axis, _, mine, expected),) = _panels("7", rows, predicted, 3.6)
    draw_errors(axis, mine, expected, "n_items", "angle", by="method")
    axis.set(xlabel=ITEMS_LABEL, ylabel=NAMES["angle"])
    axis.set_title(fixed_settings(mine, "n_features", "min_eigenvalue", "noise"))
    plain_numbers(axis.xaxis, (1, 3))
    legend_above(figure)
    return figure


@styled
def figure_8(needed: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The N needed against d by method, and how many times more `split` needs."""
    figure = empty_figure(2, (WIDTH, 3.4), shared_y=False)
    mine, expected = select(needed, figure="8"), select(predicted, figure="8")
    left, right = figure.axes
    draw_needs(left, mine, expected, "n_features", "method")
    for method in levels(mine, "method"):
        # each dotted line in the colour of its method: here they are far from their curves
        dotted = {**PREDICTED, "color": METHOD_LOOK[method][0], "label": None}
        for rows, style in ((mine, line_style("method", method)), (expected, dotted)):
            if method != "split" and (points := _ratios(rows, method)):
                right.plot(*np.array(points).T, **style)
    left.set(ylabel=NAMES["n_needed"], yscale="log", title="(a) items needed")
    right.set(ylabel="N of split / N of method", title="(b) times fewer items than split")
    right.set_ylim(bottom=0)
    plain_numbers(left.yaxis)
    for axis in figure.axes:
        axis.set_xlabel(NAMES["n_features"])
        axis.set_xticks([0, 100, 200])
        quiet_frame(axis)
    legend_above(figure)
    return figure


def _ratios(rows: Sequence[Row], method: str) -> list[tuple[float, float]]:
    """d, and the N of `split` over the N of a method."""
    split = {row["n_features"]: row["n_needed"] for row in select(rows, method="split")}
    return sorted(
        (row["n_features"], split[row["n_features"]] / row["n_needed"])
        for row in select(rows, method=method)
    )


@styled
def figure_9(rows: Sequence[Row]) -> Any:
    """Where the error comes from: rows of `decomposition_rows`."""
    return error_sources_figure(rows, (WIDTH, 3.6))


@styled
def figure_10(rows: Sequence[Row]) -> Any:
    """Off the assumptions: the mean angle of each method in each scenario.

    Rows have scenario, method, generation and angle.
    """
    scenarios = levels(rows, "scenario")
    figure = empty_figure(1, (WIDTH, 1.1 + 0.5 * len(scenarios)))
    axis = figure.axes[0]
    draw_scenarios(axis, rows)
    axis.set(
        yticks=range(len(scenarios)),
        yticklabels=scenarios,
        ylim=(len(scenarios) - 0.5, -0.5),
        xlabel="mean angle ∠(β̂, β) in radians, with its standard error",
    )
    axis.set_xlim(left=0)
    for edge in range(1, len(scenarios)):
        axis.axhline(edge - 0.5, color="#dddddd", linewidth=0.6, zorder=0)
    quiet_frame(axis)
    axis.grid(visible=False, axis="y")
    legend_above(figure)
    return figure


FIGURES: Mapping[str, Callable[..., Any]] = {
    "1": figure_1,
    "2": figure_2,
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "9": figure_9,
    "10": figure_10,
}


def save_figure(figure: Any, folder: str | Path, name: str) -> list[Path]:
    """Write a figure as SVG, PDF and PNG. The same rows give the same bytes."""
    with _style():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is found once, not for each format again
    return [
        write_whole(Path(folder) / f"{name}.{suffix}", _picture(figure, suffix, name))
        for suffix in FORMATS
    ]


def _picture(figure: Any, suffix: str, name: str) -> bytes:
    content = BytesIO()
    with _style(**{"svg.hashsalt": name}):
        figure.savefig(content, format=suffix, dpi=200, metadata=FORMATS[suffix], facecolor="white")
    return content.getvalue()
