"""Theorem 1's bound: how it behaves, the best trade-offs, and where it says something."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pairscore import PairscoreError
from pairscore.theory.bound import (
    best_tradeoffs,
    bound_at,
    log_paper_comparisons,
    simplified_log_bound,
    smallest_log_n_items,
    theorem_bound,
)
from pairscore.theory.bound_terms import TERMS, BoundSetting


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
        ({"n_items": 12}, r"n_items is 12 but must exceed n_features \+ 2 = 12"),
        ({"n_items": 0}, "n_items is 0; give a number of at least 1."),
        ({"n_items": math.inf}, "n_items is inf; give a number of at least 1."),
        ({"n_comparisons": 0}, "n_comparisons is 0; give a number of at least 1."),
        ({"min_eigenvalue": -1.0}, "min_eigenvalue is -1.0; give a positive number."),
        ({"min_eigenvalue": 2.0}, "max_eigenvalue is 1.0, below min_eigenvalue = 2.0"),
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
