"""The recipe: how the columns of an item table become features, the same way for old and new items.

    numeric columns as they are · 0/1 columns, one per level of a category · flags of missing values
    · effects of single items with missing values · squares · products of two columns

A recipe is kept with its model, so that new items need no instructions.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pairscore.data.items import ID_COLUMN, Items, looked_up, refuse_bad_ids, refuse_non_finite
from pairscore.data.tables import Columns
from pairscore.errors import BadEntriesError, PairscoreError, did_you_mean, first_few, plural

MISSING = ("refuse", "drop-items", "mean-with-flag", "item-effect")
NO_LEVEL, UNKNOWN_LEVEL = -1, -2


@dataclass(frozen=True)
class Recipe:
    """Which columns of an item table are features, and how.

    ``categorical`` has the levels of each category, ``means`` what fills the gaps of a column that
    had some in the fit (one number per 0/1 column of a category), ``note`` what was done about them
    there.
    ``own`` names the items that have an effect of their own instead of features, because some of
    theirs were missing; they stand at the means of all columns.
    """

    features: tuple[str, ...] = ()
    categorical: dict[str, tuple[str, ...]] = field(default_factory=dict)
    squares: tuple[str, ...] = ()
    interactions: tuple[tuple[str, str], ...] = ()
    missing: str = "refuse"
    means: dict[str, tuple[float, ...]] = field(default_factory=dict)
    id: str | None = ID_COLUMN
    note: str = ""
    own: tuple[str, ...] = ()

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Recipe":
        """A recipe from what :meth:`to_record` gave, after a journey through JSON."""
        try:
            features, squares = (tuple(map(str, record[name])) for name in ("features", "squares"))
            categorical = {
                str(name): tuple(map(str, levels)) for name, levels in record["categorical"].items()
            }
            interactions = tuple(
                (str(first), str(second)) for first, second in record["interactions"]
            )
            means = {
                str(name): tuple(map(float, values)) for name, values in record["means"].items()
            }
            identifier = None if record["id"] is None else str(record["id"])
            own = tuple(map(str, record.get("own", ())))  # recipes of before had none
            recipe = cls(
                features,
                categorical,
                squares,
                interactions,
                str(record["missing"]),
                means,
                identifier,
                str(record["note"]),
                own,
            )
            # names are made of columns that the recipe has, or this fails
            known = {*recipe.names, *recipe.means, *recipe.squares}
            if (
                not recipe.sources
                or not known <= {*recipe.names, *recipe.sources}
                or recipe.missing not in MISSING
            ):
                raise ValueError("no recipe")
            return recipe
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PairscoreError(
                "the model's recipe for features cannot be read; the file is damaged or from a"
                " newer version: fit again."
            ) from error

    def to_record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that the recipe reads."""
        return (*self.features, *self.categorical)

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """Where the columns made of each source stand, before flags, squares and products."""
        widths = [len(self.categorical.get(name, "1")) for name in self.sources]
        ends = np.cumsum(widths, dtype=int).tolist()
        return {
            name: slice(end - width, end)
            for name, width, end in zip(self.sources, widths, ends, strict=True)
        }

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the features are called.

        Mass, style=oil, mass missing, item 7, mass^2, mass:style=oil.
        """
        made = {
            name: (
                [f"{name}={level}" for level in self.categorical[name]]
                if name in self.categorical
                else [name]
            )
            for name in self.sources
        }
        base = [column for columns in made.values() for column in columns]
        products = [
            f"{one}:{two}"
            for first, second in self.interactions
            for one in made[first]
            for two in made[second]
        ]
        gaps = (
            [f"item {name}" for name in self.own]
            if self.missing == "item-effect"
            else [f"{name} missing" for name in self.means]
        )
        return (*base, *gaps, *(f"{name}^2" for name in self.squares), *products)

    def matrix(self, table: Columns) -> np.ndarray:
        """Feature values (N x d); NaN where a value is missing and the recipe does not fill it."""
        values = np.empty((len(table), len(self.names)))
        for name, block in self.blocks.items():
            values[:, block] = (
                _indicators(table, name, self.categorical[name])
                if name in self.categorical
                else numbers(table, name)[:, None]
            )
        rest = iter(
            range(sum(block.stop - block.start for block in self.blocks.values()), values.shape[1])
        )
        if self.missing == "item-effect":
            self._fill_own(table, values, rest)
        else:
            for name, means in self.means.items():
                gaps = np.isnan(values[:, self.blocks[name].start])
                values[gaps, self.blocks[name]] = means
                values[:, next(rest)] = gaps
        with np.errstate(over="ignore"):
            for name in self.squares:
                values[:, next(rest)] = values[:, self.blocks[name].start] ** 2
            for first, second in self.interactions:
                for one in _places(self.blocks[first]):
                    for two in _places(self.blocks[second]):
                        values[:, next(rest)] = values[:, one] * values[:, two]
        return values

    def _fill_own(self, table: Columns, values: np.ndarray, rest: Iterator[int]) -> None:
        """Items with an effect of their own stand at the means, beside a column that is 1 for them
        alone.
        """
        names = as_levels(table[self.id]) if self.own and self.id is not None else []
        number_of: dict[Any, int] = {name: number for number, name in enumerate(self.own)}
        places = looked_up(number_of, names, -1)
        rows = np.flatnonzero(places >= 0)
        for name, means in self.means.items():
            values[rows, self.blocks[name]] = means
        for number in range(len(self.own)):
            values[:, next(rest)] = places == number

    def complete(self, values: np.ndarray, ids: Any) -> np.ndarray:
        """Mask of the rows without gaps; they are refused unless the recipe drops such items."""
        gaps = {name: np.isnan(values[:, block.start]) for name, block in self.blocks.items()}
        holes = {name: np.flatnonzero(mask) for name, mask in gaps.items() if mask.any()}
        if holes and self.missing != "drop-items":
            _refuse_gaps(holes, ids, self.missing)
        return ~np.any(list(gaps.values()), axis=0)

    def items(self, table: Columns) -> Items:
        """The items of a table that came from a file, without those that the recipe drops."""
        ids = self.ids(table)
        names = range(len(table)) if ids is None else ids
        if ids is not None:
            refuse_bad_ids(ids)
        values = self.matrix(table)
        kept = self.complete(values, names)
        refuse_non_finite(
            values if kept.all() else np.where(kept[:, None], values, 0.0), self.names
        )
        if not kept.all():
            values, ids = values[kept], np.flatnonzero(kept) if ids is None else ids[kept]
        if len(values) == 0:
            raise PairscoreError(
                "the item table has no rows"
                + (" without missing values" if len(table) else "")
                + "; give one row for each item."
            )
        return Items(values, self.names, ids, Columns)

    def ids(self, table: Columns) -> np.ndarray | None:
        """What the items are called; None where they are known by their row number."""
        self.refuse_absent(table.columns)
        return None if self.id is None else table[self.id]

    def refuse_absent(self, columns: Collection[str]) -> None:
        """Every column that the recipe reads must be there; others do no harm."""
        if self.id is not None and self.id not in columns:
            close = did_you_mean(self.id, columns)
            raise PairscoreError(
                f"the item table has no column {self.id!r} for the ids; name the column that has"
                f" them: --id NAME.{close}"
            )
        absent = [name for name in self.sources if name not in columns]
        if absent:
            raise PairscoreError(
                f"the item table lacks {plural(len(absent), 'column')} that the score is made of:"
                f" {first_few(map(repr, absent))}; add them.{did_you_mean(absent[0], columns)}"
            )


def recipe_of(fit: Any) -> "Recipe":
    """The recipe that a fit (or a fitted model) was made with.

    Without one, its features are numeric columns of their names.
    """
    fit = getattr(fit, "result_", fit)
    if fit.recipe is None:
        return Recipe(tuple(map(str, fit.names)))
    recipe = Recipe.from_record(fit.recipe)
    if recipe.names != tuple(map(str, fit.names)):
        raise PairscoreError(
            "the model's recipe makes other features than it was fitted with; the file is damaged:"
            " fit again."
        )
    return recipe


# -- columns ---------------------------------------------------------------------------------------


def is_numeric(table: Columns, name: str) -> bool:
    """Whether a column has numbers or truth values."""
    return table.get_column(name).values.dtype.kind in "biuf"


def numbers(table: Columns, name: str) -> np.ndarray:
    """A numeric column."""
    if not is_numeric(table, name):
        example = next((value for value in table[name] if value is not None), None)
        raise PairscoreError(
            f"the column {name!r} of the item table is text (such as {example!r}); make it numbers,"
            f" or use --categorical {name!r} in the fit."
        )
    return table[name]


def _indicators(table: Columns, name: str, levels: tuple[str, ...]) -> np.ndarray:
    """0/1 columns, one per level; NaN in all of them where there is no level."""
    number_of: dict[Any, int] = {
        None: NO_LEVEL,
        **{level: number for number, level in enumerate(levels)},
    }
    codes = table.get_column(name).each(
        lambda values: looked_up(number_of, as_levels(values), UNKNOWN_LEVEL)
    )
    unknown = np.flatnonzero(codes == UNKNOWN_LEVEL)
    if len(unknown):
        found = as_levels(table.get_column(name).take(unknown).to_numpy())
        raise BadEntriesError(
            f"{plural(len(unknown), 'item')}"
            f" {'has a level' if len(unknown) == 1 else 'have levels'} of {name!r} that the fit did"
            f" not know: {first_few(map(repr, dict.fromkeys(found)))}",
            f"it knew {first_few(map(repr, levels), 8)}: leave these items out, or fit with some"
            " like them",
            "items",
            [(int(row), name, level) for row, level in zip(unknown, found, strict=True)],
            "a level that the fit did not know",
        )
    return np.where(codes[:, None] == NO_LEVEL, np.nan, codes[:, None] == np.arange(len(levels)))


def as_levels(values: np.ndarray) -> list[str | None]:
    """Levels as text, since in files 7 and "7" are the same; None where there is none."""
    return [None if value is None or value != value else str(value) for value in values.tolist()]


def _places(block: slice) -> Iterator[int]:
    return iter(range(block.start, block.stop))


def _refuse_gaps(holes: dict[str, np.ndarray], ids: Any, missing: str) -> None:
    shown = first_few(
        (
            f"{name!r} ({len(rows)}: {first_few((repr(_plain(ids[row])) for row in rows), 3)})"
            for name, rows in holes.items()
        ),
        20,
    )
    remedies = {
        "mean-with-flag": (
            "the fit had no gaps there, so it has no flag for them: fill them in, or leave these"
            " items out"
        ),
        "item-effect": (
            "the fit has no effect for these items: fill their values in, or leave them out"
        ),
    }
    remedy = remedies.get(
        missing,
        "fill them in, or fit with --missing drop-items, --missing mean-with-flag or --missing"
        " item-effect",
    )
    entries = [(int(row), name, None) for name, rows in holes.items() for row in rows]
    raise BadEntriesError(
        f"{plural(len(entries), 'feature value')} {'is' if len(entries) == 1 else 'are'} missing,"
        f" by column (how many: first ids): {shown}",
        remedy,
        "items",
        entries,
        "missing",
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
