"""A plan in words, as a dictionary, and as the rows of its chart."""

from dataclasses import asdict
from typing import Any

import numpy as np

from pairscore.errors import plural
from pairscore.planning.planner import PER_ITEM, Plan, PlannedStudy

TITLES = {"angle": "angle", "misordered": "misordered", "norm_error": "norm error"}


def plan_text(plan: Plan) -> str:
    """The answer first, then how sure it is, then every method beside it."""
    lines = [
        _question(plan),
        "",
        f"    {_answer(plan)}",
        "",
        *_error(plan),
        *_pilot(plan),
        "",
        *_table(plan),
    ]
    reasons = [
        str(other) for other in plan.alternatives.values() if not isinstance(other, PlannedStudy)
    ]
    return "\n".join(
        [
            *lines,
            *(
                [""]
                + [
                    reason if reason.startswith("n_") else reason[0].upper() + reason[1:]
                    for reason in reasons
                ]
                if reasons
                else []
            ),
            *_caution(plan),
        ]
    )


def plan_record(plan: Plan) -> dict[str, Any]:
    """Everything of a plan as plain values, for ``--json``; an infinite number is null."""
    record = {
        "method": plan.method,
        "n_features": plan.law.n_features,
        "noise": plan.noise,
        "link": plan.law.labels.link.name,
        "target": None if plan.target is None else {plan.target[0]: plan.target[1]},
        "solved_for": plan.solved_for,
        **_study_record(plan.study),
        "interval": plan.interval,
        "items_interval": plan.items_interval,
        "notes": list(plan.notes),
        "pilot": None if plan.noise_estimate is None else asdict(plan.noise_estimate),
        "methods": {
            name: _study_record(other)
            if isinstance(other, PlannedStudy)
            else {"impossible": str(other)}
            for name, other in plan.alternatives.items()
        },
        "rule_of_ten": _study_record(plan.rule_of_ten),
    }
    return _finite(record)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _study_record(study: PlannedStudy) -> dict[str, Any]:
    return {
        "n_items": study.n_items,
        "n_items_total": study.n_items_total,
        "n_comparisons": study.n_comparisons,
        **{name: getattr(study.error, name) for name in TITLES},
        "ranges": study.error.ranges,
        "hours": study.hours,
        "cost": study.cost,
    }


def _question(plan: Plan) -> str:
    world = (
        f"{plural(plan.law.n_features, 'feature')} and {100 * plan.noise:.3g} % of the labels"
        " flipped"
    )
    if plan.target is None:
        return f"With {world}, this study:"
    name, value = plan.target
    aim = {
        "misordered": (
            f"To put at most {100 * value:.3g} % of the pairs of new items in the wrong order"
        ),
        "angle": (
            f"To come within {value:.3g} radians ({np.degrees(value):.3g} degrees) of the true"
            " direction on average"
        ),
        "norm_error": f"To have coefficients within {value:.3g} of their limit on average",
    }[name]
    return f"{aim}, with {world}:"


def _answer(plan: Plan) -> str:
    items = plural(plan.n_items, "item", ",") + (
        f" compared, {plan.n_items_total:,} in all" if plan.n_items_total != plan.n_items else ""
    )
    cost = "" if plan.cost is None else f", cost {plan.cost:,.0f}"
    rule = (
        {"both": ", M = N log N"}.get(plan.solved_for, "")
        if plan.cost is None
        else ", the cheapest"
    )
    return (
        f"{items}, {plural(plan.n_comparisons, 'comparison', ',')}, {plan.hours:,.1f} hours of"
        f" experts{cost}   (method {plan.method}{rule})"
    )


def _error(plan: Plan) -> list[str]:
    error = plan.study.error
    if plan.law.n_features == 1:
        return [
            (
                f"Expected: {100 * error.misordered:.2f} % of such studies take the feature the"
                " wrong way round and put every new pair in the wrong order,"
            ),
            (
                f"the others none; angle {error.angle:.3f} radians on average, norm error"
                f" {error.norm_error:.3g}."
            ),
        ]
    (a, b), (c, d) = error.ranges["misordered"], error.ranges["angle"]
    return [
        (
            f"Expected: {100 * error.misordered:.2f} % of new pairs misordered (nine of ten"
            f" studies: {100 * a:.2f} to {100 * b:.2f} %),"
        ),
        f"angle {error.angle:.3f} ({c:.3f} to {d:.3f}) radians, norm error {error.norm_error:.3g}.",
    ]


def _pilot(plan: Plan) -> list[str]:
    if plan.noise_estimate is None or plan.interval is None:
        return []
    found, (low, high) = plan.noise_estimate, plan.interval
    if plan.solved_for == "error":
        least, range_ = f"an angle of {low:.3f}", f"an angle of {low:.3f} to {high:.3f}"
    else:
        noun = "item" if plan.solved_for == "n_items" else "comparison"
        ranges = (
            [(noun, low, high)]
            if plan.items_interval is None
            else [("item", *plan.items_interval), (noun, low, high)]
        )
        least = " and ".join(plural(int(a), name, ",") for name, a, _ in ranges)
        range_ = " and ".join(
            f"{a:,.0f} to {plural(int(b), name, ',')}" for name, a, b in ranges if np.isfinite(b)
        )
    level = f"{100 * found.level:.0f} %"
    noise = (
        f"The pilot says that {100 * found.noise:.1f} % of the labels are flipped ({level} interval"
        f" {100 * found.low:.1f} to {100 * found.high:.1f} %)"
    )
    if np.isfinite(high):
        return [f"{noise},", f"which makes it {range_}."]
    why = (
        "it does not exclude that labels are coins"
        if found.high >= 0.5
        else "at the noisy end nothing is enough"
    )
    return [
        f"{noise},",
        f"which makes it at least {least} and sets no upper limit: {why}; make a larger pilot.",
    ]


def _table(plan: Plan) -> list[str]:
    head: tuple[str, ...] = (
        "",
        "items",
        "in all",
        "comparisons",
        "hours",
        "misordered",
        "angle",
        "norm error",
    )
    rows = [head]
    for name, other in plan.alternatives.items():
        if isinstance(other, PlannedStudy):
            rows.append(_row(("* " if name == plan.method else "  ") + name, other))
    rows.append(_row(f"  {PER_ITEM} per item", plan.rule_of_ten))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]


def _row(name: str, study: PlannedStudy) -> tuple[str, ...]:
    error = study.error
    sizes = (
        f"{study.n_items:,}",
        f"{study.n_items_total:,}",
        f"{study.n_comparisons:,}",
        f"{study.hours:,.1f}",
    )
    return (
        name,
        *sizes,
        f"{100 * error.misordered:.2f} %",
        f"{error.angle:.3f}",
        f"{error.norm_error:.3g}",
    )


def _caution(plan: Plan) -> list[str]:
    """What the answer takes for granted, and where the prediction is used beyond what it was tested
    on.
    """
    d, cautions = plan.law.n_features, list(plan.notes)
    features = plural(d, "feature")
    if plan.n_items < 4 * d:
        cautions.append(
            f"{plural(plan.n_items, 'item', ',')} for {features} are few: predictions were tested"
            f" from {4 * d:,} items on."
        )
    if plan.method == "mle" and plan.n_comparisons < 10 * d:
        few = (
            f"{plural(plan.n_comparisons, 'comparison', ',')} for {features}"
            f" {'is' if plan.n_comparisons == 1 else 'are'} few"
        )
        cautions.append(f"{few}: predictions of 'mle' were tested from {10 * d:,} comparisons on.")
    if plan.n_comparisons < plan.n_items:
        cautions.append(
            "Some items will never be compared: predictions were tested from as many comparisons as"
            " items on."
        )
    return ["", *cautions] if cautions else []


def plan_curves(plan: Plan, n_points: int = 40) -> list[dict[str, Any]]:
    """Error against M for half, once and twice the items: the rows of the plan's chart."""
    name = plan.target[0] if plan.target else "misordered"
    least = plan.law.n_features + (4 if plan.method == "split" else 2)
    rows = []
    for n in sorted({max(round(plan.n_items * factor), least) for factor in (0.5, 1, 2)}):
        for m in np.unique(
            np.geomspace(
                max(plan.n_comparisons / 20, 10), 20 * plan.n_comparisons, n_points
            ).astype(int)
        ):
            value = float(plan.law.errors(n, int(m), plan.method)[name].mean())
            rows.append(
                {
                    "n_items": n,
                    "n_comparisons": int(m),
                    "error": value,
                    "measure": name,
                    "method": plan.method,
                }
            )
    return rows
