"""Fits with thirty ridges side by side, and what they lose on comparisons that they have not seen.

In coordinates in which the scatter of all differences is diagonal, a ridge only adds to that
diagonal: one factorisation preconditions the Newton steps of every ridge, for any part of the
comparisons.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from pairscore.core.links import Link
from pairscore.core.newton import Derivatives, search_by_slope
from pairscore.core.sums import Pairs, Spread, difference_scatter
from pairscore.core.whitening import TOLERANCE

N_VALUES = 30
DECADES = 6.0
COINS = 0.02  # outcomes that are taken for coin tosses
LARGEST_LOSS = -np.log(COINS / 2)  # of one comparison, then
GAP = 1e-6  # to the optimum, per comparison: far below what tells two ridges apart
MAX_STEPS = 50
MAX_PRODUCTS = 100
ROUNDING = 1e-14  # of a Hessian, relative to its largest entry
PRECISION = 0.1  # of a Newton step by conjugate gradients
SMALL = 2_000_000  # rows times parameters squared, up to which Hessians are formed


@dataclass(frozen=True)
class PairRows:
    """Some pairs as R rows, one for each side that a pair is compared on.

    ``incidence`` (R x N, sparse) has 1 at low and -1 at high; ``extra`` (R x e) has columns such as
    the side; ``win`` and ``lose`` (R) say how often low won and lost.
    """

    incidence: sparse.csr_array
    extra: np.ndarray
    win: np.ndarray
    lose: np.ndarray

    @classmethod
    def of_pairs(cls, pairs: Pairs, n_items: int) -> "PairRows":
        n = len(pairs.high)
        ends = np.column_stack([pairs.low, pairs.high]).ravel()
        entries = (np.tile([1.0, -1.0], n), ends, np.arange(n + 1) * 2)
        incidence = sparse.csr_array(entries, shape=(n, n_items))
        if len(pairs.side) == 1:
            return cls(incidence, np.empty((n, 0)), pairs.win[0], pairs.lose[0])
        incidence = sparse.vstack([incidence, incidence], format="csr")
        side = np.repeat(pairs.side, n)[:, None]
        return cls(incidence, side, pairs.win.ravel(), pairs.lose.ravel())

    def take(self, rows: np.ndarray) -> "PairRows":
        return PairRows(self.incidence[rows], self.extra[rows], self.win[rows], self.lose[rows])

    def times(self, share: np.ndarray) -> "PairRows":
        """The same rows, each counted as a share (R) of itself."""
        return replace(self, win=self.win * share, lose=self.lose * share)

    @property
    def number(self) -> float:
        """How many comparisons the rows stand for."""
        return float((self.win + self.lose).sum())


@dataclass(frozen=True)
class Cells:
    """Comparisons of one pair on one side with one outcome: equal, so that their number is enough.

    Of each cell (C): how many comparisons it has and their total ``amount``, the row of
    :class:`PairRows` that it belongs to, and whether low won (1, or 0.5 in a tie). Comparisons of a
    cell with different weights are taken for comparisons of their average weight.
    """

    count: np.ndarray
    amount: np.ndarray
    row: np.ndarray
    win: np.ndarray

    @classmethod
    def of_comparisons(
        cls,
        left: np.ndarray,
        right: np.ndarray,
        outcome: np.ndarray,
        count: np.ndarray | None,
        amount: np.ndarray,
        pairs: Pairs,
        rank: np.ndarray,
    ) -> "Cells":
        """From M comparisons, in an order by ``rank`` (N) of the items instead of their rows."""
        distinct, key = left != right, pairs.n_items * pairs.low.astype(np.int64) + pairs.high
        low, high = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
        pair = np.searchsorted(key, pairs.n_items * low + high)
        is_high = (left > right) & (len(pairs.side) > 1)  # low was on the right
        row = pair + len(pairs.high) * is_high
        cell = (3 * row + 1 + np.where(left > right, -outcome, outcome))[distinct]
        size, count = 3 * pairs.win.size, np.ones(len(left)) if count is None else count
        count, amount = (np.bincount(cell, of[distinct], size) for of in (count, amount))
        row, won = np.divmod(np.flatnonzero(count), 3)
        side, pair = np.divmod(row, len(pairs.high))
        first, second = rank[pairs.low[pair]], rank[pairs.high[pair]]
        turned = first > second
        keys = (np.where(turned, 2 - won, won), side ^ turned)
        order = np.lexsort((*keys, np.maximum(first, second), np.minimum(first, second)))
        used = (3 * row + won)[order]
        whole = np.rint(count[used]).astype(np.int64)
        return cls(whole, amount[used], row[order], 0.5 * won[order])

    def some(self, rows: PairRows, number: np.ndarray) -> PairRows:
        """The rows with so many comparisons of each cell; those without any are left out."""
        amount, n_rows = self.amount * number / self.count, len(rows.win)
        win = np.bincount(self.row, amount * self.win, n_rows)
        lose = np.bincount(self.row, amount * (1 - self.win), n_rows)
        return replace(rows, win=win, lose=lose).take(win + lose > 0)


def ridges(largest: float, link: Link) -> np.ndarray:
    """Thirty ridges over six decades, up to ten times the largest curvature of the likelihood.

    ``largest`` is the largest eigenvalue of the scatter of all differences of standardised items.
    """
    curvature = 4 * float(link.pdf(0.0)) ** 2
    return 10 * curvature * largest * np.logspace(-DECADES, 0, N_VALUES)


def standard_scatter(X: np.ndarray, pairs: Pairs, center: Spread) -> tuple[np.ndarray, np.ndarray]:
    """Scatter of all differences of standardised items (d x d), and the units of the features."""
    unit = np.where(center.sd > 0, center.sd, np.inf)  # a constant feature differs nowhere
    scatter = difference_scatter(X, center.mean, pairs, pairs.number)
    return scatter / np.outer(unit, unit), unit


@dataclass(frozen=True)
class RidgePath(ABC):
    """Fits with all ridges ``l2`` (30) side by side: a column of parameters for each.

    ``Z`` (N x r) has the items in coordinates in which the ridge is l2 times the identity. Extra
    coordinates, such as the side effect, have no ridge.
    """

    Z: np.ndarray
    link: Link
    l2: np.ndarray

    @abstractmethod
    def fit(self, rows: PairRows, start: np.ndarray) -> np.ndarray:
        """Parameters (r + e, 30) fitted to some rows."""

    def predictor(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """Score difference of every row, for every column of parameters (r + e)."""
        r = self.Z.shape[1]
        return rows.incidence @ (self.Z @ params[:r]) + rows.extra @ params[r:]

    def losses(self, rows: PairRows, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-loss of a win and of a loss of low (R x columns each), a share COINS of the outcomes
        taken for coin tosses.

        -log((1 - COINS) f(eta) + COINS / 2): no comparison loses more than LARGEST_LOSS, and one
        that is far off has no part in the choice.
        """
        p = (1 - COINS) * self.link.cdf(self.predictor(rows, params)) + COINS / 2
        return -np.log(p), -np.log1p(-p)

    def held_out_loss(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """Sum of :meth:`losses` over the comparisons, for each column."""
        win, lose = self.losses(rows, params)
        return rows.win @ win + rows.lose @ lose

    def surplus(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """By how much the log-loss of each row exceeds LARGEST_LOSS, for one column (R)."""
        eta = self.predictor(rows, params)[:, 0]
        win, lose = (np.maximum(-self.link.log_cdf(e) - LARGEST_LOSS, 0.0) for e in (eta, -eta))
        return rows.win * win + rows.lose * lose


@dataclass(frozen=True)
class LikelihoodPath(RidgePath):
    """Maximum likelihood, in coordinates in which the scatter of all differences is diagonal.

    ``spread`` (r) is that diagonal, and r the number of directions in which items differ.
    """

    spread: np.ndarray
    n_comparisons: float

    @classmethod
    def of_pairs(cls, X: np.ndarray, pairs: Pairs, center: Spread, link: Link) -> "LikelihoodPath":
        scatter, unit = standard_scatter(X, pairs, center)
        spread, axes = np.linalg.eigh(scatter)
        largest = max(float(spread[-1]), 0.0)
        seen = spread > TOLERANCE * largest
        axes = axes[:, seen] / unit[:, None]
        Z, n_comparisons = X @ axes - center.mean @ axes, float(pairs.number.sum())
        return cls(Z, link, ridges(largest, link), spread[seen], n_comparisons)

    def pull_back(
        self, rows: PairRows, values: np.ndarray, params: np.ndarray, l2: np.ndarray
    ) -> np.ndarray:
        """Transpose of :meth:`predictor`, plus the ridge's share."""
        on_coef = self.Z.T @ (rows.incidence.T @ values)
        on_coef += l2 * params[: len(self.spread)]
        return np.vstack([on_coef, rows.extra.T @ values])

    def derivatives(self, rows: PairRows, l2: np.ndarray, params: np.ndarray) -> Derivatives:
        """Gradient of every ridge's loss (columns), and information of each row (R x columns)."""
        score, information, _ = self.link.newton(
            self.predictor(rows, params), rows.win[:, None], rows.lose[:, None]
        )
        return Derivatives(self.pull_back(rows, -score, params, l2), information)

    def fit(self, rows: PairRows, start: np.ndarray) -> np.ndarray:
        """Newton steps for all columns, until each is close to its optimum.

        Half of gradient times step is the gap. Columns that are close drop out, so that the others
        cost less: that is why this loop is not :func:`pairscore.core.newton.minimise`.
        """
        params, columns, l2, current = start.copy(), np.arange(len(self.l2)), self.l2, start
        here = self.derivatives(rows, l2, current)
        for _ in range(MAX_STEPS):
            step = self._newton_step(rows, here, l2)
            params[:, columns] = current - step
            far = np.sum(here.gradient * step, axis=0) > 2 * GAP * rows.number
            if not far.any():
                break
            columns, l2 = columns[far], l2[far]
            here = Derivatives(here.gradient[:, far], here.information)
            at = partial(self.derivatives, rows, l2)
            current, here = search_by_slope(at, current[:, far], here, step[:, far])
            params[:, columns] = current
        return params

    def _hessian_diagonal(
        self, information: np.ndarray, l2: np.ndarray, n_extra: int
    ) -> np.ndarray:
        """About the diagonal of the Hessian: differences of these rows are spread as all are."""
        total = information.sum(axis=0)
        on_coef = np.outer(self.spread / self.n_comparisons, total) + l2
        return np.vstack([on_coef, np.tile(total, (n_extra, 1))])

    def _newton_step(self, rows: PairRows, here: Derivatives, l2: np.ndarray) -> np.ndarray:
        """Solve Hessian * step = gradient for all columns."""
        small = len(rows.win) * len(here.gradient) ** 2 <= SMALL
        return (self._solve if small else self._solve_roughly)(rows, here, l2)

    def _solve(self, rows: PairRows, here: Derivatives, l2: np.ndarray) -> np.ndarray:
        """By the Hessians themselves: where data are few, conjugate gradients take many steps."""
        size, n_ridges = len(here.gradient), len(l2)
        hessians = np.zeros((n_ridges, size, size))
        at_once = max(SMALL // (size * n_ridges), 1)
        for first in range(0, len(rows.win), at_once):
            some = slice(first, first + at_once)
            differences = np.hstack([rows.incidence[some] @ self.Z, rows.extra[some]])
            hessians += (here.information[some].T[:, None] * differences.T) @ differences
        r, diagonal = np.arange(len(self.spread)), np.arange(size)
        hessians[:, r, r] += l2[:, None]
        # columns without a ridge that no comparison tells anything of
        entries = hessians[:, diagonal, diagonal]
        hessians[:, diagonal, diagonal] += ROUNDING * entries.max(axis=1, keepdims=True)
        return np.linalg.solve(hessians, here.gradient.T[:, :, None])[:, :, 0].T

    def _solve_roughly(self, rows: PairRows, here: Derivatives, l2: np.ndarray) -> np.ndarray:
        """By preconditioned conjugate gradients, as long as these come to an end."""
        diagonal = self._hessian_diagonal(here.information, l2, rows.extra.shape[1])
        step, residual = np.zeros_like(here.gradient), here.gradient.copy()
        direction = residual / diagonal
        size = first_size = np.sum(residual * direction, axis=0)
        for _ in range(MAX_PRODUCTS):
            values = here.information * self.predictor(rows, direction)
            image = self.pull_back(rows, values, direction, l2)
            length = size / np.maximum(np.sum(direction * image, axis=0), 1e-300)
            step += length * direction
            residual -= length * image
            preconditioned = residual / diagonal
            last_size, size = size, np.sum(residual * preconditioned, axis=0)
            if np.all(size <= PRECISION**2 * first_size):
                return step
            direction = preconditioned + size / np.maximum(last_size, 1e-300) * direction
        return self._solve(rows, here, l2)
