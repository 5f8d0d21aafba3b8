"""How far an estimate strays from the true direction, before any data: the variance R.

R is the variance of the error in one direction orthogonal to the truth, in whitened coordinates and
relative to the squared length of the truth. It starts from two constants of the labels, kappa and
eta (:class:`LabelConstants`), and goes beyond the first-order formulas
(:func:`pairscore.theory.predicted_error.first_order_variance`), which hold for M much larger than
N.

Whiten the items, and let G (N x D, D = d - 1) be their coordinates orthogonal to the truth. Labels
depend on the scores alone, so given the labels G is still standard normal. `pooled`, `paired` and
`mle` err there by (G'LG)^-1 G'v, where L says how comparisons connect items and v is what the
scores leave of the outcomes. With L's eigenvalues l (for `pooled` the exposures k of the items) and
v'v = s^2 l + eta' l^2 along each eigenvector, for large N and D

    D / N  =  mean of l m / (1 + l m)                                 m, the trace of (G'LG)^-1
    D R kappa^2  =  m (s^2 + eta' Q),   Q = mean of l^2 / (1 + l m)^2  /  mean of l / (1 + l m)^2.

The first line counts degrees of freedom, as many as comparisons let each item carry; with equal
exposures k it is m = D / (k (N - D)). The code solves it for x = 1/m.
docs/explanation/theory.md derives both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv, gammaln, ndtr, xlogy

from pairscore.core.links import Link
from pairscore.core.roots import solve_falling
from pairscore.theory import integrals
from pairscore.theory.integrals import (
    eta,
    kappa,
    label_information,
    length_information,
)

STEP = 1e-3  # of the numerical derivative of h: rounding and curvature both leave seven digits
# average exposure from which three points of a normal stand for a Poisson, to 1 / MANY^2
MANY = 300
GRID = 8.0  # standard deviations of z that an average over items covers
NORMAL_GRID = np.linspace(-6.0, 6.0, 41)  # trapezoid rule of a normal variable, exact to rounding
# a noise of 0.02 under logit: beyond it `mle` is predicted as there, a little too large an error
WIDEST_SPREAD = 20.0
# scores of items and quantiles of exposures, over which pairs of known items are averaged; pairs
# that are close together matter, so the scores are close too
ITEM_SCORES = np.linspace(-5.0, 5.0, 161)
EXPOSURE_RANKS = (np.arange(5) + 0.5) / 5
LOWER_SPREADS = 1.5 ** np.arange(-6, 8)  # up to 17, at which less information is looked for
# conductances are fixed points; each step takes off a constant share of what is missing, which is
# below the tolerances long before the last step unless there are hardly enough comparisons
TREE_STEPS = 200
TREE_TOLERANCE = 1e-14
PAIR_STEPS = 100
PAIR_TOLERANCE = 1e-8  # of the conductance to the ground, next to which a pair's counts


@dataclass(frozen=True)
class LabelLaw:
    """Labels of random pairs of items whose scores, on the link's scale, are N(0, spread^2).

    Let z be an item's score in standard deviations, and h its expected outcome against a random
    other item. ``item_effect`` is the standard deviation of what features do not explain, again on
    the link's scale.
    """

    link: Link
    spread: float
    item_effect: float = 0.0

    @property
    def total_spread(self) -> float:
        """Standard deviation of an item's score with what features do not explain."""
        return float(np.hypot(self.spread, self.item_effect))

    @property
    def correlation(self) -> float:
        """Correlation of z with the whole score of an item."""
        return self.spread / self.total_spread if self.item_effect > 0 else 1.0

    @property
    def explained(self) -> float:
        """Share of the variance of items' scores that features explain."""
        return self.correlation**2

    @property
    def capped_spread(self) -> float:
        """The spread at which `mle` is predicted."""
        return min(self.spread, WIDEST_SPREAD)

    def with_total_spread(self, total: float) -> "LabelLaw":
        """The same items, judged with more or less noise: what features explain stays."""
        if self.item_effect == 0:
            return LabelLaw(self.link, total)
        rest = np.sqrt(1 - self.explained)
        return LabelLaw(self.link, total * self.correlation, total * float(rest))


@dataclass(frozen=True)
class LabelConstants:
    """kappa = E[z h], eta = E[h^2], and what follows from them.

    ``drift`` is the variance of an item's part in w'z / M, w the net wins, and ``cube`` is
    E[z^3 h].
    """

    kappa: float
    eta: float
    drift: float
    cube: float

    @property
    def unexplained(self) -> float:
        """eta' = eta - kappa^2 = E[(h - kappa z)^2]: how far h is from linear in z."""
        return max(self.eta - self.kappa**2, 0.0)

    @property
    def length(self) -> float:
        """Length of c1 beta in the metric of the items' covariance, c1 q = 2 kappa."""
        return 2 * self.kappa


@dataclass(frozen=True)
class StudySize:
    """N compared items, M comparisons, d features; N and M need not be whole."""

    n_items: float
    n_comparisons: float
    n_features: int

    @property
    def freedom(self) -> float:
        """Degrees of freedom D / N that errors have; the mean and the score take one item each."""
        return (self.n_features - 1) / (self.n_items - 2)

    @property
    def inflation(self) -> float:
        """N / (N - d - 1), by which estimating a covariance of N items raises a variance."""
        return self.n_items / (self.n_items - self.n_features - 1)

    @cached_property
    def exposures(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of comparisons of an item, less those with itself, and their probabilities."""
        mean = 2 * self.n_comparisons / self.n_items * (1 - 1 / self.n_items)
        return poisson_points(mean)


def label_constants(law: LabelLaw) -> LabelConstants:
    """The constants of a ``law`` of labels, by quadrature.

    With item effects h depends on the whole score, of which z is the part ``correlation``; E[z h]
    shrinks by that factor, E[h^2] does not; of z^3 the rest has the part 3 z (1 - share^2). The
    part of an item in a comparison's Y (z_left - z_right) is, given the item, z h(z) + h'(z)
    (Stein), which gives ``drift``.
    """
    share = law.correlation
    q = law.total_spread
    z = integrals.HALF_LINE
    h, above, below = (integrals.win_excess(law.link, q, z + step) for step in (0, STEP, -STEP))
    slope = (above - below) / (2 * STEP)
    slope_at_zero = float(integrals.win_excess(law.link, q, STEP)) / STEP  # h is odd
    centre = 1 / np.sqrt(2 * np.pi) / 8  # weight of z = 0, which the half line leaves out
    part = float(integrals.EVEN_NORMAL @ (z * h + slope) ** 2) + centre * slope_at_zero**2
    k = share * kappa(law.link, q)
    e = eta(law.link, q)
    return LabelConstants(
        kappa=k,
        eta=e,
        drift=share**2 * part + (1 - share**2) * e - (2 * k) ** 2,
        cube=share**3 * float(integrals.EVEN_NORMAL @ (z**3 * h)) + 3 * (1 - share**2) * k,
    )


def poisson_points(mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Values and probabilities that stand for a Poisson variable, whose ``mean`` may be huge."""
    if mean > MANY:
        return mean + np.sqrt(3 * mean) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6
    width = 10 * np.sqrt(mean) + 20
    k = np.arange(max(0, int(mean - width)), int(mean + width) + 1, dtype=float)
    return k, np.exp(xlogy(k, mean) - gammaln(k + 1) - mean)


def root_of_share(share: Callable[[float], float], wanted: float, mean: float) -> float:
    """x with share(x) = wanted, where share is the mean of l / (l + x) over some l of this mean.

    Zero if even share(0) is too small: there are too few comparisons. The share is at most
    mean / (mean + x) (Jensen), and close to it, which says where to begin.
    """
    limits = np.log(1e-9 * mean), np.log(1e3 * mean / wanted)
    top = np.log(mean * max(1 / wanted - 1, 1e-6))
    log_x = solve_falling(
        lambda log_x: share(np.exp(log_x)) - wanted, top - 0.2, top, limits=limits, xtol=1e-10
    )
    return 0.0 if log_x == limits[0] else float(np.exp(log_x))


def pooled_variance(labels: LabelConstants, size: StudySize) -> float:
    """R of `pooled`: s^2 = 1 - eta, and the eigenvalues are the items' exposures."""
    k, chance = size.exposures
    x = root_of_share(lambda x: float(chance @ (k / (k + x))), size.freedom, float(chance @ k))
    if x == 0:
        return np.inf
    q = (chance @ (k / (k + x)) ** 2) / (chance @ (k / (k + x) ** 2))
    noise = 1 - labels.eta + labels.unexplained * q
    return float(noise / (x * (size.n_features - 1) * labels.kappa**2))


def paired_variance(labels: LabelConstants, size: StudySize) -> float:
    """R of `paired`: s^2 = 1 - 2 kappa^2 - 2 eta', with the eigenvalues of a random graph.

    Those of its Laplacian. The graph is a tree as far as an item sees. Hang each item from the
    ground by a conductance x and let each comparison conduct 1: item i of k comparisons then has
    (L + x)^-1_ii = 1 / (x + k c), with c the conductance through a neighbour.
    """
    k, chance = size.exposures

    def share(x: float) -> float:
        c = _tree_conductance(x, k, chance)
        return float(chance @ (k * c / (x + k * c)))

    x = root_of_share(share, size.freedom, float(chance @ k))
    if x == 0:
        return np.inf
    c = _tree_conductance(x, k, chance)
    u = x + k * c
    slope = float(chance @ (1 / (1 + u) ** 2)) / (1 - float(chance @ (k / (1 + u) ** 2)))  # dc/dx
    around = float(chance @ (k / u**2))
    q = (float(chance @ (k * c / u) ** 2) + x**2 * slope * around) / ((c - x * slope) * around)
    noise = 1 - 2 * labels.kappa**2 - 2 * labels.unexplained
    return (noise + labels.unexplained * q) / (x * (size.n_features - 1) * labels.kappa**2)


def _tree_conductance(x: float, k: np.ndarray, chance: np.ndarray) -> float:
    """c = E[u / (1 + u)], u = x + k c: of one comparison and the tree behind it, nearly the same
    for all.
    """
    c = 1.0
    for _ in range(TREE_STEPS):
        u = x + k * c
        last = c
        c = float(chance @ (u / (1 + u)))
        if abs(c - last) < TREE_TOLERANCE:
            break
    return c


def closed_form_length_variance(labels: LabelConstants, size: StudySize, method: str) -> float:
    """Variance of the length of `pooled` or `paired` relative to the truth's.

    (V / M + 4 U / N) N / (N - d - 1) / (2 kappa)^2.

    V is the variance of a comparison's part in the normal equation along the truth, (z_I - z_J) (Y
    - kappa (z_I - z_J)) for `paired`, and U that of an item's: z h + h' - kappa z^2. Stein's lemma
    brings both down to E[z^3 h].
    """
    k = labels.kappa
    cube = labels.cube
    if method == "paired":
        comparison = 2 - 16 * k * cube + 36 * k**2
    else:
        comparison = 2 - 8 * k * cube + 16 * k**2
    item = max(labels.drift - 4 * k * cube + 10 * k**2, 0.0)
    variance = comparison / size.n_comparisons + 4 * item / size.n_items
    return variance * size.inflation / labels.length**2


def wrong_sign(law: LabelLaw, n_items: float, n_comparisons: float) -> float:
    """Chance that the estimate of a single feature has the wrong sign, whatever the method.

    With d = 1 every method takes the sign of the label sum, the sum of Y (z_I - z_J). Given items
    of standard deviation s, where N s^2 is chi-squared with N - 1 degrees of freedom, a term has
    the mean 2 k s and the variance (2 - 4 k^2) s^2, k = kappa(q s). What features do not explain of
    an item's score is shared by all of its comparisons and adds 4 eta (1 - explained) (1 - 1/N) /
    N.
    """
    sd = np.sqrt(2 * gammaincinv((n_items - 1) / 2, ndtr(NORMAL_GRID)) / n_items)
    laws = [LabelLaw(law.link, law.spread * float(one), law.item_effect) for one in sd]
    k = np.array([one.correlation * kappa(law.link, one.total_spread) for one in laws])
    shared = np.zeros(len(sd))
    if law.item_effect > 0:
        shared = np.array([1 - one.explained for one in laws]) * (
            4 * eta(law.link, law.total_spread) * (n_items - 1) / n_items**2
        )
    chance = np.exp(-0.5 * NORMAL_GRID**2)
    wrong = ndtr(-2 * k / np.sqrt((2 - 4 * k**2) / n_comparisons + shared))
    return float(chance @ wrong / chance.sum())


def likelihood_variance(law: LabelLaw, size: StudySize) -> float:
    """R of `mle`, with item effects where the law has them: the smallest of any spread up to the
    law's.
    """
    return _least(law, lambda one: _quadratic_variance(one, size))


def _least(law: LabelLaw, error: Callable[[LabelLaw], float]) -> float:
    """The smallest error at any noise from the law's upwards.

    With little noise few pairs are close enough for their label to inform, and the quadratic
    approximation of the likelihood, which sees no others, gets worse as labels get better. The
    others still say who is above: less noise never hurts, so a larger spread is at least as good as
    a smaller one.
    """
    best = error(law.with_total_spread(min(law.total_spread, WIDEST_SPREAD)))
    for spread in LOWER_SPREADS[law.total_spread > LOWER_SPREADS][::-1]:
        lower = error(law.with_total_spread(float(spread)))
        if np.isfinite(best) and lower >= best:
            break
        best = min(best, lower)
    return best


def _quadratic_variance(law: LabelLaw, size: StudySize) -> float:
    """R where the log-likelihood is quadratic: R = 1 / (x D q^2), as the information equality says
    v'v = l.

    What features leave out of items, of variance s^2, turns the eigenvalues l into
    l / (1 + s^2 l). In terms of y = x / (1 + s^2 x), the count of degrees of freedom is then
    D / N = (1 - s^2 y) mean of l / (l + y).
    """
    y = _ground(law, size, size.freedom)
    if y == 0:
        return np.inf
    x = y / (1 - law.item_effect**2 * y)
    return 1 / (x * (size.n_features - 1) * law.spread**2)


def _ground(law: LabelLaw, size: StudySize, freedom: float) -> float:
    """y, the conductance by which each item hangs from the ground, that uses up the degrees of
    freedom; 1 / y is what is not known of an item before its own comparisons.
    """
    k, often = size.exposures
    pairs = _pair_information(law)

    def share(y: float) -> float:
        mean, variance = _conductance_moments(y, pairs, size)
        u = y + k * mean
        used = float(pairs.chance @ (k / u * (mean - y * variance / (u * u))) @ often)
        return (1 - law.item_effect**2 * y) * used

    return root_of_share(share, freedom, float(often @ k) * pairs.mean)


@dataclass(frozen=True)
class _PairInformation:
    """Fisher information w = f'^2 / (f (1 - f)) that a comparison of items at z, z' conducts.

    ``z`` is a grid of scores in standard deviations, ``chance`` the probability of each, and
    ``w`` has a row for z and a column for z'.
    """

    w: np.ndarray
    z: np.ndarray
    chance: np.ndarray

    @property
    def mean(self) -> float:
        """Information of a comparison of two random items."""
        return float(self.chance @ self.w @ self.chance)


def _pair_information(law: LabelLaw) -> _PairInformation:
    z, chance = _score_grid(law.total_spread)
    w = label_information(law.link, law.total_spread * (z[:, None] - z[None, :]))
    return _PairInformation(w, z, chance)


def _conductance_moments(
    y: float, pairs: _PairInformation, size: StudySize
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the conductance through one comparison, by the score of the item (a
    column each).
    """
    conductance = _pair_conductances(y, pairs.w, pairs.chance, *size.exposures)
    mean = (conductance @ pairs.chance)[:, None]
    return mean, (conductance**2 @ pairs.chance)[:, None] - mean**2


def known_misordered(law: LabelLaw, size: StudySize) -> float:
    """Share of pairs of the compared items that `mle` with item effects puts in the wrong order.

    Given all comparisons, the score of an item at z with k comparisons has the variance
    v = E[1 / (y + its conductances)]. Estimate and truth of a pair's difference, of variance
    2 Q^2, then have the correlation c with c^2 = 1 - (v + v') / (2 Q^2); where they are normal, a
    pair that is t standard deviations apart is in the wrong order with probability
    Phi(-t c / sqrt(1 - c^2)). Averaged over the scores and the exposures of both.
    """
    return _least(law, lambda one: _quadratic_known(one, size))


def _quadratic_known(law: LabelLaw, size: StudySize) -> float:
    """The same at the law's own noise, where the log-likelihood is quadratic."""
    y = _ground(law, size, size.n_features / (size.n_items - 1))
    if y == 0:
        return 0.5
    k, often = size.exposures
    some = k[np.searchsorted(np.cumsum(often), EXPOSURE_RANKS)]
    pairs = _pair_information(law)
    mean, variance = _conductance_moments(y, pairs, size)
    u = y + some * mean
    unknown = (1 / u + some * variance / u**3) / (2 * law.total_spread**2)  # v / (2 Q^2)
    shares = [np.interp(ITEM_SCORES, pairs.z, one) for one in unknown.T]
    apart = np.abs(ITEM_SCORES[:, None] - ITEM_SCORES[None, :]) / np.sqrt(2)
    wrong = np.zeros_like(apart)
    for one in shares:
        for other in shares:
            rest = np.clip(one[:, None] + other[None, :], 1e-12, 1.0)  # 1 - c^2
            wrong += ndtr(-apart * np.sqrt(1 / rest - 1))
    chance = np.exp(-0.5 * ITEM_SCORES**2)
    return float(chance @ wrong @ chance / chance.sum() ** 2 / len(some) ** 2)


def _pair_conductances(
    x: float, information: np.ndarray, chance: np.ndarray, k: np.ndarray, often: np.ndarray
) -> np.ndarray:
    """Conductance from an item at z (rows) through one comparison with an item at z' (columns)."""
    conductance = information
    for _ in range(PAIR_STEPS):
        resistance = (1 / (x + (conductance @ chance)[:, None] * k)) @ often
        last = conductance
        conductance = information / (1 + information * resistance)
        if np.max(np.abs(conductance - last)) < PAIR_TOLERANCE * x:
            break
    return conductance


def _score_grid(spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores z and their probabilities, on a grid fine enough for a link that is narrow beside the
    items: 1.6 of the link's units, where the trapezoid rule is good to three digits.
    """
    z = np.linspace(-GRID, GRID, int(np.clip(10 * spread, 60, 800)))
    chance = np.exp(-0.5 * z**2)
    return z, chance / chance.sum()


def direction_variance(
    labels: LabelLaw, constants: LabelConstants, size: StudySize, method: str
) -> float:
    """R of `pooled`, `paired` or `mle` at any M; inf where M is too small for d features."""
    if size.n_features == 1:
        return 0.0
    if method == "mle":
        return likelihood_variance(labels, size)
    if method == "pooled":
        return pooled_variance(constants, size)
    return paired_variance(constants, size)


def length_variance(
    labels: LabelLaw, constants: LabelConstants, size: StudySize, method: str
) -> float:
    """Variance of an estimate's length along the truth, relative to the truth's, to first order."""
    if method == "mle":
        information = length_information(labels.link, labels.capped_spread)
        return size.inflation / (size.n_comparisons * information)
    return closed_form_length_variance(constants, size, method)
