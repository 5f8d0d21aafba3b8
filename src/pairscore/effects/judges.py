"""The judges of some comparisons: how many there are, and whether they are enough for intervals."""

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from pairscore.core.normal_average import normal_grid
from pairscore.core.significance import normal_width, z_and_p
from pairscore.core.ties import OutcomeLaw
from pairscore.data.comparisons import Comparisons
from pairscore.data.judges import judge_labels
from pairscore.display import first_few, plural

# The share of wrong votes is a smooth function of the slope: worked out at some slopes, over some
# comparisons, so that thousands of judges cost what hundreds do; it is shown with two digits.
MOST_SLOPES = 400
SHOWN_PAIRS = 1000
REACH = normal_width(0.95)  # of an interval, in standard errors


@dataclass(frozen=True)
class Judges:
    """One entry per judge: name, comparisons judged, slope with its standard error (1 is the
    average judge), wrong votes as a share with its interval.
    """

    name: np.ndarray
    n_comparisons: np.ndarray
    slope: np.ndarray
    std_error: np.ndarray
    noise: np.ndarray
    noise_low: np.ndarray
    noise_high: np.ndarray
    spread: float

    @property
    def inverted(self) -> np.ndarray:
        """Judges who surely vote against the others."""
        return self.slope + REACH * self.std_error < 0

    @property
    def spammers(self) -> np.ndarray:
        """Judges whose votes may as well be a coin's, while those of half a normal judge's
        sharpness are ruled out.
        """
        half = REACH * self.std_error
        return ~self.inverted & (self.slope - half <= 0) & (self.slope + half < 0.5)

    @property
    def in_words(self) -> str:
        parts = [
            f"{plural(len(self.name), 'judge')}, slopes from {self.slope.min():.2f} to"
            f" {self.slope.max():.2f} (spread {self.spread:.2f})"
        ]
        for what, mask in (("against the others", self.inverted), ("like a coin", self.spammers)):
            if mask.any():
                verb, names = "votes" if mask.sum() == 1 else "vote", self.name[mask].tolist()
                some = first_few(map(repr, names))
                parts.append(f"{plural(int(mask.sum()), 'judge')} {verb} {what}: {some}")
        return "; ".join(parts)

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists, sharpest judge first; z and p are of a slope of 1."""
        order = np.argsort(-self.slope, kind="stable")
        names = ("name", "n_comparisons", "slope", "std_error", "noise", "noise_low", "noise_high")
        kind = np.where(self.inverted, "inverted", np.where(self.spammers, "coin", ""))
        z, p = z_and_p(self.slope - 1, self.std_error)
        further = {"remark": kind, "z": z, "p": p}
        columns = {name: getattr(self, name) for name in names} | further
        return {name: column[order].tolist() for name, column in columns.items()}


@dataclass(frozen=True)
class VotesSeen:
    """Score differences of the comparisons at hand, how often each counts, and how unsure each is
    (a standard deviation).
    """

    law: OutcomeLaw
    delta: np.ndarray
    amount: np.ndarray
    unsure: np.ndarray | float = 0.0

    def wrong(self, slopes: np.ndarray) -> np.ndarray:
        """For each slope the share of decided votes that contradict the true order."""
        some = slice(None, None, max(len(self.delta) // SHOWN_PAIRS, 1))
        sd = np.broadcast_to(self.unsure, self.delta.shape)[some]
        z, chance = normal_grid(0.0) if np.any(sd > 0) else (np.zeros(1), np.ones(1))
        size = np.abs(self.delta[some, None] + sd[:, None] * z)
        weight = self.amount[some, None] * chance
        shown = np.unique(slopes)
        if len(shown) > MOST_SLOPES:  # the share is a smooth function of the slope
            shown = np.linspace(shown[0], shown[-1], MOST_SLOPES)
        shares = [self.law.share_flipped(one * size, weight) for one in shown]
        return np.interp(slopes, shown, shares)


def judge_table(
    names: np.ndarray,
    number: np.ndarray,
    slope: np.ndarray,
    std_error: np.ndarray,
    spread: float,
    votes: VotesSeen,
) -> Judges:
    """The table, with the share of wrong votes that each slope means on the comparisons at hand."""
    wrong = votes.wrong
    return Judges(
        names,
        number,
        slope,
        std_error,
        wrong(slope),
        wrong(slope + REACH * std_error),
        wrong(slope - REACH * std_error),
        spread,
    )


def judges_sharpness(data: Comparisons, judges: Judges | None) -> np.ndarray:
    """The slope of every comparison's judge; 1 for a judge not met before."""
    if judges is None or data.judge is None:
        return np.ones(len(data))
    slope_of = dict(zip(judge_labels(judges.name), judges.slope.tolist(), strict=True))
    return np.fromiter(map(slope_of.get, judge_labels(data.judge), repeat(1.0)), float, len(data))


def slope_errors(data: Comparisons, judges: Judges | None) -> np.ndarray:
    """Standard error of the slope of every comparison's judge, (M,).

    A judge not met before differs from the average as judges do; without judges, the average judge
    is meant.
    """
    if judges is None or data.judge is None:
        return np.zeros(len(data))
    error_of = dict(zip(judge_labels(judges.name), judges.std_error.tolist(), strict=True))
    names = judge_labels(data.judge)
    return np.fromiter(map(error_of.get, names, repeat(judges.spread)), float, len(data))
