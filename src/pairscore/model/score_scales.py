"""Scales that people read scores on: link, 0-100, Elo, wins, and worth."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from pairscore.choices import SCALES
from pairscore.core.ties import OutcomeLaw
from pairscore.data.items import Items, table_like
from pairscore.errors import PairscoreError, one_of
from pairscore.messages import Action, Setting
from pairscore.model.fit import Fit
from pairscore.model.item_lookup import refuse_unknown_abilities
from pairscore.model.predict import item_scores

AVERAGE = "the average compared item"
ELO_AVERAGE = 1500.0
ELO_POINTS = 400.0  # of odds of ten to one
ELO_ODDS = 10.0
GRID = 4096  # points at which mean chances are computed where items are more, to about 1e-7


def worth_table(fit: Fit, items: Items) -> Any:
    """Strengths proportional to exp(scale * score) that sum to one: a table with id and worth.

    Of two items, the first wins worth / (worth + worth of the second) of decided comparisons (with
    ties="rao-kupper", about); the scale is ``decided_scale``, 1 without ties.
    """
    if fit.link.name != "logit":
        raise PairscoreError(
            "worth belongs to " + Setting("link", "logit") + f", and the link is {fit.link.name!r}",
            "use " + Action("rank"),
        )
    if fit.open.n_groups > 1:
        raise PairscoreError(
            f"the items fall into {fit.open.n_groups} groups that were never compared with each"
            " other, so that strengths have no common unit; use rank, which ranks within groups."
        )
    scores = item_scores(fit, items)
    refuse_unknown_abilities(fit, scores, items.ids)
    ids = np.arange(len(items)) if items.ids is None else items.ids
    return table_like(items, {"id": ids, "worth": softmax(fit.outcomes.decided_scale * scores)})


@dataclass(frozen=True)
class ScoreScale:
    """How scores are shown: ``show`` takes scores less that of the average compared item.

    It never decreases, so that the ends of an interval may be shown as the score is.
    """

    name: str
    in_words: str
    show: Callable[[np.ndarray], np.ndarray]


def average_score(fit: Fit) -> float:
    """Score of the average compared item; 0 for a fit to differences, which knows none."""
    return 0.0 if fit.n_items is None else float(fit.features.mean @ fit.coef)


def average_item(fit: Fit) -> str:
    """What scores are measured from, in words."""
    weighted = " (each counted as often as it was compared)" if fit.n_features else ""
    return f"{average_line(fit)}{weighted}"


def average_line(fit: Fit) -> str:
    """The same in few words, for the line at that score."""
    if fit.item_effects is None or fit.item_effects.components is None:
        return AVERAGE
    n = int(np.count_nonzero(fit.item_effects.components.of_item == 0))
    return f"the average of the {n} items that wins link both ways" if n else AVERAGE


def scale_of(fit: Fit, name: str = "link") -> ScoreScale:
    """The scale of this name for the scores of a fit.

    Of a score c, less that of the average compared item:
    link: c. elo: 1500 + 400 c / c10, with c10 the difference at which an item wins ten decided
    comparisons for each that it loses: ln(10) over ``decided_scale``, or Rao and Kupper's
    (:meth:`~pairscore.core.ties.OutcomeLaw.difference_at_odds`). 0-100: linear, with the lowest
    compared item at 0 and the highest at 100. wins: of 100 decided comparisons with compared items,
    as they are, how many are won in the mean: 100 mean_j f(c - c_j).
    """
    one_of(name, "scale", SCALES)
    if name == "link":
        of = f"on the {fit.link.name} scale"
        return ScoreScale(name, f"0 is {average_item(fit)}, {of}", lambda c: c)
    if name == "elo":
        if fit.link.name != "logit":
            raise PairscoreError(
                Setting("scale", "elo")
                + " is for "
                + Setting("link", "logit")
                + f", and the link is {fit.link.name!r}, under which equal differences of scores"
                " are not equal odds",
                ["use another scale", "fit with " + Setting("link", "logit")],
            )
        decided = " in decided comparisons" if fit.outcomes.tie_share > 0 else ""
        words = f"Elo: 1500 is {average_item(fit)}, 400 points more are odds of ten to one{decided}"
        unit = ELO_POINTS / fit.outcome_law.difference_at_odds(ELO_ODDS)
        return ScoreScale(name, words, lambda c: ELO_AVERAGE + unit * c)
    return _scale_over_items(fit, name)


def _scale_over_items(fit: Fit, name: str) -> ScoreScale:
    """The scales that need to know the scores of the compared items."""
    if fit.fitted_scores is None:
        raise PairscoreError(
            Setting("scale", name)
            + " needs the scores of the compared items, which this model does not keep",
            "fit it again to items and comparisons",
        )
    known = fit.fitted_scores[0] - average_score(fit)
    low = float(known[0])
    high = float(known[-1])
    if name == "0-100":
        if not high > low:
            raise PairscoreError(
                Setting("scale", "0-100")
                + " goes from the lowest to the highest compared item, and all have the same score",
                "use " + Setting("scale", "link"),
            )
        words = "0 is the lowest compared item and 100 the highest"
        return ScoreScale(name, words, lambda c: 100 * (c - low) / (high - low))
    if fit.open.n_groups > 1:
        raise PairscoreError(
            Setting("scale", "wins")
            + f" is against all compared items, and these fall into {fit.open.n_groups} groups that"
            " cannot be compared with each other",
            "use " + Setting("scale", "link"),
        )
    words = "wins of 100 decided comparisons with the compared items"
    return ScoreScale(name, words, lambda c: 100 * _mean_chance(fit.outcome_law, c, known))


def _mean_chance(law: OutcomeLaw, scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Mean chance of each score against the others; between points of a grid if they are many."""
    at = scores
    if len(scores) > GRID and np.isfinite(scores).any():
        at = np.linspace(np.nanmin(scores), np.nanmax(scores), GRID)
    chance = np.array([law.win_chance(one - others).mean() for one in at])
    return chance if at is scores else np.interp(scores, at, chance)
