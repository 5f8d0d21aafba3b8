"""Use any scikit-learn transformer on the items of comparisons."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from pairscore.comparisons import Comparisons
from pairscore.items import Items, read_items


class OnItems(TransformerMixin, BaseEstimator):
    """Apply ``transformer`` to the item table: it learns from the compared items and changes all.

    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = Comparisons.from_frames([[0.0], [2.0], [4.0]], np.array([[1, 0], [2, 1]]))
    >>> OnItems(StandardScaler()).fit_transform(X, y).items.values.ravel().round(2).tolist()
    [-1.22, 0.0, 1.22]
    """

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> "OnItems":
        items = X.items.values[X.compared] if isinstance(X, Comparisons) else read_items(X).values
        self.transformer_ = clone(self.transformer).fit(items)
        return self

    def transform(self, X: Any) -> Any:
        """Of ``Comparisons``: the same with other features. Of an item table: the table, ready to be ranked."""
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            return X.with_items(self._transformed(X.items))
        return self._transformed(read_items(X))

    def _transformed(self, items: Items) -> Items:
        values = np.ascontiguousarray(self.transformer_.transform(items.values), dtype=np.float64)
        names = items.feature_names
        if hasattr(self.transformer_, "get_feature_names_out"):
            names = tuple(map(str, self.transformer_.get_feature_names_out(np.array(names, dtype=object))))
        elif values.shape[1] != len(names):
            names = tuple(f"x{column}" for column in range(values.shape[1]))
        return Items(values, names, items.ids, items.backend)
