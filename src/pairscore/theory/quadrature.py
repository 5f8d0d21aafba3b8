"""A fixed set of errors to average over: directions and lengths, made once from a fixed seed.

With them a mean angle is a number and not a draw. Directions come from a scrambled Sobol sequence:
with as many random ones the mean would be off by a percent where one eigenvalue dominates, with
these by a quarter of a percent.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

# a power of two, at which a Sobol sequence is even: more nodes would bring a mean angle closer than
# a quarter of a percent, and take longer than the 20 ms that they take for a hundred features
NODES = 4096
SEED = 20210  # any would do; fixed, so that a prediction is a number and not a draw


@dataclass(frozen=True)
class QuasiRandomErrors:
    """Nodes of a quadrature over the errors of studies, in one population or in many.

    In whitened coordinates an estimate is ``along`` e + ``across`` u, e the true direction and u a
    unit vector orthogonal to it, both relative to the length of the truth. All fields are arrays
    with one entry for each node.

    Attributes
    ----------
    truth
        Length of covariance^(-1/2) e.
    parallel, perpendicular
        Parts of covariance^(-1/2) u along and across beta, u uniform.
    length, normal
        Length of D = d - 1 standard normals, and one more normal.
    other_length, turn, normal2
        The same again for the covariance of `split`; ``turn`` is the cosine of its direction.
    study
        One normal for how lucky the whole study is.
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

    @classmethod
    def of_covariance(
        cls, eigenvalues: np.ndarray, beta: np.ndarray | None, n_nodes: int = NODES
    ) -> "QuasiRandomErrors":
        """Nodes for items whose covariance has these eigenvalues (length d).

        ``beta`` (length d) is in the coordinates of its eigenvectors; None stands for all
        directions, each as likely.
        """
        d = len(eigenvalues)
        rng = np.random.default_rng(SEED)
        even_normals = _even_normals(n_nodes, 2 * d, rng)
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
        normal = _shuffled_normals(n_nodes, rng)
        study = _shuffled_normals(n_nodes, rng)
        first, normal2 = rng.normal(size=(n_nodes, 2)).T
        along_first = first if d > 1 else np.zeros(n_nodes)
        rest = rng.chisquare(d - 2, n_nodes) if d > 2 else np.zeros(n_nodes)
        other_length = np.sqrt(along_first**2 + rest)
        turn = along_first / np.where(other_length > 0, other_length, 1.0)
        return cls(
            truth=1 / spread,
            parallel=parallel,
            perpendicular=perpendicular,
            length=length,
            normal=normal,
            other_length=other_length,
            turn=turn,
            normal2=normal2,
            study=study,
        )

    def chi_square(self, freedom: float) -> np.ndarray:
        """Chi-squared values at ``normal2`` by the cube of Wilson and Hilferty (1931), good to a
        thousandth from ten degrees of freedom.
        """
        freedom = max(freedom, 1.0)
        f = 2 / (9 * freedom)
        return freedom * np.maximum(1 - f + np.sqrt(f) * self.normal2, 0.01) ** 3

    def errors(
        self,
        along: np.ndarray,
        across: np.ndarray,
        length: float,
        along_in_norm: np.ndarray | None = None,
    ) -> dict[str, np.ndarray]:
        """Errors of estimates whose limit has length ``length`` in the metric of the covariance.

        ``angle`` and ``sigma_angle`` in radians, ``norm_error`` in the units of the coefficients
        (with ``along_in_norm`` for along, where that differs), and ``misordered``, the share of
        pairs of new items that are put in the wrong order: sigma_angle / pi for normal items.
        """
        sigma_angle = np.arctan2(across, along)
        sideways = across * self.perpendicular
        forward = across * self.parallel
        excess = (along if along_in_norm is None else along_in_norm) - 1
        return {
            "angle": np.arctan2(sideways, along * self.truth + forward),
            "sigma_angle": sigma_angle,
            "norm_error": length * np.hypot(excess * self.truth + forward, sideways),
            "misordered": sigma_angle / np.pi,
        }


def _even_normals(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Normals (n x d) that fill space evenly: a scrambled Sobol sequence, where there is one.

    Beyond 21 201 dimensions they are drawn; in so many, the mean over directions hardly varies.
    """
    from scipy.stats import qmc  # a quarter of a second, which only predictions pay for

    if d > qmc.Sobol.MAXDIM:
        return rng.normal(size=(n, d))
    return ndtri(qmc.Sobol(d, rng=rng).random(n))


def _shuffled_normals(n: int, rng: np.random.Generator) -> np.ndarray:
    """Quantiles of the normal law at n even levels, in random order."""
    return ndtri((rng.permutation(n) + 0.5) / n)
