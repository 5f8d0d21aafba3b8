"""Where coefficients, effects of comparisons and the tie parameter have no finite size together.

A direction of theta = (coef, effects, t) is one of recession where no comparison becomes less
likely along it (:mod:`pairscore.estimators.separation`). With a tie parameter an outcome has two
ends that must not fall (:meth:`pairscore.core.ties.TieRule.ends`), of which a direction may
explain one: a win by much more than the threshold, and a tie at a difference far below it, are both
certain in the end. So scores and t may grow together where neither would by itself.

What is found is held by the prior that separation gets elsewhere: normal, with standard deviation
2.5, on standardised coefficients, on effects of a usual size, and on t (Rao and Kupper's threshold,
the logarithm of Davidson's nu), along these directions and nowhere else.
"""

from dataclasses import dataclass

import numpy as np

from pairscore.effects.design import PreparedFit
from pairscore.effects.maximum import RowsMaximum, sizes_of_errors
from pairscore.effects.single_comparisons import ENDLESS, SingleComparisons
from pairscore.estimators.ridge import SEPARATION_L2, ridge_is_weak
from pairscore.estimators.separation import (
    Recession,
    directions_between,
    explained_by_design,
    least_certain,
)
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData

SMALLEST_GAP = 1e-13  # to the maximum, per comparison, that one more step closes
MOST_ROWS_OF_PROGRAM = 20_000  # of the linear program that looks for separation, which grows faster
NOT_SEEN = 1e-12  # eigenvalue, over the largest, of a direction that no comparison sees


@dataclass(frozen=True, eq=False)
class Separation:
    """Directions of recession (p x r), orthonormal in ``unit`` (p), and the ends that they explain.

    ``rows`` (k x p) are what each parameter adds to an end, ``amount`` (k) how often it counts.
    """

    directions: np.ndarray
    unit: np.ndarray
    rows: np.ndarray
    amount: np.ndarray

    def recession(self, theta: np.ndarray) -> Recession:
        """What is kept of it at the theta of a fit."""
        kept = least_certain(self.rows, self.amount, theta)
        return Recession(self.directions, self.unit, *kept, theta)

    def ridge(self, prepared: PreparedFit, sd: np.ndarray) -> np.ndarray:
        """The ridge of the rows, and SEPARATION_L2 along directions that it does not hold yet.

        ``sd`` are those of the features.
        """
        rows, d = prepared.rows, len(sd)
        unit = np.concatenate([sd, rows.usual_sizes])
        unit = np.where(unit > 0, unit, 1.0)
        held = np.eye(len(unit))[:, np.diag(rows.ridge) >= SEPARATION_L2 * unit**2]
        if prepared.plain.determined.recession is not None:
            plain = prepared.plain.determined.recession.directions[:d]
            held = np.hstack([held, np.pad(plain, ((0, len(unit) - d), (0, 0)))])
        mine, others = (np.linalg.qr(unit[:, None] * of)[0] for of in (self.directions, held))
        more = unit[:, None] ** 2 * directions_between(mine, others, unit)
        return rows.ridge + SEPARATION_L2 * more @ more.T


def find_separation(
    data: TableData, settings: Settings, prepared: PreparedFit, alone: RowsMaximum
) -> Separation | None:
    """Directions of coefficients, effects and t in which the comparisons are separated.

    They are looked for where the features alone are separated, or Newton's method left some
    parameter without a finite error: more parameters may explain more. Sides of judges have a law,
    and coefficients and abilities with a ridge that holds them have no part in it. Of very many
    comparisons, only what the features alone explain is known; then nothing is said of how large
    those and the effects are.
    """
    rows, plain, d = prepared.rows, prepared.plain.determined.recession, data.X.shape[1]
    is_one_sided = settings.side_effect and abs(rows.outcome.sum()) == len(rows.outcome)
    runs_off = np.any(sizes_of_errors(rows, alone) > ENDLESS)
    runs_off |= rows.rule.has_parameter and np.any(alone.basis.undetermined)
    are_free = settings.free_abilities and not settings.ridge
    if are_free or not (plain is not None or is_one_sided or runs_off):
        return None
    p = len(alone.theta)
    unit = np.ones(p)
    unit[:d] = np.where(rows.feature_units > 0, rows.feature_units, 1.0)
    if len(rows.left) > MOST_ROWS_OF_PROGRAM:
        held = np.eye(p) if plain is None else np.eye(p)[:, d:]
        if plain is not None:
            held = np.hstack([np.pad(plain.directions, ((0, p - d), (0, 0))), held])
        held = np.linalg.qr(unit[:, None] * held)[0] / unit[:, None]
        return Separation(held, unit, np.empty((0, p)), np.empty(0))
    design, place = _ends(rows, settings.side_by_judge)
    moving = design / unit
    if not ridge_is_weak(settings.ridge, data.weight_unit):
        moving[:, :d] = 0.0
    explained = explained_by_design(moving)
    if explained is None or not explained.any():
        return None
    free, never = (_null_space(moving[some]) for some in (~explained, slice(None)))
    amount = rows.amount[place]
    if rows.rule.name == "davidson":
        amount = amount * _shares_of_ends(design @ alone.theta, place, explained)
    directions = directions_between(free, never, unit)
    known = explained & (d > 0)  # rows have no abilities, which move ends
    return Separation(directions, unit, design[known], amount[known])


def _ends(rows: SingleComparisons, side_by_judge: bool) -> tuple[np.ndarray, np.ndarray]:
    """What each parameter adds to the ends of the outcomes (k x p), and whose they are (k)."""
    d, c, p = len(rows.mean), rows.context.shape[1], len(rows.ridge)
    design = np.zeros((len(rows.left), p))
    design[:, :d] = rows.X[rows.left] - rows.X[rows.right]
    if side_by_judge:
        design[:, d : d + c] = rows.context
    else:
        design[:, d : d + rows.columns.shape[1]] = rows.columns.toarray()
    place, of_eta, of_t = rows.rule.ends(rows.outcome)
    design = of_eta[:, None] * design[place]
    if rows.rule.has_parameter:
        design[:, -1] = of_t
    return design, place


def _shares_of_ends(at: np.ndarray, place: np.ndarray, explained: np.ndarray) -> np.ndarray:
    """How often each end (k) counts as a comparison of its own, under Davidson's rule.

    With ends a and b an outcome has the probability 1 / (1 + exp(-a) + exp(-b)). That is at most
    the root of f(a) f(b), f logistic; and with b given at most f(b) f(a)^f(b). So the explained
    ends are never taken for less probable than they are.
    """
    first = np.flatnonzero(np.diff(place, prepend=-1))  # each outcome has two, one after the other
    other = np.empty(len(place), dtype=int)
    other[first], other[first + 1] = first + 1, first
    return np.where(explained[other], 0.5, 1 / (1 + np.exp(-np.clip(at[other], -700, 700))))


def _null_space(rows: np.ndarray) -> np.ndarray:
    """What rows (n x p) do not see, orthonormal."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return vectors[:, values <= NOT_SEEN * values.max(initial=0.0)]
