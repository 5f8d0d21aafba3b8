"""A small table of named columns, for those who have no dataframe library: what files become."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.errors import PairscoreError, first_few

KINDS = {"b": nw.Boolean(), "i": nw.Int64(), "u": nw.Int64(), "f": nw.Float64(), "U": nw.String()}


@dataclass(frozen=True, eq=False)
class Column:
    """One column. Long text is kept as its distinct values and one code per row, so that each value
    is looked at once.
    """

    values: np.ndarray
    codes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values if self.codes is None else self.codes)

    def __getitem__(self, row: int) -> Any:
        return self.values[row if self.codes is None else self.codes[row]]

    def to_numpy(self) -> np.ndarray:
        """One entry per row."""
        return self.values if self.codes is None else self.values[self.codes]

    def each(self, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """``function`` of every entry, where it looks at entries one by one."""
        result = function(self.values)
        return result if self.codes is None else result[self.codes]

    def take(self, rows: np.ndarray) -> "Column":
        """The entries of some rows."""
        return (
            Column(self.values[rows])
            if self.codes is None
            else Column(self.values, self.codes[rows])
        )


class Columns:
    """Named one-dimensional arrays of equal length.

    ``columns["mass"]`` is one of them, ``dict(columns)`` all.

    >>> table = Columns({"id": ["a", "b"], "mass": [1.5, 2]})
    >>> len(table), table.columns, table["mass"].tolist()
    (2, ['id', 'mass'], [1.5, 2.0])
    """

    def __init__(self, columns: Any, as_written: bool = False):
        self.as_written = as_written  # read from a file, where a name and its text are the same
        self._columns = {
            str(name): values if isinstance(values, Column) else Column(_array(values, name))
            for name, values in dict(columns).items()
        }
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(lengths) < len(dict(columns)):
            raise PairscoreError(
                f"a table has columns of the same name: {first_few(map(repr, lengths))}; give every"
                " column its own name."
            )
        if len(set(lengths.values())) > 1:
            shown = first_few(f"{name!r} ({length})" for name, length in lengths.items())
            raise PairscoreError(
                f"the columns of a table have unequal lengths: {shown}; give every column one entry"
                " per row."
            )

    @property
    def columns(self) -> list[str]:
        """Names, in order."""
        return list(self._columns)

    def keys(self) -> list[str]:
        """Names, as ``dict(columns)`` asks for them."""
        return self.columns

    @property
    def schema(self) -> dict[str, Any]:
        """Type of each column, in the words of narwhals."""
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
        """Some rows, in that order."""
        return Columns(
            {name: column.take(rows) for name, column in self._columns.items()}, self.as_written
        )

    def get_column(self, name: str) -> Column:
        """One column as it is kept."""
        return self._columns[name]

    def matrix(self, names: tuple[str, ...]) -> np.ndarray:
        """Some columns side by side, as numbers."""
        values = np.empty((len(self), len(names)))
        for place, name in enumerate(names):
            values[:, place] = self[name]
        return values


def column_of(frame: Any, name: str) -> Column:
    """One column of ``Columns`` or of a narwhals frame."""
    return frame.get_column(name) if isinstance(frame, Columns) else Column(frame[name].to_numpy())


def _array(values: Any, name: Any) -> np.ndarray:
    """``values`` as one column: numbers with None as NaN, or entries as they are."""
    if np.ma.isMaskedArray(values):
        values, mask = np.ma.getdata(values).astype(object), np.ma.getmaskarray(values)
        values[mask] = None
    array = (
        values
        if isinstance(values, np.ndarray)
        else np.asarray(values)
        if hasattr(values, "__array__")
        else _from_sequence(values)
    )
    if array.ndim != 1:
        raise PairscoreError(
            f"the column {name!r} has {array.ndim} dimensions; give one entry per row."
        )
    if array.dtype != object or len(array) == 0:
        return array
    entries = array.tolist()
    if all(isinstance(value, bool | np.bool_) for value in entries):
        return array.astype(bool)
    if all(value is None or _is_number(value) for value in entries) and any(
        value is not None for value in entries
    ):
        return array.astype(float) if None in entries else np.array(entries)
    return array


def _from_sequence(values: Any) -> np.ndarray:
    """Entry by entry: NumPy would write the numbers of a mixed list as text."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        return np.asarray(values)
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _kind(values: np.ndarray) -> Any:
    if values.dtype == object and all(value is None or isinstance(value, str) for value in values):
        return nw.String()
    return KINDS.get(values.dtype.kind, nw.Object())
