"""Comparisons as fits with item effects predict them that have not seen their items.

Items are dealt into folds, groups of items together. For every fold the joint law is found again
from the comparisons that touch none of its items, with the same sigma^2, from where the whole fit
stands: a few sweeps. x'beta of that fit is the score of a new item, and

    two new    the difference of two such scores, each by the fit that left the item out
    one new    the item of the fold against one that the same fit knows, with its effect
    known      the comparison without its own term: the cavity of expectation propagation

so that nearly all comparisons test each of the three, and no fit is repeated from its start.

The same fits choose the ridge. About a maximum with the information H of coefficients, effects of
items allowed for, another ridge moves them to (H + l2 R)^-1 (H + l2_0 R) beta: thirty ridges take
one decomposition for each fold.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh
from scipy.special import log_expit

from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.ties import OutcomeLaw
from pairscore.data.folds import assign_folds
from pairscore.effects.calibration import (
    PRIOR_SD,
    TINY,
    Calibration,
    HeldOutChances,
    design_effect,
    fit_factor,
)
from pairscore.effects.context import context_and_side
from pairscore.effects.expectation_propagation import (
    SMALLEST_SHARE,
    Posterior,
    cavities,
    propagate,
    start_posterior,
)
from pairscore.effects.item_variance import LOOSE
from pairscore.effects.single_comparisons import SingleComparisons
from pairscore.estimators.ridge import ridge_size, ridge_units
from pairscore.estimators.ridge_choice import (
    RidgeCurve,
    best_ridge,
    item_ranks,
    number_units,
    ridge_prior,
    ridges,
    standard_scatter,
)
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData

# By how many comparisons there are at least: folds, and how many of them are fitted. More folds are
# nearer to the fit to all, and take longer; a large study has enough tests in one.
FOLDS = ((0, 12, 12), (3000, 5, 5), (5000, 5, 3), (100_000, 4, 1))
MOST_SWEEPS = 15  # from where the fit to all stands, few are needed unless data are separated
FAR_RIDGE = float(np.log(4))  # logarithm of two ridges' ratio that one step is good for
SMALLEST_RATIO = 1e-6  # of the usual ridge beside effects to that without them
FACTORS = np.exp(np.linspace(-1.2, 1.2, 9))  # of log odds, among which a ridge has its best


@dataclass(frozen=True)
class ItemFolds:
    """A fold for every item (N), -1 for those that are never held out, and the fit without each.

    ``unit`` (N) numbers what was held out together: items, or their groups.
    """

    fold: np.ndarray
    unit: np.ndarray
    posts: list[Posterior]


def units_of_items(data: TableData) -> np.ndarray:
    """What is held out together (N): items, or their groups; -1 for those in no comparison.

    Numbers do not depend on the order of rows.
    """
    pairs, groups = data.pairs, data.comparisons.item_groups
    net = (pairs.win - pairs.lose).sum(axis=0)
    rank = item_ranks(data.X, pairs.low, pairs.high, net, pairs.number)
    return number_units(rank, data.tally.exposures > 0, groups)


def fold_of_items(data: TableData, unit: np.ndarray) -> np.ndarray | None:
    """A fold for every item (N), -1 for those that are held out in none; None with less than two
    units.
    """
    sizes = np.bincount(unit[unit >= 0])
    if len(sizes) < 2:
        return None
    n_folds, n_fitted = [numbers for least, *numbers in FOLDS if len(data.comparisons) >= least][-1]
    order = np.argsort(np.cos(np.arange(len(sizes))))  # without a pattern, and always the same
    fold = assign_folds(sizes, order, min(n_folds, len(sizes)))
    fold[fold >= n_fitted] = -1
    return np.append(fold, -1)[unit]


def without_items(post: Posterior, held_out: np.ndarray) -> Posterior | None:
    """The joint law without the comparisons of some items (mask N); None if none are left."""
    rows = post.rows
    kept = ~(held_out[rows.left] | held_out[rows.right])
    if not kept.any():
        return None
    parts = {
        name: getattr(rows, name)[kept]
        for name in ("left", "right", "outcome", "amount", "context", "sides", "judge")
    }
    effect = np.where(held_out, 0.0, post.effect)
    start = start_posterior(
        replace(rows, **parts),
        post.theta,
        post.sigma2,
        effect=effect,
        basis=post.basis,  # about: the first sweep has another
        exact_items=post.exact_items,
    )
    return propagate(start, post.sigma2, LOOSE, MOST_SWEEPS)


def fit_without_folds(post: Posterior, data: TableData) -> ItemFolds | None:
    """The joint law without each fold of items; None where there is nothing to hold out."""
    unit = units_of_items(data)
    fold = fold_of_items(data, unit)
    if fold is None:
        return None
    posts = []
    for number in range(fold.max() + 1):
        without = without_items(post, fold == number)
        if without is None:
            return None
        posts.append(without)
    return ItemFolds(fold, unit, posts)


# -- the scores of new items ----------------------------------------------------------------------


def _predictor(post: Posterior, scores: np.ndarray) -> np.ndarray:
    """eta (M) from left's score less right's (M, or M x k for k ridges)."""
    rows, d, c = post.rows, len(post.rows.mean), post.rows.context.shape[1]
    of_context = rows.context @ post.theta[d : d + c]
    side = rows.side(post.theta)
    if scores.ndim == 1:
        return rows.sharpness * (scores + of_context) + side
    return rows.sharpness[:, None] * (scores + of_context[:, None]) + side[:, None]


def _columns(rows: SingleComparisons) -> np.ndarray:
    """What may be put back of context and of the side that all judges share (M x e)."""
    return rows.sharpness[:, None] * context_and_side(rows)


def two_new(post: Posterior, folds: ItemFolds, d: int, new_sigma2: float) -> HeldOutChances:
    """Every comparison as one of two new items, the variance of whose effects is given."""
    rows = post.rows
    scores = np.full(len(rows.X), np.nan)
    centred = rows.X[:, :d] - rows.mean[:d]
    for number, without in enumerate(folds.posts):
        items = folds.fold == number
        scores[items] = centred[items] @ without.theta[:d]
    eta = _predictor(post, scores[rows.left] - scores[rows.right])
    sd = np.sqrt(2 * new_sigma2) * np.abs(rows.sharpness)
    return _chances(rows, eta, sd, folds.unit)


def _chances(
    rows: SingleComparisons, eta: np.ndarray, sd: np.ndarray, unit: np.ndarray
) -> HeldOutChances:
    return HeldOutChances(
        eta, sd, _columns(rows), rows.outcome, rows.amount, unit[rows.left], unit[rows.right]
    )


def one_new(post: Posterior, folds: ItemFolds, d: int, new_sigma2: float) -> HeldOutChances:
    """Comparisons of an item of a fold with one that the fit without this fold knows; each twice,
    once with either item as the new one.
    """
    rows, full = post.rows, len(post.rows.mean)
    parts = []
    for new, known, sign in ((rows.left, rows.right, 1.0), (rows.right, rows.left, -1.0)):
        eta, variance = np.full((2, len(new)), np.nan)
        for number, without in enumerate(folds.posts):
            used = (folds.fold[new] == number) & (folds.fold[known] != number)
            used &= without.rows.compared[known]
            centred = rows.X - rows.mean
            own = centred @ without.theta[:full] + without.effect
            eta[used] = sign * (centred[new[used], :d] @ without.theta[:d] - own[known[used]])
            variance[used] = new_sigma2 + without.covariance.diagonal[known[used]]
        eta = _predictor(post, eta)
        sd = np.sqrt(variance) * np.abs(rows.sharpness)
        part = _chances(rows, eta, sd, folds.unit)
        parts.append(replace(part, amount=rows.amount / 2))
    return HeldOutChances(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])}
    )


def known(post: Posterior, unit: np.ndarray) -> HeldOutChances:
    """Every comparison by what all others say of its two items and of the parameters.

    As the cavity of expectation propagation, with the variance of eta by theta in addition: if
    theta moves by D, eta moves by (row of theta - V borders of its items) D.
    """
    rows, d = post.rows, len(post.rows.mean)
    root = post.basis.transform
    kept = (rows.X - rows.mean) @ root[:d] - post.solved @ root
    along = rows.sharpness[:, None] * (kept[rows.left] - kept[rows.right])
    along += rows.columns @ root[d : d + rows.columns.shape[1]]
    of_theta = np.einsum("mk,mk->m", along, along)
    once = np.minimum(rows.amount, 1.0)  # no more than is there is taken out
    variance = rows.sharpness**2 * post.covariance.pair_variance[rows.pair] + of_theta
    variance /= np.maximum(1 - once * post.tau * variance, SMALLEST_SHARE)
    eta = post.eta - variance * once * post.score
    _, square = cavities(post).law_of_eta()
    return replace(
        _chances(rows, eta, np.sqrt(square), unit),
        columns=np.zeros_like(_columns(rows)),  # known items have their effects
    )


def calibrate(
    post: Posterior, data: TableData, folds: ItemFolds | None, new_sigma2: float, scale: float
) -> Calibration:
    """Factors and shifts for pairs of known items and of new ones, by held-out comparisons.

    ``new_sigma2`` is the variance of a new item's effect, and ``scale`` that of decided
    comparisons.
    """
    rows, d = post.rows, data.X.shape[1]
    law = OutcomeLaw(rows.rule, rows.tie(post.theta), scale)
    tests = [known(post, units_of_items(data))]
    if folds is not None:
        tests += [one_new(post, folds, d, new_sigma2), two_new(post, folds, d, new_sigma2)]
    factors = np.ones(3)
    shifts = [(0.0,) * tests[0].columns.shape[1]] * 3
    numbers = np.zeros(3)
    for kind, test in enumerate(tests):
        factors[kind], shift = fit_factor(test, law)
        shifts[kind] = tuple(shift.tolist())
        numbers[kind] = test.decided().amount.sum()
    if folds is not None and numbers[1] == 0:  # groups never meet
        factors[1] = np.sqrt(factors[0] * factors[2])
    known_pairs, with_one, with_two = factors.tolist()
    n_known, n_one, n_two = numbers.tolist()
    return Calibration(
        factor=(known_pairs, with_one, with_two),
        shift=(shifts[0], shifts[1], shifts[2]),
        coin_share=2 / (rows.n_comparisons + 2),
        n_tested=(n_known, n_one, n_two),
    )


# -- the ridge ------------------------------------------------------------------------------------


def coefficients_by_ridge(post: Posterior, d: int, unit: np.ndarray, l2: np.ndarray) -> np.ndarray:
    """Coefficients (d x k) with k ridges l2 * unit^2 in place of the one that the rows have."""
    rows, s = post.rows, post.derivatives
    borders = rows.item_borders(s)
    information = rows.information(s, borders) - borders.T @ post.solved - rows.ridge
    others = np.arange(d, len(information))
    H = information[:d, :d]
    if len(others):
        across = information[:d, others]
        own = information[np.ix_(others, others)] + rows.ridge[np.ix_(others, others)]
        H = H - across @ np.linalg.pinv(own, hermitian=True) @ across.T
    used = np.where(unit > 0, unit, np.inf)
    values, axes = eigh(H / np.outer(used, used))
    values = np.maximum(values, 0.0)
    pull = H @ post.theta[:d] + rows.ridge[:d, :d] @ post.theta[:d]
    along = axes.T @ (pull / used)
    return (axes @ (along[:, None] / (values[:, None] + l2))) / used[:, None]


def ridge_of(post: Posterior, data: TableData, settings: Settings) -> float:
    """The ridge l2 that a fit has, in the units of the setting."""
    unit = ridge_units(settings, data.item_moments.sd)
    varies = unit > 0
    if not varies.any():
        return 0.0
    own = np.diag(post.rows.ridge)[: len(unit)][varies]
    return data.weight_unit * float(np.median(own / unit[varies] ** 2))


def folds_at_ridge(
    folds: ItemFolds, data: TableData, settings: Settings, before: float
) -> ItemFolds | None:
    """The fits without each fold with the ridge of the settings in place of another; None if that
    is too far for one step, and the fits are to be found again.
    """
    l2 = settings.ridge
    if abs(np.log(l2 / before)) > FAR_RIDGE:
        return None
    d, unit = data.X.shape[1], ridge_units(settings, data.item_moments.sd)
    posts = []
    for post in folds.posts:
        ridge = np.array([l2 / data.weight_unit])
        step = np.zeros_like(post.theta)
        step[:d] = coefficients_by_ridge(post, d, unit, ridge)[:, 0] - post.theta[:d]
        effect = post.effect - post.solved @ step
        posts.append(replace(post, theta=post.theta + step, effect=effect))
    return replace(folds, posts=posts)


def choose_ridge_for_effects(
    post: Posterior, data: TableData, settings: Settings, folds: ItemFolds
) -> RidgeCurve | None:
    """The ridge with which effects beside it predict pairs of two new items best.

    As :func:`pairscore.estimators.ridge_choice.choose_ridge` without effects, by the same ridges
    and the same prior; chances have the factor with which a ridge does best, because that is what
    they will have. None where no feature differs within a comparison.
    """
    rows, d = post.rows, data.X.shape[1]
    unit, weight_unit = ridge_units(settings, data.item_moments.sd), data.weight_unit
    center = replace(data.item_moments.spread, sd=unit)
    scatter, _ = standard_scatter(data.X, data.pairs, center)
    l2 = ridges(max(float(np.linalg.eigvalsh(scatter)[-1]), 0.0), settings.link)
    if not l2.all():
        return None
    scores = np.full((len(rows.X), len(l2)), np.nan)
    centred = data.X - data.item_moments.mean
    for number, without in enumerate(folds.posts):
        items = folds.fold == number
        coef = coefficients_by_ridge(without, d, unit, l2 / weight_unit)
        scores[items] = centred[items] @ coef
    eta = _predictor(post, scores[rows.left] - scores[rows.right])
    tested = (rows.outcome != 0) & np.isfinite(eta[:, 0])
    if not tested.any():
        return None
    eta = eta[tested]
    sd = np.sqrt(2 * post.sigma2) * np.abs(rows.sharpness[tested])
    law = OutcomeLaw(rows.rule, rows.tie(post.theta))
    loss, _, win = averaged_probabilities(law, eta, np.tile(sd[:, None], len(l2)))
    odds = np.log(np.maximum(win, TINY)) - np.log(np.maximum(loss, TINY))
    odds *= rows.outcome[tested][:, None]
    amount = rows.amount[tested]
    total = np.min(
        [
            -amount @ log_expit(factor * odds) + 0.5 * (np.log(factor) / PRIOR_SD) ** 2
            for factor in FACTORS
        ],
        axis=0,
    )
    # Beside effects comparisons say less, in this ratio, and as far from usual would be a ridge as
    # much weaker. Its root did best in studies/test_new_items.py: with groups, the whole of it was
    # too weak a ridge.
    ratio = ridge_of(post, data, settings) / max(settings.ridge, TINY)
    size = ridge_size(settings, d)
    usual = size * weight_unit * float(np.sqrt(np.clip(ratio, SMALLEST_RATIO, 1.0)))
    worth = 1.0
    if data.comparisons.item_groups is not None:
        best = int(np.argmin(total))
        nothing = np.zeros(len(rows.left))
        chances = _chances(rows, nothing, nothing, folds.unit).take(tested)
        worth = design_effect(chances, odds[:, best])
    n_tested = float(amount.sum())
    criterion = total / worth + ridge_prior(l2, usual * worth)
    chosen = best_ridge(l2, total / n_tested, criterion)
    return RidgeCurve(l2, total / n_tested, chosen, n_tested)
