"""Curves of a fit: the score as a function of one column, everything else equal.

At a value v the curve is c(v)'beta, where c(v) has what the column, its square, its bends and its
products are at v, less the average of each over the compared items; of a product, the other column
is at its average. So the curve is 0 on average, as scores are, and its error is sqrt(c(v)'V c(v)).
"""

from dataclasses import dataclass

import numpy as np

from pairscore.data.curves import bends
from pairscore.data.recipe import recipe_of
from pairscore.display import did_you_mean, first_few
from pairscore.errors import PairscoreError
from pairscore.model.fit import Fit
from pairscore.model.open_directions import is_open
from pairscore.model.predict import contrast_errors

POINTS = 101  # of a drawn curve


@dataclass(frozen=True)
class ScoreCurve:
    """What one column adds to the score at some values (n), with pointwise intervals (n).

    ``low`` and ``high`` are NaN without a covariance, and infinite where intervals are open.
    ``knots`` are those of the curve, none of a straight line.
    """

    name: str
    values: np.ndarray
    score: np.ndarray
    low: np.ndarray
    high: np.ndarray
    knots: tuple[float, ...] = ()


def bend_columns(fit: Fit) -> dict[str, list[int]]:
    """The bends of each curve, as numbers of features, by the name of their joint test."""
    if fit.recipe is None or not fit.recipe.get("curves"):
        return {}
    names = recipe_of(fit).bend_names
    return {f"{name} bends": [fit.names.index(b) for b in of] for name, of in names.items()}


def score_curve(
    fit: Fit, name: str, level: float = 0.95, at: np.ndarray | None = None
) -> ScoreCurve:
    """The curve of a numeric column at values ``at`` (n); between the ends of the items unless
    given.
    """
    recipe = recipe_of(fit)
    if name not in recipe.features:
        known = first_few(map(repr, recipe.features), 8) or "none"
        raise PairscoreError(
            f"{name!r} is not a numeric column of the model; it has {known}"
            f".{did_you_mean(name, recipe.features)}"
        )
    column = recipe.blocks[name].start
    if at is None:
        at = np.linspace(fit.features.min[column], fit.features.max[column], POINTS)
    rows = _rows(fit, name, at)
    score = rows @ fit.coef
    errors = np.full(len(at), np.nan)
    if fit.covariance is not None:
        errors = contrast_errors(rows, fit.covariance)
        errors[is_open(fit, rows) | fit.held_by_prior(rows)] = np.nan
    low, high = fit.interval_ends(rows, score, errors, fit.width(level))
    return ScoreCurve(name, at, score, low, high, recipe.curves.get(name, ()))


def _rows(fit: Fit, name: str, at: np.ndarray) -> np.ndarray:
    """The contrasts c(v) of the coefficients (n x d)."""
    recipe, mean = recipe_of(fit), fit.features.mean
    column = recipe.blocks[name].start
    rows = np.zeros((len(at), fit.n_features))
    rows[:, column] = at - mean[column]
    if name in recipe.squares:
        square = fit.names.index(f"{name}^2")
        rows[:, square] = at**2 - mean[square]
    if name in recipe.curves:
        numbers = bend_columns(fit)[f"{name} bends"]
        rows[:, numbers] = bends(at, recipe.curves[name]) - mean[numbers]
    for (first, second), cells in recipe.product_blocks.items():
        if name in (first, second):
            other = second if name == first else first
            rows[:, cells.ravel()] = np.outer(at - mean[column], mean[recipe.blocks[other]])
    return rows
