"""What to expect of new items: against fits without each item, and against new items."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

from pairscore import Comparisons, RankRegression, load
from pairscore.errors import ManyFeaturesWarning, PairscoreWarning
from pairscore.estimators import new_items
from tests.limits import CHANCE

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")


def draw(rng, n_items=80, n_comparisons=800, n_features=30, coef=None, effect=1.0):
    """Items whose features explain a half of them; more features than so many items bear."""
    X = rng.normal(size=(n_items, n_features))
    coef = np.r_[1.0, np.zeros(n_features - 1)] if coef is None else coef
    score = X @ coef + effect * rng.normal(size=n_items)
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.random(n_comparisons) < expit(score[left] - score[right])
    votes = {"left": left, "right": right, "winner": np.where(won, "left", "right")}
    return X, pd.DataFrame(votes | {"judge": left % 2, "rest": rng.normal(size=n_comparisons)})


def left_out_differences(X, votes, settings, items):
    """Scores of some items, each by a fit without all of its comparisons."""
    scores = {}
    for item in items:
        rest = votes[(votes["left"] != item) & (votes["right"] != item)]
        fit = RankRegression(**settings | {"inference": None}).fit(X, rest)
        scores[item] = (X[item] - X.mean(axis=0)) @ fit.coef_
    return scores


def pulls_of(monkeypatch, X, votes, settings):
    """The model, and what the fit says of how far each item pulls its own score."""
    seen, keep = {}, new_items.pulls_on_own_score

    def spy(*given):
        seen["pulls"] = keep(*given)
        return seen["pulls"]

    monkeypatch.setattr(new_items, "pulls_on_own_score", spy)
    return RankRegression(**settings).fit(X, votes), seen["pulls"]


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        ({}, 0.1),
        ({"l2": 5.0}, 0.1),
        ({"link": "probit"}, 0.1),
        ({"side_effect": True}, 0.1),
        ({"context": ["rest"], "side_effect": "judges"}, 0.1),
    ],
)
def test_scores_without_an_item_are_those_of_a_fit_without_it(monkeypatch, settings, off):
    """One step of Newton from the fit, against the climb of another fit: ``off`` of their spread,
    which is a few hundredths of a score."""
    X, votes = draw(np.random.default_rng(0))
    model, pulls = pulls_of(monkeypatch, X, votes, settings)
    items = range(0, 80, 5)
    naive = left_out_differences(X, votes, settings, items)
    score = (X - X.mean(axis=0)) @ model.coef_
    ours = np.array([score[item] - pulls[item] for item in items])
    twins, own = np.array(list(naive.values())), score[list(items)]
    assert np.std(ours - twins) < off * np.std(twins)
    assert np.std(own - twins) > 3 * np.std(ours - twins)  # the fit's own scores are far off


@pytest.mark.parametrize("method", ["paired", "pooled", "split"])
def test_scores_of_a_closed_form_without_an_item_are_those_of_the_formula_without_it(
    monkeypatch, method
):
    """On the scale of the closed form, whose factor is taken as it is."""
    rng = np.random.default_rng(0)
    X, votes = draw(rng)
    X = np.vstack([X, rng.normal(size=(100, 30))]) if method == "split" else X
    model, pulls = pulls_of(monkeypatch, X, votes, {"method": method, "l2": 1.0})
    b, mean = model.closed_form_coef_, model.feature_mean_
    centred = X - mean
    ours, twins = [], []
    for item in range(0, 80, 5):
        rest = votes[(votes["left"] != item) & (votes["right"] != item)]
        settings = {"method": method, "l2": 1.0, "inference": None}
        covariance_items = {"covariance_items": range(80, 180)} if method == "split" else {}
        fit = RankRegression(**settings).fit(X, rest, **covariance_items)
        share = len(rest) / len(votes) if method == "split" else 1.0  # a mean, not a regression
        twins.append(share * centred[item] @ fit.closed_form_coef_)
        ours.append(centred[item] @ b - pulls[item])
    # the ridge's unit, and for pooled the mean, are those of all items
    assert np.std(np.array(ours) - twins) < 0.1 * np.std(twins)


@pytest.mark.parametrize("settings", [{}, {"method": "pooled", "l2": 1.0}])
def test_scores_without_a_group_are_those_of_a_fit_without_it(monkeypatch, settings):
    rng = np.random.default_rng(0)
    X, votes = draw(rng)
    groups = rng.integers(0, 40, 80)
    data, _ = Comparisons.from_frames(X, votes)
    model, pulls = pulls_of(monkeypatch, data.with_item_groups(groups), None, settings)
    closed = model.closed_form_coef_
    ours, twins, own = [], [], []
    for group in range(0, 40, 4):
        items = np.flatnonzero(groups == group)
        gone = votes["left"].isin(items) | votes["right"].isin(items)
        fit = RankRegression(**settings | {"inference": None}).fit(X, votes[~gone])
        without, coef = (
            (fit.coef_, model.coef_)
            if closed is None
            else (
                fit.closed_form_coef_,
                closed,
            )
        )
        centred = X[items] - model.feature_mean_
        twins.extend(centred @ without)
        own.extend(centred @ coef)
        ours.extend(centred @ coef - pulls[items])
    ours, twins, own = np.array(ours), np.array(twins), np.array(own)
    assert np.std(ours - twins) < 0.15 * np.std(twins)
    assert np.std(own - twins) > 2 * np.std(ours - twins)  # the fit's own scores are far off


def test_of_new_groups_less_is_promised_than_of_new_items_of_known_groups():
    """What a group has in common helps its own items, and no others."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(25), 4)
    X = 0.3 * rng.normal(size=(100, 30)) + rng.normal(size=(25, 30))[groups]
    score = X[:, 0] + 1.5 * rng.normal(size=25)[groups]
    left = rng.integers(0, 100, 1500)
    right = (left + rng.integers(1, 100, 1500)) % 100
    y = np.where(rng.random(1500) < expit(score[left] - score[right]), 1, -1)
    data = Comparisons(X, left, right, y)
    alone, by_group = (
        RankRegression().fit(one).new_items_ for one in (data, data.with_item_groups(groups))
    )
    assert by_group.accuracy < alone.accuracy - 0.05


def test_accuracy_and_log_loss_expected_of_new_items_are_those_of_new_items():
    """Means over studies, up to the t-quantile of tests/limits.py with a tenth of what the fit's
    own comparisons are wrong by."""
    found = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        coef = rng.normal(size=40) / np.sqrt(40)
        X, votes = draw(rng, 100, 700, 40, coef)
        model = RankRegression().fit(X, votes)
        new, tests = draw(rng, 1000, 3000, 40, coef)
        difference = (new[tests["left"]] - new[tests["right"]]) @ model.coef_
        for_winner = np.where(tests["winner"] == "left", difference, -difference)
        expected, loss = model.new_items_, np.logaddexp(0, -for_winner).mean()
        found.append(
            [
                expected.accuracy - np.mean(for_winner > 0),
                expected.log_loss - loss,
                model.agreement_ - np.mean(for_winner > 0),
            ]
        )
    found = np.array(found)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    bias, reach = np.mean(found, axis=0), norm.isf(CHANCE / 4) * error
    assert abs(bias[0]) < reach[0] + 0.1 * bias[2]
    assert abs(bias[1]) < reach[1] + 0.05
    assert bias[2] - reach[2] > 0.05  # the rival, agreement of the fit, must lose


def test_a_hopeless_fit_says_what_to_expect_of_new_items_and_points_to_the_ridge(tmp_path):
    X, votes = draw(np.random.default_rng(0), 110, 1100, 75)
    with pytest.warns(ManyFeaturesWarning) as caught:
        model = RankRegression().fit(X, votes)
    (text,) = [str(one.message) for one in caught if one.category is ManyFeaturesWarning]
    expected = model.new_items_
    assert expected.accuracy < model.agreement_ - 0.1
    assert expected.log_loss > np.log(2)
    assert text.startswith("75 features are many for 110 compared items: the score predicts")
    assert f"only about {expected.accuracy:.1%} of those between new items" in text
    assert text.endswith("fit with l2='auto', or use fewer features.")
    summary = str(model.summary())
    assert f"\n  new items        about {expected.accuracy:.1%} of their decided" in summary
    assert f"Warning: {text}" in summary
    assert model.summary().to_record()["new_items"] == vars(expected)
    model.save(tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").new_items_ == expected


def test_the_ridge_that_it_points_to_is_no_longer_hopeless():
    X, votes = draw(np.random.default_rng(0), 110, 1100, 75)
    plain = RankRegression().fit(X, votes).new_items_
    ridge = RankRegression(l2="auto").fit(X, votes)
    assert ridge.new_items_.log_loss < 0.75 * plain.log_loss
    assert not [note for note in ridge.notes_ if "are many for" in note]


def test_few_features_are_not_looked_at_nor_plain_differences_nor_fits_without_inference(recwarn):
    X, votes = draw(np.random.default_rng(0), 400, 4000, 10, effect=0.0)
    model = RankRegression().fit(X, votes)
    assert model.new_items_ is None
    assert "new items" not in str(model.summary())
    few = X[:50], votes[(votes["left"] < 50) & (votes["right"] < 50)]
    assert RankRegression().fit(*few).new_items_ is not None
    assert RankRegression(inference=None).fit(*few).new_items_ is None
    difference = X[votes["left"][:60]] - X[votes["right"][:60]]
    assert RankRegression().fit(difference, np.resize([1, -1], 60)).new_items_ is None
    assert not [one for one in recwarn if one.category is PairscoreWarning]


def test_an_item_alone_in_its_category_is_left_out_of_the_count():
    """Without it nothing is known of its category."""
    X, votes = draw(np.random.default_rng(0), 60, 900, 10)
    X = np.column_stack([X, np.arange(60) == 7])
    met = (votes["left"] != 7) & (votes["right"] != 7)
    assert RankRegression().fit(X, votes).new_items_.n_comparisons == met.sum() < 900


def test_of_too_many_items_some_are_left_out(monkeypatch):
    X, votes = draw(np.random.default_rng(0), 80, 3000, 30)
    whole = RankRegression().fit(X, votes).new_items_
    monkeypatch.setattr(new_items, "MOST_PRODUCTS", 40 * 49 * 30 * 30)  # 49 opponents each
    some = RankRegression().fit(X, votes).new_items_
    assert 0.15 * 3000 < some.n_comparisons < 0.35 * 3000 < whole.n_comparisons == 3000
    reach = norm.isf(CHANCE / 2) * 0.5 / np.sqrt(40)  # as if each item were one observation
    assert abs(some.accuracy - whole.accuracy) < reach


def test_of_fewer_than_ten_items_nothing_is_said_of_new_ones():
    X, votes = draw(np.random.default_rng(1), 9, 60, 4)
    model = RankRegression(l2=1.0).fit(X, votes)
    assert model.new_items_ is None
    assert not [note for note in model.notes_ if "are many for" in note]


def test_pairs_of_items_that_are_alike_have_no_negative_variance():
    """Their cross products may be larger than one by rounding errors."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(200, 3)), 2, axis=0)
    X[1::2] += 1e-5 * rng.normal(size=(200, 3))
    left = rng.integers(0, 400, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        model = RankRegression("pooled").fit(
            Comparisons(X, left, left ^ 1, rng.choice([-1, 1], 2000))
        )
    assert 0 <= model.pairing_.narrowest < 1e-6
    assert "-0.00" not in model.pairing_.in_words


@pytest.mark.parametrize("size", [1e-3, 0.3, 0.999], ids=["weak", "strong", "nearly all"])
@pytest.mark.parametrize("k", [1, 4, 11, 12, 30])
def test_equations_without_an_item_are_solved_as_by_the_matrix(k, size):
    """Fewer rows than columns, as many, and more; rows that have next to all there is to know."""
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(k, 12)) * 10.0 ** rng.choice([-3, 0], (k, 1))
    rows *= np.sqrt(size) / np.linalg.norm(rows, 2)
    right = rng.normal(size=12)
    expected = np.linalg.solve(np.eye(12) - rows.T @ rows, right)
    np.testing.assert_allclose(
        new_items._solve_without(rows, right), expected, rtol=1e-8, atol=1e-10
    )
