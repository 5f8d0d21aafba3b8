"""The chart of a plan, and what every chart of the package starts from: rows in, a file out.

Nothing is computed here, and matplotlib is loaded only when a chart is drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.atomic import atomic_write

Row = Mapping[str, Any]

# colour and line of each curve
CURVES = (
    ("#E69F00", "--"),
    ("#0072B2", "-"),
    ("#009E73", "-."),
    ("#CC79A7", ":"),
    ("#000000", (0, (5, 1))),
)
MEASURES = {
    "misordered": "Pairs of new items in the wrong order",
    "angle": "Mean angle (radians)",
    "norm_error": "Mean norm error",
}


def plan_chart(
    rows: Sequence[Row],
    chosen: Row | Sequence[Row],
    path: str | Path,
    *,
    target: float | None = None,
) -> None:
    """Draw the expected error against M for several N, with the study that was chosen.

    ``rows`` are those of :func:`pairscore.planning.text.plan_curves`: n_items, n_comparisons,
    error; with low and high the curve of the chosen number of items has a band, in which nine of
    ten studies are. ``chosen`` has the same columns, and with them measure and method; several of
    them, with rows of the same noise, draw one curve for each noise. ``target`` is drawn as a line.
    Shares are shown in percent. The suffix of ``path`` decides the format.
    """
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise PairscoreError(f"the chart's file is {str(path)!r}; name a .png, .svg or .pdf file.")
    figure = empty_figure(1)
    draw_plan(figure.axes[0], rows, chosen, target=target)
    save_figure(figure, path)


def draw_plan(
    axis: Any, rows: Sequence[Row], chosen: Row | Sequence[Row], *, target: float | None = None
) -> None:
    """Draw what :func:`plan_chart` draws on a panel."""
    choices = [chosen] if isinstance(chosen, Mapping) else list(chosen)
    first, by_noise = choices[0], len(choices) > 1
    scale = 100.0 if first["measure"] == "misordered" else 1.0
    _draw_curves(axis, rows, choices, scale)
    if target is not None:
        _draw_target(axis, scale * target, " %" if scale > 1 else "")
    for choice in choices:
        _draw_choice(axis, choice, scale, with_words=not by_noise)
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="Number of comparisons M (log scale)",
        ylabel=f"{MEASURES[first['measure']]} (log scale)",
        title=f"Method {first['method']}: expected error before any data",
    )
    quiet_frame(axis)
    axis.legend(frameon=False)
    _plain_ticks(axis, " %" if scale > 1 else "")


def _draw_curves(axis: Any, rows: Sequence[Row], choices: Sequence[Row], scale: float) -> None:
    """A curve for each number of items, or noise; a band around what was chosen.

    Of several noises the middle one has the band.
    """
    by_noise = len(choices) > 1
    key = "noise" if by_noise else "n_items"
    banded = choices[(len(choices) - 1) // 2][key]
    band: tuple[Sequence[Row], str] = ([], "")
    for value, (colour, style) in zip(sorted({row[key] for row in rows}), CURVES, strict=False):
        points = [row for row in rows if row[key] == value]
        x, y = (np.array([row[name] for row in points]) for name in ("n_comparisons", "error"))
        items = f"{points[0]['n_items']:,} items"
        label = f"noise {100 * value:.3g} %: {items}" if by_noise else items
        axis.plot(x, scale * y, linestyle=style, color=colour, linewidth=2, label=label)
        if value == banded and "low" in points[0]:
            band = points, colour
    if band[0]:
        _draw_band(axis, *band, scale, f", noise {100 * banded:.3g} %" if by_noise else "")


def _draw_band(axis: Any, points: Sequence[Row], colour: str, scale: float, of: str) -> None:
    """Where 9 of 10 studies are."""
    x, low, high = (
        np.array([row[name] for row in points]) for name in ("n_comparisons", "low", "high")
    )
    style = {"color": colour, "alpha": 0.15, "linewidth": 0, "label": f"9 of 10 studies{of}"}
    axis.fill_between(x, scale * low, scale * high, **style)


def _draw_target(axis: Any, target: float, unit: str) -> None:
    axis.axhline(target, color="#555555", linewidth=1, linestyle=":")
    right_end = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
    axis.annotate(f"target {target:g}{unit}", (0.99, target), color="#555555", **right_end)


def _draw_choice(axis: Any, chosen: Row, scale: float, *, with_words: bool) -> None:
    n, m, error = chosen["n_items"], chosen["n_comparisons"], scale * chosen["error"]
    axis.plot([m], [error], "o", color="#D55E00", markersize=9, zorder=5)
    if with_words:
        beside = {"xytext": (12, 14), "textcoords": "offset points"}
        axis.annotate(f"{n:,} items,\n{m:,} comparisons", (m, error), color="#D55E00", **beside)


def _plain_ticks(axis: Any, unit: str) -> None:
    """0.05 or 5 % instead of 5 times a power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}{unit}"))
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
