"""Comparisons: the one door for data, and the X of scikit-learn (one row = one comparison)."""

from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from pairscore.choices import SELF_PAIRS
from pairscore.data.feature_options import fill_missing
from pairscore.data.items import Items, read_items
from pairscore.data.tables import to_array
from pairscore.data.votes import PER_ROW, Votes, checked_amounts, read_votes
from pairscore.errors import PairscoreError, first_rows, plural


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairs of items with outcomes; slices share the item table.

    Parameters
    ----------
    items
        The item table; an array or dataframe is read as in :meth:`from_frames`.
    left, right
        Row numbers of the compared items.
    outcome
        +1 where left won, -1 where right won, 0 for a tie.
    weight, count, judge
        Optional: importance, how many equal comparisons a row stands for, who judged.
    sides_known
        False when the votes only said winner and loser, so left and right mean nothing.
    seed
        Of the coin that gave out the sides in that case.
    covariance_items
        Rows whose covariance ``method="split"`` takes; None means the items of no comparison.
    context
        Numbers that belong to a comparison and not to an item (home, rest days): of left minus of
        right, by name.
    """

    items: Items
    left: np.ndarray
    right: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray | None = None
    count: np.ndarray | None = None
    judge: np.ndarray | None = None
    sides_known: bool = True
    seed: int | None = None
    covariance_items: np.ndarray | None = None
    context: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {
            name: to_array(column, f"{name} is")
            for name in PER_ROW
            if (column := getattr(self, name)) is not None
        }
        shapes = {column.shape for column in (*columns.values(), *self.context.values())}
        if len(shapes) > 1 or len(shapes.pop()) != 1:
            shown = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
            raise PairscoreError(
                f"the columns of comparisons differ in shape ({shown}); give one entry for each"
                " comparison."
            )
        if not isinstance(self.items, Items):  # straight from a user: nothing has been looked at
            columns["items"] = read_items(self.items)
            for side in ("left", "right"):
                _refuse_other_rows(columns[side], side, len(columns["items"]))
            columns["outcome"] = _checked_outcome(columns["outcome"])
            columns |= {
                name: checked_amounts(columns[name], name)
                for name in ("weight", "count")
                if name in columns
            }
        for name, column in columns.items():
            object.__setattr__(self, name, column)

    @classmethod
    def from_frames(
        cls,
        items: Any,
        votes: Any,
        *,
        covariance_items: Any = None,
        self_pairs: str = "error",
        seed: int = 0,
        context: Collection[str] = (),
        missing: str = "refuse",
    ) -> tuple["Comparisons", np.ndarray]:
        """Read an item table and votes; return ``X, y`` for scikit-learn.

        ``context`` names numeric columns of the votes to keep.

        ``missing`` is what happens to items with missing values: ``"refuse"``, ``"mean-with-flag"``
        or ``"item-effect"``.

        >>> X, y = Comparisons.from_frames([[0.0], [1.0], [3.0]], np.array([[1, 0], [2, 1]]))
        >>> X.shape
        (2, 1)
        """
        refuse_other_self_pairs(self_pairs)
        table = read_items(items) if missing == "refuse" else fill_missing(items, missing)
        read: Votes = read_votes(votes, table, self_pairs, seed, context)
        columns = {
            column.name: getattr(read, column.name)
            for column in fields(Votes)
            if column.name != "self_pairs"
        }
        if covariance_items is not None:
            columns["covariance_items"] = _item_rows(covariance_items, table)
        comparisons = cls(table, **columns)
        return comparisons, comparisons.outcome

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def shape(self) -> tuple[int, int]:
        """Comparisons by features, as scikit-learn sees it."""
        return len(self), self.items.values.shape[1]

    @property
    def ndim(self) -> int:
        """Two, as scikit-learn wants to know."""
        return 2

    def __repr__(self) -> str:
        return (
            f"Comparisons({plural(len(self), 'row')} of {plural(len(self.items), 'item')},"
            f" {plural(self.shape[1], 'feature')})"
        )

    def __getitem__(self, rows: Any) -> "Comparisons":
        """The comparisons of some rows (slice, mask, row numbers or one of them), with the same
        item table.
        """
        if isinstance(rows, int | np.integer):
            # IndexError beyond the last row, which also ends a loop over the rows
            rows = [range(len(self))[rows]]
        sliced = {
            name: column[rows] for name in PER_ROW if (column := getattr(self, name)) is not None
        }
        return replace(
            self, **sliced, context={name: column[rows] for name, column in self.context.items()}
        )

    @property
    def amount(self) -> np.ndarray:
        """How much each row counts: weight times count."""
        # takes no memory where every row counts once
        amount = np.broadcast_to(np.ones(1), len(self))
        for column in (self.weight, self.count):
            if column is not None:
                amount = amount * column
        return amount

    @property
    def pair(self) -> np.ndarray:
        """A number per unordered pair.

        ``GroupKFold`` with ``groups=X.pair`` keeps repeats together.
        """
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        return low * len(self.items) + high

    @cached_property
    def compared(self) -> np.ndarray:
        """Mask of the items that occur in some comparison."""
        seen = np.zeros(len(self.items), dtype=bool)
        seen[self.left] = seen[self.right] = True
        return seen

    def with_outcome(self, y: Any) -> "Comparisons":
        """The same comparisons with other outcomes (scikit-learn hands y over apart from X)."""
        y = to_array(y, "y is")
        if y.shape != (len(self),):
            raise PairscoreError(
                f"y has shape {y.shape} but there are {plural(len(self), 'comparison')}; give one"
                " outcome for each."
            )
        y = _checked_outcome(y)
        if np.any(y == 0) and not np.any(y == -1) and np.any(self.outcome == -1):
            # cross_val_predict numbers the classes anew before it calls fit
            y = np.where(y == 0, -1, y)
            if not np.array_equal(y, self.outcome):
                raise PairscoreError(
                    "y has zeros and no -1, but zero is a tie here, and right has won comparisons;"
                    " write -1 where right won."
                )
        return replace(self, outcome=y)

    def with_items(self, items: Items) -> "Comparisons":
        """The same comparisons with other features of the same items."""
        return replace(self, items=items)

    def with_covariance_items(self, which: Any) -> "Comparisons":
        """The same comparisons with other items behind the covariance of ``split``.

        Ids, row numbers or a mask.
        """
        return replace(self, covariance_items=_item_rows(which, self.items))


def refuse_other_self_pairs(self_pairs: Any) -> None:
    """Comparisons of an item with itself are an error, or kept."""
    if not isinstance(self_pairs, str) or self_pairs not in SELF_PAIRS:
        raise PairscoreError(f"self_pairs is {self_pairs!r}; use 'error' or 'keep'.")


def _checked_outcome(y: np.ndarray) -> np.ndarray:
    """Outcomes -1, 0 and 1 as small integers."""
    # False would become a tie
    right = (
        [_is_outcome(value) for value in y.tolist()]
        if y.dtype == object
        else np.isin(y, (-1, 0, 1)) & (y.dtype != bool)
    )
    bad = np.flatnonzero(~np.asarray(right, dtype=bool))
    if len(bad):
        raise PairscoreError(
            f"{plural(len(bad), 'outcome')} {'is' if len(bad) == 1 else 'are'} none of -1, 0, 1:"
            f" {first_rows(bad, y[bad].tolist())}; write 1 where left won, -1 where right won, 0"
            " for a tie."
        )
    return y.astype(np.int8)


def _is_outcome(value: Any) -> bool:
    """Of an object that may be anything, and need not even be comparable."""
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and value in (-1, 0, 1)
    )


def _refuse_other_rows(rows: np.ndarray, side: str, n_items: int) -> None:
    if rows.dtype.kind not in "iu":
        raise PairscoreError(
            f"{side} has entries of type {rows.dtype}; give row numbers of the items, or read votes"
            " with Comparisons.from_frames."
        )
    bad = np.flatnonzero((rows < 0) | (rows >= n_items))
    if len(bad):
        raise PairscoreError(
            f"{plural(len(bad), 'comparison')} {'points' if len(bad) == 1 else 'point'} outside the"
            f" {n_items} items on the {side}: {first_rows(bad, rows[bad].tolist())}; row numbers go"
            f" from 0 to {n_items - 1}."
        )


def _item_rows(which: Any, items: Items) -> np.ndarray | None:
    """Row numbers from a mask, row numbers, or ids."""
    if which is None:
        return None
    which = to_array(which, "covariance_items is")
    if which.dtype == bool:
        if which.shape != (len(items),):
            raise PairscoreError(
                f"covariance_items is a mask of shape {which.shape} for"
                f" {plural(len(items), 'item')}; give one entry for each, or ids of items."
            )
        return np.flatnonzero(which)
    which = which.ravel()
    rows = items.find_rows(which)
    bad = np.flatnonzero(rows < 0)
    if len(bad):
        raise PairscoreError(
            f"covariance_items names {plural(len(bad), 'item')} that the item table does not have: "
            f"{first_rows(bad, which[bad].tolist())}; give ids of items or a mask."
        )
    if np.bincount(rows, minlength=1).max() > 1:
        again = np.setdiff1d(np.arange(len(rows)), np.unique(rows, return_index=True)[1])
        raise PairscoreError(
            f"covariance_items repeats {plural(len(again), 'item')}:"
            f" {first_rows(again, which[again].tolist())}; name every item once."
        )
    return rows
