"""A fixed set of errors to average over: directions and lengths, made once from a fixed seed.

With them a mean angle is a number and not a draw. Directions come from a scrambled Sobol sequence:
with as many random ones the mean would be off by a percent where one eigenvalue dominates, with
these by a quarter of a percent.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import ndtri

NODES = 4096
SEED = 20210
BITS = 30  # of a coordinate of a Sobol sequence
MOST_DIMENSIONS = 21201  # for which Joe and Kuo (2008) give direction numbers


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
        rng, d = np.random.default_rng(SEED), len(eigenvalues)
        if 2 * d <= MOST_DIMENSIONS:
            even_normals = ndtri(sobol_points(n_nodes, 2 * d, rng))
        else:
            even_normals = rng.normal(size=(n_nodes, 2 * d))
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
        normal, study = (ndtri((rng.permutation(n_nodes) + 0.5) / n_nodes) for _ in range(2))
        first, normal2 = rng.normal(size=(n_nodes, 2)).T
        rest = rng.chisquare(max(d - 2, 1), n_nodes) * (d > 2)
        other_length = np.sqrt(first**2 * (d > 1) + rest)
        turn = first / np.where(other_length > 0, other_length, 1.0)
        return cls(
            1 / spread, parallel, perpendicular, length, normal, other_length, turn, normal2, study
        )

    def chi_square(self, freedom: float) -> np.ndarray:
        """Chi-squared values at ``normal2`` by the cube of Wilson and Hilferty (1931), good to a
        thousandth from ten degrees of freedom.
        """
        f = 2 / (9 * max(freedom, 1.0))
        return max(freedom, 1.0) * np.maximum(1 - f + np.sqrt(f) * self.normal2, 0.01) ** 3

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
        sideways, forward = across * self.perpendicular, across * self.parallel
        excess = (along if along_in_norm is None else along_in_norm) - 1
        return {
            "angle": np.arctan2(sideways, along * self.truth + forward),
            "sigma_angle": sigma_angle,
            "norm_error": length * np.hypot(excess * self.truth + forward, sideways),
            "misordered": sigma_angle / np.pi,
        }


def sobol_points(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Points (n x d) of a Sobol sequence, scrambled by random matrices and a shift.

    Matousek (1998). At most 2^18 points. ``scipy.stats.qmc.Sobol`` has the same, and takes longer
    to import than NumPy, DuckDB and the rest of SciPy together.
    """
    try:
        numbers = _direction_numbers(d, max(n - 1, 1).bit_length())
    except FileNotFoundError:  # a SciPy that keeps its table elsewhere
        from scipy.stats import qmc

        return qmc.Sobol(d, rng=rng).random(n)
    rng = rng.spawn(1)[0]
    powers = 2 ** np.arange(BITS, dtype=np.uint32)
    shift = rng.integers(2, size=(d, BITS), dtype=np.uint32) @ powers
    mixing = np.tril(rng.integers(2, size=(d, BITS, BITS), dtype=np.uint32))
    mixing[:, range(BITS), range(BITS)] = 1
    digits = numbers[:, None, :] // powers[::-1, None] % 2  # the most significant first
    scrambled: np.ndarray = powers[::-1] @ (mixing @ digits % 2)  # d x number of bits
    place = np.arange(1, n)
    changed = np.bitwise_count((place & -place) - 1)  # where Gray codes of neighbours differ
    steps = np.concatenate([shift[None], scrambled.T[changed]])
    return np.bitwise_xor.accumulate(steps, axis=0) / 2.0**BITS


def _direction_numbers(d: int, n_bits: int) -> np.ndarray:
    """The first numbers (d x n_bits) by which the points of a Sobol sequence are made.

    The first ones of each dimension are in the table of Joe and Kuo (2008), which comes with SciPy;
    the others follow by the recurrence of its primitive polynomial (Bratley and Fox 1988).
    """
    with np.load(f"{scipy.__path__[0]}/stats/_sobol_direction_numbers.npz") as table:
        polynomial, given = table["poly"][:d], table["vinit"][:d]
    degree = np.array([max(int(number).bit_length() - 1, 1) for number in polynomial])
    polynomial[0] = 0  # the first dimension is van der Corput's sequence: every number repeats
    numbers = np.zeros((d, n_bits), dtype=np.int64)
    for k in range(n_bits):
        follows = degree <= k
        numbers[~follows, k] = given[~follows, k]
        numbers[follows, k] = numbers[follows, k - degree[follows]]
        for back in range(1, k + 1):
            has_term = polynomial >> np.maximum(degree - back, 0) & (degree >= back) & follows == 1
            numbers[has_term, k] ^= numbers[has_term, k - back] << back
    return (numbers << BITS - 1 - np.arange(n_bits)).astype(np.uint32)
