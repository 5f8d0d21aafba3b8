"""Judges: how sharp each of them is, with shrinkage, as a slope and as a share of wrong votes.

A slope is a judge's sharpness: slope ~ N(1, spread^2), and the slopes of the judges at hand average
to exactly 1 (the prior alone would let all slopes shrink together while the scores grow). Judges of
whom the votes say too little have no slope of their own.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar

from pairscore.core.normal_average import averaged_derivatives
from pairscore.core.ties import OutcomeLaw
from pairscore.data.judges import FEW_JUDGES, judge_labels
from pairscore.display import plural
from pairscore.effects.design import PreparedFit
from pairscore.effects.expectation_propagation import Cavities, Posterior, cavities
from pairscore.effects.item_covariance import MOST_ENTRIES, FormedCovariance
from pairscore.effects.judges import Judges, VotesSeen, judge_table
from pairscore.effects.single_comparisons import SingleComparisons, scale_rows
from pairscore.errors import FewJudgesWarning, SeparationWarning
from pairscore.estimators.estimate import Note
from pairscore.estimators.settings import Settings

# The spread of slopes: below the least one judges are alike for any use, beyond the largest a third
# of them would vote against the others, and near it (CONTRADICTING) it would rather be endless.
SMALLEST_SPREAD, LARGEST_SPREAD = 0.02, 2.0
CONTRADICTING = 0.99 * LARGEST_SPREAD
N_SPREADS = 100  # that are averaged over, 5 % apart: more cost time, fewer show as steps
# Of a slope, to have one: a standard error of 0.7. Slopes are shrunk, so that little is lost: with
# 30 answers each of 40 judges, half of them careless, log-loss was .598 without slopes, .548 at 4,
# .516 at 2, .510 at 1; with 15 answers .601, .596, .560, .542; and the same within .0008 where all
# judges are alike (four studies each). Fewer answers may run away where all have few.
ENOUGH_INFORMATION = 2.0
# Of what is known of a slope, at least LEAST_KNOWN is left by items and theta: the share is that of
# linear equations, and noise where it is small; NO_INFORMATION keeps divisions.
LEAST_KNOWN, NO_INFORMATION = 0.05, 1e-9
MOST_KNOWN = 0.9  # share of comparisons that an earlier fit had, to start from its slopes
# Steps of slopes: beyond LONGEST_STEP the rest has to follow first; one that leads back by more
# than SWINGS_ON of the last would not die away, and is halved, to LEAST_DAMPING: less would creep.
LONGEST_STEP = 0.5
SWINGS_ON = 0.7
LEAST_DAMPING = 0.1


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
class SlopeEquations:
    """Of every judge (J): the score of the slope, its information if scores were known, and with
    all else allowed for.
    """

    score: np.ndarray
    known: np.ndarray
    information: np.ndarray


def slope_equations(post: Posterior) -> SlopeEquations:
    """The slopes' equations at the present posterior of everything else.

    With cavity N(c, v) of delta, log Z depends on the slope a through the mean a c and the variance
    a^2 v of eta, and d log Z / d(variance) = (g^2 - h) / 2: the score of a comparison is
    g c + a v (g^2 - h), and its information the expected square of that. What not knowing effects
    of items and theta takes off it is a share, taken from the equations that are linear in eta.
    """
    rows, s = post.rows, post.derivatives
    n_judges, others = rows.n_judges, cavities(post)
    center, variance = others.delta, others.variance
    score, information = _slope_scores(post, others)
    linear = s.eta_eta * center
    at = np.tile(rows.judge, 2), np.concatenate([rows.left, rows.right])
    cross = np.concatenate([linear, -linear]) * np.tile(rows.sharpness, 2)
    on_items = sparse.csr_array((cross, at), shape=(n_judges, len(rows.X)))
    by_judge = sparse.csr_array(
        (np.ones(len(linear)), (rows.judge, np.arange(len(linear)))),
        shape=(n_judges, len(linear)),
    )
    of_effects = (by_judge @ scale_rows(linear, rows.columns)).toarray()
    of_ties = [by_judge @ (s.eta_t * center)] * rows.rule.has_parameter
    across = np.column_stack([on_items @ (rows.X - rows.mean), of_effects, *of_ties])
    across -= on_items @ post.solved
    own = rows.sharpness**2 * post.tau * variance
    alone = np.bincount(rows.judge, linear * center / (1 + own), n_judges)
    known = np.bincount(rows.judge, linear * center, n_judges)
    left = known - _through_items(post, on_items)
    left -= np.sum((across @ post.basis.transform) ** 2, axis=1)
    share = np.divide(left, alone, out=np.ones(n_judges), where=alone > 0)
    information = np.clip(share, LEAST_KNOWN, 1.0) * information
    return SlopeEquations(score, known, np.maximum(information, NO_INFORMATION))


def _slope_scores(post: Posterior, others: Cavities) -> tuple[np.ndarray, np.ndarray]:
    """Of every judge (J): the sum of the comparisons' scores, and of their expected squares."""
    rows, law = post.rows, OutcomeLaw(post.rows.rule, post.rows.tie(post.theta))
    center, square = others.law_of_eta()
    eta, sd = center + rows.side(post.theta), np.sqrt(square)
    score, information = np.zeros((2, len(eta)))
    for outcome in (-1.0, 1.0, 0.0)[: 2 + rows.rule.has_parameter]:
        s = averaged_derivatives(law, eta, sd, np.full(len(eta), outcome))
        in_variance = others.slope * others.variance * (s.eta**2 - s.eta_eta)
        one = s.eta * others.delta + in_variance
        information += np.exp(s.value) * one**2
        seen = rows.outcome == outcome
        score[seen] = one[seen]
        if not rows.rule.has_parameter:
            score[rows.outcome == 0] += 0.5 * one[rows.outcome == 0]
    sums = (
        np.bincount(rows.judge, rows.amount * part, rows.n_judges) for part in (score, information)
    )
    return next(sums), next(sums)


def _through_items(post: Posterior, on_items: sparse.csr_array) -> np.ndarray:
    """What not knowing the items' effects takes off the information of each slope (J)."""
    covariance = post.covariance
    if isinstance(covariance, FormedCovariance) and np.prod(on_items.shape) <= MOST_ENTRIES:
        columns = on_items.T.toarray()
        return np.sum(columns * covariance.times(columns), axis=0)
    return on_items.power(2) @ covariance.diagonal


@dataclass(frozen=True)
class Slopes:
    """Slopes of all judges (J) with their variance, and the spread among them.

    Judges who are not among those with slopes of their ``own`` are taken for average. ``step`` is
    the last one that the equations asked for, and ``damping`` the share of it that was gone.
    """

    slope: np.ndarray
    variance: np.ndarray
    spread: float
    own: np.ndarray
    step: np.ndarray | None = None
    damping: float = 1.0

    @classmethod
    def average(cls, n_judges: int, own: np.ndarray) -> "Slopes":
        return cls(np.ones(n_judges), np.zeros(n_judges), 0.0, own)


def step_slopes(post: Posterior, before: Slopes | None, prepared: PreparedFit) -> Slopes:
    """One step of Newton's method towards the maximum of the slopes' likelihood with their prior.

    The spread is what the slopes show. The first step finds who has a slope of their own, and goes
    to those of an earlier fit if there is one.
    """
    equations, n_judges = slope_equations(post), post.rows.n_judges
    is_first = before is None
    if before is None:
        before = Slopes.average(n_judges, np.flatnonzero(equations.known >= ENOUGH_INFORMATION))
    own = before.own
    if len(own) < 2:
        return Slopes.average(n_judges, own[:0])
    slope, alone = before.slope[own], 1 / equations.information[own]
    free = slope + equations.score[own] * alone  # without the prior's pull
    spread = spread_of_slopes(free, alone)
    kept = 1 / (equations.information[own] + 1 / spread**2)
    step = kept * (equations.score[own] - (slope - 1) / spread**2)
    step -= kept / kept.sum() * step.sum()  # slopes keep their average
    step *= LONGEST_STEP / max(float(np.abs(step).max()), LONGEST_STEP)
    damping = _damping(step, before)
    slopes, variance = np.ones(n_judges), np.zeros(n_judges)
    slopes[own], variance[own] = slope + damping * step, variance_over_spreads(free, alone)
    after = Slopes(slopes, variance, spread, own, step, damping)
    return _as_before(after, prepared) if is_first else after


def _damping(step: np.ndarray, before: Slopes) -> float:
    """Half of the share before, if a step leads back about as far as the last one came.

    Slopes and the rest are found in turn, and with few judges might swing about the maximum.
    """
    last = before.step
    if last is None or float(step @ last) > -SWINGS_ON * float(last @ last):
        return before.damping
    return max(before.damping / 2, LEAST_DAMPING)


def _as_before(slopes: Slopes, prepared: PreparedFit) -> Slopes:
    """With the slopes of an earlier fit, for the judges who have one of their own.

    Where many comparisons are new, a first step leads about as near.
    """
    earlier = None if prepared.earlier is None else prepared.earlier.judges
    if earlier is None or earlier.n_comparisons.sum() < MOST_KNOWN * prepared.rows.n_comparisons:
        return slopes
    own, found = slopes.own, np.array([earlier.slope, earlier.std_error**2])
    known = dict(zip(judge_labels(earlier.name), found.T, strict=True))
    slope, variance = slopes.slope.copy(), slopes.variance.copy()
    for judge, name in zip(own, judge_labels(prepared.judges[own]), strict=True):
        slope[judge], variance[judge] = known.get(name, (slope[judge], variance[judge]))
    slope[own] -= slope[own].mean() - 1  # slopes keep their average
    return replace(slopes, slope=slope, variance=np.nan_to_num(variance))


def with_slopes(rows: SingleComparisons, slopes: Slopes) -> SingleComparisons:
    """Comparisons by judges with these slopes."""
    return replace(rows, slopes=slopes.slope, slope_variance=slopes.variance)


def judges_of_slopes(
    post: Posterior, slopes: Slopes, prepared: PreparedFit, scale: float
) -> Judges:
    """The table of judges, as an average judge's decided votes go, at a scale of their own."""
    rows, spread = post.rows, slopes.spread
    error = np.full(rows.n_judges, spread if spread else np.nan)
    error[slopes.own] = np.sqrt(slopes.variance[slopes.own])
    number = np.bincount(rows.judge, prepared.rows.amount, rows.n_judges)
    unsure = np.sqrt(post.covariance.pair_variance[rows.pair])
    law = OutcomeLaw(rows.rule, rows.tie(post.theta), scale)
    votes = VotesSeen(law, post.delta, rows.amount, unsure)
    return judge_table(prepared.judges, number, slopes.slope, error, spread, votes)


def judge_notes(settings: Settings, n_judges: int, judges: Judges | None) -> list[Note]:
    """Too few judges, or votes, for what was asked of them."""
    notes: list[Note] = []
    if judges is not None and judges.spread == 0:
        why = "too few, or judges who contradict each other leave no common order"
        text = (
            f"fewer than two judges have enough comparisons for a separate slope ({why}); all are"
            " treated as average."
        )
        notes.append(FewJudgesWarning(text))
    if judges is not None and judges.spread > CONTRADICTING:
        text = (
            "about as many answers contradict the common order as agree with it, so slopes that"
            " average to 1 have no finite size, and scores have no unit; leave out the judges who"
            " contradict the others, or reverse their answers."
        )
        notes.append(SeparationWarning(text))
    if settings.inference == "items+judges" and n_judges < FEW_JUDGES:
        text = (
            f"with {plural(n_judges, 'judge')}, intervals that allow for shared judges are rough;"
            " read them with care."
        )
        notes.append(FewJudgesWarning(text))
    return notes
