"""From a fit of features alone to one with item effects.

Item effects beside context, judges and ties: the likelihood of single comparisons, averaged over
the effects.

Three things depend on each other: coefficients, context, sides and ties, which maximise the
likelihood of each comparison averaged over the effects; sigma^2, which solves the equation of
``shared_items`` for their residuals; and the judges' slopes. Each is found from the others, in
turn, until none moves.
"""

from dataclasses import replace

import numpy as np

from pairscore.core.outcomes import OutcomeLaw
from pairscore.data.items import feature_keys
from pairscore.effects.circumstances import comparison_scores
from pairscore.effects.comparison_fit import (
    ENDLESS,
    PreparedFit,
    decided_law,
    fit_single_comparisons,
    judge_notes,
    prepare_fit,
    single_comparisons_covariance,
    single_comparisons_estimate,
)
from pairscore.effects.item_posterior import item_effects
from pairscore.effects.item_variance import NO_VARIANCE, ItemVariance, item_variance, solution
from pairscore.effects.judges import Judged, Sharpness, VotesSeen, judge_table, sharpened
from pairscore.effects.shared_items import Seen, equation
from pairscore.effects.single_comparisons import Optimum, climb
from pairscore.errors import FewItemsWarning, NotConvergedWarning, SeparationWarning
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.likelihood import predictor
from pairscore.estimators.results import (
    FEWEST_ITEMS,
    Estimate,
    ItemEffects,
    Judges,
    Note,
)
from pairscore.estimators.settings import Settings


def with_item_effects(
    study: FitData, settings: Settings, plain: Estimate, rng: np.random.Generator
) -> Estimate:
    """The same fit with sigma^2 estimated, coefficients and side effect on the scale of one
    comparison of two given items, and their effects.
    """
    d, unit, pairs = len(plain.coef), study.weight_unit, study.pairs
    # the variance of effects is seen in comparisons, whatever unit their weights have
    if unit != 1.0:
        pairs = replace(pairs, win=pairs.win / unit, lose=pairs.lose / unit)
    seen = Seen.of_pairs(
        pairs, settings.link, predictor(study.X, pairs, plain.coef, plain.side_effect or 0.0)
    )
    found = item_variance(
        seen, np.sqrt(unit) * (study.X - plain.center.mean) @ plain.basis.transform[:d], rng
    )
    coef, side_effect = (
        found.kappa * plain.coef,
        None if plain.side_effect is None else found.kappa * plain.side_effect,
    )
    covariance = None
    if plain.covariance is not None:
        length = np.append(coef, [side_effect] if len(plain.covariance) > d else [])
        covariance = found.kappa**2 * plain.covariance + found.length_variance * np.outer(
            length, length
        )
    longer = replace(plain, coef=coef, side_effect=side_effect, covariance=covariance)
    kept = kept_effects(study, longer, replace(seen, eta=found.kappa * seen.eta), found)
    scores = study.X @ coef + kept.effect
    difference = (
        scores[study.comparisons.left] - scores[study.comparisons.right] + (side_effect or 0.0)
    )
    return replace(
        longer, difference=difference, item_effects=kept, notes=plain.notes + few_items_note(kept)
    )


def kept_effects(study: FitData, fit: Estimate, seen: Seen, found: ItemVariance) -> ItemEffects:
    """What a model keeps of its items; ``fit`` and ``seen`` are on the scale of given items."""
    d = len(fit.coef)
    errors = (
        np.zeros((d, 0))
        if fit.covariance is None
        else root(fit.covariance[:d, :d], fit.covariance[:d, :d])
    )
    effects = item_effects(seen, found.sigma2, study.X - fit.center.mean, errors)
    return ItemEffects(
        ids=study.comparisons.items.ids,
        keys=feature_keys(study.X),
        effect=effects.effect,
        std_error=np.sqrt(effects.variance),
        share=effects.share,
        sigma2=found.sigma2,
        interval=(found.low, found.high),
        explained=_explained(study, fit.coef, errors, found.sigma2),
        factor=found.kappa,
        n_shared=found.n_shared,
    )


def few_items_note(kept: ItemEffects) -> list[Note]:
    """What is said where too few items met two opponents."""
    return (
        []
        if kept.n_shared >= FEWEST_ITEMS
        else [(FewItemsWarning, f"item effects are {kept.in_words}.")]
    )


def root(matrix: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """R with R R' the matrix, but for what is negative in it.

    In units in which the covariance has ones, because features may differ in scale.
    """
    unit = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    return unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))


def _explained(study: FitData, coef: np.ndarray, errors: np.ndarray, sigma2: float) -> float:
    """Share of the variance of compared items' scores that features explain, less what the error of
    the coefficients adds.
    """
    compared = study.X[study.tally.exposures > 0]
    covariance = np.cov(compared.T, ddof=0).reshape(len(coef), len(coef))
    of_features = max(float(coef @ covariance @ coef - np.sum(errors * (covariance @ errors))), 0.0)
    total = of_features + sigma2
    return of_features / total if total > 0 else 0.0


ROUNDS = 40
CLOSE = 0.003  # a move of sigma (relative) or of a slope that is none
ROUGH = 1e-6  # gap to the maximum, per comparison, while the rest still moves
NO_EFFECTS = 1e-6  # variance that stands for none where one is divided by it


def fit_single_comparisons_with_effects(
    study: FitData, settings: Settings, rng: np.random.Generator
) -> Estimate:
    """The likelihood of single comparisons with item effects, on the scale of given items."""
    asked = prepare_fit(study, settings)
    first = climb(
        asked.contest, asked.contest.start(asked.plain.coef), settings.max_iter, settings.tol
    )
    if _endless(first):
        return _without_effects(study, settings, first)
    top, sharp, notes = _settled(settings, first)
    found = item_variance(_seen(top), _whitened(top), rng)
    top = climb(
        replace(top.contest, effect_variance=2 * found.sigma2),
        top.params,
        settings.max_iter,
        settings.tol,
    )
    found = replace(found, kappa=_length(study, top) / _length(study, first))
    covariance = None if settings.inference is None else _covariance(study, settings, top, found)
    fit = single_comparisons_estimate(study, settings, asked, top, covariance, None)
    kept = kept_effects(study, fit, _seen(top), found)
    judges = None if sharp is None else _judges(study, asked, top, sharp, fit, kept)
    assert fit.effects is not None  # single comparisons always have some
    scores = study.X @ fit.coef + kept.effect
    difference = comparison_scores(scores, study.comparisons, fit.effects, judges)
    notes = [
        *fit.notes,
        *notes,
        *few_items_note(kept),
        *judge_notes(settings, top.contest.n_judges, judges),
    ]
    return replace(fit, difference=difference, item_effects=kept, judges=judges, notes=notes)


def _endless(top: Optimum) -> bool:
    """Whether some effect of comparisons has no finite size, so that nothing can be said of items
    beside it.
    """
    errors = np.sqrt(np.diag(top.basis.inverse))[len(top.params.coef) :]
    return bool(np.any(errors * top.contest.usual_sizes > ENDLESS))


def _without_effects(study: FitData, settings: Settings, top: Optimum) -> Estimate:
    fit = fit_single_comparisons(study, settings)
    kept = kept_effects(study, fit, _seen(top), NO_VARIANCE)
    text = (
        "item effects are taken as none, because some effects of comparisons have no finite size."
    )
    return replace(fit, item_effects=kept, notes=[*fit.notes, (SeparationWarning, text)])


def _settled(settings: Settings, top: Optimum) -> tuple[Optimum, Sharpness | None, list[Note]]:
    """Coefficients, sigma^2 and slopes that agree with each other."""
    sharp: Sharpness | None = None
    slopes = np.ones(top.contest.n_judges)
    for _ in range(ROUNDS):
        sigma2, before = (
            solution(equation(_seen(top), _whitened(top)))[0],
            top.contest.effect_variance / 2,
        )
        contest, moved = (
            replace(top.contest, effect_variance=2 * sigma2),
            abs(np.sqrt(sigma2) - np.sqrt(before)) / (np.sqrt(sigma2) + CLOSE),
        )
        if settings.judge_slopes:
            sharp = sharpened(_judged(top), max(sigma2, NO_EFFECTS), sharp)
            moved, slopes = max(moved, float(np.abs(sharp.slope - slopes).max())), sharp.slope
            contest = replace(contest, known_slopes=slopes)
        top = climb(contest, top.params, settings.max_iter, max(settings.tol, ROUGH))
        if moved < CLOSE:
            return top, sharp, []
    what = "judges' slopes" if settings.judge_slopes else "what a comparison has beside its items"
    return (
        top,
        sharp,
        [
            (
                NotConvergedWarning,
                f"item effects and {what} do not settle together; fit with one of the two.",
            )
        ],
    )


def _seen(top: Optimum) -> Seen:
    """The comparisons as the low item of their pair sees them."""
    contest, params = top.contest, top.params
    pairs, place = contest.pairs
    low_is_left = np.where(contest.left < contest.right, 1.0, -1.0)
    win = contest.amount * (1 + low_is_left * contest.outcome) / 2
    return Seen(
        pairs=pairs,
        place=place,
        law=OutcomeLaw(contest.rule, params.t),
        eta=low_is_left * contest.predictor(params),
        win=win,
        lose=contest.amount - win,
        sharpness=None if contest.known_slopes is None else contest.sharpness(params),
        sigma2=contest.effect_variance / 2,
    )


def _judged(top: Optimum) -> Judged:
    contest, seen = top.contest, _seen(top)
    delta = np.where(contest.left < contest.right, 1.0, -1.0) * contest.delta(top.params)
    return Judged(
        seen,
        delta,
        seen.eta - contest.sharpness(top.params) * delta,
        contest.judge,
        contest.n_judges,
    )


def _whitened(top: Optimum) -> np.ndarray:
    """Features in which the coefficients have the identity as classical covariance."""
    return (top.contest.X - top.contest.mean) @ top.basis.transform[: len(top.params.coef)]


def _length(study: FitData, top: Optimum) -> float:
    """Standard deviation of the scores that features give."""
    return float(
        np.sqrt(
            max(
                top.params.coef @ study.item_moments.covariance @ top.params.coef,
                np.finfo(float).tiny,
            )
        )
    )


def _covariance(
    study: FitData, settings: Settings, top: Optimum, found: ItemVariance
) -> np.ndarray:
    """Of (coef, effects, tie), with what the error of sigma^2 adds, which goes along with that of
    their length.
    """
    covariance = single_comparisons_covariance(study, settings, top)
    if found.sigma2 == 0:
        return covariance
    moves = moves_with_variance(top, found.sigma2)
    length = np.concatenate(
        [top.params.coef, top.params.effects, [0.0] * top.contest.rule.has_parameter]
    )
    together = found.with_length * np.outer(moves, length)
    added = found.std_error**2 * np.outer(moves, moves) + together + together.T
    widened = root(added, covariance)
    return covariance + widened @ widened.T


def moves_with_variance(top: Optimum, sigma2: float) -> np.ndarray:
    """How (coef, effects, tie) move with sigma^2.

    Minus the inverse information times the move of their equations.
    """
    step = 0.05 * sigma2
    further = replace(top.contest, effect_variance=2 * (sigma2 + step)).look(top.params).gradient
    return -top.basis.solve(further - top.look.gradient) / step


def _judges(
    study: FitData,
    asked: PreparedFit,
    top: Optimum,
    sharp: Sharpness,
    fit: Estimate,
    kept: ItemEffects,
) -> Judges:
    """Slopes with their errors.

    Of the votes, and of the coefficients as far as scores depend on them.
    """
    contest = top.contest
    variance = sharp.variance
    if fit.covariance is not None:
        answer = sharp.answer(kept.share[:, None] * (study.X - fit.center.mean))
        variance = variance + np.einsum("ij,jk,ik->i", answer, fit.covariance, answer)
    error = np.full(contest.n_judges, sharp.spread if sharp.spread else np.nan)
    error[sharp.own] = np.sqrt(variance[sharp.own])
    delta = contest.delta(top.params) + kept.effect[contest.left] - kept.effect[contest.right]
    unsure = np.hypot(kept.std_error[contest.left], kept.std_error[contest.right])
    number = np.bincount(contest.judge, contest.amount, contest.n_judges)
    votes = VotesSeen(decided_law(contest, top.params), delta, contest.amount, unsure)
    return judge_table(asked.judges, number, sharp.slope, error, sharp.spread, votes)
