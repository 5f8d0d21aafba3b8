"""From two files to items and votes: columns by the names that the user gave them, features by a recipe."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from pairscore.columns import Column, Columns
from pairscore.errors import BadEntriesError, BadRow, BadRowsError, PairscoreError, first_few, plural
from pairscore.files import StoredTable, read_table, row_lines, write_table
from pairscore.items import Items, refuse_bad_ids, refuse_non_finite
from pairscore.recipe import Recipe, make_recipe
from pairscore.votes import LAYOUTS, Votes, read_votes

SIDES = tuple(name for layout in LAYOUTS for name in layout)
VOTE_IDENTIFIERS = (*SIDES, "winner", "loser", "judge")
VOTE_COLUMNS = ("left", "right", "winner", "loser", "judge", "weight", "count")


class BadFilesError(PairscoreError):
    """Rows of one or two files cannot be read; ``errors`` has what is wrong with each file."""

    def __init__(self, errors: list[BadRowsError]):
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


@dataclass(frozen=True)
class Intake:
    """Items and votes ready for a fit, the recipe that made their features, and the text columns that it left out."""

    items: Items
    votes: Votes
    recipe: Recipe
    left_out: list[str]


def read_study(
    items_file: Any,
    votes_file: Any,
    *,
    recipe: Recipe | None = None,
    columns: Mapping[str, Any] | None = None,
    vote_columns: Mapping[str, str | None] | None = None,
    self_pairs: str = "error",
    id_is_optional: bool = False,
    seed: int = 0,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Intake:
    """Read items and comparisons from files.

    ``recipe`` is that of a model; without one it is made from ``columns``, the settings of
    ``make_recipe``. ``vote_columns`` says which columns of the comparisons are ``left``, ``winner``, ...
    where they have other names. A ``recipe`` with ``id_is_optional`` knows items by row number where its column of ids is absent.
    """
    if str(items_file) == str(votes_file) == "-":
        raise PairscoreError("standard input can be the items or the comparisons, not both; name a file for one of them.")
    columns, named = dict(columns or {}), {role: name for role, name in (vote_columns or {}).items() if name}
    text_columns = item_identifiers(recipe, **columns)
    options = {"delimiter": delimiter, "encoding": encoding}
    vote_identifiers = {*VOTE_IDENTIFIERS, *(name for role, name in named.items() if role in VOTE_IDENTIFIERS)}
    table, votes = _read_both((items_file, text_columns), (votes_file, vote_identifiers), options)
    left_out: list[str] = []
    if recipe is None:
        recipe, left_out = make_recipe(table, **columns)
    elif id_is_optional and recipe.id not in table:
        recipe = replace(recipe, id=None)
    renamed = rename_votes(votes, named, recipe.ids(table))
    try:
        return Intake(*_dropped(recipe, table, renamed, self_pairs, seed), left_out)
    except BadEntriesError as error:
        if error.table == "items":
            raise items_refused(all_faults(recipe.items, table), items_file, recipe, options) from error
        faults = all_faults(lambda rows: _dropped(recipe, table, rows, self_pairs, seed), renamed)
        raise BadFilesError([_located(fault, votes_file, named, options) for fault in faults]) from error


def all_faults(check: Callable[[Columns], Any], table: Columns, first: int = 0) -> list[BadEntriesError]:
    """Everything that ``check`` has against a table whose rows count from ``first``: it is asked again without the rows that it refused."""
    faults, rows = [], np.arange(len(table))
    while True:
        try:
            check(table.take(rows))
        except BadEntriesError as error:
            entries = [(first + int(rows[row]), column, value) for row, column, value in error.entries]
            faults.append(BadEntriesError(error.what, error.remedy, error.table, entries, error.reason))
            rows = np.delete(rows, [row for row, _, _ in error.entries])
            continue
        except PairscoreError:
            pass  # nothing is left, or not enough: the faults found say why
        return faults


def items_refused(faults: list[BadEntriesError], path: Any, recipe: Recipe, options: Mapping[str, Any]) -> BadFilesError:
    """The faults of a file of items."""
    return BadFilesError([_located(fault, path, {"id": recipe.id or "id"}, options) for fault in faults])


def _located(error: BadEntriesError, path: Any, named: Mapping[str, str], options: Mapping[str, Any]) -> BadRowsError:
    """What is wrong with a table, by physical lines and the names that the columns have in the file."""
    lines = row_lines(path, [row for row, _, _ in error.entries], **options)
    rows = [
        BadRow(line, named.get(column, column), "" if value is None else str(value)[:200], error.reason)
        for line, (_, column, value) in zip(lines, error.entries, strict=True)
    ]
    remedy = error.remedy.replace("pass self_pairs='keep'", "use --self-pairs")
    return BadRowsError("standard input" if str(path) == "-" else str(path), sorted(rows, key=lambda row: row.line), remedy)


def item_identifiers(recipe: Recipe | None, *, id: str | None = None, categorical: Any = (), **_: Any) -> set[str]:
    """The columns of an item table that are read as exact text: the ids and the categories."""
    return {id or "id", *categorical} if recipe is None else {recipe.id or "id", *recipe.categorical}


def _read_both(*files: Any) -> list[Columns]:
    """Two tables; the bad rows of both are reported together."""
    *named, options = files
    tables, errors = [], []
    for path, identifiers in named:
        try:
            tables.append(read_table(path, identifiers=identifiers, **options))
        except BadRowsError as error:
            errors.append(error)
    if errors:
        raise BadFilesError(errors)
    return tables


def rename_votes(votes: Columns, named: Mapping[str, str], ids: np.ndarray | None = None) -> Columns:
    """The comparisons under the names that pairscore knows.

    A column in the role of another hides the one that has that name, and a named loser hides the
    sides. The winner may be told by the name of a side's column, as in ``model_a``.
    """
    for role, name in named.items():
        if name not in votes:
            close = get_close_matches(name, votes.columns, 1)
            raise PairscoreError(
                f"--{role} names {name!r}, and the comparisons have no such column; they have {first_few(map(repr, votes.columns), 8)}."
                + (f" Did you mean {close[0]!r}?" if close else "")
            )
    if "loser" in named and {"left", "right"} & set(named):
        raise PairscoreError("--loser goes without --left and --right: either a row names a winner and a loser, or two sides and the winner of them.")
    without_sides = set(SIDES) if "loser" in named else set(LAYOUTS[1]) if {"left", "right"} & set(named) else set()
    hidden = {*named, *named.values(), *without_sides}
    columns = {name: votes.get_column(name) for name in votes.columns if name not in hidden}
    columns |= {role: votes.get_column(name) for role, name in named.items()}
    sides = {named[role]: role for role in ("left", "right") if role in named and named[role] != role}
    if sides and "winner" in columns:
        columns["winner"] = _by_side(columns["winner"], sides, ids)
    return Columns(columns, as_written=True)


def _by_side(winner: Column, sides: dict[str, str], ids: np.ndarray | None) -> Column:
    """The names of the sides' columns, in the column of winners, as left and right."""
    told = [name for name in sides if name in set(winner.values.tolist())]
    clash = sorted(set(told) & set(map(str, [] if ids is None else ids.tolist())))
    if clash:
        raise PairscoreError(f"{clash[0]!r} is both an item and the column of a side, so a winner of that name is unclear; rename the item or the column.")
    if not told:
        return winner
    values = np.array([sides.get(value, value) if isinstance(value, str) else value for value in winner.values.tolist()], dtype=object)
    return Column(values, winner.codes)


def _dropped(recipe: Recipe, table: Columns, votes: Columns, self_pairs: str, seed: int) -> tuple[Items, Votes, Recipe]:
    """Items and votes without the items that the recipe drops for missing values, and a note on how many."""
    ids = recipe.ids(table)
    if recipe.missing != "drop-items":
        items = recipe.items(table)
        return items, replace(read_votes(votes, items, self_pairs, seed), self_pairs=self_pairs), recipe
    if ids is not None:
        refuse_bad_ids(ids)
    values = recipe.matrix(table)
    kept = recipe.complete(values, np.arange(len(table)) if ids is None else ids)
    everything = Items(values, recipe.names, ids, Columns)
    read = read_votes(votes, everything, self_pairs, seed)
    whole = kept[read.left] & kept[read.right]
    if not kept.any() or not whole.any():
        raise PairscoreError(f"{plural(int((~kept).sum()), 'item')} of {len(kept)} with missing values, and no comparison without them; fill some in.")
    place = np.cumsum(kept) - 1
    columns = {name: column[whole] for name in ("outcome", "weight", "count", "judge") if (column := getattr(read, name)) is not None}
    note = f"{plural(int((~kept).sum()), 'item')} dropped, with {plural(int((~whole).sum()), 'row')} of comparisons" if not kept.all() else ""
    items = Items(values[kept], recipe.names, np.flatnonzero(kept) if ids is None else ids[kept], Columns)
    refuse_non_finite(np.where(kept[:, None], values, 0.0), items.feature_names)
    return items, replace(read, left=place[read.left[whole]], right=place[read.right[whole]], self_pairs=self_pairs, **columns), replace(recipe, note=note)


class ItemPieces:
    """The features of the items of a stored table, piece by piece: call it for an iterator of matrices.

    The first pass collects the ``ids`` and counts the items ``dropped`` for missing values.
    """

    def __init__(self, table: StoredTable, recipe: Recipe):
        recipe.refuse_absent(table.names)
        self.table, self.recipe = table, recipe
        self.n_rows = len(table)
        self.ids: np.ndarray | None = None
        self.dropped = 0

    def __call__(self) -> Iterator[np.ndarray]:
        names, dropped, first = [], 0, 0
        for piece in self._pieces():
            values, kept, ids = self._features(piece, first)
            first += len(piece)
            dropped += int(np.count_nonzero(~kept))
            if self.ids is None:
                names.append(ids[kept])
            yield values
        if self.ids is None and names:
            self.ids, self.dropped = np.concatenate(names), dropped
            refuse_bad_ids(self.ids)

    def _features(self, piece: Columns, first: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Feature values of the items kept, a mask of those, and what all items are called."""
        found = self.recipe.ids(piece)
        ids = np.arange(first, first + len(piece)) if found is None else found
        values = self.recipe.matrix(piece)
        kept = self.recipe.complete(values, ids)
        refuse_non_finite(values if kept.all() else np.where(kept[:, None], values, 0.0), self.recipe.names)
        return values if kept.all() else values[kept], kept, ids

    def faults(self) -> list[BadEntriesError]:
        """All that is wrong with the items, wherever it is."""
        faults, first = [], 0
        for piece in self._pieces():
            faults += all_faults(self._features, piece, first)
            first += len(piece)
        if self.recipe.id:
            ids = Columns({"id": np.concatenate([piece[self.recipe.id] for piece in self._pieces()])})
            faults += all_faults(lambda table: refuse_bad_ids(table["id"]), ids)
        return faults

    def _pieces(self) -> Iterator[Columns]:
        return self.table.pieces({*self.recipe.sources, *([self.recipe.id] if self.recipe.id else [])})


def write_bad_rows(errors: list[BadRowsError], path: Any) -> bool:
    """Write all bad rows to a CSV file; False where that is impossible (the rows have been told anyway)."""
    rows = [(error.file, row.line, row.column, row.text, row.reason) for error in errors for row in error.rows]
    columns = zip(("file", "line", "column", "text", "reason"), zip(*rows, strict=True), strict=True)
    with suppress(PairscoreError):
        write_table({name: np.array(values, dtype=object if name != "line" else int) for name, values in columns}, path)
        return True
    return False
