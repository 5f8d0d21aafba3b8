"""Columns that DuckDB has read, as arrays: whole numbers, codes of text, text without blanks."""

import re
import unicodedata
from typing import Any

import numpy as np

from pairscore.data.tables import Column
from pairscore.files.titles_and_totals import BLANKS

WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # written as Python writes it, and within 64 bits
HASH = "hash({})"  # of a text, 64 bits


def as_whole_numbers(values: np.ndarray) -> np.ndarray:
    """Texts as whole numbers if all of them are such, as Python writes them; else as they are."""
    if all(value is not None and WHOLE.fullmatch(value) for value in values):
        return values.astype(np.int64)
    return values


def without_mask(array: np.ndarray) -> np.ndarray:
    """Doubles with NaN, or strings with None, for what is missing."""
    if array.dtype.kind == "f":
        return np.ma.filled(array, np.nan)
    text = np.array(np.ma.getdata(array), dtype=object)
    text[np.ma.getmaskarray(array)] = None
    return text


def coded_text(connection: Any, cell: str) -> Column:
    """Distinct values and codes of a text column, by DuckDB's hashes.

    To compare texts row by row takes longer than to read them.
    """

    def select(what: str) -> dict[str, np.ndarray]:
        return connection.execute(f"SELECT {what}").fetchnumpy()

    distinct = f"(SELECT DISTINCT {cell} AS name FROM cells)"
    names = select(f"name, {HASH.format('name')} AS hash FROM {distinct}")
    order = np.argsort(names["hash"])
    hashes = names["hash"][order]
    if np.any(hashes[1:] == hashes[:-1]):  # two names with one hash: rare enough to be slow
        return Column(without_mask(select(f"{cell} FROM cells")[cell]))
    hash_of_rows = select(f"{HASH.format(cell)} AS hash FROM cells")["hash"]
    return Column(without_mask(names["name"])[order], _sorted_places(hashes, hash_of_rows))


def _sorted_places(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted hash stands among the sorted ones, which are spread evenly.

    A bisection would take ten times as long.
    """
    bits = len(hashes).bit_length() + 2
    top = np.uint64(64 - bits)
    begins = np.searchsorted(hashes >> top, np.arange(1 << bits, dtype=np.uint64)).astype(np.int32)
    place = begins[wanted >> top]
    later = np.flatnonzero(hashes[place] != wanted)
    while len(later):
        place[later] += 1
        later = later[hashes[place[later]] != wanted[later]]
    return place


def composed(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Text with every accented letter as one sign (Unicode's form NFC); and one that had others."""
    if values.dtype != object or unicodedata.is_normalized("NFC", "\0".join(filter(None, values))):
        return values, None
    entries = np.array([v and unicodedata.normalize("NFC", v) for v in values], dtype=object)
    return entries, entries[np.flatnonzero(entries != values)[0]]


def without_blanks(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Text without spaces around it, with None for what is left empty; and one that had some."""
    if values.dtype != object:
        return values, None
    joined = "\0".join(["", *filter(None, values.tolist()), ""])
    some = [blank for blank in BLANKS if blank in joined]
    if not any(f"\0{blank}" in joined or f"{blank}\0" in joined for blank in some):
        return values, None  # to look at each entry would take much longer
    padded = [v for v in values.tolist() if v is not None and v != v.strip(BLANKS)]
    changed = set(padded)
    entries = [(v.strip(BLANKS) or None) if v in changed else v for v in values.tolist()]
    stripped = np.empty(len(values), dtype=object)
    stripped[:] = entries
    return stripped, padded[0]
