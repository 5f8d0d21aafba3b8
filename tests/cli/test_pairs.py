"""`pairs`: sheets that are filled in are fitted together."""

import csv
import json

import numpy as np
import pytest
from python_calamine import CalamineWorkbook

from pairscore import load
from pairscore.files.write_workbook import NewSheet, fill_workbook
from tests.cli.running import fill_in, run


def test_the_filled_sheets_of_all_judges_are_fitted_together(items, tmp_path):
    said = run(
        "pairs items.csv --comparisons 300 --judges 3 --repeats 5% --show title -o sheet.csv"
    ).stdout
    paths = said.splitlines()[-3:]
    assert paths == ["sheet-judge1.csv", "sheet-judge2.csv", "sheet-judge3.csv"]
    assert "300 comparisons of 40 items for 3 judges, 100 each; 15 of them repeat a pair" in said
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


def filled_sheets(path, score, rng, empty=0):
    """The sheets of a workbook, filled in but for the first cells of the last sheet."""
    book = CalamineWorkbook.from_path(path)
    for name in book.sheet_names:
        head, *rows = book.get_sheet_by_name(name).to_python()
        columns = {
            n: np.array(c, dtype=object) for n, c in zip(head, zip(*rows, strict=True), strict=True)
        }
        won = [
            score[a] - score[b] + 0.5 * rng.logistic() > 0
            for a, b in zip(columns["left"], columns["right"], strict=True)
        ]
        columns["winner"] = np.where(won, "left", "right").astype(object)
        columns["winner"][: empty if name == book.sheet_names[-1] else 0] = None
        yield NewSheet(name, columns)


def test_a_filled_workbook_with_a_sheet_for_each_judge_is_fitted(items, tmp_path):
    run("pairs items.csv --comparisons 300 --judges Anna,Ben -o sheet.xlsx")
    rng = np.random.default_rng(1)
    fill_workbook(tmp_path / "full.xlsx", list(filled_sheets("sheet.xlsx", items, rng)))
    record = json.loads(run("fit items.csv full.xlsx -o m.npz --keep-data --json").stdout)
    assert record["n_comparisons"] == 300
    votes = load("m.npz").comparisons_.votes
    assert np.unique(votes.judge).tolist() == ["Anna", "Ben"]
    assert record["coefficients"][0]["coef"] > 0.5
    run("report m.npz items.csv full.xlsx")
    assert "comparisons from 2 sheets, 'Anna', 'Ben'" in run("fit items.csv full.xlsx").stderr
    twice = run("fit items.csv full.xlsx full.xlsx", code=2).stderr
    assert "'full.xlsx' is given twice" in twice
    only = run("fit items.csv full.xlsx --sheet Ben -o ben.npz --json")
    assert json.loads(only.stdout)["n_comparisons"] == 150


def test_one_workbook_has_the_items_and_a_sheet_for_each_judge(items, tmp_path):
    run("pairs items.csv --comparisons 300 --judges Anna,Ben -o sheet.xlsx")
    judged = list(filled_sheets("sheet.xlsx", items, np.random.default_rng(1)))
    columns = {"id": np.array(list(items), dtype=object), "a": np.array(list(items.values()))}
    fill_workbook(tmp_path / "all.xlsx", [NewSheet("Items", columns), *judged])
    for sheets in ("", "--sheet Items,Anna,Ben"):
        record = json.loads(run(f"fit all.xlsx {sheets} -o m.npz --json").stdout)
        assert record["n_comparisons"] == 300


def test_a_partly_filled_workbook_is_fitted_to_the_comparisons_that_were_made(items, tmp_path):
    """It was refused, with winners that are None."""
    run("pairs items.csv --comparisons 300 --judges Anna,Ben -o sheet.xlsx")
    sheets = list(filled_sheets("sheet.xlsx", items, np.random.default_rng(1), empty=30))
    fill_workbook(tmp_path / "half.xlsx", sheets)
    done = run("fit items.csv half.xlsx -o m.npz --json")
    assert "30 of 300 comparisons left out: no winner is given." in done.stderr
    assert json.loads(done.stdout)["n_comparisons"] == 270
    refused = run("fit items.csv sheet.xlsx -o m.npz", code=2).stderr
    assert "the column 'winner' is empty: no comparison has a winner yet" in refused


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
        ("--comparisons 50 -o s.pdf", "does not show what kind of table it is"),
        ("--comparisons 50 -o items.csv", "is an input of this command"),
    ],
)
def test_pairs_that_cannot_be_get_a_sentence(items, options, sentence):
    assert sentence in run(f"pairs items.csv {options}", code=2).output


def test_shared_pairs_say_how_well_judges_agree(study):
    folder, _, _ = study
    said = run("pairs items.csv --comparisons 120 --judges Ann,Ben --shared 50% -o s.csv").output
    assert "30 pairs are compared by more than one judge." in said
    for judge in ("Ann", "Ben"):
        path = folder / f"s-{judge}.csv"
        path.write_text(path.read_text().replace(f",,{judge}", f",left,{judge}"))
    fitted = run("fit items.csv s-Ann.csv s-Ben.csv -o m.npz").output
    assert "two judges named the same winner in" in " ".join(fitted.split())
    assert "(30 pairs: too few to say" in " ".join(fitted.split())


def test_shared_pairs_of_one_judge_are_refused_in_the_words_of_the_command(study):
    said = run("pairs items.csv --comparisons 50 --shared 10% -o s.csv", code=2).stderr
    assert "--shared is about pairs that two judges compare, and --judges is 1" in said


@pytest.mark.parametrize("name", ["Nr", "Pat.-Nr.", "Name"])
def test_pairs_of_items_without_a_column_id_have_their_ids_and_not_row_numbers(
    tmp_path, monkeypatch, name
):
    """Row numbers from 0 were written, and the filled sheet was one item off."""
    monkeypatch.chdir(tmp_path)
    form = {"Nr": "{}", "Pat.-Nr.": "{:03d}", "Name": "P-{}"}[name]
    lines = [f"{row * row / 7:.3f},{form.format(row)},{row % 5}" for row in range(1, 41)]
    (tmp_path / "items.csv").write_text("\n".join([f"a,{name},b", *lines]) + "\n")
    said = run("pairs items.csv --comparisons 200 -o sheet.csv").stderr
    assert f"their ids are taken from {name!r}" in said
    with open("sheet.csv") as file:
        rows = list(csv.DictReader(file))
    ids = {row[side] for row in rows for side in ("left", "right")}
    assert ids == {form.format(row) for row in range(1, 41)}
    fill_in("sheet.csv", {form.format(row): row for row in range(1, 41)}, np.random.default_rng(0))
    said = run("fit items.csv sheet.csv -o m.npz").stderr
    assert f"the ids of the items are in {name!r}" in said


def test_pairs_of_items_without_ids_say_that_row_numbers_start_at_0(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{row / 7:.3f},{row % 5}\n" for row in range(40))
    (tmp_path / "items.csv").write_text(f"a,b\n{lines}")
    said = run("pairs items.csv --comparisons 60 -o sheet.csv").stderr
    assert "they are written as row numbers, which start at 0" in said
    fill_in("sheet.csv", {str(row): row for row in range(40)}, np.random.default_rng(0))
    said = run("fit items.csv sheet.csv -o m.npz").stderr
    assert "the items have no column 'id': they are known by row number, from 0 to 39." in said


@pytest.mark.parametrize("first", ["", "P-"])
def test_comparisons_that_count_from_1_are_not_read_as_row_numbers_from_0(
    tmp_path, monkeypatch, first
):
    """Every comparison was one item off, without a word."""
    monkeypatch.chdir(tmp_path)
    name = "a" if not first else "Fall,a"
    cells = [f"{first}{row}," * bool(first) + f"{row * row / 7:.3f}" for row in range(1, 41)]
    (tmp_path / "items.csv").write_text("\n".join([f"{name},b", *(c + ",1" for c in cells)]))
    votes = "".join(f"{row},{row % 39 + 1},left\n" for row in range(1, 40))
    (tmp_path / "votes.csv").write_text(f"left,right,winner\n{votes}")
    said = run("fit items.csv votes.csv -o m.npz", code=2).stderr
    assert "from 0 to 39, but the numbers there run from 1 to 39" in said
    assert ("perhaps --id Fall" if first else "add a column id to the items") in said
    said = run("fit items.csv votes.csv --stream -o m.npz", code=2).stderr
    assert "from 0 to 39, but the numbers there run from 1 to 39" in said


def test_pairs_reads_the_first_sheet_of_a_workbook_of_several(tmp_path, monkeypatch):
    """It ended in a traceback: 'list' object has no attribute 'casefold'."""
    monkeypatch.chdir(tmp_path)
    columns = {"id": np.array(["a", "b", "c"], dtype=object), "x": np.arange(3.0)}
    fill_workbook(tmp_path / "b.xlsx", [NewSheet("Items", columns), NewSheet("More", columns)])
    assert "'Items' was read" in run("pairs b.xlsx --comparisons 3 -o sheet.csv").stderr
    run("pairs b.xlsx --comparisons 3 --sheet More -o sheet.csv")


@pytest.mark.parametrize(
    ("name", "of_votes", "rank"),
    [("not preferred", "loser", None), ("worse", "loser", None), ("Sieger", "winner", 1)],
)
def test_a_column_of_losers_never_inverts_the_ranking(items, tmp_path, name, of_votes, rank):
    """A third column of any name was the winner: the best items came last."""
    run("pairs items.csv --comparisons 300 -o votes.csv")
    fill_in("votes.csv", items, np.random.default_rng(1))
    with open("votes.csv") as file:
        rows = list(csv.DictReader(file))
    won = {"left": "right", "right": "left"}
    lines = [
        f"{row['left']},{row['right']},{row[row['winner'] if rank else won[row['winner']]]}"
        for row in rows
    ]
    (tmp_path / "votes.csv").write_text("\n".join([f"one,two,{name}", *lines]))
    if rank is None:
        said = run("fit items.csv votes.csv -o m.npz", code=2).stderr
        assert f"--winner {name!r}" in said or f"--winner {name}" in said
        assert f"--loser {name!r}" in said or f"--loser {name}" in said
    run(f"fit items.csv votes.csv --{of_votes} '{name}' -o m.npz")
    assert load(tmp_path / "m.npz").coef_[0] > 0.5
