"""The item table: which items are compared, and the numeric features that describe them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from unicodedata import normalize

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.data.tables import (
    ID_COLUMN,
    LISTS,
    Columns,
    Frame,
    as_frame,
    backend_name,
    backend_of,
    ids_of,
    is_hashable,
    is_missing,
    list_lengths,
    look_up,
    refuse_other_dimensions,
    spread_lists,
    to_array,
    to_floats,
    without_rounding_errors,
)
from pairscore.display import did_you_mean, first_few, first_rows, plural, shown
from pairscore.errors import (
    BadEntriesError,
    CallError,
    PairscoreError,
    PairscoreWarning,
    warn_caller,
)
from pairscore.messages import Piece, Setting

LARGEST_NUMBER = 1e100  # whose square, times a weight of this size, a computer holds
MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)  # of keys of features
ALL_BITS = 2**64 - 1
FEW_ROWS = 16  # whose keys are quicker one by one
MOST_NAMED = 5  # features whose names are repeated in what to do


@dataclass(frozen=True, eq=False)
class Items:
    """Items that were read and checked: N items with d numeric features.

    Made by :func:`read_items`; the constructor itself checks nothing.

    Parameters
    ----------
    values : ndarray of float64 of shape (N, d)
        Features, in the user's units; the caller's own array where that is possible.
    feature_names : tuple of str of length d
        ``x0``, ``x1``, ... for an array.
    ids : ndarray of shape (N,), or None
        Text or numbers that name the items, each once; None where items are known by their row
        number, from 0.
    backend
        The caller's kind of table (see :func:`pairscore.data.tables.backend_of`), in which
        rankings are given back; None for an array.
    recipe : dict or None
        How the features were made of columns with missing values, as
        :meth:`pairscore.data.recipe.Recipe.to_record` writes it.
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
        """Row number by name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def _row_of_text(self) -> dict[str, int]:
        rows = {plain_id(name): row for name, row in self.row_of.items()}
        are_same = len(rows) < len(self)  # 7 and "7.0" are two items
        return {str(name): row for name, row in self.row_of.items()} if are_same else rows

    @cached_property
    def _is_ascii(self) -> bool:
        return all(map(str.isascii, map(str, self.names)))

    @property
    def names(self) -> list[Any]:
        """The name of each row: its id, or its row number."""
        return list(range(len(self))) if self.ids is None else self.ids.tolist()

    def find_rows(self, names: np.ndarray) -> np.ndarray:
        """Row numbers of the items with these names, -1 where there is no such item.

        Parameters and result have the shape (n,). A name must be equal and of a like type: ``"7"``
        does not find item 7, nor does True find item 1.
        """
        if names.dtype == bool or names.ndim != 1:
            return np.full(len(names), -1)
        if names.dtype.kind in "iu" and self.ids is None:
            return np.where((names >= 0) & (names < len(self)), names, -1).astype(np.intp)
        if names.dtype.kind in "iu" and self.ids is not None and self.ids.dtype.kind in "iu":
            return look_up_numbers(self.ids, names)
        return look_up(self.row_of, names.tolist(), -1)

    def find_rows_by_text(self, names: np.ndarray) -> np.ndarray:
        """As :meth:`find_rows`, but 7, ``"7"`` and ``"7.0"`` are one name, and so are forms of one
        text. For files, where a column is text as soon as one of its cells is, and where programs
        write whole numbers with decimals once one of them is missing.
        """
        rows = self.find_rows(names)
        if not len(unknown := np.flatnonzero(rows < 0)):
            return rows
        numbered = self.ids is None or self.ids.dtype.kind in "iu"
        has_forms = not (self._is_ascii and all(str(n).isascii() for n in names[unknown].tolist()))
        if numbered or has_forms or names.dtype.kind in "iu":
            rows[unknown] = [self._row_by_text(name) for name in names[unknown].tolist()]
        return rows

    def _row_by_text(self, name: Any) -> int:
        if self.ids is None:
            if not str(name).strip()[:1].isdigit():
                return -1
            text = plain_id(name)
            row = int(text) if len(text) < 19 and text.isascii() and text.isdecimal() else -1
            return row if row < len(self) and str(row) == text else -1
        known = self._row_of_text if isinstance(name, int | str) else {}
        row = known.get(str(name), -1)
        return known.get(plain_id(name), -1) if row < 0 else row

    def with_new_items(self, new: "Items") -> "Items":
        """These items followed by new ones; all need ids, and each id may occur once."""
        if self.ids is None or new.ids is None:
            raise PairscoreError(
                "items can be added where all have ids; give both tables an 'id' column, or fit to"
                " all items at once."
            )
        if self.ids.dtype.kind == new.ids.dtype.kind:
            ids = np.concatenate([self.ids, new.ids])
        else:
            ids = np.array([*self.names, *new.names], dtype=object)
        refuse_bad_ids(ids)
        values = np.vstack([self.values, new.values])
        return replace(self, values=values, ids=ids)

    @cached_property
    def rows_of_fold(self) -> dict[str, list[int]]:
        """Row numbers by the name without its case."""
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.names):
            rows.setdefault(str(name).casefold(), []).append(row)
        return rows

    @cached_property
    def alike_ids(self) -> list[str]:
        """Ids that differ from another one only in case."""
        if self.ids is None or len({*map(str.casefold, map(str, self.names))}) == len(self):
            return []
        rows = [row for alike in self.rows_of_fold.values() if len(alike) > 1 for row in alike]
        return self.ids[rows].tolist()

    @property
    def table_kind(self) -> str:
        """The kind of the caller's table by name, for a file."""
        return backend_name(self.backend)

    def take(self, rows: np.ndarray) -> "Items":
        """The items of some rows, in that order; they keep their names."""
        ids = rows if self.ids is None else self.ids[rows]
        return Items(self.values[rows], self.feature_names, np.asarray(ids), self.backend)


def plain_id(name: Any) -> str:
    """A name as text, without spaces around it and without the decimals of a whole number; signs of
    half and of double width are the usual ones (Unicode's form NFKC).

    >>> plain_id(" 12.0 "), plain_id(7), plain_id("1.10"), plain_id("Ｎｏ１")
    ('12', '7', '1.10', 'No1')
    """
    text = str(name).strip()
    text = text if text.isascii() else normalize("NFKC", text)
    if not text.endswith("0"):
        return text
    return re.sub(r"^(-?[0-9]+)[.]0+$", r"\1", text)


def without_zeros(name: Any) -> str:
    """A name as text, without zeros in front.

    >>> without_zeros("007"), without_zeros(7), without_zeros("0"), without_zeros("0a")
    ('7', '7', '0', '0a')
    """
    return re.sub(r"^0+(?=[0-9])", "", plain_id(name))


def read_items(items: Any, features: tuple[str, ...] | None = None) -> Items:
    """Read and check a table of items.

    Parameters
    ----------
    items
        One row per item, one column per feature: a two-dimensional numeric array or nested list, a
        dataframe of any library that narwhals knows (pandas, polars, Arrow, ...), or a dict of
        columns. The column ``id``, or a pandas index other than 0, 1, 2, ..., names the items;
        every other column is a feature of numbers or truth values, or holds equally long lists of
        numbers (embeddings), a feature for each place. Text and dates are left out with a warning.
    features : names, or None for all of them
        The features of a fit, which are found by name in a table that has names: in any order,
        other columns may hold anything. Those of an array only have to be as many.

    Returns
    -------
    Items
        With ``values`` of shape (N, d); an array of float64 is taken by reference.

    Raises
    ------
    PairscoreError
        Where the table has no rows or no features, lacks a feature of the fit, has values that are
        missing, infinite or too large to be squared, or ids that are missing, repeated or lists.
    """
    if isinstance(items, Items):
        return items if features is None else with_features(items, features)
    frame = as_frame(items)
    table = _from_array(items) if frame is None else _from_frame(frame, features)
    if frame is None and features is not None:
        table = with_features(table, features)
    if len(table) == 0:
        raise PairscoreError("the item table has no rows; give one row for each item.")
    if not table.feature_names:
        raise PairscoreError(
            "the item table has no feature columns; add at least one numeric column next to the id."
        )
    refuse_non_finite(table.values, table.feature_names)
    return table


def read_names(names: Any) -> Items:
    """Items without features, from ids in a list, or from the ids of a table."""
    frame = as_frame(names)
    ids = np.atleast_1d(to_array(names, "the items are")) if frame is None else ids_of(frame)
    if ids is None or ids.ndim != 1:
        raise PairscoreError(
            "the model knows items by their ids, and there are none; give a list of ids, or a table"
            " with a column 'id'."
        )
    refuse_bad_ids(ids)
    return Items(np.empty((len(ids), 0)), (), ids, backend_of(frame))


def is_list_of_numbers(entry: Any) -> bool:
    """Whether this is the list of one item, and no column of lists."""
    return isinstance(entry, LISTS) and not any(isinstance(one, LISTS) for one in entry)


def one_row(record: dict[str, Any], features: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dict of single values as one of columns; columns stay as they are.

    A list of numbers that are ``features`` (``embedding[0]``, ...) is a single value; so is any
    other list next to single features.
    """
    lists = list_lengths(features)
    single = {name for name, entry in record.items() if _is_single(entry, name in lists)}
    if single & {*features, *lists}:
        others = {name for name in record if name not in features} - single
        single |= {n for n in others if isinstance(record[n], LISTS) and len(record[n]) != 1}
    return {name: [entry] if name in single else entry for name, entry in record.items()}


def _is_single(entry: Any, may_be_list: bool) -> bool:
    is_list = isinstance(entry, list | tuple) or np.ndim(entry) > 0
    return is_list_of_numbers(entry) if is_list and may_be_list else not is_list


def _from_array(items: Any) -> Items:
    if np.ma.is_masked(items):
        raise PairscoreError(
            f"{plural(int(np.ma.count_masked(items)), 'feature value')} masked; fill them in or"
            " drop these items or columns."
        )
    table = to_array(items, "the items are")
    try:
        values = to_floats(table)
    except (TypeError, ValueError, OverflowError) as error:
        raise CallError(
            f"the items are neither a dataframe nor a numeric array ({error})",
            "give one row of numbers per item",
        ) from None
    refuse_other_dimensions(table)
    return Items(values, tuple(f"x{column}" for column in range(values.shape[1])))


def _from_frame(table: Frame, features: tuple[str, ...] | None) -> Items:
    frame = spread_lists(table, features)
    by_name = {str(name): name for name in frame.columns if name != ID_COLUMN}
    if features is not None:
        refuse_absent(features, by_name)
    columns = [by_name[name] for name in (by_name if features is None else features)]
    kind = frame.schema
    others = [c for c in columns if not (kind[c].is_numeric() or kind[c] == nw.Boolean)]
    if others:
        leave_out(frame, others, named=features is not None or len(others) == len(columns))
        columns = [c for c in columns if c not in others]
    ids = ids_of(frame)
    if ids is not None:
        refuse_bad_ids(ids)
    names, values = tuple(map(str, columns)), _matrix(frame, columns)
    return Items(without_rounding_errors(values, names), names, ids, backend_of(table))


def _matrix(frame: Frame, columns: list[Any]) -> np.ndarray:
    """Numeric columns side by side: an array of float64 of shape (N, number of columns)."""
    if isinstance(frame, Columns):
        return frame.matrix(tuple(columns))
    if not columns:
        return np.empty((len(frame), 0))
    # pandas has a missing boolean that is no number until it is cast
    place = {name: number for number, name in enumerate(frame.columns)}
    chosen = frame[:, [place[name] for name in columns]]
    truths = [name for name, kind in chosen.schema.items() if kind == nw.Boolean]
    if truths:
        chosen = chosen.with_columns(nw.col(*truths).cast(nw.Float64))
    return np.ascontiguousarray(chosen.to_numpy(), dtype=np.float64)


# -- refusals --------------------------------------------------------------------------------------


def with_features(items: Items, fitted: tuple[str, ...]) -> Items:
    """The items with the features of a fit, found by name; others are left out. Arrays have no
    names, so theirs have to be as many, in the order of the fit.
    """
    names = items.feature_names
    if names == fitted or (items.backend is None and len(names) == len(fitted)):
        return items
    if items.backend is None and fitted:
        raise PairscoreError(
            f"the items have {plural(len(names), 'feature')} but the model was fitted with"
            f" {len(fitted)}; give the same features."
        )
    refuse_absent(fitted, names)
    place = {name: column for column, name in enumerate(names)}
    values = np.ascontiguousarray(items.values[:, [place[name] for name in fitted]])
    return replace(items, values=values, feature_names=fitted)


def refuse_absent(fitted: Collection[str], names: Collection[str]) -> None:
    """Every feature of a fit must be among ``names``; others do no harm."""
    missing = [name for name in fitted if name not in names]
    refuse_other_lists(list_lengths(fitted), missing, names)
    if missing:
        raise PairscoreError(
            f"the items lack {plural(len(missing), 'feature')} of the {len(fitted)} that the model"
            f" was fitted with: {absent_names(missing)}",
            add_or_exclude(missing, names),
        )


def absent_names(missing: list[str]) -> str:
    """Features that a table lacks; a list is one name."""
    lists = list_lengths(missing)
    return first_few(
        repr(name) + (f" ({plural(lists[name], 'number')})" if name in lists else "")
        for name in _whole(missing)
    )


def add_or_exclude(missing: list[str], names: Collection[str]) -> list[Piece]:
    """What to do about features that are not among ``names``."""
    whole = _whole(missing)
    named = Setting("exclude", whole) if len(whole) <= MOST_NAMED else Setting("exclude")
    again = "fit again with " + named + f".{did_you_mean(whole[0], names)}"
    return [f"add {'it' if len(whole) == 1 else 'them'}", again]


def _whole(names: list[str]) -> list[str]:
    """Names of features, each list once."""
    lists, place = list_lengths(names), re.compile(r"\[[0-9]+\]$")
    of_list = {name: place.sub("", name) for name in names}
    return list(dict.fromkeys(whole if whole in lists else n for n, whole in of_list.items()))


def refuse_other_lists(
    fitted: Mapping[str, int], missing: Collection[str], names: Collection[str]
) -> None:
    """Lists have as many numbers as in the fit (``fitted``, by name), not more and not fewer."""
    given, short = list_lengths(names), list_lengths(missing)
    for name, length in fitted.items():
        number = given.get(name, 0)
        if number > length or (number and name in short):
            raise PairscoreError(
                f"{name!r} has {plural(number, 'number')} for each item, but the model was fitted"
                f" with {length}; give lists that were made in the same way."
            )


def leave_out(frame: Frame, names: list[Any], named: bool = False) -> None:
    """Warn that columns of text or dates are no features.

    They are refused if they are ``named`` as features, or the only ones, or mix text and numbers.
    """
    schema, one = frame.schema, len(names) == 1
    bad = names if named else [name for name in names if schema[name] == nw.Object]
    examples = first_few(
        _example(frame, name, type(schema[name]).__name__) for name in bad or names
    )
    if bad:
        raise PairscoreError(
            f"{plural(len(bad), 'column')} of the item table {'is' if len(bad) == 1 else 'are'} not"
            f" numeric: {examples}; make them numbers (0/1 columns for categories), drop them, or"
            f" call the identifier column {ID_COLUMN!r}."
        )
    warn_caller(
        PairscoreWarning(
            f"{plural(len(names), 'column', verb='is')} not numeric and"
            f" {'is' if one else 'are'} left out of the features: {examples}",
            [
                "name categories with " + Setting("categorical"),
                "name the column of ids with " + Setting("id"),
                "name the features to use with " + Setting("features"),
            ],
        )
    )


def _example(frame: Frame, name: Any, kind: str) -> str:
    entry = frame.get_column(name)[0] if len(frame) else None
    return f"{name!r} ({kind}, e.g. {shown(entry if is_missing(entry) else str(entry))})"


SEEN_ID = "an id already seen"


def refuse_bad_ids(ids: np.ndarray) -> None:
    """Every item has an id, and no other item has the same; ``ids`` has the shape (N,)."""
    if ids.dtype.kind in "iu" and ids.ndim == 1 and len(np.unique(ids)) == len(ids):
        return
    names = ids.tolist()
    if ids.ndim == 1 and {*map(type, names)} == {str} and len({*names}) == len(names):
        return
    if ids.dtype == object or ids.ndim > 1:
        _refuse_lists(names)
    missing = [row for row, name in enumerate(names) if is_missing(name)]
    if missing:
        rows = first_few(f"row {row}" for row in missing)
        what = f"the id is missing in {plural(len(missing), 'row')} of the item table ({rows})"
        entries = [(row, ID_COLUMN, None) for row in missing]
        raise BadEntriesError(what, "give every item an id", "items", entries, "missing")
    first_row: dict[Any, int] = {}
    repeated = [row for row, name in enumerate(names) if first_row.setdefault(name, row) != row]
    if repeated:
        what = (
            f"{plural(len(repeated), 'row')} of the item table"
            f" {'repeats' if len(repeated) == 1 else 'repeat'} an id already seen:"
            f" {first_rows(repeated, [names[row] for row in repeated])}"
        )
        entries = [(row, ID_COLUMN, names[row]) for row in repeated]
        raise BadEntriesError(what, "keep one row per item", "items", entries, SEEN_ID)


def with_same_ids(fault: BadEntriesError, ids: Sequence[Any]) -> BadEntriesError:
    """A fault of ids that occur again, of all items that have them: none of these is surer."""
    if fault.reason != SEEN_ID or not len(ids):
        return fault
    shared = {value for _, _, value in fault.entries}
    entries = [(row, ID_COLUMN, id) for row, id in enumerate(ids) if id in shared]
    return fault.with_entries(entries, "an id of several items")


def _refuse_lists(names: list[Any]) -> None:
    lists = [row for row, name in enumerate(names) if not is_hashable(name)]
    if lists:
        raise PairscoreError(
            f"the id is a list or the like in {plural(len(lists), 'row')} of the item table:"
            f" {first_rows(lists, [names[row] for row in lists])}; use text or numbers as ids."
        )


def are_computable(values: np.ndarray) -> bool:
    """Whether all numbers (N x d) are finite and below LARGEST_NUMBER, or nearly so."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.einsum("ij,ij->", values, values) < LARGEST_NUMBER**2)


def refuse_non_finite(values: np.ndarray, names: tuple[str, ...]) -> None:
    """Features (N x d) must be finite and small enough to be squared.

    The message names the columns and how many entries of each are not; ``entries`` has them all.
    """
    if are_computable(values):  # one pass without a copy; only a bad table is looked at twice
        return
    bad = ~np.isfinite(values)
    if not bad.any():
        raise PairscoreError(
            "the features are so large that sums of their squares may overflow (largest"
            f" {np.abs(values).max():.3g}); divide them by a constant."
        )
    counts = bad.sum(axis=0)
    columns = np.flatnonzero(counts)
    by_column = first_few(f"{names[column]!r} ({counts[column]})" for column in columns)
    what = (
        f"{plural(int(bad.sum()), 'feature value', verb='is')} NaN or infinite, in"
        f" {plural(len(columns), 'column')}: {by_column}"
    )
    remedy = "fill them in or drop these items or columns"
    entries = [(int(row), names[c], float(values[row, c])) for c, row in np.argwhere(bad.T)]
    raise BadEntriesError(what, remedy, "items", entries, "not finite")


def table_like(items: Items, columns: dict[str, Any]) -> Any:
    """A table of the caller's kind; a NumPy structured array for those who came with arrays."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if items.backend in (dict, Columns):
        return arrays
    if items.backend is not None:
        return nw.from_dict(columns, backend=items.backend).to_native()
    kinds = [(name, values.dtype) for name, values in arrays.items()]
    table = np.empty(len(next(iter(arrays.values()))), dtype=kinds)
    for name, values in arrays.items():
        table[name] = values
    return table


# -- items known by their features -----------------------------------------------------------------


def feature_keys(values: np.ndarray) -> np.ndarray:
    """A number of 64 bits for the features of each row, the same for rows that are equal in single
    precision: an item may come with other rounding errors.
    """
    if len(values) <= FEW_ROWS:
        with np.errstate(over="ignore"):
            single = values.astype(np.float32) + np.float32(0.0)  # minus zero is zero
        return np.array([_key(row) for row in single.view(np.uint32).tolist()], dtype=np.uint64)
    keys = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        with np.errstate(over="ignore"):
            single = column.astype(np.float32) + np.float32(0.0)
        keys ^= single.view(np.uint32).astype(np.uint64)
        keys *= np.uint64(MIX[0])
        keys ^= keys >> np.uint64(29)
        keys *= np.uint64(MIX[1])
        keys ^= keys >> np.uint64(32)
    return keys


def _key(numbers: list[int]) -> int:
    """The same of one row, quicker than arrays of one number."""
    key, (first, second), bits = 0, MIX, ALL_BITS
    for number in numbers:
        key = (key ^ number) * first & bits
        key = (key ^ key >> 29) * second & bits
        key ^= key >> 32
    return key


def rows_of_same_features(known: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """For each key the row among the known ones that has it, or -1.

    Items with equal features are told apart by their order if both tables have equally many of
    them; of one known item there may be any number of copies; otherwise nobody can say who is who,
    and they are new.
    """
    if np.array_equal(known, keys):
        return np.arange(len(keys))
    if len(keys) == 1:  # without sorting the known ones
        same = np.flatnonzero(known == keys[0])
        return same if len(same) == 1 else np.array([-1])
    _, group = np.unique(np.concatenate([known, keys]), return_inverse=True)
    old, new = group[: len(known)], group[len(known) :]
    n_old, n_new = (
        np.bincount(old, minlength=group.max() + 1),
        np.bincount(new, minlength=group.max() + 1),
    )
    first, by_group = np.cumsum(n_old) - n_old, np.argsort(old, kind="stable")
    order = np.argsort(new, kind="stable")
    turn = np.empty(len(new), dtype=np.intp)
    turn[order] = np.arange(len(new)) - (np.cumsum(n_new) - n_new)[new[order]]
    clear = (n_old == 1) | (n_old == n_new)
    place = first[new] + np.where(n_old[new] == 1, 0, turn)
    return np.where(clear[new] & (n_old[new] > 0), by_group[np.minimum(place, len(known) - 1)], -1)


def look_up_numbers(known: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Places of whole numbers (n,) among the known ones (N,), -1 for another."""
    low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    if high - low <= 4 * len(known) and names.dtype.kind == known.dtype.kind == "i":
        places = np.full(high - low + 2, -1)  # of all numbers between, and of others
        places[known - low] = np.arange(len(known))
        return places[np.where((names < low) | (names > high), -1, names - low)]
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, names, sorter=order), len(known) - 1)]
    return np.where(known[place] == names, place, -1)
