"""Items that a fit is asked about: its own, by id or all of them, and new ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pairscore.choices import UNKNOWN_RULES
from pairscore.data.items import (
    Items,
    are_computable,
    feature_keys,
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
    named_backend,
    to_array,
)
from pairscore.display import first_few, plural
from pairscore.effects.item_effects import KnownItems
from pairscore.errors import BadEntriesError, PairscoreError, warn_caller
from pairscore.files.faults import all_faults
from pairscore.messages import Setting
from pairscore.model.fit import Fit

ID_KINDS = (str, int, np.integer)


@dataclass(frozen=True)
class ItemRows:
    """One side of n pairs: rows (n,) of a table of items."""

    items: Items
    rows: np.ndarray


def items_of_fit(fit: Fit) -> Items:
    """The items that were compared, from the comparisons or, without features, from the fit."""
    data = fit.comparisons
    if fit.n_features:
        if data is None:
            raise PairscoreError(
                "the model does not have the items that it was fitted to; give a table of items."
            )
        return data.items.take(np.flatnonzero(data.compared))
    effects = fit.item_effects
    assert effects is not None  # without features every fit has them
    known = np.flatnonzero(np.isfinite(effects.effect))
    ids = known if effects.ids is None else effects.ids[known]
    table = fit.record.get("table", "array")  # of a model that was saved without its comparisons
    backend = named_backend("array" if table == "file" else table)
    if data is not None:
        backend = data.items.backend
    return Items(np.empty((len(known), 0)), (), ids, backend)


def item_of_id(fit: Fit, name: Any) -> Items:
    """One item of the fit, by its id."""
    if not fit.n_features:
        return read_names(name)
    one = rows_of_ids(fit, np.array([name]))
    return one.items.take(one.rows)


def rows_of_ids(fit: Fit, names: np.ndarray) -> ItemRows:
    """The items of the fit, and in which of their rows those with these ids (n,) stand."""
    if fit.n_features and fit.comparisons is None:
        raise PairscoreError(
            f"the model has no table in which to look up the item {names.tolist()[0]!r}; give its"
            " features."
        )
    table = items_of_fit(fit) if fit.comparisons is None else fit.comparisons.items
    rows = table.find_rows_by_text(names)
    if np.any(rows < 0):
        unknown = list(dict.fromkeys(names[rows < 0].tolist()))
        what = "in the table of the fit; give its features" if fit.n_features else "in the fit"
        raise PairscoreError(f"there is no item {first_few(map(repr, unknown))} {what}.")
    return ItemRows(table, rows)


def single_item(item: Any, read: Callable[[Any], Items]) -> Items:
    """One item, from a table of one row or its features in a row, as ``read`` reads tables."""
    # a pandas Series is one row with names
    if hasattr(item, "to_frame") and hasattr(item, "index"):
        item = item.to_frame().T.infer_objects()
    is_table = isinstance(item, Items | dict) or as_frame(item) is not None
    table = read(item if is_table else np.atleast_2d(to_array(item, "an item is")))
    if len(table) != 1:
        raise PairscoreError(
            "difference compares two single items, but one of them has"
            f" {len(table)} rows; give one row each."
        )
    return table


def pairs_of_ids(
    fit: Fit, a: Any, b: Any, n_features: int | None = None
) -> tuple[ItemRows, ItemRows] | None:
    """Both sides of pairs that are arrays of ids, in the items of the fit.

    One of them may be a single id. None where neither is an array of ids, but an item, of
    ``n_features`` or as many as the fit has.
    """
    n_features = fit.n_features if n_features is None else n_features
    arrays = [_array_of_ids(n_features, side) for side in (a, b)]
    if all(ids is None for ids in arrays):
        return None
    sides = [
        np.array([side]) if ids is None and isinstance(side, ID_KINDS) else ids
        for side, ids in zip((a, b), arrays, strict=True)
    ]
    sizes = {len(ids) for ids in arrays if ids is not None}
    first, second = sides
    if first is None or second is None or len(sizes) > 1:
        raise PairscoreError(
            "difference takes two items, or two arrays of equally many ids, or one id and an array;"
            " for other pairs use Comparisons.from_pairs(items, left, right)."
        )
    n = sizes.pop()
    left = rows_of_ids(fit, first)
    right = rows_of_ids(fit, second)
    return (
        ItemRows(left.items, np.broadcast_to(left.rows, n)),
        ItemRows(right.items, np.broadcast_to(right.rows, n)),
    )


def _array_of_ids(n_features: int, given: Any) -> np.ndarray | None:
    """An array of ids: text, or whole numbers, unless these are as many as the features."""
    if isinstance(given, (*ID_KINDS, Items, dict)) or as_frame(given) is not None:
        return None
    array = to_array(given, "an item is")
    if array.ndim != 1:
        return None
    is_text = all(isinstance(name, str) for name in array.tolist())
    return array if is_text or (array.dtype.kind in "iu" and len(array) != n_features) else None


def known_items(fit: Fit, items: Items) -> KnownItems | None:
    """What a fit with item effects knows of these items; None without item effects."""
    effects = fit.item_effects
    if effects is None:
        return None
    by_id = items.ids is not None and effects.ids is not None
    return effects.known(items.ids, np.empty(0) if by_id else feature_keys(items.values))


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


def refuse_unknown_abilities(
    fit: Fit, scores: np.ndarray, ids: np.ndarray | None, rows: Any = slice(None)
) -> None:
    """A model without features knows nothing of items that it has not seen.

    ``scores`` (N) are NaN for these; those of ``rows`` are asked for.
    """
    if fit.item_effects is None or not fit.item_effects.free:
        return
    asked = np.arange(len(scores))[rows]
    unknown = asked[np.isnan(scores[asked])]
    if len(unknown):
        named = dict.fromkeys((unknown if ids is None else ids[unknown]).tolist())
        raise PairscoreError(
            f"there is no item {first_few(map(repr, named))} in the fit, and a model without"
            " features knows only the items that it was fitted to; leave it out, or fit with"
            " features."
        )


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
        raise PairscoreError(f"unknown is {unknown!r}; use 'stop' or 'skip'.")
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
