"""From a fit of features alone to one with item effects."""

from dataclasses import replace

import numpy as np

from pairscore.errors import FewItemsWarning
from pairscore.item_effects import item_effects
from pairscore.item_variance import FEWEST_ITEMS, ItemVariance, item_variance
from pairscore.known_items import ItemEffects, feature_keys
from pairscore.likelihood import predictor
from pairscore.settings import Settings
from pairscore.shared_items import Seen
from pairscore.study import Estimate, Note, Study


def with_item_effects(study: Study, settings: Settings, plain: Estimate, rng: np.random.Generator) -> Estimate:
    """The same fit with sigma^2 estimated, coefficients and side effect on the scale of one comparison of two given items, and their effects."""
    d, unit, pairs = len(plain.coef), study.weight_unit, study.pairs
    if unit != 1.0:  # the variance of effects is seen in comparisons, whatever unit their weights have
        pairs = replace(pairs, win=pairs.win / unit, lose=pairs.lose / unit)
    seen = Seen.of_pairs(pairs, settings.link, predictor(study.X, pairs, plain.coef, plain.side_effect or 0.0))
    found = item_variance(seen, np.sqrt(unit) * (study.X - plain.center.mean) @ plain.basis.transform[:d], rng)
    coef, side_effect = found.kappa * plain.coef, None if plain.side_effect is None else found.kappa * plain.side_effect
    covariance = None
    if plain.covariance is not None:
        length = np.append(coef, [side_effect] if len(plain.covariance) > d else [])
        covariance = found.kappa**2 * plain.covariance + found.length_variance * np.outer(length, length)
    longer = replace(plain, coef=coef, side_effect=side_effect, covariance=covariance)
    kept = kept_effects(study, longer, replace(seen, eta=found.kappa * seen.eta), found)
    scores = study.X @ coef + kept.effect
    difference = scores[study.data.left] - scores[study.data.right] + (side_effect or 0.0)
    return replace(longer, difference=difference, item_effects=kept, notes=plain.notes + few_items_note(kept))


def kept_effects(study: Study, fit: Estimate, seen: Seen, found: ItemVariance) -> ItemEffects:
    """What a model keeps of its items; ``fit`` and ``seen`` are on the scale of given items."""
    d = len(fit.coef)
    errors = np.zeros((d, 0)) if fit.covariance is None else root(fit.covariance[:d, :d], fit.covariance[:d, :d])
    effects = item_effects(seen, found.sigma2, study.X - fit.center.mean, errors)
    return ItemEffects(
        ids=study.data.items.ids,
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
    return [] if kept.n_shared >= FEWEST_ITEMS else [(FewItemsWarning, f"item effects are {kept.in_words}.")]


def root(matrix: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """R with R R' the matrix, but for what is negative in it; in units in which the covariance has ones, because features may differ in scale."""
    unit = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    return unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))


def _explained(study: Study, coef: np.ndarray, errors: np.ndarray, sigma2: float) -> float:
    """Share of the variance of compared items' scores that features explain, less what the error of the coefficients adds."""
    compared = study.X[study.tally.exposures > 0]
    covariance = np.cov(compared.T, ddof=0).reshape(len(coef), len(coef))
    of_features = max(float(coef @ covariance @ coef - np.sum(errors * (covariance @ errors))), 0.0)
    total = of_features + sigma2
    return of_features / total if total > 0 else 0.0
