"""The files of arrays that pairscore writes (.npz), read as if a stranger had made them.

Models, sums of sites and checkpoints are zip archives of arrays in NumPy's format. They are written
uncompressed, and nothing else is read: what a file says of its sizes is compared with the bytes
that are there before any memory is taken, so that reading takes no more than about twice the file.
No entry is an object, and nothing is evaluated.

What the arrays and the JSON of a file must be like stands in one table for each kind of file, made
of :class:`Field` and of the annotations of dataclasses (:func:`has_type`).
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isfinite, prod
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from types import NoneType, UnionType
from typing import Any, BinaryIO, Literal, NamedTuple, Union, get_args, get_origin
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from pairscore.errors import PairscoreError

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 1000  # bytes; those of NumPy have about 120
MOST_ARRAYS = 10_000
# what NumPy writes of an array: kind and size of its entries, their order, and its shape
HEADER = re.compile(
    r"\{'descr': '([<>|]?[biufU]\d{1,9}|[<>]M8\[\w{1,4}\])', 'fortran_order': (True|False),"
    r" 'shape': \(((?:\d{1,18}, )*\d{0,18}),?\), \}\s*"
)


class DamagedFileError(Exception):
    """Some bytes are not what pairscore writes; the message says what they have instead."""


# -- bytes ---------------------------------------------------------------------------------------


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file by name; OSError where it cannot be read.

    DamagedFileError where it is not a whole archive of arrays.
    """
    mode = path.stat().st_mode
    if not S_ISREG(mode) and not S_ISDIR(mode):  # a pipe or device might never end
        raise PairscoreError(
            f"{str(path)!r} is a pipe or a device, which may have no end; copy it to a file first."
        )
    with path.open("rb") as file:
        size = file.seek(0, 2)
        try:
            return _arrays(file, size)
        except (MemoryError, OSError):
            raise
        except Exception as error:  # bytes of any kind fail in ways of any kind
            raise DamagedFileError("it is cut short or of another kind") from error


def _arrays(file: BinaryIO, size: int) -> dict[str, np.ndarray]:
    with ZipFile(file) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(".npy") for member in members]
        if len(set(names)) != len(names) or len(names) > MOST_ARRAYS:
            raise DamagedFileError("names")
        if not all(map(_is_plain, members)) or sum(m.file_size for m in members) > size:
            raise DamagedFileError("sizes")
        return {
            name: _array(archive.read(member)) for name, member in zip(names, members, strict=True)
        }


def _is_plain(member: ZipInfo) -> bool:
    is_stored = member.compress_type == ZIP_STORED and member.file_size == member.compress_size
    return is_stored and member.filename.endswith(".npy")


def _array(content: bytes) -> np.ndarray:
    layout = _layout(content[:LONGEST_HEADER], len(content))
    entries = np.frombuffer(content, layout.dtype, offset=layout.begin)
    entries = entries.astype(layout.dtype.newbyteorder("="))
    return entries.reshape(layout.shape, order=layout.order)


def map_array(path: Path) -> np.ndarray:
    """An array of a file (.npy) of its own, read where it is used; errors as above."""
    with path.open("rb") as file:
        try:
            layout = _layout(file.read(LONGEST_HEADER), file.seek(0, 2))
            return np.memmap(file, layout.dtype, "r", layout.begin, layout.shape, layout.order)
        except (MemoryError, OSError):
            raise
        except Exception as error:
            raise DamagedFileError("it is cut short or of another kind") from error


class Layout(NamedTuple):
    """Where the entries of an array begin, and what they are."""

    begin: int
    dtype: np.dtype
    shape: tuple[int, ...]
    order: Literal["C", "F"]


def _layout(head: bytes, size: int) -> Layout:
    """That of an array in NumPy's format, version 1 or 2, of which all bytes are there."""
    width = {b"\1\0": 2, b"\2\0": 4}[head[6:8]]
    begin = 8 + width + int.from_bytes(head[8 : 8 + width], "little")
    found = HEADER.fullmatch(head[8 + width : begin].decode("ascii"))
    if head[:6] != MAGIC or begin > LONGEST_HEADER or found is None:
        raise DamagedFileError("header")
    kind, fortran, sizes = found.groups()
    shape, dtype = tuple(map(int, re.findall(r"\d+", sizes))), np.dtype(kind)
    if not dtype.itemsize or prod(shape) * dtype.itemsize != size - begin:
        raise DamagedFileError("length")
    return Layout(begin, dtype, shape, "F" if fortran == "True" else "C")


def read_json(text: str | bytes) -> Any:
    """Values of JSON; DamagedFileError where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError("it has no JSON where there should be some") from error


# -- arrays --------------------------------------------------------------------------------------

FLOAT, INTEGER, NAMES = "f", "i", "biufUM"  # kinds of entries, as NumPy's letters
ANY_SHAPE = "..."


@dataclass(frozen=True)
class Field:
    """What an array of a file must be.

    Parameters
    ----------
    shape : str
        Its lengths, with commas between: a name is one length throughout the file, a number that
        number, ``a+b`` a sum in which the last may be new, ``*`` any length; ``...`` any shape.
    kinds : str
        Letters of NumPy for the kind of its entries; numbers have 64 bits, integers perhaps 32.
    low, high : float
        Limits of its entries; ``below`` instead is the name of a length, of which they are indices.
    nan : bool
        Whether entries may be missing or infinite.
    rising : bool
        Whether entries never fall.
    """

    shape: str
    kinds: str = FLOAT
    low: float = -inf
    high: float = inf
    below: str = ""
    nan: bool = False
    rising: bool = False

    def fault(self, array: np.ndarray, lengths: dict[str, int]) -> str:
        """What is wrong with an array, in words after its name; lengths that are new are kept."""
        if not self._has_kind(array.dtype):
            return "has entries of another kind"
        if not self._has_shape(array.shape, lengths) or (self.below and self.below not in lengths):
            size = " x ".join(map(str, array.shape)) or "no"
            return f"has {size} entries, which do not fit the rest"
        if array.dtype.kind in "UM" or not array.size:
            return ""
        if not self.nan and not np.isfinite(array).all():
            return "has entries that are not finite numbers"
        low, high = (0, lengths[self.below] - 1) if self.below else (self.low, self.high)
        if np.any(array < low) or np.any(array > high):
            return f"has entries that are not from {low:g} to {high:g}"
        if self.rising and np.any(array[1:] < array[:-1]):
            return "has entries that are not in order"
        return ""

    def _has_kind(self, dtype: np.dtype) -> bool:
        if dtype.kind not in self.kinds:
            return False
        return dtype.itemsize == 8 if dtype.kind == "f" else not self.below or dtype.itemsize >= 4

    def _has_shape(self, shape: tuple[int, ...], lengths: dict[str, int]) -> bool:
        if self.shape == ANY_SHAPE:
            return True
        names = self.shape.split(",") if self.shape else []
        return len(shape) == len(names) and all(
            _has_length(size, name, lengths) for size, name in zip(shape, names, strict=True)
        )


def _has_length(size: int, name: str, lengths: dict[str, int]) -> bool:
    if name == "*":
        return True
    if name.isdigit():
        return size == int(name)
    *known, last = name.split("+")
    rest = size - sum(lengths[part] for part in known)
    return rest >= 0 and rest == (int(last) if last.isdigit() else lengths.setdefault(last, rest))


def faults_of(
    arrays: Mapping[str, np.ndarray], schema: Mapping[str, Field], lengths: dict[str, int]
) -> Iterable[str]:
    """What is wrong with arrays, each with its name; those without an entry in the schema too."""
    for name in sorted(arrays, key=lambda name: list(schema).index(name) if name in schema else -1):
        fault = "is not known" if name not in schema else schema[name].fault(arrays[name], lengths)
        if fault:
            yield f"{name!r} {fault}"


# -- values of JSON ------------------------------------------------------------------------------


def has_type(value: Any, hint: Any) -> bool:
    """Whether a value of JSON can stand for an annotation; arrays and tuples are lists there."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(has_type(value, one) for one in arguments)
    if origin in (list, tuple):
        return isinstance(value, list | tuple) and _items_have_types(value, arguments)
    if origin is dict:
        return isinstance(value, dict) and all(
            has_type(one, arguments[1]) for one in value.values()
        )
    if hint is np.ndarray:
        return isinstance(value, list) and (
            all(map(is_number, value)) or all(isinstance(one, str) for one in value)
        )
    if hint is float:
        return is_number(value)
    if hint is int:
        return is_number(value) and isinstance(value, int)
    return isinstance(value, hint or NoneType)


def _items_have_types(values: list[Any] | tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 1 or hints[1:] == (...,):
        return all(has_type(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(has_type, values, hints))


def is_number(value: Any) -> bool:
    """Whether this is a number that fits into 64 bits; NaN and infinity are."""
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and (isinstance(value, float) or abs(value) < 2**63)


def is_finite(value: Any) -> bool:
    """Whether this is a number, not missing and not infinite."""
    return is_number(value) and isfinite(value)
