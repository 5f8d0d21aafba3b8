"""How many items, how many comparisons? Answered before any are collected.

Three numbers hang together: items N, comparisons M, and the error. Give two and get the third; give
the error alone and get the cheapest pair, or the paper's M = ceil(N log N).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from pairscore.choices import METHODS
from pairscore.data.items import read_items
from pairscore.errors import NoAnswerError, PairscoreError, plural, positive_number, whole_number
from pairscore.planning.pilot import NoiseEstimate
from pairscore.planning.question import Question, costs_of, law_of, noise_of, target_of
from pairscore.theory.predict import ErrorLaw, ErrorPrediction

MOST_ITEMS, MOST_COMPARISONS = 10**8, 10**12
SECONDS_PER_COMPARISON = 23.0
PER_ITEM = 10  # the rule of thumb: every item compared ten times
# noise of 'mle' at the lower end of an interval that reaches zero: less changes little, and takes
# long to compute
HARDLY_ANY = 0.01


@dataclass(frozen=True)
class PlannedStudy:
    """A study of one method: its size, its expected error and what it costs."""

    method: str
    n_items: int
    n_items_total: int
    n_comparisons: int
    error: ErrorPrediction
    hours: float
    cost: float | None = None


@dataclass(frozen=True)
class Plan:
    """The study to make, and what it was weighed against.

    ``solved_for`` names what was found: "n_comparisons", "n_items", "both" or "error". ``interval``
    is where that number lies, given the noise's uncertainty after a pilot (90 %); its upper end is
    inf if the pilot does not exclude that labels are coins. ``alternatives`` has every method's
    study, or the error that says why it has none; ``rule_of_ten`` is the same study with every item
    compared ten times. Where items and comparisons were both found, ``interval`` is that of the
    comparisons and ``items_interval`` that of the items. ``notes`` are sentences on what the answer
    takes for granted.
    """

    study: PlannedStudy
    law: ErrorLaw
    noise: float
    target: tuple[str, float] | None
    solved_for: str
    alternatives: dict[str, PlannedStudy | PairscoreError]
    rule_of_ten: PlannedStudy
    noise_estimate: NoiseEstimate | None = None
    interval: tuple[float, float] | None = None
    items_interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        return self.study.method

    @property
    def n_items(self) -> int:
        return self.study.n_items

    @property
    def n_items_total(self) -> int:
        return self.study.n_items_total

    @property
    def n_comparisons(self) -> int:
        return self.study.n_comparisons

    @property
    def angle(self) -> float:
        return self.study.error.angle

    @property
    def misordered(self) -> float:
        return self.study.error.misordered

    @property
    def norm_error(self) -> float:
        return self.study.error.norm_error

    @property
    def hours(self) -> float:
        return self.study.hours

    @property
    def cost(self) -> float | None:
        return self.study.cost


def plan(
    n_features: int | None = None,
    *,
    noise: float | None = None,
    angle: float | None = None,
    misordered: float | None = None,
    norm_error: float | None = None,
    n_items: int | None = None,
    n_comparisons: int | None = None,
    method: str | None = None,
    min_eigenvalue: float | None = None,
    link: Any = None,
    population: Any = None,
    items: Any = None,
    pilot: Any = None,
    item_cost: float | None = None,
    comparison_cost: float | None = None,
    seconds_per_comparison: float = SECONDS_PER_COMPARISON,
) -> Plan:
    """Say how many items and comparisons a study needs, before any are collected.

    Give two of ``n_items``, ``n_comparisons`` and a target (``angle`` in radians, ``misordered``
    share of pairs of new items, or ``norm_error``) and get the third. With the target alone, get
    the cheapest study if ``item_cost`` and ``comparison_cost`` are given, else the smallest with M
    = ceil(N log N).

    The population is ``n_features`` with ``min_eigenvalue`` (1.0 unless given), ``link`` ("logit"
    unless given) and ``noise`` (the share of labels that go against the scores), or a
    :class:`Population`, or your own ``items``: their correlations then count, and their number is N
    unless ``n_items`` says otherwise. A ``pilot``, at least 50 comparisons of those items, takes
    the place of ``noise``; its uncertainty is carried to the answer.

    ``method`` is "mle", or "paired" where there is no noise or items have effects of their own,
    unless given.

    >>> study = plan(n_features=90, noise=0.2, misordered=0.05)
    >>> study.n_items < 2000, study.misordered <= 0.05
    (True, True)
    """
    target = target_of(angle=angle, misordered=misordered, norm_error=norm_error)
    table = None if items is None else read_items(items)
    estimate = None if pilot is None else noise_of(table, pilot, link, noise)
    noise = noise if estimate is None else estimate.noise
    law = law_of(n_features, min_eigenvalue, noise, link, population, table)
    if (
        table is not None
        and n_items is None
        and (target is None or (n_comparisons is None and item_cost is None))
    ):
        n_items = len(table)
    question = Question(
        target,
        None if n_items is None else whole_number(n_items, "n_items"),
        None if n_comparisons is None else whole_number(n_comparisons, "n_comparisons"),
        costs_of(item_cost, comparison_cost),
        positive_number(seconds_per_comparison, "seconds_per_comparison"),
    )
    if target is None and (question.n_items is None or question.n_comparisons is None):
        raise PairscoreError(
            "two of three are needed: give two of n_items, n_comparisons and a target (angle,"
            " misordered or norm_error)."
        )
    if target is not None and question.n_items is not None and question.n_comparisons is not None:
        raise PairscoreError(
            "n_items, n_comparisons and a target are all given, so nothing is left to find; leave"
            " one out."
        )
    chosen = (
        ("paired" if np.isinf(law.labels.spread) or law.labels.item_effect > 0 else "mle")
        if method is None
        else method
    )
    if chosen not in METHODS:
        raise PairscoreError(f"method is {method!r}; use one of {', '.join(map(repr, METHODS))}.")
    answer = _answer(law, question, chosen, estimate)
    return replace(
        answer, notes=tuple(_notes(answer, None if table is None else len(table), method is None))
    )


def _notes(answer: Plan, n_table: int | None, method_is_ours: bool) -> Iterator[str]:
    """What the answer takes for granted and the question did not say."""
    if n_table is not None and answer.n_items_total > n_table:
        yield (
            f"The table has {plural(n_table, 'item', ',')}; the study asks for"
            f" {answer.n_items_total:,}."
        )
    if answer.noise_estimate is not None and answer.noise == 0 and method_is_ours:
        yield (
            "The pilot's best guess is that there is no noise; 'mle' has no maximum then, so the"
            " plan is for 'paired'."
        )


def _answer(law: ErrorLaw, question: Question, method: str, estimate: NoiseEstimate | None) -> Plan:
    alternatives: dict[str, PlannedStudy | PairscoreError] = {}
    for other in METHODS:
        try:
            alternatives[other] = solve(law, question, other)
        except PairscoreError as error:
            alternatives[other] = error
    chosen = alternatives[method]
    if isinstance(chosen, PairscoreError):
        # coins; a likelihood without a maximum
        no_answer = law.labels.spread == 0 or (method == "mle" and np.isinf(law.labels.spread))
        raise (NoAnswerError if no_answer else type(chosen))(
            _with_remedy(str(chosen), question, alternatives)
        )
    rule = _study(law, question, method, chosen.n_items, PER_ITEM * chosen.n_items // 2)
    answer = Plan(
        chosen, law, law.noise, question.target, question.solved_for, alternatives, rule, estimate
    )
    if estimate is None:
        return answer
    ends = _ends(law, question, method, estimate)
    # labels may be coins
    found = _between(
        ends, lambda study: _found(study, question), np.inf if question.target else np.pi / 2
    )
    items = None
    # the cheapest study is one of many that cost nearly the same, so ends need not lie apart
    if question.solved_for == "both":
        low, high = _between(ends, lambda study: float(study.n_items), np.inf)
        items = min(low, high, chosen.n_items), max(low, high, chosen.n_items)
    return replace(answer, interval=found, items_interval=items)


def solve(law: ErrorLaw, question: Question, method: str) -> PlannedStudy:
    """The smallest study of ``method`` that answers the question."""
    given_n, given_m = question.n_items, question.n_comparisons
    if question.target is None:
        return _study(law, question, method, int(given_n or 0), int(given_m or 0))
    name, value = question.target

    def error(n_items: int, n_comparisons: int) -> float:
        return float(law.errors(n_items, n_comparisons, method)[name].mean())

    fewest = law.n_features + (4 if method == "split" else 2)
    n: int | None
    m: int | None
    if given_n is not None:
        n, m = given_n, _smallest(lambda m: error(given_n, m) - value, 1, MOST_COMPARISONS)
        if m is None:
            floor = error(n, MOST_COMPARISONS)
            raise NoAnswerError(
                f"with {plural(n, 'item')} {method!r} cannot reach {name} {value:g} at any number"
                f" of comparisons: it stays at {floor:.3g}."
            )
    elif given_m is not None:
        n, m = _smallest(lambda n: error(n, given_m) - value, fewest, MOST_ITEMS), given_m
        if n is None:
            floor = error(MOST_ITEMS, m)
            raise NoAnswerError(
                f"with {plural(m, 'comparison')} {method!r} cannot reach {name} {value:g} at any"
                f" number of items: it stays at {floor:.3g}."
            )
    elif question.costs is not None:
        n, m = _cheapest(error, value, fewest, question.costs, 2 if method == "split" else 1)
    else:
        n = _smallest(lambda n: error(n, paper_comparisons(n)) - value, fewest, MOST_ITEMS)
        if n is None:
            raise NoAnswerError(
                f"{method!r} cannot reach {name} {value:g} with {MOST_ITEMS:,} items and M = N log"
                " N; ask for a larger error."
            )
        m = paper_comparisons(n)
    return _study(law, question, method, n, m)


def paper_comparisons(n_items: int) -> int:
    """The paper's number of comparisons for N items: ceil(N log N)."""
    return int(np.ceil(n_items * np.log(n_items)))


def _study(law: ErrorLaw, question: Question, method: str, n: int, m: int) -> PlannedStudy:
    total = 2 * n if method == "split" else n
    cost = None if question.costs is None else question.costs[0] * total + question.costs[1] * m
    return PlannedStudy(
        method, n, total, m, law.predict(n, m, method), m * question.seconds / 3600, cost
    )


def _smallest(excess: Callable[[int], float], low: int, high: int) -> int | None:
    """The smallest whole number at which ``excess`` is not above zero; it falls."""
    if excess(low) <= 0:
        return low
    top = low
    while excess(top) > 0:
        if top == high:
            return None
        low, top = top, min(4 * top, high)
    if top > low + 1:
        # exp(log 5) is below 5
        root = np.exp(
            brentq(
                lambda log_x: excess(max(int(np.exp(log_x)), low)),
                np.log(low),
                np.log(top + 0.5),
                rtol=1e-6,
            )
        )
        near = [
            point
            for point in (int(root * (1 - 1e-4)) - 1, int(root * (1 + 1e-4)) + 1)
            if low < point < top
        ]
        for point in near:  # brackets that bisection then closes to the last unit
            low, top = (point, top) if excess(point) > 0 else (low, point)
    while top > low + 1:
        middle = (low + top) // 2
        low, top = (low, middle) if excess(middle) <= 0 else (middle, top)
    return top


def _cheapest(
    error: Callable[[int, int], float],
    value: float,
    fewest: int,
    costs: tuple[float, float],
    per_item: int,
) -> tuple[int, int]:
    """Items and comparisons that reach the error at the lowest cost."""
    least = _smallest(lambda n: error(n, MOST_COMPARISONS) - value, fewest, MOST_ITEMS)
    if least is None:
        raise NoAnswerError(
            f"no number of items and comparisons up to {MOST_ITEMS:,} and {MOST_COMPARISONS:,}"
            f" reaches {value:g}; ask for a larger error."
        )

    def study(log_n: float) -> tuple[float, int, int]:
        n = max(round(float(np.exp(log_n))), least)
        m = _smallest(lambda m: error(n, m) - value, 1, MOST_COMPARISONS) or MOST_COMPARISONS
        return costs[0] * per_item * n + costs[1] * m, n, m

    grid = np.linspace(np.log(least), np.log(MOST_ITEMS), 8)
    best = int(np.argmin([study(point)[0] for point in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda point: np.log(study(point)[0]),
        bounds=around,
        method="bounded",
        options={"xatol": 5e-3},
    ).x
    # whole numbers make the cost jagged
    near = [study(found + step) for step in (-0.05, -0.025, 0.0, 0.025, 0.05)]
    return min(*near, study(grid[best]))[1:]


def _ends(
    law: ErrorLaw, question: Question, method: str, estimate: NoiseEstimate
) -> list[PlannedStudy | None]:
    """The study at both ends of the noise's interval; None where nothing is enough."""
    ends: list[PlannedStudy | None] = []
    for noise in (estimate.low, estimate.high):
        try:
            ends.append(
                solve(
                    law.with_noise(max(noise, HARDLY_ANY) if method == "mle" else noise),
                    question,
                    method,
                )
            )
        except PairscoreError:
            ends.append(None)
    return ends


def _between(
    ends: list[PlannedStudy | None], number: Callable[[PlannedStudy], float], beyond: float
) -> tuple[float, float]:
    """A number of the studies at both ends; ``beyond`` where there is none."""
    low, high = sorted(beyond if study is None else number(study) for study in ends)
    return low, high


def _found(study: PlannedStudy, question: Question) -> float:
    if question.solved_for == "error":
        return study.error.angle
    return float(study.n_items if question.solved_for == "n_items" else study.n_comparisons)


def _with_remedy(
    sentence: str, question: Question, alternatives: dict[str, PlannedStudy | PairscoreError]
) -> str:
    """The refusal, and which method would do with how much."""
    able = [study for study in alternatives.values() if isinstance(study, PlannedStudy)]
    if not able or question.target is None:
        return sentence
    best = min(able, key=lambda study: (study.n_comparisons, study.n_items_total))
    amount = (
        plural(best.n_items, "item", ",")
        if question.solved_for == "n_items"
        else plural(best.n_comparisons, "comparison", ",")
    )
    return f"{sentence.rstrip('.')}; {best.method!r} can with {amount}."
