"""Differences as a distribution against the comparisons themselves, easy and hard."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairscore.core import differences, threads
from pairscore.core.differences import BINS_OF_OCTAVE, N_BINS, Differences, DifferenceSums
from pairscore.core.links import get_link
from tests.core.test_passes import comparisons

LINKS = ["logit", "probit"]
NUMBER = 20_000
TEN_DIGITS = 1e-10


def drawn(rng, name):
    """Differences (M) of a kind."""
    if name == "few items":
        scores = rng.normal(size=10)
        left, right = rng.integers(0, 10, (2, NUMBER))
        return scores[left] - scores[right]
    if name == "two values in a bin":  # of which one is rare, as far apart as a bin is wide
        return np.where(rng.random(NUMBER) < 0.2, 2.0, 2.0 * (1 + 0.99 / BINS_OF_OCTAVE))
    if name == "three values in a bin":
        return 1 + rng.choice([0.0, 0.3, 0.99], NUMBER, p=[0.1, 0.8, 0.1]) / BINS_OF_OCTAVE
    x = {
        "normal": lambda: rng.normal(size=NUMBER),
        "heavy tails": lambda: rng.standard_t(1.2, NUMBER),
        "all equal": lambda: np.full(NUMBER, 0.7),
        "zeros": lambda: np.zeros(NUMBER),
        "many zeros": lambda: rng.normal(size=NUMBER) * (rng.random(NUMBER) < 0.1),
        "twelve orders": lambda: 10.0 ** rng.uniform(-11, 1, NUMBER),
    }[name]()
    return x * rng.choice([-1.0, 1.0], NUMBER)


KINDS = [
    "normal",
    "heavy tails",
    "few items",
    "all equal",
    "zeros",
    "many zeros",
    "two values in a bin",
    "three values in a bin",
    "twelve orders",
]


def study(seed, kind, outcomes=(-1, 0, 1)):
    rng = np.random.default_rng(seed)
    x = drawn(rng, kind)
    return x, rng.choice(outcomes, NUMBER).astype(np.int8), 10.0 ** rng.uniform(-3, 3, NUMBER)


def points_of(x, outcome, amount):
    return DifferenceSums.of_comparisons(x, outcome, amount, float(np.abs(x).max())).points()


def of_bin_means(x, outcome, amount):
    """The rival: each bin by its mean alone."""
    sums = DifferenceSums.of_comparisons(x, outcome, amount, float(np.abs(x).max()))
    of, place = np.nonzero(sums.amount)
    total = sums.amount[of, place]
    return Differences(sums.first[of, place] / total, of - 1, total)


def with_two_sums(x, outcome, amount):
    """Another rival: two points of equal weight, which have the mean and the variance."""
    sums = DifferenceSums.of_comparisons(x, outcome, amount, float(np.abs(x).max()))
    of, place = np.nonzero(sums.amount)
    total = sums.amount[of, place]
    mean = sums.first[of, place] / total
    sd = np.sqrt(np.maximum(sums.second[of, place] / total - mean**2, 0))
    both = np.concatenate([mean - sd, mean + sd])
    return Differences(both, np.tile(of - 1, 2), np.tile(total / 2, 2))


def smooth_sums(rows, link):
    """Whatever is asked of differences, each sum with one of sizes beside which it is exact."""
    win = rows.amount * (0.5 + 0.5 * rows.outcome)
    lose = rows.amount - win
    score, information = link.score(rows.x, win, lose)
    chance = rows.amount * link.cdf(-np.abs(rows.x))
    loglik = win * link.log_cdf(rows.x) + lose * link.log_cdf(-rows.x)
    outcomes = rows.outcomes(link)
    return {
        "amount": (rows.total, rows.total),
        "squares": (rows.squares, rows.squares),
        "slope": (score @ rows.x, np.abs(score * rows.x).sum()),
        "slope of the side": (score.sum(), np.abs(score).sum()),
        "information": (information @ rows.x**2, information @ rows.x**2),
        "information of both": (information @ rows.x, information @ np.abs(rows.x)),
        "information of the side": (information.sum(), information.sum()),
        "chance": (chance.sum(), chance.sum()),
        "log-likelihood": (loglik.sum(), loglik.sum()),
        "decided": (outcomes.decided, outcomes.decided),
        "wrong": (outcomes.wrong, outcomes.wrong),
        "log-likelihood of decided": (outcomes.loglik, outcomes.loglik),
    }


def largest_error(found, exact, link):
    """Over all sums, relative to their size."""
    ours, theirs = smooth_sums(found, link), smooth_sums(exact, link)
    return max(
        abs(ours[name][0] - value) / max(abs(size), 1e-300)
        for name, (value, size) in theirs.items()
    )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("spread", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_points_have_ten_digits_of_those_over_comparisons(kind, spread, link):
    x, outcome, amount = study(0, kind)
    exact = Differences(spread * x, outcome, amount)
    found = points_of(x, outcome, amount).times(spread)
    assert len(found.x) <= 2 * 3 * N_BINS
    assert largest_error(found, exact, get_link(link)) < TEN_DIGITS


@pytest.mark.parametrize(
    ("rival", "kinds"),
    [
        (of_bin_means, ["normal", "heavy tails", "few items", "two values in a bin"]),
        (with_two_sums, ["two values in a bin", "three values in a bin"]),
    ],
)
def test_a_bin_with_fewer_sums_has_fewer_digits(rival, kinds):
    for kind in kinds:
        x, outcome, amount = study(0, kind)
        exact = Differences(x, outcome, amount)
        error = largest_error(rival(x, outcome, amount), exact, get_link("logit"))
        assert error > 10 * TEN_DIGITS, kind


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_ahead_is_exact(kind):
    """No point is beyond zero, nor is any at zero that was not."""
    x, outcome, _ = study(1, kind)
    count = np.random.default_rng(1).integers(1, 4, NUMBER).astype(float)
    found = points_of(x, outcome, count).outcomes(get_link("logit"))
    assert found.right == pytest.approx(count[x * outcome > 0].sum(), rel=1e-13)
    assert found.decided == pytest.approx(count[outcome != 0].sum(), rel=1e-13)
    turned = points_of(-x, outcome, count).outcomes(get_link("logit"))
    assert turned.right == pytest.approx(count[x * outcome < 0].sum(), rel=1e-13)


@pytest.mark.parametrize("unit", [1e-30, 1e-5, 1e5, 1e30])
@pytest.mark.parametrize("kind", ["normal", "few items", "three values in a bin", "zeros"])
def test_differences_have_no_unit(kind, unit):
    x, outcome, amount = study(2, kind)
    exact = Differences(x, outcome, amount)
    found = points_of(unit * x, outcome, amount).times(1 / unit)
    assert largest_error(found, exact, get_link("logit")) < TEN_DIGITS


@pytest.mark.parametrize("outcomes", [(1,), (-1,), (0,), (-1, 1)])
def test_outcomes_that_do_not_occur_have_no_points(outcomes):
    x, outcome, amount = study(3, "normal", outcomes)
    found = points_of(x, outcome, amount)
    assert set(found.outcome) == set(outcomes)
    exact = Differences(x, outcome, amount)
    assert largest_error(found, exact, get_link("logit")) < TEN_DIGITS


def test_what_is_too_small_to_be_squared_is_zero():
    """Subnormal numbers, and what is far below the last digit of the largest difference."""
    x = np.array([5e-324, -5e-324, 1e-310, 1e-200, 1e-160, 0.0, -0.0])
    outcome, amount = np.ones(7, dtype=np.int8), np.ones(7)
    for larger in (np.empty(0), np.array([1.0, -1.0])):
        with np.errstate(all="raise", under="ignore"):
            found = points_of(
                np.append(x, larger), np.append(outcome, np.sign(larger)), np.ones(7 + len(larger))
            )
        assert np.all(np.isfinite(found.x))
        assert found.total == 7 + len(larger)
        assert found.squares == pytest.approx(len(larger), abs=1e-300)
    alone = points_of(x[:1], outcome[:1], amount[:1])
    assert alone.outcomes(get_link("logit")).right == 1.0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 6), kind=st.sampled_from(KINDS))
def test_parts_add_to_the_whole_in_any_order(seed, n_parts, kind):
    x, outcome, amount = study(seed, kind)
    rng, largest = np.random.default_rng(seed), float(np.abs(x).max())
    whole = DifferenceSums.of_comparisons(x, outcome, amount, largest)
    parts = np.array_split(rng.permutation(len(x)), n_parts)
    total = DifferenceSums.zero()
    for rows in parts:
        total = total + DifferenceSums.of_comparisons(x[rows], outcome[rows], amount[rows], largest)
    for name, of in vars(whole).items():
        size = np.abs(of).max()
        np.testing.assert_allclose(getattr(total, name), of, rtol=1e-12, atol=1e-14 * size)


def test_threads_and_pieces_change_no_bin(monkeypatch):
    x, outcome, amount = study(4, "heavy tails")
    largest = float(np.abs(x).max())
    whole = DifferenceSums.of_comparisons(x, outcome, amount, largest)
    monkeypatch.setattr(threads, "LARGE", 1000)
    monkeypatch.setattr(differences, "AT_ONCE", 777)
    parts = DifferenceSums.of_comparisons(x, outcome, amount, largest)
    np.testing.assert_array_equal(whole.amount > 0, parts.amount > 0)
    np.testing.assert_allclose(parts.first, whole.first, rtol=1e-12, atol=1e-12)


def test_few_comparisons_are_kept_and_many_are_summed(monkeypatch):
    x, outcome, amount = study(5, "normal")
    assert Differences.of_comparisons(x, outcome, amount).x is x
    monkeypatch.setattr(differences, "MANY", 1000)
    many = Differences.of_comparisons(x, outcome, amount)
    assert len(many.x) < len(x)
    exact = Differences(x, outcome, amount)
    assert largest_error(many, exact, get_link("logit")) < TEN_DIGITS


@pytest.mark.parametrize("link", LINKS)
def test_how_comparisons_go_is_the_definition(link):
    _, _, outcome, amount = comparisons(7)
    link, x = get_link(link), 5 * np.random.default_rng(7).normal(size=len(outcome))
    x[:3] = 0.0, -40.0, 700.0
    sums = {"decided": 0.0, "right": 0.0, "wrong": 0.0, "loglik": 0.0}
    for difference, y, a in zip(x, outcome, amount, strict=True):
        if y:
            sums["decided"] += a
            sums["right"] += a * (difference * y > 0)
            sums["wrong"] += a * float(link.cdf(-abs(difference)))
            sums["loglik"] += a * float(link.log_cdf(difference * y))
    found = vars(Differences(x, outcome, amount).outcomes(link))
    assert found == pytest.approx(sums, rel=1e-12)


def test_rows_are_scaled_shifted_and_taken():
    rows = Differences(np.array([1.0, -2.0]), np.array([1, 0]), np.array([2.0, 3.0]))
    moved = rows.times(2.0, 0.5)
    assert moved.x.tolist() == [2.5, -3.5]
    assert rows.total == 5.0
    assert rows.squares == 2.0 + 12.0
    assert rows.take(np.array([False, True])).x.tolist() == [-2.0]
