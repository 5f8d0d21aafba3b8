"""Tables of every kind become named columns: dataframes by narwhals, dicts and files as `Columns`.

pairscore takes what users have (NumPy arrays and nested lists, pandas, polars, Arrow and other
dataframes, dicts of columns) and depends on no dataframe library itself.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import repeat
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from pairscore.display import first_few, first_rows, plural, shown
from pairscore.errors import CallError, PairscoreError, is_real
from pairscore.messages import Piece

ID_COLUMN = "id"
TEXT_AND_DATES = (str, bytes, np.datetime64, np.timedelta64)
LISTS = (list, tuple, np.ndarray)
ROUNDING_ERROR = 1e-12  # of the largest number in a list
KINDS = {"b": nw.Boolean(), "i": nw.Int64(), "u": nw.Int64(), "f": nw.Float64(), "U": nw.String()}
KINDS |= {"M": nw.Datetime(), "m": nw.Duration()}


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table with n rows.

    Long text repeats, so a file's column may be held as its distinct values and a code for each
    row: checks and look-ups then see each value once.

    Parameters
    ----------
    values : ndarray of shape (n,), or (number of distinct values,) with codes
        The entries.
    codes : ndarray of int of shape (n,), or None
        For each row the position of its entry in ``values``.
    """

    values: np.ndarray
    codes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values if self.codes is None else self.codes)

    def __getitem__(self, row: int) -> Any:
        return self.values[row if self.codes is None else self.codes[row]]

    def to_numpy(self) -> np.ndarray:
        """One entry per row: an array of shape (n,)."""
        return self.values if self.codes is None else self.values[self.codes]

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """``function`` of the entries, which must treat each on its own; shape (n,)."""
        result = function(self.values)
        return result if self.codes is None else result[self.codes]

    def take(self, rows: np.ndarray) -> "Column":
        """The entries of some rows (numbers or a mask), in that order."""
        if self.codes is None:
            return Column(self.values[rows])
        return Column(self.values, self.codes[rows])

    def is_missing(self) -> np.ndarray:
        """Mask of the rows without an entry, shape (n,)."""
        return self.map(lambda values: np.fromiter(map(is_missing, values), bool, len(values)))


class Columns:
    """Named one-dimensional columns of equal length: a table without a dataframe library.

    ``columns["mass"]`` is one column as an array, ``dict(columns)`` all of them. Entries may be
    anything that an array holds; a column of numbers and None becomes floats with NaN, and masked
    entries become None. A column of two dimensions has a list for each row; more dimensions,
    unequal lengths and columns of the same name are refused.

    Parameters
    ----------
    columns : dict or iterable of pairs
        Arrays, lists or :class:`Column` by name.
    from_file : bool
        Whether the table was read from a file. A name and its text are the same there (7 and
        ``"7"``), because a column of a file is text as soon as one cell is.

    Examples
    --------
    >>> table = Columns({"id": ["a", "b"], "mass": [1.5, 2]})
    >>> len(table), table.columns, table["mass"].tolist()
    (2, ['id', 'mass'], [1.5, 2.0])
    """

    def __init__(self, columns: Any, from_file: bool = False):
        self.from_file = from_file
        self._columns = {
            str(name): values if isinstance(values, Column) else Column(_to_column(values, name))
            for name, values in dict(columns).items()
        }
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(lengths) < len(dict(columns)):
            raise PairscoreError(
                f"a table has columns of the same name: {first_few(map(repr, lengths))}; give every"
                " column its own name."
            )
        if len(set(lengths.values())) > 1:
            unequal = first_few(f"{name!r} ({length})" for name, length in lengths.items())
            raise PairscoreError(
                f"the columns of a table have unequal lengths: {unequal}; give every column one"
                " entry per row."
            )

    @property
    def columns(self) -> list[str]:
        """Names, in order."""
        return list(self._columns)

    def keys(self) -> list[str]:
        """Names, which ``dict(columns)`` needs."""
        return self.columns

    @property
    def schema(self) -> dict[str, Any]:
        """Type of each column, as a narwhals dtype."""
        return {name: _kind(column.values) for name, column in self._columns.items()}

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name].to_numpy()

    def __repr__(self) -> str:
        return f"Columns({len(self)} rows: {first_few(map(repr, self.columns), 8)})"

    def take(self, rows: np.ndarray) -> "Columns":
        """Some rows (numbers or a mask), in that order."""
        taken = {name: column.take(rows) for name, column in self._columns.items()}
        return Columns(taken, self.from_file)

    def drop(self, names: list[str]) -> "Columns":
        """The table without some columns."""
        kept = {name: column for name, column in self._columns.items() if name not in names}
        return Columns(kept, self.from_file)

    def get_column(self, name: str) -> Column:
        """One column with its codes, if it has some."""
        return self._columns[name]

    def matrix(self, names: tuple[str, ...]) -> np.ndarray:
        """Numeric columns side by side: an array of float64 of shape (n, number of names)."""
        values = np.empty((len(self), len(names)))
        for number, name in enumerate(names):
            values[:, number] = self[name]
        return values


Frame = nw.DataFrame | Columns


def as_frame(table: Any) -> Frame | None:
    """A table as an object with ``columns``, ``schema`` and ``get_column``; None if it is none.

    Dataframes are of any library that narwhals knows (pandas, polars, Arrow, ...; a lazy one is
    collected). Columns of one name and names of several levels (a pandas MultiIndex) are refused.
    """
    if isinstance(table, dict | Columns):
        return table if isinstance(table, Columns) else Columns(table)
    try:
        frame = nw.from_native(table, pass_through=True, allow_series=False)
    except DuplicateError:
        names = getattr(table, "column_names", None) or list(table.columns)
        repeated = [f"{str(n)!r} {times} times" for n, times in Counter(names).items() if times > 1]
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


def backend_of(frame: Frame | None) -> Any:
    """The kind of a table, in which answers are given back: a narwhals implementation for a
    dataframe, ``dict`` for a dict, :class:`Columns` for a table of a file, None for an array.
    """
    if isinstance(frame, Columns):
        return Columns if frame.from_file else dict
    return None if frame is None else frame.implementation


PACKAGES_OF_TABLES = ("pandas", "polars", "pyarrow", "modin", "cudf")
KINDS_OF_TABLES = {dict: "dict", Columns: "file", None: "array"}


def backend_name(backend: Any) -> str:
    """What a file calls a kind of table of :func:`backend_of`: ``pandas``, ``dict``, ..."""
    known = KINDS_OF_TABLES.get(backend)
    return str(backend.value) if known is None else known


def named_backend(name: str) -> Any:
    """The kind of table that :func:`backend_name` named; ``dict`` where its package is missing."""
    known = {kind: backend for backend, kind in KINDS_OF_TABLES.items()}
    if name in known:
        return known[name]
    is_here = name in PACKAGES_OF_TABLES and find_spec(name) is not None
    return nw.Implementation(name) if is_here else dict


def column_of(frame: Frame, name: str) -> Column:
    """One column of what :func:`as_frame` returns."""
    return frame.get_column(name) if isinstance(frame, Columns) else Column(frame[name].to_numpy())


def distinct(column: Column) -> np.ndarray:
    """The entries of a column, each once, without missing ones."""
    values = column.values
    if column.codes is not None:  # of small whole numbers, which to sort takes four times as long
        values = values[np.bincount(column.codes, minlength=len(values)) > 0]
    if values.dtype.kind in "biu":
        return np.unique(values)
    entries = values.tolist()
    try:
        known = dict.fromkeys(entries)
    except TypeError:  # lists and the like
        known = dict.fromkeys(entry for entry in entries if is_hashable(entry))
    filled = [entry for entry in known if not is_missing(entry) and entry != ""]
    return np.fromiter(filled, dtype=object, count=len(filled))


def ids_of(frame: Frame) -> np.ndarray | None:
    """The column of ids; else the pandas index, unless it only numbers the rows (0, 1, 2, ...)."""
    if ID_COLUMN in frame.columns:
        return whole_numbers(column_of(frame, ID_COLUMN).to_numpy())
    index = None if isinstance(frame, Columns) else nw.maybe_get_index(frame)
    if index is None:
        return None
    ids = whole_numbers(np.asarray(index))
    return None if ids.dtype.kind in "iu" and np.array_equal(ids, np.arange(len(ids))) else ids


LARGEST_WHOLE = 2.0**53  # up to which a double holds every whole number


def whole_numbers(ids: np.ndarray) -> np.ndarray:
    """Ids that are whole numbers, but held as doubles, as integers; others as they are.

    Dataframes turn integers into doubles where one is missing, which stays so: None.
    """
    if ids.dtype.kind != "f" or not ids.size:
        return ids
    known = ids[~np.isnan(ids)]
    if not np.all(np.abs(known) < LARGEST_WHOLE) or not np.all(known == np.floor(known)):
        return ids
    if len(known) == len(ids):
        return ids.astype(np.int64)
    return np.array([None if one != one else int(one) for one in ids.tolist()], dtype=object)


def to_array(values: Any, what: Piece) -> np.ndarray:
    """``values`` as an array of rows of one length; ``what`` starts a refusal: "the items are"."""
    if not getattr(type(values), "is_table", True):
        raise CallError(
            what + f" {type(values).__name__}, which already have items and comparisons",
            ["give a dataframe", "give an array"],
        )
    try:
        return np.asarray(values)
    except ValueError:
        raise CallError(
            what + " neither a dataframe nor a numeric array (the rows differ in length)",
            "give rows of equally many numbers",
        ) from None


def refuse_other_dimensions(table: np.ndarray) -> None:
    """An array of items has two dimensions."""
    if table.ndim != 2:
        raise CallError(
            f"the items are an array of {plural(table.ndim, 'dimension')}",
            "give two: one row per item, one column per feature",
        )


# -- entries ---------------------------------------------------------------------------------------


def look_up(number_of: dict[Any, int], names: list[Any], default: int) -> np.ndarray:
    """Numbers of names (n,); ``default`` of one that is not, or like a list cannot be, a key."""
    try:
        return np.fromiter(map(number_of.get, names, repeat(default)), np.intp, len(names))
    except TypeError:
        numbers = [number_of.get(name, default) if is_hashable(name) else default for name in names]
        return np.array(numbers, dtype=np.intp)


def is_hashable(value: Any) -> bool:
    """Whether this can be the key of a dictionary, as text and numbers can and lists cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_missing(value: Any) -> bool:
    """None, NaN, or pandas' NA, which does not even say whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _to_column(values: Any, name: Any) -> np.ndarray:
    """``values`` as one column: numbers with None as NaN, or entries as they are."""
    if np.ma.isMaskedArray(values):
        mask, values = np.ma.getmaskarray(values), np.ma.getdata(values).astype(object)
        values[mask] = None
    array = np.asarray(values) if hasattr(values, "__array__") else _from_sequence(values)
    if array.ndim == 2 and array.dtype.kind in "biufO":  # embeddings: a list for each row
        array = np.fromiter(array, dtype=object, count=len(array))
    if array.ndim != 1:
        raise PairscoreError(
            f"the column {name!r} has {array.ndim} dimensions; give one entry per row."
        )
    if array.dtype != object or len(array) == 0:
        return array
    entries = array.tolist()
    known = [value for value in entries if value is not None]
    if all(isinstance(value, bool | np.bool_) for value in entries):
        return array.astype(bool)
    if known and all(map(is_real, known)):
        return array.astype(float) if len(known) < len(entries) else np.array(entries)
    return array


def _from_sequence(values: Any) -> np.ndarray:
    """Entry by entry, because NumPy would write the numbers of a mixed list as text."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        return np.asarray(values)
    return np.fromiter(values, dtype=object, count=len(values))


def _kind(values: np.ndarray) -> Any:
    if values.dtype == object and all(value is None or isinstance(value, str) for value in values):
        return nw.String()
    return KINDS.get(values.dtype.kind, nw.Object())


# -- lists of numbers ------------------------------------------------------------------------------


def columns_of_lists(frame: Frame) -> list[str]:
    """Names of the columns whose entries are lists, such as embeddings."""
    found = []
    for name, kind in frame.schema.items():
        entries = column_of(frame, name).values.tolist() if kind == nw.Object else ()
        if isinstance(kind, nw.List | nw.Array) or any(isinstance(one, LISTS) for one in entries):
            found.append(name)
    return found


def to_floats(table: np.ndarray) -> np.ndarray:
    """Numbers as float64; NumPy alone would also turn text and dates into numbers."""
    if table.dtype.kind not in "biufO" or (
        table.dtype == object and any(isinstance(value, TEXT_AND_DATES) for value in table.flat)
    ):
        raise TypeError(f"its type is {table.dtype}")
    return np.ascontiguousarray(table, dtype=np.float64)


def list_lengths(names: Iterable[str]) -> dict[str, int]:
    """How many numbers of each list are among these names.

    >>> list_lengths(["embedding[0]", "mass", "embedding[1]"])
    {'embedding': 2}
    """
    numbers = (
        re.fullmatch(r"(.*)\[[0-9]+\]", name, re.DOTALL) for name in names if name[-1:] == "]"
    )
    return dict(Counter(number[1] for number in numbers if number))


def spread_lists(frame: Frame, wanted: Collection[str] | None = None) -> Frame:
    """A table with a column for each number of a list: ``embedding[0]``, ``embedding[1]``, ...

    With ``wanted`` features, only of lists that they are numbers of.
    """
    bases = None if wanted is None else list_lengths(wanted)
    lists = [name for name in columns_of_lists(frame) if bases is None or str(name) in bases]
    lists = [name for name in lists if name != ID_COLUMN]
    if not lists or not len(frame):
        return frame
    ids = ids_of(frame)
    columns: dict[str, Any] = {} if ids is None else {ID_COLUMN: ids}
    for name in frame.columns:
        column = column_of(frame, name)
        numbers = _numbers_of_lists(name, column.to_numpy()) if name in lists else ()
        columns |= {f"{name}[{k}]": row for k, row in enumerate(numbers)} or {name: column}
    return Columns(columns)


def _numbers_of_lists(name: str, entries: np.ndarray) -> np.ndarray:
    """Lists of k numbers (N,) as an array of shape (k, N); what is missing in a list is NaN."""
    lengths = [len(entry) if isinstance(entry, LISTS) else -1 for entry in entries]
    ((usual, _),) = Counter(n for n in lengths if n >= 0).most_common(1) or [(0, 0)]
    others = [row for row, length in enumerate(lengths) if length != usual]
    if others:
        raise PairscoreError(
            f"the column {name!r} of the item table has lists of {plural(usual, 'number')}, but not"
            f" in {plural(len(others), 'row')}: {first_rows(others, entries[others])}; give every"
            " item equally many numbers, or drop these items."
        )
    try:
        numbers = to_floats(np.array(entries.tolist()))
        refuse_other_dimensions(numbers)
    except (TypeError, ValueError, PairscoreError):
        raise PairscoreError(
            f"the column {name!r} of the item table has lists of other things than numbers, such as"
            f" {shown(entries[0])}; make them numbers, or drop the column."
        ) from None
    return numbers.T


def without_rounding_errors(values: np.ndarray, names: Collection[str]) -> np.ndarray:
    """Features (N x d) with zeros in places of a list that hold only rounding errors.

    Its numbers share one unit, so a place without any above 1e-12 of the largest says nothing: a
    component of an SVD beyond the rank of its data. Other columns have units of their own.
    """
    empty = np.zeros(len(names), dtype=bool)
    for base in list_lengths(names):
        own = np.flatnonzero([name.startswith(f"{base}[") for name in names])
        size = np.array([np.fmax.reduce(np.abs(values[:, k]), initial=0.0) for k in own])
        empty[own] = size < ROUNDING_ERROR * np.fmax.reduce(size)
    return np.where(empty, 0.0 * values, values) if empty.any() else values  # gaps stay


# -- numbers of comparisons ------------------------------------------------------------------------
