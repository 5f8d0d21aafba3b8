"""What the panels of the figures are drawn with: curves, points, arrows, legends and ticks.

Every function draws rows on the axis that it is given, and computes nothing but means.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pairscore.paper.experiments import TARGET
from pairscore.paper.rows import Row, curves, levels, select
from pairscore.planning.charts import quiet_frame

# colours of Okabe and Ito; a marker each, for readers and printers without colour
LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))
METHOD_LOOK = {
    "split": LOOKS[0],
    "pooled": ("#E69F00", "s"),
    "paired": LOOKS[2],
    "mle": ("#D55E00", "D"),
}
OUTCOME_LOOK = {1: ("Y = +1", *LOOKS[0]), -1: ("Y = −1", "#E69F00", "x")}
ARROW_COLOURS = ("black", "#D55E00", "#009E73")
NAMES = {
    "n_items": "number of compared items N",
    "n_comparisons": "number of comparisons M",
    "n_features": "number of features d",
    "min_eigenvalue": "smallest eigenvalue $λ_d$ of the covariance",
    "norm_error": "error ‖β̂ − c₁β‖",
    "angle": "angle ∠(β̂, β) in radians",
    "n_needed": f"N needed for angle {TARGET:g}",
}
SIGNS = {"n_features": "d", "min_eigenvalue": "$λ_d$", "noise": "$p_e$"}
PREDICTED: dict[str, Any] = {
    "color": "#222222",
    "linestyle": (0, (1, 1.6)),
    "linewidth": 1.1,
    "zorder": 4,
    "label": "predicted",
}


# -- curves ----------------------------------------------------------------------------------------


def draw_errors(
    axis: Any,
    rows: Sequence[Row],
    predicted: Sequence[Row],
    variable: str,
    measure: str,
    by: str = "n_features",
) -> None:
    """Draw simulated curves with their shade and the predicted ones over them.

    Where only M grows, a dashed line marks N log N.
    """
    for index, (level, curve) in enumerate(curves(rows, by, variable, measure).items()):
        spread = np.nan_to_num(curve.sd)
        low = np.maximum(curve.mean - spread, 0.2 * curve.mean)
        style = line_style(by, level, index)
        _shaded_line(axis, curve.x, curve.mean, low, curve.mean + spread, style)
    finite = [row for row in predicted if np.isfinite(row["n_comparisons"])]
    _draw_predicted(axis, finite, by, variable, measure)
    if variable == "n_comparisons":
        n = rows[0]["n_items"]
        dashed = {"color": "black", "linestyle": "--", "linewidth": 1.1}
        axis.axvline(n * np.log(n), **dashed, label="M = N log N")
    axis.set(xscale="log", yscale="log")
    quiet_frame(axis)
    plain_numbers(axis.xaxis, (1,))
    plain_numbers(axis.yaxis, (1, 2, 5))


def draw_needs(
    axis: Any, rows: Sequence[Row], predicted: Sequence[Row], variable: str, by: str
) -> None:
    """Draw the N needed with its interval, and the predicted N."""
    for index, level in enumerate(levels(rows, by)):
        mine = sorted(select(rows, **{by: level}), key=lambda row: row[variable])
        x, y, low, high = (
            np.array([row[name] for row in mine], dtype=float)
            for name in (variable, "n_needed", "low", "high")
        )
        low, high = (np.where(np.isnan(limit), y, limit) for limit in (low, high))
        _shaded_line(axis, x, y, low, high, line_style(by, level, index))
    _draw_predicted(axis, predicted, by, variable, "n_needed")


def _shaded_line(
    axis: Any,
    x: np.ndarray,
    y: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    style: dict[str, Any],
) -> None:
    axis.plot(x, y, **style)
    axis.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)


def _draw_predicted(axis: Any, rows: Sequence[Row], by: str, variable: str, measure: str) -> None:
    for curve in curves(rows, by, variable, measure).values():
        axis.plot(curve.x, curve.mean, **PREDICTED)


def line_style(by: str, level: Any, index: int = 0) -> dict[str, Any]:
    """Colour, marker and name of a curve."""
    colour, marker = METHOD_LOOK[level] if by == "method" else LOOKS[index % len(LOOKS)]
    name = level if by == "method" else f"{SIGNS[by]} = {_value(level)}"
    return {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.4, "label": name}


def fixed_settings(rows: Sequence[Row], *names: str) -> str:
    """What does not vary on a panel, in signs."""
    return ", ".join(f"{SIGNS[name]} = {_value(rows[0][name])}" for name in names)


def _value(value: float) -> str:
    """1/200 for 0.005."""
    is_fraction = 0 < value < 0.05 and np.isclose(1 / value, round(1 / value))
    return f"1/{1 / value:.0f}" if is_fraction else f"{value:g}"


# -- figure 10 -------------------------------------------------------------------------------------


def draw_scenarios(axis: Any, rows: Sequence[Row]) -> None:
    """Draw the mean angle of each method in each scenario, with its standard error."""
    scenarios, methods = levels(rows, "scenario"), levels(rows, "method")
    for index, method in enumerate(methods):
        colour, marker = METHOD_LOOK.get(method, LOOKS[index % len(LOOKS)])
        groups = [
            np.array([row["angle"] for row in select(rows, method=method, scenario=scenario)])
            for scenario in scenarios
        ]
        axis.errorbar(
            [group.mean() if len(group) else np.nan for group in groups],
            np.arange(len(scenarios)) + 0.15 * (index - (len(methods) - 1) / 2),
            xerr=[_std_error(group) for group in groups],
            fmt=marker,
            color=colour,
            markersize=6,
            elinewidth=1.3,
            capsize=2,
            label=method,
        )


def _std_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


# -- figure 1 --------------------------------------------------------------------------------------


def draw_points(axis: Any, points: Sequence[Row]) -> None:
    """Draw points by the outcome that is their label: -1 or 1."""
    for outcome, (name, colour, marker) in OUTCOME_LOOK.items():
        mine = [(row["x"], row["y"]) for row in points if float(row["label"]) == outcome]
        if mine:
            axis.plot(
                *np.array(mine).T,
                marker,
                color=colour,
                markersize=3.5,
                alpha=0.75,
                linestyle="none",
                markeredgewidth=0.9,
                label=name,
            )


def draw_arrows(axis: Any, arrows: Sequence[Row], size: float) -> None:
    """Draw directions from the origin on an axis from ``-size`` to ``size``.

    The first is the truth, with the line across it; each is shorter than the one before, so that
    none hides another.
    """
    for index, arrow in enumerate(arrows):
        direction = np.array([arrow["x"], arrow["y"]]) / np.hypot(arrow["x"], arrow["y"])
        colour = ARROW_COLOURS[min(index, 2)]
        if index == 0:
            across = 2 * size * np.array([-direction[1], direction[0]])
            dashed = {"color": "black", "linestyle": "--", "linewidth": 0.9}
            axis.plot(*np.column_stack([-across, across]), **dashed)
        tip = (0.8 - 0.35 * index) * size * direction
        shape = {"arrowstyle": "-|>", "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
        axis.annotate("", tip, (0, 0), arrowprops={**shape, "color": colour}, zorder=5)
        side = 1 if index == 0 else -1  # names on either side of two arrows that nearly coincide
        axis.annotate(
            arrow["label"],
            (tip[0] + 0.14 * side * size, tip[1]),
            ha="left" if side > 0 else "right",
            va="center",
            color=colour,
            bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.85},
            zorder=6,
        )


# -- around the panels -----------------------------------------------------------------------------


def legend_above(figure: Any) -> None:
    """One legend for all panels, where it covers nothing."""
    handles: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    for label in ("predicted", "M = N log N"):  # these last
        if label in handles:
            handles[label] = handles.pop(label)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper center",
        ncols=min(len(handles), 5),
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
