"""What a fit says of items and of comparisons: scores, differences, probabilities."""

import numpy as np

from pairscore.core.outcomes import averaged_probabilities
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.estimators.results import Fit, KnownItems, feature_keys

Outcomes = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    if fit.effects is None:
        return scores[data.left] - scores[data.right] + (fit.side_effect or 0.0)
    from pairscore.effects.circumstances import comparison_scores

    return comparison_scores(scores, data, fit.effects, fit.judges)


def outcome_probabilities(fit: Fit, data: Comparisons) -> Outcomes:
    """Probabilities of a loss, a tie and a win of left, each of shape (M,).

    With item effects they are averaged over what is not known of the two items: the difference of
    two normal effects has the sum of their variances.
    """
    scores, law = score_differences(fit, data), fit.outcome_law
    known = known_items(fit, data.items)
    if known is None:
        return law.rule.probabilities(scores, law.t)
    from pairscore.effects.circumstances import judges_sharpness

    sd = np.sqrt(known.variance[data.left] + known.variance[data.right])
    return averaged_probabilities(law, scores, sd * np.abs(judges_sharpness(data, fit.judges)))
