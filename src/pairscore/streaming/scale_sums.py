"""Sums at several scales of one direction, and what they say between these scales."""

from dataclasses import dataclass

import numpy as np

from pairscore.core.decided_scale import prior_precision
from pairscore.core.differences import Differences
from pairscore.core.links import Link
from pairscore.core.roots import solve_falling
from pairscore.core.scale import NO_RIDGE, ScaleLoss
from pairscore.core.sums import Sums, share_of
from pairscore.estimators.agreement import Agreement
from pairscore.estimators.fit_data import Along
from pairscore.streaming.sites import SiteTotal

# Logarithms of scale, relative to that of the model, at which sums are made. They reach as far as
# the model's may be off, and up to that of decided comparisons where nine of ten tied; their
# distance makes the error of the spline, about 1e-10 of log t.
SCALES = 0.1 * np.arange(-15, 26)
# At each of these a site sends matrices of d x d; standard errors are off by 1e-6 of them at most
# where the scale is off by 0.1, as it mostly is, and by 1e-5 at the ends.
PAIR_SCALES = 0.15 * np.arange(-3, 4)


@dataclass(frozen=True)
class ScaleSums(Sums):
    """Comparisons along a score, at SCALES around that of the model.

    Attributes
    ----------
    slope, slope_of_decided : arrays (k)
        Derivative of the log-likelihood in the logarithm of scale, of all comparisons, and of those
        that no tie ended.
    wrong : array (k)
        How many decided comparisons the link expects to go against the score.
    decided, right, against : float
        Amounts of decided comparisons, of those that the score predicts, and of those that go
        against it.
    tied : float
        The amount of ties between two items.
    apart, squares : float
        The amount of comparisons with a difference along the score, and the sum of its squares.
    """

    slope: np.ndarray
    slope_of_decided: np.ndarray
    wrong: np.ndarray
    decided: float
    right: float
    against: float
    tied: float
    apart: float
    squares: float

    @classmethod
    def of_along(cls, along: Along, link: Link, scale: float) -> "ScaleSums":
        """From comparisons along a score, whose factor to the link is about ``scale``."""
        every = along.differences
        decided = every.take(every.outcome != 0)
        at = scale * np.exp(SCALES)
        outcomes = [decided.times(t).outcomes(link) for t in at]
        return cls(
            slope=np.array([log_slope(every, link, t) for t in at]),
            slope_of_decided=np.array([log_slope(decided, link, t) for t in at]),
            wrong=np.array([of.wrong for of in outcomes]),
            decided=outcomes[0].decided,
            right=outcomes[0].right,
            against=float(decided.amount @ (decided.x * decided.outcome < 0)),
            tied=along.tied,
            apart=float(every.amount @ (every.x != 0)),
            squares=every.squares,
        )

    @property
    def is_explained(self) -> bool:
        """Whether no comparison contradicts the score: then no finite scale is best."""
        return self.right > 0 and self.against == 0 and self.tied == 0


def log_slope(differences: Differences, link: Link, scale: float) -> float:
    """Derivative of the log-likelihood of scale * x in the logarithm of scale."""
    loss = ScaleLoss(differences, link, NO_RIDGE, side=False)
    return -scale * float(loss.derivatives(np.array([scale, 0.0])).gradient[0])


DEGREE = 9  # of the spline: with fewer, or far more, an error of the scale is ten times as large


def best_scale(slope: np.ndarray, ridge: float) -> float:
    """Where the slope (k) of a log-likelihood in the logarithm of scale, at SCALES, is zero.

    Or the end of SCALES that is nearest. ``ridge`` holds scale^2 / 2 back.
    """

    def less_ridge(log_scale: float) -> float:
        return float(at_scale(slope, SCALES, log_scale)) - ridge * float(np.exp(2 * log_scale))

    return solve_falling(less_ridge, float(SCALES[0]), float(SCALES[-1]))


def agreement_of_sums(sums: ScaleSums, data: SiteTotal, at: float, best: float) -> Agreement:
    """Agreement from sums at SCALES around the scale ``at``; the logarithm ``best`` is that of the
    coefficients.

    Ties are looked at as far as SCALES reach (:func:`pairscore.core.decided_scale.decided_scale`).
    """
    scale = 1.0
    unit = data.weight_unit
    if data.n_tied > 0 and sums.decided > 0 and sums.apart > 0:
        precision = prior_precision(at**2 * sums.squares / sums.apart)
        of_all = best_scale(sums.slope / unit, precision)
        of_decided = best_scale(sums.slope_of_decided / unit, precision)
        scale = float(np.exp(of_decided - of_all))
    where = float(np.clip(best + np.log(scale), SCALES[0], SCALES[-1]))
    if sums.decided == 0:
        return Agreement(float("nan"), 0.5, scale)
    noise = share_of(float(at_scale(sums.wrong, SCALES, where)), sums.decided)
    return Agreement(share_of(sums.right, sums.decided), noise, scale)


def at_scale(values: np.ndarray, scales: np.ndarray, log_scale: float) -> np.ndarray:
    """What values (k x ...) at logarithms of scale (k) are at another one between them."""
    from scipy.interpolate import make_interp_spline

    degree = min(DEGREE, len(scales) - 1)
    return np.asarray(make_interp_spline(scales, values, degree)(log_scale))
