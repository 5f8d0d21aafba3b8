"""The chart of a decomposition: where the error of `split` comes from, as items and comparisons
grow.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairscore.errors import CallError
from pairscore.messages import Action
from pairscore.planning.charts import Row, empty_figure, quiet_frame, save_figure

# colour and marker of each part; the colours of Okabe and Ito suit colour-blind readers
STYLES = {
    "total": ("#000000", "o"),
    "covariance": ("#0072B2", "s"),
    "items": ("#D55E00", "^"),
    "labels": ("#009E73", "D"),
    "counts": ("#CC79A7", "v"),
    "partners": ("#E69F00", "P"),
    "interaction": ("#56B4E9", "X"),
}
Lines = dict[str, np.ndarray]  # for each part three rows: size, mean square, standard error


def error_sources_chart(rows: Iterable[Row], path: str | Path) -> None:
    """Draw where the error of `split` comes from, against the numbers of items and of comparisons.

    ``rows`` are those of :func:`pairscore.theory.decomposition.decomposition_rows`. Sizes that
    share their number of items make the panel against M, all others that against N. The suffix of
    ``path`` decides the format.
    """
    save_figure(error_sources_figure(rows), path)


def error_sources_figure(rows: Iterable[Row], size: tuple[float, float] | None = None) -> Any:
    """The picture of :func:`error_sources_chart`, not yet in a file; ``size`` in inches."""
    panels = _panels(list(rows))
    figure = empty_figure(len(panels), size)
    for axis, (variable, title, lines) in zip(figure.axes, panels, strict=True):
        _draw_lines(axis, lines)
        axis.set(
            xscale="log", yscale="log", title=title, xlabel=f"number of {variable} (log scale)"
        )
        quiet_frame(axis)
    figure.axes[0].set_ylabel("mean squared length of each part\nof β̂ − c₁β (log scale)")
    gap = 0.055 * 4.8 / figure.get_size_inches()[1]
    # only now are the shared limits final
    for axis, (_, _, lines) in zip(figure.axes, panels, strict=True):
        _name_lines(axis, {term: (x[-1], y[-1]) for term, (x, y, _) in lines.items()}, gap)
    return figure


def _draw_lines(axis: Any, lines: Lines) -> None:
    """One line for each part, in a band of two standard errors."""
    for term, (x, y, error) in lines.items():
        colour, marker = STYLES[term]
        width = 2.2 if term == "total" else 1.5
        axis.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=width)
        low = np.maximum(y - 2 * error, 0.2 * y)
        axis.fill_between(x, low, y + 2 * error, color=colour, alpha=0.15, linewidth=0)


def _panels(rows: Sequence[Row]) -> list[tuple[str, str, Lines]]:
    """What each panel shows: the variable, the title, and the lines."""
    if not rows:
        raise CallError(
            "there are no rows to draw", "give those of " + Action("decomposition_rows")
        )
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
        title = f"more comparisons of N = {common} items"
        panels.append(("comparisons M", title, _lines(shared, "n_comparisons")))
    return panels


def _lines(rows: Sequence[Row], variable: str) -> Lines:
    """The points of each part, total first, in the order of their size."""
    columns = (variable, "mean_square", "std_error")
    points = {
        term: sorted(tuple(row[name] for name in columns) for row in rows if row["term"] == term)
        for term in STYLES
    }
    return {term: np.array(some, dtype=float).T for term, some in points.items() if some}


def _name_lines(axis: Any, ends: Mapping[str, tuple[float, float]], gap: float) -> None:
    """Write each line's name at its right end, pushed up where lines end close together."""
    low, high = np.log(axis.get_ylim())
    lowest = -np.inf
    for term in sorted(ends, key=lambda term: ends[term][1]):
        height = max((np.log(ends[term][1]) - low) / (high - low), lowest)
        lowest = height + gap
        colour, _ = STYLES[term]
        axis.annotate(
            term,
            xy=ends[term],
            xytext=(1.03, height),
            textcoords="axes fraction",
            color=colour,
            va="center",
            weight="bold" if term == "total" else "normal",
            arrowprops=dict(arrowstyle="-", color=colour, linewidth=0.6, shrinkA=1, shrinkB=4),
            annotation_clip=False,
        )
