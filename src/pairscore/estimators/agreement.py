"""How a score and the comparisons agree: shares of decided comparisons, and their scale."""

from dataclasses import dataclass

import numpy as np

from pairscore.core.amounts import times_amount
from pairscore.core.decided_scale import decided_scale
from pairscore.core.differences import Differences
from pairscore.core.sums import share_of
from pairscore.core.ties import OutcomeLaw
from pairscore.estimators.estimate import Estimate
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.table_data import TableData


@dataclass(frozen=True)
class Agreement:
    """Of a fit with the comparisons that it is to.

    Attributes
    ----------
    agreement : float
        Share of decided comparisons that the score predicts correctly; NaN if none is decided.
    noise : float
        Estimated share of decided comparisons that contradict the true order (the paper's p_e).
    decided_scale : float
        The factor from a score difference to the chances of decided comparisons.
    """

    agreement: float
    noise: float
    decided_scale: float


def score_differences(data: TableData, result: Estimate) -> np.ndarray:
    """Difference of scores of every comparison (M) in memory, with all effects of the estimate."""
    if result.predictor.of_comparisons is not None:
        return result.predictor.of_comparisons
    return data.differences(data.table.times(result.coef), result.side_effect or 0.0)


def differences_along(data: FitData, result: Estimate, distinct: bool = False) -> Differences:
    """Comparisons along the score of an estimate; ``distinct`` leaves an item against itself out.

    As the estimator left them, or else by a pass.
    """
    if result.predictor.differences is not None and not distinct:
        return result.predictor.differences
    if not isinstance(data, TableData):
        scores = data.table.times(result.coef)
        return data.along(scores, result.side_effect or 0.0, distinct).differences
    votes, amount = data.comparisons, data.amount
    if distinct:
        amount = times_amount((votes.left != votes.right).astype(float), amount)
    return Differences.of_comparisons(score_differences(data, result), votes.outcome, amount)


def agreement_of(
    differences: Differences, law: OutcomeLaw, unit: float, scale: float | None = None
) -> Agreement:
    """Agreement of comparisons with their differences of scores.

    ``law`` is the rule for ties with its parameter, ``unit`` the weight of a comparison; ``scale``
    is that of decided comparisons, where it is known.
    """
    if scale is None:
        scale = 1.0
        if np.any(differences.outcome == 0):
            rows = differences.x, None, differences.outcome, differences.amount / unit
            scale = decided_scale(law, *rows)
    law = OutcomeLaw(law.rule, law.t, scale)
    outcomes = differences.times(scale).outcomes(law.rule.link)
    decided = outcomes.decided
    if law.rule.has_parameter or decided == 0:  # all comparisons count, decided or not
        noise = law.share_flipped(np.abs(differences.x), differences.amount)
    else:
        noise = share_of(outcomes.wrong, decided)
    agreement = share_of(outcomes.right, decided) if decided > 0 else float("nan")
    return Agreement(agreement, noise, scale)
