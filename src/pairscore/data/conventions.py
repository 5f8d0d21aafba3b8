"""How people write their tables: the encoding of text, and names of the columns of comparisons.

The encoding is told by bytes; columns of other names than ``left``, ``right``, ``winner``, ... are
named by whoever reads the table.
"""

import codecs
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.choices import (
    LAYOUTS,
    NO_SIDES,
    SIDE_WORDS,
    WINNER_MEANINGS,
    WINNER_WORDS,
)
from pairscore.data.items import plain_id
from pairscore.data.tables import (
    Column,
    Columns,
    Frame,
    as_frame,
    column_of,
    is_missing,
    look_up,
)
from pairscore.display import closest, did_you_mean, first_few, plural
from pairscore.errors import PairscoreError, bad_entries

# what is guessed, in words
OLDER = {
    "cp932": "Shift-JIS (cp932)",
    "cp1250": "Central European (cp1250)",
    "cp1251": "Cyrillic (cp1251)",
    "cp1252": "Western European (cp1252)",
    "latin-1": "Western European (latin-1)",
}
FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
SIDES = tuple(name for layout in LAYOUTS for name in layout)
VOTE_IDENTIFIERS = (*SIDES, "winner", "loser", "judge")
VOTE_ROLES = (*VOTE_IDENTIFIERS, "weight", "count")
NAMED_ROLES = (*LAYOUTS[0], "winner", "loser", "judge", "weight", "count")
OF_FEATURES = ("features", "exclude", "categorical", "reference", "squares", "interactions")
ITEM_SETTINGS = ("id", *OF_FEATURES)
UNCHOSEN = ("judge", "weight", "count")  # roles that say nothing about who was compared
SKIPPED = 3  # the outcome of a row that a code leaves out
WITHIN_WORDS = r"[^\W\d_][£¥¹³¿¯][^\W\d_]|[£¯][a-zß-ÿ]"  # ³ of m³ is at the end of one


def marked_encoding(head: bytes) -> str | None:
    """The encoding of a byte order mark, or UTF-16 where every second byte is zero.

    ``head`` is the beginning of a file.
    """
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    for name, zeros, letters in (
        ("utf-16-le", head[1::2], head[::2]),
        ("utf-16-be", head[::2], head[1::2]),
    ):
        if len(head) > 3 and zeros.count(0) > 0.4 * len(head) / 2 and not letters.count(0):
            return name
    return None


def older_encoding(content: bytes, shown: str) -> str:
    """Bytes beyond ASCII that are nowhere UTF-8 are Japanese, or letters of old Windows or Latin-1.

    Of these, Cyrillic letters make whole words, which Western ones do not; and Western signs such
    as £ and ³ inside of words are letters of Central Europe. A mixture is a damaged file.
    """
    if _is_shift_jis(content):
        return "cp932"
    try:
        content.decode("utf-8", "surrogateescape").encode("ascii", "surrogateescape")
    except UnicodeEncodeError:
        sound = content.decode("utf-8", "replace").partition("\ufffd")[0]
        line = sound.count("\n" if "\n" in sound else "\r") + 1
        raise PairscoreError(
            f"{shown!r} is UTF-8 except for some bytes (the first in line {line}); repair it, or"
            " name its encoding."
        ) from None
    beyond, words = re.findall(rb"[\x80-\xff]", content), re.findall(rb"[\xc0-\xff]{3,}", content)
    if sum(map(len, words)) > len(beyond) / 2:
        return "cp1251"
    if re.search(WITHIN_WORDS, content.decode("cp1252", "replace")):
        return "cp1250"
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _is_shift_jis(content: bytes) -> bool:
    """Whether most letters beyond ASCII are then in Japanese words, and few are UTF-8 by chance.

    European letters, read so, give single Japanese signs between Latin ones.
    """
    n_utf8 = sum(ord(sign) > 127 for sign in content.decode("utf-8", "ignore"))
    try:
        text = content.decode("cp932")
    except UnicodeDecodeError:
        return False
    words = re.findall("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]{2,}", text)
    n_words = sum(map(len, words))
    n_beyond = sum(ord(sign) > 127 for sign in text)
    return n_words > n_beyond / 2 and n_utf8 < n_beyond / 4


# -- columns of comparisons by their role ----------------------------------------------------------


@dataclass(frozen=True)
class VoteColumns:
    """The columns of comparisons, by their role.

    ``named`` says which columns are ``left``, ``winner``, ... where they have other names; ``kept``
    does so as far as a table has these columns, and ``named`` comes before it; ``context`` names
    numeric columns to keep; ``judges`` are columns with the winners by one judge each; ``unused``
    gets those of the table that nobody asked for, without lists and records.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    context: Collection[str] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    unused: list[str] = field(default_factory=list, compare=False)

    @classmethod
    def of(
        cls,
        named: Mapping[str, str | None] | None,
        context: Collection[str] = (),
        kept: Mapping[str, str] | None = None,
    ) -> "VoteColumns":
        """Only the roles for which a column is named."""
        given = {role: name for role, name in (named or {}).items() if name}
        others = {role: name for role, name in (kept or {}).items() if role not in given}
        return cls(given, context, others)

    @property
    def identifiers(self) -> set[str]:
        """The columns that are read as exact text: those with names of items and judges."""
        named = {
            name
            for role, name in (*self.named.items(), *self.kept.items())
            if role in VOTE_IDENTIFIERS
        }
        return {*VOTE_IDENTIFIERS, *named, *self.judges}

    def named_in(self, names: Collection[str]) -> dict[str, str]:
        """The columns by role, of a table with these names."""
        kept = {role: name for role, name in self.kept.items() if name in names}
        if ("loser" in self.named) or {"left", "right"} & set(self.named):
            kept = {role: name for role, name in kept.items() if role in UNCHOSEN}
        return kept | dict(self.named)

    def _unnamed_roles(self, named: Mapping[str, str]) -> set[str]:
        """Roles that columns have by their own name.

        Not those given to other columns, nor sides next to a named loser or side.
        """
        others: tuple[str, ...] = ()
        if "loser" in named:
            others = SIDES
        elif {"left", "right"} & set(named):
            others = LAYOUTS[1]
        return set(VOTE_ROLES) - {*named, *named.values(), *others}

    def roles(self, names: Collection[str]) -> dict[str, str]:
        """The column of each role, by name or because it is called so."""
        named = self.named_in(names)
        return {role: role for role in self._unnamed_roles(named) if role in names} | named

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table."""
        self.refuse_absent(names)
        if "loser" in self.named and len({"left", "right"} & set(self.named)) == 1:
            raise PairscoreError(
                "loser= goes with winner=, or with both of left= and right=: a row names a winner"
                " and a loser, or two sides and which of them won or lost."
            )
        chosen = {*self.roles(names).values(), *self.context, *self.judges, "tie"}
        self.unused[:] = [name for name in names if name not in (*chosen, *lists)]
        return chosen if chosen.intersection(names) else {*names[:1]}

    def refuse_absent(self, names: list[str]) -> None:
        """Every column that somebody named must be among those of the table."""
        for role, name in (*self.named.items(), *(("context", name) for name in self.context)):
            if name not in names:
                no_column = f"{role} names {name!r}, and the comparisons have no such column"
                if role == "context":  # of a model, perhaps
                    no_column = f"the comparisons have no column {name!r} for the context"
                raise PairscoreError(
                    f"{no_column}; they have {first_few(map(repr, names), 8)}."
                    f"{did_you_mean(name, names)}"
                )

    def rename(self, votes: Frame, ids: np.ndarray | None = None) -> Columns:
        """The comparisons under the names that pairscore knows; context keeps its names.

        The winner may be told by the name of a side's column, as in ``model_a``.
        """
        named = self.named_in(votes.columns)
        by_name = [name for name in votes.columns if name in self._unnamed_roles(named)]
        columns = {name: column_of(votes, name) for name in (*self.context, *by_name)}
        columns |= {role: column_of(votes, name) for role, name in named.items()}
        if "tie" in votes.columns and "tie" not in named.values() and not self.judges:
            columns.setdefault("tie", column_of(votes, "tie"))
        sides = {name: role for role, name in named.items() if role in ("left", "right")}
        sides = {name: role for name, role in sides.items() if name != role}
        for name in self.judges:
            columns[name] = _winner_by_side(column_of(votes, name), sides, ids)
        if sides and "winner" in columns and not self.judges:
            columns["winner"] = _winner_by_side(columns["winner"], sides, ids)
        return Columns(columns, _is_from_file(votes))


def _is_from_file(votes: Frame) -> bool:
    return isinstance(votes, Columns) and votes.from_file


def check_names(columns: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Names of columns that a user gives: settings of the items', and the votes' by role."""
    known = (*ITEM_SETTINGS, *NAMED_ROLES)
    for argument in columns:
        if argument not in known:
            raise TypeError(
                f"unexpected argument {argument!r}; columns are named by"
                f" {first_few(known, len(known))}.{did_you_mean(argument, known)}"
            )
    given = {argument: name for argument, name in columns.items() if name is not None}
    roles = {role: str(name) for role, name in given.items() if role in NAMED_ROLES}
    return {argument: given[argument] for argument in given if argument not in roles}, roles


def rename_votes(votes: Any, named: Mapping[str, str], context: Collection[str] = ()) -> Any:
    """Votes under the names that pairscore knows, where ``named`` has others by role.

    ``{"left": "home", "right": "away", "winner": "result"}``; a loser by id next to two sides says
    that the other side won. Columns that nobody names may hold anything. Without names, the votes
    as they are.
    """
    if not named:
        return votes
    frame = as_frame(votes)
    if frame is None:
        role, name = next(iter(named.items()))
        raise PairscoreError(
            f"{role}={name!r} names a column of the votes, and these are"
            f" {type(votes).__name__}, which has no names; give a dataframe or a dict of columns."
        )
    columns = VoteColumns(named, context)
    columns.choose(list(frame.columns), [])  # refuses names that the table does not have
    table, roles = columns.rename(frame), columns.roles(frame.columns)
    if "winner" in roles or "loser" not in roles:
        return table
    return winner_for_loser(table, roles["loser"])


def _winner_by_side(winner: Column, sides: dict[str, str], ids: np.ndarray | None) -> Column:
    """The names of the sides' columns, in the column of winners, as left and right."""
    used = [name for name in sides if name in set(winner.values.tolist())] if sides else []
    clash = sorted(set(used) & set(map(str, [] if ids is None else ids.tolist())))
    if clash:
        raise PairscoreError(
            f"{clash[0]!r} is both an item and the column of a side, so a winner of that name is"
            " unclear; rename the item or the column."
        )
    if not used:
        return winner
    values = [sides.get(v, v) if isinstance(v, str) else v for v in winner.values.tolist()]
    return Column(np.array(values, dtype=object), winner.codes)


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
    words = {word: right for word in (left, *SIDE_WORDS["left"])}
    words |= {word: left for word in (right, *SIDE_WORDS["right"])}
    words |= dict.fromkeys(SIDE_WORDS["tie"], "tie")
    winner = [
        None if lost is None else {x: right, y: left}.get(lost, words.get(lost.casefold(), ""))
        for x, y, lost in zip(a, b, losers, strict=True)
    ]
    if bad := winner.count(""):
        raise PairscoreError(
            f"the loser, in {name!r}, is neither of the two items in"
            f" {plural(bad, 'comparison')} of {len(winner)}; write the id of the item that lost,"
            " left, right or 'tie', or name a column that says who won with winner=."
        )
    others = {n: votes.get_column(n) for n in votes.columns if n != "loser"}
    return Columns({**others, "winner": np.array(winner, dtype=object)}, votes.from_file)


def likely_layout(names: Collection[str]) -> str:
    """The first layout whose columns have names like these, as a question."""
    for sides in (*LAYOUTS, NO_SIDES):
        roles = (*sides, "winner")
        likely = {role: role if role in names else closest(role, names) for role in roles}
        if None not in likely.values():
            others = (f"{name!r} as {role}" for role, name in likely.items() if name != role)
            return f" Did you mean {', '.join(others)}?"
    return ""


def blank(entry: Any) -> bool:
    """Whether a cell that should name somebody is empty."""
    return is_missing(entry) or (isinstance(entry, str) and not entry.strip())


def flags_of(entries: np.ndarray) -> np.ndarray:
    """1 and 0 of 0, 1, true, false, yes and no in numbers or words; -1 of anything else."""
    if entries.dtype.kind in "biuf":
        return np.where(np.isin(entries, (0, 1)), entries, -1)
    return look_up(FLAGS, [str(entry).strip().lower() for entry in entries.tolist()], -1)


def outcomes_of_words(words: dict[Any, int], names: np.ndarray, unknown: int) -> np.ndarray:
    """The outcome (n,) that each name of a winner means by itself; ``unknown`` if it is no word."""
    if names.dtype.kind != "U":
        return look_up(words, names.tolist(), unknown).astype(np.int8)
    outcome = np.full(len(names), unknown, dtype=np.int8)
    for word, number in words.items():  # few, and an array of text knows where each of them is
        if isinstance(word, str):
            np.copyto(outcome, np.int8(number), where=names == word)
        if np.all(outcome != unknown):
            break
    return outcome


def context_of(frame: Frame, name: str) -> np.ndarray:
    """A numeric column of the votes: of left minus of right."""
    if name not in frame.columns:
        raise PairscoreError(
            f"the votes have no column {name!r} for the context; they have"
            f" {first_few(map(repr, frame.columns), 8)}."
        )
    if not (frame.schema[name].is_numeric() or frame.schema[name] == nw.Boolean()):
        raise PairscoreError(
            f"the context {name!r} is not numeric ({frame.schema[name]}); make it numbers: the"
            f" value of left minus that of right."
        )
    values = np.asarray(column_of(frame, name).to_numpy(), dtype=float)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise bad_entries(
            f"the context {name!r} is missing or infinite in {plural(len(bad), 'row')}",
            "fill these in or remove the rows",
            {name: (bad, values[bad].tolist())},
            "missing or not finite",
        )
    return values


# -- codes of winners ------------------------------------------------------------------------------


def check_codes(codes: Mapping[Any, str] | None) -> dict[Any, int]:
    """The outcome that each code of a winner stands for; a number and its text are the same."""
    outcomes = dict(zip(WINNER_MEANINGS, (1, -1, 0, SKIPPED), strict=True))
    unknown = [meaning for meaning in (codes or {}).values() if meaning not in outcomes]
    if unknown:
        raise PairscoreError(
            f"winner_codes has the meaning {unknown[0]!r}; a code means"
            f" {first_few(map(repr, WINNER_MEANINGS))}."
        )
    checked: dict[Any, int] = {}
    for code, meaning in (codes or {}).items():
        if is_missing(code) or code == "":
            checked[None] = outcomes[meaning]
        if is_missing(code):  # which has no text
            continue
        checked[code] = outcomes[meaning]
        text = str(code).strip()
        checked[text] = outcomes[meaning]
        if re.fullmatch("0|-?[1-9][0-9]*", text):
            checked[int(text)] = outcomes[meaning]
    return checked


def likely_codes(
    entries: Collection[Any],
    known: Mapping[Any, int] | None = None,
    sides: tuple[str, str] = ("left", "right"),
) -> dict[Any, str]:
    """What codes of winners mean by their words, with ``?`` for those that are no known word.

    Those that are ``known`` (from :func:`check_codes`) stay as they are; ``sides`` are the names of
    the two columns of items, as a letter or number in them says what A and B, or 1 and 2, mean.

    >>> likely_codes(["gleich", "A", "B", "x"])
    {'A': 'left', 'B': 'right', 'gleich': 'tie', 'x': '?'}
    """
    by_outcome = dict(zip((1, -1, 0, SKIPPED), WINNER_MEANINGS, strict=True))
    texts = {code: outcome for code, outcome in (known or {}).items() if isinstance(code, str)}
    meant = {code: by_outcome[outcome] for code, outcome in texts.items() if code}
    words = {str(e).strip().casefold() for e in entries if not is_missing(e)}
    marks = _marks(words, sides) | {sides[0].casefold(): "left", sides[1].casefold(): "right"}
    for e in entries:
        meant[e] = "skip" if is_missing(e) else _meaning(str(e).strip().casefold(), marks)
    return dict(sorted(meant.items(), key=lambda code: (*WINNER_MEANINGS, "?").index(code[1])))


def _marks(words: Collection[str], sides: tuple[str, str]) -> dict[str, str]:
    """What A, B, 1 and 2 mean where the names of the sides, or other numbers, say or hide it."""
    first, second = {"a", "1"}, {"b", "2"}
    left, right = (
        {*re.findall(r"[^\W\d_]+|[0-9]+", name.casefold())} & (first | second) for name in sides
    )
    marks = dict.fromkeys(left - right, "left") | dict.fromkeys(right - left, "right")
    numbers = {word for word in words if re.fullmatch(r"[+-]?[0-9.]+", word)}
    if not (left <= first and right <= second):
        return dict.fromkeys(first | second, "?") | marks
    return (dict.fromkeys("12", "?") if numbers - {"1", "2"} else {}) | marks


def _meaning(word: str, marks: Mapping[str, str]) -> str:
    """The meaning of a word for a winner; numbers other than 1 and 2 may mean anything."""
    if word in marks or word in ("0", "-1"):
        return marks.get(word, "?")
    return next((meaning for meaning, words in WINNER_WORDS.items() if word in words), "?")


# -- what columns hold -----------------------------------------------------------------------------
