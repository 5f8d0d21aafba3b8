"""Curves: a column as a natural cubic spline, of which the linear part is the column itself.

With knots t_1 < ... < t_K, scaled to [0, 1], natural cubic splines are cubic between knots, linear
beyond t_1 and t_K, and have two continuous derivatives: a space of K dimensions. Two of them are
the constant and the column; the other K - 2 are its bends. A bend is known by its values at the
knots (Green and Silverman 1994, chapter 2), here the eigenvectors of the kernel

    C(s, t) = m^2 (3 M - m) / 6,  m = min(s, t),  M = max(s, t)

less their linear part, the smoothest first: the first is a U, the second an S. So bends hardly
correlate with the column or each other, and their coefficients are all zero where the truth is
straight.
"""

from collections.abc import Sequence

import numpy as np

from pairscore.display import plural
from pairscore.errors import PairscoreError
from pairscore.messages import Setting

FEWEST_KNOTS = 3
MOST_KNOTS = 20
# values from which on there are so many knots, as quantiles (Harrell 2015, section 2.4.6); with
# many items the outer knots are farther out, since a curve is straight beyond them
QUANTILES = {
    0: (0.1, 0.5, 0.9),
    30: (0.05, 0.35, 0.65, 0.95),
    100: (0.05, 0.275, 0.5, 0.725, 0.95),
    300: (0.02, 0.21, 0.4, 0.6, 0.79, 0.98),
}
CLOSEST = 1e-3  # of the distance of the outer knots; nearer ones would be one corner


def find_knots(values: np.ndarray, name: str) -> tuple[float, ...]:
    """Knots at quantiles of a column (N), missing values aside; of its distinct values where many
    items have the same.
    """
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if len(distinct) < FEWEST_KNOTS:
        raise PairscoreError(
            Setting("curves")
            + f" names {name!r}, which has {plural(len(distinct), 'value')}, and a curve takes"
            f" {FEWEST_KNOTS} or more",
            "leave it out of " + Setting("curves"),
        )
    shares = QUANTILES[max(fewest for fewest in QUANTILES if fewest <= len(values))]
    knots = _apart(np.quantile(values, shares))
    if len(knots) < len(shares):
        few = (0.0, 0.5, 1.0) if len(distinct) == FEWEST_KNOTS else shares
        knots = _apart(np.quantile(distinct, few))
    if len(knots) < FEWEST_KNOTS:  # a few values far from all others
        knots = distinct[[0, len(distinct) // 2, -1]]
    return tuple(knots.tolist())


def check_knots(knots: Sequence[float], name: str) -> tuple[float, ...]:
    """Knots that somebody gave, as numbers that rise."""
    try:
        numbers = np.array(knots, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    is_rising = bool(np.isfinite(numbers).all() and np.all(np.diff(numbers) > 0))
    if not FEWEST_KNOTS <= len(numbers) <= MOST_KNOTS or not is_rising:
        raise PairscoreError(
            Setting("curves") + f" gives {name!r} knots that make no curve",
            f"give {FEWEST_KNOTS} to {MOST_KNOTS} numbers, each larger than the one before",
        )
    return tuple(numbers.tolist())


def bends(values: np.ndarray, knots: Sequence[float]) -> np.ndarray:
    """The bends of a column (N) with K knots, (N x K - 2); NaN where a value is missing."""
    from scipy.interpolate import CubicSpline  # slow to import, and only wanted here

    first, reach = knots[0], knots[-1] - knots[0]
    place = (np.asarray(knots) - first) / reach
    spline = CubicSpline(place, bends_at_knots(place), bc_type="natural")
    u = (values - first) / reach
    within = np.clip(u, 0.0, 1.0)
    low, high = spline([0.0, 1.0], 1)
    before, beyond = np.minimum(u, 0.0), np.maximum(u - 1.0, 0.0)
    shape: np.ndarray = spline(within) + np.outer(before, low) + np.outer(beyond, high)
    return shape


def bends_at_knots(place: np.ndarray) -> np.ndarray:
    """Values of the bends at knots in [0, 1] (K x K - 2): orthonormal, without a linear part."""
    n = len(place)
    whole, _ = np.linalg.qr(np.column_stack([np.ones(n), place]), mode="complete")
    rest = whole[:, 2:]
    low, high = np.minimum.outer(place, place), np.maximum.outer(place, place)
    kernel = low**2 * (3 * high - low) / 6
    _, axes = np.linalg.eigh(rest.T @ kernel @ rest)
    shapes = rest @ axes[:, ::-1]
    return shapes * np.where(shapes[-1] < 0, -1.0, 1.0)


def _apart(knots: np.ndarray) -> np.ndarray:
    """Knots without those that are equal or nearly so to one before."""
    reach = CLOSEST * (knots[-1] - knots[0])
    kept: list[float] = []
    for knot in knots.tolist():
        if not kept or knot - kept[-1] > reach:
            kept.append(knot)
    return np.array(kept)
