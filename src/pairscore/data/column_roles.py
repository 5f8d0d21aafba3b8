"""Which column of a table of comparisons has which role: the one place that decides it.

For tables in memory, files and streams: a column has a role because it was named, or because it is
called so. Only the two sides may be found by their entries (:mod:`pairscore.files.find_sides`),
where the winner is then told by an id or by the name of a side.
"""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import numpy as np

from pairscore.data.items import plain_id
from pairscore.data.tables import Columns, Frame, as_frame, column_of
from pairscore.data.vote_layouts import LAYOUTS, NO_SIDES, Layout, layout_of, no_layout
from pairscore.data.votes import OUTCOME_OF_WORD, Votes
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import CallError, PairscoreError
from pairscore.messages import Setting

SIDES = tuple(name for layout in LAYOUTS for name in layout)
VOTE_IDENTIFIERS = (*SIDES, "winner", "loser", "judge")
MORE_ROLES = ("judge", "weight", "count", "tie")  # that say nothing about who was compared
VOTE_ROLES = (*VOTE_IDENTIFIERS, "weight", "count", "tie")
NAMED_ROLES = (*LAYOUTS[0], "winner", "loser", "judge", "weight", "count")
OF_FEATURES = (
    *("features", "exclude", "categorical", "reference"),
    *("squares", "curves", "smooth", "interactions"),
)
ITEM_SETTINGS = ("id", *OF_FEATURES)


@dataclass(frozen=True)
class VoteRoles:
    """The role of every column of a table of comparisons, decided once.

    Parameters
    ----------
    columns : dict
        The column of each role: the sides, ``winner`` or ``loser``, ``judge``, ``weight``,
        ``count``, ``tie``.
    layout : Layout or None
        Who was compared and who won; None where columns do not say it.
    judges : names
        Columns with the winners by one judge each, in place of ``winner``.
    context : names
        Columns that describe a comparison.
    unused : names
        Columns that nobody asked for.
    loser : name or None
        A column that is called so beside one that is called the winner, which is read: the two
        must not name the same item.
    """

    columns: Mapping[str, str]
    layout: Layout | None
    judges: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    loser: str | None = None

    @property
    def read(self) -> set[str]:
        """The columns that comparisons are read from, or checked by."""
        checked = () if self.loser is None else (self.loser,)
        return {*self.columns.values(), *self.judges, *self.context, *checked}

    @property
    def told(self) -> tuple[str, ...]:
        """The columns that say who won, or who lost; none where that is not known."""
        if self.judges:
            return self.judges
        role = next((role for role in NO_SIDES if role in self.columns), None)
        return () if role is None else (self.columns[role],)

    @property
    def names(self) -> dict[str, str]:
        """The columns by role as they are named: of several judges, ``winner`` has a list."""
        judges = {"winner": join_names(self.judges)} if self.judges else {}
        return {**self.columns, **judges}

    @property
    def side_names(self) -> tuple[str, str] | None:
        """What the columns of the left and the right side are called."""
        if self.layout is None or not self.layout.has_sides:
            return None
        left, right = (self.columns[side] for side in self.layout.sides)
        return left, right

    def rename(self, votes: Frame) -> Columns:
        """The comparisons under the names that pairscore knows; context keeps its names."""
        columns = {name: column_of(votes, name) for name in (*self.context, *self.judges)}
        columns |= {role: column_of(votes, name) for role, name in self.columns.items()}
        return Columns(columns, isinstance(votes, Columns) and votes.from_file)

    def refuse_losers_that_won(self, votes: Frame) -> None:
        """Refuse comparisons whose winner is the loser too, where both columns are called so."""
        if self.loser is None or self.side_names is None or self.loser not in votes.columns:
            return
        winner, sides = self.columns["winner"], self.side_names
        refuse_losers_that_won(
            {name: column_of(votes, name).to_numpy() for name in (*sides, winner, self.loser)}
        )


def refuse_losers_that_won(columns: Mapping[str, np.ndarray]) -> None:
    """Refuse rows whose winner is the loser too; ``columns`` are left, right, winner, loser."""
    left, right, winner, loser = columns
    of_names = {left: 1, right: -1}
    rows = zip(
        *([plain_id(entry) for entry in of.tolist()] for of in columns.values()), strict=True
    )
    same = 0
    for left_id, right_id, *told in rows:
        known = {**of_names, right_id: -1, left_id: 1}
        won, lost = (known.get(one, OUTCOME_OF_WORD.get(one.casefold(), 0)) for one in told)
        if won == lost != 0 and left_id != right_id:
            same += 1
    if same:
        raise PairscoreError(
            f"the columns {winner!r} and {loser!r} name the same item in {same:,} of"
            f" {plural(len(columns[winner]), 'comparison')}",
            [
                "say who won with " + Setting("winner", winner),
                "say who lost with " + Setting("loser", loser),
            ],
        )


@dataclass(frozen=True)
class VoteColumns:
    """What is known of the columns of comparisons before a table is seen.

    ``named`` says which columns are ``left``, ``winner``, ... where they have other names; ``kept``
    does so as far as a table has these columns, and ``named`` comes before it; ``context`` names
    numeric columns to keep. Several names of a winner are those of columns by one judge each.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    context: Collection[str] = ()
    kept: Mapping[str, str] = field(default_factory=dict)

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
    def identifiers(self) -> "ColumnNames":
        """The columns that are read as exact text: those with names of items and judges."""
        named = {
            column
            for role, name in (*self.named.items(), *self.kept.items())
            if role in VOTE_IDENTIFIERS
            for column in (name, *split_names(name))
        }
        return ColumnNames(frozenset(named), VOTE_IDENTIFIERS)

    def roles(self, names: Collection[str], lists: Collection[str] = ()) -> VoteRoles:
        """The role of each column of a table with these names; ``lists`` are not shown as unused.

        A column has a role because somebody named it, because the model was fitted with it, or
        because it is called so, whatever its case. No other role is inferred.
        """
        self.refuse_absent(names)
        self._refuse_same(names)
        named, judges = self._named_in(names)
        others = {*named.values(), *judges}
        called = {role: _called(role, [*names], others) for role in VOTE_ROLES}
        if {"left", "right"} & {*named}:
            called |= dict.fromkeys(LAYOUTS[1])
        if judges:
            called |= dict.fromkeys(("judge", "tie"))
        if "tie" in self.context:
            called["tie"] = None
        known = {role: name for role, name in called.items() if name is not None} | named
        of_judges = {"winner"} if judges else set()
        layout = layout_of({*known, *of_judges}, {*named, *of_judges})
        loser = None
        is_called = not judges and "winner" not in named
        if is_called and layout is not None and layout.has_sides and layout.told == "winner":
            loser = known.get("loser")
        if judges and layout is not None and not layout.has_sides:
            raise PairscoreError(
                Setting("winner") + f" names {len(judges)} columns, and no sides are known",
                "name the columns of the two items with "
                + Setting("left")
                + " and "
                + Setting("right"),
            )
        if layout is not None:
            chosen = {*layout.sides, layout.told, *MORE_ROLES}
            known = {role: name for role, name in known.items() if role in chosen}
        if judges:
            known.pop("winner", None)
        roles = VoteRoles(known, layout, judges, tuple(self.context))
        unused = tuple(name for name in names if name not in (*roles.read, *lists))
        return replace(roles, unused=unused, loser=loser)

    def _named_in(self, names: Collection[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """The columns by role that somebody named, or that were kept, and those of the judges."""
        kept = {
            role: name
            for role, name in self.kept.items()
            if name in names or {*split_names(name)} <= {*names}
        }
        if {"left", "right", "loser"} & {*self.named}:
            kept = {role: name for role, name in kept.items() if role in MORE_ROLES}
        elif "winner" in self.named:
            kept.pop("loser", None)
        named = kept | dict(self.named)
        if "winner" not in named or named["winner"] in names:
            return named, ()
        judges = split_names(named.pop("winner"))
        return named, tuple(judges)

    def refuse_absent(self, names: Collection[str]) -> None:
        """Every column that somebody named must be among those of the table."""
        for role, name in self.named.items():
            several = split_names(name) if role == "winner" else []
            if name in names or (len(several) > 1 and {*several} <= {*names}):
                continue
            known = [one for one in several if one in names]
            absent = next(one for one in several if one not in names) if known else name
            raise PairscoreError(
                Setting(role)
                + f" names {absent!r}, and the comparisons have no such column; they have"
                f" {first_few(map(repr, names), 8)}.{did_you_mean(absent, names)}"
            )
        for name in self.context:  # of a model, perhaps
            if name not in names:
                raise PairscoreError(
                    f"the comparisons have no column {name!r} for the context; they have"
                    f" {first_few(map(repr, names), 8)}.{did_you_mean(name, names)}"
                )

    def _refuse_same(self, names: Collection[str]) -> None:
        """No column has two of the roles that somebody named."""
        role_of: dict[str, str] = {}
        for role, name in self.named.items():
            for column in [name] if name in names else split_names(name):
                other = role_of.setdefault(column, role)
                if other != role:
                    raise PairscoreError(
                        Setting(other)
                        + " and "
                        + Setting(role)
                        + f" name the same column {column!r}",
                        "name another one with one of them",
                    )


def _called(role: str, names: Collection[str], others: Collection[str]) -> str | None:
    """The column that is called as a role, whatever its case; None if there is none."""
    found = [name for name in names if plain_name(name) == role and name not in others]
    if len(found) > 1:
        shown = first_few(map(repr, found))
        raise PairscoreError(
            f"{len(found)} columns of the comparisons are called {role!r} in upper or lower case"
            f" ({shown})",
            "rename all but one",
        )
    return found[0] if found else None


def plain_name(name: object) -> str:
    """The name of a column without its case and the blanks around it."""
    return str(name).strip().casefold()


@dataclass(frozen=True)
class ColumnNames(Collection[str]):
    """Names of columns: some exactly, and those ``called`` so, whatever their case."""

    exactly: frozenset[str]
    called: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return name in self.exactly or plain_name(name) in self.called

    def __iter__(self) -> Iterator[str]:
        return iter({*self.exactly, *self.called})

    def __len__(self) -> int:
        return len({*self.exactly, *self.called})


def split_names(text: str) -> list[str]:
    """Names of columns in a list with commas; one that has a comma is in quotation marks.

    >>> split_names('Ann,"Bob, MD"')
    ['Ann', 'Bob, MD']
    """
    if {"\n", "\r"} & {*text}:  # of a heading of two lines
        return [text]
    return next(csv.reader([text], skipinitialspace=True), [])


def join_names(names: Iterable[str]) -> str:
    """The list that :func:`split_names` splits."""
    out = StringIO(newline="")
    csv.writer(out, lineterminator="").writerow(names)
    return out.getvalue()


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


def rename_votes(
    votes: Any, named: Mapping[str, str], context: Collection[str] = ()
) -> tuple[Any, tuple[str, str] | None]:
    """Votes under the names that pairscore knows, and what the columns of their sides are called.

    ``named`` has other names by role: ``{"left": "home", "right": "away", "winner": "result"}``.
    Columns that nobody names may hold anything. Votes that have all these names already, and those
    without names, stay as they are.
    """
    frame = None if isinstance(votes, Votes) else as_frame(votes)
    if frame is None:
        if named:
            role, name = next(iter(named.items()))
            raise CallError(
                Setting(role, name)
                + f" names a column of the comparisons, and these are {type(votes).__name__}, which"
                " has no names",
                ["give a dataframe", "give a dict of columns"],
            )
        return votes, None
    roles = VoteColumns(named, context).roles([str(name) for name in frame.columns])
    if roles.layout is None:
        raise no_layout(frame.columns)
    if roles.judges:
        raise PairscoreError(
            Setting("winner") + f" names {len(roles.judges)} columns",
            "give one, with a row for each answer",
        )
    roles.refuse_losers_that_won(frame)
    is_same = all(role == name for role, name in roles.columns.items())
    is_known = layout_of(frame.columns) == roles.layout
    return (votes if is_same and is_known else roles.rename(frame)), roles.side_names
