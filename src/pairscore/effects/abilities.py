"""Abilities: a parameter for every item, without features.

When they have a maximum, by the graph of wins; their information beside effects of comparisons; and
errors of their differences.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pairscore.core.linear_systems import conjugate_gradients
from pairscore.core.pair_graph import Pairs, sum_sides
from pairscore.core.ties import TieRule
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import read_names
from pairscore.display import first_few
from pairscore.effects.item_covariance import EXACT_ITEMS, Covariance
from pairscore.effects.predictor import effect_columns
from pairscore.effects.rows import RowDerivatives, RowsInformation, information_of_design
from pairscore.effects.shared_variance import own_variance, shared_variance
from pairscore.errors import (
    PairscoreError,
    PairscoreWarning,
    SeparationWarning,
    UnbeatenItemsWarning,
)
from pairscore.estimators.fit_data import TableData
from pairscore.estimators.penalty import SEPARATION_L2
from pairscore.estimators.results import Fit, Note
from pairscore.estimators.separation import UNBEATEN
from pairscore.estimators.settings import Settings

# Steps of quasi-variances shrink by a constant factor, to a relative one that shows in no digit.
QUASI_STEPS, QUASI_CLOSE = 50, 1e-9
MOST_ABILITIES = 3000  # of which an inverse is formed: a second, and 72 MB
NEEDED = 1e-9  # share of the information of an effect that others leave, if it is determined


def classical_abilities(settings: Settings) -> tuple[Settings, list[Note]]:
    """Settings of a fit with a parameter for every item, whose intervals are the classical ones."""
    if settings.inference in (None, "model"):
        return settings, []
    classical = replace(settings, inference="model")
    if settings.inference in ("auto", "items"):
        return classical, []
    text = (
        "intervals of abilities do not allow for judges who differ; they are the classical ones"
        " (inference='model')."
    )
    return classical, [(PairscoreWarning, text)]


def bound_abilities(
    data: TableData, settings: Settings, hold: bool = False
) -> tuple[Settings, list[Note]]:
    """Settings under which the abilities of items without features have a maximum.

    They have one if every item can be reached from every other along wins, ties counting both ways
    (Ford 1957). Items of groups that never met have no common scale: they are refused without a
    ridge, or with ``hold`` get one. Where wins go one way only, some abilities have open intervals
    (:mod:`pairscore.effects.open_abilities`), and a note says so.
    """
    _, group = connected_components(_graph_of_wins(data), directed=True, connection="weak")
    compared = data.pairs.exposures > 0
    groups = np.unique(group[compared])
    names = np.array(data.comparisons.items.names, dtype=object)
    if len(groups) > 1:
        shown = first_few(f"that of {names[np.argmax(group == one)]!r}" for one in groups)
        return _hold_groups(data, settings, hold, f"{len(groups)} groups", shown)
    if settings.ridge > 0:
        return settings, []
    component = win_components(data)
    if component.max() <= 0:
        return _bound_beside_ties(data, settings)
    held = component > 0
    main = int(np.count_nonzero(component == 0))
    whole = (
        f"scores are relative to the average of the {main} others"
        if main
        else "there are no others: wins lead back to no item"
    )
    text = (
        f"{UNBEATEN} ({first_few(map(repr, names[held]))}), so that the comparisons do not say how"
        f" far above or below these are: their intervals are open at one end or both, and a ridge"
        f" of {SEPARATION_L2:g} holds their abilities; {whole}. Compare these items with more that"
        " are close, or use item_effects=True, which estimates how far items differ."
    )
    return settings, [(UnbeatenItemsWarning, text)]


def win_components(data: TableData) -> np.ndarray:
    """The strongly connected component of each item (N) in the graph of wins; -1 if not compared.

    0 is the main one, with most comparisons within it; there is none where no comparison is within
    a component.
    """
    pairs, n = data.pairs, len(data.X)
    wins, number = _graph_of_wins(data), sum_sides(pairs.win) + sum_sides(pairs.lose)
    _, found = connected_components(wins, directed=True, connection="strong")
    inside = found[pairs.low] == found[pairs.high]
    compared = np.flatnonzero(pairs.exposures > 0)
    # in the order of their first items, which does not depend on the search
    used, first = np.unique(found[compared], return_index=True)
    order = used[np.argsort(first)]
    if inside.any():
        size = np.bincount(found[pairs.low[inside]], number[inside], minlength=n)
        main = order[np.argmax(size[order])]
        order = np.append(main, order[order != main])
    place = np.full(n, -1)
    place[order] = np.arange(len(order)) + (not inside.any())
    component = np.full(n, -1)
    component[compared] = place[found[compared]]
    return component


def _graph_of_wins(data: TableData) -> sparse.csr_array:
    """An edge from each winner to each loser (N x N), and both ways for a tie."""
    pairs, n = data.pairs, len(data.X)
    won, lost = sum_sides(pairs.win) > 0, sum_sides(pairs.lose) > 0
    low, high = pairs.low, pairs.high
    ends = np.concatenate([low[won], high[lost]]), np.concatenate([high[won], low[lost]])
    return sparse.csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n))


def grow_with_ties(data: TableData, settings: Settings) -> bool:
    """Whether abilities and a tie parameter, without a ridge or with that of separation, have no
    finite size together.

    They grow for ever where some scores are at least one apart for all that won and lost, and at
    most one for all that tied: with t the threshold, or Davidson's parameter and scores twice as
    far apart, no outcome becomes less likely. Effects of comparisons are left out of it.
    """
    votes, has_parameter = data.comparisons, settings.ties in ("davidson", "rao-kupper")
    if not has_parameter or settings.ridge > SEPARATION_L2 * data.weight_unit:
        return False
    used = data.counted
    left, right, outcome = votes.left[used], votes.right[used], votes.outcome[used]
    tied, won = outcome == 0, outcome > 0
    if not tied.any() or tied.all():
        return False
    winner, loser = np.where(won, left, right)[~tied], np.where(won, right, left)[~tied]
    return one_apart(len(data.X), winner, loser, left[tied], right[tied])


def _bound_beside_ties(data: TableData, settings: Settings) -> tuple[Settings, list[Note]]:
    """Settings under which abilities have a maximum beside a tie parameter, as they do without."""
    if not grow_with_ties(data, settings):
        return settings, []
    text = (
        "the comparisons do not say how large abilities and the tie parameter are: for some order"
        " of the items, with wins far apart and ties close together, none becomes less likely"
        f" however large both are; a ridge of {SEPARATION_L2:g} holds them. Intervals are those of"
        " abilities that it shrinks, and that of the tie parameter is unknown: true differences may"
        " be larger. Use ties='half', or item_effects=True, which estimates how far items differ."
    )
    return replace(settings, l2=SEPARATION_L2 * data.weight_unit), [(SeparationWarning, text)]


def one_apart(
    n: int, winner: np.ndarray, loser: np.ndarray, left: np.ndarray, right: np.ndarray
) -> bool:
    """Whether some scores of n items are one or more above those of ``loser`` for every ``winner``,
    and no more than one apart for every ``left`` and ``right`` that tied.

    From zero, scores are lowered as far as each of it asks for (Bellman and Ford): after as many
    rounds as there are items nothing is left to lower, or there will always be something.
    """
    wins = sparse.csr_array((np.ones(len(winner)), (winner, loser)), shape=(n, n))
    if connected_components(wins, directed=True, connection="strong")[0] < n:
        return False  # wins that go round in a circle
    above, below = np.concatenate([[winner, loser], [left, right], [right, left]], axis=1)
    most = np.where(np.arange(len(above)) < len(winner), -1.0, 1.0)
    score = np.zeros(n)
    for _ in range(n + 1):
        lower = score.copy()
        np.minimum.at(lower, below, score[above] + most)
        if np.array_equal(lower, score):
            return True
        score = lower
    return False


def _hold_groups(
    data: TableData, settings: Settings, hold: bool, groups: str, shown: str
) -> tuple[Settings, list[Note]]:
    """Settings for groups of items that never met: only a ridge says how they compare."""
    fall = f"the items fall into {groups} that were never compared with each other ({shown})"
    if settings.ridge == 0 and not hold:
        raise PairscoreError(
            f"{fall}, so there is no common scale; fit each group by itself, or use"
            " item_effects=True, which takes all items for members of one population."
        )
    l2 = settings.ridge or SEPARATION_L2 * data.weight_unit
    text = (
        f"{fall}: abilities are centred in every group, and only the ridge (l2={l2:.4g}) says how"
        " items of different groups compare; fit each group by itself, or read ranks and"
        " differences across groups with care."
    )
    return replace(settings, l2=l2), [(SeparationWarning, text)]


class AbilityRows:
    """Comparisons of a fit without features: n abilities, then k effects of comparisons.

    The score of a comparison is D theta, D (M x (n + k)) with 1 at left, -1 at right and the
    columns of the effects; a tie parameter is the last of the k and has no column. ``inverse`` is
    that of the information, to which c 11' is added for the abilities, of which only differences
    are known: that does not change how these vary, and centres abilities. ``eta`` (M) are the
    scores of the comparisons by the fit.
    """

    def __init__(self, fit: Fit, data: Comparisons, eta: np.ndarray):
        self.items = np.flatnonzero(data.compared)
        self.n = len(self.items)
        if self.n > MOST_ABILITIES:
            raise PairscoreError(
                f"abilities of {self.n} items need the inverse of a matrix of that size here, which"
                f" is formed up to {MOST_ABILITIES} items; use residuals(model, kind='pearson')."
            )
        row_of_item = np.cumsum(data.compared) - 1
        self.left, self.right = row_of_item[data.left], row_of_item[data.right]
        rule = TieRule(fit.ties, fit.link)
        self.has_tie_parameter = rule.has_parameter
        columns = effect_columns(data, fit.effects, fit.side_effect, np.ones(len(data)))
        self.columns = columns[:, :-1] if self.has_tie_parameter else columns
        ones, rows = np.ones(len(data)), np.arange(len(data))
        at = np.tile(rows, 2), np.append(self.left, self.right)
        B = sparse.csr_array((np.append(ones, -ones), at), shape=(len(data), self.n))
        self.D = sparse.csr_array(sparse.hstack([B, sparse.csr_array(self.columns)]))
        s = rule.derivatives(eta, data.outcome.astype(float), fit.tie_parameter or 0.0)
        amount = np.where(data.left == data.right, 0.0, data.amount)
        parts = {name: amount * part for name, part in vars(s).items()}
        self.s = RowDerivatives(**parts, delta=parts["eta"])
        H, n = self.of(rows).information.toarray(), self.n
        c, l2 = float(np.trace(H[:n, :n])) / n**2, fit.settings.ridge
        H[:n, :n] += l2 * np.eye(n) if l2 else c
        self.inverse = _inverse_by_parts(H, n)

    def of(self, rows: np.ndarray) -> RowsInformation:
        """What some comparisons add to the score (n + k) and the information of theta, sparse."""
        return information_of_design(self.D[rows], self.s.part(rows), self.has_tie_parameter)

    def squares(self, in_eta: np.ndarray, in_t: np.ndarray) -> np.ndarray:
        """J H^-1 J' of each comparison (M), J = dmu/deta D + dmu/dt."""
        V, n, a, b = self.inverse, self.n, self.left, self.right
        q = in_eta[:, None] * self.columns
        if self.has_tie_parameter:
            q = np.column_stack([q, in_t])
        of_items = in_eta**2 * (V[a, a] + V[b, b] - 2 * V[a, b])
        across = 2 * in_eta * np.einsum("ij,ij->i", q, V[a, n:] - V[b, n:])
        return of_items + across + np.einsum("ij,ij->i", q @ V[n:, n:], q)


def _inverse_by_parts(H: np.ndarray, n: int) -> np.ndarray:
    """An inverse of H, of whose last k directions some may not be determined: these stay put."""
    V = np.linalg.inv(H[:n, :n])
    C, unit = V @ H[:n, n:], np.sqrt(np.diag(H)[n:])
    size, axes = np.linalg.eigh((H[n:, n:] - H[n:, :n] @ C) / np.outer(unit, unit))
    root = axes * np.where(size > NEEDED, 1 / np.sqrt(np.maximum(size, NEEDED)), 0.0)
    along = np.vstack([-C, np.eye(len(H) - n)]) @ (root / unit[:, None])
    inverse = along @ along.T
    inverse[:n, :n] += V
    return inverse


def named_abilities(fit: Fit, names: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Abilities (k) of the items of these ids, and their covariance (k x k); None if none is one.

    Of a fit without features, in which an item goes before an effect of the same name.
    """
    if fit.item_effects is None or not names:
        return None
    ids = read_names(names).ids
    known = fit.item_effects.known(ids, np.empty(0))
    if not np.any(known.row >= 0):
        return None
    if np.any(known.row < 0):
        other = names[int(np.argmin(known.row))]
        raise PairscoreError(
            f"the fit has no item {other!r}, and has others that were named; ask for items alone."
        )
    first, second = (one.ravel() for one in np.meshgrid(known.row, known.row))
    shared = shared_variance(fit.item_effects, first, second)
    variance = fit.item_effects.std_error[first] ** 2
    if fit.item_effects.component is not None:
        variance = own_variance(fit.item_effects, first)
    own = np.where(first == second, variance, shared)
    return known.effect, own.reshape(len(names), len(names))


def centred_variances(covariance: Covariance, pairs: Pairs, sigma2: float) -> np.ndarray:
    """Variances (N) of effects less the mean of all that were compared.

    Of n compared items it is V - sigma^2 / n, because V 1 = sigma^2 1: V 1 of a group of items is
    what a ridge knows of their mean, and no comparison does. Each group of s items is centred
    first, and sigma^2 (1 / s - 1 / n) is added, so that a ridge may be small.
    """
    variance = covariance.centred_diagonal()
    if np.isinf(sigma2):
        return variance
    size = np.bincount(pairs.component)[pairs.component].astype(float)
    n = max(int(np.count_nonzero(size > 1)), 1)
    return variance + sigma2 * (1 / size - 1 / n)


def quasi_variances(
    covariance: Covariance, along: np.ndarray, variance: np.ndarray, is_free: bool
) -> np.ndarray | None:
    """q (N) with q_i + q_j about the variance of the difference of any two abilities.

    Least squares of log(q_i + q_j) - log v_ij over all pairs (Firth and de Menezes 2004), by the
    method of Gauss and Newton; ``along`` (N x k) is what effects of comparisons add to V. In groups
    of more than EXACT_ITEMS items they are the ``variance`` of abilities (N), which does as well
    there. Without a law (``is_free``) they hold within a group, and one item alone has none; with
    one there are none unless all items are in one group.
    """
    q, blocks = variance.copy(), list(covariance.blocks())
    if not is_free and blocks and len(blocks[0][0]) < len(q):
        return None
    for items, block in blocks:
        own = block + along[items] @ along[items].T
        if len(items) == 1:
            q[items] = np.nan
        elif len(items) == 2:
            q[items] = (own[0, 0] + own[1, 1] - 2 * own[0, 1]) / 2
        elif len(items) <= EXACT_ITEMS:
            q[items] = _quasi_variances(own)
    return q


def _quasi_variances(V: np.ndarray) -> np.ndarray:
    """Those of one block."""
    own = np.diag(V)
    wanted = own[:, None] + own - 2 * V
    np.fill_diagonal(wanted, 1.0)
    logs, q = np.log(wanted), own.copy()
    for _ in range(QUASI_STEPS):
        slope = 1 / (q[:, None] + q)
        off = -np.log(slope) - logs
        np.fill_diagonal(slope, 0.0)
        np.fill_diagonal(off, 0.0)
        squares = slope**2
        information = squares + np.diag(squares.sum(axis=1))
        wrong = np.sum(slope * off, axis=1)[:, None]
        step = conjugate_gradients(information, wrong, close=QUASI_CLOSE)[0][:, 0]
        step /= max(1.0, float(np.max(2 * step / q)))  # q stays positive
        q = q - step
        if np.max(np.abs(step) / q) < QUASI_CLOSE:
            break
    return q
