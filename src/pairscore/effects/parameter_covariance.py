"""The covariance of theta: that of the joint model, or where items have no effects the classical
one, or one robust to shared items and judges.

Comparisons that share an item, or a judge, depend on each other; the covariance allows for it.
"""

import numpy as np

from pairscore.core.sandwich import (
    DyadicSums,
    floored_covariance,
    item_incidence,
    jackknife_inflation,
    less_ties,
    sandwich,
)
from pairscore.effects.context import projection_covariance
from pairscore.effects.expectation_propagation import Posterior
from pairscore.effects.item_variance import ItemVariance
from pairscore.effects.rows import BLOCK_NUMBERS, Contributions, SingleComparisons, whole_groups
from pairscore.estimators.fit_data import FitData, leverage_whitener
from pairscore.estimators.settings import Settings


def joint_covariance(
    data: FitData, settings: Settings, post: Posterior, variance: ItemVariance | None
) -> np.ndarray:
    """Of theta; with effects of items it is that of the joint model, and the error of sigma^2."""
    if not post.averaged:
        return post.share_of_coin * post.basis.inverse
    if post.sigma2 == 0 or variance is None:
        return robust_covariance(data, settings, post, post.basis.inverse)
    covariance, d = post.basis.inverse + np.outer(variance.lean, variance.lean), data.X.shape[1]
    covariance[:d, :d] += projection_covariance(data, post)
    if settings.inference == "items+judges":
        return with_shared_judges(post, covariance)
    return covariance


def robust_covariance(
    data: FitData, settings: Settings, post: Posterior, bread: np.ndarray
) -> np.ndarray:
    """Of theta, k x k, where ``bread`` is its inverse information."""
    rows = post.rows
    expected = rows.information(post.derivatives) - rows.ridge
    if settings.inference == "model":
        classical, taken = sandwich(bread, expected, None), rows.taken_by_ties(post.theta)
        return classical if taken is None else less_ties(classical, bread @ taken @ bread.T)
    inflation = jackknife_inflation(
        data.X - data.item_moments.mean,
        data.tally.exposures,
        leverage_whitener(data, settings),
    )
    add = rows.contributions(post.derivatives, post.theta)
    meat = item_robust_meat(rows, add, inflation)
    by_items = sandwich(bread, expected, meat)
    if settings.inference == "items":
        return by_items
    both = bread @ (meat + judge_robust_meat(rows, add, inflation > 0)) @ bread.T
    return floored_covariance(both, by_items, 1.0)  # sharing judges too only ever adds variance


def with_shared_judges(post: Posterior, covariance: np.ndarray) -> np.ndarray:
    """The covariance of the joint model, with what comparisons of one judge have in common.

    What a comparison adds to the equations of theta is taken net of the items' effects.
    """
    rows, s, solved = post.rows, post.derivatives, post.solved
    add = rows.contributions(s, post.theta)

    def net(some: np.ndarray) -> np.ndarray:
        through_items = solved[rows.left[some]] - solved[rows.right[some]]
        return add(some) - s.delta[some, None] * through_items

    meat, bread = judge_robust_meat(rows, net, rows.compared), post.basis.inverse
    return floored_covariance(covariance + bread @ meat @ bread.T, covariance, 1.0)


def item_robust_meat(
    rows: SingleComparisons, add: Contributions, inflation: np.ndarray
) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 - sum_p u_p u_p', as for the pairs alone."""
    numbers, size = np.arange(len(rows.left)), len(rows.ridge)
    sums = DyadicSums.zero(len(rows.X), size)
    for part in whole_groups(rows.pairs[1], BLOCK_NUMBERS // size):
        left, right = rows.left[part], rows.right[part]
        sums = sums + DyadicSums.of_rows(left, right, add(numbers[part]), inflation)
    return sums.meat(inflation)


def judge_robust_meat(
    rows: SingleComparisons, add: Contributions, counts: np.ndarray
) -> np.ndarray:
    """What comparisons of one judge add to the meat that do not share an item that ``counts`` (N).

    All of a judge's, less those that do: by items that are others for every judge.
    """
    n, size = len(rows.X), len(rows.ridge)
    block, place = BLOCK_NUMBERS // size, rows.pairs[1].astype(np.int64)
    order = np.lexsort((place, rows.judge))
    judge, together, shared = rows.judge[order], *np.zeros((2, size, size))
    for some in whole_groups(judge, block):
        chosen = order[some]
        _, number = np.unique(judge[some], return_inverse=True)
        items = np.concatenate([rows.left[chosen], rows.right[chosen]])
        codes, code = np.unique(np.tile(number, 2) * n + items, return_inverse=True)
        left, right = code.reshape(2, len(chosen))
        inflation = counts[codes % n].astype(float)
        per_judge, sums = np.zeros((number[-1] + 1, size)), DyadicSums.zero(len(codes), size)
        # one judge may have more comparisons than are held at a time
        for part in whole_groups(number * (place.max() + 1) + place[chosen], block):
            u = add(chosen[part])
            sums = sums + DyadicSums.of_rows(left[part], right[part], u, inflation)
            per_judge += item_incidence(number[part], number[part], len(per_judge)) @ u
        together += per_judge.T @ per_judge
        shared += sums.meat(inflation)
    few = rows.n_judges / max(rows.n_judges - 1, 1)
    return few * together - shared
