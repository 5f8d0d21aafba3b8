"""Probabilities that mean what they say, and fits that stay finite."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit

from pairscore import Comparisons, RankRegression
from pairscore.core.links import Logit, Probit, get_link
from pairscore.errors import SeparationWarning
from pairscore.estimators.scale import fit_scale, initial_factor
from tests.laws import GaussianStudy

METHODS = ["split", "pooled", "paired", "mle"]


def calibration_gaps(model, study, rng, n_new=3000, n_comparisons=100_000):
    """Per tenth of the predicted probability.

    Observed win share of new pairs of new items, minus predicted.
    """
    X = rng.normal(size=(n_new, study.n_features)) @ study.root.T
    left = rng.integers(0, n_new, n_comparisons)
    right = (left + rng.integers(1, n_new, n_comparisons)) % n_new
    won = rng.random(n_comparisons) < expit((X[left] - X[right]) @ study.beta)
    predicted = expit((X[left] - X[right]) @ model.coef_)
    tenth = np.minimum((predicted * 10).astype(int), 9)
    return np.array([np.mean(won[tenth == t]) - np.mean(predicted[tenth == t]) for t in range(10)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("n_items", "n_comparisons", "n_features"), [(400, 4000, 8), (2500, 25_000, 100)]
)
def test_probabilities_for_new_items_are_calibrated(method, n_items, n_comparisons, n_features):
    """In every tenth, within two points plus Monte-Carlo error, over several studies."""
    study = GaussianStudy(n_items, n_comparisons, n_features)
    gaps = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, votes = study.draw(rng)
        data, _ = Comparisons.from_frames(
            X, votes, covariance_items=np.arange(n_items, 2 * n_items)
        )
        model = RankRegression(method, inference=None).fit(data)
        gaps.append(calibration_gaps(model, study, rng))
    gaps = np.array(gaps)
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    assert np.all(np.abs(gaps.mean(axis=0)) < 0.02 + 4 * error), gaps.mean(axis=0)


def test_the_length_of_a_closed_form_alone_is_no_scale():
    """The rival that inverts c1(q) q is far off at d = 100, because noise lengthens the closed
    form.
    """
    study = GaussianStudy(500, 5000, 100)
    rng = np.random.default_rng(0)
    X, votes = study.draw(rng)
    model = RankRegression("split", inference=None).fit(
        X, votes, covariance_items=np.arange(500, 1000)
    )
    assert np.abs(calibration_gaps(model, study, rng)).max() < 0.05
    b = model.closed_form_coef_
    model.coef_ = b * initial_factor(np.linalg.norm(study.root.T @ b), 0.25)
    assert np.abs(calibration_gaps(model, study, rng)).max() > 0.1


def test_the_starting_factor_inverts_the_normal_links_length():
    """c1(q) q = 4 q phi(0) / sqrt(1 + 2 q^2) for probit."""
    for q in (0.01, 0.5, 2.0):
        length = 4 * q / np.sqrt(2 * np.pi) / np.sqrt(1 + 2 * q * q)
        assert initial_factor(length, 1 / np.sqrt(2 * np.pi)) * length == pytest.approx(
            q, rel=1e-10
        )


@pytest.mark.parametrize("link", [Logit(), Probit()])
@pytest.mark.parametrize("side", [False, True])
def test_the_scale_maximises_its_likelihood(link, side):
    rng = np.random.default_rng(0)
    x = rng.normal(size=30_000)
    outcome = np.where(rng.random(len(x)) < link.cdf(0.7 * x + 0.2 * side), 1, -1)
    outcome[::7] = 0
    amount = rng.uniform(0.5, 2, len(x))
    scale = fit_scale(x, outcome, amount, link, 1.0, side)
    win, lose = (
        amount * (outcome == 1) + amount * (outcome == 0) / 2,
        amount * (outcome == -1) + amount * (outcome == 0) / 2,
    )

    def loss(at):
        return -float(win @ link.log_cdf(at) + lose @ link.log_cdf(-at))

    best = loss(scale.factor * x + scale.side_effect)
    for factor, effect in ((1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3)):
        if side or effect == 0:
            assert loss((scale.factor + factor) * x + scale.side_effect + effect) > best
    score, _ = link.score(scale.factor * x + scale.side_effect, win, lose)
    assert abs(score @ x) < 1e-6 * len(x)


def separable(n_items=40, seed=0):
    """Every comparison goes the way of the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 3))
    pairs = np.array([(i, j) for i in range(n_items) for j in range(i) if rng.random() < 0.3])
    better = X[pairs[:, 0], 0] > X[pairs[:, 1], 0]
    return X, np.where(better[:, None], pairs, pairs[:, ::-1])


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_perfect_separation_stays_finite_and_is_named(method, link):
    X, votes = separable()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(method, link=link).fit(X, votes)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.std_errors_))
    assert np.abs(model.coef_).max() < 100
    separated = [warning for warning in caught if warning.category is SeparationWarning]
    along = X[votes[:, 0]] @ model.coef_ > X[votes[:, 1]] @ model.coef_
    if method == "mle" or along.all():  # a closed form need not find the separating direction
        assert len(separated) == 1
        assert "l2=0.16" in str(separated[0].message)


def test_the_stated_rule_is_the_ridge_it_names():
    X, votes = separable()
    with pytest.warns(SeparationWarning):
        stated = RankRegression(inference=None).fit(X, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ridge = RankRegression(l2=0.16, inference=None).fit(X, votes)
    np.testing.assert_allclose(stated.coef_, ridge.coef_, rtol=1e-6)


def test_one_undefeated_category_is_separation_too():
    """Quasi-separation: only the coefficient of the item that never loses would run away."""
    rng = np.random.default_rng(0)
    X = np.eye(6)[:, 1:]
    votes = [(5, j) for j in range(5) for _ in range(4)] + [
        (i, j) for i in range(5) for j in range(5) if i != j for _ in range(rng.integers(1, 6))
    ]
    with pytest.warns(SeparationWarning):
        model = RankRegression(inference="model").fit(X, np.array(votes))
    assert 1 < model.coef_[-1] < 20
    assert np.argmax(model.coef_) == 4


def is_separable(D):
    """Outside witness, by linear programming: is there v with D v >= 0 and not all zero?"""
    answer = linprog(-D.sum(axis=0), A_ub=-D, b_ub=np.zeros(len(D)), bounds=[(-1, 1)] * D.shape[1])
    return -answer.fun > 1e-9


@pytest.mark.parametrize("flips", [1, 2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_separation_is_named_exactly_when_linear_programming_finds_it(seed, flips):
    X, votes = separable(n_items=14, seed=seed)
    votes[:flips] = votes[:flips, ::-1]
    D = X[votes[:, 0]] - X[votes[:, 1]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RankRegression(inference=None).fit(X, votes)
    named = any(warning.category is SeparationWarning for warning in caught)
    assert named == is_separable(D)
    if not named:
        assert np.abs(D.T @ expit(-D @ model.coef_)).max() < 1e-4  # the likelihood's own maximum


def test_undefeated_items_and_disconnected_groups_need_no_care():
    """Features link what comparisons do not."""
    study = GaussianStudy(200, 3000, 3, second_half=False)
    X, votes = study.draw(np.random.default_rng(0))
    apart = votes[(votes[:, 0] < 100) == (votes[:, 1] < 100)]
    never_lost = apart[apart[:, 1] != 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankRegression().fit(X, never_lost)
    z = (model.coef_ - study.beta) / model.std_errors_
    assert np.all(np.abs(z) < 5), z
    assert len(model.rank(X)) == 200


@pytest.mark.parametrize(
    "link",
    [
        "logit",
        "probit",
        (lambda x: 0.5 + np.arctan(x) / np.pi, lambda x: 1 / (np.pi * (1 + x * x))),
    ],
)
def test_links_agree_with_numerical_derivatives(link):
    link = get_link(link)
    x, step = np.linspace(-4, 4, 33), 1e-6
    win, lose = np.linspace(0, 2, 33), np.linspace(3, 0, 33)

    def log_likelihood(at):
        return win * link.log_cdf(at) + lose * link.log_cdf(-at)

    score, information = link.score(x, win, lose)
    np.testing.assert_allclose(
        score,
        (log_likelihood(x + step) - log_likelihood(x - step)) / (2 * step),
        rtol=1e-6,
        atol=1e-7,
    )
    np.testing.assert_allclose(
        link.pdf(x), (link.cdf(x + step) - link.cdf(x - step)) / (2 * step), rtol=1e-6
    )
    np.testing.assert_allclose(
        information, (win + lose) * link.pdf(x) ** 2 / (link.cdf(x) * link.cdf(-x)), rtol=1e-9
    )
    second = (link.score(x + 1e-4, win, lose)[0] - link.score(x - 1e-4, win, lose)[0]) / 2e-4
    np.testing.assert_allclose(
        link.observed_information(x, win, lose), -second, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(link.log_cdf(x), np.log(link.cdf(x)), rtol=1e-9)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_links_do_not_overflow(link):
    link = get_link(link)
    x = np.array([-700.0, -40.0, 40.0, 700.0])
    with np.errstate(all="raise", under="ignore"):
        assert np.all(np.isfinite(link.log_cdf(x)))
        assert np.all(np.isfinite(link.ratio(x)))
    assert np.all(np.diff(link.log_cdf(x)) >= 0)


@pytest.mark.parametrize(
    "bad",
    [
        (lambda x: x, lambda x: np.ones_like(x)),
        (expit, expit),
        (lambda x: expit(x + 1), lambda x: expit(x + 1) * expit(-x - 1)),
    ],
)
def test_a_function_that_is_no_link_is_refused(bad):
    with pytest.raises(ValueError, match="link"):
        get_link(bad)


def test_a_users_own_link_gives_what_the_built_in_one_gives():
    X, votes = GaussianStudy(100, 1000, 3, second_half=False).draw(np.random.default_rng(0))
    own = (expit, lambda x: expit(x) * expit(-x))
    for method in ("mle", "paired"):
        one, two = (RankRegression(method, link=link).fit(X, votes) for link in ("logit", own))
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)
        np.testing.assert_allclose(two.std_errors_, one.std_errors_, rtol=1e-5)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("n_comparisons", [300, 3000, 30_000])
def test_a_rare_undefeated_category_is_separation_however_many_others_there_are(
    n_comparisons, link
):
    """The coefficient is that of the stated ridge, wherever the climb stops."""
    study = GaussianStudy(300, n_comparisons, 2, second_half=False)
    X, votes = study.draw(np.random.default_rng(0))
    votes = votes[(votes != 0).all(axis=1)]
    X = np.column_stack([X, np.arange(300) == 0])
    votes = np.vstack([votes, [(0, 5), (0, 6), (0, 7)]])
    with pytest.warns(SeparationWarning):
        model = RankRegression(link=link, inference=None).fit(X, votes)
    ridge = RankRegression(link=link, l2=0.16, inference=None).fit(X, votes)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-4)


def separated_votes(n_items=60):
    X = np.random.default_rng(0).normal(size=(n_items, 2))
    pairs = np.random.default_rng(1).integers(0, n_items, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    ahead = X[pairs[:, 0], 0] > X[pairs[:, 1], 0]  # the first feature alone decides
    return X, np.where(ahead[:, None], pairs, pairs[:, ::-1])


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("l2", [1e-300, 1e-12, 1e-6, 1e-4])
def test_a_ridge_near_zero_does_not_hide_separation(l2, link):
    X, votes = separated_votes()
    with pytest.warns(
        SeparationWarning, match=r"l2=0\.16 .* Set l2 above 0\.0001 to choose your own"
    ):
        model = RankRegression(link=link, l2=l2).fit(X, votes)
    stated = RankRegression(link=link, l2=0.16).fit(X, votes)
    np.testing.assert_allclose(model.coef_, stated.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.std_errors_, stated.std_errors_, rtol=1e-3)


@pytest.mark.parametrize("method", ["pooled", "paired"])
def test_a_ridge_near_zero_does_not_hide_separation_along_a_closed_form(method):
    X, votes = np.arange(60.0)[:, None], separated_votes()[1]
    votes = np.sort(votes, axis=1)[:, ::-1]
    coefs = []
    for l2 in (0.0, 1e-300, 1e-4):
        with pytest.warns(SeparationWarning):
            coefs.append(RankRegression(method, l2=l2, inference=None).fit(X, votes).coef_)
    np.testing.assert_allclose(coefs[1:], [coefs[0], coefs[0]], rtol=1e-3)


def test_a_stronger_ridge_is_taken_as_it_is_and_weights_set_the_unit():
    import pandas as pd

    X, votes = separated_votes()
    light = pd.DataFrame({"winner": votes[:, 0], "loser": votes[:, 1], "weight": 1e-6})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heavy = RankRegression(l2=2e-4, inference=None).fit(X, votes)
        same = RankRegression(l2=2e-10, inference=None).fit(X, light)
    np.testing.assert_allclose(same.coef_, heavy.coef_, rtol=1e-3)
    assert heavy.coef_[0] > 3 * RankRegression(l2=0.16, inference=None).fit(X, votes).coef_[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_ridge_near_zero_changes_nothing_where_a_maximum_exists(method):
    X, votes = GaussianStudy(60, 400, 2).draw(np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        none, weak = (RankRegression(method, l2=l2).fit(X, votes) for l2 in (0.0, 1e-6))
    np.testing.assert_allclose(weak.coef_, none.coef_, rtol=1e-4)
    np.testing.assert_allclose(weak.std_errors_, none.std_errors_, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_an_unbounded_side_effect_stays_finite_and_is_named(method):
    import pandas as pd

    X, votes = GaussianStudy(60, 400, 2).draw(np.random.default_rng(0))
    frame = pd.DataFrame({"left": votes[:, 0], "right": votes[:, 1], "winner": "left"})
    data, _ = Comparisons.from_frames(X, frame, covariance_items=np.arange(60, 120))
    for l2 in (0.0, 1.0):
        with pytest.warns(SeparationWarning):
            model = RankRegression(method, side_effect=True, l2=l2).fit(data)
        assert 0 < model.side_effect_ < 15
        assert model.side_effect_std_error_ < 15


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
def test_rows_that_count_for_nothing_do_not_hide_separation(method):
    X = np.arange(30.0)[:, None]
    pairs = np.array([(i, j) for i in range(30) for j in range(i)])
    import pandas as pd

    votes = pd.DataFrame(
        {
            "winner": np.append(pairs[:, 0], [0, 3]),
            "loser": np.append(pairs[:, 1], [29, 3]),
            "weight": np.append(np.ones(len(pairs)), [0, 1]),
        }
    )
    with pytest.warns(SeparationWarning):
        model = RankRegression(method).fit(X, votes, self_pairs="keep")
    clean = RankRegression(method, l2=0.16, inference=None).fit(X, pairs)
    assert model.coef_[0] == pytest.approx(clean.coef_[0], rel=0.02)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side", [False, True])
def test_balanced_outcomes_and_ties_give_zero_with_an_error(method, side):
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(80, 2))
    first = np.repeat(np.arange(40), 5)
    second = (first + np.tile([1, 3, 7, 11, 19], 40)) % 40
    ties = pd.DataFrame({"left": first, "right": second, "winner": "tie"})
    won = pd.DataFrame({"left": first, "right": second, "winner": "left"})
    for votes in (ties, pd.concat([won, won.assign(winner="right")])):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*item-robust.*")
            warnings.filterwarnings("error", category=RuntimeWarning)
            warnings.filterwarnings("error", category=SeparationWarning)
            model = RankRegression(method, side_effect=side).fit(X, votes)
        assert np.abs(model.coef_).max() < 1e-8
        assert np.all(np.isfinite(model.std_errors_))


@pytest.mark.parametrize("method", ["pooled", "paired", "mle"])
@pytest.mark.parametrize("l2", [30.0, 1000.0])
def test_errors_of_a_ridge_fit_are_the_spread_of_ridge_fits(method, l2):
    study = GaussianStudy(150, 1000, 3, second_half=False)
    rng = np.random.default_rng(0)
    fits = [RankRegression(method, l2=l2).fit(*study.draw(rng)) for _ in range(200)]
    spread = np.std([model.coef_ for model in fits], axis=0, ddof=1)
    claimed = np.sqrt(np.mean([model.std_errors_**2 for model in fits], axis=0))
    assert np.all(np.abs(np.log(claimed / spread)) < 0.25 + 4 / np.sqrt(2 * 199)), claimed / spread
