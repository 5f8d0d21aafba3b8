"""From checked comparisons and settings to a fit: functions, without scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.sums import share_of
from pairscore.core.threads import one_blas_thread
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.data.comparisons import Comparisons
from pairscore.effects.item_effects import ItemEffectsTest
from pairscore.effects.judges import judges_sharpness
from pairscore.errors import PairscoreError, PairscoreWarning
from pairscore.estimators.agreement import agreement_of, differences_along
from pairscore.estimators.checks import (
    refuse_extremes,
    refuse_lost_digits,
    refuse_too_many_features,
    refuse_unknown_items_and_sides,
)
from pairscore.estimators.estimate import Estimate, Note
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.information_criteria import likelihood_of
from pairscore.estimators.lapse import LapseRate
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.new_items import (
    NewItems,
    expect_of_new_items,
    has_many_features,
    many_features_note,
)
from pairscore.estimators.null_space import never_differing
from pairscore.estimators.settings import Settings
from pairscore.estimators.smooth_ridge import choose_smooth_ridge, refuse_no_ridge, weights_of
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting
from pairscore.model.feature_notes import feature_notes, side_notes
from pairscore.model.fit import Fit
from pairscore.model.inference import (
    allow_for_judges,
    choose_inference,
    classical_abilities,
    judge_facts,
)
from pairscore.model.odd_data import extreme_items_of, odd_comparisons
from pairscore.model.open_directions import (
    ComparedItems,
    ComparedRows,
    count_groups,
    of_smallest_norm,
    open_part,
    without_part,
)
from pairscore.model.predict import fitted_scores, item_scores
from pairscore.model.provenance import record_of
from pairscore.parallel import ALONE, Workers

if TYPE_CHECKING:
    from pairscore.estimators.ridge_choice import RidgeCurve

NOBODY_KNOWN = "a matrix of differences does not say who was compared"
SAMPLED_ROWS = 256  # items whose digits are looked at before those of all
Estimator = Callable[[TableData, Settings], Estimate]


def fit_comparisons(
    data: Comparisons,
    settings: Settings,
    *,
    has_items: bool = True,
    item_groups: np.ndarray | None = None,
    start: Fit | None = None,
    ridge: RidgeCurve | None = None,
    workers: Workers = ALONE,
) -> tuple[Fit, list[Note]]:
    """Fit ``data`` as ``settings`` say.

    Parameters
    ----------
    data : Comparisons
        Items with the votes on them; plain differences are items compared with the origin.
    settings : Settings
        From :func:`~pairscore.estimators.settings.check_settings`.
    has_items : bool
        False for plain differences, where nobody knows who was compared.
    item_groups : ndarray of shape (N,), integer
        Items of one are held out together where the ridge is chosen; unless given, those of data.
    start : Fit
        One to most of these comparisons, if there is one, from which to start.
    ridge : RidgeCurve
        What ``l2="auto"`` found for the same data, if known; else ``workers`` fit its folds.

    Returns
    -------
    Fit, and what the user should be warned of as pairs of a warning class and a text
    """
    if item_groups is None and settings.holds_items_out:
        item_groups = data.item_groups
    if item_groups is not None and data.item_groups is None:
        data = data.of(data.items, replace(data.votes, item_groups=item_groups))
    refuse_extremes(data)
    used = without_ties(data, settings.method) if settings.ties == "drop" else data
    used = used.with_relative_weights()
    with one_blas_thread:
        fit_data = TableData(used, settings.side_effect, has_items, start)
        given = ridge is not None
        asked, ridge, notes = settings_of_data(fit_data, settings, item_groups, ridge, workers)
        result = fit_lapse(fit_data, asked, partial(estimate, fit_data))
        if asked.choose_lapse and asked.choose_l2 and result.settings.link.lapse > 0 and not given:
            # the ridge was chosen as if there were no slips
            slips = replace(settings, link=result.settings.link)
            asked, ridge, notes = settings_of_data(fit_data, slips, item_groups, None, workers)
            result = fit_lapse(fit_data, asked, partial(estimate, fit_data))
        result = replace(result, notes=[*notes, *result.notes])
        fit = _keep(fit_data, result, result.effects.ridge_curve or ridge)
    notes = [*result.notes, *feature_notes(fit, result), *side_notes(fit, result)]
    if has_items:
        notes = [*odd_comparisons(data), *notes]
        fit = replace(fit, extreme_items=extreme_items_of(data))
    agreement = fit.outcomes.agreement
    expected = fit.new_items
    if expected is not None and expected.is_hopeless(agreement, settings.choose_l2):
        n_items = fit.n_items or 0
        note = many_features_note(fit.n_features, n_items, expected, agreement, settings.choose_l2)
        notes.append(note)
    fit, undecided = without_decisions(fit)
    notes += undecided
    if settings.ties == "drop" or data.weight is not None:
        fit = fit.with_kept(**_of_all(data, has_items))
    return replace(fit, item_groups=item_groups).with_kept(warnings=notes), notes


def _of_all(data: Comparisons, has_items: bool) -> dict[str, Any]:
    """What a fit keeps of all comparisons, with those that it left out, as they were given."""
    relative = data.with_relative_weights()
    return {
        "n_comparisons": data.number,
        "tie_share": share_of(relative.amount @ (data.outcome == 0), relative.amount.sum()),
        "record": record_of(None if has_items else data.fingerprint, data.seed),
        "comparisons": data if has_items else None,
    }


def settings_of_data(
    fit_data: TableData,
    settings: Settings,
    item_groups: np.ndarray | None,
    ridge: RidgeCurve | None,
    workers: Workers,
) -> tuple[Settings, RidgeCurve | None, list[Note]]:
    """Settings that the data allow, with the ridge that was chosen, and what to say of these."""
    data = fit_data.comparisons
    has_items = fit_data.has_items
    refuse_unknown_items_and_sides(settings, data, has_items)
    refuse_no_ridge(data.items, settings)
    refuse_too_many_features(fit_data, fit_data.comparisons.number, settings)
    refuse_lost_digits(fit_data.table, fit_data.compared, data.items.feature_names)
    if not fit_data.X.shape[1]:
        settings, notes = ability_settings(fit_data, settings)
    else:
        settings = allow_for_judges(data, settings)
        kind, notes = choose_inference(fit_data, settings)
        settings = replace(settings, inference=kind)
    if settings.choose_l2:
        if ridge is None:
            ridge = choose_smooth_ridge(fit_data, settings, item_groups, workers)
        weights = weights_of(data.items, ridge.smooth_weight)
        settings = replace(settings, l2=ridge.chosen, ridge_weights=weights)
        notes = notes + ridge.notes
    return settings, ridge, notes


def fit_lapse(data: FitData, settings: Settings, fit: Callable[[Settings], Estimate]) -> Estimate:
    """The fit with the lapse rate that the settings give, or with the likeliest.

    ``fit`` makes an estimate of the same data with other settings.
    """
    if not settings.choose_lapse:
        return replace(fit(settings), lapse=LapseRate(settings.link.lapse))
    from pairscore.estimators.lapse_rate import fit_likeliest

    return fit_likeliest(data, settings, fit)


def estimate(data: TableData, settings: Settings) -> Estimate:
    """The estimate, with the decision whether items have effects, where it was left to the data."""
    result = estimator_of(settings, data.has_items)(data, settings)
    if not result.settings.choose_item_effects:
        return result
    test = result.effects.items_test or ItemEffectsTest(reason=NOBODY_KNOWN)
    return replace(
        result,
        settings=replace(result.settings, item_effects=test.used),
        effects=replace(result.effects, items_test=test),
    )


def _new_items(data: TableData, result: Estimate) -> NewItems | None:
    """What to expect of new items, where features are many; None where it is not known."""
    settings = result.settings
    if settings.inference is None or settings.item_effects or not has_many_features(data):
        return None
    law = OutcomeLaw(TieRule(settings.ties, settings.link), result.effects.tie_parameter)
    sharpness = np.ones(len(data.comparisons))
    if result.effects.judges is not None:
        sharpness = judges_sharpness(data.comparisons, result.effects.judges)
    return expect_of_new_items(data, law, result, sharpness)


def estimator_of(settings: Settings, has_items: bool = True) -> Estimator:
    """The estimator for these settings; effects are loaded only where they are asked for."""
    if settings.method != "mle":
        from pairscore.estimators.closed_form import fit_closed_form

        return fit_closed_form
    choose = settings.choose_item_effects and has_items
    if settings.by_comparison or settings.item_effects or choose:
        from pairscore.effects.joint_fit import fit_effects

        return fit_effects
    if settings.side_effect and settings.inference is not None and has_items:
        from pairscore.effects.joint_fit import fit_with_side

        return fit_with_side
    return fit_likelihood


def fit_of(
    result: Estimate, never_differing: np.ndarray, items: ComparedItems | None, **facts: Any
) -> Fit:
    """What every model keeps of an estimate, without what no comparison speaks of.

    Parameters
    ----------
    result : Estimate
    never_differing : array (d x k)
        Directions to which it gives a number, and in which no two items that met differ.
    items : ComparedItems
        None where the items are at several sites.
    facts : what a model keeps, by name
        What the estimate does not know: ``n_items`` (None for plain differences), comparisons,
        ``record``, names; agreement and noise, where they are known already.
    """
    undetermined, open_directions, taken = open_part(result, never_differing)
    low = high = np.full(len(result.coef), np.nan)
    if items is not None:
        low, high = items.feature_ranges()
    unscaled = result.unscaled
    not_yet = {"agreement": np.nan, "noise": np.nan, "tie_share": np.nan}
    fit = Fit.of_kept(
        result.settings,
        coef=result.coef,
        undetermined=undetermined,
        open_directions=open_directions,
        feature_mean=result.center.mean,
        feature_sd=result.center.sd,
        feature_min=low,
        feature_max=high,
        warnings=[],
        n_iter=result.n_iterations,
        guard=1.0 if unscaled is None else unscaled.guard,
        closed_form_coef=None if unscaled is None else unscaled.coef,
        side_effect=result.side_effect,
        pairing=None if unscaled is None else unscaled.pairing,
        recession=result.determined.recession,
        lapse=result.lapse,
        **not_yet | facts,
    )
    if fit.n_items is not None and items is not None:
        n_groups = count_groups(fit, items)
        basis = result.determined.basis
        coef = of_smallest_norm(fit.coef, basis) if n_groups > 1 else fit.coef
        fit = fit.with_kept(n_groups=n_groups, coef=coef)
    if taken.size:
        coef, covariance = without_part(fit.coef, result.covariance, fit.features.unit, taken)
        fit = replace(fit, coef=coef)
        result = replace(result, covariance=covariance)
    return fit.with_kept(**errors_of(fit, result))


def keep_estimate(
    data: FitData,
    result: Estimate,
    items: ComparedItems,
    source: Comparisons | str,
    **facts: Any,
) -> Fit:
    """What a model keeps of an estimate, in memory or of a stream, with how well it agrees.

    ``source`` are the comparisons, or what they are known again by; ``items`` and ``facts`` are
    those of :func:`fit_of`.
    """
    fit = fit_of(result, never_differing(data, result.settings), items, **facts)
    differences = differences_along(data, result)
    known_scale = result.predictor.decided_scale
    shares = agreement_of(differences, fit.outcome_law, data.weight_unit, known_scale)
    return fit.with_kept(
        agreement=shares.agreement,
        noise=shares.noise,
        decided_scale=shares.decided_scale,
        likelihood=likelihood_of(data, result, differences, source),
    )


def _keep(fit_data: TableData, result: Estimate, ridge: RidgeCurve | None) -> Fit:
    """All that a model keeps of an estimate in memory, and of how its ridge was chosen."""
    data = fit_data.comparisons
    compared = fit_data.compared
    has_items = fit_data.has_items
    fit = keep_estimate(
        fit_data,
        result,
        ComparedRows(data.items.values, compared),
        data,
        n_items=int(np.count_nonzero(compared)) if has_items else None,
        n_comparisons=data.number,
        tie_share=share_of(fit_data.n_tied, fit_data.tally.n_comparisons),
        record=record_of(None if has_items else data.fingerprint, data.seed),
        feature_names=data.items.feature_names if has_items else None,
        ridge_curve=ridge,
        effects=result.effects.of_comparisons,
        judges=result.effects.judges,
        item_effects=result.effects.items,
        item_effects_test=result.effects.items_test,
        context_of_items=result.effects.context_of_items,
        comparisons=data if has_items else None,
        recipe=data.items.recipe,
        new_items=_new_items(fit_data, result),
        **judge_facts(fit_data, result),
    )
    if fit.effects is not None:
        fit = replace(fit, effects=replace(fit.effects, df_error=fit.panel.df_error))
    if data.judge is not None and fit.settings.inference is not None:
        from pairscore.effects.judge_agreement import judge_agreement

        fit = fit.with_kept(judge_agreement=judge_agreement(data, fit.outcomes.agreement))
    if not has_items:
        return fit
    scores = item_scores(fit, data.items)
    return replace(fit, fitted_scores=fitted_scores(fit, scores, compared, data.items.take))


def errors_of(fit: Fit, result: Estimate) -> dict[str, Any]:
    """Covariance and standard errors; NaN for what the data do not determine.

    Of separated comparisons, also for what only the prior holds.
    """
    if result.covariance is None:
        return {}
    d = fit.n_features
    side_error = None
    covariance = result.covariance[:d, :d]
    effects = result.effects.of_comparisons
    side_basis = result.determined.side_basis
    if effects is not None:
        errors = zip(effects.names, effects.std_errors.tolist(), strict=True)
        side_error = dict(errors).get("left")
    elif result.side_effect is not None:
        is_open = side_basis is not None and side_basis.undetermined[d]
        is_held = fit.recession is not None and fit.recession.touched[d]
        has_error = not (is_open or is_held)
        side_error = float(np.sqrt(result.covariance[d, d])) if has_error else float("nan")
    no_error = fit.open.undetermined | fit.held_by_prior(np.diag(fit.features.unit))
    return {
        "covariance": covariance,
        "std_errors": np.where(no_error, np.nan, np.sqrt(np.maximum(np.diag(covariance), 0.0))),
        "side_effect_std_error": side_error,
        "effects_covariance": result.covariance[:, d:] if len(result.covariance) > d else None,
    }


def ability_settings(data: TableData, settings: Settings) -> tuple[Settings, list[Note]]:
    """Items without features have abilities: each its own, or effects if these were asked for.

    Errors are those of the model: nothing is left that would show how items differ from it.
    """
    if settings.method != "mle":
        raise PairscoreError(
            Setting("method", settings.method) + " needs features, and the items have none",
            "use " + Setting("method", "mle"),
        )
    if settings.choose_l2:
        from pairscore.effects.graph_of_wins import ESTIMATE_HOW_FAR

        raise PairscoreError(
            "without features there is no ridge to choose",
            [ESTIMATE_HOW_FAR, "give a number for " + Setting("l2")],
        )
    if settings.item_effects or settings.choose_item_effects:
        settings = replace(settings, item_effects=True, choose_item_effects=False)
        by_items = settings.inference in ("auto", "items")
        return (replace(settings, inference="model") if by_items else settings), []
    from pairscore.effects.graph_of_wins import bound_abilities

    settings, notes = classical_abilities(settings)
    bound, more = bound_abilities(data, replace(settings, item_effects=True, free_abilities=True))
    return bound, notes + more


def only_ties() -> PairscoreError:
    """The error where ties are left out and nothing else is there."""
    return PairscoreError(
        "every comparison is a tie, so "
        + Setting("ties", "drop")
        + " leaves nothing to learn from",
        "use " + Setting("ties", "half"),
    )


def without_ties(data: Comparisons, method: str) -> Comparisons:
    """What ``ties="drop"`` leaves; the items behind the covariance of ``split`` stay the same."""
    decided = data.outcome != 0
    if decided.all():
        return data
    if not np.any(decided & (data.amount > 0)):
        raise only_ties()
    if method == "split" and data.covariance_items is None:
        data = data.with_covariance_items(~data.compared)
    return data[decided]


def without_decisions(fit: Fit) -> tuple[Fit, list[Note]]:
    """A fit, without intervals if every comparison was a tie, and what to warn of.

    Half wins make all scores the same. How decided comparisons would end, nothing tells.
    """
    if fit.outcomes.tie_share < 1:
        return fit, []
    known = {
        name: getattr(fit, name) for name in ("covariance", "std_errors", "effects_covariance")
    }
    unknown = {name: np.full_like(of, np.nan) for name, of in known.items() if of is not None}
    text = "every comparison is a tie: nothing was decided, all scores are equal, and intervals"
    return fit.with_kept(**unknown), [PairscoreWarning(f"{text} are unknown.")]
