"""Slips: the rate against a joint maximum found otherwise, errors against dense algebra."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from pairscore import PairscoreError, RankRegression
from pairscore.core.links import Lapse, Link, Logit, Probit, with_lapse
from pairscore.core.ties import TieRule
from pairscore.data.comparisons import Comparisons
from pairscore.errors import SeparationWarning
from pairscore.estimators.lapse import LapseRate
from pairscore.estimators.lapse_rate import (
    PRIOR_ANSWERS,
    Answers,
    p_of_no_slips,
    score_in_rate,
    shared_meat,
)
from pairscore.estimators.likelihood import fit_likelihood
from pairscore.estimators.likelihood_solvers import runs_away
from pairscore.estimators.settings import check_settings
from pairscore.estimators.table_data import TableData
from tests.hard_designs import draw as draw_hard

METHODS = ("split", "pooled", "paired", "mle")


def study(seed, slips=0.06, n=150, m=2500, d=3, length=2.2):
    """Items, left, right, outcome and the truth, with slips."""
    rng = np.random.default_rng(seed)
    X, beta = rng.normal(size=(n + 60, d)), np.full(d, length / np.sqrt(d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit((X[left] - X[right]) @ beta)
    won ^= rng.random(m) < slips
    return X, left, right, np.where(won, 1, -1), beta


def votes_of(left, right, outcome, **columns):
    winner = np.array(["right", "tie", "left"])[outcome + 1]
    return {"left": left, "right": right, "winner": winner} | columns


def joint_maximum(D, outcome, amount, f=expit, ridge=0.0):
    """(beta, e) by a general optimiser, with the function that it minimises."""
    share = 0.5 + 0.5 * outcome

    def loss(theta):
        e, p = theta[-1], f(D @ theta[:-1])
        p = e + (1 - 2 * e) * p
        loglik = amount @ (share * np.log(p) + (1 - share) * np.log(1 - p))
        held = 0.5 * ridge @ theta[:-1] ** 2 if np.ndim(ridge) else 0.0
        return -loglik - PRIOR_ANSWERS * np.log1p(-e) + held

    start = np.append(np.full(D.shape[1], 0.5), 0.03)
    bounds = [(None, None)] * D.shape[1] + [(0.0, 0.49)]
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
    found = minimize(loss, start, bounds=bounds, method="L-BFGS-B", options=options)
    return found.x, loss


@pytest.mark.parametrize(("link", "f"), [("logit", expit), ("probit", ndtr)])
@pytest.mark.parametrize("kind", ["plain", "counts", "ties"])
def test_the_rate_and_the_coefficients_are_a_joint_maximum(link, f, kind):
    X, left, right, outcome, _ = study(1)
    rng, columns = np.random.default_rng(5), {}
    amount = np.ones(len(left))
    if kind == "counts":
        amount = rng.integers(1, 4, len(left)).astype(float)
        columns["count"] = amount.astype(int)
    if kind == "ties":
        outcome = np.where(rng.random(len(left)) < 0.1, 0, outcome)
    model = RankRegression(link=link, lapse="auto").fit(
        X, votes_of(left, right, outcome, **columns)
    )
    expected, _ = joint_maximum(X[left] - X[right], outcome, amount, f)
    assert expected[-1] > 0.01
    np.testing.assert_allclose(model.lapse_.rate, expected[-1], atol=1e-6)
    np.testing.assert_allclose(model.coef_, expected[:-1], atol=1e-5)
    plain = RankRegression(link=link).fit(X, votes_of(left, right, outcome, **columns))
    assert np.abs(plain.coef_ - model.coef_).max() > 0.05  # which a fit without slips misses


def test_a_ridge_and_a_rate_are_chosen_together():
    X, left, right, outcome, _ = study(2)
    model = RankRegression(lapse="auto", l2=8.0).fit(X, votes_of(left, right, outcome))
    ridge = 8.0 * model.feature_sd_**2
    expected, _ = joint_maximum(X[left] - X[right], outcome, np.ones(len(left)), ridge=ridge)
    np.testing.assert_allclose(model.lapse_.rate, expected[-1], atol=1e-6)
    np.testing.assert_allclose(model.coef_, expected[:-1], atol=1e-5)
    chosen = RankRegression(lapse="auto", l2="auto").fit(X, votes_of(left, right, outcome))
    again = RankRegression(lapse=chosen.lapse_.rate, l2="auto").fit(
        X, votes_of(left, right, outcome)
    )
    without = RankRegression(l2="auto").fit(X, votes_of(left, right, outcome))
    # the ridge beside the slips of the first round, and not the one without slips
    assert chosen.l2_ == pytest.approx(again.l2_, rel=0.03)
    assert abs(np.log(without.l2_ / again.l2_)) > 0.06


def test_errors_allow_for_that_of_the_rate():
    X, left, right, outcome, _ = study(3)
    model = RankRegression(lapse="auto", inference="model").fit(X, votes_of(left, right, outcome))
    theta, loss = joint_maximum(X[left] - X[right], outcome, np.ones(len(left)))
    step, size = 1e-4, len(theta)
    E = step * np.eye(size)
    hessian = np.array(
        [
            [
                loss(theta + a + b)
                - loss(theta + a - b)
                - loss(theta - a + b)
                + loss(theta - a - b)
                for b in E
            ]
            for a in E
        ]
    ) / (4 * step**2)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    # expected information there, observed here: they differ by the chance of one study
    np.testing.assert_allclose(model.std_errors_, errors[:-1], rtol=0.06)
    np.testing.assert_allclose(model.lapse_.std_error, errors[-1], rtol=0.06)
    known = RankRegression(lapse=model.lapse_.rate, inference="model").fit(
        X, votes_of(left, right, outcome)
    )
    np.testing.assert_allclose(known.coef_, model.coef_, atol=1e-6)
    assert np.all(known.std_errors_ < 0.9 * errors[:-1])  # as if the rate were known


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side", [False, True])
def test_a_given_rate_is_the_link_with_these_slips(method, side):
    X, left, right, outcome, _ = study(4)
    e = 0.05
    own = Link(lambda x: e + (1 - 2 * e) * expit(x), lambda x: (1 - 2 * e) * expit(x) * expit(-x))
    votes = votes_of(left, right, outcome)
    found = RankRegression(method, lapse=e, side_effect=side).fit(X, votes)
    expected = RankRegression(method, link=own, side_effect=side).fit(X, votes)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=2e-5)
    np.testing.assert_allclose(found.std_errors_, expected.std_errors_, rtol=1e-3)
    assert found.lapse_.rate == e
    assert not found.lapse_.estimated
    plain = RankRegression(method, side_effect=side).fit(X, votes)
    assert np.all(np.abs(found.coef_) > 1.05 * np.abs(plain.coef_))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_about_the_rate(method):
    rates = [
        RankRegression(method, lapse="auto", inference=None)
        .fit(X, votes_of(left, right, outcome))
        .lapse_.rate
        for X, left, right, outcome, _ in (study(seed, m=4000) for seed in range(6))
    ]
    # one study has a standard error of about 0.01
    assert np.mean(rates) == pytest.approx(0.06, abs=4 * 0.012 / np.sqrt(6) + 0.005)


def test_without_slips_the_fit_is_the_plain_one():
    found = []
    for seed in range(12):
        X, left, right, outcome, _ = study(seed, slips=0.0, m=800)
        votes = votes_of(left, right, outcome)
        model = RankRegression(lapse="auto").fit(X, votes)
        found.append(model.lapse_.rate)
        if model.lapse_.rate == 0:
            plain = RankRegression().fit(X, votes)
            np.testing.assert_array_equal(model.coef_, plain.coef_)
            np.testing.assert_array_equal(model.covariance_, plain.covariance_)
            assert model.lapse_.p_value == 1
            assert model.lapse_.low == 0
            assert 0 < model.lapse_.high < 0.2
    assert 0.0 in found


def test_one_wrong_answer_pulls_by_a_bounded_amount():
    """The answer about the best and the worst item is turned. Without slips it pulls as hard as
    they are far apart; with them its pull along the score is at most 1.34 / information
    (docs/explanation/methods.md), and here next to nothing.
    """
    X, left, right, outcome, beta = study(7, slips=0.05, n=80, m=600, length=3.0)
    order = np.argsort(X[:80] @ beta)
    left[0], right[0] = order[-1], order[0]
    moves = {}
    for lapse in (0.0, 0.05):
        coefs = []
        for first in (1, -1):
            outcome[0] = first
            model = RankRegression(lapse=lapse, inference="model")
            coefs.append(model.fit(X, votes_of(left, right, outcome)).coef_)
        moved = (coefs[0] - coefs[1]) / model.std_errors_
        moves[lapse] = np.linalg.norm(moved)
    x = (X[left] - X[right]) @ coefs[0]
    link = Lapse(Logit(), 0.05)
    information = float(np.sum(x**2 * link.ratio(x) * link.ratio(-x)))
    along = float((X[left[0]] - X[right[0]]) @ (coefs[0] - coefs[1]))
    assert abs(along) / abs(x[0]) < 2 * 1.34 / information
    assert moves[0.0] > 5 * moves[0.05]


def test_where_slips_explain_all_that_contradicts_a_ridge_holds_the_scale():
    X = np.arange(12.0)[:, None]
    left, right = np.array([(a, b) for a in range(12) for b in range(a)]).T
    outcome = np.ones(len(left), dtype=int)
    outcome[np.argmax(left - right)] = -1  # the last against the first
    with pytest.warns(SeparationWarning, match="slips explain every comparison"):
        model = RankRegression(lapse=0.05).fit(X, votes_of(left, right, outcome))
    assert 0 < model.coef_[0] < 10
    assert np.isfinite(model.std_errors_).all()
    assert any("slips" in note for note in model.notes_)


def test_the_prior_holds_the_rate_where_comparisons_are_separated():
    X = np.arange(12.0)[:, None]
    left, right = np.array([(a, b) for a in range(12) for b in range(a)]).T
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(lapse="auto").fit(X, np.column_stack([left, right]))
    assert model.lapse_.rate == 0
    assert any(issubclass(one.category, SeparationWarning) for one in caught)


@pytest.mark.parametrize("name", ["matched", "never differs", "weights", "half with one item"])
def test_hard_data_have_a_rate(name):
    rng = np.random.default_rng(3)
    drawn = draw_hard(name, rng, 60, 900, 3, spare=20)
    turned = rng.random(900) < 0.08
    columns = {} if drawn.weight is None else {"weight": drawn.weight}
    votes = votes_of(
        drawn.left, drawn.right, np.where(turned, -drawn.outcome, drawn.outcome), **columns
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankRegression(lapse="auto").fit(drawn.X, votes)
    rate = model.lapse_
    assert 0 <= rate.low <= rate.rate <= rate.high <= 0.5
    assert np.isfinite(model.coef_).all()


def test_the_score_in_the_rate_is_a_derivative():
    eta, step = np.array([-6.0, -1.0, 0.3, 4.0]), 1e-6
    for name, t in (("half", 0.0), ("davidson", 0.4), ("rao-kupper", 0.4)):
        for outcome in (-1, 0, 1):
            seen = np.full(len(eta), outcome)
            up, down = (
                TieRule(name, Lapse(Logit(), 0.05 + s))
                .derivatives(eta, seen.astype(float), t)
                .value
                for s in (step, -step)
            )
            found = score_in_rate(TieRule(name, Lapse(Logit(), 0.05)), eta, seen, t)
            np.testing.assert_allclose(found, (up - down) / (2 * step), rtol=1e-5, atol=1e-6)


def test_derivatives_along_a_score_are_those_of_the_value():
    rng = np.random.default_rng(0)
    x = np.abs(rng.normal(size=40)) * 3
    right, wrong = rng.integers(0, 5, (2, 3, 40)).astype(float)
    answers = Answers(x, right, wrong, Logit(), pull=1.3)
    scale, rate, h = np.array([0.8, 1.0, 1.4]), np.array([0.03, 0.1, 0.2]), 1e-5
    _, gradient, observed, _ = answers.derivatives(scale, rate)
    moves = ((h, 0.0), (0.0, h))
    for number, (a, b) in enumerate(moves):
        up, down = (answers.derivatives(scale + s * a, rate + s * b) for s in (1, -1))
        np.testing.assert_allclose(gradient[number], (up[0] - down[0]) / (2 * h), rtol=1e-6)
        second = -(up[1] - down[1]) / (2 * h)
        np.testing.assert_allclose(observed[number], second[0], rtol=1e-5)
        np.testing.assert_allclose(observed[number + 1], second[1], rtol=1e-5)


def test_bins_have_the_likelihood_of_the_answers():
    X, left, right, outcome, beta = study(9, m=20_000)
    x = (X[left] - X[right]) @ beta
    win = (outcome > 0).astype(float)
    every = Answers.of_differences(x, win, 1 - win, Logit())
    bins = every.in_bins()
    assert len(bins.x) <= 96
    best, of_bins = every.near(0.0), bins.near(0.0)
    assert of_bins.rate[0] == pytest.approx(best.rate[0], abs=2e-3)
    fall = [one.near(0.0).value[0] - one.at_rate(0.0) for one in (every, bins)]
    assert fall[1] == pytest.approx(fall[0], rel=0.05)
    assert p_of_no_slips(bins, 1.0) == 1 / 500
    clean = Answers.of_differences(x, expit(x), expit(-x), Logit()).in_bins()
    assert p_of_no_slips(clean, 1.0) > 0.3


def test_the_meat_of_comparisons_that_share_items_is_a_double_sum():
    X, left, right, outcome, _ = study(11, n=25, m=120, d=2)
    votes = votes_of(left, right, outcome)
    comparisons = Comparisons.from_frames(X, votes)[0].with_relative_weights()
    data = TableData(comparisons, False)
    results = []
    for e in (0.05, 0.051):
        settings = check_settings(lapse=e, inference="items")
        results.append(fit_likelihood(data, settings))
    meat, own = shared_meat(data, results[0], results[1], 0.001)
    link = Lapse(Logit(), 0.05)
    eta = (X[left] - X[right]) @ results[0].coef
    D = (results[1].coef - results[0].coef) / 0.001
    u = (1 - 2 * expit(outcome * eta)) / link.cdf(outcome * eta)
    u += outcome * link.ratio(outcome * eta) * ((X[left] - X[right]) @ D)
    of_items = np.zeros(len(X))
    of_pairs = {}
    for one, a, b in zip(u, left, right, strict=True):
        of_items[a] += one
        of_items[b] += one
        pair = (min(a, b), max(a, b))
        of_pairs[pair] = of_pairs.get(pair, 0.0) + one
    expected = sum(one**2 for one in of_pairs.values())
    assert own == pytest.approx(expected, rel=1e-6)
    assert meat == pytest.approx(np.sum(of_items**2) - expected, rel=1e-6)


@pytest.mark.parametrize("value", [-0.1, 0.5, 0.9, "often", True, None])
def test_what_is_no_rate_is_refused(value):
    with pytest.raises(PairscoreError, match="lapse"):
        RankRegression(lapse=value).fit(np.eye(3), np.array([[0, 1], [1, 2]]))


def test_what_is_said_of_slips():
    X, left, right, outcome, _ = study(1)
    model = RankRegression(lapse="auto").fit(X, votes_of(left, right, outcome))
    text = str(model.summary())
    assert f"about {100 * model.lapse_.rate:.2g} of 100 answers look like slips" in text
    assert model.summary().to_record()["lapse"]["estimated"]
    assert "slips" not in str(RankRegression().fit(X, votes_of(left, right, outcome)).summary())
    quick = RankRegression(lapse="auto", inference=None).fit(X, votes_of(left, right, outcome))
    assert quick.lapse_.rate == model.lapse_.rate
    assert quick.lapse_.p_value is None


def test_probabilities_are_those_of_answers():
    X, left, right, outcome, _ = study(1)
    model = RankRegression(lapse=0.05).fit(X, votes_of(left, right, outcome))
    pairs = Comparisons.from_pairs(X, [0], [1])
    x = float(model.decision_function(pairs)[0])
    expected = 0.05 + 0.9 * expit(x)
    assert model.predict_proba(pairs)[0, 1] == pytest.approx(expected, rel=1e-9)
    every = model.predict_proba(Comparisons.from_pairs(X, left, right))
    assert every.max() < 0.95


def few_comparisons(seed):
    """Of items of three features, with a left item that wins one in ten whatever its score."""
    rng = np.random.default_rng(seed)
    n, m = [(5, 8), (5, 4), (8, 20), (20, 80), (12, 40)][seed % 5]
    X = rng.normal(size=(n, 3))
    score = X @ [1, 1, 0]
    left = rng.integers(n, size=m)
    right = (left + 1 + rng.integers(n - 1, size=m)) % n
    outcome = np.where((rng.random(m) < 0.9) & (score[left] < score[right]), -1, 1)
    return X, votes_of(left, right, outcome)


@pytest.mark.parametrize(
    ("seed", "lapse", "side"),
    [
        (0, 0.2, False),
        (10, 0.01, True),
        (30, 0.01, True),
        (141, 0.2, False),
        (172, 0.2, True),
        (68, "auto", False),
        (233, "auto", True),
    ],
)
def test_scores_are_finite_where_slips_and_a_separation_explain_everything(seed, lapse, side):
    """Some direction separates what it touches, and slips explain what contradicts the others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(lapse=lapse, side_effect=side).fit(*few_comparisons(seed))
    assert np.max(np.abs(model.coef_)) < 20
    assert any("slips explain every comparison" in str(one.message) for one in caught)
    assert not [one for one in caught if issubclass(one.category, RuntimeWarning)]


def test_a_side_of_either_sign_runs_away():
    X, votes = few_comparisons(3)
    data = TableData(Comparisons.from_frames(X, votes)[0], True)
    assert not runs_away(data, np.array([1.0, 1.0, 0.0, -1.0]))
    for side in (-1e3, 1e3):
        assert runs_away(data, np.array([1.0, 1.0, 0.0, side]))


@pytest.mark.parametrize("far", [30.0, 800.0])
def test_an_answer_against_a_huge_difference_has_numbers_for_derivatives(far):
    answers = Answers(np.array([0.5, far]), np.array([9.0, 5.0]), np.array([2.0, 1.0]), Logit())
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = answers.near(0.0)
    assert 0 < found.rate[0] < 0.5
    assert np.isfinite(found.value[0])


def test_what_is_said_of_slips_names_them():
    """On a page it stands alone, where "none seen" names nothing."""
    none = LapseRate(0.0, True, 0.0, 0.016, None, 1.0)
    assert none.in_words == "no answer looks like a slip (95 % interval 0 to 1.6 of 100)"
    some = LapseRate(0.04, True, 0.02, 0.06, 0.01, 0.002)
    assert some.in_words.startswith("about 4 of 100 answers look like slips (95 % interval 2 to 6")
    assert LapseRate(0.05).in_words == "5 of 100 answers, as given"
    assert not LapseRate().in_words


@pytest.mark.parametrize("link", [Logit(), Probit()])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.3])
def test_the_likelihood_along_a_score_is_that_of_the_link_with_slips(link, rate):
    """Differences that are equal, tiny and far apart, amounts of 1000 and 0.001."""
    x = np.array([0.0, 0.0, 1e-6, 0.3, 2.0, 2.0, 6.0, 30.0])
    right = np.array([1.0, 1e3, 1e-3, 4.0, 1e3, 0.0, 1e-3, 5.0])
    wrong = np.array([1.0, 1e-3, 1e3, 3.0, 2.0, 1.0, 1e-3, 1.0])
    answers = Answers(x, right, wrong, link, prior=0.0)
    scale = 1.3

    def value(scale, rate):
        slipping = with_lapse(link, rate)
        return right @ slipping.log_cdf(scale * x) + wrong @ slipping.log_cdf(-scale * x)

    found, gradient, *_ = answers.derivatives(np.array([scale]), np.array([rate]))
    in_score, _ = with_lapse(link, rate).score(scale * x, right, wrong)
    step = 1e-6 * rate
    in_rate = (value(scale, rate + step) - value(scale, rate - step)) / (2 * step)
    assert found[0] == pytest.approx(value(scale, rate), rel=1e-12)
    assert gradient[0, 0] == pytest.approx(in_score @ x, rel=1e-9)
    assert gradient[1, 0] == pytest.approx(in_rate, rel=1e-5)


def hard_study(kind):
    """Items and comparisons of two features, answers by a logit with slips of 5 in 100."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 2))
    left = rng.integers(0, 80, 1500)
    right = (left + rng.integers(1, 80, 1500)) % 80
    if kind == "matched":  # the partner is alike in the second feature, to 0.1 % of its spread
        X[40:, 1] = X[:40, 1] + 1e-3 * X[40:, 1]
        left = rng.integers(0, 40, 1500)
        right = left + 40
    if kind == "constant":
        X[:, 1] = 4.0
    won = rng.random(1500) < 0.05 + 0.9 / (1 + np.exp(2 * (X[right, 0] - X[left, 0])))
    turn = rng.random(1500) < 0.5
    first, second = np.where(turn, left, right), np.where(turn, right, left)
    winner = np.where(won == turn, "left", "right")
    votes = {"left": first, "right": second, "winner": winner}
    if kind == "weights":
        votes["weight"] = np.where(rng.random(1500) < 0.5, 1e3, 1e-3)
    return X, votes


@pytest.mark.filterwarnings("ignore::pairscore.PairscoreWarning")
@pytest.mark.parametrize("kind", ["plain", "matched", "constant", "weights"])
def test_slips_on_hard_data_are_the_maximum_that_a_direct_search_finds(kind):
    """Over the coefficients at the rate that was found, by SciPy on the formula itself."""
    X, votes = hard_study(kind)
    model = RankRegression(lapse="auto").fit(X, votes)
    rate = model.lapse_.rate
    difference = X[votes["left"]] - X[votes["right"]]
    sign = np.where(votes["winner"] == "left", 1.0, -1.0)
    weight = votes.get("weight", np.ones(len(sign)))

    def loss(beta):
        chance = rate + (1 - 2 * rate) / (1 + np.exp(-sign * (difference @ beta)))
        return -weight @ np.log(chance) / weight.sum()

    best = minimize(
        loss, model.coef_, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    assert 0 <= rate < 0.5
    assert np.isfinite(model.coef_).all()
    assert loss(model.coef_) <= best.fun + 1e-10
