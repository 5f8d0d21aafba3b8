"""Which column of the items has the ids that comparisons name, where none is called ``id``.

One rule for tables in memory, files and streams. A column can have the ids if every item has an
entry, no two have the same, and at least nine in ten of the names in the comparisons are among
them. Of several, the one is taken that has the most of these names. Row numbers count as such a
column, and are taken only where no other can be. Where two are left that mean different items, the
user is asked, unless the name of one says that it has ids.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.choices import ID_WORDS, LAYOUTS, NO_SIDES, has_word
from pairscore.data.items import Items
from pairscore.data.tables import (
    ID_COLUMN,
    Column,
    Columns,
    Frame,
    column_of,
    ids_of,
    is_hashable,
    is_missing,
)
from pairscore.errors import PairscoreError, first_few

MATCH = 0.9  # share of the names in the comparisons that a column of ids must have
LARGEST_WHOLE = 2.0**53  # up to which a double holds every whole number


class IdsUnclearError(PairscoreError):
    """Two columns, or one and the row numbers, may have the ids, and mean different items."""


def choose_ids(
    rows_of: Mapping[str | None, Sequence[np.ndarray]], in_order: Collection[str] = ()
) -> str | None:
    """The column that has the ids; None for row numbers, or an index.

    Parameters
    ----------
    rows_of : dict
        By column, None for row numbers: for each side of the comparisons, the row of the item that
        each name stands for, -1 if there is none.
    in_order
        Columns that number the rows from 0, which say the same as row numbers.

    Raises
    ------
    IdsUnclearError
        If two columns have the names and mean different items by them.
    """
    rows = {column: np.concatenate([*sides]) for column, sides in rows_of.items()}
    share = {column: float(np.mean(of >= 0)) if len(of) else 0.0 for column, of in rows.items()}
    most = max((of for column, of in share.items() if column is not None), default=0.0)
    columns = [column for column in share if column is not None and share[column] == most]
    by_row = share.get(None) == 1
    if most < MATCH:
        return None
    told = [column for column in columns if has_word(column, ID_WORDS)]
    likely = told or columns
    if by_row and all(np.array_equal(rows[column], rows[None]) for column in likely):
        # the same items are meant either way; a column that numbers the rows is no feature
        return next((column for column in likely if column in told or column in in_order), None)
    agree = all(np.array_equal(rows[column], rows[likely[0]]) for column in likely)
    if agree and (told or not by_row):
        return likely[0]
    if not by_row:
        raise IdsUnclearError(
            "more than one column of the items has the ids that the comparisons name:"
            f" {first_few(map(repr, likely))}; name the right one with id=."
        )
    raise IdsUnclearError(
        f"the comparisons may name items by row number or by {first_few(map(repr, likely))}, and"
        " these are different items; name the column of ids with id=, or add a column"
        f" {ID_COLUMN!r} with the row numbers if these are meant."
    )


def found_words(column: str) -> str:
    """What is said of a column that was found."""
    return f"the ids of the items are in {column!r}, which has those that the comparisons name"


def names_in(votes: Frame) -> list[np.ndarray]:
    """The names of items in each of the two columns that say who was compared, each once."""
    sides = next((two for two in (*LAYOUTS, NO_SIDES) if {*two} <= {*votes.columns}), ())
    return [distinct(column_of(votes, side)) for side in sides]


def distinct(column: Column) -> np.ndarray:
    """The entries of a column, each once, without missing ones."""
    values = column.values if column.codes is None else column.values[np.unique(column.codes)]
    if values.dtype.kind in "biu":
        return np.unique(values)
    entries = values.tolist()
    known = dict.fromkeys(e for e in entries if is_hashable(e) and not is_missing(e) and e != "")
    return np.fromiter(known, dtype=object, count=len(known))


def as_ids(column: Column, from_file: bool = False) -> np.ndarray | None:
    """A column as ids, if every entry is there and occurs once: whole numbers, or text.

    In a file all numbers are doubles, so that those may be whole numbers too.
    """
    if column.codes is not None and len(column.values) < len(column.codes):
        return None  # some text occurs twice
    values = column.to_numpy()
    if from_file and values.dtype.kind == "f":
        whole = np.all(np.abs(values) < LARGEST_WHOLE) and np.all(values == np.floor(values))
        values = values.astype(np.int64) if whole else values
    if len(values) < 2 or values.dtype.kind not in "iuOU":
        return None
    if values.dtype.kind in "iu":
        return values if len(np.unique(values)) == len(values) else None
    entries = values.tolist()
    texts = (isinstance(e, str) and bool(e.strip()) for e in entries)
    return values if all(texts) and len(set(entries)) == len(entries) else None


def find_rows(
    ids: np.ndarray | None, n_items: int, names: Sequence[np.ndarray], by_text: bool
) -> list[np.ndarray]:
    """Rows of the items that names stand for, as votes are read against these ids."""
    items = Items(np.empty((n_items, 0)), (), ids)
    find = items.find_rows_by_text if by_text else items.find_rows
    return [find(one) for one in names]


def id_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that settings of the items name, as :func:`find_id_column` takes them."""

    def named(*names: str) -> list[str]:
        given = [settings.get(name) or () for name in names]
        return [one for of in given for one in ([of] if isinstance(of, str) else of)]

    features = named("features", "squares", "categorical", "reference")
    return {"features": features or None, "others": named("exclude")}


def find_id_column(
    table: Frame,
    names: Sequence[np.ndarray],
    *,
    features: Collection[str] | None = None,
    others: Collection[str] = (),
    by_text: bool = False,
) -> str | None:
    """The column of a table of items that has the ids, None where it has none.

    Parameters
    ----------
    table : Frame
        Without a column ``id``; an index with a name has the ids, whatever the columns are.
    names : two arrays
        Of the comparisons; see :func:`names_in`.
    features : names or None
        Columns that are features because the user says so; None where every number is one.
    others : names
        Columns to leave out, which cannot have the ids.
    by_text : bool
        Whether 7 and ``"7"`` are the same, as in files.
    """
    if not isinstance(table, Columns):
        index = nw.maybe_get_index(table)
        if index is not None and any(name is not None for name in index.names):
            return None
    kinds = {str(name): kind for name, kind in table.schema.items() if str(name) not in others}
    likely = [n for n, kind in kinds.items() if not (kind == nw.String or kind.is_temporal())]
    from_file = isinstance(table, Columns) and table.from_file
    ids = {
        str(name): of
        for name in table.columns
        if str(name) in kinds
        and str(name) not in (features or ())
        and not (features is None and likely == [str(name)])  # else no feature is left
        and (of := as_ids(column_of(table, name), from_file)) is not None
    }
    default = ids_of(table)
    return choose_among(ids, default, len(table), names, by_text)


def choose_among(
    ids: Mapping[str, np.ndarray],
    default: np.ndarray | None,
    n_items: int,
    names: Sequence[np.ndarray],
    by_text: bool,
) -> str | None:
    """The column that has the ids, of columns that could; ``default`` are those of an index."""
    if not ids or not any(len(one) for one in names):
        return None
    rows: dict[str | None, list[np.ndarray]] = {
        column: find_rows(of, n_items, names, by_text) for column, of in ids.items()
    }
    rows[None] = find_rows(default, n_items, names, by_text)
    numbered = np.arange(n_items)
    whole = {column: of for column, of in ids.items() if of.dtype.kind in "iu"}
    return choose_ids(
        rows, [column for column, of in whole.items() if np.array_equal(of, numbered)]
    )
