"""Votes as people keep them, turned into left, right, outcome.

Three layouts of columns are known, and an integer array with the winner's row number first:

    left, right, winner          winner is left, right, tie, or the winner's own id
    model_a, model_b, winner     winner is model_a, model_b, tie, or the winner's own id
    winner, loser                no sides: a seeded coin says who is written on the left

Optional columns: tie (0 or 1; a winner may be missing where it is 1, and else has to agree), weight
(importance), count (equal comparisons that a row stands for), judge, and columns of context by any
name.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.choices import LAYOUTS, NO_SIDES
from pairscore.data.conventions import (
    SKIPPED,
    blank,
    check_codes,
    context_of,
    flags_of,
    likely_codes,
    likely_layout,
    outcomes_of_words,
)
from pairscore.data.items import Items
from pairscore.data.tables import (
    Column,
    Columns,
    amounts_of,
    as_frame,
    column_of,
    is_hashable,
    is_missing,
    to_array,
)
from pairscore.display import first_few, first_rows, plural
from pairscore.errors import OtherCaseError, PairscoreError, bad_entries

BLOCK = 1 << 14  # comparisons at a time, which stay in the cache
TIE_WORDS = ("tie", "tie (bothbad)")
PER_ROW = ("left", "right", "outcome", "weight", "count", "judge")
OUTCOMES = (-1, 0, 1)
NO_OUTCOME = 2  # stands for a winner that is not known yet
MANY_ROWS = 20  # with more unclear winners, their values are counted and not listed
MOST_CODES = 12
Frame = nw.DataFrame | Columns
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
        amount = np.broadcast_to(np.ones(1), len(self))  # no memory where every row counts once
        for column in (self.weight, self.count):
            if column is not None:
                amount = amount * column
        return amount


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
        What entries of the column of winners mean: ``"left"``, ``"right"``, ``"tie"``, or
        ``"skip"`` for rows to leave out. The code None stands for a missing entry.
    side_names : two names or None
        What the columns of left and right are called in a file, which may explain codes.
    """
    codes = check_codes(winner_codes)
    if isinstance(votes, Votes):
        read = _check_rows(votes, items)
        self_pairs = "keep" if "keep" in (self_pairs, votes.self_pairs) else "error"
    elif (frame := as_frame(votes)) is None:
        read = _from_array(votes, items, seed)
    else:
        read = _from_frame(frame, items, seed, context, codes, side_names)
    if len(read) == 0:
        raise PairscoreError("there are no comparisons; give at least one row of votes.")
    if self_pairs != "keep" and len(same := np.flatnonzero(read.left == read.right)):
        names = [items.names[row] for row in read.left[same]]
        raise bad_entries(
            f"{plural(len(same), 'comparison', verb='is')} of an item with itself",
            "remove them" + ", or pass self_pairs='keep'" * (self_pairs == "error"),
            {"right": (same, names)},
            "an item with itself",
        )
    return read


def _from_array(votes: Any, items: Items, seed: int) -> Votes:
    pairs = to_array(votes, "the votes are")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise PairscoreError(
            f"the votes are an array of shape {pairs.shape} and type {pairs.dtype}; give an integer"
            " array of two columns, the winner's row number first, or a dataframe with columns"
            " left, right, winner or winner, loser."
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
            f"the columns of the votes have different lengths ({first_few(sorted(sizes))}); give"
            " one entry for each comparison."
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
            f"the votes take a covariance from rows {rest.min()} to {rest.max()}, but there are"
            f" {len(items)} items; fit them to the items they were made with."
        )
    if votes.item_groups is not None and len(votes.item_groups) != len(items):
        raise PairscoreError(
            f"the votes know the groups of {len(votes.item_groups)} items, but there are"
            f" {len(items)}; fit them to the items they were made with."
        )
    return votes


def _orient(
    winner: np.ndarray, loser: np.ndarray, seed: int, tied: Any = False, **columns: Any
) -> Votes:
    """Write each winner left or right by a seeded coin; else every outcome would be the same."""
    heads = np.random.default_rng(seed).integers(0, 2, len(winner), dtype=np.int8)
    left, right = np.empty((2, len(heads)), dtype=np.intp)
    for rows in (slice(first, first + BLOCK) for first in range(0, len(heads), BLOCK)):
        one, other = np.asarray(winner[rows], np.intp), np.asarray(loser[rows], np.intp)
        turned = (one ^ other) & (heads[rows] - 1).astype(np.intp)  # all bits where tails, or none
        left[rows], right[rows] = one ^ turned, other ^ turned
    outcome = np.where(tied, np.int8(0), 2 * heads - 1)
    return Votes(left, right, outcome, sides_known=False, seed=seed, **columns)


def _from_frame(
    frame: Frame,
    items: Items,
    seed: int,
    context: Collection[str],
    codes: dict[Any, int],
    side_names: tuple[str, str] | None,
) -> Votes:
    extra: dict[str, Any] = {
        "weight": amounts_of(frame, "weight"),
        "count": amounts_of(frame, "count"),
        "judge": column_of(frame, "judge").to_numpy() if "judge" in frame.columns else None,
        "context": {name: context_of(frame, name) for name in context},
    }
    sides = layout_of(frame.columns)
    if sides == NO_SIDES and context:
        raise PairscoreError(
            f"the context {first_few(map(repr, context))} needs votes with a left and a right"
            " side; these only say winner and loser."
        )
    if sides == NO_SIDES and codes:
        raise PairscoreError(
            "winner_codes= says which side won, and these votes only name winner and loser; leave"
            " it out."
        )
    rows = _rows(frame, sides, items)
    if sides == NO_SIDES:
        tied = _tied(frame)
        return _orient(*rows, seed, False if tied is None else tied, **extra)
    winner, tied = column_of(frame, "winner"), None if "tie" in context else _tied(frame, True)
    lookup = _lookup(frame, items)
    outcome = _outcome(winner, *rows, sides, items, lookup, tied, codes, side_names or sides)
    votes = Votes(*rows, outcome, **extra)
    return votes[outcome != SKIPPED] if SKIPPED in codes.values() else votes


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


def layout_of(names: Collection[str]) -> tuple[str, str]:
    """The two columns that say who was compared: those of the first layout that is there."""
    layouts = (*LAYOUTS, NO_SIDES)
    if found := [sides for sides in layouts if {*sides, "winner"} <= set(names)]:
        return found[0]
    needed = "; or ".join(", ".join(dict.fromkeys((*sides, "winner"))) for sides in layouts)
    raise PairscoreError(
        f"the votes have columns {first_few(map(repr, names), 8)}; they need"
        f" {needed}.{likely_layout(names)}"
    )


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


def refuse_other_case(entries: Sequence[Any], items: Items) -> None:
    """Refuse entries that would all name an item if case did not matter, in one sentence."""
    if items.ids is None or not all(isinstance(entry, str) for entry in entries):
        return
    found = {entry: items.rows_of_fold.get(entry.casefold(), []) for entry in entries}
    if any(len(rows) != 1 for rows in found.values()):
        return
    ids = items.ids.tolist()
    if any(str(ids[row]) == entry for entry, (row,) in found.items()):
        return  # a number and its text differ in more than case
    shown = first_few([f"{entry!r} for {ids[row]!r}" for entry, (row,) in found.items()], 3)
    number = len(entries)
    raise OtherCaseError(
        f"{number:,} {'entry' if number == 1 else 'entries'} of the votes"
        f" {'differs' if number == 1 else 'differ'} from the ids of the items only in case"
        f" ({shown}); write the ids alike in both tables."
    )


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
        refuse_other_case(entries, items)
        what = "no item" if is_blank else "unknown item"
        raise bad_entries(
            f"{plural(len(bad), 'comparison')} in column {column!r}"
            f" {'names' if len(bad) == 1 else 'name'} {'' if is_blank else 'an '}{what}",
            _remedy(items, is_blank),
            unknown,
            what,
        )
    return rows[columns[0]], rows[columns[1]]


def _outcome(
    winner: Column,
    left: np.ndarray,
    right: np.ndarray,
    sides: tuple[str, str],
    items: Items,
    lookup: Lookup,
    tied: np.ndarray | None,
    codes: dict[Any, int],
    side_names: tuple[str, str],
) -> np.ndarray:
    """+1 where the left item won, -1 where the right one did, 0 for a tie; or SKIPPED."""
    words = {sides[0]: 1, sides[1]: -1, "left": 1, "right": -1, **dict.fromkeys(TIE_WORDS, 0)}
    refuse_items_called(words, items)
    words |= codes
    outcome = winner.map(lambda names: outcomes_of_words(words, names, NO_OUTCOME))
    if None in codes:
        outcome[winner.is_missing()] = codes[None]
    unclear = np.flatnonzero(outcome == NO_OUTCOME)
    won = winner.take(unclear).map(lookup)
    outcome[unclear[won == right[unclear]]] = -1
    outcome[unclear[won == left[unclear]]] = 1
    bad = np.flatnonzero(outcome == NO_OUTCOME)
    if tied is not None:
        outcome[bad[tied[bad] & winner.take(bad).is_missing()]] = 0
        bad = np.flatnonzero(outcome == NO_OUTCOME)
        _refuse_other_ties(winner, outcome, tied)
    if len(bad):
        _refuse_codes(winner, bad, codes, side_names)
        raise bad_entries(
            f"the winner is neither side in {plural(len(bad), 'comparison')}",
            f"write {sides[0]!r}, {sides[1]!r}, 'tie' or the winner's own id, or say what these"
            " mean with winner_codes=",
            {"winner": (bad, winner.take(bad).to_numpy().tolist())},
            "neither side, nor a tie",
        )
    return outcome


def _refuse_codes(
    winner: Column, bad: np.ndarray, codes: dict[Any, int], side_names: tuple[str, str]
) -> None:
    """Refuse many winners that are a few codes in one sentence, which says how to name them."""
    entries = winner.take(bad).to_numpy().tolist()
    if len(bad) <= MANY_ROWS or not all(map(is_hashable, entries)):
        return
    counts = Counter(None if is_missing(entry) else entry for entry in entries)
    if len(counts) > MOST_CODES:
        return
    shown = (("blank" if e is None else repr(e), n) for e, n in counts.most_common())
    found = first_few((f"{entry} ({n})" for entry, n in shown), MOST_CODES)
    raise PairscoreError(
        f"the winner is neither side in {len(bad)} of {plural(len(winner), 'comparison')}:"
        f" {found}; say what each means (left, right, tie, or skip to leave its rows out),"
        f" perhaps winner_codes={likely_codes(counts, codes, side_names)!r}."
    )


def _refuse_other_ties(winner: Column, outcome: np.ndarray, tied: np.ndarray) -> None:
    bad = np.flatnonzero((outcome != NO_OUTCOME) & ((outcome == 0) != tied))
    if len(bad):
        entries, why = winner.take(bad).to_numpy().tolist(), "contradicts the column 'tie'"
        what = f"the column 'tie' contradicts the winner in {plural(len(bad), 'row')}"
        remedy = "correct one of the two in these rows, or rename the column 'tie'"
        raise bad_entries(what, remedy, {"winner": (bad, entries)}, why)


def refuse_items_called(words: Collection[str], items: Items) -> None:
    """An item may not have the name of a side or a tie."""
    if clash := sorted(set(words) & set(map(str, items.row_of))):
        raise PairscoreError(
            f"{plural(len(clash), 'item', verb='is')} called {first_few(map(repr, clash))}, which"
            " also names a side or a tie in column 'winner'; rename them."
        )
