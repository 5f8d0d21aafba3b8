"""The claims table: each sentence of the paper's experiments against our own numbers, by a stated rule.

A claim whose figure was not run, or with fewer than three generations, is left out: there is nothing to judge it by.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.paper.measures import (
    Measured,
    comparison_share,
    error_factor,
    jackknife,
    line_fit,
    log_level,
    mean_of,
    pooled,
    relative_error,
    slope,
    typical_deviation,
)
from pairscore.paper.needed import TARGET
from pairscore.paper.tidy import Curve, Row, curves, levels, of_figure, with_numbers

FEWEST_GENERATIONS = 3
INSIGNIFICANT, SMALL = 0.2, 1 / 3  # of the squared error: about a tenth and a fifth of the error
HOLDS, APPROXIMATELY, NOT = "holds", "holds approximately", "does not hold"
HALF_RATE = -0.25
FEW_FLIPS = ": most of the error of this estimator is that of its covariance and of the draw of items, which flipped labels hardly touch until they are many"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what we measured, and whether it holds by the rule; ``why`` it does not, or what to know; ``details`` curve by curve."""

    sentence: str
    where: str
    measured: str
    rule: str
    verdict: str
    why: str = ""
    details: tuple[str, ...] = ()


def check_claims(rows: Iterable[Row], needed: Iterable[Row] = (), predicted: Iterable[Row] = ()) -> list[Claim]:
    """Judge every claim that the rows can decide, in the paper's order. ``predicted`` rows add what theory expects."""
    rows, needed, predicted = with_numbers(rows), with_numbers(needed), with_numbers(predicted)
    judged: list[tuple[Callable[..., Claim], Sequence[Row], tuple[Any, ...]]] = [
        (convergence, _panel_rows(rows, "2", "a"), ("norm_error",)),
        (inverse_square, _panel_rows(rows, "2", "a"), ()),
        (comparisons_help, _panel_rows(rows, "2", "b"), ("norm_error",)),
        (comparisons_stop_helping, _panel_rows(rows, "2", "b"), ("norm_error", of_figure(predicted, "2", "b"))),
        (target_reached, _panel_rows(rows, "3"), (of_figure(needed, "5"),)),
        (convergence, _panel_rows(rows, "3"), ("angle",)),
        (grows_with_features, _panel_rows(rows, "3"), ()),
        (noise_raises_error, _panel_rows(rows, "3"), ()),
        (comparisons_help, _panel_rows(rows, "4"), ("angle",)),
        (comparisons_stop_helping, _panel_rows(rows, "4"), ("angle", of_figure(predicted, "4"))),
        (linear_in_features, _needed_rows(needed, "5"), ()),
        (noise_raises_need, _needed_rows(needed, "5"), ()),
        (condition_raises_need, _needed_rows(needed, "5"), ()),
        (inverse_in_eigenvalue, _needed_rows(needed, "6"), ()),
        (noise_raises_need, _needed_rows(needed, "6"), ()),
    ]
    return [judge(chosen, *more) for judge, chosen, more in judged if chosen]


def verdict(holds: bool, approximately: bool) -> str:
    """One of three."""
    return HOLDS if holds else APPROXIMATELY if approximately else NOT


# -- figures 2 to 4: error against N and M -------------------------------------------------------------


def convergence(rows: Sequence[Row], measure: str) -> Claim:
    """The error falls with N, at a rate that leads to zero."""
    found = {key: slope(curve) for key, curve in _each_curve(rows, "n_items", measure)}
    angle = measure == "angle"
    return Claim(
        "For every noise level more items lower the error as far as one likes: β̂ recovers the direction of β."
        if angle
        else "For each d the error ‖β̂ − c₁β‖ falls as N grows, and β̂ converges to c₁β.",  # noqa: RUF001
        "figure 3a–c" if angle else "figure 2a",  # noqa: RUF001
        "slope of log error against log N: " + _range(found),
        f"Holds if every slope is below {_minus(HALF_RATE)} (half the rate of 1/√N) by two standard errors; approximately if every slope is below 0 by as much.",
        verdict(all(part.high < HALF_RATE for part in found.values()), all(part.high < 0 for part in found.values())),
        "Where d is near N the fall is not yet a power of N: angles cannot exceed a right angle, and the covariance of few items is poor." if angle else "",
        _each(found),
    )


def inverse_square(rows: Sequence[Row]) -> Claim:
    """N goes as one over the squared error."""
    middle = np.sqrt(np.prod([edge(row["n_items"] for row in rows) for edge in (min, max)]))
    found = {key: slope(curve, low=0.99 * middle) for key, curve in _each_curve(rows, "n_items", "norm_error")}
    away = [max(abs(part.value + 0.5) - 2 * part.error, 0.0) for part in found.values()]
    return Claim(
        "N has to grow as the inverse square of the error ε.",
        "caption of figure 4, measured on 2a",
        f"slope of log error against log N for N ≥ {middle:,.0f} (−0.5 is the inverse square): " + _range(found),  # noqa: RUF001
        "Holds if every slope is −0.5 within 0.05 and two standard errors; approximately if within 0.15.",  # noqa: RUF001
        verdict(max(away) <= 0.05, max(away) <= 0.15),
        details=_each(found),
    )


def comparisons_help(rows: Sequence[Row], measure: str) -> Claim:
    """The error falls with M."""
    reference = _n_log_n(rows)
    found = {key: slope(curve, high=reference) for key, curve in _each_curve(rows, "n_comparisons", measure)}
    return Claim(
        "With N fixed, more comparisons M reduce the error" + (" at every noise level." if measure == "angle" else "."),
        _where(rows),
        f"slope of log error against log M up to M = N log N = {reference:,.0f}: " + _range(found),
        "Holds if every slope is below 0 by two standard errors; approximately if every slope is below 0.",
        verdict(all(part.high < 0 for part in found.values()), all(part.value < 0 for part in found.values())),
        details=_each(found),
    )


def comparisons_stop_helping(rows: Sequence[Row], measure: str, predicted: Sequence[Row] = ()) -> Claim:
    """After M = N log N the error hardly falls."""
    reference = _n_log_n(rows)
    found, expected = {}, {}
    for noise in levels(rows, "noise"):
        here = [row for row in rows if row["noise"] == noise]
        found[f"p_e = {noise:g}"] = pooled([_share_left(curve, reference, measure) for _, curve in _each_curve(here, "n_comparisons", measure)])
        floors = [_predicted_share(predicted, noise, d, reference, measure) for d in levels(here, "n_features")] if predicted else []
        expected[f"p_e = {noise:g}"] = f" (predicted {min(floors):.2f}–{max(floors):.2f})" if floors else ""  # noqa: RUF001
    worst = max(part.value for part in found.values())
    spoiled = [name for name, part in found.items() if part.value >= INSIGNIFICANT]
    return Claim(
        "Once M = N log N, the further reduction of the error is insignificant" + (" at every noise level." if measure == "angle" else "."),
        _where(rows),
        f"share of the squared error at M = N log N = {reference:,.0f} that unlimited comparisons would still remove: "
        + "; ".join(f"{name}: {part}{expected[name]}" for name, part in found.items()),
        "Holds if the share is below 0.2 (a tenth of the error) at every noise level; approximately if below a third. The squared error (of an angle: the squared "
        "tangent of its mean) is fitted by A + B/M for M ≥ N, all d weighted by their precision.",
        verdict(worst < INSIGNIFICANT, worst < SMALL),
        f"Not at {', '.join(spoiled)}: the more labels are flipped, the more of the error is the labels' own, which is what M averages out. N log N knows nothing of the noise."
        if spoiled
        else "",
    )


def target_reached(rows: Sequence[Row], needed: Sequence[Row] = ()) -> Claim:
    """Angle 0.3 for every d and noise."""
    last = max(row["n_items"] for row in rows)
    found = {key: mean_of(curve.values[-1]) for key, curve in _each_curve(rows, "n_items", "angle")}
    late = [name for name, part in found.items() if part.value > TARGET]
    needs = {f"p_e = {row['noise']:g}, d = {row['n_features']:g}": row for row in needed if np.isclose(row["min_eigenvalue"], rows[0]["min_eigenvalue"])}
    words = [f"{name} needs N = {needs[name]['n_needed']:,.0f} ({needs[name]['low']:,.0f} to {needs[name]['high']:,.0f})" for name in late if name in needs]
    return Claim(
        "As N grows within 300 to 3·10⁴, the angle 0.3 is reached for all d and all p_e.",
        "figure 3a–c",  # noqa: RUF001
        f"mean angle at N = {last:,.0f}: " + _range(found),
        "Holds if every mean is at most 0.3; approximately if none is above 0.3 by more than two standard errors.",
        verdict(not late, all(part.low <= TARGET for part in found.values())),
        (f"Above 0.3 at {'; '.join(late)}. " + ". ".join(words)).strip() if late else "",
        _each(found),
    )


def grows_with_features(rows: Sequence[Row]) -> Claim:
    """The error grows with d."""
    found = {}
    for noise in levels(rows, "noise"):
        along = curves([row for row in rows if row["noise"] == noise], "n_features", "n_items", "angle")
        steps = zip(along.items(), list(along.items())[1:], strict=False)
        for (few, fewer), (many, more) in steps:
            a, b = mean_of(log_level(fewer)), mean_of(log_level(more))
            found[f"p_e = {noise:g}, d = {few:g} → {many:g}"] = Measured(b.value - a.value, float(np.hypot(a.error, b.error)))
    return _increase("The error increases with d.", "figure 3a–c", "log ratio of the angles, mean over N: ", found)  # noqa: RUF001


def noise_raises_error(rows: Sequence[Row]) -> Claim:
    """The error grows with the noise."""
    along = {noise: curves([row for row in rows if row["noise"] == noise], "n_features", "n_items", "angle") for noise in levels(rows, "noise")}
    level = {noise: np.mean([log_level(curve) for curve in mine.values()], axis=0) for noise, mine in along.items()}
    found = {f"p_e = {low:g} → {high:g}": mean_of(level[high] - level[low]) for low, high in _steps(level)}
    return _increase("Noise increases the error.", "figure 3a–c", "log ratio of the angles on the same populations, mean over N and d: ", found, FEW_FLIPS)  # noqa: RUF001


# -- figures 5 and 6: the N needed -----------------------------------------------------------------------


def linear_in_features(rows: Sequence[Row]) -> Claim:
    """N is a straight line in d."""
    fits = {}
    for key, mine in _each_need(rows, "min_eigenvalue"):
        x, y, error = np.array([(row["n_features"], row["n_needed"], row["n_needed"] * relative_error(row)) for row in mine]).T
        fits[key] = line_fit(x, y, error)
    straight = all(fit.p_value >= 0.01 / len(fits) for fit in fits.values())
    worst = min(fit.r_squared for fit in fits.values())
    words = tuple(f"{key}: N = {_minus(fit.intercept, ',.0f')} + {fit.slope:.1f} d, R² {fit.r_squared:.3f}, p {fit.p_value:.2g}" for key, fit in fits.items())
    least = min(fit.p_value for fit in fits.values())
    return Claim(
        "The N needed for the angle 0.3 increases linearly in d.",
        "figure 5a–c",  # noqa: RUF001
        f"straight lines N = a + b d: R² at least {worst:.3f}, smallest p-value of a straight line {least:.2g} among {len(fits)} curves",
        "Holds if R² ≥ 0.95 for every curve and no curve departs from a straight line by more than its standard errors explain (χ² at 1 % for all curves together); "
        "approximately if it does but R² ≥ 0.97.",
        verdict(straight and worst >= 0.95, worst >= 0.97),
        "A line, not a proportion: where λ_d is small, the intercept is worth many features." if straight else "The points bend away from their line.",
        words,
    )


def inverse_in_eigenvalue(rows: Sequence[Row]) -> Claim:
    """N is proportional to 1/lambda_d."""
    words, slopes, distances = [], {}, []
    for key, mine in _each_need(rows, "n_features"):
        x, y = np.array([(row["min_eigenvalue"], row["n_needed"]) for row in mine]).T
        trace = np.array([error_factor(row["n_features"], row["min_eigenvalue"]) for row in mine])
        slopes[key] = _weighted_slope(x, y, np.array([relative_error(row) for row in mine]))
        off = [typical_deviation(y, parts) for parts in (1 / x[:, None], np.column_stack([np.ones_like(x), 1 / x]), trace[:, None])]
        distances.append(off)
        words.append(f"{key}: slope {slopes[key]}; off by {off[0]:.0%} for N ∝ 1/λ_d, {off[1]:.0%} for N = a + b/λ_d, {off[2]:.0%} for N ∝ tr(Σ⁻¹)(1 + λ_d)")
    away = max(max(abs(part.value + 1) - 2 * part.error, 0.0) for part in slopes.values())
    judged = verdict(away <= 0.1, away <= 0.25)
    return Claim(
        "The N needed for the angle 0.3 is inversely proportional to λ_d.",
        "figure 6a–c",  # noqa: RUF001
        f"slope of log N against log λ_d: {_range(slopes)}. Typical distance of the points from N ∝ 1/λ_d {_span(distances, 0)}, from N = a + b/λ_d {_span(distances, 1)}, "
        f"from N ∝ tr(Σ⁻¹)(1 + λ_d) {_span(distances, 2)}",
        "Holds if every slope is −1 within 0.1 and two standard errors; approximately if within 0.25.",  # noqa: RUF001
        judged,
        ""
        if judged == HOLDS
        else "N follows tr(Σ⁻¹), to which λ_d adds one direction of d. With eigenvalues equally spaced in [λ_d, 1] that is about "
        "(d − 1)/(1 − λ_d)·log(1/λ_d) + 1/λ_d: a logarithm, until 1/λ_d exceeds d. 1/λ_d is an upper bound, met if all eigenvalues are small.",  # noqa: RUF001
        tuple(words),
    )


def noise_raises_need(rows: Sequence[Row]) -> Claim:
    """N grows with the noise."""
    where = f"figure {rows[0]['figure']}a–c"  # noqa: RUF001
    sentence = "More flipped labels need more items." if rows[0]["figure"] == "5" else "Increasing noise increases the required N."
    return _increase(sentence, where, "log ratio of the N needed, mean over d and λ_d: ", _need_steps(rows, "noise", "p_e"), FEW_FLIPS)


def condition_raises_need(rows: Sequence[Row]) -> Claim:
    """N grows with the condition number."""
    steps = {key: Measured(-part.value, part.error) for key, part in _need_steps(rows, "min_eigenvalue", "λ_d").items()}
    found = {"λ_d = {1} → {0}".format(*key.removeprefix("λ_d = ").split(" → ")): part for key, part in steps.items()}
    sentence = "A larger condition number of the features' covariance needs more items."
    return _increase(sentence, "figure 5a–c", "log ratio of the N needed, mean over d and p_e: ", found)  # noqa: RUF001


# -- parts -----------------------------------------------------------------------------------------------


def _panel_rows(rows: Sequence[Row], figure: str, panel: str | None = None) -> list[Row]:
    """The rows to judge by; none if there are too few generations."""
    mine = of_figure(rows, figure, panel)
    return mine if len({row["generation"] for row in mine}) >= FEWEST_GENERATIONS else []


def _needed_rows(needed: Sequence[Row], figure: str) -> list[Row]:
    mine = [row for row in of_figure(needed, figure) if np.isfinite([row["n_needed"], row["low"], row["high"]]).all()]
    return mine if min((row["n_generations"] for row in mine), default=0) >= FEWEST_GENERATIONS else []


def _each_curve(rows: Sequence[Row], x: str, y: str) -> Iterable[tuple[str, Curve]]:
    several = len(levels(rows, "noise")) > 1
    for noise in levels(rows, "noise"):
        for d, curve in curves([row for row in rows if row["noise"] == noise], "n_features", x, y).items():
            yield (f"p_e = {noise:g}, " if several else "") + f"d = {d:g}", curve


def _each_need(rows: Sequence[Row], by: str) -> Iterable[tuple[str, list[Row]]]:
    sign = "d" if by == "n_features" else "λ_d"
    for noise in levels(rows, "noise"):
        for level in levels(rows, by):
            yield f"p_e = {noise:g}, {sign} = {level:g}", [row for row in rows if row["noise"] == noise and row[by] == level]


def _need_steps(rows: Sequence[Row], name: str, sign: str) -> dict[str, Measured]:
    """Mean log ratio of the N needed from each level of a setting to the next, all else equal."""
    others = [other for other in ("n_features", "min_eigenvalue", "noise") if other != name]
    table = {(row[name], *(row[other] for other in others)): row for row in rows}
    found = {}
    for low, high in _steps(levels(rows, name)):
        pairs = [(table[low, *rest], table[high, *rest]) for first, *rest in table if first == low and (high, *rest) in table]
        ratios = [np.log(b["n_needed"] / a["n_needed"]) for a, b in pairs]
        errors = [np.hypot(relative_error(a), relative_error(b)) for a, b in pairs]
        found[f"{sign} = {low:g} → {high:g}"] = Measured(float(np.mean(ratios)), float(np.linalg.norm(errors) / len(errors)))
    return found


def _increase(sentence: str, where: str, what: str, found: dict[str, Measured], cause: str = "") -> Claim:
    """A claim that something grows from each step to the next."""
    uncertain = [key for key, part in found.items() if part.low <= 0]
    total = sum(part.value for part in found.values())
    return Claim(
        sentence,
        where,
        what + _listed(found),
        "Holds if every log ratio is above 0 by two standard errors; approximately if none is below 0 by two standard errors and their sum is above 0.",
        verdict(not uncertain, total > 0 and all(part.high >= 0 for part in found.values())),
        f"No increase to be told from chance at {'; '.join(uncertain)}{cause}." if uncertain else "",
    )


def _share_left(curve: Curve, reference: float, measure: str) -> Measured:
    kept = curve.x >= reference / np.log(reference)  # about N: where a squared error is A + B/M
    m = curve.x[kept]
    return jackknife(np.array(curve.values)[kept], lambda values: comparison_share(m, _square(values.mean(axis=1), measure), reference))


def _predicted_share(predicted: Sequence[Row], noise: float, d: float, reference: float, measure: str) -> float:
    mine = sorted((1 / row["n_comparisons"], row[measure]) for row in predicted if row["noise"] == noise and row["n_features"] == d)
    inverse, error = np.array(mine).T
    square = _square(error, measure)
    return float(1 - square[0] / np.interp(1 / reference, inverse, square))


def _square(mean_error: np.ndarray, measure: str) -> np.ndarray:
    return (np.tan(mean_error) if measure == "angle" else mean_error) ** 2


def _weighted_slope(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> Measured:
    coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, w=1 / error, cov=True)
    return Measured(float(coefficients[0]), float(np.sqrt(covariance[0, 0])))


def _n_log_n(rows: Sequence[Row]) -> float:
    n = rows[0]["n_items"]
    return float(n * np.log(n))


def _where(rows: Sequence[Row]) -> str:
    panels = levels(rows, "panel")
    return f"figure {rows[0]['figure']}{panels[0]}" + (f"–{panels[-1]}" if len(panels) > 1 else "")  # noqa: RUF001


def _steps(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    chain = list(values)
    return list(zip(chain, chain[1:], strict=False))


def _listed(found: dict[str, Measured]) -> str:
    return "; ".join(f"{name}: {part}" for name, part in found.items())


def _each(found: dict[str, Measured]) -> tuple[str, ...]:
    return tuple(f"{name}: {part}" for name, part in found.items())


def _range(found: dict[str, Measured]) -> str:
    """The smallest and the largest."""
    low, high = (edge(found.values(), key=lambda part: part.value) for edge in (min, max))
    return f"{low}" if low == high else f"{low} to {high}"


def _span(distances: Sequence[Sequence[float]], place: int) -> str:
    values = [mine[place] for mine in distances]
    return f"{min(values):.0%} to {max(values):.0%}"


def _minus(value: float, form: str = "g") -> str:
    return format(value, form).replace("-", "−")  # noqa: RUF001
