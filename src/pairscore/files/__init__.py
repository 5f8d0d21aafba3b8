"""Tables on disk: all bad rows of a file are reported together, and files are written whole.

Start with ``tables``, which has ``read_table``.

    source             where a table comes from: kind, path, wanted columns
    encoding           the encoding of a text file
    numbers            how a file writes numbers: decimal sign, thousands, words for missing ones
    delimiter          the sign between the cells of a CSV file
    titles_and_totals  CSV files and sheets without titles, totals and blank rows
    read_csv           CSV of any delimiter, loaded once; all bad rows by physical line
    parquet_and_jsonl  Parquet and JSONL, which say what is a number
    workbooks          sheets of workbooks
    write_workbook     new workbooks
    workbook_sizes     how large a workbook is, before anything believes it
    sql                DuckDB that installs nothing, and quoting for its statements
    tables             the files of a command, opened once, and their tables in DuckDB
    duckdb_columns     columns of DuckDB as arrays
    csv_batches        a CSV file of any size in batches, read as a table in memory is
    bad_rows           all bad rows of files at once, by their lines
    find_sides         sides found by their entries, and what is asked
    kinds_of_text      what columns of text hold: dates, labels, ids, possible categories
    choose_sheets      which sheets of workbooks are read
    columns_to_read    which columns of a study's tables are read
    comparisons        comparisons of a file under the names that pairscore knows
    study              items and comparisons of a command, checked once, with all faults of both
    new_items          items for a model that is there
    new_comparisons    comparisons and pairs for a model that is there
    items_in_pieces    items of a file of any size, piece by piece
    study_file         a study file (TOML): tables, columns, codes and words of a study
    partitions         files, folders and addresses in parts that one worker reads at a time
    queries            rows of a database as a file
    archive            models, sums and checkpoints, read as if a stranger had written them
    atomic             files written whole or not at all
    write              tables written

Imports: display, passwords, errors, choices, data, messages.
"""

from importlib import import_module
from typing import Any

_HOME = {"read_table": "tables", "write_table": "write", "atomic_write": "atomic"}
__all__ = ["atomic_write", "read_table", "write_table"]


def __getattr__(name: str) -> Any:
    """Documented names are imported when first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'pairscore.files' has no attribute {name!r}")
    return getattr(import_module(f"pairscore.files.{_HOME[name]}"), name)
