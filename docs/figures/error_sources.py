"""Where the error of `split` comes from, against N and against M.

    python docs/figures/error_sources.py docs/figures/error_sources.svg

Makes docs/figures/error_sources.svg and prints the mean squares, of the population with 20 features
that docs/explanation/theory.md has in a table.
"""

import sys

import numpy as np

from pairscore import Population
from pairscore.paper.error_sources import error_sources_chart
from pairscore.theory import decompose, decomposition_rows

GROWING = [(n, int(np.ceil(n * np.log(n)))) for n in (100, 200, 400, 800, 1600, 3200)]
MORE_COMPARISONS = [(500, m) for m in (500, 2000, 8000, 32_000, 128_000)]


def main(path):
    """Draw studies, print the mean squares and draw the figure."""
    population = Population(20, min_eigenvalue=0.2, noise=0.2, rng=1)

    def draw(n_items, n_comparisons, rng):
        items, votes = population.draw(n_items, n_comparisons, rng)
        law = {
            "beta": population.beta,
            "mean": population.mean,
            "covariance": population.covariance,
        }
        first, second = items[:n_items], items[n_items:]
        return decompose(
            first,
            votes.left,
            votes.right,
            votes.outcome,
            second,
            **law,
            link=population.link,
            slope=population.slope,
            c1=population.c1,
        )

    rows = decomposition_rows(draw, GROWING + MORE_COMPARISONS, 40, np.random.default_rng(2))
    for row in rows:
        size = f"N = {row['n_items']}, M = {row['n_comparisons']}"
        print(f"{size}: {row['term']} {row['mean_square']:.5f} ± {row['std_error']:.5f}")
    error_sources_chart(rows, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
