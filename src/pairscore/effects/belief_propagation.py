"""Variances of items' effects by messages between neighbours (Gaussian belief propagation).

V = (L + I / sigma^2)^-1, L the Laplacian of the comparison graph with the information of each pair
as weight. Messages give its diagonal and the variances of the differences of items that met,
exactly where comparisons form no circles; products with it are solved by conjugate gradients.
Nothing of size N x N is formed.

Where a walk along comparisons soon forgets where it began, as among items that were paired at
random, circles hardly matter; where it does not, as in topics or leagues that hardly meet and among
neighbours on a scale, messages are too sure. Random signs say so: they give the trace of V without
messages (:attr:`MessageCovariance.is_trusted`).
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pairscore.core.linear_systems import CLOSE, TINY, conjugate_gradients
from pairscore.core.pair_graph import Pairs, laplacian
from pairscore.core.passes import message_pass, variance_pass

# A round of messages reaches one comparison further and costs a pass over the pairs; they end where
# no precision changes by STEADY, at most after ROUNDS: only long chains need more.
ROUNDS = 30
STEADY = 1e-4
SMALLEST_PRIOR = 1e-9  # precision of an effect without a law, over the mean weight of a pair
# Relative residual of equations within a sweep, because another sweep follows; the trace is off by
# its square. Twice of it takes 8 % fewer products; three times as much moved sigma^2 by its own
# error in one study of 44.
INEXACT = 0.01
# The trace by random signs: its noise falls with the root of their number, its cost rises with it.
FEWEST_PROBES, MOST_PROBES = 2, 8
ENOUGH_PROBED = 200_000  # numbers in them
SIGNS_SEED = 0  # any will do, and fits have to be the same every time
HUB = 0.1  # share of all others that an item met: its error by messages is a fifth off at a half
LIKELY_SCALES = (0.5, 3.0)  # of variances by messages: beyond, the trace's noise speaks
# How far the trace by signs may be from that of messages. Below, standard errors without a law of
# effects were off by 2 % (median; 5 % for one in twenty) at most; beyond, by a tenth and up to
# twice (studies/test_many_items.py). With 500 items or more the noise of signs is below .01 where
# messages are right.
TRUSTED = 0.03


class Messages(NamedTuple):
    """Precisions that pairs pass to their low and to their high item (P each)."""

    to_low: np.ndarray
    to_high: np.ndarray


class TreeVariances(NamedTuple):
    """Variances as if comparisons formed no circles: of items (N), and of differences (P)."""

    of_items: np.ndarray
    of_pairs: np.ndarray
    messages: Messages


class Corrections(NamedTuple):
    """Of variances by messages: factors of those of pairs and of items, and what all items have in
    common.
    """

    pair_factor: float
    item_factor: float
    common: float


class Precision:
    """L + I / sigma^2, for products with columns."""

    def __init__(self, pairs: Pairs, weight: np.ndarray, prior: float):
        self.pairs, self.weight, self.prior = pairs, weight, prior

    @cached_property
    def matrix(self) -> sparse.csr_array:
        return laplacian(self.pairs, self.weight, self.prior)

    @cached_property
    def degree(self) -> np.ndarray:
        """The weights of every item (N)."""
        return self.pairs.item_sums(self.weight, self.weight)

    def diagonal(self) -> np.ndarray:
        return self.prior + self.degree

    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix @ columns)


class MessageCovariance:
    """V by messages and conjugate gradients, for many items.

    Where all items of a group meet, messages go round, and variances are too small. As
    (L + I / sigma^2) V = I, the sum of weight times variance over all pairs is N - tr V / sigma^2:
    variances are scaled so that it is, with the trace of V by random signs; those of single items
    are raised so that they add up to the trace.

    ``near`` is V for about the same weights, from which messages and products start.
    """

    def __init__(
        self,
        pairs: Pairs,
        weight: np.ndarray,
        sigma2: float,
        near: "MessageCovariance | None" = None,
        corrections: Corrections | None = None,
    ):
        self._pairs, self._weight, self._sigma2 = pairs, weight, sigma2
        self.precision = Precision(pairs, weight, self._prior)
        self._given_corrections = corrections
        self._first_messages: Messages | None = None
        self._products: np.ndarray | None = None  # V times the signs, of the last probe
        if near is not None:
            self._first_messages = near.tree.messages
            self._products = near._products
            self._signs = near._signs

    @cached_property
    def _prior(self) -> float:
        """The precision of an effect without any comparison; next to nothing without a law."""
        return max(1 / self._sigma2, SMALLEST_PRIOR * float(self._weight.mean()))

    @cached_property
    def tree(self) -> TreeVariances:
        """Variances as if there were no circles, with messages."""
        return tree_variances(self._pairs, self._weight, self._prior, self._first_messages)

    @cached_property
    def _signs(self) -> np.ndarray:
        """Random signs (N x k), centred in every group of items."""
        n = self._pairs.n_items
        n_probes = int(np.clip(ENOUGH_PROBED // n, FEWEST_PROBES, MOST_PROBES))
        return self._centred(random_signs(n, n_probes))

    def _centred(self, columns: np.ndarray) -> np.ndarray:
        """Columns (N x k) less their means in every group of items."""
        group = self._pairs.component
        means = [np.bincount(group, column) / np.bincount(group) for column in columns.T]
        return columns - np.column_stack(means)[group] if means else columns

    @cached_property
    def _trace(self) -> float:
        """E z'Vz over random signs z (Hutchinson), less what messages know of its noise.

        Of a product x = Vz with a residual r, z'x + r'x is off by the square of that. As signs are
        centred, V 1 = sigma^2 1 adds sigma^2 for each group, and in a group of s their squares have
        the mean 1 - 1 / s, and products of two -1 / s. Most of the noise of sum V_ij z_i z_j is
        that of the V_ij that messages say, those of items and of pairs: it is taken off, with its
        mean. That leaves a half to a tenth of it, and nothing where sigma^2 is small.
        """
        z, pairs = self._signs, self._pairs
        is_tree = len(pairs.high) == pairs.n_items - self._n_groups
        if is_tree and np.isfinite(self._sigma2):  # messages are exact
            return float(self.tree.of_items.sum())
        start = self.tree.of_items[:, None] * z if self._products is None else self._products
        x, residual = conjugate_gradients(self.precision, z, start, INEXACT)
        self._products = x
        trace = float(np.vdot(z, x) + np.vdot(residual, x)) / z.shape[1]
        if np.isfinite(self._sigma2):
            trace += self._sigma2 * self._n_groups
        of_items, of_pairs, _ = self.tree
        covariance = (of_items[pairs.low] + of_items[pairs.high] - of_pairs) / 2
        by_messages = pairs.matrix(of_items, covariance)
        of_signs = np.vdot(z, by_messages @ z) / z.shape[1]
        size = np.bincount(pairs.component)[pairs.component]
        mean = np.sum(of_items * (1 - 1 / size)) - 2 * np.sum(covariance / size[pairs.low])
        return trace - float(of_signs - mean)

    @property
    def _n_groups(self) -> int:
        return int(self._pairs.component.max()) + 1

    @cached_property
    def corrections(self) -> Corrections:
        """Such that variances add up to the trace, and times weights to what they must."""
        if self._given_corrections is not None:
            return self._given_corrections
        of_items, of_pairs, _ = self.tree
        n, trace, is_free = len(of_items), self._trace, np.isinf(self._sigma2)
        n_determined = n - (self._n_groups if is_free else trace / self._sigma2)
        scale = n_determined / max(float(self._weight @ of_pairs), TINY)
        scale = float(np.clip(scale, *LIKELY_SCALES))
        if is_free:
            return Corrections(scale, trace / float(of_items.sum()), 0.0)
        # what messages miss is mostly what items of a group have in common
        return Corrections(scale, 1.0, max((trace - float(of_items.sum())) / n, 0.0))

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.tree.of_items * self.corrections.item_factor + self.corrections.common

    @cached_property
    def pair_variance(self) -> np.ndarray:
        return self.tree.of_pairs * self.corrections.pair_factor

    def trace(self) -> float:
        return self._trace

    @property
    def is_trusted(self) -> bool:
        """Whether random signs and messages say the same of the trace."""
        by_messages = float(self.tree.of_items.sum())
        return abs(self._trace - by_messages) < TRUSTED * by_messages

    def centred_diagonal(self) -> np.ndarray:
        """Variances (N) of effects less the mean of their group; those of hubs are solved for."""
        size = np.bincount(self._pairs.component)[self._pairs.component]
        shared = 0.0 if np.isinf(self._sigma2) else self._sigma2 / size
        variance = np.maximum(self.diagonal - shared, 0.0)
        hubs = self._hubs
        unit = np.zeros((len(variance), len(hubs)))
        unit[hubs, np.arange(len(hubs))] = 1.0
        variance[hubs] = self.times(self._centred(unit))[hubs, np.arange(len(hubs))]
        return variance

    @property
    def _hubs(self) -> np.ndarray:
        """The items that met a share HUB of all others, as many as there are signs at most: what
        these tell them is less independent than messages take it for.
        """
        one = np.ones(len(self._pairs.high))
        number = self._pairs.item_sums(one, one)
        most = np.argsort(-number, kind="stable")[: self._signs.shape[1]]
        return most[number[most] > HUB * len(number)]

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """None: nothing is formed."""
        return iter(())

    def at(self, sigma2: float) -> "MessageCovariance":
        """Circles are the same; what a group has in common varies in proportion to sigma^2."""
        common = self.corrections.common * sigma2 / self._sigma2
        corrections = self.corrections._replace(common=common)
        return MessageCovariance(self._pairs, self._weight, sigma2, self, corrections)

    @cached_property
    def _keys(self) -> np.ndarray:
        return self._pairs.keys

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Some entries of V; zero for two items that did not meet."""
        n, keys = np.int64(len(self.diagonal)), self._keys
        key = np.minimum(rows, columns) * n + np.maximum(rows, columns)
        pair = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        across = (self.diagonal[rows] + self.diagonal[columns] - self.pair_variance[pair]) / 2
        met = np.where(keys[pair] == key, across, 0.0)
        return np.where(rows == columns, self.diagonal[rows], met)

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        wide = columns.reshape(len(columns), -1)
        start = None if near is None else near.reshape(wide.shape)
        if not np.isinf(self._sigma2) or not wide.shape[1]:
            return conjugate_gradients(self.precision, wide, start, close)[0].reshape(columns.shape)
        # the pseudo-inverse has nothing to do with means, of which rounding would make much
        product, _ = conjugate_gradients(self.precision, self._centred(wide), start, close)
        return self._centred(product).reshape(columns.shape)


def random_signs(n_rows: int, n_columns: int) -> np.ndarray:
    """A matrix of +1 and -1, always the same one."""
    rng = np.random.default_rng(SIGNS_SEED)
    return rng.choice([-1.0, 1.0], (n_rows, n_columns))


def tree_variances(
    pairs: Pairs, weight: np.ndarray, prior: float, messages: Messages | None = None
) -> TreeVariances:
    """The diagonal of V (N) and the variance of each pair's difference (P), exact where comparisons
    form no circles, by messages along pairs (Gaussian belief propagation).

    A comparison of weight w passes the precision w c / (w + c) to one of its ends, where c is that
    of the other end without this comparison: the ``prior`` 1 / sigma^2 and what its other
    comparisons pass to it. With c and c' at its ends the difference has the precision
    w + c c' / (c + c').
    ``messages`` are where to start; the last ones are returned.
    """
    if messages is None:
        messages = Messages(weight / 2, weight / 2)
    total = prior + pairs.item_sums(*messages)
    for number in range(ROUNDS):  # the first round leaves what was given as it is
        passed, sums = message_pass(pairs.start, pairs.high, weight, total, messages, number > 0)
        messages = Messages(*passed)
        last, total = total, prior + sums
        if np.max(np.abs(total - last) / total, initial=0.0) < STEADY:
            break
    of_pairs = variance_pass(pairs.start, pairs.high, weight, total, messages)
    return TreeVariances(1 / total, of_pairs, messages)
