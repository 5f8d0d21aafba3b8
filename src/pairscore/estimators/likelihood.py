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

import numpy as np
from scipy.linalg import block_diag

from pairscore.core.amounts import meetings, some_amounts, total_of
from pairscore.core.optimise import minimise
from pairscore.core.scale import fit_scale, initial_factor
from pairscore.core.whitening import Basis, split_side_directions, whitening_basis
from pairscore.display import plural
from pairscore.errors import NotConvergedWarning, SeparationWarning
from pairscore.estimators.estimate import Determined, Estimate, Note
from pairscore.estimators.fit_data import (
    Cut,
    FitData,
    FitSums,
    Selection,
    parameter_units,
)
from pairscore.estimators.leverage import item_basis
from pairscore.estimators.likelihood_errors import (
    Curvature,
    carry_over,
    curvature,
)
from pairscore.estimators.likelihood_solvers import (
    CLOSE,
    CLOSE_OF_MANY,
    MANY,
    ConjugateGradients,
    FormedHessian,
    LikelihoodLoss,
    QuasiNewton,
    hessian_at,
    runs_away,
)
from pairscore.estimators.ridge import SEPARATION_L2, ridge_is_weak, ridge_penalty, ridge_units
from pairscore.estimators.separation import (
    SIDE,
    basis_within,
    explained_cut,
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

# mean square of differences over that of random pairs, below which items that met are alike
SMALLEST_SPREAD = 0.05
LARGEST_START = 3.0  # coefficient of a standardised feature to start from
MOST_PASSES = 30  # over comparisons that are not in memory
SMALLEST_CURVATURE = 0.02  # of the average one: a sample may not see every direction
NO_SCALE_BESIDE_SLIPS = SeparationWarning(
    "slips explain every comparison that contradicts the score, so that its scale has no finite"
    " size; a ridge holds it",
    ["use a smaller " + Setting("lapse"), "add comparisons"],
)


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
    units = ridge_units(settings, data.item_moments.sd)
    ridge = np.append(settings.ridge * units**2, [side_ridge] * data.keep_sides)
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
    n_comparisons = data.tally.n_comparisons / data.weight_unit
    close = CLOSE if n_comparisons < MANY else CLOSE_OF_MANY
    loss = LikelihoodLoss(data, settings.link, T, ridge, solver, tol=close)
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


def likelihood_basis(data: FitData, settings: Settings) -> Basis:
    """Coordinates of the coefficients in which the Hessian is close to a multiple of the identity.

    Those of the items, or of the differences of items that met where these are alike; their scatter
    takes about as long as all of Newton's steps for random pairs.
    """
    basis = item_basis(data, settings)
    center = data.item_moments
    units = ridge_units(settings, center.sd)
    penalty = ridge_penalty(settings.ridge, units, float(settings.link.pdf(0.0)))
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

    What is large may be on its way to infinity, and has to show it again; what is no number starts
    at zero.
    """
    unit = np.where(sd > 0, sd, 1.0)
    return np.clip(np.nan_to_num(start * unit), -LARGEST_START, LARGEST_START) / unit


def fit_likelihood(data: FitData, settings: Settings) -> Estimate:
    """Fit by maximum likelihood, started from the pooled closed form or from ``data.start``.

    Where data are separated a ridge of SEPARATION_L2 holds the directions that are, and a note says
    so; what the other comparisons determine is at their maximum.
    """
    start = first_guess(data, settings)
    has_slips = settings.link.lapse > 0
    optimum = _maximum_without_slips(data, settings, start) if has_slips else None
    if optimum is None or not optimum.separated:
        optimum = maximum(data, settings, start if optimum is None else optimum.theta)
    if has_slips and not optimum.separated and runs_away(data, optimum.theta):
        return _held_beside_slips(data, settings, start)
    if not optimum.separated:
        return likelihood_estimate(
            data, settings, optimum, curvature(data, settings, optimum.theta, optimum.ridge)
        )
    if ridge_is_weak(settings.ridge, data.weight_unit):
        return fit_separated(data, settings, optimum.theta, start)
    # the features have a ridge, so that only the side can be without an end
    optimum = maximum(data, settings, start, SEPARATION_L2 * data.weight_unit)
    estimate = likelihood_estimate(
        data, settings, optimum, curvature(data, settings, optimum.theta, optimum.ridge)
    )
    recession = recession_of_side(data, np.eye(len(optimum.theta))[-1], optimum.theta)
    notes = [separation_note([SIDE]), *estimate.notes]
    return replace(
        estimate, determined=replace(estimate.determined, recession=recession), notes=notes
    )


def _maximum_without_slips(data: FitData, settings: Settings, start: np.ndarray) -> Optimum:
    """Where to start with slips, beside which the likelihood may have several maxima.

    Of a stream, that of its sample; the ``start`` itself where there is none. Comparisons that are
    separated are so with slips too.
    """
    plain = replace(settings, link=settings.link.plain)
    optimum = maximum(memory_of(data), plain, start)
    if optimum.separated and data.sample is not None:  # and perhaps all are
        optimum = maximum(data, plain, start)
    if optimum.separated or optimum.converged:
        return optimum
    return replace(optimum, theta=start)


def _held_beside_slips(data: FitData, settings: Settings, start: np.ndarray) -> Estimate:
    """The fit where slips explain all comparisons that contradict the score, so that no scale of
    it is large enough: a ridge of SEPARATION_L2 holds it.
    """
    held = replace(settings, l2=SEPARATION_L2 * data.weight_unit)
    optimum = maximum(data, held, start, SEPARATION_L2 * data.weight_unit)
    found = curvature(data, held, optimum.theta, optimum.ridge)
    estimate = likelihood_estimate(data, settings, optimum, found)
    return replace(estimate, notes=[NO_SCALE_BESIDE_SLIPS, *estimate.notes])


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
    if rest is not None and settings.link.lapse > 0 and runs_away(data, rest.theta):
        return _held_beside_slips(data, settings, start)
    directions = separated_directions(data, others)
    explained = data.part(Selection(cuts, touched=True))
    origin = np.zeros(len(unit)) if rest is None else rest.theta
    prior = SEPARATION_L2 * data.weight_unit * unit**2
    held = held_optimum(explained, settings, prior, directions, origin)
    at_held = curvature(explained, settings, held.theta, held.ridge, directions)
    if rest is not None:
        at_held = carry_over(curvature(others, settings, rest.theta, rest.ridge), at_held)
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
