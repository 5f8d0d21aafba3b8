"""The maximum of rows whose separated directions are held by a prior."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.effects.design import PreparedFit, make_design, prepare_fit
from pairscore.effects.joint_separation import SMALLEST_GAP, Separation, find_separation
from pairscore.effects.maximum import (
    RowsMaximum,
    endless,
    maximise_rows,
    runs_away_beside_slips,
)
from pairscore.effects.single_comparisons import SingleComparisons
from pairscore.estimators.ridge import SEPARATION_L2
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData

if TYPE_CHECKING:
    from pairscore.model.fit import Fit


class HeldMaximum(NamedTuple):
    """The maximum over theta without effects of items.

    ``alone`` is where Newton's method got to, and ``top`` the maximum of what is held: the same
    where there is no ``separation``. The rows of ``prepared`` have its ridge; or one on everything
    ``beside_slips`` that explain all that contradicts the score.
    """

    prepared: PreparedFit
    alone: RowsMaximum
    top: RowsMaximum
    separation: Separation | None
    beside_slips: bool = False

    @property
    def endless(self) -> bool:
        """Whether some effect of comparisons, or the tie parameter, has no finite size."""
        found, rows = self.separation, self.prepared.rows
        if found is None or not len(found.amount) or not rows.rule.has_parameter:
            return endless(rows, self.alone)
        return endless(rows, self.alone) or bool(found.directions[-1].any())


def maximise_held(
    data: TableData, settings: Settings, prepared: PreparedFit, start: np.ndarray, tol: float
) -> HeldMaximum:
    """Newton's steps to the maximum, with a ridge along directions in which there is none."""
    alone = maximise_rows(prepared.rows, start, settings.max_iter, tol)
    if runs_away_beside_slips(prepared.rows, alone.theta):
        rows, sd = prepared.rows, data.item_moments.sd
        unit = np.concatenate([sd, rows.usual_sizes])
        rows = replace(rows, ridge=rows.ridge + SEPARATION_L2 * np.diag(unit**2))
        top = maximise_rows(rows, start, settings.max_iter, tol)
        return HeldMaximum(replace(prepared, rows=rows), top, top, None, beside_slips=True)
    found = find_separation(data, settings, prepared, alone)
    if found is None:
        return HeldMaximum(prepared, alone, alone, None)
    rows = replace(prepared.rows, ridge=found.ridge(prepared, data.item_moments.sd))
    prepared = replace(prepared, rows=rows)
    top = maximise_rows(rows, start, settings.max_iter, tol)
    return HeldMaximum(prepared, alone, top, found)


def rows_at_maximum(fit: "Fit", data: Comparisons) -> tuple[SingleComparisons, RowsMaximum]:
    """The comparisons of a fit with features as rows, and the maximum of their likelihood.

    ``data`` are those that the fit is to; it has no item effects and no slopes of judges. One more
    step from where it ended closes a gap of SMALLEST_GAP.
    """
    settings = replace(fit.settings, inference=None)
    given = TableData(data, settings.side_effect)
    if fit.effects is not None:
        effects = fit.effects.values
    else:
        effects = np.array([] if fit.side_effect is None else [fit.side_effect])
    start = np.concatenate([fit.coef, effects])
    if fit.recession is None:
        rows = make_design(given, settings).rows
        return rows, maximise_rows(rows, start, settings.max_iter, SMALLEST_GAP)
    prepared = prepare_fit(given, settings)
    held = maximise_held(given, settings, prepared, start, SMALLEST_GAP)
    return held.prepared.rows, held.top
