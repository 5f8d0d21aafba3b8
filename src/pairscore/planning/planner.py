"""How many items, how many comparisons? Answered before any are collected.

Three numbers hang together: items N, comparisons M, and the error. Give two and get the third; give
the error alone and get the cheapest pair, or the paper's M = ceil(N log N); give the comparisons
alone and get the number of items that makes the most of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pairscore.choices import METHODS
from pairscore.core.roots import smallest_whole_number
from pairscore.data.items import read_items
from pairscore.display import plural
from pairscore.errors import NoAnswerError, PairscoreError
from pairscore.planning.pilot import NoiseEstimate
from pairscore.planning.question import (
    Question,
    affordable_comparisons,
    checked_target,
    error_law,
    make_question,
    pilot_noise,
)
from pairscore.planning.study import PER_ITEM, SECONDS_PER_COMPARISON, Plan, PlannedStudy
from pairscore.theory.predicted_error import ErrorLaw, checked_method, fewest_items

MOST_ITEMS, MOST_COMPARISONS = 10**8, 10**12
ENOUGH = 1.01  # more items than these would lower an error, or a cost, by less than 1 %
# noise of 'mle' at the lower end of an interval that goes down to zero: less changes little, and
# takes long to compute
SMALLEST_NOISE = 0.01


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
    explained: float | None = None,
    experts: int | None = None,
    hours: float | None = None,
) -> Plan:
    """Say how many items and comparisons a study needs, before any are collected.

    Give two of ``n_items``, ``n_comparisons`` and a target, and get the third. With the target
    alone, get the cheapest study if ``item_cost`` and ``comparison_cost`` are given, else the
    smallest with M = ceil(N log N). With ``n_comparisons`` alone (or ``hours``), get the number of
    items that makes the most of them, and the error.

    Parameters
    ----------
    n_features, min_eigenvalue, noise, link
        The population: number of features, smallest eigenvalue of their covariance (1.0 unless
        given), share of labels that contradict the scores, and "logit" unless given.
    population : Population
        Instead of these.
    items : table or array
        Your own items instead of n_features and min_eigenvalue: their correlations then count, and
        their number is N unless ``n_items`` says otherwise.
    pilot : votes
        At least 50 comparisons of those items, in the place of ``noise``; the uncertainty of the
        noise is carried to the answer.
    angle, misordered, norm_error : float
        The target: mean angle in radians, share of pairs of new items in the wrong order, or length
        of the error of the coefficients.
    n_items, n_comparisons : int
        Fixed sizes.
    method : {"mle", "paired", "pooled", "split"}
        "mle", or "paired" where there is no noise, unless given.
    item_cost, comparison_cost : float
        In any currency; `split` pays for the items behind its covariance too. An ``item_cost`` of 0
        asks for the fewest comparisons.
    seconds_per_comparison : float
        Of an expert.
    explained : float
        Share of the variance of the items' true scores that the features explain, 1 unless given.
        ``noise`` is against these scores. `mle` is then the fit with item effects, and the errors
        on new items and on the compared ones are ``error.misordered_new`` and
        ``error.misordered_known``.
    experts, hours
        Time in place of ``n_comparisons``: hours of each expert. Without ``hours``, ``experts``
        says how many share the work.

    Examples
    --------
    >>> study = plan(n_features=90, noise=0.2, misordered=0.05)
    >>> study.n_items < 2000, study.misordered <= 0.05
    (True, True)
    """
    target = checked_target(angle=angle, misordered=misordered, norm_error=norm_error)
    table = None if items is None else read_items(items)
    estimate = None if pilot is None else pilot_noise(table, pilot, link, noise, explained)
    noise = noise if estimate is None else estimate.noise
    law = error_law(n_features, min_eigenvalue, noise, link, population, table, explained)
    n_comparisons = affordable_comparisons(n_comparisons, experts, hours, seconds_per_comparison)
    sizes_open = n_comparisons is None and item_cost is None
    if table is not None and n_items is None and (target is None or sizes_open):
        n_items = len(table)
    question = make_question(
        target, n_items, n_comparisons, item_cost, comparison_cost, seconds_per_comparison
    )
    chosen = _default_method(law) if method is None else checked_method(method)
    answer = _answer(law, question, chosen, estimate)
    notes = _notes(answer, None if table is None else len(table), method is None)
    return replace(answer, notes=tuple(notes), experts=experts, seconds=question.seconds)


def _default_method(law: ErrorLaw) -> str:
    return "paired" if np.isinf(law.labels.spread) else "mle"


def _notes(answer: Plan, n_table: int | None, method_is_default: bool) -> Iterator[str]:
    """What the answer takes for granted and the question did not say."""
    if n_table is not None and answer.n_items_total > n_table:
        yield (
            f"The table has {plural(n_table, 'item', ',')}; the study asks for"
            f" {answer.n_items_total:,}."
        )
    if answer.noise_estimate is not None and answer.noise == 0 and method_is_default:
        yield (
            "The pilot suggests that there is no noise; 'mle' has no maximum then, so the plan is"
            " for 'paired'."
        )


def _answer(law: ErrorLaw, question: Question, method: str, estimate: NoiseEstimate | None) -> Plan:
    alternatives = {other: _study_or_error(law, question, other) for other in METHODS}
    chosen = alternatives[method]
    if isinstance(chosen, PairscoreError):
        # coins; a likelihood without a maximum
        no_answer = law.labels.spread == 0 or (method == "mle" and np.isinf(law.labels.spread))
        kind = NoAnswerError if no_answer else type(chosen)
        raise kind(_with_remedy(str(chosen), question, alternatives))
    rule = _study(law, question, method, chosen.n_items, PER_ITEM * chosen.n_items // 2)
    answer = Plan(
        **vars(chosen),
        law=law,
        noise=law.noise,
        target=question.target,
        solved_for=question.solved_for,
        alternatives=alternatives,
        rule_of_ten=rule,
        noise_estimate=estimate,
    )
    return answer if estimate is None else _with_intervals(answer, question, estimate)


def _study_or_error(
    law: ErrorLaw, question: Question, method: str
) -> PlannedStudy | PairscoreError:
    try:
        return solve(law, question, method)
    except PairscoreError as error:
        return error


def _with_intervals(answer: Plan, question: Question, estimate: NoiseEstimate) -> Plan:
    """The plan with what is needed at both ends of the noise's interval."""
    floor = SMALLEST_NOISE if answer.method == "mle" else 0.0
    ends = [
        _study_or_error(answer.law.with_noise(max(noise, floor)), question, answer.method)
        for noise in (estimate.low, estimate.high)
    ]

    def interval(number: Callable[[PlannedStudy], float], none: float) -> tuple[float, float]:
        """A number of the studies at both ends; ``none`` where nothing is enough."""
        low, high = sorted(number(end) if isinstance(end, PlannedStudy) else none for end in ends)
        return low, high

    if question.solved_for == "error":
        return replace(answer, interval=interval(lambda study: study.error.angle, np.pi / 2))
    items = interval(lambda study: float(study.n_items), np.inf)
    comparisons = interval(lambda study: float(study.n_comparisons), np.inf)
    if question.solved_for != "both":
        return replace(answer, interval=items if question.n_items is None else comparisons)
    # the cheapest study is one of many that cost nearly the same, so the ends may lie on one side
    items = min(items[0], answer.n_items), max(items[1], answer.n_items)
    return replace(answer, interval=comparisons, items_interval=items)


def _with_remedy(
    sentence: str, question: Question, alternatives: dict[str, PlannedStudy | PairscoreError]
) -> str:
    """The refusal, and which method would do with how much."""
    able = [study for study in alternatives.values() if isinstance(study, PlannedStudy)]
    if not able or question.target is None:
        return sentence
    best = min(able, key=lambda study: (study.n_comparisons, study.n_items_total))
    if question.solved_for == "n_items":
        amount = plural(best.n_items, "item", ",")
    else:
        amount = plural(best.n_comparisons, "comparison", ",")
    return f"{sentence.rstrip('.')}; {best.method!r} can with {amount}."


def solve(law: ErrorLaw, question: Question, method: str) -> PlannedStudy:
    """The smallest study of ``method`` that answers the question."""
    n, m = question.n_items, question.n_comparisons
    if question.target is not None:
        search = Search(law, method, *question.target)
        if n is not None:
            m = search.comparisons(n)
        elif m is not None:
            n = search.items(m)
        elif question.costs is not None:
            n, m = search.cheapest(question.costs)
        else:
            n = search.items_with_paper_comparisons()
            m = paper_comparisons(n)
    elif n is None and m is not None:
        n = items_for(law, method, m)
    return _study(law, question, method, int(n or 0), int(m or 0))


def items_for(law: ErrorLaw, method: str, m: int) -> int:
    """The number of items that makes the most of m comparisons.

    More items always lower the error on new items, but ever less: these are the fewest up to m at
    which it is at most 1 % larger than with m items, which are two comparisons of each.
    """
    fewest = fewest_items(method, law.n_features)
    best = float(law.errors(max(m, fewest), m, method)["misordered_new"].mean())
    search = Search(law, method, "misordered_new", ENOUGH * best)
    return min(search.items(m), max(m, fewest))


def paper_comparisons(n_items: int) -> int:
    """The paper's number of comparisons for N items: ceil(N log N)."""
    return int(np.ceil(n_items * np.log(n_items)))


def _study(law: ErrorLaw, question: Question, method: str, n: int, m: int) -> PlannedStudy:
    total = _items_in_all(method) * n
    cost = None if question.costs is None else question.costs[0] * total + question.costs[1] * m
    hours = m * question.seconds / 3600
    return PlannedStudy(method, n, total, m, law.predict(n, m, method), hours, cost)


def _items_in_all(method: str) -> int:
    """Items collected for each one compared: `split` has as many again behind its covariance."""
    return 2 if method == "split" else 1


@dataclass(frozen=True)
class Search:
    """Sizes at which the expected ``measure`` of error of a method comes down to a ``target``.

    Errors fall in N and M. Every search that finds nothing raises NoAnswerError with a sentence.
    """

    law: ErrorLaw
    method: str
    measure: str
    target: float

    def error(self, n: int, m: int) -> float:
        """The expected error of a study of n items and m comparisons."""
        return float(self.law.errors(n, m, self.method)[self.measure].mean())

    def excess(self, n: int, m: int) -> float:
        """log(error / target), which is nearly linear in log n and log m."""
        return float(np.log(np.clip(self.error(n, m) / self.target, 1e-12, 1e12)))

    def comparisons(self, n: int, guess: int | None = None) -> int:
        """The fewest comparisons of n items."""
        m = smallest_whole_number(lambda m: self.excess(n, m), 1, MOST_COMPARISONS, guess)
        if m is None:
            raise self._refusal(plural(n, "item"), "comparisons", self.error(n, MOST_COMPARISONS))
        return m

    def items(self, m: int) -> int:
        """The fewest items that are compared m times."""
        n = self._fewest_items(lambda n: self.excess(n, m))
        if n is None:
            raise self._refusal(plural(m, "comparison"), "items", self.error(MOST_ITEMS, m))
        return n

    def items_with_paper_comparisons(self) -> int:
        """The fewest items that are compared ceil(N log N) times."""
        n = self._fewest_items(lambda n: self.excess(n, paper_comparisons(n)))
        if n is None:
            raise NoAnswerError(
                f"{self.method!r} cannot reach {self.measure} {self.target:g} with {MOST_ITEMS:,}"
                " items and M = N log N; ask for a larger error."
            )
        return n

    def cheapest(self, costs: tuple[float, float]) -> tuple[int, int]:
        """Items and comparisons at the lowest cost."""
        least = self._fewest_items(lambda n: self.excess(n, MOST_COMPARISONS))
        if least is None:
            raise NoAnswerError(
                f"no number of items and comparisons up to {MOST_ITEMS:,} and {MOST_COMPARISONS:,}"
                f" reaches {self.target:g}; ask for a larger error."
            )
        from scipy.optimize import minimize_scalar  # slow to import, and only wanted here

        item_cost, m = costs[0] * _items_in_all(self.method), None
        if item_cost == 0:
            return self.fewest_comparisons()

        def study(log_n: float) -> tuple[float, int, int]:
            nonlocal m
            n = max(round(float(np.exp(log_n))), least)
            m = self.comparisons(n, guess=m)  # close to that of the study before
            return item_cost * n + costs[1] * m, n, m

        grid = np.linspace(np.log(least), np.log(MOST_ITEMS), 8)
        best = int(np.argmin([study(point)[0] for point in grid]))
        around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        bottom = minimize_scalar(
            lambda point: np.log(study(point)[0]),
            bounds=around,
            method="bounded",
            options={"xatol": 5e-3},
        ).x
        # whole numbers make the cost jagged
        near = [study(bottom + step) for step in (-0.05, -0.025, 0.0, 0.025, 0.05)]
        return min(*near, study(grid[best]))[1:]

    def fewest_comparisons(self) -> tuple[int, int]:
        """Items and comparisons where items cost nothing.

        As few comparisons as with a new pair of items for each, within 1 %, and the fewest items
        for that.
        """
        m = self._fewest_items(lambda m: self.excess(m, m))
        n = self.items(int(np.ceil(ENOUGH * (m or MOST_ITEMS))))
        return n, self.comparisons(n)

    def _fewest_items(self, excess: Callable[[int], float]) -> int | None:
        fewest = fewest_items(self.method, self.law.n_features)
        return smallest_whole_number(excess, fewest, MOST_ITEMS)

    def _refusal(self, fixed: str, free: str, floor: float) -> NoAnswerError:
        return NoAnswerError(
            f"with {fixed} {self.method!r} cannot reach {self.measure} {self.target:g} at any"
            f" number of {free}: it stays at {floor:.3g}."
        )
