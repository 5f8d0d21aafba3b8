"""Batches of comparisons: of each row the items by number, the outcome and the amount.

What is usual (ids of both sides, a winner that is a side, a tie or an id) is looked up at once; for
whatever else, and to say what is wrong, a batch goes to :func:`pairscore.data.votes.read_votes`, so
that a comparison means the same here as in a fit in memory.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from pairscore.core.amounts import times_amount
from pairscore.data.column_roles import VoteColumns, check_names, refuse_losers_that_won
from pairscore.data.items import (
    Items,
)
from pairscore.data.tables import Column, Columns
from pairscore.data.vote_layouts import NO_SIDES, no_layout
from pairscore.data.votes import (
    Votes,
    may_be_codes,
    read_votes,
    refuse_possible_codes,
    word_outcomes,
    words_that_are_ids,
)
from pairscore.display import shown
from pairscore.errors import BadEntriesError, PairscoreError
from pairscore.files.partitions import Partition
from pairscore.messages import Action

if TYPE_CHECKING:
    import pyarrow as pa

OPTIONAL = ("tie", "weight", "count")
FIT_WHOLE = "fit everything at once with " + Action("RankRegression.fit")
NO_WORD = 2  # an outcome that is not known yet


class Batch(NamedTuple):
    """Comparisons of the rows of an item table, all arrays (m).

    ``left`` and ``right`` are row numbers, ``outcome`` is 1, 0 or -1, ``amount`` weight times
    count; it, ``weight`` and the counts (``times``) are None where every row has 1.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    amount: np.ndarray | None = None
    weight: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every row counts once."""
        return self.amount is None

    def take(self, rows: Any) -> "Batch":
        """Some of the rows: a slice, a mask or numbers."""
        columns = [None if column is None else column[rows] for column in self]
        return Batch(*columns)  # type: ignore[arg-type]


@dataclass(frozen=True)
class BatchLayout:
    """Columns of a table of comparisons by role: names in the file by names as we have them."""

    columns: Mapping[str, str]
    sides: tuple[str, str]
    told: str = "winner"  # or "loser": the role of the column that says who won, or who lost
    loser: str | None = None  # a column that must not name the winner

    @property
    def has_sides(self) -> bool:
        return self.sides != NO_SIDES

    @property
    def identifiers(self) -> list[str]:
        """The columns that name items, as the file calls them."""
        return [self.columns[role] for role in dict.fromkeys((*self.sides, self.told))]

    @classmethod
    def of_names(cls, names: list[str], given: Mapping[str, str]) -> "BatchLayout":
        """The layout of a file with these columns, some perhaps named by the user (role: name)."""
        # who judged makes no difference to a stream
        named = {role: name for role, name in check_names(given)[1].items() if role != "judge"}
        roles = VoteColumns(named).roles(names)
        if roles.layout is None:
            raise no_layout(names)
        sides, told = roles.layout
        if roles.judges:
            raise PairscoreError(
                "comparisons that are read in parts say who won in one column",
                FIT_WHOLE,
            )
        wanted = dict.fromkeys((*sides, told, *OPTIONAL))
        columns = {role: roles.columns[role] for role in wanted if role in roles.columns}
        return cls(columns, sides, told, roles.loser)

    @property
    def side_names(self) -> tuple[str, str]:
        """What the columns of the two sides are called in the file."""
        return self.columns[self.sides[0]], self.columns[self.sides[1]]


@dataclass(frozen=True)
class BatchReader:
    """Reads partitions as batches of row numbers.

    Parameters
    ----------
    items : Items
        The ids, by which rows are found; features are not needed.
    layout : BatchLayout
    self_pairs : {"error", "keep"}
    drop_ties : bool
        Leave ties out.
    """

    items: Items
    layout: BatchLayout
    self_pairs: str = "error"
    drop_ties: bool = False

    def batches(self, part: Partition) -> Iterator[Batch]:
        """The comparisons of a partition, ties left out if so asked."""
        for batch in self.all_batches(part):
            tied = batch.outcome == 0 if self.drop_ties else np.zeros(0, dtype=bool)
            yield batch.take(~tied) if tied.any() else batch

    def all_batches(self, part: Partition) -> Iterator[Batch]:
        """The comparisons of a partition, ties too."""
        columns, names = list(self.layout.columns.values()), self.layout.identifiers
        loser = self.layout.loser
        if loser is not None and loser in part.column_names():
            columns, names = [*columns, loser], [*names, loser]
        for first, table in part.read(columns, names):
            if not len(table):
                continue
            with located(part.name, first, self.layout.columns):
                if loser in columns:
                    self._refuse_losers_that_won(table)
                batch = self._usual(table) or self._any(table)
            yield batch

    def refuse_possible_codes(self, parts: Iterable[Partition]) -> None:
        """Refuse winners by id that could all be codes, after as many batches as it takes."""
        if not self.layout.has_sides:
            return
        name, entries = self.layout.columns[self.layout.told], dict[Any, None]()
        words: dict[Any, int] = {}
        for part in parts:
            for _, table in part.read([name], [name]):
                found = table.column(name).unique().to_pylist()
                entries |= dict.fromkeys(entry for entry in found if entry is not None)
                words = word_outcomes(entries, self.layout.side_names, self._words_that_are_ids)
                if entries and not may_be_codes(entries, words):
                    return
        refuse_possible_codes(list(entries), words)

    @cached_property
    def _words_that_are_ids(self) -> set[str]:
        return words_that_are_ids(self.layout.side_names, self.items)

    @cached_property
    def _ids_are_text(self) -> bool:
        return self.items.ids is not None and self.items.ids.dtype.kind not in "iu"

    @cached_property
    def _places(self) -> tuple[np.ndarray, int] | None:
        """The row of every number from the lowest id to the highest, and the lowest id."""
        ids = np.arange(len(self.items)) if self.items.ids is None else self.items.ids
        if self._ids_are_text or int(ids.max()) - int(ids.min()) > 8 * len(ids) + 1000:
            return None
        low, high = int(ids.min()), int(ids.max())
        places = np.full(high - low + 1, -1, dtype=np.int32)
        places[ids - low] = np.arange(len(ids), dtype=np.int32)
        return places, low

    @cached_property
    def _are_row_numbers(self) -> bool:
        """Whether ids are row numbers, which need not be looked up."""
        if self._places is None:
            return False
        places, low = self._places
        n = len(self.items)
        return low == 0 and len(places) == n < 2**31 and bool(np.all(places == np.arange(n)))

    def _refuse_losers_that_won(self, table: "pa.RecordBatch") -> None:
        names = (*self.layout.side_names, self.layout.columns["winner"], self.layout.loser)
        columns = {name: table.column(name).to_pylist() for name in names if name is not None}
        refuse_losers_that_won({n: np.array(of, dtype=object) for n, of in columns.items()})

    def _usual(self, table: "pa.RecordBatch") -> Batch | None:
        """Ids of both sides, and who won; None where something is not usual."""
        columns = [table.column(name) for name in self.layout.columns.values()]
        by_role = dict(zip(self.layout.columns, columns, strict=True))
        if "tie" in by_role or any(column.null_count for column in columns):
            return None
        left, right = (self._rows(by_role[side]) for side in self.layout.sides)
        if left is None or right is None or min(left.min(), right.min()) < 0:
            return None
        if self.self_pairs == "error" and np.any(left == right):
            return None
        outcome: np.ndarray | None = np.ones(len(left), dtype=np.int8)
        if self.layout.has_sides:
            outcome = self._outcome(by_role[self.layout.told], left, right)
            if outcome is not None and self.layout.told == "loser":
                outcome = -outcome
        weight, count = (_numbers(by_role.get(role)) for role in ("weight", "count"))
        if outcome is None or any(
            of is not None and not _are_amounts(of) for of in (weight, count)
        ):
            return None
        if count is not None and np.any(count != np.floor(count)):
            return None
        amount = count if weight is None else times_amount(weight, count)
        return Batch(left, right, outcome, amount, weight, count)

    def _rows(self, column: "pa.Array") -> np.ndarray | None:
        """Row numbers of ids, -1 for an unknown one; None where they are not usual."""
        coded = _coded(column)
        if coded is not None:
            values, codes = coded
            return self.items.find_rows_by_text(values).astype(np.int32)[codes]
        names = column.to_numpy(zero_copy_only=False)
        if self._places is None or names.dtype.kind not in "iu":
            return None if names.dtype.kind not in "iu" else self.items.find_rows(names)
        places, low = self._places
        if len(names) and not low <= int(names.min()) <= int(names.max()) < low + len(places):
            return None
        if self._are_row_numbers:
            return names.astype(np.int32, copy=False)
        return places[names - low] if low else places[names]

    def _outcome(self, told: "pa.Array", left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """Who is told, by words for the sides and ties or by ids; None where some are neither."""
        coded = _coded(told)
        if coded is None:
            outcome = np.full(len(left), NO_WORD, dtype=np.int8)
        else:
            values, codes = coded
            side_names = self.layout.side_names
            words = word_outcomes(values.tolist(), side_names, self._words_that_are_ids)
            known = [words.get(value, NO_WORD) for value in values.tolist()]
            outcome = _by_code(known, codes)
            if NO_WORD not in known:
                return outcome
        named = self._rows(told)
        if named is None:
            return None
        unclear = outcome == NO_WORD
        outcome[unclear & (named == right)] = -1
        outcome[unclear & (named == left)] = 1
        return None if np.any(outcome == NO_WORD) else outcome

    def _any(self, table: "pa.RecordBatch") -> Batch:
        """A batch as a fit in memory reads it, or the sentence of what is wrong with it."""
        columns = {}
        for role, name in self.layout.columns.items():
            column = table.column(name)
            coded = _coded(column) if not column.null_count else None
            columns[role] = Column(*coded) if coded else column.to_pylist()
        items = replace(self.items, backend=Columns)
        votes = read_votes(
            Columns(columns, from_file=True),
            items,
            self.self_pairs,
            side_names=self.layout.side_names,
            are_all=False,
        )
        return _batch_of(votes)


def _batch_of(votes: Votes) -> Batch:
    columns = votes.left, votes.right, votes.outcome
    return Batch(*columns, votes.given_amount, votes.weight, votes.count)


def _coded(column: "pa.Array") -> tuple[np.ndarray, np.ndarray] | None:
    """Distinct texts and the code of each row; None where a column is not text."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type):
        return None
    values = np.array(column.dictionary.to_pylist(), dtype=object)
    return values, column.indices.to_numpy(zero_copy_only=False)


def _by_code(known: list[int], codes: np.ndarray) -> np.ndarray:
    """The outcome of each row; of two words without a look at a table."""
    if len(known) == 2:
        return codes.astype(np.int8) * np.int8(known[1] - known[0]) + np.int8(known[0])
    return np.array(known, dtype=np.int8)[codes]


def _numbers(column: "pa.Array | None") -> np.ndarray | None:
    if column is None:
        return None
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(float) if values.dtype.kind in "iuf" else np.full(len(values), np.nan)


def _are_amounts(values: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(values)) and np.all(values >= 0))


@contextmanager
def located(name: str, first: int, columns: Mapping[str, str] | None = None) -> Iterator[None]:
    """Say in which file and row entries are wrong; ``first`` is the row of the batch, from 0."""
    try:
        yield
    except BadEntriesError as error:
        row, column, value = min(error.entries, key=lambda entry: entry[0])
        column = (columns or {}).get(column, column)
        raise PairscoreError(
            f"{name!r}, row {first + row + 1}: {column!r} is {shown(value)} ({error.reason})",
            error.message.remedies,
        ) from None
    except PairscoreError as error:
        problem = f"{name!r}, from row {first + 1} on: " + error.message.problem
        raise PairscoreError(problem, error.message.remedies) from None


class NumberedPart(NamedTuple):
    """A partition and its place among all."""

    number: int
    source: Partition

    @property
    def n_bytes(self) -> int:
        return self.source.n_bytes


class Rows(Protocol):
    """Whatever gives the comparisons of a part: a source's reader, or the tiles on disk."""

    def batches(self, part: Any) -> Iterator[Batch]: ...


class Reader(Protocol):
    """Reads the comparisons of a partition, or some of them."""

    @property
    def layout(self) -> BatchLayout: ...

    @property
    def drop_ties(self) -> bool: ...

    @property
    def self_pairs(self) -> str: ...

    def batches(self, part: Partition) -> Iterator[Batch]:
        """The comparisons of the fit."""
        ...

    def all_batches(self, part: Partition) -> Iterator[Batch]:
        """With ties that the fit leaves out."""
        ...


@dataclass(frozen=True)
class SourceRows:
    """The comparisons as they stand in the source."""

    reader: Reader

    def batches(self, part: NumberedPart) -> Iterator[Batch]:
        return self.reader.batches(part.source)


def small_batches(rows: Rows, part: NumberedPart, size: int) -> Iterator[Batch]:
    """The comparisons of a part, a few at a time."""
    for whole in rows.batches(part):
        for first in range(0, len(whole.left), size):
            yield whole.take(slice(first, first + size))
