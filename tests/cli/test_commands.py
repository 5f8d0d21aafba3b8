"""`pairscore fit` and `pairscore rank` as somebody uses them who writes no Python."""

import html
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from pairscore import RankRegression, load
from pairscore.cli.commands import main
from pairscore.data.feature_options import make_recipe, split_names
from pairscore.data.features import Recipe, recipe_of
from pairscore.data.tables import Columns
from pairscore.errors import PairscoreError
from pairscore.files.pieces import ItemPieces
from pairscore.files.read_study import read_study
from pairscore.files.tables import PIECE_ROWS, StoredTable, read_table, stored_table
from pairscore.files.write import write_table
from pairscore.model.ranking import rank_pieces
from pairscore.model.record import command_line
from tests.estimators.test_outside_results import DATA, PUBLISHED

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")
RANKING = ["id", "score", "low", "high", "rank", "rank_low", "rank_high", "outside"]


def run(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def shell(*arguments, **options):
    """The command in a process of its own."""
    code = "from pairscore.cli import main; main(prog_name='pairscore')"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        timeout=120,
        **options,
    )


def ranking(path):
    table = read_table(path)
    return {name: table[name].tolist() for name in table.columns}


def state(path):
    """All of a model file, without the command that made it."""
    with np.load(path) as file:
        arrays = {
            name: (file[name].dtype.str, file[name].shape, file[name].tobytes())
            for name in file.files
            if name != "header"
        }
        header = json.loads(file["header"].tobytes())
    header["fitted"]["record_"].pop("command")
    return arrays, header


def fine_files(directory, seed=0, n=30, m=300):
    """Items with two numeric features and a text, and votes that follow the first feature."""
    rng = np.random.default_rng(seed)
    mass, height = rng.normal(size=n), rng.normal(size=n)
    ids = [f"item {row}" for row in range(n)]
    style = np.array(["oil", "ink", "chalk"], dtype=object)[rng.integers(0, 3, n)]
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    wins = rng.random(m) < 1 / (
        1
        + np.exp(
            -(
                mass[left]
                - mass[right]
                + 0.4 * (style[left] == "oil")
                - 0.4 * (style[right] == "oil")
            )
        )
    )
    items = {"id": np.array(ids, dtype=object), "mass": mass, "height": height, "style": style}
    votes = {
        "left": np.array(ids, dtype=object)[left],
        "right": np.array(ids, dtype=object)[right],
        "winner": np.where(wins, "left", "right").astype(object),
    }
    votes["winner"][::25] = "tie"
    write_table(items, directory / "items.csv")
    write_table(votes, directory / "votes.csv")
    return items, votes


@pytest.fixture
def study(tmp_path):
    items, votes = fine_files(tmp_path)
    return tmp_path, items, votes


def fit_frames(items, votes, **settings):
    return RankRegression(**settings).fit(
        {name: values for name, values in items.items() if name != "style"}, votes
    )


# -- from files to known numbers -------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tables_give_the_published_numbers(tmp_path, name):
    known, model = PUBLISHED[name], tmp_path / "model.npz"
    side = ["--side-effect"] if "side" in known else []
    result = run(
        "fit",
        DATA / name / "items.csv",
        DATA / name / "votes.csv",
        "--inference",
        "model",
        *side,
        "-o",
        model,
        "--json",
    )
    record = json.loads(result.stdout)
    found = {row["feature"]: (row["coef"], row["std_error"]) for row in record["coefficients"]}
    if side:
        found["side"] = (record["side_effect"]["coef"], record["side_effect"]["std_error"])
    for feature, (coef, error) in known.items():
        assert found[feature][0] == pytest.approx(coef, abs=1e-7)
        assert found[feature][1] == pytest.approx(error, rel=2e-6, abs=6e-8)
    run("rank", model, DATA / name / "items.csv", "-o", tmp_path / "ranking.csv")
    best = ranking(tmp_path / "ranking.csv")
    assert best["score"] == sorted(best["score"], reverse=True)
    assert (
        best["id"][0] == {"citations": "JRSSB", "baseball": "Milwaukee", "heaviness": "110g"}[name]
    )


def test_the_category_is_the_published_dummies(tmp_path):
    """Seven 0/1 columns, one for each team.

    Differences of coefficients are those of the published six.
    """
    teams = read_table(DATA / "baseball" / "items.csv")["id"]
    write_table({"id": teams, "team": teams}, tmp_path / "items.csv")
    options = ["--categorical", "team", "--side-effect", "--inference", "model"]
    result = run(
        "fit",
        tmp_path / "items.csv",
        DATA / "baseball" / "votes.csv",
        *options,
        "-o",
        tmp_path / "m.npz",
    )
    assert "Warning" in result.stderr
    assert "Warning" not in result.stdout
    coef = dict(
        zip(load(tmp_path / "m.npz").feature_names_in_, load(tmp_path / "m.npz").coef_, strict=True)
    )
    for team, (known, _) in PUBLISHED["baseball"].items():
        if team != "side":
            assert coef[f"team={team}"] - coef["team=Baltimore"] == pytest.approx(known, abs=1e-6)


def test_the_command_is_the_library_call(study):
    folder, items, votes = study
    result = run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    ours, theirs = load(folder / "m.npz"), fit_frames(items, votes)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.covariance_, theirs.covariance_)
    assert result.stdout == theirs.summary().text(notes=False) + "\n"
    assert [line for line in result.stderr.splitlines() if line.startswith("Warning")] == [
        f"Warning: {note}" for note in theirs.notes_
    ]
    assert "'style' is text" in result.stderr
    assert "--categorical style" in result.stderr
    run("rank", folder / "m.npz", folder / "items.csv", "-o", folder / "r.parquet")
    expected = theirs.rank({name: values for name, values in items.items() if name != "style"})
    found = ranking(folder / "r.parquet")
    assert list(found) == RANKING
    assert found["id"] == expected["id"].tolist()
    for name in RANKING[1:]:
        np.testing.assert_allclose(
            np.asarray(found[name], dtype=float),
            np.asarray(expected[name], dtype=float),
            rtol=1e-12,
        )


SETTINGS = {
    "method": (["--method", "paired"], {"method": "paired"}),
    "link": (["--link", "probit"], {"link": "probit"}),
    "l2": (["--l2", "2.5"], {"l2": 2.5}),
    "shrinkage by number": (
        ["--method", "pooled", "--shrinkage", "0.3"],
        {"method": "pooled", "shrinkage": 0.3},
    ),
    "shrinkage by name": (
        ["--method", "paired", "--shrinkage", "oas"],
        {"method": "paired", "shrinkage": "oas"},
    ),
    "side effect": (["--side-effect"], {"side_effect": True}),
    "classical": (["--inference", "model"], {"inference": "model"}),
    "no intervals": (["--inference", "none"], {"inference": None}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_reaches_the_model(study, name):
    folder, items, votes = study
    options, settings = SETTINGS[name]
    run("fit", folder / "items.csv", folder / "votes.csv", *options, "-o", folder / "m.npz")
    model = load(folder / "m.npz")
    assert {key: model.get_params()[key] for key in settings} == settings
    expected = fit_frames(items, votes, **settings)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.side_effect_ == expected.side_effect_
    if settings.get("inference", "items") is None:
        assert model.covariance_ is None
        result = run("rank", folder / "m.npz", folder / "items.csv", "--json")
        assert {row["low"] for row in json.loads(result.stdout)["ranking"]} == {None}
    else:
        np.testing.assert_array_equal(model.std_errors_, expected.std_errors_)


def test_json_has_what_the_summary_says(study):
    folder, items, votes = study
    result = run(
        "fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz", "--json"
    )
    record, model = json.loads(result.stdout), fit_frames(items, votes)
    assert [row["coef"] for row in record["coefficients"]] == model.coef_.tolist()
    assert [
        [row["low"], row["high"]] for row in record["coefficients"]
    ] == model.confidence_intervals().tolist()
    assert (record["n_items"], record["n_comparisons"]) == (model.n_items_, 300)
    assert (record["agreement"], record["noise"], record["warnings"]) == (
        model.agreement_,
        model.noise_,
        model.notes_,
    )
    assert record["warnings"]  # thirty items are few


# -- one data set in many kinds of files -----------------------------------------------------------


def test_every_kind_of_file_and_a_pipe_give_the_same_model_to_the_last_bit(study):
    folder, _, _ = study
    models = {}
    for kind in ("csv", "parquet", "jsonl", "tsv"):
        for table in ("items", "votes"):
            write_table(read_table(folder / f"{table}.csv"), folder / f"{table}.{kind}")
        run(
            "fit",
            folder / f"items.{kind}",
            folder / f"votes.{kind}",
            "--categorical",
            "style",
            "--square",
            "mass",
            "-o",
            folder / f"{kind}.npz",
        )
        models[kind] = state(folder / f"{kind}.npz")
    options = ["--categorical", "style", "--square", "mass"]
    run(
        "fit",
        folder / "items.csv",
        "-",
        *options,
        "-o",
        folder / "votes.npz",
        stdin=(folder / "votes.csv").read_bytes(),
    )
    done = shell(
        "fit",
        "-",
        folder / "votes.csv",
        *options,
        "-o",
        folder / "items.npz",
        input=(folder / "items.csv").read_bytes(),
    )
    assert done.returncode == 0, done.stderr
    models |= {name: state(folder / f"{name}.npz") for name in ("items", "votes")}
    assert all(model == models["csv"] for model in models.values())


def test_model_and_ranking_through_pipes(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    made = shell("fit", folder / "items.csv", folder / "votes.csv", "-o", "-")
    assert made.returncode == 0, made.stderr
    (folder / "piped.npz").write_bytes(made.stdout)
    assert state(folder / "piped.npz") == state(folder / "m.npz")
    assert b"Rank regression" in made.stderr  # the summary makes way for the model
    ranked = shell("rank", "-", folder / "items.csv", "-o", "-", input=made.stdout)
    assert ranked.returncode == 0, ranked.stderr
    run("rank", folder / "m.npz", folder / "items.csv", "-o", folder / "r.csv")
    assert ranked.stdout == (folder / "r.csv").read_bytes()
    again = run("rank", folder / "m.npz", "-", "-o", "-", stdin=(folder / "items.csv").read_bytes())
    assert again.stdout_bytes == ranked.stdout
    assert "both" in run("fit", "-", "-", "-o", folder / "x.npz", code=2, stdin=b"").stderr


def test_delimiter_and_encoding(tmp_path):
    (tmp_path / "items.csv").write_bytes(
        "id;size\nmüsli;1,0\n".replace(",", ".").encode("latin-1")
        + "größe;2\nx;3\n".encode("latin-1")
    )
    (tmp_path / "votes.csv").write_bytes(
        "winner;loser\ngröße;müsli\nx;größe\ngröße;x\nx;müsli\nmüsli;x\n".encode("latin-1")
    )
    run(
        "fit",
        tmp_path / "items.csv",
        tmp_path / "votes.csv",
        "--delimiter",
        ";",
        "--encoding",
        "latin-1",
        "-o",
        tmp_path / "m.npz",
    )
    run(
        "rank",
        tmp_path / "m.npz",
        tmp_path / "items.csv",
        "--delimiter",
        ";",
        "--encoding",
        "latin-1",
        "-o",
        tmp_path / "r.csv",
    )
    assert ranking(tmp_path / "r.csv")["id"] == ["x", "größe", "müsli"]
    wrong = run(
        "fit",
        tmp_path / "items.csv",
        tmp_path / "votes.csv",
        "--encoding",
        "utf-8",
        "-o",
        tmp_path / "n.npz",
        code=2,
    )
    assert "not text in 'utf-8'" in wrong.stderr
    assert not (tmp_path / "n.npz").exists()


def test_a_delimiter_may_be_that_of_one_file(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    (folder / "tilde.csv").write_text((folder / "items.csv").read_text().replace(",", "~"))
    run(
        "fit",
        folder / "tilde.csv",
        folder / "votes.csv",
        "--delimiter",
        "~",
        "-o",
        folder / "tilde.npz",
    )
    assert state(folder / "tilde.npz") == state(folder / "m.npz")
    (folder / "bad.csv").write_text(
        (folder / "votes.csv").read_text() + '"who\nis that",item 1,left\nitem 1,item 2,huh\n'
    )
    wrong = run(
        "fit",
        folder / "tilde.csv",
        folder / "bad.csv",
        "--delimiter",
        "~",
        "-o",
        folder / "x.npz",
        code=2,
    )
    assert faults(wrong.stderr) == {
        ("302", "left", "unknown item"),
        ("304", "winner", "neither side, nor a tie"),
    }


# -- columns by other names ------------------------------------------------------------------------


def test_columns_of_the_comparisons_by_other_names(study):
    folder, _, _ = study
    run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--side-effect",
        "-o",
        folder / "plain.npz",
    )
    votes = read_table(folder / "votes.csv")
    n = len(votes)
    renamed = {
        "home": votes["left"],
        "away": votes["right"],
        "result": votes["winner"],
        "who": np.array(["ann", "bob"] * (n // 2), dtype=object),
    }
    # the last one is not what it says
    renamed |= {"times": np.full(n, 2.0), "trust": np.full(n, 0.5), "left": votes["right"]}
    renamed["result"] = np.array(
        [{"left": "home", "right": "away"}.get(word, word) for word in votes["winner"]],
        dtype=object,
    )
    write_table(renamed, folder / "other.csv")
    names = [
        "--left",
        "home",
        "--right",
        "away",
        "--winner",
        "result",
        "--judge",
        "who",
        "--count",
        "times",
        "--weight",
        "trust",
        "--side-effect",
    ]
    run("fit", folder / "items.csv", folder / "other.csv", *names, "-o", folder / "other.npz")
    plain, other = load(folder / "plain.npz"), load(folder / "other.npz")
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9)  # twice a half each
    assert other.side_effect_ == pytest.approx(plain.side_effect_, rel=1e-9)
    rows = read_study(
        folder / "items.csv",
        folder / "other.csv",
        vote_columns=dict(zip([name[2:] for name in names[:-1:2]], names[1:-1:2], strict=True)),
    )
    assert rows.votes.judge.tolist() == ["ann", "bob"] * (n // 2)
    assert set(rows.votes.count) == {2.0}
    wrong = run(
        "fit",
        folder / "items.csv",
        folder / "other.csv",
        "--left",
        "hom",
        "--right",
        "away",
        "-o",
        folder / "x.npz",
        code=2,
    )
    assert "--left names 'hom'" in wrong.stderr
    assert "Did you mean 'home'?" in wrong.stderr
    both = run(
        "fit",
        folder / "items.csv",
        folder / "other.csv",
        "--left",
        "home",
        "--loser",
        "away",
        "-o",
        folder / "x.npz",
        code=2,
    )
    assert "--loser goes without --left" in both.stderr


def test_layouts_of_other_programs(study):
    """Winner and loser (choix), left, right, winner (Evalica), model_a, model_b, winner (LMArena).

    One data set, one fit.
    """
    folder, _, _ = study
    votes = read_table(folder / "votes.csv")
    decided = np.flatnonzero(votes["winner"] != "tie")
    left, right, word = votes["left"][decided], votes["right"][decided], votes["winner"][decided]
    won, lost = np.where(word == "left", left, right), np.where(word == "left", right, left)
    as_side = np.where(word == "left", "model_a", "model_b").astype(object)
    layouts = {
        "evalica": ({"left": left, "right": right, "winner": word}, []),
        "arena": ({"model_a": left, "model_b": right, "winner": as_side}, []),
        "own id": ({"left": left, "right": right, "winner": won}, []),
        "choix": ({"winner": won, "loser": lost}, []),
        "better, worse": (
            {"better": won, "worse": lost, "left": left, "right": right},
            ["--winner", "better", "--loser", "worse"],
        ),
    }
    coefs = []
    for name, (columns, options) in layouts.items():
        write_table(columns, folder / f"{name}.csv")
        run("fit", folder / "items.csv", folder / f"{name}.csv", *options, "-o", folder / "m.npz")
        coefs.append(load(folder / "m.npz").coef_)
    for coef in coefs:
        np.testing.assert_allclose(coef, coefs[0], rtol=1e-9)


def test_a_winner_told_by_a_column_that_is_also_an_item_is_refused(tmp_path):
    (tmp_path / "items.csv").write_text("id,x\nhome,1\naway team,2\nb,3\n")
    (tmp_path / "votes.csv").write_text("home,guest,winner\nhome,b,home\nb,home,home\n")
    result = run(
        "fit",
        tmp_path / "items.csv",
        tmp_path / "votes.csv",
        "--left",
        "home",
        "--right",
        "guest",
        "-o",
        tmp_path / "m.npz",
        code=2,
    )
    assert "both an item and the column of a side" in result.stderr


def test_columns_of_the_items_by_name(study):
    folder, items, votes = study
    table = read_table(folder / "items.csv")
    write_table(
        {
            "name": table["id"],
            "mass": table["mass"],
            "height": table["height"],
            "id": np.arange(len(table)),
        },
        folder / "named.csv",
    )
    base = [
        "fit",
        folder / "named.csv",
        folder / "votes.csv",
        "--id",
        "name",
        "-o",
        folder / "m.npz",
    ]
    run(*base, "--features", "height,mass")
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["height", "mass"]
    run(*base, "--exclude", "id", "--exclude", "height")
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["mass"]
    np.testing.assert_array_equal(
        load(folder / "m.npz").coef_,
        fit_frames({"id": items["id"], "mass": items["mass"]}, votes).coef_,
    )
    # the id column is remembered
    run("rank", folder / "m.npz", folder / "named.csv", "-o", folder / "r.csv")
    assert set(ranking(folder / "r.csv")["id"]) == set(items["id"])
    run("rank", folder / "m.npz", folder / "items.csv", "--id", "id", "-o", folder / "r2.csv")
    assert (folder / "r.csv").read_bytes() == (folder / "r2.csv").read_bytes()
    assert "--id NAME" in run("rank", folder / "m.npz", folder / "items.csv", code=2).stderr
    assert "Did you mean 'mass'?" in run(*base, "--features", "mas", code=2).stderr
    assert "--exclude names" in run(*base, "--exclude", "colour", code=2).stderr
    assert (
        "is text (such as"
        in run(
            *base[:1],
            folder / "items.csv",
            *base[2:3],
            "--features",
            "style",
            "-o",
            folder / "m.npz",
            code=2,
        ).stderr
    )


def test_items_without_ids_are_known_by_row_number(tmp_path):
    (tmp_path / "items.csv").write_text("x\n1\n2\n4\n8\n")
    (tmp_path / "votes.csv").write_text("winner,loser\n1,0\n2,1\n1,2\n3,2\n3,0\n2,3\n0,1\n")
    run("fit", tmp_path / "items.csv", tmp_path / "votes.csv", "-o", tmp_path / "m.npz")
    run("rank", tmp_path / "m.npz", tmp_path / "items.csv", "-o", tmp_path / "r.csv")
    assert ranking(tmp_path / "r.csv")["id"] == [3, 2, 1, 0]


def test_names_in_options_may_have_commas():
    assert split_names(["a, b", '"x, y",b', "c"]) == ["a", "b", "x, y", "c"]


# -- columns that nobody needs ---------------------------------------------------------------------


@pytest.fixture
def cluttered(tmp_path):
    """Sixty items and their votes, each with a column of numbers that has some words, or a list.

    And the same without.
    """
    items, votes = fine_files(tmp_path, n=60, m=400)
    phone = np.array([f"{row}" for row in range(60)], dtype=object)
    phone[[3, 20, 59]] = "unknown"
    seconds = np.array([f"{row}" for row in range(400)], dtype=object)
    seconds[::20] = "too long"
    write_table(items | {"phone": phone}, tmp_path / "cluttered.csv")
    write_table(votes | {"seconds": seconds}, tmp_path / "timed.csv")
    return tmp_path


def test_what_is_in_a_column_that_nobody_needs_does_no_harm(cluttered):
    folder = cluttered
    files = ["fit", folder / "cluttered.csv", folder / "timed.csv", "-o", folder / "m.npz"]
    refused = run(*files, code=2).stderr
    assert faults(refused) == {(str(line), "phone", "no number") for line in (5, 22, 61)}
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "plain.npz")
    for options in (["--exclude", "phone"], ["--features", "mass,height"]):
        result = run(*files, *options)
        np.testing.assert_array_equal(
            load(folder / "m.npz").coef_, load(folder / "plain.npz").coef_
        )
        assert "phone" not in result.stderr
    for model, name in (("m", "cluttered"), ("plain", "items"), ("plain", "cluttered")):
        run(
            "rank",
            folder / f"{model}.npz",
            folder / f"{name}.csv",
            "-o",
            folder / f"{model}-{name}.csv",
        )
    assert (
        (folder / "plain-cluttered.csv").read_bytes()
        == (folder / "m-cluttered.csv").read_bytes()
        == (folder / "plain-items.csv").read_bytes()
    )
    run(
        "report",
        folder / "plain.npz",
        folder / "cluttered.csv",
        folder / "timed.csv",
        "-o",
        folder / "page.html",
    )
    assert "Did you mean 'phone'?" in run(*files, "--exclude", "phne", code=2).stderr


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_lists_and_records_are_left_out_unless_asked_for(cluttered, kind):
    folder = cluttered
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "plain.npz")
    talk = "[{'role': 'user', 'content': 'hi'}, {'role': 'assistant', 'content': 'ho'}]"
    with duckdb.connect() as connection:
        for table in ("items", "votes"):
            source = (
                f"SELECT *, {talk} AS conversation_a, MAP {{'tokens': 3}} AS meta FROM"
                f" read_csv('{folder / table}.csv', all_varchar=false)"
            )
            connection.execute(
                f"COPY ({source}) TO '{folder / table}.{kind}' (FORMAT"
                f" {'json' if kind == 'jsonl' else kind})"
            )
    files = ["fit", folder / f"items.{kind}", folder / f"votes.{kind}", "-o", folder / "m.npz"]
    notes = [line for line in run(*files).stderr.splitlines() if "lists or records" in line]
    assert [note.split("'")[1] for note in notes] == ["conversation_a", "meta"]
    np.testing.assert_array_equal(load(folder / "m.npz").coef_, load(folder / "plain.npz").coef_)
    assert "lists or records" not in run(*files, "--features", "mass,height").stderr
    assert "conversation_a" not in run(*files, "--exclude", "conversation_a").stderr
    assert (
        "neither numbers nor text: 'conversation_a'"
        in run(*files, "--features", "mass,conversation_a", code=2).stderr
    )
    assert (
        "neither numbers nor text: 'conversation_a'"
        in run(*files, "--left", "conversation_a", "--right", "right", code=2).stderr
    )
    run("rank", folder / "m.npz", folder / f"items.{kind}", "-o", folder / "r.csv")


# -- recipes ---------------------------------------------------------------------------------------

TABLE = Columns(
    {
        "id": ["p", "q", "r", "s"],
        "a": [1.0, 2, 3, 4],
        "b": [5.0, -1, 0.5, 2],
        "k": ["x", "y", "x", "z"],
        "note": ["-", "-", "-", "-"],
    }
)


def test_a_recipe_by_hand():
    recipe, left_out = make_recipe(
        TABLE, categorical=["k"], squares=["b"], interactions=["a:b", "k:a"]
    )
    assert left_out == ["note"]
    expected = {
        "a": [1, 2, 3, 4], "b": [5, -1, 0.5, 2], "k=x": [1, 0, 1, 0], "k=y": [0, 1, 0, 0], "k=z": [0, 0, 0, 1], "b^2": [25, 1, 0.25, 4],
        "a:b": [5, -2, 1.5, 8], "k=x:a": [1, 0, 3, 0], "k=y:a": [0, 2, 0, 0], "k=z:a": [0, 0, 0, 4],
    }  # fmt: skip
    assert recipe.names == tuple(expected)
    np.testing.assert_array_equal(recipe.matrix(TABLE), np.column_stack(list(expected.values())))
    new = Columns({"k": ["z"], "b": [3.0], "a": [10.0], "id": ["new"]})
    np.testing.assert_array_equal(recipe.matrix(new), [[10, 3, 0, 0, 1, 9, 30, 0, 0, 10]])
    assert Recipe.from_record(json.loads(json.dumps(recipe.to_record()))) == recipe


def test_means_and_flags_by_hand():
    table = Columns(
        {
            "id": ["p", "q", "r", "s"],
            "a": [1.0, np.nan, 3, 8],
            "b": [1.0, 2, 3, 4],
            "k": ["x", None, "x", "z"],
        }
    )
    recipe, _ = make_recipe(table, categorical=["k"], squares=["a"], missing="mean-with-flag")
    assert recipe.names == ("a", "b", "k=x", "k=z", "a missing", "k missing", "a^2")
    third = 1 / 3
    expected = [
        [1, 1, 1, 0, 0, 0, 1],
        [4, 2, 2 * third, third, 1, 1, 16],
        [3, 3, 1, 0, 0, 0, 9],
        [8, 4, 0, 1, 0, 0, 64],
    ]
    np.testing.assert_allclose(recipe.matrix(table), expected, rtol=1e-15)
    assert recipe.note == "filled with the mean, and flagged: 1 of a, 1 of k"
    new = Columns({"id": ["n"], "a": [np.nan], "b": [0.0], "k": ["z"]})
    np.testing.assert_allclose(recipe.items(new).values, [[4, 0, 0, 1, 1, 0, 16]])
    with pytest.raises(PairscoreError, match=r"'b' \(1: 'n'\); the fit had no gaps there"):
        recipe.items(Columns({"id": ["n"], "a": [1.0], "b": [np.nan], "k": ["z"]}))


REFUSED = {
    "square of text": ({"squares": ["k"], "categorical": ["k"]}, "is the category itself"),
    "square of nothing": ({"squares": ["c"]}, "squares names 'c'"),
    "square of no feature": ({"features": ["a"], "squares": ["b"]}, "squares names 'b'"),
    "interaction of one": ({"interactions": ["a"]}, "does not name two features"),
    "interaction of unknown": ({"interactions": ["a:c"]}, "does not name two features"),
    "interaction with itself": ({"interactions": ["a:a"]}, r"use squares=\['a'\]"),
    "no numbers": ({"exclude": ["a", "b"]}, "no numeric column"),
    "unknown category": ({"categorical": ["K"]}, "categorical names 'K'"),
    "text as number": ({"features": ["k"]}, "is text"),
    "unknown rule": ({"missing": "guess"}, "missing is 'guess'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_recipes_that_cannot_be(name):
    options, message = REFUSED[name]
    with pytest.raises(PairscoreError, match=message):
        make_recipe(TABLE, **options)


def test_the_id_may_be_a_category_too():
    """One strength for each item, as in Bradley and Terry's model without features."""
    recipe, _ = make_recipe(TABLE, categorical=["id"], exclude=["a", "b"])
    items = recipe.items(TABLE)
    assert items.feature_names == ("id=p", "id=q", "id=r", "id=s")
    np.testing.assert_array_equal(items.values, np.eye(4))
    assert items.ids.tolist() == ["p", "q", "r", "s"]


def test_a_feature_is_not_made_twice():
    with pytest.raises(PairscoreError, match="made twice: 'a\\^2'"):
        make_recipe(Columns({"a": [1.0, 2], "a^2": [1.0, 4]}), squares=["a"])


def test_a_colon_may_be_part_of_a_name():
    recipe, _ = make_recipe(Columns({"a:b": [1.0, 2], "c": [3.0, 4]}), interactions=["a:b:c"])
    assert recipe.interactions == (("a:b", "c"),)


def test_the_recipe_travels_with_the_model(study):
    """Fit with categories, squares and products.

    The scores of new items are those computed by hand.
    """
    folder, _, _ = study
    options = [
        "--categorical",
        "style",
        "--square",
        "mass",
        "--interact",
        "mass:height",
        "--interact",
        "style:mass",
        "--l2",
        "1",
    ]
    run("fit", folder / "items.csv", folder / "votes.csv", *options, "-o", folder / "m.npz")
    model = load(folder / "m.npz")
    names = [
        "mass",
        "height",
        "style=chalk",
        "style=ink",
        "style=oil",
        "mass^2",
        "mass:height",
        "style=chalk:mass",
        "style=ink:mass",
        "style=oil:mass",
    ]
    assert model.feature_names_in_.tolist() == names
    (folder / "new.csv").write_text(
        "colour,style,id,height,mass\nred,oil,one,0.5,2\nred,ink,two,-1,3\n"
    )
    run("rank", folder / "m.npz", folder / "new.csv", "-o", folder / "r.jsonl")
    found = dict(
        zip(ranking(folder / "r.jsonl")["id"], ranking(folder / "r.jsonl")["score"], strict=True)
    )
    coef = dict(zip(names, model.coef_, strict=True))
    one = (
        2 * coef["mass"]
        + 0.5 * coef["height"]
        + coef["style=oil"]
        + 4 * coef["mass^2"]
        + coef["mass:height"]
        + 2 * coef["style=oil:mass"]
    )
    two = (
        3 * coef["mass"]
        - coef["height"]
        + coef["style=ink"]
        + 9 * coef["mass^2"]
        - 3 * coef["mass:height"]
        + 3 * coef["style=ink:mass"]
    )
    assert found == {"one": pytest.approx(one, rel=1e-12), "two": pytest.approx(two, rel=1e-12)}
    (folder / "strange.csv").write_text(
        "id,style,height,mass\na,oil,1,2\nb,pastel,1,2\nc,pastel,1,2\n"
    )
    result = run(
        "rank", folder / "m.npz", folder / "strange.csv", "-o", folder / "never.csv", code=2
    )
    assert "strange.csv' has 2 bad rows; it knew 'chalk', 'ink', 'oil'" in result.stderr
    assert "column 'style': a level that the fit did not know: 'pastel'" in result.stderr
    assert not (folder / "never.csv").exists()


def test_levels_that_look_like_numbers_stay_levels(study):
    folder, _, _ = study
    table = read_table(folder / "items.csv")
    grade = np.array(["01", "1", "2"], dtype=object)[np.arange(len(table)) % 3]
    write_table({"id": table["id"], "grade": grade}, folder / "graded.csv")
    run(
        "fit",
        folder / "graded.csv",
        folder / "votes.csv",
        "--categorical",
        "grade",
        "-o",
        folder / "m.npz",
    )
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["grade=01", "grade=1", "grade=2"]
    (folder / "new.csv").write_text("id,grade\na,2\nb,1\n")  # all whole numbers now
    run("rank", folder / "m.npz", folder / "new.csv", "-o", folder / "r.csv")
    scores = dict(
        zip(ranking(folder / "r.csv")["id"], ranking(folder / "r.csv")["score"], strict=True)
    )
    assert (scores["a"], scores["b"]) == (
        load(folder / "m.npz").coef_[2],
        load(folder / "m.npz").coef_[1],
    )


def test_models_made_in_python_rank_files_too(study):
    folder, items, votes = study
    fit_frames(items, votes).save(folder / "m.npz")
    assert load(folder / "m.npz").recipe_ is None
    run("rank", folder / "m.npz", folder / "items.csv", "-o", folder / "r.csv")
    assert (
        ranking(folder / "r.csv")["id"]
        == fit_frames(items, votes)
        .rank({name: items[name] for name in ("id", "mass", "height")})["id"]
        .tolist()
    )
    (folder / "no_id.csv").write_text("height,mass\n1,2\n3,4\n")
    run("rank", folder / "m.npz", folder / "no_id.csv", "-o", folder / "r.csv")
    assert sorted(ranking(folder / "r.csv")["id"]) == [0, 1]


def test_model_files_of_before_have_no_recipe_and_broken_recipes_are_refused(study):
    folder, _, _ = study
    run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--categorical",
        "style",
        "-o",
        folder / "m.npz",
    )
    with np.load(folder / "m.npz") as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())

    def saved(recipe, path):
        changed = {key: value for key, value in header.items() if key != "recipe"} | (
            {} if recipe == "none" else {"recipe": recipe}
        )
        np.savez(path, header=np.frombuffer(json.dumps(changed).encode(), dtype=np.uint8), **arrays)
        return path

    assert load(saved("none", folder / "old.npz")).recipe_ is None
    good = header["recipe"]
    other = good | {"features": ["height", "mass"]}
    broken = [
        {},
        [],
        "x",
        5,
        good | {"means": {"nothing": [1]}},
        good | {"interactions": [["a", "b"]]},
        good | {"categorical": 3},
        good | {"missing": "x"},
        other,
    ]
    for recipe in broken:
        result = run("rank", saved(recipe, folder / "broken.npz"), folder / "items.csv", code=2)
        assert "fit again" in result.stderr, recipe


# -- missing values --------------------------------------------------------------------------------


@pytest.fixture
def gappy(study):
    folder, items, votes = study
    mass, style = items["mass"].copy(), items["style"].copy()
    mass[[3, 7]], style[[7, 9]] = np.nan, None
    write_table(
        {"id": items["id"], "mass": mass, "height": items["height"], "style": style},
        folder / "gappy.csv",
    )
    return folder, items, votes


def test_missing_values_are_refused_with_a_list(gappy):
    folder, _, _ = gappy
    result = run(
        "fit",
        folder / "gappy.csv",
        folder / "votes.csv",
        "--categorical",
        "style",
        "-o",
        folder / "m.npz",
        code=2,
    )
    missing = [line.strip() for line in result.stderr.splitlines() if "missing: ''" in line]
    assert missing == [
        f"line {line}, column '{name}': missing: ''"
        for line, name in ((5, "mass"), (9, "mass"), (9, "style"), (11, "style"))
    ]
    assert (
        "--missing drop-items, --missing mean-with-flag or --missing item-effect" in result.stderr
    )
    assert not (folder / "m.npz").exists()


def test_dropping_items_drops_their_comparisons_and_says_so(gappy):
    folder, items, votes = gappy
    result = run(
        "fit",
        folder / "gappy.csv",
        folder / "votes.csv",
        "--missing",
        "drop-items",
        "-o",
        folder / "m.npz",
    )
    gone = {"item 3", "item 7"}
    rows = np.array(
        [
            left not in gone and right not in gone
            for left, right in zip(votes["left"], votes["right"], strict=True)
        ]
    )
    kept = np.array([name not in gone for name in items["id"]])
    assert f"2 items dropped, with {(~rows).sum()} rows of comparisons" in result.stdout
    expected = fit_frames(
        {name: values[kept] for name, values in items.items()},
        {name: values[rows] for name, values in votes.items()},
    )
    np.testing.assert_array_equal(load(folder / "m.npz").coef_, expected.coef_)
    ranked = run("rank", folder / "m.npz", folder / "gappy.csv", "-o", folder / "r.csv")
    assert "2 items with missing values left out" in ranked.stderr
    assert set(ranking(folder / "r.csv")["id"]) == set(items["id"]) - gone


def test_dropping_everything_is_an_error(gappy):
    folder, items, _ = gappy
    write_table(
        {"id": items["id"], "mass": np.where(np.arange(len(items["id"])) == 0, 1.0, np.nan)},
        folder / "empty.csv",
    )
    assert (
        "no comparison without them"
        in run(
            "fit",
            folder / "empty.csv",
            folder / "votes.csv",
            "--missing",
            "drop-items",
            "-o",
            folder / "m.npz",
            code=2,
        ).stderr
    )


def test_means_with_flags_are_counted_and_remembered(gappy):
    folder, items, votes = gappy
    result = run(
        "fit",
        folder / "gappy.csv",
        folder / "votes.csv",
        "--missing",
        "mean-with-flag",
        "-o",
        folder / "m.npz",
    )
    assert "filled with the mean, and flagged: 2 of mass" in result.stdout
    mean = np.delete(items["mass"], [3, 7]).mean()
    flag = np.isin(np.arange(len(items["id"])), [3, 7]).astype(float)
    by_hand = {
        "id": items["id"],
        "mass": np.where(flag, mean, items["mass"]),
        "height": items["height"],
        "mass missing": flag,
    }
    expected = RankRegression().fit(by_hand, votes)
    np.testing.assert_allclose(load(folder / "m.npz").coef_, expected.coef_, rtol=1e-9)
    (folder / "new.csv").write_text("id,mass,height\nn,,0\nm,1,0\n")
    run("rank", folder / "m.npz", folder / "new.csv", "-o", folder / "r.csv")
    scores = dict(
        zip(ranking(folder / "r.csv")["id"], ranking(folder / "r.csv")["score"], strict=True)
    )
    coef = expected.coef_
    assert scores["n"] == pytest.approx(mean * coef[0] + coef[2], rel=1e-9)
    assert scores["m"] == pytest.approx(coef[0], rel=1e-9)
    (folder / "worse.csv").write_text("id,mass,height\nn,,\nm,1,0\n")
    result = run("rank", folder / "m.npz", folder / "worse.csv", code=2)
    assert "the fit had no gaps there, so it has no flag for them" in result.stderr
    assert "line 2, column 'height': missing: ''" in result.stderr


def test_words_for_missing_numbers_are_missing_numbers(gappy):
    folder, _, _ = gappy
    lines = (folder / "gappy.csv").read_text().splitlines()
    for row, word in ((3, "NA"), (7, " ? ")):
        name, _, *rest = lines[row + 1].split(",")
        lines[row + 1] = ",".join([name, word, *rest])
    (folder / "words.csv").write_text("\n".join(lines) + "\n")
    for rule in ("drop-items", "mean-with-flag"):
        for name in ("gappy", "words"):
            run(
                "fit",
                folder / f"{name}.csv",
                folder / "votes.csv",
                "--missing",
                rule,
                "-o",
                folder / f"{name}.npz",
            )
        assert state(folder / "gappy.npz") == state(folder / "words.npz")
        run("rank", folder / "words.npz", folder / "words.csv", "-o", folder / "r.csv")
        assert len(ranking(folder / "r.csv")["id"]) == (28 if rule == "drop-items" else 30)
    result = run("fit", folder / "words.csv", folder / "votes.csv", "-o", folder / "m.npz", code=2)
    told = [line.strip() for line in result.stderr.splitlines() if "missing: " in line]
    assert told == ["line 5, column 'mass': missing: 'NA'", "line 9, column 'mass': missing: ' ? '"]


def test_an_item_or_a_level_may_be_called_na(study):
    folder, _, _ = study
    for name in ("items", "votes"):
        text = (
            (folder / f"{name}.csv").read_text().replace("item 7,", "NA,").replace(",ink", ",n/a")
        )
        (folder / f"{name}.csv").write_text(text)
    run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--categorical",
        "style",
        "-o",
        folder / "m.npz",
    )
    assert "style=n/a" in load(folder / "m.npz").feature_names_in_
    run("rank", folder / "m.npz", folder / "items.csv", "-o", folder / "r.csv")
    assert "NA" in ranking(folder / "r.csv")["id"]


FAULTY_ITEMS = 'name,a,b,style\n1,2,3,x\n2,,4,y\n"3\n4",5,inf,x\n1,1,1,x\n,1,1,x\n7,1,2,\n'
FAULTY_VOTES = "left,right,winner,weight\n1,2,left,1\n1,9,left,1\n\n2,2,left,1\n1,2,huh,1\n1,2,left,-4\n8,2,left,1\n"


def faults(stderr):
    """(line, column, what) of every bad row on the screen."""
    return {
        tuple(re.fullmatch(r"  line (\d+), column '(.*?)': (.*?): '.*'", line).groups())
        for line in stderr.splitlines()
        if line.startswith("  line")
    }


def test_everything_wrong_with_the_items_is_said_at_once_by_physical_line(tmp_path):
    (tmp_path / "items.csv").write_text(FAULTY_ITEMS)
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n")
    always = {
        ("7", "name", "missing"),
        ("6", "name", "an id already seen"),
        ("4", "b", "not finite"),
    }
    for options, more in (((), {("3", "a", "missing")}), (("--missing", "drop-items"), set())):
        result = run(
            "fit",
            tmp_path / "items.csv",
            tmp_path / "votes.csv",
            "--id",
            "name",
            *options,
            "-o",
            tmp_path / "m.npz",
            code=2,
        )
        assert faults(result.stderr) == always | more
        kept = read_table(tmp_path / "m.npz.bad-rows.csv")
        assert {
            (str(int(line)), column, why)
            for line, column, why in zip(kept["line"], kept["column"], kept["reason"], strict=True)
        } == always | more
        assert not (tmp_path / "m.npz").exists()


def test_everything_wrong_with_the_comparisons_is_said_at_once(tmp_path):
    (tmp_path / "items.csv").write_text("id,a\n1,2\n2,1\n3,5\n")
    (tmp_path / "votes.csv").write_text(FAULTY_VOTES)
    result = run(
        "fit", tmp_path / "items.csv", tmp_path / "votes.csv", "-o", tmp_path / "m.npz", code=2
    )
    assert faults(result.stderr) == {
        ("3", "right", "unknown item"),
        ("8", "left", "unknown item"),
        ("5", "right", "an item with itself"),
        ("6", "winner", "neither side, nor a tie"),
        ("7", "weight", "negative or not finite"),
    }
    assert "remove them, or pass --self-pairs:" in result.stderr


def test_lines_of_standard_input_are_counted_as_those_of_a_file(tmp_path):
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n")
    (tmp_path / "items.csv").write_text("\n".join(("id,a", "1,2", "2,1", "3,5")) + "\n")
    for name, arguments in (
        ("items", ["-", tmp_path / "votes.csv", "--id", "name"]),
        ("votes", [tmp_path / "items.csv", "-"]),
    ):
        content = FAULTY_ITEMS if name == "items" else FAULTY_VOTES
        (tmp_path / "faulty.csv").write_text(content)
        from_file = [
            tmp_path / "faulty.csv" if argument == "-" else argument for argument in arguments
        ]
        piped = run("fit", *arguments, "-o", "-", code=2, stdin=content.encode()).stderr
        assert faults(piped) == faults(run("fit", *from_file, "-o", "-", code=2).stderr)
        assert piped.startswith("Error: 'standard input' has")
    run(
        "fit",
        tmp_path / "items.csv",
        "-",
        "--inference",
        "none",
        "-o",
        tmp_path / "m.npz",
        stdin=b"winner,loser\n1,2\n2,1\n2,3\n3,1\n1,3\n3,2\n",
    )
    ranked = run(
        "rank", tmp_path / "m.npz", "-", code=2, stdin=b'id,a\n\n"a\nb",1\n\nc,inf\n'
    ).stderr
    assert faults(ranked) == {("6", "a", "not finite")}


def test_rank_says_all_that_is_wrong_with_its_items(tmp_path, monkeypatch):
    (tmp_path / "good.csv").write_text("name,a,b\n1,2,3\n2,1,4\n3,5,2\n")
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n2,1\n2,3\n3,1\n1,3\n3,2\n")
    run(
        "fit",
        tmp_path / "good.csv",
        tmp_path / "votes.csv",
        "--id",
        "name",
        "--inference",
        "none",
        "-o",
        tmp_path / "m.npz",
    )
    (tmp_path / "items.csv").write_text(FAULTY_ITEMS)
    for rows in (50_000, 2):  # in one piece, or with faults in several
        monkeypatch.setattr(StoredTable.pieces, "__defaults__", (rows,))
        result = run(
            "rank", tmp_path / "m.npz", tmp_path / "items.csv", "-o", tmp_path / "r.csv", code=2
        )
        assert faults(result.stderr) == {
            ("7", "name", "missing"),
            ("6", "name", "an id already seen"),
            ("4", "b", "not finite"),
            ("3", "a", "missing"),
        }
        assert not (tmp_path / "r.csv").exists()


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "pairscore", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "fit" in done.stdout


# -- bad data and wrong usage ----------------------------------------------------------------------


def test_bad_rows_of_both_files_are_all_told(study):
    folder, _, _ = study
    lines = (folder / "items.csv").read_text().splitlines()
    more = [f"extra {row},1,{row}," for row in range(400)]
    bad = [f"bad {row},x{row},1,oil" for row in range(30)]
    (folder / "bad_items.csv").write_text("\n".join([*lines, *more, *bad]) + "\n")
    (folder / "bad_votes.csv").write_text((folder / "votes.csv").read_text() + "item 1,item 2\n")
    (folder / "m.npz").write_bytes(b"what was there before")
    result = run(
        "fit", folder / "bad_items.csv", folder / "bad_votes.csv", "-o", folder / "m.npz", code=2
    )
    assert len(re.findall("no number", result.stderr)) == 20
    assert "and 10 more" in result.stderr
    assert "2 cells instead of 3" in result.stderr
    beside = read_table(
        folder / "m.npz.bad-rows.csv", identifiers=("file", "text", "column", "reason")
    )
    assert str(folder / "m.npz.bad-rows.csv") in result.stderr
    assert beside["line"].tolist() == [*range(len(lines) + 401, len(lines) + 431), 302]
    assert beside["text"].tolist()[:2] == ["x0", "x1"]
    assert beside["column"].tolist() == ["mass"] * 30 + [None]
    assert (folder / "m.npz").read_bytes() == b"what was there before"


def test_unknown_items_are_all_told_by_their_physical_lines(study):
    folder, _, _ = study
    rows = [
        (f"item {row % 30}" if row % 2 else f"no {row}", "item 0" if row % 3 else '"who\nis this"')
        for row in range(1, 60)
    ]
    text = (
        "first,second,winner\n\n"
        + "\n".join(f"{left},{right},first" for left, right in rows)
        + "\n"
    )
    (folder / "bad.csv").write_text(text)
    result = run(
        "fit",
        folder / "items.csv",
        folder / "bad.csv",
        "--left",
        "first",
        "--right",
        "second",
        "-o",
        folder / "m.npz",
        code=2,
    )
    beside = read_table(
        folder / "m.npz.bad-rows.csv", identifiers=("file", "text", "column", "reason")
    )
    found = list(
        zip(
            beside["line"].astype(int).tolist(),
            beside["column"].tolist(),
            beside["text"].tolist(),
            strict=True,
        )
    )
    line, expected = 3, []
    for left, right in rows:
        expected += [(line, "first", left)] if left.startswith("no") else []
        expected += [(line, "second", "who\nis this")] if right != "item 0" else []
        line += 1 if right == "item 0" else 2
    assert found == expected
    assert "add the missing items or correct the ids" in result.stderr
    assert result.stderr.count("unknown item: ") == 20
    assert set(beside["reason"].tolist()) == {"unknown item"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "-"])
def test_a_winner_that_is_neither_side_is_told_by_its_line(study, kind):
    folder, _, _ = study
    votes = read_table(folder / "votes.csv")
    winner = votes["winner"].copy()
    winner[[4, 200]] = "both", None
    path = folder / ("bad.csv" if kind == "-" else f"bad.{kind}")
    write_table({"left": votes["left"], "right": votes["right"], "winner": winner}, path)
    stdin = path.read_bytes() if kind == "-" else None
    result = run(
        "fit",
        folder / "items.csv",
        "-" if kind == "-" else path,
        "-o",
        folder / "m.npz",
        code=2,
        stdin=stdin,
    )
    offset = {"csv": 2, "-": 2}.get(kind, 1)
    assert f"line {4 + offset}, column 'winner': neither side, nor a tie: 'both'" in result.stderr
    assert f"line {200 + offset}, column 'winner'" in result.stderr
    assert read_table(folder / "m.npz.bad-rows.csv")["line"].tolist() == [4 + offset, 200 + offset]


def test_bad_rows_of_a_ranking(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    (folder / "new.csv").write_text(
        "id,mass,height\n" + "\n".join(f"{row},1,2" for row in range(50)) + "\nz,1,2,3\n"
    )
    result = run("rank", folder / "m.npz", folder / "new.csv", "-o", folder / "r.csv", code=2)
    assert "4 cells instead of 3" in result.stderr
    assert read_table(folder / "r.csv.bad-rows.csv")["line"].tolist() == [52]
    assert not (folder / "r.csv").exists()
    assert (
        "4 cells instead of 3" in run("rank", folder / "m.npz", folder / "new.csv", code=2).stderr
    )


def test_what_is_wrong_is_one_sentence_and_exit_2(study):
    folder, _, _ = study
    items, votes, out = folder / "items.csv", folder / "votes.csv", folder / "x.npz"
    (folder / "layout.csv").write_text("one,two\nitem 1,item 2\n")
    (folder / "same.csv").write_text("winner,loser\nitem 1,item 1\nitem 1,item 2\n")
    (folder / "twice.csv").write_text("id,mass\na,1\na,2\n")
    (folder / "inf.csv").write_text(
        "id,mass\n" + "\n".join(f"item {row},{row}" for row in range(30)) + "\nz,inf\n"
    )
    (folder / "text.csv").write_text("id,style\nitem 1,oil\n")
    wrong = {
        "cannot be read": [items, folder / "no.csv", "-o", out],
        "what kind of table": [items, folder / "votes.xls", "-o", out],
        "they need left, right, winner": [items, folder / "layout.csv", "-o", out],
        "an item with itself": [items, folder / "same.csv", "-o", out],
        "an id already seen": [folder / "twice.csv", votes, "-o", out],
        "not finite": [folder / "inf.csv", votes, "-o", out],
        "no numeric column to learn from (text: 'style')": [folder / "text.csv", votes, "-o", out],
        "there is no folder": [items, votes, "-o", folder / "no" / "x.npz"],
        "is a folder": [items, votes, "-o", folder],
        "would be overwritten": [items, votes, "-o", items],
        "--l2 is -1.0": [items, votes, "--l2", "-1", "-o", out],
        "--shrinkage is 'much'; use a number from 0 to 1, 'ledoit-wolf' or 'oas'": [
            items,
            votes,
            "--shrinkage",
            "much",
            "-o",
            out,
        ],
        "delimiter is 'ab'": [items, votes, "--delimiter", "ab", "-o", out],
        "no text encoding": [items, votes, "--encoding", "klingon", "-o", out],
        "and --method mle has none": [items, votes, "--shrinkage", "0.5", "-o", out],
        "--method split needs at least": [items, votes, "--method", "split", "-o", out],
        "in no comparison, or use --method pooled": [items, votes, "--method", "split", "-o", out],
        "--square names 'mas', which is no feature; the features are 'mass', 'height'. Did you mean 'mass'?": [
            items,
            votes,
            "--square",
            "mas",
            "-o",
            out,
        ],
        "with two of 'mass', 'height'. Did you mean 'height'?": [
            items,
            votes,
            "--interact",
            "mass:heigt",
            "-o",
            out,
        ],
        "Did you mean 'Left' as left, 'Right' as right, 'Winner' as winner?": [
            items,
            folder / "upper.csv",
            "-o",
            out,
        ],
        "Did you mean 'lft' as left?": [items, folder / "lft.csv", "-o", out],
        "Did you mean 'lft'?": [items, folder / "lft.csv", "--left", "lf", "-o", out],
        "(did you mean --id ID?)": [folder / "ID.csv", votes, "-o", out],
        "(did you mean --id idd?)": [folder / "idd.csv", votes, "-o", out],
        "--side-effect needs votes": [items, folder / "pairs.csv", "--side-effect", "-o", out],
    }
    (folder / "pairs.csv").write_text("winner,loser\nitem 1,item 2\nitem 2,item 3\n")
    for name, kind, old, new in (
        ("upper", votes, "left,right,winner", "Left,Right,Winner"),
        ("lft", votes, "left,", "lft,"),
        ("ID", items, "id,", "ID,"),
        ("idd", items, "id,", "idd,"),
    ):
        (folder / f"{name}.csv").write_text(kind.read_text().replace(old, new, 1))
    before = sorted(folder.iterdir())
    for message, arguments in wrong.items():
        result = run("fit", *arguments, code=2)
        assert message in result.stderr, (message, result.stderr)
        assert result.stdout == ""
        assert result.stderr.count("Error: ") == 1
        (folder / "x.npz.bad-rows.csv").unlink(missing_ok=True)
        assert sorted(folder.iterdir()) == before


def test_the_text_of_a_file_is_never_put_in_other_words(study):
    folder, _, _ = study
    (folder / "same.csv").write_text("winner,loser\nitem 1,side_effect=True\n")
    result = run("fit", folder / "items.csv", folder / "same.csv", "-o", folder / "m.npz", code=2)
    assert "unknown item: 'side_effect=True'" in result.stderr
    assert (
        "--exclude names 'n_items'"
        in run(
            "fit",
            folder / "items.csv",
            folder / "votes.csv",
            "--exclude",
            "n_items",
            "-o",
            folder / "m.npz",
            code=2,
        ).stderr
    )


def test_self_pairs_can_be_kept(study):
    folder, _, _ = study
    (folder / "same.csv").write_text((folder / "votes.csv").read_text() + "item 1,item 1,left\n")
    run("fit", folder / "items.csv", folder / "same.csv", "--self-pairs", "-o", folder / "m.npz")
    assert load(folder / "m.npz").n_comparisons_ == 301


def test_rank_refuses_what_it_cannot_rank(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    (folder / "less.csv").write_text("id,mas,height\na,1,2\n")
    (folder / "words.csv").write_text("id,mass,height\na,heavy,2\nb,light,1\n")
    (folder / "none.csv").write_text("id,mass,height\n")
    (folder / "twice.csv").write_text("id,mass,height\na,1,2\na,1,2\n")
    (folder / "gap.csv").write_text("id,mass,height\na,,2\nb,1,2\n")
    (folder / "fine.csv").write_text("id,mass,height\nb,1,2\n")
    wrong = {
        "lacks 1 column that the score is made of: 'mass'; add them. Did you mean 'mas'?": [
            folder / "m.npz",
            folder / "less.csv",
        ],
        "is text (such as 'heavy')": [folder / "m.npz", folder / "words.csv"],
        "no items to rank": [folder / "m.npz", folder / "none.csv"],
        "an id already seen": [folder / "m.npz", folder / "twice.csv"],
        "': missing: ''": [folder / "m.npz", folder / "gap.csv"],
        "no complete model file": [folder / "fine.csv", folder / "fine.csv"],
        "level is 2.0": [folder / "m.npz", folder / "fine.csv", "--level", "2"],
        "both": ["-", "-"],
    }
    for message, arguments in wrong.items():
        result = run("rank", *arguments, "-o", folder / "r.csv", code=2, stdin=b"")
        assert message in result.stderr, (message, result.stderr)
        assert not (folder / "r.csv").exists()


def test_an_output_of_an_unknown_kind_is_refused_before_anything_is_read(tmp_path):
    assert (
        "what kind of table"
        in run(
            "rank", tmp_path / "no model", tmp_path / "no items", "-o", tmp_path / "r.xlsx", code=2
        ).stderr
    )


def test_the_command_in_the_record_can_be_run_again(study, monkeypatch):
    folder, _, _ = study
    arguments = [
        "fit",
        str(folder / "items.csv"),
        str(folder / "votes.csv"),
        "--interact",
        "mass:height",
        "-o",
        str(folder / "it's a model.npz"),
    ]
    done = shell(*arguments)
    assert done.returncode == 0, done.stderr
    assert shlex.split(load(folder / "it's a model.npz").record_["command"])[1:] == arguments
    monkeypatch.setattr(sys, "argv", ["/somewhere/pairscore/__main__.py", "fit", "a b"])
    assert command_line() == "python -m pairscore fit 'a b'"


def test_a_report_through_pipes_and_as_json(study):
    folder, _, _ = study
    files = [folder / "items.csv", folder / "votes.csv"]
    run("fit", *files, "-o", folder / "m.npz")
    assert (
        run("report", folder / "m.npz", *files, "-o", folder / "page.html").stdout
        == f"{folder / 'page.html'}\n"
    )
    model = (folder / "m.npz").read_bytes()
    page = run("report", "-", *files, "-o", "-", stdin=model)
    asked = run("report", folder / "m.npz", *files, "-o", folder / "page.html", "--json")
    record = json.loads(asked.stdout)
    assert (record["path"], record["n_items"], record["n_comparisons"]) == (
        str(folder / "page.html"),
        30,
        300,
    )
    assert "comes first of 30 items" in record["answer"][0]
    for text in (page.stdout, (folder / "page.html").read_text()):
        assert text.startswith("<!DOCTYPE html>")
        assert text.rstrip().endswith("</html>")
        assert html.escape(record["answer"][0]) in text
    both = run("report", folder / "m.npz", *files, "-o", "-", "--json")
    assert both.stdout.startswith("<!DOCTYPE html>")
    assert json.loads(both.stderr) == record | {"path": None}
    assert "one of them" in run("report", "-", "-", files[1], code=2, stdin=b"").stderr


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (["fti"], "Did you mean 'fit'?"),
        (["rank", "m", "i", "--leevl", "1"], "--level"),
        (["fit", "--categoric", "x"], "--categorical"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(wrong, hint):
    assert hint in run(*wrong, code=2).stderr


def test_every_command_has_an_example_and_completion_works():
    for name in main.commands:
        assert re.search(r"Examples?: pairscore " + name, main.commands[name].help), name
        assert f"pairscore {name}" in run(name, "--help").output
    script = shell(env={**os.environ, "_PAIRSCORE_COMPLETE": "bash_source"})
    assert b"complete -o nosort -F" in script.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("pairscore re", {"plain,report", "plain,reproduce"}),
        ("pairscore fit --cat", {"plain,--categorical"}),
        ("pairscore fit --method p", {"plain,pooled", "plain,paired"}),
        ("pairscore rank m", {"file,m"}),
    ],
)
def test_the_shell_completes_what_is_typed(typed, offered):
    """As bash asks: the words so far, and which of them is being typed."""
    words = {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_PAIRSCORE_COMPLETE": "bash_complete",
    }
    assert set(shell(env={**os.environ, **words}, text=True).stdout.split()) == offered


def test_no_traceback_where_the_disk_refuses(study):
    folder, _, _ = study
    if os.geteuid() == 0:
        target = Path("/proc/model.npz")  # a folder where not even root can write
    else:
        (folder / "locked").mkdir(mode=0o500)
        target = folder / "locked" / "m.npz"
    assert (
        "could not be saved"
        in run("fit", folder / "items.csv", folder / "votes.csv", "-o", target, code=2).stderr
    )


def test_a_full_disk_behind_standard_output_is_a_sentence_too(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    for arguments in (
        ["rank", folder / "m.npz", folder / "items.csv", "-o", "-"],
        ["rank", folder / "m.npz", folder / "items.csv"],
    ):
        with device(folder, "full").open("wb") as full:
            code = "from pairscore.cli import main; main(prog_name='pairscore')"
            done = subprocess.run(
                [sys.executable, "-c", code, *map(str, arguments)],
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
            )
        assert (done.returncode, done.stderr.count(b"No space left on device")) == (
            2,
            1,
        ), done.stderr
        assert b"Traceback" not in done.stderr


def test_terminated_while_it_writes_it_leaves_nothing_behind(study):
    """The signal comes when half of the model is written."""
    folder, _, _ = study
    before = sorted(path.name for path in folder.iterdir())
    code = (
        "import os, signal, time, numpy as np\nfrom pairscore.cli import main\ndef half(file,"
        " **arrays):\n    file.write(b'half'); file.flush(); os.kill(os.getpid(), signal.SIGTERM);"
        " time.sleep(60)\nnp.savez = half\nmain(prog_name='pairscore')"
    )
    command = [
        sys.executable,
        "-c",
        code,
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "-o",
        folder / "m.npz",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=60)
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_signal_means_what_it_did_before_when_the_command_is_over(study):
    folder, _, _ = study
    before = signal.getsignal(signal.SIGTERM)
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_list_of_bad_rows_goes_when_there_are_none_any_more(study):
    folder, _, _ = study
    (folder / "bad.csv").write_text("winner,loser\nitem 1\n")
    run("fit", folder / "items.csv", folder / "bad.csv", "-o", folder / "m.npz", code=2)
    assert (folder / "m.npz.bad-rows.csv").exists()
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    assert not (folder / "m.npz.bad-rows.csv").exists()


def device(folder, name):
    """A device of our own: null swallows everything, full has no space.

    Who may not make one cannot replace that in /dev either.
    """
    if os.geteuid() != 0:
        return Path("/dev") / name
    (folder / name).unlink(missing_ok=True)
    os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(1, {"null": 3, "full": 7}[name]))
    return folder / name


def test_a_device_is_written_to_and_not_replaced(study):
    folder, _, _ = study
    null = device(folder, "null")
    assert (
        "Rank regression"
        in run("fit", folder / "items.csv", folder / "votes.csv", "-o", null).stdout
    )
    (folder / "bad.csv").write_text("winner,loser\nitem 1\n")
    assert (
        "1 cell instead of 2"
        in run("fit", folder / "items.csv", folder / "bad.csv", "-o", null, code=2).stderr
    )
    assert null.is_char_device()
    assert {path.name for path in folder.iterdir()} <= {"items.csv", "votes.csv", "bad.csv", "null"}
    full = device(folder, "full")
    assert (
        "could not be saved"
        in run("fit", folder / "items.csv", folder / "votes.csv", "-o", full, code=2).stderr
    )
    assert full.is_char_device()


# -- the examples of the documentation -------------------------------------------------------------

ROOT = DATA.parent.parent
DOCUMENTS = {
    "README.md": r"(?m)^    (pairscore (?:plan|fit|rank) .*?)(?:\s+#.*)?$",
    "docs/commands.md": r"(?m)^\$ (pairscore .*)$",
}


def documented(document):
    return re.findall(DOCUMENTS[document], (ROOT / document).read_text())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documented_commands_run_as_they_stand(study, monkeypatch, document):
    folder, items, _ = study
    monkeypatch.chdir(folder)
    if document == "README.md":  # there all features are numeric
        write_table({name: items[name] for name in ("id", "mass", "height")}, folder / "items.csv")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "votes.csv").rename(folder / "comparisons.csv")
    (folder / "new_items.csv").write_bytes((folder / "items.csv").read_bytes())
    (folder / "tuesday.csv").write_bytes((folder / "comparisons.csv").read_bytes())
    (folder / "wednesdays_items.csv").write_text(
        (folder / "items.csv").read_text().replace("item ", "later ")
    )
    (folder / "wednesday.csv").write_text(
        "left,right,winner\nlater 1,item 1,left\nlater 2,later 3,right\n"
    )
    commands = documented(document)
    assert len(commands) >= 3
    for command in commands:
        command, _, target = command.partition(" > ")
        command, _, source = command.partition(" < ")
        result = run(
            *shlex.split(command)[1:], stdin=(folder / source).read_bytes() if source else None
        )
        if target:
            (folder / target).write_bytes(result.stdout_bytes)


def test_the_documented_table_is_what_comes_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    fit, rank, *_ = documented("docs/commands.md")
    run(*shlex.split(fit)[1:])
    assert run(*shlex.split(rank)[1:]).stdout in (ROOT / "docs" / "commands.md").read_text()


# -- ranking ---------------------------------------------------------------------------------------


def test_the_screen_shows_twenty_and_the_file_has_all(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    shown = run("rank", folder / "m.npz", folder / "items.csv").stdout.splitlines()
    assert len(shown) == 22
    assert shown[-1].startswith("and 10 more")
    record = json.loads(run("rank", folder / "m.npz", folder / "items.csv", "--json").stdout)
    assert record["n_items"] == len(record["ranking"]) == 30
    assert list(record["ranking"][0]) == RANKING
    for suffix in ("csv", "parquet", "jsonl"):
        silent = run("rank", folder / "m.npz", folder / "items.csv", "-o", folder / f"r.{suffix}")
        assert silent.output == ""
        assert ranking(folder / f"r.{suffix}")["id"] == [row["id"] for row in record["ranking"]]
    assert shown[1].split()[1:3] == record["ranking"][0]["id"].split()


def test_level_and_simultaneous_widen(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")

    def width(*options):
        best = json.loads(
            run("rank", folder / "m.npz", folder / "items.csv", "--json", *options).stdout
        )["ranking"][0]
        return best["high"] - best["low"]

    assert width("--level", "0.5") < width() < width("--simultaneous")


def test_items_of_equal_score_keep_the_order_of_the_file(study):
    folder, _, _ = study
    run("fit", folder / "items.csv", folder / "votes.csv", "-o", folder / "m.npz")
    (folder / "equal.csv").write_text("id,mass,height\nd,1,0\nb,1,0\nc,5,0\na,1,0\n")
    run("rank", folder / "m.npz", folder / "equal.csv", "-o", folder / "r.csv")
    found = ranking(folder / "r.csv")
    assert found["id"] == ["c", "d", "b", "a"]
    assert found["rank"] == [1, 2, 2, 2]
    assert found["outside"] == [1, 0, 0, 0]


@pytest.mark.parametrize("inference", ["items", None])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_pieces_of_any_size_are_ranked_as_the_whole(monkeypatch, size, inference):
    # so that not everybody is compared with everybody
    monkeypatch.setattr("pairscore.model.ranking.REFERENCE_ITEMS", 50)
    rng = np.random.default_rng(size)
    values = rng.normal(size=(200, 3)).round(1)
    votes = rng.integers(0, 200, (900, 2))
    model = RankRegression(inference=inference).fit(values, votes[votes[:, 0] != votes[:, 1]])
    whole = model.rank(values)
    pieces = rank_pieces(
        model, lambda: (values[first : first + size] for first in range(0, 200, size))
    )
    np.testing.assert_array_equal(pieces["row"], whole["id"])
    for name in RANKING[1:]:
        np.testing.assert_allclose(pieces[name], whole[name], rtol=1e-9, atol=1e-12)


def test_a_file_comes_in_pieces_with_its_ids_typed_as_a_whole(tmp_path):
    n = 2 * PIECE_ROWS + 17
    path = tmp_path / "long.csv"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT range AS id, range % 7 AS x, CASE WHEN range % 2 = 0 THEN 'u' ELSE 'v'"
            f" END AS k FROM range({n})) TO '{path}'"
        )
    recipe = Recipe(("x",), {"k": ("u", "v")})
    with stored_table(path, identifiers=("id", "k"), memory="200MB") as table:
        pieces = ItemPieces(table, recipe)
        sizes = [len(values) for values in pieces()]
        assert sizes == [PIECE_ROWS, PIECE_ROWS, 17]
        assert pieces.ids.dtype.kind == "i"
        np.testing.assert_array_equal(pieces.ids, np.arange(n))
        values = np.concatenate(list(pieces()))
    np.testing.assert_array_equal(
        values, np.column_stack([np.arange(n) % 7, np.arange(n) % 2 == 0, np.arange(n) % 2 == 1])
    )
    path.write_text(path.read_text() + "last,1,u\n")  # one word makes all ids text
    with stored_table(path, identifiers=("id", "k")) as table:
        first = next(iter(table.pieces(["id"])))
        assert first["id"][0] == "0"


def test_the_recipe_of_a_model_is_checked_against_its_features():
    model = RankRegression(inference=None).fit(
        [[0.0], [1.0], [2.0]], np.array([[1, 0], [2, 1], [1, 2]])
    )
    assert recipe_of(model).names == ("x0",)
