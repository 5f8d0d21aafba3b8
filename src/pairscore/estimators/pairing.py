"""Do the pairs look random? Seeded, designed or matched pairs mislead methods that assume so."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chndtrinc
from scipy.stats import chi2

from pairscore.core.sums import Moments, Pairs, centred_blocks, pair_scatter
from pairscore.core.whitening import whitening_basis

SIGNIFICANCE = 1e-4  # random partners look otherwise in one of ten thousand studies
TOLERATED = 0.1  # a spread wrong by less than a tenth turns the score by little


@dataclass(frozen=True)
class Pairing:
    """How the observed differences compare with those of random pairs of the same items.

    ``narrowest`` and ``widest``: variance of the differences over that of random pairs, in the
    directions where it is smallest and largest (1 = random). ``p_value``: of the hypothesis that
    partners were drawn independently. ``reference_narrowest``, ``reference_widest``,
    ``reference_p_value``: the same for the items whose covariance the method takes against the
    compared items, each as often as it was compared. ``busiest``: exposures of the busiest item
    over the average. ``smallest_seen``: how far from 1 the variance ratio of one direction has to
    be for the test to see it 8 times out of 10; NaN in models of before.
    """

    narrowest: float
    widest: float
    p_value: float
    reference_narrowest: float
    reference_widest: float
    reference_p_value: float
    busiest: float
    smallest_seen: float = np.nan

    @property
    def partners_random(self) -> bool:
        return self.p_value > SIGNIFICANCE or max(1 - self.narrowest, self.widest - 1) < TOLERATED

    @property
    def reference_fits(self) -> bool:
        return self.reference_p_value > SIGNIFICANCE or (
            self.reference_narrowest > 1 / 1.5 and self.reference_widest < 1.5
        )

    @property
    def looks_random(self) -> bool:
        return self.partners_random and self.reference_fits

    @property
    def in_words(self) -> str:
        if not self.partners_random:
            alike = 1 - self.narrowest > self.widest - 1
            kind, ratio = ("alike", self.narrowest) if alike else ("unlike each other", self.widest)
            return (
                f"The pairs do not look random: items that meet are {kind} (in one direction,"
                f" differences have {ratio:.2f} times the variance of random pairs)."
            )
        if not self.reference_fits:
            return (
                "The compared items, each as often as it was compared, are not spread like the"
                f" items behind the covariance (variance ratios from {self.reference_narrowest:.2f}"
                f" to {self.reference_widest:.2f})."
            )
        return (
            f"No sign that the pairs are not random.{self._seen} The busiest item was compared"
            f" {self.busiest:.1f} times as often as the average one."
        )

    @property
    def _seen(self) -> str:
        """What the test would have seen."""
        if np.isnan(self.smallest_seen):
            return ""
        if self.smallest_seen >= 1:
            return " With so few comparisons for so many features nothing could have been seen."
        return (
            " It would have been seen 8 times out of 10 if differences in one direction had a"
            f" variance off by {100 * self.smallest_seen:.0f} % or more."
        )


def check_pairing(X: np.ndarray, pairs: Pairs, compared: Moments, reference: Moments) -> Pairing:
    """Compare the difference covariance with the item covariance, and both with the method's.

    In whitened coordinates let C = sum_p n_p (z_low z_high' + z_high z_low') / 2M. If partners are
    drawn independently, E C = 0, and |C|^2 M^2 over the squared number of comparisons of each draw
    has mean d(d+1)/2 and is about chi-squared; pairs that met again by chance were draws of their
    own. The variance of differences over that of random pairs has the eigenvalues of I - C.

    Parameters
    ----------
    X, pairs : features (N x d) and Pairs
    compared : Moments
        Of the items as often as they were compared.
    reference : Moments
        Of the items whose covariance the method takes; ``compared`` for all but `split`.
    """
    number, m = pairs.number, float(pairs.number.sum())
    exposures = pairs.sum_at_low(number) + pairs.sum_at_high(number)
    whitener = np.sqrt(compared.total) * whitening_basis(compared.scatter, compared.sd).transform
    busiest = float(exposures.max() / exposures[exposures > 0].mean())
    r = whitener.shape[1]
    if r == 0:  # no feature varies, so pairs cannot differ from random ones in any
        return Pairing(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, busiest)
    scatter = pair_scatter(X, compared.mean, pairs, np.zeros(len(X)), number)
    cross = whitener.T @ scatter @ whitener / (2 * m)
    by_chance = 2 * np.sum((exposures / exposures.sum()) ** 2) ** 2 * m**2
    squares = float(np.sum(number**2))
    draws = max(squares - by_chance, 0.1 * squares)
    statistic = float(np.sum(cross**2)) * m**2 / draws
    partners = _ratios_and_p_value(np.eye(r) - cross, statistic)
    # two sample covariances of n and n' items: the squared logarithms of their ratios sum to about
    # (1/n + 1/n') (E|z|^4 - d), d(d+1) if normal
    tails = 1.0
    if reference is not compared:
        fourth = _fourth_moment(X, compared.mean, whitener, exposures)
        tails = max((fourth - r) / (r * (r + 1)), 1.0)
    noise = tails * (np.sum(exposures**2) / np.sum(exposures) ** 2 + 1 / reference.total)
    other = whitener.T @ reference.covariance @ whitener
    logs = np.log(np.maximum(np.linalg.eigvalsh(other), 1e-300))
    return Pairing(
        *partners,
        *_ratios_and_p_value(other, 0.5 * float(np.sum(logs**2)) / noise),
        busiest,
        _smallest_seen(r, draws / m**2),
    )


def _smallest_seen(r: int, variance: float) -> float:
    """The eigenvalue of C in one direction that the test sees 8 times out of 10.

    It adds its square over ``variance`` to the chi-squared statistic of r(r+1)/2 degrees of
    freedom; a spread that is off by less than TOLERATED is let go.
    """
    freedom = r * (r + 1) / 2
    added = float(chndtrinc(chi2.isf(SIGNIFICANCE, freedom), freedom, 0.2))
    return max(float(np.sqrt(added * variance)), TOLERATED)


def _ratios_and_p_value(ratio: np.ndarray, statistic: float) -> tuple[float, float, float]:
    """Smallest and largest eigenvalue of a matrix of variance ratios (r x r), and its p-value."""
    values, r = np.linalg.eigvalsh(ratio), len(ratio)
    return float(values[0]), float(values[-1]), float(chi2.sf(statistic, r * (r + 1) / 2))


def _fourth_moment(
    X: np.ndarray, mean: np.ndarray, whitener: np.ndarray, weight: np.ndarray
) -> float:
    """E |z|^4 of the whitened items, which says how noisy their sample covariance is."""
    total = sum(
        float(weight[rows] @ np.sum((z @ whitener) ** 2, axis=1) ** 2)
        for rows, z in centred_blocks(X, mean)
    )
    return total / float(weight.sum())
