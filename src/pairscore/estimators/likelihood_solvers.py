"""Solvers of a likelihood: conjugate gradients, a formed Hessian, quasi-Newton steps by passes."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from pairscore.core.links import Link, Logit
from pairscore.core.optimise import FISHER_GAP, Step
from pairscore.core.pair_graph import sum_sides
from pairscore.core.passes import information_pass
from pairscore.core.whitening import TOLERANCE
from pairscore.estimators.fit_data import (
    FitData,
    parameter_units,
)
from pairscore.estimators.likelihood_errors import (
    LikelihoodEquations,
    LikelihoodSums,
)
from pairscore.estimators.pair_sums import PairSums, PairTask
from pairscore.estimators.separation import (
    gains_along,
    separates,
)
from pairscore.estimators.table_data import TableData, memory_of

FIRST_SEPARATION_CHECK = 8  # iteration by which a likelihood with a maximum has reached it
COARSE, FINE = 1e-2, 1e-4  # relative precision of the first Newton step, and of the others
STRAIGHT = 1e-4  # move of a score difference, within which a likelihood is close to its quadratic
LAST_BENDS = 30  # iteration by which moves that go on do not end
FEWEST_PRODUCTS = 20  # with a Hessian, before its equations are solved directly
# Gap to the maximum that the last quasi-Newton step is expected to leave, in log-likelihood: a
# standard error / 10^9. Of MANY comparisons a standard error / 10^6, because a pass over them takes
# a second, and closes three to five digits of the gap.
CLOSE, CLOSE_OF_MANY = 1e-19, 5e-13
MANY = 5e6
RUNAWAY = 50.0  # mean square root of differences, at which no answer is other than sure
SMALLEST_SHRINK = 1e-4  # of a gap by one step, that is not taken for luck
SMALLEST_BEND = 1e-8  # cosine of a step and the change of the gradient, below which it is rounding


def hessian_at(data: FitData, theta: np.ndarray, link: Link) -> tuple[np.ndarray, bool]:
    """Minus the second derivative of the log-likelihood (d + side), and whether it is that.

    Where a link is not log-concave, it may be indefinite; then it is the expected information.
    """
    task = PairTask(LikelihoodEquations.of_theta(data, theta, link), len(theta), None)
    total: PairSums = data.sum_pairs(task, "Hessian")
    sums: LikelihoodSums = total.equations
    unit = parameter_units(data)
    unit = np.where(unit > 0, unit, 1.0)
    smallest = np.linalg.eigvalsh(sums.observed / np.outer(unit, unit)).min(initial=0.0)
    exact = isinstance(link, Logit) or smallest > -TOLERANCE * float(np.trace(sums.expected))
    return (sums.observed, True) if exact else (sums.expected, False)


def runs_away(data: FitData, theta: np.ndarray) -> bool:
    """Whether differences of scores are so large that the link is flat at nearly all of them.

    By their mean square over the comparisons in memory: items that met may be alike.
    """
    seen = memory_of(data)
    square = float(theta @ seen.counts.scatter @ theta)
    return not square < RUNAWAY**2 * float(seen.pairs.number.sum())


class Solver(Protocol):
    """Solves Newton's equations, Hessian * direction = gradient, in whitened parameters."""

    def direction(
        self, loss: "LikelihoodLoss", params: np.ndarray, gradient: np.ndarray, precision: float
    ) -> tuple[np.ndarray, float]:
        """The direction to a relative precision, and by what the gap that it leaves counts.

        1 for Newton's step, which squares the gap; more for Fisher's, which does not; of an
        approximate Hessian the share of the gap that the next step is expected to leave.
        """
        ...


class GradientAt(NamedTuple):
    """The gradient of a loss; its Hessian is the solver's affair."""

    gradient: np.ndarray


@dataclass(frozen=True)
class LikelihoodLoss:
    """Minus the log-likelihood, with its ridge, as a function of whitened parameters a.

    theta = origin + T a, where theta has the d coefficients, and the side effect if there is one.

    Parameters
    ----------
    data : FitData
    link : Link
    transform : array (d or d + 1) x r
        T, so that all parameters have similar curvature.
    ridge : array (d or d + 1)
        Penalty on theta^2 / 2.
    solver : Solver
    origin : array (d or d + 1), or 0
    tol : float
        Gap to the minimum, in units of the weight of a pair, that one more step closes.
    """

    data: FitData
    link: Link
    transform: np.ndarray
    ridge: np.ndarray
    solver: Solver
    origin: np.ndarray | float = 0.0
    tol: float = 1e-9

    @property
    def n_features(self) -> int:
        return len(self.data.feature_names)

    @cached_property
    def pair_weight(self) -> float:
        """The weight of a pair: total weight over the number of pairs of equal weight.

        Of a stream, whose pairs are not counted, that of a comparison.
        """
        if self.data.sample is not None:
            return self.data.weight_unit
        number = memory_of(self.data).pairs.number
        total = float(number.sum())
        return float(number @ number) / total if total else 1.0

    @property
    def may_be_unbounded(self) -> bool:
        """Whether some parameter has no ridge that holds it back if data are separated."""
        d = self.n_features
        return not np.any(self.ridge[:d]) or bool(np.any(self.ridge[d:] == 0))

    def start(self, theta: np.ndarray) -> np.ndarray:
        """Whitened parameters of coefficients and side effect."""
        from_origin = theta - self.origin
        return np.linalg.lstsq(self.transform, from_origin, rcond=None)[0]

    def theta(self, params: np.ndarray) -> np.ndarray:
        """Coefficients, and the side effect if there is one."""
        return self.origin + self.transform @ params

    def derivatives(self, params: np.ndarray) -> GradientAt:
        theta, d = self.theta(params), self.n_features
        sums = self.data.score(self.data.table.times(theta[:d]), float(theta[d:].sum()), self.link)
        on_theta = -np.append(self.data.table.total(sums.net), [sums.side] * (len(theta) - d))
        return GradientAt(self.transform.T @ (on_theta + self.ridge * theta))

    def newton_step(self, params: np.ndarray, here: GradientAt, iteration: int) -> Step:
        """Newton's step, and whether it shows that the likelihood has no maximum.

        Half the squared Newton decrement, gradient' Hessian^-1 gradient, is the gap: that of all
        comparisons together, in units of the weight of a pair, which is far below a standard error.
        Beside slips, which may leave no scale large enough, steps end where the score runs away.
        """
        is_free = self.link.lapse > 0 and not np.any(self.ridge[: self.n_features])
        if is_free and runs_away(self.data, self.theta(params)):
            return Step(np.zeros_like(params), 0.0)
        precision = FINE if iteration > 1 else COARSE
        direction, counts = self.solver.direction(self, params, here.gradient, precision)
        gap = counts * 0.5 * float(here.gradient @ direction) / self.pair_weight
        near = gap <= self.tol
        if near and iteration == 1:
            direction, _ = self.solver.direction(self, params, here.gradient, FINE)
        if self.may_be_unbounded and (near or iteration >= FIRST_SEPARATION_CHECK):
            for endless in (direction, -params):
                if separates(self.data, self.without_ridge(-self.transform @ endless)):
                    return Step(endless, gap, unbounded=True)
        if near and iteration < LAST_BENDS and self.largest_move(direction) > STRAIGHT:
            gap = max(gap, 2 * self.tol)  # the step does not square it yet
        return Step(direction, gap)

    def without_ridge(self, theta: np.ndarray) -> np.ndarray:
        """The part of a direction that no ridge holds back: along the rest there is an end."""
        return np.where(self.ridge > 0, 0.0, theta)

    def largest_move(self, direction: np.ndarray) -> float:
        """By how much a step moves the difference of some comparison's scores at most."""
        return gains_along(memory_of(self.data), self.transform @ direction)[0].largest


@dataclass(frozen=True)
class ConjugateGradients:
    """Products with the Hessian of comparisons in memory: X, then the graph of pairs, then X'.

    A fit to 250 features takes two fifths of the time that it takes with a formed Hessian, one to
    1000 features a seventh; to 20 as long. Where they have not come to an end, as where features
    are nearly collinear, the equations are solved with the Hessian itself.
    """

    data: TableData

    def direction(
        self, loss: LikelihoodLoss, params: np.ndarray, gradient: np.ndarray, precision: float
    ) -> tuple[np.ndarray, float]:
        pairs, X, T = self.data.pairs, self.data.X, loss.transform
        d = X.shape[1]
        information, exact = self._information(loss, params)
        # for directions of which no pair speaks
        damping = TOLERANCE * float(information.sum()) / self.data.tally.n_comparisons

        def times(vector: np.ndarray) -> np.ndarray:
            theta = T @ vector
            moved = pairs.differences(self.data.table.times(theta[:d]))
            weighted = information * (moved + theta[d:].sum() * pairs.side[:, None])
            on_theta = self.data.table.total(pairs.net_per_item(sum_sides(weighted)))
            if len(theta) > d:
                on_theta = np.append(on_theta, pairs.side @ weighted.sum(axis=1))
            return T.T @ (on_theta + loss.ridge * theta) + damping * vector

        size = len(gradient)
        hessian = LinearOperator((size, size), matvec=times, dtype=float)
        most = FEWEST_PRODUCTS + size // 2
        direction, unfinished = cg(hessian, gradient, rtol=precision, maxiter=most)
        if unfinished:
            formed = self.data.tile.scatter(information) + np.diag(loss.ridge)
            formed = T.T @ formed @ T + damping * np.eye(size)
            direction = np.linalg.solve(formed, gradient)
        return direction, 1.0 if exact else FISHER_GAP

    def _information(self, loss: LikelihoodLoss, params: np.ndarray) -> tuple[np.ndarray, bool]:
        """Of each pair on each side, and whether it is the observed one."""
        pairs, theta = self.data.pairs, loss.theta(params)
        d = self.data.X.shape[1]
        scores, side = self.data.table.times(theta[:d]), float(theta[d:].sum())
        rows = zip(pairs.win, pairs.lose, pairs.side.tolist(), strict=True)
        of_sides = [
            information_pass(pairs.low, pairs.high, win, lose, scores, sign * side, loss.link)
            for win, lose, sign in rows
        ]
        information = np.stack([values for values, _ in of_sides])
        return information, all(is_observed for _, is_observed in of_sides)


@dataclass(frozen=True)
class FormedHessian:
    """The Hessian itself, by a pass over pairs at every point."""

    def direction(
        self, loss: LikelihoodLoss, params: np.ndarray, gradient: np.ndarray, precision: float
    ) -> tuple[np.ndarray, float]:
        hessian, exact = hessian_at(loss.data, loss.theta(params), loss.link)
        T = loss.transform
        values, vectors = np.linalg.eigh(T.T @ (hessian + np.diag(loss.ridge)) @ T)
        least = TOLERANCE * float(values.max(initial=0.0))
        direction = (vectors / np.maximum(values, least)) @ (vectors.T @ gradient)
        return direction, 1.0 if exact else FISHER_GAP


@dataclass
class QuasiNewton:
    """An inverse Hessian that gradients improve (Broyden, Fletcher, Goldfarb, Shanno).

    A fit to a stream takes half of the time that it takes with a formed Hessian.

    ``inverse`` is that of a sample to begin with; a pass over all comparisons gives a gradient.
    """

    inverse: np.ndarray
    params: np.ndarray | None = None
    gradient: np.ndarray | None = None
    decrement: float = np.inf
    shrink: float = 0.0  # of the decrement by the step before

    def direction(
        self, loss: LikelihoodLoss, params: np.ndarray, gradient: np.ndarray, precision: float
    ) -> tuple[np.ndarray, float]:
        if self.params is not None and self.gradient is not None:
            self._improve(params - self.params, gradient - self.gradient)
        self.params, self.gradient = params, gradient
        direction = self.inverse @ gradient
        decrement = float(gradient @ direction)
        shrink = decrement / self.decrement if 0 < decrement < self.decrement < np.inf else 1.0
        slower = max(shrink, self.shrink, SMALLEST_SHRINK)
        self.decrement, self.shrink = decrement, shrink
        return direction, slower

    def _improve(self, moved: np.ndarray, change: np.ndarray) -> None:
        bend = float(moved @ change)
        if bend <= SMALLEST_BEND * float(np.linalg.norm(moved) * np.linalg.norm(change)):
            return
        left = np.eye(len(moved)) - np.outer(moved, change) / bend
        self.inverse = left @ self.inverse @ left.T + np.outer(moved, moved) / bend
