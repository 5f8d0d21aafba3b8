"""The two sides of comparisons found by their entries, and what is asked where that is not enough.

Two columns whose entries are ids of the items are the sides, if the winner is then told by an id or
by the name of one of the two: then it does not matter which of them is left. Which column says who
won, and whether it says who lost, is never inferred: it is asked for.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from pairscore.data.column_roles import NAMED_ROLES, SIDES, VoteRoles, join_names
from pairscore.data.find_ids import MATCH, choose_ids
from pairscore.data.items import plain_id
from pairscore.data.tables import Columns, is_missing
from pairscore.data.vote_layouts import LAYOUTS, NEEDED, NO_SIDES, SAY_WHICH, likely_layout
from pairscore.data.votes import MOST_CODES, OUTCOME_OF_WORD
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError
from pairscore.files.columns_to_read import VoteChoice
from pairscore.messages import Piece, Setting, Text

Pair = tuple[str, str]


@dataclass(frozen=True)
class FoundSides:
    """Two columns of comparisons that have ids of items, and the column that has them there.

    ``id`` is None for row numbers. ``is_told`` says whether the winner is told by an id or by the
    name of one of the two, whichever of them is left.
    """

    id: str | None
    pair: Pair
    is_told: bool


class ColumnsUnclearError(PairscoreError):
    """Columns are asked for; ``likely`` are some by role, with which a file can be read on.

    Nothing is concluded from these but what else is wrong with the file.
    """

    def __init__(self, problem: Piece, remedy: Piece = "", likely: Mapping[str, str] | None = None):
        super().__init__(problem, remedy or ())
        self.likely = dict(likely or {})


Texts = dict[str, np.ndarray]  # columns of text by name, None for missing


def as_texts(table: Columns, rows: int | None = None) -> Texts:
    """The first rows of a table as text, with ids as :func:`plain_id` writes them."""
    first = slice(rows)
    return {
        name: np.array(
            [
                None if is_missing(v) or v == "" else plain_id(v)
                for v in table[name][first].tolist()
            ],
            dtype=object,
        )
        for name in table.columns
    }


Rows = Mapping[str, int]  # by the id of an item, its row


def id_columns(items: Texts, faults: int = 0) -> dict[str | None, Rows]:
    """The columns that could name items: filled, and each entry once; with the row of each.

    So many ``faults`` at most are entries that are missing, or occur again.
    """
    rows = {
        name: {entry: row for row, entry in enumerate(column.tolist()) if entry is not None}
        for name, column in items.items()
    }
    return {
        name: known
        for name, known in rows.items()
        if 1 < len(items[name]) <= len(known) + faults and known
    }


# -- sides by their entries ------------------------------------------------------------------------


def find_sides(
    ids: Mapping[str | None, Rows],
    votes: Texts,
    roles: VoteRoles,
    winner_codes: Mapping[Any, str] | None = None,
    expected: str | None = None,
) -> FoundSides | None:
    """Find the columns of the sides by what is in them.

    Parameters
    ----------
    ids : dict
        Columns that could name the items, with the row of each entry; None for row numbers.
    votes : dict
        The columns of the comparisons.
    roles : VoteRoles
        What is known of them by name.
    winner_codes : dict or None
        What entries of winners mean, as far as it was given.
    expected
        The column of ids, where no other has more of the entries.

    Returns
    -------
    FoundSides or None
        None where no column of ids goes with exactly two columns of the comparisons, or one of the
        sides is known by name: both are, or none is found.
    """
    if {*SIDES} & {*roles.columns}:
        return None
    codes = {plain_id(code): meaning for code, meaning in (winner_codes or {}).items()}
    pair_of: dict[str | None, Pair] = {}
    share_of: dict[str | None, float] = {}
    for id, known in ids.items():
        shares = {name: _share_in(column, known) for name, column in votes.items()}
        pair = _one_pair([name for name in shares if shares[name] >= MATCH], votes, roles, codes)
        if pair is None:
            continue
        share = shares[pair[0]] + shares[pair[1]]
        if id is not None or share == 2:
            pair_of[id], share_of[id] = pair, share
    if not pair_of:
        return None
    top = [id for id, share in share_of.items() if share == max(share_of.values())]
    id = expected if expected in top else _choose_id(top, pair_of, ids, votes)
    pair = pair_of[id]
    if {*pair} <= {*ids[id]}:
        raise PairscoreError(
            f"the comparisons have no line of column names: the first line has"
            f" {pair[0]!r} and {pair[1]!r}, which are ids of items; write names such as left,"
            " right, winner above it."
        )
    is_told = not roles.context and all(
        _is_told(votes[name], pair, votes, codes) for name in roles.told
    )
    return FoundSides(id, pair, is_told and bool(roles.told))


def _choose_id(
    top: list[str | None],
    pair_of: Mapping[str | None, Pair],
    ids: Mapping[str | None, Rows],
    votes: Texts,
) -> str | None:
    """The column of ids, of those that match two columns of the comparisons equally well."""
    columns = [id for id in top if id is not None]
    if not columns:
        return None
    sides = pair_of[columns[0]]
    entries = [{e for e in votes[side].tolist() if e is not None} for side in sides]
    rows = {
        id: [np.array([ids[id].get(e, -1) for e in sorted(of)], dtype=int) for of in entries]
        for id in pair_of
        if pair_of[id] == sides and (id is None or id in columns)
    }
    in_order = [id for id in columns if [*ids[id]] == [str(row) for row in range(len(ids[id]))]]
    return choose_ids(rows, in_order)


def _share_in(column: np.ndarray, known: Collection[str]) -> float:
    filled = [entry for entry in column.tolist() if entry is not None]
    return sum(entry in known for entry in filled) / len(filled) if filled else 0.0


def _one_pair(
    matching: list[str], votes: Texts, roles: VoteRoles, codes: Mapping[str, str]
) -> Pair | None:
    """The two columns that can be the sides, if only two can, of those that have ids of items."""
    free = [name for name in matching if name not in roles.read]
    pairs = [
        pair for pair in combinations(free, 2) if np.mean(votes[pair[0]] != votes[pair[1]]) > MATCH
    ]
    by_winner = [pair for pair in pairs if _go_with_winner(pair, votes, roles, codes)]
    if by_winner:
        return by_winner[0] if len(by_winner) == 1 else None
    pairs = [
        pair
        for pair in pairs
        if not any(_name_others(votes[name], pair, votes, codes) for name in roles.told)
    ]
    # of small numbers that are ids too, such as those of judges, there are only a few
    n_items = {name: len(set(votes[name].tolist())) for name in free}
    enough = max(n_items.values(), default=0) / 2
    pairs = [pair for pair in pairs if min(n_items[name] for name in pair) >= enough]
    return pairs[0] if len(pairs) == 1 else None


def _go_with_winner(pair: Pair, votes: Texts, roles: VoteRoles, codes: Mapping[str, str]) -> bool:
    """Whether the winners, or those in a third column that nobody named, are items of the pair."""
    if not roles.told:
        return bool(_winners_by_id(pair, votes, roles))
    kinds = [_kinds_of(votes[name], pair, votes, codes) for name in roles.told]
    return all(_are_of_pair(one) for one in kinds)


def _name_others(column: np.ndarray, pair: Pair, votes: Texts, codes: Mapping[str, str]) -> bool:
    """Whether winners are often items that are not of their row."""
    kinds = _kinds_of(column, pair, votes, codes)
    return kinds.count("item") > (1 - MATCH) * len(kinds)


def _is_told(column: np.ndarray, pair: Pair, votes: Texts, codes: Mapping[str, str]) -> bool:
    """Whether winners are told by ids of the pair or the names of its columns, and none by a side.

    Entries that are nothing of all this are refused when they are read.
    """
    kinds = _kinds_of(column, pair, votes, codes)
    return "told" in kinds and "side" not in kinds


def _winners_by_id(pair: Pair, votes: Texts, roles: VoteRoles) -> list[str]:
    """The columns without a role whose entries are one of the two items of their row."""
    others = [name for name in votes if name not in pair and name not in roles.read]
    return [name for name in others if _are_of_pair(_kinds_of(votes[name], pair, votes, {}))]


def _are_of_pair(kinds: list[str]) -> bool:
    """Whether most entries are told, and nearly all that name an item name one of their row."""
    told, wrong = kinds.count("told"), kinds.count("item")
    return 2 * told > len(kinds) and told >= MATCH * (told + wrong)


def _kinds_of(column: np.ndarray, pair: Pair, votes: Texts, codes: Mapping[str, str]) -> list[str]:
    """What each entry is that is no tie: ``told`` by an id of its row or the name of a column,
    another ``item``, a ``side`` by a word or code, or ``other``.
    """
    left, right = (votes[name].tolist() for name in pair)
    items, kinds = {*left, *right}, []
    for entry, *of_row in zip(column.tolist(), left, right, strict=True):
        meaning = codes.get(entry, "id")
        if entry is None or meaning in ("tie", "skip"):
            continue
        outcome = OUTCOME_OF_WORD.get(entry.casefold())
        if meaning != "id":
            kinds.append("side")
        elif entry in of_row or entry in pair:
            kinds.append("told")
        elif entry in items:
            kinds.append("item")
        elif outcome != 0:
            kinds.append("other" if outcome is None else "side")
    return kinds


# -- what is asked ---------------------------------------------------------------------------------


def unclear_columns(
    votes: Texts,
    roles: VoteRoles,
    found: FoundSides | None,
    ids: Mapping[str | None, Rows],
) -> PairscoreError:
    """The question where the columns do not say who was compared and who won."""
    if not any(len(column) for column in votes.values()):
        return PairscoreError("there are no comparisons: the file has names of columns and no row.")
    sides = known_sides(roles) or (found.pair if found else None)
    if roles.told and found:
        return _which_is_left(found.pair, roles)
    if sides:
        return _which_won(votes, roles, sides, is_found=known_sides(roles) is None)
    if ranked := _columns_of_rankings(votes, ids):
        return PairscoreError(
            f"{len(ranked)} columns have ids of items ({first_few(map(repr, ranked))}): rankings of"
            " more than two items cannot be read yet; write each as pairs, a row with winner and"
            " loser for every two items whose order it tells."
        )
    if why := _why_unclear(ids, votes):
        return PairscoreError(f"no two columns of the comparisons have ids of the items: {why}")
    return ColumnsUnclearError(
        f"the comparisons have columns {first_few(map(repr, votes), 8)}, and it is not clear"
        f" which two have ids of the items; they need {NEEDED}."
        + SAY_WHICH
        + likely_layout([*votes])
    )


def known_sides(roles: VoteRoles) -> Pair | None:
    """The columns of the sides that are known by name."""
    both = next((two for two in LAYOUTS if {*two} <= {*roles.columns}), None)
    return None if both is None else (roles.columns[both[0]], roles.columns[both[1]])


def _which_is_left(pair: Pair, roles: VoteRoles) -> PairscoreError:
    """The question where it matters which column is left, and none is called so."""
    first, second = pair
    why = f"{first_few(map(repr, roles.told), 3)} does not say who won by an id"
    if roles.context:
        why = f"the context {first_few(map(repr, roles.context), 3)} is of left minus right"
    return ColumnsUnclearError(
        f"{first!r} and {second!r} have the ids of the two items, and {why}, so it matters which of"
        " the two is left",
        "say "
        + Setting("left", first)
        + " "
        + Setting("right", second)
        + " if the first of them is left, else the other way round",
        {"left": first, "right": second},
    )


def _which_won(votes: Texts, roles: VoteRoles, pair: Pair, is_found: bool) -> PairscoreError:
    """The question where the two items are known, and no column is called winner or loser."""
    by_id = _winners_by_id(pair, votes, roles)
    others = [name for name in votes if name not in pair and name not in roles.read]
    levels = {name: {e for e in votes[name].tolist() if e is not None} for name in others}
    likely = by_id or [name for name in others if 1 < len(levels[name]) <= MOST_CODES]
    may_be_both = is_found and not by_id  # the winner and the loser
    remedies: list[Text] = []
    if len(likely) == 1:
        remedies.append(
            Setting("winner", likely[0])
            + " if the items that it names are to rank high (such as the most severe cases), or "
            + Setting("loser", likely[0])
            + " if they are to rank low"
        )
    if len(likely) > 1:
        remedies.append(
            "which column tells who is to rank high, such as "
            + Setting("winner", likely[0])
            + ", or who is to rank low, such as "
            + Setting("loser", likely[0])
        )
    if len(likely) > 1 and set.intersection(*(levels[name] for name in likely)):
        judges = Setting("winner", join_names(likely))
        remedies.append(judges + " if each of them has the winners by one judge")
    if may_be_both:
        both = Setting("winner", pair[0]) + " " + Setting("loser", pair[1])
        remedies.append(both + " if the first of these two won and the second lost")
    problem = "no column of the comparisons is called winner or loser"
    if may_be_both:
        problem += f"; {pair[0]!r} and {pair[1]!r} have the ids of the two items"
    if len(likely) > 1:
        problem += ", and" if may_be_both else ";"
        problem += f" who won may be in {first_few(map(repr, likely), 8)}"
    if not likely:
        add = "add a column winner with left, right, tie or the winner's id"
        remedies.append(Text.of(add))
    remedy = ("say " if likely or may_be_both else "") + remedies[0]
    for more in remedies[1:]:
        remedy = remedy + "; or " + more
    return ColumnsUnclearError(problem, remedy, {"winner": likely[0]} if len(likely) == 1 else {})


PLACE_OF_RANKING = r"(rank|place|position|option|choice|item|model)[ _-]?[0-9]+"


def _columns_of_rankings(votes: Texts, ids: Mapping[str | None, Rows]) -> list[str]:
    """Columns with the same items, if they are four or more: the places of rankings.

    Three may be two sides and who won.

    Without items, columns of text are taken whose entries are mostly those of other columns.
    """
    entries = {name: {e for e in cells.tolist() if e is not None} for name, cells in votes.items()}
    entries = {name: found for name, found in entries.items() if found}
    numbered = [name for name in entries if re.fullmatch(PLACE_OF_RANKING, name, re.IGNORECASE)]
    if len(numbered) > 2:
        return numbered
    known = {*max(ids.values(), key=len, default={})}
    ranked = []
    for name, found in entries.items():
        others = known or {e for other in entries if other != name for e in entries[other]}
        if known or not all(map(str.isdecimal, found)):
            ranked += [name] * (2 * len(found & others) > len(found))
    rows = zip(*(votes[name].tolist() for name in ranked), strict=True)
    are_more_than_pairs = any(len({*row} - {None}) > 2 for row in rows)
    return ranked if len(ranked) > 3 and are_more_than_pairs else []


def _why_unclear(ids: Mapping[str | None, Rows], votes: Texts) -> str:
    """What keeps two columns from being ids of items: zeros in front, case, or other entries."""
    entries = [{e for e in column.tolist() if e is not None} for column in votes.values()]
    forms = {"zeros in front": lambda e: e.lstrip("0"), "upper and lower case": str.casefold}
    named = {id: {*known} for id, known in ids.items() if id is not None and known}
    for what, form in forms.items():
        for id, known in named.items():
            plain = {form(one): one for one in known}
            for of in entries:
                other = sorted(e for e in of - known if form(e) in plain)
                if other and len(other) + len(of & known) >= MATCH * len(of):
                    one, two = other[0], plain[form(other[0])]
                    return (
                        f"those of {id!r} differ from the comparisons in {what} ({two!r} and"
                        f" {one!r}); write them alike."
                    )
    if named and not any(of & {*known} for of in entries for known in ids.values()):
        return (
            "no entry occurs in a column of the items that could have ids"
            f" ({first_few(map(repr, named))}); give the items that were compared."
        )
    return ""


def point_out_forms(votes: Columns, ids: np.ndarray | None, say: Callable[[Piece], None]) -> None:
    """Say that ids were matched which comparisons and items write with other forms of signs."""
    known, names = [] if ids is None else [str(id) for id in ids.tolist()], sum(LAYOUTS, NO_SIDES)
    sides = [votes.get_column(side).values.tolist() for side in {*names} if side in votes]
    others = set().union(*sides) - {*known}
    if all("".join(map(str, names)).isascii() for names in (known, others)):
        return
    of_items = {plain_id(id): id for id in known}
    pairs = {str(n): of_items.get(plain_id(n), "") for n in others}
    if other := [(a, b) for a, b in pairs.items() if b and not (a + b).isascii()]:
        say(
            f"{plural(len(other), 'id')} of the comparisons matched with items that are written"
            f" with other forms of the same signs ({other[0][0]!r} is {other[0][1]!r})."
        )


def with_sides(
    votes: VoteChoice, found: FoundSides, shown: str, say: Callable[[Piece], None]
) -> VoteChoice:
    """The same columns with the two that were found as sides, which is said."""
    left, right = found.pair
    say(f"{shown!r}: left is {left!r}, right is {right!r}, by what is in the columns.")
    named = {role: name for role, name in votes.roles.names.items() if role in NAMED_ROLES}
    columns = replace(votes.columns, named={**named, "left": left, "right": right})
    return VoteChoice(columns)
