"""The ridge, chosen from the data.

Held-out log-loss on pairs of new items, for thirty ridges at once.

Items are assign_folds into folds; a fold is tested on the comparisons within it, after a fit to those
without it. In coordinates in which the scatter of all differences is diagonal, a ridge only adds to
that diagonal: one factorisation preconditions the Newton steps of every ridge and every fold, which
are taken side by side.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from pairscore.core.links import Link
from pairscore.core.sums import Pairs, difference_scatter

N_VALUES = 30
DECADES = 6.0
N_FOLDS = 5
FEW_PER_FEATURE = 5  # comparisons; with fewer the folds say too little
ENOUGH_HELD_OUT = 2000  # comparisons; with fewer the items are assign_folds again
MAX_DEALS = 4
EVERY_FOLD = -1  # of the origin, where differences are given instead of items
GAP = 1e-6  # to the optimum, per comparison: far below what tells two ridges apart
MAX_STEPS = 50
MAX_PRODUCTS = 100
PRECISION = 0.1  # of a Newton step


@dataclass(frozen=True)
class RidgeCurve:
    """Held-out log-loss per comparison for every ridge tried.

    ``n_held_out`` is 0 where folds were impossible and ``chosen`` is the fallback.
    """

    l2: np.ndarray
    loss: np.ndarray
    chosen: float
    n_held_out: float

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "l2": self.l2.tolist(),
            "loss": self.loss.tolist(),
            "chosen": self.chosen,
            "n_held_out": self.n_held_out,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "RidgeCurve":
        """A curve from what :meth:`to_record` gave."""
        return cls(
            np.array(record["l2"], dtype=float),
            np.array(record["loss"], dtype=float),
            float(record["chosen"]),
            float(record["n_held_out"]),
        )

    @property
    def in_words(self) -> str:
        if self.n_held_out == 0:
            return (
                f"chosen as l2 = {self.chosen:.4g}, one for each feature, because there are too few"
                " comparisons for item folds"
            )
        where = int(np.argmin(self.loss))
        edge = (
            ", the largest tried"
            if where == len(self.l2) - 1
            else ", the smallest tried"
            if where == 0
            else ""
        )
        return (
            f"chosen as l2 = {self.chosen:.4g}{edge}, by held-out log-loss ({self.loss[where]:.4f})"
            f" on {self.n_held_out:,.0f} comparisons of new items"
        )


@dataclass(frozen=True)
class Rows:
    """Some pairs as rows: who meets whom, extra columns such as the side, how often low won and
    lost.
    """

    meet: sparse.csr_array
    extra: np.ndarray
    win: np.ndarray
    lose: np.ndarray

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows(self.meet[rows], self.extra[rows], self.win[rows], self.lose[rows])

    @property
    def number(self) -> float:
        return float((self.win + self.lose).sum())


def choose_ridge(
    X: np.ndarray,
    mean: np.ndarray,
    sd: np.ndarray,
    pairs: Pairs,
    link: Link,
    deal: Callable[[], np.ndarray],
    weight_unit: float = 1.0,
) -> RidgeCurve:
    """The ridge of smallest held-out log-loss.

    ``deal()`` gives each item's fold, again and again until enough were held out.
    """
    if float(pairs.number.sum()) < FEW_PER_FEATURE * X.shape[1] * weight_unit or not sd.any():
        return fallback(X.shape[1])
    unit = np.where(sd > 0, sd, np.inf)  # a constant feature has no part in any difference
    spread, axes = eigh(difference_scatter(X, mean, pairs, pairs.number) / np.outer(unit, unit))
    spread = np.maximum(spread, 0.0)
    curvature = 4 * float(link.pdf(0.0)) ** 2
    l2 = 10 * curvature * spread[-1] * np.logspace(-DECADES, 0, N_VALUES)
    rows = as_rows(pairs, len(X))
    path = Path(X, axes / unit[:, None], spread, float(pairs.number.sum()), link, l2)
    loss, held_out, params = (
        np.zeros(N_VALUES),
        0.0,
        np.zeros((len(sd) + rows.extra.shape[1], N_VALUES)),
    )
    for _ in range(MAX_DEALS):
        for train, test in split_rows(rows, pairs, deal()):
            params = path.fit(train, params)  # the last fold's fit is a good start
            loss += path.loss(test, params)
            held_out += test.number
        if held_out >= ENOUGH_HELD_OUT * weight_unit:
            break
    if held_out == 0:  # no fold of items has a comparison inside
        return fallback(X.shape[1])
    return RidgeCurve(l2, loss / held_out, float(l2[np.argmin(loss)]), held_out / weight_unit)


def fallback(n_features: int) -> RidgeCurve:
    """A prior under which scores have a variance of about one, whatever the number of features."""
    return RidgeCurve(np.empty(0), np.empty(0), float(n_features), 0.0)


def split_rows(rows: Rows, pairs: Pairs, fold: np.ndarray) -> Iterator[tuple[Rows, Rows]]:
    """Training rows (neither item held out) and test rows (both), fold by fold."""
    low, high = fold[pairs.low], fold[pairs.high]
    for number in range(N_FOLDS):
        within = [(place == number) | (place == EVERY_FOLD) for place in (low, high)]
        train, test = (
            rows.take(np.tile(mask, len(pairs.side)))
            for mask in ((low != number) & (high != number), within[0] & within[1])
        )
        if train.number > 0 and test.number > 0:
            yield train, test


def as_rows(pairs: Pairs, n_items: int) -> Rows:
    """One row for each pair on each side that it is compared on."""
    n = len(pairs.high)
    ends = np.arange(n + 1) * 2
    meet = sparse.csr_array(
        (np.tile([1.0, -1.0], n), np.column_stack([pairs.low, pairs.high]).ravel(), ends),
        shape=(n, n_items),
    )
    if len(pairs.side) == 1:
        return Rows(meet, np.empty((n, 0)), pairs.win[0], pairs.lose[0])
    return Rows(
        sparse.vstack([meet, meet], format="csr"),
        np.repeat(pairs.side, n)[:, None],
        pairs.win.ravel(),
        pairs.lose.ravel(),
    )


@dataclass(frozen=True)
class Path:
    """Ridge fits for all ``l2`` (columns) side by side, in coordinates ``a`` with coef = axes a.

    Extra coordinates have no ridge.
    """

    X: np.ndarray
    axes: np.ndarray
    spread: np.ndarray
    n_comparisons: float
    link: Link
    l2: np.ndarray

    def predictor(self, rows: Rows, params: np.ndarray) -> np.ndarray:
        d = len(self.spread)
        return rows.meet @ (self.X @ (self.axes @ params[:d])) + rows.extra @ params[d:]

    def pull_back(
        self, rows: Rows, values: np.ndarray, params: np.ndarray, l2: np.ndarray
    ) -> np.ndarray:
        """Transpose of :meth:`predictor`, plus the ridge's share."""
        on_coef = (
            self.axes.T @ (self.X.T @ (rows.meet.T @ values)) + l2 * params[: len(self.spread)]
        )
        return np.vstack([on_coef, rows.extra.T @ values])

    def loss(self, rows: Rows, params: np.ndarray) -> np.ndarray:
        """Negative log-likelihood of each column."""
        eta = self.predictor(rows, params)
        return -(rows.win @ self.link.log_cdf(eta) + rows.lose @ self.link.log_cdf(-eta))

    def fit(self, rows: Rows, start: np.ndarray) -> np.ndarray:
        """Newton steps for all columns, until each is close to its optimum.

        Half of gradient times step is the gap.
        """
        params, columns, here, l2 = start.copy(), np.arange(len(self.l2)), start, self.l2
        score, weight, _ = self.link.newton(
            self.predictor(rows, here), rows.win[:, None], rows.lose[:, None]
        )
        gradient = self.pull_back(rows, -score, here, l2)
        for _ in range(MAX_STEPS):
            step = self._newton_step(rows, weight, gradient, l2)
            params[:, columns] = here - step
            far = np.sum(gradient * step, axis=0) > 2 * GAP * rows.number
            if not far.any():
                break
            columns, l2 = columns[far], l2[far]
            here, gradient, weight = self._advance(
                rows, here[:, far], gradient[:, far], step[:, far], l2
            )
            params[:, columns] = here
        return params

    def _scale(self, weight: np.ndarray, l2: np.ndarray, n_extra: int) -> np.ndarray:
        """About the diagonal of the Hessian.

        The differences of these rows are spread as all are.
        """
        weight = weight.sum(axis=0)
        return np.vstack(
            [np.outer(self.spread / self.n_comparisons, weight) + l2, np.tile(weight, (n_extra, 1))]
        )

    def _newton_step(
        self, rows: Rows, weight: np.ndarray, gradient: np.ndarray, l2: np.ndarray
    ) -> np.ndarray:
        """Solve Hessian * step = gradient for every column by preconditioned conjugate gradients."""
        scale = self._scale(weight, l2, rows.extra.shape[1])
        step, residual = np.zeros_like(gradient), gradient.copy()
        direction = residual / scale
        size = first = np.sum(residual * direction, axis=0)
        for _ in range(MAX_PRODUCTS):
            image = self.pull_back(rows, weight * self.predictor(rows, direction), direction, l2)
            length = size / np.maximum(np.sum(direction * image, axis=0), 1e-300)
            step += length * direction
            residual -= length * image
            towards = residual / scale
            before, size = size, np.sum(residual * towards, axis=0)
            if np.all(size <= PRECISION**2 * first):
                break
            direction = towards + size / np.maximum(before, 1e-300) * direction
        return step

    def _advance(
        self, rows: Rows, here: np.ndarray, gradient: np.ndarray, step: np.ndarray, l2: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Go along the steps, back a little where the slope there says that one went too far."""
        downhill, length = np.sum(gradient * step, axis=0), np.ones(step.shape[1])
        for _ in range(30):
            there = here - length * step
            score, weight, _ = self.link.newton(
                self.predictor(rows, there), rows.win[:, None], rows.lose[:, None]
            )
            slope = self.pull_back(rows, -score, there, l2)
            uphill = -np.sum(slope * step, axis=0)
            too_far = uphill > 0.5 * downhill
            if not too_far.any():
                break
            length = np.where(
                too_far, length * downhill / (downhill + np.maximum(uphill, 0)), length
            )
        return there, slope, weight
