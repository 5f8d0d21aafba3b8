"""What comparisons that share an item say of item effects.

An equation for their variance, without bias.

The score of item i is beta'x_i + u_i, u_i ~ N(0, sigma^2). Of one comparison at score difference d
only the average over u is seen, g(d) = E f(d + sqrt(v) z) with v = 2 sigma^2 and z standard normal,
which is flatter: a fit of features alone finds beta / kappa (:meth:`Seen.kappa`).

Two comparisons that share item i share u_i. Their effects have correlation 1/2, so by Mehler's
formula their outcomes have covariance sum_n 2^-n c_n(d) c_n(d'), c_n(d) = E[f(d + sqrt(v) z)
He_n(z)] / sqrt(n!). With r_p the residual of pair p (wins minus expected ones) and m_p its
comparisons, both as seen from i,

    T_i = (sum_p r_p)^2 - sum_p r_p^2   has mean   E_i = sum_n 2^-n [(sum_p m_p c_n(d_p))^2 - sum_p
    (m_p c_n(d_p))^2],

exactly, however few comparisons an item has. sigma^2 solves sum_i w_i (T_i - E_i) = 0. The mode of
the joint likelihood (Laplace, PQL) has no such property and is far too small where comparisons per
item are few.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from pairscore.core.links import Link
from pairscore.core.outcomes import OutcomeLaw, TieRule, normal_grid
from pairscore.core.sums import Pairs

N_TERMS = 16  # of Mehler's series: what is left out is below 2^-16 of an outcome's variance
HERMITE_STEP = 0.3  # of the grid for them, which bend more than a link
SMALLEST_TERM = 1e-5  # relative to the first
# differences at which the functions of a difference are tabled, and those at which kappa is looked
# for
GRID, COARSE = 257, 65
MOST_KINDS = 24  # of sharpness, with tables of their own
LARGEST_LEVERAGE = 0.8  # as for intervals: of an item alone in its category nothing is left
# of the equation under the fitted model, and pairs in all of them
DRAWS, NUMBERS_DRAWN = (40, 200), 2e7


def hermite_coefficients(law: OutcomeLaw, eta: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """c_n for n = 0 ... N_TERMS (first axis) at every eta with its deviation.

    c_0 is the average.
    """
    z, weight = normal_grid(float(np.max(sd)), HERMITE_STEP)
    rows = [np.ones_like(z), z]  # He_n(z) / sqrt(n!)
    for n in range(1, N_TERMS):
        rows.append((z * rows[n] - np.sqrt(n) * rows[n - 1]) / np.sqrt(n + 1))
    return np.moveaxis(
        law.mean(eta[..., None] + sd[..., None] * z) @ (np.array(rows) * weight).T, -1, 0
    )


@dataclass(frozen=True)
class Seen:
    """Comparisons beside a fit of features.

    Rows of one pair at one predictor ``eta``, as the pair's low item sees them.

    ``place`` is the pair of each row. ``eta`` was fitted as if effects of variance ``sigma2`` were
    averaged over; of features alone that is 0. ``sharpness`` multiplies effects in eta: the judge's
    slope, or None where it is 1. It weighs the outcomes, too: a judge who votes against the others
    is turned round, and a coin counts nothing.
    """

    pairs: Pairs
    place: np.ndarray
    law: OutcomeLaw
    eta: np.ndarray
    win: np.ndarray
    lose: np.ndarray
    sharpness: np.ndarray | None = None
    sigma2: float = 0.0

    @classmethod
    def of_pairs(cls, pairs: Pairs, link: Link, difference: np.ndarray) -> "Seen":
        """Rows for the sides of all pairs."""
        place = np.tile(np.arange(len(pairs.high)), len(difference))
        return cls(
            pairs,
            place,
            OutcomeLaw(TieRule("half", link)),
            difference.ravel(),
            pairs.win.ravel(),
            pairs.lose.ravel(),
        )

    def total(self, rows: np.ndarray) -> np.ndarray:
        """For every pair, the sum over its rows, which are sorted by pair or side by side."""
        n = len(self.pairs.high)
        return rows if len(rows) == n else np.bincount(self.place, rows, n)

    def sharpened(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.sharpness is None else self.sharpness * rows

    def moved(self, effect: np.ndarray) -> np.ndarray:
        """What effects of items add to eta."""
        return self.sharpened(self.pairs.differences(effect)[self.place])

    def at_items(self, values: np.ndarray) -> np.ndarray:
        """For every item, the sum over its pairs."""
        return self.pairs.sum_at_low(values) + self.pairs.sum_at_high(values)

    @cached_property
    def number(self) -> np.ndarray:
        """Comparisons of each row."""
        return self.win + self.lose

    @cached_property
    def row_rise(self) -> np.ndarray:
        """Derivative of each row's mean outcome in eta."""
        if self.sigma2 == 0:
            return self.law.rise(self.eta)
        return self.look_up(self._averages(self.law.rise, self.grid, 2 * self.sigma2))

    @cached_property
    def row_variance(self) -> np.ndarray:
        """Variance of each row's outcome, effects averaged over."""
        if self.sigma2 == 0:
            return self.law.variance(self.eta)
        from_half = self.look_up(self._averages(self.law.from_half, self.grid, 2 * self.sigma2))
        return np.maximum(
            from_half - (self.expected(1.0, 2 * self.sigma2) - 0.5) ** 2, np.finfo(float).tiny
        )

    @cached_property
    def variance(self) -> np.ndarray:
        """Of the weighted sum of each pair's outcomes, as if they were independent."""
        return self.total(self.sharpened(self.sharpened(self.number * self.row_variance)))

    @cached_property
    def slope(self) -> np.ndarray:
        """Derivative of the weighted sum of each pair's outcomes in the items' effects."""
        return self.total(self.sharpened(self.sharpened(self.number * self.row_rise)))

    @cached_property
    def grid(self) -> np.ndarray:
        """Sizes of eta from zero to the largest; what is needed below zero follows by symmetry."""
        return np.linspace(0.0, max(float(np.abs(self.eta).max(initial=0.0)), 1e-3), GRID)

    @property
    def _coarse(self) -> np.ndarray:
        return self.grid[:: (GRID - 1) // (COARSE - 1)]

    @cached_property
    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of sharpness that have tables of their own, and the one of each row.

        Judges of about the same sharpness share one.
        """
        if self.sharpness is None:
            return np.ones(1), np.zeros(1, dtype=np.intp)
        size, code = np.unique(np.abs(self.sharpness), return_inverse=True)
        if len(size) <= MOST_KINDS:
            return size, code
        number = np.bincount(code, self.number)
        _, kind = np.unique(
            np.floor(MOST_KINDS * (np.cumsum(number) - number / 2) / number.sum()),
            return_inverse=True,
        )
        return np.bincount(kind, number * size) / np.bincount(kind, number), kind[code]

    def _averages(
        self, function: Callable[[np.ndarray], np.ndarray], eta: np.ndarray, v: float
    ) -> np.ndarray:
        """E function(eta + sharpness sqrt(v) z) for every kind (rows) and eta."""
        sd = np.sqrt(v) * self.kinds[0]
        z, weight = normal_grid(float(sd.max()))
        return function(eta[:, None] + sd[:, None, None] * z) @ weight

    @cached_property
    def _place(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each row lies in the tables of its kind.

        The cell, and the share of the way through it.
        """
        cell, share = _cells(np.abs(self.eta) / self.grid[1], GRID)
        return GRID * self.kinds[1] + cell, share

    def look_up(self, tables: np.ndarray) -> np.ndarray:
        """A function of the size of eta, tabled for every kind, for every row."""
        (cell, share), flat = self._place, tables.ravel()
        return flat[cell] + share * np.diff(flat)[cell]

    def expected(self, factor: float, v: float) -> np.ndarray:
        """Mean outcome of every row at factor times eta."""
        return 0.5 + np.sign(self.eta) * (
            self.look_up(self._averages(self.law.mean, factor * self.grid, v)) - 0.5
        )

    @cached_property
    def _length_weight(self) -> np.ndarray:
        """Weight of every place of the coarse grid, for every kind, in the score of eta's length,
        sum m eta rise / variance.
        """
        nkinds, weight = (
            len(self.kinds[0]),
            self.number
            * np.abs(self.eta)
            * self.row_rise
            / np.maximum(self.row_variance, np.finfo(float).tiny),
        )
        cell, share = _cells(np.abs(self.eta) / self._coarse[1], COARSE)
        cell = COARSE * self.kinds[1] + cell
        size = nkinds * COARSE
        return (
            np.bincount(cell, (1 - share) * weight, size)
            + np.bincount(cell + 1, share * weight, size)
        ).reshape(nkinds, COARSE)

    def kappa(self, v: float) -> float:
        """How many times longer eta is if effects have variance v / 2 rather than that of the fit.

        The likelihood of features alone makes outcomes minus f(d) orthogonal to d, with weights;
        their averages g(kappa d) in the place of the outcomes do the same. Under probit this is
        sqrt(1 + v), exactly.
        """
        fitted = self._averages(self.law.mean, self._coarse, 2 * self.sigma2)

        def gap(log_kappa: float) -> float:
            return float(
                np.sum(
                    self._length_weight
                    * (self._averages(self.law.mean, np.exp(log_kappa) * self._coarse, v) - fitted)
                )
            )

        longest = np.log(10 + 10 * max(v, 2 * self.sigma2))
        ends = (0.0, longest) if v > 2 * self.sigma2 else (-longest, 0.0)
        return (
            float(np.exp(brentq(gap, *ends, xtol=1e-8))) if gap(ends[0]) < 0 < gap(ends[1]) else 1.0
        )


def _cells(at: np.ndarray, n_places: int) -> tuple[np.ndarray, np.ndarray]:
    """Cell of each place on a grid of whole numbers, and the share of the way through it."""
    cell = np.minimum(at.astype(np.intp), n_places - 2)
    return cell, at - cell


@dataclass(frozen=True)
class Equation:
    """sum_i w_i (T_i - E_i) = 0, item by item, for residuals of fitted coefficients.

    A fit explains some of every item away. ``inflation`` of the squared sums makes up for it, and
    ``length`` is what the fitted differences have to be multiplied by to have the size of the true
    ones.
    """

    seen: Seen
    inflation: np.ndarray
    length: float

    def excess(self, sigma2: float) -> np.ndarray:
        """T_i - E_i of every item."""
        seen, pairs, v = self.seen, self.seen.pairs, 2 * sigma2
        kappa = seen.kappa(v)
        residual = seen.total(seen.sharpened(seen.win - seen.number * seen.expected(kappa, v)))
        tables = hermite_coefficients(
            seen.law,
            *np.broadcast_arrays(
                kappa * self.length * seen.grid, (np.sqrt(v) * seen.kinds[0])[:, None]
            ),
        )
        size = 0.5 ** np.arange(N_TERMS + 1) * (tables**2).max(axis=(1, 2))
        against, sign = (
            (1.0, np.sign(seen.eta))
            if seen.sharpness is None
            else (np.abs(seen.sharpness), seen.sharpness * np.sign(seen.eta))
        )
        total, of_pairs = self.inflation * pairs.net_per_item(residual) ** 2, -(residual**2)
        for n in range(1, N_TERMS + 1):
            if sigma2 > 0 and size[n] > SMALLEST_TERM * size[1]:
                # f is odd about a half, so c_n is even in eta for odd n and odd for even n, and as
                # n in sharpness
                odd = n % 2 == 1
                value = seen.total(
                    seen.number * seen.look_up(tables[n]) * (against if odd else sign)
                )
                sums = (
                    pairs.sum_at_low(value) + pairs.sum_at_high(value)
                    if odd
                    else pairs.net_per_item(value)
                )
                total -= 0.5**n * sums**2
                of_pairs += 0.5**n * value**2
        return total + seen.at_items(of_pairs)

    def weights(self, sigma2: float) -> np.ndarray:
        """How fast E_i grows with sigma^2 over the variance of T_i, both to first order in the
        effects.
        """
        seen, slope = self.seen, self.seen.slope / self.seen.kappa(2 * sigma2)
        total = seen.at_items(slope)
        growth, noise = total**2 - seen.at_items(slope**2), seen.at_items(seen.variance)
        variance = (
            2 * (sigma2 * growth) ** 2
            + 4 * sigma2 * noise * growth
            + 2 * (noise**2 - seen.at_items(seen.variance**2))
        )
        return np.divide(
            growth,
            variance,
            out=np.zeros_like(growth),
            where=(growth > 1e-9 * total**2) & (variance > 0),
        )

    def spread(
        self, sigma2: float, weight: np.ndarray, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Standard deviation of sum_i w_i (T_i - E_i) under the model, and its covariance with the
        logarithm of the coefficients' length.

        Without effects, pairs are independent: 2 sum_i w_i^2 sum_{p != q} V_p V_q. With them,
        neighbours depend on each other in ways that have no short formula; so effects are drawn.
        Noise may be drawn normal: no residual is in T more than squared. The length is estimated
        from the same residuals, and E moves with it.
        """
        seen, pairs = self.seen, self.seen.pairs
        if sigma2 == 0:
            return (
                float(
                    np.sqrt(
                        2
                        * weight**2
                        @ (seen.at_items(seen.variance) ** 2 - seen.at_items(seen.variance**2))
                    )
                ),
                0.0,
            )
        kappa = seen.kappa(2 * sigma2) * self.length
        mean = seen.expected(kappa, 2 * sigma2)
        along = seen.eta * seen.row_rise / np.maximum(seen.row_variance, np.finfo(float).tiny)
        along /= max(float(along @ (seen.number * seen.row_rise * seen.eta)), np.finfo(float).tiny)
        along_noise = seen.total(
            seen.sharpened(along * seen.number * seen.row_variance)
        ) / np.maximum(seen.variance, np.finfo(float).tiny)
        longer = replace(self, length=1.01 * self.length)
        by_length = float(weight @ (longer.excess(sigma2) - self.excess(sigma2))) / 0.01
        draws = []
        for _ in range(int(np.clip(NUMBERS_DRAWN / len(pairs.high), *DRAWS))):
            eta = kappa * seen.eta + seen.moved(
                np.sqrt(sigma2) * rng.standard_normal(pairs.n_items)
            )
            rows, noise = (
                seen.number * (seen.law.mean(eta) - mean),
                seen.number * seen.law.variance(eta),
            )
            noise = np.sqrt(
                seen.total(seen.sharpened(seen.sharpened(noise)))
            ) * rng.standard_normal(len(pairs.high))
            residual, length = (
                seen.total(seen.sharpened(rows)) + noise,
                float(along @ rows + along_noise @ noise),
            )
            draws.append(
                (
                    weight @ (pairs.net_per_item(residual) ** 2 - seen.at_items(residual**2))
                    + by_length * length,
                    length,
                )
            )
        covariance = np.cov(np.array(draws).T)
        return float(np.sqrt(covariance[0, 0])), float(covariance[0, 1])


def equation(seen: Seen, whitened: np.ndarray) -> Equation:
    """The equation for residuals of a fit whose coefficients have the identity as classical
    covariance in ``whitened`` features.

    To first order the fit takes b_p y_p' (sum b_q y_q r_q / V_q) off the residual r_p, V its
    variance, b = m f' and y the whitened difference. So (sum_p r_p)^2 of an item is too small by
    its leverage h = |sum_p b_p y_p|^2 / sum_p V_p, sum_p r_p^2 by sum_p b_p^2 |y_p|^2, both times
    the variance of sums over that without item effects; and squared differences are too large by
    that times |y_p|^2.
    """
    pairs, squared, on_items = (
        seen.pairs,
        np.zeros(len(seen.pairs.high)),
        np.zeros(seen.pairs.n_items),
    )
    for column in whitened.T:
        y = pairs.differences(column)
        squared += y**2
        on_items += pairs.net_per_item(seen.slope * y) ** 2
    noise = np.maximum(seen.at_items(seen.variance), np.finfo(float).tiny)
    leverage = np.minimum(on_items / noise, LARGEST_LEVERAGE)
    net = np.minimum((on_items - seen.at_items(seen.slope**2 * squared)) / noise, LARGEST_LEVERAGE)
    fitted = seen.law.mean(seen.eta) if seen.sigma2 == 0 else seen.expected(1.0, 2 * seen.sigma2)
    residual = seen.total(seen.sharpened(seen.win - seen.number * fitted))
    ratio = float(np.sum(pairs.net_per_item(residual) ** 2 / (1 - leverage)) / noise.sum())
    size = float(np.sum(seen.number * seen.eta**2))
    share = (
        ratio * float(seen.total(seen.sharpened(seen.sharpened(seen.number))) @ squared) / size
        if size > 0
        else 0.0
    )
    return Equation(seen, 1 + net / (1 - leverage), float(np.sqrt(max(1 - share, 0.0))))
