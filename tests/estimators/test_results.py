"""What a fit gives to a model: items are known again by id, or by their features."""

import numpy as np

from pairscore.data.items import feature_keys, rows_of_same_features


def test_items_of_equal_features_are_told_apart_by_order_or_not_at_all():
    known = np.array([7, 8, 8, 9], dtype=np.uint64)
    assert rows_of_same_features(known, np.array([9, 7, 7, 5], dtype=np.uint64)).tolist() == [
        3,
        0,
        0,
        -1,
    ]
    assert rows_of_same_features(known, np.array([8, 7, 8], dtype=np.uint64)).tolist() == [1, 0, 2]
    assert rows_of_same_features(known, np.array([8], dtype=np.uint64)).tolist() == [-1]
    X = np.random.default_rng(0).normal(size=(500, 3)) * 10 + 1e6
    keys = feature_keys(X)
    assert len(set(keys.tolist())) == 500
    assert np.array_equal(feature_keys(X * (1 + 2e-16)), keys)
    # as another program kept them
    assert np.array_equal(feature_keys(X.astype(np.float32).astype(float)), keys)
    assert feature_keys(X[:, ::-1])[0] != keys[0]
    assert feature_keys(np.array([[0.0, 1.0]])) == feature_keys(np.array([[-0.0, 1.0]]))
