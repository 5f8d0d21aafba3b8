"""The population that a plan assumes: its features, its noise, what features explain."""

from typing import Any

import numpy as np

from pairscore.core.links import Link, get_link
from pairscore.core.moments import moments
from pairscore.core.roots import solve_falling
from pairscore.data.items import Items
from pairscore.display import plural
from pairscore.errors import (
    CallError,
    PairscoreError,
    is_real,
    number_between,
    share_meant,
    share_up_to,
    whole_number,
)
from pairscore.messages import Setting, either
from pairscore.theory.integrals import CONTRADICTIONS, spread_for_noise
from pairscore.theory.population import checked_population
from pairscore.theory.predicted_error import ErrorLaw


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
        described = {
            "n_features": n_features,
            "min_eigenvalue": min_eigenvalue,
            "noise": noise,
            "link": link,
            "items": table,
            "explained": explained,
        }
        given = [Setting(name) for name, value in described.items() if value is not None]
        if given:
            raise CallError(
                "a population has its own features, noise and link",
                ["leave out " + either(given, " and "), "leave out " + Setting("population")],
            )
        return ErrorLaw.of(checked_population(population))
    if noise is None:
        raise PairscoreError(
            "the noise is missing",
            [
                f"give the share of {CONTRADICTIONS} (" + Setting("noise") + ", 0.2 is common)",
                "give comparisons of a pilot (" + Setting("pilot") + ")",
                "give " + Setting("population"),
            ],
        )
    noise = share_up_to(noise, "noise", 0.5, CONTRADICTIONS)
    if table is None:
        eigenvalues = _equally_spaced(n_features, min_eigenvalue)
    elif n_features is not None or min_eigenvalue is not None:
        too_many = "min_eigenvalue" if n_features is None else "n_features"
        raise PairscoreError(
            "the items determine the features",
            ["leave out " + Setting(too_many), "leave out " + Setting("items")],
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
            Setting("explained") + f" is {explained!r}",
            "use the share of the scores' variance that the features explain, above 0 and at most"
            f" 1.{share_meant(explained)}",
        )
    if np.isinf(total):
        raise PairscoreError(
            Setting("explained") + " needs comparisons with some noise",
            ["use a noise above 0", "leave it out"],
        )
    return total * float(np.sqrt(explained)), total * float(np.sqrt(1 - explained))


def _equally_spaced(n_features: Any, min_eigenvalue: Any) -> np.ndarray:
    """Eigenvalues of the paper's covariances, d of them from 1 down to the smallest."""
    if n_features is None:
        raise PairscoreError(
            "the number of features is missing",
            [
                "give " + Setting("n_features"),
                "give " + Setting("items"),
                "give " + Setting("population"),
            ],
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
