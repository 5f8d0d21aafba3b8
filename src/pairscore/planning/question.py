"""What a plan is asked: the target, the fixed sizes, the costs, and the population behind it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore.core.links import Link, get_link
from pairscore.core.moments import moments
from pairscore.core.roots import solve_falling
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.display import plural
from pairscore.errors import (
    PairscoreError,
    is_real,
    number_between,
    positive_number,
    share_meant,
    share_up_to,
    whole_number,
)
from pairscore.planning.pilot import NoiseEstimate, estimate_noise
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.population import checked_population
from pairscore.theory.predicted_error import ErrorLaw

# targets: what each must be below, and in words
TARGETS = {
    "angle": (np.pi / 2, "between 0 and pi/2 = 1.571 radians"),
    "misordered": (0.5, "between 0 and 0.5"),
    "norm_error": (np.inf, "above 0"),
}
MOST = 1e300  # any finite cost
SEED = 1  # of the simulations behind a pilot's interval


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
            "there is no target and no number of comparisons: give a target (angle=, misordered= or"
            " norm_error=), n_comparisons=, or the time of the experts (hours=)."
        )
    if target is not None and None not in (question.n_items, question.n_comparisons):
        raise PairscoreError(
            "n_items=, n_comparisons= and a target are all given, so nothing is left to find; leave"
            " one out."
        )
    return question


def checked_target(**measures: float | None) -> tuple[str, float] | None:
    """The one target that was given, by name and value; None if there is none."""
    given = {name: value for name, value in measures.items() if value is not None}
    if len(given) > 1:
        targets = " and ".join(f"{name}=" for name in given)
        both = "both" if len(given) == 2 else "all"
        raise PairscoreError(f"{targets} are {both} targets; ask for one of them.")
    for name, value in given.items():
        limit, words = TARGETS[name]
        if not is_real(value) or not 0 < value < limit:
            hint = share_meant(value, limit) if name == "misordered" else ""
            raise PairscoreError(f"{name} is {value!r}; use a number {words}.{hint}")
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
            "n_comparisons= and hours= both say how many comparisons there are; leave one out."
        )
    budget = number * positive_number(hours, "hours") * 3600
    affordable = int(budget / positive_number(seconds, "seconds_per_comparison"))
    if affordable < 1:
        raise PairscoreError(
            f"hours is {hours!r}, which is less than one comparison takes; use more hours, or fewer"
            " seconds_per_comparison."
        )
    return affordable


def checked_costs(item_cost: Any, comparison_cost: Any) -> tuple[float, float] | None:
    """What an item and a comparison cost, if that was said."""
    if item_cost is None and comparison_cost is None:
        return None
    if item_cost is None or comparison_cost is None:
        raise PairscoreError(
            "item_cost= and comparison_cost= are weighed against each other; give both."
        )
    item = number_between(item_cost, "item_cost", 0, MOST, "a number from 0")
    return item, positive_number(comparison_cost, "comparison_cost")


def error_law(
    n_features: Any,
    min_eigenvalue: Any,
    noise: Any,
    link: Any,
    population: Any,
    table: Items | None,
    explained: Any,
) -> ErrorLaw:
    """The population that was described: by numbers, by an object, or by a table of items.

    ``noise`` is against the items' whole scores, of whose variance features have ``explained``.
    """
    if population is not None:
        others = (n_features, min_eigenvalue, noise, link, table, explained)
        if any(given is not None for given in others):
            raise PairscoreError(
                "a population has its own features, noise and link; leave out n_features=,"
                " min_eigenvalue=, noise=, explained=, link=, items= and pilot=, or population=."
            )
        return ErrorLaw.of(checked_population(population))
    if noise is None:
        raise PairscoreError(
            "the noise is missing: give the share of labels that contradict the scores (noise=,"
            " 0.2 is common), comparisons of a pilot (pilot=), or population=."
        )
    noise = share_up_to(noise, "noise", 0.5, "flipped labels")
    if table is None:
        eigenvalues = _equally_spaced(n_features, min_eigenvalue)
    elif n_features is not None or min_eigenvalue is not None:
        raise PairscoreError(
            "the items determine the features; leave out n_features= and min_eigenvalue=, or"
            " items=."
        )
    else:
        eigenvalues = correlation_eigenvalues(table)
    chosen = default_link(link)
    spread, item_effect = _spreads(spread_for_noise(chosen, noise), explained)
    return ErrorLaw(eigenvalues, chosen, spread, item_effect=item_effect)


def _spreads(total: float, explained: Any) -> tuple[float, float]:
    """Standard deviations of the scores: what features explain, and the rest."""
    if explained is None or explained == 1:
        return total, 0.0
    if not is_real(explained) or not 0 < explained < 1:
        raise PairscoreError(
            f"explained is {explained!r}; use the share of the scores' variance that the features"
            f" explain, above 0 and at most 1.{share_meant(explained)}"
        )
    if np.isinf(total):
        raise PairscoreError(
            "explained= needs labels with some noise; use a noise above 0, or leave it out."
        )
    return total * float(np.sqrt(explained)), total * float(np.sqrt(1 - explained))


def _equally_spaced(n_features: Any, min_eigenvalue: Any) -> np.ndarray:
    """Eigenvalues of the paper's covariances, d of them from 1 down to the smallest."""
    if n_features is None:
        raise PairscoreError(
            "the number of features is missing; give n_features=, items= or population=."
        )
    value = 1.0 if min_eigenvalue is None else min_eigenvalue
    remedy = "a number above 0 and at most 1"
    smallest = number_between(value, "min_eigenvalue", 1e-12, 1, remedy)
    return np.linspace(1.0, smallest, whole_number(n_features, "n_features"))


def default_link(link: Any) -> Link:
    """The link that was given, or logit."""
    return get_link("logit" if link is None else link)


def correlation_eigenvalues(items: Items) -> np.ndarray:
    """Eigenvalues of the features' correlations, from the largest down.

    The zeros of constant or repeated features are left out. Eigenvalues of a sample of n items
    spread too far: the trace of the inverse, on which angles depend, is too large by about
    n / (n - d - 2). They are drawn towards their mean until it is not.
    """
    if len(items) < 2:
        raise PairscoreError(
            f"{plural(len(items), 'item')} cannot tell how features vary; give at least 2."
        )
    sample = moments(items.values)
    varies = sample.sd > 0
    if not varies.any():
        raise PairscoreError(
            "no feature of the items varies; give features that differ between items."
        )
    standard = (items.values[:, varies] - sample.mean[varies]) / sample.sd[varies]
    eigenvalues = np.linalg.eigvalsh(standard.T @ standard / len(items))[::-1]
    # with fewer items than features, zeros say nothing about the features
    if len(items) > len(eigenvalues):
        eigenvalues = eigenvalues[eigenvalues > 1e-10 * eigenvalues[0]]
    share = max(len(items) - len(eigenvalues) - 2, 1) / (len(items) - 1)
    return _less_spread(np.maximum(eigenvalues, 0.0), share)


def _less_spread(eigenvalues: np.ndarray, share: float) -> np.ndarray:
    """Eigenvalues drawn towards their mean until the sum of their inverses is ``share`` of what it
    was, or all are equal.
    """
    mean = float(eigenvalues.mean())

    def mixed(weight: float) -> np.ndarray:
        return (1 - weight) * eigenvalues + weight * mean

    if eigenvalues[-1] <= 0:
        return mixed(1.0)
    target = share * np.sum(1 / eigenvalues)
    return mixed(solve_falling(lambda weight: np.log(np.sum(1 / mixed(weight)) / target), 0.0, 1.0))


def pilot_noise(
    table: Items | None, pilot: Any, link: Any, noise: Any, explained: Any
) -> NoiseEstimate:
    """The noise that a pilot tells, from comparisons of the items of a table."""
    if explained is not None:
        raise PairscoreError(
            "the pilot's noise already includes what features do not explain; leave out"
            " explained=, or give noise= instead of pilot=."
        )
    if noise is not None:
        raise PairscoreError(
            "both noise= and pilot= are given, and the pilot tells the noise; leave one out."
        )
    if table is None:
        raise PairscoreError(
            "a pilot compares items, and their features are missing; give them with items=."
        )
    data, outcome = Comparisons.from_frames(table, pilot)
    if data.weight is not None:
        raise PairscoreError(
            "the pilot has weights, but noise is a share of comparisons; leave the weights out,"
            " or use the column 'count' for repeated comparisons."
        )
    rows = np.repeat(np.arange(len(data)), 1 if data.count is None else data.count.astype(int))
    return estimate_noise(
        table.values,
        data.left[rows],
        data.right[rows],
        outcome[rows],
        default_link(link),
        np.random.default_rng(SEED),
    )
