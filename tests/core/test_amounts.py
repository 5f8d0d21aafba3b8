"""Sums over comparisons that all count once, told or not, and of amounts of any size."""

import numpy as np
import pytest

from pairscore.core import amounts, kernels, kernels_numpy, passes
from pairscore.core.differences import Differences, DifferenceSums
from pairscore.core.pair_graph import aggregate_pairs, tally
from pairscore.estimators.fit_data import Selection, along_comparisons

N, M = 12, 400
KINDS = ("once", "ones", "wild", "zeros", "counts")
twins = pytest.mark.parametrize("twin", [False, True], ids=["kernels", "NumPy"], indirect=True)


@pytest.fixture
def twin(request, monkeypatch):
    """With the compiled loops, or with their twins."""
    if request.param:
        monkeypatch.setattr(passes, "kernels", kernels_numpy)
    elif not kernels.IS_COMPILED:
        pytest.skip("built without a compiler")


def drawn(kind, share_of_a_win=False):
    """Left, right, outcome and amounts of a study with ties and an item that meets itself."""
    rng = np.random.default_rng(KINDS.index(kind))
    left, right = rng.integers(0, N, (2, M)).astype(np.int32)
    left[::3] = 0  # half of them with one item
    outcome = rng.integers(-1, 2, M).astype(np.int8)
    if share_of_a_win:
        outcome = outcome + rng.uniform(-0.5, 0.5, M)
    amount = {
        "once": None,
        "ones": np.ones(M),
        "wild": 10.0 ** rng.choice([-3, 0, 3], M),
        "zeros": rng.choice([0.0, 0.25, 2.0], M),
        "counts": rng.integers(0, 5, M).astype(float),
    }[kind]
    return left, right, outcome, amount


def loop(left, right, outcome, amount):
    """Net wins, exposures, and wins and losses of low by pair and side, one by one."""
    each = np.ones(M) if amount is None else amount
    net, exposures, pairs = np.zeros(N), np.zeros(N), {}
    for i, j, y, a in zip(left.tolist(), right.tolist(), outcome, each, strict=True):
        if i == j:
            continue
        net[[i, j]] += a * y, -a * y
        exposures[[i, j]] += a
        won = a * (1 + (y if i < j else -y)) / 2
        of_pair = pairs.setdefault((min(i, j), max(i, j)), np.zeros((2, 2)))
        of_pair[int(i > j)] += won, a - won
    return net, exposures, pairs


@twins
@pytest.mark.parametrize("share_of_a_win", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_per_item_and_pair_are_those_of_a_loop(kind, share_of_a_win, twin):
    rows = drawn(kind, share_of_a_win)
    net, exposures, pairs = loop(*rows)
    found = tally(*rows, N)
    scale = exposures.max()
    np.testing.assert_allclose(found.net_wins, net, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(found.exposures, exposures, rtol=1e-13)
    total = M if rows[3] is None else rows[3].sum()
    assert found.n_comparisons == pytest.approx(total)
    for keep_sides in (False, True):
        graph = aggregate_pairs(*rows, N, keep_sides)
        assert list(zip(graph.low.tolist(), graph.high.tolist(), strict=True)) == sorted(pairs)
        expected = np.array([pairs[pair] for pair in sorted(pairs)])  # P x sides x (win, lose)
        expected = expected if keep_sides else expected.sum(axis=1, keepdims=True)
        for column, wins in enumerate((graph.win, graph.lose)):
            np.testing.assert_allclose(wins.T, expected[:, :, column], rtol=0, atol=1e-13 * scale)


@twins
def test_comparisons_that_count_once_have_amounts_of_one_to_the_bit(twin):
    left, right, outcome, _ = drawn("once")
    once, ones = (None, np.ones(M))
    x = np.random.default_rng(1).normal(size=M)
    for one, other in zip(
        passes.tally_pass(left, right, outcome, once, N),
        passes.tally_pass(left, right, outcome, ones, N),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    for n_sides in (1, 2):
        found = passes.pair_pass(left, right, outcome, once, N, n_sides)
        for one, other in zip(
            found, passes.pair_pass(left, right, outcome, ones, N, n_sides), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    sums = DifferenceSums.of_comparisons(x, outcome, once, 5.0)
    for name, column in vars(DifferenceSums.of_comparisons(x, outcome, ones, 5.0)).items():
        np.testing.assert_array_equal(getattr(sums, name), column)
    np.testing.assert_array_equal(Differences.of_comparisons(x, outcome, once).amount, ones)
    along, same = (along_comparisons(x, left, right, outcome, a, N) for a in (once, ones))
    np.testing.assert_array_equal(along.net, same.net)
    assert (along.wins, along.losses, along.tied) == (same.wins, same.losses, same.tied)
    np.testing.assert_array_equal(
        *(Selection((), touched=False).mask(left, right, a) for a in (once, ones))
    )


@pytest.mark.parametrize("kind", KINDS)
def test_amounts_of_some_comparisons(kind):
    left, right, outcome, amount = drawn(kind)
    each = np.ones(M) if amount is None else amount
    rows, mask, values = np.arange(0, M, 7), outcome == 0, np.linspace(-1, 1, M)
    assert amounts.total_of(amount, M) == each.sum()
    assert amounts.amount_where(mask, amount) == each[mask].sum()
    np.testing.assert_array_equal(amounts.amounts_of_rows(amount, M), each)
    np.testing.assert_array_equal(amounts.times_amount(values, amount), each * values)
    some = amounts.some_amounts(amount, rows)
    np.testing.assert_array_equal(amounts.amounts_of_rows(some, len(rows)), each[rows])
    met = [i != j and a > 0 for i, j, a in zip(left, right, each, strict=True)]
    np.testing.assert_array_equal(amounts.meetings(left, right, amount), met)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("counts", [None, np.arange(M) % 4.0], ids=["once", "counts"])
def test_times_met_are_those_of_a_loop(kind, counts):
    left, right, _, amount = drawn(kind)
    expected = np.zeros(M)
    for m in range(M):
        if left[m] != right[m] and (amount is None or amount[m] > 0):
            expected[m] = 1.0 if counts is None else counts[m]
    np.testing.assert_array_equal(amounts.times_met(left, right, amount, counts), expected)
