"""The judges: their slopes, and whether one is clearly less careful than the others."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pairscore.data.comparisons import Comparisons
from pairscore.effects.judges import REACH, Judges
from pairscore.model.regression import RankRegression
from pairscore.report.checks import CANNOT_TELL, POWER, SIDE_Z, Check, again
from pairscore.report.words import number_of

MOST_NAMED = 3
CARELESS = "Is a judge less careful than the others?"  # a question of the checks


@dataclass(frozen=True)
class Judge:
    """A judge with the slope of their answers (1 is the average judge, 0 a coin).

    ``noise`` is the share of their comparisons that go against the score.
    """

    name: str
    n_comparisons: float
    slope: float
    low: float
    high: float
    noise: float
    remark: str


@dataclass(frozen=True)
class JudgeRecord:
    """A judge, the share of their decided comparisons that contradict the score, that of all other
    judges, how many standard errors they are less sharp, and whether a coin would have been seen.
    """

    name: str
    wrong: float
    others: float
    z: float
    is_seen: bool


def judge_rows(judges: Judges | None) -> list[Judge]:
    """The judges, the one with the largest slope first."""
    if judges is None:
        return []
    columns = judges.to_columns()
    names = ("name", "n_comparisons", "slope", "std_error", "noise", "remark")
    return [
        Judge(str(name), number, slope, slope - REACH * error, slope + REACH * error, noise, remark)
        for name, number, slope, error, noise, remark in zip(
            *(columns[name] for name in names), strict=True
        )
    ]


def judge_limit(n_judges: int) -> float:
    """Standard errors from which on one of so many judges is called careless (Bonferroni)."""
    return float(max(SIDE_Z, ndtri(1 - 0.01 / n_judges)))


def judge_records(
    model: RankRegression, data: Comparisons, probability: np.ndarray
) -> list[JudgeRecord]:
    """How each judge decides next to the others, in the order of their names.

    Where judges have slopes, z is how far theirs is below the average, 1. Else it is how much more
    often they contradict the score than it expects, less the same of the other judges; by one
    judge, the share of wrong answers is off by sqrt(sum p(1 - p)) over their number.
    """
    names, judge = np.unique(data.judge.astype(str), return_inverse=True)
    amount = data.amount * (data.outcome != 0)
    unexpected = (probability >= 0.5) != (data.outcome > 0)
    excess = unexpected - np.minimum(probability, 1 - probability)
    slope, below = np.ones(len(names)), None
    if model.judges_ is not None:
        known = dict(zip(map(str, model.judges_.name), range(len(model.judges_.name)), strict=True))
        rows = [known.get(name, -1) for name in names]
        slope = np.append(model.judges_.slope, 1.0)[rows]
        below = np.append((1 - model.judges_.slope) / model.judges_.std_error, np.nan)[rows]
    # a judge who answers the other way round is expected to contradict the score
    wrong = unexpected != (slope < 0)[judge]
    parts = (amount, wrong * amount, excess * amount)
    square = amount * data.importance * probability * (1 - probability)
    own = np.array([np.bincount(judge, part, len(names)) for part in (*parts, square)])
    rest = own.sum(axis=1, keepdims=True) - own
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(own[3] / own[0] ** 2 + rest[3] / rest[0] ** 2)
        z = (own[2] / own[0] - rest[2] / rest[0]) / error
        shares, others = own[1] / own[0], rest[1] / rest[0]
    z = z if below is None else below
    seen = others + (judge_limit(len(names)) + POWER) * error < 0.5
    columns = (names.tolist(), shares.tolist(), others.tolist(), z.tolist(), seen.tolist())
    return [JudgeRecord(*row) for row in zip(*columns, strict=True)]


def judge_checks(model: RankRegression, data: Comparisons, probability: np.ndarray) -> list[Check]:
    """Whether a judge is clearly less careful than the others; nothing without several judges."""
    if data.judge is None or len(set(data.judge.tolist())) < 2:
        return []
    records = judge_records(model, data, probability)
    limit = judge_limit(len(records))
    careless = sorted((one for one in records if one.z > limit), key=lambda one: -one.z)
    answer = "No judge contradicts the score clearly more often than the others do."
    if careless:
        told = [
            f"{one.name} contradicts the score in {100 * one.wrong:.0f} % of decided comparisons,"
            f" the others in {100 * one.others:.0f} %"
            for one in careless
        ]
        answer = f"{'; '.join(told[:MOST_NAMED])}."
        if model.judges_ is None:
            advice = "fit again with --judge-slopes, which counts such answers less"
            what = "a separate sharpness for every judge, which counts such answers less,"
            remedy = again(model, "judge_slopes", advice, what)
            answer += f" {remedy[0].upper()}{remedy[1:]}."
    blind = sum(not one.is_seen for one in records)
    if blind and not careless:
        answer += f" For {number_of(blind, 'judge')} there are too few answers to tell."
    good = CANNOT_TELL if blind == len(records) else "no sign of a careless judge"
    rule = f"Flagged at {limit:.1f} standard errors below the others or more."
    return [Check(CARELESS, not careless, answer, rule, good)]
