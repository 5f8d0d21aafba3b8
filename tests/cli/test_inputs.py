"""Inputs of commands: files of any kind, columns by other names, bad rows."""

import os
import re
import shlex

import duckdb
import numpy as np
import pytest

from pairscore import load
from pairscore.files.study import read_study
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.cli.running import (
    FAULTY_ITEMS,
    FAULTY_VOTES,
    faults,
    fine_files,
    fit_frames,
    ranking,
    run,
    shell,
    state,
)

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


# -- one data set in many kinds of files -----------------------------------------------------------


def test_every_kind_of_file_and_a_pipe_give_the_same_model_to_the_last_bit(study):
    folder, _, _ = study
    models, recipe = {}, "--categorical style --square mass"
    for kind in ("csv", "parquet", "jsonl", "tsv"):
        for table in ("items", "votes"):
            write_table(read_table(folder / f"{table}.csv"), folder / f"{table}.{kind}")
        run(f"fit items.{kind} votes.{kind} {recipe} -o {kind}.npz")
        models[kind] = state(folder / f"{kind}.npz")
    run(f"fit items.csv - {recipe} -o votes.npz", stdin=(folder / "votes.csv").read_bytes())
    items = (folder / "items.csv").read_bytes()
    done = shell(f"fit - votes.csv {recipe} -o items.npz", input=items)
    assert done.returncode == 0, done.stderr
    models |= {name: state(folder / f"{name}.npz") for name in ("items", "votes")}
    assert all(model == models["csv"] for model in models.values())


def test_model_and_ranking_through_pipes(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    made = shell("fit items.csv votes.csv -o -")
    assert made.returncode == 0, made.stderr
    (folder / "piped.npz").write_bytes(made.stdout)
    assert state(folder / "piped.npz") == state(folder / "m.npz")
    assert b"Rank regression" in made.stderr  # the summary makes way for the model
    ranked = shell("rank - items.csv -o -", input=made.stdout)
    assert ranked.returncode == 0, ranked.stderr
    run("rank m.npz items.csv -o r.csv")
    assert ranked.stdout == (folder / "r.csv").read_bytes()
    again = run("rank m.npz - -o -", stdin=(folder / "items.csv").read_bytes())
    assert again.stdout_bytes == ranked.stdout
    assert "both" in run("fit - - -o x.npz", code=2, stdin=b"").stderr


def test_delimiter_and_encoding(tmp_path):
    items = "id;size\nmüsli;1.0\ngröße;2\nx;3\n"
    (tmp_path / "items.csv").write_bytes(items.encode("latin-1"))
    (tmp_path / "votes.csv").write_bytes(
        "winner;loser\ngröße;müsli\nx;größe\ngröße;x\nx;müsli\nmüsli;x\n".encode("latin-1")
    )
    run("fit items.csv votes.csv --delimiter ';' --encoding latin-1 -o m.npz")
    run("rank m.npz items.csv -o r.csv")
    assert ranking(tmp_path / "r.csv")["id"] == ["x", "größe", "müsli"]
    wrong = run("fit items.csv votes.csv --encoding utf-8 -o n.npz", code=2)
    assert "not text in 'utf-8'" in wrong.stderr
    assert not (tmp_path / "n.npz").exists()


def test_files_with_decimal_commas_give_the_model_of_those_with_points(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    run("rank m.npz items.csv -o r.csv")
    text = (folder / "items.csv").read_text()
    (folder / "commas.csv").write_text(text.replace(",", ";").replace(".", ","))
    said = run("fit commas.csv votes.csv -o commas.npz").stderr
    assert said.count("has decimal commas") == 1
    assert said.startswith(
        "Note: 'commas.csv' has decimal commas (3,14 is 3.14), and was read that way."
    )
    assert state(folder / "commas.npz") == state(folder / "m.npz")
    assert "decimal commas" in run("rank m.npz commas.csv -o c.csv").stderr
    assert (folder / "c.csv").read_bytes() == (folder / "r.csv").read_bytes()
    assert "decimal" not in run("fit commas.csv votes.csv --decimal , -o commas.npz").stderr
    assert state(folder / "commas.npz") == state(folder / "m.npz")


def test_a_comma_that_may_be_either_asks_for_the_decimal_sign(tmp_path):
    (tmp_path / "items.csv").write_text("id;size\na;1,234\nb;2,500\nc;3,750\n")
    (tmp_path / "votes.csv").write_text("winner;loser\nb;a\nc;b\nb;c\na;b\n")
    said = run("fit items.csv votes.csv -o m.npz", code=2).stderr
    assert "'1,234' in the column 'size', which may be 1.234 or 1234" in said
    assert "name the decimal sign with --decimal, or leave the column out." in said
    assert run("fit items.csv votes.csv --decimal . -o m.npz").exit_code == 0


def test_a_delimiter_may_be_that_of_one_file(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "tilde.csv").write_text((folder / "items.csv").read_text().replace(",", "~"))
    run("fit tilde.csv votes.csv --delimiter '~' -o tilde.npz")
    assert state(folder / "tilde.npz") == state(folder / "m.npz")
    (folder / "bad.csv").write_text(
        (folder / "votes.csv").read_text() + '"who\nis that",item 1,left\nitem 1,item 2,huh\n'
    )
    wrong = run("fit tilde.csv bad.csv --delimiter '~' -o x.npz", code=2)
    assert faults(wrong.stderr) == {
        ("302", "left", "unknown item"),
        ("304", "winner", "neither side, nor a tie"),
    }


# -- columns by other names ------------------------------------------------------------------------


def test_columns_of_the_comparisons_by_other_names(study):
    folder, _, _ = study
    run("fit items.csv votes.csv --side-effect -o plain.npz")
    votes = read_table(folder / "votes.csv")
    n = len(votes)
    sides = {"left": "home", "right": "away"}
    renamed = {
        "home": votes["left"],
        "away": votes["right"],
        "result": np.array([sides.get(word, word) for word in votes["winner"]], dtype=object),
        "who": np.array(["ann", "bob"] * (n // 2), dtype=object),
        "times": np.full(n, 2.0),
        "trust": np.full(n, 0.5),
        "left": votes["right"],  # not what its name says
    }
    write_table(renamed, folder / "other.csv")
    names = {"left": "home", "right": "away", "winner": "result"}
    names |= {"judge": "who", "count": "times", "weight": "trust"}
    options = " ".join(f"--{role} {name}" for role, name in names.items())
    run(f"fit items.csv other.csv {options} --side-effect -o other.npz")
    plain, other = load(folder / "plain.npz"), load(folder / "other.npz")
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9)  # twice a half each
    assert other.side_effect_ == pytest.approx(plain.side_effect_, rel=1e-9)
    rows = read_study(folder / "items.csv", folder / "other.csv", vote_columns=names)
    assert rows.votes.judge.tolist() == ["ann", "bob"] * (n // 2)
    assert set(rows.votes.count) == {2.0}
    wrong = run("fit items.csv other.csv --left hom --right away -o x.npz", code=2)
    assert "--left names 'hom'" in wrong.stderr
    assert "Did you mean 'home'?" in wrong.stderr
    both = run("fit items.csv other.csv --left home --loser away -o x.npz", code=2)
    assert "they need left, right, winner" in both.stderr


def test_a_winner_told_by_a_column_that_is_also_an_item_is_refused(tmp_path):
    (tmp_path / "items.csv").write_text("id,x\nhome,1\naway team,2\nb,3\n")
    (tmp_path / "votes.csv").write_text("home,guest,winner\nhome,b,home\nb,home,home\n")
    result = run("fit items.csv votes.csv --left home --right guest -o m.npz", code=2)
    assert "1 item is called 'home', which also says a side" in result.stderr
    assert "in place of each question mark in --winner-codes 'home=?'" in result.stderr
    run("fit items.csv votes.csv --left home --right guest --winner-codes home=id -o m.npz")


def test_columns_of_the_items_by_name(study):
    folder, items, votes = study
    table = read_table(folder / "items.csv")
    features = {name: table[name] for name in ("mass", "height")}
    write_table(
        {"name": table["id"], **features, "id": np.arange(len(table))}, folder / "named.csv"
    )
    base = "fit named.csv votes.csv --id name -o m.npz"
    run(f"{base} --features height,mass")
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["height", "mass"]
    run(f"{base} --exclude id --exclude height")
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["mass"]
    np.testing.assert_array_equal(
        load(folder / "m.npz").coef_,
        fit_frames({"id": items["id"], "mass": items["mass"]}, votes).coef_,
    )
    # the id column is remembered
    run("rank m.npz named.csv -o r.csv")
    assert set(ranking(folder / "r.csv")["name"]) == set(items["id"])
    run("rank m.npz items.csv --id id -o r2.csv")
    first, second = ((folder / name).read_text().split("\n", 1) for name in ("r.csv", "r2.csv"))
    assert first == [second[0].replace("id", "name", 1), second[1]]
    assert "--id NAME" in run("rank m.npz items.csv", code=2).stderr
    assert "Did you mean 'mass'?" in run(f"{base} --features mas", code=2).stderr
    assert "--exclude names" in run(f"{base} --exclude colour", code=2).stderr
    result = run("fit items.csv votes.csv --features style -o m.npz", code=2)
    assert "is text (such as" in result.stderr


def test_items_without_ids_are_known_by_row_number(tmp_path):
    (tmp_path / "items.csv").write_text("x\n1\n2\n4\n8\n")
    (tmp_path / "votes.csv").write_text("winner,loser\n1,0\n2,1\n1,2\n3,2\n3,0\n2,3\n0,1\n")
    run("fit items.csv votes.csv -o m.npz")
    run("rank m.npz items.csv -o r.csv")
    assert ranking(tmp_path / "r.csv")["id"] == [3, 2, 1, 0]


@pytest.mark.parametrize(
    "command", ["report m.npz items.csv", "predict m.npz items.csv", "update m.npz"]
)
def test_items_of_a_model_counted_from_1_are_refused(command, tmp_path):
    """Of a few comparisons that may be about other items than the first, it is said."""
    (tmp_path / "items.csv").write_text("x\n1\n2\n4\n8\n")
    (tmp_path / "votes.csv").write_text("winner,loser\n1,0\n2,1\n1,2\n3,2\n3,0\n2,3\n0,1\n")
    (tmp_path / "few.csv").write_text("left,right,winner\n1,2,left\n2,3,right\n")
    (tmp_path / "from1.csv").write_text("left,right,winner\n1,2,left\n2,4,right\n")
    run("fit items.csv votes.csv -o m.npz --keep-data")
    output = {"report": "-o r.html", "predict": "-o p.csv", "update": "-o u.npz"}
    end = output[command.split()[0]]
    refused = run(f"{command} from1.csv {end}", code=2).stderr
    assert "from 0 to 3, but the numbers there run from 1 to 4" in refused
    said = run(f"{command} few.csv {end}").stderr
    assert "known by row number, from 0 to 3, and no comparison names row 0" in said


# -- columns that nobody needs ---------------------------------------------------------------------


def test_what_is_in_a_column_that_nobody_needs_does_no_harm(cluttered):
    folder = cluttered
    fit = "fit cluttered.csv timed.csv -o m.npz"
    refused = run(fit, code=2).stderr
    assert faults(refused) == {(str(line), "phone", "not a number") for line in (5, 22, 61)}
    run("fit items.csv votes.csv -o plain.npz")
    coef = load(folder / "plain.npz").coef_
    for options in ("--exclude phone", "--features mass,height"):
        result = run(f"{fit} {options}")
        np.testing.assert_array_equal(load(folder / "m.npz").coef_, coef)
        assert "phone" not in result.stderr
    for model, name in (("m", "cluttered"), ("plain", "items"), ("plain", "cluttered")):
        run(f"rank {model}.npz {name}.csv -o {model}-{name}.csv")
    assert (
        (folder / "plain-cluttered.csv").read_bytes()
        == (folder / "m-cluttered.csv").read_bytes()
        == (folder / "plain-items.csv").read_bytes()
    )
    run("report plain.npz cluttered.csv timed.csv -o page.html")
    assert "Did you mean 'phone'?" in run(f"{fit} --exclude phne", code=2).stderr


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_lists_and_records_are_left_out_unless_asked_for(cluttered, kind):
    folder = cluttered
    run("fit items.csv votes.csv -o plain.npz")
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
    fit = f"fit items.{kind} votes.{kind} -o m.npz"
    notes = [line for line in run(fit).stderr.splitlines() if "lists or records" in line]
    assert [note.split("'")[1] for note in notes] == ["conversation_a", "meta"]
    np.testing.assert_array_equal(load(folder / "m.npz").coef_, load(folder / "plain.npz").coef_)
    assert "lists or records" not in run(f"{fit} --features mass,height").stderr
    assert "conversation_a" not in run(f"{fit} --exclude conversation_a").stderr
    for options in ("--features mass,conversation_a", "--left conversation_a --right right"):
        refused = run(f"{fit} {options}", code=2).stderr
        assert "neither numbers nor text: 'conversation_a'" in refused
    run(f"rank m.npz items.{kind} -o r.csv")


# -- bad rows --------------------------------------------------------------------------------------


def read_bad_rows(path):
    return read_table(path, identifiers=("file", "text", "column", "reason"))


def test_everything_wrong_with_the_items_is_said_at_once_by_physical_line(tmp_path):
    (tmp_path / "items.csv").write_text(FAULTY_ITEMS)
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n")
    always = {
        ("7", "name", "missing"),
        ("6", "name", "an id already seen"),
        ("4", "b", "not finite"),
    }
    for rule, more in (("refuse", {("3", "a", "missing")}), ("drop-items", set())):
        result = run(f"fit items.csv votes.csv --id name --missing {rule} -o m.npz", code=2)
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
    result = run("fit items.csv votes.csv -o m.npz", code=2)
    assert faults(result.stderr) == {
        ("3", "right", "unknown item"),
        ("8", "left", "unknown item"),
        ("5", "right", "an item with itself"),
        ("6", "winner", "neither side, nor a tie"),
        ("7", "weight", "negative or not finite"),
    }
    assert "--self-pairs" not in result.stderr


def test_lines_of_standard_input_are_counted_as_those_of_a_file(tmp_path):
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n")
    (tmp_path / "items.csv").write_text("\n".join(("id,a", "1,2", "2,1", "3,5")) + "\n")
    for content, words in (
        (FAULTY_ITEMS, "{} votes.csv --id name"),
        (FAULTY_VOTES, "items.csv {}"),
    ):
        (tmp_path / "faulty.csv").write_text(content)
        piped = run(f"fit {words.format('-')} -o -", code=2, stdin=content.encode()).stderr
        from_file = run(f"fit {words.format('faulty.csv')} -o -", code=2).stderr
        assert faults(piped) == faults(from_file)
        assert piped.startswith("Error: 'standard input' has")
    run(
        "fit items.csv - --inference none -o m.npz",
        stdin=b"winner,loser\n1,2\n2,1\n2,3\n3,1\n1,3\n3,2\n",
    )
    ranked = run("rank m.npz - --unknown stop", code=2, stdin=b'id,a\n\n"a\nb",1\n\nc,inf\n').stderr
    assert faults(ranked) == {("6", "a", "not finite")}


@pytest.mark.parametrize("is_bad", [False, True])
def test_a_file_of_the_user_where_the_list_would_be_is_left_alone(is_bad, study):
    folder, _, _ = study
    own = folder / "m.npz.bad-rows.csv"
    own.write_text("line,what I changed\n3,the mass\n")
    before = own.read_bytes()
    if is_bad:
        (folder / "items.csv").write_text(FAULTY_ITEMS)
    words = "fit items.csv votes.csv --exclude style --id " + ("name" if is_bad else "id")
    result = run(words, "-o", "m.npz", code=2 if is_bad else 0)
    assert own.read_bytes() == before
    assert ("that has something else in it; move it away" in result.stderr) == is_bad


@pytest.mark.parametrize("decimal", ["", " --decimal ,"])
def test_a_list_of_an_earlier_run_goes_when_no_row_is_bad(decimal, study):
    folder, _, _ = study
    good = (folder / "items.csv").read_text()
    words = f"fit items.csv votes.csv --exclude style -o m.npz{decimal}"
    (folder / "items.csv").write_text(FAULTY_ITEMS.replace("name", "id"))
    run(words, code=2)
    assert (folder / "m.npz.bad-rows.csv").exists()
    (folder / "items.csv").write_text(good)
    run("fit items.csv votes.csv --exclude style -o m.npz")
    assert not (folder / "m.npz.bad-rows.csv").exists()


def test_bad_rows_of_both_files_are_all_told(study):
    folder, _, _ = study
    lines = (folder / "items.csv").read_text().splitlines()
    more = [f"extra {row},1,{row}," for row in range(400)]
    bad = [f"bad {row},x{row},1,oil" for row in range(30)]
    (folder / "bad_items.csv").write_text("\n".join([*lines, *more, *bad]) + "\n")
    (folder / "bad_votes.csv").write_text((folder / "votes.csv").read_text() + "item 1,item 2\n")
    (folder / "m.npz").write_bytes(b"what was there before")
    result = run("fit bad_items.csv bad_votes.csv -o m.npz", code=2)
    assert len(re.findall("not a number", result.stderr)) == 20
    assert "and 10 more" in result.stderr
    assert "2 cells instead of 3" in result.stderr
    bad_rows = read_bad_rows("m.npz.bad-rows.csv")
    assert "'m.npz.bad-rows.csv'" in result.stderr
    assert bad_rows["line"].tolist() == [*range(len(lines) + 401, len(lines) + 431), 302]
    assert bad_rows["text"].tolist()[:2] == ["x0", "x1"]
    assert bad_rows["column"].tolist() == ["mass"] * 30 + [None]
    assert (folder / "m.npz").read_bytes() == b"what was there before"


def test_unknown_items_are_all_told_by_their_physical_lines(study):
    folder, _, _ = study
    rows = [
        (f"item {row % 30}" if row % 2 else f"no {row}", "item 0" if row % 3 else '"who\nis this"')
        for row in range(1, 60)
    ]
    lines = [f"{left},{right},first" for left, right in rows]
    (folder / "bad.csv").write_text("\n".join(["first,second,winner\n", *lines, ""]))
    result = run("fit items.csv bad.csv --left first --right second -o m.npz", code=2)
    bad_rows = read_bad_rows("m.npz.bad-rows.csv")
    columns = [bad_rows[name].tolist() for name in ("line", "column", "text")]
    line, expected = 3, []
    for left, right in rows:
        expected += [(line, "first", left)] if left.startswith("no") else []
        expected += [(line, "second", "who\nis this")] if right != "item 0" else []
        line += 1 if right == "item 0" else 2
    assert list(zip(*columns, strict=True)) == expected
    assert "add the missing items or correct the ids" in result.stderr
    assert result.stderr.count("unknown item: ") == 20
    assert set(bad_rows["reason"].tolist()) == {"unknown item"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "-"])
def test_a_winner_that_is_neither_side_is_told_by_its_line(study, kind):
    folder, _, _ = study
    votes = read_table(folder / "votes.csv")
    winner = votes["winner"].copy()
    winner[[4, 200]] = "both", "neither of the two"
    path = folder / ("bad.csv" if kind == "-" else f"bad.{kind}")
    write_table({"left": votes["left"], "right": votes["right"], "winner": winner}, path)
    stdin = path.read_bytes() if kind == "-" else None
    result = run("fit items.csv -o m.npz", "-" if stdin else path, code=2, stdin=stdin)
    offset = {"csv": 2, "-": 2}.get(kind, 1)
    assert f"line {4 + offset}, column 'winner': neither side, nor a tie: 'both'" in result.stderr
    assert f"line {200 + offset}, column 'winner'" in result.stderr
    assert read_table(folder / "m.npz.bad-rows.csv")["line"].tolist() == [4 + offset, 200 + offset]


def test_a_list_of_bad_rows_goes_when_there_are_none_any_more(study):
    folder, _, _ = study
    (folder / "bad.csv").write_text("winner,loser\nitem 1\n")
    run("fit items.csv bad.csv -o m.npz", code=2)
    assert (folder / "m.npz.bad-rows.csv").exists()
    run("fit items.csv votes.csv -o m.npz")
    assert not (folder / "m.npz.bad-rows.csv").exists()


# -- files as people have them ---------------------------------------------------------------------


@pytest.fixture
def german(tmp_path):
    """A study with decimal commas, other names of columns and codes for winners."""
    items, votes = fine_files(tmp_path, n=60)
    rows = zip(items["id"], items["mass"], items["height"], strict=True)
    lines = [f"{name};{mass};{height}".replace(".", ",") for name, mass, height in rows]
    (tmp_path / "stücke.csv").write_text("\n".join(["Stück;Masse;Höhe", *lines]) + "\n")
    codes = {"left": "oben", "right": "unten", "tie": "weiß nicht"}
    rows = zip(votes["left"], votes["right"], votes["winner"], strict=True)
    lines = [f"{left};{right};{codes[won]};Anna" for left, right, won in rows]
    (tmp_path / "paare.csv").write_text("\n".join(["eins;zwei;wer;Prüferin", *lines]) + "\n")
    return tmp_path


GERMAN = "stücke.csv paare.csv --left eins --right zwei --winner wer --judge Prüferin --id Stück"
GERMAN_CODES = "--winner-codes 'oben=left,unten=right,weiß nicht=tie'"


def test_882_equal_complaints_about_winners_are_one_line(german):
    said = run(f"fit {GERMAN} -o m.npz", code=2).stderr
    errors = [line for line in said.splitlines() if not line.startswith("Note: ")]
    assert len(errors) == 1
    assert "in 300 of 300 comparisons" in errors[0]
    assert "'weiß nicht' (12)" in errors[0]
    copied = re.search(r"--winner-codes ('.*?')", errors[0])[0]
    assert set(shlex.split(copied)[1].split(",")) == {"oben=?", "unten=?", "weiß nicht=?"}
    assert "has the meaning '?'" in run(f"fit {GERMAN} {copied} -o m.npz", code=2).stderr
    filled = copied.replace("oben=?", "oben=left").replace("unten=?", "unten=right")
    run(f"fit {GERMAN} {filled.replace('?', 'tie')} -o m.npz")


def test_the_model_keeps_columns_codes_and_signs_and_needs_none_again(german):
    run(f"fit {GERMAN} {GERMAN_CODES} --decimal , --na weg --keep-data -o m.npz")
    kept = load("m.npz").record_["reading"]
    assert kept["vote_columns"] == {
        "left": "eins",
        "right": "zwei",
        "winner": "wer",
        "judge": "Prüferin",
    }
    assert kept["winner_codes"] == {"oben": "left", "unten": "right", "weiß nicht": "tie"}
    assert (kept["decimal"], kept["na"]) == (",", ["weg"])
    run("report m.npz stücke.csv paare.csv -o page.html")
    run("update m.npz paare.csv --repeated add -o more.npz")
    assert load("more.npz").n_comparisons_ == 600
    assert load("more.npz").record_["reading"] == kept
    run("rank more.npz stücke.csv -o r.csv")


def test_what_a_study_file_or_an_option_says_again_wins(german):
    run(f"fit {GERMAN} {GERMAN_CODES} --keep-data -o m.npz")
    before = load("m.npz").result_.comparisons
    (german / "turned.toml").write_text(
        '[tables]\ncomparisons = "paare.csv"\n'
        '[columns]\nleft = "zwei"\nright = "eins"\nwinner = "wer"\n'
    )
    run("update m.npz turned.toml -o more.npz")
    after = load("more.npz").result_.comparisons
    np.testing.assert_array_equal(after.left[len(before) :], before.right)
    np.testing.assert_array_equal(after.outcome[len(before) :], before.outcome)
    run("update m.npz paare.csv --winner-codes 'oben=right,unten=left,weiß nicht=skip' -o x.npz")
    turned = load("x.npz").result_.comparisons.outcome[len(before) :]
    np.testing.assert_array_equal(turned, -before.outcome[before.outcome != 0])


def test_kept_columns_that_another_file_does_not_have_are_looked_for(german):
    without_judge = GERMAN.replace("--judge Prüferin", "")
    run(f"fit {without_judge} {GERMAN_CODES} --keep-data -o m.npz")
    run("update m.npz votes.csv --repeated add -o more.npz")
    before, after = load("m.npz").result_.comparisons, load("more.npz").result_.comparisons
    np.testing.assert_array_equal(after.outcome[len(before) :], before.outcome)


def test_the_ranking_has_the_users_ids_and_numbers(german):
    run(f"fit {GERMAN} {GERMAN_CODES} --decimal , -o m.npz")
    run("rank m.npz stücke.csv -o r.csv")
    lines = (german / "r.csv").read_text().splitlines()
    assert lines[0] == "Stück;score;low;high;rank;rank_low;rank_high;outside"
    assert re.fullmatch(r"item \d+;-?\d+,\d+;-?\d+,\d+;-?\d+,\d+;1;\d+;\d+;\d", lines[1])
    assert run("rank m.npz stücke.csv").stdout.splitlines()[1].split()[:2] == ["rank", "Stück"]
    run("rank m.npz stücke.csv -o r.jsonl")
    read = read_table("r.csv", decimal=",", identifiers=("Stück",))
    assert read["score"].tolist() == read_table("r.jsonl")["score"].tolist()
    # a column of the ranking keeps its name
    (german / "score.csv").write_text((german / "stücke.csv").read_text().replace("Stück", "score"))
    run("rank m.npz score.csv --id score -o r.csv")
    assert (german / "r.csv").read_text().startswith("id;score;low")


def test_columns_of_other_names_and_another_id_are_found_and_said(german):
    asked = run(f"fit stücke.csv paare.csv {GERMAN_CODES} -o found.npz", code=2).stderr
    assert "--winner wer" in asked
    given = f"{GERMAN_CODES} --winner wer --judge Prüferin"
    asked = run(f"fit stücke.csv paare.csv {given} -o found.npz", code=2).stderr
    assert "--left eins --right zwei if the first of them is left" in asked
    given = f"{given} --left eins --right zwei"
    said = run(f"fit stücke.csv paare.csv {given} -o found.npz").stderr
    assert "the ids of the items are in 'Stück'" in said
    run(f"fit {GERMAN} {GERMAN_CODES} -o named.npz")
    assert state("found.npz") == state("named.npz")
    assert load("found.npz").record_["reading"] == load("named.npz").record_["reading"]


def test_a_named_column_of_ids_that_does_not_match_is_refused_with_the_one_that_does(study):
    """It was overridden."""
    table = read_table("items.csv")
    write_table({"number": np.arange(30), **dict(table)}, "numbered.csv")
    said = run("fit numbered.csv votes.csv --id number --features mass -o m.npz", code=2).stderr
    assert "no item that the comparisons name is in the column 'number' of the items" in said
    assert "'id' has them; say --id id." in said


def test_numbers_in_the_first_column_are_ids_and_not_row_numbers(tmp_path):
    """Ids from 1 were taken for row numbers from 0 where the last item was never compared."""
    rng = np.random.default_rng(0)
    numbers = np.arange(1, 31)
    mass = rng.normal(size=30)
    write_table({"no": numbers, "mass": mass}, "items.csv")
    left = rng.integers(1, 29, 200)
    right = left % 28 + 1
    winner = np.where(
        rng.random(200) < 1 / (1 + np.exp(mass[right - 1] - mass[left - 1])), left, right
    )
    write_table({"left": left, "right": right, "winner": winner}, "votes.csv")
    said = run("fit items.csv votes.csv -o m.npz").stderr
    assert "the ids of the items are in 'no'" in said
    assert load("m.npz").feature_names_in_.tolist() == ["mass"]


def test_an_address_is_said_to_be_no_file():
    said = run("fit http://example.org/items.csv votes.csv -o m.npz", code=2).stderr
    assert "'http://example.org/items.csv' is an address and not a file; download it" in said
    said = run("fit s3://bucket/items.csv votes.csv -o m.npz", code=2).stderr
    assert (
        "'s3://bucket/items.csv' is an address and not a file; read it with pairscore fit --stream"
        in said
    )


@pytest.mark.parametrize("stream", ["", " --stream"])
@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("abfs://c@account.invalid/x?sas=geheim", "'abfs://c@account.invalid/x?sas=…' is "),
        ("https://host.invalid/x.csv#access_token=geheim", "; download it, and give the file"),
        ("ann:geheim@host:/x.csv", "'ann@host:/x.csv'"),
        ("https://ann:geheim@host.invalid/x", "; download it, and give the file"),
        (
            "postgresql://ann:geheim@host.invalid/db",
            "; read its tables with --db, with a query for each",
        ),
    ],
)
def test_no_key_of_an_address_is_shown(address, sentence, stream):
    write_table({"id": ["a", "b"], "mass": [1.0, 2.0]}, "items.csv")
    said = run(f"fit items.csv {address}{stream} -o m.npz", code=2).stderr
    assert sentence in said
    assert said.splitlines()[-1].startswith("Error: ")
    assert len(said.splitlines()) <= 2  # a note that an address is read in parts
    assert not [word for word in ("geheim", "AWS") if word in said]


def test_dates_and_names_are_not_proposed_as_categories(study):
    _, items, _ = study
    dates = np.array([f"{row % 28 + 1:02d}.03.2023" for row in range(30)], dtype=object)
    names = np.array([f"Frau {row}" for row in range(30)], dtype=object)
    write_table(items | {"seen": dates, "name": names}, "dated.csv")
    said = run("fit dated.csv votes.csv -o m.npz").stderr
    assert "the column 'seen' has dates and was left out" in said
    assert "'name' left out: text that differs from item to item" in said
    assert re.findall("--categorical (\\S+)", said) == ["style"]


def test_levels_that_differ_in_case_only_are_pointed_out(study):
    _, items, _ = study
    style = items["style"].copy()
    style[style == "oil"] = np.where(np.arange(np.sum(style == "oil")) % 2, "oil", "Oil")
    write_table(items | {"style": style}, "cases.csv")
    said = run("fit cases.csv votes.csv --categorical style -o m.npz").stderr
    assert "'style' has entries that differ in upper and lower case only: 'Oil' and 'oil'" in said


def test_comparisons_that_codes_leave_out_are_counted(study):
    _, _, votes = study
    winner = ["" if row < 7 else word for row, word in enumerate(votes["winner"])]
    write_table({**votes, "winner": winner}, "gaps.csv")
    said = run("fit items.csv gaps.csv --winner-codes =skip -o m.npz").stderr
    assert f"7 of {len(winner)} comparisons left out, as the winner codes say." in said
    assert "left out, as" not in run("fit items.csv votes.csv --winner-codes =skip -o m.npz").stderr


def test_codes_of_winners_that_cannot_be_read_are_a_sentence(study):
    for codes, sentence in (
        ("A", "is not a list of codes and their meaning"),
        ("A=top", "a code means 'left', 'right', 'tie', 'skip'"),
        ("1=left,1=right", "says that '1' means left and right; leave one of them out"),
    ):
        said = run(f"fit items.csv votes.csv --winner-codes {codes} -o m.npz", code=2).stderr
        assert sentence in said


def test_columns_of_judges_with_codes_are_asked_for_and_then_the_codes(study):
    _, _, votes = study
    codes = {"left": "A", "right": "B", "tie": "="}
    of = [codes[word] for word in votes["winner"]]
    write_table({"left": votes["left"], "right": votes["right"], "Ann": of, "Bob": of}, "wide.csv")
    said = run("fit items.csv wide.csv -o m.npz", code=2).stderr
    assert "--winner Ann,Bob if each of them has the winners by one judge" in said
    said = run("fit items.csv wide.csv --winner Ann,Bob -o m.npz", code=2).stderr
    assert "in 600 of 600 comparisons" in said
    assert re.search("--winner-codes 'A=[?],B=[?],==[?]'|--winner-codes '.*[?]'", said)
    codes = "--winner-codes A=left,B=right,==tie"
    run(f"fit items.csv wide.csv --winner Ann,Bob {codes} --keep-data -o m.npz")
    assert load("m.npz").n_comparisons_ == 600
    run("report m.npz items.csv wide.csv -o page.html")
    run("update m.npz wide.csv --repeated add -o more.npz")
    assert load("more.npz").n_comparisons_ == 1200


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_embeddings_in_files_are_features(cluttered, kind):
    folder = cluttered
    run("fit items.csv votes.csv -o plain.npz --features mass,height")
    with duckdb.connect() as connection:
        for name, numbers in (("items", "mass, height"), ("longer", "mass, height, 1")):
            source = (
                f"SELECT id, [{numbers}] AS e, 'x' || id AS title FROM '{folder / 'items.csv'}'"
            )
            connection.execute(
                f"COPY ({source}) TO '{folder / name}.{kind}' (FORMAT"
                f" {'json' if kind == 'jsonl' else kind})"
            )
    for options in ("", "--features e"):
        run(f"fit items.{kind} votes.csv -o m.npz {options}")
        model, plain = load(folder / "m.npz"), load(folder / "plain.npz")
        assert [*model.feature_names_in_] == ["e[0]", "e[1]"]
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        run(f"rank m.npz items.{kind} -o r.csv")
        run("rank plain.npz items.csv -o plain.csv")
        assert (folder / "r.csv").read_bytes() == (folder / "plain.csv").read_bytes()
        refused = run(f"rank m.npz longer.{kind}", code=2).stderr
        assert "'e' has 3 numbers for each item, but the model was fitted with 2" in refused
        refused = run("rank m.npz items.csv", code=2).stderr
        assert "'e' (2 numbers); add it, or" in refused
    run(f"fit longer.{kind} votes.csv -o m.npz --features e[0],e[1]")
    run(f"rank m.npz longer.{kind}")  # these two of three were asked for
    assert "no numeric column" in run(f"fit items.{kind} votes.csv --exclude e", code=2).stderr


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="symbolic links")
@pytest.mark.parametrize("stream", ["", "--stream"])
def test_links_that_go_round_in_circles_are_one_sentence(study, stream):
    folder, _, _ = study
    os.symlink("loop.csv", folder / "loop.csv")
    said = run(f"fit loop.csv votes.csv {stream} -o m.npz", code=2).stderr
    assert said.count("\n") == 1
    assert "'loop.csv'" in said
