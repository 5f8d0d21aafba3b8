"""The closed forms, from the paper's equation to coefficients with their covariance.

    beta-hat = (1/M) sum_m Y_m S^-1 (X_I - X_J) = S^-1 X'w / M          (eq. 3)

estimates c1 beta. X'w = sum_m Y_m (x_I - x_J) collects the outcomes, w_i being wins minus losses of
item i; three methods differ in the covariance S of the features that is taken out again:

    split    S = scatter of items that were never compared / (N - d - 2)                (eq. 4)
    pooled   S = X~'KX~ / 2M, the compared items, each as often as it was compared
    paired   S = X'LX / 2M, half the mean square of the observed differences

`split` and `pooled` need pairs drawn at random, because only then do differences have the
covariance of items. `paired` takes the pairs as they are.

A closed form estimates c1 beta, and its length is inflated by its own noise. So that probabilities
mean what they say, its scale on the link is fitted: a likelihood with one parameter along the
direction (two with a side effect), shortened by the share that is overfitting.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pairscore.core.links import Link
from pairscore.core.moments import Moments, Spread
from pairscore.core.pair_graph import Pairs, Tally, sum_sides
from pairscore.core.sandwich import PairContributions, less_ties, sandwich
from pairscore.core.scale import Scale, ScaleRidge, fit_scale, initial_factor
from pairscore.core.sums import Sums
from pairscore.core.whitening import Basis, split_side_directions, whitening_basis
from pairscore.display import plural
from pairscore.errors import NotConvergedWarning, PairscoreError
from pairscore.estimators.fit_data import Along, FitData, FitSums, Tile, jackknife_of_items
from pairscore.estimators.item_table import SecondHalfSums
from pairscore.estimators.null_space import never_differing
from pairscore.estimators.pair_sums import sum_equations
from pairscore.estimators.pairing import pairing_note, pairing_of_data
from pairscore.estimators.penalty import SEPARATION_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.recession import closed_recession
from pairscore.estimators.results import (
    Determined,
    Estimate,
    LinearPredictor,
    Note,
    UnscaledForm,
)
from pairscore.estimators.separation import parameter_names, separation_note
from pairscore.estimators.settings import Settings

SMALLEST_GUARD = 0.05  # share of a closed form that is never taken for overfitting

# -- the direction -----------------------------------------------------------------------------


def closed_form(covariance: Basis, label_sum: np.ndarray, n_comparisons: float) -> np.ndarray:
    """Eq. 3: beta-hat = (1/M) sum_m Y_m S^-1 (x_I - x_J) = S^-1 X'w / M (d).

    S is given by its whitening basis, which also solves where S is singular; ``label_sum`` is X'w.
    """
    return covariance.solve(label_sum) / n_comparisons


def split_covariance(second_half: Moments) -> np.ndarray:
    """Eq. 4: S = 1/(N-d-2) sum_i (x_i - mu)(x_i - mu)', so that E[S^-1] = Sigma^-1.

    d x d, from the moments of the N items of the second half, which were never compared. The
    divisor is that of the inverse Wishart distribution.
    """
    return second_half.scatter / (second_half.total - len(second_half.mean) - 2)


def shrink_covariance(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """Shrink the correlations towards zero: (1 - shrinkage) S + shrinkage diag(S)."""
    return (1 - shrinkage) * covariance + shrinkage * np.diag(np.diag(covariance))


def choose_shrinkage(data: FitSums, settings: Settings, center: Spread) -> float:
    """The number given, or the one that a rule chooses for the standardised items.

    The rules are those of Ledoit and Wolf (2004) and of Chen, Wiesel, Eldar and Hero (2010), OAS,
    by sums over the items, as scikit-learn has them for a table in memory.
    """
    if settings.shrinkage is None or isinstance(settings.shrinkage, float | int):
        return float(settings.shrinkage or 0.0)
    is_used = data.second_mask if settings.method == "split" else data.tally.exposures > 0
    weight = is_used.astype(float)
    items = data.table.moments(weight)
    n, d, unit = items.total, len(center.sd), np.where(center.sd > 0, center.sd, 1.0)
    covariance = items.scatter / np.outer(unit, unit) / n
    square = float(np.sum(covariance**2))
    sphere = float(np.trace(covariance)) ** 2 / d  # of the identity, times the mean variance
    distance = square - sphere
    if d == 1 or distance <= 0:
        return 0.0
    if settings.shrinkage == "ledoit-wolf":
        fourth = data.table.fourth(items.mean, np.diag(1 / unit), weight)
        error = (fourth / n - square) / n
        return float(np.clip(error / distance, 0.0, 1.0))
    return min((square + d * sphere) / ((n + 1) * distance), 1.0)


def feature_covariance(data: FitSums, settings: Settings) -> tuple[np.ndarray, Spread]:
    """The covariance S (d x d) of the method, shrunk, and the spread of the items behind it."""
    twice, d = 2 * data.tally.n_comparisons, len(data.label_sum)
    center = data.item_moments.spread
    if settings.method == "split":
        refuse_few_items(data.n_second, d)
        center = data.second_moments.spread
        covariance = split_covariance(data.second_moments)
    elif settings.method == "pooled":
        covariance = data.item_moments.scatter / twice
    else:
        covariance = data.counts.scatter[:d, :d] / twice
    return shrink_covariance(covariance, choose_shrinkage(data, settings, center)), center


def refuse_few_items(n: int, d: int) -> None:
    """`split` needs more items than features for its covariance."""
    if n < d + 3:
        raise PairscoreError(
            f"method='split' needs at least {d + 3} items for the covariance of"
            f" {plural(d, 'feature')} but has {n}; add items that occur in no comparison, name"
            " some with covariance_items=, or use method='pooled'."
        )


@dataclass(frozen=True)
class Direction:
    """A closed form b (d), with what it was computed from.

    ``basis`` whitens the covariance of the method, ``center`` has the spread of the items in it,
    ``penalty`` (d) is the ridge on the scatter, ``freedom`` the degrees of freedom of b.
    """

    b: np.ndarray
    basis: Basis
    center: Spread
    penalty: np.ndarray
    freedom: float

    @property
    def standard(self) -> np.ndarray:
        """b in units of the features' standard deviations, which a ridge acts on (d)."""
        return self.center.sd * self.b


def closed_direction(data: FitSums, settings: Settings) -> Direction:
    """Eq. 3 with the covariance of the method, and its ridge."""
    m = data.tally.n_comparisons
    covariance, center = feature_covariance(data, settings)
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    basis = whitening_basis(covariance + np.diag(penalty / (2 * m)), center.sd, size=1.0)
    freedom = float(basis.transform.shape[1])
    if settings.l2 > 0:
        freedom = float(np.vdot(basis.transform, covariance @ basis.transform))
    return Direction(closed_form(basis, data.label_sum, m), basis, center, penalty, freedom)


# -- its scale on the link ---------------------------------------------------------------------


@dataclass(frozen=True)
class NetSums(Sums):
    """Of every item, products of its net wins w_i and its net differences n_i along b, summed.

    n_i is the sum of amount times difference where the item is left, less that where it is right.
    """

    wins: float  # sum_i w_i^2
    mixed: float  # sum_i w_i n_i
    differences: float  # sum_i n_i^2

    @classmethod
    def of_items(cls, wins: np.ndarray, differences: np.ndarray) -> "NetSums":
        """From w and n (N)."""
        mixed = float(wins @ differences)
        return cls(float(wins @ wins), mixed, float(differences @ differences))

    def residual(self, slope: float) -> float:
        """The sum of the squares of e_i = w_i - slope n_i."""
        return max(self.wins - 2 * slope * self.mixed + slope**2 * self.differences, 0.0)


def overfit_guard(
    net: NetSums, squares: float, exposures: float, freedom: float, explained: float
) -> float:
    """The share of the closed form's fit that would survive on new items.

    With G = 2 M S the closed form is b = 2 G^-1 X'w, and it fits its own noise: of the agreement
    (X'w)'b about 2 tr(G^-1 Cov(X'w)) is chance. With Cov(X'w) = sum_i e_i^2 x~_i x~_i', e_i the net
    residual of item i, that is 2 * freedom * sum_i e_i^2 / sum_i k_i. On new items only the rest
    remains.

    Parameters
    ----------
    net : NetSums
    squares : float
        The sum of the squares of the differences along b.
    exposures : float
        sum_i k_i.
    freedom : float
        Degrees of freedom of the closed form: about d.
    explained : float
        The agreement (X'w)'b.
    """
    slope = explained / squares if squares > 0 else 0.0
    chance = 2 * freedom * net.residual(slope) / exposures
    return float(np.clip(1 - chance / explained, SMALLEST_GUARD, 1.0)) if explained > 0 else 1.0


def freedom_in_sample(freedom: float, n_items: float, method: str) -> float:
    """Degrees of freedom of a closed form, for the guard.

    Residuals and scatter of `pooled` and `paired` are both fitted to the compared items, which
    hides part of the chance.
    """
    if method == "split":
        return freedom
    return freedom * (n_items / max(n_items - freedom - 1, n_items / 2)) ** 2


def first_scale(squares: float, explained: float, n_comparisons: float, link: Link) -> float:
    """A first guess of the factor from b to the link.

    By the sum of the squares of the differences along b, and the agreement (X'w)'b of the outcomes
    with them. That is half of the squares where b is `paired`; any other b is first brought to the
    length at which it is.
    """
    length = 2 * explained / squares if squares > 0 and explained > 0 else 1.0
    spread = np.sqrt(squares / (2 * n_comparisons))  # two items differ by twice the variance of one
    return length * initial_factor(length * spread, float(link.pdf(0.0)))


def scale_ridge(
    settings: Settings, unit: float, standard_coef: np.ndarray, separated: bool
) -> ScaleRidge:
    """What holds factor and side effect: the ridge, or a prior where comparisons are separated.

    ``standard_coef`` (d) is b in units of the features' standard deviations, which a ridge acts on,
    ``unit`` the weight of a comparison.
    """
    norm = float(np.sum(standard_coef**2))
    if not separated:
        return ScaleRidge(settings.l2 * norm, 0.0)
    prior = SEPARATION_L2 * unit
    l2 = prior if ridge_is_weak(settings.l2, unit) else settings.l2
    return ScaleRidge(l2 * norm, prior)


def link_scale(
    along: Along,
    tally: Tally,
    settings: Settings,
    scores: np.ndarray,
    standard_coef: np.ndarray,
    freedom: float,
    unit: float,
) -> tuple[Scale, bool]:
    """Scale of a closed form b on the link, guarded against overfitting.

    And whether no finite scale is best.

    Parameters
    ----------
    along : Along
        The comparisons along b.
    tally : Tally
        Of all comparisons.
    scores : array (N)
        Of the items by b.
    standard_coef : array (d)
        b in units of the features' standard deviations, which a ridge acts on.
    freedom : float
        Degrees of freedom of b, for the guard.
    unit : float
        The weight of a comparison.
    """
    side, differences = settings.side_effect, along.differences
    weak = ridge_is_weak(settings.l2, unit)
    # a ridge that holds the scale leaves only the side to be without an end
    one_sided = side and along.tied == 0 and (along.wins.is_empty or along.losses.is_empty)
    separated = along.is_separated(side) if weak else one_sided
    ridge = scale_ridge(settings, unit, standard_coef, separated)
    squares = differences.squares
    explained = float((scores - scores.mean()) @ tally.net_wins)
    start = first_scale(squares, explained, tally.n_comparisons, settings.link)
    scale = fit_scale(differences, settings.link, start, side, ridge)
    n_items = float(np.count_nonzero(tally.exposures))
    freedom = freedom_in_sample(freedom, n_items, settings.method)
    net = NetSums.of_items(tally.net_wins, along.net)
    guard = overfit_guard(net, squares, float(tally.exposures.sum()), freedom, explained)
    return replace(scale, factor=scale.factor * guard, guard=guard), bool(separated)


def fit_closed_form(data: FitData, settings: Settings) -> Estimate:
    """Fit by a closed form, `split`, `pooled` or `paired`.

    Direction from eq. 3, scale from a likelihood along it, covariance from both.
    """
    direction = closed_direction(data, settings)
    b = direction.b
    scores = data.table.times(b)
    along = data.along(scores)
    scale, separated = link_scale(
        along,
        data.tally,
        settings,
        scores,
        direction.standard,
        direction.freedom,
        data.weight_unit,
    )
    estimate = closed_estimate(settings, direction, scale)
    if separated:
        only_side = not ridge_is_weak(settings.l2, data.weight_unit)
        theta = np.append(estimate.coef, [scale.side_effect] * data.keep_sides)
        recession = closed_recession(data, b, along.threshold, theta, only_side)
        note = separation_note(parameter_names(data, recession.touched))
        determined = replace(estimate.determined, recession=recession)
        estimate = replace(estimate, determined=determined, notes=[note, *estimate.notes])
    if settings.side_effect and not scale.ridge.side:
        of_side = side_basis(data, direction.penalty)
        estimate = replace(estimate, determined=replace(estimate.determined, side_basis=of_side))
    if not settings.side_effect:
        differences = along.differences.times(scale.factor)
        estimate = replace(estimate, predictor=LinearPredictor(differences=differences))
    if settings.inference is None:
        return estimate
    return _with_covariance(data, settings, estimate, direction, scale)


def closed_estimate(settings: Settings, direction: Direction, scale: Scale) -> Estimate:
    """A closed form on the scale of the link."""
    return Estimate(
        settings=settings,
        coef=scale.factor * direction.b,
        side_effect=scale.side_effect if settings.side_effect else None,
        covariance=None,
        center=direction.center,
        determined=Determined(direction.basis),
        unscaled=UnscaledForm(direction.b, scale.guard),
        n_iterations=scale.n_iterations,
        notes=scale_notes(scale.converged),
    )


def scale_notes(converged: bool) -> list[Note]:
    """What is said of the scale of a closed form."""
    if converged:
        return []
    text = (
        "the scale of the scores was not found to full precision, so probabilities and intervals"
        " may be off; use method='mle'."
    )
    return [(NotConvergedWarning, text)]


def side_basis(data: FitData, penalty: np.ndarray) -> Basis:
    """Whether comparisons tell the side effect from the features.

    They do not if, in some direction, left is ahead by the same amount in every comparison: that is
    the open direction of the basis.
    """
    scatter = data.counts.scatter + np.diag(np.append(penalty, 0.0))
    size = data.item_moments.total
    basis = whitening_basis(scatter, np.append(data.item_moments.sd, 1.0), size)
    return split_side_directions(basis)[1]


# -- its covariance ----------------------------------------------------------------------------


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
        cls, settings: Settings, direction: Direction, scale: Scale, m: float
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
    def weights(self) -> np.ndarray:
        """Of the meat if comparisons were independent, and of what ties take off it."""
        weights = [sum_sides(self.outcome_variance)]
        if self.tile.tied is not None:
            weights.append(sum_sides(self.tile.tied))
        return np.array(weights)

    def sums(self, scatters: np.ndarray) -> ClosedFormSums:
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
        model_meat = self._bordered(scatters[0], 2 * density, information)
        tied = np.zeros_like(model_meat)
        if self.tied_score is not None and self.tile.tied is not None:
            mixed = np.sqrt(self.tile.tied * self.tied_score)
            tied = self._bordered(scatters[1], mixed, self.tied_score)
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


def _with_covariance(
    data: FitData, settings: Settings, estimate: Estimate, direction: Direction, scale: Scale
) -> Estimate:
    """The estimate with the covariance of its coefficients, and with a look at the pairing."""
    b = direction.b
    form = ScaledClosedForm.of_direction(settings, direction, scale, data.tally.n_comparisons)
    scores = data.table.times(b)
    equations = ClosedFormEquations(form, scores, float(data.item_moments.mean @ b))
    inflation = jackknife_of_items(data, settings) if settings.inference == "items" else None
    sums, robust = sum_equations(data, equations, len(b) + 1 + data.keep_sides, inflation)
    if robust is not None and settings.method == "pooled":
        robust = meat_net_of(robust, never_differing(data, settings), form.inverse)
    second_half = None
    if settings.method == "split":
        second_half = data.table.second_half(data.second_mask, data.second_moments, b)
    covariance = closed_covariance(data, settings, form, sums, robust, second_half)
    pairing = pairing_of_data(data, settings.method)
    return replace(
        estimate,
        covariance=covariance + guard_variance(form, estimate),
        unscaled=UnscaledForm(b, scale.guard, pairing),
        notes=estimate.notes + pairing_note(pairing, settings.method),
    )


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
