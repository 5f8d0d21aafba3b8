"""Context that belongs partly to the items.

Better items may have longer answers, or be shown on the left more often. An effect of such a column
c beside effects of items takes over a part of the items. So each column is split,

    c = B p + rest,    p = (B'B)^+ B'c    (one number per item, B the incidence of comparisons),

and the items have p, net of their features, as one more feature: the effect of c is then that
*within* items, and an item's own part is pi p_i + u_i (Mundlak 1978; the within device of panel
data). The projection has no weights, because informations depend on outcomes.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pairscore.core.sums import Pairs, net_per_item
from pairscore.effects.item_posterior import conjugate_gradients
from pairscore.effects.single_comparisons import SingleComparisons, laplacian

LEAST_REST = 0.1  # share of a column that must vary within items


@dataclass(frozen=True)
class Projection:
    """What of each column of the effects (e) belongs to the items.

    ``values`` (N x e) is p net of the features, ``rest`` (e) the share of the column's sum of
    squares that is left to learn its effect from.
    """

    values: np.ndarray
    rest: np.ndarray


def project_on_items(rows: SingleComparisons, columns: np.ndarray) -> Projection:
    """Split columns (M x e) into what items say and the rest."""
    n, (pairs, place) = len(rows.X), rows.pairs
    number = np.bincount(place, rows.amount, len(pairs.high))
    nets = (
        np.array([net_per_item(rows.left, rows.right, rows.amount * one, n) for one in columns.T])
        .reshape(columns.shape[1], n)
        .T
    )
    graph = laplacian(pairs, number)
    # a trace of a ridge makes the Laplacian, whose components are free by a constant, invertible
    lifted = sparse.csr_array(graph + sparse.diags_array(np.full(n, 1e-9 * number.mean())))
    values = conjugate_gradients(lifted, nets, np.zeros_like(nets))
    left_over = columns - (values[rows.left] - values[rows.right])
    squares = rows.amount @ columns**2
    rest = np.divide(
        rows.amount @ left_over**2, squares, out=np.zeros(len(squares)), where=squares > 0
    )
    return Projection(net_of_features(rows, values, pairs, number), rest)


def net_of_features(
    rows: SingleComparisons, values: np.ndarray, pairs: Pairs, number: np.ndarray
) -> np.ndarray:
    """Residuals of ``values`` (N x e) on the features, items as often as they were compared."""
    exposure = np.sqrt(pairs.sum_at_low(number) + pairs.sum_at_high(number))[:, None]
    design = np.column_stack([np.ones(len(rows.X)), rows.X - rows.mean])
    fitted = np.linalg.lstsq(exposure * design, exposure * values, rcond=1e-10)[0]
    return np.where(exposure > 0, values - design @ fitted, 0.0)
