"""What a report tries out.

Every method on items it has not seen, and what more comparisons would buy.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from pairscore.choices import METHODS
from pairscore.core.sums import moments
from pairscore.data.comparisons import Comparisons
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.metrics import angle
from pairscore.model.predict import linear_scores
from pairscore.model.regression import RankRegression
from pairscore.planning.question import correlation_eigenvalues
from pairscore.report.words import option_words
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.predict import ErrorLaw

MOST_FOLDS = 5
FACTORS = (1, 2, 4)
EVEN_NORMALS = ndtri((np.arange(1000) + 0.5) / 1000)  # a normal variable, averaged over


@dataclass(frozen=True)
class Trial:
    """One method on these comparisons.

    Shares of decided ones called rightly, or the reason why there are none.

    ``degrees``: angle of its score to that of each method tried, in the items' own spread (the
    scores' correlation).
    """

    method: str
    in_sample: float = float("nan")
    held_out: float = float("nan")
    folds: tuple[float, ...] = ()
    degrees: tuple[float, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class HeldOut:
    """How the held-out trials were made, or the reason why the model's own method has none."""

    n_folds: int = 0
    n_tested: float = 0.0
    share_trained: float = float("nan")
    reason: str = ""


@dataclass(frozen=True)
class Prospect:
    """Share of pairs of new items that would stand in the wrong order.

    Nine of ten studies lie from ``low`` to ``high``.

    With one feature all pairs do or none: the share is the chance of the wrong sign, and there is
    no range (NaN).
    """

    factor: int
    n_comparisons: float
    misordered: float
    low: float
    high: float


def like(model: RankRegression, method: str) -> RankRegression:
    """An unfitted model with the settings of this one and another method, without intervals."""
    shrinkage = None if method == "mle" else model.shrinkage
    params = model.get_params() | {
        "method": method,
        "link": model.link_,
        "shrinkage": shrinkage,
        "inference": None,
    }
    # closed forms know neither judges, context nor item effects, and take a tie for half a win
    if method != "mle":
        params |= {
            "judge_slopes": False,
            "context": None,
            "ties": "half",
            "side_effect": bool(model.side_effect),
            "item_effects": False,
        }
    return RankRegression(**params)


def folds_for(data: Comparisons) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    """Training and test rows of as many item folds as there are comparisons for, five at most.

    Or the reason why not.
    """
    for number in range(MOST_FOLDS, 1, -1):
        with suppress(PairscoreError):
            return list(ItemKFold(number).split(data)), ""
    return (
        [],
        "even in two groups of items, one has no comparison of its own; make more comparisons.",
    )


def held_out_probabilities(
    make: Callable[[], RankRegression],
    data: Comparisons,
    folds: list[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Probability that left wins, said by a model that saw neither item.

    NaN where no fold tests the comparison.
    """
    probability = np.full(len(data), np.nan)
    for train, test in folds:
        probability[test] = make().fit(data[train]).predict_proba(data[test])[:, 1]
    return probability


def share_right(probability: np.ndarray, outcome: np.ndarray, amount: np.ndarray) -> float:
    """Share of decided comparisons that went to the favourite; NaN without any."""
    decided = amount * ((outcome != 0) & np.isfinite(probability))
    right = (probability > 0.5) == (outcome > 0)
    return float(decided @ right / decided.sum()) if decided.sum() > 0 else float("nan")


def try_methods(
    model: RankRegression, data: Comparisons
) -> tuple[list[Trial], HeldOut, np.ndarray]:
    """Every method with the model's settings, in sample and held out, and the held-out
    probabilities of the model's own.
    """
    data = set_covariance_items(data)
    folds, no_folds = folds_for(data)
    trials: list[Trial] = []
    scores: dict[str, np.ndarray] = {}
    own, reason = np.full(len(data), np.nan), no_folds
    for method in METHODS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PairscoreWarning)
            try:
                fitted = model if method == model.method else like(model, method).fit(data)
            except PairscoreError as error:
                trials.append(Trial(method, reason=option_words(str(error))))
                continue
            probability, no_fit = _held_out(model, method, data, folds)
        if method == model.method:
            own, reason = probability, no_folds or no_fit
        scores[method] = linear_scores(data.items.values[data.compared], fitted.coef_)
        by_fold = tuple(
            share_right(probability[test], data.outcome[test], data.amount[test])
            for _, test in folds
        )
        in_sample = share_right(fitted.predict_proba(data)[:, 1], data.outcome, data.amount)
        trials.append(
            Trial(method, in_sample, share_right(probability, data.outcome, data.amount), by_fold)
        )
    turned = [replace(trial, degrees=_degrees(scores, trial.method)) for trial in trials]
    return turned, HeldOut(reason=reason) if reason else _how_held_out(data, folds, own), own


def _held_out(
    model: RankRegression,
    method: str,
    data: Comparisons,
    folds: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, str]:
    """Held-out probabilities of a method.

    All NaN, and the reason, where it cannot be fitted without a fold's items.
    """
    try:
        return held_out_probabilities(lambda: like(model, method), data, folds), ""
    except PairscoreError as error:
        return np.full(len(data), np.nan), f"without them, {option_words(str(error))}"


def _how_held_out(
    data: Comparisons, folds: list[tuple[np.ndarray, np.ndarray]], own: np.ndarray
) -> HeldOut:
    number = np.ones(len(data)) if data.count is None else data.count
    trained = float(np.mean([number[train].sum() for train, _ in folds]) / number.sum())
    return HeldOut(len(folds), float(data.amount[np.isfinite(own)].sum()), trained)


def _degrees(scores: dict[str, np.ndarray], method: str) -> tuple[float, ...]:
    if method not in scores:
        return ()
    return tuple(_angle(scores[method], other) for other in scores.values())


def _angle(scores: np.ndarray, other: np.ndarray) -> float:
    """Arc cosine of the correlation of two scores, in degrees; NaN if one of them is constant."""
    a, b = scores - scores.mean(), other - other.mean()
    return float(np.degrees(angle(a, b))) if a.any() and b.any() else float("nan")


def prospects(model: RankRegression, data: Comparisons) -> tuple[list[Prospect], str]:
    """Predicted share of misordered new pairs now, at twice and at four times the comparisons.

    Or the reason why not.
    """
    n_comparisons = float(len(data) if data.count is None else data.count.sum())
    compared = np.flatnonzero(data.compared)
    try:
        law = ErrorLaw(
            correlation_eigenvalues(data.items.take(compared)),
            model.link_,
            spread_for_noise(model.link_, model.noise_),
        )
        second = float(np.count_nonzero(~data.compared)) if model.method == "split" else None
        found = [
            (factor, law.predict(len(compared), factor * n_comparisons, model.method, second))
            for factor in FACTORS
        ]
    except PairscoreError as error:
        return [], option_words(str(error))
    whole = law.n_features == 1
    ranges = [
        (float("nan"), float("nan")) if whole else error.ranges["misordered"] for _, error in found
    ]
    return [
        Prospect(factor, factor * n_comparisons, error.misordered, *ends)
        for (factor, error), ends in zip(found, ranges, strict=True)
    ], ""


def misordered_by_intervals(model: RankRegression, X: np.ndarray) -> float:
    """Share of pairs of new items in the wrong order, as the coefficients' own covariance C has it;
    NaN without one.

    Of the error, b'SCSb/b'Sb lies along the score in the items' covariance S, and the rest of
    tr(SC) across. The squared length b'Sb was made longer by tr(SC). Across over along is the
    tangent of the angle, beyond a right angle if the error along undoes the length; with one
    feature that is all that can go wrong. Angle/pi is the share for normal items.
    """
    if model.covariance_ is None or not np.isfinite(model.covariance_).all():
        return float("nan")
    spread = moments(X).covariance
    error, b = spread @ model.covariance_, model.coef_
    length = float(b @ spread @ b)
    if length == 0:
        return float("nan")
    along = float(b @ error @ spread @ b / length)
    across = max(float(np.trace(error)) - along, 0.0)
    lengths = np.sqrt(max(length - float(np.trace(error)), 0.0)) + np.sqrt(along) * EVEN_NORMALS
    return float(np.mean(np.arctan2(np.sqrt(across), lengths)) / np.pi)
