"""Directions of coefficients that the comparisons leave open, and the groups of items they make.

Where only items of one year meet, nothing is known of what a year adds: along an open direction v
of the coefficients any amount fits equally well. The score difference of two items is determined if
v'(x - y) = 0 for every open direction, so items with the same v'x form a group. Scores, intervals
and ranks hold within a group.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pairscore.core.moments import feature_range
from pairscore.core.whitening import OPEN_SHARE, SMALLEST_SHARE, Basis
from pairscore.model.fit import Fit

if TYPE_CHECKING:
    from pairscore.estimators.estimate import Estimate

MOST_NAMED_FEATURES = 3  # features that a group is named by: 'year=2001, site=4'
N_PROJECTIONS = 3  # of many open directions; by chance two groups do not agree in all of them


def open_part(
    result: "Estimate", never_differing: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mask (d) and directions (d x k) of the coefficients that the comparisons do not determine.

    Beside them the directions (d x j), of these, to which the estimate gives a number nevertheless;
    ``never_differing`` (d x i) are all in which it does and no two items that met differ.
    A ridge puts at zero what never differs between two items that met; `pooled` and `split`, which
    take the pairs for random ones, give it what its correlation with other features suggests.
    """
    d = len(result.coef)
    basis = result.determined.basis
    side_basis = result.determined.side_basis
    bases = [basis] if side_basis is None else [basis, side_basis]
    undetermined = np.any([basis.undetermined[:d] for basis in bases], axis=0)
    directions = np.hstack([basis.open_directions[:d] for basis in bases])
    unit = np.where(result.center.sd > 0, result.center.sd, 1.0)[:, None]
    taken = _beyond(unit * never_differing, unit * basis.open_directions[:d]) / unit
    undetermined |= np.linalg.norm(unit * taken, axis=1) > SMALLEST_SHARE
    return undetermined, np.hstack([directions, taken]), taken


def _beyond(directions: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What ``directions`` (d x k) add to ``others``, both with orthonormal columns."""
    rest = np.linalg.qr(directions)[0]
    if not others.size:
        return rest
    left, size, _ = np.linalg.svd(rest - others @ (others.T @ rest), full_matrices=False)
    return left[:, size > SMALLEST_SHARE]


def without_part(
    coef: np.ndarray, covariance: np.ndarray | None, unit: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Coefficients (d), and their covariance, without what they have along ``directions`` (d x j).

    The covariance may go on with that of a side effect. The directions are orthonormal in units of
    ``unit`` (d). Score differences of items that are alike in them, and so of any two that met,
    stay the same.
    """
    d = len(coef)
    along = unit[:, None] * directions
    project = np.eye(d if covariance is None else len(covariance))
    project[:d, :d] -= directions @ (unit[:, None] * along).T
    rest = project[:d, :d] @ coef
    rest[np.linalg.norm(along, axis=1) > 1 - SMALLEST_SHARE] = 0.0  # single features, exactly
    return rest, None if covariance is None else project @ covariance @ project.T


def of_smallest_norm(coef: np.ndarray, basis: Basis) -> np.ndarray:
    """Coefficients (d) without what may be added to them and changes no comparison.

    What is left of rounding errors is zero; coefficients that are determined stay as they are.
    """
    standard = basis.open_directions[: len(coef)] * basis.unit[: len(coef), None]
    alone = standard[:, np.linalg.norm(standard, axis=0) > 1 - SMALLEST_SHARE]  # of features only
    size = coef * basis.unit[: len(coef)]
    rest = size - alone @ (alone.T @ size)
    rest[np.abs(rest) < SMALLEST_SHARE**2 * np.abs(rest).max(initial=0.0)] = 0.0
    has_part = np.linalg.norm(alone, axis=1) > SMALLEST_SHARE
    return np.where(has_part, rest / basis.unit[: len(coef)], coef)


@dataclass(frozen=True)
class OpenPart:
    """What of each item (n) lies along the open directions.

    ``place`` (n x k) is the same for items of one group: the open features, each in its unit, or
    at most 3 combinations of them. ``size`` (n) is the length of the standardised features, by
    which places are rounded.
    """

    place: np.ndarray
    size: np.ndarray

    @classmethod
    def of_values(cls, fit: Fit, values: np.ndarray) -> "OpenPart":
        """The part of features ``values`` (n x d)."""
        centred = values - fit.features.mean
        size = np.linalg.norm(centred / fit.features.unit, axis=1)
        if names_groups(fit):
            return cls((values / fit.features.unit)[:, fit.open.undetermined], size)
        place = centred @ fit.open.directions
        if place.shape[1] > N_PROJECTIONS:
            rng = np.random.default_rng(0)  # the same directions each time
            place = place @ rng.normal(size=(place.shape[1], N_PROJECTIONS))
        return cls(place, size)

    @classmethod
    def none(cls) -> "OpenPart":
        """Of no items."""
        return cls(np.empty((0, 0)), np.empty(0))

    def groups(self) -> np.ndarray:
        """Number of each item's group (n), in the order of the places.

        Items are of one group if their places differ by no more than rounding errors.
        """
        number = np.zeros(len(self.size), dtype=np.intp)
        for column in self.place.T:
            order = np.lexsort((column, number))
            reach = OPEN_SHARE * (1 + np.maximum(self.size[order][1:], self.size[order][:-1]))
            is_next = (np.diff(column[order]) > reach) | (np.diff(number[order]) > 0)
            number[order] = np.append(0, np.cumsum(is_next))
        return number


def names_groups(fit: Fit) -> bool:
    """Whether groups have a name: every open feature is open by itself, and few of them vary."""
    each_alone = fit.open.directions.shape[1] == np.count_nonzero(fit.open.undetermined)
    varying = np.count_nonzero(fit.open.undetermined & (fit.features.sd > 0))
    return bool(each_alone and varying <= MOST_NAMED_FEATURES)


class ComparedItems(Protocol):
    """What a model keeps of the features of the compared items, wherever these are."""

    def feature_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value of each feature, shape (d,) each."""
        ...

    def open_part(self, fit: Fit) -> "OpenPart":
        """What of each item lies along the open directions of a fit."""
        ...


@dataclass(frozen=True)
class ComparedRows:
    """Of items with features ``values`` (N x d) in memory, those of a ``mask`` (N)."""

    values: np.ndarray
    mask: np.ndarray

    def feature_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        return feature_range(self.values, self.mask)

    def open_part(self, fit: Fit) -> OpenPart:
        return OpenPart.of_values(fit, self.values[self.mask])


def count_groups(fit: Fit, items: ComparedItems) -> int:
    """How many groups the compared items fall into."""
    if not fit.open.directions.size:
        return 1
    return int(items.open_part(fit).groups().max(initial=0)) + 1


def without_open_part(fit: Fit, centred: np.ndarray) -> np.ndarray:
    """Centred features (n x d) less what lies along the open directions V.

    z - D V (V'D V)^-1 V'z, D the squared units: the difference to the item of the same group that
    is nearest to the average one.
    """
    V = fit.open.directions
    across = fit.features.unit[:, None] ** 2 * V
    return centred - centred @ V @ np.linalg.pinv(V.T @ across) @ across.T


def named_groups(fit: Fit, part: OpenPart) -> tuple[np.ndarray, np.ndarray]:
    """Number of each item's group from 0 (n), and what the groups are called.

    By their open features ('year=2001'), from small to large; or by numbers ('group 1'), in the
    order of the table.
    """
    group = part.groups()
    first = np.unique(group, return_index=True)[1]
    if not names_groups(fit):
        place = np.argsort(np.argsort(first))
        return place[group], np.array([f"group {number + 1}" for number in range(len(first))])
    features = np.flatnonzero(fit.open.undetermined)
    values = part.place[first] * fit.features.unit[features]
    varies = (fit.features.sd[features] > 0) | (np.ptp(part.place[first], axis=0) > 0)
    names = [fit.names[column] for column in features[varies]]
    rows = [zip(names, row, strict=True) for row in values[:, varies].tolist()]
    return group, np.array([", ".join(f"{name}={value:.10g}" for name, value in r) for r in rows])


def is_open(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Mask of the contrasts (k x d) that the comparisons leave open, whatever their unit."""
    size = np.linalg.norm(rows / fit.features.unit, axis=1, keepdims=True)
    return fit.undetermined_contrasts(rows / np.where(size > 0, size, 1.0))


def connected_sets(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Numbers of sets (k) of contrasts ``rows`` (k x d): within a set, differences are determined.

    The difference of two rows is determined if they are alike along all open directions.
    """
    along = rows @ fit.open.directions
    reach = OPEN_SHARE * (1 + 2 * np.linalg.norm(rows / fit.features.unit, axis=1))
    number = np.full(len(rows), -1)
    for first in range(len(rows)):
        if number[first] >= 0:
            continue
        left = np.flatnonzero(number < 0)
        gap = np.abs(along[left] - along[first]).max(axis=1, initial=0.0)
        number[left[gap <= np.maximum(reach[left], reach[first])]] = number.max() + 1
    return number
