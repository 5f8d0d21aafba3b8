"""How values are shown: words with their numbers, tables as text and as HTML."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairscore.display import (
    closest,
    did_you_mean,
    first_few,
    first_rows,
    html_text,
    plural,
    shown,
    text_table,
)


def test_lists_are_cut_short():
    assert first_few([]) == ""
    assert first_few(["a", "b"]) == "a, b"
    assert first_few(range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert first_rows([3, 8], ["x", 1]) == "row 3 ('x'), row 8 (1)"


def test_names_with_a_slip_are_recognised():
    assert closest("MAS", ["height", "Mass"]) == "Mass"
    assert closest("colour", ["height", "mass"]) is None
    assert did_you_mean("hight", ["height", "mass"]) == " Did you mean 'height'?"
    assert did_you_mean("colour", ["height", "mass"]) == ""


def test_nouns_and_verbs_agree_with_their_number():
    assert plural(1, "item") == "1 item"
    assert plural(0, "item") == "0 items"
    assert plural(2000, "item", ",") == "2,000 items"
    assert [plural(1, "row", verb=verb) for verb in ("is", "has", "names")] == [
        "1 row is",
        "1 row has",
        "1 row names",
    ]
    assert [plural(2, "row", verb=verb) for verb in ("is", "has", "names")] == [
        "2 rows are",
        "2 rows have",
        "2 rows name",
    ]


def test_long_values_are_cut_and_long_lists_counted():
    assert shown([1, 2, 3]) == "[1, 2, 3]"
    assert shown(np.zeros(384)) == "a list of 384 values"
    assert shown("x" * 500) == "'" + "x" * 78 + "…"
    assert first_rows([3], [list(range(300))]) == "row 3 (a list of 300 values)"


GOLDEN = Path(__file__).with_name("golden")
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


def test_html_is_escaped_and_leaves_out_what_is_empty():
    page = html_text(
        "<t>", [("a & b", "<i>")], {"x<": [1.23456, np.nan], "n": [7, "y>"]}, ["", "s<"]
    )
    assert page.startswith(
        "<h4>&lt;t&gt;</h4><table><tr><th style='text-align:left'>a &amp; b</th>"
    )
    assert "<td style='text-align:left'>&lt;i&gt;</td>" in page
    assert "<thead><tr><th>x&lt;</th><th>n</th></tr></thead>" in page
    assert "<tr><td>1.235</td><td>7</td></tr><tr><td>unknown</td><td>y&gt;</td></tr>" in page
    assert page.endswith("<p>s&lt;</p>")
    assert html_text("only a title", ()) == "<h4>only a title</h4>"
