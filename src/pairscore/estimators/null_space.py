"""Directions in which no two items that met differ: the null space of the comparisons."""

from contextlib import suppress

import numpy as np

from pairscore.core.moments import centred_blocks, moments
from pairscore.core.pair_graph import count_pairs, difference_scatter
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.settings import Settings

SMALLEST_IN_FEW = 1e-6  # eigenvalue, relative to the largest, that a few comparisons show clearly
SMALLEST_VARIANCE = 1e-8  # of compared items along a direction of length one, to differ in it
NO_DIFFERENCE = 1e-12  # mean square of differences, over the variance of the items: rounding errors


def never_differing(data: FitData, settings: Settings) -> np.ndarray:
    """Directions v (d x k), which a fit gives a number, with v'x equal in any two items that met.

    Likelihood and `paired` leave them open unless a ridge puts them at zero; `pooled` and `split`,
    which take the pairs for random ones, go by their correlation with other features. Single
    features come first, then combinations of the others that do differ among compared items. With
    more features than independent differences some combination never differs by mere count, and
    a ridge is there to choose: then combinations are not looked for beside it.
    """
    d, has_ridge = data.X.shape[1], settings.l2 > 0
    if not data.has_items or not (has_ridge or settings.method in ("pooled", "split")):
        return np.empty((d, 0))
    alone = data.comparisons.never_differs
    rest = np.flatnonzero(~alone)
    few, of_few = np.eye(d)[:, alone], open_in_few(data, rest)
    if of_few.size and not np.all(varied := data.item_moments.sd[rest] > 0):
        rest = rest[varied]
        of_few = open_in_few(data, rest)
    if not of_few.size or (has_ridge and len(rest) > data.n_independent):
        return few
    combined = np.zeros((d, of_few.shape[1]))
    combined[rest] = of_few
    return np.hstack([few, combined @ _open_in_all(data, combined)])


def open_in_few(data: FitData, features: np.ndarray) -> np.ndarray:
    """Directions of some features (r x k) in which a few comparisons do not differ clearly.

    Most data show in these that there are none; else all comparisons have to be looked at.
    """
    votes = data.comparisons
    few = np.arange(0, len(votes), max(len(votes) // (2 * len(features) + 100), 1))
    few = few[(data.amount[few] > 0) & (votes.left[few] != votes.right[few])]
    differences = data.X[votes.left[few]] - data.X[votes.right[few]]
    if len(features) < differences.shape[1]:
        differences = differences[:, features]
    squares = differences.T @ differences
    size = np.sqrt(np.diag(squares))
    if np.all(size > 0):
        with suppress(np.linalg.LinAlgError):  # it has a root if no eigenvalue is small
            smallest = SMALLEST_IN_FEW * len(size) * np.eye(len(size))
            np.linalg.cholesky(squares / np.outer(size, size) - smallest)
            return np.empty((len(size), 0))
    sd = data.item_moments.sd[features]
    unit = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(squares / np.outer(unit, unit))
    is_open = values <= SMALLEST_IN_FEW * values.max(initial=0.0)
    return vectors[:, is_open] / unit[:, None]


def _open_in_all(data: FitData, directions: np.ndarray) -> np.ndarray:
    """Which combinations (k x j) of ``directions`` (d x k) differ in items, but in no comparison.

    In coordinates in which the items have the identity as covariance the mean square of
    differences, about 2 of random pairs, is at most NO_DIFFERENCE.
    """
    places = np.empty((len(data.X), directions.shape[1]))
    for rows, centred in centred_blocks(data.X, data.item_moments.mean):
        places[rows] = centred @ directions
    center = moments(places, data.tally.exposures)
    variances, axes = np.linalg.eigh(center.covariance)
    varied = variances > SMALLEST_VARIANCE
    W = axes[:, varied] / np.sqrt(variances[varied])
    if not varied.any():  # features that repeat each other
        return W
    pairs = count_pairs(data.comparisons.left, data.comparisons.right, data.amount, len(data.X))
    scatter = difference_scatter(places @ W, center.mean @ W, pairs, pairs.number)
    squares, turns = np.linalg.eigh(scatter / pairs.number.sum())
    return W @ turns[:, squares <= NO_DIFFERENCE]
