"""How large a workbook is when it is unpacked, looked at before anything believes its sizes.

A reader of workbooks makes one array of all cells from the first to the last filled one. A file of
one kilobyte may name a cell in row 1,048,576 and column XFD, or unpack to gigabytes. So the parts
of the file are unpacked here piece by piece, without keeping them, and what would be made of them
is counted first. Larger than the limits below is refused in one sentence.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, BinaryIO
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

from pairscore.display import plural
from pairscore.errors import PairscoreError

UNPACKED = 64 << 20  # bytes that any workbook may unpack to
TIMES = 50  # and how many times its size a larger one may
EMPTY_CELLS = 5_000_000  # between and around the filled cells of a sheet
EMPTY_PER_CELL = 10  # or so many for each filled one
PIECE = 1 << 20
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how .xls files begin
METHODS = {0: "stored", 8: "deflated"}  # how office programs pack


@dataclass
class Extent:
    """The filled cells of a sheet: how many, the last row and column, and letters of their text."""

    n_filled: int = 0
    last_row: int = -1
    last_column: int = -1
    n_letters: int = 0
    n_shared: int = 0  # cells whose text stands elsewhere in the file

    def fill(
        self, row: int, column: int, rows: int = 1, columns: int = 1, letters: int = 0
    ) -> None:
        """Count a block of filled cells, from 0."""
        self.n_filled += rows * columns
        self.n_letters += letters * rows * columns
        self.last_row = max(self.last_row, row + rows - 1)
        self.last_column = max(self.last_column, column + columns - 1)

    @property
    def n_cells(self) -> int:
        """Of the array from the first row and column to the last ones."""
        return (self.last_row + 1) * (self.last_column + 1)

    @property
    def end(self) -> str:
        """The cell at the end, as spreadsheets call it."""
        return f"{_letters(self.last_column + 1)}{self.last_row + 1}"


class _UnreadableError(Exception):
    """What is wrong with the file, in a few words."""


def refuse_oversized(path: Path, shown: str) -> None:
    """Refuse a workbook that would take far more memory than its size, in one sentence."""
    limit = max(UNPACKED, TIMES * path.stat().st_size)
    try:
        with path.open("rb") as file:
            begin = file.read(len(OLE))
            if begin == OLE:
                _refuse_extents(_extents_of_xls(begin + file.read()), limit, shown)
            elif is_zipfile(file):
                _refuse_archive(file, limit, shown)
            else:
                raise _UnreadableError("it is of another kind, or cut short")
    except _UnreadableError as error:
        raise PairscoreError(
            f"{shown!r} cannot be read as a workbook ({error}); save it again as .xlsx or .csv."
        ) from None


def _refuse_extents(extents: list[Extent], limit: int, shown: str) -> None:
    for extent in extents:
        if extent.n_cells > EMPTY_CELLS + EMPTY_PER_CELL * extent.n_filled:
            raise PairscoreError(
                f"{shown!r} has a sheet of {extent.n_cells:,} cells (to {extent.end}), and"
                f" {plural(extent.n_filled, 'cell', ',', 'is')} filled; delete what stands far"
                " outside the table, and save it again."
            )
    letters = sum(extent.n_letters for extent in extents)
    if letters > limit:
        raise _too_large(shown, letters, limit)


def _too_large(shown: str, size: int, limit: int) -> PairscoreError:
    return PairscoreError(
        f"{shown!r} would unpack to {size / 2**20:,.0f} MB or more, and {limit / 2**20:,.0f} MB is"
        f" the most for its size ({UNPACKED >> 20} MB, or {TIMES} times the file); save its table"
        " as .csv or .parquet."
    )


# -- archives: .xlsx and .ods ----------------------------------------------------------------------


def _refuse_archive(file: BinaryIO, limit: int, shown: str) -> None:
    try:
        with ZipFile(file) as archive:
            parts = {part.filename: part for part in archive.infolist()}
            size = sum(part.file_size for part in archive.infolist())
            if size > limit:
                raise _too_large(shown, size, limit)
            if len(parts) < len(archive.infolist()):
                raise _UnreadableError("it has two parts of one name")
            _refuse_parts(file, parts, limit, shown)
    except (BadZipFile, zlib.error, expat.ExpatError, OSError, struct.error, ValueError) as error:
        if isinstance(error, PairscoreError):
            raise
        raise _UnreadableError(f"it is damaged: {str(error) or 'its parts'}") from None
    except NotImplementedError as error:
        raise _UnreadableError(str(error)) from None


def _refuse_parts(file: BinaryIO, parts: dict[str, ZipInfo], limit: int, shown: str) -> None:
    texts: list[int] = []
    books: dict[str, Extent] = {}
    for name, part in parts.items():
        if not name.lower().endswith((".xml", ".rels")):
            continue
        if name.rpartition("/")[2].lower() == "content.xml":
            extents = _OdsParts().read(_unpacked(file, part))
            _refuse_extents(extents, limit, shown)
            continue
        reader = _XlsxPart()
        reader.read(_unpacked(file, part))
        reader.end_of_text(part.file_size)
        if reader.odd_sheet:
            raise _UnreadableError(f"a sheet in {reader.odd_sheet!r}, which is not XML")
        books[name] = reader.extent
        texts = texts or reader.texts
    _refuse_extents([*books.values()], limit, shown)
    n_shared = sum(extent.n_shared for extent in books.values())
    if texts and n_shared * max(texts) > limit:
        letters = sum(
            _XlsxPart(texts).read(_unpacked(file, parts[name])).n_letters
            for name, extent in books.items()
            if extent.n_shared
        )
        if letters > limit:
            raise _too_large(shown, letters, limit)


def _unpacked(file: BinaryIO, part: ZipInfo) -> Iterator[bytes]:
    """A part of an archive piece by piece; it must be as long as the archive says."""
    if part.compress_type not in METHODS or part.flag_bits & 1:
        raise _UnreadableError(f"its part {part.filename!r} is packed or locked in an unusual way")
    length = 0
    file.seek(part.header_offset)
    header = file.read(30)
    name_length, extra_length = struct.unpack("<26x2H", header)
    file.seek(name_length + extra_length, 1)
    left = part.compress_size
    stream = zlib.decompressobj(-zlib.MAX_WBITS) if part.compress_type == 8 else None
    while left and (packed := file.read(min(left, PIECE))):
        left -= len(packed)
        while packed:
            piece = packed if stream is None else stream.decompress(packed, PIECE)
            packed = b"" if stream is None else stream.unconsumed_tail
            length += len(piece)
            if length > part.file_size:
                raise _UnreadableError(f"its part {part.filename!r} is longer than it says")
            yield piece
    if length < part.file_size:
        raise _UnreadableError(f"its part {part.filename!r} is cut short")


class _Xml:
    """Reads XML piece by piece; no entities, which could unpack to anything."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate("UTF-8")
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def _refuse_doctype(self, *_: Any) -> None:
        raise _UnreadableError("it declares a document type, as no office program does")

    def parse(self, pieces: Iterator[bytes]) -> None:
        for piece in pieces:
            self.parser.Parse(piece, False)
            self.after_piece()
        self.parser.Parse(b"", True)
        self.after_piece()

    def after_piece(self) -> None: ...


class _XlsxPart(_Xml):
    """A part of an .xlsx file: the cells of a sheet, or the texts that cells of sheets name.

    With ``known``, the lengths of these texts, the letters of the cells are counted too. A sheet
    has millions of tags, so that what is called for each is short.
    """

    def __init__(self, known: list[int] | None = None):
        super().__init__()
        self.extent, self.odd_sheet = Extent(), ""
        self.texts: list[int] = []
        self.known, self.number = known, ""
        self.row, self.begin, self.at, self.is_shared = 0, 0, "", False
        self.filled: list[str] = []  # names of cells since the last piece
        self.starts: dict[str, Callable[[dict[str, str]], None]] = {}
        by_name = {"row": self._row, "c": self._cell, "v": self._value, "is": self._value}
        self.by_name = by_name | {"si": self._text, "Relationship": self._relation}
        self.parser.StartElementHandler = self._start

    def read(self, pieces: Iterator[bytes]) -> Extent:
        self.parse(pieces)
        return self.extent

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        try:
            self.starts[tag](attributes)
        except KeyError:
            self.starts[tag] = self.by_name.get(tag.rpartition(":")[2], _nothing)
            self.starts[tag](attributes)

    def _row(self, attributes: dict[str, str]) -> None:
        number = attributes.get("r", "")
        self.row = int(number) if number.isdecimal() else self.row + 1
        self.at = ""

    def _cell(self, attributes: dict[str, str]) -> None:
        before, self.at = self.at, attributes.get("r", "")
        self.is_shared = attributes.get("t") == "s"
        if not self.at:  # the one to the right
            column = _column_number(before.rstrip(digits)[:7]) + 1
            self.at = f"{_letters(column + 1)}{self.row}"

    def _value(self, attributes: dict[str, str]) -> None:
        self.filled.append(self.at)
        if self.is_shared:
            self.extent.n_shared += 1
            if self.known is not None:
                self.number = ""
                self.parser.CharacterDataHandler = self._more
                self.parser.EndElementHandler = self._end_of_number

    def _more(self, letters: str) -> None:
        self.number += letters[:12]

    def _end_of_number(self, tag: str) -> None:
        self.parser.CharacterDataHandler = self.parser.EndElementHandler = None
        number = self.number.strip()
        if self.known and number.isdecimal() and int(number) < len(self.known):
            self.extent.n_letters += self.known[int(number)]

    def _text(self, attributes: dict[str, str]) -> None:
        """A shared text, which ends where the next one begins or the file does, at the latest."""
        self.end_of_text(self.parser.CurrentByteIndex)
        self.begin = self.parser.CurrentByteIndex

    def end_of_text(self, place: int) -> None:
        if self.begin:
            self.texts.append(place - self.begin)

    def _relation(self, attributes: dict[str, str]) -> None:
        target = attributes.get("Target", "")
        is_sheet = attributes.get("Type", "").endswith("/worksheet")
        if is_sheet and not target.lower().endswith(".xml"):
            self.odd_sheet = target

    def after_piece(self) -> None:
        """Count the cells of a piece."""
        if not self.filled:
            return
        letters = {name.rstrip(digits) for name in self.filled}
        rows = {name.lstrip(ascii_letters) for name in self.filled}
        self.extent.n_filled += len(self.filled)
        last = max((int(row[:18]) for row in rows if row.isdecimal()), default=0)
        self.extent.last_row = max(self.extent.last_row, last - 1)
        columns = (_column_number(name[:7]) for name in letters if name.isalpha())
        self.extent.last_column = max(self.extent.last_column, max(columns, default=-1))
        self.filled.clear()


def _nothing(attributes: dict[str, str]) -> None:
    """Of a tag that says nothing about sizes."""


def _letters(number: int) -> str:
    """The name of a column by its number, from 1: 27 is AA."""
    name = ""
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def _column_number(letters: str) -> int:
    """The number of a column, from 0: A is 0, AA is 26; without letters, -1."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


class _OdsParts(_Xml):
    """The sheets of an .ods file, in which cells and rows may stand for many equal ones."""

    def __init__(self) -> None:
        super().__init__()
        self.extents: list[Extent] = []
        self.row = self.column = 0
        self.rows = self.columns = 1
        self.letters, self.is_filled, self.depth = 0, False, 0
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._more

    def read(self, pieces: Iterator[bytes]) -> list[Extent]:
        self.parse(pieces)
        return self.extents

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "table":
            self.extents.append(Extent())
            self.row = 0
        elif tag == "table-row":
            self.rows = _repeats(attributes, "number-rows-repeated")
            self.column = 0
        elif tag in ("table-cell", "covered-table-cell"):
            self.columns = _repeats(attributes, "number-columns-repeated")
            self.letters = sum(map(len, attributes.values()))
            self.is_filled = any(name.startswith("office:") for name in attributes)
            self.is_filled |= any(name.endswith("value-type") for name in attributes)
            self.depth = 1
        elif self.depth:
            self.depth += 1

    def _more(self, letters: str) -> None:
        if self.depth:
            self.letters += len(letters)
            self.is_filled |= bool(letters.strip())

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if tag in ("table-cell", "covered-table-cell"):
            if self.is_filled and self.extents:
                self.extents[-1].fill(self.row, self.column, self.rows, self.columns, self.letters)
            self.column += self.columns
            self.depth, self.is_filled = 0, False
        elif tag == "table-row":
            self.row += self.rows


def _repeats(attributes: dict[str, str], name: str) -> int:
    for key, value in attributes.items():
        if key.rpartition(":")[2] == name and value.isdecimal():
            return max(int(value[:18]), 1)
    return 1


# -- .xls ------------------------------------------------------------------------------------------

STREAMS = ("workbook", "book")  # that hold the sheets, in newer and in older files
CELLS = {0x0003, 0x0203, 0x0004, 0x0204, 0x0005, 0x0205, 0x0006, 0x0206, 0x0406}
CELLS |= {0x0007, 0x0207, 0x027E, 0x00FD, 0x00D6}
MANY_CELLS, SHARED_CELL, SHARED_TEXTS, NEW_PART = 0x00BD, 0x00FD, 0x00FC, 0x0809
MORE = 0x003C  # the record before goes on
END_OF_CHAIN = 0xFFFFFFFA  # and all above


def _extents_of_xls(content: bytes) -> list[Extent]:
    """The sheets of an .xls file by the records of its cells."""
    try:
        streams = list(_ole_streams(content))
    except (struct.error, IndexError, ValueError):
        raise _UnreadableError("it is damaged: its parts cannot be found") from None
    return [extent for stream in streams for extent in _extents_of_records(stream)]


def _extents_of_records(stream: bytes) -> list[Extent]:
    extents = [Extent()]
    texts: list[bytes] = []  # the record of all texts, and those that continue it
    lengths: list[int] | None = None
    before = 0
    for kind, record in _records(stream):
        before = before if kind == MORE else kind
        if before == SHARED_TEXTS:
            texts.append(record)
        elif kind == NEW_PART:
            extents.append(Extent())
        elif kind in CELLS and len(record) >= 4:
            row, column = struct.unpack_from("<2H", record)
            letters = 0
            if kind == SHARED_CELL and len(record) >= 10:
                lengths = _text_lengths(texts) if lengths is None else lengths
                (number,) = struct.unpack_from("<I", record, 6)
                letters = lengths[number] if number < len(lengths) else 0
            extents[-1].fill(row, column, letters=letters)
        elif kind == MANY_CELLS and len(record) >= 6:
            row, column = struct.unpack_from("<2H", record)
            (end,) = struct.unpack_from("<H", record, len(record) - 2)
            extents[-1].fill(row, column, columns=max(end - column + 1, 1))
    return extents


def _records(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """The kind and the content of every record."""
    place = 0
    while place + 4 <= len(stream):
        kind, length = struct.unpack_from("<2H", stream, place)
        yield kind, stream[place + 4 : place + 4 + length]
        place += 4 + length


def _text_lengths(records: list[bytes]) -> list[int]:
    """Letters of each text that cells name by its number.

    A text that goes on in the next record begins there with a byte that says how wide its letters
    are. Behind it are its formats.
    """
    lengths: list[int] = []
    rest, following = records[0][8:] if records else b"", iter(records[1:])
    with suppress(struct.error, StopIteration, IndexError):
        while True:
            while not rest:
                rest = next(following)
            n_letters, flags = struct.unpack_from("<HB", rest)
            lengths.append(n_letters)
            at, behind = 3, 0
            if flags & 8:
                behind += 4 * struct.unpack_from("<H", rest, at)[0]
                at += 2
            if flags & 4:
                behind += struct.unpack_from("<I", rest, at)[0]
                at += 4
            rest, width = rest[at:], 1 + (flags & 1)
            while n_letters * width > len(rest):
                n_letters -= len(rest) // width
                rest = next(following)
                width, rest = 1 + (rest[0] & 1), rest[1:]
            rest = rest[n_letters * width :]
            while behind > len(rest):
                behind -= len(rest)
                rest = next(following)
            rest = rest[behind:]
    return lengths


def _ole_streams(content: bytes) -> Iterator[bytes]:
    """The streams that may have sheets, of a compound file: chains of sectors, as in a disk."""
    shift, mini_shift = struct.unpack_from("<2H", content, 30)
    directory, cutoff, mini_table = struct.unpack_from("<I4xII", content, 48)
    if shift not in (9, 12) or mini_shift != 6:
        raise ValueError("sectors of another size")
    size = 1 << shift

    def sector(number: int) -> bytes:
        return content[(number + 1) * size : (number + 2) * size]

    def numbers(piece: bytes) -> list[int]:
        return list(struct.unpack(f"<{len(piece) // 4}I", piece[: len(piece) // 4 * 4]))

    def chain(first: int, table: list[int], read: Callable[[int], bytes]) -> bytes:
        pieces, seen = [], 0
        while first < END_OF_CHAIN:
            pieces.append(read(first))
            first, seen = table[first], seen + 1
            if seen > len(table):
                raise ValueError("a chain without an end")
        return b"".join(pieces)

    tables = numbers(content[76:512])
    more, seen = struct.unpack_from("<I", content, 68)[0], 0
    while more < END_OF_CHAIN and seen <= len(content) // size:
        *some, more = numbers(sector(more))
        tables, seen = tables + some, seen + 1
    table = [entry for of in tables if of < END_OF_CHAIN for entry in numbers(sector(of))]
    entries = chain(directory, table, sector)
    found = [entries[at : at + 128] for at in range(0, len(entries) - 127, 128)]
    root = found[0]
    small = chain(struct.unpack_from("<I", root, 116)[0], table, sector)
    small_table = numbers(chain(mini_table, table, sector)) if mini_table < END_OF_CHAIN else []
    for entry in found:
        (name_length,) = struct.unpack_from("<H", entry, 64)
        name = entry[: max(min(name_length, 64) - 2, 0)].decode("utf-16-le", "replace").lower()
        if name in STREAMS:
            first, length = struct.unpack_from("<II", entry, 116)
            if length < cutoff:
                yield chain(first, small_table, lambda at: small[at * 64 : at * 64 + 64])[:length]
            else:
                yield chain(first, table, sector)[:length]
