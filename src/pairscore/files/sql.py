"""DuckDB that installs nothing by itself, and quoting for its statements."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pairscore.files.atomic import scratch_folder

# DuckDB that installs and loads nothing by itself
SEALED: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def sql_text(text: Any) -> str:
    """Quote a text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def open_database(memory: str | None = None) -> Iterator[Any]:
    """DuckDB, which holds up to ``memory`` outside a folder of its own, and installs nothing.

    It runs only statements that pairscore writes, in which names of files and columns are quoted.
    """
    import duckdb

    config = {} if memory is None else {"memory_limit": memory}
    with (
        scratch_folder() as folder,
        duckdb.connect(config=SEALED | config | {"temp_directory": str(folder)}) as database,
    ):
        database.execute("SET enable_progress_bar = false")  # which is shown in notebooks
        yield database
