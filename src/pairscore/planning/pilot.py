"""How noisy are the judges? From a first few comparisons, with an interval that has its coverage.

The net wins of the items are regressed on their features, and the statistic is how often the fitted
values agree with the comparisons they were fitted to. That is too often, by an amount that depends
on everything; but its law is known exactly. Given the labels, the features orthogonal to the score
are independent of all else, so what they fit is the projection of the rest of the net wins on a
random subspace. Each noise on a grid is tested against simulated agreements on the pilot's pairs;
the interval holds those that are not rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pairscore.core.links import Link
from pairscore.core.whitening import whiten
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.display import plural
from pairscore.errors import (
    PairscoreError,
)
from pairscore.messages import Setting
from pairscore.planning.assumed_population import default_link
from pairscore.theory.integrals import spread_for_noise

SEED = 1  # of the simulations behind a pilot's interval

FEWEST_COMPARISONS = 50
GRID = np.linspace(0.0, 0.5, 26)
MOST_SIMULATIONS = 1000
WORK = 2e7  # labels drawn for each noise on the grid


@dataclass(frozen=True)
class NoiseEstimate:
    """Share of flipped labels: that at which the pilot is a typical study, and its interval.

    ``low`` and ``high`` are the ends of the equal-tailed interval of coverage ``level``.
    """

    noise: float
    low: float
    high: float
    level: float


def feature_axes(X: np.ndarray) -> np.ndarray:
    """An orthonormal basis (N x rank) of what the features span, less their means."""
    return whiten(X) / np.sqrt(len(X))


def agreement(incidence: sparse.csr_array, fitted: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Share of the comparisons that fitted values put in the order of the outcome.

    ``incidence`` (N x M) has +1 at the left and -1 at the right item of each comparison. ``fitted``
    (N) and ``outcome`` (M) may have one column for each study.
    """
    return np.mean((incidence.T @ fitted) * outcome > 0, axis=0)


def estimate_noise(
    X: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    outcome: np.ndarray,
    link: Link,
    rng: np.random.Generator,
    level: float = 0.9,
) -> NoiseEstimate:
    """Estimate the noise of the labels from comparisons of items, with an equal-tailed interval.

    Parameters
    ----------
    X : array (N x d)
        Features of the items; those that are in no comparison do not count.
    left, right : integer arrays of length M
        Rows of ``X``, at least 50 comparisons.
    outcome : array of length M
        +1 where left won, -1 where right did. A tie (0) is half a win each way: a coin decides it,
        so that a win of either side is as likely as before.
    link : Link
        How score differences become probabilities.
    rng : numpy.random.Generator
        For the simulated studies.
    level : float
        Coverage of the interval.
    """
    if len(outcome) < FEWEST_COMPARISONS:
        raise PairscoreError(
            f"the pilot has {plural(len(outcome), 'comparison')}; make at least"
            f" {FEWEST_COMPARISONS}, or give the noise itself."
        )
    outcome = np.where(outcome == 0, rng.choice([-1.0, 1.0], len(outcome)), outcome)
    rows, index = np.unique(np.concatenate([left, right]), return_inverse=True)
    left, right = np.split(index, 2)
    incidence = _incidence(left, right, len(rows))
    axes = _checked_axes(X[rows])
    observed = float(agreement(incidence, axes @ (axes.T @ (incidence @ outcome)), outcome))
    streams = rng.spawn(len(GRID))

    def below(place: int) -> float:
        """Share of studies with the noise at a place of the grid that agree less than the pilot."""
        spread = spread_for_noise(link, float(GRID[place]))
        values = simulated_agreements(incidence, axes.shape[1], link, spread, streams[place])
        return float(np.mean(values < observed) + 0.5 * np.mean(values == observed))

    first = int(np.searchsorted(GRID, 1 - observed))
    return _invert(np.maximum.accumulate(_rise(below, first, 1 - (1 - level) / 2)), level)


def _rise(below: Callable[[int], float], first: int, enough: float) -> np.ndarray:
    """``below``, which rises along the grid, as far as an interval looks at it.

    From ``first`` down to where it is zero, as it is before, and up to where it is ``enough``:
    one after that. Where the pilot is large these are few places of the grid.
    """
    values = np.zeros(len(GRID))
    place = first = min(first, len(GRID) - 1)
    while place >= 0 and (value := below(place)) > 0:
        values[place] = value
        place -= 1
    place = first
    while values[place] <= enough and place + 1 < len(GRID):
        place += 1
        values[place] = below(place)
    values[place + 1 :] = 1.0
    return values


def _incidence(left: np.ndarray, right: np.ndarray, n_items: int) -> sparse.csr_array:
    m = len(left)
    signs, columns = np.repeat([1.0, -1.0], m), np.tile(np.arange(m), 2)
    return sparse.csr_array((signs, (np.r_[left, right], columns)), shape=(n_items, m))


def _checked_axes(X: np.ndarray) -> np.ndarray:
    """The axes of the features of compared items, which must vary and be fewer than these."""
    axes = feature_axes(X)
    n, rank = axes.shape
    if rank == 0:
        raise PairscoreError(
            "the features of the items in the pilot do not vary, so nothing can be learnt from"
            " them; give other features."
        )
    if n < rank + 3:
        raise PairscoreError(
            f"the pilot compares {plural(n, 'item')}, and {plural(rank, 'feature')} need at least"
            f" {rank + 3}; compare more different items."
        )
    return axes


def simulated_agreements(
    incidence: sparse.csr_array, rank: int, link: Link, q: float, rng: np.random.Generator
) -> np.ndarray:
    """Agreements of simulated studies with the pairs of ``incidence`` and ``rank`` features.

    Scores have spread q on the link's scale. At the true spread the pilot's own agreement is one
    more draw from the same law.
    """
    n, m = incidence.shape
    runs = int(np.clip(WORK / (n + m), 100, MOST_SIMULATIONS))
    block = max(1, int(1e6 / (n + m)))
    values = []
    for first in range(0, runs, block):
        z = rng.normal(size=(n, min(block, runs - first)))
        difference = incidence.T @ z
        chance = np.heaviside(difference, 0.5) if np.isinf(q) else link.cdf(q * difference)
        outcome = np.where(rng.random(chance.shape) < chance, 1.0, -1.0)
        values.append(agreement(incidence, _fitted(incidence @ outcome, z, rank, rng), outcome))
    return np.concatenate(values)


def _fitted(net_wins: np.ndarray, z: np.ndarray, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Regress net wins (N x studies) on the score z and rank - 1 independent features, drawn from
    the exact law of the fitted values.

    Of the rest w of the net wins, the other features fit B w + sqrt(B (1 - B)) |w| v, B a Beta
    variable and v a random unit vector orthogonal to the mean, to z and to w.
    """
    z = z - z.mean(axis=0)
    by_score = z * (np.sum(net_wins * z, axis=0) / np.sum(z**2, axis=0))
    if rank == 1:
        return by_score
    rest = net_wins - by_score
    v = rng.normal(size=z.shape)
    v -= v.mean(axis=0)
    for other in (z, rest):
        v -= other * (np.sum(v * other, axis=0) / np.maximum(np.sum(other**2, axis=0), 1e-300))
    share = rng.beta((rank - 1) / 2, (len(z) - 1 - rank) / 2, z.shape[1])
    length = np.sqrt(share * (1 - share)) * np.linalg.norm(rest, axis=0) / np.linalg.norm(v, axis=0)
    return by_score + share * rest + length * v


def _invert(below: np.ndarray, level: float) -> NoiseEstimate:
    """Invert the tests: where ``below``, which rises along the grid, crosses 1/2 and its tails."""
    tail = (1 - level) / 2

    def crossing(value: float) -> float:
        if below[0] >= value:
            return float(GRID[0])
        if below[-1] <= value:
            return float(GRID[-1])
        after = int(np.argmax(below > value))
        step = (value - below[after - 1]) / (below[after] - below[after - 1])
        return float(GRID[after - 1] + step * (GRID[after] - GRID[after - 1]))

    return NoiseEstimate(crossing(0.5), crossing(tail), crossing(1 - tail), level)


def pilot_noise(
    table: Items | None, pilot: Any, link: Any, noise: Any, explained: Any
) -> NoiseEstimate:
    """The noise that a pilot tells, from comparisons of the items of a table."""
    if explained is not None:
        raise PairscoreError(
            "the pilot's noise already includes what features do not explain",
            [
                "leave out " + Setting("explained"),
                "give " + Setting("noise") + " instead of " + Setting("pilot"),
            ],
        )
    if noise is not None:
        raise PairscoreError(
            "both "
            + Setting("noise")
            + " and "
            + Setting("pilot")
            + " are given, and the pilot gives the noise",
            "leave one out",
        )
    if table is None:
        raise PairscoreError(
            "a pilot compares items, and their features are missing",
            "give them with " + Setting("items"),
        )
    data, outcome = Comparisons.from_frames(table, pilot)
    if data.weight is not None:
        raise PairscoreError(
            "the pilot has weights, but noise is a share of comparisons; leave the weights out,"
            " or use the column 'count' for repeated comparisons."
        )
    rows = np.repeat(np.arange(len(data)), 1 if data.count is None else data.count.astype(int))
    return estimate_noise(
        table.values,
        data.left[rows],
        data.right[rows],
        outcome[rows],
        default_link(link),
        np.random.default_rng(SEED),
    )
