"""Coordinates in which a scatter matrix is the identity, on the directions that the data determine."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, lapack

# smallest eigenvalue, relative to the largest in standardised features, that counts as a direction
TOLERANCE = 1e-12
# of a parameter in an open direction of length one, below which the parameter has no part in it
SMALLEST_SHARE = 1e-6


@dataclass(frozen=True)
class Basis:
    """``transform`` W (d x r) with W' G W = I; W W' is the inverse of G, or its pseudo-inverse.

    If G is singular, W spans the directions that G determines, and W W' g is the solution of
    smallest norm in standardised features. ``open_directions`` (d x m) spans what may be added to a
    solution without any change in the data's terms.
    """

    transform: np.ndarray
    open_directions: np.ndarray
    unit: np.ndarray

    @property
    def undetermined(self) -> np.ndarray:
        """Mask of the parameters whose coefficient is left open."""
        return np.linalg.norm(self.open_directions * self.unit[:, None], axis=1) > SMALLEST_SHARE

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self.transform @ (self.transform.T @ right)

    @property
    def inverse(self) -> np.ndarray:
        return self.transform @ self.transform.T


def whitening_basis(scatter: np.ndarray, sd: np.ndarray) -> Basis:
    """Whiten ``scatter`` in units of ``sd``; features with ``sd`` zero are left out as constant."""
    live = sd > 0
    unit = np.where(live, sd, 1.0)
    standard = scatter / np.outer(unit, unit)
    if live.all():
        factor, info = lapack.dpotrf(standard, lower=0)
        if info == 0 and lapack.dpocon(factor, np.abs(standard).sum(axis=0).max())[0] > TOLERANCE:
            inverse_factor, _ = lapack.dtrtri(factor, lower=0)
            return Basis(np.triu(inverse_factor) / unit[:, None], np.empty((len(sd), 0)), unit)
    values, vectors = eigh(np.where(np.outer(live, live), standard, 0.0))
    kept = values > TOLERANCE * values[-1]
    return Basis(
        vectors[:, kept] / np.sqrt(values[kept]) / unit[:, None],
        vectors[:, ~kept] / unit[:, None],
        unit,
    )


def apart_from_side(basis: Basis) -> tuple[Basis, Basis]:
    """The open directions of (features, side effect), turned into those of features alone and the
    one, if any, that trades the side effect for features.
    """
    standard = basis.open_directions * basis.unit[:, None]  # orthonormal columns
    on_side = standard[-1:]
    if np.linalg.norm(on_side) <= SMALLEST_SHARE:
        return basis, replace(basis, open_directions=basis.open_directions[:, :0])
    # all of the side is in the first column
    turned = standard @ np.linalg.svd(on_side)[2].T / basis.unit[:, None]
    return replace(basis, open_directions=turned[:, 1:]), replace(
        basis, open_directions=turned[:, :1]
    )


def whitened(X: np.ndarray) -> np.ndarray:
    """Rows with mean zero and the identity as covariance, in the directions in which they vary."""
    centred = X - X.mean(axis=0)
    sd = centred.std(axis=0)
    sd[sd <= 1e-13 * np.abs(X).max(axis=0)] = 0.0
    return centred @ whitening_basis(centred.T @ centred / len(X), sd).transform
