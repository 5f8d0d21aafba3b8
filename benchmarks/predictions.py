"""`make predictions`: mean angles predicted before any data, against simulated ones, cell by cell.

`python -m benchmarks.predictions` prints the tables; `--write` also puts them into
docs/explanation/predictions.md; names of cells run those only.
"""

import sys
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pairscore import Population, RankRegression
from pairscore.core.links import Logit
from pairscore.errors import PairscoreWarning
from pairscore.theory.integrals import spread_for_noise
from pairscore.theory.predicted_error import ErrorLaw, first_order_variance

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "predictions.md"
BARS = {"split": 0.05, "pooled": 0.05, "paired": 0.05, "mle": 0.08}
LARGEST_FIT = 3000  # items of `paired` and `mle`
BATCH, LARGEST_NUMBER = 16, 3200  # estimates drawn at a time, and at most
PLACES = 64  # random populations that each simulated estimate is seen in
FRESH_PAIRS = 2000  # of new items, for each simulated estimate


@dataclass(frozen=True)
class Cell:
    """A kind of study: its population's size, noise and smallest eigenvalue, its items and
    comparisons.
    """

    name: str
    n_features: int
    noise: float
    min_eigenvalue: float
    n_items: int
    n_comparisons: int

    @property
    def law(self):
        return ErrorLaw(
            np.linspace(1.0, self.min_eigenvalue, self.n_features),
            Logit(),
            spread_for_noise(Logit(), self.noise),
        )

    @property
    def methods(self):
        """Those with a bar; without noise the likelihood has no maximum."""
        small = self.n_items <= LARGEST_FIT
        likelihood = small and self.noise > 0 and self.n_comparisons >= 10 * self.n_features
        return ["split", "pooled", *["paired"] * small, *["mle"] * likelihood]


def log_power(n_items, power):
    return int(np.ceil(n_items * np.log(n_items) ** power))


CELLS = [
    Cell("d10-smallest", 10, 0.2, 1.0, 40, 40),
    Cell("d10-few-items", 10, 0.1, 0.1, 40, log_power(40, 1)),
    Cell("d10-few-items-many-votes", 10, 0.4, 1.0, 40, log_power(40, 2)),
    Cell("d10-few-items-no-noise", 10, 0.0, 1 / 200, 40, log_power(40, 1)),
    Cell("d10-few-items-one-direction", 10, 0.2, 1 / 200, 40, log_power(40, 2)),
    Cell("d10-few-votes", 10, 0.2, 1 / 200, 300, 300),
    Cell("d10-middle", 10, 0.1, 1 / 200, 1000, log_power(1000, 1)),
    Cell("d10-few-comparisons", 10, 0.1, 1.0, 100, 100),
    Cell("d10-many-votes", 10, 0.4, 1 / 200, 3000, log_power(3000, 2)),
    Cell("d10-no-noise", 10, 0.0, 0.1, 3000, 3000),
    Cell("d10-many-items", 10, 0.2, 1 / 200, 30_000, log_power(30_000, 1)),
    Cell("d90-smallest", 90, 0.1, 1.0, 360, 360),
    Cell("d90-few-comparisons", 90, 0.2, 0.1, 360, 900),
    Cell("d90-few-items", 90, 0.4, 1 / 200, 360, log_power(360, 1)),
    Cell("d90-few-items-many-votes", 90, 0.1, 1 / 200, 360, log_power(360, 2)),
    Cell("d90-few-items-no-noise", 90, 0.0, 1.0, 360, log_power(360, 1)),
    Cell("d90-few-votes", 90, 0.2, 1 / 200, 1000, 1000),
    Cell("d90-middle", 90, 0.2, 0.1, 1000, log_power(1000, 1)),
    Cell("d90-noisy", 90, 0.4, 1.0, 3000, 3000),
    Cell("d90-many-votes", 90, 0.1, 0.1, 3000, log_power(3000, 2)),
    Cell("d90-no-noise", 90, 0.0, 1 / 200, 3000, log_power(3000, 1)),
    Cell("d90-many-items-few-votes", 90, 0.2, 1 / 200, 30_000, 30_000),
    Cell("d90-many-items", 90, 0.1, 1.0, 30_000, log_power(30_000, 1)),
    Cell("d250-smallest", 250, 0.2, 0.1, 1000, 1000),
    Cell("d250-few-comparisons", 250, 0.1, 1.0, 1000, 2500),
    Cell("d250-few-items", 250, 0.4, 1 / 200, 1000, log_power(1000, 1)),
    Cell("d250-few-items-many-votes", 250, 0.2, 1.0, 1000, log_power(1000, 2)),
    Cell("d250-few-votes", 250, 0.1, 1 / 200, 3000, 3000),
    Cell("d250-middle", 250, 0.2, 1 / 200, 3000, log_power(3000, 1)),
    Cell("d250-many-votes", 250, 0.4, 0.1, 3000, log_power(3000, 2)),
    Cell("d250-no-noise", 250, 0.0, 0.1, 3000, log_power(3000, 1)),
    Cell("d250-many-items-few-votes", 250, 0.0, 1 / 200, 30_000, 30_000),
    Cell("d250-many-items", 250, 0.4, 0.1, 30_000, log_power(30_000, 1)),
    Cell("d250-largest", 250, 0.2, 1 / 200, 30_000, log_power(30_000, 2)),
]
# where fresh pairs are counted too
FRESH = ["d10-smallest", "d10-few-items", "d90-few-comparisons", "d90-middle", "d250-middle"]


# -- simulation --------------------------------------------------------------------------------


def whitened_estimates(cell, method, rng):
    """One estimate after another, in coordinates where items are standard normal and the truth is
    the first axis.

    Every population looks like this after whitening (its covariance and beta decide only what the
    axes are called), so that no N x d items have to be turned.
    """
    population = Population(
        beta=np.eye(cell.n_features)[0],
        mean=np.zeros(cell.n_features),
        noise=cell.noise,
        rng=0,
        covariance=np.eye(cell.n_features),
    )
    size = cell.n_items, cell.n_comparisons
    while True:
        if method == "split":
            yield population.draw_split(*size, rng)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PairscoreWarning)
            model = RankRegression(method, inference=None).fit(
                *population.draw(*size, rng, second_half=False)
            )
        yield model.coef_ if method == "mle" else model.closed_form_coef_


def angles(estimate, eigenvalues, rng, n_places=PLACES):
    """Euclidean angles between estimate and truth in random populations, given the estimate in
    whitened coordinates.

    The labels know nothing of the coordinates across the truth, so turning these changes no law:
    the error across has a uniform direction, independent of its length and of the part along. Hence
    one estimate may be put into many populations (beta of any direction in the eigenvectors'
    coordinates, the error across in any direction u orthogonal to the truth e there), which takes
    out that part of the Monte-Carlo error without touching the mean.
    """
    d = len(eigenvalues)
    beta, g = rng.normal(size=(2, n_places, d))
    e = beta * np.sqrt(eigenvalues)
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    u = g - np.sum(g * e, axis=1, keepdims=True) * e
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    placed = (estimate[0] * e + np.linalg.norm(estimate[1:]) * u) / np.sqrt(eigenvalues)
    cosine = (
        np.sum(placed * beta, axis=1)
        / np.linalg.norm(placed, axis=1)
        / np.linalg.norm(beta, axis=1)
    )
    return np.arccos(np.clip(cosine, -1, 1))


def misordered(estimate, rng, n_pairs=FRESH_PAIRS):
    """Share of pairs of fresh items that the estimate puts in the wrong order, counted."""
    left, right = rng.normal(size=(2, n_pairs, len(estimate)))
    return np.mean((left @ estimate > right @ estimate) != (left[:, 0] > right[:, 0]))


@dataclass(frozen=True)
class Mean:
    value: float
    error: float  # standard error
    number: int  # of simulated estimates


def mean_of(values):
    return Mean(
        float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))), len(values)
    )


def simulate(cell, method, relative_error, largest=LARGEST_NUMBER, count=False):
    """Mean angle, and share of fresh pairs misordered if ``count``, both to this relative standard
    error or with ``largest`` estimates.
    """
    # from the cell itself: its place in the list is no matter
    rng = np.random.default_rng(zlib.crc32(f"{cell} {method}".encode()))
    eigenvalues = np.linspace(1.0, cell.min_eigenvalue, cell.n_features)
    rows = []
    for estimate in whitened_estimates(cell, method, rng):
        rows.append(
            (angles(estimate, eigenvalues, rng).mean(), misordered(estimate, rng) if count else 1.0)
        )
        if len(rows) % BATCH == 0:
            means = [mean_of(column) for column in zip(*rows, strict=True)]
            sharp = all(mean.error <= relative_error * mean.value for mean in means)
            # fewer would not tell their own standard error
            if (sharp and len(rows) >= 3 * BATCH) or len(rows) >= largest:
                return means


def first_order_angle(cell, method):
    """The prediction with the first-order variance in place of ours, the average over directions
    and lengths being the same.
    """
    law = cell.law
    sd = np.sqrt(first_order_variance(law, cell.n_items, cell.n_comparisons, method))
    return float(
        law.nodes.errors(1 + sd * law.nodes.normal, sd * law.nodes.length, 1.0)["angle"].mean()
    )


# -- the page ----------------------------------------------------------------------------------


def table(cells):
    """The rows of the page: text for each cell and method, the worst gaps, and those of fresh
    pairs.
    """
    lines = [
        "| cell | d | p_e | λ_d | N | M | method | estimates | simulated | predicted | gap | first"
        " order | target |"
    ]
    lines += ["|---|" + "--:|" * 5 + "---|" + "--:|" * 5 + "---|"]
    fresh = ["| cell | method | counted | predicted | gap |", "|---|---|--:|--:|--:|"]
    gaps = {method: [] for method in BARS}
    for cell in cells:
        for method in cell.methods:
            angle, share = simulate(cell, method, BARS[method] / 5, count=cell.name in FRESH)
            prediction = cell.law.predict(cell.n_items, cell.n_comparisons, method)
            gap, first = (
                prediction.angle / angle.value - 1,
                first_order_angle(cell, method) / angle.value - 1,
            )
            gaps[method].append((abs(gap), cell.name, gap, abs(first)))
            met = "met" if abs(gap) <= BARS[method] else "**MISSED**"
            lines.append(
                f"| {cell.name} | {cell.n_features} | {cell.noise:g} | {cell.min_eigenvalue:g} |"
                f" {cell.n_items} | {cell.n_comparisons} | {method} | {angle.number} |"
                f" {angle.value:.4f} ± {angle.error:.4f} | {prediction.angle:.4f} | {gap:+.1%} |"
                f" {first:+.1%} | {met} |"
            )
            print(lines[-1], flush=True)
            if cell.name in FRESH:
                gap = prediction.misordered / share.value - 1
                fresh.append(
                    f"| {cell.name} | {method} | {share.value:.4f} ± {share.error:.4f} |"
                    f" {prediction.misordered:.4f} | {gap:+.1%} |"
                )
    return lines, summary(gaps), fresh


def summary(gaps):
    lines = [
        (
            "| method | cells | target | met | typical gap | worst gap | in cell | first order:"
            " typical | worst |"
        ),
        "|---|" + "--:|" * 5 + "---|--:|--:|",
    ]
    for method, rows in gaps.items():
        if rows:
            _, name, worst, _ = max(rows)
            sizes, first = np.array([row[0] for row in rows]), np.array([row[3] for row in rows])
            lines.append(
                f"| {method} | {len(rows)} | {BARS[method]:.0%} | {np.sum(sizes <= BARS[method])} |"
                f" {np.median(sizes):.1%} | {worst:+.1%} | {name} | {np.median(first):.1%} |"
                f" {first.max():.1%} |"
            )
    return lines


def write(tables):
    """Put each table between its two marker comments."""
    page = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = page.split(start)
        page = before + "\n".join([start, *lines, end]) + rest.split(end)[1]
    PAGE.write_text(page, encoding="utf-8")


def main(arguments):
    names = [argument for argument in arguments if argument != "--write"]
    cells, worst, fresh = table([cell for cell in CELLS if not names or cell.name in names])
    print("\n".join(["", *worst, "", *fresh]))
    if "--write" in arguments and not names:
        write({"worst": worst, "cells": cells, "fresh": fresh})


if __name__ == "__main__":
    main(sys.argv[1:])
