"""Maximum likelihood on the graph of items: differences of features are never formed.

With scores s = X beta the log-likelihood is a sum over pairs of log f(s_low - s_high). Its gradient
is X'(B'r), B the incidence matrix of the pairs, and its Hessian X' L_omega X, L_omega the Laplacian
with the information of each pair as weight. Newton's equations are solved by conjugate gradients in
coordinates in which the scatter of the items is the identity; there the Hessian is close to a
multiple of the identity, and a few products with it are enough.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from pairscore.core.links import Link, Logit
from pairscore.core.newton import Derivatives, Step, minimise
from pairscore.core.sandwich import item_robust_meat, less_ties, sandwich
from pairscore.core.sums import Moments, Pairs, sum_sides
from pairscore.core.whitening import Basis, split_side_directions, whitening_basis
from pairscore.errors import NotConvergedWarning, plural
from pairscore.estimators.closed_form import SAMPLE, fit_scale, initial_factor
from pairscore.estimators.fit_data import (
    SEPARATION_L2,
    FitData,
    bordered_scatter,
    leverage_whitener,
    ridge_is_weak,
    ridge_penalty,
    separation_note,
)
from pairscore.estimators.inference import likelihood_contributions
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.settings import Settings

FIRST_SEPARATION_CHECK = 8  # iteration by which a likelihood with a maximum has reached it
SMALLEST_GAIN = 0.1  # of some comparison's score difference, in a step along which there is no end
COARSE, FINE = 1e-2, 1e-4  # relative precision of the first Newton step, and of the others
# gap of Fisher's steps over that of Newton's: they do not square the gap
FISHER_GAP = 1e7
LARGEST_START = 3.0  # coefficient of a standardised feature to start from


@dataclass(frozen=True)
class PairLikelihood:
    """Negative log-likelihood, with its ridge, as a function of whitened parameters (a, c).

    beta = W a, and the side effect is c / sqrt(M), so that all parameters have similar curvature.

    Parameters
    ----------
    X : array (N x d)
    pairs : Pairs
    link : Link
    basis : Basis
        W (d x r), which whitens the items.
    ridge : array (d)
        Penalty on beta^2 / 2 of each feature.
    side_ridge : float
        Penalty on side effect^2 / 2.
    tol : float
        Gap to the minimum, per comparison, that one more step closes.
    """

    X: np.ndarray
    pairs: Pairs
    link: Link
    basis: Basis
    ridge: np.ndarray
    side_ridge: float = 0.0
    tol: float = 1e-9

    @property
    def has_side(self) -> bool:
        return len(self.pairs.side) > 1

    @property
    def n_comparisons(self) -> float:
        return float(self.pairs.number.sum())

    @property
    def may_be_unbounded(self) -> bool:
        """Whether some parameter has no ridge that holds it back if data are separated."""
        return not np.any(self.ridge) or (self.has_side and self.side_ridge == 0)

    def start(self, coef: np.ndarray) -> np.ndarray:
        """Whitened parameters of coefficients (d), without a side effect."""
        W = self.basis.transform
        params = np.linalg.lstsq(W, coef, rcond=None)[0] if W.size else np.zeros(0)
        return np.append(params, 0.0) if self.has_side else params

    def coef(self, params: np.ndarray) -> np.ndarray:
        return self.basis.transform @ params[: self.basis.transform.shape[1]]

    def side_effect(self, params: np.ndarray) -> float:
        return float(params[-1]) / np.sqrt(self.n_comparisons) if self.has_side else 0.0

    def predictor(self, params: np.ndarray) -> np.ndarray:
        """Score difference of every pair, seen from each side (sides x P)."""
        return predictor(self.X, self.pairs, self.coef(params), self.side_effect(params))

    def pull_back(self, values: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Transpose of :meth:`predictor` times ``values`` (sides x P), plus the ridge's share."""
        on_coef = self.pairs.net_per_item(sum_sides(values)) @ self.X
        on_whitened = self.basis.transform.T @ (on_coef + self.ridge * self.coef(params))
        if not self.has_side:
            return on_whitened
        on_side = self.pairs.side @ values.sum(axis=1) + self.side_ridge * self.side_effect(params)
        return np.append(on_whitened, on_side / np.sqrt(self.n_comparisons))

    def derivatives(self, params: np.ndarray) -> Derivatives:
        """Gradient of the loss, and the information that each pair carries (sides x P)."""
        score, information, exact = self.link.newton(
            self.predictor(params), self.pairs.win, self.pairs.lose
        )
        return Derivatives(self.pull_back(-score, params), information, exact)

    def newton_step(self, params: np.ndarray, here: Derivatives, iteration: int) -> Step:
        """Newton's step, and whether it shows that the likelihood has no maximum.

        Half the squared Newton decrement is the gap; per comparison the Hessian is about
        ``curvature`` times I.
        """
        curvature = float(here.information.sum()) / self.n_comparisons
        hessian = max(2 * self.n_comparisons * curvature, np.finfo(float).tiny)
        gap = float(here.gradient @ here.gradient) / hessian * (1.0 if here.exact else FISHER_GAP)
        near = gap <= self.tol
        direction = self._solve(here, FINE if iteration > 1 or near else COARSE)
        check = self.may_be_unbounded and (near or iteration >= FIRST_SEPARATION_CHECK)
        unbounded = check and (self.separates(-direction) or self.separates(params))
        return Step(direction, gap, unbounded)

    def _solve(self, here: Derivatives, precision: float) -> np.ndarray:
        """Solve Hessian * direction = gradient to a relative precision, by conjugate gradients."""
        # for directions of which no pair speaks
        damping = 1e-9 * float(here.information.sum()) / self.n_comparisons

        def times(vector: np.ndarray) -> np.ndarray:
            values = here.information * self.predictor(vector)
            return self.pull_back(values, vector) + damping * vector

        size = len(here.gradient)
        hessian = LinearOperator((size, size), matvec=times, dtype=float)
        return cg(hessian, here.gradient, rtol=precision, maxiter=10 * size + 20)[0]

    def separates(self, direction: np.ndarray) -> bool:
        """Whether moving along ``direction`` for ever makes no comparison worse, and some better.

        This is (quasi-)complete separation (Albert and Anderson 1984).
        """
        gain = self.predictor(direction)
        largest = np.abs(gain).max()
        if largest < SMALLEST_GAIN:
            return False
        slack = 1e-4 * largest
        wins, losses = self.pairs.win > 0, self.pairs.lose > 0
        return bool(np.all(gain[wins] >= -slack) and np.all(gain[losses] <= slack))


def predictor(X: np.ndarray, pairs: Pairs, coef: np.ndarray, side_effect: float) -> np.ndarray:
    """Score difference of every pair (columns) seen from each side (rows)."""
    difference = pairs.differences(X @ coef)
    if len(pairs.side) == 1:
        return difference[None]
    return difference + side_effect * pairs.side[:, None]


@dataclass(frozen=True)
class Optimum:
    """Where the likelihood was maximised, and the likelihood with the ridge that held it there."""

    likelihood: PairLikelihood
    coef: np.ndarray
    side_effect: float
    n_iterations: int
    converged: bool
    separated: bool


def maximise(likelihood: PairLikelihood, start: np.ndarray, max_iter: int = 100) -> Optimum:
    """Maximise the likelihood from coefficients ``start`` (d) by Newton's method.

    The optimum is ``separated`` if some direction explains every comparison: there is no maximum.
    """
    params, n_iterations, converged, separated = minimise(
        likelihood, likelihood.start(start), max_iter, likelihood.tol
    )
    coef, side_effect = likelihood.coef(params), likelihood.side_effect(params)
    return Optimum(likelihood, coef, side_effect, n_iterations, converged, separated)


def fit_likelihood(data: FitData, settings: Settings) -> Estimate:
    """Fit by maximum likelihood, started from the pooled closed form or from ``data.start``.

    Where data are separated the fit is the one with the ridge of SEPARATION_L2, and a note says so.
    """
    center, link = data.item_moments, settings.link
    penalty = ridge_penalty(settings.l2, center.sd, float(link.pdf(0.0)))
    basis = whitening_basis(center.scatter + np.diag(penalty), center.sd)
    if data.start is None:  # the pooled closed form, whose 2 M S is this scatter
        start = initial_coef(data, settings, 2 * basis.solve(data.label_sum), center)
    else:
        start = clip_start(data.start, center.sd)
    ridge, weak = settings.l2 * center.sd**2, ridge_is_weak(data, settings)
    likelihood = PairLikelihood(
        data.X, data.pairs, link, basis, 0 * ridge if weak else ridge, tol=settings.tol
    )
    optimum = maximise(likelihood, start, settings.max_iter)
    notes: list[Note] = []
    if optimum.separated:
        notes.append(separation_note())
        ridge = SEPARATION_L2 * center.sd**2 if weak else ridge
        likelihood = replace(likelihood, ridge=ridge, side_ridge=SEPARATION_L2)
        optimum = maximise(likelihood, start, settings.max_iter)
    elif weak and settings.l2 > 0:  # there is a maximum, and the weak ridge moves it a little
        optimum = maximise(replace(likelihood, ridge=ridge), optimum.coef, settings.max_iter)
    if not optimum.converged:
        text = (
            f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')};"
            " raise max_iter or add a ridge (l2)."
        )
        notes.append((NotConvergedWarning, text))
    return likelihood_estimate(data, settings, optimum, notes)


def clip_start(start: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Coefficients (d) to start from, clipped in units of the features' standard deviations.

    What is large may be on its way to infinity, and has to show it again.
    """
    unit = np.where(sd > 0, sd, 1.0)
    return np.clip(start * unit, -LARGEST_START, LARGEST_START) / unit


def initial_coef(data: FitData, settings: Settings, b: np.ndarray, center: Moments) -> np.ndarray:
    """A closed form ``b`` (d) on the link's scale, as a sample of the comparisons shows it."""
    votes, scores = data.comparisons, data.X @ b
    few = slice(None, None, 1 + len(votes) // SAMPLE)
    spread = float(np.sqrt(b @ center.covariance @ b))
    start = initial_factor(spread, float(settings.link.pdf(0.0)))
    along = scores[votes.left[few]] - scores[votes.right[few]]
    scale = fit_scale(
        along, votes.outcome[few], data.amount[few], settings.link, start, side=False, max_iter=5
    )
    return min(scale.factor, 2 * start) * b


def likelihood_estimate(
    data: FitData, settings: Settings, optimum: Optimum, notes: list[Note]
) -> Estimate:
    """The Hessian at the maximum says what is determined, and how well."""
    X, pairs, center, side = data.X, data.pairs, data.item_moments, settings.side_effect
    delta = predictor(X, pairs, optimum.coef, optimum.side_effect)
    score, information = settings.link.score(delta, pairs.win, pairs.lose)
    expected = bordered_scatter(data, information)
    ridge = np.append(optimum.likelihood.ridge, [optimum.likelihood.side_ridge] * side)
    basis = whitening_basis(expected + np.diag(ridge), np.append(center.sd, [1.0] * side))
    params = np.append(optimum.coef, [optimum.side_effect] * side)
    if basis.open_directions.size:  # same likelihood, smallest norm
        params = basis.solve((expected + np.diag(ridge)) @ params)
    covariance = None
    if settings.inference == "model":
        covariance = sandwich(basis.inverse, expected, None)
        if data.tied is not None:
            taken = bordered_scatter(data, settings.link.taken_by_ties(delta, data.tied))
            covariance = less_ties(covariance, basis.inverse @ taken @ basis.inverse.T)
    if settings.inference == "items":
        u, whitener = likelihood_contributions(score, pairs), leverage_whitener(data, settings)
        robust = item_robust_meat(X, center, pairs, u, whitener)
        bread = observed_basis(data, settings.link, delta, ridge, basis).inverse
        covariance = sandwich(bread, expected, robust, data.weight_unit)
    coef, side_effect = params[: X.shape[1]], float(params[-1]) if side else None
    scores = X @ coef
    features_basis, side_basis = split_side_directions(basis) if side else (basis, None)
    left, right = data.comparisons.left, data.comparisons.right
    return Estimate(
        coef=coef,
        side_effect=side_effect,
        basis=features_basis,
        side_basis=side_basis,
        center=center.spread,
        difference=scores[left] - scores[right] + (side_effect or 0.0),
        covariance=covariance,
        n_iterations=optimum.n_iterations,
        notes=notes,
    )


def observed_basis(
    data: FitData, link: Link, delta: np.ndarray, ridge: np.ndarray, expected: Basis
) -> Basis:
    """Whiten the observed information, the bread of the sandwich; ``expected`` is the other one's.

    Under logit both are the same. A link that is not log-concave may leave the observed one
    indefinite; then it is the expected one, too. ``delta`` (sides x P) are the score differences.
    """
    if isinstance(link, Logit):
        return expected
    weight = link.observed_information(delta, data.pairs.win, data.pairs.lose)
    observed = bordered_scatter(data, weight) + np.diag(ridge)
    W = expected.transform
    if not np.all(np.linalg.eigvalsh(W.T @ observed @ W) > 0):
        return expected
    return whitening_basis(observed, np.append(data.item_moments.sd, [1.0] * data.keep_sides))
