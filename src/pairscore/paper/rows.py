"""Tidy rows, the curves in them, and what is measured on a curve.

A row is one study of one figure (or one solved N) with every setting in a column of its own.
Figures and claims see nothing but rows: a curve is a mean over generations along one column, and
the claims are judged by slopes, ratios and fits of curves, each with its standard error.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from pairscore.core.significance import chi_square_p

Row = Mapping[str, Any]
LEVEL = 0.95  # of the interval of an N needed
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


# -- rows ------------------------------------------------------------------------------------------


def with_numbers(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows as they come from a file, with numbers instead of text; what is missing is nan."""
    return [
        {name: value if name in WORDS else _number(value) for name, value in row.items()}
        for row in rows
    ]


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return int(value) if value.isdigit() else float(value or "nan")


def csv_text(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Rows as the text of a CSV file; columns that are not named are left out."""
    text = StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """The rows whose columns have these values: ``select(rows, figure="2", panel="a")``."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def levels(rows: Iterable[Row], name: str) -> list[Any]:
    """The values that a column takes: numbers from small to large, words as they first come."""
    values = list(dict.fromkeys(row[name] for row in rows))
    return values if any(isinstance(value, str) for value in values) else sorted(values)


# -- curves ----------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """One quantity along x: mean and standard deviation over generations, and all values.

    ``x``, ``mean`` and ``sd`` have one entry for each x; ``values`` has an array for each x, with
    one entry for each generation.
    """

    x: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    values: list[np.ndarray]


def curves(rows: Sequence[Row], by: str, x: str, y: str) -> dict[Any, Curve]:
    """For each value of the column ``by``, the mean of ``y`` along ``x``.

    Values are in the order of the generations, so that the same index in two curves is the same
    population. The standard deviation of a single generation is nan.
    """
    found = {}
    for level in levels(rows, by):
        mine = sorted(select(rows, **{by: level}), key=lambda row: row.get("generation", 0))
        grid = levels(mine, x)
        values = [np.array([row[y] for row in select(mine, **{x: point})]) for point in grid]
        found[level] = Curve(
            np.array(grid, dtype=float),
            np.array([group.mean() for group in values]),
            np.array([group.std(ddof=1) if len(group) > 1 else np.nan for group in values]),
            values,
        )
    return found


# -- measures --------------------------------------------------------------------------------------


class Measurement(NamedTuple):
    """A number and its standard error; ``low`` and ``high`` are two standard errors away.

    ``freedom`` are the degrees of freedom of the standard error: generations less one.
    """

    value: float
    error: float
    freedom: float = np.inf

    @property
    def low(self) -> float:
        return self.value - 2 * self.error

    @property
    def high(self) -> float:
        return self.value + 2 * self.error

    def distance(self, target: float) -> float:
        """How far the value is from ``target``, beyond two standard errors."""
        return max(abs(self.value - target) - 2 * self.error, 0.0)

    def __str__(self) -> str:
        return f"{round(self.value, 3) + 0.0:.3f} ± {self.error:.3f}".replace("-", "−")


def mean_of(values: np.ndarray) -> Measurement:
    """The mean over generations."""
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    return Measurement(float(values.mean()), error, len(values) - 1)


def slope(curve: Curve, low: float = 0.0, high: float = np.inf) -> Measurement:
    """Slope of log y against log x between ``low`` and ``high``, one for each generation."""
    inside = (curve.x >= low) & (curve.x <= high)
    values = np.array(curve.values)[inside]
    return mean_of(np.polyfit(np.log(curve.x[inside]), np.log(values), 1)[0])


def weighted_slope(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> Measurement:
    """Slope of log y against log x; ``error`` are standard errors of log y."""
    coefficients, covariance = np.polyfit(np.log(x), np.log(y), 1, w=1 / error, cov=True)
    return Measurement(float(coefficients[0]), float(np.sqrt(covariance[0, 0])), len(x) - 2)


def squared(mean_error: np.ndarray, measure: str) -> np.ndarray:
    """The squared error; of an angle, the squared tangent."""
    return (np.tan(mean_error) if measure == "angle" else mean_error) ** 2


def log_level(curve: Curve) -> np.ndarray:
    """For each generation the mean of log y along the curve."""
    return np.log(np.array(curve.values)).mean(axis=0)


def jackknife(values: np.ndarray, statistic: Callable[[np.ndarray], float]) -> Measurement:
    """``statistic`` of an array whose columns are generations.

    With g generations, its standard error is sqrt((g - 1) var), the variance being that of the
    statistic when each generation is left out once.
    """
    g = values.shape[1]
    left_out = np.array([statistic(np.delete(values, column, axis=1)) for column in range(g)])
    return Measurement(statistic(values), float(np.sqrt((g - 1) * left_out.var())), g - 1)


def comparison_share(m: np.ndarray, square: np.ndarray, reference: float) -> float:
    """The share of a squared error that unlimited comparisons would remove.

    The squared error is A + B/M; the share is (B/M) / (A + B/M) at M = ``reference``. A and B are
    fitted by least squares of relative errors.
    """
    parts = np.column_stack([np.ones_like(m), reference / m])
    a, b = np.linalg.lstsq(parts / square[:, None], np.ones_like(m), rcond=None)[0]
    return float(b / (a + b))


def pooled(parts: Sequence[Measurement]) -> Measurement:
    """Several measurements of about the same thing as one, each weighted by its precision."""
    weight = np.array([max(part.error, 1e-9) ** -2 for part in parts])
    mean = weight @ [part.value for part in parts] / weight.sum()
    freedom = sum(part.freedom for part in parts)
    return Measurement(float(mean), float(weight.sum() ** -0.5), freedom)


def interval_factor(n_generations: int) -> float:
    """How many standard errors of log N an interval reaches to either side: a quantile of t."""
    return float(stdtrit(n_generations - 1, 0.5 + LEVEL / 2))


def relative_error(row: Row) -> float:
    """Standard error of log n_needed, from the interval of the row."""
    return float(np.log(row["high"] / row["low"]) / 2 / interval_factor(row["n_generations"]))


class Line(NamedTuple):
    """A straight line a + b x through points, and how well it fits.

    ``p_value`` is the chance that points scattered about a line lie as far from one as these.
    """

    intercept: float
    slope: float
    r_squared: float
    p_value: float


def line_fit(x: np.ndarray, y: np.ndarray, error: np.ndarray, freedom: float = np.inf) -> Line:
    """Fit y = a + b x by weighted least squares; ``error`` are standard errors of y.

    Each has ``freedom`` degrees of freedom: deviations are t-distributed, and are brought to
    normal scores before their squares are summed.
    """
    parts = np.column_stack([np.ones_like(x), x])
    a, b = np.linalg.lstsq(parts / error[:, None], y / error, rcond=None)[0]
    chi_square = float(np.sum(ndtri(stdtr(freedom, -np.abs(y - a - b * x) / error)) ** 2))
    plain = y - parts @ np.linalg.lstsq(parts, y, rcond=None)[0]
    # a constant is explained by nothing
    r_squared = 1 - plain.var() / y.var() if y.var() > 0 else 0.0
    return Line(float(a), float(b), float(r_squared), chi_square_p(chi_square, len(x) - 2))


def typical_deviation(y: np.ndarray, parts: np.ndarray) -> float:
    """How far y typically is from its fit by the columns of ``parts``: 0.1 is ten percent.

    The fit minimises squared relative errors; the answer is their root mean square.
    """
    design = parts / y[:, None]
    fitted = design @ np.linalg.lstsq(design, np.ones_like(y), rcond=None)[0]
    return float(np.sqrt(np.mean((fitted - 1) ** 2)))


def error_factor(n_features: float, min_eigenvalue: float) -> float:
    """What the squared angle is proportional to in these populations.

    tr(Σ⁻¹) (1 - 1/d) times the mean eigenvalue; eigenvalues are equally spaced from 1 down to
    ``min_eigenvalue``. The factor 1 - 1/d leaves out the direction of beta.
    """
    eigenvalues = np.linspace(1.0, min_eigenvalue, int(n_features))
    return float((1 / eigenvalues).sum() * (1 - 1 / n_features) * eigenvalues.mean())
