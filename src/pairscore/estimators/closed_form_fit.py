"""A closed form, from the study to coefficients on the link's scale with their covariance."""

from dataclasses import replace

import numpy as np

from pairscore.core.sums import Spread, count_pairs, difference_scatter, net, spread
from pairscore.core.whitening import Basis, apart_from_side, whitening_basis
from pairscore.errors import PairscoreError, PairsNotRandomWarning, plural
from pairscore.estimators import inference as inf
from pairscore.estimators.closed_form import closed_form, ridge_penalty, shrunk, split_scatter
from pairscore.estimators.fit_data import (
    FitData,
    bordered_scatter,
    leverage_whitener,
    ridge_is_weak,
    separation_note,
)
from pairscore.estimators.pairing import Pairing, check_pairing
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.scale import (
    SEPARATION_L2,
    Scale,
    fit_scale,
    is_separated,
    overfit_guard,
    starting_factor,
)
from pairscore.estimators.settings import Settings


def scatter_of(study: FitData, settings: Settings) -> tuple[np.ndarray, Spread]:
    """The scatter matrix G of the method, and the spread of the items behind it."""
    if settings.method == "split":
        n, d = study.second_half.shape
        if n < d + 3:
            raise PairscoreError(
                f"method='split' needs at least {d + 3} items for the covariance of"
                f" {plural(d, 'feature')} but has {n}; add items that occur in no comparison, name"
                " some with covariance_items=, or use method='pooled'."
            )
        center = study.second_moments.spread
        scatter = split_scatter(study.second_moments, study.tally.n_comparisons)
    elif settings.method == "pooled":
        center, scatter = study.item_moments.spread, study.item_moments.scatter
    else:
        center = (
            spread(study.X, study.tally.exposures)
            if settings.inference is None
            else study.item_moments.spread
        )
        scatter = paired_scatter(study, center.mean, settings.inference is not None)
    return shrunk(scatter, chosen_shrinkage(study, settings, center)), center


def paired_scatter(study: FitData, mean: np.ndarray, outcomes_too: bool) -> np.ndarray:
    """Scatter of the observed differences.

    Where no interval asks for the outcomes per pair, they are not sorted.
    """
    if outcomes_too:
        return difference_scatter(study.X, mean, study.pairs, study.pairs.number)
    pairs = count_pairs(study.data.left, study.data.right, study.amount, len(study.X))
    return difference_scatter(study.X, mean, pairs, pairs.win[0])


def chosen_shrinkage(study: FitData, settings: Settings, center: Spread) -> float:
    """The number given, or the one Ledoit and Wolf, or Chen et al.

    (OAS), choose for the standardised items.
    """
    if settings.shrinkage is None or isinstance(settings.shrinkage, float | int):
        return float(settings.shrinkage or 0.0)
    from sklearn.covariance import ledoit_wolf_shrinkage, oas

    items = study.second_half if settings.method == "split" else study.X[study.tally.exposures > 0]
    standard = (items - center.mean) / np.where(center.sd > 0, center.sd, 1.0)
    return float(
        ledoit_wolf_shrinkage(standard) if settings.shrinkage == "ledoit-wolf" else oas(standard)[1]
    )


def fit_closed_form(study: FitData, settings: Settings) -> Estimate:
    """Direction from a closed form, scale from a likelihood along it, covariance from both."""
    scatter, center = scatter_of(study, settings)
    penalty = ridge_penalty(settings.l2, center.sd, float(settings.link.pdf(0.0)))
    basis = whitening_basis(scatter + np.diag(penalty), center.sd)
    b = closed_form(basis, study.label_sum)
    scores = study.X @ b
    along = scores[study.data.left] - scores[study.data.right]
    scale, notes = link_scale(study, settings, along, b, center, basis, scatter)
    result = Estimate(
        coef=scale.factor * b,
        side_effect=scale.side_effect if settings.side_effect else None,
        basis=basis,
        center=center,
        difference=scale.factor * along + scale.side_effect,
        closed_form_coef=b,
        guard=scale.guard,
        n_iterations=scale.n_iterations,
        side_basis=(
            side_basis(study, penalty) if settings.side_effect and not scale.ridge[1] else None
        ),
        notes=notes,
    )
    if settings.inference is None:
        return result
    weighted = center.sd**2 * b
    form = inf.ScaledClosedForm(
        pairs=study.pairs,
        link=settings.link,
        coef=b,
        inverse=2 * basis.inverse,
        difference=study.pairs.differences(scores),
        factor=scale.factor / scale.guard,
        side_effect=scale.side_effect,
        ridge=scale.ridge,
        ridge_shape=weighted / (b @ weighted) if b.any() else weighted,
    )
    reference = study.second_moments if settings.method == "split" else study.item_moments
    pairing = check_pairing(study.X, study.pairs, study.item_moments, reference)
    notes = notes + _pairing_note(pairing, settings.method)
    covariance = closed_form_covariance(study, settings, form)
    # by the guard: as uncertain as it is long
    shift = np.append(form.factor * b - result.coef, [0.0] * settings.side_effect)
    return replace(
        result, covariance=covariance + np.outer(shift, shift), pairing=pairing, notes=notes
    )


def side_basis(study: FitData, penalty: np.ndarray) -> Basis:
    """Whether comparisons tell the side effect from the features.

    Not if left is ahead by one amount in some direction each time.
    """
    scatter = bordered_scatter(study, study.pairs.win + study.pairs.lose) + np.diag(
        np.append(penalty, 0.0)
    )
    return apart_from_side(whitening_basis(scatter, np.append(study.item_moments.sd, 1.0)))[1]


def link_scale(
    study: FitData,
    settings: Settings,
    along: np.ndarray,
    b: np.ndarray,
    center: Spread,
    basis: Basis,
    scatter: np.ndarray,
) -> tuple[Scale, list[Note]]:
    """Scale of a closed form on the link, guarded against overfitting."""
    data, amount = study.data, study.amount
    counted = (amount > 0) & (data.left != data.right)
    weak = ridge_is_weak(study, settings)
    separated = is_separated(along, data.outcome, counted, settings.side_effect) and (
        weak or settings.side_effect
    )
    notes = [separation_note()] if separated else []
    l2 = SEPARATION_L2 if separated and weak else settings.l2
    ridge = (l2 * float(np.sum((center.sd * b) ** 2)), SEPARATION_L2 * separated)
    explained, squares = float(amount * data.outcome @ along), float(amount * along @ along)
    # two items differ by twice the variance of one
    start = starting_factor(
        np.sqrt(squares / (2 * study.tally.n_comparisons)), float(settings.link.pdf(0.0))
    )
    scale = fit_scale(
        along, data.outcome, amount, settings.link, start, settings.side_effect, ridge
    )
    residual = (
        amount * (data.outcome - explained / squares * along)
        if squares > 0
        else amount * data.outcome
    )
    freedom = (
        basis.transform.shape[1]
        if settings.l2 == 0
        else float(np.vdot(basis.transform, scatter @ basis.transform))
    )
    if settings.method != "split":
        # residuals and scatter are both fitted to the compared items, which hides part of the
        # chance
        freedom *= (study.n_items / max(study.n_items - freedom - 1, study.n_items / 2)) ** 2
    guard = overfit_guard(
        net(data.left, data.right, residual, len(study.X)),
        study.tally.exposures,
        freedom,
        explained,
    )
    return replace(scale, factor=scale.factor * guard, guard=guard, ridge=ridge), notes


def closed_form_covariance(
    study: FitData, settings: Settings, form: inf.ScaledClosedForm
) -> np.ndarray:
    """Covariance of coefficients and side effect on the link's scale."""
    X, mean = study.X, study.item_moments.mean
    jacobian, model_meat = (
        form.jacobian(X, None if settings.method == "paired" else study.item_moments.scatter),
        form.model_meat(X, mean),
    )
    robust = None
    if settings.inference == "items":
        if settings.method == "pooled":
            u = inf.pooled_contributions(form, X @ form.coef - mean @ form.coef)
        else:
            u = (
                inf.paired_contributions(form)
                if settings.method == "paired"
                else inf.split_contributions(form)
            )
        robust = inf.item_meat(
            X, study.item_moments, study.pairs, u, leverage_whitener(study, settings)
        )
    covariance = inf.sandwich(jacobian, model_meat, robust, study.weight_unit)
    if settings.method == "split":
        error = inf.covariance_error(study.second_half, study.second_moments, form.coef)
        # db = -Sigma^-1 dSigma b, while the closed form has db = A d(X'w) with A = Sigma^-1 / M
        through = study.tally.n_comparisons * jacobian[:, : X.shape[1]]
        n, d = study.second_half.shape
        # the inverse of an estimated covariance has heavier tails than the normal distribution
        # knows
        covariance = n / (n - d - 2) * (covariance + through @ error @ through.T)
    return covariance


def _pairing_note(pairing: Pairing, method: str) -> list[Note]:
    if method == "paired" or pairing.looks_random:
        return []
    return [
        (
            PairsNotRandomWarning,
            f"{pairing.in_words} method={method!r} assumes random pairs; use 'paired' or 'mle'.",
        )
    ]
