"""The covariance of items' effects given all comparisons, V = (L + I / sigma^2)^-1.

L is the Laplacian of the comparison graph with the information of each pair as weight. A fit needs
the diagonal of V, the variance of the difference of every two items that met, and V times a few
columns. In groups of few items that are linked by comparisons, each has a block of V, which is
formed; in larger ones entries come from messages between neighbours
(:mod:`pairscore.effects.belief_propagation`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg import lapack

from pairscore.core.linear_systems import CLOSE
from pairscore.core.pair_graph import Pairs
from pairscore.effects.belief_propagation import MessageCovariance
from pairscore.effects.item_effects import ItemEffects

# Up to how many items of a group its block of V is formed (studies/test_many_items.py). In every
# sweep: a block of 200 costs what messages do, one of 500 ten times as much; of 250 items messages
# leave coefficients within .06 of a standard error, and sigma^2 within .2 of its own, of blocks.
EXACT_ITEMS = 200
# Once, for errors that a model keeps: as much as all else of a fit.
LASTING_ITEMS = 500
# Once, where messages are not to be trusted: standard errors of abilities would be off by a tenth,
# and those of differences by more, on graphs like leagues, seeded pairs and chains. Half a second.
MOST_ITEMS = 3000
MOST_ENTRIES = 10_000_000  # of all blocks: 80 MB
SMALL = 64  # items of a block up to which NumPy inverts many at once faster than Cholesky's factor


class Covariance(Protocol):
    """V for one set of weights: ``diagonal`` (N), ``pair_variance`` (P) and products."""

    @property
    def diagonal(self) -> np.ndarray: ...

    @property
    def pair_variance(self) -> np.ndarray: ...

    @property
    def is_trusted(self) -> bool:
        """Whether it is right enough for the errors that a model keeps."""
        ...

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

    def centred_diagonal(self) -> np.ndarray:
        """Variances (N) of effects less the mean of their group."""
        ...

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Items and block of V of each group of which it is formed."""
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

    ``near`` is V for about the same weights; V is formed for groups of up to ``exact_items``. Where
    effects have no law (sigma2 infinite), each group of items is centred, and V is the
    pseudo-inverse of L.
    """
    if sigma2 == 0:
        return NoCovariance(pairs)
    formed = items_of_blocks(pairs, EXACT_ITEMS if exact_items is None else exact_items)
    if formed.all():
        return FormedCovariance(pairs, weight, sigma2)
    if formed.any():
        before = near if isinstance(near, GroupedCovariance) else None
        return GroupedCovariance.of_groups(pairs, weight, sigma2, formed, before)
    known = near if isinstance(near, MessageCovariance) else None
    return MessageCovariance(pairs, weight, sigma2, known)


def lasting_covariance(pairs: Pairs, weight: np.ndarray, sigma2: float) -> Covariance:
    """V for the errors that a model keeps: formed of more items, and of many where it has to be."""
    found = posterior_covariance(pairs, weight, sigma2, exact_items=LASTING_ITEMS)
    if found.is_trusted:
        return found
    return posterior_covariance(pairs, weight, sigma2, exact_items=MOST_ITEMS)


def items_of_blocks(pairs: Pairs, exact_items: int) -> np.ndarray:
    """Mask (N) of the items in groups of up to so many, smaller ones first, as long as all their
    blocks have MOST_ENTRIES.
    """
    number = np.bincount(pairs.component)
    order = np.argsort(number, kind="stable")
    entries = np.cumsum(number[order].astype(float) ** 2)
    is_formed = np.zeros(len(number), dtype=bool)
    is_formed[order] = (entries <= MOST_ENTRIES) & (number[order] <= exact_items)
    return is_formed[pairs.component]


class NoCovariance:
    """V = 0: items have no effects."""

    def __init__(self, pairs: Pairs):
        self.diagonal, self.pair_variance = np.zeros(pairs.n_items), np.zeros(len(pairs.high))
        self.is_trusted = True

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows))

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        return np.zeros_like(columns)

    def trace(self) -> float:
        return 0.0

    def centred_diagonal(self) -> np.ndarray:
        return self.diagonal

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return iter(())

    def at(self, sigma2: float) -> Covariance:
        return self


class FormedCovariance:
    """V in full: a block for every group of items that are linked by comparisons.

    Blocks of one size are one stack (k x s x s) with the ``items`` (k x s) that they belong to.
    Nothing is worked out before it is asked for: sweeps to a maximum ask for products alone.
    """

    def __init__(self, pairs: Pairs, weight: np.ndarray, sigma2: float):
        self._pairs, self._weight, self._sigma2 = pairs, weight, sigma2
        self.is_trusted = True

    @cached_property
    def _stacks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Items and blocks of V of each size."""
        stacks, free = [], np.isinf(self._sigma2)
        own = 1 / self._sigma2 + self._pairs.item_sums(self._weight, self._weight)
        for groups in self._pairs.blocks:
            items, size = groups.items, groups.items.shape[1]
            stack = np.zeros((len(items), size, size))
            stack[:, np.arange(size), np.arange(size)] = own[items]
            stack.ravel()[groups.above] = stack.ravel()[groups.below] = -self._weight[groups.pairs]
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
        for groups, (_, inverse) in zip(self._pairs.blocks, self._stacks, strict=True):
            across[groups.pairs] = inverse.ravel()[groups.above]
        return np.maximum(own[self._pairs.low] + own[self._pairs.high] - 2 * across, 0.0)

    @cached_property
    def _at(self) -> np.ndarray:
        """Of each item (3 x N): its stack, its block there, and its row in that."""
        at = np.empty((3, self._pairs.n_items), dtype=np.int64)
        for number, (items, _) in enumerate(self._stacks):
            at[0, items], at[2, items] = number, np.arange(items.shape[1])
            at[1, items] = np.arange(len(items))[:, None]
        return at

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for items, inverse in self._stacks:
            yield from zip(items, inverse, strict=True)

    def centred_diagonal(self) -> np.ndarray:
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


class PartOfItems(NamedTuple):
    """Some items, the pairs among them (numbers of either), and V of these."""

    items: np.ndarray
    pairs: np.ndarray
    covariance: Covariance


@dataclass(frozen=True)
class GroupedCovariance:
    """V in parts: blocks of small groups, and messages in large ones."""

    parts: tuple[PartOfItems, ...]
    n_items: int
    n_pairs: int

    @classmethod
    def of_groups(
        cls,
        pairs: Pairs,
        weight: np.ndarray,
        sigma2: float,
        formed: np.ndarray,
        near: "GroupedCovariance | None",
    ) -> "GroupedCovariance":
        """Blocks of the items that are ``formed`` (mask N); ``near`` is one of the same parts."""
        small, of_small = pairs.among(formed)
        large, of_large = pairs.among(~formed)
        known = None if near is None else near.parts[1].covariance
        assert known is None or isinstance(known, MessageCovariance)
        blocks = FormedCovariance(small, weight[of_small], sigma2)
        messages = MessageCovariance(large, weight[of_large], sigma2, known)
        parts = (
            PartOfItems(np.flatnonzero(formed), of_small, blocks),
            PartOfItems(np.flatnonzero(~formed), of_large, messages),
        )
        return cls(parts, pairs.n_items, len(pairs.high))

    def _join(self, of_parts: list[np.ndarray]) -> np.ndarray:
        """What is known of the items of each part, as rows for all items."""
        joint = np.empty((self.n_items, *of_parts[0].shape[1:]))
        for part, values in zip(self.parts, of_parts, strict=True):
            joint[part.items] = values
        return joint

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self._join([part.covariance.diagonal for part in self.parts])

    @cached_property
    def pair_variance(self) -> np.ndarray:
        variance = np.empty(self.n_pairs)
        for part in self.parts:
            variance[part.pairs] = part.covariance.pair_variance
        return variance

    @property
    def is_trusted(self) -> bool:
        return all(part.covariance.is_trusted for part in self.parts)

    def entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        found = np.zeros(len(rows))
        for part in self.parts:
            place = np.full(self.n_items, -1)
            place[part.items] = np.arange(len(part.items))
            here = np.flatnonzero((place[rows] >= 0) & (place[columns] >= 0))
            found[here] = part.covariance.entries(place[rows[here]], place[columns[here]])
        return found

    def times(
        self, columns: np.ndarray, near: np.ndarray | None = None, close: float = CLOSE
    ) -> np.ndarray:
        products = []
        for items, _, covariance in self.parts:
            start = None if near is None else near[items]
            products.append(covariance.times(columns[items], start, close))
        return self._join(products)

    def trace(self) -> float:
        return sum(part.covariance.trace() for part in self.parts)

    def centred_diagonal(self) -> np.ndarray:
        return self._join([part.covariance.centred_diagonal() for part in self.parts])

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in self.parts:
            for items, block in part.covariance.blocks():
                yield part.items[items], block

    def at(self, sigma2: float) -> Covariance:
        parts = (part._replace(covariance=part.covariance.at(sigma2)) for part in self.parts)
        return GroupedCovariance(tuple(parts), self.n_items, self.n_pairs)


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


def change_of_trace(before: Covariance, after: Covariance) -> float:
    """By what share of itself the trace of V moved, by its diagonal."""
    start = float(np.sum(before.diagonal))
    if start == 0:
        return 0.0
    return abs(float(np.sum(after.diagonal)) / start - 1)


# -- what a model knows of two items ------------------------------------------------------------

_of_models: WeakKeyDictionary[ItemEffects, Covariance] = WeakKeyDictionary()


def _covariance_of_model(effects: ItemEffects) -> Covariance | None:
    """V of the items of a model, kept with it; None for models of earlier versions, which do not
    know it.
    """
    met = effects.pairs
    if met is None:
        return None
    if effects not in _of_models:
        n = len(effects.effect)
        start = np.searchsorted(met.low, np.arange(n + 1)).astype(np.int32)
        zero = np.zeros((1, len(met.high)))
        pairs = Pairs(start, met.high, zero, zero, np.zeros(1))
        _of_models[effects] = lasting_covariance(pairs, met.weight, effects.posterior_sigma2)
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
    if effects.abilities is not None:
        C = effects.abilities.along_effects
        entries = entries + np.einsum("ij,ij->i", C[first], C[second])
    if effects.free and effects.components is None:
        own = np.zeros(len(first))
        for rows in (first, second):
            along = _along_effects(effects, rows)
            own += effects.std_error[rows] ** 2 - covariance.entries(rows, rows) - along
        entries = entries + own / 2
    return np.where(known, entries, 0.0)


def own_variance(effects: ItemEffects, rows: np.ndarray) -> np.ndarray:
    """Variances of abilities, by their rows in the fit, less the mean of their component."""
    covariance = _covariance_of_model(effects)
    if covariance is None:
        return np.full(len(rows), np.nan)
    return np.maximum(covariance.entries(rows, rows), 0.0) + _along_effects(effects, rows)


def _along_effects(effects: ItemEffects, rows: np.ndarray) -> np.ndarray:
    """What not knowing effects of comparisons adds to the variance of abilities."""
    if effects.abilities is None:
        return np.zeros(len(rows))
    return np.sum(effects.abilities.along_effects[rows] ** 2, axis=1)


def difference_variance(effects: ItemEffects, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Variance of the difference of abilities, where some are open; NaN of two components."""
    assert effects.components is not None
    component = effects.components.of_item
    variance = own_variance(effects, first) + own_variance(effects, second)
    variance = variance - 2 * shared_variance(effects, first, second)
    together = component[first] == component[second]
    return np.where(together, np.maximum(variance, 0.0), np.nan)
