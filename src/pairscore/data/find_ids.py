"""Which column of the items has the ids that comparisons name, where none is called ``id``.

One rule for tables in memory, files and streams. A column can have the ids if every item has an
entry, no two have the same, and at least nine in ten of the names in the comparisons are among
them. Of several, the one is taken that has the most of these names. Row numbers count as such a
column, and are taken only where no other can be; one whose name says that it has ids comes before
them. Where two columns are left that mean different items, the user is asked, whatever their names
are, unless one is called ``ID``. A column that could have the ids but for a few entries, which are
empty or occur twice, is refused rather than taken for a feature.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.data.items import Items, without_zeros
from pairscore.data.tables import (
    ID_COLUMN,
    Column,
    Columns,
    Frame,
    column_of,
    distinct,
    ids_of,
    is_hashable,
    is_missing,
    look_up,
    whole_numbers,
)
from pairscore.data.vote_layouts import compared_in
from pairscore.display import first_few, first_rows
from pairscore.errors import BadEntriesError, ColumnFoundWarning, PairscoreError
from pairscore.messages import Piece, Setting

MATCH = 0.9  # share of the names in the comparisons that a column of ids must have
ID_WORDS = (
    *("id", "ids", "no", "nr", "num", "number", "code", "key", "name", "label", "item"),
    *("nummer", "kennung", "kürzel", "bezeichnung", "numéro", "nom", "n°", "n", "番号", "名"),
)


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
    columns = [column for column in columns if _is_id(column)] or columns
    agree = all(np.array_equal(rows[column], rows[columns[0]]) for column in columns)
    told = [column for column in columns if has_word(column, ID_WORDS)] if agree else []
    likely = told or columns
    if by_row and all(np.array_equal(rows[column], rows[None]) for column in likely):
        # the same items are meant either way; a column that numbers the rows is no feature
        return next((column for column in likely if column in told or column in in_order), None)
    if agree and (told or not by_row):
        return likely[0]
    if not by_row:
        raise IdsUnclearError(
            "more than one column of the items has the ids that the comparisons name:"
            f" {first_few(map(repr, likely))}",
            "name the right one with " + Setting("id"),
        )
    raise IdsUnclearError(
        f"the comparisons may name items by row number or by {first_few(map(repr, likely))}, and"
        " these are different items",
        [
            "name the column of ids with " + Setting("id"),
            f"add a column {ID_COLUMN!r} with the row numbers if these are meant",
        ],
    )


def _is_id(column: str) -> bool:
    return column.strip().casefold() == ID_COLUMN


def found_words(column: str) -> str:
    """What is said of a column that was found."""
    return f"the ids of the items are in {column!r}, which has those that the comparisons name"


def found_note(column: str) -> ColumnFoundWarning:
    """The same, and how to say it."""
    return ColumnFoundWarning(found_words(column), Setting("id", column) + " says so")


def refuse_counts_from_1(used: np.ndarray, n_items: int, likely: str | None = None) -> None:
    """Refuse comparisons that name items by row number, and none of them row 0.

    ``used`` are the rows that they name; ``likely`` is a column that could have ids.
    """
    if len(used) == 0 or used.min() == 0:
        return
    remedy: Piece = f"add a column {ID_COLUMN} to the items"
    if likely is not None:
        remedy = "perhaps " + Setting("id", likely)
    raise PairscoreError(
        f"the items have no column {ID_COLUMN!r}, so the comparisons name them by row number, from"
        f" 0 to {n_items - 1}, but the numbers there run from {used.min()} to {used.max()}",
        [remedy, "count from 0"],
    )


def names_in(votes: Frame) -> list[np.ndarray]:
    """The names of items in each of the two columns that say who was compared, each once."""
    return [distinct(column_of(votes, side)) for side in compared_in(votes.columns) or ()]


class IdColumn(NamedTuple):
    """A column that may have the ids, and its rows without an entry, or with one seen before."""

    values: np.ndarray
    missing: list[int]
    repeated: list[int]

    @property
    def is_right(self) -> bool:
        """Whether every item has an entry that no other has."""
        return not (self.missing or self.repeated)


def most_faults(n_items: int) -> int:
    """How many items may have no id, or that of another, before a column is something else."""
    return max(1, int((1 - MATCH) * n_items))


def as_ids(column: Column) -> IdColumn | None:
    """A column as ids, if nearly every entry is there and occurs once: whole numbers, or text."""
    if len(column) < 2 or len(column) - len(column.values) > 2 * most_faults(len(column)):
        return None  # too many repeat
    values = whole_numbers(column.to_numpy())
    if values.dtype.kind not in "iuOU":
        return None
    if values.dtype.kind in "iu" and len(np.unique(values)) == len(values):
        return IdColumn(values, [], [])
    entries = values.tolist()
    distinct_texts = {e for e in entries if isinstance(e, str) and e and not e.isspace()}
    if len(distinct_texts) == len(entries):
        return IdColumn(values, [], [])
    is_text = isinstance(next((e for e in entries if not is_missing(e)), None), str)
    missing, repeated, seen = [], [], set()
    for row, entry in enumerate(entries):
        if is_missing(entry) or (is_text and isinstance(entry, str) and not entry.strip()):
            missing.append(row)
        elif not isinstance(entry, str if is_text else int) or isinstance(entry, bool):
            return None
        elif entry in seen:
            repeated.append(row)
        seen.add(entry if is_hashable(entry) else None)
        if len(missing) + len(repeated) > most_faults(len(entries)):
            return None
    return IdColumn(values, missing, repeated)


class FaultyIdsError(BadEntriesError):
    """A column has the ids that the comparisons name, but for entries that are no ids."""

    @property
    def column(self) -> str:
        """The column."""
        return self.entries[0][1]


def _faulty(column: str, of: IdColumn) -> FaultyIdsError:
    rows = sorted({*of.missing, *of.repeated})
    ids = of.values.tolist()
    entries = [(row, column, None if row in of.missing else ids[row]) for row in rows]
    empty = f"is empty in {first_few(f'row {row}' for row in of.missing)}" * bool(of.missing)
    twice = first_rows(of.repeated, [ids[row] for row in of.repeated])
    again = f"has an id for the second time in {twice}" * bool(of.repeated)
    return FaultyIdsError(
        f"the column {column!r} has the ids that the comparisons name, but"
        f" {' and '.join(filter(None, [empty, again]))}",
        "give every item an id that no other has, or add a column"
        f" {ID_COLUMN!r} with the row numbers if these are meant",
        "items",
        entries,
        "missing or already seen, in the column with the ids that the comparisons name",
    )


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

    features = named("features", "squares", "curves", "categorical", "reference")
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
    ids = {
        str(name): of
        for name in table.columns
        if str(name) in kinds
        and str(name) not in (features or ())
        and not (features is None and likely == [str(name)])  # else no feature is left
        and (of := as_ids(column_of(table, name))) is not None
    }
    default = ids_of(table)
    return choose_among(ids, default, len(table), names, by_text)


def choose_among(
    ids: Mapping[str, IdColumn],
    default: np.ndarray | None,
    n_items: int,
    names: Sequence[np.ndarray],
    by_text: bool,
) -> str | None:
    """The column that has the ids, of columns that could; ``default`` are those of an index.

    Raises
    ------
    FaultyIdsError
        If no column has them, but one would if a few of its entries were right.
    IdsUnclearError
        If two may have them; or if one has them as text and the comparisons as numbers.
    """
    if not ids or not any(len(one) for one in names):
        return None
    rows: dict[str | None, list[np.ndarray]] = {
        column: find_rows(of.values, n_items, names, by_text) for column, of in ids.items()
    }
    by_row = find_rows(default, n_items, names, by_text)
    right = {column: of.values for column, of in ids.items() if of.is_right}
    if right:
        in_order = _in_order(right)
        found = choose_ids({column: rows[column] for column in right} | {None: by_row}, in_order)
        if found is not None:
            return found
    if default is not None and all(np.all(side >= 0) for side in by_row):
        return None  # those of an index
    for column, of in ids.items():
        if not of.is_right and _has_names(column, of, rows[column], names):
            raise _faulty(column, of)
    if not by_text:
        _refuse_other_kinds(ids, by_row, n_items, names)
    _refuse_other_zeros(ids, by_row, names)
    return None


def _in_order(ids: Mapping[str, np.ndarray]) -> list[str]:
    """Columns that number the rows."""
    whole = {column: of for column, of in ids.items() if of.dtype.kind in "iu"}
    return [column for column, of in whole.items() if np.array_equal(of, np.arange(len(of)))]


def _has_names(
    column: str, of: IdColumn, rows: Sequence[np.ndarray], names: Sequence[np.ndarray]
) -> bool:
    """Whether a column with faults has nearly all names of the comparisons.

    In one that is called so, each fault may stand for a name that it does not have.
    """
    if np.mean(np.concatenate([*rows]) >= 0) >= MATCH:
        return True
    sides = zip(names, rows, strict=True)
    unknown = {name for one, row in sides for name in one[row < 0].tolist()}
    known = {row for side in rows for row in side[side >= 0].tolist()}
    n_faults = len(of.missing) + len(of.repeated)
    return has_word(column, ID_WORDS) and len(unknown) <= n_faults < len(known)


def _refuse_other_kinds(
    ids: Mapping[str, IdColumn],
    by_row: Sequence[np.ndarray],
    n_items: int,
    names: Sequence[np.ndarray],
) -> None:
    """Numbers in one table that are text in the other name the same items, and match no row."""
    for column, of in ids.items():
        rows = find_rows(of.values, n_items, names, by_text=True)
        if np.mean(np.concatenate([*rows]) >= 0) < MATCH or all(map(np.array_equal, rows, by_row)):
            continue
        side = next(k for k, row in enumerate(rows) if np.any(row >= 0))
        place = int(np.flatnonzero(rows[side] >= 0)[0])
        name, id = names[side].tolist()[place], of.values.tolist()[rows[side][place]]
        raise IdsUnclearError(
            f"the column {column!r} has the ids that the comparisons name, but {id!r} is"
            f" {_kind(id)} in the items and {name!r} {_kind(name)} in the comparisons; make both"
            " text, or both numbers."
        )


def _refuse_other_zeros(
    ids: Mapping[str, IdColumn], by_row: Sequence[np.ndarray], names: Sequence[np.ndarray]
) -> None:
    """Names that a column has with other zeros in front are no row numbers."""
    named = [[without_zeros(name) for name in of.tolist()] for of in names]
    for column, of in ids.items():
        rows = {without_zeros(id): row for row, id in enumerate(of.values.tolist())}
        if len(rows) < len(of.values):
            continue
        found = [look_up(rows, side, -1) for side in named]
        if np.mean(np.concatenate(found) >= 0) < MATCH or all(map(np.array_equal, found, by_row)):
            continue
        side = next(k for k, row in enumerate(found) if np.any(row >= 0))
        place = int(np.flatnonzero(found[side] >= 0)[0])
        name, id = names[side].tolist()[place], of.values.tolist()[found[side][place]]
        if str(name) != str(id):
            raise IdsUnclearError(
                f"the column {column!r} has the ids that the comparisons name, but for zeros in"
                f" front: {id!r} in the items and {name!r} in the comparisons; write them alike in"
                " both tables."
            )


def _kind(entry: Any) -> str:
    return "text" if isinstance(entry, str) else "a number"


def has_word(name: str, words: Iterable[str]) -> bool:
    """Whether one of the words is in the name of a column, as a word or a long enough part."""
    folded = name.casefold()
    parts = re.split(r"[\W_0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    return any(
        word in parts or ((len(word) > 5 or not word.isascii()) and word in folded)
        for word in words
    )
