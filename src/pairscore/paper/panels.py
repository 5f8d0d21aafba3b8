"""What the panels of the figures are drawn with.

Curves and their shade, predictions, looks, legends, ticks.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairscore.paper.experiments import TARGET
from pairscore.paper.rows import Row, curves, levels
from pairscore.planning.charts import quiet_frame

# colours of Okabe and Ito; a marker each, for readers and printers without colour
LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))
METHOD_LOOK = {
    "split": LOOKS[0],
    "pooled": ("#E69F00", "s"),
    "paired": LOOKS[2],
    "mle": ("#D55E00", "D"),
}
NAMES = {
    "n_items": "number of compared items N",
    "n_comparisons": "number of comparisons M",
    "n_features": "number of features d",
    "min_eigenvalue": "smallest eigenvalue $λ_d$ of the covariance",
    "norm_error": "error ‖β̂ − c₁β‖",
    "angle": "angle ∠(β̂, β) in radians",
    "n_needed": f"N needed for angle {TARGET:g}",
}
PREDICTED: dict[str, Any] = {
    "color": "#222222",
    "linestyle": (0, (1, 1.6)),
    "linewidth": 1.1,
    "zorder": 4,
    "label": "predicted",
}


def draw_errors(
    axis: Any,
    rows: Sequence[Row],
    predicted: Sequence[Row],
    variable: str,
    measure: str,
    by: str = "n_features",
) -> None:
    """Simulated curves with their shade, the predicted ones over them, and N log N where only M
    grows.
    """
    for place, (level, curve) in enumerate(curves(rows, by, variable, measure).items()):
        style = line_style(by, level, place)
        axis.plot(curve.x, curve.mean, **style)
        spread = np.nan_to_num(curve.sd)
        axis.fill_between(
            curve.x,
            np.maximum(curve.mean - spread, 0.2 * curve.mean),
            curve.mean + spread,
            color=style["color"],
            alpha=0.18,
            linewidth=0,
        )
    for curve in curves(
        [row for row in predicted if np.isfinite(row["n_comparisons"])], by, variable, measure
    ).values():
        axis.plot(curve.x, curve.mean, **PREDICTED)
    if variable == "n_comparisons":
        n = rows[0]["n_items"]
        axis.axvline(
            n * np.log(n), color="black", linestyle="--", linewidth=1.1, label="M = N log N"
        )
    axis.set(xscale="log", yscale="log")
    quiet_frame(axis)
    plain_numbers(axis.xaxis, (1,))
    plain_numbers(axis.yaxis, (1, 2, 5))


def draw_needs(
    axis: Any, rows: Sequence[Row], predicted: Sequence[Row], variable: str, by: str
) -> None:
    """N needed with its interval, and the predicted N."""
    for place, level in enumerate(levels(rows, by)):
        mine = sorted((row for row in rows if row[by] == level), key=lambda row: row[variable])
        x, y, low, high = (
            np.array([row[name] for row in mine], dtype=float)
            for name in (variable, "n_needed", "low", "high")
        )
        style = line_style(by, level, place)
        axis.plot(x, y, **style)
        axis.fill_between(
            x,
            np.where(np.isnan(low), y, low),
            np.where(np.isnan(high), y, high),
            color=style["color"],
            alpha=0.18,
            linewidth=0,
        )
    for curve in curves(predicted, by, variable, "n_needed").values():
        axis.plot(curve.x, curve.mean, **PREDICTED)


def line_style(by: str, level: Any, place: int = 0) -> dict[str, Any]:
    """Colour, marker and name of a curve."""
    colour, marker = METHOD_LOOK[level] if by == "method" else LOOKS[place % len(LOOKS)]
    name = level if by == "method" else f"{_SIGNS[by]} = {_value(level)}"
    return {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.4, "label": name}


_SIGNS = {"n_features": "d", "min_eigenvalue": "$λ_d$", "noise": "$p_e$"}


def _value(value: float) -> str:
    """1/200 for 0.005."""
    return (
        f"1/{1 / value:.0f}"
        if 0 < value < 0.05 and np.isclose(1 / value, round(1 / value))
        else f"{value:g}"
    )


def fixed_settings(rows: Sequence[Row], *names: str) -> str:
    """What does not vary on a panel, in signs."""
    return ", ".join(f"{_SIGNS[name]} = {_value(rows[0][name])}" for name in names)


def legend_above(figure: Any) -> None:
    """One legend for all panels, where it covers nothing."""
    found: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    last = [label for label in ("predicted", "M = N log N") if label in found]
    order = [label for label in found if label not in last] + last
    figure.legend(
        [found[label] for label in order],
        order,
        loc="outside upper center",
        ncols=min(len(order), 5),
        frameon=False,
        handlelength=2.2,
        columnspacing=1.4,
    )


def plain_numbers(axis: Any, steps: tuple[int, ...] = (1, 2, 5)) -> None:
    """0.05 and 10,000 instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    )
    axis.set_minor_formatter(NullFormatter())


def draw_arrows(axis: Any, arrows: Sequence[Row], reach: float) -> None:
    """Directions from the origin, the first the truth with the line across it, each shorter than
    the one before so that none hides another.
    """
    for place, arrow in enumerate(arrows):
        direction = np.array([arrow["x"], arrow["y"]]) / np.hypot(arrow["x"], arrow["y"])
        colour = ("black", "#D55E00", "#009E73")[min(place, 2)]
        if place == 0:
            across = 2 * reach * np.array([-direction[1], direction[0]])
            axis.plot(
                *np.column_stack([-across, across]), color="black", linestyle="--", linewidth=0.9
            )
        tip = (0.8 - 0.35 * place) * reach * direction
        axis.annotate(
            "",
            tip,
            (0, 0),
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": 1.8,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=5,
        )
        side = 1 if place == 0 else -1  # names on either side of two arrows that nearly coincide
        box = {
            "boxstyle": "round,pad=0.12",
            "facecolor": "white",
            "edgecolor": "none",
            "alpha": 0.85,
        }
        axis.annotate(
            arrow["label"],
            (tip[0] + 0.14 * side * reach, tip[1]),
            ha="left" if side > 0 else "right",
            va="center",
            color=colour,
            bbox=box,
            zorder=6,
        )
