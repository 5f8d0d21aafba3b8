"""The recipe: how the columns of an item table become features, the same way for old and new items.

    numeric columns as they are · 0/1 columns, one per level of a category · flags of missing values
    · squares · products of two columns

A recipe is kept with its model, so that new items need no instructions.
"""

import csv
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from pairscore.columns import Columns
from pairscore.errors import BadEntriesError, PairscoreError, first_few, plural
from pairscore.items import ID_COLUMN, Items, looked_up, refuse_bad_ids, refuse_non_finite

MISSING = ("refuse", "drop-items", "mean-with-flag")
MAX_LEVELS = 1000
NO_LEVEL, UNKNOWN_LEVEL = -1, -2


@dataclass(frozen=True)
class Recipe:
    """Which columns of an item table are features, and how.

    ``categorical`` has the levels of each category, ``means`` what fills the gaps of a column that had
    some in the fit (one number per 0/1 column of a category), ``note`` what was done about them there.
    """

    features: tuple[str, ...] = ()
    categorical: dict[str, tuple[str, ...]] = field(default_factory=dict)
    squares: tuple[str, ...] = ()
    interactions: tuple[tuple[str, str], ...] = ()
    missing: str = "refuse"
    means: dict[str, tuple[float, ...]] = field(default_factory=dict)
    id: str | None = ID_COLUMN
    note: str = ""

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> "Recipe":
        """A recipe from what :meth:`to_record` gave, after a journey through JSON."""
        try:
            features, squares = (tuple(map(str, record[name])) for name in ("features", "squares"))
            categorical = {str(name): tuple(map(str, levels)) for name, levels in record["categorical"].items()}
            interactions = tuple((str(first), str(second)) for first, second in record["interactions"])
            means = {str(name): tuple(map(float, values)) for name, values in record["means"].items()}
            identifier = None if record["id"] is None else str(record["id"])
            recipe = cls(features, categorical, squares, interactions, str(record["missing"]), means, identifier, str(record["note"]))
            known = {*recipe.names, *recipe.means, *recipe.squares}  # names are made of columns that the recipe has, or this fails
            if not recipe.sources or not known <= {*recipe.names, *recipe.sources} or recipe.missing not in MISSING:
                raise ValueError("no recipe")
            return recipe
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PairscoreError("the model's recipe for features cannot be read; the file is damaged or from a newer version: fit again.") from error

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
        return {name: slice(end - width, end) for name, width, end in zip(self.sources, widths, ends, strict=True)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the features are called: mass, style=oil, mass missing, mass^2, mass:style=oil."""
        made = {name: [f"{name}={level}" for level in self.categorical[name]] if name in self.categorical else [name] for name in self.sources}
        base = [column for columns in made.values() for column in columns]
        products = [f"{one}:{two}" for first, second in self.interactions for one in made[first] for two in made[second]]
        return (*base, *(f"{name} missing" for name in self.means), *(f"{name}^2" for name in self.squares), *products)

    def matrix(self, table: Columns) -> np.ndarray:
        """Feature values (N x d); NaN where a value is missing and the recipe does not fill it."""
        values = np.empty((len(table), len(self.names)))
        for name, block in self.blocks.items():
            values[:, block] = _indicators(table, name, self.categorical[name]) if name in self.categorical else _numbers(table, name)[:, None]
        rest = iter(range(sum(block.stop - block.start for block in self.blocks.values()), values.shape[1]))
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
        refuse_non_finite(values if kept.all() else np.where(kept[:, None], values, 0.0), self.names)
        if not kept.all():
            values, ids = values[kept], np.flatnonzero(kept) if ids is None else ids[kept]
        if len(values) == 0:
            raise PairscoreError("the item table has no rows" + (" without missing values" if len(table) else "") + "; give one row for each item.")
        return Items(values, self.names, ids, Columns)

    def ids(self, table: Columns) -> np.ndarray | None:
        """What the items are called; None where they are known by their row number."""
        self.refuse_absent(table.columns)
        return None if self.id is None else table[self.id]

    def refuse_absent(self, columns: Collection[str]) -> None:
        """Every column that the recipe reads must be there; others do no harm."""
        if self.id is not None and self.id not in columns:
            raise PairscoreError(f"the item table has no column {self.id!r} for the ids; name the column that has them: --id NAME.")
        absent = [name for name in self.sources if name not in columns]
        if absent:
            raise PairscoreError(
                f"the item table lacks {plural(len(absent), 'column')} that the score is made of: {first_few(map(repr, absent))}; add them."
                f"{_did_you_mean(absent[0], columns)}"
            )


def recipe_of(model: Any) -> Recipe:
    """The recipe that a model was saved with; without one, its features are numeric columns of their names."""
    record = getattr(model, "recipe_", None)
    names = getattr(model, "feature_names_in_", [f"x{column}" for column in range(model.n_features_in_)])
    recipe = Recipe(tuple(map(str, names))) if record is None else Recipe.from_record(record)
    if recipe.names != tuple(map(str, names)):
        raise PairscoreError("the model's recipe makes other features than it was fitted with; the file is damaged: fit again.")
    return recipe


def make_recipe(
    table: Columns,
    *,
    id: str | None = None,
    features: Collection[str] = (),
    exclude: Collection[str] = (),
    categorical: Collection[str] = (),
    squares: Collection[str] = (),
    interactions: Collection[str] = (),
    missing: str = "refuse",
) -> tuple[Recipe, list[str]]:
    """A recipe for the columns of ``table``, and the names of the text columns that it leaves out.

    Without ``features``, every numeric column is one. ``interactions`` are written ``a:b``.
    """
    if missing not in MISSING:
        raise PairscoreError(f"missing is {missing!r}; use one of {first_few(map(repr, MISSING))}.")
    id = id or (ID_COLUMN if ID_COLUMN in table else None)
    _refuse_names(table, {"--id": [id] if id else [], "--features": features, "--exclude": exclude, "--categorical": categorical})
    rest = [name for name in table.columns if name != id and name not in (*exclude, *categorical)]
    text = [name for name in rest if not _is_numeric(table, name) and name not in features]
    chosen = [name for name in features if name not in categorical] if features else [name for name in rest if name not in text]
    if not chosen and not categorical:
        raise PairscoreError(f"the item table has no numeric column to learn from{_text_columns(text)}; add one, or use --categorical NAME.")
    recipe = Recipe(tuple(chosen), {name: _levels(table, name) for name in categorical}, missing=missing, id=id)
    for name in recipe.features:
        _numbers(table, name)  # text that was asked for as a number is refused
    recipe = replace(recipe, squares=_squares(squares, recipe), interactions=tuple(_pair(term, recipe) for term in interactions))
    recipe = _with_means(recipe, table) if missing == "mean-with-flag" else recipe
    repeated = {name for name in recipe.names if recipe.names.count(name) > 1} if len(set(recipe.names)) < len(recipe.names) else set()
    if repeated:
        raise PairscoreError(
            f"{plural(len(repeated), 'feature')} would be made twice: {first_few(map(repr, sorted(repeated)))}; rename a column or drop a term."
        )
    return recipe, ([] if features else text)


def listed(texts: Iterable[str]) -> list[str]:
    """The names in options such as ``a,b`` or ``"x, y",z``, each once."""
    return list(dict.fromkeys(name.strip() for row in csv.reader(texts, skipinitialspace=True) for name in row if name.strip()))


# -- columns ---------------------------------------------------------------------------------------


def _is_numeric(table: Columns, name: str) -> bool:
    return table.get_column(name).values.dtype.kind in "biuf"


def _numbers(table: Columns, name: str) -> np.ndarray:
    """A numeric column."""
    if not _is_numeric(table, name):
        example = next((value for value in table[name] if value is not None), None)
        raise PairscoreError(f"the column {name!r} of the item table is text (such as {example!r}); make it numbers, or use --categorical {name!r} in the fit.")
    return table[name]


def _indicators(table: Columns, name: str, levels: tuple[str, ...]) -> np.ndarray:
    """0/1 columns, one per level; NaN in all of them where there is no level."""
    number_of: dict[Any, int] = {None: NO_LEVEL, **{level: number for number, level in enumerate(levels)}}
    codes = table.get_column(name).each(lambda values: looked_up(number_of, _as_levels(values), UNKNOWN_LEVEL))
    unknown = np.flatnonzero(codes == UNKNOWN_LEVEL)
    if len(unknown):
        found = _as_levels(table.get_column(name).take(unknown).to_numpy())
        raise BadEntriesError(
            f"{plural(len(unknown), 'item')} {'has a level' if len(unknown) == 1 else 'have levels'} of {name!r} that the fit did not know: "
            f"{first_few(map(repr, dict.fromkeys(found)))}",
            f"it knew {first_few(map(repr, levels), 8)}: leave these items out, or fit with some like them",
            "items",
            [(int(row), name, level) for row, level in zip(unknown, found, strict=True)],
            "a level that the fit did not know",
        )
    return np.where(codes[:, None] == NO_LEVEL, np.nan, codes[:, None] == np.arange(len(levels)))


def _as_levels(values: np.ndarray) -> list[str | None]:
    """Levels as text, since in files 7 and "7" are the same; None where there is none."""
    return [None if value is None or value != value else str(value) for value in values.tolist()]


def _levels(table: Columns, name: str) -> tuple[str, ...]:
    levels = sorted({level for level in _as_levels(table.get_column(name).values) if level is not None})
    if not levels or len(levels) > MAX_LEVELS:
        raise PairscoreError(
            f"the column {name!r} has {plural(len(levels), 'level')}, and a category has from 1 to {MAX_LEVELS}; leave it out, or group its levels."
        )
    return tuple(levels)


def _places(block: slice) -> Iterator[int]:
    return iter(range(block.start, block.stop))


# -- terms and gaps --------------------------------------------------------------------------------


def _squares(names: Collection[str], recipe: Recipe) -> tuple[str, ...]:
    for name in names:
        if name in recipe.categorical:
            raise PairscoreError(f"the square of the category {name!r} is the category itself; leave it out of --square.")
        if name not in recipe.features:
            raise PairscoreError(f"--square names {name!r}, which is no feature; the features are {first_few(map(repr, recipe.features), 8)}.")
    return tuple(names)


def _pair(term: str, recipe: Recipe) -> tuple[str, str]:
    """The two columns of ``a:b``; a colon may also belong to a name."""
    parts = term.split(":")
    splits = [(":".join(parts[:cut]).strip(), ":".join(parts[cut:]).strip()) for cut in range(1, len(parts))]
    known = [pair for pair in splits if pair[0] in recipe.sources and pair[1] in recipe.sources]
    if len(known) != 1:
        raise PairscoreError(f"--interact {term!r} does not name two features; write a:b, with two of {first_few(map(repr, recipe.sources), 8)}.")
    if known[0][0] == known[0][1]:
        raise PairscoreError(f"--interact {term!r} is a column with itself; use --square {known[0][0]!r}.")
    return known[0]


def _with_means(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with means, and a note, for the columns that have gaps."""
    values = replace(recipe, squares=(), interactions=()).matrix(table)
    counts = {name: int(np.isnan(values[:, block.start]).sum()) for name, block in recipe.blocks.items()}
    holes = {name: count for name, count in counts.items() if count}
    empty = [name for name, count in holes.items() if count == len(table)]
    if empty:
        raise PairscoreError(f"{plural(len(empty), 'column')} without any value: {first_few(map(repr, empty))}; leave them out: --exclude NAME.")
    means = {name: tuple(np.nanmean(values[:, recipe.blocks[name]], axis=0).tolist()) for name in holes}
    shown = first_few(f"{count} of {name}" for name, count in holes.items())
    return replace(recipe, means=means, note=f"filled with the mean, and flagged: {shown}" if holes else "")


def _refuse_gaps(holes: dict[str, np.ndarray], ids: Any, missing: str) -> None:
    shown = first_few((f"{name!r} ({len(rows)}: {first_few((repr(_plain(ids[row])) for row in rows), 3)})" for name, rows in holes.items()), 20)
    remedy = (
        "the fit had no gaps there, so it has no flag for them: fill them in, or leave these items out"
        if missing == "mean-with-flag"
        else "fill them in, or fit with --missing drop-items or --missing mean-with-flag"
    )
    entries = [(int(row), name, None) for name, rows in holes.items() for row in rows]
    raise BadEntriesError(
        f"{plural(len(entries), 'feature value')} {'is' if len(entries) == 1 else 'are'} missing, by column (how many: first ids): {shown}",
        remedy,
        "items",
        entries,
        "missing",
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _refuse_names(table: Columns, named: dict[str, Collection[str]]) -> None:
    for option, names in named.items():
        for name in names:
            if name not in table:
                known = first_few(map(repr, table.columns), 8)
                raise PairscoreError(f"{option} names {name!r}, and the item table has no such column; it has {known}.{_did_you_mean(name, table.columns)}")


def _did_you_mean(name: str, columns: Collection[str]) -> str:
    close = get_close_matches(name, list(columns), 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _text_columns(names: list[str]) -> str:
    return f" (text: {first_few(map(repr, names))})" if names else ""
