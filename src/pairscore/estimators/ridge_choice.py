"""The ridge, chosen from the data: log-loss on held-out comparisons, for thirty ridges.

For new items, items are dealt into folds: a fold is tested on the comparisons that touch it, after
a fit to the others. Groups of items are dealt too, and both items of a comparison held out. For
known items, comparisons are dealt. Every method chooses by its own fits:
:class:`LikelihoodPath` or :class:`ClosedFormPath`.

A ridge with which held-out comparisons go worse than coin tosses is never chosen.

No single item or comparison decides: one outcome in fifty is taken for a coin toss, so that the
loss of a comparison is bounded, and among ridges that the data cannot tell apart the usual one is
preferred. Nothing depends on the order of items or comparisons.

Thirty ridges are fitted side by side. In coordinates in which the scatter of all differences is
diagonal, a ridge only adds to that diagonal: one factorisation preconditions the Newton steps of
every ridge, for any part of the comparisons.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from pairscore.core.amounts import amounts_of_rows
from pairscore.core.links import Link
from pairscore.core.moments import Spread, moments
from pairscore.core.optimise import Derivatives, search_by_slope
from pairscore.core.pair_graph import Pairs, difference_scatter, sum_sides, tally
from pairscore.core.passes import difference_pass
from pairscore.core.whitening import TOLERANCE
from pairscore.data.comparisons import Comparisons
from pairscore.data.folds import assign_folds
from pairscore.display import first_few, plural
from pairscore.errors import (
    FewItemsWarning,
    ManyFeaturesWarning,
    OutlyingItemsWarning,
    PairscoreWarning,
)
from pairscore.estimators.closed_form import (
    choose_shrinkage,
    feature_covariance,
    link_scale,
    shrink_covariance,
)
from pairscore.estimators.fit_data import along_comparisons
from pairscore.estimators.ridge import ridge_penalty, ridge_size, ridge_units
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting
from pairscore.parallel import ALONE, Workers

if TYPE_CHECKING:
    from pairscore.data.comparisons import Comparisons

N_FOLDS = 5
N_GROUP_FOLDS = 6  # of which two are held out at a time
FEW_ITEMS = 10  # with fewer, held-out items say too little about new items
COIN_LOSS = float(np.log(2))
ENOUGH_HELD_OUT = 2000  # comparisons; with fewer, the folds are dealt again
MAX_DEALS = 4
ROUNDS = 3  # of telling equal items apart by their opponents
HOPELESS = 30.0  # log-loss of held-out comparisons, in all, above that of the best ridge
MANY_PER_FEATURE = 5  # comparisons; with fewer, data may be nearly separated
# standard deviation of the logarithm of the ridge around the usual one: a prior
PRIOR_WIDTH = 1.2
# an item is outlying if its held-out comparisons lose so much more than LARGEST_LOSS
OUTLYING_ON_AVERAGE, OUTLYING_IN_ALL = 0.5, 5.0
N_VALUES = 30
DECADES = 6.0
COINS = 0.02  # outcomes that are taken for coin tosses
LARGEST_LOSS = -np.log(COINS / 2)  # of one comparison, then
GAP = 1e-6  # to the optimum, per comparison: far below what tells two ridges apart
MAX_STEPS = 50
MAX_PRODUCTS = 100
ROUNDING = 1e-14  # of a Hessian, relative to its largest entry
PRECISION = 0.1  # of a Newton step by conjugate gradients
BLOCK_NUMBERS = 2_000_000  # of rows whose differences are formed at a time: 16 MB


@dataclass(frozen=True)
class RidgeCurve:
    """Held-out log-loss per comparison (``loss``) for every ridge tried (``l2``), both (30).

    ``loss`` is the bounded one of :meth:`RidgePath.held_out_loss`. ``chosen`` is the ridge that was
    taken. ``n_held_out`` comparisons were tested, of held-out ``"items"`` or ``"comparisons"`` of
    known items (``held_out``), fewer for ridges that were not :func:`hopeful`; 0 where nothing
    could be held out, and ``chosen`` is the usual ridge. ``reason`` says why it is not what was
    asked for; ``outliers`` are items whose comparisons features predict far worse than chance.
    ``smooth_weight`` is how often the ridge holds features of a smooth part back.
    """

    l2: np.ndarray
    loss: np.ndarray
    chosen: float
    n_held_out: float
    held_out: str = "items"
    reason: str = ""
    outliers: tuple[str, ...] = ()
    smooth_weight: float = 1.0

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
    def held_out_loss(self) -> float:
        """The loss of the ridge that was chosen."""
        return float(self.loss[self.place])

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
    def notes(self) -> list[PairscoreWarning]:
        """What the user should know of outlying items, and of scores that say nothing of new
        ones.
        """
        return [*self._no_better_than_coins, *self._outlying]

    @property
    def _no_better_than_coins(self) -> list[PairscoreWarning]:
        """Where scores say nothing of new items, as far as anybody can see."""
        for_known = "for the items at hand use " + Setting("l2", "auto-known")
        if self.held_out != "items" and self.reason:
            text = (
                f"{self.reason}, so that the ridge was chosen for new comparisons of known items:"
                " scores of new items are guesses, and may be worse than none"
            )
            return [FewItemsWarning(text, ["compare more items", for_known])]
        if self.held_out != "items" or not self.n_held_out or self.loss.min() < COIN_LOSS:
            return []
        text = (
            "the features are not seen to tell anything of new items: held-out ones are predicted"
            f" from the others no better than by coin tosses (log-loss {self.loss.min():.2f}, of a"
            f" coin {COIN_LOSS:.2f}), so that the largest ridge is used"
        )
        return [ManyFeaturesWarning(text, ["compare more items", "use fewer features", for_known])]

    @property
    def _outlying(self) -> list[PairscoreWarning]:
        if not self.outliers:
            return []
        one = len(self.outliers) == 1
        text = (
            f"{plural(len(self.outliers), 'item')} {'is' if one else 'are'} far from what the"
            f" features predict: {first_few(map(repr, self.outliers))}; check"
            f" {'its' if one else 'their'} features, which may be in another unit."
            f" {'It' if one else 'They'} had little influence on the choice of the ridge, but"
            f" full weight in the fit."
        )
        return [OutlyingItemsWarning(text)]


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


class Split(NamedTuple):
    """Rows to fit to, and rows to test on."""

    train: PairRows
    test: PairRows

    @property
    def is_usable(self) -> bool:
        """Whether there is something to fit to and to test on."""
        return self.train.number > 0 and self.test.number > 0


Deal = Callable[[PairRows], Iterator[Split]]  # splits in which every comparison is tested once


class HeldOutFits(NamedTuple):
    """Rows that were held out, and what became of fits to the others with all ridges.

    Parameters (r + e, 30) and the losses of the rows (30), of the ridges that were ``tried``, a
    mask (30).
    """

    rows: PairRows
    params: np.ndarray
    loss: np.ndarray
    tried: np.ndarray


def choose_ridge(
    data: TableData,
    settings: Settings,
    rng: np.random.Generator,
    item_groups: np.ndarray | None,
    workers: Workers,
) -> RidgeCurve:
    """The ridge with which the method does best on what is held out.

    Items are held out, or comparisons: for known items, for plain differences, which have no items,
    and where items are few. Items of one of the ``item_groups`` (N) are held out together.
    """
    pairs, votes = data.pairs, data.comparisons
    reason = ""
    net = sum_sides(pairs.win - pairs.lose)
    rank = item_ranks(data.X, pairs.low, pairs.high, net, pairs.number)
    unit = number_units(rank, data.tally.exposures > 0, item_groups)
    if data.has_items and not settings.l2_for_known:
        if data.n_items < FEW_ITEMS:
            reason = f"{plural(data.n_items, 'item')} say too little about new items"
        elif unit.max() == 0:
            reason = "all items are of one group"
    what = "items"
    deal: Deal = partial(deal_items, pairs=pairs, unit=unit, rng=rng)
    if settings.l2_for_known or not data.has_items or reason:
        what = "comparisons"
        cells = Cells.of_comparisons(votes, pairs, rank)
        deal = partial(deal_comparisons, cells=cells, rng=rng)
    in_groups = what == "items" and item_groups is not None
    # where groups never meet, both items of a comparison are in the fold, which is all it takes
    meet = bool(np.any(unit[pairs.low] != unit[pairs.high]))
    if in_groups and meet and unit.max() + 1 >= N_GROUP_FOLDS:
        deal = partial(deal_groups, pairs=pairs, unit=unit, rng=rng)
    path = path_of(data, settings)
    size = ridge_size(settings, data.X.shape[1])
    curve, rows = ridge_of_deals(data, path, deal, workers, unit if in_groups else None, size)
    names = votes.items.names if data.has_items and len(rows) else []
    outliers = tuple(str(names[row]) for row in rows) if names else ()
    return replace(curve, held_out=what, reason=curve.reason or reason, outliers=outliers)


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


def ridge_of_deals(
    data: TableData,
    path: RidgePath,
    deal: Deal,
    workers: Workers = ALONE,
    group: np.ndarray | None = None,
    size: float | None = None,
) -> tuple[RidgeCurve, np.ndarray]:
    """The ridge l2 of smallest M / D loss(l2) + (log(l2 / d / D) / PRIOR_WIDTH)^2 / 2.

    The first term is the held-out log-loss of all comparisons, the second a prior around the usual
    ridge: a decade away costs 1.8, so that it decides where the data do not. D is 1, or the design
    effect where items have a ``group`` (N): M comparisons tell no more than M / D independent
    ones, and where the likelihood overstates what they tell D times, so must the ridge. Folds are
    dealt up to MAX_DEALS times, until ENOUGH_HELD_OUT comparisons were held out; a ridge without
    hope is not fitted again. Also returns the rows of outlying items. ``size`` is d, or the sum of
    1 / w over features whose ridges have weights w.
    """
    size = data.X.shape[1] if size is None else size
    unit = data.weight_unit
    n_comparisons = float(data.pairs.number.sum())
    usual = size * unit
    no_items = np.empty(0, dtype=int)
    if not path.l2.all():
        return _usual_ridge(usual, "no feature differs within a comparison"), no_items
    rows = PairRows.of_pairs(data.pairs, len(data.X))
    tests: list[HeldOutFits] = []
    tried = np.ones(N_VALUES, dtype=bool)
    zero = params = np.zeros((path.Z.shape[1] + rows.extra.shape[1], N_VALUES))
    # an earlier fold's fit is a good start, but far off where data are nearly separated
    near = n_comparisons >= MANY_PER_FEATURE * path.Z.shape[1] * unit
    n_deals = np.ceil(min(ENOUGH_HELD_OUT * unit / n_comparisons, MAX_DEALS))
    for splits in _rounds(deal, rows, tests, ENOUGH_HELD_OUT * unit):
        if tests:
            # comparisons of groups tell less than they seem to
            seen = 1.0
            if group is not None:
                seen = design_effect(path, _at_ridge(tests, path, path.l2[-1]), group, 1 / unit)
            loss = np.sum([test.loss for test in tests], axis=0)[tried] / unit / seen
            share = _number_of(tests) / n_comparisons
            tried = tried.copy()
            tried[tried] = hopeful(loss, share, usual, path.l2[tried])
        start = params if near else zero
        jobs = (partial(_hold_out, path, split, start, tried) for split in splits)
        for test in workers.each(jobs, in_threads=True):
            tests.append(test)
            params = test.params
            # a fit to all is to come
            workers.progress(_number_of(tests), (n_deals + 1 / N_FOLDS) * n_comparisons)
    held_out = _number_of(tests)
    if held_out == 0:
        return _usual_ridge(usual, "there are too few comparisons to hold some out"), no_items
    loss = mean_loss(tests)
    share = n_comparisons / held_out / unit
    effect = 1.0
    if group is not None:
        effect = design_effect(path, _at_ridge(tests, path, path.l2[-1]), group, share)
    prior = ridge_prior(path.l2, usual * effect)
    chosen = best_ridge(path.l2, loss, n_comparisons / unit / effect * loss + prior)
    curve = RidgeCurve(path.l2, loss, chosen, held_out / unit)
    return curve, outlying_items(path, _at_ridge(tests, path, chosen), share)


def best_ridge(l2: np.ndarray, loss: np.ndarray, criterion: np.ndarray) -> float:
    """The ridge of the smallest criterion among those whose loss is less than that of a coin.

    The largest of all, next to which scores hardly differ, if there are none.
    """
    usable = loss < COIN_LOSS
    if not usable.any():
        return float(l2[-1])
    return float(l2[np.argmin(np.where(usable, criterion, np.inf))])


def _rounds(
    deal: Deal, rows: PairRows, tests: list[HeldOutFits], enough: float
) -> Iterator[Iterator[Split]]:
    """Splits that are fitted side by side: the first, whose fit all others start from; then what is
    left of a deal, until enough was tested.
    """
    for number in range(MAX_DEALS):
        splits = iter(deal(rows))
        if number == 0:
            yield islice(splits, 1)
        yield splits
        if _number_of(tests) >= enough:
            return


def _hold_out(path: RidgePath, split: Split, start: np.ndarray, tried: np.ndarray) -> HeldOutFits:
    """Fit the ridges of a mask (30) from a ``start`` (r + e, 30), and test them."""
    some = replace(path, l2=path.l2[tried])
    fitted = some.fit(split.train, start[:, tried])
    params = start.copy()
    params[:, tried] = fitted
    loss = np.zeros(N_VALUES)
    loss[tried] = some.held_out_loss(split.test, fitted)
    return HeldOutFits(split.test, params, loss, tried)


def _number_of(tests: list[HeldOutFits]) -> float:
    """How many comparisons were held out, as often as they were."""
    return sum(test.rows.number for test in tests)


def hopeful(loss: np.ndarray, tested: float, usual: float, l2: np.ndarray) -> np.ndarray:
    """Mask of the ridges that are less than HOPELESS worse than the best one, by the loss on what
    was held out so far (``tested``, over all comparisons) or by what they are chosen by.

    Without the others a choice takes about half of the time where features are many.
    """
    criterion = loss / tested + ridge_prior(l2, usual)
    return (loss - loss.min() <= HOPELESS) | (criterion - criterion.min() <= HOPELESS)


def mean_loss(tests: list[HeldOutFits]) -> np.ndarray:
    """Loss per comparison of every ridge (30).

    Some folds are easier than others, so what a ridge loses more than the best one does is taken
    from the folds in which both were tried.
    """
    losses = np.array([test.loss for test in tests])
    tried = np.array([test.tried for test in tests])
    number = np.array([test.rows.number for test in tests])
    to_the_end = np.flatnonzero(tried.all(axis=0))
    best = losses[:, [to_the_end[np.argmin(losses[:, to_the_end].sum(axis=0))]]]
    surplus = np.sum(losses - best, axis=0, where=tried) / (number @ tried)
    return best.sum() / number.sum() + surplus


def ridge_prior(l2: np.ndarray, usual: float) -> np.ndarray:
    """What a ridge costs by its distance from the usual one, in log-loss."""
    return 0.5 * (np.log(l2 / usual) / PRIOR_WIDTH) ** 2


def _usual_ridge(usual: float, reason: str) -> RidgeCurve:
    """A prior under which scores have a variance of about one, whatever the number of features."""
    return RidgeCurve(np.empty(0), np.empty(0), float(usual), 0.0, reason=reason)


class RowsWithFit(NamedTuple):
    """Rows that were held out, and the parameters (r + e, 1) of a fit to the others."""

    rows: PairRows
    params: np.ndarray


def _at_ridge(tests: list[HeldOutFits], path: RidgePath, l2: float) -> list[RowsWithFit]:
    """By the ridge next to ``l2``."""
    place = int(np.argmin(np.abs(np.log(path.l2 / l2))))
    return [RowsWithFit(test.rows, test.params[:, [place]]) for test in tests]


def design_effect(
    path: RidgePath, tested: list[RowsWithFit], group: np.ndarray, share: float
) -> float:
    """Variance of the held-out loss if comparisons that share a group vary together, over the
    variance if they do not; at least 1.

    Deviations from the mean loss are summed by group, and their squares by group added up. What two
    comparisons between the same two groups have in common is in both squares, and taken off once.
    ``tested`` has the largest ridge, whose fit has not begun to follow what its own groups have in
    common. ``group`` (N) numbers the groups, ``share`` is that of :func:`outlying_items`.
    """
    win = np.concatenate([test.rows.win for test in tested])
    lose = np.concatenate([test.rows.lose for test in tested])
    parts = [path.losses(test.rows, test.params) for test in tested]
    on_win, on_lose = (np.concatenate(part)[:, 0] for part in zip(*parts, strict=True))
    mean = (win @ on_win + lose @ on_lose) / (win + lose).sum()
    on_win, on_lose = on_win - mean, on_lose - mean
    item = np.concatenate([test.rows.incidence.indices for test in tested])
    first, second = np.sort(group[item].reshape(-1, 2), axis=1).T
    total = win * on_win + lose * on_lose
    across = first != second
    n_groups = group.max() + 1
    _, both = np.unique((n_groups * first + second)[across], return_inverse=True)
    of_both = np.bincount(both, total[across])
    of_group = np.bincount(first, total, n_groups)
    of_group += np.bincount(second[across], total[across], n_groups)
    together = of_group @ of_group - of_both @ of_both
    alone = win @ on_win**2 + lose @ on_lose**2
    return max(1.0, share * together / alone) if alone > 0 else 1.0


def outlying_items(path: RidgePath, tested: list[RowsWithFit], share: float) -> np.ndarray:
    """Rows of the items whose comparisons their features predict far worse than chance.

    A comparison has a surplus where its log-loss exceeds LARGEST_LOSS. Both of its items may be to
    blame, and the one with the larger surplus is. ``share`` turns sums over all deals into those
    over comparisons.
    """
    surplus = share * np.concatenate([path.surplus(test.rows, test.params) for test in tested])
    number = share * np.concatenate([test.rows.win + test.rows.lose for test in tested])
    incidence = abs(sparse.vstack([test.rows.incidence for test in tested], format="csr"))
    of_item = incidence.T @ surplus
    first, second = incidence.indices.reshape(-1, 2).T
    to_blame = np.where(of_item[first] >= of_item[second], first, second)
    blamed = np.bincount(to_blame, surplus, len(of_item))
    enough = np.maximum(OUTLYING_ON_AVERAGE * (incidence.T @ number), OUTLYING_IN_ALL)
    found = np.flatnonzero(blamed >= enough)
    return found[np.argsort(-blamed[found], kind="stable")]


def item_ranks(
    X: np.ndarray, low: np.ndarray, high: np.ndarray, net: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Number the items in an order that does not depend on their rows in the table.

    They are ordered by their features, and where these are equal by their results and those of
    their opponents. Items that are equal in all of this have the same number.

    Parameters
    ----------
    X : ndarray of shape (N, d)
        Features.
    low, high : ndarray of int of shape (P,)
        Rows of the two items of each pair that was compared.
    net, number : ndarray of shape (P,)
        How often low won minus how often it lost, and comparisons of the pair.

    Returns
    -------
    ndarray of int of shape (N,)

    Examples
    --------
    >>> X = np.array([[2.0], [1.0], [2.0]])  # the first has won against the last
    >>> low, high, net, number = np.array([[0], [2], [1], [1]])
    >>> item_ranks(X, low, high, net, number).tolist()
    [2, 0, 1]
    """
    rank = np.zeros(len(X), dtype=np.intp)
    for column in X.T:
        rank = _refine(rank, column)
        if rank.max() == len(X) - 1:
            return rank
    for _ in range(ROUNDS):
        value = np.cos(rank)  # without a pattern, so that different opponents add up differently
        for amount, sign in ((net, -1), (number, 1)):
            column = np.bincount(low, amount * value[high], len(X))
            column += sign * np.bincount(high, amount * value[low], len(X))
            # sums in another order differ in their last digits
            rank = _refine(rank, np.round(column / max(np.abs(column).max(), 1e-300), 9))
    return rank


def _refine(rank: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Order items by rank, and those of the same rank by a column."""
    order = np.lexsort((column, rank))
    differ = (np.diff(rank[order]) != 0) | (np.diff(column[order]) != 0)
    finer = np.empty_like(rank)
    finer[order] = np.append(0, np.cumsum(differ))
    return finer


def number_units(rank: np.ndarray, used: np.ndarray, group: np.ndarray | None) -> np.ndarray:
    """Number what is held out together, by the smallest rank of its items; -1 for other items.

    ``rank`` (N) is that of :func:`item_ranks`; ``used`` (N) says which items are held out at all,
    and ``group`` (N) which of them together: each by itself if there is none, or a negative one.
    """
    rows = np.flatnonzero(used)
    alone = -1 - np.arange(len(rank))
    group = alone if group is None else np.where(group < 0, alone, group)
    _, label = np.unique(group[rows], return_inverse=True)
    smallest = np.full(label.max(initial=-1) + 1, len(rank))
    np.minimum.at(smallest, label, rank[rows])
    place = np.argsort(np.argsort(smallest, kind="stable"))
    unit = np.full(len(rank), -1)
    unit[rows] = place[label]
    return unit


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
        of_low, of_high = fold[pairs.low] == number, fold[pairs.high] == number
        share = np.tile(np.mean([of_low, of_high], axis=0), len(pairs.side))
        split = Split(rows.take(share == 0), rows.times(share).take(share > 0))
        if split.is_usable:
            yield split


def deal_groups(
    rows: PairRows, pairs: Pairs, unit: np.ndarray, rng: np.random.Generator
) -> Iterator[Split]:
    """Two of six folds of groups at a time: test rows are those with both items in them.

    New items are met by new items. Where one item of a test row had been in training, features
    would have fitted a part of what its group has in common, and a ridge would seem too small.
    Rows within a fold are tested with each of the other folds, and count as a share.
    """
    sizes = np.bincount(unit[unit >= 0])
    fold = assign_folds(sizes, rng.permutation(len(sizes)), N_GROUP_FOLDS)
    fold = np.append(fold, -1)[unit]
    low, high = (np.tile(fold[ends], len(pairs.side)) for ends in (pairs.low, pairs.high))
    share = np.where(low == high, 1 / (N_GROUP_FOLDS - 1), 1.0)
    for held in combinations(range(N_GROUP_FOLDS), 2):
        low_held, high_held = np.isin(low, held), np.isin(high, held)
        train = rows.take(~(low_held | high_held))
        split = Split(train, rows.times(share).take(low_held & high_held))
        if split.is_usable:
            yield split


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
    def of_comparisons(cls, votes: "Comparisons", pairs: Pairs, rank: np.ndarray) -> "Cells":
        """In an order by ``rank`` (N) of the items instead of their rows."""
        left, right = votes.left, votes.right
        distinct = left != right
        pair = pairs.numbers_of(left, right)
        is_high = (left > right) & (len(pairs.side) > 1)  # low was on the right
        row = pair + len(pairs.high) * is_high
        cell = (3 * row + 1 + np.where(left > right, -votes.outcome, votes.outcome))[distinct]
        size = 3 * pairs.win.size
        count = np.bincount(cell, amounts_of_rows(votes.count, len(votes))[distinct], size)
        amount = np.bincount(cell, votes.amount[distinct], size)
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
        n_rows = len(rows.win)
        amount = self.amount * number / self.count
        win = np.bincount(self.row, amount * self.win, n_rows)
        lose = np.bincount(self.row, amount * (1 - self.win), n_rows)
        return replace(rows, win=win, lose=lose).take(win + lose > 0)


def deal_comparisons(rows: PairRows, cells: Cells, rng: np.random.Generator) -> Iterator[Split]:
    """Folds of comparisons, each assigned at random."""
    folds = rng.multinomial(cells.count, np.full(N_FOLDS, 1 / N_FOLDS))
    for number in folds.T:
        split = Split(cells.some(rows, cells.count - number), cells.some(rows, number))
        if split.is_usable:
            yield split


def path_of(data: TableData, settings: Settings) -> RidgePath:
    """How the method is fitted with all ridges to a part of the comparisons."""
    X, pairs, link = data.X, data.pairs, settings.link
    if settings.method == "mle":
        center = data.item_moments.spread
        center = replace(center, sd=ridge_units(settings, center.sd))
        return LikelihoodPath.of_pairs(X, pairs, center, link)
    scatter, _ = standard_scatter(X, pairs, data.item_moments.spread)
    l2 = ridges(max(float(np.linalg.eigvalsh(scatter)[-1]), 0.0), link)
    covariance, center = feature_covariance(data, settings)
    sd = np.where(center.sd > 0, center.sd, np.inf)  # a constant feature differs nowhere
    Z = (X - center.mean) / sd
    return ClosedFormPath(
        Z=Z,
        link=link,
        l2=l2,
        settings=settings,
        covariance=covariance / np.outer(sd, sd),
        shrinkage=choose_shrinkage(data, settings, center),
        unit=data.weight_unit,
    )


class WonRows(NamedTuple):
    """Comparisons (M): both items, who won, and how often."""

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray


@dataclass(frozen=True)
class ClosedFormPath(RidgePath):
    """A closed form in standardised features: one eigendecomposition serves all ridges.

    ``covariance`` (d x d) is the S of all data, which is that of `split` for any of the rows;
    ``unit`` is the average weight of a comparison.
    """

    settings: Settings
    covariance: np.ndarray
    shrinkage: float
    unit: float

    def scatter(self, rows: PairRows) -> np.ndarray:
        """2 M S of some rows (d x d)."""
        if self.settings.method == "split":
            return 2 * rows.number * self.covariance
        number = rows.win + rows.lose
        if self.settings.method == "pooled":
            scatter = moments(self.Z, abs(rows.incidence).T @ number).scatter
        else:
            graph = rows.incidence.T @ (sparse.diags_array(number) @ rows.incidence)
            scatter = self.Z.T @ (graph @ self.Z)
        return shrink_covariance(scatter, self.shrinkage)

    def fit(self, rows: PairRows, start: np.ndarray) -> np.ndarray:
        """The closed form of eq. 3, 2 (2 M S + ridge)^-1 X'w, scaled on the link and guarded."""
        values, axes = np.linalg.eigh(self.scatter(rows))
        values = np.maximum(values, 0.0)[:, None]
        total = values + ridge_penalty(self.l2, np.ones(1), float(self.link.pdf(0.0)))
        label_sum = self.Z.T @ (rows.incidence.T @ (rows.win - rows.lose))
        params = np.zeros_like(start)
        params[: len(axes)] = 2 * axes @ ((axes.T @ label_sum)[:, None] / total)
        freedom = np.sum(values / total, axis=0)
        votes = self._votes(rows)
        scores = self.Z @ params[: len(axes)]
        counts = tally(*votes, len(self.Z))
        for place, l2 in enumerate(self.l2):
            settings = replace(self.settings, l2=l2)
            coef = params[: len(axes), place]
            x = difference_pass(votes.left, votes.right, scores[:, place])
            along = along_comparisons(x, *votes, len(self.Z))
            scale, _ = link_scale(
                along, counts, settings, scores[:, place], coef, freedom[place], self.unit
            )
            coef *= scale.factor
            params[len(axes) :, place] = scale.side_effect
        return params

    def _votes(self, rows: PairRows) -> WonRows:
        """Wins and losses of the rows as comparisons."""
        low, high = rows.incidence.indices.reshape(-1, 2).T
        sign = rows.extra[:, 0] if rows.extra.size else np.ones(len(low))
        left, right = np.where(sign > 0, (low, high), (high, low))
        amount = np.concatenate([rows.win, rows.lose])
        some = np.flatnonzero(amount)
        row = some % len(low)
        outcome = np.where(some < len(low), 1.0, -1.0) * sign[row]
        return WonRows(left[row], right[row], outcome, amount[some])


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
        Z = X @ axes - center.mean @ axes
        return cls(Z, link, ridges(largest, link), spread[seen], float(pairs.number.sum()))

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
        cost less: that is why this loop is not :func:`pairscore.core.optimise.minimise`.
        """
        params = start.copy()
        columns, l2, current = np.arange(len(self.l2)), self.l2, start
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

    def _solve(self, rows: PairRows, here: Derivatives, l2: np.ndarray) -> np.ndarray:
        """The same by the Hessians themselves."""
        size, n_ridges = len(here.gradient), len(l2)
        hessians = np.zeros((n_ridges, size, size))
        at_once = max(BLOCK_NUMBERS // (size * n_ridges), 1)
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

    def _newton_step(self, rows: PairRows, here: Derivatives, l2: np.ndarray) -> np.ndarray:
        """Solve Hessian * step = gradient for all columns, to PRECISION.

        By preconditioned conjugate gradients, which take a third of the time of formed Hessians
        for 40 features and a hundredth for 200; where they do not come to an end, by these.
        """
        diagonal = self._hessian_diagonal(here.information, l2, rows.extra.shape[1])
        # beside slips, a side that is far out has no information; it stays where it is
        known = diagonal > ROUNDING * diagonal.max(axis=0, initial=0.0)
        diagonal = np.where(known, diagonal, np.inf)
        step = np.zeros_like(here.gradient)
        residual = here.gradient.copy()
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
