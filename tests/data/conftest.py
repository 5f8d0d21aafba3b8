"""Small studies and kinds of tables that several tests of data use."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairscore import PairscoreError

TABLES = {
    "pandas": pd.DataFrame,
    "pandas with an index": lambda columns: pd.DataFrame(columns).set_index("id"),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "arrow": pa.table,
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def says(*facts):
    """A pattern for messages that state these facts in this order."""
    return ".*".join(map(re.escape, facts))


def refused(*facts):
    """A context in which an error is to state these facts in this order."""
    return pytest.raises(PairscoreError, match=says(*facts))


def study(n_items=120, n_features=3, n_votes=900, seed=5):
    """Features of items, half of them never compared, and votes, the winner's row first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, n_features)) * np.arange(1, n_features + 1) + 7
    first = rng.integers(0, n_items // 2, n_votes)
    second = (first + rng.integers(1, n_items // 2, n_votes)) % (n_items // 2)
    better = rng.logistic(size=n_votes) < (X[first] - X[second]) @ np.linspace(1, 0.2, n_features)
    return X, np.column_stack([np.where(better, first, second), np.where(better, second, first)])
