"""Rows of single comparisons: from settings and data to rows, their likelihood and its maximum.

Each row has its context, who judged, which side, and a tie as it is.

    delta = s_left - s_right + context'g       what the comparison is about
    eta   = slope_judge * delta + side          what the judge makes of it

Parameters are one vector theta = (coef, effects, t): coefficients of the features, effects of
context and sides, and the parameter of ties where the rule has one. Slopes of judges are given,
each with a variance, which :mod:`pairscore.effects.expectation_propagation` allows for;
``judges`` finds them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from pairscore.core.linalg import TOLERANCE, Basis, whitening_basis
from pairscore.core.optimise import Step, minimise, search_by_value
from pairscore.core.pair_graph import (
    Pairs,
    aggregate_pairs,
    difference_scatter,
    joint_numbers,
    sum_sides,
)
from pairscore.core.passes import difference_pass, net_pass
from pairscore.core.scale import share_of_coin
from pairscore.core.ties import OutcomeDerivatives, TieRule
from pairscore.data.comparisons import refuse_missing_judges
from pairscore.effects.predictor import context_column, judge_labels
from pairscore.errors import (
    CollinearFeaturesWarning,
    PairscoreError,
    SeparationWarning,
    first_few,
    plural,
)
from pairscore.estimators.fit_data import TableData
from pairscore.estimators.likelihood import clip_start, fit_likelihood
from pairscore.estimators.penalty import SEPARATION_L2
from pairscore.estimators.recession import Recession
from pairscore.estimators.results import Effects, Estimate, Fit, Note
from pairscore.estimators.settings import Settings

BLOCK_NUMBERS = 4_000_000  # of contributions that are held at a time: 32 MB
LARGEST_MOVE = 0.5  # of eta in one step, up to which the loss is close to its quadratic
Contributions = Callable[[np.ndarray], np.ndarray]
MOST_SIDES = 300  # of judges: each is a column of the information, which is dense
ENDLESS = 30.0  # standard error of eta by one effect: beyond, it explains all that it touches


def laplacian(pairs: Pairs, weight: np.ndarray, ridge: float = 0.0) -> sparse.csr_array:
    """L + ridge I, L of the graph of items whose edges have these weights (P), N x N."""
    degree = pairs.item_sums(weight, weight)
    return pairs.matrix(degree + ridge, -weight)


@dataclass(frozen=True)
class RowDerivatives(OutcomeDerivatives):
    """Of each comparison's log-likelihood, as often as it counts; ``delta`` is that in delta.

    With a known slope it is the slope times that in eta.
    """

    delta: np.ndarray

    def part(self, rows: np.ndarray) -> "RowDerivatives":
        """Those of some comparisons."""
        return replace(self, **{name: values[rows] for name, values in vars(self).items()})


@dataclass(frozen=True)
class SingleComparisons:
    """Comparisons (M) of items (N) with d features, sorted by unordered pair.

    Parameters
    ----------
    X, mean : arrays (N x d) and (d)
    left, right : integer arrays (M)
    outcome, amount : arrays (M)
        1, 0 or -1 as left won, tied or lost; and how often the comparison counts.
    context, sides : array (M x c) and sparse array (M x s)
        A column for each effect; e = c + s.
    judge : integer array (M), with ``n_judges`` codes
    rule : TieRule
    ridge : array (k x k), k = d + e + 1 if the rule has a parameter, else d + e
        The penalty is half its product with theta on both sides.
    slopes, slope_variance : arrays (n_judges)
        Sharpness of every judge, and how unsure it is.
    """

    X: np.ndarray
    mean: np.ndarray
    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    context: np.ndarray
    sides: sparse.csr_array
    judge: np.ndarray
    n_judges: int
    rule: TieRule
    ridge: np.ndarray
    slopes: np.ndarray
    slope_variance: np.ndarray

    @cached_property
    def _pair_keys(self) -> np.ndarray:
        """A number for the unordered pair of each comparison (M), in ascending order."""
        low = np.minimum(self.left, self.right).astype(np.int64)
        return low * len(self.X) + np.maximum(self.left, self.right)

    @cached_property
    def pair(self) -> np.ndarray:
        """The place of each comparison's pair among the ``pairs`` (M)."""
        return np.cumsum(np.diff(self._pair_keys, prepend=-1) != 0) - 1

    @cached_property
    def pairs(self) -> Pairs:
        """The unordered pairs (P), every comparison as a win of low."""
        n = len(self.X)
        keys = self._pair_keys[np.diff(self._pair_keys, prepend=-1) != 0]
        start = np.searchsorted(keys // n, np.arange(n + 1)).astype(np.int32)
        number = np.bincount(self.pair, self.amount)
        no_losses = np.zeros((1, len(keys)))
        return Pairs(start, (keys % n).astype(np.int32), number[None], no_losses, np.zeros(1))

    @cached_property
    def n_comparisons(self) -> float:
        return float(self.amount.sum())

    @cached_property
    def compared(self) -> np.ndarray:
        """Mask (N) of the items that were compared."""
        return np.bincount(np.concatenate([self.left, self.right]), minlength=len(self.X)) > 0

    @cached_property
    def feature_units(self) -> np.ndarray:
        """Standard deviation of what each coefficient multiplies (d).

        Zero for a feature that does not vary within comparisons, up to rounding.
        """
        scatter = difference_scatter(self.X, self.mean, self.pairs, self.pairs.number)
        squares = np.diag(scatter) / (2 * self.n_comparisons)
        varies = squares > TOLERANCE * self.X.var(axis=0)
        sd = np.sqrt(np.where(varies, squares, 0.0))
        return np.where(sd > 1e-13 * np.abs(self.mean), sd, 0.0)

    def basis(
        self,
        s: OutcomeDerivatives,
        explained: np.ndarray | float = 0.0,
        borders: np.ndarray | None = None,
    ) -> Basis:
        """Whiten the information of theta, less what effects of items have ``explained`` (k x k).

        ``borders`` are the :meth:`item_borders`, if they are at hand.

        The unit of an effect is the root mean square of its column, each comparison weighted by
        what it tells: one value far outside, of which nothing more can be learnt, counts nothing.
        """
        if not len(self.ridge):  # theta is empty
            return whitening_basis(self.ridge, np.empty(0))
        information = self.information(s, borders)
        total = max(float(s.eta_eta.sum()), np.finfo(float).tiny)
        effects = np.sqrt(np.diag(information)[len(self.mean) :] / total)
        return whitening_basis(
            information - explained, np.concatenate([self.feature_units, effects])
        )

    @cached_property
    def usual_sizes(self) -> np.ndarray:
        """Of what each effect and the tie parameter multiply, where it is not zero (k - d).

        A median, which one row cannot move.
        """
        sizes = np.ones(self.context.shape[1] + self.sides.shape[1] + self.rule.has_parameter)
        for number, column in enumerate(np.abs(self.context).T):
            sizes[number] = np.median(column[column > 0]) if np.any(column > 0) else 0.0
        return sizes

    def start(self, coef: np.ndarray) -> np.ndarray:
        """theta with these coefficients, no effects, and ties as often as all tie."""
        tied = float(self.amount @ (self.outcome == 0)) / self.n_comparisons
        t = [self.rule.start(tied)] if self.rule.has_parameter else []
        return np.concatenate([coef, np.zeros(self.context.shape[1] + self.sides.shape[1]), t])

    def tie(self, theta: np.ndarray) -> float:
        return float(theta[-1]) if self.rule.has_parameter else 0.0

    @cached_property
    def sharpness(self) -> np.ndarray:
        """The slope of every comparison's judge (M)."""
        return self.slopes[self.judge]

    def delta(self, theta: np.ndarray, effect: np.ndarray | float = 0.0) -> np.ndarray:
        """Of every comparison (M), with effects (N) of items if there are any."""
        d, c = len(self.mean), self.context.shape[1]
        delta = difference_pass(self.left, self.right, self.X @ theta[:d] + effect)
        return delta + self.context @ theta[d : d + c]

    def side(self, theta: np.ndarray) -> np.ndarray:
        """What the side adds to eta (M)."""
        first = len(self.mean) + self.context.shape[1]
        return self.sides @ theta[first : first + self.sides.shape[1]]

    def predictor(self, theta: np.ndarray, effect: np.ndarray | float = 0.0) -> np.ndarray:
        """eta of every comparison (M), with effects (N) of items if there are any."""
        return self.sharpness * self.delta(theta, effect) + self.side(theta)

    def derivatives(self, theta: np.ndarray) -> RowDerivatives:
        """Derivatives of the log-likelihood with slopes as they are."""
        return self.counted(
            self.rule.derivatives(self.predictor(theta), self.outcome, self.tie(theta))
        )

    def counted(self, s: OutcomeDerivatives, delta: np.ndarray | None = None) -> RowDerivatives:
        """Each comparison as often as it counts; ``delta`` if it is not the slope times eta."""
        if delta is None:
            delta = self.sharpness * s.eta
        parts = {name: self.amount * part for name, part in vars(s).items()}
        return RowDerivatives(**parts, delta=self.amount * delta)

    @cached_property
    def columns(self) -> sparse.csr_array:
        """Derivatives of eta in the effects, M x e; sparse, because a comparison has one side."""
        context = sparse.csr_array(self.sharpness[:, None] * self.context)
        return sparse.hstack([context, self.sides], format="csr")

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """Comparisons by items (M x N): the judge's slope at left, minus it at right."""
        rows = np.arange(len(self.left))
        entries = np.concatenate([self.sharpness, -self.sharpness])
        at = np.tile(rows, 2), np.concatenate([self.left, self.right])
        return sparse.csr_array((entries, at), shape=(len(rows), len(self.X)))

    def _weighted_columns(self, s: OutcomeDerivatives) -> sparse.csr_array:
        """Information of eta with each effect and with t, comparison by comparison."""
        return self._with_ties(scale_rows(s.eta_eta, self.columns), s.eta_t)

    def _with_ties(self, columns: sparse.csr_array, of_ties: np.ndarray) -> sparse.csr_array:
        """The columns of the effects, and that of the tie parameter where there is one."""
        if not self.rule.has_parameter:
            return columns
        return sparse.hstack([columns, sparse.csr_array(of_ties[:, None])], format="csr")

    def pair_information(self, s: OutcomeDerivatives) -> np.ndarray:
        """Information of the difference of two items' scores, for every pair (P)."""
        return np.bincount(self.pair, s.eta_eta * self.sharpness**2, len(self.pairs.high))

    def information(self, s: OutcomeDerivatives, borders: np.ndarray | None = None) -> np.ndarray:
        """Of theta, k x k, with the ridge."""
        extra, d = self._weighted_columns(s), len(self.mean)
        if borders is None:
            scatter = difference_scatter(self.X, self.mean, self.pairs, self.pair_information(s))
            border = self._on_items(extra).T @ self.X
        else:
            of_items = borders.T @ (self.X - self.mean)
            scatter, border = of_items[:d], of_items[d:]
        corner = (self.columns.T @ extra).toarray()
        if self.rule.has_parameter:
            corner = np.vstack([corner, np.append(self.columns.T @ s.eta_t, s.t_t.sum())])
        return np.block([[scatter, border.T], [border, corner]]) + self.ridge

    def item_borders(self, s: OutcomeDerivatives) -> np.ndarray:
        """Information across the items' effects and theta, N x k."""
        if not len(self.ridge):
            return np.empty((len(self.X), 0))
        of_coef = self.pairs.laplacian_times(self.pair_information(s), self.X - self.mean)
        return np.hstack([of_coef, self._on_items(self._weighted_columns(s))])

    def _on_items(self, columns: sparse.csr_array) -> np.ndarray:
        """Sums of sparse columns (M x e) per item, left less right (N x e)."""
        if not columns.shape[1]:
            return np.empty((len(self.X), 0))
        return (self.incidence.T @ columns).toarray()

    def gradient(
        self, s: RowDerivatives, theta: np.ndarray, net: np.ndarray | None = None
    ) -> np.ndarray:
        """Of minus the log-likelihood with the ridge (k); ``net`` are sums of s.delta per item."""
        if not len(theta):
            return theta
        if net is None:
            net = net_pass(self.left, self.right, s.delta, len(self.X))
        on_coef = net @ self.X
        on_effects = np.concatenate([self.context.T @ s.delta, self.sides.T @ s.eta])
        tail = [s.t.sum()] * self.rule.has_parameter
        return self.ridge @ theta - np.concatenate([on_coef, on_effects, tail])

    def loss(self, s: OutcomeDerivatives, theta: np.ndarray) -> float:
        return -float(s.value.sum()) + 0.5 * float(theta @ self.ridge @ theta)

    def contributions(self, s: RowDerivatives, theta: np.ndarray) -> Contributions:
        """A function that gives what some comparisons (rows) add to the equations of theta (k),
        from their mean.
        """
        tail = self.effect_scores(s)
        average = self.ridge @ theta / self.n_comparisons
        d = len(self.mean)

        def contribution(rows: np.ndarray) -> np.ndarray:
            u = np.empty((len(rows), len(theta)))
            u[:, :d] = self.X[self.left[rows]]
            u[:, :d] -= self.X[self.right[rows]]
            u[:, :d] *= s.delta[rows, None]
            u[:, d:] = tail[rows].toarray()
            u -= self.amount[rows, None] * average
            return u

        return contribution

    def effect_scores(self, s: RowDerivatives) -> sparse.csr_array:
        """What each comparison adds to the equations of the effects and of t, M x (k - d)."""
        on_context = sparse.csr_array(s.delta[:, None] * self.context)
        on_effects = sparse.hstack([on_context, scale_rows(s.eta, self.sides)], format="csr")
        return self._with_ties(on_effects, s.t)

    def with_sure_ties(self, theta: np.ndarray) -> "SingleComparisons":
        """The same comparisons, each as much more as ties as half wins vary less than coins.

        Beside effects of items, what is noise and what is an item's depends on it.
        """
        if self.rule.has_parameter or not np.any(self.outcome == 0):
            return self
        mean = self.rule.link.cdf(self.predictor(theta))
        return replace(self, amount=self.amount / share_of_coin(mean, self.outcome, self.amount))

    def excess_of_ties(self, theta: np.ndarray) -> np.ndarray | None:
        """What ties as half wins take off the variance of the equations of theta (k x k).

        P(tie)/4 off that of an outcome, so by what was seen sum g^2 v v'/4 over the ties, v the
        derivatives of eta and g those of the log-likelihood in an outcome and eta. None without
        ties, and where ties have a parameter.
        """
        tied = np.flatnonzero(self.outcome == 0)
        if self.rule.has_parameter or not len(tied):
            return None
        won, lost = (
            replace(self, outcome=np.full(len(self.outcome), sign)).derivatives(theta).eta
            for sign in (1.0, -1.0)
        )
        pull = 0.5 * (won - lost) / np.sqrt(self.amount)
        excess = np.zeros(self.ridge.shape)
        for part in whole_groups(self.pair[tied], BLOCK_NUMBERS // len(theta)):
            rows = tied[part]
            v = pull[rows, None] * self.design(rows)
            excess += v.T @ v
        return excess

    def design(self, rows: np.ndarray) -> np.ndarray:
        """Derivatives of eta in the coefficients and effects, of some rows (m x (d + e))."""
        difference = self.X[self.left[rows]] - self.X[self.right[rows]]
        return np.hstack([self.sharpness[rows, None] * difference, self.columns[rows].toarray()])


def scale_rows(values: np.ndarray, matrix: sparse.csr_array) -> sparse.csr_array:
    """Each row of a sparse matrix times a value of its own."""
    if not matrix.shape[1]:
        return matrix
    return sparse.csr_array(sparse.diags_array(values) @ matrix)


def whole_groups(group: np.ndarray, size: int) -> Iterator[slice]:
    """About ``size`` rows at a time, to where a group ends; rows are sorted by ``group``."""
    first = 0
    while first < len(group):
        last = group[min(first + max(size, 1), len(group)) - 1]
        yield slice(first, first := int(np.searchsorted(group, last, side="right")))


class RowsMaximum(NamedTuple):
    """Where Newton's method ended, after how many ``steps``: a maximum if it ``converged``."""

    theta: np.ndarray
    basis: Basis
    steps: int
    converged: bool


class RowsLossAt(NamedTuple):
    """Loss, gradient and information at some theta."""

    loss: float
    gradient: np.ndarray
    basis: Basis


@dataclass(frozen=True)
class SingleComparisonsLoss:
    """Minus the log-likelihood as a function of theta."""

    rows: SingleComparisons

    def derivatives(self, theta: np.ndarray) -> RowsLossAt | None:
        rows = self.rows
        if not rows.rule.allowed(rows.tie(theta)):
            return None
        s = rows.derivatives(theta)
        return RowsLossAt(rows.loss(s, theta), rows.gradient(s, theta), rows.basis(s))

    def newton_step(self, theta: np.ndarray, here: RowsLossAt, iteration: int) -> Step:
        direction = here.basis.solve(here.gradient)
        gap = max(float(here.gradient @ direction), self.gap_of_near_rows(theta, direction))
        return Step(direction, gap / self.rows.n_comparisons)

    def gap_of_near_rows(self, theta: np.ndarray, direction: np.ndarray) -> float:
        """How far the loss may fall along a step, but for comparisons that move far by it.

        Of a context value of 1e8 among ones a Newton step sees nothing else, and closes a gap that
        is soon small, long before the step is as long as the other comparisons want it.
        """
        rows = self.rows
        move = rows.predictor(theta - direction) - rows.predictor(theta)
        near = np.abs(move) <= LARGEST_MOVE
        if near.all():
            return 0.0
        s = rows.derivatives(theta)
        move = np.where(near, move, 0.0)
        slope = float(s.eta @ move) + float(theta @ rows.ridge @ direction)
        bend = float(s.eta_eta @ move**2) + float(direction @ rows.ridge @ direction)
        return slope**2 / bend if bend > 0 else 0.0


def maximise_rows(
    rows: SingleComparisons, theta: np.ndarray, max_iter: int, tol: float
) -> RowsMaximum:
    """Newton's steps to the maximum."""
    if not len(theta):  # nothing to step
        return RowsMaximum(theta, rows.basis(rows.derivatives(theta)), 1, True)
    loss = SingleComparisonsLoss(rows)
    top = minimise(loss, theta, max_iter, tol, search_by_value)
    basis = rows.basis(rows.derivatives(top.params))
    return RowsMaximum(top.params, basis, top.n_iterations, top.converged)


# -- from settings and data to rows ----------------------------------------------------------------


@dataclass(frozen=True)
class PreparedRows:
    """Rows to be fitted, who judged, and names and kinds of the effects."""

    rows: SingleComparisons
    judges: np.ndarray
    names: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class PreparedFit(PreparedRows):
    """Rows to be fitted, the fit of the pairs from which it starts, and an ``earlier`` fit to most
    of the comparisons, if there is one.
    """

    plain: Estimate
    earlier: Fit | None

    @property
    def only_features(self) -> bool:
        """Whether the fit of the pairs has all parameters, and is at the maximum."""
        return not self.names and self.plain.recession is None

    def first_theta(self, with_item_effects: bool = False) -> np.ndarray:
        """theta to start from: the fit of the pairs, or what the earlier fit has.

        It is longer with effects of items than without them.
        """
        rows, earlier = self.rows, self.earlier
        theta = rows.start(self.plain.coef)
        if earlier is None or not (self.names or with_item_effects):
            return theta
        factor = 1.0
        if not with_item_effects and earlier.item_effects is not None:
            factor = earlier.item_effects.factor
        known = {}
        if earlier.effects is not None:
            values = earlier.effects.values.tolist()
            known = dict(zip(earlier.effects.names, values, strict=True))
        starts = zip(self.names, theta[len(rows.mean) :].tolist(), strict=True)
        effects = np.array([known.get(name, value) for name, value in starts])
        coef = clip_start(earlier.coef / factor, rows.feature_units)
        return np.append(coef, clip_start(effects / factor, rows.usual_sizes))


def prepare_fit(data: TableData, settings: Settings, plain: Estimate | None = None) -> PreparedFit:
    """Rows with the columns that the settings ask for, and where to start."""
    if plain is None:
        without_sides = replace(data, keep_sides=False) if data.keep_sides else data
        plain = fit_likelihood(without_sides, replace(settings, inference=None, side_effect=False))
    prepared = prepare_rows(data, settings, plain.recession)
    return PreparedFit(**vars(prepared), plain=plain, earlier=data.start)


def prepare_rows(
    data: TableData, settings: Settings, recession: Recession | None = None
) -> PreparedRows:
    """Rows with the columns that the settings ask for, held along the directions in which the
    features alone are separated.
    """
    judges, judge = judges_of(data, settings)
    rule = TieRule(settings.ties, settings.link)
    refuse_one_kind_of_outcome(data, rule)
    sides, side_names = _side_columns(settings, judges, judge)
    context = np.empty((len(judge), len(settings.context)))
    for number, name in enumerate(settings.context):
        context[:, number] = context_column(data.comparisons, name)
    names = [*settings.context, *side_names]
    kinds = ["context"] * len(settings.context) + ["side"] * len(side_names)
    if rule.has_parameter:
        names.append("tie")
        kinds.append("tie")
    ridge = _ridge(data, settings, recession, kinds)
    columns = _Columns(context, sides, judge, len(judges))
    rows = _rows(data, settings, columns, rule, ridge)
    return PreparedRows(rows, judges, tuple(names), tuple(kinds))


def _ridge(
    data: TableData, settings: Settings, recession: Recession | None, kinds: list[str]
) -> np.ndarray:
    """The ridge of coefficients, then of effects of these kinds (k x k).

    A judge who always says left has no finite side, and all together may say so; these are held by
    the prior that separation gets.
    """
    sd = data.item_moments.sd
    ridge = np.diag(settings.l2 * sd**2)
    if recession is not None:
        held = sd[:, None] ** 2 * recession.directions[: len(sd)]
        ridge = ridge + SEPARATION_L2 * data.weight_unit * held @ held.T
    outcome = data.comparisons.outcome[data.amount > 0]
    one_sided = bool(np.all(outcome > 0) or np.all(outcome < 0))
    of_sides = SEPARATION_L2 if settings.side_by_judge or one_sided else 0.0
    of_effects = np.array([of_sides if kind == "side" else 0.0 for kind in kinds])
    return block_diag(ridge / data.weight_unit, np.diag(of_effects))


class _Columns(NamedTuple):
    """What comparisons (M) have in addition to their items: context (M x c), sides (M x s, sparse)
    and judges, of whom there are so many.
    """

    context: np.ndarray
    sides: sparse.csr_array
    judge: np.ndarray
    n_judges: int


def _rows(
    data: TableData, settings: Settings, columns: _Columns, rule: TieRule, ridge: np.ndarray
) -> SingleComparisons:
    """Comparisons sorted by pair, without those of an item with itself; equal ones are one row."""
    has_columns = settings.side_effect or settings.context or settings.needs_judges
    if not has_columns and data.comparisons.outcome.dtype.kind == "i":
        return _rows_of_pairs(data, rule, ridge)
    return _rows_of_comparisons(data, settings, columns, rule, ridge)


def _rows_of_comparisons(
    data: TableData, settings: Settings, columns: _Columns, rule: TieRule, ridge: np.ndarray
) -> SingleComparisons:
    """A row for each comparison with a context, or for each combination of pair, sides, outcome
    and judge that occurs.
    """
    comparisons, n = data.comparisons, len(data.X)
    used = np.flatnonzero((comparisons.left != comparisons.right) & (data.amount > 0))
    left, right = comparisons.left[used], comparisons.right[used]
    outcome = comparisons.outcome[used].astype(float)
    amount = data.amount[used] / data.weight_unit
    judge = columns.judge[used] if settings.needs_judges else np.zeros(len(used), dtype=int)
    n_judges = max(columns.n_judges, 1) if settings.needs_judges else 1
    if not settings.side_effect and not settings.context:  # left and right may change places
        swapped = left > right
        left, right = np.where(swapped, right, left), np.where(swapped, left, right)
        outcome = np.where(swapped, -outcome, outcome)
    pair = (np.minimum(left, right), n), (np.maximum(left, right), n)
    if settings.context:
        order = np.argsort(joint_numbers(*pair), kind="stable")
        amount = amount[order]
    else:
        kind = (left > right) + 2 * (outcome + 1).astype(np.int64)
        key = joint_numbers(*pair, (kind, 6), (judge, n_judges))
        _, order, row = np.unique(key, return_index=True, return_inverse=True)
        amount = np.bincount(row, amount).astype(float)
    return SingleComparisons(
        X=data.X,
        mean=data.item_moments.mean,
        left=left[order],
        right=right[order],
        outcome=outcome[order],
        amount=amount,
        context=columns.context[used][order],
        sides=columns.sides[used[order]],
        judge=judge[order],
        n_judges=n_judges,
        rule=rule,
        ridge=ridge,
        slopes=np.ones(n_judges),
        slope_variance=np.zeros(n_judges),
    )


def _rows_of_pairs(data: TableData, rule: TieRule, ridge: np.ndarray) -> SingleComparisons:
    """The rows where only who met and who won matters: each pair's losses of low, ties and wins."""
    pairs = data.pairs
    number = np.column_stack(_outcomes_of_pairs(data)).ravel()
    used = np.flatnonzero(number > 0)
    pair, kind = np.divmod(used, 3)
    return SingleComparisons(
        X=data.X,
        mean=data.item_moments.mean,
        left=pairs.low[pair].astype(np.intp),
        right=pairs.high[pair].astype(np.intp),
        outcome=kind - 1.0,
        amount=number[used] / data.weight_unit,
        context=np.empty((len(used), 0)),
        sides=sparse.csr_array((len(used), 0)),
        judge=np.zeros(len(used), dtype=int),
        n_judges=1,
        rule=rule,
        ridge=ridge,
        slopes=np.ones(1),
        slope_variance=np.zeros(1),
    )


def _outcomes_of_pairs(data: TableData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often low lost, tied and won, for every pair (P)."""
    pairs, votes = data.pairs, data.comparisons
    lose, win = sum_sides(pairs.lose), sum_sides(pairs.win)
    if data.tied is None:
        return lose, np.zeros(len(win)), win
    ties = sum_sides(data.tied)
    halves_are_exact = np.array_equal(data.amount, np.rint(data.amount))
    if halves_are_exact and data.tally.n_comparisons < 2**52:
        return lose - ties / 2, ties, win - ties / 2
    amount = data.amount * (votes.outcome != 0)
    decided = aggregate_pairs(votes.left, votes.right, votes.outcome, amount, len(data.X))
    return decided.lose[0], ties, decided.win[0]


def judges_of(data: TableData, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Names of the judges, and a code for every comparison."""
    judge = data.comparisons.judge
    if judge is None:
        if settings.needs_judges:
            raise PairscoreError(
                "the votes have no column 'judge', which judge_slopes, side_effect='judges' and"
                " inference='items+judges' need; add it."
            )
        return np.empty(0, dtype=object), np.zeros(len(data.comparisons), dtype=int)
    if settings.needs_judges:
        refuse_missing_judges(judge)
    return np.unique(
        np.array(judge_labels(judge)) if judge.dtype.kind in "fO" else judge, return_inverse=True
    )


def refuse_one_kind_of_outcome(data: TableData, rule: TieRule) -> None:
    """The parameter of ties needs ties, and other outcomes."""
    if not rule.has_parameter:
        return
    used = (data.comparisons.left != data.comparisons.right) & (data.amount > 0)
    tied = np.count_nonzero(data.comparisons.outcome[used] == 0)
    if tied in (0, np.count_nonzero(used)):
        seen = "no comparison is a tie" if tied == 0 else "every comparison is a tie"
        raise PairscoreError(
            f"ties={rule.name!r} estimates how often items tie, but {seen}; use ties='half'."
        )


def _side_columns(
    settings: Settings, names: np.ndarray, judge: np.ndarray
) -> tuple[sparse.csr_array, list[str]]:
    """One column for the advantage of the left side, or one for each judge."""
    if not settings.side_effect:
        return sparse.csr_array((len(judge), 0)), []
    if not settings.side_by_judge:
        return sparse.csr_array(np.ones((len(judge), 1))), ["left"]
    if len(names) > MOST_SIDES:
        raise PairscoreError(
            f"side_effect='judges' is for at most {MOST_SIDES} judges, and there are {len(names)};"
            " use side_effect=True."
        )
    entries = np.ones(len(judge)), (np.arange(len(judge)), judge)
    sides = sparse.csr_array(entries, shape=(len(judge), len(names)))
    return sides, [f"left, {name}" for name in names.tolist()]


def effect_notes(effects: Effects, undetermined: np.ndarray, unit: np.ndarray) -> list[Note]:
    """Effects that the comparisons leave open, and those that they push to infinity."""
    names = np.array(effects.names, dtype=object)
    notes: list[Note] = []
    if undetermined.any():
        text = (
            f"{plural(int(undetermined.sum()), 'effect')} not determined by the comparisons,"
            " because constant or a combination of others:"
            f" {first_few(map(repr, names[undetermined]))}; intervals are unknown."
        )
        notes.append((CollinearFeaturesWarning, text))
    endless = np.nan_to_num(effects.std_errors * unit) > ENDLESS
    if endless.any():
        text = (
            "some effects explain every comparison that they touch and have no finite"
            f" size: {first_few(map(repr, names[endless]))}; leave them out."
        )
        notes.append((SeparationWarning, text))
    return notes


def maximum_at(rows: SingleComparisons, theta: np.ndarray) -> RowsMaximum:
    """The maximum where theta is known to be one."""
    return RowsMaximum(theta, rows.basis(rows.derivatives(theta)), 0, True)


class RowsInformation(NamedTuple):
    """What some comparisons add to the score (p) and to the information (p x p) of parameters."""

    score: np.ndarray
    information: Any


def information_of_design(D: Any, s: OutcomeDerivatives, has_parameter: bool) -> RowsInformation:
    """D'g and D'WD of parameters with eta = D theta, bordered by those of a tie parameter.

    ``D`` (m x p) is an array, or sparse; so is the information. ``s`` are the derivatives of its
    rows, as often as they count.
    """
    weighted = D.multiply(s.eta_eta[:, None]) if sparse.issparse(D) else s.eta_eta[:, None] * D
    score, information = D.T @ s.eta, D.T @ weighted
    if not has_parameter:
        return RowsInformation(score, information)
    border = (D.T @ s.eta_t)[:, None]
    blocks = [[information, border], [border.T, np.array([[s.t_t.sum()]])]]
    join = partial(sparse.block_array, format="csr") if sparse.issparse(D) else np.block
    return RowsInformation(np.append(score, s.t.sum()), join(blocks))


def information_of_rows(
    rows: SingleComparisons, s: RowDerivatives, some: np.ndarray
) -> RowsInformation:
    """What ``some`` comparisons add to the score (k) and the information (k x k) of theta."""
    return information_of_design(rows.design(some), s.part(some), rows.rule.has_parameter)
