"""What people give to ``fit``, as comparisons: items and votes, Comparisons, or a plain matrix of differences."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from pairscore.comparisons import Comparisons, refuse_other_self_pairs
from pairscore.errors import PairscoreError
from pairscore.items import Items, as_frame, to_array
from pairscore.votes import Votes


def comparisons_to_fit(model: Any, X: Any, y: Any, covariance_items: Any, self_pairs: str) -> tuple[Comparisons, bool]:
    """What was given to ``fit`` as comparisons, and whether they are of items that are known; sets the model's classes."""
    refuse_other_self_pairs(self_pairs)
    model.classes_ = np.array([-1, 1])
    if isinstance(X, Comparisons):
        data = X if y is None else X.with_outcome(y)
        return (data if covariance_items is None else data.with_covariance_items(covariance_items)), True
    if y is None:
        raise PairscoreError("fit requires y to be passed, but the target y is None: give votes beside the items, or Comparisons.")
    if isinstance(y, Votes):
        return Comparisons.from_frames(X, y, covariance_items=covariance_items, self_pairs=self_pairs)[0], True
    table = as_frame(y)
    shape = to_array(y, "the votes are").shape if table is None else ()
    if isinstance(y, str | bytes) or (table is None and shape == ()):
        raise PairscoreError(f"the votes are a {type(y).__name__}; give a dataframe with columns such as left, right, winner, or an array.")
    if shape == (0,):
        raise PairscoreError("there are no comparisons; give at least one row of votes.")
    if table is not None or (len(shape) == 2 and shape[1] != 1):
        reading = {"covariance_items": covariance_items, "self_pairs": self_pairs, "context": model.context or (), "missing": model.missing}
        return Comparisons.from_frames(X, y, **reading)[0], True
    if covariance_items is not None:
        raise PairscoreError("covariance_items names items, but a matrix of differences has none; fit items and votes instead.")
    return _differences(model, X, y), False


def _differences(model: Any, X: Any, y: Any) -> Comparisons:
    """A matrix of differences is a set of items, each compared once with an item at the origin."""
    X, y = validate_data(model, X, column_or_1d(y, warn=True), dtype=np.float64)
    check_classification_targets(y)
    labels = np.unique(y)
    if y.dtype.kind in "iuf" and len(labels) == 3 and np.array_equal(labels, [-1, 0, 1]):
        outcome = y.astype(np.int8)
    elif len(labels) == 2:
        model.classes_ = labels
        outcome = np.where(y == labels[1], 1, -1).astype(np.int8)
    elif len(labels) < 2:
        raise PairscoreError(f"y has only one class ({labels.tolist()[0]!r}); comparisons need outcomes of both kinds.")
    else:
        kind = type_of_target(y)
        raise PairscoreError(f"Only binary classification is supported. The type of the target is {kind}: y has {len(labels)} values; use -1, 0 and 1.")
    names = getattr(model, "feature_names_in_", [f"x{column}" for column in range(X.shape[1])])
    items = Items(np.vstack([X, np.zeros(X.shape[1])]), tuple(names))
    rows = np.arange(len(X))
    return Comparisons(items, rows, np.full(len(X), len(X)), outcome)
