"""The likelihood of single comparisons.

With their context, who judged, which side, and ties as they are.

    delta = s_left - s_right + context'g       what the comparison is about
    eta   = slope_judge * delta + side          what the judge makes of it

A slope is a judge's sharpness: slope ~ N(1, spread^2), and the slopes of the judges at hand average
to exactly 1 (the prior alone would let all slopes shrink together while the scores grow). Since a
comparison has one judge, the slopes' part of the Hessian is diagonal, and they are eliminated
before the rest is solved for. Judges of whom the votes say too little have no slope: fitted
together with the scores, many such slopes would explain noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pairscore.core.newton import Step, minimise, search_by_value
from pairscore.core.outcomes import OutcomeDerivatives, OutcomeLaw, TieRule, averaged_derivatives
from pairscore.core.sums import Pairs, difference_scatter, net_per_item, row_blocks
from pairscore.core.whitening import TOLERANCE, Basis, whitening_basis

Contributions = Callable[[np.ndarray], np.ndarray]
BLOCK_NUMBERS = 4_000_000  # contributions of comparisons that are held at a time
LARGEST_MOVE = 0.5  # of eta in one step, up to which the loss is close to its quadratic


@dataclass(frozen=True)
class Params:
    """``coef`` of features, ``effects`` of context and sides, tie parameter ``t``, and the judges'
    ``slopes``.
    """

    coef: np.ndarray
    effects: np.ndarray
    t: float
    slopes: np.ndarray

    def moved(self, step: np.ndarray, slope_step: np.ndarray, length: float) -> "Params":
        d, e = len(self.coef), len(self.effects)
        t = self.t + length * float(step[d + e]) if len(step) > d + e else self.t
        return Params(
            self.coef + length * step[:d],
            self.effects + length * step[d : d + e],
            t,
            self.slopes + length * slope_step,
        )


@dataclass(frozen=True)
class Derivatives:
    """What one look at the likelihood gives.

    Loss, gradient (downhill is minus), information of (coef, effects, t), of slopes, and across
    (slopes by coef, effects, t).
    """

    loss: float
    gradient: np.ndarray
    slope_gradient: np.ndarray
    information: np.ndarray
    across: np.ndarray
    slope_information: np.ndarray
    total: float  # information of all comparisons in their eta

    def solved(self, values: np.ndarray) -> np.ndarray:
        """Inverse of the slopes' information times ``values``, among slopes that keep their
        average.
        """
        freely, reach = values / self.slope_information, 1 / self.slope_information
        return freely - freely.sum() * reach / max(reach.sum(), 1e-300)

    @property
    def slope_variance(self) -> np.ndarray:
        """Of each slope, given the rest."""
        own = 1 / self.slope_information
        return np.maximum(own - own**2 / own.sum(), 0.0)

    def through(self, slopes: np.ndarray | slice) -> np.ndarray:
        """How (coef, effects, t) answer to the equations of some slopes (rows)."""
        reach = 1 / self.slope_information
        average = self.across.T @ reach / max(reach.sum(), 1e-300)
        return reach[slopes, None] * (self.across[slopes] - average)

    @cached_property
    def apart(self) -> np.ndarray:
        """Information of (coef, effects, t) when the slopes are fitted too."""
        information = self.information.copy()
        for slopes in row_blocks(len(self.across)):
            information -= self.across[slopes].T @ self.through(slopes)
        return (information + information.T) / 2


@dataclass(frozen=True)
class SingleComparisons:
    """Comparisons sorted by unordered pair.

    ``context`` and ``sides`` have one column per effect; ``judge`` is a code per row.

    ``ridge`` is a matrix: half its product with (coef, effects, t) on both sides is the penalty.
    ``sloped`` and ``slope_spread`` are empty
    and None where all judges are taken to be alike.
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
    sloped: np.ndarray  # the judges with a slope of their own
    slope_spread: float | None = None
    known_slopes: np.ndarray | None = None  # of every judge, instead of those that are sought
    effect_variance: float = 0.0  # of the difference of two items' effects, which are averaged over

    @cached_property
    def pairs(self) -> tuple[Pairs, np.ndarray]:
        """The unordered pairs, and the place of each comparison's pair among them."""
        n = len(self.X)
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        keys, place = np.unique(low.astype(np.int64) * n + high, return_inverse=True)
        start = np.searchsorted(keys // n, np.arange(n + 1)).astype(np.int32)
        number = np.bincount(place, self.amount)
        return (
            Pairs(
                start,
                (keys % n).astype(np.int32),
                number[None],
                np.zeros((1, len(keys))),
                np.zeros(1),
            ),
            place,
        )

    @cached_property
    def slope_code(self) -> np.ndarray:
        """The place of each comparison's judge among those with a slope.

        One beyond them for an average judge.
        """
        place = np.full(self.n_judges, len(self.sloped))
        place[self.sloped] = np.arange(len(self.sloped))
        return place[self.judge]

    @cached_property
    def n_comparisons(self) -> float:
        return float(self.amount.sum())

    @cached_property
    def feature_units(self) -> np.ndarray:
        """Standard deviation of what each coefficient multiplies.

        Zero for a feature that does not vary within comparisons, up to rounding.
        """
        pairs, _ = self.pairs
        squares = np.diag(difference_scatter(self.X, self.mean, pairs, pairs.number)) / (
            2 * self.n_comparisons
        )
        varies = squares > TOLERANCE * self.X.var(axis=0)
        sd = np.sqrt(np.where(varies, squares, 0.0))
        return np.where(sd > 1e-13 * np.abs(self.mean), sd, 0.0)

    def basis(self, look: Derivatives) -> Basis:
        """Whiten the information of (coef, effects, t) when the slopes are fitted too.

        The unit of an effect is the root mean square of its column, each comparison weighted by
        what it tells: one value far outside, of which nothing more can be learnt, counts nothing.
        """
        effects = np.diag(look.information)[len(self.mean) :]
        units = np.sqrt(effects / max(look.total, np.finfo(float).tiny))
        return whitening_basis(look.apart, np.concatenate([self.feature_units, units]))

    @cached_property
    def usual_sizes(self) -> np.ndarray:
        """Of what each effect and the tie parameter multiply, where it is not zero.

        A median, which one row cannot move.
        """
        sizes = [
            float(np.median(column[column > 0])) if np.any(column > 0) else 0.0
            for column in np.abs(self.context.T)
        ]
        return np.array(sizes + [1.0] * (self.sides.shape[1] + self.rule.has_parameter))

    def start(self, coef: np.ndarray) -> Params:
        tied = float(self.amount @ (self.outcome == 0)) / self.n_comparisons
        slopes = np.ones(len(self.sloped))
        return Params(
            coef,
            np.zeros(self.context.shape[1] + self.sides.shape[1]),
            self.rule.start(tied) if self.rule.has_parameter else 0.0,
            slopes,
        )

    def flat(self, params: Params) -> np.ndarray:
        """(coef, effects, t) in a row."""
        return np.concatenate([params.coef, params.effects, [params.t] * self.rule.has_parameter])

    def sharpness(self, params: Params) -> np.ndarray:
        """The slope of every comparison's judge."""
        if self.known_slopes is not None:
            return self.known_slopes[self.judge]
        return np.append(params.slopes, 1.0)[self.slope_code]

    def delta(self, params: Params) -> np.ndarray:
        scores = self.X @ params.coef
        return (
            scores[self.left]
            - scores[self.right]
            + self.context @ params.effects[: self.context.shape[1]]
        )

    def predictor(self, params: Params) -> np.ndarray:
        return (
            self.sharpness(params) * self.delta(params)
            + self.sides @ params.effects[self.context.shape[1] :]
        )

    def outcome_derivatives(self, params: Params) -> OutcomeDerivatives:
        """Derivatives of the log-likelihood, each comparison as often as it counts."""
        if self.effect_variance > 0:
            reach = np.sqrt(self.effect_variance) * np.abs(self.sharpness(params))
            found = averaged_derivatives(
                OutcomeLaw(self.rule, params.t), self.predictor(params), reach, self.outcome
            )
        else:
            found = self.rule.derivatives(self.predictor(params), self.outcome, params.t)
        return OutcomeDerivatives(
            **{name: self.amount * part for name, part in vars(found).items()}
        )

    def effect_columns(self, params: Params) -> sparse.csr_array:
        """Derivatives of eta in the effects; sparse, because a comparison has one judge's side."""
        context = self.sharpness(params)[:, None] * self.context
        return sparse.hstack([sparse.csr_array(context), self.sides], format="csr")

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """Comparisons by items: 1 at left, -1 at right."""
        n, rows = len(self.left), np.arange(len(self.left))
        entries = np.repeat([1.0, -1.0], n), (np.tile(rows, 2), np.append(self.left, self.right))
        return sparse.csr_array(entries, shape=(n, len(self.X)))

    def look(self, params: Params) -> Derivatives:
        """Loss, gradient and expected information."""
        s, a, columns = (
            self.outcome_derivatives(params),
            self.sharpness(params),
            self.effect_columns(params),
        )
        pairs, place = self.pairs
        weight = np.bincount(place, s.eta_eta * a * a)
        scatter = difference_scatter(self.X, self.mean, pairs, weight)
        extra = self._with_ties(rows_times(s.eta_eta, columns), s.eta_t)
        border = (extra.T @ rows_times(a, self.incidence)) @ self.X
        corner = (columns.T @ extra).toarray()
        corner = (
            np.vstack([corner, np.append(columns.T @ s.eta_t, s.t_t.sum())])
            if self.rule.has_parameter
            else corner
        )
        information = np.block([[scatter, border.T], [border, corner]]) + self.ridge
        tail = np.append(-columns.T @ s.eta, [-s.t.sum()] * self.rule.has_parameter)
        gradient = np.concatenate(
            [-net_per_item(self.left, self.right, a * s.eta, len(self.X)) @ self.X, tail]
        )
        flat = self.flat(params)
        gradient, loss = gradient + self.ridge @ flat, -float(s.value.sum())
        loss += 0.5 * float(flat @ self.ridge @ flat)
        none, total = np.empty(0), float(s.eta_eta.sum())
        look = Derivatives(
            loss, gradient, none, information, np.empty((0, len(gradient))), none, total
        )
        return self._with_slopes(look, params, s, extra) if len(self.sloped) else look

    def _with_ties(self, columns: sparse.csr_array, of_ties: np.ndarray) -> sparse.csr_array:
        """The columns of the effects, and that of the tie parameter where there is one."""
        if not self.rule.has_parameter:
            return columns
        return sparse.hstack([columns, sparse.csr_array(of_ties[:, None])], format="csr")

    def _with_slopes(
        self, look: Derivatives, params: Params, s: OutcomeDerivatives, extra: sparse.csr_array
    ) -> Derivatives:
        """The same with the judges' slopes, held to their prior."""
        delta, precision = self.delta(params), 1 / self.slope_spread**2  # type: ignore[operator]

        def per_judge(values: np.ndarray) -> np.ndarray:
            return np.bincount(self.slope_code, values, len(self.sloped) + 1)[:-1]

        by_judge = rows_times(delta, self.sloped_judge)
        net = by_judge.T @ rows_times(s.eta_eta * self.sharpness(params), self.incidence)
        across = np.empty((len(self.sloped), len(look.gradient)))
        across[:, len(self.mean) :] = (by_judge.T @ extra).toarray()
        for slopes in row_blocks(len(across)):
            across[slopes, : len(self.mean)] = net[slopes] @ self.X
        return replace(
            look,
            loss=look.loss + 0.5 * precision * float(np.sum((params.slopes - 1) ** 2)),
            slope_gradient=-per_judge(s.eta * delta) + precision * (params.slopes - 1),
            across=across,
            slope_information=per_judge(s.eta_eta * delta**2) + precision,
        )

    @cached_property
    def sloped_judge(self) -> sparse.csr_array:
        """Comparisons by judges with a slope: 1 at the one who judged."""
        rows = np.flatnonzero(self.slope_code < len(self.sloped))
        entries = np.ones(len(rows)), (rows, self.slope_code[rows])
        return sparse.csr_array(entries, shape=(len(self.left), len(self.sloped)))

    def contributions(self, params: Params, look: Derivatives) -> Contributions:
        """A function that gives what some comparisons (rows) add to the equations of (coef,
        effects, t), slopes fitted, from their mean.
        """
        s, a, delta = self.outcome_derivatives(params), self.sharpness(params), self.delta(params)
        tail = self._with_ties(rows_times(s.eta, self.effect_columns(params)), s.t)
        average = self.ridge @ self.flat(params) / self.n_comparisons

        def contribution(rows: np.ndarray) -> np.ndarray:
            u = np.empty((len(rows), len(average)))
            d = len(self.mean)
            u[:, :d] = self.X[self.left[rows]]
            u[:, :d] -= self.X[self.right[rows]]
            u[:, :d] *= (a[rows] * s.eta[rows])[:, None]
            u[:, d:] = tail[rows].toarray()
            u -= self.amount[rows, None] * average
            sloped = np.flatnonzero(self.slope_code[rows] < len(self.sloped))
            through = look.through(self.slope_code[rows[sloped]])
            u[sloped] -= (delta * s.eta)[rows[sloped], None] * through
            return u

        return contribution

    def taken_by_ties(self, params: Params, look: Derivatives) -> np.ndarray | None:
        """What ties as half wins take off the variance of the equations of (coef, effects).

        P(tie)/4 off that of an outcome, so by what was seen sum g^2 v v'/4 over the ties, v the
        derivatives of eta with slopes fitted, and g those of the log-likelihood in an outcome and
        eta. None without ties, and where ties have a parameter.
        """
        tied = np.flatnonzero(self.outcome == 0)
        if self.rule.has_parameter or not len(tied):
            return None
        won, lost = (
            replace(self, outcome=np.full(len(self.outcome), sign)).outcome_derivatives(params).eta
            for sign in (1.0, -1.0)
        )
        pull = 0.5 * (won - lost) / np.sqrt(self.amount)
        a, columns, delta = self.sharpness(params), self.effect_columns(params), self.delta(params)
        taken, size = np.zeros(look.information.shape), BLOCK_NUMBERS // len(look.information)
        for rows in (tied[part] for part in whole_groups(self.pairs[1][tied], size)):
            difference = a[rows, None] * (self.X[self.left[rows]] - self.X[self.right[rows]])
            v = np.hstack([difference, columns[rows].toarray()])
            sloped = np.flatnonzero(self.slope_code[rows] < len(self.sloped))
            v[sloped] -= delta[rows[sloped], None] * look.through(self.slope_code[rows[sloped]])
            v *= pull[rows, None]
            taken += v.T @ v
        return taken


def rows_times(values: np.ndarray, matrix: sparse.csr_array) -> sparse.csr_array:
    """Each row of a sparse matrix times a value of its own."""
    return sparse.csr_array(sparse.diags_array(values) @ matrix)


def whole_groups(group: np.ndarray, size: int) -> Iterator[slice]:
    """About ``size`` rows at a time, to where a group ends; rows are sorted by ``group``."""
    first = 0
    while first < len(group):
        last = group[min(first + max(size, 1), len(group)) - 1]
        yield slice(first, first := int(np.searchsorted(group, last, side="right")))


class Optimum(NamedTuple):
    """Where a climb ended, after how many ``steps``: at the maximum if it ``converged``.

    ``basis`` has the inverse of ``look.apart``.
    """

    contest: SingleComparisons
    params: Params
    look: Derivatives
    basis: Basis
    steps: int
    converged: bool


class Point(NamedTuple):
    """The derivatives at a point, with loss and gradient in all parameters, slopes included."""

    look: Derivatives
    basis: Basis
    loss: float
    gradient: np.ndarray


@dataclass(frozen=True)
class SingleComparisonsLoss:
    """The loss as a function of one vector, (coef, effects, t, slopes)."""

    contest: SingleComparisons

    def params(self, vector: np.ndarray) -> Params:
        d, n = len(self.contest.mean), len(self.contest.ridge)
        has_t = self.contest.rule.has_parameter
        t = float(vector[n - 1]) if has_t else 0.0
        return Params(vector[:d], vector[d : n - has_t], t, vector[n:])

    def derivatives(self, vector: np.ndarray) -> Point | None:
        params = self.params(vector)
        if not self.contest.rule.allowed(params.t):
            return None
        look = self.contest.look(params)
        return Point(
            look,
            self.contest.basis(look),
            look.loss,
            np.concatenate([look.gradient, look.slope_gradient]),
        )

    def newton_step(self, vector: np.ndarray, here: Point, iteration: int) -> Step:
        look = here.look
        steps = newton_step(look, here.basis, look.gradient, look.slope_gradient)
        direction = -np.concatenate(steps)
        gap = max(float(here.gradient @ direction), self.gap_of_the_rest(vector, direction))
        return Step(direction, gap / self.contest.n_comparisons)

    def gap_of_the_rest(self, vector: np.ndarray, direction: np.ndarray) -> float:
        """How far the loss may fall along a step, but for comparisons that move far by it.

        Of a context value of 1e8 among ones a Newton step sees nothing else, and closes a gap that
        is soon small, long before the step is as long as the other comparisons want it.
        """
        contest, params, there = self.contest, self.params(vector), self.params(vector - direction)
        move = contest.predictor(there) - contest.predictor(params)
        near = np.abs(move) <= LARGEST_MOVE
        if near.all():
            return 0.0
        s, move = contest.outcome_derivatives(params), np.where(near, move, 0.0)
        flat, step = contest.flat(params), contest.flat(there) - contest.flat(params)
        slope = float(s.eta @ move) - float(flat @ contest.ridge @ step)
        bend = float(s.eta_eta @ move**2) + float(step @ contest.ridge @ step)
        if contest.slope_spread is not None:
            step = there.slopes - params.slopes
            slope -= float((params.slopes - 1) @ step) / contest.slope_spread**2
            bend += float(step @ step) / contest.slope_spread**2
        return slope**2 / bend if bend > 0 else 0.0


def climb(contest: SingleComparisons, params: Params, max_iter: int, tol: float) -> Optimum:
    """Newton's steps to the maximum; slopes times scores are not log-concave."""
    loss = SingleComparisonsLoss(contest)
    start = np.concatenate([contest.flat(params), params.slopes])
    top = minimise(loss, start, max_iter, tol, search_by_value)
    params = loss.params(top.params)
    look = contest.look(params)
    return Optimum(contest, params, look, contest.basis(look), top.n_iterations, top.converged)


def newton_step(
    look: Derivatives, basis: Basis, gradient: np.ndarray, slope_gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of (coef, effects, t) and of the slopes, which are eliminated first.

    ``basis`` is that of ``look.apart``.
    """
    step = -basis.solve(gradient - look.across.T @ look.solved(slope_gradient))
    return step, -look.solved(slope_gradient + look.across @ step)
