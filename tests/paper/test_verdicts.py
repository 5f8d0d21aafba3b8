"""Verdicts and their words."""

import numpy as np

from pairscore.paper.rows import Measurement, mean_of
from pairscore.paper.verdicts import (
    APPROXIMATELY,
    HOLDS,
    NOT,
    Claim,
    extremes,
    judge_each,
    judge_increase,
    verdict,
    with_minus,
)
from tests.limits import largest_mean


def test_one_of_three():
    assert verdict(True, True) == verdict(True, False) == HOLDS
    assert verdict(False, True) == APPROXIMATELY
    assert verdict(False, False) == NOT


def test_every_measurement_has_to_pass():
    tests = (lambda part: part.high < 0, lambda part: part.value < 0)

    def judged(**values):
        parts = {name: Measurement(value, 0.1) for name, value in values.items()}
        return judge_each("falls", "figure 0", "slope: ", parts, "a rule", tests)

    assert judged(a=-1, b=-2).verdict == HOLDS
    assert judged(a=-1, b=-0.1).verdict == APPROXIMATELY
    assert judged(a=-1, b=0.1).verdict == NOT
    claim = judged(a=-1, b=-2)
    assert claim.measured == "slope: −2.000 ± 0.100 to −1.000 ± 0.100"
    assert claim.details == ("a: −1.000 ± 0.100", "b: −2.000 ± 0.100")


def test_an_increase_that_chance_explains_is_named():
    ratios = {"0 → 1": Measurement(0.01, 0.02), "1 → 2": Measurement(0.5, 0.02)}
    claim = judge_increase("grows", "figure 0", "ratio: ", ratios, " because")
    assert claim.verdict == APPROXIMATELY
    assert claim.why == "No clear increase at 0 → 1 because."
    assert claim.measured == "ratio: 0 → 1: 0.010 ± 0.020; 1 → 2: 0.500 ± 0.020"
    assert judge_increase("", "", "", {"1 → 2": ratios["1 → 2"]}).why == ""
    assert judge_increase("", "", "", {"down": Measurement(-0.5, 0.02)}).verdict == NOT


def test_words():
    assert extremes({"only": Measurement(1, 0.1)}) == "1.000 ± 0.100"
    assert with_minus(-1234.5, ",.0f") == "−1,234"


# -- how sure a verdict is -------------------------------------------------------------------------


def judged_slope(values):
    """A claim that a slope is below zero, from its values in some generations."""
    tests = (lambda part: part.high < 0, lambda part: part.value < 0)
    return judge_each("falls", "figure 0", "slope: ", {"a": mean_of(values)}, "a rule", tests)


def test_a_verdict_of_three_generations_says_that_it_cannot_be_told():
    """The same slope and spread hold surely in ten generations."""
    few = judged_slope(np.array([-0.5, -0.1, -0.25]))
    assert few.verdict == HOLDS
    assert few.is_unsure
    assert few.sureness.startswith("Cannot be told: only in ")
    many = judged_slope(np.resize([-0.5, -0.1, -0.25], 30))
    assert (many.verdict, many.is_unsure) == (HOLDS, False)
    assert many.sureness == "So in 99 of 100 repeats."


def test_repeats_come_to_the_same_verdict_as_often_as_is_said():
    """Mean over runs of what is said against what another run finds, up to a t-quantile."""
    rng, gaps = np.random.default_rng(0), []
    for slope in np.linspace(-3.0, 1.0, 240):
        first, second = (judged_slope(rng.normal(slope, 2.0, 6)) for _ in range(2))
        gaps.append(first.repeats - (first.verdict == second.verdict))
    assert abs(np.mean(gaps)) < largest_mean(np.array(gaps)) + 0.02


def test_a_claim_without_measurements_of_its_own_says_nothing_of_repeats():
    claim = Claim("", "", "", "", HOLDS)
    assert (claim.sureness, claim.is_unsure) == ("", False)
