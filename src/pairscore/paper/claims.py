"""The claims table: each sentence of the paper's experiments, judged on our numbers by a rule.

Claims about the error are on figures 2 to 4, claims about the N needed on figures 5 and 6. A claim
whose figure was not run, or was run with fewer than three generations, is left out: there is
nothing to judge it by.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pairscore.paper.experiments import TARGET
from pairscore.paper.rows import (
    Curve,
    Measurement,
    Row,
    comparison_share,
    curves,
    error_factor,
    jackknife,
    levels,
    line_fit,
    log_level,
    mean_of,
    pooled,
    relative_error,
    select,
    slope,
    squared,
    typical_deviation,
    weighted_slope,
    with_numbers,
)
from pairscore.paper.verdicts import (
    HOLDS,
    Claim,
    Measurements,
    extremes,
    judge_each,
    judge_increase,
    share_of_repeats,
    verdict,
    with_minus,
)

FEWEST_GENERATIONS = 3
INSIGNIFICANT, SMALL = 0.2, 1 / 3  # of the squared error: about a tenth and a fifth of the error
HALF_RATE = -0.25
SIGNS = {"n_features": "d", "min_eigenvalue": "λ_d", "noise": "p_e"}
FEW_FLIPS = (
    ": most of the error of this estimator is that of its covariance and of the draw of items,"
    " which flipped labels hardly touch until they are many"
)
SPECTRUM = (
    "N follows tr(Σ⁻¹), to which λ_d adds one direction of d. With eigenvalues equally spaced in"
    " [λ_d, 1] that is about (d − 1)/(1 − λ_d)·log(1/λ_d) + 1/λ_d: a logarithm, until 1/λ_d exceeds"
    " d. 1/λ_d is an upper bound, met if all eigenvalues are small. (At d = 10 the trace is not"
    " enough either: one direction dominates, and the mean angle is below its root mean square.)"
)


def check_claims(
    rows: Iterable[Row], needed: Iterable[Row] = (), predicted: Iterable[Row] = ()
) -> list[Claim]:
    """Judge every claim that the rows can decide, in the paper's order.

    ``rows`` and ``needed`` are those of rows.csv and needed.csv, ``predicted`` those of
    `predicted_errors`; they add what theory expects.
    """
    rows, needed, predicted = with_numbers(rows), with_numbers(needed), with_numbers(predicted)
    fig_2a, fig_2b = (_judged_rows(rows, figure="2", panel=panel) for panel in "ab")
    fig_3, fig_4 = (_judged_rows(rows, figure=figure) for figure in "34")
    fig_5, fig_6 = (_judged_needs(needed, figure) for figure in "56")
    judges: list[tuple[Callable[..., Claim], Sequence[Row], tuple[Any, ...]]] = [
        (convergence, fig_2a, ("norm_error",)),
        (inverse_square, fig_2a, ()),
        (comparisons_help, fig_2b, ("norm_error",)),
        (
            comparisons_stop_helping,
            fig_2b,
            ("norm_error", select(predicted, figure="2", panel="b")),
        ),
        (target_reached, fig_3, (select(needed, figure="5"),)),
        (convergence, fig_3, ("angle",)),
        (features_raise_error, fig_3, ()),
        (noise_raises_error, fig_3, ()),
        (comparisons_help, fig_4, ("angle",)),
        (comparisons_stop_helping, fig_4, ("angle", select(predicted, figure="4"))),
        (linear_in_features, fig_5, ()),
        (noise_raises_need, fig_5, ()),
        (condition_raises_need, fig_5, ()),
        (inverse_in_eigenvalue, fig_6, ()),
        (noise_raises_need, fig_6, ()),
    ]
    return [judge(judged, *more) for judge, judged, more in judges if judged]


def _judged_rows(rows: Sequence[Row], **values: Any) -> list[Row]:
    """The rows to judge by; none if there are too few generations."""
    mine = select(rows, **values)
    return mine if len({row["generation"] for row in mine}) >= FEWEST_GENERATIONS else []


def _judged_needs(needed: Sequence[Row], figure: str) -> list[Row]:
    mine = [
        row
        for row in select(needed, figure=figure)
        if np.isfinite([row["n_needed"], row["low"], row["high"]]).all()
    ]
    fewest = min((row["n_generations"] for row in mine), default=0)
    return mine if fewest >= FEWEST_GENERATIONS else []


# -- the error: figures 2 to 4 ---------------------------------------------------------------------


def convergence(rows: Sequence[Row], measure: str) -> Claim:
    """The error falls with N, at a rate that leads to zero."""
    slopes = {name: slope(curve) for name, curve in _each_curve(rows, "n_items", measure)}
    sentence = "For each d the error ‖β̂ − c₁β‖ falls as N grows, and β̂ converges to c₁β."
    where, why = "figure 2a", ""
    if measure == "angle":
        where = "figure 3a–c"
        sentence = (
            "For every noise level more items lower the error as far as desired: β̂ recovers the"
            " direction of β."
        )
        why = (
            "Where d is near N the fall is not yet a power of N: angles cannot exceed a right"
            " angle, and the covariance of few items is poor."
        )
    return judge_each(
        sentence,
        where,
        "slope of log error against log N: ",
        slopes,
        f"Holds if every slope is below {with_minus(HALF_RATE)} (half the rate of 1/√N) by two"
        " standard errors; approximately if every slope is below 0 by as much.",
        (lambda part: part.high < HALF_RATE, lambda part: part.high < 0),
        why,
    )


def inverse_square(rows: Sequence[Row]) -> Claim:
    """N goes as one over the squared error."""
    middle = np.sqrt(np.prod([edge(row["n_items"] for row in rows) for edge in (min, max)]))
    slopes = {
        name: slope(curve, low=0.99 * middle)
        for name, curve in _each_curve(rows, "n_items", "norm_error")
    }
    return judge_each(
        "N has to grow as the inverse square of the error ε.",
        "caption of figure 4, measured on 2a",
        f"slope of log error against log N for N ≥ {middle:,.0f} (−0.5 is the inverse square): ",
        slopes,
        "Holds if every slope is −0.5 within 0.05 and two standard errors; approximately if within"
        " 0.15.",
        (lambda part: part.distance(-0.5) <= 0.05, lambda part: part.distance(-0.5) <= 0.15),
    )


def comparisons_help(rows: Sequence[Row], measure: str) -> Claim:
    """The error falls with M."""
    reference = _n_log_n(rows)
    slopes = {
        name: slope(curve, high=reference)
        for name, curve in _each_curve(rows, "n_comparisons", measure)
    }
    return judge_each(
        f"With N fixed, more comparisons M reduce the error{_at_every_noise(measure)}.",
        _place(rows),
        f"slope of log error against log M up to M = N log N = {reference:,.0f}: ",
        slopes,
        "Holds if every slope is below 0 by two standard errors; approximately if every slope is"
        " below 0.",
        (lambda part: part.high < 0, lambda part: part.value < 0),
    )


def comparisons_stop_helping(
    rows: Sequence[Row], measure: str, predicted: Sequence[Row] = ()
) -> Claim:
    """After M = N log N the error hardly falls."""
    reference = _n_log_n(rows)
    shares, words = {}, []
    for noise in levels(rows, "noise"):
        name, mine = f"p_e = {noise:g}", select(rows, noise=noise)
        shares[name] = pooled(
            [
                _share_left(curve, reference, measure)
                for _, curve in _each_curve(mine, "n_comparisons", measure)
            ]
        )
        expected = _predicted_shares(select(predicted, noise=noise), reference, measure)
        words.append(f"{name}: {shares[name]}{expected}")

    def judge(parts: Measurements) -> str:
        worst = max(share.value for share in parts.values())
        return verdict(worst < INSIGNIFICANT, worst < SMALL)

    large = [name for name, share in shares.items() if share.value >= INSIGNIFICANT]
    return Claim(
        "Once M = N log N, the further reduction of the error is"
        f" insignificant{_at_every_noise(measure)}.",
        _place(rows),
        f"share of the squared error at M = N log N = {reference:,.0f} that unlimited comparisons"
        f" would still remove: {'; '.join(words)}",
        "Holds if the share is below 0.2 (a tenth of the error) at every noise level; approximately"
        " if below a third. The squared error (of an angle: the squared tangent of its mean) is"
        " fitted by A + B/M for M ≥ N, all d weighted by their precision.",
        judge(shares),
        f"Not at {', '.join(large)}: the more labels are flipped, the more of the error is the"
        " labels' own, which is what M averages out. N log N does not depend on the noise."
        if large
        else "",
        repeats=share_of_repeats(shares, judge),
    )


def target_reached(rows: Sequence[Row], needed: Sequence[Row] = ()) -> Claim:
    """Angle 0.3 for every d and noise."""
    last = max(row["n_items"] for row in rows)
    angles = {
        name: mean_of(curve.values[-1]) for name, curve in _each_curve(rows, "n_items", "angle")
    }
    late = [name for name, angle in angles.items() if angle.value > TARGET]
    solved = {
        f"p_e = {row['noise']:g}, d = {row['n_features']:g}": (
            f"N = {row['n_needed']:,.0f} ({row['low']:,.0f} to {row['high']:,.0f})"
        )
        for row in needed
        if np.isclose(row["min_eigenvalue"], rows[0]["min_eigenvalue"])
    }
    why = f"Above 0.3 at {'; '.join(late)}." if late else ""
    if words := [f"{name}: {solved[name]}" for name in late if name in solved]:
        why += f" Solved for in figure 5, 0.3 is met at {'; '.join(words)}."
    return judge_each(
        "As N grows within 300 to 3·10⁴, the angle 0.3 is reached for all d and all p_e.",
        "figure 3a–c",
        f"mean angle at N = {last:,.0f}: ",
        angles,
        "Holds if every mean is at most 0.3; approximately if none is above 0.3 by more than two"
        " standard errors.",
        (lambda angle: angle.value <= TARGET, lambda angle: angle.low <= TARGET),
        why,
    )


def features_raise_error(rows: Sequence[Row]) -> Claim:
    """The error grows with d."""
    ratios = {}
    for noise in levels(rows, "noise"):
        by_d = curves(select(rows, noise=noise), "n_features", "n_items", "angle")
        level = {d: mean_of(log_level(curve)) for d, curve in by_d.items()}
        for few, many in pairwise(level):
            ratios[f"p_e = {noise:g}, d = {few:g} → {many:g}"] = Measurement(
                level[many].value - level[few].value,
                float(np.hypot(level[few].error, level[many].error)),
                min(level[few].freedom, level[many].freedom),
            )
    what = "log ratio of the angles, mean over N: "
    return judge_increase("The error increases with d.", "figure 3a–c", what, ratios)


def noise_raises_error(rows: Sequence[Row]) -> Claim:
    """The error grows with the noise."""
    level = {}
    for noise in levels(rows, "noise"):
        by_d = curves(select(rows, noise=noise), "n_features", "n_items", "angle")
        level[noise] = np.mean([log_level(curve) for curve in by_d.values()], axis=0)
    ratios = {
        f"p_e = {low:g} → {high:g}": mean_of(level[high] - level[low])
        for low, high in pairwise(level)
    }
    what = "log ratio of the angles on the same populations, mean over N and d: "
    return judge_increase("Noise increases the error.", "figure 3a–c", what, ratios, FEW_FLIPS)


def _each_curve(rows: Sequence[Row], x: str, y: str) -> Iterator[tuple[str, Curve]]:
    """The curves of all noise levels and d, with a name for each."""
    noises = levels(rows, "noise")
    for noise in noises:
        prefix = f"p_e = {noise:g}, " if len(noises) > 1 else ""
        for d, curve in curves(select(rows, noise=noise), "n_features", x, y).items():
            yield f"{prefix}d = {d:g}", curve


def _share_left(curve: Curve, reference: float, measure: str) -> Measurement:
    large = curve.x >= reference / np.log(reference)  # about N: where a squared error is A + B/M
    m = curve.x[large]
    return jackknife(
        np.array(curve.values)[large],
        lambda values: comparison_share(m, squared(values.mean(axis=1), measure), reference),
    )


def _predicted_shares(predicted: Sequence[Row], reference: float, measure: str) -> str:
    """The smallest and largest predicted share over all d, in words."""
    shares = []
    for d in levels(predicted, "n_features"):
        mine = select(predicted, n_features=d)
        inverse, error = np.array(
            sorted((1 / row["n_comparisons"], row[measure]) for row in mine)
        ).T
        square = squared(error, measure)
        shares.append(1 - square[0] / np.interp(1 / reference, inverse, square))
    edges = sorted({f"{edge(shares):.2f}" for edge in (min, max)}) if shares else []
    return f" (predicted {' to '.join(edges)})" if shares else ""


def _n_log_n(rows: Sequence[Row]) -> float:
    n = rows[0]["n_items"]
    return float(n * np.log(n))


def _at_every_noise(measure: str) -> str:
    return " at every noise level" if measure == "angle" else ""


def _place(rows: Sequence[Row]) -> str:
    """``figure 2b``, ``figure 4a–c``."""
    panels = levels(rows, "panel")
    return f"figure {rows[0]['figure']}{panels[0]}" + (f"–{panels[-1]}" if panels[1:] else "")


# -- the N needed: figures 5 and 6 -----------------------------------------------------------------


def linear_in_features(rows: Sequence[Row]) -> Claim:
    """N is a straight line in d."""
    fits = {}
    for name, mine in _each_need(rows, "min_eigenvalue"):
        d, n = (np.array([float(row[key]) for row in mine]) for key in ("n_features", "n_needed"))
        errors = n * [relative_error(row) for row in mine]
        fits[name] = line_fit(d, n, errors, mine[0]["n_generations"] - 1)
    straight = all(fit.p_value >= 0.01 / len(fits) for fit in fits.values())
    typical = float(np.median([relative_error(row) for row in rows]))
    worst, least = (
        min(getattr(fit, name) for fit in fits.values()) for name in ("r_squared", "p_value")
    )
    return Claim(
        "The N needed for the angle 0.3 increases linearly in d.",
        "figure 5a–c",
        f"straight lines N = a + b d: R² at least {worst:.3f}, smallest p-value of a straight line"
        f" {least:.2g} among {len(fits)} curves; each N is known to ± {typical:.0%}, and a smaller"
        " bend would not be seen",
        "Holds if R² ≥ 0.95 for every curve and no curve departs from a straight line by more than"
        " its standard errors explain (χ² at 1 % for all curves together); approximately if it does"
        " but R² ≥ 0.97.",
        verdict(straight and worst >= 0.95, worst >= 0.97),
        "A line, not a proportion: where λ_d is small, the intercept is worth many features."
        if straight
        else "The points bend away from their line.",
        tuple(
            f"{name}: N = {with_minus(fit.intercept, ',.0f')} + {fit.slope:.1f} d,"
            f" R² {fit.r_squared:.3f}, p {fit.p_value:.2g}"
            for name, fit in fits.items()
        ),
    )


def inverse_in_eigenvalue(rows: Sequence[Row]) -> Claim:
    """N is proportional to 1/λ_d."""
    laws = ("N ∝ 1/λ_d", "N = a + b/λ_d", "N ∝ tr(Σ⁻¹)(1 + λ_d)")
    slopes, distances, words = {}, [], []
    for name, mine in _each_need(rows, "n_features"):
        x, y = (
            np.array([float(row[key]) for row in mine]) for key in ("min_eigenvalue", "n_needed")
        )
        slopes[name] = weighted_slope(x, y, np.array([relative_error(row) for row in mine]))
        trace = np.array([error_factor(row["n_features"], row["min_eigenvalue"]) for row in mine])
        parts = (1 / x[:, None], np.column_stack([np.ones_like(x), 1 / x]), trace[:, None])
        distances.append([typical_deviation(y, part) for part in parts])
        off = [f"{value:.0%} for {law}" for value, law in zip(distances[-1], laws, strict=True)]
        words.append(f"{name}: slope {slopes[name]}; off by {', '.join(off)}")
    spans = [
        f"from {law} {min(column):.0%} to {max(column):.0%}"
        for law, *column in zip(laws, *distances, strict=True)
    ]

    def judge(parts: Measurements) -> str:
        away = max(part.distance(-1) for part in parts.values())
        return verdict(away <= 0.1, away <= 0.25)

    judged = judge(slopes)
    return Claim(
        "The N needed for the angle 0.3 is inversely proportional to λ_d.",
        "figure 6a–c",
        f"slope of log N against log λ_d: {extremes(slopes)}. Typical distance of the points"
        f" {', '.join(spans)}",
        "Holds if every slope is −1 within 0.1 and two standard errors; approximately if within"
        " 0.25.",
        judged,
        "" if judged == HOLDS else SPECTRUM,
        tuple(words),
        share_of_repeats(slopes, judge),
    )


def noise_raises_need(rows: Sequence[Row]) -> Claim:
    """N grows with the noise."""
    figure = rows[0]["figure"]
    sentences = {
        "5": "More flipped labels need more items.",
        "6": "Increasing noise increases the required N.",
    }
    what = "log ratio of the N needed, mean over d and λ_d: "
    ratios = _need_ratios(rows, "noise")
    return judge_increase(sentences[figure], f"figure {figure}a–c", what, ratios, FEW_FLIPS)


def condition_raises_need(rows: Sequence[Row]) -> Claim:
    """N grows with the condition number, which is 1/λ_d."""
    return judge_increase(
        "A larger condition number of the features' covariance needs more items.",
        "figure 5a–c",
        "log ratio of the N needed, mean over d and p_e: ",
        _need_ratios(rows, "min_eigenvalue", downward=True),
    )


def _each_need(rows: Sequence[Row], by: str) -> Iterator[tuple[str, list[Row]]]:
    for noise in levels(rows, "noise"):
        for level in levels(rows, by):
            name = f"p_e = {noise:g}, {SIGNS[by]} = {level:g}"
            yield name, select(rows, **{"noise": noise, by: level})


def _need_ratios(rows: Sequence[Row], name: str, downward: bool = False) -> dict[str, Measurement]:
    """Mean log ratio of the N needed from each level of a setting to the next, all else equal."""
    others = [other for other in SIGNS if other != name]
    table = {(row[name], *(row[other] for other in others)): row for row in rows}
    found = {}
    for low, high in pairwise(levels(rows, name)):
        first, second = (high, low) if downward else (low, high)
        pairs = [
            (table[first, *rest], table[second, *rest])
            for level, *rest in table
            if level == low and (high, *rest) in table
        ]
        ratios = [np.log(b["n_needed"] / a["n_needed"]) for a, b in pairs]
        errors = [np.hypot(relative_error(a), relative_error(b)) for a, b in pairs]
        found[f"{SIGNS[name]} = {first:g} → {second:g}"] = Measurement(
            float(np.mean(ratios)),
            float(np.linalg.norm(errors) / len(errors)),
            sum(row["n_generations"] - 1 for pair in pairs for row in pair),
        )
    return found
