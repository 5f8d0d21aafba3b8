"""Text tables: the layouts of the commands, character by character."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore.files.text import text_table

GOLDEN = Path(__file__).parents[1] / "golden"
SUMMARY = "  {:<}  {:>11} {:>10} {:>8} {:>8}   {:^24} {:>12}"
SUMMARY_CELLS = r" +(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\[.*\]|95 % interval) +(\S+.*)"
# file, first and last line of the table (from 0), layout, and the cells of a line
LAYOUTS = {
    "facts": ("fit_text", 2, 8, "  {:<16} {:<}", r" +(.{16}) (.*)"),
    "summary": ("fit_text", 10, 15, SUMMARY, SUMMARY_CELLS),
    "summary of the demo": ("demo", 20, 30, SUMMARY, SUMMARY_CELLS),
    "ranking of the demo": (
        "demo",
        36,
        46,
        "  {:>4}  {:>9}  {:<12} {:>7}  {:^17}  {:<}",
        r" +(\S+) +(\d\S+|of ranks) +(patient \d+|patient) +(\S+) +(\[.*\]|95 % interval) +(\S.*)",
    ),
    "ranking": (
        "rank_text",
        0,
        20,
        "{:>}  {:<}  {:>}  {:>}  {:>}  {:<}",
        r" *(\S+) +(\S+) +(\S+) +(\[.*\]|interval) +(\S+) *(.*)",
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
