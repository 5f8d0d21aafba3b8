"""Held-out trials: every method on items that it has not seen, and calibration."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from pairscore.choices import METHODS
from pairscore.core.comparison_means import influence_sums, share_interval
from pairscore.core.incidence import ItemPairs
from pairscore.core.threads import one_blas_thread
from pairscore.data.comparisons import Comparisons
from pairscore.data.splitters import ItemKFold, set_covariance_items
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.evaluation import measures
from pairscore.evaluation.held_out import assign_pairs, linking, split_comparisons
from pairscore.evaluation.measures import MeasuredComparisons
from pairscore.metrics import angle
from pairscore.model.predict import linear_scores
from pairscore.model.regression import RankRegression
from pairscore.parallel import ALONE, Workers
from pairscore.report.words import plain_text

MOST_FOLDS = 5
NAN = float("nan")
Folds = list[tuple[np.ndarray, np.ndarray]]  # rows to train on, rows to test on


# -- methods on items that they have not seen ------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One method on these comparisons: its accuracy, or the reason why it could not be fitted.

    ``in_sample``, ``held_out`` and ``folds`` are shares of the decided comparisons that went to
    the favourite; ``degrees`` has the angle of its score to that of each method that was tried.
    """

    method: str
    in_sample: float = NAN
    held_out: float = NAN
    folds: tuple[float, ...] = ()
    degrees: tuple[float, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class HeldOutItems:
    """How items were held out, or the reason why they could not be for the model's method."""

    n_folds: int = 0
    n_tested: float = 0.0
    share_trained: float = NAN
    reason: str = ""


@dataclass(frozen=True)
class WrongShare:
    """Share of decided comparisons that the score predicts wrongly, with its 95 % interval, of how
    many that was found, how many independent ones they are worth, and whether that is enough to
    say it; the mean log-loss and the
    calibration slope of the same comparisons.
    """

    share: float = NAN
    low: float = NAN
    high: float = NAN
    number: float = 0.0
    effective: float = 0.0
    is_enough: bool = False
    log_loss: float = NAN
    slope: float = NAN
    slope_error: float = NAN


def wrong_share(probability: np.ndarray, data: Comparisons) -> WrongShare:
    """How often the favourite lost, of decided comparisons with a probability.

    The interval is Wilson's, for as many independent comparisons as these are worth, of which some
    share an item (:func:`~pairscore.core.comparison_means.share_interval`).
    """
    known = np.isfinite(probability) & (data.outcome != 0) & (data.amount > 0)
    if not known.any():
        return WrongShare()
    part, p = data[known], probability[known]
    tested = MeasuredComparisons.of(part, np.zeros(len(part), dtype=int))
    found, slope = measures.accuracy(tested, p), measures.calibration_slope(tested, p)
    pairs = ItemPairs(part.left, part.right)
    right = share_interval(found, pairs)
    return WrongShare(
        share=max(1 - found.value, 0.0),
        low=1 - right.high,
        high=1 - right.low,
        number=float(part.amount.sum()),
        effective=right.effective,
        is_enough=right.is_enough,
        log_loss=measures.log_loss(tested, p).value,
        slope=slope.value,
        slope_error=influence_sums(slope, pairs).std_error,
    )


def try_methods(
    model: RankRegression, data: Comparisons, workers: Workers = ALONE
) -> tuple[list[Trial], HeldOutItems, np.ndarray]:
    """Fit every method with the model's settings, and test each on items that it has not seen.

    Without features there is one method, which is tested on pairs that it has not seen.

    Returns
    -------
    A trial for each of METHODS; how items were held out; and the held-out probability that left
    wins, of the model's method, for each comparison (NaN where there is none).
    """
    data = set_covariance_items(data)
    methods = METHODS if model.n_features_in_ else (model.method,)
    folds, no_folds = item_folds(data) if model.n_features_in_ else pair_folds(data)
    everything = np.arange(len(data))
    parts = [(everything, everything), *folds]
    jobs = [
        partial(_fit_and_predict, with_method(model, method), data, *part)
        for method in methods
        for part in parts[method == model.method :]  # which is fitted already
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        found = iter(workers.all(jobs, in_threads=True))
    fits, held_out = {}, {}
    for method in methods:
        same = method == model.method
        fits[method] = _fitted(model, data) if same else next(found)
        held_out[method] = put_together(data, folds, list(islice(found, len(folds))))
    items = data.items.values[data.compared]
    scores = {m: linear_scores(items, fit.coef) for m, fit in fits.items() if not fit.reason}
    trials = [
        Trial(
            method,
            share_right(fits[method].probability, data),
            share_right(held_out[method][0], data),
            tuple(share_right(held_out[method][0][test], data[test]) for _, test in folds),
            tuple(_degrees(scores[method], other) for other in scores.values()),
        )
        if method in scores
        else Trial(method, reason=fits[method].reason)
        for method in methods
    ]
    probability, no_fit = held_out[model.method]
    return trials, _how_held_out(data, folds, probability, no_folds or no_fit), probability


@dataclass(frozen=True)
class Fitted:
    """Coefficients of a fit and what it predicts, or the reason why there is none."""

    coef: np.ndarray
    probability: np.ndarray
    reason: str = ""


def _fitted(model: RankRegression, data: Comparisons) -> Fitted:
    return Fitted(model.coef_, model.predict_proba(data)[:, 1])


def _fit_and_predict(
    model: RankRegression, data: Comparisons, train: np.ndarray, test: np.ndarray
) -> Fitted:
    """A model that is fitted to some comparisons, and its probability that left wins others."""
    try:
        with one_blas_thread:
            return _fitted(model.fit(data[train]), data[test])
    except PairscoreError as error:
        return Fitted(np.empty(0), np.full(len(test), np.nan), plain_text(error))


def put_together(data: Comparisons, folds: Folds, fits: list[Fitted]) -> tuple[np.ndarray, str]:
    """Probability that left wins, by fits that saw neither item; NaN where no fold tests it.

    All NaN, and the reason, if there is no fit in some fold.
    """
    probability = np.full(len(data), np.nan)
    for (_, test), fit in zip(folds, fits, strict=True):
        if fit.reason:
            return np.full(len(data), np.nan), f"without them, {fit.reason}"
        probability[test] = fit.probability
    return probability, ""


def with_method(model: RankRegression, method: str) -> RankRegression:
    """An unfitted model with the settings of this one and another method, without intervals."""
    settings = model.get_params() | {"method": method, "link": model.link_, "inference": None}
    settings["n_jobs"] = None  # whole fits run side by side
    if method == "mle":
        return RankRegression(**settings | {"shrinkage": None})
    # closed forms know neither judges, context nor item effects, and ties have no parameter
    ties = "drop" if model.ties == "drop" else "half"
    without = {"judge_slopes": False, "context": None, "ties": ties, "item_effects": False}
    return RankRegression(**settings | without | {"side_effect": bool(model.side_effect)})


def item_folds(data: Comparisons) -> tuple[Folds, str]:
    """As many item folds as there are comparisons for, at most five, or the reason for none."""
    for number in range(MOST_FOLDS, 1, -1):
        with suppress(PairscoreError):
            return list(ItemKFold(number).split(data)), ""
    return (
        [],
        "even in two groups of items, one has no comparison within it; make more comparisons.",
    )


def pair_folds(data: Comparisons) -> tuple[Folds, str]:
    """Folds of pairs, without those that alone link some items, or the reason for none."""
    fold, nobody = (
        assign_pairs(data, MOST_FOLDS, np.random.default_rng(0)),
        np.zeros(len(data.items), dtype=bool),
    )
    folds = []
    for number in range(MOST_FOLDS):
        aside = fold == number
        folds.append(split_comparisons(data, nobody, aside & ~linking(data, aside))[:2])
    folds = [(train, test) for train, test in folds if len(test)]
    reason = "every pair is needed to link the items; compare more pairs."
    return folds, "" if folds else reason


def share_right(probability: np.ndarray, data: Comparisons) -> float:
    """Share of decided comparisons that went to the favourite; NaN without any."""
    decided = data.amount * ((data.outcome != 0) & np.isfinite(probability))
    right = (probability > 0.5) == (data.outcome > 0)
    return float(decided @ right / decided.sum()) if decided.sum() > 0 else NAN


def _how_held_out(
    data: Comparisons, folds: Folds, probability: np.ndarray, reason: str
) -> HeldOutItems:
    if reason:
        return HeldOutItems(reason=reason)
    number = np.ones(len(data)) if data.count is None else data.count
    trained = float(np.mean([number[train].sum() for train, _ in folds]) / number.sum())
    return HeldOutItems(len(folds), float(data.amount[np.isfinite(probability)].sum()), trained)


def _degrees(scores: np.ndarray, other: np.ndarray) -> float:
    """Arc cosine of the correlation of two scores, in degrees; NaN if one of them is constant."""
    a, b = scores - scores.mean(), other - other.mean()
    return float(np.degrees(angle(a, b))) if a.any() and b.any() else NAN
