"""What comparisons that share an item say of item effects: an equation for their variance, without bias.

The score of item i is beta'x_i + u_i, u_i ~ N(0, sigma^2). Of one comparison at score difference d only
the average over u is seen, g(d) = E f(d + sqrt(v) z) with v = 2 sigma^2 and z standard normal, which is
flatter: a fit of features alone finds beta / kappa (:meth:`Seen.kappa`).

Two comparisons that share item i share u_i. Their effects have correlation 1/2, so by Mehler's formula
their outcomes have covariance sum_n 2^-n c_n(d) c_n(d'), c_n(d) = E[f(d + sqrt(v) z) He_n(z)] / sqrt(n!).
With r_p the residual of pair p (wins minus expected ones) and m_p its comparisons, both as seen from i,

    T_i = (sum_p r_p)^2 - sum_p r_p^2   has mean   E_i = sum_n 2^-n [(sum_p m_p c_n(d_p))^2 - sum_p (m_p c_n(d_p))^2],

exactly, however few comparisons an item has. sigma^2 solves sum_i w_i (T_i - E_i) = 0. The mode of the joint
likelihood (Laplace, PQL) has no such property and is far too small where comparisons per item are few.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from pairscore.links import Link
from pairscore.pairs import Pairs, over_sides

Z = np.linspace(-8, 8, 161)  # a grid on which averages over a standard normal are exact for any link not far steeper than its step
NORMAL = np.exp(-0.5 * Z**2) / np.exp(-0.5 * Z**2).sum()
N_TERMS = 16  # of Mehler's series: what is left out is below 2^-16 of an outcome's variance
SMALLEST_TERM = 1e-5  # relative to the first
GRID, COARSE = 257, 65  # differences at which the functions of a difference are tabled, and those at which kappa is looked for
LARGEST_LEVERAGE = 0.8  # as for intervals: of an item alone in its category nothing is left
DRAWS, NUMBERS_DRAWN = (40, 200), 2e7  # of the equation under the fitted model, and pairs in all of them


def _weighted_hermite() -> np.ndarray:
    """Normal weights times He_n(z) / sqrt(n!), one column for each n from 0."""
    rows = [np.ones_like(Z), Z]
    for n in range(1, N_TERMS):
        rows.append((Z * rows[n] - np.sqrt(n) * rows[n - 1]) / np.sqrt(n + 1))
    return (np.array(rows) * NORMAL).T


WEIGHTED_HERMITE = _weighted_hermite()


def hermite_coefficients(link: Link, difference: np.ndarray, v: float) -> np.ndarray:
    """c_n(d) for n = 0 ... N_TERMS (rows) at every difference (columns); c_0 is the average g(d)."""
    return (link.cdf(difference[:, None] + np.sqrt(v) * Z) @ WEIGHTED_HERMITE).T


def averaged(link: Link, difference: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E f(d + sqrt(variance) z) for each difference with its own variance."""
    sd, total, every = np.sqrt(variance), np.zeros(np.shape(difference)), slice(10, -10, 2)  # to 7 deviations, enough for a probability
    for z, weight in zip(Z[every], NORMAL[every] / NORMAL[every].sum(), strict=True):
        total += weight * link.cdf(difference + sd * z)
    return total


@dataclass(frozen=True)
class Seen:
    """The comparisons as a fit of features alone sees them: pairs, link, and fitted differences (sides x pairs)."""

    pairs: Pairs
    link: Link
    difference: np.ndarray

    @cached_property
    def number(self) -> np.ndarray:
        """Comparisons of each side and pair."""
        return self.pairs.win + self.pairs.lose

    @cached_property
    def variance(self) -> np.ndarray:
        """sum m f (1 - f) of each pair."""
        f = self.link.cdf(self.difference)
        return over_sides(self.number * f * (1 - f))

    @cached_property
    def slope(self) -> np.ndarray:
        """sum m f' of each pair."""
        return over_sides(self.number * self.link.pdf(self.difference))

    def at_items(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over its pairs."""
        return self.pairs.sum_at_low(values) + self.pairs.sum_at_high(values)

    @cached_property
    def grid(self) -> np.ndarray:
        """Sizes of differences from zero to the largest; what is needed below zero follows by symmetry."""
        return np.linspace(0.0, max(float(np.abs(self.difference).max(initial=0.0)), 1e-3), GRID)

    @property
    def _coarse(self) -> np.ndarray:
        return self.grid[:: (GRID - 1) // (COARSE - 1)]

    @cached_property
    def _place(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each difference lies on the grid: the cell, and the share of the way through it."""
        return _cells(np.abs(self.difference) / self.grid[1], GRID)

    def looked_up(self, table: np.ndarray) -> np.ndarray:
        """A function of the size of a difference, tabled on the grid, for every side and pair."""
        cell, share = self._place
        return table[cell] + share * np.diff(table)[cell]

    def expected(self, factor: float, v: float) -> np.ndarray:
        """g(factor d) of every side and pair."""
        average = self.link.cdf(factor * self.grid[:, None] + np.sqrt(v) * Z) @ NORMAL
        return 0.5 + np.sign(self.difference) * (self.looked_up(average) - 0.5)

    @cached_property
    def _length_weight(self) -> np.ndarray:
        """Weight of every place of the coarse grid in the score of the coefficients' length, sum m d f' / (f (1 - f))."""
        size = np.abs(self.difference).ravel()
        weight = self.number.ravel() * size * self.link.ratio(size) * self.link.ratio(-size) / np.maximum(self.link.pdf(size), np.finfo(float).tiny)
        cell, share = _cells(size / self._coarse[1], COARSE)
        return np.bincount(cell, (1 - share) * weight, COARSE) + np.bincount(cell + 1, share * weight, COARSE)

    def kappa(self, v: float) -> float:
        """How many times longer the coefficients are than those of features alone.

        The likelihood of features alone makes outcomes minus f(d) orthogonal to d, with weights; their averages
        g(kappa d) in the place of the outcomes do the same. Under probit this is sqrt(1 + v), exactly.
        """
        plain = self.link.cdf(self._coarse)

        def gap(log_kappa: float) -> float:
            average = self.link.cdf(np.exp(log_kappa) * self._coarse[:, None] + np.sqrt(v) * Z) @ NORMAL
            return float(self._length_weight @ (average - plain))

        longest = np.log(10 + 10 * v)
        return float(np.exp(brentq(gap, 0.0, longest, xtol=1e-8))) if v > 0 and gap(0.0) < 0 < gap(longest) else 1.0


def _cells(at: np.ndarray, n_places: int) -> tuple[np.ndarray, np.ndarray]:
    """Cell of each place on a grid of whole numbers, and the share of the way through it."""
    cell = np.minimum(at.astype(np.intp), n_places - 2)
    return cell, at - cell


@dataclass(frozen=True)
class Equation:
    """sum_i w_i (T_i - E_i) = 0, item by item, for residuals of fitted coefficients.

    A fit explains some of every item away. ``inflation`` of the squared sums makes up for it, and ``length`` is
    what the fitted differences have to be multiplied by to have the size of the true ones.
    """

    seen: Seen
    inflation: np.ndarray
    length: float

    def excess(self, sigma2: float) -> np.ndarray:
        """T_i - E_i of every item."""
        seen, pairs, v = self.seen, self.seen.pairs, 2 * sigma2
        kappa, sign = seen.kappa(v), np.sign(seen.difference)
        residual = over_sides(pairs.win - seen.number * seen.expected(kappa, v))
        tables = hermite_coefficients(seen.link, kappa * self.length * seen.grid, v)
        size = 0.5 ** np.arange(N_TERMS + 1) * (tables**2).max(axis=1)
        total, of_pairs = self.inflation * pairs.net(residual) ** 2, -(residual**2)
        for n in range(1, N_TERMS + 1):
            if sigma2 > 0 and size[n] > SMALLEST_TERM * size[1]:
                odd = n % 2 == 1  # f is odd about a half, so c_n is even for odd n and odd for even n
                value = over_sides(seen.number * seen.looked_up(tables[n]) * (1.0 if odd else sign))
                sums = pairs.sum_at_low(value) + pairs.sum_at_high(value) if odd else pairs.net(value)
                total -= 0.5**n * sums**2
                of_pairs += 0.5**n * value**2
        return total + seen.at_items(of_pairs)

    def weights(self, sigma2: float) -> np.ndarray:
        """How fast E_i grows with sigma^2 over the variance of T_i, both to first order in the effects."""
        seen, slope = self.seen, self.seen.slope / self.seen.kappa(2 * sigma2)
        total = seen.at_items(slope)
        growth, noise = total**2 - seen.at_items(slope**2), seen.at_items(seen.variance)
        variance = 2 * (sigma2 * growth) ** 2 + 4 * sigma2 * noise * growth + 2 * (noise**2 - seen.at_items(seen.variance**2))
        return np.divide(growth, variance, out=np.zeros_like(growth), where=(growth > 1e-9 * total**2) & (variance > 0))

    def spread(self, sigma2: float, weight: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """Standard deviation of sum_i w_i (T_i - E_i) under the model, and its covariance with the logarithm of the coefficients' length.

        Without effects, pairs are independent: 2 sum_i w_i^2 sum_{p != q} V_p V_q. With them, neighbours depend on each other in ways
        that have no short formula; so effects are drawn. Noise may be drawn normal: no residual is in T more than squared. The
        length is estimated from the same residuals, and E moves with it.
        """
        seen, pairs = self.seen, self.seen.pairs
        if sigma2 == 0:
            return float(np.sqrt(2 * weight**2 @ (seen.at_items(seen.variance) ** 2 - seen.at_items(seen.variance**2)))), 0.0
        kappa = seen.kappa(2 * sigma2) * self.length
        mean = seen.expected(kappa, 2 * sigma2)
        typical = over_sides(seen.number * seen.difference) / np.maximum(pairs.number, np.finfo(float).tiny)
        along = typical * seen.slope / np.maximum(seen.variance, np.finfo(float).tiny)
        along /= max(float(along @ (seen.slope * typical)), np.finfo(float).tiny)
        longer = replace(self, length=1.01 * self.length)
        by_length = float(weight @ (longer.excess(sigma2) - self.excess(sigma2))) / 0.01
        draws = []
        for _ in range(int(np.clip(NUMBERS_DRAWN / len(pairs.high), *DRAWS))):
            effect = np.sqrt(sigma2) * rng.standard_normal(pairs.n_items)
            f = seen.link.cdf(kappa * seen.difference + pairs.differences(effect))
            residual = over_sides(seen.number * (f - mean)) + np.sqrt(over_sides(seen.number * f * (1 - f))) * rng.standard_normal(len(pairs.high))
            length = float(along @ residual)
            draws.append((weight @ (pairs.net(residual) ** 2 - seen.at_items(residual**2)) + by_length * length, length))
        covariance = np.cov(np.array(draws).T)
        return float(np.sqrt(covariance[0, 0])), float(covariance[0, 1])


def equation(seen: Seen, whitened: np.ndarray) -> Equation:
    """The equation for residuals of a fit whose coefficients have the identity as classical covariance in ``whitened`` features.

    To first order the fit takes b_p y_p' (sum b_q y_q r_q / V_q) off the residual r_p, V its variance, b = m f' and y the whitened
    difference. So (sum_p r_p)^2 of an item is too small by its leverage h = |sum_p b_p y_p|^2 / sum_p V_p, sum_p r_p^2 by
    sum_p b_p^2 |y_p|^2, both times the variance of sums over that without item effects; and squared differences are too large
    by that times |y_p|^2.
    """
    pairs, squared, on_items = seen.pairs, np.zeros(len(seen.pairs.high)), np.zeros(seen.pairs.n_items)
    for column in whitened.T:
        y = pairs.differences(column)
        squared += y**2
        on_items += pairs.net(seen.slope * y) ** 2
    noise = np.maximum(seen.at_items(seen.variance), np.finfo(float).tiny)
    leverage = np.minimum(on_items / noise, LARGEST_LEVERAGE)
    net = np.minimum((on_items - seen.at_items(seen.slope**2 * squared)) / noise, LARGEST_LEVERAGE)
    residual = over_sides(pairs.win - seen.number * seen.link.cdf(seen.difference))
    ratio = float(np.sum(pairs.net(residual) ** 2 / (1 - leverage)) / noise.sum())
    size = float(np.sum(seen.number * seen.difference**2))
    share = ratio * float(pairs.number @ squared) / size if size > 0 else 0.0
    return Equation(seen, 1 + net / (1 - leverage), float(np.sqrt(max(1 - share, 0.0))))
