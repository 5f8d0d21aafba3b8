"""From DuckDB's table ``cells`` to arrays: identifiers as whole numbers if all of them are, long text as codes."""

import re
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from pairscore.columns import Column

WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # written as Python writes it, and within 64 bits
HASH = "hash({})"  # of a text, 64 bits
CODED_ROWS = 50_000  # from here on, text is fetched as codes: a Python string per row would take longer than the reading


def fetched(connection: Any, identifiers: Collection[str]) -> Iterator[Column]:
    """The columns of the table ``cells``, in order; ``identifiers`` are those that may be whole numbers."""
    rows = connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    types = {row[0]: row[1] for row in connection.execute("DESCRIBE cells").fetchall()}
    together = [cell for cell, kind in types.items() if kind == "DOUBLE" or rows < CODED_ROWS]
    arrays = connection.execute(f"SELECT {', '.join(together)} FROM cells").fetchnumpy() if together else {}
    for cell, kind in types.items():
        if kind == "DOUBLE":
            yield Column(np.ma.filled(arrays[cell], np.nan))
            continue
        column = Column(_text(arrays[cell])) if cell in arrays else _coded(connection, cell)
        whole = cell in identifiers and all(value is not None and WHOLE.fullmatch(value) for value in column.values)
        yield Column(column.values.astype(np.int64), column.codes) if whole and len(column) else column


def cell_array(array: np.ndarray, whole: bool) -> np.ndarray:
    """Doubles with NaN for what is missing, whole numbers, or text with None."""
    if array.dtype.kind == "f":
        return np.ma.filled(array, np.nan)
    return _text(array).astype(np.int64) if whole else _text(array)


def _text(array: np.ndarray) -> np.ndarray:
    """Strings, with None where there are none."""
    text = np.array(np.ma.getdata(array), dtype=object)
    text[np.ma.getmaskarray(array)] = None
    return text


def _coded(connection: Any, cell: str) -> Column:
    """Distinct values and codes of a text column, by DuckDB's hashes: to compare texts row by row takes longer than to read them."""
    found = connection.execute(f"SELECT name, {HASH.format('name')} AS hash FROM (SELECT DISTINCT {cell} AS name FROM cells)").fetchnumpy()
    order = np.argsort(found["hash"])
    hashes, names = found["hash"][order], _text(found["name"])[order]
    if np.any(hashes[1:] == hashes[:-1]):  # two names with one hash: rare enough to be slow
        return Column(_text(connection.execute(f"SELECT {cell} FROM cells").fetchnumpy()[cell]))
    hash_of_rows = connection.execute(f"SELECT {HASH.format(cell)} AS hash FROM cells").fetchnumpy()["hash"]
    return Column(names, _sorted_places(hashes, hash_of_rows))


def _sorted_places(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted hash stands among the sorted ones, which are spread evenly: a bisection would take ten times as long."""
    bits = len(hashes).bit_length() + 2
    top = np.uint64(64 - bits)
    begins = np.searchsorted(hashes >> top, np.arange(1 << bits, dtype=np.uint64)).astype(np.int32)
    place = begins[wanted >> top]
    later = np.flatnonzero(hashes[place] != wanted)
    while len(later):
        place[later] += 1
        later = later[hashes[place[later]] != wanted[later]]
    return place
