"""The recipe: how the columns of an item table become features, the same way for old and new items.

    numeric columns as they are · 0/1 columns, one per level of a category · flags of missing values
    · effects of single items with missing values · squares · products of two columns

A recipe is saved with its model, so that new items need no instructions. ``feature_options`` makes
one for a table.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from pairscore.choices import LAYOUTS, MISSING_RULES, NO_SIDES
from pairscore.data.items import (
    Items,
    are_computable,
    is_list_of_numbers,
    refuse_bad_ids,
    refuse_non_finite,
    refuse_other_lists,
    say_absent,
)
from pairscore.data.tables import (
    ID_COLUMN,
    Columns,
    list_lengths,
    look_up,
    whole_numbers,
    without_rounding_errors,
)
from pairscore.display import did_you_mean, first_few, plural
from pairscore.errors import BadEntriesError, PairscoreError

NO_LEVEL, UNKNOWN_LEVEL = -1, -2
LEAVE_OUT = ", or leave these items out"  # where a remedy has it, no other words but of this follow
GAP_REMEDIES = {
    "mean-with-flag": "no value was missing there in the fit, so it has no flag for them: fill them"
    f" in{LEAVE_OUT}",
    "item-effect": f"the fit has no effect for these items: fill in their values{LEAVE_OUT}",
    "new": f"fill them in{LEAVE_OUT}, as a fit with missing='drop-items' does",
    "refuse": (
        "fill in the missing values, or fit with missing='drop-items', missing='mean-with-flag' or"
        " missing='item-effect'"
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
    of_model: bool = field(default=False, compare=False)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Recipe":
        """A recipe from what :meth:`to_record` gave, also after it was written and read as JSON."""
        try:
            recipe = cls(**_fields(record))
            known = {*recipe.names, *recipe.sources}  # fails where a product is of other columns
            flagged = {name for group in recipe.flags for name in group}
            has_columns = recipe.sources and {*recipe.means, *recipe.squares, *flagged} <= known
            levels = recipe.categorical
            has_levels = all(one in levels[name] for name, one in recipe.reference.items())
            if not has_columns or not has_levels or recipe.missing not in MISSING_RULES:
                raise ValueError("no recipe")
            return recipe
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PairscoreError(
                "the model's recipe for features cannot be read; the file is damaged or from a"
                " newer version: fit again."
            ) from error

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON; model files keep them."""
        record = asdict(self)
        record["own"], _ = record.pop("effect_items"), record.pop("of_model")
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
        ends = len(self.names) - np.cumsum([0, *(a * b for a, b in shapes[::-1])])[::-1]
        return {
            pair: np.arange(first, first + a * b).reshape(a, b)
            for pair, (a, b), first in zip(self.interactions, shapes, ends.tolist(), strict=False)
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the d features.

        ``mass``, ``style=oil``, ``mass missing`` (``mass, size missing`` if these are missing for
        the same items), ``item 7``, ``mass^2``, ``mass:style=oil``.
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
        return (*(name for names in base.values() for name in names), *gaps, *squares, *products)

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
        for name in self.squares:
            yield values[:, self.blocks[name].start] ** 2
        for first, second in self.interactions:
            columns = (values[:, self.blocks[name]].T for name in (first, second))
            yield from (one * two for one, two in product(*columns))

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
            sides = next((two for two in (*LAYOUTS, NO_SIDES) if {*two} <= {*columns}), None)
            if sides is not None:
                raise PairscoreError(
                    f"the item table has columns {sides[0]!r} and {sides[1]!r}, and none called"
                    f" {self.id!r} for the ids, so its rows look like comparisons; give the items"
                    " first, then the comparisons."
                )
            raise PairscoreError(
                f"the item table has no column {self.id!r} for the ids; name the column that has"
                f" them: id='NAME'.{close}"
            )
        present = set(columns)
        absent = [name for name in self.sources if name not in present]
        refuse_other_lists(self.lists, absent, present)
        if absent:
            raise PairscoreError(
                f"the item table lacks {plural(len(absent), 'column')} that the score is made of:"
                f" {say_absent(absent, columns)}"
            )


def read_plain(items: Any, features: tuple[str, ...], id: str | None) -> Items | None:
    """Items from an array of these features, or one from a dict with a number for each.

    A dict may have them in any order, an id, and more; a list of numbers may be whole. None where
    ``items`` are anything else, which :func:`~pairscore.data.items.read_items` reads or refuses. It
    is quick, because services are asked for one item at a time.
    """
    name = backend = None
    if type(items) is np.ndarray:
        values = items
    elif isinstance(items, dict):
        flat = items if all(map(items.__contains__, features)) else _flat(items, features)
        try:
            values = np.array([[flat[feature] for feature in features]])
        except (KeyError, ValueError):
            return None
        values = values[..., 0] if values.shape[2:] == (1,) else values  # columns of one row
        name, backend = None if id is None else items.get(id), dict
    else:
        return None
    is_table = values.shape == (len(values) or 1, len(features)) if values.ndim else False
    if not is_table or values.dtype.kind not in "biuf":
        return None
    values = np.ascontiguousarray(values, dtype=np.float64)
    if not are_computable(values):
        return None
    ids = None if name is None else np.atleast_1d(np.asarray(name))
    if ids is not None:
        refuse_bad_ids(ids)
    return Items(values, features, ids, backend)


def _flat(record: dict[str, Any], features: tuple[str, ...]) -> dict[str, Any]:
    """One item with the numbers of its lists as ``embedding[0]``, ..., if they are all features."""
    flat = dict(record)
    for name, places in _places(features).items():
        numbers: Any = record.get(name)
        if is_list_of_numbers(numbers) and len(numbers) == len(places):
            numbers = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
            flat.update(zip(places, numbers, strict=True))
    return flat


@lru_cache(16)
def _places(features: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: [f"{name}[{k}]" for k in range(n)] for name, n in list_lengths(features).items()}


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
        raise PairscoreError(
            f"the column {name!r} of the item table is text (such as {example!r}); make it numbers,"
            " or 0/1 columns for its levels."
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
        remedy = f"known levels: {known}; include such items in the fit{LEAVE_OUT}"
        entries = [(int(row), name, level) for row, level in zip(unknown, found, strict=True)]
        raise BadEntriesError(what, remedy, "items", entries, reason)
    return np.where(codes[:, None] == NO_LEVEL, np.nan, codes[:, None] == np.arange(len(levels)))


def _refuse_gaps(rows_by_column: dict[str, np.ndarray], ids: Any, remedy: str) -> None:
    entries = [(int(row), name, None) for name, rows in rows_by_column.items() for row in rows]
    count = plural(len(entries), "feature value", verb="is")
    by_column = [
        f"{name!r} ({len(rows)}: {first_few(map(repr, np.asarray(ids)[rows].tolist()), 3)})"
        for name, rows in rows_by_column.items()
    ]
    what = f"{count} missing, by column (how many: first ids): {first_few(by_column, 20)}"
    raise BadEntriesError(what, remedy, "items", entries, "missing")
