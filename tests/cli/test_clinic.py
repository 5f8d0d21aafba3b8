"""A clinician's workbook, from file to page to scores in three commands.

Three judges have a sheet each under names of their own, one of them answers like a coin; a few
laboratory values are '<5' or 'not done', and some pairs tie. Of 20 new patients one has a tissue
that nobody in the study had, and one a value that was not measured.
"""

import re
import shlex
from collections import Counter

import numpy as np
import pytest
from python_calamine import CalamineWorkbook

from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from pairscore.files.write_workbook import NewSheet, fill_workbook
from pairscore.model.regression import load
from tests.cli.running import run

TISSUES = np.array(["Granulating", "Slough", "Necrotic"], dtype=object)
JUDGES = {"Sister Mary": 2.5, "Tom (RN)": 2.5, "Dr Patel": 0.0}  # how sharply each judges
N, NEW, EACH = 90, 20, 160


def patients(rng, n, first):
    """A table of patients, and how severe the wound of each is."""
    area, age = rng.gamma(3, 4, n).round(1), rng.integers(40, 90, n)
    tissue = rng.integers(0, 3, n)
    crp = rng.gamma(2, 12, n).round(1)
    severity = 0.12 * area + 0.02 * age + 0.8 * tissue + 0.03 * crp
    ids = np.array([f"P{row:03}" for row in range(first, first + n)], dtype=object)
    columns = {"Patient": ids, "Area (cm2)": area, "Age": age, "Tissue": TISSUES[tissue]}
    return {**columns, "CRP": crp.astype(object)}, severity


@pytest.fixture
def clinic(tmp_path):
    rng = np.random.default_rng(5)
    table, severity = patients(rng, N, 1)
    table["CRP"][[3, 17, 40, 61]], table["CRP"][[8, 70]] = "<5", "not done"
    sheets = [NewSheet("Patients", table)]
    for judge, slope in JUDGES.items():
        left = rng.integers(0, N, EACH)
        right = (left + rng.integers(1, N, EACH)) % N
        gap = slope * (severity[left] - severity[right]) + rng.logistic(size=EACH)
        ids = table["Patient"]
        worse = np.where(gap > 0, ids[left], ids[right]).astype(object)
        worse[np.abs(gap) < 0.3] = "tie"
        columns = {"Patient A": ids[left], "Patient B": ids[right], "Worse wound": worse}
        sheets.append(NewSheet(judge, columns))
    note = {"About": np.array(["Wound study", "Graded in May"], dtype=object)}
    fill_workbook(tmp_path / "grading.xlsx", [*sheets, NewSheet("Notes", note)])
    new, severity = patients(rng, NEW, 201)
    new["Tissue"][4], new["CRP"][11] = "Bone", "pending"
    fill_workbook(tmp_path / "new patients.xlsx", [NewSheet("New", new)])
    return dict(zip(new["Patient"], severity, strict=True))


def test_from_a_workbook_to_a_page_and_scores_in_three_commands(clinic, tmp_path):
    # 1: everything that has to be asked is asked at once, after what is not read
    asked = run("fit grading.xlsx --auto --report page.html", code=2).stderr
    first = asked.splitlines()[0]
    assert first.startswith("Note: 'grading.xlsx': the sheet 'Notes' was not read; items from the")
    assert "comparisons from 3 sheets, 'Sister Mary', 'Tom (RN)', 'Dr Patel'" in first
    na = re.search("pass (--na '[^']*')", asked)
    assert na is not None
    assert na[1] == "--na '<5,not done'"
    winner = re.search(
        "say (--winner 'Worse wound') if the items that it names are to rank high", asked
    )
    assert winner is not None
    assert "Traceback" not in asked
    # 2: with what the message proposes, all comparisons are fitted
    done = run(f"fit grading.xlsx --auto --report page.html {na[1]} {winner[1]} --keep-data")
    assert done.stderr.splitlines()[0] == first
    model = load("model.npz")
    judged = Counter(model.comparisons_.judge.tolist())
    assert judged == dict.fromkeys(JUDGES, EACH)
    assert model.n_items_ == N
    # Dr Patel's answers look like effects of items until he has a sharpness of his own
    assert "not kept: of size zero next to what was kept later" in done.stdout
    assert "item effects     not used, because" in done.stdout
    assert "none seen" not in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "Dr Patel" in page.split("</section>")[0]  # the careless judge, in the lead
    # 3: all are scored but those that cannot be, who are named first
    done = run(f"rank model.npz {shlex.quote('new patients.xlsx')} -o scores.xlsx")
    lines = done.stderr.splitlines()
    assert "of 20 items could not be scored, and" in lines[0]
    assert any("'P205': line 6, column 'Tissue'" in line and "'Bone'" in line for line in lines)
    assert any("'P212'" in line and "not a number: 'pending'" in line for line in lines)
    book = CalamineWorkbook.from_path(tmp_path / "scores.xlsx")
    assert book.sheet_names == ["scores", "not scored"]
    scores = read_table("scores.xlsx", sheet="scores", identifiers=("Patient",))
    assert {*scores["Patient"]} == {*clinic} - {"P205", "P212"}
    truth = np.array([clinic[name] for name in scores["Patient"]])
    ranks = np.argsort(np.argsort(truth))
    assert np.corrcoef(ranks, np.argsort(np.argsort(scores["score"])))[0, 1] > 0.7
    rest = read_table("scores.xlsx", sheet="not scored", identifiers=("id",))
    assert {*rest["id"]} == {"P205", "P212"}


def test_the_scores_of_the_others_are_those_without_the_bad_ones(clinic, tmp_path):
    options = "--na '<5,not done' --winner 'Worse wound' --categorical Tissue"
    run(f"fit grading.xlsx {options} --missing mean-with-flag -o m.npz")
    run("rank m.npz 'new patients.xlsx' -o all.csv")
    book = CalamineWorkbook.from_path(tmp_path / "new patients.xlsx")
    head, *rows = book.get_sheet_by_name("New").to_python()
    good = [row for row in rows if row[0] not in ("P205", "P212")]
    columns = {
        name: np.array(of, dtype=object)
        for name, of in zip(head, zip(*good, strict=True), strict=True)
    }
    fill_workbook(tmp_path / "good.xlsx", [NewSheet("New", columns)])
    assert run("rank m.npz good.xlsx -o good.csv").stderr == ""
    assert (tmp_path / "all.csv").read_text() == (tmp_path / "good.csv").read_text()
    assert {*read_table("all.csv.bad-rows.csv")["text"]} == {"Bone", "pending"}
    # or nobody is scored, if one cannot be
    said = run("rank m.npz 'new patients.xlsx' --unknown stop -o never.csv", code=2).stderr
    assert "'pending'" in said
    assert not (tmp_path / "never.csv").exists()


def sheets_of(path, **words):
    """The sheets of a workbook, with some words in place of others."""
    book = CalamineWorkbook.from_path(path)
    for name in book.sheet_names:
        head, *rows = book.get_sheet_by_name(name).to_python()
        cells = [[words.get(str(cell), cell) for cell in row] for row in rows]
        columns = zip(head, zip(*cells, strict=True), strict=True)
        yield NewSheet(name, {of: np.array(column, dtype=object) for of, column in columns})


def test_a_word_for_ties_is_asked_for_with_all_the_rest(clinic, tmp_path):
    """It was asked for by a second command, after the missing values."""
    fill_workbook(tmp_path / "same.xlsx", list(sheets_of(tmp_path / "grading.xlsx", tie="same")))
    for options in ("--auto", ""):
        asked = run(f"fit same.xlsx {options}", code=2).stderr
        assert "pass --na '<5,not done'" in asked
        assert (
            "\nAlso, no column of the comparisons is called winner or loser; say --winner" in asked
        )
        assert "in place of each question mark in --winner-codes 'same=?'" in asked
        assert ("\nAlso, missing values need a rule" in asked) == (not options)
    answers = "--na '<5,not done' --winner 'Worse wound' --winner-codes same=tie"
    run(f"fit same.xlsx --auto {answers}")
    assert load("model.npz").n_comparisons_ == EACH * len(JUDGES)


def test_comparisons_beside_the_items_count_where_another_workbook_has_more(clinic, tmp_path):
    """Only those of the second workbook were read."""
    sheets = list(sheets_of(tmp_path / "grading.xlsx"))
    fill_workbook(tmp_path / "first.xlsx", sheets[:3])
    fill_workbook(tmp_path / "more.xlsx", sheets[3:4])
    answers = "--na '<5,not done' --winner 'Worse wound' --missing mean-with-flag --keep-data"
    said = run(f"fit first.xlsx more.xlsx {answers} -o m.npz").stderr
    assert "comparisons from 2 sheets, 'Sister Mary', 'Tom (RN)'" in said
    assert "6 cells ('<5', 'not done') counted as missing" in said
    judged = Counter(load("m.npz").comparisons_.judge.tolist())
    assert judged == dict.fromkeys(JUDGES, EACH)
    named = "--sheet Patients --sheet 'Dr Patel'"
    run(f"fit first.xlsx more.xlsx {named} {answers} -o m.npz")
    assert load("m.npz").n_comparisons_ == EACH


def test_items_that_are_not_scored_are_listed_once_with_one_line_on_each_kind_of_fault(tmp_path):
    """A cell '<5' was also missing, a blank id None, one of two rows with an id was ranked."""
    rng = np.random.default_rng(3)
    a, kind = (
        rng.normal(size=30).round(3),
        np.array(["x", "y", "z"], dtype=object)[rng.permutation(30) % 3],
    )
    ids = np.array([f"p{row:02}" for row in range(30)], dtype=object)
    write_table({"id": ids, "a": a, "kind": kind}, "i.csv")
    left = rng.integers(0, 30, 200)
    right = (left + rng.integers(1, 30, 200)) % 30
    won = np.where(a[left] - a[right] + rng.logistic(size=200) > 0, "left", "right")
    write_table({"left": ids[left], "right": ids[right], "winner": won}, "v.csv")
    run("fit i.csv v.csv --categorical kind -o m.npz")
    (tmp_path / "new.csv").write_text(
        "id,a,kind\nn1,1,x\nn2,<5,y\n,1,z\nn4,1,w\nn5,1,x\nn5,3,x\nn6,,y\nn7,2,y\n"
    )
    done = run("rank m.npz new.csv -o r.csv")
    assert done.stderr.splitlines() == [
        "Note: 6 of 8 items could not be scored, and are not in the ranking:",
        "  'n2': line 3, column 'a': not a number: '<5'",
        "  line 4, column 'id': missing: ''",
        "  'n4': line 5, column 'kind': a level that the fit did not know: 'w'",
        "  'n5': line 6, column 'id': an id of several items: 'n5'",
        "  'n5': line 7, column 'id': an id of several items: 'n5'",
        "  'n6': line 8, column 'a': missing: ''",
        'Note: not a number: if they mean that a value is missing, give na = ["<5"] below [format]'
        " of a study file (.toml) that is given in place of the tables.",
        "Note: a level that the fit did not know: fit again with such items (known levels: 'x',"
        " 'y', 'z').",
        "Note: missing: fill them in.",
        "Note: missing: give every item an id.",
        "Note: an id of several items: keep one row per item.",
        "Note: all of these are in 'r.csv.bad-rows.csv'.",
    ]
    assert {*read_table("r.csv", identifiers=("id",))["id"]} == {"n1", "n7"}
    # all bad items are told where none is to be left out
    said = run("rank m.npz new.csv --unknown stop -o never.csv", code=2).stderr
    for line in (3, 4, 5, 7, 8):
        assert f"line {line}, column" in said
    assert not (tmp_path / "never.csv").exists()
    said = run("rank m.npz new.csv -o r.pdf", code=2).stderr
    assert ".xlsx" in said
    assert not any(kind in said for kind in (".xls,", ".xls.", ".xlsm", ".ods"))


def test_a_workbook_with_comparisons_alone_has_sheets_of_judges(tmp_path):
    """It was refused, for lack of items, though one file alone has comparisons."""
    rng = np.random.default_rng(4)
    ids = np.array([f"p{row:02}" for row in range(12)], dtype=object)
    sheets = []
    for judge in ("Ann", "Bob"):
        left = rng.integers(0, 12, 80)
        right = (left + rng.integers(1, 12, 80)) % 12
        won = np.where(left - right + 9 * rng.normal(size=80) > 0, "left", "right").astype(object)
        columns = {"left": ids[left], "right": ids[right], "winner": won}
        sheets.append(NewSheet(judge, columns))
    fill_workbook(tmp_path / "ab.xlsx", sheets)
    fill_workbook(tmp_path / "one.xlsx", sheets[:1])
    said = run("fit ab.xlsx -o m.npz --keep-data").stderr
    assert "comparisons from 2 sheets, 'Ann', 'Bob'" in said
    model = load("m.npz")
    assert model.n_features_in_ == 0
    assert Counter(model.comparisons_.judge.tolist()) == {"Ann": 80, "Bob": 80}
    run("fit one.xlsx -o m.npz")
    assert load("m.npz").n_comparisons_ == 80
    run("fit ab.xlsx --sheet Bob -o m.npz")
    assert load("m.npz").n_comparisons_ == 80
    # a sheet of items alone has no comparisons
    fill_workbook(tmp_path / "items.xlsx", [NewSheet("Items", {"id": ids, "a": np.arange(12.0)})])
    assert "items and comparisons are two tables" in run("fit items.xlsx", code=2).stderr


def test_a_column_of_numbers_with_many_words_is_named_with_a_proposal(clinic, tmp_path):
    book = CalamineWorkbook.from_path(tmp_path / "grading.xlsx")
    sheets = []
    for name in book.sheet_names[:4]:
        head, *rows = book.get_sheet_by_name(name).to_python()
        columns = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
        if name == "Patients":
            columns["CRP"][:20] = ["<5"] * 20
        sheets.append(NewSheet(name, {n: np.array(of, dtype=object) for n, of in columns.items()}))
    fill_workbook(tmp_path / "many.xlsx", sheets)
    said = run("fit many.xlsx --auto --winner 'Worse wound' -o m.npz").stderr
    assert "the column 'CRP' was left out, because" in said
    assert "--na '<5,not done' counts these as missing" in said
    assert "CRP" not in " ".join(load("m.npz").feature_names_in_)  # no category of 60 levels
