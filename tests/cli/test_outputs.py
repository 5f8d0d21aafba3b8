"""Outputs: refused before anything is read; a device is written to."""

import pytest

from tests.cli.running import device, run

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


def test_an_output_of_an_unknown_kind_is_refused_before_anything_is_read():
    assert "what kind of table" in run("rank 'no model' 'no items' -o r.doc", code=2).stderr


def test_a_device_is_written_to_and_not_replaced(study):
    folder, _, _ = study
    null = device(folder, "null")
    assert "Rank regression" in run("fit items.csv votes.csv -o", null).stdout
    (folder / "bad.csv").write_text("winner,loser\nitem 1\n")
    assert "1 cell instead of 2" in run("fit items.csv bad.csv -o", null, code=2).stderr
    assert null.is_char_device()
    assert {path.name for path in folder.iterdir()} <= {"items.csv", "votes.csv", "bad.csv", "null"}
    full = device(folder, "full")
    assert "could not be saved" in run("fit items.csv votes.csv -o", full, code=2).stderr
    assert full.is_char_device()
