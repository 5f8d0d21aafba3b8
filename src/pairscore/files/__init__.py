"""Tables on disk: all bad rows of a file are reported together, and files are written whole.

Start with ``tables``, which has ``read_table``.

    source         where a table comes from: path, encoding, names, wanted columns
    read_csv       CSV of any delimiter; all bad rows by physical line
    tables         tables in DuckDB, from CSV, Parquet and JSONL, and as arrays
    faults         bad entries of a table as lines of its file
    study_columns  which columns a command needs, and under which names
    read_study     items and comparisons of a command, checked once
    write          atomic_write and write_table: the old file or the new one, never half
    records        results as plain values and JSON
    text           text tables for the screen

Imports: errors, data.
"""

from importlib import import_module
from typing import Any

_HOME = {"read_table": "tables", "write_table": "write", "atomic_write": "write"}

__all__ = ["atomic_write", "read_table", "write_table"]


def __getattr__(name: str) -> Any:
    """Documented names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore.files' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.files.{_HOME[name]}"), name)
