"""The comparisons of a file under the names that pairscore knows, a row for each."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.data.column_roles import NAMED_ROLES, VoteRoles
from pairscore.data.items import Items
from pairscore.data.tables import Column, Columns, is_missing
from pairscore.data.votes import SKIPPED, Votes, check_codes, read_votes
from pairscore.display import first_few, plural
from pairscore.errors import BadEntriesError, PairscoreError
from pairscore.files.bad_rows import BadFilesError, locate_faults
from pairscore.files.find_sides import (
    point_out_forms,
)
from pairscore.files.tables import (
    JoinedTables,
)
from pairscore.messages import Piece


@dataclass(frozen=True)
class VoteRules:
    """How votes are read against items: the arguments of ``read_votes`` that a study keeps."""

    self_pairs: str = "error"
    seed: int = 0
    context: Collection[str] = ()
    winner_codes: Mapping[Any, str] | None = None
    side_names: tuple[str, str] | None = None

    def read(self, votes: Columns, items: Items) -> Votes:
        settings = (self.self_pairs, self.seed, self.context, self.winner_codes, self.side_names)
        read = read_votes(votes, items, *settings)
        return replace(read, self_pairs=self.self_pairs)


@dataclass(frozen=True)
class VoteRows:
    """The comparisons of a file under the names that pairscore knows, one row for each.

    ``origin`` and ``judge`` say which row and column of the file a row came from, where each judge
    has a column.
    """

    table: Columns
    roles: VoteRoles
    origin: np.ndarray | None = None
    judge: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        roles: VoteRoles,
        rows: Columns,
        ids: np.ndarray | None,
        say: Callable[[Piece], None],
    ) -> "VoteRows":
        roles.refuse_losers_that_won(rows)
        table = roles.rename(rows)
        if roles.layout is not None and roles.layout.told == "loser":
            say(f"{roles.columns['loser']!r} names the loser: the other side won.")
        point_out_forms(table, ids, say)
        if not roles.judges:
            return cls(table, roles)
        table, origin, judge = one_row_per_vote(table, roles.judges)
        empty = len(rows) * len(roles.judges) - len(table)
        said = first_few(map(repr, roles.judges))
        say(f"each of {said} has the winners by one judge.")
        if empty:
            say(f"{plural(empty, 'empty cell')} left out: no comparison by that judge.")
        return cls(table, roles, origin, judge)

    @property
    def named(self) -> dict[str, str]:
        """The columns that are not called as their role, which a model keeps."""
        names = self.roles.names.items()
        return {role: name for role, name in names if role in NAMED_ROLES and role != name}

    @property
    def _told(self) -> Column | None:
        """Who won, or who lost, where there are sides; else None."""
        layout = self.roles.layout
        if layout is None or not layout.has_sides:
            return None
        return self.table.get_column(layout.told)

    def with_judges(
        self, stored: JoinedTables, say: Callable[[Piece], None], needed: bool | None = None
    ) -> "VoteRows":
        """With the names of several files or sheets as judges, where no column has them.

        Of one too where they are ``needed``, and of none where they are not (False).
        """
        asked = len(stored.parts) > 1 if needed is None else needed
        if not asked or "judge" in self.table.columns:
            return self
        names = stored.names
        said = first_few(map(repr, names))
        say(f"no column names the judge, so each file or sheet stands for one: {said}.")
        judge = np.repeat(np.array(names, dtype=object), stored.lengths)
        return replace(self, table=Columns({**self.table, "judge": judge}, from_file=True))

    def rules(self, rules: VoteRules, say: Callable[[Piece], None]) -> VoteRules:
        """The rules with the names of the sides, and without rows that have no winner."""
        rules = replace(rules, side_names=self.roles.side_names)
        skipped = self._skipped(rules.winner_codes or {})
        if skipped is not None and skipped.any():
            number = plural(len(skipped), "comparison")
            say(f"{skipped.sum()} of {number} left out, as the winner codes say.")
        codes, told = rules.winner_codes or {}, self._told
        if told is None or "tie" in self.table.columns or None in check_codes(codes):
            return rules
        blank = told.is_missing()
        if not blank.any():
            return rules
        if blank.all():
            names = first_few(map(repr, self.roles.told))
            raise PairscoreError(f"the column {names} is empty: no comparison has a winner yet.")
        say(f"{blank.sum()} of {plural(len(blank), 'comparison')} left out: no winner is given.")
        return replace(rules, winner_codes={**codes, None: "skip"})

    def part_of_rows(self, stored: JoinedTables, rules: VoteRules) -> np.ndarray:
        """Which of the stored tables each comparison came from, without those left out."""
        part = np.repeat(np.arange(len(stored.parts)), stored.lengths)
        part = part if self.origin is None else part[self.origin]
        skipped = self._skipped(rules.winner_codes or {})
        return part if skipped is None else part[~skipped]

    def _skipped(self, winner_codes: Mapping[Any, str]) -> np.ndarray | None:
        """Mask of the rows that codes leave out; None if there are no such codes."""
        codes, told = check_codes(winner_codes), self._told
        if SKIPPED not in codes.values() or told is None:
            return None
        won = told.to_numpy().tolist()
        return np.array([codes.get(None if is_missing(v) else v) == SKIPPED for v in won])

    def located(self, faults: list[BadEntriesError], stored: JoinedTables) -> BadFilesError:
        """The faults by the lines and columns of the files."""
        faults = [self._in_file(fault) for fault in faults]
        located = [
            locate_faults(some, part, self.roles.columns) for part, some in stored.by_part(faults)
        ]
        return BadFilesError([one for file in located for one in file.errors])

    def _in_file(self, fault: BadEntriesError) -> BadEntriesError:
        if self.origin is None or self.judge is None:
            return fault
        entries = [
            (int(self.origin[row]), self.judge[row] if column == "winner" else column, value)
            for row, column, value in fault.entries
        ]
        return fault.with_entries(entries)


def one_row_per_vote(
    votes: Columns, judges: tuple[str, ...]
) -> tuple[Columns, np.ndarray, np.ndarray]:
    """Comparisons of a table with a column of winners for each judge, one row for each of them.

    Returns the table with columns ``winner`` and ``judge``, the row that each of its rows came
    from, and the judge. Pairs that a judge left empty are no comparisons.
    """
    winners = [votes.get_column(name).to_numpy() for name in judges]
    winner = np.concatenate([np.asarray(column, dtype=object) for column in winners])
    rows, judge = np.tile(np.arange(len(votes)), len(judges)), np.repeat(judges, len(votes))
    filled = ~Column(winner).is_missing()
    winner, rows, judge = winner[filled], rows[filled], judge[filled].astype(object)
    others = {n: votes.get_column(n).take(rows) for n in votes.columns if n not in judges}
    others |= {"winner": Column(winner), "judge": Column(judge)}
    return Columns(others, from_file=True), rows, judge
