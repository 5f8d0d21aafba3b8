"""`fit` with judges, context, ties and a chosen ridge; `update`.

`compare`: as somebody uses them who writes no Python.
"""

import json

import numpy as np
import pandas as pd
import pytest

from pairscore import RankRegression, load
from tests.cli.test_commands import run
from tests.model.test_fit import tables


@pytest.fixture
def files(tmp_path):
    items, votes = tables(m=1500, tie=0.4, slopes=np.array([1.0, 1.2, 0.8, 0.0, -1.0]))
    items = items.assign(topic=[f"topic {row // 8}" for row in range(80)])
    items.to_csv(tmp_path / "items.csv", index=False)
    votes.drop(columns="number").to_csv(tmp_path / "votes.csv", index=False)
    votes[:1000].to_csv(tmp_path / "early.csv", index=False)
    votes[1000:].to_csv(tmp_path / "late.csv", index=False)
    return tmp_path, items.drop(columns="topic"), votes


def test_every_part_of_the_model_has_its_option(files):
    folder, items, votes = files
    options = (
        "--l2",
        "auto",
        "--group",
        "topic",
        "--judge-slopes",
        "--ties",
        "davidson",
        "--context",
        "rest",
        "--side-by-judge",
        "--inference",
        "items+judges",
    )
    result = run(
        "fit", folder / "items.csv", folder / "votes.csv", *options, "-o", folder / "m.npz"
    )
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
    record = json.loads(
        run(
            "fit",
            folder / "items.csv",
            folder / "votes.csv",
            *options,
            "-o",
            folder / "m.npz",
            "--json",
        ).stdout
    )
    assert record["effects"][0]["name"] == "rest"
    assert len(record["judges"]) == 5
    assert record["l2"] == pytest.approx(model.l2_)
    assert len(record["ridge_curve"]["l2"]) == 30


def test_a_group_is_no_feature_and_must_be_there(files):
    folder, _, _ = files
    run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--l2",
        "auto",
        "--group",
        "topic",
        "-o",
        folder / "m.npz",
    )
    assert list(load(folder / "m.npz").feature_names_in_) == ["a", "b", "c"]
    result = run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--l2",
        "auto",
        "--group",
        "topics",
        "-o",
        folder / "x.npz",
        code=2,
    )
    assert "Did you mean 'topic'?" in result.stderr
    result = run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--group",
        "topic",
        "-o",
        folder / "x.npz",
        code=2,
    )
    assert "held out together where --l2 auto chooses" in result.stderr


def test_an_update_is_a_fit_of_both_files(files):
    folder, _, _ = files
    run(
        "fit",
        folder / "items.csv",
        folder / "early.csv",
        "--context",
        "rest",
        "--keep-data",
        "-o",
        folder / "m.npz",
    )
    run("update", folder / "m.npz", folder / "late.csv", "-o", folder / "m.npz")
    run(
        "fit",
        folder / "items.csv",
        folder / "votes.csv",
        "--context",
        "rest",
        "-o",
        folder / "all.npz",
    )
    one, other = load(folder / "m.npz"), load(folder / "all.npz")
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-8)
    assert one.n_comparisons_ == other.n_comparisons_ == 1500
    assert one.recipe_ == other.recipe_
    run("rank", folder / "m.npz", folder / "items.csv", "-o", folder / "r.csv")


def test_an_update_brings_new_items(files):
    folder, items, votes = files
    early = set(items["id"][:60])
    known = votes["left"].isin(early) & votes["right"].isin(early)
    items[:60].to_csv(folder / "old.csv", index=False)
    items[60:].to_csv(folder / "new.csv", index=False)
    votes[known].to_csv(folder / "first.csv", index=False)
    votes[~known].to_csv(folder / "second.csv", index=False)
    run("fit", folder / "old.csv", folder / "first.csv", "--keep-data", "-o", folder / "m.npz")
    result = run("update", folder / "m.npz", folder / "second.csv", "-o", folder / "x.npz", code=2)
    assert "unknown item" in result.stderr
    assert not (folder / "x.npz").exists()
    run(
        "update",
        folder / "m.npz",
        folder / "second.csv",
        "--items",
        folder / "new.csv",
        "-o",
        folder / "x.npz",
    )
    expected = RankRegression().fit(items, pd.concat([votes[known], votes[~known]]))
    np.testing.assert_allclose(load(folder / "x.npz").coef_, expected.coef_, atol=1e-7)


def test_what_cannot_be_updated(files):
    folder, _, _ = files
    run("fit", folder / "items.csv", folder / "early.csv", "-o", folder / "m.npz")
    assert (
        "fit again with --keep-data"
        in run(
            "update", folder / "m.npz", folder / "late.csv", "-o", folder / "x.npz", code=2
        ).stderr
    )
    run("fit", folder / "items.csv", folder / "early.csv", "--keep-data", "-o", folder / "m.npz")
    (folder / "bad.csv").write_text(
        "left,right,winner\nitem 1,item 2,left\nitem 1,nobody,left\nitem 1,item 2,huh\n"
    )
    result = run("update", folder / "m.npz", folder / "bad.csv", "-o", folder / "x.npz", code=2)
    assert "line 3, column 'right': unknown item: 'nobody'" in result.stderr
    assert "line 4, column 'winner'" in result.stderr


def test_models_are_compared(files):
    folder, _, _ = files
    models = ("--model", "plain:", "--model", "judges: judge_slopes=yes context=rest")
    result = run("compare", folder / "items.csv", folder / "votes.csv", *models, "--group", "topic")
    assert "'judges' has the lowest log-loss on pairs of new items" in result.stdout
    record = json.loads(
        run(
            "compare", folder / "items.csv", folder / "votes.csv", *models, "--json", "--folds", "3"
        ).stdout
    )
    assert record["models"] == ["plain", "judges"]
    for arguments, message in (
        (("--model", "a: b"), "is not of the form"),
        (("--model", "a:"), "give --model twice"),
        (("--model", "a: judge_slope=yes", "--model", "b:"), "Did you mean 'judge_slopes'?"),
        (("--model", "a: method=best", "--model", "b:"), "method is 'best'"),
        (("--model", "a: l2=1", "--model", "a: l2=2", "--model", "b:"), "3 models have 2 names"),
        (("--model", "a: missing=mean-with-flag", "--model", "b:"), "use --missing"),
    ):
        assert (
            message
            in run("compare", folder / "items.csv", folder / "votes.csv", *arguments, code=2).stderr
        )
