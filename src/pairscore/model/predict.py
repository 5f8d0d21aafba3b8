"""What a fit says of items and of comparisons: scores, differences, probabilities."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from pairscore.choices import SCALES
from pairscore.core.differences import Differences
from pairscore.core.normal_average import averaged_probabilities
from pairscore.core.scale import decided_scale, share_of_coin
from pairscore.core.ties import OutcomeLaw
from pairscore.data.comparisons import Comparisons
from pairscore.data.feature_options import apply_recipe
from pairscore.data.features import ID_COLUMN, read_plain, recipe_of
from pairscore.data.folds import feature_keys
from pairscore.data.items import Items, one_row, read_items, read_names, table_like, with_features
from pairscore.errors import PairscoreError, first_few
from pairscore.estimators.results import Fit, KnownItems

Outcomes = tuple[np.ndarray, np.ndarray, np.ndarray]
KEPT_SCORES = 5000  # of compared items, evenly spaced in rank
AVERAGE = "the average compared item"
ELO_AVERAGE, ELO_POINTS, ELO_ODDS = 1500.0, 400.0, 10.0  # 400 points are odds of ten to one
MOST_PLACES = 1000  # compared items that a place among the fitted ones is counted by
SAME_SCORE = 1e-12  # an item so near to a compared one is taken for it
PLACE_BLOCK = 64  # items at a time that are placed
GRID = 4096  # points at which mean chances are computed where items are more
PAIR_BLOCK = 4096  # pairs at a time whose features are formed


def linear_scores(values: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """x'coef of every row of ``values`` (n, d).

    Equal rows have equal scores to the last bit; the sums of BLAS depend on where a row stands.
    """
    return np.einsum("ij,j->i", values, coef)


def known_items(fit: Fit, items: Items) -> KnownItems | None:
    """What a fit with item effects knows of these items; None without item effects."""
    effects = fit.item_effects
    if effects is None:
        return None
    by_id = items.ids is not None and effects.ids is not None
    return effects.known(items.ids, np.empty(0) if by_id else feature_keys(items.values))


def item_scores(fit: Fit, items: Items) -> np.ndarray:
    """Scores x'coef, plus the effect of each item that the fit knows, shape (n,)."""
    known = known_items(fit, items)
    scores = linear_scores(items.values, fit.coef)
    return scores if known is None else scores + known.effect


def read_new_items(fit: Fit, items: Any) -> Items:
    """Items with the features of the fit, found by name; a dict of single values is one item."""
    if not fit.n_features and not isinstance(items, Items):
        return read_names(one_row(items) if isinstance(items, dict) else items)
    is_plain = fit.recipe is None or tuple(fit.recipe["features"]) == fit.names
    if is_plain or not isinstance(items, dict):
        id = ID_COLUMN if fit.recipe is None else fit.recipe["id"]
        if (plain := read_plain(items, fit.names, id)) is not None:
            return plain
    items = one_row(items, fit.names) if isinstance(items, dict) else items
    if fit.recipe is None:
        return read_items(items, fit.names)
    return with_features(apply_recipe(recipe_of(fit), items), fit.names)


def ability_columns(fit: Fit) -> dict[str, list[Any]]:
    """The items of a fit without features, highest first, with the errors of their abilities.

    Squares of ``quasi_std_error`` add up to about the variance of a difference; NaN where the fit
    has none. ``low`` and ``high`` are the ends of 95 % intervals.
    """
    effects = fit.item_effects
    assert effects is not None  # without features every fit has them
    nothing = np.full(len(effects.effect), np.nan)
    known = fit.covariance is not None
    quasi = effects.quasi_variance if known and effects.quasi_variance is not None else nothing
    quasi = np.where(effects.held, np.nan, quasi)
    order = np.argsort(-effects.effect, kind="stable")[: np.isfinite(effects.effect).sum()]
    ability, error = effects.effect[order], (effects.std_error if known else nothing)[order]
    low, high = ability_intervals(fit, fit.width(0.95))
    ids = order if effects.ids is None else effects.ids[order]
    with np.errstate(invalid="ignore"):  # a quasi-variance may be negative
        quasi_error = np.sqrt(quasi[order])
    columns = {
        "item": ids,
        "ability": ability,
        "std_error": error,
        "quasi_std_error": quasi_error,
        "low": low[order],
        "high": high[order],
        "rank": shared_ranks(ability),
    }
    return {name: column.tolist() for name, column in columns.items()}


def ability_intervals(fit: Fit, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends (N) of the intervals of abilities or item effects, ``width`` errors to either side.

    Those of abilities that only a prior holds are open.
    """
    from pairscore.effects.open_abilities import ability_ends

    return ability_ends(fit, width)


def shared_ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each score, sorted best first.

    One more than the number of better ones, so that equal scores share the best rank.

    >>> shared_ranks(np.array([9.0, 7.0, 7.0, 4.0])).tolist()
    [1, 2, 2, 4]
    """
    return 1 + np.searchsorted(-scores, -scores, side="left")


def neutral_chance(fit: Fit, items: Items, left: int, right: int) -> float:
    """Chance that one item wins against another if it is no tie, without sides and context."""
    return float(neutral_chances(fit, items, np.array([left]), np.array([right]))[0])


def neutral_chances(fit: Fit, items: Items, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Chances of pairs (M,) of row numbers as in :func:`neutral_chance`.

    Averaged over what is not known of their effects, as in ``predict_proba``.
    """
    pairs = Comparisons(items, left, right, np.ones(len(left), dtype=int))
    scores = item_scores(fit, items)
    averaged = fit.item_effects is not None and not fit.item_effects.free
    spread = difference_spread(fit, pairs) if averaged else np.zeros(len(left))
    loss, _, win = averaged_probabilities(fit.outcome_law, scores[left] - scores[right], spread)
    return win / (win + loss)


def worth_table(fit: Fit, items: Items) -> Any:
    """Strengths proportional to exp(scale * score) that sum to one: a table with id and worth.

    Of two items, the first wins worth / (worth + worth of the second) of decided comparisons (with
    ties="rao-kupper", about); the scale is ``decided_scale``, 1 without ties.
    """
    if fit.link.name != "logit":
        raise PairscoreError(
            f"worth belongs to link='logit', and the link is {fit.link.name!r}; use rank."
        )
    if fit.n_groups > 1:
        raise PairscoreError(
            f"the items fall into {fit.n_groups} groups that were never compared with each other,"
            " so that strengths have no common unit; use rank, which ranks within groups."
        )
    scores = item_scores(fit, items)
    refuse_unknown_abilities(fit, scores, items.ids)
    ids = np.arange(len(items)) if items.ids is None else items.ids
    return table_like(items, {"id": ids, "worth": softmax(fit.decided_scale * scores)})


def score_errors(centred: np.ndarray, covariance: np.ndarray) -> np.ndarray:
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
        centred = items.values - fit.feature_mean
        unknown = fit.undetermined_contrasts(centred) | fit.held_by_prior(centred)
        errors = np.where(unknown, np.nan, score_errors(centred, fit.covariance))
    if (known := known_items(fit, items)) is not None:
        errors = np.sqrt((known.share * errors) ** 2 + known.variance)
    return np.stack([scores[rows], errors])


def place_among_fitted(
    fit: Fit, scores: np.ndarray, errors: np.ndarray, width: float
) -> dict[str, np.ndarray]:
    """First and last place of each item among the N compared items of the fit.

    ``scores`` (n) are less that of the average compared item. A compared item is surely above one
    if it is ``width`` standard errors above, the square of which is the sum of the squares of both:
    that of the difference on average over the compared items, as errors are relative to their mean.
    Nothing where every item is a compared one, or where places are not known.
    """
    if fit.fitted_scores is None or fit.n_items is None or fit.n_groups > 1:
        return {}
    others, other_errors = fit.fitted_scores - np.array([[average_score(fit)], [0.0]])
    gap = nearest_distance(scores, others)
    is_new = gap > SAME_SCORE * (1 + np.abs(scores))
    if not is_new.any() or not np.isfinite(other_errors).all():
        return {}
    step = -(-len(others) // MOST_PLACES)
    others, other_errors, n = others[::step], other_errors[::step], fit.n_items
    above, below = np.zeros(len(scores)), np.zeros(len(scores))
    for first in range(0, len(scores), PLACE_BLOCK):
        rows = slice(first, first + PLACE_BLOCK)
        half = width * np.hypot(errors[rows, None], other_errors)
        ahead = others - scores[rows, None]
        above[rows] = np.count_nonzero(ahead > half, axis=1)
        below[rows] = np.count_nonzero(ahead < -half, axis=1)
    above, below = (np.floor(count * (n / len(others)) + 1e-9) for count in (above, below))
    low = 1 + above.astype(int)
    high = n - below.astype(int) + is_new  # a new item may come after all of them
    return {"place_low": low, "place_high": np.maximum(low, high)}


def nearest_distance(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """How far each value is from the nearest of ``known``, which are sorted."""
    after = np.searchsorted(known, values).clip(1, max(len(known) - 1, 1))
    ends = known[after - 1], known[np.minimum(after, len(known) - 1)]
    return np.minimum(np.abs(values - ends[0]), np.abs(values - ends[1]))


# -- scales that people read -----------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """How scores are shown: ``show`` takes scores less that of the average compared item.

    It never decreases, so that the ends of an interval may be shown as the score is.
    """

    name: str
    in_words: str
    show: Callable[[np.ndarray], np.ndarray]


def average_score(fit: Fit) -> float:
    """Score of the average compared item; 0 for a fit to differences, which knows none."""
    return 0.0 if fit.n_items is None else float(fit.feature_mean @ fit.coef)


def average_item(fit: Fit) -> str:
    """What scores are measured from, in words."""
    weighted = " (each counted as often as it was compared)" if fit.n_features else ""
    return f"{average_line(fit)}{weighted}"


def average_line(fit: Fit) -> str:
    """The same in few words, for the line at that score."""
    if fit.item_effects is None or fit.item_effects.component is None:
        return AVERAGE
    n = int(np.count_nonzero(fit.item_effects.component == 0))
    return f"the average of the {n} items that wins link both ways" if n else AVERAGE


def scale_of(fit: Fit, name: str = "link") -> Scale:
    """The scale of this name for the scores of a fit.

    Of a score c, less that of the average compared item:
    link: c. elo: 1500 + 400 c / c10, with c10 the difference at which an item wins ten decided
    comparisons for each that it loses: ln(10) over ``decided_scale``, or Rao and Kupper's
    (:meth:`~pairscore.core.ties.OutcomeLaw.difference_at_odds`). 0-100: linear, with the lowest
    compared item at 0 and the highest at 100. wins: of 100 decided comparisons with compared items,
    as they are, how many are won in the mean: 100 mean_j f(c - c_j).
    """
    if name not in SCALES:
        raise PairscoreError(f"scale is {name!r}; use one of {first_few(map(repr, SCALES))}.")
    if name == "link":
        of = f"on the {fit.link.name} scale"
        return Scale(name, f"0 is {average_item(fit)}, {of}", lambda c: c)
    if name == "elo":
        if fit.link.name != "logit":
            raise PairscoreError(
                f"scale='elo' is for link='logit', and the link is {fit.link.name!r}, under which"
                " equal differences of scores are not equal odds; use another scale, or fit with"
                " link='logit'."
            )
        decided = " in decided comparisons" if fit.tie_share > 0 else ""
        words = f"Elo: 1500 is {average_item(fit)}, 400 points more are odds of ten to one{decided}"
        unit = ELO_POINTS / fit.outcome_law.difference_at_odds(ELO_ODDS)
        return Scale(name, words, lambda c: ELO_AVERAGE + unit * c)
    return _scale_over_items(fit, name)


def _scale_over_items(fit: Fit, name: str) -> Scale:
    """The scales that need to know the scores of the compared items."""
    if fit.fitted_scores is None:
        raise PairscoreError(
            f"scale={name!r} needs the scores of the compared items, which this model does not"
            " keep; fit it again to items and votes."
        )
    known = fit.fitted_scores[0] - average_score(fit)
    low, high = float(known[0]), float(known[-1])
    if name == "0-100":
        if not high > low:
            raise PairscoreError(
                "scale='0-100' goes from the lowest to the highest compared item, and all have the"
                " same score; use scale='link'."
            )
        words = "0 is the lowest compared item and 100 the highest"
        return Scale(name, words, lambda c: 100 * (c - low) / (high - low))
    if fit.n_groups > 1:
        raise PairscoreError(
            f"scale='wins' is against all compared items, and these fall into {fit.n_groups} groups"
            " that cannot be compared with each other; use scale='link'."
        )
    words = "wins of 100 decided comparisons with the compared items"
    return Scale(name, words, lambda c: 100 * _mean_chance(fit.outcome_law, c, known))


def _mean_chance(law: OutcomeLaw, scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Mean chance of each score against the others; between points of a grid if they are many."""
    at = scores
    if len(scores) > GRID and np.isfinite(scores).any():
        at = np.linspace(np.nanmin(scores), np.nanmax(scores), GRID)
    chance = np.array([law.win_chance(one - others).mean() for one in at])
    return chance if at is scores else np.interp(scores, at, chance)


def refuse_unknown_abilities(
    fit: Fit, scores: np.ndarray, ids: np.ndarray | None, rows: Any = slice(None)
) -> None:
    """A model without features knows nothing of items that it has not seen.

    ``scores`` (N) are NaN for these; those of ``rows`` are asked for.
    """
    if fit.item_effects is None or not fit.item_effects.free:
        return
    asked = np.arange(len(scores))[rows]
    if len(unknown := asked[np.isnan(scores[asked])]):
        named = dict.fromkeys((unknown if ids is None else ids[unknown]).tolist())
        raise PairscoreError(
            f"there is no item {first_few(map(repr, named))} in the fit, and a model without"
            " features knows only the items that it was fitted to; leave it out, or fit with"
            " features."
        )


def score_differences(fit: Fit, data: Comparisons) -> np.ndarray:
    """Score of left minus score of right, with context, judge and side, shape (M,)."""
    scores = item_scores(fit, data.items)
    for rows in (data.left, data.right):
        refuse_unknown_abilities(fit, scores, data.items.ids, rows)
    if fit.effects is None and fit.judges is None:
        return scores[data.left] - scores[data.right] + (fit.side_effect or 0.0)
    from pairscore.effects.predictor import comparison_scores

    return comparison_scores(scores, data, fit.effects, fit.judges)


def difference_spread(fit: Fit, data: Comparisons) -> np.ndarray:
    """Standard deviation of what is not known of each score difference with item effects, (M,).

    The difference of two normal effects has the sum of their variances, less twice what they share:
    two items that met are known better against each other than each by itself.
    """
    from pairscore.effects.item_covariance import difference_variance, shared_variance
    from pairscore.effects.predictor import judges_sharpness

    known = known_items(fit, data.items)
    variance: Any = 2 * fit.item_effects.sigma2 if fit.item_effects is not None else 0.0
    if known is not None and fit.item_effects is not None:
        rows = known.row[data.left], known.row[data.right]
        variance = known.variance[data.left] + known.variance[data.right]
        if fit.item_effects.component is not None:
            variance = difference_variance(fit.item_effects, *rows)
        else:
            variance = variance - 2 * shared_variance(fit.item_effects, *rows)
    return np.sqrt(np.maximum(variance, 0.0)) * np.abs(judges_sharpness(data, fit.judges))


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
    from pairscore.effects.predictor import (
        effect_columns,
        judges_sharpness,
        scores_in_context,
        slope_errors,
    )

    known, X = known_items(fit, data.items), data.items.values
    carried = X - fit.feature_mean
    carried = carried if known is None else known.share[:, None] * carried
    slope, eta = judges_sharpness(data, fit.judges), score_differences(fit, data)
    unknown = np.zeros(len(data)) if fit.item_effects is None else difference_spread(fit, data)
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
        errors = np.hypot(unknown[rows], np.sqrt(np.maximum(variance, 0.0)))
        whole = np.hstack([along, beside])
        low[rows], high[rows] = fit.interval_ends(whole, eta[rows], errors, width)
        if known is not None:
            ends = open_ends_of_pairs(fit, known.row[left], known.row[right], width)
            beyond = eta[rows] - slope[rows] * (scores[left] - scores[right])
            error = width * np.sqrt(np.maximum(_effects_variance(fit, along, beside), 0.0))
            least, most = stretched(ends[1], ends[2], slope[rows])
            low[rows] = np.where(ends[0], least + beyond - error, low[rows])
            high[rows] = np.where(ends[0], most + beyond + error, high[rows])
        if known is not None or fit.judges is not None:
            held = fit.held_by_prior(whole)
            low[rows][held], high[rows][held] = -np.inf, np.inf
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
    return averaged_probabilities(law, scores, difference_spread(fit, data))


def share_correct(data: Comparisons, predicted: np.ndarray, weight: Any = None) -> float:
    """Share of decided comparisons whose outcome (-1, 1) is the ``predicted`` one (M,)."""
    amount = data.amount if weight is None else data.amount * weight
    decided = (data.outcome != 0) & (amount > 0)
    if not decided.any():
        raise PairscoreError(
            "every comparison is a tie, so there is nothing to score; give some with a winner."
        )
    correct = predicted[decided] == data.outcome[decided]
    return float(np.average(correct, weights=amount[decided]))


def scale_of_decided(fit: Fit, difference: np.ndarray, data: Comparisons) -> float:
    """The factor from the ``difference`` of each comparison (M,) to the chances of decided ones."""
    rows = Differences.of_comparisons(difference, data.outcome, data.amount / data.weight_unit)
    return decided_scale(fit.outcome_law, rows.x, None, rows.outcome, rows.amount)


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
