"""Columns of items and comparisons found by what is in them, where their names do not tell.

Two columns of the comparisons whose entries are ids of the items are the sides; a third one whose
entries are one of the two, or words and codes for a side, is the winner.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from pairscore.choices import ROLE_WORDS, SIDE_WORDS, WINNER_WORDS
from pairscore.data.items import plain_id
from pairscore.data.tables import Column, Columns, is_missing, likely_codes
from pairscore.data.votes import LAYOUTS, NO_SIDES, Votes, likely_layout
from pairscore.errors import PairscoreError, first_few, plural

MATCH = 0.9  # share of the rows of a column that must name items
FEW_LEVELS = 6
ORDER = ("left", "right", "winner", "loser", "judge", "weight", "count")
MOST_LEVELS = 20  # of text that is proposed as categories, where items are few
DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}){1,2}|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}"
    r"|[0-9]{2,4}年[0-9]{1,2}月([0-9]{1,2}日)?|[0-9]{1,2}[. ]+\w{3,9}[. ]+[0-9]{4})"
    r"([T ]+[0-9]{1,2}:[0-9]{2}(:[0-9.]+)?)?Z?|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
)
SAMPLED_ROWS = 5000


@dataclass(frozen=True)
class Found:
    """Which columns two tables have for the items and who was compared.

    ``id`` is the column of the items that the comparisons refer to; ``named`` has columns of the
    comparisons by role, ``judges`` those with the winners by one judge each; ``passed`` could be
    winners too, and are not read.
    """

    id: str | None
    named: dict[str, str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()

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


def id_columns(items: Texts) -> dict[str | None, set[str]]:
    """The columns that could name items: filled, and each entry once."""
    return {
        name: set(column.tolist())
        for name, column in items.items()
        if len(column) > 1
        and None not in (known := set(column.tolist()))
        and len(known) == len(column)
    }


def find_columns(
    ids: Mapping[str | None, set[str]],
    votes: Texts,
    fixed: Mapping[str, str],
    codes: Collection[str],
) -> Found | None:
    """Find the columns of comparisons by what is in them.

    Parameters
    ----------
    ids : dict
        Columns that could name the items, the expected one first, with their entries.
    votes : dict
        The columns of the comparisons.
    fixed : dict
        Roles whose columns are known.
    codes
        Entries of winners that are known to be codes.

    Returns
    -------
    Found or None
        None where no column of ids goes with two columns of the comparisons.
    """
    best, most = None, 0.0
    for id, known in ids.items():
        shares = {name: _share_in(column, known) for name, column in votes.items()}
        matching = [name for name, share in shares.items() if share >= MATCH]
        sides = _find_sides(matching, votes, fixed)
        share = 0.0 if sides is None else shares[sides[1]] + shares[sides[2]]
        if sides is not None and share > most and (id is not None or share == 2):
            best, most = (id, sides), share
    if best is None:
        return None
    id, (roles, *names) = best
    if {*names} <= ids[id] and not {*names} & {*fixed.values()}:
        raise PairscoreError(
            f"the comparisons have no line of column names: the first line has"
            f" {names[0]!r} and {names[1]!r}, which are ids of items; write names such as left,"
            " right, winner above it."
        )
    return _find_winner(Found(id, dict(zip(roles, names, strict=True))), votes, fixed, codes)


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
        of_sides = [pair for pair in with_winner if not _are_called(pair, NO_SIDES)]
        with_winner = [pair for pair in of_sides if _are_called(pair, LAYOUTS[0])] or of_sides
    if len(with_winner) != 1:
        return None
    first, second = with_winner[0]
    if _are_called((first, second), NO_SIDES):
        swapped = _role_of(first, NO_SIDES) == "loser"
        return (NO_SIDES, second, first) if swapped else (NO_SIDES, first, second)
    swapped = _role_of(first, ("left", "right")) == "right"
    if sides:
        swapped = first == fixed.get("right") or second == fixed.get("left")
    return (LAYOUTS[0], second, first) if swapped else (LAYOUTS[0], first, second)


def _are_called(pair: tuple[str, str], roles: tuple[str, ...]) -> bool:
    return all(_role_of(name, roles) for name in pair)


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


def _role_of(name: str, roles: Iterable[str]) -> str | None:
    """The role that the name of a column tells, if it has one of its words."""
    words = re.split(r"[\W_0-9]+", name.casefold())
    for role in roles:
        for word in ROLE_WORDS[role]:
            if word in words or ((len(word) > 5 or not word.isascii()) and word in name.casefold()):
                return role
    return None


def _find_winner(
    found: Found, votes: Texts, fixed: Mapping[str, str], codes: Collection[str]
) -> Found:
    """The same with the column of winners, or those of the judges, and the column of judges."""
    named = dict(fixed) | found.named
    others = [name for name in votes if name not in named.values()]
    judge = [name for name in others if _role_of(name, ["judge"])]
    if "judge" not in named and len(judge) == 1 and _is_judge(votes[judge[0]], codes):
        named["judge"] = judge[0]
        others.remove(judge[0])
    if "winner" in named:
        return replace(found, named=named)
    pair = (named.get("left", ""), named.get("right", ""))
    lost = _votes_in([name for name in others if _role_of(name, ["loser"])], pair, votes, codes)
    others = [name for name in others if not _role_of(name, ["loser"])]
    likely = _votes_in(others, pair, votes, codes)
    by_name = [name for name in likely or others if _role_of(name, ["winner"])]
    by_id = _winners_by_id(pair, likely, votes)
    if lost and not by_name and not by_id:
        lost = _winners_by_id(pair, lost, votes)
        return replace(found, named=named | ({"loser": lost[0]} if len(lost) == 1 else {}))
    if len(likely) > 1 and not by_name and "judge" not in named:
        return replace(found, named=named, judges=tuple(likely))
    if len(likely if len(likely) == 1 else by_name) == 1:
        named["winner"] = (likely if len(likely) == 1 else by_name)[0]
        by_id = [name for name in by_id if name != named["winner"]]
        named |= {"loser": lost[0]} if len(_winners_by_id(pair, lost, votes)) == 1 else {}
    return replace(found, named=named, passed=tuple(by_id))


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


def missing_columns(votes: Texts, found: Found | None) -> PairscoreError:
    """The sentence where no columns say who was compared and who won, with the likely ones."""
    named, names = {} if found is None else found.named, [*votes]
    others = [name for name in names if name not in named.values()]
    losers = [name for name in others if _role_of(name, ["loser"])]
    if named and losers:
        return _only_a_loser(losers[0], votes[losers[0]])
    if named and others:
        return PairscoreError(
            f"no column of the comparisons says clearly who won; perhaps {_as_roles(named)}, and"
            f" winner= is one of {first_few(map(repr, others), 8)}: name it."
            f"{_if_of_judges({name: votes[name] for name in others}, named)}"
        )
    layouts = "; or ".join(
        ", ".join(dict.fromkeys((*sides, "winner"))) for sides in (*LAYOUTS, NO_SIDES)
    )
    by_words = {role: name for name in names if (role := _role_of(name, ROLE_WORDS))}
    likely = f" Did you mean {_as_roles(by_words)}?" if by_words else ""
    return PairscoreError(
        f"the comparisons have columns {first_few(map(repr, names), 8)}, and it is not clear"
        f" which two have ids of the items; they need {layouts}. Say which these are with left=,"
        f" right= and winner=.{likely_layout(names) or likely}"
    )


def _only_a_loser(name: str, column: np.ndarray) -> PairscoreError:
    """The sentence where a column says who lost in other ways than by the loser's id."""
    entries = sorted({entry for entry in column.tolist() if entry is not None})
    meaning = {word: side for side, words in SIDE_WORDS.items() for word in words}
    other = {"left": "right", "right": "left", "tie": "tie"}
    codes = {e: other[meaning[e.casefold()]] for e in entries if e.casefold() in meaning}
    turned = f"name it with winner={name!r} and swap left and right with winner_codes={codes!r}"
    remedy = turned if entries and len(codes) == len(entries) else "write who won in its place"
    return PairscoreError(
        f"no column of the comparisons says who won, and {name!r} seems to say who lost; {remedy},"
        " or name the column of winners with winner=."
    )


def _if_of_judges(votes: Texts, named: Mapping[str, str]) -> str:
    """How to name codes where several columns share a few entries, as those of judges do."""
    levels = {name: {e for e in column.tolist() if e is not None} for name, column in votes.items()}
    few = {name: of for name, of in levels.items() if 0 < len(of) <= FEW_LEVELS}
    few = {n: of for n, of in few.items() if any(of & few[other] for other in few if other != n)}
    shared = set().union(*few.values())
    if len(few) < 2 or len(shared) > FEW_LEVELS:
        return ""
    sides = (named.get("left", "left"), named.get("right", "right"))
    return (
        f" If {first_few(map(repr, few))} have the winners by one judge each, say what the entries"
        f" mean, perhaps winner_codes={likely_codes(sorted(shared), sides=sides)!r}."
    )


def _as_roles(named: Mapping[str, str]) -> str:
    """Columns by role, as messages name them and the command line translates them."""
    return ", ".join(f"{named[role]!r} as {role}" for role in ORDER if role in named)


def point_out_cases(
    categories: Mapping[str, Collection[str]], votes: Columns, say: Callable[[str], None]
) -> None:
    """Say which levels, and which judges, differ in upper and lower case only."""
    groups = {repr(name): levels for name, levels in categories.items()}
    if "judge" in votes:
        groups["judge"] = set(map(str, votes.get_column("judge").values.tolist()))
    for what, levels in groups.items():
        spellings: dict[str, list[str]] = {}
        for level in sorted(levels):
            spellings.setdefault(level.casefold(), []).append(level)
        same = [" and ".join(map(repr, of)) for of in spellings.values() if len(of) > 1]
        if same:
            say(
                f"{what} has entries that differ in upper and lower case only: {first_few(same)};"
                " they are treated as different."
            )


def point_out_forms(votes: Columns, ids: np.ndarray | None, say: Callable[[str], None]) -> None:
    """Say that ids were matched which comparisons and items write with other forms of signs."""
    known = [] if ids is None else [str(id) for id in ids.tolist()]
    of_items, names = {plain_id(id): id for id in known}, {*sum(LAYOUTS, NO_SIDES)}
    named = {n for side in names if side in votes for n in votes.get_column(side).values.tolist()}
    pairs = {str(n): of_items.get(plain_id(n), "") for n in named - {*known}}
    other = [(a, b) for a, b in pairs.items() if b and not (a + b).isascii()]
    if other:
        say(
            f"{plural(len(other), 'id')} of the comparisons matched with items that are written"
            f" with other forms of the same signs ({other[0][0]!r} is {other[0][1]!r})."
        )


def kinds_of_text(table: Columns, names: Iterable[str]) -> dict[str, list[str]]:
    """Text columns as dates, as labels that differ from item to item, or as possible categories."""
    kinds: dict[str, list[str]] = {"left_out": [], "dates": [], "labels": []}
    for name in names:
        filled = [str(entry) for entry in table[name].tolist() if not is_missing(entry)]
        is_date = sum(DATE.fullmatch(entry.strip()) is not None for entry in filled)
        if filled and is_date >= MATCH * len(filled):
            kinds["dates"].append(name)
        elif len(set(filled)) > max(MOST_LEVELS, len(filled) / 2):
            kinds["labels"].append(name)
        else:
            kinds["left_out"].append(name)
    return kinds


def side_words(winner: Column, ids: np.ndarray | None) -> dict[str, str]:
    """Codes for winners in other words for left, right and tie, where all entries are such."""
    entries = {str(v) for v in winner.values.tolist() if not is_missing(v)}
    meaning = {word: side for side, words in SIDE_WORDS.items() for word in words}
    codes = {e: meaning[e.casefold()] for e in sorted(entries) if e.casefold() in meaning}
    names = set(map(str, [] if ids is None else ids.tolist()))
    is_plain = len(codes) < len(entries) or entries <= {"left", "right", "tie"}
    return {} if is_plain or names & entries else codes


def winner_for_loser(votes: Columns, name: str) -> Columns:
    """Comparisons of two sides with the other side than the loser as the winner."""
    left, right = next(sides for sides in LAYOUTS if {*sides} <= {*votes.columns})
    a, b, losers = (
        [None if is_missing(v) else plain_id(v) for v in votes.get_column(name).to_numpy().tolist()]
        for name in (left, right, "loser")
    )
    places = [{x: right, y: left}.get(lost) for x, y, lost in zip(a, b, losers, strict=True)]
    winner = [
        "tie" if lost and lost.casefold() in SIDE_WORDS["tie"] else place
        for lost, place in zip(losers, places, strict=True)
    ]
    if bad := winner.count(None):
        raise PairscoreError(
            f"the loser, in {name!r}, is neither of the two items in"
            f" {plural(bad, 'comparison')} of {len(winner)}; write the id of the item that lost"
            " or 'tie', or name a column that says who won with winner=."
        )
    others = {n: votes.get_column(n) for n in votes.columns if n != "loser"}
    return Columns({**others, "winner": np.array(winner, dtype=object)}, from_file=True)


def first_column_names(votes: Votes, table: Columns) -> bool:
    """Whether items known by row number may be meant by the numbers in the first column."""
    numbers = table[table.columns[0]]
    if numbers.dtype.kind != "f" or len(set(numbers.tolist())) < len(numbers):
        return False
    used = np.union1d(votes.left, votes.right)
    return bool(
        np.isin(used, numbers).all() and not np.array_equal(numbers, np.arange(len(numbers)))
    )
