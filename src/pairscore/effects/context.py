"""Context that belongs partly to the items.

Better items may have longer answers, or be shown on the left more often. An effect of such a column
c beside effects of items takes over a part of the items. So each column is split,

    c = B p + rest,    p = (B'B)^+ B'c    (one number per item, B the incidence of comparisons),

and the items have p, net of their features, as one more feature: the effect of c is then that
*within* items, and an item's own part is pi p_i + u_i (Mundlak 1978; the within device of panel
data). The projection has no weights, because informations depend on outcomes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from pairscore.core.linear_systems import conjugate_gradients
from pairscore.core.moments import moments
from pairscore.core.pair_graph import Pairs, laplacian
from pairscore.core.passes import net_pass
from pairscore.core.sandwich import DyadicSums, floored_covariance
from pairscore.core.significance import p_in_words
from pairscore.core.whitening import Basis, whitening_basis
from pairscore.display import first_few
from pairscore.effects.expectation_propagation import Posterior
from pairscore.effects.maximum import RowsMaximum
from pairscore.effects.single_comparisons import SingleComparisons
from pairscore.errors import PairscoreError
from pairscore.estimators.item_table import ItemTable
from pairscore.estimators.table_data import TableData
from pairscore.messages import Setting

LEAST_REST = 0.1  # share of a column within items: with less, its error is three times as wide
NO_REST = 1e-4  # share that is rounding
LEVEL = 0.05  # p-value, times the number of columns, up to which one is related to the items
COSTLY = 1.5  # how many times wider an error is, from which on a reader should know


@dataclass(frozen=True)
class Projection:
    """What of each column of the effects (e) belongs to the items.

    ``values`` (N x e) is p net of the features, ``rest`` (e) the share of the column's sum of
    squares that is left to learn its effect from, ``used`` (e) whether the items have p.
    """

    values: np.ndarray
    rest: np.ndarray
    used: np.ndarray


def project_on_items(rows: SingleComparisons, columns: np.ndarray) -> Projection:
    """Split columns (M x e) into what items say and the rest."""
    n, pairs, place = len(rows.X), rows.pairs, rows.pair
    number = np.bincount(place, rows.amount, len(pairs.high))
    nets = (
        np.array([net_pass(rows.left, rows.right, rows.amount * one, n) for one in columns.T])
        .reshape(columns.shape[1], n)
        .T
    )
    # a trace of a ridge makes the Laplacian, whose components are free by a constant, invertible
    lifted = laplacian(pairs, number, 1e-9 * float(number.mean()))
    values = conjugate_gradients(lifted, nets)[0]
    left_over = columns - (values[rows.left] - values[rows.right])
    squares = rows.amount @ columns**2
    rest = np.divide(
        rows.amount @ left_over**2, squares, out=np.ones(len(squares)), where=squares > 0
    )
    values = net_of_features(rows, values, pairs, number)
    varies = np.std(values, axis=0) > 1e-6 * np.abs(columns).max(axis=0, initial=0)
    return Projection(values, rest, varies & (rest >= LEAST_REST))


def refuse_context_of_items(rows: SingleComparisons, names: tuple[str, ...]) -> None:
    """Beside an ability for every item, a column that is a difference of the items has no effect of
    its own. A side of each judge has a prior that determines it.
    """
    columns = np.hstack([rows.context, np.ones((len(rows.left), int(rows.sides.shape[1] == 1)))])
    if not columns.shape[1] or np.all(has := project_on_items(rows, columns).rest >= NO_REST):
        return
    of_context = zip(names, has[: rows.context.shape[1]].tolist(), strict=False)
    shown = [repr(name) for name, has_rest in of_context if not has_rest]
    if not shown:
        raise PairscoreError(
            "in every comparison the items decide who is on the left, so that the effect of the"
            " side cannot be told from their abilities",
            "fit without " + Setting("side_effect"),
        )
    raise PairscoreError(
        f"{first_few(shown)} is a property of the items (the difference of a number that each item"
        " has), and cannot be told from their abilities; leave it out of the context, or fit with"
        " an item table that has it as a feature."
    )


def context_and_side(rows: SingleComparisons) -> np.ndarray:
    """Columns of the context, and one for the side that all judges share (M x e)."""
    return np.hstack([rows.context, np.ones((len(rows.left), int(rows.sides.shape[1] > 0)))])


def with_projection(rows: SingleComparisons) -> SingleComparisons:
    """Rows whose items have what context and side have of them as further features."""
    projection = project_on_items(rows, context_and_side(rows))
    used = projection.values[:, projection.used]
    X, d = np.hstack([rows.X, used]), len(rows.mean)
    mean = np.concatenate([rows.mean, used[rows.compared].mean(axis=0)])
    ridge = np.insert(np.insert(rows.ridge, [d] * used.shape[1], 0, 0), [d] * used.shape[1], 0, 1)
    return replace(rows, X=X, mean=mean, ridge=ridge)


def _ridge_of_scatter(rows: SingleComparisons) -> np.ndarray:
    """The ridge of features as one of their scatter (d x d), of which information is so much."""
    d = len(rows.mean)
    curvature = 4 * float(rows.rule.link.pdf(np.zeros(1))[0]) ** 2
    return np.asarray(rows.ridge[:d, :d] / curvature)


def net_of_features(
    rows: SingleComparisons, values: np.ndarray, pairs: Pairs, number: np.ndarray
) -> np.ndarray:
    """Residuals of ``values`` (N x e) on the features, items as often as they were compared, and
    with the ridge of the features.
    """
    exposure = np.sqrt(pairs.item_sums(number, number))[:, None]
    centred = rows.X - rows.mean
    unit = np.sqrt(np.mean(centred**2, axis=0))
    unit = np.where(unit > 0, unit, 1.0)
    design = np.column_stack([np.ones(len(rows.X)), centred / unit])
    held = np.sqrt(np.diag(_ridge_of_scatter(rows))) / unit
    ridge = np.insert(np.diag(held), 0, 0.0, axis=1)[held > 0]
    weighted = np.vstack([exposure * design, ridge])
    targets = np.vstack([exposure * values, np.zeros((len(ridge), values.shape[1]))])
    fitted = np.linalg.lstsq(weighted, targets, rcond=1e-10)[0]
    return np.where(exposure > 0, values - design @ fitted, 0.0)


def relation_to_items(
    rows: SingleComparisons, theta: np.ndarray, basis: Basis, values: np.ndarray
) -> np.ndarray:
    """z-scores (q) of further features of the items (N x q), at a fit theta without them.

    One step of Newton's method from there, over its item-robust error (a score test): effects of
    items that are not related to the context raise no alarm. What a comparison adds to the equation
    of a further feature is taken net of what theta can do about it, K = I_21 I_11^-1, so that
    there are q numbers a comparison.
    """
    s, pairs, d = rows.derivatives(theta), rows.pairs, len(rows.mean)
    across = values.T @ rows.item_borders(s)
    K = across @ basis.inverse
    graph = laplacian(pairs, rows.pair_information(s))
    inverse = np.linalg.pinv(values.T @ (graph @ values) - K @ across.T, hermitian=True)
    net = values - (rows.X - rows.mean) @ K[:, :d].T
    u = (net[rows.left] - net[rows.right]) * s.delta[:, None]
    u -= rows.effect_scores(s) @ K[:, d:].T
    u += np.outer(rows.amount / rows.n_comparisons, K @ (rows.ridge @ theta))
    exposures = pairs.exposures
    further = np.hstack([rows.X, values])
    center = moments(further, exposures)
    penalty = np.zeros((further.shape[1],) * 2)
    penalty[:d, :d] = rows.ridge[:d, :d] / rows.rule.link.pdf(np.zeros(1))[0]
    whitener = whitening_basis(center.scatter + penalty, center.sd).transform
    inflation = ItemTable(further).jackknife(whitener, exposures, center)
    meat = DyadicSums.of_rows(rows.left, rows.right, u, inflation).meat(inflation)
    variance = np.diag(floored_covariance(inverse @ meat @ inverse, inverse))
    return inverse @ u.sum(axis=0) / np.sqrt(np.where(variance > 0, variance, np.inf))


def context_of_items(
    rows: SingleComparisons, alone: RowsMaximum, names: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Of each column of the context and of the side: what of it belongs to the items.

    ``alone`` is a fit without effects of items. ``rest`` is the share that varies within items,
    ``rest_of_any`` what these comparisons leave of any column, ``p_value`` that of no relation
    (Bonferroni; NaN where it was not tested), ``more`` whether items with more of it win more often
    than their features say, and ``split`` whether item effects would set its part of the items
    apart.
    """
    projection = project_on_items(rows, context_and_side(rows))
    used, z = projection.used, np.full(len(projection.rest), np.nan)
    if used.any():
        z[used] = relation_to_items(rows, alone.theta, alone.basis, projection.values[:, used])
    p = np.minimum(2 * ndtr(-np.abs(z)) * max(used.sum(), 1), 1.0)
    pairs = rows.pairs
    groups, _ = connected_components(laplacian(pairs, pairs.number), directed=False)
    bound = np.count_nonzero(rows.compared) - (groups - np.count_nonzero(~rows.compared))
    of_any = max(1 - float(bound) / rows.n_comparisons, 0.0)
    labels = (*names[: rows.context.shape[1]], "left")[: len(z)]
    return {
        name: {
            "rest": float(projection.rest[column]),
            "rest_of_any": of_any,
            "p_value": float(p[column]),
            "more": bool(z[column] > 0),
            "split": bool(projection.used[column]),
        }
        for column, name in enumerate(labels)
    }


def in_words(name: str, found: dict[str, Any], kind: str, effects: bool) -> str:
    """What to say of a column and the items; empty where there is nothing to say.

    ``effects`` tells whether the fit has effects of items.
    """
    is_side, rest, of_any = kind == "side", found["rest"], found["rest_of_any"]
    what = "the side" if is_side else repr(name)
    if rest < NO_REST and of_any >= LEAST_REST:
        if is_side:
            return "items were always on the same side, so its effect may be partly theirs"
        return f"{what} is a property of the items: give it as a feature, so that scores include it"
    parts = []
    if rest < LEAST_REST and (effects or of_any >= LEAST_REST):
        few = "comparisons per item are too few to tell its effect from those of items"
        parts.append(
            f"{rest:.0%} of {what} varies within items, and {LEAST_REST:.0%} is needed to set the"
            f" items apart: {few if of_any < LEAST_REST else 'it nearly belongs to the items'}"
        )
    if found["p_value"] <= LEVEL:
        more = "more" if found["more"] else "less"
        who = "items that were left more often" if is_side else "items with more of it"
        then = "its effect mixes both; a fit with item effects separates them"
        if effects:
            then = "its effect is the one within items; without item effects it would mix both"
        parts.append(
            f"{what} is related to the items ({p_in_words(found['p_value'])}): {who} win {more}"
            f" often than their features say; {then}"
        )
    if effects and found.get("wider", 1.0) >= COSTLY:
        parts.append(
            f"{rest:.0%} of {what} varies within items, so that its error is {found['wider']:.1f}"
            " times as wide as if it were known to be unrelated to them"
        )
    return "; ".join(parts)


def projection_covariance(data: TableData, post: Posterior) -> np.ndarray:
    """What coefficients (d x d) are unsure of because the projected context is net of the features.

    As far as the features of the items at hand go along with it by chance, the coefficients have
    it: they carry the regression of pi p on X, whose error is that of weighted least squares, and
    whose ridge is theirs.
    """
    rows, d = post.rows, data.X.shape[1]
    of_context = (rows.X[:, d:] - rows.mean[d:]) @ post.theta[d : len(rows.mean)]
    exposures, centred = data.tally.exposures, data.X - data.item_moments.mean
    unit = np.where(data.item_moments.sd > 0, data.item_moments.sd, 1.0)
    penalty = data.weight_unit * _ridge_of_scatter(rows)[:d, :d]
    scatter = (data.item_moments.scatter + penalty) / np.outer(unit, unit)
    inverse = np.linalg.pinv(scatter, hermitian=True) / np.outer(unit, unit)
    weighted = (exposures * of_context)[:, None] * centred
    return inverse @ (weighted.T @ weighted) @ inverse
