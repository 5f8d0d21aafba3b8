"""Comparisons: items with the votes on them, the X of scikit-learn (one row = one comparison)."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from pairscore.choices import SELF_PAIRS
from pairscore.data.column_roles import check_names, rename_votes
from pairscore.data.find_ids import find_id_column, found_note, id_settings, names_in
from pairscore.data.folds import number_groups
from pairscore.data.items import Items, read_items, refuse_non_finite
from pairscore.data.recipe import Recipe, read_with_gaps, read_with_settings
from pairscore.data.tables import ID_COLUMN, Columns, as_frame, to_array
from pairscore.data.votes import (
    OUTCOMES,
    Votes,
    check_amounts,
    check_columns,
    items_of_votes,
    read_votes,
)
from pairscore.display import first_rows, plural
from pairscore.errors import PairscoreError, warn_caller
from pairscore.messages import Action, Setting

SAMPLED_ITEMS = 256  # of a fingerprint
HASHED_AT_ONCE = 1 << 16  # comparisons, which stay in the cache


def _of_votes(name: str) -> Any:
    return property(attrgetter(f"votes.{name}"))


class Comparisons:
    """Pairs of items with outcomes; slices share the item table.

    M comparisons of N items with d features take N x d numbers and a few columns of length M;
    differences of features (M x d) are never stored. scikit-learn's own classifiers and whatever
    else asks for an array (``np.asarray``) get them, left minus right.

    Parameters
    ----------
    items : Items, array of shape (N, d) or any dataframe
        The item table; an array or dataframe is read as in :meth:`from_frames`.
    left, right : array of shape (M,)
        Row numbers of the compared items.
    outcome : array of shape (M,)
        +1 where left won, -1 where right won, 0 for a tie.
    weight, count, judge, sides_known, seed, covariance_items, context
        As in :class:`~pairscore.data.votes.Votes`.

    Attributes
    ----------
    votes : Votes
        The columns; each is an attribute of the comparisons too.
    """

    is_table = False  # of items or votes, whatever it looks like as an array
    left, right = _of_votes("left"), _of_votes("right")
    weight, count, judge = _of_votes("weight"), _of_votes("count"), _of_votes("judge")
    sides_known, seed = _of_votes("sides_known"), _of_votes("seed")
    covariance_items, context = _of_votes("covariance_items"), _of_votes("context")
    item_groups = _of_votes("item_groups")
    amount, given_amount = _of_votes("amount"), _of_votes("given_amount")

    @property
    def outcome(self) -> np.ndarray:
        """Outcomes (M,): +1, 0, -1. Pairs that nobody has compared are refused here."""
        if not self.votes.has_outcomes:
            raise PairscoreError(
                "these pairs have no outcomes",
                "for anything but predictions give comparisons with winners",
            )
        return self.votes.outcome

    def __init__(
        self,
        items: Any,
        left: Any,
        right: Any,
        outcome: Any,
        weight: Any = None,
        count: Any = None,
        judge: Any = None,
        sides_known: bool = True,
        seed: int | None = None,
        covariance_items: Any = None,
        context: dict[str, Any] | None = None,
    ):
        votes = Votes(left, right, outcome, weight, count, judge, sides_known, seed)
        votes = replace(votes, covariance_items=covariance_items, context=context or {})
        votes = check_columns(votes)
        if not isinstance(items, Items):  # straight from a user: nothing has been looked at
            items = read_items(items)
            for side in ("left", "right"):
                _refuse_other_rows(getattr(votes, side), side, len(items))
            columns = votes.columns()
            amounts: dict[str, Any] = {n: columns[n] for n in ("weight", "count") if n in columns}
            amounts = {name: check_amounts(column, name) for name, column in amounts.items()}
            votes = replace(votes, outcome=_check_outcome(votes.outcome), **amounts)
        self.items: Items = items
        self.votes = votes

    @classmethod
    def of(cls, items: Items, votes: Votes) -> "Comparisons":
        """Items and votes that have been read and checked together."""
        comparisons = cls.__new__(cls)
        comparisons.items, comparisons.votes = items, votes
        return comparisons

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
        item_groups: Any = None,
        winner_codes: Mapping[Any, str] | None = None,
        **columns: Any,
    ) -> tuple["Comparisons", np.ndarray]:
        """Read an item table and votes; return ``X, y`` for scikit-learn.

        Parameters
        ----------
        items : array of shape (N, d) or any dataframe
            With a column ``id`` (or an index) and numeric features. Without these, ids are in the
            column that has those that the votes name, and a warning says which; where no column
            has them, items are known by row number. None: the items that the votes name, without
            features.
        votes : integer array of shape (M, 2), winner first, or any dataframe
            With columns left, right, winner; or winner, loser; see :mod:`pairscore.data.votes`.
        covariance_items : ids, row numbers or mask
            The items behind the covariance of ``method="split"``.
        self_pairs : {"error", "keep"}
            What to do with comparisons of an item with itself.
        seed : int
            Of the coin that writes winners left or right where votes have no sides.
        context : names
            Numeric columns of the votes to keep.
        missing : {"refuse", "drop-items", "mean-with-flag", "item-effect"}
            What happens to items with missing values; those that are dropped take their comparisons
            with them.
        item_groups : one label per item of the table, or dict from id to label
            As in :meth:`with_item_groups`.
        winner_codes : dict or None
            What entries of the column of winners mean, such as ``{"A": "left", "B": "right",
            "gleich": "tie"}``; ``"skip"`` leaves rows out, and ``"id"`` says that an entry is the
            id of an item where it could be a side as well.
        columns
            Names of columns, as on the command line. Of votes: ``left``, ``right``, ``winner``,
            ``loser``, ``judge``, ``weight``, ``count``. Of items: ``id``; ``features`` to use, or
            to ``exclude``; ``categorical`` ones, perhaps with a ``reference`` level; ``squares``,
            ``interactions`` and ``curves`` (or their knots, a dict) to add, and a ``smooth`` part
            of all numeric ones. New items then come under the same names.

        >>> X, y = Comparisons.from_frames([[0.0], [1.0], [3.0]], np.array([[1, 0], [2, 1]]))
        >>> X.shape
        (2, 1)
        """
        refuse_other_self_pairs(self_pairs)
        settings, roles = check_names(columns)
        votes, sides = rename_votes(votes, roles, context)
        recipe = None
        if items is None:
            if settings:
                raise PairscoreError(
                    Setting(next(iter(settings))) + " is about a table of items, and there is none",
                    ["leave it out", "give the table"],
                )
            table = items_of_votes(votes)
        else:
            if (id := _found_id(items, votes, settings)) is not None:
                settings["id"] = id
            if missing == "drop-items" and not isinstance(items, Items):
                recipe, table = read_with_gaps(items, **settings)
            else:
                table = read_with_settings(items, missing, **settings)
        read = read_votes(votes, table, self_pairs, seed, context, winner_codes, sides)
        comparisons = cls.of(table, read)
        if covariance_items is not None:
            comparisons = comparisons.with_covariance_items(covariance_items)
        if item_groups is not None:
            comparisons = comparisons.with_item_groups(item_groups)
        if recipe is not None:
            kept = without_incomplete_items(recipe, comparisons.items, comparisons.votes)
            comparisons = cls.of(replace(kept[0], recipe=kept[2].to_record()), kept[1])
        return comparisons, comparisons.outcome

    @classmethod
    def from_pairs(
        cls, items: Any, left: Any, right: Any, *, judge: Any = None, **context: Any
    ) -> "Comparisons":
        """Pairs to predict: ids of both sides, or row numbers where items have no ids.

        ``items`` is a table, or what ``model.items(table)`` makes of one, or ``model.items()`` for
        those of the fit. ``judge`` says who would compare them, and columns of ``context`` under
        which circumstances. They have no outcomes, and what needs some refuses them.

        >>> len(Comparisons.from_pairs([[0.0], [1.0], [3.0]], [0, 1], [2, 2]))
        2
        """
        as_if_left_won = {"winner": ["left"] * len(left), "judge": judge}
        columns = {"left": left, "right": right, **as_if_left_won, **context}
        votes = {name: column for name, column in columns.items() if column is not None}
        codes = {"left": "left"}  # also where an item is called so
        pairs = cls.from_frames(items, votes, context=[*context], winner_codes=codes)[0]
        return cls.of(pairs.items, replace(pairs.votes, has_outcomes=False))

    def __len__(self) -> int:
        return len(self.votes)

    @property
    def shape(self) -> tuple[int, int]:
        """Comparisons by features, as scikit-learn sees it."""
        return len(self), self.items.values.shape[1]

    @property
    def ndim(self) -> int:
        """Two, as scikit-learn wants to know."""
        return 2

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Differences of features, left minus right (M x d), for those who know no comparisons."""
        if copy is False:
            raise ValueError("differences of features are made when asked for: no view of them")
        differences = self.items.values[self.left]
        differences -= self.items.values[self.right]
        return differences if dtype is None else differences.astype(dtype, copy=False)

    def __repr__(self) -> str:
        rows, items = plural(len(self), "row"), plural(len(self.items), "item")
        return f"Comparisons({rows} of {items}, {plural(self.shape[1], 'feature')})"

    def __getitem__(self, rows: Any) -> "Comparisons":
        """Some of the comparisons, with the same item table.

        ``rows`` is a slice, a mask, row numbers or one of them.
        """
        if isinstance(rows, int | np.integer):
            # IndexError beyond the last row, which also ends a loop over the rows
            rows = [range(len(self))[rows]]
        return self.of(self.items, self.votes[rows])

    @property
    def pair(self) -> np.ndarray:
        """A number per unordered pair, shape (M,).

        ``GroupKFold`` with ``groups=X.pair`` keeps repeats together.
        """
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        return low.astype(np.int64) * len(self.items) + high

    @cached_property
    def compared(self) -> np.ndarray:
        """Mask of the items that occur in some comparison, shape (N,)."""
        mask = np.zeros(len(self.items), dtype=bool)
        mask[self.left] = mask[self.right] = True
        return mask

    @property
    def never_differs(self) -> np.ndarray:
        """Mask of the features that are equal in any two items that met, shape (d,)."""
        X, few = self.items.values, slice(0, 100)
        never = ~np.any(X[self.left[few]] != X[self.right[few]], axis=0)
        for column in np.flatnonzero(never):
            never[column] = np.array_equal(X[self.left, column], X[self.right, column])
        return never

    def with_outcome(self, y: Any) -> "Comparisons":
        """The same comparisons with other outcomes (scikit-learn hands y over apart from X)."""
        y = to_array(y, "y is")
        if y.shape != (len(self),):
            raise PairscoreError(
                f"y has shape {y.shape} but there are {plural(len(self), 'comparison')}; give one"
                " outcome for each."
            )
        known = self.votes.has_outcomes
        if known and self.is_renumbered(y):
            return self
        y = _check_outcome(y)
        if known and np.any(y == 0) and not np.any(y == -1) and np.any(self.outcome == -1):
            raise PairscoreError(
                "y has zeros and no -1, but zero is a tie here, and right has won comparisons;"
                " write -1 where right won."
            )
        return self.of(self.items, replace(self.votes, outcome=y, has_outcomes=True))

    def is_renumbered(self, y: np.ndarray) -> bool:
        """Whether y has these outcomes with the classes numbered from 0.

        ``cross_val_predict`` numbers the classes anew before it calls fit.
        """
        if y.dtype.kind not in "iuf" or np.array_equal(y, self.outcome):
            return False
        codes = (self.outcome + 1, np.searchsorted(np.unique(self.outcome), self.outcome))
        return any(np.array_equal(y, code) for code in codes)

    def with_items(self, items: Items) -> "Comparisons":
        """The same comparisons with other features of the same items."""
        return self.of(items, self.votes)

    def with_covariance_items(self, which: Any) -> "Comparisons":
        """The same comparisons with other items behind the covariance of ``split``.

        ``which`` has ids, row numbers or a mask.
        """
        rows = _item_rows(which, self.items)
        return self.of(self.items, replace(self.votes, covariance_items=rows))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every comparison and of up to 256 item rows evenly spaced in the table."""
        values, n = self.items.values, len(self.items)
        digest = hashlib.sha256(repr((values.shape, self.items.feature_names)).encode())
        digest.update(values[np.linspace(0, n - 1, min(n, SAMPLED_ITEMS)).astype(int)].tobytes())
        columns = self.left, self.right, self.outcome, self.weight, self.count
        for column, kind in zip(columns, (np.int32, np.int32, None, None, None), strict=True):
            for first in range(0, 1 if column is None else len(column), HASHED_AT_ONCE):
                part = b"-" if column is None else column[first : first + HASHED_AT_ONCE]
                digest.update(np.ascontiguousarray(part, kind).data)
        return digest.hexdigest()[:32]

    @property
    def importance(self) -> np.ndarray:
        """Weight of each comparison (M,); a count is none, it says how many a row stands for."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def weight_unit(self) -> float:
        """The weight u = sum c w^2 / sum c w of an average comparison, c being counts.

        Over u, weights sum to the number of equally weighted comparisons that tell as much (Kish
        1965). Rows of tiny weight do not change it, as if they were not there.
        """
        if self.weight is None:
            return 1.0
        largest = float(np.max(self.weight, initial=0.0))
        if largest == 0 or np.all((self.weight == largest) | (self.weight == 0)):
            return largest or 1.0  # to the last digit
        share = self.weight / largest
        amount = share if self.count is None else share * self.count
        return largest * float(amount @ share / amount.sum())

    def with_relative_weights(self) -> "Comparisons":
        """The same comparisons with weights over their unit: only the ratios of weights matter.

        Where all are equal there are none, and a row counts as often as its count says.
        """
        if self.weight is None:
            return self
        weight = self.weight / self.weight_unit
        weight = None if np.all(weight == 1) else weight
        return self.of(self.items, replace(self.votes, weight=weight))

    @property
    def number(self) -> float:
        """How many comparisons there are: the counts of all rows with a positive weight."""
        used = self.amount > 0
        return float(used.sum() if self.count is None else self.count[used].sum())

    def with_item_groups(self, item_groups: Any) -> "Comparisons":
        """The same comparisons of items that belong together in groups (topics, patients).

        Items of a group are held out together, by ``ItemKFold`` and where ``l2="auto"`` chooses the
        ridge; slices know them too. ``item_groups`` has one label per item of the table, or is a
        dict from id to label; only compared items need one.
        """
        rows, groups = np.flatnonzero(self.compared), np.full(len(self.items), -1)
        groups[rows] = number_groups(item_groups, self.items, rows)
        return self.of(self.items, replace(self.votes, item_groups=groups))


def without_incomplete_items(
    recipe: Recipe, items: Items, votes: Votes
) -> tuple[Items, Votes, Recipe, np.ndarray]:
    """What ``missing="drop-items"`` leaves: items without gaps, and the votes on two of these.

    Parameters
    ----------
    items : Items
        With NaN where a value is missing (:meth:`Recipe.items_with_gaps`).
    votes : Votes
        On all of them.

    Returns
    -------
    Items, Votes, Recipe, ndarray
        The recipe notes what was dropped; the mask (N,) is of the items that are left.
    """
    values, ids = items.values, np.arange(len(items)) if items.ids is None else items.ids
    complete = recipe.complete_rows(values, ids)
    usable = complete[votes.left] & complete[votes.right]
    n_dropped = int(np.count_nonzero(~complete))
    if not complete.any() or not usable.any():
        raise PairscoreError(
            f"{plural(n_dropped, 'item')} of {len(complete)} with missing values, and every"
            f" comparison has one of them; fill in some of the values."
        )
    refuse_non_finite(np.where(complete[:, None], values, 0.0), recipe.names)
    rows = plural(int(np.count_nonzero(~usable)), "row")
    note = f"{plural(n_dropped, 'item')} dropped, with {rows} of comparisons" if n_dropped else ""
    recipe, new_row, votes = replace(recipe, note=note), np.cumsum(complete) - 1, votes[usable]
    votes = replace(votes, left=new_row[votes.left], right=new_row[votes.right])
    if votes.covariance_items is not None:  # row numbers
        rows_left = votes.covariance_items[complete[votes.covariance_items]]
        votes = replace(votes, covariance_items=new_row[rows_left])
    if votes.item_groups is not None:
        votes = replace(votes, item_groups=votes.item_groups[complete])
    left = Items(values[complete], recipe.names, ids[complete], items.backend)
    return left, votes, recipe, complete


def _found_id(items: Any, votes: Any, settings: Mapping[str, Any]) -> str | None:
    """The column of ids of a table that has none called so, by the names in the votes."""
    if settings.get("id") or isinstance(items, Items) or isinstance(votes, Votes):
        return None
    table = as_frame(items)
    if table is None or ID_COLUMN in table.columns or (frame := as_frame(votes)) is None:
        return None
    from_files = all(isinstance(of, Columns) and of.from_file for of in (table, frame))
    found = find_id_column(table, names_in(frame), by_text=from_files, **id_settings(settings))
    if found is not None:
        warn_caller(found_note(found))
    return found


def refuse_other_self_pairs(self_pairs: Any) -> None:
    """Comparisons of an item with itself are an error, or kept."""
    if not isinstance(self_pairs, str) or self_pairs not in SELF_PAIRS:
        raise PairscoreError(Setting("self_pairs") + f" is {self_pairs!r}", "use 'error' or 'keep'")


def _check_outcome(y: np.ndarray) -> np.ndarray:
    """Outcomes -1, 0 and 1 as small integers."""
    if y.dtype == object:
        right = np.array([_is_outcome(value) for value in y.tolist()], dtype=bool)
    else:
        right = np.isin(y, OUTCOMES) & (y.dtype != bool)  # False would become a tie
    bad = np.flatnonzero(~right)
    if len(bad):
        raise PairscoreError(
            f"{plural(len(bad), 'outcome')} {'is' if len(bad) == 1 else 'are'} none of -1, 0, 1:"
            f" {first_rows(bad, y[bad].tolist())}; write 1 where left won, -1 where right won, 0"
            " for a tie."
        )
    return y.astype(np.int8)


def _is_outcome(value: Any) -> bool:
    """Of an object that may be anything, and need not even be comparable."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool) and value in OUTCOMES


def _refuse_other_rows(rows: np.ndarray, side: str, n_items: int) -> None:
    if rows.dtype.kind not in "iu":
        raise PairscoreError(
            f"{side} has entries of type {rows.dtype}",
            [
                "give row numbers of the items",
                "read comparisons with " + Action("Comparisons.from_frames"),
            ],
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
    which = to_array(which, Setting("covariance_items") + " is")
    if which.dtype == bool:
        if which.shape != (len(items),):
            raise PairscoreError(
                Setting("covariance_items")
                + f" is a mask of shape {which.shape} for {plural(len(items), 'item')}",
                ["give one entry for each", "give ids of items"],
            )
        return np.flatnonzero(which)
    which = which.ravel()
    rows = items.find_rows(which)
    bad = np.flatnonzero(rows < 0)
    if len(bad):
        raise PairscoreError(
            Setting("covariance_items")
            + f" names {plural(len(bad), 'item')} that the item table does not have:"
            f" {first_rows(bad, which[bad].tolist())}",
            "give ids of items or a mask",
        )
    if np.bincount(rows, minlength=1).max() > 1:
        again = np.setdiff1d(np.arange(len(rows)), np.unique(rows, return_index=True)[1])
        raise PairscoreError(
            Setting("covariance_items") + f" repeats {plural(len(again), 'item')}:"
            f" {first_rows(again, which[again].tolist())}",
            "name every item once",
        )
    return rows
