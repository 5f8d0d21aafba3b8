"""Tables on disk: all bad rows of a file are reported together, and files are written whole.

Start with ``tables``, which has ``read_table``.

    source          where a table comes from: path, names, wanted columns, forms of numbers
    encoding        the encoding of a text file
    sheets          CSV files without titles, totals and blank rows
    read_csv        CSV of any delimiter; all bad rows by physical line
    typed           Parquet, JSONL and workbooks, which say what is a number
    workbook_sizes  how large a workbook is, before anything believes it
    tables          tables in DuckDB, from any file, and as arrays
    column_words    words that columns of comparisons are called by
    find_columns    columns found by what is in them
    text_columns    what columns of text hold: dates, labels, ids, possible categories
    choose_sheets   which sheets of workbooks are read
    study_columns   which columns a command needs, and under which names
    read_study      items and comparisons of a command, checked once
    partitions      files, folders and addresses in parts that one worker reads at a time
    queries         rows of a database as a file
    archive         models, sums and checkpoints, read as if a stranger had written them
    write           files written whole, lists of bad rows

Imports: display, passwords, errors, data.
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
