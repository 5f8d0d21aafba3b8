"""What a model keeps of its items: effects, abilities, their errors and how much they explain."""

import numpy as np

from pairscore.core.whitening import square_root
from pairscore.data.items import feature_keys
from pairscore.effects.expectation_propagation import (
    Posterior,
)
from pairscore.effects.item_effects import (
    AbilityErrors,
    EffectPairs,
    ItemEffects,
)
from pairscore.effects.item_laws import (
    JointFit,
)
from pairscore.effects.item_variance import REACH2
from pairscore.effects.quasi_variances import centred_variances, quasi_variances
from pairscore.effects.variance_score import n_shared
from pairscore.estimators.table_data import TableData


def kept_effects(
    data: TableData, joint: JointFit, coef: np.ndarray, full: np.ndarray | None
) -> ItemEffects:
    """What a model keeps of its items."""
    post, d = joint.post, len(coef)
    rows, q = post.rows, joint.n_projected
    if not post.averaged:
        return _kept_abilities(data, joint, full)
    further = rows.X[:, d:] - rows.mean[d:]
    of_context = further @ post.theta[d : d + q]
    variance, share = post.covariance.diagonal, np.ones(len(rows.X))
    root = np.zeros((d + q, 0)) if full is None else square_root(full[: d + q, : d + q])
    if post.sigma2 > 0:
        variance, share = _effect_errors(post, d, root)
    of_items, interval = _variance_beyond_features(joint, d, full)
    return ItemEffects(
        ids=data.comparisons.items.ids,
        keys=feature_keys(data.X),
        effect=np.where(rows.compared, post.effect + of_context, 0.0),
        std_error=np.sqrt(np.where(rows.compared, variance, of_items)),
        share=share,
        sigma2=of_items,
        interval=interval,
        explained=explained_share(data, coef, root[:d], of_items),
        factor=score_length(data, coef) / score_length(data, joint.top.theta[:d]),
        n_shared=n_shared(rows),
        posterior_sigma2=post.sigma2,
        pairs=EffectPairs(rows.pairs.low, rows.pairs.high, rows.pair_information(post.derivatives)),
    )


def _kept_abilities(data: TableData, joint: JointFit, full: np.ndarray | None) -> ItemEffects:
    """What a model without features keeps of its items: their abilities, centred.

    If theta moves by D, abilities move by -V (border) D: their covariance is V + C C' with C that
    times a root of theta's covariance.
    """
    post, rows = joint.post, joint.post.rows
    pairs, weight = rows.pairs, post.pair_information
    C = np.zeros((len(rows.X), 0)) if full is None else -post.solved @ square_root(full)
    variance = centred_variances(post.covariance, pairs, post.sigma2) + np.sum(C**2, axis=1)
    quasi = quasi_variances(post.covariance, C, variance, bool(np.isinf(post.sigma2)))
    return ItemEffects(
        ids=data.comparisons.items.ids,
        keys=feature_keys(data.X),
        effect=np.where(rows.compared, post.effect, np.nan),
        std_error=np.sqrt(np.where(rows.compared, variance, np.inf)),
        share=np.ones(len(rows.X)),
        sigma2=np.inf,
        interval=(np.inf, np.inf),
        explained=0.0,
        factor=1.0,
        n_shared=n_shared(rows),
        posterior_sigma2=post.sigma2,
        pairs=EffectPairs(pairs.low, pairs.high, weight),
        abilities=AbilityErrors(C, quasi),
    )


def _variance_beyond_features(
    joint: JointFit, d: int, full: np.ndarray | None
) -> tuple[float, tuple[float, float]]:
    """sigma^2 with what context and side have of the items, and its interval.

    The variance of pi p among items, less what the error of pi adds, is added to sigma^2; errors of
    the two are combined by their squares on either side (Zou and Donner 2008).
    """
    post, variance, own = joint.post, joint.variance, slice(d, d + joint.n_projected)
    if variance is None:
        return 0.0, (0.0, float("inf"))
    n_items, q = np.count_nonzero(post.rows.compared), joint.n_projected
    further = np.cov(post.rows.X[post.rows.compared, d:].T, ddof=0).reshape(q, q)
    errors = post.basis.inverse[own, own] if full is None else full[own, own]
    along = further @ post.theta[own]
    size = max(float(post.theta[own] @ along - np.sum(errors * further)), 0.0)
    reach2 = REACH2 * (4 * float(along @ errors @ along) + 2 * size**2 / n_items)
    low = np.hypot(variance.sigma2 - variance.low, np.sqrt(reach2))
    high = np.hypot(variance.high - variance.sigma2, np.sqrt(reach2))
    total = variance.sigma2 + size
    return total, (max(total - float(low), 0.0), total + float(high))


def _effect_errors(post: Posterior, d: int, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance of each item's effect (N), and the share of its features' error in its score.

    If coefficients move by D, scores move by X~ D with X~ = V X / sigma^2 = X - V L X, L the
    Laplacian: the surer an item is by its own comparisons, the less it depends on the coefficients.
    The error of X~ D is split, item
    by item, into share times that of the item's own features, and a rest that is taken for
    independent of other items.
    """
    X = post.rows.X - post.rows.mean
    kept = (X - post.solved[:, : X.shape[1]]) @ root
    of_features = X[:, :d] @ root[:d]
    own, along = np.sum(of_features**2, axis=1), np.sum(of_features * kept, axis=1)
    share = np.divide(along, own, out=np.ones(len(X)), where=own > 0)
    rest = np.maximum(np.sum(kept**2, axis=1) - share**2 * own, 0.0)
    return post.covariance.diagonal + rest, share


def explained_share(data: TableData, coef: np.ndarray, errors: np.ndarray, sigma2: float) -> float:
    """Share of the variance of compared items' scores that features explain, less what the error of
    the coefficients adds.
    """
    compared = data.X[data.tally.exposures > 0]
    covariance = np.cov(compared.T, ddof=0).reshape(len(coef), len(coef))
    of_features = max(float(coef @ covariance @ coef - np.sum(errors * (covariance @ errors))), 0.0)
    total = of_features + sigma2
    return of_features / total if total > 0 else 0.0


def score_length(data: TableData, coef: np.ndarray) -> float:
    """Standard deviation of the scores that features give."""
    square = float(coef @ data.item_moments.covariance @ coef)
    return float(np.sqrt(max(square, np.finfo(float).tiny)))
