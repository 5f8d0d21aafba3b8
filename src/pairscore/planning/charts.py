"""Charts: rows in, a picture file out.

Nothing is computed here, and matplotlib is loaded only when a chart is drawn.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.errors import PairscoreError
from pairscore.files.write import atomic_write

Row = Mapping[str, Any]

# colours of Okabe and Ito, told apart by colour-blind readers; each part has its own marker as well
LOOK = {
    "total": ("#000000", "o", "total"),
    "covariance": ("#0072B2", "s", "covariance"),
    "items": ("#D55E00", "^", "items"),
    "labels": ("#009E73", "D", "labels"),
    "counts": ("#CC79A7", "v", "counts"),
    "partners": ("#E69F00", "P", "partners"),
    "interaction": ("#56B4E9", "X", "interaction"),
}


def error_sources_chart(rows: Iterable[Row], path: str | Path) -> None:
    """Draw where the error of `split` comes from, against the numbers of items and of comparisons,
    from `decomposition_rows`.

    Sizes that share their number of items make the panel against M, all others that against N.
    """
    _save(error_sources_figure(rows), path)


def error_sources_figure(rows: Iterable[Row], size: tuple[float, float] | None = None) -> Any:
    """The picture of `error_sources_chart`, not yet in a file; ``size`` in inches."""
    panels = _panels(list(rows))
    figure = empty_figure(len(panels), size)
    for index, (axis, (variable, fixed, lines)) in enumerate(zip(figure.axes, panels, strict=True)):
        for term, (x, y, error) in lines.items():
            colour, marker, _ = LOOK[term]
            axis.plot(
                x,
                y,
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=2.2 if term == "total" else 1.5,
            )
            axis.fill_between(
                x,
                np.maximum(y - 2 * error, 0.2 * y),
                y + 2 * error,
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        axis.set(
            xscale="log", yscale="log", title=fixed, xlabel=f"number of {variable} (log scale)"
        )
        if index == 0:
            axis.set_ylabel("mean squared length of each part\nof β̂ − c₁β (log scale)")
        quiet_frame(axis)
    height = figure.get_size_inches()[1]
    # only now are the shared limits final
    for axis, (_, _, lines) in zip(figure.axes, panels, strict=True):
        _name_lines(
            axis,
            {term: (x[-1], y[-1]) for term, (x, y, _) in lines.items()},
            gap=0.055 * 4.8 / height,
        )
    return figure


def plan_chart(
    rows: Sequence[Row], chosen: Row, path: str | Path, *, target: float | None = None
) -> None:
    """Draw the expected error against M for several N, from `plan_curves`, with the chosen study."""
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise PairscoreError(f"the chart's file is {str(path)!r}; name a .png, .svg or .pdf file.")
    figure = empty_figure(1)
    axis = figure.axes[0]
    sizes = sorted({row["n_items"] for row in rows})
    for n, (colour, style) in zip(
        sizes, (("#E69F00", "--"), ("#0072B2", "-"), ("#009E73", "-.")), strict=False
    ):
        x, y = np.array(
            [(row["n_comparisons"], row["error"]) for row in rows if row["n_items"] == n],
            dtype=float,
        ).T
        axis.plot(x, y, style, color=colour, linewidth=2, label=f"{n:,} items")
    if target is not None:
        axis.axhline(target, color="#555555", linewidth=1, linestyle=":")
        axis.annotate(
            f"target {target:g}",
            (0.99, target),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            color="#555555",
        )
    axis.plot(
        [chosen["n_comparisons"]], [chosen["error"]], "o", color="#D55E00", markersize=9, zorder=5
    )
    where = f"{chosen['n_items']:,} items,\n{chosen['n_comparisons']:,} comparisons"
    axis.annotate(
        where,
        (chosen["n_comparisons"], chosen["error"]),
        xytext=(12, 14),
        textcoords="offset points",
        color="#D55E00",
    )
    names = {
        "misordered": "misordered share of new pairs",
        "angle": "mean angle (radians)",
        "norm_error": "mean norm error",
    }
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="number of comparisons M (log scale)",
        ylabel=f"{names[chosen['measure']]} (log scale)",
    )
    axis.set_title(f"method {chosen['method']}: expected error before any data")
    quiet_frame(axis)
    axis.legend(frameon=False)
    _plain_ticks(axis)
    _save(figure, path)


def _plain_ticks(axis: Any) -> None:
    """0.05 instead of 5 times a power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _save(figure: Any, path: str | Path) -> None:
    with atomic_write(path, "the chart") as scratch:
        figure.savefig(scratch, dpi=150, format=Path(path).suffix[1:].lower())


def empty_figure(
    n_panels: int, size: tuple[float, float] | None = None, *, shared_y: bool = True
) -> Any:
    """An empty picture of panels side by side; ``size`` in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PairscoreError(
            "charts need matplotlib, which is not installed; run pip install 'pairscore[charts]'."
        ) from None
    figure = Figure(figsize=size or (6.4 * n_panels, 4.8), layout="constrained")
    figure.subplots(1, n_panels, sharey=shared_y)
    return figure


def quiet_frame(axis: Any) -> None:
    """A pale grid, and no frame above or to the right."""
    axis.grid(alpha=0.25, which="major")
    axis.spines[["top", "right"]].set_visible(False)


def _panels(rows: Sequence[Row]) -> list[tuple[str, str, dict[str, Any]]]:
    """What stands on each panel.

    The variable, what is fixed, and for each part x, mean square and standard error.
    """
    if not rows:
        raise PairscoreError("there are no rows to draw; give those of decomposition_rows.")
    sizes: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        sizes[row["n_items"]].add(row["n_comparisons"])
    common = max(sizes, key=lambda n_items: len(sizes[n_items]))
    shared = [row for row in rows if row["n_items"] == common and len(sizes[common]) > 1]
    others = [row for row in rows if row not in shared]
    panels = []
    if others:
        panels.append(("items N", "items and comparisons grow together", _lines(others, "n_items")))
    if shared:
        panels.append(
            (
                "comparisons M",
                f"more comparisons of N = {common} items",
                _lines(shared, "n_comparisons"),
            )
        )
    return panels


def _lines(rows: Sequence[Row], variable: str) -> dict[str, Any]:
    """For each part, total first, its sizes in order with mean square and standard error."""
    lines = {}
    for term in LOOK:
        points = sorted(
            (row[variable], row["mean_square"], row["std_error"])
            for row in rows
            if row["term"] == term
        )
        if points:
            lines[term] = np.array(points, dtype=float).T
    return lines


def _name_lines(axis: Any, ends: Mapping[str, tuple[float, float]], gap: float = 0.055) -> None:
    """Write each line's name at its right end, pushed up where lines end close together."""
    low, high = np.log(axis.get_ylim())
    order = sorted(ends, key=lambda term: ends[term][1])
    place: list[float] = []
    for term in order:
        height = (np.log(ends[term][1]) - low) / (high - low)
        place.append(max(height, place[-1] + gap) if place else height)
    for term, height in zip(order, place, strict=True):
        colour, _, name = LOOK[term]
        axis.annotate(
            name,
            xy=(ends[term][0], ends[term][1]),
            xytext=(1.03, height),
            textcoords="axes fraction",
            color=colour,
            va="center",
            weight="bold" if term == "total" else "normal",
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 4,
            },
            annotation_clip=False,
        )
