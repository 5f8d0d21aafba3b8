"""Roots of functions of one number: where a falling function crosses zero, where a yes ends.

A rising function is passed with its sign changed.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import numpy as np

SMALLEST_RTOL = 4 * float(np.finfo(float).eps)  # that brentq takes
Number = TypeVar("Number", int, float)
Curve = Callable[[float], float]


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
