"""From a fit of features alone to one with item effects."""

from dataclasses import replace

import numpy as np

from pairscore.contest_fit import comparison_scores
from pairscore.errors import FewItemsWarning, PairscoreError
from pairscore.item_effects import item_effects
from pairscore.item_variance import FEWEST_ITEMS, item_variance
from pairscore.known_items import ItemEffects, feature_keys
from pairscore.likelihood import predictor
from pairscore.pairs import Pairs
from pairscore.settings import Settings
from pairscore.shared_items import Seen
from pairscore.study import Effects, Estimate, Study

MOST_ROWS = 20_000_000  # numbers in the tables of single comparisons


def with_item_effects(study: Study, settings: Settings, plain: Estimate, rng: np.random.Generator) -> Estimate:
    """The same fit with sigma^2 estimated, coefficients and side effect on the scale of one comparison of two given items, and their effects."""
    d, unit = len(plain.coef), study.weight_unit
    if settings.by_comparison:
        pairs, fitted = one_by_one(study, plain.difference)
    else:
        pairs, fitted = study.pairs, predictor(study.X, study.pairs, plain.coef, plain.side_effect or 0.0)
    if unit != 1.0:  # the variance of effects is seen in comparisons, whatever unit their weights have
        pairs = replace(pairs, win=pairs.win / unit, lose=pairs.lose / unit)
    seen = Seen(pairs, settings.link, fitted)
    centred = study.X - plain.center.mean
    found = item_variance(seen, np.sqrt(unit) * (centred @ plain.basis.transform[:d]), rng)
    coef, side_effect = found.kappa * plain.coef, None if plain.side_effect is None else found.kappa * plain.side_effect
    covariance = None
    if plain.covariance is not None:
        length = np.append(coef, [side_effect] if len(plain.covariance) > d else [])
        covariance = found.kappa**2 * plain.covariance + found.length_variance * np.outer(length, length)
    root = np.zeros((d, 0)) if covariance is None else _root(covariance[:d, :d])
    effects = item_effects(pairs, settings.link, found.kappa * seen.difference, found.sigma2, centred, root)
    explained = _explained(study, coef, root, found.sigma2)
    names = study.data.items.ids
    keys = feature_keys(study.X, plain.center.mean, plain.center.sd)
    kept = ItemEffects(
        names, keys, effects.effect, np.sqrt(effects.variance), effects.share, found.sigma2, (found.low, found.high), explained, found.kappa, found.n_shared
    )
    scores = study.X @ coef + effects.effect
    longer = None if plain.effects is None else stretched(plain.effects, found.kappa, found.length_variance)
    if longer is None:
        difference = scores[study.data.left] - scores[study.data.right] + (side_effect or 0.0)
    else:
        difference = comparison_scores(scores, study.data, longer, None)
    notes = plain.notes + ([] if found.n_shared >= FEWEST_ITEMS else [(FewItemsWarning, f"item effects are {kept.in_words}.")])
    return replace(plain, coef=coef, side_effect=side_effect, covariance=covariance, difference=difference, effects=longer, item_effects=kept, notes=notes)


def one_by_one(study: Study, difference: np.ndarray) -> tuple[Pairs, np.ndarray]:
    """Comparisons that differ in context cannot be summed: the pairs with a row for the first comparison of each, one for the second, ..."""
    data, n = study.data, len(study.X)
    rows = np.flatnonzero((data.left != data.right) & (study.amount > 0))
    low, high = np.minimum(data.left, data.right)[rows].astype(np.int64), np.maximum(data.left, data.right)[rows]
    order = np.argsort(low * n + high, kind="stable")
    rows, key = rows[order], (low * n + high)[order]
    keys, first, place = np.unique(key, return_index=True, return_inverse=True)
    turn = np.arange(len(rows)) - first[place]
    size = (int(turn.max(initial=0)) + 1, len(keys))
    if size[0] * size[1] > MOST_ROWS:
        raise PairscoreError(
            f"item effects with context keep every comparison, and one pair has {size[0]} of them beside {size[1]} pairs: too many; leave the context out."
        )
    sign = np.where(data.left[rows] < data.right[rows], 1.0, -1.0)  # as low sees it
    win, lose, fitted = np.zeros(size), np.zeros(size), np.zeros(size)
    win[turn, place] = study.amount[rows] * (1 + sign * data.outcome[rows]) / 2
    lose[turn, place] = study.amount[rows] - win[turn, place]
    fitted[turn, place] = sign * difference[rows]
    start = np.searchsorted(keys // n, np.arange(n + 1)).astype(np.int32)
    return Pairs(start, (keys % n).astype(np.int32), win, lose, np.zeros(size[0])), fitted


def stretched(effects: Effects, kappa: float, length_variance: float) -> Effects:
    """Context and sides on the scale of one comparison of two given items, as the coefficients are."""
    values = kappa * effects.values
    return replace(effects, values=values, std_errors=np.sqrt((kappa * effects.std_errors) ** 2 + length_variance * values**2))


def _root(covariance: np.ndarray) -> np.ndarray:
    """R with R R' the covariance; in units in which its diagonal is one, because features may differ in scale."""
    unit = np.sqrt(np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0))
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    return unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))


def _explained(study: Study, coef: np.ndarray, root: np.ndarray, sigma2: float) -> float:
    """Share of the variance of compared items' scores that features explain, less what the error of the coefficients adds."""
    compared = study.X[study.tally.exposures > 0]
    covariance = np.cov(compared.T, ddof=0).reshape(len(coef), len(coef))
    of_features = max(float(coef @ covariance @ coef - np.sum(root * (covariance @ root))), 0.0)
    total = of_features + sigma2
    return of_features / total if total > 0 else 0.0
