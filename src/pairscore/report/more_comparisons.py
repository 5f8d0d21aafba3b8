"""What more comparisons would improve, from the planner's theory.

And how accurate the best score of these features would be.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from pairscore.core.moments import moments
from pairscore.data.comparisons import Comparisons
from pairscore.effects.judges import REACH
from pairscore.errors import PairscoreError
from pairscore.model.item_lookup import known_items
from pairscore.model.regression import RankRegression
from pairscore.planning.assumed_population import correlation_eigenvalues
from pairscore.report.held_out import NAN, HeldOutItems, Trial
from pairscore.report.words import plain_text
from pairscore.theory.integrals import best_share, spread_for_noise
from pairscore.theory.predicted_error import ErrorLaw

FACTORS = (1, 2, 4)
MOST_PAIRED = 1000  # items whose pairs are counted
# equally likely values of a standard normal variable, for averages over it
NORMAL_NODES = ndtri((np.arange(1000) + 0.5) / 1000)


@dataclass(frozen=True)
class Prospect:
    """Share of pairs of new items that would stand in the wrong order; without features, of pairs
    of these items too close to call.

    Nine of ten studies lie from ``low`` to ``high``. With one feature all pairs do or none: the
    share is the chance of the wrong sign, and there is no range (NaN).
    """

    factor: int
    n_comparisons: float
    misordered: float
    low: float
    high: float


def prospects(model: RankRegression, data: Comparisons) -> tuple[list[Prospect], str]:
    """Predicted share of misordered new pairs with 1, 2 and 4 times the comparisons.

    Or no prospects, and the reason why. The noise is that of decided comparisons, so only these
    count as comparisons of the theory; what ties tell beside is left out.
    """
    if not model.n_features_in_:
        return ability_prospects(model, data)
    count = np.ones(len(data)) if data.count is None else data.count
    n_comparisons, n_decided = float(count.sum()), float(count @ (data.outcome != 0))
    if n_decided == 0:
        return [], "every comparison is a tie, and the theory is of decided ones."
    if model.agreement_ == 1:
        return [], "no comparison contradicts the score, so nothing shows how noisy they are."
    compared = np.flatnonzero(data.compared)
    second = float(np.count_nonzero(~data.compared)) if model.method == "split" else None
    try:
        law = ErrorLaw(
            correlation_eigenvalues(data.items.take(compared)),
            model.link_,
            spread_for_noise(model.link_, model.noise_),
        )
        errors = [
            law.predict(len(compared), factor * n_decided, model.method, second)
            for factor in FACTORS
        ]
    except PairscoreError as error:
        return [], plain_text(error)
    one_feature = law.n_features == 1
    return [
        Prospect(
            factor,
            factor * n_comparisons,
            error.misordered,
            *((NAN, NAN) if one_feature else error.ranges["misordered"]),
        )
        for factor, error in zip(FACTORS, errors, strict=True)
    ], ""


def ability_prospects(model: RankRegression, data: Comparisons) -> tuple[list[Prospect], str]:
    """Share of pairs too close to call with 1, 2 and 4 times the comparisons, spread as they are.

    Or no prospects, and the reason why. Of many items, as many as MOST_PAIRED are taken, evenly
    from the first to the last.
    """
    known = known_items(model.result_, data.items)
    if model.covariance_ is None or known is None:
        return [], "the model was fitted without intervals."
    order = np.argsort(known.effect)
    rows = order[np.linspace(0, len(order) - 1, min(len(order), MOST_PAIRED)).astype(int)]
    one, other = np.triu_indices(len(rows), k=1)
    effect, variance = known.effect[rows], known.of_differences[rows]
    if len(one) == 0 or not np.isfinite(variance).all():
        return [], "not every ability has an error."
    gap, error = effect[one] - effect[other], variance[one] + variance[other]
    assert model.item_effects_ is not None  # without features every fit has them
    sigma2, common = model.item_effects_.sigma2, 2 * model.item_effects_.sigma2 / len(order)
    if model.item_effects_.free:
        sigma2, common = max(float(effect.var(ddof=1) - known.variance[rows].mean()), 0.0), None
    count = len(data) if data.count is None else float(data.count.sum())
    return [
        Prospect(k, k * count, 1 - sure_share(gap, error, 2 * sigma2, k, common), NAN, NAN)
        for k in FACTORS
    ], ""


def sure_share(
    gap: np.ndarray, variance: np.ndarray, spread: float, k: float, common: float | None = None
) -> float:
    """Expected share of pairs whose order is sure at 95 % with ``k`` times the comparisons.

    True gaps d are N(0, ``spread``). A free estimate x of variance v makes them N(m, t) with
    m = x spread / (spread + v), t = m v / x. With k times the comparisons, it becomes
    (x + (k - 1) y) / k, y ~ N(d, v / (k - 1)), of variance v / k. A shrunk one is already the mean
    of d, of variance v; k times the comparisons leave the variance
    1 / (1 / spread + k (1 / v - 1 / spread)), and by what it falls the mean will move. Errors of
    shrunk abilities, unlike those of free ones, have a part ``common`` to all, which stays.
    """
    if common is None:
        t = spread * variance / (spread + variance)
        mean = gap * (1 + (k - 1) * spread / (spread + variance)) / k
        moved, left = ((k - 1) / k) ** 2 * t + (k - 1) * variance / k**2, variance / k
    else:
        own = np.maximum(variance - common, np.finfo(float).tiny)
        of_data = np.maximum(1 / own - 1 / max(spread, np.finfo(float).tiny), 0.0)
        left = 1 / (1 / own + (k - 1) * of_data)
        mean, moved, left = gap, own - left, left + common
    with np.errstate(divide="ignore", invalid="ignore"):
        reach, sd = REACH * np.sqrt(left), np.sqrt(moved)
        sure = ndtr((mean - reach) / sd) + ndtr((-mean - reach) / sd)
    return float(np.mean(np.where(sd > 0, sure, np.abs(mean) > reach)))


def misordered_by_intervals(model: RankRegression, X: np.ndarray) -> float:
    """Share of pairs of new items in the wrong order that the coefficients' covariance C implies.

    Of the error, b'SCSb/b'Sb lies along the score in the items' covariance S, and the rest of
    tr(SC) across. The squared length b'Sb was made longer by tr(SC). Across over along is the
    tangent of the angle, beyond a right angle if the error along undoes the length; with one
    feature that is all that can go wrong. Angle/pi is the share for normal items. NaN for a model
    without a covariance. ``X`` has a row of features for each compared item.
    """
    if model.covariance_ is None or not np.isfinite(model.covariance_).all():
        return NAN
    if model.result_.recession is not None:  # a prior is part of the covariance
        return NAN
    spread = moments(X).covariance
    error, b = spread @ model.covariance_, model.coef_
    length = float(b @ spread @ b)
    if length == 0:
        return NAN
    along = float(b @ error @ spread @ b / length)
    across = max(float(np.trace(error)) - along, 0.0)
    lengths = np.sqrt(max(length - float(np.trace(error)), 0.0)) + np.sqrt(along) * NORMAL_NODES
    return float(np.mean(np.arctan2(np.sqrt(across), lengths)) / np.pi)


def best_accuracy(
    model: RankRegression, trials: list[Trial], held_out: HeldOutItems, misordered: float
) -> float:
    """What the best score of these features would predict of new comparisons; NaN if unknown.

    The held-out accuracy of the model's method, freed of the error of the estimate: its angle is
    pi times the share ``misordered`` that the intervals imply, larger for folds by one over the
    root of the share of comparisons that they learn from. Scores are taken as normal. Where the
    angle is so unsure that the answer would leave less to chance than half the model's noise,
    nothing can be said.
    """
    accuracy = next(trial.held_out for trial in trials if trial.method == model.method)
    if model.n_features_in_ == 1 or not np.isfinite([accuracy, misordered]).all():
        return NAN  # one feature has no direction to be wrong in
    turn = np.pi * min(misordered, 0.5)
    turn = float(np.arctan2(np.sin(turn), np.cos(turn) * np.sqrt(held_out.share_trained)))
    best = best_share(model.link_, accuracy, turn)
    return best if best < 1 - model.noise_ / 2 else NAN
