"""Sheets as people keep them, made plain: a title above the names, blank rows, a total below.

A CSV file that looks plain is never copied. Another one, and a sheet of a workbook, becomes a CSV
file of its names and rows alone, which remembers the line that each row had; what was left out is
said in one note per file.
"""

import csv
import io
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pairscore.display import first_few, plural, shown
from pairscore.errors import PairscoreError
from pairscore.files.atomic import scratch_folder
from pairscore.files.delimiter import HEAD_ROWS, find_delimiter, sign_of
from pairscore.files.numbers import NUMBER
from pairscore.files.source import MAX_LINE, OpenFile, Unsaid

HEAD = 1 << 16  # bytes at the beginning and the end of a file that are looked at
LAST_ROWS = 12  # of a table, among which totals and footnotes are
SEPARATOR_LINE = re.compile('\ufeff?"?sep=(.)"?[\r\n]*', re.IGNORECASE)
BLANKS = " \t\u00a0\u2009\u202f\u3000"
# 1 234,5 and 1'234.5, with any kind of blank and apostrophe
GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:[ \u00a0\u2009\u202f'\u2019][0-9]{3})+(?:[.,][0-9]*)?")
ODD_BYTES = re.compile(  # 1 234 with blanks or apostrophes, a minus sign, digits of double width
    rb"[0-9](?: |\xc2\xa0|\xe2\x80[\x89\xaf\x99]|')[0-9]{3}|\xe2\x88\x92[0-9]|\xef\xbc[\x90-\x99]"
)
TOTAL = re.compile(
    r"(grand |sub)?(total( général)?|sum|summen?|(zwischen|gesamt)summe|gesamt|insgesamt|somme"
    r"|mean|average|mittelwert|durchschnitt|moyenne|合計|総計|小計|計|平均)\s*[:：=]?"
    r"|n\s*=\s*[0-9]+",
    re.IGNORECASE,
)
Row = tuple[int, list[str]]  # the line (from 1) where a row begins, and its cells
Seen = Callable[[set[str]], set[str]]  # those of some entries that rows have


@dataclass
class Sheet:
    """A plain CSV file made of a sheet.

    ``lines`` has the line of the original for each line of the copy; ``changes`` says what was
    left out, in parts of a sentence; ``rewritten`` are columns in which some number was written in
    another way; ``name`` is that of a sheet in a workbook.
    """

    path: Path
    delimiter: str
    name: str = ""
    lines: list[int] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    rewritten: set[str] = field(default_factory=set)


# -- does a file need it? --------------------------------------------------------------------------


def looks_plain(opened: OpenFile, named: str | None) -> bool:
    """Whether names and rows are all that a UTF-8 file has, by its beginning and its end.

    Blank rows in the middle are looked for in what was loaded (``CsvCells.has_blank_rows``).
    """
    head, tail = opened.head(HEAD), opened.tail(HEAD)
    if not _text(head).strip():
        return True  # empty: others say so
    first = _text(head).split("\n", 1)[0]
    if SEPARATOR_LINE.fullmatch(first) or not first.strip() or ODD_BYTES.search(head):
        return False
    delimiter = sign_of(named) if named else find_delimiter(_text(head))
    rows = _rows(_text(head), delimiter)
    begin = header_place(rows)
    if begin or (rows and not rows[begin][-1].strip() and len(rows[begin]) > 1):
        return False
    last_rows = _rows(_text(tail), delimiter)
    if any(len(row) > 1 and not _filled(row) for row in (*rows, *last_rows)):
        return False
    filled = [place for place, row in enumerate(last_rows) if row]
    end = last_rows[filled[-1]] if filled else []
    is_apart = len(filled) > 1 and filled[-1] - filled[-2] > 1  # a footnote below a blank line
    return not is_total(end) and not (is_apart and len(_filled(end)) == 1)


def header_place(rows: list[list[str]]) -> int:
    """Which of the first rows has the names of the columns.

    Rows of a title have at most half as many cells as the widest row. The row below them must look
    like names (text, each once); otherwise the first row that is not blank has them.
    """
    counts = [len(_filled(row)) for row in rows[:HEAD_ROWS]]
    first = next((place for place, count in enumerate(counts) if count), 0)
    most = max(counts, default=0)
    place = next((p for p, count in enumerate(counts) if count >= 2 and count > most / 2), first)
    names = _filled(rows[place]) if rows else []
    alike = len(set(names)) < len(names) or any(NUMBER.fullmatch(name) for name in names)
    return first if alike else place


def is_total(row: list[str]) -> bool:
    """Whether a row is a total or a mean of those above it, by its first word."""
    filled = _filled(row)
    return bool(filled) and TOTAL.fullmatch(filled[0]) is not None


def _filled(row: list[str]) -> list[str]:
    return [cell.strip() for cell in row if cell.strip()]


def _text(piece: bytes) -> str:
    """A piece of a UTF-8 file that may begin and end within a letter or a line."""
    return piece.decode("utf-8", "ignore").removeprefix("\ufeff").replace("\r\n", "\n")


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """The rows of a piece of text that the csv module can make of it."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return rows


# -- from CSV --------------------------------------------------------------------------------------


@contextmanager
def tidied_csv(
    opened: OpenFile,
    named: str | None,
    identifiers: Collection[str],
    na: Collection[str],
    shown: str,
) -> Iterator[Sheet]:
    """A plain copy of a UTF-8 file; cells that are one of ``na`` are empty in it."""
    head = _text(opened.head(HEAD))
    separator = SEPARATOR_LINE.fullmatch(head.split("\n", 1)[0])
    rest = head.split("\n", 1)[-1] if separator else head
    found = separator[1] if separator else find_delimiter(rest)
    delimiter = sign_of(named) if named else found

    def rows(file: Any) -> Iterator[Row]:
        reader, begin = csv.reader(file, delimiter=delimiter), 1
        for row in reader:
            if begin > 1 or not separator:
                yield begin, row
            begin = reader.line_num + 1

    limit = csv.field_size_limit(MAX_LINE)
    try:
        with scratch_folder() as folder:
            sheet = Sheet(folder / "plain", delimiter)
            with opened.text() as text:
                tidy(rows(text), sheet, identifiers, na)
            yield sheet
    except csv.Error as error:
        raise PairscoreError(
            f"{shown!r} cannot be read as CSV ({error}); save it again with whole cells quoted."
        ) from None
    finally:
        csv.field_size_limit(limit)


def tidy(
    rows: Iterator[Row], sheet: Sheet, identifiers: Collection[str], na: Collection[str]
) -> Sheet:
    """Write names and rows to the sheet's file, and to ``changes`` what they are without."""
    head = list(islice(rows, HEAD_ROWS))
    place = header_place([cells for _, cells in head])
    title = [" ".join(_filled(cells)) for _, cells in head[:place] if _filled(cells)]
    if title:
        above = plural(len(title), "line")
        sheet.changes.append(
            f"{above} above the column names left out ({_shown(first_few(title, 2))})"
        )
    line, names = head[place] if head else (1, [])
    names = [" ".join(filter(None, map(str.strip, re.split("[\r\n]", name)))) for name in names]
    body: Iterable[Row] = chain(head[place + 1 :], rows)
    if not all(names):
        body = list(body)
    kept = _kept_columns(names, body, sheet)
    clean = _Cleaner([names[column] for column in kept], identifiers, na)
    with sheet.path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=sheet.delimiter, lineterminator="\n")

        def seen(entries: set[str]) -> set[str]:
            file.flush()
            return _found_in(sheet, entries)

        for begin, cells in chain([(line, names)], _without_ends(body, len(names), sheet, seen)):
            if begin != line:
                cells = clean(_cells_of(cells, kept, len(names)))
            else:
                cells = [cells[column] for column in kept]
            writer.writerow(cells)
            n_lines = 1 + sum(cell.count("\n") for cell in cells)
            sheet.lines += range(begin, begin + n_lines)
    sheet.changes += clean.changes()
    sheet.rewritten |= {clean.names[column] for column in clean.rewritten}
    return sheet


def _kept_columns(names: list[str], body: Iterable[Row], sheet: Sheet) -> list[int]:
    """The columns that have a name or an entry; the rest of a used area has neither."""
    if all(names):
        return [*range(len(names))]
    used = {
        column for _, cells in body for column, cell in enumerate(cells) if cell and cell.strip()
    }
    kept = [column for column, name in enumerate(names) if name or column in used]
    if len(kept) < len(names):
        sheet.changes.append(f"{plural(len(names) - len(kept), 'empty column')} left out")
    return kept


def _cells_of(cells: list[str], kept: list[int], width: int) -> list[str]:
    """The kept cells of a row; a row of another length stays as it is, to be refused."""
    end = len(cells)
    while end > width and not cells[end - 1].strip():
        end -= 1
    cells = cells[:end]
    return [cells[column] for column in kept] if len(cells) == width else cells


def _found_in(sheet: Sheet, entries: set[str]) -> set[str]:
    """Those of some entries that the rows written so far have."""
    found: set[str] = set()
    with sheet.path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter=sheet.delimiter)
        next(rows, None)  # names
        for cells in rows:
            found.update(entries.intersection(cells))
            if len(found) == len(entries):
                break
    return found


def _without_ends(body: Iterable[Row], width: int, sheet: Sheet, seen: Seen) -> Iterator[Row]:
    """The rows without blank ones, and without totals and footnotes at the end."""
    held: deque[tuple[Row, bool]] = deque()
    n_blank, after_blank = 0, False
    for row in body:
        if not any(cell.strip() for cell in row[1]):
            n_blank += bool(row[1])
            after_blank = True
            continue
        held.append((row, after_blank))
        after_blank = False
        if len(held) > LAST_ROWS:
            yield held.popleft()[0]
    rows = [row for row, _ in held]
    end = _end_of_rows([(cells, after) for (_, cells), after in held], width, seen)
    if left_out := [" ".join(_filled(cells)) for _, cells in rows[end:]]:
        below = first_few(map(_shown, left_out), 2)
        sheet.changes.append(f"{plural(len(left_out), 'row')} at the end left out ({below})")
    if n_blank:
        sheet.changes.append(f"{plural(n_blank, 'blank row')} left out")
    yield from rows[:end]


def _end_of_rows(last: list[tuple[list[str], bool]], width: int, seen: Seen) -> int:
    """How many of the last rows are rows of the table.

    Behind them are totals, and lines of one cell below a blank row. ``seen`` says which of some
    entries the rows above the last ones have.
    """

    def is_row(place: int) -> bool:
        asked = {*_filled(last[place][0])}
        above = {entry for cells, _ in last[:place] for entry in asked.intersection(_filled(cells))}
        return _may_be_named(last[place][0], width, above | seen(asked - above))

    end = len(last)
    while end:
        first = end
        while first and width > 2 and len(_filled(last[first - 1][0])) == 1:
            first -= 1
        if first < end and last[first][1]:
            end = first
        elif is_total(last[end - 1][0]) and not is_row(end - 1):
            end -= 1
        else:
            return end
    return end


def _may_be_named(cells: list[str], width: int, known: Collection[str]) -> bool:
    """Whether a row with the name of a total is one like others, of something that is called so.

    Its name is an entry of another row, or no cell is empty and all its text is in other rows: a
    total of comparisons has no sides and no winner. ``known`` are its entries that others have.
    """
    name, *others = _filled(cells)
    texts = [entry for entry in others if not NUMBER.fullmatch(entry)]
    is_filled = 1 + len(others) == width
    return name in known or (is_filled and bool(texts) and {*texts} <= {*known})


class _Cleaner:
    """Cells without spaces around them, words for missing, and blanks between thousands."""

    def __init__(self, names: list[str], identifiers: Collection[str], na: Collection[str]):
        self.names = names
        self.exact = {column for column, name in enumerate(names) if name in identifiers}
        self.rewritten: set[int] = set()
        self.na = {word.strip() for word in na}
        self.unsaid = {word.strip() for word in na if isinstance(word, Unsaid)}
        self.n_missing, self.n_blanks, self.grouped, self.padded = 0, 0, "", ""
        self.found: set[str] = set()

    def __call__(self, cells: list[str]) -> list[str]:
        return [self._clean(column, cell) for column, cell in enumerate(cells)]

    def _clean(self, column: int, cell: str) -> str:
        text = cell.strip()
        if text in self.na:
            if text and text not in self.unsaid:
                self.n_missing += 1
                self.found.add(text)
            return ""
        if len(text) < len(cell) and text and not NUMBER.fullmatch(text):
            self.n_blanks += 1
            self.padded = self.padded or cell
        if column in self.exact or not any(map(str.isdigit, text)):
            return text
        plain = text if text.isascii() else _plain_digits(text)
        if GROUPED.fullmatch(plain):
            self.grouped = self.grouped or text
            self.rewritten.add(column)
            return re.sub(r"[ \u00a0\u2009\u202f'\u2019]", "", plain)
        if plain != text and NUMBER.fullmatch(plain):
            self.rewritten.add(column)
            return plain
        return text

    def changes(self) -> list[str]:
        words = first_few(map(repr, sorted(self.found)), 3)
        missing = f"{plural(self.n_missing, 'cell')} ({words}) counted as missing"
        grouped = f"{_shown(self.grouped)} read as a number with separated thousands"
        blanks = blanks_left_out(self.n_blanks, self.padded)
        found = {missing: self.n_missing, grouped: self.grouped, blanks: self.n_blanks}
        return [change for change, was_found in found.items() if was_found]


def _shown(text: str) -> str:
    """A text as a message shows it, with any kind of blank as a blank."""
    return shown(re.sub(f"[{BLANKS}]", " ", text))


def blanks_left_out(number: int, example: str) -> str:
    """What is said where text had spaces around it."""
    entries = "entry" if number == 1 else "entries"
    return f"spaces around {number} {entries} left out (such as {_shown(example)})"


def _plain_digits(text: str) -> str:
    """Digits of double width and minus signs as ASCII; blanks between thousands stay."""
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-")
