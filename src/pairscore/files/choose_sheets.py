"""Which sheets of workbooks are read: one with the items, and all that have comparisons.

Comparisons are in sheets with columns that were named, or are called left, right, winner or loser.
Sheets that have the same columns belong together, whatever the columns are called: one for each
judge. What is not read is said before anything else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pairscore.data.column_roles import SIDES, VoteColumns, plain_name, split_names
from pairscore.data.vote_layouts import NO_SIDES
from pairscore.display import did_you_mean, first_few
from pairscore.errors import PairscoreError
from pairscore.files.source import Kept, table_kind
from pairscore.files.tables import OpenFiles
from pairscore.files.workbooks import column_names, sheets_of
from pairscore.messages import Piece, Setting, Text

ROLES = (*SIDES, *NO_SIDES)


@dataclass(frozen=True)
class ChosenSheets:
    """The sheet of the items, and each file of comparisons with a sheet; None if it has none.

    ``named`` are the sheets of comparisons that the user named.
    """

    items: str | None
    votes: list[tuple[Any, str | None]]
    named: list[str] = field(default_factory=list)


def choose_sheets(
    items_file: Any,
    votes_files: Sequence[Any],
    named: Sequence[str],
    say: Callable[[Piece], None],
    files: OpenFiles,
    columns: VoteColumns | None = None,
) -> ChosenSheets:
    """The sheets to read of the files of a study.

    Parameters
    ----------
    items_file : path or None
        One workbook may have both items and comparisons.
    votes_files : paths
        All sheets that have the same columns are read, those of the workbook of the items too.
    named : names
        Sheets to read: that of the items, if these are in a workbook, then those of the
        comparisons. Those that are only ``Kept`` of an earlier file, that
        of the items (or nothing) first, count where a workbook has them.
    say
        Told which sheets are read and which are not, unless the user has named them.
    files
        Those of the command, which keep the workbooks open.
    columns : VoteColumns or None
        The columns of comparisons that were named.
    """
    given = [name for name in named if not isinstance(name, Kept)]
    kept = [name for name in named if isinstance(name, Kept)]
    columns = columns or VoteColumns()
    of_items = _book(items_file, files, columns)
    kinds = {table_kind(file) for file in votes_files}
    if given and of_items is None and "workbook" not in kinds:
        raise PairscoreError(
            Setting("sheet") + " names sheets of workbooks, and there is none among the files",
            "leave it out",
        )
    first, rest = ([*given[:1]], given[1:]) if of_items else ([], given)
    if of_items and not first and kept and kept[0] in of_items.sheets:
        first = [str(kept[0])]
    both = next((file for file in votes_files if of_items and str(file) == str(items_file)), None)
    items = first[0] if first else None
    more = of_items is not None and both is None and not given and _has_comparisons(of_items)
    if of_items and items is None:
        items = _sheet_of_items(of_items, more or both is not None)
    notes: list[_Note | None] = []
    votes: list[tuple[Any, str | None]] = []
    if of_items and more:  # beside those of the other files
        of_both = [sheet for sheet in of_items.sheets if sheet != items]
        votes += [(items_file, sheet) for sheet in sheets_with_comparisons(of_items, of_both)]
    for file in votes_files:
        book = of_items if file is both and of_items else _book(file, files, columns)
        if book is None:
            votes.append((file, None))
            continue
        sheets = [sheet for sheet in book.sheets if file is not both or sheet != items]
        found = _named_sheets(book, rest, sheets, len(votes_files) == 1)
        found = found or [sheet for sheet in sheets if sheet in kept[1:]]
        found = found or sheets_with_comparisons(book, sheets)
        votes += [(file, sheet) for sheet in found]
        if not rest:
            notes.append(_note(book, found, items if file is both else None))
    if of_items and both is None and not first and items is not None:
        read = [sheet for file, sheet in votes if file is items_file and sheet]
        notes.append(_note(of_items, read, items))
    _refuse_absent(rest, votes_files, files)
    for note in sorted(filter(None, notes), key=lambda note: not note.is_of_unread):
        say(note.text)
    return ChosenSheets(items, votes, rest)


def are_all_comparisons(file: Any, columns: VoteColumns) -> bool:
    """Whether a workbook has comparisons alone: every sheet with a table has columns for them."""
    with OpenFiles() as files:
        book = _book(file, files, columns)
    return book is not None and bool(book.sheets) and all(map(book.has_pairs, book.sheets))


@dataclass(frozen=True)
class _Book:
    """A workbook: the sheets that have tables, and the names of the columns of each."""

    file: str
    names: dict[str, list[str]]
    all_sheets: list[str]
    role_of: dict[str, str]  # of columns that were named

    @property
    def sheets(self) -> list[str]:
        return [*self.names]

    def of_pairs(self, sheet: str) -> list[str]:
        """The columns of a sheet that say who was compared and who won, by their names."""
        return [name for name in self.names[sheet] if self._role(name) in ROLES]

    def has_pairs(self, sheet: str) -> bool:
        """Whether a sheet has comparisons by the names of its columns: two sides, or who won."""
        roles = [self._role(name) for name in self.of_pairs(sheet)]
        return len(roles) > 1 or any(role in NO_SIDES for role in roles)

    def _role(self, name: str) -> str:
        return self.role_of.get(name, plain_name(name))


def _book(file: Any, files: OpenFiles, columns: VoteColumns) -> _Book | None:
    if not file or table_kind(file) != "workbook":
        return None
    book = files.workbook(file)
    names = {sheet: column_names(book, sheet) for sheet in sheets_of(book)}
    known = {**columns.kept, **columns.named}
    roles = {one: role for role, name in known.items() for one in (name, *split_names(name))}
    return _Book(str(file), names, list(book.sheet_names), roles)


def _named_sheets(
    book: _Book, named: Sequence[str], sheets: Sequence[str], is_only_file: bool
) -> list[str]:
    """Those of the named sheets that a workbook has; of an only one all, to be refused if not."""
    if is_only_file and named:
        return list(named)
    mine = [name for name in named if name in book.all_sheets]
    return mine or ([*sheets] if named and len(sheets) == 1 else [])


def _refuse_absent(named: Sequence[str], votes_files: Sequence[Any], files: OpenFiles) -> None:
    """Each named sheet must be in one of several workbooks; of one, the reader says it."""
    if not named:
        return
    found = [_book(file, files, VoteColumns()) for file in votes_files]
    books = [book for book in found if book is not None]
    known = [sheet for book in books for sheet in book.all_sheets]
    for name in named:
        if len(books) > 1 and name not in known:
            raise PairscoreError(
                f"no workbook has a sheet {name!r}; they have {first_few(map(repr, known), 8)}."
                f"{did_you_mean(name, known)}"
            )


def _has_comparisons(book: _Book) -> bool:
    """Whether some sheets of a workbook, and not all, have columns that say who won."""
    told = [book.has_pairs(sheet) for sheet in book.sheets]
    return any(told) and not all(told)


def _sheet_of_items(book: _Book, has_comparisons: bool) -> str:
    """The first sheet with a table; of a workbook that has comparisons too, one without these."""
    if not has_comparisons:
        return book.sheets[0]
    if len(book.sheets) < 2:
        raise PairscoreError(
            f"{book.file!r} has one sheet with a table, {book.sheets[0]!r}; items and comparisons"
            " are two tables: give two sheets or two files."
        )
    if not any(any(_signs(book, sheet, book.sheets)) for sheet in book.sheets):
        return book.sheets[0]
    votes = sheets_with_comparisons(book, book.sheets)
    others = [sheet for sheet in book.sheets if sheet not in votes]
    if not others:
        raise PairscoreError(
            f"all sheets of {book.file!r} have the same columns, and items and comparisons are two"
            " tables: give the file of the items first."
        )
    return others[0]


def sheets_with_comparisons(book: _Book, sheets: Sequence[str]) -> list[str]:
    """The sheet that looks most like comparisons, and all that have the same columns."""
    if not sheets:
        return []
    first = max(sheets, key=lambda sheet: _signs(book, sheet, sheets))
    return _alike(book, first, sheets)


def _signs(book: _Book, sheet: str, sheets: Sequence[str]) -> tuple[int, bool]:
    """Whether a sheet has comparisons, by the surest sign first: columns that were named or are
    called so (left, winner), other sheets with the same columns.
    """
    return len(book.of_pairs(sheet)), len(_alike(book, sheet, sheets)) > 1


def _alike(book: _Book, sheet: str, sheets: Sequence[str]) -> list[str]:
    """The sheets that have the columns of this one, or those of them that say who won."""
    mine = _plain(book.names[sheet])
    core = _plain(book.of_pairs(sheet))
    is_told = len(core) > 2

    def is_alike(other: str) -> bool:
        names = _plain(book.names[other])
        shared = core <= names if is_told else mine <= names or names <= mine
        return other == sheet or (shared and len(names & mine) > 1)

    return [other for other in sheets if is_alike(other)]


def _plain(names: Any) -> set[str]:
    return {plain_name(name) for name in names} - {""}


class _Note(NamedTuple):
    """What is said of a workbook; first of those of which something is not read."""

    text: Text
    is_of_unread: bool


def _note(book: _Book, votes: Sequence[str], items: str | None) -> _Note | None:
    """What is read of a workbook with several sheets, after what is not."""
    unread = [sheet for sheet in book.sheets if sheet not in votes and sheet != items]
    if len(book.sheets) < 2:
        return None
    parts = []
    if unread:
        is_one = len(unread) == 1
        parts.append(
            f"{'the sheet' if is_one else 'the sheets'} {first_few(map(repr, unread), 8)}"
            f" {'was' if is_one else 'were'} not read"
        )
    if items is not None:
        parts.append(f"items from the sheet {items!r}")
    if votes:
        many = f"{len(votes)} sheets, " if len(votes) > 1 else ""
        of_votes = f"comparisons from {many}{', '.join(map(repr, votes))}"
        parts = [*parts[:-1], f"{parts[-1]}, {of_votes}"] if items else [*parts, of_votes]
    text = f"{book.file!r}: {'; '.join(parts)}; " + Setting("sheet") + " names those to read"
    return _Note(text, bool(unread))
