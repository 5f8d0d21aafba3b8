"""A fixed set of errors to average over: directions and lengths, made once from a fixed seed.

With them a mean angle is a number and not a draw. Directions come from a scrambled Sobol sequence:
with as many random ones the mean would be off by a percent where one eigenvalue dominates, so it is
by a quarter.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

NODES = 4096
SEED = 20210


@dataclass(frozen=True)
class QuasiRandomErrors:
    """A fixed set of errors to average over, in the coordinates of one population or of many.

    For each node: ``truth`` the length of covariance^(-1/2) e; ``parallel`` and ``perpendicular``
    the parts, along and across beta, of covariance^(-1/2) u, u uniform orthogonal to e; ``length``
    of D normals and ``normal`` one more; ``other_length``, ``turn``, ``normal2`` the same again for
    the covariance of `split`;
    ``study`` one normal for how lucky the whole study is.
    """

    truth: np.ndarray
    parallel: np.ndarray
    perpendicular: np.ndarray
    length: np.ndarray
    normal: np.ndarray
    other_length: np.ndarray
    turn: np.ndarray
    normal2: np.ndarray
    study: np.ndarray

    def chi_square(self, freedom: float) -> np.ndarray:
        """Chi-squared values by Wilson and Hilferty's cube, good to a thousandth from ten degrees
        of freedom.
        """
        f = 2 / (9 * max(freedom, 1.0))
        return max(freedom, 1.0) * np.maximum(1 - f + np.sqrt(f) * self.normal2, 0.01) ** 3

    def errors(self, along: np.ndarray, across: np.ndarray, length: float) -> dict[str, np.ndarray]:
        """Angles, lengths and misordered shares of estimates whose limit has the Sigma-length
        ``length``.
        """
        sigma_angle = np.arctan2(across, along)
        return {
            "angle": np.arctan2(
                across * self.perpendicular, along * self.truth + across * self.parallel
            ),
            "sigma_angle": sigma_angle,
            "norm_error": self.norm_error(along, across, length),
            "misordered": sigma_angle / np.pi,
        }

    def norm_error(self, along: np.ndarray, across: np.ndarray, length: float) -> np.ndarray:
        """Lengths of estimate less limit, in the units of the features."""
        return length * np.hypot(
            (along - 1) * self.truth + across * self.parallel, across * self.perpendicular
        )


def make_nodes(
    eigenvalues: np.ndarray, beta: np.ndarray | None, n_nodes: int = NODES
) -> QuasiRandomErrors:
    """QuasiRandomErrors for a covariance with these eigenvalues.

    ``beta`` in the coordinates of its eigenvectors.
    """
    rng, d = np.random.default_rng(SEED), len(eigenvalues)
    even_normals = (
        ndtri(qmc.Sobol(2 * d, rng=rng).random(n_nodes))
        if 2 * d <= qmc.Sobol.MAXDIM
        else rng.normal(size=(n_nodes, 2 * d))
    )
    g = even_normals[:, :d]
    beta = even_normals[:, d:] if beta is None else np.broadcast_to(beta, (n_nodes, d))
    beta = beta / np.linalg.norm(beta, axis=1, keepdims=True)
    e = np.sqrt(eigenvalues) * beta
    spread = np.linalg.norm(e, axis=1)
    e /= spread[:, None]
    u = g - np.sum(g * e, axis=1)[:, None] * e
    length = np.linalg.norm(u, axis=1)
    stretched = u / np.where(length > 0, length, 1.0)[:, None] / np.sqrt(eigenvalues)
    parallel = np.sum(stretched * beta, axis=1)
    perpendicular = np.sqrt(np.maximum(np.sum(stretched**2, axis=1) - parallel**2, 0.0))
    even, study = (ndtri((rng.permutation(n_nodes) + 0.5) / n_nodes) for _ in range(2))
    other = rng.normal(size=(n_nodes, 2))
    rest = rng.chisquare(max(d - 2, 1), n_nodes) * (d > 2)
    other_length = np.sqrt(other[:, 0] ** 2 * (d > 1) + rest)
    turn = other[:, 0] / np.where(other_length > 0, other_length, 1.0)
    return QuasiRandomErrors(
        1 / spread, parallel, perpendicular, length, even, other_length, turn, other[:, 1], study
    )
