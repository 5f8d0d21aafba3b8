"""Intervals of coefficients by the profile likelihood.

Profile likelihoods are those of independent comparisons.
"""

from typing import TYPE_CHECKING

import numpy as np

from pairscore.effects.maximum import RowsMaximum
from pairscore.effects.separated_maximum import rows_at_maximum
from pairscore.effects.single_comparisons import SingleComparisons
from pairscore.errors import PairscoreError
from pairscore.estimators.information_criteria import kept_likelihood
from pairscore.messages import Action, Setting

if TYPE_CHECKING:
    from pairscore.model.fit import Fit

# A step moves no comparison's eta by more than LARGEST_MOVE, beyond which its quadratic says little
# of a link; it ends where none moves by NO_MOVE, or has no end after PROFILE_STEPS.
LARGEST_MOVE = 2.0
NO_MOVE = 1e-9
PROFILE_STEPS = 100


def profile_ends(
    rows: SingleComparisons, top: RowsMaximum, columns: np.ndarray, drop: float
) -> np.ndarray:
    """Where the profile likelihood of each parameter is ``drop`` below its maximum (len x 2).

    Newton's method for all parameters at once (Venzon and Moolgavkar 1988): the step from theta is
    -H^-1 g + c H^-1 e_j, g and H gradient and Hessian of the loss, with c such that the quadratic
    approximation of the loss, loss - g'H^-1 g / 2 + c^2 (H^-1)_jj / 2, is the one that is asked
    for. The first step ends at the classical interval. NaN where it does not converge.
    """
    target = rows.loss(rows.derivatives(top.theta), top.theta) + drop
    return np.array(
        [[_profile_end(rows, top.theta, j, sign, target) for sign in (-1, 1)] for j in columns]
    ).reshape(len(columns), 2)


def _profile_end(
    rows: SingleComparisons, theta: np.ndarray, j: int, sign: int, target: float
) -> float:
    for _ in range(PROFILE_STEPS):
        s = rows.derivatives(theta)
        gradient, basis = rows.gradient(s, theta), rows.basis(s)
        along, down = basis.solve(np.eye(len(theta))[j]), basis.solve(gradient)
        rest = 2 * (target - rows.loss(s, theta)) + float(gradient @ down)
        step = sign * np.sqrt(max(rest, 0.0) / along[j]) * along - down
        move = float(np.max(np.abs(rows.predictor(step)), initial=0.0))
        step *= min(1.0, LARGEST_MOVE / max(move, NO_MOVE))
        while not rows.rule.allowed(rows.tie(theta + step)):
            step = step / 2
        theta = theta + step
        if move < NO_MOVE:
            return float(theta[j])
    return np.nan


def profile_intervals(fit: "Fit", width: float) -> np.ndarray:
    """Where the profile likelihood of each coefficient is width^2 / 2 below its maximum (d x 2).

    NaN where the comparisons do not determine the coefficient.
    """
    if not fit.n_features:
        raise PairscoreError(
            "profile intervals are of coefficients of features, and the model has none",
            "use "
            + Setting("method", "wald")
            + " for the abilities of items, and "
            + Action("summary")
            + " for effects",
        )
    kept_likelihood(fit.likelihood).refuse_none("there are no profile intervals")
    data, ends = fit.comparisons_for("profile intervals"), np.full((fit.n_features, 2), np.nan)
    determined = np.flatnonzero(~fit.open.undetermined)
    ends[determined] = profile_ends(*rows_at_maximum(fit, data), determined, width**2 / 2)
    return ends
