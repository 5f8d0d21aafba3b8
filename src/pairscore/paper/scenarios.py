"""Rows of figures 1, 9 and 10: the estimator in a picture, its sources of error, other data.

Figure 1 shows how the estimator works, figure 9 where its error comes from, figure 10 what happens
where real data leave the assumptions.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairscore import __version__
from pairscore.choices import METHODS
from pairscore.core.links import get_link
from pairscore.data.comparisons import Comparisons
from pairscore.data.items import read_items
from pairscore.metrics import angle
from pairscore.model.regression import RankRegression
from pairscore.paper.experiments import seed_of
from pairscore.planning.study_size import paper_comparisons
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
Features = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


# -- figure 9 --------------------------------------------------------------------------------------


def source_rows(n_items: int, n_comparisons: int, repeats: int) -> list[dict[str, Any]]:
    """Mean squared length of every part of the error of `split`, for one size.

    docs/explanation/theory.md derives the parts.
    """
    population = Population(20, min_eigenvalue=0.2, noise=0.2, rng=seed_of("sources"))
    law = ("beta", "mean", "covariance", "link", "slope", "c1")
    truth = {name: getattr(population, name) for name in law}

    def draw(n: int, m: int, rng: np.random.Generator) -> Decomposition:
        items, votes = population.draw(n, m, rng)
        return decompose(items[:n], votes.left, votes.right, votes.outcome, items[n:], **truth)

    rng = np.random.default_rng(seed_of(f"sources/{n_items}/{n_comparisons}/{repeats}"))
    rows = decomposition_rows(draw, [(n_items, n_comparisons)], repeats, rng)
    return [{"figure": "9", **row, "version": __version__} for row in rows]


# -- figure 10 -------------------------------------------------------------------------------------


def _normal(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=size)


def _heavy_tailed(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return rng.standard_t(3, size=size) / np.sqrt(3)


def _skewed(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return (rng.lognormal(size=size) - np.exp(0.5)) / np.sqrt((math.e - 1) * math.e)


def _binary(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    return ((rng.random(size) < 0.2) - 0.2) / 0.4


@dataclass(frozen=True)
class Scenario:
    """A way in which real data leave the assumptions.

    ``features`` draws them with mean 0 and variance 1; ``item_effect`` is the standard deviation
    of what features leave out of an item's score, in standard deviations of the score; ``matched``
    pairs have neighbours in the first feature.
    """

    features: Features = _normal
    item_effect: float = 0.0
    matched: bool = False


SCENARIOS = {
    "as assumed": Scenario(),
    "heavy tails (Student, 3 degrees)": Scenario(_heavy_tailed),
    "skewed features (lognormal)": Scenario(_skewed),
    "binary features (one in five)": Scenario(_binary),
    "items with effects beyond their features": Scenario(item_effect=1.0),
    "pairs matched on one feature": Scenario(matched=True),
}


def scenario_rows(name: str, generation: int) -> list[dict[str, Any]]:
    """The angle of every method in one study of the scenario ``name``."""
    seed = seed_of(f"scenario/{name}/{generation}")
    data, beta = _scenario_study(SCENARIOS[name], np.random.default_rng(seed))
    study = {
        "figure": "10",
        "scenario": name,
        "n_items": N_ITEMS,
        "n_comparisons": len(data.outcome),
        "n_features": N_FEATURES,
        "noise": NOISE,
        "generation": generation,
        "seed": seed,
        "version": __version__,
    }
    return [
        {**study, "method": method, "angle": angle(_coefficients(method, data), beta)}
        for method in METHODS
    ]


def _scenario_study(scenario: Scenario, rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
    """Items, half of them for the covariance, their comparisons, and the true direction."""
    m, link = paper_comparisons(N_ITEMS), get_link("logit")
    X = scenario.features(rng, (2 * N_ITEMS, N_FEATURES))
    beta = rng.normal(size=N_FEATURES)
    compared = X[:N_ITEMS]
    left, right = _pairs(compared, scenario.matched, m, rng)
    effect = scenario.item_effect * rng.normal(size=N_ITEMS)
    score = spread_for_noise(link, NOISE) * (compared @ beta / np.linalg.norm(beta) + effect)
    won = rng.random(m) < link.cdf(score[left] - score[right])
    outcome = np.where(won, 1, -1).astype(np.int8)
    second_half = np.arange(N_ITEMS, 2 * N_ITEMS)
    return Comparisons(read_items(X), left, right, outcome, covariance_items=second_half), beta


def _pairs(
    X: np.ndarray, matched: bool, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs of different items; matched ones are near in the order of the first feature."""
    left = rng.integers(0, len(X), m)
    if not matched:
        return left, (left + rng.integers(1, len(X), m)) % len(X)
    order = np.argsort(X[:, 0])
    rank = np.empty(len(X), dtype=int)
    rank[order] = np.arange(len(X))
    step = rng.integers(1, len(X) // 20, m) * rng.choice([-1, 1], m)
    return left, order[(rank[left] + step) % len(X)]


def _coefficients(method: str, data: Comparisons) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # broken assumptions are the experiment
        return np.asarray(RankRegression(method, inference=None).fit(data).coef_)


# -- figure 1 --------------------------------------------------------------------------------------


def illustration_rows(n_points: int = 150) -> list[dict[str, Any]]:
    """The four steps of the estimator in two dimensions.

    Differences (a), whitened (b), mirrored by the labels (c), and their average (d).
    """
    rng = np.random.default_rng(seed_of("illustration"))
    covariance, beta = np.array([[1.0, 0.75], [0.75, 0.8]]), np.array([-0.5, 1.2])
    link = get_link("logit")
    difference = rng.multivariate_normal(np.zeros(2), 2 * covariance, n_points)
    whitened = difference @ np.linalg.inv(covariance)
    slope = spread_for_noise(link, 0.1) / np.sqrt(beta @ covariance @ beta)
    label = np.where(rng.random(n_points) < link.cdf(slope * difference @ beta), 1, -1)
    mirrored = label[:, None] * whitened
    rows: list[dict[str, Any]] = []
    for panel, points in zip("abcd", (difference, whitened, mirrored, mirrored), strict=True):
        rows += [
            {"panel": panel, "kind": "point", "x": x, "y": y, "label": int(sign)}
            for (x, y), sign in zip(points.tolist(), label, strict=True)
        ]
        rows.append(_arrow(panel, beta, 0.9 * np.abs(points).max(), r"$\beta$"))
    length = 0.7 * np.abs(mirrored).max()
    return [*rows, _arrow("d", mirrored.mean(axis=0), length, r"$\hat{\beta}$")]


def _arrow(panel: str, direction: np.ndarray, length: float, label: str) -> dict[str, Any]:
    x, y = (length * direction / np.linalg.norm(direction)).tolist()
    return {"panel": panel, "kind": "arrow", "x": x, "y": y, "label": label}
