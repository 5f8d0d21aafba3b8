"""Plain values: whatever a result holds, JSON can write it and says the same.

Text tables: the layouts of the commands, character by character.
"""

import json
import re
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore.files.write import json_text, plain, row_records, text_table


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

GOLDEN = Path(__file__).parents[1] / "golden"
SUMMARY = "  {:<}  {:>11} {:>10} {:>8} {:>8}   {:^24} {:>12}"
SUMMARY_CELLS = r" +(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\[.*\]|95 % interval) +(\S+.*)"
# file, first and last line of the table (from 0), layout, and the cells of a line
LAYOUTS = {
    "facts": ("fit_text", 2, 6, "  {:<16} {:<}", r" +(.{16}) (.*)"),
    "summary": ("fit_text", 16, 21, SUMMARY, SUMMARY_CELLS),
    "summary of the demo": ("demo", 23, 33, SUMMARY, SUMMARY_CELLS),
    "ranking of the demo": (
        "demo",
        39,
        49,
        "  {:>}  {:>}  {:<}  {:>}  {:^}  {:>}  {:<}",
        r" +(\S+) +(\d\S+|ranks) +(patient \d+|patient) +(\S+) +(\[.*\]|95 % interval)"
        r" +(\d\S+|among the 332) +(\S.*)",
    ),
    "ranking": (
        "rank_text",
        1,
        21,
        "{:>}  {:<}  {:>}  {:>}  {:>}  {:>}  {:<}",
        r" *(\S+) +(\S+) +(\S+) +(\[.*\]|interval) +(\S+) +(\d\S+|among the 90 fitted) *(.*)",
    ),
    "models side by side": (
        "compare_text",
        3,
        5,
        "     {:<}" + 6 * "  {:>}",
        r" +(plain|side|)"
        + 5 * r" +(\S+ ± \S+|accuracy|log-loss|slope|calib. error|misordered)"
        + r" *(.*)",
    ),
    "plan": (
        "plan_text",
        11,
        16,
        "{:<}" + 7 * "  {:>}",
        r"(\* \S+|  10 per item|  [a-z]{4,6} |) +(\S+) +(in all|\S+) +(\S+) +(\S+)"
        r" +(misordered|\S+ %) +(\S+) +(norm error|\S+)",
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_table_of_the_commands_is_laid_out_as_recorded(name):
    file, first, last, layout, cells = LAYOUTS[name]
    lines = (GOLDEN / f"{file}.txt").read_text(encoding="utf-8").splitlines()[first : last + 1]
    rows = [[cell.rstrip() for cell in re.fullmatch(cells, line).groups()] for line in lines]
    assert text_table(rows[0], rows[1:], layout).splitlines() == lines
    assert text_table(None, rows, layout).splitlines() == lines


def test_a_table_without_rows_is_its_header_and_one_without_a_header_its_rows():
    assert text_table(["a", "b"], [], "{:>3} {:<}") == "  a b"
    assert text_table(None, [], "{:>3} {:<}") == ""
    assert text_table(None, [[1, None]], "{:>3} {}") == "  1 None"


@pytest.mark.parametrize("rows", [[["a"]], [["a", "b", "c"]], [["a", "b"], ["c"]]])
def test_every_line_has_a_cell_for_each_column(rows):
    with pytest.raises(ValueError, match="zip"):
        text_table(None, rows, "{:<}  {:>}")


@given(st.lists(st.lists(st.text("ab", max_size=9), min_size=3, max_size=3), min_size=1))
def test_columns_begin_and_end_at_the_same_place(rows):
    lines = text_table(None, [[*row, "|"] for row in rows], "{:<2}!{:>}!{:^5}{}").splitlines()
    assert len(lines) == len(rows)
    assert len({(line.index("!"), line.rindex("!"), line.index("|")) for line in lines}) == 1
    for line, row in zip(lines, rows, strict=True):
        left, right, middle = line.removesuffix("|").split("!")
        assert (left.rstrip(), right.lstrip(), middle.strip()) == tuple(row)
        assert left.startswith(row[0])
        assert right.endswith(row[1])
