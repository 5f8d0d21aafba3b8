"""Covariances that let comparisons that share an item be dependent.

Two comparisons of the same item are dependent, because features never explain an item fully. An
estimate that solves sum_r u_r = 0, a sum over rows with two items each, has covariance

    J meat J',    meat = sum_i t_i t_i' - sum_p u_p u_p',

J the inverse of the derivative of the equations, t_i the sum of u over the rows of item i, and u_p
the sum over all rows of the unordered pair p. The items count every two rows that share one; rows
of one pair share two items, and are taken off once. This is the dyadic cluster-robust variance
(Fafchamps and Gubert 2007; Cameron and Miller 2014; Aronow, Samii and Assenova 2015).

An item with a column of its own (the 0/1 column of one item) is explained fully: its rows
share nothing that the estimate leaves out, and its t_i is close to zero by the equation of its own
parameter, which says nothing of the error. Its rows count each for itself.

u_r is either given explicitly, a block of rows at a time (:meth:`DyadicSums.of_rows`), or in terms
of the features of the two items, and is then never formed (:class:`DyadicContributions`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairscore.core.incidence import item_incidence, pair_incidence
from pairscore.core.pair_graph import Pairs
from pairscore.core.passes import neighbour_sums
from pairscore.core.row_blocks import row_blocks
from pairscore.core.threads import chunks_of, on_each, row_chunks
from pairscore.core.ties import SMALLEST_SHARE
from pairscore.core.whitening import square_root

SMALLEST_TOLD = 1e-10  # share of the information on a parameter that is more than rounding
SMALLEST_RATIO = 0.5  # of item-robust over classical variance in any direction


@dataclass(frozen=True)
class DyadicSums:
    """Sums t_i of contributions per item (N x e), and the sum of u_p u_p' over pairs (e x e).

    A pair is in that sum as often as its items count it too often (:func:`times_too_often`), by
    their ``inflation`` (N). Sums of blocks of rows add if no pair is in two blocks.
    """

    item_sums: np.ndarray
    pair_meat: np.ndarray

    def __add__(self, other: "DyadicSums") -> "DyadicSums":
        return DyadicSums(self.item_sums + other.item_sums, self.pair_meat + other.pair_meat)

    @classmethod
    def zero(cls, n_items: int, size: int) -> "DyadicSums":
        return cls(np.zeros((n_items, size)), np.zeros((size, size)))

    @classmethod
    def of_rows(
        cls, left: np.ndarray, right: np.ndarray, u: np.ndarray, inflation: np.ndarray
    ) -> "DyadicSums":
        """From explicit contributions ``u`` (R x e) of rows with two items each (R)."""
        again = times_too_often(left, right, inflation)
        per_pair = pair_incidence(left, right)
        of_pairs = taken_off = per_pair @ u
        if np.any(again != 1):
            taken_off = per_pair @ (again[:, None] * u)
        of_items = item_incidence(left, right, len(inflation)) @ u
        return cls(of_items, of_pairs.T @ taken_off)

    def meat(self, inflation: np.ndarray) -> np.ndarray:
        """sum_i c_i^2 t_i t_i' less the pairs' sum, c_i the ``inflation`` of each item (N)."""
        meat = -self.pair_meat
        for rows in row_blocks(len(self.item_sums)):
            t = inflation[rows, None] * self.item_sums[rows]
            meat += t.T @ t
        return meat


@dataclass(frozen=True)
class PairContributions:
    """u_p = (low_p z_low + high_p z_high, extra_p): what each pair adds to estimating equations.

    z = x - mean are the features of an item, ``low`` and ``high`` (P) their factors. ``extra``
    (P x e) holds the equations that are no sums of features: those of the side effect and of a
    closed form's scale.
    """

    low: np.ndarray
    high: np.ndarray
    extra: np.ndarray


@dataclass(frozen=True)
class DyadicContributions:
    """Contributions u_p of pairs in terms of the centred features ``Z`` (N x d) of their items.

    No u_p is formed: the sum over the pairs of an item is a sum over its neighbours, and the sum of
    u_p u_p' one of products of items. The number of comparisons of a pair is one more equation, the
    last of d + e + 1, so that contributions can be taken from their mean (:func:`centred_meat`).
    """

    pairs: Pairs
    Z: np.ndarray
    u: PairContributions

    @cached_property
    def _extra(self) -> np.ndarray:
        """Equations that are no sums of features, with the number of comparisons: P x (e + 1)."""
        return np.column_stack([self.u.extra, self.pairs.number])

    @cached_property
    def _own(self) -> np.ndarray:
        """Per item (N), the sum of its factors: by which its own features come into t_i."""
        return self.pairs.item_sums(self.u.low, self.u.high)

    @cached_property
    def _extra_of_items(self) -> np.ndarray:
        """Per item, the sum of the other equations: N x (e + 1)."""
        return np.column_stack([self.pairs.item_sums(row, row) for row in self._extra.T])

    @cached_property
    def _to_low(self) -> np.ndarray:
        """Factors of the low items, in the order of high ones: P x 1."""
        return self.u.low[self.pairs.by_high.order][:, None]

    def of_items(self, rows: slice) -> np.ndarray:
        """t_i = sum of u_p over the pairs of item i, for a block of items: rows x (d + e + 1)."""
        pairs, Z = self.pairs, self.Z
        to_high = self.u.high[:, None]
        features = self._own[rows, None] * Z[rows]
        features += neighbour_sums(Z, pairs.start, pairs.high, to_high, rows)[:, 0]
        features += neighbour_sums(Z, pairs.by_high.start, pairs.by_high.low, self._to_low, rows)[
            :, 0
        ]
        return np.hstack([features, self._extra_of_items[rows]])

    def add_to_items(self, t: np.ndarray, own: slice) -> None:
        """Add t_i of some items (``own``) to sums of these."""
        _ = self._own, self._extra_of_items, self._to_low  # before threads ask for them

        def one(chunk: slice) -> None:
            for some in row_blocks(chunk.stop, chunk.start):
                here = slice(own.start + some.start, own.start + some.stop)
                t[some] += self.of_items(here)

        on_each(one, row_chunks(own.stop - own.start, t.shape[1]))

    def items_meat(self, inflation: np.ndarray) -> np.ndarray:
        """sum_i c_i^2 t_i t_i', c_i the ``inflation`` of each item (N)."""
        size = self.Z.shape[1] + self._extra.shape[1]
        _ = self._own, self._extra_of_items, self._to_low  # before threads ask for them

        def one(chunk: slice) -> np.ndarray:
            meat = np.zeros((size, size))
            for rows in row_blocks(chunk.stop, chunk.start):
                t = inflation[rows, None] * self.of_items(rows)
                meat += t.T @ t
            return meat

        return np.sum(on_each(one, chunks_of(self.pairs.start)), axis=0)

    def product_weights(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of z_i z_i' (N) and of z_low z_high' + z_high z_low' (P) in sum_p u_p u_p'.

        Each pair is taken ``times`` (P); :func:`pairscore.core.pair_graph.pair_scatters` sums them.
        """
        low, high = self.u.low, self.u.high
        return self.pairs.item_sums(times * low**2, times * high**2), times * low * high

    def pairs_meat(self, times: np.ndarray, features: np.ndarray) -> np.ndarray:
        """sum_p u_p u_p', each taken ``times`` (P), whose part of the ``features`` is d x d."""
        weighted = times[:, None] * self._extra
        mixed = np.array(
            [
                self.pairs.item_sums(self.u.low * row, self.u.high * row) @ self.Z
                for row in weighted.T
            ]
        )
        return np.block([[features, mixed.T], [mixed, weighted.T @ self._extra]])

    @property
    def total(self) -> np.ndarray:
        """The sum of u over all pairs: d + e, without the number of comparisons."""
        return np.concatenate([self._own @ self.Z, self.u.extra.sum(axis=0)])


def times_too_often(left: np.ndarray, right: np.ndarray, inflation: np.ndarray) -> np.ndarray:
    """How often more than once the items of each row (R) count it: 1, or 0 or -1.

    An item of ``inflation`` zero does not count its rows.
    """
    counts = (inflation > 0).astype(float)
    return counts[left] + counts[right] - 1


def centred_meat(meat: np.ndarray, total: np.ndarray, number: float) -> np.ndarray:
    """The meat of contributions less their mean, from that with their number as last equation.

    ``total`` (p) sums the contributions of ``number`` comparisons; ``meat`` has p + 1 equations.
    """
    take_off_mean = np.column_stack([np.eye(len(total)), -total / number])
    return take_off_mean @ meat @ take_off_mean.T


def less_ties(model: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """The classical covariance of half wins: that of coins, ``model``, less what ties take off it.

    Both are p x p. ``taken`` comes from the ties that were seen, which in some direction may be
    more than usual by chance; there half of what is left on average is left at least. Where nearly
    all comparisons tied, that is taken as SMALLEST_SHARE at least: no variance is zero.
    """
    coins = np.diag(model) > 0
    share = np.diag(taken)[coins] / np.diag(model)[coins]
    left = max(1 - float(np.mean(share)), SMALLEST_SHARE) if coins.any() else 1.0
    return floored_covariance(model - taken, model, SMALLEST_RATIO * left)


def sandwich(
    jacobian: np.ndarray,
    model_meat: np.ndarray,
    robust_meat: np.ndarray | None,
    weight_unit: float = 1.0,
) -> np.ndarray:
    """Covariance of the estimates, J meat J': classical, or item-robust where that meat is given.

    The classical one would take weights for counts; it is brought to comparisons of average weight
    ``weight_unit``, so that neither depends on the unit of weights. A parameter of which the data
    say nothing, and a ridge all, has the variance zero: what its meat has is rounding.
    """
    # of all information on each parameter, the share that the data have
    n = min(jacobian.shape)
    told = np.ones(len(model_meat), dtype=bool)
    told[:n] = np.abs(np.diag(jacobian)[:n]) * np.diag(model_meat)[:n] > SMALLEST_TOLD
    half = jacobian @ square_root(model_meat * np.outer(told, told))
    # so is what the meat of others leaves of such a parameter, or of one that comparisons do not
    # tell from others and a ridge holds: a floor would take it for much
    variance = np.einsum("ij,ij->i", half, half)[:n]
    half[:n][variance <= SMALLEST_TOLD * np.abs(np.diag(jacobian)[:n])] = 0.0
    model, known = weight_unit * (half @ half.T), half.any(axis=1)
    if robust_meat is None:
        return model
    robust = jacobian @ (robust_meat * np.outer(told, told)) @ jacobian.T
    return floored_covariance(robust * np.outer(known, known), model)


def floored_covariance(
    robust: np.ndarray, model: np.ndarray, smallest: float = SMALLEST_RATIO
) -> np.ndarray:
    """The robust covariance, raised where it is less than ``smallest`` (a half) of the model's.

    The item-robust estimate need not be positive definite, and with few items it can be far too
    small by chance. Sharing items only ever adds variance, so in coordinates in which the model's
    covariance is the identity, eigenvalues of the robust one below that are raised to it. Both are
    p x p.

    What is lacking is added, and the rest left as it is. Put together again from its axes, it would
    lose all but four digits where items that met are alike: there the model's covariance has a
    condition of 1e13 and more, and one of its axes is lost in rounding, along which the robust one
    may be 1e6 times as large.
    """
    unit = np.sqrt(np.where(np.diag(model) > 0, np.diag(model), 1.0))
    scale = np.outer(unit, unit)
    values, vectors = np.linalg.eigh(model / scale)
    positive = values > 1e-13 * values[-1]
    vectors, root = vectors[:, positive], np.sqrt(values[positive])
    ratios, axes = np.linalg.eigh((vectors / root).T @ (robust / scale) @ (vectors / root))
    axes = ((vectors * root) @ axes) * unit[:, None]
    return robust + (axes * np.maximum(smallest - ratios, 0.0)) @ axes.T
