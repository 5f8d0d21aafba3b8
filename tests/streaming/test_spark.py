"""What the engine on Spark does without Spark; ``spark_cluster`` has the fits."""

import sys

import numpy as np
import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.core.moments import Moments
from pairscore.streaming.shared_items import SavedItems
from pairscore.streaming.spark import Fault, add_children
from tests.streaming.studies import draw


@pytest.mark.parametrize(
    "sums", [np.ones(2), Moments(1.0, np.ones(2), np.eye(2)), SavedItems((2,), np.arange(2))]
)
def test_the_first_fault_is_what_remains_of_sums_of_any_kind(sums):
    one, other = Fault("no file."), Fault("no row.")
    children = [(3, other), (2, sums), (1, one), (0, sums)]  # whoever comes first
    assert add_children((7, children)) == (7, one)
    _, total = add_children((7, [(1, sums), (0, sums)]))
    assert type(total) is type(sums)


def test_a_missing_extra_names_the_line_that_installs_it(monkeypatch):
    for name in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    items, votes = draw()
    with pytest.raises(PairscoreError, match=r"pip install pyspark pandas pyarrow"):
        fit_stream(items, votes, engine="spark://127.0.0.1:1")
