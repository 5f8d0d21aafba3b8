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

    By Brent's method (1973, chapter 4), after the bracket has been widened as far as needed.
    SciPy's ``brentq`` makes as many calls, and takes a tenth of a second to import.

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
    """Brent's method: a root between two points at which the function has opposite signs.

    A step goes where an inverse quadratic through the last three points (a secant through two) is
    zero, and to the middle of the bracket where that shrinks too little.
    """
    before = opposite = low
    last = high  # the bracket is from ``last`` to ``opposite``
    f_before = f_opposite = function(low)
    f_last = function(high)
    step = step_before = last - before
    while True:
        if abs(f_opposite) < abs(f_last):  # ``last`` is the best point
            before, last, opposite = last, opposite, last
            f_before, f_last, f_opposite = f_last, f_opposite, f_last
        tolerance = 0.5 * (xtol + rtol * abs(last))
        half = 0.5 * (opposite - last)
        if f_last == 0 or abs(half) < tolerance:
            return float(last)
        tried = np.inf
        if abs(step_before) > tolerance and abs(f_last) < abs(f_before):
            tried = _zero_step(before, last, opposite, f_before, f_last, f_opposite)
        is_good = 2 * abs(tried) < min(abs(step_before), 3 * abs(half) - tolerance)
        step_before = step if is_good else half
        step = tried if is_good else half
        before = last
        f_before = f_last
        last += step if abs(step) > tolerance else np.copysign(tolerance, half)
        f_last = function(last)
        if (f_last > 0) != (f_before > 0):
            opposite = before
            f_opposite = f_before
            step = step_before = last - before


def _zero_step(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """From b to the zero of the secant through a and b, or of the inverse quadratic with c."""
    size = max(abs(fa), abs(fb), abs(fc))  # products of values that are huge would overflow
    fa, fb, fc = fa / size, fb / size, fc / size
    if a == c:
        return -fb * (b - a) / (fb - fa)
    slope_a = (fa - fb) / (a - b)
    slope_c = (fc - fb) / (c - b)
    fall = slope_c * slope_a * (fc - fa)
    return -fb * (fc * slope_c - fa * slope_a) / fall if fall else np.inf


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
