"""Coefficients, context, sides, judges' slopes, ties and effects of items, estimated together.

Without effects of items the likelihood of single comparisons is maximised, and slopes of judges
step towards theirs in turn. With them everything is the posterior of
:mod:`pairscore.effects.expectation_propagation` at the likeliest sigma^2.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pairscore.core.decided_scale import decided_scale
from pairscore.core.differences import Differences
from pairscore.core.ties import OutcomeLaw
from pairscore.core.whitening import Basis
from pairscore.display import plural
from pairscore.effects.comparison_effects import Effects, comparison_scores
from pairscore.effects.context import context_of_items, in_words, refuse_context_of_items
from pairscore.effects.design import PreparedFit, effect_notes, prepare_fit
from pairscore.effects.expectation_propagation import Posterior, cavities
from pairscore.effects.graph_of_wins import bound_abilities, grow_with_ties, win_components
from pairscore.effects.held_out_items import (
    ItemFolds,
    calibrate,
    choose_ridge_for_effects,
    fit_without_folds,
    folds_at_ridge,
    ridge_of,
)
from pairscore.effects.item_effects import (
    FEWEST_ITEMS,
    TEST_LEVEL,
    ItemEffects,
    ItemEffectsTest,
)
from pairscore.effects.item_laws import (
    ItemLaw,
    JointFit,
    NoItemEffects,
    NormalEffects,
    law_of_items,
)
from pairscore.effects.judge_slopes import (
    Slopes,
    judge_notes,
    judges_of_slopes,
    step_slopes,
    with_slopes,
)
from pairscore.effects.kept_items import kept_effects
from pairscore.effects.maximum import RowsMaximum, endless, maximum_at
from pairscore.effects.open_abilities import with_open_abilities, within_components
from pairscore.effects.parameter_covariance import parameter_covariance, widening
from pairscore.effects.separated_maximum import HeldMaximum, maximise_held
from pairscore.effects.variance_score import n_shared, variance_score
from pairscore.errors import (
    FewItemsWarning,
    NotConvergedWarning,
    PairscoreError,
    SeparationWarning,
    UnbeatenItemsWarning,
)
from pairscore.estimators.estimate import (
    Determined,
    EffectEstimates,
    Estimate,
    LinearPredictor,
    Note,
)
from pairscore.estimators.lapse_rate import difference_of_decided
from pairscore.estimators.likelihood import (
    NO_SCALE_BESIDE_SLIPS,
    fit_likelihood,
    not_maximised,
)
from pairscore.estimators.likelihood_solvers import RUNAWAY
from pairscore.estimators.ridge import SEPARATION_L2
from pairscore.estimators.ridge_choice import RidgeCurve
from pairscore.estimators.separation import SIDE, TIE, Recession, separation_note
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting

# Slopes and the rest in turn: slopes have errors of a tenth and more, of which CLOSE is a
# hundredth; a study that takes more than ROUNDS swings for ever, and a note says so.
CLOSE = 0.001
ROUNDS = 40
LEAST_DOUBT = 1e-6  # chance of the other outcome but for slips, below which it tells of nothing
NOT_SHRUNK = FewItemsWarning(
    "how far items differ cannot be estimated here, so that abilities are plain, and not shrunk"
)
ALL_OPEN = UnbeatenItemsWarning(
    "the comparisons of the other items do not determine the effects of side, context or ties, so"
    " that a ridge holds all abilities, and all their intervals are open",
    "fit without these effects",
)
NO_ABILITY_BESIDE_SLIPS = SeparationWarning(
    "slips explain every comparison that contradicts the abilities of some items, so that these"
    " have no finite size; a ridge holds all abilities",
    ["use a smaller " + Setting("lapse"), "add comparisons"],
)


def fit_effects(data: TableData, settings: Settings) -> Estimate:
    """The fit with whatever the settings ask for beside features."""
    if settings.free_abilities:
        return _fit_free_abilities(data, settings)
    prepared = prepare_fit(data, settings)
    joint, settings, curve, folds = _fit_with_ridge(data, prepared, settings)
    few = n_shared(prepared.rows) < FEWEST_ITEMS
    if not data.X.shape[1] and (joint.variance is None or (few and joint.post.sigma2 == 0)):
        settings, notes = bound_abilities(data, replace(settings, free_abilities=True), hold=True)
        fit = _fit_free_abilities(data, settings)
        return replace(fit, settings=settings, notes=[NOT_SHRUNK, *notes, *fit.notes])
    if not settings.choose_item_effects:
        return _with_curve(_estimate(data, settings, joint, folds), curve)
    test = item_effects_test(joint)
    if test.used:
        chosen = replace(settings, item_effects=True)
        beside, chosen, curve, folds = _fit_with_ridge(data, prepared, chosen)
        fit = _with_curve(_estimate(data, chosen, beside, folds), curve)
        if fit.effects.items is not None and fit.effects.items.sigma2 > 0:
            return replace(fit, effects=replace(fit.effects, items_test=test))
        test = replace(test, estimate_is_zero=True)
    needed = settings.by_comparison
    fit = _estimate(data, settings, joint) if needed else fit_with_side(data, settings)
    return replace(fit, effects=replace(fit.effects, items_test=test))


def fit_with_side(data: TableData, settings: Settings) -> Estimate:
    """The fit of pairs, and whether its side is related to the items."""
    fit = fit_likelihood(data, settings)
    if fit.side_effect is None or fit.determined.recession is not None:
        return fit
    prepared = prepare_fit(data, settings, fit)
    alone = maximum_at(prepared.rows, np.append(fit.coef, fit.side_effect))
    of_items = _context_of_items(settings, prepared, alone)
    return replace(fit, effects=replace(fit.effects, context_of_items=of_items))


def item_effects_test(joint: JointFit) -> ItemEffectsTest:
    """Whether items differ beyond their features, by the score of sigma^2 at a fit without."""
    rows, theta = joint.post.rows, joint.post.theta
    if (number := n_shared(rows)) < FEWEST_ITEMS:
        who = f"only {plural(number, 'item')}" if number else "no item"
        return ItemEffectsTest(reason=f"{who} met two opponents")
    if joint.endless:
        return ItemEffectsTest(reason="some effects of comparisons have no finite size")
    s = rows.derivatives(theta)
    score = variance_score(rows, s, rows.basis(s))
    seen = score.smallest_seen(TEST_LEVEL, rows.rule.link)
    wins = 100 * float(rows.rule.link.cdf(np.array([seen]))[0])
    return ItemEffectsTest(score.p_value, seen, wins)


def _estimate(
    data: TableData, settings: Settings, joint: JointFit, folds: ItemFolds | None = None
) -> Estimate:
    """Everything that was found, in the terms of a model; ``folds`` are fits without some items."""
    prepared, post, d = joint.prepared, joint.post, len(joint.prepared.rows.mean)
    theta, basis = joint.without_projected(post.theta), post.basis
    undetermined = joint.without_projected(basis.undetermined)[d:]
    separation = joint.held.separation
    recession = None if separation is None else separation.recession(theta)
    full, covariance, errors = None, None, np.full(len(theta) - d, np.nan)
    if settings.inference is not None:
        full = parameter_covariance(data, settings, post, joint.variance)
        covariance = joint.without_projected(full)
        no_error = undetermined if recession is None else undetermined | recession.touched[d:]
        if settings.free_abilities and grow_with_ties(data, settings):
            no_error = np.append(no_error[:-1], True)
        errors = np.where(no_error, np.nan, np.sqrt(np.diag(covariance)[d:]))
    effects = Effects(prepared.names, prepared.kinds, theta[d:], errors)
    scale = scale_of_decided_rows(post, prepared.rows.amount)
    judges = None
    if joint.slopes is not None:
        judges = judges_of_slopes(post, joint.slopes, prepared, scale)
    items = None
    scores = data.X @ theta[:d]
    if settings.item_effects:
        items = kept_effects(data, joint, theta[:d], full)
        scores = scores + items.effect
        if joint.variance is not None and d:
            calibration = calibrate(post, data, folds, items.sigma2, scale)
            items = replace(items, calibration=calibration)
    notes = _separation_notes(data, joint, recession)
    notes += [] if joint.top.converged else [not_maximised(settings.max_iter, "drop an effect")]
    notes += effect_notes(effects, undetermined, prepared.rows.usual_sizes)
    notes += _settled_notes(settings, joint)
    notes += judge_notes(settings, prepared.rows.n_judges, judges)
    notes += _few_items_notes(items)
    return Estimate(
        settings=settings,
        coef=theta[:d],
        side_effect=effects.of_kind("side").get("left"),
        covariance=covariance,
        center=prepared.plain.center,
        determined=Determined(
            Basis(basis.transform[:d], basis.open_directions[:d], basis.unit[:d]),
            recession=recession,
            n_abilities=0 if post.averaged else data.n_independent,
        ),
        predictor=LinearPredictor(
            comparison_scores(scores, data.comparisons, effects, judges),
            decided_scale=scale,
            by_others=differences_by_others(post, prepared.rows.amount)
            if settings.choose_lapse
            else None,
        ),
        effects=EffectEstimates(
            of_comparisons=effects if prepared.names else None,
            judges=judges,
            items=items,
            context_of_items=_context_of_items(settings, prepared, joint.alone, joint),
        ),
        n_iterations=joint.top.steps + post.n_sweeps,
        notes=notes,
    )


def _with_curve(fit: Estimate, curve: RidgeCurve | None) -> Estimate:
    return replace(fit, effects=replace(fit.effects, ridge_curve=curve))


class FitWithRidge(NamedTuple):
    """A joint fit, its settings with the ridge that it has, how that was chosen if it was, and the
    fits without each fold of items.
    """

    joint: JointFit
    settings: Settings
    curve: RidgeCurve | None = None
    folds: ItemFolds | None = None


def _fit_with_ridge(data: TableData, prepared: PreparedFit, settings: Settings) -> FitWithRidge:
    """The joint fit, with a ridge for new items that is chosen beside the effects of items.

    It is chosen where the ridge that was found without effects leads to, before sigma^2 is known to
    the last digit.
    """
    start = _start_joint_fit(data, prepared, settings)
    if not (isinstance(start.law, NormalEffects) and data.X.shape[1]):
        return FitWithRidge(start.finish(), settings)
    folds = fit_without_folds(start.post, data) if settings.holds_items_out else None
    curve = None
    if folds is not None:
        curve = choose_ridge_for_effects(start.post, data, settings, folds)
    if folds is None or curve is None:
        joint = start.finish()
        return FitWithRidge(joint, settings, folds=fit_without_folds(joint.post, data))
    settings = replace(settings, l2=curve.chosen)
    given = replace(settings, choose_l2=False)
    joint = _start_joint_fit(data, prepare_fit(data, given), given).finish()
    before = ridge_of(start.post, data, settings)
    folds = folds_at_ridge(folds, data, settings, before)
    if folds is None:
        folds = fit_without_folds(joint.post, data)
    return FitWithRidge(joint, settings, curve, folds)


class JointStart(NamedTuple):
    """Where sweeps and steps of slopes have led, with sigma^2 about the likeliest."""

    law: ItemLaw
    post: Posterior
    slopes: Slopes | None
    settled: bool

    def finish(self) -> JointFit:
        """The whole fit."""
        joint = self.law.finish(self.post, self.slopes)
        return replace(joint, slopes=self.slopes, settled=self.settled)


def _start_joint_fit(data: TableData, prepared: PreparedFit, settings: Settings) -> JointStart:
    """Theta, effects of items by their law, and slopes of judges."""
    start = prepared.first_theta()
    if prepared.only_features and NO_SCALE_BESIDE_SLIPS not in prepared.plain.notes:
        top = maximum_at(prepared.rows, start)
        held = HeldMaximum(prepared, top, top, None)
    else:
        held = maximise_held(data, settings, prepared, start, settings.tol)
    law = law_of_items(data, settings, held)
    if not settings.judge_slopes:
        return JointStart(law, law.first_fit(), None, True)
    post, slopes, settled = _fit_slopes(law, held.prepared)
    if isinstance(law, NormalEffects) and not len(slopes.own):
        # judges against the others leave little of a common order, which effects of items may
        # then take for noise: slopes without these effects show who is against whom
        _, first, _ = _fit_slopes(NoItemEffects(held), held.prepared)
        if len(first.own):
            post, slopes, settled = _fit_slopes(law, held.prepared, first)
    return JointStart(law, post, slopes, settled)


def _fit_jointly(data: TableData, prepared: PreparedFit, settings: Settings) -> JointFit:
    return _start_joint_fit(data, prepared, settings).finish()


def _fit_slopes(
    law: ItemLaw, prepared: PreparedFit, first: Slopes | None = None
) -> tuple[Posterior, Slopes, bool]:
    """Steps of the judges' slopes, from ``first`` ones, and fits of all else in turn.

    And whether slopes settled.
    """
    post = law.start()
    slopes = first
    settled = False
    if first is not None:
        post = replace(post, rows=with_slopes(post.rows, first))
    for _ in range(ROUNDS):
        post = law.fit(post)
        last = np.ones(post.rows.n_judges) if slopes is None else slopes.slope
        slopes = step_slopes(post, slopes, prepared)
        if law.has_no_common_order(post):
            slopes = Slopes.average(post.rows.n_judges, slopes.own[:0])
            post = law.start()
        post = replace(post, rows=with_slopes(post.rows, slopes))
        settled = bool(np.max(np.abs(slopes.slope - last)) < CLOSE)
        if settled:
            break
    assert slopes is not None
    return post, slopes, settled


def _fit_free_abilities(data: TableData, settings: Settings) -> Estimate:
    """Abilities of items without features; open ones where they have no finite size.

    A ridge holds all of them, and all are open, where the comparisons within components are none,
    or too few for the effects that are asked for beside them.
    """
    component = None if settings.ridge > 0 else win_components(data)
    if component is None or component.max() <= 0:
        return _fit_abilities(data, settings)
    notes = list[Note]()
    if np.any(component == 0):
        try:
            within = _fit_abilities(within_components(data, component), settings)
        except PairscoreError:  # which effects are not determined, of some comparisons
            component = np.where(component < 0, -1, 1 + np.arange(len(component)))
            notes = [ALL_OPEN]
        else:
            return with_open_abilities(data, settings, within, component)
    ridge = replace(settings, l2=SEPARATION_L2 * data.weight_unit)
    fit = with_open_abilities(data, settings, _fit_abilities(data, ridge), component)
    return replace(fit, settings=settings, notes=[*notes, *fit.notes])


def _fit_abilities(data: TableData, settings: Settings) -> Estimate:
    """Abilities of all items at the maximum of the likelihood."""
    prepared = prepare_fit(data, settings)
    if not settings.ridge:
        refuse_context_of_items(prepared.rows, prepared.names)
    joint = _fit_jointly(data, prepared, settings)
    if settings.ridge > 0 or settings.link.lapse == 0 or not _abilities_run_away(joint.post):
        return _estimate(data, settings, joint)
    held = replace(settings, l2=SEPARATION_L2 * data.weight_unit)
    fit = _estimate(data, held, _fit_jointly(data, prepare_fit(data, held), held))
    return replace(fit, settings=settings, notes=[NO_ABILITY_BESIDE_SLIPS, *fit.notes])


def _abilities_run_away(post: Posterior) -> bool:
    """Whether all comparisons of some item are sure but for slips, or abilities are far apart."""
    rows, size = post.rows, np.abs(post.eta)
    least = np.full(len(rows.X), np.inf)
    for side in (rows.left, rows.right):
        np.minimum.at(least, side, size)
    doubt = rows.rule.link.plain.cdf(-least[rows.compared])
    apart = float(np.ptp(post.effect[rows.compared]))
    return bool(np.any(doubt < LEAST_DOUBT)) or not apart < RUNAWAY


def _context_of_items(
    settings: Settings, prepared: PreparedFit, alone: RowsMaximum, joint: JointFit | None = None
) -> dict[str, dict[str, Any]]:
    """What of context and side belongs to the items, with a sentence where there is one to say."""
    rows, names = prepared.rows, prepared.names
    none = not rows.context.shape[1] and not rows.sides.shape[1]
    is_endless = endless(rows, alone) if joint is None else joint.endless
    if none or settings.inference is None or is_endless:
        return {}
    found = context_of_items(rows, alone, names)
    for column, one in enumerate(found.values()):
        kind = prepared.kinds[column]
        if joint is not None and joint.is_projected and not settings.side_by_judge:
            d, q = len(rows.mean), joint.n_projected
            one["wider"] = widening(joint.post.basis.inverse, slice(d, d + q), d + q + column)
        one["in_words"] = in_words(names[column], one, kind, settings.item_effects)
    return found


def _separation_notes(data: TableData, joint: JointFit, recession: Recession | None) -> list[Note]:
    """Those of the fit of the pairs, and which parameters have no finite size."""
    prepared = joint.prepared
    notes = list(prepared.plain.notes)
    if joint.held.beside_slips and NO_SCALE_BESIDE_SLIPS not in notes:
        notes = [NO_SCALE_BESIDE_SLIPS, *notes]
    if recession is None or not recession.touched.any():
        return notes
    words = {("side", "left"): SIDE, ("tie", "tie"): TIE}
    effects = zip(prepared.kinds, prepared.names, strict=True)
    names = [words.get((kind, name), name) for kind, name in effects]
    names = [*data.comparisons.items.feature_names, *names]
    shown = [name for name, held in zip(names, recession.touched, strict=True) if held]
    others = [note for note in notes if type(note) is not SeparationWarning]
    return [separation_note(shown), *others]


def _few_items_notes(items: ItemEffects | None) -> list[Note]:
    if items is None or items.free or items.n_shared >= FEWEST_ITEMS:
        return []
    rough = "roughly known from so few items, " if items.sigma2 > 0 else ""
    return [FewItemsWarning(f"item effects are {rough}{items.in_words}.")]


def _settled_notes(settings: Settings, joint: JointFit) -> list[Note]:
    notes: list[Note] = []
    none_found = settings.item_effects and joint.variance is None and joint.post.averaged
    if none_found and joint.endless:
        why = "some effects of comparisons have no finite size"
        notes.append(SeparationWarning(f"item effects are set to zero, because {why}."))
    if not joint.settled:
        what = "item effects and judges' slopes" if settings.item_effects else "judges' slopes"
        remedy = "fit without " + Setting("judge_slopes")
        notes.append(NotConvergedWarning(f"{what} do not converge", remedy))
    return notes


def differences_by_others(post: Posterior, amount: np.ndarray) -> Differences | None:
    """Of every row, the difference whose chances are those that all others predict.

    ``amount`` (M) is how many comparisons each row stands for. None where effects are at the
    maximum of the likelihood, and not averaged over.
    """
    if not post.averaged:
        return None
    rows = post.rows
    center, square = cavities(post).law_of_eta()
    law = OutcomeLaw(rows.rule, rows.tie(post.theta))
    x = difference_of_decided(law, center + rows.side(post.theta), np.sqrt(square))
    return Differences(x, rows.outcome, amount)


def scale_of_decided_rows(post: Posterior, amount: np.ndarray) -> float:
    """The factor from score differences to the chances of decided comparisons, each as all others
    predict it: items and judges would find their own answers again in what they have learnt.

    ``amount`` (M) is how many comparisons each row stands for.
    """
    rows = post.rows
    if np.all(rows.outcome):
        return 1.0  # no ties
    center, square = cavities(post).law_of_eta()
    law, eta = OutcomeLaw(rows.rule, rows.tie(post.theta)), center + rows.side(post.theta)
    return decided_scale(law, eta, np.sqrt(square), rows.outcome, amount)
