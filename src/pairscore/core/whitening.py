"""Coordinates in which a scatter is the identity, on the directions that data determine."""

from dataclasses import dataclass, replace

import numpy as np

# smallest eigenvalue, relative to the largest in standardised features, that counts as a direction
TOLERANCE = 1e-12
ROUNDING = 1e-13  # of large sums, that may be left of their difference
# of a parameter in an open direction of length one, below which the parameter has no part in it
SMALLEST_SHARE = 1e-6
OPEN_SHARE = 1e-6  # of a difference along an open direction, below which it is rounding


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

    By the factor of Cholesky, or by eigenvalues, which take four times as long for 250 features,
    where these are constant or collinear. ``size`` is that of the sums of which the scatter is a
    difference, in these units: where all items that met are alike, the whole scatter is what
    rounding left of it.
    """
    from scipy.linalg import lapack  # a model that is only read does without

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


def square_root(meat: np.ndarray) -> np.ndarray:
    """A (p x r) with AA' = meat (p x p), on the r directions in which meat exceeds rounding errors.

    With a ridge a jacobian is large where the data say nothing; it would turn the rounding errors
    of the meat there into variances, negative ones too.
    """
    unit = np.sqrt(np.where(np.diag(meat) > 0, np.diag(meat), 1.0))
    values, vectors = np.linalg.eigh(meat / np.outer(unit, unit))
    seen = values > TOLERANCE * values.max(initial=0.0)
    return vectors[:, seen] * np.sqrt(values[seen]) * unit[:, None]
