"""What each item has beyond its features.

The mode of its effect given all comparisons, and how sure that is.

Given coefficients and sigma^2, the effects u maximise the log-likelihood minus |u|^2 / (2 sigma^2).
The Hessian there is H = L + I / sigma^2, L the Laplacian of the comparison graph with the
information of each pair as weight, and H^-1 is the posterior covariance. If the coefficients move
by D, the mode moves by -H^-1 L X D, so scores move by X~ D with X~ = H^-1 X / sigma^2: the surer an
item is by its own comparisons, the less it depends on the coefficients.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from pairscore.core.newton import Derivatives, Step, minimise
from pairscore.core.sums import Pairs
from pairscore.effects.shared_items import Seen

EXACT_ITEMS = 2000  # up to which H is inverted; beyond, its diagonal is that on trees
ROUNDS = 30  # of messages between neighbours, each of which reaches one comparison further
STEPS = 100  # of Newton's method at most; a handful is usual


@dataclass(frozen=True)
class Effects:
    """Of every item: the effect, its posterior variance (with what coefficients add that is not
    along its features), and what share
    of its features' error is left in its score."""

    effect: np.ndarray
    variance: np.ndarray
    share: np.ndarray


def precision_matrix(pairs: Pairs, weight: np.ndarray, sigma2: float) -> sparse.csr_array:
    """H = L + I / sigma^2."""
    above = sparse.csr_array(
        (weight, pairs.high, pairs.start), shape=(pairs.n_items, pairs.n_items)
    )
    degree = pairs.sum_at_low(weight) + pairs.sum_at_high(weight)
    return sparse.csr_array(sparse.diags_array(degree + 1 / sigma2) - above - above.T)


def posterior_covariance(precision: sparse.csr_array) -> np.ndarray:
    """H^-1 as a full matrix, by Cholesky's factor."""
    factor, _ = lapack.dpotrf(precision.toarray(order="F"), lower=1, overwrite_a=1)
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    below = np.tril(inverse, -1)
    return below + below.T + np.diag(np.diag(inverse))


def solved(precision: sparse.csr_array, right: np.ndarray, relative: float) -> np.ndarray:
    """H^-1 times a vector by conjugate gradients, with the diagonal as preconditioner."""
    diagonal = precision.diagonal()
    scale = LinearOperator(precision.shape, matvec=lambda vector: vector / diagonal, dtype=float)
    return cg(precision, right, rtol=relative, maxiter=1000, M=scale)[0]


@dataclass(frozen=True)
class EffectsLoss:
    """Minus the log-likelihood plus |u|^2 / (2 sigma^2), as a function of the effects u."""

    seen: Seen
    sigma2: float

    def derivatives(self, effect: np.ndarray) -> Derivatives:
        seen = self.seen
        score, information = seen.law.newton(seen.eta + seen.moved(effect), seen.win, seen.lose)
        net = seen.pairs.net_per_item(seen.total(seen.sharpened(score)))
        information = seen.total(seen.sharpened(seen.sharpened(information)))
        return Derivatives(effect / self.sigma2 - net, information)

    def newton_step(self, effect: np.ndarray, here: Derivatives, iteration: int) -> Step:
        pairs = self.seen.pairs
        precision = precision_matrix(pairs, here.information, self.sigma2)
        direction = solved(precision, here.gradient, 1e-6)
        return Step(direction, float(here.gradient @ direction) / pairs.n_items)


def posterior_mode(seen: Seen, sigma2: float) -> tuple[np.ndarray, np.ndarray]:
    """Effects at the mode, by Newton's method, and the information of every pair there."""
    loss = EffectsLoss(seen, sigma2)
    effect = minimise(loss, np.zeros(seen.pairs.n_items), STEPS, 1e-12).params
    return effect, loss.derivatives(effect).information


def tree_variances(
    pairs: Pairs, weight: np.ndarray, sigma2: float
) -> tuple[np.ndarray, np.ndarray]:
    """The diagonal of H^-1 and its entry of each pair, exact where comparisons form no circles, by
    messages along pairs (Gaussian belief propagation).

    What is known of an item without its pair p with a neighbour has precision H_ii - sum over its
    other pairs of w^2 / (the neighbour's precision without that pair). A circle of n items adds a
    share of about w^n / H^n, which is left out.
    """
    diagonal = pairs.sum_at_low(weight) + pairs.sum_at_high(weight) + 1 / sigma2
    low, high = pairs.low, pairs.high
    # taken off the precision of low, and of high
    from_high, from_low = weight**2 / diagonal[high], weight**2 / diagonal[low]
    for _ in range(ROUNDS):
        left = diagonal - pairs.sum_at_low(from_high) - pairs.sum_at_high(from_low)
        again = weight**2 / (left[high] + from_low), weight**2 / (left[low] + from_high)
        change = max(
            float(np.max(np.abs(again[0] - from_high) / diagonal[low], initial=0.0)),
            float(np.max(np.abs(again[1] - from_low) / diagonal[high], initial=0.0)),
        )
        from_high, from_low = again
        if change < 1e-6:
            break
    left = diagonal - pairs.sum_at_low(from_high) - pairs.sum_at_high(from_low)
    return 1 / left, weight / ((left[low] + from_high) * (left[high] + from_low) - weight**2)


def item_effects(seen: Seen, sigma2: float, X: np.ndarray, root: np.ndarray) -> Effects:
    """Effects with what intervals need, beside an eta on the scale of given items.

    ``X`` is centred and ``root`` root' is the covariance of the coefficients.

    The error of X~ D is split, item by item, into share times that of the item's own features, and
    a rest that is taken for independent of other items.
    """
    pairs, n = seen.pairs, seen.pairs.n_items
    if sigma2 == 0:
        return Effects(np.zeros(n), np.zeros(n), np.ones(n))
    effect, information = posterior_mode(seen, sigma2)
    precision = precision_matrix(pairs, information, sigma2)
    inverse = posterior_covariance(precision) if n <= EXACT_ITEMS else None
    variance = (
        tree_variances(pairs, information, sigma2)[0]
        if inverse is None
        else np.diag(inverse).copy()
    )
    own, along, left = np.zeros(n), np.zeros(n), np.zeros(n)
    for column in root.T:
        error = X @ column
        kept = (solved(precision, error, 1e-4) if inverse is None else inverse @ error) / sigma2
        own, along, left = own + error**2, along + error * kept, left + kept**2
    share = np.divide(along, own, out=np.ones(n), where=own > 0)
    return Effects(effect, variance + np.maximum(left - share**2 * own, 0.0), share)
