"""Directions in which no two items that met differ: the null space of the comparisons."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from pairscore.core.amounts import meetings, some_amounts
from pairscore.core.pair_graph import difference_scatter
from pairscore.core.row_blocks import centred_blocks
from pairscore.estimators.fit_data import FitData, FitSums
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData, memory_of
from pairscore.estimators.tile import Block

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

    A few comparisons nearly always show that there are none; else all are looked at.
    """
    d, has_ridge = len(data.feature_names), settings.ridge > 0
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
    return settings.ridge > 0 or settings.method in ("pooled", "split")


def never_differing_in_sums(data: FitSums, settings: Settings) -> np.ndarray:
    """The same as :func:`never_differing` by the scatter of differences, without comparisons.

    A feature of whole sites, for one. Combinations are looked for beside a ridge too: how many
    differences are independent, sums do not say.
    """
    d = len(data.feature_names)
    if not gives_numbers(settings):
        return np.empty((d, 0))
    scatter = data.counts.scatter[:d, :d] / data.tally.n_comparisons
    varied = np.eye(d)[:, data.item_moments.sd > 0]
    return null_directions(
        varied, data.item_moments.covariance, lambda along: along.T @ scatter @ along
    )


def open_in_few(data: TableData, features: np.ndarray) -> np.ndarray:
    """Directions of some features (r x k) in which a few comparisons do not differ clearly.

    Most data show in these that there are none, in less than a hundredth of the time that two
    million comparisons take; else all have to be looked at.
    """
    votes = data.comparisons
    few = np.arange(0, len(votes), max(len(votes) // (2 * len(features) + 100), 1))
    few = few[meetings(votes.left[few], votes.right[few], some_amounts(data.amount, few))]
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


@dataclass(frozen=True)
class PlacesTask:
    """The scatter (k x k) of differences of places along some directions (d x k).

    Of places, and not of features: along a direction in which items vary little, that of features
    has lost its digits.
    """

    directions: np.ndarray

    def __call__(self, block: Block) -> np.ndarray:
        k = self.directions.shape[1]
        total = np.zeros((k, k))
        for _, tile in block.tiles(owned=True):
            places = np.empty((len(tile.X), k))
            for rows, centred in centred_blocks(tile.X, tile.mean):
                places[rows] = centred @ self.directions
            total += difference_scatter(places, np.zeros(k), tile.pairs, tile.pairs.number)
        return total


def without_difference(directions: np.ndarray, data: FitData) -> np.ndarray:
    """Those of some directions (d x k) in which items differ, but no two that met."""
    number = 0.5 * float(data.tally.exposures.sum())

    def squares(along: np.ndarray) -> np.ndarray:
        total: np.ndarray = data.sum_pairs(PlacesTask(along), "Pairs")
        return total / number

    return null_directions(directions, data.item_moments.covariance, squares)


def null_directions(
    directions: np.ndarray,
    covariance: np.ndarray,
    squares: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Those of some directions (d x k) in which no two items that met differ.

    ``squares`` gives the mean squares and products of differences (k x k) along directions (d x k);
    they are about twice the ``covariance`` of items (d x d) along these where pairs are random.
    Single features are looked at one by one; combinations of the others together, in coordinates
    in which these items have the identity as covariance.
    """
    single = (np.abs(directions) > 0).sum(axis=0) == 1
    if single.any():
        alone = directions[:, single]
        variance = np.einsum("ik,ij,jk->k", alone, covariance, alone)
        sd = np.sqrt(np.where(variance > 0, variance, 1.0))
        never = np.diag(squares(alone)) <= NO_DIFFERENCE * sd**2
        kept = alone[:, never]
        others = np.hstack([(alone / sd)[:, ~never], directions[:, ~single]])
    else:
        kept = directions[:, single]
        others = directions
    if not others.size:
        return kept
    values, axes = np.linalg.eigh(others.T @ covariance @ others)
    varied = values > SMALLEST_VARIANCE
    if not varied.any():  # features that repeat each other
        return kept
    W = others @ (axes[:, varied] / np.sqrt(values[varied]))
    sizes, turns = np.linalg.eigh(squares(W))
    return np.hstack([kept, W @ turns[:, sizes <= NO_DIFFERENCE]])
