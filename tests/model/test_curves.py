"""Curves of a fit: in memory, streams, sites and files, their tests, and the score along them."""

import numpy as np
import pandas as pd
import pytest

from pairscore import PairscoreError, RankRegression, anova, fit_stream, load
from pairscore.data.curves import bends
from pairscore.model.curves import score_curve
from pairscore.streaming.merge import merge_rounds, merge_sites
from pairscore.streaming.rounds import site_round
from pairscore.streaming.sites import site_sums
from tests.data.conftest import refused

KNOTS = {"age": [25, 40, 55, 70, 85]}


def study(seed=0, n_items=200, n_comparisons=3000):
    """Items whose score is U-shaped in age and straight in bmi, and votes on them."""
    rng = np.random.default_rng(seed)
    items = {
        "id": np.arange(n_items),
        "age": rng.uniform(20, 90, n_items),
        "bmi": rng.normal(25, 4, n_items),
    }
    score = -(((items["age"] - 55) / 15) ** 2) + 0.1 * items["bmi"]
    left, right = rng.integers(0, n_items, (2, n_comparisons))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < 1 / (1 + np.exp(score[right] - score[left]))
    return items, {"left": left, "right": right, "winner": np.where(won, "left", "right")}


ITEMS, VOTES = study()
MODEL = RankRegression().fit(ITEMS, VOTES, curves=["age", "bmi"])


def test_a_curve_is_the_column_and_its_bends():
    recipe = MODEL.recipe_
    values = MODEL.comparisons_.items.values
    assert MODEL.feature_names_in_.tolist()[:3] == ["age", "bmi", "age bend 1"]
    np.testing.assert_array_equal(values[:, 2:5], bends(ITEMS["age"], recipe["curves"]["age"]))
    np.testing.assert_array_equal(values[:, :2], np.column_stack([ITEMS["age"], ITEMS["bmi"]]))


def test_three_values_are_a_category():
    rng = np.random.default_rng(3)
    grade = rng.integers(1, 4, len(ITEMS["id"])).astype(float)
    items = ITEMS | {"grade": grade}
    curve = RankRegression().fit(items, VOTES, features=["grade"], curves=["grade"])
    levels = RankRegression().fit(items, VOTES, features=["bmi"], categorical=["grade"])
    levels = RankRegression().fit({"id": ITEMS["id"], "grade": grade}, VOTES, categorical="grade")
    ours, theirs = (model.decision_function(items) for model in (curve, levels))
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-7)


def test_the_bends_are_tested_together():
    V, b = MODEL.covariance_[2:5, 2:5], MODEL.coef_[2:5]
    W = b @ np.linalg.solve(V, b)
    test = MODEL.joint_test("age bends")
    n = 200 - 8 - 1  # items less features less one: Hotelling's law
    assert (test.df, test.df_error) == (3, n - 2)
    np.testing.assert_allclose(test.statistic, W * (n - 2) / (3 * n))
    assert test.p < 1e-6 < MODEL.joint_test("bmi bends").p
    small = RankRegression().fit(ITEMS, VOTES)
    added = anova(small, MODEL)
    assert added.added == ("age bends", "bmi bends")
    assert added.df == 6
    text = str(MODEL.summary())
    assert f"age        3  {test.in_words}" in text
    record = MODEL.summary().to_record()["curves"]
    assert [one["name"] for one in record] == ["age", "bmi"]
    assert record[0]["p"] == test.p
    assert "Joint test of age bends" in MODEL.summary()._repr_html_()


def test_files_rank_the_same(tmp_path):
    MODEL.save(tmp_path / "model.npz", data=True)
    again = load(tmp_path / "model.npz")
    new = {"id": ["a", "b", "c"], "age": [-40.0, 55.0, 130.0], "bmi": [20.0, 25.0, 30.0]}
    for name, column in MODEL.rank(new).items():
        np.testing.assert_array_equal(again.rank(new)[name], column)
    more = {"left": [1, 2], "right": [3, 4], "winner": ["left", "left"]}
    fresh = RankRegression().fit(ITEMS, VOTES, curves=["age", "bmi"]).update(more)
    np.testing.assert_allclose(again.update(more).coef_, fresh.coef_, atol=1e-9)
    knots = {name: tuple(one) for name, one in again.recipe_["curves"].items()}
    assert knots == MODEL.recipe_["curves"]


def test_damaged_knots_are_refused(tmp_path):
    from pairscore.data.recipe import Recipe

    for knots in ([1.0, 2.0], [3.0, 2.0, 1.0], ["a"]):
        with pytest.raises(PairscoreError, match="recipe for features cannot be read"):
            Recipe.from_record(MODEL.recipe_ | {"curves": {"age": knots, "bmi": [1, 2, 3]}})
    with pytest.raises(PairscoreError, match="recipe for features cannot be read"):
        Recipe.from_record(MODEL.recipe_ | {"curves": {"height": [1, 2, 3]}})


@pytest.mark.parametrize("memory", ["1GB", 2e4])
@pytest.mark.parametrize("as_file", [False, True])
def test_streams_are_as_in_memory(tmp_path, memory, as_file):
    items, votes = ITEMS, VOTES
    if as_file:
        items, votes = tmp_path / "items.csv", tmp_path / "votes.csv"
        pd.DataFrame(ITEMS).to_csv(items, index=False)
        pd.DataFrame(VOTES).to_csv(votes, index=False)
    stream = fit_stream(items, votes, curves=["age", "bmi"], memory=memory)
    in_errors = np.abs(stream.coef_ - MODEL.coef_) / MODEL.std_errors_
    assert in_errors.max() < 1e-6
    np.testing.assert_allclose(stream.std_errors_, MODEL.std_errors_, rtol=1e-5)
    assert stream.recipe_["curves"] == MODEL.recipe_["curves"]
    new = {"id": ["a", "b"], "age": [30.0, 55.0], "bmi": [20.0, 20.0]}
    np.testing.assert_allclose(stream.rank(new)["score"], MODEL.rank(new)["score"], rtol=1e-6)


def test_sites_agree_on_knots():
    other_items, other_votes = study(seed=1)
    sites = [
        site_sums(*data, curves=KNOTS) for data in ((ITEMS, VOTES), (other_items, other_votes))
    ]
    merged = merge_sites(sites, method="mle")
    for _ in range(12):
        rounds = [
            site_round(merged, *data) for data in ((ITEMS, VOTES), (other_items, other_votes))
        ]
        merged = merge_rounds(rounds)
    items = {name: np.concatenate([ITEMS[name], other_items[name]]) for name in ("age", "bmi")}
    votes = {
        side: np.concatenate([VOTES[side], other_votes[side] + 200]) for side in ("left", "right")
    }
    winner = np.concatenate([VOTES["winner"], other_votes["winner"]])
    together = RankRegression().fit(
        items | {"id": np.arange(400)}, votes | {"winner": winner}, curves=KNOTS
    )
    np.testing.assert_allclose(merged.coef_, together.coef_, atol=1e-6)
    new = {"id": ["a", "b"], "age": [30.0, 55.0], "bmi": [20.0, 20.0]}
    np.testing.assert_allclose(merged.rank(new)["score"], together.rank(new)["score"], atol=1e-5)


def test_sites_without_knots_or_with_others_are_refused():
    with refused("sites have to agree on the knots of the curve of 'age'"):
        site_sums(ITEMS, VOTES, curves=["age"])
    one, other = (
        site_sums(ITEMS, study(seed)[1], curves={"age": knots})
        for seed, knots in ((0, [25, 50, 85]), (1, [25, 51, 85]))
    )
    with refused("the sums of two sites differ in their curves"):
        merge_sites([one, other])


def test_the_curve_is_the_difference_of_items_alike_in_all_else():
    for asked in (
        {"curves": ["age"], "interactions": ["age:bmi"]},
        {"squares": ["age"]},
        {"features": ["age", "bmi"]},
    ):
        model = RankRegression().fit(ITEMS, VOTES, **asked)
        at = np.array([25.0, 60.0])
        curve = score_curve(model.result_, "age", at=at)
        # the other column is at its average over the comparisons, as scores are
        bmi = float(model.feature_mean_[model.feature_names_in_.tolist().index("bmi")])
        two = [{"age": age, "bmi": bmi} for age in at]
        apart = model.difference(*two).difference
        np.testing.assert_allclose(curve.score[0] - curve.score[1], apart, atol=1e-9)
    with refused("'height' is not a numeric column of the model; it has 'age', 'bmi'"):
        score_curve(MODEL.result_, "height")


def test_the_curve_is_zero_on_average_and_has_the_errors_of_its_contrast():
    weights = np.bincount(np.r_[VOTES["left"], VOTES["right"]], minlength=200)
    curve = score_curve(MODEL.result_, "age", at=ITEMS["age"])
    assert abs(weights @ curve.score) < 1e-8 * weights.sum()
    at = np.array([30.0])
    curve = score_curve(MODEL.result_, "age", at=at)
    c = np.r_[30.0, 0.0, bends(at, curve.knots)[0], np.zeros(3)] - MODEL.feature_mean_
    c[[1, 5, 6, 7]] = 0
    width = 1.959964 * np.sqrt(c @ MODEL.covariance_ @ c)
    np.testing.assert_allclose(curve.high - curve.score, width, rtol=1e-5)


def test_missing_values_are_filled_before_bends():
    items = ITEMS | {"age": np.where(np.arange(200) % 10 == 0, np.nan, ITEMS["age"])}
    dropped = RankRegression(missing="drop-items").fit(items, VOTES, curves=["age"])
    flagged = RankRegression(missing="mean-with-flag").fit(items, VOTES, curves=["age"])
    values = flagged.comparisons_.items.values
    names = flagged.feature_names_in_.tolist()
    mean = np.nanmean(items["age"])
    filled = values[0, [names.index(f"age bend {k}") for k in (1, 2, 3)]]
    np.testing.assert_allclose(filled, bends(np.array([mean]), flagged.recipe_["curves"]["age"])[0])
    assert values[0, names.index("age missing")] == 1
    assert flagged.recipe_["curves"] == dropped.recipe_["curves"]
    assert dropped.n_items_ == 180
    with refused("1 feature value is missing"):
        MODEL.rank({"id": ["a", "b"], "age": [np.nan, 3.0], "bmi": [20.0, 20.0]})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"curves": ["agee"]}, "curves names 'agee', which is not a feature"),
        ({"curves": ["id"]}, "curves names 'id', which is not a feature"),
        ({"curves": ["sex"], "categorical": ["sex"]}, "'sex' is a category"),
        ({"curves": ["flat"]}, "which has 1 value, and a curve takes 3 or more"),
        ({"curves": {"age": [1, 2]}}, "gives 'age' knots that make no curve"),
    ],
)
def test_curves_that_cannot_be_are_refused(settings, words):
    items = ITEMS | {"sex": np.arange(200) % 2, "flat": np.ones(200)}
    with refused(words):
        RankRegression().fit(items, VOTES, **settings)


# -- the smooth part -------------------------------------------------------------------------------


def bumpy(seed, n_items=200, n_comparisons=3000, is_bumpy=True):
    """Items with two columns that act on each other, or a score that is straight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 2))
    score = X[:, 0] + (3 * np.sin(X[:, 0]) * np.sin(X[:, 1]) if is_bumpy else 0)
    left, right = rng.integers(0, n_items, (2, n_comparisons))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < 1 / (1 + np.exp(score[right] - score[left]))
    votes = np.where(won, [left, right], [right, left]).T
    return {"id": np.arange(n_items), "a": X[:, 0], "b": X[:, 1]}, votes, score


def test_a_smooth_part_finds_what_lines_cannot(tmp_path):
    items, votes, _ = bumpy(0)
    smooth = RankRegression(l2="auto").fit(items, votes, smooth=True)
    plain = RankRegression(l2="auto").fit(items, votes)
    new, _, score = bumpy(1)
    found, missed = (
        np.corrcoef(one.rank(new)["score"], score[one.rank(new)["id"]])[0, 1]
        for one in (smooth, plain)
    )
    assert found > 0.9 > missed
    assert smooth.ridge_curve_.smooth_weight <= 100
    smooth.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.rank(new)["score"], smooth.rank(new)["score"])
    assert again.result_.settings == smooth.result_.settings
    text = str(smooth.summary())
    assert "100 features of all numeric columns" in text
    assert "smooth 1 " not in text


@pytest.mark.parametrize("data", [bumpy(0, 60, 800), bumpy(2, is_bumpy=False)])
def test_nothing_is_left_of_a_smooth_part_that_does_not_help(data):
    items, votes, _ = data
    smooth = RankRegression(l2="auto").fit(items, votes, smooth=True)
    plain = RankRegression(l2="auto").fit(items, votes)
    assert smooth.ridge_curve_.smooth_weight == 1e8
    np.testing.assert_allclose(smooth.coef_[:2], plain.coef_, atol=1e-3)
    np.testing.assert_allclose(
        smooth.decision_function(items), plain.decision_function(items), atol=1e-3
    )


def test_weights_of_a_ridge_are_units_of_features():
    """A weight w is the ridge on a feature that is divided by sqrt(w), in the dense likelihood."""
    items, votes, _ = bumpy(3)
    model = RankRegression(l2="auto").fit(items, votes, smooth=5)
    settings = model.result_.settings
    values = model.comparisons_.items.values
    unit = model.feature_sd_ * np.sqrt(settings.ridge_weights)
    x = values[votes[:, 0]] - values[votes[:, 1]]
    score = x.T @ (1 / (1 + np.exp(x @ model.coef_)))
    np.testing.assert_allclose(
        score, model.l2_ * unit**2 * model.coef_, atol=1e-4 * len(votes) ** 0.5
    )


def test_a_smooth_part_in_a_stream_has_the_ridge_of_all():
    items, votes, _ = bumpy(0)
    table = {"winner": votes[:, 0], "loser": votes[:, 1]}
    stream = fit_stream(items, table, smooth=30, l2=5.0)
    memory = RankRegression(l2=5.0).fit(items, table, smooth=30)
    assert (np.abs(stream.coef_ - memory.coef_) / memory.std_errors_).max() < 1e-6
    for refuse in (
        lambda: fit_stream(items, table, smooth=True),
        lambda: RankRegression().fit(items, table, smooth=True),
    ):
        with refused("a smooth part needs a ridge"):
            refuse()
    with refused("a smooth part is fitted by maximum likelihood"):
        RankRegression(method="paired", l2="auto").fit(items, table, smooth=True)
    with refused("a smooth part needs the spread of all items"):
        site_sums(items, table, smooth=True)
