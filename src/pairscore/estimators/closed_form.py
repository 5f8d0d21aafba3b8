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
from functools import cached_property, partial

import numpy as np

from pairscore.core.linalg import Basis, split_side_directions, whitening_basis
from pairscore.core.links import Link, scores_of_pairs
from pairscore.core.moments import Moments, Spread, centred_blocks, rows_times, spread
from pairscore.core.pair_graph import (
    Pairs,
    Tally,
    count_pairs,
    difference_scatter,
    pair_scatter,
    sum_sides,
)
from pairscore.core.passes import counts_once, difference_pass, net_pass
from pairscore.core.sandwich import (
    LARGEST_LEVERAGE,
    PairContributions,
    Part,
    item_robust_sums,
    less_ties,
    sandwich,
)
from pairscore.core.scale import Scale, fit_scale, initial_factor
from pairscore.errors import NotConvergedWarning, PairscoreError, plural
from pairscore.estimators.fit_data import FitData, bordered_scatter, leverage_whitener
from pairscore.estimators.null_space import never_differing
from pairscore.estimators.pairing import Pairing, fourth_power, pairing_note, pairing_of
from pairscore.estimators.penalty import SEPARATION_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.recession import Recession
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.separation import (
    NO_GAIN,
    parameter_names,
    recession_of,
    separated_directions,
    separation_note,
)
from pairscore.estimators.settings import Settings


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


def choose_shrinkage(data: FitData, settings: Settings, center: Spread) -> float:
    """The number given, or the one that a rule chooses for the standardised items.

    The rules are those of Ledoit and Wolf (2004) and of Chen, Wiesel, Eldar and Hero (2010), OAS.
    """
    if settings.shrinkage is None or isinstance(settings.shrinkage, float | int):
        return float(settings.shrinkage or 0.0)
    from sklearn.covariance import ledoit_wolf_shrinkage, oas

    items = data.second_half if settings.method == "split" else data.X[data.tally.exposures > 0]
    standard = (items - center.mean) / np.where(center.sd > 0, center.sd, 1.0)
    if settings.shrinkage == "ledoit-wolf":
        return float(ledoit_wolf_shrinkage(standard))
    return float(oas(standard)[1])


def feature_covariance(data: FitData, settings: Settings) -> tuple[np.ndarray, Spread]:
    """The covariance S (d x d) of the method, shrunk, and the spread of the items behind it."""
    twice = 2 * data.tally.n_comparisons
    if settings.method == "split":
        refuse_few_items(*data.second_half.shape)
        center, covariance = data.second_moments.spread, split_covariance(data.second_moments)
    elif settings.method == "pooled":
        center, covariance = data.item_moments.spread, data.item_moments.scatter / twice
    elif settings.inference is None:  # the outcomes per pair are not needed, and not sorted
        center = spread(data.X, data.tally.exposures)
        votes = data.comparisons
        pairs = count_pairs(votes.left, votes.right, data.amount, len(data.X))
        covariance = difference_scatter(data.X, center.mean, pairs, pairs.win[0]) / twice
    else:
        center, pairs = data.item_moments.spread, data.pairs
        covariance = difference_scatter(data.X, center.mean, pairs, pairs.number) / twice
    return shrink_covariance(covariance, choose_shrinkage(data, settings, center)), center


def refuse_few_items(n: int, d: int) -> None:
    """`split` needs more items than features for its covariance."""
    if n < d + 3:
        raise PairscoreError(
            f"method='split' needs at least {d + 3} items for the covariance of"
            f" {plural(d, 'feature')} but has {n}; add items that occur in no comparison, name"
            " some with covariance_items=, or use method='pooled'."
        )


def is_separated(
    difference: np.ndarray, outcome: np.ndarray, counted: np.ndarray, side: bool
) -> bool:
    """Whether some scale, with a side effect if there is one, explains every comparison.

    Then no finite one is best. ``counted`` (M) masks the comparisons that count.
    """
    if np.any(counted & (outcome == 0)):
        return False
    wins, losses = difference[counted & (outcome > 0)], difference[counted & (outcome < 0)]
    if not side:
        return bool(np.all(wins >= 0) and np.all(losses <= 0) and (wins.any() or losses.any()))
    if len(wins) == 0 or len(losses) == 0:
        return True
    return bool(wins.min() >= losses.max() and wins.max() > losses.min())


def overfit_guard(
    net_residual: np.ndarray, exposures: np.ndarray, freedom: float, explained: float
) -> float:
    """The share of the closed form's fit that would survive on new items.

    With G = 2 M S the closed form is b = 2 G^-1 X'w, and it fits its own noise: of the agreement
    (X'w)'b about 2 tr(G^-1 Cov(X'w)) is chance. With Cov(X'w) = sum_i e_i^2 x~_i x~_i', e_i the net
    residual of item i, that is 2 * freedom * sum_i e_i^2 / sum_i k_i. On new items only the rest
    remains.

    Parameters
    ----------
    net_residual, exposures : arrays (N)
        e and k of every item.
    freedom : float
        Degrees of freedom of the closed form: about d.
    explained : float
        The agreement (X'w)'b.
    """
    chance = 2 * freedom * float(net_residual @ net_residual) / float(exposures.sum())
    return float(np.clip(1 - chance / explained, 0.05, 1.0)) if explained > 0 else 1.0


def fit_closed_form(data: FitData, settings: Settings) -> Estimate:
    """Fit by a closed form, `split`, `pooled` or `paired`.

    Direction from eq. 3, scale from a likelihood along it, covariance from both.
    """
    covariance, center = feature_covariance(data, settings)
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    m = data.tally.n_comparisons
    basis = whitening_basis(covariance + np.diag(penalty / (2 * m)), center.sd, size=1.0)
    b = closed_form(basis, data.label_sum, m)
    freedom = float(basis.transform.shape[1])
    if settings.l2 > 0:
        freedom = float(np.vdot(basis.transform, covariance @ basis.transform))
    rows = VoteRows.of_data(data)
    scores = rows_times(data.X, b, data.tally.exposures)
    scale, along, separated = link_scale(rows, settings, scores, center.sd * b, freedom)
    has_side_basis = settings.side_effect and not scale.ridge[1]
    recession, notes = None, scale_notes(scale.converged)
    if separated:
        only_side = not ridge_is_weak(settings.l2, data.weight_unit)
        recession = closed_recession(data, along, scale, b, only_side)
        notes = [separation_note(parameter_names(data, recession.touched)), *notes]
    along *= scale.factor
    estimate = Estimate(
        coef=scale.factor * b,
        side_effect=scale.side_effect if settings.side_effect else None,
        basis=basis,
        center=center,
        difference=along + scale.side_effect if settings.side_effect else along,
        scores=scale.factor * scores,
        closed_form_coef=b,
        guard=scale.guard,
        n_iterations=scale.n_iterations,
        outcomes=scale.last and scale.last.outcomes_at(scale.factor),
        side_basis=side_basis(data, penalty) if has_side_basis else None,
        recession=recession,
        notes=notes,
    )
    if settings.inference is None:
        return estimate
    return _with_covariance(data, settings, estimate, scale, basis.inverse / m)


@dataclass(frozen=True)
class VoteRows:
    """What the scale is fitted to: rows of both items, who won, and what it counts, all (M).

    ``tally`` sums them per item; ``unit`` is the average weight of a comparison.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    tally: Tally
    unit: float

    @classmethod
    def of_data(cls, data: FitData) -> "VoteRows":
        votes = data.comparisons
        columns = votes.left, votes.right, votes.outcome, data.amount
        return cls(*columns, data.tally, data.weight_unit)

    def are_separated(self, along: np.ndarray, side: bool) -> bool:
        """Whether some scale explains every comparison with these differences (M)."""
        for rows in (slice(0, 1000), slice(None)):  # a few nearly always show that it is not so
            left, right, outcome, amount, x = (
                column[rows] for column in (self.left, self.right, self.outcome, self.amount, along)
            )
            counted = (amount > 0) & (left != right)
            if not side and np.any(counted & (x * outcome < 0)):
                return False
        return is_separated(along, self.outcome, counted, side)


def link_scale(
    votes: VoteRows,
    settings: Settings,
    scores: np.ndarray,
    standard_coef: np.ndarray,
    freedom: float,
) -> tuple[Scale, np.ndarray, bool]:
    """Scale of a closed form b on the link, guarded against overfitting; differences along b (M).

    And whether no finite scale is best.

    Parameters
    ----------
    scores : array (N)
        Of the items by b.
    standard_coef : array (d)
        b in units of the features' standard deviations, which a ridge acts on.
    freedom : float
        Degrees of freedom of b, for the guard.
    """
    amount, exposures, side = votes.amount, votes.tally.exposures, settings.side_effect
    along = difference_pass(votes.left, votes.right, scores)
    weak = ridge_is_weak(settings.l2, votes.unit)
    # a ridge that holds the scale leaves only the side to be without an end
    separated = (weak or side) and votes.are_separated(along if weak else 0.0 * along, side)
    prior = SEPARATION_L2 * votes.unit
    l2 = prior if separated and weak else settings.l2
    ridge = (l2 * float(np.sum(standard_coef**2)), prior * separated)
    explained = float((scores - scores.mean()) @ votes.tally.net_wins)
    each = along if counts_once(amount) else amount * along
    squares = float(each @ along)
    # two items differ by twice the variance of one
    spread_along = np.sqrt(squares / (2 * votes.tally.n_comparisons))
    start = initial_factor(spread_along, float(settings.link.pdf(0.0)))
    scale = fit_scale(along, votes.outcome, amount, settings.link, start, side, ridge)
    slope = explained / squares if squares > 0 else 0.0
    net_along = net_pass(votes.left, votes.right, each, len(exposures))
    residual = votes.tally.net_wins - slope * net_along
    if settings.method != "split":
        # residuals and scatter are both fitted to the compared items, which hides part of the
        # chance
        n_items = np.count_nonzero(exposures)
        freedom *= (n_items / max(n_items - freedom - 1, n_items / 2)) ** 2
    guard = overfit_guard(residual, exposures, freedom, explained)
    return replace(scale, factor=scale.factor * guard, guard=guard, ridge=ridge), along, separated


def side_threshold(highest_lost: float, lowest_won: float) -> float:
    """A score difference that all comparisons that left lost are below, and the others above."""
    if not np.isfinite(highest_lost):
        return lowest_won - 1.0
    return highest_lost + 1.0 if not np.isfinite(lowest_won) else (highest_lost + lowest_won) / 2


def closed_recession(
    data: FitData, along: np.ndarray, scale: Scale, b: np.ndarray, only_side: bool
) -> Recession:
    """What comparisons say that some scale of a closed form b, or some side, explains.

    Not all that explain it: every direction that does, as for a likelihood. ``along`` (M) are the
    differences along b; ``only_side`` where a ridge holds the scale.
    """
    votes, side = data.comparisons, scale.side_effect
    counted = (data.amount > 0) & (votes.left != votes.right)
    theta = np.append(scale.factor * b, [side] * data.keep_sides)
    if only_side:
        alone = np.eye(len(theta))[:, -1:]
        return recession_of(data, counted, alone, theta, theta * (1 - alone[:, 0]))
    threshold = 0.0
    if data.keep_sides:
        lost, won = (counted & (votes.outcome == outcome) for outcome in (-1, 1))
        ends = along[lost].max(initial=-np.inf), along[won].min(initial=np.inf)
        threshold = side_threshold(*ends)
    gain = votes.outcome * (along - threshold)
    explained = counted & (gain > NO_GAIN * np.abs(gain[counted]).max())
    directions = separated_directions(data, counted, explained)
    return recession_of(data, explained, directions, theta, theta)


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
    scatter = bordered_scatter(data, data.pairs.win + data.pairs.lose)
    scatter += np.diag(np.append(penalty, 0.0))
    size = data.item_moments.total
    basis = whitening_basis(scatter, np.append(data.item_moments.sd, 1.0), size)
    return split_side_directions(basis)[1]


def _with_covariance(
    data: FitData, settings: Settings, estimate: Estimate, scale: Scale, inverse: np.ndarray
) -> Estimate:
    """The estimate with the covariance of its coefficients, and with a look at the pairing."""
    b, sd = estimate.closed_form_coef, estimate.center.sd
    assert b is not None
    weighted = sd**2 * b
    form = ScaledClosedForm(
        pairs=data.pairs,
        link=settings.link,
        coef=b,
        inverse=inverse,
        difference=np.empty(0),  # of a part of the pairs at a time
        factor=scale.factor / scale.guard,
        side_effect=scale.side_effect,
        ridge=scale.ridge,
        ridge_shape=weighted / (b @ weighted) if b.any() else weighted,
    )
    covariance, pairing = covariance_and_pairing(data, settings, form)
    # what the guard takes off is as uncertain as it is long
    shift = np.append(form.factor * b - estimate.coef, [0.0] * settings.side_effect)
    return replace(
        estimate,
        covariance=covariance + np.outer(shift, shift),
        pairing=pairing,
        notes=estimate.notes + pairing_note(pairing, settings.method),
    )


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


@dataclass(frozen=True)
class FormOfPairs:
    """A closed form on the link's scale, and what some of its pairs contribute to it.

    ``scores`` (N) are X b, ``centred`` those less that of the mean.
    """

    form: ScaledClosedForm
    method: str
    scores: np.ndarray
    centred: np.ndarray

    def at(self, pairs: Pairs) -> ScaledClosedForm:
        return replace(self.form, pairs=pairs, difference=pairs.differences(self.scores))

    def __call__(self, pairs: Pairs, _: slice) -> Part:
        here = self.at(pairs)
        u, number = contributions(here, self.method, self.centred), pairs.number
        weights = np.vstack([sum_sides(here.outcome_variance), number])
        squares = np.array(number @ number)
        sums = *here.scale_sums_of_items(), *here.model_sums_of_items(), squares
        return Part(u, weights, sums)


def covariance_and_pairing(
    data: FitData, settings: Settings, form: ScaledClosedForm
) -> tuple[np.ndarray, Pairing]:
    """Covariance of coefficients and side effect on the link's scale, and how pairs look."""
    X, center, pairs = data.X, data.item_moments, data.pairs
    reference = data.second_moments if settings.method == "split" else center
    scores = X @ form.coef
    of_pairs = FormOfPairs(form, settings.method, scores, scores - center.mean @ form.coef)
    if settings.inference == "items":
        robust, scatter, cross, sums = item_robust_sums(
            X, center, pairs, of_pairs, leverage_whitener(data, settings)
        )
        if settings.method == "pooled":
            robust = meat_net_of(robust, never_differing(data, settings), form.inverse)
    else:
        (_, (weight, number), sums), robust = of_pairs(pairs, slice(None)), None
        scatter = difference_scatter(X, center.mean, pairs, weight)
        cross = pair_scatter(X, center.mean, pairs, np.zeros(len(X)), number)
    curvature, on_scale, on_items, of_scale, squares = sums
    fourth = partial(fourth_power, X, pairs.exposures, center.mean)
    pairing = pairing_of(fourth, cross, float(squares), pairs.exposures, center, reference)
    random_pairs = None if settings.method == "paired" else center.scatter
    jacobian = form.jacobian_of(curvature, on_scale @ X, random_pairs)
    model = bordered_meat(X, scatter, on_items, of_scale)
    covariance = sandwich(jacobian, model, robust, data.weight_unit)
    if robust is None and data.tied is not None:
        taken = of_pairs.at(pairs).taken_by_ties(X, center.mean, data.tied)
        taken = data.weight_unit * (jacobian @ taken @ jacobian.T)
        covariance = less_ties(covariance, taken)
    if settings.method == "split":
        covariance = with_second_half(data, covariance, jacobian, form.coef)
    return covariance, pairing


def with_second_half(
    data: FitData, covariance: np.ndarray, jacobian: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """The covariance with what the items behind the covariance of `split` add to it."""
    error = covariance_error(data.second_half, data.second_moments, coef)
    n, d = data.second_half.shape
    # db = -S^-1 dS b, while the closed form has db = A d(X'w) with A = S^-1 / M
    by_covariance = data.tally.n_comparisons * jacobian[:, :d]
    # the inverse of an estimated covariance has heavier tails than the normal distribution knows
    return n / (n - d - 2) * (covariance + by_covariance @ error @ by_covariance.T)


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
