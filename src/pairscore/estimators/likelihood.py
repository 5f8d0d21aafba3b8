"""Maximum likelihood on the item graph: differences of features are never formed.

With scores s = X beta the log-likelihood is a sum over pairs of log f(s_low - s_high). Its gradient
is X'(B'r), B the incidence matrix of the pairs, and its Hessian X' L_omega X, L_omega the Laplacian
with the information of each pair as weight. Newton's equations are solved by conjugate gradients in
coordinates in which the scatter of the items is the identity; there the Hessian is close to a
multiple of the identity, and a few products with it are enough.

Maximum likelihood, from the study to coefficients with their covariance.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from pairscore.core.links import Link, Logit
from pairscore.core.sums import Moments, Pairs, over_sides
from pairscore.core.whitening import Basis, apart_from_side, whitening_basis
from pairscore.errors import NotConvergedWarning, plural
from pairscore.estimators import inference as inf
from pairscore.estimators.closed_form import closed_form, ridge_penalty
from pairscore.estimators.fit_data import (
    FitData,
    bordered_scatter,
    leverage_whitener,
    ridge_is_weak,
    separation_note,
)
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.scale import SAMPLE, SEPARATION_L2, fit_scale, starting_factor
from pairscore.estimators.settings import Settings

FIRST_SEPARATION_CHECK = 8  # a likelihood with a maximum has been climbed by then
SMALLEST_GAIN = 0.1  # of some comparison's score difference, in a step that climbs without end


@dataclass(frozen=True)
class Optimum:
    """Where the climb ended.

    ``separated``: some direction explains every comparison, there is no maximum.
    """

    coef: np.ndarray
    side_effect: float
    n_iterations: int
    converged: bool
    separated: bool


@dataclass(frozen=True)
class Slope:
    """What one look at the likelihood gives. ``exact``: a step by this information is Newton's."""

    gradient: np.ndarray
    information: np.ndarray
    exact: bool


@dataclass(frozen=True)
class PairLikelihood:
    """Negative log-likelihood, with its ridge, as a function of whitened parameters (a, c).

    beta = W a, and the side effect is c / sqrt(M), so that all parameters have similar curvature.
    """

    X: np.ndarray
    pairs: Pairs
    link: Link
    basis: Basis
    ridge: np.ndarray
    side_ridge: float = 0.0

    @property
    def has_side(self) -> bool:
        return len(self.pairs.side) > 1

    @property
    def n_comparisons(self) -> float:
        return float(self.pairs.number.sum())

    def coef(self, params: np.ndarray) -> np.ndarray:
        return self.basis.transform @ params[: self.basis.transform.shape[1]]

    def side_effect(self, params: np.ndarray) -> float:
        return float(params[-1]) / np.sqrt(self.n_comparisons) if self.has_side else 0.0

    def predictor(self, params: np.ndarray) -> np.ndarray:
        """Score difference of every pair, seen from each side."""
        return predictor(self.X, self.pairs, self.coef(params), self.side_effect(params))

    def pull_back(self, values: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`predictor`, plus the ridge's share."""
        on_coef = self.pairs.net(over_sides(values)) @ self.X + self.ridge * self.coef(params)
        whitened = self.basis.transform.T @ on_coef
        if not self.has_side:
            return whitened
        on_side = self.pairs.side @ values.sum(axis=1) + self.side_ridge * self.side_effect(params)
        return np.append(whitened, on_side / np.sqrt(self.n_comparisons))

    def slope(self, params: np.ndarray) -> "Slope":
        """Gradient of the loss, and the information that each pair carries here."""
        score, information, exact = self.link.newton(
            self.predictor(params), self.pairs.win, self.pairs.lose
        )
        return Slope(self.pull_back(-score, params), information, exact)

    def newton_step(self, slope: "Slope", precision: float) -> np.ndarray:
        """Solve Hessian * step = gradient to a relative precision."""
        # for directions of which no pair speaks
        damping = 1e-9 * float(slope.information.sum()) / self.n_comparisons

        def times(vector: np.ndarray) -> np.ndarray:
            return (
                self.pull_back(slope.information * self.predictor(vector), vector)
                + damping * vector
            )

        size = len(slope.gradient)
        hessian = LinearOperator((size, size), matvec=times, dtype=float)
        return cg(hessian, slope.gradient, rtol=precision, maxiter=10 * size + 20)[0]

    def separates(self, step: np.ndarray) -> bool:
        """Whether moving along ``step`` for ever makes no comparison worse, and some better."""
        gain = self.predictor(step)
        largest = np.abs(gain).max()
        if largest < SMALLEST_GAIN:
            return False
        slack = 1e-4 * largest
        wins, losses = self.pairs.win > 0, self.pairs.lose > 0
        return bool(np.all(gain[wins] >= -slack) and np.all(gain[losses] <= slack))


def predictor(X: np.ndarray, pairs: Pairs, coef: np.ndarray, side_effect: float) -> np.ndarray:
    """Score difference of every pair (columns) seen from each side (rows)."""
    difference = pairs.differences(X @ coef)
    return (
        difference[None] if len(pairs.side) == 1 else difference + side_effect * pairs.side[:, None]
    )


def maximise(
    climb: PairLikelihood, start: np.ndarray, max_iter: int = 100, tol: float = 1e-9
) -> Optimum:
    """PairLikelihood the likelihood from coefficients ``start``.

    When the gap to the maximum is below ``tol`` per comparison, one more Newton step is the last:
    it squares the gap.
    """
    W = climb.basis.transform
    params = np.linalg.lstsq(W, start, rcond=None)[0] if W.size else np.zeros(0)
    params = np.append(params, 0.0) if climb.has_side else params
    here = climb.slope(params)
    unbounded = not np.any(climb.ridge) or (climb.has_side and climb.side_ridge == 0)
    for iteration in range(1, max_iter + 1):
        # half the squared Newton decrement is the gap; per comparison the Hessian is about this
        # multiple of I
        curvature = float(here.information.sum()) / climb.n_comparisons
        enough = tol if here.exact else tol * 1e-7
        near = here.gradient @ here.gradient <= 2 * enough * climb.n_comparisons * curvature
        step = climb.newton_step(here, precision=1e-4 if iteration > 1 or near else 1e-2)
        stuck = near or iteration >= FIRST_SEPARATION_CHECK
        if unbounded and stuck and (climb.separates(-step) or climb.separates(params)):
            return Optimum(
                climb.coef(params),
                climb.side_effect(params),
                iteration,
                converged=False,
                separated=True,
            )
        if near:
            params = params - step
            return Optimum(
                climb.coef(params),
                climb.side_effect(params),
                iteration,
                converged=True,
                separated=False,
            )
        params, here = _advance(climb, params, here, step)
    return Optimum(
        climb.coef(params), climb.side_effect(params), max_iter, converged=False, separated=False
    )


def _advance(
    climb: PairLikelihood, params: np.ndarray, here: Slope, step: np.ndarray
) -> tuple[np.ndarray, Slope]:
    """Go along the Newton step, back a little while the slope there says it went too far.

    The loss is convex, so its slope along the step tells all; its value is never needed.
    """
    downhill = here.gradient @ step
    length = 1.0
    for _ in range(60):
        moved = params - length * step
        there = climb.slope(moved)
        uphill = -(there.gradient @ step)
        if np.isfinite(uphill) and uphill <= 0.5 * downhill:
            break
        length *= downhill / (downhill + uphill) if np.isfinite(uphill) else 0.5
    return moved, there


LARGEST_WARM = 3.0  # coefficient of a standardised feature to start from


def fit_likelihood(study: FitData, settings: Settings) -> Estimate:
    """Maximum likelihood, started from the pooled closed form."""
    center, link = study.item_moments, settings.link
    slope = float(link.pdf(0.0))
    basis = whitening_basis(
        center.scatter + np.diag(ridge_penalty(settings.l2, center.sd, slope)), center.sd
    )
    start = (
        starting_coef(study, settings, closed_form(basis, study.label_sum), center)
        if study.start is None
        else _tame(study.start, center.sd)
    )
    asked, weak = settings.l2 * center.sd**2, ridge_is_weak(study, settings)
    climb = PairLikelihood(study.X, study.pairs, link, basis, 0 * asked if weak else asked)
    top = maximise(climb, start, settings.max_iter, settings.tol)
    notes: list[Note] = []
    if top.separated:
        notes.append(separation_note())
        climb = replace(
            climb, ridge=SEPARATION_L2 * center.sd**2 if weak else asked, side_ridge=SEPARATION_L2
        )
        top = maximise(climb, start, settings.max_iter, settings.tol)
    elif weak and settings.l2 > 0:  # there is a maximum, and the weak ridge moves it a little
        climb = replace(climb, ridge=asked)
        top = maximise(climb, top.coef, settings.max_iter, settings.tol)
    if not top.converged:
        text = (
            f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')};"
            " raise max_iter or add a ridge (l2)."
        )
        notes.append((NotConvergedWarning, text))
    return likelihood_estimate(study, settings, climb, top, notes)


def _tame(start: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Coefficients to start from.

    What is large may be on its way to infinity, and has to show it again.
    """
    unit = np.where(sd > 0, sd, 1.0)
    return np.clip(start * unit, -LARGEST_WARM, LARGEST_WARM) / unit


def starting_coef(study: FitData, settings: Settings, b: np.ndarray, center: Moments) -> np.ndarray:
    """A closed form on the link's scale, by a glance at some of the comparisons."""
    data, scores = study.data, study.X @ b
    few = slice(None, None, 1 + len(data) // SAMPLE)
    start = starting_factor(
        float(np.sqrt(b @ center.covariance @ b)), float(settings.link.pdf(0.0))
    )
    along = scores[data.left[few]] - scores[data.right[few]]
    scale = fit_scale(
        along, data.outcome[few], study.amount[few], settings.link, start, side=False, max_iter=5
    )
    return min(scale.factor, 2 * start) * b


def likelihood_estimate(
    study: FitData, settings: Settings, climb: PairLikelihood, top: Optimum, notes: list[Note]
) -> Estimate:
    """The Hessian at the maximum says what is determined, and how well."""
    X, pairs, center, link = study.X, study.pairs, study.item_moments, settings.link
    delta = predictor(X, pairs, top.coef, top.side_effect)
    score, information = link.score(delta, pairs.win, pairs.lose)
    expected = bordered_scatter(study, information)
    ridge = np.append(climb.ridge, [climb.side_ridge] * settings.side_effect)
    sd = np.append(center.sd, [1.0] * settings.side_effect)
    basis = whitening_basis(expected + np.diag(ridge), sd)
    d = X.shape[1]
    params = np.append(top.coef, [top.side_effect] * settings.side_effect)
    if basis.open_directions.size:  # same likelihood, smallest norm
        params = basis.solve((expected + np.diag(ridge)) @ params)
    coef, side_effect = params[:d], float(params[d]) if settings.side_effect else None
    covariance = None
    if settings.inference is not None:
        bread = basis if isinstance(link, Logit) else _bread(study, link, delta, ridge, sd, basis)
        robust = None
        if settings.inference == "items":
            robust = inf.item_meat(
                X,
                center,
                pairs,
                inf.likelihood_contributions(score, pairs),
                leverage_whitener(study, settings),
            )
        model = inf.sandwich(basis.inverse, expected, None)
        covariance = (
            model
            if robust is None
            else inf.sandwich(bread.inverse, expected, robust, study.weight_unit)
        )
    scores = X @ coef
    features_basis, side_basis = apart_from_side(basis) if settings.side_effect else (basis, None)
    return Estimate(
        coef=coef,
        side_effect=side_effect,
        basis=features_basis,
        side_basis=side_basis,
        center=center.spread,
        difference=scores[study.data.left] - scores[study.data.right] + (side_effect or 0.0),
        covariance=covariance,
        n_iterations=top.n_iterations,
        notes=notes,
    )


def _bread(
    study: FitData,
    link: Link,
    delta: np.ndarray,
    ridge: np.ndarray,
    sd: np.ndarray,
    fallback: Basis,
) -> Basis:
    """Whiten the observed information; a link that is not log-concave may leave it indefinite."""
    observed = bordered_scatter(
        study, link.observed_information(delta, study.pairs.win, study.pairs.lose)
    ) + np.diag(ridge)
    W = fallback.transform
    return (
        whitening_basis(observed, sd)
        if np.all(np.linalg.eigvalsh(W.T @ observed @ W) > 0)
        else fallback
    )
