"""Coefficients, context, sides, judges' slopes, ties and effects of items, estimated together.

Without effects of items the likelihood of single comparisons is maximised, and slopes of judges
step towards theirs in turn. With them everything is the posterior of
:mod:`pairscore.effects.expectation_propagation` at the likeliest sigma^2.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pairscore.core.whitening import Basis, square_root
from pairscore.data.items import feature_keys
from pairscore.display import plural
from pairscore.effects.abilities import (
    bound_abilities,
    centred_variances,
    grow_with_ties,
    quasi_variances,
    win_components,
)
from pairscore.effects.context import (
    context_of_items,
    in_words,
    refuse_context_of_items,
    widening,
    with_projection,
)
from pairscore.effects.expectation_propagation import (
    SOLVED,
    Posterior,
    near_posterior,
    propagate,
    scale_of_decided_rows,
    start_posterior,
    with_ridge_for_effects,
)
from pairscore.effects.item_covariance import lasting_covariance
from pairscore.effects.item_variance import (
    REACH2,
    ItemVariance,
    VarianceSearch,
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
from pairscore.effects.parameter_covariance import parameter_covariance
from pairscore.effects.predictor import comparison_scores
from pairscore.effects.prepare import PreparedFit, effect_notes, prepare_fit
from pairscore.effects.rows import RowsMaximum, SingleComparisons, maximise_rows, maximum_at
from pairscore.effects.separation import HeldMaximum, endless, maximise_held
from pairscore.errors import (
    FewItemsWarning,
    NotConvergedWarning,
    PairscoreError,
    SeparationWarning,
    UnbeatenItemsWarning,
)
from pairscore.estimators.fit_data import TableData
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.penalty import SEPARATION_L2
from pairscore.estimators.recession import Recession
from pairscore.estimators.results import (
    FEWEST_ITEMS,
    TEST_LEVEL,
    Determined,
    EffectEstimates,
    Effects,
    Estimate,
    ItemEffects,
    ItemEffectsTest,
    LinearPredictor,
    Note,
)
from pairscore.estimators.separation import SIDE, TIE, separation_note
from pairscore.estimators.settings import Settings

AT_MAXIMUM = 1e-7  # as `close` of sweeps to a maximum: the next step, which squares it, is rounding
# Slopes and the rest in turn: slopes have errors of a tenth and more, of which CLOSE is a
# hundredth; a study that takes more than ROUNDS swings for ever, and a note says so.
CLOSE = 0.001
ROUNDS = 40
NOTICED = 1.01  # times the likeliest sigma^2: a smaller correction is not worth other sweeps
FEWEST_ABILITIES = 3  # that met two opponents: two have one difference, and no variance
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
    and side have of them (``is_projected``); ``endless`` if some effect of comparisons has no
    finite size.
    """

    held: HeldMaximum
    post: Posterior
    alone: RowsMaximum
    top: RowsMaximum
    endless: bool
    is_projected: bool = False
    variance: ItemVariance | None = None
    slopes: Slopes | None = None
    settled: bool = True

    @property
    def prepared(self) -> PreparedFit:
        return self.held.prepared

    @property
    def n_projected(self) -> int:
        """Columns of the items that stand for what context and side have of them."""
        return len(self.post.rows.mean) - len(self.prepared.rows.mean)

    def without_projected(self, vector: np.ndarray) -> np.ndarray:
        """(coef, effects, t) of theta, or rows and columns of a matrix in it."""
        d = len(self.prepared.rows.mean)
        kept = np.delete(np.arange(len(self.post.theta)), np.s_[d : d + self.n_projected])
        return vector[kept] if vector.ndim == 1 else vector[np.ix_(kept, kept)]


def fit_effects(data: TableData, settings: Settings) -> Estimate:
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
        return _estimate(data, settings, joint)
    test = item_effects_test(joint)
    if test.used:
        chosen = replace(settings, item_effects=True)
        fit = _estimate(data, chosen, _fit_jointly(data, prepared, chosen))
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


def _estimate(data: TableData, settings: Settings, joint: JointFit) -> Estimate:
    """Everything that was found, in the terms of a model."""
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
        items = _kept_effects(data, joint, theta[:d], full)
        scores = scores + items.effect
    notes = _separation_notes(data, joint, recession)
    notes += [] if joint.top.converged else [_not_maximised(settings)]
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
            comparison_scores(scores, data.comparisons, effects, judges), decided_scale=scale
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


def _fit_jointly(data: TableData, prepared: PreparedFit, settings: Settings) -> JointFit:
    """Theta, effects of items by their law, and slopes of judges."""
    start = prepared.first_theta()
    if prepared.only_features:
        top = maximum_at(prepared.rows, start)
        held = HeldMaximum(prepared, top, top, None)
    else:
        held = maximise_held(data, settings, prepared, start, settings.tol)
    law = _law_of_items(data, settings, held)
    slopes, settled = None, True
    if settings.judge_slopes:
        post, slopes, settled = _fit_slopes(law, held.prepared)
    else:
        post = law.first_fit()
    return replace(law.finish(post, slopes), slopes=slopes, settled=settled)


def _fit_slopes(law: "ItemLaw", prepared: PreparedFit) -> tuple[Posterior, Slopes, bool]:
    """Steps of the judges' slopes and fits of all else in turn; whether slopes settled."""
    post = law.start()
    slopes, settled = None, False
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


def _law_of_items(data: TableData, settings: Settings, held: HeldMaximum) -> "ItemLaw":
    """What the settings say of items' effects, as far as the comparisons allow."""
    if settings.free_abilities:
        sigma2 = data.weight_unit / settings.ridge if settings.ridge else np.inf
        return FreeAbilities(held, sigma2, settings.judge_slopes)
    rows = held.prepared.rows
    fewest = FEWEST_ITEMS if len(rows.mean) else FEWEST_ABILITIES
    if settings.item_effects and n_shared(rows) >= fewest and not held.endless:
        return NormalEffects.of(held, settings)
    return NoItemEffects(held)


class ItemLaw(Protocol):
    """How effects of items are fitted beside theta, with judges' slopes as the rows have them."""

    def start(self) -> Posterior:
        """Before the first sweep."""
        ...

    def fit(self, post: Posterior) -> Posterior:
        """Theta and the effects, from a posterior near theirs."""
        ...

    def first_fit(self) -> Posterior:
        """The same from the start, or from an earlier fit."""
        ...

    def has_no_common_order(self, post: Posterior) -> bool:
        """Whether scores run off, so that slopes of judges have nothing to be measured by."""
        ...

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        """What was found; ``slopes`` have stepped since the last fit, if there are any."""
        ...


@dataclass(frozen=True)
class NoItemEffects:
    """Items have no effects beyond their features."""

    held: HeldMaximum

    def start(self) -> Posterior:
        top = self.held.top
        return start_posterior(self.held.prepared.rows, top.theta, 0.0, basis=top.basis)

    def fit(self, post: Posterior) -> Posterior:
        return propagate(post, 0.0)

    def first_fit(self) -> Posterior:
        return self.start()  # at the maximum

    def has_no_common_order(self, post: Posterior) -> bool:
        return False

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        post = post if slopes is None else self.fit(post)
        return JointFit(self.held, post, self.held.alone, self.held.top, self.held.endless)


@dataclass(frozen=True)
class FreeAbilities:
    """Abilities of items at the maximum of the likelihood: with a ridge 1 / sigma^2, or without a
    law (sigma^2 infinite).
    """

    held: HeldMaximum
    sigma2: float
    has_slopes: bool

    def start(self) -> Posterior:
        rows, theta = self.held.prepared.rows, self.held.top.theta
        # slopes of judges need variances, else products with V will do, and none is formed
        exact_items = None if self.has_slopes else 0
        return start_posterior(rows, theta, self.sigma2, averaged=False, exact_items=exact_items)

    def fit(self, post: Posterior) -> Posterior:
        return propagate(post, self.sigma2, AT_MAXIMUM)

    def first_fit(self) -> Posterior:
        return self.fit(near_posterior(self.start(), self.held.prepared))

    def has_no_common_order(self, post: Posterior) -> bool:
        return False

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        post = post if slopes is None else self.fit(post)
        if len(post.theta):
            post = post.with_information(SOLVED)
        covariance = lasting_covariance(post.rows.pairs, information_of_pairs(post), self.sigma2)
        post = replace(post, covariance=covariance)
        converged = post.step_size < AT_MAXIMUM
        top = RowsMaximum(self.held.top.theta, post.basis, post.n_sweeps, converged)
        is_endless = self.held.endless or endless(post.rows, top)
        return JointFit(self.held, post, top, top, is_endless)


@dataclass
class NormalEffects:
    """Effects of items u ~ N(0, sigma^2), sigma^2 by maximum likelihood.

    The items of ``rows`` have what context and side have of them as further features, and ``top``
    is the maximum without effects. ``search`` is that of the last fit.
    """

    held: HeldMaximum
    rows: SingleComparisons
    top: RowsMaximum
    choose_ridge: bool
    is_projected: bool
    search: VarianceSearch | None = None

    @classmethod
    def of(cls, held: HeldMaximum, settings: Settings) -> "NormalEffects":
        rows, top = held.prepared.rows, held.top
        is_projected = rows.context.shape[1] + rows.sides.shape[1] > 0
        if is_projected:
            d = len(rows.mean)
            rows = with_projection(rows)
            start = np.insert(top.theta, d, np.zeros(len(rows.mean) - d))
            top = maximise_rows(rows, start, settings.max_iter, settings.tol)
        rows = rows.with_sure_ties(top.theta)
        return cls(held, rows, top, settings.choose_l2, is_projected)

    def start(self) -> Posterior:
        return start_posterior(self.rows, self.top.theta, 0.0, basis=self.top.basis)

    def fit(self, post: Posterior) -> Posterior:
        search = approach_variance(post)
        if self.choose_ridge:
            rows = replace(search.post.rows, ridge=self.rows.ridge)
            rows = with_ridge_for_effects(rows, self.top.theta, search.post)
            search = VarianceSearch(replace(search.post, rows=rows))
        self.search = search
        return search.post

    def first_fit(self) -> Posterior:
        return self.fit(near_posterior(self.start(), self.held.prepared))

    def has_no_common_order(self, post: Posterior) -> bool:
        return float(np.mean(post.eta**2)) > RUNAWAY**2

    def finish(self, post: Posterior, slopes: Slopes | None) -> JointFit:
        search = self.search
        if search is None or slopes is not None:  # its scores are those of other slopes
            search = VarianceSearch(post)
        post = fit_item_variance(search)
        likeliest = variance_interval(post, search)
        variance = corrected_for_coefficients(post, likeliest)
        noticed = variance.sigma2 > NOTICED * likeliest.sigma2
        post = propagate(post, variance.sigma2 if noticed else likeliest.sigma2)
        joint = JointFit(self.held, post, self.held.alone, self.top, self.held.endless)
        return replace(joint, variance=variance, is_projected=self.is_projected)


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
    return _estimate(data, settings, _fit_jointly(data, prepared, settings))


def information_of_pairs(post: Posterior) -> np.ndarray:
    """What is known of each pair (P): more than of coins, where ties are half wins."""
    return post.rows.pair_information(post.derivatives) / post.share_of_coin


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


def _kept_effects(
    data: TableData, joint: JointFit, coef: np.ndarray, full: np.ndarray | None
) -> ItemEffects:
    """What a model keeps of its items."""
    post, d = joint.post, len(coef)
    rows, q = post.rows, joint.n_projected
    if not post.averaged:
        return _kept_abilities(data, joint, full)
    further = rows.X[:, d:] - rows.mean[d:]
    of_context = further @ post.theta[d : d + q]
    variance, share = post.covariance.diagonal, np.ones(len(rows.X))
    root = np.zeros((d + q, 0)) if full is None else square_root(full[: d + q, : d + q])
    if post.sigma2 > 0:
        variance, share = _effect_errors(post, d, root)
    of_items, interval = _variance_beyond_features(joint, d, full)
    return ItemEffects(
        ids=data.comparisons.items.ids,
        keys=feature_keys(data.X),
        effect=np.where(rows.compared, post.effect + of_context, 0.0),
        std_error=np.sqrt(np.where(rows.compared, variance, of_items)),
        share=share,
        sigma2=of_items,
        interval=interval,
        explained=explained_share(data, coef, root[:d], of_items),
        factor=score_length(data, coef) / score_length(data, joint.top.theta[:d]),
        n_shared=n_shared(rows),
        posterior_sigma2=post.sigma2,
        pair_low=rows.pairs.low,
        pair_high=rows.pairs.high,
        pair_weight=rows.pair_information(post.derivatives),
    )


def _kept_abilities(data: TableData, joint: JointFit, full: np.ndarray | None) -> ItemEffects:
    """What a model without features keeps of its items: their abilities, centred.

    If theta moves by D, abilities move by -V (border) D: their covariance is V + C C' with C that
    times a root of theta's covariance.
    """
    post, rows = joint.post, joint.post.rows
    pairs, weight = rows.pairs, information_of_pairs(post)
    C = np.zeros((len(rows.X), 0)) if full is None else -post.solved @ square_root(full)
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
        quasi_variance=quasi_variances(post.covariance, C, variance, bool(np.isinf(post.sigma2))),
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


def _separation_notes(data: TableData, joint: JointFit, recession: Recession | None) -> list[Note]:
    """Those of the fit of the pairs, and which parameters have no finite size."""
    prepared = joint.prepared
    notes = list(prepared.plain.notes)
    if recession is None or not recession.touched.any():
        return notes
    words = {("side", "left"): SIDE, ("tie", "tie"): TIE}
    effects = zip(prepared.kinds, prepared.names, strict=True)
    names = [words.get((kind, name), name) for kind, name in effects]
    names = [*data.comparisons.items.feature_names, *names]
    shown = [name for name, held in zip(names, recession.touched, strict=True) if held]
    others = [note for note in notes if note[0] is not SeparationWarning]
    return [separation_note(shown), *others]


def _few_items_notes(items: ItemEffects | None) -> list[Note]:
    if items is None or items.free or items.n_shared >= FEWEST_ITEMS:
        return []
    rough = "roughly known from so few items, " if items.sigma2 > 0 else ""
    return [(FewItemsWarning, f"item effects are {rough}{items.in_words}.")]


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


def _effect_errors(post: Posterior, d: int, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
