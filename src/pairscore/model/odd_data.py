"""Odd data: one side that always wins, names that differ only in case, items without a loss.

A fit goes on with such data, and says so.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.core.amounts import times_met
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.display import first_few, plural
from pairscore.errors import AlikeNamesWarning, OneSidedWarning
from pairscore.messages import Setting

if TYPE_CHECKING:
    from pairscore.estimators.estimate import Note

FEWEST_DECIDED = 20  # comparisons, below which one side may win all by chance
ONE_SIDED = 0.99  # share of decided comparisons, from which on a side wins them all but for slips
FEWEST_OF_ITEM = 5  # comparisons of an item, below which it may win or lose all by chance
KEPT_NAMES = 3  # of such items
LONGEST_TABLE = 200_000  # items whose ids are looked at; beyond, it would be felt


def one_sided_notes(left_won: float, right_won: float) -> "list[Note]":
    """What is said where one side won all decided comparisons, or all but a hundredth."""
    decided = left_won + right_won
    if decided < FEWEST_DECIDED or max(left_won, right_won) < ONE_SIDED * decided:
        return []
    side, won = ("left", left_won) if left_won > right_won else ("right", right_won)
    all_of_them = "them all" if won == decided else "nearly all"
    text = (
        f"the {side} item won {won:,.10g} of {decided:,.10g} decided comparisons: it looks"
        " like a table of winners and losers"
    )
    name_columns = "name its two columns with " + Setting("winner") + " and " + Setting("loser")
    leave = f", and if the {side} item did win {all_of_them}, leave it as it is"
    return [OneSidedWarning(text, "if it is one, " + name_columns + leave)]


def odd_comparisons(data: Comparisons) -> "list[Note]":
    """What is odd about comparisons in memory, and about the names of their items."""
    notes = alike_notes(data.items)
    if not data.sides_known:  # a coin wrote the winners left or right
        return notes
    number = times_met(data.left, data.right, data.amount, data.count)
    left_won, right_won = (float(number[data.outcome == sign].sum()) for sign in (1, -1))
    return notes + one_sided_notes(left_won, right_won)


def alike_notes(items: Items) -> "list[Note]":
    """What is said of features, and of ids, that differ only in case."""
    names: dict[str, tuple[Any, ...]] = {"feature": items.feature_names, "id": ()}
    if items.ids is not None and items.ids.dtype.kind in "OU" and len(items) <= LONGEST_TABLE:
        names["id"] = tuple(items.alike_ids)
    notes: list[Note] = []
    for what, known in names.items():
        groups = alike_but_for_case(known)
        if groups:
            shown = first_few(" and ".join(map(repr, group)) for group in groups)
            are = plural(len(groups), f"group of {what}s" if len(groups) == 1 else "group")
            are = are if len(groups) == 1 else f"{are} of {what}s"
            differ = "differs" if len(groups) == 1 else "differ"
            text = (
                f"{are} {differ} only in case ({shown}), and each {what} counts by itself; if they"
                " are the same, write them alike."
            )
            notes.append(AlikeNamesWarning(text))
    return notes


def alike_but_for_case(names: Any) -> list[list[str]]:
    """Groups of names that differ only in case, in the order in which they come."""
    by_fold: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str):
            by_fold.setdefault(name.casefold(), []).append(name)
    return [group for group in by_fold.values() if len(group) > 1]


def extreme_items(items: Items, won: np.ndarray, lost: np.ndarray) -> dict[str, dict[str, Any]]:
    """Items that won, and that lost, every comparison: how many, and the first few names.

    ``won`` and ``lost`` (N) have how often each item did, a tie being half of both.
    """
    names = np.arange(len(items)) if items.ids is None else items.ids
    often = won + lost >= FEWEST_OF_ITEM
    found = {"won": often & (lost == 0), "lost": often & (won == 0)}
    return {
        how: {
            "number": int(np.count_nonzero(mask)),
            "names": [str(name) for name in names[np.flatnonzero(mask)[:KEPT_NAMES]].tolist()],
        }
        for how, mask in found.items()
        if mask.any()
    }


def extreme_items_of(data: Comparisons) -> dict[str, dict[str, Any]]:
    """The same, of comparisons in memory."""
    number = times_met(data.left, data.right, data.amount, data.count)
    n = len(data.items)
    share = 0.5 + 0.5 * data.outcome
    won = np.bincount(data.left, number * share, n) + np.bincount(
        data.right, number * (1 - share), n
    )
    all_of = np.bincount(data.left, number, n) + np.bincount(data.right, number, n)
    return extreme_items(data.items, won, all_of - won)
