"""How sure is the score? Covariances that allow for comparisons sharing an item.

Two comparisons of the same item are dependent: features never explain an item fully. The
item-robust (dyadic) estimate of the variance of a sum of pair contributions u_p lets any two pairs
that share an item be dependent,

    meat = sum_i t_i t_i' - sum_p u_p u_p',    t_i = sum of u_p over the pairs p of item i,

with u_p summed over all comparisons of the unordered pair p. An estimate that solves sum_p u_p = 0
then has covariance J meat J', J the inverse of the derivative.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairscore.core.links import Link
from pairscore.core.sums import (
    BLOCK,
    Moments,
    Pairs,
    centred_blocks,
    neighbour_sums,
    over_sides,
    pair_scatter,
)
from pairscore.core.whitening import whitening_basis

LARGEST_LEVERAGE = 0.8  # an item alone in its category has 1, and nothing is left of its deviation
# in a larger item table the meat is summed in single precision, good to five digits
MANY_NUMBERS = 500_000
SMALLEST_RATIO = 0.5  # of item-robust over classical variance in any direction


@dataclass(frozen=True)
class Contributions:
    """u_p = (low_p z_low + high_p z_high, extra_p).

    What each pair adds to the estimating equations.

    z = x - mean. ``extra`` (P x e) holds the equations that are no sums of features: those of the
    side effect and of a closed form's scale.
    """

    low: np.ndarray
    high: np.ndarray
    extra: np.ndarray


def item_meat(
    X: np.ndarray, center: Moments, pairs: Pairs, u: Contributions, whitener: np.ndarray
) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 - sum_p u_p u_p', without forming any u_p.

    An item pulls the fit towards itself by its leverage h_i = k_i (1/sum k + z_i' (Z'KZ)^-1 z_i),
    so what is left of its own deviation is too small by 1 - h_i; dividing by that is, to first
    order, the jackknife that leaves out one item at a time. ``whitener`` W has W'(Z'KZ)W = I.
    Contributions that do not sum to zero (those of `split`, or of any method with a ridge) are
    taken from their mean.
    """
    unit = np.where(center.sd > 0, center.sd, 1.0)
    Z = np.empty(X.shape, dtype=np.float32 if X.size > MANY_NUMBERS else np.float64)
    for rows, centred in centred_blocks(X, center.mean):
        Z[rows] = centred / unit
    u = Contributions(u.low, u.high, np.column_stack([u.extra, pairs.number]))
    meat = _jackknifed(Z, pairs, u, (unit[:, None] * whitener).astype(Z.dtype)) - pair_meat(
        Z, np.zeros(len(unit), dtype=Z.dtype), pairs, u
    )
    own = pairs.sum_at_low(u.low) + pairs.sum_at_high(u.high)
    total = np.concatenate([own.astype(Z.dtype) @ Z, u.extra[:, :-1].sum(axis=0)])
    take_off_mean = np.column_stack([np.eye(len(total)), -total / pairs.number.sum()])
    back = np.append(unit, np.ones(u.extra.shape[1] - 1))[:, None] * take_off_mean
    return back @ meat @ back.T


def _jackknifed(Z: np.ndarray, pairs: Pairs, u: Contributions, whitener: np.ndarray) -> np.ndarray:
    """sum_i t_i t_i' / (1 - h_i)^2 for centred items, a block of them at a time."""
    exposures = pairs.sum_at_low(pairs.number) + pairs.sum_at_high(pairs.number)
    own = (pairs.sum_at_low(u.low) + pairs.sum_at_high(u.high)).astype(Z.dtype)
    below_start, below, order = pairs.by_high
    low_of_below = u.low[order]
    extra = _item_sums(pairs, u.extra, u.extra).astype(Z.dtype)
    meat = np.zeros((Z.shape[1] + extra.shape[1],) * 2)
    for first in range(0, len(Z), BLOCK):
        rows = slice(first, min(first + BLOCK, len(Z)))
        t = own[rows, None] * Z[rows]
        t += neighbour_sums(Z, pairs.start, pairs.high, u.high, rows)
        t += neighbour_sums(Z, below_start, below, low_of_below, rows)
        leverage = exposures[rows] * (
            1 / exposures.sum() + np.sum((Z[rows] @ whitener) ** 2, axis=1)
        )
        t = (
            np.hstack([t, extra[rows]])
            / (1 - np.minimum(leverage, LARGEST_LEVERAGE)).astype(Z.dtype)[:, None]
        )
        meat += t.T @ t
    return meat


def pair_meat(X: np.ndarray, mean: np.ndarray, pairs: Pairs, u: Contributions) -> np.ndarray:
    """sum_p u_p u_p'."""
    own = pairs.sum_at_low(u.low**2) + pairs.sum_at_high(u.high**2)
    on_features = pair_scatter(X, mean, pairs, own, u.low * u.high)
    at_items = _item_sums(pairs, u.low[:, None] * u.extra, u.high[:, None] * u.extra)
    mixed = at_items.T.astype(X.dtype, copy=False) @ X - np.outer(at_items.sum(axis=0), mean)
    return np.block([[on_features, mixed.T], [mixed, u.extra.T @ u.extra]])


def _item_sums(pairs: Pairs, at_low: np.ndarray, at_high: np.ndarray) -> np.ndarray:
    """Per item (rows) and column, the sum over its pairs of the values at the place it has in them."""
    columns = [
        pairs.sum_at_low(low) + pairs.sum_at_high(high)
        for low, high in zip(at_low.T, at_high.T, strict=True)
    ]
    return np.array(columns).T.reshape(pairs.n_items, len(columns))


def floored_covariance(
    robust: np.ndarray, model: np.ndarray, smallest: float = SMALLEST_RATIO
) -> np.ndarray:
    """The robust covariance, raised where it is less than ``smallest`` (a half) of the model's.

    The item-robust estimate need not be positive definite, and with few items it can be far too
    small by chance. Sharing items only ever adds variance, so in coordinates in which the model's
    covariance is the identity, eigenvalues of the robust one below that are raised to it.
    """
    unit = np.sqrt(np.where(np.diag(model) > 0, np.diag(model), 1.0))
    values, vectors = np.linalg.eigh(model / np.outer(unit, unit))
    kept = values > 1e-13 * values[-1]
    root, inverse_root = (
        vectors[:, kept] * np.sqrt(values[kept]),
        vectors[:, kept] / np.sqrt(values[kept]),
    )
    ratios, axes = np.linalg.eigh(inverse_root.T @ (robust / np.outer(unit, unit)) @ inverse_root)
    turned = (root @ axes) * unit[:, None]
    return (turned * np.maximum(ratios, smallest)) @ turned.T


def sandwich(
    jacobian: np.ndarray,
    model_meat: np.ndarray,
    robust_meat: np.ndarray | None,
    weight_unit: float = 1.0,
) -> np.ndarray:
    """Covariance of the estimates, classical or item-robust.

    The classical one takes weights for counts; as a floor for the other, which does not depend on
    their unit, it is brought to comparisons of average weight.
    """
    model = jacobian @ model_meat @ jacobian.T
    return (
        model
        if robust_meat is None
        else floored_covariance(jacobian @ robust_meat @ jacobian.T, weight_unit * model)
    )


def likelihood_contributions(score: np.ndarray, pairs: Pairs) -> Contributions:
    """Of maximum likelihood: the score times the difference, and times the side."""
    total = over_sides(score)
    extra = (pairs.side @ score)[:, None] if len(pairs.side) > 1 else np.empty((len(total), 0))
    return Contributions(total, -total, extra)


@dataclass(frozen=True)
class ScaledClosedForm:
    """A closed form b = A X'w brought to the link's scale: factor * b, and a side effect.

    Two sets of equations are solved: those of b, and those of (factor, side effect), whose score is
    z_p e_p with z = (difference along b, side) and e the derivative of the log-likelihood.
    """

    pairs: Pairs
    link: Link
    coef: np.ndarray  # b
    inverse: np.ndarray  # A = 2 G^-1
    difference: np.ndarray  # of every pair along b
    factor: float  # before the guard
    side_effect: float
    ridge: tuple[float, float]  # of the factor, l2 |S b|^2, and of the side effect
    ridge_shape: np.ndarray  # S^2 b / |S b|^2, the derivative of log |S b|^2 / 2 in b

    @cached_property
    def predictor(self) -> np.ndarray:
        return self.factor * self.difference + self.side_effect * self.pairs.side[:, None]

    @property
    def scale_design(self) -> np.ndarray:
        """z of every equation (rows), side and pair."""
        along = np.broadcast_to(self.difference, self.pairs.win.shape)
        if len(self.pairs.side) == 1:
            return along[None]
        return np.stack([along, np.broadcast_to(self.pairs.side[:, None], along.shape)])

    @cached_property
    def score_and_information(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every side and pair."""
        return self.link.score(self.predictor, self.pairs.win, self.pairs.lose)

    def scale_scores(self) -> np.ndarray:
        """Score of (factor, side effect) that each pair contributes: P x e."""
        return np.einsum("esp,sp->pe", self.scale_design, self.score_and_information[0])

    def jacobian(self, X: np.ndarray, random_pairs: np.ndarray | None = None) -> np.ndarray:
        """Derivative of (coef, side effect) in the summed contributions (X'w part, scale part).

        d(factor, side) = C^-1 (scores + R' db), with C the curvature of the scale equations and R
        their derivative in b; coef = factor b, so d coef = factor db + b d factor. With
        ``random_pairs``, the scatter G of random pairs, only the part of R along b is kept (in the
        metric of G): across it the scale is stationary at the true direction, and a noisy b is far
        from there.
        """
        z, b = self.scale_design, self.coef
        score, curvature = (
            self.score_and_information[0],
            self.link.observed_information(self.predictor, self.pairs.win, self.pairs.lose),
        )
        inverse_c = np.linalg.pinv(
            np.einsum("esp,fsp,sp->ef", z, z, curvature) + np.diag(self.ridge[: len(z)]),
            hermitian=True,
        )
        along_b = -self.factor * np.einsum("esp,sp->ep", z, curvature)
        along_b[0] += over_sides(score)
        response = np.array([self.pairs.net(row) @ X for row in along_b])  # R', e x d
        if b.any():
            response[0] -= 2 * self.factor * self.ridge[0] * self.ridge_shape
        if random_pairs is not None and b.any():
            along = random_pairs @ b
            response = np.outer(response @ b, along) / (b @ along)
        scale_by_b, scale_by_score = inverse_c @ response @ self.inverse, inverse_c
        on_coef = np.hstack(
            [
                self.factor * self.inverse + np.outer(b, scale_by_b[0]),
                np.outer(b, scale_by_score[0]),
            ]
        )
        rows = [on_coef]
        if len(z) > 1:
            rows.append(np.concatenate([scale_by_b[1], scale_by_score[1]])[None])
        return np.vstack(rows)

    def model_meat(self, X: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Covariance of the contributions if comparisons were independent and the link model right.

        Of an outcome Y in {-1, 1} the variance is 4 f (1 - f), the covariance with its score e is 2
        f', and the variance of e is the expected information.
        """
        number, f = self.pairs.win + self.pairs.lose, self.link.cdf(self.predictor)
        information = self.score_and_information[1]
        variance = over_sides(number * 4 * f * (1 - f))
        degree = self.pairs.sum_at_low(variance) + self.pairs.sum_at_high(variance)
        with_score = np.einsum(
            "esp,sp->ep", self.scale_design, 2 * number * self.link.pdf(self.predictor)
        )
        mixed = np.array([self.pairs.net(row) @ X for row in with_score])
        scale = np.einsum("esp,fsp,sp->ef", self.scale_design, self.scale_design, information)
        return np.block(
            [[pair_scatter(X, mean, self.pairs, degree, -variance), mixed.T], [mixed, scale]]
        )


def paired_contributions(form: ScaledClosedForm) -> Contributions:
    """u = r (x_I - x_J) with r the residual of the outcomes from half the difference along b."""
    outcome = over_sides(form.pairs.win - form.pairs.lose)
    residual = outcome - 0.5 * form.pairs.number * form.difference
    return Contributions(residual, -residual, form.scale_scores())


def pooled_contributions(form: ScaledClosedForm, centred_score: np.ndarray) -> Contributions:
    """u = (Y - b'z_I/2) z_I + (-Y - b'z_J/2) z_J.

    Each item's residual from its own expected net win.
    """
    outcome = over_sides(form.pairs.win - form.pairs.lose)
    expected = 0.5 * centred_score
    low = outcome - form.pairs.number * expected[form.pairs.low]
    high = -outcome - form.pairs.number * expected[form.pairs.high]
    return Contributions(low, high, form.scale_scores())


def split_contributions(form: ScaledClosedForm) -> Contributions:
    """u = Y (x_I - x_J), which does not sum to zero: its mean is what `split` estimates."""
    outcome = over_sides(form.pairs.win - form.pairs.lose)
    return Contributions(outcome, -outcome, form.scale_scores())


def covariance_error(second_half: np.ndarray, center: Moments, coef: np.ndarray) -> np.ndarray:
    """Covariance of Sigma-hat b, from the items behind Sigma-hat.

    The part of `split`'s error that no comparison cures.

    Again by leaving out one item at a time, with the leverage of an item on its own covariance.
    """
    n, n_features = second_half.shape
    whitener = whitening_basis(center.scatter, center.sd).transform
    meat, total = np.zeros((n_features, n_features)), np.zeros(n_features)
    for _, z in centred_blocks(second_half, center.mean):
        leverage = np.minimum(1 / n + np.sum((z @ whitener) ** 2, axis=1), LARGEST_LEVERAGE)
        z *= ((z @ coef) / (1 - leverage))[:, None]
        meat += z.T @ z
        total += z.sum(axis=0)
    return (meat - np.outer(total, total) / n) / (n - n_features - 2) ** 2
