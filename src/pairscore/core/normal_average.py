"""Averages over a normal variable: of a link, and of an outcome's probability.

Where the score of an item has a normal effect beside its features, a difference of scores is
eta + sd z with z standard normal, and probabilities are averaged over z: by few nodes of Gauss and
Hermite where sd is small, by the trapezoidal rule elsewhere.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pairscore.core.links import Link, Probit
from pairscore.core.ties import OutcomeDerivatives, OutcomeLaw

LARGEST_Z = 6.0  # of a standard normal variable in averages: 2e-9 is beyond
# nodes on either side: enough for a deviation of 33, at which almost every outcome is sure
MAX_NODES = 200
# up to which sd how many nodes of Gauss and Hermite are enough (1e-6), none for zero
SD_CLASSES = np.array([0.0, 0.15, 0.25, 0.5, 1.0, 1.4, 2.5, 5.0, 10.0, 20.0])
HERMITE_NODES = (3, 5, 7)
BLOCK = 32_768  # numbers, rows times nodes, that are averaged at a time: the processor's cache
WIDEST_STEP = 0.7  # between nodes; a normal density sums to one but for exp(-2 pi^2 / 0.7^2)


def normal_grid(
    largest_sd: float, widest_step: float = WIDEST_STEP
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of a standard normal z with their weights, for averages of functions of eta + sd z.

    The trapezoidal rule: functions as smooth as a link are averaged to 1e-6 or better, for any sd
    up to ``largest_sd``.
    """
    n = int(np.ceil(min(LARGEST_Z * max(1 / widest_step, largest_sd), MAX_NODES)))
    z = np.linspace(-LARGEST_Z, LARGEST_Z, 2 * n + 1)
    weight = np.exp(-0.5 * z**2)
    return z, weight / weight.sum()


def grid_for(sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for averages over eta + sd z of functions as smooth as a link.

    Few nodes of Gauss and Hermite where sd is small, the trapezoidal rule elsewhere.
    """
    kind = int(np.searchsorted(SD_CLASSES, sd))
    if kind == 0:
        return np.zeros(1), np.ones(1)
    if kind > len(HERMITE_NODES):
        return normal_grid(0.43 + 0.9 * sd, widest_step=1.0)  # as many as 1e-6 takes
    return hermite_grid(HERMITE_NODES[kind - 1])


@lru_cache
def hermite_grid(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of Gauss and Hermite with weights that sum to one."""
    z, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    return z, weight / weight.sum()


class ClassNodes(NamedTuple):
    """Nodes z >= 0 with their weights (K), class of sd by class.

    Each stands for z and -z, so that the weight of zero is half of itself. Those of class c are
    from ``start[c]`` to ``start[c + 1]``, and equally far apart by ``spacing[c]``; zero where they
    are not (Gauss and Hermite).
    """

    start: np.ndarray
    z: np.ndarray
    weight: np.ndarray
    spacing: np.ndarray


@lru_cache(maxsize=1)
def nodes_of_classes() -> ClassNodes:
    """The nodes of every class of :data:`SD_CLASSES`, and of larger ones."""
    nodes, weights, spacing = [], [], []
    for kind, sd in enumerate((*SD_CLASSES, np.inf)):
        z, weight = grid_for(sd)
        middle = len(z) // 2
        half = weight[middle:].copy()
        half[0] /= 2
        nodes.append(np.append(0.0, z[middle + 1 :]))
        weights.append(half)
        spacing.append(z[middle + 1] if kind > len(HERMITE_NODES) else 0.0)
    start = np.cumsum([0, *map(len, nodes)])
    return ClassNodes(start, np.concatenate(nodes), np.concatenate(weights), np.array(spacing))


def nodes_by_sd(
    eta: np.ndarray, sd: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows (indices, m) of about equal ``sd``, eta + sd z at the nodes they need (K x m), and the
    nodes' weights (K).
    """
    kind = np.searchsorted(SD_CLASSES, sd)
    order = np.argsort(kind.astype(np.int8), kind="stable")
    for number, group in enumerate(np.split(order, np.cumsum(np.bincount(kind))[:-1])):
        z, weight = grid_for(np.append(SD_CLASSES, np.inf)[number])
        size = max(BLOCK // len(z), 1)
        for rows in (group[first : first + size] for first in range(0, len(group), size)):
            at = np.multiply.outer(z, sd[rows])
            at += eta[rows]
            yield rows, at, weight


def average_expansion(
    link: Link, x: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f, f' and f'' of a link, each averaged over x + sd z, z standard normal; arrays (M)."""
    if link.lapse > 0:
        f, rise, bend = average_expansion(link.plain, x, sd)
        rest = 1 - 2 * link.lapse
        return link.lapse + rest * f, rest * rise, rest * bend
    if isinstance(link, Probit):  # x + sd z and a normal noise make one normal variable
        scale = np.sqrt(1 + sd**2)
        f, rise, bend = link.expansion(x / scale)
        return f, rise / scale, bend / scale**2
    total = np.empty((3, len(x)))
    for rows, at, weight in nodes_by_sd(x, sd):
        total[:, rows] = [weight @ part for part in link.expansion(at)]
    return total[0], total[1], total[2]


def averaged_probabilities(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a loss, a tie and a win, as the law has them, averaged over eta + sd z, z standard normal.

    ``eta`` and ``sd`` have one shape, that of each result; ``sd`` is the standard deviation of the
    difference of the two items' effects.
    """
    total = np.zeros((3, *np.shape(eta)))
    for z, weight in zip(*normal_grid(float(np.max(sd, initial=0.0))), strict=True):
        total += weight * np.array(law.probabilities(eta + sd * z))
    return total[0], total[1], total[2]


def averaged_derivatives(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray
) -> OutcomeDerivatives:
    """The logarithm of each outcome's average probability, with its derivatives.

    ``eta``, ``sd`` and ``outcome`` (-1, 0, 1) are arrays (M). Without a parameter a tie is half the
    logarithm of a win and half that of a loss.
    """
    if law.rule.has_parameter:
        return _average_outcome(law, eta, sd, outcome)
    derivatives = _average_win(law, eta, sd, np.where(outcome < 0, -1.0, 1.0))
    tied = np.abs(outcome) < 1
    if tied.any():
        share = 0.5 * (1 + outcome[tied])
        win, loss = (
            vars(_average_win(law, eta[tied], sd[tied], np.full(len(share), sign)))
            for sign in (1.0, -1.0)
        )
        for name, part in vars(derivatives).items():
            part[tied] = share * win[name] + (1 - share) * loss[name]
    return derivatives


def _average_win(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, sign: np.ndarray
) -> OutcomeDerivatives:
    """Of a win of left (sign 1) or right (-1), without ties: the averages of f, f' and f''."""
    mass, first, second = average_expansion(law.rule.link, sign * eta, sd)
    mass = np.maximum(mass, np.finfo(float).tiny)
    ratio, zero = first / mass, np.zeros_like(eta)
    return OutcomeDerivatives(
        value=np.log(mass),
        eta=sign * ratio,
        t=zero,
        eta_eta=ratio**2 - second / mass,
        eta_t=zero.copy(),
        t_t=zero.copy(),
    )


def _average_outcome(
    law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray, outcome: np.ndarray
) -> OutcomeDerivatives:
    """Of any outcome under a rule with a parameter."""
    sign = np.where(outcome < 0, -1.0, 1.0)
    total = AverageChance(*np.empty((6, len(eta))))
    for kind in (np.flatnonzero(outcome != 0), np.flatnonzero(outcome == 0)):
        won = len(kind) > 0 and outcome[kind[0]] != 0
        for rows, at, weight in nodes_by_sd((sign * eta)[kind], sd[kind]):
            for of_all, of_rows in zip(total, _average_chance(law, at, weight, won), strict=True):
                of_all[kind[rows]] = of_rows
    p = np.maximum(total.p, np.finfo(float).tiny)
    of_eta = sign * total.eta / p
    of_t = total.t / p
    return OutcomeDerivatives(
        value=np.log(p),
        eta=of_eta,
        t=of_t,
        eta_eta=of_eta**2 - total.eta_eta / p,
        eta_t=of_eta * of_t - sign * total.eta_t / p,
        t_t=of_t**2 - total.t_t / p,
    )


class AverageChance(NamedTuple):
    """The probability of an outcome, averaged, and its first and second derivatives, arrays (m)."""

    p: np.ndarray
    eta: np.ndarray
    t: np.ndarray
    eta_eta: np.ndarray
    eta_t: np.ndarray
    t_t: np.ndarray


def _average_chance(
    law: OutcomeLaw, at: np.ndarray, weight: np.ndarray, won: bool
) -> AverageChance:
    """Of a win of left, or of a tie, at nodes ``at`` (K x m) with weights (K)."""
    s = law.rule.observed(at, np.full(at.shape, float(won)), law.t)
    p = weight[:, None] * np.exp(s.value)

    def average(of_log: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("km,km->m", p, of_log))

    return AverageChance(
        p=p.sum(axis=0),
        eta=average(s.eta),
        t=average(s.t),
        eta_eta=average(s.eta**2 - s.eta_eta),
        eta_t=average(s.eta * s.t - s.eta_t),
        t_t=average(s.t**2 - s.t_t),
    )
