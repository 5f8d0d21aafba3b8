"""Designs on which sums that are right for random pairs go wrong, small enough for a dense twin."""

import numpy as np
from scipy.special import expit

from tests.dense import Data

# items, comparisons, features
SIZES = [(8, 5, 1), (8, 40, 2), (20, 60, 3), (60, 100, 2)]
NAMES = [
    "random",
    "matched",
    "nearly matched",
    "all nearly matched",
    "never differs",
    "weights",
    "half with one item",
    "half ties",
    "ties only",
    "separated",
]
SPREAD = 1e-3  # of a nearly matched feature within groups, over that between them


def large_and_matched(seed: int, n: int, m: int, d: int, per: int, spread: float) -> Data:
    """Comparisons within groups of about ``per`` items, whose first feature hardly differs.

    It is that of the group, and ``spread`` times another one: a feature of a prompt, a patient or a
    year. Outcomes go by the second feature.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n // per, n)
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], np.arange(n // per + 1))
    left = rng.integers(0, n, m)
    size = start[group[left] + 1] - start[group[left]]
    right = order[start[group[left]] + (rng.random(m) * size).astype(int)]
    left, right = left[left != right], right[left != right]
    X = rng.normal(size=(n, d))
    X[:, 0] = rng.normal(size=n // per)[group] + spread * X[:, 0]
    won = rng.random(len(left)) < expit(0.5 * (X[left, 1] - X[right, 1]))
    return Data(X, left, right, np.where(won, 1, -1))


def draw(name: str, rng: np.random.Generator, n: int, m: int, d: int, spare: int = 0) -> Data:
    """A design: n items with d features (and ``spare`` ones that are never compared), m rows.

    matched             the first feature is equal in any two items that met
    nearly matched      the same up to SPREAD of the items' spread
    all nearly matched  so are all features
    never differs       the last feature is a constant
    weights             weights from 1e-3 to 1e3
    half with one item  every second comparison has the first item
    half ties           a tie with probability one half
    ties only           nothing else
    separated           a score explains every comparison
    """
    group = np.arange(n) % max(n // 4, 2)
    X = rng.normal(size=(n + spare, d))
    centre = rng.normal(size=(n, d))[group]
    within = "matched" in name
    if name == "matched":
        X[:n, 0] = centre[:, 0]
    elif name == "nearly matched":
        X[:n, 0] = centre[:, 0] + SPREAD * X[:n, 0]
    elif name == "all nearly matched":
        X[:n] = centre + SPREAD * X[:n]
    elif name == "never differs":
        X[:, -1] = 3.0
    left, right = rng.integers(0, n, (2, m))
    if name == "half with one item":
        left[::2] = 0
    if within:
        members = [np.flatnonzero(group == one) for one in range(group.max() + 1)]
        right = np.array([rng.choice(members[group[row]]) for row in left])
    for row in np.flatnonzero(left == right):
        others = members[group[left[row]]] if within else np.arange(n)
        right[row] = rng.choice(others[others != left[row]])
    D = X[left] - X[right]
    eta = D @ np.ones(d) / max(np.sqrt(np.mean((D @ np.ones(d)) ** 2)), 1e-300)
    outcome = np.where(rng.random(m) < expit(eta), 1, -1)
    if name == "separated":
        outcome = np.where(eta > 0, 1, -1)
    elif name == "ties only":
        outcome = np.zeros(m, dtype=int)
    elif name == "half ties":
        outcome = np.where(rng.random(m) < 0.5, 0, outcome)
    weight = 10.0 ** rng.uniform(-3, 3, m) if name == "weights" else None
    return Data(X, left, right, outcome, weight)
