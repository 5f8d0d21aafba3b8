"""The scale of decided comparisons: what ties take from chances.

A tie that counts as half a win each way pulls f(eta) towards 1/2. That is right for the mean
outcome (1, 1/2 or 0), but of decided comparisons left wins more often, or less often, than f(eta).
A rule with a parameter is right for both if ties come about as it says, and else it is not. In
either case decided comparisons are asked: their chances are those at scale * eta, with the scale
of :func:`decided_scale`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from pairscore.core.normal_average import grid_for
from pairscore.core.roots import solve_falling
from pairscore.core.scale import TINY
from pairscore.core.ties import OutcomeLaw

PRIOR_SD = 2.5  # of the scores' own standard deviation, under the link: the prior of separation
LARGEST = 10.0  # logarithm of a scale; the prior holds it far below
PRECISION = 1e-7  # of that logarithm
CHUNK = 16_384  # comparisons at a time, which stay in the processor's cache
ONE_NODE = (np.zeros(1), np.ones(1))  # of z, where nothing is unknown
Nodes = tuple[np.ndarray, np.ndarray]
Pull = Callable[..., np.ndarray]


@dataclass(frozen=True)
class AlongScore:
    """Likelihoods of comparisons at scale * (eta + sd z), z standard normal, by one scale.

    ``eta``, ``sd`` (or None, where eta is known), ``outcome`` (1, 0, -1) and ``amount`` are arrays
    (M). ``precision`` * scale^2/2 is a prior, for comparisons that all agree with the score.
    """

    law: OutcomeLaw
    eta: np.ndarray
    sd: np.ndarray | None
    outcome: np.ndarray
    amount: np.ndarray
    precision: float

    def part(self, rows: slice) -> "AlongScore":
        """Some of the comparisons."""
        sd = None if self.sd is None else self.sd[rows]
        parts = (self.eta[rows], sd, self.outcome[rows], self.amount[rows])
        return AlongScore(self.law, *parts, self.precision)

    def nodes(self, scale: float) -> Nodes:
        """Nodes of z, with weights, that averages at a scale take."""
        if self.sd is None:
            return ONE_NODE
        return grid_for(max(scale, 1.0) * float(np.max(self.sd)))

    def at(self, node: float) -> np.ndarray:
        """eta + sd z at a node of z (M)."""
        return self.eta if self.sd is None else self.eta + self.sd * node

    def likeliest(self, pull: Pull, near: float) -> float:
        """The logarithm of the likeliest scale."""
        slope = partial(self.derivative, pull)
        ends = (-LARGEST, LARGEST)
        return solve_falling(slope, near - 0.5, near + 0.5, limits=ends, xtol=PRECISION)

    def derivative(self, pull: Pull, log_scale: float) -> float:
        """Of the log-likelihood in log scale, a cache-sized chunk at a time."""
        scale = float(np.exp(log_scale))
        nodes = self.nodes(scale)
        total = -self.precision * scale**2
        for first in range(0, len(self.eta), CHUNK):
            part = self.part(slice(first, first + CHUNK))
            total += float(part.amount @ pull(part, scale, nodes))
        return total


def pull_of_decided(rows: AlongScore, scale: float, nodes: Nodes) -> np.ndarray:
    """Derivative of log P(outcome) in log scale where every row is taken for decided.

    A tie, if there are any, is half a win and half a loss. The chance of left is the average of the
    rule's over the nodes of z, each as likely as it leaves the comparison decided.
    """
    rule, t = rows.law.rule, rows.law.t
    share = 0.5 + 0.5 * rows.outcome
    win, lose, rise = np.zeros((3, len(rows.eta)))
    for z, weight in zip(*nodes, strict=True):
        at = rows.at(z)
        likely = weight * (1 - rule.probabilities(at, t)[1]) if rule.has_parameter else weight
        # the small chance and the slope have all their digits where left is behind
        small, slope = rule.decided(-scale * np.abs(at), t)
        win += likely * np.where(at > 0, 1 - small, small)
        lose += likely * np.where(at > 0, small, 1 - small)
        rise += likely * slope * scale * at
    of_win = rise / np.maximum(win, TINY)
    of_loss = rise / np.maximum(lose, TINY)
    return share * of_win - (1 - share) * of_loss


def pull_of_outcomes(rows: AlongScore, scale: float, nodes: Nodes) -> np.ndarray:
    """Derivative of log P(outcome) in log scale by the rule itself: of win, tie and loss."""
    mass, rise = np.zeros((2, len(rows.eta)))
    for z, weight in zip(*nodes, strict=True):
        at = scale * rows.at(z)
        here = rows.law.rule.derivatives(at, rows.outcome, rows.law.t)
        p = weight * np.exp(here.value)
        mass += p
        rise += p * here.eta * at
    return rise / np.maximum(mass, TINY)


def decided_scale(
    law: OutcomeLaw,
    eta: np.ndarray,
    sd: np.ndarray | None,
    outcome: np.ndarray,
    amount: np.ndarray,
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
    eta, sd : arrays (M), or None for sd
        Score differences, with what is not known of each as a standard deviation.
    outcome : array (M)
        1 if left won, -1 if right did, 0 for a tie.
    amount : array (M)
        How many comparisons each row stands for, or weights that are 1 on average.
    """
    if sd is not None and not sd.any():
        sd = None
    variance = 0.0 if sd is None else sd**2
    counted = (amount > 0) & ((eta != 0) | (variance > 0))
    decided = counted & (outcome != 0)
    if np.array_equal(decided, counted) or not decided.any():
        return 1.0
    square = float(np.average((eta**2 + variance)[counted], weights=amount[counted]))
    precision = prior_precision(square)

    def along(rows: np.ndarray) -> AlongScore:
        of_rows = None if sd is None else sd[rows]
        return AlongScore(law, eta[rows], of_rows, outcome[rows], amount[rows], precision)

    pull = pull_of_outcomes if law.rule.has_parameter else pull_of_decided
    of_all = along(counted).likeliest(pull, 0.0)
    of_decided = along(decided).likeliest(pull_of_decided, of_all)
    return float(np.exp(of_decided - of_all))


def prior_precision(mean_square: float) -> float:
    """Of the prior of a scale: precision * scale^2 / 2, by the mean square of differences at 1."""
    return mean_square / 2 / PRIOR_SD**2  # two items differ by twice the variance of one
