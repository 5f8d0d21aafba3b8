"""The paper's claims about the N needed for the angle 0.3: figures 5 and 6."""

from collections.abc import Iterable, Sequence

import numpy as np

from pairscore.paper.rows import (
    Measured,
    Row,
    error_factor,
    levels,
    line_fit,
    relative_error,
    typical_deviation,
)
from pairscore.paper.verdicts import (
    FEW_FLIPS,
    HOLDS,
    Claim,
    extremes,
    increase,
    steps,
    verdict,
    with_minus,
)

SPECTRUM = (
    "N follows tr(Σ⁻¹), to which λ_d adds one direction of d. With eigenvalues equally spaced in"
    " [λ_d, 1] that is about "
    "(d − 1)/(1 − λ_d)·log(1/λ_d) + 1/λ_d: a logarithm, until 1/λ_d exceeds d. 1/λ_d is an upper bound, met if all eigenvalues are small. "
    "(At d = 10 the trace is not enough either: one direction dominates, and the mean angle is"
    " below its root mean square.)"
)


def linear_in_features(rows: Sequence[Row]) -> Claim:
    """N is a straight line in d."""
    fits = {}
    for key, mine in _each_need(rows, "min_eigenvalue"):
        x, y, error = np.array(
            [
                (row["n_features"], row["n_needed"], row["n_needed"] * relative_error(row))
                for row in mine
            ]
        ).T
        fits[key] = line_fit(x, y, error)
    straight = all(fit.p_value >= 0.01 / len(fits) for fit in fits.values())
    worst = min(fit.r_squared for fit in fits.values())
    words = tuple(
        f"{key}: N = {with_minus(fit.intercept, ',.0f')} + {fit.slope:.1f} d, R²"
        f" {fit.r_squared:.3f}, p {fit.p_value:.2g}"
        for key, fit in fits.items()
    )
    least = min(fit.p_value for fit in fits.values())
    return Claim(
        "The N needed for the angle 0.3 increases linearly in d.",
        "figure 5a–c",
        f"straight lines N = a + b d: R² at least {worst:.3f}, smallest p-value of a straight line"
        f" {least:.2g} among {len(fits)} curves",
        "Holds if R² ≥ 0.95 for every curve and no curve departs from a straight line by more than"
        " its standard errors explain (χ² at 1 % for all curves together); approximately if it does"
        " but R² ≥ 0.97.",
        verdict(straight and worst >= 0.95, worst >= 0.97),
        (
            "A line, not a proportion: where λ_d is small, the intercept is worth many features."
            if straight
            else "The points bend away from their line."
        ),
        words,
    )


def inverse_in_eigenvalue(rows: Sequence[Row]) -> Claim:
    """N is proportional to 1/lambda_d."""
    words, slopes, distances = [], {}, []
    for key, mine in _each_need(rows, "n_features"):
        x, y = np.array([(row["min_eigenvalue"], row["n_needed"]) for row in mine]).T
        trace = np.array([error_factor(row["n_features"], row["min_eigenvalue"]) for row in mine])
        slopes[key] = _weighted_slope(x, y, np.array([relative_error(row) for row in mine]))
        off = [
            typical_deviation(y, parts)
            for parts in (1 / x[:, None], np.column_stack([np.ones_like(x), 1 / x]), trace[:, None])
        ]
        distances.append(off)
        words.append(
            f"{key}: slope {slopes[key]}; off by {off[0]:.0%} for N ∝ 1/λ_d, {off[1]:.0%} for N = a"
            f" + b/λ_d, {off[2]:.0%} for N ∝ tr(Σ⁻¹)(1 + λ_d)"
        )
    away = max(max(abs(part.value + 1) - 2 * part.error, 0.0) for part in slopes.values())
    judged = verdict(away <= 0.1, away <= 0.25)
    return Claim(
        "The N needed for the angle 0.3 is inversely proportional to λ_d.",
        "figure 6a–c",
        f"slope of log N against log λ_d: {extremes(slopes)}. Typical distance of the points from N"
        f" ∝ 1/λ_d {_span(distances, 0)}, from N = a + b/λ_d {_span(distances, 1)}, from N ∝"
        f" tr(Σ⁻¹)(1 + λ_d) {_span(distances, 2)}",
        "Holds if every slope is −1 within 0.1 and two standard errors; approximately if within"
        " 0.25.",
        judged,
        "" if judged == HOLDS else SPECTRUM,
        tuple(words),
    )


def noise_raises_need(rows: Sequence[Row]) -> Claim:
    """N grows with the noise."""
    where = f"figure {rows[0]['figure']}a–c"
    sentence = (
        "More flipped labels need more items."
        if rows[0]["figure"] == "5"
        else "Increasing noise increases the required N."
    )
    return increase(
        sentence,
        where,
        "log ratio of the N needed, mean over d and λ_d: ",
        _need_steps(rows, "noise", "p_e"),
        FEW_FLIPS,
    )


def condition_raises_need(rows: Sequence[Row]) -> Claim:
    """N grows with the condition number."""
    downward = {
        key: Measured(-part.value, part.error)
        for key, part in _need_steps(rows, "min_eigenvalue", "λ_d").items()
    }
    found = {
        "λ_d = {1} → {0}".format(*key.removeprefix("λ_d = ").split(" → ")): part
        for key, part in downward.items()
    }
    sentence = "A larger condition number of the features' covariance needs more items."
    return increase(
        sentence, "figure 5a–c", "log ratio of the N needed, mean over d and p_e: ", found
    )


# -- parts -----------------------------------------------------------------------------------------------


def _each_need(rows: Sequence[Row], by: str) -> Iterable[tuple[str, list[Row]]]:
    sign = "d" if by == "n_features" else "λ_d"
    for noise in levels(rows, "noise"):
        for level in levels(rows, by):
            yield (
                f"p_e = {noise:g}, {sign} = {level:g}",
                [row for row in rows if row["noise"] == noise and row[by] == level],
            )


def _need_steps(rows: Sequence[Row], name: str, sign: str) -> dict[str, Measured]:
    """Mean log ratio of the N needed from each level of a setting to the next, all else equal."""
    others = [other for other in ("n_features", "min_eigenvalue", "noise") if other != name]
    table = {(row[name], *(row[other] for other in others)): row for row in rows}
    found = {}
    for low, high in steps(levels(rows, name)):
        pairs = [
            (table[low, *rest], table[high, *rest])
            for first, *rest in table
            if first == low and (high, *rest) in table
        ]
        ratios = [np.log(b["n_needed"] / a["n_needed"]) for a, b in pairs]
        errors = [np.hypot(relative_error(a), relative_error(b)) for a, b in pairs]
        found[f"{sign} = {low:g} → {high:g}"] = Measured(
            float(np.mean(ratios)), float(np.linalg.norm(errors) / len(errors))
        )
    return found


def _weighted_slope(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> Measured:
    coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, w=1 / error, cov=True)
    return Measured(float(coefficients[0]), float(np.sqrt(covariance[0, 0])))


def _span(distances: Sequence[Sequence[float]], place: int) -> str:
    values = [mine[place] for mine in distances]
    return f"{min(values):.0%} to {max(values):.0%}"
