"""The covariance of a closed form and of its scale: the sandwich of the equations of both."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pairscore.core.links import Link
from pairscore.core.pair_graph import Pairs, sum_sides
from pairscore.core.sandwich import PairContributions, less_ties, sandwich
from pairscore.core.scale import Scale, ScaleRidge
from pairscore.core.sums import Sums
from pairscore.estimators.estimate import Estimate
from pairscore.estimators.fit_data import FitSums
from pairscore.estimators.item_table import SecondHalfSums
from pairscore.estimators.settings import Settings
from pairscore.estimators.tile import Tile

if TYPE_CHECKING:
    from pairscore.estimators.closed_form import Direction


@dataclass(frozen=True)
class ScaledClosedForm:
    """A closed form b = A X'w brought to the link's scale: factor * b, and a side effect.

    Two sets of equations are solved: those of b, and the e = 1 or 2 of (factor, side effect), whose
    score is z_p e_p with z = (difference along b, side) and e_p the derivative of the
    log-likelihood.
    """

    link: Link
    method: str
    coef: np.ndarray  # b
    inverse: np.ndarray  # A = S^-1 / M
    factor: float  # before the guard
    side_effect: float
    ridge: ScaleRidge  # of the factor, l2 |sd b|^2, and of the side effect
    ridge_shape: np.ndarray  # sd^2 b / |sd b|^2, the derivative of log |sd b|^2 / 2 in b

    @classmethod
    def of_direction(
        cls, settings: Settings, direction: "Direction", scale: Scale, m: float
    ) -> "ScaledClosedForm":
        b = direction.b
        weighted = direction.center.sd**2 * b
        return cls(
            link=settings.link,
            method=settings.method,
            coef=b,
            inverse=direction.basis.inverse / m,
            factor=scale.factor / scale.guard,
            side_effect=scale.side_effect,
            ridge=scale.ridge,
            ridge_shape=weighted / (b @ weighted) if b.any() else weighted,
        )

    def jacobian(self, sums: "ClosedFormSums", random_pairs: np.ndarray | None) -> np.ndarray:
        """Derivative of (coef, side effect) in the summed contributions (X'w part, scale part).

        d(factor, side) = C^-1 (scores + R' db), with C the curvature of the scale equations and R
        their derivative in b; coef = factor b, so d coef = factor db + b d factor. With
        ``random_pairs`` (d x d), the scatter G of random pairs, only the part of R along b is kept
        (in the metric of G): across it the scale is stationary at the true direction, and a noisy b
        is far from there.
        """
        b, response = self.coef, sums.response
        ridge = np.diag(self.ridge[: len(sums.curvature)])
        by_score = np.linalg.pinv(sums.curvature + ridge, hermitian=True)
        if b.any():
            response = response.copy()
            response[0] -= 2 * self.factor * self.ridge.factor * self.ridge_shape
        if random_pairs is not None and b.any():
            along = random_pairs @ b
            response = np.outer(response @ b, along) / (b @ along)
        scale = np.hstack([by_score @ response @ self.inverse, by_score])  # of (factor, side)
        on_coef = np.outer(b, scale[0])
        on_coef[:, : len(b)] += self.factor * self.inverse
        return np.vstack([on_coef, scale[1:]])


@dataclass(frozen=True)
class ClosedFormSums(Sums):
    """Of a closed form on the link's scale, sums over pairs.

    ``curvature`` C (e x e) and ``response`` R' (e x d) of the equations of its scale, without their
    ridge; ``model_meat``, the covariance of contributions if comparisons were independent and the
    link model right, and ``tied``, what ties take off it ((d + e) x (d + e)).
    """

    curvature: np.ndarray
    response: np.ndarray
    model_meat: np.ndarray
    tied: np.ndarray


def residual_factors(
    method: str, pairs: Pairs, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By which the features of low and high items come into what each pair adds to eq. 3 (P each).

        paired   u = (Y - b'(x_I - x_J)/2) (x_I - x_J), the residual times the difference
        pooled   u = (Y - b'z_I/2) z_I + (-Y - b'z_J/2) z_J, each item's own residual
        split    u = Y (x_I - x_J), which does not sum to zero: its mean is what `split` estimates

    ``scores`` (N) are b'z, z the features less their mean.
    """
    outcome = sum_sides(pairs.win - pairs.lose)
    if method == "pooled":
        half = 0.5 * scores
        low = outcome - pairs.number * half[pairs.low]
        return low, -outcome - pairs.number * half[pairs.high]
    if method == "paired":
        outcome = outcome - 0.5 * pairs.number * pairs.differences(scores)
    return outcome, -outcome


@dataclass(frozen=True)
class ClosedFormEquations:
    """The equations of a closed form b and of its scale.

    ``scores`` (N) are X b, ``center`` is that of the mean item.
    """

    form: ScaledClosedForm
    scores: np.ndarray
    center: float

    def at(self, tile: Tile) -> "ClosedFormTerms":
        return ClosedFormTerms(self.form, tile, tile.take(self.scores), self.center)


@dataclass(frozen=True)
class ClosedFormTerms:
    """What the pairs of a tile add to these equations; ``scores`` are those of its items."""

    form: ScaledClosedForm
    tile: Tile
    scores: np.ndarray
    center: float

    @cached_property
    def difference(self) -> np.ndarray:
        """Along b, of every pair (P)."""
        return self.tile.pairs.differences(self.scores)

    @cached_property
    def predictor(self) -> np.ndarray:
        """On the link, of every side and pair."""
        side = self.form.side_effect * self.tile.pairs.side[:, None]
        return self.form.factor * self.difference + side

    @property
    def scale_design(self) -> np.ndarray:
        """z of every equation, side and pair: e x sides x P."""
        pairs = self.tile.pairs
        along = np.broadcast_to(self.difference, pairs.win.shape)
        if len(pairs.side) == 1:
            return along[None]
        return np.stack([along, np.broadcast_to(pairs.side[:, None], along.shape)])

    @cached_property
    def score_and_information(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the log-likelihood, for every side and pair."""
        return self.form.link.score(self.predictor, self.tile.pairs.win, self.tile.pairs.lose)

    @cached_property
    def outcome_variance(self) -> np.ndarray:
        """Of an outcome Y in {-1, 1}, 4 f (1 - f), summed for every side and pair."""
        if self.form.link.is_logistic:
            return 4 * self.score_and_information[1]
        f = self.form.link.cdf(self.predictor)
        return (self.tile.pairs.win + self.tile.pairs.lose) * 4 * f * (1 - f)

    @property
    def contributions(self) -> PairContributions:
        """What each pair adds to the equations of b and of its scale."""
        of_scale = np.einsum("esp,sp->pe", self.scale_design, self.score_and_information[0])
        low, high = residual_factors(self.form.method, self.tile.pairs, self.scores - self.center)
        return PairContributions(low, high, of_scale)

    @cached_property
    def tied_score(self) -> np.ndarray | None:
        """What ties take off the variance of each score; None without ties."""
        if self.tile.tied is None:
            return None
        return self.form.link.taken_by_ties(self.predictor, self.tile.tied)

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Of the meat if comparisons were independent, and of what ties take off it."""
        weights = {"outcome": sum_sides(self.outcome_variance)}
        if self.tile.tied is not None:
            weights["tied"] = sum_sides(self.tile.tied)
        return weights

    def sums(self, scatters: dict[str, np.ndarray]) -> ClosedFormSums:
        """The covariance of an outcome with its score e is 2 f', the variance of e the information.

        Ties take a quarter of P(tie) off the variance of a half win, and so P(tie) off that of Y; e
        is f'/(f (1 - f)) times half of what is left of Y without its mean.
        """
        pairs, link, z = self.tile.pairs, self.form.link, self.scale_design
        score, information = self.score_and_information
        density = observed = information
        if not link.is_logistic:
            density = (pairs.win + pairs.lose) * link.pdf(self.predictor)
            observed = link.observed_information(self.predictor, pairs.win, pairs.lose)
        response = -self.form.factor * np.einsum("esp,sp->ep", z, observed)
        response[0] += sum_sides(score)
        model_meat = self._bordered(scatters["outcome"], 2 * density, information)
        tied = np.zeros_like(model_meat)
        if self.tied_score is not None and self.tile.tied is not None:
            mixed = np.sqrt(self.tile.tied * self.tied_score)
            tied = self._bordered(scatters["tied"], mixed, self.tied_score)
        return ClosedFormSums(
            curvature=np.einsum("esp,fsp,sp->ef", z, z, observed),
            response=self.tile.on_features(response),
            model_meat=model_meat,
            tied=tied,
        )

    def _bordered(self, scatter: np.ndarray, mixed: np.ndarray, e: np.ndarray) -> np.ndarray:
        """The meat (d + e) from that of Y (d x d), its covariance with e, and the variance of e."""
        z = self.scale_design
        border = self.tile.on_features(np.einsum("esp,sp->ep", z, mixed))
        corner = np.einsum("esp,fsp,sp->ef", z, z, e)
        return np.block([[scatter, border.T], [border, corner]])


def guard_variance(form: ScaledClosedForm, estimate: Estimate) -> np.ndarray:
    """What the guard takes off is as uncertain as it is long."""
    n_sides = 0 if estimate.side_effect is None else 1
    shift = np.append(form.factor * form.coef - estimate.coef, [0.0] * n_sides)
    return np.outer(shift, shift)


def closed_covariance(
    data: FitSums,
    settings: Settings,
    form: ScaledClosedForm,
    sums: ClosedFormSums,
    robust: np.ndarray | None,
    second_half: SecondHalfSums | None,
) -> np.ndarray:
    """Covariance of coefficients and side effect, from the sums of its equations.

    ``robust`` is the item-robust meat, of `pooled` without its part along directions in which no
    comparison differs (:func:`meat_net_of`); ``second_half`` are sums of the items of `split`.
    """
    d = len(form.coef)
    random_pairs = None if settings.method == "paired" else data.item_moments.scatter
    jacobian = form.jacobian(sums, random_pairs)
    covariance = sandwich(jacobian, sums.model_meat, robust, data.weight_unit)
    if robust is None and data.n_tied > 0:
        tied = data.weight_unit * (jacobian @ sums.tied @ jacobian.T)
        covariance = less_ties(covariance, tied)
    if second_half is None:
        return covariance
    n = data.second_moments.total
    # db = -S^-1 dS b, while the closed form has db = A d(X'w) with A = S^-1 / M
    by_covariance = data.tally.n_comparisons * jacobian[:, :d]
    error = covariance_error(second_half, n)
    # the inverse of an estimated covariance has heavier tails than the normal distribution knows
    return n / (n - d - 2) * (covariance + by_covariance @ error @ by_covariance.T)


def covariance_error(sums: SecondHalfSums, n: float) -> np.ndarray:
    """Covariance (d x d) of S b, from the n items behind the covariance S of `split` (eq. 4).

    This part of the error of `split` no comparison cures.
    """
    d = len(sums.total)
    return (sums.squares - np.outer(sums.total, sums.total) / n) / (n - d - 2) ** 2


def meat_net_of(meat: np.ndarray, directions: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """The meat (d + e) of contributions u without their part along ``directions`` V (d x k).

    u - GV (V'GV)^-1 V'u, G the scatter whose ``inverse`` (d x d) solves the closed form. Where no
    comparison differs along V, that moves the coefficients along V only: of the items' features,
    their regression on V is taken off.
    """
    if not directions.size:
        return meat
    d, GV = len(inverse), np.linalg.lstsq(inverse, directions, rcond=None)[0]
    net = np.eye(len(meat))
    net[:d, :d] -= GV @ np.linalg.pinv(directions.T @ GV) @ directions.T
    return net @ meat @ net.T
