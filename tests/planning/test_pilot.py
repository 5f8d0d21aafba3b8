"""Noise from a pilot: the law of its statistic against plain regressions, its interval against
simulated studies.
"""

import numpy as np
import pytest
from scipy.stats import binomtest, ks_2samp, kstest, norm

from pairscore import PairscoreError, Population, plan
from pairscore.planning import pilot
from pairscore.planning.pilot import (
    GRID,
    NoiseEstimate,
    _fitted,
    _invert,
    agreement,
    estimate_noise,
    feature_axes,
    simulated_agreements,
)
from pairscore.theory.integrals import spread_for_noise
from tests.planning.conftest import (
    LOGIT,
    a_study,
    incidence_of,
    votes,
)

LEVEL = 1e-6  # chance that a right program fails a test


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_the_fitted_values_have_the_law_of_a_plain_regression(rank):
    """The agreement of fitted values with the outcomes, and the part of the sum of squares they
    take, by Kolmogorov and Smirnov.
    """
    n, m, studies, rng = 16, 40, 2500, np.random.default_rng(1)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    incidence = incidence_of(left, right, n)
    plain, drawn = np.empty((2, studies)), np.empty((2, studies))
    for found, twin in ((plain, True), (drawn, False)):
        for study in range(studies):
            z = rng.normal(size=(n, 1))
            outcome = np.where(rng.random((m, 1)) < LOGIT.cdf(2 * (incidence.T @ z)), 1.0, -1.0)
            w = incidence @ outcome
            if twin:
                design = np.column_stack([np.ones(n), z, rng.normal(size=(n, rank - 1))])
                fit = design @ np.linalg.lstsq(design, w, rcond=None)[0]
            else:
                fit = _fitted(w, z, rank, rng)
            found[:, study] = agreement(incidence, fit, outcome)[0], np.sum(fit**2) / np.sum(w**2)
    for one, other in zip(plain, drawn, strict=True):
        assert ks_2samp(one, other, method="asymp").pvalue > LEVEL
    fewer = [np.sum(_fitted(w, z, rank + 2, rng) ** 2) / np.sum(w**2) for _ in range(300)]
    assert ks_2samp(plain[1], fewer).pvalue < LEVEL  # two features more would be seen


def test_agreement_is_a_share_of_comparisons():
    incidence = incidence_of(np.array([0, 1, 0]), np.array([1, 2, 2]), 3)
    outcome = np.array([1.0, 1.0, -1.0])
    assert agreement(incidence, np.array([3.0, 2.0, 1.0]), outcome) == pytest.approx(2 / 3)
    assert agreement(incidence, np.array([1.0, 1.0, 1.0]), outcome) == 0


def test_axes_span_the_features_whatever_their_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * [1e-8, 1.0, 1e8] + [1e-7, 5.0, 0.0]
    doubled = np.column_stack([X, X @ [1e8, 1.0, 1e-8], np.full(30, 7.0)])
    axes = feature_axes(doubled)
    assert axes.shape == (30, 3)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(axes.sum(axis=0), 0, atol=1e-10)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(axes @ (axes.T @ standard), standard, atol=1e-6)
    assert feature_axes(np.full((5, 2), 3.0)).shape == (5, 0)


def ranks(studies, noise_off, rng):
    """Rank of each pilot's agreement among 200 simulated ones, from 0 to 1, equal ones by lot.

    By exchangeability exactly uniform where the simulated noise is the true one.
    """
    found = []
    for study in range(studies):
        noise = (0.1, 0.2, 0.3, 0.4)[study % 4]
        X, left, right, outcome = a_study(40, 60, 4, noise, rng)
        incidence, axes = incidence_of(left, right, 40), feature_axes(X)
        observed = agreement(incidence, axes @ (axes.T @ (incidence @ outcome)), outcome)
        q = spread_for_noise(LOGIT, noise + noise_off)
        values = simulated_agreements(incidence, 4, LOGIT, q, rng)
        below, equal = np.sum(values < observed), np.sum(values == observed)
        found.append((below + rng.random() * (equal + 1)) / (len(values) + 1))
    return np.array(found)


def test_a_pilot_ranks_evenly_among_studies_of_its_noise(monkeypatch):
    """1200 pilots of N = 40, M = 60, d = 4: nine of ten intervals hold the noise.

    An interval holds the noises at which the rank is within its tails. A noise that is off by 0.08
    would be seen.
    """
    monkeypatch.setattr(pilot, "MOST_SIMULATIONS", 200)
    rng = np.random.default_rng(5)
    even = ranks(1200, 0.0, rng)
    assert kstest(even, "uniform").pvalue > LEVEL / 2
    outside = int(np.sum((even < 0.05) | (even > 0.95)))
    assert binomtest(outside, 1200, 0.1).pvalue > LEVEL / 2
    assert kstest(ranks(150, 0.08, rng), "uniform").pvalue < LEVEL


def test_counting_misfits_would_not_do():
    """The rival: the share of comparisons that the fit misses, with its binomial interval."""
    rng = np.random.default_rng(5)
    naive = [flips_seen(*a_study(40, 60, 20, 0.4, rng)) for _ in range(200)]
    assert np.mean([low <= 0.4 <= high for low, high in naive]) < 0.5


def flips_seen(X, left, right, outcome):
    """A plain 90 % interval from how often fitted values and outcomes disagree."""
    incidence, axes = incidence_of(left, right, len(X)), feature_axes(X)
    share = 1 - float(agreement(incidence, axes @ (axes.T @ (incidence @ outcome)), outcome))
    half = norm.isf(0.05) * np.sqrt(share * (1 - share) / len(outcome))
    return share - half, share + half


def test_a_large_pilot_pins_the_noise_down(few_simulations):
    rng = np.random.default_rng(3)
    found = estimate_noise(*a_study(300, 4000, 5, 0.2, rng), LOGIT, rng)
    assert found.low - 0.04 < 0.2 < found.high + 0.04  # twice its width: any seed
    assert found.low <= found.noise <= found.high < found.low + 0.06


@pytest.mark.parametrize(
    ("n", "m", "noise", "most"), [(300, 8000, 0.2, 9), (40, 300, 0.0, 26), (80, 900, 0.5, 26)]
)
def test_a_plan_with_a_large_pilot_tries_few_noises(
    few_simulations, monkeypatch, n, m, noise, most
):
    """All 26 were simulated, for seconds; the estimate is the same, to the last digit."""
    looks, X, left, right, outcome = [], *a_study(n, m, 5, noise, np.random.default_rng(6))
    monkeypatch.setattr(
        pilot,
        "simulated_agreements",
        lambda *study: looks.append(1) or simulated_agreements(*study),
    )
    found = estimate_noise(X, left, right, outcome, LOGIT, np.random.default_rng(7))
    assert len(looks) <= most
    incidence, axes, rng = incidence_of(left, right, n), feature_axes(X), np.random.default_rng(7)
    rng.choice([-1.0, 1.0], m)  # as for ties
    observed = float(agreement(incidence, axes @ (axes.T @ (incidence @ outcome)), outcome))
    studies = [
        simulated_agreements(incidence, 5, LOGIT, spread_for_noise(LOGIT, one), rng.spawn(1)[0])
        for one in GRID.tolist()
    ]
    below = [np.mean(one < observed) + 0.5 * np.mean(one == observed) for one in studies]
    assert found == _invert(np.maximum.accumulate(below), 0.9)


def test_coins_are_not_excluded_when_labels_are_coins():
    rng = np.random.default_rng(4)
    assert estimate_noise(*a_study(60, 80, 6, 0.5, rng), LOGIT, rng).high > 0.4
    assert estimate_noise(*a_study(60, 80, 6, 0.0, rng), LOGIT, rng).low < 0.05


def test_an_interval_is_where_the_chance_crosses_its_tails():
    below = np.clip((GRID - 0.1) / 0.2, 0, 1)  # rises from 0 at 0.1 to 1 at 0.3
    found = _invert(below, 0.9)
    assert (found.low, found.noise, found.high) == pytest.approx((0.11, 0.2, 0.29))
    assert _invert(below, 0.5).low == pytest.approx(0.15)
    assert _invert(np.full(26, 0.5), 0.9) == NoiseEstimate(0.0, 0.0, 0.5, 0.9)
    assert _invert(np.zeros(26), 0.9) == NoiseEstimate(0.5, 0.5, 0.5, 0.9)
    assert _invert(np.ones(26), 0.9) == NoiseEstimate(0.0, 0.0, 0.0, 0.9)


def test_the_same_pilot_gives_the_same_estimate_whatever_its_items_are_called():
    X, left, right, outcome = a_study(40, 80, 3, 0.2, np.random.default_rng(7))
    found = estimate_noise(X, left, right, outcome, LOGIT, np.random.default_rng(1))
    longer = np.vstack([np.full((5, 3), 99.0), X])  # items that nobody compared
    assert (
        estimate_noise(longer, left + 5, right + 5, outcome, LOGIT, np.random.default_rng(1))
        == found
    )
    assert estimate_noise(
        X, right, left, -outcome, LOGIT, np.random.default_rng(1)
    ).low == pytest.approx(found.low, abs=0.03)


def test_ties_are_half_a_win_each_way(few_simulations):
    """Every tenth outcome a tie, as often as a coin would decide.

    Near what coins in their place say; as plain misfits they would not be.
    """
    rng = np.random.default_rng(2)
    X, left, right, outcome = a_study(200, 3000, 4, 0.1, rng)
    tied = np.where(np.arange(3000) % 5 == 0, 0.0, outcome)
    coins = np.where(tied == 0, rng.choice([-1.0, 1.0], 3000), outcome)
    found, twin = (
        estimate_noise(X, left, right, one, LOGIT, np.random.default_rng(1))
        for one in (tied, coins)
    )
    assert found.noise == pytest.approx(twin.noise, abs=0.03)
    assert found.noise == pytest.approx(0.1 + 0.2 * 0.4, abs=0.04)


@pytest.mark.usefixtures("few_simulations", "only_paired")
def test_the_comparisons_of_the_true_noise_are_inside_when_the_noise_is():
    """More noise needs more comparisons, so the two intervals hold or miss together."""
    rng, seen = np.random.default_rng(6), set()
    for study in range(6):
        X, left, right, outcome = a_study(60, 80, 3, 0.2, rng)
        found = plan(
            items=X,
            pilot=votes(left, right, outcome),
            misordered=0.08,
            n_items=300,
            method="paired",
        )
        noise = 0.2 if study % 2 else found.noise_estimate.high + 0.02  # and one that is missed
        needed = plan(
            items=X, noise=min(noise, 0.49), misordered=0.08, n_items=300, method="paired"
        ).n_comparisons
        inside = found.noise_estimate.low <= noise <= found.noise_estimate.high
        assert (found.interval[0] <= needed <= found.interval[1]) == inside
        seen.add(inside)
    assert seen == {True, False}


def test_a_pilot_takes_the_place_of_the_noise(few_simulations):
    population = Population(4, noise=0.2, rng=0)
    items, drawn = population.draw(150, 1500, rng=1, second_half=False)
    found = plan(items=items, pilot=drawn, misordered=0.05)
    assert found.noise == pytest.approx(found.noise_estimate.noise)
    assert found.noise_estimate.low < found.noise < found.noise_estimate.high
    assert found.interval[0] < found.n_comparisons < found.interval[1]
    again = plan(items=items, noise=found.noise_estimate.high, misordered=0.05)
    assert found.interval[1] == again.n_comparisons
    angles = plan(items=items, pilot=drawn, n_comparisons=800)
    assert angles.solved_for == "error"
    assert angles.interval[0] < angles.angle < angles.interval[1]
    some = plan(items=items, pilot=drawn, n_comparisons=3000, misordered=0.05)
    assert some.interval[0] <= some.n_items <= some.interval[1]


def test_an_interval_down_to_no_noise_needs_the_fewest(few_simulations):
    """Labels without noise: the lower end is that of hardly any noise under the same method, not
    more than the answer.
    """
    rng = np.random.default_rng(9)
    for _ in range(20):
        X, left, right, outcome = a_study(50, 60, 3, 0.05, rng)
        found = plan(items=X, pilot=votes(left, right, outcome), misordered=0.05, n_items=300)
        if found.noise_estimate.low == 0 and found.method == "mle":
            assert found.interval[0] <= found.n_comparisons <= found.interval[1]
            # what `paired` would need
            assert (
                found.interval[0]
                < plan(items=X, noise=0, misordered=0.05, n_items=300).n_comparisons
            )
            return
    pytest.fail("no pilot left the possibility of no noise, though one label in twenty is wrong")


def test_coins_need_no_end_of_comparisons(few_simulations):
    rng = np.random.default_rng(1)
    for _ in range(20):
        X, left, right, outcome = a_study(60, 60, 8, 0.42, rng)
        try:
            found = plan(items=X, pilot=votes(left, right, outcome), misordered=0.1, n_items=200)
        except PairscoreError as error:
            assert "coins" in str(error)  # noqa: PT017
            continue
        if found.noise_estimate.high == 0.5:
            assert found.interval[1] == np.inf
            wide = plan(items=X, pilot=votes(left, right, outcome), n_comparisons=300)
            assert wide.interval[1] == np.pi / 2
            return
    pytest.fail("no pilot left the possibility of coins, though two in five labels are wrong")


@pytest.mark.usefixtures("few_simulations", "only_paired")
def test_counts_are_comparisons():
    import pandas as pd

    X, left, right, outcome = a_study(40, 60, 3, 0.2, np.random.default_rng(7))
    frame = pd.DataFrame(
        {"left": left, "right": right, "winner": np.where(outcome > 0, "left", "right")}
    )
    counted = frame.assign(count=2)
    twice = frame.loc[np.repeat(frame.index, 2)].reset_index(drop=True)
    estimates = [
        plan(items=X, pilot=one, misordered=0.1, method="paired").noise_estimate
        for one in (counted, twice, frame)
    ]
    assert estimates[0] == estimates[1]
    assert estimates[0] != estimates[2]
    with pytest.raises(
        PairscoreError,
        match=(
            "the pilot has weights, but noise is a share of comparisons; leave the weights out,"
            " or use the column 'count'"
        ),
    ):
        plan(items=X, pilot=frame.assign(weight=0.5), misordered=0.1)


@pytest.mark.parametrize(
    ("n", "m", "d", "sentence"),
    [
        (40, 49, 3, "the pilot has 49 comparisons; make at least 50, or give the noise itself."),
        (
            10,
            60,
            9,
            (
                "the pilot compares 10 items, and 9 features need at least 12; compare more"
                " different items."
            ),
        ),
    ],
)
def test_too_small_a_pilot_is_refused(n, m, d, sentence):
    X, left, right, outcome = a_study(n, m, d, 0.2, np.random.default_rng(0))
    with pytest.raises(PairscoreError, match=sentence):
        plan(items=X, pilot=votes(left, right, outcome), misordered=0.1)


def test_features_that_do_not_vary_tell_nothing():
    X, left, right, outcome = a_study(40, 60, 2, 0.2, np.random.default_rng(0))
    with pytest.raises(
        PairscoreError,
        match=(
            r"the features of the items in the pilot do not vary, so nothing can be learnt from"
            r" them; give other features."
        ),
    ):
        estimate_noise(np.ones_like(X), left, right, outcome, LOGIT, np.random.default_rng(0))
    with pytest.raises(
        PairscoreError,
        match=r"both noise and pilot are given, and the pilot gives the noise; leave one out.",
    ):
        plan(items=X, pilot=votes(left, right, outcome), noise=0.2, misordered=0.1)
    with pytest.raises(
        PairscoreError,
        match=r"a pilot compares items, and their features are missing; give them with items.",
    ):
        plan(3, pilot=votes(left, right, outcome), misordered=0.1)
