"""The ridge, chosen from the data: held-out log-loss on pairs of new items, for thirty ridges.

Items are assigned to folds; a fold is tested on the comparisons within it, after a fit to those
without it. In coordinates in which the scatter of all differences is diagonal, a ridge only adds to
that diagonal: one factorisation preconditions the Newton steps of every ridge and every fold, which
are taken side by side.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pairscore.core.links import Link
from pairscore.core.newton import Derivatives, search_by_slope
from pairscore.core.sums import Pairs, difference_scatter

N_VALUES = 30
DECADES = 6.0
N_FOLDS = 5
FEW_PER_FEATURE = 5  # comparisons; with fewer the folds say too little
ENOUGH_HELD_OUT = 2000  # comparisons; with fewer, items are assigned to folds again
MAX_ASSIGNMENTS = 4
EVERY_FOLD = -1  # of the origin, where differences are given instead of items
GAP = 1e-6  # to the optimum, per comparison: far below what tells two ridges apart
MAX_STEPS = 50
MAX_PRODUCTS = 100
PRECISION = 0.1  # of a Newton step


@dataclass(frozen=True)
class RidgeCurve:
    """Held-out log-loss per comparison (``loss``) for every ridge tried (``l2``), both (30).

    ``chosen`` is the ridge of smallest loss. ``n_held_out`` comparisons were tested; it is 0 where
    folds were impossible and ``chosen`` is the default.
    """

    l2: np.ndarray
    loss: np.ndarray
    chosen: float
    n_held_out: float

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        arrays = {"l2": self.l2.tolist(), "loss": self.loss.tolist()}
        return arrays | {"chosen": self.chosen, "n_held_out": self.n_held_out}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "RidgeCurve":
        """A curve from what :meth:`to_record` gave."""
        l2, loss = (np.array(record[name], dtype=float) for name in ("l2", "loss"))
        return cls(l2, loss, float(record["chosen"]), float(record["n_held_out"]))

    @property
    def in_words(self) -> str:
        if self.n_held_out == 0:
            return (
                f"chosen as l2 = {self.chosen:.4g}, one for each feature, because there are too few"
                " comparisons for item folds"
            )
        best, last = int(np.argmin(self.loss)), len(self.l2) - 1
        edge = {last: ", the largest tried", 0: ", the smallest tried"}.get(best, "")
        return (
            f"chosen as l2 = {self.chosen:.4g}{edge}, by held-out log-loss ({self.loss[best]:.4f})"
            f" on {self.n_held_out:,.0f} comparisons of new items"
        )


def default_ridge(n_features: int) -> RidgeCurve:
    """A prior under which scores have a variance of about one, whatever the number of features."""
    return RidgeCurve(np.empty(0), np.empty(0), float(n_features), 0.0)


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

    @property
    def number(self) -> float:
        """How many comparisons the rows stand for."""
        return float((self.win + self.lose).sum())


def choose_ridge(
    X: np.ndarray,
    mean: np.ndarray,
    sd: np.ndarray,
    pairs: Pairs,
    link: Link,
    draw_folds: Callable[[], np.ndarray],
    weight_unit: float = 1.0,
) -> RidgeCurve:
    """The ridge of smallest held-out log-loss.

    Parameters
    ----------
    X : array (N x d)
        Features, with ``mean`` (d) and ``sd`` (d) of the compared items.
    pairs, link : Pairs and Link
    draw_folds : function without arguments
        Gives the fold of every item (N), called again until enough comparisons were held out.
    weight_unit : float
        Average weight of a comparison.
    """
    if float(pairs.number.sum()) < FEW_PER_FEATURE * X.shape[1] * weight_unit or not sd.any():
        return default_ridge(X.shape[1])
    path = RidgePath.of_pairs(X, mean, sd, pairs, link)
    rows = PairRows.of_pairs(pairs, len(X))
    loss, held_out = np.zeros(N_VALUES), 0.0
    params = np.zeros((len(sd) + rows.extra.shape[1], N_VALUES))
    for _ in range(MAX_ASSIGNMENTS):
        for train, test in split_rows(rows, pairs, draw_folds()):
            params = path.fit(train, params)  # the last fold's fit is a good start
            loss += path.loss(test, params)
            held_out += test.number
        if held_out >= ENOUGH_HELD_OUT * weight_unit:
            break
    if held_out == 0:  # no fold of items has a comparison inside
        return default_ridge(X.shape[1])
    best = float(path.l2[np.argmin(loss)])
    return RidgeCurve(path.l2, loss / held_out, best, held_out / weight_unit)


def split_rows(
    rows: PairRows, pairs: Pairs, fold: np.ndarray
) -> Iterator[tuple[PairRows, PairRows]]:
    """Training rows (neither item held out) and test rows (both), fold by fold."""
    folds = fold[pairs.low], fold[pairs.high]
    for number in range(N_FOLDS):
        outside = np.all([of_item != number for of_item in folds], axis=0)
        inside = np.all(
            [(of_item == number) | (of_item == EVERY_FOLD) for of_item in folds], axis=0
        )
        train, test = (rows.take(np.tile(mask, len(pairs.side))) for mask in (outside, inside))
        if train.number > 0 and test.number > 0:
            yield train, test


@dataclass(frozen=True)
class RidgePath:
    """Ridge fits for all ``l2`` (30 columns) side by side, in coordinates a with coef = axes a.

    ``axes`` (d x d) make the scatter of all differences diagonal, with ``spread`` (d) as its
    diagonal. Extra coordinates, such as the side effect, have no ridge.
    """

    X: np.ndarray
    axes: np.ndarray
    spread: np.ndarray
    n_comparisons: float
    link: Link
    l2: np.ndarray

    @classmethod
    def of_pairs(
        cls, X: np.ndarray, mean: np.ndarray, sd: np.ndarray, pairs: Pairs, link: Link
    ) -> "RidgePath":
        """Ridges over six decades, up to ten times the largest curvature of the likelihood."""
        unit = np.where(sd > 0, sd, np.inf)  # a constant feature has no part in any difference
        scatter = difference_scatter(X, mean, pairs, pairs.number)
        spread, axes = np.linalg.eigh(scatter / np.outer(unit, unit))
        spread, curvature = np.maximum(spread, 0.0), 4 * float(link.pdf(0.0)) ** 2
        l2 = 10 * curvature * spread[-1] * np.logspace(-DECADES, 0, N_VALUES)
        return cls(X, axes / unit[:, None], spread, float(pairs.number.sum()), link, l2)

    def predictor(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """Score difference of every row, for every column of parameters (d + e)."""
        d = len(self.spread)
        return rows.incidence @ (self.X @ (self.axes @ params[:d])) + rows.extra @ params[d:]

    def pull_back(
        self, rows: PairRows, values: np.ndarray, params: np.ndarray, l2: np.ndarray
    ) -> np.ndarray:
        """Transpose of :meth:`predictor`, plus the ridge's share."""
        on_coef = self.axes.T @ (self.X.T @ (rows.incidence.T @ values))
        on_coef += l2 * params[: len(self.spread)]
        return np.vstack([on_coef, rows.extra.T @ values])

    def loss(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """Negative log-likelihood of each column."""
        eta = self.predictor(rows, params)
        return -(rows.win @ self.link.log_cdf(eta) + rows.lose @ self.link.log_cdf(-eta))

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
        """Solve Hessian * step = gradient for all columns by preconditioned CG."""
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
                break
            direction = preconditioned + size / np.maximum(last_size, 1e-300) * direction
        return step
