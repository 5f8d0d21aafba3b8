"""Verdicts and their words."""

from pairscore.paper.rows import Measurement
from pairscore.paper.verdicts import (
    APPROXIMATELY,
    HOLDS,
    NOT,
    extremes,
    judge_each,
    judge_increase,
    verdict,
    with_minus,
)


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
    assert claim.why == "No increase to be told from chance at 0 → 1 because."
    assert claim.measured == "ratio: 0 → 1: 0.010 ± 0.020; 1 → 2: 0.500 ± 0.020"
    assert judge_increase("", "", "", {"1 → 2": ratios["1 → 2"]}).why == ""
    assert judge_increase("", "", "", {"down": Measurement(-0.5, 0.02)}).verdict == NOT


def test_words():
    assert extremes({"only": Measurement(1, 0.1)}) == "1.000 ± 0.100"
    assert with_minus(-1234.5, ",.0f") == "−1,234"
