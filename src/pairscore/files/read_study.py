"""Items and comparisons of a command, from files: checked once, with all faults of both files."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.data.features import Recipe, recipe_of
from pairscore.data.items import Items, refuse_bad_ids, refuse_non_finite
from pairscore.data.tables import Columns
from pairscore.data.votes import Votes, read_votes
from pairscore.errors import BadEntriesError, BadRowsError, PairscoreError, closest, plural
from pairscore.files.faults import BadFilesError, all_faults, locate_faults
from pairscore.files.study_columns import ItemColumns, PairColumns, VoteColumns
from pairscore.files.tables import StoredTable, stored_table


@dataclass(frozen=True)
class ItemsInput:
    """Items from a file, ready for use.

    ``recipe`` made their features; ``left_out`` names the columns of text, ``nested`` those of
    lists or records, that are no features.
    """

    items: Items
    recipe: Recipe
    left_out: list[str]
    nested: list[str]


@dataclass(frozen=True)
class StudyInput(ItemsInput):
    """Items and votes from files, and the group of every item where groups were named."""

    votes: Votes
    groups: np.ndarray | None = None

    @property
    def comparisons(self) -> Comparisons:
        """Items with the votes on them; the items know how their features were made."""
        items = replace(self.items, recipe=self.recipe.to_record())
        return Comparisons.of(items, self.votes)


def read_item_file(items_file: Any, *, columns: Mapping[str, Any], **reading: Any) -> ItemsInput:
    """Read items from a file.

    ``columns`` are the settings of ``make_recipe``; ``reading`` may name delimiter and encoding.
    """
    needed = ItemColumns(columns)
    with _open_table(items_file, needed, **reading) as stored:
        table = stored.read()
        recipe, left_out = needed.make_recipe(table)
        items = _items_or_faults(recipe, table, stored)
    dropped = len(table) - len(items)
    note = f"{plural(dropped, 'item')} dropped" if dropped else recipe.note
    return ItemsInput(items, replace(recipe, note=note), left_out, needed.nested)


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
    context: Collection[str] = (),
    group: str | None = None,
    **reading: Any,
) -> StudyInput:
    """Read items and comparisons from files; columns that neither needs may hold anything.

    Parameters
    ----------
    items_file, votes_file
        Paths of CSV, Parquet or JSONL files; one of them may be ``-``, CSV from standard input.
        Comparisons may be in several files with the same columns (one for each judge): a list.
    recipe : Recipe or None
        That of a model; without one it is made from ``columns``.
    columns : dict
        Settings of ``make_recipe``: id, features, exclude, categorical, ...
    vote_columns : dict
        Which columns of the comparisons are ``left``, ``winner``, ... under other names.
    self_pairs, seed, context
        As in :func:`~pairscore.data.votes.read_votes`.
    id_is_optional : bool
        Whether items are known by row number where the recipe's column of ids is absent.
    group : str or None
        A column of the items that says which belong together.
    **reading
        Delimiter and encoding of CSV files.
    """
    votes_files = votes_file if isinstance(votes_file, list | tuple) else [votes_file]
    if [str(file) for file in (items_file, *votes_files)].count("-") > 1:
        raise PairscoreError(
            "standard input can be the items or the comparisons, not both; name a file for one of"
            " them."
        )
    items = ItemColumns(columns or {}, recipe, id_is_optional, group)
    votes = VoteColumns.of(vote_columns, context)
    with ExitStack() as stack:
        needed: list[tuple[Any, ItemColumns | VoteColumns]] = [(items_file, items)]
        needed += [(file, votes) for file in votes_files]
        files = _open_tables(stack, needed, reading)
        return _read_study(files, items, votes, _VoteRules(self_pairs, seed, context))


@dataclass(frozen=True)
class _VoteRules:
    """How votes are read against items: the arguments of ``read_votes`` that a study keeps."""

    self_pairs: str = "error"
    seed: int = 0
    context: Collection[str] = ()

    def read(self, votes: Columns, items: Items) -> Votes:
        read = read_votes(votes, items, self.self_pairs, self.seed, self.context)
        return replace(read, self_pairs=self.self_pairs)


def _read_study(
    files: list[StoredTable], items: ItemColumns, votes: VoteColumns, rules: _VoteRules
) -> StudyInput:
    table, *parts = (file.read() for file in files)
    recipe, left_out = items.make_recipe(table)
    rows = _joined([votes.rename(part, recipe.ids(table)) for part in parts], files[1:])
    try:
        study, complete = _read_complete(recipe, table, rows, rules)
    except BadEntriesError as error:
        if error.table == "items":
            raise _item_faults(recipe, table, files[0]) from error
        faults = all_faults(lambda some: _read_complete(recipe, table, some, rules), rows)
        hint = _likely_id(recipe, table)
        located = [
            locate_faults(some, file, votes.named, hint)
            for file, some in zip(files[1:], _by_file(faults, parts), strict=True)
        ]
        raise BadFilesError([one for file in located for one in file.errors]) from error
    groups = None if items.group is None else table[items.group][complete]
    return replace(study, left_out=left_out, nested=items.nested, groups=groups)


def _joined(parts: list[Columns], files: list[StoredTable]) -> Columns:
    """The rows of several files one after the other; they must have the same columns."""
    if len(parts) == 1:
        return parts[0]
    first, *others = parts
    for part, file in zip(others, files[1:], strict=True):
        odd = sorted({*part.columns} ^ {*first.columns})
        if odd:
            raise PairscoreError(
                f"{file.source.shown!r} and {files[0].source.shown!r} do not have the same columns"
                f" ({', '.join(map(repr, odd))}); give all files of comparisons the same."
            )
    return Columns(
        {name: np.concatenate([part[name] for part in parts]) for name in first.columns},
        from_file=True,
    )


def _by_file(faults: list[BadEntriesError], parts: list[Columns]) -> list[list[BadEntriesError]]:
    """Faults of the joined rows, for each file with the rows that they have there."""
    ends = np.cumsum([len(part) for part in parts])
    return [
        [
            BadEntriesError(fault.what, fault.remedy, fault.table, mine, fault.reason)
            for fault in faults
            if (
                mine := [
                    (row - int(end) + len(part), column, value)
                    for row, column, value in fault.entries
                    if end - len(part) <= row < end
                ]
            )
        ]
        for end, part in zip(ends, parts, strict=True)
    ]


def _read_complete(
    recipe: Recipe, table: Columns, votes: Columns, rules: _VoteRules
) -> tuple[StudyInput, np.ndarray]:
    """Items and votes without what the recipe drops for missing values, and a mask of the rest."""
    if recipe.missing != "drop-items":
        items = recipe.items(table)
        study = StudyInput(items, recipe, [], [], rules.read(votes, items))
        return study, np.ones(len(table), dtype=bool)
    ids = recipe.ids(table)
    if ids is not None:
        refuse_bad_ids(ids)
    values, names = recipe.matrix(table), np.arange(len(table)) if ids is None else ids
    complete = recipe.complete_rows(values, names)
    read = rules.read(votes, Items(values, recipe.names, ids, Columns))
    usable = complete[read.left] & complete[read.right]
    n_dropped = int(np.count_nonzero(~complete))
    if not complete.any() or not usable.any():
        raise PairscoreError(
            f"{plural(n_dropped, 'item')} of {len(complete)} with missing values, and no"
            " comparison without them; fill some in."
        )
    refuse_non_finite(np.where(complete[:, None], values, 0.0), recipe.names)
    items = Items(values[complete], recipe.names, names[complete], Columns)
    rows = plural(int(np.count_nonzero(~usable)), "row")
    note = f"{plural(n_dropped, 'item')} dropped, with {rows} of comparisons" if n_dropped else ""
    new_row, read = np.cumsum(complete) - 1, read[usable]
    read = replace(read, left=new_row[read.left], right=new_row[read.right])
    return StudyInput(items, replace(recipe, note=note), [], [], read), complete


def read_new_votes(
    votes_file: Any,
    items: Items,
    context: Collection[str],
    vote_columns: Mapping[str, str | None],
    *,
    self_pairs: str = "error",
    **reading: Any,
) -> Votes:
    """Comparisons from a file, of items that are known already."""
    columns = VoteColumns.of(vote_columns, context)
    return _votes_of(votes_file, items, columns, _VoteRules(self_pairs, 0, context), reading)


def read_pairs(
    pairs_file: Any,
    items: Items,
    context: Collection[str],
    vote_columns: Mapping[str, str | None],
    **reading: Any,
) -> Comparisons:
    """Pairs from a file that have no winner, or one that does not count; see ``from_pairs``."""
    columns = PairColumns.of(vote_columns, context)
    votes = _votes_of(pairs_file, items, columns, _VoteRules("error", 0, context), reading)
    return Comparisons.of(items, votes)


def _votes_of(
    votes_file: Any,
    items: Items,
    columns: VoteColumns,
    rules: _VoteRules,
    reading: Mapping[str, Any],
) -> Votes:
    with _open_table(votes_file, columns, **reading) as stored:
        votes = columns.rename(stored.read(), items.ids)
        try:
            return rules.read(votes, items)
        except BadEntriesError as error:
            faults = all_faults(lambda rows: rules.read(rows, items), votes)
            raise locate_faults(faults, stored, columns.named) from error


def read_new_items(items_file: Any, fit: Any, id: str | None = None, **reading: Any) -> Items:
    """Items from a file, with the features of a fit; ``id`` names another column of ids."""
    recipe = recipe_of(fit) if id is None else replace(recipe_of(fit), id=id)
    needed = ItemColumns(recipe=recipe, id_is_optional=id is None and fit.recipe is None)
    with _open_table(items_file, needed, **reading) as stored:
        table = stored.read()
        return _items_or_faults(needed.recipe_for(table.columns), table, stored)


def _items_or_faults(recipe: Recipe, table: Columns, stored: StoredTable) -> Items:
    try:
        return recipe.items(table)
    except BadEntriesError as error:
        raise _item_faults(recipe, table, stored) from error


def _item_faults(recipe: Recipe, table: Columns, stored: StoredTable) -> BadFilesError:
    return locate_faults(all_faults(recipe.items, table), stored, {"id": recipe.id or "id"})


def _likely_id(recipe: Recipe, table: Columns) -> str:
    """Where items are known by row number: the column that may have their ids."""
    close = closest("id", table.columns) if recipe.id is None else None
    return "" if close is None else f" (did you mean id={close!r}?)"


def _open_table(path: Any, columns: ItemColumns | VoteColumns, **reading: Any) -> Any:
    identifiers = columns.identifiers
    return stored_table(path, identifiers=identifiers, columns=columns.choose, **reading)


def _open_tables(
    stack: ExitStack, files: list[tuple[Any, ItemColumns | VoteColumns]], reading: Mapping[str, Any]
) -> list[StoredTable]:
    """Tables that stay while the stack does; the bad rows of all are reported together."""
    tables, errors = [], []
    for path, columns in files:
        try:
            tables.append(stack.enter_context(_open_table(path, columns, **reading)))
        except BadRowsError as error:
            errors.append(error)
    if errors:
        raise BadFilesError(errors)
    return tables


# -- items of a file of any size -------------------------------------------------------------------


class ItemPieces:
    """The features of the items of a stored table, piece by piece.

    Call it for an iterator of matrices.

    The first pass collects the ``ids`` and counts the items ``dropped`` for missing values.
    """

    def __init__(self, table: StoredTable, recipe: Recipe):
        recipe.refuse_absent(table.cells)
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

    def _features(
        self, piece: Columns, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Feature values of the items kept, a mask of those, and what all items are called."""
        found = self.recipe.ids(piece)
        ids = np.arange(first, first + len(piece)) if found is None else found
        values = self.recipe.matrix(piece)
        kept = self.recipe.complete_rows(values, ids)
        refuse_non_finite(
            values if kept.all() else np.where(kept[:, None], values, 0.0), self.recipe.names
        )
        return values if kept.all() else values[kept], kept, ids

    def faults(self) -> list[BadEntriesError]:
        """All that is wrong with the items, wherever it is."""
        faults, first = [], 0
        for piece in self._pieces():
            faults += all_faults(self._features, piece, first)
            first += len(piece)
        if self.recipe.id:
            ids = Columns(
                {"id": np.concatenate([piece[self.recipe.id] for piece in self._pieces()])}
            )
            faults += all_faults(lambda table: refuse_bad_ids(table["id"]), ids)
        return faults

    def _pieces(self) -> Iterator[Columns]:
        return self.table.pieces(
            {*self.recipe.sources, *([self.recipe.id] if self.recipe.id else [])}
        )
