"""``python -m benchmarks.speed_paths``: what each second way to compute the same thing gains.

A compiled loop against its twin in NumPy, and every other path that is there for speed against the
plain one: processor time of the plain one over that of the path, one thread, medians of repeats
that take turns. Docstrings of the paths quote these figures.
"""

import sys
import time

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks.__main__ import medians
from pairscore.core import kernels, kernels_numpy, passes, row_blocks
from pairscore.core.differences import Differences, DifferenceSums
from pairscore.core.links import get_link
from pairscore.core.pair_graph import aggregate_pairs
from pairscore.core.threads import one_blas_thread

LOGIT = get_link("logit")


def study(n, m, seed=0):
    """Rows of both items, outcomes and scores of m comparisons of n items, drawn at random."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    return left, right, rng.choice([-1, 1], m).astype(np.int8), rng.normal(size=n)


def say(what, plain, path, repeats=5):
    """Print how many times as long the plain way takes."""
    seconds = medians(repeats, time.process_time, plain=plain, path=path)
    print(
        f"  {what:<66} {seconds['plain'] / seconds['path']:6.1f}"
        f"   ({seconds['plain']:.3f} s, {seconds['path']:.3f} s)",
        flush=True,
    )


def with_kernels(module, function, *given):
    """A pass with the loops of a module."""

    def run():
        before, passes.kernels = passes.kernels, module
        try:
            return function(*given)
        finally:
            passes.kernels = before

    return run


def loop(what, function, *given):
    """A compiled loop against its twin."""
    say(what, *(with_kernels(of, function, *given) for of in (kernels_numpy, kernels)))


def loops_over_comparisons(n, m):
    left, right, outcome, scores = study(n, m)
    size = f"{n:,} items, {m:,} comparisons"
    weight = np.random.default_rng(1).uniform(0.5, 2, m)
    loop(f"add_tally, {size}", passes.tally_pass, left, right, outcome, None, n)
    loop(f"add_tally, weights, {size}", passes.tally_pass, left, right, outcome, weight, n)
    loop(f"subtract_scores, {size}", passes.difference_pass, left, right, scores)
    loop(f"add_at_ends, {size}", passes.net_pass, left, right, weight, n)
    for sides in (1, 2):
        given = (left, right, outcome, None, n, sides)
        twin = with_kernels(kernels_numpy, passes.pair_pass, *given)
        ours = with_kernels(kernels, passes.pair_pass, *given)
        say(f"sort_by_pair and sum_by_pair, {sides} sides, {size}", twin, ours, 3)


def loops_over_pairs(n, m, d):
    left, right, outcome, _ = study(n, m)
    pairs = aggregate_pairs(left, right, outcome, None, n)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    size = f"{n:,} items, {d} features, {len(pairs.high):,} pairs"
    for k in (1, 2):
        values = rng.normal(size=(len(pairs.high), k))
        given = (X, pairs.start, pairs.high, values, slice(0, n))
        loop(f"neighbour_pass, {k} at once, {size}", passes.neighbour_sums, *given)
    weight = rng.uniform(0.1, 1.0, len(pairs.high))
    messages = (0.5 * weight, 0.5 * weight)
    total = 1.0 + pairs.item_sums(*messages)
    given = (pairs.start, pairs.high, weight, total, messages)
    loop(f"pass_messages, {size}", passes.message_pass, *given)


def distributions(m):
    left, right, outcome, scores = study(10_000, m)
    x = passes.difference_pass(left, right, scores)
    largest = float(np.abs(x).max())

    def of_all():
        rows = Differences(x, outcome, np.ones(m))
        for factor in (0.9, 1.0, 1.1, 1.05, 1.02, 1.01):
            rows.times(factor).outcomes(LOGIT)

    def of_bins():
        rows = DifferenceSums.of_comparisons(x, outcome, None, largest).points()
        for factor in (0.9, 1.0, 1.1, 1.05, 1.02, 1.01):
            rows.times(factor).outcomes(LOGIT)

    say(f"bins of differences, six sums over {m:,} comparisons", of_all, of_bins)


def tables(n, d):
    X = np.random.default_rng(3).normal(size=(n, d))
    b, v = np.ones(d), np.ones(n)
    size = f"table {n:,} x {d} ({X.nbytes >> 20} MB)"
    say(f"X b by einsum, {size}", lambda: X @ b, lambda: np.einsum("ij,j->i", X, b), 9)
    say(f"v'X by einsum, {size}", lambda: v @ X, lambda: np.einsum("i,ij->j", v, X), 9)
    Z = X[:1024]
    say(f"dsyrk in place of Z'Z, {d} features", lambda: Z.T @ Z, lambda: dsyrk(1.0, Z.T), 49)
    assert len(Z) == row_blocks.BLOCK or n < row_blocks.BLOCK


def main():
    with one_blas_thread:
        print("plain over path, in processor time:")
        for n, m in ((10_000, 5_000_000), (100_000, 2_000_000), (1_000, 20_000)):
            loops_over_comparisons(n, m)
        loops_over_pairs(30_000, 309_269, 250)
        loops_over_pairs(100_000, 2_000_000, 50)
        distributions(5_000_000)
        distributions(300_000)
        tables(30_000, 250)
        tables(100_000, 50)
        tables(10_000, 20)


if __name__ == "__main__":
    sys.exit(main())
