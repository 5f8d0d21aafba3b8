"""Charts of a report as inline SVG: facts in, SVG text out.

Colours and fonts come from the classes in ``report.css``, so that light and dark both work. Names
and tooltips are escaped here; the page takes a chart as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pairscore.report.words import (
    from_to,
    interval,
    number,
    number_of,
    percent,
    shorten_names,
    signed,
    text_width,
    wins,
)

if TYPE_CHECKING:
    from pairscore.estimators.ridge_choice import RidgeCurve
    from pairscore.evaluation.measures import CalibrationBin
    from pairscore.model.curves import ScoreCurve
    from pairscore.report.facts import Coefficient, Effect, TieRate
    from pairscore.report.held_out import Trial, WrongShare
    from pairscore.report.items import Bar, RankedItem
    from pairscore.report.judges import Judge
    from pairscore.report.more_comparisons import Prospect

WIDTH, BOTTOM, TOP = 440, 300, 12  # of a drawing; the page scales it to its card
LOW_BOTTOM = 190  # of the smaller charts
AXIS_ROOM = 42  # for values and title below the bottom
LARGEST_TEXT = 14.5  # font size on a telephone, where texts are largest relative to the drawing
ROW, TALL_ROW = 21, 34  # height of a row of a chart with names on the left
NAME_WIDTH, TAG_WIDTH = 15.0, 12.0  # of a name before a row and next to a dot, in font sizes
MOST_DOTS = 1000  # with a tooltip
MOST_TAGS = 5  # of the largest residuals
TAG_HEIGHT = 16
TAG_SHIFTS = (0, 6, 12, 18, 26, 34, 44, 56, 70, 90)  # up or down from its dot, the nearest first
ENDS = 12  # items at either end of the ranking
ITEM_EFFECTS, JUDGES = 8, 15  # at either end
MOST_EFFECTS = 30
PROSPECTS = ("now", "twice", "four times")
OWN_PROSPECT = "now, by intervals"
Row = TypeVar("Row")


# -- axes ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """Where values lie on the drawing: ``low`` at ``start`` and ``high`` at ``end``.

    An open end of an interval is at the end of the axis.
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        value = float(np.clip(value, self.low, self.high)) if np.isinf(value) else value
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, number: int = 5, whole: bool = False) -> list[float]:
        """Round values within the axis, about so many; whole ones of counts and ranks."""
        raw = (self.high - self.low) / number
        power = 10.0 ** np.floor(np.log10(raw))
        step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * 0.75)
        step = max(step, 1.0) if whole else step
        first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
        return [float(k * step) for k in range(int(first), int(last) + 1)]


def axis_over(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis that holds all finite values, with a little room."""
    known = [float(value) for value in values if np.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(low - room, high + room, start, end)


def score_axis(items: Sequence[RankedItem]) -> Axis:
    """The axis of the small bars in the ranking's table, from 0 to 100 % of their cell."""
    ends = [end for item in items for end in (item.score, item.low, item.high) if np.isfinite(end)]
    return Axis(min(ends), max(ends) if max(ends) > min(ends) else min(ends) + 1.0, 0.0, 100.0)


def bottom_axis(
    x: Axis,
    bottom: float,
    top: float,
    title: str,
    as_percent: bool = False,
    ticks: int = 5,
    whole: bool = False,
) -> list[str]:
    """Grid lines with their values below, and what they are."""
    parts = []
    for tick in x.ticks(ticks, whole):
        parts.append(line(x(tick), top, x(tick), bottom, "grid"))
        parts.append(text(x(tick), bottom + 16, tick_label(tick, as_percent)))
    middle = min((x.start + x.end) / 2, WIDTH - LARGEST_TEXT * text_width(title) / 2)
    return [*parts, text(middle, bottom + 34, title)]


def left_axis(y: Axis, x: Axis, as_percent: bool = False, whole: bool = False) -> list[str]:
    """Grid lines across ``x`` with their values to the left."""
    parts = []
    for tick in y.ticks(whole=whole):
        parts.append(line(x.start, y(tick), x.end, y(tick), "grid"))
        parts.append(text(x.start - 6, y(tick) + 4, tick_label(tick, as_percent), "end"))
    return parts


def tick_label(value: float, as_percent: bool = False) -> str:
    """A value of an axis in few digits."""
    if as_percent:
        return f"{100 * value:.4g} %"
    return f"{value:,.10g}" if abs(value) >= 1e3 else f"{round(value, 12):.4g}"


def brief(value: float) -> str:
    """A count in few letters.

    >>> brief(999), brief(12345), brief(2.5e6)
    ('999', '12k', '2.5M')
    """
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1e3:.0f}k" if value >= 1e4 else f"{value:,.4g}"


# -- pieces of a drawing ---------------------------------------------------------------------------


def drawing(bottom: float, label: str, parts: Iterable[str]) -> str:
    """One chart, with a name for screen readers."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {bottom + AXIS_ROOM:.0f}" role="img"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def bar(left: float, right: float, top: float, tip: str = "", bottom: float = BOTTOM) -> str:
    """A bar of a histogram that stands on the bottom."""
    size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect class="bar" x="{left:.1f}" y="{top:.1f}" {size}>{_title(tip)}</rect>'


def dot(x: float, y: float, kind: str, radius: float = 4, tip: str = "") -> str:
    """A circle, with a tooltip if there is something to say."""
    at = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
    return f'<circle class="{kind}" {at}>{_title(tip)}</circle>'


def _title(tip: str) -> str:
    return f"<title>{escape(tip)}</title>" if tip else ""


def text(x: float, y: float, words: str, anchor: str = "middle", kind: str = "") -> str:
    """Text at its anchor."""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(words)}</text>'


def group(tip: str, *parts: str) -> str:
    """Parts that share a tooltip."""
    return f"<g>{_title(tip)}{''.join(parts)}</g>"


def curve(x: Iterable[float], y: Iterable[float]) -> list[str]:
    """Points joined by lines."""
    points = zip(x, y, strict=True)
    return [line(*start, *end, "interval") for start, end in pairwise(points)]


# -- values with intervals, one below the other ----------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """A named value with its interval (NaN where there is none) and a tooltip."""

    name: str
    value: float
    low: float
    high: float
    tip: str


def interval_chart(
    marks: Sequence[Mark | None], label: str, title: str, reference: float, as_percent: bool = False
) -> str:
    """Values with their intervals, one below the other, and a line at ``reference``.

    None leaves a gap.
    """
    bottom, known = rows_bottom(len(marks)), [mark for mark in marks if mark]
    names = iter(shorten_names([mark.name for mark in known], NAME_WIDTH))
    width = min(max(text_width(mark.name) for mark in known), NAME_WIDTH)
    name_end = LARGEST_TEXT * width + 2
    values = [value for mark in known for value in (mark.value, mark.low, mark.high)]
    x = axis_over([*values, reference], name_end + 8, WIDTH - 12)
    parts = bottom_axis(x, bottom, 4, title, as_percent, 4)
    parts.append(line(x(reference), 4, x(reference), bottom, "zero"))
    for row, mark in enumerate(marks):
        y = 8 + ROW * (row + 0.5)
        parts.append(text(name_end, y + 4, next(names) if mark else "⋮", "end"))
        if mark:
            has_interval = not (np.isnan(mark.low) or np.isnan(mark.high))
            reach = line(x(mark.low), y, x(mark.high), y, "interval") if has_interval else ""
            parts.append(group(mark.tip, reach, dot(x(mark.value), y, "accent")))
    return drawing(bottom, label, parts)


def rows_bottom(number: int) -> float:
    """Where so many rows of a chart with names on the left end."""
    return 8 + ROW * number


def both_ends(
    rows: Sequence[Row], each: int, make_mark: Callable[[Row], Mark]
) -> list[Mark | None]:
    """Marks of the first and the last rows with a gap between them, or of all if they are few."""
    if len(rows) <= 2 * each:
        return [make_mark(row) for row in rows]
    return [*map(make_mark, rows[:each]), None, *map(make_mark, rows[-each:])]


def item_chart(items: Sequence[RankedItem], average: float) -> str:
    """Scores of the items at both ends, as a caterpillar."""
    label = "Scores of the first and the last items with their intervals"
    return interval_chart(both_ends(items, ENDS, _item_mark), label, "score", average)


def _item_mark(item: RankedItem) -> Mark:
    tip = (
        f"{item.name}: score {number(item.score)} ({interval(item.low, item.high, '.4g')}), rank"
        f" {item.rank} ({from_to(item.rank_low, item.rank_high)})"
    )
    return Mark(item.name, item.score, item.low, item.high, tip)


def coefficient_chart(coefficients: Sequence[Coefficient], title: str) -> str:
    """Coefficients as a forest, per standard deviation so that features share an axis."""
    marks = [_coefficient_mark(coefficient) for coefficient in coefficients]
    return interval_chart(marks, "Coefficients with their intervals", title, 0.0)


def _coefficient_mark(one: Coefficient) -> Mark:
    more = "an item wins" if one.is_level else "one standard deviation more wins"
    tip = (
        f"{one.feature}: {number(one.coef)} ({interval(one.low, one.high, '.4g')})"
        f"{'' if one.is_level else ' per unit'}; {more} {wins(one.wins_of_100)} of 100"
    )
    return Mark(one.feature, one.coef * one.sd, one.low * one.sd, one.high * one.sd, tip)


def score_curve_chart(one: ScoreCurve) -> str:
    """The score along a column, with a band of its pointwise intervals."""
    ends = [*one.score, *one.low, *one.high, 0.0]
    x, y = axis_over(one.values, 52, WIDTH - 12), axis_over(ends, LOW_BOTTOM, 10)
    parts = left_axis(y, x) + bottom_axis(x, LOW_BOTTOM, 10, shorten_names([one.name], 40)[0])
    parts.append(line(x.start, y(0.0), x.end, y(0.0), "zero"))
    if np.isfinite([one.low, one.high]).all():
        there = zip(one.values, one.high, strict=True)
        back = zip(one.values[::-1], one.low[::-1], strict=True)
        points = " ".join(f"{x(value):.1f},{y(end):.1f}" for value, end in (*there, *back))
        parts.append(f'<polygon class="band" points="{points}"/>')
    points = " ".join(f"{x(v):.1f},{y(s):.1f}" for v, s in zip(one.values, one.score, strict=True))
    parts.append(f'<polyline class="curve" points="{points}"/>')
    return drawing(LOW_BOTTOM, f"Score along {one.name} with its intervals", parts)


def item_effect_chart(effects: Sequence[Effect]) -> str:
    """The largest and the smallest effects of items."""
    label = "What items have beyond their features, with intervals"
    marks = both_ends(effects, ITEM_EFFECTS, _effect_mark)
    return interval_chart(marks, label, "added to the score", 0.0)


def comparison_effect_chart(effects: Sequence[Effect]) -> str:
    """Effects of context and sides."""
    label = "Effects of the comparison with their intervals"
    marks = [_effect_mark(effect) for effect in effects[:MOST_EFFECTS]]
    return interval_chart(marks, label, "on the scale of score differences", 0.0)


def _effect_mark(one: Effect) -> Mark:
    tip = f"{one.name}: {number(one.value)} ({interval(one.low, one.high, '.4g')})"
    return Mark(one.name, one.value, one.low, one.high, tip)


def wrong_chart(shares: Sequence[tuple[str, WrongShare]]) -> str:
    """Shares of wrong predictions; a coin toss is wrong half the time."""
    label, title = "Share of wrong predictions", "wrong predictions (line: a coin toss)"
    rows = [(name, one.share, one.low, one.high) for name, one in shares]
    marks = [Mark(*row, f"{row[0]}: {percent(row[1])}") for row in rows]
    return interval_chart(marks, label, title, 0.5, as_percent=True)


def judge_chart(judges: Sequence[Judge]) -> str:
    """Slopes of the sharpest and the least sharp judges."""
    label, title = "Sharpness of the judges with its interval", "1 is the average judge, 0 a coin"
    return interval_chart(both_ends(judges, JUDGES, _judge_mark), label, title, 1.0)


def _judge_mark(judge: Judge) -> Mark:
    tip = (
        f"{judge.name}: slope {judge.slope:.2f}, {percent(judge.noise)} of comparisons"
        f" contradict the score, {judge.n_comparisons:,.6g} comparisons"
    )
    return Mark(judge.name, judge.slope, judge.low, judge.high, tip)


def prospect_chart(
    prospects: Sequence[Prospect], label: str, title: str, by_intervals: float = np.nan
) -> str:
    """A share of pairs with the comparisons of now, twice and four times as many.

    Above them the share that the fit's own intervals say, where that is another one.
    """
    marks = []
    if np.isfinite(by_intervals):
        tip = f"{OWN_PROSPECT}: {percent(by_intervals)}"
        marks.append(Mark(OWN_PROSPECT, by_intervals, np.nan, np.nan, tip))
    for name, one in zip(PROSPECTS, prospects, strict=True):
        span = f" ({percent(one.low)} to {percent(one.high)})" if np.isfinite(one.low) else ""
        tip = f"{one.n_comparisons:,.10g}: {percent(one.misordered)}{span}"
        marks.append(Mark(name, one.misordered, one.low, one.high, tip))
    return interval_chart(marks, label, title, 0.0, as_percent=True)


# -- other charts ----------------------------------------------------------------------------------


def order_chart(items: Sequence[RankedItem], average: float, top: str = "highest") -> str:
    """Score and interval of all items against their rank, of which the first means ``top``.

    As high as the chart of both ends, which it is next to.
    """
    bottom = max(rows_bottom(min(len(items), 2 * ENDS + 1)), LOW_BOTTOM)
    n_points = min(len(items), 2 * MOST_DOTS)
    rows = np.unique(np.linspace(0, len(items) - 1, n_points).round().astype(int)).tolist()
    values = [
        value for row in rows for value in (items[row].score, items[row].low, items[row].high)
    ]
    x = Axis(1, max(len(items), 2), 48, WIDTH - 26)
    y = axis_over([*values, average], bottom, TOP)
    points = [(x(row + 1), items[row]) for row in rows]
    intervals = "".join(
        f"M{across:.1f} {y(item.low):.1f}V{y(item.high):.1f}"
        for across, item in points
        if not np.isnan(item.low)
    )
    scores = " ".join(f"{across:.1f},{y(item.score):.1f}" for across, item in points)
    parts = [
        *bottom_axis(x, bottom, TOP, f"rank (1 = {top})", whole=True),
        *left_axis(y, x),
        line(x.start, y(average), x.end, y(average), "zero"),
        f'<path class="interval thin" d="{intervals}"/>',
        f'<polyline class="curve" points="{scores}"/>',
    ]
    return drawing(bottom, "Score of every item against its rank", parts)


def calibration_chart(
    in_sample: Sequence[CalibrationBin], held_out: Sequence[CalibrationBin]
) -> str:
    """Predicted against observed shares, with the number of comparisons of each bin below."""
    lowest = min([0.45, *(one.observed_low for one in (*in_sample, *held_out))])
    x, y = Axis(0.49, 1.01, 54, WIDTH - 18), Axis(lowest - 0.02, 1.02, BOTTOM - 44, TOP)
    parts = bottom_axis(x, BOTTOM, TOP, "predicted share of the favourite", as_percent=True)
    parts += left_axis(y, x, as_percent=True)
    parts.append(line(x(0.5), y(0.5), x(1.0), y(1.0), "zero"))
    most = max([one.number for one in in_sample], default=1.0)
    for one in in_sample:
        top = BOTTOM - 22 * one.number / most
        parts.append(bar(x(one.low) + 1, x(one.high) - 1, top))
        parts.append(text(x((one.low + one.high) / 2), top - 3, brief(one.number), kind="small"))
    for what, bins, kind, shift in (
        ("in sample", in_sample, "contrast", -3.0),
        ("held out", held_out, "accent", 3.0),
    ):
        for one in bins:
            tip = (
                f"{what}: predicted {percent(one.promised)}, observed {percent(one.observed)}"
                f" ({percent(one.observed_low)} to {percent(one.observed_high)})"
                f" of {one.number:,.6g}"
            )
            a, low, high = x(one.promised) + shift, y(one.observed_low), y(one.observed_high)
            interval = line(a, low, a, high, f"interval {kind}-line")
            parts.append(group(tip, interval, dot(a, y(one.observed), kind)))
    return drawing(BOTTOM, "Predicted against observed win rate", parts)


def residual_chart(items: Sequence[RankedItem]) -> str:
    """Standardised residual against score of compared items, the largest first and named."""
    items = items[:MOST_DOTS]
    x = axis_over([item.score for item in items], 44, WIDTH - 10)
    y = axis_over([*(item.residual for item in items), -2.5, 2.5], BOTTOM, TOP)
    parts = bottom_axis(x, BOTTOM, TOP, "score") + left_axis(y, x)
    for level, kind in ((0, "zero"), (-2, "limit"), (2, "limit")):
        parts.append(line(x.start, y(level), x.end, y(level), kind))
    for item in items:
        tip = (
            f"{item.name}: {item.net_wins:+,.6g} net wins, {signed(item.expected, 1)} expected,"
            f" residual {signed(item.residual, 2)}"
        )
        parts.append(dot(x(item.score), y(item.residual), "accent faint", 3, tip))
    names = shorten_names([item.name for item in items[:MOST_TAGS]], TAG_WIDTH)
    dots = [(x(item.score), y(item.residual)) for item in items]
    frame = Box(x.start, TOP, WIDTH, BOTTOM)
    tags = place_tags(names, dots, (y(-2), y(2)), frame)
    for name, at, tag in zip(names, dots, tags, strict=False):
        middle = (tag.top + tag.bottom) / 2
        near = min(max(at[0], tag.left), tag.right)
        if abs(middle - at[1]) > TAG_HEIGHT:
            end = tag.bottom if middle < at[1] else tag.top
            parts.append(line(*at, near, end, "leader"))
        parts.append(text((tag.left + tag.right) / 2, middle + 5, name, kind="tag"))
    return drawing(BOTTOM, "Residual of every compared item", parts)


@dataclass(frozen=True)
class Box:
    """A rectangle on a drawing, whose ``top`` is less than its ``bottom``."""

    left: float
    top: float
    right: float
    bottom: float

    def lies_over(self, other: Box) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and min(self.bottom, other.bottom) - max(self.top, other.top) > 0

    def is_within(self, frame: Box) -> bool:
        sideways = frame.left <= self.left and self.right <= frame.right
        return sideways and frame.top <= self.top and self.bottom <= frame.bottom


def place_tags(
    names: Sequence[str],
    dots: Sequence[tuple[float, float]],
    lines: Sequence[float],
    frame: Box,
) -> list[Box]:
    """A place for each name, as near to its dot as there is room in the frame.

    ``dots`` may be more than names, which belong to the first. Names lie neither on each other, nor
    on a dot, nor on a horizontal line at the height of one of ``lines``. Where there is no such
    place, they lie on no named dot, and else next to their own.
    """
    taken = [Box(across - 5, height - 5, across + 5, height + 5) for across, height in dots]
    taken += [Box(frame.left, height - 1, frame.right, height + 1) for height in lines]
    named = [*taken[: len(names)], *taken[len(dots) :]]
    placed: list[Box] = []
    for name, (across, height) in zip(names, dots, strict=False):
        width = LARGEST_TEXT * text_width(name)
        boxes = [
            Box(left, middle - TAG_HEIGHT / 2, left + width, middle + TAG_HEIGHT / 2)
            for shift in TAG_SHIFTS
            for middle in (height - shift, height + shift)
            for left in (across + 7, across - 7 - width, across - width / 2)
        ]
        free = (
            box
            for others in (taken, named)
            for box in boxes
            if box.is_within(frame) and not any(map(box.lies_over, (*others, *placed)))
        )
        placed.append(next(free, boxes[0]))
    return placed


def exposure_chart(bars: Sequence[Bar]) -> str:
    """How many items were compared how often."""
    most = max(1, *(one.items for one in bars))
    x = Axis(bars[0].low - 0.5, bars[-1].high + 0.5, 44, WIDTH - 10)
    y = Axis(0, 1.05 * most, LOW_BOTTOM, TOP)
    parts = left_axis(y, x, whole=True)
    parts.append(text((44 + WIDTH) / 2, LOW_BOTTOM + 34, "comparisons of an item"))
    whole = [tick for tick in x.ticks(whole=True) if tick >= 0]
    parts += [text(x(tick), LOW_BOTTOM + 16, tick_label(tick)) for tick in whole]
    for one in bars:
        tip = f"{number_of(one.items, 'item')} compared {from_to(one.low, one.high)} times"
        left, right = x(one.low - 0.5) + 0.5, x(one.high + 0.5) - 0.5
        parts.append(bar(left, right, y(one.items), tip, LOW_BOTTOM))
    parts.append(line(x.start, LOW_BOTTOM, x.end, LOW_BOTTOM, "zero"))
    return drawing(LOW_BOTTOM, "Number of items by number of comparisons", parts)


def accuracy_chart(trials: Sequence[Trial], method: str) -> str:
    """Accuracy of each method in sample, held out, and in each fold; a coin is at 50 %."""
    bottom = 8 + TALL_ROW * len(trials)
    shares = [
        share for trial in trials for share in (trial.in_sample, trial.held_out, *trial.folds)
    ]
    x = axis_over([0.5, *shares], 84, WIDTH - 16)
    parts = bottom_axis(x, bottom, 4, "decided comparisons predicted correctly", as_percent=True)
    parts.append(line(x(0.5), 4, x(0.5), bottom, "zero"))
    for row, trial in enumerate(trials):
        y = 8 + TALL_ROW * (row + 0.5)
        parts.append(text(76, y + 4, trial.method, "end", "tag" if trial.method == method else ""))
        dots = [(f"fold {k}", share, "accent faint", 3.0) for k, share in enumerate(trial.folds, 1)]
        dots.append(("in sample", trial.in_sample, "contrast", 5.5))
        dots.append(("held out", trial.held_out, "accent", 5.5))
        parts += [
            dot(x(share), y, kind, radius, f"{trial.method}, {what}: {percent(share)}")
            for what, share, kind, radius in dots
            if np.isfinite(share)
        ]
    return drawing(bottom, "Share of comparisons predicted correctly, by method", parts)


def tie_chart(ties: Sequence[TieRate]) -> str:
    """Observed ties as dots, expected ties as a line, against the score difference."""
    middles = [(rate.low + rate.high) / 2 for rate in ties]
    shares = [share for rate in ties for share in (rate.expected, rate.observed, 0.0)]
    x, y = axis_over([*middles, 0.0], 52, WIDTH - 12), axis_over(shares, LOW_BOTTOM, 10)
    parts = left_axis(y, x, as_percent=True)
    parts += bottom_axis(x, LOW_BOTTOM, 10, "score difference, without sign")
    parts += curve(map(x, middles), [y(rate.expected) for rate in ties])
    for middle, rate in zip(middles, ties, strict=True):
        tip = (
            f"differences of {rate.low:.2f} to {rate.high:.2f}: {percent(rate.observed)} of"
            f" {rate.number:,.6g} tied, {percent(rate.expected)} expected"
        )
        parts.append(dot(x(middle), y(rate.observed), "accent", tip=tip))
    return drawing(LOW_BOTTOM, "Share of ties by score difference", parts)


def ridge_chart(ridge: RidgeCurve) -> str:
    """Held-out log-loss of every ridge that was tried, with a dot at the one that was chosen."""
    powers, loss = np.log10(ridge.l2), float(ridge.loss[ridge.place])
    # a weak ridge can lose so much that the rest looks flat
    usual = ridge.loss <= max(np.quantile(ridge.loss, 0.9), loss)
    x, y = axis_over(powers, 52, WIDTH - 12), axis_over(ridge.loss[usual], LOW_BOTTOM, 10)
    parts = left_axis(y, x) + bottom_axis(x, LOW_BOTTOM, 10, "ridge, as a power of ten")
    parts += curve(map(x, powers[usual]), map(y, ridge.loss[usual]))
    tip = f"l2 = {ridge.chosen:.4g}: log-loss {loss:.4f}"
    parts.append(dot(x(float(np.log10(ridge.chosen))), y(loss), "accent", tip=tip))
    return drawing(LOW_BOTTOM, "Held-out log-loss by ridge", parts)
