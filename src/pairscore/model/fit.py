"""What a fitted model keeps of its fit.

What people give to ``fit``, as comparisons: items and votes, Comparisons, or a plain matrix of
differences. Fit: from checked comparisons to coefficients with their covariance.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from pairscore.core.sums import feature_range
from pairscore.data.comparisons import Comparisons, refuse_other_self_pairs
from pairscore.data.folds import assign_folds
from pairscore.data.items import LARGEST_NUMBER, Items, as_frame, to_array
from pairscore.data.votes import Votes
from pairscore.effects.comparison_fit import fit_single_comparisons
from pairscore.effects.fit import fit_single_comparisons_with_effects, with_item_effects
from pairscore.errors import (
    CollinearFeaturesWarning,
    FewItemsWarning,
    PairscoreError,
    first_few,
    plural,
)
from pairscore.estimators.closed_form import fit_closed_form
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.results import Estimate, Note
from pairscore.estimators.ridge import EVERY_FOLD, N_FOLDS, RidgeCurve, choose_ridge
from pairscore.estimators.settings import Settings
from pairscore.model.record import make_record
from pairscore.model.summary import agreement_and_noise


def keep_fit(
    model: Any, data: Comparisons, result: Estimate, settings: Settings, has_items: bool
) -> None:
    """Set what a fit found as attributes of the model."""
    d, link = len(result.coef), settings.link
    model.n_features_in_, model.link_ = d, link
    if has_items:
        model.feature_names_in_ = np.array(data.items.feature_names, dtype=object)
    model.coef_, model.closed_form_coef_, model.side_effect_ = (
        result.coef,
        result.closed_form_coef,
        result.side_effect,
    )
    open_bases = [result.basis] if result.side_basis is None else [result.basis, result.side_basis]
    model.undetermined_ = np.any([basis.undetermined[:d] for basis in open_bases], axis=0)
    model.open_directions_ = np.hstack([basis.open_directions[:d] for basis in open_bases])
    _keep_errors(model, result, d)
    model.feature_mean_, model.feature_sd_ = result.center.mean, result.center.sd
    model.feature_min_, model.feature_max_ = feature_range(data.items.values, data.compared)
    model.n_items_ = int(np.count_nonzero(data.compared)) if has_items else None
    model.n_comparisons_ = float(data.amount.sum())
    model.inference_, model.guard_, model.pairing_, model.n_iter_ = (
        result.inference,
        result.guard,
        result.pairing,
        result.n_iterations,
    )
    model.l2_, model.ridge_curve_ = (
        (settings.l2 if result.ridge is None else result.ridge.chosen),
        result.ridge,
    )
    model.item_effects_ = result.item_effects
    model.notes_ = [text for _, text in result.notes]
    model.ties_ = settings.ties
    model.effects_, model.judges_ = result.effects, result.judges
    model.agreement_, model.noise_, model.tie_share_ = agreement_and_noise(
        result.difference, data, model.outcome_law
    )
    model.record_ = make_record(data)
    model.comparisons_ = data if has_items else None
    model.recipe_ = data.items.recipe


def _keep_errors(model: Any, result: Estimate, d: int) -> None:
    """Covariance and standard errors; NaN for what the data do not determine."""
    model.covariance_ = model.std_errors_ = model.side_effect_std_error_ = None
    if result.covariance is not None:
        model.covariance_ = result.covariance[:d, :d]
        model.std_errors_ = np.where(
            model.undetermined_, np.nan, np.sqrt(np.diag(model.covariance_))
        )
        if result.effects is not None:
            model.side_effect_std_error_ = dict(
                zip(result.effects.names, result.effects.std_errors.tolist(), strict=True)
            ).get("left")
        elif result.side_effect is not None:
            side_open = result.side_basis is not None and bool(result.side_basis.undetermined[d])
            model.side_effect_std_error_ = (
                float("nan") if side_open else float(np.sqrt(result.covariance[d, d]))
            )


def comparisons_to_fit(
    model: Any, X: Any, y: Any, covariance_items: Any, self_pairs: str
) -> tuple[Comparisons, bool]:
    """What was given to ``fit`` as comparisons, and whether they are of items that are known.

    Sets the model's classes.
    """
    refuse_other_self_pairs(self_pairs)
    model.classes_ = np.array([-1, 1])
    if isinstance(X, Comparisons):
        data = X if y is None else X.with_outcome(y)
        return (
            data if covariance_items is None else data.with_covariance_items(covariance_items)
        ), True
    if y is None:
        raise PairscoreError(
            "fit requires y to be passed, but the target y is None: give votes beside the items, or"
            " Comparisons."
        )
    if isinstance(y, Votes):
        return (
            Comparisons.from_frames(X, y, covariance_items=covariance_items, self_pairs=self_pairs)[
                0
            ],
            True,
        )
    table = as_frame(y)
    shape = to_array(y, "the votes are").shape if table is None else ()
    if isinstance(y, str | bytes) or (table is None and shape == ()):
        raise PairscoreError(
            f"the votes are a {type(y).__name__}; give a dataframe with columns such as left,"
            " right, winner, or an array."
        )
    if shape == (0,):
        raise PairscoreError("there are no comparisons; give at least one row of votes.")
    if table is not None or (len(shape) == 2 and shape[1] != 1):
        reading = {
            "covariance_items": covariance_items,
            "self_pairs": self_pairs,
            "context": model.context or (),
            "missing": model.missing,
        }
        return Comparisons.from_frames(X, y, **reading)[0], True
    if covariance_items is not None:
        raise PairscoreError(
            "covariance_items names items, but a matrix of differences has none; fit items and"
            " votes instead."
        )
    return _differences(model, X, y), False


def _differences(model: Any, X: Any, y: Any) -> Comparisons:
    """A matrix of differences is a set of items, each compared once with an item at the origin."""
    X, y = validate_data(model, X, column_or_1d(y, warn=True), dtype=np.float64)
    check_classification_targets(y)
    labels = np.unique(y)
    if y.dtype.kind in "iuf" and len(labels) == 3 and np.array_equal(labels, [-1, 0, 1]):
        outcome = y.astype(np.int8)
    elif len(labels) == 2:
        model.classes_ = labels
        outcome = np.where(y == labels[1], 1, -1).astype(np.int8)
    elif len(labels) < 2:
        raise PairscoreError(
            f"y has only one class ({labels.tolist()[0]!r}); comparisons need outcomes of both"
            " kinds."
        )
    else:
        kind = type_of_target(y)
        raise PairscoreError(
            f"Only binary classification is supported. The type of the target is {kind}: y has"
            f" {len(labels)} values; use -1, 0 and 1."
        )
    names = getattr(model, "feature_names_in_", [f"x{column}" for column in range(X.shape[1])])
    items = Items(np.vstack([X, np.zeros(X.shape[1])]), tuple(names))
    rows = np.arange(len(X))
    return Comparisons(items, rows, np.full(len(X), len(X)), outcome)


FEW_ITEMS = 50


def estimate(
    data: Comparisons,
    settings: Settings,
    rng: np.random.Generator,
    has_items: bool = True,
    item_groups: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> Estimate:
    """Fit ``data`` as ``settings`` say.

    ``rng`` deals the folds where the ridge is chosen, ``item_groups`` together, and draws item
    effects.

    ``start`` has coefficients near those to be found, if some are known.
    """
    if settings.item_effects and not has_items:
        raise PairscoreError(
            "item_effects=True needs to know who was compared, and a matrix of differences does not"
            " say; fit items and votes instead."
        )
    study = FitData(data, settings.side_effect, has_items, start)
    refuse_too_many_features(study, settings)
    refuse_extremes(data)
    kind, notes = choose_inference(study, settings)
    ridge = chosen_ridge(study, settings, rng, item_groups) if settings.choose_l2 else None
    settings = replace(settings, inference=kind, l2=settings.l2 if ridge is None else ridge.chosen)
    result = fitted(study, settings, rng)
    notes += (
        result.notes
        + _open_features(study, result.basis.undetermined[: study.X.shape[1]])
        + _open_side(study, result)
    )
    return replace(result, notes=notes, inference=kind, ridge=ridge)


def fitted(study: FitData, settings: Settings, rng: np.random.Generator) -> Estimate:
    """The fit of the method, of single comparisons where they cannot be summed, with item effects
    where they are asked for.
    """
    if settings.method != "mle":
        return fit_closed_form(study, settings)
    if settings.by_comparison:
        return (
            fit_single_comparisons_with_effects(study, settings, rng)
            if settings.item_effects
            else fit_single_comparisons(study, settings)
        )
    plain = fit_likelihood(study, settings)
    return with_item_effects(study, settings, plain, rng) if settings.item_effects else plain


def chosen_ridge(
    study: FitData, settings: Settings, rng: np.random.Generator, item_groups: np.ndarray | None
) -> RidgeCurve:
    """The ridge that does best on held-out items; it means the same to every method."""
    rows = np.flatnonzero(study.tally.exposures) if study.has_items else np.arange(len(study.X) - 1)
    group = (
        np.arange(len(rows))
        if item_groups is None
        else np.unique(item_groups[rows], return_inverse=True)[1]
    )

    def deal() -> np.ndarray:
        # the origin of plain differences is in every fold
        fold, sizes = np.full(len(study.X), EVERY_FOLD), np.bincount(group)
        fold[rows] = assign_folds(sizes, rng.permutation(len(sizes)), N_FOLDS)[group]
        return fold

    return choose_ridge(
        study.X,
        study.item_moments.mean,
        study.item_moments.sd,
        study.pairs,
        settings.link,
        deal,
        study.weight_unit,
    )


def refuse_extremes(data: Comparisons) -> None:
    """Weights and context whose squares are beyond what a computer holds.

    Features are looked at where they are read.
    """
    if data.weight is not None:
        low, high = (
            float(np.min(data.weight, where=data.weight > 0, initial=np.inf)),
            float(np.max(data.weight)),
        )
        if not (high < LARGEST_NUMBER and low > 1 / LARGEST_NUMBER):
            raise PairscoreError(
                f"weights go from {low:.3g} to {high:.3g}, beyond what can be computed with; divide"
                " them by their mean."
            )
    large = [
        name for name, column in data.context.items() if not np.all(np.abs(column) < LARGEST_NUMBER)
    ]
    if large:
        raise PairscoreError(
            f"values beyond {LARGEST_NUMBER:g} cannot be computed with:"
            f" {first_few(map(repr, large))}; divide the column by a constant."
        )


def refuse_too_many_features(study: FitData, settings: Settings) -> None:
    """Without a ridge, features must not outnumber items or comparisons."""
    data, d = study.comparisons, study.X.shape[1]
    used = study.amount > 0
    m = float(used.sum() if data.count is None else data.count[used].sum())
    if not np.isfinite(study.tally.n_comparisons):
        raise PairscoreError(
            "the weights are so large that their sum overflows; divide them by a constant."
        )
    if study.tally.exposures.sum() == 0:
        raise PairscoreError(
            "no comparison is between two different items with a positive weight; nothing can be"
            " learnt from these votes."
        )
    if settings.l2 == 0 and (d > study.n_items or d > m):
        few = (
            plural(study.n_items, "compared item")
            if study.has_items and d > study.n_items
            else plural(int(m), "comparison")
        )
        raise PairscoreError(
            f"there are {d} features but only {few}, so many scores fit equally well; set a ridge"
            " such as l2=1.0, or use fewer features."
        )


def choose_inference(study: FitData, settings: Settings) -> tuple[str | None, list[Note]]:
    """Item-robust intervals need items, and more of them than parameters."""
    if settings.inference not in ("items", "items+judges") or not study.has_items:
        return ("model" if settings.inference else None), []
    n, parameters = study.n_items, study.X.shape[1] + settings.side_effect
    if n <= parameters + 1:
        text = (
            f"{plural(n, 'item')} with {plural(parameters, 'parameter')} leave nothing to see how"
            " items differ from their features; the intervals are the classical ones"
            " (inference='model')."
        )
        return "model", [(FewItemsWarning, text)]
    if n < FEW_ITEMS:
        text = (
            f"with {plural(n, 'item')} item-robust intervals are rough; below about {FEW_ITEMS}"
            " items read them with care."
        )
        return settings.inference, [(FewItemsWarning, text)]
    return settings.inference, []


def _open_features(study: FitData, undetermined: np.ndarray) -> list[Note]:
    if not undetermined.any():
        return []
    names = [
        study.comparisons.items.feature_names[column] for column in np.flatnonzero(undetermined)
    ]
    text = (
        f"{plural(len(names), 'feature')} {'is' if len(names) == 1 else 'are'} constant or a"
        f" combination of others among the compared items: {first_few(map(repr, names), 10)}; the"
        " solution of smallest norm is taken and their intervals are unknown."
    )
    return [(CollinearFeaturesWarning, text)]


def _open_side(study: FitData, result: Estimate) -> list[Note]:
    if result.side_basis is None or not result.side_basis.undetermined[-1]:
        return []
    names = [
        study.comparisons.items.feature_names[column]
        for column in np.flatnonzero(result.side_basis.undetermined[:-1])
    ]
    amount = (
        "the same amount of"
        f" {'' if len(names) == 1 else 'a combination of '}{first_few(map(repr, names), 10)}"
    )
    text = (
        "the side effect is not determined, because in every comparison left is ahead of right by"
        f" {amount}; one of many equal fits is taken and the intervals are unknown: swap some"
        " sides, or fit without side_effect."
    )
    return [(CollinearFeaturesWarning, text)]
