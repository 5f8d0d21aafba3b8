"""The covariance of theta where items have no effects: classical, or robust to shared items and
judges.

Comparisons that share an item, or a judge, depend on each other; the covariance allows for it.
"""

import numpy as np

from pairscore.core.sandwich import DyadicSums, floored_covariance, jackknife_inflation, sandwich
from pairscore.effects.propagation import Posterior
from pairscore.effects.single_comparisons import Contributions, SingleComparisons
from pairscore.estimators.fit_data import FitData, leverage_whitener
from pairscore.estimators.settings import Settings


def robust_covariance(
    data: FitData, settings: Settings, post: Posterior, bread: np.ndarray
) -> np.ndarray:
    """Of theta, k x k, where ``bread`` is its inverse information."""
    rows = post.rows
    expected = rows.information(post.derivatives) - rows.ridge
    if settings.inference == "model":
        return sandwich(bread, expected, None)
    inflation = jackknife_inflation(
        data.X - data.item_moments.mean,
        data.tally.exposures,
        leverage_whitener(data, settings),
    )
    blocks = rows.contributions(post.derivatives, post.theta)
    meat = _dyadic_meat(rows, np.arange(len(rows.left)), blocks, inflation)
    by_items = sandwich(bread, expected, meat)
    if settings.inference == "items":
        return by_items
    both = bread @ (meat + judge_robust_meat(rows, blocks, inflation > 0)) @ bread.T
    return floored_covariance(both, by_items, 1.0)  # sharing judges too only ever adds variance


def judge_robust_meat(
    rows: SingleComparisons, blocks: Contributions, counts: np.ndarray
) -> np.ndarray:
    """What comparisons of one judge add to the meat that do not share an item that ``counts`` (N).

    All of a judge's, less those that do.
    """
    size, inflation = len(rows.ridge), counts.astype(float)
    per_judge, shared = np.zeros((rows.n_judges, size)), np.zeros((size, size))
    by_judge = np.argsort(rows.judge, kind="stable")
    ends = np.searchsorted(rows.judge[by_judge], np.arange(rows.n_judges + 1))
    for number in range(rows.n_judges):
        chosen = by_judge[ends[number] : ends[number + 1]]
        per_judge[number] = sum((u.sum(axis=0) for _, u in blocks(chosen)), np.zeros(size))
        shared += _dyadic_meat(rows, chosen, blocks, inflation)
    few = rows.n_judges / max(rows.n_judges - 1, 1)
    return few * per_judge.T @ per_judge - shared


def _dyadic_meat(
    rows: SingleComparisons, chosen: np.ndarray, blocks: Contributions, inflation: np.ndarray
) -> np.ndarray:
    """The meat of some comparisons; ``inflation`` is that of all items."""
    ends = np.concatenate([rows.left[chosen], rows.right[chosen]])
    items, code = np.unique(ends, return_inverse=True)
    left, right = code.reshape(2, len(chosen))
    sums, first = DyadicSums.zero(len(items), len(rows.ridge)), 0
    for part, u in blocks(chosen):
        here = slice(first, first := first + len(part))
        sums = sums + DyadicSums.of_rows(left[here], right[here], u, inflation[items])
    return sums.meat(inflation[items])
