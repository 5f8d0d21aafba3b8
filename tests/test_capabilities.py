"""What a user can do, an example each: rows of docs/comparison.md, commands and public names.

An example says what it shows (:func:`shows`) and asserts something of the answer; the last tests
say which capability has none. What is correct in detail is tested elsewhere.
"""

import json
import re
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit, logit, ndtr
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

import pairscore
from pairscore import (
    Comparisons,
    ItemKFold,
    OnItems,
    PairscoreError,
    PairscoreWarning,
    Population,
    RankRegression,
    WithoutFeatures,
    Wording,
    angle,
    anova,
    auto_fit,
    compare,
    fit_stream,
    influence,
    kendall_distance,
    load,
    make_item_pipeline,
    plan,
    plots,
    predict_error,
    read_sql,
    residuals,
    scorers,
    write_report,
)
from pairscore.cli import main
from tests.cli.running import run

SHOWN: dict[str, list[str]] = {}
N, M = 80, 2400
BETA = np.array([1.0, -0.5])


def shows(*what):
    """Mark an example with the capabilities that it shows."""

    def mark(example):
        for one in what:
            SHOWN.setdefault(one, []).append(example.__name__)
        return example

    return mark


def draw(ties=0.0, side=0.0, effect=0.0, judges=0, rest=0.0, seed=1):
    """Items and votes whose score is mass - 0.5 size, as tables."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    score = X @ BETA + effect * rng.normal(size=N)
    left = rng.integers(0, N, M)
    right = (left + rng.integers(1, N, M)) % N
    days = rng.normal(size=M)
    who = rng.integers(0, max(judges, 1), M)
    sharp = np.linspace(0.2, 1.8, max(judges, 1)) if judges else np.ones(1)
    eta = sharp[who] * (score[left] - score[right]) + side + rest * days
    won = np.where(rng.random(M) < expit(eta), "left", "right")
    votes = {"left": left, "right": right, "winner": np.where(rng.random(M) < ties, "tie", won)}
    if judges:
        votes["judge"] = np.array([f"judge {k}" for k in range(judges)])[who]
    if rest:
        votes["rest"] = days
    return {"id": np.arange(N), "mass": X[:, 0], "size": X[:, 1]}, votes


def fit(items, votes, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        return RankRegression(**settings).fit(items, votes)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder that is entered, with items.csv, votes.csv, and a model.npz that keeps its data."""
    monkeypatch.chdir(tmp_path)
    items, votes = draw()
    pd.DataFrame(items).to_csv("items.csv", index=False)
    pd.DataFrame(votes).to_csv("votes.csv", index=False)
    fit(items, votes).save("model.npz", data=True)
    return items, votes


# -- models ----------------------------------------------------------------------------------------


@shows("an ability for every item")
def test_every_item_gets_an_ability():
    wins = {"winner": ["a"] * 3 + ["b"] * 1, "loser": ["b"] * 3 + ["a"] * 1}
    model = fit(None, wins)
    assert model.difference("a", "b").difference == pytest.approx(logit(0.75))


@shows("features of items", "RankRegression")
def test_features_explain_comparisons():
    model = fit(*draw())
    np.testing.assert_allclose(model.coef_, BETA, atol=4 * model.std_errors_.max())


@shows("features of items")
def test_features_are_curves_or_have_a_smooth_part():
    items, votes = draw()
    curved = RankRegression().fit(items, votes, curves=["mass"])
    assert curved.joint_test("mass bends").p > 1e-4  # the truth is straight
    assert plots.curve(curved, "mass").lines
    smooth = RankRegression(l2="auto").fit(items, votes, smooth=True)
    assert smooth.feature_names_in_[-1] == "smooth 100"


@shows("items' effects beyond features")
def test_items_have_effects_beyond_their_features():
    model = fit(*draw(effect=1.0), item_effects=True)
    low, high = model.item_effects_.interval
    assert low < 1.0 < high
    assert np.ptp(model.item_effects_.effect) > 1


@shows("context of a comparison (style control)")
def test_context_has_a_coefficient():
    model = fit(*draw(rest=0.7), context=["rest"])
    found = model.effects_.of_kind("context")
    assert found["rest"] == pytest.approx(0.7, abs=0.25)


@shows("side or home advantage")
def test_the_left_side_has_an_advantage():
    model = fit(*draw(side=0.6), side_effect=True)
    assert abs(model.side_effect_ - 0.6) < 4 * model.side_effect_std_error_


@shows("ties as half wins")
def test_a_tie_is_half_a_win():
    half = {"left": ["a"] * 4, "right": ["b"] * 4, "winner": ["left", "left", "right", "tie"]}
    assert fit(None, half).difference("a", "b").difference == pytest.approx(logit(2.5 / 4))


@shows("ties as an outcome")
@pytest.mark.parametrize("rule", ["davidson", "rao-kupper"])
def test_a_tie_is_an_outcome(rule):
    items, votes = draw(ties=0.3)
    model = fit(items, votes, ties=rule)
    pairs = Comparisons.from_pairs(items, votes["left"], votes["right"])
    assert model.predict_ties(pairs).mean() == pytest.approx(0.3, abs=0.04)


@shows("judges")
def test_judges_have_slopes_sides_and_agreement():
    items, votes = draw(judges=12)
    slopes = fit(items, votes, judge_slopes=True, side_effect="judges")
    order = [slopes.judges_.name.tolist().index(f"judge {k}") for k in (0, 11)]
    assert slopes.judges_.slope[order[0]] < slopes.judges_.slope[order[1]]
    assert len(slopes.effects_.of_kind("side")) >= 12
    assert fit(items, votes).judge_agreement_


def cauchit(x):
    return 0.5 + np.arctan(x) / np.pi


def cauchit_density(x):
    return 1 / (np.pi * (1 + x**2))


@shows("links")
@pytest.mark.parametrize(
    ("link", "f"), [("logit", expit), ("probit", ndtr), ((cauchit, cauchit_density), cauchit)]
)
def test_links_are_given_by_name_or_as_functions(link, f):
    wins = {"winner": ["a"] * 3 + ["b"], "loser": ["b"] * 3 + ["a"]}
    assert f(fit(None, wins, link=link).difference("a", "b").difference) == pytest.approx(0.75)


@shows("links")
def test_slips_are_estimated():
    items, votes = draw()
    winner = votes["winner"].copy()
    winner[::20] = np.where(winner[::20] == "left", "right", "left")
    wrong = votes | {"winner": winner}
    assert fit(items, wrong, lapse="auto").lapse_.rate == pytest.approx(0.05, abs=0.05)
    assert fit(items, wrong, lapse=0.05).coef_[0] > fit(items, wrong).coef_[0]


@shows("ridge")
def test_a_ridge_is_given_or_chosen():
    items, votes = draw()
    free, held = fit(items, votes), fit(items, votes, l2=1000.0)
    assert np.linalg.norm(held.coef_) < 0.5 * np.linalg.norm(free.coef_)
    chosen = fit(items, votes, l2="auto")
    assert chosen.l2_ in chosen.ridge_curve_.l2


# -- uncertainty and tests -------------------------------------------------------------------------


@shows("intervals", "allow for items that features do not explain")
def test_intervals_are_classical_item_robust_or_by_profile():
    items, votes = draw(effect=1.0)
    robust, usual = fit(items, votes, inference="items"), fit(items, votes, inference="model")
    assert np.all(robust.std_errors_ > usual.std_errors_)
    wald, profile = usual.confidence_intervals(), usual.confidence_intervals(method="profile")
    np.testing.assert_allclose(wald, profile, atol=0.1 * np.ptp(wald, axis=1).max())


@shows("differences of two items")
def test_two_items_differ_with_an_interval():
    items, votes = draw()
    model = fit(items, votes)
    found = model.difference(3, 5)
    scores = model.decision_function(items)
    assert found.difference == pytest.approx(scores[3] - scores[5])
    assert found.low < found.difference < found.high


@shows("quasi-variances")
def test_quasi_variances_add_up_to_those_of_differences():
    _, votes = draw()
    effects = (model := fit(None, votes)).item_effects_
    q, place = effects.quasi_variance, {name: row for row, name in enumerate(effects.ids.tolist())}
    error = float(model.difference(3, 5).std_error)
    assert np.sqrt(q[place[3]] + q[place[5]]) == pytest.approx(error, rel=0.02)


@shows("intervals of ranks")
def test_ranks_have_intervals():
    items, votes = draw()
    table = fit(items, votes).rank(items)
    low, rank, high = (np.asarray(table[name]) for name in ("rank_low", "rank", "rank_high"))
    assert np.all((low <= rank) & (rank <= high))
    assert np.any(low < high)


@shows("likelihood ratio", "anova")
def test_likelihoods_are_compared():
    items, votes = draw()
    small = fit({name: items[name] for name in ("id", "mass")}, votes)
    large = fit(items, votes)
    found = anova(small, large)
    assert found.likelihood_ratio == pytest.approx(2 * (large.loglik_ - small.loglik_))
    assert found.p < 0.001


@shows("Wald's tests, contrasts")
def test_contrasts_are_tested():
    model = fit(*draw())
    contrast = model.contrast({"mass": 1, "size": -1})
    assert contrast.estimate == pytest.approx(model.coef_[0] - model.coef_[1])
    assert model.joint_test(["mass", "size"]).p < 1e-6
    np.testing.assert_allclose(model.z_values_, model.coef_ / model.std_errors_)


@shows("an item that always wins", "PairscoreWarning")
def test_an_item_that_always_wins_is_named_and_held():
    games = {"winner": list("aabbc"), "loser": list("bccab")}
    games = {
        name: [*column, *("d" * 2 if name == "winner" else "ab")] for name, column in games.items()
    }
    with pytest.warns(PairscoreWarning, match="'d'"):
        model = RankRegression().fit(None, games)
    table = model.rank()
    assert table["id"][0] == "d"
    assert np.isinf(table["high"][0])


@shows("groups that never met", "PairscoreError")
def test_groups_that_never_met_are_refused():
    with pytest.raises(PairscoreError, match="never compared with each other"):
        RankRegression().fit(None, {"winner": list("abcd"), "loser": list("badc")})


# -- use -------------------------------------------------------------------------------------------


@shows("ranks new items by their features")
def test_new_items_are_ranked_with_intervals():
    new = {"id": ["light", "heavy"], "mass": [-2.0, 2.0], "size": [0.0, 0.0]}
    table = fit(*draw()).rank(new)
    assert list(table["id"]) == ["heavy", "light"]
    assert table["low"][0] > table["high"][1]


@shows("10⁵ items, 10⁶ comparisons")
def test_many_items_have_intervals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 5))
    left = rng.integers(0, len(X), 1_000_000)
    right = (left + rng.integers(1, len(X), len(left))) % len(X)
    won = rng.random(len(left)) < expit(X[left, 0] - X[right, 0])
    winners, losers = np.where(won, left, right), np.where(won, right, left)
    model = RankRegression().fit(X, np.column_stack([winners, losers]))
    assert abs(model.coef_[0] - 1) < 4 * model.std_errors_[0] < 0.1


@shows("new votes")
def test_new_votes_are_added():
    items, votes = draw()
    first, rest = (
        {name: c[rows] for name, c in votes.items()} for rows in (slice(900), slice(900, M))
    )
    model = fit(items, first).update(rest)
    np.testing.assert_allclose(model.coef_, fit(items, votes).coef_, rtol=1e-8)


@shows("scales")
def test_scores_have_scales():
    items, votes = draw()
    model = fit(items, votes)
    link, elo = (np.asarray(model.rank(items, scale=scale)["score"]) for scale in ("link", "elo"))
    np.testing.assert_allclose(elo, 1500 + 400 / np.log(10) * link)
    hundred = np.asarray(model.rank(items, scale="0-100")["score"])
    assert (hundred[0], hundred[-1]) == pytest.approx((100, 0))
    assert np.sum(model.worth(items)["worth"]) == pytest.approx(1)


@shows("tables it reads")
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_tables_of_any_kind_are_read(kind):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind]
    items, votes = draw()
    table = fit(make(items), make(votes))
    np.testing.assert_array_equal(table.coef_, fit(items, votes).coef_)
    assert type(table.rank(make(items))) is type(make(items))


@shows("tables it reads", "command line")
@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet", "jsonl"])
def test_files_of_any_kind_are_read(suffix, study):
    """A ranking is written, and taken for items whose feature is the score itself."""
    run(f"rank model.npz items.csv -o table.{suffix}")
    run(f"fit table.{suffix} votes.csv --features score -o other.npz")
    assert load("other.npz").coef_ == pytest.approx([1.0], rel=1e-4)


# -- commands --------------------------------------------------------------------------------------


@shows("pairscore plan", "plans a study, chooses pairs")
def test_command_plan(tmp_path):
    told = json.loads(run("plan --features 20 --noise 0.2 --misordered 0.05 --json").stdout)
    assert told["n_comparisons"] > told["n_items"] > 20
    assert plan(n_features=20, noise=0.2, misordered=0.05).n_items == told["n_items"]


@shows("pairscore pairs", "plans a study, chooses pairs")
def test_command_pairs(study):
    run("pairs items.csv --comparisons 120 --judges Ann,Ben -o sheet.csv")
    sheets = pd.concat(map(pd.read_csv, Path().glob("sheet*.csv")))
    assert len(sheets) == 120
    counts = pd.concat([sheets["left"], sheets["right"]]).value_counts()
    assert (counts == 3).all()  # everybody equally often


@shows("pairscore fit", "command line")
def test_command_fit(study):
    told = json.loads(run("fit items.csv votes.csv -o new.npz --json").stdout)
    np.testing.assert_allclose(load("new.npz").coef_, fit(*study).coef_, rtol=1e-9)
    assert told["n_comparisons"] == M


@shows("pairscore rank")
def test_command_rank(study):
    run("rank model.npz items.csv -o ranking.csv")
    table = pd.read_csv("ranking.csv")
    assert table["id"].tolist() == list(load("model.npz").rank(study[0])["id"])


@shows("pairscore report", "report or page")
def test_command_report(study):
    run("report model.npz items.csv votes.csv --title Stones -o page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Stones" in page
    assert "http://" not in re.sub(r"http://www\.w3\.org\S*", "", page)  # works without a network


@shows("pairscore predict")
def test_command_predict(study):
    Path("pairs.csv").write_text("left,right\n3,5\n5,3\n")
    run("predict model.npz items.csv pairs.csv -o chances.csv")
    there, back = pd.read_csv("chances.csv")["chance"]
    assert there + back == pytest.approx(1)
    assert there == pytest.approx(float(load("model.npz").difference(3, 5).probability))


@shows("pairscore update", "new votes")
def test_command_update(study):
    Path("more.csv").write_text("left,right,winner\n" + "3,5,left\n" * 30)
    run("update model.npz more.csv -o newer.npz")
    assert load("newer.npz").n_comparisons_ == M + 30
    old, new = load("model.npz").difference(3, 5), load("newer.npz").difference(3, 5)
    assert new.difference > old.difference


@shows("pairscore compare")
def test_command_compare(study):
    words = "compare items.csv votes.csv --model 'plain:' --model 'held: l2=10000' --json"
    scores = pd.DataFrame(json.loads(run(words).stdout)["scores"])
    loss = scores[(scores["kind"] == "new-new") & (scores["measure"] == "log_loss")]
    loss = loss.set_index("model")["value"]
    assert loss["plain"] < loss["held"] < np.log(2) + 0.01


@shows("pairscore stats", "pairscore merge")
def test_commands_stats_and_merge(study):
    items, votes = (pd.DataFrame(table) for table in study)
    site = items["id"] % 2
    inside = (votes["left"] % 2) == (votes["right"] % 2)
    for one in (0, 1):
        items[site == one].to_csv(f"items{one}.csv", index=False)
        votes[inside & (votes["left"] % 2 == one)].to_csv(f"votes{one}.csv", index=False)
        run(f"stats items{one}.csv votes{one}.csv -o site{one}.npz")
    run("merge site0.npz site1.npz -o merged.npz")
    for one in (0, 1):
        run(f"stats items{one}.csv votes{one}.csv --at merged.npz -o round{one}.npz")
    run("merge round0.npz round1.npz -o model2.npz")
    whole = fit(items, votes[inside], method="pooled")
    np.testing.assert_allclose(load("model2.npz").coef_, whole.coef_, rtol=1e-7)
    np.testing.assert_allclose(load("model2.npz").std_errors_, whole.std_errors_, rtol=1e-4)


@shows("pairscore demo")
def test_command_demo(tmp_path):
    told = json.loads(run("demo --json -o", tmp_path / "demo").stdout)
    assert (tmp_path / "demo" / "items.csv").exists()
    assert any(str(value).endswith(".html") for value in told.values())


@shows("pairscore simulate")
def test_command_simulate(tmp_path):
    run("simulate --items 50 --features 2 --comparisons 400 --seed 1 -o", tmp_path / "s")
    truth = json.loads((tmp_path / "s" / "truth.json").read_text())
    items, votes = (
        pd.read_csv(tmp_path / "s" / f"{name}.csv") for name in ("items", "comparisons")
    )
    assert angle(fit(items, votes).coef_, truth["beta"]) < 0.4


@shows("pairscore reproduce")
def test_command_reproduce(tmp_path):
    run("reproduce 2a --seeds 1 --processes 1 -o", tmp_path / "paper")
    rows = pd.read_csv(tmp_path / "paper" / "rows.csv")
    assert len(rows) > 10
    assert list((tmp_path / "paper").glob("*.html"))


# -- public names ----------------------------------------------------------------------------------


@shows("Comparisons")
def test_comparisons_are_an_x_of_scikit_learn():
    X, y = Comparisons.from_frames(*draw())
    assert X.shape == (M, 2)
    half = fit(X[: M // 2], y[: M // 2])
    assert half.score(X[M // 2 :], y[M // 2 :]) > 0.6


@shows("ItemKFold", "scorers")
def test_items_are_held_out():
    X, y = Comparisons.from_frames(*draw(ties=0.1))
    folds = ItemKFold(4)
    for train, test in folds.split(X):
        assert not {*X.left[train], *X.right[train]} & {*X.left[test], *X.right[test]}
    scores = cross_val_score(RankRegression(), X, y, cv=folds, scoring=scorers.roc_auc)
    assert scores.mean() > 0.65


@shows("OnItems", "make_item_pipeline")
def test_features_are_transformed_within_pipelines():
    items, votes = draw()
    X, y = Comparisons.from_frames(items, votes)
    standard = OnItems(StandardScaler()).fit_transform(X, y).items.values
    np.testing.assert_allclose(standard.std(axis=0), 1)
    pipe = make_item_pipeline(StandardScaler(), RankRegression(inference=None))
    assert list(pipe.fit(X, y).rank(items)["id"]) == list(fit(items, votes).rank(items)["id"])


@shows("Population", "angle")
def test_a_population_has_a_truth():
    law = Population(n_features=3, noise=0.1, rng=0)
    items, votes = law.draw(200, 4000, rng=1)
    assert angle(fit(items, votes).coef_, law.beta) < 0.15


@shows("WithoutFeatures", "compare")
def test_models_are_compared_on_unseen_comparisons():
    models = {"features": RankRegression(), "abilities": WithoutFeatures(RankRegression())}
    found = compare(models, *draw())
    assert found.best(kind="train-train") == "features"


@shows("Wording", "write_report")
def test_a_report_has_the_words_of_the_study(tmp_path):
    items, votes = draw()
    assert Wording(top="most severe").would_win == "would be judged more severe"
    write_report(fit(items, votes), items, votes, tmp_path / "page.html", top="heaviest")
    assert "heaviest" in (tmp_path / "page.html").read_text(encoding="utf-8")


@shows("auto_fit")
def test_settings_are_chosen():
    choice = auto_fit(*draw(side=1.0))
    assert choice.model.side_effect_ == pytest.approx(1.0, abs=0.3)


@shows("fit_stream")
def test_a_stream_gives_what_a_table_gives(study):
    pd.DataFrame(study[1]).to_parquet("votes.parquet")
    model = fit_stream("items.csv", "votes.parquet")
    np.testing.assert_allclose(model.coef_, fit(*study).coef_, rtol=1e-8)
    np.testing.assert_allclose(model.std_errors_, fit(*study).std_errors_, rtol=1e-5)


@shows("influence", "residuals")
def test_residuals_and_influence_find_an_odd_item():
    items, votes = draw()
    items["mass"] = items["mass"].copy()
    items["mass"][7] = 6.0  # as if entered wrongly
    model = fit(items, votes)
    table = residuals(model).to_frame()
    assert table["id"][table["z"].abs().idxmax()] == 7
    found = influence(model)
    assert found.ids[np.abs(found.dfbeta[:, 0]).argmax()] == 7


@shows("kendall_distance")
def test_orders_have_a_distance():
    assert kendall_distance([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(1 / 6)


@shows("load")
def test_a_model_is_kept_in_a_file(tmp_path):
    model = fit(*draw())
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").covariance_, model.covariance_)


@shows("plan", "predict_error", "plans a study, chooses pairs")
def test_errors_are_predicted():
    law = Population(n_features=10, noise=0.2, rng=0)
    few, many = (predict_error(law, 500, m).angle for m in (2000, 20_000))
    assert many < few
    assert plan(10, noise=0.2, n_items=500, n_comparisons=2000).error.angle == pytest.approx(
        few, rel=0.1
    )


@shows("plots")
def test_pictures_show_the_numbers_of_the_model():
    axes = plots.coefficients(fit(*draw()))
    assert {"mass", "size"} <= {text.get_text() for text in axes.get_yticklabels()}


@shows("read_sql")
def test_a_database_is_read(tmp_path):
    with sqlite3.connect(tmp_path / "study.db") as database:
        database.execute("CREATE TABLE games (a, b)")
        database.executemany("INSERT INTO games VALUES (?, ?)", ["xy"] * 3 + ["yx"])
    votes = read_sql(f"sqlite:///{tmp_path / 'study.db'}", "SELECT a winner, b loser FROM games")
    assert fit(None, votes).difference("x", "y").difference == pytest.approx(logit(0.75))


# -- nothing is missing ----------------------------------------------------------------------------


def rows_of_comparison():
    """What docs/comparison.md says that pairscore offers, from its tables of what is offered."""
    text = Path(__file__).parents[1].joinpath("docs", "comparison.md").read_text(encoding="utf-8")
    offered = text.split("## Models")[1].split("## The same numbers")[0]
    cells = [line.strip("|").split("|") for line in offered.splitlines() if line.startswith("| ")]
    rows = {row[0].strip(): row[1].strip() for row in cells}
    del rows[""]  # the heads
    return {row for row, ours in rows.items() if not ours.startswith("**no**")}


def test_every_row_of_the_comparison_has_an_example():
    rows = rows_of_comparison()
    assert len(rows) > 20
    assert rows <= SHOWN.keys()


def test_every_command_has_an_example():
    commands = {f"pairscore {name}" for name in main.commands}
    assert len(commands) > 10
    assert commands <= SHOWN.keys()


def test_every_public_name_has_an_example():
    assert {*pairscore.__all__} <= SHOWN.keys()


def test_examples_show_nothing_that_is_not_there():
    known = rows_of_comparison() | {f"pairscore {name}" for name in main.commands}
    assert SHOWN.keys() <= known | {*pairscore.__all__}
