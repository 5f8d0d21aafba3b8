"""An update with comparisons that the model has already is recognised; equal rows are not."""

import json

import numpy as np
import pandas as pd
import pytest

from pairscore import RankRegression, load
from pairscore.errors import PairscoreError
from pairscore.files.write import write_table
from pairscore.files.write_workbook import NewSheet, fill_workbook
from tests.cli.running import run

N = 40


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def items():
    rng = np.random.default_rng(0)
    ids = np.array([f"item {row}" for row in range(N)], dtype=object)
    return {"id": ids, "a": rng.normal(size=N), "b": rng.normal(size=N)}


def votes(m=200, seed=1, n=N, **more):
    table, rng = items(), np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = table["a"][left] - table["a"][right] + rng.logistic(size=m) > 0
    winner = np.where(won, "left", "right").astype(object)
    return {"left": table["id"][left], "right": table["id"][right], "winner": winner, **more}


def as_winners(table):
    """The same without sides: winner and loser."""
    won = table["winner"] == "left"
    winner = np.where(won, table["left"], table["right"])
    return {"winner": winner, "loser": np.where(won, table["right"], table["left"])}


def as_rows(table):
    """The same as an array of row numbers, winner first."""
    row = {name: number for number, name in enumerate(items()["id"])}
    return np.array([[row[name] for name in column] for column in as_winners(table).values()]).T


KINDS = {"sides": dict, "winner and loser": as_winners, "array": as_rows}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_same_votes_twice_are_refused_unless_told(kind):
    table = items()
    if kind is as_rows:
        table = np.column_stack([table["a"], table["b"]])
    first, second = kind(votes()), kind(votes(seed=2))
    model = RankRegression().fit(table, first).update(second)
    assert model.n_comparisons_ == 400
    for again in (first, second):
        with pytest.raises(
            PairscoreError, match="200 comparisons are already in the model"
        ) as said:
            model.update(again)
        assert "repeated='add'" in str(said.value)
        assert model.n_comparisons_ == 400  # as it was
    assert model.update(first, repeated="add").n_comparisons_ == 600
    with pytest.raises(PairscoreError, match="repeated is 'yes'; use 'refuse' or 'add'"):
        model.update(first, repeated="yes")


def test_a_part_of_the_votes_and_votes_that_contain_all_are_repeated_too():
    every = pd.DataFrame(votes())
    model = RankRegression().fit(items(), every)
    with pytest.raises(PairscoreError, match="30 comparisons are already in the model"):
        model.update(every[50:80])
    longer = pd.concat([every, pd.DataFrame(votes(seed=2))])
    with pytest.raises(PairscoreError, match="among the new comparisons are all 200 of the model"):
        model.update(longer)


@pytest.mark.parametrize("n", [N, 3])
@pytest.mark.parametrize("where", ["first", "last", "middle"])
def test_an_export_that_grows_is_repeated_in_part(n, where):
    """All rows of the last export and some new ones counted the old ones twice."""
    monday, tuesday, wednesday = (pd.DataFrame(votes(seed=seed, n=n)) for seed in (1, 2, 3))
    model = RankRegression().fit(items(), monday).update(tuesday)
    grown = {"first": [tuesday, wednesday], "last": [wednesday, tuesday]}
    grown["middle"] = [wednesday[:90], tuesday, wednesday[90:]]
    words = {"first": "the first 2", "last": "the last 2"}
    with pytest.raises(PairscoreError, match="already in the model, in the same order") as said:
        model.update(pd.concat(grown[where]))
    if where == "middle":
        assert "of 400 comparisons (from number" in str(said.value)
    else:
        assert words[where] in str(said.value)  # 200, and what follows by chance on three items
    assert model.n_comparisons_ == 400
    assert model.update(pd.concat(grown[where]), repeated="add").n_comparisons_ == 800


def test_a_dozen_rows_of_an_export_are_enough():
    first, second = pd.DataFrame(votes()), pd.DataFrame(votes(seed=2))
    model = RankRegression().fit(items(), first)
    with pytest.raises(PairscoreError, match="the first 12 of 212 comparisons are already"):
        model.update(pd.concat([first[-12:], second]))


def test_pairs_in_the_same_order_with_other_answers_are_ordinary_data():
    """Every judge is given the same list, and most agree on the easy pairs."""
    first = votes()
    second = first | {"winner": first["winner"].copy()}
    other = np.arange(19, 200, 20)
    second["winner"][other] = np.where(second["winner"][other] == "left", "right", "left")
    model = RankRegression().fit(items(), first)
    assert model.update(second).n_comparisons_ == 400


@pytest.mark.parametrize("m", [2, 3, 9])
def test_a_small_file_twice_is_refused(m):
    first, small, other = votes(), votes(m=m, seed=2), votes(m=m, seed=3)
    model = RankRegression().fit(items(), first).update(small)
    with pytest.raises(PairscoreError, match=f"{m} comparisons are already in the model"):
        model.update(small)
    assert model.update(other).n_comparisons_ == 200 + 2 * m
    assert model.update(other, repeated="add").n_comparisons_ == 200 + 3 * m


def test_equal_rows_alone_are_ordinary_data():
    """On a board of three models every row has been there before, and so have short runs."""
    first, second = votes(m=4000, n=3), votes(m=4000, n=3, seed=2)
    model = RankRegression().fit(None, first).update(second)
    assert model.n_comparisons_ == 8000
    one = pd.DataFrame(first)[:1]
    assert model.update(one).update(one).n_comparisons_ == 8002
    few = pd.DataFrame(second)[100:112]  # a dozen answers of six kinds stand in 8000 by chance
    assert model.update(few).n_comparisons_ == 8014
    with pytest.raises(PairscoreError, match="already in the model"):
        model.update(pd.DataFrame(second)[100:200])


def test_other_judges_weights_and_outcomes_make_other_votes():
    first = votes(judge=np.array(["ann"] * 200, dtype=object), weight=np.ones(200))
    model = RankRegression().fit(items(), first)
    other = first | {"judge": np.array(["bob"] * 200, dtype=object)}
    assert model.update(other).n_comparisons_ == 400
    model = RankRegression().fit(items(), first)
    assert model.update(first | {"weight": np.full(200, 2.0)}).n_comparisons_ == 400
    flipped = first["winner"].copy()
    flipped[7] = "right" if flipped[7] == "left" else "left"
    model = RankRegression().fit(items(), first)
    assert model.update(first | {"winner": flipped}).n_comparisons_ == 400


def test_update_of_a_file_twice_is_refused(tmp_path):
    """A daily job that ran twice counted its file twice."""
    write_table(items(), "items.csv")
    for name, seed in (("monday", 1), ("tuesday", 2), ("wednesday", 3)):
        write_table(votes(seed=seed), f"{name}.csv")
    run("fit items.csv monday.csv --keep-data -o m.npz")
    run("update m.npz tuesday.csv -o m.npz")
    before = (tmp_path / "m.npz").read_bytes()
    for files in ("tuesday.csv", "monday.csv", "wednesday.csv tuesday.csv"):
        said = run(f"update m.npz {files} -o m.npz", code=2).stderr
        repeated = files.split()[-1]
        assert f"Error: '{repeated}': 200 comparisons are already in the model" in said
        assert "--repeated add" in said
    assert (tmp_path / "m.npz").read_bytes() == before
    done = run("update m.npz tuesday.csv --repeated add -o m.npz --json").stdout
    assert json.loads(done)["n_comparisons"] == 600
    # through Python too, from the file
    with pytest.raises(PairscoreError, match="already in the model"):
        load("m.npz").update(votes(seed=2))


def test_a_sheet_twice_is_refused_by_its_name(tmp_path):
    write_table(items(), "items.csv")
    ann, bob, cleo = (votes(m=60, seed=seed) for seed in (1, 2, 3))
    bob["winner"][::7] = None  # not compared yet
    fill_workbook(tmp_path / "first.xlsx", [NewSheet("Ann", ann), NewSheet("Bob", bob)])
    fill_workbook(tmp_path / "second.xlsx", [NewSheet("Cleo", cleo), NewSheet("Bob", bob)])
    run("fit items.csv first.xlsx --keep-data -o m.npz")
    said = run("update m.npz second.xlsx -o m.npz", code=2).stderr
    assert "'second.xlsx, sheet Bob': 51 comparisons are already in the model" in said
    done = run("update m.npz second.xlsx --sheet Cleo -o m.npz --json").stdout
    assert json.loads(done)["n_comparisons"] == 60 + 51 + 60
