"""`pairs` and `predict`: sheets to fill in, the fit of the filled ones, chances for open pairs."""

import csv
import json

import numpy as np
import pytest
from python_calamine import CalamineWorkbook

from pairscore import load
from tests.cli.running import run


@pytest.fixture
def items(tmp_path, monkeypatch):
    """A folder with items.csv; the score is the feature a."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2))
    lines = [f"{row:03d},{a:.3f},{b:.3f},name {row}" for row, (a, b) in enumerate(values)]
    (tmp_path / "items.csv").write_text("\n".join(["id,a,b,title", *lines]) + "\n")
    return {f"{row:03d}": a for row, (a, _) in enumerate(values)}


def fill_in(path, score, rng):
    """Do what a judge does, by a score with some noise."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        won = score[row["left"]] - score[row["right"]] + 0.5 * rng.logistic() > 0
        row["winner"] = "left" if won else "right"
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def test_the_filled_sheets_of_all_judges_are_fitted_together(items, tmp_path):
    said = run(
        "pairs items.csv --comparisons 300 --judges 3 --repeats 5% --show title -o sheet.csv"
    ).stdout
    paths = said.splitlines()[-3:]
    assert paths == ["sheet-judge1.csv", "sheet-judge2.csv", "sheet-judge3.csv"]
    assert "300 comparisons of 40 items for 3 judges, 100 each; 15 of them are a pair again" in said
    rng = np.random.default_rng(1)
    assert sum(fill_in(path, items, rng) for path in paths) == 300
    record = json.loads(run("fit items.csv", *paths, "-o", "m.npz", "--keep-data", "--json").stdout)
    assert record["n_comparisons"] == 300
    votes = load("m.npz").comparisons_.votes
    assert np.unique(votes.judge).tolist() == ["judge1", "judge2", "judge3"]
    texts = [(tmp_path / path).read_text().split("\n", 1) for path in paths]
    (tmp_path / "all.csv").write_text(texts[0][0] + "\n" + "".join(rows for _, rows in texts))
    one = json.loads(run("fit items.csv all.csv -o one.npz --json").stdout)
    assert one["coefficients"] == record["coefficients"]
    run("report m.npz items.csv", *paths)
    run("compare items.csv", *paths)


def test_bad_rows_of_several_files_are_told_by_file_and_line(items, tmp_path):
    for name, winner in {"a": "left", "b": "nobody"}.items():
        lines = ["left,right,winner", "000,001,left", f"001,002,{winner}"]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    said = run("fit items.csv a.csv b.csv -o m.npz", code=2).output
    assert "b.csv" in said
    assert "line 3" in said
    assert "a.csv'" not in said
    (tmp_path / "c.csv").write_text("left,right,winner,judge\n000,001,left,me\n")
    said = run("fit items.csv a.csv c.csv -o m.npz", code=2).output
    assert "'c.csv' and 'a.csv' do not have the same columns ('judge')" in said


def test_a_workbook_is_written_with_names_of_judges(items, tmp_path):
    record = json.loads(
        run(
            "pairs items.csv --comparisons 50 --judges 'Anna, Ben' --seed 3 -o s.xlsx --json"
        ).stdout
    )
    assert (record["judges"], record["seed"], record["paths"]) == (["Anna", "Ben"], 3, ["s.xlsx"])
    book = CalamineWorkbook.from_path("s.xlsx")
    assert book.sheet_names == ["Anna", "Ben"]
    assert book.get_sheet_by_index(0).to_python()[1][1] in items  # 007 has its zeros


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--comparisons 50 --show tittle -o s.csv", "no column 'tittle'; they have 'id', 'a', 'b'"),
        ("--comparisons 50 --judges 0 -o s.csv", "give the number of judges, or different names"),
        ("--comparisons 50 --judges A,A -o s.csv", "give the number of judges, or different names"),
        ("--comparisons 50 --repeats half -o s.csv", "'half' is not a number"),
        ("--comparisons 50 --repeats 5 -o s.csv", "--repeats is 5.0; use a share"),
        ("--comparisons 0 -o s.csv", "--comparisons is 0; use a whole number from 1"),
        ("--comparisons 50 -o s.pdf", "does not say what kind of table it is"),
        ("--comparisons 50 -o items.csv", "is an input of this command"),
    ],
)
def test_pairs_that_cannot_be_get_a_sentence(items, options, sentence):
    assert sentence in run(f"pairs items.csv {options}", code=2).output
