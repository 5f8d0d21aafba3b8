"""`fit`, `rank`, `update`, `compare` and `report` as somebody uses them who writes no Python."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairscore import RankRegression, auto_fit, load
from pairscore.files.tables import StoredTable, read_table
from pairscore.files.write import write_table
from tests.cli.running import (
    FAULTY_ITEMS,
    RANKING,
    faults,
    fine_files,
    fit_frames,
    ranking,
    run,
    scores,
    state,
)
from tests.estimators.test_new_items import draw
from tests.estimators.test_outside_results import DATA, PUBLISHED
from tests.model.test_open_directions import study_of_years
from tests.tie_cells import draw_outcomes, draw_pairs

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.FewItemsWarning")


# -- fit: from files to known numbers --------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tables_give_the_published_numbers(tmp_path, name):
    known = PUBLISHED[name]
    side = ["--side-effect"] if "side" in known else []
    items, votes = DATA / name / "items.csv", DATA / name / "votes.csv"
    result = run("fit --inference model -o model.npz --json", *side, items, votes)
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
        "--l2 auto --group topic --judge-slopes --ties davidson --context rest --side-by-judge"
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
    assert "items of one --group are held out together where --l2 auto chooses" in result.stderr
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


def test_self_pairs_can_be_kept(study):
    folder, _, _ = study
    (folder / "same.csv").write_text((folder / "votes.csv").read_text() + "item 1,item 1,left\n")
    run("fit items.csv same.csv --self-pairs -o m.npz")
    assert load(folder / "m.npz").n_comparisons_ == 301


WRONG_FITS = {
    "cannot be read": "items.csv no.csv",
    "what kind of table": "items.csv votes.dat",
    "no column of the comparisons says who won": "items.csv layout.csv",
    "an item with itself": "items.csv same.csv",
    "an id already seen": "twice.csv votes.csv",
    "not finite": "inf.csv votes.csv",
    "no numeric column to learn from (text: 'style')": "text.csv votes.csv",
    "there is no folder": "items.csv votes.csv -o no/x.npz",
    "is a folder": "items.csv votes.csv -o .",
    "would be overwritten": "items.csv votes.csv -o items.csv",
    "--l2 is -1.0": "items.csv votes.csv --l2 -1",
    "--shrinkage is 'much'; use a number from 0 to 1, 'ledoit-wolf' or 'oas'": (
        "items.csv votes.csv --shrinkage much"
    ),
    "delimiter is 'ab'": "items.csv votes.csv --delimiter ab",
    "not a text encoding": "items.csv votes.csv --encoding klingon",
    "and --method mle has none": "items.csv votes.csv --shrinkage 0.5",
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
    assert "strange.csv' has 2 bad rows; known levels: 'chalk', 'ink', 'oil'" in result.stderr
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


# -- rank ------------------------------------------------------------------------------------------


def test_the_screen_shows_twenty_and_the_file_has_all(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    shown = run("rank m.npz items.csv").stdout.splitlines()
    average = "the average compared item (each counted as often as it was compared)"
    assert shown[0] == f"score: 0 is {average}, on the logit scale"
    assert len(shown) == 23
    assert shown[-1].startswith("and 10 more")
    record = json.loads(run("rank m.npz items.csv --json").stdout)
    assert record["n_items"] == len(record["ranking"]) == 30
    assert list(record["ranking"][0]) == RANKING
    for suffix in ("csv", "parquet", "jsonl"):
        assert run(f"rank m.npz items.csv -o r.{suffix}").output == f"Wrote r.{suffix}.\n"
        assert ranking(folder / f"r.{suffix}")["id"] == [row["id"] for row in record["ranking"]]
    assert shown[2].split()[1:3] == record["ranking"][0]["id"].split()


@pytest.mark.usefixtures("study")
def test_every_command_says_what_it_wrote():
    """rank, predict, update, merge and fit --stream ended without a word."""
    rank = "Next: pairscore rank m.npz"
    run("stats items.csv votes.csv --allow-small -o s.npz")
    lines = {
        "fit items.csv votes.csv --stream -o m.npz": f"Wrote m.npz. {rank} items.csv.",
        "merge s.npz -o m.npz": "Wrote m.npz.",
        "fit items.csv votes.csv --keep-data -o m.npz": f"Wrote m.npz. {rank} items.csv, or",
        "update m.npz votes.csv --repeated add -o m.npz": f"Wrote m.npz. {rank} NEW_ITEMS.csv.",
        "predict m.npz items.csv votes.csv -o p.csv": "Wrote p.csv.",
    }
    for command, line in lines.items():
        assert run(command).stdout.splitlines()[-1].startswith(line), command
    assert "Wrote" not in run("update m.npz votes.csv --repeated add -o m.npz --json").output
    assert "Wrote" not in run("rank m.npz items.csv -o -").output


@pytest.mark.usefixtures("study")
def test_level_and_simultaneous_widen():
    run("fit items.csv votes.csv -o m.npz")

    def width(option):
        best = json.loads(run(f"rank m.npz items.csv --json {option}").stdout)["ranking"][0]
        return best["high"] - best["low"]

    assert width("--level 0.5") < width("") < width("--simultaneous")


def test_items_of_equal_score_keep_the_order_of_the_file(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "equal.csv").write_text("id,mass,height\nd,1,0\nb,1,0\nc,5,0\na,1,0\n")
    run("rank m.npz equal.csv -o r.csv")
    found = ranking(folder / "r.csv")
    assert found["id"] == ["c", "d", "b", "a"]
    assert found["rank"] == [1, 2, 2, 2]
    assert found["outside"] == [1, 0, 0, 0]


def test_models_made_in_python_rank_files_too(study):
    folder, items, votes = study
    fit_frames(items, votes).save(folder / "m.npz")
    assert load(folder / "m.npz").recipe_ is None
    run("rank m.npz items.csv -o r.csv")
    table = {name: items[name] for name in ("id", "mass", "height")}
    assert ranking(folder / "r.csv")["id"] == fit_frames(items, votes).rank(table)["id"].tolist()
    (folder / "no_id.csv").write_text("height,mass\n1,2\n3,4\n")
    run("rank m.npz no_id.csv -o r.csv")
    assert sorted(ranking(folder / "r.csv")["id"]) == [0, 1]


def test_model_files_of_before_have_no_recipe_and_broken_recipes_are_refused(study):
    folder, _, _ = study
    run("fit items.csv votes.csv --categorical style -o m.npz")
    with np.load(folder / "m.npz") as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())

    good = header.pop("recipe")

    def save(name, **recipe):
        changed = np.frombuffer(json.dumps(header | recipe).encode(), dtype=np.uint8)
        np.savez(folder / name, header=changed, **arrays)

    save("old.npz")
    assert load(folder / "old.npz").recipe_ is None
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
        save("broken.npz", recipe=recipe)
        assert "fit again" in run("rank broken.npz items.csv", code=2).stderr, recipe


def test_bad_rows_of_a_ranking(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "new.csv").write_text(
        "id,mass,height\n" + "\n".join(f"{row},1,2" for row in range(50)) + "\nz,1,2,3\n"
    )
    result = run("rank m.npz new.csv -o r.csv", code=2)
    assert "4 cells instead of 3" in result.stderr
    assert read_table(folder / "r.csv.bad-rows.csv")["line"].tolist() == [52]
    assert not (folder / "r.csv").exists()
    assert "4 cells instead of 3" in run("rank m.npz new.csv", code=2).stderr


def test_rank_says_all_that_is_wrong_with_its_items(tmp_path, monkeypatch):
    (tmp_path / "good.csv").write_text("name,a,b\n1,2,3\n2,1,4\n3,5,2\n")
    (tmp_path / "votes.csv").write_text("winner,loser\n1,2\n2,1\n2,3\n3,1\n1,3\n3,2\n")
    run("fit good.csv votes.csv --id name --inference none -o m.npz")
    (tmp_path / "items.csv").write_text(FAULTY_ITEMS)
    for rows in (50_000, 2):  # in one piece, or with faults in several
        monkeypatch.setattr(StoredTable.pieces, "__defaults__", (rows,))
        result = run("rank m.npz items.csv --unknown stop -o r.csv", code=2)
        assert faults(result.stderr) == {
            ("7", "name", "missing"),
            ("6", "name", "an id already seen"),
            ("4", "b", "not finite"),
            ("3", "a", "missing"),
        }
        assert not (tmp_path / "r.csv").exists()


def test_numeric_ids_are_ids_for_a_report_though_they_are_a_feature_as_well(study):
    """It said that the column is text."""
    run("fit items.csv votes.csv --inference none -o m.npz")
    mass = dict(zip(study[1]["id"].tolist(), study[1]["mass"].tolist(), strict=True))
    votes = {side: [mass[name] for name in study[2][side]] for side in ("left", "right")}
    write_table({**votes, "winner": study[2]["winner"]}, study[0] / "by_mass.csv")
    run("report m.npz items.csv by_mass.csv --id mass -o page.html")
    by_mass, by_id = (
        read_table(study[0] / name, identifiers=("mass", "id"))[name[3:-4]].tolist()
        for name in ("by_mass.csv", "by_id.csv")
        if run(f"rank m.npz items.csv {'--id mass' * ('mass' in name)} -o {name}")
    )
    assert [float(name) for name in by_mass] == [mass[name] for name in by_id]


def test_rank_refuses_what_it_cannot_rank(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    (folder / "less.csv").write_text("id,mas,height\na,1,2\n")
    (folder / "words.csv").write_text("id,mass,height\na,heavy,2\nb,light,1\n")
    (folder / "none.csv").write_text("id,mass,height\n")
    (folder / "twice.csv").write_text("id,mass,height\na,1,2\na,1,2\n")
    (folder / "gap.csv").write_text("id,mass,height\na,,2\nb,1,2\n")
    (folder / "fine.csv").write_text("id,mass,height\nb,1,2\n")
    wrong = {
        "that the score is made of: 'mass'; add it, or fit again with --exclude. Did you mean 'm": (
            "m.npz less.csv"
        ),
        "column 'mass': not a number: 'heavy'": "m.npz words.csv",
        "no items to rank": "m.npz none.csv",
        "an id already seen": "m.npz twice.csv --unknown stop",
        "': missing: ''": "m.npz gap.csv --unknown stop",
        "'fine.csv' is a table and not a model": "fine.csv fine.csv",
        "level is 2.0": "m.npz fine.csv --level 2",
        "both": "- -",
    }
    for message, words in wrong.items():
        result = run(f"rank {words} -o r.csv", code=2, stdin=b"")
        assert message in result.stderr, (message, result.stderr)
        assert not (folder / "r.csv").exists()


# -- compare ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
def test_models_are_compared():
    command = (
        "compare items.csv votes.csv --model plain: --model 'judges: judge_slopes=yes context=rest'"
    )
    result = run(f"{command} --group topic")
    assert "'judges' has the lowest log-loss on pairs of new items" in result.stdout
    record = json.loads(run(f"{command} --json --folds 3").stdout)
    assert record["models"] == ["plain", "judges"]


@pytest.mark.usefixtures("files")
def test_models_that_cannot_be_compared_are_a_sentence():
    for models, message in (
        ("--model 'a:'", "you gave one. Give --model at least twice"),
        ("--model 'a: method=best' --model b:", "method is 'best'"),
    ):
        assert message in run(f"compare items.csv votes.csv {models}", code=2).stderr


# -- report ----------------------------------------------------------------------------------------


def test_a_report_through_pipes_and_as_json(study):
    folder, _, _ = study
    run("fit items.csv votes.csv -o m.npz")
    assert run("report m.npz items.csv votes.csv -o page.html").stdout == "page.html\n"
    model = (folder / "m.npz").read_bytes()
    page = run("report - items.csv votes.csv -o -", stdin=model)
    record = json.loads(run("report m.npz items.csv votes.csv -o page.html --json").stdout)
    assert record["path"] == "page.html"
    assert (record["n_items"], record["n_comparisons"]) == (30, 300)
    assert "comes first of 30 items" in record["answer"][0]
    for text in (page.stdout, (folder / "page.html").read_text()):
        assert text.startswith("<!DOCTYPE html>")
        assert text.rstrip().endswith("</html>")
        assert html.escape(record["answer"][0]) in text.replace("\u00a0", " ")
    both = run("report m.npz items.csv votes.csv -o - --json")
    assert both.stdout.startswith("<!DOCTYPE html>")
    assert json.loads(both.stderr) == record | {"path": None}
    assert "only one of the model" in run("report - - votes.csv", code=2, stdin=b"").stderr


def test_a_ranking_of_years_that_never_meet_has_its_group_in_text_csv_and_json(tmp_path):
    items, votes = study_of_years()
    write_table({name: items[name].to_numpy() for name in items}, tmp_path / "items.csv")
    write_table({name: votes[name].to_numpy() for name in votes}, tmp_path / "votes.csv")
    files = f"{tmp_path}/items.csv {tmp_path}/votes.csv"
    fitted = run(f"fit {files} -o {tmp_path}/model.npz")
    assert "no two items that met differ in 'year'" in fitted.stderr
    command = f"rank {tmp_path}/model.npz {tmp_path}/items.csv"
    _, head, first, *_ = run(command).stdout.splitlines()
    assert head.split()[:3] == ["group", "rank", "id"]
    assert first.split()[:2] == ["year=2001", "1"]
    run(f"{command} -o {tmp_path}/ranking.csv")
    table = ranking(tmp_path / "ranking.csv")
    assert list(table) == [*RANKING, "group"]
    assert table["group"][-1] == "year=2004"
    record = json.loads(run(f"{command} --json").stdout)
    assert record["ranking"][0]["group"] == "year=2001"


def test_a_hopeless_fit_points_to_the_option_of_the_ridge(tmp_path):
    X, votes = draw(np.random.default_rng(0), 110, 1100, 75)
    columns = {f"f{column}": X[:, column] for column in range(75)}
    write_table({"id": np.arange(110), **columns}, tmp_path / "items.csv")
    write_table({name: votes[name].to_numpy() for name in votes}, tmp_path / "votes.csv")
    fitted = run(f"fit {tmp_path}/items.csv {tmp_path}/votes.csv -o {tmp_path}/model.npz")
    assert "choose a ridge with --l2 auto, or use fewer features." in fitted.stderr
    assert "\n  new items        about " in fitted.stdout


# -- the user's words ------------------------------------------------------------------------------

SICK = "--title 'Severity of pneumonia' --top 'most severe' --bottom 'least severe'"


def assert_nobody_is_the_best(text):
    """The best score, or accuracy, is one of a method; an item is never called so."""
    told = re.sub(r"best (score|one|possible)|better\s+features", "", text, flags=re.IGNORECASE)
    assert not re.search(r"\b(best|worst|better|beats)\b", told, re.IGNORECASE), told


def test_nothing_calls_the_sickest_patient_the_best(tmp_path):
    fine_files(tmp_path)
    summary = run(f"fit items.csv votes.csv --categorical style {SICK} -o m.npz").stdout
    assert summary.startswith("Severity of pneumonia: rank regression\n")
    assert "most severe first, least severe last" in summary
    assert re.search(r"an item is judged more severe in \d+ of 100 decided comparisons", summary)
    shown = run("rank m.npz items.csv").stdout
    assert shown.startswith("Severity of pneumonia: most severe first, least severe last\n")
    run("report m.npz items.csv votes.csv -o page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    assert "<title>Severity of pneumonia – Ranking report</title>" in page
    assert "The 12 most severe and the 12 least severe" in page
    assert "rank (1 = most severe)" in page
    assert "comes first (most severe) of 30 items and would be judged more severe in" in page
    for text in (summary, shown, re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)):
        assert_nobody_is_the_best(text)


def test_words_stay_in_the_model_and_the_report_may_say_others(tmp_path):
    fine_files(tmp_path)
    words = "--title Pictures --top loveliest"
    run(f"fit items.csv votes.csv --exclude style {words} --keep-data -o m.npz")
    run("update m.npz votes.csv --repeated add -o n.npz")
    assert vars(load("n.npz").wording_) == {"title": "Pictures", "top": "loveliest", "bottom": ""}
    run("report n.npz items.csv votes.csv --title 'A <b>hall</b>' --bottom plainest -o page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>A &lt;b&gt;hall&lt;/b&gt;</h1>" in page
    assert "The 12 loveliest and the 12 plainest" in page
    assert "would be ranked higher in" in page
    record = json.loads(run("fit items.csv votes.csv --exclude style --json -o m.npz").stdout)
    assert [record[name] for name in ("title", "top", "bottom")] == ["", "", ""]
    assert "200" in run(f"fit items.csv votes.csv -o m.npz --title {'a' * 300}", code=2).stderr


def test_scores_come_on_the_scale_that_was_asked_for_and_new_items_among_the_fitted(tmp_path):
    fine_files(tmp_path)
    fit = json.loads(run("fit items.csv votes.csv --exclude style --json -o m.npz").stdout)
    (tmp_path / "new.csv").write_text("id,mass,height\nnew,0.5,0\nother,-3,0\n")
    first, header, *_ = run("rank m.npz new.csv --scale elo").stdout.splitlines()
    assert first.startswith("score: Elo: 1500 is the average compared item")
    assert header.endswith("among the 30 fitted")
    record = json.loads(run("rank m.npz new.csv --scale elo --json").stdout)
    plain = json.loads(run("rank m.npz new.csv --json").stdout)
    assert (record["scale"], plain["scale"]) == ("elo", "link")
    for row, link in zip(record["ranking"], plain["ranking"], strict=True):
        points = 400 / np.log(10) * fit["decided_scale"] * link["score"]
        assert row["score"] == pytest.approx(1500 + points)
        assert 1 <= row["place_low"] <= row["place_high"] <= 31
    run("fit items.csv votes.csv --exclude style --link probit -o p.npz")
    for command in ("rank p.npz new.csv", "report p.npz items.csv votes.csv -o page.html"):
        said = run(f"{command} --scale elo", code=2).stderr
        assert "--scale elo is for --link logit, and the link is 'probit'" in said


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


def test_a_report_of_a_model_that_goes_to_standard_output_is_refused(study):
    assert (
        "give -o and --report a file each"
        in run("fit items.csv votes.csv -o - --report p.html", code=2).stderr
    )


def test_commands_are_listed_in_the_order_of_the_work_with_whole_sentences():
    said = run("--help").stdout
    order = [said.index(f"\n  {name} ") for name in ("plan", "pairs", "fit", "rank", "report")]
    assert order == sorted(order)
    assert "..." not in said.split("Commands")[1]


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


@pytest.fixture
def games(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    names, ability = ["Ajax", "Bayern", "Celtic", "Dynamo"], np.array([1.5, 0.5, -0.5, -1.5])
    rows = ["home,away,result"]
    for _ in range(300):
        one, other = rng.choice(4, 2, replace=False)
        won = rng.random() < 1 / (1 + np.exp(ability[other] - ability[one]))
        rows.append(f"{names[one]},{names[other]},{'home' if won else 'away'}")
    (tmp_path / "games.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return names


ALONE = "--left home --right away --winner result"


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
    run(f"update model.npz games.csv {ALONE} --repeated add -o twice.npz")
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


def test_compare_takes_comparisons_alone_and_models_that_ignore_features(games):
    said = run(f"compare games.csv {ALONE}").stdout
    assert "'shrunk'" in said
    assert "pairs of new items" not in said
    assert "Without features nothing is known of new items" in said
    rows = [f"{name},{number}" for number, name in enumerate(games)]
    Path("teams.csv").write_text("\n".join(["id,place", *rows]) + "\n")
    models = "--model 'features:' --model 'abilities: features=no'"
    record = json.loads(run(f"compare teams.csv games.csv {ALONE} {models} --json").stdout)
    assert record["models"] == ["features", "abilities"]
    assert record["counts"]["new-new"]["n_comparisons"] == 0
    assert record["counts"]["train-train"]["n_comparisons"] > 0
    refused = f"compare teams.csv games.csv {ALONE} --model 'a:' --model 'b: features=some'"
    assert "features=some; compare takes features=yes" in run(refused, code=2).stderr
