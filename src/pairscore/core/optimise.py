"""Newton's method with a line search.

A loss (minus a log-likelihood, with its penalties) is described by two methods of an
:class:`Objective`: its derivatives at a point, and the Newton step from there. How Newton's
equations are solved is the objective's affair: conjugate gradients on the item graph, a 2 x 2
system, or a factorised matrix. :func:`minimise` walks.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

SMALLEST_DECREASE = 1e-4  # of what the gradient promises, that a step must achieve (Armijo)
ROUNDING = 1e-12  # relative error of a loss that sums many comparisons
FISHER_GAP = 1e7  # by which the gap of Fisher's steps counts more: they do not square it
MAX_TRIALS = 60  # lengths of one step
SHORTEST = 0.1  # share of what a length is known to be between, that a trial goes
DerivativesAt = Callable[[np.ndarray], Any]
LineSearch = Callable[[DerivativesAt, np.ndarray, Any, np.ndarray], tuple[np.ndarray, Any]]


class Derivatives(NamedTuple):
    """Gradient of a loss at some parameters, and the information that makes up its Hessian.

    The information is the Hessian itself, or that of each pair or row of the data from which the
    objective solves Newton's equations. ``exact``: it is the observed information, and a step by it
    is Newton's; by the expected information it is Fisher's.
    """

    gradient: np.ndarray
    information: np.ndarray
    exact: bool = True


class Step(NamedTuple):
    """A Newton step: the next point is ``params - direction``.

    ``direction`` solves Hessian * direction = gradient. ``gap`` is how far the loss may still fall,
    per comparison: about half the squared Newton decrement gradient' direction. ``unbounded`` says
    that the loss falls for ever along ``-direction``, so that it has no minimum.
    """

    direction: np.ndarray
    gap: float
    unbounded: bool = False


class Objective(Protocol):
    """A loss to be minimised over a vector of parameters.

    ``derivatives(params)`` returns :class:`Derivatives`, or another object with the ``gradient``
    and whatever ``newton_step`` needs; for :func:`search_by_value` also with the ``loss``, or None
    where the loss is not defined.
    ``newton_step(params, derivatives, iteration)`` solves Newton's equations there; ``iteration``
    counts from 1.
    """

    def derivatives(self, params: np.ndarray) -> Any: ...

    def newton_step(self, params: np.ndarray, derivatives: Any, iteration: int) -> Step: ...


class Minimum(NamedTuple):
    """Where the walk ended, after how many iterations, and whether at a minimum.

    If the loss is ``unbounded``, the parameters are a direction along which it falls for ever.
    ``last`` are the derivatives that were computed last, mostly a step before the end.
    """

    params: np.ndarray
    n_iterations: int
    converged: bool
    unbounded: bool = False
    last: Any = None


def search_by_slope(
    derivatives: DerivativesAt, params: np.ndarray, here: Any, direction: np.ndarray
) -> tuple[np.ndarray, Any]:
    """Go along a step, back by secants while the slope there says that it went too far.

    For a convex loss, whose slope along the step tells all: its value is never computed. A step is
    accepted once the loss rises at its end at most half as steeply as it fell at the start. A step
    that went back must have left no more than half of the fall: beyond a bend, as of comparisons
    with large weights, secants go back much too far.

    Parameters
    ----------
    derivatives : function of parameters
        Returns an object with the ``gradient`` in the shape of the parameters.
    params, here : parameters and the derivatives there
        Parameters are a vector (d), or a matrix (d x k) of k problems that are searched side by
        side, each with its own length.
    direction : array in the shape of ``params``
        The step goes to ``params - direction``.

    Returns
    -------
    The parameters that were reached, and the derivatives there.
    """
    downhill = np.sum(here.gradient * direction, axis=0)
    length = np.ones_like(downhill)
    # the best length is between these, where the loss still falls, and where it rises
    near, far = np.zeros_like(downhill), np.full_like(downhill, np.inf)
    slope_near, slope_far = -downhill, np.full_like(downhill, np.inf)
    for _ in range(MAX_TRIALS):
        moved = params - length * direction
        there = derivatives(moved)
        uphill = -np.sum(there.gradient * direction, axis=0)
        too_far = ~(uphill <= 0.5 * downhill)
        too_near = (uphill < -0.5 * downhill) & np.isfinite(far)
        again = too_far | too_near
        if not again.any():
            break
        far, slope_far = np.where(too_far, length, far), np.where(too_far, uphill, slope_far)
        near = np.where(too_near, length, near)
        slope_near = np.where(too_near, uphill, slope_near)
        known = again & np.isfinite(slope_far) & (slope_far > slope_near)
        rise = np.where(known, slope_far - slope_near, 1.0)
        share = np.clip(np.where(known, -slope_near / rise, 0.5), SHORTEST, 1 - SHORTEST)
        length = np.where(again, near + share * np.where(again, far - near, 0.0), length)
    return moved, there


def search_by_value(
    derivatives: DerivativesAt, params: np.ndarray, here: Any, direction: np.ndarray
) -> tuple[np.ndarray, Any]:
    """Go along a step, half as far while the loss does not fall as the gradient promises.

    For a loss that need not be convex (Armijo 1966). Arguments and result are those of
    :func:`search_by_slope`, for one problem; where no length does, the step is not taken.
    """
    promised = float(here.gradient @ direction)
    for length in 0.5 ** np.arange(MAX_TRIALS):
        there = derivatives(moved := params - length * direction)
        bound = here.loss - SMALLEST_DECREASE * length * promised + ROUNDING * abs(here.loss)
        if there is not None and np.isfinite(there.loss) and there.loss <= bound:
            return moved, there
    return params, here


def minimise(
    objective: Objective,
    start: np.ndarray,
    max_iter: int,
    tol: float,
    search: LineSearch = search_by_slope,
) -> Minimum:
    """Minimise a loss by Newton's method.

    Once the gap to the minimum is below ``tol`` per comparison, one more step is the last, and the
    derivatives at its end are not computed: near the minimum a Newton step squares the gap.

    Parameters
    ----------
    objective : Objective
        The loss.
    start : vector of parameters
    max_iter : int
        Steps to take at most.
    tol : float
        Gap to the minimum, per comparison, that is closed by one step.
    search : line search
        :func:`search_by_slope` for a convex loss, else :func:`search_by_value`.

    Returns
    -------
    Minimum
    """
    params, here = start, objective.derivatives(start)
    for iteration in range(1, max_iter + 1):
        step = objective.newton_step(params, here, iteration)
        if step.unbounded:
            return Minimum(-step.direction, iteration, converged=False, unbounded=True)
        if step.gap <= tol:
            return Minimum(params - step.direction, iteration, converged=True, last=here)
        params, here = search(objective.derivatives, params, here, step.direction)
    return Minimum(params, max_iter, converged=False, last=here)
