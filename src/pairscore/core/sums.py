"""Sums that add: what a task over comparisons, pairs or items returns for a part of them."""

from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


@dataclass(frozen=True)
class Sums:
    """Base of sums: field by field, ``+`` adds arrays, numbers and other sums."""

    def __add__(self: Result, other: Result) -> Result:
        if type(other) is not type(self):
            return NotImplemented
        values = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)  # type: ignore[arg-type]
        }
        return type(self)(**values)


@dataclass(frozen=True)
class Range:
    """Smallest and largest number seen; ranges add to the range of all."""

    low: float = np.inf
    high: float = -np.inf

    def __add__(self, other: "Range") -> "Range":
        return Range(min(self.low, other.low), max(self.high, other.high))

    @classmethod
    def of(cls, values: np.ndarray) -> "Range":
        if not len(values):
            return cls()
        return cls(float(values.min()), float(values.max()))

    @property
    def is_empty(self) -> bool:
        """Whether no number was seen."""
        return self.low > self.high


def share_of(part: float, whole: float) -> float:
    """A part of a sum as a share of it: rounding errors of sums leave it within 0 and 1."""
    return min(max(float(part) / float(whole), 0.0), 1.0)
