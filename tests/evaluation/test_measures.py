"""Every measure and its standard error against a slow twin."""

from collections import Counter

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from pairscore import Comparisons
from pairscore.core.comparison_means import Statistic, influence_sums, wilson_interval
from pairscore.core.incidence import ItemPairs
from pairscore.evaluation.measures import (
    MEASURES,
    MeasuredComparisons,
    calibration_bins,
    calibration_error,
    calibration_slope,
    log_loss,
)
from tests.evaluation.twins import TWINS, held_out, naive_variance


def test_rows_without_counts_stand_for_one_comparison_each():
    X = Comparisons(np.zeros((3, 1)), [0, 1, 1], [1, 2, 0], [1, 0, -1], weight=[2.0, 1.0, 3.0])
    tested = MeasuredComparisons.of(X, np.array([0, 0, 1]))
    assert tested.count.tolist() == [1.0, 1.0, 1.0]
    assert tested.decided.tolist() == [2.0, 0.0, 3.0]
    assert tested.pair[0] == tested.pair[2] != tested.pair[1]
    first, number = tested.pairs_in_folds  # the pair of two folds is tested twice
    assert len(first) == 3
    assert len(set(number.tolist())) == 3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_that_of_a_plain_loop(measure, seed):
    data, p = held_out(seed=seed)
    assert MEASURES[measure](data, p).value == pytest.approx(
        TWINS[measure](data, p), rel=1e-6 if measure == "calibration_slope" else 1e-12
    )


def test_without_repeats_and_ties_the_misordered_are_those_called_wrongly():
    data, p = held_out(40)
    once = MeasuredComparisons(
        np.arange(40),
        np.arange(40, 80),
        np.where(data.outcome >= 0, 1, -1),
        np.ones(40),
        np.ones(40),
        data.fold,
    )
    assert MEASURES["misordered"](once, p).value == pytest.approx(
        1 - MEASURES["accuracy"](once, p).value, rel=1e-12
    )
    repeated, p = held_out()
    assert (
        abs(
            MEASURES["misordered"](repeated, p).value
            - (1 - MEASURES["accuracy"](repeated, p).value)
        )
        > 0.02
    )


def test_a_weak_majority_of_weights_is_no_rounding():
    """0.1 + 0.2 against 0.3 is even, however the sum is rounded."""
    data = MeasuredComparisons(
        np.zeros(4, int),
        np.array([1, 1, 1, 2]),
        np.array([1, 1, -1, 1]),
        np.array([0.1, 0.2, 0.3, 1.0]),
        np.ones(4),
        np.zeros(4, int),
    )
    assert data.amount[:2].sum() - data.amount[2] != 0
    assert MEASURES["misordered"](data, np.array([0.4, 0.4, 0.4, 0.9])).value == 0


def test_no_favourite_scores_half_everywhere():
    data, _ = held_out()
    found = {
        name: measure(data, np.full(len(data.fold), 0.5)).value
        for name, measure in MEASURES.items()
    }
    assert np.isnan(found.pop("calibration_slope"))
    assert found == pytest.approx(
        {"accuracy": 0.5, "log_loss": np.log(2), "calibration_error": 0.0, "misordered": 0.5},
        abs=1e-15,
    )


def test_the_slope_is_infinite_where_the_favourite_always_or_never_won():
    data, p = held_out()
    sided = np.where(p == 0.5, 0.6, p)
    for sign, slope in ((1, np.inf), (-1, -np.inf)):
        won = MeasuredComparisons(
            data.left,
            data.right,
            sign * np.where(sided > 0.5, 1, -1),
            data.amount,
            data.count,
            data.fold,
        )
        found = calibration_slope(won, sided)
        assert found.value == slope
        assert np.isnan(found.influence).all()


def test_an_impossible_outcome_costs_much_but_not_infinitely():
    data, p = held_out()
    assert log_loss(data, np.where(data.outcome > 0, 0.0, p)).value < 36.1
    assert np.isfinite(calibration_slope(data, np.where(data.outcome > 0, 0.0, p)).value)


def test_one_half_of_the_logit_doubles_the_slope_and_the_errors_of_sure_predictions_grow():
    data, p = held_out()
    logit = np.log(p / (1 - p))
    assert calibration_slope(data, expit(logit / 2)).value == pytest.approx(
        2 * calibration_slope(data, p).value, rel=1e-9
    )
    assert calibration_error(data, expit(4 * logit)).value > calibration_error(data, p).value


@pytest.mark.parametrize("measure", [name for name in MEASURES if name != "misordered"])
def test_an_influence_is_the_derivative_in_the_weight_of_the_row(measure):
    data, p = held_out(60)
    found, step = MEASURES[measure](data, p), 1e-6
    for row in range(0, 60, 7):
        moved = [
            data.amount * np.where(np.arange(60) == row, 1 + sign * step, 1) for sign in (1, -1)
        ]
        up, down = (
            MEASURES[measure](
                MeasuredComparisons(
                    data.left, data.right, data.outcome, amount, data.count, data.fold
                ),
                p,
            ).value
            for amount in moved
        )
        assert found.influence[row] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-8)
    assert found.share.sum() == pytest.approx(1)
    assert found.influence.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("n_units", [2, 5, 15])
@pytest.mark.parametrize("seed", range(3))
def test_the_variance_sums_over_any_two_rows_that_share_an_item(seed, n_units):
    """With many rows to an item and shares of nothing, by a double loop.

    Items in groups share the group.
    """
    data, p = held_out(120, seed=seed)
    psi = log_loss(data, p).influence
    one, other = data.left % n_units, data.right % n_units
    shared = [
        a * b
        for a, i, j in zip(psi, one, other, strict=True)
        for b, k, m in zip(psi, one, other, strict=True)
        if {i, j} & {k, m}
    ]
    found = influence_sums(
        Statistic(0.0, psi, np.full(120, 1e-15), np.full(120, np.inf)), ItemPairs(one, other)
    )
    assert found.of_items @ found.of_items - found.of_pairs @ found.of_pairs == pytest.approx(
        sum(shared), rel=1e-9, abs=1e-15
    )
    assert found.std_error == pytest.approx(np.sqrt(max(sum(shared), 0.0)), rel=1e-6, abs=1e-12)


def test_an_item_counts_as_its_absence_would_move_the_mean():
    """t_i / (1 - h_i) is exactly what leaving out item i takes off a weighted mean."""
    data, p = held_out()
    found = log_loss(data, p)
    of_items = influence_sums(found, ItemPairs(data.left, data.right)).of_items
    for item in range(15):
        rest = (data.left != item) & (data.right != item)
        part = MeasuredComparisons(
            data.left[rest],
            data.right[rest],
            data.outcome[rest],
            data.amount[rest],
            data.count[rest],
            data.fold[rest],
        )
        assert found.value - log_loss(part, p[rest]).value == pytest.approx(
            of_items[item], rel=1e-9, abs=1e-12
        )


def test_an_error_is_never_below_that_of_independent_comparisons():
    """Two equal and opposite influences at each item.

    The item-robust variance alone would be negative.
    """
    one, other, psi = (
        np.array([0, 0, 1, 1]),
        np.array([2, 3, 2, 3]),
        np.array([1.0, -1.0, -1.0, 1.0]),
    )
    pairs = ItemPairs(one, other)
    found = influence_sums(Statistic(0.0, psi, np.full(4, 0.25), np.ones(4)), pairs)
    assert naive_variance(psi, np.full(4, 0.25), one, other) == -4
    assert found.std_error == 2
    of_four = Statistic(0.0, psi, np.full(4, 0.25), np.full(4, 4.0))
    assert influence_sums(of_four, pairs).std_error == 1


def test_one_comparison_has_no_error():
    pairs = ItemPairs(np.array([0, 0]), np.array([1, 2]))
    one, two = (
        influence_sums(Statistic(0.0, np.zeros(2), np.array(share), np.ones(2)), pairs)
        for share in ([1.0, 0.0], [0.5, 0.5])
    )
    assert np.isnan(one.std_error)
    assert two.std_error == 0


@pytest.mark.parametrize("seed", range(3))
def test_calibration_is_that_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    p, outcome, amount = rng.random(500), rng.integers(-1, 2, 500), rng.uniform(0, 2, 500)
    p[:3] = 0.5, 0.0, 1.0
    sums = Counter()
    for one, way, much in zip(p, outcome, amount, strict=True):
        if way == 0:  # probabilities are of comparisons that are no ties
            continue
        promised = max(one, 1 - one)
        place = min(int((promised - 0.5) * 20), 9)
        won = (way if one >= 0.5 else -way) / 2 + 0.5
        sums.update(
            {
                (place, "number"): much,
                (place, "promised"): much * promised,
                (place, "won"): much * won,
            }
        )
    data = Comparisons(
        np.zeros((2, 1)), np.zeros(500, int), np.ones(500, int), outcome, weight=amount
    )
    bins = calibration_bins(p, data)
    assert [round(20 * (one.low - 0.5)) for one in bins] == sorted({place for place, _ in sums})
    for one in bins:
        place = round(20 * (one.low - 0.5))
        number = sums[place, "number"]
        assert (one.number, one.promised, one.observed) == pytest.approx(
            (number, sums[place, "promised"] / number, sums[place, "won"] / number)
        )
        assert one.low <= one.promised <= one.high + 1e-12
        assert 0 <= one.observed_low <= one.observed <= one.observed_high <= 1


@pytest.mark.parametrize(("won", "number"), [(0, 5), (3, 10), (70, 100), (9, 9)])
def test_wilson_is_that_of_scipy(won, number):
    witness = binomtest(won, number).proportion_ci(method="wilson")
    assert wilson_interval(won / number, number) == pytest.approx(
        (witness.low, witness.high), abs=1e-12
    )
