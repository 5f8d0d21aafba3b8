"""Plain values: whatever a result holds, JSON can write it and says the same.

Text tables: the layouts of the commands, character by character.
"""

import json
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore.records import json_text, plain, row_records


@dataclass(frozen=True)
class Part:
    """A result within a result."""

    values: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True)
class Whole:
    """A result of many kinds of values."""

    part: Part | None
    share: float
    by_name: dict
    file: Path


def test_a_nested_result_becomes_plain_values():
    whole = Whole(
        Part(np.array([[1.5, nan], [inf, 2.0]]), ("a", "b")),
        np.float64("nan"),
        {"n": np.int64(3), "ok": np.bool_(True), 4: (None, -inf), np.int64(5): np.arange(2)},
        Path("folder") / "file.csv",
    )
    assert plain(whole) == {
        "part": {"values": [[1.5, None], [None, 2.0]], "names": ["a", "b"]},
        "share": None,
        "by_name": {"n": 3, "ok": True, "4": [None, None], "5": [0, 1]},
        "file": str(Path("folder") / "file.csv"),
    }
    assert json.loads(json_text(whole)) == plain(whole)


def test_numpy_numbers_become_pythons():
    values = plain([np.int32(1), np.float32(0.5), np.bool_(False), np.str_("a"), np.array(2)])
    assert [type(value) for value in values] == [int, float, bool, str, int]


def test_nan_may_stay():
    value = plain({"x": [nan, inf]}, keep_nan=True)
    assert np.isnan(value["x"][0])
    assert value["x"][1] == inf
    assert json.dumps(value) == '{"x": [NaN, Infinity]}'


def test_what_json_cannot_hold_is_left_to_json():
    function = len
    assert plain([function]) == [function]
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_text({"link": function})


def test_columns_become_one_record_for_each_row():
    columns = {"id": np.array(["a", "b"], dtype=object), "x": np.array([1.0, nan]), "n": [1, 2]}
    assert row_records(columns) == [{"id": "a", "x": 1.0, "n": 1}, {"id": "b", "x": None, "n": 2}]
    assert row_records({}) == []
    with pytest.raises(ValueError, match="zip"):
        row_records({"a": [1], "b": [1, 2]})


def test_text_is_indented_by_two():
    assert json_text({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_plain_values_stay_as_they_are_but_for_nan_and_infinity(value):
    text = json_text(value)
    assert json.loads(text) == plain(value)
    assert plain(plain(value)) == plain(value)
    if "null" not in text:
        assert plain(value) == value


# -- text tables -----------------------------------------------------------------------------------
