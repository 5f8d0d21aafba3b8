"""Errors of context, judges and ties: comparisons that share an item, or a judge, depend on each other."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from pairscore import inference as inf
from pairscore.contest import Contest, Look, Params, Top
from pairscore.settings import Settings
from pairscore.study import Study, leverage_whitener

Blocks = Callable[[np.ndarray], Iterator[tuple[np.ndarray, np.ndarray]]]


def contest_covariance(study: Study, settings: Settings, top: Top) -> np.ndarray:
    """Of (coef, effects, tie): classical, item-robust, or robust to items and judges."""
    contest, params, look, basis = top.contest, top.params, top.look, top.basis
    expected = look.apart - np.diag(contest.ridge)
    if settings.inference == "model":
        return inf.combine(basis.inverse, expected, None)
    meat = item_robust_meat(study, settings, contest, params, look)
    by_items = inf.combine(basis.inverse, expected, meat)
    if settings.inference == "items":
        return by_items
    both = basis.inverse @ (meat + judge_robust_meat(contest, params, look)) @ basis.inverse.T
    return inf.not_far_below(both, by_items, 1.0)  # sharing judges too only ever adds variance


def item_robust_meat(study: Study, settings: Settings, contest: Contest, params: Params, look: Look) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 - sum_p u_p u_p', as for the pairs alone."""
    exposures, centred = study.tally.exposures, study.X - study.item_moments.mean
    leverage = exposures * (1 / exposures.sum() + np.sum((centred @ leverage_whitener(study, settings)) ** 2, axis=1))
    inflation = 1 / (1 - np.minimum(leverage, inf.LARGEST_LEVERAGE))
    return _dyadic(contest, np.arange(len(contest.left)), contest.contributions(params, look), len(look.gradient), inflation)


def judge_robust_meat(contest: Contest, params: Params, look: Look) -> np.ndarray:
    """What comparisons of one judge add to the meat that do not share an item: all of a judge's, less those that do."""
    size, blocks = len(look.gradient), contest.contributions(params, look)
    per_judge, shared = np.zeros((contest.n_judges, size)), np.zeros((size, size))
    by_judge = np.argsort(contest.judge, kind="stable")
    ends = np.searchsorted(contest.judge[by_judge], np.arange(contest.n_judges + 1))
    for number in range(contest.n_judges):
        rows = by_judge[ends[number] : ends[number + 1]]
        per_judge[number] = sum((u.sum(axis=0) for _, u in blocks(rows)), np.zeros(size))
        shared += _dyadic(contest, rows, blocks, size, np.ones(len(contest.X)))
    few = contest.n_judges / max(contest.n_judges - 1, 1)
    return few * per_judge.T @ per_judge - shared


def _dyadic(contest: Contest, rows: np.ndarray, blocks: Blocks, size: int, inflation: np.ndarray) -> np.ndarray:
    """sum_i t_i t_i' - sum_p u_p u_p' over some comparisons, each t_i inflated."""
    items, code = np.unique(np.concatenate([contest.left[rows], contest.right[rows]]), return_inverse=True)
    left, right = code[: len(rows)], code[len(rows) :]
    at_items, at_pairs, first = np.zeros((len(items), size)), np.zeros((size, size)), 0
    for part, u in blocks(rows):
        n, here = len(part), slice(first, first := first + len(part))
        touched = (np.concatenate([left[here], right[here]]), np.tile(np.arange(n), 2))
        at_items += sparse.csr_array((np.ones(2 * n), touched), shape=(len(items), n)) @ u
        per_pair = np.add.reduceat(u, np.flatnonzero(np.diff(contest.pairs[1][part], prepend=-1)), axis=0)
        at_pairs += per_pair.T @ per_pair
    at_items *= inflation[items, None]
    return at_items.T @ at_items - at_pairs
