"""Errors of a likelihood: what pairs add to its information, and the covariance that follows."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pairscore.core.links import Link, Logit
from pairscore.core.pair_graph import sum_sides
from pairscore.core.sandwich import PairContributions, less_ties, sandwich
from pairscore.core.sums import Sums
from pairscore.core.whitening import Basis
from pairscore.estimators.fit_data import FitData, FitSums, parameter_units, size_of_information
from pairscore.estimators.leverage import item_basis, jackknife_of_items
from pairscore.estimators.null_space import open_in_few
from pairscore.estimators.pair_sums import sum_equations
from pairscore.estimators.separation import (
    basis_within,
)
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import memory_of
from pairscore.estimators.tile import Tile


@dataclass(frozen=True)
class LikelihoodSums(Sums):
    """Sums over pairs, all bordered by the side effect's row (d + side).

    Expected and observed information, and what ties take off the former.
    """

    expected: np.ndarray
    observed: np.ndarray
    tied: np.ndarray


@dataclass(frozen=True)
class LikelihoodEquations:
    """Those of maximum likelihood at ``scores`` (N) and a side effect."""

    link: Link
    scores: np.ndarray
    side_effect: float

    @classmethod
    def of_theta(cls, data: FitData, theta: np.ndarray, link: Link) -> "LikelihoodEquations":
        """At coefficients and side effect."""
        d = len(data.feature_names)
        return cls(link, data.table.times(theta[:d]), float(theta[d:].sum()))

    def at(self, tile: Tile) -> "LikelihoodTerms":
        return LikelihoodTerms(self.link, tile, tile.take(self.scores), self.side_effect)


@dataclass(frozen=True)
class LikelihoodTerms:
    """What the pairs of a tile add to these equations; ``scores`` are those of its items."""

    link: Link
    tile: Tile
    scores: np.ndarray
    side_effect: float

    @cached_property
    def predictor(self) -> np.ndarray:
        """Difference of scores of every side and pair."""
        pairs = self.tile.pairs
        return pairs.differences(self.scores) + self.side_effect * pairs.side[:, None]

    @cached_property
    def score_and_information(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the log-likelihood, for every side and pair; the information is the expected one."""
        return self.link.score(self.predictor, self.tile.pairs.win, self.tile.pairs.lose)

    @property
    def contributions(self) -> PairContributions:
        """u_p = score_p (x_low - x_high), and score_p times the side."""
        pairs, score = self.tile.pairs, self.score_and_information[0]
        total = sum_sides(score)
        extra = np.empty((len(total), 0))
        if len(pairs.side) > 1:
            extra = (pairs.side @ score)[:, None]
        return PairContributions(total, -total, extra)

    @cached_property
    def _of_sides(self) -> dict[str, np.ndarray]:
        """Weights of each pair on each side: the observed one and that of ties if they differ."""
        pairs = self.tile.pairs
        weights = {"expected": self.score_and_information[1]}
        if not isinstance(self.link, Logit):
            observed = self.link.observed_information(self.predictor, pairs.win, pairs.lose)
            weights["observed"] = observed
        if self.tile.tied is not None:
            weights["tied"] = self.link.taken_by_ties(self.predictor, self.tile.tied)
        return weights

    @property
    def weights(self) -> dict[str, np.ndarray]:
        return {name: sum_sides(weight) for name, weight in self._of_sides.items()}

    def sums(self, scatters: dict[str, np.ndarray]) -> LikelihoodSums:
        bordered = {
            name: self.tile.with_side(scatters[name], weight)
            for name, weight in self._of_sides.items()
        }
        expected = bordered["expected"]
        return LikelihoodSums(
            expected=expected,
            observed=bordered.get("observed", expected),
            tied=bordered.get("tied", np.zeros_like(expected)),
        )


@dataclass(frozen=True)
class Curvature:
    """The curvature of a likelihood at its maximum, and what it says of the parameters.

    ``information`` is the Hessian with the ridge, None where nobody asks; ``basis`` whitens it, and
    ``covariance`` is that of coefficients and side effect, None where no intervals are wanted.
    """

    basis: Basis
    information: np.ndarray | None
    covariance: np.ndarray | None


def curvature(
    data: FitData,
    settings: Settings,
    theta: np.ndarray,
    ridge: np.ndarray,
    directions: np.ndarray | None = None,
) -> Curvature:
    """The Hessian at the maximum ``theta`` (d + side) says what is determined, and how well.

    In all directions, or in those over which the likelihood was maximised; the ``ridge`` (d + side)
    is what held it there.
    """
    is_asked = settings.inference is not None or data.keep_sides or directions is not None
    if not is_asked and np.all(data.item_moments.sd > 0):
        every = np.arange(len(data.feature_names))
        if not open_in_few(memory_of(data), every).size:  # all are determined
            return Curvature(item_basis(data, settings), None, None)
    equations = LikelihoodEquations.of_theta(data, theta, settings.link)
    inflation = jackknife_of_items(data, settings) if settings.inference == "items" else None
    sums, robust = sum_equations(data, equations, len(theta), inflation)
    return curvature_of_sums(data, settings, sums, robust, ridge, directions)


def curvature_of_sums(
    data: FitSums,
    settings: Settings,
    sums: LikelihoodSums,
    robust: np.ndarray | None,
    ridge: np.ndarray,
    directions: np.ndarray | None = None,
) -> Curvature:
    """From the sums of its equations, with their item-robust meat if it was asked for."""
    held = np.diag(ridge)
    size = size_of_information(data.tally.n_comparisons, settings.link)
    basis = basis_within(sums.expected + held, parameter_units(data), directions, size)
    covariance = None
    if settings.inference == "model":
        covariance = sandwich(basis.inverse, sums.expected, None, data.weight_unit)
        if data.n_tied > 0:
            tied = data.weight_unit * (basis.inverse @ sums.tied @ basis.inverse.T)
            covariance = less_ties(covariance, tied)
    elif settings.inference is not None:
        bread = basis
        if not isinstance(settings.link, Logit):
            bread = observed_basis(sums.observed + held, basis, directions)
        covariance = sandwich(bread.inverse, sums.expected, robust, data.weight_unit)
    return Curvature(basis, sums.expected + held, covariance)


def observed_basis(observed: np.ndarray, expected: Basis, directions: np.ndarray | None) -> Basis:
    """Whiten the observed information, the bread of the sandwich; ``expected`` is the other one's.

    Under logit both are the same. A link that is not log-concave may leave the observed one
    indefinite; then it is the expected one, too.
    """
    W = expected.transform
    if not np.all(np.linalg.eigvalsh(W.T @ observed @ W) > 0):
        return expected
    return basis_within(observed, expected.unit, directions)


def carry_over(rest: Curvature, held: Curvature) -> Curvature:
    """Of parameters theta1 + V g: theta1 at the maximum of the rest, then g given theta1.

    If theta1 moves by D, g follows by -(V'HV)^-1 V'H D, H the information of what is held: theta
    moves by Q D, Q = I - V (V'HV)^-1 V'H. Of the directions V the rest sees nothing, so Q takes
    nothing from D that it knows.
    """
    assert held.information is not None
    V = held.basis.transform  # whitened: V'HV = I
    Q = np.eye(len(V)) - V @ (V.T @ held.information)
    basis = replace(held.basis, transform=np.hstack([Q @ rest.basis.transform, V]))
    covariance = None
    if rest.covariance is not None and held.covariance is not None:
        covariance = Q @ rest.covariance @ Q.T + held.covariance
    information = None
    if rest.information is not None:
        information = rest.information + held.information
    return Curvature(basis, information, covariance)
