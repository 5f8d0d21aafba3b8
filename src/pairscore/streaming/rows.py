"""From batches of a table to row numbers of items, outcomes and amounts; and the item table.

What is usual (ids of both sides, a winner that is a side, a tie or an id) is looked up at once; for
whatever else, and to say what is wrong, a batch goes to :func:`pairscore.data.votes.read_votes`, so
that a comparison means the same here as in a fit in memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairscore.choices import NO_SIDES
from pairscore.core.passes import counts_once
from pairscore.data.conventions import check_names
from pairscore.data.features import Recipe
from pairscore.data.find_ids import (
    FaultyIdsError,
    as_ids,
    choose_among,
    distinct,
    find_id_column,
    id_settings,
)
from pairscore.data.items import (
    Items,
    are_computable,
    read_items,
    refuse_bad_ids,
)
from pairscore.data.tables import ID_COLUMN, Column, Columns, as_frame, column_of, ids_of
from pairscore.data.votes import (
    TIE_WORDS,
    Votes,
    layout_of,
    read_votes,
    refuse_items_called,
)
from pairscore.errors import BadEntriesError, PairscoreError, did_you_mean, first_few, shown
from pairscore.files.partitions import FilePartition, Partition, import_arrow, is_text, partitions
from pairscore.files.sheets import composed, without_blanks
from pairscore.files.source import ANY_NUMBER, NUMERIC_SHARE

if TYPE_CHECKING:
    import pyarrow as pa

OPTIONAL = ("tie", "weight", "count")
ITEM_ROWS = 1 << 17  # of a Parquet file with items in one partition
AT_ONCE = 512  # rows of the items whose columns stay in the cache
HEAD = 1000  # rows of the items by which columns are told to be features
NO_WORD = 2  # an outcome that is not known yet


class Batch(NamedTuple):
    """Comparisons of the rows of an item table, all arrays (m).

    ``left`` and ``right`` are row numbers, ``outcome`` is 1, 0 or -1, ``amount`` weight times
    count; ``weight`` and the counts (``times``) are None where every row has 1.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray
    weight: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every row counts once."""
        return self.weight is None and self.times is None

    @property
    def has_ones(self) -> bool:
        """Whether every amount is known to be 1, by :func:`ones`."""
        return counts_once(self.amount)

    def take(self, rows: Any) -> "Batch":
        """Some of the rows: a slice, a mask or numbers."""
        columns = [None if column is None else column[rows] for column in self]
        return Batch(*columns)  # type: ignore[arg-type]


def ones(n: int) -> np.ndarray:
    """Amounts of 1 (n), which take no memory."""
    return np.broadcast_to(1.0, n)


@dataclass(frozen=True)
class Layout:
    """Columns of a table of comparisons by role: names in the file by names as we have them."""

    columns: Mapping[str, str]
    sides: tuple[str, str]

    @property
    def has_sides(self) -> bool:
        return self.sides != NO_SIDES

    @property
    def identifiers(self) -> list[str]:
        """The columns that name items, as the file calls them."""
        return [self.columns[role] for role in dict.fromkeys((*self.sides, "winner"))]

    @classmethod
    def of_names(cls, names: list[str], given: Mapping[str, str]) -> "Layout":
        """The layout of a file with these columns, some perhaps named by the user (role: name)."""
        roles = check_names(given)[1]
        found = {name: name for name in names if name not in roles.values()} | dict(roles)
        sides = layout_of(list(found))
        wanted = dict.fromkeys((*sides, "winner", *OPTIONAL))
        return cls({role: found[role] for role in wanted if role in found}, sides)


@dataclass(frozen=True)
class RowReader:
    """Reads partitions as batches of row numbers.

    Parameters
    ----------
    items : Items
        The ids, by which rows are found; features are not needed.
    layout : Layout
    self_pairs : {"error", "keep"}
    drop_ties : bool
        Leave ties out.
    """

    items: Items
    layout: Layout
    self_pairs: str = "error"
    drop_ties: bool = False

    def batches(self, part: Partition) -> Iterator[Batch]:
        """The comparisons of a partition, ties left out if so asked."""
        for batch in self.all_batches(part):
            tied = batch.outcome == 0 if self.drop_ties else np.zeros(0, dtype=bool)
            yield batch.take(~tied) if tied.any() else batch

    def all_batches(self, part: Partition) -> Iterator[Batch]:
        """The comparisons of a partition, ties too."""
        text = self.layout.identifiers if self._ids_are_text else [self.layout.columns["winner"]]
        for first, table in part.read(list(self.layout.columns.values()), text):
            if not len(table):
                continue
            with located(part.name, first, self.layout.columns):
                batch = self._usual(table) or self._any(table)
            yield batch

    @cached_property
    def _ids_are_text(self) -> bool:
        return self.items.ids is not None and self.items.ids.dtype.kind not in "iu"

    @cached_property
    def _words(self) -> dict[str, int]:
        """What a winner may be called, if it is not by its id."""
        first, second = self.layout.sides
        words = {first: 1, second: -1, "left": 1, "right": -1, **dict.fromkeys(TIE_WORDS, 0)}
        if self._ids_are_text:
            refuse_items_called(words, self.items)
        return words

    @cached_property
    def _places(self) -> tuple[np.ndarray, int] | None:
        """The row of every number from the lowest id to the highest, and the lowest id."""
        ids = np.arange(len(self.items)) if self.items.ids is None else self.items.ids
        if self._ids_are_text or int(ids.max()) - int(ids.min()) > 8 * len(ids) + 1000:
            return None
        low, high = int(ids.min()), int(ids.max())
        places = np.full(high - low + 1, -1, dtype=np.int32)
        places[ids - low] = np.arange(len(ids), dtype=np.int32)
        return places, low

    @cached_property
    def _are_row_numbers(self) -> bool:
        """Whether ids are row numbers, which need not be looked up."""
        if self._places is None:
            return False
        places, low = self._places
        n = len(self.items)
        return low == 0 and len(places) == n < 2**31 and bool(np.all(places == np.arange(n)))

    def _usual(self, table: "pa.RecordBatch") -> Batch | None:
        """Ids of both sides, and who won; None where something is not usual."""
        columns = [table.column(name) for name in self.layout.columns.values()]
        by_role = dict(zip(self.layout.columns, columns, strict=True))
        if "tie" in by_role or any(column.null_count for column in columns):
            return None
        left, right = (self._rows(by_role[side]) for side in self.layout.sides)
        if left is None or right is None or min(left.min(), right.min()) < 0:
            return None
        if self.self_pairs == "error" and np.any(left == right):
            return None
        outcome: np.ndarray | None = np.ones(len(left), dtype=np.int8)
        if self.layout.has_sides:
            outcome = self._outcome(by_role["winner"], left, right)
        amounts = [_numbers(by_role.get(role)) for role in ("weight", "count")]
        if outcome is None or any(of is not None and not _are_amounts(of) for of in amounts):
            return None
        count = amounts[1]
        if count is not None and np.any(count != np.floor(count)):
            return None
        amount = ones(len(left))
        for of in amounts:
            amount = amount if of is None else amount * of
        return Batch(left, right, outcome, amount, *amounts)

    def _rows(self, column: "pa.Array") -> np.ndarray | None:
        """Row numbers of ids, -1 for an unknown one; None where they are not usual."""
        coded = _coded(column)
        if coded is not None:
            values, codes = coded
            return self.items.find_rows_by_text(values).astype(np.int32)[codes]
        names = column.to_numpy(zero_copy_only=False)
        if self._places is None or names.dtype.kind not in "iu":
            return None if names.dtype.kind not in "iu" else self.items.find_rows(names)
        places, low = self._places
        if len(names) and not low <= int(names.min()) <= int(names.max()) < low + len(places):
            return None
        if self._are_row_numbers:
            return names.astype(np.int32, copy=False)
        return places[names - low] if low else places[names]

    def _outcome(
        self, winner: "pa.Array", left: np.ndarray, right: np.ndarray
    ) -> np.ndarray | None:
        """Who won, by words for the sides and ties or by ids; None where some are neither."""
        words, coded = self._words, _coded(winner)
        if coded is None:
            outcome = np.full(len(left), NO_WORD, dtype=np.int8)
        else:
            values, codes = coded
            known = [words.get(value, NO_WORD) for value in values.tolist()]
            outcome = _by_code(known, codes)
            if NO_WORD not in known:
                return outcome
        won = self._rows(winner)
        if won is None:
            return None
        unclear = outcome == NO_WORD
        outcome[unclear & (won == right)] = -1
        outcome[unclear & (won == left)] = 1
        return None if np.any(outcome == NO_WORD) else outcome

    def _any(self, table: "pa.RecordBatch") -> Batch:
        """A batch as a fit in memory reads it, or the sentence of what is wrong with it."""
        columns = {}
        for role, name in self.layout.columns.items():
            column = table.column(name)
            coded = _coded(column) if not column.null_count else None
            columns[role] = Column(*coded) if coded else column.to_pylist()
        items = replace(self.items, backend=Columns)
        votes = read_votes(Columns(columns, from_file=True), items, self.self_pairs)
        return _batch_of(votes)


def _batch_of(votes: Votes) -> Batch:
    amount = np.ascontiguousarray(votes.amount, dtype=float)
    return Batch(votes.left, votes.right, votes.outcome, amount, votes.weight, votes.count)


def _coded(column: "pa.Array") -> tuple[np.ndarray, np.ndarray] | None:
    """Distinct texts and the code of each row; None where a column is not text."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        return None
    values = np.array(column.dictionary.to_pylist(), dtype=object)
    return values, column.indices.to_numpy(zero_copy_only=False)


def _by_code(known: list[int], codes: np.ndarray) -> np.ndarray:
    """The outcome of each row; of two words without a look at a table."""
    if len(known) == 2:
        return codes.astype(np.int8) * np.int8(known[1] - known[0]) + np.int8(known[0])
    return np.array(known, dtype=np.int8)[codes]


def _numbers(column: "pa.Array | None") -> np.ndarray | None:
    if column is None:
        return None
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(float) if values.dtype.kind in "iuf" else np.full(len(values), np.nan)


def _are_amounts(values: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(values)) and np.all(values >= 0))


def ids_only(items: Items) -> Items:
    """Items without their features, which is all that finding rows takes."""
    return Items(np.broadcast_to(0.0, (len(items), 1)), ("x",), items.ids, items.backend)


def mask_of(rows: Any, n_items: int) -> np.ndarray | None:
    """A mask (N) of row numbers, or of a mask."""
    if rows is None:
        return None
    mask, rows = np.zeros(n_items, dtype=bool), np.asarray(rows)
    mask[rows] = True
    return mask


@contextmanager
def located(name: str, first: int, columns: Mapping[str, str] | None = None) -> Iterator[None]:
    """Say in which file and row entries are wrong; ``first`` is the row of the batch, from 0."""
    try:
        yield
    except BadEntriesError as error:
        row, column, value = min(error.entries, key=lambda entry: entry[0])
        column = (columns or {}).get(column, column)
        raise PairscoreError(
            f"{name!r}, row {first + row + 1}: {column!r} is {shown(value)} ({error.reason});"
            f" {error.remedy}."
        ) from None
    except PairscoreError as error:
        raise PairscoreError(f"{name!r}, from row {first + 1} on: {error}") from None


# -- items -------------------------------------------------------------------------------------


def item_parts(source: Any, anywhere: bool = False) -> list[Partition] | None:
    """The partitions of files with items, perhaps read elsewhere; None for a table in memory."""
    is_files = isinstance(source, str | Path)
    if isinstance(source, list | tuple) and source:
        is_files = isinstance(source[0], str | FilePartition)
    return partitions(source, ITEM_ROWS, anywhere) if is_files else None


def with_ids(values: Any, head: Items, ids: Sequence[np.ndarray]) -> Items:
    """Items with features ``values``, named as those of ``head``, and ids in several pieces."""
    names = np.concatenate(ids) if head.ids is not None else None
    if names is not None and (names.dtype.kind not in "iu" or not np.all(names[1:] > names[:-1])):
        refuse_bad_ids(names)
    return Items(values, head.feature_names, names, head.backend)


def item_columns(
    names: Sequence[str], settings: Mapping[str, Any], shown: str = "the item table"
) -> dict[str, str]:
    """The columns to read, as we call them, by their names in the table."""
    id_name = settings.get("id") or (ID_COLUMN if ID_COLUMN in names else None)
    wanted = list(settings.get("features") or names)
    exclude, known = settings.get("exclude") or (), set(names)
    for name in (*([id_name] if id_name else []), *wanted, *exclude):
        if name not in known:
            raise PairscoreError(
                f"{shown!r} has no column {name!r}; it has {first_few(map(repr, names), 8)}."
                f"{did_you_mean(name, names)}"
            )
    columns = {name: name for name in wanted if name not in exclude and name != id_name}
    return columns | ({id_name: ID_COLUMN} if id_name else {})


def read_items_in_memory(source: Any, settings: Mapping[str, Any]) -> Items:
    """Items of a table in memory, of the columns that settings name."""
    frame = as_frame(source)
    if frame is None or not any(settings.values()):
        return read_items(source)
    names = {str(name): name for name in frame.columns}
    columns = item_columns(list(names), settings)
    table = {new: column_of(frame, names[name]) for name, new in columns.items()}
    if ID_COLUMN not in table and (ids := ids_of(frame)) is not None:
        table[ID_COLUMN] = Column(ids)
    return read_items(Columns(table))


def remembering_id(items: Items, settings: Mapping[str, Any]) -> Items:
    """The items with a recipe that says which column has the ids, if it is not called so."""
    id = settings.get("id")
    if id in (None, ID_COLUMN):
        return items
    return replace(items, recipe=Recipe(items.feature_names, id=id).to_record())


def find_item_ids(
    source: Any, comparisons: Sequence[Partition], layout: Layout, settings: Mapping[str, Any]
) -> str | None:
    """The column of ids of items that have none called so, by the first comparisons.

    As a fit in memory finds it (:mod:`pairscore.data.find_ids`); comparisons further on that name
    other items are refused when they are read. None where no column has the ids.
    """
    if settings.get("id"):
        return None
    given, parts = id_settings(settings), item_parts(source)
    if parts is None:
        frame = as_frame(source)
        if frame is None or ID_COLUMN in frame.columns:
            return None
        return find_id_column(frame, _first_names(comparisons, layout), by_text=True, **given)
    names = parts[0].column_names()
    item_columns(names, settings, parts[0].name)  # refuses names that the table does not have
    if ID_COLUMN in names:
        return None
    columns = {name: name for name in names if name not in given["others"]}
    head = next((table for part in parts for _, table in _item_tables(part, columns)), None)
    if head is None:
        return None
    numbers = [field.name for field in head.schema if not _is_label(field.type)]
    ids = {}
    for name in columns:
        is_only_feature = given["features"] is None and numbers == [name]
        if name in (given["features"] or ()) or is_only_feature:
            continue
        if as_ids(_column_of(head, name)) is None:  # of the first items, which are read anyway
            continue
        pieces = [
            _column_of(t, name) for part in parts for _, t in _item_tables(part, {name: name})
        ]
        whole = Column(np.concatenate([piece.to_numpy() for piece in pieces]))
        if (of := as_ids(whole)) is not None:
            ids[name] = of
    if not ids:
        return None
    n_items = len(next(iter(ids.values())).values)
    try:
        return choose_among(ids, None, n_items, _first_names(comparisons, layout), by_text=True)
    except FaultyIdsError:
        if len({part.name for part in parts}) > 1:
            raise
        with located(parts[0].name, 0):
            raise


def _is_label(kind: "pa.DataType") -> bool:
    from pyarrow import types

    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
    return bool(is_text or types.is_temporal(kind))


def _column_of(table: Any, name: str) -> Column:
    column = table.column(name)
    if hasattr(column.type, "index_type"):
        column = column.cast(column.type.value_type)
    return Column(column.to_numpy(zero_copy_only=False))


def _first_names(comparisons: Sequence[Partition], layout: Layout) -> list[np.ndarray]:
    """The items that the first batch of comparisons names, on each side."""
    sides = [layout.columns[side] for side in layout.sides]
    for part in comparisons:
        for _, table in part.read(sides, ()):
            if len(table):
                return [distinct(_column_of(table, side)) for side in sides]
    return []


def item_head(parts: Sequence[Partition], columns: Mapping[str, str]) -> Items:
    """The first few items, which tell the columns that are features."""
    for part in parts:
        for first, table in _item_tables(part, columns):
            if isinstance(part, FilePartition) and part.kind == "csv":
                _refuse_bad_numbers(part.name, first, table)
            with located(part.name, first):
                return read_items(table.slice(0, HEAD))
    raise PairscoreError("the item table has no rows; give one row for each item.")


def _refuse_bad_numbers(name: str, first: int, table: Any) -> None:
    """Refuse a cell of a CSV file that is not a number in a column that is meant to be numeric.

    As in memory, that is one in which nine of ten cells are numbers; Arrow takes it for text.
    """
    from pyarrow import compute

    for column in table.column_names:
        cells = table.column(column)
        if column == ID_COLUMN or not is_text(cells.type):
            continue
        filled = cells.filter(
            compute.invert(compute.equal(compute.utf8_trim_whitespace(cells), ""))
        )
        is_number = compute.match_substring_regex(filled, f"^({ANY_NUMBER})$")
        n_numbers = compute.sum(is_number).as_py() or 0
        if not NUMERIC_SHARE * len(filled) <= n_numbers < len(filled):
            continue
        bad = filled.filter(compute.invert(is_number))[0].as_py()
        row = cells.to_pylist().index(bad)
        raise PairscoreError(
            f"{name!r}, row {first + row + 1}: {column!r} is {shown(bad)} (not a number); correct"
            " it, or leave the column out."
        )


@dataclass(frozen=True)
class ItemBlock:
    """Some items: ids (none where they have none), and features column by column."""

    ids: np.ndarray
    columns: Sequence[np.ndarray]

    def __len__(self) -> int:
        return len(self.columns[0])

    def write(self, out: np.ndarray) -> None:
        """Write the features into an array (n x d)."""
        for first in range(0, len(self), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            for place, column in enumerate(self.columns):
                out[rows, place] = column[rows]


def item_blocks(
    part: Partition, columns: Mapping[str, str], features: tuple[str, ...]
) -> Iterator[ItemBlock]:
    """The items of every batch of a part, checked."""
    for first, table in _item_tables(part, columns):
        with located(part.name, first):
            block = _plain_block(table, features) or _any_block(read_items(table, features))
        yield block


def _plain_block(table: Any, features: tuple[str, ...]) -> ItemBlock | None:
    """Items with whole numbers as ids and numbers without gaps as features; None for others."""
    names = [*features, ID_COLUMN] if ID_COLUMN in table.column_names else list(features)
    if any(name not in table.column_names for name in names):
        return None
    columns = [table.column(name) for name in names]
    if any(column.null_count or not _is_number(column.type) for column in columns):
        return None
    arrays = [column.to_numpy() for column in columns]
    ids = arrays.pop() if len(arrays) > len(features) else np.empty(0)
    is_plain = (not len(ids) or ids.dtype.kind in "iu") and all(
        are_computable(array[:, None].astype(float, copy=False)) for array in arrays
    )
    return ItemBlock(ids, arrays) if is_plain else None


def _any_block(items: Items) -> ItemBlock:
    return ItemBlock(np.empty(0) if items.ids is None else items.ids, list(items.values.T))


def _is_number(kind: "pa.DataType") -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind))


def _item_tables(part: Partition, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """Batches of a part with the number of their first row, columns called as we call them."""
    pa = import_arrow()
    for first, batch in part.read(list(columns), ()):
        table = pa.Table.from_batches([batch]).rename_columns(list(columns.values()))
        yield first, _with_plain_ids(table) if ID_COLUMN in columns.values() else table


def _with_plain_ids(table: Any) -> Any:
    """The table with ids as a file in memory has them: without blanks around them, and with every
    accented letter as one sign.
    """
    table = _without_codes(table)
    column = table.column(ID_COLUMN)
    if not is_text(column.type):
        return table
    values = np.array(column.to_pylist(), dtype=object)
    ids = composed(without_blanks(values)[0])[0]
    if ids is values:
        return table
    place = table.column_names.index(ID_COLUMN)
    return table.set_column(place, ID_COLUMN, import_arrow().array(ids.tolist(), type=column.type))


def _without_codes(table: Any) -> Any:
    """The table with ids as plain text where they have codes."""
    place = table.column_names.index(ID_COLUMN)
    column = table.column(place)
    if not hasattr(column.type, "value_type") or not hasattr(column.type, "index_type"):
        return table
    return table.set_column(place, ID_COLUMN, column.cast(column.type.value_type))
