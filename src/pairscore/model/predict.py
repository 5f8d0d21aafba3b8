"""What a fit says of items and of comparisons: scores, differences, probabilities."""

from dataclasses import replace

import numpy as np

from pairscore.core.decided import decided_scale, share_of_coin
from pairscore.core.outcomes import OutcomeLaw, averaged_probabilities
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, feature_keys
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.results import Fit, KnownItems

Outcomes = tuple[np.ndarray, np.ndarray, np.ndarray]
PAIR_BLOCK = 4096  # pairs at a time whose features are formed


def linear_scores(values: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """x'coef of every row of ``values`` (n, d).

    Equal rows have equal scores to the last bit; the sums of BLAS depend on where a row stands.
    """
    return np.einsum("ij,j->i", values, coef)


def known_items(fit: Fit, items: Items) -> KnownItems | None:
    """What a fit with item effects knows of these items; None without item effects."""
    if fit.item_effects is None:
        return None
    return fit.item_effects.known(items.ids, feature_keys(items.values))


def item_scores(fit: Fit, items: Items) -> np.ndarray:
    """Scores x'coef, plus the effect of each item that the fit knows, shape (n,)."""
    known = known_items(fit, items)
    scores = linear_scores(items.values, fit.coef)
    return scores if known is None else scores + known.effect


def score_differences(fit: Fit, data: Comparisons) -> np.ndarray:
    """Score of left minus score of right, with context, judge and side, shape (M,)."""
    scores = item_scores(fit, data.items)
    if fit.effects is None and fit.judges is None:
        return scores[data.left] - scores[data.right] + (fit.side_effect or 0.0)
    from pairscore.effects.circumstances import comparison_scores

    return comparison_scores(scores, data, fit.effects, fit.judges)


def difference_spread(fit: Fit, data: Comparisons) -> np.ndarray:
    """Standard deviation of what is not known of each score difference with item effects, (M,).

    The difference of two normal effects has the sum of their variances, less twice what they share:
    two items that met are known better against each other than each by itself.
    """
    from pairscore.effects.circumstances import judges_sharpness
    from pairscore.effects.item_posterior import shared_variance

    known = known_items(fit, data.items)
    variance = 2 * fit.item_effects.sigma2 if fit.item_effects is not None else 0.0
    if known is not None and fit.item_effects is not None:
        rows = known.row[data.left], known.row[data.right]
        variance = known.variance[data.left] + known.variance[data.right]
        variance = variance - 2 * shared_variance(fit.item_effects, *rows)
    return np.sqrt(np.maximum(variance, 0.0)) * np.abs(judges_sharpness(data, fit.judges))


def contrast_errors(fit: Fit, data: Comparisons) -> np.ndarray:
    """Standard error of each score difference from the error of coefficients, effects of
    comparisons and judges' slopes, (M,); what is not known of items' effects comes on top.

    NaN without inference, and where the difference is not determined. No matrix of comparisons and
    features is made but for a block of them.
    """
    if fit.covariance is None:
        return np.full(len(data), np.nan)
    from pairscore.effects.circumstances import (
        effect_columns,
        judges_sharpness,
        scores_in_context,
        slope_errors,
    )

    known, X = known_items(fit, data.items), data.items.values
    carried = X - fit.feature_mean
    carried = carried if known is None else known.share[:, None] * carried
    slope, errors = judges_sharpness(data, fit.judges), np.empty(len(data))
    scores = item_scores(fit, data.items)
    for start in range(0, len(data), PAIR_BLOCK):
        rows = slice(start, start + PAIR_BLOCK)
        block, left, right = data[rows], data.left[rows], data.right[rows]
        along = slope[rows, None] * (carried[left] - carried[right])
        variance = np.einsum("ij,ij->i", along @ fit.covariance, along)
        beside = effect_columns(block, fit.effects, fit.side_effect, slope[rows])
        variance += _effects_variance(fit, along, beside)
        delta = scores_in_context(scores, block, fit.effects)
        variance += (delta * slope_errors(block, fit.judges)) ** 2
        variance[fit.undetermined_contrasts(X[left] - X[right])] = np.nan
        errors[rows] = np.sqrt(np.maximum(variance, 0.0))
    return errors


def _effects_variance(fit: Fit, along: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """What k effects add to a variance by which the coefficients' part is known, from the columns
    of both; older models know errors alone.
    """
    if not beside.shape[1]:
        return np.zeros(len(beside))
    if fit.effects_covariance is None:
        errors = [fit.side_effect_std_error] if fit.effects is None else fit.effects.std_errors
        return (beside**2) @ np.array(errors, dtype=float) ** 2
    across, own = np.split(fit.effects_covariance, [fit.n_features])
    return np.einsum("ij,ij->i", 2 * along @ across + beside @ own, beside)


def outcome_probabilities(fit: Fit, data: Comparisons, law: OutcomeLaw | None = None) -> Outcomes:
    """Probabilities of a loss, a tie and a win of left, by ``law`` or the fit's, each (M,).

    With item effects they are averaged over what is not known of the two items.
    """
    law = fit.outcome_law if law is None else law
    scores = score_differences(fit, data)
    if fit.item_effects is None:
        return law.probabilities(scores)
    return averaged_probabilities(law, scores, difference_spread(fit, data))


def scale_of_decided(fit: Fit, difference: np.ndarray, data: Comparisons) -> float:
    """The factor from the ``difference`` of each comparison (M,) to the chances of decided ones."""
    number = data.amount / FitData(data, keep_sides=False).weight_unit
    return decided_scale(fit.outcome_law, difference, np.zeros(len(data)), data.outcome, number)


def expected_outcomes(fit: Fit, data: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each outcome (1, 1/2 of a tie, 0) by the fit, both of shape (M,).

    Where ties have a parameter, their probability is in both. Where they count as half wins, the
    mean is the link's, and the variance that of a coin times the share that the ties of these
    comparisons leave of it. Where they are left out, the others are coins, and nothing else than a
    tie was expected of a tie: mean 1/2, variance 0.
    """
    _, tie, win = outcome_probabilities(fit, data, replace(fit.outcome_law, scale=1.0))
    mean = win + 0.5 * tie
    variance = np.maximum(win + 0.25 * tie - mean**2, 0.0)
    if fit.ties == "half":
        variance = variance * share_of_coin(mean, data.outcome, data.amount)
    if fit.ties == "drop":
        tied = data.outcome == 0
        mean, variance = np.where(tied, 0.5, mean), np.where(tied, 0.0, variance)
    return mean, variance
