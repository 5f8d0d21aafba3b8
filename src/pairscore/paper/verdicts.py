"""A claim of the paper with its verdict, and the words that verdicts are put in."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pairscore.paper.rows import Measured

HOLDS, APPROXIMATELY, NOT = "holds", "holds approximately", "does not hold"
FEW_FLIPS = (
    ": most of the error of this estimator is that of its covariance and of the draw of items,"
    " which flipped labels hardly touch until they are many"
)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what we measured, and whether it holds by the rule.

    ``why`` it does not, or what to know; ``details`` curve by curve.
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


def increase(
    sentence: str, where: str, what: str, found: dict[str, Measured], cause: str = ""
) -> Claim:
    """A claim that something grows from each step to the next."""
    uncertain = [key for key, part in found.items() if part.low <= 0]
    total = sum(part.value for part in found.values())
    return Claim(
        sentence,
        where,
        what + (listed(found) if len(found) < 4 else extremes(found)),
        "Holds if every log ratio is above 0 by two standard errors; approximately if none is below"
        " 0 by two standard errors and their sum is above 0.",
        verdict(not uncertain, total > 0 and all(part.high >= 0 for part in found.values())),
        (
            f"No increase to be told from chance at {'; '.join(uncertain)}{cause}."
            if uncertain
            else ""
        ),
        one_by_one(found),
    )


def listed(found: dict[str, Measured]) -> str:
    """All of them in a line."""
    return "; ".join(f"{name}: {part}" for name, part in found.items())


def one_by_one(found: dict[str, Measured]) -> tuple[str, ...]:
    """A line each."""
    return tuple(f"{name}: {part}" for name, part in found.items())


def extremes(found: dict[str, Measured]) -> str:
    """The smallest and the largest."""
    low, high = (edge(found.values(), key=lambda part: part.value) for edge in (min, max))
    return f"{low}" if low == high else f"{low} to {high}"


def steps(values: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Each value with the next."""
    return list(pairwise(values))


def with_minus(value: float, form: str = "g") -> str:
    """A number with a proper minus sign."""
    return format(value, form).replace("-", "−")
