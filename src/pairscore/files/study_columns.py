"""Which columns of two files a study needs, and under which names.

Columns that nobody needs are not read, so they may hold anything.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pairscore.data.items import Items, plain_id, refuse_bad_ids, refuse_non_finite
from pairscore.data.recipe import Recipe, item_columns, make_recipe
from pairscore.data.tables import Column, Columns, Frame, is_missing
from pairscore.data.vote_columns import SIDES, VoteColumns, winner_for_loser
from pairscore.data.votes import LAYOUTS, SKIPPED, Votes, check_codes, read_votes, side_words
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import BadEntriesError, PairscoreError
from pairscore.files.find_columns import point_out_forms, tell_who_won
from pairscore.files.sheets import JoinedTables
from pairscore.files.tables import StoredTable
from pairscore.files.text_columns import likely_id
from pairscore.files.write import BadFilesError, all_faults, locate_faults


@dataclass(frozen=True)
class ItemColumns:
    """The columns of an item table that settings, or the recipe of a model, need.

    Parameters
    ----------
    settings : dict
        Of ``make_recipe``, where there is no recipe yet.
    recipe : Recipe or None
        That of a model.
    id_is_optional : bool
        Whether items of a table without the recipe's column of ids are known by row number.
    group : str or None
        A column that says which items belong together; it is never a feature.
    nested : list
        Collects the lists and records that might have been features, while columns are chosen.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None
    id_is_optional: bool = False
    group: str | None = None
    nested: list[str] = field(default_factory=list)

    @property
    def identifiers(self) -> set[str]:
        """The columns that are read as exact text: ids, categories and groups."""
        id, categories = self.settings.get("id"), self.settings.get("categorical", ())
        if self.recipe is not None:
            id, categories = self.recipe.id, self.recipe.categorical
        return {id or "id", *categories, *self._group}

    @property
    def _group(self) -> tuple[str, ...]:
        return () if self.group is None else (self.group,)

    @property
    def _excluded(self) -> list[str]:
        return [*self.settings.get("exclude", ()), *self._group]

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table; ``lists`` hold lists and records."""
        if self.group is not None and self.group not in names:
            raise PairscoreError(
                f"group names {self.group!r}, and the item table has no such column; it has"
                f" {first_few(map(repr, names), 8)}.{did_you_mean(self.group, names)}"
            )
        if self.recipe is not None:
            recipe = self.recipe_for(names)
            recipe.refuse_absent(names)
            return {*recipe.sources, *([recipe.id] if recipe.id else []), *self._group}
        chosen = item_columns(names, lists, **{**self.settings, "exclude": self._excluded})
        if not self.settings.get("features"):
            unused = (name for name in lists if name not in (*chosen, *self._excluded))
            self.nested.extend(unused)
        return {*chosen, *self._group}

    def with_id(self, id: str) -> "ItemColumns":
        """The same with another column of ids."""
        if self.recipe is not None:
            return replace(self, recipe=replace(self.recipe, id=id), id_is_optional=False)
        return replace(self, settings={**self.settings, "id": id}, nested=[])

    def recipe_for(self, names: Collection[str]) -> Recipe:
        """The recipe of the model, without ids where they are optional and a table has none."""
        assert self.recipe is not None
        without_ids = self.id_is_optional and self.recipe.id not in names
        return replace(self.recipe, id=None) if without_ids else self.recipe

    def make_recipe(self, table: Columns) -> tuple[Recipe, list[str]]:
        """The recipe for a table that was read, and the text columns that it leaves out."""
        if self.recipe is not None:
            return self.recipe_for(table.columns), []
        return make_recipe(table, **{**self.settings, "exclude": self._excluded})


class PairColumns(VoteColumns):
    """The columns of pairs that nobody has compared: as comparisons, without a winner."""

    def choose(self, names: list[str], lists: list[str]) -> Collection[str]:
        """The columns to read, of all ``names`` of a table; a winner is none of them."""
        self.refuse_absent(names)
        named = self.named_in(names)
        known = {*named, *({*names} - {*named.values()})}  # a column may be named as it is called
        if not any(known >= {*sides} for sides in LAYOUTS):
            raise PairscoreError(
                f"the pairs have columns {first_few(map(repr, names), 8)}; they need left and right"
                " with the ids of two items; name those with other names: left=, right=."
            )
        chosen = super().choose([*names, *({"winner"} - {*names})], lists)
        return {*chosen} - {"winner", "tie"}

    def rename(self, votes: Frame, ids: np.ndarray | None = None) -> Columns:
        """The pairs under the names that pairscore knows, as if left had won."""
        columns = dict(super().rename(votes, ids))
        left = next(name for name in ("left", *SIDES) if name in columns)
        return Columns({**columns, "winner": columns[left]}, from_file=True)


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


# -- comparisons under known names -----------------------------------------------------------------


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


class NoLayoutError(PairscoreError):
    """No columns of the comparisons say who was compared and who won."""


@dataclass(frozen=True)
class VoteRows:
    """The comparisons of a file under the names that pairscore knows, one row for each.

    ``origin`` and ``judge`` say which row and column of the file a row came from, where each judge
    has a column.
    """

    table: Columns
    named: dict[str, str]
    judges: tuple[str, ...] = ()
    origin: np.ndarray | None = None
    judge: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        columns: VoteColumns,
        rows: Columns,
        ids: np.ndarray | None,
        say: Callable[[str], None],
    ) -> "VoteRows":
        named = columns.named_in(rows.columns)
        roles = {*columns.roles(rows.columns), *(["winner"] if columns.judges else [])}
        if not tell_who_won(roles):
            raise NoLayoutError("no columns say who was compared")
        table = columns.rename(rows, ids)
        if "winner" not in roles:
            table = winner_for_loser(table, named.get("loser", "loser"))
            say(f"{named.get('loser', 'loser')!r} names the loser: the other side won.")
        point_out_forms(table, ids, say)
        if not columns.judges:
            return cls(table, named)
        table, origin, judge = one_row_per_vote(table, columns.judges)
        empty = len(rows) * len(columns.judges) - len(table)
        if empty:
            say(f"{plural(empty, 'empty cell')} left out: no comparison by that judge.")
        return cls(table, named, columns.judges, origin, judge)

    def with_judges(
        self, stored: JoinedTables, say: Callable[[str], None], needed: bool | None = None
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

    def rules(
        self, rules: VoteRules, ids: np.ndarray | None, say: Callable[[str], None]
    ) -> VoteRules:
        """The rules, with codes for words that can only mean left, right or tie."""
        if {*LAYOUTS[0]} <= {*self.named}:
            rules = replace(rules, side_names=(self.named["left"], self.named["right"]))
        if rules.winner_codes or "loser" in self.table.columns:
            self._say_skipped(rules.winner_codes or {}, say)
            return self._without_blanks(rules, say)
        codes = side_words(self.table.get_column("winner"), ids)
        other = {code: side for code, side in codes.items() if code.casefold() != side}
        if other:
            said = ", ".join(f"{code!r} means {side}" for code, side in other.items())
            say(f"in the column of winners, {said}.")
        return self._without_blanks(replace(rules, winner_codes=codes or None), say)

    def _without_blanks(self, rules: VoteRules, say: Callable[[str], None]) -> VoteRules:
        """The rules, with rows that have no winner left out: comparisons that were not made."""
        blank = self.table.get_column("winner").is_missing()
        codes, names = rules.winner_codes or {}, {*self.table.columns}
        has_sides = any({*sides} <= names for sides in LAYOUTS)
        if not blank.any() or not has_sides or "tie" in names or None in check_codes(codes):
            return rules
        if blank.all():
            name = self.named.get("winner", "winner")
            raise PairscoreError(f"the column {name!r} is empty: no comparison has a winner yet.")
        say(f"{blank.sum()} of {plural(len(blank), 'comparison')} left out: no winner is given.")
        return replace(rules, winner_codes={**codes, None: "skip"})

    def _say_skipped(self, winner_codes: Mapping[Any, str], say: Callable[[str], None]) -> None:
        """Count the rows that codes leave out."""
        skipped = self._skipped(winner_codes)
        if skipped is not None and skipped.any():
            number = plural(len(skipped), "comparison")
            say(f"{skipped.sum()} of {number} left out, as the winner codes say.")

    def part_of_rows(self, stored: JoinedTables, rules: VoteRules) -> np.ndarray:
        """Which of the stored tables each comparison came from, without those left out."""
        part = np.repeat(np.arange(len(stored.parts)), stored.lengths)
        part = part if self.origin is None else part[self.origin]
        skipped = self._skipped(rules.winner_codes or {})
        return part if skipped is None else part[~skipped]

    def _skipped(self, winner_codes: Mapping[Any, str]) -> np.ndarray | None:
        """Mask of the rows that codes leave out; None if there are no such codes."""
        codes = check_codes(winner_codes)
        if SKIPPED not in codes.values() or "winner" not in self.table.columns:
            return None
        won = self.table.get_column("winner").to_numpy().tolist()
        return np.array([codes.get(None if is_missing(v) else v) == SKIPPED for v in won])

    def located(self, faults: list[BadEntriesError], stored: JoinedTables) -> BadFilesError:
        """The faults by the lines and columns of the files."""
        faults = [self._in_file(fault) for fault in faults]
        located = [locate_faults(some, part, self.named) for part, some in stored.by_part(faults)]
        return BadFilesError([one for file in located for one in file.errors])

    def _in_file(self, fault: BadEntriesError) -> BadEntriesError:
        if self.origin is None or self.judge is None:
            return fault
        entries = [
            (int(self.origin[row]), self.judge[row] if column == "winner" else column, value)
            for row, column, value in fault.entries
        ]
        return BadEntriesError(fault.what, fault.remedy, fault.table, entries, fault.reason)


# -- items of a file of any size -------------------------------------------------------------------


class ItemPieces:
    """The features of the items of a stored table, piece by piece: called, an iterator of matrices.

    The first pass collects the ``ids`` and counts the items ``dropped`` for missing values. Rows in
    ``skipped`` are not among them.
    """

    def __init__(self, table: StoredTable, recipe: Recipe, skipped: Collection[int] = ()):
        recipe.refuse_absent(table.cells)
        self.table, self.recipe = table, recipe
        self.n_rows = len(table)
        self.skipped = np.array(sorted(skipped), dtype=int)
        self.ids: np.ndarray | None = None
        self.dropped = 0

    def __call__(self) -> Iterator[np.ndarray]:
        names, dropped = [], 0
        for first, whole in self._pieces():
            rows = np.setdiff1d(np.arange(first, first + len(whole)), self.skipped)
            piece = whole if len(rows) == len(whole) else whole.take(rows - first)
            values, kept, ids = self._features(piece, rows)
            dropped += int(np.count_nonzero(~kept))
            if self.ids is None:
                names.append(ids[kept])
            yield values
        if self.ids is None and names:
            self.ids, self.dropped = np.concatenate(names), dropped
            refuse_bad_ids(self.ids)

    def _features(
        self, piece: Columns, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Feature values of the items kept, a mask of those, and what all items are called."""
        found = self.recipe.ids(piece)
        ids = (np.arange(len(piece)) if rows is None else rows) if found is None else found
        values = self.recipe.matrix(piece)
        kept = self.recipe.complete_rows(values, ids)
        refuse_non_finite(
            values if kept.all() else np.where(kept[:, None], values, 0.0), self.recipe.names
        )
        return values if kept.all() else values[kept], kept, ids

    def faults(self) -> list[BadEntriesError]:
        """All that is wrong with the items, wherever it is."""
        faults = []
        for first, piece in self._pieces():
            faults += all_faults(self._features, piece, first)
        if self.recipe.id:
            ids = np.concatenate([piece[self.recipe.id] for _, piece in self._pieces()])
            faults += all_faults(lambda table: refuse_bad_ids(table["id"]), Columns({"id": ids}))
        return faults

    def names_of(self, rows: Collection[int]) -> dict[int, Any]:
        """What the items of some rows are called."""
        if not self.recipe.id:
            return {row: row for row in rows}
        ids = np.concatenate([piece[self.recipe.id] for _, piece in self._pieces()]).tolist()
        return {row: ids[row] for row in sorted(rows)}

    def missing(self, name: str) -> np.ndarray:
        """The rows that have no entry in a column."""
        columns = (piece.get_column(name).is_missing() for piece in self.table.pieces({name}))
        return np.flatnonzero(np.concatenate([*columns]))

    def _pieces(self) -> Iterator[tuple[int, Columns]]:
        first = 0
        names = {*self.recipe.sources, *([self.recipe.id] if self.recipe.id else [])}
        for piece in self.table.pieces(names):
            yield first, piece
            first += len(piece)


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


def known_by_row(votes: Votes, items: Items, table: Columns) -> str:
    """The note that comparisons name items by row number; refused where they never name row 0."""
    names, likely, n = np.asarray(items.names, dtype=int), likely_id(table), len(table)
    used = names[np.union1d(votes.left, votes.right)]  # items with missing values may be gone
    if used.min() > 0 and names[0] == 0:
        remedy = "add a column id to the items" if likely is None else f"perhaps id={likely!r}"
        raise PairscoreError(
            f"the items have no column 'id', so the comparisons name them by row number, from 0 to"
            f" {n - 1}, but the numbers there run from {used.min()} to {used.max()}; {remedy}, or"
            " count from 0."
        )
    but = ""
    if likely is not None and not {*map(str, used)} <= {*map(plain_id, table[likely].tolist())}:
        but = f"; {likely!r} looks like ids, but the comparisons name others"
    return f"the items have no column 'id': they are known by row number, from 0 to {n - 1}{but}."
