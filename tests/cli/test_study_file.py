"""Commands that are given a study file in place of the tables."""

import json
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pairscore import load
from tests.cli.running import run
from tests.fixtures.test_studies import CASES, STUDIES

CLINIC = """
title = "Schweregrad"
top = "am schwersten krank"
question = "Wem geht es <schlechter>?"

[tables]
items = "data/patienten.csv"
comparisons = "data/vergleiche.csv"

[columns]
missing = "drop-items"
winner = "schwerer"
left = "Fall 1"
right = "Fall 2"
judge = "Ärztin"

[codes]
A = "left"
B = "right"
gleich = "tie"
"""


@pytest.fixture(name="clinic")
def _clinic(tmp_path):
    """A study of two messy files; the study file is not in the folder of the command."""
    shutil.copytree(STUDIES / "german_clinic", tmp_path / "clinic" / "data")
    (tmp_path / "clinic" / "study.toml").write_text(CLINIC, "utf-8")
    return "clinic/study.toml"


def same_model(one, other):
    one, other = load(one), load(other)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.std_errors_, other.std_errors_)
    assert one.n_comparisons_ == other.n_comparisons_
    assert one.record_.get("reading") == other.record_.get("reading")


def test_a_study_file_is_the_same_as_its_options(clinic):
    tables, columns, missing, *_ = CASES["german_clinic"]
    options = f"{columns} {missing}"
    tables = " ".join(f"clinic/data/{name}" for name in tables.split())
    run(f"fit {tables} {options} -o told.npz")
    run(f"fit {clinic} -o m.npz")
    same_model("m.npz", "told.npz")
    assert load("m.npz").wording_.title == "Schweregrad"

    run(f"report m.npz {clinic} -o page.html")
    page = Path("page.html").read_text()
    assert "<h1>Schweregrad</h1>" in page
    assert "Question to the judges: Wem geht es &lt;schlechter&gt;?" in page
    run(f"report told.npz {tables} -o plain.html")
    assert "Question to the judges" not in Path("plain.html").read_text()

    ranked = run(f"rank m.npz {clinic}").stdout
    assert ranked == run(f"rank m.npz {tables.split()[0]}").stdout
    compared = run(f"compare {clinic} --folds 2 --json").stdout
    assert json.loads(compared) == json.loads(
        run(f"compare {tables} {options} --folds 2 --json").stdout
    )
    run(f"fit {clinic} --missing mean-with-flag --keep-data -o kept.npz")
    run(f"update kept.npz {clinic} --repeated add -o more.npz")
    assert load("more.npz").n_comparisons_ == 2 * load("kept.npz").n_comparisons_
    assert load("more.npz").wording_ == load("kept.npz").wording_
    planned = run(f"plan --items-file {clinic} --pilot {clinic} --misordered 0.1 --json").stdout
    items, votes = tables.split()
    assert planned == (
        run(f"plan --items-file {items} --pilot {votes} {options} --misordered 0.1 --json").stdout
    )
    first = run(f"pairs {clinic} --comparisons 40 -o sheet.csv").stdout
    assert first == run(f"pairs {items} --comparisons 40 -o sheet.csv").stdout


def test_what_is_typed_comes_before_the_study_file(clinic):
    said = run(f"fit {clinic} --missing refuse -o m.npz", code=2).stderr
    assert "missing" in said
    run(f"fit {clinic} --winner-codes A=right,B=left,gleich=skip -o turned.npz")
    run(f"fit {clinic} -o m.npz")
    assert load("turned.npz").n_comparisons_ < load("m.npz").n_comparisons_
    assert load("turned.npz").coef_ @ load("m.npz").coef_ < 0
    run(f"report m.npz {clinic} --title 'Other words' -o page.html")
    assert "<h1>Other words</h1>" in Path("page.html").read_text()


def test_files_after_the_study_file_take_the_place_of_its_comparisons(study):
    folder, _, _ = study
    (folder / "study.toml").write_text('[tables]\nitems = "items.csv"\ncomparisons = "none.csv"\n')
    run("fit items.csv votes.csv -o m.npz")
    run("fit study.toml votes.csv -o study.npz")
    same_model("m.npz", "study.npz")
    (folder / "pairs.csv").write_text("left,right\nitem 1,item 2\n")
    expected = run("predict m.npz items.csv pairs.csv").stdout
    assert run("predict m.npz study.toml pairs.csv").stdout == expected
    assert "none.csv" in run("predict m.npz study.toml", code=2).stderr
    said = run("fit items.csv study.toml", code=2).stderr
    assert "'study.toml' is a study file, which names both tables; give it first" in said


def test_the_columns_of_a_study_file_are_those_of_a_command(tmp_path, study):
    """Columns, lists and a reference, in files whose columns have other names."""
    items, votes = Path("items.csv").read_text(), Path("votes.csv").read_text()
    Path("named.csv").write_text(items.replace("id,", "name,", 1))
    Path("games.csv").write_text(votes.replace("left,right,winner", "home,away,winner", 1))
    level = sorted({str(one) for one in study[1]["style"]})[-1]
    Path("study.toml").write_text(
        '[tables]\nitems = "named.csv"\ncomparisons = ["games.csv"]\n'
        '[columns]\nid = "name"\nleft = "home"\nright = "away"\nsquare = "mass"\n'
        f'exclude = ["height"]\n[columns.reference]\nstyle = "{level}"\n'
    )
    options = "--id name --left home --right away --square mass --exclude height"
    run(f"fit named.csv games.csv {options} --reference style={level} -o told.npz")
    run("fit study.toml -o m.npz")
    same_model("m.npz", "told.npz")
    run("fit study.toml --exclude mass --square height -o typed.npz")
    assert "mass" not in load("typed.npz").feature_names_in_
    run("stats study.toml --exclude height,style -o site.npz")
    run("merge site.npz -o merged.npz")
    assert load("merged.npz").feature_names_in_.tolist() == ["mass"]


@pytest.mark.usefixtures("study")
def test_a_stream_refuses_what_only_memory_can_do_and_a_study_file_says():
    Path("study.toml").write_text(
        '[tables]\nitems = "items.csv"\ncomparisons = "votes.csv"\n[columns]\njudge = "judge"\n'
    )
    run("fit study.toml --stream -o m.npz")
    with Path("study.toml").open("a") as file:
        file.write('categorical = "style"\n')
    said = run("fit study.toml --stream -o m.npz", code=2).stderr
    assert "'categorical' of the study file needs all data in memory, and --stream reads" in said


def test_a_stream_keeps_the_columns_of_its_comparisons(study):
    votes = Path("votes.csv").read_text()
    Path("games.csv").write_text(votes.replace("left,right,winner", "home,away,winner", 1))
    run("fit items.csv games.csv --stream --left home --right away -o m.npz")
    assert load("m.npz").record_["reading"] == {"vote_columns": {"left": "home", "right": "away"}}
    run("report m.npz items.csv games.csv -o page.html")


def test_comparisons_alone_and_a_database(games):
    Path("study.toml").write_text(
        '[tables]\ncomparisons = "games.csv"\n[columns]\nleft = "home"\nright = "away"\n'
        'winner = "result"\n'
    )
    run("fit study.toml -o m.npz")
    assert [row["id"] for row in json.loads(run("rank m.npz --json").stdout)["ranking"]] == games
    run("report m.npz study.toml -o page.html")
    Path("two.toml").write_text('[tables]\ncomparisons = ["games.csv", "more.csv"]\n')
    said = run("fit two.toml -o m.npz", code=2).stderr
    assert "'two.toml' names 2 files of comparisons and no items" in said

    with closing(sqlite3.connect("study.db")) as database, database:
        rows = [line.split(",") for line in Path("games.csv").read_text().split()[1:]]
        database.execute("CREATE TABLE games (home TEXT, away TEXT, result TEXT)")
        database.executemany("INSERT INTO games VALUES (?, ?, ?)", rows)
    Path("sub").mkdir()
    Path("sub/base.toml").write_text(
        '[tables]\ndatabase = "sqlite:///../study.db"\n'
        'comparisons_query = "SELECT home AS left, away AS right,'
        " CASE result WHEN 'home' THEN 'left' ELSE 'right' END AS winner FROM games\"\n"
    )
    run("fit sub/base.toml -o base.npz")
    ranked = [row["score"] for row in json.loads(run("rank base.npz --json").stdout)["ranking"]]
    of_file = [row["score"] for row in json.loads(run("rank m.npz --json").stdout)["ranking"]]
    assert ranked == pytest.approx(of_file, rel=1e-6)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fit study.toml", "'study.toml' names no tables"),
        ("compare study.toml", "'study.toml' names no tables"),
        ("stats study.toml", "'study.toml' names no tables"),
        ("pairs study.toml --comparisons 9 -o s.csv", "'study.toml' names no items"),
        ("fit none.toml", "there is no file 'none.toml'"),
        ("fit wrong.toml", "Did you mean 'winner'?"),
    ],
)
def test_a_study_file_that_names_too_little_is_told(command, sentence):
    Path("study.toml").write_text('title = "Nothing yet"\n')
    Path("wrong.toml").write_text('[columns]\nwiner = "a"\n')
    said = run(shlex.join(shlex.split(command)), code=2).stderr
    assert said.startswith("Error: ")
    assert sentence in said
