"""One item at a time, as a service is asked: load, score, rank, difference, chance of a pair.

`python -m benchmarks.service` prints milliseconds of processor time beside their bars, and ratios
to scikit-learn's `LogisticRegression.decision_function` of one row.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from pairscore import Comparisons, Population, RankRegression, load

CALLS = 50  # in one timing
N_ITEMS, N_COMPARISONS = 2000, 20_000
MODELS = {
    "10 features": (10, {}),
    "384 features": (384, {"l2": 1.0}),
    "384 features, item effects": (384, {"l2": 1.0, "item_effects": True}),
}
BARS = {"score, array": 0.2, "score, dict": 1.0}  # milliseconds
LOAD_BAR = 10.0


def fitted(n_features, settings):
    """A model of named features and ids, and its comparisons."""
    population = Population(n_features=n_features, noise=0.2, rng=0)
    items, votes = population.draw(N_ITEMS, N_COMPARISONS, rng=1, second_half=False)
    table = pd.DataFrame(items, columns=[f"f{number}" for number in range(n_features)])
    table.insert(0, "id", [f"item {row}" for row in range(len(table))])
    X = Comparisons(table, votes.left, votes.right, votes.outcome)
    return RankRegression(**settings).fit(X, X.outcome), X, table


def questions(model, rival, table):
    """What is timed, by name."""
    new = table.assign(id=[f"new {row}" for row in range(len(table))])
    new.iloc[:, 1:] += 0.01
    frame, other = new.iloc[:1], new.iloc[1:2]
    record, second = frame.iloc[0].to_dict(), other.iloc[0].to_dict()
    row, two = frame.iloc[:, 1:].to_numpy(), new.iloc[:2, 1:].to_numpy()
    return {
        "scikit-learn": lambda: rival.decision_function(row),
        "score, array": lambda: model.decision_function(row),
        "score, dict": lambda: model.decision_function(record),
        "score, DataFrame": lambda: model.decision_function(frame),
        "rank, array": lambda: model.rank(row),
        "rank, dict": lambda: model.rank(record),
        "difference, arrays": lambda: model.difference(two[0], two[1]),
        "difference, dicts": lambda: model.difference(record, second),
        "chance of a pair": lambda: model.predict_proba(Comparisons.from_pairs(two, [0], [1])),
    }


def service(medians, report):
    for name, (n_features, settings) in MODELS.items():
        model, X, table = fitted(n_features, settings)
        rival = LogisticRegression(fit_intercept=False).fit(np.asarray(X), X.outcome)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.npz"
            model.save(path)
            model = load(path)
            seconds = medians(15, time.process_time, load=lambda path=path: load(path))
        report(f"{name}: load, milliseconds", 1e3 * seconds["load"], LOAD_BAR, "at most")
        jobs = questions(model, rival, table)
        repeated = {
            what: (lambda job=job: [job() for _ in range(CALLS)]) for what, job in jobs.items()
        }
        each = {
            what: took / CALLS for what, took in medians(9, time.process_time, **repeated).items()
        }
        theirs = each.pop("scikit-learn")
        for what, bar in BARS.items():
            report(f"{name}: {what}, milliseconds", 1e3 * each[what], bar, "at most")
        print(f"  (scikit-learn scores one row in {1e3 * theirs:.3f} ms; milliseconds, and ratios)")
        for what, took in each.items():
            print(f"    {what:<20} {1e3 * took:8.3f} {took / theirs:8.1f}")


if __name__ == "__main__":
    from benchmarks.__main__ import medians, report

    warnings.simplefilter("ignore")
    service(medians, report)
