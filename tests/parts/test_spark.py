"""What the engine on Spark does without Spark; ``spark_cluster`` has the fits."""

import sys
from dataclasses import dataclass

import pytest

from pairscore import PairscoreError, fit_stream
from pairscore.parts.engines import Sums, add
from pairscore.parts.spark import Fault
from tests.streaming.studies import draw


@dataclass(frozen=True)
class Number(Sums):
    value: float


def test_the_first_fault_is_what_remains_of_a_sum():
    one, other = Fault("no file."), Fault("no row.")
    assert add([Number(1.0), one, Number(2.0), other]) == one
    assert add([Number(1.0), Number(2.0)]) == Number(3.0)


def test_a_missing_extra_names_the_line_that_installs_it(monkeypatch):
    for name in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, name, None)
    items, votes = draw()
    with pytest.raises(PairscoreError, match=r"pip install pyspark pandas pyarrow"):
        fit_stream(items, votes, engine="spark://127.0.0.1:1")
