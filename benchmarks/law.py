"""The paper's synthetic law at the sizes of the benchmarks."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


@dataclass(frozen=True)
class Problem:
    items: np.ndarray  # 2N rows, the first N compared
    votes: np.ndarray  # winner's row number first

    @property
    def compared(self):
        return self.items[: len(self.items) // 2]

    def differences(self, rng):
        """Explicit differences and outcomes, as other software needs them."""
        left_won = rng.random(len(self.votes)) < 0.5
        sign = np.where(left_won, 1.0, -1.0)
        return (self.compared[self.votes[:, 0]] - self.compared[self.votes[:, 1]]) * sign[
            :, None
        ], left_won


def draw(n_items, n_features, n_comparisons, *, min_eigenvalue=1 / 200, noise=0.2, seed=0):
    """Normal items with eigenvalues equally spaced in [min_eigenvalue, 1], random pairs, a share
    ``noise`` flipped.
    """
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    eigenvalues = np.linspace(min_eigenvalue, 1, n_features)
    beta = np.sqrt(10) * rng.normal(size=n_features)
    items = (
        rng.normal(size=(2 * n_items, n_features)) * np.sqrt(eigenvalues)
    ) @ basis.T + rng.uniform(-5, 5, n_features)
    spread = np.sqrt(2 * np.sum(eigenvalues * (basis.T @ beta) ** 2))
    grid = np.linspace(-8, 0, 4001)
    density = np.exp(-grid * grid / 2) * (grid[1] - grid[0]) / np.sqrt(2 * np.pi)
    slope = brentq(lambda slope: 2 * density @ expit(slope * spread * grid) - noise, 1e-6, 1e3)
    first = rng.integers(0, n_items, n_comparisons)
    second = (first + rng.integers(1, n_items, n_comparisons)) % n_items
    score = slope * items @ beta
    won = rng.random(n_comparisons) < expit(score[first] - score[second])
    return Problem(
        items,
        np.where(won[:, None], np.column_stack([first, second]), np.column_stack([second, first])),
    )
