"""predict: chances of pairs, with judges, context and ties."""

import csv
import json

import numpy as np
import pytest

from pairscore import Comparisons, load
from tests.cli.running import fill_in, run

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


@pytest.fixture
def fitted(items, tmp_path):
    """The folder of items with sheet.csv filled in and a model of it."""
    run("pairs items.csv --comparisons 300 --seed 2 -o sheet.csv")
    fill_in("sheet.csv", items, np.random.default_rng(1))
    run("fit items.csv sheet.csv -o m.npz")
    return load("m.npz")


def test_pairs_without_a_winner_get_chances_with_intervals(fitted, tmp_path):
    (tmp_path / "open.csv").write_text("left,right\n000,001\n039,007\n")
    record = json.loads(run("predict m.npz items.csv open.csv --level 0.9 --json").stdout)
    items = {"id": [], "a": [], "b": []}
    with open("items.csv") as file:
        for row in csv.DictReader(file):
            items["id"].append(row["id"])
            items["a"].append(float(row["a"]))
            items["b"].append(float(row["b"]))
    pairs = Comparisons.from_pairs(items, ["000", "039"], ["001", "007"])
    expected = fitted.chances(pairs, level=0.9)
    assert record["n_pairs"] == 2
    for row, found in enumerate(record["chances"]):
        assert (found["left"], found["right"]) == (("000", "001"), ("039", "007"))[row]
        for name, values in expected.items():
            assert found[name] == pytest.approx(values[row], rel=1e-9)
    lines = run("predict m.npz items.csv open.csv").stdout.splitlines()
    assert lines[0].split() == ["left", "right", "left", "wins", "interval"]
    assert lines[1].startswith("000   001")
    run("predict m.npz items.csv open.csv -o chances.csv")
    header = (tmp_path / "chances.csv").read_text().splitlines()[0]
    assert header == "left,right,chance,low,high"


def test_an_empty_sheet_is_predicted_and_the_first_twenty_are_shown(fitted):
    run("pairs items.csv --comparisons 60 --seed 5 -o empty.csv")
    lines = run("predict m.npz items.csv empty.csv").stdout.splitlines()
    assert len(lines) == 22
    assert lines[-1] == "and 40 more; -o chances.csv writes them all."


def test_judges_context_ties_and_other_names_are_those_of_the_fit(items, tmp_path):
    rng = np.random.default_rng(3)
    names = list(items)
    rows = []
    for _ in range(400):
        left, right = rng.choice(names, 2, replace=False)
        judge = rng.choice(["A", "B"])  # B guesses
        better = items[left] > items[right] if judge == "A" else rng.random() < 0.5
        winner = "tie" if rng.random() < 0.2 else ("home" if better else "away")
        rows.append(f"{left},{right},{winner},{judge},{rng.normal():.2f}")
    head = "home,away,result,judge,rest"
    (tmp_path / "games.csv").write_text("\n".join([head, *rows]) + "\n")
    run(
        "fit items.csv games.csv --left home --right away --winner result --context rest"
        " --judge-slopes --side-effect --ties davidson -o g.npz"
    )
    (tmp_path / "sunday.csv").write_text("home,away,judge,rest\n000,001,A,1\n000,001,B,1\n")
    command = "predict g.npz items.csv sunday.csv --left home --right away"
    first, second = json.loads(run(f"{command} --json").stdout)["chances"]
    assert first["judge"] == "A"
    assert first["chance"] != second["chance"]
    assert 0 < first["tie_low"] <= first["tie"] <= first["tie_high"] < 1
    assert run(command).stdout.splitlines()[0].split()[-2:] == ["tie", "interval"]
    (tmp_path / "sunday.csv").write_text("home,away\n000,001\n")
    assert "no column 'rest' for the context; they have" in run(command, code=2).output


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,b\n000,001\n", "the pairs have columns 'a', 'b'; they need left and right"),
        ("winner,loser\n000,001\n", "they need left and right with the ids of two items"),
        ("left,right\n000,nobody\n", "line 2, column 'right': unknown item: 'nobody'"),
        ("left,right\n000,000\n", "an item with itself"),
    ],
)
def test_pairs_that_cannot_be_predicted_get_a_sentence(fitted, tmp_path, content, sentence):
    (tmp_path / "open.csv").write_text(content)
    assert sentence in run("predict m.npz items.csv open.csv", code=2).output
    assert "--self-pairs" not in run("predict m.npz items.csv open.csv", code=2).output


def test_predict_knows_the_columns_of_the_fit(items, tmp_path):
    run("pairs items.csv --comparisons 100 -o sheet.csv")
    fill_in("sheet.csv", items, np.random.default_rng(1))
    path = tmp_path / "sheet.csv"
    path.write_text(path.read_text().replace("left,right,winner", "links,rechts,Sieger", 1))
    run("fit items.csv sheet.csv --left links --right rechts --winner Sieger -o m.npz")
    expected = run("predict m.npz items.csv sheet.csv --left links --right rechts --json").stdout
    assert run("predict m.npz items.csv sheet.csv --json").stdout == expected
