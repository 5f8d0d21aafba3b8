"""Judges: how sharp each of them is, with shrinkage, as a slope and as a share of wrong votes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from pairscore.errors import first_few, plural
from pairscore.outcomes import OutcomeLaw, normal_grid

SMALLEST_SPREAD = 0.02  # judges who differ less than this are alike
LARGEST_SPREAD = 5.0
ENOUGH_INFORMATION = 4.0  # of a slope: a standard error of a half
N_SPREADS = 100  # that are averaged over
SHOWN_PAIRS = 1000  # comparisons that stand for all in the share of wrong votes
REACH = 1.959963984540054  # of a 95 % interval, in standard errors


@dataclass(frozen=True)
class Judges:
    """One entry per judge: name, comparisons judged, slope with its standard error (1 is the average judge), wrong votes as a share with its interval."""

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
        """Judges whose votes may as well be a coin's, while those of half a normal judge's sharpness are ruled out."""
        return ~self.inverted & (self.slope - REACH * self.std_error <= 0) & (self.slope + REACH * self.std_error < 0.5)

    @property
    def in_words(self) -> str:
        parts = [f"{plural(len(self.name), 'judge')}, slopes from {self.slope.min():.2f} to {self.slope.max():.2f} (spread {self.spread:.2f})"]
        for what, mask in (("against the others", self.inverted), ("like a coin", self.spammers)):
            if mask.any():
                verb = "votes" if mask.sum() == 1 else "vote"
                parts.append(f"{plural(int(mask.sum()), 'judge')} {verb} {what}: {first_few(map(repr, self.name[mask].tolist()))}")
        return "; ".join(parts)

    def to_columns(self) -> dict[str, list[Any]]:
        """The table as lists, sharpest judge first."""
        order = np.argsort(-self.slope, kind="stable")
        names = ("name", "n_comparisons", "slope", "std_error", "noise", "noise_low", "noise_high")
        kind = np.where(self.inverted, "inverted", np.where(self.spammers, "coin", ""))
        return {name: getattr(self, name)[order].tolist() for name in names} | {"remark": kind[order].tolist()}


def spread_of_slopes(slope: np.ndarray, variance: np.ndarray) -> float:
    """Maximum likelihood of the spread, from slopes without shrinkage and their variances: slope ~ N(1, spread^2 + variance)."""
    ends = (float(np.log(SMALLEST_SPREAD)), float(np.log(LARGEST_SPREAD)))
    return float(np.exp(minimize_scalar(lambda log_spread: spread_loss(np.exp(log_spread), slope, variance), bounds=ends, method="bounded").x))


def spread_loss(spread: float, slope: np.ndarray, variance: np.ndarray) -> float:
    """Minus twice the log-likelihood of a spread, given that the judges' true slopes average to 1.

    The two last terms say so. That takes away a degree of freedom: with equal variances v, and slopes that average to 1 themselves, they are
    -log(spread^2 + v) and a constant.
    """
    total, gap = spread**2 + variance, slope - 1
    left_open = np.sum(variance / total)
    return float(np.sum(np.log(total) + gap**2 / total) + np.log(left_open) + spread**2 * np.sum(gap / total) ** 2 / left_open)


def variance_over_spreads(slope: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Variance of each true slope, given all else but the spread, which is averaged over: every spread is as likely beforehand as any other.

    With one spread taken for true, slopes would seem too sure where judges are few or alike, and that one may be near zero.
    """
    spreads = np.geomspace(SMALLEST_SPREAD, LARGEST_SPREAD, N_SPREADS)
    loss = np.array([spread_loss(spread, slope, variance) for spread in spreads])
    chance = np.exp(-0.5 * (loss - loss.min())) * spreads  # these stand in steps that grow as they do
    kept = spreads[:, None] ** 2 / (spreads[:, None] ** 2 + variance)
    own = kept * variance
    share = own / own.sum(axis=1, keepdims=True)
    mean = kept * (slope - 1) - share * (kept @ (slope - 1))[:, None]
    average = np.average(mean, axis=0, weights=chance)
    return np.average(own * (1 - share) + (mean - average) ** 2, axis=0, weights=chance)


@dataclass(frozen=True)
class VotesSeen:
    """Score differences of the comparisons at hand, how often each counts, and how unsure each is (a standard deviation)."""

    law: OutcomeLaw
    delta: np.ndarray
    amount: np.ndarray
    unsure: np.ndarray | float = 0.0

    def wrong(self, slopes: np.ndarray) -> np.ndarray:
        """For each slope the share of decided votes that go against the true order."""
        some = slice(None, None, max(len(self.delta) // SHOWN_PAIRS, 1))
        sd = np.broadcast_to(self.unsure, self.delta.shape)[some]
        z, chance = normal_grid(0.0) if np.any(sd > 0) else (np.zeros(1), np.ones(1))
        size = np.abs(self.delta[some, None] + sd[:, None] * z)
        weight = self.amount[some, None] * chance
        return np.array([self.law.share_flipped(one * size, weight) for one in slopes])


def judge_table(names: np.ndarray, number: np.ndarray, slope: np.ndarray, std_error: np.ndarray, spread: float, votes: VotesSeen) -> Judges:
    """The table, with the share of wrong votes that each slope means on the comparisons at hand."""
    wrong = votes.wrong
    return Judges(names, number, slope, std_error, wrong(slope), wrong(slope + REACH * std_error), wrong(slope - REACH * std_error), spread)
