"""Judges: how sharp each of them is, with shrinkage, as a slope and as a share of wrong votes."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from pairscore.core.outcomes import OutcomeLaw, normal_grid
from pairscore.effects.item_posterior import (
    EXACT_ITEMS,
    posterior_covariance,
    posterior_mode,
    precision_matrix,
    tree_variances,
)
from pairscore.effects.shared_items import Seen
from pairscore.estimators.results import REACH, Judges

SMALLEST_SPREAD = 0.02  # judges who differ less than this are alike
LARGEST_SPREAD = 5.0
ENOUGH_INFORMATION = 4.0  # of a slope: a standard error of a half
N_SPREADS = 100  # that are averaged over
SHOWN_PAIRS = 1000  # comparisons that stand for all in the share of wrong votes


def spread_of_slopes(slope: np.ndarray, variance: np.ndarray) -> float:
    """Maximum likelihood of the spread, from slopes without shrinkage and their variances.

    Slope ~ N(1, spread^2 + variance).
    """
    ends = (float(np.log(SMALLEST_SPREAD)), float(np.log(LARGEST_SPREAD)))
    return float(
        np.exp(
            minimize_scalar(
                lambda log_spread: spread_loss(np.exp(log_spread), slope, variance),
                bounds=ends,
                method="bounded",
            ).x
        )
    )


def spread_loss(spread: float, slope: np.ndarray, variance: np.ndarray) -> float:
    """Minus twice the log-likelihood of a spread, given that the judges' true slopes average to 1.

    The two last terms say so. That takes away a degree of freedom: with equal variances v, and
    slopes that average to 1 themselves, they are
    -log(spread^2 + v) and a constant.
    """
    total, gap = spread**2 + variance, slope - 1
    left_open = np.sum(variance / total)
    return float(
        np.sum(np.log(total) + gap**2 / total)
        + np.log(left_open)
        + spread**2 * np.sum(gap / total) ** 2 / left_open
    )


def variance_over_spreads(slope: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Variance of each true slope, given all else but the spread, which is averaged over.

    Every spread is as likely beforehand as any other.

    With one spread taken for true, slopes would seem too sure where judges are few or alike, and
    that one may be near zero.
    """
    spreads = np.geomspace(SMALLEST_SPREAD, LARGEST_SPREAD, N_SPREADS)
    loss = np.array([spread_loss(spread, slope, variance) for spread in spreads])
    # these stand in steps that grow as they do
    chance = np.exp(-0.5 * (loss - loss.min())) * spreads
    kept = spreads[:, None] ** 2 / (spreads[:, None] ** 2 + variance)
    own = kept * variance
    share = own / own.sum(axis=1, keepdims=True)
    mean = kept * (slope - 1) - share * (kept @ (slope - 1))[:, None]
    average = np.average(mean, axis=0, weights=chance)
    return np.average(own * (1 - share) + (mean - average) ** 2, axis=0, weights=chance)


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
        """For each slope the share of decided votes that go against the true order."""
        some = slice(None, None, max(len(self.delta) // SHOWN_PAIRS, 1))
        sd = np.broadcast_to(self.unsure, self.delta.shape)[some]
        z, chance = normal_grid(0.0) if np.any(sd > 0) else (np.zeros(1), np.ones(1))
        size = np.abs(self.delta[some, None] + sd[:, None] * z)
        weight = self.amount[some, None] * chance
        distinct, code = np.unique(slopes, return_inverse=True)
        return np.array([self.law.share_flipped(one * size, weight) for one in distinct])[code]


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


MOST_JUDGES = 500  # whose information is inverted as a whole


LONGEST_STEP = 0.5


@dataclass(frozen=True)
class Judged:
    """Rows of comparisons as ``Seen`` has them, with what each is about (``delta``), what its side
    adds, and who judged.
    """

    rows: Seen
    delta: np.ndarray
    side: np.ndarray
    judge: np.ndarray
    n_judges: int

    def at(self, slopes: np.ndarray) -> Seen:
        sharpness = slopes[self.judge]
        return replace(self.rows, eta=sharpness * self.delta + self.side, sharpness=sharpness)

    def per_judge(self, rows: np.ndarray) -> np.ndarray:
        return np.bincount(self.judge, rows, self.n_judges)


@dataclass(frozen=True)
class Sharpness:
    """Slopes of all judges with their variance, and the spread among them.

    Judges who are not among those with slopes of their ``own`` are taken for average.
    """

    slope: np.ndarray
    variance: np.ndarray
    spread: float
    own: np.ndarray
    equations: "Equations"

    def answer(self, scores: np.ndarray) -> np.ndarray:
        """How slopes move if the items' scores move (items x directions)."""
        return (
            self.equations.solved(self.equations.on_items @ scores, self.own, self.spread)
            if len(self.own)
            else np.zeros((len(self.slope), scores.shape[1]))
        )


@dataclass(frozen=True)
class Equations:
    """Of every judge: the score of the slope, its information at known effects, and how the score
    answers to effects (judges x items).

    ``missing`` is what not knowing the effects takes off the information: a matrix, or of many
    judges only its diagonal.
    """

    score: np.ndarray
    known: np.ndarray
    missing: np.ndarray
    on_items: sparse.csr_array

    @property
    def information(self) -> np.ndarray:
        """Of each slope by itself."""
        return self.known - (np.diag(self.missing) if self.missing.ndim == 2 else self.missing)

    def solved(self, right: np.ndarray, own: np.ndarray, spread: float) -> np.ndarray:
        """Inverse of the information, with the prior, of the judges' ``own`` slopes, times
        ``right``; among slopes that keep their average.
        """
        prior = 1 / spread**2  # the votes never take information away
        if self.missing.ndim == 2:
            values, vectors = np.linalg.eigh(
                np.diag(self.known[own] + prior) - self.missing[np.ix_(own, own)]
            )
            inverse = (vectors / np.maximum(values, prior)) @ vectors.T
            answer, reach = inverse @ right[own], inverse.sum(axis=1)
        else:
            reach = 1 / np.maximum(self.information[own] + prior, prior)
            answer = (reach * right[own].T).T
        kept = np.zeros(right.shape)
        kept[own] = answer - np.multiply.outer(reach / reach.sum(), answer.sum(axis=0))
        return kept


def slope_equations(judged: Judged, slopes: np.ndarray, sigma2: float) -> Equations:
    """The slopes' equations, averaged over the posterior of the effects."""
    seen, pairs = judged.at(slopes), judged.rows.pairs
    effect, information = posterior_mode(seen, sigma2)
    inverse = (
        posterior_covariance(precision_matrix(pairs, information, sigma2))
        if pairs.n_items <= EXACT_ITEMS
        else None
    )
    variance, shared = (
        tree_variances(pairs, information, sigma2)
        if inverse is None
        else (np.diag(inverse), inverse[pairs.low, pairs.high])
    )
    sd = np.sqrt(np.maximum(variance[pairs.low] + variance[pairs.high] - 2 * shared, 0.0))
    score, known, cross = _averaged_derivatives(
        judged, seen, pairs.differences(effect)[seen.place], sd[seen.place]
    )
    at = np.tile(judged.judge, 2), np.concatenate([pairs.low[seen.place], pairs.high[seen.place]])
    on_items = sparse.csr_array(
        (np.concatenate([cross, -cross]), at), shape=(judged.n_judges, pairs.n_items)
    )
    whole = inverse is not None and judged.n_judges <= MOST_JUDGES
    missing = on_items @ (on_items @ inverse).T if whole else on_items.power(2) @ variance
    return Equations(judged.per_judge(score), judged.per_judge(known), missing, on_items)


def _averaged_derivatives(
    judged: Judged, seen: Seen, moved: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each row's log-likelihood, with delta moved by the effects and by sd z.

    In the slope, minus twice in the slope, and in slope and effects.
    """
    sharpness = seen.sharpened(np.ones(len(moved)))
    score, known, cross = np.zeros((3, len(moved)))
    for z, weight in zip(
        *normal_grid(float(np.max(np.abs(sharpness) * sd, initial=0.0))), strict=True
    ):
        delta = judged.delta + moved + sd * z
        of_eta, information = seen.law.newton(sharpness * delta + judged.side, seen.win, seen.lose)
        score += weight * of_eta * delta
        known += weight * information * delta**2
        cross += weight * (of_eta - information * sharpness * delta)
    return score, known, cross


def sharpened(judged: Judged, sigma2: float, before: Sharpness | None) -> Sharpness:
    """One step of Newton's method towards the maximum of the slopes' likelihood with the prior N(1,
    spread^2), averaging to one.

    The spread is what the slopes show. Judges of whom the comparisons say too little have no slope
    of their own.
    """
    slopes = np.ones(judged.n_judges) if before is None else before.slope
    found = slope_equations(judged, slopes, sigma2)
    own = np.flatnonzero(found.known >= ENOUGH_INFORMATION) if before is None else before.own
    if len(own) < 2:
        return Sharpness(np.ones(judged.n_judges), np.zeros(judged.n_judges), 0.0, own[:0], found)
    alone = 1 / np.maximum(found.information[own], 1e-9)
    free = slopes[own] + found.score[own] * alone  # without the prior's pull
    spread = spread_of_slopes(free, alone)
    step = found.solved(found.score - (slopes - 1) / spread**2, own, spread)
    variance = np.zeros(judged.n_judges)
    variance[own] = variance_over_spreads(free, alone)
    return Sharpness(
        slopes + step * min(1.0, LONGEST_STEP / max(np.abs(step).max(), 1e-300)),
        variance,
        spread,
        own,
        found,
    )
