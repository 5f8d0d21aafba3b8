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

import numpy as np

from pairscore.core.links import Link
from pairscore.core.moments import Moments, Spread
from pairscore.core.pair_graph import Tally
from pairscore.core.scale import Scale, ScaleRidge, fit_scale, initial_factor
from pairscore.core.sums import Sums
from pairscore.core.whitening import Basis, split_side_directions, whitening_basis
from pairscore.errors import NotConvergedWarning
from pairscore.estimators.checks import refuse_few_items
from pairscore.estimators.closed_form_errors import (
    ClosedFormEquations,
    ScaledClosedForm,
    closed_covariance,
    guard_variance,
    meat_net_of,
)
from pairscore.estimators.estimate import (
    Determined,
    Estimate,
    LinearPredictor,
    Note,
    UnscaledForm,
)
from pairscore.estimators.fit_data import Along, FitData, FitSums
from pairscore.estimators.leverage import jackknife_of_items
from pairscore.estimators.null_space import never_differing
from pairscore.estimators.pair_sums import sum_equations
from pairscore.estimators.random_pairs import pairing_note, pairing_of_data
from pairscore.estimators.ridge import SEPARATION_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.separation import closed_recession, parameter_names, separation_note
from pairscore.estimators.settings import Settings
from pairscore.messages import Setting

SMALLEST_GUARD = 0.05  # share of a closed form that is never taken for overfitting


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
    penalty = ridge_penalty(settings.ridge, center.sd, float(settings.link.pdf(0.0)))
    basis = whitening_basis(covariance + np.diag(penalty / (2 * m)), center.sd, size=1.0)
    freedom = float(basis.transform.shape[1])
    if settings.ridge > 0:
        freedom = float(np.vdot(basis.transform, covariance @ basis.transform))
    return Direction(closed_form(basis, data.label_sum, m), basis, center, penalty, freedom)


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
        return ScaleRidge(settings.ridge * norm, 0.0)
    prior = SEPARATION_L2 * unit
    l2 = prior if ridge_is_weak(settings.ridge, unit) else settings.ridge
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
    weak = ridge_is_weak(settings.ridge, unit)
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
        only_side = not ridge_is_weak(settings.ridge, data.weight_unit)
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
        " may be off"
    )
    return [NotConvergedWarning(text, "use " + Setting("method", "mle"))]


def side_basis(data: FitData, penalty: np.ndarray) -> Basis:
    """Whether comparisons tell the side effect from the features.

    They do not if, in some direction, left is ahead by the same amount in every comparison: that is
    the open direction of the basis.
    """
    scatter = data.counts.scatter + np.diag(np.append(penalty, 0.0))
    size = data.item_moments.total
    basis = whitening_basis(scatter, np.append(data.item_moments.sd, 1.0), size)
    return split_side_directions(basis)[1]
