"""`fit` and `update` as somebody uses them who writes no Python."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairscore import RankRegression, auto_fit, load
from pairscore.files.tables import read_table
from pairscore.files.write import write_table
from tests.cli.running import (
    ALONE,
    RANKING,
    fit_frames,
    ranking,
    run,
    scores,
    state,
)
from tests.estimators.test_outside_results import DATA, PUBLISHED
from tests.tie_cells import draw_outcomes, draw_pairs

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


# -- fit: from files to known numbers --------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tables_give_the_published_numbers(tmp_path, name):
    known = PUBLISHED[name]
    side = ["--side-effect"] if "side" in known else []
    items, votes = DATA / name / "items.csv", DATA / name / "votes.csv"
    result = run("fit --inference model -o model.npz --json", items, votes, *side)
    record = json.loads(result.stdout)
    found = {row["feature"]: (row["coef"], row["std_error"]) for row in record["coefficients"]}
    if side:
        found["side"] = (record["side_effect"]["coef"], record["side_effect"]["std_error"])
    for feature, (coef, error) in known.items():
        assert found[feature][0] == pytest.approx(coef, abs=1e-7)
        assert found[feature][1] == pytest.approx(error, rel=2e-6, abs=6e-8)
    run("rank model.npz -o ranking.csv", items)
    best = ranking(tmp_path / "ranking.csv")
    assert best["score"] == sorted(best["score"], reverse=True)
    winners = {"citations": "JRSSB", "baseball": "Milwaukee", "heaviness": "110g"}
    assert best["id"][0] == winners[name]


def test_the_category_is_the_published_dummies(tmp_path):
    """One 0/1 column for each of seven teams; their differences are those of the published six."""
    teams = read_table(DATA / "baseball" / "items.csv")["id"]
    write_table({"id": teams, "team": teams}, tmp_path / "items.csv")
    options = "--reference team=Baltimore --side-effect --inference model --json"
    result = run(f"fit {options} -o m.npz items.csv", DATA / "baseball" / "votes.csv")
    assert "Warning" not in result.output
    rows = {row["feature"]: row for row in json.loads(result.stdout)["coefficients"]}
    for team, (known, error) in PUBLISHED["baseball"].items():
        if team != "side":
            row = rows[f"team={team}"]
            assert (row["coef"], row["std_error"]) == pytest.approx((known, error), rel=3e-6)
    assert rows["team=Baltimore"]["coef"] == 0


def test_the_command_is_the_library_call(study):
    folder, items, votes = study
    result = run("fit items.csv votes.csv -o m.npz")
    ours, theirs = load(folder / "m.npz"), fit_frames(items, votes)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.covariance_, theirs.covariance_)
    next_steps = (
        "Wrote m.npz. Next: pairscore rank m.npz items.csv, or pairscore report m.npz items.csv"
        " votes.csv.\n"
    )
    assert result.stdout == f"{theirs.summary().text(notes=False)}\n{next_steps}"
    assert [line for line in result.stderr.splitlines() if line.startswith("Warning")] == [
        f"Warning: {note}" for note in theirs.notes_
    ]
    assert "'style' is text" in result.stderr
    assert "--categorical style" in result.stderr
    run("rank m.npz items.csv -o r.parquet")
    expected = theirs.rank({name: values for name, values in items.items() if name != "style"})
    found = ranking(folder / "r.parquet")
    assert list(found) == RANKING
    assert found["id"] == expected["id"].tolist()
    for name in RANKING[1:]:
        np.testing.assert_allclose(
            np.asarray(found[name], float), np.asarray(expected[name], float), rtol=1e-12
        )


def test_json_has_what_the_summary_says(study):
    _, items, votes = study
    result = run("fit items.csv votes.csv -o m.npz --json")
    record, model = json.loads(result.stdout), fit_frames(items, votes)
    assert [row["coef"] for row in record["coefficients"]] == model.coef_.tolist()
    intervals = [[row["low"], row["high"]] for row in record["coefficients"]]
    assert intervals == model.confidence_intervals().tolist()
    assert (record["n_items"], record["n_comparisons"]) == (model.n_items_, 300)
    assert (record["agreement"], record["noise"]) == (model.agreement_, model.noise_)
    assert record["warnings"] == model.notes_
    assert record["warnings"]  # thirty items are few


def test_every_part_of_the_model_has_its_option(files):
    folder, items, votes = files
    options = (
        "--l2 auto --group topic --judge-slopes --ties davidson --context rest --side-effect judges"
        " --inference items+judges"
    )
    result = run(f"fit items.csv votes.csv {options} -o m.npz")
    for words in (
        "context rest",
        "side left, judge 0",
        "ties (davidson)",
        "votes against the others: 'judge 4'",
        "by held-out log-loss",
        "robust to items and judges",
    ):
        assert words in result.stdout
    model = RankRegression(
        l2="auto",
        judge_slopes=True,
        ties="davidson",
        context=["rest"],
        side_effect="judges",
        inference="items+judges",
    )
    model.fit(items, votes, item_groups=[row // 8 for row in range(80)])
    again = load(folder / "m.npz")
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-8)
    np.testing.assert_allclose(again.std_errors_, model.std_errors_, atol=1e-8)
    assert again.judges_.name.tolist() == model.judges_.name.tolist()
    record = json.loads(run(f"fit items.csv votes.csv {options} -o m.npz --json").stdout)
    assert record["effects"][0]["name"] == "rest"
    assert len(record["judges"]) == 5
    assert record["l2"] == pytest.approx(model.l2_)
    assert len(record["ridge_curve"]["l2"]) == 30


def test_ties_are_dropped_scaled_and_read_from_a_column(tmp_path):
    rng = np.random.default_rng(0)
    X, (left, right) = rng.normal(size=(60, 2)), draw_pairs(rng, 0, 60, 900)
    outcome = draw_outcomes(rng, X[left, 0] - X[right, 0], "davidson")
    write_table({"id": np.arange(60), "a": X[:, 0], "b": X[:, 1]}, tmp_path / "items.csv")
    won = outcome >= 0
    rows = {"winner": np.where(won, left, right), "loser": np.where(won, right, left)}
    write_table(rows | {"tie": outcome == 0}, tmp_path / "votes.csv")
    records = {
        ties: json.loads(run(f"fit items.csv votes.csv --ties {ties} -o {ties}.npz --json").stdout)
        for ties in ("half", "drop", "davidson")
    }
    tied = np.mean(outcome == 0)
    assert all(one["tie_share"] == pytest.approx(tied) for one in records.values())
    assert records["half"]["decided_scale"] > 1.2 > records["drop"]["decided_scale"] == 1
    wins = {ties: one["coefficients"][0]["wins_of_100"] for ties, one in records.items()}
    assert max(wins.values()) - min(wins.values()) < 1  # of decided comparisons, all of them
    text = run("fit items.csv votes.csv --ties drop -o drop.npz").stdout
    assert f"900 ({tied:.1%} ties, left out)" in text


def test_a_ridge_for_known_items(files):
    folder, _, _ = files
    result = run("fit items.csv votes.csv --l2 auto-known -o m.npz")
    assert "new comparisons of known items" in result.stdout
    model = load(folder / "m.npz")
    assert (model.l2, model.ridge_curve_.held_out) == ("auto-known", "comparisons")
    result = run("fit items.csv votes.csv --l2 auto-known --group topic -o m.npz", code=2)
    assert (
        "groups of items (--group) are held out together where --l2 auto chooses" in result.stderr
    )
    assert result.stderr.rstrip().endswith("leave them out.")


def test_a_group_is_no_feature_and_must_be_there(files):
    folder, _, _ = files
    run("fit items.csv votes.csv --l2 auto --group topic -o m.npz")
    assert list(load(folder / "m.npz").feature_names_in_) == ["a", "b", "c"]
    result = run("fit items.csv votes.csv --l2 auto --group topics -o x.npz", code=2)
    assert "Did you mean 'topic'?" in result.stderr
    result = run("fit items.csv votes.csv --group topic -o x.npz", code=2)
    assert "held out together where --l2 auto chooses" in result.stderr


def test_layouts_of_other_programs(study):
    """One data set as choix, Evalica and LMArena have it: one fit."""
    folder, _, _ = study
    votes = read_table(folder / "votes.csv")
    decided = np.flatnonzero(votes["winner"] != "tie")
    left, right, word = votes["left"][decided], votes["right"][decided], votes["winner"][decided]
    won, lost = np.where(word == "left", left, right), np.where(word == "left", right, left)
    as_side = np.where(word == "left", "model_a", "model_b").astype(object)
    layouts = {
        "evalica": ({"left": left, "right": right, "winner": word}, ""),
        "arena": ({"model_a": left, "model_b": right, "winner": as_side}, ""),
        "own id": ({"left": left, "right": right, "winner": won}, ""),
        "choix": ({"winner": won, "loser": lost}, ""),
        "better, worse": (
            {"better": won, "worse": lost, "left": left, "right": right},
            "--winner better --loser worse",
        ),
    }
    coefs = []
    for name, (columns, options) in layouts.items():
        write_table(columns, folder / f"{name}.csv")
        run(f"fit items.csv '{name}.csv' {options} -o m.npz")
        coefs.append(load(folder / "m.npz").coef_)
    for coef in coefs:
        np.testing.assert_allclose(coef, coefs[0], rtol=1e-9)


WRONG_FITS = {
    "cannot be read": "items.csv no.csv",
    "what kind of table": "items.csv votes.dat",
    "no column of the comparisons is called winner or loser": "items.csv layout.csv",
    "an item with itself": "items.csv same.csv",
    "an id already seen": "twice.csv votes.csv",
    "not finite": "inf.csv votes.csv",
    "no numeric column to learn from (text: 'style')": "text.csv votes.csv",
    "there is no folder": "items.csv votes.csv -o no/x.npz",
    "is a folder": "items.csv votes.csv -o .",
    "would be overwritten": "items.csv votes.csv -o items.csv",
    "--l2 is -1.0": "items.csv votes.csv --l2 -1",
    "delimiter is 'ab'": "items.csv votes.csv --delimiter ab",
    "not a text encoding": "items.csv votes.csv --encoding klingon",
    "--method split needs at least": "items.csv votes.csv --method split",
    "in no comparison, or use --method pooled": "items.csv votes.csv --method split",
    "--square names 'mas', which is not a feature; the features are 'mass', 'height'. Did you mean"
    " 'mass'?": "items.csv votes.csv --square mas",
    "with two of 'mass', 'height'. Did you mean 'height'?": (
        "items.csv votes.csv --interact mass:heigt"
    ),
    "Did you mean 'lft'?": "items.csv lft.csv --left lf",
    "--side-effect needs comparisons": "items.csv pairs.csv --side-effect",
}


def test_what_is_wrong_is_one_sentence_and_exit_2(study):
    folder, _, _ = study
    votes = folder / "votes.csv"
    (folder / "layout.csv").write_text("one,two\nitem 1,item 2\n")
    (folder / "same.csv").write_text("winner,loser\nitem 1,item 1\nitem 1,item 2\n")
    (folder / "twice.csv").write_text("id,mass\na,1\na,2\n")
    (folder / "inf.csv").write_text(
        "id,mass\n" + "\n".join(f"item {row},{row}" for row in range(30)) + "\nz,inf\n"
    )
    (folder / "text.csv").write_text("id,style\nitem 1,oil\n")
    (folder / "pairs.csv").write_text("winner,loser\nitem 1,item 2\nitem 2,item 3\n")
    (folder / "lft.csv").write_text(votes.read_text().replace("left,", "lft,", 1))
    before = sorted(folder.iterdir())
    for message, words in WRONG_FITS.items():
        result = run(f"fit {words}" if " -o " in words else f"fit {words} -o x.npz", code=2)
        assert message in result.stderr, (message, result.stderr)
        assert result.stdout == ""
        assert result.stderr.count("Error: ") == 1
        (folder / "x.npz.bad-rows.csv").unlink(missing_ok=True)
        assert sorted(folder.iterdir()) == before


# -- recipes ---------------------------------------------------------------------------------------


def test_the_recipe_travels_with_the_model(study):
    """After a fit with categories, squares and products, new items score as computed by hand."""
    folder, _, _ = study
    products = "--square mass --interact mass:height --interact style:mass"
    run(f"fit items.csv votes.csv --categorical style {products} --l2 1 -o m.npz")
    model = load(folder / "m.npz")
    names = ["mass", "height", "style=chalk", "style=ink", "style=oil", "mass^2", "mass:height"]
    names += ["style=chalk:mass", "style=ink:mass", "style=oil:mass"]
    assert model.feature_names_in_.tolist() == names
    (folder / "new.csv").write_text(
        "colour,style,id,height,mass\nred,oil,one,0.5,2\nred,ink,two,-1,3\n"
    )
    run("rank m.npz new.csv -o r.jsonl")
    found = scores(folder / "r.jsonl")
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
    average = model.feature_mean_ @ model.coef_
    assert found == pytest.approx({"one": one - average, "two": two - average}, rel=1e-9)
    (folder / "strange.csv").write_text(
        "id,style,height,mass\na,oil,1,2\nb,pastel,1,2\nc,pastel,1,2\n"
    )
    result = run("rank m.npz strange.csv --unknown stop -o never.csv", code=2)
    assert (
        "strange.csv' has 2 bad rows; fit again with such items (known levels: 'chalk',"
        in result.stderr
    )
    assert "column 'style': a level that the fit did not know: 'pastel'" in result.stderr
    assert not (folder / "never.csv").exists()


def test_levels_that_look_like_numbers_stay_levels(study):
    folder, _, _ = study
    table = read_table(folder / "items.csv")
    grade = np.array(["01", "1", "2"], dtype=object)[np.arange(len(table)) % 3]
    write_table({"id": table["id"], "grade": grade}, folder / "graded.csv")
    run("fit graded.csv votes.csv --categorical grade -o m.npz")
    assert load(folder / "m.npz").feature_names_in_.tolist() == ["grade=01", "grade=1", "grade=2"]
    (folder / "new.csv").write_text("id,grade\na,2\nb,1\n")  # all whole numbers now
    run("rank m.npz new.csv -o r.csv")
    _, second, third = load(folder / "m.npz").coef_
    found = scores(folder / "r.csv")
    assert found["a"] - found["b"] == pytest.approx(third - second)


def test_an_item_or_a_level_may_be_called_na(study):
    folder, _, _ = study
    for name in ("items", "votes"):
        path = folder / f"{name}.csv"
        path.write_text(path.read_text().replace("item 7,", "NA,").replace(",ink", ",n/a"))
    run("fit items.csv votes.csv --categorical style -o m.npz")
    assert "style=n/a" in load(folder / "m.npz").feature_names_in_
    run("rank m.npz items.csv -o r.csv")
    assert "NA" in ranking(folder / "r.csv")["id"]


# -- missing values --------------------------------------------------------------------------------


def test_missing_values_are_refused_with_a_list(gappy):
    folder, _, _ = gappy
    result = run("fit gappy.csv votes.csv --categorical style -o m.npz", code=2)
    missing = [line.strip() for line in result.stderr.splitlines() if "missing: ''" in line]
    assert missing == [
        f"line {line}, column '{name}': missing: ''"
        for line, name in ((5, "mass"), (9, "mass"), (9, "style"), (11, "style"))
    ]
    assert (
        "--missing drop-items, --missing mean-with-flag or --missing item-effect" in result.stderr
    )
    assert not (folder / "m.npz").exists()


def test_gaps_of_new_items_get_a_remedy_that_works(gappy):
    """A flag for a gap that no item of the fit had was proposed, and then refused."""
    items = gappy[1]
    whole = np.arange(len(items["id"])) % 7.0
    write_table({"id": items["id"], "mass": whole}, "whole.csv")
    run("fit whole.csv votes.csv -o m.npz")
    said = run("rank m.npz gappy.csv --unknown stop", code=2).stderr
    assert "leave these items out, as a fit with --missing drop-items does" in said
    assert "mean-with-flag" not in said
    run("fit whole.csv votes.csv --missing drop-items -o m.npz")
    assert "2 items with missing values left out" in run("rank m.npz gappy.csv").stderr


def test_dropping_items_drops_their_comparisons_and_says_so(gappy):
    folder, items, votes = gappy
    result = run("fit gappy.csv votes.csv --missing drop-items -o m.npz")
    gone = {"item 3", "item 7"}
    pairs = zip(votes["left"], votes["right"], strict=True)
    rows = np.array([gone.isdisjoint(pair) for pair in pairs])
    kept = np.array([name not in gone for name in items["id"]])
    assert f"2 items dropped, with {(~rows).sum()} rows of comparisons" in result.stdout
    expected = fit_frames(
        {name: values[kept] for name, values in items.items()},
        {name: values[rows] for name, values in votes.items()},
    )
    np.testing.assert_array_equal(load(folder / "m.npz").coef_, expected.coef_)
    ranked = run("rank m.npz gappy.csv -o r.csv")
    assert "2 items with missing values left out" in ranked.stderr
    assert set(ranking(folder / "r.csv")["id"]) == set(items["id"]) - gone


def test_dropping_everything_is_an_error(gappy):
    folder, items, _ = gappy
    write_table(
        {"id": items["id"], "mass": np.where(np.arange(len(items["id"])) == 0, 1.0, np.nan)},
        folder / "empty.csv",
    )
    result = run("fit empty.csv votes.csv --missing drop-items -o m.npz", code=2)
    assert "every comparison has one of them" in result.stderr


def test_means_with_flags_are_counted_and_remembered(gappy):
    folder, items, votes = gappy
    result = run("fit gappy.csv votes.csv --missing mean-with-flag -o m.npz")
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
    run("rank m.npz new.csv -o r.csv")
    slope, _, flagged = expected.coef_
    average = expected.feature_mean_ @ expected.coef_
    found = {"n": mean * slope + flagged - average, "m": slope - average}
    assert scores(folder / "r.csv") == pytest.approx(found, rel=1e-9)
    (folder / "worse.csv").write_text("id,mass,height\nn,,\nm,1,0\n")
    result = run("rank m.npz worse.csv --unknown stop", code=2)
    assert "no value was missing there in the fit, so it has no flag for them" in result.stderr
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
            run(f"fit {name}.csv votes.csv --missing {rule} -o {name}.npz")
        assert state(folder / "gappy.npz") == state(folder / "words.npz")
        run("rank words.npz words.csv -o r.csv")
        assert len(ranking(folder / "r.csv")["id"]) == (28 if rule == "drop-items" else 30)
    result = run("fit words.csv votes.csv -o m.npz", code=2)
    told = [line.strip() for line in result.stderr.splitlines() if "missing: " in line]
    assert told == ["line 5, column 'mass': missing: 'NA'", "line 9, column 'mass': missing: ' ? '"]


# -- update ----------------------------------------------------------------------------------------


def test_an_update_is_a_fit_of_both_files(files):
    folder, _, _ = files
    run("fit items.csv early.csv --context rest --keep-data -o m.npz")
    run("update m.npz late.csv -o m.npz")
    run("fit items.csv votes.csv --context rest -o all.npz")
    one, other = load(folder / "m.npz"), load(folder / "all.npz")
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-8)
    assert one.n_comparisons_ == other.n_comparisons_ == 1500
    assert one.recipe_ == other.recipe_
    run("rank m.npz items.csv -o r.csv")


def test_an_update_brings_new_items(files):
    folder, items, votes = files
    early = set(items["id"][:60])
    known = votes["left"].isin(early) & votes["right"].isin(early)
    items[:60].to_csv(folder / "old.csv", index=False)
    items[60:].to_csv(folder / "new.csv", index=False)
    votes[known].to_csv(folder / "first.csv", index=False)
    votes[~known].to_csv(folder / "second.csv", index=False)
    run("fit old.csv first.csv --keep-data -o m.npz")
    result = run("update m.npz second.csv -o x.npz", code=2)
    assert "unknown item" in result.stderr
    assert not (folder / "x.npz").exists()
    run("update m.npz second.csv --items new.csv -o x.npz")
    expected = RankRegression().fit(items, pd.concat([votes[known], votes[~known]]))
    np.testing.assert_allclose(load(folder / "x.npz").coef_, expected.coef_, atol=1e-7)


def test_what_cannot_be_updated(files):
    folder, _, _ = files
    run("fit items.csv early.csv -o m.npz")
    assert "fit again with --keep-data" in run("update m.npz late.csv -o x.npz", code=2).stderr
    run("fit items.csv early.csv --keep-data -o m.npz")
    (folder / "bad.csv").write_text(
        "left,right,winner\nitem 1,item 2,left\nitem 1,nobody,left\nitem 1,item 2,huh\n"
    )
    result = run("update m.npz bad.csv -o x.npz", code=2)
    assert "line 3, column 'right': unknown item: 'nobody'" in result.stderr
    assert "line 4, column 'winner'" in result.stderr


# -- the user's words ------------------------------------------------------------------------------


def test_auto_chooses_as_the_library_does_and_the_model_remembers_it(study):
    folder, *_ = study
    said = run("fit items.csv votes.csv --auto --for new --report page.html --keep-data")
    choice = auto_fit(load(folder / "model.npz").result_.comparisons, use="new")
    assert said.stdout.startswith(str(choice))
    assert "text columns that become categories: 'style'" in said.stderr
    model = load(folder / "model.npz")
    np.testing.assert_allclose(model.coef_, choice.model.coef_, rtol=1e-9)
    assert model.get_params() == choice.model.get_params()
    assert (folder / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_auto_takes_what_is_given_as_given(study):
    said = run("fit items.csv votes.csv --auto --item-effects --l2 3")
    assert "with a ridge" not in said.stdout
    assert "with item effects" not in said.stdout
    assert load("model.npz").get_params()["l2"] == 3.0


def test_the_record_of_auto_has_what_was_tried(study):
    record = json.loads(run("fit items.csv votes.csv --auto --json").stdout)
    assert record["auto"]["trials"][0]["model"] == "plain, ties left out"
    assert record["auto"]["in_words"].startswith("Chosen: ")
    assert "add --auto" in run("fit items.csv votes.csv --for new", code=2).stderr


# -- what a fit does not use -----------------------------------------------------------------------


def test_a_fit_says_what_of_the_comparisons_it_did_not_use(study):
    _, _, votes = study
    judge = np.array(["Ann", "Ben", "Cem"], dtype=object)[np.arange(300) % 3]
    more = {"Prüfer": judge, "rest": np.arange(300.0) % 7, "note": np.array(["x", "y"] * 150)}
    write_table(votes | more, "more.csv")
    notes = {
        "'Prüfer' changes no score; --judge-slopes estimates how careful": "--judge-slopes",
        "ties count as half wins; --ties davidson estimates how likely": "--ties davidson",
        "of the comparisons, 'rest', 'note' were not used; --context takes": "--context rest",
    }
    fit = "fit items.csv more.csv --judge Prüfer -o m.npz"
    said = run(fit).stderr
    for note, option in notes.items():
        assert said.count(note) == 1
        assert note not in run(f"{fit} {option}").stderr
    assert "'note' was not used" in run(f"{fit} --context rest").stderr
    assert "half wins" not in run("fit items.csv votes.csv --ties drop -o m.npz").stderr
    assert "was not used" not in run("fit items.csv votes.csv -o m.npz").stderr


def test_columns_of_a_judging_sheet_are_not_proposed_as_context(study):
    _, items, votes = study
    mass = dict(zip(items["id"], items["mass"], strict=True))
    sheet = {"comparison": np.arange(len(votes["left"]))}
    for side in ("left", "right"):
        sheet |= {side: votes[side], f"{side}_mass": [mass[name] for name in votes[side]]}
    sheet |= {"winner": votes["winner"], "left_over": np.ones(len(votes["left"]))}
    write_table(sheet, "sheet.csv")
    said = run("fit items.csv sheet.csv -o m.npz").stderr
    assert "of the comparisons, 'left_over' was not used; --context takes" in said


# -- comparisons alone -----------------------------------------------------------------------------


def test_a_fit_of_comparisons_alone_shows_abilities_and_an_option_that_shows_all(games):
    said = run(f"fit games.csv {ALONE}").stdout
    assert said.startswith("Bradley-Terry model")
    assert re.search(r"item +ability +std.error +quasi std.error +95 % interval +rank", said)
    rows = [f"Team {number % 25:02},Team {number % 24:02},home" for number in range(25 * 24)]
    others = [row for row in rows if row.split(",")[0] != row.split(",")[1]]
    Path("many.csv").write_text("\n".join(["home,away,result", *others]) + "\n")
    said = run(f"fit many.csv {ALONE}").stdout
    assert "The 10 highest and 10 lowest of 25 items; --json has all of them." in said
    record = json.loads(run(f"fit many.csv {ALONE} --json").stdout)
    assert len(record["abilities"]) == 25


def test_comparisons_alone_are_fitted_ranked_predicted_and_updated(games):
    said = run(f"fit games.csv {ALONE} --side-effect --keep-data").stdout
    assert "Next: pairscore rank model.npz, or pairscore report model.npz games.csv." in said
    ranking = json.loads(run("rank model.npz --json").stdout)["ranking"]
    assert [row["id"] for row in ranking] == games
    Path("pairs.csv").write_text("left,right\nAjax,Dynamo\n")
    (chance,) = json.loads(run("predict model.npz pairs.csv --json").stdout)["chances"]
    assert chance["low"] < chance["chance"] < chance["high"]
    assert chance["chance"] > 0.8
    run("update model.npz games.csv --repeated add -o twice.npz")
    twice = json.loads(run("rank twice.npz --json").stdout)["ranking"]
    assert twice[0]["score"] == pytest.approx(ranking[0]["score"], rel=1e-6)
    assert twice[0]["high"] < ranking[0]["high"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"fit games.csv {ALONE} --auto --for new", "nothing is known of new items"),
        (f"fit games.csv {ALONE} --group x", "--group needs a table of items"),
        ("rank model.npz games.csv", "leave ITEMS out"),
        ("report model.npz games.csv games.csv", "give one file of comparisons after the model"),
        ("predict model.npz games.csv games.csv", "takes PAIRS alone"),
    ],
)
def test_what_needs_items_with_features_says_so(games, command, said):
    run(f"fit games.csv {ALONE}")
    done = run(command, code=2)
    assert said in done.stderr
    assert not Path("page.html").exists()


def test_comparisons_alone_have_a_report_and_the_model_remembers_their_columns(games):
    said = run(f"fit games.csv {ALONE} --report page.html").stdout
    assert "Wrote model.npz and page.html" in said
    page = Path("page.html").read_text()
    assert "<code>games.csv</code>" in page
    record = json.loads(run("report model.npz games.csv --title League --json").stdout)
    assert record["n_items"] == 4
    assert record["answer"][0].startswith("Ajax comes first of 4 items")
    assert any("New items cannot be ranked" in sentence for sentence in record["answer"])
    assert "These are the items and comparisons that the model was" in Path(
        "report.html"
    ).read_text().replace("\n", " ")


def test_auto_chooses_for_comparisons_alone_and_says_what_it_tried(games):
    said = run(f"fit games.csv {ALONE} --auto").stdout
    assert re.search(r"Models on \d+ held-out comparisons \(new comparisons of known items\)", said)
    assert "with abilities shrunk by an estimated variance" in said
    assert "Chosen: the" in said
    assert "Bradley-Terry model" in said


def test_an_update_of_comparisons_alone_learns_items_that_are_new(games):
    run(f"fit games.csv {ALONE} --keep-data")
    rows = ["Ajax,Everton,home", "Everton,Dynamo,home", "Everton,Ajax,home", "Dynamo,Everton,home"]
    Path("more.csv").write_text("\n".join(["home,away,result", *rows]) + "\n")
    done = run("update model.npz more.csv -o more.npz")
    assert "1 new item: 'Everton'" in done.stderr
    updated = json.loads(run("rank more.npz --json").stdout)["ranking"]
    whole = Path("games.csv").read_text() + "\n".join(rows) + "\n"
    Path("whole.csv").write_text(whole)
    run(f"fit whole.csv {ALONE} -o whole.npz")
    ranking = json.loads(run("rank whole.npz --json").stdout)["ranking"]
    assert [row["id"] for row in updated] == [row["id"] for row in ranking]
    scores = [[row["score"] for row in one] for one in (updated, ranking)]
    np.testing.assert_allclose(*scores, atol=1e-6)


def test_a_pair_of_an_unknown_item_is_not_asked_for_in_a_table_that_is_not_there(games):
    run(f"fit games.csv {ALONE}")
    Path("pairs.csv").write_text("home,away\nAjax,Nobody\n")
    said = run("predict model.npz pairs.csv", code=2).stderr
    assert "skip them or correct the ids" in said


def test_comparisons_are_not_taken_for_items_to_pair(games):
    Path("votes.csv").write_text("left,right,winner\na,b,left\nb,c,left\n")
    said = run("pairs votes.csv --comparisons 3 -o sheet.xlsx", code=2).stderr
    assert "its rows are comparisons and not items" in said
    assert not Path("sheet.xlsx").exists()
    run(f"fit games.csv {ALONE}")
    run("rank model.npz -o items.csv")
    assert "of 4 items" in run("pairs items.csv --comparisons 6 -o sheet.xlsx").stdout


def test_a_pilot_without_features_is_sent_to_the_report(games):
    said = run("plan --pilot games.csv --misordered 0.1", code=2).stderr
    assert "what more of them would add" in said


SETTINGS = {
    "--method paired": {"method": "paired"},
    "--link probit": {"link": "probit"},
    "--l2 2.5": {"l2": 2.5},
    "--method pooled": {"method": "pooled"},
    "--side-effect": {"side_effect": True},
    "--side-effect no": {"side_effect": False},
    "--side-effect yes": {"side_effect": True},
    "--item-effects": {"item_effects": True},
    "--item-effects auto": {"item_effects": "auto"},
    "--inference model": {"inference": "model"},
    "--inference none": {"inference": None},
}


@pytest.mark.parametrize("options", SETTINGS)
def test_every_setting_reaches_the_model(study, options):
    folder, items, votes = study
    settings = SETTINGS[options]
    run(f"fit items.csv votes.csv {options} -o m.npz")
    model = load(folder / "m.npz")
    assert {key: model.get_params()[key] for key in settings} == settings
    expected = fit_frames(items, votes, **settings)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.side_effect_ == expected.side_effect_
    if settings.get("inference", "items") is None:
        assert model.covariance_ is None
        result = run("rank m.npz items.csv --json")
        assert {row["low"] for row in json.loads(result.stdout)["ranking"]} == {None}
    else:
        np.testing.assert_array_equal(model.std_errors_, expected.std_errors_)


@pytest.mark.usefixtures("study")
def test_item_effects_alone_do_not_take_a_file_for_their_value():
    said = run("fit --item-effects items.csv votes.csv -o m.npz", code=2).stderr
    assert said == (
        "Error: --item-effects is followed by 'items.csv', which is neither yes, no nor auto;"
        " write --item-effects yes, or give the files before it.\n"
    )
    command = "fit items.csv votes.csv -o m.npz"
    assert "yes, no nor auto" in run(f"{command} --item-effects=x", code=2).output
    said = run(f"{command} --method paired --item-effects auto", code=2).output
    assert "--item-effects auto adds effects" in said


def test_a_reference_level_is_named_on_the_command_line_and_kept_in_the_model(study):
    """A column with a reference is a category; levels are against it, in the JSON too."""
    folder, items, _ = study
    level = sorted({str(one) for one in items["style"]})[-1]
    said = run(f"fit items.csv votes.csv --reference style={level} -o m.npz --json").stdout
    record = json.loads(said)
    rows = {row["feature"]: row for row in record["coefficients"]}
    assert rows[f"style={level}"]["coef"] == rows[f"style={level}"]["std_error"] == 0
    assert all(row["std_error"] is not None for row in rows.values())
    assert record["categories"][0]["reference"] == level
    assert load(folder / "m.npz").recipe_["reference"] == {"style": level}
    plain = json.loads(run("fit items.csv votes.csv --categorical style --json").stdout)
    levels = [row["coef"] for row in plain["coefficients"] if row["feature"].startswith("style=")]
    assert sum(levels) == pytest.approx(0, abs=1e-9)
    assert plain["warnings"] == record["warnings"]
    assert not any("unknown" in text for text in plain["warnings"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("style", "--reference 'style' does not name a level; write for example"),
        ("style=nowhere", "--reference names the level 'nowhere' of 'style', which no item has"),
        ("stile=oil", "--reference names 'stile', and the item table has no such column"),
    ],
)
def test_a_reference_that_is_none_is_refused_in_a_sentence(study, option, said):
    assert said in run(f"fit items.csv votes.csv --reference {option} -o m.npz", code=2).stderr


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        ([""] * 6, "left out, because they have no value at all: 'more'."),
        (["7"] * 6, "left out, because all items have the same: 'more'."),
        (["yes"] * 6, "left out, because all items have the same: 'more'."),
        (
            ["yes", "", "yes", "", "", ""],
            "left out, because it has one value and is blank for 4 of 6 items: 'more'; if blank"
            " means something, write it in the cells.",
        ),
    ],
)
def test_auto_is_not_stopped_by_a_column_that_is_empty_or_always_the_same(entries, note, tmp_path):
    x = [0.3, 1.1, 0.2, 2.5, 1.9, 0.7]
    rows = [f"i{k},{value},{more}" for k, (value, more) in enumerate(zip(x, entries, strict=True))]
    (tmp_path / "items.csv").write_text("\n".join(["id,x,more", *rows]) + "\n")
    pairs = [(a, b) for a in range(6) for b in range(6) if a != b] * 2
    won = ["left" if (x[a] > x[b]) != (k % 5 == 0) else "right" for k, (a, b) in enumerate(pairs)]
    lines = [f"i{a},i{b},{winner}" for (a, b), winner in zip(pairs, won, strict=True)]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *lines]) + "\n")
    files = [tmp_path / name for name in ("items.csv", "votes.csv")]
    done = run("fit", *files, "--auto", "-o", tmp_path / "model.npz")
    assert f"Note: {note}" in done.stderr
    assert done.stderr.count("'more'") == 1  # it does not become a category as well
    assert load(tmp_path / "model.npz").feature_names_in_.tolist() == ["x"]
    run("rank", tmp_path / "model.npz", files[0])


def test_a_file_with_decimal_points_is_not_read_with_the_commas_of_an_earlier_one(tmp_path):
    x = ["0,5", "1,25", "2,125", "0,75", "3,5"]
    for name, sign in (("commas", ","), ("points", ".")):
        rows = [f"i{k};{value.replace(',', sign)}" for k, value in enumerate(x)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id;x", *rows]) + "\n")
    pairs = [(a, b) for a in range(5) for b in range(5) if a != b]
    lines = [f"i{a};i{b};{'left' if (a * b) % 3 else 'right'}" for a, b in pairs]
    (tmp_path / "votes.csv").write_text("\n".join(["left;right;winner", *lines]) + "\n")
    model = tmp_path / "model.npz"
    run("fit", tmp_path / "commas.csv", tmp_path / "votes.csv", "--decimal", ",", "-o", model)
    one, other = (
        run("rank", model, tmp_path / f"{name}.csv", "--json") for name in ("commas", "points")
    )
    assert one.stdout == other.stdout
    assert one.stderr == ""
    assert "has decimal signs '.', not ',' as before." in other.stderr


def test_auto_keeps_a_column_that_was_asked_for_whatever_signs_its_name_has(tmp_path):
    """Names are compared with names, not with how Python would print a list of them."""
    names = ["it's", 'a "quoted" one', "plain"]
    header = ["id", "mass", *(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)]
    rows = [[f"P{row}", str(row % 7), "3", "3", "3"] for row in range(30)]
    table = "\n".join(",".join(row) for row in [header, *rows])
    (tmp_path / "items.csv").write_text(table + "\n")
    pairs = [(row, (row * 7 + 3) % 30) for row in range(30)] * 4
    votes = [
        f"P{a},P{b},{'left' if (a % 7 + n) % 3 else 'right'}" for n, (a, b) in enumerate(pairs)
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["left,right,winner", *votes]) + "\n")
    files = [tmp_path / "items.csv", tmp_path / "votes.csv", "-o", tmp_path / "model.npz"]
    asked = ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in [*names[:2], "mass"])
    done = run("fit", *files, "--auto", "--features", asked)
    assert done.exit_code == 0, done.output
    assert "left out, because all items have the same" not in done.stderr
    assert load(tmp_path / "model.npz").feature_names_in_.tolist() == [*names[:2], "mass"]
    done = run("fit", *files, "--auto")
    assert "left out, because all items have the same" in done.stderr
    assert load(tmp_path / "model.npz").feature_names_in_.tolist() == ["mass"]


def test_slips_are_given_or_estimated(files):
    folder, items, votes = files
    shown = run("fit items.csv votes.csv --lapse auto -o m.npz").stdout
    assert "slips" in shown
    record = json.loads(run("fit items.csv votes.csv --lapse 0.03 -o m.npz --json").stdout)
    assert record["lapse"] == {
        "rate": 0.03,
        "estimated": False,
        **dict.fromkeys(("low", "high", "std_error", "p_value")),
    }
    given = RankRegression(lapse=0.03).fit(items, votes)
    np.testing.assert_allclose(load(folder / "m.npz").coef_, given.coef_, atol=1e-8)
    assert load(folder / "m.npz").lapse_ == given.lapse_
    run("fit items.csv votes.csv --lapse 0.03 --stream -o s.npz")
    np.testing.assert_allclose(load(folder / "s.npz").coef_, given.coef_, atol=1e-6)
    refused = run("fit items.csv votes.csv --lapse 0.7 -o m.npz", code=2)
    assert "--lapse is 0.7" in refused.stderr
