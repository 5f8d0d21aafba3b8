"""Factors of log odds beside item effects: naive formulas, a truth that is found again, a rival."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from pairscore import Comparisons, RankRegression, load
from pairscore.core.links import Logit
from pairscore.core.ties import OutcomeLaw, TieRule
from pairscore.effects.calibration import (
    PRIOR_SD,
    Calibration,
    HeldOutChances,
    design_effect,
    fit_factor,
)

pytestmark = pytest.mark.filterwarnings("ignore::pairscore.errors.PairscoreWarning")
LAW = OutcomeLaw(TieRule("half", Logit()), 0.0)
UNLIKELY = 4.6  # standard errors: beyond are four of a million normal variables


def held_out(rng, m, factor=1.0, shift=0.0, sd=0.0):
    """Comparisons of items that are each in one comparison, with the chances of a factor."""
    eta, column = 1.5 * rng.normal(size=(2, m))
    won = rng.random(m) < expit(factor * (eta + shift * column))
    numbers = np.arange(m)
    return HeldOutChances(
        eta,
        np.full(m, sd),
        column[:, None] if shift else np.empty((m, 0)),
        np.where(won, 1.0, -1.0),
        np.ones(m),
        numbers,
        numbers + m,
    )


def test_chances_have_the_factor_of_their_kind_and_are_never_0_or_1():
    calibration = Calibration((2.0, 0.5, 1.0), ((), (), ()), 0.01)
    win = np.array([0.0, 0.2, 0.6, 0.5, 1.0])
    tie = np.array([0.0, 0.3, 0.3, 0.0, 0.0])
    loss = 1 - win - tie
    n_new = np.array([0, 0, 1, 2, 2])
    ours = calibration.probabilities(loss, tie, win, n_new)
    np.testing.assert_allclose(sum(ours), 1.0)
    np.testing.assert_array_equal(ours[1], tie)
    decided = ours[2] / (ours[0] + ours[2])
    factor = np.array([2.0, 2.0, 0.5, 1.0, 1.0])
    odds = (win / np.where(loss > 0, loss, 1)) ** factor
    naive = 0.005 + 0.99 * np.where(loss > 0, odds / (1 + odds), 1.0)
    np.testing.assert_allclose(decided, naive)
    assert decided.min() >= 0.005
    assert decided.max() <= 0.995


@pytest.mark.parametrize("truth", [0.6, 1.0, 1.8])
def test_the_factor_of_the_chances_is_found_again(truth):
    m = 20_000
    factor, shift = fit_factor(held_out(np.random.default_rng(5), m, truth), LAW)
    eta = 1.5 * np.random.default_rng(5).normal(size=m)
    p = expit(truth * eta)
    # information of log factor, with that of the prior, which pulls towards 1
    known = np.sum(p * (1 - p) * (truth * eta) ** 2)
    pull = abs(np.log(truth)) / PRIOR_SD**2 / known
    assert abs(np.log(factor / truth)) < UNLIKELY / np.sqrt(known) + 2 * pull
    assert shift.shape == (0,)


def test_what_a_column_tells_of_new_items_is_found_again():
    test = held_out(np.random.default_rng(1), 20_000, 1.0, shift=0.8)
    factor, shift = fit_factor(test, LAW)
    assert abs(shift[0] - 0.8) < 0.06  # an error of .015, and a prior of 1 in units of 1.5
    without = replace(test, columns=np.empty((20_000, 0)))
    assert fit_factor(without, LAW)[0] < 0.9 * factor  # the rival: as flat as noise makes it


def test_without_tests_the_factor_is_1_and_few_hardly_move_it():
    rng = np.random.default_rng(2)
    nothing = held_out(rng, 10)
    nothing = replace(nothing, outcome=np.zeros(10))
    assert fit_factor(nothing, LAW)[0] == 1.0
    unknown = replace(held_out(rng, 10), eta=np.full(10, np.nan))
    assert fit_factor(unknown, LAW)[0] == 1.0
    few = held_out(rng, 6, -3.0)  # all the wrong way
    assert 0.5 < fit_factor(few, LAW)[0] < 1.0


def test_the_design_effect_is_that_of_two_loops():
    rng = np.random.default_rng(3)
    m = 200
    test = replace(
        held_out(rng, m),
        first=rng.integers(0, 12, m),
        second=rng.integers(0, 12, m),
        amount=rng.integers(1, 4, m).astype(float),
    )
    odds = test.outcome * test.eta
    score = expit(-odds) * odds
    score = score - np.average(score, weights=test.amount)
    total = test.amount * score
    ends = [{a, b} for a, b in zip(test.first.tolist(), test.second.tolist(), strict=True)]
    together = sum(
        total[i] * total[j] for i in range(m) for j in range(m) if not ends[i].isdisjoint(ends[j])
    )
    # items of two comparisons of one pair are shared twice, and count once
    alone = test.amount @ score**2
    assert design_effect(test, odds) == pytest.approx(max(1.0, together / alone))


def test_of_separate_items_the_design_effect_is_about_1():
    test = held_out(np.random.default_rng(4), 5000)
    assert design_effect(test, test.outcome * test.eta) == pytest.approx(1.0)


# -- in a model ------------------------------------------------------------------------------------


def draw(rng, n=60, m=600, d=3, sd=1.0, new=0):
    X = rng.normal(size=(n + new, d))
    score = X.sum(axis=1) + sd * rng.normal(size=n + new)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < expit(score[left] - score[right])
    return Comparisons(X, left, right, np.where(won, 1, -1)), score


def test_a_model_keeps_its_calibration_and_an_old_one_predicts_without(tmp_path):
    data, _ = draw(np.random.default_rng(0))
    model = RankRegression(item_effects=True).fit(data)
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.item_effects_.calibration == model.item_effects_.calibration
    np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    record = model.item_effects_.to_record()
    del record["calibration"]
    arrays = model.item_effects_.to_arrays()
    assert type(model.item_effects_).from_file(arrays, record).calibration is None


def test_items_that_were_in_no_comparison_are_new():
    data, _ = draw(np.random.default_rng(0), new=20)
    effects = RankRegression(item_effects=True).fit(data).item_effects_
    np.testing.assert_array_equal(effects.is_new(np.array([-1, 0, 59, 60, 79])), [1, 0, 0, 1, 1])
    assert effects.forgotten().is_new(np.arange(80)).all()
    assert not effects.forgotten().effect.any()


def test_no_chance_is_0_or_1_where_features_are_too_many():
    rng = np.random.default_rng(1)
    data, _ = draw(rng, n=60, m=90, d=50, new=60)
    model = RankRegression(item_effects=True).fit(data)
    pairs = Comparisons(data.items, np.arange(60, 119), np.arange(61, 120), np.ones(59, dtype=int))
    least = 1 / (model.n_comparisons_ + 2)
    chances = model.predict_proba(pairs)
    assert chances.min() >= least * (1 - 1e-9)
    plain = RankRegression().fit(data).predict_proba(pairs)
    assert plain.min() < 1e-6  # the rival


def test_a_difference_has_the_chance_of_the_comparison_of_new_items():
    data, _ = draw(np.random.default_rng(2), new=10)
    model = RankRegression(item_effects=True).fit(data)
    pair = Comparisons(data.items, np.array([60]), np.array([65]), np.array([1]))
    found = model.difference(60, 65)
    assert found.probability == pytest.approx(model.predict_proba(pair)[0, 1])
    interval = model.chances(pair)
    assert found.probability_low == pytest.approx(interval["low"][0])
