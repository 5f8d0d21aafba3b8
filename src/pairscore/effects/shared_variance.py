"""What a model knows of two items at a time: covariances of their effects, or abilities."""

from weakref import WeakKeyDictionary

import numpy as np

from pairscore.core.pair_graph import Pairs
from pairscore.effects.item_covariance import Covariance, lasting_covariance
from pairscore.effects.item_effects import ItemEffects

_of_models: WeakKeyDictionary[ItemEffects, Covariance] = WeakKeyDictionary()


def _covariance_of_model(effects: ItemEffects) -> Covariance | None:
    """V of the items of a model, kept with it; None for models of earlier versions, which do not
    know it.
    """
    met = effects.pairs
    if met is None:
        return None
    if effects not in _of_models:
        n = len(effects.effect)
        start = np.searchsorted(met.low, np.arange(n + 1)).astype(np.int32)
        zero = np.zeros((1, len(met.high)))
        pairs = Pairs(start, met.high, zero, zero, np.zeros(1))
        _of_models[effects] = lasting_covariance(pairs, met.weight, effects.posterior_sigma2)
    return _of_models[effects]


def shared_variance(effects: ItemEffects, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Covariance of the effects of two items, by their rows in the fit (-1 for a new item).

    Errors of abilities are those of centred ones, and V is not where a ridge holds them: what two
    share is what makes their difference have its variance by V.
    """
    covariance = _covariance_of_model(effects)
    known = (first >= 0) & (second >= 0)
    if covariance is None or not known.any():
        return np.zeros(len(first))
    first, second = np.maximum(first, 0), np.maximum(second, 0)
    entries = covariance.entries(first, second)
    if effects.abilities is not None:
        C = effects.abilities.along_effects
        entries = entries + np.einsum("ij,ij->i", C[first], C[second])
    if effects.free and effects.components is None:
        own = np.zeros(len(first))
        for rows in (first, second):
            along = _along_effects(effects, rows)
            own += effects.std_error[rows] ** 2 - covariance.entries(rows, rows) - along
        entries = entries + own / 2
    return np.where(known, entries, 0.0)


def own_variance(effects: ItemEffects, rows: np.ndarray) -> np.ndarray:
    """Variances of abilities, by their rows in the fit, less the mean of their component."""
    covariance = _covariance_of_model(effects)
    if covariance is None:
        return np.full(len(rows), np.nan)
    return np.maximum(covariance.entries(rows, rows), 0.0) + _along_effects(effects, rows)


def _along_effects(effects: ItemEffects, rows: np.ndarray) -> np.ndarray:
    """What not knowing effects of comparisons adds to the variance of abilities."""
    if effects.abilities is None:
        return np.zeros(len(rows))
    return np.sum(effects.abilities.along_effects[rows] ** 2, axis=1)


def difference_variance(effects: ItemEffects, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Variance of the difference of abilities, where some are open; NaN of two components."""
    assert effects.components is not None
    component = effects.components.of_item
    variance = own_variance(effects, first) + own_variance(effects, second)
    variance = variance - 2 * shared_variance(effects, first, second)
    together = component[first] == component[second]
    return np.where(together, np.maximum(variance, 0.0), np.nan)
