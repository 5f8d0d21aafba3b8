"""Votes as people keep them, turned into left, right, outcome.

These layouts of columns are known, and an integer array with the winner's row number first:

    left, right, winner          winner is left, right, tie, or the winner's own id
    left, right, loser           loser is left, right, tie, or the loser's own id
    model_a, model_b, winner     winner is model_a, model_b, tie, or the winner's own id
    winner, loser                no sides: a seeded coin says who is written on the left

A winner is told by the id of one of the two items, by the name of the column of a side, by the
words left, right and tie, or by a code whose meaning is given. An entry that could be two of these
is asked for: a guess could turn a ranking upside down.

Optional columns: tie (0 or 1; a winner may be missing where it is 1, and else has to agree), weight
(importance), count (equal comparisons that a row stands for), judge, and columns of context by any
name.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.choices import WINNER_MEANINGS
from pairscore.data.find_ids import refuse_counts_from_1
from pairscore.data.items import Items, plain_id, without_zeros
from pairscore.data.tables import (
    Column,
    Columns,
    Frame,
    as_frame,
    backend_of,
    column_of,
    distinct,
    is_hashable,
    is_missing,
    look_up,
    to_array,
)
from pairscore.data.vote_layouts import compared_in, layout_of, no_layout
from pairscore.display import first_few, first_rows, plural
from pairscore.errors import (
    BadEntriesError,
    CallError,
    OtherCaseError,
    PairscoreError,
    no_comparisons,
)
from pairscore.messages import Piece, Setting, Text

TIE_WORDS = ("tie", "tie (bothbad)")
PER_ROW = ("left", "right", "outcome", "weight", "count", "judge")
OUTCOMES = (-1, 0, 1)
NO_OUTCOME = 2  # of an entry that no word or code explains: it has to be the id of an item
SKIPPED = 3  # the outcome of a row that a code leaves out
OUTCOME_OF_MEANING = dict(zip(WINNER_MEANINGS, (1, -1, 0, SKIPPED, NO_OUTCOME), strict=True))
OUTCOME_OF_WORD = {"left": 1, "right": -1, **dict.fromkeys(TIE_WORDS, 0)}
MANY_ROWS = 20  # with more unclear winners, their values are counted and not listed
MOST_CODES = 12
FEW_CODES = 3  # a code for each side and one for ties
FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
Lookup = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Votes:
    """M comparisons of the rows of an item table, without the table.

    Parameters
    ----------
    left, right : ndarray of shape (M,), integer
        Row numbers of the compared items.
    outcome : ndarray of shape (M,), integer
        +1 where left won, -1 where right won, 0 for a tie.
    weight, count : ndarray of shape (M,) or None
        Importance of a row relative to the others, so that multiplying all weights by a constant
        changes nothing; and how many equal comparisons it stands for, so that 3 is three rows.
    judge : ndarray of shape (M,) or None
        Who judged, of any hashable kind.
    sides_known : bool
        False when the votes only said winner and loser, so left and right mean nothing.
    seed : int or None
        Of the coin that gave out the sides in that case.
    self_pairs : {"error", "keep"}
        ``"keep"`` for votes that may compare an item with itself, as those of ``Population.draw``.
    covariance_items : ndarray of row numbers or None
        Items whose covariance ``method="split"`` takes (the paper's second half).
    item_groups : ndarray of int of shape (N,) or None
        Number of the group of each item; see :meth:`~pairscore.Comparisons.with_item_groups`.
    context : dict from name to ndarray of shape (M,)
        Numbers that belong to a comparison (home, rest days): of left minus of right.
    has_outcomes : bool
        False for pairs that nobody has compared, whose ``outcome`` means nothing.
    """

    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray | None = None
    count: np.ndarray | None = None
    judge: np.ndarray | None = None
    sides_known: bool = True
    seed: int | None = None
    self_pairs: str = "error"
    covariance_items: np.ndarray | None = None
    item_groups: np.ndarray | None = None
    context: dict[str, np.ndarray] = field(default_factory=dict)
    has_outcomes: bool = True

    def __len__(self) -> int:
        return len(self.outcome)

    def __getitem__(self, rows: Any) -> "Votes":
        """Some of the rows: a slice, a mask or row numbers."""
        context = {name: column[rows] for name, column in self.context.items()}
        return replace(self, **{n: c[rows] for n, c in self.columns().items()}, context=context)

    def __repr__(self) -> str:
        compared = plural(len(np.union1d(self.left, self.right)), "item")
        parts = [f"{plural(len(self), 'comparison')} of {compared}"]
        if same := int(np.count_nonzero(self.left == self.right)):
            parts.append(f"{same} of an item with itself")
        if self.judge is not None:
            parts.append(plural(len(np.unique(self.judge)), "judge"))
        if self.covariance_items is not None:
            parts.append(f"covariance from {plural(len(self.covariance_items), 'item')}")
        return f"Votes({', '.join(parts)})"

    def columns(self) -> dict[str, np.ndarray]:
        """The columns with one entry per comparison that are there, by name; context apart."""
        return {name: column for name in PER_ROW if (column := getattr(self, name)) is not None}

    @property
    def amount(self) -> np.ndarray:
        """How much each row counts: weight times count, shape (M,)."""
        amount = self.given_amount
        return np.broadcast_to(1.0, len(self)) if amount is None else amount

    @property
    def given_amount(self) -> np.ndarray | None:
        """The same; None where there is neither, and every row counts once."""
        given = [column for column in (self.weight, self.count) if column is not None]
        if not given:
            return None
        return np.multiply(1.0, given[0]) if len(given) == 1 else given[0] * given[1]


def check_columns(votes: Votes) -> Votes:
    """The same votes with every column as an array with one entry for each comparison."""
    arrays: dict[str, Any] = {n: to_array(c, f"{n} is") for n, c in votes.columns().items()}
    context = {name: to_array(c, f"the context {name!r} is") for name, c in votes.context.items()}
    shapes = {column.shape for column in (*arrays.values(), *context.values())}
    if len(shapes) > 1 or len(shapes.pop()) != 1:
        shown = ", ".join(f"{name} {column.shape}" for name, column in arrays.items())
        raise PairscoreError(
            f"the columns of comparisons differ in shape ({shown}); give one entry for each"
            " comparison."
        )
    return replace(votes, **arrays, context=context)


def read_votes(
    votes: Any,
    items: Items,
    self_pairs: str = "error",
    seed: int = 0,
    context: Collection[str] = (),
    winner_codes: Mapping[Any, str] | None = None,
    side_names: tuple[str, str] | None = None,
    are_all: bool = True,
) -> Votes:
    """Check votes of any kind against the items that they compare.

    Parameters
    ----------
    votes : Votes, integer array of shape (M, 2) with the winner first, or any dataframe
        See the layouts at the top of this module.
    items : Items
        The table that ids, or row numbers, refer to.
    self_pairs : {"error", "keep"}
        What to do with comparisons of an item with itself.
    seed : int
        Of the coin that writes each winner left or right where votes have no sides.
    context : names
        Numeric columns of the votes to keep.
    winner_codes : dict or None
        What entries of the column of winners mean: ``"left"``, ``"right"``, ``"tie"``, ``"skip"``
        for rows to leave out, or ``"id"`` for the id of an item. The code None stands for a missing
        entry.
    side_names : two names or None
        What the columns of left and right are called in a file: a winner may be told by them.
    are_all : bool
        Whether these are all comparisons, and not some of many.
    """
    codes = check_codes(winner_codes)
    if isinstance(votes, Votes):
        read = _check_rows(votes, items)
        self_pairs = "keep" if "keep" in (self_pairs, votes.self_pairs) else "error"
    elif (frame := as_frame(votes)) is None:
        read = _from_array(votes, items, seed)
    else:
        read = _from_frame(frame, items, seed, context, codes, side_names, are_all)
    if len(read) == 0:
        raise no_comparisons()
    if self_pairs != "keep" and len(same := np.flatnonzero(read.left == read.right)):
        names = [items.names[row] for row in read.left[same]]
        raise bad_entries(
            f"{plural(len(same), 'comparison', verb='is')} of an item with itself",
            [
                "remove them",
                *(["pass " + Setting("self_pairs", "keep")] if self_pairs == "error" else []),
            ],
            {"right": (same, names)},
            "an item with itself",
        )
    return read


def _from_array(votes: Any, items: Items, seed: int) -> Votes:
    pairs = to_array(votes, "the comparisons are")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise CallError(
            f"the comparisons are an array of shape {pairs.shape} and type {pairs.dtype}",
            [
                "give an integer array of two columns, the winner's row number first",
                "give a dataframe with columns left, right, winner or winner, loser",
            ],
        )
    _refuse_rows_outside((pairs,), items)  # both sides at once, in the order of memory
    return _orient(pairs[:, 0], pairs[:, 1], seed)


def _refuse_rows_outside(sides: tuple[np.ndarray, ...], items: Items) -> None:
    if not all(0 <= rows.min() <= rows.max() < len(items) for rows in sides if len(rows)):
        pairs = np.column_stack(sides)
        bad = np.flatnonzero(((pairs < 0) | (pairs >= len(items))).any(axis=1))
        raise PairscoreError(
            f"{plural(len(bad), 'comparison', verb='points')} outside the {len(items)} items:"
            f" {first_rows(bad, pairs[bad].tolist())}; row numbers go from 0 to {len(items) - 1}."
        )


def _check_rows(votes: Votes, items: Items) -> Votes:
    """Votes that are read already, against the items that they are now used with."""
    sizes = {len(column) for column in votes.columns().values()}
    if len(sizes) > 1:
        raise PairscoreError(
            f"the columns of the comparisons have different lengths ({first_few(sorted(sizes))});"
            " give one entry for each comparison."
        )
    votes = check_columns(votes)
    bad = np.flatnonzero(~np.isin(votes.outcome, OUTCOMES))
    if len(bad):
        raise PairscoreError(
            f"{plural(len(bad), 'outcome')} none of -1, 0, 1:"
            f" {first_rows(bad, votes.outcome[bad].tolist())}; 1 means that left won."
        )
    _refuse_rows_outside((votes.left, votes.right), items)
    rest = votes.covariance_items
    if rest is not None and len(rest) and not 0 <= rest.min() <= rest.max() < len(items):
        raise PairscoreError(
            f"the comparisons take a covariance from rows {rest.min()} to {rest.max()}, but there"
            f" are {len(items)} items; fit them to the items they were made with."
        )
    if votes.item_groups is not None and len(votes.item_groups) != len(items):
        raise PairscoreError(
            f"the comparisons know the groups of {len(votes.item_groups)} items, but there"
            f" are {len(items)}; fit them to the items they were made with."
        )
    return votes


def _orient(
    winner: np.ndarray, loser: np.ndarray, seed: int, tied: Any = False, **columns: Any
) -> Votes:
    """Write each winner left or right by a seeded coin; else every outcome would be the same."""
    heads = np.random.default_rng(seed).integers(0, 2, len(winner), dtype=np.int8)
    left = np.where(heads, winner, loser).astype(np.intp, copy=False)
    right = np.where(heads, loser, winner).astype(np.intp, copy=False)
    outcome = np.where(tied, np.int8(0), 2 * heads - 1)
    return Votes(left, right, outcome, sides_known=False, seed=seed, **columns)


def _from_frame(
    frame: Frame,
    items: Items,
    seed: int,
    context: Collection[str],
    codes: dict[Any, int],
    side_names: tuple[str, str] | None,
    are_all: bool,
) -> Votes:
    extra: dict[str, Any] = {
        "weight": amounts_of(frame, "weight"),
        "count": amounts_of(frame, "count"),
        "judge": column_of(frame, "judge").to_numpy() if "judge" in frame.columns else None,
        "context": {name: context_of(frame, name) for name in context},
    }
    layout = layout_of(frame.columns)
    if layout is None:
        raise no_layout(frame.columns)
    if not layout.has_sides and context:
        raise PairscoreError(
            f"the context {first_few(map(repr, context))} needs comparisons with a left and a right"
            " side; these only say winner and loser."
        )
    if not layout.has_sides and codes:
        raise PairscoreError(
            Setting("winner_codes")
            + " says which side won, and these comparisons only name winner and loser",
            "leave it out",
        )
    rows = _rows(frame, layout.sides, items)
    if not layout.has_sides:
        tied = _tied(frame)
        return _orient(*rows, seed, False if tied is None else tied, **extra)
    names = side_names or layout.sides
    told = WhoWon(column_of(frame, layout.told), layout.told, names, codes, items)
    tied = None if "tie" in context else _tied(frame, True)
    outcome = told.outcome(*rows, tied, _lookup(frame, items))
    if are_all:
        told.refuse_possible_codes()
    votes = Votes(*rows, outcome, **extra)
    return votes[outcome != SKIPPED] if SKIPPED in codes.values() else votes


# -- layouts ---------------------------------------------------------------------------------------


# -- columns ---------------------------------------------------------------------------------------


def _rows(frame: Frame, columns: tuple[str, str], items: Items) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the items that two columns name."""
    names = {column: column_of(frame, column) for column in columns}
    rows = {column: names[column].map(_lookup(frame, items)) for column in columns}
    unknown = {
        column: (bad, names[column].take(bad).to_numpy().tolist())
        for column in columns
        if len(bad := np.flatnonzero(rows[column] < 0))
    }
    if unknown:
        column, (bad, _) = next(iter(unknown.items()))
        entries = [name for _, names_of in unknown.values() for name in names_of]
        is_blank = not items.values.size and all(map(blank, entries))
        refuse_other_spelling(entries, items)
        _refuse_names_from_1([names[column].values for column in columns], items)
        what = "no item" if is_blank else "unknown item"
        raise bad_entries(
            f"{plural(len(bad), 'comparison')} in column {column!r}"
            f" {'names' if len(bad) == 1 else 'name'} {'' if is_blank else 'an '}{what}",
            _remedy(items, is_blank),
            unknown,
            what,
        )
    return rows[columns[0]], rows[columns[1]]


def _lookup(frame: Frame, items: Items) -> Lookup:
    """How names are found: exactly, or as they are written where both tables come from files."""
    from_files = isinstance(frame, Columns) and frame.from_file and items.backend is Columns
    return items.find_rows_by_text if from_files else items.find_rows


def _remedy(items: Items, is_blank: bool) -> str:
    """What to do about entries that name none of the items."""
    if is_blank:
        return "write who was compared, or leave these rows out"
    known = f"such as {first_few(map(repr, items.names), 3)}"
    if items.ids is None:
        known = "row numbers from 0, because the item table has no 'id' column"
    number = plural(len(items), "item")
    if not items.values.size:
        return f"the model knows {number} ({known}): skip them or correct the ids"
    return f"the item table has {number} ({known}): add the missing items or correct the ids"


def refuse_other_spelling(entries: Sequence[Any], items: Items) -> None:
    """Refuse entries that would all name an item if case, or zeros in front, did not matter, in one
    sentence.
    """
    if items.ids is None:
        return
    if all(isinstance(entry, str) for entry in entries):
        found = {entry: items.rows_of_fold.get(entry.casefold(), []) for entry in entries}
        _refuse_found(entries, found, items, "case", OtherCaseError)
    if all(is_hashable(entry) for entry in entries):
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(items.names):
            rows.setdefault(without_zeros(name), []).append(row)
        found = {entry: rows.get(without_zeros(entry), []) for entry in entries}
        _refuse_found(entries, found, items, "zeros in front", PairscoreError)


def _refuse_found(
    entries: Sequence[Any],
    found: Mapping[Any, list[int]],
    items: Items,
    what: str,
    kind: type[PairscoreError],
) -> None:
    """Refuse entries if each was found as one item, which is written with other ``what``."""
    if any(len(rows) != 1 for rows in found.values()):
        return
    ids = items.names
    if any(str(ids[row]) == str(entry) for entry, (row,) in found.items()):
        return  # a number and its text differ in more
    shown = first_few([f"{entry!r} for {ids[row]!r}" for entry, (row,) in found.items()], 3)
    number = len(entries)
    raise kind(
        f"{number:,} {'entry' if number == 1 else 'entries'} of the comparisons"
        f" {'differs' if number == 1 else 'differ'} from the ids of the items only in {what}"
        f" ({shown}); write the ids alike in both tables."
    )


def _refuse_names_from_1(names: Sequence[np.ndarray], items: Items) -> None:
    """Refuse row numbers that count the items from 1: each would be one item off."""
    if items.ids is not None:
        return
    texts = {plain_id(name) for of in names for name in of.tolist()}
    if all(text.isascii() and text.isdecimal() and len(text) < 19 for text in texts):
        used = np.array(sorted(map(int, texts)))
        if used[-1] == len(items):
            refuse_counts_from_1(used, len(items))


def bad_entries(
    problem: str,
    remedy: Piece | Sequence[Piece],
    places: Mapping[str, tuple[Iterable[Any], list[Any]]],
    reason: str,
) -> BadEntriesError:
    """The error for entries of the votes; ``places`` has rows and values of each bad column."""
    rows, values = next(iter(places.values()))
    entries = [
        (int(row), column, value)
        for column, (rows, values) in places.items()
        for row, value in zip(rows, values, strict=True)
    ]
    shown_rows = first_rows(rows, values)
    return BadEntriesError(f"{problem}: {shown_rows}", remedy, "votes", entries, reason)


def blank(entry: Any) -> bool:
    """Whether a cell that should name somebody is empty."""
    return is_missing(entry) or (isinstance(entry, str) and not entry.strip())


def _tied(frame: Frame, has_sides: bool = False) -> np.ndarray | None:
    """Mask of the rows that tied by a column ``tie``; None without one.

    Beside sides, which have the winner to say so, a column without any 0 or 1 is of something else.
    """
    if "tie" not in frame.columns:
        return None
    entries = column_of(frame, "tie").to_numpy()
    flags = flags_of(entries)
    bad = np.flatnonzero(flags < 0)
    if has_sides and len(bad) == len(flags):
        return None
    if len(bad):
        raise bad_entries(
            f"the column 'tie' is neither 0 nor 1 in {plural(len(bad), 'row')}",
            "write 1 where the two items tied and 0 elsewhere, or rename the column",
            {"tie": (bad, entries[bad].tolist())},
            "neither 0 nor 1",
        )
    return flags == 1


def flags_of(entries: np.ndarray) -> np.ndarray:
    """1 and 0 of 0, 1, true, false, yes and no in numbers or words; -1 of anything else."""
    if entries.dtype.kind in "biuf":
        return np.where(np.isin(entries, (0, 1)), entries, -1)
    return look_up(FLAGS, [str(entry).strip().lower() for entry in entries.tolist()], -1)


def amounts_of(frame: Frame, name: str) -> np.ndarray | None:
    """A column of weights or counts: finite and not negative."""
    if name not in frame.columns:
        return None
    if not frame.schema[name].is_numeric():
        raise PairscoreError(
            f"the column {name!r} of the comparisons is {_kind(frame, name)}; make it numbers or"
            " drop it."
        )
    return check_amounts(column_of(frame, name).to_numpy(), name)


def check_amounts(values: Any, name: str) -> np.ndarray:
    """Finite, non-negative numbers, at least one of them positive; counts are whole."""
    values = np.asarray(values, dtype=float)
    fault, what = ~np.isfinite(values) | (values < 0), "negative or not finite"
    if name == "count" and not fault.any():
        fault, what = values != np.floor(values), "not a whole number"
    bad = np.flatnonzero(fault)
    if len(bad):
        raise bad_entries(
            f"the {name} is {what} in {plural(len(bad), 'row')}",
            "correct or remove them",
            {name: (bad, values[bad].tolist())},
            what,
        )
    if len(values) and not values.any():
        raise PairscoreError(
            f"every {name} is zero, so no comparison counts; give at least one positive {name}."
        )
    return values


def refuse_missing_judges(judge: np.ndarray) -> None:
    """Refuse comparisons of which some have no judge; ``judge`` has the names, of shape (M,)."""
    values: list[Any] = [] if judge.dtype.kind in "iu" else judge.tolist()
    if set(map(type, values)) <= {str} and all(map(str.strip, set(values))):
        return
    missing = np.flatnonzero(
        [
            value is None or value != value or (isinstance(value, str) and not value.strip())
            for value in values
        ]
    )
    if len(missing):
        raise PairscoreError(
            f"the judge is missing in {plural(len(missing), 'row')}"
            f" ({first_few(f'row {row}' for row in missing)}); give a judge for every row."
        )


def _kind(frame: Frame, name: str) -> str:
    """What a column has instead of numbers."""
    type_of_column = frame.schema[name]
    return "text" if type_of_column == nw.String() else f"not numeric ({type_of_column})"


def context_of(frame: Frame, name: str) -> np.ndarray:
    """A numeric column of the votes: of left minus of right."""
    if name not in frame.columns:
        raise PairscoreError(
            f"the comparisons have no column {name!r} for the context; they have"
            f" {first_few(map(repr, frame.columns), 8)}."
        )
    if not (frame.schema[name].is_numeric() or frame.schema[name] == nw.Boolean()):
        raise PairscoreError(
            f"the context {name!r} is {_kind(frame, name)}; make it numbers: the value of left"
            " minus that of right."
        )
    values = np.asarray(column_of(frame, name).to_numpy(), dtype=float)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise bad_entries(
            f"the context {name!r} is missing or infinite in {plural(len(bad), 'row')}",
            "fill these in or remove the rows",
            {name: (bad, values[bad].tolist())},
            "missing or not finite",
        )
    return values


# -- winners ---------------------------------------------------------------------------------------


def words_that_are_ids(side_names: tuple[str, str], items: Items) -> set[str]:
    """Words for sides and ties, in lower case, by which items are called too."""
    words = {*OUTCOME_OF_WORD, *(name.strip().casefold() for name in side_names)}
    if items.ids is None or items.ids.dtype.kind in "iu":
        numbers = [word for word in words if word.isdecimal()]
        found = items.find_rows_by_text(np.array(numbers, dtype=object)) if numbers else ()
        return {word for word, row in zip(numbers, found, strict=True) if row >= 0}
    return words.intersection(map(str.casefold, map(str.strip, map(str, items.ids.tolist()))))


def word_outcomes(
    entries: Iterable[Any],
    side_names: tuple[str, str],
    ids: Collection[str],
    codes: Mapping[Any, int] | None = None,
) -> dict[Any, int]:
    """The outcome of those entries of winners that are words, names of sides, or codes.

    An entry that could be two of these is asked for, and so is one that is an item too, by ``ids``
    of :func:`words_that_are_ids`.
    """
    codes = codes or {}
    of_column = {side_names[0]: 1, side_names[1]: -1}
    words: dict[Any, int] = {}
    unclear = []
    for entry in (e for e in entries if isinstance(e, str) and e not in codes):
        plain = OUTCOME_OF_WORD.get(entry.strip().casefold())
        side = of_column.get(entry)
        if plain is None and side is None:
            continue
        if plain is not None and side is not None and plain != side:
            unclear.append(entry)
        outcome = side if plain is None else plain
        if outcome is not None:
            words[entry] = outcome
    clash = sorted(entry for entry in words if entry.strip().casefold() in ids)
    if clash:
        raise PairscoreError(
            f"{plural(len(clash), 'item', verb='is')} called {first_few(map(repr, clash))}, which"
            " also says a side or a tie in the column of winners",
            ["rename " + ("it" if len(clash) == 1 else "them"), _meant(clash)],
        )
    if unclear:
        raise PairscoreError(
            f"{first_few(map(repr, unclear))} in the column of winners is the name of the column of"
            " one side and the word for the other",
            ["rename the columns", _meant(unclear)],
        )
    return words | dict(codes)


def _meant(entries: Collection[Any]) -> Text:
    """What to say where entries of winners could mean two things."""
    return "say left, right, tie or id (of an item) in place of each question mark in " + Setting(
        "winner_codes", dict.fromkeys(entries, "?")
    )


class CodesUnclearError(PairscoreError):
    """The meaning of ``codes`` of winners is asked for; ``?`` stands for an unknown one."""

    def __init__(self, problem: Piece, remedy: Piece, codes: Mapping[Any, str]):
        super().__init__(problem, remedy)
        self.codes = dict(codes)


@dataclass(frozen=True)
class WhoWon:
    """A column that says who won, or who lost, and what its entries mean.

    Parameters
    ----------
    column : Column
    role : {"winner", "loser"}
    side_names : two names
        Of the columns of left and right, by which a side may be told.
    codes : dict
        The outcome of entries whose meaning was given, of :func:`check_codes`.
    items : Items
    """

    column: Column
    role: str
    side_names: tuple[str, str]
    codes: dict[Any, int]
    items: Items

    @cached_property
    def _entries(self) -> list[Any]:
        entries: list[Any] = distinct(self.column).tolist()
        return entries

    @cached_property
    def _words(self) -> dict[Any, int]:
        ids = words_that_are_ids(self.side_names, self.items)
        return word_outcomes(self._entries, self.side_names, ids, self.codes)

    def outcome(
        self, left: np.ndarray, right: np.ndarray, tied: np.ndarray | None, lookup: Lookup
    ) -> np.ndarray:
        """+1 where the left item won, -1 where the right one did, 0 for a tie; or SKIPPED."""
        words, column = self._words, self.column
        outcome = column.map(lambda names: outcomes_of_words(words, names, NO_OUTCOME))
        if None in self.codes:
            outcome[column.is_missing()] = self.codes[None]
        by_id = np.flatnonzero(outcome == NO_OUTCOME)
        bad = by_id
        if len(by_id):
            named = column.take(by_id).map(lookup)
            outcome[by_id[named == right[by_id]]] = -1
            outcome[by_id[named == left[by_id]]] = 1
            bad = np.flatnonzero(outcome == NO_OUTCOME)
        if tied is not None:
            outcome[bad[tied[bad] & column.take(bad).is_missing()]] = 0
            bad = np.flatnonzero(outcome == NO_OUTCOME)
            _refuse_other_ties(column, outcome, tied)
        if len(bad):
            self._refuse_neither(bad)
        if self.role == "loser":
            outcome = np.where(outcome == SKIPPED, outcome, -outcome)
        return outcome

    def _refuse_neither(self, bad: np.ndarray) -> None:
        """Refuse entries that are no side, no tie and no code: many of them in one sentence."""
        entries = self.column.take(bad).to_numpy().tolist()
        self._refuse_codes(entries)
        first, second = self.side_names
        raise bad_entries(
            f"the {self.role} is neither side in {plural(len(bad), 'comparison')}",
            [
                f"write {first!r}, {second!r}, 'tie' or the {self.role}'s own id",
                "say what these mean with " + Setting("winner_codes"),
            ],
            {self.role: (bad, entries)},
            "neither side, nor a tie",
        )

    def _refuse_codes(self, entries: list[Any]) -> None:
        """Refuse many winners that are a few codes in one sentence, which says how to name them."""
        if len(entries) <= MANY_ROWS or not all(map(is_hashable, entries)):
            return
        counts = Counter(None if is_missing(entry) else entry for entry in entries)
        if len(counts) > MOST_CODES:
            return
        shown = (("blank" if e is None else repr(e), n) for e, n in counts.most_common())
        found = first_few((f"{entry} ({n})" for entry, n in shown), MOST_CODES)
        codes = unexplained_codes(sorted(counts, key=str), self.codes)
        verb = "won" if self.role == "winner" else "lost"
        raise CodesUnclearError(
            f"the {self.role} is neither side in {len(entries)} of"
            f" {plural(len(self.column), 'comparison')}: {found}",
            f"say for each which side {verb} (left, right, tie, or skip to leave its rows out), in"
            " place of each question mark in " + Setting("winner_codes", codes),
            codes,
        )

    def refuse_possible_codes(self) -> None:
        """Refuse winners by id if all these ids could be codes as well."""
        refuse_possible_codes(self._entries, self._words)


def may_be_codes(entries: Collection[Any], words: Mapping[Any, int]) -> list[Any]:
    """Entries of winners that are ids of items, if each could be a code as well.

    These are few, and a single sign each: 1 and 2, A and B, or 0 for a tie next to left and right.
    """
    by_id = [entry for entry in entries if entry not in words]
    if len(by_id) > FEW_CODES:
        return []
    are_short = all(re.fullmatch(r"-?.", plain_id(entry)) for entry in by_id)
    return by_id if are_short else []


def refuse_possible_codes(entries: Collection[Any], words: Mapping[Any, int]) -> None:
    """Refuse winners by id of which each could be a code as well; ``words`` are no ids."""
    unclear = may_be_codes(entries, words)
    if unclear:
        shown = " or ".join(map(repr, unclear))
        raise PairscoreError(
            f"winners are told by {shown}, which may be ids of items or codes for sides and ties",
            "if they are ids, say so with "
            + Setting("winner_codes", dict.fromkeys(unclear, "id"))
            + ", and if they are codes, say left, right or tie there in place of id",
        )


def outcomes_of_words(words: dict[Any, int], names: np.ndarray, unknown: int) -> np.ndarray:
    """The outcome (n,) that each name of a winner means by itself; ``unknown`` if it is no word."""
    if names.dtype.kind != "U":
        return look_up(words, names.tolist(), unknown).astype(np.int8)
    outcome = np.full(len(names), unknown, dtype=np.int8)
    for word, number in words.items():  # few, and an array of text knows where each of them is
        if isinstance(word, str):
            np.copyto(outcome, np.int8(number), where=names == word)
        if np.all(outcome != unknown):
            break
    return outcome


def _refuse_other_ties(winner: Column, outcome: np.ndarray, tied: np.ndarray) -> None:
    bad = np.flatnonzero((outcome != NO_OUTCOME) & ((outcome == 0) != tied))
    if len(bad):
        entries, why = winner.take(bad).to_numpy().tolist(), "contradicts the column 'tie'"
        what = f"the column 'tie' contradicts the winner in {plural(len(bad), 'row')}"
        remedy = "correct one of the two in these rows, or rename the column 'tie'"
        raise bad_entries(what, remedy, {"winner": (bad, entries)}, why)


# -- codes of winners ------------------------------------------------------------------------------


def check_codes(codes: Mapping[Any, str] | None) -> dict[Any, int]:
    """The outcome that each code of a winner stands for; a number and its text are the same."""
    outcomes = OUTCOME_OF_MEANING
    unknown = [meaning for meaning in (codes or {}).values() if meaning not in outcomes]
    if unknown:
        raise PairscoreError(
            Setting("winner_codes") + f" has the meaning {unknown[0]!r}; a code means"
            f" {first_few(map(repr, WINNER_MEANINGS))}."
        )
    checked: dict[Any, int] = {}
    for code, meaning in (codes or {}).items():
        if is_missing(code) or code == "":
            checked[None] = outcomes[meaning]
        if is_missing(code):  # which has no text
            continue
        checked[code] = outcomes[meaning]
        text = str(code).strip()
        checked[text] = outcomes[meaning]
        if re.fullmatch("0|-?[1-9][0-9]*", text):
            checked[int(text)] = outcomes[meaning]
    return checked


def unexplained_codes(entries: Iterable[Any], known: Mapping[Any, int]) -> dict[Any, str]:
    """Codes of winners as a setting, with ``?`` for those whose meaning has to be given.

    Those that are ``known`` (from :func:`check_codes`) stay as they are.

    >>> unexplained_codes(["gleich", None, "A"], {"gleich": 0})
    {'gleich': 'tie', None: 'skip', 'A': '?'}
    """
    meaning = {outcome: word for word, outcome in OUTCOME_OF_MEANING.items()}
    codes = {code: meaning[of] for code, of in known.items() if isinstance(code, str) and code}
    for entry in entries:
        codes.setdefault(entry, "skip" if entry is None else "?")
    return codes


def items_of_votes(votes: Any) -> Items:
    """The items that are compared, without features, in the order of their ids.

    Of votes by row number (an integer array, winner first): all rows up to the last.
    """
    frame = None if isinstance(votes, Votes) else as_frame(votes)
    if frame is None:
        by_row = isinstance(votes, Votes)
        rows = (
            np.append(votes.left, votes.right) if by_row else to_array(votes, "the comparisons are")
        )
        n = 1 + int(rows.max()) if rows.dtype.kind in "iu" and rows.size else 0
        return Items(np.empty((n, 0)), (), np.arange(n))
    columns = [column_of(frame, name).values for name in compared_in(frame.columns) or ()]
    columns = [(np.unique(c) if c.dtype.kind in "iu" else c).tolist() for c in columns]
    seen = {name for name in set().union(*columns) if not blank(name)}
    numeric = all(isinstance(name, int) for name in seen)
    ids = np.array(sorted(seen, key=None if numeric else str))
    return Items(np.empty((len(ids), 0)), (), ids, backend_of(frame))
