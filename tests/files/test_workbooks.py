"""Sheets of workbooks are tables, and tables are written as sheets."""

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.errors import BadRowsError, PairscoreWarning
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.files.test_tables import as_lists
from tests.fixtures.make_studies import workbook

SHEETS = {
    "cover": [["A study"]],
    "things": [
        ["Things of 2023"],
        [],
        ["id", "x", "k"],
        [7, 1.5, "p"],
        [8, 2, ""],
        [],
        [9, -3, "q"],
    ],
    "more": [["id", "y"], ["a", 0.25]],
}


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook(SHEETS))
    return path


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("decimal", [None, ",", "."])
def test_a_sheet_is_a_table_whatever_decimal_sign_is_named(book, decimal):
    things = {"id": [7, 8, 9], "x": [1.5, 2.0, -3.0], "k": ["p", None, "q"]}
    assert as_lists(read_table(book, decimal=decimal)) == things
    more = as_lists(read_table(book, sheet="more", decimal=decimal))
    assert more == {"id": ["a"], "y": [0.25]}


def test_numbers_with_decimal_commas_in_cells_of_text_are_numbers(tmp_path):
    """Beside real numbers of a workbook, 59 of 60 such cells were bad rows."""
    rows = [[f"i{n}", f"{n},5" if n % 3 else n + 0.25, n] for n in range(40)]
    (tmp_path / "book.xlsx").write_bytes(workbook({"s": [["id", "x", "k"], *rows]}))
    with pytest.warns(PairscoreWarning, match="decimal commas"):
        table = as_lists(read_table(tmp_path / "book.xlsx"))
    assert table["x"] == [n + 0.5 if n % 3 else n + 0.25 for n in range(40)]
    assert table["k"] == list(range(40))
    points = [[one, str(x).replace(",", ".") if isinstance(x, str) else x, k] for one, x, k in rows]
    (tmp_path / "points.xlsx").write_bytes(workbook({"s": [["id", "x", "k"], *points]}))
    assert as_lists(read_table(tmp_path / "points.xlsx"))["x"] == table["x"]


def test_the_first_sheet_with_a_table_is_read_and_said(book):
    with pytest.warns(PairscoreWarning) as said:
        read_table(book)
    assert "has the sheets 'things', 'more'; 'things' was read" in str(said[0].message)
    assert "1 line above the column names left out" in str(said[1].message)


def test_lines_are_the_rows_of_the_sheet(tmp_path):
    rows = [["title"], [], ["id", "x"], *([f"i{n}", n] for n in range(40)), ["bad", "oops"]]
    (tmp_path / "book.xlsx").write_bytes(workbook({"s": rows}))
    with pytest.raises(BadRowsError) as caught:
        read_table(tmp_path / "book.xlsx")
    assert [(row.line, row.text) for row in caught.value.rows] == [(44, "oops")]


def test_what_is_no_workbook_or_no_sheet_is_a_sentence(book, tmp_path):
    with pytest.raises(PairscoreError, match=r"has no sheet 'thing'.*Did you mean 'things'"):
        read_table(book, sheet="thing")
    (tmp_path / "text.xlsx").write_text("id,x\n")
    with pytest.raises(PairscoreError, match="cannot be read as a workbook"):
        read_table(tmp_path / "text.xlsx")
    with pytest.raises(PairscoreError, match="read but not written"):
        write_table({"x": [1]}, tmp_path / "out.ods")


def test_a_table_is_written_as_a_workbook_and_read_again(tmp_path):
    """Workbooks were read and not written."""
    table = {"id": ["007", "a"], "score": [0.1, np.nan], "rank": [1, 2], "outside": [True, False]}
    rest = {"id": np.array(["b"], dtype=object)}
    write_table(table, tmp_path / "my scores.xlsx", sheets={"not scored": rest})
    read = read_table(tmp_path / "my scores.xlsx", sheet="my scores")
    assert read["id"].tolist() == ["007", "a"]
    np.testing.assert_array_equal(read["score"], [0.1, np.nan])
    assert read["outside"].tolist() == [1, 0]
    assert read_table(tmp_path / "my scores.xlsx", sheet="not scored")["id"].tolist() == ["b"]


def test_what_a_sheet_cannot_hold_is_refused(tmp_path):
    """XlsxWriter would leave out the cell and say nothing."""
    with pytest.raises(PairscoreError, match="a cell of a workbook holds 32,767 letters"):
        write_table({"id": ["y" * 40_000]}, tmp_path / "long.xlsx")
    odd = {"id": ["=1+1", "http://a.b", "a\x01b", "_x0041_"], "x": [np.inf, 1e300, -0.5, 2**60]}
    write_table(odd, tmp_path / "odd.xlsx")
    read = read_table(tmp_path / "odd.xlsx")
    assert read["id"].tolist() == ["=1+1", "http://a.b", "ab", "_x0041_"]
    assert read["x"].tolist() == [np.inf, 1e300, -0.5, 2**60]


def test_the_same_tables_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_table({"id": ["007"], "x": [0.1]}, tmp_path / name / "t.xlsx")
    assert (tmp_path / "a/t.xlsx").read_bytes() == (tmp_path / "b/t.xlsx").read_bytes()
