"""Charts of a report as inline SVG: values in, text out.

Colours come from the page's style, so that light and dark both work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from pairscore.report.facts import Bar, Bin, RankedItem
from pairscore.report.trials import Trial
from pairscore.report.words import from_to, number_of, short_names, signed, width_of

WIDTH = 440  # of the drawing; the page scales it to its card
# the font size on a telephone, where texts are largest beside their drawing
LARGEST_TEXT, ROW = 14.5, 21
NAME_ROOM, TAG_ROOM = 15.0, 12.0  # of a name before a row and beside a dot, in font sizes
MOST_MARKS = 1000  # dots with a tooltip
NAMED = 5


@dataclass(frozen=True)
class Mark:
    """A named value with its interval (NaN where there is none) and a tooltip."""

    name: str
    value: float
    low: float
    high: float
    tip: str


@dataclass(frozen=True)
class Axis:
    """Where values lie on the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, number: int = 5) -> list[float]:
        """Round values within the axis, about so many."""
        raw = (self.high - self.low) / number
        power = 10.0 ** np.floor(np.log10(raw))
        step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= raw * 0.75)
        return [
            float(place * step)
            for place in range(
                int(np.ceil(self.low / step - 1e-9)), int(np.floor(self.high / step + 1e-9)) + 1
            )
        ]


def axis_over(values: Iterable[float], start: float, end: float) -> Axis:
    """An axis that holds all finite values, with a little room."""
    known = [float(value) for value in values if np.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(low - room, high + room, start, end)


def drawing(height: float, label: str, parts: Iterable[str]) -> str:
    """One chart, with a name for those who hear the page."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def dot(x: float, y: float, kind: str, radius: float = 4, tip: str = "") -> str:
    """A circle, with a tooltip if there is something to say."""
    title = f"><title>{escape(tip)}</title></circle>" if tip else "/>"
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{title}'


def words(x: float, y: float, text: str, anchor: str = "middle", kind: str = "") -> str:
    """Text beside its anchor."""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(text)}</text>'


def number(value: float, percent: bool = False) -> str:
    """A tick in few digits."""
    return (
        f"{100 * value:.4g} %"
        if percent
        else f"{value:,.10g}"
        if abs(value) >= 1e4
        else f"{round(value, 12):.4g}"
    )


def bottom_axis(
    x: Axis, y: float, top: float, title: str, percent: bool = False, ticks: int = 5
) -> list[str]:
    """Grid lines with their values below, and what they are."""
    parts = [
        line(x(tick), top, x(tick), y, "grid") + words(x(tick), y + 16, number(tick, percent))
        for tick in x.ticks(ticks)
    ]
    middle = min((x.start + x.end) / 2, WIDTH - LARGEST_TEXT * width_of(title) / 2)
    return [*parts, words(middle, y + 34, title, kind="name")]


def left_axis(y: Axis, x: float, right: float, percent: bool = False, ticks: int = 5) -> list[str]:
    """Grid lines with their values to the left."""
    return [
        line(x, y(tick), right, y(tick), "grid")
        + words(x - 6, y(tick) + 4, number(tick, percent), "end")
        for tick in y.ticks(ticks)
    ]


def interval_chart(
    marks: Sequence[Mark | None],
    label: str,
    title: str,
    reference: float | None = None,
    percent: bool = False,
) -> str:
    """Values with intervals, one below the other; None leaves a gap. A forest, or a caterpillar."""
    bottom = 8 + ROW * len(marks)
    known = [value for mark in marks if mark for value in (mark.value, mark.low, mark.high)]
    names = iter(short_names([mark.name for mark in marks if mark], NAME_ROOM))
    name_end = LARGEST_TEXT * min(max(width_of(mark.name) for mark in marks if mark), NAME_ROOM) + 2
    x = axis_over(known if reference is None else [*known, reference], name_end + 8, WIDTH - 12)
    parts = bottom_axis(x, bottom, 4, title, percent, 4)
    if reference is not None:
        parts.append(line(x(reference), 4, x(reference), bottom, "zero"))
    for row, mark in enumerate(marks):
        y = 8 + ROW * (row + 0.5)
        if mark is None:
            parts.append(words(name_end, y + 4, "⋮", "end"))
            continue
        parts.append(words(name_end, y + 4, next(names), "end"))
        interval = (
            line(x(mark.low), y, x(mark.high), y, "reach")
            if np.isfinite(mark.low) and np.isfinite(mark.high)
            else ""
        )
        parts.append(
            f"<g><title>{escape(mark.tip)}</title>{interval}{dot(x(mark.value), y, 'own')}</g>"
        )
    return drawing(bottom + 42, label, parts)


def order_chart(items: Sequence[RankedItem], average: float) -> str:
    """All items from best to worst.

    Score and interval against rank, as two lines of one path each.
    """
    places = np.unique(
        np.linspace(0, len(items) - 1, min(len(items), 2 * MOST_MARKS)).round().astype(int)
    )
    shown = [items[place] for place in places]
    x, bottom = Axis(1, max(len(items), 2), 48, WIDTH - 20), 300
    y = axis_over(
        [value for item in shown for value in (item.score, item.low, item.high)] + [average],
        bottom,
        8,
    )
    across = [x(float(place) + 1) for place in places]
    reach = "".join(
        f"M{a:.1f} {y(item.low):.1f}V{y(item.high):.1f}"
        for a, item in zip(across, shown, strict=True)
        if np.isfinite(item.low)
    )
    scores = " ".join(f"{a:.1f},{y(item.score):.1f}" for a, item in zip(across, shown, strict=True))
    parts = [
        *bottom_axis(x, bottom, 8, "rank (1 = best)"),
        *left_axis(y, 48, WIDTH - 20),
        line(48, y(average), WIDTH - 20, y(average), "zero"),
    ]
    return drawing(
        bottom + 42,
        "Score of every item against its rank",
        [
            *parts,
            f'<path class="reach thin" d="{reach}"/><polyline class="curve" points="{scores}"/>',
        ],
    )


def calibration_chart(in_sample: Sequence[Bin], held_out: Sequence[Bin]) -> str:
    """Promised against observed shares, with the number of comparisons of each bin below."""
    bins, bottom = [*in_sample, *held_out], 300
    x = Axis(0.49, 1.01, 52, WIDTH - 18)
    y = Axis(min([0.45, *(one.observed_low for one in bins)]) - 0.02, 1.02, bottom - 44, 8)
    parts = [
        *bottom_axis(x, bottom, 8, "promised share of the favourite", True),
        *left_axis(y, 52, WIDTH - 18, True),
    ]
    parts.append(line(x(0.5), y(0.5), x(1.0), y(1.0), "zero"))
    most = max([one.number for one in in_sample], default=1.0)
    for one in in_sample:
        height = 22 * one.number / most
        bar = (
            f'<rect class="bar" x="{x(one.low) + 1:.1f}" y="{bottom - height:.1f}"'
            f' width="{x(one.high) - x(one.low) - 2:.1f}" height="{height:.1f}"/>'
        )
        parts.append(
            bar
            + words(
                x((one.low + one.high) / 2), bottom - height - 3, brief(one.number), kind="small"
            )
        )
    for kind, group, shift in (("other", in_sample, -3.0), ("own", held_out, 3.0)):
        for one in group:
            a = x(one.promised) + shift
            what = "held out" if kind == "own" else "in sample"
            tip = (
                f"{what}: promised {one.promised:.1%}, observed {one.observed:.1%}"
                f" ({one.observed_low:.1%} to {one.observed_high:.1%}) of {one.number:,.6g}"
            )
            interval = line(a, y(one.observed_low), a, y(one.observed_high), f"reach {kind}-line")
            parts.append(
                f"<g><title>{escape(tip)}</title>{interval}{dot(a, y(one.observed), kind)}</g>"
            )
    return drawing(bottom + 42, "Promised against observed win share", parts)


def brief(value: float) -> str:
    """12345 as 12k."""
    return (
        f"{value / 1e6:.3g}M"
        if value >= 1e6
        else f"{value / 1e3:.0f}k"
        if value >= 1e4
        else f"{value:,.4g}"
    )


def residual_chart(items: Sequence[RankedItem]) -> str:
    """Standardised residual against score, a dot for each compared item, the largest named."""
    known = sorted(
        (item for item in items if np.isfinite(item.residual)), key=lambda item: -abs(item.residual)
    )[:MOST_MARKS]
    bottom = 300
    x, y = (
        axis_over([item.score for item in known], 44, WIDTH - 10),
        axis_over([item.residual for item in known] + [-2.5, 2.5], bottom, 8),
    )
    parts = [
        *bottom_axis(x, bottom, 8, "score"),
        *left_axis(y, 44, WIDTH - 10),
        line(44, y(0), WIDTH - 10, y(0), "zero"),
    ]
    parts += [line(44, y(level), WIDTH - 10, y(level), "limit") for level in (-2, 2)]
    for item in known:
        tip = (
            f"{item.name}: {item.net_wins:+.4g} net wins, {signed(item.expected, 1)} expected,"
            f" residual {signed(item.residual, 2)}"
        )
        parts.append(dot(x(item.score), y(item.residual), "own faint", 3, tip))
    named = sorted(known[:NAMED], key=lambda item: -item.residual)
    heights, names = (
        apart([y(item.residual) for item in named], bottom - 8),
        short_names([item.name for item in named], TAG_ROOM),
    )
    for item, height, name in zip(named, heights, names, strict=True):
        right = x(item.score) > WIDTH / 2
        parts.append(
            words(
                x(item.score) + (-7 if right else 7),
                height + 4,
                name,
                "end" if right else "start",
                "tag",
            )
        )
    return drawing(bottom + 42, "Residual of every compared item", parts)


def apart(heights: Sequence[float], lowest: float, gap: float = 13) -> list[float]:
    """Heights in rising order, moved where they are closer than ``gap``, none beyond ``lowest``."""
    placed = list(heights)
    for place in range(1, len(placed)):
        placed[place] = max(placed[place], placed[place - 1] + gap)
    for place in reversed(range(len(placed))):
        placed[place] = min(placed[place], lowest - gap * (len(placed) - 1 - place))
    return placed


def bar_chart(bars: Sequence[Bar]) -> str:
    """How many items were compared how often."""
    bottom, top = 300, max(max(bar.items for bar in bars), 1)
    x, y = (
        Axis(bars[0].low - 0.5, bars[-1].high + 0.5, 44, WIDTH - 10),
        Axis(0, 1.05 * top, bottom, 8),
    )
    parts = [
        *left_axis(y, 44, WIDTH - 10),
        words((44 + WIDTH) / 2, bottom + 34, "comparisons of an item", kind="name"),
    ]
    parts += [
        words(x(tick), bottom + 16, number(tick))
        for tick in x.ticks()
        if tick == int(tick) and tick >= 0
    ]
    for bar in bars:
        left, right = x(bar.low - 0.5) + 0.5, x(bar.high + 0.5) - 0.5
        box = (
            f'x="{left:.1f}" y="{y(bar.items):.1f}" width="{right - left:.1f}"'
            f' height="{bottom - y(bar.items):.1f}"'
        )
        parts.append(
            f'<rect class="bar" {box}><title>{number_of(bar.items, "item")} compared'
            f" {from_to(bar.low, bar.high)} times</title></rect>"
        )
    return drawing(
        bottom + 42,
        "Number of items by number of comparisons",
        [*parts, line(44, bottom, WIDTH - 10, bottom, "zero")],
    )


def accuracy_chart(trials: Sequence[Trial], own: str) -> str:
    """Share of comparisons called rightly by each method: folds, held out together, in sample.

    A coin is at 50 %.
    """
    bottom = 8 + 34 * len(trials)
    x = axis_over(
        [0.5]
        + [share for trial in trials for share in (trial.in_sample, trial.held_out, *trial.folds)],
        84,
        WIDTH - 16,
    )
    parts = [
        *bottom_axis(x, bottom, 4, "decided comparisons called rightly", True),
        line(x(0.5), 4, x(0.5), bottom, "zero"),
    ]
    for row, trial in enumerate(trials):
        y = 8 + 34 * (row + 0.5)
        parts.append(words(76, y + 4, trial.method, "end", "tag" if trial.method == own else ""))
        parts += [
            dot(x(share), y, "own faint", 3, f"{trial.method}, fold {fold}: {share:.1%}")
            for fold, share in enumerate(trial.folds, 1)
            if np.isfinite(share)
        ]
        if np.isfinite(trial.in_sample):
            parts.append(
                dot(
                    x(trial.in_sample),
                    y,
                    "other",
                    5.5,
                    f"{trial.method}, in sample: {trial.in_sample:.1%}",
                )
            )
        if np.isfinite(trial.held_out):
            parts.append(
                dot(
                    x(trial.held_out),
                    y,
                    "own",
                    5.5,
                    f"{trial.method}, held out: {trial.held_out:.1%}",
                )
            )
    return drawing(bottom + 42, "Share of comparisons called rightly, by method", parts)
