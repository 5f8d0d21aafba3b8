"""The maximum of the likelihood of single comparisons by Newton's method, without item effects."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairscore.core.optimise import Step, minimise, search_by_value
from pairscore.core.whitening import Basis
from pairscore.effects.single_comparisons import ENDLESS, SingleComparisons
from pairscore.estimators.likelihood_solvers import RUNAWAY

LARGEST_MOVE = 0.5  # of eta in one step, up to which the loss is close to its quadratic


class RowsMaximum(NamedTuple):
    """Where Newton's method ended, after how many ``steps``: a maximum if it ``converged``."""

    theta: np.ndarray
    basis: Basis
    steps: int
    converged: bool


class RowsLossAt(NamedTuple):
    """Loss, gradient and information at some theta."""

    loss: float
    gradient: np.ndarray
    basis: Basis


@dataclass(frozen=True)
class SingleComparisonsLoss:
    """Minus the log-likelihood as a function of theta."""

    rows: SingleComparisons

    def derivatives(self, theta: np.ndarray) -> RowsLossAt | None:
        rows = self.rows
        if not rows.rule.allowed(rows.tie(theta)):
            return None
        s = rows.derivatives(theta)
        return RowsLossAt(rows.loss(s, theta), rows.gradient(s, theta), rows.basis(s))

    def newton_step(self, theta: np.ndarray, here: RowsLossAt, iteration: int) -> Step:
        if runs_away_beside_slips(self.rows, theta):
            return Step(np.zeros_like(theta), 0.0)
        direction = here.basis.solve(here.gradient)
        gap = max(float(here.gradient @ direction), self.gap_of_near_rows(theta, direction))
        return Step(direction, gap / self.rows.n_comparisons)

    def gap_of_near_rows(self, theta: np.ndarray, direction: np.ndarray) -> float:
        """How far the loss may fall along a step, but for comparisons that move far by it.

        Of a context value of 1e8 among ones a Newton step sees nothing else, and closes a gap that
        is soon small, long before the step is as long as the other comparisons want it.
        """
        rows = self.rows
        move = rows.predictor(theta - direction) - rows.predictor(theta)
        near = np.abs(move) <= LARGEST_MOVE
        if near.all():
            return 0.0
        s = rows.derivatives(theta)
        move = np.where(near, move, 0.0)
        slope = float(s.eta @ move) + float(theta @ rows.ridge @ direction)
        bend = float(s.eta_eta @ move**2) + float(direction @ rows.ridge @ direction)
        return slope * (slope / bend) if bend > 0 else 0.0  # infinite where it is too large


def runs_away_beside_slips(rows: SingleComparisons, theta: np.ndarray) -> bool:
    """Whether slips explain what contradicts the score, so that no scale of it is large enough."""
    if rows.rule.link.lapse == 0 or not len(theta):
        return False
    square = float(rows.amount @ rows.predictor(theta) ** 2)
    return not square < RUNAWAY**2 * rows.n_comparisons


def maximise_rows(
    rows: SingleComparisons, theta: np.ndarray, max_iter: int, tol: float
) -> RowsMaximum:
    """Newton's steps to the maximum."""
    if not len(theta):  # nothing to step
        return RowsMaximum(theta, rows.basis(rows.derivatives(theta)), 1, True)
    loss = SingleComparisonsLoss(rows)
    top = minimise(loss, theta, max_iter, tol, search_by_value)
    basis = rows.basis(rows.derivatives(top.params))
    return RowsMaximum(top.params, basis, top.n_iterations, top.converged)


def maximum_at(rows: SingleComparisons, theta: np.ndarray) -> RowsMaximum:
    """The maximum where theta is known to be one."""
    return RowsMaximum(theta, rows.basis(rows.derivatives(theta)), 0, True)


def sizes_of_errors(rows: SingleComparisons, top: RowsMaximum) -> np.ndarray:
    """Standard errors of theta times the usual size of what it multiplies."""
    unit = np.concatenate([rows.feature_units, rows.usual_sizes])
    return np.sqrt(np.diag(top.basis.inverse)) * unit


def endless(rows: SingleComparisons, top: RowsMaximum) -> bool:
    """Whether some effect of comparisons has no finite size, so that nothing can be said of items
    beside it.
    """
    return bool(np.any(sizes_of_errors(rows, top)[len(rows.mean) :] > ENDLESS))
