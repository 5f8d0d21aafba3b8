"""From checked comparisons and settings to a fit: functions, without scikit-learn."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.choices import REPEATED
from pairscore.core.differences import Differences
from pairscore.core.moments import share_of
from pairscore.core.threads import one_blas_thread
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.data.comparisons import Comparisons, items_of_votes
from pairscore.data.conventions import check_names, rename_votes
from pairscore.data.folds import ALONE, Workers, number_groups
from pairscore.data.items import Items
from pairscore.data.repeats import refuse_repeated
from pairscore.data.votes import PER_ROW, Votes, read_votes
from pairscore.errors import FewItemsWarning, PairscoreError, plural
from pairscore.estimators.agreement import agreement_of
from pairscore.estimators.checks import n_counted, refuse_lost_digits, refuse_too_many_features
from pairscore.estimators.closed_form import fit_closed_form
from pairscore.estimators.criteria import likelihood_of
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.leave_one_out import (
    NewItems,
    expect_of_new_items,
    has_many_features,
    many_features_note,
)
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.null_space import never_differing
from pairscore.estimators.results import Estimate, Fit, ItemEffectsTest, Note
from pairscore.estimators.ridge import RidgeCurve, choose_ridge
from pairscore.estimators.settings import Settings
from pairscore.model.fit_input import (
    record_of,
    refuse_extremes,
    refuse_unknown_items_and_sides,
    without_decisions,
    without_ties,
)
from pairscore.model.groups import (
    ComparedItems,
    compared_items,
    count_groups,
    feature_notes,
    of_smallest_norm,
    open_part,
    side_notes,
    without_part,
)
from pairscore.model.oddities import extreme_items_of, odd_comparisons
from pairscore.model.predict import fitted_scores, item_scores

FEW_ITEMS = 50
OTHER_JUDGES = "allow for other items and other judges"
NOBODY_KNOWN = "a matrix of differences does not say who was compared"


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
    refuse_extremes(data)
    used = without_ties(data, settings.method) if settings.ties == "drop" else data
    used = used.with_relative_weights()
    rng = np.random.default_rng(0)  # assigns folds and draws item effects
    with one_blas_thread:
        result = estimate(used, settings, rng, has_items, item_groups, start, ridge, workers)
        fit = _keep(used, result, has_items)
    notes = [*result.notes, *feature_notes(fit, result), *side_notes(fit, result)]
    if has_items:
        notes = [*odd_comparisons(data), *notes]
        fit = replace(fit, extreme_items=extreme_items_of(data))
    expected, found = fit.new_items, (fit.agreement, settings.choose_l2)
    if expected is not None and expected.is_hopeless(*found):
        notes.append(many_features_note(fit.n_features, fit.n_items or 0, expected, *found))
    fit, undecided = without_decisions(fit)
    if used is not data:
        fit = replace(fit, **_of_all(data, has_items))
    notes += undecided
    return replace(fit, item_groups=item_groups).with_notes(notes), notes


def _of_all(data: Comparisons, has_items: bool) -> dict[str, Any]:
    """What a fit keeps of all comparisons, with those that it left out, as they were given."""
    relative = data.with_relative_weights()
    return {
        "n_comparisons": data.number,
        "tie_share": share_of(relative.amount @ (data.outcome == 0), relative.amount.sum()),
        "record": record_of(None if has_items else data.fingerprint, data.seed),
        "comparisons": data if has_items else None,
    }


def estimate(
    data: Comparisons,
    settings: Settings,
    rng: np.random.Generator,
    has_items: bool = True,
    item_groups: np.ndarray | None = None,
    start: Fit | None = None,
    ridge: RidgeCurve | None = None,
    workers: Workers = ALONE,
) -> Estimate:
    """The estimate, with the settings that were possible and the ridge that was chosen."""
    refuse_unknown_items_and_sides(settings, data, has_items)
    fit_data = FitData(data, settings.side_effect, has_items, start)
    refuse_too_many_features(fit_data, n_counted(fit_data), settings)
    refuse_lost_digits(fit_data.table, fit_data.compared, data.items.feature_names)
    if not fit_data.X.shape[1]:
        settings, notes = without_features(fit_data, settings)
    else:
        settings = allow_for_judges(data, settings)
        kind, notes = choose_inference(fit_data, settings)
        settings = replace(settings, inference=kind)
    if settings.choose_l2:
        ridge = ridge or choose_ridge(fit_data, settings, rng, item_groups, workers)
        settings, notes = replace(settings, l2=ridge.chosen), notes + ridge.notes
    result = estimator_of(settings, has_items)(fit_data, settings, rng)
    if result.difference is None:
        scores = fit_data.table.times(result.coef)
        difference = fit_data.differences(scores, result.side_effect or 0.0)
        result = replace(result, difference=difference)
    settings = result.settings or settings
    if settings.choose_item_effects:
        test = result.item_effects_test or ItemEffectsTest(reason=NOBODY_KNOWN)
        result = replace(result, item_effects_test=test)
        settings = replace(settings, item_effects=test.used)
    return replace(
        result,
        compared=fit_data.compared,
        never_differing=never_differing(fit_data, settings),
        notes=notes + result.notes,
        ridge=ridge,
        settings=settings,
        new_items=_new_items(fit_data, settings, result),
    )


def _new_items(data: FitData, settings: Settings, result: Estimate) -> NewItems | None:
    """What to expect of new items, where features are many; None where it is not known."""
    if settings.inference is None or settings.item_effects or not has_many_features(data):
        return None
    t = 0.0 if result.effects is None else result.effects.of_kind("tie").get("tie", 0.0)
    law = OutcomeLaw(TieRule(settings.ties, settings.link), t)
    sharpness = np.ones(len(data.comparisons))
    if result.judges is not None:
        from pairscore.effects.predictor import judges_sharpness

        sharpness = judges_sharpness(data.comparisons, result.judges)
    return expect_of_new_items(data, settings.method, law, result, sharpness)


Estimator = Callable[[FitData, Settings, np.random.Generator], Estimate]


def estimator_of(settings: Settings, has_items: bool = True) -> Estimator:
    """The estimator for these settings; effects are loaded only where they are asked for."""
    if settings.method != "mle":
        return lambda data, settings, rng: fit_closed_form(data, settings)
    choose = settings.choose_item_effects and has_items
    side = settings.side_effect and settings.inference is not None and has_items
    if not (settings.by_comparison or settings.item_effects or choose or side):
        return lambda data, settings, rng: fit_likelihood(data, settings)
    from pairscore.effects.fit import fit_effects, fit_with_side

    beyond = settings.by_comparison or settings.item_effects or choose
    fit = fit_effects if beyond else fit_with_side
    return lambda data, settings, rng: fit(data, settings)


def number_item_groups(item_groups: Any, items: Items | None, settings: Settings) -> np.ndarray:
    """Number the groups of items that are held out together where the ridge is chosen.

    Parameters
    ----------
    item_groups : one label per item (topic, patient), or dict from id to label
    items : Items
        All N of them; None for plain differences, which have no groups.
    settings : Settings
        With ``l2="auto"``; nothing else holds items out.

    Returns
    -------
    ndarray of shape (N,), integer, in the order of first appearance
    """
    if items is None:
        raise PairscoreError(
            "item_groups are groups of items, and a matrix of differences has none; leave them out."
        )
    if not settings.holds_items_out:
        l2 = "auto-known" if settings.choose_l2 else settings.l2
        raise PairscoreError(
            "item_groups are held out together where l2='auto' chooses the ridge, and l2 is"
            f" {l2!r}; leave them out, or give them to Comparisons.from_frames, whose comparisons"
            " any l2 takes."
        )
    return np.array(number_groups(item_groups, items, np.arange(len(items))))


def fit_of(result: Estimate, items: ComparedItems | None, **facts: Any) -> Fit:
    """What every model keeps of an estimate, without what no comparison speaks of.

    Parameters
    ----------
    result : Estimate
    items : two functions
        The range of each feature of the compared items, and what of them lies along the open
        directions of a fit; None where the items are at several sites.
    facts : fields of Fit
        What the estimate does not know: ``n_items`` (None for plain differences), comparisons,
        ``record``, names; agreement and noise, where they are known already.
    """
    assert result.settings is not None
    undetermined, open_directions, taken = open_part(result)
    low = high = np.full(len(result.coef), np.nan)
    if items is not None:
        low, high = items[0]()
    not_yet = {"agreement": np.nan, "noise": np.nan, "tie_share": np.nan}
    fit = Fit(
        result.settings,
        coef=result.coef,
        undetermined=undetermined,
        open_directions=open_directions,
        feature_mean=result.center.mean,
        feature_sd=result.center.sd,
        feature_min=low,
        feature_max=high,
        notes=[],
        n_iter=result.n_iterations,
        guard=result.guard,
        closed_form_coef=result.closed_form_coef,
        side_effect=result.side_effect,
        pairing=result.pairing,
        recession=result.recession,
        **not_yet | facts,
    )
    if fit.n_items is not None and items is not None:
        n_groups = count_groups(fit, items[1])
        coef = of_smallest_norm(fit.coef, result.basis) if n_groups > 1 else fit.coef
        fit = replace(fit, n_groups=n_groups, coef=coef)
    if taken.size:
        coef, covariance = without_part(fit.coef, result.covariance, fit.feature_unit, taken)
        fit, result = replace(fit, coef=coef), replace(result, covariance=covariance)
    return replace(fit, **errors_of(fit, result))


def _keep(data: Comparisons, result: Estimate, has_items: bool) -> Fit:
    """All that a model keeps, from an estimate."""
    assert result.settings is not None
    fit = fit_of(
        result,
        compared_items(data.items.values, result.compared),
        n_items=int(np.count_nonzero(result.compared)) if has_items else None,
        n_comparisons=data.number,
        record=record_of(None if has_items else data.fingerprint, data.seed),
        feature_names=data.items.feature_names if has_items else None,
        ridge_curve=result.ridge,
        effects=result.effects,
        judges=result.judges,
        item_effects=result.item_effects,
        item_effects_test=result.item_effects_test,
        context_of_items=result.context_of_items,
        comparisons=data if has_items else None,
        recipe=data.items.recipe,
        new_items=result.new_items,
        **_judge_facts(data, result),
    )
    if fit.effects is not None:
        fit = replace(fit, effects=replace(fit.effects, df_error=fit.df_error))
    differences = result.differences
    if differences is None:
        assert result.difference is not None
        differences = Differences.of_comparisons(result.difference, data.outcome, data.amount)
    shares = agreement_of(differences, fit.outcome_law, data.weight_unit, result.decided_scale)
    fit = replace(
        fit,
        agreement=shares.agreement,
        noise=shares.noise,
        decided_scale=shares.decided_scale,
        tie_share=share_of(differences.tied, differences.total),
        likelihood=likelihood_of(data, result, shares.outcomes),
    )
    if data.judge is not None and fit.settings.inference is not None:
        from pairscore.effects.panel import judge_agreement

        fit = replace(fit, judge_agreement=judge_agreement(data, fit.agreement))
    if not has_items:
        return fit
    scores = item_scores(fit, data.items)
    return replace(fit, fitted_scores=fitted_scores(fit, scores, result.compared, data.items.take))


def allow_for_judges(data: Comparisons, settings: Settings) -> Settings:
    """Settings whose intervals allow for other judges, if that is left to the data and they can."""
    if settings.inference != "auto":
        return settings
    kind = "items"
    if data.judge is not None and settings.method == "mle":
        from pairscore.effects.panel import panel_of

        kind = "items+judges" if panel_of(data).is_enough else "items"
    return replace(settings, inference=kind)


def _judge_facts(data: Comparisons, result: Estimate) -> dict[str, Any]:
    """For which judges intervals hold, and whether they differ in taste.

    Nothing where the data do not say who judged, or nobody asks for intervals.
    """
    settings = result.settings
    assert settings is not None
    if data.judge is None or settings.inference is None:
        return {}
    from pairscore.effects.panel import judge_tastes, panel_of

    panel = panel_of(data)
    if not panel.n_judges:
        return {}
    if settings.inference == "items+judges":
        freedom = max(panel.effective - 1, 1.0)
        return {"df_error": freedom, "interval_scope": OTHER_JUDGES}
    reason = panel.reason
    if panel.is_enough:
        reason = ""
        if settings.method != "mle":
            reason = "closed forms have no intervals that allow for other judges"
        elif not data.items.values.shape[1]:
            reason = "abilities have no intervals that allow for other judges"
    others = "another" if panel.n_judges == 1 else "other judges"
    scope = f"hold for {panel.in_words}; {others} may see it differently"
    scope = f"{scope} ({reason})" if reason else scope
    tie = 0.0 if result.effects is None else result.effects.of_kind("tie").get("tie", 0.0)
    rule = TieRule(settings.ties, settings.link)
    score = rule.derivatives(result.difference, data.outcome.astype(float), tie, value=False).eta
    by_items = data.items.values.shape[1] > 0
    tastes = judge_tastes(data, score, result.difference, by_items)
    return {"interval_scope": scope, "judge_tastes": tastes}


def errors_of(fit: Fit, result: Estimate) -> dict[str, Any]:
    """Covariance and standard errors; NaN for what the data do not determine.

    Of separated comparisons, also for what only the prior holds.
    """
    if result.covariance is None:
        return {}
    d, side_error = fit.n_features, None
    covariance = result.covariance[:d, :d]
    if result.effects is not None:
        errors = zip(result.effects.names, result.effects.std_errors.tolist(), strict=True)
        side_error = dict(errors).get("left")
    elif result.side_effect is not None:
        is_open = result.side_basis is not None and bool(result.side_basis.undetermined[d])
        is_open |= fit.recession is not None and bool(fit.recession.touched[d])
        side_error = float("nan") if is_open else float(np.sqrt(result.covariance[d, d]))
    no_error = fit.undetermined | fit.held_by_prior(np.diag(fit.feature_unit))
    return {
        "covariance": covariance,
        "std_errors": np.where(no_error, np.nan, np.sqrt(np.maximum(np.diag(covariance), 0.0))),
        "side_effect_std_error": side_error,
        "effects_covariance": result.covariance[:, d:] if len(result.covariance) > d else None,
    }


def update_fit(
    fit: Fit,
    settings: Settings,
    votes: Any,
    items: Items | None = None,
    *,
    self_pairs: str = "error",
    item_groups: np.ndarray | None = None,
    columns: Mapping[str, Any] | None = None,
    repeated: str = "refuse",
    parts: Mapping[str, np.ndarray] | None = None,
    workers: Workers = ALONE,
) -> tuple[Fit, list[Note]]:
    """Add votes, and perhaps items, to those of a fit, and fit to all from where it stands.

    ``items`` has new items with the same features and ids of their own; without features, the items
    that a table of votes names for the first time are added. ``votes`` are of any kind that
    :func:`~pairscore.data.votes.read_votes` takes, and ``columns`` has their names by role, and
    perhaps ``winner_codes``. Votes that the fit has already are refused unless ``repeated`` is
    ``"add"``; ``parts`` says which rows came from which file.
    """
    if repeated not in REPEATED:
        raise PairscoreError(f"repeated is {repeated!r}; use 'refuse' or 'add'.")
    if fit.comparisons is None:
        raise PairscoreError(
            "the model has no comparisons to add to; fit it to items and votes, and save it with"
            " data=True if it goes through a file."
        )
    if fit.item_groups is not None and item_groups is None and items is not None:
        raise PairscoreError(
            "the fit held groups of items out together; give item_groups for all items, the new"
            " ones last."
        )
    before, names = fit.comparisons, dict(columns or {})
    codes = names.pop("winner_codes", None)
    of_items, roles = check_names(names)
    if of_items:
        raise PairscoreError(
            f"{next(iter(of_items))}= is part of the fit, and new items are read as there; leave it"
            " out, or fit again."
        )
    votes = rename_votes(votes, roles, settings.context)
    if not fit.n_features and items is None and not isinstance(votes, Votes):
        items = unknown_items(before.items, items_of_votes(votes))
    table = before.items if items is None else before.items.with_new_items(items)
    more = read_votes(votes, table, self_pairs, len(before), settings.context, codes)
    groups = fit.item_groups if item_groups is None else item_groups
    votes = join_votes(before.votes, more)
    if repeated == "refuse":
        refuse_repeated(before.votes, more, parts)
    if groups is not None or items is not None:
        votes = replace(votes, item_groups=groups)
    data = Comparisons.of(table, votes)
    result, notes = fit_comparisons(data, settings, item_groups=groups, start=fit, workers=workers)
    return replace(result, wording=fit.wording), notes


def unknown_items(known: Items, named: Items) -> Items | None:
    """Those of the named items that are not known yet; None if all are."""
    rows = known.find_rows_by_text(np.asarray(named.names))
    return named.take(np.flatnonzero(rows < 0)) if np.any(rows < 0) else None


def join_votes(votes: Votes, more: Votes) -> Votes:
    """The comparisons of both, which are of one item table."""
    columns: dict[str, Any] = {}
    for name in PER_ROW:
        first, second = getattr(votes, name), getattr(more, name)
        if name == "judge" and (first is None) != (second is None):
            raise PairscoreError(
                "only some of the votes say who judged; give a judge for all votes, or for none."
            )
        if (first is None) != (second is None):
            first = np.ones(len(votes)) if first is None else first
            second = np.ones(len(more)) if second is None else second
        try:
            columns[name] = None if first is None else np.concatenate([first, second])
        except TypeError:
            raise PairscoreError(
                f"the {name} of the new votes is of another kind than that of the old ones; write"
                " both in the same way."
            ) from None
    if set(votes.context) != set(more.context):
        raise PairscoreError(
            f"the new votes have the context {sorted(more.context)} and the old ones"
            f" {sorted(votes.context)}; give the same columns."
        )
    context = {name: np.concatenate([c, more.context[name]]) for name, c in votes.context.items()}
    sides_known = votes.sides_known and more.sides_known
    return replace(votes, **columns, context=context, sides_known=sides_known)


def without_features(data: FitData, settings: Settings) -> tuple[Settings, list[Note]]:
    """Items without features have abilities: each its own, or effects if these were asked for.

    Errors are those of the model: nothing is left that would show how items differ from it.
    """
    if settings.method != "mle":
        raise PairscoreError(
            f"method={settings.method!r} needs features, and the items have none; use method='mle'."
        )
    if settings.choose_l2:
        raise PairscoreError(
            "without features there is no ridge to choose; use item_effects=True, which estimates"
            " how far items differ, or a number for l2."
        )
    if settings.item_effects or settings.choose_item_effects:
        settings = replace(settings, item_effects=True, choose_item_effects=False)
        by_items = settings.inference in ("auto", "items")
        return (replace(settings, inference="model") if by_items else settings), []
    from pairscore.effects.abilities import bound_abilities, classical_abilities

    settings, notes = classical_abilities(settings)
    bound, more = bound_abilities(data, replace(settings, item_effects=True, free_abilities=True))
    return bound, notes + more


def choose_inference(data: Any, settings: Settings) -> tuple[str | None, list[Note]]:
    """Item-robust intervals need items, and more of them than parameters.

    Those that are left to the data are item-robust, where it is not known who judged.
    """
    wanted = "items" if settings.inference == "auto" else settings.inference
    if wanted not in ("items", "items+judges") or not data.has_items:
        return ("model" if wanted else None), []
    n, parameters = data.n_items, len(data.feature_names) + settings.side_effect
    if n <= parameters + 1:
        text = (
            f"{plural(n, 'item')} with {plural(parameters, 'parameter')} leave nothing to"
            f" estimate how items differ from their features; intervals are the classical ones"
            " (inference='model')."
        )
        return "model", [(FewItemsWarning, text)]
    if n < FEW_ITEMS:
        text = (
            f"with {plural(n, 'item')}, item-robust intervals are rough; below about {FEW_ITEMS}"
            " items, read them with care."
        )
        return wanted, [(FewItemsWarning, text)]
    return wanted, []
