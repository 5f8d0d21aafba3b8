"""What a comparison has beside its items: effects of context, side and ties, with errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.core.significance import z_and_p
from pairscore.data.comparisons import Comparisons
from pairscore.data.judges import judge_labels
from pairscore.effects.judges import Judges, judges_sharpness
from pairscore.errors import PairscoreError
from pairscore.messages import Action, Setting


@dataclass(frozen=True)
class Effects:
    """What a comparison has beside its items, in the order of the covariance.

    ``kinds`` are context, side or tie; ``df_error`` is as in :class:`Fit`.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: np.ndarray
    std_errors: np.ndarray
    df_error: float | None = None

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists."""
        z, p = z_and_p(self.values, self.std_errors, self.df_error)
        columns = {"coef": self.values, "std_error": self.std_errors, "z": z, "p": p}
        names = {"name": list(self.names), "kind": list(self.kinds)}
        return names | {name: column.tolist() for name, column in columns.items()}

    def of_kind(self, kind: str) -> dict[str, float]:
        """Values of the effects of one kind, by name."""
        rows = zip(self.names, self.kinds, self.values.tolist(), strict=True)
        return {name: value for name, its_kind, value in rows if its_kind == kind}


def comparison_scores(
    scores: np.ndarray, data: Comparisons, effects: Effects | None, judges: Judges | None
) -> np.ndarray:
    """eta of every comparison from the items' scores: with context, the judge's slope, and side."""
    delta = scores_in_context(scores, data, effects) * judges_sharpness(data, judges)
    sides = {} if effects is None else effects.of_kind("side")
    if not sides:
        return delta
    average, by_whom = (
        float(np.mean(list(sides.values()))),
        [] if data.judge is None else judge_labels(data.judge),
    )
    return delta + (
        average
        if "left" in sides or not by_whom
        else np.array([sides.get(f"left, {name}", average) for name in by_whom])
    )


def scores_in_context(scores: np.ndarray, data: Comparisons, effects: Effects | None) -> np.ndarray:
    """delta of every comparison from the items' scores, which a judge's slope stretches."""
    delta = scores[data.left] - scores[data.right]
    for name, value in ({} if effects is None else effects.of_kind("context")).items():
        delta = delta + value * context_column(data, name)
    return delta


def effect_columns(
    data: Comparisons, effects: Effects | None, side_effect: float | None, slope: np.ndarray
) -> np.ndarray:
    """How each comparison's score changes with each effect of the fit, shape (M, k).

    Context counts as much as the judge's ``slope``; a judge not met before has the average side;
    what ties have changes no score.
    """
    if effects is None:
        return np.ones((len(data), int(side_effect is not None)))
    sides = [name for name in effects.of_kind("side") if name != "left"]
    by_whom = [] if data.judge is None or not sides else judge_labels(data.judge)
    own = np.array([f"left, {name}" for name in by_whom])
    columns = np.zeros((len(data), len(effects.names)))
    for place, (name, kind) in enumerate(zip(effects.names, effects.kinds, strict=True)):
        if kind == "context":
            columns[:, place] = slope * context_column(data, name)
        elif kind == "side" and name == "left":
            columns[:, place] = 1.0
        elif kind == "side":
            columns[:, place] = 1 / len(sides)
            if len(own):
                met = np.isin(own, sides)
                columns[met, place] = own[met] == name
    return columns


def context_column(data: Comparisons, name: str) -> np.ndarray:
    """A column of the context, which must be there."""
    if name not in data.context:
        reader = Action("Comparisons.from_frames") + " and " + Setting("context", [name])
        if not data.votes.has_outcomes:
            reader = Action("Comparisons.from_pairs") + " and " + Setting(name)
        raise PairscoreError(
            f"the comparisons lack the context {name!r}", "read them with " + reader
        )
    return data.context[name]
