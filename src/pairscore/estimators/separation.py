"""Where the likelihood has no maximum: which comparisons are explained, along which directions.

If along some direction of (coefficients, side effect) no comparison becomes less likely and some
become more likely, the likelihood grows without end: (quasi-)complete separation (Albert and
Anderson 1984). At the end of that direction these comparisons are certain, and tell nothing more;
the likelihood of the others has a maximum, if they are not separated in turn (Geyer 2009). That
maximum leaves open the directions that only the explained comparisons see. There, and nowhere else,
a ridge stands in for the maximum that is missing.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pairscore.core.whitening import Basis, whitening_basis
from pairscore.display import first_few
from pairscore.errors import SeparatedFeaturesWarning
from pairscore.estimators.fit_data import Cut, FitData, Gains, Selection, parameter_units
from pairscore.estimators.ridge import SEPARATION_L2, WEAK_L2

if TYPE_CHECKING:
    from pairscore.estimators.estimate import Note

# of the largest gain in a step, above which a comparison gains at all: as they come out of a step
SMALLEST_GAINS = (1e-2, 1e-4, 1e-6, 1e-8)
NO_GAIN = 1e-10  # of the largest gain along the exact direction: rounding errors
SMALLEST_GAIN = 0.1  # of some comparison's score difference, in a step along which there is no end
WORSE = 1e-4  # of the largest gain, that a step may take from a comparison by not being exact
SIDE = "side effect"
TIE = "tie parameter"
UNBEATEN = "some items won, or lost, every comparison with the others"
SEPARATED = "some direction in the features (or the side) explains every comparison that it touches"


def gains_along(data: FitData, direction: np.ndarray) -> tuple[Gains, Cut]:
    """What a step along (coefficients, side effect) adds to winners; a cut by any gain at all."""
    d = len(data.feature_names)
    scores, shift = data.table.times(direction[:d]), float(direction[d:].sum())
    return data.gains(scores, shift), Cut(scores, shift, 0.0)


def separates(data: FitData, direction: np.ndarray) -> bool:
    """Whether moving along ``direction`` for ever makes no comparison worse, and some better.

    This is separation, up to what the direction is off. A sample nearly always shows that it is
    not.
    """
    if data.sample is not None and _is_worse(gains_along(data.sample, direction)[0]):
        return False
    gains, _ = gains_along(data, direction)
    return gains.largest >= SMALLEST_GAIN and not _is_worse(gains)


def _is_worse(gains: Gains) -> bool:
    """Whether some comparison loses more than what a direction may be off by."""
    worst = WORSE * gains.largest
    return gains.decided.low < -worst or gains.tied.high > worst


def unseen(data: FitData) -> np.ndarray:
    """The directions (d + side) x r that the comparisons do not see.

    They are orthonormal in units of :func:`parameter_units`.
    """
    return _unseen_in(data, parameter_units(data))


def _unseen_in(data: FitData, unit: np.ndarray) -> np.ndarray:
    """The same in units of a parameter that are given: those of all comparisons, of which these
    are some."""
    size = float(data.tally.exposures.sum())
    if not size:
        return np.eye(len(unit))
    basis = whitening_basis(data.counts.scatter, unit, size)
    return basis.open_directions * basis.unit[:, None]


def explained_cut(data: FitData, direction: np.ndarray, unit: np.ndarray) -> Cut:
    """The comparisons that a step of Newton's method explains.

    The step (d + side) is only close to a direction along which nothing becomes less likely. So it
    is brought to the directions that the other comparisons do not see at all, and must explain the
    same ones there; where no choice of these does so, all comparisons are taken for explained.
    ``unit`` is that of the parameters.
    """
    gains, cut = gains_along(data, direction)
    unit = np.where(unit > 0, unit, 1.0)
    for smallest in SMALLEST_GAINS:
        cut = replace(cut, smallest=smallest * gains.largest)
        free = _unseen_in(data.part(Selection((cut,), touched=False)), unit)
        exact = free @ (free.T @ (unit * direction)) / unit
        along, _ = gains_along(data.part(Selection((cut,), touched=True)), exact)
        if along.decided.low > NO_GAIN * along.decided.high:
            return cut
    return replace(cut, smallest=-1.0)  # all of them


def separated_directions(data: FitData, others: FitData) -> np.ndarray:
    """The directions (d + side) x r that only explained comparisons see, in their own units.

    ``others`` are the comparisons that are not explained.
    """
    unit = parameter_units(data)
    return directions_between(_unseen_in(others, unit), _unseen_in(data, unit), unit)


def directions_between(free: np.ndarray, never_seen: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Those of ``free`` directions that are not among others, both orthonormal in ``unit``."""
    seen = free - never_seen @ (never_seen.T @ free)
    vectors, sizes, _ = np.linalg.svd(seen, full_matrices=False)
    return vectors[:, sizes > 0.5] / np.where(unit > 0, unit, 1.0)[:, None]


def basis_within(
    scatter: np.ndarray, unit: np.ndarray, directions: np.ndarray | None, size: float = 0.0
) -> Basis:
    """Whiten a scatter in all directions, or in the span of some (d + side) x r."""
    if directions is None:
        return whitening_basis(scatter, unit, size)
    inner = whitening_basis(directions.T @ scatter @ directions, np.ones(directions.shape[1]))
    unit = np.where(unit > 0, unit, 1.0)
    return Basis(directions @ inner.transform, np.empty((len(unit), 0)), unit)


def parameter_names(data: FitData, mask: np.ndarray) -> list[str]:
    """Names of some of the features and of the side effect, by a mask (d + side)."""
    names = [*data.feature_names, *[SIDE] * data.keep_sides]
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
    return SeparatedFeaturesWarning(text)
