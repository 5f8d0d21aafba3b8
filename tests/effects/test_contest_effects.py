"""Item effects together with judges' slopes, ties and context.

Formulas against naive twins, the whole against a known truth.
"""

import warnings
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from pairscore import Comparisons, RankRegression, load
from pairscore.core.links import Logit, get_link
from pairscore.core.outcomes import OutcomeLaw, TieRule, averaged_probabilities
from pairscore.core.sums import Pairs
from pairscore.effects.comparison_fit import prepare_fit
from pairscore.effects.fit import moves_with_variance
from pairscore.effects.judges import Judged, slope_equations
from pairscore.effects.shared_items import Equation, Seen
from pairscore.effects.single_comparisons import climb
from pairscore.errors import FewItemsWarning, SeparationWarning
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.settings import Settings

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
BETA = np.array([1.0, -0.5, 0.7])
LAWS = [
    OutcomeLaw(TieRule("half", Logit())),
    OutcomeLaw(TieRule("davidson", Logit()), 0.3),
    OutcomeLaw(TieRule("rao-kupper", Logit()), 0.5),
]


def rows_of(law, rng, n_items=7, m=40, n_judges=3, slopes=(1.3, -0.4, 0.6)):
    """Single comparisons with a judge each, sorted by pair, as their low items see them."""
    left = rng.integers(0, n_items, m)
    right = (left + rng.integers(1, n_items, m)) % n_items
    key = np.sort(np.minimum(left, right) * n_items + np.maximum(left, right))
    keys, place = np.unique(key, return_inverse=True)
    start = np.searchsorted(keys // n_items, np.arange(n_items + 1)).astype(np.int32)
    pairs = Pairs(
        start,
        (keys % n_items).astype(np.int32),
        np.bincount(place).astype(float)[None],
        np.zeros((1, len(keys))),
        np.zeros(1),
    )
    judge, side = rng.integers(0, n_judges, m), 0.2 * rng.normal(size=m)
    outcome = rng.integers(-1, 2, m) if law.rule.has_parameter else rng.choice([-1, 1], m)
    delta = pairs.differences(rng.normal(size=n_items))[place]
    seen = Seen(pairs, place, law, np.zeros(m), (1 + outcome) / 2, (1 - outcome) / 2)
    judged = Judged(seen, delta, side, judge, n_judges)
    return judged, np.array(slopes)


def shared_covariance(law, one, other, sigma2):
    """Covariance of the outcomes of (eta, sharpness) and (eta', sharpness') that share an item, by
    quadrature over its effect.
    """
    sd = np.sqrt(sigma2)
    curves = [
        law.mean(eta + sharp * sd * (NODES[:, None] - NODES)) @ WEIGHTS
        for eta, sharp in (one, other)
    ]
    return WEIGHTS @ (curves[0] * curves[1]) - (WEIGHTS @ curves[0]) * (WEIGHTS @ curves[1])


@pytest.mark.parametrize("law", LAWS)
def test_the_equation_with_judges_and_ties_is_a_sum_over_two_different_pairs_of_an_item(law):
    judged, slopes = rows_of(law, np.random.default_rng(0))
    # fitted at this very variance, so that nothing is stretched
    seen, sigma2 = replace(judged.at(slopes), sigma2=0.8), 0.8
    pairs, place = seen.pairs, seen.place
    assert seen.kappa(2 * sigma2) == pytest.approx(1)
    mean = (
        averaged_probabilities(law, seen.eta, np.abs(seen.sharpness) * np.sqrt(2 * sigma2))
        * np.array([[0], [0.5], [1]])
    ).sum(axis=0)
    residual = seen.sharpness * (seen.win - mean)  # a judge counts by the slope
    naive = np.zeros(7)
    for item in range(7):
        mine = [
            (row, 1 if pairs.low[place[row]] == item else -1)
            for row in range(len(place))
            if item in (pairs.low[place[row]], pairs.high[place[row]])
        ]
        for (p, sign), (q, other) in permutations(mine, 2):
            if place[p] != place[q]:
                rows = [
                    (turn * seen.eta[row], seen.sharpness[row])
                    for row, turn in ((p, sign), (q, other))
                ]
                shared = (
                    seen.sharpness[p] * seen.sharpness[q] * shared_covariance(law, *rows, sigma2)
                )
                naive[item] += sign * residual[p] * other * residual[q] - shared
    np.testing.assert_allclose(Equation(seen, np.ones(7), 1.0).excess(sigma2), naive, atol=2e-3)
    alike = replace(seen, sharpness=None)
    # judges taken for one
    assert np.abs(Equation(alike, np.ones(7), 1.0).excess(sigma2) - naive).max() > 0.05


def test_stretching_there_and_back_is_nothing():
    judged, slopes = rows_of(LAWS[1], np.random.default_rng(1), m=400, n_items=30)
    narrow = judged.at(slopes)
    factor = narrow.kappa(1.5)
    wide = replace(narrow, eta=factor * narrow.eta, sigma2=0.75)
    assert factor > 1.05
    assert wide.kappa(0.0) == pytest.approx(1 / factor, rel=5e-3)


def test_many_judges_share_tables():
    rng = np.random.default_rng(2)
    judged, slopes = rows_of(
        LAWS[0], rng, n_items=30, m=3000, n_judges=60, slopes=1 + 0.4 * rng.normal(size=60)
    )
    seen = replace(judged.at(slopes), sigma2=0.8)
    grouped = Equation(seen, np.ones(30), 1.0).excess(0.8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairscore.effects.shared_items.MOST_KINDS", 100)
        exact = Equation(replace(seen), np.ones(30), 1.0).excess(0.8)
    assert len(seen.kinds[0]) <= 24
    np.testing.assert_allclose(grouped, exact, atol=0.01 * np.abs(exact).max())


def marginal_log_likelihood(judged, slopes, sigma2):
    """log of the likelihood averaged over the effects of three items, on a grid in three
    dimensions.
    """
    seen, law = judged.at(slopes), judged.rows.law
    total = 0.0
    for place in product(range(24), repeat=2):
        effects = np.sqrt(sigma2) * np.column_stack(
            [np.full(24, NODES[place[0]]), np.full(24, NODES[place[1]]), NODES]
        )
        moved = (
            seen.sharpness
            * (effects[:, seen.pairs.low] - effects[:, seen.pairs.high])[:, seen.place]
        )
        value = (
            law.rule.derivatives(
                (seen.eta + moved).ravel(), np.tile(seen.win - seen.lose, 24), law.t
            )
            .value.reshape(24, -1)
            .sum(axis=1)
        )
        total += WEIGHTS[place[0]] * WEIGHTS[place[1]] * (WEIGHTS @ np.exp(value))
    return np.log(total)


@pytest.mark.parametrize("law", LAWS)
def test_the_score_of_a_slope_is_the_derivative_of_the_marginal_likelihood(law):
    ours, rival, exact = [], [], []
    for seed in range(3):
        judged, slopes = rows_of(
            law, np.random.default_rng([3, seed]), n_items=3, m=18, n_judges=2, slopes=(1.4, 0.6)
        )
        found = slope_equations(judged, slopes, 0.7)
        for judge in range(2):
            step = 1e-3 * np.eye(2)[judge]
            exact.append(
                (
                    marginal_log_likelihood(judged, slopes + step, 0.7)
                    - marginal_log_likelihood(judged, slopes - step, 0.7)
                )
                / 2e-3
            )
        ours += found.score.tolist()
        with pytest.MonkeyPatch.context() as patch:  # effects at their mode, as if they were known
            patch.setattr(
                "pairscore.effects.judges.normal_grid", lambda _: (np.zeros(1), np.ones(1))
            )
            rival += slope_equations(judged, slopes, 0.7).score.tolist()
    ours_off, rival_off = (np.abs(np.array(one) - exact).mean() for one in (ours, rival))
    assert ours_off < 0.2 * np.abs(exact).mean()  # the posterior is taken for normal
    assert rival_off > 2 * ours_off


def test_the_information_of_a_slope_is_the_bend_of_the_marginal_likelihood():
    """Less what not knowing the effects takes off; without that it would be further off."""
    ours, rival, exact = [], [], []
    for seed in range(6):
        rng = np.random.default_rng([4, seed])
        judged, slopes = rows_of(LAWS[0], rng, n_items=3, m=60, n_judges=2, slopes=(1.2, 0.8))
        seen = judged.at(slopes)
        won = (
            rng.random(60) < LAWS[0].mean(seen.eta + seen.moved(np.sqrt(0.7) * rng.normal(size=3)))
        ).astype(float)
        judged = replace(judged, rows=replace(judged.rows, win=won, lose=1 - won))
        found = slope_equations(judged, slopes, 0.7)
        for judge in range(2):
            here, up, down = (
                marginal_log_likelihood(judged, slopes + step * np.eye(2)[judge], 0.7)
                for step in (0.0, 0.01, -0.01)
            )
            exact.append(-(up - 2 * here + down) / 0.01**2)
        ours += found.information.tolist()
        rival += found.known.tolist()
    off, rival_off = (np.abs(np.array(one) - exact).mean() for one in (ours, rival))
    assert off < 0.5 * rival_off
    assert off < 0.25 * np.mean(exact)


def contest(seed, rule="half", spread=0.4, n=150, m=2400, sigma=0.8, beta=BETA, n_judges=12):
    """Votes with context, side, judges' slopes, ties and item effects."""
    rng = np.random.default_rng([5, seed])
    X, slopes = rng.normal(size=(n, 3)) + 3, 1 + spread * rng.normal(size=n_judges)
    slopes /= slopes.mean()
    left, judge, rest = rng.integers(0, n, m), rng.integers(0, n_judges, m), rng.normal(size=m)
    right = (left + rng.integers(1, n, m)) % n
    score = X @ np.array(beta) + sigma * rng.normal(size=n)
    eta = slopes[judge] * (score[left] - score[right] + 0.4 * rest) + 0.2
    loss, _, win = TieRule(rule, get_link("logit")).probabilities(eta, 0.5)
    chance = rng.random(m)
    outcome = np.where(chance < win, "left", np.where(chance > 1 - loss, "right", "tie"))
    return (
        X,
        {"left": left, "right": right, "winner": outcome, "judge": judge, "rest": rest},
        slopes,
    )


def test_coefficients_are_those_of_a_general_optimiser_of_the_averaged_likelihood():
    X, votes, _ = contest(0, "davidson", spread=0.0, n=40, m=300)
    model = RankRegression(
        item_effects=True, context=["rest"], side_effect=True, ties="davidson"
    ).fit(X, votes)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    columns = np.column_stack([X[data.left] - X[data.right], votes["rest"], np.ones(300)])
    wide, sigma2 = np.sqrt(2 * model.item_effects_.sigma2), model.item_effects_.sigma2

    def loss(theta):
        chances = averaged_probabilities(
            OutcomeLaw(TieRule("davidson", Logit()), theta[5]),
            columns @ theta[:5],
            np.full(300, wide),
        )
        return -np.sum(np.log(np.choose(data.outcome + 1, chances)))

    best = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-6}).x
    assert sigma2 > 0.05
    np.testing.assert_allclose(
        np.concatenate([model.coef_, model.effects_.values]), best, atol=2e-4
    )


def test_estimates_move_with_the_variance_as_fits_do():
    X, votes, _ = contest(0, "davidson", spread=0.0, n=60, m=900)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    asked = prepare_fit(
        FitData(data, True),
        Settings("mle", Logit(), context=("rest",), side_effect=True, ties="davidson"),
    )
    tops = [
        climb(
            replace(asked.contest, effect_variance=2 * sigma2),
            asked.contest.start(asked.plain.coef),
            100,
            1e-14,
        )
        for sigma2 in (0.5, 0.49, 0.51)
    ]
    flat = [top.contest.flat(top.params) for top in tops]
    np.testing.assert_allclose(
        moves_with_variance(tops[0], 0.5), (flat[2] - flat[1]) / 0.02, rtol=0.05, atol=1e-3
    )


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_slopes_ties_context_and_effects_of_items_are_recovered_together():
    """Means by z-tests at 4.3 errors.

    Coverages between the 1e-5 quantiles of 95 %, for slopes of as many as if judges of a study were
    three.
    """
    off, held, slope_off, slope_held, n = [], [], [], [], 12
    for seed in range(n):
        X, votes, slopes = contest(seed, "rao-kupper")
        model = RankRegression(
            item_effects=True,
            context=["rest"],
            side_effect=True,
            ties="rao-kupper",
            judge_slopes=True,
        ).fit(X, votes)
        gap = np.concatenate([model.coef_ - BETA, model.effects_.values - [0.4, 0.2, 0.5]])
        low, high = model.item_effects_.interval
        off.append([*gap, model.item_effects_.sigma2 - 0.64])
        held.append(
            [
                *(np.abs(gap) < 1.96 * np.append(model.std_errors_, model.effects_.std_errors)),
                low <= 0.64 <= high,
            ]
        )
        slope_off.append(np.polyfit(slopes - 1, model.judges_.slope - 1, 1)[0])
        slope_held.append(
            np.mean(np.abs(model.judges_.slope - slopes) < 1.96 * model.judges_.std_error)
        )
    off = np.array(off)
    assert np.all(np.abs(off.mean(axis=0)) < 4.3 * off.std(axis=0, ddof=1) / np.sqrt(n) + 0.01)
    low, high = binom.ppf([1e-5, 1 - 1e-5], 7 * n, 0.95) / (7 * n)
    assert low <= np.mean(held) <= high
    low, _ = binom.ppf([1e-5, 1 - 1e-5], 3 * n, 0.95) / (3 * n)
    assert np.mean(slope_held) >= low
    assert 0.7 < np.mean(slope_off) < 1.1  # shrunk a little towards one


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_judges_are_told_apart_by_items_that_features_do_not_describe():
    """With features that say next to nothing, a judge's votes are held against what others say of
    the items.
    """
    X, votes, _ = contest(3, beta=(0.05, 0.0, 0.0), sigma=1.5, m=3000, spread=0.1)
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


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
def test_judges_who_vote_against_the_others_do_not_hide_what_items_are():
    """The same votes, those of two inverted judges turned round, say the same of sigma^2 and of
    scores.
    """
    ratio, variance = [], []
    for seed in range(10):
        X, votes, _ = contest(seed, spread=0.0, n=80, n_judges=6)
        against = votes["judge"] >= 4
        turned = votes | {
            "winner": np.where(
                against, np.where(votes["winner"] == "left", "right", "left"), votes["winner"]
            )
        }
        one, other = (
            RankRegression(item_effects=True, judge_slopes=True, inference=None).fit(X, these)
            for these in (votes, turned)
        )
        # slopes average to one in both, so scores are in another unit
        unit = one.coef_[0] / other.coef_[0]
        ratio.append(other.item_effects_.sigma2 * unit**2 / one.item_effects_.sigma2)
        variance.append(one.item_effects_.sigma2)
        assert np.isfinite(other.item_effects_.interval[1])
        assert np.flatnonzero(other.judges_.slope < 0).tolist() == [4, 5]
    assert abs(np.mean(ratio) - 1) < 0.1
    assert abs(np.mean(variance) - 0.64) < 4.3 * np.std(variance, ddof=1) / np.sqrt(10) + 0.02


def test_the_model_is_kept_updated_and_asked_with_all_of_it(tmp_path):
    X, votes, _ = contest(1, "rao-kupper", n=80, m=1500)
    settings = {
        "item_effects": True,
        "judge_slopes": True,
        "ties": "rao-kupper",
        "context": ["rest"],
        "side_effect": True,
        "inference": "items+judges",
    }
    model = RankRegression(**settings).fit(X, votes)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    model.save(tmp_path / "m.npz", data=True)
    again = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    np.testing.assert_array_equal(again.predict_ties(data), model.predict_ties(data))
    known, slope = (
        model.item_effects_,
        dict(zip(model.judges_.name.tolist(), model.judges_.slope, strict=True)),
    )
    wide = np.sqrt(known.std_error[data.left] ** 2 + known.std_error[data.right] ** 2) * np.abs(
        [slope[name] for name in data.judge.tolist()]
    )
    tie = averaged_probabilities(
        OutcomeLaw(TieRule("rao-kupper", Logit()), model.tie_parameter_),
        model.decision_function(data),
        wide,
    )[1]
    np.testing.assert_allclose(model.predict_ties(data), tie)
    first = {name: column[:1000] for name, column in votes.items()}
    rest = {name: column[1000:] for name, column in votes.items()}
    updated = RankRegression(**settings).fit(X, first).update(rest)
    np.testing.assert_allclose(updated.coef_, model.coef_, rtol=1e-3)
    np.testing.assert_allclose(updated.judges_.slope, model.judges_.slope, atol=2e-3)
    text = str(model.summary())
    for part in ("judges  ", "ties (rao-kupper)", "context rest", "item effects"):
        assert part in text


def test_many_items_go_by_messages_with_nearly_the_same_slopes(monkeypatch):
    X, votes, _ = contest(2, n=200, m=3000)
    exact = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes)
    monkeypatch.setattr("pairscore.effects.item_posterior.EXACT_ITEMS", 50)
    monkeypatch.setattr("pairscore.effects.judges.EXACT_ITEMS", 50)
    sparse = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes)
    np.testing.assert_allclose(sparse.judges_.slope, exact.judges_.slope, atol=0.03)
    np.testing.assert_allclose(sparse.judges_.std_error, exact.judges_.std_error, rtol=0.1)
    assert sparse.item_effects_.sigma2 == pytest.approx(exact.item_effects_.sigma2, rel=0.02)


def test_without_effects_of_items_slopes_are_those_of_the_plain_fit():
    X, votes, _ = contest(4, sigma=0.0)
    both, plain = (
        RankRegression(item_effects=True, judge_slopes=True).fit(X, votes),
        RankRegression(judge_slopes=True).fit(X, votes),
    )
    assert both.item_effects_.sigma2 < 0.05
    np.testing.assert_allclose(both.judges_.slope, plain.judges_.slope, atol=0.1)
    np.testing.assert_allclose(both.coef_, plain.coef_, rtol=0.06)


def test_the_asked_contest_has_a_column_for_every_effect():
    X, votes, _ = contest(5, n=40, m=300)
    data, _ = Comparisons.from_frames(X, votes, context=["rest"])
    asked = prepare_fit(
        FitData(data, True), Settings("mle", Logit(), context=("rest",), side_effect=True)
    )
    assert asked.effect_names == ("rest", "left")
    assert asked.contest.context.shape[1] == asked.contest.sides.shape[1] == 1


def test_weights_have_no_unit():
    X, votes, _ = contest(6, n=60, m=900)
    table = pd.DataFrame(votes)
    one, ten = (
        RankRegression(item_effects=True, judge_slopes=True, inference=None).fit(
            X, table.assign(weight=weight)
        )
        for weight in (np.ones(900), np.full(900, 10.0))
    )
    np.testing.assert_allclose(one.coef_, ten.coef_, rtol=1e-4)
    np.testing.assert_allclose(one.judges_.slope, ten.judges_.slope, atol=1e-3)
    assert one.item_effects_.sigma2 == pytest.approx(ten.item_effects_.sigma2, rel=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"ties": "rao-kupper"},
        {"ties": "davidson", "judge_slopes": True},
        {"link": "probit", "judge_slopes": True},
    ],
)
def test_a_context_that_explains_every_comparison_leaves_items_out(settings):
    X, votes, _ = contest(7, "davidson", n=60, m=700)
    votes["all"] = np.where(
        votes["winner"] == "left", 1.0, np.where(votes["winner"] == "right", -1.0, 0.0)
    )
    with pytest.warns(SeparationWarning, match="item effects are taken as none"):
        model = RankRegression(item_effects=True, context=["all"], **settings).fit(X, votes)
    assert model.item_effects_.sigma2 == 0
    assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_few_votes_large_effects_coins_and_hardly_any_decision_end_in_a_model(link):
    for seed in range(4):
        rng = np.random.default_rng([60, seed])
        X, votes, _ = contest(seed, "rao-kupper", n=60, m=400, sigma=2.5)
        votes["winner"] = np.where(
            (votes["judge"] < 4) & (votes["winner"] != "tie"),
            rng.choice(["left", "right"], 400),
            votes["winner"],
        )
        nearly = votes | {
            "winner": np.where(
                np.arange(400) < 5, np.where(rng.random(400) < 0.5, "left", "right"), "tie"
            )
        }
        for these, ties in ((votes, "half"), (votes, "rao-kupper"), (nearly, "rao-kupper")):
            model = RankRegression(item_effects=True, judge_slopes=True, ties=ties, link=link).fit(
                X, these
            )
            assert np.all(np.isfinite(model.coef_))
            assert np.all(np.isfinite(model.judges_.slope))
            assert np.isfinite(model.item_effects_.sigma2)


def test_errors_do_not_depend_on_the_unit_of_the_context():
    X, votes, _ = contest(8, n=60, m=900)
    small = votes | {"rest": 1e-9 * votes["rest"]}
    one, other = (
        RankRegression(item_effects=True, judge_slopes=True, context=["rest"]).fit(X, these)
        for these in (votes, small)
    )
    np.testing.assert_allclose(other.std_errors_, one.std_errors_, rtol=1e-3)
    np.testing.assert_allclose(1e-9 * other.effects_.std_errors, one.effects_.std_errors, rtol=1e-3)


@pytest.mark.parametrize("judge", [np.zeros(400, dtype=int), np.arange(400)])
def test_where_judges_say_too_little_that_is_said(judge):
    X, votes, _ = contest(9, n=60, m=400)
    with pytest.warns(FewItemsWarning, match="fewer than two judges have votes enough"):
        model = RankRegression(item_effects=True, judge_slopes=True).fit(
            X, votes | {"judge": judge}
        )
    assert np.all(model.judges_.slope == 1)


def test_of_very_many_judges_the_diagonal_is_enough(monkeypatch):
    X, votes, _ = contest(10, n=100, m=6000, n_judges=40)
    whole = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes)
    monkeypatch.setattr("pairscore.effects.judges.MOST_JUDGES", 10)
    diagonal = RankRegression(item_effects=True, judge_slopes=True).fit(X, votes)
    np.testing.assert_allclose(diagonal.judges_.slope, whole.judges_.slope, atol=0.03)
    np.testing.assert_allclose(diagonal.judges_.std_error, whole.judges_.std_error, rtol=0.1)


def test_one_outlying_value_of_the_context_does_not_hide_the_items():
    X, votes, _ = contest(11, n=60, m=900)
    won = np.flatnonzero(votes["winner"] == "left")[0]
    votes["rest"][won] = 99_999.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        model = RankRegression(item_effects=True, context=["rest"]).fit(X, votes)
    assert model.item_effects_.sigma2 > 0
