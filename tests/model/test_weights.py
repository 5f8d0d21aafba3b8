"""Weights are relative: only their ratios matter. Counts are repeats: 3 is three rows."""

import warnings

import numpy as np
import pytest

from pairscore import Comparisons, RankRegression, fit_stream, load
from pairscore.errors import PairscoreWarning
from pairscore.streaming.merge import merge_rounds, merge_sites
from pairscore.streaming.rounds import site_round
from pairscore.streaming.sites import site_sums

UNITS = (1e-3, 7.3, 1e3)
INFERENCE = ("items", "model", None)
PLAIN = [
    {"method": method, "inference": kind, "l2": l2, "side_effect": side}
    for method in ("split", "pooled", "paired", "mle")
    for kind in INFERENCE
    for l2, side in ((0.0, False), (3.0, True))
]
FURTHER = [
    {"l2": "auto", "inference": "model"},
    {"l2": "auto", "method": "pooled"},
    {"ties": "drop", "inference": "model"},
    {"ties": "davidson", "inference": "model"},
    {"ties": "rao-kupper"},
    {"context": ["home"], "inference": "model", "l2": 2.0},
    {"item_effects": True},
    {"judge_slopes": True, "l2": 1.0},
    {"side_effect": "judges", "inference": "items+judges"},
]


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        yield


def study(separated=False):
    """60 items, of which ten are never compared, with ties unless all is explained."""
    rng = np.random.default_rng(3)
    X, n, m = rng.normal(size=(60, 3)), 50, 300
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    eta = (X[left] - X[right]) @ [1.0, -0.5, 0.3] + 0.3 * (not separated)
    won = eta > 0 if separated else rng.random(m) < 1 / (1 + np.exp(-eta))
    winner = np.where(won, "left", "right")
    if not separated:
        winner = np.where(rng.random(m) < 0.15, "tie", winner)
    items = {"id": np.arange(60), **{f"x{k}": X[:, k] for k in range(3)}}
    votes = {"left": left, "right": right, "winner": winner}
    return items, votes, {"judge": rng.integers(0, 12, m), "home": rng.normal(size=m)}


def numbers(model):
    """Everything that a fit has as a number."""
    fit = model.result_
    found = {
        "coef": fit.coef,
        "sizes": [
            fit.n_comparisons,
            fit.outcomes.agreement,
            fit.outcomes.noise,
            fit.outcomes.tie_share,
            fit.outcomes.decided_scale,
        ],
        "l2": [fit.l2],
    }
    if fit.covariance is not None:
        found |= {"errors": fit.std_errors, "covariance": fit.covariance.ravel()}
    if fit.side_effect is not None:
        found["side"] = [fit.side_effect]
    if fit.effects is not None:
        found |= {"effects": fit.effects.values, "of_effects": fit.effects.std_errors}
    if fit.item_effects is not None:
        found |= {"items": fit.item_effects.effect, "of_items": fit.item_effects.std_error}
    if fit.judges is not None:
        found |= {"slopes": fit.judges.slope, "judged": fit.judges.n_comparisons}
    if fit.likelihood is not None and fit.likelihood.value is not None:
        found["loglik"] = [fit.likelihood.value, fit.likelihood.n_comparisons]
    return {name: np.asarray(values, dtype=float) for name, values in found.items()}


def assert_same(model, other, rtol=1e-9):
    one, two = numbers(model), numbers(other)
    assert one.keys() == two.keys()
    for name, values in one.items():
        size = np.abs(np.nan_to_num(values)).max(initial=0.0)
        np.testing.assert_allclose(two[name], values, rtol, rtol * size, err_msg=name)


def weights(m):
    """Unequal ones; some rows are left out."""
    return np.random.default_rng(0).choice([0.0, 1.0, 2.0, 5.0], m, p=[0.05, 0.4, 0.35, 0.2])


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("settings", PLAIN, ids=str)
def test_the_unit_of_weights_changes_nothing(settings, separated):
    """In memory and in a stream, of which the second ends where the first does."""
    items, votes, _ = study(separated)
    w = weights(len(votes["left"]))
    model = RankRegression(**settings).fit(items, votes | {"weight": w})
    streamed = fit_stream(items, votes | {"weight": w}, **settings)
    assert_same(model, streamed, 3e-5)
    for unit in UNITS:
        weighted = votes | {"weight": unit * w}
        assert_same(model, RankRegression(**settings).fit(items, weighted))
        assert_same(streamed, fit_stream(items, weighted, **settings))


@pytest.mark.parametrize("settings", FURTHER, ids=str)
def test_the_unit_of_weights_changes_nothing_beside_features_or_in_a_chosen_ridge(settings):
    items, votes, beside = study()
    w = weights(len(votes["left"]))
    votes |= beside
    model = RankRegression(**settings).fit(items, votes | {"weight": w})
    for unit in UNITS:
        assert_same(model, RankRegression(**settings).fit(items, votes | {"weight": unit * w}))


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("kind", ["model", None])
def test_the_unit_of_weights_changes_no_ability(separated, kind):
    _, votes, _ = study(separated)
    w = weights(len(votes["left"]))
    models = [
        RankRegression(inference=kind).fit(None, votes | {"weight": unit * w})
        for unit in (1.0, *UNITS)
    ]
    for other in models[1:]:
        assert_same(models[0], other)


@pytest.mark.parametrize("settings", [*PLAIN, *FURTHER], ids=str)
def test_equal_weights_are_none(settings):
    items, votes, beside = study()
    votes |= beside
    m = len(votes["left"])
    model = RankRegression(**settings).fit(items, votes)
    assert_same(model, RankRegression(**settings).fit(items, votes | {"weight": np.full(m, 0.1)}))


@pytest.mark.parametrize("settings", [*PLAIN, *FURTHER], ids=str)
def test_a_count_of_three_is_three_rows(settings):
    """Beside weights, which each of the rows has. Folds of l2='auto' are dealt by pairs."""
    items, votes, beside = study()
    m = len(votes["left"])
    votes |= beside | {"weight": weights(m)}
    count = np.random.default_rng(1).choice([1, 3], m)
    model = RankRegression(**settings).fit(items, votes | {"count": count})
    rows = {name: np.repeat(column, count) for name, column in votes.items()}
    assert_same(model, RankRegression(**settings).fit(items, rows), 1e-7)
    if settings in PLAIN:
        columns = {name: votes[name] for name in ("left", "right", "winner", "weight")}
        streamed = fit_stream(items, columns | {"count": count}, **settings)
        rows = {name: np.repeat(column, count) for name, column in columns.items()}
        assert_same(streamed, fit_stream(items, rows, **settings), 1e-7)
        assert_same(model, streamed, 3e-5)


def test_classical_errors_are_those_of_as_many_comparisons_as_the_weights_are_worth():
    """Rows of nearly no weight are as good as left out; their mean would halve the variance."""
    items, votes, _ = study()
    w = np.where(np.arange(len(votes["left"])) % 2 == 0, 1.0, 1e-9)
    some = {name: column[::2] for name, column in votes.items()}
    model = RankRegression(inference="model").fit(items, some)
    weighted = RankRegression(inference="model").fit(items, votes | {"weight": w})
    np.testing.assert_allclose(weighted.coef_, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(weighted.std_errors_, model.std_errors_, rtol=1e-6)


def test_an_update_is_the_fit_to_all_whatever_the_unit_of_weights():
    items, votes, _ = study()
    w, half = weights(len(votes["left"])), 200
    settings = {"inference": "model", "l2": 2.0}
    whole = RankRegression(**settings).fit(items, votes | {"weight": w})
    for unit in (1.0, *UNITS):
        table = votes | {"weight": unit * w}
        first = {name: column[:half] for name, column in table.items()}
        rest = {name: column[half:] for name, column in table.items()}
        model = RankRegression(**settings).fit(items, first).update(rest)
        assert_same(whole, model, 1e-7)


@pytest.mark.parametrize("method", ["pooled", "mle"])
@pytest.mark.parametrize("kind", ["items", "model"])
def test_the_unit_of_weights_does_not_matter_to_sites(method, kind):
    items, votes, _ = study()
    w = weights(len(votes["left"]))

    def merged(weight):
        table = votes | {"weight": weight}
        sums = [site_sums(items, table)]
        model = merge_sites(sums, method=method, l2=3.0, inference=kind)
        for _ in range(4 if method == "mle" else 1):
            model = merge_rounds([site_round(model, items, table)])
        return model

    model, alone = merged(w), RankRegression(method=method, l2=3.0, inference=kind)
    assert_same(model, merged(1e3 * w))
    np.testing.assert_allclose(
        model.coef_, alone.fit(items, votes | {"weight": w}).coef_, rtol=1e-5
    )
    if kind == "model":
        np.testing.assert_allclose(model.std_errors_, alone.std_errors_, rtol=1e-5)


def test_profile_intervals_of_equal_weights_are_those_without():
    items, votes, _ = study()
    decided = {name: column[votes["winner"] != "tie"] for name, column in votes.items()}
    m = len(decided["left"])
    ends = [
        RankRegression().fit(items, decided | more).confidence_intervals(method="profile")
        for more in ({}, {"weight": np.full(m, 1e3)})
    ]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)


def test_the_unit_of_weights_is_that_of_an_average_comparison():
    items, votes, _ = study()
    w, count = weights(300), np.random.default_rng(1).integers(1, 4, 300)
    X = np.column_stack([items[f"x{k}"] for k in range(3)])
    data, _ = Comparisons.from_frames(X, votes | {"weight": 1e200 * w, "count": count})
    expected = 1e200 * np.sum(count * w**2) / np.sum(count * w)
    assert data.weight_unit == pytest.approx(expected, rel=1e-12)
    assert data.with_relative_weights().weight_unit == pytest.approx(1.0, rel=1e-12)
    assert data.number == count[w > 0].sum()
    none, _ = Comparisons.from_frames(X, votes | {"weight": np.full(300, 0.1)})
    assert none.with_relative_weights().weight is None


def test_shares_are_at_most_one_so_that_the_model_can_be_read_again(tmp_path):
    weight = [1.0, 2.5, 0.4, 1.8, 2.2, 0.6, 0.3, 0.9]  # of which sums in two orders differ
    votes = {"left": ["b", "a"] * 4, "right": ["a", "b"] * 4, "winner": ["left", "right"] * 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairscoreWarning)
        model = RankRegression(inference="model").fit(
            {"id": ["a", "b"], "x": [0.0, 1.0]}, votes | {"weight": weight}
        )
    assert model.agreement_ == 1.0
    model.save(tmp_path / "all_agree.npz")
    assert load(tmp_path / "all_agree.npz").agreement_ == 1.0
