"""Sums add field by field, and ranges to the range of all."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore.core.sums import Range, Sums


@dataclass(frozen=True)
class Inner(Sums):
    values: np.ndarray


@dataclass(frozen=True)
class Outer(Sums):
    number: float
    inner: Inner
    range: Range


@dataclass(frozen=True)
class Other(Sums):
    values: np.ndarray


def test_arrays_numbers_ranges_and_other_sums_add():
    one = Outer(1.0, Inner(np.array([1.0, 2.0])), Range(0.0, 1.0))
    two = Outer(2.0, Inner(np.array([10.0, 20.0])), Range(-1.0, 0.5))
    total = one + two
    assert type(total) is Outer
    assert total.number == 3.0
    assert total.inner.values.tolist() == [11.0, 22.0]
    assert total.range == Range(-1.0, 1.0)
    assert one.inner.values.tolist() == [1.0, 2.0]  # neither is changed
    assert sum([one, two], start=Outer(0.0, Inner(np.zeros(2)), Range())).number == 3.0


def test_sums_of_another_kind_do_not_add():
    with pytest.raises(TypeError):
        Inner(np.zeros(2)) + Other(np.zeros(2))


def test_ranges_add_to_the_range_of_all():
    total = Range() + Range.of(np.array([2.0, 5.0])) + Range.of(np.empty(0))
    assert total == Range(2.0, 5.0)
    assert not total.is_empty
    assert Range().is_empty
    assert Range.of(np.array([3.0])) == Range(3.0, 3.0)


@given(st.lists(st.lists(st.floats(allow_nan=False), max_size=5), max_size=5))
def test_the_range_of_parts_is_that_of_the_whole(parts):
    whole = np.array([value for part in parts for value in part], dtype=float)
    assert sum((Range.of(np.array(part, dtype=float)) for part in parts), Range()) == (
        Range.of(whole)
    )
