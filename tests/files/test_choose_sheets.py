"""Which sheets of workbooks are read."""

import pytest

from pairscore import PairscoreError
from pairscore.files.choose_sheets import choose_sheets
from pairscore.files.tables import OpenFiles
from tests.files.test_workbooks import SHEETS
from tests.fixtures.make_studies import workbook


def test_sheets_of_items_and_comparisons_are_chosen_by_their_columns(tmp_path):
    votes = [["links", "rechts", "Winner"], [7, 8, "links"]]
    path = tmp_path / "both.xlsx"
    path.write_bytes(workbook({"Paare": votes, "Dinge": SHEETS["things"]}))
    said = []

    def chosen(items, votes, named=()):
        with OpenFiles() as files:
            sheets = choose_sheets(items, [votes], named, said.append, files)
        return sheets.items, [sheet for _, sheet in sheets.votes]

    assert chosen(path, path) == ("Dinge", ["Paare"])
    assert "items from the sheet 'Dinge', comparisons from 'Paare'" in str(said[0])
    assert chosen(path, path, ["Dinge"]) == ("Dinge", ["Paare"])
    assert chosen(path, "votes.csv", ["Dinge"]) == ("Dinge", [None])
    with pytest.raises(PairscoreError, match="there is none among the files"):
        chosen("items.csv", "votes.csv", ["Dinge"])
    assert chosen("items.csv", path, ["Paare"]) == (None, ["Paare"])
    path.write_bytes(workbook({"Paare": votes}))
    with pytest.raises(PairscoreError, match="items and comparisons are two tables"):
        chosen(path, path)
