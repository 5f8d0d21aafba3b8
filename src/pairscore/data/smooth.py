"""The smooth part of a score: features of all numeric columns together, whose sum is any function.

Random Fourier features (Rahimi and Recht 2007): sqrt(2) cos(w'z + b), where z are the columns in
units of their standard deviations, w is normal with standard deviation 1 / sqrt(k) in k columns,
and b uniform over a circle. A ridge on p of them is about a Gaussian process with the covariance
exp(-|z - z'|^2 / (2 k)). Frequencies are made from the raw numbers of a bit generator, which are
the same in every version of NumPy, so that a recipe keeps only the seed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from pairscore.errors import PairscoreError
from pairscore.messages import Setting

USUAL, LARGEST = 100, 2000  # features
FIRST_BITS = 11  # of 64, that a double has no place for


@dataclass(frozen=True)
class Smooth:
    """``number`` features of columns with means ``center`` and standard deviations ``scale``."""

    number: int
    center: tuple[float, ...]
    scale: tuple[float, ...]
    seed: int = 0

    @classmethod
    def of_values(cls, values: np.ndarray, number: Any) -> "Smooth":
        """The smooth part of columns (N x k); ``number`` is True for as many as usual."""
        number = USUAL if number is True else number
        is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_number or not 1 <= number <= LARGEST:
            raise PairscoreError(
                Setting("smooth") + f" is {number!r}",
                ["use " + Setting("smooth", True), f"use a number of features from 1 to {LARGEST}"],
            )
        center = np.nanmean(values, axis=0)
        sd = np.sqrt(np.nanmean((values - center) ** 2, axis=0))
        scale = np.where(sd > 1e-13 * np.abs(center), sd, np.inf)  # a constant makes nothing
        return cls(int(number), tuple(center.tolist()), tuple(scale.tolist()))

    @classmethod
    def of_record(cls, record: dict[str, Any] | None) -> "Smooth | None":
        """The smooth part again, from plain values."""
        if record is None:
            return None
        lists = {name: tuple(map(float, record[name])) for name in ("center", "scale")}
        return cls(int(record["number"]), **lists, seed=int(record["seed"]))

    def features(self, values: np.ndarray) -> np.ndarray:
        """The features (N x p) of columns (N x k)."""
        k = len(self.center)
        uniform = self._uniform((k + 1) * self.number).reshape(k + 1, self.number)
        frequencies = ndtri(uniform[:k]) / np.sqrt(k)
        z = (values - np.array(self.center)) / np.array(self.scale)
        angle: np.ndarray = z @ frequencies + 2 * np.pi * uniform[k]
        return np.sqrt(2) * np.cos(angle)

    def _uniform(self, n: int) -> np.ndarray:
        """Numbers between 0 and 1, without both (n)."""
        bits = np.random.PCG64(self.seed).random_raw(n) >> np.uint64(FIRST_BITS)
        uniform: np.ndarray = (bits.astype(float) + 0.5) / 2.0 ** (64 - FIRST_BITS)
        return uniform
