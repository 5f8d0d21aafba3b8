"""What a fit says of odd data, and of what the comparisons do not determine.

One side that always wins, names that differ only in case, items that won or lost everything;
features and sides whose effects are open.
"""

from typing import Any

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.display import first_few, plural
from pairscore.errors import AlikeNamesWarning, CollinearFeaturesWarning, OneSidedWarning
from pairscore.estimators.results import Estimate, Fit, Note
from pairscore.model.categories import shown_coefficients

FEWEST_DECIDED = 20  # comparisons, below which one side may win all by chance
ONE_SIDED = 0.99  # share of decided comparisons, from which on a side wins them all but for slips
FEWEST_OF_ITEM = 5  # comparisons of an item, below which it may win or lose all by chance
KEPT_NAMES = 3  # of such items
LONGEST_TABLE = 200_000  # items whose ids are looked at; beyond, it would be felt


def feature_notes(fit: Fit, result: Estimate) -> list[Note]:
    """Which features the comparisons say nothing of, and what is known nevertheless."""
    is_open = fit.open.undetermined
    shown = shown_coefficients(fit)
    if shown.terms:  # the constant that levels have in common is open by definition, and not shown
        is_open = is_open & (shown.undetermined | shown.in_several_sets)
    if result.determined.side_basis is not None:  # has a note of its own
        is_open = is_open & ~result.determined.side_basis.undetermined[: fit.n_features]
    apart = is_open & (fit.features.sd > 0)
    if fit.open.n_groups == 1:
        apart = np.zeros_like(apart)
    notes: list[Note] = []
    constant = _names(fit, is_open & ~apart)
    if constant:
        text = (
            f"{plural(len(constant), 'feature')} {'is' if len(constant) == 1 else 'are'} constant"
            " or a combination of others among the compared items:"
            f" {first_few(map(repr, constant), 10)};"
            " the solution of smallest norm is taken and their intervals are unknown."
        )
        notes.append((CollinearFeaturesWarning, text))
    names = _names(fit, apart)
    if names:
        alone = fit.open.directions.shape[1] == np.count_nonzero(fit.open.undetermined)
        effect = "its effect is" if len(names) == 1 or not alone else "their effects are"
        text = (
            f"no two items that met differ in {'' if alone else 'some combination of '}"
            f"{first_few(map(repr, names), 10)}, so {effect} unknown: scores, intervals and ranks"
            f" hold within each of the {fit.open.n_groups:,} groups of items that are alike in"
            f" {'it' if effect.startswith('its') else 'them'}, not across groups."
        )
        notes.append((CollinearFeaturesWarning, text))
    return notes


def side_notes(fit: Fit, result: Estimate) -> list[Note]:
    """Whether comparisons tell the side effect from the features."""
    side_basis = result.determined.side_basis
    if side_basis is None or not side_basis.undetermined[-1]:
        return []
    names = _names(fit, side_basis.undetermined[:-1])
    amount = (
        f"the same amount of {'' if len(names) == 1 else 'a combination of '}"
        f"{first_few(map(repr, names), 10)}"
    )
    text = (
        "the side effect is not determined, because in every comparison left is ahead of right by"
        f" {amount}; one of many equal fits is taken and the intervals are unknown: swap some"
        " sides, or fit without side_effect."
    )
    return [(CollinearFeaturesWarning, text)]


def _names(fit: Fit, mask: np.ndarray) -> list[str]:
    return [fit.names[column] for column in np.flatnonzero(mask)]


def one_sided_notes(left_won: float, right_won: float) -> list[Note]:
    """What is said where one side won all decided comparisons, or all but a hundredth."""
    decided = left_won + right_won
    if decided < FEWEST_DECIDED or max(left_won, right_won) < ONE_SIDED * decided:
        return []
    side, won = ("left", left_won) if left_won > right_won else ("right", right_won)
    all_of_them = "them all" if won == decided else "nearly all"
    text = (
        f"the {side} item won {won:,.10g} of {decided:,.10g} decided comparisons: it looks"
        " like a table of winners and losers; if it is one, name its two columns with winner= and"
        f" loser=, and if the {side} item did win {all_of_them}, leave it as it is."
    )
    return [(OneSidedWarning, text)]


def odd_comparisons(data: Comparisons) -> list[Note]:
    """What is odd about comparisons in memory, and about the names of their items."""
    notes = alike_notes(data.items)
    if not data.sides_known:  # a coin wrote the winners left or right
        return notes
    number = np.ones(len(data)) if data.count is None else data.count
    number = np.where((data.amount > 0) & (data.left != data.right), number, 0.0)
    left_won, right_won = (float(number[data.outcome == sign].sum()) for sign in (1, -1))
    return notes + one_sided_notes(left_won, right_won)


def alike_notes(items: Items) -> list[Note]:
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
            notes.append((AlikeNamesWarning, text))
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
    often = won + lost >= FEWEST_OF_ITEM
    found = {"won": often & (lost == 0), "lost": often & (won == 0)}
    return {
        how: {
            "number": int(np.count_nonzero(mask)),
            "names": [str(name) for name in names_of(items, np.flatnonzero(mask)[:KEPT_NAMES])],
        }
        for how, mask in found.items()
        if mask.any()
    }


def names_of(items: Items, rows: np.ndarray) -> list[Any]:
    """Ids of some items, or their row numbers, without a list of all."""
    return (rows if items.ids is None else items.ids[rows]).tolist()


def extreme_items_of(data: Comparisons) -> dict[str, dict[str, Any]]:
    """The same, of comparisons in memory."""
    number = np.ones(len(data)) if data.count is None else data.count
    number = np.where((data.amount > 0) & (data.left != data.right), number, 0.0)
    n = len(data.items)
    share = 0.5 + 0.5 * data.outcome
    won = np.bincount(data.left, number * share, n) + np.bincount(
        data.right, number * (1 - share), n
    )
    all_of = np.bincount(data.left, number, n) + np.bincount(data.right, number, n)
    return extreme_items(data.items, won, all_of - won)
