"""Directions in which no two items that met differ: the null space of the comparisons."""

from contextlib import suppress

import numpy as np

from pairscore.estimators.fit_data import DataOfFit, FitData, SumsOfFit
from pairscore.estimators.settings import Settings

SMALLEST_IN_FEW = 1e-6  # eigenvalue, relative to the largest, that a few comparisons show clearly
SMALLEST_VARIANCE = 1e-8  # of compared items along a direction of length one, to differ in it
NO_DIFFERENCE = 1e-12  # mean square of differences, over the variance of the items: rounding errors


def never_differing(data: DataOfFit, settings: Settings) -> np.ndarray:
    """Directions v (d x k), which a fit gives a number, with v'x equal in any two items that met.

    Likelihood and `paired` leave them open unless a ridge puts them at zero; `pooled` and `split`,
    which take the pairs for random ones, go by their correlation with other features. Single
    features come first, then combinations of the others that do differ among compared items. With
    more features than independent differences some combination never differs by mere count, and
    a ridge is there to choose: then combinations are not looked for beside it.

    A few comparisons nearly always show that there are none; else all are looked at.
    """
    d, has_ridge = len(data.feature_names), settings.l2 > 0
    if not data.has_items or not gives_numbers(settings):
        return np.empty((d, 0))
    some = memory_of(data)
    alone = some.comparisons.never_differs
    single = np.eye(d)[:, alone]
    rest = np.flatnonzero(~alone)
    of_few = open_in_few(some, rest)
    varied = data.item_moments.sd[rest] > 0
    if of_few.size and not np.all(varied):
        rest = rest[varied]
        of_few = open_in_few(some, rest)
    if not of_few.size or (has_ridge and len(rest) > some.n_independent):
        return single if data.sample is None else without_difference(single, data)
    combined = np.zeros((d, of_few.shape[1]))
    combined[rest] = of_few
    return without_difference(np.hstack([single, combined]), data)


def gives_numbers(settings: Settings) -> bool:
    """Whether a fit gives directions a number in which no two items that met differ."""
    return settings.l2 > 0 or settings.method in ("pooled", "split")


def never_differing_in_sums(data: SumsOfFit, settings: Settings) -> np.ndarray:
    """The same as :func:`never_differing` by the scatter of differences, without comparisons.

    A feature of whole sites, for one. Combinations are looked for beside a ridge too: how many
    differences are independent, sums do not say.
    """
    d, sd = len(data.feature_names), data.item_moments.sd
    if not gives_numbers(settings):
        return np.empty((d, 0))
    single = without_difference(np.eye(d)[:, sd > 0], data)
    rest = np.flatnonzero((sd > 0) & ~single.any(axis=1))
    of_rest = small_axes(data.counts.scatter[np.ix_(rest, rest)], sd[rest])
    combined = np.zeros((d, of_rest.shape[1]))
    combined[rest] = of_rest
    return np.hstack([single, without_difference(combined, data)])


def memory_of(data: DataOfFit) -> FitData:
    """The comparisons that are in memory: a sample, or all of them."""
    if data.sample is not None:
        return data.sample
    assert isinstance(data, FitData)
    return data


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
    return small_axes(squares, data.item_moments.sd[features])


def small_axes(squares: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Directions (r x k) in which squares of differences (r x r) are small.

    ``sd`` (r) are standard deviations of the features, in units of which these are.
    """
    unit = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(squares / np.outer(unit, unit))
    is_open = values <= SMALLEST_IN_FEW * values.max(initial=0.0)
    return vectors[:, is_open] / unit[:, None]


def without_difference(directions: np.ndarray, data: SumsOfFit) -> np.ndarray:
    """Those of some directions (d x k) in which items differ, but no two that met."""
    if not directions.size:
        return directions
    d = len(directions)
    scatter = data.counts.scatter[:d, :d] / data.tally.n_comparisons
    return null_directions(directions, scatter, data.item_moments.covariance)


def null_directions(
    directions: np.ndarray, scatter: np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """Those of some directions (d x k) in which differences have no ``scatter`` (d x d).

    It is the mean square of differences, and about twice the ``covariance`` of items (d x d) where
    pairs are random. Single features are looked at one by one; combinations of the others together,
    in coordinates in which these items have the identity as covariance.
    """
    variance = np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0)
    alone = np.diag(scatter) <= NO_DIFFERENCE * variance
    single = (np.abs(directions) > 0).sum(axis=0) == 1
    kept = directions[:, single][:, alone[np.argmax(np.abs(directions[:, single]), axis=0)]]
    combined = directions[:, ~single]
    if not combined.size:
        return kept
    values, axes = np.linalg.eigh(combined.T @ covariance @ combined)
    varied = values > SMALLEST_VARIANCE
    W = combined @ (axes[:, varied] / np.sqrt(values[varied]))
    squares, turns = np.linalg.eigh(W.T @ scatter @ W)
    return np.hstack([kept, W @ turns[:, squares <= NO_DIFFERENCE]])
