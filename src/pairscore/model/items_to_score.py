"""Items that a model is to score: a table, records or one item, read as those of its fit."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pairscore.choices import UNKNOWN_RULES
from pairscore.data.items import (
    Items,
    are_computable,
    is_list_of_numbers,
    one_row,
    read_items,
    read_names,
    refuse_bad_ids,
    with_features,
    with_same_ids,
)
from pairscore.data.recipe import apply_recipe, recipe_of, remedies_of_items
from pairscore.data.tables import (
    ID_COLUMN,
    Column,
    Columns,
    as_frame,
    backend_of,
    column_of,
    ids_of,
    list_lengths,
)
from pairscore.display import first_few, plural
from pairscore.errors import BadEntriesError, PairscoreError, warn_caller
from pairscore.files.bad_rows import all_faults
from pairscore.messages import Setting
from pairscore.model.fit import Fit
from pairscore.model.item_lookup import items_of_fit


def read_items_for(fit: Fit, items: Any) -> Items:
    """Items with the features of the fit, found by name; a dict of single values is one item."""
    if not fit.n_features and not isinstance(items, Items):
        return read_names(one_row(items) if isinstance(items, dict) else items)
    is_plain = fit.recipe is None or tuple(fit.recipe["features"]) == fit.names
    if is_plain or not isinstance(items, dict):
        id = ID_COLUMN if fit.recipe is None else fit.recipe["id"]
        plain = read_plain(items, fit.names, id)
        if plain is not None:
            return plain
    items = one_row(items, fit.names) if isinstance(items, dict) else items
    if fit.recipe is None:
        return read_items(items, fit.names)
    return with_features(apply_recipe(recipe_of(fit), items), fit.names)


def scored_items(items: Any, read: Callable[[Any], Items]) -> Items:
    """The items of a table that ``read`` can read; a warning lists the others."""
    try:
        return read(items)
    except BadEntriesError:
        frame = as_frame(items)
        if frame is None:
            raise
    columns: dict[str, Any] = {str(name): column_of(frame, name) for name in frame.columns}
    ids = ids_of(frame)
    if ids is not None:
        columns.setdefault(ID_COLUMN, Column(ids))
    table = Columns(columns)
    names = table[ID_COLUMN].tolist() if ID_COLUMN in table.columns else []
    faults = [with_same_ids(fault, names) for fault in all_faults(read, table)]
    bad = sorted({row for fault in faults for row, _, _ in fault.entries})
    if len(bad) == len(table):
        return read(items)  # which says what is wrong with all of them
    why = first_few(
        f"row {row}, {column!r}: {fault.reason}"
        for fault in faults
        for row, column, _ in fault.entries
    )
    warn_caller(
        f"{len(bad)} of {plural(len(table), 'item')} could not be scored, and"
        f" {'is' if len(bad) == 1 else 'are'} not in the ranking: {why}."
    )
    kept = np.setdiff1d(np.arange(len(table)), bad)
    found = read(table.take(kept))
    return replace(found, backend=backend_of(frame), ids=kept if found.ids is None else found.ids)


def items_to_rank(fit: Fit, items: Any, unknown: str) -> Items:
    """The items of a ranking: all that were compared unless given.

    Items that cannot be scored are an error, or are left out where ``unknown`` is "skip".
    """
    if unknown not in UNKNOWN_RULES:
        raise PairscoreError(Setting("unknown") + f" is {unknown!r}", "use 'stop' or 'skip'")
    if items is None:
        return items_of_fit(fit)
    read = partial(read_items_for, fit)
    if unknown == "skip" and not isinstance(items, Items):
        return scored_items(items, read)
    try:
        return read(items)
    except BadEntriesError as error:
        rank_others = "rank the others with " + Setting("unknown", "skip")
        raise error.with_remedies([*remedies_of_items(error), rank_others]) from None


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
        name = None if id is None else items.get(id)
        backend = dict
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
