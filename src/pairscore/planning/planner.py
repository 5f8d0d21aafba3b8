"""How many items, how many comparisons? Answered before any are collected.

Three numbers hang together: items N, comparisons M, and the error. Give two and get the third; give
the error alone and get the cheapest pair, or the paper's M = ceil(N log N); give the comparisons
alone and get the number of items that makes the most of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pairscore.choices import METHODS
from pairscore.data.items import read_items
from pairscore.display import html_text, plural
from pairscore.errors import (
    NoAnswerError,
    PairscoreError,
    is_real,
    number_between,
    positive_number,
    share_meant,
    whole_number,
)
from pairscore.messages import Message, Setting, join
from pairscore.planning.assumed_population import error_law
from pairscore.planning.pilot import NoiseEstimate, pilot_noise
from pairscore.planning.study_size import (
    Search,
    items_for,
    items_in_all,
    paper_comparisons,
)
from pairscore.theory.predicted_error import ErrorLaw, ErrorPrediction, checked_method

# noise of 'mle' at the lower end of an interval that goes down to zero: less changes little, and
# takes long to compute
SMALLEST_NOISE = 0.01
# targets: what each must be below, and in words
TARGETS = {
    "angle": (np.pi / 2, "between 0 and pi/2 = 1.571 radians"),
    "misordered": (0.5, "between 0 and 0.5"),
    "norm_error": (np.inf, "above 0"),
}
MOST = 1e300  # any finite cost
SECONDS_PER_COMPARISON = 23.0
PER_ITEM = 10  # the rule of thumb: every item compared ten times
HTML_COLUMNS = {
    "items": ("n_items", ",d"),
    "comparisons": ("n_comparisons", ",d"),
    "hours": ("hours", ",.1f"),
    "misordered": ("misordered", ".2%"),
    "angle": ("angle", ".3f"),
}


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

    @property
    def angle(self) -> float:
        """Expected angle to the truth in the units of the features, in radians."""
        return self.error.angle

    @property
    def misordered(self) -> float:
        """Expected share of pairs of new items in another order than by the best score that the
        features allow.
        """
        return self.error.misordered

    @property
    def norm_error(self) -> float:
        """Expected length of the error of the coefficients."""
        return self.error.norm_error


@dataclass(frozen=True, kw_only=True)
class Plan(PlannedStudy):
    """The study to make, and what it was weighed against.

    Attributes
    ----------
    method, n_items, n_items_total, n_comparisons, error, hours, cost
        The study: `split` has as many items again behind its covariance, so ``n_items_total`` is
        twice the number of compared items. ``error`` has ranges too, ``hours`` are those of
        experts, ``cost`` is None unless costs were given.
    law : ErrorLaw
        The population that errors were predicted for.
    noise : float
        Share of flipped labels.
    target : (str, float) or None
        The measure of error asked for, and its value.
    solved_for : {"n_comparisons", "n_items", "both", "error"}
        What was found; "n_items" without a target is the number that makes the most of the
        comparisons.
    explained : float
        Share of the scores' variance that the features explain.
    experts : int or None
        Who share the hours, if that was said; ``seconds`` is the time of one comparison.
    alternatives : dict
        Every method's study, or the error that says why it has none.
    rule_of_ten : PlannedStudy
        The same study with every item compared ten times.
    noise_estimate : NoiseEstimate or None
        What the pilot says of the noise.
    interval : pair of float or None
        Where the number found lies given the uncertainty of the pilot's noise (90 %); its upper end
        is inf if the pilot does not exclude that labels are coins. Where items and comparisons were
        both found it is that of the comparisons, and ``items_interval`` that of the items.
    notes : tuple of str
        Sentences on what the answer takes for granted.
    """

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
    experts: int | None = None
    seconds: float = SECONDS_PER_COMPARISON

    @property
    def explained(self) -> float:
        """Share of the scores' variance that the features explain."""
        return self.law.labels.explained

    @property
    def study(self) -> PlannedStudy:
        """The study without the rest of the plan."""
        names = [field.name for field in fields(PlannedStudy)]
        return PlannedStudy(**{name: getattr(self, name) for name in names})

    def plot(self, *, ax: Any = None) -> Any:
        """Expected error against comparisons, on a matplotlib Axes: ``pairscore.plots.plan``."""
        import pairscore

        return pairscore.plots.plan(self, ax=ax)

    def _repr_html_(self) -> str:
        studies = self.alternatives | {f"{PER_ITEM} per item": self.rule_of_ten}
        found = {name: one for name, one in studies.items() if isinstance(one, PlannedStudy)}
        columns: dict[str, list[Any]] = {"method": list(found)}
        columns |= {
            head: [format(getattr(study, name), style) for study in found.values()]
            for head, (name, style) in HTML_COLUMNS.items()
        }
        sizes = (
            f"{plural(self.n_items, 'item', ',')}, {plural(self.n_comparisons, 'comparison', ',')}"
        )
        facts = [("method", self.method), ("noise", f"{self.noise:.3g}")]
        facts += [] if self.target is None else [("target", "{} {:.4g}".format(*self.target))]
        refusals = [str(one) for one in studies.values() if isinstance(one, PairscoreError)]
        return html_text(f"Plan: {sizes}", facts, columns, [*refusals, *self.notes])


@dataclass(frozen=True)
class Question:
    """What is fixed, what is wanted, and what things cost.

    ``target`` is a measure of error and its value, ``costs`` those of an item and a comparison (in
    any currency), ``seconds`` those of an expert per comparison. None is what was not said. With
    comparisons alone, the number of items is found that makes the most of them.
    """

    target: tuple[str, float] | None
    n_items: int | None
    n_comparisons: int | None
    costs: tuple[float, float] | None
    seconds: float

    @property
    def solved_for(self) -> str:
        """What has to be found: "error", "n_comparisons", "n_items" or "both" sizes."""
        if self.target is None:
            return "n_items" if self.n_items is None else "error"
        if self.n_items is not None:
            return "n_comparisons"
        return "both" if self.n_comparisons is None else "n_items"


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
        raise kind(_with_remedy(chosen.message, question, alternatives))
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
    refusal: Message,
    question: Question,
    alternatives: dict[str, PlannedStudy | PairscoreError],
) -> Message:
    """The refusal, and which method would do with how much."""
    able = [study for study in alternatives.values() if isinstance(study, PlannedStudy)]
    if not able or question.target is None:
        return refusal
    best = min(able, key=lambda study: (study.n_comparisons, study.n_items_total))
    if question.solved_for == "n_items":
        amount = plural(best.n_items, "item", ",")
    else:
        amount = plural(best.n_comparisons, "comparison", ",")
    other = "use " + Setting("method", best.method) + f", which can with {amount}"
    return Message(refusal.problem, (other,))


# -- the question ----------------------------------------------------------------------------------


def make_question(
    target: tuple[str, float] | None,
    n_items: Any,
    n_comparisons: Any,
    item_cost: Any,
    comparison_cost: Any,
    seconds: Any,
) -> Question:
    """The question that the arguments of ``plan`` ask, checked: two of three numbers are given."""
    question = Question(
        target,
        None if n_items is None else whole_number(n_items, "n_items"),
        None if n_comparisons is None else whole_number(n_comparisons, "n_comparisons"),
        checked_costs(item_cost, comparison_cost),
        positive_number(seconds, "seconds_per_comparison"),
    )
    if target is None and question.n_comparisons is None:
        raise PairscoreError(
            "there is no target and no number of comparisons",
            [
                "give a target (such as " + Setting("misordered") + ")",
                "give " + Setting("n_comparisons"),
                "give the time of the experts (" + Setting("hours") + ")",
            ],
        )
    if target is not None and None not in (question.n_items, question.n_comparisons):
        raise PairscoreError(
            Setting("n_items")
            + ", "
            + Setting("n_comparisons")
            + " and a target are all given, so nothing is left to find",
            "leave one out",
        )
    return question


def checked_target(**measures: float | None) -> tuple[str, float] | None:
    """The one target that was given, by name and value; None if there is none."""
    given = {name: value for name, value in measures.items() if value is not None}
    if len(given) > 1:
        targets = join(" and ", map(Setting, given))
        both = "both" if len(given) == 2 else "all"
        raise PairscoreError(targets + f" are {both} targets", "ask for one of them")
    for name, value in given.items():
        limit, words = TARGETS[name]
        if not is_real(value) or not 0 < value < limit:
            hint = share_meant(value, limit) if name == "misordered" else ""
            raise PairscoreError(Setting(name) + f" is {value!r}", f"use a number {words}.{hint}")
        return name, float(value)
    return None


def affordable_comparisons(
    n_comparisons: int | None, experts: Any, hours: Any, seconds: Any
) -> int | None:
    """The number of comparisons that was given, or that experts have time for in so many hours
    each.
    """
    number = 1 if experts is None else whole_number(experts, "experts")
    if hours is None:
        return n_comparisons
    if n_comparisons is not None:
        raise PairscoreError(
            Setting("n_comparisons")
            + " and "
            + Setting("hours")
            + " both say how many comparisons there are",
            "leave one out",
        )
    budget = number * positive_number(hours, "hours") * 3600
    affordable = int(budget / positive_number(seconds, "seconds_per_comparison"))
    if affordable < 1:
        raise PairscoreError(
            Setting("hours") + f" is {hours!r}, which is less than one comparison takes",
            ["use more hours", "use fewer " + Setting("seconds_per_comparison")],
        )
    return affordable


def checked_costs(item_cost: Any, comparison_cost: Any) -> tuple[float, float] | None:
    """What an item and a comparison cost, if that was said."""
    if item_cost is None and comparison_cost is None:
        return None
    if item_cost is None or comparison_cost is None:
        raise PairscoreError(
            Setting("item_cost")
            + " and "
            + Setting("comparison_cost")
            + " are weighed against each other",
            "give both",
        )
    item = number_between(item_cost, "item_cost", 0, MOST, "a number from 0")
    return item, positive_number(comparison_cost, "comparison_cost")


# -- the study that answers it ---------------------------------------------------------------------


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


def _study(law: ErrorLaw, question: Question, method: str, n: int, m: int) -> PlannedStudy:
    total = items_in_all(method) * n
    cost = None if question.costs is None else question.costs[0] * total + question.costs[1] * m
    hours = m * question.seconds / 3600
    return PlannedStudy(method, n, total, m, law.predict(n, m, method), hours, cost)
