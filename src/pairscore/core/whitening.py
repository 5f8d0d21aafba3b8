"""Coordinates in which a scatter matrix is the identity, on the directions that data determine.

Also the features of many items in such units, and their ranges.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from pairscore.core.passes import on_each, row_chunks
from pairscore.core.sums import Spread, centred_blocks, row_blocks

# smallest eigenvalue, relative to the largest in standardised features, that counts as a direction
TOLERANCE = 1e-12
ROUNDING = 1e-13  # of large sums, that may be left of their difference
# of a parameter in an open direction of length one, below which the parameter has no part in it
SMALLEST_SHARE = 1e-6
SMALLEST_REACH = 1e-100  # of a feature, whose square, times a weight of this size, is not zero
LARGEST_OFFSET = 1e8  # values over their differences, that leaves half of the digits to these
CONSTANT = 16 * float(np.finfo(float).eps)  # share of a value that is rounding
OPEN_SHARE = 1e-6  # of a difference along an open direction, below which it is rounding
SMALLEST_RATIO = 0.5  # of item-robust over classical variance in any direction


@dataclass(frozen=True)
class Basis:
    """``transform`` W (d x r) with W'GW = I; WW' is the inverse of G, or its pseudo-inverse.

    If G is singular, W spans the r directions that G determines, and WW'g is the solution of
    smallest norm in standardised features. ``open_directions`` (d x (d - r)) spans what may be
    added to a solution without any change in the data's terms. ``unit`` (d) has the standard
    deviations by which features were standardised.
    """

    transform: np.ndarray
    open_directions: np.ndarray
    unit: np.ndarray

    @property
    def undetermined(self) -> np.ndarray:
        """Mask (d) of the parameters whose coefficient is left open."""
        return np.linalg.norm(self.open_directions * self.unit[:, None], axis=1) > SMALLEST_SHARE

    def solve(self, right: np.ndarray) -> np.ndarray:
        """G^-1 right."""
        return self.transform @ (self.transform.T @ right)

    def smallest(self, params: np.ndarray) -> np.ndarray:
        """Parameters (d) without what they have along open directions: smallest standard norm."""
        along = self.unit[:, None] * self.open_directions  # orthonormal columns
        return params - self.open_directions @ (along.T @ (self.unit * params))

    @property
    def inverse(self) -> np.ndarray:
        """G^-1, d x d."""
        return self.transform @ self.transform.T


def whitening_basis(scatter: np.ndarray, sd: np.ndarray, size: float = 0.0) -> Basis:
    """Whiten ``scatter`` (d x d) in units of ``sd`` (d); features with ``sd`` zero are left out.

    By the factor of Cholesky, or by eigenvalues (slower) where features are
    constant or collinear. ``size`` is that of the sums of which the scatter is a difference, in
    these units: where all items that met are alike, the whole scatter is what rounding left of it.
    """
    live = sd > 0
    unit = np.where(live, sd, 1.0)
    if not len(sd):
        return Basis(np.empty((0, 0)), np.empty((0, 0)), unit)
    standard = scatter / np.outer(unit, unit)
    if live.all():
        factor, info = lapack.dpotrf(standard, lower=0)
        norm = np.abs(standard).sum(axis=0).max()
        smallest = norm * lapack.dpocon(factor, norm)[0] if info == 0 else 0.0
        if smallest > max(TOLERANCE * norm, ROUNDING * size):
            inverse_factor, _ = lapack.dtrtri(factor, lower=0)
            return Basis(np.triu(inverse_factor) / unit[:, None], np.empty((len(sd), 0)), unit)
    values, vectors = np.linalg.eigh(np.where(np.outer(live, live), standard, 0.0))
    determined = values > max(TOLERANCE * values[-1], ROUNDING * size)
    transform = vectors[:, determined] / np.sqrt(values[determined]) / unit[:, None]
    return Basis(transform, vectors[:, ~determined] / unit[:, None], unit)


def split_side_directions(basis: Basis) -> tuple[Basis, Basis]:
    """Split the open directions of (features, side effect) by whether the side has a part in them.

    Returns two bases that differ in their open directions: those of features alone, and the one, if
    any, that trades the side effect for features.
    """
    standard = basis.open_directions * basis.unit[:, None]  # orthonormal columns
    on_side = standard[-1:]
    if np.linalg.norm(on_side) <= SMALLEST_SHARE:
        return basis, replace(basis, open_directions=basis.open_directions[:, :0])
    # rotated so that all of the side is in the first column
    rotated = standard @ np.linalg.svd(on_side)[2].T / basis.unit[:, None]
    features, side = rotated[:, 1:], rotated[:, :1]
    return replace(basis, open_directions=features), replace(basis, open_directions=side)


def whiten(X: np.ndarray) -> np.ndarray:
    """Rows (N x r) with mean zero and the identity as covariance, from rows ``X`` (N x d).

    r is the number of directions in which the rows vary.
    """
    centred = X - X.mean(axis=0)
    sd = centred.std(axis=0)
    sd[sd <= 1e-13 * np.abs(X).max(axis=0)] = 0.0
    return centred @ whitening_basis(centred.T @ centred / len(X), sd).transform


def floored_covariance(
    robust: np.ndarray, model: np.ndarray, smallest: float = SMALLEST_RATIO
) -> np.ndarray:
    """The robust covariance, raised where it is less than ``smallest`` (a half) of the model's.

    The item-robust estimate need not be positive definite, and with few items it can be far too
    small by chance. Sharing items only ever adds variance, so in coordinates in which the model's
    covariance is the identity, eigenvalues of the robust one below that are raised to it. Both are
    p x p.

    What is lacking is added, and the rest left as it is. Put together again from its axes, it would
    lose all but four digits where items that met are alike: there the model's covariance has a
    condition of 1e13 and more, and one of its axes is lost in rounding, along which the robust one
    may be 1e6 times as large.
    """
    unit = np.sqrt(np.where(np.diag(model) > 0, np.diag(model), 1.0))
    scale = np.outer(unit, unit)
    values, vectors = np.linalg.eigh(model / scale)
    positive = values > 1e-13 * values[-1]
    vectors, root = vectors[:, positive], np.sqrt(values[positive])
    ratios, axes = np.linalg.eigh((vectors / root).T @ (robust / scale) @ (vectors / root))
    axes = ((vectors * root) @ axes) * unit[:, None]
    return robust + (axes * np.maximum(smallest - ratios, 0.0)) @ axes.T


def square_root(meat: np.ndarray) -> np.ndarray:
    """A (p x r) with AA' = meat (p x p), on the r directions in which meat exceeds rounding errors.

    With a ridge a jacobian is large where the data say nothing; it would turn the rounding errors
    of the meat there into variances, negative ones too.
    """
    unit = np.sqrt(np.where(np.diag(meat) > 0, np.diag(meat), 1.0))
    values, vectors = np.linalg.eigh(meat / np.outer(unit, unit))
    seen = values > TOLERANCE * values.max(initial=0.0)
    return vectors[:, seen] * np.sqrt(values[seen]) * unit[:, None]


def usual_values(first: np.ndarray) -> np.ndarray:
    """The value (d) of all rows but one, by the first three of these; NaN where there is none.

    If all rows but one are equal, two of three are.
    """
    ordered = np.sort(first, axis=0)
    equal = np.any(ordered[1:] == ordered[:-1], axis=0) & (len(first) > 2)
    usual = np.full(first.shape[1], np.nan)
    usual[equal] = np.median(first[:, equal], axis=0) if equal.any() else np.nan
    return usual


def other_rows(
    Z: np.ndarray, exposures: np.ndarray, numbers: np.ndarray, usual: np.ndarray
) -> np.ndarray:
    """How many compared items have another value than the usual one, and the sum of their numbers.

    An array (2 x d); those of disjoint sets of items add.
    """
    others, rows = np.zeros((2, len(usual))), np.flatnonzero(exposures > 0)
    for column in np.flatnonzero(~np.isnan(usual)):
        other = rows[Z[rows, column] != usual[column]]
        others[:, column] = len(other), numbers[other].sum()
    return others


def own_column_mask(others: np.ndarray, n_items: int) -> np.ndarray:
    """Mask (N) of the items that are the only other one in some column."""
    mask = np.zeros(n_items, dtype=bool)
    mask[others[1, others[0] == 1].astype(np.intp)] = True
    return mask


# -- units and ranges of features --------------------------------------------------------------


def standardised(X: np.ndarray, center: Spread) -> tuple[np.ndarray, np.ndarray]:
    """Items less their mean, over the unit of each feature, and these units (d).

    The unit is the standard deviation, or 1 of a constant.
    """
    unit = np.where(center.sd > 0, center.sd, 1.0)
    Z: np.ndarray = np.empty(X.shape)

    def one(chunk: slice) -> None:
        for rows, centred in centred_blocks(X, center.mean, chunk):
            np.divide(centred, unit, out=Z[rows])

    on_each(one, row_chunks(*X.shape))
    return Z, unit


def lost_digits(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masks (d) of features that hardly differ: less than squares hold, or than digits do.

    ``low`` and ``high`` (d) are their smallest and largest values. A feature that is equal up to
    rounding is a constant.
    """
    size, reach = np.maximum(np.abs(low), np.abs(high)), high - low
    tiny = (reach > 0) & (reach < SMALLEST_REACH)
    is_constant = reach <= CONSTANT * size
    return tiny, (reach < size / LARGEST_OFFSET) & ~is_constant & ~tiny


def feature_range(X: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of every feature (d) among the rows of a mask, block by block."""

    def one(chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
        for rows in row_blocks(chunk.stop, chunk.start):
            block = X[rows] if mask[rows].all() else X[rows][mask[rows]]
            low = np.minimum(low, block.min(axis=0, initial=np.inf))
            high = np.maximum(high, block.max(axis=0, initial=-np.inf))
        return low, high

    low, high = zip(*on_each(one, row_chunks(*X.shape)), strict=True)
    return np.min(low, axis=0), np.max(high, axis=0)
