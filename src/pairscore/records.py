"""Results as plain values: dicts, lists and numbers, as JSON has them."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np


def plain(value: Any, *, keep_nan: bool = False) -> Any:
    """Turn a result into values that JSON knows: dict, list, str, int, float, bool and None.

    Dataclasses and mappings become dicts, sequences and arrays become lists (of lists), NumPy
    numbers become Python's, paths become text, all the way down. What is none of these is returned
    unchanged, and ``json.dumps`` then says that it cannot write it.

    Parameters
    ----------
    value
        Anything: a number, an array, a dataclass, or dicts and lists of those.
    keep_nan
        JSON has neither NaN nor infinity, so each is None here. With ``keep_nan`` they stay
        numbers, which Python's ``json`` writes and reads as ``NaN`` and ``Infinity``.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(entry, keep_nan=keep_nan) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, keep_nan=keep_nan) for entry in value]
    if isinstance(value, float) and not isfinite(value) and not keep_nan:
        return None
    return str(value) if isinstance(value, Path) else value


def row_records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn a table of columns of one length into one plain dict for each row."""
    lists = plain(columns)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def json_text(value: Any) -> str:
    """Write a result as indented JSON, with null for what is unknown or infinite."""
    return json.dumps(plain(value), indent=2, allow_nan=False)
