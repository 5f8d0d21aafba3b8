"""Mistakes that people make: a sentence that says what to do instead, and nothing is written."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from pairscore import load
from pairscore.data.votes import check_codes, unexplained_codes
from tests.cli.running import run

ITEMS = "id,mass,age\n" + "".join(f"i{row},{row * 7 % 11},{row * 5 % 13}\n" for row in range(20))
VOTES = "left,right,winner\n" + "".join(
    f"i{row % 20},i{(row * 3 + 1) % 20 if row % 20 != (row * 3 + 1) % 20 else (row + 1) % 20},"
    f"{'left' if row * 7 % 11 > 4 else 'right'}\n"
    for row in range(120)
)
RANKINGS = "rank1,rank2,rank3,rank4\ni1,i2,i3,i4\ni5,i6,i7,i8\ni3,i1,i9,i10\n"
BEST = "a,b,c,best\ni1,i2,i3,i1\ni2,i3,i4,i4\ni4,i1,i3,i3\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a study, a fitted model, and files that are no tables."""
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text(ITEMS)
    Path("votes.csv").write_text(VOTES)
    Path("ids.csv").write_text("".join(f"{line.split(',')[0]}\n" for line in ITEMS.splitlines()))
    Path("pairs.csv").write_text("left,right\ni1,i2\ni3,i4\n")
    Path("rankings.csv").write_text(RANKINGS)
    Path("best.csv").write_text(BEST)
    Path("items.pdf").write_bytes(b"%PDF-1.4")
    with ZipFile("items.xlsx", "w"):
        pass
    run("fit items.csv votes.csv -o model.npz")


LONG = "a" * 300
MISTAKES = {
    "fit items.pdf votes.csv -o m.npz": (
        "'items.pdf' is not a table; export or save the table that it shows as .csv or .xlsx"
    ),
    "fit model.npz votes.csv -o m.npz": "is a model or sums of pairscore and not a table",
    "fit items.xlsx votes.csv --stream -o m.npz": (
        "'items.xlsx' is a workbook, which cannot be read in parts; save its sheet as .csv or"
        " .parquet, or fit it whole, without streaming."
    ),
    "fit ids.csv votes.csv -o m.npz": (
        "or give the comparisons alone, to rank items without features."
    ),
    "report model.npz votes.csv items.csv -o p.html": (
        "its rows look like comparisons; give the items first, then the comparisons."
    ),
    "predict model.npz items.csv pairs.csv --left lft": (
        "the comparisons have no such column; they have 'left', 'right'. Did you mean 'left'?"
    ),
    "fit items.csv rankings.csv -o m.npz": "rankings of more than two items cannot be read yet",
    "fit rankings.csv -o m.npz": "a row with winner and loser for every two items",
    "fit best.csv -o m.npz": "4 columns have ids of items ('a', 'b', 'c', 'best')",
    "fit": "Missing files: give ITEMS and COMPARISONS, or COMPARISONS alone.",
    "stats": "Missing files: give ITEMS and COMPARISONS.",
    f"fit items.csv votes.csv -o {LONG}.npz": "(File name too long); choose another name with -o.",
    "rank items.csv model.npz": "a table and not a model; give the model first",
    "report items.csv model.npz votes.csv -o p.html": "give the model first, then the tables.",
    "compare items.csv votes.csv --model plain:": "at least two models; you gave one.",
    "fit items.csv votes.csv -o page.html": "write the page with --report page.html",
    "fit items.csv votes.csv -o ranking.csv": "'ranking.csv' is the name of a table",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_told_with_what_to_do_instead(command, folder, tmp_path):
    before = sorted(tmp_path.iterdir())
    said = run(command, code=2).stderr
    assert MISTAKES[command] in re.sub(r"\s+", " ", said)
    assert sorted(tmp_path.iterdir()) == before


def test_an_input_with_a_name_of_300_letters_is_told():
    assert "cannot be read (File name too long)" in run(f"fit {LONG}.csv votes.csv", code=2).stderr


def test_predict_takes_pairs_for_a_model_whose_columns_were_found():
    """The ids were found in another column, and with it every column under its own name."""
    Path("named.csv").write_text(ITEMS.replace("id,", "patient,", 1))
    run("fit named.csv votes.csv -o found.npz")
    said = run("predict found.npz named.csv pairs.csv").stdout
    assert re.search(r"^i1 +i2 +\d", said, re.MULTILINE)


def test_plan_says_that_it_wrote_the_chart():
    said = run("plan --features 5 --noise 0.2 --misordered 0.1 --chart plan.png").stdout
    assert said.endswith("\nWrote plan.png.\n")
    assert Path("plan.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--comparisons 10", "Every item is in 1 comparison. Seed 0."),
        ("--comparisons 15", "Every item is in 1 or 2 comparisons. Seed 0."),
        ("--comparisons 6", "Items are in 0 or 1 comparison; 8 items are in none. Seed 0."),
    ],
)
def test_how_often_items_are_compared_is_said_truly(options, sentence):
    assert sentence in run(f"pairs items.csv {options} -o sheet.csv").stdout


def test_a_range_of_comparisons_per_item_is_not_said_to_be_its_ends():
    """With repeats items were in 0, 1 or 2 comparisons, and the sentence named two of them."""
    said = run("pairs items.csv --comparisons 10 --repeats 20% -o sheet.csv").stdout
    counts = {row: 0 for row in re.findall("^(i[0-9]+),", ITEMS, re.MULTILINE)}
    for line in Path("sheet.csv").read_text().splitlines()[1:]:
        for name in line.split(",")[1:3]:
            counts[name] += 1
    assert {*counts.values()} == {0, 1, 2}
    never = sum(count == 0 for count in counts.values())
    assert f"Items are in 0 to 2 comparisons; {never} items are in none." in said


def test_a_judging_sheet_shows_numbers_as_numbers():
    """Ids stay text, and so does 007."""
    Path("coded.csv").write_text("id,mass,code\n1,2.5,007\n2,-3,008\n3,4e5,12345678901234567\n")
    run("pairs coded.csv --comparisons 3 --show mass,code -o sheet.xlsx")
    with ZipFile("sheet.xlsx") as book:
        cells = book.read("xl/worksheets/sheet1.xml").decode()
    assert "<v>2.5</v>" in cells
    assert "<v>-3</v>" in cells
    for text in ("007", "008", "12345678901234567", "4e5"):
        assert f"<t>{text}</t>" in cells


def test_codes_for_cells_that_were_left_out_are_not_proposed():
    blanks = VOTES.replace(",left\n", ",A\n").replace(",right\n", ",B\n")
    lines = blanks.splitlines(keepends=True)
    lines[3::3] = [f"{line.rsplit(',', 1)[0]},\n" for line in lines[3::3]]
    Path("coded.csv").write_text("".join(lines))
    said = run("fit items.csv coded.csv -o m.npz", code=2).stderr
    assert "40 of 120 comparisons left out: no winner is given." in said
    assert "in place of each question mark in --winner-codes 'A=?,B=?'." in said
    assert unexplained_codes(["A"], check_codes({None: "skip"})) == {"A": "?"}


def test_several_answers_are_asked_for_in_one_line_to_copy():
    lines = VOTES.replace(",left\n", ",1\n").replace(",right\n", ",2\n").splitlines(keepends=True)
    lines[0] = "one,other,verdict\n"
    Path("coded.csv").write_text("".join(lines))
    said = run("fit items.csv coded.csv -o m.npz", code=2).stderr
    answers = "--left one --right other --winner verdict --winner-codes '1=?,2=?'"
    assert said.endswith(f"In one line, to be corrected where it is otherwise: {answers}\n")
    run(f"fit items.csv coded.csv -o m.npz {answers.replace('1=?,2=?', '1=left,2=right')}")
    run("fit items.csv votes.csv -o same.npz")
    assert load("m.npz").coef_ == pytest.approx(load("same.npz").coef_)


def test_one_question_has_no_second_line():
    Path("coded.csv").write_text(VOTES.replace(",left\n", ",A\n").replace(",right\n", ",B\n"))
    assert "In one line" not in run("fit items.csv coded.csv -o m.npz", code=2).stderr


def test_sheets_of_no_workbook_are_refused():
    said = run("fit items.csv votes.csv -o m.npz --sheet Ana", code=2).stderr
    assert "--sheet names sheets of workbooks, and there is none among the files" in said


def test_a_model_is_not_called_like_a_document():
    said = run("fit items.csv votes.csv -o model.pdf", code=2).stderr
    assert "'model.pdf' is the name of a document or a picture; choose a name" in said
    assert not Path("model.pdf").exists()


def test_the_only_two_columns_of_pairs_are_proposed_for_its_sides():
    run("fit items.csv votes.csv -o m.npz")
    pairs = ["first,second", *(line.rsplit(",", 1)[0] for line in VOTES.splitlines()[1:4])]
    Path("pairs.csv").write_text("\n".join(pairs) + "\n")
    said = run("predict m.npz items.csv pairs.csv", code=2).stderr
    assert "name those with other names: --left first --right second." in said
    said = run("predict m.npz items.csv pairs.csv --left first", code=2).stderr
    assert "name those with other names: --right second." in said
    run("predict m.npz items.csv pairs.csv --left first --right second")
