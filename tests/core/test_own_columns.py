"""Items with a column of their own are seen."""

import numpy as np

from pairscore.core.own_columns import has_own_column


def test_the_column_of_one_item_is_seen_whatever_its_values():
    X = np.zeros((6, 5))
    X[:, 0] = [3, 1, 4, 1, 5, 9]
    X[:, 1] = [7, 7, 2, 7, 7, 7]  # item 2
    X[:, 2] = [0, 1, 1, 1, 1, 0]  # item 0, since item 5 is not compared
    X[:, 3] = [0, 0, 0, 1, 1, 0]
    X[:, 4] = 1
    mask = has_own_column(X, np.array([2, 1, 3, 1, 1, 0]))
    assert mask.tolist() == [True, False, True, False, False, False]
    assert not has_own_column(X[:2], np.ones(2)).any()
