"""Estimates, errors and warnings on hard data, by every method, in memory and by streams.

Designs are those of tests/hard_designs.py, with 8 to 60 items and 5 to 100 comparisons. Estimates
and errors are held against the dense twin of tests/dense.py.
"""

import zlib

import numpy as np
import pytest
from tests import dense
from tests.estimators.test_hard_data import METHODS, fit
from tests.hard_designs import draw, large_and_matched

N_DRAWS, N_FITS = 40, 400
DIGITS = 1e-6
DETERMINED = ("random", "nearly matched", "all nearly matched", "weights", "half with one item")
OPEN = ("matched", "never differs")


def draws(name, number, fewest=5):
    """Data of random sizes that are not separated; the seed comes from the name of the design."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found = 0
    while found < number:
        n, m, d = int(rng.integers(8, 61)), int(rng.integers(fewest, 101)), int(rng.integers(1, 5))
        data = draw(name, rng, n, m, d, spare=d + 10)
        used = len(np.unique([data.left, data.right]))
        if d < min(used, m) and (name == "separated") == dense.is_separated(data):
            found += 1
            yield data


def gaps(model, expected):
    """Largest distance of coefficients in standard errors, and of errors, relative to them."""
    known = ~expected.undetermined
    errors = expected.std_errors[known]
    far = np.abs(model.coef_ - expected.coef)[known] / errors
    return max(far, default=0.0), max(np.abs(model.std_errors_[known] / errors - 1), default=0.0)


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("name", [*DETERMINED, *OPEN, "half ties"])
def test_estimates_and_errors_are_those_of_a_dense_twin(name, how, figures):
    """All to six digits, also of `pooled` where all features are nearly matched.

    It takes such pairs for random ones (a warning says so), and the condition of its covariance is
    up to 1e14.
    """
    worst, n_fits = np.zeros(2), 0
    for number, data in enumerate(draws(name, N_DRAWS)):
        for method in METHODS:
            # what a weight means to a classical error is another question
            for inference in ("items",) if name == "weights" else ("items", "model"):
                link = ("logit", "probit")[number % 2]
                expected = dense.fit(data, method, inference, link)
                model, _ = fit(data, how, method=method, inference=inference, link=link)
                np.testing.assert_array_equal(model.undetermined_, expected.undetermined)
                worst = np.maximum(worst, gaps(model, expected))
                n_fits += 1
    figures(
        f"hard data, {name}, {how}: {n_fits} fits against a dense twin",
        f"below {DIGITS:g} standard errors, {DIGITS:g} of an error",
        f"{worst[0]:.1g}, {worst[1]:.1g}",
    )
    assert worst.max() < DIGITS


@pytest.mark.parametrize("how", ["memory", "stream"])
@pytest.mark.parametrize("name", [*OPEN, "ties only"])
def test_what_is_not_determined_is_said_and_has_no_interval(name, how, figures):
    silent = shown = n_fits = 0
    for data in draws(name, N_DRAWS):
        open_ones = ~(data.X[data.left] - data.X[data.right]).any(axis=0)
        open_ones |= name == "ties only"
        for method in METHODS:
            for inference in ("items", "model"):
                model, said = fit(data, how, method=method, inference=inference)
                words = ("unknown", "constant", "every comparison is a tie")
                silent += not any(word in text for text in said for word in words)
                shown += bool(np.any(np.isfinite(model.confidence_intervals()[open_ones])))
                n_fits += 1
    figures(
        f"hard data, {name}, {how}: {n_fits} fits",
        "none without a warning, none with an interval of what is open",
        f"{silent} without a warning, {shown} with an interval",
    )
    assert silent == shown == 0


@pytest.mark.parametrize("size", [(26_000, 40_000, 20, 50), (60_000, 30_000, 9, 20)], ids=str)
@pytest.mark.parametrize("method", ["mle", "paired"])
def test_a_matched_feature_is_seen_in_large_tables(method, size, figures):
    seen = sum(
        bool(fit(large_and_matched(seed, *size, spread=0.0), method=method)[0].undetermined_[0])
        for seed in range(1000, 1020)
    )
    figures(f"hard data, large tables {size}, {method}: matched feature seen", "20 of 20", seen)
    assert seen == 20


@pytest.mark.parametrize("inference", ["items", "model"])
@pytest.mark.parametrize("method", ["mle", "paired"])
@pytest.mark.parametrize("name", ["random", "nearly matched", "half with one item", "half ties"])
def test_intervals_of_a_difference_of_equal_coefficients_cover(name, method, inference, figures):
    """60 items, 100 comparisons, two coefficients that are equal; 95 % intervals.

    A share that is three standard errors outside 90 to 99 % fails: intervals of so few comparisons
    are rough, and with one item in half of all comparisons item-robust ones are more so.
    """
    rng = np.random.default_rng(zlib.crc32(repr((name, method, inference)).encode()))
    covered = []
    while len(covered) < N_FITS:
        data = draw(name, rng, 60, 100, 2)
        if dense.is_separated(data):
            continue
        model, _ = fit(data, method=method, inference=inference)
        contrast = np.array([1.0, -1.0])
        z = contrast @ model.coef_ / np.sqrt(contrast @ model.covariance_ @ contrast)
        covered.append(abs(z) < 1.959964)
    share, low, high = np.mean(covered), 0.90, 0.99
    figures(
        f"hard data, coverage, {name}, {method}, {inference}", f"{low:.0%} to {high:.0%}",
        f"{share:.1%}",
    )  # fmt: skip
    nearest = np.clip(share, low, high)
    assert abs(share - nearest) < 3 * np.sqrt(nearest * (1 - nearest) / N_FITS)


@pytest.mark.parametrize("inference", ["items", "model"])
@pytest.mark.parametrize("how", ["memory", "stream"])
def test_coefficients_that_only_a_prior_holds_have_no_finite_interval(how, inference, figures):
    """A bound is finite only if no direction of recession takes the coefficient beyond it."""
    wrong = silent = n_bounds = 0
    for data in draws("separated", N_DRAWS):
        model, said = fit(data, how, inference=inference)
        beyond = dense.recession(data)
        bounds = model.confidence_intervals()
        wrong += int(np.count_nonzero(np.isfinite(bounds) & beyond))
        n_bounds += int(np.count_nonzero(beyond))
        silent += not any("there is no p-value" in text for text in said)
    figures(
        f"hard data, separated, {how}, {inference}: {n_bounds} bounds that only a prior gives",
        "none finite, none without a warning",
        f"{wrong} finite, {silent} without a warning",
    )
    assert wrong == silent == 0
