"""Theorem 1's bound: how it behaves, the best trade-offs, and where it says something."""

import math
from dataclasses import replace
from decimal import MIN_EMIN, Decimal, getcontext
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2, norm

from pairscore import PairscoreError
from pairscore.theory.bound import (
    TERMS,
    BoundSetting,
    Tradeoffs,
    best_tradeoffs,
    bound_at,
    log_paper_comparisons,
    paper_tradeoffs,
    side_conditions,
    simplified_log_bound,
    smallest_log_n_items,
    theorem_bound,
)

getcontext().prec = 60
getcontext().Emin = MIN_EMIN
D = Decimal


def test_the_sum_and_the_papers_tradeoffs_are_those_of_the_appendix():
    n, m, d, smallest, epsilon = 10**6, 10**9, 4, 0.7, 0.6
    bound = theorem_bound(n, m, d, smallest, epsilon)
    eps, log_n = epsilon - 2 / (n * math.sqrt(math.pi * smallest)), math.log(n)
    deltas = [
        d * log_n**2,
        4 * smallest * eps**2 / (d * log_n**2),
        d * log_n**2,
        eps**2 * smallest / (1152 * d * log_n),
    ]
    logs = [
        bound.tradeoffs.log_delta0,
        bound.tradeoffs.log_delta1,
        bound.tradeoffs.log_delta2,
        bound.tradeoffs.log_delta3,
    ]
    assert np.exp(logs) == pytest.approx(deltas, rel=1e-12)
    assert list(bound.terms) == list(TERMS)
    assert len(bound.terms) == 10
    assert bound.log_probability == pytest.approx(
        np.logaddexp.reduce(list(bound.terms.values())), rel=1e-14
    )
    assert bound.probability == 1.0
    assert bound.vacuous


@pytest.mark.parametrize("tradeoff", ["paper", "best"])
@pytest.mark.parametrize("log_n", [12.0, 40.0, 900.0, 20_000.0])
def test_more_comparisons_or_a_coarser_question_never_raise_the_bound(tradeoff, log_n):
    def log_probability(epsilon, more):
        log_m = log_paper_comparisons(log_n, 5, 0.8, 0.5) + math.log(more)
        return bound_at(
            BoundSetting(log_n, log_m, 5, 0.8, 1.0, epsilon, 1152.0, 1.0, 0.5), tradeoff
        ).log_probability

    falls_in_m = [log_probability(0.5, more) for more in (0.1, 1, 3, 10, 1e3, 1e6)]
    falls_in_epsilon = [log_probability(epsilon, 100.0) for epsilon in (0.01, 0.1, 0.5, 1.0, 4.0)]
    for values in (falls_in_m, falls_in_epsilon):
        assert all(
            later <= earlier + 1e-7 * (1 + abs(earlier)) for earlier, later in pairwise(values)
        )


@pytest.mark.parametrize("tradeoff", ["paper", "best"])
def test_once_it_says_something_the_bound_falls_in_the_number_of_items(tradeoff):
    values = []
    for log_n in (2000.0, 2500.0, 4000.0, 9000.0, 18_500.0, 40_000.0):
        log_m = log_paper_comparisons(log_n, 10, 1.0, 0.5)
        values.append(
            bound_at(
                BoundSetting(log_n, log_m, 10, 1.0, 1.0, 0.5, 1152.0, 1.0, 0.5), tradeoff
            ).log_probability
        )
    assert values[0] < 0
    assert np.all(np.diff(values) < 0)
    assert np.all(np.isfinite(values))


def test_best_is_never_worse_than_the_paper_term_group_by_term_group():
    rng = np.random.default_rng(5)
    for _ in range(40):
        log_n = float(np.exp(rng.uniform(np.log(4), np.log(30_000))))
        d, smallest, epsilon = (
            int(rng.integers(1, 50)),
            float(rng.uniform(0.005, 1)),
            float(np.exp(rng.uniform(-4, 1))),
        )
        log_m = log_paper_comparisons(log_n, d, smallest, epsilon) + rng.uniform(-5, 25)
        s = BoundSetting(log_n, log_m, d, smallest, 1.0, epsilon, 1152.0, 1.0, 0.5)
        paper, best = bound_at(s, "paper"), bound_at(s, "best")
        for part in ("counts", "labels", "partners"):
            sums = [
                np.logaddexp.reduce(
                    [value for name, value in bound.terms.items() if name.startswith(part)]
                )
                for bound in (paper, best)
            ]
            assert sums[1] <= sums[0]
        assert best.log_probability <= paper.log_probability
        assert not best.vacuous or paper.vacuous
        # a sum below 1 without its conditions would be a claim without a proof
        assert best.log_probability >= 0 or all(
            condition.satisfied for condition in best.conditions
        )


@pytest.mark.parametrize(("log_n", "more"), [(17.0, 1000.0), (25.0, 100.0), (14.0, 1e5)])
def test_best_is_the_best_of_a_fine_grid(log_n, more):
    s = BoundSetting(
        log_n,
        log_paper_comparisons(log_n, 3, 1.0, 0.9) + math.log(more),
        3,
        1.0,
        1.0,
        0.9,
        1152.0,
        1.0,
        0.5,
    )
    best = best_tradeoffs(s)

    def total(part, t):
        return np.logaddexp.reduce(
            [term(s, t) for name, term in TERMS.items() if name.startswith(part)]
        )

    for part, name in (("counts", "log_delta0"), ("partners", "log_delta3")):
        grid = min(
            total(part, replace(best, **{name: x}))
            for x in getattr(best, name) + np.linspace(-4, 4, 2001)
        )
        assert total(part, best) <= grid + 1e-4 * (1 + abs(grid))
    steps = np.linspace(-3, 3, 61)
    grid = min(
        total(
            "labels", replace(best, log_delta1=best.log_delta1 + x, log_delta2=best.log_delta2 + y)
        )
        for x in steps
        for y in steps
    )
    assert total("labels", best) <= grid + 1e-3 * (1 + abs(grid))


def test_sizes_beyond_any_float_give_a_finite_bound():
    d, smallest, epsilon = 10, 1.0, 0.5
    n = 10**8100  # log N = 18651, past the paper's 18432
    m = 10**8100 * int(d * math.log(n) ** 3 / (epsilon**2 * smallest))
    for tradeoff in ("paper", "best"):
        bound = theorem_bound(n, m, d, smallest, epsilon, tradeoff=tradeoff)
        assert math.isfinite(bound.log_probability)
        assert not bound.vacuous
        assert all(condition.satisfied for condition in bound.conditions)
        assert not any(math.isnan(value) for value in bound.terms.values())
    assert 0 <= bound.probability < 1e-300


@pytest.mark.parametrize(
    ("tradeoff", "comparisons", "documented"),
    [("paper", 1, 1878.6), ("best", 1, 956.7), ("best", 10, 114.0), ("best", 1000, 15.49)],
)
def test_the_smallest_number_of_items_is_a_threshold_and_the_documented_one(
    tradeoff, comparisons, documented
):
    log_n = smallest_log_n_items(10, 1.0, 0.5, tradeoff=tradeoff, comparisons=comparisons)
    assert log_n == pytest.approx(documented, rel=5e-4)
    for factor, vacuous in ((1 - 1e-5, True), (1 + 1e-5, False), (1.5, False)):
        log_m = log_paper_comparisons(factor * log_n, 10, 1.0, 0.5) + math.log(comparisons)
        assert (
            bound_at(
                BoundSetting(factor * log_n, log_m, 10, 1.0, 1.0, 0.5, 1152.0, 1.0, 0.5), tradeoff
            ).vacuous
            == vacuous
        )


def test_the_simplified_form_is_its_formula():
    n, d, smallest, epsilon = 5000, 3, 0.5, 40.0
    tail, average = (
        (math.sqrt(6 * math.log(n)) / n) ** d,
        math.exp(-n * epsilon**2 * smallest / (2304 * d * math.log(n))),
    )
    assert simplified_log_bound(n, d, smallest, epsilon) == pytest.approx(
        math.log(44 * n * max(tail, average)), rel=1e-12
    )
    assert simplified_log_bound(n, d, smallest, 0.5) == pytest.approx(
        math.log(44 * n) - n * 0.25 * smallest / (2304 * d * math.log(n)), rel=1e-12
    )
    assert math.isfinite(simplified_log_bound(10**8100, 10, 1.0, 0.5))
    assert simplified_log_bound(n, d, smallest, epsilon, c2=1.0) == pytest.approx(
        simplified_log_bound(n, d, smallest, epsilon) - math.log(44)
    )


def test_a_failed_condition_makes_the_bound_say_nothing():
    fine = theorem_bound(10**9, 10**20, 2, 1.0, 1.0, tradeoff="best")
    # epsilon beyond 6/(lambda_1 lambda_d)
    coarse = theorem_bound(10**9, 10**20, 2, 1.0, 7.0, tradeoff="best")
    assert not fine.vacuous
    assert fine.probability < 1e-3
    assert coarse.log_probability < fine.log_probability
    assert coarse.vacuous
    assert coarse.probability == 1.0
    assert [c.name for c in coarse.conditions if not c.satisfied] == [
        "epsilon < 6/(lambda_1 lambda_d)"
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon is 0.0; give a positive number."),
        ({"epsilon": math.nan}, "epsilon is nan; give a positive number."),
        ({"n_items": 12}, r"n_items is 12 but must exceed the number of features \+ 2 = 12"),
        ({"n_items": 0}, "n_items is 0; give a number of at least 1."),
        ({"n_items": math.inf}, "n_items is inf; give a number of at least 1."),
        ({"n_comparisons": 0}, "n_comparisons is 0; give a number of at least 1."),
        ({"min_eigenvalue": -1.0}, "min_eigenvalue is -1.0; give a positive number."),
        ({"min_eigenvalue": 2.0}, "max_eigenvalue is 1.0, below min_eigenvalue=2.0"),
        ({"n_features": 0}, "n_features is 0; give a whole number of at least 1."),
        ({"n_features": 2.5}, "n_features is 2.5; give a whole number"),
        ({"tradeoff": "worst"}, "tradeoff is 'worst'; use 'paper' or 'best'."),
        ({"c2": 0.0}, "c2 is 0.0; give a positive number."),
        ({"c3": -1.0}, "c3 is -1.0; give a number of at least 0."),
    ],
)
def test_bad_input_is_one_sentence(change, words):
    arguments = {
        "n_items": 1000,
        "n_comparisons": 9000,
        "n_features": 10,
        "min_eigenvalue": 0.5,
        "epsilon": 0.3,
    } | change
    with pytest.raises(PairscoreError, match=words):
        theorem_bound(**arguments)


def test_no_number_of_items_helps_if_the_question_is_outside_the_proof():
    with pytest.raises(PairscoreError, match="the bound stays at 1"):
        smallest_log_n_items(2, 1.0, 9.0, tradeoff="paper")
    # one feature: 4N (2e log N / N^2)^(1/2) grows in N, with the printed trade-offs
    with pytest.raises(PairscoreError, match="use tradeoff='best'"):
        smallest_log_n_items(1, 1.0, 0.5, tradeoff="paper")
    assert smallest_log_n_items(1, 1.0, 0.5, comparisons=1e4) < 20
    with pytest.raises(PairscoreError, match="comparisons is 0"):
        smallest_log_n_items(2, 1.0, 1.0, comparisons=0)


def test_few_items_with_a_bias_beyond_epsilon_are_no_crash():
    bound = theorem_bound(5, 10**9, 1, 1.0, 0.01, tradeoff="best")
    assert bound.vacuous
    assert not bound.conditions[0].satisfied


# -- the ten terms against plain twins in long decimals, and repairs of the proof --------------


SIZES = [
    (60, 900, 3, 0.5, 1.0, 0.9),
    (2000, 400_000, 2, 1.0, 2.5, 3.0),
    (500, 10**7, 7, 0.9, 0.9, 1.4),
    (9, 50, 1, 2.0, 2.0, 0.8),
]


def setting(n, m, d, smallest, largest, epsilon, c2=2.0, c3=0.3, c4=0.5):
    return BoundSetting(math.log(n), math.log(m), d, smallest, largest, epsilon, c2, c3, c4)


def chi_tail(n, d, z):
    return 4 * n * ((z * (1 - z).exp()) ** (D(d) / 2) if z > 1 else D(1))


def naive_terms(n, m, d, smallest, largest, epsilon, deltas, c2=2.0, c3=0.3, c4=0.5):
    """The ten terms of the appendix (and docs/explanation/theory.md), without logarithms."""
    pi = D("3.14159265358979323846264338327950288419716939937510582097494")
    lam, top = D(smallest), D(largest)
    eps = D(epsilon) - 2 / (n * (pi * lam).sqrt())
    d0, d1, d2, d3 = deltas
    a = lam * eps / (6 * d * (2 * top).sqrt())
    below = D(n - 1).sqrt() - (D(n - d - 2) / (1 + a)).sqrt() - D(c3) * D(d).sqrt()
    above = (D(n - d - 2) / (1 - a)).sqrt() - D(n - 1).sqrt() - D(c3) * D(d).sqrt()
    room = eps**2 * n * lam / D(c2)
    signal = eps**2 * lam
    return {
        "covariance": 8 * (-D(c4) * max(min(below, above), D(0)) ** 2).exp(),
        "items": (
            4 * (-(((room - d).sqrt() - D(d).sqrt()) ** 2) / 4).exp() if room > 2 * d else D(4)
        ),
        "counts": D(2) ** (n + 2) * (-signal * m / (1152 * d0)).exp(),
        "counts_length": chi_tail(n, d, d0 / d),
        "labels_counts": D(2) ** (n + 2) * (-signal * m / (4608 * d1 * d2)).exp(),
        "labels_counts_length": chi_tail(n, d, d2 / d),
        "labels_length": chi_tail(n, d, signal / (2304 * d * d1)),
        "labels_noise": 8 * n * (1 - (1 - (-d1 / 2).exp()) / n) ** m,
        "partners_length": chi_tail(n, d, signal / (576 * d * d3)),
        "partners_noise": 8 * n * (-n * d3 / 2).exp(),
    }


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "deltas",
    [
        ("30", "0.01", "20", "0.00002"),
        ("2.5", "0.00003", "9", "0.4"),
        ("400", "1.5", "0.1", "0.0002"),
    ],
)
def test_a_term_is_its_plain_twin(name, sizes, deltas):
    deltas = [D(delta) for delta in deltas]
    term = TERMS[name](setting(*sizes), Tradeoffs(*(float(delta.ln()) for delta in deltas)))
    assert term == pytest.approx(
        float(naive_terms(*sizes, deltas)[name].ln()), rel=1e-10, abs=1e-10
    )


def test_no_term_is_constant_over_the_twins_cases():
    for name in TERMS:
        values = {
            float(naive_terms(*sizes, [D(30), D("0.00003"), D(20), D("0.00002")])[name].ln())
            for sizes in SIZES
        }
        assert len(values) > 1, name


def test_conditions_are_plain_comparisons():
    n, m, d, smallest, largest, epsilon = 5000, 10**6, 3, 0.5, 1.2, 0.9
    s = setting(n, m, d, smallest, largest, epsilon)
    t = Tradeoffs(*np.log([40.0, 1e-5, 30.0, 1e-4]))
    eps = epsilon - 2 / (n * math.sqrt(math.pi * smallest))
    a, edge = smallest * eps / (6 * d * math.sqrt(2 * largest)), 0.3 * math.sqrt(d)
    signal = eps**2 * smallest
    expected = [
        (2 / (n * math.sqrt(math.pi * smallest)), epsilon),
        (eps, 12 * d**2 * largest),
        (eps, 6 / (largest * smallest)),
        (math.sqrt((n - d - 2) / (1 + a)) + edge, math.sqrt(n - 1)),
        (math.sqrt(n - 1) + edge, math.sqrt((n - d - 2) / (1 - a))),
        (2 * d * 2.0 / signal, n),
        (d, 40.0),
        (1152 * 40 * n * math.log(2) / signal, m),
        (d, 30.0),
        (4608 * 1e-5 * 30 * n * math.log(2) / signal, m),
        (1e-5, signal / (2304 * d)),
        (2 * n * math.log(n) / m, 1e-5),
        (1e-4, signal / (576 * d)),
        (2 * math.log(n) / n, 1e-4),
    ]
    conditions = side_conditions(s, t)
    assert [(c.smaller, c.larger) for c in conditions] == [
        pytest.approx(pair, rel=1e-9) for pair in expected
    ]
    assert [c.satisfied for c in conditions] == [small < large for small, large in expected]
    assert {c.satisfied for c in conditions} == {True, False}
    assert len({c.name for c in conditions}) == len(conditions)
    assert str(conditions[6]).startswith("d < delta0: yes (logarithms ")


def test_the_printed_label_noise_after_substitution_is_not_what_its_formula_gives():
    # M = d N log^3 N / (eps^2 lambda_d) and delta1 = 4 eps^2 lambda_d / (d log^2 N): log N - M
    # delta1 / 2N = -log N, so 8/N; printed is 8 e^(-4N (log N - 1))
    n = 10**40
    s = BoundSetting(
        math.log(n),
        log_paper_comparisons(math.log(n), 5, 1.0, 0.5),
        5,
        1.0,
        1.0,
        0.5,
        1152.0,
        1.0,
        0.5,
    )
    assert TERMS["labels_noise"](s, paper_tradeoffs(s)) == pytest.approx(
        math.log(8) - math.log(n), rel=1e-4
    )


def test_the_remainder_of_the_label_noise_raises_it():
    # E e^(tX) >= e^(t E X): the exponential that the paper goes on with lies below the moment
    # generating function it stands for
    s, t = setting(60, 900, 3, 0.5, 1.0, 0.9), Tradeoffs(0.0, math.log(0.8), 0.0, 0.0)
    assert TERMS["labels_noise"](s, t) > math.log(8) + s.log_n - 900 * 0.8 / (2 * 60) + 0.5


def test_the_item_term_needs_twice_the_printed_number_of_items():
    # with x ~ N(0, I_d) and r = |x|^2: Pr(r > R) <= exp(-(sqrt(2R - d) - sqrt d)^2 / 4) for R > d,
    # and not for d/2 < R < d, which is printed as enough
    d = 10
    for R, holds in ((5.01, False), (7.0, False), (12.0, True), (30.0, True)):
        assert (
            chi2.sf(R, d) <= math.exp(-((math.sqrt(2 * R - d) - math.sqrt(d)) ** 2) / 4)
        ) == holds


def test_centring_takes_from_the_scatter_and_leaves_one_row_less():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(12, 3)) + 0.5
    centred = (W - W.mean(axis=0)).T @ (W - W.mean(axis=0))
    shift = len(W) * np.outer(W.mean(axis=0), W.mean(axis=0))
    assert np.allclose(centred, W.T @ W - shift)
    assert not np.allclose(centred, W.T @ W + shift)


def test_singular_values_of_normal_rows_stay_within_the_default_constants():
    # Pr(smallest < sqrt(N-1) - c3 sqrt d - t) <= exp(-c4 t^2) with c3 = 1 and c4 = 1/2, and the
    # largest alike; without c3 it is far from true
    n, d, draws = 60, 8, 3000
    W = np.random.default_rng(1).normal(size=(draws, n, d))
    W -= W.mean(axis=1, keepdims=True)
    values = np.sqrt(np.linalg.eigvalsh(np.einsum("kni,knj->kij", W, W)))
    smallest, largest, root, edge = values[:, 0], values[:, -1], math.sqrt(n - 1), math.sqrt(d)
    for t in (0.5, 1.0, 1.5):
        bound = math.exp(-t * t / 2)
        slack = norm.isf(1e-6) * math.sqrt(bound * (1 - bound) / draws)
        assert np.mean(smallest < root - edge - t) <= bound + slack
        assert np.mean(largest > root + edge + t) <= bound + slack
        assert np.mean(smallest < root - t) > bound + slack
    # |A - I| > a has two sides, and the printed proof follows the one where an eigenvalue of A =
    # Sigma^1/2 Sigma-hat^-1 Sigma^1/2 is too large
    inverse = (n - d - 2) / values**2
    assert np.any((np.abs(inverse - 1).max(axis=1) > 0.6) & (inverse.max(axis=1) - 1 <= 0.6))


@pytest.mark.parametrize("q", [0.3, 1.0, 5.0, 1e6])
def test_items_have_variance_proxy_four(q):
    # log E exp(r (W g - E W g)) <= 2 r^2 along beta with g = E[2 Phi(q (z - z')) - 1], steep and
    # flat: this is where c2 = 2 * 576 comes from
    z = np.linspace(-12, 12, 48_001)
    weight = norm.pdf(z) / norm.pdf(z).sum()
    x = z * (2 * norm.cdf(q * z / math.sqrt(1 + q * q)) - 1)
    for r in (-3.0, -1.0, -0.1, 0.1, 0.5, 1.0, 2.0, 3.0):
        assert np.log(weight @ np.exp(r * (x - weight @ x))) <= 2 * r * r


def test_self_pairs_shorten_the_mean_by_one_part_in_n():
    # E beta-hat = (1 - 1/N) c1 beta, and |c1 beta| <= 2 / sqrt(pi lambda_d), approached by a steep
    # link
    s = setting(100, 900, 3, 0.25, 1.0, 0.9)
    assert s.accuracy == pytest.approx(0.9 - 2 / math.sqrt(math.pi * 0.25) / 100, rel=1e-12)
    q = 50.0
    c1 = 4 * norm.pdf(0) / math.sqrt(1 + 2 * q * q)  # probit: 4 E phi(s), s ~ N(0, 2 q^2)
    assert c1 * q == pytest.approx(2 / math.sqrt(math.pi), rel=1e-3)
    assert c1 * q < 2 / math.sqrt(math.pi)
