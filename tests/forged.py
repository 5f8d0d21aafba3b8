"""Forged copies of the files that pairscore writes: one thing changed, all checksums right.

Whoever wants to harm can compute a checksum; so arrays and the JSON beside them are changed in
every way that a file can hold: other kinds, shapes, ranges, missing and huge numbers, other types.
"""

import io
import json
from copy import deepcopy

import numpy as np

from pairscore.model.file import checksum

TEXTS = ("header", "meta")  # arrays that hold JSON
HUGE = 10**9


def read(path):
    """Arrays of a file by name; the JSON among them as values."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name in TEXTS:
        if name in arrays:
            array = arrays[name]
            arrays[name] = json.loads(array.tobytes() if array.dtype == np.uint8 else str(array))
    return arrays


def write(path, arrays, is_compressed=False):
    """The file again, as if pairscore had written it: with the names and the checksum that fit."""
    arrays = dict(arrays)
    if isinstance(header := arrays.get("header"), dict):
        others = {name: array for name, array in arrays.items() if name != "header"}
        header = dict(header)
        if "arrays" in header:
            header["arrays"] = list(others)
        if "checksum" in header:
            header["checksum"] = checksum(others)
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    if "meta" in arrays and not isinstance(arrays["meta"], np.ndarray):
        arrays["meta"] = np.array(json.dumps(arrays["meta"]))
    buffer = io.BytesIO()
    (np.savez_compressed if is_compressed else np.savez)(buffer, **arrays)
    path.write_bytes(buffer.getvalue())
    return path


def _one_entry(array, entry):
    changed = array.copy()
    changed.reshape(-1)[-1:] = np.array(entry).astype(array.dtype)
    return changed


ANY = {
    "cut": lambda a: a[:-1] if a.ndim else a.reshape(1),
    "longer": lambda a: np.concatenate([a, a]) if a.ndim else np.stack([a, a]),
    "empty": lambda a: a[:0] if a.ndim else np.zeros((0,), a.dtype),
    "one more dimension": lambda a: a[None],
    "flat": np.ravel,
    "turned": np.transpose,
    "text": lambda a: a.astype("U8"),
    "true and false": lambda a: np.zeros(a.shape, dtype=bool),
    "bytes": lambda a: np.zeros(a.shape, dtype=np.int8),
    "single precision": lambda a: np.zeros(a.shape, dtype=np.float32),
    "long double": lambda a: np.zeros(a.shape, dtype=np.longdouble),
    "other bytes first": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "another order": np.asfortranarray,
    "dates": lambda a: np.zeros(a.shape, dtype="M8[s]"),
    "a scalar": lambda a: np.array(1.0),
}
NUMBERS = {
    "minus one": lambda a: _one_entry(a, -1),
    "all minus one": lambda a: np.full(a.shape, -1).astype(a.dtype),
    "huge": lambda a: _one_entry(a, HUGE),  # or another number, in one byte
    "largest": lambda a: _one_entry(a, _limits(a)[1]),
    "smallest": lambda a: _one_entry(a, _limits(a)[0]),
    "zeros": np.zeros_like,
    "reversed": lambda a: a.reshape(-1)[::-1].reshape(a.shape).copy(),
}
FLOATS = {
    "NaN": lambda a: _one_entry(a, np.nan),
    "all NaN": lambda a: np.full_like(a, np.nan),
    "infinite": lambda a: _one_entry(a, np.inf),
    "tiny": lambda a: np.full_like(a, 5e-324),
    "whole numbers": lambda a: np.zeros(a.shape, dtype=np.int64),
}


def _limits(array):
    kind = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
    return kind.min, kind.max


def of_arrays(arrays):
    """(what, arrays) with one array changed, left out or added."""
    for name, array in arrays.items():
        if name in TEXTS:
            continue
        ways = ANY | (NUMBERS if array.dtype.kind in "iuf" else {})
        ways |= FLOATS if array.dtype.kind == "f" else {}
        for way, change in ways.items():
            with np.errstate(all="ignore"):
                yield f"{name}: {way}", arrays | {name: change(array)}
        yield f"{name}: left out", {n: a for n, a in arrays.items() if n != name}
    yield "one array more", arrays | {"more_": np.zeros(3)}


VALUES = (None, True, -1, 0, 2.5, 1e308, -1e308, float("nan"), float("inf"), 2**80, "x", "", [], {})
VALUES += ([[]], [None], ["x"], {"x": 1}, "\x00", "𝔵" * 1000)


def of_json(value, path=()):
    """(what, value) with one entry of nested lists and dicts replaced or left out."""
    for other in VALUES:
        if type(other) is not type(value) or other != value:
            yield f"{'.'.join(map(str, path))}: {str(other)[:20]!r}", other
    if isinstance(value, dict):
        for key, entry in value.items():
            for what, changed in of_json(entry, (*path, key)):
                yield what, value | {key: changed}
            rest = {k: v for k, v in value.items() if k != key}
            yield f"{'.'.join(map(str, (*path, key)))}: left out", rest
    if isinstance(value, list) and value:
        for place in {0, len(value) - 1}:
            for what, changed in of_json(value[place], (*path, place)):
                copy = deepcopy(value)
                copy[place] = changed
                yield what, copy
        yield f"{'.'.join(map(str, path))}: cut", value[:-1]
        yield f"{'.'.join(map(str, path))}: longer", [*value, value[-1]]


def of_texts(arrays):
    """(what, arrays) with one entry of the JSON changed."""
    for name in TEXTS:
        if name in arrays:
            for what, changed in of_json(arrays[name], (name,)):
                yield what, arrays | {name: changed}


def forgeries(path):
    """(what, arrays) for every single change of a file."""
    arrays = read(path)
    yield from of_arrays(arrays)
    yield from of_texts(arrays)
