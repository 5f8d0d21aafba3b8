"""Files are written whole or not at all: a crash or a full disk leaves the old one unchanged."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Any
from uuid import uuid4
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

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


# -- workbooks -------------------------------------------------------------------------------------

OFFICE = "http://schemas.openxmlformats.org"
MAIN, RELATIONS = f"{OFFICE}/spreadsheetml/2006/main", f"{OFFICE}/officeDocument/2006/relationships"
MOST_ROWS = 2**20 - 1  # of a sheet, below the header
MOST_LETTERS = 31  # of a sheet's name
NO_XML = {code: None for code in range(32) if code not in (9, 10, 13)}  # signs that XML has not


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook: its name, its columns, and the words that cells of some may hold."""

    name: str
    columns: Mapping[str, np.ndarray]
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)


def fill_workbook(temporary: Path, sheets: Sequence[Sheet]) -> None:
    """Write sheets to the file ``temporary`` as a workbook (.xlsx) that any spreadsheet opens.

    Numbers are numbers and everything else is text, so that ids such as 007 stay. The header stays
    in view. The same sheets give the same bytes.
    """
    numbers = range(1, len(sheets) + 1)
    parts = {
        "[Content_Types].xml": _content_types(numbers),
        "_rels/.rels": _relations({1: ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": _workbook([_sheet_name(sheet.name) for sheet in sheets]),
        "xl/_rels/workbook.xml.rels": _relations(
            {n: ("worksheet", f"worksheets/sheet{n}.xml") for n in numbers}
        ),
        **{f"xl/worksheets/sheet{n}.xml": _sheet_xml(sheets[n - 1]) for n in numbers},
    }
    with ZipFile(temporary, "w", ZIP_DEFLATED) as file:
        for name, text in parts.items():
            header = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            info = ZipInfo(name)  # its date is fixed
            info.compress_type = ZIP_DEFLATED
            file.writestr(info, (header + text).encode())


def _sheet_name(name: str) -> str:
    if not 0 < len(name) <= MOST_LETTERS or set(name) & set("[]:*?/\\") or name != name.strip(" '"):
        raise PairscoreError(
            f"a sheet cannot be called {name!r}; use at most {MOST_LETTERS} letters, none of"
            " []:*?/\\."
        )
    return name


def _content_types(numbers: Iterable[int]) -> str:
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    sheets = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>'
        for n in numbers
    )
    return (
        f'<Types xmlns="{OFFICE}/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f"{sheets}</Types>"
    )


def _relations(targets: Mapping[int, tuple[str, str]]) -> str:
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for n, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{links}</Relationships>'


def _workbook(names: Sequence[str]) -> str:
    if len({name.casefold() for name in names}) < len(names):
        raise PairscoreError("two sheets of a workbook have the same name; call them differently.")
    sheets = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(names, 1)
    )
    views = "<bookViews><workbookView/></bookViews>"  # which the frozen header belongs to
    all_sheets = f"<sheets>{sheets}</sheets>"
    return f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}">{views}{all_sheets}</workbook>'


def _sheet_xml(sheet: Sheet) -> str:
    names, columns = [*sheet.columns], [np.asarray(one) for one in sheet.columns.values()]
    n_rows = len(columns[0])
    if n_rows > MOST_ROWS:
        raise PairscoreError(
            f"a sheet holds {MOST_ROWS:,} rows, and {sheet.name!r} has {n_rows:,}; write a .csv"
            " file."
        )
    lines = [names, *zip(*(column.tolist() for column in columns), strict=True)]
    letters = [_letters(place) for place in range(len(names))]
    rows = "".join(
        f'<row r="{n}">'
        + "".join(_cell(value, f"{at}{n}") for at, value in zip(letters, line, strict=True))
        + "</row>"
        for n, line in enumerate(lines, 1)
    )
    rules = "".join(
        '<dataValidation type="list" allowBlank="1" showErrorMessage="1"'
        f' sqref="{letters[names.index(name)]}2:{letters[names.index(name)]}{n_rows + 1}">'
        f"<formula1>{escape(chr(34) + ','.join(words) + chr(34))}</formula1></dataValidation>"
        for name, words in sheet.choices.items()
    )
    rules = f'<dataValidations count="{len(sheet.choices)}">{rules}</dataValidations>' * bool(rules)
    return (
        f'<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>'
        f'</sheetViews><cols><col min="1" max="{len(names)}" width="16" customWidth="1"/></cols>'
        f"<sheetData>{rows}</sheetData>{rules}</worksheet>"
    )


def _letters(place: int) -> str:
    """The name of a column: A for 0, ..., AA for 26."""
    before, last = divmod(place, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _cell(value: Any, at: str) -> str:
    if value is None or value == "" or value != value:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return f'<c r="{at}"><v>{value!r}</v></c>'
    text = escape(str(value).translate(NO_XML))
    return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


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
