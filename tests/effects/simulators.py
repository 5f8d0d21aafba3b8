"""Simulated studies with judges, ties, context, sides and item effects, and their true values."""

import numpy as np
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.core.links import Logit, get_link
from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.pair_graph import aggregate_pairs
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.effects.design import prepare_fit
from pairscore.effects.expectation_propagation import propagate, start_posterior
from pairscore.effects.maximum import maximise_rows
from pairscore.estimators.table_data import TableData

BETA = np.array([1.0, -0.5, 0.7])
EFFECTS = RankRegression(item_effects=True)
LAWS = [
    OutcomeLaw(TieRule("half", Logit())),
    OutcomeLaw(TieRule("davidson", Logit()), 0.3),
    OutcomeLaw(TieRule("rao-kupper", Logit()), 0.5),
]


def judged_votes(
    rng, n=80, m=1500, context=0.4, side=0.2, slopes=None, tie=None, rule="rao-kupper", mean=3.0
):
    """Items, votes and the truth."""
    X = rng.normal(size=(n, 3)) + mean
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    slopes = np.ones(6) if slopes is None else slopes
    judge = rng.integers(0, len(slopes), m)
    rest = rng.normal(size=m)
    eta = slopes[judge] * ((X[left] - X[right]) @ BETA + context * rest) + side
    loss, _, win = TieRule("half" if tie is None else rule, get_link("logit")).probabilities(
        eta, tie or 0.0
    )
    chance = rng.random(m)
    outcome = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    names = np.array([f"judge {number}" for number in judge], dtype=object)
    return X, {
        "left": left,
        "right": right,
        "winner": outcome,
        "judge": names,
        "rest": rest,
        "number": judge,
    }


def fitted_comparisons(X, votes, **given):
    """The data of a fit without item effects, and where its likelihood has its maximum."""
    settings = RankRegression(**given)._settings()
    comparisons = Comparisons.from_frames(X, votes, context=settings.context)[0]
    data = TableData(comparisons, keep_sides=False)
    rows = prepare_fit(data, settings).rows
    top = maximise_rows(rows, rows.start(np.zeros(X.shape[1])), 100, 1e-12)
    assert top.converged
    return data, settings, propagate(start_posterior(rows, top.theta, 0.0), 0.0)


def full_votes(seed, rule="half", spread=0.4, n=150, m=2400, sigma=0.8, beta=BETA, n_judges=12):
    """Votes with context, side, judges' slopes, ties and item effects."""
    rng = np.random.default_rng([5, seed])
    X, slopes = rng.normal(size=(n, 3)) + 3, 1 + spread * rng.normal(size=n_judges)
    slopes /= slopes.mean()
    left, judge, rest = rng.integers(0, n, m), rng.integers(0, n_judges, m), rng.normal(size=m)
    right = (left + rng.integers(1, n, m)) % n
    score = X @ np.array(beta) + sigma * rng.normal(size=n)
    eta = slopes[judge] * (score[left] - score[right] + 0.4 * rest) + 0.2
    loss, _, win = TieRule(rule, get_link("logit")).probabilities(eta, 0.5)
    chance = rng.random(m)
    outcome = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    return (
        X,
        {"left": left, "right": right, "winner": outcome, "judge": judge, "rest": rest},
        slopes,
    )


def draw(rng, n_items=200, n_comparisons=1000, n_features=3, sd=1.0, link=expit, n_new=0):
    """Features, coefficients, true scores, and comparisons of random pairs of all but the last
    ``n_new`` items.
    """
    X, beta = (
        rng.normal(size=(n_items + n_new, n_features)),
        np.full(n_features, 1 / np.sqrt(n_features)),
    )
    score = X @ beta + sd * rng.normal(size=len(X))
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < link(score[left] - score[right])
    return X, beta, score, Comparisons(X, left, right, np.where(won, 1, -1))


def small_pairs(rng, n_items=12, n_comparisons=60, keep_sides=False):
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    return aggregate_pairs(
        left, right, rng.integers(-1, 2, n_comparisons), np.ones(n_comparisons), n_items, keep_sides
    )


def inverse(pairs, weight, sigma2):
    """The naive one: comparison by comparison, then inverted."""
    precision = np.eye(pairs.n_items) / sigma2
    for low, high, one in zip(pairs.low, pairs.high, weight, strict=True):
        ends = np.zeros(pairs.n_items)
        ends[low], ends[high] = 1, -1
        precision += one * np.outer(ends, ends)
    return np.linalg.inv(precision)


def of_differences(matrix, pairs):
    own = np.diag(matrix)
    return own[pairs.low] + own[pairs.high] - 2 * matrix[pairs.low, pairs.high]


def context_votes(seed, n=150, m=1800, sigma=0.8):
    rng = np.random.default_rng([41, seed])
    X = rng.normal(size=(n, 3))
    left, rest = rng.integers(0, n, m), 1.5 * rng.normal(size=m)
    right = (left + rng.integers(1, n, m)) % n
    score = X @ [1.0, -0.5, 0.7] + sigma * rng.normal(size=n)
    won = rng.random(m) < 1 / (1 + np.exp(-(score[left] - score[right] + 0.4 * rest + 0.3)))
    return X, {"left": left, "right": right, "winner": np.where(won, "left", "right"), "rest": rest}


def averaged(link, difference, variance):
    """E f(d + sqrt(variance) z) of every difference."""
    sd = np.sqrt(np.broadcast_to(variance, np.shape(difference)))
    return averaged_probabilities(OutcomeLaw(TieRule("half", link)), difference, sd)[2]
