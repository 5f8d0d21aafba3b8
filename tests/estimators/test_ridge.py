"""`l2="auto"`: the ridge that does best on comparisons of held-out items."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.core.links import get_link
from pairscore.data.folds import assign_folds
from pairscore.estimators.fit_data import FitData
from pairscore.estimators.ridge import N_FOLDS, RidgeCurve, choose_ridge


def make_study(seed=0, n=60, d=6, m=400, size=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.2, 3, d) + 5
    score = X @ rng.normal(size=d) * size / np.linalg.norm(np.linspace(0.2, 3, d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(score[right] - score[left]))
    return X, {"left": left, "right": right, "winner": np.where(won, left, right)}


def naive_fit(X, sd, left, right, outcome, l2, link, side):
    """Penalised maximum likelihood by a general optimiser, every difference formed."""
    D = np.column_stack([(X[left] - X[right]) / sd, np.full(len(left), float(side))])

    def loss(params):
        eta = outcome * (D @ params)
        gradient = -D.T @ (outcome * link.ratio(eta)) + l2 * np.append(params[:-1], 0)
        return -link.log_cdf(eta).sum() + 0.5 * l2 * params[:-1] @ params[:-1], gradient

    return (
        minimize(loss, np.zeros(D.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8}).x,
        D,
    )


@pytest.mark.parametrize(("name", "side"), [("logit", False), ("logit", True), ("probit", False)])
def test_the_curve_is_that_of_separate_fits(name, side):
    X, votes = make_study(m=300)
    data, outcome = Comparisons.from_frames(X, votes)
    study, link = FitData(data, side), get_link(name)
    fold = np.random.default_rng(3).permutation(len(X)) % N_FOLDS
    center = study.item_moments
    curve = choose_ridge(X, center.mean, center.sd, study.pairs, link, lambda: fold)
    assert len(curve.l2) == 30
    for place in (4, 17, 28):
        total, number = 0.0, 0
        for held_out in range(N_FOLDS):
            inside = (fold[data.left] == held_out) & (fold[data.right] == held_out)
            outside = (fold[data.left] != held_out) & (fold[data.right] != held_out)
            params, _ = naive_fit(
                X,
                center.sd,
                data.left[outside],
                data.right[outside],
                outcome[outside],
                curve.l2[place],
                link,
                side,
            )
            D = np.column_stack(
                [
                    (X[data.left[inside]] - X[data.right[inside]]) / center.sd,
                    np.full(inside.sum(), float(side)),
                ]
            )
            total -= link.log_cdf(outcome[inside] * (D @ params)).sum()
            number += inside.sum()
        assert curve.n_held_out == 4 * number
        # each fit is within GAP of its optimum
        assert curve.loss[place] == pytest.approx(total / number, rel=2e-3)
    assert curve.chosen == curve.l2[np.argmin(curve.loss)]


def test_the_fit_is_the_one_with_the_chosen_ridge():
    X, votes = make_study()
    for method in ("mle", "paired", "pooled"):
        auto = RankRegression(method, l2="auto").fit(X, votes)
        fixed = RankRegression(method, l2=auto.l2_).fit(X, votes)
        assert np.array_equal(auto.coef_, fixed.coef_)
        assert np.array_equal(auto.std_errors_, fixed.std_errors_)
        assert auto.l2_ == auto.ridge_curve_.chosen
        assert fixed.ridge_curve_ is None


def test_counts_are_so_many_comparisons():
    X, votes = make_study(m=150)
    counted = votes | {"count": np.full(150, 3)}
    expanded = {name: np.repeat(column, 3) for name, column in votes.items()}
    one, other = (RankRegression(l2="auto").fit(X, table) for table in (counted, expanded))
    np.testing.assert_allclose(one.ridge_curve_.loss, other.ridge_curve_.loss, rtol=1e-9)
    assert one.ridge_curve_.n_held_out == other.ridge_curve_.n_held_out


def test_the_unit_of_weights_does_not_matter():
    X, votes = make_study()
    model = RankRegression(l2="auto").fit(X, votes)
    light = RankRegression(l2="auto").fit(X, votes | {"weight": np.full(400, 1 / 4000)})
    assert light.l2_ == pytest.approx(model.l2_ / 4000, rel=1e-6)
    np.testing.assert_allclose(light.coef_, model.coef_, rtol=1e-5)


def test_units_and_sides_do_not_matter():
    X, votes = make_study()
    swapped = {"left": votes["right"], "right": votes["left"], "winner": votes["winner"]}
    model = RankRegression(l2="auto").fit(X, votes)
    assert RankRegression(l2="auto").fit(X * 1000 - 3, votes).l2_ == pytest.approx(
        model.l2_, rel=1e-6
    )
    assert RankRegression(l2="auto").fit(X, swapped).l2_ == pytest.approx(model.l2_, rel=1e-6)


def test_a_ridge_helps_where_features_are_many_and_noise_is_all_there_is():
    X, votes = make_study(d=40, m=300, size=0.0)
    model = RankRegression(l2="auto").fit(X, votes)
    plain = RankRegression().fit(X, votes)
    fresh, later = make_study(seed=1, d=40, m=2000, size=0.0)
    data, outcome = Comparisons.from_frames(fresh, later)
    loss = [
        -np.log(one.predict_proba(data)[np.arange(2000), (outcome > 0).astype(int)]).mean()
        for one in (model, plain)
    ]
    assert loss[0] < 0.72  # a coin has 0.693
    assert loss[1] > loss[0] + 0.1


def test_groups_are_held_out_together():
    sizes, order = np.array([5, 1, 1, 3, 2, 8, 1]), np.random.default_rng(0).permutation(7)
    fold = assign_folds(sizes, order, 3)
    filled = np.bincount(fold, sizes, minlength=3)
    assert filled.max() - filled.min() <= sizes.max() - 1
    assert filled.sum() == sizes.sum()
    assert np.bincount(assign_folds(np.ones(12, dtype=int), np.arange(12), 5)).tolist() == [
        3,
        3,
        2,
        2,
        2,
    ]
    X, votes = make_study(n=60)
    # every item three times
    copies = {
        name: np.concatenate([column, column + 60, column + 120]) for name, column in votes.items()
    }
    thrice, groups = (
        np.tile(X, (3, 1)) + 1e-3 * np.random.default_rng(1).normal(size=(180, 6)),
        np.tile(np.arange(60), 3),
    )
    alone = RankRegression(l2="auto").fit(X, votes)
    grouped = RankRegression(l2="auto").fit(thrice, copies, item_groups=groups)
    leaky = RankRegression(l2="auto").fit(thrice, copies)
    # held out with its copies an item is new; without, it was seen
    assert abs(grouped.ridge_curve_.loss[-12] - alone.ridge_curve_.loss[-12]) < 0.05
    assert leaky.ridge_curve_.loss[0] < grouped.ridge_curve_.loss[0]


def test_differences_without_items_are_folds_of_rows():
    X, votes = make_study()
    D = X[votes["left"]] - X[votes["right"]]
    y = np.where(votes["winner"] == votes["left"], 1, -1)
    model = RankRegression(l2="auto").fit(D, y)
    # every row once in each of four deals
    assert model.ridge_curve_.n_held_out == pytest.approx(4 * len(y))


def test_too_few_comparisons_have_a_stated_fallback():
    X, votes = make_study(d=6, m=29)
    model = RankRegression(l2="auto").fit(X, votes)
    assert (model.l2_, model.ridge_curve_.n_held_out) == (6.0, 0.0)
    assert "too few comparisons for item folds" in str(model.summary())
    X, votes = make_study(n=3, d=2, m=30)  # no fold of three items has a pair inside
    assert RankRegression(l2="auto", inference=None).fit(X, votes).l2_ == 2.0


@pytest.mark.filterwarnings("ignore::pairscore.errors.CollinearFeaturesWarning")
def test_constant_and_repeated_features_do_no_harm():
    X, votes = make_study()
    wide = np.column_stack([X, np.ones(len(X)), X[:, 0]])
    model = RankRegression(l2="auto").fit(wide, votes)
    assert np.isfinite(model.l2_)
    assert np.isfinite(model.coef_).all()


def test_the_curve_is_saved(tmp_path):
    X, votes = make_study()
    model = RankRegression(l2="auto").fit(X, votes)
    model.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    assert again.l2_ == model.l2_
    assert again.l2 == "auto"
    for name in ("l2", "loss"):
        assert np.array_equal(getattr(again.ridge_curve_, name), getattr(model.ridge_curve_, name))
    assert str(again.summary()) == str(model.summary())
    assert "by held-out log-loss" in str(model.summary())


def test_the_edges_of_the_path_are_told():
    curve = RidgeCurve(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.6, 0.7]), 1.0, 10.0)
    assert "the smallest tried" in curve.in_words
    assert "the largest tried" in RidgeCurve(curve.l2, curve.loss[::-1], 4.0, 10.0).in_words


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({"l2": "often"}, {}, "l2 is 'often'; use a number that is not negative, or 'auto'"),
        ({"l2": "auto"}, {"item_groups": [1, 2]}, "give one for each item"),
        ({"l2": 1.0}, {"item_groups": np.zeros(60)}, "where l2='auto' chooses"),
    ],
)
def test_what_cannot_be_meant(settings, arguments, message):
    X, votes = make_study()
    with pytest.raises(PairscoreError, match=message):
        RankRegression(**settings).fit(X, votes, **arguments)
