"""Comparisons in a model file."""

from numbers import Real
from typing import Any

import numpy as np

from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.data.tables import Columns, is_missing, named_backend
from pairscore.data.votes import PER_ROW
from pairscore.errors import (
    PairscoreError,
)

DATA = "data_"  # what the names of the arrays of comparisons begin with
CONTEXT = f"{DATA}context_"
GROUPS = f"{DATA}item_groups"


def comparisons_to_arrays(data: Comparisons) -> dict[str, np.ndarray]:
    """Arrays without objects, named so that they can stand beside a model's own."""
    columns = data.votes.columns()
    if data.covariance_items is not None:
        columns["covariance_items"] = data.covariance_items
    if data.items.ids is not None:
        columns["ids"] = data.items.ids
    arrays = {f"{DATA}{name}": _without_objects(column, name) for name, column in columns.items()}
    arrays |= {f"{CONTEXT}{name}": column for name, column in data.context.items()}
    seed = -1 if data.seed is None else data.seed
    arrays[f"{DATA}facts"] = np.array([data.sides_known, seed, data.items.backend is Columns])
    return arrays | {f"{DATA}values": data.items.values}


def comparisons_from_arrays(
    arrays: dict[str, np.ndarray],
    feature_names: tuple[str, ...],
    recipe: dict[str, Any] | None = None,
    table: str | None = None,
) -> Comparisons | None:
    """The comparisons again; None if the model was saved without them.

    ``table`` is the kind of table that the items came in, which files of before do not name.
    """
    if f"{DATA}values" not in arrays:
        return None
    sides_known, seed, from_file = arrays[f"{DATA}facts"].tolist()
    ids = arrays.get(f"{DATA}ids")
    ids = ids.astype(object) if ids is not None and ids.dtype.kind == "U" else ids
    backend = Columns if from_file else dict
    backend = backend if table is None else named_backend(table)
    items = Items(arrays[f"{DATA}values"], feature_names, ids, backend, recipe)
    context = {n.removeprefix(CONTEXT): a for n, a in arrays.items() if n.startswith(CONTEXT)}
    columns = {name: arrays.get(f"{DATA}{name}") for name in (*PER_ROW, "covariance_items")}
    columns["judge"] = _with_missing(columns["judge"])
    return Comparisons(
        items,
        **columns,
        sides_known=bool(sides_known),
        seed=None if seed < 0 else int(seed),
        context=context,
    )


def _without_objects(column: np.ndarray, name: str) -> np.ndarray:
    """Numbers, or text as text; other objects would run code when they are read."""
    if column.dtype != object:
        return column
    values = column.tolist()
    if name == "judge":  # some comparisons may be of nobody, which a file says by no name
        known = [value for value in values if not is_missing(value)]
        if known and all(isinstance(value, Real) and float(value) == value for value in known):
            return np.array([np.nan if is_missing(value) else value for value in values], float)
        values = ["" if is_missing(value) else value for value in values]
    if not all(isinstance(value, str) for value in values):
        raise PairscoreError(
            f"the {'id' if name == 'ids' else name} has entries that are neither all text nor all"
            " numbers, so the data cannot be kept in a file; make them text."
        )
    return np.array(values, dtype=str)


def _with_missing(judge: np.ndarray | None) -> np.ndarray | None:
    """Names of judges (M) with None where a file has no name."""
    if judge is None or judge.dtype.kind != "U" or np.all(judge != ""):
        return judge
    names = judge.astype(object)
    names[judge == ""] = None
    return names
