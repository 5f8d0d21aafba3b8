"""Split, pooled, paired and maximum likelihood from passes over parts.

The algebra is that of :mod:`pairscore.estimators`; what is an array over comparisons there is a
pass here. A fit in memory and one in parts give the same numbers, up to rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from pairscore.core.linalg import Basis, split_side_directions, whitening_basis
from pairscore.core.moments import Spread
from pairscore.core.optimise import Derivatives, Step, minimise
from pairscore.core.scale import (
    EX,
    INFO,
    IX,
    IXX,
    NEAR,
    TOL,
    E,
    Scale,
    fit_scale,
    initial_factor,
    scale_step,
)
from pairscore.errors import NotConvergedWarning
from pairscore.estimators.closed_form import (
    ScaledClosedForm,
    closed_form,
    error_of_sums,
    overfit_guard,
    refuse_few_items,
    scale_notes,
    shrink_covariance,
    side_threshold,
    split_covariance,
)
from pairscore.estimators.fit_data import bordered_scatter
from pairscore.estimators.likelihood import (
    PairLikelihood,
    first_guess,
    item_basis,
    likelihood_basis,
    maximise,
)
from pairscore.estimators.null_space import open_in_few
from pairscore.estimators.pairing import pairing_note
from pairscore.estimators.penalty import SEPARATION_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.recession import Recession
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.separation import SIDE, Curvature, separation_note
from pairscore.estimators.settings import Settings
from pairscore.streaming.data import StreamData
from pairscore.streaming.passes import XX, ScoreSums
from pairscore.streaming.tiles import (
    ClosedFormEquations,
    LikelihoodEquations,
    closed_covariance,
    likelihood_covariance,
    no_pairs,
)

MOST_PASSES = 30  # of a likelihood
CLOSE = 1e-20  # gap to the maximum, per comparison, before the last step
SMALLEST_CURVATURE = 0.02  # of the average one: a sample may not see every direction
NO_ROWS = np.empty(0)  # in the place of arrays over comparisons


# -- closed forms ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Direction:
    """A closed form b (d), with what it was found by.

    ``basis`` whitens the covariance of the method, ``center`` has the spread of the items in it,
    ``penalty`` (d) is the ridge on the scatter, ``freedom`` the degrees of freedom of b.
    """

    b: np.ndarray
    basis: Basis
    center: Spread
    penalty: np.ndarray
    freedom: float


def closed_direction(data: Any) -> Direction:
    """The direction from sums alone, of a fit in parts or of several sites."""
    settings, m, d = data.settings, data.n_comparisons, len(data.label_sum)
    center = data.item_moments.spread
    if settings.method == "split":
        refuse_few_items(data.n_second, d)
        center, covariance = data.second_moments.spread, split_covariance(data.second_moments)
    elif settings.method == "pooled":
        covariance = data.item_moments.scatter / (2 * m)
    else:
        covariance = data.counts.scatter[:d, :d] / (2 * m)
    covariance = shrink_covariance(covariance, float(settings.shrinkage or 0.0))
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    basis = whitening_basis(covariance + np.diag(penalty / (2 * m)), center.sd, size=1.0)
    freedom = float(basis.transform.shape[1])
    if settings.l2 > 0:
        freedom = float(np.vdot(basis.transform, covariance @ basis.transform))
    return Direction(closed_form(basis, data.label_sum, m), basis, center, penalty, freedom)


def fit_closed_form(data: StreamData, recession: Callable[..., Recession]) -> Estimate:
    """Split, pooled or paired; ``recession`` is made of direction and theta of those separated."""
    settings, found = data.settings, closed_direction(data)
    b, center = found.b, found.center
    scale, threshold = link_scale(data, data.table.times(b), center.sd * b, found.freedom)
    estimate = closed_estimate(settings, found, scale, scale_notes(scale.converged))
    if threshold is not None:
        side = [1.0] * settings.side_effect
        only_side = not ridge_is_weak(settings.l2, data.weight_unit)
        direction = np.append(0 * b, side) if only_side else np.append(b, [-threshold] * len(side))
        theta = np.append(estimate.coef, [scale.side_effect] * len(side))
        given = recession(direction, theta, only_side)
        names = [*data.items.feature_names, *[SIDE] * len(side)]
        held = [name for name, of in zip(names, given.touched, strict=True) if of]
        notes = [separation_note(held), *estimate.notes]
        estimate = replace(estimate, recession=given, notes=notes)
    if settings.side_effect and not scale.ridge[1]:
        estimate = replace(estimate, side_basis=data.side_basis(found.penalty))
    if settings.inference is None:
        return estimate
    return _closed_form_intervals(data, estimate, found, scale)


def closed_estimate(
    settings: Settings, found: Direction, scale: Scale, notes: list[Note]
) -> Estimate:
    """A closed form on the scale of the link."""
    return Estimate(
        coef=scale.factor * found.b,
        side_effect=scale.side_effect if settings.side_effect else None,
        basis=found.basis,
        center=found.center,
        difference=NO_ROWS,
        closed_form_coef=found.b,
        guard=scale.guard,
        n_iterations=scale.n_iterations,
        notes=notes,
        settings=settings,
    )


@dataclass(frozen=True)
class ScalePasses:
    """Minus the log-likelihood of factor * score + side effect, each evaluation one pass."""

    data: StreamData
    scores: np.ndarray
    penalty: np.ndarray
    side: bool
    first: list[ScoreSums] = field(default_factory=list)  # that of the start, used again

    def derivatives(self, params: np.ndarray) -> Derivatives:
        factor, side = params.tolist()
        at = factor * self.scores, side
        first = self.first.pop() if self.first else None
        total = (first or self.data.score_pass("Scale", *at, outcomes=False)).totals
        gradient = -np.array([total[EX] / factor, total[E]]) + self.penalty * params
        mixed = total[IX] / factor
        information = np.array([[total[IXX] / factor**2, mixed], [mixed, total[INFO]]])
        information += np.diag(self.penalty)
        if not self.side:
            gradient[1], information[0, 1], information[1, 0] = 0.0, 0.0, 0.0
        return Derivatives(gradient, information)

    def newton_step(self, params: np.ndarray, here: Derivatives, iteration: int) -> Step:
        """See :func:`pairscore.core.scale.scale_step`."""
        return scale_step(params, here, self.data.n_comparisons, self.data.settings.link)


def link_scale(
    data: StreamData, scores: np.ndarray, standard_coef: np.ndarray, freedom: float
) -> tuple[Scale, float | None]:
    """Scale of a closed form on the link; see :func:`pairscore.estimators.closed_form.link_scale`.

    And where it and a side explain all comparisons, the difference between wins and losses.

    The first pass, at and near the scale of the sample, is mostly enough; it also gives what the
    guard against overfitting and the test for separation need.
    """
    settings, side = data.settings, data.settings.side_effect
    norm = float(np.sum(standard_coef**2))
    ridge = (settings.l2 * norm, 0.0)
    start = _sample_scale(data, scores, ridge)
    at, start_side = start.tolist()  # where the sums are made
    series = settings.link.is_logistic and not side
    sums = data.score_pass("Scale", start[0] * scores, start[1], wants=("squared",), series=series)
    weak = ridge_is_weak(settings.l2, data.first.weight_unit)
    separated = (weak or side) and _is_separated(sums, side, only_side=not weak)
    first = [] if separated else [sums]
    if separated:
        prior = SEPARATION_L2 * data.weight_unit
        ridge = ((prior if weak else settings.l2) * norm, prior)
        start = _sample_scale(data, scores, ridge)
    near = sums.best_scale(ridge[0] * start[0] ** 2) if series and not separated else None
    if near is None:
        passes = ScalePasses(data, scores, np.array(ridge), side, first)
        best = minimise(passes, start, settings.max_iter, TOL)
        converged = best.converged
        (factor, side_effect), n_iterations = best.params.tolist(), best.n_iterations
    else:
        factor, side_effect, n_iterations = near * start[0], 0.0, 1
        converged = True
    guard = _guard(data, sums, at, float(data.tally.net_wins @ scores), freedom)
    if near is not None and near * guard >= 1 - NEAR:
        data.agreed.append(sums.at_scale(near * guard))
    scale = Scale(factor * guard, side_effect, guard, n_iterations, ridge, converged=converged)
    # the sums are of scores and side at the start
    ends = sums.losses.high - start_side, sums.wins.low - start_side
    return scale, side_threshold(*ends) / at if separated else None


def _sample_scale(data: StreamData, scores: np.ndarray, ridge: tuple[float, float]) -> np.ndarray:
    """Factor and side effect that fit the sample."""
    rows, settings = data.first.sample, data.settings
    along = scores[rows.left] - scores[rows.right]
    square = float(rows.amount * along @ along) / max(float(rows.amount.sum()), 1e-300)
    start = initial_factor(np.sqrt(square / 2), float(settings.link.pdf(0.0)))
    held = data.share * ridge[0], data.share * ridge[1]
    found = fit_scale(
        along, rows.outcome, rows.amount, settings.link, start, settings.side_effect, held
    )
    side = float(np.clip(found.side_effect, -3.0, 3.0))
    return np.array([float(np.clip(found.factor, start / 10, 10 * start)), side])


def _is_separated(sums: ScoreSums, side: bool, only_side: bool) -> bool:
    """Whether some scale, with a side effect if there is one, explains every comparison.

    ``only_side``: whether the side does alone, where a ridge holds the scale.
    """
    wins, losses = sums.wins, sums.losses
    if sums.totals[-1] > 0:
        return False
    if not side:
        return wins.low >= 0 and losses.high <= 0 and max(wins.high, -losses.low) > 0
    if not (np.isfinite(wins.low) and np.isfinite(losses.low)):
        return True
    return not only_side and wins.low >= losses.high and wins.high > losses.low


def _guard(data: StreamData, sums: ScoreSums, at: float, explained: float, freedom: float) -> float:
    """See :func:`pairscore.estimators.closed_form.overfit_guard`."""
    squares = float(sums.totals[XX]) / at**2
    slope = explained / squares if squares > 0 else 0.0
    residual = data.tally.net_wins - slope * sums.squared / at
    if data.settings.method != "split":
        n = data.n_items
        freedom *= (n / max(n - freedom - 1, n / 2)) ** 2
    return overfit_guard(residual, data.tally.exposures, freedom, explained)


def scaled_form(settings: Settings, found: Direction, scale: Scale, m: float) -> ScaledClosedForm:
    """A closed form on the link's scale, without the pairs."""
    b, weighted = found.b, found.center.sd**2 * found.b
    return ScaledClosedForm(
        pairs=no_pairs(1 + settings.side_effect),
        link=settings.link,
        coef=b,
        inverse=found.basis.inverse / m,
        difference=NO_ROWS,
        factor=scale.factor / scale.guard,
        side_effect=scale.side_effect,
        ridge=scale.ridge,
        ridge_shape=weighted / (b @ weighted) if b.any() else weighted,
    )


def _closed_form_intervals(
    data: StreamData, estimate: Estimate, found: Direction, scale: Scale
) -> Estimate:
    """The estimate with its covariance, and with a look at the pairing."""
    settings, b = data.settings, found.b
    form, scores = scaled_form(settings, found, scale, data.n_comparisons), data.table.times(b)
    equations = ClosedFormEquations(
        form, settings.method, scores, scores - data.item_moments.mean @ b, data.first.tied > 0
    )
    total, robust = data.pair_sums(equations, len(b) + 1 + settings.side_effect)
    error = None
    if settings.method == "split":
        center = data.second_moments
        error = error_of_sums(*data.table.error_sums(data.second_mask, center, b), center.total)
    covariance = closed_covariance(data, form, total.equations, robust, error)
    shift = np.append(form.factor * b - estimate.coef, [0.0] * settings.side_effect)
    pairing = data.pairing()
    return replace(
        estimate,
        covariance=covariance + np.outer(shift, shift),
        pairing=pairing,
        notes=estimate.notes + pairing_note(pairing, settings.method),
    )


# -- maximum likelihood ------------------------------------------------------------------------


@dataclass
class LikelihoodPasses:
    """Minus the log-likelihood as a function of whitened parameters: a pass for each gradient.

    theta = origin + transform a. ``inverse`` is that of the Hessian in the sample; it is improved
    by what the gradients show (Broyden, Fletcher, Goldfarb, Shanno), so that few passes are needed.
    """

    data: StreamData
    transform: np.ndarray
    ridge: np.ndarray
    inverse: np.ndarray
    origin: np.ndarray | float = 0.0
    before: tuple[np.ndarray, np.ndarray] | None = None
    gap: float = np.inf
    expected: float = np.inf  # gap after the next step, if it shrinks as by the step before
    last: ScoreSums | None = None  # sums of a pass that is probably the last, with agreement

    def derivatives(self, params: np.ndarray) -> Derivatives:
        theta, d = self.origin + self.transform @ params, self.data.X.shape[1]
        is_last = self.expected <= 10 * CLOSE and self.data.reader.self_pairs == "error"
        sums = self.data.score_pass(
            "Likelihood",
            self.data.table.times(theta[:d]),
            float(theta[d:].sum()),
            wants=("net", "loglik") if is_last else ("net",),
            distinct=True,
            outcomes=is_last,
        )
        self.last = sums if is_last else None
        on_theta = -self.data.table.total(sums.net)
        if len(theta) > d:
            on_theta = np.append(on_theta, -sums.totals[E])
        return Derivatives(self.transform.T @ (on_theta + self.ridge * theta), np.empty(0))

    def newton_step(self, params: np.ndarray, here: Derivatives, iteration: int) -> Step:
        if self.before is not None:
            self._improve(params - self.before[0], here.gradient - self.before[1])
        self.before = params, here.gradient
        direction = self.inverse @ here.gradient
        gap = 0.5 * float(here.gradient @ direction) / self.data.n_comparisons
        shrink = gap / self.gap if 0 < gap < self.gap < np.inf else 1.0
        self.gap, self.expected = gap, gap * shrink
        return Step(direction, gap)

    def _improve(self, moved: np.ndarray, change: np.ndarray) -> None:
        curvature = float(moved @ change)
        if curvature <= 1e-8 * float(np.linalg.norm(moved) * np.linalg.norm(change)):
            return
        left = np.eye(len(moved)) - np.outer(moved, change) / curvature
        self.inverse = left @ self.inverse @ left.T + np.outer(moved, moved) / curvature


class PartsMaximum(NamedTuple):
    """Where passes maximised a likelihood with a ridge (d + side).

    If ``separated`` there is no maximum, and ``theta`` is a direction in which it grows for ever.
    """

    theta: np.ndarray
    ridge: np.ndarray
    n_iterations: int
    converged: bool
    separated: bool = False

    @property
    def notes(self) -> list[Note]:
        text = f"the likelihood was not maximised within {MOST_PASSES} passes; add a ridge (l2)."
        return [] if self.converged else [(NotConvergedWarning, text)]


def maximum_of_parts(
    data: StreamData, separates: Callable[[np.ndarray], bool], side_ridge: float = 0.0
) -> PartsMaximum:
    """The maximum of the likelihood with the ridge of the settings, if there is one.

    A direction in which the sample, or the passes, find no end is shown to ``separates``.
    """
    settings, sample, side = data.settings, data.sample, data.settings.side_effect
    ridge = np.append(settings.l2 * data.item_moments.sd**2, [side_ridge] * side)
    d = data.X.shape[1]
    T = likelihood_basis(sample, settings, lambda: data.counts.scatter[:d, :d]).transform
    T = block_diag(T, 1 / np.sqrt(data.n_comparisons)) if side else T
    weak = ridge_is_weak(settings.l2, data.first.weight_unit)
    held = np.where(weak, 0.0, data.share) * ridge
    likelihood = PairLikelihood(sample.X, sample.pairs, settings.link, T, held)
    guess = first_guess(sample, settings)
    optimum = maximise(likelihood, guess, settings.max_iter)
    if optimum.separated and separates(likelihood.without_ridge(optimum.theta)):
        return PartsMaximum(optimum.theta, ridge, optimum.n_iterations, False, separated=True)
    theta = guess if optimum.separated or not optimum.converged else optimum.theta
    _, information, *_ = likelihood.score_pass(theta)
    hessian = bordered_scatter(sample, information) / data.share + np.diag(ridge)
    passes = LikelihoodPasses(data, T, ridge, _safe_inverse(T.T @ hessian @ T))
    start = np.linalg.lstsq(T, theta, rcond=None)[0]
    best = minimise(passes, start, min(settings.max_iter, MOST_PASSES), CLOSE)
    theta = T @ best.params
    if best.converged and passes.last is not None:
        data.agreed.append(passes.last)
    if not best.converged:
        last = theta if passes.before is None else T @ (best.params - passes.before[0])
        for endless in (last, theta):
            if separates(likelihood.without_ridge(endless)):
                return PartsMaximum(endless, ridge, best.n_iterations, False, separated=True)
    return PartsMaximum(theta, ridge, best.n_iterations, best.converged)


def likelihood_estimate(
    data: Any,
    theta: np.ndarray,
    basis: Basis,
    covariance: np.ndarray | None,
    n_iterations: int,
    notes: list[Note],
) -> Estimate:
    """Coefficients and side effect, in the terms of a model."""
    settings, d, side = data.settings, len(data.item_moments.mean), data.settings.side_effect
    theta = basis.smallest(theta)
    features, side_basis = split_side_directions(basis) if side else (basis, None)
    return Estimate(
        coef=theta[:d],
        side_effect=float(theta[d]) if side else None,
        basis=features,
        side_basis=side_basis,
        center=data.item_moments.spread,
        difference=NO_ROWS,
        covariance=covariance,
        n_iterations=n_iterations,
        notes=notes,
        n_parameters=basis.transform.shape[1],
        settings=settings,
    )


def _safe_inverse(hessian: np.ndarray) -> np.ndarray:
    """The inverse, where no direction has less than some share of the average curvature."""
    if not len(hessian):  # no direction at all
        return hessian
    values, vectors = np.linalg.eigh(hessian)
    least = SMALLEST_CURVATURE * float(np.mean(values))
    return (vectors / np.maximum(values, least)) @ vectors.T


def curvature_of_parts(
    data: StreamData, theta: np.ndarray, ridge: np.ndarray, directions: np.ndarray | None = None
) -> Curvature:
    """See :func:`pairscore.estimators.likelihood.curvature`."""
    settings, d, sd = data.settings, data.X.shape[1], data.item_moments.sd
    is_asked = settings.inference or settings.side_effect or directions is not None
    if not is_asked and np.all(sd > 0) and not open_in_few(data.sample, np.arange(d)).size:
        return Curvature(item_basis(data.sample, settings), np.empty((0, 0)), None)
    equations = likelihood_equations(data, theta)
    total, robust = data.pair_sums(equations, len(theta))
    sums: Any = total.equations
    found = likelihood_covariance(data, sums, robust, ridge, directions)
    return Curvature(found[0], sums.expected + np.diag(ridge), found[1])


def likelihood_equations(data: StreamData, theta: np.ndarray) -> LikelihoodEquations:
    """The equations at coefficients and side effect."""
    d, link = data.X.shape[1], data.settings.link
    scores, side = data.table.times(theta[:d]), float(theta[d:].sum())
    return LikelihoodEquations(link, scores, side, data.n_tied > 0)
