"""Items that a fit is asked about: its own, by id or all of them, and new ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.data.items import (
    Items,
    feature_keys,
    read_names,
)
from pairscore.data.tables import (
    as_frame,
    named_backend,
    to_array,
)
from pairscore.display import first_few
from pairscore.effects.item_effects import KnownItems
from pairscore.errors import CallError, PairscoreError
from pairscore.messages import Action
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
        raise CallError(
            "difference takes two items, or two arrays of equally many ids, or one id and an array",
            "for other pairs use " + Action("Comparisons.from_pairs"),
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
