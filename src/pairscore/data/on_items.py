"""Use any scikit-learn transformer on the items of comparisons."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, read_items, refuse_non_finite, refuse_other_features


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
        """Learn from the compared items of ``Comparisons``, or from every row of an item table."""
        items, learnt_from = (
            (X.items, X.compared) if isinstance(X, Comparisons) else (read_items(X), slice(None))
        )
        self.feature_names_in_ = np.array(items.feature_names, dtype=object)
        self.n_features_in_ = len(items.feature_names)
        self.transformer_ = clone(self.transformer).fit(items.values[learnt_from])
        return self

    def transform(self, X: Any) -> Any:
        """Of ``Comparisons``: the same with other features.

        Of an item table: the table, ready to be ranked.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            return X.with_items(self._transformed(X.items))
        return self._transformed(read_items(X))

    def _transformed(self, items: Items) -> Items:
        # a transformer of arrays would not notice
        refuse_other_features(items, tuple(self.feature_names_in_))
        values = self.transformer_.transform(items.values)
        values = np.ascontiguousarray(
            values.toarray() if issparse(values) else values, dtype=np.float64
        )
        names = self._names_out(items.feature_names, values.shape[1])
        refuse_non_finite(values, names)
        return Items(values, names, items.ids, items.backend)

    def _names_out(self, names: tuple[str, ...], n_features: int) -> tuple[str, ...]:
        """Names from the transformer.

        If it has none to give, the old ones, or numbers if features came or went.
        """
        if hasattr(self.transformer_, "get_feature_names_out"):
            return tuple(
                map(str, self.transformer_.get_feature_names_out(np.array(names, dtype=object)))
            )
        return (
            names
            if n_features == len(names)
            else tuple(f"x{column}" for column in range(n_features))
        )
