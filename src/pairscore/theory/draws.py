"""Random parts of the generative law: comparisons, covariances, and exact draws of estimates."""

from dataclasses import dataclass

import numpy as np

from pairscore.core.links import Link, Logit
from pairscore.core.passes import net_pass

LARGEST_EXPONENT = 300.0  # exp of it, and ratios of such, are far from overflow


@dataclass(frozen=True)
class Judging:
    """How pairs become labels: the link, and on its scale the standard deviations of the scores
    (``spreads``, one for each judge) and of what features do not explain (``item_effect``).
    """

    link: Link
    spreads: np.ndarray
    item_effect: float = 0.0


@dataclass(frozen=True)
class RandomComparisons:
    """Uniformly random pairs and their labels, arrays of length M.

    ``left`` and ``right`` are row numbers of the items, ``won`` says whether left won, ``judge``
    is the number of the judge (None if there is one judge).
    """

    left: np.ndarray
    right: np.ndarray
    won: np.ndarray
    judge: np.ndarray | None

    def net_wins(self, n_items: int) -> np.ndarray:
        """Wins minus losses of every item; a comparison of an item with itself cancels."""
        return net_pass(self.left, self.right, 2.0 * self.won - 1.0, n_items)


def random_covariance(eigenvalues: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A covariance with these eigenvalues and a uniformly random (Haar) basis."""
    d = len(eigenvalues)
    # uniform up to the signs of its columns, which U diag U' does not see
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    covariance = (basis * eigenvalues) @ basis.T
    return (covariance + covariance.T) / 2


def random_comparisons(
    z: np.ndarray,
    n_comparisons: int,
    judging: Judging,
    rng: np.random.Generator,
    repeats: int = 1,
    self_pairs: bool = True,
) -> RandomComparisons:
    """Draw pairs and their labels as the paper does (section 3, eq. 1).

    Pairs are uniform on [N] x [N], or on pairs of different items if not ``self_pairs``; each is
    judged ``repeats`` times. ``z`` (length N) are the items' scores in standard deviations.
    """
    n = len(z)
    n_judges = len(judging.spreads)
    partners = n if self_pairs else n - 1
    pair = rng.integers(0, n * partners, -(-n_comparisons // repeats))
    if repeats > 1:
        pair = np.repeat(pair, repeats)[:n_comparisons]
    left = pair // partners
    right = pair - partners * left
    if not self_pairs:
        right += right >= left
    effect = judging.item_effect * rng.normal(size=n) if judging.item_effect > 0 else 0.0
    judge = rng.integers(0, n_judges, n_comparisons) if n_judges > 1 else None
    won = np.empty(n_comparisons, dtype=bool)
    chance = rng.random(n_comparisons)
    for number, spread in enumerate(judging.spreads):
        rows = slice(None) if judge is None else judge == number
        won[rows] = chance[rows] < win_probability(
            judging.link, spread, z, effect, left[rows], right[rows]
        )
    return RandomComparisons(left, right, won, judge)


def win_probability(
    link: Link,
    spread: float,
    z: np.ndarray,
    effect: np.ndarray | float,
    left: np.ndarray,
    right: np.ndarray,
) -> np.ndarray:
    """Probability that left wins: f of the difference of the scores spread * z + effect.

    Without noise (an infinite spread) the higher z wins, and a coin decides where they are equal.
    """
    if np.isinf(spread):
        return 0.5 + 0.5 * np.sign(z[left] - z[right])
    score = spread * z + effect
    if isinstance(link, Logit) and np.abs(score).max() < LARGEST_EXPONENT:
        # the form of Bradley and Terry: one exponential for each item, not for each comparison
        strength = np.exp(score)
        left_strength = strength[left]
        return left_strength / (left_strength + strength[right])
    return link.cdf(score[left] - score[right])


def inverse_wishart_times(v: np.ndarray, freedom: int, rng: np.random.Generator) -> np.ndarray:
    """Draw W^-1 v for W ~ Wishart_d(I, freedom) and a fixed v (length d) in O(d).

    W^-1 v = (v + |v| t) / chi2(freedom - d + 1), with t normal orthogonal to v over the root of
    chi2(freedom - d + 2): d normals and two chi-squares (docs/explanation/population.md).
    """
    d = len(v)
    length = np.sqrt(v @ v)
    if length == 0:
        return np.zeros(d)
    g = rng.normal(size=d)
    g -= (g @ v) / length**2 * v
    return (v + length * g / np.sqrt(rng.chisquare(freedom - d + 2))) / rng.chisquare(
        freedom - d + 1
    )


def split_draw(
    z: np.ndarray, w: np.ndarray, n_comparisons: int, d: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the whitened `split` estimate (eq. 3) given the scores z and net wins w of N items.

    S^-1 Z'w / M, with Z (N x d) whitened items whose first column is z and S ~ Wishart_d(N - 1) /
    (N - d - 2), the covariance of eq. 4. Z'w is w'z along the truth and |w| times a standard normal
    across, because labels do not depend on the other columns.
    """
    v = np.append(w @ z, np.sqrt(w @ w) * rng.normal(size=d - 1)) / n_comparisons
    return (len(z) - d - 2) * inverse_wishart_times(v, len(z) - 1, rng)


def pooled_draw(
    z: np.ndarray, w: np.ndarray, n_comparisons: int, d: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the whitened unweighted `pooled` estimate given z and w of N items.

    (N/M) (Z'Z)^-1 Z'w with Z centred at its plain mean, where M counts comparisons of different
    items. With w = along z/|z| + across u, z centred and u orthogonal to 1 and z, the other d - 1
    columns have independent normal coordinates y along z and y' along u, and a Wishart_{d-1}(N - 3)
    of the rest.
    """
    n = len(z)
    centred = z - z.mean()
    size = np.linalg.norm(centred)
    along = w @ centred / size
    across = np.linalg.norm(w - along * centred / size)
    y, y_across = rng.normal(size=(2, d - 1))
    solved = inverse_wishart_times(y_across, n - 3, rng)
    # (V + y'y'^T)^-1 y', by Sherman and Morrison
    others = across * solved / (1 + y_across @ solved)
    return n / n_comparisons * np.append((along - y @ others) / size, others)


def reflect_first_axis(y: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Map ``y`` by an orthogonal matrix that takes the first axis to the unit vector ``direction``.

    A Householder reflection, so lengths and angles stay.
    """
    sign = 1.0 if direction[0] >= 0 else -1.0
    u = direction.copy()
    u[0] += sign  # away from zero: no cancellation
    return -sign * (y - 2 * (u @ y) / (u @ u) * u)
