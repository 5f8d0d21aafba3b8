"""The design of a fit of single comparisons: rows, columns of context and sides, and the ridge."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from pairscore.core.incidence import joint_numbers
from pairscore.core.pair_graph import aggregate_pairs, sum_sides
from pairscore.core.ties import TieRule
from pairscore.data.judges import judge_labels
from pairscore.data.votes import refuse_missing_judges
from pairscore.display import first_few, plural
from pairscore.effects.comparison_effects import Effects, context_column
from pairscore.effects.single_comparisons import ENDLESS, SingleComparisons
from pairscore.errors import CollinearFeaturesWarning, PairscoreError, SeparationWarning
from pairscore.estimators.estimate import Estimate, Note
from pairscore.estimators.likelihood import clip_start, fit_likelihood
from pairscore.estimators.ridge import SEPARATION_L2, ridge_units
from pairscore.estimators.separation import Recession
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting

if TYPE_CHECKING:
    from pairscore.model.fit import Fit

MOST_SIDES = 300  # of judges: each is a column of the information, which is dense


@dataclass(frozen=True)
class Design:
    """Rows to be fitted, who judged, and names and kinds of the effects."""

    rows: SingleComparisons
    judges: np.ndarray
    names: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class PreparedFit(Design):
    """Rows to be fitted, the fit of the pairs from which it starts, and an ``earlier`` fit to most
    of the comparisons, if there is one.
    """

    plain: Estimate
    earlier: "Fit | None"

    @property
    def only_features(self) -> bool:
        """Whether the fit of the pairs has all parameters, and is at the maximum."""
        return not self.names and self.plain.determined.recession is None

    def first_theta(self, with_item_effects: bool = False) -> np.ndarray:
        """theta to start from: the fit of the pairs, or what the earlier fit has.

        It is longer with effects of items than without them.
        """
        rows, earlier = self.rows, self.earlier
        theta = rows.start(self.plain.coef)
        if earlier is None or not (self.names or with_item_effects):
            return theta
        factor = 1.0
        if not with_item_effects and earlier.item_effects is not None:
            factor = earlier.item_effects.factor
        known = {}
        if earlier.effects is not None:
            values = earlier.effects.values.tolist()
            known = dict(zip(earlier.effects.names, values, strict=True))
        starts = zip(self.names, theta[len(rows.mean) :].tolist(), strict=True)
        effects = np.array([known.get(name, value) for name, value in starts])
        coef = clip_start(earlier.coef / factor, rows.feature_units)
        return np.append(coef, clip_start(effects / factor, rows.usual_sizes))


def prepare_fit(data: TableData, settings: Settings, plain: Estimate | None = None) -> PreparedFit:
    """Rows with the columns that the settings ask for, and where to start."""
    if plain is None:
        without_sides = replace(data, keep_sides=False) if data.keep_sides else data
        plain = fit_likelihood(without_sides, replace(settings, inference=None, side_effect=False))
    prepared = make_design(data, settings, plain.determined.recession)
    return PreparedFit(**vars(prepared), plain=plain, earlier=data.start)


def make_design(data: TableData, settings: Settings, recession: Recession | None = None) -> Design:
    """Rows with the columns that the settings ask for, held along the directions in which the
    features alone are separated.
    """
    judges, judge = judges_of(data, settings)
    rule = TieRule(settings.ties, settings.link)
    refuse_one_kind_of_outcome(data, rule)
    sides, side_names = _side_columns(settings, judges, judge)
    context = np.empty((len(judge), len(settings.context)))
    for number, name in enumerate(settings.context):
        context[:, number] = context_column(data.comparisons, name)
    names = [*settings.context, *side_names]
    kinds = ["context"] * len(settings.context) + ["side"] * len(side_names)
    if rule.has_parameter:
        names.append("tie")
        kinds.append("tie")
    ridge = _ridge(data, settings, recession, kinds)
    columns = _Columns(context, sides, judge, len(judges))
    rows = _rows(data, settings, columns, rule, ridge)
    return Design(rows, judges, tuple(names), tuple(kinds))


def _ridge(
    data: TableData, settings: Settings, recession: Recession | None, kinds: list[str]
) -> np.ndarray:
    """The ridge of coefficients, then of effects of these kinds (k x k).

    A judge who always says left has no finite side, and all together may say so; these are held by
    the prior that separation gets.
    """
    sd = data.item_moments.sd
    ridge = np.diag(settings.ridge * ridge_units(settings, sd) ** 2)
    if recession is not None:
        held = sd[:, None] ** 2 * recession.directions[: len(sd)]
        ridge = ridge + SEPARATION_L2 * data.weight_unit * held @ held.T
    outcome = data.comparisons.outcome[data.comparisons.amount > 0]
    one_sided = bool(np.all(outcome > 0) or np.all(outcome < 0))
    of_sides = SEPARATION_L2 if settings.side_by_judge or one_sided else 0.0
    of_effects = np.array([of_sides if kind == "side" else 0.0 for kind in kinds])
    return block_diag(ridge / data.weight_unit, np.diag(of_effects))


class _Columns(NamedTuple):
    """What comparisons (M) have in addition to their items: context (M x c), sides (M x s, sparse)
    and judges, of whom there are so many.
    """

    context: np.ndarray
    sides: sparse.csr_array
    judge: np.ndarray
    n_judges: int


def _rows(
    data: TableData, settings: Settings, columns: _Columns, rule: TieRule, ridge: np.ndarray
) -> SingleComparisons:
    """Comparisons sorted by pair, without those of an item with itself; equal ones are one row."""
    has_columns = settings.side_effect or settings.context or settings.needs_judges
    if not has_columns and data.comparisons.outcome.dtype.kind == "i":
        return _rows_of_pairs(data, rule, ridge)
    return _rows_of_comparisons(data, settings, columns, rule, ridge)


def _rows_of_comparisons(
    data: TableData, settings: Settings, columns: _Columns, rule: TieRule, ridge: np.ndarray
) -> SingleComparisons:
    """A row for each comparison with a context, or for each combination of pair, sides, outcome
    and judge that occurs.
    """
    comparisons, n = data.comparisons, len(data.X)
    used = np.flatnonzero(data.counted)
    left, right = comparisons.left[used], comparisons.right[used]
    outcome = comparisons.outcome[used].astype(float)
    amount = comparisons.amount[used] / data.weight_unit
    judge = columns.judge[used] if settings.needs_judges else np.zeros(len(used), dtype=int)
    n_judges = max(columns.n_judges, 1) if settings.needs_judges else 1
    if not settings.side_effect and not settings.context:  # left and right may change places
        swapped = left > right
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        outcome = np.where(swapped, -outcome, outcome)
    pair = (np.minimum(left, right), n), (np.maximum(left, right), n)
    if settings.context:
        order = np.argsort(joint_numbers(*pair), kind="stable")
        amount = amount[order]
    else:
        kind = (left > right) + 2 * (outcome + 1).astype(np.int64)
        key = joint_numbers(*pair, (kind, 6), (judge, n_judges))
        _, order, row = np.unique(key, return_index=True, return_inverse=True)
        amount = np.bincount(row, amount).astype(float)
    return SingleComparisons(
        X=data.X,
        mean=data.item_moments.mean,
        left=left[order],
        right=right[order],
        outcome=outcome[order],
        amount=amount,
        context=columns.context[used][order],
        sides=columns.sides[used[order]],
        judge=judge[order],
        n_judges=n_judges,
        rule=rule,
        ridge=ridge,
        slopes=np.ones(n_judges),
        slope_variance=np.zeros(n_judges),
    )


def _rows_of_pairs(data: TableData, rule: TieRule, ridge: np.ndarray) -> SingleComparisons:
    """The rows where only who met and who won matters: each pair's losses of low, ties and wins."""
    pairs = data.pairs
    number = np.column_stack(_outcomes_of_pairs(data)).ravel()
    used = np.flatnonzero(number > 0)
    pair, kind = np.divmod(used, 3)
    return SingleComparisons(
        X=data.X,
        mean=data.item_moments.mean,
        left=pairs.low[pair].astype(np.intp),
        right=pairs.high[pair].astype(np.intp),
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


def _outcomes_of_pairs(data: TableData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often low lost, tied and won, for every pair (P)."""
    pairs, votes = data.pairs, data.comparisons
    lose, win = sum_sides(pairs.lose), sum_sides(pairs.win)
    if data.tied is None:
        return lose, np.zeros(len(win)), win
    ties = sum_sides(data.tied)
    halves_are_exact = np.array_equal(votes.amount, np.rint(votes.amount))
    if halves_are_exact and data.tally.n_comparisons < 2**52:
        return lose - ties / 2, ties, win - ties / 2
    amount = votes.amount * (votes.outcome != 0)
    decided = aggregate_pairs(votes.left, votes.right, votes.outcome, amount, len(data.X))
    return decided.lose[0], ties, decided.win[0]


def judges_of(data: TableData, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Names of the judges, and a code for every comparison."""
    judge = data.comparisons.judge
    if judge is None:
        if settings.needs_judges:
            raise PairscoreError(
                "the comparisons have no column 'judge', which "
                + Setting("judge_slopes")
                + ", "
                + Setting("side_effect", "judges")
                + " and "
                + Setting("inference", "items+judges")
                + " need",
                ["add it", "name the column that says who judged: " + Setting("judge")],
            )
        return np.empty(0, dtype=object), np.zeros(len(data.comparisons), dtype=int)
    if settings.needs_judges:
        refuse_missing_judges(judge)
    return np.unique(
        np.array(judge_labels(judge)) if judge.dtype.kind in "fO" else judge, return_inverse=True
    )


def refuse_one_kind_of_outcome(data: TableData, rule: TieRule) -> None:
    """The parameter of ties needs ties, and other outcomes."""
    if not rule.has_parameter:
        return
    tied = np.count_nonzero(data.comparisons.outcome[data.counted] == 0)
    if tied in (0, np.count_nonzero(data.counted)):
        seen = "no comparison is a tie" if tied == 0 else "every comparison is a tie"
        raise PairscoreError(
            Setting("ties", rule.name) + f" estimates how often items tie, but {seen}",
            "use " + Setting("ties", "half"),
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
            Setting("side_effect", "judges")
            + f" is for at most {MOST_SIDES} judges, and there are {len(names)}",
            "use " + Setting("side_effect", True),
        )
    entries = np.ones(len(judge)), (np.arange(len(judge)), judge)
    sides = sparse.csr_array(entries, shape=(len(judge), len(names)))
    return sides, [f"left, {name}" for name in names.tolist()]


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
        notes.append(CollinearFeaturesWarning(text))
    endless = np.nan_to_num(effects.std_errors * unit) > ENDLESS
    if endless.any():
        text = (
            "some effects explain every comparison that they touch and have no finite"
            f" size: {first_few(map(repr, names[endless]))}; leave them out."
        )
        notes.append(SeparationWarning(text))
    return notes
