"""Comparisons as the rows of a joint fit, without the doors of a model."""

import numpy as np
from scipy import sparse

from pairscore.core.links import get_link
from pairscore.core.ties import TieRule
from pairscore.effects.single_comparisons import SingleComparisons


def make_rows(
    X, left, right, outcome, *, context=None, side=False, rule="half", link="logit", judge=None
):
    """Rows sorted by pair."""
    order = np.argsort(np.minimum(left, right) * len(X) + np.maximum(left, right), kind="stable")
    m = len(order)
    judge = np.zeros(m, dtype=int) if judge is None else judge[order]
    context = np.empty((m, 0)) if context is None else context[order]
    sides, ties = sparse.csr_array(np.ones((m, int(side)))), TieRule(rule, get_link(link))
    n_parameters = X.shape[1] + context.shape[1] + int(side) + ties.has_parameter
    n_judges = judge.max(initial=0) + 1
    return SingleComparisons(
        X=X,
        mean=X.mean(axis=0),
        left=left[order],
        right=right[order],
        outcome=outcome[order].astype(float),
        amount=np.ones(m),
        context=context,
        sides=sides,
        judge=judge,
        n_judges=n_judges,
        rule=ties,
        ridge=np.zeros((n_parameters, n_parameters)),
        slopes=np.ones(n_judges),
        slope_variance=np.zeros(n_judges),
    )


def random_pairs(rng, n_items, n_comparisons):
    """Left and right of comparisons of different items."""
    left = rng.integers(0, n_items, n_comparisons)
    return left, (left + rng.integers(1, n_items, n_comparisons)) % n_items


def draw_rows(
    rng, n_items=60, n_comparisons=600, n_features=2, sd=1.0, link="logit", rule="half", **given
):
    """Rows with item effects of standard deviation sd, and the items' true scores."""
    X, ties = rng.normal(size=(n_items, n_features)), TieRule(rule, get_link(link))
    score = X @ np.full(n_features, 0.7) + sd * rng.normal(size=n_items)
    left, right = random_pairs(rng, n_items, n_comparisons)
    loss, _, win = ties.probabilities(score[left] - score[right], 0.5)
    chance = rng.random(n_comparisons)
    outcome = np.where(chance < win, 1, np.where(chance > 1 - loss, -1, 0))
    return make_rows(X, left, right, outcome, link=link, rule=rule, **given), score
