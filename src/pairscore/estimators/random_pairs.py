"""Do the pairs look random? Seeded, designed or matched pairs mislead `pooled` and `split`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtri, chndtrinc

from pairscore.core.moments import Moments
from pairscore.core.significance import chi_square_p
from pairscore.core.whitening import whitening_basis
from pairscore.errors import PairsNotRandomWarning

if TYPE_CHECKING:
    from pairscore.estimators.estimate import Note
    from pairscore.estimators.fit_data import FitData

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
    be for the test to see it 8 times out of 10; NaN without a feature that varies, and in models of
    before.
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
                "The compared items, weighted by how often they were compared, are not spread"
                " like the items that the covariance is from (variance ratios from"
                f" {self.reference_narrowest:.2f} to {self.reference_widest:.2f})."
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
            return " There are too few comparisons to detect a deviation."
        return (
            " It would have been detected 8 times out of 10 if the variance of differences in"
            f" some direction were off by {100 * self.smallest_seen:.0f} % or more."
        )


def pairing_of_data(data: "FitData", method: str) -> Pairing:
    """Compare the difference covariance with the item covariance, and both with the method's.

    In whitened coordinates let C = sum_p n_p (z_low z_high' + z_high z_low') / 2M. If partners are
    drawn independently, E C = 0, and |C|^2 M^2 over the squared number of comparisons of each draw
    has mean d(d+1)/2 and is about chi-squared; pairs that met again by chance were draws of their
    own. The variance of differences over that of random pairs has the eigenvalues of I - C.
    Products of items that met are what the scatter of their differences leaves of the items'.
    """
    compared, exposures = data.item_moments, data.tally.exposures
    d = len(compared.mean)
    reference = data.second_moments if method == "split" else compared

    def fourth(whitener: np.ndarray) -> float:
        return data.table.fourth(compared.mean, whitener, exposures)

    scatter = compared.scatter - data.counts.scatter[:d, :d]
    return pairing_of(fourth, scatter, data.counts.squares, exposures, compared, reference)


def pairing_of(
    fourth: Callable[[np.ndarray], float],
    scatter: np.ndarray,
    squares: float,
    exposures: np.ndarray,
    compared: Moments,
    reference: Moments,
) -> Pairing:
    """The same from sum_i k_i |W'z_i|^4, 2M C (``scatter``), sum_p n_p^2 and exposures k (N)."""
    m = 0.5 * float(exposures.sum())
    whitener = np.sqrt(compared.total) * whitening_basis(compared.scatter, compared.sd).transform
    busiest = float(exposures.max() / exposures[exposures > 0].mean())
    if (r := whitener.shape[1]) == 0:  # no feature varies, so pairs look random
        random = _Ratios(1.0, 1.0, 1.0)
        return _pairing(random, random, busiest, np.nan)
    cross = whitener.T @ scatter @ whitener / (2 * m)
    by_chance = 2 * np.sum((exposures / exposures.sum()) ** 2) ** 2 * m**2
    draws = max(squares - by_chance, 0.1 * squares)
    statistic = float(np.sum(cross**2)) * m**2 / draws
    partners = _ratios_and_p_value(np.eye(r) - cross, statistic)
    # two sample covariances of n and n' items: the squared logarithms of their ratios sum to about
    # (1/n + 1/n') (E|z|^4 - d), d(d+1) if normal
    tails = 1.0
    if reference is not compared:
        tails = max((0.5 * fourth(whitener) / m - r) / (r * (r + 1)), 1.0)
    noise = tails * (np.sum(exposures**2) / np.sum(exposures) ** 2 + 1 / reference.total)
    other = whitener.T @ reference.covariance @ whitener
    logs = np.log(np.maximum(np.linalg.eigvalsh(other), 1e-300))
    of_reference = _ratios_and_p_value(other, 0.5 * float(np.sum(logs**2)) / noise)
    return _pairing(partners, of_reference, busiest, _smallest_seen(r, draws / m**2))


class _Ratios(NamedTuple):
    """Smallest and largest ratio of two variances in any direction, and the p-value of equality."""

    narrowest: float
    widest: float
    p_value: float


def _pairing(
    partners: _Ratios, reference: _Ratios, busiest: float, smallest_seen: float
) -> Pairing:
    return Pairing(
        narrowest=partners.narrowest,
        widest=partners.widest,
        p_value=partners.p_value,
        reference_narrowest=reference.narrowest,
        reference_widest=reference.widest,
        reference_p_value=reference.p_value,
        busiest=busiest,
        smallest_seen=smallest_seen,
    )


def pairing_note(pairing: Pairing, method: str) -> "list[Note]":
    """What a closed form that takes pairs for random ones says of others."""
    text = f"{pairing.in_words} method={method!r} assumes random pairs; use 'paired' or 'mle'."
    is_right = method == "paired" or pairing.looks_random
    return [] if is_right else [PairsNotRandomWarning(text)]


def _smallest_seen(r: int, variance: float) -> float:
    """The eigenvalue of C in one direction that the test sees 8 times out of 10.

    It adds its square over ``variance`` to the chi-squared statistic of r(r+1)/2 degrees of
    freedom; a spread that is off by less than TOLERATED is let go.
    """
    freedom = r * (r + 1) / 2
    added = float(chndtrinc(chdtri(freedom, SIGNIFICANCE), freedom, 0.2))
    return max(float(np.sqrt(added * variance)), TOLERATED)


def _ratios_and_p_value(ratio: np.ndarray, statistic: float) -> _Ratios:
    """Of a matrix of variance ratios (r x r), by its eigenvalues."""
    values = np.linalg.eigvalsh(ratio)
    r = len(ratio)
    return _Ratios(
        narrowest=max(float(values[0]), 0.0),
        widest=float(values[-1]),
        p_value=chi_square_p(statistic, r * (r + 1) / 2),
    )
