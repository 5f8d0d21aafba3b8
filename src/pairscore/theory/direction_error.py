"""What labels tell about an item, on average.

The constants of a link and its noise that every prediction starts from.

How far an estimate strays from the true direction, before any data: the variance R per direction.

Whiten the items, and let G (N x D, D = d - 1) be their coordinates orthogonal to the truth. Labels
depend on the scores alone, so given the labels G is still standard normal. `pooled`, `paired` and
`mle` err there by (G'LG)^-1 G'v, where L says how comparisons connect items and v is what the
scores leave of the outcomes. With L's eigenvalues l (for `pooled` the exposures k of the items) and
v'v = s^2 l + eta' l^2 along each eigenvector, for large N and D

    D / N  =  mean of l m / (1 + l m)                                 m, the trace of (G'LG)^-1
    D R kappa^2  =  m (s^2 + eta' Q),   Q = mean of l^2 / (1 + l m)^2  /  mean of l / (1 + l m)^2.

The first line counts degrees of freedom, as many as comparisons let each item carry; with equal
exposures k it is m = D / (k (N - D)). docs/theory.md derives both.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import chi2, poisson

from pairscore.core.links import Link
from pairscore.theory import integrals
from pairscore.theory.integrals import eta, kappa

STEP = 1e-3


@dataclass(frozen=True)
class LabelLaw:
    """Labels of random pairs of items whose scores, on the link's scale, are N(0, spread^2).

    Let z be an item's place along the true direction in standard deviations, and h its expected
    outcome against a random other item. ``item_effect`` is the standard deviation of what features
    do not explain, again on the link's scale.
    """

    link: Link
    spread: float
    item_effect: float = 0.0

    @property
    def total_spread(self) -> float:
        return float(np.hypot(self.spread, self.item_effect))

    @property
    def explained(self) -> float:
        """Correlation of z with the whole score of an item."""
        return self.spread / self.total_spread if self.item_effect > 0 else 1.0


@dataclass(frozen=True)
class LabelConstants:
    """kappa = E[z h], eta = E[h^2], and what follows from them.

    ``unexplained`` is eta' = eta - kappa^2, the mean square of h - kappa z: how far an item's
    expected outcome is from linear in z. ``drift`` is the variance of an item's part in a = w'z /
    M, and ``cube`` is E[z^3 h].
    """

    kappa: float
    eta: float
    drift: float
    cube: float

    @property
    def unexplained(self) -> float:
        return max(self.eta - self.kappa**2, 0.0)

    @property
    def length(self) -> float:
        """Length of c1 beta in the metric of the items' covariance, c1 q = 2 kappa."""
        return 2 * self.kappa


def label_constants(law: LabelLaw) -> LabelConstants:
    """The constants by quadrature.

    With item effects h depends on the whole score, of which z is the part ``explained``; E[z h]
    shrinks by that factor, E[h^2] does not; of z^3 the rest has the part 3 z (1 - share^2). The
    part of an item in a comparison's Y (z_left - z_right) is, given the item, z h(z) + h'(z)
    (Stein), which gives ``drift``.
    """
    share, q = law.explained, law.total_spread
    kappa, eta = share * integrals.kappa(law.link, q), integrals.eta(law.link, q)
    z = integrals.HALF_LINE
    h = integrals.win_excess(law.link, q, z)
    slope = (
        integrals.win_excess(law.link, q, z + STEP) - integrals.win_excess(law.link, q, z - STEP)
    ) / (2 * STEP)
    at_zero = float(integrals.win_excess(law.link, q, STEP)) / STEP  # h is odd
    centre = 1 / np.sqrt(2 * np.pi) / 8  # weight of z = 0, which the half line leaves out
    part = float(integrals.EVEN_NORMAL @ (z * h + slope) ** 2) + centre * at_zero**2
    cube = share**3 * float(integrals.EVEN_NORMAL @ (z**3 * h)) + 3 * (1 - share**2) * kappa
    return LabelConstants(
        kappa, eta, share**2 * part + (1 - share**2) * eta - (2 * kappa) ** 2, cube
    )


# average exposure from which a Poisson distribution is as good as three points of a normal one: to
# 1 / MANY^2
MANY = 300
GRID = 8.0  # standard deviations of z that an average over items covers
# the trapezoid rule of a normal variable, good to the last digits
NORMAL_GRID = np.linspace(-6.0, 6.0, 41)
# spread, a noise of 0.02 under logit: beyond it predictions of `mle` stay as they are there, a
# little too large
WIDEST = 20.0
RUNGS = 1.5 ** np.arange(-6, 8)  # spreads up to 17 at which less information is looked for


def exposures(mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Values and probabilities of an item's number of comparisons, Poisson."""
    if mean > MANY:
        return mean + np.sqrt(3 * mean) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6
    reach = 10 * np.sqrt(mean) + 20
    k = np.arange(max(0, int(mean - reach)), int(mean + reach) + 1, dtype=float)
    return k, poisson.pmf(k, mean)


def root_of_share(share: Callable[[float], float], wanted: float, scale: float) -> float:
    """x with share(x) = wanted, share falling in x.

    Zero if even share(0) is too small: too few comparisons.
    """
    low, high = np.log(1e-9 * scale), np.log(1e3 * scale / wanted)
    if share(np.exp(low)) <= wanted:
        return 0.0
    return float(np.exp(brentq(lambda log_x: share(np.exp(log_x)) - wanted, low, high, xtol=1e-10)))


def pooled_variance(
    labels: LabelConstants, n_items: float, n_comparisons: float, n_features: int
) -> float:
    """R of `pooled`: s^2 = 1 - eta, and the eigenvalues are the items' exposures."""
    k, chance = exposures(_mean_exposure(n_items, n_comparisons))
    x = root_of_share(lambda x: float(chance @ (k / (k + x))), _freedom(n_items, n_features), k[-1])
    if x == 0:
        return np.inf
    q = (chance @ (k / (k + x)) ** 2) / (chance @ (k / (k + x) ** 2))
    return float(
        (1 - labels.eta + labels.unexplained * q) / (x * (n_features - 1) * labels.kappa**2)
    )


def paired_variance(
    labels: LabelConstants, n_items: float, n_comparisons: float, n_features: int
) -> float:
    """R of `paired`: s^2 = 1 - 2 kappa^2 - 2 eta', and the eigenvalues are those of the random
    graph's Laplacian.

    A random graph is a tree as far as an item sees. Hang each item from the ground by a conductance
    x and let each comparison conduct 1: item i of k comparisons then has (L + x)^-1_ii = 1 / (x + k
    c), with c = u / (1 + u) through a neighbour that has u = x + k c itself. c is nearly the same
    for all.
    """
    k, chance = exposures(_mean_exposure(n_items, n_comparisons))

    def conductance(x: float) -> float:
        c = 1.0
        for _ in range(200):
            u = x + k * c
            last, c = c, float(chance @ (u / (1 + u)))
            if abs(c - last) < 1e-14:
                break
        return c

    def share(x: float) -> float:
        c = conductance(x)
        return float(chance @ (k * c / (x + k * c)))

    x = root_of_share(share, _freedom(n_items, n_features), k[-1])
    if x == 0:
        return np.inf
    c = conductance(x)
    u = x + k * c
    slope = float(chance @ (1 / (1 + u) ** 2)) / (1 - float(chance @ (k / (1 + u) ** 2)))  # dc/dx
    around = float(chance @ (k / u**2))
    q = (float(chance @ (k * c / u) ** 2) + x**2 * slope * around) / ((c - x * slope) * around)
    noise = 1 - 2 * labels.kappa**2 - 2 * labels.unexplained
    return (noise + labels.unexplained * q) / (x * (n_features - 1) * labels.kappa**2)


def closed_form_length_variance(
    labels: LabelConstants, n_items: float, n_comparisons: float, n_features: int, method: str
) -> float:
    """Variance of the length of `pooled` or `paired` relative to the truth's.

    (V / M + 4 U / N) N / (N - d - 1) / (2 kappa)^2.

    V is the variance of a comparison's part in the normal equation along the truth, (z_I - z_J) (Y
    - kappa (z_I - z_J)) for `paired`, and U that of an item's: z h + h' - kappa z^2. Stein's lemma
    brings both down to E[z^3 h].
    """
    k, cube = labels.kappa, labels.cube
    comparison = (
        2 - 16 * k * cube + 36 * k**2 if method == "paired" else 2 - 8 * k * cube + 16 * k**2
    )
    item = max(labels.drift - 4 * k * cube + 10 * k**2, 0.0)
    return (
        (comparison / n_comparisons + 4 * item / n_items)
        * n_items
        / (n_items - n_features - 1)
        / labels.length**2
    )


def wrong_sign(law: LabelLaw, n_items: float, n_comparisons: float) -> float:
    """Chance that the estimate of a single feature has the wrong sign, whatever the method.

    With d = 1 every method takes the sign of the label sum, the sum of Y (z_I - z_J). Given items
    of standard deviation s, where N s^2 is chi-squared with N - 1 degrees of freedom, a term has
    the mean 2 k s and the variance (2 - 4 k^2) s^2, k = kappa(q s). What features do not explain of
    an item's score is shared by all of its comparisons and adds 4 eta (1 - explained^2) (1 - 1/N) /
    N.
    """
    sd = np.sqrt(chi2.ppf(ndtr(NORMAL_GRID), n_items - 1) / n_items)
    laws = [LabelLaw(law.link, law.spread * float(one), law.item_effect) for one in sd]
    k = np.array([one.explained * kappa(law.link, one.total_spread) for one in laws])
    shared = np.zeros(len(sd))
    if law.item_effect > 0:
        shared = (
            4
            * eta(law.link, law.total_spread)
            * (n_items - 1)
            / n_items**2
            * np.array([1 - one.explained**2 for one in laws])
        )
    chance = np.exp(-0.5 * NORMAL_GRID**2)
    return float(
        chance @ ndtr(-2 * k / np.sqrt((2 - 4 * k**2) / n_comparisons + shared)) / chance.sum()
    )


def likelihood_variance(
    law: LabelLaw, n_items: float, n_comparisons: float, n_features: int
) -> float:
    """R of `mle`: the smallest that any spread up to the law's own gives.

    With little noise few comparisons are close enough to inform on their place, and the quadratic
    approximation of the likelihood, which sees no others, gets worse as labels get better. They
    still say who is above: less noise never hurts, so a larger spread is at least as good as a
    smaller one.
    """
    best = _quadratic_variance(
        law.link, min(law.spread, WIDEST), n_items, n_comparisons, n_features
    )
    for spread in RUNGS[law.spread > RUNGS][::-1]:
        lower = _quadratic_variance(law.link, float(spread), n_items, n_comparisons, n_features)
        if np.isfinite(best) and lower >= best:
            break
        best = min(best, lower)
    return best


def _quadratic_variance(
    link: Link, spread: float, n_items: float, n_comparisons: float, n_features: int
) -> float:
    """R where the log-likelihood is quadratic.

    Each comparison conducts its Fisher information w = f'^2 / (f (1 - f)), and v'v = l.

    As for `paired`, with conductances that depend on the places z of both items.
    """
    k, often = exposures(_mean_exposure(n_items, n_comparisons))
    z, chance = _places(spread)
    information = _information(link, spread * (z[:, None] - z[None, :]))

    def conductances(x: float) -> np.ndarray:
        """From an item at z (rows) through one comparison with an item at z' (columns)."""
        through = information
        for _ in range(100):
            resistance = (1 / (x + (through @ chance)[:, None] * k)) @ often
            last, through = through, information / (1 + information * resistance)
            if np.max(np.abs(through - last)) < 1e-8 * x:
                break
        return through

    def share(x: float) -> float:
        through = conductances(x)
        mean = (through @ chance)[:, None]
        variance = (through**2 @ chance)[:, None] - mean**2
        u = x + k * mean
        return float(chance @ (k * mean / u - x * k * variance / u**3) @ often)

    x = root_of_share(share, _freedom(n_items, n_features), k[-1] * float(information.max()))
    return 1 / (x * (n_features - 1) * spread**2) if x > 0 else np.inf


def _information(link: Link, difference: np.ndarray) -> np.ndarray:
    return link.ratio(difference) * link.ratio(-difference)


def _places(spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Places z of items and their probabilities, fine enough for a link that is narrow beside the
    items.
    """
    # 1.6 of the link's own units apart: the trapezoid rule is good to three digits
    n = int(np.clip(10 * spread, 60, 800))
    z = np.linspace(-GRID, GRID, n)
    chance = np.exp(-0.5 * z**2)
    return z, chance / chance.sum()


def _mean_exposure(n_items: float, n_comparisons: float) -> float:
    """2 M / N, less the comparisons of an item with itself."""
    return 2 * n_comparisons / n_items * (1 - 1 / n_items)


def _freedom(n_items: float, n_features: int) -> float:
    """D / N; the mean and the score take one item each."""
    return (n_features - 1) / (n_items - 2)
