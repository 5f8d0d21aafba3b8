"""Maximum likelihood: differences of features are never formed.

With scores s = X beta the log-likelihood is a sum over comparisons of log f(s_left - s_right). Its
gradient is X'(B'r), B the incidence matrix of the comparisons, and its Hessian X' L_omega X,
L_omega the Laplacian with the information of each pair as weight.

One objective (:class:`LikelihoodLoss`) has three solvers of Newton's equations:

    ConjugateGradients   products with the Hessian, which is not formed: for comparisons in memory
    FormedHessian        the Hessian itself, by a pass over pairs at every point
    QuasiNewton          an approximation that gradients improve: for comparisons that take long to
                         go through, from the maximum in a sample on

Parameters are whitened: in coordinates in which the scatter of the items is the identity, the
Hessian of random pairs is close to a multiple of it. Where items that met are alike
(:func:`are_alike`), it is the scatter of the differences that is the identity.

Where comparisons are separated (:mod:`pairscore.estimators.separation`), those that are explained
are set aside, the others are fitted, and then what these leave open.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.linalg import LinearOperator, cg

from pairscore.core.amounts import meetings, some_amounts, total_of
from pairscore.core.links import Link, Logit
from pairscore.core.optimise import FISHER_GAP, Step, minimise
from pairscore.core.pair_graph import sum_sides
from pairscore.core.sandwich import PairContributions, less_ties, sandwich
from pairscore.core.scale import fit_scale, initial_factor
from pairscore.core.sums import Sums
from pairscore.core.whitening import TOLERANCE, Basis, split_side_directions, whitening_basis
from pairscore.display import plural
from pairscore.errors import NotConvergedWarning
from pairscore.estimators.estimate import Determined, Estimate, Note
from pairscore.estimators.fit_data import (
    Cut,
    FitData,
    FitSums,
    Selection,
    Tile,
    jackknife_of_items,
    parameter_units,
    size_of_information,
)
from pairscore.estimators.null_space import open_in_few
from pairscore.estimators.pair_sums import PairSums, PairTask, sum_equations
from pairscore.estimators.ridge import SEPARATION_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.separation import (
    SIDE,
    basis_within,
    explained_cut,
    gains_along,
    parameter_names,
    recession_of,
    recession_of_side,
    separated_directions,
    separates,
    separation_note,
    unseen,
)
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData, memory_of
from pairscore.messages import Piece, Setting

FIRST_SEPARATION_CHECK = 8  # iteration by which a likelihood with a maximum has reached it
COARSE, FINE = 1e-2, 1e-4  # relative precision of the first Newton step, and of the others
STRAIGHT = 1e-4  # move of a score difference, within which a likelihood is close to its quadratic
LAST_BENDS = 30  # iteration by which moves that go on do not end
FEWEST_PRODUCTS = 20  # with a Hessian, before its equations are solved directly
# mean square of differences over that of random pairs, below which items that met are alike
SMALLEST_SPREAD = 0.05
LARGEST_START = 3.0  # coefficient of a standardised feature to start from
MOST_PASSES = 30  # over comparisons that are not in memory
# gap to the maximum after the last quasi-Newton step, in log-likelihood: a standard error / 10^9
CLOSE = 1e-19
SMALLEST_SHRINK = 1e-3  # of a gap by one step, that is not taken for luck
SMALLEST_CURVATURE = 0.02  # of the average one: a sample may not see every direction
SMALLEST_BEND = 1e-8  # cosine of a step and the change of the gradient, below which it is rounding


@dataclass(frozen=True)
class LikelihoodSums(Sums):
    """Sums over pairs, all bordered by the side effect's row (d + side).

    Expected and observed information, and what ties take off the former.
    """

    expected: np.ndarray
    observed: np.ndarray
    tied: np.ndarray


@dataclass(frozen=True)
class LikelihoodEquations:
    """Those of maximum likelihood at ``scores`` (N) and a side effect."""

    link: Link
    scores: np.ndarray
    side_effect: float

    @classmethod
    def of_theta(cls, data: FitData, theta: np.ndarray, link: Link) -> "LikelihoodEquations":
        """At coefficients and side effect."""
        d = len(data.feature_names)
        return cls(link, data.table.times(theta[:d]), float(theta[d:].sum()))

    def at(self, tile: Tile) -> "LikelihoodTerms":
        return LikelihoodTerms(self.link, tile, tile.take(self.scores), self.side_effect)


@dataclass(frozen=True)
class LikelihoodTerms:
    """What the pairs of a tile add to these equations; ``scores`` are those of its items."""

    link: Link
    tile: Tile
    scores: np.ndarray
    side_effect: float

    @cached_property
    def predictor(self) -> np.ndarray:
        """Difference of scores of every side and pair."""
        pairs = self.tile.pairs
        return pairs.differences(self.scores) + self.side_effect * pairs.side[:, None]

    @cached_property
    def score_and_information(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the log-likelihood, for every side and pair; the information is the expected one."""
        return self.link.score(self.predictor, self.tile.pairs.win, self.tile.pairs.lose)

    @property
    def contributions(self) -> PairContributions:
        """u_p = score_p (x_low - x_high), and score_p times the side."""
        pairs, score = self.tile.pairs, self.score_and_information[0]
        total = sum_sides(score)
        extra = np.empty((len(total), 0))
        if len(pairs.side) > 1:
            extra = (pairs.side @ score)[:, None]
        return PairContributions(total, -total, extra)

    @cached_property
    def _of_sides(self) -> dict[str, np.ndarray]:
        """Weights of each pair on each side: the observed one and that of ties if they differ."""
        pairs = self.tile.pairs
        weights = {"expected": self.score_and_information[1]}
        if not isinstance(self.link, Logit):
            observed = self.link.observed_information(self.predictor, pairs.win, pairs.lose)
            weights["observed"] = observed
        if self.tile.tied is not None:
            weights["tied"] = self.link.taken_by_ties(self.predictor, self.tile.tied)
        return weights

    @property
    def weights(self) -> dict[str, np.ndarray]:
        return {name: sum_sides(weight) for name, weight in self._of_sides.items()}

    def sums(self, scatters: dict[str, np.ndarray]) -> LikelihoodSums:
        bordered = {
            name: self.tile.with_side(scatters[name], weight)
            for name, weight in self._of_sides.items()
        }
        expected = bordered["expected"]
        return LikelihoodSums(
            expected=expected,
            observed=bordered.get("observed", expected),
            tied=bordered.get("tied", np.zeros_like(expected)),
        )


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
        """
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
        delta = pairs.differences(self.data.table.times(theta[:d]))
        predictor = delta + theta[d:].sum() * pairs.side[:, None]
        _, information, exact = loss.link.newton(predictor, pairs.win, pairs.lose)
        return information, exact


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

    def direction(
        self, loss: LikelihoodLoss, params: np.ndarray, gradient: np.ndarray, precision: float
    ) -> tuple[np.ndarray, float]:
        if self.params is not None and self.gradient is not None:
            self._improve(params - self.params, gradient - self.gradient)
        self.params, self.gradient = params, gradient
        direction = self.inverse @ gradient
        decrement = float(gradient @ direction)
        shrink = decrement / self.decrement if 0 < decrement < self.decrement < np.inf else 1.0
        self.decrement = decrement
        return direction, max(shrink, SMALLEST_SHRINK)

    def _improve(self, moved: np.ndarray, change: np.ndarray) -> None:
        bend = float(moved @ change)
        if bend <= SMALLEST_BEND * float(np.linalg.norm(moved) * np.linalg.norm(change)):
            return
        left = np.eye(len(moved)) - np.outer(moved, change) / bend
        self.inverse = left @ self.inverse @ left.T + np.outer(moved, moved) / bend


@dataclass(frozen=True)
class Optimum:
    """Where the likelihood was maximised, with the ridge that held it there (d + side).

    If ``separated``, there is no maximum, and ``theta`` is a direction in which it grows for ever.
    """

    theta: np.ndarray
    ridge: np.ndarray
    n_iterations: int
    converged: bool
    separated: bool

    @property
    def notes(self) -> list[Note]:
        """What is said of a maximum that was not reached."""
        return [] if self.converged else [not_maximised(self.n_iterations)]


def not_maximised(n_iterations: int, *remedies: Piece) -> Note:
    """What is said where the maximum was not reached; ``remedies`` are what would help too."""
    return NotConvergedWarning(
        f"the likelihood was not maximised within {plural(n_iterations, 'iteration')}",
        ["raise " + Setting("max_iter"), "add a ridge (" + Setting("l2") + ")", *remedies],
    )


def maximise(loss: LikelihoodLoss, start: np.ndarray, max_iter: int = 100) -> Optimum:
    """Maximise the likelihood by Newton's method from ``start``, coefficients and side effect."""
    best = minimise(loss, loss.start(start), max_iter, loss.tol)
    at = loss.transform @ best.params if best.unbounded else loss.theta(best.params)
    return Optimum(
        theta=at,
        ridge=loss.ridge,
        n_iterations=best.n_iterations,
        converged=best.converged,
        separated=best.unbounded,
    )


def maximum(
    data: FitData, settings: Settings, start: np.ndarray, side_ridge: float = 0.0
) -> Optimum:
    """The maximum of the likelihood with the ridge of the settings, if there is one.

    A ridge that is too weak to hold anything back hides no separation: it acts once there is a
    maximum, which it moves a little.
    """
    weak = ridge_is_weak(settings.ridge, data.weight_unit)
    T = likelihood_basis(data, settings).transform
    if data.keep_sides:
        T = block_diag(T, 1 / np.sqrt(data.tally.n_comparisons))
    ridge = np.append(settings.ridge * data.item_moments.sd**2, [side_ridge] * data.keep_sides)
    held = np.zeros(len(ridge)) if weak else ridge
    if data.sample is not None:
        of_sample = _maximum_in_sample(data, data.sample, settings, T, held, start)
        if of_sample.separated:
            return of_sample
        start = of_sample.theta
    optimum = _climb(data, settings, T, held, start)
    if weak and settings.ridge > 0 and not optimum.separated:
        return _climb(data, settings, T, ridge, optimum.theta)
    return optimum


def _climb(
    data: FitData, settings: Settings, T: np.ndarray, ridge: np.ndarray, start: np.ndarray
) -> Optimum:
    """The maximum with a ridge (d + side): by Newton's method in memory, else by passes."""
    if data.sample is not None:
        return _climb_by_passes(data, data.sample, settings, T, ridge, start)
    solver = ConjugateGradients(memory_of(data))
    loss = LikelihoodLoss(data, settings.link, T, ridge, solver, tol=settings.tol)
    return maximise(loss, start, settings.max_iter)


def _share_of_sample(data: FitData, sample: TableData) -> float:
    return total_of(sample.amount, len(sample.comparisons)) / data.tally.n_comparisons


def _maximum_in_sample(
    data: FitData,
    sample: TableData,
    settings: Settings,
    T: np.ndarray,
    ridge: np.ndarray,
    start: np.ndarray,
) -> Optimum:
    """The maximum in a sample, from which passes over all comparisons begin.

    A direction in which the sample finds no end is looked at in all comparisons: where these have
    one, or the sample no maximum for another reason, passes begin from the ``start``.
    """
    held = _share_of_sample(data, sample) * ridge
    loss = LikelihoodLoss(sample, settings.link, T, held, ConjugateGradients(sample))
    optimum = maximise(loss, start, settings.max_iter)
    if optimum.separated and separates(data, loss.without_ridge(optimum.theta)):
        return optimum
    if optimum.converged and not optimum.separated:
        return optimum
    return replace(optimum, theta=start, separated=False)


def _climb_by_passes(
    data: FitData,
    sample: TableData,
    settings: Settings,
    T: np.ndarray,
    ridge: np.ndarray,
    start: np.ndarray,
) -> Optimum:
    """Passes over all comparisons, with the Hessian of a sample to begin with.

    A direction in which they find no end is looked at.
    """
    hessian = hessian_at(sample, start, settings.link)[0] / _share_of_sample(data, sample)
    solver = QuasiNewton(_safe_inverse(T.T @ (hessian + np.diag(ridge)) @ T))
    loss = LikelihoodLoss(data, settings.link, T, ridge, solver, tol=CLOSE)
    optimum = maximise(loss, start, min(settings.max_iter, MOST_PASSES))
    if optimum.converged or optimum.separated or solver.params is None:
        return optimum
    for endless in (optimum.theta - loss.theta(solver.params), optimum.theta):
        if separates(data, loss.without_ridge(endless)):
            return replace(optimum, theta=endless, separated=True)
    return optimum


def _safe_inverse(hessian: np.ndarray) -> np.ndarray:
    """The inverse, where no direction has less than some share of the average curvature."""
    if not len(hessian):  # no direction at all
        return hessian
    values, vectors = np.linalg.eigh(hessian)
    least = SMALLEST_CURVATURE * float(np.mean(values))
    return (vectors / np.maximum(values, least)) @ vectors.T


def item_basis(data: FitData, settings: Settings) -> Basis:
    """Whiten the scatter of the items, with the ridge."""
    center = data.item_moments
    penalty = ridge_penalty(settings.ridge, center.sd, float(settings.link.pdf(0.0)))
    return whitening_basis(center.scatter + np.diag(penalty), center.sd)


def likelihood_basis(data: FitData, settings: Settings) -> Basis:
    """Coordinates of the coefficients in which the Hessian is close to a multiple of the identity.

    Those of the items, or of the differences of items that met where these are alike; their scatter
    takes about as long as all of Newton's steps for random pairs.
    """
    basis = item_basis(data, settings)
    center = data.item_moments
    penalty = ridge_penalty(settings.ridge, center.sd, float(settings.link.pdf(0.0)))
    if not are_alike(memory_of(data), basis.transform, penalty):
        return basis
    d = len(center.mean)
    scatter = data.counts.scatter[:d, :d] + np.diag(penalty)
    return whitening_basis(scatter, center.sd, center.total)


def are_alike(data: TableData, whitener: np.ndarray, penalty: np.ndarray) -> bool:
    """Whether items that met are alike in some direction, as a few comparisons show it.

    Of two million comparisons, that takes a hundredth of the time that all would.

    In coordinates in which the scatter of the items is the identity, the differences of random
    pairs have the same scatter. ``whitener`` (d x r) and ``penalty`` (d) are those of the items.
    """
    votes, d = data.comparisons, data.X.shape[1]
    few = np.arange(0, len(votes), max(len(votes) // (4 * d + 100), 1))
    few = few[meetings(votes.left[few], votes.right[few], some_amounts(data.amount, few))]
    if not len(few) or not whitener.size:
        return True
    differences = (data.X[votes.left[few]] - data.X[votes.right[few]]) @ whitener
    share = votes.amount[few] / votes.amount[few].sum()
    total = data.item_moments.total / 2
    seen = total * differences.T @ (share[:, None] * differences)
    held = whitener.T @ (penalty[:, None] * whitener)
    return bool(np.linalg.eigvalsh(seen + held)[0] < SMALLEST_SPREAD)


def first_guess(data: FitData, settings: Settings) -> np.ndarray:
    """Coefficients and side effect to start from: the pooled closed form, or an earlier fit's."""
    center, side = data.item_moments, 0.0
    if data.start is not None:
        effects = data.start.item_effects  # beside which coefficients are longer
        start = clip_start(data.start.coef / (effects.factor if effects else 1.0), center.sd)
        side = float(np.clip(data.start.side_effect or 0.0, -LARGEST_START, LARGEST_START))
        return np.append(start, [side] * data.keep_sides)
    pooled = 2 * item_basis(data, settings).solve(data.label_sum)  # 2 M S is this scatter
    some = memory_of(data)
    along = some.along(some.table.times(pooled)).differences
    spread = float(np.sqrt(pooled @ center.covariance @ pooled))
    factor = initial_factor(spread, float(settings.link.pdf(0.0)))
    scale = fit_scale(along, settings.link, factor, side=False, max_iter=5)
    return np.append(min(scale.factor, 2 * factor) * pooled, [side] * data.keep_sides)


def clip_start(start: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Coefficients (d) to start from, clipped in units of the features' standard deviations.

    What is large may be on its way to infinity, and has to show it again.
    """
    unit = np.where(sd > 0, sd, 1.0)
    return np.clip(start * unit, -LARGEST_START, LARGEST_START) / unit


def fit_likelihood(data: FitData, settings: Settings) -> Estimate:
    """Fit by maximum likelihood, started from the pooled closed form or from ``data.start``.

    Where data are separated a ridge of SEPARATION_L2 holds the directions that are, and a note says
    so; what the other comparisons determine is at their maximum.
    """
    start = first_guess(data, settings)
    optimum = maximum(data, settings, start)
    if not optimum.separated:
        return likelihood_estimate(data, settings, optimum, curvature(data, settings, optimum))
    if ridge_is_weak(settings.ridge, data.weight_unit):
        return fit_separated(data, settings, optimum.theta, start)
    # the features have a ridge, so that only the side can be without an end
    optimum = maximum(data, settings, start, SEPARATION_L2 * data.weight_unit)
    estimate = likelihood_estimate(data, settings, optimum, curvature(data, settings, optimum))
    recession = recession_of_side(data, np.eye(len(optimum.theta))[-1], optimum.theta)
    notes = [separation_note([SIDE]), *estimate.notes]
    return replace(
        estimate, determined=replace(estimate.determined, recession=recession), notes=notes
    )


def fit_separated(
    data: FitData, settings: Settings, direction: np.ndarray, start: np.ndarray
) -> Estimate:
    """The fit of data that are separated along a ``direction`` that Newton's method took.

    What no direction explains is fitted first, exactly; then, along the directions that are left
    open, what is explained, with the ridge.
    """
    unit = parameter_units(data)
    cuts: tuple[Cut, ...] = (explained_cut(data, direction, unit),)
    others = data.part(Selection(cuts, touched=False))
    rest = None
    while rest is None and others.tally.exposures.any():
        rest = maximum(others, settings, start)
        if rest.separated:
            cuts = (*cuts, explained_cut(others, rest.theta, unit))
            others = data.part(Selection(cuts, touched=False))
            rest = None
    directions = separated_directions(data, others)
    explained = data.part(Selection(cuts, touched=True))
    origin = np.zeros(len(unit)) if rest is None else rest.theta
    prior = SEPARATION_L2 * data.weight_unit * unit**2
    held = held_optimum(explained, settings, prior, directions, origin)
    at_held = curvature(explained, settings, held, directions)
    if rest is not None:
        at_held = carry_over(curvature(others, settings, rest), at_held)
        held = replace(
            held,
            n_iterations=held.n_iterations + rest.n_iterations,
            converged=held.converged and rest.converged,
        )
    unit = np.where(unit > 0, unit, 1.0)
    free = unseen(data) / unit[:, None]
    basis = replace(at_held.basis, open_directions=free, unit=unit)
    estimate = likelihood_estimate(data, settings, held, replace(at_held, basis=basis))
    recession = recession_of(data, explained, directions, held.theta, origin)
    note = separation_note(parameter_names(data, recession.touched))
    determined = replace(estimate.determined, recession=recession)
    return replace(estimate, determined=determined, notes=[note, *estimate.notes])


def held_optimum(
    data: FitData,
    settings: Settings,
    ridge: np.ndarray,
    directions: np.ndarray,
    origin: np.ndarray,
) -> Optimum:
    """The maximum, with a ridge (d + side), over what ``directions`` reach from an origin."""
    scatter = data.counts.scatter + np.diag(ridge)
    T = basis_within(scatter, parameter_units(data), directions).transform
    loss = LikelihoodLoss(
        data, settings.link, T, ridge, FormedHessian(), origin=origin, tol=settings.tol
    )
    return maximise(loss, origin, settings.max_iter)


@dataclass(frozen=True)
class Curvature:
    """The curvature of a likelihood at its maximum, and what it says of the parameters.

    ``information`` is the Hessian with the ridge, None where nobody asks; ``basis`` whitens it, and
    ``covariance`` is that of coefficients and side effect, None where no intervals are wanted.
    """

    basis: Basis
    information: np.ndarray | None
    covariance: np.ndarray | None


def curvature(
    data: FitData, settings: Settings, optimum: Optimum, directions: np.ndarray | None = None
) -> Curvature:
    """The Hessian at the maximum says what is determined, and how well.

    In all directions, or in those over which the likelihood was maximised.
    """
    is_asked = settings.inference is not None or data.keep_sides or directions is not None
    if not is_asked and np.all(data.item_moments.sd > 0):
        every = np.arange(len(data.feature_names))
        if not open_in_few(memory_of(data), every).size:  # all are determined
            return Curvature(item_basis(data, settings), None, None)
    equations = LikelihoodEquations.of_theta(data, optimum.theta, settings.link)
    inflation = jackknife_of_items(data, settings) if settings.inference == "items" else None
    sums, robust = sum_equations(data, equations, len(optimum.theta), inflation)
    return curvature_of_sums(data, settings, sums, robust, optimum.ridge, directions)


def curvature_of_sums(
    data: FitSums,
    settings: Settings,
    sums: LikelihoodSums,
    robust: np.ndarray | None,
    ridge: np.ndarray,
    directions: np.ndarray | None = None,
) -> Curvature:
    """From the sums of its equations, with their item-robust meat if it was asked for."""
    held = np.diag(ridge)
    size = size_of_information(data.tally.n_comparisons, settings.link)
    basis = basis_within(sums.expected + held, parameter_units(data), directions, size)
    covariance = None
    if settings.inference == "model":
        covariance = sandwich(basis.inverse, sums.expected, None, data.weight_unit)
        if data.n_tied > 0:
            tied = data.weight_unit * (basis.inverse @ sums.tied @ basis.inverse.T)
            covariance = less_ties(covariance, tied)
    elif settings.inference is not None:
        bread = basis
        if not isinstance(settings.link, Logit):
            bread = observed_basis(sums.observed + held, basis, directions)
        covariance = sandwich(bread.inverse, sums.expected, robust, data.weight_unit)
    return Curvature(basis, sums.expected + held, covariance)


def observed_basis(observed: np.ndarray, expected: Basis, directions: np.ndarray | None) -> Basis:
    """Whiten the observed information, the bread of the sandwich; ``expected`` is the other one's.

    Under logit both are the same. A link that is not log-concave may leave the observed one
    indefinite; then it is the expected one, too.
    """
    W = expected.transform
    if not np.all(np.linalg.eigvalsh(W.T @ observed @ W) > 0):
        return expected
    return basis_within(observed, expected.unit, directions)


def likelihood_estimate(
    data: FitSums, settings: Settings, optimum: Optimum, found: Curvature
) -> Estimate:
    """Coefficients and side effect, in the terms of a model."""
    d, basis = len(data.feature_names), found.basis
    theta = basis.smallest(optimum.theta)  # same likelihood
    features_basis, side_basis = split_side_directions(basis) if data.keep_sides else (basis, None)
    return Estimate(
        settings=settings,
        coef=theta[:d],
        side_effect=float(theta[d]) if data.keep_sides else None,
        covariance=found.covariance,
        center=data.item_moments.spread,
        determined=Determined(features_basis, side_basis),
        n_iterations=optimum.n_iterations,
        notes=optimum.notes,
    )


def carry_over(rest: Curvature, held: Curvature) -> Curvature:
    """Of parameters theta1 + V g: theta1 at the maximum of the rest, then g given theta1.

    If theta1 moves by D, g follows by -(V'HV)^-1 V'H D, H the information of what is held: theta
    moves by Q D, Q = I - V (V'HV)^-1 V'H. Of the directions V the rest sees nothing, so Q takes
    nothing from D that it knows.
    """
    assert held.information is not None
    V = held.basis.transform  # whitened: V'HV = I
    Q = np.eye(len(V)) - V @ (V.T @ held.information)
    basis = replace(held.basis, transform=np.hstack([Q @ rest.basis.transform, V]))
    covariance = None
    if rest.covariance is not None and held.covariance is not None:
        covariance = Q @ rest.covariance @ Q.T + held.covariance
    information = None
    if rest.information is not None:
        information = rest.information + held.information
    return Curvature(basis, information, covariance)
