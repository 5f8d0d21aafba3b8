"""What a comparison has beside its two items: context, a judge, a side.

From the settings of a fit to rows with their columns, and from the items' scores to those of
comparisons.
"""

from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from pairscore.core.pair_graph import aggregate_pairs, joint_numbers, sum_sides
from pairscore.core.ties import TieRule
from pairscore.data.comparisons import Comparisons, refuse_missing_judges
from pairscore.effects.single_comparisons import SingleComparisons
from pairscore.errors import (
    CollinearFeaturesWarning,
    PairscoreError,
    SeparationWarning,
    first_few,
    plural,
)
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.likelihood import clip_start, fit_likelihood
from pairscore.estimators.penalty import SEPARATION_L2
from pairscore.estimators.results import Effects, Estimate, Fit, Judges, Note
from pairscore.estimators.settings import Settings

MOST_SIDES = 300  # judges with a side of their own
ENDLESS = 30.0  # standard error of an effect times the usual size of its column


@dataclass(frozen=True)
class PreparedFit:
    """Rows to be fitted, who judged, names and kinds of the effects, and the fit of the pairs from
    which it starts; and an ``earlier`` fit to most of the comparisons, if there is one.
    """

    rows: SingleComparisons
    judges: np.ndarray
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    plain: Estimate
    earlier: Fit | None = None

    @property
    def only_features(self) -> bool:
        """Whether the fit of the pairs has all parameters, and is at the maximum."""
        return not self.names and self.plain.recession is None

    def first_theta(self, beside_items: bool = False) -> np.ndarray:
        """theta to start from: the fit of the pairs, or what the earlier fit has.

        It is longer ``beside_items``' effects than without them.
        """
        rows, earlier = self.rows, self.earlier
        theta = rows.start(self.plain.coef)
        if earlier is None or not (self.names or beside_items):
            return theta
        effects, found = earlier.item_effects, earlier.effects
        factor = 1.0 if beside_items or effects is None else effects.factor
        known = {} if found is None else dict(zip(found.names, found.values.tolist(), strict=True))
        others = zip(self.names, theta[len(rows.mean) :].tolist(), strict=True)
        own = np.array([known.get(name, value) for name, value in others])
        coef = clip_start(earlier.coef / factor, rows.feature_units)
        return np.append(coef, clip_start(own / factor, rows.usual_sizes))


def prepare_fit(data: FitData, settings: Settings, plain: Estimate | None = None) -> PreparedFit:
    """Rows with the columns that the settings ask for, and where to start."""
    judges, judge = judges_of(data, settings)
    alone = replace(settings, inference=None, side_effect=False)
    without_sides = replace(data, keep_sides=False) if data.keep_sides else data
    plain = plain or fit_likelihood(without_sides, alone)
    sd = data.item_moments.sd
    ridge = np.diag(settings.l2 * sd**2)
    if plain.recession is not None:  # a ridge along the directions that are separated
        held = sd[:, None] ** 2 * plain.recession.directions[: len(sd)]
        ridge = ridge + SEPARATION_L2 * data.weight_unit * held @ held.T
    sides, side_names = _side_columns(settings, judges, judge)
    context = [context_column(data.comparisons, name) for name in settings.context]
    rule = TieRule(settings.ties, settings.link)
    refuse_one_kind_of_outcome(data, rule)
    # a judge who always says left has no finite side, and all together may say so; these are held
    # by the prior that separation gets
    outcome = data.comparisons.outcome[data.amount > 0]
    one_sided = bool(np.all(outcome > 0) or np.all(outcome < 0))
    side_ridge = SEPARATION_L2 if settings.side_by_judge or one_sided else 0.0
    of_effects = np.zeros(len(context) + len(side_names) + rule.has_parameter)
    of_effects[len(context) : len(context) + len(side_names)] = side_ridge
    ridge = block_diag(ridge / data.weight_unit, np.diag(of_effects))
    rows = _rows(data, settings, judge, np.array(context).T, sides, rule, ridge, len(judges))
    names = (*settings.context, *side_names, *["tie"] * rule.has_parameter)
    kinds = (
        ("context",) * len(context) + ("side",) * len(side_names) + ("tie",) * rule.has_parameter
    )
    return PreparedFit(rows, judges, names, kinds, plain, data.start)


def _rows(
    data: FitData,
    settings: Settings,
    judge: np.ndarray,
    context: np.ndarray,
    sides: sparse.csr_array,
    rule: TieRule,
    ridge: np.ndarray,
    n_judges: int,
) -> SingleComparisons:
    """Comparisons sorted by pair, without those of an item with itself; equal ones are one row."""
    comparisons, n = data.comparisons, len(data.X)
    plain = not (settings.side_effect or settings.context or settings.needs_judges)
    if plain and comparisons.outcome.dtype.kind == "i":
        return _rows_of_pairs(data, rule, ridge)
    used = (comparisons.left != comparisons.right) & (data.amount > 0)
    left, right = comparisons.left[used], comparisons.right[used]
    outcome, amount = comparisons.outcome[used].astype(float), data.amount[used] / data.weight_unit
    judge = judge[used] if settings.needs_judges else np.zeros(len(left), dtype=int)
    if not settings.side_effect and not settings.context:  # left and right may change places
        swapped = left > right
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        outcome = np.where(swapped, -outcome, outcome)
    pair = (np.minimum(left, right), n), (np.maximum(left, right), n)
    if settings.context:
        order = np.argsort(joint_numbers(*pair), kind="stable")
        amount, context = amount[order], context[used][order]
    else:
        kind = (left > right) + 2 * (outcome + 1).astype(np.int64)
        key = joint_numbers(*pair, (kind, 6), (judge, max(n_judges, 1)))
        order, amount = _equal_rows(key, amount)
        context = np.empty((len(order), 0))
    n_judges = max(n_judges, 1) if settings.needs_judges else 1
    return SingleComparisons(
        X=data.X,
        mean=data.item_moments.mean,
        left=left[order],
        right=right[order],
        outcome=outcome[order],
        amount=amount,
        context=context,
        sides=sides[np.flatnonzero(used)[order]],
        judge=judge[order],
        n_judges=n_judges,
        rule=rule,
        ridge=ridge,
        slopes=np.ones(n_judges),
        slope_variance=np.zeros(n_judges),
    )


def _equal_rows(key: np.ndarray, amount: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row for each key, in the order of the keys, and the amounts (M) of all that have it."""
    _, first, row = np.unique(key, return_index=True, return_inverse=True)
    return first, np.bincount(row, amount)


def _rows_of_pairs(data: FitData, rule: TieRule, ridge: np.ndarray) -> SingleComparisons:
    """The rows where only who met and who won matters: each pair's losses of low, ties and wins."""
    pairs, ties, votes = data.pairs, data.tied, data.comparisons
    lose, win = sum_sides(pairs.lose), sum_sides(pairs.win)
    if ties is None:
        ties = np.zeros(len(win))
    elif data.tally.n_comparisons < 2**52 and np.array_equal(data.amount, np.rint(data.amount)):
        # halves of whole numbers are exact
        ties = sum_sides(ties)
        lose, win = lose - ties / 2, win - ties / 2
    else:
        ties = sum_sides(ties)
        amount = data.amount * (votes.outcome != 0)
        decided = aggregate_pairs(votes.left, votes.right, votes.outcome, amount, len(data.X))
        lose, win = decided.lose[0], decided.win[0]
    number = np.column_stack([lose, ties, win]).ravel()
    used = np.flatnonzero(number > 0)
    pair, kind = np.divmod(used, 3)
    low, high = (items[pair].astype(np.intp) for items in (pairs.low, pairs.high))
    return SingleComparisons(
        X=data.X,
        mean=data.item_moments.mean,
        left=low,
        right=high,
        outcome=kind - 1.0,
        amount=number[used] / data.weight_unit,
        context=np.empty((len(used), 0)),
        sides=sparse.csr_array((len(used), 0)),
        judge=np.zeros(len(used), dtype=int),
        n_judges=1,
        rule=rule,
        ridge=ridge,
        slopes=np.ones(1),
        slope_variance=np.zeros(1),
    )


def judges_of(data: FitData, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Names of the judges, and a code for every comparison."""
    judge = data.comparisons.judge
    if judge is None:
        if settings.needs_judges:
            raise PairscoreError(
                "the votes have no column 'judge', which judge_slopes, side_effect='judges' and"
                " inference='items+judges' need; add it."
            )
        return np.empty(0, dtype=object), np.zeros(len(data.comparisons), dtype=int)
    if settings.needs_judges:
        refuse_missing_judges(judge)
    return np.unique(
        np.array(judge_names(judge)) if judge.dtype.kind in "fO" else judge, return_inverse=True
    )


def refuse_one_kind_of_outcome(data: FitData, rule: TieRule) -> None:
    """The parameter of ties needs ties, and other outcomes."""
    if not rule.has_parameter:
        return
    used = (data.comparisons.left != data.comparisons.right) & (data.amount > 0)
    tied = np.count_nonzero(data.comparisons.outcome[used] == 0)
    if tied in (0, np.count_nonzero(used)):
        seen = "no comparison is a tie" if tied == 0 else "every comparison is a tie"
        raise PairscoreError(
            f"ties={rule.name!r} estimates how often items tie, but {seen}; use ties='half'."
        )


def _side_columns(
    settings: Settings, names: np.ndarray, judge: np.ndarray
) -> tuple[sparse.csr_array, list[str]]:
    """One column for the advantage of the left side, or one for each judge."""
    if not settings.side_effect:
        return sparse.csr_array((len(judge), 0)), []
    if not settings.side_by_judge:
        return sparse.csr_array(np.ones((len(judge), 1))), ["left"]
    if len(names) > MOST_SIDES:
        raise PairscoreError(
            f"side_effect='judges' is for at most {MOST_SIDES} judges, and there are {len(names)};"
            " use side_effect=True."
        )
    entries = np.ones(len(judge)), (np.arange(len(judge)), judge)
    sides = sparse.csr_array(entries, shape=(len(judge), len(names)))
    return sides, [f"left, {name}" for name in names.tolist()]


def comparison_scores(
    scores: np.ndarray, data: Comparisons, effects: Effects | None, judges: Judges | None
) -> np.ndarray:
    """eta of every comparison from the items' scores: with context, the judge's slope, and side."""
    delta = scores_in_context(scores, data, effects) * judges_sharpness(data, judges)
    sides = {} if effects is None else effects.of_kind("side")
    if not sides:
        return delta
    average, by_whom = (
        float(np.mean(list(sides.values()))),
        [] if data.judge is None else judge_names(data.judge),
    )
    return delta + (
        average
        if "left" in sides or not by_whom
        else np.array([sides.get(f"left, {name}", average) for name in by_whom])
    )


def scores_in_context(scores: np.ndarray, data: Comparisons, effects: Effects | None) -> np.ndarray:
    """delta of every comparison from the items' scores, which a judge's slope stretches."""
    delta = scores[data.left] - scores[data.right]
    for name, value in ({} if effects is None else effects.of_kind("context")).items():
        delta = delta + value * context_column(data, name)
    return delta


def judges_sharpness(data: Comparisons, judges: Judges | None) -> np.ndarray:
    """The slope of every comparison's judge; 1 for a judge not met before."""
    if judges is None or data.judge is None:
        return np.ones(len(data))
    slope_of = dict(zip(judge_names(judges.name), judges.slope.tolist(), strict=True))
    return np.fromiter(map(slope_of.get, judge_names(data.judge), repeat(1.0)), float, len(data))


def effect_columns(
    data: Comparisons, effects: Effects | None, side_effect: float | None, slope: np.ndarray
) -> np.ndarray:
    """How each comparison's score changes with each effect of the fit, shape (M, k).

    Context counts as much as the judge's ``slope``; a judge not met before has the average side;
    what ties have changes no score.
    """
    if effects is None:
        return np.ones((len(data), int(side_effect is not None)))
    sides = [name for name in effects.of_kind("side") if name != "left"]
    by_whom = [] if data.judge is None or not sides else judge_names(data.judge)
    own = np.array([f"left, {name}" for name in by_whom])
    columns = np.zeros((len(data), len(effects.names)))
    for place, (name, kind) in enumerate(zip(effects.names, effects.kinds, strict=True)):
        if kind == "context":
            columns[:, place] = slope * context_column(data, name)
        elif kind == "side" and name == "left":
            columns[:, place] = 1.0
        elif kind == "side":
            columns[:, place] = 1 / len(sides)
            if len(own):
                met = np.isin(own, sides)
                columns[met, place] = own[met] == name
    return columns


def slope_errors(data: Comparisons, judges: Judges | None) -> np.ndarray:
    """Standard error of the slope of every comparison's judge, (M,).

    A judge not met before differs from the average as judges do; without judges, the average judge
    is meant.
    """
    if judges is None or data.judge is None:
        return np.zeros(len(data))
    error_of = dict(zip(judge_names(judges.name), judges.std_error.tolist(), strict=True))
    names = judge_names(data.judge)
    return np.fromiter(map(error_of.get, names, repeat(judges.spread)), float, len(data))


def context_column(data: Comparisons, name: str) -> np.ndarray:
    """A column of the context, which must be there."""
    if name not in data.context:
        how = f"from_frames(items, votes, context=[{name!r}, ...])"
        if not data.votes.has_outcomes:
            how = f"from_pairs(items, left, right, {name}=...)"
        raise PairscoreError(
            f"the comparisons lack the context {name!r}; read them with Comparisons.{how}."
        )
    return data.context[name]


def judge_names(judge: np.ndarray) -> list[str]:
    """What judges are called, as text: 1.0 is judge 1, as it was before some value was missing."""
    values: list[Any] = judge.tolist()
    if judge.dtype.kind not in "fO" or set(map(type, values)) <= {str}:
        return list(map(str, values))
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in values
    ]


def effect_notes(effects: Effects, undetermined: np.ndarray, unit: np.ndarray) -> list[Note]:
    """Effects that the comparisons leave open, and those that they push to infinity."""
    names = np.array(effects.names, dtype=object)
    notes: list[Note] = []
    if undetermined.any():
        text = (
            f"{plural(int(undetermined.sum()), 'effect')} not determined by the comparisons,"
            " because constant or a combination of others:"
            f" {first_few(map(repr, names[undetermined]))}; intervals are unknown."
        )
        notes.append((CollinearFeaturesWarning, text))
    endless = np.nan_to_num(effects.std_errors * unit) > ENDLESS
    if endless.any():
        text = (
            "some effects explain every comparison that they touch and have no finite"
            f" size: {first_few(map(repr, names[endless]))}; leave them out."
        )
        notes.append((SeparationWarning, text))
    return notes
