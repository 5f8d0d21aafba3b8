"""What columns of text hold: dates, labels, signed numbers, numbers among words."""

import numpy as np
import pytest

from pairscore.data.tables import Columns
from pairscore.files.kinds_of_text import kinds_of_text
from tests.files.test_find_sides import IDS


@pytest.mark.parametrize(
    "dates",
    [
        ["03.05.2024", "4.5.24"],
        ["2024-05-03", "2024/5/4 12:30"],
        ["2023年5月3日", "2023年12月"],
        ["3 mai 2024", "12:30"],
    ],
)
def test_dates_are_never_categories(dates):
    table = Columns({"d": np.array(dates * 20, dtype=object)})
    assert kinds_of_text(table, ["d"])["dates"] == ["d"]


def test_text_that_differs_from_item_to_item_is_no_category():
    table = Columns({"name": IDS * 1 + [f"Q{n}" for n in range(28)], "k": ["a", "b"] * 20})
    kinds = kinds_of_text(table, ["name", "k"])
    assert (kinds["labels"], kinds["left_out"]) == (["name"], ["k"])


def test_percentages_and_prices_are_not_called_text_that_differs_from_item_to_item():
    numbers = [f"{row / 7:.1f}".replace(".", ",") for row in range(40)]
    columns = {"share": [f"{n} %" for n in numbers], "cost": [f"$1{n}" for n in numbers]}
    kinds = kinds_of_text(Columns(columns), ["share", "cost"])
    assert kinds["signed"] == ["share", "cost"]
    assert not kinds["labels"]
