"""What a comparison has beside its two items: context, a judge, a side.

From the items' scores to its own.
"""

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.errors import PairscoreError
from pairscore.estimators.results import Effects, Judges


def comparison_scores(
    scores: np.ndarray, data: Comparisons, effects: Effects, judges: Judges | None
) -> np.ndarray:
    """eta of every comparison from the items' scores: with context, the judge's slope, and side."""
    delta = scores[data.left] - scores[data.right]
    for name, value in effects.of_kind("context").items():
        delta = delta + value * context_column(data, name)
    delta, sides = delta * judges_sharpness(data, judges), effects.of_kind("side")
    if not sides:
        return delta
    average, by_whom = (
        float(np.mean(list(sides.values()))),
        [] if data.judge is None else judge_names(data.judge),
    )
    return delta + (
        average
        if "left" in sides or not by_whom
        else np.array([sides.get(f"left, {name}", average) for name in by_whom])
    )


def judges_sharpness(data: Comparisons, judges: Judges | None) -> np.ndarray:
    """The slope of every comparison's judge; 1 for a judge not met before."""
    if judges is None or data.judge is None:
        return np.ones(len(data))
    slope_of = dict(zip(judge_names(judges.name), judges.slope.tolist(), strict=True))
    return np.array([slope_of.get(name, 1.0) for name in judge_names(data.judge)])


def context_column(data: Comparisons, name: str) -> np.ndarray:
    """A column of the context, which must be there."""
    if name not in data.context:
        raise PairscoreError(
            f"the comparisons lack the context {name!r}; read them with"
            f" Comparisons.from_frames(items, votes, context=[{name!r}, ...])."
        )
    return data.context[name]


def judge_names(judge: np.ndarray) -> list[str]:
    """What judges are called, as text: 1.0 is judge 1, as it was before some value was missing."""
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in judge.tolist()
    ]
