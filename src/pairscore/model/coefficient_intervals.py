"""Intervals of coefficients and of effects, as they are shown."""

import numpy as np

from pairscore.core.significance import normal_width
from pairscore.display import shown
from pairscore.errors import PairscoreError
from pairscore.model.categories import shown_coefficients
from pairscore.model.fit import Fit

INTERVALS = ("wald", "profile")


def effect_intervals(fit: Fit, level: float = 0.95) -> dict[str, tuple[float, float]]:
    """Low and high end of every effect of comparisons, by name."""
    effects = fit.all_effects
    d = fit.n_features
    rows = np.eye(d + len(effects.names))[d:]
    low, high = fit.interval_ends(rows, effects.values, effects.std_errors, fit.width(level))
    return dict(zip(effects.names, zip(low.tolist(), high.tolist(), strict=True), strict=True))


def shown_coef_and_errors(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and standard errors (d) as the summary shows them."""
    errors = fit.errors()
    coefficients = shown_coefficients(fit)
    shown_errors = coefficients.std_errors
    return coefficients.coef, errors if shown_errors is None else shown_errors


def coefficient_intervals(fit: Fit, level: float, method: str) -> np.ndarray:
    """Low and high end for each coefficient, or for each ability, by Wald or by profile."""
    width = fit.width(level)
    if method not in INTERVALS:
        raise PairscoreError(f"method is {shown(method)}; use 'wald' or 'profile'.")
    if method == "profile":
        from pairscore.effects.profile_likelihood import profile_intervals

        return profile_intervals(fit, normal_width(level))
    coef, errors = shown_coef_and_errors(fit)
    if not fit.n_features and fit.item_effects is not None:
        from pairscore.effects.open_abilities import ability_ends  # with effects alone

        return np.column_stack(ability_ends(fit, width))
    rows = shown_coefficients(fit).rows
    contrasts = np.eye(fit.n_features) if rows is None else rows
    return np.column_stack(fit.interval_ends(contrasts, coef, errors, width))
