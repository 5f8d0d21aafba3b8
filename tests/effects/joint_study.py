"""Studies with context and side that are related to the items or not, judges and ties."""

import numpy as np

N_ITEMS, N_JUDGES = 200, 10
BETA, CONTEXT, SIDE, TIE, SPREAD = np.array([1.0, -0.5]), 0.3, 0.2, -0.5, 0.4


def draw_study(rng, per_item, sd, related, judges):
    """Items, votes and the judges' slopes; with judges, ties by Davidson's rule as well.

    Related: three of four comparisons have the item with the larger effect on the left, and items
    with larger effects have more of the context.
    """
    n, m = N_ITEMS, N_ITEMS * per_item // 2
    X, standard = rng.normal(size=(n, 2)), rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    key = standard if related else rng.normal(size=n)
    swap = (key[left] < key[right]) & (rng.random(m) < 0.5)
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    own = 0.4 * key + 0.2 * rng.normal(size=n)
    length = own[left] - own[right] + 0.5 * rng.normal(size=m)
    slopes = 1 + SPREAD * rng.normal(size=N_JUDGES) if judges else np.ones(N_JUDGES)
    slopes += 1 - slopes.mean()
    judge, score = rng.integers(0, N_JUDGES, m), X @ BETA + sd * standard
    eta = slopes[judge] * (score[left] - score[right] + CONTEXT * length) + SIDE
    tie = np.full(m, TIE if judges else -np.inf)
    odds = np.exp(np.column_stack([eta / 2, tie, -eta / 2]) - np.abs(eta)[:, None] / 2)
    below = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    outcome = np.sum(rng.random(m)[:, None] > below[:, :2], axis=1)
    winner = np.array(["left", "tie", "right"])[outcome]
    votes = {"left": left, "right": right, "winner": winner, "length": length, "judge": judge}
    return X, votes, slopes
