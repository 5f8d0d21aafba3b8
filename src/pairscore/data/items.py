"""The item table: who is compared, and the numeric features that describe them."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from pairscore.data.tables import Columns, column_of
from pairscore.errors import BadEntriesError, PairscoreError, first_few, first_rows, plural

ID_COLUMN = "id"
LARGEST_NUMBER = 1e150  # whose square a computer holds
TEXT_AND_DATES = (str, bytes, np.datetime64, np.timedelta64)


@dataclass(frozen=True, eq=False)
class Items:
    """Feature values (N x d, by reference where possible), with names for rows and columns.

    ``ids`` is None when items are known by their row number. ``backend`` remembers the caller's
    kind of table (None for a NumPy array), so that answers come back in the same kind. ``recipe``
    says how the features were made of columns with gaps (see ``pairscore.data.features``).
    """

    values: np.ndarray
    feature_names: tuple[str, ...]
    ids: np.ndarray | None = None
    backend: Any = None
    recipe: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """Row number by id."""
        return {identifier: row for row, identifier in enumerate(self.names)}

    @property
    def names(self) -> list[Any]:
        """What each row is called: its id, or its row number."""
        return list(range(len(self))) if self.ids is None else self.ids.tolist()

    def rows_called(self, names: np.ndarray) -> np.ndarray:
        """Row numbers by name, -1 where no item is called so; True is not the name of item 1."""
        if names.dtype == bool or names.ndim != 1:
            return np.full(len(names), -1)
        if self.ids is None and names.dtype.kind in "iu":
            return np.where((names >= 0) & (names < len(self)), names, -1).astype(np.intp)
        if self.ids is not None and self.ids.dtype.kind in "iu" and names.dtype.kind in "iu":
            order = np.argsort(self.ids)
            place = order[np.minimum(np.searchsorted(self.ids, names, sorter=order), len(self) - 1)]
            return np.where(self.ids[place] == names, place, -1)
        return looked_up(self.row_of, names.tolist(), -1)

    def rows_written(self, names: np.ndarray) -> np.ndarray:
        """As ``rows_called``, for files.

        A column there is text as soon as one cell is, so 7 and "7" are the same name.
        """
        rows = self.rows_called(names)
        missing = np.flatnonzero(rows < 0)
        if len(missing) and (
            names.dtype.kind in "iu" or self.ids is None or self.ids.dtype.kind in "iu"
        ):
            row_of_text = {str(identifier): row for identifier, row in self.row_of.items()}
            rows[missing] = [
                row_of_text.get(str(name), -1) if isinstance(name, int | str) else -1
                for name in names[missing].tolist()
            ]
        return rows

    def extended(self, more: "Items") -> "Items":
        """These items and new ones, whose ids must be new."""
        if self.ids is None or more.ids is None:
            raise PairscoreError(
                "items can be added where all have ids; give both tables an 'id' column, or fit to"
                " all items at once."
            )
        ids = (
            np.concatenate([self.ids, more.ids])
            if self.ids.dtype.kind == more.ids.dtype.kind
            else np.array([*self.names, *more.names], dtype=object)
        )
        refuse_bad_ids(ids)
        return Items(np.vstack([self.values, more.values]), self.feature_names, ids, self.backend)

    def take(self, rows: np.ndarray) -> "Items":
        """The items of some rows, in that order."""
        ids = rows if self.ids is None else self.ids[rows]
        return Items(self.values[rows], self.feature_names, np.asarray(ids), self.backend)


def read_items(items: Any) -> Items:
    """Check a table of items once, at the door.

    Takes a two-dimensional array, any dataframe that narwhals knows (pandas, polars, Arrow, ...)
    with an ``id`` column or a pandas index, or a dict of columns; every column but the id is a
    feature and must be numeric.
    """
    if isinstance(items, Items):
        return items
    frame = as_frame(items)
    table = _from_array(items) if frame is None else _from_frame(frame)
    if len(table) == 0:
        raise PairscoreError("the item table has no rows; give one row for each item.")
    if not table.feature_names:
        raise PairscoreError(
            "the item table has no feature columns; add at least one numeric column beside the id."
        )
    refuse_non_finite(table.values, table.feature_names)
    return table


def looked_up(number_of: dict[Any, int], names: list[Any], absent: int) -> np.ndarray:
    """Numbers by name; ``absent`` for a name that the dictionary does not have or, like a list,
    cannot have.
    """
    try:
        return np.fromiter(
            (number_of.get(name, absent) for name in names), dtype=np.intp, count=len(names)
        )
    except TypeError:
        return np.array(
            [number_of.get(name, absent) if is_hashable(name) else absent for name in names],
            dtype=np.intp,
        )


def is_hashable(value: Any) -> bool:
    """Whether this can be a key, as text and numbers can and lists cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def to_array(values: Any, what: str) -> np.ndarray:
    """``values`` as an array; nested lists must have rows of one length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise PairscoreError(
            f"{what} neither a dataframe nor a numeric array (the rows differ in length); give rows"
            " of equally many numbers."
        ) from None


def as_frame(table: Any) -> nw.DataFrame | Columns | None:
    """``table`` as a narwhals frame, or as ``Columns`` if it is a dict, or None if it is no
    dataframe.
    """
    if isinstance(table, dict | Columns):
        return table if isinstance(table, Columns) else Columns(table)
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=False)
    except DuplicateError as error:
        repeated = re.findall("(?m)^- (.*)$", str(error))
        raise PairscoreError(
            f"a table has columns of the same name: {first_few(repeated)}; give every column its"
            " own name."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    layered = [name for name in frame.columns if isinstance(name, tuple)]
    if layered:
        raise PairscoreError(
            f"{plural(len(layered), 'column')} of a table {'has' if len(layered) == 1 else 'have'}"
            f" a name of several levels: {first_few(map(repr, layered))}; give every column one"
            f" name, such as '{'_'.join(map(str, layered[0]))}'."
        )
    return frame


def _from_array(items: Any) -> Items:
    if np.ma.is_masked(items):
        raise PairscoreError(
            f"{plural(int(np.ma.count_masked(items)), 'feature value')} masked; fill them in or"
            " drop these items or columns."
        )
    table = to_array(items, "the items are")
    try:
        # NumPy would turn text and dates into numbers
        if table.dtype.kind not in "biufO" or (
            table.dtype == object and any(isinstance(value, TEXT_AND_DATES) for value in table.flat)
        ):
            raise TypeError(f"its type is {table.dtype}")
        values = np.ascontiguousarray(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise PairscoreError(
            f"the items are neither a dataframe nor a numeric array ({error}); give one row of"
            " numbers per item."
        ) from None
    if table.ndim != 2:
        raise PairscoreError(
            f"the items are an array of {plural(table.ndim, 'dimension')}; give two: one row per"
            " item, one column per feature."
        )
    return Items(values, tuple(f"x{column}" for column in range(values.shape[1])))


def _from_frame(frame: nw.DataFrame | Columns) -> Items:
    names = tuple(column for column in frame.columns if column != ID_COLUMN)
    refuse_non_numeric(frame, names)
    ids = column_of(frame, ID_COLUMN).to_numpy() if ID_COLUMN in frame.columns else index_ids(frame)
    if ids is not None:
        refuse_bad_ids(ids)
    if isinstance(frame, Columns):
        return Items(frame.matrix(names), names, ids, Columns if frame.as_written else dict)
    # pandas has a missing boolean that is no number until it is cast
    columns = [
        nw.col(name).cast(nw.Float64) if frame.schema[name] == nw.Boolean else nw.col(name)
        for name in names
    ]
    values = (
        np.ascontiguousarray(frame.select(columns).to_numpy(), dtype=np.float64)
        if names
        else np.empty((len(frame), 0))
    )
    return Items(values, tuple(map(str, names)), ids, frame.implementation)


def index_ids(frame: nw.DataFrame | Columns) -> np.ndarray | None:
    """A pandas index that says something (anything but 0, 1, 2, ...) names the items."""
    index = None if isinstance(frame, Columns) else nw.maybe_get_index(frame)
    if index is None:
        return None
    ids = np.asarray(index)
    return None if ids.dtype.kind in "iu" and np.array_equal(ids, np.arange(len(ids))) else ids


def refuse_other_features(items: Items, fitted: tuple[str, ...]) -> None:
    """Same number, names and order of features as in fit; arrays have no names to compare."""
    names = items.feature_names
    if names == fitted or (items.backend is None and len(names) == len(fitted)):
        return
    if len(names) != len(fitted) and items.backend is None:
        raise PairscoreError(
            f"the items have {plural(len(names), 'feature')} but the model was fitted with"
            f" {len(fitted)}; give the same features."
        )
    missing, unknown = (
        [name for name in fitted if name not in names],
        [name for name in names if name not in fitted],
    )
    if not missing and not unknown:
        raise PairscoreError(
            "the features come in another order than in fit; reorder the columns to"
            f" {first_few(map(repr, fitted), 8)}."
        )
    raise PairscoreError(
        f"the items have {plural(len(names), 'feature')} but the model was fitted with"
        f" {len(fitted)}: {plural(len(missing), 'feature')} missing"
        f" ({first_few(map(repr, missing)) or 'none'}) and {len(unknown)} unknown"
        f" ({first_few(map(repr, unknown)) or 'none'}); give the columns of the fit in its order."
    )


def refuse_non_numeric(frame: nw.DataFrame | Columns, names: tuple[str, ...]) -> None:
    """Text is never guessed into numbers."""
    schema = frame.schema
    bad = [name for name in names if not (schema[name].is_numeric() or schema[name] == nw.Boolean)]
    if bad:
        shown = first_few(
            f"{name!r} ({schema[name]}, e.g. {frame.get_column(name)[0] if len(frame) else None!r})"
            for name in bad
        )
        raise PairscoreError(
            f"{plural(len(bad), 'column')} of the item table {'is' if len(bad) == 1 else 'are'} not"
            f" numeric: {shown}; make them numbers (0/1 columns for categories), drop them, or call"
            f" the identifier column {ID_COLUMN!r}."
        )


def refuse_bad_ids(ids: np.ndarray) -> None:
    """Every item has exactly one row and a name."""
    if ids.dtype.kind in "iu" and ids.ndim == 1 and len(np.unique(ids)) == len(ids):
        return
    lists = (
        [row for row, identifier in enumerate(ids.tolist()) if not is_hashable(identifier)]
        if ids.dtype == object or ids.ndim > 1
        else []
    )
    if lists:
        raise PairscoreError(
            f"the id is a list or the like in {plural(len(lists), 'row')} of the item table:"
            f" {first_rows(lists, ids[lists].tolist())}; use text or numbers as ids."
        )
    missing = np.flatnonzero([is_missing(identifier) for identifier in ids.tolist()])
    if len(missing):
        raise BadEntriesError(
            f"the id is missing in {plural(len(missing), 'row')} of the item table"
            f" ({first_few(f'row {r}' for r in missing)})",
            "name every item",
            "items",
            [(int(row), ID_COLUMN, None) for row in missing],
            "missing",
        )
    seen: set[Any] = set()
    repeated = []
    for row, identifier in enumerate(ids.tolist()):
        if identifier in seen:
            repeated.append(row)
        seen.add(identifier)
    if repeated:
        raise BadEntriesError(
            f"{plural(len(repeated), 'row')} of the item table"
            f" {'repeats' if len(repeated) == 1 else 'repeat'} an id already seen:"
            f" {first_rows(repeated, ids[repeated].tolist())}",
            "keep one row per item",
            "items",
            [(row, ID_COLUMN, ids[row]) for row in repeated],
            "an id already seen",
        )


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA, which does not even say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def refuse_non_finite(values: np.ndarray, names: tuple[str, ...]) -> None:
    """Name the columns with NaN or infinite entries, and how many there are in each."""
    with np.errstate(over="ignore", invalid="ignore"):
        # one pass without a copy; only a bad table is looked at twice
        if np.abs(values.sum()) < LARGEST_NUMBER:
            return
    counts = np.count_nonzero(~np.isfinite(values), axis=0)
    bad = np.flatnonzero(counts)
    if len(bad) == 0:
        raise PairscoreError(
            "the features are so large that the sum of their squares overflows (largest"
            f" {np.abs(values).max():.3g}); rescale them."
        )
    shown = first_few(f"{names[column]!r} ({counts[column]})" for column in bad)
    entries = [
        (int(row), names[column], float(values[row, column]))
        for column in bad
        for row in np.flatnonzero(~np.isfinite(values[:, column]))
    ]
    raise BadEntriesError(
        f"{plural(int(counts.sum()), 'feature value')} {'is' if counts.sum() == 1 else 'are'} NaN"
        f" or infinite, in {plural(len(bad), 'column')}: {shown}",
        "fill them in or drop these items or columns",
        "items",
        entries,
        "not finite",
    )
