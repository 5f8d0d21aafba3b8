"""What a fit says of items and of comparisons: scores, differences, probabilities."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import expit, logit

from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.ties import OutcomeLaw, share_of_coin
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.effects.calibration import Calibration
from pairscore.effects.item_effects import ItemEffects, KnownItems
from pairscore.effects.judges import judges_sharpness, slope_errors
from pairscore.model.fit import Fit
from pairscore.model.item_lookup import known_items, refuse_unknown_abilities

Outcomes = tuple[np.ndarray, np.ndarray, np.ndarray]
KEPT_SCORES = 5000  # of compared items, evenly spaced in rank: size of a file against places
PAIR_BLOCK = 4096  # pairs at a time whose features are formed, so that memory is that of a block
FAR = 500.0  # a score difference that is as good as infinite


def linear_scores(values: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """x'coef of every row of ``values`` (n, d).

    Equal rows have equal scores to the last bit; the sums of BLAS depend on where a row stands.
    """
    if not values.shape[1]:  # einsum leaves what memory had where there is nothing to sum
        return np.zeros(len(values))
    return np.einsum("ij,j->i", values, coef)


def item_scores(fit: Fit, items: Items) -> np.ndarray:
    """Scores x'coef, plus the effect of each item that the fit knows, shape (n,)."""
    known = known_items(fit, items)
    scores = linear_scores(items.values, fit.coef)
    return scores if known is None else scores + known.effect


def neutral_chances(fit: Fit, items: Items, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Chances (M,) that one item wins against another, without sides and context; no ties.

    Of pairs of row numbers. Averaged over what is not known of their effects, as in
    ``predict_proba``.
    """
    pairs = Comparisons(items, left, right, np.ones(len(left), dtype=int))
    scores = item_scores(fit, items)
    averaged = fit.item_effects is not None and not fit.item_effects.free
    spread = difference_spread(fit, pairs) if averaged else np.zeros(len(left))
    chances = averaged_probabilities(fit.outcome_law, scores[left] - scores[right], spread)
    loss, _, win = calibrated(fit, pairs, chances) if averaged else chances
    return win / (win + loss)


def contrast_errors(centred: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Standard error of each score, relative to the average training item."""
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", centred @ covariance, centred), 0.0))


def fitted_scores(
    fit: Fit, scores: np.ndarray, compared: np.ndarray, take: Callable[[np.ndarray], Items]
) -> np.ndarray:
    """Scores of the compared items, lowest first, and their standard errors, shape (2, k).

    Of more than 5000, those evenly spaced in rank, the first and the last among them. Errors are
    relative to the average compared item, NaN where unknown; ``take`` gives items by their rows.
    """
    rows = np.flatnonzero(compared)
    places = np.linspace(0, len(rows) - 1, min(len(rows), KEPT_SCORES)).round().astype(int)
    errors = np.full(len(places), np.nan)
    if fit.covariance is None and fit.item_effects is None:  # nobody asks whose scores these are
        return np.stack([np.sort(scores[rows])[places], errors])
    rows = rows[np.argsort(scores[rows], kind="stable")][places]
    items = take(rows)
    if fit.covariance is not None:
        centred = items.values - fit.features.mean
        unknown = fit.undetermined_contrasts(centred) | fit.held_by_prior(centred)
        errors = np.where(unknown, np.nan, contrast_errors(centred, fit.covariance))
    known = known_items(fit, items)
    if known is not None:
        errors = np.sqrt((known.share * errors) ** 2 + known.variance)
    return np.stack([scores[rows], errors])


def score_differences(fit: Fit, data: Comparisons) -> np.ndarray:
    """Score of left minus score of right, with context, judge and side, shape (M,)."""
    scores = item_scores(fit, data.items)
    for rows in (data.left, data.right):
        refuse_unknown_abilities(fit, scores, data.items.ids, rows)
    if fit.effects is None and fit.judges is None:
        return scores[data.left] - scores[data.right] + (fit.side_effect or 0.0)
    from pairscore.effects.comparison_effects import comparison_scores

    return comparison_scores(scores, data, fit.effects, fit.judges)


def difference_spread(fit: Fit, data: Comparisons) -> np.ndarray:
    """Standard deviation of what is not known of each score difference with item effects, (M,)."""
    known = known_items(fit, data.items)
    if fit.item_effects is None or known is None:
        return np.zeros(len(data))
    left = known.take(data.left)
    right = known.take(data.right)
    variance = effect_difference_variance(fit.item_effects, left, right)
    return np.sqrt(variance) * np.abs(judges_sharpness(data, fit.judges))


def effect_difference_variance(
    effects: ItemEffects, first: KnownItems, second: KnownItems
) -> np.ndarray:
    """Variance of what is not known of the effects of two items, less each other, (n,).

    The difference of two normal effects has the sum of their variances, less twice what they share:
    two items that met are known better against each other than each by itself.
    """
    from pairscore.effects.item_covariance import difference_variance, shared_variance

    if effects.components is not None:
        return difference_variance(effects, first.row, second.row)
    variance = first.variance + second.variance
    variance = variance - 2 * shared_variance(effects, first.row, second.row)
    is_same = (first.row == second.row) & (first.row >= 0)
    return np.where(is_same, 0.0, np.maximum(variance, 0.0))


def score_intervals(fit: Fit, data: Comparisons, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of score differences, with context, judge and side, (M,) each.

    From ``width`` errors of coefficients, effects of comparisons, judges' slopes and items'
    effects. NaN without inference, and where the difference is not determined. Infinite where only
    a prior holds it: always where items or judges have effects. No matrix of comparisons and
    features is made but for a block of them.
    """
    low, high = np.full((2, len(data)), np.nan)
    if fit.covariance is None:
        return low, high
    from pairscore.effects.comparison_effects import (
        effect_columns,
        scores_in_context,
    )

    known = known_items(fit, data.items)
    X = data.items.values
    carried = X - fit.features.mean
    carried = carried if known is None else known.share[:, None] * carried
    slope = judges_sharpness(data, fit.judges)
    eta = score_differences(fit, data)
    unknown = np.zeros(len(data)) if fit.item_effects is None else difference_spread(fit, data)
    scores = item_scores(fit, data.items)
    for start in range(0, len(data), PAIR_BLOCK):
        rows = slice(start, start + PAIR_BLOCK)
        block = data[rows]
        left = data.left[rows]
        right = data.right[rows]
        along = slope[rows, None] * (carried[left] - carried[right])
        variance = np.einsum("ij,ij->i", along @ fit.covariance, along)
        beside = effect_columns(block, fit.effects, fit.side_effect, slope[rows])
        variance += _effects_variance(fit, along, beside)
        delta = scores_in_context(scores, block, fit.effects)
        variance += (delta * slope_errors(block, fit.judges)) ** 2
        variance[fit.undetermined_contrasts(X[left] - X[right])] = np.nan
        errors = np.hypot(unknown[rows], np.sqrt(np.maximum(variance, 0.0)))
        whole = np.hstack([along, beside])
        low[rows], high[rows] = fit.interval_ends(whole, eta[rows], errors, width)
        if known is not None:
            apart, least, most = open_ends_of_pairs(fit, known.row[left], known.row[right], width)
            beyond = eta[rows] - slope[rows] * (scores[left] - scores[right])
            error = width * np.sqrt(np.maximum(_effects_variance(fit, along, beside), 0.0))
            least, most = stretched(least, most, slope[rows])
            low[rows] = np.where(apart, least + beyond - error, low[rows])
            high[rows] = np.where(apart, most + beyond + error, high[rows])
        if known is not None or fit.judges is not None:
            held = fit.held_by_prior(whole)
            low[rows][held] = -np.inf
            high[rows][held] = np.inf
    return low, high


def open_ends_of_pairs(
    fit: Fit, first: np.ndarray, second: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which differences of abilities, by rows of the fit, only a prior holds, and their ends."""
    if fit.item_effects is None or not fit.item_effects.held.any():
        nothing = np.full(len(first), np.nan)
        return np.zeros(len(first), dtype=bool), nothing, nothing
    from pairscore.effects.open_abilities import open_pair_ends

    return open_pair_ends(fit, first, second, width)


def stretched(
    low: np.ndarray, high: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of an interval times the slope of a judge, which may be negative or nothing."""
    with np.errstate(invalid="ignore"):
        ends = np.where(slope == 0, 0.0, np.stack([slope * low, slope * high]))
    return ends.min(axis=0), ends.max(axis=0)


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

    With item effects they are averaged over what is not known of the two items; those of abilities
    without a law are at the maximum of the likelihood.
    """
    law = fit.outcome_law if law is None else law
    scores = score_differences(fit, data)
    if fit.item_effects is None or fit.item_effects.free:
        return law.probabilities(scores)
    scores = scores + context_of_new_items(fit, data)
    chances = averaged_probabilities(law, scores, difference_spread(fit, data))
    return calibrated(fit, data, chances)


def number_of_new(fit: Fit, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How many items of each pair, by rows of the fit (-1: none), were in no comparison of it."""
    assert fit.item_effects is not None
    return fit.item_effects.is_new(first).astype(int) + fit.item_effects.is_new(second)


def number_of_new_items(fit: Fit, data: Comparisons) -> np.ndarray:
    """The same of comparisons (M) of any table."""
    known = known_items(fit, data.items)
    assert known is not None
    return number_of_new(fit, known.row[data.left], known.row[data.right])


def calibration_of(fit: Fit) -> Calibration | None:
    """What held-out comparisons said of chances beside item effects, if there are any."""
    return None if fit.item_effects is None else fit.item_effects.calibration


def calibrated(fit: Fit, data: Comparisons, chances: Outcomes) -> Outcomes:
    """Probabilities of a loss, a tie and a win (M) as steep as held-out comparisons were."""
    calibration = calibration_of(fit)
    if calibration is None:
        return chances
    return calibration.probabilities(*chances, number_of_new_items(fit, data))


def calibrated_chance(fit: Fit, chance: np.ndarray, n_new: np.ndarray) -> np.ndarray:
    """The same of the chance to win a decided comparison, of pairs with so many new items."""
    calibration = calibration_of(fit)
    if calibration is None:
        return chance
    return calibration.probabilities(1 - chance, np.zeros_like(chance), chance, n_new)[2]


def context_of_new_items(fit: Fit, data: Comparisons) -> np.ndarray:
    """What context and side tell of new items, to be added to score differences (M)."""
    calibration = calibration_of(fit)
    if calibration is None or not any(calibration.shift):
        return np.zeros(len(data))
    from pairscore.effects.comparison_effects import context_column

    columns = [context_column(data, name) for name in fit.settings.context]
    if fit.settings.side_effect:
        columns.append(np.ones(len(data)))
    sharpness = judges_sharpness(data, fit.judges)
    by_row = sharpness[:, None] * np.column_stack(columns)
    return calibration.of_context(number_of_new_items(fit, data), by_row)


def pair_chances(fit: Fit, data: Comparisons, level: float) -> dict[str, np.ndarray]:
    """Chance that left wins each comparison, if it does not end in a tie, with its interval.

    Columns chance, low, high; and tie, tie_low, tie_high where ties have a probability; each (M,).
    With context, judge and side. The chance is averaged over what is not known of the items'
    effects; the interval is for the chance between these two items, whatever their effects.
    """
    law = fit.outcome_law
    low, high = score_intervals(fit, data, fit.width(level))
    loss, tie, win = outcome_probabilities(fit, data)
    moved = context_of_new_items(fit, data)
    loss_low, tie_low, win_low = calibrated(
        fit, data, law.probabilities(np.clip(low + moved, -FAR, FAR))
    )
    loss_high, tie_high, win_high = calibrated(
        fit, data, law.probabilities(np.clip(high + moved, -FAR, FAR))
    )
    columns = {
        "chance": win / (win + loss),
        "low": win_low / (win_low + loss_low),
        "high": win_high / (win_high + loss_high),
    }
    if not law.rule.has_parameter:
        return columns
    # a tie is likeliest where the two are equal
    at_zero = law.probabilities(np.zeros(1))[1]
    least = np.minimum(tie_low, tie_high)
    most = np.where((low < 0) & (high > 0), at_zero, np.maximum(tie_low, tie_high))
    ends = _tie_interval(fit, score_differences(fit, data), tie, (least, most), fit.width(level))
    return columns | {"tie": tie, "tie_low": ends[0], "tie_high": ends[1]}


def _tie_interval(
    fit: Fit,
    eta: np.ndarray,
    tie: np.ndarray,
    by_score: tuple[np.ndarray, np.ndarray],
    width: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Interval of the probability of a tie, from where the error of the score alone takes it.

    How far it reaches with the error of the tie parameter alone is added in squares, in log odds.
    """
    assert fit.effects is not None
    error = width * fit.effects.std_errors[fit.effects.kinds.index("tie")]
    law = fit.outcome_law
    here = logit(law.probabilities(eta)[1])
    middle = logit(tie)

    def reach(end: np.ndarray, t: float) -> np.ndarray:
        moved = logit(replace(law, t=t).probabilities(eta)[1])
        return np.hypot(logit(end) - middle, moved - here)

    least, most = by_score
    low = expit(middle - reach(least, law.t - error))
    return low, expit(middle + reach(most, law.t + error))


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
        mean = np.where(tied, 0.5, mean)
        variance = np.where(tied, 0.0, variance)
    return mean, variance
