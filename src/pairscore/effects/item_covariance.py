"""The covariance of items' effects given all comparisons, V = (L + I / sigma^2)^-1.

L is the Laplacian of the comparison graph with the information of each pair as weight. A fit needs
the diagonal of V, the variance of the difference of every two items that met, and V times a few
columns. In groups of few items that are linked by comparisons, each has a block of V, which is
formed; beyond, entries come from messages between neighbours, which are exact where comparisons
form no circles, and products from conjugate gradients. Nothing of size N x N is formed there.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from pairscore.core.linear_systems import CLOSE, conjugate_gradients
from pairscore.core.pair_graph import Pairs, laplacian
from pairscore.core.passes import message_pass, variance_pass
from pairscore.estimators.results import ItemEffects

# Up to how many items of a group its block of V is formed. A sweep with a block of 300 takes twice
# as long as one by messages, with one of 1000 more than ten times; messages leave coefficients
# within a tenth of a standard error of those of blocks, mostly a hundredth.
EXACT_ITEMS = 500  # in every sweep
POLISHED_ITEMS = 1000  # in the last few sweeps of a fit, which end where blocks throughout do
MOST_ITEMS = 3000  # once, for the classical errors of abilities: a second
MOST_ENTRIES = 10_000_000  # of all blocks: 80 MB
SMALL = 64  # items of a block up to which NumPy inverts many at once faster than Cholesky's factor
# Messages. A round reaches one comparison further and costs a pass over the pairs; they end where
# no precision changes by STEADY, or NEAR times that where they start nearly right: a sweep follows.
ROUNDS = 30
STEADY = 1e-4
NEAR = 30.0
SMALLEST_PRIOR = 1e-9  # precision of an effect without a law, over the mean weight of a pair
# The trace by random signs: its noise falls with the root of their number, its cost rises with it.
FEWEST_PROBES, MOST_PROBES = 2, 8
ENOUGH_PROBED = 200_000  # numbers in them
ENOUGH = 0.01  # residual of their products: the trace is off by its square
SIGNS_SEED = 0  # any will do, and fits have to be the same every time
LIKELY_SCALES = (0.5, 3.0)  # of variances by messages: beyond, the trace's noise speaks
TINY = float(np.finfo(float).tiny)


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


class Covariance(Protocol):
    """V for one set of weights: ``diagonal`` (N), ``pair_variance`` (P) and products."""

    @property
    def diagonal(self) -> np.ndarray: ...

    @property
    def pair_variance(self) -> np.ndarray: ...

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """V at some rows and columns, arrays of one shape."""
        ...

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        """V columns (N x k); ``near`` is a guess, ``close`` a relative residual that will do."""
        ...

    def trace(self) -> float:
        """Sum of the diagonal."""
        ...

    def at(self, sigma2: float) -> "Covariance":
        """V for the same weights and another sigma^2 > 0."""
        ...


def posterior_covariance(
    pairs: Pairs,
    weight: np.ndarray,
    sigma2: float,
    near: Covariance | None = None,
    exact_items: int | None = None,
) -> Covariance:
    """V for weights (P) of the pairs; without effects (sigma2 = 0) it is zero.

    ``near`` is V for about the same weights. Where effects have no law (sigma2 infinite), each
    group of items is centred, and V is the pseudo-inverse of L.
    """
    if sigma2 == 0:
        return NoCovariance(pairs)
    if are_blocks_formed(pairs, EXACT_ITEMS if exact_items is None else exact_items):
        return FormedCovariance(pairs, weight, sigma2)
    known = near if isinstance(near, MessageCovariance) else None
    return MessageCovariance(pairs, weight, sigma2, known)


def are_blocks_formed(pairs: Pairs, exact_items: int) -> bool:
    """Whether no group of linked items is too large, nor all their blocks together."""
    sizes = np.bincount(pairs.component).astype(float)
    return bool(sizes.max() <= exact_items and np.sum(sizes**2) <= MOST_ENTRIES)


_of_models: WeakKeyDictionary[ItemEffects, Covariance] = WeakKeyDictionary()


def _covariance_of_model(effects: ItemEffects) -> Covariance | None:
    """V of the items of a model, kept with it; None for models of earlier versions, which do not
    know it.
    """
    if effects.pair_low is None or effects.pair_high is None or effects.pair_weight is None:
        return None
    if effects not in _of_models:
        n = len(effects.effect)
        start = np.searchsorted(effects.pair_low, np.arange(n + 1)).astype(np.int32)
        zero = np.zeros((1, len(effects.pair_high)))
        pairs = Pairs(start, effects.pair_high, zero, zero, np.zeros(1))
        exact = MOST_ITEMS if effects.free else POLISHED_ITEMS
        _of_models[effects] = posterior_covariance(
            pairs, effects.pair_weight, effects.posterior_sigma2, exact_items=exact
        )
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
    if (C := effects.along_effects) is not None:
        entries = entries + np.einsum("ij,ij->i", C[first], C[second])
    if effects.free and effects.component is None:
        own = np.zeros(len(first))
        for rows in (first, second):
            along = 0.0 if C is None else np.sum(C[rows] ** 2, axis=1)
            own += effects.std_error[rows] ** 2 - covariance.entries(rows, rows) - along
        entries = entries + own / 2
    return np.where(known, entries, 0.0)


def own_variance(effects: ItemEffects, rows: np.ndarray) -> np.ndarray:
    """Variances of abilities, by their rows in the fit, less the mean of their component."""
    covariance = _covariance_of_model(effects)
    if covariance is None:
        return np.full(len(rows), np.nan)
    C = effects.along_effects
    along = 0.0 if C is None else np.sum(C[rows] ** 2, axis=1)
    return np.maximum(covariance.entries(rows, rows), 0.0) + along


def difference_variance(effects: ItemEffects, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Variance of the difference of abilities, where some are open; NaN of two components."""
    assert effects.component is not None
    variance = own_variance(effects, first) + own_variance(effects, second)
    variance = variance - 2 * shared_variance(effects, first, second)
    together = effects.component[first] == effects.component[second]
    return np.where(together, np.maximum(variance, 0.0), np.nan)


class NoCovariance:
    """V = 0: items have no effects."""

    def __init__(self, pairs: Pairs):
        self.diagonal, self.pair_variance = np.zeros(pairs.n_items), np.zeros(len(pairs.high))

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows))

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        return np.zeros_like(columns)

    def trace(self) -> float:
        return 0.0

    def at(self, sigma2: float) -> Covariance:
        return self


class FormedCovariance:
    """V in full: a block for every group of items that are linked by comparisons.

    Blocks of one size are one stack (k x s x s) with the ``items`` (k x s) that they belong to.
    Nothing is worked out before it is asked for: sweeps to a maximum ask for products alone.
    """

    def __init__(self, pairs: Pairs, weight: np.ndarray, sigma2: float):
        self._pairs, self._weight, self._sigma2 = pairs, weight, sigma2

    @cached_property
    def _stacks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Items and blocks of V of each size."""
        stacks, free = [], np.isinf(self._sigma2)
        own = 1 / self._sigma2 + self._pairs.item_sums(self._weight, self._weight)
        for items, edges, upper, lower in self._pairs.blocks:
            size = items.shape[1]
            stack = np.zeros((len(items), size, size))
            stack[:, np.arange(size), np.arange(size)] = own[items]
            stack.ravel()[upper] = stack.ravel()[lower] = -self._weight[edges]
            stacks.append((items, pseudo_inverses(stack) if free else inverses(stack)))
        return stacks

    @cached_property
    def diagonal(self) -> np.ndarray:
        diagonal = np.empty(self._pairs.n_items)
        for items, inverse in self._stacks:
            diagonal[items] = np.diagonal(inverse, axis1=1, axis2=2)
        return diagonal

    @cached_property
    def pair_variance(self) -> np.ndarray:
        own, across = self.diagonal, np.empty(len(self._pairs.high))
        for (_, edges, upper, _), (_, inverse) in zip(
            self._pairs.blocks, self._stacks, strict=True
        ):
            across[edges] = inverse.ravel()[upper]
        return np.maximum(own[self._pairs.low] + own[self._pairs.high] - 2 * across, 0.0)

    @cached_property
    def _at(self) -> np.ndarray:
        """Of each item (3 x N): its stack, its block there, and its row in that."""
        at = np.empty((3, self._pairs.n_items), dtype=np.int64)
        for number, (items, _) in enumerate(self._stacks):
            at[0, items], at[2, items] = number, np.arange(items.shape[1])
            at[1, items] = np.arange(len(items))[:, None]
        return at

    def whole(self) -> np.ndarray | None:
        """V (N x N) where all items are in one block."""
        items, inverse = self._stacks[0]
        if inverse.shape != (1, len(self.diagonal), len(self.diagonal)):
            return None
        back = np.argsort(items[0])
        return inverse[0][np.ix_(back, back)]

    @property
    def is_free(self) -> bool:
        """Whether effects have no law."""
        return bool(np.isinf(self._sigma2))

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Items and block of V of each group."""
        for items, inverse in self._stacks:
            yield from zip(items, inverse, strict=True)

    def centred_diagonal(self) -> np.ndarray:
        """Variances (N) of effects less the mean of their group."""
        variance = np.empty(len(self.diagonal))
        for items, inverse in self._stacks:
            centred = inverse - inverse.mean(axis=1, keepdims=True)
            centred -= centred.mean(axis=2, keepdims=True)
            variance[items] = np.diagonal(centred, axis1=1, axis2=2)
        return variance

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Some entries of V; zero for items of two groups."""
        (stack, block, row), (other, other_block, column) = self._at[:, rows], self._at[:, columns]
        found, together = np.zeros(len(rows)), (stack == other) & (block == other_block)
        for number, (_, inverse) in enumerate(self._stacks):
            here = np.flatnonzero(together & (stack == number))
            found[here] = inverse[block[here], row[here], column[here]]
        return found

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        wide = columns.reshape(len(columns), -1)
        product = np.empty_like(wide, dtype=float)
        for items, inverse in self._stacks:
            product[items] = inverse @ wide[items]
        return product.reshape(columns.shape)

    def trace(self) -> float:
        return float(self.diagonal.sum())

    def at(self, sigma2: float) -> Covariance:
        return FormedCovariance(self._pairs, self._weight, sigma2)


def inverses(stack: np.ndarray) -> np.ndarray:
    """The inverses of positive matrices (k x s x s), by Cholesky's factor if they are large."""
    if stack.shape[1] <= SMALL:
        return np.linalg.inv(stack)
    found = np.empty_like(stack)
    for matrix, inverse in zip(stack, found, strict=True):
        factor, _ = lapack.dpotrf(matrix.T, lower=1)  # the transpose is in the order of Fortran
        lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        np.add(lower, lower.T, out=inverse)  # above the diagonal there are zeros
        inverse[np.diag_indices(len(matrix))] *= 0.5
    return found


def pseudo_inverses(stack: np.ndarray) -> np.ndarray:
    """Of Laplacians (k x s x s) of linked items: of L, (L + c 11')^-1 less 11' / (c s^2)."""
    size = stack.shape[1]
    if size == 1:
        return np.zeros_like(stack)
    c = np.trace(stack, axis1=1, axis2=2)[:, None, None] / size**2
    return inverses(stack + c) - 1 / (c * size**2)


class Precision:
    """L + I / sigma^2 for products with columns: compiled, or by a matrix that is made once."""

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
        return self.pairs.laplacian_times(self.weight, columns, self.prior)


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
        return columns - np.column_stack(means)[group]

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
        if len(pairs.high) == pairs.n_items - self._n_groups:  # a tree: messages are exact
            return float(self.tree.of_items.sum())
        start = self.tree.of_items[:, None] * z if self._products is None else self._products
        x, residual = conjugate_gradients(self.precision, z, start, ENOUGH)
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

    def at(self, sigma2: float) -> Covariance:
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
    steady = STEADY if messages is None else NEAR * STEADY
    if messages is None:
        messages = Messages(weight / 2, weight / 2)
    total = prior + pairs.item_sums(*messages)
    for number in range(ROUNDS):  # the first round leaves what was given as it is
        passed, sums = message_pass(pairs.start, pairs.high, weight, total, messages, number > 0)
        messages = Messages(*passed)
        last, total = total, prior + sums
        if np.max(np.abs(total - last) / total, initial=0.0) < steady:
            break
    of_pairs = variance_pass(pairs.start, pairs.high, weight, total, messages)
    return TreeVariances(1 / total, of_pairs, messages)
