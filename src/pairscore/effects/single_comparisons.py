"""The likelihood of single comparisons, each with its context, who judged, which side, and a tie.

    delta = s_left - s_right + context'g       what the comparison is about
    eta   = slope_judge * delta + side          what the judge makes of it

Parameters are one vector theta = (coef, effects, t): coefficients of the features, effects of
context and sides, and the parameter of ties where the rule has one. Slopes of judges are given,
each with a variance, which :mod:`pairscore.effects.expectation_propagation` allows for;
``judges`` finds them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pairscore.core.pair_graph import (
    Pairs,
    difference_scatter,
    laplacian,
)
from pairscore.core.passes import difference_pass, net_pass
from pairscore.core.row_blocks import BLOCK_NUMBERS, whole_groups
from pairscore.core.ties import OutcomeDerivatives, TieRule, share_of_coin
from pairscore.core.whitening import TOLERANCE, Basis, whitening_basis

Contributions = Callable[[np.ndarray], np.ndarray]
ENDLESS = 30.0  # standard error of eta by one effect: beyond, it explains all that it touches


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
        of_coef = laplacian(self.pairs, self.pair_information(s)) @ (self.X - self.mean)
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
