"""The part of a report on what a model knows beside the items.

Context, sides, judges, ties and the chosen ridge.
"""

from html import escape
from itertools import pairwise

import numpy as np

from pairscore.estimators.results import REACH, Effects, Judges
from pairscore.estimators.ridge import RidgeCurve
from pairscore.report.charts import (
    WIDTH,
    Mark,
    axis_over,
    bottom_axis,
    dot,
    drawing,
    interval_chart,
    left_axis,
    line,
)
from pairscore.report.facts import Beside, ItemEffect, ReportFacts, TieRate
from pairscore.report.pieces import card, percent, shown, table

MOST_JUDGES = 30
ENDS = 8  # items with the largest effects, either way
LEFT, RIGHT, BOTTOM = 52, WIDTH - 12, 190  # of a drawing


def beside(facts: ReportFacts) -> str:
    """The part of the page; nothing where there is nothing to say."""
    own = facts.beside
    if own.is_empty:
        return ""
    cards = (
        _item_effects(own)
        + _effects(own.effects)
        + _judges(own.judges)
        + _judge_table(own.judges)
        + _ties(own.ties)
        + _ridge(own.ridge)
    )
    return f'<section><h2>Beside the items</h2><div class="cards">{cards}</div></section>'


def _item_effects(own: Beside) -> str:
    if not own.item_effects_in_words:
        return ""
    effects = own.item_effects
    ends: list[ItemEffect | None] = (
        list(effects) if len(effects) <= 2 * ENDS else [*effects[:ENDS], None, *effects[-ENDS:]]
    )
    marks = [
        (
            None
            if one is None
            else Mark(one.name, one.effect, one.low, one.high, f"{one.name}: {one.effect:+.3g}")
        )
        for one in ends
    ]
    chart = (
        interval_chart(
            marks,
            "What items have beyond their features, with intervals",
            "added to the score",
            0.0,
        )
        if marks
        else ""
    )
    return card(
        "What items have beyond their features",
        chart,
        escape(f"Effects of items: {own.item_effects_in_words}."),
    )


def _effects(effects: Effects | None) -> str:
    if effects is None or not len(effects.values):
        return ""
    rows, marks = [], []
    for name, kind, value, error in zip(
        effects.names,
        effects.kinds,
        effects.values.tolist(),
        effects.std_errors.tolist(),
        strict=True,
    ):
        label = {"context": name, "side": f"side: {name}", "tie": "ties"}[kind]
        low, high = value - REACH * error, value + REACH * error
        rows.append(
            [
                label,
                shown(value, ".3g"),
                f"{low:.3g} to {high:.3g}" if np.isfinite(error) else "unknown",
            ]
        )
        if kind != "tie":  # a threshold is no advantage of anybody
            marks.append(
                Mark(
                    label,
                    value,
                    low,
                    high,
                    f"{label}: {shown(value)} ({shown(low)} to {shown(high)})",
                )
            )
    chart = (
        interval_chart(
            marks[:MOST_JUDGES],
            "Effects of the comparison with their intervals",
            "on the scale of score differences",
            0.0,
        )
        if marks
        else ""
    )
    about = (
        "Context counts for left, as its value of left minus that of right; a side is the advantage"
        " of standing on the left."
    )
    return card(
        "What a comparison adds",
        chart,
        escape(about),
        table(["effect", "size", "95 % interval"], rows),
    )


def _judges(judges: Judges | None) -> str:
    if judges is None:
        return ""
    order = np.argsort(-judges.slope, kind="stable")
    kept: list[int | None] = order.tolist()
    if len(order) > MOST_JUDGES:
        kept = [*order[: MOST_JUDGES // 2].tolist(), None, *order[-MOST_JUDGES // 2 :].tolist()]
    marks = [None if place is None else _judge_mark(judges, place) for place in kept]
    chart = interval_chart(
        marks, "Sharpness of the judges with its interval", "1 is the average judge, 0 a coin", 1.0
    )
    return card("How sharp the judges are", chart, escape(f"{judges.in_words}."))


def _judge_mark(judges: Judges, place: int) -> Mark:
    name, value, error = (
        str(judges.name[place]),
        float(judges.slope[place]),
        float(judges.std_error[place]),
    )
    tip = (
        f"{name}: slope {value:.2f}, {percent(float(judges.noise[place]))} of votes against the"
        f" score, {judges.n_comparisons[place]:.6g} comparisons"
    )
    return Mark(name, value, value - REACH * error, value + REACH * error, tip)


def _judge_table(judges: Judges | None) -> str:
    if judges is None:
        return ""
    columns = judges.to_columns()
    rows = [
        [
            str(name),
            f"{number:.6g}",
            f"{slope:.2f}",
            f"{slope - REACH * error:.2f} to {slope + REACH * error:.2f}",
            percent(noise),
            remark,
        ]
        for name, number, slope, error, noise, remark in zip(
            *(
                columns[name]
                for name in ("name", "n_comparisons", "slope", "std_error", "noise", "remark")
            ),
            strict=True,
        )
    ]
    return card(
        "Every judge",
        "",
        table(["judge", "votes", "slope", "95 % interval", "against the score", ""], rows),
    )


def _ties(ties: list[TieRate]) -> str:
    if not ties:
        return ""
    middles = [(rate.low + rate.high) / 2 for rate in ties]
    x, y = (
        axis_over([*middles, 0.0], LEFT, RIGHT),
        axis_over(
            [share for rate in ties for share in (rate.expected, rate.observed, 0.0)], BOTTOM, 10
        ),
    )
    parts = left_axis(y, LEFT, RIGHT, percent=True) + bottom_axis(
        x, BOTTOM, 10, "score difference, without sign"
    )
    parts += _curve([x(middle) for middle in middles], [y(rate.expected) for rate in ties])
    for middle, rate in zip(middles, ties, strict=True):
        tip = (
            f"differences of {rate.low:.2f} to {rate.high:.2f}: {percent(rate.observed)} of"
            f" {rate.number:.6g} tied, {percent(rate.expected)} expected"
        )
        parts.append(dot(x(middle), y(rate.observed), "own", tip=tip))
    return card(
        "Ties",
        drawing(BOTTOM + 42, "Share of ties by score difference", parts),
        "Dots: comparisons that tied. Line: what the model expects.",
    )


def _ridge(ridge: RidgeCurve | None) -> str:
    if ridge is None:
        return ""
    about = escape(f"The ridge was {ridge.in_words}.")
    if not len(ridge.l2):
        return card("The ridge", "", about)
    best = int(np.argmin(ridge.loss))
    # a weak ridge can lose so much that the rest looks flat
    seen = ridge.loss <= np.quantile(ridge.loss, 0.9)
    x, y = axis_over(np.log10(ridge.l2), LEFT, RIGHT), axis_over(ridge.loss[seen], BOTTOM, 10)
    parts = left_axis(y, LEFT, RIGHT) + bottom_axis(x, BOTTOM, 10, "ridge, as a power of ten")
    parts += _curve(
        [x(place) for place in np.log10(ridge.l2[seen])], [y(loss) for loss in ridge.loss[seen]]
    )
    parts.append(
        dot(
            x(float(np.log10(ridge.chosen))),
            y(ridge.loss[best]),
            "own",
            tip=f"l2 = {ridge.chosen:.4g}: log-loss {ridge.loss[best]:.4f}",
        )
    )
    return card(
        "The ridge",
        drawing(BOTTOM + 42, "Held-out log-loss by ridge", parts),
        "Log-loss on comparisons of new items.",
        about,
    )


def _curve(x: list[float], y: list[float]) -> list[str]:
    """Points joined by lines."""
    points = list(zip(x, y, strict=True))
    return [line(*one, *two, "reach") for one, two in pairwise(points)]
