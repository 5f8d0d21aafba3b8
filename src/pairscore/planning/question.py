"""What a plan is asked: the target, what is fixed, what things cost, and the population behind it
all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from pairscore.core.links import Link, get_link
from pairscore.core.sums import moments
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import Items
from pairscore.errors import (
    PairscoreError,
    is_real,
    number_between,
    plural,
    positive_number,
    whole_number,
)
from pairscore.planning.pilot import NoiseEstimate, estimate_noise
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.population import checked_population
from pairscore.theory.predict import ErrorLaw

TARGETS = {"angle": np.pi / 2, "misordered": 0.5, "norm_error": np.inf}
SEED = 1  # of the simulations behind a pilot's interval


@dataclass(frozen=True)
class Question:
    """What is fixed, what is wanted, and what things cost."""

    target: tuple[str, float] | None
    n_items: int | None
    n_comparisons: int | None
    costs: tuple[float, float] | None
    seconds: float

    @property
    def solved_for(self) -> str:
        if self.target is None:
            return "error"
        return {(True, False): "n_comparisons", (False, True): "n_items"}.get(
            (self.n_items is not None, self.n_comparisons is not None), "both"
        )


def target_of(**given: float | None) -> tuple[str, float] | None:
    """The one target that was given, checked; None if there is none."""
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) > 1:
        raise PairscoreError(f"{' and '.join(asked)} are both targets; ask for one of them.")
    for name, value in asked.items():
        if not is_real(value) or not 0 < value < TARGETS[name]:
            limit = {
                "angle": "between 0 and pi/2 = 1.571 radians",
                "misordered": "between 0 and 0.5",
                "norm_error": "above 0",
            }[name]
            raise PairscoreError(f"{name} is {value!r}; use a number {limit}.")
        return name, float(value)
    return None


def law_of(
    n_features: Any,
    min_eigenvalue: Any,
    noise: Any,
    link: Any,
    population: Any,
    table: Items | None,
) -> ErrorLaw:
    """The population that was described: by numbers, by an object, or by a table of items."""
    if population is not None:
        if any(given is not None for given in (n_features, min_eigenvalue, noise, link, table)):
            raise PairscoreError(
                "a population has its own features, noise and link; leave out n_features,"
                " min_eigenvalue, noise, link, items and pilot, or the population."
            )
        return ErrorLaw.of(checked_population(population))
    if noise is None:
        raise PairscoreError(
            "the noise is missing: give the share of labels that go against the scores (0.2 is"
            " common), or a pilot, or a population."
        )
    noise = number_between(noise, "noise", 0, 0.5, "a share of flipped labels from 0 to 0.5")
    if table is not None:
        if n_features is not None or min_eigenvalue is not None:
            raise PairscoreError(
                "items have their own features; leave out n_features and min_eigenvalue, or the"
                " items."
            )
        eigenvalues = correlation_eigenvalues(table)
    else:
        if n_features is None:
            raise PairscoreError(
                "the number of features is missing; give n_features, items or a population."
            )
        smallest = number_between(
            1.0 if min_eigenvalue is None else min_eigenvalue,
            "min_eigenvalue",
            1e-12,
            1,
            "a number above 0 and at most 1",
        )
        eigenvalues = np.linspace(1.0, smallest, whole_number(n_features, "n_features"))
    chosen = link_of(link)
    return ErrorLaw(eigenvalues, chosen, spread_for_noise(chosen, noise))


def link_of(link: Any) -> Link:
    """The link that was given, or logit."""
    return get_link("logit" if link is None else link)


def correlation_eigenvalues(items: Items) -> np.ndarray:
    """Eigenvalues of the features' correlations, without the zeros of constant or repeated
    features.

    Those of a sample of n items spread too far: the trace of the inverse, on which angles depend,
    is too large by about n / (n - d - 2). They are drawn towards their mean until it is not.
    """
    if len(items) < 2:
        raise PairscoreError(
            f"{plural(len(items), 'item')} cannot tell how features vary; give at least 2."
        )
    found = moments(items.values)
    kept = found.sd > 0
    if not kept.any():
        raise PairscoreError(
            "no feature of the items varies; give features that differ between items."
        )
    standard = (items.values[:, kept] - found.mean[kept]) / found.sd[kept]
    eigenvalues = np.linalg.eigvalsh(standard.T @ standard / len(items))[::-1]
    # with fewer items than features, zeros say nothing about the features
    if len(items) > len(eigenvalues):
        eigenvalues = eigenvalues[eigenvalues > 1e-10 * eigenvalues[0]]
    return _less_spread(
        np.maximum(eigenvalues, 0.0), max(len(items) - len(eigenvalues) - 2, 1) / (len(items) - 1)
    )


def _less_spread(eigenvalues: np.ndarray, share: float) -> np.ndarray:
    """Eigenvalues drawn towards their mean until the sum of their inverses is ``share`` of what it
    was, or all are equal.
    """
    mean = float(eigenvalues.mean())

    def drawn(weight: float) -> np.ndarray:
        return (1 - weight) * eigenvalues + weight * mean

    if eigenvalues[-1] <= 0 or np.sum(1 / drawn(1.0)) >= share * np.sum(1 / eigenvalues):
        return drawn(1.0)
    return drawn(
        float(
            brentq(
                lambda weight: np.log(
                    np.sum(1 / drawn(weight)) / (share * np.sum(1 / eigenvalues))
                ),
                0.0,
                1.0,
            )
        )
    )


def noise_of(table: Items | None, pilot: Any, link: Any, noise: Any) -> NoiseEstimate:
    """The noise that a pilot tells."""
    if noise is not None:
        raise PairscoreError(
            "both noise and a pilot are given, and the pilot tells the noise; leave one out."
        )
    if table is None:
        raise PairscoreError(
            "a pilot names items, and there are none; give the items with their features."
        )
    data, outcome = Comparisons.from_frames(table, pilot)
    if data.weight is not None:
        raise PairscoreError(
            "the pilot has weights, and noise is counted in comparisons; leave them out, or use the"
            " column 'count' for repeated ones."
        )
    rows = np.repeat(np.arange(len(data)), 1 if data.count is None else data.count.astype(int))
    return estimate_noise(
        table.values,
        data.left[rows],
        data.right[rows],
        outcome[rows],
        link_of(link),
        np.random.default_rng(SEED),
    )


def costs_of(item_cost: Any, comparison_cost: Any) -> tuple[float, float] | None:
    """What an item and a comparison cost, if that was said."""
    if item_cost is None and comparison_cost is None:
        return None
    if item_cost is None or comparison_cost is None:
        raise PairscoreError(
            "item_cost and comparison_cost are weighed against each other; give both."
        )
    return positive_number(item_cost, "item_cost"), positive_number(
        comparison_cost, "comparison_cost"
    )
