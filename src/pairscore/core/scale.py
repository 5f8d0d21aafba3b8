"""The scale of scores on a link.

Along a direction of scores, comparisons come down to differences
(:mod:`pairscore.core.differences`), and the log-likelihood is a function of two numbers: the factor
from these differences to the link, and a side effect (:func:`fit_scale`).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pairscore.core.differences import Differences
from pairscore.core.links import Link
from pairscore.core.optimise import FISHER_GAP, Derivatives, Step, minimise

TOL = 1e-11  # gap to the maximum, per comparison, before the last step
LARGEST_SPREAD = 3.0  # of the scores, in units of the link, from which a fit is started
TINY = float(np.finfo(float).tiny)


class ScaleRidge(NamedTuple):
    """Penalties on factor^2 / 2 and on side effect^2 / 2."""

    factor: float = 0.0
    side: float = 0.0


NO_RIDGE = ScaleRidge()


@dataclass(frozen=True)
class Scale:
    """coef = factor * closed form.

    ``factor`` includes ``guard``, the share of the closed form that is not overfitting; ``ridge``
    is that of the fit.
    """

    factor: float
    side_effect: float
    guard: float = 1.0
    n_iterations: int = 0
    ridge: ScaleRidge = NO_RIDGE
    converged: bool = True


def initial_factor(spread: float, slope_at_zero: float) -> float:
    """Invert c1(q) q, the spread of a noiseless closed form, as if the link were a normal one.

    With f(x) = Phi(x / sigma): c1(q) q = 4 q phi(0) / sqrt(sigma^2 + 2 q^2), which tends to
    2/sqrt(pi). ``spread`` is the standard deviation of the closed form's scores.
    """
    if spread <= 0:
        return 1 / (4 * slope_at_zero)
    sigma = 1 / (np.sqrt(2 * np.pi) * slope_at_zero)
    rest = 8 / np.pi - 2 * spread**2
    q = sigma * spread / np.sqrt(rest) if rest > 0 else LARGEST_SPREAD
    return min(q, LARGEST_SPREAD) / spread


@dataclass(frozen=True)
class ScaleLoss:
    """Minus the log-likelihood of factor * x + side effect, to be minimised over both.

    Without ``side`` the side effect stays at zero.
    """

    differences: Differences
    link: Link
    ridge: ScaleRidge
    side: bool

    def derivatives(self, params: np.ndarray) -> Derivatives:
        x, win = self.differences.x, self.differences.wins
        factor, side = params
        score, weight = self.link.score(factor * x + side, win, self.differences.amount - win)
        weighted = weight * x
        gradient = np.array([-(score @ x), -score.sum()]) + np.array(self.ridge) * params
        mixed = weighted.sum()
        information = np.array([[weighted @ x, mixed], [mixed, weight.sum()]])
        information += np.diag(self.ridge)
        if not self.side:
            gradient[1] = 0.0
            information[0, 1] = information[1, 0] = 0.0
        return Derivatives(gradient, information)

    def newton_step(self, params: np.ndarray, here: Derivatives, iteration: int) -> Step:
        """Fisher's step, held to less than the factor itself and to one unit of the side effect.

        Where the factor goes to zero, the side effect goes to what is best at the factor that is
        left, and the gap is that to the best positive factor: a step of both, cut short for one of
        them, need not lead down. Other steps that are too long are shortened as a whole.

        Gradient and information are brought to one unit: along a closed form of tiny differences
        the information of its factor is tiny beside that of the side effect.
        """
        unit = np.sqrt(np.maximum(np.diag(here.information), TINY))
        standard = here.information / np.outer(unit, unit)
        step = np.linalg.lstsq(standard, here.gradient / unit, rcond=1e-14)[0] / unit
        longest = 0.9 * params[0]
        if step[0] > longest:
            of_side = here.gradient[1] - here.information[1, 0] * longest
            step = np.array([longest, of_side / max(here.information[1, 1], TINY)])
        gap = float(here.gradient @ step) / self.differences.total
        gap *= 1.0 if self.link.is_logistic else FISHER_GAP
        too_long = max(-step[0] / (1 + params[0]), abs(step[1]), 1.0)
        return Step(step / too_long, gap)


def fit_scale(
    differences: Differences,
    link: Link,
    start: float,
    side: bool,
    ridge: ScaleRidge = NO_RIDGE,
    max_iter: int = 50,
) -> Scale:
    """Maximise the log-likelihood of factor * x + side effect by Newton's method.

    Parameters
    ----------
    differences : Differences
        Along the closed form.
    link : Link
    start : float
        Factor to start from.
    side : bool
        Whether there is a side effect.
    ridge : ScaleRidge
    max_iter : int
    """
    loss = ScaleLoss(differences, link, ridge, side)
    best = minimise(loss, np.array([start, 0.0]), max_iter, TOL)
    factor, side_effect = best.params.tolist()
    return Scale(
        factor, side_effect, n_iterations=best.n_iterations, ridge=ridge, converged=best.converged
    )
