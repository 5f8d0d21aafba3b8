"""`make bench`: every figure is a ratio of medians of interleaved repeats in one run, BLAS and our
own passes on one thread. Fits are measured in processor time, commands by the clock. With the word
``fits`` only whole fits are timed.
"""

import gc
import sys
import time
import tracemalloc
import warnings

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks.command import command
from benchmarks.fast_draw import fast_draw
from benchmarks.law import draw
from benchmarks.reproduction import reproduction
from benchmarks.service import service
from benchmarks.start import start
from pairscore import RankRegression
from pairscore.core import kernels, kernels_numpy, passes, threads

GAP = 1e-9  # relative loss gap to the optimum that every rival has to reach


def medians(repeats, clock=time.perf_counter, **jobs):
    """Median seconds of each job, the jobs taking turns."""
    seconds = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            gc.collect()
            start = clock()
            job()
            seconds[name].append(clock() - start)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def report(what, ratio, bar, better):
    met = ratio <= bar if better == "at most" else ratio >= bar
    print(
        f"  {what:<66} {ratio:7.2f}   ({better} {bar:g}: {'met' if met else 'MISSED'})", flush=True
    )


def closed_forms(problem, bars):
    """``bars`` has the most that each method may take, in times of one dsyrk."""
    items, votes = problem.items, problem.votes
    compared = np.ascontiguousarray(problem.compared)
    second = np.arange(len(compared), len(items))
    jobs = {
        "dsyrk": lambda: dsyrk(1.0, compared.T),
        "pooled": lambda: RankRegression("pooled", inference=None).fit(compared, votes),
        "split": (
            lambda: RankRegression("split", inference=None).fit(
                items, votes, covariance_items=second
            )
        ),
        "paired": lambda: RankRegression("paired", inference=None).fit(compared, votes),
    }
    jobs = {name: job for name, job in jobs.items() if name in ("dsyrk", *bars)}
    seconds = medians(9, time.process_time, **jobs)
    print(f"  (one dsyrk took {seconds['dsyrk'] * 1e3:.0f} ms)")
    for method, bar in bars.items():
        report(
            f"{method}, time over one dsyrk of the item matrix",
            seconds[method] / seconds["dsyrk"],
            bar,
            "at most",
        )

    def form_average_solve():
        differences = compared[votes[:, 0]] - compared[votes[:, 1]]
        return np.linalg.solve(np.cov(compared.T), differences.mean(axis=0))

    naive = medians(3, time.process_time, naive=form_average_solve, pooled=jobs["pooled"])
    report(
        "forming the differences, averaging, solving; time over pooled",
        naive["naive"] / naive["pooled"],
        5.0,
        "at least",
    )
    for method in bars:
        table = items if method == "split" else compared
        tracemalloc.start()
        jobs[method]()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        report(
            f"{method}, peak extra memory over the items and comparisons",
            peak / (table.nbytes + votes.nbytes),
            3.0,
            "at most",
        )


def logistic_loss(X, y, coef):
    return float(np.logaddexp(0, -np.where(y, 1, -1) * (X @ coef)).sum())


def likelihood(problem, bar, bar_with_errors, bar_statsmodels=None):
    """Bars say how many times as long others take, over a fit without errors and one with them."""
    from sklearn.linear_model import LogisticRegression

    compared, votes = np.ascontiguousarray(problem.compared), problem.votes
    X, y = problem.differences(np.random.default_rng(1))
    fit_ours = lambda: RankRegression().fit(compared, votes)  # noqa: E731
    ours = logistic_loss(X, y, fit_ours().coef_)
    exact = RankRegression(inference=None, tol=1e-20).fit(compared, votes)
    best = min(ours, logistic_loss(X, y, exact.coef_))
    for tol in (1e-5, 3e-6, 2e-6, 1e-6, 5e-7, 2e-7, 1e-7):
        rival = LogisticRegression(C=np.inf, fit_intercept=False, tol=tol, max_iter=5000)
        gap = logistic_loss(X, y, rival.fit(X, y).coef_[0]) / best - 1
        if gap <= GAP:
            break
    print(
        f"  (relative loss gap: pairscore {ours / best - 1:.1e}, scikit-learn {gap:.1e} at"
        f" tol={tol:g})"
    )
    jobs = {
        "ours": fit_ours,
        "no errors": lambda: RankRegression(inference=None).fit(compared, votes),
        "forming": lambda: compared[votes[:, 0]] - compared[votes[:, 1]],
        "sklearn": lambda: rival.fit(X, y),
    }
    if bar_statsmodels:
        import statsmodels.api as sm

        jobs["statsmodels"] = lambda: sm.Logit(y.astype(float), X).fit(disp=0)
    seconds = medians(3, time.process_time, **jobs)
    print(
        "  (seconds: " + ", ".join(f"{name} {value:.2f}" for name, value in seconds.items()) + ")"
    )
    rivals = seconds["sklearn"] + seconds["forming"]
    what = "scikit-learn lbfgs (differences and fit) over mle"
    report(f"{what} without errors", rivals / seconds["no errors"], bar, "at least")
    report(f"{what} with item-robust errors", rivals / seconds["ours"], bar_with_errors, "at least")
    if bar_statsmodels:
        report(
            "statsmodels Logit (fit alone) over mle with item-robust errors",
            seconds["statsmodels"] / seconds["ours"],
            bar_statsmodels,
            "at least",
        )


def two_threads(problem):
    """Wall time with one and with two threads, beside work that needs nothing but threads."""
    compared, votes = np.ascontiguousarray(problem.compared), problem.votes
    given, usual = np.linspace(-3, 3, 1 << 14), threads.n_threads

    def on(n_threads, job):
        def run():
            threads.n_threads = lambda: n_threads
            job()

        return run

    def exponentials(rows):
        room = np.empty_like(given)  # stays in the cache, so that threads wait for nothing
        for _ in range(rows.stop - rows.start):
            np.exp(given, out=room)

    work = lambda: threads.on_each(exponentials, [slice(0, 300)] * threads.CHUNKS)  # noqa: E731
    jobs = {
        "exponentials": work,
        "mle without errors": lambda: RankRegression(inference=None).fit(compared, votes),
        "mle with errors": lambda: RankRegression().fit(compared, votes),
    }
    try:
        for what, job in jobs.items():
            seconds = medians(3, one=on(1, job), two=on(2, job))
            ratio, bar = seconds["one"] / seconds["two"], 1.0 if job is work else 1.6
            report(f"{what}, wall time of one thread over two", ratio, bar, "at least")
    finally:
        threads.n_threads = usual


def fits():
    """Whole fits, at three sizes."""
    n = 30_000
    large = draw(n, 250, int(np.ceil(n * np.log(n))))
    print(
        "\nCompiled passes"
        if kernels.IS_COMPILED
        else "\nBuilt without a compiler: passes in NumPy"
    )
    print(f"\nClosed forms, N = 30 000, d = 250, M = {len(large.votes):,}, inference=None")
    closed_forms(large, {"pooled": 1.8, "split": 1.8, "paired": 4.5})
    print("\nLikelihood, the same problem")
    likelihood(large, 20.0, 14.0)
    del large
    print("\nN = 100 000, d = 100, M = 5 000 000")
    many = draw(100_000, 100, 5_000_000)
    closed_forms(many, {"pooled": 8.0})
    likelihood(many, 30.0, 15.0)
    two_threads(many)
    del many
    print("\nLikelihood, N = 20 000, d = 50, M = 1 000 000")
    likelihood(draw(20_000, 50, 1_000_000), 20.0, 20.0, 40.0)


def main():
    warnings.simplefilter("ignore")
    fits()
    if sys.argv[1:] == ["fits"]:
        return
    print("\nThe same without a compiler")
    compiled, passes.kernels = passes.kernels, kernels_numpy
    fits()
    passes.kernels = compiled
    print("\nExact draws of an estimate, N = 3000, d = 250, M = N log N")
    fast_draw(medians, report)
    print("\nReproduction, figure 3b, d = 250")
    reproduction(medians, report)
    print(
        "\nCommand line, CSV files of 5 000 000 comparisons and of 100 000 items with 50 features"
    )
    command(medians, report)
    print("\nA service: one item at a time, models of 2000 items and 20 000 comparisons")
    service(medians, report)
    print("\nThe start of commands, CPU time")
    start(medians, report)


if __name__ == "__main__":
    main()
