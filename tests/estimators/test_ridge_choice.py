"""`l2="auto"` and `l2="auto-known"`: the ridge that does best on held-out items or comparisons."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from pairscore import Comparisons, PairscoreError, RankRegression, load
from pairscore.core.links import get_link
from pairscore.core.moments import moments
from pairscore.core.pair_graph import aggregate_pairs
from pairscore.data.folds import assign_folds
from pairscore.errors import ManyFeaturesWarning, OutlyingItemsWarning
from pairscore.estimators.closed_form import feature_covariance, link_scale
from pairscore.estimators.ridge_choice import (
    COINS,
    LARGEST_LOSS,
    PRIOR_WIDTH,
    Cells,
    LikelihoodPath,
    PairRows,
    RidgeCurve,
    RowsWithFit,
    best_ridge,
    deal_comparisons,
    deal_groups,
    deal_items,
    design_effect,
    item_ranks,
    number_units,
    path_of,
    ridge_of_deals,
    ridges,
)
from pairscore.estimators.settings import check_settings
from pairscore.estimators.table_data import TableData
from pairscore.model.fit_comparisons import fit_comparisons
from pairscore.parallel import Workers
from tests.limits import largest_mean


def make_study(seed=0, n=60, d=6, m=400, size=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.2, 3, d) + 5
    score = X @ rng.normal(size=d) * size / np.linalg.norm(np.linspace(0.2, 3, d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(score[right] - score[left]))
    return X, {"left": left, "right": right, "winner": np.where(won, left, right)}


def naive_fit(X, sd, left, right, outcome, weight, l2, link, side):
    """Penalised maximum likelihood by a general optimiser, every difference formed."""
    D = np.column_stack([(X[left] - X[right]) / sd, np.full(len(left), float(side))])

    def loss(params):
        eta = outcome * (D @ params)
        gradient = -D.T @ (weight * outcome * link.ratio(eta)) + l2 * np.append(params[:-1], 0)
        return -weight @ link.log_cdf(eta) + 0.5 * l2 * params[:-1] @ params[:-1], gradient

    return (
        minimize(loss, np.zeros(D.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8}).x,
        D,
    )


def splits_of(study, known, seed=3):
    """One deal of the comparisons into training and test rows, as a list."""
    rows, pairs = PairRows.of_pairs(study.pairs, len(study.X)), study.pairs
    rng, rank = np.random.default_rng(seed), np.arange(len(study.X))
    if not known:
        return list(deal_items(rows, pairs, rank, rng))
    cells = Cells.of_comparisons(study.comparisons, pairs, rank)
    return list(deal_comparisons(rows, cells, rng))


def expand(rows, side):
    """Left, right, outcome and weight of the rows, one for each outcome that occurs."""
    low, high = rows.incidence.indices.reshape(-1, 2).T
    swap = rows.extra[:, 0] < 0 if side else np.zeros(len(low), dtype=bool)
    left, right = np.where(swap, high, low), np.where(swap, low, high)
    outcome = np.repeat([1, -1], len(low)) * np.tile(np.where(swap, -1, 1), 2)
    return np.tile(left, 2), np.tile(right, 2), outcome, np.concatenate([rows.win, rows.lose])


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("name", "side"), [("logit", False), ("logit", True), ("probit", False)])
def test_the_curve_is_that_of_separate_fits(name, side, known):
    X, votes = make_study(m=300)
    study, link = TableData(Comparisons.from_frames(X, votes)[0], side), get_link(name)
    center, splits = study.item_moments, splits_of(study, known)
    settings = check_settings(link=name, side_effect=side, l2="auto")
    curve, _ = ridge_of_deals(study, path_of(study, settings), lambda rows: splits)
    assert len(curve.l2) == 30
    assert curve.n_held_out == pytest.approx(4 * 300)  # each comparison once in each of four deals
    for place in (4, 17, 28):
        total = 0.0
        for train, test in splits:
            l2 = curve.l2[place]
            params, _ = naive_fit(X, center.sd, *expand(train, side), l2, link, side)
            left, right, outcome, weight = expand(test, side)
            D = np.column_stack([(X[left] - X[right]) / center.sd, np.full(len(left), side)])
            p = (1 - COINS) * link.cdf(outcome * (D @ params)) + COINS / 2
            total -= weight @ np.log(p)
        # each fit is within GAP of its optimum
        assert curve.loss[place] == pytest.approx(total / 300, rel=2e-3)
    prior = (np.log(curve.l2 / 6) / PRIOR_WIDTH) ** 2 / 2
    assert curve.chosen == curve.l2[np.argmin(300 * curve.loss + prior)]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("paired", {}),
        ("pooled", {"side_effect": True}),
        ("split", {}),
        ("pooled", {"shrinkage": 0.3, "link": "probit"}),
    ],
)
def test_a_closed_form_does_not_take_the_ridge_of_the_likelihood(
    method, settings, known, monkeypatch
):
    """Its curve is that of separate fits of its own to the comparisons that are not held out."""
    monkeypatch.setattr("pairscore.estimators.ridge_choice.HOPELESS", np.inf)
    X, votes = make_study(m=300)
    X = np.vstack([X, make_study(seed=1)[0]])  # items of no comparison, for `split`
    side = "side_effect" in settings
    study = TableData(Comparisons.from_frames(X, votes)[0], side)
    splits = splits_of(study, known)
    checked = check_settings(method=method, l2="auto", **settings)
    curve, _ = ridge_of_deals(study, path_of(study, checked), lambda rows: splits)
    center = study.second_moments if method == "split" else study.item_moments
    for place in (4, 17, 28):
        total = 0.0
        for train, test in splits:
            left, right, outcome, weight = expand(train, side)
            some = weight > 0
            data = {"left": left[some], "right": right[some], "weight": weight[some]}
            data["winner"] = np.where(outcome[some] > 0, "left", "right")
            # the ridge is per standard deviation, which differs between folds: standardise first
            standard = (X - center.mean) / center.sd
            total += closed_form_loss(
                standard, data, curve.l2[place], method, settings, expand(test, side)
            )
        assert curve.loss[place] == pytest.approx(total / 300, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_ridges_without_hope_are_left_out_and_the_choice_stays(seed, monkeypatch):
    """Far too small a ridge for 40 features and 300 comparisons costs the most time."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 40))
    left = rng.integers(0, 150, 300)
    right = (left + rng.integers(1, 150, 300)) % 150
    won = rng.random(300) < expit(1.5 * (X[left, 0] - X[right, 0]))
    votes = np.where(won[:, None], np.column_stack([left, right]), np.column_stack([right, left]))
    fits, fit = [], LikelihoodPath.fit

    def counted(path, rows, start):
        fits.append(len(path.l2))
        return fit(path, rows, start)

    monkeypatch.setattr(LikelihoodPath, "fit", counted)
    quick = RankRegression(l2="auto", inference=None).fit(X, votes)
    assert sum(fits) < 0.9 * 30 * len(fits)
    monkeypatch.setattr("pairscore.estimators.ridge_choice.HOPELESS", np.inf)
    assert quick.l2_ == RankRegression(l2="auto", inference=None).fit(X, votes).l2_


@pytest.mark.parametrize("l2", ["auto", "auto-known"])
@pytest.mark.parametrize("seed", range(3))
def test_a_ridge_that_was_given_up_early_is_not_chosen_for_an_easy_fold(l2, seed, monkeypatch):
    """With many comparisons most ridges are given up after a fold; folds differ by more than the
    ridges that stay.
    """
    X, votes = make_study(seed, n=1000, d=20, m=20_000)
    model = RankRegression(l2=l2, inference=None)
    quick = model.fit(X, votes).ridge_curve_
    monkeypatch.setattr("pairscore.estimators.ridge_choice.HOPELESS", np.inf)
    whole = model.fit(X, votes).ridge_curve_
    assert quick.chosen == whole.chosen
    near = np.abs(np.log10(whole.l2 / whole.chosen)) < 1
    assert quick.loss[near] == pytest.approx(whole.loss[near], abs=1e-6)
    assert quick.loss.argmin() == whole.loss.argmin()


@pytest.mark.parametrize("settings", [{}, {"method": "pooled"}, {"l2": "auto-known"}])
def test_the_ridge_and_the_fit_are_the_same_to_the_last_bit_for_any_n_jobs(settings, tmp_path):
    X, votes = make_study(1, n=100, m=600)
    models = [
        RankRegression(**{"l2": "auto"} | settings, n_jobs=n).fit(X, votes) for n in (None, 1, 2, 3)
    ]
    files = []
    for number, model in enumerate(models):
        model.save(tmp_path / f"{number}.npz")
        files.append((tmp_path / f"{number}.npz").read_bytes())
    assert len({*files}) == 1  # which has the curve, the coefficients and their covariance
    assert load(tmp_path / "3.npz").n_jobs is None


def test_progress_of_a_ridge_rises_to_the_fit_that_is_left():
    X, votes = make_study(1, n=100, m=600)
    told = []
    workers = Workers(progress=lambda done, total: told.append(done / total))
    data, settings = Comparisons.from_frames(X, votes)[0], check_settings(l2="auto")
    fit_comparisons(data, settings, workers=workers)
    assert len(told) == 20  # five folds, dealt four times
    assert told == sorted(told)
    assert told[0] > 0.03
    assert 0.9 < told[-1] < 1


def closed_form_loss(X, votes, l2, method, settings, test):
    """Bounded log-loss of a model on test rows, its features in units that the ridge acts on."""
    comparisons = Comparisons.from_frames(X, votes, covariance_items=np.arange(60, 120))[0]
    study = TableData(comparisons, "side_effect" in settings)
    checked = replace(check_settings(method=method, **settings), l2=l2, inference=None)
    covariance, _ = feature_covariance(study, checked)
    m, slope = study.tally.n_comparisons, float(checked.link.pdf(0.0))
    ridge = np.eye(X.shape[1]) * l2 / (4 * slope**2)
    b = np.linalg.solve(2 * m * covariance + ridge, 2 * study.label_sum)
    freedom = np.trace(np.linalg.solve(2 * m * covariance + ridge, 2 * m * covariance))
    along, unit = study.along(X @ b), study.weight_unit
    scale, _ = link_scale(along, study.tally, checked, X @ b, b, freedom, unit)
    left, right, outcome, weight = test
    eta = scale.factor * ((X @ b)[left] - (X @ b)[right]) + scale.side_effect
    return -weight @ np.log((1 - COINS) * checked.link.cdf(outcome * eta) + COINS / 2)


def test_every_comparison_is_tested_once_and_never_trained_on():
    X, votes = make_study(m=300)
    study = TableData(Comparisons.from_frames(X, votes)[0], False)
    rows = PairRows.of_pairs(study.pairs, len(X))
    for known in (False, True):
        tested = sum(
            abs(test.incidence).T @ (test.win + test.lose) for _, test in splits_of(study, known)
        )
        np.testing.assert_allclose(tested, abs(rows.incidence).T @ (rows.win + rows.lose))
    for train, test in splits_of(study, known=False):
        held = np.setdiff1d(test.incidence.indices, train.incidence.indices)
        assert np.isin(test.incidence.indices.reshape(-1, 2), held).any(axis=1).all()
    for train, test in splits_of(study, known=True):
        assert train.number + test.number == pytest.approx(300)
        assert np.array_equal(test.win, np.rint(test.win))


def test_the_fit_is_the_one_with_the_chosen_ridge():
    X, votes = make_study()
    for method in ("mle", "paired", "pooled"):
        auto = RankRegression(method, l2="auto").fit(X, votes)
        fixed = RankRegression(method, l2=auto.l2_).fit(X, votes)
        assert np.array_equal(auto.coef_, fixed.coef_)
        assert np.array_equal(auto.std_errors_, fixed.std_errors_)
        assert auto.l2_ == auto.ridge_curve_.chosen
        assert fixed.ridge_curve_ is None


@pytest.mark.parametrize("l2", ["auto", "auto-known"])
def test_counts_are_so_many_comparisons(l2):
    X, votes = make_study(m=150)
    counted = votes | {"count": np.full(150, 3)}
    expanded = {name: np.repeat(column, 3) for name, column in votes.items()}
    one, other = (RankRegression(l2=l2).fit(X, table) for table in (counted, expanded))
    np.testing.assert_allclose(one.ridge_curve_.loss, other.ridge_curve_.loss, rtol=1e-9)
    assert one.ridge_curve_.n_held_out == other.ridge_curve_.n_held_out


@pytest.mark.parametrize("l2", ["auto", "auto-known"])
def test_the_unit_of_weights_does_not_matter(l2):
    X, votes = make_study()
    model = RankRegression(l2=l2).fit(X, votes)
    light = RankRegression(l2=l2).fit(X, votes | {"weight": np.full(400, 1 / 4000)})
    assert light.l2_ == pytest.approx(model.l2_, rel=1e-9)
    np.testing.assert_allclose(light.coef_, model.coef_, rtol=1e-9)


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


def grouped_votes(m=400, n_groups=20, d=6, size=0.4):
    """Three items in each group, with an effect of the group; votes as counted rows."""
    rng, groups = np.random.default_rng(2), np.repeat(np.arange(n_groups), 3)
    X = rng.normal(size=(n_groups, d))[groups] + rng.normal(size=(3 * n_groups, d))
    score = size * X @ rng.normal(size=d) + 1.5 * rng.normal(size=n_groups)[groups]
    return X, draw_votes(rng, score, m), groups


def test_both_items_are_of_new_groups_when_whole_groups_are_held_out():
    """A group in training would lend its effect to the features, and the ridge be too small."""
    X, votes, groups = grouped_votes()
    study = TableData(Comparisons.from_frames(X, votes)[0], False)
    rows, tested = PairRows.of_pairs(study.pairs, len(X)), np.zeros((len(X), len(X)))
    for train, test in deal_groups(rows, study.pairs, groups, np.random.default_rng(3)):
        assert not np.isin(groups[test.incidence.indices], groups[train.incidence.indices]).any()
        low, high = test.incidence.indices.reshape(-1, 2).T
        np.add.at(tested, (low, high), test.win + test.lose)
    low, high = rows.incidence.indices.reshape(-1, 2).T
    np.testing.assert_allclose(tested[low, high], rows.win + rows.lose)


def test_votes_that_repeat_what_a_group_has_in_common_do_not_tell_more():
    """The same votes fifty times are the same study with fifty times the ridge, not more data."""
    X, votes, groups = grouped_votes(m=2000, size=0.0)  # a flat curve
    table = {"winner": votes[:, 0], "loser": votes[:, 1]}
    once, often = (
        RankRegression(l2="auto", inference=None).fit(
            X, table | {"count": np.full(2000, count)}, item_groups=groups
        )
        for count in (1, 50)
    )
    assert often.l2_ == pytest.approx(50 * once.l2_, rel=1e-9)
    np.testing.assert_allclose(often.coef_, once.coef_, rtol=1e-4)


def test_the_design_effect_is_that_of_all_couples_of_comparisons():
    X, votes, groups = grouped_votes()
    study = TableData(Comparisons.from_frames(X, votes)[0], False)
    path, rows = path_of(study, check_settings(l2="auto")), PairRows.of_pairs(study.pairs, len(X))
    params = 0.1 * np.ones((6, 1))
    eta = (path.Z @ params)[:, 0]
    p = (1 - COINS) * expit(eta[votes[:, 0]] - eta[votes[:, 1]]) + COINS / 2
    loss = -np.log(p) + np.log(p).mean()
    first, second = groups[votes].T
    met = [[a in (c, d) or b in (c, d) for c, d in groups[votes]] for a, b in groups[votes]]
    assert np.any(first == second)
    expected = loss @ np.array(met) @ loss / (loss @ loss)
    assert expected > 1.2
    # the rows twice, each for a half, are the same
    halves = [RowsWithFit(rows.times(np.full(len(rows.win), 0.5)), params)] * 2
    assert design_effect(path, [RowsWithFit(rows, params)], groups, 1.0) == pytest.approx(expected)
    assert design_effect(path, halves, groups, 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("n_groups", [2, 3, 5, 6])
def test_a_handful_of_groups_are_held_out_one_by_one(n_groups):
    X, votes, groups = grouped_votes(n_groups=n_groups, d=2)
    if 3 * n_groups < 10:
        X, groups = np.vstack([X, X + 1]), np.append(groups, groups)
        votes = np.vstack([votes, votes + 3 * n_groups])
    curve = RankRegression(l2="auto").fit(X, votes, item_groups=groups).ridge_curve_
    assert curve.held_out == "items"
    assert curve.n_held_out > 0
    assert np.isfinite(curve.chosen)


def test_differences_without_items_are_folds_of_rows():
    X, votes = make_study()
    D = X[votes["left"]] - X[votes["right"]]
    y = np.where(votes["winner"] == votes["left"], 1, -1)
    model = RankRegression(l2="auto").fit(D, y)
    # every row once in each of four deals
    assert model.ridge_curve_.n_held_out == pytest.approx(4 * len(y))


def winner_first(left, right, won):
    return np.where(won[:, None], np.c_[left, right], np.c_[right, left])


def draw_votes(rng, score, m):
    left = rng.integers(0, len(score), m)
    right = (left + rng.integers(1, len(score), m)) % len(score)
    return winner_first(left, right, rng.random(m) < expit(score[left] - score[right]))


def expected_loss(model, differences, probability):
    eta = differences @ model.coef_
    return np.mean(probability * np.logaddexp(0, -eta) + (1 - probability) * np.logaddexp(0, eta))


def with_outlier(seed):
    """Votes on items 1 to 299, then also on item 0, one of whose features is far off."""
    rng = np.random.default_rng(seed)
    X, beta = rng.normal(size=(300, 6)), np.r_[1.0, 0.3 * rng.normal(size=5)]
    score = X @ beta
    votes = draw_votes(rng, score[1:], 3000) + 1
    X[0, 0], score[0], others = 25.0, 0.0, rng.integers(1, 300, 20)
    won = rng.random(20) < expit(-score[others])
    return X, votes, np.vstack([votes, winner_first(np.zeros(20, int), others, won)])


@pytest.mark.parametrize("seed", range(3))
def test_one_outlying_item_does_not_move_the_ridge(seed):
    X, votes, more = with_outlier(seed)
    plain = RankRegression(l2="auto", inference=None).fit(X, votes)
    with pytest.warns(OutlyingItemsWarning):
        moved = RankRegression(l2="auto", inference=None).fit(X, more)
    # the feature's standard deviation is 1.8 times as large, so the same ridge holds it back less
    assert 0.1 < moved.l2_ / plain.l2_ < 1.5


def test_the_outlying_item_is_named():
    X, votes, more = with_outlier(0)
    items = {"id": [f"case {row}" for row in range(300)]}
    items |= {f"x{column}": X[:, column] for column in range(6)}
    names = np.array(items["id"])
    with pytest.warns(OutlyingItemsWarning, match="1 item is far .* 'case 0'; check its features"):
        model = RankRegression(l2="auto").fit(
            items, {"winner": names[more[:, 0]], "loser": names[more[:, 1]]}
        )
    assert model.ridge_curve_.outliers == ("case 0",)
    assert "'case 0'" in str(model.summary())
    assert model.summary().to_record()["ridge_curve"]["outliers"] == ["case 0"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RankRegression(l2="auto").fit(X, votes).ridge_curve_.outliers == ()


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_six_items_keep_what_is_known_of_them():
    rng, score = np.random.default_rng(1), np.array([0.5, 1.6, 0.4, 0.9, 0.5, 0])
    X = np.column_stack([np.eye(6)[:, :5], [1, 0, 1, 1, 0, 0]])
    votes, (left, right) = draw_votes(rng, score, 3000), np.triu_indices(6, 1)
    to_come = X[left] - X[right], expit(score[left] - score[right])
    plain, auto = (RankRegression(l2=l2).fit(X, votes) for l2 in (0.0, "auto"))
    assert expected_loss(auto, *to_come) < expected_loss(plain, *to_come) + 0.002
    assert auto.ridge_curve_.held_out == "comparisons"
    words = "3,000 tests on new comparisons of known items), because 6 items say too little"
    assert words in auto.ridge_curve_.in_words


@pytest.mark.parametrize("l2", ["auto", "auto-known"])
@pytest.mark.parametrize("kind", ["numbers", "levels", "groups", "six items", "differences"])
def test_the_ridge_does_not_depend_on_the_order_of_rows(kind, l2):
    rng = np.random.default_rng(5)
    n, m = 6 if kind == "six items" else 40, 300
    X = rng.integers(0, 2, (n, 3)) * 1.0 if kind == "levels" else rng.normal(size=(n, 3))
    votes = draw_votes(rng, X @ [1.0, -0.5, 0.2], m)
    order, rows = rng.permutation(n), rng.permutation(m)
    place, first, second = np.argsort(order), {}, {}
    if kind == "groups" and l2 == "auto":
        groups = rng.integers(0, 12, n)
        first, second = {"item_groups": groups}, {"item_groups": groups[order]}
    data = (X, votes), (X[order], place[votes[rows]])
    if kind == "differences":
        sign = rng.choice([-1, 1], m)
        D = sign[:, None] * (X[votes[:, 0]] - X[votes[:, 1]])
        data = (D, sign), (D[rows], sign[rows])
    one, other = (
        RankRegression(l2=l2, inference=None).fit(*given, **arguments)
        for given, arguments in zip(data, (first, second), strict=True)
    )
    np.testing.assert_allclose(other.ridge_curve_.loss, one.ridge_curve_.loss, rtol=1e-5)
    assert other.l2_ == pytest.approx(one.l2_, rel=1e-9)


def test_disjoint_pairs_with_few_comparisons_per_feature_have_a_large_enough_ridge():
    """Two comparisons for each feature, and every item in one: each can be held out."""
    d, m, gain = 20, 40, []
    left, right = np.arange(0, 2 * m, 2), np.arange(1, 2 * m, 2)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, beta = rng.normal(size=(2 * m, d)), rng.normal(size=d) / np.sqrt(d) / 2
        won = rng.random(m) < expit((X[left] - X[right]) @ beta)
        votes, new = winner_first(left, right, won), rng.normal(size=(4000, d)) * np.sqrt(2)
        model, one_per_feature = (
            RankRegression(l2=l2, inference=None).fit(X, votes) for l2 in ("auto", float(d))
        )
        assert model.ridge_curve_.n_held_out == pytest.approx(4 * m)
        assert "because" not in model.ridge_curve_.in_words
        to_come = new, expit(new @ beta)
        gain.append(expected_loss(one_per_feature, *to_come) - expected_loss(model, *to_come))
    assert np.mean(gain) > -largest_mean(np.array(gain))


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_more_features_than_items_are_offered_a_ridge_and_fitted_with_one(method):
    X, votes = make_study(n=15, d=25, m=300)
    with pytest.raises(PairscoreError, match=r"25 features but only 15 .*l2='auto'"):
        RankRegression(method).fit(X, votes)
    for l2 in ("auto", "auto-known", 3.0):
        model = RankRegression(method, l2=l2).fit(X, votes)
        assert model.l2_ > 0
        assert model.agreement_ > 0.6
        assert np.isfinite(model.std_errors_).all()
        assert np.isfinite(model.rank(X)["high"]).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_ridge_for_known_items_lets_the_features_tell_them_apart(seed):
    """Half as many features as items, which have effects of their own: features fit these too.

    That helps on new comparisons of the same items, and harms on new ones.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 20))
    score = X @ rng.normal(size=20) / np.sqrt(20) + 2 * rng.normal(size=40)
    votes, (left, right) = draw_votes(rng, score, 2000), np.triu_indices(40, 1)
    new, known = (
        RankRegression(l2=l2, inference=None).fit(X, votes) for l2 in ("auto", "auto-known")
    )
    assert known.l2_ < new.l2_ / 4
    assert "2,000 tests on new comparisons of known items" in str(known.summary())
    assert "2,000 tests on comparisons with new items" in str(new.summary())
    to_come = X[left] - X[right], expit(score[left] - score[right])
    assert expected_loss(known, *to_come) < expected_loss(new, *to_come)


def test_too_few_comparisons_have_a_stated_fallback():
    X, votes = make_study(n=3, d=2, m=1)
    votes["winner"] = ["left"]  # one row number would be taken for a code
    model = RankRegression(l2="auto", inference=None).fit(X, votes)
    assert (model.l2_, model.ridge_curve_.n_held_out) == (2.0, 0.0)
    assert "too few comparisons to hold some out" in str(model.summary())
    same = RankRegression(l2="auto", inference=None).fit(np.ones((3, 2)), votes)
    assert "because no feature differs within a comparison" in same.ridge_curve_.in_words


@pytest.mark.filterwarnings("ignore::pairscore.errors.CollinearFeaturesWarning")
def test_constant_and_repeated_features_do_no_harm():
    X, votes = make_study()
    wide = np.column_stack([X, np.ones(len(X)), X[:, 0]])
    model = RankRegression(l2="auto").fit(wide, votes)
    assert np.isfinite(model.l2_)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("l2", ["auto", "auto-known"])
def test_the_curve_is_saved(tmp_path, l2):
    X, votes = make_study()
    model = RankRegression(l2=l2).fit(X, votes)
    model.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    assert again.l2_ == model.l2_
    assert again.l2 == l2
    assert again.ridge_curve_.held_out == model.ridge_curve_.held_out
    for name in ("l2", "loss"):
        assert np.array_equal(getattr(again.ridge_curve_, name), getattr(model.ridge_curve_, name))
    assert str(again.summary()) == str(model.summary())
    assert "by held-out log-loss" in str(model.summary())


def test_the_curve_of_an_older_file_is_read():
    record = {"l2": [1.0, 2.0, 4.0], "loss": [0.6, 0.5, 0.7], "chosen": 2.0, "n_held_out": 10.0}
    curve = RidgeCurve.from_record(record)
    assert "l2 = 2, by held-out log-loss (0.5000, 10 tests on comparisons" in curve.in_words
    assert RidgeCurve.from_record(curve.to_record()).outliers == ()


def test_the_edges_of_the_path_are_told():
    curve = RidgeCurve(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.6, 0.7]), 1.0, 10.0)
    assert "the smallest tried" in curve.in_words
    assert "the largest tried" in RidgeCurve(curve.l2, curve.loss[::-1], 4.0, 10.0).in_words


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({"l2": "often"}, {}, "use a number that is not negative, 'auto' or 'auto-known'"),
        ({"l2": "auto"}, {"item_groups": [1, 2]}, "give one for each item"),
        ({"l2": 1.0}, {"item_groups": np.zeros(60)}, "where l2='auto' chooses.*and l2 is 1.0"),
        ({"l2": "auto-known"}, {"item_groups": np.zeros(60)}, "and l2 is 'auto-known'; leave them"),
    ],
)
def test_what_cannot_be_meant(settings, arguments, message):
    X, votes = make_study()
    with pytest.raises(PairscoreError, match=message):
        RankRegression(**settings).fit(X, votes, **arguments)


@given(st.integers(0, 10**6), st.booleans())
def test_ranks_of_items_do_not_depend_on_their_rows(seed, are_alike):
    rng = np.random.default_rng(seed)
    X = np.ones((12, 1)) if are_alike else rng.integers(0, 2, (12, 3)) * 1.0
    low, high = np.triu_indices(12, 1)
    number = rng.integers(0, 5, len(low))
    net = rng.integers(-number, number + 1)
    rank, order = item_ranks(X, low, high, net, number), rng.permutation(12)
    place = np.argsort(order)
    first, second = place[low], place[high]
    swap = first > second
    moved = item_ranks(
        X[order],
        np.where(swap, second, first),
        np.where(swap, first, second),
        np.where(swap, -net, net),
        number,
    )
    np.testing.assert_array_equal(moved, rank[order])
    assert len(set(rank.tolist())) >= 11  # two items may have met the same fate


def test_items_of_a_group_are_one_unit_and_others_are_alone():
    rank, used = np.array([4, 2, 0, 1, 3]), np.array([True, True, True, False, True])
    assert number_units(rank, used, None).tolist() == [3, 1, 0, -1, 2]
    assert number_units(rank, used, np.array([7, 7, -1, 7, -1])).tolist() == [1, 1, 0, -1, 2]


# -- fits with thirty ridges side by side, against fits one by one ---------------------------------


def make_path(seed=0, n=30, d=4, m=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 3, d) + 2
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([1, -1], m)
    pairs = aggregate_pairs(left, right, outcome, np.ones(m), n)
    center = moments(X, np.bincount(left, minlength=n) + np.bincount(right, minlength=n))
    path = LikelihoodPath.of_pairs(X, pairs, center.spread, get_link("logit"))
    return path, PairRows.of_pairs(pairs, n), (X / center.sd, left, right, outcome)


def test_ridges_span_six_decades_up_to_ten_times_the_largest_curvature():
    l2 = ridges(8.0, get_link("logit"))
    assert len(l2) == 30
    assert l2[-1] == pytest.approx(10 * 8.0 / 4)
    assert l2[0] == pytest.approx(l2[-1] * 1e-6)


@pytest.mark.parametrize("formed", [False, True], ids=["conjugate gradients", "formed"])
def test_every_column_is_the_fit_with_its_ridge(monkeypatch, formed):
    if formed:
        monkeypatch.setattr(LikelihoodPath, "_newton_step", LikelihoodPath._solve)
    path, rows, (X, left, right, outcome) = make_path()
    found = path.predictor(rows, path.fit(rows, np.zeros((4, 30))))
    low, high = rows.incidence.indices.reshape(-1, 2).T
    D = outcome[:, None] * (X[left] - X[right])
    for place in (0, 12, 20, 29):
        l2 = path.l2[place]

        def loss(beta, l2=l2):
            return np.logaddexp(0, -D @ beta).sum() + 0.5 * l2 * beta @ beta

        beta = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x
        expected = (X @ beta)[low] - (X @ beta)[high]
        np.testing.assert_allclose(found[:, place], expected, atol=0.01)


def test_a_side_of_which_nothing_is_known_does_not_stop_the_fit():
    path, rows, _ = make_path()
    idle = replace(rows, extra=np.zeros((len(rows.win), 1)))
    found = path.fit(idle, np.zeros((5, 30)))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:4], path.fit(rows, np.zeros((4, 30))), atol=1e-8)


def test_no_comparison_loses_more_than_the_largest_loss():
    path, rows, _ = make_path()
    far = np.full((4, 1), 1e6)
    number = rows.win + rows.lose
    assert path.held_out_loss(rows, far)[0] <= LARGEST_LOSS * number.sum() + 1e-9
    nothing = np.zeros((4, 1))
    assert path.held_out_loss(rows, nothing)[0] == pytest.approx(np.log(2) * number.sum())
    assert not path.surplus(rows, nothing).any()
    assert path.surplus(rows, far).max() > 100
    assert pytest.approx(-np.log(COINS / 2)) == LARGEST_LOSS


def test_newtons_equations_are_solved_where_conjugate_gradients_do_not_end(monkeypatch):
    path, rows, _ = make_path()
    here = path.derivatives(rows, path.l2, np.ones((4, 30)))
    exact = path._solve(rows, here, path.l2)
    monkeypatch.setattr("pairscore.estimators.ridge_choice.MAX_PRODUCTS", 1)
    monkeypatch.setattr("pairscore.estimators.ridge_choice.PRECISION", 1e-6)
    np.testing.assert_allclose(path._newton_step(rows, here, path.l2), exact, rtol=1e-9)
    monkeypatch.setattr(
        "pairscore.estimators.ridge_choice.BLOCK_NUMBERS", 4 * 30 * 7
    )  # a few rows at a time
    np.testing.assert_allclose(path._solve(rows, here, path.l2), exact, rtol=1e-9)


def test_a_ridge_that_is_worse_than_a_coin_is_never_chosen():
    l2 = np.array([1.0, 10.0, 100.0])
    criterion = np.array([1.0, 2.0, 3.0])
    assert best_ridge(l2, np.array([0.6, 0.65, 0.69]), criterion) == 1.0
    assert best_ridge(l2, np.array([0.8, 0.65, 0.69]), criterion) == 10.0
    assert best_ridge(l2, np.array([0.9, 0.8, 0.7]), criterion) == 100.0


def test_features_that_tell_nothing_of_new_items_are_said_to():
    l2 = np.array([1.0, 10.0])
    worthless = RidgeCurve(l2, np.array([0.9, 0.7]), 10.0, 400.0)
    (note,) = worthless.notes
    assert type(note) is ManyFeaturesWarning
    assert "no better than by coin tosses (log-loss 0.70, of a coin 0.69)" in str(note)
    assert not replace(worthless, loss=np.array([0.9, 0.6])).notes
    assert not replace(worthless, held_out="comparisons").notes


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
def test_of_nine_items_it_is_said_that_scores_of_new_ones_are_guesses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 2))
    votes = draw_votes(rng, X[:, 0], 200)
    said = [note for note in RankRegression(l2="auto").fit(X, votes).notes_ if "guesses" in note]
    assert len(said) == 1
    assert "9 items say too little about new items" in said[0]
    known = RankRegression(l2="auto-known").fit(X, votes).notes_
    assert not [note for note in known if "guesses" in note]
