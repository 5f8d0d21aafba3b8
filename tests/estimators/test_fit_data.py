"""The sums of one fit, against explicit differences."""

import numpy as np
import pandas as pd
import pytest

from pairscore import Comparisons
from pairscore.core.links import get_link
from pairscore.core.sums import Range
from pairscore.estimators.fit_data import Along, Cut, Gains, Selection
from pairscore.estimators.leverage import item_basis
from pairscore.estimators.ridge import WEAK_L2, ridge_is_weak, ridge_penalty
from pairscore.estimators.settings import Settings
from pairscore.estimators.table_data import TableData
from tests.hard_designs import NAMES, draw
from tests.laws import GaussianStudy

POOLED = Settings("pooled", get_link("logit"))


def make_data(keep_sides=False, **options):
    X, votes = GaussianStudy(40, 300, 3).draw(np.random.default_rng(0))
    swap = np.random.default_rng(1).random(len(votes)) < 0.5
    left, right = np.where(swap[:, None], votes[:, ::-1], votes).T
    frame = pd.DataFrame({"left": left, "right": right, "winner": np.where(swap, "right", "left")})
    frame["weight"] = np.random.default_rng(2).uniform(0.5, 2, len(frame))
    return TableData(Comparisons.from_frames(X, frame, **options)[0], keep_sides)


def test_the_sum_of_labels_is_that_of_eq_3():
    data = make_data()
    votes = data.comparisons
    D = data.X[votes.left] - data.X[votes.right]
    np.testing.assert_allclose(data.label_sum, (data.amount * votes.outcome) @ D)
    assert data.n_items == len(np.unique([votes.left, votes.right]))
    assert data.weight_unit == pytest.approx(np.sum(votes.weight**2) / votes.weight.sum())


def hard_data(name, keep_sides=False, seed=0):
    """A hard design, with a row of an item against itself and one that counts for nothing."""
    drawn = draw(name, np.random.default_rng(seed), 20, 60, 3)
    left, right, outcome = drawn.left.copy(), drawn.right.copy(), drawn.outcome.copy()
    right[3] = left[3]
    weight = np.ones(60) if drawn.weight is None else drawn.weight.copy()
    weight[5] = 0.0
    votes = Comparisons(drawn.X, left, right, outcome, weight=weight)
    return TableData(votes, keep_sides)


@pytest.mark.parametrize("keep_sides", [False, True])
def test_the_scatter_of_a_tile_is_that_of_explicit_differences(keep_sides):
    """With any weights of pairs on sides, and by their numbers."""
    data = make_data(keep_sides)
    votes = data.comparisons
    D = data.X[votes.left] - data.X[votes.right]
    D = np.column_stack([D, np.ones(len(D))]) if keep_sides else D
    number = data.pairs.win + data.pairs.lose
    expected = (D * data.amount[:, None]).T @ D
    np.testing.assert_allclose(data.tile.scatter(number), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(data.counts.scatter, expected, rtol=1e-9, atol=1e-9)
    amount = {}
    for i, j, a in zip(votes.left, votes.right, data.amount, strict=True):
        amount[min(i, j), max(i, j)] = amount.get((min(i, j), max(i, j)), 0.0) + a
    assert data.counts.squares == pytest.approx(sum(a**2 for a in amount.values()))


@pytest.mark.parametrize("keep_sides", [False, True])
def test_ties_of_pairs_are_those_of_a_loop(keep_sides):
    data = hard_data("half ties", keep_sides)
    votes, pairs = data.comparisons, data.pairs
    tied = np.zeros(pairs.win.shape)
    for i, j, y, a in zip(votes.left, votes.right, votes.outcome, data.amount, strict=True):
        if y == 0 and i != j:
            (place,) = np.flatnonzero((pairs.low == min(i, j)) & (pairs.high == max(i, j)))
            tied[int(keep_sides and i > j), place] += a
    np.testing.assert_allclose(data.tied, tied)
    np.testing.assert_allclose(data.tile.tied, tied)
    assert data.n_tied == pytest.approx(data.amount[votes.outcome == 0].sum())
    assert hard_data("random").tied is None
    assert hard_data("random").n_tied == 0.0


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize("name", NAMES)
def test_comparisons_along_a_score_are_those_of_a_loop(name, shift):
    data = hard_data(name)
    votes, scores = data.comparisons, np.random.default_rng(1).normal(size=20)
    found = data.along(scores, shift)
    net, tied, won, lost = np.zeros(20), 0.0, [], []
    for i, j, y, a in zip(votes.left, votes.right, votes.outcome, data.amount, strict=True):
        x = scores[i] - scores[j] + shift
        net[i] += a * x
        net[j] -= a * x
        if a > 0 and i != j:
            if y == 0:
                tied += a
            else:
                (won if y > 0 else lost).append(x)
    np.testing.assert_allclose(found.net, net, rtol=1e-12, atol=1e-12 * np.abs(net).max())
    assert found.tied == pytest.approx(tied)
    assert found.wins == (Range(min(won), max(won)) if won else Range())
    assert found.losses == (Range(min(lost), max(lost)) if lost else Range())
    x = scores[votes.left] - scores[votes.right] + shift
    np.testing.assert_allclose(found.differences.x, x, rtol=1e-14)
    np.testing.assert_array_equal(found.differences.outcome, votes.outcome)
    np.testing.assert_array_equal(found.differences.amount, data.amount)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("keep_sides", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_derivative_of_a_likelihood_is_that_of_a_loop(name, keep_sides, link):
    data, link = hard_data(name, keep_sides), get_link(link)
    votes, scores = data.comparisons, 2 * np.random.default_rng(1).normal(size=20)
    shift = 0.4 if keep_sides else 0.0
    net, side = np.zeros(20), 0.0
    for i, j, y, a in zip(votes.left, votes.right, votes.outcome, data.amount, strict=True):
        if i == j:
            continue
        eta = scores[i] - scores[j] + shift
        won, lost = a * (1 + y) / 2, a * (1 - y) / 2
        slope = won * float(link.ratio(eta)) - lost * float(link.ratio(-eta))
        net[i] += slope
        net[j] -= slope
        side += slope
    found = data.score(scores, shift, link)
    size = data.amount.sum()
    np.testing.assert_allclose(found.net, net, atol=1e-12 * size)
    if keep_sides:
        assert found.side == pytest.approx(side, abs=1e-12 * size)


@pytest.mark.parametrize("name", NAMES)
def test_gains_and_cuts_are_those_of_a_loop(name):
    data = hard_data(name)
    votes, scores = data.comparisons, np.random.default_rng(2).normal(size=20)
    decided, tied, touched = [], [], []
    for i, j, y, a in zip(votes.left, votes.right, votes.outcome, data.amount, strict=True):
        step = scores[i] - scores[j] + 0.1
        touched.append(abs(step) > 0.8)
        if a > 0 and i != j:
            if y == 0:
                tied.append(abs(step))
            else:
                decided.append(y * step)
    found = data.gains(scores, 0.1)
    assert found == Gains(Range.of(np.array(decided)), Range.of(np.array(tied)))
    assert found.largest == max(map(abs, decided + tied))
    cut = Cut(scores, 0.1, 0.8)
    np.testing.assert_array_equal(cut.touches(votes.left, votes.right), touched)
    counted = (data.amount > 0) & (votes.left != votes.right)
    for side in (True, False):
        part = data.part(Selection((cut,), touched=side))
        rows = np.flatnonzero(counted & (np.array(touched) == side))
        np.testing.assert_array_equal(part.comparisons.left, votes.left[rows])
        np.testing.assert_array_equal(part.amount, data.amount[rows])
    both = Selection((cut, Cut(scores, 0.1, 0.4)), touched=False)
    few = np.abs(scores[votes.left] - scores[votes.right] + 0.1) <= 0.4
    mask = both.mask(votes.left, votes.right, data.amount)
    np.testing.assert_array_equal(mask, counted & few)


def separated_by_hand(difference, outcome, side):
    """Whether some scale > 0 (and shift) makes no comparison wrong and some right, by a grid.

    Where it does, a threshold at, or between, the differences does.
    """
    points = np.unique(difference)
    middle = (points[1:] + points[:-1]) / 2
    ends = [points[0] - 1, points[-1] + 1]
    thresholds = np.concatenate([points, middle, ends]) if side else [0.0]
    for threshold in thresholds:
        gain = outcome * (difference - threshold)
        is_right = not np.any((outcome == 0) & (difference != threshold)) and np.all(gain >= 0)
        if is_right and np.any(gain > 0):
            return True
    one_sided = side and len(set(outcome)) == 1 and outcome[0] != 0
    return bool(one_sided)


@pytest.mark.parametrize(
    ("difference", "outcome", "alone", "beside_a_side"),
    [
        ([1.0, -2.0, 3.0], [1, -1, 1], True, True),
        ([1.0, -2.0, 3.0], [1, 1, 1], False, True),
        ([1.0, 2.0, 3.0], [1, -1, 1], False, False),
        ([1.0, 2.0, 3.0], [-1, 1, 1], False, True),
        ([1.0, -2.0, 3.0], [1, 0, 1], False, False),
        ([0.0, 0.0, 0.0], [1, -1, 1], False, False),
        ([0.0, 0.0, 0.0], [1, 1, 1], False, True),
        ([-1.0, -2.0], [1, 1], False, True),
        ([0.0, 1.0, 1.0], [-1, 1, 1], True, True),
        ([1.0, 1.0, 2.0], [-1, 1, 1], False, True),
    ],
)
def test_a_separated_scale_is_seen(difference, outcome, alone, beside_a_side):
    found = along(np.array(difference), np.array(outcome))
    assert found.is_separated(side=False) == alone
    assert found.is_separated(side=True) == beside_a_side


def along(x, outcome):
    """Of comparisons of items 2 k and 2 k + 1, whose scores differ by x."""
    n = len(x)
    scores = np.column_stack([x, np.zeros(n)]).ravel()
    left = 2 * np.arange(n)
    votes = Comparisons(scores[:, None], left, left + 1, outcome)
    return TableData(votes, False).along(scores)


@pytest.mark.parametrize("seed", range(60))
def test_separation_along_a_score_is_that_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, 5).astype(float)
    outcome = np.where(x > rng.integers(-2, 3), 1, -1) if seed % 3 else rng.choice([-1, 1], 5)
    found = along(x, outcome)
    for side in (False, True):
        assert found.is_separated(side) == separated_by_hand(x, outcome, side)
    if found.is_separated(side=True):
        assert np.all(outcome * (x - found.threshold) >= 0)


def test_of_two_ranges_the_threshold_is_between():
    of = {"differences": None, "net": np.empty(0), "tied": 0.0}
    assert Along(wins=Range(1.0, 4.0), losses=Range(-3.0, 0.0), **of).threshold == 0.5
    assert Along(wins=Range(1.0, 4.0), losses=Range(), **of).threshold < 1.0
    assert Along(wins=Range(), losses=Range(-3.0, 0.0), **of).threshold > 0.0


def test_the_second_half_is_named_or_never_compared():
    never = make_data()
    assert np.shares_memory(never.second_half, never.X)
    np.testing.assert_array_equal(never.second_half, never.X[~never.comparisons.compared])
    rows = np.array([1, 5, 7, 60])
    np.testing.assert_array_equal(make_data(covariance_items=rows).second_half, never.X[rows])


def test_a_ridge_means_the_same_to_a_closed_form_as_to_a_newton_step_of_the_likelihood():
    data, link, l2 = make_data(), get_link("probit"), 7.0
    sd, slope = data.item_moments.sd, float(link.pdf(0.0))
    votes = data.comparisons
    D = data.X[votes.left] - data.X[votes.right]
    G = (D * data.amount[:, None]).T @ D
    newton = np.linalg.solve(4 * slope**2 * G + np.diag(l2 * sd**2), 2 * slope * data.label_sum)
    closed = np.linalg.solve(G + np.diag(ridge_penalty(l2, sd, slope)), 2 * data.label_sum)
    np.testing.assert_allclose(newton, closed / (4 * slope), rtol=1e-9)


def test_the_leverage_of_items_sums_to_the_number_of_features():
    data = make_data()
    Z = data.X - data.item_moments.mean
    for l2, total in ((0.0, 3.0), (1e9, 0.0)):
        W = item_basis(data, Settings("mle", get_link("logit"), l2=l2)).transform
        leverage = data.tally.exposures * np.sum((Z @ W) ** 2, axis=1)
        assert leverage.sum() == pytest.approx(total, abs=1e-3)


def test_the_unit_of_weights_decides_what_is_a_weak_ridge():
    data = make_data()
    for factor, weak in ((0.99, True), (1.01, False)):
        l2 = factor * WEAK_L2 * data.weight_unit
        assert ridge_is_weak(l2, data.weight_unit) == weak
