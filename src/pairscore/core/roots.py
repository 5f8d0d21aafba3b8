"""Roots of functions of one number: where a falling function crosses zero, where a yes ends.

A rising function is passed with its sign changed.
"""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import numpy as np

SMALLEST_RTOL = 4 * float(np.finfo(float).eps)  # closer, rounding decides
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

    By Chandrupatla's method (1997), after the bracket has been widened as far as needed. SciPy's
    ``brentq`` needs a fifth fewer calls, and a tenth of a second to import.

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
    return _root_between(function, low, high, xtol, max(rtol, SMALLEST_RTOL))


def _root_between(function: Curve, low: float, high: float, xtol: float, rtol: float) -> float:
    """Root between two points where the signs differ, by Chandrupatla (1997).

    The root is between a and b, and c was on one side before. Inverse quadratic interpolation
    through the three points where it is sure to be monotone, else the middle of a and b.
    """
    a, b = low, high
    value_a = function(a)
    value_b = function(b)
    step = 0.5  # of the way from a to b
    while True:
        x = a + step * (b - a)
        value = function(x)
        if (value > 0) == (value_a > 0):
            c, value_c = a, value_a
        else:
            c, value_c = b, value_b
            b, value_b = a, value_a
        a, value_a = x, value
        best = a if abs(value_a) < abs(value_b) else b
        smallest_step = 0.5 * (xtol + rtol * abs(best)) / abs(b - a)
        if value == 0 or smallest_step > 0.5:
            return float(best)
        place = (a - b) / (c - b)
        height = (value_a - value_b) / (value_c - value_b)
        step = 0.5
        if height**2 < place and (1 - height) ** 2 < 1 - place:
            step = value_a / (value_b - value_a) * value_c / (value_b - value_c)
            step += (
                (c - a) / (b - a) * value_a / (value_c - value_a) * value_b / (value_c - value_b)
            )
        step = min(max(step, smallest_step), 1 - smallest_step)


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
