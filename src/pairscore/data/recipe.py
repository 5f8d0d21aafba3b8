"""The recipe: how the columns of an item table become features, the same way for old and new items.

    numeric columns as they are · 0/1 columns, one per level of a category · flags of missing values
    · effects of single items with missing values · squares · bends of curves · products of two
    · a smooth part of all numeric

A recipe is saved with its model, so that new items need no instructions. It is made from settings
such as ``features=["a", "b"]`` and ``squares=["a"]``, those of ``pairscore fit`` (``--features``,
``--square``, ...) and of :meth:`~pairscore.Comparisons.from_frames`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from pairscore.choices import MISSING_RULES
from pairscore.data.curves import bends, check_knots, find_knots
from pairscore.data.items import (
    Items,
    absent_names,
    add_or_exclude,
    leave_out,
    read_items,
    refuse_bad_ids,
    refuse_non_finite,
    refuse_other_lists,
)
from pairscore.data.smooth import Smooth
from pairscore.data.tables import (
    ID_COLUMN,
    Columns,
    as_frame,
    backend_of,
    column_of,
    distinct,
    ids_of,
    list_lengths,
    look_up,
    refuse_other_dimensions,
    spread_lists,
    to_array,
    whole_numbers,
    without_rounding_errors,
)
from pairscore.data.vote_layouts import compared_in
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import (
    BadEntriesError,
    EmptyColumnsError,
    PairscoreError,
    Worded,
    one_of,
    warn_caller,
)
from pairscore.messages import Piece, Setting, Text, either

# names, or the knots of each, None for those at quantiles
Curves = Collection[str] | Mapping[str, Sequence[float] | None]
MAX_LEVELS = 1000
MANY_VALUES = 5  # of a column that may be a curve without being asked for
BLOCK = 1 << 16  # rows whose terms are computed at a time
MOST_WORDS = 5  # that may stand for missing values in a column of numbers
NO_LEVEL = -1
UNKNOWN_LEVEL = -2
LIST_SETTINGS = {"features", "exclude", "categorical", "squares", "curves", "interactions"}
LEAVE_OUT = Text.of("leave these items out")  # a remedy of which not every caller has need
LEAVE_OUT_AS_FIT = LEAVE_OUT + ", as a fit with " + Setting("missing", "drop-items") + " does"
GAP_REMEDIES: dict[str, Sequence[Piece]] = {
    "mean-with-flag": (
        "no value was missing there in the fit, so it has no flag for them: fill them in",
        LEAVE_OUT,
    ),
    "item-effect": (
        "the fit has no effect for these items: fill in their values",
        LEAVE_OUT,
    ),
    "new": ("fill them in", LEAVE_OUT_AS_FIT),
    "refuse": (
        "fill in the missing values",
        "fit with "
        + either([Setting("missing", rule) for rule in MISSING_RULES if rule != "refuse"]),
    ),
}


@dataclass(frozen=True)
class Recipe:
    """Which columns of an item table become features, and how.

    Parameters
    ----------
    features
        Numeric columns that are used as they are.
    categorical
        Levels of each category; every level becomes a 0/1 column.
    squares
        Numeric columns whose square is a feature too.
    interactions
        Pairs of columns whose product is a feature; a category gives one product per level.
    missing : one of MISSING_RULES
        What happens to missing values.
    means
        What fills the gaps of each column that had some in the fit: one number, or one per 0/1
        column of a category. With ``missing="item-effect"``, of every column.
    id
        Column that names the items; None where they are known by their row number.
    note
        What was done about missing values in the fit, for its summary.
    flags
        Columns of ``means`` in groups that were missing for the same items, and so share the 0/1
        column that says where; without any, each has its own.
    effect_items
        Items with ``missing="item-effect"`` that have a parameter each instead of features, because
        some of theirs were missing. They get the mean of every column, and a column that is 1 for
        them alone.
    reference
        Level of a category that the others are shown against; without one, coefficients of levels
        are shown against the average of all levels. Features are the same either way.
    lists
        How many numbers the lists of a column have, all of which are features: those of
        ``embedding`` are ``embedding[0]``, ``embedding[1]``, ...
    curves
        Knots of each numeric column that is a curve (:mod:`pairscore.data.curves`): its bends are
        features too, two fewer than knots.
    smooth
        The smooth part of all numeric columns (:mod:`pairscore.data.smooth`), if there is one.
    of_model
        Whether it is that of a fitted model, for new items; records do not say.
    """

    features: tuple[str, ...] = ()
    categorical: dict[str, tuple[str, ...]] = field(default_factory=dict)
    squares: tuple[str, ...] = ()
    interactions: tuple[tuple[str, str], ...] = ()
    missing: str = "refuse"
    means: dict[str, tuple[float, ...]] = field(default_factory=dict)
    id: str | None = ID_COLUMN
    note: str = ""
    effect_items: tuple[str, ...] = ()
    flags: tuple[tuple[str, ...], ...] = ()
    reference: dict[str, str] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)
    curves: dict[str, tuple[float, ...]] = field(default_factory=dict)
    smooth: Smooth | None = None
    of_model: bool = field(default=False, compare=False)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Recipe":
        """A recipe from what :meth:`to_record` gave, also after it was written and read as JSON."""
        try:
            recipe = cls(**_fields(record))
            known = {*recipe.names, *recipe.sources}  # fails where a product is of other columns
            flagged = {name for group in recipe.flags for name in group}
            named = {*recipe.means, *recipe.squares, *recipe.curves, *flagged}
            has_columns = recipe.sources and named <= known
            for name, knots in recipe.curves.items():
                check_knots(knots, name)
            if recipe.smooth and len(recipe.smooth.center) != len(recipe.features):
                raise ValueError("no recipe")
            levels = recipe.categorical
            has_levels = all(one in levels[name] for name, one in recipe.reference.items())
            if not has_columns or not has_levels or recipe.missing not in MISSING_RULES:
                raise ValueError("no recipe")
            return recipe
        except (KeyError, TypeError, ValueError, AttributeError, PairscoreError) as error:
            raise PairscoreError(
                "the model's recipe for features cannot be read; the file is damaged or from a"
                " newer version: fit again."
            ) from error

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON; model files keep them."""
        record = asdict(self)
        del record["of_model"]
        record["own"] = record.pop("effect_items")  # as earlier versions called it
        return record

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that the recipe reads."""
        return (*self.features, *self.categorical)

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """The columns of :meth:`matrix` that each source becomes, before flags and products."""
        widths = [len(self.categorical.get(name, "1")) for name in self.sources]
        ends = np.cumsum(widths, dtype=int).tolist()
        return {
            name: slice(end - width, end)
            for name, width, end in zip(self.sources, widths, ends, strict=True)
        }

    @cached_property
    def product_blocks(self) -> dict[tuple[str, str], np.ndarray]:
        """Numbers of the columns that each product of two sources becomes.

        One row for each column of the first source, one column for each of the second.
        """
        shapes = [[len(self.categorical.get(n, "1")) for n in pair] for pair in self.interactions]
        ends = (
            len(self.names)
            - self.n_smooth
            - np.cumsum([0, *(a * b for a, b in shapes[::-1])])[::-1]
        )
        return {
            pair: np.arange(first, first + a * b).reshape(a, b)
            for pair, (a, b), first in zip(self.interactions, shapes, ends.tolist(), strict=False)
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the d features.

        ``mass``, ``style=oil``, ``mass missing`` (``mass, size missing`` if these are missing for
        the same items), ``item 7``, ``mass^2``, ``mass bend 1``, ``mass:style=oil``.
        """
        base = {name: [name] for name in self.features} | {
            name: [f"{name}={level}" for level in levels]
            for name, levels in self.categorical.items()
        }
        gaps = (
            [f"item {name}" for name in self.effect_items]
            if self.missing == "item-effect"
            else [f"{first_few(group, 3)} missing" for group in self.flag_groups]
        )
        products = [
            f"{one}:{two}"
            for first, second in self.interactions
            for one, two in product(base[first], base[second])
        ]
        squares = [f"{name}^2" for name in self.squares]
        curved = (name for names in self.bend_names.values() for name in names)
        first = (name for names in base.values() for name in names)
        smooth = (f"smooth {number + 1}" for number in range(self.n_smooth))
        return (*first, *gaps, *squares, *curved, *products, *smooth)

    @property
    def n_smooth(self) -> int:
        """How many features the smooth part has; they are the last ones."""
        return self.smooth.number if self.smooth else 0

    @property
    def bend_names(self) -> dict[str, tuple[str, ...]]:
        """Names of the bends of each curve."""
        return {
            name: tuple(f"{name} bend {number + 1}" for number in range(len(knots) - 2))
            for name, knots in self.curves.items()
        }

    @property
    def flag_groups(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each flag; those of the first models have one each."""
        return self.flags or tuple((name,) for name in self.means)

    def matrix(self, table: Columns) -> np.ndarray:
        """Features of the items of ``table``: float64 of shape (N, d), columns as in ``names``.

        NaN stands where a value is missing and the recipe does not fill it.
        """
        values = np.empty((len(table), len(self.names)))
        n_base = 0
        for name, block in self.blocks.items():
            n_base = block.stop
            values[:, block] = (
                _indicators(table, name, self.categorical[name])
                if name in self.categorical
                else self._numbers(table, name)[:, None]
            )
        with np.errstate(over="ignore", invalid="ignore"):
            values[:, :n_base] = without_rounding_errors(values[:, :n_base], self.names[:n_base])
            for number, column in enumerate(self._further_columns(table, values), n_base):
                values[:, number] = column
        return values

    def terms(self, values: np.ndarray) -> Iterator[np.ndarray]:
        """Squares, bends, products and the smooth part, column by column, from ``values`` (N x d or
        more) that begin with the columns of the sources.
        """
        for name in self.squares:
            yield values[:, self.blocks[name].start] ** 2
        for name, knots in self.curves.items():
            yield from bends(values[:, self.blocks[name].start], knots).T
        for first, second in self.interactions:
            columns = (values[:, self.blocks[name]].T for name in (first, second))
            yield from (one * two for one, two in product(*columns))
        if self.smooth:
            yield from self.smooth.features(values[:, : len(self.features)]).T

    def _numbers(self, table: Columns, name: str) -> np.ndarray:
        """A column of numbers, (N,). Ids of a file are text where one is not a whole number."""
        if name != self.id or is_numeric(table, name):
            return numeric_column(table, name)
        numbers = list(map(_number_in, table[name].tolist()))
        if None in numbers:
            raise PairscoreError(
                f"the column {name!r} has the ids and is also a feature of the model, but"
                f" {table[name][numbers.index(None)]!r} is not a number; take the ids from another"
                " column."
            )
        return np.array(numbers)

    def _further_columns(self, table: Columns, values: np.ndarray) -> Iterator[np.ndarray]:
        """The columns after those of the sources, one by one; gaps are filled on the way."""
        yield from self._fill_gaps(table, values)
        yield from self.terms(values)

    def _fill_gaps(self, table: Columns, values: np.ndarray) -> Iterator[np.ndarray]:
        """Means into the gaps of ``values``; the 0/1 columns that say where they are."""
        if self.missing != "item-effect":
            for group in self.flag_groups:
                flag = np.zeros(len(values), dtype=bool)
                for name in group:
                    gaps = np.isnan(values[:, self.blocks[name].start])
                    values[gaps, self.blocks[name]] = self.means[name]
                    flag |= gaps
                yield flag
        else:
            effect = self._effect_of_item(table)
            for name, means in self.means.items():
                values[effect >= 0, self.blocks[name]] = means
            yield from (effect == number for number in range(len(self.effect_items)))

    def _effect_of_item(self, table: Columns) -> np.ndarray:
        """Which of ``effect_items`` each row is, -1 for none; rows without ids are new items."""
        if self.id is None or not self.effect_items:
            return np.full(len(table), -1)
        number_of: dict[Any, int] = {name: n for n, name in enumerate(self.effect_items)}
        return look_up(number_of, level_names(table[self.id]), -1)

    def complete_rows(self, values: np.ndarray, ids: Any) -> np.ndarray:
        """Mask of the rows of :meth:`matrix` without gaps, of shape (N,).

        Gaps are refused unless the recipe drops such items; ``ids`` names them in the message.
        """
        gaps = {name: np.isnan(values[:, block.start]) for name, block in self.blocks.items()}
        rows = {name: np.flatnonzero(mask) for name, mask in gaps.items() if mask.any()}
        if rows and self.missing != "drop-items":
            is_new = self.of_model and self.missing == "refuse"  # the fit had no gap either
            _refuse_gaps(rows, ids, GAP_REMEDIES["new" if is_new else self.missing])
        return ~np.any(list(gaps.values()), axis=0)

    def items_with_gaps(self, table: Columns, backend: Any) -> Items:
        """The items of a table of named columns, NaN where a value is missing; ids are checked."""
        ids = self.ids(table)
        if ids is not None:
            refuse_bad_ids(ids)
        return Items(self.matrix(table), self.names, ids, backend)

    def items(self, table: Columns) -> Items:
        """The items of a table of named columns, without those that the recipe drops.

        Refused are bad ids, columns that are not there, text in place of numbers, levels that the
        fit did not know, missing values that the recipe does not fill, and infinite ones.
        """
        ids = self.ids(table)
        if ids is not None:
            refuse_bad_ids(ids)
        values = self.matrix(table)
        complete = self.complete_rows(values, range(len(table)) if ids is None else ids)
        refuse_non_finite(
            values if complete.all() else np.where(complete[:, None], values, 0.0), self.names
        )
        if not complete.all():
            values = values[complete]
            ids = np.flatnonzero(complete) if ids is None else ids[complete]
        if len(values) == 0:
            rows = "rows without missing values" if len(table) else "rows"
            raise PairscoreError(f"the item table has no {rows}; give one row for each item.")
        return Items(values, self.names, ids, Columns)

    def ids(self, table: Columns) -> np.ndarray | None:
        """Names of the items, of shape (N,); None where they are known by their row number."""
        self.refuse_absent(table.columns)
        return None if self.id is None else whole_numbers(table[self.id])

    def refuse_absent(self, columns: Collection[str]) -> None:
        """Every column that the recipe reads must be among ``columns``; others do no harm."""
        if self.id is not None and self.id not in columns:
            close = did_you_mean(self.id, columns)
            sides = compared_in(columns)
            if sides is not None:
                raise PairscoreError(
                    f"the item table has columns {sides[0]!r} and {sides[1]!r}, and none called"
                    f" {self.id!r} for the ids, so its rows look like comparisons; give the items"
                    " first, then the comparisons."
                )
            raise PairscoreError(
                f"the item table has no column {self.id!r} for the ids",
                "name the column that has them: " + Setting("id", "NAME") + f".{close}",
            )
        present = set(columns)
        absent = [name for name in self.sources if name not in present]
        refuse_other_lists(self.lists, absent, present)
        if absent:
            raise PairscoreError(
                f"the item table lacks {plural(len(absent), 'column')} that the score is made of:"
                f" {absent_names(absent)}",
                add_or_exclude(absent, columns),
            )


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    """The fields of a recipe from its record, each turned into its type."""
    return {
        "features": _texts(record["features"]),
        "categorical": {str(key): _texts(levels) for key, levels in record["categorical"].items()},
        "squares": _texts(record["squares"]),
        "interactions": tuple((str(one), str(two)) for one, two in record["interactions"]),
        "missing": str(record["missing"]),
        "means": {str(name): tuple(map(float, means)) for name, means in record["means"].items()},
        "id": None if record["id"] is None else str(record["id"]),
        "note": str(record["note"]),
        "effect_items": _texts(record.get("own", ())),  # the first models had neither
        "flags": tuple(_texts(group) for group in record.get("flags", ())),
        "reference": {str(n): str(level) for n, level in record.get("reference", {}).items()},
        "lists": {str(name): int(n) for name, n in record.get("lists", {}).items()},
        "curves": {str(n): tuple(map(float, k)) for n, k in record.get("curves", {}).items()},
        "smooth": Smooth.of_record(record.get("smooth")),
    }


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(map(str, values))


# -- columns ---------------------------------------------------------------------------------------


def is_numeric(table: Columns, name: str) -> bool:
    """Whether a column holds numbers or truth values."""
    return table.get_column(name).values.dtype.kind in "biuf"


def numeric_column(table: Columns, name: str) -> np.ndarray:
    """A column of numbers or truth values, of shape (N,); text is refused."""
    if not is_numeric(table, name):
        example = next((value for value in table[name] if value is not None), None)
        if example is None:  # in every row
            return np.full(len(table), np.nan)
        remedies: list[Piece] = ["make it numbers", "use " + Setting("categorical") + " in the fit"]
        entries = distinct(table.get_column(name)).tolist()
        words = [entry for entry in entries if _number_in(entry) is None]
        if table.from_file and len(words) <= MOST_WORDS and len(words) < len(entries):
            remedies.append("if words mean that a value is missing, give " + Setting("na", words))
        raise PairscoreError(
            f"the column {name!r} of the item table is text (such as {example!r})", remedies
        )
    return table[name]


def _number_in(entry: Any) -> float | None:
    """The number that an entry is or writes; None where it is something else."""
    try:
        return float(entry)
    except (TypeError, ValueError):
        return None


def level_names(values: np.ndarray) -> list[str | None]:
    """Levels of a category as text, since in files 7 and ``"7"`` are the same; None for a gap."""
    return [None if value is None or value != value else str(value) for value in values.tolist()]


def _indicators(table: Columns, name: str, levels: tuple[str, ...]) -> np.ndarray:
    """0/1 columns (N x number of levels); NaN in all of them where there is no level."""
    number_of: dict[Any, int] = {level: number for number, level in enumerate(levels)}
    number_of[None] = NO_LEVEL
    codes = table.get_column(name).map(
        lambda values: look_up(number_of, level_names(values), UNKNOWN_LEVEL)
    )
    unknown = np.flatnonzero(codes == UNKNOWN_LEVEL)
    if len(unknown):
        found = level_names(table.get_column(name).take(unknown).to_numpy())
        have = "has a level" if len(unknown) == 1 else "have levels"
        reason = "a level that the fit did not know"
        what = (
            f"{plural(len(unknown), 'item')} {have} of {name!r} that the fit did not know:"
            f" {first_few(map(repr, dict.fromkeys(found)))}"
        )
        known = first_few(map(repr, levels), 8)
        remedy = f"fit again with such items (known levels: {known})", LEAVE_OUT
        entries = [(int(row), name, level) for row, level in zip(unknown, found, strict=True)]
        raise BadEntriesError(what, remedy, "items", entries, reason)
    return np.where(codes[:, None] == NO_LEVEL, np.nan, codes[:, None] == np.arange(len(levels)))


def _refuse_gaps(rows_by_column: dict[str, np.ndarray], ids: Any, remedy: Sequence[Piece]) -> None:
    entries = [(int(row), name, None) for name, rows in rows_by_column.items() for row in rows]
    count = plural(len(entries), "feature value", verb="is")
    by_column = [
        f"{name!r} ({len(rows)}: {first_few(map(repr, np.asarray(ids)[rows].tolist()), 3)})"
        for name, rows in rows_by_column.items()
    ]
    what = f"{count} missing, by column (how many: first ids): {first_few(by_column, 20)}"
    raise BadEntriesError(what, remedy, "items", entries, "missing")


def remedies_of_items(error: Worded) -> list[Text]:
    """What may be done about entries of items, but for leaving these items out."""
    return [one for one in error.message.remedies if one not in (LEAVE_OUT, LEAVE_OUT_AS_FIT)]


# -- a recipe for a table --------------------------------------------------------------------------


def make_recipe(
    table: Columns,
    *,
    id: str | None = None,
    features: Collection[str] = (),
    exclude: Collection[str] = (),
    categorical: Collection[str] = (),
    squares: Collection[str] = (),
    interactions: Collection[str] = (),
    curves: Curves = (),
    smooth: bool | int = False,
    missing: str = "refuse",
    reference: Mapping[str, str] | None = None,
) -> tuple[Recipe, list[str]]:
    """Decide how the columns of an item table become features.

    Parameters
    ----------
    table : Columns
        One row per item.
    id
        Column that names the items; ``id`` if there is one, else items go by row number.
    features
        Columns to use as numbers. Without any, every numeric column is a feature.
    exclude
        Columns to leave out.
    categorical
        Columns to make into 0/1 columns, one per level; at most 1000 levels.
    squares
        Features whose square to add.
    interactions
        Features whose product to add, written ``a:b``; a category gives one per level.
    curves
        Features to make curves, natural cubic splines with knots at quantiles of the column; or a
        dict that has the knots of each, None for quantiles.
    smooth
        Whether to add a smooth part of all numeric features, or of how many features.
    missing : {"refuse", "drop-items", "mean-with-flag", "item-effect"}
        What happens to missing values. The last two look at ``table`` for gaps: they take the
        means that fill them, or the items that have some.
    reference
        By category, the level that the others are shown against, such as ``{"style": "oil"}``; a
        column that is named here is a category. Without one, coefficients of levels are shown
        against the average of all levels.

    Returns
    -------
    recipe : Recipe
    text : list of str
        Text columns that are no features, because nothing named them.

    Raises
    ------
    PairscoreError
        Where a setting names a column that is not there or text as a number, where nothing is left
        to learn from, or where a feature would be made twice.
    """
    one_of(missing, "missing", MISSING_RULES)
    id = id or (ID_COLUMN if ID_COLUMN in table else None)
    reference = dict(reference or {})
    categorical = tuple(dict.fromkeys([*categorical, *reference]))
    by_place = {*list_lengths([*features, *exclude])}
    features, categorical = _spread_names(features, table), _spread_names(categorical, table)
    _refuse_unknown(table, id=id, reference=reference, features=features, categorical=categorical)
    named = {id, *_spread_names(exclude, table), *categorical}
    others = [name for name in table if name not in named]
    text = [] if features else [name for name in others if not is_numeric(table, name)]
    no_numbers = {*categorical, *text}
    numeric = [name for name in features or others if name not in no_numbers]
    if not numeric and not categorical:
        left_out = f" (text: {first_few(map(repr, text))})" if text else ""
        raise PairscoreError(
            f"the item table has no numeric column to learn from{left_out}",
            [
                "add one",
                "use " + Setting("categorical", "NAME") + " for a column of text",
                "give the comparisons alone, to rank items without features",
            ],
        )
    levels = {name: _levels(table, name) for name in categorical}
    _refuse_other_levels(reference, levels)
    recipe = Recipe(tuple(numeric), levels, missing=missing, id=id, reference=reference)
    lists = {name: n for name, n in list_lengths(numeric).items() if name not in by_place}
    for name in numeric:
        numeric_column(table, name)  # text that is named as a feature is refused
    recipe = replace(
        recipe,
        lists=lists,
        squares=_squares(_spread_names(squares, table), recipe),
        interactions=tuple(_pair(term, recipe) for term in interactions),
        curves=_knots(curves, recipe, partial(numeric_column, table)),
    )
    recipe = GAP_RULES[missing](recipe, table) if missing in GAP_RULES else recipe
    if smooth:
        columns = [numeric_column(table, name) for name in recipe.features]
        recipe = with_smooth_part(recipe, np.array(columns, dtype=float).T, smooth)
    _refuse_repeated(recipe.names)
    return recipe, text


def item_columns(
    names: Collection[str],
    nested: Collection[str],
    *,
    id: str | None = None,
    features: Collection[str] = (),
    exclude: Collection[str] = (),
    categorical: Collection[str] = (),
    reference: Collection[str] = (),
    **_: Any,
) -> set[str]:
    """The columns of a file that :func:`make_recipe` looks at with these settings.

    Those that the settings name and, without ``features``, all others of ``names`` but the
    ``nested`` ones (lists and records), which can be no features.
    """
    named_columns = {"features": features, "exclude": exclude, "categorical": categorical}
    named_columns = {setting: _spread_names(n, names) for setting, n in named_columns.items()}
    features, exclude, categorical = named_columns.values()
    _refuse_unknown(names, id=id, reference=reference, **named_columns)
    others = set() if features else {*names}.difference(exclude, nested)
    return {id or ID_COLUMN, *features, *categorical, *others}


def _levels(table: Columns, name: str) -> tuple[str, ...]:
    """The levels of a category, sorted."""
    levels = {level for level in level_names(table.get_column(name).values) if level is not None}
    if not levels or len(levels) > MAX_LEVELS:
        raise PairscoreError(
            f"the column {name!r} has {plural(len(levels), 'level')}, and a category has from 1 to"
            f" {MAX_LEVELS}; leave it out, or group its levels."
        )
    return tuple(sorted(levels))


def _squares(names: Collection[str], recipe: Recipe) -> tuple[str, ...]:
    for name in names:
        if name in recipe.categorical:
            raise PairscoreError(
                f"the square of the category {name!r} is the category itself",
                "leave it out of " + Setting("squares"),
            )
    _refuse_no_features("squares", names, recipe)
    return tuple(names)


def _refuse_no_features(setting: str, names: Collection[str], recipe: Recipe) -> None:
    for name in names:
        if name not in recipe.features:
            known = first_few(map(repr, recipe.features), 8)
            raise PairscoreError(
                Setting(setting) + f" names {name!r}, which is not a feature; the features are"
                f" {known}.{did_you_mean(name, recipe.features)}"
            )


def _knots(
    curves: Curves, recipe: Recipe, column: Callable[[str], np.ndarray]
) -> dict[str, tuple[float, ...]]:
    """The knots of each curve: those that were given, or from the values of its ``column``."""
    given = curves if isinstance(curves, Mapping) else dict.fromkeys(curves)
    for name in given:
        if name in recipe.categorical:
            raise PairscoreError(
                f"{name!r} is a category, whose levels may differ in any way without a curve",
                "leave it out of " + Setting("curves"),
            )
    _refuse_no_features("curves", given, recipe)
    return {
        name: find_knots(column(name), name) if knots is None else check_knots(knots, name)
        for name, knots in given.items()
    }


def _pair(term: str, recipe: Recipe) -> tuple[str, str]:
    """The two columns of ``a:b``; a colon may also belong to a name."""
    parts = term.split(":")
    splits = [
        (":".join(parts[:cut]).strip(), ":".join(parts[cut:]).strip())
        for cut in range(1, len(parts))
    ]
    known = [pair for pair in splits if set(pair) <= set(recipe.sources)]
    if len(known) != 1:
        unknown = [name for pair in splits for name in pair if name not in recipe.sources]
        close = did_you_mean(unknown[0], recipe.sources) if unknown else ""
        raise PairscoreError(
            Setting("interactions", [term]) + " does not name two features",
            f"write a:b, with two of {first_few(map(repr, recipe.sources), 8)}.{close}",
        )
    first, second = known[0]
    if first == second:
        raise PairscoreError(
            Setting("interactions", [term]) + " is a column with itself",
            "use " + Setting("squares", [first]),
        )
    return first, second


def _refuse_unknown(columns: Collection[str], id: str | None, **settings: Collection[str]) -> None:
    """Every name in a setting must be that of a column."""
    present = set(columns)
    for setting, names in {"id": [id] if id else [], **settings}.items():
        for name in names:
            if name not in present:
                known = first_few(map(repr, columns), 8)
                raise PairscoreError(
                    Setting(setting)
                    + f" names {name!r}, and the item table has no such column; it has"
                    f" {known}.{did_you_mean(name, columns)}"
                )


def _refuse_repeated(names: tuple[str, ...]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise PairscoreError(
            f"{plural(len(repeated), 'feature')} would be made twice:"
            f" {first_few(map(repr, repeated))}; rename a column or drop a term."
        )


def _refuse_other_levels(reference: dict[str, str], levels: dict[str, tuple[str, ...]]) -> None:
    for name, level in reference.items():
        if level not in levels[name]:
            raise PairscoreError(
                Setting("reference")
                + f" names the level {level!r} of {name!r}, which no item has; its levels"
                f" are {first_few(map(repr, levels[name]), 8)}.{did_you_mean(level, levels[name])}"
            )


# -- missing values --------------------------------------------------------------------------------


def _flag_gaps(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with means, and a note, for the columns that have gaps."""
    values = _source_values(recipe, table)
    counts = np.isnan(values).sum(axis=0)
    gaps = {name: count for name, block in recipe.blocks.items() if (count := counts[block.start])}
    empty = [name for name, count in gaps.items() if count == len(table)]
    if empty:
        raise EmptyColumnsError(empty)
    by_column = first_few(f"{count} of {name}" for name, count in gaps.items())
    note = f"filled with the mean, and flagged: {by_column}" if gaps else ""
    groups: dict[bytes, list[str]] = {}  # by the items where they are missing
    for name in gaps:
        where = np.isnan(values[:, recipe.blocks[name].start])
        groups.setdefault(where.tobytes(), []).append(name)
    shared = [first_few(names, 3) for names in groups.values() if len(names) > 1]
    note += f"; missing together, with one flag: {first_few(shared)}" if shared else ""
    flags = tuple(map(tuple, groups.values()))
    return replace(recipe, means=_means(recipe, values, gaps), flags=flags, note=note)


def _give_effects(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with an effect for every item that has gaps, and a note that names them."""
    values = _source_values(recipe, table)
    gaps = np.isnan(values).any(axis=1)
    n_gaps = int(gaps.sum())
    if n_gaps == 0:
        return recipe
    if recipe.id is None:
        raise PairscoreError(
            "items with missing values get separate effects by their ids, and the item table"
            " has none; add a column 'id'."
        )
    if n_gaps == len(table) or n_gaps > MAX_LEVELS:
        raise PairscoreError(
            f"{n_gaps} of {plural(len(table), 'item')} have missing values, too many for"
            " separate effects",
            "use " + Setting("missing", "mean-with-flag"),
        )
    names = tuple(str(name) for name in table[recipe.id][gaps].tolist())
    own = f"an effect of {'its' if len(names) == 1 else 'their'} own"
    note = f"{plural(len(names), 'item')} with {own}: {first_few(map(repr, names))}"
    means = _means(recipe, values, recipe.blocks)
    return replace(recipe, means=means, effect_items=names, note=note)


GAP_RULES = {"mean-with-flag": _flag_gaps, "item-effect": _give_effects}


def _source_values(recipe: Recipe, table: Columns) -> np.ndarray:
    """The columns of the sources alone (N x width of all blocks), with NaN in the gaps."""
    return replace(recipe, squares=(), interactions=(), curves={}, smooth=None).matrix(table)


def _means(
    recipe: Recipe, values: np.ndarray, names: Collection[str]
) -> dict[str, tuple[float, ...]]:
    """Means of the values that are there, by column; one for each level of a category."""
    return {
        name: tuple(np.nanmean(values[:, recipe.blocks[name]], axis=0).tolist()) for name in names
    }


# -- items by a recipe -----------------------------------------------------------------------------


def read_with_settings(items: Any, missing: str = "refuse", **settings: Any) -> Items:
    """Read a table of items, of any kind that ``read_items`` takes, as settings say.

    Parameters
    ----------
    items
        Missing are NaN, None and the empty cells of a dataframe. Text that no setting names is
        left out with a warning.
    missing : {"refuse", "drop-items", "mean-with-flag", "item-effect"}
        Leave items with missing values out; fill in the mean of the column and add a 0/1 column
        ``<name> missing`` (one for columns that are missing for the same items); or give each item
        with missing values a 0/1 column ``item <id>`` and the mean of every feature.
    settings
        Of :func:`make_recipe`; the name of a column of lists stands for all their numbers.

    Returns
    -------
    Items
        With the ``recipe``, if there were settings, by which new items get the same features.
    """
    one_of(missing, "missing", MISSING_RULES)
    settings = {setting: given for setting, given in settings.items() if given}
    if isinstance(items, Items) and settings:
        raise PairscoreError(
            Setting(next(iter(settings))) + " is for a table, and these items have been read",
            "name columns where they are read",
        )
    if isinstance(items, Items) or (missing == "refuse" and not settings):
        return read_items(items)
    recipe, table = _recipe_of_table(items, missing, settings)
    return _read_by_recipe(recipe, table, items)


def read_with_gaps(items: Any, **settings: Any) -> tuple[Recipe, Items]:
    """The items of a table with NaN where values are missing, and the recipe that drops these."""
    settings = {setting: given for setting, given in settings.items() if given}
    recipe, table = _recipe_of_table(items, "drop-items", settings)
    return recipe, recipe.items_with_gaps(table, backend_of(as_frame(items)))


def _recipe_of_table(items: Any, missing: str, settings: dict[str, Any]) -> tuple[Recipe, Columns]:
    """How a table of any kind becomes features, and its columns; text is left out and told."""
    for name in LIST_SETTINGS & {*settings}:
        settings[name] = [settings[name]] if isinstance(settings[name], str) else settings[name]
    table = _to_columns(items, settings.get("id"), settings.get("exclude", ()))
    recipe, text = make_recipe(table, missing=missing, **settings)
    if text:
        leave_out(table, text)
    return recipe, table


def _spread_names(names: Iterable[str], columns: Collection[str]) -> list[str]:
    """Names of columns, with those of its numbers for a column of lists."""
    numbers: dict[str, list[str]] = {}
    for name in names:
        of_list = () if name in columns else (c for c in columns if {*list_lengths([c])} == {name})
        numbers[name] = [*of_list] or [name]
    return [one for name in names for one in numbers[name]]


def with_smooth_part(recipe: Recipe, values: np.ndarray, number: bool | int) -> Recipe:
    """The recipe with a smooth part of its numeric columns (N x k)."""
    if not recipe.features:
        raise PairscoreError(
            "a smooth part is one of numeric columns, and there are none",
            "leave out " + Setting("smooth"),
        )
    return replace(recipe, smooth=Smooth.of_values(values, number))


def with_curves(
    items: Items,
    curves: Curves = (),
    smooth: bool | int = False,
    allocate: Callable[[tuple[int, int]], np.ndarray] = np.empty,
) -> Items:
    """Items that have been read, with some of their columns as curves, or a smooth part.

    ``allocate`` makes the array of the features (N x d), which are filled in block by block.
    """
    known = Recipe(tuple(map(str, items.feature_names)), id=None if items.ids is None else "id")
    recipe = known if items.recipe is None else Recipe.from_record(items.recipe)
    knots = _knots(curves, recipe, lambda name: items.values[:, recipe.blocks[name].start])
    recipe = replace(recipe, curves=recipe.curves | knots)
    if smooth:
        recipe = with_smooth_part(recipe, items.values[:, : len(recipe.features)], smooth)
    n_first = len(replace(recipe, squares=(), curves={}, interactions=(), smooth=None).names)
    values = allocate((len(items), len(recipe.names)))
    for start in range(0, len(items), BLOCK):
        rows = slice(start, start + BLOCK)
        first = np.asarray(items.values[rows])[:, :n_first]
        values[rows] = np.column_stack([first, *recipe.terms(first)])
    return replace(items, values=values, feature_names=recipe.names, recipe=recipe.to_record())


def n_smooth(record: dict[str, Any] | None) -> int:
    """How many features of a recipe's record are those of a smooth part; they are the last ones."""
    return int(record["smooth"]["number"]) if record and record.get("smooth") else 0


def with_terms(recipe: Recipe, items: Items) -> Items:
    """Items that were read without the terms of a recipe, with these; others as they are.

    So are the comparisons that :func:`~pairscore.auto_fit` was given, if it then chose curves.
    """
    before = replace(recipe, squares=(), curves={}, interactions=(), smooth=None).names
    names = items.feature_names
    if names == recipe.names or before == recipe.names or not {*before} <= {*names}:
        return items
    first = items.values[:, [names.index(name) for name in before]]
    values = np.column_stack([first, *recipe.terms(first)])
    return replace(items, values=values, feature_names=recipe.names, recipe=recipe.to_record())


def curvable(items: Items) -> tuple[str, ...]:
    """The numeric columns that may be curves: those of MANY_VALUES or more, and no embeddings."""
    if items.recipe is None:
        names: tuple[str, ...] = tuple(map(str, items.feature_names))
    else:
        recipe = Recipe.from_record(items.recipe)
        in_lists = {*list_lengths(recipe.features)} & {*recipe.lists}
        names = tuple(n for n in recipe.features if not in_lists & {*list_lengths([n])})
    return tuple(
        name
        for number, name in enumerate(names)
        if len(np.unique(items.values[:, number])) >= MANY_VALUES
    )


def recipe_of(fit: Any) -> "Recipe":
    """The recipe of a fit (or a fitted model); without settings, features are numeric columns."""
    fit = getattr(fit, "result_", fit)
    if fit.recipe is None:
        return Recipe(tuple(map(str, fit.names)), of_model=True)
    recipe = replace(Recipe.from_record(fit.recipe), of_model=True)
    if recipe.names != tuple(map(str, fit.names)):
        raise PairscoreError(
            "the model's recipe makes other features than it was fitted with; the file is damaged:"
            " fit again."
        )
    return recipe


def apply_recipe(recipe: Recipe, items: Any) -> Items:
    """The items of a table of any kind, with features by the recipe of a model.

    A table that already has the features of the recipe, and not the columns they are made of, is
    read as it is, as are :class:`Items`. Without an ``id`` column, items go by row number.
    """
    if isinstance(items, Items):
        return with_terms(recipe, items)
    frame = as_frame(items)
    if frame is None:
        has_features = to_array(items, "the items are").shape[1:] == (len(recipe.names),)
    else:
        columns = set(map(str, frame.columns))
        has_features = set(recipe.names) <= columns and not set(recipe.sources) <= columns
    if has_features:
        return read_items(items)
    table = _to_columns(items, wanted=recipe.sources)
    id = next((name for name in (recipe.id, ID_COLUMN) if name in table.columns), None)
    read = _read_by_recipe(replace(recipe, id=id), table, items)
    if dropped := len(table) - len(read):
        who = f"{plural(dropped, 'item')} of {len(table)}"
        warn_caller(f"{who} with missing values left out, as in the fit.")
    return read


def _read_by_recipe(recipe: Recipe, table: Columns, items: Any) -> Items:
    """Items by the recipe, which remember it and the kind of the caller's table."""
    backend = backend_of(as_frame(items))
    return replace(recipe.items(table), backend=backend, recipe=recipe.to_record())


def _to_columns(
    items: Any,
    id: str | None = None,
    exclude: Collection[str] = (),
    wanted: Collection[str] | None = None,
) -> Columns:
    """Any table as named columns, without those to exclude; an index that says something is the
    id, unless another column is. Of lists, only the ``wanted`` ones are spread.
    """
    given = as_frame(items)
    if given is None:
        values = items if np.ma.isMaskedArray(items) else to_array(items, "the items are")
        refuse_other_dimensions(values)
        given = Columns({f"x{number}": column for number, column in enumerate(values.T)})
    _refuse_unknown([str(name) for name in given.columns], None, exclude=exclude)
    left_out = [name for name in given.columns if str(name) in {*exclude}]
    kept = given.drop(left_out)
    spread = spread_lists(kept, wanted)
    columns: dict[str, Any] = {str(n): column_of(spread, n) for n in spread.columns}
    if id is not None and ID_COLUMN not in given.columns:
        columns.pop(ID_COLUMN, None)  # the index
    elif ID_COLUMN not in columns and (ids := ids_of(given)) is not None:
        columns = {ID_COLUMN: ids, **columns}
    return Columns(columns, isinstance(given, Columns) and given.from_file)
