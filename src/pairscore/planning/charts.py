"""The chart of a plan, and what every chart of the package starts from: rows in, a file out.

Nothing is computed here, and matplotlib is loaded only when a chart is drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.write import atomic_write

Row = Mapping[str, Any]

CURVES = (("#E69F00", "--"), ("#0072B2", "-"), ("#009E73", "-."))  # colour and line for each N
MEASURES = {
    "misordered": "misordered share of new pairs",
    "angle": "mean angle (radians)",
    "norm_error": "mean norm error",
}


def plan_chart(
    rows: Sequence[Row], chosen: Row, path: str | Path, *, target: float | None = None
) -> None:
    """Draw the expected error against M for several N, with the study that was chosen.

    ``rows`` are those of :func:`pairscore.planning.text.plan_curves`: n_items, n_comparisons,
    error. ``chosen`` has the same columns, and with them measure and method. ``target`` is drawn as
    a line. The suffix of ``path`` decides the format.
    """
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise PairscoreError(f"the chart's file is {str(path)!r}; name a .png, .svg or .pdf file.")
    figure = empty_figure(1)
    axis = figure.axes[0]
    for n, (colour, style) in zip(sorted({row["n_items"] for row in rows}), CURVES, strict=False):
        points = [(row["n_comparisons"], row["error"]) for row in rows if row["n_items"] == n]
        x, y = np.array(points, dtype=float).T
        axis.plot(x, y, style, color=colour, linewidth=2, label=f"{n:,} items")
    if target is not None:
        _draw_target(axis, target)
    _draw_choice(axis, chosen)
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="number of comparisons M (log scale)",
        ylabel=f"{MEASURES[chosen['measure']]} (log scale)",
        title=f"method {chosen['method']}: expected error before any data",
    )
    quiet_frame(axis)
    axis.legend(frameon=False)
    _plain_ticks(axis)
    save_figure(figure, path)


def _draw_target(axis: Any, target: float) -> None:
    axis.axhline(target, color="#555555", linewidth=1, linestyle=":")
    right_end = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
    axis.annotate(f"target {target:g}", (0.99, target), color="#555555", **right_end)


def _draw_choice(axis: Any, chosen: Row) -> None:
    n, m, error = chosen["n_items"], chosen["n_comparisons"], chosen["error"]
    axis.plot([m], [error], "o", color="#D55E00", markersize=9, zorder=5)
    beside = {"xytext": (12, 14), "textcoords": "offset points"}
    axis.annotate(f"{n:,} items,\n{m:,} comparisons", (m, error), color="#D55E00", **beside)


def _plain_ticks(axis: Any) -> None:
    """0.05 instead of 5 times a power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def empty_figure(
    n_panels: int, size: tuple[float, float] | None = None, *, shared_y: bool = True
) -> Any:
    """A matplotlib figure of empty panels side by side (``figure.axes``); ``size`` in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size or (6.4 * n_panels, 4.8), layout="constrained")
    figure.subplots(1, n_panels, sharey=shared_y)
    return figure


def quiet_frame(axis: Any) -> None:
    """Give a panel a pale grid, and no frame above or to the right."""
    axis.grid(alpha=0.25, which="major")
    axis.spines[["top", "right"]].set_visible(False)


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure in the format that the suffix names; the file appears whole or not at all."""
    with atomic_write(path, "the chart") as scratch:
        figure.savefig(scratch, dpi=150, format=Path(path).suffix[1:].lower())
