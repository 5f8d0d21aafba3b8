"""Scales that people read: link, Elo, 0-100, wins of 100, and worth."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.model.score_scales import scale_of
from tests.evaluation.bradley_terry import draw_study, r_numbers, read_study
from tests.golden.record import HERE
from tests.model.test_predict import ranked_study


def test_worth_gives_strengths_that_sum_to_one_and_share_out_wins():
    """With features and without; p_i / (p_i + p_j) is the chance of a decided comparison."""
    items, votes = draw_study(11, n_items=12)
    free, model = RankRegression().fit(None, votes), RankRegression(inference=None)
    model.fit(items, votes)
    for one in (free, model):
        table = one.worth()
        assert list(table.columns) == ["id", "worth"]
        assert sorted(table["id"]) == list(range(12))
        worth = table.set_index("id")["worth"]
        assert worth.sum() == pytest.approx(1, abs=1e-12)
        p = one.predict_proba(one.comparisons_)[:, 1]
        left, right = worth[votes["left"]].to_numpy(), worth[votes["right"]].to_numpy()
        np.testing.assert_allclose(left / (left + right), p, rtol=1e-9)
    gap = free.item_effects_.effect[3] - free.item_effects_.effect[5]
    assert free.worth([3, 5])["worth"][0] == pytest.approx(expit(gap), rel=1e-9)
    new = pd.DataFrame([[0.0] * 4, [1.0, 0, 0, 0]], columns=list("abcd"))
    assert model.worth(new)["worth"][1] == pytest.approx(expit(model.coef_[0]), rel=1e-9)


def test_worth_with_ties_is_that_of_decided_comparisons():
    items, votes = draw_study(12)
    votes.loc[::3, "winner"] = "tie"
    model = RankRegression(inference=None).fit(items, votes)
    worth = model.worth().set_index("id")["worth"]
    left, right = worth[votes["left"]].to_numpy(), worth[votes["right"]].to_numpy()
    p = model.predict_proba(model.comparisons_)[:, 1]
    np.testing.assert_allclose(left / (left + right), p, rtol=1e-9)


def test_worth_is_that_of_r():
    for study_name in ("baseball", "citations"):
        items, votes = read_study(study_name)
        largest = r_numbers(study_name, "worth")["largest"]
        for table in (items, None):
            model = RankRegression(inference="model").fit(table, votes)
            assert np.max(model.worth()["worth"]) == pytest.approx(largest, rel=1e-6)


def test_worth_is_refused_where_items_share_no_scale(tmp_path):
    items, votes = draw_study(13)
    with pytest.raises(PairscoreError, match="link='logit'"):
        RankRegression(link="probit").fit(items, votes).worth()
    model = RankRegression().fit(items, votes)
    model.save(tmp_path / "model.npz")
    with pytest.raises(PairscoreError, match="give a table of items"):
        RankRegression.load(tmp_path / "model.npz").worth()
    items["year"] = items["id"] % 2
    votes = votes[votes["left"] % 2 == votes["right"] % 2]
    with pytest.warns(UserWarning, match="'year'"):
        apart = RankRegression().fit(items, votes)
    with pytest.raises(PairscoreError, match="2 groups"):
        apart.worth()


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
    monkeypatch.setattr("pairscore.model.score_scales.GRID", grid)
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
        ("stars", {}, r"scale is 'stars'; use 'link', '0-100', 'elo' or 'wins'\."),
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
