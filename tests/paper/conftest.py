"""Rows whose truth is known, and a simulation written from section 7 of the paper alone."""

from functools import lru_cache

import numpy as np
from scipy.special import expit

from pairscore.choices import METHODS
from pairscore.paper.experiments import figure_cells, needs

GENERATIONS = 6


# -- rows whose truth is known ---------------------------------------------------------------------


def error_rows(figure, error, *, generations=GENERATIONS, spread=0.02, seed=0):
    """Rows of a figure of the paper whose error is ``error(cell)``, up to a random factor."""
    rng = np.random.default_rng(seed)
    rows = []
    for cell in figure_cells(figure, generations):
        value = error(cell) * np.exp(spread * rng.normal())
        rows.append({**vars(cell), "angle": value, "norm_error": value})
    return rows


def need_rows(figure, size, *, spread=0.01):
    """Rows of the N needed that are exactly ``size(need)``, with a standard error ``spread``."""
    factor = np.exp(2.26 * spread)  # t with nine degrees of freedom, 95 %
    rows = []
    for need in needs(figure):
        n = size(need)
        interval = {"n_needed": n, "low": n / factor, "high": n * factor, "predicted": n}
        rows.append({**vars(need), **interval, "n_generations": 10})
    return rows


def law(cell):
    """An error that falls as 1/sqrt(N), has a floor in M, and grows with d and noise."""
    labels = (1 + 20 * cell.noise) / 10 / cell.n_comparisons
    return 0.3 * np.sqrt(cell.n_features * (1 / cell.n_items + labels)) * (1 + cell.noise)


def illustration_rows():
    rng = np.random.default_rng(0)
    rows = [
        {"panel": panel, "kind": "point", "x": x, "y": y, "label": 1 if x > 0 else -1}
        for panel in "abcd"
        for x, y in rng.normal(size=(12, 2))
    ]
    arrows = [
        {"panel": panel, "kind": "arrow", "x": 1.0, "y": 0.5, "label": "truth"} for panel in "abcd"
    ]
    estimate = {"panel": "d", "kind": "arrow", "x": 0.4, "y": 0.3, "label": "estimate"}
    return [*rows, *arrows, estimate]


def source_rows():
    sizes = [(300, 1700), (3000, 24000), (2500, 600), (2500, 2500), (2500, 20000)]
    names = ("total", "covariance", "items", "labels", "counts", "partners", "interaction")
    squares = dict(zip(names, (6, 2, 1, 1, 0.5, 0.1, 1.4), strict=True))
    return [
        {
            "n_items": n,
            "n_comparisons": m,
            "term": name,
            "mean_square": x / n,
            "std_error": x / n / 20,
        }
        for n, m in sizes
        for name, x in squares.items()
    ]


def scenario_rows():
    names = ("as assumed", "heavy tails", "<script>alert(1)</script>")
    return [
        {"scenario": name, "method": method, "generation": g, "angle": 0.1 + 0.01 * g}
        for name in names
        for method in METHODS
        for g in range(3)
    ]


def figure_rows(name):
    """What a figure is drawn from: rows, and predicted rows where it has some."""
    if name in ("1", "9", "10"):
        return ({"1": illustration_rows, "9": source_rows, "10": scenario_rows}[name](),)
    if name in "2347":
        rows = error_rows(name, law, generations=2)
        # any rows will do for a prediction here
        return rows, [row | {"generation": 0} for row in rows]
    rows = need_rows(name, lambda need: 10.0 * need.n_features)
    return rows, rows


# -- the paper's simulation ------------------------------------------------------------------------

GRID = np.linspace(-12, 12, 24_001)
WEIGHT = np.exp(-0.5 * GRID**2) / np.exp(-0.5 * GRID**2).sum()


@lru_cache
def naive_labels(noise):
    """Slope times the deviation of score differences, and c1 over the slope, by brute force."""
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        flipped = WEIGHT @ expit(-np.exp(middle) * np.abs(GRID))
        low, high = (middle, high) if flipped > noise else (low, middle)
    f = expit(np.exp(middle) * GRID)
    return np.exp(middle), 4 * WEIGHT @ (f * (1 - f))


def naive_study(n, m, d, smallest, noise, rng):
    """Angle and norm error of one study: features, differences, labels, eqs. 3 and 4."""
    beta, mu = rng.normal(0, np.sqrt(10), d), rng.uniform(-5, 5, d)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    root = basis * np.sqrt(np.linspace(smallest, 1, d))
    X = mu + rng.normal(size=(2 * n, d)) @ root.T
    sigma = np.sqrt(2) * np.linalg.norm(root.T @ beta)
    left, right = rng.integers(0, n, m), rng.integers(0, n, m)
    difference = X[left] - X[right]
    score = difference @ beta
    if noise == 0:
        c1, chance = 4 / np.sqrt(2 * np.pi) / sigma, 0.5 + 0.5 * np.sign(score)
    else:
        spread, factor = naive_labels(noise)
        c1, chance = factor * spread / sigma, expit(spread / sigma * score)
    y = np.where(rng.random(m) < chance, 1, -1)
    second = X[n:] - X[n:].mean(axis=0)
    estimate = np.linalg.solve(
        second.T @ second / (n - d - 2), (y[:, None] * difference).mean(axis=0)
    )
    cosine = estimate @ beta / np.linalg.norm(estimate) / np.linalg.norm(beta)
    return np.arccos(cosine), np.linalg.norm(estimate - c1 * beta)
