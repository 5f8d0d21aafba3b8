"""Everything that a report shows, as plain values; nothing of how it looks.

``report_facts`` computes them all.
"""

import sys
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from shlex import join
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pairscore.data.comparisons import Comparisons
from pairscore.data.recipe import n_smooth, recipe_of
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.ridge_choice import RidgeCurve
from pairscore.estimators.settings import Wording
from pairscore.evaluation.measures import CalibrationBin, calibration_bins
from pairscore.model.coefficient_intervals import effect_intervals
from pairscore.model.contrasts import WITH_RIDGE
from pairscore.model.curves import ScoreCurve, score_curve
from pairscore.model.fit import Fit
from pairscore.model.regression import RankRegression
from pairscore.model.score_scales import ScoreScale, average_line, scale_of
from pairscore.model.summary import Summary
from pairscore.parallel import ALONE, Workers
from pairscore.passwords import without_password
from pairscore.report.checks import Check, checks, slope_checks
from pairscore.report.held_out import HeldOutItems, Trial, WrongShare, try_methods, wrong_share
from pairscore.report.items import (
    Bar,
    RankedItem,
    exposure_bars,
    leading_chances,
    ranked_items,
    read_comparisons,
)
from pairscore.report.judges import Judge, judge_checks, judge_rows
from pairscore.report.more_comparisons import (
    Prospect,
    best_accuracy,
    misordered_by_intervals,
    prospects,
)
from pairscore.report.opening_sentences import lead_sentences, new_items_sentences
from pairscore.report.words import with_spaces

TIE_BINS = 5
CLEARLY = 0.05  # p-value up to which a category is said to matter, or a curve to be bent
WITHOUT_RIDGE = "; in a fit without the ridge"
NO_EFFECT = 1e-3  # of the scores' standard deviation, below which effects are not drawn
FAR_ABOVE = 1.3  # times the predicted share of misordered pairs
LABELS = {"context": "{}", "side": "side: {}", "tie": "ties"}  # of an effect, by its kind


# -- values of a page ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coefficient:
    """A coefficient in the user's units; the standard deviation of its feature, 1 for a level."""

    feature: str
    coef: float
    low: float
    high: float
    sd: float
    wins_of_100: float
    is_level: bool = False


@dataclass(frozen=True)
class Category:
    """A category, or a product with one: whether it matters, and the coefficients of its levels."""

    name: str
    matters: str
    remark: str
    against: str
    levels: list[Coefficient]


@dataclass(frozen=True)
class Curve:
    """A column that is a curve: the score along it, and whether it differs from a straight line."""

    line: ScoreCurve
    is_bent: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class Effect:
    """An effect of an item, a context column, a side or of ties, with its 95 % interval."""

    name: str
    value: float
    low: float
    high: float
    kind: str = "item"


@dataclass(frozen=True)
class TieRate:
    """Ties, expected and observed, of comparisons with score differences from low to high."""

    low: float
    high: float
    expected: float
    observed: float
    number: float


@dataclass(frozen=True)
class EffectsFacts:
    """What a model was fitted with beyond features; empty or None where it was not.

    ``rejected`` has settings that were tried and not taken, with the verdict on each.
    """

    of_items: list[Effect]
    of_items_in_words: str
    of_comparisons: list[Effect]
    context_in_words: list[str]
    judges: list[Judge]
    judges_in_words: str
    ties: list[TieRate]
    ridge: RidgeCurve | None
    rejected: dict[str, str] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """What the page has to say of effects."""
        kinds = {one.kind for one in self.of_comparisons}
        found = {
            "judges": self.judges,
            "items": self.of_items_in_words,
            "side": "side" in kinds,
            "context": "context" in kinds or self.context_in_words,
            "ties": "tie" in kinds or self.ties,
            "the ridge": self.ridge,
        }
        *first, last = [name for name, has in found.items() if has]
        words = f"{', '.join(first)} and {last}" if first else last
        return "Effects of items" if words == "items" else words[0].upper() + words[1:]

    @property
    def is_empty(self) -> bool:
        words = self.of_items_in_words or self.context_in_words
        return not words and not self.of_comparisons and not self.judges and self.ridge is None


@dataclass(frozen=True)
class ReportFacts:
    """Everything that a report says.

    ``chances`` are wins of 100 of the first items against each other, without features.
    """

    items: list[RankedItem]
    chances: list[list[float]]
    coefficients: list[Coefficient]
    categories: list[Category]
    curves: list[Curve]
    n_smooth: int
    meaning: str
    summary: list[tuple[str, str]]
    average_score: float
    average_line: str
    scale: ScoreScale
    has_intervals: bool
    noise: float
    slips: str
    method: str
    link: str
    calibration: list[CalibrationBin]
    held_out_calibration: list[CalibrationBin]
    exposures: list[Bar]
    n_compared: int
    n_comparisons: float
    n_ties: float
    trials: list[Trial]
    held_out: HeldOutItems
    misordered: float
    best_accuracy: float
    wrong: WrongShare
    judge_agreement: list[str]
    interval_scope: str
    for_these_judges: bool
    judge_tastes: str
    judges_differ: bool
    prospects: list[Prospect]
    no_prospects: str
    checks: list[Check]
    effects: EffectsFacts
    record: dict[str, Any]
    command: str
    wording: Wording
    made: str
    files: tuple[str, ...]

    @property
    def trial(self) -> Trial:
        """The trial of the model's method."""
        return next(trial for trial in self.trials if trial.method == self.method)

    @property
    def has_features(self) -> bool:
        """Whether items are scored by features; if not, each has its ability."""
        return bool(self.coefficients)

    @property
    def decided(self) -> str:
        """What probabilities are of."""
        return "decided comparisons" if self.n_ties else "comparisons"

    @property
    def items_by_residual(self) -> list[RankedItem]:
        """The items that were compared, the one with the largest residual first."""
        known = [item for item in self.items if np.isfinite(item.residual)]
        return sorted(known, key=lambda item: -abs(item.residual))

    @property
    def coefficients_by_size(self) -> list[Coefficient]:
        """Coefficients but of levels and curves, the largest per standard deviation first."""
        curved = {name for curve in self.curves for name in curve.features}
        single = [o for o in self.coefficients if not o.is_level and o.feature not in curved]
        return sorted(single, key=lambda one: -abs(one.coef * one.sd))

    @property
    def coefficients_as_shown(self) -> list[Coefficient]:
        """Coefficients in the order of the features, levels in that of their category's chart."""
        place = {one.feature: row for row, one in enumerate(self.coefficients)}
        shown = list(self.coefficients)
        for category in self.categories:
            rows = [place[f"{category.name}={level.feature}"] for level in category.levels]
            for row, other in zip(sorted(rows), rows, strict=True):
                shown[row] = self.coefficients[other]
        return shown

    @property
    def groups(self) -> dict[str, int]:
        """Sizes of the groups that ranks are within, by name; empty where there are none."""
        return dict(Counter(item.group for item in self.items if item.group))

    @property
    def largest_group(self) -> list[RankedItem]:
        """The items of the largest group, best first; all items where there are no groups."""
        if not self.groups:
            return self.items
        largest = max(self.groups, key=lambda name: self.groups[name])
        return [item for item in self.items if item.group == largest]

    @property
    def n_pairs(self) -> int:
        """Pairs of items within a group, each way."""
        sizes = self.groups.values() or [len(self.items)]
        return sum(size * (size - 1) for size in sizes)

    @property
    def trusted_misordered(self) -> float:
        """The share of misordered pairs by the intervals where the predicted one is far below it;
        NaN elsewhere.
        """
        if self.prospects and self.misordered > FAR_ABOVE * self.prospects[0].misordered:
            return self.misordered
        return float("nan")

    @property
    def sure_pairs(self) -> float:
        """Share of all pairs of items whose order is sure at 95 %; NaN without intervals.

        A rank interval leaves out the items that are surely better and those surely worse.
        """
        if not self.has_intervals or not self.n_pairs:
            return float("nan")
        sizes, all_items = self.groups, len(self.items)
        sure = [
            item.rank_low - 1 + sizes.get(item.group, all_items) - item.rank_high
            for item in self.items
        ]
        return sum(sure) / self.n_pairs

    @property
    def wrong_shares(self) -> list[tuple[str, WrongShare]]:
        """Shares of wrong predictions to look at side by side, by what they are of."""
        in_sample, best = 1 - self.trial.in_sample, 1 - self.best_accuracy
        rows = [
            ("new items" if self.has_features else "held out", self.wrong),
            ("in sample", WrongShare(in_sample)),
            ("best possible", WrongShare(best)),
        ]
        return [(name, one) for name, one in rows if np.isfinite(one.share)]

    @property
    def answer(self) -> list[str]:
        """What the page says first, in plain sentences."""
        return lead_sentences(self)

    @property
    def of_new_items(self) -> list[str]:
        """What to expect of new items, in plain sentences."""
        return new_items_sentences(self)


# -- computing them --------------------------------------------------------------------------------


def report_facts(
    model: RankRegression,
    items: Any,
    votes: Any,
    wording: Wording | None = None,
    scale: str = "link",
    files: tuple[str, ...] = (),
    workers: Workers = ALONE,
) -> ReportFacts:
    """Compute what a report of ``model`` says about these items and comparisons.

    Parameters
    ----------
    model : a fitted model
    items, votes : tables of any kind, as in ``RankRegression.fit``; they may be other data than
        those of the fit
    wording : how the page calls the study and the ends of its ranking, if not as the model does
    scale : what scores are shown on, as in ``RankRegression.rank``
    files : names of the files that the data came from, as somebody gave them
    workers : who fits every method to every fold
    """
    check_is_fitted(model)
    fit = model.result_ if wording is None else replace(model.result_, wording=wording)
    data, shown = read_comparisons(model, items, votes), scale_of(fit, scale)
    probability = model.predict_proba(data)[:, 1]
    ranked, outside = ranked_items(model, data, shown)
    residual = np.array([item.residual for item in ranked])
    predicted, no_prospects = prospects(model, data)
    same_data = data.fingerprint == model.record_.get("fingerprint")
    held_out = held_out_facts(model, data, workers)
    found = checks(model, data, residual, outside, same_data)
    found += slope_checks(model, held_out["wrong"])
    has_features = model.n_features_in_ > 0
    return ReportFacts(
        items=ranked,
        chances=[] if has_features else leading_chances(model, data, ranked),
        coefficients=coefficients(model) if has_features else [],
        categories=categories(model, data) if has_features else [],
        curves=curves(model, data) if has_features else [],
        n_smooth=n_smooth(model.recipe_),
        meaning=Summary(fit).meaning(),
        summary=[(name, with_spaces(text)) for name, text in Summary(fit).facts()],
        average_score=float(shown.show(np.zeros(1))[0]),
        average_line=average_line(model.result_),
        scale=shown,
        has_intervals=model.covariance_ is not None,
        noise=model.noise_,
        slips=_sentence(fit.lapse.in_words) if fit.lapse and fit.lapse.in_words else "",
        method=model.method,
        link=model.link_.name,
        calibration=calibration_bins(probability, data),
        **held_out,
        exposures=exposure_bars(np.array([item.comparisons for item in ranked])),
        **_amounts(data),
        judge_agreement=[_sentence(one["in_words"]) for one in model.judge_agreement_.values()],
        interval_scope=fit.panel.interval_scope,
        for_these_judges=bool(fit.panel.interval_scope) and fit.panel.df_error is None,
        judge_tastes=_sentence(tastes) if (tastes := fit.panel.tastes.get("in_words")) else "",
        judges_differ=fit.panel.tastes.get("p", 1.0) <= CLEARLY,
        prospects=predicted,
        no_prospects=no_prospects,
        checks=[*found, *judge_checks(model, data, probability)],
        effects=effects_facts(model, data),
        record=model.record_,
        command=_command(),
        wording=fit.wording,
        made=f"{datetime.now(UTC):%Y-%m-%d}",
        files=files,
    )


def _amounts(data: Comparisons) -> dict[str, Any]:
    """How many items were compared, how often, and how often without a winner."""
    return {
        "n_compared": int(np.count_nonzero(data.compared)),
        "n_comparisons": data.number,
        "n_ties": float(data.amount @ (data.outcome == 0)),
    }


def held_out_facts(
    model: RankRegression, data: Comparisons, workers: Workers = ALONE
) -> dict[str, Any]:
    """What is known of items that a fit has not seen, by the names of ReportFacts."""
    trials, held_out, probability = try_methods(model, data, workers)
    tested = np.isfinite(probability)
    misordered = misordered_by_intervals(model, data.items.values[data.compared])
    wrong = wrong_share(probability, data)
    best = best_accuracy(model, trials, held_out, misordered) if wrong.is_enough else float("nan")
    return {
        "held_out_calibration": calibration_bins(probability[tested], data[tested]),
        "trials": trials,
        "held_out": held_out,
        "wrong": wrong,
        "misordered": misordered,
        "best_accuracy": best,
    }


def coefficients(model: RankRegression) -> list[Coefficient]:
    """Coefficients in the order of the features."""
    summary = model.summary()
    is_level = summary.shown.is_level
    sd = np.where(is_level, 1.0, model.feature_sd_).tolist()
    columns = summary.coefficient_columns() | {"sd": sd, "is_level": is_level.tolist()}
    names = ("feature", "coef", "low", "high", "sd", "wins_of_100", "is_level")
    rows = [Coefficient(*row) for row in zip(*(columns[name] for name in names), strict=True)]
    return rows[: len(rows) - n_smooth(model.recipe_)]  # which mean nothing one by one


def categories(model: RankRegression, data: Comparisons) -> list[Category]:
    """The categories with their levels, and the products with one, which have none of their own.

    With a ridge there is no joint test, and that of the same model without the ridge is taken.
    """
    rows, tests, without = coefficients(model), model.summary().tests, ""
    if tests and tests[0][1].note == WITH_RIDGE and (plain := _without_ridge(model, data)):
        tests = plain.tests
        without = WITHOUT_RIDGE
    return [
        Category(
            term.name,
            whether_it_matters(term.name, test.p, f"{test.in_words}{without}", term.is_product),
            _sentence(term.in_words) if term.in_words else "",
            term.reference or "the average level",
            in_level_order(
                [
                    replace(rows[n], feature=level)
                    for n, level in zip(term.columns, term.levels, strict=True)
                ]
            )
            if not term.is_product
            else [],
        )
        for term, test in tests
    ]


def _without_ridge(model: RankRegression, data: Comparisons) -> Summary | None:
    """The summary of the same model without its ridge; None where that cannot be fitted."""
    with suppress(PairscoreError), warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        return clone(model).set_params(l2=0.0).fit(data).summary()
    return None


def curves(model: RankRegression, data: Comparisons) -> list[Curve]:
    """The curves with the test of a straight line; with a ridge, that of a fit without it."""
    tests, without = model.summary().straightness, ""
    if tests and tests[0].note == WITH_RIDGE and (plain := _without_ridge(model, data)):
        tests = plain.straightness
        without = WITHOUT_RIDGE
    return [
        Curve(
            score_curve(model.result_, name),
            whether_it_is_bent(test.p, f"{test.in_words}{without}"),
            (name, *bends),
        )
        for (name, bends), test in zip(recipe_of(model).bend_names.items(), tests, strict=True)
    ]


def whether_it_is_bent(p: float, numbers: str) -> str:
    """What the joint test of a curve's bends says.

    >>> whether_it_is_bent(0.001, "F(3, 90) = 6, p = 0.001")
    'The curve is not a straight line (F(3, 90) = 6, p = 0.001).'
    """
    if not isfinite(p):
        return f"No test of a straight line: {numbers.removeprefix('none, because ')}."
    if p > CLEARLY:
        return f"A straight line would do: it bends no more than by chance ({numbers})."
    return f"The curve is not a straight line ({numbers})."


def whether_it_matters(name: str, p: float, numbers: str, is_product: bool = False) -> str:
    """What the joint test of a category, or of a product of two columns, says.

    >>> whether_it_matters("grade", 0.4, "F(3, 90) = 0.99, p = 0.4")
    'No sign that grade matters: levels differ no more than by chance (F(3, 90) = 0.99, p = 0.4).'
    """
    if not isfinite(p):
        return f"No test of whether {name} matters: {numbers.removeprefix('none, because ')}."
    first, _, second = name.partition(":")
    claim = f"{first} and {second} act on each other" if is_product else f"{name} matters"
    if p > CLEARLY:
        return f"No sign that {claim}: levels differ no more than by chance ({numbers})."
    return f"{claim[0].upper()}{claim[1:]}: levels differ by more than chance ({numbers})."


def in_level_order(levels: list[Coefficient]) -> list[Coefficient]:
    """Levels of a category, the highest coefficient first; numbers in their own order."""
    with suppress(ValueError):
        return sorted(levels, key=lambda one: float(one.feature))
    return sorted(levels, key=lambda one: -one.coef if np.isfinite(one.coef) else np.inf)


# -- effects ---------------------------------------------------------------------------------------


def effects_facts(model: RankRegression, data: Comparisons) -> EffectsFacts:
    """Effects of items and comparisons, judges, ties and the chosen ridge, as plain values."""
    of_items = model.result_.item_effects_in_words
    if model.item_effects_ is not None and model.item_effects_.free:
        of_items = ""  # an ability for every item: the ranking has them
    return EffectsFacts(
        of_items=effects_of_items(model, data) if model.n_features_in_ else [],
        of_items_in_words=with_spaces(of_items),
        of_comparisons=effects_of_comparisons(model.result_),
        context_in_words=[
            _sentence(text) for one in model.context_of_items_.values() if (text := one["in_words"])
        ],
        judges=judge_rows(model.judges_),
        judges_in_words="" if model.judges_ is None else model.judges_.in_words,
        ties=tie_rates(model, data) if model.outcome_law.rule.has_parameter else [],
        ridge=model.ridge_curve_,
        rejected=model.record_.get("rejected") or {},
    )


def _sentence(words: str) -> str:
    return with_spaces(f"{words[0].upper()}{words[1:]}.")


def effects_of_items(model: RankRegression, data: Comparisons) -> list[Effect]:
    """Effects of the compared items, the largest first; none if all are as good as zero."""
    known = model.known_items(data.items)
    if known is None or not known.effect.any():
        return []
    score = data.items.values[data.compared] @ model.coef_
    if np.abs(known.effect).max() < NO_EFFECT * score.std():
        return []
    half, names = model.result_.width(0.95) * np.sqrt(known.variance), data.items.names
    low, high = known.effect - half, known.effect + half
    effects = [
        Effect(str(names[row]), float(known.effect[row]), float(low[row]), float(high[row]))
        for row in np.flatnonzero((known.row >= 0) & data.compared)
    ]
    return sorted(effects, key=lambda effect: -effect.value)


def effects_of_comparisons(fit: Fit) -> list[Effect]:
    """Effects of context, sides and ties, in the order of the fit."""
    if fit.effects is None:
        return []
    columns, ends = fit.effects.to_columns(), effect_intervals(fit)
    rows = zip(*(columns[name] for name in ("name", "kind", "coef")), strict=True)
    return [
        Effect(LABELS[kind].format(name), value, *ends[name], kind) for name, kind, value in rows
    ]


def tie_rates(model: RankRegression, data: Comparisons) -> list[TieRate]:
    """Expected and observed share of ties, in five groups of equal size by score difference."""
    gap, expected = np.abs(model.decision_function(data)), model.predict_ties(data)
    rates = []
    for rows in np.array_split(np.argsort(gap, kind="stable"), min(TIE_BINS, len(gap))):
        amount = data.amount[rows]
        shares = [np.average(x[rows], weights=amount) for x in (expected, data.outcome == 0)]
        numbers = (gap[rows].min(), gap[rows].max(), *shares, amount.sum())
        rates.append(TieRate(*map(float, numbers)))
    return rates


def _command() -> str:
    """The command that is run, without a password; empty where Python was started without one."""
    if not (sys.argv and sys.argv[0]):
        return ""
    return join([Path(sys.argv[0]).name, *map(without_password, sys.argv[1:])])
