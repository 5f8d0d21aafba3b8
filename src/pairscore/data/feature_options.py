"""From options such as ``--features a,b`` and ``--square a`` to a recipe for the columns of a
table. Tables of items with missing values, from Python: the recipes of files for every kind of
table.
"""

import csv
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.data.features import MISSING, Recipe, as_levels, is_numeric, numbers
from pairscore.data.items import (
    ID_COLUMN,
    Items,
    as_frame,
    index_ids,
    read_items,
    refuse_non_numeric,
    to_array,
)
from pairscore.data.tables import Columns
from pairscore.errors import PairscoreError, did_you_mean, first_few, plural

MAX_LEVELS = 1000


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
    _refuse_names(
        table.columns,
        id=[id] if id else [],
        features=features,
        exclude=exclude,
        categorical=categorical,
    )
    rest = [name for name in table.columns if name != id and name not in (*exclude, *categorical)]
    text = [name for name in rest if not is_numeric(table, name) and name not in features]
    chosen = (
        [name for name in features if name not in categorical]
        if features
        else [name for name in rest if name not in text]
    )
    if not chosen and not categorical:
        raise PairscoreError(
            f"the item table has no numeric column to learn from{_text_columns(text)}; add one, or"
            " use --categorical NAME."
        )
    recipe = Recipe(
        tuple(chosen), {name: _levels(table, name) for name in categorical}, missing=missing, id=id
    )
    for name in recipe.features:
        numbers(table, name)  # text that was asked for as a number is refused
    recipe = replace(
        recipe,
        squares=_squares(squares, recipe),
        interactions=tuple(_pair(term, recipe) for term in interactions),
    )
    fill = {"mean-with-flag": _with_means, "item-effect": _with_own_effects}.get(missing)
    recipe = recipe if fill is None else fill(recipe, table)
    repeated = (
        {name for name in recipe.names if recipe.names.count(name) > 1}
        if len(set(recipe.names)) < len(recipe.names)
        else set()
    )
    if repeated:
        raise PairscoreError(
            f"{plural(len(repeated), 'feature')} would be made twice:"
            f" {first_few(map(repr, sorted(repeated)))}; rename a column or drop a term."
        )
    return recipe, ([] if features else text)


def item_columns(
    names: Collection[str],
    nested: Collection[str],
    *,
    id: str | None = None,
    features: Collection[str] = (),
    exclude: Collection[str] = (),
    categorical: Collection[str] = (),
    **_: Any,
) -> set[str]:
    """The columns that a recipe of these settings looks at: those named.

    Without ``features``, also the others, but for lists and records.
    """
    _refuse_names(
        names, id=[id] if id else [], features=features, exclude=exclude, categorical=categorical
    )
    others = (
        () if features else (name for name in names if name not in exclude and name not in nested)
    )
    return {id or ID_COLUMN, *features, *categorical, *others}


def listed(texts: Iterable[str]) -> list[str]:
    """The names in options such as ``a,b`` or ``"x, y",z``, each once."""
    return list(
        dict.fromkeys(
            name.strip()
            for row in csv.reader(texts, skipinitialspace=True)
            for name in row
            if name.strip()
        )
    )


def _levels(table: Columns, name: str) -> tuple[str, ...]:
    levels = sorted(
        {level for level in as_levels(table.get_column(name).values) if level is not None}
    )
    if not levels or len(levels) > MAX_LEVELS:
        raise PairscoreError(
            f"the column {name!r} has {plural(len(levels), 'level')}, and a category has from 1 to"
            f" {MAX_LEVELS}; leave it out, or group its levels."
        )
    return tuple(levels)


def _squares(names: Collection[str], recipe: Recipe) -> tuple[str, ...]:
    for name in names:
        if name in recipe.categorical:
            raise PairscoreError(
                f"the square of the category {name!r} is the category itself; leave it out of"
                " --square."
            )
        if name not in recipe.features:
            known = first_few(map(repr, recipe.features), 8)
            raise PairscoreError(
                f"--square names {name!r}, which is no feature; the features are"
                f" {known}.{did_you_mean(name, recipe.features)}"
            )
    return tuple(names)


def _pair(term: str, recipe: Recipe) -> tuple[str, str]:
    """The two columns of ``a:b``; a colon may also belong to a name."""
    parts = term.split(":")
    splits = [
        (":".join(parts[:cut]).strip(), ":".join(parts[cut:]).strip())
        for cut in range(1, len(parts))
    ]
    known = [pair for pair in splits if pair[0] in recipe.sources and pair[1] in recipe.sources]
    if len(known) != 1:
        strange = next(
            (part for pair in splits for part in pair if part not in recipe.sources), None
        )
        close = "" if strange is None else did_you_mean(strange, recipe.sources)
        raise PairscoreError(
            f"--interact {term!r} does not name two features; write a:b, with two of"
            f" {first_few(map(repr, recipe.sources), 8)}.{close}"
        )
    if known[0][0] == known[0][1]:
        raise PairscoreError(
            f"--interact {term!r} is a column with itself; use --square {known[0][0]!r}."
        )
    return known[0]


def _with_means(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with means, and a note, for the columns that have gaps."""
    values = replace(recipe, squares=(), interactions=()).matrix(table)
    counts = {
        name: int(np.isnan(values[:, block.start]).sum()) for name, block in recipe.blocks.items()
    }
    holes = {name: count for name, count in counts.items() if count}
    empty = [name for name, count in holes.items() if count == len(table)]
    if empty:
        raise PairscoreError(
            f"{plural(len(empty), 'column')} without any value: {first_few(map(repr, empty))};"
            " leave them out: --exclude NAME."
        )
    means = {
        name: tuple(np.nanmean(values[:, recipe.blocks[name]], axis=0).tolist()) for name in holes
    }
    shown = first_few(f"{count} of {name}" for name, count in holes.items())
    return replace(
        recipe, means=means, note=f"filled with the mean, and flagged: {shown}" if holes else ""
    )


def _with_own_effects(recipe: Recipe, table: Columns) -> Recipe:
    """The recipe with an effect for every item that has gaps, and a note that names them."""
    values = replace(recipe, squares=(), interactions=()).matrix(table)
    gaps = np.isnan(values).any(axis=1)
    if not gaps.any():
        return recipe
    if recipe.id is None:
        raise PairscoreError(
            "items with missing values get effects of their own by their ids, and the item table"
            " has none; add a column 'id'."
        )
    if gaps.all() or gaps.sum() > MAX_LEVELS:
        raise PairscoreError(
            f"{int(gaps.sum())} of {plural(len(table), 'item')} have missing values, too many for"
            " effects of their own; use mean-with-flag."
        )
    own = tuple(str(name) for name in table[recipe.id][gaps].tolist())
    means = {
        name: tuple(np.nanmean(values[:, block], axis=0).tolist())
        for name, block in recipe.blocks.items()
    }
    note = (
        f"{plural(len(own), 'item')} with an effect of {'its' if len(own) == 1 else 'their'} own:"
        f" {first_few(map(repr, own))}"
    )
    return replace(recipe, means=means, own=own, note=note)


def _refuse_names(columns: Collection[str], **named: Collection[str]) -> None:
    for option, names in named.items():
        for name in names:
            if name not in columns:
                known = first_few(map(repr, columns), 8)
                raise PairscoreError(
                    f"--{option} names {name!r}, and the item table has no such column; it has"
                    f" {known}.{did_you_mean(name, columns)}"
                )


def _text_columns(names: list[str]) -> str:
    return f" (text: {first_few(map(repr, names))})" if names else ""


FILLED = ("mean-with-flag", "item-effect")


def items_with_gaps(items: Any, missing: str) -> Items:
    """Read a table of items whose missing values are filled as ``missing`` says."""
    if missing not in FILLED:
        raise PairscoreError(
            f"missing is {missing!r}; use 'refuse', 'mean-with-flag' or 'item-effect'."
        )
    if isinstance(items, Items):
        return items
    table = _columns(items)
    refuse_non_numeric(table, tuple(name for name in table.columns if name != ID_COLUMN))
    recipe, _ = make_recipe(table, missing=missing)
    return _made(recipe, table, items)


def items_by_recipe(recipe: Recipe, items: Any) -> Items:
    """The items of a table by the recipe of a model.

    A table that has the made features already is read as it is.
    """
    frame = as_frame(items)
    if isinstance(items, Items) or (
        frame is None and np.ndim(items) == 2 and np.shape(items)[1] == len(recipe.names)
    ):
        return read_items(items)
    if (
        frame is not None
        and not set(recipe.sources) <= set(map(str, frame.columns))
        and set(recipe.names) <= set(map(str, frame.columns))
    ):
        return read_items(items)
    table = _columns(items)
    return _made(recipe if recipe.id in table.columns else replace(recipe, id=None), table, items)


def _made(recipe: Recipe, table: Columns, items: Any) -> Items:
    frame = as_frame(items)
    if isinstance(frame, Columns):
        backend: Any = Columns if frame.as_written else dict
    else:
        backend = None if frame is None else frame.implementation
    return replace(recipe.items(table), backend=backend, recipe=recipe.to_record())


def _columns(items: Any) -> Columns:
    """Any table as named columns; an index that says something is the id."""
    frame = as_frame(items)
    if isinstance(frame, Columns):
        return frame
    if frame is None:
        values = to_array(items, "the items are")
        if values.ndim != 2:
            raise PairscoreError(
                f"the items are an array of {values.ndim} dimensions; give two: one row per item,"
                " one column per feature."
            )
        return Columns({f"x{place}": column for place, column in enumerate(values.T)})
    columns: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame.columns}
    ids = index_ids(frame) if ID_COLUMN not in columns else None
    return Columns(columns if ids is None else {ID_COLUMN: ids, **columns})
