"""Leverage: how far an item can pull a fit towards itself."""

import numpy as np

from pairscore.core.whitening import Basis, whitening_basis
from pairscore.estimators.fit_data import FitData, FitSums
from pairscore.estimators.ridge import ridge_penalty, ridge_units
from pairscore.estimators.settings import Settings


def item_basis(data: FitSums, settings: Settings) -> Basis:
    """Coordinates in which the scatter of the compared items, with the ridge, is the identity."""
    center = data.item_moments
    ridge = ridge_penalty(
        settings.ridge, ridge_units(settings, center.sd), float(settings.link.pdf(0.0))
    )
    return whitening_basis(center.scatter + np.diag(ridge), center.sd)


def jackknife_of_items(
    data: FitData, settings: Settings, total: FitSums | None = None
) -> np.ndarray:
    """1 / (1 - leverage) of every item (N), by :meth:`ItemTable.jackknife`.

    Leverages are taken in the coordinates of :func:`item_basis`: a ridge holds an item back.
    ``total`` has the sums of all items, where these are some of them only.
    """
    every = data if total is None else total
    whitener = item_basis(every, settings).transform
    return data.table.jackknife(
        whitener, data.tally.exposures, every.item_moments, of_all=total is None
    )
