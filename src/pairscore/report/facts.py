"""Facts of a report beside the items: context, sides, judges, ties and the chosen ridge.

The facts of a report as plain values: everything a page shows, nothing of how it looks.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from pairscore.core.sums import net_per_item
from pairscore.data.comparisons import Comparisons
from pairscore.data.feature_options import apply_recipe
from pairscore.data.features import recipe_of
from pairscore.data.items import ID_COLUMN, Items, read_items, refuse_other_features
from pairscore.data.tables import Columns
from pairscore.errors import PairscoreError
from pairscore.estimators.results import REACH, Effects, Judges
from pairscore.estimators.ridge import RidgeCurve
from pairscore.model.ranking import rank_pieces
from pairscore.model.record import fingerprint
from pairscore.model.regression import RankRegression
from pairscore.report.checks import Check, checks, importance
from pairscore.report.trials import (
    HeldOut,
    Prospect,
    Trial,
    misordered_by_intervals,
    prospects,
    try_methods,
)

TIE_BINS = 5


@dataclass(frozen=True)
class TieRate:
    """Comparisons whose items differ by ``low`` to ``high`` in score.

    How many tied, and how many the model expects to.
    """

    low: float
    high: float
    expected: float
    observed: float
    number: float


@dataclass(frozen=True)
class ItemEffect:
    """What an item has beyond its features, with an interval."""

    name: str
    effect: float
    low: float
    high: float


@dataclass(frozen=True)
class Beside:
    """What a model was fitted with beside features; None or empty where it was not."""

    effects: Effects | None
    judges: Judges | None
    ridge: RidgeCurve | None
    ties: list[TieRate]
    item_effects: list[ItemEffect]
    item_effects_in_words: str

    @property
    def is_empty(self) -> bool:
        return (
            self.effects is None
            and self.judges is None
            and self.ridge is None
            and not self.item_effects_in_words
        )


def beside_facts(model: RankRegression, data: Comparisons) -> Beside:
    """Collect them; ties are counted in five groups of equal size by the score difference."""
    ties = [] if model.ties_ == "half" else tie_rates(model, data)
    words = "" if model.item_effects_ is None else model.item_effects_.in_words
    return Beside(
        model.effects_,
        model.judges_,
        model.ridge_curve_,
        ties,
        effects_of_items(model, data),
        words,
    )


def effects_of_items(model: RankRegression, data: Comparisons) -> list[ItemEffect]:
    """Those of the compared items, the largest first."""
    known = model.known_items(data.items)
    if known is None or not known.effect.any():
        return []
    rows = np.flatnonzero((known.row >= 0) & data.compared)
    reach, names = REACH * np.sqrt(known.variance), data.items.names
    found = [
        ItemEffect(
            str(names[row]), *(float(known.effect[row] + sign * reach[row]) for sign in (0, -1, 1))
        )
        for row in rows
    ]
    return sorted(found, key=lambda one: -one.effect)


def tie_rates(model: RankRegression, data: Comparisons) -> list[TieRate]:
    """Expected and observed share of ties, from the closest comparisons to the clearest."""
    gap, expected = np.abs(model.decision_function(data)), model.predict_ties(data)
    rates = []
    for rows in np.array_split(np.argsort(gap, kind="stable"), min(TIE_BINS, len(gap))):
        amount = data.amount[rows]
        tied = float(np.average(data.outcome[rows] == 0, weights=amount))
        foreseen = float(np.average(expected[rows], weights=amount))
        rates.append(
            TieRate(
                float(gap[rows].min()), float(gap[rows].max()), foreseen, tied, float(amount.sum())
            )
        )
    return rates


N_BINS = 10
MOST_BARS = 24


@dataclass(frozen=True)
class RankedItem:
    """An item with its place. ``wins_of_100``: against the average compared item.

    ``residual``: standardised, NaN if never compared.
    """

    name: str
    rank: int
    rank_low: int
    rank_high: int
    score: float
    low: float
    high: float
    wins_of_100: float
    comparisons: float
    net_wins: float
    expected: float
    residual: float
    outside: bool


@dataclass(frozen=True)
class Coefficient:
    """A coefficient in the user's units, and per standard deviation of its feature."""

    feature: str
    coef: float
    low: float
    high: float
    sd: float
    wins_of_100: float


@dataclass(frozen=True)
class Bin:
    """Comparisons whose favourite was promised a share between ``low`` and ``high``, and the share
    that favourites won.
    """

    low: float
    high: float
    promised: float
    observed: float
    observed_low: float
    observed_high: float
    number: float


@dataclass(frozen=True)
class Bar:
    """How many items were compared from ``low`` to ``high`` times."""

    low: int
    high: int
    items: int


@dataclass(frozen=True)
class ReportFacts:
    """Everything a report says."""

    items: list[RankedItem]
    coefficients: list[Coefficient]
    meaning: str
    summary: list[tuple[str, str]]
    average_score: float
    has_intervals: bool
    told_apart: float
    agreement: float
    noise: float
    method: str
    link: str
    calibration: list[Bin]
    held_out_calibration: list[Bin]
    exposures: list[Bar]
    n_compared: int
    n_comparisons: float
    trials: list[Trial]
    held_out: HeldOut
    misordered: float
    prospects: list[Prospect]
    no_prospects: str
    checks: list[Check]
    record: dict[str, Any]
    command: str
    beside: Beside

    @property
    def own_trial(self) -> Trial:
        return next(trial for trial in self.trials if trial.method == self.method)


def report_facts(model: RankRegression, items: Any, votes: Any) -> ReportFacts:
    """Compute what a report of ``model`` on these items and comparisons says."""
    data = read_study(model, items, votes)
    probability = model.predict_proba(data)[:, 1]
    ranked, outside = ranked_items(model, data, probability)
    residual = np.array([item.residual for item in ranked])
    trials, held_out, held_out_probability = try_methods(model, data)
    tested = np.isfinite(held_out_probability)
    more, no_more = prospects(model, data)
    same = fingerprint(data) == model.record_.get("fingerprint")
    average = float(model.feature_mean_ @ model.coef_)
    return ReportFacts(
        items=ranked,
        coefficients=coefficients(model),
        meaning=model.summary().meaning(),
        summary=model.summary().facts(),
        average_score=average,
        has_intervals=model.covariance_ is not None,
        told_apart=told_apart(ranked) if model.covariance_ is not None else float("nan"),
        agreement=next(trial.in_sample for trial in trials if trial.method == model.method),
        noise=model.noise_,
        method=model.method,
        link=model.link_.name,
        calibration=calibration(probability, data),
        held_out_calibration=calibration(held_out_probability[tested], data[tested]),
        exposures=exposure_bars(np.array([item.comparisons for item in ranked])),
        n_compared=int(np.count_nonzero(data.compared)),
        n_comparisons=float(data.amount.sum()),
        trials=trials,
        held_out=held_out,
        misordered=misordered_by_intervals(model, data.items.values[data.compared]),
        prospects=more,
        no_prospects=no_more,
        checks=checks(
            model, data, residual, outside, same, [str(name) for name in data.items.names]
        ),
        beside=beside_facts(model, data),
        record=model.record_,
        command=join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv and sys.argv[0] else "",
    )


def read_study(model: RankRegression, items: Any, votes: Any) -> Comparisons:
    """The comparisons, once it is clear that the model can speak about them.

    Of a file, the model's own columns are taken.
    """
    check_is_fitted(model)
    if model.n_items_ is None:
        raise PairscoreError(
            "the model was fitted to differences and knows no items, so there is nothing to rank in"
            " a report; fit it to items and votes."
        )
    names = tuple(map(str, model.feature_names_in_))
    if isinstance(items, Columns) and set(names) <= set(items.columns):
        items = Columns(
            {name: items.get_column(name) for name in (ID_COLUMN, *names) if name in items.columns},
            items.from_file,
        )
    by_recipe = model.recipe_ is not None and not isinstance(items, Items)
    table = apply_recipe(recipe_of(model), items) if by_recipe else read_items(items)
    refuse_other_features(table, names)
    data = Comparisons.from_frames(
        table, votes, seed=model.record_.get("seed") or 0, context=model.context or ()
    )[0]
    if not np.ptp(table.values[data.compared], axis=0).any():
        raise PairscoreError(
            "no feature varies among the compared items, so that all have the same score and a"
            " report has nothing to show; give features that differ."
        )
    return data


def ranked_items(
    model: RankRegression, data: Comparisons, probability: np.ndarray
) -> tuple[list[RankedItem], np.ndarray]:
    """The items best first, and a mask of those outside in the order of the table."""
    n = len(data.items)
    ranking = rank_pieces(model.result_, lambda: [data.items.values], ids=lambda: data.items.ids)
    net_wins, expected, residual = item_residuals(data, probability)
    wins = 100 * model.outcome_law.win_chance(ranking["score"] - model.feature_mean_ @ model.coef_)
    number = comparisons_per_item(data)
    names, row = data.items.names, ranking["row"]
    columns = [ranking[name] for name in ("rank", "rank_low", "rank_high", "score", "low", "high")]
    columns += [wins, number[row], net_wins[row], expected[row], residual[row], ranking["outside"]]
    outside = np.zeros(n, dtype=bool)
    outside[row] = ranking["outside"]
    cells = [column.tolist() for column in columns]
    return [
        RankedItem(str(names[place]), *values)
        for place, *values in zip(row.tolist(), *cells, strict=True)
    ], outside


def comparisons_per_item(data: Comparisons) -> np.ndarray:
    """How often each item was compared with another; weights do not matter here."""
    count = (data.left != data.right) * (1 if data.count is None else data.count)
    return np.bincount(data.left, count, len(data.items)) + np.bincount(
        data.right, count, len(data.items)
    )


def item_residuals(
    data: Comparisons, probability: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per item: net wins, what the model expects of them, and their difference over its standard
    deviation.

    A comparison's outcome has mean 2p - 1 and, unless ties make it less, variance 4p(1 - p); a row
    that stands for several comparisons has several such variances.
    """
    n, amount, apart = len(data.items), data.amount, data.left != data.right
    variance = apart * 4 * probability * (1 - probability) * importance(data) * amount
    net_wins = net_per_item(data.left, data.right, amount * data.outcome, n)
    expected = net_per_item(data.left, data.right, amount * (2 * probability - 1), n)
    spread = np.sqrt(np.bincount(data.left, variance, n) + np.bincount(data.right, variance, n))
    return (
        net_wins,
        expected,
        np.divide(net_wins - expected, spread, out=np.full(n, np.nan), where=spread > 0),
    )


def coefficients(model: RankRegression) -> list[Coefficient]:
    """Coefficients in the order of the features."""
    columns = model.summary().to_columns()
    rows = zip(
        columns["feature"],
        columns["coef"],
        columns["low"],
        columns["high"],
        model.feature_sd_.tolist(),
        columns["wins_of_100"],
        strict=True,
    )
    return [Coefficient(*row) for row in rows]


def calibration(probability: np.ndarray, data: Comparisons) -> list[Bin]:
    """Promised against observed shares of the favourites in ten bins from 50 to 100 %.

    A tie is half a win.

    Intervals are Wilson's, 95 %, as if comparisons were independent. Weighted ones are worth (sum
    of weights)^2 / sum of squares.
    """
    outcome, amount, squares = data.outcome, data.amount, data.amount * importance(data)
    promised = np.maximum(probability, 1 - probability)
    won = 0.5 + 0.5 * np.where(probability >= 0.5, outcome, -outcome)
    place = np.minimum((2 * N_BINS * (promised - 0.5)).astype(int), N_BINS - 1)
    bins = []
    for number in np.unique(place[amount > 0]):
        inside = (place == number) & (amount > 0)
        weight = amount[inside]
        observed = float(np.average(won[inside], weights=weight))
        low, high = wilson(observed, float(weight.sum() ** 2 / squares[inside].sum()))
        edge = 0.5 + float(number) / (2 * N_BINS)
        bins.append(
            Bin(
                edge,
                edge + 0.5 / N_BINS,
                float(np.average(promised[inside], weights=weight)),
                observed,
                low,
                high,
                float(weight.sum()),
            )
        )
    return bins


def wilson(share: float, number: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval of a share of so many."""
    z2 = float(norm.ppf(0.5 + level / 2)) ** 2
    middle = (share + z2 / (2 * number)) / (1 + z2 / number)
    reach = np.sqrt(z2 * share * (1 - share) / number + z2**2 / (4 * number**2)) / (1 + z2 / number)
    return float(middle - reach), float(middle + reach)


def exposure_bars(number: np.ndarray) -> list[Bar]:
    """Histogram of whole numbers in at most 24 bars of one width, the first of which starts at
    zero.
    """
    width = int(max(np.ceil((number.max() + 1) / MOST_BARS), 1))
    counts = np.bincount((number // width).astype(int))
    return [
        Bar(place * width, place * width + width - 1, int(items))
        for place, items in enumerate(counts)
    ]


def told_apart(items: list[RankedItem]) -> float:
    """Share of all pairs of items whose order is sure, from the rank intervals.

    Each counts the items surely better and surely worse.
    """
    n = len(items)
    return (
        sum(item.rank_low - 1 + n - item.rank_high for item in items) / (n * (n - 1))
        if n > 1
        else float("nan")
    )
