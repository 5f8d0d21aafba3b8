"""Votes as people keep them, turned into left, right, outcome.

Three layouts of columns are known, and an integer array with the winner's row number first:

    left, right, winner          winner is left, right, tie, or the winner's own id
    model_a, model_b, winner     winner is model_a, model_b, tie, or the winner's own id
    winner, loser                no sides: a seeded coin says who is written on the left
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from pairscore.data.items import Items
from pairscore.data.tables import Column, Columns, as_frame, column_of, look_up, to_array
from pairscore.errors import BadEntriesError, PairscoreError, closest, first_few, first_rows, plural

LAYOUTS = (("left", "right"), ("model_a", "model_b"))
NO_SIDES = ("winner", "loser")
TIE_WORDS = ("tie", "tie (bothbad)")
PER_ROW = ("left", "right", "outcome", "weight", "count", "judge")
Lookup = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Votes:
    """One row per comparison: row numbers of the two items and the outcome from the left's view.

    ``seed`` is that of the coin that gave out the sides, where the votes had none. Votes that say
    ``self_pairs="keep"`` and name the rows behind the covariance of ``split``
    (``covariance_items``), as those of ``Population.draw`` do, can be fitted without saying so
    again.
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
    context: dict[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        parts = [
            f"{plural(len(self), 'comparison')} of"
            f" {plural(len(np.union1d(self.left, self.right)), 'item')}"
        ]
        same = int(np.count_nonzero(self.left == self.right))
        parts += [f"{same} of an item with itself"] if same else []
        parts += [plural(len(np.unique(self.judge)), "judge")] if self.judge is not None else []
        parts += (
            [f"covariance from {plural(len(self.covariance_items), 'item')}"]
            if self.covariance_items is not None
            else []
        )
        return f"Votes({', '.join(parts)})"


def read_votes(
    votes: Any,
    items: Items,
    self_pairs: str = "error",
    seed: int = 0,
    context: Collection[str] = (),
) -> Votes:
    """Check votes once, at the door, against the items they speak of.

    ``context`` names numeric columns to keep.
    """
    if isinstance(votes, Votes):
        read, self_pairs = (
            _checked(votes, items),
            "keep" if "keep" in (self_pairs, votes.self_pairs) else "error",
        )
    else:
        frame = as_frame(votes)
        read = (
            _from_array(votes, items, seed)
            if frame is None
            else _from_frame(frame, items, seed, context)
        )
    if len(read.outcome) == 0:
        raise PairscoreError("there are no comparisons; give at least one row of votes.")
    same = np.flatnonzero(read.left == read.right)
    if len(same) and self_pairs != "keep":
        names = [items.names[row] for row in read.left[same]]
        raise BadEntriesError(
            f"{plural(len(same), 'comparison')} {'is' if len(same) == 1 else 'are'} of an item with"
            f" itself: {first_rows(same, names)}",
            "remove them, or pass self_pairs='keep'",
            "votes",
            [(int(row), "right", name) for row, name in zip(same, names, strict=True)],
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
    _refuse_rows_outside((pairs[:, 0], pairs[:, 1]), items)
    return _oriented(pairs[:, 0], pairs[:, 1], seed)


def _refuse_rows_outside(sides: tuple[np.ndarray, np.ndarray], items: Items) -> None:
    if not all(0 <= rows.min() <= rows.max() < len(items) for rows in sides if len(rows)):
        pairs = np.column_stack(sides)
        bad = np.flatnonzero(((pairs < 0) | (pairs >= len(items))).any(axis=1))
        raise PairscoreError(
            f"{plural(len(bad), 'comparison')} {'points' if len(bad) == 1 else 'point'} outside the"
            f" {len(items)} items: {first_rows(bad, pairs[bad].tolist())}; row numbers go from 0 to"
            f" {len(items) - 1}."
        )


def _checked(votes: Votes, items: Items) -> Votes:
    """Votes that are read already, against the items they are now used with."""
    sizes = {len(column) for name in PER_ROW if (column := getattr(votes, name)) is not None}
    if len(sizes) > 1:
        raise PairscoreError(
            f"the columns of the votes have different lengths ({first_few(sorted(sizes))}); give"
            " one entry for each comparison."
        )
    bad = np.flatnonzero(~np.isin(votes.outcome, (-1, 0, 1)))
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
            f" {len(items)} items; fit them with their own items."
        )
    return votes


def _oriented(winner: np.ndarray, loser: np.ndarray, seed: int, **columns: Any) -> Votes:
    """Write each winner left or right by a seeded coin.

    Otherwise every outcome would be the same.
    """
    heads = np.random.default_rng(seed).integers(0, 2, len(winner), dtype=np.int8)
    left, right = np.where(heads, winner, loser), np.where(heads, loser, winner)
    return Votes(
        left.astype(np.intp, copy=False),
        right.astype(np.intp, copy=False),
        2 * heads - 1,
        sides_known=False,
        seed=seed,
        **columns,
    )


def _from_frame(
    frame: nw.DataFrame | Columns, items: Items, seed: int, context: Collection[str] = ()
) -> Votes:
    names = set(frame.columns)
    extra: dict[str, Any] = {
        "weight": _amounts(frame, "weight"),
        "count": _amounts(frame, "count"),
        "judge": column_of(frame, "judge").to_numpy() if "judge" in names else None,
        "context": {name: _context(frame, name) for name in context},
    }
    sides = layout_of(frame.columns)
    if sides == NO_SIDES:
        if context:
            raise PairscoreError(
                f"the context {first_few(map(repr, context))} needs votes with a left and a right"
                " side; these only say winner and loser."
            )
        return _oriented(*_rows(frame, sides, items), seed, **extra)
    rows = _rows(frame, sides, items)
    return Votes(
        *rows,
        _outcome(column_of(frame, "winner"), *rows, sides, items, _lookup(frame, items)),
        **extra,
    )


def layout_of(names: Collection[str]) -> tuple[str, str]:
    """The two columns that say who was compared: those of the first layout that is there."""
    for sides in (*LAYOUTS, NO_SIDES):
        if {*sides, "winner"} <= set(names):
            return sides
    needed = "; or ".join(
        ", ".join(dict.fromkeys((*sides, "winner"))) for sides in (*LAYOUTS, NO_SIDES)
    )
    raise PairscoreError(
        f"the votes have columns {first_few(map(repr, names), 8)}; they need"
        f" {needed}.{_layout_meant(names)}"
    )


def _layout_meant(names: Collection[str]) -> str:
    """The first layout whose columns have names like these, as a question."""
    for sides in (*LAYOUTS, NO_SIDES):
        found = {
            role: role if role in names else closest(role, names) for role in (*sides, "winner")
        }
        if None not in found.values():
            return (
                " Did you mean"
                f" {', '.join(f'{name!r} as {role}' for role, name in found.items() if name != role)}?"
            )
    return ""


def _context(frame: nw.DataFrame | Columns, name: str) -> np.ndarray:
    """A numeric column of the votes: of left minus of right."""
    if name not in frame.columns:
        raise PairscoreError(
            f"the votes have no column {name!r} for the context; they have"
            f" {first_few(map(repr, frame.columns), 8)}."
        )
    if not (frame.schema[name].is_numeric() or frame.schema[name] == nw.Boolean()):
        raise PairscoreError(
            f"the context {name!r} is not numeric ({frame.schema[name]}); make it numbers: of left"
            " minus of right."
        )
    values = np.asarray(column_of(frame, name).to_numpy(), dtype=float)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise BadEntriesError(
            f"the context {name!r} is missing or infinite in {plural(len(bad), 'row')}:"
            f" {first_rows(bad, values[bad].tolist())}",
            "fill these in or remove the rows",
            "votes",
            [(int(row), name, value) for row, value in zip(bad, values[bad].tolist(), strict=True)],
            "missing or not finite",
        )
    return values


def _amounts(frame: nw.DataFrame | Columns, name: str) -> np.ndarray | None:
    """A column of weights or counts: finite and not negative."""
    if name not in frame.columns:
        return None
    if not frame.schema[name].is_numeric():
        raise PairscoreError(
            f"the column {name!r} of the votes is not numeric ({frame.schema[name]}); make it"
            " numbers or drop it."
        )
    return checked_amounts(column_of(frame, name).to_numpy(), name)


def checked_amounts(values: Any, name: str) -> np.ndarray:
    """Finite, non-negative numbers, at least one of them positive; counts are whole."""
    values = np.asarray(values, dtype=float)
    fault = ~np.isfinite(values) | (values < 0)
    what = "negative or not finite"
    if name == "count" and not fault.any():
        fault, what = values != np.floor(values), "no whole number"
    bad = np.flatnonzero(fault)
    if len(bad):
        raise BadEntriesError(
            f"the {name} is {what} in {plural(len(bad), 'row')}:"
            f" {first_rows(bad, values[bad].tolist())}",
            "correct or remove them",
            "votes",
            [(int(row), name, value) for row, value in zip(bad, values[bad].tolist(), strict=True)],
            what,
        )
    if len(values) and not values.any():
        raise PairscoreError(
            f"every {name} is zero, so no comparison counts; give at least one positive {name}."
        )
    return values


def _lookup(frame: nw.DataFrame | Columns, items: Items) -> Lookup:
    """How names are found: exactly, or as they are written where both tables come from files."""
    return (
        items.find_rows_by_text
        if isinstance(frame, Columns) and frame.from_file and items.backend is Columns
        else items.find_rows
    )


def _rows(
    frame: nw.DataFrame | Columns, columns: tuple[str, str], items: Items
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the items that two columns name."""
    names = {column: column_of(frame, column) for column in columns}
    rows = {column: names[column].map(_lookup(frame, items)) for column in columns}
    bad = {column: places for column in columns if len(places := np.flatnonzero(rows[column] < 0))}
    if bad:
        unknown = {
            column: names[column].take(places).to_numpy().tolist() for column, places in bad.items()
        }
        known = (
            "row numbers, because the item table has no 'id' column"
            if items.ids is None
            else f"such as {first_few(map(repr, items.names), 3)}"
        )
        column, places = next(iter(bad.items()))
        raise BadEntriesError(
            f"{plural(len(places), 'comparison')} in column {column!r}"
            f" {'names' if len(places) == 1 else 'name'} an unknown item:"
            f" {first_rows(places, unknown[column])}",
            f"the item table has {plural(len(items), 'item')} ({known}): add the missing items or"
            " correct the ids",
            "votes",
            [
                (int(row), column, value)
                for column, places in bad.items()
                for row, value in zip(places, unknown[column], strict=True)
            ],
            "unknown item",
        )
    return rows[columns[0]], rows[columns[1]]


def _outcome(
    winner: Column,
    left: np.ndarray,
    right: np.ndarray,
    sides: tuple[str, str],
    items: Items,
    lookup: Lookup,
) -> np.ndarray:
    """+1 where the left item won, -1 where the right one did, 0 for a tie."""
    words = {sides[0]: 1, sides[1]: -1, "left": 1, "right": -1, **dict.fromkeys(TIE_WORDS, 0)}
    clash = sorted(set(words) & set(map(str, items.row_of)))
    if clash:
        raise PairscoreError(
            f"{plural(len(clash), 'item')} {'is' if len(clash) == 1 else 'are'} called"
            f" {first_few(map(repr, clash))}, which also names a side or a tie in column 'winner';"
            " rename them."
        )
    outcome = winner.map(lambda names: look_up(words, names.tolist(), 2).astype(np.int8))
    open_rows = np.flatnonzero(outcome == 2)
    won = winner.take(open_rows).map(lookup)
    outcome[open_rows[won == right[open_rows]]] = -1
    outcome[open_rows[won == left[open_rows]]] = 1
    bad = np.flatnonzero(outcome == 2)
    if len(bad):
        values = winner.take(bad).to_numpy().tolist()
        raise BadEntriesError(
            f"the winner is neither side in {plural(len(bad), 'comparison')}:"
            f" {first_rows(bad, values)}",
            f"write {sides[0]!r}, {sides[1]!r}, 'tie' or the winner's own id",
            "votes",
            [(int(row), "winner", value) for row, value in zip(bad, values, strict=True)],
            "neither side, nor a tie",
        )
    return outcome
