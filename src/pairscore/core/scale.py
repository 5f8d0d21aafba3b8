"""The scale of scores on a link, by all comparisons and by decided ones.

:func:`scale_pass` goes once through comparisons with given differences of scores. Its sums say how
the log-likelihood changes with the scale: under logit by six derivatives, so that one pass near the
best scale is enough (:func:`best_scale`).

A tie that counts as half a win each way pulls f(eta) towards 1/2. That is right for the mean
outcome (1, 1/2 or 0), but of decided comparisons left wins more often, or less often, than f(eta).
A rule with a parameter is right for both if ties come about as it says, and else it is not. In
either case decided comparisons are asked: their chances are those at scale * eta, with the scale
of :func:`decided_scale`.

With ties as half wins the outcome has variance p (1 - p) - P(tie)/4, p its mean, less than a coin.
P(tie) is not known without a rule, but ties are seen: :func:`share_of_coin`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairscore.core import passes
from pairscore.core.links import Link, OutcomeSums, blocks_of, small_part
from pairscore.core.normal_average import grid_for
from pairscore.core.optimise import FISHER_GAP, Step, minimise, root_near, series_at, solve_falling
from pairscore.core.passes import add_net, as_outcomes, doubles, same_kind
from pairscore.core.threads import on_each, row_chunks
from pairscore.core.ties import OutcomeLaw

PRIOR_SD = 2.5  # of the scores' own standard deviation, under the link: the prior of separation
LARGEST = 10.0  # logarithm of a scale; the prior holds it far below
PRECISION = 1e-7  # of that logarithm
MAX_STEPS = 100
SAMPLE, CHUNK = 40_000, 16_384  # comparisons of a first look, and at a time
LARGEST_STRIDE = 16  # in a sample; from a smaller one, all comparisons would be looked at once more
TOL = 1e-11  # gap to the maximum, per comparison, before the last step
LARGEST_SPREAD = 3.0  # of the scores, in units of the link, from which a fit is started
SMALLEST_SHARE = 0.05  # of a coin's variance; with less left, nearly all comparisons tied
TINY = float(np.finfo(float).tiny)
ONE_NODE = (np.zeros(1), np.ones(1))  # of z, where nothing is unknown
Nodes = tuple[np.ndarray, np.ndarray]
Pull = Callable[..., np.ndarray]
NEAR = 0.01  # share of a scale within which a series has ten digits, and mostly all
NO_ROWS = np.empty(0, dtype=np.int32)
# the sums of a scale pass
EX, E, IXX, IX, INFO, WRONG, DECIDED, RIGHT = range(8)


# -- one pass over comparisons -----------------------------------------------------------------


def scale_pass(
    difference: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray,
    params: np.ndarray,
    link: Link,
    series: bool = False,
    added: tuple[np.ndarray, np.ndarray, np.ndarray, bool] | None = None,
) -> np.ndarray:
    """Derivatives of the log-likelihood of params[0] * difference + params[1] (M), and outcomes.

    Parameters
    ----------
    series : bool
        Whether to take further derivatives in params[0], of a logit without a shift.
    added : left, right, net, of_scores
        What is added to ``net`` (N) for left items (M), and taken off for right ones: the scores of
        comparisons, or their amounts times differences.

    Returns
    -------
    Array (8), or (16) with a series: sums of score * difference, score, information *
    difference^2, information * difference, and information, which is the expected one; how many
    decided comparisons are expected to go against the predictions, how many are decided, and how
    many go as predicted; then what :func:`best_scale` and :func:`expected_wrong` take.
    """
    kernel = passes.kernels if link.is_logistic else None
    difference, outcome = doubles(difference), as_outcomes(outcome)
    left, right, net, of_scores = added or (NO_ROWS, NO_ROWS, np.empty(0), False)
    left, right = same_kind(left, right)

    def one(chunk: slice) -> np.ndarray:
        totals = np.zeros(16 if series else 8)
        for rows in blocks_of(chunk):
            x, won, number = difference[rows], outcome[rows], amount[rows]
            eta, ends = params[0] * x + params[1], (left[rows], right[rows])
            if kernel is not None:
                at = x, eta, small_part(eta), won, number
                kernel.logistic_scale_pass(*at, *ends, of_scores, totals, net)
                continue
            win, decided = number * (0.5 + 0.5 * won), number * (won != 0)
            score, weight = link.score(eta, win, number - win)
            weighted, wrong = weight * x, link.cdf(-np.abs(eta))
            totals[:WRONG] += score @ x, score.sum(), weighted @ x, weighted.sum(), weight.sum()
            totals[WRONG:8] += decided @ wrong, decided.sum(), decided @ (eta * won > 0)
            totals[8:] += _series(np.abs(x), wrong, number, decided) if series else ()
            if added is not None:
                add_net(*ends, score if of_scores else number * x, net)
        return totals

    chunks = row_chunks(len(outcome), 1) if added is None else [slice(0, len(outcome))]
    return np.sum(on_each(one, chunks), axis=0)


def _series(a: np.ndarray, p: np.ndarray, amount: np.ndarray, decided: np.ndarray) -> np.ndarray:
    """Derivatives w = p (1 - p), -w t, w (1 - 6 w), ... of a logit, times powers of a, all (M)."""
    w, t = p * (1 - p), 1 - 2 * p
    second, third, fourth = t, 1 - 6 * w, t * (1 - 12 * w)
    fall = a, a**2 * second, a**3 * third, a**4 * fourth
    rise = a**3 * second, a**4 * third, a**5 * fourth, a**6 * (1 - 30 * w + 120 * w**2)
    of_wrong = [decided * w @ of for of in fall]
    return np.array([*of_wrong[:2], *(amount * w @ of for of in rise), *of_wrong[2:]])


def best_scale(sums: np.ndarray, scale: float, ridge: float) -> float | None:
    """The likeliest scale with a ridge on its square / 2; None if it is not near.

    ``sums`` are those of a pass with a series at ``scale``.
    """
    slopes = np.array([1, -1, 1, -1, 1, -1]) * sums[[EX, IXX, 10, 11, 12, 13]]
    slopes[:2] -= ridge * scale, ridge
    step = root_near(slopes, NEAR * scale)
    return None if step is None else scale + step


def expected_wrong(sums: np.ndarray, step: float) -> float:
    """Amount of decided comparisons expected to go against scores at a scale larger by ``step``."""
    return series_at(np.array([1, -1, 1, -1, 1]) * sums[[WRONG, 8, 9, 14, 15]], step)


# -- the likeliest scale ------------------------------------------------------------------------


class ScaleDerivatives(NamedTuple):
    """Gradient and information at a scale, from the ``sums`` of a pass there.

    ``best`` is the likeliest scale, where a series finds it near.
    """

    gradient: np.ndarray
    information: np.ndarray
    sums: np.ndarray
    scale: float
    best: float | None

    def outcomes_at(self, scale: float) -> OutcomeSums | None:
        """How decided comparisons go at a scale near this one; None if it is not near."""
        step = scale - self.scale
        if self.best is None or abs(step) > NEAR * self.scale:
            return None
        decided, right = self.sums[[DECIDED, RIGHT]].tolist()
        return OutcomeSums(decided, right, expected_wrong(self.sums, step))


@dataclass(frozen=True)
class Scale:
    """coef = factor * closed form.

    ``factor`` includes ``guard``, the share of the closed form that is not overfitting. ``ridge``
    are the penalties on factor^2 / 2 and side effect^2 / 2 of the fit; ``last`` what the last look
    at all comparisons found.
    """

    factor: float
    side_effect: float
    guard: float = 1.0
    n_iterations: int = 0
    ridge: tuple[float, float] = (0.0, 0.0)
    last: ScaleDerivatives | None = None
    converged: bool = True


def initial_factor(spread: float, slope_at_zero: float) -> float:
    """Invert c1(q) q, the spread of a noiseless closed form, as if the link were a normal one.

    With f(x) = Phi(x / sigma): c1(q) q = 4 q phi(0) / sqrt(sigma^2 + 2 q^2), which tends to
    2/sqrt(pi). ``spread`` is the standard deviation of the closed form's scores.
    """
    if spread <= 0:
        return 1 / (4 * slope_at_zero)
    sigma = 1 / (np.sqrt(2 * np.pi) * slope_at_zero)
    rest = 8 / np.pi - 2 * spread**2
    q = sigma * spread / np.sqrt(rest) if rest > 0 else LARGEST_SPREAD
    return min(q, LARGEST_SPREAD) / spread


@dataclass(frozen=True)
class ScaleLikelihood:
    """Minus the log-likelihood of factor * difference + side effect, to be minimised.

    ``difference`` along the closed form, ``outcome`` and ``amount`` are arrays (M); ``penalty`` (2)
    is the ridge of both parameters. Without ``side`` the side effect stays at zero.
    """

    difference: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    link: Link
    penalty: np.ndarray
    side: bool

    def derivatives(self, params: np.ndarray) -> ScaleDerivatives:
        """By one pass over the comparisons."""
        series, rows = self.link.is_logistic and not self.side, (self.difference, self.outcome)
        sums = scale_pass(*rows, self.amount, params, self.link, series)
        gradient = self.penalty * params - sums[:2]
        information = np.diag(self.penalty) + sums[[2, 3, 3, 4]].reshape(2, 2)
        if not self.side:
            gradient[1], information[0, 1], information[1, 0] = 0.0, 0.0, 0.0
        best = best_scale(sums, params[0], self.penalty[0]) if series else None
        return ScaleDerivatives(gradient, information, sums, float(params[0]), best)

    def newton_step(self, params: np.ndarray, here: ScaleDerivatives, iteration: int) -> Step:
        """See :func:`scale_step`."""
        if here.best is not None:
            return Step(params - np.array([here.best, 0.0]), 0.0)
        return scale_step(params, here, float(self.amount.sum()), self.link)


def scale_step(params: np.ndarray, here: Any, n_comparisons: float, link: Link) -> Step:
    """Fisher's step, held to less than the factor itself and to one unit of the side effect.

    Where the factor goes to zero, the side effect goes to what is best at the factor that is left,
    and the gap is that to the best positive factor: a step of both, cut short for one of them, need
    not lead down. Other steps that are too long are shortened as a whole.

    ``here`` has the gradient (2) and the information (2 x 2) at factor and side effect. They are
    brought to one unit: along a closed form of tiny differences the information of its factor is
    tiny beside that of the side effect.
    """
    unit = np.sqrt(np.maximum(np.diag(here.information), TINY))
    standard = here.information / np.outer(unit, unit)
    step = np.linalg.lstsq(standard, here.gradient / unit, rcond=1e-14)[0] / unit
    if step[0] > (most := 0.9 * params[0]):
        of_side = here.gradient[1] - here.information[1, 0] * most
        step = np.array([most, of_side / max(here.information[1, 1], TINY)])
    gap = float(here.gradient @ step) / n_comparisons
    gap *= 1.0 if link.is_logistic else FISHER_GAP
    too_long = max(-step[0] / (1 + params[0]), abs(step[1]), 1.0)
    return Step(step / too_long, gap)


def fit_scale(
    difference: np.ndarray,
    outcome: np.ndarray,
    amount: np.ndarray,
    link: Link,
    start: float,
    side: bool,
    ridge: tuple[float, float] = (0.0, 0.0),
    max_iter: int = 50,
) -> Scale:
    """Maximise the log-likelihood of factor * difference + side effect by Newton's method.

    Parameters
    ----------
    difference, outcome, amount : arrays (M)
        Score differences along the closed form, who won (1, 0, -1), and what each counts.
    link : Link
    start : float
        Factor to start from.
    side : bool
        Whether there is a side effect.
    ridge : two floats
        The penalties on factor^2 / 2 and side effect^2 / 2.
    max_iter : int
        Of a first fit, to a sample of the comparisons, and of the one to all of them.
    """
    params, n_iterations = np.array([start, 0.0]), 0
    for stride in (min(1 + len(difference) // SAMPLE, LARGEST_STRIDE), 1):
        x, y = np.ascontiguousarray(difference[::stride]), np.ascontiguousarray(outcome[::stride])
        penalty = np.array(ridge) * len(x) / len(difference)
        likelihood = ScaleLikelihood(x, y, amount[::stride], link, penalty, side)
        minimum = minimise(likelihood, params, max_iter, TOL)
        params, n_iterations = minimum.params, n_iterations + minimum.n_iterations
    found = float(params[0]), float(params[1])
    converged = minimum.converged
    return Scale(*found, n_iterations=n_iterations, last=minimum.last, converged=converged)


# -- decided comparisons -----------------------------------------------------------------------


@dataclass(frozen=True)
class AlongScore:
    """Likelihoods of comparisons at scale * (eta + sd z), z standard normal, by one scale.

    ``eta``, ``sd``, ``outcome`` (1, 0, -1) and ``amount`` are arrays (M). ``precision`` * scale^2/2
    is a prior, for comparisons that all agree with the score.
    """

    law: OutcomeLaw
    eta: np.ndarray
    sd: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    precision: float

    def part(self, rows: slice) -> "AlongScore":
        """Some of the comparisons."""
        parts = (self.eta[rows], self.sd[rows], self.outcome[rows], self.amount[rows])
        return AlongScore(self.law, *parts, self.precision)

    def every(self, stride: int) -> "AlongScore":
        """A sample of the comparisons, with as small a share of the prior."""
        return replace(self.part(slice(None, None, stride)), precision=self.precision / stride)

    def likeliest(self, pull: Pull, near: float) -> float:
        """The logarithm of the likeliest scale, first in a sample, then in all comparisons."""
        rule = self.law.rule
        if rule.link.is_logistic and not rule.has_parameter:
            return self.by_newton(float(np.exp(near)))
        reach = 0.5
        for stride in sorted({1 + len(self.eta) // SAMPLE, 1}, reverse=True):
            derivative, ends = partial(self.every(stride).derivative, pull), (-LARGEST, LARGEST)
            near = solve_falling(
                derivative, near - reach, near + reach, limits=ends, xtol=PRECISION
            )
            reach = 0.02  # about what a sample is off by
        return near

    def by_newton(self, scale: float) -> float:
        """The same from one scale on, where the log-likelihood is concave in it, or nearly.

        The slopes so far bracket the root; what leaves the bracket goes to its middle.
        """
        low, high = float(np.exp(-LARGEST)), float(np.exp(LARGEST))
        for _ in range(MAX_STEPS):
            before = scale
            if self.sd.any():
                slope, fall = self.slope_and_fall(scale)
            else:
                columns = self.eta, self.outcome, self.amount, np.array([scale, 0.0])
                sums = scale_pass(*columns, self.law.rule.link, series=True)
                if (best := best_scale(sums, scale, self.precision)) is not None:
                    return float(np.log(best))
                slope, fall = float(sums[0]), float(sums[2])
            slope -= self.precision * scale
            low, high = (scale, high) if slope > 0 else (low, scale)
            if fall + self.precision == 0:  # differences so small that their squares are zero
                break
            scale += slope / (fall + self.precision)
            if not low < scale < high:
                scale = np.sqrt(low * high)
            if abs(np.log(scale / before)) <= 10 * PRECISION:  # the next step is far smaller
                break
        return float(np.log(scale))

    def slope_and_fall(self, scale: float) -> tuple[float, float]:
        """Of the log-likelihood in the scale, and how fast the slope falls, where ties have no law.

        Chances are averages of the link over the nodes of z, as in :func:`pull_of_decided`.
        """
        z, weight = grid_for(max(scale, 1.0) * float(np.max(self.sd)))
        slope = fall = 0.0
        for first in range(0, len(self.eta), CHUNK):
            rows = self.part(slice(first, first + CHUNK))
            win, lose, rise, bend = np.full((4, len(rows.eta)), TINY)
            for node, times in zip(z, weight, strict=True):
                at = rows.eta + node * rows.sd
                small, up, curve = rows.law.rule.link.expansion(-scale * np.abs(at))
                small, of_right = times * small, at > 0  # who is behind has the small chance
                win += np.where(of_right, times - small, small)
                lose += np.where(of_right, small, times - small)
                rise, bend = rise + times * at * up, bend - times * at * np.abs(at) * curve
            for sign, chance in ((1, win), (-1, lose)):
                share = rows.amount * (0.5 + 0.5 * sign * rows.outcome)
                pull = rise / chance
                slope += sign * float(share @ pull)
                fall += float(share @ (pull * pull - sign * bend / chance))
        return slope, fall

    def derivative(self, pull: Pull, log_scale: float) -> float:
        """Of the log-likelihood in log scale, a cache-sized chunk at a time."""
        scale = float(np.exp(log_scale))
        nodes = grid_for(max(scale, 1.0) * float(np.max(self.sd))) if self.sd.any() else ONE_NODE
        total = -self.precision * scale**2
        if nodes is ONE_NODE and not self.law.rule.has_parameter:
            at = np.array([scale, 0.0])
            sums = scale_pass(self.eta, self.outcome, self.amount, at, self.law.rule.link)
            return total + scale * float(sums[0])
        for first in range(0, len(self.eta), CHUNK):
            part = self.part(slice(first, first + CHUNK))
            total += float(part.amount @ pull(part, scale, nodes))
        return total


def pull_of_decided(rows: AlongScore, scale: float, nodes: Nodes) -> np.ndarray:
    """Derivative of log P(outcome) in log scale where every row is taken for decided.

    A tie, if there are any, is half a win and half a loss. The chance of left is the average of the
    rule's over the nodes of z, each as likely as it leaves the comparison decided.
    """
    rule, t, share = rows.law.rule, rows.law.t, 0.5 + 0.5 * rows.outcome
    mass, win, rise = np.zeros((3, len(rows.eta)))
    for z, weight in zip(*nodes, strict=True):
        at = rows.eta + rows.sd * z
        likely = weight * (1 - rule.probabilities(at, t)[1]) if rule.has_parameter else weight
        chance, slope = rule.decided(scale * at, t)
        mass += likely
        win += likely * chance
        rise += likely * slope * scale * at
    of_win, of_loss = (rise / np.maximum(p, TINY) for p in (win, mass - win))
    return share * of_win - (1 - share) * of_loss


def pull_of_outcomes(rows: AlongScore, scale: float, nodes: Nodes) -> np.ndarray:
    """Derivative of log P(outcome) in log scale by the rule itself: of win, tie and loss."""
    mass, rise = np.zeros((2, len(rows.eta)))
    for z, weight in zip(*nodes, strict=True):
        at = scale * (rows.eta + rows.sd * z)
        here = rows.law.rule.derivatives(at, rows.outcome, rows.law.t)
        p = weight * np.exp(here.value)
        mass += p
        rise += p * here.eta * at
    return rise / np.maximum(mass, TINY)


def decided_scale(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray, amount: np.ndarray
) -> float:
    """The factor from a score difference to the one by whose chances decided comparisons go.

    The likeliest scale along the score for the decided comparisons, over the likeliest one for all
    comparisons by the rule for ties. The latter is 1 where the likelihood was maximised; of a
    score that was held back, by a ridge or against overfitting, the quotient is held back as much.
    With ties as half wins it is at least 1, because a tie prefers a smaller scale. Without ties it
    is 1, exactly.

    Parameters
    ----------
    law : OutcomeLaw
        The rule for ties, with its parameter.
    eta, sd : arrays (M)
        Score differences, with what is not known of each as a standard deviation.
    outcome : array (M)
        1 if left won, -1 if right did, 0 for a tie.
    amount : array (M)
        How many comparisons each row stands for, or weights that are 1 on average.
    """
    counted = (amount > 0) & ((eta != 0) | (sd > 0))
    decided = counted & (outcome != 0)
    if np.array_equal(decided, counted) or not decided.any():
        return 1.0
    square = float(np.average((eta**2 + sd**2)[counted], weights=amount[counted]))
    precision = square / 2 / PRIOR_SD**2  # two items differ by twice the variance of one
    everything, without_ties = (
        AlongScore(law, eta[rows], sd[rows], outcome[rows], amount[rows], precision)
        for rows in (counted, decided)
    )
    pull = pull_of_outcomes if law.rule.has_parameter else pull_of_decided
    of_all = everything.likeliest(pull, 0.0)
    return float(np.exp(without_ties.likeliest(pull_of_decided, of_all) - of_all))


def share_of_coin(mean: np.ndarray, outcome: np.ndarray, amount: np.ndarray) -> float:
    """Variance of outcomes with ties as half wins, over that of coins with the same means p.

        sum_m a_m (p (1 - p) - [tie]/4)  /  sum_m a_m p (1 - p)

    ``mean`` p, ``outcome`` (1, 0, -1) and ``amount`` a are arrays (M). 1 without ties.
    """
    coins = float(amount @ (mean * (1 - mean)))
    ties = float(amount @ (outcome == 0)) / 4
    return max(1 - ties / coins, SMALLEST_SHARE) if coins > 0 else 1.0
