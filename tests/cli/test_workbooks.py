"""Workbooks with a sheet for each judge, under names of any kind, in `fit` and `update`."""

import json
import re
from collections import Counter

import numpy as np
import pytest

from pairscore.files.write import write_table
from pairscore.files.write_workbook import NewSheet, fill_workbook
from pairscore.model.regression import load
from tests.cli.running import run

NAMES = {
    "as expected": ("left", "right", "winner"),
    "two cases": ("Patient A", "Patient B", "Winner"),
    "two numbers": ("Item 1", "Item 2", "Verdict"),
    "worse": ("Patient A", "Patient B", "Worse wound"),
    "neither": ("Case", "Control", "Chosen"),
}
JUDGES = ("Dr Patel", "Sister Mary", "Tom (RN)")
N = 30


def items():
    rng = np.random.default_rng(0)
    ids = np.array([f"P{row:02}" for row in range(N)], dtype=object)
    return {
        "Patient": ids,
        "Age": rng.normal(60, 9, N).round(1),
        "CRP": rng.normal(size=N).round(3),
    }


def answers(names=NAMES["as expected"], m=40, seed=1):
    """Comparisons of one judge, with the winner's id."""
    rng, table = np.random.default_rng(seed), items()
    score = 0.1 * table["Age"] + table["CRP"]
    left = rng.integers(0, N, m)
    right = (left + rng.integers(1, N, m)) % N
    won = score[left] - score[right] + rng.logistic(size=m) > 0
    ids = table["Patient"]
    return dict(
        zip(names, (ids[left], ids[right], np.where(won, ids[left], ids[right])), strict=True)
    )


def book(path, *sheets):
    """A workbook of pairs of a name and columns."""
    fill_workbook(path, [NewSheet(name, columns) for name, columns in sheets])


def judged(names=NAMES["as expected"], first=1, judges=JUDGES):
    return [(name, answers(names, seed=first + place)) for place, name in enumerate(judges)]


def fitted(command):
    """What a command says, and the judges of the comparisons that its model was fitted to."""
    said = run(f"{command} --keep-data -o m.npz").stderr
    data = load("m.npz").comparisons_
    return said, dict(Counter(data.judge.tolist()))


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_fit_reads_every_judge_whatever_the_columns_are_called(names, tmp_path):
    write_table(items(), "items.csv")
    book(tmp_path / "judged.xlsx", *judged(names))
    book(tmp_path / "all.xlsx", ("Patients", items()), *judged(names))
    book(tmp_path / "behind.xlsx", *judged(names), ("Patients", items()))
    winner = "" if names[2].casefold() == "winner" else f"--winner '{names[2]}'"
    for files in ("items.csv judged.xlsx", "all.xlsx", "behind.xlsx"):
        said, judges = fitted(f"fit {files} {winner}")
        assert judges == dict.fromkeys(JUDGES, 40), files
        assert "comparisons from 3 sheets, 'Dr Patel', 'Sister Mary', 'Tom (RN)'" in said
        assert "not read" not in said


def test_what_is_not_read_is_said_first(tmp_path):
    """It was one note of ten."""
    write_table(items(), "items.csv")
    extra = ("Notes", {"Remark": np.array(["a", "b"], dtype=object)})
    book(tmp_path / "judged.xlsx", *judged(NAMES["two cases"]), extra)
    book(tmp_path / "all.xlsx", extra, ("Patients", items()), *judged(NAMES["two cases"]))
    for files in ("items.csv judged.xlsx", "all.xlsx --sheet Patients"):
        said, judges = fitted(f"fit {files}")
        assert judges == dict.fromkeys(JUDGES, 40)
        assert re.match("Note: '[a-z]+.xlsx': the sheet 'Notes' was not read; ", said)
        assert "--sheet names those to read" in said.splitlines()[0]
    write_table(answers(NAMES["two cases"], seed=9), "more.csv")
    said = run("update m.npz more.csv judged.xlsx --repeated add -o m2.npz").stderr
    assert said.startswith("Note: 'judged.xlsx': the sheet 'Notes' was not read; ")


def test_a_sheet_that_has_a_column_more_is_read_too(tmp_path):
    write_table(items(), "items.csv")
    sheets = judged(NAMES["neither"])
    sheets[1][1]["Comment"] = np.array(["unsure"] * 40, dtype=object)
    book(tmp_path / "judged.xlsx", *sheets)
    assert fitted("fit items.csv judged.xlsx --winner Chosen")[1] == dict.fromkeys(JUDGES, 40)


def test_update_reads_every_sheet_and_any_number_of_files(tmp_path):
    write_table(items(), "items.csv")
    book(tmp_path / "first.xlsx", *judged(NAMES["two cases"]))
    book(tmp_path / "second.xlsx", *judged(NAMES["two cases"], first=11, judges=("Ann", "Bob")))
    write_table(answers(NAMES["two cases"], seed=21), "cleo.csv")
    run("fit items.csv first.xlsx --keep-data -o first.npz")
    done = run("update first.npz second.xlsx cleo.csv -o all.npz --json")
    assert "comparisons from 2 sheets, 'Ann', 'Bob'" in done.stderr
    at_once = run("fit items.csv first.xlsx second.xlsx cleo.csv --keep-data -o once.npz --json")
    updated, once = (json.loads(one.stdout) for one in (done, at_once))
    assert updated["n_comparisons"] == once["n_comparisons"] == 240
    for one, other in zip(updated["coefficients"], once["coefficients"], strict=True):
        assert one["coef"] == pytest.approx(other["coef"], rel=1e-7)
    judges = {*load("all.npz").comparisons_.judge.tolist()}
    assert judges == {*JUDGES, "Ann", "Bob", "cleo"}
    # one sheet alone stands for a judge too, because the model has judges
    book(tmp_path / "dora.xlsx", *judged(first=31, judges=("Dora",)))
    run("update first.npz dora.xlsx -o more.npz")
    assert "Dora" in load("more.npz").comparisons_.judge


def test_update_reads_the_sheets_that_are_named(tmp_path):
    """Of `--sheet Ann,Bob` it read Bob alone, without a word."""
    write_table(items(), "items.csv")
    write_table(answers(), "votes.csv")
    book(tmp_path / "more.xlsx", *judged(first=11, judges=("Ann", "Bob", "Cleo")))
    run("fit items.csv votes.csv --keep-data -o m.npz")
    for sheets, number in (("", 160), ("--sheet Ann,Bob", 120), ("--sheet Bob", 80)):
        done = run(f"update m.npz more.xlsx {sheets} -o m2.npz --json")
        assert json.loads(done.stdout)["n_comparisons"] == number
    wrong = run("update m.npz more.xlsx --sheet Ann,Bert -o m2.npz", code=2).stderr
    assert "has no sheet 'Bert'" in wrong
    book(tmp_path / "other.xlsx", *judged(first=31, judges=("Dora", "Emil")))
    done = run("update m.npz more.xlsx other.xlsx --sheet Ann,Emil -o m2.npz --json")
    assert json.loads(done.stdout)["n_comparisons"] == 120
    wrong = run("update m.npz more.xlsx other.xlsx --sheet Ann,Bert -o m2.npz", code=2).stderr
    assert "no workbook has a sheet 'Bert'" in wrong
    twice = run("update m.npz votes.csv votes.csv -o m2.npz", code=2).stderr
    assert "'votes.csv' is given twice" in twice


def test_a_report_reads_the_sheets_of_the_fit(tmp_path):
    """A model kept the names of two sheets, and its report read no others."""
    sheets = [("Patients", items()), *judged(NAMES["two cases"])]
    book(tmp_path / "all.xlsx", *sheets)
    run("fit all.xlsx -o m.npz")
    record = json.loads(run("report m.npz all.xlsx -o page.html --json").stdout)
    assert record["n_comparisons"] == 120
    run("fit all.xlsx --sheet 'Patients,Dr Patel,Tom (RN)' -o m.npz")
    record = json.loads(run("report m.npz all.xlsx -o page.html --json").stdout)
    assert record["n_comparisons"] == 80
    # the sheet of the items is looked for by its name, and a new file may call it otherwise
    book(tmp_path / "new.xlsx", ("Introduction", {"a": [1]}), ("Patients", items()))
    assert run("rank m.npz new.xlsx --json").stderr == ""
    book(tmp_path / "new.xlsx", ("New patients", items()), ("Notes", {"a": np.ones(2)}))
    assert "'New patients' was read" in run("rank m.npz new.xlsx --json").stderr


def test_a_sheet_of_comparisons_under_other_names_before_the_items_is_recognised(tmp_path):
    book(tmp_path / "all.xlsx", ("Judged", answers(NAMES["neither"])), ("Patients", items()))
    asked = run("fit all.xlsx -o m.npz", code=2).stderr
    assert "sheet Judged' has the comparisons, and 'all.xlsx, sheet Patients' the items" in asked
    assert "give the items first: --sheet Patients,Judged." in asked
    run("fit all.xlsx --sheet Patients,Judged --winner Chosen -o m.npz")
    run("fit all.xlsx --winner Chosen -o other.npz")
    assert load("m.npz").coef_.tolist() == load("other.npz").coef_.tolist()


def test_a_workbook_of_comparisons_alone_is_asked_for_its_items(tmp_path):
    book(tmp_path / "judged.xlsx", *judged(NAMES["neither"]))
    said = run("fit judged.xlsx -o m.npz", code=2).stderr
    assert "all sheets of 'judged.xlsx' have the same columns" in said
