"""Models from sums of sites: of their first sums, or of those that they made at a model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.core.scale import Scale
from pairscore.core.sums import share_of
from pairscore.errors import (
    PairscoreError,
    RoundNeededWarning,
    SeparationWarning,
)
from pairscore.estimators.agreement import Agreement
from pairscore.estimators.checks import refuse_too_many_features
from pairscore.estimators.closed_form import (
    Direction,
    closed_estimate,
    freedom_in_sample,
    overfit_guard,
    scale_ridge,
)
from pairscore.estimators.closed_form_errors import (
    ClosedFormSums,
    ScaledClosedForm,
    closed_covariance,
    guard_variance,
    meat_net_of,
)
from pairscore.estimators.estimate import Estimate
from pairscore.estimators.information_criteria import Likelihood, no_likelihood
from pairscore.estimators.likelihood import Optimum, likelihood_estimate
from pairscore.estimators.likelihood_errors import curvature_of_sums, observed_basis
from pairscore.estimators.null_space import never_differing_in_sums
from pairscore.estimators.pair_sums import Meat
from pairscore.estimators.ridge import ridge_is_weak
from pairscore.estimators.settings import DEFAULTS, Settings, check_settings
from pairscore.messages import Setting
from pairscore.model.feature_notes import feature_notes, side_notes
from pairscore.model.fit_comparisons import fit_of, without_decisions
from pairscore.model.inference import choose_inference
from pairscore.model.provenance import record_of
from pairscore.model.regression import RankRegression
from pairscore.streaming.rounds import ClosedFormRound, LikelihoodRound, Point, RoundSums
from pairscore.streaming.scale_sums import (
    PAIR_SCALES,
    SCALES,
    agreement_of_sums,
    at_scale,
    best_scale,
)
from pairscore.streaming.site_files import read_sums_file, refuse_damage
from pairscore.streaming.sites import SiteSums

CLOSE = 1e-13  # gap to the maximum, per comparison, at which rounds may end
LONGEST_STEP = 6.0  # of score differences, in the mean square: beyond it a link is flat
AT_SITES = (
    "hold for the judges at these sites; other judges may see it differently (sums do not say who"
    " judged)"
)
NO_DATA = (
    "no model follows from these sums, which contradict each other; make the sums of every site"
    " again."
)
FIRST_GUESS = (
    "the scale of the coefficients is a first guess, and there are no intervals: every site"
    " has to make sums at this model, and these are merged again."
)
FAR_SCALE = (
    "the scale of the coefficients is far from that at which sums were made, and there are no"
    " intervals: every site has to make sums at this model, and these are merged again."
)
NO_BEST_SCALE = (
    "no scale of the closed form fits best, so that there are no intervals: the comparisons may be"
    " separated; use a ridge."
)
ALL_EXPLAINED = (
    "the score predicts every comparison correctly, so that the likelihood has no maximum and there"
    " are no intervals; use a ridge."
)


@contextmanager
def _of_real_data() -> Iterator[None]:
    """Refuse sums from which no model follows: each may look like one, and all be no data's."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (np.linalg.LinAlgError, ArithmeticError):
        raise PairscoreError(NO_DATA) from None


def merge_sites(
    sites: Sequence[SiteSums],
    *,
    method: str = "pooled",
    l2: float = 0.0,
    inference: str | None = "items",
) -> RankRegression:
    """A model from the sums of sites with disjoint items.

    The closed form is that of all data together. Its scale on the link is a first guess, by the
    spread of its scores, and there are no intervals: these take another exchange
    (:func:`site_round`, :func:`merge_rounds`). With ``method="mle"`` it is the start.

    Parameters
    ----------
    sites : list of SiteSums
        What :func:`site_sums` gave at each site.
    method : {"pooled", "split", "paired", "mle"}
        The estimator.
    l2 : float
        Ridge, as in :class:`~pairscore.RankRegression`.
    inference : {"items", "model", None}
        The intervals that the next exchange will give.
    """
    with _of_real_data():
        return _merge_first(sites, method, l2, inference)


def _merge_first(
    sites: Sequence[SiteSums], method: str, l2: float, inference: str | None
) -> RankRegression:
    first, *others = sites
    for site in others:
        first = first + site
    side = first.terms.side_effect
    if side and method != "mle":
        raise PairscoreError(
            "a side effect over sites is estimated by " + Setting("method", "mle"),
            ["use that", "make the sums without it"],
        )
    point = Point(first, method, float(l2), check_settings(inference=inference).inference)
    refuse_too_many_features(point.data, first.numbers.number, point.settings)
    scale = point.first_scale
    estimate = closed_estimate(
        replace(point.settings, side_effect=False), point.direction, Scale(scale, 0.0)
    )
    if method == "mle":
        theta = np.append(estimate.coef, [0.0] * side)
        point = replace(point, theta=tuple(theta.tolist()))
        estimate = replace(estimate, side_effect=0.0 if side else None, unscaled=None)
    else:
        point = replace(point, scale=scale)
    estimate = replace(estimate, notes=[RoundNeededWarning(FIRST_GUESS)])
    return _model(point, replace(point.settings, inference=None), estimate)


def merge_rounds(sites: Sequence[RoundSums]) -> RankRegression:
    """The next model, from sums of all ``sites`` at the last one (:func:`site_round`)."""
    first, *others = sites
    for site in others:
        first = first + site
    missing = [source for source in first.point.total.sources if source not in first.sources]
    if missing:
        raise PairscoreError(
            f"the model was made from the sums of {len(first.point.total.sources)} sites, and"
            f" {len(first.sources)} have sent sums at it; give those of all sites."
        )
    with _of_real_data():
        if isinstance(first.sums, LikelihoodRound):
            return _merge_likelihood(first.point, first.sums)
        return _merge_closed_form(first.point, first.sums)


# -- closed forms ------------------------------------------------------------------------------


def _merge_closed_form(point: Point, sums: ClosedFormRound) -> RankRegression:
    data = point.data
    direction = point.direction
    kind, notes = choose_inference(data, point.settings)
    separated = sums.along.is_explained and ridge_is_weak(point.settings.ridge, data.weight_unit)
    ridge = scale_ridge(point.settings, data.weight_unit, direction.standard, separated)
    moved = 0.0
    if direction.b.any():
        moved = best_scale(sums.along.slope, ridge.factor * point.scale**2)
    known = SCALES if kind is None else PAIR_SCALES
    if separated:
        notes = [*notes, SeparationWarning(NO_BEST_SCALE)]
        kind = None
    elif not known[0] < moved < known[-1]:
        notes = [*notes, RoundNeededWarning(FAR_SCALE)]
        kind = None
    settings = replace(point.settings, inference=kind)
    factor = point.scale * float(np.exp(moved))
    guard = _guard(point, direction, sums)
    scale = Scale(factor * guard, side_effect=0.0, guard=guard, n_iterations=1, ridge=ridge)
    estimate = replace(closed_estimate(settings, direction, scale), notes=notes)
    if kind is not None:
        estimate = _with_covariance(point, settings, estimate, direction, scale, sums, moved)
    shares = agreement_of_sums(sums.along, point.data, point.scale, moved + float(np.log(guard)))
    point = replace(point, scale=factor, number=point.number + 1)
    return _model(point, settings, estimate, shares)


def _guard(point: Point, direction: Direction, sums: ClosedFormRound) -> float:
    """The share of the closed form that is not overfitting."""
    data = point.data
    b = direction.b
    return overfit_guard(
        sums.net,
        squares=point.squares_along(b),
        exposures=data.item_moments.total,
        freedom=freedom_in_sample(direction.freedom, data.n_items, point.method),
        explained=float(data.label_sum @ b),
    )


def _with_covariance(
    point: Point,
    settings: Settings,
    estimate: Estimate,
    direction: Direction,
    scale: Scale,
    sums: ClosedFormRound,
    moved: float,
) -> Estimate:
    """The estimate with its covariance, from sums at PAIR_SCALES.

    ``moved`` is the logarithm of the scale before the guard, relative to that of the point.
    """
    data = point.data
    form = ScaledClosedForm.of_direction(settings, direction, scale, data.tally.n_comparisons)
    equations = ClosedFormSums(
        **{name: at_scale(of, PAIR_SCALES, moved) for name, of in vars(sums.equations).items()}
    )
    robust = None
    if settings.inference == "items":
        robust = _meat_at_scale(sums.meat, moved).item_robust(0.5 * data.item_moments.total)
        if settings.method == "pooled":
            never = never_differing_in_sums(data, settings)
            robust = meat_net_of(robust, never, form.inverse)
    second_half = sums.second_half if settings.method == "split" else None
    covariance = closed_covariance(data, settings, form, equations, robust, second_half)
    return replace(estimate, covariance=covariance + guard_variance(form, estimate))


def _meat_at_scale(meat: Meat, moved: float) -> Meat:
    """The meat of d equations and of one scale, from that of d equations and of PAIR_SCALES."""
    n_scales = len(PAIR_SCALES)
    d = len(meat.total) - n_scales
    to_scale = at_scale(np.eye(n_scales), PAIR_SCALES, moved)
    take = np.zeros((d + 2, d + n_scales + 1))
    take[:d, :d] = np.eye(d)
    take[d, d:-1] = to_scale
    take[d + 1, -1] = 1.0  # the number of comparisons
    total = take[:-1, :-1] @ meat.total
    return Meat(take @ meat.items @ take.T, take @ meat.pairs @ take.T, total)


# -- maximum likelihood ------------------------------------------------------------------------


def _merge_likelihood(point: Point, sums: LikelihoodRound) -> RankRegression:
    data = point.data
    kind, notes = choose_inference(data, point.settings)
    if sums.along.is_explained and ridge_is_weak(point.settings.ridge, data.weight_unit):
        notes = [*notes, SeparationWarning(ALL_EXPLAINED)]
        kind = None
    settings = replace(point.settings, inference=kind)
    ridge = np.append(settings.ridge * data.item_moments.sd**2, [0.0] * data.keep_sides)
    robust = None
    if kind == "items":
        robust = sums.meat.item_robust(0.5 * data.item_moments.total)
    found = curvature_of_sums(data, settings, sums.equations, robust, ridge)
    theta = np.array(point.theta)
    gradient = sums.meat.total - ridge * theta
    observed = sums.equations.observed + np.diag(ridge)
    step = observed_basis(observed, found.basis, None).solve(gradient)
    gap = 0.5 * float(gradient @ step) / data.tally.n_comparisons
    square = float(step @ data.counts.scatter @ step) / data.tally.n_comparisons
    if square > LONGEST_STEP**2:
        step = step * (LONGEST_STEP / np.sqrt(square))
    theta = theta + step
    if gap > CLOSE:
        text = (
            f"the likelihood may still rise by about {gap:.1g} for each comparison: every site has"
            " to make sums at this model, and these are merged again."
        )
        notes = [*notes, RoundNeededWarning(text)]
    optimum = Optimum(theta, ridge, point.number, converged=True, separated=False)
    estimate = replace(likelihood_estimate(data, settings, optimum, found), notes=notes)
    shares = agreement_of_sums(sums.along, point.data, point.scale, 0.0)
    point = replace(point, theta=tuple(theta.tolist()), number=point.number + 1)
    likelihood = _likelihood(point, estimate, sums)
    return _model(point, settings, estimate, shares, likelihood)


def _likelihood(point: Point, estimate: Estimate, sums: LikelihoodRound) -> Likelihood:
    """The log-likelihood, or why there is none."""
    data = point.data
    amounts = {1: sums.left_won, -1: sums.along.decided - sums.left_won, 0: data.n_tied}
    outcomes = {outcome for outcome, amount in amounts.items() if amount > 0}
    reason = no_likelihood(estimate, outcomes, data.has_weights)
    value = None if reason else sums.loglik / data.weight_unit
    number = 0.5 * data.item_moments.total / data.weight_unit
    return Likelihood(
        value=value,
        n_parameters=estimate.determined.n_parameters,
        n_comparisons=number,
        data=point.digest,
        reason=reason,
    )


# -- models ------------------------------------------------------------------------------------


def _model(
    point: Point,
    settings: Settings,
    estimate: Estimate,
    shares: Agreement | None = None,
    likelihood: Likelihood | None = None,
) -> RankRegression:
    """A model of merged sums; nothing in it is about any one item."""
    data = point.data
    terms = point.total.terms
    if not np.all(np.isfinite(estimate.coef)):
        raise PairscoreError(NO_DATA)
    never = never_differing_in_sums(data, settings)
    settings = replace(settings, l2=point.l2)
    estimate = replace(estimate, settings=settings)
    known = {} if shares is None else vars(shares)
    if likelihood is not None:
        known = known | {"likelihood": likelihood}
    fit = fit_of(
        estimate,
        never,
        None,
        n_items=data.n_items,
        n_comparisons=data.n_given,
        record=record_of(point.digest, None) | {"sites": point.to_record()},
        feature_names=terms.features,
        recipe=terms.recipe.to_record() if terms.curves else None,
        tie_share=share_of(point.total.numbers.tied, point.total.numbers.given),
        **known,
    )
    fit, undecided = without_decisions(fit)
    notes = [*estimate.notes, *feature_notes(fit, estimate), *side_notes(fit, estimate), *undecided]
    scope = "" if fit.covariance is None else AT_SITES
    fit = fit.with_kept(interval_scope=scope, warnings=notes)
    given = {
        "method": point.method,
        "link": terms.link,
        "ties": terms.ties,
        "l2": point.l2,
        "side_effect": terms.side_effect,
        "inference": point.inference,
    }
    model = RankRegression(**(DEFAULTS | given))
    model.classes_ = np.array([-1, 1])
    return model._keep(fit, notes)


# -- files -------------------------------------------------------------------------------------


def merge_files(
    paths: Sequence[Any], *, method: str = "pooled", l2: float = 0.0, inference: Any = "items"
) -> RankRegression:
    """The model of files of sums: those of sites, or those that sites made at a model.

    ``paths`` are the files that :func:`save_site` or :func:`save_round` wrote; ``method``, ``l2``
    and ``inference`` are as in :func:`merge_sites`, for sums of sites.
    """
    read = [read_sums_file(path) for path in paths]
    path_of: dict[tuple[str, str], Any] = {}
    for path, (kind, meta, _) in zip(paths, read, strict=True):
        for source in ((kind, one) for one in meta.get("sources", ())):
            if source in path_of:
                raise PairscoreError(
                    f"{str(path)!r} has the data of {str(path_of[source])!r} again, which would be"
                    " counted twice; give the sums of every site once."
                )
            path_of[source] = path
    kinds = {kind for kind, _, _ in read}
    if kinds == {"site"}:
        sites = []
        for path, (_, meta, arrays) in zip(paths, read, strict=True):
            with refuse_damage(path):
                sites.append(SiteSums.of_record(meta | {"arrays": arrays}))
        return merge_sites(sites, method=method, l2=l2, inference=inference)
    if kinds == {"round"}:
        rounds = []
        for path, (_, meta, arrays) in zip(paths, read, strict=True):
            with refuse_damage(path):
                rounds.append(RoundSums.of_file(meta, arrays))
        return merge_rounds(rounds)
    raise PairscoreError(
        "some of these files have sums of sites and others sums at a model; merge those of one kind"
        " at a time."
    )
