"""Rows as they come from a file, made ready to draw and to judge.

Numbers out of text, curves out of rows. What the claims are judged by: slopes, fits and ratios with
their standard errors, from curves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2, t

from pairscore.paper.experiments import LEVEL

Row = Mapping[str, Any]
WORDS = {
    "job",
    "figure",
    "panel",
    "method",
    "engine",
    "version",
    "scenario",
    "term",
    "kind",
    "label",
}


class Curve(NamedTuple):
    """One quantity along x: its mean over the generations, their standard deviation, and the values
    themselves (one list for each x).
    """

    x: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    values: list[np.ndarray]

    @property
    def std_error(self) -> np.ndarray:
        return self.sd / np.sqrt([len(values) for values in self.values])


def with_numbers(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The same rows with numbers where a file has only text; what is missing is nan."""
    return [
        {
            name: value if name in WORDS or not isinstance(value, str) else float(value or "nan")
            for name, value in row.items()
        }
        for row in rows
    ]


def of_figure(rows: Iterable[Row], figure: str, panel: str | None = None) -> list[Row]:
    """The rows of a figure, or of one panel."""
    return [row for row in rows if row["figure"] == figure and panel in (None, row["panel"])]


def levels(rows: Iterable[Row], name: str) -> list[Any]:
    """The values that a column takes: numbers from small to large, words as they first come."""
    found = list(dict.fromkeys(row[name] for row in rows))
    return found if any(isinstance(value, str) for value in found) else sorted(found)


def curves(rows: Sequence[Row], by: str, x: str, y: str) -> dict[Any, Curve]:
    """For each value of ``by``, the mean of ``y`` along ``x`` with its standard deviation (nan for
    a single generation).
    """
    found = {}
    for level in levels(rows, by):
        mine = [row for row in rows if row[by] == level]
        places = levels(mine, x)
        values = [
            np.array([row[y] for row in _in_order(mine) if row[x] == place]) for place in places
        ]
        sd = np.array([group.std(ddof=1) if len(group) > 1 else np.nan for group in values])
        found[level] = Curve(
            np.array(places, dtype=float), np.array([group.mean() for group in values]), sd, values
        )
    return found


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """By generation, so that the same place in two lists is the same population."""
    return sorted(rows, key=lambda row: row.get("generation", 0))


class Measured(NamedTuple):
    """A number and its standard error."""

    value: float
    error: float

    @property
    def low(self) -> float:
        return self.value - 2 * self.error

    @property
    def high(self) -> float:
        return self.value + 2 * self.error

    def __str__(self) -> str:
        return f"{round(self.value, 3) + 0.0:.3f} ± {self.error:.3f}".replace("-", "−")


def mean_of(values: np.ndarray) -> Measured:
    """The mean over generations."""
    return Measured(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def slope(curve: Curve, low: float = 0.0, high: float = np.inf) -> Measured:
    """Slope of log y against log x between ``low`` and ``high``, one for each generation."""
    kept = (curve.x >= low) & (curve.x <= high)
    values = np.array(curve.values)[kept]
    return mean_of(np.polyfit(np.log(curve.x[kept]), np.log(values), 1)[0])


def log_level(curve: Curve) -> np.ndarray:
    """For each generation the mean of log y along the curve."""
    return np.log(np.array(curve.values)).mean(axis=0)


def jackknife(values: np.ndarray, statistic: Callable[[np.ndarray], float]) -> Measured:
    """``statistic`` of an array whose columns are generations.

    Its error by leaving each out once.
    """
    n = values.shape[1]
    left_out = np.array([statistic(np.delete(values, place, axis=1)) for place in range(n)])
    return Measured(statistic(values), float(np.sqrt((n - 1) * left_out.var())))


def comparison_share(m: np.ndarray, square: np.ndarray, reference: float) -> float:
    """The share of a squared error that unlimited comparisons would remove from a study with
    ``reference`` of them.

    The squared error is A + B/M; the share is (B/M) / (A + B/M) at the reference. Least squares of
    relative errors.
    """
    parts = np.column_stack([np.ones_like(m), reference / m])
    a, b = np.linalg.lstsq(parts / square[:, None], np.ones_like(m), rcond=None)[0]
    return float(b / (a + b))


def pooled(parts: Sequence[Measured]) -> Measured:
    """Several measurements of about the same thing as one, each weighted by its precision."""
    weight = np.array([max(part.error, 1e-9) ** -2 for part in parts])
    return Measured(
        float(weight @ [part.value for part in parts] / weight.sum()), float(weight.sum() ** -0.5)
    )


def relative_error(row: Row) -> float:
    """Standard error of log n_needed, from its interval."""
    return float(
        np.log(row["high"] / row["low"]) / 2 / t.ppf(0.5 + LEVEL / 2, row["n_generations"] - 1)
    )


class Line(NamedTuple):
    """A straight line through points, and the chance that points about a line lie as far from one."""

    intercept: float
    slope: float
    r_squared: float
    p_value: float


def line_fit(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> Line:
    """Fit y = a + b x by weighted least squares; ``error`` are standard errors of y."""
    parts = np.column_stack([np.ones_like(x), x])
    a, b = np.linalg.lstsq(parts / error[:, None], y / error, rcond=None)[0]
    residual = y - a - b * x
    plain = y - parts @ np.linalg.lstsq(parts, y, rcond=None)[0]
    # a constant is explained by nothing
    r_squared = 1 - plain.var() / y.var() if y.var() > 0 else 0.0
    return Line(
        float(a),
        float(b),
        float(r_squared),
        float(chi2.sf(np.sum((residual / error) ** 2), len(x) - 2)),
    )


def typical_deviation(y: np.ndarray, parts: np.ndarray) -> float:
    """Fit y by ``parts`` (columns) with least squares of relative errors, and say how far off it
    typically is: 0.1 is ten percent.
    """
    design = parts / y[:, None]
    fitted = design @ np.linalg.lstsq(design, np.ones_like(y), rcond=None)[0]
    return float(np.sqrt(np.mean((fitted - 1) ** 2)))


def error_factor(n_features: float, min_eigenvalue: float) -> float:
    """What the squared angle is proportional to in these populations.

    Tr(covariance^-1), less one direction, times the mean eigenvalue.
    """
    eigenvalues = np.linspace(1.0, min_eigenvalue, int(n_features))
    return float((1 / eigenvalues).sum() * (1 - 1 / n_features) * eigenvalues.mean())
