"""Where the likelihood has no maximum: which comparisons are explained, along which directions.

If along some direction of (coefficients, side effect) no comparison becomes less likely and some
become more likely, the likelihood grows without end: (quasi-)complete separation (Albert and
Anderson 1984). At the end of that direction these comparisons are certain, and tell nothing more;
the likelihood of the others has a maximum, if they are not separated in turn (Geyer 2009). That
maximum leaves open the directions that only the explained comparisons see. There, and nowhere else,
a ridge stands in for the maximum that is missing.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pairscore.core.linalg import Basis, whitening_basis
from pairscore.errors import (
    SeparatedFeaturesWarning,
    first_few,
)
from pairscore.estimators.fit_data import FitData, bordered_scatter
from pairscore.estimators.penalty import SEPARATION_L2, WEAK_L2
from pairscore.estimators.recession import Recession, least_certain

if TYPE_CHECKING:
    from pairscore.estimators.results import Note

# of the largest gain in a step, above which a comparison gains at all: as they come out of a step
SMALLEST_GAINS = (1e-2, 1e-4, 1e-6, 1e-8)
NO_GAIN = 1e-10  # of the largest gain along the exact direction: rounding errors
MOST_SORTED = 20_000  # explained comparisons whose features are formed, the least certain ones
SIDE = "side effect"
TIE = "tie parameter"
UNBEATEN = "some items won, or lost, every comparison with the others"
SEPARATED = "some direction in the features (or the side) explains every comparison that it touches"


def parameter_units(data: FitData) -> np.ndarray:
    """Standard deviations of the features, and 1 for the side effect: (d) or (d + 1)."""
    return np.append(data.item_moments.sd, [1.0] * data.keep_sides)


def gains(data: FitData, direction: np.ndarray) -> np.ndarray:
    """What a step along (coefficients, side effect) adds to the side that won each comparison."""
    d, votes = data.X.shape[1], data.comparisons
    scores = data.X @ direction[:d]
    return votes.outcome * (scores[votes.left] - scores[votes.right] + direction[d:].sum())


def part_of(data: FitData, rows: np.ndarray) -> FitData:
    """Some of the comparisons, by a mask (M)."""
    return replace(data, comparisons=data.comparisons[rows])


def unseen(data: FitData, rows: np.ndarray) -> np.ndarray:
    """The directions (d + side) x r that the comparisons of a mask (M) do not see.

    They are orthonormal in units of :func:`parameter_units`.
    """
    unit = parameter_units(data)
    if not rows.any():
        return np.eye(len(unit))
    part = part_of(data, rows)
    number = part.pairs.win + part.pairs.lose
    basis = whitening_basis(bordered_scatter(part, number), unit, 2 * float(number.sum()))
    return basis.open_directions * basis.unit[:, None]


def explained_rows(data: FitData, rows: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Those of the comparisons of a mask (M) that a step of Newton's method explains.

    The step (d + side) is only close to a direction along which nothing becomes less likely. So it
    is brought to the directions that the other comparisons do not see at all, and must explain the
    same ones there; where no choice of these does so, all comparisons are taken for explained.
    """
    unit, gain = parameter_units(data), gains(data, direction)
    unit = np.where(unit > 0, unit, 1.0)
    for smallest in SMALLEST_GAINS:
        touched = rows & (np.abs(gain) > smallest * np.abs(gain[rows]).max())
        free = unseen(data, rows & ~touched)
        exact = free @ (free.T @ (unit * direction)) / unit
        exact_gain = gains(data, exact)[touched]
        if exact_gain.min() > NO_GAIN * exact_gain.max():
            return touched
    return rows


def separated_directions(data: FitData, rows: np.ndarray, explained: np.ndarray) -> np.ndarray:
    """The directions (d + side) x r that only the explained comparisons see, in their own units.

    ``rows`` and ``explained`` are masks (M) of all comparisons that count, and of those.
    """
    unit = parameter_units(data)
    free, never_seen = unseen(data, rows & ~explained), unseen(data, rows)
    return directions_between(free, never_seen, unit)


def directions_between(free: np.ndarray, never_seen: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Those of ``free`` directions that are not among others, both orthonormal in ``unit``."""
    seen = free - never_seen @ (never_seen.T @ free)
    vectors, sizes, _ = np.linalg.svd(seen, full_matrices=False)
    return vectors[:, sizes > 0.5] / np.where(unit > 0, unit, 1.0)[:, None]


def recession_of(
    data: FitData,
    explained: np.ndarray,
    directions: np.ndarray,
    theta: np.ndarray,
    origin: np.ndarray,
) -> Recession:
    """What is kept of comparisons that are explained (a mask), by parameters (d + side).

    ``theta`` are those of the fit, by which the least certain ones are kept, and ``origin`` those
    at the maximum of the others' likelihood.
    """
    unit = parameter_units(data)
    some = np.flatnonzero(explained)
    if len(some) > MOST_SORTED:
        some = some[np.argsort(gains(data, theta)[some], kind="stable")[:MOST_SORTED]]
    votes = data.comparisons[some]
    rows = votes.outcome[:, None] * (data.X[votes.left] - data.X[votes.right])
    if data.keep_sides:
        rows = np.column_stack([rows, votes.outcome])
    rows, amount = least_certain(rows, data.amount[some], theta)
    return Recession(directions, np.where(unit > 0, unit, 1.0), rows, amount, origin)


def basis_within(
    scatter: np.ndarray, unit: np.ndarray, directions: np.ndarray | None, size: float = 0.0
) -> Basis:
    """Whiten a scatter in all directions, or in the span of some (d + side) x r."""
    if directions is None:
        return whitening_basis(scatter, unit, size)
    inner = whitening_basis(directions.T @ scatter @ directions, np.ones(directions.shape[1]))
    unit = np.where(unit > 0, unit, 1.0)
    return Basis(directions @ inner.transform, np.empty((len(unit), 0)), unit)


@dataclass(frozen=True)
class Curvature:
    """The curvature of a likelihood at its maximum, and what it says of the parameters.

    ``information`` is the Hessian with the ridge, ``basis`` whitens it, and ``covariance`` is that
    of coefficients and side effect, None where no intervals are wanted.
    """

    basis: Basis
    information: np.ndarray
    covariance: np.ndarray | None


def carry_over(rest: Curvature, held: Curvature) -> Curvature:
    """Of parameters theta1 + V g: theta1 at the maximum of the rest, then g given theta1.

    If theta1 moves by D, g follows by -(V'HV)^-1 V'H D, H the information of what is held: theta
    moves by Q D, Q = I - V (V'HV)^-1 V'H. Of the directions V the rest sees nothing, so Q takes
    nothing from D that it knows.
    """
    V = held.basis.transform  # whitened: V'HV = I
    Q = np.eye(len(V)) - V @ (V.T @ held.information)
    basis = replace(held.basis, transform=np.hstack([Q @ rest.basis.transform, V]))
    covariance = None
    if rest.covariance is not None and held.covariance is not None:
        covariance = Q @ rest.covariance @ Q.T + held.covariance
    return Curvature(basis, rest.information + held.information, covariance)


def parameter_names(data: FitData, mask: np.ndarray) -> list[str]:
    """Names of some of the features and of the side effect, by a mask (d + side)."""
    names = [*data.comparisons.items.feature_names, *[SIDE] * data.keep_sides]
    return [name for name, chosen in zip(names, mask, strict=True) if chosen]


def separation_note(names: list[str]) -> "Note":
    """What is said, and done, when the likelihood has no maximum.

    ``names`` are those of the coefficients that have a part in it.
    """
    one, on_ties = len(names) == 1, ""
    remedy = "swap some sides" if names == [SIDE] else "compare more items that are close"
    if TIE in names:
        on_ties, remedy = " and on the tie parameter", f"{remedy}, use ties='half'"
    text = (
        f"{SEPARATED}, so the comparisons do not say how large"
        f" {first_few(map(repr, names), 10)} {'is' if one else 'are'}:"
        f" {'its interval is' if one else 'their intervals are'} open at one end or both, there is"
        f" no p-value, and {'its value is' if one else 'their values are'} held by a ridge of"
        f" l2={SEPARATION_L2:g} (a normal prior with standard deviation 2.5 on standardised"
        f" coefficients{on_ties});"
        f" {remedy}, or set l2 above {WEAK_L2:g} to choose your own ridge."
    )
    return SeparatedFeaturesWarning, text
