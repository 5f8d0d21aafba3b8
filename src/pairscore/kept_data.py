"""The comparisons that a model was fitted to, as plain arrays: what it takes to add votes to a model that comes from a file."""

from typing import Any

import numpy as np

from pairscore.columns import Columns
from pairscore.comparisons import Comparisons
from pairscore.errors import PairscoreError
from pairscore.items import Items
from pairscore.votes import PER_ROW

PREFIX = "data_"
CONTEXT = f"{PREFIX}context_"


def to_arrays(data: Comparisons) -> dict[str, np.ndarray]:
    """Arrays without objects, named so that they can stand beside a model's own."""
    arrays = {f"{PREFIX}{name}": _plain(column, name) for name in (*PER_ROW, "covariance_items") if (column := getattr(data, name)) is not None}
    arrays |= {f"{CONTEXT}{name}": column for name, column in data.context.items()}
    arrays[f"{PREFIX}values"] = data.items.values
    if data.items.ids is not None:
        arrays[f"{PREFIX}ids"] = _plain(data.items.ids, "id")
    arrays[f"{PREFIX}facts"] = np.array([data.sides_known, -1 if data.seed is None else data.seed, data.items.backend is Columns])
    return arrays


def from_arrays(arrays: dict[str, np.ndarray], feature_names: tuple[str, ...]) -> Comparisons | None:
    """The comparisons again; None if the model was saved without them."""
    if f"{PREFIX}values" not in arrays:
        return None
    sides_known, seed, from_file = arrays[f"{PREFIX}facts"].tolist()
    ids = arrays.get(f"{PREFIX}ids")
    items = Items(arrays[f"{PREFIX}values"], feature_names, ids if ids is None or ids.dtype.kind != "U" else ids.astype(object), Columns if from_file else dict)
    columns: dict[str, Any] = {name: arrays.get(f"{PREFIX}{name}") for name in (*PER_ROW, "covariance_items")}
    context = {name.removeprefix(CONTEXT): column for name, column in arrays.items() if name.startswith(CONTEXT)}
    return Comparisons(items, **columns, sides_known=bool(sides_known), seed=None if seed < 0 else int(seed), context=context)


def _plain(column: np.ndarray, name: str) -> np.ndarray:
    """Numbers, or text as text; other objects cannot be kept without running code when they are read."""
    if column.dtype != object:
        return column
    if not all(isinstance(value, str) for value in column.tolist()):
        raise PairscoreError(f"the {name} has entries that are neither all text nor all numbers, so the data cannot be kept in a file; make them text.")
    return column.astype(str)


def joined(data: Comparisons, more: Comparisons) -> Comparisons:
    """The comparisons of both, which speak of one item table."""
    columns: dict[str, Any] = {}
    for name in PER_ROW:
        one, other = getattr(data, name), getattr(more, name)
        if (one is None) != (other is None):
            if name == "judge":
                raise PairscoreError("only some of the votes say who judged; give a judge for all votes, or for none.")
            one, other = (np.ones(len(part)) if column is None else column for part, column in ((data, one), (more, other)))
        columns[name] = None if one is None else np.concatenate([one, other])
    if set(data.context) != set(more.context):
        raise PairscoreError(f"the new votes have the context {sorted(more.context)} and the old ones {sorted(data.context)}; give the same columns.")
    context = {name: np.concatenate([column, more.context[name]]) for name, column in data.context.items()}
    sides_known = data.sides_known and more.sides_known
    return Comparisons(more.items, **columns, sides_known=sides_known, seed=data.seed, covariance_items=data.covariance_items, context=context)
