"""Tables of items with missing values, from Python: the recipes of files for every kind of table."""

from dataclasses import replace
from typing import Any

import numpy as np

from pairscore.columns import Columns
from pairscore.errors import PairscoreError
from pairscore.items import ID_COLUMN, Items, as_frame, index_ids, read_items, refuse_non_numeric, to_array
from pairscore.recipe import Recipe
from pairscore.recipe_options import make_recipe

FILLED = ("mean-with-flag", "item-effect")


def items_with_gaps(items: Any, missing: str) -> Items:
    """Read a table of items whose missing values are filled as ``missing`` says."""
    if missing not in FILLED:
        raise PairscoreError(f"missing is {missing!r}; use 'refuse', 'mean-with-flag' or 'item-effect'.")
    if isinstance(items, Items):
        return items
    table = _columns(items)
    refuse_non_numeric(table, tuple(name for name in table.columns if name != ID_COLUMN))
    recipe, _ = make_recipe(table, missing=missing)
    return _made(recipe, table, items)


def items_by_recipe(recipe: Recipe, items: Any) -> Items:
    """The items of a table by the recipe of a model; a table that has the made features already is read as it is."""
    frame = as_frame(items)
    if isinstance(items, Items) or (frame is None and np.ndim(items) == 2 and np.shape(items)[1] == len(recipe.names)):
        return read_items(items)
    if frame is not None and not set(recipe.sources) <= set(map(str, frame.columns)) and set(recipe.names) <= set(map(str, frame.columns)):
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
            raise PairscoreError(f"the items are an array of {values.ndim} dimensions; give two: one row per item, one column per feature.")
        return Columns({f"x{place}": column for place, column in enumerate(values.T)})
    columns: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame.columns}
    ids = index_ids(frame) if ID_COLUMN not in columns else None
    return Columns(columns if ids is None else {ID_COLUMN: ids, **columns})
