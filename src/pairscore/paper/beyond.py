"""What the paper does not show: where the error comes from, what happens off the assumptions.

And figure 1's picture of the estimator.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore import __version__
from pairscore.core.links import get_link
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import read_items
from pairscore.metrics import angle
from pairscore.model.regression import RankRegression
from pairscore.paper.experiments import METHODS, paper_comparisons, seed_of
from pairscore.theory.decomposition import Decomposition, decompose, decomposition_rows
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.population import Population

SOURCES_GRID = [(n, paper_comparisons(n)) for n in (100, 200, 400, 800, 1600, 3200)] + [
    (500, m) for m in (500, 2000, 8000, 32_000, 128_000)
]
SOURCE_COLUMNS = (
    "figure",
    "n_items",
    "n_comparisons",
    "term",
    "mean_square",
    "std_error",
    "repeats",
    "version",
)
SCENARIO_COLUMNS = (
    "figure",
    "scenario",
    "n_items",
    "n_comparisons",
    "n_features",
    "noise",
    "generation",
    "seed",
    "method",
    "angle",
    "version",
)
N_PARTS = 7  # six parts of the error, and the total
N_ITEMS, N_FEATURES, NOISE = 1000, 20, 0.2


# -- figure 9 --------------------------------------------------------------------------------------


def source_rows(n_items: int, n_comparisons: int, repeats: int) -> list[dict[str, Any]]:
    """Mean squared length of every part of the error of `split` (docs/theory.md), for one size."""
    population = Population(20, min_eigenvalue=0.2, noise=0.2, rng=seed_of("sources"))

    def draw(n: int, m: int, rng: np.random.Generator) -> Decomposition:
        items, votes = population.draw(n, m, rng)
        truth = {
            "beta": population.beta,
            "mean": population.mean,
            "covariance": population.covariance,
        }
        return decompose(
            items[:n],
            votes.left,
            votes.right,
            votes.outcome,
            items[n:],
            **truth,
            link=population.link,
            slope=population.slope,
            c1=population.c1,
        )

    rng = np.random.default_rng(seed_of(f"sources/{n_items}/{n_comparisons}/{repeats}"))
    rows = decomposition_rows(draw, [(n_items, n_comparisons)], repeats, rng)
    return [{"figure": "9", **row, "version": __version__} for row in rows]


# -- figure 10 -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """A way in which real data leave the assumptions.

    How a feature is distributed, items' own effects, how pairs are made.
    """

    name: str
    feature: Callable[[np.random.Generator, tuple[int, int]], np.ndarray] = lambda rng, size: (
        rng.normal(size=size)
    )
    item_effect: float = 0.0  # in standard deviations of the score
    matched: bool = False


def _skewed(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return (rng.lognormal(size=size) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("as assumed"),
        Scenario(
            "heavy tails (Student, 3 degrees)",
            lambda rng, size: rng.standard_t(3, size=size) / np.sqrt(3),
        ),
        Scenario("skewed features (lognormal)", _skewed),
        Scenario(
            "binary features (one in five)",
            lambda rng, size: ((rng.random(size) < 0.2) - 0.2) / 0.4,
        ),
        Scenario("items with effects of their own", item_effect=1.0),
        Scenario("pairs matched on one feature", matched=True),
    )
}


def scenario_rows(name: str, generation: int) -> list[dict[str, Any]]:
    """The angle of every method in one study of a scenario."""
    scenario, m = SCENARIOS[name], paper_comparisons(N_ITEMS)
    seed = seed_of(f"scenario/{name}/{generation}")
    rng = np.random.default_rng(seed)
    X = scenario.feature(rng, (2 * N_ITEMS, N_FEATURES))
    beta = rng.normal(size=N_FEATURES)
    left, right = _pairs(X[:N_ITEMS], scenario.matched, m, rng)
    spread = spread_for_noise(get_link("logit"), NOISE)
    score = spread * (
        X[:N_ITEMS] @ beta / np.linalg.norm(beta) + scenario.item_effect * rng.normal(size=N_ITEMS)
    )
    won = rng.random(m) < get_link("logit").cdf(score[left] - score[right])
    outcome = np.where(won, 1, -1).astype(np.int8)
    data = Comparisons(
        read_items(X), left, right, outcome, covariance_items=np.arange(N_ITEMS, 2 * N_ITEMS)
    )
    shared = {
        "figure": "10",
        "scenario": name,
        "n_items": N_ITEMS,
        "n_comparisons": m,
        "n_features": N_FEATURES,
        "noise": NOISE,
    }
    rows = []
    for method in METHODS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RankRegression(method, inference=None).fit(data)
        rows.append(
            {
                **shared,
                "generation": generation,
                "seed": seed,
                "method": method,
                "angle": angle(model.coef_, beta),
                "version": __version__,
            }
        )
    return rows


def _pairs(
    X: np.ndarray, matched: bool, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs of different items.

    Matched ones are neighbours in the order of the first feature.
    """
    left = rng.integers(0, len(X), m)
    if not matched:
        return left, (left + rng.integers(1, len(X), m)) % len(X)
    order = np.argsort(X[:, 0])
    place = np.empty(len(X), dtype=int)
    place[order] = np.arange(len(X))
    step = rng.integers(1, len(X) // 20, m) * rng.choice([-1, 1], m)
    return left, order[(place[left] + step) % len(X)]


# -- figure 1 --------------------------------------------------------------------------------------


def illustration_rows(n_points: int = 150) -> list[dict[str, Any]]:
    """The four steps of the estimator in two dimensions.

    Differences, whitened, mirrored by the labels, and their average.
    """
    rng = np.random.default_rng(seed_of("illustration"))
    covariance, beta = np.array([[1.0, 0.75], [0.75, 0.8]]), np.array([-0.5, 1.2])
    difference = rng.multivariate_normal(np.zeros(2), 2 * covariance, n_points)
    inverse = np.linalg.inv(covariance)
    whitened = difference @ inverse
    slope = spread_for_noise(get_link("logit"), 0.1) / np.sqrt(beta @ covariance @ beta)
    label = np.where(rng.random(n_points) < get_link("logit").cdf(slope * difference @ beta), 1, -1)
    mirrored = label[:, None] * whitened
    estimate = mirrored.mean(axis=0)
    direction = beta / np.linalg.norm(beta)
    rows: list[dict[str, Any]] = []
    for panel, points in zip("abcd", (difference, whitened, mirrored, mirrored), strict=True):
        rows += [
            {"panel": panel, "kind": "point", "x": x, "y": y, "label": int(sign)}
            for (x, y), sign in zip(points.tolist(), label, strict=True)
        ]
        reach = 0.9 * float(np.abs(points).max())
        rows.append(
            {
                "panel": panel,
                "kind": "arrow",
                "x": reach * direction[0],
                "y": reach * direction[1],
                "label": r"$\beta$",
            }
        )
    reach = float(np.linalg.norm(estimate))
    scale = 0.7 * float(np.abs(mirrored).max()) / reach
    rows.append(
        {
            "panel": "d",
            "kind": "arrow",
            "x": scale * estimate[0],
            "y": scale * estimate[1],
            "label": r"$\hat{\beta}$",
        }
    )
    return rows
