"""Transformers of scikit-learn on the items of comparisons."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items, read_items, refuse_non_finite, with_features
from pairscore.display import plural
from pairscore.errors import CallError


class OnItems(TransformerMixin, BaseEstimator):
    """Use a scikit-learn transformer (a scaler, PCA, ...) on the features of the items.

    It goes before :class:`~pairscore.RankRegression` in a pipeline. The transformer learns from the
    compared items only, each once however often it was compared, and changes all items; votes stay
    as they are.

    Parameters
    ----------
    transformer
        Anything with ``fit`` and ``transform`` on arrays of shape (N, d). It is cloned, not
        changed. Sparse results are made dense. Or a function of such an array, such as a score of
        items from elsewhere: what it gives, of shape (N,) or (N, k), are the features.

    Attributes
    ----------
    transformer_
        The fitted clone.
    feature_names_in_, n_features_in_
        Names and number of the features it was fitted to; ``transform`` refuses others.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = Comparisons.from_frames([[0.0], [2.0], [4.0]], np.array([[1, 0], [2, 1]]))
    >>> OnItems(StandardScaler()).fit_transform(X, y).items.values.ravel().round(2).tolist()
    [-1.22, 0.0, 1.22]
    """

    def __init__(self, transformer: Any):
        self.transformer = transformer

    def fit(self, X: Any, y: Any = None) -> "OnItems":
        """Learn from the compared items of ``Comparisons``, or from every row of an item table."""
        items = X.items if isinstance(X, Comparisons) else read_items(X)
        values = items.values[X.compared] if isinstance(X, Comparisons) else items.values
        self.feature_names_in_ = np.array(items.feature_names, dtype=object)
        self.n_features_in_ = len(items.feature_names)
        is_function = callable(self.transformer) and not hasattr(self.transformer, "transform")
        used = FunctionTransformer(self.transformer) if is_function else clone(self.transformer)
        self.transformer_ = used.fit(values)
        return self

    def transform(self, X: Any) -> Any:
        """New features: ``Comparisons`` of ``Comparisons``, ``Items`` of an item table.

        Features of ``fit`` are found by name; results that are not finite are refused.
        """
        check_is_fitted(self)
        if isinstance(X, Comparisons):
            return X.with_items(self._transform_items(X.items))
        return self._transform_items(read_items(X, tuple(self.feature_names_in_)))

    def _transform_items(self, items: Items) -> Items:
        # a transformer of arrays would not notice other names
        items = with_features(items, tuple(self.feature_names_in_))
        values = self._apply(items.values)
        dense = values.toarray() if issparse(values) else values
        values = np.ascontiguousarray(dense, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if len(values) != len(items):
            raise CallError(
                f"OnItems got {plural(len(values), 'row')} of new features for"
                f" {plural(len(items), 'item')}",
                "make one row for each item",
            )
        names = self._names_out(items.feature_names, values.shape[1])
        refuse_non_finite(values, names)
        return Items(values, names, items.ids, items.backend)

    def _apply(self, values: np.ndarray) -> Any:
        try:
            return self.transformer_.transform(values)
        except IndexError as error:
            if not isinstance(self.transformer_, FunctionTransformer):
                raise
            raise CallError(
                f"the function of OnItems gets an array of shape {values.shape}, whose columns have"
                f" no names ({error}); take them by number, such as f[:, 0] for"
                f" {str(self.feature_names_in_[0])!r}."
            ) from None

    def _names_out(self, names: tuple[str, ...], n_features: int) -> tuple[str, ...]:
        """Names from the transformer; if it has none, the old ones, or x0, x1, ... if they differ
        in number; one feature of a function is called by its name.
        """
        if hasattr(self.transformer_, "get_feature_names_out"):
            new = self.transformer_.get_feature_names_out(np.array(names, dtype=object))
            return tuple(map(str, new))
        name = getattr(self.transformer, "__name__", "")
        if n_features == 1 and name.isidentifier():
            return (name,)
        return names if n_features == len(names) else tuple(f"x{k}" for k in range(n_features))
