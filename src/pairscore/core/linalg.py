"""Matrices: coordinates in which a scatter is the identity, its null space, and solvers.

A scatter is whitened on the directions that data determine (:class:`Basis`). Large systems of
equations are solved by :func:`conjugate_gradients`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

STEPS = 500  # of conjugate gradients at most
CLOSE = 1e-4  # residual of their solution, relative to its right side
TINY = float(np.finfo(float).tiny)
# smallest eigenvalue, relative to the largest in standardised features, that counts as a direction
TOLERANCE = 1e-12
ROUNDING = 1e-13  # of large sums, that may be left of their difference
# of a parameter in an open direction of length one, below which the parameter has no part in it
SMALLEST_SHARE = 1e-6
OPEN_SHARE = 1e-6  # of a difference along an open direction, below which it is rounding


def conjugate_gradients(
    matrix: Any,
    right: np.ndarray,
    start: np.ndarray | None = None,
    close: float = CLOSE,
) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of a positive matrix (N x N) times several columns (N x k) at once, and what is
    left of these. ``start`` is a guess.

    Where that takes more than STEPS, as on a long chain of items, the equations are solved by a
    factor of the matrix, which has few entries there.
    """
    columns = right
    right = np.ascontiguousarray(right.T)  # a row for each: NumPy is slow where rows are short
    per_unit, goal = 1 / matrix.diagonal(), close**2 * row_products(right, right)
    x, residual = np.zeros_like(right), right.copy()
    if start is not None:
        x[:] = start.T
        residual -= (matrix @ start).T
    direction = residual * per_unit
    size, left = row_products(residual, direction), row_products(residual, residual)
    for _ in range(STEPS):
        if np.all(left <= goal):
            return np.ascontiguousarray(x.T), residual.T
        product = np.ascontiguousarray((matrix @ direction.T).T)
        for row, of_row in enumerate(zip(x, residual, direction, product, strict=True)):
            size[row], left[row] = _descend(*of_row, per_unit, size[row])
    solved = solve_by_factor(matrix, columns)
    return solved, columns - matrix @ solved


def solve_by_factor(matrix: Any, right: np.ndarray) -> np.ndarray:
    """The same by a factor of the matrix: an array, a sparse one, or an object with its ``matrix``.

    Columns are refined once, which gains the digits that a nearly singular matrix costs.
    """
    entries = getattr(matrix, "matrix", matrix)
    if isinstance(entries, np.ndarray):
        return np.linalg.solve(entries, right)
    factor = splu(sparse.csc_array(entries))
    solved = factor.solve(np.ascontiguousarray(right))
    return solved + factor.solve(np.ascontiguousarray(right - matrix @ solved))


def _descend(
    x: np.ndarray,
    residual: np.ndarray,
    direction: np.ndarray,
    product: np.ndarray,
    per_unit: np.ndarray,
    size: float,
) -> tuple[float, float]:
    """A step for one column, in place: x, what is left and the next direction, and their sizes."""
    length = size / max(np.einsum("i,i", direction, product), TINY)
    product *= length
    residual -= product
    x += np.multiply(direction, length, out=product)
    scaled = np.multiply(residual, per_unit, out=product)
    after = np.einsum("i,i", residual, scaled)
    direction *= after / max(size, TINY)
    direction += scaled
    return after, np.einsum("i,i", residual, residual)


def row_products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Inner products of the rows (k) of two matrices (k x N)."""
    return np.einsum("ji,ji->j", one, other)


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


def square_root(meat: np.ndarray) -> np.ndarray:
    """A (p x r) with AA' = meat (p x p), on the r directions in which meat exceeds rounding errors.

    With a ridge a jacobian is large where the data say nothing; it would turn the rounding errors
    of the meat there into variances, negative ones too.
    """
    unit = np.sqrt(np.where(np.diag(meat) > 0, np.diag(meat), 1.0))
    values, vectors = np.linalg.eigh(meat / np.outer(unit, unit))
    seen = values > TOLERANCE * values.max(initial=0.0)
    return vectors[:, seen] * np.sqrt(values[seen]) * unit[:, None]
