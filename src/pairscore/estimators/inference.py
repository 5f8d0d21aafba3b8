"""What each pair adds to the equations of an estimate, and how the estimate answers.

The item-robust covariance of every method is a sandwich (:mod:`pairscore.core.sandwich`): the
contributions u_p of the pairs make its meat, the Jacobian of the estimate its bread.

:class:`Likelihood` is what tests and criteria that take comparisons for independent go by.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.links import Link, chi_square_p, outcome_pass, scores_of_pairs
from pairscore.core.outcomes import TieRule
from pairscore.core.passes import total_of
from pairscore.core.sandwich import LARGEST_LEVERAGE, PairContributions
from pairscore.core.sums import Moments, Pairs, centred_blocks, difference_scatter, sum_sides
from pairscore.core.whitening import OPEN_SHARE, whitening_basis
from pairscore.errors import (
    NoLikelihoodError,
    NotConvergedWarning,
    PairscoreError,
    SeparationWarning,
)
from pairscore.estimators.fit_data import data_hash

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons
    from pairscore.estimators.results import Estimate, Fit

# why a fit is at the maximum of no likelihood, and what to do about it
NO_MAXIMUM = "the comparisons are separated, so that the likelihood has no maximum"
RIDGE = "the ridge keeps the coefficients from the maximum"
SLOPES = "the slopes of judges are shrunk towards 1"
SIDES = "the sides of judges are shrunk towards 0"
ITEM_EFFECTS = "item effects are averaged over by an approximation"
WEIGHTS = "weights are not counts of comparisons"
HALF_WINS = "ties as half wins have a quasi-likelihood only"
NOT_REACHED = "the fit did not reach the maximum"
SINGLE_ITEM = 1.5  # compared items in a cell, as often as an average one: fewer are one
RANK = 1e-9  # eigenvalues of a correlation matrix that count as zero
CRITERIA = ("loglik", "deviance", "df_model", "aic", "bic")
REMEDIES = {
    NO_MAXIMUM: "fit fewer parameters, or add comparisons",
    RIDGE: "fit with l2=0",
    SLOPES: "fit with judge_slopes=False",
    SIDES: "fit with side_effect=True",
    ITEM_EFFECTS: "fit with item_effects=False",
    WEIGHTS: "give counts in the column 'count', or leave the weights out",
    HALF_WINS: "fit with ties='davidson', 'rao-kupper' or 'drop'",
    NOT_REACHED: "raise max_iter",
}


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood of the comparisons at its maximum, or why there is none.

    ``value`` is the sum of log P(outcome) over ``n_comparisons`` single comparisons, of which no
    binomial coefficient is part; ``n_parameters`` are those that the data determine. ``data`` are
    the comparisons, or their hash (:attr:`data_hash`), which takes a pass of its own.
    """

    value: float | None
    n_parameters: int
    n_comparisons: float
    data: "Comparisons | str" = field(compare=False)
    reason: str = ""

    @property
    def data_hash(self) -> str:
        """Of the comparisons, whatever the items are called and whichever features they have."""
        return self.data if isinstance(self.data, str) else data_hash(self.data)

    def to_file(self) -> dict[str, Any]:
        """Plain values, from which it can be made again."""
        return vars(self) | {"data": self.data_hash}

    def refuse_none(self, what: str = "there is no log-likelihood") -> None:
        """Say in a sentence why there is none, or nothing that needs one, and what to do."""
        if self.value is None:
            remedy = REMEDIES.get(self.reason, "fit with method='mle'")
            raise NoLikelihoodError(f"{what}, because {self.reason}; {remedy}.")

    @property
    def loglik(self) -> float:
        self.refuse_none()
        return self.value if self.value is not None else np.nan

    @property
    def df_model(self) -> int:
        """Coefficients, abilities and effects that the comparisons determine."""
        self.refuse_none()
        return self.n_parameters

    @property
    def deviance(self) -> float:
        """Minus twice the log-likelihood; a perfect prediction of each comparison has zero."""
        return -2 * self.loglik

    @property
    def aic(self) -> float:
        """Akaike's criterion: two for each parameter come on top of the deviance."""
        return self.deviance + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion: log(number of comparisons) for each parameter."""
        return self.deviance + float(np.log(self.n_comparisons)) * self.n_parameters

    def to_record(self) -> dict[str, float] | None:
        """Plain values, for JSON; None where there is no likelihood."""
        if self.value is None:
            return None
        return {name: getattr(self, name) for name in (*CRITERIA, "n_comparisons")}


def kept_likelihood(likelihood: Likelihood | None) -> Likelihood:
    """That of a model, which older model files do not have."""
    if likelihood is None:
        raise NoLikelihoodError(
            "the model was saved before log-likelihoods were kept; fit it again to have one."
        )
    return likelihood


def likelihood_of(
    data: "Comparisons", result: "Estimate", of_decided: float | None = None
) -> Likelihood:
    """Of the comparisons that a fit is to, an item with itself left out.

    ``of_decided`` is the log-likelihood of all of them, if all are decided and it is known.
    """
    assert result.settings is not None
    if result.settings.method != "mle":
        reason, total = no_likelihood(result, set(), False), total_of(data.amount)
        return Likelihood(None, result.n_parameters, total, data, reason)
    outcome, eta = data.outcome, result.difference
    are_distinct = bool((distinct := data.left != data.right).all())
    amount = data.amount if are_distinct else data.amount * distinct
    has_weights = data.weight is not None and bool(np.any((data.weight > 0) & (data.weight != 1)))
    counted = {at for at in (-1, 0, 1) if np.any((outcome == at) & (amount > 0))}
    reason, value = no_likelihood(result, counted, has_weights), None
    if not reason:
        rule = TieRule(result.settings.ties, result.settings.link)
        if rule.has_parameter:
            assert result.effects is not None
            tie = result.effects.of_kind("tie")["tie"]
            value = float(amount @ rule.derivatives(eta, outcome, tie).value)
        elif of_decided is not None and are_distinct:
            value = of_decided
        else:
            value = outcome_pass(eta, outcome, amount, rule.link).loglik
    return Likelihood(value, result.n_parameters, float(amount.sum()), data, reason)


def no_likelihood(result: "Estimate", outcomes: set[int], has_weights: bool) -> str:
    """Why a fit is at the maximum of no likelihood; empty if it is.

    ``outcomes`` are those of -1, 0 and 1 that occur.
    """
    settings, kinds = result.settings, [kind for kind, _ in result.notes]
    assert settings is not None
    if settings.method != "mle":
        return f"method={settings.method!r} is a closed form, which maximises no likelihood"
    one_sided = settings.side_effect and (outcomes <= {1} or outcomes <= {-1})
    checks = {
        NO_MAXIMUM: any(issubclass(kind, SeparationWarning) for kind in kinds) or one_sided,
        RIDGE: settings.l2 > 0,
        SLOPES: settings.judge_slopes,
        SIDES: settings.side_by_judge,
        ITEM_EFFECTS: settings.item_effects and not settings.free_abilities,
        WEIGHTS: has_weights,
        HALF_WINS: settings.ties == "half" and 0 in outcomes,
        NOT_REACHED: any(issubclass(kind, NotConvergedWarning) for kind in kinds),
    }
    return next((reason for reason, holds in checks.items() if holds), "")


def likelihood_contributions(score: np.ndarray, pairs: Pairs) -> PairContributions:
    """Of maximum likelihood: u_p = score_p (x_low - x_high), and score_p times the side.

    ``score`` (sides x P) is the derivative of the log-likelihood in the score difference of each
    pair on each side.
    """
    total = sum_sides(score)
    extra = (pairs.side @ score)[:, None] if len(pairs.side) > 1 else np.empty((len(total), 0))
    return PairContributions(total, -total, extra)


@dataclass(frozen=True)
class ScaledClosedForm:
    """A closed form b = A X'w brought to the link's scale: factor * b, and a side effect.

    Two sets of equations are solved: those of b, and the e = 1 or 2 of (factor, side effect), whose
    score is z_p e_p with z = (difference along b, side) and e_p the derivative of the
    log-likelihood.
    """

    pairs: Pairs
    link: Link
    coef: np.ndarray  # b
    inverse: np.ndarray  # A = S^-1 / M
    difference: np.ndarray  # of every pair along b
    factor: float  # before the guard
    side_effect: float
    ridge: tuple[float, float]  # of the factor, l2 |sd b|^2, and of the side effect
    ridge_shape: np.ndarray  # sd^2 b / |sd b|^2, the derivative of log |sd b|^2 / 2 in b

    @cached_property
    def predictor(self) -> np.ndarray:
        return self.factor * self.difference + self.side_effect * self.pairs.side[:, None]

    @property
    def scale_design(self) -> np.ndarray:
        """z of every equation, side and pair: e x sides x P."""
        along = np.broadcast_to(self.difference, self.pairs.win.shape)
        if len(self.pairs.side) == 1:
            return along[None]
        return np.stack([along, np.broadcast_to(self.pairs.side[:, None], along.shape)])

    @cached_property
    def score_and_information(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the log-likelihood, for every side and pair."""
        return scores_of_pairs(self.predictor, self.pairs.win, self.pairs.lose, self.link)

    @property
    def observed_information(self) -> np.ndarray:
        """Of the log-likelihood, for every side and pair: of the logit, the expected one."""
        if self.link.is_logistic:
            return self.score_and_information[1]
        return self.link.observed_information(self.predictor, self.pairs.win, self.pairs.lose)

    def scale_scores(self) -> np.ndarray:
        """Score of (factor, side effect) that each pair contributes: P x e."""
        return np.einsum("esp,sp->pe", self.scale_design, self.score_and_information[0])

    def scale_sums(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C (e x e) and R' (e x d) without their ridge: sums over pairs, which add."""
        curvature, on_items = self.scale_sums_of_items()
        return curvature, on_items @ X

    def scale_sums_of_items(self) -> tuple[np.ndarray, np.ndarray]:
        """C, and by how much the features of each item come into R': e x e and e x N."""
        z, curvature = self.scale_design, self.observed_information
        on_pairs = -self.factor * np.einsum("esp,sp->ep", z, curvature)
        on_pairs[0] += sum_sides(self.score_and_information[0])
        on_items = np.array([self.pairs.net_per_item(row) for row in on_pairs])
        return np.einsum("esp,fsp,sp->ef", z, z, curvature), on_items

    def jacobian_of(
        self, curvature: np.ndarray, response: np.ndarray, random_pairs: np.ndarray | None
    ) -> np.ndarray:
        """Derivative of (coef, side effect) in the summed contributions (X'w part, scale part).

        d(factor, side) = C^-1 (scores + R' db), with C the curvature of the scale equations and R
        their derivative in b; coef = factor b, so d coef = factor db + b d factor. With
        ``random_pairs`` (d x d), the scatter G of random pairs, only the part of R along b is kept
        (in the metric of G): across it the scale is stationary at the true direction, and a noisy b
        is far from there.
        """
        b, ridge = self.coef, np.diag(self.ridge[: len(curvature)])
        by_score = np.linalg.pinv(curvature + ridge, hermitian=True)
        if b.any():
            response = response.copy()
            response[0] -= 2 * self.factor * self.ridge[0] * self.ridge_shape
        if random_pairs is not None and b.any():
            along = random_pairs @ b
            response = np.outer(response @ b, along) / (b @ along)
        scale = np.hstack([by_score @ response @ self.inverse, by_score])  # of (factor, side)
        on_coef = np.outer(b, scale[0])
        on_coef[:, : len(b)] += self.factor * self.inverse
        return np.vstack([on_coef, scale[1:]])

    @cached_property
    def outcome_variance(self) -> np.ndarray:
        """Of an outcome Y in {-1, 1}, 4 f (1 - f), summed for every side and pair."""
        if self.link.is_logistic:
            return 4 * self.score_and_information[1]
        f = self.link.cdf(self.predictor)
        return (self.pairs.win + self.pairs.lose) * 4 * f * (1 - f)

    def model_meat(self, X: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Covariance of contributions if comparisons were independent and the link model right."""
        scatter = difference_scatter(X, mean, self.pairs, sum_sides(self.outcome_variance))
        return bordered_meat(X, scatter, *self.model_sums_of_items())

    def model_sums_of_items(self) -> tuple[np.ndarray, np.ndarray]:
        """Its rows of the scale: by the features of items (e x N), and their own part (e x e).

        The covariance of an outcome with its score e is 2 f', the variance of e the information.
        """
        density = information = self.score_and_information[1]
        if not self.link.is_logistic:
            density = (self.pairs.win + self.pairs.lose) * self.link.pdf(self.predictor)
        return self._sums_of_items(2 * density, information)

    def taken_by_ties(self, X: np.ndarray, mean: np.ndarray, tied: np.ndarray) -> np.ndarray:
        """What ties, of which there were ``tied`` (sides x P), take off the former.

        They take a quarter of P(tie) off the variance of a half win, and so P(tie) off that of Y;
        e is f'/(f (1 - f)) times half of what is left of Y without its mean.
        """
        of_score = self.link.taken_by_ties(self.predictor, tied)
        scatter = difference_scatter(X, mean, self.pairs, sum_sides(tied))
        return bordered_meat(X, scatter, *self._sums_of_items(np.sqrt(tied * of_score), of_score))

    def _sums_of_items(self, mixed: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From the covariance of Y with e, and the variance of e (sides x P)."""
        z = self.scale_design
        on_items = [self.pairs.net_per_item(row) for row in np.einsum("esp,sp->ep", z, mixed)]
        return np.array(on_items), np.einsum("esp,fsp,sp->ef", z, z, e)


def bordered_meat(X: np.ndarray, scatter: np.ndarray, *sums: np.ndarray) -> np.ndarray:
    """The meat (d + e) from the scatter of differences (d x d), and from sums as above."""
    border = sums[0] @ X
    return np.block([[scatter, border.T], [border, sums[1]]])


def contributions(
    form: ScaledClosedForm, method: str, centred_score: np.ndarray
) -> PairContributions:
    """Of a closed form, what each pair adds to the equations of b and of its scale.

    paired   u = (Y - b'(x_I - x_J)/2) (x_I - x_J), the residual times the difference
    pooled   u = (Y - b'z_I/2) z_I + (-Y - b'z_J/2) z_J, each item's own residual
    split    u = Y (x_I - x_J), which does not sum to zero: its mean is what `split` estimates

    ``centred_score`` (N) is b'z of every item.
    """
    pairs, scale_scores = form.pairs, form.scale_scores()
    outcome = sum_sides(pairs.win - pairs.lose)
    if method == "pooled":
        half, number = -0.5 * centred_score, pairs.number
        low, high = number * np.repeat(half, np.diff(pairs.start)), number * half[pairs.high]
        low += outcome  # in place: memory is what takes the time
        high -= outcome
        return PairContributions(low, high, scale_scores)
    residual = outcome - 0.5 * pairs.number * form.difference if method == "paired" else outcome
    return PairContributions(residual, -residual, scale_scores)


def covariance_error(second_half: np.ndarray, center: Moments, coef: np.ndarray) -> np.ndarray:
    """Covariance (d x d) of S b, from the n items behind the covariance S of `split` (eq. 4).

    This part of the error of `split` no comparison cures. It is found by leaving out one item at a
    time, with the leverage of an item on its own covariance.
    """
    return error_of_sums(*covariance_error_sums(second_half, center, coef), center.total)


def covariance_error_sums(
    items: np.ndarray, center: Moments, coef: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What some of these items add to the former: sums of squares (d x d) and sums (d)."""
    d, n = items.shape[1], center.total
    whitener = whitening_basis(center.scatter, center.sd).transform
    meat, total = np.zeros((d, d)), np.zeros(d)
    for _, z in centred_blocks(items, center.mean):
        leverage = np.minimum(1 / n + np.sum((z @ whitener) ** 2, axis=1), LARGEST_LEVERAGE)
        z *= ((z @ coef) / (1 - leverage))[:, None]
        meat += z.T @ z
        total += z.sum(axis=0)
    return meat, total


def error_of_sums(meat: np.ndarray, total: np.ndarray, n: float) -> np.ndarray:
    """The covariance of S b from the sums of all n items."""
    return (meat - np.outer(total, total) / n) / (n - len(total) - 2) ** 2


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


def wald(estimate: np.ndarray, covariance: np.ndarray) -> tuple[float, int, float]:
    """Wald's statistic e'V^+ e of an estimate (k), its degrees of freedom (rank of V), and p.

    By the correlations, so that units do not matter.
    """
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    z, correlation = estimate / scale, covariance / np.outer(scale, scale)
    statistic = float(z @ np.linalg.pinv(correlation, RANK, hermitian=True) @ z)
    df = int(np.linalg.matrix_rank(correlation, RANK, hermitian=True))
    return statistic, df, chi_square_p(statistic, df)


def covariance_noise(fit: "Fit", q: int, cells: np.ndarray | None = None) -> tuple[float, float]:
    """From how many residuals n an item-robust covariance of q contrasts is, and a factor of W.

    At most from N - r - 1, N compared items and r independent features. Levels of a category have
    fewer: with n_c items in cell c, whose share in the contrasts is u_c ~ 1 - n_c/N (of sum q), the
    covariance has n_c - 1 residuals behind the variance in each cell, and is as noisy as a Wishart
    matrix of n = q(q + 1) / sum_c 2 u_c^2 / (n_c - 1) (Pustejovsky and Tipton 2018). The jackknife
    makes these variances larger by 1 / (1 - 1/n_c) on average, which the factor takes off.
    ``cells`` are the 0/1 columns of the cells. An item that is alone in its cell counts each of its
    comparisons by itself.
    """
    items = float(fit.n_items or 0)
    n = items - (fit.n_features - fit.open_directions.shape[1]) - 1
    if cells is None:
        return n, 1.0
    in_cell = items * fit.feature_mean[cells]
    share = 1 - in_cell / items
    share, alone = share * q / share.sum(), in_cell < SINGLE_ITEM
    in_cell = np.where(alone, np.inf, in_cell)
    noise = float(np.sum(2 * share**2 / (in_cell - 1)))
    factor = float(np.sum(share / (1 - 1 / in_cell))) / q
    return min(n, q * (q + 1) / noise if noise else np.inf), factor


def determined_part(fit: "Fit", rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Independent combinations (r x d) of contrasts (k x d) that the comparisons determine.

    Beside them the number of independent combinations with those that are left open.
    """
    standard = rows / fit.feature_unit
    _, size, right = np.linalg.svd(standard, full_matrices=False)
    basis = right[size > OPEN_SHARE * size.max(initial=0.0)]
    directions = fit.open_directions
    if fit.recession is not None:  # what only a prior holds is not determined either
        directions = np.hstack([directions, fit.recession.directions[: fit.n_features]])
    if not directions.size or not len(basis):
        return basis * fit.feature_unit, len(basis)
    along = basis @ (fit.feature_unit[:, None] * directions)
    left, size, _ = np.linalg.svd(along)
    rank = int(np.sum(size > OPEN_SHARE))
    return (left[:, rank:].T @ basis) * fit.feature_unit, len(basis)


def comparisons_of_fit(fit: "Fit", what: str) -> "Comparisons":
    """The comparisons that a fit is to, without ties that it left out."""
    data = fit.comparisons
    if data is None:
        raise PairscoreError(
            f"{what} need the comparisons, which this model does not have; fit it to items and"
            " votes, and save it with data=True if it goes through a file."
        )
    used = data[data.outcome != 0] if fit.ties == "drop" else data
    return used.with_relative_weights()
