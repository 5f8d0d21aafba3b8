"""The covariance of items' effects given all comparisons, V = (L + I / sigma^2)^-1.

L is the Laplacian of the comparison graph with the information of each pair as weight. A fit needs
the diagonal of V, the variance of the difference of every two items that met, and V times a few
columns. Groups of up to :data:`EXACT_ITEMS` items that are linked by comparisons have a block of V
each, which is formed; beyond, entries come from messages between neighbours, which are exact where
comparisons form no circles, and products from conjugate gradients. Nothing of size N x N is formed
there.
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from pairscore.core import passes
from pairscore.core.linalg import CLOSE, conjugate_gradients
from pairscore.core.pair_graph import Pairs
from pairscore.core.passes import message_pass, variance_pass
from pairscore.effects.rows import laplacian
from pairscore.estimators.results import ItemEffects

EXACT_ITEMS = 1000  # of a group, up to which its block of V is formed
MOST_ITEMS = 3000  # of a group whose block is formed once, after the fit
MOST_ENTRIES = 10_000_000  # of all blocks
SMALL = 64  # items of a block, up to which many are inverted at once
ROUNDS = 30  # of messages between neighbours, each of which reaches one comparison further
STEADY = 1e-4  # a change of a precision by messages, relative, that is none
NEAR = 30.0  # times that, from messages that are nearly right: another sweep follows
SMALLEST_PRIOR = 1e-9  # precision of an effect, over the mean weight of a pair
ENOUGH = 0.01  # as CLOSE, for a trace
LIKELY_SCALES = (0.5, 3.0)  # of variances by messages
TINY = float(np.finfo(float).tiny)
TwoArrays = tuple[np.ndarray, np.ndarray]
FEWEST_PROBES, MOST_PROBES = 2, 16  # random vectors for the trace
ENOUGH_PROBED = 200_000  # numbers in them


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
    sizes = np.bincount(pairs.component).astype(float)
    formed = sizes.max() <= (exact_items or EXACT_ITEMS) and np.sum(sizes**2) <= MOST_ENTRIES
    if formed:
        return FormedCovariance(pairs, weight, sigma2)
    known = near if isinstance(near, MessageCovariance) else None
    return MessageCovariance(pairs, weight, sigma2, known)


@lru_cache(maxsize=4)
def _covariance_of_model(effects: ItemEffects) -> Covariance | None:
    """V of the items of a model; None for models of before, which do not know it."""
    if effects.pair_low is None or effects.pair_high is None or effects.pair_weight is None:
        return None
    n = len(effects.effect)
    start = np.searchsorted(effects.pair_low, np.arange(n + 1)).astype(np.int32)
    nothing = np.zeros((1, len(effects.pair_high)))
    pairs = Pairs(start, effects.pair_high, nothing, nothing, np.zeros(1))
    exact = MOST_ITEMS if effects.free else EXACT_ITEMS
    return posterior_covariance(
        pairs, effects.pair_weight, effects.posterior_sigma2, exact_items=exact
    )


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
        if passes.kernels is None:
            return self.matrix @ columns
        return self.pairs.laplacian_times(self.weight, columns, self.prior)


class MessageCovariance:
    """V by messages and conjugate gradients, for many items.

    Where all items of a group meet, messages go round, and variances are too small. As
    (L + I / sigma^2) V = I, the sum of weight times variance over all pairs is N - tr V / sigma^2:
    variances are scaled so that it is, with the trace of V by random signs; those of single items
    are raised so that they add up to the trace.
    """

    def __init__(
        self,
        pairs: Pairs,
        weight: np.ndarray,
        sigma2: float,
        near: "MessageCovariance | None" = None,
    ):
        self._pairs, self._weight, self._sigma2 = pairs, weight, sigma2
        self.precision = Precision(pairs, weight, self._prior)
        self._start: tuple[TwoArrays | None, np.ndarray | None] = (None, None)
        if near is not None:
            self._start, self._signs = (near._messages[2], near._products), near._signs

    @cached_property
    def _prior(self) -> float:
        """The precision of an effect without any comparison; next to nothing without a law."""
        return max(1 / self._sigma2, SMALLEST_PRIOR * float(self._weight.mean()))

    @cached_property
    def _messages(self) -> tuple[np.ndarray, np.ndarray, TwoArrays]:
        """The diagonal of V and variances of pairs as if there were no circles, with messages."""
        return tree_variances(self._pairs, self._weight, self._prior, self._start[0])

    @cached_property
    def _signs(self) -> np.ndarray:
        """Random signs (N x k), centred in every group of items."""
        n, group = self._pairs.n_items, self._pairs.component
        n_probes = int(np.clip(ENOUGH_PROBED // n, FEWEST_PROBES, MOST_PROBES))
        signs, size = mixed_signs(n, n_probes), np.bincount(group)
        means = [np.bincount(group, column) / size for column in signs.T]
        return signs - np.column_stack(means)[group]

    @cached_property
    def _probed(self) -> tuple[float, np.ndarray]:
        """The trace as E z'Vz over random signs z (Hutchinson), and the products x = Vz.

        Of an x with a residual r, z'x + r'x is off by the square of that. As signs are centred,
        V 1 = sigma^2 1 adds sigma^2 for each group.
        """
        z, x = self._signs, self._start[1]
        x = self._messages[0][:, None] * z if x is None else x
        x, residual = conjugate_gradients(self.precision, z, x, ENOUGH)
        known = 0.0 if np.isinf(self._sigma2) else self._sigma2 * (self._pairs.component.max() + 1)
        return known + float(np.vdot(z, x) + np.vdot(residual, x)) / z.shape[1], x

    @property
    def _products(self) -> np.ndarray | None:
        """Those of the last probe, from which another one may start."""
        return self._probed[1] if "_probed" in vars(self) else self._start[1]

    @cached_property
    def _corrections(self) -> tuple[float, float, float]:
        """A factor for variances of pairs, and one for single ones, with what is added to them."""
        diagonal, variance, _ = self._messages
        n, trace, free = len(diagonal), self._probed[0], np.isinf(self._sigma2)
        n_determined = n - (self._pairs.component.max() + 1 if free else trace / self._sigma2)
        scale = np.clip(n_determined / max(float(self._weight @ variance), TINY), *LIKELY_SCALES)
        if free:
            return float(scale), trace / float(diagonal.sum()), 0.0
        # what messages miss is mostly what items of a group have in common
        return float(scale), 1.0, max((trace - float(diagonal.sum())) / n, 0.0)

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self._messages[0] * self._corrections[1] + self._corrections[2]

    @cached_property
    def pair_variance(self) -> np.ndarray:
        return self._messages[1] * self._corrections[0]

    def trace(self) -> float:
        return self._probed[0]

    def at(self, sigma2: float) -> Covariance:
        """Circles are the same; what a group has in common varies in proportion to sigma^2."""
        other = MessageCovariance(self._pairs, self._weight, sigma2, self)
        of_pairs, factor, common = self._corrections
        other._corrections = of_pairs, factor, common * sigma2 / self._sigma2
        return other

    @cached_property
    def _keys(self) -> np.ndarray:
        return self._pairs.keys

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Some entries of V; zero for two items that did not meet."""
        n, of_pairs = np.int64(len(self.diagonal)), self._keys
        key = np.minimum(rows, columns) * n + np.maximum(rows, columns)
        place = np.minimum(np.searchsorted(of_pairs, key), len(of_pairs) - 1)
        across = (self.diagonal[rows] + self.diagonal[columns] - self.pair_variance[place]) / 2
        met = np.where(of_pairs[place] == key, across, 0.0)
        return np.where(rows == columns, self.diagonal[rows], met)

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        wide = columns.reshape(len(columns), -1)
        near = None if near is None or not near.any() else near.reshape(wide.shape)
        return conjugate_gradients(self.precision, wide, near, close)[0].reshape(columns.shape)


@lru_cache(maxsize=1)
def mixed_signs(n_rows: int, n_columns: int) -> np.ndarray:
    """A matrix of +1 and -1 without any pattern, always the same: bits of mixed numbers."""
    number = np.arange(1, n_rows * n_columns + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    number ^= number >> np.uint64(30)
    number *= np.uint64(0xBF58476D1CE4E5B9)
    number ^= number >> np.uint64(27)
    bit = (number >> np.uint64(33)) & np.uint64(1)
    return np.where(bit.reshape(n_rows, n_columns) == 1, 1.0, -1.0)


def tree_variances(
    pairs: Pairs, weight: np.ndarray, prior: float, messages: TwoArrays | None = None
) -> tuple[np.ndarray, np.ndarray, TwoArrays]:
    """The diagonal of V (N) and the variance of each pair's difference (P), exact where comparisons
    form no circles, by messages along pairs (Gaussian belief propagation).

    A comparison of weight w passes the precision w c / (w + c) to one of its ends, where c is that
    of the other end without this comparison: the ``prior`` 1 / sigma^2 and what its other
    comparisons pass to it. With c and c' at its ends the difference has the precision
    w + c c' / (c + c').
    ``messages`` to low and to high (P each) are where to start; the last ones are returned.
    """
    steady = NEAR * STEADY if messages else STEADY
    messages = messages or (weight / 2,) * 2
    total = prior + pairs.item_sums(*messages)
    for number in range(ROUNDS):  # the first round leaves what was given as it is
        messages, sums = message_pass(pairs.start, pairs.high, weight, total, messages, number > 0)
        before, total = total, prior + sums
        if np.max(np.abs(total - before) / total, initial=0.0) < steady:
            break
    return 1 / total, variance_pass(pairs.start, pairs.high, weight, total, messages), messages
