"""The ridge, chosen from the data: log-loss on held-out comparisons, for thirty ridges.

For new items, items are dealt into folds: a fold is tested on the comparisons that touch it, after
a fit to the others. For known items, comparisons are dealt. In coordinates in which the scatter of
all differences is diagonal, a ridge only adds to that diagonal: one factorisation preconditions the
Newton steps of every ridge and every fold, which are taken side by side.

No single item or comparison decides: one outcome in fifty is taken for a coin toss, so that the
loss of a comparison is bounded, and among ridges that the data cannot tell apart the usual one is
preferred. Nothing depends on the order of items or comparisons.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from pairscore.core.links import Link
from pairscore.core.newton import Derivatives, search_by_slope
from pairscore.core.sums import Pairs, difference_scatter, sum_sides
from pairscore.core.whitening import TOLERANCE
from pairscore.data.folds import assign_folds, item_ranks, number_units
from pairscore.errors import OutlyingItemsWarning, PairscoreWarning, first_few, plural

if TYPE_CHECKING:
    from pairscore.estimators.fit_data import FitData
    from pairscore.estimators.settings import Settings

N_VALUES = 30
DECADES = 6.0
N_FOLDS = 5
FEW_ITEMS = 10  # with fewer, held-out items say too little about new ones
ENOUGH_HELD_OUT = 2000  # comparisons; with fewer, the folds are dealt again
MAX_DEALS = 4
MANY_PER_FEATURE = 5  # comparisons; with fewer, data may be nearly separated
COINS = 0.02  # outcomes that are taken for coin tosses
LARGEST_LOSS = -np.log(COINS / 2)  # of one comparison, then
# standard deviation of the logarithm of the ridge around the usual one: a prior
PRIOR_WIDTH = 1.5
# an item is outlying if its held-out comparisons lose so much more than LARGEST_LOSS
OUTLYING_ON_AVERAGE, OUTLYING_IN_ALL = 0.5, 5.0
GAP = 1e-6  # to the optimum, per comparison: far below what tells two ridges apart
MAX_STEPS = 50
MAX_PRODUCTS = 100
PRECISION = 0.1  # of a Newton step


@dataclass(frozen=True)
class RidgeCurve:
    """Held-out log-loss per comparison (``loss``) for every ridge tried (``l2``), both (30).

    ``loss`` is the bounded one of :meth:`RidgePath.held_out_loss`. ``chosen`` is the ridge that was
    taken. ``n_held_out`` comparisons were tested, of held-out ``"items"`` or held-out
    ``"comparisons"`` of known items (``held_out``); it is 0 where nothing could be held out and
    ``chosen`` is the usual ridge. ``reason`` says why it is not what was asked for, and
    ``outliers`` names the items whose comparisons their features predict far worse than chance.
    """

    l2: np.ndarray
    loss: np.ndarray
    chosen: float
    n_held_out: float
    held_out: str = "items"
    reason: str = ""
    outliers: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        lists = {"l2": self.l2.tolist(), "loss": self.loss.tolist()}
        return vars(self) | lists | {"outliers": list(self.outliers)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "RidgeCurve":
        """A curve from what :meth:`to_record` gave; older ones say less."""
        arrays = {name: np.array(record[name], dtype=float) for name in ("l2", "loss")}
        return cls(**record | arrays | {"outliers": tuple(record.get("outliers", ()))})

    @property
    def place(self) -> int:
        """Which of the ridges was chosen."""
        return int(np.argmin(np.abs(self.l2 - self.chosen)))

    @property
    def in_words(self) -> str:
        because = f", because {self.reason}" if self.reason else ""
        if self.n_held_out == 0:
            return f"chosen as l2 = {self.chosen:.4g}, one for each feature{because}"
        last = len(self.l2) - 1
        edge = {last: ", the largest tried", 0: ", the smallest tried"}.get(self.place, "")
        what = {"items": "comparisons with new items"}.get(
            self.held_out, "new comparisons of known items"
        )
        return (
            f"chosen as l2 = {self.chosen:.4g}{edge}, by held-out log-loss"
            f" ({self.loss[self.place]:.4f}, {self.n_held_out:,.0f} tests on {what}){because}"
        )

    @property
    def notes(self) -> list[tuple[type[PairscoreWarning], str]]:
        """What the user should know of outlying items, as a warning class and a text."""
        if not self.outliers:
            return []
        one = len(self.outliers) == 1
        text = (
            f"{plural(len(self.outliers), 'item')} {'is' if one else 'are'} far from what the"
            f" features predict: {first_few(map(repr, self.outliers))}; check"
            f" {'its' if one else 'their'} features, which may be in another unit."
            f" {'It' if one else 'They'} had little say in the choice of the ridge, but full weight"
            " in the fit."
        )
        return [(OutlyingItemsWarning, text)]


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


Split = tuple[PairRows, PairRows]  # to fit to, and to test on
Deal = Callable[[PairRows], Iterator[Split]]  # splits in which every comparison is tested once


def choose_ridge(
    data: "FitData", settings: "Settings", rng: np.random.Generator, item_groups: np.ndarray | None
) -> RidgeCurve:
    """The ridge that does best on what is held out; it means the same to every method.

    Items are held out, or comparisons: for known items, for plain differences, which have no items,
    and where items are few. Items of one of the ``item_groups`` (N) are held out together.
    """
    pairs, votes, reason = data.pairs, data.comparisons, ""
    net = sum_sides(pairs.win - pairs.lose)
    rank = item_ranks(data.X, pairs.low, pairs.high, net, pairs.number)
    unit = number_units(rank, data.tally.exposures > 0, item_groups)
    if data.has_items and not settings.l2_for_known:
        if data.n_items < FEW_ITEMS:
            reason = f"{plural(data.n_items, 'item')} say too little about new ones"
        elif unit.max() == 0:
            reason = "all items are of one group"
    what, deal = "items", partial(deal_items, pairs=pairs, unit=unit, rng=rng)
    if settings.l2_for_known or not data.has_items or reason:
        columns = votes.left, votes.right, votes.outcome, votes.count, data.amount
        cells = Cells.of_comparisons(*columns, pairs, rank)
        what, deal = "comparisons", partial(deal_comparisons, cells=cells, rng=rng)
    curve, rows = ridge_of_deals(data, settings.link, deal)
    names = votes.items.names if data.has_items and len(rows) else []
    outliers = tuple(str(names[row]) for row in rows) if names else ()
    return replace(curve, held_out=what, reason=curve.reason or reason, outliers=outliers)


def ridge_of_deals(data: "FitData", link: Link, deal: Deal) -> tuple[RidgeCurve, np.ndarray]:
    """The ridge l2 of smallest M loss(l2) + (log(l2 / d) / PRIOR_WIDTH)^2 / 2.

    The first term is the held-out log-loss of all comparisons, the second a prior around the usual
    ridge: worth about one comparison for each decade, it decides where the data do not. Folds are
    dealt again until enough comparisons were held out. Also returns the rows of outlying items.
    """
    unit, none = data.weight_unit, np.empty(0, dtype=int)
    path, usual = RidgePath.of_data(data, link), data.X.shape[1] * unit
    if not path.l2.all():
        return _usual_ridge(usual, "no feature differs within a comparison"), none
    rows = PairRows.of_pairs(data.pairs, len(data.X))
    loss, held_out, tested = np.zeros(N_VALUES), 0.0, []
    zero = params = np.zeros((len(path.spread) + rows.extra.shape[1], N_VALUES))
    # the last fold's fit is a good start, but far off where data are nearly separated
    near = path.n_comparisons >= MANY_PER_FEATURE * len(path.spread) * unit
    for _ in range(MAX_DEALS):
        for train, test in deal(rows):
            params = path.fit(train, params if near else zero)
            loss += path.held_out_loss(test, params)
            held_out += test.number
            tested.append((test, params))
        if held_out >= ENOUGH_HELD_OUT * unit:
            break
    if held_out == 0:
        return _usual_ridge(usual, "there are too few comparisons to hold some out"), none
    loss /= held_out
    prior = 0.5 * (np.log(path.l2 / usual) / PRIOR_WIDTH) ** 2
    place = int(np.argmin(path.n_comparisons / unit * loss + prior))
    curve = RidgeCurve(path.l2, loss, float(path.l2[place]), held_out / unit)
    at_chosen = [(test, params[:, [place]]) for test, params in tested]
    return curve, outlying_items(path, at_chosen, path.n_comparisons / held_out / unit)


def _usual_ridge(usual: float, reason: str) -> RidgeCurve:
    """A prior under which scores have a variance of about one, whatever the number of features."""
    return RidgeCurve(np.empty(0), np.empty(0), float(usual), 0.0, reason=reason)


def outlying_items(
    path: "RidgePath", tested: list[tuple[PairRows, np.ndarray]], share: float
) -> np.ndarray:
    """Rows of the items whose comparisons their features predict far worse than chance.

    A comparison has a surplus where its log-loss exceeds LARGEST_LOSS. Both of its items may be to
    blame, and the one with the larger surplus is. ``share`` turns sums over all deals into those
    over comparisons.
    """
    surplus = np.concatenate([path.surplus(test, params) for test, params in tested]) * share
    number = np.concatenate([test.win + test.lose for test, _ in tested]) * share
    incidence = abs(sparse.vstack([test.incidence for test, _ in tested], format="csr"))
    of_item = incidence.T @ surplus
    first, second = incidence.indices.reshape(-1, 2).T
    to_blame = np.where(of_item[first] >= of_item[second], first, second)
    blamed = np.bincount(to_blame, surplus, len(of_item))
    enough = np.maximum(OUTLYING_ON_AVERAGE * (incidence.T @ number), OUTLYING_IN_ALL)
    found = np.flatnonzero(blamed >= enough)
    return found[np.argsort(-blamed[found], kind="stable")]


# -- folds -----------------------------------------------------------------------------------------


def deal_items(
    rows: PairRows, pairs: Pairs, unit: np.ndarray, rng: np.random.Generator
) -> Iterator[Split]:
    """Folds of items: training rows touch no held-out item, test rows touch one or two.

    A row is tested in the fold of either item, and counts half in each. ``unit`` (N) numbers the
    items, or groups of items that are held out together; it is -1 for an item in no comparison.
    """
    sizes = np.bincount(unit[unit >= 0])
    fold = assign_folds(sizes, rng.permutation(len(sizes)), min(N_FOLDS, len(sizes)))
    fold = np.append(fold, -1)[unit]
    for number in range(N_FOLDS):
        held = 0.5 * (fold[pairs.low] == number) + 0.5 * (fold[pairs.high] == number)
        held = np.tile(held, len(pairs.side))
        train, test = rows.take(held == 0), rows.times(held).take(held > 0)
        if train.number > 0 and test.number > 0:
            yield train, test


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


def deal_comparisons(rows: PairRows, cells: Cells, rng: np.random.Generator) -> Iterator[Split]:
    """Folds of comparisons, each assigned at random."""
    folds = rng.multinomial(cells.count, np.full(N_FOLDS, 1 / N_FOLDS))
    for number in folds.T:
        test = cells.some(rows, number)
        train = cells.some(rows, cells.count - number)
        if train.number > 0 and test.number > 0:
            yield train, test


@dataclass(frozen=True)
class RidgePath:
    """Ridge fits for all ``l2`` (30 columns) side by side, in coordinates in which differences are
    uncorrelated.

    ``Z`` (N x r) has the items in these coordinates, in which the scatter of all differences is
    diagonal, with ``spread`` (r) as its diagonal; r is the number of directions in which items
    differ. Extra coordinates, such as the side effect, have no ridge.
    """

    Z: np.ndarray
    spread: np.ndarray
    n_comparisons: float
    link: Link
    l2: np.ndarray

    @classmethod
    def of_data(cls, data: "FitData", link: Link) -> "RidgePath":
        """Ridges over six decades, up to ten times the largest curvature of the likelihood."""
        X, pairs, mean, sd = data.X, data.pairs, data.item_moments.mean, data.item_moments.sd
        unit = np.where(sd > 0, sd, np.inf)  # a constant feature has no part in any difference
        scatter = difference_scatter(X, mean, pairs, pairs.number)
        spread, axes = np.linalg.eigh(scatter / np.outer(unit, unit))
        largest, curvature = max(float(spread[-1]), 0.0), 4 * float(link.pdf(0.0)) ** 2
        l2 = 10 * curvature * largest * np.logspace(-DECADES, 0, N_VALUES)
        seen = spread > TOLERANCE * largest
        axes = axes[:, seen] / unit[:, None]
        Z = X @ axes - mean @ axes
        return cls(Z, spread[seen], float(pairs.number.sum()), link, l2)

    def predictor(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """Score difference of every row, for every column of parameters (r + e)."""
        r = len(self.spread)
        return rows.incidence @ (self.Z @ params[:r]) + rows.extra @ params[r:]

    def pull_back(
        self, rows: PairRows, values: np.ndarray, params: np.ndarray, l2: np.ndarray
    ) -> np.ndarray:
        """Transpose of :meth:`predictor`, plus the ridge's share."""
        on_coef = self.Z.T @ (rows.incidence.T @ values)
        on_coef += l2 * params[: len(self.spread)]
        return np.vstack([on_coef, rows.extra.T @ values])

    def held_out_loss(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """Log-loss of each column where a share COINS of the outcomes are coin tosses.

        -log((1 - COINS) f(eta) + COINS / 2): no comparison loses more than LARGEST_LOSS, and one
        that is far off has no part in the choice.
        """
        p = (1 - COINS) * self.link.cdf(self.predictor(rows, params)) + COINS / 2
        return -(rows.win @ np.log(p) + rows.lose @ np.log1p(-p))

    def surplus(self, rows: PairRows, params: np.ndarray) -> np.ndarray:
        """By how much the log-loss of each row exceeds LARGEST_LOSS, for one column (R)."""
        eta = self.predictor(rows, params)[:, 0]
        win, lose = (np.maximum(-self.link.log_cdf(e) - LARGEST_LOSS, 0.0) for e in (eta, -eta))
        return rows.win * win + rows.lose * lose

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
