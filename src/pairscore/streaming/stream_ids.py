"""Which column of a stream's items has the ids that its comparisons name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairscore.data.find_ids import (
    FaultyIdsError,
    as_ids,
    choose_among,
    find_id_column,
    found_note,
    id_settings,
)
from pairscore.data.tables import ID_COLUMN, Column, as_frame, distinct
from pairscore.errors import ColumnFoundWarning, warn_caller
from pairscore.files.duckdb_columns import as_whole_numbers
from pairscore.files.partitions import Partition
from pairscore.streaming.batches import BatchLayout, located
from pairscore.streaming.stream_items import all_ids, columns_of_items, item_parts, item_tables

if TYPE_CHECKING:
    import pyarrow as pa


def with_column_of_ids(
    source: Any, votes: Sequence[Partition], layout: BatchLayout, settings: dict[str, Any]
) -> dict[str, Any]:
    """Settings that name the column of ids, if the items have one; what was found is said.

    Parameters are those of :func:`read_item_table`; ``votes`` are parts with comparisons.
    """
    id = find_item_ids(source, votes, layout, settings)
    if id is not None:
        warn_caller(found_note(id))
        return settings | {"id": id}
    parts = item_parts(source)
    if not settings.get("id") and parts and ID_COLUMN not in parts[0].column_names():
        text = "the items have no column 'id': they are known by row number, from 0 on."
        warn_caller(text, ColumnFoundWarning)
    return settings


def find_item_ids(
    source: Any, comparisons: Sequence[Partition], layout: BatchLayout, settings: Mapping[str, Any]
) -> str | None:
    """The column of ids of items that have none called so, by the first comparisons.

    As a fit in memory finds it (:mod:`pairscore.data.find_ids`); comparisons further on that name
    other items are refused when they are read. None where no column has the ids.
    """
    if settings.get("id"):
        return None
    given = id_settings(settings)
    parts = item_parts(source)
    if parts is None:
        frame = as_frame(source)
        if frame is None or ID_COLUMN in frame.columns:
            return None
        return find_id_column(frame, _first_names(comparisons, layout), by_text=True, **given)
    names = parts[0].column_names()
    columns_of_items(names, settings, parts[0].name)  # refuses names that the table does not have
    if ID_COLUMN in names:
        return None
    columns = {name: name for name in names if name not in given["others"]}
    head = next((table for part in parts for _, table in item_tables(part, columns)), None)
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
        tables = (table for part in parts for _, table in item_tables(part, {name: ID_COLUMN}))
        pieces = [_column_of(table, ID_COLUMN).to_numpy() for table in tables]
        if (of := as_ids(Column(all_ids(pieces)))) is not None:
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


def _first_names(comparisons: Sequence[Partition], layout: BatchLayout) -> list[np.ndarray]:
    """The items that the first batch of comparisons names, on each side."""
    sides = [layout.columns[side] for side in layout.sides]
    for part in comparisons:
        for _, table in part.read(sides, sides):
            if len(table):
                return [_plain_names(_column_of(table, side)) for side in sides]
    return []


def _plain_names(column: Column) -> np.ndarray:
    """The entries of a column, each once, as a table in memory has them: numbers if all are."""
    names = distinct(column)
    are_texts = all(isinstance(name, str) for name in names.tolist())
    return as_whole_numbers(names) if are_texts else names
