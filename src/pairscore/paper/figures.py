"""The figures, each a pure function of rows.

A mean over generations with its standard deviation, the prediction on top.

Figures 1 to 6 are in the paper's arrangement, 7 to 10 go beyond it. A panel without rows is left
out. All are 6.4 inches wide with letters of 9 points, so that they can be read at the width of a
column.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.files.write import write_whole
from pairscore.paper.panels import (
    LOOKS,
    METHOD_LOOK,
    NAMES,
    PREDICTED,
    draw_arrows,
    draw_errors,
    draw_needs,
    fixed_settings,
    legend_above,
    line_style,
    plain_numbers,
)
from pairscore.paper.rows import Row, curves, levels, of_figure, with_numbers
from pairscore.planning.charts import empty_figure, quiet_frame
from pairscore.planning.error_sources import error_sources_figure

WIDTH = 6.4
FORMATS = ("svg", "pdf", "png")
STYLE: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9,
    "svg.fonttype": "path", "pdf.fonttype": 42,
}  # fmt: skip


def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draw with our letter sizes, whatever the reader's own settings of matplotlib are."""

    @wraps(draw)
    def drawn(*rows: Iterable[Row]) -> Any:
        with _style():
            return draw(*map(with_numbers, rows))

    return drawn


@contextmanager
def _style() -> Iterator[None]:
    empty_figure(1)  # says what to install where matplotlib is not
    import matplotlib

    defaults: dict[Any, Any] = {
        name: value
        for name, value in matplotlib.rcParamsDefault.items()
        if not name.startswith("backend")
    }
    with matplotlib.rc_context(defaults | STYLE):
        yield


# -- the paper's figures ---------------------------------------------------------------------------------


@styled
def figure_1(rows: Sequence[Row]) -> Any:
    """How the estimator works, in two dimensions.

    Rows with panel, kind ("point" or "arrow"), x, y and label.

    The label of a point is its outcome (-1 or 1), that of an arrow its name. The first arrow of a
    panel is the truth, with the line it separates by; arrows show directions only.
    """
    titles = {"a": "differences", "b": "whitened", "c": "mirrored by labels", "d": "their average"}
    panels = levels(rows, "panel")
    figure = empty_figure(len(panels), (WIDTH, 2.25), shared_y=False)
    for axis, panel in zip(figure.axes, panels, strict=True):
        mine = [row for row in rows if row["panel"] == panel]
        reach = 1.08 * max(
            abs(row[side])
            for row in mine
            if row["kind"] == "point" or not _points(mine)
            for side in "xy"
        )
        for outcome, (colour, marker) in ((1, LOOKS[0]), (-1, ("#E69F00", "x"))):
            points = [
                (row["x"], row["y"]) for row in _points(mine) if float(row["label"]) == outcome
            ]
            if points:
                label = f"Y = {'+1' if outcome == 1 else '−1'}"
                axis.plot(
                    *np.array(points).T,
                    marker,
                    color=colour,
                    markersize=3.5,
                    alpha=0.75,
                    linestyle="none",
                    markeredgewidth=0.9,
                    label=label,
                )
        draw_arrows(axis, [row for row in mine if row["kind"] == "arrow"], reach)
        axis.set(
            xlim=(-reach, reach),
            ylim=(-reach, reach),
            aspect="equal",
            xticks=[],
            yticks=[],
            title=f"({panel}) {titles.get(panel, '')}",
        )
        axis.axhline(0, color="#bbbbbb", linewidth=0.6, zorder=0)
        axis.axvline(0, color="#bbbbbb", linewidth=0.6, zorder=0)
        axis.spines[:].set_color("#bbbbbb")
    legend_above(figure)
    return figure


@styled
def figure_2(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """Convergence: the norm error against N, and against M with N fixed."""
    panels = levels(of_figure(rows, "2"), "panel")
    figure = empty_figure(len(panels), (WIDTH, 3.3))
    for axis, panel in zip(figure.axes, panels, strict=True):
        variable = "n_items" if panel == "a" else "n_comparisons"
        draw_errors(
            axis,
            of_figure(rows, "2", panel),
            of_figure(predicted, "2", panel),
            variable,
            "norm_error",
        )
        axis.set(
            title=(
                f"({panel})"
                f" {fixed_settings(of_figure(rows, '2', panel), 'min_eigenvalue', 'noise')}"
            ),
            xlabel=NAMES[variable],
        )
    figure.axes[0].set_ylabel(NAMES["norm_error"])
    legend_above(figure)
    return figure


@styled
def figure_3(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The angle against N, at three noise levels."""
    return _by_noise(
        "3",
        rows,
        predicted,
        "n_items",
        "number of compared items N, with M = ⌈N log N⌉ comparisons",
    )


@styled
def figure_4(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The angle against M with N fixed, at three noise levels."""
    n = of_figure(rows, "4")[0]["n_items"]
    return _by_noise(
        "4",
        rows,
        predicted,
        "n_comparisons",
        f"number of comparisons M, between N = {n:,.0f} items",
    )


@styled
def figure_5(needed: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The N needed against d, at three noise levels."""
    return _needs("5", needed, predicted, "n_features", "min_eigenvalue")


@styled
def figure_6(needed: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The N needed against the smallest eigenvalue, at three noise levels."""
    return _needs("6", needed, predicted, "min_eigenvalue", "n_features")


# -- beyond the paper ------------------------------------------------------------------------------------


@styled
def figure_7(rows: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The angle against N, by method."""
    figure = empty_figure(1, (WIDTH, 3.6))
    axis, mine = figure.axes[0], of_figure(rows, "7")
    draw_errors(axis, mine, of_figure(predicted, "7"), "n_items", "angle", by="method")
    axis.set(
        xlabel="number of compared items N, with M = ⌈N log N⌉ comparisons", ylabel=NAMES["angle"]
    )
    axis.set_title(fixed_settings(mine, "n_features", "min_eigenvalue", "noise"))
    plain_numbers(axis.xaxis, (1, 3))
    legend_above(figure)
    return figure


@styled
def figure_8(needed: Sequence[Row], predicted: Sequence[Row] = ()) -> Any:
    """The N needed against d by method, and how many times more `split` needs."""
    figure = empty_figure(2, (WIDTH, 3.4), shared_y=False)
    mine, curve = of_figure(needed, "8"), of_figure(predicted, "8")
    left, right = figure.axes
    draw_needs(left, mine, curve, "n_features", "method")
    split = {row["n_features"]: row["n_needed"] for row in mine if row["method"] == "split"}
    expected = {row["n_features"]: row["n_needed"] for row in curve if row["method"] == "split"}
    for method in [method for method in levels(mine, "method") if method != "split"]:
        # three dotted lines apart from theirs: each in its method's colour
        own = {**PREDICTED, "color": METHOD_LOOK[method][0], "label": None}
        for rows, base, style in (
            (mine, split, line_style("method", method)),
            (curve, expected, own),
        ):
            points = sorted(
                (row["n_features"], base[row["n_features"]] / row["n_needed"])
                for row in rows
                if row["method"] == method
            )
            if points:
                right.plot(*np.array(points).T, **style)
    left.set(
        xlabel=NAMES["n_features"], ylabel=NAMES["n_needed"], yscale="log", title="(a) items needed"
    )
    right.set(
        xlabel=NAMES["n_features"],
        ylabel="N of split / N of method",
        title="(b) times fewer items than split",
    )
    right.set_ylim(bottom=0)
    plain_numbers(left.yaxis)
    for axis in figure.axes:
        axis.set_xticks([0, 100, 200])
        quiet_frame(axis)
    legend_above(figure)
    return figure


@styled
def figure_9(rows: Sequence[Row]) -> Any:
    """Where the error comes from: rows of `decomposition_rows`."""
    return error_sources_figure(rows, (WIDTH, 3.6))


@styled
def figure_10(rows: Sequence[Row]) -> Any:
    """Off the assumptions: the mean angle of each method in each scenario (rows with scenario,
    method, generation, angle).
    """
    scenarios, methods = levels(rows, "scenario"), levels(rows, "method")
    figure = empty_figure(1, (WIDTH, 1.1 + 0.5 * len(scenarios)))
    axis = figure.axes[0]
    for place, method in enumerate(methods):
        colour, marker = METHOD_LOOK.get(method, LOOKS[place % len(LOOKS)])
        found = curves(
            [row for row in rows if row["method"] == method], "scenario", "generation", "angle"
        )
        mean = np.array(
            [found[scenario].mean.mean() if scenario in found else np.nan for scenario in scenarios]
        )
        error = np.array(
            [
                _std_error(found[scenario].mean) if scenario in found else np.nan
                for scenario in scenarios
            ]
        )
        height = np.arange(len(scenarios)) + 0.15 * (place - (len(methods) - 1) / 2)
        axis.errorbar(
            mean,
            height,
            xerr=np.nan_to_num(error),
            fmt=marker,
            color=colour,
            markersize=6,
            elinewidth=1.3,
            capsize=2,
            label=method,
        )
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
    "1": figure_1, "2": figure_2, "3": figure_3, "4": figure_4, "5": figure_5, "6": figure_6,
    "7": figure_7, "8": figure_8, "9": figure_9, "10": figure_10,
}  # fmt: skip


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
    """A figure in a file format, without the date and other things that change from run to run."""
    silent = {
        "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
        "pdf": {"CreationDate": None},
        "png": {},
    }[suffix]
    content = BytesIO()
    with _saving(name):
        figure.savefig(content, format=suffix, dpi=200, metadata=silent, facecolor="white")
    return content.getvalue()


def _by_noise(
    name: str, rows: Sequence[Row], predicted: Sequence[Row], variable: str, label: str
) -> Any:
    panels = levels(of_figure(rows, name), "panel")
    figure = empty_figure(len(panels), (WIDTH, 3.1))
    for axis, panel in zip(figure.axes, panels, strict=True):
        mine = of_figure(rows, name, panel)
        draw_errors(axis, mine, of_figure(predicted, name, panel), variable, "angle")
        axis.set_title(
            f"({panel}) {fixed_settings(mine, 'noise')}, {fixed_settings(mine, 'min_eigenvalue')}"
        )
    figure.axes[0].set_ylabel(NAMES["angle"])
    figure.supxlabel(label, fontsize=9)
    legend_above(figure)
    return figure


def _needs(
    name: str, needed: Sequence[Row], predicted: Sequence[Row], variable: str, by: str
) -> Any:
    panels = levels(of_figure(needed, name), "panel")
    log = variable == "min_eigenvalue"
    figure = empty_figure(len(panels), (WIDTH, 3.1), shared_y=log)
    for axis, panel in zip(figure.axes, panels, strict=True):
        mine = of_figure(needed, name, panel)
        draw_needs(axis, mine, of_figure(predicted, name, panel), variable, by)
        axis.set_title(f"({panel}) {fixed_settings(mine, 'noise')}")
        quiet_frame(axis)
        if log:
            axis.set(xscale="log", yscale="log")
            plain_numbers(axis.yaxis)
            axis.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
        else:
            axis.set_ylim(bottom=0)
            axis.set_xticks([0, 100, 200])
            axis.locator_params(axis="y", nbins=6)
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.axes[0].set_ylabel(NAMES["n_needed"])
    figure.supxlabel(NAMES[variable], fontsize=9)
    legend_above(figure)
    return figure


def _points(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["kind"] == "point"]


def _std_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


@contextmanager
def _saving(salt: str) -> Iterator[None]:
    import matplotlib

    with _style(), matplotlib.rc_context({"svg.hashsalt": salt}):
        yield
