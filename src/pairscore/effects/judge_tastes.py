"""Do judges weigh the features differently, or order the items differently? A test."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import fdtrc

from pairscore.core.incidence import ItemPairs
from pairscore.core.significance import p_in_words
from pairscore.data.comparisons import Comparisons
from pairscore.data.judges import JudgePanel, judge_codes

FEWEST_ANSWERS = 5  # of a judge whose taste is tested: sums of fewer are no normal law
MOST_JUDGES = 100  # whose tastes are tested: the design effect is a pass for each
MOST_TESTED, MOST_NUMBERS = 50_000, 4_000_000  # comparisons, and times features: a second at most
MOST_TASTED = 300  # items without features, of which each is a column
TINY_SHARE = 1e-9  # of the largest standard deviation: a column that does not vary
CLEARLY = 0.05  # level at which judges are said to differ


def judge_tastes(
    data: Comparisons, link_score: np.ndarray, difference: np.ndarray, by_items: bool = True
) -> dict[str, Any]:
    """Do these judges weigh the features differently (without features: the items)?

    ``link_score`` (M) is the derivative of each comparison's log-likelihood in its score
    ``difference`` (M) at the fit. Where judges are alike, what their comparisons add to the
    equations of the coefficients, u_m = link_score_m (x_left - x_right), does not depend on who
    judged. Of several features, that part of u is taken off that goes along with
    link_score_m difference_m, so that judges who are only less careful than others, whose
    coefficients are all smaller by one factor, do not differ in taste. Among all
    ways to give the comparisons to the judges, S_j = sum of u over judge j then has the covariance
    n_j (1 - n_j / M) R, whatever comparisons of an item have in common. With the columns of u in
    units of their standard deviation, R their correlations and k their number,

        F = (sum_j |S_j|^2 / n_j) / ((J - 1) k)  over the same within judges, with (M - J) k,

    is about F((J - 1) f, (M - J) f) with f = k^2 / tr R^2 (the ANOVA-type statistic; Brunner, Dette
    and Munk 1997). Judges who were given different items could differ by these: F is divided by the
    design effect of Rao and Scott (1981), the mean variance of S_j - (n_j / M) sum S where every
    two comparisons may be dependent that share an item (:mod:`pairscore.core.sandwich`), over that
    above; it is at least 1. Of many comparisons every n-th is taken; judges of very few are left
    out.

    Nothing where there are not two judges, or more items than MOST_TASTED without features.
    """
    names, judge, named = judge_codes(data)
    if not by_items and len(data.items) > MOST_TASTED:
        return {}
    X = data.items.values if by_items else np.eye(len(data.items))
    used = np.flatnonzero(named & (data.left != data.right) & (data.amount > 0))
    step = -(-len(used) * X.shape[1] // MOST_NUMBERS)
    used = used[:: max(step, -(-len(used) // MOST_TESTED))]
    number = np.bincount(judge[used], minlength=len(names))
    used = used[number[judge[used]] >= FEWEST_ANSWERS]
    _, judge = np.unique(judge[used], return_inverse=True)
    J, M = int(judge.max(initial=-1)) + 1, len(used)
    if not 2 <= J <= MOST_JUDGES:
        return {}
    left, right = data.left[used], data.right[used]
    score = data.amount[used] * link_score[used]
    u, of_care = score[:, None] * (X[left] - X[right]), score * difference[used]
    if u.shape[1] > 1 and of_care.any():
        u = u - np.outer(of_care, of_care @ u / (of_care @ of_care))
    u = u - u.mean(axis=0)
    sd = np.sqrt(np.sum(u**2, axis=0) / (M - 1))
    u = u[:, sd > TINY_SHARE * sd.max(initial=0.0)] / sd[sd > TINY_SHARE * sd.max(initial=0.0)]
    k = u.shape[1]
    if not k:
        return {}
    number = np.bincount(judge).astype(float)
    of_judges = sparse.csr_array((np.ones(M), (judge, np.arange(M))), shape=(J, M)) @ u
    between = float(np.sum(of_judges**2 / number[:, None]))
    within = (M - 1) * k - between
    f = k**2 / float(np.sum((u.T @ u / (M - 1)) ** 2))
    df, df_error = (J - 1) * f, (M - J) * f
    design_effect = _design_effect(u, judge, number, left, right) if by_items else 1.0
    statistic = between / ((J - 1) * k) / (within / ((M - J) * k)) / design_effect
    p = float(fdtrc(df, df_error, statistic))
    weigh = "weigh the features differently" if by_items else "order the items differently"
    these = JudgePanel(J, J, True).in_words
    words = f"{these} {weigh} ({p_in_words(p)})"
    words = words if p <= CLEARLY else f"no sign that {words}"
    return {
        "n_judges": J,
        "statistic": statistic,
        "df": df,
        "df_error": df_error,
        "p": p,
        "design_effect": design_effect,
        "in_words": words,
    }


def _design_effect(
    u: np.ndarray, judge: np.ndarray, number: np.ndarray, left: np.ndarray, right: np.ndarray
) -> float:
    """How much more judges' sums vary because comparisons share items; at least 1."""
    M, k = u.shape
    pairs = ItemPairs(left, right)
    robust = 0.0
    for one, own in enumerate(number.tolist()):
        part = ((judge == one) - own / M)[:, None] * u
        of_items = pairs.sum_per_item(part)
        of_pairs = pairs.sum_per_pair(part)
        robust += float(np.sum(of_items**2) - np.sum(of_pairs**2)) / own
    return max(robust / ((len(number) - 1) * k), 1.0)
