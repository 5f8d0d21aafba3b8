"""The ridge as a penalty: what l2 means on a scatter, and beside a likelihood."""

import numpy as np

from pairscore.estimators.settings import Settings

# a normal prior with standard deviation 2.5 on standardised coefficients
SEPARATION_L2 = 1 / 2.5**2
# per unit of weight; a prior this wide (standard deviation 100) holds no coefficient back when data
# are separated
WEAK_L2 = 1e-4
NO_SMOOTH_PART = 1e8  # a weight of its ridge that leaves nothing of a smooth part


def ridge_penalty(l2: float | np.ndarray, sd: np.ndarray, slope_at_zero: float) -> np.ndarray:
    """What to add to the diagonal of a scatter so that l2 means the same as in the likelihood.

    At beta = 0 the log-loss has gradient -2 f'(0) X'w and Hessian 4 f'(0)^2 X'LX. Its Newton step
    with the ridge l2 |sd beta|^2 / 2, ``sd`` (d) the standard deviations of the features, is the
    closed form 2 G^-1 X'w with l2 sd^2 / (4 f'(0)^2) added to the scatter G.
    """
    return l2 * sd**2 / (4 * slope_at_zero**2)


def ridge_units(settings: Settings, sd: np.ndarray) -> np.ndarray:
    """What the ridge takes for the standard deviations of the features, sd sqrt(w) (d).

    A feature of weight w, such as one of the smooth part, is held back as by w times the ridge.
    """
    return sd * np.sqrt(settings.ridge_weights) if settings.ridge_weights else sd


def ridge_size(settings: Settings, n_features: int) -> float:
    """How many features there are, each as 1 / w of one that has the weight w."""
    weights = settings.ridge_weights
    return float(np.sum(1 / np.array(weights))) if weights else float(n_features)


def ridge_is_weak(l2: float, weight_unit: float) -> bool:
    """Whether the ridge is none, or too weak to hold coefficients back if data are separated."""
    return l2 <= WEAK_L2 * weight_unit
