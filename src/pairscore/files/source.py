"""A file on its way into DuckDB.

Which of its columns are asked for, and which of those are names rather than numbers. Text in any
encoding, as UTF-8: the encoding is named, marked, or found.
"""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pairscore.errors import PairscoreError, first_few, plural

# DuckDB's time grows with their square, and a covariance of more would not fit in memory
MAX_COLUMNS = 20_000
# the columns to read, told all names and those of lists or records
Choice = Callable[[list[str], list[str]], Collection[str]]


@dataclass(frozen=True)
class Source:
    """A file, the connection that reads it into the table ``cells``, and what the reader asked for."""

    connection: Any
    path: Path
    shown: str
    identifiers: Collection[str]
    choose: Choice | None = None

    def wanted(self, names: list[str], nested: list[str] | None = None) -> list[str]:
        """The columns to read, all if nobody chose; what is in others does no harm.

        Lists and records cannot be read.
        """
        refuse_bad_names(names, self.shown)
        if self.choose is None:
            chosen = names
        else:
            asked = set(self.choose(names, nested or []))
            chosen = [name for name in names if name in asked]
        unreadable = [name for name in nested or [] if name in chosen]
        if unreadable:
            raise PairscoreError(
                f"{self.shown!r} has columns that are neither numbers nor text:"
                f" {first_few(map(repr, unreadable))}; give each value a column of its own."
            )
        return chosen


def refuse_bad_names(names: Collection[str], shown: str) -> None:
    """Every column has a name of its own."""
    if len(names) > MAX_COLUMNS:
        raise PairscoreError(
            f"{shown!r} has {len(names)} columns, more than the {MAX_COLUMNS} that can be read;"
            " keep those that matter."
        )
    unnamed = [place for place, name in enumerate(names, 1) if not name]
    if unnamed:
        raise PairscoreError(
            f"{plural(len(unnamed), 'column')} of {shown!r} without a name (column"
            f" {first_few(unnamed)}); name every column in the first line."
        )
    broken = [name for name in names if "\n" in name or "\r" in name]
    if broken:
        raise PairscoreError(
            f"{shown!r} has column names with line breaks: {first_few(map(repr, broken))}; write"
            " every name in one line."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise PairscoreError(
            f"{shown!r} has columns of the same name: {first_few(map(repr, repeated))}; give every"
            " column its own name."
        )


def quoted(text: Any) -> str:
    """A text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"


MAX_LINE = 1 << 22
CHUNK = 1 << 20


@contextmanager
def as_utf8(path: Path, encoding: str | None, shown: str) -> Iterator[Path]:
    """The file itself if it is UTF-8, or a copy of it that is."""
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, ValueError):
        raise PairscoreError(
            f"{encoding!r} is no text encoding; use one such as 'utf-8', 'latin-1' or 'utf-16'."
        ) from None
    found = encoding or _marked(path) or "utf-8"
    if re.sub("[-_]", "", found.lower()) in ("utf8", "utf8sig"):
        try:
            for _ in _decoded(path, "utf-8", shown):
                pass
            yield path
            return
        except UnicodeError:
            if encoding:
                raise _not_text(encoding, shown) from None
            found = _single_byte(path.read_bytes(), shown)
    with TemporaryDirectory() as directory:
        copy = Path(directory) / "utf8"
        try:
            with copy.open("w", encoding="utf-8", newline="") as file:
                file.writelines(_decoded(path, found, shown))
        except UnicodeError:
            raise _not_text(found, shown) from None
        yield copy


def _not_text(encoding: str, shown: str) -> PairscoreError:
    return PairscoreError(f"{shown!r} is not text in {encoding!r}; name the encoding that it has.")


def _marked(path: Path) -> str | None:
    """The encoding that a byte order mark tells, or UTF-16 where every second byte is zero."""
    with path.open("rb") as file:
        head = file.read(4096)
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if (
            len(head) > 3
            and head[first::2].count(0) > 0.4 * len(head) / 2
            and not head[1 - first :: 2].count(0)
        ):
            return name
    return None


def _single_byte(content: bytes, shown: str) -> str:
    """Bytes beyond ASCII that are nowhere UTF-8 are letters of old Windows or Latin-1.

    A mixture is a damaged file.
    """
    try:
        content.decode("utf-8", "surrogateescape").encode("ascii", "surrogateescape")
    except UnicodeEncodeError:
        sound = content.decode("utf-8", "replace").partition("\ufffd")[0]
        line = sound.count("\n" if "\n" in sound else "\r") + 1
        raise PairscoreError(
            f"{shown!r} is UTF-8 but for some bytes (the first in line {line}); repair it, or name"
            " its encoding."
        ) from None
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _decoded(path: Path, encoding: str, shown: str) -> Iterator[str]:
    """The text of a file piece by piece, without its byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, unbroken, more = 1, 0, True
    with path.open("rb") as file:
        while more:
            more = bool(chunk := file.read(CHUNK))
            text = decoder.decode(chunk, final=not more)
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise PairscoreError(
                    f"{shown!r} has NUL bytes (the first in line {line}): it is damaged or no text"
                    " file; export it again."
                )
            ends = text.count("\n")
            unbroken = 0 if ends or "\r" in text else unbroken + 1
            # DuckDB rejects longer lines, and loses sight of much longer ones
            if unbroken == MAX_LINE // CHUNK - 1:
                raise PairscoreError(
                    f"line {line} of {shown!r} is longer than {unbroken} million characters; it is"
                    " damaged or no table."
                )
            yield text.removeprefix("\ufeff") if line == 1 else text
            line += ends
