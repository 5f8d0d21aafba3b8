"""Single numbers at the door: whole, real, within limits; each refusal is one sentence."""

from typing import Any

import numpy as np

from pairscore.errors import PairscoreError


def is_real(value: Any) -> bool:
    """Whether this is one number; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def number_between(value: Any, name: str, low: float, high: float, remedy: str) -> float:
    """A real number from ``low`` to ``high``; ``remedy`` says in words what to use."""
    if not is_real(value) or not low <= value <= high:
        raise PairscoreError(f"{name} is {value!r}; use {remedy}.")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """A finite number above zero."""
    if not is_real(value) or not 0 < value < np.inf:
        raise PairscoreError(f"{name} is {value!r}; use a number above 0.")
    return float(value)


def whole_number(value: Any, name: str) -> int:
    """A whole number from one."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise PairscoreError(f"{name} is {value!r}; use a whole number from 1.")
    return int(value)
