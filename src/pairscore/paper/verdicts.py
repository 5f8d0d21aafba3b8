"""A claim of the paper with its verdict, and the words that verdicts are put in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pairscore.paper.rows import Measurement

HOLDS, APPROXIMATELY, NOT = "holds", "holds approximately", "does not hold"
Measurements = Mapping[str, Measurement]
Test = Callable[[Measurement], bool]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what we measured, and whether it holds by the rule.

    ``where`` in the paper it stands; ``why`` it does not hold, or what to know about it;
    ``details`` curve by curve.
    """

    sentence: str
    where: str
    measured: str
    rule: str
    verdict: str
    why: str = ""
    details: tuple[str, ...] = ()


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
    passed = [all(map(test, measurements.values())) for test in tests]
    measured = what + extremes(measurements)
    return Claim(sentence, where, measured, rule, verdict(*passed), why, lines(measurements))


def judge_increase(
    sentence: str, where: str, what: str, ratios: Measurements, cause: str = ""
) -> Claim:
    """A claim that something grows with each step; ``ratios`` are logarithms, one for each step.

    ``cause`` is added to the words about steps where no increase is seen.
    """
    uncertain = [name for name, ratio in ratios.items() if ratio.low <= 0]
    total = sum(ratio.value for ratio in ratios.values())
    chance = f"No increase to be told from chance at {'; '.join(uncertain)}{cause}."
    return Claim(
        sentence,
        where,
        what + ("; ".join(lines(ratios)) if len(ratios) < 4 else extremes(ratios)),
        "Holds if every log ratio is above 0 by two standard errors; approximately if none is below"
        " 0 by two standard errors and their sum is above 0.",
        verdict(not uncertain, total > 0 and all(ratio.high >= 0 for ratio in ratios.values())),
        chance if uncertain else "",
        lines(ratios),
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
