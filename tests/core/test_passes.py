"""Every compiled pass against its twin in NumPy, and results against the number of threads."""

import os
import shutil
import subprocess

import numpy as np
import pytest

from pairscore import PairscoreError, RankRegression
from pairscore.core import kernels, kernels_numpy, passes, threads
from pairscore.core.links import get_link
from pairscore.core.pair_graph import Pairs, aggregate_pairs, difference_scatter, laplacian
from tests.laws import GaussianStudy

LOGIT = get_link("logit")
compiled = pytest.mark.skipif(
    not kernels.IS_COMPILED,
    reason="built without a compiler: the passes in NumPy have nothing to be compared with",
)


def comparisons(seed, n=40, m=600, kind=np.int64, weighted=True):
    """Rows of left and right, some with one item twice, outcomes and amounts."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, n, (2, m)).astype(kind)
    amount = rng.uniform(0.5, 2, m) if weighted else np.full(m, 3.0)
    return left, right, rng.integers(-1, 2, m).astype(np.int8), amount


def pairs_of(seed, n_sides=1, **law):
    rows = comparisons(seed, **law)
    return passes.pair_pass(*rows, law.get("n", 40), n_sides)


def both(monkeypatch, function, *values):
    """What the compiled pass and its twin give."""
    first = function(*values)
    with monkeypatch.context() as patch:
        patch.setattr(passes, "kernels", kernels_numpy)
        second = function(*values)
    return first, second


def assert_same(monkeypatch, function, *values, rtol=1e-12):
    for one, two in zip(*both(monkeypatch, function, *values), strict=True):
        scale = np.abs(two).max(initial=1e-300)
        np.testing.assert_allclose(one, two, rtol=0, atol=rtol * scale)


def alone(function):
    """The function, with its one result in a list."""
    return lambda *given: [function(*given)]


def test_where_there_is_a_compiler_the_passes_are_compiled():
    """Otherwise every test below would be left out unseen. CC=false stands for no compiler."""
    names = [os.environ["CC"]] if "CC" in os.environ else ["cc", "gcc", "clang"]
    found = [name for name in names if shutil.which(name)]
    works = [subprocess.run([name, "--version"], capture_output=True).returncode for name in found]
    assert kernels.IS_COMPILED or 0 not in works


@compiled
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [True, False])
def test_tallies_and_pairs(monkeypatch, kind, weighted):
    for seed, m in ((0, 600), (1, 5), (2, 0)):
        rows = comparisons(seed, kind=kind, weighted=weighted, m=m)
        assert_same(monkeypatch, passes.tally_pass, *rows, 40)
        scores = np.random.default_rng(seed).normal(size=40)
        assert_same(monkeypatch, alone(passes.difference_pass), *rows[:2], scores)
        assert_same(monkeypatch, alone(passes.net_pass), *rows[:2], rows[3], 40)
        for n_sides in (1, 2):
            assert_same(monkeypatch, passes.pair_pass, *rows, 40, n_sides)
        assert_same(monkeypatch, passes.turn_pairs, *passes.pair_pass(*rows, 40, 1)[:2])


@compiled
def test_shares_of_wins_are_no_whole_numbers(monkeypatch):
    left, right, outcome, amount = comparisons(3)
    share = outcome + np.random.default_rng(3).uniform(-0.5, 0.5, len(outcome))
    assert_same(monkeypatch, passes.pair_pass, left, right, share, amount, 40, 2)
    assert_same(monkeypatch, passes.tally_pass, left, right, share, amount, 40)


@compiled
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("hard", [False, True])
def test_derivatives_of_the_likelihood(monkeypatch, kind, hard):
    """Also of scores that are far apart, where a chance is zero, and of amounts of any size."""
    left, right, outcome, amount = comparisons(4, kind=kind)
    rng = np.random.default_rng(4)
    scores = rng.normal(size=40)
    if hard:
        scores[:3] = -800.0, 0.0, 800.0
        amount = 10.0 ** rng.uniform(-3, 3, len(amount))
        left[::2] = 0
    win = amount * (0.5 + 0.5 * outcome)
    for block in (passes.BLOCK, 32):
        monkeypatch.setattr(passes, "BLOCK", block)
        for shift in (0.0, 0.3):
            given = (left, right, win, amount - win, scores, shift, LOGIT)
            assert_same(monkeypatch, passes.score_pass, *given)


@compiled
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_loops_are_their_twins_on_hard_data(monkeypatch, kind):
    """One item in half of all rows and some with itself, weights of 10^3 and 10^-3, zeros, scores
    that are far apart, and messages that are nearly all that an item knows.
    """
    rng = np.random.default_rng(12)
    left, right, outcome, _ = comparisons(12, kind=kind)
    left[::2] = 0
    amount = 10.0 ** rng.choice([-3, 0, 3], len(left))
    amount[::5] = 0.0
    scores = np.append([-1e8, 1e8], rng.normal(size=38))
    assert_same(monkeypatch, passes.tally_pass, left, right, outcome, amount, 40)
    assert_same(monkeypatch, alone(passes.difference_pass), left, right, scores)
    assert_same(monkeypatch, alone(passes.net_pass), left, right, amount * outcome, 40)
    assert_same(monkeypatch, alone(passes.sum_at_ends), left, right, amount, 1 - amount, 40)
    for n_sides in (1, 2):
        assert_same(monkeypatch, passes.pair_pass, left, right, outcome, amount, 40, n_sides)
    pairs = aggregate_pairs(left, right, outcome, amount, 40)
    X = rng.normal(size=(40, 7)) * 10.0 ** np.arange(-3, 4) + 1e5
    values = rng.normal(size=(len(pairs.high), 2)) * 10.0 ** rng.choice([-3, 3], (1, 2))
    given = X, pairs.start, pairs.high, values, slice(0, 40)
    assert_same(monkeypatch, alone(passes.neighbour_sums), *given)
    weight = np.maximum(pairs.number, 1e-6)
    messages = 0.999 * weight, 1e-3 * weight
    total = 1e-6 + pairs.item_sums(*messages)
    given = pairs.start, pairs.high, weight, total, messages
    assert_same(monkeypatch, lambda *g: passes.message_pass(*g)[0], *given, rtol=1e-9)
    assert_same(monkeypatch, lambda *g: [passes.message_pass(*g)[1]], *given, rtol=1e-9)


@pytest.mark.parametrize("twin", [False, True])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_a_pass_sums_the_derivatives_of_a_loop(monkeypatch, link, twin):
    if twin:
        monkeypatch.setattr(passes, "kernels", kernels_numpy)
    monkeypatch.setattr(passes, "BLOCK", 32)
    left, right, outcome, amount = comparisons(11, m=200)
    scores, shift, link = 3 * np.random.default_rng(11).normal(size=40), 0.3, get_link(link)
    net, total = np.zeros(40), 0.0
    for i, j, y, a in zip(left, right, outcome, amount, strict=True):
        eta = scores[i] - scores[j] + shift
        won, lost = a * (1 + y) / 2, a * (1 - y) / 2
        slope = won * float(link.ratio(eta)) - lost * float(link.ratio(-eta))
        net[i] += slope
        net[j] -= slope
        total += slope
    win = amount * (0.5 + 0.5 * outcome)
    found = passes.score_pass(left, right, win, amount - win, scores, shift, link)
    np.testing.assert_allclose(found[0], net, atol=1e-11)
    assert found[1] == pytest.approx(total, abs=1e-11)


@compiled
def test_sums_over_the_pairs_of_items(monkeypatch):
    pairs = Pairs(*pairs_of(4), np.zeros(1))
    values = np.random.default_rng(4).normal(size=(2, len(pairs.high)))
    assert_same(monkeypatch, lambda *given: [pairs.item_sums(*given)], *values)
    assert_same(monkeypatch, lambda *given: [pairs.net_per_item(*given)], values[0])


@compiled
@pytest.mark.parametrize("n_kinds", [1, 2, 3])
def test_sums_over_neighbours(monkeypatch, n_kinds):
    start, high, *_ = pairs_of(5)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 7))
    values = rng.normal(size=(len(high), n_kinds))
    for rows in (slice(0, 40), slice(11, 30), slice(39, 40)):
        given = (X, start, high, values, rows)
        assert_same(monkeypatch, lambda *g: [passes.neighbour_sums(*g)], *given)


@compiled
def test_messages_between_items(monkeypatch):
    start, high, *wins = pairs_of(10)
    rng, side = np.random.default_rng(10), np.zeros(1)
    weight = rng.uniform(0.1, 2.0, len(high))
    messages = tuple(weight * rng.uniform(0.1, 0.9, (2, len(high))))
    pairs = Pairs(start, high, *wins, side)
    total = 1.0 + pairs.item_sums(*messages)
    given = (start, high, weight, total, messages)
    assert_same(monkeypatch, lambda *g: passes.message_pass(*g)[0], *given)
    assert_same(monkeypatch, lambda *g: [passes.message_pass(*g)[1]], *given)
    assert_same(monkeypatch, lambda *g: [passes.variance_pass(*g)], *given)


@pytest.mark.parametrize(
    "settings", [{}, {"method": "pooled"}, {"item_effects": True}], ids=["mle", "pooled", "effects"]
)
def test_no_result_depends_on_the_number_of_threads(settings, monkeypatch):
    """Bit for bit: chunks are fixed, and their sums are taken in order."""
    monkeypatch.setattr(threads, "LARGE", 50)
    X, votes = GaussianStudy(120, 900, 4, second_half=False).draw(np.random.default_rng(1))
    found = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "n_threads", lambda number=number: number)
        model = RankRegression(**settings).fit(X, votes)
        found.append(np.append(model.coef_, model.std_errors_))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_chunks_are_all_rows_once_with_about_as_many_entries(monkeypatch):
    monkeypatch.setattr(threads, "LARGE", 50)
    start = np.concatenate([[0], np.cumsum(np.random.default_rng(8).integers(0, 40, 300))])
    chunks = threads.chunks_of(start)
    assert np.concatenate([np.arange(300)[c] for c in chunks]).tolist() == list(range(300))
    sizes = [start[c.stop] - start[c.start] for c in chunks]
    assert len(chunks) == threads.CHUNKS
    assert max(sizes) - min(sizes) <= 2 * 40
    heavy = np.array([0, 0, 900, 900, 900])  # one row has everything
    chunks = threads.chunks_of(heavy)
    assert sum(c.stop - c.start for c in chunks) == 4


def test_scatter_in_chunks_is_scatter(monkeypatch):
    X, pairs = np.random.default_rng(9).normal(size=(40, 3)), aggregate_pairs(*comparisons(9), 40)
    mean = X.mean(axis=0)
    whole = difference_scatter(X, mean, pairs, pairs.number)
    monkeypatch.setattr(threads, "LARGE", 20)
    parts = difference_scatter(X, mean, pairs, pairs.number)
    np.testing.assert_allclose(parts, whole, rtol=1e-12)


def test_blas_has_one_thread_inside_and_as_many_as_before_outside():
    """Entered twice and left in the wrong order, as two threads that fit at once do."""
    blas = threads._blas()

    def number():
        return {library["num_threads"] for library in blas.info()}

    with blas.limit(limits=2, user_api="blas"):
        threads.one_blas_thread.__enter__()
        threads.one_blas_thread.__enter__()
        assert number() == {1}
        threads.one_blas_thread.__exit__(None, None, None)
        assert number() == {1}
        threads.one_blas_thread.__exit__(None, None, None)
        assert number() == {2}


# -- row numbers that are beyond their table -------------------------------------------------------


def rows_with(place):
    """Comparisons of five items, of which one has this number."""
    left, right = np.array([0, 1, 2, 3]), np.array([1, 2, place, 4])
    return left, right, np.array([1, -1, 0, 1], dtype=np.int8), np.ones(4)


def pairs_with(place):
    """Pairs of five items, of which one has this number, in 32 bits."""
    start = np.array([0, 1, 2, 3, 4, 4], dtype=np.int32)
    return start, np.array([1, 2, place, 4], dtype=np.int32)


FIVE, FOUR = np.arange(5.0), np.ones(4)
OVER_COMPARISONS = {
    "a tally": lambda *rows: passes.tally_pass(*rows, 5),
    "differences": lambda left, right, *_: passes.difference_pass(left, right, FIVE),
    "net sums": lambda left, right, *_: passes.net_pass(left, right, FOUR, 5),
    "sums per pair": lambda *rows: passes.pair_pass(*rows, 5, 1),
    "a likelihood": lambda left, right, _, amount: passes.score_pass(
        left, right, amount, amount, FIVE, 0.0, LOGIT
    ),
}
OVER_PAIRS = {
    "sums of pairs": lambda *of: Pairs(*of, FOUR[None], FOUR[None], np.zeros(1)).item_sums(
        FOUR, FOUR
    ),
    "a Laplacian": lambda *of: laplacian(Pairs(*of, FOUR[None], FOUR[None], np.zeros(1)), FOUR),
    "the other order": passes.turn_pairs,
    "neighbours": lambda *of: passes.neighbour_sums(np.eye(5), *of, FOUR[:, None], slice(0, 5)),
    "messages": lambda *of: passes.message_pass(*of, FOUR, 9 + FIVE, (FOUR.copy(), FOUR.copy())),
    "variances": lambda *of: passes.variance_pass(*of, FOUR, 9 + FIVE, (FOUR, FOUR)),
    "groups of items": lambda *of: Pairs(*of, FOUR[None], FOUR[None], np.zeros(1)).component,
}
PASSES = {
    **{name: (make, rows_with) for name, make in OVER_COMPARISONS.items()},
    **{name: (make, pairs_with) for name, make in OVER_PAIRS.items()},
}


@pytest.mark.parametrize("twin", [False, True])
@pytest.mark.parametrize("name", PASSES)
def test_a_row_number_beyond_its_table_is_refused_and_never_written_to(name, twin, monkeypatch):
    if twin:
        monkeypatch.setattr(passes, "kernels", kernels_numpy)
    run, rows = PASSES[name]
    run(*rows(3 if rows is pairs_with else 0))  # fine
    for place in (5, -1, 2**31 - 1):
        with pytest.raises(PairscoreError, match="not in the table of items"):
            run(*rows(place))


@compiled
@pytest.mark.parametrize(
    "start", [[0, 9, 9, 9, 9, 9], [0, 1, 2, 3, 4, 2**30], [-1, 1, 2, 3, 4, 4], [0, 3, 2, 3, 4, 4]]
)
def test_pairs_that_begin_beyond_their_end_are_refused(start):
    _, high = pairs_with(3)
    pairs = Pairs(np.array(start, dtype=np.int32), high, FOUR[None], FOUR[None], np.zeros(1))
    with pytest.raises(PairscoreError, match="not in the table of items"):
        pairs.item_sums(FOUR, FOUR)


@pytest.mark.parametrize("module", [kernels, kernels_numpy])
@pytest.mark.parametrize("ends", ["at random", "one item in half of them", "with themselves"])
def test_tallies_in_whole_numbers_are_those_of_doubles(module, ends):
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 30, (2, 4000), dtype=np.int32)
    if ends == "one item in half of them":
        left[::2] = 7
    elif ends == "with themselves":
        right[::3] = left[::3]
    outcome = rng.integers(-1, 2, 4000, dtype=np.int8)
    whole, doubles = np.zeros((30, 2), dtype=np.int32), np.zeros((30, 2))
    for sums in (whole, doubles):
        module.add_tally(left, right, outcome, None, sums)
    np.testing.assert_array_equal(whole, doubles)
    naive = np.zeros((30, 2))
    for a, b, won in zip(left, right, outcome, strict=True):
        if a != b:
            naive[a] += won, 1
            naive[b] += -won, 1
    np.testing.assert_array_equal(whole, naive)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("kind", ["usual", "alike", "far apart", "weights"])
def test_information_in_blocks_is_that_of_all_rows_at_once(monkeypatch, link, kind):
    monkeypatch.setattr(passes, "BLOCK", 32)
    rng, link = np.random.default_rng(4), get_link(link)
    left, right, outcome, amount = comparisons(4, m=300)
    scores = rng.normal(size=40) * {"alike": 1e-9, "far apart": 300.0}.get(kind, 1.0)
    if kind == "weights":
        amount = 10.0 ** rng.choice([-3, 0, 3], len(left))
    win, lose = amount * (1 + outcome) / 2, amount * (1 - outcome) / 2
    rows = left, right, win, lose
    information, is_observed = passes.information_pass(*rows, scores, 0.3, link)
    _, expected, exact = link.newton(scores[left] - scores[right] + 0.3, win, lose)
    assert is_observed or not exact
    if exact:
        np.testing.assert_array_equal(information, expected)


def test_rows_whose_information_would_be_negative_have_the_expected_one(monkeypatch):
    """Of a link that is not log-concave; blocks in which all is well keep what they observe."""
    monkeypatch.setattr(passes, "BLOCK", 32)
    link = get_link((lambda x: 0.5 + np.arctan(x) / np.pi, lambda x: 1 / (np.pi * (1 + x * x))))
    scores = np.append(0.1 * np.arange(8), 50.0)
    left, right = np.zeros(96, dtype=int), np.arange(96) % 7 + 1
    right[70] = 8
    win, lose = np.zeros(96), np.ones(96)
    win[70], lose[70] = 0.0, 1.0
    left[70], right[70] = 8, 0  # a loss of the far better item
    information, is_observed = passes.information_pass(left, right, win, lose, scores, 0.0, link)
    eta = scores[left] - scores[right]
    assert not is_observed
    np.testing.assert_array_equal(information[64:], link.score(eta, win, lose)[1][64:])
    observed = link.observed_information(eta, win, lose)
    np.testing.assert_array_equal(information[:64], observed[:64])
    assert observed[70] < 0 < information.min()


def test_amounts_are_not_cut_to_whole_numbers():
    rows = np.array([0, 1]), np.array([1, 0]), np.ones(2, dtype=np.int8)
    with pytest.raises(TypeError, match="doubles"):
        passes.add_tally(*rows, np.full(2, 0.5), np.zeros((2, 2), dtype=np.int32))
