"""How numbers are written: decimal signs of earlier files, and points that may be either."""

import pytest

from pairscore.errors import PairscoreError
from pairscore.files.numbers import kept_signs, refuse_unclear_points
from tests.files.test_titles_and_totals import read_said


@pytest.mark.parametrize(
    ("cells", "kept", "decimal"),
    [
        (["0.5", "1.25"], ",", "."),
        (["0,5", "1,25"], ".", ","),
        (["1.234", "5.678"], ",", ","),  # thousands, as before
        (["1,234", "5,678"], ".", "."),
        (["1,5", "0.5"], ",", ","),  # both: the rows are refused one by one
        (["1", "2"], ",", ","),
    ],
)
def test_a_decimal_sign_of_earlier_files_gives_way_to_that_of_the_file(cells, kept, decimal):
    assert kept_signs({"x": cells}, kept).decimal == decimal


@pytest.mark.parametrize(
    "columns",
    [
        {"x": ["1.291", "950", "2.004"], "y": ["0.5", "1", "2"]},  # points are decimal ones
        {"x": ["1.291", "2", "2.004"]},
        {"x": ["1.291", "950", "2.1"]},
        {"x": ["1.291", "950"]},
    ],
)
def test_points_that_are_likely_decimal_ones_are_read_as_such(columns, tmp_path):
    rows = [("name", *columns), *zip("abc", *columns.values(), strict=False)]
    table, _ = read_said(tmp_path, "".join(f"{';'.join(row)}\n" for row in rows).encode())
    for name, texts in columns.items():
        assert table[name] == [float(text) for text in texts]


def test_a_turnover_of_1291_is_not_read_as_1_point_3():
    with pytest.raises(
        PairscoreError, match=r"'1[.]291' in the column 'x', which may be 1[.]291 or"
    ):
        refuse_unclear_points({"x": ["1.291", "950", "", "2.004"]}, "items.csv")
