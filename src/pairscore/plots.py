"""Pictures of a fitted model and of a plan: each function draws on a matplotlib Axes, returns it.

``pairscore.plots.ranking(model)`` makes a new figure; with ``ax=`` it draws on a panel of yours.
What is drawn are numbers that the model has: nothing is fitted here, and matplotlib is loaded only
when something is drawn. Colours are those of Okabe and Ito, which the colour-blind can distinguish.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import numpy as np

from pairscore.core.significance import normal_width
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.display import shown
from pairscore.errors import CallError, PairscoreError
from pairscore.evaluation.measures import calibration_bins
from pairscore.messages import Action, Setting
from pairscore.model.curves import score_curve
from pairscore.model.ranks import rank_items
from pairscore.planning.charts import draw_plan, quiet_frame
from pairscore.planning.planner import Plan
from pairscore.planning.text import chosen_row, plan_curves

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"
LONGEST_NAME = 40  # letters of a name, the rest of which is cut off
LONGEST_LINE = 24  # letters, after which a name goes on in a second line
USUAL_NAME = 12  # letters that a panel of the usual width has room for
WIDTH = 6.4  # of a panel, in inches
INCHES_PER_LETTER = 0.08
INCHES_PER_ROW = 0.28
INCHES_PER_CELL = 0.62
LUMINANCE = (0.2126, 0.7152, 0.0722)  # of red, green and blue (WCAG)
MIDDLE = 0.18  # luminance with equal contrast to black and to white
TWO_LINES = 7.5  # size of labels of two lines, in points
SMALLEST_LABEL = 5.5  # in points; smaller ones are left out rather than printed
LINE_HEIGHT = 1.35  # of the size of a label
ENDS = "{half} highest and {half} lowest of {n:,} items"


# -- rows with intervals ---------------------------------------------------------------------------


def coefficients(model: Any, *, level: float = 0.95, per_sd: bool = True, ax: Any = None) -> Any:
    """Coefficients with their intervals, one row for each feature (a forest plot).

    With ``per_sd`` a coefficient is times the standard deviation of its feature, so that features
    of different units can be compared; of a level of a category it is the coefficient itself. Of
    more than forty features the twenty that the summary shows are drawn.

    Parameters
    ----------
    model : RankRegression
        Fitted.
    level : float
        Of the intervals.
    per_sd : bool
        Per standard deviation of the feature, or per unit.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    _refuse_no_model(model, "summary")
    summary = model.summary()
    if summary.of_abilities:
        raise CallError(
            "the model has no features, and so no coefficients to draw",
            "use " + Action("plots.ranking") + " for its abilities",
        )
    columns = summary.coefficient_columns()
    rows = summary.shown_rows()
    unit = summary.one_sd() if per_sd else np.ones(len(columns["coef"]))
    coef = unit * np.array(columns["coef"])
    ends = np.full((len(unit), 2), np.nan)
    if model.std_errors_ is not None:
        ends = unit[:, None] * model.confidence_intervals(level)
    names = [columns["feature"][row] for row in rows]
    below = coef - ends[:, 0]
    above = ends[:, 1] - coef
    ax = _rows_with_intervals(ax, names, coef[rows], below[rows], above[rows])
    ax.axvline(0, color=GREY, linewidth=1, linestyle=":")
    what = "Change in score per standard deviation of the feature" if per_sd else "Coefficient"
    number = f": {len(rows)} of {len(unit):,} features" if len(rows) < len(unit) else ""
    ax.set(xlabel=f"{what} ({_percent(level)} interval)", title=f"Coefficients{number}")
    return ax


def ranking(
    model: Any,
    items: Any = None,
    *,
    most: int = 40,
    level: float = 0.95,
    scale: str = "link",
    ax: Any = None,
) -> Any:
    """Scores of items with their intervals, highest first (a caterpillar plot).

    Of more than ``most`` items the highest and the lowest are drawn.

    Parameters
    ----------
    model : RankRegression
        Fitted.
    items : table, optional
        As in ``model.rank``; all that were compared unless given.
    most : int
        Number of items to draw.
    level : float
        Of the intervals.
    scale : {"link", "0-100", "elo", "wins"}
        As in ``model.rank``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    table = _ranked(model, items, level=level, scale=scale)
    n = len(table["id"])
    rows, half = _both_ends(n, most)
    score, low, high = (table[name][rows] for name in ("score", "low", "high"))
    ax = _rows_with_intervals(ax, table["id"][rows], score, score - low, high - score)
    if len(rows) < n:
        ax.axhline(half - 0.5, color=GREY, linewidth=1, linestyle=":")
    unit = "" if scale == "link" else f", {scale} scale"
    title = ENDS.format(half=half, n=n) if len(rows) < n else f"{n:,} items"
    ax.set(xlabel=f"Score ({_percent(level)} interval{unit})", title=f"Ranking: {title}")
    return ax


def judges(model: Any, *, most: int = 40, level: float = 0.95, ax: Any = None) -> Any:
    """Slopes of the judges with their intervals, sharpest first; 1 is the average judge.

    Of more than ``most`` judges the sharpest and the least sharp are drawn.

    Parameters
    ----------
    model : RankRegression
        Fitted with ``judge_slopes=True``.
    most : int
        Number of judges to draw.
    level : float
        Of the intervals.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    _refuse_no_model(model)
    fitted = model.judges_
    if fitted is None:
        raise PairscoreError(
            "the model has no slopes of judges",
            "fit it with " + Setting("judge_slopes", True) + " to have them",
        )
    columns = fitted.to_columns()
    slope, error = (np.array(columns[name]) for name in ("slope", "std_error"))
    n = len(slope)
    half = normal_width(level) * error
    rows, each = _both_ends(n, most)
    names = [columns["name"][row] for row in rows]
    ax = _rows_with_intervals(ax, names, slope[rows], half[rows], half[rows])
    for at, style in ((1, ":"), (0, "-")):
        ax.axvline(at, color=GREY, linewidth=1, linestyle=style)
    words = "Slope: 1 is the average judge, 0 is a coin toss"
    title = "Judges"
    if len(rows) < n:
        ax.axhline(each - 0.5, color=GREY, linewidth=1, linestyle=":")
        title = f"Judges: {each} sharpest and {each} least sharp of {n:,}"
    ax.set(xlabel=f"{words} ({_percent(level)} interval)", title=title)
    return ax


def _both_ends(n: int, most: int) -> tuple[np.ndarray, int]:
    """The first and last of ``n`` rows, together at most ``most``, and how many at either end."""
    each = max(most // 2, 1)
    return np.arange(n) if n <= most else np.r_[:each, n - each : n], each


def _draw_open_intervals(
    ax: Any,
    rows: np.ndarray,
    values: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    is_open: np.ndarray,
) -> None:
    """Lines to the edge of the picture, which may not reach the value: a prior may be below."""
    known = np.concatenate([values, *ends])
    known = known[np.isfinite(known)]
    room = 0.1 * (np.ptp(known) or 1.0)
    edges = known.min() - room, known.max() + room
    low, high = (np.clip(end, *edges)[is_open] for end in ends)
    ax.hlines(rows[is_open], low, high, color=BLUE)
    ax.set_xlim(*edges)


def _rows_with_intervals(
    ax: Any, names: Iterable[Any], values: np.ndarray, below: np.ndarray, above: np.ndarray
) -> Any:
    """A point and an interval in each row, the first row on top."""
    labels = [_two_lines(name) for name in names]
    # long names take room beside the panel, and the title needs the panel's width
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    width = WIDTH + INCHES_PER_LETTER * max(longest - USUAL_NAME, 0)
    ax = _axes(ax, (width, 1.4 + INCHES_PER_ROW * len(values)))
    rows = np.arange(len(values))
    is_open = np.isinf(below) | np.isinf(above)
    if is_open.any():
        _draw_open_intervals(ax, rows, values, (values - below, values + above), is_open)
        below, above = (np.where(is_open, 0.0, reach) for reach in (below, above))
    ax.errorbar(values, rows, xerr=[below, above], fmt="o", color=BLUE, markersize=4)
    ax.set_yticks(rows, labels, parse_math=False)
    ax.set_ylim(len(values) - 0.5, -0.5)
    _fit_labels(ax, labels)
    return ax


def _fit_labels(ax: Any, labels: Sequence[str]) -> None:
    """Labels of rows small enough for the panel, or only of every second, third, ... row.

    A panel of the caller's may be far too low for all of them.
    """
    n_lines = max((label.count("\n") + 1 for label in labels), default=1)
    height = 72 * ax.get_position().height * ax.figure.get_size_inches()[1]  # in points
    row = height / max(len(labels), 1)
    usual = TWO_LINES if n_lines > 1 else ax.yaxis.get_ticklabels()[0].get_fontsize()
    size = min(usual, max(row / (n_lines * LINE_HEIGHT), SMALLEST_LABEL))
    ax.tick_params("y", labelsize=size)
    every = int(np.ceil(n_lines * LINE_HEIGHT * size / row - 1e-9))
    if every > 1:
        rows = np.arange(0, len(labels), every)
        ax.set_yticks(rows, labels[::every], parse_math=False)


# -- the score along a column --------------------------------------------------------------------


def curve(model: Any, name: str, *, level: float = 0.95, ax: Any = None) -> Any:
    """The score along a column with its pointwise intervals, everything else equal.

    Scores are relative to the average compared item. Ticks at the bottom are the compared items.

    Parameters
    ----------
    model : RankRegression
        Fitted to a table with this column.
    name : str
        A numeric column: a curve where it was fitted as one (``curves=``), else a straight line.
    level : float
        Of the intervals.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    _refuse_no_model(model)
    line = score_curve(model.result_, name, level)
    ax = _axes(ax, (WIDTH, 4.2))
    if np.isfinite(line.low).any():
        ax.fill_between(line.values, line.low, line.high, color=BLUE, alpha=0.18, linewidth=0)
    ax.plot(line.values, line.score, color=BLUE)
    ax.axhline(0, color=GREY, linewidth=1, linestyle=":")
    if model.comparisons_ is not None:
        column = model.feature_names_in_.tolist().index(name)
        data = model.comparisons_
        values = np.unique(data.items.values[data.compared, column])
        foot = ax.get_xaxis_transform()
        ax.plot(values, np.full(len(values), 0.015), "|", color=GREY, alpha=0.5, transform=foot)
    shape = "curve" if line.knots else "line"
    ax.set(
        xlabel=name,
        ylabel=f"Score ({_percent(level)} interval)",
        title=f"Score along {_short(name)}: the {shape}, all else equal",
    )
    return ax


# -- predicted and observed ------------------------------------------------------------------------


def calibration(model: Any, comparisons: Comparisons | None = None, *, ax: Any = None) -> Any:
    """Observed against predicted win rates of the favourites, in up to ten bins.

    Intervals are Wilson's (95 %), as if comparisons were independent.

    Parameters
    ----------
    model : RankRegression
        Fitted.
    comparisons : Comparisons, optional
        Those to predict, best ones that were not in the fit; those of the fit unless given.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    data = _comparisons_of(model) if comparisons is None else comparisons
    bins = calibration_bins(model.predict_proba(data)[:, 1], data)
    if not bins:
        raise PairscoreError("every comparison is a tie, so no win rate is known; give others.")
    ax = _axes(ax)
    share = np.array([(one.promised, one.observed) for one in bins]).T
    ends = np.array([(one.observed_low, one.observed_high) for one in bins]).T
    ax.plot([0.5, 1], [0.5, 1], color=GREY, linewidth=1, linestyle=":")
    ax.errorbar(*share, yerr=np.abs(ends - share[1]), fmt="o", color=BLUE, markersize=5)
    of = "in sample (optimistic)" if comparisons is None else "given comparisons"
    ax.set(
        xlabel="Predicted win rate of the favourite",
        ylabel="Observed win rate (95 % interval)",
        title=f"Calibration: {of}",
    )
    _in_percent(ax.xaxis)
    _in_percent(ax.yaxis)
    return ax


def win_matrix(
    model: Any,
    items: Any = None,
    *,
    comparisons: Comparisons | None = None,
    most: int = 10,
    ax: Any = None,
) -> Any:
    """How often the item of a row wins against that of a column: predicted and observed.

    Colours and the upper number of a cell are the predicted chance in percent, averaged over both
    sides; below it, wins of decided comparisons that were observed, where there were some.

    Parameters
    ----------
    model : RankRegression
        Fitted.
    items : table, optional
        Items to show; all that were compared unless given.
    comparisons : Comparisons, optional
        Those observed; those of the fit unless given.
    most : int
        How many items, the highest, are shown.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    data = _comparisons_of(model) if comparisons is None else comparisons
    names = _ranked(model, items)["id"][:most]
    rows = data.items.find_rows_by_text(np.asarray(names))
    known = rows >= 0
    if known.sum() < 2:
        raise PairscoreError(
            "fewer than two of the highest items were compared, so that no cell can be filled; name"
            " items that were compared."
        )
    names = names[known]
    rows = rows[known]
    chance = _chances(model, data, rows)
    won, number = _wins(data, rows)
    size = INCHES_PER_CELL * len(rows)
    ax = _axes(ax, (max(2 + size, 5), 1.6 + size))
    cells = ax.imshow(np.ma.masked_invalid(chance), cmap="PuOr_r", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(chance):
        if row != column:
            observed = number[row, column]
            seen = f"\n{won[row, column]:g}/{observed:g}" if observed else ""
            style = {"ha": "center", "va": "center", "fontsize": 8}
            ink = _ink_on(cells.cmap(share)[:3])
            ax.text(column, row, f"{100 * share:.0f} %{seen}", color=ink, **style)
    labels = [_short(name) for name in names]
    ax.set_xticks(range(len(rows)), labels, rotation=45, ha="right", parse_math=False)
    ax.set_yticks(range(len(rows)), labels, parse_math=False)
    ax.set(xlabel="Against", ylabel="Item", title="Predicted chance to win, and wins observed")
    ax.grid(visible=False)
    return ax


def _chances(model: Any, data: Comparisons, rows: np.ndarray) -> np.ndarray:
    """Chance (k x k) that the item of a row wins, averaged over the sides; NaN of itself."""
    k = len(rows)
    one, other = (part.ravel() for part in np.divmod(np.arange(k * k).reshape(k, k), k))
    pairs = one != other
    names = np.array(data.items.names, dtype=object)[rows]
    left, right = names[one[pairs]].tolist(), names[other[pairs]].tolist()
    plain = {name: np.zeros(len(left)) for name in model.context or ()}
    both = Comparisons.from_pairs(data.items, left, right, **plain)
    chance = np.full((k, k), np.nan)
    chance[one[pairs], other[pairs]] = model.predict_proba(both)[:, 1]
    return (chance + 1 - chance.T) / 2


def _wins(data: Comparisons, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Decided comparisons that the item of a row won against that of a column, and all (k x k)."""
    index = np.full(len(data.items), -1)
    index[rows] = np.arange(len(rows))
    left, right, outcome = index[data.left], index[data.right], data.outcome
    used = (left >= 0) & (right >= 0) & (outcome != 0)
    first = np.where(outcome > 0, left, right)[used]
    second = np.where(outcome > 0, right, left)[used]
    won = np.zeros((len(rows), len(rows)))
    np.add.at(won, (first, second), data.amount[used])
    return won, won + won.T


# -- curves ----------------------------------------------------------------------------------------


def ridge_path(model: Any, *, ax: Any = None) -> Any:
    """Held-out log-loss of every ridge that was tried, and the one that was chosen.

    Parameters
    ----------
    model : RankRegression
        Fitted with ``l2="auto"`` or ``"auto-known"``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    _refuse_no_model(model)
    curve = model.ridge_curve_
    if curve is None or not curve.n_held_out:
        raise PairscoreError(
            "the model has no held-out log-loss of ridges",
            "fit it with " + Setting("l2", "auto") + " and enough items",
        )
    ax = _axes(ax)
    ax.plot(curve.l2, curve.loss, "o-", color=BLUE, markersize=4)
    ax.axvline(curve.chosen, color=ORANGE, linewidth=1, linestyle="--")
    ax.annotate(
        f" chosen: {curve.chosen:.3g}",
        (curve.chosen, 0.98),
        xycoords=("data", "axes fraction"),
        va="top",
        color=ORANGE,
    )
    ax.set(
        xscale="log",
        xlabel="Ridge l2 (log scale)",
        ylabel="Log-loss per held-out comparison",
        title=f"Ridge: {curve.n_held_out:,.0f} tests on held-out {curve.held_out}",
    )
    return ax


def plan(plan: Plan, *, ax: Any = None) -> Any:
    """Expected error against the number of comparisons, for half, once and twice the items.

    Parameters
    ----------
    plan : Plan
        What :func:`pairscore.plan` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    Axes
    """
    if not isinstance(plan, Plan):
        raise PairscoreError(
            f"plots.plan takes what pairscore.plan returns, and this is {type(plan).__name__}."
        )
    ax = _axes(ax)
    draw_plan(ax, plan_curves(plan), chosen_row(plan), target=plan.target and plan.target[1])
    return ax


# -- what they share -------------------------------------------------------------------------------


def _axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """The panel to draw on: the caller's, or that of a new figure of ``size`` inches."""
    if ax is None:
        from matplotlib.pyplot import subplots

        ax = subplots(figsize=size or (WIDTH, 4.8), layout="constrained")[1]
    if not hasattr(ax, "errorbar"):
        raise CallError(
            Setting("ax") + f" is {shown(ax)}",
            "give one Axes of matplotlib, such as the second of what plt.subplots returns, or none",
        )
    quiet_frame(ax)
    return ax


def _ranked(model: Any, items: Any, **asked: Any) -> dict[str, np.ndarray]:
    """The columns of ``model.rank``, highest first; without ``items``, of the compared ones."""
    _refuse_no_model(model)
    if items is None and len(model.coef_):
        data = _comparisons_of(model)
        items = data.items.take(np.flatnonzero(data.compared))
    table: Items = model.items(items)
    return rank_items(model.result_, replace(table, backend=dict), **asked)


def _refuse_no_model(model: Any, needed: str = "undetermined_contrasts") -> None:
    """What is drawn must be in a model; pipelines have a ``summary`` too, and not the rest."""
    if not hasattr(model, needed):
        raise CallError(
            f"plots take a fitted RankRegression, and this is {type(model).__name__}",
            "of a pipeline give the last step",
        )


def _comparisons_of(model: Any) -> Comparisons:
    _refuse_no_model(model)
    if model.comparisons_ is None:
        raise PairscoreError(
            "the comparisons of the fit are not in the model, which comes from a file or was fitted"
            " to differences",
            ["give items and comparisons", "save it with " + Setting("data", True)],
        )
    return model.comparisons_


def _ink_on(colour: Sequence[float]) -> str:
    """Black or white, whichever is easier to read on a colour (red, green, blue from 0 to 1)."""
    luminance = np.asarray(LUMINANCE) @ np.power(colour, 2.2)
    return "black" if luminance > MIDDLE else "white"


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _two_lines(name: Any) -> str:
    """A name in at most two lines."""
    lines = wrap(_short(name), LONGEST_LINE) or [""]
    text = _short(name)
    return "\n".join(lines if len(lines) < 3 else (text[:LONGEST_LINE], text[LONGEST_LINE:]))


def _percent(level: float) -> str:
    return f"{100 * level:g} %"


def _in_percent(axis: Any) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
