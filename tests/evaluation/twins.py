"""Models and studies to compare, and a slow twin of every measure and standard error."""

from collections import Counter

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from pairscore import (
    RankRegression,
)
from pairscore.evaluation.measures import MEASURES, MeasuredComparisons

LEVEL = 1e-6  # chance that a right program fails a statistical test


QUICK = RankRegression(inference=None)


SEEN = []  # what Witness was given to learn and to predict


class Fixed(BaseEstimator):
    """A model that learns nothing: P(left wins) = f(coef'(x_left - x_right) + side)."""

    def __init__(self, coef=(1.0, 0.0), side=0.0):
        self.coef, self.side = coef, side

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        scores = X.items.values @ np.asarray(self.coef)
        left = expit(scores[X.left] - scores[X.right] + self.side)
        return np.column_stack([1 - left, left])


class Witness(Fixed):
    """Keeps what it is given, fold by fold."""

    def fit(self, X, y):
        SEEN.append([X])
        np.testing.assert_array_equal(X.outcome, y)
        return self

    def predict_proba(self, X):
        SEEN[-1].append(X)
        return super().predict_proba(X)


def study(n_items=40, n_comparisons=800, *, ties=0.2, weights=False, counts=False, seed=0):
    """Items with two features and an effect of their own; some pairs meet often."""
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(n_items, 2))
    score = items @ [1.5, -0.5] + rng.normal(size=n_items)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items // 2, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(score[left] - score[right])
    votes = {
        "left": left,
        "right": right,
        "winner": np.where(rng.random(n_comparisons) < ties, "tie", np.where(won, "left", "right")),
    }
    if weights:
        votes["weight"] = rng.integers(0, 8, n_comparisons) / 4
    if counts:
        votes["count"] = rng.integers(0, 4, n_comparisons)
    return items, pd.DataFrame(votes)


def held_out(n_rows=300, n_items=15, n_folds=3, seed=0):
    """Test comparisons with weights, counts, ties and repeated pairs, and predictions of which some
    are equal.
    """
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_rows)
    right = (left + rng.integers(1, n_items, n_rows)) % n_items
    count = rng.integers(1, 4, n_rows).astype(float)
    outcome = rng.choice([-1, 0, 1], n_rows, p=[0.4, 0.2, 0.4])
    data = MeasuredComparisons(
        left,
        right,
        outcome,
        count * rng.choice([0.25, 1.0, 2.0], n_rows),
        count,
        rng.integers(0, n_folds, n_rows),
    )
    p = np.where(rng.random(n_rows) < 0.1, 0.5, expit(outcome + 1.5 * rng.normal(size=n_rows)))
    return data, p


def rows(data, p):
    """Plain rows for the twins."""
    return list(zip(data.left, data.right, data.outcome, data.amount, data.fold, p, strict=True))


def naive_accuracy(data, p):
    points = total = 0.0
    for _, _, outcome, amount, _, chance in rows(data, p):
        if outcome != 0:
            total += amount
            points += amount * (0.5 if chance == 0.5 else float((chance > 0.5) == (outcome > 0)))
    return points / total


def naive_log_loss(data, p):
    loss = total = 0.0
    for _, _, outcome, amount, _, chance in rows(data, p):
        if outcome != 0:
            total += amount
            loss -= amount * np.log(chance if outcome > 0 else 1 - chance)
    return loss / total


def naive_slope(data, p):
    """scikit-learn's logistic regression of the decided comparisons."""
    decided = data.outcome != 0
    logit = np.log(p / (1 - p))[decided, None]
    return (
        LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=1000)
        .fit(logit, data.outcome[decided], sample_weight=data.amount[decided])
        .coef_[0, 0]
    )


def naive_calibration_error(data, p):
    """Walk up the favourite's probabilities and note when another tenth of the weight is full."""
    groups = {}
    for _, _, outcome, amount, _, chance in rows(data, p):
        if outcome != 0:
            share = 0.5 if chance == 0.5 else (1 + (outcome if chance > 0.5 else -outcome)) / 2
            groups.setdefault(max(chance, 1 - chance), []).append((amount, share))
    total, below, bins = data.amount[data.outcome != 0].sum(), 0.0, Counter()
    for confidence in sorted(groups):
        weight = sum(amount for amount, _ in groups[confidence])
        tenth = int(10 * (below + weight / 2) / total)
        bins[tenth] += sum(amount * (share - confidence) for amount, share in groups[confidence])
        below += weight
    return sum(abs(surplus) for surplus in bins.values()) / total


def naive_misordered(data, p):
    won, chance_of_low = Counter(), Counter()
    for left, right, outcome, amount, fold, chance in rows(data, p):
        unit, sign = (fold, *sorted([left, right])), 1 if left < right else -1
        won[unit] += sign * outcome * amount
        chance_of_low[unit] += sign * amount * (chance - 0.5)
    decided = [unit for unit in won if abs(won[unit]) > 1e-6]
    return np.mean(
        [
            0.5 if chance_of_low[unit] == 0 else float(chance_of_low[unit] * won[unit] < 0)
            for unit in decided
        ]
    )


TWINS = dict(
    zip(
        MEASURES,
        [naive_accuracy, naive_log_loss, naive_slope, naive_calibration_error, naive_misordered],
        strict=True,
    )
)


def naive_variance(psi, share, one, other):
    """sum_i t_i^2 / (1 - h_i)^2 - sum_p u_p^2, a row at a time."""
    t, h, u = Counter(), Counter(), Counter()
    for value, part, a, b in zip(psi, share, one, other, strict=True):
        for item in {a, b}:
            t[item] += value
            h[item] += part
        if a != b:
            u[frozenset([a, b])] += value
    return sum((t[item] / (1 - min(h[item], 0.8))) ** 2 for item in t) - sum(
        value**2 for value in u.values()
    )
