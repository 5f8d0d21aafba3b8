"""What the noise of judges' slopes adds to scores, effects and the tie parameter, taken off.

Fitted together with scores, slopes have their single best values. The likelihood of the rest is an
integral over all values that they may have; by Laplace's method minus its logarithm is, at those
best values,

    loss + term,    term = 1/2 log det (information of the slopes that keep their average)
                         = 1/2 (sum_j log I_j + log sum_j 1/I_j) + const,    I_j = sum_i w_i
                         delta_i^2 + 1/spread^2,

with w_i the curvature of a comparison's log-likelihood in eta. Longer scores tell slopes better, so
the term prefers shorter ones. With v_j the variance of a slope given the rest,

    d term = 1/2 sum_i v_judge(i) d(w_i delta_i^2).

One Newton step from the maximum takes the term into account. It brings the slopes from their mode
to their mean, too. What it leaves out is of the order of the square of what it takes off. (Tierney
and Kadane 1986; Cox and Reid 1987.)
"""

import numpy as np

from pairscore.core.sums import net_per_item
from pairscore.core.whitening import Basis
from pairscore.effects.single_comparisons import Derivatives, Params, SingleComparisons, newton_step

STEP = 1e-4  # in eta, for the change of a curvature


def without_slope_bias(
    contest: SingleComparisons, params: Params, look: Derivatives, basis: Basis
) -> tuple[Params, Derivatives]:
    """One step from the maximum towards that of the integral, half as far while loss and term do
    not fall.
    """
    step, slope_step = newton_step(look, basis, *laplace_gradient(contest, params, look))
    for length in 0.5 ** np.arange(8):
        moved = params.moved(step, slope_step, float(length))
        if contest.rule.allowed(moved.t):
            there = contest.look(moved)
            if there.loss + laplace_term(there) <= look.loss + laplace_term(look):
                return moved, there
    return params, look


def laplace_term(look: Derivatives) -> float:
    """1/2 (sum_j log I_j + log sum_j 1/I_j)."""
    return 0.5 * float(
        np.sum(np.log(look.slope_information)) + np.log(np.sum(1 / look.slope_information))
    )


def laplace_gradient(
    contest: SingleComparisons, params: Params, look: Derivatives
) -> tuple[np.ndarray, np.ndarray]:
    """Of the term, in (coef, effects, t) and in the slopes."""
    delta, sharpness = contest.delta(params), contest.sharpness(params)
    variance = np.append(look.slope_variance, 0.0)[contest.slope_code]
    in_eta, in_t = curvature_change(contest, params)
    through_eta = 0.5 * variance * delta**2 * in_eta
    through_delta = variance * delta * contest.outcome_derivatives(params).eta_eta
    on_coef = (
        net_per_item(
            contest.left, contest.right, sharpness * through_eta + through_delta, len(contest.X)
        )
        @ contest.X
    )
    on_effects = contest.effect_columns(params).T @ through_eta
    on_effects[: contest.context.shape[1]] += contest.context.T @ through_delta
    on_t = [0.5 * (variance * delta**2) @ in_t] * contest.rule.has_parameter
    on_slopes = np.bincount(contest.slope_code, through_eta * delta, len(contest.sloped) + 1)[:-1]
    return np.concatenate([on_coef, on_effects, on_t]), on_slopes


def curvature_change(contest: SingleComparisons, params: Params) -> tuple[np.ndarray, np.ndarray]:
    """How eta_eta changes with eta and with t.

    The latter is how eta_t changes with eta, as third derivatives may be taken in any order.
    """
    eta = contest.predictor(params)
    up, down = (
        contest.rule.derivatives(eta + step, contest.outcome, params.t) for step in (STEP, -STEP)
    )
    scale = contest.amount / (2 * STEP)
    return scale * (up.eta_eta - down.eta_eta), scale * (up.eta_t - down.eta_t)
