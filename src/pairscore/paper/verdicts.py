"""A claim of the paper with its verdict, how sure that is, and the words that they are put in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan

import numpy as np

from pairscore.paper.rows import Measurement

HOLDS, APPROXIMATELY, NOT = "holds", "holds approximately", "does not hold"
N_REPEATS = 500
SURE = 0.8  # share of repeats with the same verdict, below which it cannot be told
Measurements = Mapping[str, Measurement]
Test = Callable[[Measurement], bool]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what we measured, and whether it holds by the rule.

    ``where`` in the paper it stands; ``why`` it does not hold, or what to know about it;
    ``details`` curve by curve; ``repeats`` is the share of repeats of the whole experiment, with as
    many generations, that are expected to come to the same verdict (NaN where nobody knows).
    """

    sentence: str
    where: str
    measured: str
    rule: str
    verdict: str
    why: str = ""
    details: tuple[str, ...] = ()
    repeats: float = float("nan")

    @property
    def is_unsure(self) -> bool:
        """Whether another verdict is likely with other generations."""
        return self.repeats < SURE

    @property
    def sureness(self) -> str:
        """How sure the verdict is, in words."""
        if isnan(self.repeats):
            return ""
        share = f"{min(100 * self.repeats, 99):.0f} of 100 repeats"
        return f"Cannot be told: only in {share}." if self.is_unsure else f"So in {share}."


def share_of_repeats(measurements: Measurements, judge: Callable[[Measurements], str]) -> float:
    """How often a repeat of the experiment would come to the same verdict.

    A repeat differs from this run by the errors of both: sqrt(2) standard errors times a
    t-distributed number with the degrees of freedom of the error.
    """
    rng, found = np.random.default_rng(0), judge(measurements)
    draws = {
        name: np.sqrt(2) * part.error * _standard_t(rng, part.freedom)
        for name, part in measurements.items()
    }
    same = [
        judge(
            {
                name: part._replace(value=part.value + draws[name][repeat])
                for name, part in measurements.items()
            }
        )
        == found
        for repeat in range(N_REPEATS)
    ]
    return float(np.mean(same))


def _standard_t(rng: np.random.Generator, freedom: float) -> np.ndarray:
    if np.isinf(freedom):
        return rng.normal(size=N_REPEATS)
    return rng.standard_t(freedom, N_REPEATS)


def verdict(holds: bool, approximately: bool) -> str:
    """One of three."""
    return HOLDS if holds else APPROXIMATELY if approximately else NOT


def judge_each(
    sentence: str,
    where: str,
    what: str,
    measurements: Measurements,
    rule: str,
    tests: tuple[Test, Test],
    why: str = "",
) -> Claim:
    """A claim that holds if every measurement passes the first test.

    It holds approximately if every measurement passes the second.
    """

    def judge(parts: Measurements) -> str:
        return verdict(*(all(map(test, parts.values())) for test in tests))

    return Claim(
        sentence,
        where,
        what + extremes(measurements),
        rule,
        judge(measurements),
        why,
        lines(measurements),
        share_of_repeats(measurements, judge),
    )


def judge_increase(
    sentence: str, where: str, what: str, ratios: Measurements, cause: str = ""
) -> Claim:
    """A claim that something grows with each step; ``ratios`` are logarithms, one for each step.

    ``cause`` is added to the words about steps where no increase is seen.
    """

    def judge(parts: Measurements) -> str:
        never_falls = all(ratio.high >= 0 for ratio in parts.values())
        rises = sum(ratio.value for ratio in parts.values()) > 0
        return verdict(all(ratio.low > 0 for ratio in parts.values()), rises and never_falls)

    uncertain = [name for name, ratio in ratios.items() if ratio.low <= 0]
    chance = f"No clear increase at {'; '.join(uncertain)}{cause}."
    return Claim(
        sentence,
        where,
        what + ("; ".join(lines(ratios)) if len(ratios) < 4 else extremes(ratios)),
        "Holds if every log ratio is above 0 by two standard errors; approximately if none is below"
        " 0 by two standard errors and their sum is above 0.",
        judge(ratios),
        chance if uncertain else "",
        lines(ratios),
        share_of_repeats(ratios, judge),
    )


def lines(measurements: Measurements) -> tuple[str, ...]:
    """A line for each measurement."""
    return tuple(f"{name}: {measurement}" for name, measurement in measurements.items())


def extremes(measurements: Measurements) -> str:
    """The smallest and the largest."""
    low, high = (edge(measurements.values(), key=lambda m: m.value) for edge in (min, max))
    return f"{low}" if low == high else f"{low} to {high}"


def with_minus(value: float, form: str = "g") -> str:
    """A number with a proper minus sign."""
    return format(value, form).replace("-", "−")
