"""Judges' slopes: their spread, their errors, who votes against the others or like a coin."""

import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from pairscore import RankRegression
from pairscore.core.links import get_link
from pairscore.core.ties import TieRule
from pairscore.effects.judge_slopes import (
    LARGEST_SPREAD,
    SMALLEST_SPREAD,
    slope_equations,
    spread_of_slopes,
    variance_over_spreads,
)
from pairscore.errors import (
    FewJudgesWarning,
    NotConvergedWarning,
    PairscoreWarning,
    SeparationWarning,
)
from tests.effects.joint_study import draw_study
from tests.effects.rows import make_rows, random_pairs
from tests.effects.simulators import BETA, full_votes, judged_votes
from tests.effects.test_expectation_propagation import log_marginal, posterior
from tests.limits import largest_mean


def test_spread_of_slopes_is_found():
    rng = np.random.default_rng(4)
    variance = rng.uniform(0.01, 0.2, 4000)
    slope = 1 + 0.6 * rng.normal(size=4000) + np.sqrt(variance) * rng.normal(size=4000)
    # of the spread, by the delta method
    error = 0.6 * np.sqrt(np.mean((0.36 + variance) ** 2) * 2 / 4000) / (2 * 0.36)
    assert spread_of_slopes(slope, variance) == pytest.approx(0.6, abs=5 * error)
    assert spread_of_slopes(1 + np.sqrt(variance) * rng.normal(size=4000) * 0.5, variance) < 0.05


def test_slopes_that_average_to_one_have_a_degree_of_freedom_less():
    slope = np.array([0.4, 0.9, 1.1, 1.6])
    assert spread_of_slopes(slope, np.full(4, 1e-6)) == pytest.approx(slope.std(ddof=1), rel=1e-3)


def test_variance_of_slopes_averages_over_spreads():
    slope, variance = np.array([0.8, 0.9, 1.3]), np.array([0.04, 0.02, 0.05])
    spreads, gap = np.geomspace(SMALLEST_SPREAD, LARGEST_SPREAD, 100), np.linspace(-1.5, 1.5, 201)
    first, second = np.meshgrid(gap, gap, indexing="ij")
    gaps = np.stack([first, second, -first - second])
    data = np.exp(
        -0.5 * np.sum((gaps - (slope - 1)[:, None, None]) ** 2 / variance[:, None, None], axis=0)
    )
    # naive: every slope on a grid
    chance = sum(
        data * np.exp(-0.5 * np.sum(gaps**2, axis=0) / spread**2) / spread**2 * spread
        for spread in spreads
    )
    chance /= chance.sum()
    mean = np.sum(gaps * chance, axis=(1, 2))
    expected = np.sum(gaps**2 * chance, axis=(1, 2)) - mean**2
    np.testing.assert_allclose(variance_over_spreads(slope, variance), expected, rtol=0.01)
    own = 1 / (1 / variance + 1 / spread_of_slopes(slope, variance) ** 2)
    assert np.all(own - own**2 / own.sum() < 0.8 * expected)  # the rival: one spread taken for true


def opposed_votes(share, m):
    """Two judges, the second of whom says the opposite of what the first would."""
    rng = np.random.default_rng(27)
    X, votes = judged_votes(rng, n=60, m=m, context=0.0, side=0.0)
    second = rng.random(m) > share
    turned = np.where(votes["winner"] == "left", "right", "left")
    return X, votes | {
        "judge": second.astype(int),
        "winner": np.where(second, turned, votes["winner"]),
    }


@pytest.mark.filterwarnings("ignore::pairscore.errors.NotConvergedWarning")
def test_judges_who_contradict_each_other_are_told():
    with pytest.warns(
        SeparationWarning,
        match="about as many answers contradict the common order as agree",
    ):
        model = RankRegression(judge_slopes=True).fit(*opposed_votes(0.7, 2000))
    assert model.judges_.inverted.tolist() == [False, True]
    with pytest.warns(
        FewJudgesWarning, match="judges who contradict each other leave no common order"
    ):
        RankRegression(judge_slopes=True).fit(*opposed_votes(0.5, 80))


def test_spammers_and_inverted_judges_are_named():
    slopes = np.array([1.0, 1.2, 0.9, 0.0, -1.0, 1.1, 0.8, 1.0])
    X, votes = judged_votes(np.random.default_rng(5), m=8000, slopes=slopes)
    model = RankRegression(judge_slopes=True).fit(X, votes)
    table = model.judges_
    assert table.name[table.inverted].tolist() == ["judge 4"]
    assert table.name[table.spammers].tolist() == ["judge 3"]
    assert (
        "1 judge votes against the others: 'judge 4'; 1 judge votes like a coin: 'judge 3'"
        in " ".join(str(model.summary()).split())
    )
    assert np.all(table.noise_low <= table.noise)
    assert np.all(table.noise <= table.noise_high)
    assert table.noise[4] > 0.5
    columns = table.to_columns()
    assert columns["slope"] == sorted(columns["slope"], reverse=True)


def test_alike_judges_are_shrunk_together():
    X, votes = judged_votes(np.random.default_rng(6), m=3000)
    model, plain = (
        RankRegression(judge_slopes=True).fit(X, votes),
        RankRegression(context=None).fit(X, votes),
    )
    assert np.abs(model.judges_.slope - 1).max() < 0.25
    assert np.abs(model.coef_ - plain.coef_).max() < 0.1


@pytest.mark.parametrize("votes_each", [1, 2, 3, 5])
def test_judges_with_few_votes_are_average_ones(votes_each):
    X, votes = judged_votes(np.random.default_rng(14), m=1200)
    votes["judge"] = np.arange(1200) // votes_each
    plain = RankRegression(side_effect=True).fit(X, votes)
    with pytest.warns(FewJudgesWarning, match="all are treated as average"):
        model = RankRegression(side_effect=True, judge_slopes=True).fit(X, votes)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert np.all(model.judges_.slope == 1)
    assert not model.judges_.spammers.any()


def test_a_newcomer_and_a_judge_without_weight_change_nothing():
    X, votes = judged_votes(
        np.random.default_rng(15), m=3000, slopes=np.array([1.2, 1.0, 0.8, 1.0, 0.0, -1.0])
    )
    model = RankRegression(judge_slopes=True).fit(X, votes)
    renamed = votes["judge"].copy()
    renamed[3] = "newcomer"
    again = RankRegression(judge_slopes=True).fit(X, votes | {"judge": renamed})
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=0.02)
    np.testing.assert_allclose(again.std_errors_, model.std_errors_, rtol=0.05)
    assert again.judges_.name[again.judges_.inverted].tolist() == ["judge 5"]
    weight = (votes["number"] != 3).astype(float)
    without = {name: column[weight > 0] for name, column in votes.items()}
    one, other = (
        RankRegression(judge_slopes=True).fit(X, votes | {"weight": weight}),
        RankRegression(judge_slopes=True).fit(X, without),
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(one.std_errors_, other.std_errors_, rtol=1e-6)


def test_slopes_have_no_unit_of_weight():
    X, votes = judged_votes(
        np.random.default_rng(30), n=40, m=600, slopes=np.array([1.6, 1.0, 0.8, 0.6])
    )
    plain = RankRegression(judge_slopes=True, side_effect=True).fit(X, votes)
    for unit in (1000.0, 1e-3):
        model = RankRegression(judge_slopes=True, side_effect=True).fit(
            X, votes | {"weight": np.full(600, unit)}
        )
        np.testing.assert_allclose(model.judges_.slope, plain.judges_.slope, rtol=1e-5)
        np.testing.assert_allclose(model.judges_.std_error, plain.judges_.std_error, rtol=1e-4)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5)
        np.testing.assert_allclose(model.std_errors_, plain.std_errors_, rtol=1e-3)


def test_the_noise_of_judges_is_the_share_of_decided_votes_against_the_true_order():
    rng = np.random.default_rng(32)
    X, slopes = rng.normal(size=(100, 3)), np.array([1.5, 0.5, 1.0])
    left, judge = rng.integers(0, 100, 12_000), rng.integers(0, 3, 12_000)
    right = (left + rng.integers(1, 100, 12_000)) % 100
    delta = (X[left] - X[right]) @ BETA
    loss, _, win = TieRule("rao-kupper", get_link("logit")).probabilities(
        slopes[judge] * delta, 1.5
    )
    chance = rng.random(12_000)
    winner = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    model = RankRegression(ties="rao-kupper", judge_slopes=True).fit(
        X, {"left": left, "right": right, "winner": winner, "judge": judge}
    )
    for number in range(3):
        mine = (judge == number) & (winner != "tie")
        share = np.mean((winner[mine] == "left") != (delta[mine] > 0))
        error = np.sqrt(share * (1 - share) / mine.sum())
        assert abs(model.judges_.noise[number] - share) < 4.5 * error + 0.01
    # as if nobody could say tie
    assert model.judges_.noise[2] < np.mean(expit(-np.abs(delta))) - 0.05


def judged(rng, n_items, m, slopes, rule="half", sd=1.0):
    """Rows of several judges, at their slopes, and their posterior."""
    X, judge = rng.normal(size=(n_items, 1)), rng.integers(0, len(slopes), m)
    left, right = random_pairs(rng, n_items, m)
    score = 0.7 * X[:, 0] + sd * rng.normal(size=n_items)
    law = TieRule(rule, get_link("logit"))
    loss, _, win = law.probabilities(slopes[judge] * (score[left] - score[right]), 0.5)
    chance = rng.random(m)
    outcome = np.where(chance < win, 1, np.where(chance > 1 - loss, -1, 0))
    rows = make_rows(X, left, right, outcome, judge=judge, rule=rule)
    rows = replace(rows, slopes=slopes, ridge=0.3 * np.eye(len(rows.ridge)))
    return posterior(rows, sd**2)


@pytest.mark.parametrize("rule", ["half", "davidson", "rao-kupper"])
def test_the_score_of_a_slope_is_the_derivative_of_the_marginal_likelihood(rule):
    off, size = [], []
    for seed in range(4):
        slopes = np.array([1.4, 0.6])
        post = judged(np.random.default_rng([3, seed]), 3, 10, slopes, rule)
        found = slope_equations(post).score
        for number, step in enumerate(0.01 * np.eye(2)):
            up, down = (
                log_marginal(replace(post.rows, slopes=at), post.theta, 1.0)
                for at in (slopes + step, slopes - step)
            )
            off.append(found[number] - (up - down) / 0.02)
            size.append((up - down) / 0.02)
    assert np.mean(np.abs(off)) < 0.1 * np.mean(np.abs(size))


def test_the_information_of_slopes_is_the_variance_of_their_scores():
    """At true slopes; as if scores were known it would be too large."""
    scores, information, known = [], [], []
    for seed in range(40):
        slopes = np.array([1.4, 0.6, 1.2, 0.8])
        found = slope_equations(judged(np.random.default_rng([4, seed]), 60, 180, slopes))
        scores.append(found.score)
        information.append(found.information)
        known.append(found.known)
    square = np.square(scores)
    limit = largest_mean(square.mean(axis=1)) * 1.0
    assert abs(square.mean() - np.mean(information)) < limit + 0.1 * square.mean()
    assert np.mean(known) > 1.4 * square.mean()


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_judges_are_told_apart_by_items_that_features_do_not_describe():
    """With features that say next to nothing, a judge's votes are held against what others say of
    the items.
    """
    X, votes, _ = full_votes(3, beta=(0.05, 0.0, 0.0), sigma=1.5, m=3000, spread=0.1)
    against = votes["judge"] == 4
    swapped = np.where(votes["winner"] == "left", "right", "left")
    votes["winner"] = np.where(against, swapped, votes["winner"])
    coin = votes["judge"] == 7
    votes["winner"] = np.where(
        coin, np.random.default_rng(0).choice(["left", "right"], len(coin)), votes["winner"]
    )
    with_effects = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes).judges_
    features_only = RankRegression(judge_slopes=True).fit(X, votes).judges_
    assert np.flatnonzero(with_effects.inverted).tolist() == [4]
    assert np.flatnonzero(with_effects.spammers).tolist() == [7]
    assert not features_only.inverted.any()  # features alone cannot tell


def test_many_items_go_by_messages_with_nearly_the_same_slopes(monkeypatch):
    X, votes, _ = full_votes(2, n=200, m=3000)
    exact = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes)
    monkeypatch.setattr("pairscore.effects.item_covariance.EXACT_ITEMS", 50)
    sparse = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes)
    np.testing.assert_allclose(sparse.judges_.slope, exact.judges_.slope, atol=0.03)
    np.testing.assert_allclose(sparse.judges_.std_error, exact.judges_.std_error, rtol=0.1)
    assert sparse.item_effects_.sigma2 == pytest.approx(exact.item_effects_.sigma2, rel=0.02)


@pytest.mark.parametrize("judge", [np.zeros(400, dtype=int), np.arange(400)])
def test_where_judges_say_too_little_that_is_said(judge):
    X, votes, _ = full_votes(9, n=60, m=400)
    with pytest.warns(FewJudgesWarning, match="fewer than two judges have enough comparisons"):
        model = RankRegression(item_effects=True, judge_slopes=True).fit(
            X, votes | {"judge": judge}
        )
    assert np.all(model.judges_.slope == 1)


def test_too_few_votes_of_a_judge_are_not_reported_as_too_few_items():
    X, votes = judged_votes(np.random.default_rng(0), n=80, m=240)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RankRegression(judge_slopes=True).fit(X, votes | {"judge": np.arange(240) // 3})
    assert [warning.category.__name__ for warning in caught] == ["FewJudgesWarning"]


def peak_memory(model, X, votes):
    """Bytes that a fit holds at most, beside what it was given."""
    tracemalloc.start()
    try:
        model.fit(X, votes)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def votes_of_many_judges(n_judges, n_each):
    X, votes = judged_votes(np.random.default_rng(8), n=200, m=n_judges * n_each)
    return X, votes | {"judge": np.repeat(np.arange(n_judges), n_each)}


def test_sides_of_300_judges_do_not_need_a_column_of_numbers_for_each():
    X, votes = votes_of_many_judges(300, 60)
    model = RankRegression(side_effect="judges", inference=None)
    columns = 8 * len(votes["left"]) * 300  # one matrix of comparisons by judges
    assert peak_memory(model, X, votes) < columns / 2


@pytest.mark.parametrize(
    "settings", [{"judge_slopes": True}, {"inference": "items+judges"}], ids=str
)
def test_20000_judges_need_memory_in_proportion_to_their_votes(settings):
    """A few dozen columns of the votes, whoever gave them, and nothing of judges by judges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, many = (
            peak_memory(RankRegression(**settings), *votes_of_many_judges(n, 3))
            for n in (5000, 20_000)
        )
    assert many < 1.5 * 4 * few
    assert many < 100 * 8 * 60_000


def test_judges_of_strong_effects_and_few_votes_do_not_run_away():
    """As seen: coefficients of -600 and warnings of NumPy, where labels have hardly any noise."""
    rng = np.random.default_rng([23, 9, 3, 50, False, True])
    X, votes, _ = draw_study(rng, per_item=3, sd=5.0, related=False, judges=True)
    settings = {"context": ["length"], "side_effect": True, "ties": "davidson"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = RankRegression(item_effects=True, judge_slopes=True, **settings).fit(X, votes)
    assert np.abs(model.coef_).max() < 5
    assert np.all(np.isfinite(model.std_errors_))


@pytest.mark.parametrize("seed", [5, 9])
def test_a_judge_of_few_answers_is_shrunk_to_the_average(seed):
    """Slopes swung about their maximum, and were said not to converge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    left = rng.integers(0, 60, 319)
    right = (left + rng.integers(1, 60, 319)) % 60
    eta = (X[left] - X[right]) @ [1.0, -1.0, 0.5]
    winner = np.where(eta + rng.logistic(size=319) > 0, "left", "right")
    votes = {"left": left, "right": right, "winner": winner, "judge": [*["A"] * 300, *["B"] * 19]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotConvergedWarning)
        model = RankRegression(judge_slopes=True).fit(X, votes)
    judges = model.judges_
    assert np.mean(judges.slope) == pytest.approx(1)
    assert np.all(np.abs(judges.slope - 1) < 2 * judges.std_error)
