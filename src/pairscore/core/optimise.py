"""Newton's method with a line search, for every likelihood of the package.

A loss (minus a log-likelihood, with its penalties) is described by two methods of an
:class:`Objective`: its derivatives at a point, and the Newton step from there. How Newton's
equations are solved is the objective's affair: conjugate gradients on the item graph, a 2 x 2
system, or a factorised matrix. :func:`minimise` walks.

For a function of one number: where it crosses zero if it falls, over the reals or over whole
numbers, or where a yes ends. A rising function is passed with its sign changed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

SMALLEST_DECREASE = 1e-4  # of what the gradient promises, that a step must achieve (Armijo)
ROUNDING = 1e-12  # relative error of a loss that sums many comparisons
FISHER_GAP = 1e7  # by which the gap of Fisher's steps counts more: they do not square it
SMALLEST_RTOL = 4 * float(np.finfo(float).eps)  # that brentq takes
MAX_TRIALS = 60  # lengths of one step
SHORTEST = 0.1  # share of what a length is known to be between, that a trial goes
Number = TypeVar("Number", int, float)
Curve = Callable[[float], float]
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


def solve_falling(
    function: Curve,
    low: float,
    high: float,
    *,
    limits: tuple[float, float] | None = None,
    xtol: float = 2e-12,
    rtol: float = 1e-15,
) -> float:
    """Find x with function(x) = 0, for a function that falls in x.

    By Brent's method (SciPy's ``brentq``), after the bracket has been widened as far as needed.

    Parameters
    ----------
    function : callable
        Falls from positive to negative values, all finite. It is called once at each point.
    low, high : float
        Where the root is expected.
    limits : pair of float, optional
        How far the bracket may be widened; not at all unless given. Each step doubles its width.
    xtol, rtol : float
        The root is found to within xtol + rtol * |root|.

    Returns
    -------
    float
        The root, or the limit that is nearest to it where the function has one sign throughout:
        the lower limit where it is nowhere positive, the upper one where it is everywhere.

    Examples
    --------
    >>> round(solve_falling(lambda x: 2 - x**2, 0.0, 1.0, limits=(0.0, 10.0)), 6)
    1.414214
    >>> solve_falling(lambda x: 2 - x**2, 0.0, 1.0)
    1.0
    """
    function, (lowest, highest) = cache(function), limits or (low, high)
    while function(low) <= 0:
        if low <= lowest:
            return lowest
        low, high = max(low - 2 * (high - low), lowest), low
    while function(high) > 0:
        if high >= highest:
            return highest
        low, high = high, min(high + 2 * (high - low), highest)
    if function(high) == 0:
        return high
    from scipy.optimize import brentq  # takes a tenth of a second to import

    return float(brentq(function, low, high, xtol=xtol, rtol=max(rtol, SMALLEST_RTOL)))


def bisect(
    holds: Callable[[Number], bool], low: Number, high: Number, rtol: float = 0.0
) -> tuple[Number, Number]:
    """Find where a condition stops to hold, from comparisons alone.

    ``holds`` is taken to be true at ``low`` and false at ``high``. The two numbers returned are the
    last seen where it is true and the first where it is false: neighbours if these are integers,
    else as close as floats can be, or within ``rtol`` of each other.

    >>> bisect(lambda n: n * n < 50, 0, 100)
    (7, 8)
    """
    while high - low > rtol * abs(high):
        middle = (low + high) // 2 if isinstance(low, int) else 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def smallest_whole_number(
    excess: Callable[[int], float], low: int, high: int, guess: int | None = None
) -> int | None:
    """Find the smallest whole number n from ``low`` to ``high`` with excess(n) <= 0.

    ``excess`` falls in n. Few calls are needed where it is close to linear in log n, as the
    logarithm of an error is, and fewer still with a ``guess`` that is close. None if the excess is
    positive up to ``high``.

    >>> smallest_whole_number(lambda n: np.log(1000 / n), 1, 10**9)
    1000
    """
    values: dict[int, float] = {}

    def value(n: int) -> float:
        if n not in values:
            values[n] = excess(n)
        return values[n]

    limits = np.log(low), np.log(high)
    start = np.clip(np.log(2 * low if guess is None else guess), *limits)
    near = np.clip((start - 0.35, start + 0.35), *limits)
    solve_falling(
        lambda log_n: value(min(max(round(np.exp(log_n)), low), high)),
        *near,
        limits=limits,
        xtol=1e-9,
    )
    enough = min((n for n, excess in values.items() if excess <= 0), default=None)
    if enough is None:
        return None
    short = max((n for n, excess in values.items() if excess > 0), default=enough)
    return bisect(lambda n: value(n) > 0, short, enough)[1]
