"""What models say where comparisons are separated: no interval from a prior, and no p-value."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from pairscore import Comparisons, RankRegression, fit_stream, load
from pairscore.core.significance import normal_width
from pairscore.errors import PairscoreError, PairscoreWarning, SeparationWarning


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        yield


def draw(seed, beta, n_items, n_comparisons, sure=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, len(beta)))
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    eta = (X[left] - X[right]) @ beta
    won = eta > 0 if sure else rng.random(n_comparisons) < expit(eta)
    return X, np.column_stack([np.where(won, left, right), np.where(won, right, left)])


def table(X):
    return {"id": np.arange(len(X)), **{f"x{k}": column for k, column in enumerate(X.T)}}


def votes_of(pairs):
    return {"winner": pairs[:, 0], "loser": pairs[:, 1]}


def separated():
    """All 100 comparisons of 60 items go the way of one score."""
    return draw(3, np.array([10.0, 5.0, -10.0]), 60, 100, sure=True)


def with_champions():
    """Items 0 to 3, which the last feature marks, win all comparisons with the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = np.arange(60) < 4
    left = rng.integers(0, 60, 600)
    right = (left + rng.integers(1, 60, 600)) % 60
    won = rng.random(600) < expit((X[left] - X[right]) @ [1.0, -0.5, 0.0])
    marked = X[left, 2] - X[right, 2]
    won = np.where(marked == 0, won, marked > 0)
    return X, np.column_stack([np.where(won, left, right), np.where(won, right, left)])


# -- what is said of coefficients --------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_coefficients_that_only_a_prior_holds_have_open_intervals_and_no_p_value(stream):
    X, pairs = separated()
    items, votes = table(X), votes_of(pairs)
    with pytest.warns(SeparationWarning, match=r"how large 'x0', 'x1', 'x2' are: .* no p-value"):
        model = fit_stream(items, votes) if stream else RankRegression().fit(items, votes)
    assert np.isnan(model.std_errors_).all()
    assert np.isnan(model.p_values_).all()
    ends = model.confidence_intervals()
    assert np.isfinite(ends).tolist() == [[True, False], [True, False], [False, True]]
    assert np.all((ends[:, 0] <= [10, 5, -10]) & (ends[:, 1] >= [10, 5, -10]))
    text = str(model.summary())
    assert "or more" in text
    assert "or less" in text
    assert "<0.0001" not in text
    columns = model.summary().to_columns()
    np.testing.assert_allclose(columns["low"], ends[:, 0])
    record = model.summary().to_record()["coefficients"][0]
    assert record["p"] is None
    assert record["high"] is None
    assert record["low"] > 0
    assert model.summary().meaning() == ""


@pytest.mark.parametrize("stream", [False, True])
def test_the_other_coefficients_keep_the_intervals_of_the_other_comparisons(stream):
    X, pairs = with_champions()
    items, votes = table(X), votes_of(pairs)
    model = fit_stream(items, votes) if stream else RankRegression().fit(items, votes)
    same = X[pairs[:, 0], 2] == X[pairs[:, 1], 2]
    without = RankRegression().fit(X, pairs[same])  # no two that met differ in the last feature
    np.testing.assert_allclose(model.coef_[:2], without.coef_[:2], rtol=1e-5)
    np.testing.assert_allclose(
        model.confidence_intervals()[:2], without.confidence_intervals()[:2], rtol=1e-4
    )
    assert np.isnan(model.std_errors_[2])
    assert model.confidence_intervals()[2, 0] > 0
    assert model.confidence_intervals()[2, 1] == np.inf
    assert "'x2' is:" in model.notes_[0]


def test_contrasts_differences_and_tests_follow():
    X, pairs = with_champions()
    model = RankRegression().fit(table(X), votes_of(pairs))
    held = model.contrast({"x2": 1.0, "x0": -1.0})
    assert np.isnan([held.std_error, held.p, held.statistic]).all()
    assert np.isfinite(held.low)
    assert held.high == np.inf
    assert "or more, 95 %" in str(held)
    assert "prior" in str(held)
    free = model.contrast({"x0": 1.0, "x1": 1.0})
    assert np.isfinite([free.low, free.high, free.p]).all()
    test = model.joint_test(["x0", "x2"])
    assert test.df == 1
    assert "determine" in test.note
    assert test.p == pytest.approx(model.joint_test(["x0"]).p)
    with pytest.raises(PairscoreError, match="separated"):
        model.joint_test(["x2"])
    above, apart = model.difference(0, 20), model.difference(20, 21)
    assert above.high == np.inf
    assert above.low > 0
    assert above.probability_high == 1.0
    assert np.isnan(above.std_error)
    assert "or more" in str(above)
    assert np.isfinite([apart.low, apart.high, apart.std_error]).all()
    chances = model.chances(Comparisons.from_pairs(table(X), [0, 20], [20, 21]))
    assert chances["high"][0] == 1.0
    assert 0.5 < chances["low"][0] < chances["chance"][0]
    assert chances["high"][1] < 1.0


def test_ranks_are_claimed_only_from_intervals_that_the_comparisons_give():
    """The champions come first whatever a prior says; among the others ranks are as without."""
    X, pairs = with_champions()
    model = RankRegression().fit(table(X), votes_of(pairs))
    ranks = model.rank()
    ids = np.asarray(ranks["id"])
    first = {name: np.asarray(ranks[name])[ids < 4] for name in ("rank_low", "rank_high", "high")}
    assert first["rank_high"].max() <= 5
    assert np.isinf(first["high"]).all()
    others = X[4:, :2]
    without = RankRegression().fit(others, pairs[(pairs > 3).all(axis=1)] - 4).rank()
    usual = dict(zip((np.asarray(without["id"]) + 4).tolist(), without["rank_high"], strict=True))
    found = dict(zip(ids.tolist(), ranks["rank_high"], strict=True))
    assert max(abs(found[item] - 4 - usual[item]) for item in usual) <= 2


def test_nothing_is_claimed_of_ranks_where_no_order_is_certain():
    """Four comparisons of items in three features are separated by chance alone."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 3))
    model = RankRegression(inference="model").fit(X, np.array([[0, 1], [2, 3], [4, 5], [6, 7]]))
    ranks = model.rank()
    assert np.all(np.asarray(ranks["rank_low"]) == 1)
    assert np.all(np.asarray(ranks["rank_high"]) == 8)


def test_many_items_have_ranks_without_claims_along_what_a_prior_holds():
    X, pairs = draw(5, np.array([10.0, 5.0, -10.0]), 120, 150, sure=True)
    ranks = RankRegression().fit(X, pairs).rank(X)
    assert np.all(np.asarray(ranks["rank_low"]) == 1)
    assert np.all(np.asarray(ranks["rank_high"]) == 120)


def test_a_saved_model_knows_what_is_open(tmp_path):
    X, pairs = with_champions()
    model = RankRegression().fit(table(X), votes_of(pairs))
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.confidence_intervals(), model.confidence_intervals())
    np.testing.assert_array_equal(again.rank(table(X))["rank_low"], model.rank()["rank_low"])
    for level in (0.5, 0.99):
        np.testing.assert_array_equal(
            again.confidence_intervals(level), model.confidence_intervals(level)
        )


def test_more_comparisons_close_an_interval():
    X, pairs = with_champions()
    model = RankRegression().fit(table(X), votes_of(pairs))
    more = np.array([[20, 0], [21, 1], [22, 2], [23, 3], [24, 0]])
    model.update(votes_of(more))
    assert not any("explains every comparison" in note for note in model.notes_)
    assert np.isfinite(model.confidence_intervals()).all()


# -- sides, context, ties, judges, closed forms ------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"context": ["rest"]},
        {"item_effects": True},
        {"judge_slopes": True},
        {"side_effect": True, "context": ["rest"]},
        {"ties": "davidson"},
    ],
    ids=str,
)
def test_effects_beside_features_leave_open_what_is_open(settings):
    X, pairs = with_champions()
    rng = np.random.default_rng(2)
    left = rng.random(len(pairs)) < 0.5
    ends = np.where(left[:, None], pairs, pairs[:, ::-1])
    winner = np.where(left, "left", "right")
    if "ties" in settings:
        same = X[pairs[:, 0], 2] == X[pairs[:, 1], 2]
        winner = np.where(same & (rng.random(len(pairs)) < 0.2), "tie", winner)
    votes = {"left": ends[:, 0], "right": ends[:, 1], "winner": winner}
    votes |= {"judge": rng.integers(0, 8, len(pairs)), "rest": rng.normal(size=len(pairs))}
    model = RankRegression(**settings).fit(table(X), votes)
    assert np.isnan(model.std_errors_).tolist() == [False, False, True]
    low, high = model.confidence_intervals()[2]
    assert 0 < low < np.inf
    assert high == np.inf
    assert "'x2' is:" in " ".join(model.notes_)
    if model.effects_ is not None:
        assert np.isfinite(model.effects_.std_errors).all()


def test_a_context_that_explains_all_that_it_touches_is_open_and_named():
    X, pairs = draw(0, np.array([1.0, -0.5]), 60, 400)
    rest = np.zeros(400)
    rest[:30] = 1.0  # left won wherever it is one
    votes = {
        "left": pairs[:, 0],
        "right": pairs[:, 1],
        "winner": np.full(400, "left"),
        "rest": rest,
    }
    swap = np.arange(400) % 2 == 1
    swap[:30] = False
    votes["left"], votes["right"] = np.where(swap, pairs[:, ::-1].T, pairs.T)
    votes["winner"] = np.where(swap, "right", "left")
    with pytest.warns(SeparationWarning, match="how large 'rest' is"):
        model = RankRegression(context=["rest"]).fit(table(X), votes)
    assert np.isfinite(model.std_errors_).all()
    assert np.isnan(model.effects_.std_errors[0])
    facts = dict(model.summary().facts())
    assert "or more" in facts["context rest"]
    assert np.isinf(model.contrast({"rest": 1.0}).high)


@pytest.mark.parametrize("method", ["mle", "pooled", "paired"])
@pytest.mark.parametrize("l2", [0.0, 1.0])
@pytest.mark.parametrize("stream", [False, True])
def test_a_side_that_always_wins_has_a_lower_end_only(method, l2, stream):
    X, pairs = draw(0, np.array([1.0, -0.5]), 60, 300)
    votes = {"left": pairs[:, 0], "right": pairs[:, 1], "winner": np.full(300, "left")}
    settings = {"method": method, "l2": l2, "side_effect": True}
    fit = fit_stream if stream else RankRegression.fit
    model = (
        fit(table(X), votes, **settings)
        if stream
        else RankRegression(**settings).fit(table(X), votes)
    )
    assert np.isnan(model.side_effect_std_error_)
    assert "or more" in dict(model.summary().facts())["side effect"]
    # features are held by the ridge of the user, if there is one
    assert np.isfinite(model.std_errors_).all() == (l2 > 0)


@pytest.mark.parametrize("method", ["pooled", "paired"])
def test_a_closed_form_whose_scale_has_no_end_is_open_as_the_likelihood_is(method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    pairs = rng.integers(0, 40, (80, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    order = x[pairs[:, 0], 0] > x[pairs[:, 1], 0]
    pairs = np.where(order[:, None], pairs, pairs[:, ::-1])
    ends = [  # values are held otherwise, and an interval begins at its value where that is lower
        np.array(model.result_.ends_by_comparisons(np.eye(1), normal_width(0.95))).T
        for fit in (method, "mle")
        for model in (
            RankRegression(fit).fit(table(x), votes_of(pairs)),
            fit_stream(table(x), votes_of(pairs), method=fit),
        )
    ]
    assert ends[0][0, 1] == np.inf
    assert ends[0][0, 0] > 0
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], rtol=1e-4)


@pytest.mark.parametrize("method", ["mle", "pooled", "paired"])
def test_no_value_is_outside_of_its_interval(method):
    rng = np.random.default_rng(3)
    X, pairs = rng.normal(size=(60, 3)), rng.integers(0, 60, (100, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    order = (X[pairs[:, 0]] - X[pairs[:, 1]]) @ [10, 5, -10.0] > 0
    pairs = np.where(order[:, None], pairs, pairs[:, ::-1])
    model = RankRegression(method).fit(table(X), votes_of(pairs))
    low, high = model.confidence_intervals().T
    assert np.all((low <= model.coef_) & (model.coef_ <= high))
    ranking = model.rank(table(X))
    low, score, high = (np.array(ranking[name]) for name in ("low", "score", "high"))
    assert np.all((low <= score) & (score <= high))
    chances = model.chances(Comparisons.from_pairs(table(X), np.arange(30), np.arange(30, 60)))
    assert np.all((chances["low"] <= chances["chance"]) & (chances["chance"] <= chances["high"]))


# -- coverage ----------------------------------------------------------------------------------


def test_intervals_of_studies_that_turn_out_separated_cover():
    """N = 60, d = 3, M = 100 with coefficients 10, 5 and -10: about a quarter is separated.

    Of a share that is truly 95 % or more, this many standard errors below 95 % are found in one of
    ten thousand runs. Coefficients of one study vary together, so that studies are counted.
    """
    beta, covered = np.array([10.0, 5.0, -10.0]), []
    for seed in range(120):
        X, pairs = draw([7, seed], beta, 60, 100)
        model = RankRegression().fit(X, pairs)
        if not any("explains every comparison" in note for note in model.notes_):
            continue
        low, high = model.confidence_intervals().T
        covered.append(np.mean((low <= beta) & (beta <= high)))
    n = len(covered)
    assert n >= 10
    assert np.mean(covered) > 0.95 - norm.ppf(1 - 1e-4) * np.sqrt(0.95 * 0.05 / n)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("inference", ["model", "items+judges"])
def test_open_ends_are_shown_as_shares_of_wins_without_a_warning_of_numpy(link, inference):
    """Also by Student's law for two judges, whose intervals are hundreds of errors wide."""
    rng = np.random.default_rng(0)
    ids, left = np.array([f"i{k}" for k in range(10)]), rng.integers(0, 10, 30)
    right = (left + rng.integers(1, 10, 30)) % 10
    items = {"id": ids, "x": np.arange(10.0), "y": rng.normal(size=10)}
    winner, judge = np.where(left > right, "left", "right"), np.where(np.arange(30) % 2, "p", "q")
    votes = {"left": ids[left], "right": ids[right], "winner": winner, "judge": judge}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PairscoreWarning)
        model = RankRegression(link=link, inference=inference).fit(items, votes)
        table = model.rank(items, scale="wins", level=0.999)
    low, high = (np.asarray(table[name], dtype=float) for name in ("low", "high"))
    assert np.all((low == 0) | (high == 100))


@pytest.mark.parametrize("stream", [False, True], ids=["memory", "stream"])
@pytest.mark.parametrize("method", ["mle", "pooled", "paired"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_what_a_ridge_holds_beside_a_side_that_wins_and_loses_is_not_separated(
    link, method, stream
):
    """Features and side explain all comparisons together; the ridge has an end, and so has all."""
    rng = np.random.default_rng(7)
    ids, X = np.array([f"i{k}" for k in range(12)]), rng.normal(size=(12, 2))
    left = rng.integers(0, 12, 14)
    right = (left + rng.integers(1, 12, 14)) % 12
    winner = np.where((X[left] - X[right]) @ [1.0, 0.5] > 0.4, "left", "right")
    items = {"id": ids, "x": X[:, 0], "y": X[:, 1]}
    votes = {"left": ids[left], "right": ids[right], "winner": winner}
    settings = {"l2": 1.0, "side_effect": True, "link": link, "inference": "model"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SeparationWarning)
        whole = RankRegression(method, **settings).fit(items, votes)
        model = fit_stream(items, votes, method=method, **settings) if stream else whole
    assert {*winner.tolist()} == {"left", "right"}
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-5)
    assert np.isfinite(model.confidence_intervals()).all()
    chances = whole.chances(whole.comparisons_)
    assert np.all((chances["low"] < chances["chance"]) & (chances["chance"] < chances["high"]))
