"""Whether abilities have a maximum: by the graph of wins, and beside a tie parameter."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pairscore.core.pair_graph import sum_sides
from pairscore.display import first_few
from pairscore.errors import (
    PairscoreError,
    SeparationWarning,
    UnbeatenItemsWarning,
)
from pairscore.estimators.estimate import Note
from pairscore.estimators.ridge import SEPARATION_L2
from pairscore.estimators.separation import UNBEATEN
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from pairscore.messages import Piece, Setting

ESTIMATE_HOW_FAR = "use " + Setting("item_effects", True) + ", which estimates how far items differ"


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
        f" of {SEPARATION_L2:g} holds their abilities; {whole}"
    )
    remedies: list[Piece] = ["compare these items with more that are close", ESTIMATE_HOW_FAR]
    return settings, [UnbeatenItemsWarning(text, remedies)]


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
        " be larger"
    )
    held = replace(settings, l2=SEPARATION_L2 * data.weight_unit)
    return held, [SeparationWarning(text, ["use " + Setting("ties", "half"), ESTIMATE_HOW_FAR])]


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
            f"{fall}, so there is no common scale",
            [
                "fit each group by itself",
                "use "
                + Setting("item_effects", True)
                + ", which treats all items as members of one population",
            ],
        )
    l2 = settings.ridge or SEPARATION_L2 * data.weight_unit
    text = (
        f"{fall}: abilities are centred in every group, and only the ridge of {l2:.4g} says how"
        " items of different groups compare"
    )
    care = "read ranks and differences across groups with care"
    return replace(settings, l2=l2), [SeparationWarning(text, ["fit each group by itself", care])]
