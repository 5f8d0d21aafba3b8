"""Files are written whole or not at all: a crash or a full disk leaves the old one unchanged."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Any
from uuid import uuid4

import numpy as np

from pairscore.data.items import as_frame
from pairscore.data.tables import Columns
from pairscore.errors import PairscoreError
from pairscore.files.source import (
    refuse_bad_names,
    refuse_twins,
    scratch_folder,
    sql_name,
    sql_text,
    table_kind,
    unfinished,
)

COPY_OPTIONS = {
    "csv": "FORMAT csv, HEADER true, DELIMITER ',', QUOTE '\"', ESCAPE '\"'",
    "tsv": "FORMAT csv, HEADER true, DELIMITER '\t', QUOTE '\"', ESCAPE '\"'",
    "parquet": "FORMAT parquet",
    "jsonl": "FORMAT json",
}


@contextmanager
def atomic_write(path: Any, what: str = "the file") -> Iterator[Path]:
    """Write to the path that this yields; ``path`` then appears whole, or stays as it was.

    A link is followed and a file keeps its permissions. A device or a pipe gets the whole content:
    it is never replaced.

    Parameters
    ----------
    path
        The file to write or to replace.
    what
        What the file is called in the message if it cannot be written.
    """
    path = Path(path)
    try:
        with (_content_for if is_device(path) else _replacement_of)(path) as temporary:
            yield temporary
    except OSError as error:
        raise PairscoreError(
            f"{what} could not be saved as {str(path)!r} ({error.strerror}); choose a place that"
            " can be written to."
        ) from error


def is_device(path: Path) -> bool:
    """Whether ``path`` is neither a file nor a folder but a device, a pipe or a socket."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # nothing is there
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


@contextmanager
def _replacement_of(path: Path) -> Iterator[Path]:
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".pairscore-{uuid4().hex}"
    with unfinished(temporary):
        try:
            temporary.open("xb").close()
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                temporary.chmod(S_IMODE(target.stat().st_mode))
            os.replace(temporary, target)
        finally:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def _content_for(device: Path) -> Iterator[Path]:
    with scratch_folder() as folder:
        content = folder / "content"
        yield content
        with content.open("rb") as source, device.open("wb") as target:
            shutil.copyfileobj(source, target)


def write_whole(path: Any, content: bytes) -> Path:
    """Write ``content`` to ``path``, making its folder where there is none, and return the path."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PairscoreError(
            f"the folder {str(path.parent)!r} cannot be made ({error.strerror}); choose a place"
            " that can be written to."
        ) from None
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    return path


# -- tables ----------------------------------------------------------------------------------------


def write_table(columns: Any, path: Any) -> None:
    """Write a table as CSV, Parquet or JSONL, whole or not at all.

    In CSV, NaN is an empty cell and truth is 0 or 1; doubles are read back exactly.

    Parameters
    ----------
    columns
        A dict of columns of one length, ``Columns``, or a dataframe.
    path
        The file; the end of its name says the kind (``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``,
        ...), and ``-`` is CSV to standard output.
    """
    if str(path) == "-":
        with scratch_folder() as folder:
            write_table(columns, folder / "table.csv")
            with (folder / "table.csv").open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with atomic_write(path, "the table") as temporary:
        fill_table(temporary, columns, path)


def fill_table(temporary: Path, columns: Any, path: Any) -> None:
    """Write a table to the file ``temporary``, which will be moved to ``path``.

    The name of ``path`` says the kind of table; this is for those who write several files at once.
    """
    import duckdb

    kind = "tsv" if Path(path).suffix.lower() == ".tsv" else table_kind(path)
    arrays = _writable(columns)
    data = {f"c{place}": array for place, array in enumerate(arrays.values())}
    cells = [
        f"{_cast(cell, array, kind)} AS {sql_name(name)}"
        for (cell, array), name in zip(data.items(), arrays, strict=True)
    ]
    connection = duckdb.connect(config={"pandas_analyze_sample": "0"})
    try:
        connection.register("data", data)
        connection.execute(
            f"COPY (SELECT {', '.join(cells)} FROM data) TO {sql_text(temporary.absolute())}"
            f" ({COPY_OPTIONS[kind]}, USE_TMP_FILE false)"
        )
    except (duckdb.Error, UnicodeError) as error:
        raise PairscoreError(
            f"the table could not be saved as {str(path)!r} ({str(error).splitlines()[0]}); check"
            " its cells and the place."
        ) from error
    finally:
        connection.close()


def _cast(cell: str, array: np.ndarray, kind: str) -> str:
    """A column in SQL, of the type that it has in the file."""
    if array.dtype == object:
        return f"CAST({cell} AS VARCHAR)"
    return f"CAST({cell} AS INTEGER)" if array.dtype == bool and kind in ("csv", "tsv") else cell


def _writable(columns: Any) -> dict[str, np.ndarray]:
    """Arrays that DuckDB can take: numbers, and text with None."""
    frame = as_frame(columns)
    if frame is None:
        raise PairscoreError(
            f"a table to write is a dict of columns or a dataframe, not a {type(columns).__name__}."
        )
    names = list(map(str, frame.columns))
    if not names:
        raise PairscoreError("the table has no columns; give at least one.")
    refuse_bad_names(names, "the table")
    first: dict[str, str] = {}
    twins = [name for name in names if first.setdefault(name.casefold(), name) != name]
    refuse_twins(twins, "the table")
    arrays = [
        frame[name] if isinstance(frame, Columns) else frame[name].to_numpy()
        for name in frame.columns
    ]
    return {
        name: array if array.dtype.kind in "biuf" else _text_array(array)
        for name, array in zip(names, arrays, strict=True)
    }


def _text_array(array: np.ndarray) -> np.ndarray:
    text = np.empty(len(array), dtype=object)
    text[:] = [None if value is None or value != value else str(value) for value in array.tolist()]
    return text
