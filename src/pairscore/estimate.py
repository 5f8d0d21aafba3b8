"""Fit: from checked comparisons to coefficients with their covariance."""

from dataclasses import replace

import numpy as np

from pairscore.closed_form_fit import fit_closed_form
from pairscore.comparisons import Comparisons
from pairscore.contest_effects import fit_contest_effects
from pairscore.contest_fit import fit_contest
from pairscore.effects_fit import with_item_effects
from pairscore.errors import CollinearFeaturesWarning, FewItemsWarning, PairscoreError, first_few, plural
from pairscore.folds import dealt
from pairscore.items import LARGEST_NUMBER
from pairscore.likelihood_fit import fit_likelihood
from pairscore.ridge import EVERY_FOLD, N_FOLDS, RidgeCurve, choose_ridge
from pairscore.settings import Settings
from pairscore.study import Estimate, Note, Study

FEW_ITEMS = 50


def estimate(
    data: Comparisons,
    settings: Settings,
    rng: np.random.Generator,
    has_items: bool = True,
    item_groups: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> Estimate:
    """Fit ``data`` as ``settings`` say; ``rng`` deals the folds where the ridge is chosen, ``item_groups`` together, and draws item effects.

    ``start`` has coefficients near those to be found, if some are known.
    """
    if settings.item_effects and not has_items:
        raise PairscoreError("item_effects=True needs to know who was compared, and a matrix of differences does not say; fit items and votes instead.")
    study = Study(data, settings.side_effect, has_items, start)
    refuse_too_many_features(study, settings)
    refuse_extremes(data)
    kind, notes = choose_inference(study, settings)
    ridge = chosen_ridge(study, settings, rng, item_groups) if settings.choose_l2 else None
    settings = replace(settings, inference=kind, l2=settings.l2 if ridge is None else ridge.chosen)
    result = fitted(study, settings, rng)
    notes += result.notes + _open_features(study, result.basis.undetermined[: study.X.shape[1]]) + _open_side(study, result)
    return replace(result, notes=notes, inference=kind, ridge=ridge)


def fitted(study: Study, settings: Settings, rng: np.random.Generator) -> Estimate:
    """The fit of the method, of single comparisons where they cannot be summed, with item effects where they are asked for."""
    if settings.method != "mle":
        return fit_closed_form(study, settings)
    if settings.by_comparison:
        return fit_contest_effects(study, settings, rng) if settings.item_effects else fit_contest(study, settings)
    plain = fit_likelihood(study, settings)
    return with_item_effects(study, settings, plain, rng) if settings.item_effects else plain


def chosen_ridge(study: Study, settings: Settings, rng: np.random.Generator, item_groups: np.ndarray | None) -> RidgeCurve:
    """The ridge that does best on held-out items; it means the same to every method."""
    rows = np.flatnonzero(study.tally.exposures) if study.has_items else np.arange(len(study.X) - 1)
    group = np.arange(len(rows)) if item_groups is None else np.unique(item_groups[rows], return_inverse=True)[1]

    def deal() -> np.ndarray:
        fold, sizes = np.full(len(study.X), EVERY_FOLD), np.bincount(group)  # the origin of plain differences is in every fold
        fold[rows] = dealt(sizes, rng.permutation(len(sizes)), N_FOLDS)[group]
        return fold

    return choose_ridge(study.X, study.item_moments.mean, study.item_moments.sd, study.pairs, settings.link, deal, study.weight_unit)


def refuse_extremes(data: Comparisons) -> None:
    """Weights and context whose squares are beyond what a computer holds; features are looked at where they are read."""
    if data.weight is not None:
        low, high = float(np.min(data.weight, where=data.weight > 0, initial=np.inf)), float(np.max(data.weight))
        if not (high < LARGEST_NUMBER and low > 1 / LARGEST_NUMBER):
            raise PairscoreError(f"weights go from {low:.3g} to {high:.3g}, beyond what can be computed with; divide them by their mean.")
    large = [name for name, column in data.context.items() if not np.all(np.abs(column) < LARGEST_NUMBER)]
    if large:
        raise PairscoreError(f"values beyond {LARGEST_NUMBER:g} cannot be computed with: {first_few(map(repr, large))}; divide the column by a constant.")


def refuse_too_many_features(study: Study, settings: Settings) -> None:
    """Without a ridge, features must not outnumber items or comparisons."""
    data, d = study.data, study.X.shape[1]
    used = study.amount > 0
    m = float(used.sum() if data.count is None else data.count[used].sum())
    if not np.isfinite(study.tally.n_comparisons):
        raise PairscoreError("the weights are so large that their sum overflows; divide them by a constant.")
    if study.tally.exposures.sum() == 0:
        raise PairscoreError("no comparison is between two different items with a positive weight; nothing can be learnt from these votes.")
    if settings.l2 == 0 and (d > study.n_items or d > m):
        few = plural(study.n_items, "compared item") if study.has_items and d > study.n_items else plural(int(m), "comparison")
        raise PairscoreError(f"there are {d} features but only {few}, so many scores fit equally well; set a ridge such as l2=1.0, or use fewer features.")


def choose_inference(study: Study, settings: Settings) -> tuple[str | None, list[Note]]:
    """Item-robust intervals need items, and more of them than parameters."""
    if settings.inference not in ("items", "items+judges") or not study.has_items:
        return ("model" if settings.inference else None), []
    n, parameters = study.n_items, study.X.shape[1] + settings.side_effect
    if n <= parameters + 1:
        text = (
            f"{plural(n, 'item')} with {plural(parameters, 'parameter')} leave nothing to see how items differ from their features; "
            "the intervals are the classical ones (inference='model')."
        )
        return "model", [(FewItemsWarning, text)]
    if n < FEW_ITEMS:
        text = f"with {plural(n, 'item')} item-robust intervals are rough; below about {FEW_ITEMS} items read them with care."
        return settings.inference, [(FewItemsWarning, text)]
    return settings.inference, []


def _open_features(study: Study, undetermined: np.ndarray) -> list[Note]:
    if not undetermined.any():
        return []
    names = [study.data.items.feature_names[column] for column in np.flatnonzero(undetermined)]
    text = (
        f"{plural(len(names), 'feature')} {'is' if len(names) == 1 else 'are'} constant or a combination of others among the compared items: "
        f"{first_few(map(repr, names), 10)}; the solution of smallest norm is taken and their intervals are unknown."
    )
    return [(CollinearFeaturesWarning, text)]


def _open_side(study: Study, result: Estimate) -> list[Note]:
    if result.side_basis is None or not result.side_basis.undetermined[-1]:
        return []
    names = [study.data.items.feature_names[column] for column in np.flatnonzero(result.side_basis.undetermined[:-1])]
    amount = f"the same amount of {'' if len(names) == 1 else 'a combination of '}{first_few(map(repr, names), 10)}"
    text = (
        f"the side effect is not determined, because in every comparison left is ahead of right by {amount}; "
        "one of many equal fits is taken and the intervals are unknown: swap some sides, or fit without side_effect."
    )
    return [(CollinearFeaturesWarning, text)]
