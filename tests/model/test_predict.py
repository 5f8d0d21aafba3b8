"""Scores, differences and probabilities of a fit, against loops."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.model.predict import (
    expected_outcomes,
    item_scores,
    known_items,
    linear_scores,
    outcome_probabilities,
    scale_of,
    score_differences,
)
from tests.effects.simulators import judged_votes
from tests.golden.record import HERE
from tests.limits import largest_mean
from tests.model.test_fit import tables
from tests.tie_cells import LAWS, MANY, SETTINGS, calibration_slopes


def fitted(**settings):
    items, votes = tables(seed=2)
    X, _ = Comparisons.from_frames(items, votes)
    return RankRegression(**settings).fit(X).result_, X


def test_scores_are_the_linear_ones_and_equal_rows_have_equal_scores():
    rng = np.random.default_rng(0)
    values, coef = rng.normal(size=(50, 7)), rng.normal(size=7)
    values[40] = values[3]
    scores = linear_scores(values, coef)
    assert scores == pytest.approx(
        [sum(a * b for a, b in zip(row, coef, strict=True)) for row in values]
    )
    assert scores[40] == scores[3]


def test_differences_have_the_side_effect():
    fit, X = fitted(side_effect=True)
    scores = item_scores(fit, X.items)
    expected = [
        scores[a] - scores[b] + fit.side_effect for a, b in zip(X.left, X.right, strict=True)
    ]
    assert score_differences(fit, X) == pytest.approx(expected, rel=1e-12)
    assert fit.side_effect != 0


def test_probabilities_are_those_of_the_link_and_add_up():
    fit, X = fitted()
    loss, tie, win = outcome_probabilities(fit, X)
    assert win == pytest.approx(expit(fit.decided_scale * score_differences(fit, X)), rel=1e-12)
    assert loss + tie + win == pytest.approx(np.ones(len(X)))
    assert known_items(fit, X.items) is None


def test_with_item_effects_scores_have_them_and_probabilities_are_less_sure():
    fit, X = fitted(item_effects=True)
    known = known_items(fit, X.items)
    assert item_scores(fit, X.items) == pytest.approx(X.items.values @ fit.coef + known.effect)
    loss, _, win = outcome_probabilities(fit, X)
    plain = expit(fit.decided_scale * np.abs(score_differences(fit, X)))
    sure = np.maximum(win, loss)
    assert np.all(sure <= plain + 1e-12)
    assert (fit.item_effects.sigma2 > 0) == bool(np.any(sure < plain - 1e-6))


# -- ties ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_what_is_called_90_of_100_is_won_90_times_of_100_whatever_is_done_with_ties(law):
    """Mean calibration slopes on known and new items; f(coef'x) of half wins has 1.3 to 2."""
    slopes, _ = calibration_slopes(law, MANY, SETTINGS, n_studies=8)
    flat = slopes.reshape(len(slopes), -1)
    assert np.all(np.abs(flat.mean(axis=0) - 1) < 0.05 + largest_mean(flat, flat.shape[1]))


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
def test_the_expected_outcome_is_that_of_a_loop(ties):
    items, votes = tables(seed=4, tie=0.6, rule="davidson")
    X, outcome = Comparisons.from_frames(items, votes)
    model = RankRegression(ties=ties, inference=None).fit(X)
    mean, variance = expected_outcomes(model.result_, X)
    rule, coins, seen = model.outcome_law.rule, 0.0, 0.0
    for m, eta in enumerate(model.decision_function(X)):
        loss, tie, win = (float(p) for p in rule.probabilities(np.array(eta), model.outcome_law.t))
        expected = win + tie / 2
        spread = (1 - expected) ** 2 * win + (0.5 - expected) ** 2 * tie + expected**2 * loss
        if ties == "drop" and outcome[m] == 0:
            expected, spread = 0.5, 0.0
        coins, seen = coins + spread, seen + (spread - (outcome[m] == 0) / 4)
        assert mean[m] == pytest.approx(expected, rel=1e-12)
        if ties != "half":
            assert variance[m] == pytest.approx(spread, rel=1e-9, abs=1e-12)
    if ties == "half":
        np.testing.assert_allclose(variance, mean * (1 - mean) * seen / coins, rtol=1e-9)


@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
@pytest.mark.parametrize("item_effects", [False, True])
def test_a_difference_has_the_probability_of_the_comparison(ties, item_effects):
    items, votes = tables(seed=5, tie=0.6, rule="davidson")
    X, _ = Comparisons.from_frames(items, votes)
    model = RankRegression(ties=ties, item_effects=item_effects).fit(X)
    pair = model.difference(items.iloc[[X.left[0]]], items.iloc[[X.right[0]]])
    assert pair.probability == pytest.approx(model.predict_proba(X[:1])[0, 1], rel=1e-9)
    assert (model.decided_scale_ == 1) == (ties == "drop")


@pytest.mark.parametrize("item_effects", [False, True])
def test_a_careless_judge_is_predicted_as_one(item_effects):
    """Probabilities go by the slope of each comparison's judge, also where nothing else is asked
    for than slopes."""
    slopes = np.array([2.0, 1.0, 1.0, 0.0])
    votes = judged_votes(np.random.default_rng(5), context=0.0, side=0.0, slopes=slopes)
    X = Comparisons.from_frames(*votes)[0]
    model = RankRegression(judge_slopes=True, item_effects=item_effects, inference=None).fit(X)
    found = dict(zip(model.judges_.name, model.judges_.slope, strict=True))
    if not item_effects:
        scores = X.items.values @ model.coef_
        sharp = np.array([found[name] for name in X.judge])
        expected = expit(sharp * (scores[X.left] - scores[X.right]))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    surprise = np.abs(model.predict_proba(X)[:, 1] - 0.5)
    sharpest, careless = (surprise[X.judge == f"judge {number}"].mean() for number in (0, 3))
    assert sharpest > 3 * careless


# -- scales ----------------------------------------------------------------------------------------


def ranked_study(seed=0, n=40, m=600, **settings):
    """Items, a model of them, and the ranking of all of them in the order of the table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 5.0
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(-(X[left] - X[right]) @ [1.0, -0.5, 0.2]))
    votes = np.where(won[:, None], np.column_stack([left, right]), np.column_stack([right, left]))
    return X, RankRegression(**settings).fit(X, votes)


def shown(model, X, scale):
    """Score, low and high of each item, in the order of the table, shape (n, 3)."""
    ranking = model.rank(X, scale=scale)
    return np.array([ranking[name][np.argsort(ranking["id"])] for name in ("score", "low", "high")])


@pytest.mark.parametrize("method", ["mle", "paired"])
def test_a_score_of_zero_is_the_average_compared_item(method):
    X, model = ranked_study(method=method)
    score, low, high = shown(model, X, "link")
    data = model.comparisons_
    exposures = np.bincount(data.left, minlength=40) + np.bincount(data.right, minlength=40)
    average = np.average(model.decision_function(X), weights=exposures)
    np.testing.assert_allclose(score, model.decision_function(X) - average)
    assert np.all((low < score) & (score < high))


def test_elo_points_give_the_chances_of_the_model():
    X, model = ranked_study()
    points, low, high = shown(model, X, "elo")
    pairs = np.column_stack([np.arange(20), np.arange(20, 40)])
    chance = model.predict_proba(Comparisons.from_frames(X, pairs)[0])
    chance = np.where(Comparisons.from_frames(X, pairs)[0].outcome == 1, chance[:, 1], chance[:, 0])
    expected = 1 / (1 + 10 ** ((points[20:] - points[:20]) / 400))
    np.testing.assert_allclose(expected, chance, rtol=1e-9)
    link = shown(model, X, "link")
    np.testing.assert_allclose([points, low, high], 1500 + 400 / np.log(10) * link)


def tied_votes(seed, n=30, m=1500):
    """Items with one feature, and a table of votes on them of which about a third are ties."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    gap = 1.5 * (x[left] - x[right]) + rng.logistic(size=m)
    winner = np.where(np.abs(gap) < 0.9, "tie", np.where(gap > 0, "left", "right"))
    return x[:, None], {"left": left, "right": right, "winner": winner}


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("ties", ["half", "drop", "davidson", "rao-kupper"])
def test_400_elo_points_are_odds_of_ten_to_one_in_decided_comparisons(ties, features):
    X, votes = tied_votes(3)
    model = RankRegression(ties=ties).fit(X if features else None, votes)
    link, points = (shown(model, X if features else None, scale) for scale in ("link", "elo"))
    per_point = np.ptp(link[0]) / np.ptp(points[0])
    law = model.result_.outcome_law
    loss, _, win = law.probabilities(np.array([400 * per_point]))
    assert win / loss == pytest.approx(10, rel=1e-9)
    # intervals are on the same scale, which begins at the average item
    np.testing.assert_allclose(points, 1500 + link / per_point, rtol=1e-12)
    if features:  # the same by predict_proba, for two items that are 400 points apart
        far = np.array([[0.0], [400 * per_point / model.coef_[0]]])
        score = model.rank(far, scale="elo")["score"]
        assert score[0] - score[1] == pytest.approx(400, rel=1e-9)
        apart = Comparisons.from_pairs(far, [1], [0])
        right, left = model.predict_proba(apart)[0, [0, -1]]
        assert left / right == pytest.approx(10, rel=1e-9)


def test_elo_says_what_its_odds_are_of():
    X, votes = tied_votes(4)
    words = "400 points more are odds of ten to one"
    assert scale_of(RankRegression().fit(X, votes).result_, "elo").in_words.endswith(
        f"{words} in decided comparisons"
    )
    assert scale_of(ranked_study()[1].result_, "elo").in_words.endswith(words)


def test_the_scale_0_to_100_spans_the_compared_items_and_a_new_one_may_lie_outside():
    X, model = ranked_study()
    points = shown(model, X, "0-100")
    assert (points[0].min(), points[0].max()) == pytest.approx((0, 100))
    link = shown(model, X, "link")
    slope = 100 / np.ptp(link[0])
    np.testing.assert_allclose(points, slope * (link - link[0].min()), atol=1e-9)
    far = X[np.argmax(link[0])] + [3.0, 0.0, 0.0]
    assert model.rank(far[None], scale="0-100")["score"][0] > 100


@pytest.mark.parametrize("grid", [10**6, 4096])
def test_wins_of_100_are_the_mean_chance_against_every_compared_item(grid, monkeypatch):
    monkeypatch.setattr("pairscore.model.predict.GRID", grid)
    X, model = ranked_study()
    new = np.random.default_rng(1).normal(size=(5000, 3)) + 5.0
    scores, others = model.decision_function(new), model.decision_function(X)
    naive = 100 * expit(scores[:, None] - others).mean(axis=1)
    found, low, high = shown(model, new, "wins")
    np.testing.assert_allclose(found, naive, atol=1e-4)
    assert np.all((low > 0) & (low < found) & (found < high) & (high < 100))


@pytest.mark.parametrize(
    ("scale", "settings", "said"),
    [
        ("elo", {"link": "probit"}, "scale='elo' is for link='logit', and the link is 'probit'"),
        ("stars", {}, r"scale is 'stars'; use one of 'link', '0-100', 'elo', 'wins'\."),
    ],
)
def test_a_scale_that_means_nothing_here_is_refused_in_a_sentence(scale, settings, said):
    X, model = ranked_study(**settings)
    with pytest.raises(PairscoreError, match=said):
        model.rank(X, scale=scale)


def test_a_model_file_of_before_ranks_on_link_and_elo_and_says_what_the_others_need():
    old = load(HERE / "plain.npz")
    X = np.random.default_rng(0).normal(size=(5, old.n_features_in_))
    items = {"id": list("abcde")} | dict(zip(old.feature_names_in_, X.T, strict=True))
    expected = np.sort(X @ old.coef_)[::-1] - old.feature_mean_ @ old.coef_
    np.testing.assert_allclose(old.rank(items)["score"], expected)
    assert "place_low" not in old.rank(items, scale="elo")
    for scale in ("0-100", "wins"):
        with pytest.raises(PairscoreError, match="which this model does not keep; fit it again"):
            old.rank(items, scale=scale)


def test_many_compared_items_are_kept_as_5000_scores_with_both_ends(monkeypatch):
    monkeypatch.setattr("pairscore.model.predict.KEPT_SCORES", 11)
    X, model = ranked_study()
    scores = np.sort(model.decision_function(X))
    assert model.fitted_scores_.shape == (2, 11)
    np.testing.assert_array_equal(model.fitted_scores_[0, [0, -1]], scores[[0, -1]])
    assert np.isin(model.fitted_scores_[0], scores).all()


# -- one item at a time ----------------------------------------------------------------------------


def test_one_item_is_a_dict_of_numbers_in_any_order():
    items, votes = tables(seed=2)
    model = RankRegression().fit(items, votes)
    features = [name for name in items.columns if name != "id"]
    row = items[features].iloc[3]
    one = {name: float(row[name]) for name in reversed(features)}
    expected = model.decision_function(row.to_numpy()[None])
    for given in (one, {name: [one[name]] for name in features}, one | {"id": "new", "hue": "red"}):
        np.testing.assert_array_equal(model.decision_function(given), expected)
    assert model.rank(one | {"id": "new"})["id"].tolist() == ["new"]
    other = one | {features[0]: 0.0}
    assert model.difference(one, other) == model.difference(
        [one[name] for name in features], [other[name] for name in features]
    )


def test_one_item_with_a_missing_value_is_read_as_a_table_with_one():
    masses = {"id": np.arange(6), "mass": [1.0, 2.0, 4.0, np.nan, 3.0, 5.0]}
    votes = np.array([[1, 0], [2, 1], [2, 3], [3, 0], [1, 2], [0, 3], [4, 5], [5, 3], [4, 1]])
    model = RankRegression(missing="mean-with-flag", l2=1.0, inference=None).fit(masses, votes)
    for mass in (2.5, np.nan):
        table = model.decision_function({"id": [9], "mass": [mass]})
        np.testing.assert_array_equal(model.decision_function({"mass": mass}), table)
    np.testing.assert_array_equal(model.decision_function({"mass": None}), table)


@pytest.mark.parametrize("columns", [["id", "x0"], ["x0"]])
def test_a_known_item_is_known_when_it_comes_alone(columns):
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"id": [f"i{row}" for row in range(40)], "x0": rng.normal(size=40)})
    votes = np.array([(a, (a + k) % 40) for a in range(40) for k in (1, 2, 5, 11)])
    votes = np.where(rng.random((len(votes), 1)) < 0.5, votes, votes[:, ::-1])
    names = items["id"].to_numpy()[votes]
    table = {"winner": names[:, 0], "loser": names[:, 1]}
    model = RankRegression(item_effects=True).fit(items, table)
    scores = model.decision_function(items)
    assert np.ptp(scores - items["x0"] * model.coef_[0]) > 0
    for row in (0, 3, 39):
        alone = items[columns].iloc[row].to_dict()
        np.testing.assert_array_equal(model.decision_function(alone), scores[[row]])
