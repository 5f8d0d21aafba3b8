"""Coefficients, context, sides, judges' slopes, ties and effects of items, estimated together.

Without effects of items the likelihood of single comparisons is maximised, and slopes of judges
step towards theirs in turn. With them everything is the posterior of
:mod:`pairscore.effects.expectation_propagation` at the likeliest sigma^2.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.core.linalg import Basis
from pairscore.core.pair_graph import Pairs
from pairscore.data.folds import feature_keys
from pairscore.effects.abilities import (
    bound_abilities,
    centred_variances,
    grow_with_ties,
    quasi_variances,
    win_components,
)
from pairscore.effects.context import (
    Projection,
    context_of_items,
    in_words,
    refuse_context_of_items,
    widening,
    with_projection,
)
from pairscore.effects.expectation_propagation import (
    Posterior,
    near_posterior,
    propagate,
    scale_of_decided,
    start_posterior,
    with_ridge_for_effects,
)
from pairscore.effects.item_covariance import MOST_ITEMS, posterior_covariance
from pairscore.effects.item_variance import (
    REACH2,
    ItemVariance,
    Search,
    approach_variance,
    corrected_for_coefficients,
    explained_share,
    fit_item_variance,
    n_shared,
    score_length,
    variance_interval,
    variance_score,
)
from pairscore.effects.judges import (
    Slopes,
    judge_notes,
    judges_of_slopes,
    step_slopes,
    with_slopes,
)
from pairscore.effects.open_abilities import with_open_abilities, within_components
from pairscore.effects.parameter_covariance import joint_covariance
from pairscore.effects.predictor import comparison_scores
from pairscore.effects.rows import Optimum, PreparedFit, climb, effect_notes, prepare_fit
from pairscore.effects.separation import Climbed, Separation, climb_held, endless
from pairscore.errors import (
    FewItemsWarning,
    NotConvergedWarning,
    PairscoreError,
    SeparationWarning,
    UnbeatenItemsWarning,
    plural,
)
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.penalty import SEPARATION_L2
from pairscore.estimators.results import (
    FEWEST_ITEMS,
    TEST_LEVEL,
    Effects,
    Estimate,
    ItemEffects,
    ItemEffectsTest,
    Note,
)
from pairscore.estimators.separation import SIDE, TIE, separation_note
from pairscore.estimators.settings import Settings

AT_MAXIMUM = 1e-7  # as `close` of the sweeps where effects have no law
ROUNDS = 40  # of slopes and the rest in turn
NOTICED = 1.01  # times the likeliest sigma^2: a correction that changes what else was found
CLOSE = 0.001  # a move of a slope that is none
FEWEST_ABILITIES = 3  # that met two opponents, from which a variance is estimated
NOT_SHRUNK: Note = (
    FewItemsWarning,
    "how far items differ cannot be estimated here, so that abilities are plain, and not shrunk.",
)
ALL_OPEN: Note = (
    UnbeatenItemsWarning,
    "the comparisons of the other items do not determine the effects of side, context or ties, so"
    " that a ridge holds all abilities, and all their intervals are open; fit without these"
    " effects.",
)
RUNAWAY = 100.0  # eta, on average, of scores without a size: strong effects have a third of it


@dataclass(frozen=True)
class JointFit:
    """What was found: the posterior, slopes and sigma^2 where there are any.

    ``alone`` and ``top`` are the fits without effects of items, and without and with what context
    and side have of them; ``endless`` if some effect of comparisons has no finite size.
    """

    prepared: PreparedFit
    projection: Projection | None
    post: Posterior
    alone: Optimum
    top: Optimum
    slopes: Slopes | None
    variance: ItemVariance | None
    settled: bool
    separation: Separation | None = None
    endless: bool = False

    @property
    def n_projected(self) -> int:
        """Columns of the items that stand for what context and side have of them."""
        return len(self.post.rows.mean) - len(self.prepared.rows.mean)

    def without_projected(self, vector: np.ndarray) -> np.ndarray:
        """(coef, effects, t) of theta, or rows and columns of a matrix in it."""
        d = len(self.prepared.rows.mean)
        kept = np.delete(np.arange(len(self.post.theta)), np.s_[d : d + self.n_projected])
        return vector[kept] if vector.ndim == 1 else vector[np.ix_(kept, kept)]


def fit_effects(data: FitData, settings: Settings) -> Estimate:
    """The fit with whatever the settings ask for beside features."""
    if settings.free_abilities:
        return _fit_free_abilities(data, settings)
    prepared = prepare_fit(data, settings)
    joint = _fit_jointly(data, prepared, settings)
    few = n_shared(prepared.rows) < FEWEST_ITEMS
    if not data.X.shape[1] and (joint.variance is None or (few and joint.post.sigma2 == 0)):
        settings, notes = bound_abilities(data, replace(settings, free_abilities=True), hold=True)
        fit = _fit_free_abilities(data, settings)
        return replace(fit, settings=settings, notes=[NOT_SHRUNK, *notes, *fit.notes])
    if not settings.choose_item_effects:
        return _found(data, settings, joint)
    test = item_effects_test(joint)
    if test.used:
        chosen = replace(settings, item_effects=True)
        fit = _found(data, chosen, _fit_jointly(data, prepared, chosen))
        if fit.item_effects is not None and fit.item_effects.sigma2 > 0:
            return replace(fit, item_effects_test=test)
        test = replace(test, estimate_is_zero=True)
    needed = settings.by_comparison
    fit = _found(data, settings, joint) if needed else fit_with_side(data, settings)
    return replace(fit, item_effects_test=test)


def fit_with_side(data: FitData, settings: Settings) -> Estimate:
    """The fit of pairs, and whether its side is related to the items."""
    fit = fit_likelihood(data, settings)
    if fit.side_effect is None or fit.recession is not None:
        return fit
    prepared = prepare_fit(data, settings, fit)
    rows, theta = prepared.rows, np.append(fit.coef, fit.side_effect)
    alone = Optimum(theta, rows.basis(rows.derivatives(theta)), 0, True)
    return replace(fit, context_of_items=_context_of_items(settings, prepared, alone))


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


def _found(data: FitData, settings: Settings, joint: JointFit) -> Estimate:
    """Everything that was found, in the terms of a model."""
    prepared = joint.prepared
    full = None
    if settings.inference is not None:
        full = joint_covariance(data, settings, joint.post, joint.variance)
    fit = _estimate(data, settings, joint, full)
    judges, scale = None, scale_of_decided(joint.post, prepared.rows.amount)
    if joint.slopes is not None:
        judges = judges_of_slopes(joint.post, joint.slopes, prepared, scale)
    kept = _kept_effects(data, joint, fit, full) if settings.item_effects else None
    assert fit.effects is not None
    scores = data.X @ fit.coef + (0.0 if kept is None else kept.effect)
    notes = [*fit.notes, *_settled_notes(settings, joint)]
    notes += judge_notes(settings, prepared.rows.n_judges, judges)
    if kept is not None and not kept.free and kept.n_shared < FEWEST_ITEMS:
        rough = "roughly known from so few items, " if kept.sigma2 > 0 else ""
        notes.append((FewItemsWarning, f"item effects are {rough}{kept.in_words}."))
    return replace(
        fit,
        difference=comparison_scores(scores, data.comparisons, fit.effects, judges),
        decided_scale=scale,
        judges=judges,
        item_effects=kept,
        context_of_items=_context_of_items(settings, prepared, joint.alone, joint),
        notes=notes,
        effects=fit.effects if prepared.names else None,
    )


def _fit_jointly(data: FitData, prepared: PreparedFit, settings: Settings) -> JointFit:
    projection, start = None, prepared.first_theta()
    if prepared.only_features:
        post = start_posterior(prepared.rows, start, 0.0)
        top = Optimum(post.theta, post.basis, 0, True)
        climbed = Climbed(prepared, top, top, None)
    else:
        climbed = climb_held(data, settings, prepared, start, settings.tol)
    prepared, alone, top, separation = climbed
    rows = prepared.rows
    fewest = FEWEST_ITEMS if len(rows.mean) else FEWEST_ABILITIES
    varies = settings.item_effects and n_shared(rows) >= fewest and not climbed.endless
    if varies and (rows.context.shape[1] or rows.sides.shape[1]):
        rows, projection = with_projection(rows)
        d = len(prepared.rows.mean)
        start = np.insert(top.theta, d, np.zeros(len(rows.mean) - d))
        top = climb(rows, start, settings.max_iter, settings.tol)
    rows = rows.with_sure_ties(top.theta) if varies else rows
    if not prepared.only_features or rows is not prepared.rows:
        post = start_posterior(rows, top.theta, 0.0, basis=top.basis)
    slopes, settled = None, not settings.judge_slopes
    if varies and settled:
        post = near_posterior(post, prepared)
    for _ in range(ROUNDS):
        if varies:
            post = (search := approach_variance(post)).post
            if settings.choose_l2:
                post = replace(post, rows=with_ridge_for_effects(rows, top.theta, post))
        if settled:
            break
        if not varies:
            post = propagate(post, 0.0)
        old = np.ones(1) if slopes is None else slopes.slope
        slopes = step_slopes(post, slopes, prepared)
        if varies and np.mean(post.eta**2) > RUNAWAY**2:  # no common order to measure judges by
            slopes = Slopes.average(rows.n_judges, slopes.own[:0])
            post = start_posterior(rows, top.theta, 0.0)
        rows, post = with_slopes(rows, slopes), replace(post, rows=with_slopes(post.rows, slopes))
        settled = bool(np.max(np.abs(slopes.slope - old)) < CLOSE)
        if settled:
            break
    variance = None
    if not varies and settings.judge_slopes:
        post = propagate(post, 0.0)
    if varies:
        search = search if search.post is post else Search(post)
        post = fit_item_variance(search)
        likeliest = variance_interval(post, search)
        variance = corrected_for_coefficients(post, likeliest)
        noticed = variance.sigma2 > NOTICED * likeliest.sigma2
        post = propagate(post, variance.sigma2 if noticed else likeliest.sigma2)
    return JointFit(
        prepared,
        projection,
        post,
        alone,
        top,
        slopes,
        variance,
        settled,
        separation,
        climbed.endless,
    )


def _fit_free_abilities(data: FitData, settings: Settings) -> Estimate:
    """Abilities of items without features; open ones where they have no finite size.

    A ridge holds all of them, and all are open, where the comparisons within components are none,
    or too few for the effects that are asked for beside them.
    """
    component = None if settings.l2 > 0 else win_components(data)
    if component is None or component.max() <= 0:
        return _found(data, settings, _fit_abilities(data, prepare_fit(data, settings), settings))
    part, notes = within_components(data, component), list[Note]()
    if np.any(component == 0):
        try:
            joint = _fit_abilities(part, prepare_fit(part, settings), settings)
            return with_open_abilities(data, settings, _found(part, settings, joint), component)
        except PairscoreError:  # which effects are not determined, of some comparisons
            component = np.where(component < 0, -1, 1 + np.arange(len(component)))
            notes = [ALL_OPEN]
    held = replace(settings, l2=SEPARATION_L2 * data.weight_unit)
    joint = _fit_abilities(data, prepare_fit(data, held), held)
    fit = with_open_abilities(data, settings, _found(data, held, joint), component)
    return replace(fit, notes=[*notes, *fit.notes])


def _fit_abilities(data: FitData, prepared: PreparedFit, settings: Settings) -> JointFit:
    """The maximum of the likelihood over the items' abilities and theta, with a ridge if asked for.

    Slopes of judges and the rest are stepped in turn.
    """
    sigma2 = data.weight_unit / settings.l2 if settings.l2 else np.inf
    if not settings.l2:
        refuse_context_of_items(prepared.rows, prepared.names)
    climbed = climb_held(data, settings, prepared, prepared.first_theta(), settings.tol)
    prepared, rows, theta = climbed.prepared, climbed.prepared.rows, climbed.top.theta
    post, slopes = start_posterior(rows, theta, sigma2, averaged=False), None
    settled = not settings.judge_slopes
    post = near_posterior(post, prepared) if settled else post
    for _ in range(ROUNDS):
        post = propagate(post, sigma2, AT_MAXIMUM)
        if settled:
            break
        old = np.ones(1) if slopes is None else slopes.slope
        slopes = step_slopes(post, slopes, prepared)
        rows = with_slopes(rows, slopes)
        post = replace(post, rows=rows)
        settled = bool(np.max(np.abs(slopes.slope - old)) < CLOSE)
    exact = posterior_covariance(*_known_of_pairs(post), sigma2, exact_items=MOST_ITEMS)
    post = replace(post, covariance=exact)
    top = Optimum(theta, post.basis, post.n_sweeps, post.moved < AT_MAXIMUM)
    found, is_endless = climbed.separation, climbed.endless or endless(rows, top)
    return JointFit(prepared, None, post, top, top, slopes, None, settled, found, is_endless)


def _known_of_pairs(post: Posterior) -> tuple[Pairs, np.ndarray]:
    """Pairs, and what is known of each (P): more than of coins, where ties are half wins."""
    weight = post.rows.pair_information(post.derivatives)
    return post.rows.pairs[0], weight / post.share_of_coin


def _context_of_items(
    settings: Settings, prepared: PreparedFit, alone: Optimum, joint: JointFit | None = None
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
        if joint is not None and joint.projection is not None and not settings.side_by_judge:
            d, q = len(rows.mean), joint.n_projected
            one["wider"] = widening(joint.post.basis.inverse, slice(d, d + q), d + q + column)
        one["in_words"] = in_words(names[column], one, kind, settings.item_effects)
    return found


def _estimate(
    data: FitData, settings: Settings, joint: JointFit, full: np.ndarray | None
) -> Estimate:
    """What was found, in the terms of a fit."""
    prepared, post, d = joint.prepared, joint.post, len(joint.prepared.rows.mean)
    theta, basis = joint.without_projected(post.theta), post.basis
    undetermined = joint.without_projected(basis.undetermined)[d:]
    covariance, errors = None, np.full(len(theta) - d, np.nan)
    recession = None if joint.separation is None else joint.separation.recession(theta)
    held = np.zeros(len(theta), dtype=bool) if recession is None else recession.touched
    if full is not None:
        covariance = joint.without_projected(full)
        no_error = undetermined | held[d:]
        if settings.free_abilities and grow_with_ties(data, settings):
            no_error[-1] = True
        errors = np.where(no_error, np.nan, np.sqrt(np.diag(covariance)[d:]))
    effects = Effects(prepared.names, prepared.kinds, theta[d:], errors)
    notes = prepared.plain.notes
    if held.any():
        words = {("side", "left"): SIDE, ("tie", "tie"): TIE}
        effects_of = zip(prepared.kinds, prepared.names, strict=True)
        names = [words.get(effect, effect[1]) for effect in effects_of]
        names = [*data.comparisons.items.feature_names, *names]
        shown = [name for name, of in zip(names, held, strict=True) if of]
        others = [note for note in notes if note[0] is not SeparationWarning]
        notes = [separation_note(shown), *others]
    notes = [*notes, *([] if joint.top.converged else [_not_maximised(settings)])]
    notes += effect_notes(effects, undetermined, prepared.rows.usual_sizes)
    return replace(
        prepared.plain,
        coef=theta[:d],
        side_effect=effects.of_kind("side").get("left"),
        basis=Basis(basis.transform[:d], basis.open_directions[:d], basis.unit[:d]),
        covariance=covariance,
        n_iterations=joint.top.steps + post.n_sweeps,
        notes=notes,
        effects=effects,
        recession=recession,
        n_parameters=basis.transform.shape[1] + (0 if post.averaged else data.n_independent),
    )


def _kept_effects(
    data: FitData, joint: JointFit, fit: Estimate, full: np.ndarray | None
) -> ItemEffects:
    """What a model keeps of its items."""
    post, d = joint.post, len(fit.coef)
    rows, q = post.rows, joint.n_projected
    if not post.averaged:
        return _kept_abilities(data, joint, full)
    further = rows.X[:, d:] - rows.mean[d:]
    of_context = further @ post.theta[d : d + q]
    variance, share = post.covariance.diagonal, np.ones(len(rows.X))
    root = np.zeros((d + q, 0)) if full is None else matrix_root(full[: d + q, : d + q])
    if post.sigma2 > 0:
        variance, share = score_errors(post, d, root)
    of_items, interval = _variance_beyond_features(joint, d, full)
    return ItemEffects(
        ids=data.comparisons.items.ids,
        keys=feature_keys(data.X),
        effect=np.where(rows.compared, post.effect + of_context, 0.0),
        std_error=np.sqrt(np.where(rows.compared, variance, of_items)),
        share=share,
        sigma2=of_items,
        interval=interval,
        explained=explained_share(data, fit.coef, root[:d], of_items),
        factor=score_length(data, fit.coef) / score_length(data, joint.top.theta[:d]),
        n_shared=n_shared(rows),
        posterior_sigma2=post.sigma2,
        pair_low=rows.pairs[0].low,
        pair_high=rows.pairs[0].high,
        pair_weight=rows.pair_information(post.derivatives),
    )


def _kept_abilities(data: FitData, joint: JointFit, full: np.ndarray | None) -> ItemEffects:
    """What a model without features keeps of its items: their abilities, centred.

    If theta moves by D, abilities move by -V (border) D: their covariance is V + C C' with C that
    times a root of theta's covariance.
    """
    post, rows = joint.post, joint.post.rows
    pairs, weight = _known_of_pairs(post)
    C = np.zeros((len(rows.X), 0)) if full is None else -post.solved @ matrix_root(full)
    variance = centred_variances(post.covariance, pairs, post.sigma2) + np.sum(C**2, axis=1)
    return ItemEffects(
        ids=data.comparisons.items.ids,
        keys=feature_keys(data.X),
        effect=np.where(rows.compared, post.effect, np.nan),
        std_error=np.sqrt(np.where(rows.compared, variance, np.inf)),
        share=np.ones(len(rows.X)),
        sigma2=np.inf,
        interval=(np.inf, np.inf),
        explained=0.0,
        factor=1.0,
        n_shared=n_shared(rows),
        posterior_sigma2=post.sigma2,
        pair_low=pairs.low,
        pair_high=pairs.high,
        pair_weight=weight,
        along_effects=C,
        quasi_variance=quasi_variances(post.covariance, C),
    )


def _variance_beyond_features(
    joint: JointFit, d: int, full: np.ndarray | None
) -> tuple[float, tuple[float, float]]:
    """sigma^2 with what context and side have of the items, and its interval.

    The variance of pi p among items, less what the error of pi adds, is added to sigma^2; errors of
    the two are combined by their squares on either side (Zou and Donner 2008).
    """
    post, variance, own = joint.post, joint.variance, slice(d, d + joint.n_projected)
    if variance is None:
        return 0.0, (0.0, float("inf"))
    n_items, q = np.count_nonzero(post.rows.compared), joint.n_projected
    further = np.cov(post.rows.X[post.rows.compared, d:].T, ddof=0).reshape(q, q)
    errors = post.basis.inverse[own, own] if full is None else full[own, own]
    along = further @ post.theta[own]
    size = max(float(post.theta[own] @ along - np.sum(errors * further)), 0.0)
    reach2 = REACH2 * (4 * float(along @ errors @ along) + 2 * size**2 / n_items)
    low = np.hypot(variance.sigma2 - variance.low, np.sqrt(reach2))
    high = np.hypot(variance.high - variance.sigma2, np.sqrt(reach2))
    total = variance.sigma2 + size
    return total, (max(total - float(low), 0.0), total + float(high))


def _settled_notes(settings: Settings, joint: JointFit) -> list[Note]:
    notes: list[Note] = []
    none_found = settings.item_effects and joint.variance is None and joint.post.averaged
    if none_found and joint.endless:
        why = "some effects of comparisons have no finite size"
        notes.append((SeparationWarning, f"item effects are set to zero, because {why}."))
    if not joint.settled:
        what = "item effects and judges' slopes" if settings.item_effects else "judges' slopes"
        text = f"{what} do not converge; fit without judge_slopes."
        notes.append((NotConvergedWarning, text))
    return notes


def _not_maximised(settings: Settings) -> Note:
    text = (
        f"the likelihood was not maximised within {plural(settings.max_iter, 'iteration')}; raise"
        " max_iter, add a ridge (l2), or drop an effect."
    )
    return NotConvergedWarning, text


def score_errors(post: Posterior, d: int, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance of each item's effect (N), and the share of its features' error in its score.

    If coefficients move by D, scores move by X~ D with X~ = V X / sigma^2 = X - V L X, L the
    Laplacian: the surer an item is by its own comparisons, the less it depends on the coefficients.
    The error of X~ D is split, item
    by item, into share times that of the item's own features, and a rest that is taken for
    independent of other items.
    """
    X = post.rows.X - post.rows.mean
    kept = (X - post.solved[:, : X.shape[1]]) @ root
    of_features = X[:, :d] @ root[:d]
    own, along = np.sum(of_features**2, axis=1), np.sum(of_features * kept, axis=1)
    share = np.divide(along, own, out=np.ones(len(X)), where=own > 0)
    rest = np.maximum(np.sum(kept**2, axis=1) - share**2 * own, 0.0)
    return post.covariance.diagonal + rest, share


def matrix_root(matrix: np.ndarray) -> np.ndarray:
    """R with R R' the matrix, but for what is negative in it.

    In units in which its diagonal has ones, because features may differ in scale.
    """
    unit = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    return unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
