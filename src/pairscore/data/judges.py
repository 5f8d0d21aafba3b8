"""Who judged: numbers, names and the panel of the judges of comparisons."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.data.comparisons import Comparisons

FEW_JUDGES = 10  # below, intervals hold for these judges
FEWEST_EFFECTIVE = 3.0  # as many judges who are equally busy, of ten or more: 2 degrees of freedom


@dataclass(frozen=True)
class JudgePanel:
    """The judges of some comparisons: how many, and of how many who are equally busy.

    ``effective`` is (sum of n_j)^2 / sum of n_j^2, n_j the comparisons of each; ``all_named`` is
    False if some comparison does not say who judged.
    """

    n_judges: int
    effective: float
    all_named: bool

    @property
    def is_enough(self) -> bool:
        """Whether they are enough to say how far other judges may differ."""
        busy = self.effective >= FEWEST_EFFECTIVE
        return self.all_named and self.n_judges >= FEW_JUDGES and busy

    @property
    def reason(self) -> str:
        """Why they are not, although they are many; empty where they are few."""
        if self.n_judges < FEW_JUDGES:
            return ""
        if not self.all_named:
            return "not every comparison says who judged"
        return "a few of them made most of the comparisons"

    @property
    def in_words(self) -> str:
        return "this judge" if self.n_judges == 1 else f"these {self.n_judges:,} judges"


def panel_of(data: Comparisons) -> JudgePanel:
    """Who judged, by weight times count, without comparisons of an item with itself."""
    names, judge, named = judge_codes(data)
    used = named & (data.left != data.right)
    number = np.bincount(judge[used], data.amount[used], len(names))
    number = number[number > 0]
    effective = float(number.sum() ** 2 / (number @ number)) if len(number) else 0.0
    return JudgePanel(len(number), effective, bool(named.all()))


def judge_codes(data: Comparisons) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Names of the judges, the place of each comparison's among them, and whether it has one."""
    assert data.judge is not None
    plain = data.judge if data.judge.dtype.kind not in "fO" else np.array(judge_labels(data.judge))
    names, judge = np.unique(plain, return_inverse=True)
    is_name = [bool(name.strip()) and name not in ("None", "nan") for name in names.astype(str)]
    return names, judge, np.array(is_name, dtype=bool)[judge]


def judge_labels(judge: np.ndarray) -> list[str]:
    """What judges are called, as text: 1.0 is judge 1, as it was before some value was missing."""
    values: list[Any] = judge.tolist()
    if judge.dtype.kind not in "fO" or set(map(type, values)) <= {str}:
        return list(map(str, values))
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in values
    ]
