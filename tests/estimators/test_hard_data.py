"""Every estimator on hard data, against a dense twin in double precision (tests/dense.py).

studies/test_hard_data.py does the same with many more draws, and looks at coverage.
"""

import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from pairscore import PairscoreError, PairscoreWarning, RankRegression, fit_stream
from tests import dense
from tests.hard_designs import NAMES, SIZES, draw, large_and_matched

METHODS = ("mle", "paired", "pooled", "split")
DIGITS = 1e-6


def items_of(data):
    names = [f"x{k}" for k in range(data.X.shape[1])]
    return {"id": np.arange(len(data.X))} | dict(zip(names, data.X.T, strict=True))


def fit(data, how="memory", **settings):
    """The model, in memory or by a stream, and its warnings in words.

    Those of NumPy and of Python are errors.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        warnings.simplefilter("always", PairscoreWarning)
        if how == "memory":
            model = RankRegression(**settings).fit(items_of(data), data.votes)
        else:
            model = fit_stream(items_of(data), data.votes, **settings)
    return model, [str(one.message) for one in said]


def assert_twins(model, expected):
    """Coefficients within DIGITS standard errors, errors to DIGITS of themselves."""
    np.testing.assert_array_equal(model.undetermined_, expected.undetermined)
    known = ~expected.undetermined
    errors = expected.std_errors[known]
    assert np.max(np.abs(model.coef_ - expected.coef)[known] / errors, initial=0.0) < DIGITS
    np.testing.assert_allclose(model.std_errors_[known], errors, rtol=DIGITS)
    assert np.all(np.isnan(model.std_errors_[~known]))


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("size", SIZES[1:], ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("ties only", "separated")])
def test_estimates_are_those_of_the_dense_twin(name, size, how):
    """Also what no comparison determines: it is said, and has no error."""
    n, m, d = size
    data = draw(name, np.random.default_rng(len(name) + n), n, m, d, spare=d + 10)
    assert not dense.is_separated(data)
    for number, method in enumerate(METHODS):
        for inference in ("items",) if name == "weights" else ("items", "model"):
            link = ("logit", "probit")[(number + n) % 2]
            expected = dense.fit(data, method, inference, link)
            settings = {"method": method, "inference": inference, "link": link}
            model, said = fit(data, how, **settings)
            assert_twins(model, expected)
            if expected.undetermined.any():
                assert any("unknown" in text or "constant" in text for text in said), said


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_errors_of_pooled_keep_their_digits_in_fewer_groups_than_features(link, how):
    """Three groups of items that are nearly alike, in three features: one axis has no groups.

    Along it `pooled` is 1e6 times as unsure as along the others.
    """
    for seed in range(4):
        data = draw("all nearly matched", np.random.default_rng(seed), 14, 86, 3, spare=13)
        model, _ = fit(data, how, method="pooled", link=link)
        assert_twins(model, dense.fit(data, "pooled", link=link))


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("inference", ["items", "model"])
@pytest.mark.parametrize("method", METHODS)
def test_of_ties_alone_nothing_is_known(method, inference, how):
    for n, m, d in SIZES:
        data = draw("ties only", np.random.default_rng(n), n, m, d, spare=d + 10)
        model, said = fit(data, how, method=method, inference=inference)
        assert not model.coef_.any()
        assert np.all(np.isnan(model.std_errors_))
        assert any("every comparison is a tie" in text for text in said)


@pytest.mark.parametrize("times", [1, 7])
@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_ties_between_unlike_items_leave_a_classical_variance(how, link, times):
    """They take more off it than there is; it is small then, and not zero."""
    X = np.array([0.25, 1.6, 0.46, 0.5, 0.0])[:, None]
    left, right = np.tile([[0, 1, 2, 3], [4] * 4], times)
    data = dense.Data(X, left, right, np.tile([0, 0, 1, 1], times))
    model, _ = fit(data, how, inference="model", link=link)
    assert_twins(model, dense.fit(data, inference="model", link=link))
    assert model.std_errors_[0] > 0


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize(
    ("name", "method", "link"),
    [
        ("weights", "paired", "probit"),  # Fisher's full steps go to and fro
        ("weights", "pooled", "probit"),
        ("all nearly matched", "split", "logit"),  # tiny differences along the closed form
        ("all nearly matched", "split", "probit"),
    ],
)
def test_the_scale_of_a_closed_form_is_found(name, method, link, how):
    data = draw(name, np.random.default_rng(1), 8, 40, 2, spare=12)
    model, said = fit(data, how, method=method, link=link)
    assert_twins(model, dense.fit(data, method, link=link))
    assert not [text for text in said if "scale" in text]


# -- a large table of matched pairs -------------------------------------------------------------

LARGE = [(26_000, 40_000, 20, 50), (60_000, 30_000, 9, 20)]


@pytest.mark.parametrize("size", LARGE, ids=str)
@pytest.mark.parametrize("method", ["mle", "paired"])
def test_a_feature_that_is_equal_in_all_items_that_met_is_seen_in_a_large_table(method, size):
    for seed in range(4):
        data = large_and_matched(seed, *size, spread=0.0)
        model, said = fit(data, method=method)
        assert model.undetermined_.tolist() == [True] + [False] * (size[2] - 1)
        assert model.n_groups_ > 1
        assert any("no two items that met differ in 'x0'" in text for text in said)


@pytest.mark.parametrize("spread", [3e-4, 1e-4])
@pytest.mark.parametrize("size", LARGE, ids=str)
@pytest.mark.parametrize("method", ["mle", "paired"])
def test_errors_of_nearly_matched_pairs_in_a_large_table(method, size, spread):
    data = large_and_matched(7, *size, spread=spread)
    model, _ = fit(data, method=method)
    assert_twins(model, dense.fit(data, method))


# -- the maximum --------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("spread", [3e-3, 1e-3, 3e-4])
@pytest.mark.parametrize(("seed", "n", "m", "d"), [(3, 1000, 6000, 5), (4, 300, 1500, 3)])
def test_the_likelihood_is_maximised_where_pairs_are_matched(seed, n, m, d, spread, how):
    """The gap to the maximum is not that of random pairs."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n // 30, n)
    X = rng.normal(size=(n // 30, d))[group] + spread * rng.normal(size=(n, d))
    left = rng.integers(0, n, m)
    right = np.array([rng.choice(np.flatnonzero(group == group[row])) for row in left])
    left, right = left[left != right], right[left != right]
    eta = (X[left] - X[right]) @ (np.linspace(-1, 1, d) * 2 / spread)
    outcome = np.where(rng.random(len(left)) < 1 / (1 + np.exp(-eta)), 1, -1)
    data = dense.Data(X, left, right, outcome)
    expected = dense.fit(data, inference="model")
    model, said = fit(data, how, inference="model")
    assert_twins(model, expected)
    assert not [text for text in said if "maximised" in text]
    without, _ = fit(data, how, inference=None)
    assert np.max(np.abs(without.coef_ - expected.coef) / expected.std_errors) < DIGITS


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("seed", [139, 70, 38, 3])
def test_steps_beyond_a_bend_do_not_go_back_too_far(seed, how):
    """A few comparisons with large weights bend the likelihood; steps must not become tiny."""
    rng = np.random.default_rng(seed)
    data = draw("weights", rng, 16, 24, 3)
    assert not dense.is_separated(data)
    model, said = fit(data, how)
    assert_twins(model, dense.fit(data))
    assert not [text for text in said if "maximised" in text]


# -- units and offsets ---------------------------------------------------------------------------


def moved(data, unit=1.0, offset=0.0):
    """The same data in another unit of the first feature, and from another origin."""
    X = data.X.copy()
    X[:, 0] = unit * X[:, 0] + offset
    return replace(data, X=X)


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-95, 2.0**-200, 1e90])
def test_any_unit_gives_the_same_estimates(unit, method, how):
    data = draw("random", np.random.default_rng(8), 20, 60, 3, spare=13)
    for inference in ("items", "model"):
        expected = dense.fit(data, method, inference)
        model, _ = fit(moved(data, unit), how, method=method, inference=inference)
        back = np.array([unit, 1.0, 1.0])
        assert np.max(np.abs(model.coef_ * back - expected.coef) / expected.std_errors) < DIGITS
        np.testing.assert_allclose(model.std_errors_ * back, expected.std_errors, rtol=DIGITS)


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("unit", "seed"), [(1e-155, 1), (1e-160, 2), (1e-120, 3), (5e-324, 4)])
def test_features_that_differ_by_less_than_squares_hold_are_refused(unit, seed, method, how):
    data = moved(draw("random", np.random.default_rng(seed), 20, 60, 2, spare=13), unit)
    for inference in ("items", "model", None):
        with pytest.raises(
            PairscoreError, match=r"of 'x0' differ by at most .* multiply the column"
        ):
            fit(data, how, method=method, inference=inference)


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("offset", "seed"), [(1e7, 5), (-1e6, 6), (3e4, 7)])
def test_offsets_that_leave_enough_digits_change_nothing_whatever_the_order(
    offset, seed, method, how
):
    data = moved(draw("random", np.random.default_rng(seed), 20, 60, 2, spare=13), offset=offset)
    expected = dense.fit(data, method)
    order = np.random.default_rng(seed).permutation(len(data.X))
    place = np.argsort(order)
    turned = replace(data, X=data.X[order], left=place[data.left], right=place[data.right])
    for same in (data, turned):
        assert_twins(fit(same, how, method=method)[0], expected)


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [1e14, -1e12, 3e9])
def test_offsets_that_leave_too_few_digits_are_refused(offset, method, how):
    data = moved(draw("random", np.random.default_rng(9), 20, 60, 2, spare=13), offset=offset)
    with pytest.raises(PairscoreError, match=r"'x0' are near .* subtract a constant from it"):
        fit(data, how, method=method)


@pytest.mark.parametrize("how", ["memory", "stream"])
def test_what_is_equal_up_to_rounding_is_a_constant(how):
    data = draw("random", np.random.default_rng(10), 20, 60, 2)
    data.X[:, 0] = 0.1 + 0.2 + 5e-17 * (np.arange(20) % 2)
    data.X[3, 0] = 0.3
    model, said = fit(data, how)
    assert model.undetermined_.tolist() == [True, False]
    assert said


# -- no warning of NumPy reaches a user ------------------------------------------------------------

UNITS = {"random": 1.0, "tiny": 1e-95, "huge": 1e95, "shifted": 1.0}
CASES = [
    *({"method": method} for method in METHODS),
    {"ties": "drop"},
    {"ties": "davidson"},
    {"ties": "rao-kupper"},
    {"side_effect": True},
    {"l2": 1.0},
]


def hard(name, size, seed):
    if name not in UNITS:
        return draw(name, np.random.default_rng(seed), *size, spare=size[2] + 10)
    data = draw("half ties", np.random.default_rng(seed), *size, spare=size[2] + 10)
    return moved(data, UNITS[name], 1e7 if name == "shifted" else 0.0)


@pytest.mark.parametrize("inference", ["items", "model", None])
@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("name", [*NAMES, *UNITS])
def test_no_numpy_warning_reaches_a_user(name, link, inference):
    n_fitted = 0  # some are refused in a sentence, such as ties alone that are left out
    for number, size in enumerate(SIZES[::2]):
        data = hard(name, size, seed=len(name) + number)
        for case in CASES:
            both = inference == "items" and "method" in case
            for how in ("memory", "stream") if both else ("memory",):
                settings = {"link": link, "inference": inference} | case
                with suppress(PairscoreError):
                    model, _ = fit(data, how, **settings)
                    assert np.isfinite(model.coef_).all()
                    n_fitted += 1
    assert n_fitted >= len(CASES)


def ties_at_any_distance(seed):
    """Strong scores, and ties that do not go by them: nearly impossible ones at a large scale."""
    rng = np.random.default_rng(seed)
    n, m, d = int(rng.integers(8, 60)), int(rng.integers(20, 400)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    eta = (X[left] - X[right]) @ rng.normal(size=d) * rng.choice([0.3, 1, 3, 6, 10])
    rng.random()
    tied = rng.random(m)
    tied = tied < rng.choice([0.02, 0.1, 0.3, 0.6])
    won = rng.random(m) < ndtr(eta)
    return dense.Data(X, left, right, np.where(tied, 0, np.where(won, 1, -1)))


@pytest.mark.parametrize("seed", [176, 186, 300, 321, 379, 392, 1, 2])
def test_ties_by_rao_and_kupper_do_not_overflow_under_probit(seed):
    model, _ = fit(ties_at_any_distance(seed), link="probit", ties="rao-kupper")
    assert np.isfinite(model.result_.outcomes.decided_scale)
