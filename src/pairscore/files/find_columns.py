"""Columns of items and comparisons found by what is in them, where their names do not tell.

Two columns of the comparisons whose entries are ids of the items are the sides; a third one whose
entries are one of the two, or words and codes for a side, is the winner or the loser, as its name
says. Where the name does not say it, the user is asked.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from pairscore.data.find_ids import MATCH, choose_ids, has_word
from pairscore.data.items import plain_id
from pairscore.data.tables import Columns, is_missing
from pairscore.data.votes import (
    LAYOUTS,
    NO_SIDES,
    SIDE_WORDS,
    WINNER_WORDS,
    likely_codes,
    likely_layout,
)
from pairscore.display import first_few, plural
from pairscore.errors import PairscoreError
from pairscore.files.column_words import AMOUNTS, are_twins, role_of, told_by
from pairscore.messages import Piece, Setting, Text, either, join

FEW_LEVELS = 6
ORDER = ("left", "right", "winner", "loser", "judge", "weight", "count")


@dataclass(frozen=True)
class Found:
    """Which columns two tables have for the items and who was compared.

    ``id`` is the column of the items that the comparisons refer to; ``named`` has columns of the
    comparisons by role, ``judges`` those with the winners by one judge each; ``passed`` could be
    winners too, and are not read; ``unclear`` tell who won or who lost, and not which of the two.
    """

    id: str | None
    named: dict[str, str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether it is known who was compared and who won."""
        return tell_who_won({*self.named, *(["winner"] if self.judges else [])})

    def in_words(self, default: Mapping[str, str]) -> str:
        """The columns that have other names than expected."""
        named = {role: self.named[role] for role in ORDER if role in self.named}
        others = {role: name for role, name in named.items() if default.get(role, role) != name}
        words = [f"{role} is {name!r}" for role, name in others.items()]
        judges = [f"each judge has a column ({first_few(map(repr, self.judges))})"]
        passed = [f"{first_few(map(repr, self.passed))} could also be the winner; it is not read"]
        return ", ".join(words + judges * bool(self.judges) + passed * bool(words and self.passed))


def tell_who_won(roles: Collection[str]) -> bool:
    """Whether columns of these roles say who was compared, and who won or who lost."""
    known = {*roles}
    return any({*sides} <= known for sides in (*LAYOUTS, NO_SIDES)) and bool(known & {*NO_SIDES})


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


def find_columns(
    ids: Mapping[str | None, Rows],
    votes: Texts,
    fixed: Mapping[str, str],
    codes: Collection[str],
    expected: str | None = None,
) -> Found | None:
    """Find the columns of comparisons by what is in them.

    Parameters
    ----------
    ids : dict
        Columns that could name the items, with the row of each entry; None for row numbers.
    votes : dict
        The columns of the comparisons.
    fixed : dict
        Roles whose columns are known.
    codes
        Entries of winners that are known to be codes.
    expected
        The column of ids, where no other has more of the entries.

    Returns
    -------
    Found or None
        None where no column of ids goes with two columns of the comparisons.
    """
    sides_of: dict[str | None, tuple[tuple[str, str], str, str]] = {}
    share_of: dict[str | None, float] = {}
    for id, known in ids.items():
        shares = {name: _share_in(column, known) for name, column in votes.items()}
        matching = [name for name, share in shares.items() if share >= MATCH]
        sides = _find_sides(matching, votes, fixed)
        share = 0.0 if sides is None else shares[sides[1]] + shares[sides[2]]
        if sides is not None and (id is not None or share == 2):
            sides_of[id], share_of[id] = sides, share
    if not sides_of:
        return None
    top = [id for id, share in share_of.items() if share == max(share_of.values())]
    id = expected if expected in top else _choose_id(top, sides_of, ids, votes)
    roles, *names = sides_of[id]
    if {*names} <= {*ids[id]} and not {*names} & {*fixed.values()}:
        raise PairscoreError(
            f"the comparisons have no line of column names: the first line has"
            f" {names[0]!r} and {names[1]!r}, which are ids of items; write names such as left,"
            " right, winner above it."
        )
    return _find_winner(Found(id, dict(zip(roles, names, strict=True))), votes, fixed, codes)


def _choose_id(
    top: list[str | None],
    sides_of: Mapping[str | None, tuple[tuple[str, str], str, str]],
    ids: Mapping[str | None, Rows],
    votes: Texts,
) -> str | None:
    """The column of ids, of those that match two columns of the comparisons equally well."""
    columns = [id for id in top if id is not None]
    if not columns:
        return None
    sides = sides_of[columns[0]]
    entries = [{e for e in votes[side].tolist() if e is not None} for side in sides[1:]]
    rows = {
        id: [np.array([ids[id].get(e, -1) for e in sorted(of)], dtype=int) for of in entries]
        for id in sides_of
        if sides_of[id] == sides and (id is None or id in columns)
    }
    in_order = [id for id in columns if [*ids[id]] == [str(row) for row in range(len(ids[id]))]]
    return choose_ids(rows, in_order)


def _share_in(column: np.ndarray, known: Collection[str]) -> float:
    filled = [entry for entry in column.tolist() if entry is not None]
    return sum(entry in known for entry in filled) / len(filled) if filled else 0.0


def _find_sides(
    matching: list[str], votes: Texts, fixed: Mapping[str, str]
) -> tuple[tuple[str, str], str, str] | None:
    """The roles and names of the two columns that say who was compared."""
    for roles in (*LAYOUTS, NO_SIDES):
        if {*roles} <= {*fixed}:
            first, second = (fixed[role] for role in roles)
            return (roles, first, second) if {first, second} <= {*matching} else None
    others = {name for role, name in fixed.items() if role not in LAYOUTS[0]}
    sides = {name for role, name in fixed.items() if role in LAYOUTS[0]}
    free = [name for name in matching if name not in others]
    pairs = [
        pair
        for pair in combinations(free, 2)
        if sides <= {*pair} and _differ(votes[pair[0]], votes[pair[1]])
    ]
    with_winner = [pair for pair in pairs if _winners_by_id(pair, matching, votes)]
    if not with_winner:
        n_items = {name: len(set(votes[name].tolist())) for name in matching}
        enough = max(n_items.values(), default=0) / 2
        with_winner = [pair for pair in pairs if min(n_items[name] for name in pair) >= enough]
    if len(with_winner) > 1:
        # winner and loser by id name both items too, next to the columns of the two sides
        of_sides = [pair for pair in with_winner if not _winner_and_loser(pair)]
        with_winner = [pair for pair in of_sides if are_twins(*pair)] or of_sides
    if len(with_winner) != 1:
        return None
    first, second = with_winner[0]
    if by_result := _winner_and_loser((first, second)):
        return (NO_SIDES, *by_result)
    swapped = role_of(first, ("left", "right")) == "right"
    if sides:
        swapped = first == fixed.get("right") or second == fixed.get("left")
    return (LAYOUTS[0], second, first) if swapped else (LAYOUTS[0], first, second)


def _winner_and_loser(pair: tuple[str, str]) -> tuple[str, str] | None:
    """The two columns as winner and loser, where the name of one says so and that of the other."""
    told = {told_by(name): name for name in pair}
    loser = told.get("loser") or told.get("worse")
    return (told["winner"], loser) if loser and "winner" in told else None


def _differ(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.mean(one != other) > MATCH)


def _winners_by_id(pair: tuple[str, ...], names: Iterable[str], votes: Texts) -> list[str]:
    """The columns whose entries are one of the two items of their row."""
    sides = [votes[name] for name in pair]

    def is_winner(column: np.ndarray) -> bool:
        filled = np.array([entry is not None for entry in column])
        either = (column == sides[0]) | (column == sides[1])
        return bool(filled.any() and np.mean(either[filled]) >= MATCH)

    return [name for name in names if name not in pair and is_winner(votes[name])]


def _of_each_side(votes: Texts, names: Collection[str]) -> list[str]:
    """Pairs of columns with an entry for each side, such as rank_left and rank_right."""

    def are_numbers(name: str) -> bool:
        return all(re.fullmatch(r"[-+]?[0-9.,]+", e) for e in votes[name].tolist() if e is not None)

    return [
        name
        for pair in combinations(names, 2)
        if are_twins(*pair)
        and (
            {role_of(name, LAYOUTS[0]) for name in pair} == {*LAYOUTS[0]}
            or (has_word(pair[0], AMOUNTS) and all(map(are_numbers, pair)))
        )
        for name in pair
    ]


def _find_winner(
    found: Found, votes: Texts, fixed: Mapping[str, str], codes: Collection[str]
) -> Found:
    """The same with the column of winners, or those of the judges, and the column of judges."""
    named = dict(fixed) | found.named
    others = [name for name in votes if name not in named.values()]
    judge = [name for name in others if role_of(name, ["judge"])]
    if "judge" not in named and len(judge) == 1 and _is_judge(votes[judge[0]], codes):
        named["judge"] = judge[0]
        others.remove(judge[0])
    if {"winner", "loser"} & {*named}:
        return replace(found, named=named)
    pair = (named.get("left", ""), named.get("right", ""))
    of_sides = _of_each_side(votes, others)
    told = {name: told_by(name) for name in others if name not in of_sides}
    likely = _votes_in([*told], pair, votes, codes)
    won = [name for name in told if told[name] == "winner"]
    won = _votes_in(won, pair, votes, codes) or (won if not likely else [])
    lost = _votes_in([n for n in told if told[n] == "loser"], pair, votes, ())
    by_id = _winners_by_id(pair, likely, votes)
    lost = [name for name in lost if name in by_id or not _are_codes(votes[name], ())]
    by_id = [name for name in by_id if name not in (*won, *lost)]
    if len(won) == 1:
        named["winner"] = won[0]
        both = [n for n in told if told[n] in ("loser", "worse")]
        both = _winners_by_id(pair, both, votes)
        named |= {"loser": both[0]} if len(both) == 1 else {}
        return replace(found, named=named, passed=tuple(n for n in by_id if n not in both))
    if won or len(lost) == 1:
        return replace(found, named=named | ({} if won else {"loser": lost[0]}))
    if len(likely) > 1 and "judge" not in named and not _contradict(likely, told, votes):
        return replace(found, named=named, judges=tuple(likely))
    asked = [name for name in likely if told[name] != "loser"]
    is_asked = by_id or len(asked) != 1 or told[asked[0]] or not _are_codes(votes[asked[0]], codes)
    if is_asked:
        return replace(found, named=named, unclear=tuple(asked))
    return replace(found, named=named | {"winner": asked[0]})  # by codes, which have a meaning


def _contradict(names: Collection[str], told: Mapping[str, str | None], votes: Texts) -> bool:
    """Whether columns cannot be those of judges: one has the worse items, or two never agree."""

    def never_agree(one: np.ndarray, other: np.ndarray) -> bool:
        filled = [(a, b) for a, b in zip(one, other, strict=True) if None not in (a, b)]
        return len(filled) > 9 and sum(a != b for a, b in filled) > MATCH * len(filled)

    opposed = (never_agree(votes[a], votes[b]) for a, b in combinations(names, 2))
    return any(told[name] for name in names) or any(opposed)


def _are_codes(column: np.ndarray, codes: Collection[str]) -> bool:
    """Whether no entry but those codes is a word for a side."""
    words = {*SIDE_WORDS["left"], *SIDE_WORDS["right"]}
    return not words & {e.casefold() for e in {*column.tolist()} - {*codes, None}}


def _votes_in(
    names: Collection[str], pair: tuple[str, str], votes: Texts, codes: Collection[str]
) -> list[str]:
    """The columns that tell sides of comparisons: by ids, or else by words and codes."""
    sides = list(zip(*(votes[side].tolist() for side in pair if side in votes), strict=True))
    words = {word for words in SIDE_WORDS.values() for word in words}
    words |= {name.casefold() for name in (*pair, *codes)}

    def by_id(name: str) -> bool:
        told = [entry in items for entry, items in zip(votes[name].tolist(), sides, strict=False)]
        return _are_mostly(votes[name], told, codes)

    def by_word(name: str) -> bool:
        told = [entry is not None and entry.casefold() in words for entry in votes[name].tolist()]
        return _are_winners(votes[name], {*pair, *codes}) or _are_mostly(votes[name], told, codes)

    return [name for name in names if by_id(name)] or [name for name in names if by_word(name)]


def _are_mostly(column: np.ndarray, told: list[bool], codes: Collection[str]) -> bool:
    """Whether most entries tell a side, and the few other ones may be codes or mistakes."""
    entries = column.tolist()
    n_filled, n_told = sum(entry is not None for entry in entries), sum(told)
    others = {e for e, known in zip(entries, told, strict=False) if not known and e is not None}
    few = len(others - {*codes}) <= FEW_LEVELS and n_told > n_filled / 2
    return n_told > 0 and (few or n_told >= MATCH * n_filled)


def _are_winners(column: np.ndarray, more: Collection[str]) -> bool:
    """Whether all entries of a column are words or codes for a winner."""
    entries = {entry for entry in column.tolist() if entry is not None}
    words = {word for words in WINNER_WORDS.values() for word in words}
    return 0 < len(entries) <= FEW_LEVELS and all(
        entry in more or entry.casefold() in words for entry in entries
    )


def _is_judge(column: np.ndarray, codes: Collection[str]) -> bool:
    return not _are_winners(column, codes) and None not in column.tolist()


def missing_columns(
    votes: Texts, found: Found | None, ids: Mapping[str | None, Rows] | None = None
) -> PairscoreError:
    """The sentence where no columns say who was compared and who won, with the likely ones."""
    named, names = {} if found is None else found.named, [*votes]
    if not any(len(column) for column in votes.values()):
        return PairscoreError("there are no comparisons: the file has names of columns and no row.")
    if found is not None and found.unclear:
        return _won_or_lost(found.unclear)
    others = [name for name in names if name not in named.values()]
    losers = [name for name in others if told_by(name) in ("loser", "worse")]
    if named and losers:
        return _only_a_loser(losers[0], votes[losers[0]])
    if named and (sides := _of_each_side(votes, others)):
        return PairscoreError(
            f"{sides[0]!r} and {sides[1]!r} have an entry for each side, and no column of the"
            " comparisons says who won; add a column winner with left, right or tie."
        )
    if named and others:
        return PairscoreError(
            "no column of the comparisons says clearly who won; perhaps "
            + _as_roles(named)
            + ", and "
            + Setting("winner")
            + f" is one of {first_few(map(repr, others), 8)}: name it."
            + _if_of_judges({name: votes[name] for name in others}, named)
        )
    if named:
        return PairscoreError(
            f"{first_few(map(repr, named.values()))} have the ids of two items, and no column of"
            " the comparisons says who won",
            [
                "if one of the two has the winners, name both with "
                + Setting("winner")
                + " and "
                + Setting("loser"),
                "add a column winner",
            ],
        )
    if ranked := _columns_of_rankings(votes, ids or {}):
        return PairscoreError(
            f"{len(ranked)} columns have ids of items ({first_few(map(repr, ranked))}): rankings of"
            " more than two items cannot be read yet; write each as pairs, a row with winner and"
            " loser for every two items whose order it tells."
        )
    if why := _why_unclear(ids or {}, votes):
        return PairscoreError(f"no two columns of the comparisons have ids of the items: {why}")
    layouts = "; or ".join(
        ", ".join(dict.fromkeys((*sides, "winner"))) for sides in (*LAYOUTS, NO_SIDES)
    )
    by_words = {role: name for name in names if (role := role_of(name, ORDER[:5]))}
    likely = " Did you mean " + _as_roles(by_words) + "?" if by_words else Text.of("")
    return PairscoreError(
        f"the comparisons have columns {first_few(map(repr, names), 8)}, and it is not clear"
        f" which two have ids of the items; they need {layouts}. Say which these are with "
        + either([Setting(role) for role in ("left", "right", "winner")], " and ")
        + "."
        + (likely_layout(names) or likely)
    )


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
    return ranked if len(ranked) > 3 else []


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


class WinnerUnclearError(PairscoreError):
    """A column says who won or who lost, and it is for the user to say which; its name."""

    def __init__(self, problem: Piece, column: str = ""):
        self.column = column
        super().__init__(problem)


def _won_or_lost(names: Collection[str]) -> PairscoreError:
    """The question where columns tell one side of each comparison: that which won, or lost."""
    name = next((one for one in names if told_by(one) == "worse"), next(iter(names)))
    if told_by(name) == "worse":
        return WinnerUnclearError(
            f"does {name!r} name the item that should rank high or low? Give "
            + Setting("winner", name)
            + " if it ranks high (such as the most severe case), or "
            + Setting("loser", name)
            + " if it ranks low",
            name,
        )
    return WinnerUnclearError(
        f"the name of {name!r} does not say whether it has the winners or the losers: give "
        + Setting("winner", name)
        + " if it says who won, or "
        + Setting("loser", name)
        + " if it says who lost",
        name,
    )


def _only_a_loser(name: str, column: np.ndarray) -> PairscoreError:
    """The sentence where a column says who lost by codes."""
    entries = sorted({entry for entry in column.tolist() if entry is not None})
    return PairscoreError(
        f"no column of the comparisons says who won, and {name!r} seems to say who lost, by codes"
        f" ({first_few(map(repr, entries))})",
        [
            "write left, right or the loser's id in their place and give " + Setting("loser", name),
            "name the column of winners with " + Setting("winner"),
        ],
    )


def _if_of_judges(votes: Texts, named: Mapping[str, str]) -> Text:
    """How to name codes where several columns share a few entries, as those of judges do."""
    levels = {name: {e for e in column.tolist() if e is not None} for name, column in votes.items()}
    few = {name: of for name, of in levels.items() if 0 < len(of) <= FEW_LEVELS}
    few = {n: of for n, of in few.items() if any(of & few[other] for other in few if other != n)}
    shared = set().union(*few.values())
    if len(few) < 2 or len(shared) > FEW_LEVELS:
        return Text.of("")
    sides = (named.get("left", "left"), named.get("right", "right"))
    return (
        f" If {first_few(map(repr, few))} have the winners by one judge each, say what the entries"
        " mean, perhaps " + Setting("winner_codes", likely_codes(sorted(shared), sides=sides)) + "."
    )


def _as_roles(named: Mapping[str, str]) -> Text:
    """Columns by role."""
    return join(", ", [Setting(role, named[role]) for role in ORDER if role in named])


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
