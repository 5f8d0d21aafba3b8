"""`python -m benchmarks.against OTHER`: this checkout beside another one, job by job.

OTHER is a folder with the sources of another version (it holds `pairscore/`). Each version
runs in a process of its own, which keeps the data of all jobs; the two take turns, so that whatever
else the machine does touches both. A figure is the ratio of the medians of CPU seconds, here over
there: below 1 is faster here. A number of repeats and names of jobs may follow OTHER; ``--large``
before OTHER times fits of large tables, in memory and as streams.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parents[1] / "src"
LIMIT = 1.05
REPEATS = 7
LARGE = ((30_000, 250, 309_269), (100_000, 50, 2_000_000), (10_000, 20, 5_000_000))


def jobs():
    """What is timed, by name; runs inside the worker, with whichever version it has."""
    import tempfile
    import warnings

    from benchmarks.law import draw
    from pairscore import Comparisons, ItemKFold, Population, RankRegression, compare, load, plan

    warnings.simplefilter("ignore")
    problem = draw(10_000, 50, 200_000)
    items, votes = np.ascontiguousarray(problem.compared), problem.votes
    both, second = problem.items, np.arange(len(items), len(problem.items))
    small, few = Population(8, item_effect=0.7, rng=1).draw(300, 3000, rng=2)
    X, y = Comparisons.from_frames(small, few)
    tied = np.where(np.arange(len(y)) % 6 == 0, 0, y)
    folder = Path(tempfile.mkdtemp())
    np.savetxt(
        folder / "items.csv",
        items[:2000],
        delimiter=",",
        header=",".join(f"x{k}" for k in range(50)),
        comments="",
    )
    inside = votes[(votes < 2000).all(axis=1)]
    np.savetxt(
        folder / "votes.csv", inside, fmt="%d", delimiter=",", header="winner,loser", comments=""
    )
    model = RankRegression().fit(items, votes)
    model.save(folder / "model.npz")

    def fit(method="mle", **settings):
        return lambda: RankRegression(method, **settings).fit(items, votes)

    def command(*words):
        def run():
            from click.testing import CliRunner

            from pairscore.cli import main

            done = CliRunner().invoke(
                main, [word.format(folder) for word in words], catch_exceptions=False
            )
            assert done.exit_code == 0, done.output

        return run

    return {
        "pooled": fit("pooled", inference=None),
        "pooled, intervals": fit("pooled"),
        "paired": fit("paired", inference=None),
        "paired, intervals": fit("paired"),
        "split": lambda: RankRegression("split", inference=None).fit(
            both, votes, covariance_items=second
        ),
        "mle": fit(inference=None),
        "mle, intervals": fit(),
        "mle, probit": fit(link="probit"),
        "mle, ridge chosen": lambda: RankRegression(l2="auto").fit(X),
        "item effects": lambda: RankRegression(item_effects=True).fit(X),
        "ties as an outcome": lambda: RankRegression(ties="davidson").fit(X, tied),
        "cross-validation of small fits": lambda: [
            RankRegression().fit(X[rows], y[rows]) for rows, _ in ItemKFold(5).split(X)
        ],
        "rank 10 000 items": lambda: model.rank(items),
        "load a model": lambda: [load(folder / "model.npz") for _ in range(20)],
        "read votes": lambda: Comparisons.from_frames(items, votes),
        "compare two models": lambda: compare(
            {"a": RankRegression(inference=None), "b": RankRegression(l2=10, inference=None)}, X, y
        ),
        "plan": lambda: plan(n_features=20, noise=0.2, misordered=0.05),
        "fit of CSV files": command("fit", "{}/items.csv", "{}/votes.csv", "-o", "{}/m.npz"),
        "rank of a CSV file": command("rank", "{}/model.npz", "{}/items.csv", "-o", "{}/r.csv"),
    }


def large_jobs():
    """Fits of large tables, in memory and as streams."""
    import warnings

    from benchmarks.law import draw
    from pairscore import RankRegression, fit_stream

    warnings.simplefilter("ignore")
    tables = {}
    for n, d, m in LARGE:
        problem = draw(n, d, m)
        tables[n, d, m] = np.ascontiguousarray(problem.compared), problem.votes

    def fit(size, method, inference):
        return lambda: RankRegression(method, inference=inference).fit(*tables[size])

    def stream(size, method, inference):
        items, votes = tables[size]
        frame = {"winner": votes[:, 0], "loser": votes[:, 1]}
        return lambda: fit_stream(items, frame, method=method, inference=inference)

    known = {}
    for size in LARGE:
        shown = f"{size[0]} x {size[1]}, {size[2]}"
        for method in ("pooled", "paired", "mle"):
            for inference, said in ((None, ""), ("items", " intervals")):
                known[f"{method}{said}: {shown}"] = fit(size, method, inference)
        known[f"stream mle intervals: {shown}"] = stream(size, "mle", "items")
    return known


def work(which):
    """The worker: a job's name in, its CPU seconds out."""
    known = large_jobs() if which == "large" else jobs()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        start = time.process_time()
        known[json.loads(line)]()
        print(json.dumps(time.process_time() - start), flush=True)


class Version:
    """A process with one version of pairscore."""

    def __init__(self, source, which):
        root = Path(__file__).parents[1]
        path = os.pathsep.join([str(source), str(root)])
        one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.against", "--work", which],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env=os.environ | {"PYTHONPATH": path} | one_thread,
        )
        self.jobs = json.loads(self.process.stdout.readline())

    def seconds(self, job):
        print(json.dumps(job), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def main(which, other, repeats=REPEATS, *chosen):
    here, there = Version(HERE, which), Version(other, which)
    slower = []
    print(f"{'job':<34} {'here, s':>9} {'there, s':>9} {'ratio':>7}")
    for job in chosen or here.jobs:
        seconds = [[v.seconds(job) for v in (here, there)] for _ in range(repeats + 1)]
        mine, theirs = np.median(seconds[1:], axis=0)  # the first one warms up
        slower += [job] if mine > LIMIT * theirs else []
        print(f"{job:<34} {mine:9.4f} {theirs:9.4f} {mine / theirs:7.2f}", flush=True)
    print(f"slower by more than {LIMIT - 1:.0%}: {', '.join(slower) or 'nothing'}")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[0] == "--work":
        work(words[1])
    else:
        which = "large" if words[0] == "--large" else "usual"
        other, *rest = words[which == "large" :]
        main(which, other, *map(int, rest[:1]), *rest[1:])
