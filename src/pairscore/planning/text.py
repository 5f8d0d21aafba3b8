"""A plan in words, as a dictionary, and as the rows of its chart."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairscore.display import plural, text_table
from pairscore.errors import NoAnswerError, PairscoreError
from pairscore.messages import Setting, Words, in_python
from pairscore.planning.planner import PER_ITEM, Plan, PlannedStudy
from pairscore.planning.study_size import items_for
from pairscore.records import plain
from pairscore.theory.integrals import correct_share
from pairscore.theory.predicted_error import fewest_items

MEASURES = ("angle", "misordered", "misordered_new", "misordered_known", "norm_error")
COLUMNS = ("", "items", "in all", "comparisons", "hours", "misordered", "angle", "norm error")


def plan_text(plan: Plan, words: Words = in_python) -> str:
    """A plan as text: the answer, how sure it is, and the study of every method in a table.

    What other methods cannot do is in the ``words`` of a front end.
    """
    refusals = [one for one in plan.alternatives.values() if not isinstance(one, PlannedStudy)]
    blocks = [
        [_question(plan)],
        [f"    {_answer(plan)}"],
        _best_use(plan),
        [*_error(plan), *_pilot(plan)],
        _whole_scores(plan),
        [_table(plan)],
        [_sentence(one, words) for one in refusals],
        [*plan.notes, *_cautions(plan)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _sentence(error: PairscoreError, words: Words) -> str:
    """What an error says with a capital letter, unless it begins with the name of a setting."""
    text = error.worded(words)
    begins_with_name = isinstance(error.message.problem.parts[0], Setting)
    return text if begins_with_name else text[0].upper() + text[1:]


def plan_record(plan: Plan) -> dict[str, Any]:
    """Everything of a plan as plain values, for ``--json``; an infinite number is null."""
    return plain(
        {
            "method": plan.method,
            "n_features": plan.law.n_features,
            "noise": plan.noise,
            "explained": plan.explained,
            "link": plan.law.labels.link.name,
            "target": None if plan.target is None else {plan.target[0]: plan.target[1]},
            "solved_for": plan.solved_for,
            **_study_record(plan),
            "experts": plan.experts,
            "seconds_per_comparison": plan.seconds,
            "interval": plan.interval,
            "items_interval": plan.items_interval,
            "notes": plan.notes,
            "pilot": plan.noise_estimate,
            "methods": {name: _study_record(other) for name, other in plan.alternatives.items()},
            "rule_of_ten": _study_record(plan.rule_of_ten),
        }
    )


def _study_record(study: PlannedStudy | Exception) -> dict[str, Any]:
    if not isinstance(study, PlannedStudy):
        return {"impossible": str(study)}
    return {
        "n_items": study.n_items,
        "n_items_total": study.n_items_total,
        "n_comparisons": study.n_comparisons,
        **{name: getattr(study.error, name) for name in MEASURES},
        "ranges": study.error.ranges,
        "hours": study.hours,
        "cost": study.cost,
    }


def _question(plan: Plan) -> str:
    features = plural(plan.law.n_features, "feature")
    if plan.explained < 1:
        verb = "explains" if plan.law.n_features == 1 else "explain"
        features += f" that {verb} {100 * plan.explained:.3g} % of the scores' variance"
    against = f"{100 * plan.noise:.3g} of 100 comparisons contradict the score's order"
    world = f"with {features}, where {against}"
    if plan.target is None and plan.solved_for == "n_items":
        return f"W{world[1:]}, the best use of {plural(plan.n_comparisons, 'comparison', ',')}:"
    if plan.target is None:
        return f"W{world[1:]}, this study:"
    name, value = plan.target
    aims = {
        "misordered": f"put on average at most {100 * value:.3g} % of the pairs of new items in the"
        " wrong order",
        "angle": f"come within {value:.3g} radians ({np.degrees(value):.3g} degrees) of the true"
        " direction on average",
        "norm_error": f"have coefficients within {value:.3g} of their limit on average",
    }
    return f"To {aims[name]}, {world}:"


def _answer(plan: Plan) -> str:
    total = (
        f" compared, {plan.n_items_total:,} in all" if plan.n_items_total != plan.n_items else ""
    )
    sizes = f"{plural(plan.n_items, 'item', ',')}{total}"
    sizes += f", {plural(plan.n_comparisons, 'comparison', ',')}"
    cost = "" if plan.cost is None else f", cost {plan.cost:,.0f}"
    rule = ", M = N log N" if plan.solved_for == "both" else ""
    rule = rule if plan.cost is None else ", the cheapest"
    return f"{sizes}, {_hours(plan)}{cost}   (method {plan.method}{rule})"


def _best_use(plan: Plan) -> list[str]:
    """What more items would give, where the fewest for a target and a budget were asked for."""
    if plan.target is None or plan.solved_for != "n_items":
        return []
    n, m = plan.n_items, plan.n_comparisons
    best = items_for(plan.law, plan.method, m)
    if best <= n:
        return []
    error = plan.law.predict(best, m, plan.method)
    return [
        f"{plural(n, 'item', ',')} {'is' if n == 1 else 'are'} the fewest that reach this with"
        f" {plural(m, 'comparison', ',')}. More items are a better use of them:",
        f"{best:,} items would have {100 * error.misordered:.2f} % of new pairs misordered, angle"
        f" {error.angle:.3f} radians.",
    ]


def _hours(plan: Plan) -> str:
    """The time of the experts, and what one comparison is taken to take."""
    hours = f"{plan.hours:,.1f} hours of experts"
    if plan.experts is not None and plan.experts > 1:
        hours += f" ({plan.hours / plan.experts:,.1f} for each of {plan.experts:,})"
    return f"{hours} at {plan.seconds:g} s a comparison"


def _error(plan: Plan) -> list[str]:
    error = plan.error
    misordered = f"Expected: {100 * error.misordered:.2f} % of"
    if plan.law.n_features == 1:
        return [
            f"{misordered} such studies get the sign of the feature wrong and put every new pair"
            f" in the wrong order,",
            f"the others none; angle {error.angle:.3f} radians on average, norm error"
            f" {error.norm_error:.3g}.",
        ]
    (a, b), (c, d) = error.ranges["misordered"], error.ranges["angle"]
    return [
        f"{misordered} new pairs misordered (9 of 10 studies: {100 * a:.2f} to {100 * b:.2f} %),",
        f"angle {error.angle:.3f} ({c:.3f} to {d:.3f}) radians, norm error {error.norm_error:.3g}.",
        *_accuracy(plan),
    ]


def _accuracy(plan: Plan) -> list[str]:
    """What misordered is not: how often a single comparison of new items is predicted."""
    now, best = (_correct(plan, share) for share in (plan.error.misordered_new, _best_share(plan)))
    return [
        "Misordered: in another order than by the best score that the features allow, which would",
        f"predict {best} of single comparisons of new items correctly; this study's about {now}.",
    ]


def _best_share(plan: Plan) -> float:
    """Share of pairs that the best score of the features puts otherwise than the whole scores."""
    return float(np.arccos(plan.law.labels.correlation) / np.pi)


def _correct(plan: Plan, misordered: float) -> str:
    """Share of single comparisons that are predicted where pairs are misordered so often."""
    labels = plan.law.labels
    return f"{100 * correct_share(labels.link, labels.total_spread, np.pi * misordered):.1f} %"


def _whole_scores(plan: Plan) -> list[str]:
    """Errors against the items' whole scores, where features do not explain them fully."""
    if plan.explained == 1:
        return []
    error, with_effects = plan.error, plan.method == "mle"
    basis = "features and each item's comparisons, with item effects"
    known = [
        f"  the compared items  {100 * error.misordered_known:5.1f} %   ({basis};",
        f"{'':30}{_correct(plan, error.misordered_known)} of single comparisons predicted"
        " correctly)",
    ]
    return [
        "Pairs in the wrong order by the true scores, which features explain only in part:",
        f"  new items           {100 * error.misordered_new:5.1f} %   (features alone; no study of"
        f" these features gets below {100 * _best_share(plan):.1f} %)",
        *(known if with_effects else []),
    ]


def _pilot(plan: Plan) -> list[str]:
    """What the pilot says of the noise, and what that makes of the answer."""
    estimate = plan.noise_estimate
    if estimate is None or plan.interval is None:
        return []
    noise, low, high = (f"{100 * x:.1f}" for x in (estimate.noise, estimate.low, estimate.high))
    first = (
        f"In the pilot about {noise} of 100 comparisons contradict the score's order"
        f" ({100 * estimate.level:.0f} % interval {low} to {high}),"
    )
    if np.isfinite(plan.interval[1]):
        return [first, f"so {_interval(plan)} may be needed."]
    why = (
        "labels that are coin tosses cannot be ruled out"
        if estimate.high >= 0.5
        else "at the noisy end no study is large enough"
    )
    least = _interval(plan, lower_end=True)
    return [
        first,
        f"so at least {least} may be needed, with no upper limit: {why}; make a larger pilot.",
    ]


def _interval(plan: Plan, *, lower_end: bool = False) -> str:
    """What was found, in words: from one end of the pilot's interval to the other, or the lower."""
    low, high = plan.interval or (np.nan, np.nan)
    if plan.solved_for == "error":
        return f"an angle of {low:.3f}" + ("" if lower_end else f" to {high:.3f}")
    ranges = [("item" if plan.solved_for == "n_items" else "comparison", low, high)]
    if plan.items_interval is not None:
        ranges.insert(0, ("item", *plan.items_interval))
    if lower_end:
        return " and ".join(plural(int(a), noun, ",") for noun, a, _ in ranges)
    return " and ".join(f"{a:,.0f} to {plural(int(b), noun, ',')}" for noun, a, b in ranges)


def _table(plan: Plan) -> str:
    studies = {
        f"{'* ' if name == plan.method else '  '}{name}": other
        for name, other in plan.alternatives.items()
        if isinstance(other, PlannedStudy)
    }
    rows = [
        (
            name,
            f"{study.n_items:,}",
            f"{study.n_items_total:,}",
            f"{study.n_comparisons:,}",
            f"{study.hours:,.1f}",
            f"{100 * study.error.misordered:.2f} %",
            f"{study.error.angle:.3f}",
            f"{study.error.norm_error:.3g}",
        )
        for name, study in {**studies, f"  {PER_ITEM} per item": plan.rule_of_ten}.items()
    ]
    return text_table(COLUMNS, rows, "{:<}" + "  {:>}" * (len(COLUMNS) - 1))


def _cautions(plan: Plan) -> list[str]:
    """What more items would do, and where the prediction is used beyond what it was tested on."""
    d, n, m, cautions = plan.law.n_features, plan.n_items, plan.n_comparisons, []
    if plan.target is None and plan.solved_for == "n_items":
        fewer = ", and fewer items would be ranked more accurately" if plan.explained < 1 else ""
        cautions.append(f"More items would lower the error on new items by less than 1 %{fewer}.")
    features = plural(d, "feature")
    if n < 4 * d:
        cautions.append(
            f"{plural(n, 'item', ',')} for {features} are few: predictions were tested only from"
            f" {4 * d:,} items on."
        )
    if plan.method == "mle" and m < 10 * d:
        cautions.append(
            f"{plural(m, 'comparison', ',')} for {features} {'is' if m == 1 else 'are'} few:"
            f" predictions of 'mle' were tested from {10 * d:,} comparisons on."
        )
    if m < n:
        cautions.append(
            "Some items will never be compared: predictions were tested only with at least as"
            " many comparisons as items."
        )
    return cautions


def plans_text(plans: Mapping[float, Plan | NoAnswerError], words: Words = in_python) -> str:
    """Plans of the same question for several noises as a table; a refusal is its sentence, in the
    words of a front end.
    """
    found = {noise: one for noise, one in plans.items() if isinstance(one, Plan)}
    refused = {noise: one for noise, one in plans.items() if not isinstance(one, Plan)}
    effects = any(plan.explained < 1 for plan in found.values())
    header = ["noise", "items", "comparisons", "hours", "misordered", "9 of 10 studies"]
    header += ["new items", "compared items"] if effects else []
    rows = [
        (
            f"{100 * noise:.3g} %",
            f"{plan.n_items:,}",
            f"{plan.n_comparisons:,}",
            f"{plan.hours:,.1f}",
            f"{100 * plan.misordered:.2f} %",
            " to ".join(f"{100 * end:.1f}" for end in plan.error.ranges["misordered"]) + " %",
            *(
                f"{100 * share:.1f} %"
                for share in (plan.error.misordered_new, plan.error.misordered_known)
                if effects
            ),
        )
        for noise, plan in found.items()
    ]
    table = text_table(header, rows, "{:>}" + "  {:>}" * (len(header) - 1)) if rows else ""
    reasons = [
        f"noise {100 * noise:.3g} %: {error.worded(words)}" for noise, error in refused.items()
    ]
    first = next(iter(found.values()), None)
    about = [] if first is None else _words_of_table(first)
    return "\n\n".join(block for block in (table, "\n".join(reasons), "\n".join(about)) if block)


def _words_of_table(plan: Plan) -> list[str]:
    features = plural(plan.law.n_features, "feature")
    words = [
        f"{features[0].upper()}{features[1:]}, method {plan.method}, {plan.seconds:g} s a"
        " comparison. Noise is the share of comparisons that contradict",
        "the scores. Misordered: pairs of new items in another order than by the best score that"
        " the features allow.",
    ]
    if plan.explained < 1:
        words.append(
            f"{100 * plan.explained:.3g} % of the scores' variance is explained; the last columns"
            " are pairs in the wrong order by the true scores."
        )
    return words


def plan_curves(
    plan: Plan, n_points: int = 40, factors: Sequence[float] = (0.5, 1, 2)
) -> list[dict[str, Any]]:
    """Error against M for half, once and twice the items: the rows of the plan's chart.

    Columns n_items, n_comparisons, error (the expected one), low and high (between which nine of
    ten studies are), measure (what kind of error), method and noise.
    """
    measure = plan.target[0] if plan.target else "misordered"
    least, m = fewest_items(plan.method, plan.law.n_features), plan.n_comparisons
    comparisons = np.unique(np.geomspace(max(m / 20, 10), 20 * m, n_points).astype(int)).tolist()
    rows = []
    for n in sorted({max(round(plan.n_items * factor), least) for factor in factors}):
        for m in comparisons:
            error = plan.law.predict(n, m, plan.method)
            low, high = error.ranges[measure]
            row = {"n_items": n, "n_comparisons": m, "error": getattr(error, measure)}
            row |= {"low": low, "high": high, "measure": measure}
            rows.append(row | {"method": plan.method, "noise": plan.noise})
    return rows


def chosen_row(plan: Plan) -> dict[str, Any]:
    """The study of a plan as a row of its chart."""
    measure = plan.target[0] if plan.target else "misordered"
    return {
        "n_items": plan.n_items,
        "n_comparisons": plan.n_comparisons,
        "error": getattr(plan, measure),
        "measure": measure,
        "method": plan.method,
        "noise": plan.noise,
    }
