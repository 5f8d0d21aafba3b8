"""Where the error of the `split` estimate comes from: six parts of beta-hat - c1 beta.

They add up to it exactly. In the paper's notation (Lemmas 8 and 9, without their norms), with
W_n = Sigma^-1/2 (X_n - mu) and v(x) = Sigma^-1/2 x:

    covariance   (Sigma-hat^-1 - Sigma^-1) Sigma c1 beta       the covariance is estimated
    counts       v( sum_n (M_n/M - 1/N) W_n g~_n )             items are drawn unevenly
    labels       v( 1/M sum_n W_n M_n Delta_n )                outcomes and partners are random
    partners     v( 1/N sum_n W_n z_n )                        an item meets N others, not all
    items        v( 1/N sum_n W_n g_n - Sigma^1/2 c1 beta/2 )  N items are not the population
    interaction  (Sigma-hat^-1 - Sigma^-1) (S - Sigma c1 beta) covariance and label sum are both off

The paper follows the left items and says that the right ones, with -Y for Y, are alike; here each
part adds both sides. S = 1/M sum_m Y_m (X_I - X_J), so that beta-hat = Sigma-hat^-1 S (eq. 3).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields

import numpy as np

from pairscore.core.links import Link
from pairscore.core.moments import moments
from pairscore.errors import PairscoreError
from pairscore.estimators.closed_form import split_covariance
from pairscore.messages import Setting

BLOCK = 1 << 20  # score differences at a time: arrays of 8 MB, however many the items


@dataclass(frozen=True)
class Decomposition:
    """The six parts of beta-hat - c1 beta, each a vector of length d in the units of beta."""

    covariance: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    partners: np.ndarray
    items: np.ndarray
    interaction: np.ndarray

    @property
    def terms(self) -> dict[str, np.ndarray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def total(self) -> np.ndarray:
        """beta-hat - c1 beta."""
        return np.sum(list(self.terms.values()), axis=0)


def decompose(
    items: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    second_half: np.ndarray,
    *,
    beta: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
    link: Link,
    c1: float,
    slope: float = 1.0,
) -> Decomposition:
    """Take the error of the `split` estimate of a simulated study apart, by its sources.

    Parameters
    ----------
    items : array (N x d)
        The compared items, N(mean, covariance).
    left, right : integer arrays of length M
        Rows of ``items``; a pair of an item with itself is allowed.
    outcome : array of length M
        +1 where left won and -1 where right did.
    second_half : array (N_c x d)
        The items behind the covariance, N_c > d + 2.
    beta, mean, covariance, link, slope
        The truth: left wins with probability f(slope * beta'(x_left - x_right)).
    c1 : float
        4 E[slope f'(slope * beta'(x - y))], so that c1 beta is what the estimate tends to.
    """
    X = np.asarray(items, dtype=float)
    second_half = np.asarray(second_half, dtype=float)
    left = np.asarray(left)
    right = np.asarray(right)
    outcome = np.asarray(outcome, dtype=float)
    _check(X, left, right, outcome, second_half, np.asarray(covariance))
    centred = X - mean
    target = c1 * (covariance @ beta)
    score = slope * (centred @ beta)
    sd = slope * float(np.sqrt(beta @ covariance @ beta))
    sample = sample_label(score, link)
    population = population_label(score, sd, link)
    of_left = side_terms(centred, left, outcome, sample, population, target / 2)
    of_right = side_terms(centred, right, -outcome, sample, population, target / 2)
    whitened = {
        name: np.linalg.solve(covariance, of_left[name] + of_right[name]) for name in of_left
    }
    deviation = sum(whitened.values())  # Sigma^-1 (S - Sigma c1 beta)
    estimated = split_covariance(moments(second_half))
    # (Sigma-hat^-1 - Sigma^-1) x, with y = Sigma^-1 x at hand: Sigma-hat^-1 x - y
    return Decomposition(
        covariance=np.linalg.solve(estimated, target) - c1 * beta,
        **whitened,
        interaction=np.linalg.solve(estimated, covariance @ deviation) - deviation,
    )


def side_terms(
    centred: np.ndarray,
    side: np.ndarray,
    label: np.ndarray,
    sample: np.ndarray,
    population: np.ndarray,
    target: np.ndarray,
) -> dict[str, np.ndarray]:
    """The four parts of Lemma 9 for one side of the pairs, before whitening (X_n - mu for W_n).

    ``side`` (length M) are the items on that side and ``label`` their outcomes; ``sample`` is g~_n,
    ``population`` g_n (length N), and ``target`` the mean of Y (X_I - mu) of two different items.
    """
    n_items, n_comparisons = len(centred), len(side)
    count = np.bincount(side, minlength=n_items)  # M_n
    label_sum = np.bincount(side, label, n_items)
    return {
        "counts": (count / n_comparisons - 1 / n_items) * sample @ centred,
        "labels": (label_sum - count * sample) @ centred / n_comparisons,  # M_n Delta_n
        "partners": (sample - population) @ centred / n_items,  # z_n
        "items": population @ centred / n_items - target,
    }


def sample_label(score: np.ndarray, link: Link) -> np.ndarray:
    """Mean label of each item against a random one of the N items, itself included.

    g~_n = 1/N sum_j (2 f(s_n - s_j) - 1), for scores s of length N.
    """
    return _mean_label(score, score, np.full(len(score), 1 / len(score)), link)


def population_label(score: np.ndarray, sd: float, link: Link) -> np.ndarray:
    """Mean label of each item against a new item: g_n = E[2 f(s_n - t) - 1], t ~ N(0, sd^2).

    Trapezoidal rule, which for such integrands gains digits exponentially once a step is short
    against both the normal law and the link's rise (a width of 1/sd in units of the former).
    """
    step = 0.5 / max(1.0, sd)
    half = np.ceil(9 / step)  # nodes on either side, up to nine standard deviations
    node = step * np.arange(-half, half + 1)
    weight = np.exp(-0.5 * node * node)
    return _mean_label(score, sd * node, weight / weight.sum(), link)


def _mean_label(
    score: np.ndarray, against: np.ndarray, weight: np.ndarray, link: Link
) -> np.ndarray:
    """sum_j weight_j (2 f(s_n - against_j) - 1) for every n, a block of items at a time."""
    rows = max(BLOCK // len(against), 1)
    blocks = [
        (2 * link.cdf(score[first : first + rows, None] - against) - 1) @ weight
        for first in range(0, len(score), rows)
    ]
    return np.concatenate(blocks)


def decomposition_rows(
    draw: Callable[[int, int, np.random.Generator], Decomposition],
    grid: Iterable[tuple[int, int]],
    repeats: int,
    rng: np.random.Generator,
) -> list[dict[str, float | int | str]]:
    """Mean squared length of every part, and of the total, over repeated studies of each size.

    ``draw(n_items, n_comparisons, rng)`` simulates one study of a size on the ``grid``. One row per
    size and part: n_items, n_comparisons, term, mean_square, std_error (of the mean square) and
    repeats.
    """
    if repeats < 2:
        raise PairscoreError(
            Setting("repeats") + f" is {repeats}",
            "give at least 2, so that a standard error exists",
        )
    rows: list[dict[str, float | int | str]] = []
    for n_items, n_comparisons in grid:
        draws = [draw(n_items, n_comparisons, rng) for _ in range(repeats)]
        squares = {
            name: np.array([part.terms[name] @ part.terms[name] for part in draws])
            for name in draws[0].terms
        }
        squares["total"] = np.array([part.total @ part.total for part in draws])
        rows += [
            {
                "n_items": n_items,
                "n_comparisons": n_comparisons,
                "term": name,
                "mean_square": float(square.mean()),
                "std_error": float(square.std(ddof=1) / np.sqrt(repeats)),
                "repeats": repeats,
            }
            for name, square in squares.items()
        ]
    return rows


def _check(
    X: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    second_half: np.ndarray,
    covariance: np.ndarray,
) -> None:
    """One sentence about the first thing that does not fit."""
    n_features = X.shape[1]
    if not len(left) == len(right) == len(outcome) or len(left) == 0:
        raise PairscoreError(
            f"left, right and outcome have {len(left)}, {len(right)} and {len(outcome)} rows; give"
            " one of each per comparison."
        )
    if min(left.min(), right.min()) < 0 or max(left.max(), right.max()) >= len(X):
        raise PairscoreError(
            f"left and right must be row numbers from 0 to {len(X) - 1} of the items; some are"
            " outside, so give rows of the first half only."
        )
    if second_half.shape[1] != n_features or covariance.shape != (n_features, n_features):
        shapes = f"{second_half.shape[1]} columns and the covariance shape {covariance.shape}"
        raise PairscoreError(
            f"items have {n_features} features but " + Setting("second_half") + f" has {shapes}",
            "give all of them for the same features",
        )
    if len(second_half) <= n_features + 2:
        raise PairscoreError(
            Setting("second_half")
            + f" has {len(second_half)} items but needs more than {n_features + 2}, the number of"
            " features + 2",
            "give more items",
        )
