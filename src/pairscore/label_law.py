"""What labels tell about an item, on average: the constants of a link and its noise that every prediction starts from."""

from dataclasses import dataclass

import numpy as np

from pairscore import integrals
from pairscore.links import Link

STEP = 1e-3


@dataclass(frozen=True)
class LabelLaw:
    """Labels of random pairs of items whose scores, on the link's scale, are N(0, spread^2).

    Let z be an item's place along the true direction in standard deviations, and h its expected
    outcome against a random other item. ``item_effect`` is the standard deviation of what features do
    not explain, again on the link's scale.
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

    ``unexplained`` is eta' = eta - kappa^2, the mean square of h - kappa z: how far an item's expected
    outcome is from linear in z. ``drift`` is the variance of an item's part in a = w'z / M, and ``cube``
    is E[z^3 h].
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

    With item effects h depends on the whole score, of which z is the part ``explained``; E[z h] shrinks
    by that factor, E[h^2] does not; of z^3 the rest has the part 3 z (1 - share^2). The part of an item in a comparison's Y (z_left - z_right) is, given
    the item, z h(z) + h'(z) (Stein), which gives ``drift``.
    """
    share, q = law.explained, law.total_spread
    kappa, eta = share * integrals.kappa(law.link, q), integrals.eta(law.link, q)
    z = integrals.HALF_LINE
    h = integrals.win_excess(law.link, q, z)
    slope = (integrals.win_excess(law.link, q, z + STEP) - integrals.win_excess(law.link, q, z - STEP)) / (2 * STEP)
    at_zero = float(integrals.win_excess(law.link, q, STEP)) / STEP  # h is odd
    centre = 1 / np.sqrt(2 * np.pi) / 8  # weight of z = 0, which the half line leaves out
    part = float(integrals.EVEN_NORMAL @ (z * h + slope) ** 2) + centre * at_zero**2
    cube = share**3 * float(integrals.EVEN_NORMAL @ (z**3 * h)) + 3 * (1 - share**2) * kappa
    return LabelConstants(kappa, eta, share**2 * part + (1 - share**2) * eta - (2 * kappa) ** 2, cube)
