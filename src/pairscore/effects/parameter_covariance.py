"""The covariance of theta, in which comparisons that share an item, or a judge, are dependent.

With effects of items it is that of the joint model: the inverse information of theta with the
effects allowed for, what the error of sigma^2 adds, and that of a projected context. Without them
it is the dyadic sandwich of :mod:`pairscore.core.sandwich`, or the classical covariance. What
comparisons of one judge have in common is added to either, from contributions net of the items'
effects.
"""

import numpy as np

from pairscore.core.incidence import item_incidence
from pairscore.core.row_blocks import BLOCK_NUMBERS, whole_groups
from pairscore.core.sandwich import (
    DyadicSums,
    floored_covariance,
    less_ties,
    sandwich,
)
from pairscore.effects.context import projection_covariance
from pairscore.effects.expectation_propagation import Posterior
from pairscore.effects.item_variance import ItemVariance
from pairscore.effects.single_comparisons import Contributions, SingleComparisons
from pairscore.estimators.leverage import jackknife_of_items
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData


def parameter_covariance(
    data: TableData, settings: Settings, post: Posterior, variance: ItemVariance | None
) -> np.ndarray:
    """Of theta (k x k); ``variance`` is that of items' effects, if they have any."""
    rows, bread = post.rows, post.basis.inverse
    if not post.averaged:
        return post.share_of_coin * bread
    if post.sigma2 > 0 and variance is not None:
        counts = rows.compared
        robust = covariance = _joint_covariance(data, post, variance)
    elif settings.inference == "model":
        return _classical_covariance(post)
    else:
        inflation = jackknife_of_items(data, settings)
        counts = inflation > 0
        meat = item_meat(rows, net_contributions(post), inflation)
        robust = bread @ meat @ bread.T
        covariance = sandwich(bread, rows.information(post.derivatives) - rows.ridge, meat)
    if settings.inference != "items+judges":
        return covariance
    of_judges = bread @ judge_meat(rows, net_contributions(post), counts) @ bread.T
    # sharing judges too only ever adds variance
    return floored_covariance(robust + of_judges, covariance, 1.0)


def _joint_covariance(data: TableData, post: Posterior, variance: ItemVariance) -> np.ndarray:
    """That of the joint model, with the error of sigma^2 and of a projected context."""
    covariance = post.basis.inverse + np.outer(variance.theta_shift, variance.theta_shift)
    d = data.X.shape[1]
    covariance[:d, :d] += projection_covariance(data, post)
    return covariance


def _classical_covariance(post: Posterior) -> np.ndarray:
    """That of independent comparisons; ties as half wins vary less than coins."""
    rows, bread = post.rows, post.basis.inverse
    classical = sandwich(bread, rows.information(post.derivatives) - rows.ridge, None)
    excess = rows.excess_of_ties(post.theta)
    return classical if excess is None else less_ties(classical, bread @ excess @ bread.T)


def net_contributions(post: Posterior) -> Contributions:
    """What comparisons add to the equations of theta, net of the items' effects."""
    rows, s, solved = post.rows, post.derivatives, post.solved
    add = rows.contributions(s, post.theta)

    def net(some: np.ndarray) -> np.ndarray:
        through_items = solved[rows.left[some]] - solved[rows.right[some]]
        return add(some) - s.delta[some, None] * through_items

    return add if post.sigma2 == 0 else net


def item_meat(rows: SingleComparisons, add: Contributions, inflation: np.ndarray) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 - sum_p u_p u_p', as for the pairs alone."""
    numbers, size = np.arange(len(rows.left)), len(rows.ridge)
    sums = DyadicSums.zero(len(rows.X), size)
    for part in whole_groups(rows.pair, BLOCK_NUMBERS // size):
        left, right = rows.left[part], rows.right[part]
        sums = sums + DyadicSums.of_rows(left, right, add(numbers[part]), inflation)
    return sums.meat(inflation)


def judge_meat(rows: SingleComparisons, add: Contributions, counts: np.ndarray) -> np.ndarray:
    """What comparisons of one judge add to the meat that do not share an item that ``counts`` (N).

    All of a judge's, less those that do: by items that are others for every judge.
    """
    n, size = len(rows.X), len(rows.ridge)
    block = BLOCK_NUMBERS // size
    order = np.lexsort((rows.pair, rows.judge))
    judge, pair = rows.judge[order], rows.pair[order]
    together = np.zeros((size, size))
    shared = np.zeros((size, size))
    for some in whole_groups(judge, block):
        chosen = order[some]
        _, number = np.unique(judge[some], return_inverse=True)
        items = np.concatenate([rows.left[chosen], rows.right[chosen]])
        codes, code = np.unique(np.tile(number, 2) * n + items, return_inverse=True)
        left, right = code.reshape(2, len(chosen))
        inflation = counts[codes % n].astype(float)
        sums = DyadicSums.zero(len(codes), size)
        per_judge = np.zeros((number[-1] + 1, size))
        # one judge may have more comparisons than are held at a time
        for part in whole_groups(number * (rows.pair.max() + 1) + pair[some], block):
            u = add(chosen[part])
            sums = sums + DyadicSums.of_rows(left[part], right[part], u, inflation)
            per_judge += item_incidence(number[part], number[part], len(per_judge)) @ u
        together += per_judge.T @ per_judge
        shared += sums.meat(inflation)
    few = rows.n_judges / max(rows.n_judges - 1, 1)
    return few * together - shared


def widening(covariance: np.ndarray, own: slice, place: int) -> float:
    """How many times wider the error of one parameter is for that some ``own`` ones are unknown."""
    along, variance = covariance[own, place], float(covariance[place, place])
    taken = float(along @ np.linalg.pinv(covariance[own, own], hermitian=True) @ along)
    return float(np.sqrt(variance / (variance - taken))) if 0 < taken < variance else 1.0
