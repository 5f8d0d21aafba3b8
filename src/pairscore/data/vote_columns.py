"""Which column of a table of comparisons has which role, where columns have other names."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairscore.data.items import plain_id
from pairscore.data.tables import Column, Columns, Frame, as_frame, column_of, is_missing
from pairscore.data.votes import LAYOUTS, SIDE_WORDS
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import CallError, PairscoreError
from pairscore.messages import Setting, Text

SIDES = tuple(name for layout in LAYOUTS for name in layout)
VOTE_IDENTIFIERS = (*SIDES, "winner", "loser", "judge")
VOTE_ROLES = (*VOTE_IDENTIFIERS, "weight", "count")
NAMED_ROLES = (*LAYOUTS[0], "winner", "loser", "judge", "weight", "count")
OF_FEATURES = ("features", "exclude", "categorical", "reference", "squares", "interactions")
ITEM_SETTINGS = ("id", *OF_FEATURES)
UNCHOSEN = ("judge", "weight", "count")  # roles that say nothing about who was compared


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
                Setting("loser")
                + " goes with "
                + Setting("winner")
                + ", or with both of "
                + Setting("left")
                + " and "
                + Setting("right")
                + ": a row names a winner and a loser, or two sides and which of them won or lost."
            )
        chosen = {*self.roles(names).values(), *self.context, *self.judges, "tie"}
        self.unused[:] = [name for name in names if name not in (*chosen, *lists)]
        return chosen if chosen.intersection(names) else {*names[:1]}

    def refuse_absent(self, names: list[str]) -> None:
        """Every column that somebody named must be among those of the table."""
        for role, name in (*self.named.items(), *(("context", name) for name in self.context)):
            if name not in names:
                no_column = (
                    Setting(role) + f" names {name!r}, and the comparisons have no such column"
                )
                if role == "context":  # of a model, perhaps
                    no_column = Text.of(f"the comparisons have no column {name!r} for the context")
                raise PairscoreError(
                    no_column
                    + f"; they have {first_few(map(repr, names), 8)}.{did_you_mean(name, names)}"
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
        raise CallError(
            Setting(role, name)
            + f" names a column of the comparisons, and these are {type(votes).__name__}, which has"
            " no names",
            ["give a dataframe", "give a dict of columns"],
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
            f" {plural(bad, 'comparison')} of {len(winner)}",
            [
                "write the id of the item that lost, left, right or 'tie'",
                "name a column that says who won with " + Setting("winner"),
            ],
        )
    others = {n: votes.get_column(n) for n in votes.columns if n != "loser"}
    return Columns({**others, "winner": np.array(winner, dtype=object)}, votes.from_file)
