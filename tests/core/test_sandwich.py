"""The dyadic sandwich against double loops."""

import warnings

import mpmath as mp
import numpy as np
import pytest

from pairscore import RankRegression
from pairscore.core.incidence import item_incidence, pair_incidence
from pairscore.core.moments import Moments
from pairscore.core.pair_graph import aggregate_pairs, pair_scatters
from pairscore.core.sandwich import (
    DyadicContributions,
    DyadicSums,
    PairContributions,
    centred_meat,
    floored_covariance,
    less_ties,
    sandwich,
    times_too_often,
)
from pairscore.core.whitening import whitening_basis
from pairscore.estimators.item_table import LARGEST_LEVERAGE, ItemTable


def random_pairs(seed, n_items=14, n_comparisons=60, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, n_features)) + 5
    left = rng.integers(0, n_items, n_comparisons)
    right = (left + rng.integers(1, n_items, n_comparisons)) % n_items
    outcome, amount = rng.integers(-1, 2, n_comparisons), rng.uniform(0.5, 2, n_comparisons)
    return X, aggregate_pairs(left, right, outcome, amount, n_items)


@pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
@pytest.mark.parametrize("method", ["mle", "paired", "pooled"])
def test_no_invalid_square_root_with_three_or_four_items(method):
    """More features than items and a weak ridge: rounding errors were taken for variances."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 5))
        X = np.column_stack([np.eye(n), 100 + rng.normal(size=(n, 5))])
        votes = np.array([rng.permutation(n)[:2] for _ in range(60)])
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = RankRegression(method, l2=1e-3).fit(X, votes)
        assert (model.std_errors_ >= 0).all()
        values = np.linalg.eigvalsh(model.covariance_)
        assert values[0] >= -1e-9 * values[-1]


def rows_with_two_items(seed, n_items=9, n_rows=40, size=3):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, n_items, (2, n_rows))
    return left, right, rng.normal(size=(n_rows, size))


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_share_an_item_count_once(seed):
    """The meat is a sum over all two rows that share an item, of groups as of items."""
    left, right, u = rows_with_two_items(seed)
    ends = [{int(i), int(j)} for i, j in zip(left, right, strict=True)]
    naive = sum(
        np.outer(u[r], u[s]) for r in range(len(u)) for s in range(len(u)) if ends[r] & ends[s]
    )
    sums = DyadicSums.of_rows(left, right, u, np.ones(9))
    np.testing.assert_allclose(sums.meat(np.ones(9)), naive, atol=1e-10)
    scalar = item_incidence(left, right, 9) @ u[:, 0], pair_incidence(left, right) @ u[:, 0]
    assert scalar[0] @ scalar[0] - scalar[1] @ scalar[1] == pytest.approx(naive[0, 0])
    inflation = np.random.default_rng(seed).uniform(1, 2, 9)
    t = np.array([u[[i in pair for pair in ends]].sum(axis=0) for i in range(9)])
    np.testing.assert_allclose(
        sums.meat(inflation) - sums.meat(np.ones(9)),
        (t * (inflation**2 - 1)[:, None]).T @ t,
        atol=1e-10,
    )


def test_sums_of_blocks_of_whole_pairs_add():
    left, right, u = rows_with_two_items(5)
    pair = np.minimum(left, right) * 9 + np.maximum(left, right)
    same = np.ones(9)
    whole, parts = DyadicSums.of_rows(left, right, u, same), DyadicSums.zero(9, 3)
    for block in (pair < 20, (pair >= 20) & (pair < 21), pair >= 21):
        parts = parts + DyadicSums.of_rows(left[block], right[block], u[block], same)
    np.testing.assert_allclose(parts.item_sums, whole.item_sums, atol=1e-12)
    np.testing.assert_allclose(parts.pair_meat, whole.pair_meat, atol=1e-12)
    split = DyadicSums.of_rows(left[::2], right[::2], u[::2], same) + DyadicSums.of_rows(
        left[1::2], right[1::2], u[1::2], same
    )
    assert np.abs(split.pair_meat - whole.pair_meat).max() > 0.1  # a pair in two blocks must fail


def explicit_contributions(Z, pairs, u):
    """u_p of every pair, with its number of comparisons: P x (d + e + 1)."""
    features = u.low[:, None] * Z[pairs.low] + u.high[:, None] * Z[pairs.high]
    return np.column_stack([features, u.extra, pairs.number])


def meats_of(Z, pairs, u, inflation):
    """Those of items and of pairs, from contributions that are never formed."""
    dyadic = DyadicContributions(pairs, Z, u)
    times = times_too_often(pairs.low, pairs.high, inflation)
    diagonal, off_diagonal = dyadic.product_weights(times)
    none = np.zeros(Z.shape[1])
    features = pair_scatters(Z, none, pairs, diagonal[None], off_diagonal[None])[0]
    return dyadic.items_meat(inflation), dyadic.pairs_meat(times, features)


@pytest.mark.parametrize("n_extra", [0, 2])
@pytest.mark.parametrize("seed", range(4))
def test_sums_without_contributions_equal_those_with_them(seed, n_extra):
    X, pairs = random_pairs(seed)
    rng, n = np.random.default_rng(seed), len(pairs.high)
    u = PairContributions(rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, n_extra)))
    Z = X - X.mean(axis=0)
    explicit = explicit_contributions(Z, pairs, u)
    inflation = np.where(np.arange(len(X)) < 4, 0.0, 1.5)
    for counted in (inflation, np.full(len(X), 1.5)):
        sums = DyadicSums.of_rows(pairs.low, pairs.high, explicit, counted)
        items, of_pairs = meats_of(Z, pairs, u, counted)
        np.testing.assert_allclose(of_pairs, sums.pair_meat, atol=1e-10)
        np.testing.assert_allclose(items - of_pairs, sums.meat(counted), atol=1e-10)
    dyadic = DyadicContributions(pairs, Z, u)
    np.testing.assert_allclose(dyadic.total, explicit[:, :-1].sum(axis=0), atol=1e-10)
    everywhere = dyadic.of_items(slice(0, len(X)))
    np.testing.assert_allclose(
        everywhere, item_incidence(pairs.low, pairs.high, len(X)) @ explicit, atol=1e-10
    )
    np.testing.assert_allclose(dyadic.of_items(slice(3, 8)), everywhere[3:8], atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_share_only_an_item_without_a_count_are_independent(seed):
    left, right, u = rows_with_two_items(seed)
    counts = np.arange(9) >= 3
    ends = [{int(i), int(j)} for i, j in zip(left, right, strict=True)]
    shared = np.array(
        [[any(counts[item] for item in one & two) or one == two for two in ends] for one in ends]
    )
    shared &= np.array([len(one) == 2 or counts[list(one)].all() for one in ends])
    sums = DyadicSums.of_rows(left, right, u, counts.astype(float))
    np.testing.assert_allclose(sums.meat(counts.astype(float)), u.T @ shared @ u, atol=1e-10)


def test_a_classical_covariance_needs_no_robust_meat():
    J, meat = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.2], [0.2, 3.0]])
    model = J @ meat @ J.T
    np.testing.assert_allclose(sandwich(J, meat, None), model)
    np.testing.assert_allclose(sandwich(J, meat, 5 * meat), 5 * model)
    np.testing.assert_allclose(sandwich(J, meat, 0 * meat, weight_unit=0.1), 0.05 * model)


@pytest.mark.parametrize("seed", range(4))
def test_meats_equal_double_loops(seed):
    X, pairs = random_pairs(seed)
    rng = np.random.default_rng(seed)
    n_pairs = len(pairs.high)
    k = np.array(
        [
            sum(pairs.number[p] for p in range(n_pairs) if item in (pairs.low[p], pairs.high[p]))
            for item in range(len(X))
        ]
    )
    mean = k @ X / k.sum()
    u = PairContributions(
        rng.normal(size=n_pairs), rng.normal(size=n_pairs), rng.normal(size=(n_pairs, 2))
    )
    explicit = [
        np.concatenate(
            [
                u.low[p] * (X[pairs.low[p]] - mean) + u.high[p] * (X[pairs.high[p]] - mean),
                u.extra[p],
            ]
        )
        for p in range(n_pairs)
    ]
    none = np.zeros(len(X))  # no item counts, so pairs do
    items, of_pairs = meats_of(X - mean, pairs, u, none)
    np.testing.assert_allclose(
        (items - of_pairs)[:-1, :-1],
        sum(np.outer(vector, vector) for vector in explicit),
        rtol=1e-10,
        atol=1e-10,
    )
    centred = [
        vector - pairs.number[p] * sum(explicit) / pairs.number.sum()
        for p, vector in enumerate(explicit)
    ]
    scatter = sum(k[i] * np.outer(X[i] - mean, X[i] - mean) for i in range(len(X)))
    naive = -sum(np.outer(vector, vector) for vector in centred)
    leverage = np.zeros(len(X))
    for i in range(len(X)):
        t = sum(centred[p] for p in range(n_pairs) if i in (pairs.low[p], pairs.high[p]))
        leverage[i] = (X[i] - mean) @ np.linalg.inv(scatter) @ (X[i] - mean)
        h = k[i] * (1 / k.sum() + leverage[i])
        naive += np.outer(t, t) / (1 - min(h, LARGEST_LEVERAGE)) ** 2
    whitener = whitening_basis(scatter, np.ones(3)).transform
    inflation = 1 / (1 - np.minimum(k * (1 / k.sum() + leverage), LARGEST_LEVERAGE))
    found = ItemTable(X).jackknife(whitener, k, Moments(k.sum(), mean, scatter))
    np.testing.assert_allclose(inflation, found)
    items, of_pairs = meats_of(X - mean, pairs, u, inflation)
    meat = centred_meat(items - of_pairs, sum(explicit), float(pairs.number.sum()))
    np.testing.assert_allclose(meat, naive, rtol=1e-9, atol=1e-9)


def test_a_covariance_is_raised_where_it_is_far_below_the_models():
    model = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(floored_covariance(3 * model, model), 3 * model)
    np.testing.assert_allclose(floored_covariance(0.1 * model, model), 0.5 * model)
    np.testing.assert_allclose(floored_covariance(-model, model), 0.5 * model)
    mixed = floored_covariance(np.diag([5.0, 0.0]), np.eye(2))
    np.testing.assert_allclose(mixed, np.diag([5.0, 0.5]))


def test_a_floor_keeps_the_digits_of_an_ill_conditioned_covariance():
    """Condition 1e14 and more; the robust one is the larger the smaller the model's is, or less
    than half. With 60 digits.
    """
    rng = np.random.default_rng(0)
    for ratios in ([1.1, 3e3, 7e5], [0.1, 3e3, 7e5], [0.1, 0.2, 7e5]):
        J = np.linalg.qr(rng.normal(size=(3, 3)))[0] * [250.0, 4e-3, 2e-5]
        meat = np.diag(ratios)
        with mp.workdps(60):
            root, raised = mp.matrix(J.tolist()), mp.diag([max(ratio, 0.5) for ratio in ratios])
            expected = root * raised * root.T
            errors = [float(mp.sqrt(expected[k, k])) for k in range(3)]
        found = floored_covariance(J @ meat @ J.T, J @ J.T)
        np.testing.assert_allclose(np.sqrt(np.diag(found)), errors, rtol=1e-9)


def test_ties_are_taken_off_and_never_leave_less_than_half_of_the_average():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    model = root @ root.T
    np.testing.assert_allclose(less_ties(model, 0.3 * model), 0.7 * model, rtol=1e-10)
    axis = root[:, 0]  # along it nothing at all would be left
    taken = np.outer(axis, axis)
    left = 1 - np.mean(np.diag(taken) / np.diag(model))
    found = less_ties(model, taken)
    values = np.linalg.eigvals(np.linalg.solve(model, found)).real
    np.testing.assert_allclose(np.sort(values), [0.5 * left, 1, 1], rtol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 0.1, 1e-6, 1e3])
def test_a_feature_that_only_the_ridge_holds_leaves_the_others_their_errors(scale):
    rng, n, m = np.random.default_rng(0), 300, 3000
    group, x = np.arange(n) % 2, rng.normal(size=(n, 3))
    left = rng.integers(0, n, m)
    right = (left + 2 * rng.integers(1, n // 2, m)) % n  # never across groups
    won = rng.random(m) < 1 / (1 + np.exp((x[right] - x[left]) @ [1, -0.5, 0.3]))
    votes = np.where(won, (left, right), (right, left)).T
    settings = {"method": "paired", "l2": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = RankRegression(**settings).fit(x, votes).std_errors_
        beside = RankRegression(**settings).fit(np.column_stack([x, scale * group]), votes)
    # leverages count the feature, which is one parameter of four among 300 items
    np.testing.assert_allclose(beside.std_errors_[:3], alone, rtol=0.02)
