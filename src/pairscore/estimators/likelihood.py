"""Maximum likelihood on the graph of items: differences of features are never formed.

With scores s = X beta the log-likelihood is a sum over pairs of log f(s_low - s_high). Its gradient
is X'(B'r), B the incidence matrix of the pairs, and its Hessian X' L_omega X, L_omega the Laplacian
with the information of each pair as weight. Newton's equations are solved by conjugate gradients in
coordinates in which the scatter of the items is the identity; there the Hessian of random pairs is
close to a multiple of the identity, and a few products with it are enough. Where items that met are
alike (:func:`are_alike`), it is the scatter of the differences that is the identity.

Where comparisons are separated (:mod:`pairscore.estimators.separation`), those that are explained
are set aside, the others are fitted, and then what these leave open.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.linalg import LinearOperator, cg

from pairscore.core.linalg import TOLERANCE, Basis, split_side_directions, whitening_basis
from pairscore.core.links import Link, Logit, score_pass, scores_of_pairs
from pairscore.core.moments import Moments, rows_times, times_rows
from pairscore.core.optimise import FISHER_GAP, Derivatives, Step, minimise
from pairscore.core.pair_graph import Pairs, difference_scatter, scatter_with_sides, sum_sides
from pairscore.core.passes import difference_pass, laplacian_pass
from pairscore.core.sandwich import PairContributions, item_robust_meat, less_ties, sandwich
from pairscore.core.scale import SAMPLE, fit_scale, initial_factor
from pairscore.errors import NotConvergedWarning, plural
from pairscore.estimators.fit_data import (
    FitData,
    bordered_scatter,
    leverage_whitener,
    size_of_information,
)
from pairscore.estimators.null_space import open_in_few
from pairscore.estimators.penalty import SEPARATION_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.separation import (
    SIDE,
    Curvature,
    basis_within,
    carry_over,
    explained_rows,
    parameter_names,
    parameter_units,
    part_of,
    recession_of,
    separated_directions,
    separation_note,
    unseen,
)
from pairscore.estimators.settings import Settings

FIRST_SEPARATION_CHECK = 8  # iteration by which a likelihood with a maximum has reached it
SMALLEST_GAIN = 0.1  # of some comparison's score difference, in a step along which there is no end
COARSE, FINE = 1e-2, 1e-4  # relative precision of the first Newton step, and of the others
FEW = 5000  # pairs of a first look
STRAIGHT = 1e-4  # move of a score difference, within which a likelihood is close to its quadratic
LAST_BENDS = 30  # iteration by which moves that go on do not end
FEWEST_PRODUCTS = 20  # with a Hessian, before its equations are solved directly
# mean square of differences over that of random pairs, below which items that met are alike
SMALLEST_SPREAD = 0.05
LARGEST_START = 3.0  # coefficient of a standardised feature to start from


@dataclass(frozen=True)
class PairLikelihood:
    """Negative log-likelihood, with its ridge, as a function of whitened parameters a.

    theta = origin + T a, where theta has the d coefficients, and the side effect if there is one.

    Parameters
    ----------
    X : array (N x d)
    pairs : Pairs
        With two sides for a side effect.
    link : Link
    transform : array (d or d + 1) x r
        T, so that all parameters have similar curvature.
    ridge : array (d or d + 1)
        Penalty on theta^2 / 2.
    origin : array (d or d + 1), or 0
    tol : float
        Gap to the minimum, in units of the weight of a pair, that one more step closes.
    """

    X: np.ndarray
    pairs: Pairs
    link: Link
    transform: np.ndarray
    ridge: np.ndarray
    origin: np.ndarray | float = 0.0
    tol: float = 1e-9

    @cached_property
    def n_comparisons(self) -> float:
        return float(self.pairs.number.sum())

    @cached_property
    def n_pairs(self) -> float:
        """How many pairs of equal weight these are worth; the unit of weights does not matter."""
        share = self.pairs.number / self.n_comparisons
        return 1 / float(share @ share)

    @property
    def may_be_unbounded(self) -> bool:
        """Whether some parameter has no ridge that holds it back if data are separated."""
        d = self.X.shape[1]
        return not np.any(self.ridge[:d]) or bool(np.any(self.ridge[d:] == 0))

    def start(self, theta: np.ndarray) -> np.ndarray:
        """Whitened parameters of coefficients and side effect."""
        from_origin = theta - self.origin
        return np.linalg.lstsq(self.transform, from_origin, rcond=None)[0]

    def theta(self, params: np.ndarray) -> np.ndarray:
        """Coefficients, and the side effect if there is one."""
        return self.origin + self.transform @ params

    def scores(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of every item (N), and what each side adds to a difference."""
        d = self.X.shape[1]
        return rows_times(self.X, theta[:d]), theta[d:].sum() * self.pairs.side

    def pull_back(self, net: np.ndarray, on_sides: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """What net sums of items (N) and sums of sides say of the parameters, and the ridge."""
        on_theta = times_rows(net, self.X)
        if len(self.pairs.side) > 1:
            on_theta = np.append(on_theta, self.pairs.side @ on_sides)
        return self.transform.T @ (on_theta + self.ridge * theta)

    def derivatives(self, params: np.ndarray) -> Derivatives:
        """Gradient of the loss, and the information that each pair carries (sides x P)."""
        theta = self.theta(params)
        score, information, net, exact = self.score_pass(theta, keep=len(self.pairs.side) > 1)
        on_sides = score.sum(axis=1) if len(score) > 1 else np.zeros(1)
        return Derivatives(self.pull_back(-net, -on_sides, theta), information, exact)

    def score_pass(
        self, theta: np.ndarray, keep: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
        """See :func:`pairscore.core.links.score_pass`."""
        pairs = self.pairs
        graph, wins = (pairs.start, pairs.low, pairs.high), (pairs.win, pairs.lose)
        return score_pass(graph, *self.scores(theta), wins, self.link, keep)

    def newton_step(self, params: np.ndarray, here: Derivatives, iteration: int) -> Step:
        """Newton's step, and whether it shows that the likelihood has no maximum.

        Half the squared Newton decrement, gradient' Hessian^-1 gradient, is the gap: that of all
        comparisons together, in units of the weight of a pair, which is far below a standard error.
        """
        direction = self._solve(here, FINE if iteration > 1 else COARSE)
        gap = 0.5 * float(here.gradient @ direction) * self.n_pairs / self.n_comparisons
        gap *= 1.0 if here.exact else FISHER_GAP
        near = gap <= self.tol
        if near and iteration == 1:
            direction = self._solve(here, FINE)
        if self.may_be_unbounded and (near or iteration >= FIRST_SEPARATION_CHECK):
            for endless in (direction, -params):
                if self.separates(self.without_ridge(-self.transform @ endless)):
                    return Step(endless, gap, unbounded=True)
        if near and iteration < LAST_BENDS and self.largest_move(direction) > STRAIGHT:
            gap = max(gap, 2 * self.tol)  # the step does not square it yet
        return Step(direction, gap)

    def without_ridge(self, theta: np.ndarray) -> np.ndarray:
        """The part of a direction that no ridge holds back: along the rest there is an end."""
        return np.where(self.ridge > 0, 0.0, theta)

    def largest_move(self, direction: np.ndarray) -> float:
        """By how much a step moves the difference of some pair's scores at most."""
        scores, shift = self.scores(self.transform @ direction)
        return float(np.abs(self.pairs.differences(scores) + shift[:, None]).max(initial=0.0))

    def _solve(self, here: Derivatives, precision: float) -> np.ndarray:
        """Solve Hessian * direction = gradient to a relative precision, by conjugate gradients.

        Directly where these have not come to an end.
        """
        # for directions of which no pair speaks
        damping = TOLERANCE * float(here.information.sum()) / self.n_comparisons

        def times(vector: np.ndarray) -> np.ndarray:
            theta = self.transform @ vector
            net, on_sides = laplacian_pass(
                self.pairs.start, self.pairs.high, *self.scores(theta), here.information
            )
            return self.pull_back(net, on_sides, theta) + damping * vector

        size = len(here.gradient)
        hessian = LinearOperator((size, size), matvec=times, dtype=float)
        most = FEWEST_PRODUCTS + size // 2
        direction, unfinished = cg(hessian, here.gradient, rtol=precision, maxiter=most)
        if unfinished:
            return np.linalg.solve(self.hessian(here) + damping * np.eye(size), here.gradient)
        return direction

    def hessian(self, here: Derivatives) -> np.ndarray:
        """The second derivative in whitened parameters (r x r)."""
        mean = self.X.mean(axis=0)  # of any: it keeps the digits
        scatter = scatter_with_sides(self.X, mean, self.pairs, here.information)
        return self.transform.T @ (scatter + np.diag(self.ridge)) @ self.transform

    def separates(self, direction: np.ndarray) -> bool:
        """Whether moving along ``direction`` for ever makes no comparison worse, and some better.

        This is separation, up to what the direction is off.
        """
        pairs, (scores, shift) = self.pairs, self.scores(direction)
        # a few pairs that get clearly worse, however much others gain, spare a look at all
        few = slice(None, None, 1 + len(pairs.high) // FEW)
        worst = -1e-4 * (np.ptp(scores) + np.abs(shift).max())
        gain = (scores[pairs.low[few]] - scores[pairs.high[few]]) + shift[:, None]
        if not _none_worse(gain, pairs.win[:, few], pairs.lose[:, few], worst):
            return False
        gain = pairs.differences(scores) + shift[:, None]
        seen = pairs.win + pairs.lose > 0  # a pair may have met on one side only
        largest = np.abs(gain[seen]).max(initial=0.0)
        if largest < SMALLEST_GAIN:
            return False
        return _none_worse(gain, pairs.win, pairs.lose, -1e-4 * largest)


def _none_worse(gain: np.ndarray, win: np.ndarray, lose: np.ndarray, worst: float) -> bool:
    """Whether no comparison gains less than ``worst``; arrays are sides x P, of low."""
    return bool(np.all(gain[win > 0] >= worst) and np.all(gain[lose > 0] <= -worst))


@dataclass(frozen=True)
class Optimum:
    """Where the likelihood was maximised, and the likelihood with the ridge that held it there.

    If ``separated``, there is no maximum, and ``theta`` is a direction in which it grows for ever.
    """

    likelihood: PairLikelihood
    theta: np.ndarray
    n_iterations: int
    converged: bool
    separated: bool


def maximise(likelihood: PairLikelihood, start: np.ndarray, max_iter: int = 100) -> Optimum:
    """Maximise the likelihood by Newton's method from ``start``, coefficients and side effect."""
    best = minimise(likelihood, likelihood.start(start), max_iter, likelihood.tol)
    at = likelihood.transform @ best.params if best.unbounded else likelihood.theta(best.params)
    return Optimum(likelihood, at, best.n_iterations, best.converged, best.unbounded)


def fit_likelihood(data: FitData, settings: Settings) -> Estimate:
    """Fit by maximum likelihood, started from the pooled closed form or from ``data.start``.

    Where data are separated a ridge of SEPARATION_L2 holds the directions that are, and a note says
    so; what the other comparisons determine is at their maximum.
    """
    start = first_guess(data, settings)
    optimum = maximum(data, settings, start)
    if not optimum.separated:
        return likelihood_estimate(data, settings, optimum, curvature(data, settings, optimum))
    if ridge_is_weak(settings.l2, data.weight_unit):
        return fit_separated(data, settings, optimum.theta, start)
    # the features have a ridge, so that only the side can be without an end
    ridge = np.append(optimum.likelihood.ridge[:-1], SEPARATION_L2 * data.weight_unit)
    optimum = maximise(replace(optimum.likelihood, ridge=ridge), start, settings.max_iter)
    found = curvature(data, settings, optimum)
    estimate = likelihood_estimate(data, settings, optimum, found)
    side = np.eye(len(ridge))[:, -1:]
    rows = (data.amount > 0) & (data.comparisons.left != data.comparisons.right)
    origin = optimum.theta * (1 - side[:, 0])
    recession = recession_of(data, rows, side, optimum.theta, origin)
    notes = [separation_note([SIDE]), *estimate.notes]
    return replace(estimate, recession=recession, notes=notes)


def first_guess(data: FitData, settings: Settings) -> np.ndarray:
    """Coefficients and side effect to start from."""
    center, side = data.item_moments, 0.0
    if data.start is not None:
        effects = data.start.item_effects  # beside which coefficients are longer
        start = clip_start(data.start.coef / (effects.factor if effects else 1.0), center.sd)
        side = float(np.clip(data.start.side_effect or 0.0, -LARGEST_START, LARGEST_START))
    else:  # the pooled closed form, whose 2 M S is this scatter
        pooled = 2 * item_basis(data, settings).solve(data.label_sum)
        start = initial_coef(data, settings, pooled, center)
    return np.append(start, [side] * data.keep_sides)


def item_basis(data: FitData, settings: Settings) -> Basis:
    """Whiten the scatter of the items, with the ridge."""
    center = data.item_moments
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    return whitening_basis(center.scatter + np.diag(penalty), center.sd)


def likelihood_basis(data: FitData, settings: Settings, scatter: Callable[[], np.ndarray]) -> Basis:
    """Coordinates of the coefficients in which the Hessian is close to a multiple of the identity.

    Those of the items, or of the differences of items that met where these are alike; their
    ``scatter`` (d x d) takes about as long as all of Newton's steps for random pairs.
    """
    basis = item_basis(data, settings)
    center = data.item_moments
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    if not are_alike(data, basis.transform, penalty):
        return basis
    return whitening_basis(scatter() + np.diag(penalty), center.sd, center.total)


def are_alike(data: FitData, whitener: np.ndarray, penalty: np.ndarray) -> bool:
    """Whether items that met are alike in some direction, as a few comparisons show it.

    In coordinates in which the scatter of the items is the identity, the differences of random
    pairs have the same scatter. ``whitener`` (d x r) and ``penalty`` (d) are those of the items.
    """
    votes, d = data.comparisons, data.X.shape[1]
    few = np.arange(0, len(votes), max(len(votes) // (4 * d + 100), 1))
    few = few[(data.amount[few] > 0) & (votes.left[few] != votes.right[few])]
    if not len(few) or not whitener.size:
        return True
    differences = (data.X[votes.left[few]] - data.X[votes.right[few]]) @ whitener
    share = data.amount[few] / data.amount[few].sum()
    total = data.item_moments.total / 2
    seen = total * differences.T @ (share[:, None] * differences)
    held = whitener.T @ (penalty[:, None] * whitener)
    return bool(np.linalg.eigvalsh(seen + held)[0] < SMALLEST_SPREAD)


def maximum(data: FitData, settings: Settings, start: np.ndarray) -> Optimum:
    """The maximum of the likelihood with the ridge of the settings, if there is one.

    A ridge that is too weak to hold anything back hides no separation: it acts once there is a
    maximum, which it moves a little.
    """
    pairs, weak = data.pairs, ridge_is_weak(settings.l2, data.weight_unit)
    of_differences = data.X, data.item_moments.mean, pairs, pairs.number
    T = likelihood_basis(data, settings, partial(difference_scatter, *of_differences)).transform
    T = block_diag(T, 1 / np.sqrt(pairs.number.sum())) if data.keep_sides else T
    ridge = np.append(settings.l2 * data.item_moments.sd**2, [0.0] * data.keep_sides)
    none = np.zeros(len(ridge))
    held = none if weak else ridge
    likelihood = PairLikelihood(data.X, pairs, settings.link, T, held, tol=settings.tol)
    optimum = maximise(likelihood, start, settings.max_iter)
    if weak and settings.l2 > 0 and not optimum.separated:
        return maximise(replace(likelihood, ridge=ridge), optimum.theta, settings.max_iter)
    return optimum


def fit_separated(
    data: FitData, settings: Settings, direction: np.ndarray, start: np.ndarray
) -> Estimate:
    """The fit of data that are separated along a ``direction`` that Newton's method took.

    What no direction explains is fitted first, exactly; then, along the directions that are left
    open, what is explained, with the ridge.
    """
    rows = (data.amount > 0) & (data.comparisons.left != data.comparisons.right)
    explained, rest = explained_rows(data, rows, direction), None
    while rest is None and np.any(others := rows & ~explained):
        rest = maximum(part_of(data, others), settings, start)
        if rest.separated:
            explained |= explained_rows(data, others, rest.theta)
            rest = None
    directions, unit = separated_directions(data, rows, explained), parameter_units(data)
    part, origin = part_of(data, explained), 0 * start if rest is None else rest.theta
    prior = SEPARATION_L2 * data.weight_unit * unit**2
    held = held_optimum(part, settings, prior, directions, origin)
    found = curvature(part, settings, held, directions)
    if rest is not None:
        found = carry_over(curvature(part_of(data, rows & ~explained), settings, rest), found)
        steps = held.n_iterations + rest.n_iterations
        converged = held.converged and rest.converged
        held = replace(held, n_iterations=steps, converged=converged)
    unit = np.where(unit > 0, unit, 1.0)
    free = unseen(data, rows) / unit[:, None]
    found = replace(found, basis=replace(found.basis, open_directions=free, unit=unit))
    estimate = likelihood_estimate(data, settings, held, found)
    recession = recession_of(data, explained, directions, held.theta, origin)
    note = separation_note(parameter_names(data, recession.touched))
    return replace(estimate, recession=recession, notes=[note, *estimate.notes])


def held_optimum(
    data: FitData,
    settings: Settings,
    ridge: np.ndarray,
    directions: np.ndarray,
    origin: np.ndarray,
) -> Optimum:
    """The maximum, with a ridge (d + side), over what ``directions`` reach from an origin."""
    scatter = bordered_scatter(data, data.pairs.win + data.pairs.lose) + np.diag(ridge)
    T = basis_within(scatter, parameter_units(data), directions).transform
    likelihood = PairLikelihood(data.X, data.pairs, settings.link, T, ridge, origin, settings.tol)
    return maximise(likelihood, origin, settings.max_iter)


def clip_start(start: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Coefficients (d) to start from, clipped in units of the features' standard deviations.

    What is large may be on its way to infinity, and has to show it again.
    """
    unit = np.where(sd > 0, sd, 1.0)
    return np.clip(start * unit, -LARGEST_START, LARGEST_START) / unit


def initial_coef(data: FitData, settings: Settings, b: np.ndarray, center: Moments) -> np.ndarray:
    """A closed form ``b`` (d) on the link's scale, as a sample of the comparisons shows it."""
    votes, scores = data.comparisons, rows_times(data.X, b)
    few = slice(None, None, 1 + len(votes) // SAMPLE)
    spread = float(np.sqrt(b @ center.covariance @ b))
    start = initial_factor(spread, float(settings.link.pdf(0.0)))
    along = scores[votes.left[few]] - scores[votes.right[few]]
    scale = fit_scale(
        along, votes.outcome[few], data.amount[few], settings.link, start, side=False, max_iter=5
    )
    return min(scale.factor, 2 * start) * b


def curvature(
    data: FitData, settings: Settings, optimum: Optimum, directions: np.ndarray | None = None
) -> Curvature:
    """The Hessian at the maximum says what is determined, and how well.

    In all directions, or in those over which the likelihood was maximised.
    """
    X, pairs, center = data.X, data.pairs, data.item_moments
    is_asked = settings.inference is not None or data.keep_sides or directions is not None
    if not is_asked and np.all(center.sd > 0) and not open_in_few(data, np.arange(X.shape[1])).size:
        return Curvature(item_basis(data, settings), np.empty((0, 0)), None)  # all are determined
    scores, shift = optimum.likelihood.scores(optimum.theta)
    ridge, is_logit = np.diag(optimum.likelihood.ridge), isinstance(settings.link, Logit)
    delta = np.empty(0)
    if is_logit and data.tied is None:  # the observed information is the expected one
        score, information, *_ = optimum.likelihood.score_pass(optimum.theta)
    else:
        delta = pairs.differences(scores) + shift[:, None]
        score, information = scores_of_pairs(delta, pairs.win, pairs.lose, settings.link)
    robust = scatter = covariance = None
    if settings.inference == "items":
        u, whitener = likelihood_contributions(score, pairs), leverage_whitener(data, settings)
        weight = sum_sides(information)
        robust, scatter = item_robust_meat(X, center, pairs, u, whitener, weight)
    expected, unit = bordered_scatter(data, information, scatter), parameter_units(data)
    size = size_of_information(optimum.likelihood.n_comparisons, settings.link)
    basis = basis_within(expected + ridge, unit, directions, size)
    if settings.inference == "model":
        covariance = sandwich(basis.inverse, expected, None, data.weight_unit)
        if data.tied is not None:
            taken = bordered_scatter(data, settings.link.taken_by_ties(delta, data.tied))
            taken = data.weight_unit * (basis.inverse @ taken @ basis.inverse.T)
            covariance = less_ties(covariance, taken)
    if settings.inference == "items":
        bread = basis
        if not is_logit:
            weight = settings.link.observed_information(delta, pairs.win, pairs.lose)
            observed = bordered_scatter(data, weight) + ridge
            bread = observed_basis(observed, basis, directions)
        covariance = sandwich(bread.inverse, expected, robust, data.weight_unit)
    return Curvature(basis, expected + ridge, covariance)


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
    data: FitData, settings: Settings, optimum: Optimum, found: Curvature
) -> Estimate:
    """What was found, in terms of coefficients and side effect."""
    d, side, basis = data.X.shape[1], data.keep_sides, found.basis
    theta = basis.smallest(optimum.theta)  # same likelihood
    coef, side_effect = theta[:d], float(theta[d]) if side else None
    scores, votes = rows_times(data.X, coef), data.comparisons
    ahead = difference_pass(votes.left, votes.right, scores)
    features_basis, side_basis = split_side_directions(basis) if side else (basis, None)
    notes: list[Note] = []
    if not optimum.converged:
        text = (
            f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')};"
            " raise max_iter or add a ridge (l2)."
        )
        notes = [(NotConvergedWarning, text)]
    return Estimate(
        coef=coef,
        side_effect=side_effect,
        basis=features_basis,
        side_basis=side_basis,
        center=data.item_moments.spread,
        difference=ahead + side_effect if side_effect else ahead,
        covariance=found.covariance,
        n_iterations=optimum.n_iterations,
        notes=notes,
        n_parameters=basis.transform.shape[1],
    )


def likelihood_contributions(score: np.ndarray, pairs: Pairs) -> PairContributions:
    """Of maximum likelihood: u_p = score_p (x_low - x_high), and score_p times the side.

    ``score`` (sides x P) is the derivative of the log-likelihood in the score difference of each
    pair on each side.
    """
    total = sum_sides(score)
    extra = (pairs.side @ score)[:, None] if len(pairs.side) > 1 else np.empty((len(total), 0))
    return PairContributions(total, -total, extra)
