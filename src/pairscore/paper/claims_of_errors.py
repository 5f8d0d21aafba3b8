"""The paper's claims about the error: figures 2 to 4."""

from collections.abc import Iterable, Sequence

import numpy as np

from pairscore.paper.experiments import TARGET
from pairscore.paper.rows import (
    Curve,
    Measured,
    Row,
    comparison_share,
    curves,
    jackknife,
    levels,
    log_level,
    mean_of,
    pooled,
    slope,
)
from pairscore.paper.verdicts import (
    FEW_FLIPS,
    Claim,
    extremes,
    increase,
    one_by_one,
    steps,
    verdict,
    with_minus,
)

INSIGNIFICANT, SMALL = 0.2, 1 / 3  # of the squared error: about a tenth and a fifth of the error
HALF_RATE = -0.25


def convergence(rows: Sequence[Row], measure: str) -> Claim:
    """The error falls with N, at a rate that leads to zero."""
    found = {key: slope(curve) for key, curve in _each_curve(rows, "n_items", measure)}
    angle = measure == "angle"
    return Claim(
        (
            "For every noise level more items lower the error as far as one likes: β̂ recovers the"
            " direction of β."
            if angle
            else "For each d the error ‖β̂ − c₁β‖ falls as N grows, and β̂ converges to c₁β."
        ),
        "figure 3a–c" if angle else "figure 2a",
        "slope of log error against log N: " + extremes(found),
        f"Holds if every slope is below {with_minus(HALF_RATE)} (half the rate of 1/√N) by two"
        " standard errors; approximately if every slope is below 0 by as much.",
        verdict(
            all(part.high < HALF_RATE for part in found.values()),
            all(part.high < 0 for part in found.values()),
        ),
        (
            "Where d is near N the fall is not yet a power of N: angles cannot exceed a right"
            " angle, and the covariance of few items is poor."
            if angle
            else ""
        ),
        one_by_one(found),
    )


def inverse_square(rows: Sequence[Row]) -> Claim:
    """N goes as one over the squared error."""
    middle = np.sqrt(np.prod([edge(row["n_items"] for row in rows) for edge in (min, max)]))
    found = {
        key: slope(curve, low=0.99 * middle)
        for key, curve in _each_curve(rows, "n_items", "norm_error")
    }
    away = [max(abs(part.value + 0.5) - 2 * part.error, 0.0) for part in found.values()]
    return Claim(
        "N has to grow as the inverse square of the error ε.",
        "caption of figure 4, measured on 2a",
        f"slope of log error against log N for N ≥ {middle:,.0f} (−0.5 is the inverse square): "
        + extremes(found),
        "Holds if every slope is −0.5 within 0.05 and two standard errors; approximately if within"
        " 0.15.",
        verdict(max(away) <= 0.05, max(away) <= 0.15),
        details=one_by_one(found),
    )


def comparisons_help(rows: Sequence[Row], measure: str) -> Claim:
    """The error falls with M."""
    reference = _n_log_n(rows)
    found = {
        key: slope(curve, high=reference)
        for key, curve in _each_curve(rows, "n_comparisons", measure)
    }
    return Claim(
        "With N fixed, more comparisons M reduce the error"
        + (" at every noise level." if measure == "angle" else "."),
        _where(rows),
        f"slope of log error against log M up to M = N log N = {reference:,.0f}: "
        + extremes(found),
        "Holds if every slope is below 0 by two standard errors; approximately if every slope is"
        " below 0.",
        verdict(
            all(part.high < 0 for part in found.values()),
            all(part.value < 0 for part in found.values()),
        ),
        details=one_by_one(found),
    )


def comparisons_stop_helping(
    rows: Sequence[Row], measure: str, predicted: Sequence[Row] = ()
) -> Claim:
    """After M = N log N the error hardly falls."""
    reference = _n_log_n(rows)
    found, expected = {}, {}
    for noise in levels(rows, "noise"):
        here = [row for row in rows if row["noise"] == noise]
        found[f"p_e = {noise:g}"] = pooled(
            [
                _share_left(curve, reference, measure)
                for _, curve in _each_curve(here, "n_comparisons", measure)
            ]
        )
        floors = (
            [
                _predicted_share(predicted, noise, d, reference, measure)
                for d in levels(here, "n_features")
            ]
            if predicted
            else []
        )
        expected[f"p_e = {noise:g}"] = (
            " (predicted"
            f" {' to '.join(sorted({f'{floor:.2f}' for floor in (min(floors), max(floors))}))})"
            if floors
            else ""
        )
    worst = max(part.value for part in found.values())
    spoiled = [name for name, part in found.items() if part.value >= INSIGNIFICANT]
    return Claim(
        "Once M = N log N, the further reduction of the error is insignificant"
        + (" at every noise level." if measure == "angle" else "."),
        _where(rows),
        f"share of the squared error at M = N log N = {reference:,.0f} that unlimited comparisons"
        " would still remove: "
        + "; ".join(f"{name}: {part}{expected[name]}" for name, part in found.items()),
        "Holds if the share is below 0.2 (a tenth of the error) at every noise level; approximately"
        " if below a third. The squared error (of an angle: the squared tangent of its mean) is"
        " fitted by A + B/M for M ≥ N, all d weighted by their precision.",
        verdict(worst < INSIGNIFICANT, worst < SMALL),
        (
            f"Not at {', '.join(spoiled)}: the more labels are flipped, the more of the error is"
            " the labels' own, which is what M averages out. N log N knows nothing of the noise."
            if spoiled
            else ""
        ),
    )


def target_reached(rows: Sequence[Row], needed: Sequence[Row] = ()) -> Claim:
    """Angle 0.3 for every d and noise."""
    last = max(row["n_items"] for row in rows)
    found = {key: mean_of(curve.values[-1]) for key, curve in _each_curve(rows, "n_items", "angle")}
    late = [name for name, part in found.items() if part.value > TARGET]
    needs = {
        f"p_e = {row['noise']:g}, d = {row['n_features']:g}": row
        for row in needed
        if np.isclose(row["min_eigenvalue"], rows[0]["min_eigenvalue"])
    }
    words = [
        f"{name}: N = {needs[name]['n_needed']:,.0f} ({needs[name]['low']:,.0f} to"
        f" {needs[name]['high']:,.0f})"
        for name in late
        if name in needs
    ]
    return Claim(
        "As N grows within 300 to 3·10⁴, the angle 0.3 is reached for all d and all p_e.",
        "figure 3a–c",
        f"mean angle at N = {last:,.0f}: " + extremes(found),
        "Holds if every mean is at most 0.3; approximately if none is above 0.3 by more than two"
        " standard errors.",
        verdict(not late, all(part.low <= TARGET for part in found.values())),
        (
            f"Above 0.3 at {'; '.join(late)}."
            + (f" Solved for in figure 5, 0.3 is met at {'; '.join(words)}." if words else "")
            if late
            else ""
        ),
        one_by_one(found),
    )


def grows_with_features(rows: Sequence[Row]) -> Claim:
    """The error grows with d."""
    found = {}
    for noise in levels(rows, "noise"):
        along = curves(
            [row for row in rows if row["noise"] == noise], "n_features", "n_items", "angle"
        )
        for (few, fewer), (many, more) in steps(along.items()):
            a, b = mean_of(log_level(fewer)), mean_of(log_level(more))
            found[f"p_e = {noise:g}, d = {few:g} → {many:g}"] = Measured(
                b.value - a.value, float(np.hypot(a.error, b.error))
            )
    return increase(
        "The error increases with d.",
        "figure 3a–c",
        "log ratio of the angles, mean over N: ",
        found,
    )


def noise_raises_error(rows: Sequence[Row]) -> Claim:
    """The error grows with the noise."""
    along = {
        noise: curves(
            [row for row in rows if row["noise"] == noise], "n_features", "n_items", "angle"
        )
        for noise in levels(rows, "noise")
    }
    level = {
        noise: np.mean([log_level(curve) for curve in mine.values()], axis=0)
        for noise, mine in along.items()
    }
    found = {
        f"p_e = {low:g} → {high:g}": mean_of(level[high] - level[low]) for low, high in steps(level)
    }
    return increase(
        "Noise increases the error.",
        "figure 3a–c",
        "log ratio of the angles on the same populations, mean over N and d: ",
        found,
        FEW_FLIPS,
    )


# -- parts -----------------------------------------------------------------------------------------------


def _each_curve(rows: Sequence[Row], x: str, y: str) -> Iterable[tuple[str, Curve]]:
    several = len(levels(rows, "noise")) > 1
    for noise in levels(rows, "noise"):
        for d, curve in curves(
            [row for row in rows if row["noise"] == noise], "n_features", x, y
        ).items():
            yield (f"p_e = {noise:g}, " if several else "") + f"d = {d:g}", curve


def _share_left(curve: Curve, reference: float, measure: str) -> Measured:
    kept = curve.x >= reference / np.log(reference)  # about N: where a squared error is A + B/M
    m = curve.x[kept]
    return jackknife(
        np.array(curve.values)[kept],
        lambda values: comparison_share(m, _square(values.mean(axis=1), measure), reference),
    )


def _predicted_share(
    predicted: Sequence[Row], noise: float, d: float, reference: float, measure: str
) -> float:
    mine = sorted(
        (1 / row["n_comparisons"], row[measure])
        for row in predicted
        if row["noise"] == noise and row["n_features"] == d
    )
    inverse, error = np.array(mine).T
    square = _square(error, measure)
    return float(1 - square[0] / np.interp(1 / reference, inverse, square))


def _square(mean_error: np.ndarray, measure: str) -> np.ndarray:
    return (np.tan(mean_error) if measure == "angle" else mean_error) ** 2


def _n_log_n(rows: Sequence[Row]) -> float:
    n = rows[0]["n_items"]
    return float(n * np.log(n))


def _where(rows: Sequence[Row]) -> str:
    panels = levels(rows, "panel")
    return f"figure {rows[0]['figure']}{panels[0]}" + (f"–{panels[-1]}" if len(panels) > 1 else "")
