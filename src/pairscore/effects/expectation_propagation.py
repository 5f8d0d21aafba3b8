"""Coefficients, effects of comparisons and effects of items, estimated together.

Effects u ~ N(0, sigma^2 I) of items, given all comparisons, have about a normal law N(m, V)
(expectation propagation). Each comparison takes part in it by a term that is normal in its own eta,
with precision tau. The term is right if it makes of what all *other* comparisons say of eta, the
cavity N(c, v), the same mean and variance as the comparison itself does:

    log Z = log E p(outcome | c + sqrt(v) z),  g = d log Z / dc,  h = -d^2 log Z / dc^2
    mean  = c + v g,    variance = v - v^2 h,    tau = h / (1 - v h),    score at the mean = g

In the fixed point scores balance, B'g = m / sigma^2, V = (B' tau B + I / sigma^2)^-1, and theta
maximises the approximate likelihood: sum g (x_left - x_right) = 0 and so on. With one comparison
per item this is the likelihood averaged over the effects; with many it is the joint mode. The
derivative of the log-likelihood in log sigma^2 is (N/2)(rho - 1) with
rho = mean(m_i^2 + V_ii) / sigma^2.

A move d of eta changes the score of a comparison by -tau d, and one dt of the tie parameter by
-kappa dt with kappa = h_ct / (1 - v h): tau, kappa and lambda = h_tt + v h_ct^2 / (1 - v h) take
the place of the second derivatives, and the equations are those of a likelihood without effects
with N more parameters.

A judge's slope a has about a normal law too, N(a, w), and a cavity that leaves the comparison out.
Then eta = a delta has mean a c and variance a^2 v + w (c^2 + v), which depend on c, so the score in
delta is a g + w c (g^2 - h): slopes that the same comparisons have found do not lengthen scores.

References: T. Minka (2001), Expectation propagation for approximate Bayesian inference; P. Hall,
I. Johnstone, J. Ormerod, M. Wand and J. Yu (2020), Fast and accurate binary response mixed model
analysis via expectation propagation.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pairscore.core import kernels, threads
from pairscore.core.normal_average import SD_CLASSES, averaged_derivatives, nodes_of_classes
from pairscore.core.passes import net_pass
from pairscore.core.ties import OutcomeDerivatives, OutcomeLaw, share_of_coin
from pairscore.core.whitening import Basis
from pairscore.effects.belief_propagation import INEXACT
from pairscore.effects.design import PreparedFit
from pairscore.effects.item_covariance import (
    Covariance,
    FormedCovariance,
    change_of_trace,
    posterior_covariance,
)
from pairscore.effects.single_comparisons import RowDerivatives, SingleComparisons

# Sweeps end where eta moves by less than CLOSE standard errors of one comparison and the trace of V
# by less than STEADY of itself: tighter costs sweeps, and moves no estimate by a visible share of
# its own error, which is that of many comparisons.
CLOSE = 1e-4
STEADY = 1e-3
SWEEPS = 100  # more than any fit has been seen to take; ends one that comes and goes for ever
# Sweeps that do not shrink (SLOW) come and go: each next one takes a smaller share of the way, down
# to what the first one is shortened by. Less shortening would take more sweeps to settle.
SLOW, SHORTER = 0.9, 0.7
# Equations within a sweep are solved up to INEXACT, because another sweep follows; on the way to a
# maximum they are solved: items of tiny weights have tiny residuals.
SOLVED = 1e-10
# A sweep works with the information of the last one unless eta or log sigma^2 moved by FAR: a new
# one costs as many solutions as theta has parameters.
FAR = 0.03
# Guards of divisions. A cavity keeps at least SMALLEST_SHARE of the posterior precision (one term
# may hold nearly all of it), that of a slope at least half; information is at least rounding.
SMALLEST_SHARE = 1e-3
LEAST_OF_OTHERS = 0.5
SMALLEST_INFORMATION = 1e-12
LONGEST = 5.0  # root mean square of eta's move in one sweep: beyond, links are flat and steps blind


@dataclass(frozen=True)
class Posterior:
    """Where the sweeps stand: theta (k), the items' effects (N), and each comparison's term.

    ``tau`` (M) is the precision of each term, ``score`` and ``delta_score`` its scores at the
    present eta.
    ``derivatives`` are those of the comparisons, as often as they count, with tau, kappa and lambda
    for the second ones; ``solved`` is V times ``rows.item_borders(derivatives)`` and ``basis`` that
    of the information of theta, effects of items allowed for. ``step_size`` is how far eta moved
    last, in standard errors of one comparison, and ``trace_change`` by what share of itself the
    trace of V did.
    V is formed for groups of up to ``exact_items`` (None: as many as sweeps usually do).
    Unless terms are ``averaged`` over what is not known of the effects, theta and the effects are
    at the maximum of the likelihood, with a ridge of 1 / sigma^2 on the effects (none if infinite).
    """

    rows: SingleComparisons
    sigma2: float
    theta: np.ndarray
    effect: np.ndarray
    tau: np.ndarray
    score: np.ndarray
    delta_score: np.ndarray
    covariance: Covariance
    derivatives: RowDerivatives
    solved: np.ndarray
    basis: Basis
    n_sweeps: int = 0
    step_size: float = np.inf
    trace_change: float = np.inf
    averaged: bool = True
    exact_items: int | None = None

    @cached_property
    def delta(self) -> np.ndarray:
        """Difference of the two scores, with context (M)."""
        return self.rows.delta(self.theta, self.effect)

    @cached_property
    def eta(self) -> np.ndarray:
        return self.rows.sharpness * self.delta + self.rows.side(self.theta)

    @cached_property
    def share_of_coin(self) -> float:
        """Variance of outcomes, with ties as half wins, over that of coins; 1 without such ties."""
        rows = self.rows
        if rows.rule.has_parameter:
            return 1.0
        return share_of_coin(rows.rule.link.cdf(self.eta), rows.outcome, rows.amount)

    @property
    def pair_information(self) -> np.ndarray:
        """What is known of each pair (P): more than of coins, where ties are half wins."""
        return self.rows.pair_information(self.derivatives) / self.share_of_coin

    @property
    def rough(self) -> float:
        """Residual of a solution that will do in a sweep."""
        return INEXACT if self.averaged else SOLVED

    @property
    def rho(self) -> float:
        """Mean square of the items' effects over sigma^2, which it should be."""
        used = self.rows.compared
        unused = len(used) - np.count_nonzero(used)
        total = float(np.sum(self.effect[used] ** 2)) + self.covariance.trace()
        return (total / self.sigma2 - unused) / (len(used) - unused)

    def new_covariance(self, near: Covariance | None = None) -> Covariance:
        """V by the terms as they are now; ``near`` is one for about the same terms."""
        weight = self.rows.pair_information(self.derivatives)
        return posterior_covariance(self.rows.pairs, weight, self.sigma2, near, self.exact_items)

    def with_information(self, close: float) -> "Posterior":
        """With the information of theta as the terms have it now, up to a residual."""
        rows, s = self.rows, self.derivatives
        if self.sigma2 == 0:
            return replace(self, solved=np.zeros_like(self.solved), basis=rows.basis(s))
        borders = rows.item_borders(s)
        near = self.solved if self.solved.any() else None
        solved = self.covariance.times(borders, near, close)
        return replace(self, solved=solved, basis=rows.basis(s, borders.T @ solved, borders))


def start_posterior(
    rows: SingleComparisons,
    theta: np.ndarray,
    sigma2: float,
    averaged: bool = True,
    effect: np.ndarray | None = None,
    basis: Basis | None = None,
    exact_items: int | None = None,
) -> Posterior:
    """Before the first sweep: the maximum without effects of items, and none unless given (N).

    ``basis`` is that of the information of theta without effects, if it is at hand.
    """
    effect = np.zeros(len(rows.X)) if effect is None else effect
    eta = rows.predictor(theta, effect)
    s = rows.rule.derivatives(eta, rows.outcome, rows.tie(theta), value=False)
    counted = rows.counted(s)
    return Posterior(
        rows,
        sigma2,
        theta,
        effect=effect,
        tau=np.maximum(s.eta_eta, SMALLEST_INFORMATION),
        score=s.eta,
        delta_score=rows.sharpness * s.eta,
        covariance=posterior_covariance(
            rows.pairs, rows.pair_information(counted), sigma2, exact_items=exact_items
        ),
        derivatives=counted,
        solved=np.zeros((len(rows.X), len(theta))),
        basis=basis or rows.basis(counted),
        averaged=averaged,
        exact_items=exact_items,
    )


def near_posterior(post: Posterior, prepared: PreparedFit) -> Posterior:
    """Where an earlier fit stands, with its sigma^2; ``post`` if it had no effects of items."""
    known = None if prepared.earlier is None else prepared.earlier.item_effects
    if known is None or known.posterior_sigma2 == 0 or known.free == post.averaged:
        return post
    effect, d = np.zeros(len(post.effect)), len(prepared.rows.mean)
    effect[: len(known.effect)] = np.nan_to_num(known.effect)
    theta = prepared.first_theta(with_item_effects=True)
    theta = np.insert(theta, d, np.zeros(len(post.theta) - len(theta)))
    sigma2 = known.posterior_sigma2 if post.averaged else post.sigma2
    post = start_posterior(
        post.rows, theta, sigma2, post.averaged, effect, exact_items=post.exact_items
    )
    return post.with_information(post.rough)


class Cavities(NamedTuple):
    """What all other comparisons say of delta and of the judge's slope, comparison by comparison.

    Means and variances, arrays (M).
    """

    delta: np.ndarray
    variance: np.ndarray
    slope: np.ndarray
    slope_variance: np.ndarray

    def law_of_eta(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean, side left out, and variance of eta."""
        noise = self.slope_variance * (self.delta**2 + self.variance)
        return self.slope * self.delta, self.slope**2 * self.variance + noise


def cavities(post: Posterior) -> Cavities:
    """Each comparison's own term is taken out of the law of delta and of the slope."""
    rows = post.rows
    slope = rows.sharpness
    once = np.minimum(rows.amount, 1.0)  # no more than is there is taken out
    tau = once * post.tau
    score = once * post.score
    variance = post.covariance.pair_variance[rows.pair]
    variance = variance / np.maximum(1 - slope**2 * tau * variance, SMALLEST_SHARE)
    delta = post.delta - variance * slope * score
    noise = rows.slope_variance[rows.judge]
    noise = noise / np.maximum(1 - noise * tau * delta**2, LEAST_OF_OTHERS)
    return Cavities(delta, variance, slope - noise * delta * score, noise)


def new_terms(post: Posterior) -> tuple[OutcomeDerivatives, np.ndarray]:
    """Each comparison's derivatives with its new term, and that in delta; each counts once."""
    if not post.averaged:
        rule, tie = post.rows.rule, post.rows.tie(post.theta)
        s = rule.derivatives(post.eta, post.rows.outcome, tie, value=False)
        s = replace(s, eta_eta=np.maximum(s.eta_eta, SMALLEST_INFORMATION))
        return s, post.rows.sharpness * s.eta
    rows, side = post.rows, post.rows.side(post.theta)
    if kernels.IS_COMPILED and rows.rule.link.is_logistic and not rows.rule.has_parameter:
        return _compiled_terms(post, side)
    return _averaged_terms(post, side)


def _compiled_terms(post: Posterior, side: np.ndarray) -> tuple[OutcomeDerivatives, np.ndarray]:
    """The same under logit without a parameter of ties, in one pass."""
    rows = post.rows
    score, tau, delta_score = np.empty((3, len(side)))
    columns = post.delta, side, rows.outcome, rows.amount, post.tau, post.score
    codes = rows.pair, rows.judge, post.covariance.pair_variance
    slopes = np.array([rows.slopes, rows.slope_variance])
    least = np.array([SMALLEST_SHARE, LEAST_OF_OTHERS, SMALLEST_INFORMATION])
    given = *columns, *codes, slopes, least, SD_CLASSES, *nodes_of_classes()

    def one(some: slice) -> None:
        kernels.term_pass(*given, some.start, some.stop, score, tau, delta_score)

    threads.on_each(one, threads.row_chunks(len(side), 1))
    zero = np.zeros(len(side))
    return OutcomeDerivatives(zero, score, zero, tau, zero, zero), delta_score


def _averaged_terms(post: Posterior, side: np.ndarray) -> tuple[OutcomeDerivatives, np.ndarray]:
    """The same for any rule of ties and any link."""
    rows, others = post.rows, cavities(post)
    center, square = others.law_of_eta()
    law = OutcomeLaw(rows.rule, rows.tie(post.theta))
    s = averaged_derivatives(law, center + side, np.sqrt(square), rows.outcome)
    spread = others.slope**2 * others.variance
    most = (1 - SMALLEST_SHARE) / np.maximum(spread, SMALLEST_INFORMATION)
    h = np.clip(s.eta_eta, SMALLEST_INFORMATION, most)
    rest = 1 - spread * h
    tau = h / rest
    delta_score = others.slope * s.eta
    delta_score += others.slope_variance * others.delta * (s.eta**2 - s.eta_eta)
    # scores at the mean of the term, taken along to the present mean
    ahead = tau * rows.sharpness * (others.delta + others.variance * delta_score - post.delta)
    terms = OutcomeDerivatives(
        value=np.zeros(len(side)),
        eta=s.eta + ahead,
        t=s.t,
        eta_eta=tau,
        eta_t=s.eta_t / rest,
        t_t=s.t_t + spread * s.eta_t**2 / rest,
    )
    return terms, delta_score + rows.sharpness * ahead


def sweep(post: Posterior, share: float = 1.0, fresh: bool = True) -> Posterior:
    """New terms (a ``share`` of the way to them), and the law that follows from them.

    The step of theta is Newton's, with ``fresh`` information or with that of an earlier sweep.
    """
    rows = post.rows
    terms, delta_score = new_terms(post)
    if share < 1:
        terms = replace(
            terms,
            eta=share * terms.eta + (1 - share) * post.score,
            eta_eta=terms.eta_eta**share * post.tau ** (1 - share),
        )
        delta_score = share * delta_score + (1 - share) * post.delta_score
    s = rows.counted(terms, delta_score)
    after = replace(
        post,
        tau=terms.eta_eta,
        score=terms.eta,
        delta_score=delta_score,
        derivatives=s,
        n_sweeps=post.n_sweeps + 1,
    )
    covariance = after.new_covariance(post.covariance if post.averaged else None)
    after = replace(after, covariance=covariance)
    if fresh:
        after = after.with_information(INEXACT if after.averaged else SOLVED)
    after = stepped(after, *gradients(after), post.rough)
    change = change_of_trace(post.covariance, covariance) if post.averaged else 0.0
    return replace(after, trace_change=change)


def gradients(post: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """In theta (k), of minus the log-likelihood, and in the items' effects (N), of it."""
    rows, s = post.rows, post.derivatives
    net = net_pass(rows.left, rows.right, s.delta, len(rows.X))
    on_items = np.zeros(len(net))
    if post.sigma2 > 0:
        on_items = net - post.effect / post.sigma2
    return rows.gradient(s, post.theta, net), on_items


def at_variance(post: Posterior, sigma2: float) -> Posterior:
    """The law that follows from the same terms at another sigma^2."""
    if sigma2 in (0, post.sigma2):
        return replace(post, sigma2=sigma2)
    if post.sigma2 == 0:  # effects are yet to be found
        after = replace(post, sigma2=sigma2)
        after = replace(after, covariance=after.new_covariance())
        if isinstance(after.covariance, FormedCovariance):  # else it is not worth a solution yet
            after = after.with_information(CLOSE)
        return stepped(after, *gradients(after), post.rough)
    after = replace(post, sigma2=sigma2, covariance=post.covariance.at(sigma2))
    on_items = post.effect * (1 / post.sigma2 - 1 / sigma2)
    return stepped(after, np.zeros_like(post.theta), on_items, INEXACT)


def stepped(post: Posterior, gradient: np.ndarray, on_items: np.ndarray, close: float) -> Posterior:
    """A step of Newton's method with the present terms, from the gradients in theta (k) and in the
    items' effects (N), up to a residual.
    """
    rows, theta, solved = post.rows, post.theta, post.solved
    step = -post.basis.solve(gradient + solved.T @ on_items)
    if rows.rule.has_parameter and not rows.rule.allowed(rows.tie(theta + step)):
        step *= 0.5 * theta[-1] / -step[-1]
    move = post.covariance.times(on_items, close=close) - solved @ step
    change = rows.predictor(step, move)
    far = np.sqrt(_mean_product(rows, change, change))
    if far > LONGEST:
        step = LONGEST / far * step
        move = LONGEST / far * move
        change = LONGEST / far * change
    pull = post.tau * change
    return replace(
        post,
        theta=theta + step,
        effect=post.effect + move,
        score=post.score - pull,
        delta_score=post.delta_score - rows.sharpness * pull,
        step_size=np.sqrt(_mean_product(rows, change, pull)),
    )


def _mean_product(rows: SingleComparisons, one: np.ndarray, other: np.ndarray) -> float:
    return float(np.einsum("m,m,m->", rows.amount, one, other)) / rows.n_comparisons


def propagate(
    post: Posterior, sigma2: float, close: float = CLOSE, most: int = SWEEPS
) -> Posterior:
    """Sweeps at one sigma^2 until nothing moves, or so many; shorter ones where they come and go.

    A rough answer, one less ``close``, may have the information of an earlier sweep.
    """
    far = abs(np.log(sigma2 / post.sigma2)) if min(sigma2, post.sigma2) > 0 else np.inf
    post = at_variance(post, sigma2)
    last_step, share, is_slow = np.inf, 1.0, far > FAR
    for _ in range(most):
        post = sweep(post, share, fresh=is_slow or post.step_size > FAR)
        if post.step_size < close and post.trace_change <= max(STEADY, close):
            break
        is_slow = post.step_size > SLOW * last_step
        if is_slow:
            share = max(SHORTER * share, 1 - SHORTER)
        last_step = post.step_size
    return post if close > CLOSE else post.with_information(CLOSE)
